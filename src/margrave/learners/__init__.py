"""The learners: optimizers that see a problem only through its protocol.

The file of a learner has its name, and `learner_named` imports it by that name: a new file needs no entry here.
"""

from margrave.learners.auto import Auto
from margrave.learners.base import Learner, all_learners, learner_named
from margrave.learners.bcfw import BCFW
from margrave.learners.cccp import CCCP
from margrave.learners.cg import CG
from margrave.learners.checkpoint import Checkpoint
from margrave.learners.cutting_plane import CuttingPlane
from margrave.learners.eg import EG
from margrave.learners.ended import Ended
from margrave.learners.kbest_mira import KBestMIRA
from margrave.learners.lbfgs import LBFGS
from margrave.learners.lp import LP
from margrave.learners.mira import MIRA
from margrave.learners.objective import Objective, Record, State, Step, Weights
from margrave.learners.observers import LinePrinter, Observer, ProgressBar
from margrave.learners.one_slack import OneSlack
from margrave.learners.perceptron import AveragedPerceptron
from margrave.learners.published.eg_batch import BatchEG
from margrave.learners.published.eg_bound import eg_bound, eg_steps
from margrave.learners.published.lp_bound import lp_error_bound, lp_log_covering_number
from margrave.learners.published.printed_eg import PrintedEG
from margrave.learners.published.smo import SMO
from margrave.learners.published.smo_eg import SMOEG
from margrave.learners.run import Solution
from margrave.learners.sgd import SGD
from margrave.learners.svrg import SVRG
from margrave.learners.table import learner_table
from margrave.solvers.eg_qp import QPSolution, eg_qp

__all__ = [
    "BCFW",
    "CCCP",
    "CG",
    "EG",
    "LBFGS",
    "LEARNERS",
    "LP",
    "MIRA",
    "SGD",
    "SMO",
    "SMOEG",
    "SVRG",
    "Auto",
    "AveragedPerceptron",
    "BatchEG",
    "Checkpoint",
    "CuttingPlane",
    "Ended",
    "KBestMIRA",
    "Learner",
    "LinePrinter",
    "Objective",
    "Observer",
    "OneSlack",
    "PrintedEG",
    "ProgressBar",
    "QPSolution",
    "Record",
    "Solution",
    "State",
    "Step",
    "Weights",
    "all_learners",
    "eg_bound",
    "eg_qp",
    "eg_steps",
    "learner_named",
    "learner_table",
    "lp_error_bound",
    "lp_log_covering_number",
]

LEARNERS: dict[str, type[Learner]] = Learner.registered  # by name: those above, those found by name, those of users
