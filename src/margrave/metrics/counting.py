"""Counts with their ratios and the comparison of examples, which several scores share."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from margrave.checks import has_length
from margrave.data.classes import same
from margrave.errors import MargraveError, quoted

S = TypeVar("S", bound=Collection[object])
T = TypeVar("T", bound=Collection[object])


@dataclass(frozen=True)
class Counts:
    """The numbers of gold items, of predicted items, and of items in both; a ratio with denominator zero is 0."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """The fraction of predicted items that are right."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The fraction of gold items that were predicted."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.gold + self.predicted) if self.correct else 0.0


def side_by_side(gold: Collection[S], other: Collection[T], gold_name: str, other_name: str) -> list[tuple[S, T]]:
    """Pairs of examples, after a check that both sides have the same number of examples and the same lengths."""
    if len(gold) != len(other):
        raise MargraveError(f"{gold_name} has {len(gold)} examples, but {other_name} has {len(other)}.")
    pairs = list(zip(gold, other, strict=True))
    for i, (a, b) in enumerate(pairs):
        for name, example in ((gold_name, a), (other_name, b)):
            if not has_length(example):
                raise MargraveError(f"{name}[{i}] must be a sequence, and it is {quoted(example)}.")
        if len(a) != len(b):
            raise MargraveError(f"{gold_name}[{i}] has length {len(a)}, but {other_name}[{i}] has length {len(b)}.")
    return pairs


def matches(
    gold: Collection[Collection[object]], other: Collection[Collection[object]], gold_name: str, other_name: str
) -> list[bool]:
    """For every item of every example, whether both sides agree."""
    pairs = side_by_side(gold, other, gold_name, other_name)
    return [same(a, b) for true, guess in pairs for a, b in zip(true, guess, strict=True)]


def fraction(of_what: str, right: list[bool]) -> float:
    """The fraction that is right; an error if there is nothing to score."""
    if not right:
        raise MargraveError(f"there are no {of_what} to score.")
    return sum(right) / len(right)


def listed(labels: Any) -> list[Hashable]:
    """The labels as a list, with NumPy's numbers and strings converted to Python's."""
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)
