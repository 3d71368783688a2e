"""Precision, recall and F1 of spans of tagged tokens, as conlleval computes them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from margrave.errors import MargraveError
from margrave.labels.tags import Span, spans
from margrave.metrics.counting import Counts, side_by_side


class SpanCounts(Counts):
    """The numbers of gold, predicted and correct spans; a ratio with denominator zero is 0, as in conlleval."""


@dataclass(frozen=True)
class SpanScores(SpanCounts):
    """Counts and ratios over all spans (micro-averaged), and for each label in `by_label`, in alphabetical order."""

    by_label: Mapping[str, SpanCounts]


def span_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: str = "IOB2") -> SpanScores:
    """Compute precision, recall and F1 of spans, as conlleval does.

    A predicted span is correct if its label and both ends are right. Ill-formed tags are interpreted as by `spans`.

    Parameters
    ----------
    gold, predicted : the right and the predicted tags of each sequence.
    scheme : the tag scheme: "IOB1", "IOB2" or "BIOES".

    >>> scores = span_scores([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "B-LOC"]])
    >>> scores.precision, scores.recall, scores.by_label["LOC"].predicted
    (0.5, 1.0, 1)
    """
    spans([], scheme)  # An error about an unknown scheme should not name an example.
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
