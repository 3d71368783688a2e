"""Features of constituent trees with a kernel on nodes (003, section 4.5.1), and one weight per rule.

The score of a labeled span is a sum of kernels of its attributes with those of support spans, which are the distinct
spans of the training sentences; a model stores those with a nonzero coefficient.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.mercer import Kernel
from margrave.maps.named import Block

_HASH_BITS = 20  # The inputs of a kernel have a list of rows for each of so many attributes.


class KernelRows(NamedTuple):
    """Sentences for the map: the attributes of their spans, one row per span."""

    spans: _core.Tokens

    @property
    def example_begin(self) -> NDArray[np.int64]:
        """Where the spans of each sentence begin."""
        return self.spans.example_begin


@dataclass
class SpanKernel(FeatureMap[KernelRows, _core.ConstituentStructure]):
    """A kernel between the attributes of spans, and one weight per rule of the grammar.

    Weights are the coefficients of (support span, label), then those of the rules.

    Parameters
    ----------
    kernel : the kernel; "precomputed" and `nystroem` are not possible.
    labels : the number of labels of spans, which the grammar tells.
    rules : the names of the rules, which the grammar tells.
    """

    name = "span-kernel"

    kernel: Kernel
    labels: int = 1
    rules: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise MargraveError(f"the kernel of spans must be a Kernel, not {type(self.kernel).__name__}.")
        check_kernel(self.kernel)
        self.labels = whole("the number of labels", self.labels, 1, 2**31 - 1)
        self.rules = [str(rule) for rule in self.rules]

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.kernel.learned

    def fresh(self) -> Self:
        """A copy with the same settings that has not learned anything."""
        return type(self)(self.kernel.fresh(), self.labels, self.rules)

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> KernelRows:
        """The attributes of all spans of sentences: of what `SpanTemplates` make of them."""
        X = examples.attributes
        if isinstance(X, _core.TreeAttributes):
            return KernelRows(_core.span_rows(X, _HASH_BITS))
        if isinstance(X, list) and not X:
            begin = np.zeros(1, dtype=np.int64)
            return KernelRows(_core.Tokens(begin, begin, np.zeros(0, dtype=np.int32), None))
        raise MargraveError("features of spans take what SpanTemplates make of sentences.")

    def merge(self, other: Self) -> None:
        """Add the other shard's spans; attributes are hashed, so that nothing is renumbered."""
        self.kernel.merge(other.kernel)

    def renumber(self, rows: KernelRows, numbers: None) -> KernelRows:
        """The same rows."""
        return rows

    def learn(self, rows: KernelRows, bound: _core.ConstituentStructure) -> None:
        """The support spans are the distinct ones of the training sentences."""
        nothing = np.zeros(0, dtype=np.int64)
        self.kernel.learn_columns(rows.spans, self.labels, nothing, nothing.astype(np.int32))

    def map(self, rows: KernelRows, bound: _core.ConstituentStructure, *, training: bool = False) -> _core.Features:
        """The core's map of these trees; a map of new sentences can only compute scores."""
        if self.kernel.weighted is None or self.kernel.weighted.labels != self.labels:
            raise MargraveError(f"the kernel of spans was not learned for {self.labels} labels.")
        return self.kernel.beside(rows.spans, _core.span_map(bound, None, 0), bound.first_spans)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The rules with the largest absolute weights; a kernel has no weights of features."""
        return {"rule": largest(self.rules, w[self.kernel.size :], n, by_size=True)}

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Raise an error, because the weights of rules stand behind those of a kernel."""
        return [self.kernel.block("span", columns)]

    def compact(self, w: Weights) -> tuple[Self, Weights]:
        """The features and weights without the support spans whose coefficients are all zero."""
        size = self.kernel.size
        kernel, coefficients = self.kernel.compact(w[:size])
        return self.copied(kernel=kernel), np.concatenate([coefficients, w[size:]])


def check_kernel(kernel: Kernel) -> None:
    """Refuse kernels that spans cannot have."""
    if kernel.function == "precomputed":
        raise MargraveError("a precomputed kernel is for classes: use another kernel for spans.")
    if kernel.nystroem is not None:
        raise MargraveError("a kernel on spans has no landmarks: leave nystroem out.")
