"""Scores of predictions, as fractions of 1, each equal to that of the field's reference scorer."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TypeVar

from margrave.datasets.tags import Span, spans
from margrave.errors import MargraveError

S = TypeVar("S", bound=Collection[object])
T = TypeVar("T", bound=Collection[object])


@dataclass(frozen=True)
class SpanCounts:
    """How many spans there are, were predicted, and both; a ratio of nothing is 0, as in conlleval."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """The part of the predicted spans that is correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The part of the gold spans that was found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.gold + self.predicted) if self.correct else 0.0


@dataclass(frozen=True)
class SpanScores(SpanCounts):
    """Counts and ratios over all spans (micro-averaged), and by label in alphabetical order."""

    by_label: Mapping[str, SpanCounts]


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
