"""The line search of the batch learners: bracketing for the Wolfe conditions (Lewis and Overton 2013)."""

from math import inf
from typing import NamedTuple

import numpy as np

from margrave.learners.objective import Objective, Weights

MOST_STALLED = 10  # Learners stop after this many steps in a row that did not measurably lower P.
AT_THE_LIMIT = "no step lowers P further: the limit of floating-point numbers"


class Point(NamedTuple):
    """The end of a line search: w + step d, and P and its gradient at that point."""

    step: float
    w: Weights
    primal: float
    slope: Weights


def wolfe(
    objective: Objective,
    w: Weights,
    primal: float,
    d: Weights,
    down: float,
    step: float,
    curvature: float = 0.9,
    *,
    strong: bool = False,
) -> Point | None:
    """Find a step along d that satisfies the Wolfe conditions; None if no trial does.

    Parameters
    ----------
    objective : the objective, which computes P and its gradient.
    w, primal : the starting point, and P there.
    d, down : the direction, and the slope of P along it, which is negative.
    step : the first step to try.
    curvature : the fraction of the slope that is allowed to remain.
    strong : bound the remaining slope from above as well, so that the step ends near the minimum along d.
    """
    low, high = 0.0, inf
    falling, rising = down, inf  # the slopes along d at low and high; inf if unknown
    slack = 1e-14 * abs(primal)  # P is not known more precisely than this.
    convex = objective.loss.convex
    for _ in range(_MOST_TRIALS):
        trial = w + step * d
        value, slope = objective.value_and_gradient(trial)
        still = objective.problem.dot(slope, d)
        lowered = value <= primal + 1e-4 * step * down + slack
        # Where a convex P still falls, it is lower than at the start, even if rounding hides the difference: scores
        # that cancel can be larger than P by many orders of magnitude.
        if not (lowered or (convex and still <= 0)):
            high, rising = step, inf
            step = _parabola(low, high, primal, down, value) if low == 0 else 0.5 * (low + high)
        elif still < curvature * down:
            low, falling = step, still
            step = _beyond(step, down, still) if high == inf else _between(low, high, falling, rising)
        elif strong and still > -curvature * down:
            high, rising = step, still
            step = _between(low, high, falling, rising)
        else:
            return Point(step, trial, value, slope)
    objective.check_finite(value)
    return None


_MOST_TRIALS = 30


def _beyond(a: float, down: float, still: float) -> float:
    """The step at which the slope vanishes by linear extrapolation, limited to a multiple of the last step."""
    return min(a * down / (down - still) if still > down else inf, 20 * a)


def _parabola(low: float, high: float, start: float, down: float, end: float) -> float:
    """The minimum of the parabola through both ends with this slope at the start, clipped to the interior."""
    bend = end - start - down * high
    best = -down * high * high / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.5 * high
    return float(np.clip(best, low + 0.1 * (high - low), low + 0.5 * (high - low)))


def _between(low: float, high: float, falling: float, rising: float) -> float:
    """The step at which the slope vanishes by linear interpolation, clipped; the middle if a slope is unknown."""
    if rising == inf:
        return 0.5 * (low + high)
    return low + min(max(falling / (falling - rising), 0.1), 0.9) * (high - low)
