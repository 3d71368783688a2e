"""Limited-memory BFGS on the primal (Nocedal 1980), the batch baseline of 001 and 002.

It is implemented here instead of using SciPy's, because every evaluation must be counted, certified and interruptible,
and the state must be resumable.
"""

from collections import deque
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import Fields
from margrave.errors import Message, setting
from margrave.learners.base import Learner
from margrave.learners.line_search import AT_THE_LIMIT, MOST_STALLED, wolfe
from margrave.learners.objective import Objective, Step, Weights
from margrave.learners.primal import PrimalState, check_vectors
from margrave.learners.resuming import check_that
from margrave.options import option


@dataclass
class LBFGS(Learner):
    """Quasi-Newton steps with a curvature estimated from the last changes of the gradient.

    Losses that are not convex have no gap: there the search ends where half the squared norm of the gradient, which
    would be the gap of a convex one, is at most tol times P.

    >>> LBFGS(memory=5).name
    'lbfgs'
    """

    name: ClassVar[str] = "lbfgs"
    needs: ClassVar[tuple[str, ...]] = ("finite beta", "euclidean")
    offers: ClassVar[tuple[str, ...]] = ("tol", "smooth latent losses")
    default_max_iter: ClassVar[int] = 1000

    memory: int = option(20, "The number of changes of the gradient that are remembered.", at_least=1, at_most=1000)
    gradient_tol: float = option(
        0.0, "Stop also where |grad P| <= gradient_tol max(1, |w|); 0 leaves it to the relative gap.", at_least=0
    )

    def blank(self, objective: Objective) -> "_State":
        """All weights zero."""
        zero = np.zeros(objective.problem.dim)
        return _State(objective, zero, 0.0, zero, deque(maxlen=self.memory))

    def continue_with(self, state: "_State", objective: Objective) -> "_State":
        """The same weights with another C."""
        objective.start = state.w
        return self.begin(objective)

    def begin(self, objective: Objective) -> "_State":
        """The gradient at the starting point."""
        pairs = min(self.memory, self.most_iterations(objective))
        what = f"learner 'lbfgs' with {objective.problem.dim} weights and memory={self.memory}"
        check_vectors(objective, 2 * pairs, what, Message("lower its memory, or use ", setting(learner="cg")))
        w = np.zeros(objective.problem.dim) if objective.start is None else objective.start
        primal, slope = objective.value_and_gradient(w)
        return _State(objective, w, primal, slope, deque(maxlen=self.memory))

    def one_pass(self, state: "_State") -> Step:
        """One direction, one line search."""
        moved = state.dot(state.slope, state.slope) > 0 and state.advance()
        done = "" if moved else AT_THE_LIMIT if state.dot(state.slope, state.slope) > 0 else "the gradient is zero"
        norm = sqrt(state.dot(state.slope, state.slope))
        if self.gradient_tol and norm <= self.gradient_tol * max(1.0, sqrt(state.dot(state.w, state.w))):
            done = done or f"gradient norm {norm:.2g} <= {self.gradient_tol:g} max(1, |w|)"
        if not state.objective.loss.convex:
            if 0.5 * norm**2 <= state.objective.tol * abs(state.primal):
                done = done or f"converged: gradient norm {norm:.2g}"
            return Step(state.w, state.primal, done=done, stuck=done == AT_THE_LIMIT)
        return Step(state.w, *state.objectives(), done=done, stuck=done == AT_THE_LIMIT)


@dataclass
class _State(PrimalState):
    pairs: deque[tuple[Weights, Weights, float]]  # changes of w and of the gradient, and 1 / their product
    stalled: int = 0  # the number of steps in a row that did not measurably lower P

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The pairs as two matrices."""
        plain, arrays = super().pack()
        plain["pairs"] = [rho for _, _, rho in self.pairs]
        for name, which in (("s", 0), ("y", 1)):
            arrays[name] = np.array([pair[which] for pair in self.pairs]).reshape(len(self.pairs), len(self.w))
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """The pairs from two matrices."""
        rhos = Fields(plain).of("pairs", list[float])
        pairs = [(np.array(s), np.array(y), rho) for s, y, rho in zip(arrays["s"], arrays["y"], rhos, strict=True)]
        super().unpack(plain | {"pairs": deque(pairs, maxlen=self.pairs.maxlen)}, arrays)

    def verify(self) -> None:
        """Every change must be one of w."""
        super().verify()
        for s, y, _ in self.pairs:
            check_that(s.shape == y.shape == self.w.shape and s.dtype == y.dtype == np.float64, "changes are of w")

    def direction(self) -> Weights:
        """The two-loop recursion: -H grad P, where H is initially the latest curvature times the identity."""
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
        """Move to the next point; False if no point differs from this one in floating-point numbers."""
        if self.stalled >= MOST_STALLED:  # Asked once more, the answer is the same.
            return False
        d = self.direction()
        down = self.dot(self.slope, d)
        if not down < 0:  # Rounding made the curvature useless: restart from the gradient.
            self.pairs.clear()
            d, down = -self.slope, -self.dot(self.slope, self.slope)
        first = 1.0 if self.pairs else min(1.0, 1.0 / sqrt(self.dot(self.slope, self.slope)))
        found = wolfe(self.objective, self.w, self.primal, d, down, first)
        if found is None:
            return False
        _, w, primal, slope = found
        s, y = w - self.w, slope - self.slope
        curvature = self.dot(s, y)
        if curvature > 0:
            self.pairs.append((s, y, 1 / curvature))
        self.stalled = 0 if primal < self.primal - 1e-15 * abs(primal) else self.stalled + 1
        self.w, self.primal, self.slope = w, primal, slope
        self.mix()
        return self.stalled < MOST_STALLED
