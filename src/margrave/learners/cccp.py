"""The convex-concave procedure (Yuille and Rangarajan 2003) for differences of losses (001, footnote 1).

The concave part of the objective, -C sum_i L_i(beta, 0), over all outputs or over the good ones only, lies below its
tangent at any w_k, of slope -r. With the tangent in its place the problem is convex,

    1/2 |w|^2 - <r, w> + C sum_i L_i(beta, gamma)(w) = 1/2 |w - r|^2 + C sum_i L_i(beta, gamma)(w) + const,

which is the problem that all learners solve, with weights measured from r. It lies above the objective and touches it
at w_k, so that lowering it lowers the objective.
"""

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from margrave import _core
from margrave.errors import MargraveError, TimeUpError, quoted
from margrave.learners.base import Learner, learner_named
from margrave.learners.checks import check_loss
from margrave.learners.ended import Ended
from margrave.learners.objective import Objective, Objectives, State, Step, Weights
from margrave.losses import LossFamily
from margrave.options import option

_INTERRUPTIONS = {Ended.INTERRUPTED: KeyboardInterrupt, Ended.MAX_SECONDS: TimeUpError}


@dataclass
class CCCP(Learner):
    """Convex-concave procedure: minimizes a sequence of convex upper bounds.

    Each round has one record; `max_iter`, if given, takes the place of `rounds`. The first problem is the convex loss
    (beta, gamma) itself, unless `Objective.start` says where to begin. The objective never rises, and the search ends
    near a local optimum, when a round lowers the objective by no more than tol of itself. There is no dual, hence no
    gap.

    >>> CCCP(inner="eg", rounds=5).name
    'cccp'
    """

    name: ClassVar[str] = "cccp"
    needs: ClassVar[tuple[str, ...]] = ("difference", "cost of parts", "any scores")
    offers: ClassVar[tuple[str, ...]] = ("differences", "smooth latent losses")

    inner: str | Learner = option("auto", "The learner that solves the convex problems.")
    rounds: int = option(10, "The most convex problems to solve.", at_least=1, at_most=10**6)
    inner_tol: float | None = option(
        None, "The relative gap to which each convex problem is solved; None is a tenth of tol.", at_least=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.inner, str | Learner):
            raise MargraveError(f"the inner learner of cccp must be a name or a learner, not {quoted(self.inner)}.")
        if self.inner == self.name or isinstance(self.inner, CCCP):
            raise MargraveError("the inner learner of cccp must be another one.")

    def most_iterations(self, objective: Objective) -> int:
        """The most rounds."""
        return objective.max_iter or self.rounds

    def blank(self, objective: Objective) -> "_State":
        """All weights are zero, and no round has been made."""
        return _State(objective, np.zeros(objective.problem.dim), np.zeros(objective.problem.dim))

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse an inner learner that cannot minimize the convex part."""
        super().check(loss, problem)
        inner, convex = self._inner(loss, problem), _convex_part(loss)
        if not _minimizes(inner, convex):
            raise MargraveError(
                f"learner '{inner.name}' cannot be the inner learner of cccp with {loss.name}, which minimizes "
                f"a loss {convex.name} in each round: use inner='auto'."
            )
        inner.check(convex, problem)

    def begin(self, objective: Objective) -> "_State":
        """Begin with zero weights, or with the tangent at the given weights, which takes two passes."""
        state = self.blank(objective)
        if objective.start is not None:
            state.move(objective.start, *state.value_and_tangent(objective.start))
        return state

    def continue_with(self, state: "_State", objective: Objective) -> "_State":
        """The same weights with another C."""
        objective.start = state.w
        return self.begin(objective)

    def one_pass(self, state: "_State") -> Step:
        """One convex problem, and the objective at its solution; the weights stay if that is no lower."""
        objective = state.objective
        problem = state.convex_problem(objective.tol / 10 if self.inner_tol is None else self.inner_tol)
        inner = self._inner(objective.loss, objective.problem, objective.largest_weight)
        found = inner.solve(problem)
        interrupted = _INTERRUPTIONS.get(found.ended)
        if interrupted and state.primal < inf:
            raise interrupted  # The result is the weights of the last complete round.
        if interrupted:
            _core.set_seconds_left(inf)  # The first round ends with the weights so far.
        objective.passes += problem.passes
        w = state.r + found.w
        primal, r = state.value_and_tangent(w)
        objective.check_finite(primal)
        before, same_tangent = state.primal, found.converged and np.array_equal(r, state.r)
        if primal <= before:
            state.move(w, primal, r)
        done, stuck = "", False
        if before < inf and primal - before > objective.tol * abs(before):
            done, stuck = f"learner '{inner.name}' found nothing lower", True
        elif before < inf and before - primal <= objective.tol * abs(before):
            done = f"the objective fell by no more than tol {objective.tol:g} of itself"
        elif same_tangent:
            done = "the tangent of the concave part is the one before"
        return Step(state.w, *state.objectives(), done=done, stuck=stuck, interrupted=interrupted)

    def _inner(self, loss: LossFamily, problem: _core.Problem, C: float = 1.0) -> Learner:
        return learner_named(self.inner).resolve(_convex_part(loss), problem, C)


def _convex_part(loss: LossFamily) -> LossFamily:
    """L(beta, gamma) with the cost that the problem itself has; without a cost, its offset takes the place of one."""
    return LossFamily(loss.beta, loss.gamma or 1.0)


def _minimizes(learner: Learner, loss: LossFamily) -> bool:
    try:
        check_loss(learner, loss)
    except MargraveError:
        return False
    return not {"perceptron loss", "another objective"} & set(learner.offers)


@dataclass
class _State(State):
    w: Weights
    r: Weights  # the gradient of C sum_i L_i(beta, 0) at w: where the next weights are measured from
    primal: float = inf  # the objective at w; inf before the first round

    def objectives(self) -> Objectives:
        """P, where there is no dual."""
        return self.primal, None, None

    def convex_problem(self, tol: float) -> Objective:
        """The problem with its concave part replaced by the tangent at w; learners that can begin at w do so."""
        objective, loss, r = self.objective, self.objective.loss, self.r
        score = objective.dev_score
        return Objective(
            _core.offset(objective.problem, r / (loss.gamma or 1.0), loss.zero_one, loss.gamma > 0),
            _convex_part(loss),
            C=objective.C,
            sample_weight=objective.sample_weight,
            tol=tol,
            n_jobs=objective.n_jobs,
            random_state=objective.random_state,
            dev_score=None if score is None else lambda u: score(r + u),
            start=None if self.primal == inf else self.w - r,
        )

    def value_and_tangent(self, w: Weights) -> tuple[float, Weights]:
        """1/2 |w|^2 + C sum_i (L_i(beta, gamma) - L_i(beta, 0)), and the gradient of the last part; two passes."""
        objective = self.objective
        value = objective.losses_of(objective.family, w)[0]
        less, r = objective.subtracted_losses(w, gradient=True)
        return 0.5 * objective.problem.dot(w, w) + value - less, r

    def move(self, w: Weights, primal: float, r: Weights) -> None:
        """Makes w the current weights."""
        self.w, self.primal, self.r = w, primal, r
