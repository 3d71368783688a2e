"""Accuracy of tags, by token and by sequence."""

from collections.abc import Collection

from margrave.metrics.counting import fraction, matches, side_by_side


def token_accuracy(gold: Collection[Collection[object]], predicted: Collection[Collection[object]]) -> float:
    """The fraction of all tokens with the right tag.

    Parameters
    ----------
    gold, predicted : the right and the predicted tags of each sequence.
    """
    return fraction("tokens", matches(gold, predicted, "gold", "predicted"))


def sequence_accuracy(gold: Collection[Collection[object]], predicted: Collection[Collection[object]]) -> float:
    """The fraction of sequences in which every tag is right.

    Parameters
    ----------
    gold, predicted : the right and the predicted tags of each sequence.
    """
    pairs = side_by_side(gold, predicted, "gold", "predicted")
    return fraction("sequences", [all(a == b for a, b in zip(true, guess, strict=True)) for true, guess in pairs])
