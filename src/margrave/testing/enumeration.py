"""What the core is compared with: outputs by brute force, and every quantity of the protocol by its definition.

Nothing here uses the core. An output is a sorted tuple of part ids; `Outputs` holds all outputs of one example and
answers what the protocol asks by looking at each of them. Sums are taken in extended precision.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

Parts = tuple[int, ...]
Array = NDArray[np.float64]


@dataclass
class Outputs:
    """All outputs of one example with n parts."""

    n: int
    ys: list[Parts]

    @cached_property
    def counts(self) -> Array:
        """(outputs, parts): how often each output has each part."""
        counts = np.zeros((len(self.ys), self.n))
        for row, y in zip(counts, self.ys, strict=True):
            np.add.at(row, list(y), 1.0)
        return counts

    @cached_property
    def _padded(self) -> NDArray[np.int64]:
        """The outputs as rows of one length: n stands for no part."""
        longest = max(len(y) for y in self.ys)
        return np.array([[*y, *[self.n] * (longest - len(y))] for y in self.ys], dtype=np.int64)

    def values(self, theta: Array) -> NDArray[np.longdouble]:
        """The sum of every output's part values."""
        scores = np.append(theta, 0.0).astype(np.longdouble)
        return np.asarray(scores[self._padded].sum(axis=1), dtype=np.longdouble)

    def logsum(self, theta: Array) -> tuple[float, Array]:
        """The log partition function and the marginals."""
        return gibbs(self.values(theta), self.counts)

    def best_by_cost(self, theta: Array, delta: Array) -> dict[int, float]:
        """The highest score at every cost that some output has."""
        best: dict[int, float] = {}
        for value, cost in zip(self.values(theta), self.values(delta), strict=True):
            if value > -inf:
                best[int(cost)] = max(best.get(int(cost), -inf), float(value))
        return best


def log_sum_exp(values: NDArray[np.longdouble]) -> np.longdouble:
    """log sum_k exp(values_k), which is -inf where there are no values."""
    top = values.max(initial=-inf)
    return np.longdouble(top if top == -inf else top + np.log(np.exp(values - top).sum()))


def distribution(values: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    """Probabilities in proportion to exp(values)."""
    return np.asarray(np.exp(values - log_sum_exp(values)), dtype=np.longdouble)


def gibbs(values: NDArray[np.longdouble], counts: Array) -> tuple[float, Array]:
    """The log partition function, and the expected counts; zero when there is no output."""
    total = log_sum_exp(values)
    if total == -inf:
        return -inf, np.zeros(counts.shape[1])
    return float(total), (distribution(values) @ counts.astype(np.longdouble)).astype(np.float64)


def entropy_of(p: NDArray[np.longdouble]) -> float:
    """The entropy of a distribution."""
    alive = p[p > 0]
    return float(-(alive * np.log(alive)).sum())


@dataclass
class LossByDefinition:
    """L = max_beta over outputs of (score + gamma cost), less the gold score; and the loss's own distribution."""

    loss: float
    cost: float
    entropy: float
    p: NDArray[np.longdouble]  # over the outputs; at beta = inf one for every maximizer

    @classmethod
    def of(
        cls, scores: NDArray[np.longdouble], costs: Array, gold: int, beta: float, gamma: float
    ) -> "LossByDefinition":
        """The loss at these scores of all outputs, of which one is gold."""
        values = scores + np.longdouble(gamma) * costs
        if beta == inf:
            best = (values == values.max()).astype(np.longdouble)
            return cls(float(values.max() - scores[gold]), float(costs[best == 1].max()), 0.0, best)
        p = distribution(np.longdouble(beta) * values)
        loss = float(log_sum_exp(np.longdouble(beta) * values) / np.longdouble(beta) - scores[gold])
        return cls(loss, float(p @ costs), entropy_of(p), p)


def numerical_gradient(f: Callable[[Array], float], x: Array, h: float = 1e-5) -> Array:
    """Central differences."""
    gradient = np.empty_like(x)
    for k in range(len(x)):
        step = np.zeros_like(x)
        step[k] = h
        gradient[k] = (f(x + step) - f(x - step)) / (2 * h)
    return gradient
