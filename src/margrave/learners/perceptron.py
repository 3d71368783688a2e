"""The averaged structured perceptron (Collins 2002), with lazy averaging."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from margrave import _core
from margrave.learners.base import Learner
from margrave.learners.objective import Objective, State, Step, Weights


@dataclass
class AveragedPerceptron(Learner):
    """Adds the gold output's features and subtracts the predicted one's at every mistake; returns the average.

    It has no regularizer and no dual: C is ignored, and the P that it reports is the objective at the average.
    """

    name: ClassVar[str] = "perceptron"
    needs: ClassVar[tuple[str, ...]] = ("argmax",)
    offers: ClassVar[tuple[str, ...]] = ("perceptron loss", "last weights")
    default_max_iter: ClassVar[int] = 20

    def blank(self, objective: Objective) -> "_State":
        """All weights zero."""
        return _State(
            objective,
            np.zeros(objective.problem.dim),
            np.zeros(objective.problem.dim),
            np.random.default_rng(objective.random_state),
        )

    def one_pass(self, state: "_State") -> Step:
        """One visit to every example in shuffled order."""
        objective = state.objective
        order = state.random.permutation(objective.problem.size)
        mistakes = _core.perceptron_pass(objective.problem, state.w, objective.family, order, state.sum, state.steps)
        state.steps += objective.problem.size
        objective.passes += 1
        average = state.w - state.sum / state.steps
        return Step(average, objective.primal(average), done="" if mistakes else "no mistakes in a whole pass")


@dataclass
class _State(State):
    w: Weights
    sum: Weights  # the sum of step * update: the average is w - sum / steps
    random: np.random.Generator
    steps: int = 0
