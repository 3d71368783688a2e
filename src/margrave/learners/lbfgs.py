"""Limited-memory BFGS on the primal (Nocedal 1980), the batch baseline of 001 and 002.

Written here rather than taken from scipy because every evaluation must be counted, certified and interruptible, and the
state must be resumable.
"""

from collections import deque
from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from margrave import _core
from margrave.checks import real, whole
from margrave.learners.base import Learner, Step, Task, Weights


@dataclass
class LBFGS(Learner):
    """Quasi-Newton steps from the last `memory` changes of the gradient.

    Stops on the relative gap (`tol` of the estimator) or, if `gradient_tol` is given, on
    |grad P| <= gradient_tol max(1, |w|).

    >>> LBFGS(memory=5).name
    'lbfgs'
    """

    name: ClassVar[str] = "lbfgs"
    smooth_only: ClassVar[bool] = True
    reaches_tol: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 1000

    memory: int = 20
    gradient_tol: float = 0.0

    def __post_init__(self) -> None:
        self.memory = whole("the memory of lbfgs", self.memory, 1, 1000)
        rule = "be finite and not negative"
        self.gradient_tol = real("gradient_tol", self.gradient_tol, rule, lambda tol: 0 <= tol < inf)

    def begin(self, task: Task) -> "_State":
        """The gradient at w = 0."""
        w = np.zeros(task.problem.dim)
        primal, slope = task.objective(w)
        return _State(task, w, primal, slope, deque(maxlen=self.memory))

    def one_pass(self, state: "_State") -> Step:
        """One direction, one line search."""
        moved = state.slope.any() and state.advance()
        done = "" if moved else _AT_THE_LIMIT if state.slope.any() else "the gradient is zero"
        norm = sqrt(state.dot(state.slope, state.slope))
        if self.gradient_tol and norm <= self.gradient_tol * max(1.0, sqrt(state.dot(state.w, state.w))):
            done = done or f"gradient norm {norm:.2g} <= {self.gradient_tol:g} max(1, |w|)"
        gap = 0.5 * norm * norm
        return Step(state.w, state.primal, state.primal - gap, gap, done, stuck=done == _AT_THE_LIMIT)


@dataclass
class _State:
    task: Task
    w: Weights
    primal: float
    slope: Weights
    pairs: deque[tuple[Weights, Weights, float]]  # changes of w and of the gradient, and 1 / their product
    stalled: int = 0  # steps in a row that did not lower P, as far as numbers can tell

    def dot(self, u: Weights, v: Weights) -> float:
        """The core's inner product: numpy's is threaded, which costs more than it gains and moves the last bits."""
        return self.task.problem.dot(u, v)

    def direction(self) -> Weights:
        """The two loops: -H grad P, with H begun as the latest curvature times the identity."""
        q = -self.slope
        alphas = []
        for s, y, rho in reversed(self.pairs):
            alpha = rho * self.dot(s, q)
            alphas.append(alpha)
            _core.add_scaled(y, -alpha, q)
        if self.pairs:
            s, y, rho = self.pairs[-1]
            q /= rho * self.dot(y, y)
        for (s, y, rho), alpha in zip(self.pairs, reversed(alphas), strict=True):
            _core.add_scaled(s, alpha - rho * self.dot(y, q), q)
        return q

    def advance(self) -> bool:
        """Moves to the next point; False if there is none that floating-point numbers can tell from this one."""
        d = self.direction()
        down = self.dot(self.slope, d)
        if not down < 0:  # rounding spoiled the curvature: begin again from the gradient
            self.pairs.clear()
            d, down = -self.slope, -self.dot(self.slope, self.slope)
        first = 1.0 if self.pairs else min(1.0, 1.0 / sqrt(self.dot(self.slope, self.slope)))
        found = self._wolfe(d, down, first)
        if found is None:
            return False
        w, primal, slope = found
        s, y = w - self.w, slope - self.slope
        curvature = self.dot(s, y)
        if curvature > 0:
            self.pairs.append((s, y, 1 / curvature))
        self.stalled = 0 if primal < self.primal - 1e-15 * abs(primal) else self.stalled + 1
        self.w, self.primal, self.slope = w, primal, slope
        return self.stalled < _MOST_STALLED

    def _wolfe(self, d: Weights, down: float, a: float) -> tuple[Weights, float, Weights] | None:
        """A point along d that meets the weak Wolfe conditions, by bracketing (Lewis and Overton 2013)."""
        low, high = 0.0, np.inf
        slack = 1e-14 * abs(self.primal)  # P itself is known no better
        for _ in range(_MOST_TRIALS):
            w = self.w + a * d
            primal, slope = self.task.objective(w)
            if not primal <= self.primal + 1e-4 * a * down + slack:
                high = a
                a = _parabola(low, high, self.primal, down, primal) if low == 0 else 0.5 * (low + high)
            elif (still := self.dot(slope, d)) < 0.9 * down:
                low = a
                a = _beyond(a, down, still) if high == np.inf else 0.5 * (low + high)
            else:
                return w, primal, slope
        self.task.check_finite(primal)
        return None


_MOST_TRIALS = 30
_MOST_STALLED = 10
_AT_THE_LIMIT = "no step lowers P further: the limit of floating-point numbers"


def _beyond(a: float, down: float, still: float) -> float:
    """Where the slope along the line would vanish if it went on changing as it did so far; at most 20 times as far."""
    ahead = a * down / (down - still) if still > down else np.inf
    return float(np.clip(ahead, 2 * a, 20 * a))


def _parabola(low: float, high: float, start: float, down: float, end: float) -> float:
    """The minimum of the parabola through both ends with this slope at the start, kept well inside."""
    bend = end - start - down * high
    best = -down * high * high / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.5 * high
    return float(np.clip(best, low + 0.1 * (high - low), low + 0.5 * (high - low)))
