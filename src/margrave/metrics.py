"""Scores of predictions, as fractions of 1, each equal to that of the field's reference scorer."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, TypeVar

from margrave.datasets.tags import Span, spans
from margrave.errors import MargraveError

if TYPE_CHECKING:
    from margrave.structures.taxonomy import Taxonomy

S = TypeVar("S", bound=Collection[object])
T = TypeVar("T", bound=Collection[object])


@dataclass(frozen=True)
class Counts:
    """How many there are, were predicted, and both; a ratio of nothing is 0."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """The part of the predicted that is correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The part of the gold that was found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.gold + self.predicted) if self.correct else 0.0


class SpanCounts(Counts):
    """How many spans there are, were predicted, and both; a ratio of nothing is 0, as in conlleval."""


@dataclass(frozen=True)
class SpanScores(SpanCounts):
    """Counts and ratios over all spans (micro-averaged), and by label in alphabetical order."""

    by_label: Mapping[str, SpanCounts]


@dataclass(frozen=True)
class LabelScores(Counts):
    """Counts and ratios over the labels of all examples (micro-averaged), and by label."""

    by_label: Mapping[Any, Counts]

    @property
    def macro_f1(self) -> float:
        """The mean over labels of their F1."""
        return sum(of.f1 for of in self.by_label.values()) / len(self.by_label)


@dataclass(frozen=True)
class TreeScores:
    """The part of the examples with the right class, and the mean tree loss with its standard error.

    The standard error of a mean of one example is not known, and nan.
    """

    examples: int
    accuracy: float
    tree_loss: float
    standard_error: float


@dataclass(frozen=True)
class AttachmentScores:
    """The parts of the words with the right head (UAS) and with the right head and label (LAS, None without labels)."""

    words: int
    uas: float
    las: float | None


def span_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str = "IOB2") -> SpanScores:
    """Spans found exactly, label and both ends, as conlleval counts them: ill-formed tags are read as `spans` does.

    >>> scores = span_scores([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
    >>> scores.precision, scores.recall, scores.by_label["LOC"].predicted
    (0.5, 1.0, 1)
    """
    spans([], scheme)  # an unknown scheme is not the fault of an example
    in_gold, in_predicted, in_both = Counter[str](), Counter[str](), Counter[str]()
    for i, (true, guess) in enumerate(_pairs(gold, predicted, "gold", "predicted")):
        true_spans, guess_spans = _spans("gold", i, true, scheme), _spans("predicted", i, guess, scheme)
        in_gold.update(span.label for span in true_spans)
        in_predicted.update(span.label for span in guess_spans)
        in_both.update(span.label for span in true_spans & guess_spans)
    return SpanScores(
        in_gold.total(),
        in_predicted.total(),
        in_both.total(),
        {
            label: SpanCounts(in_gold[label], in_predicted[label], in_both[label])
            for label in sorted(in_gold | in_predicted)
        },
    )


def token_accuracy(gold: Collection[Collection[object]], predicted: Collection[Collection[object]]) -> float:
    """The part of all tokens whose tag is right."""
    return _fraction("tokens", _matches(gold, predicted, "gold", "predicted"))


def sequence_accuracy(gold: Collection[Collection[object]], predicted: Collection[Collection[object]]) -> float:
    """The part of the sequences in which every tag is right."""
    pairs = _pairs(gold, predicted, "gold", "predicted")
    return _fraction("sequences", [all(a == b for a, b in zip(true, guess, strict=True)) for true, guess in pairs])


