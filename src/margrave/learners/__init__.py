"""The learners: optimizers that see a problem only through its protocol.

The file of a learner has its name, and `learner_named` imports it by that name: a new file needs no entry here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The module of each public name. They are imported on first use, as those of `margrave` are; a test compares this
# table with the names below, which type checkers need.
_HOMES = {
    "Auto": "margrave.learners.auto",
    "AveragedPerceptron": "margrave.learners.perceptron",
    "BCFW": "margrave.learners.bcfw",
    "BatchEG": "margrave.learners.published.eg_batch",
    "CCCP": "margrave.learners.cccp",
    "CG": "margrave.learners.cg",
    "Checkpoint": "margrave.learners.checkpoint",
    "CuttingPlane": "margrave.learners.cutting_plane",
    "EG": "margrave.learners.eg",
    "Ended": "margrave.learners.ended",
    "KBestMIRA": "margrave.learners.kbest_mira",
    "LBFGS": "margrave.learners.lbfgs",
    "LP": "margrave.learners.lp",
    "Learner": "margrave.learners.base",
    "LinePrinter": "margrave.learners.observers",
    "MIRA": "margrave.learners.mira",
    "Objective": "margrave.learners.objective",
    "Observer": "margrave.learners.observers",
    "OneSlack": "margrave.learners.one_slack",
    "PrintedEG": "margrave.learners.published.printed_eg",
    "ProgressBar": "margrave.learners.observers",
    "QPSolution": "margrave.solvers.eg_qp",
    "Record": "margrave.learners.record",
    "SGD": "margrave.learners.sgd",
    "SMO": "margrave.learners.published.smo",
    "SMOEG": "margrave.learners.published.smo_eg",
    "SVRG": "margrave.learners.svrg",
    "Solution": "margrave.learners.run",
    "State": "margrave.learners.objective",
    "Step": "margrave.learners.objective",
    "Weights": "margrave.learners.objective",
    "all_learners": "margrave.learners.base",
    "eg_bound": "margrave.learners.published.eg_bound",
    "eg_qp": "margrave.solvers.eg_qp",
    "eg_steps": "margrave.learners.published.eg_bound",
    "learner_named": "margrave.learners.base",
    "learner_table": "margrave.learners.table",
    "lp_error_bound": "margrave.learners.published.lp_bound",
    "lp_log_covering_number": "margrave.learners.published.lp_bound",
}

if TYPE_CHECKING:
    from margrave.learners.auto import Auto as Auto
    from margrave.learners.base import Learner as Learner
    from margrave.learners.base import all_learners as all_learners
    from margrave.learners.base import learner_named as learner_named
    from margrave.learners.bcfw import BCFW as BCFW
    from margrave.learners.cccp import CCCP as CCCP
    from margrave.learners.cg import CG as CG
    from margrave.learners.checkpoint import Checkpoint as Checkpoint
    from margrave.learners.cutting_plane import CuttingPlane as CuttingPlane
    from margrave.learners.eg import EG as EG
    from margrave.learners.ended import Ended as Ended
    from margrave.learners.kbest_mira import KBestMIRA as KBestMIRA
    from margrave.learners.lbfgs import LBFGS as LBFGS
    from margrave.learners.lp import LP as LP
    from margrave.learners.mira import MIRA as MIRA
    from margrave.learners.objective import Objective as Objective
    from margrave.learners.objective import State as State
    from margrave.learners.objective import Step as Step
    from margrave.learners.objective import Weights as Weights
    from margrave.learners.observers import LinePrinter as LinePrinter
    from margrave.learners.observers import Observer as Observer
    from margrave.learners.observers import ProgressBar as ProgressBar
    from margrave.learners.one_slack import OneSlack as OneSlack
    from margrave.learners.perceptron import AveragedPerceptron as AveragedPerceptron
    from margrave.learners.published.eg_batch import BatchEG as BatchEG
    from margrave.learners.published.eg_bound import eg_bound as eg_bound
    from margrave.learners.published.eg_bound import eg_steps as eg_steps
    from margrave.learners.published.lp_bound import lp_error_bound as lp_error_bound
    from margrave.learners.published.lp_bound import lp_log_covering_number as lp_log_covering_number
    from margrave.learners.published.printed_eg import PrintedEG as PrintedEG
    from margrave.learners.published.smo import SMO as SMO
    from margrave.learners.published.smo_eg import SMOEG as SMOEG
    from margrave.learners.record import Record as Record
    from margrave.learners.run import Solution as Solution
    from margrave.learners.sgd import SGD as SGD
    from margrave.learners.svrg import SVRG as SVRG
    from margrave.learners.table import learner_table as learner_table
    from margrave.solvers.eg_qp import QPSolution as QPSolution
    from margrave.solvers.eg_qp import eg_qp as eg_qp

    LEARNERS: dict[str, type[Learner]]

__all__ = sorted([*_HOMES, "LEARNERS"])


def __getattr__(name: str) -> Any:
    if name == "LEARNERS":  # all learners by name, those of users included
        return import_module("margrave.learners.base").all_learners()
    if name not in _HOMES:
        raise AttributeError(f"module 'margrave.learners' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
