"""Checks of a state that a checkpoint gave: what follows from the rest of the state is computed again and compared.

The file may have been written by anybody. A state that passes has the bits that were stored, so that a run that was
continued ends like one that was never interrupted.
"""

from collections.abc import Iterable
from itertools import pairwise
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.learners.task import Task

_ROUNDING = 1e-9  # What is computed again may differ from what was stored by this fraction,
_ROUNDING_OF_TERMS = 1e-12  # and by this fraction of the terms that it is the sum of, which may nearly cancel.
_OUTSIDE = -1e6  # The score of all parts that an output does not have; its own have the score 1.


def check_same(
    name: str, stored: ArrayLike, computed: ArrayLike, rounding: float = _ROUNDING, terms: float = 0.0
) -> None:
    """Refuse numbers that differ from those that the rest of the state implies.

    `terms` is the size of the terms of a sum, whose rounding errors depend on them and not on the sum.
    """
    one, other = np.asarray(stored, dtype=np.float64), np.asarray(computed, dtype=np.float64)
    size = max(1.0, float(np.abs(other).max(initial=0.0)))
    most = rounding * size + (_ROUNDING_OF_TERMS * terms if isfinite(terms) else 0.0)
    # The comparison is false for NaN, and infinite numbers are not allowed.
    if one.shape != other.shape or not (np.abs(one - other) <= most).all():
        raise MargraveError(f"its {name} does not follow from the rest of the state")


def scale_of_weights(task: Task, mass: NDArray[np.float64] | None = None) -> float:
    """The size of the terms of w(alpha) and of gradients: the sum of C_i R_i, which bounds w(alpha).

    R_i is the largest difference between the features of two outputs of example i. `mass` is given where something
    else than C_i is the mass of the outputs.
    """
    problem = task.problem
    mass = task.weights() if mass is None else mass
    if isinstance(problem, _core.BoundProblem):
        radii = np.array([problem.radius(i) for i in range(problem.size)])
        # With kernels, weights are coefficients, and as large as the masses themselves.
        return float(mass @ (radii if problem.euclidean else np.maximum(radii, 1.0)))
    gold = np.zeros(problem.dim)  # Other problems need not know R_i.
    for i in np.flatnonzero(mass).tolist():
        counts = np.zeros(problem.parts(i))
        np.add.at(counts, problem.gold(i), 1.0)
        problem.scatter(i, counts, float(mass[i]), gold)
    return max(float(np.abs(gold).max(initial=0.0)), float(mass.sum()))


def scale_of_losses(task: Task, w: NDArray[np.float64]) -> float:
    """The size of the terms of C sum_i L_i(w): scores, which are at most |w| R_i from those of gold outputs."""
    return sqrt(max(task.problem.dot(w, w), 0.0)) * scale_of_weights(task)


def check_that(holds: bool | np.bool_, what: str) -> None:
    """Refuse a state of which `what` is not true."""
    if not holds:
        raise MargraveError(f"not true of it: {what}")


def check_output(task: Task, i: int, y: NDArray[np.int32]) -> None:
    """Refuse parts that are not an output of example i: the best output that consists of these parts must be it."""
    problem = task.problem
    check_that(0 <= i < problem.size and bool(((y >= 0) & (y < problem.parts(i))).all()), "parts are those of outputs")
    if not problem.any_scores or "argmax" not in problem.offers:
        return
    theta = np.full(problem.parts(i), _OUTSIDE)
    theta[y] = 1.0
    found = problem.argmax(i, theta)[1]
    check_that(np.array_equal(np.sort(found), np.sort(y)), "outputs are those of the examples")


def check_outputs(
    task: Task, begin: NDArray[np.int64], part_begin: NDArray[np.int64], parts: NDArray[np.int32], cost: ArrayLike
) -> None:
    """Refuse stored outputs, one example after another, that are not outputs of their examples or cost something else.

    The bounds have been checked by the core. A problem that knows its outputs only by inference does not know those of
    another process, and says so when the run continues.
    """
    if not task.problem.any_scores:
        return
    examples = np.repeat(np.arange(len(begin) - 1), np.diff(begin)).tolist()
    outputs = [parts[first:last] for first, last in pairwise(part_begin.tolist())]
    for i, y in zip(examples, outputs, strict=True):
        check_output(task, i, y)
    check_same("costs of outputs", cost, costs_of(task, zip(examples, outputs, strict=True)))


def costs_of(task: Task, outputs: Iterable[tuple[int, NDArray[np.int32]]]) -> list[float]:
    """The costs of outputs, given with the numbers of their examples, by the definition of the cost."""
    cost = task.rescaling()[2]
    problem, loss = task.problem, task.loss
    zero_one = loss.zero_one or cost == "zero-one" or (not loss.of_family and loss.slack == 0)
    paid: list[float] = []
    for i, y in outputs:
        if zero_one:
            several = problem.golds(i) if problem.zero_one_is_of_parts else 1
            right = any(np.array_equal(np.sort(problem.gold(i, k)), np.sort(y)) for k in range(several))
            paid.append(0.0 if right else 1.0)
        elif callable(cost):
            paid.append(float(cost(i, np.sort(y))))
        elif cost == "f1":
            gold = problem.gold(i)
            both = len(gold) + len(y)
            paid.append(1 - 2 * len(np.intersect1d(gold, y)) / both if both else 0.0)
        else:
            delta, constant = problem.cost(i)
            paid.append(constant + float(delta[y].sum()))
    return paid


def expected_costs(task: Task, begin: NDArray[np.int64], mu: NDArray[Any]) -> NDArray[np.float64]:
    """The expected cost of every example under its marginals, where the cost decomposes over parts."""
    found = np.zeros(task.problem.size)
    for i in range(task.problem.size):
        delta, constant = task.problem.cost(i)
        found[i] = constant + float(delta @ mu[begin[i] : begin[i + 1]])
    return found
