"""Attachment scores of dependency trees."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import compress

from margrave.errors import MargraveError
from margrave.metrics.counting import fraction, matches, side_by_side


@dataclass(frozen=True)
class AttachmentScores:
    """The fractions of words with the right head (UAS) and with the right head and label (LAS, None without labels)."""

    words: int
    uas: float
    las: float | None


def attachment_scores(
    gold_heads: Collection[Collection[int]],
    predicted_heads: Collection[Collection[int]],
    gold_labels: Collection[Collection[str]] | None = None,
    predicted_labels: Collection[Collection[str]] | None = None,
    ignore: Collection[Collection[bool]] | None = None,
) -> AttachmentScores:
    """Compute the unlabelled and the labelled attachment score over the words of all sentences.

    Parameters
    ----------
    gold_heads, predicted_heads : the right and the predicted head of every word of each sentence.
    gold_labels, predicted_labels : the right and the predicted label of every arc; None for the unlabelled score alone.
    ignore : for each sentence, True for every word that does not count, such as punctuation.

    >>> attachment_scores([[2, 0, 2]], [[2, 0, 1]], [["det", "root", "obj"]], [["nmod", "root", "obj"]])
    AttachmentScores(words=3, uas=0.6666666666666666, las=0.3333333333333333)
    """
    attached = matches(gold_heads, predicted_heads, "gold_heads", "predicted_heads")
    counted = [True] * len(attached)
    if ignore is not None:
        counted = [not skip for _, mask in side_by_side(gold_heads, ignore, "gold_heads", "ignore") for skip in mask]
    words = list(compress(attached, counted))
    uas = fraction("words", words)
    if gold_labels is None and predicted_labels is None:
        return AttachmentScores(len(words), uas, None)
    if gold_labels is None or predicted_labels is None:
        raise MargraveError("labelled attachment needs both gold_labels and predicted_labels.")
    side_by_side(gold_heads, gold_labels, "gold_heads", "gold_labels")
    labelled = matches(gold_labels, predicted_labels, "gold_labels", "predicted_labels")
    both = [head and label for head, label in zip(attached, labelled, strict=True)]
    return AttachmentScores(len(words), uas, fraction("words", list(compress(both, counted))))
