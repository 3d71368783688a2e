"""One class per example, without any structure; parts are the classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length
from margrave.data.classes import label_numbers
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.losses.costs import Cost
from margrave.structures.base import Bound, Labels, Structure


@dataclass
class Multiclass(Structure[Labels, _core.Structure]):
    """Classes without structure: logistic regression and multiclass support vector machines."""

    name = "multiclass"
    costs = (Cost,)

    def learn(self, Y: Sequence[Any]) -> Labels:
        """The classes that occur."""
        if not has_length(Y):
            raise MargraveError(f"y must be a list of classes, not {type(Y).__name__}.")
        return Labels.of(Y.tolist() if isinstance(Y, np.ndarray) else Y)

    def bind(self, outputs: Labels, examples: Examples, costs: Cost | None = None) -> _core.Structure:
        """Make the core's structure for these examples, each of which has one row of features."""
        n, classes, Y = len(examples), outputs.classes.tolist(), examples.Y
        gold = None
        if Y is not None:
            if not has_length(Y):
                raise MargraveError(f"y must be a list of classes, not {type(Y).__name__}.")
            if len(Y) != n:
                raise MargraveError(f"there are {n} examples and {len(Y)} labels.")
            gold = label_numbers(Y.tolist() if isinstance(Y, np.ndarray) else Y, classes)
        if costs is not None:
            self.check_cost(costs)
        cost = None if costs is None else costs.label_cost(classes)
        return _core.multiclass(len(classes), np.arange(n + 1, dtype=np.int64), gold, cost, None)

    def decode(
        self,
        bound: Bound[Labels, _core.Structure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> NDArray[Any]:
        """The class of every example: an output has one part, which is its class."""
        classes: NDArray[Any] = bound.outputs.classes[parts]
        return classes

    def present(
        self, bound: Bound[Labels, _core.Structure], begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The probability of every class: (examples, classes)."""
        return mu.reshape(-1, len(bound.outputs.classes))

    def part_names(self, outputs: Labels) -> list[Any]:
        """The classes."""
        names: list[Any] = outputs.classes.tolist()
        return names
