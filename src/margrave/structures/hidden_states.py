"""Labelings of graphs whose labels have several hidden states each.

A node has a part for each state, so nodes with the same label can have different features and neighbors. Only the label
of a state is observed: learning sums over the states of a known label, and predictions name labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError, quoted, unknown
from margrave.examples import Examples
from margrave.losses.costs import Cost
from margrave.structures.base import Labels
from margrave.structures.factor_graph import BoundGraphs, FactorGraph

_MOST_STATES = 1000  # of one label


@dataclass(frozen=True, eq=False)
class LabelStates(Labels):
    """A set of labels, sorted, and the number of states of each.

    >>> LabelStates(np.array(["a", "b"]), [1, 2]).names
    ['a', 'b', 'b']
    """

    name = "label-states"

    states: Sequence[int]

    def __post_init__(self) -> None:
        if len(self.states) != len(self.classes):
            raise MargraveError(f"there are {len(self.classes)} labels, and numbers of states for {len(self.states)}.")
        for label, count in self.counts().items():
            whole(f"the number of states of label {quoted(label)}", count, 1, _MOST_STATES)

    @cached_property
    def names(self) -> list[Any]:
        """The label of each state."""
        return [label for label, count in self.counts().items() for _ in range(count)]

    def counts(self) -> dict[Any, int]:
        """The number of states of each label."""
        return dict(zip(self.classes.tolist(), self.states, strict=True))

    def merge(self, other: Self) -> Self:
        """The labels of both."""
        counts = {**self.counts(), **other.counts()}
        classes = Labels(self.classes).merge(Labels(other.classes)).classes
        return type(self)(classes, [counts[label] for label in classes.tolist()])

    def stored_settings(self) -> dict[str, Any]:
        """The labels and the numbers of states as lists."""
        return {**super().stored_settings(), "states": list(self.states)}

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """The labels of a file, which must be sorted."""
        return cls(Labels.from_settings(settings).classes, settings["states"])


@dataclass
class HiddenStates(FactorGraph):
    """Labelings of the variables of factor graphs, each label of which has hidden states.

    Parameters
    ----------
    states : the number of states of every label, or a mapping from labels to numbers; labels that it lacks have one.
    """

    states: int | Mapping[Any, int] = 1

    def learn(self, Y: Sequence[Sequence[Any]]) -> LabelStates:
        """The labels that occur, with their states."""
        classes: NDArray[Any] = super().learn(Y).classes  # type: ignore[attr-defined]
        labels = classes.tolist()
        if not isinstance(self.states, Mapping):
            return LabelStates(classes, [self.states] * len(labels))
        for label in self.states:
            if label not in labels:
                raise unknown("label with states", label, map(str, labels))
        return LabelStates(classes, [self.states.get(label, 1) for label in labels])

    def bind(self, outputs: Any, examples: Examples, costs: Cost | None = None) -> _core.FactorGraphStructure:
        """Make the core's structure for some graphs, as `FactorGraph` does; the labels need their states."""
        if not isinstance(outputs, LabelStates):
            raise MargraveError("the labels have no hidden states.")
        return super().bind(outputs, examples, costs)

    def present(self, bound: BoundGraphs, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> list[Any]:
        """The probability of every label of every variable: the sum over its states."""
        first = np.cumsum([0, *bound.outputs.states[:-1]])
        return [np.add.reduceat(table, first, axis=1) for table in super().present(bound, begin, mu)]

    def part_names(self, outputs: LabelStates) -> list[Any]:
        """The states: pairs of a label and a number, counted from 0."""
        return [(label, k) for label, count in outputs.counts().items() for k in range(count)]
