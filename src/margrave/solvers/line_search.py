"""The line search of the batch learners: bracketing for the Wolfe conditions (Lewis and Overton 2013)."""

from math import inf
from typing import NamedTuple

import numpy as np

from margrave.learners.task import Task, Weights

MOST_STALLED = 10  # steps in a row that did not lower P, as far as numbers can tell
AT_THE_LIMIT = "no step lowers P further: the limit of floating-point numbers"


class Point(NamedTuple):
    """Where a line search ended: w + step d, and P and its gradient there."""

    step: float
    w: Weights
    primal: float
    slope: Weights


def wolfe(
    task: Task,
    w: Weights,
    primal: float,
    d: Weights,
    down: float,
    step: float,
    curvature: float = 0.9,
    *,
    strong: bool = False,
) -> Point | None:
    """A step along d, tried first at `step`, that lowers P and leaves at most `curvature` of its slope `down` < 0.

    The strong conditions bound the slope from above too, so that the step ends near the minimum along d. None if no
    trial met the conditions.
    """
    low, high = 0.0, inf
    falling, rising = down, inf  # the slopes along d at low and high; inf also where the value alone made it high
    slack = 1e-14 * abs(primal)  # P itself is known no better
    for _ in range(_MOST_TRIALS):
        trial = w + step * d
        value, slope = task.objective(trial)
        still = task.problem.dot(slope, d)
        lowered = value <= primal + 1e-4 * step * down + slack
        # P is convex: where it falls, it is lower than at the start, even if the rounding of its value hides it.
        if not (lowered or (strong and still <= 0)):
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
    task.check_finite(value)
    return None


_MOST_TRIALS = 30


def _beyond(a: float, down: float, still: float) -> float:
    """Where the slope along the line would vanish if it went on changing as it did so far; at most 20 times as far."""
    return min(a * down / (down - still) if still > down else inf, 20 * a)


def _parabola(low: float, high: float, start: float, down: float, end: float) -> float:
    """The minimum of the parabola through both ends with this slope at the start, kept well inside."""
    bend = end - start - down * high
    best = -down * high * high / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.5 * high
    return float(np.clip(best, low + 0.1 * (high - low), low + 0.5 * (high - low)))


def _between(low: float, high: float, falling: float, rising: float) -> float:
    """Where the slope would vanish if it changed evenly, kept well inside; the middle if only one slope is known."""
    if rising == inf:
        return 0.5 * (low + high)
    return low + min(max(falling / (falling - rising), 0.1), 0.9) * (high - low)
