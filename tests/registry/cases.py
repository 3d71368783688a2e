"""A problem to test contracts on, with what the core must agree with, and how one is registered."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from margrave.learners import LEARNERS, Learner
from margrave.testing.problems import Case

# The learners that come with the library; tests register others beside them.
BUILT_IN_LEARNERS: dict[str, type[Learner]] = {
    name: kind for name, kind in LEARNERS.items() if kind.__module__.startswith("margrave.")
}


@dataclass(frozen=True)
class Kind:
    """A registered problem: make(seed, cost, size)."""

    name: str
    make: Callable[..., Case]
    costs: tuple[str, ...] = ("hamming",)
    exact: bool = True

    def __call__(self, seed: int, cost: str = "hamming", size: int = 4) -> Case:
        return self.make(np.random.default_rng(seed), cost, size)


@dataclass
class CountedCase(Case):
    """A case whose outputs have items other than their parts: those of every output of every example."""

    items: list[list[Counter[Any]]] = field(default_factory=list)


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
