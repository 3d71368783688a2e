"""Nonlinear conjugate gradients on the primal, a batch baseline of 002.

The formula is that of Polak and Ribiere (1969), or of Hager and Zhang (2005).
"""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np

from margrave.learners.base import Learner
from margrave.learners.line_search import AT_THE_LIMIT, MOST_STALLED, Point, wolfe
from margrave.learners.objective import Objective, Step, Weights
from margrave.learners.primal import PrimalState, check_vectors
from margrave.options import option

FORMULAS = ("polak-ribiere", "hager-zhang")


@dataclass
class CG(Learner):
    """Line searches along conjugate directions: it keeps fewer vectors than L-BFGS, and takes more passes.

    >>> CG(formula="hager-zhang").name
    'cg'
    """

    name: ClassVar[str] = "cg"
    needs: ClassVar[tuple[str, ...]] = ("finite beta", "euclidean")
    offers: ClassVar[tuple[str, ...]] = ("tol",)
    default_max_iter: ClassVar[int] = 1000

    formula: str = option(
        FORMULAS[0], "Which formula says how much of the last direction the next one contains.", choices=FORMULAS
    )

    def blank(self, objective: Objective) -> "_State":
        """All weights zero."""
        zero = np.zeros(objective.problem.dim)
        return _State(objective, zero, 0.0, zero, zero, 0.0)

    def begin(self, objective: Objective) -> "_State":
        """The gradient at the starting point."""
        check_vectors(objective, 1, f"learner 'cg' with {objective.problem.dim} weights", "use fewer features")
        w = np.zeros(objective.problem.dim) if objective.start is None else objective.start
        primal, slope = objective.value_and_gradient(w)
        return _State(objective, w, primal, slope, d=-slope, down=-objective.problem.dot(slope, slope))

    def continue_with(self, state: "_State", objective: Objective) -> "_State":
        """The same weights with another C."""
        objective.start = state.w
        return self.begin(objective)

    def one_pass(self, state: "_State") -> Step:
        """One line search, one direction."""
        moved = state.down < 0 and state.advance(self.formula)
        done = "" if moved else AT_THE_LIMIT if state.down else "the gradient is zero"
        return Step(state.w, *state.objectives(), done=done, stuck=done == AT_THE_LIMIT)


@dataclass
class _State(PrimalState):
    d: Weights  # the direction of the next search
    down: float  # the slope of P along the direction
    reach: float = 0.0  # the last step times its `down`; 0 before the first step and after a failed search
    stalled: int = 0  # the number of steps in a row that did not measurably lower P

    def advance(self, formula: str) -> bool:
        """Move to the next point; False if no point differs from this one in floating-point numbers."""
        if self.stalled >= MOST_STALLED:  # Asked once more, the answer is the same.
            return False
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
        self.mix()
        self.turn(before, formula)
        return self.stalled < MOST_STALLED

    def search(self) -> Point | None:
        """A point near the minimum along d; the first trial is the step at which P would fall as much as last time.

        The second derivative of P along d is at least |d|^2, so the minimum is no further than -down / |d|^2.
        """
        size = self.dot(self.d, self.d)
        step = self.reach / self.down if self.reach else 1 / sqrt(size)
        if step * size > -self.down:
            step = -self.down / size
        return wolfe(self.objective, self.w, self.primal, self.d, self.down, step, _CURVATURE, strong=True)

    def turn(self, before: Weights, formula: str) -> None:
        """The direction after a step from a point with gradient `before`.

        It is reset to the gradient if P would hardly fall along it.
        """
        square = self.dot(self.slope, self.slope)
        share = self.polak_ribiere(before) if formula == "polak-ribiere" else self.hager_zhang(before)
        self.d *= share
        self.d -= self.slope
        self.down = self.dot(self.slope, self.d)
        if not self.down < -_LEAST_DESCENT * square:
            self.restart()

    def polak_ribiere(self, before: Weights) -> float:
        """The share of the last direction by Polak and Ribiere; none where it would be negative (Powell 1984)."""
        square = self.dot(self.slope, self.slope)
        return max((square - self.dot(self.slope, before)) / self.dot(before, before), 0.0)

    def hager_zhang(self, before: Weights) -> float:
        """The share of the last direction by Hager and Zhang (2005, Eq. 1.3, 1.5 and 1.6).

        With y the change of the gradient it is <y - 2 d |y|^2 / <d, y>, slope> / <d, y>, but no less than
        -1 / (|d| min(eta, |before|)).
        """
        change = self.slope - before
        along = self.dot(self.d, change)
        if not along > 0:
            return 0.0
        stretch = 2 * self.dot(change, change) / along
        share = (self.dot(change, self.slope) - stretch * self.dot(self.d, self.slope)) / along
        size = sqrt(self.dot(self.d, self.d)) * min(_ETA, sqrt(self.dot(before, before)))
        return max(share, -1 / size)

    def restart(self) -> None:
        """Use the negative gradient as the direction."""
        self.d, self.down = -self.slope, -self.dot(self.slope, self.slope)


_CURVATURE = 0.1  # The fraction of the slope left by a search: directions are conjugate only near the minimum.
_LEAST_DESCENT = 0.1  # The smallest descent along a direction, as a fraction of that along the gradient.
_ETA = 0.01  # Hager and Zhang's eta, the least gradient that bounds how negative their share may be.
