"""The loss family L(beta, gamma) of Martins et al. (2010), and the costs of outputs."""

from margrave.files.stored import import_modules
from margrave.losses.costs import F1, Cost, CostLike, Hamming, Matrix, Segments, Tree, ZeroOne, cost_named
from margrave.losses.family import (
    LOSSES,
    RESCALINGS,
    DifferenceOfLosses,
    ExpectedCostBound,
    Hinge,
    LatentHinge,
    LatentLog,
    Log,
    LossFamily,
    Perceptron,
    Ramp,
    SoftmaxMargin,
    loss_named,
    loss_names,
)

__all__ = [
    "F1",
    "LOSSES",
    "RESCALINGS",
    "Cost",
    "CostLike",
    "DifferenceOfLosses",
    "ExpectedCostBound",
    "Hamming",
    "Hinge",
    "LatentHinge",
    "LatentLog",
    "Log",
    "LossFamily",
    "Matrix",
    "Perceptron",
    "Ramp",
    "Segments",
    "SoftmaxMargin",
    "Tree",
    "ZeroOne",
    "cost_named",
    "loss_named",
    "loss_names",
]

import_modules(__name__)  # A new loss needs no entry here.
