"""Precision, recall and F1 of spans of tagged tokens, as conlleval computes them, also with alternatives."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from margrave.data.tags import Span, alternatives_of, overlap, spans
from margrave.errors import MargraveError
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

    Where the right tags are `margrave.data.Answers`, a right span is found if it is predicted, or if an alternative
    is that overlaps it. Predicted alternatives are not wrong, and count as predicted only by the spans that they find
    (the rules of BioCreative I, task 1A).

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
        taken = guess_spans & set(alternatives_of(true))
        found = {span for span in true_spans if span in guess_spans or any(overlap(span, each) for each in taken)}
        in_gold.update(span.label for span in true_spans)
        in_predicted.update(span.label for span in found | (guess_spans - true_spans - taken))
        in_both.update(span.label for span in found)
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
