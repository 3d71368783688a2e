"""A problem to test contracts on, with what the core must agree with, and how one is registered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from margrave import _core
from margrave.learners import LEARNERS, Learner
from tests.references.enumeration import (
    Array,
    Outputs,
    Parts,
)

# The learners that come with the library; tests register others beside them.
BUILT_IN_LEARNERS: dict[str, type[Learner]] = {
    name: kind for name, kind in LEARNERS.items() if kind.__module__.startswith("margrave.")
}


@dataclass
class Case:
    """A problem, and what it must agree with, example by example."""

    problem: _core.Problem
    outputs: list[Outputs]
    gold: list[Parts]
    costs: list[Array]  # of every output
    matrices: list[Array]  # A_i: (parts, weights)
    others: list[list[Parts]] | None = None  # which are good as well, best first; None: no others
    bound: Any = None  # the core's structure, where inference is approximate

    def __len__(self) -> int:
        return len(self.outputs)

    def gold_index(self, i: int) -> int:
        return self.outputs[i].ys.index(self.gold[i])

    def good(self, i: int) -> list[Parts]:
        """All good outputs, best first."""
        return [self.gold[i], *(self.others[i] if self.others else [])]

    def wrong(self, i: int) -> Array:
        """The zero-one cost of every output: it spares all good ones if outputs are single parts, else the first."""
        spared = self.good(i) if self.problem.zero_one_is_of_parts else self.good(i)[:1]
        return np.array([y not in spared for y in self.outputs[i].ys], dtype=float)


@dataclass(frozen=True)
class Kind:
    """A registered problem: make(seed, cost, size)."""

    name: str
    make: Callable[..., Case]
    costs: tuple[str, ...] = ("hamming",)
    exact: bool = True

    def __call__(self, seed: int, cost: str = "hamming", size: int = 4) -> Case:
        return self.make(np.random.default_rng(seed), cost, size)


KINDS: list[Kind] = []
APPROXIMATE: list[Kind] = []  # whose inference is not exact, with contracts of their own
LABEL_COSTS = ("hamming", "weights", "matrix")


def register(
    name: str, costs: tuple[str, ...] = ("hamming",), *, exact: bool = True, **options: Any
) -> Callable[[Any], Any]:
    def add(make: Any) -> Any:
        kind = Kind(name, lambda rng, cost, size: make(rng, cost, size, **options), costs, exact)
        (KINDS if exact else APPROXIMATE).append(kind)
        return make

    return add
