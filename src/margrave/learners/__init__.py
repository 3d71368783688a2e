"""Optimisers, each against the protocol alone."""

from margrave.errors import unknown
from margrave.learners.base import Learner, Record, Solution, Task
from margrave.learners.lbfgs import LBFGS
from margrave.learners.perceptron import AveragedPerceptron
from margrave.learners.sgd import SGD

__all__ = ["LBFGS", "LEARNERS", "SGD", "AveragedPerceptron", "Learner", "Record", "Solution", "Task", "learner_named"]

LEARNERS: dict[str, type[Learner]] = {kind.name: kind for kind in (LBFGS, SGD, AveragedPerceptron)}


def learner_named(learner: str | Learner) -> Learner:
    """The learner of this name with its defaults, or the configured learner itself."""
    if isinstance(learner, Learner):
        return learner
    if not isinstance(learner, str) or learner not in LEARNERS:
        raise unknown("learner", learner, LEARNERS)
    return LEARNERS[learner]()
