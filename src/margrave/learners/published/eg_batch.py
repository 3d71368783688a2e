"""Batch exponentiated gradient on the dual (000, Fig. 2; 002, Fig. 1), by natural parameters or in the primal form."""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from margrave import _core
from margrave.errors import MargraveError, unknown
from margrave.learners.base import Learner
from margrave.learners.dual import dual_value, gold_parameters, largest_score
from margrave.learners.objective import Objective, Objectives, State, Step, Weights
from margrave.learners.resuming import check_same, check_that, scale_of_dual, scale_of_weights
from margrave.learners.rounding import lowered
from margrave.options import option

FORMS = ("parts", "weights")

_GROWTH = 1.5  # the factor on the rate after a gain
_CONCENTRATED = 8.0  # the default start, close to the gold outputs, so that w is close to 0
_LARGEST = 1e100  # of a rate: where no step changes anything, it would grow to infinity
_SMALLEST = 1e-300  # the rate below which nothing changes any more


@dataclass
class BatchEG(Learner):
    """Multiplicative updates of all distributions at once, the same bits with any number of threads.

    The form "parts" stores natural parameters. The form "weights" is the primal form of Bartlett et al. (2004,
    section 3), which stores only z and s and nothing per example, and begins at zero.

    >>> BatchEG(rate="safe", form="weights").name
    'eg-batch'
    """

    name: ClassVar[str] = "eg-batch"
    needs: ClassVar[tuple[str, ...]] = ("logsum", "cost of parts", "any scores")
    offers: ClassVar[tuple[str, ...]] = ("certificate",)
    default_max_iter: ClassVar[int] = 1000

    rate: str | float = option(
        "adaptive",
        'Step size: "adaptive" is halved until the dual does not decrease, and grows after a gain; "safe" is a '
        "constant step at which the dual never decreases; a number is a constant step.",
        above=0,
    )
    form: str = option("parts", "Whether natural parameters of parts are stored, or only weights.", choices=FORMS)
    start: float | None = option(
        None,
        "How strongly training starts from the correct outputs; 0 is uniform, and None is close to them.",
        at_least=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rate, str) and self.rate not in ("adaptive", "safe"):
            raise unknown("rate of eg-batch", self.rate, ("adaptive", "safe", "a number"))
        if self.form == "weights" and self.start:
            raise MargraveError("the primal form of eg-batch starts only where t = A z: leave start at 0.")

    def blank(self, objective: Objective) -> "_State":
        """Natural parameters, or z and s."""
        n, rate = objective.problem.size, self.rate
        smooth = objective.loss.smooth
        if rate == "safe":
            rate = safe_rate(objective)
        elif rate == "adaptive":
            rate = 0.5 if smooth else 1.0
        elif not smooth:
            rate = float(rate) * objective.C
        start = _CONCENTRATED if self.start is None else self.start
        t = np.zeros(0) if self.form == "weights" else gold_parameters(objective, start)
        return _State(objective, np.zeros(objective.problem.dim), np.zeros(n), np.zeros(n), float(rate), t)

    def begin(self, objective: Objective) -> "_State":
        """Compute the expectations of the initial distributions; one pass."""
        state = self.blank(objective)
        if objective.start is not None and self.form == "weights":
            beta = objective.loss.beta if objective.loss.smooth else 1.0
            state.z, state.s = beta * objective.start, beta * objective.loss.gamma
        state.w = state.weights_at(state.z, state.s) if self.form == "weights" else state.expect()
        state.value = state.dual(state.w)
        return state

    def one_pass(self, state: "_State") -> Step:
        """One step of all distributions."""
        done = ""
        while not state.step(monotone=self.rate == "adaptive"):
            state.rate *= 0.5
            if state.rate < _SMALLEST:
                done = "no rate raises D any more: the limit of floating-point numbers"
                break
        if self.rate == "adaptive" and not done:
            state.rate = min(state.rate * _GROWTH, 1.0 if state.objective.loss.smooth else _LARGEST)
        return Step(state.w, *state.objectives(), done=done, stuck=bool(done))

    def certify(self, state: "_State") -> Step:
        """P and the gap; one pass."""
        primal, dual = state.objective.primal(state.w), state.bound()
        return Step(state.w, primal, dual, primal - dual)


