"""The learners: optimisers that see a problem only through its protocol. Importing this registers all of them."""

from margrave.files.stored import import_modules
from margrave.learners.auto import Auto
from margrave.learners.base import Learner, learner_named
from margrave.learners.bcfw import BCFW
from margrave.learners.cccp import CCCP
from margrave.learners.cg import CG
from margrave.learners.checkpoint import Checkpoint
from margrave.learners.cutting_plane import CuttingPlane
from margrave.learners.eg import Hybrid, OnlineEG
from margrave.learners.eg_batch import BatchEG
from margrave.learners.eg_bound import eg_bound, eg_steps
from margrave.learners.ended import Ended
from margrave.learners.lbfgs import LBFGS
from margrave.learners.lp import LP
from margrave.learners.lp_bound import lp_error_bound, lp_log_covering_number
from margrave.learners.mira import MIRA, KBestMIRA
from margrave.learners.observers import LinePrinter, Observer, ProgressBar
from margrave.learners.one_slack import OneSlack
from margrave.learners.perceptron import AveragedPerceptron
from margrave.learners.run import Solution
from margrave.learners.sgd import SGD
from margrave.learners.smo import SMO
from margrave.learners.svrg import SVRG
from margrave.learners.table import learner_table
from margrave.learners.task import Record, State, Step, Task, Weights
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
    "SVRG",
    "Auto",
    "AveragedPerceptron",
    "BatchEG",
    "Checkpoint",
    "CuttingPlane",
    "Ended",
    "Hybrid",
    "KBestMIRA",
    "Learner",
    "LinePrinter",
    "Observer",
    "OneSlack",
    "OnlineEG",
    "ProgressBar",
    "QPSolution",
    "Record",
    "Solution",
    "State",
    "Step",
    "Task",
    "Weights",
    "eg_bound",
    "eg_qp",
    "eg_steps",
    "learner_named",
    "learner_table",
    "lp_error_bound",
    "lp_log_covering_number",
]

import_modules(__name__)  # A new learner needs no entry here.

LEARNERS: dict[str, type[Learner]] = Learner.registered  # by name, with those of users
