"""The learner that chooses another one by the loss, the size and what the structure offers (see docs/choosing.md)."""

from dataclasses import dataclass
from typing import Any, ClassVar

from margrave import _core
from margrave.learners.base import Learner
from margrave.learners.bcfw import BCFW
from margrave.learners.cccp import CCCP
from margrave.learners.cutting_plane import CuttingPlane
from margrave.learners.eg import EG
from margrave.learners.lbfgs import LBFGS
from margrave.learners.mira import MIRA
from margrave.learners.objective import Objective
from margrave.learners.perceptron import AveragedPerceptron
from margrave.learners.run import Solution
from margrave.losses import LossFamily

# Any learner is fast on problems with fewer parts, and L-BFGS is the most robust to a large C and a small tol.
_FEWEST_PARTS = 50_000
# Up to this number of weights, L-BFGS learns the curvature in few passes. All examples then use the same weights, and a
# step of EG on one of them undoes some of what others have gained (docs/choosing.md has the measurements).
FEW_WEIGHTS = 1000
# From this C_i on, steps of EG on one example undo most of what others have gained, and L-BFGS takes about as many
# passes as for a smaller C.
_LARGE_C = 100.0
_MOST_BYTES_IN_DOUBLE = 2 * 10**8  # of the distributions of EG, beyond which they are stored compactly
_MOST_BYTES = 4 * 10**9  # of distributions of EG, beyond which it is not chosen
# Compact distributions reach relative gaps of 1e-8 at C = 10 and 2e-6 at C = 1000 (tests/learners).
_SMALLEST_TOL = 1e-5


@dataclass
class Auto(Learner):
    """Chooses the learner by the loss, the size of the problem and what the structure offers.

    If beta is finite and inference exact, it chooses online EG, which stores large distributions compactly, or L-BFGS
    if there are few parts or few weights, if C is large, and if the distributions would take more than 4 GB. If
    inference is approximate, it chooses MIRA: where messages do not converge, the objective jumps, which ends a line
    search early and hardly matters to an average of many steps (docs/choosing.md has the measurements).
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

    def resolve(self, loss: LossFamily, problem: _core.Problem, C: float = 1.0, tol: float = 1e-4) -> Learner:
        """The learner for this loss on this problem, whose largest C_i is C, to this relative gap."""
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
        if not problem.exact:
            return MIRA()
        few = problem.dim <= FEW_WEIGHTS or sum(map(problem.parts, range(problem.size))) <= _FEWEST_PARTS
        if few or C >= _LARGE_C or loss.beyond_parts(problem):
            return LBFGS()
        in_double = EG().required_bytes(loss, problem)
        if in_double <= (_MOST_BYTES_IN_DOUBLE if tol >= _SMALLEST_TOL else _MOST_BYTES):
            return EG()
        compact = EG(single=True)
        fits = tol >= _SMALLEST_TOL and compact.required_bytes(loss, problem) <= _MOST_BYTES
        return compact if fits else LBFGS()

    def solve(self, objective: Objective, state: Any = None) -> Solution:
        """The solution of the chosen learner."""
        return self.resolve(objective.loss, objective.problem, objective.largest_weight, objective.tol).solve(
            objective, state
        )
