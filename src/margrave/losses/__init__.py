"""The loss family L(beta, gamma) of 001, Fig. 1, and the costs of outputs."""

from margrave.losses.family import (
    LOSSES,
    RESCALINGS,
    Cost,
    DifferenceOfLosses,
    ExpectedCostBound,
    Hinge,
    Log,
    LossFamily,
    Perceptron,
    Ramp,
    SoftmaxMargin,
    loss_named,
)

__all__ = [
    "LOSSES",
    "RESCALINGS",
    "Cost",
    "DifferenceOfLosses",
    "ExpectedCostBound",
    "Hinge",
    "Log",
    "LossFamily",
    "Perceptron",
    "Ramp",
    "SoftmaxMargin",
    "loss_named",
]
