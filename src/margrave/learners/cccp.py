"""The convex-concave procedure (Yuille and Rangarajan 2003) for differences of losses (001, footnote 1).

The concave part of the objective, -C sum_i L_i(beta, 0), lies below its tangent at any w_k, of slope -r. With the
tangent in its place the problem is convex,

    1/2 |w|^2 - <r, w> + C sum_i L_i(beta, gamma)(w) = 1/2 |w - r|^2 + C sum_i L_i(beta, gamma)(w) + const,

which is the problem that all learners solve, with weights measured from r. It lies above the objective and touches it
at w_k, so that lowering it lowers the objective.
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from margrave import _core
from margrave.checks import real, whole
from margrave.errors import MargraveError
from margrave.learners.base import Learner, State, Step, Task, Weights, check, check_loss
from margrave.losses import LossFamily


@dataclass
class CCCP(Learner):
    """Solves one convex problem after another, each above the objective and touching it where the last one led.

    `inner` solves them, each to a relative gap of `inner_tol` (None: a tenth of tol). There are `rounds` of them at
    most, or max_iter, with a record each. The first is the convex loss (beta, gamma) itself, unless `Task.start` says
    where to begin. The objective never rises, and the search ends when a round lowers it by no more than tol of itself:
    near a local optimum. There is no dual, hence no gap.

    >>> CCCP(inner="eg", rounds=5).name
    'cccp'
    """

    name: ClassVar[str] = "cccp"
    own_scores: ClassVar[bool] = True
    cost_of_parts: ClassVar[bool] = True
    convex_losses: ClassVar[bool] = False
    differences: ClassVar[bool] = True

    inner: str | Learner = "auto"
    rounds: int = 10
    inner_tol: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.inner, str | Learner):
            raise MargraveError(f"the inner learner of cccp must be a name or a learner, not {self.inner!r}.")
        if self.inner == self.name or isinstance(self.inner, CCCP):
            raise MargraveError("the inner learner of cccp must be another one.")
        self.rounds = whole("the rounds of cccp", self.rounds, 1, 10**6)
        if self.inner_tol is not None:
            self.inner_tol = real("inner_tol", self.inner_tol, "be a number that is not negative", lambda tol: tol >= 0)

    def most_iterations(self, task: Task) -> int:
        """Of rounds."""
        return task.max_iter or self.rounds

    def blank(self, task: Task) -> "_State":
        """All weights zero, and no round behind."""
        return _State(task, np.zeros(task.problem.dim), np.zeros(task.problem.dim))

    def begin(self, task: Task) -> "_State":
        """The same, or the tangent at the weights to start from: two passes."""
        state = self.blank(task)
        inner, loss = self._inner(state), state.convex_loss()
        if not _minimises(inner, loss):
            raise MargraveError(
                f"learner '{inner.name}' cannot do the rounds of cccp under {task.loss.name}, each of which minimises "
                f"a loss {loss.name}: use inner='auto'."
            )
        check(inner, loss, task.problem)
        if task.start is not None:
            state.move(task.start, *state.objective(task.start))
        return state

    def carry(self, state: "_State", task: Task) -> "_State":
        """From the same weights, at another C."""
        task.start = state.w
        return self.begin(task)

    def one_pass(self, state: "_State") -> Step:
        """One convex problem, and the objective at its solution; the weights stay if that is no lower."""
        task = state.task
        problem = state.convex_problem(task.tol / 10 if self.inner_tol is None else self.inner_tol)
        inner = self._inner(state)
        found = inner.solve(problem)
        if found.reason == "interrupted" and state.primal < inf:
            raise KeyboardInterrupt  # the weights of the last whole round are the result
        task.passes += problem.passes
        w = state.r + found.w
        primal, r = state.objective(w)
        task.check_finite(primal)
        before, settled = state.primal, found.converged and np.array_equal(r, state.r)
        if primal <= before:
            state.move(w, primal, r)
        done, stuck = "", False
        if found.reason == "interrupted":  # in the first round: what there is of it is better than no model
            done, stuck = found.reason, True
        elif before < inf and primal - before > task.tol * abs(before):
            done, stuck = f"learner '{inner.name}' found nothing lower", True
        elif before < inf and before - primal <= task.tol * abs(before):
            done = f"the objective fell by no more than tol {task.tol:g} of itself"
        elif settled:
            done = "the tangent of the concave part is the one before"
        return Step(state.w, state.primal, done=done, stuck=stuck)

    def _inner(self, state: "_State") -> Learner:
        from margrave.learners import learner_named  # which knows this module

        return learner_named(self.inner).resolve(state.convex_loss(), state.task.problem)


def _minimises(learner: Learner, loss: LossFamily) -> bool:
    try:
        check_loss(learner, loss)
    except MargraveError:
        return False
    return learner.regularised and not learner.own_objective


@dataclass
class _State(State):
    w: Weights
    r: Weights  # the gradient of C sum_i L_i(beta, 0) at w: where the next weights are measured from
    primal: float = inf  # the objective at w; inf before the first round

    def convex_loss(self) -> LossFamily:
        """The convex part, with a cost that is the problem's own."""
        return LossFamily(self.task.loss.beta, self.task.loss.gamma)

    def convex_problem(self, tol: float) -> Task:
        """The problem with the concave part replaced by its tangent at w, begun at w by learners that can."""
        task, loss, r = self.task, self.task.loss, self.r
        score = task.dev_score
        return Task(
            _core.offset(task.problem, r / loss.gamma, loss.zero_one),
            self.convex_loss(),
            C=task.C,
            sample_weight=task.sample_weight,
            tol=tol,
            n_threads=task.n_threads,
            seed=task.seed,
            dev_score=None if score is None else lambda u: score(r + u),
            start=None if self.primal == inf else self.w - r,
        )

    def objective(self, w: Weights) -> tuple[float, Weights]:
        """1/2 |w|^2 + C sum_i (L_i(beta, gamma) - L_i(beta, 0)), and the gradient of the last part; two passes."""
        task = self.task
        value = task.losses_at(w, task.loss.gamma)[0]
        less, r = task.losses_at(w, 0.0, gradient=True)
        return 0.5 * task.problem.dot(w, w) + value - less, r

    def move(self, w: Weights, primal: float, r: Weights) -> None:
        """Goes on from w."""
        self.w, self.primal, self.r = w, primal, r
