"""The features of label graphs: every label has weights of its own, and so has every edge.

The order of the weights is: label by label, the intercept and the attributes; then edge by edge, for each attribute the
four cases neither, second, first, both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.named import Block
from margrave.maps.rows import RowEncoder, with_intercept
from margrave.room import take_room

_GROUP = 256  # the bytes of what describes the weights of a label or an edge, about


@dataclass
class LabelGraphMap(FeatureMap[_core.Tokens, _core.FactorGraphStructure]):
    """A weight for each label and attribute, and for each edge and each case of having its labels or not.

    Parameters
    ----------
    pair_attributes : whether edges have weights for all attributes, or only one for each case.
    hash_bits : hash names to this many bits; 0 stores the names.
    """

    name = "label-graph"

    pair_attributes: bool = False
    hash_bits: int = 0

    encoder: RowEncoder = field(init=False, repr=False)
    labels: int = field(default=0, init=False, repr=False)
    edges: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self.pair_attributes = flag("pair_attributes", self.pair_attributes)
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)
        self.encoder = RowEncoder(self.hash_bits)

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.labels > 0

    @property
    def attributes(self) -> int:
        """The number of attributes, with the intercept."""
        return self.encoder.attributes + 1

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> _core.Tokens:
        """One row per example, which begins with the intercept."""
        X = examples.attributes
        return with_intercept(self.encoder.encode(X, single=True, grow=grow, unit="example", threads=threads))

    def learn(self, rows: _core.Tokens, bound: _core.FactorGraphStructure) -> None:
        """Every attribute has a weight for every label."""
        self.labels, self.edges = _sizes(bound)

    def map(self, rows: _core.Tokens, bound: _core.FactorGraphStructure, *, training: bool = False) -> _core.FactorMap:
        """The core's map of these rows."""
        if not self.learned:
            raise MargraveError("features are learned from labeled examples, and there are no labels.")
        if len(bound.arities):  # Without examples, there is no graph.
            self.check_graph(*_sizes(bound))
        present, cases = np.array([-1, 0], dtype=np.int32), np.arange(4, dtype=np.int32)
        of_edges = rows if self.pair_attributes else _constant(rows)
        groups: list[Any] = [(self.attributes, 1, present, rows, True)] * self.labels
        groups += [(self._edge_attributes, 4, cases, of_edges, True)] * self.edges
        return _core.factor_map(bound, np.arange(len(bound.arities), dtype=np.int32), groups)

    def check_graph(self, labels: int, edges: int) -> None:
        """Refuse a graph with other numbers of labels and edges than that of the training data."""
        if (self.labels, self.edges) != (labels, edges):
            raise MargraveError(
                f"the features were learned for {self.labels} labels and {self.edges} edges, and there are {labels} "
                f"and {edges}."
            )

    @property
    def _edge_attributes(self) -> int:
        return self.attributes if self.pair_attributes else 1

    def tables(self, w: Weights) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of labels (labels, attributes), and those of edges (edges, attributes, 4)."""
        split = self.labels * self.attributes
        return w[:split].reshape(self.labels, self.attributes), w[split:].reshape(self.edges, self._edge_attributes, 4)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes with the largest weights for each label."""
        names = ["intercept", *self.encoder.names()]
        return {label: largest(names, row, n) for label, row in zip(columns, self.tables(w)[0], strict=True)}

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of the labels, and those of the edges by the presence of both labels."""
        names = ["intercept", *self.encoder.names()]
        cells = np.arange(self.labels * len(names))
        of_labels = Block("label", names, columns, cells % len(names), cells // len(names))
        count, present = self._edge_attributes, [(first, second) for first in (False, True) for second in (False, True)]
        cells = np.arange(self.edges * count * 4)
        cases = [((a, first), (b, second)) for a, b in tuples for first, second in present]
        column = cells // (4 * count) * 4 + cells % 4
        return [of_labels, Block("edge", names[:count], cases, cells // 4 % max(count, 1), column)]

    def merge(self, other: Self) -> NDArray[np.int32] | None:
        """Add the other shard's names."""
        return self.encoder.merge(other.encoder)

    def renumber(self, rows: _core.Tokens, numbers: NDArray[np.int32] | None) -> _core.Tokens:
        """Rows of a shard with the numbers of the joint names."""
        if numbers is None:
            return rows
        return rows.renumbered(np.concatenate([[0], numbers + 1]).astype(np.int32))

    def state(self) -> dict[str, Any]:
        """The names, and the numbers of labels and edges."""
        return {"encoder": self.encoder, "labels": self.labels, "edges": self.edges}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.encoder = state["encoder"]
        if not isinstance(self.encoder, RowEncoder) or self.encoder.hash_bits != self.hash_bits:
            raise MargraveError("its encoder does not belong to its features.")
        self.labels = whole("the number of labels", state["labels"], 1, 2**20)
        self.edges = whole("the number of edges", state["edges"], 0, 2**31)
        take_room(_GROUP * (self.labels + self.edges), "its graph of labels")


def _sizes(bound: _core.FactorGraphStructure) -> tuple[int, int]:
    """The numbers of labels and of edges of a graph."""
    edges = int((bound.arities == 2).sum())
    return len(bound.arities) - edges, edges


def _constant(rows: _core.Tokens) -> _core.Tokens:
    """One row with the attribute 0 for each example."""
    every = np.arange(rows.examples + 1, dtype=np.int64)
    return _core.Tokens(every, every, np.zeros(rows.examples, np.int32), None)
