"""The protocol of structures: they learn what outputs have in common, bind examples, and decode parts into outputs.

A structure is a dataclass of settings. `learn` determines what the outputs of a data set have in common, such as a
label set or a taxonomy; the result can be merged over shards of the data and is saved with the model. `bind` makes the
core's structure for some examples; it takes the costs of outputs, but not a loss. `decode` and `present` convert parts
and marginals to the user's representation. A structure does not know about weights, which belong to the features
(features/base.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.classes import check_several, distinct_labels
from margrave.errors import MargraveError
from margrave.losses.costs import Cost, Hamming, ZeroOne
from margrave.stored import Stored

Units = NDArray[np.int64]  # the number of rows of features of each example: tokens, arcs, candidates


class Outputs(Stored, kind="outputs"):
    """What the outputs of a data set have in common."""

    def merge(self, other: Self) -> Self:
        """The union of what two shards of a data set have learned; merging is associative."""
        return self

    def check(self) -> None:
        """Refuse outputs from which nothing can be learned."""


@dataclass(frozen=True)
class NoOutputs(Outputs):
    """For outputs that have nothing in common, such as heads of words and indices of candidates."""

    name = "none"


@dataclass(frozen=True, eq=False)
class Labels(Outputs):
    """A set of labels, sorted.

    >>> Labels.of(["b", "a"]).merge(Labels.of(["c"])).classes.tolist()
    ['a', 'b', 'c']
    """

    name = "labels"

    classes: NDArray[Any]

    @cached_property
    def names(self) -> list[Any]:
        """The labels as a list of Python objects, which is made once: predictions for one example need it as well."""
        names: list[Any] = self.classes.tolist()
        return names

    @classmethod
    def of(cls, labels: Sequence[Any]) -> Self:
        """The distinct labels."""
        return cls(distinct_labels(labels))

    def merge(self, other: Self) -> Self:
        """The labels of both."""
        if len(self.classes) and len(other.classes) and self.classes.dtype.kind != other.classes.dtype.kind:
            raise MargraveError("labels must be strings or numbers, all of one kind.")
        return type(self).of([*self.classes.tolist(), *other.classes.tolist()])

    def check(self) -> None:
        """Refuse fewer than two labels."""
        check_several(self.classes)

    def stored_settings(self) -> dict[str, Any]:
        """The labels as a list, which files store in readable form."""
        return {"classes": self.classes.tolist()}

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """The labels of a file, which must be sorted."""
        labels = cls.of(settings["classes"])
        if labels.classes.tolist() != settings["classes"]:
            raise MargraveError("its labels are not in order.")
        return labels


class Structure(Stored, kind="structure"):
    """The base of all structures."""

    examples: ClassVar[str] = "examples"  # the word for examples in error messages: sequences, sentences
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne)  # the costs that it supports

    def learn(self, Y: Sequence[Any]) -> Outputs:
        """Learn what these outputs have in common; refuse invalid outputs."""
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
        """Make the core's structure for some examples.

        Parameters
        ----------
        outputs : what `learn` returned.
        units : the number of units of each example.
        Y : the outputs of the examples, if known.
        costs : the costs of wrong outputs, if they are needed.
        allowed : restrictions on outputs, if the structure supports them.
        """
        raise MargraveError(f"the structure {type(self).__name__} does not say how it binds examples.")

    def join(self, bound: Any, features: _core.Features) -> _core.Problem:
        """The problem of a bound structure and its features."""
        return _core.join(bound, features)

    def decode(self, outputs: Any, units: Units, begin: NDArray[np.int64], parts: NDArray[np.int32]) -> Any:
        """The outputs in the user's form, one per example; example i has the parts from begin[i] to begin[i + 1]."""
        raise MargraveError(f"the structure {type(self).__name__} does not say how it decodes outputs.")

    def present(self, outputs: Any, units: Units, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> Any:
        """The marginals in the user's form, one array per example; those of example i begin at begin[i]."""
        return [mu[first:last] for first, last in pairwise(begin.tolist())]

    def decode_bound(
        self,
        outputs: Any,
        units: Units,
        bound: _core.Structure,
        examples: NDArray[np.int64] | None,
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
    ) -> Any:
        """As `decode`, for outputs of a bound structure, which may know more about its examples than their units.

        Output k belongs to example examples[k], or to example k if `examples` is None.
        """
        return self.decode(outputs, units if examples is None else units[examples], begin, parts)

    def present_bound(
        self,
        outputs: Any,
        units: Units,
        bound: _core.Structure,
        begin: NDArray[np.int64],
        mu: NDArray[np.float64],
    ) -> Any:
        """As `present`, for marginals of a bound structure."""
        return self.present(outputs, units, begin, mu)

    def part_names(self, outputs: Any) -> list[Any]:
        """The names of the columns of a feature table (labels, nodes); empty if every part has its own row."""
        return []

    def check_cost(self, cost: Cost) -> None:
        """Refuse a cost that the structure does not support."""
        if not isinstance(cost, self.costs):
            names = " or ".join(repr(kind.name) for kind in self.costs)
            raise MargraveError(f"the cost of {type(self).__name__} is {names}, not {cost.name!r}.")

    def check_sizes(self, units: Units, Y: Sequence[Any]) -> None:
        """Refuse outputs that do not match the sizes of their examples."""

    def count_examples(self, X: Any, Y: Any, where: str = "y") -> None:
        """Refuse different numbers of inputs and outputs; inputs without a length are counted when they are encoded."""
        n = X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else len(Y)
        if n != len(Y):
            raise MargraveError(f"there are {n} {self.examples} in X and {len(Y)} in {where}.")


def is_list(x: Any) -> bool:
    """Whether it is ordered and has a length, but is not a text."""
    ordered = hasattr(x, "__len__") and hasattr(x, "__getitem__") and hasattr(x, "__iter__")
    return ordered and not isinstance(x, str | bytes | bytearray | dict)
