"""Optimisers, each against the protocol alone."""

from margrave.errors import unknown
from margrave.learners.auto import Auto
from margrave.learners.base import Learner, Record, Solution, Task
from margrave.learners.bcfw import BCFW
from margrave.learners.cccp import CCCP
from margrave.learners.cg import CG
from margrave.learners.checkpoint import Checkpoint
from margrave.learners.cutting_plane import CuttingPlane
from margrave.learners.eg import Hybrid, OnlineEG
from margrave.learners.eg_batch import BatchEG
from margrave.learners.lbfgs import LBFGS
from margrave.learners.lp import LP
from margrave.learners.mira import MIRA, KBestMIRA
from margrave.learners.one_slack import OneSlack
from margrave.learners.perceptron import AveragedPerceptron
from margrave.learners.sgd import SGD
from margrave.learners.smo import SMO
from margrave.solvers.eg_qp import QPSolution, eg_qp

__all__ = [
    "BCFW",
    "CCCP",
    "CG",
    "LBFGS",
    "LEARNERS",
    "LP",
    "MIRA",
    "SGD",
    "SMO",
    "Auto",
    "AveragedPerceptron",
    "BatchEG",
    "Checkpoint",
    "CuttingPlane",
    "Hybrid",
    "KBestMIRA",
    "Learner",
    "OneSlack",
    "OnlineEG",
    "QPSolution",
    "Record",
    "Solution",
    "Task",
    "eg_qp",
    "learner_named",
]

LEARNERS: dict[str, type[Learner]] = {
    kind.name: kind
    for kind in (
        *(Auto, LBFGS, CG, SGD, AveragedPerceptron, OnlineEG, BatchEG, SMO, Hybrid, MIRA, KBestMIRA, BCFW, CCCP),
        *(CuttingPlane, OneSlack, LP),
    )
}


def learner_named(learner: str | Learner) -> Learner:
    """The learner of this name with its defaults, or the configured learner itself."""
    if isinstance(learner, Learner):
        return learner
    if not isinstance(learner, str) or learner not in LEARNERS:
        raise unknown("learner", learner, LEARNERS)
    return LEARNERS[learner]()