def attachment_scores(
    gold_heads: Collection[Collection[int]],
    predicted_heads: Collection[Collection[int]],
    gold_labels: Collection[Collection[str]] | None = None,
    predicted_labels: Collection[Collection[str]] | None = None,
    ignore: Collection[Collection[bool]] | None = None,
) -> AttachmentScores:
    """Unlabelled and labelled attachment over all words, but those that `ignore` marks, such as punctuation.

    >>> attachment_scores([[2, 0, 2]], [[2, 0, 1]], [["det", "root", "obj"]], [["nmod", "root", "obj"]])
    AttachmentScores(words=3, uas=0.6666666666666666, las=0.3333333333333333)
    """
    attached = _matches(gold_heads, predicted_heads, "gold_heads", "predicted_heads")
    counted = [True] * len(attached)
    if ignore is not None:
        counted = [not skip for _, mask in _pairs(gold_heads, ignore, "gold_heads", "ignore") for skip in mask]
    words = list(compress(attached, counted))
    uas = _fraction("words", words)
    if gold_labels is None and predicted_labels is None:
        return AttachmentScores(len(words), uas, None)
    if gold_labels is None or predicted_labels is None:
        raise MargraveError("labelled attachment needs both gold_labels and predicted_labels.")
    _pairs(gold_heads, gold_labels, "gold_heads", "gold_labels")
    labelled = _matches(gold_labels, predicted_labels, "gold_labels", "predicted_labels")
    both = [head and label for head, label in zip(attached, labelled, strict=True)]
    return AttachmentScores(len(words), uas, _fraction("words", list(compress(both, counted))))


def label_scores(
    gold: Sequence[Collection[Hashable]],
    predicted: Sequence[Collection[Hashable]],
    labels: Iterable[Hashable] | None = None,
) -> LabelScores:
    """Sets of labels, label by label; `labels`: those that count, all that occur if not given.

    >>> scores = label_scores([{"a", "b"}, {"b"}], [{"a"}, {"b", "c"}])
    >>> scores.f1, scores.macro_f1
    (0.6666666666666666, 0.5555555555555555)
    """
    return _label_scores(_sets(gold, "gold"), _sets(predicted, "predicted"), labels)


def hierarchical_scores(
    gold: Sequence[Collection[Hashable]],
    predicted: Sequence[Collection[Hashable]],
    taxonomy: "Taxonomy",
    labels: Iterable[Hashable] | None = None,
) -> LabelScores:
    """Sets of nodes, each completed by all nodes above them but the root (Kiritchenko, Matwin and Famili 2005).

    A prediction near the truth then shares most of its nodes with it. For one class an example, pass sets of one.

    >>> from margrave.structures.taxonomy import Taxonomy
    >>> scores = hierarchical_scores([{"1/1"}], [{"1/2"}], Taxonomy.from_names(["1/1", "1/2", "2"], "/"))
    >>> scores.precision, scores.recall
    (0.5, 0.5)
    """
    tops = [node for node in taxonomy if not taxonomy.parents(node)]
    root = set(tops) if len(tops) == 1 and taxonomy.children(tops[0]) else set()

    def closed(sets: list[set[Hashable]], name: str) -> list[set[Hashable]]:
        return [_closed(nodes, taxonomy, f"{name}[{i}]") - root for i, nodes in enumerate(sets)]

    return _label_scores(
        closed(_sets(gold, "gold"), "gold"), closed(_sets(predicted, "predicted"), "predicted"), labels
    )


def tree_loss(gold: Sequence[Hashable], predicted: Sequence[Hashable], taxonomy: "Taxonomy") -> float:
    """The mean height of the first common ancestor of the right and the predicted class (003, section 5.1).

    >>> from margrave.structures.taxonomy import Taxonomy
    >>> tree_loss(["1/1", "1/1"], ["1/2", "1/1"], Taxonomy.from_names(["1/1", "1/2"], "/"))
    0.5
    """
    return tree_scores(gold, predicted, taxonomy).tree_loss


