"""A structure written in Python, and slices of other problems."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.testing.enumeration import Array, Outputs, Parts
from tests.registry.cases import KINDS, Case, register


class Gaps(_core.Problem):
    """Which items of a row to choose, never two neighbors: parts are the items, and choosing none is an output too."""

    def __init__(self, matrices: list[Array], gold: list[Parts]) -> None:
        super().__init__(len(matrices), matrices[0].shape[1])
        self.matrices = matrices
        self.gold_parts = gold
        self.every = [list(self.choices(len(a))) for a in matrices]

    @staticmethod
    def choices(n: int) -> list[Parts]:
        subsets = (tuple(k for k in range(n) if bits >> k & 1) for bits in range(1 << n))
        return [y for y in subsets if all(b - a > 1 for a, b in pairwise(y))]

    def values(self, i: int, theta: Array) -> Array:
        return np.array([theta[list(y)].sum() for y in self.every[i]])

    def parts(self, i: int) -> int:
        return len(self.matrices[i])

    def score(self, i: int, w: Array) -> Array:
        return self.matrices[i] @ w

    def row(self, i: int, v: Array) -> tuple[NDArray[np.int64], Array]:
        values = self.matrices[i].T @ v
        index = np.flatnonzero(values)
        return index, values[index]

    def radius(self, i: int) -> float:
        return float(np.linalg.norm(self.matrices[i], axis=1).sum())

    def gold(self, i: int, k: int = 0) -> NDArray[np.int32]:
        return np.array(self.gold_parts[i], dtype=np.int32)

    def cost(self, i: int) -> tuple[Array, float]:
        delta = np.ones(self.parts(i))
        delta[list(self.gold_parts[i])] = -1.0
        return delta, float(len(self.gold_parts[i]))

    def argmax(self, i: int, theta: Array) -> tuple[float, NDArray[np.int32]]:
        values = self.values(i, theta)
        best = int(np.argmax(values))
        return float(values[best]), np.array(self.every[i][best], dtype=np.int32)

    def logsum(self, i: int, theta: Array) -> tuple[float, Array]:
        values = self.values(i, theta)
        top = values.max()
        p = np.exp(values - top)
        mu = np.zeros(self.parts(i))
        for y, share in zip(self.every[i], p / p.sum(), strict=True):
            mu[list(y)] += share
        return float(top + np.log(p.sum())), mu

    def kbest(self, i: int, theta: Array, k: int) -> list[tuple[float, NDArray[np.int32]]]:
        values = self.values(i, theta)
        order = [j for j in np.argsort(-values, kind="stable")[:k] if values[j] > -np.inf]
        return [(float(values[j]), np.array(self.every[i][j], dtype=np.int32)) for j in order]

    def argmax_by_cost(self, i: int, theta: Array, delta: Array) -> list[tuple[int, float, NDArray[np.int32]]]:
        found: dict[int, tuple[int, float, NDArray[np.int32]]] = {}
        for value, y in zip(self.values(i, theta), self.every[i], strict=True):
            cost = int(delta[list(y)].sum())
            if value > found.get(cost, (0, -np.inf))[1]:
                found[cost] = (cost, float(value), np.array(y, dtype=np.int32))
        return [found[cost] for cost in sorted(found)]

    def sample(self, i: int, theta: Array, seed: int) -> NDArray[np.int32]:
        values = self.values(i, theta)
        p = np.exp(values - values.max())
        return np.array(self.every[i][np.random.default_rng(seed).choice(len(p), p=p / p.sum())], dtype=np.int32)


@register("written in Python")
def gaps(rng: np.random.Generator, cost: str, size: int) -> Case:
    matrices = [rng.integers(-4, 5, (int(rng.integers(1, 6)), 4)) / 2.0 for _ in range(size)]
    every = [Gaps.choices(len(a)) for a in matrices]
    gold = [ys[rng.integers(len(ys))] for ys in every]
    return Case(
        Gaps(matrices, gold),
        [Outputs(len(a), ys) for a, ys in zip(matrices, every, strict=True)],
        gold,
        [np.array([float(len(set(g) ^ set(y))) for y in ys]) for g, ys in zip(gold, every, strict=True)],
        matrices,
    )


@register("slice of a chain", of="chain")
@register("slice of a tree", of="tree, single root")
@register("slice of candidates", of="candidates")
@register("slice of one written in Python", of="written in Python")
def sliced(rng: np.random.Generator, cost: str, size: int, *, of: str) -> Case:
    whole = next(kind for kind in KINDS if kind.name == of).make(rng, cost, size + 3)
    begin, end = 2, size + 2
    return Case(
        whole.problem.slice(begin, end),
        whole.outputs[begin:end],
        whole.gold[begin:end],
        whole.costs[begin:end],
        whole.matrices[begin:end],
        None if whole.others is None else whole.others[begin:end],
    )
