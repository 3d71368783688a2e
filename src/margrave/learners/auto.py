"""The learner that chooses: by the loss, the size and what the structure offers (docs/choosing.md tells why)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from margrave import _core
from margrave.learners.base import Learner
from margrave.learners.bcfw import BCFW
from margrave.learners.cccp import CCCP
from margrave.learners.cutting_plane import CuttingPlane
from margrave.learners.eg import OnlineEG
from margrave.learners.lbfgs import LBFGS
from margrave.learners.perceptron import AveragedPerceptron
from margrave.learners.run import Solution
from margrave.learners.task import Task
from margrave.losses import LossFamily

# Problems with fewer parts take any learner a moment, and L-BFGS copes best with a large C and the smallest tol.
_FEWEST_PARTS = 50_000
_MOST_PARTS = 250_000_000  # the natural parameters and marginals of this many parts take 4 GB


@dataclass
class Auto(Learner):
    """Chooses the learner by the loss, the size of the problem and what the structure offers.

    Where beta is finite it takes online EG, or L-BFGS on small problems and where the distributions would not fit into
    memory; where beta is infinite, BCFW. The perceptron loss gets the perceptron, a difference of losses the
    convex-concave procedure; slack re-scaling, and quadratic or no slack, get cutting planes.

    >>> Auto().name
    'auto'
    """

    name: ClassVar[str] = "auto"
    offers: ClassVar[tuple[str, ...]] = ("choice", "differences", "any rescaling", "perceptron loss")

    def resolve(self, loss: LossFamily, problem: _core.Problem) -> Learner:
        """The learner for this loss on this problem."""
        if not loss.convex:
            return CCCP()
        if not loss.of_family:
            return CuttingPlane()
        if not loss.smooth:
            return BCFW() if loss.gamma > 0 else AveragedPerceptron()
        if not problem.euclidean:  # of a kernel
            return BCFW() if loss.beyond_parts(problem) else OnlineEG()
        if not getattr(problem, "any_scores", True):
            return LBFGS()
        parts = sum(problem.parts(i) for i in range(problem.size))
        return LBFGS() if loss.beyond_parts(problem) or not _FEWEST_PARTS < parts < _MOST_PARTS else OnlineEG()

    def solve(self, task: Task, state: Any = None) -> Solution:
        """What the chosen learner finds."""
        return self.resolve(task.loss, task.problem).solve(task, state)
