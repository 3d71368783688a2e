"""Checks of a state that a checkpoint gave: its sizes, and that running sums are those of what they sum.

A checkpoint is the user's own file, so a forged state whose numbers agree with each other is not examined. A state that
passes has the bits that were stored, and a run that was continued ends like one that was never interrupted.
"""

from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave.errors import MargraveError
from margrave.learners.objective import Objective

_ROUNDING = 1e-9  # What is computed again may differ from what was stored by this fraction,
_OF_TERMS = 1e-3  # and by this share of it of the terms that it is the sum of, which may nearly cancel.


def check_same(
    name: str, stored: ArrayLike, computed: ArrayLike, rounding: float = _ROUNDING, terms: float = 0.0
) -> None:
    """Refuse numbers that differ from those that the rest of the state implies."""
    if not is_same(stored, computed, rounding, terms):
        raise MargraveError(f"its {name} does not follow from the rest of the state")


def is_same(stored: ArrayLike, computed: ArrayLike, rounding: float = _ROUNDING, terms: float = 0.0) -> bool:
    """Whether numbers are equal up to rounding, and finite.

    `terms` is the size of the terms of a sum, whose rounding errors depend on them and not on the sum.
    """
    one, other = np.asarray(stored, dtype=np.float64), np.asarray(computed, dtype=np.float64)
    size = max(1.0, float(np.abs(other).max(initial=0.0)))
    most = rounding * size + (_OF_TERMS * rounding * terms if isfinite(terms) else 0.0)
    # The comparison is false for NaN, and infinite numbers are not allowed.
    return one.shape == other.shape and size < inf and bool((np.abs(one - other) <= most).all())


def scale_of_weights(objective: Objective, mass: NDArray[np.float64] | None = None) -> float:
    """The size of the terms of w(alpha) and of gradients: the sum of C_i R_i, which bounds w(alpha).

    R_i is the largest difference between the features of two outputs of example i. `mass` is given where something
    else than C_i is the mass of the outputs.
    """
    problem = objective.problem
    if mass is None and problem.euclidean:
        return objective.rounding.terms
    mass = objective.weights() if mass is None else mass
    radius = objective.radii
    # With kernels, weights are coefficients, and as large as the masses themselves.
    return float(mass @ (radius if problem.euclidean else np.maximum(radius, 1.0)))


def scale_of_losses(objective: Objective, w: NDArray[np.float64]) -> float:
    """The size of the terms of C sum_i L_i(w): scores, which are at most |w| R_i from those of gold outputs."""
    return sqrt(max(objective.problem.dot(w, w), 0.0)) * scale_of_weights(objective)


def scale_of_dual(objective: Objective, w: NDArray[np.float64]) -> float:
    """The size of the terms of D: scores as in the losses, costs and entropies times C_i, and |w|^2."""
    return scale_of_losses(objective, w) + float(objective.weights().sum()) + objective.problem.dot(w, w) / _OF_TERMS


def check_that(holds: bool | np.bool_, what: str) -> None:
    """Refuse a state for which a statement is false."""
    if not holds:
        raise MargraveError(f"inconsistent checkpoint: it is not true that {what}")


def expected_costs(objective: Objective, begin: NDArray[np.int64], mu: NDArray[Any]) -> NDArray[np.float64]:
    """The expected cost of every example under its marginals, where the cost decomposes over parts."""
    found = np.zeros(objective.problem.size)
    for i in range(objective.problem.size):
        delta, constant = objective.cost(i)
        found[i] = constant + float(delta @ mu[begin[i] : begin[i + 1]])
    return found
