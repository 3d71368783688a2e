"""The learner that chooses: by the loss, the size and what the structure offers (docs/choosing.md tells why)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from margrave import _core
from margrave.learners.base import Learner, Solution, Task
from margrave.learners.bcfw import BCFW
from margrave.learners.cccp import CCCP
from margrave.learners.cutting_plane import CuttingPlane
from margrave.learners.eg import OnlineEG
from margrave.learners.lbfgs import LBFGS
from margrave.learners.perceptron import AveragedPerceptron
from margrave.losses import LossFamily

_FEWEST_PARTS = 50_000  # below, all is done at once: L-BFGS then copes best with large C and with the tightest tol
_MOST_PARTS = 250_000_000  # natural parameters and marginals of so many take 4 GB


@dataclass
class Auto(Learner):
    """Online EG where beta is finite (L-BFGS on small problems, and where the distributions would not fit), else BCFW.

    The perceptron loss gets the perceptron, a difference of losses the convex-concave procedure, and slack re-scaling
    and quadratic or no slack get cutting planes.

    >>> Auto().name
    'auto'
    """

    name: ClassVar[str] = "auto"
    regularised: ClassVar[bool] = False
    differences: ClassVar[bool] = True
    cutting_planes: ClassVar[bool] = True

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
