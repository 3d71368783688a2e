"""Dual coordinate ascent (001, Alg. 1 and 2), which is 1-best MIRA for the hinge loss."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.learners.base import Learner
from margrave.learners.checks import check_rule
from margrave.learners.objective import Objective, Objectives, State, Step, Weights, negative_losses, replaced_losses
from margrave.losses import LossFamily
from margrave.options import option

AVERAGE_HELP = "Return the average of the weights over all updates instead of the last ones."


@dataclass
class MIRA(Learner):
    """Steps min(C, L / |grad L|^2) against the gradient of one example at a time; returns the averaged weights.

    Every visit adds a new dual variable and never removes an old one, so that only the first pass ascends the dual: it
    reports D and a gap, and later passes report P alone. With `cumulative=True` the steps on an example sum to at most
    C, all passes report D and a gap, and the run ends when no example takes a step.
    `MIRA(cumulative=True, prediction=True, average=False)` takes the steps of the MIRA of CRF++.

    >>> MIRA(exact=True).name
    'mira'
    """

    name: ClassVar[str] = "mira"
    offers: ClassVar[tuple[str, ...]] = ("last weights",)
    default_max_iter: ClassVar[int] = 20

    average: bool = option(True, AVERAGE_HELP)
    exact: bool = option(False, "Solve the problem of each step exactly instead of its linearization.")
    prediction: bool = option(
        False,
        "Where beta is infinite, step away from the model's prediction instead of the loss-augmented one.",
    )
    cumulative: bool = option(False, "Let C bound the sum of all steps on an example instead of each of them.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exact and self.prediction:
            raise MargraveError("mira makes exact updates or updates against the prediction, not both.")
        if self.exact and self.cumulative:
            raise MargraveError("mira makes exact updates or cumulative ones, not both.")

    def blank(self, objective: Objective) -> "MIRAState":
        """All weights zero."""
        return at_zero(objective, objective.problem.size if self.cumulative else 0)

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse updates that the loss does not allow."""
        super().check(loss, problem)
        if self.prediction and loss.smooth:
            raise MargraveError(
                f"updates against the prediction need a loss with beta = inf, and {loss.name} has none."
            )
        if self.exact:
            check_rule("whole outputs", self, loss, problem)
        if self.exact and loss.smooth and loss.beyond_parts(problem):
            raise MargraveError("exact updates at a finite beta need a cost that decomposes over parts: use 'hamming'.")

    def one_pass(self, state: "MIRAState") -> Step:
        """One update for every example, in shuffled order."""
        order = state.order()
        ascent = state.objective.ascent(state.w, order)
        before = state.spent.copy()
        settings = self.exact, self.prediction, state.spent
        replaced = state.objective.fallbacks
        after = _core.mira_pass(*ascent, state.sum, state.steps, *settings)
        state.replaced += state.objective.fallbacks - replaced
        step = state.finish(after, self.average)
        if self.cumulative and np.array_equal(state.spent, before):
            step = replace(step, done="no example takes a step", stuck=True)
        return step

    def result(self, state: "MIRAState") -> Weights:
        """The average, or the last weights: what D is computed from does not tell whether the weights are its own."""
        return state.result(self.average)

    def note(self, state: "MIRAState") -> str:
        """How many exact steps were not solved; how many were not made, or by a bound, because of a negative loss."""
        notes = []
        if state.unsolved:
            notes.append(
                f"{state.unsolved} of {state.steps} exact steps did not reach a relative gap of {_core.MIRA_SOLVED:g}"
            )
        if state.negative:
            notes.append(negative_losses(state.negative, state.steps))
        if state.replaced:
            notes.append(replaced_losses(state.replaced, state.steps))
        return "; ".join(notes)


def at_zero(objective: Objective, bounded: int = 0) -> "MIRAState":
    """The state before the first pass; C bounds the sum of the steps on each of so many examples."""
    dim = objective.problem.dim
    return MIRAState(
        objective, np.zeros(dim), np.zeros(dim), np.random.default_rng(objective.random_state), np.zeros(bounded)
    )


@dataclass
class MIRAState(State):
    """The weights, the sum of all steps for their average, and what is known of the dual."""

    w: Weights
    sum: Weights  # the sum of step * update: the average of the models before each step is w - sum / steps
    random: np.random.Generator
    spent: Weights  # the sum of all steps on each example; empty if C bounds each of them
    value: float = 0.0  # sum_i C (gamma c_i + H_i / beta) over the steps on which D is based
    steps: int = 0
    turn: int = 0
    unsolved: int = 0  # exact steps that did not reach the relative gap that they should
    negative: int = 0  # visits without a step because approximate inference gave a negative loss
    replaced: int = 0  # visits whose negative loss was replaced by that of an upper bound

    def objectives(self) -> Objectives:
        """D in the first pass, or if C bounds the sums of steps; P takes a pass."""
        return None, None if self.turn > 1 and not self.spent.size else self.dual(), None

    def order(self) -> NDArray[np.int64]:
        """The examples that have weight, shuffled."""
        order = self.random.permutation(self.objective.problem.size)
        return order[self.objective.weights()[order] > 0]

    def finish(self, after: tuple[int, float, int, int, int], average: bool) -> Step:
        """P at the current result; in the first pass, or if C bounds the sums of steps, also D and the gap."""
        objective = self.objective
        self.steps, value, inferences, negative, unsolved = after
        self.negative += negative
        self.value += value
        self.unsolved += unsolved
        self.turn += 1
        objective.passes += inferences / objective.problem.size
        w = self.result(average)
        primal = objective.primal(w)
        _, dual, _ = self.objectives()
        return Step(w, primal, dual, None if dual is None else primal - dual)

    def result(self, average: bool) -> Weights:
        """The average of the weights before each step, or the last ones."""
        return self.w - self.sum / max(self.steps, 1) if average else self.w.copy()

    def dual(self) -> float:
        """D at the variables of all steps, while those of each example sum to at most C."""
        return self.value - 0.5 * self.objective.problem.dot(self.w, self.w)
