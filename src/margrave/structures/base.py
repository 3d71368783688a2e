"""The protocol of structures: what outputs have in common, examples bound to it, parts turned into outputs.

A structure is a dataclass of settings. `learn` finds out what the outputs of a data set have in common (a label set, a
taxonomy): a value that merges over shards of the data and is saved with the model. `bind` makes the core's structure of
some examples; it takes the costs of outputs, never a loss. `decode` and `present` turn parts and marginals back into
what users know. A structure knows nothing of weights: those belong to the features (features/base.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.files.stored import Stored
from margrave.labels.classes import check_several, distinct_labels
from margrave.losses.costs import Cost, Hamming, ZeroOne

Units = NDArray[np.int64]  # how many rows of features each example has: tokens, arcs, candidates


class Outputs(Stored, kind="outputs"):
    """What the outputs of a data set have in common."""

    def merge(self, other: Self) -> Self:
        """What two parts of a data set have in common; merging is associative."""
        return self

    def check(self) -> None:
        """Refuses outputs from which nothing can be learned."""


@dataclass(frozen=True)
class NoOutputs(Outputs):
    """Outputs that have nothing in common: heads of words, numbers of candidates."""

    name = "none"


@dataclass(frozen=True, eq=False)
class Labels(Outputs):
    """A set of labels, sorted.

    >>> Labels.of(["b", "a"]).merge(Labels.of(["c"])).classes.tolist()
    ['a', 'b', 'c']
    """

    name = "labels"

    classes: NDArray[Any]

    @classmethod
    def of(cls, labels: Sequence[Any]) -> Self:
        """The distinct ones among these labels."""
        return cls(distinct_labels(labels))

    def merge(self, other: Self) -> Self:
        """The labels of both."""
        if len(self.classes) and len(other.classes) and self.classes.dtype.kind != other.classes.dtype.kind:
            raise MargraveError("labels must be strings or numbers, all of one kind.")
        return type(self).of([*self.classes.tolist(), *other.classes.tolist()])

    def check(self) -> None:
        """Refuses a single label."""
        check_several(self.classes)

    def stored_settings(self) -> dict[str, Any]:
        """The labels as a list, which files keep in plain sight."""
        return {"classes": self.classes.tolist()}

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """The labels of a file, which are sorted."""
        labels = cls.of(settings["classes"])
        if labels.classes.tolist() != settings["classes"]:
            raise MargraveError("its labels are not in order.")
        return labels


class Structure(Stored, kind="structure"):
    """The base of all structures."""

    examples: ClassVar[str] = "examples"  # what users call them: sequences, sentences
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne)  # the costs that its outputs can have

    def learn(self, Y: Sequence[Any]) -> Outputs:
        """What these outputs have in common; refuses what is no output."""
        return NoOutputs()

    def bind(
        self,
        outputs: Any,
        units: Units,
        Y: Sequence[Any] | None = None,
        *,
        costs: Cost | None = None,
        allowed: Any = None,
    ) -> _core.Structure:
        """The core's structure of examples with so many units each.

        Y: their outputs, where known. costs: what wrong outputs cost, where that matters. allowed: what outputs may
        have, where the structure lets users say so.
        """
        raise MargraveError(f"the structure {type(self).__name__} does not say how it binds examples.")

    def decode(self, outputs: Any, units: Units, begin: NDArray[np.int64], parts: NDArray[np.int32]) -> Any:
        """Outputs as users know them, one per example; those of example i have the parts begin[i] to begin[i + 1]."""
        raise MargraveError(f"the structure {type(self).__name__} does not say how it decodes outputs.")

    def present(self, outputs: Any, units: Units, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> Any:
        """Marginals as users know them, one array per example; those of example i begin at begin[i]."""
        return [mu[first:last] for first, last in pairwise(begin.tolist())]

    def part_names(self, outputs: Any) -> list[Any]:
        """What the columns of a feature table are called: labels, nodes; nothing where parts have rows of their own."""
        return []

    def check_cost(self, cost: Cost) -> None:
        """Refuses a cost that outputs of this kind cannot have."""
        if not isinstance(cost, self.costs):
            names = " or ".join(repr(kind.name) for kind in self.costs)
            raise MargraveError(f"the cost of {type(self).__name__} is {names}, not {cost.name!r}.")

    def check_sizes(self, units: Units, Y: Sequence[Any]) -> None:
        """Refuses outputs that do not fit the sizes of their examples."""

    def count_examples(self, X: Any, Y: Any, where: str = "y") -> None:
        """Refuses different numbers of inputs and outputs; what has no length is counted when it is encoded."""
        n = X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else len(Y)
        if n != len(Y):
            raise MargraveError(f"there are {n} {self.examples} in X and {len(Y)} in {where}.")


def decode_one(structure: Structure, outputs: Any, units: Units, i: int, parts: NDArray[np.int32]) -> Any:
    """One output of example i, from its parts."""
    return structure.decode(outputs, units[i : i + 1], np.array([0, len(parts)], dtype=np.int64), parts)[0]


def is_list(x: Any) -> bool:
    """Whether it has an order and a length, and is no text."""
    ordered = hasattr(x, "__len__") and hasattr(x, "__getitem__") and hasattr(x, "__iter__")
    return ordered and not isinstance(x, str | bytes | bytearray | dict)
