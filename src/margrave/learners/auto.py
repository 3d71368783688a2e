"""The learner that chooses another one by the loss, the size and what the structure offers (see docs/choosing.md)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from margrave import _core
from margrave.learners.base import Learner
from margrave.learners.bcfw import BCFW
from margrave.learners.cccp import CCCP
from margrave.learners.cutting_plane import CuttingPlane
from margrave.learners.eg import EG
from margrave.learners.lbfgs import LBFGS
from margrave.learners.objective import Objective
from margrave.learners.perceptron import AveragedPerceptron
from margrave.learners.run import Solution
from margrave.learners.sgd import SGD
from margrave.losses import LossFamily
from margrave.threads import available_threads

# Any learner is fast on problems with fewer parts, and L-BFGS is the most robust to a large C and a small tol.
_FEWEST_PARTS = 50_000
# Up to this number of weights, L-BFGS learns the curvature in few passes. All examples then use the same weights, and a
# step of EG on one of them undoes some of what others have gained (docs/choosing.md has the measurements).
FEW_WEIGHTS = 1000
_MOST_BYTES_IN_DOUBLE = 10**9  # of the distributions of EG, beyond which they are stored in single precision
_MOST_BYTES = 4 * 10**9  # of the distributions of EG in single precision, beyond which it is not chosen


@dataclass
class Auto(Learner):
    """Chooses the learner by the loss, the size of the problem and what the structure offers.

    If beta is finite and inference exact, it chooses online EG, which stores large distributions in single precision,
    or L-BFGS if there are few parts or few weights, and if the distributions would take more than 4 GB; if inference is
    approximate, SGD.
    If beta is infinite, it chooses BCFW. It uses the perceptron for the perceptron loss, L-BFGS for "latent-log", the
    convex-concave procedure for other differences of losses, and cutting planes for slack re-scaling, quadratic slack
    and hard margins.

    >>> Auto().name
    'auto'
    """

    name: ClassVar[str] = "auto"
    offers: ClassVar[tuple[str, ...]] = (
        "choice",
        "differences",
        "smooth latent losses",
        "any rescaling",
        "perceptron loss",
    )

    def resolve(self, loss: LossFamily, problem: _core.Problem) -> Learner:
        """The learner for this loss on this problem."""
        if not loss.convex:
            whole = loss.latent and loss.smooth and problem.euclidean and problem.exact
            return LBFGS() if whole else CCCP()
        if not loss.of_family:
            return CuttingPlane()
        if not loss.smooth:
            if loss.gamma == 0:
                return AveragedPerceptron()
            return BCFW(pairwise="relaxed_argmax" not in problem.offers)
        if not problem.euclidean:  # of a kernel
            return BCFW() if loss.beyond_parts(problem) else EG()
        if not problem.any_scores:
            return LBFGS()
        if not problem.exact:  # Line searches would trust values that are wrong.
            return SGD()
        few = problem.dim <= FEW_WEIGHTS or sum(map(problem.parts, range(problem.size))) <= _FEWEST_PARTS
        if few or loss.beyond_parts(problem):
            return LBFGS()
        stored = _core.StoredParts(problem, loss.core(), available_threads(None)).size
        if stored * _numbers(np.float64) <= _MOST_BYTES_IN_DOUBLE:
            return EG()
        return EG(single=True) if stored * _numbers(np.float32) <= _MOST_BYTES else LBFGS()

    def solve(self, objective: Objective, state: Any = None) -> Solution:
        """The solution of the chosen learner."""
        return self.resolve(objective.loss, objective.problem).solve(objective, state)


def _numbers(precision: type[np.floating[Any]]) -> int:
    """The bytes of a natural parameter and a marginal."""
    return 2 * np.dtype(precision).itemsize
