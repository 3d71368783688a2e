"""Dual coordinate ascent (001, Alg. 1 and 2), which is 1-best MIRA for the hinge loss, and k-best MIRA (Eq. 17)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.errors import MargraveError
from margrave.learners.base import Learner, State, Step, Task, Weights


@dataclass
class MIRA(Learner):
    """Steps min(C, L / |grad L|^2) against the gradient of one example at a time; returns the averaged weights.

    Every visit adds a new dual variable and never takes an old one away, so that only the first pass ascends the dual:
    it reports D and a gap, later ones P alone. `exact` solves Eq. 11 instead of its linearisation; `prediction` (where
    beta is infinite) steps away from the model's prediction instead of the loss-augmented one (footnote 11).

    >>> MIRA(exact=True).name
    'mira'
    """

    name: ClassVar[str] = "mira"
    keeps_last: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 20

    average: bool = True
    exact: bool = False
    prediction: bool = False

    def __post_init__(self) -> None:
        self.average = flag("average", self.average)
        self.exact = flag("exact", self.exact)
        self.prediction = flag("prediction", self.prediction)
        if self.exact and self.prediction:
            raise MargraveError("mira makes exact updates or updates against the prediction, not both.")

    def blank(self, task: Task) -> "_State":
        """All weights zero."""
        return _at_zero(task)

    def begin(self, task: Task) -> "_State":
        """The same, if the loss allows the update."""
        loss = task.loss
        if self.prediction and loss.smooth:
            raise MargraveError(
                f"updates against the prediction need a loss with beta = inf, and {loss.name} has none."
            )
        if self.exact and loss.smooth and loss.beyond_parts(task.problem):
            raise MargraveError("exact updates at a finite beta need a cost that is a sum over parts: use 'hamming'.")
        return self.blank(task)

    def one_pass(self, state: "_State") -> Step:
        """One update for every example, in shuffled order."""
        order = state.order()
        ascent = state.task.ascent(state.w, order)
        return state.finish(_core.mira_pass(*ascent, state.sum, state.steps, self.exact, self.prediction), self.average)


@dataclass
class KBestMIRA(Learner):
    """Updates as small as possible that put the gold output above each of the k best by their costs (Eq. 17).

    >>> KBestMIRA(k=10).name
    'kbest-mira'
    """

    name: ClassVar[str] = "kbest-mira"
    needs: ClassVar[tuple[str, ...]] = ("kbest",)
    infinite_beta_only: ClassVar[bool] = True
    cost_of_parts: ClassVar[bool] = True
    euclidean_only: ClassVar[bool] = True
    keeps_last: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 20

    k: int = 5
    average: bool = True

    def __post_init__(self) -> None:
        self.k = whole("the k of kbest-mira", self.k, 1, 10_000)
        self.average = flag("average", self.average)

    def blank(self, task: Task) -> "_State":
        """All weights zero."""
        return _at_zero(task)

    def one_pass(self, state: "_State") -> Step:
        """One update for every example, in shuffled order."""
        order = state.order()
        ascent = state.task.ascent(state.w, order)
        return state.finish(_core.kbest_mira_pass(*ascent, state.sum, state.steps, self.k), self.average)


def _at_zero(task: Task) -> "_State":
    dim = task.problem.dim
    return _State(task, np.zeros(dim), np.zeros(dim), np.random.default_rng(task.seed))


@dataclass
class _State(State):
    w: Weights
    sum: Weights  # of step * update, so that the average of the models before each step is w - sum / steps
    random: np.random.Generator
    steps: int = 0
    turn: int = 0

    def order(self) -> NDArray[np.int64]:
        """The examples that have weight, shuffled."""
        order = self.random.permutation(self.task.problem.size)
        return order[self.task.weights()[order] > 0]

    def finish(self, after: tuple[int, float, int], average: bool) -> Step:
        """P at the result so far; in the first pass D and the gap too."""
        task = self.task
        self.steps, value, inferences = after
        self.turn += 1
        task.passes += inferences / task.problem.size
        w = self.w - self.sum / max(self.steps, 1) if average else self.w.copy()
        primal = task.primal(w)
        if self.turn > 1:
            return Step(w, primal)
        dual = value - 0.5 * task.problem.dot(self.w, self.w)
        return Step(w, primal, dual, primal - dual)
