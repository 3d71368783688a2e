"""Stochastic variance-reduced gradient on the primal (Johnson and Zhang 2013), which stores nothing per example."""

from dataclasses import dataclass, field
from math import expm1, inf, isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.learners.base import Learner
from margrave.learners.line_search import AT_THE_LIMIT
from margrave.learners.objective import Objective, Step
from margrave.learners.primal import PrimalState, check_vectors
from margrave.options import option

_FIRST = 0.02  # the first length of a pass times C
_LONGEST = 0.5  # the dense term alone would be stable up to 2
_GROWTH = 1.3  # after a pass that lowered both P and the gap
_CAUTION = 0.7  # after a pass that raised the gap: the steps are about to become unstable
_RETREAT = 1 / 3  # after a pass that did not lower P, which is undone
_POLISH = 0.6  # once P is within about tol of the optimum: what is left of the gap is the noise of long steps
_UNSTABLE = 2.0  # the factor by which the gap grows after a pass that was too long
_BELOW = 0.7  # of a length that was too long: the next passes stay below this
_RELAXED = 1.03  # the factor on that limit per pass, as curvatures change on the way
_SHORTEST = 1e-12  # as a fraction of the first length: no weight changes any more


@dataclass
class SVRG(Learner):
    """Steps against the gradient of one example at a time, corrected by the full gradient at a reference point.

    The correction makes the noise of the steps vanish at the optimum, so that no decaying rate is needed. The full
    gradient is also the certificate. An iteration takes three passes: one with inference at the current weights and at
    the reference, and one for P and its gradient at the new reference. If P has not fallen, it is repeated from the
    same reference with shorter steps. The steps use one thread, and the gradients all of them.

    >>> SVRG().name
    'svrg'
    """

    name: ClassVar[str] = "svrg"
    needs: ClassVar[tuple[str, ...]] = ("finite beta", "euclidean")
    offers: ClassVar[tuple[str, ...]] = ("tol",)
    default_max_iter: ClassVar[int] = 1000

    length: float | None = option(
        None, "The sum of the step sizes of the first pass, which is then adapted; None is 0.02 / C.", above=0
    )

    def blank(self, objective: Objective) -> "_State":
        """All weights zero."""
        zero = np.zeros(objective.problem.dim)
        return _State(
            objective, zero, 0.0, zero, self.first_length(objective), np.random.default_rng(objective.random_state)
        )

    def first_length(self, objective: Objective) -> float:
        """The length of the first pass."""
        return min(_FIRST / objective.C if self.length is None else self.length, _LONGEST)

    def begin(self, objective: Objective) -> "_State":
        """The gradient at the starting point."""
        check_vectors(objective, 1, f"learner 'svrg' with {objective.problem.dim} weights", "use fewer features")
        w = np.zeros(objective.problem.dim) if objective.start is None else objective.start
        return _State(
            objective,
            w,
            *objective.value_and_gradient(w),
            self.first_length(objective),
            np.random.default_rng(objective.random_state),
        )

    def continue_with(self, state: "_State", objective: Objective) -> "_State":
        """The same weights with another C."""
        objective.start = state.w
        return self.begin(objective)

    def one_pass(self, state: "_State") -> Step:
        """One pass of steps, and the gradient where they end."""
        moved = state.advance()
        done = "" if moved or state.length > _SHORTEST * self.first_length(state.objective) else AT_THE_LIMIT
        return Step(state.w, *state.objectives(), done=done, stuck=bool(done))


@dataclass
class _State(PrimalState):  # w is the reference.
    length: float  # of the next pass
    random: np.random.Generator
    limit: float = _LONGEST  # of the length
    levels: NDArray[Any] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.levels = _core.drift_levels(self.objective.problem, self.objective.family)

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All but the levels, which the problem determines."""
        plain, arrays = super().pack()
        del arrays["levels"]
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `pack` returned."""
        super().unpack(plain, {**arrays, "levels": self.levels})

    def advance(self) -> bool:
        """Move the reference to the end of a pass, if P is lower there; three passes over the data."""
        objective = self.objective
        w = self.w.copy()
        order = self.random.permutation(objective.problem.size)
        _core.svrg_pass(objective.problem, w, objective.family, order, self.levels, self.w, self.slope, self.length)
        objective.passes += 2
        primal, slope = objective.value_and_gradient(w) if np.isfinite(w).all() else (inf, w)
        if not (isfinite(primal) and primal < self.primal):
            self.limit = _BELOW * self.length
            self.length *= _RETREAT
            return False
        before, fall = self.own_gap(), self.primal - primal
        self.w, self.primal, self.slope = w, primal, slope
        self.mix()
        self.adapt(self.own_gap() / before, fall)
        return True

    def adapt(self, growth: float, fall: float) -> None:
        """Choose the length of the next pass, after one that made the gap grow by a factor and P fall.

        Along the gradient, P - min P falls at least as e^(-2 length), because P is strongly convex with constant 1. The
        fall of P therefore bounds what is left of it, but for the noise.
        """
        if growth > _UNSTABLE:
            self.limit = _BELOW * self.length
        if growth > 1:
            self.length *= _CAUTION
        else:
            near = fall < -expm1(-2 * self.length) * self.objective.tol * abs(self.primal)
            self.length *= _POLISH if near else _GROWTH
        self.limit = min(self.limit * _RELAXED, _LONGEST)
        self.length = min(self.length, self.limit)
