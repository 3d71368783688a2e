"""Spans of tagged tokens, as conlleval counts them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from margrave.errors import MargraveError
from margrave.labels.tags import Span, spans
from margrave.metrics.counting import Counts, side_by_side


class SpanCounts(Counts):
    """How many spans there are, were predicted, and both; a ratio of nothing is 0, as in conlleval."""


@dataclass(frozen=True)
class SpanScores(SpanCounts):
    """Counts and ratios over all spans (micro-averaged), and by label in alphabetical order."""

    by_label: Mapping[str, SpanCounts]


def span_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str = "IOB2") -> SpanScores:
    """Spans found exactly, label and both ends, as conlleval counts them: ill-formed tags are read as `spans` does.

    >>> scores = span_scores([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
    >>> scores.precision, scores.recall, scores.by_label["LOC"].predicted
    (0.5, 1.0, 1)
    """
    spans([], scheme)  # an unknown scheme is not the fault of an example
    in_gold, in_predicted, in_both = Counter[str](), Counter[str](), Counter[str]()
    for i, (true, guess) in enumerate(side_by_side(gold, predicted, "gold", "predicted")):
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


def _spans(name: str, i: int, tags: Sequence[str], scheme: str) -> set[Span]:
    try:
        return set(spans(tags, scheme))
    except MargraveError as error:
        raise MargraveError(f"{name}[{i}]: {error}") from error
