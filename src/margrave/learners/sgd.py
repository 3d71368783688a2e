"""Stochastic gradient descent with the decaying rate of 001, section 5."""

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar

import numpy as np

from margrave import _core
from margrave.checks import real
from margrave.errors import MargraveError, quoted
from margrave.learners.base import Learner
from margrave.learners.objective import Objective, State, Step, Weights, negative_losses, replaced_losses
from margrave.options import option


def _positive_numbers(name: str, rates: Any) -> tuple[float, ...]:
    """The rates as numbers; an error if they are not a list of positive ones."""
    if not isinstance(rates, tuple | list) or not rates:
        raise MargraveError(f"{name} must be a list of numbers, and they are {quoted(rates)}.")
    return tuple(real("the rate of sgd", rate, "be positive and finite", lambda rate: 0 < rate < inf) for rate in rates)


@dataclass
class SGD(Learner):
    """Steps eta_t = eta / (1 + (t-1)/n) against the gradient of one example at a time, in shuffled order.

    Without a given rate, it makes one pass with each of several rates and chooses the best by the score on development
    data, or by P if there are none. These passes are counted.

    >>> SGD(rate=0.1).name
    'sgd'
    """

    name: ClassVar[str] = "sgd"
    needs: ClassVar[tuple[str, ...]] = ("euclidean",)
    offers: ClassVar[tuple[str, ...]] = ("certificate at finite beta",)
    default_max_iter: ClassVar[int] = 30

    rate: float | None = option(None, "The first step size eta; None tries each of the rates.", above=0)
    rates: tuple[float, ...] = option(
        (0.001, 0.01, 0.1, 1.0), "The step sizes to try where no rate is given.", check=_positive_numbers
    )

    def blank(self, objective: Objective) -> "_State":
        """All weights zero."""
        return _new_state(objective, self.rates[0])

    def begin(self, objective: Objective) -> "_State":
        """Chooses the base rate."""
        if self.rate is not None:
            return _new_state(objective, self.rate)
        return max((_new_state(objective, rate) for rate in self.rates), key=lambda state: state.first_pass_quality())

    def one_pass(self, state: "_State") -> Step:
        """One visit to every example, then P (and D and the gap where beta is finite)."""
        if state.ahead:
            state.ahead = False  # The pass that chose the rate was the first one.
        else:
            state.visit_all()
        primal, dual, gap = state.objective.certify(state.w)
        return Step(state.w.copy(), primal, dual, gap)

    def note(self, state: "_State") -> str:
        """How many steps were not made, or made by a bound, because approximate inference gave a negative loss."""
        notes = [negative_losses(state.negative, state.step)] if state.negative else []
        notes += [replaced_losses(state.replaced, state.step)] if state.replaced else []
        return "; ".join(notes)


def _new_state(objective: Objective, rate: float) -> "_State":
    w = np.zeros(objective.problem.dim) if objective.start is None else objective.start.copy()
    return _State(objective, rate, w, np.random.default_rng(objective.random_state))


@dataclass
class _State(State):
    rate: float
    w: Weights
    random: np.random.Generator
    step: int = 0
    negative: int = 0  # examples that made no step because approximate inference gave them a negative loss
    replaced: int = 0  # examples whose negative loss was replaced by that of an upper bound
    ahead: bool = False

    def visit_all(self) -> None:
        objective = self.objective
        before = objective.fallbacks
        self.step, negative = _core.sgd_pass(
            objective.problem,
            self.w,
            objective.family,
            self.random.permutation(objective.problem.size),
            self.rate,
            self.step,
        )
        self.negative += negative
        self.replaced += objective.fallbacks - before
        objective.passes += 1

    def first_pass_quality(self) -> float:
        """The score of the model on development data after one pass, or -P if there are none."""
        self.visit_all()
        self.ahead = True
        if not np.isfinite(self.w).all():
            return -inf
        if self.objective.dev_score is not None:
            return self.objective.dev_score(self.w)
        primal = self.objective.primal(self.w)
        return -primal if isfinite(primal) else -inf
