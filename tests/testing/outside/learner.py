"""A learner from outside of the package: Frank-Wolfe on the dual, with all examples at once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from margrave.learners import Learner, Objective, State, Step, Weights


@dataclass
class Mixture(State):
    """The weights of a mixture of distributions, and D without its norm."""

    w: Weights
    value: float = 0.0

    def dual(self) -> float:
        return self.value - 0.5 * self.objective.problem.dot(self.w, self.w)


@dataclass
class FrankWolfe(Learner):
    """Mixes all distributions with those of the loss, with an exact line search."""

    name: ClassVar[str] = "outside-frank-wolfe"
    default_max_iter: ClassVar[int] = 300

    def blank(self, objective: Objective) -> Mixture:
        return Mixture(objective, np.zeros(objective.problem.dim))

    def one_pass(self, state: Mixture) -> Step:
        losses, slope = state.objective.losses(state.w, gradient=True)
        dot = state.objective.problem.dot
        gap = losses + 0.5 * dot(state.w, state.w) - state.dual()  # before the step
        change = -slope - state.w
        share = min(1.0, gap / max(dot(change, change), 1e-300))
        state.value += share * (losses - dot(slope, state.w) - state.value)
        state.w = state.w + share * change
        return Step(state.w, dual=state.dual(), estimate=gap)

    def certify(self, state: Mixture) -> Step:
        primal, dual = state.objective.primal(state.w), state.dual()
        return Step(state.w, primal, dual, primal - dual)
