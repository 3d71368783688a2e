"""Nonlinear conjugate gradients on the primal (Polak and Ribiere 1969), a batch baseline of 002."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from margrave.learners.base import Learner
from margrave.learners.resuming import check_same
from margrave.learners.task import State, Step, Task, Weights
from margrave.solvers.line_search import AT_THE_LIMIT, MOST_STALLED, Point, wolfe


@dataclass
class CG(Learner):
    """Line searches along conjugate directions: it keeps fewer vectors than L-BFGS, and takes more passes.

    >>> CG().name
    'cg'
    """

    name: ClassVar[str] = "cg"
    needs: ClassVar[tuple[str, ...]] = ("finite beta", "euclidean")
    offers: ClassVar[tuple[str, ...]] = ("tol",)
    default_max_iter: ClassVar[int] = 1000

    def blank(self, task: Task) -> "_State":
        """All weights zero."""
        zero = np.zeros(task.problem.dim)
        return _State(task, zero, 0.0, zero, zero, 0.0)

    def begin(self, task: Task) -> "_State":
        """The gradient at the starting point."""
        w = np.zeros(task.problem.dim) if task.start is None else task.start
        primal, slope = task.objective(w)
        return _State(task, w, primal, slope, d=-slope, down=-task.problem.dot(slope, slope))

    def carry(self, state: "_State", task: Task) -> "_State":
        """The same weights with another C."""
        task.start = state.w
        return self.begin(task)

    def one_pass(self, state: "_State") -> Step:
        """One line search, one direction."""
        moved = state.down < 0 and state.advance()
        done = "" if moved else AT_THE_LIMIT if state.down else "the gradient is zero"
        gap = 0.5 * state.dot(state.slope, state.slope)
        return Step(state.w, state.primal, state.primal - gap, gap, done=done, stuck=done == AT_THE_LIMIT)


@dataclass
class _State(State):
    w: Weights
    primal: float
    slope: Weights
    d: Weights  # the direction of the next search
    down: float  # the slope of P along the direction
    reach: float = 0.0  # the last step times its `down`; 0 before the first step and after a failed search
    stalled: int = 0  # the number of steps in a row that did not measurably lower P

    def verify(self) -> None:
        """P, its gradient and the slope along the direction must be those at w."""
        primal, slope = self.task.objective(self.w)
        check_same("P", self.primal, primal)
        check_same("gradient", self.slope, slope)
        check_same("slope", self.down, self.dot(self.slope, self.d))

    def dot(self, u: Weights, v: Weights) -> float:
        """The core's inner product: NumPy's is threaded, which is slower here and changes the last bits."""
        return self.task.problem.dot(u, v)

    def advance(self) -> bool:
        """Move to the next point; False if no point differs from this one in floating-point numbers."""
        found = self.search()
        if found is None and self.reach:  # Rounding made the direction useless: restart from the gradient.
            self.restart()
            self.reach = 0.0
            found = self.search()
        if found is None:
            return False
        self.reach = found.step * self.down
        self.stalled = 0 if found.primal < self.primal - 1e-15 * abs(found.primal) else self.stalled + 1
        before, self.slope = self.slope, found.slope
        self.w, self.primal = found.w, found.primal
        self.turn(before)
        return self.stalled < MOST_STALLED

    def search(self) -> Point | None:
        """A point near the minimum along d; the first trial is the step at which P would fall as much as last time.

        The second derivative of P along d is at least |d|^2, so the minimum is no further than -down / |d|^2.
        """
        size = self.dot(self.d, self.d)
        step = self.reach / self.down if self.reach else 1 / sqrt(size)
        if step * size > -self.down:
            step = -self.down / size
        return wolfe(self.task, self.w, self.primal, self.d, self.down, step, _CURVATURE, strong=True)

    def turn(self, before: Weights) -> None:
        """The direction after a step from a point with gradient `before`, by the formula of Polak and Ribiere.

        It is reset to the gradient if the formula is negative (Powell 1984) or if P would hardly fall along it.
        """
        square = self.dot(self.slope, self.slope)
        bend = (square - self.dot(self.slope, before)) / self.dot(before, before)
        self.d *= max(bend, 0.0)
        self.d -= self.slope
        self.down = self.dot(self.slope, self.d)
        if not self.down < -_LEAST_DESCENT * square:
            self.restart()

    def restart(self) -> None:
        """Use the negative gradient as the direction."""
        self.d, self.down = -self.slope, -self.dot(self.slope, self.slope)


_CURVATURE = 0.1  # The fraction of the slope left by a search: directions are conjugate only near the minimum.
_LEAST_DESCENT = 0.1  # The smallest descent along a direction, as a fraction of that along the gradient.
