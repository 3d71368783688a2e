"""The learner of estimators whose inference on graphs may be approximate."""

from margrave.estimators.base import StructuredEstimator
from margrave.learners import LBFGS, Auto, Learner, Objective, learner_named


class GraphEstimator(StructuredEstimator, saved_as=""):
    """The base of estimators with `inference`."""

    inference: str

    def _chosen_learner(self, objective: Objective) -> Learner:
        """L-BFGS for the bounds of tree-reweighted messages, which are convex and have no jumps."""
        smooth = objective.loss.smooth and objective.loss.convex
        if self.inference == "trw" and smooth and isinstance(learner_named(self.learner), Auto):
            return LBFGS()
        return super()._chosen_learner(objective)
