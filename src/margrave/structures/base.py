"""The protocol of structures: they learn what outputs have in common, bind examples, and decode parts into outputs.

A structure is a dataclass of settings. `learn` determines what the outputs of a data set have in common, such as a
label set or a taxonomy; the result can be merged over shards of the data and is saved with the model. `bind` makes the
core's structure for some examples; it takes the costs of outputs, but not a loss. `decode` and `present` convert parts
and marginals to the user's representation. A structure does not know about weights, which belong to feature maps
(maps/base.py). Structures are generic in their outputs and in the core's class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.classes import check_several, distinct_labels
from margrave.errors import MargraveError, quoted
from margrave.examples import Examples, count
from margrave.losses.costs import Cost, Hamming, ZeroOne
from margrave.stored import Stored


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


Out = TypeVar("Out", bound=Outputs)
Core = TypeVar("Core", bound=_core.Structure)


class Structure(Stored, Generic[Out, Core], kind="structure"):
    """The base of all structures."""

    examples: ClassVar[str] = "examples"  # the word for examples in error messages: sequences, sentences
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne)  # the costs that it supports

    def learn(self, Y: Sequence[Any]) -> Out:
        """Learn what these outputs have in common; refuse invalid outputs."""
        return NoOutputs()  # type: ignore[return-value]

    def learn_weighted(self, Y: Sequence[Any], weights: NDArray[np.float64]) -> Out:
        """The same from outputs with weights, where 2 is two copies; to be defined by structures that count outputs.

        Parameters
        ----------
        Y : as in `learn`.
        weights : one positive number per output.
        """
        return self.learn(Y)

    def bind(self, outputs: Out, examples: Examples, costs: Cost | None = None) -> Core:
        """Make the core's structure for some examples.

        Parameters
        ----------
        outputs : what `learn` returned.
        examples : the examples, with their outputs if known.
        costs : the costs of wrong outputs, if they are needed.
        """
        raise MargraveError(f"the structure {type(self).__name__} does not say how it binds examples.")

    def join(self, core: Core, features: _core.Features) -> _core.Problem:
        """The problem of the core's structure and its features."""
        return _core.join(core, features)

    def decode(
        self,
        bound: "Bound[Out, Core]",
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> Any:
        """The outputs in the user's form; output k has the parts from begin[k] to begin[k + 1].

        Parameters
        ----------
        bound : the examples.
        begin, parts : the parts of all outputs.
        owners : the example that each output belongs to; None: output k is that of example k.
        """
        raise MargraveError(f"the structure {type(self).__name__} does not say how it decodes outputs.")

    def present(self, bound: "Bound[Out, Core]", begin: NDArray[np.int64], mu: NDArray[np.float64]) -> Any:
        """The marginals in the user's form, one array per example; those of example i begin at begin[i]."""
        return [mu[first:last] for first, last in pairwise(begin.tolist())]

    def part_names(self, outputs: Out) -> list[Any]:
        """The names of the columns of a feature table (labels, nodes); empty if every part has its own row."""
        return []

    def tuples(self, outputs: Out) -> list[Any]:
        """The tuples of neighboring labels that have a weight, for structures that have such."""
        return []

    def check_cost(self, cost: Cost) -> None:
        """Refuse a cost that the structure does not support."""
        if not isinstance(cost, self.costs):
            names = " or ".join(repr(kind.name) for kind in self.costs)
            raise MargraveError(f"the cost of {type(self).__name__} is {names}, not {quoted(cost.name)}.")

    def check_sizes(self, examples: Examples) -> None:
        """Refuse outputs that do not match the sizes of their examples."""

    def count_examples(self, X: Any, Y: Any, where: str = "y") -> None:
        """Refuse different numbers of inputs and outputs; inputs without a length are counted when they are encoded."""
        n, n_outputs = count(X), count(Y)
        if n is not None and n_outputs is not None and n != n_outputs:
            raise MargraveError(f"there are {n} {self.examples} in X and {n_outputs} in {where}.")


@dataclass
class Bound(Generic[Out, Core]):
    """Examples that a structure has bound: the core's structure, and what is needed to decode its outputs."""

    structure: Structure[Out, Core]
    outputs: Out
    examples: Examples
    core: Core

    def decode(
        self, begin: NDArray[np.int64], parts: NDArray[np.int32], owners: NDArray[np.int64] | None = None
    ) -> Any:
        """Outputs from their parts: one per example or, if `owners` are given, output k is one of example owners[k]."""
        return self.structure.decode(self, begin, parts, owners)

    def decode_one(self, i: int, parts: NDArray[np.int32]) -> Any:
        """The output of example i that has these parts."""
        return self.decode(np.array([0, len(parts)], dtype=np.int64), parts, np.array([i], dtype=np.int64))[0]

    def present(self, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> Any:
        """The marginals of all examples in the user's form."""
        return self.structure.present(self, begin, mu)


def check_lengths(examples: Examples) -> None:
    """Refuse sequences without tokens and, if labels are known, with another number of them."""
    sizes = examples.sizes
    if examples.Y is not None:
        counts = [len(labels) for labels in examples.Y]
        if len(counts) != len(sizes):
            raise MargraveError(f"there are {len(sizes)} sequences in X and {len(counts)} in y.")
        for i in np.flatnonzero(sizes != np.asarray(counts, dtype=np.int64)):
            raise MargraveError(f"example {i} has {sizes[i]} tokens and {counts[int(i)]} labels.")
    if 0 in sizes:
        raise MargraveError(f"example {int(np.argmin(sizes))} is an empty sequence; every sequence needs a token.")
