"""What the scores share: counts with their ratios, and examples side by side."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from margrave.errors import MargraveError

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


def side_by_side(gold: Collection[S], other: Collection[T], gold_name: str, other_name: str) -> list[tuple[S, T]]:
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


def matches(
    gold: Collection[Collection[object]], other: Collection[Collection[object]], gold_name: str, other_name: str
) -> list[bool]:
    """Where the examples of both agree, one after the other."""
    pairs = side_by_side(gold, other, gold_name, other_name)
    return [bool(a == b) for true, guess in pairs for a, b in zip(true, guess, strict=True)]


def fraction(of_what: str, right: list[bool]) -> float:
    """The part that is right, of at least one."""
    if not right:
        raise MargraveError(f"there are no {of_what} to score.")
    return sum(right) / len(right)


def listed(labels: Any) -> list[Hashable]:
    """A list; numpy's numbers and strings become Python's."""
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)
