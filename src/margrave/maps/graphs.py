"""The features of graphs: attributes of nodes with labels, and attributes of edges with pairs of labels.

Weights are shared by all nodes and by all edges. Their order is: (attribute of nodes, label), with the attribute
"intercept" first, and then (attribute of edges, pair of labels) in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.data.graphs import Graph
from margrave.errors import MargraveError, unknown
from margrave.examples import Examples
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.named import Block
from margrave.maps.rows import RowEncoder, with_intercept
from margrave.room import take_room

_PAIR = 32  # the bytes that numbering a pair of labels takes
PAIRS = ("auto", "directed", "symmetric", "equal")


@dataclass
class GraphRows:
    """Rows of all nodes and of all edges."""

    nodes: _core.Tokens
    edges: _core.Tokens

    @property
    def example_begin(self) -> NDArray[np.int64]:
        """The index of the first node of each graph."""
        return self.nodes.example_begin


@dataclass
class GraphMap(FeatureMap[GraphRows, _core.FactorGraphStructure]):
    """A weight for each attribute of nodes and label, and for each attribute of edges and pair of labels.

    Parameters
    ----------
    pairs : which pairs of labels have weights of their own: "directed", every pair of the labels of the source and the
        target; "symmetric", every pair in any order; "equal", all pairs of equal labels share one, and others score 0.
        "auto" is "directed" if edges have attributes, and "symmetric" if they have none.
    intercept : every node and every edge has one more attribute, which is always there.
    hash_bits : hash names to this many bits; 0 stores the names.
    """

    name = "graphs"

    pairs: str = "auto"
    intercept: bool = True
    hash_bits: int = 0

    nodes: RowEncoder = field(init=False, repr=False)
    edges: RowEncoder = field(init=False, repr=False)
    described: bool | None = field(default=None, init=False, repr=False)  # whether edges have attributes
    labels: int = field(default=0, init=False, repr=False)  # how many there are

    def __post_init__(self) -> None:
        if self.pairs not in PAIRS:
            raise unknown("pairs", self.pairs, PAIRS)
        self.intercept = flag("intercept", self.intercept)
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)
        self.nodes, self.edges = RowEncoder(self.hash_bits), RowEncoder(self.hash_bits)

    def _columns(self, labels: int) -> NDArray[np.int32]:
        """The column of each pair of labels."""
        auto = "directed" if self.described else "symmetric"
        return pair_columns(labels, auto if self.pairs == "auto" else self.pairs)

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.nodes.form is not None

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> GraphRows:
        """One row per node and one per edge."""
        X: Sequence[Graph] = examples.attributes
        if grow and self.described is None:
            self.described = any(graph.edge_features is not None for graph in X)
        nodes = self.nodes.encode([graph.nodes for graph in X], single=False, grow=grow, unit="node", threads=threads)
        for i, graph in enumerate(X):
            if len(graph.edges) and (graph.edge_features is not None) != self.described:
                have, lack = ("no attributes", "some") if self.described else ("attributes", "none")
                raise MargraveError(f"example {i}: its edges have {have}, but those of the training data had {lack}.")
        if self.described:
            width = self.edges.columns if self.edges.form == "columns" else _width(X)
            empty: Any = [] if width is None else np.zeros((0, width))
            rows = [empty if graph.edge_features is None else graph.edge_features for graph in X]
            edges = self.edges.encode(rows, single=False, grow=grow, unit="edge", threads=threads)
        else:
            counts = [len(graph.edges) for graph in X]
            begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            edges = _core.Tokens(begin, np.zeros(begin[-1] + 1, np.int64), np.zeros(0, np.int32), None)
        if self.intercept:
            nodes, edges = with_intercept(nodes), with_intercept(edges)
        return GraphRows(nodes, edges)

    def learn(self, rows: GraphRows, bound: _core.FactorGraphStructure) -> None:
        """Every attribute has a weight for every label or pair of labels."""
        self.labels = bound.most_labels

    def map(self, rows: GraphRows, bound: _core.FactorGraphStructure, *, training: bool = False) -> _core.FactorMap:
        """The core's map of these rows."""
        if not self.learned:
            raise MargraveError("features are learned from labeled examples, and there are no labels.")
        labels, column = self.labels, self._columns(self.labels)
        groups = [
            (self._attributes(self.nodes), labels, np.arange(labels, dtype=np.int32), rows.nodes, False),
            (self._attributes(self.edges), int(column.max()) + 1, column, rows.edges, False),
        ]
        return _core.factor_map(bound, bound.arities - 1, groups)

    def _attributes(self, encoder: RowEncoder) -> int:
        return encoder.attributes + self.intercept

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes of nodes with the largest weights for each label."""
        table = w[: self._attributes(self.nodes) * len(columns)].reshape(-1, len(columns))
        names = [*(["intercept"] if self.intercept else []), *self.nodes.names()]
        return {label: largest(names, table[:, k], n) for k, label in enumerate(columns)}

    def top_pairs(self, w: Weights, columns: Sequence[Any], n: int) -> Ranked:
        """The attributes of edges and pairs of labels with the largest absolute weights."""
        column = self._columns(len(columns))
        count = int(column.max()) + 1
        table = w[self._attributes(self.nodes) * len(columns) :].reshape(-1, count)
        edges = self.edges.names() if self.described else []
        names = [*(["intercept"] if self.intercept else []), *edges]
        pairs = self._pairs(columns)
        both = [(name, pairs[k]) for name in names for k in range(count)]
        return largest(both, table.ravel(), n, by_size=True)

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of nodes for each label, and those of edges for each pair of labels."""
        first = ["intercept"] if self.intercept else []
        edges = self.edges.names() if self.described else []
        return [
            Block.table("node", [*first, *self.nodes.names()], columns),
            Block.table("edge", [*first, *edges], self._pairs(columns)),
        ]

    def _pairs(self, columns: Sequence[Any]) -> list[Any]:
        """The pair of labels of each column; the first of several that share it."""
        shown: dict[int, Any] = {}
        for cell, which in enumerate(self._columns(len(columns)).tolist()):
            pair = (columns[cell // len(columns)], columns[cell % len(columns)])
            if which >= 0:
                shown.setdefault(which, "equal" if self.pairs == "equal" else pair)
        return [shown[k] for k in range(len(shown))]

    def merge(self, other: Self) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
        """Add the other shard's names."""
        if other.described is not None:
            self.described = bool(self.described) or other.described
        return self.nodes.merge(other.nodes), self.edges.merge(other.edges)

    def renumber(self, rows: GraphRows, numbers: Any) -> GraphRows:
        """Rows of a shard with the numbers of the joint names."""

        def renumbered(tokens: _core.Tokens, numbers: NDArray[np.int32] | None) -> _core.Tokens:
            if numbers is None:
                return tokens
            own = np.concatenate([[0], numbers + 1]).astype(np.int32) if self.intercept else numbers
            return tokens.renumbered(own)

        return GraphRows(renumbered(rows.nodes, numbers[0]), renumbered(rows.edges, numbers[1]))

    def state(self) -> dict[str, Any]:
        """The names, whether edges have attributes, and the number of labels."""
        return {"nodes": self.nodes, "edges": self.edges, "described": bool(self.described), "labels": self.labels}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.nodes, self.edges = state["nodes"], state["edges"]
        self.described = flag("described", state["described"])
        self.labels = whole("the number of labels", state["labels"], 1, 2**15)
        take_room(_PAIR * self.labels**2, f"the pairs of its {self.labels} labels")
        for encoder in (self.nodes, self.edges):
            if not isinstance(encoder, RowEncoder) or encoder.hash_bits != self.hash_bits:
                raise MargraveError("its encoder does not belong to its features.")


def pair_columns(labels: int, pairs: str) -> NDArray[np.int32]:
    """The column of each pair of labels, row by row; -1: it has no weight."""
    first, second = np.divmod(np.arange(labels * labels), labels)
    if pairs == "directed":
        return np.arange(labels * labels, dtype=np.int32)
    if pairs == "equal":
        return np.where(first == second, 0, -1).astype(np.int32)
    low, high = np.minimum(first, second), np.maximum(first, second)
    columns: NDArray[np.int32] = (low * labels - low * (low - 1) // 2 + high - low).astype(np.int32)
    return columns


def _width(X: Sequence[Graph]) -> int | None:
    """The number of columns of edges whose features are matrices."""
    shapes = [graph.edge_features.shape for graph in X if hasattr(graph.edge_features, "shape")]
    return shapes[0][1] if shapes else None
