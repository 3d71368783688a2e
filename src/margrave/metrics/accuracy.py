"""Tokens and whole sequences with the right tags."""

from collections.abc import Collection

from margrave.metrics.counting import fraction, matches, side_by_side


def token_accuracy(gold: Collection[Collection[object]], predicted: Collection[Collection[object]]) -> float:
    """The part of all tokens whose tag is right."""
    return fraction("tokens", matches(gold, predicted, "gold", "predicted"))


def sequence_accuracy(gold: Collection[Collection[object]], predicted: Collection[Collection[object]]) -> float:
    """The part of the sequences in which every tag is right."""
    pairs = side_by_side(gold, predicted, "gold", "predicted")
    return fraction("sequences", [all(a == b for a, b in zip(true, guess, strict=True)) for true, guess in pairs])
