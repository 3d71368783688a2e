"""The optimum of small problems whose outputs are written out, by solvers that use neither the core nor a learner.

P and D are computed by their definitions, so that every optimum comes with bounds: no weights have a P below D.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from margrave.losses import LossFamily
from margrave.testing.enumeration import Array
from margrave.testing.problems import Case

_ENOUGH = 1e-10  # The relative gap at which the dual method stops.
_MOST_PASSES = 20_000
_MOST_STEPS = 30  # of the dual method on one example in one pass


@dataclass
class Alternatives:
    """All outputs of one example: their feature vectors, one per row, their costs, and which of them is right."""

    features: Array
    cost: Array
    gold: int


def alternatives_of(case: Case) -> list[Alternatives]:
    """The outputs of all examples of a case, as a learner sees them."""
    return [
        Alternatives(outputs.counts @ case.matrices[i], case.costs[i], case.gold_index(i))
        for i, outputs in enumerate(case.outputs)
    ]


def primal(w: Array, examples: Sequence[Alternatives], loss: LossFamily, C: float | Array) -> tuple[float, Array]:
    """P(w) and its gradient by their definitions.

    Parameters
    ----------
    w : the weights.
    examples : all outputs of each example.
    loss : the loss.
    C : the weight of the losses, or one number per example.
    """
    value, slope = 0.5 * w @ w, w.copy()
    for x, Ci in zip(examples, _each(C, examples), strict=True):
        scores = x.features @ w
        v = scores + loss.gamma * x.cost
        top, p = (v.max(), None) if loss.beta == inf else (logsumexp(loss.beta * v) / loss.beta, softmax(loss.beta * v))
        value += Ci * (top - scores[x.gold])
        worst = x.features[v.argmax()] if p is None else p @ x.features
        slope += Ci * (worst - x.features[x.gold])
    return float(value), slope


def dual(w: Array, examples: Sequence[Alternatives], loss: LossFamily, C: float | Array) -> float:
    """D at the loss's own distributions at w, by its definition; beta is finite.

    Parameters
    ----------
    w, examples, loss, C : as for `primal`.
    """
    w_alpha, value = np.zeros_like(w), 0.0
    for x, Ci in zip(examples, _each(C, examples), strict=True):
        p = softmax(loss.beta * (x.features @ w + loss.gamma * x.cost))
        alive = p[p > 0]
        w_alpha += Ci * (x.features[x.gold] - p @ x.features)
        value += Ci * (loss.gamma * p @ x.cost - alive @ np.log(alive) / loss.beta)
    return float(value - 0.5 * w_alpha @ w_alpha)


def optimum(examples: Sequence[Alternatives], loss: LossFamily, C: float | Array) -> float:
    """The lowest P for a smooth loss, by SciPy's L-BFGS.

    Parameters
    ----------
    examples, loss, C : as for `primal`.
    """
    return primal(_lowest(examples, loss, C), examples, loss, C)[0]


def _lowest(examples: Sequence[Alternatives], loss: LossFamily, C: float | Array) -> Array:
    start = np.zeros(examples[0].features.shape[1])
    most = float(np.max(C))
    options = {"maxiter": 10_000, "gtol": 1e-11 * max(1.0, most), "ftol": 1e-16, "maxcor": 30}
    found = minimize(primal, start, (examples, loss, C), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=np.float64)


def bounds(examples: Sequence[Alternatives], loss: LossFamily, C: float | Array) -> tuple[float, float]:
    """D and P near the optimum: the lowest P of all weights is between them.

    Parameters
    ----------
    examples, loss, C : as for `primal`; the loss is convex.
    """
    if loss.smooth:
        w = _lowest(examples, loss, C)
        return dual(w, examples, loss, C), primal(w, examples, loss, C)[0]
    return _by_pairs(examples, loss, _each(C, examples))


def _by_pairs(examples: Sequence[Alternatives], loss: LossFamily, C: Array) -> tuple[float, float]:
    """D and P of a hinge loss, by exact steps that move mass from the worst output in use to the best output."""
    alpha = [np.eye(1, len(x.cost), x.gold)[0] for x in examples]
    w, value = np.zeros(examples[0].features.shape[1]), 0.0  # value: sum_i C_i gamma <alpha_i, cost_i>
    lower, upper = -inf, inf
    for _ in range(_MOST_PASSES):
        for x, p, Ci in zip(examples, alpha, C, strict=True):
            for _ in range(_MOST_STEPS):
                v = x.features @ w + loss.gamma * x.cost
                best, worst = int(v.argmax()), int(np.where(p > 0, v, inf).argmin())
                gain = v[best] - v[worst]
                if Ci == 0 or gain <= 1e-14 * (1.0 + abs(v[best])):
                    break
                change = x.features[worst] - x.features[best]
                bend = Ci * (change @ change)
                step = p[worst] if gain >= p[worst] * bend else gain / bend
                p[best] += step
                p[worst] = 0.0 if step == p[worst] else p[worst] - step
                w = w + Ci * step * change
                value += Ci * loss.gamma * step * (x.cost[best] - x.cost[worst])
        lower, upper = max(lower, float(value - 0.5 * w @ w)), min(upper, primal(w, examples, loss, C)[0])
        if upper - lower <= _ENOUGH * max(upper, 1e-3):
            break
    return lower, upper


def _each(C: float | Array, examples: Sequence[Alternatives]) -> Array:
    return np.broadcast_to(np.asarray(C, dtype=np.float64), (len(examples),))