def safe_rate(objective: Objective) -> float:
    """A rate at which D never falls: 1/(1 + n beta C R^2), or 1/(n C R^2) if beta is infinite."""
    square = max(objective.problem.radius(i) for i in range(objective.problem.size)) ** 2
    curve = float(objective.weights().max()) * square * objective.problem.size
    if not objective.loss.smooth:
        return 1 / max(curve, _SMALLEST)
    return 1 / (1 + objective.loss.beta * curve)


@dataclass
class _State(State):
    w: Weights
    entropy: Weights
    cost: Weights
    rate: float
    t: Weights  # natural parameters; empty in the primal form
    z: Weights = field(default_factory=lambda: np.zeros(0))
    s: float = 0.0
    value: float = -inf  # D

    def __post_init__(self) -> None:
        if not len(self.t):
            self.z = np.zeros(self.objective.problem.dim)

    def objectives(self) -> Objectives:
        """D; P takes a pass."""
        return None, self.bound(), None

    def bound(self) -> float:
        """D, lowered by its rounding error where that is not negligible; steps compare D itself."""
        objective, dot = self.objective, self.objective.problem.dot
        if len(self.t):
            score = largest_score(objective, self.t)
        else:
            score = sqrt(dot(self.z, self.z)) * float(objective.radii.max()) + self.s * objective.longest
        return lowered(self.value, objective.rounding.of_state(sqrt(dot(self.w, self.w)), 1, score))

    def expect(self) -> Weights:
        """w of the natural parameters; one pass."""
        objective, numbers = self.objective, _without_marginals(self.t)
        objective.passes += 1
        return _core.gibbs_expectations(
            objective.problem, objective.family, objective.threads, None, numbers, False, self.entropy, self.cost
        )

    def weights_at(self, z: Weights, s: float) -> Weights:
        """w of t = A z + s delta; one pass."""
        objective = self.objective
        objective.passes += 1
        return _core.eg_primal_form(
            objective.problem, objective.family, objective.threads, z, s, self.entropy, self.cost
        )

    def verify(self) -> None:
        """w and D must be those of the natural parameters."""
        check_that(0 < self.rate < inf, "the rate is positive")
        w = self.expect() if len(self.t) else self.weights_at(self.z, self.s)
        check_same("w", self.w, w, terms=scale_of_weights(self.objective))
        check_same("D", self.value, self.dual(w), terms=scale_of_dual(self.objective, w))

    def dual(self, w: Weights) -> float:
        return dual_value(self.objective, self.cost, self.entropy) - 0.5 * self.objective.problem.dot(w, w)

    def step(self, *, monotone: bool) -> bool:
        """t <- (1 - rho) t + rho beta (A w + gamma delta); False, and nothing changed, if D would fall. One pass."""
        objective, loss = self.objective, self.objective.loss
        before = self.entropy.copy(), self.cost.copy()
        keep, add = (1 - self.rate, self.rate * loss.beta) if loss.smooth else (1.0, self.rate)
        if len(self.t):
            objective.passes += 1
            t = np.empty_like(self.t)
            w = _core.eg_batch_step(
                objective.problem,
                objective.family,
                objective.threads,
                None,
                self.w,
                _without_marginals(self.t),
                _without_marginals(t),
                self.rate,
                self.entropy,
                self.cost,
            )
        else:
            z, s = keep * self.z + add * self.w, keep * self.s + add * loss.gamma
            w = self.weights_at(z, s)
        value = self.dual(w)
        if monotone and not value >= self.value:
            self.entropy, self.cost = before
            return False
        self.w, self.value = w, value
        if len(self.t):
            self.t = t
        else:
            self.z, self.s = z, s
        return True


def _without_marginals(t: Weights) -> _core.DoubleNumbers:
    return _core.DoubleNumbers(t, np.zeros(0))