def tree_scores(gold: Sequence[Hashable], predicted: Sequence[Hashable], taxonomy: "Taxonomy") -> TreeScores:
    """Accuracy and tree loss of one class an example."""
    if len(gold) != len(predicted):
        raise MargraveError(f"gold has {len(gold)} examples, but predicted has {len(predicted)}.")
    if len(gold) == 0:
        raise MargraveError("there are no examples to score.")
    pairs = Counter(zip(_listed(gold), _listed(predicted), strict=True))  # few compared to the examples
    losses = {pair: taxonomy.tree_loss(*pair) for pair in pairs}
    n = pairs.total()
    mean = sum(losses[pair] * count for pair, count in pairs.items()) / n
    squares = sum((losses[pair] - mean) ** 2 * count for pair, count in pairs.items())
    right = sum(count for (true, guess), count in pairs.items() if true == guess)
    return TreeScores(n, right / n, mean, sqrt(squares / (n - 1) / n) if n > 1 else nan)


def _label_scores(
    gold: list[set[Hashable]], predicted: list[set[Hashable]], labels: Iterable[Hashable] | None
) -> LabelScores:
    if len(gold) != len(predicted):
        raise MargraveError(f"gold has {len(gold)} examples, but predicted has {len(predicted)}.")
    in_gold, in_predicted, in_both = Counter[Hashable](), Counter[Hashable](), Counter[Hashable]()
    for true, guess in zip(gold, predicted, strict=True):
        in_gold.update(true)
        in_predicted.update(guess)
        in_both.update(true & guess)
    counted = list(dict.fromkeys(in_gold | in_predicted if labels is None else labels))
    if not counted:
        raise MargraveError("there are no labels to score.")
    by_label = {label: Counts(in_gold[label], in_predicted[label], in_both[label]) for label in counted}
    return LabelScores(
        sum(of.gold for of in by_label.values()),
        sum(of.predicted for of in by_label.values()),
        sum(of.correct for of in by_label.values()),
        by_label,
    )


def _sets(examples: Sequence[Collection[Hashable]], name: str) -> list[set[Hashable]]:
    for i, labels in enumerate(examples):
        if isinstance(labels, str) or not hasattr(labels, "__len__"):
            raise MargraveError(f"{name}[{i}] is {labels!r}, where a set of labels is expected.")
    return [set(_listed(labels)) for labels in examples]


def _listed(labels: Any) -> list[Hashable]:
    """A list; numpy's numbers and strings become Python's."""
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)


def _closed(nodes: set[Hashable], taxonomy: "Taxonomy", where: str) -> set[Hashable]:
    """The nodes and everything above them."""
    try:
        return {above for node in nodes for above in taxonomy.ancestors(node)}
    except MargraveError as error:
        raise MargraveError(f"{where}: {error}") from error


def _pairs(gold: Collection[S], other: Collection[T], gold_name: str, other_name: str) -> list[tuple[S, T]]:
    """The examples of both side by side, after a check that they are equally many and equally long."""
    if len(gold) != len(other):
        raise MargraveError(f"{gold_name} has {len(gold)} examples, but {other_name} has {len(other)}.")
    pairs = list(zip(gold, other, strict=True))
    for i, (a, b) in enumerate(pairs):
        for name, example in ((gold_name, a), (other_name, b)):
            if isinstance(example, str) or not hasattr(example, "__len__"):
                raise MargraveError(f"{name}[{i}] is {example!r}, where a sequence is expected.")
        if len(a) != len(b):
            raise MargraveError(f"{gold_name}[{i}] has length {len(a)}, but {other_name}[{i}] has length {len(b)}.")
    return pairs


def _matches(
    gold: Collection[Collection[object]], other: Collection[Collection[object]], gold_name: str, other_name: str
) -> list[bool]:
    pairs = _pairs(gold, other, gold_name, other_name)
    return [bool(a == b) for true, guess in pairs for a, b in zip(true, guess, strict=True)]


def _fraction(of_what: str, right: list[bool]) -> float:
    if not right:
        raise MargraveError(f"there are no {of_what} to score.")
    return sum(right) / len(right)


def _spans(name: str, i: int, tags: Sequence[str], scheme: str) -> set[Span]:
    try:
        return set(spans(tags, scheme))
    except MargraveError as error:
        raise MargraveError(f"{name}[{i}]: {error}") from error
