"""Features of classes (003, section 4.2): ancestors in a taxonomy, words of a description, similarities.

Each of them is a matrix of classes by output features, whose row y is Lambda(y). If several of them are joined side by
side, their inner products add up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.maps.base import FeatureMap, Ranked, Weights
from margrave.maps.named import Block
from margrave.maps.table import FeatureTable, Transitions

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from margrave.data.taxonomy import Taxonomy

# Eigenvalues of a similarity below this fraction of the largest are rounding errors.
_ROUNDING = 1e-10


@dataclass
class OutputMatrix:
    """Lambda: a sparse matrix of classes by output features, and the names of the features."""

    matrix: "csr_array"
    names: list[Any]


@dataclass
class _TableBehind(FeatureMap[_core.Tokens, _core.Structure]):
    """The base of feature maps that wrap an attribute table."""

    table: FeatureTable

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.table.learned

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> _core.Tokens:
        """One row per example."""
        return self.table.encode(examples, grow=grow, threads=threads)

    def merge(self, other: Self) -> Any:
        """Add the other shard's names and pairs."""
        return self.table.merge(other.table)

    def renumber(self, rows: _core.Tokens, numbers: Any) -> _core.Tokens:
        """Rows of a shard with the numbers of the joint names."""
        return self.table.renumber(rows, numbers)

    def compact(self, w: Weights) -> tuple[Self, Weights]:
        """The features without anything that prediction does not need."""
        return self._smaller(w, self.table.compact)

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The features without pairs and names whose weights are all zero."""
        return self._smaller(w, self.table.without_zeros)

    def _smaller(self, w: Weights, shrink: Any) -> tuple[Self, Weights]:
        at = self.table.size
        table, of_table = shrink(w[:at])
        return self.copied(table=table), np.concatenate([of_table, w[at:]])


@dataclass
class OutputMap(_TableBehind):
    """A table with one column per output feature instead of one per class: A = M B.

    `described` is the matrix M of classes by output features, with the names of the output features.
    """

    name = "outputs"

    described: OutputMatrix

    def learn(self, rows: _core.Tokens, bound: _core.Structure) -> None:
        """Learn the pairs of attributes and output features of the gold classes."""
        _, labels = bound.gold_parts()
        of_labels = self.described.matrix[labels]
        seen_begin, seen = of_labels.indptr.astype(np.int64), of_labels.indices.astype(np.int32)
        self.table.learn_columns(rows, self.described.matrix.shape[1], seen_begin, seen)

    def map(self, rows: _core.Tokens, bound: _core.Structure, *, training: bool = False) -> _core.Features:
        """The table of output features, multiplied by the matrix."""
        self.table.check_width(self.described.matrix.shape[1])
        if bound.columns != self.described.matrix.shape[0]:
            raise MargraveError(
                f"there are features for {self.described.matrix.shape[0]} classes, not {bound.columns}."
            )
        return _with_output(self.table.map_columns(rows, training=training), self.described.matrix)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes with the largest weights for each output feature: node, word or eigenvector."""
        return self.table.top(w, self._output_names(), n)

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of the attributes, each for every output feature that it has a weight for."""
        return [self.table.block("attribute", self._output_names())]

    def _output_names(self) -> list[Any]:
        names: list[Any] = []
        seen = set[Any]()
        for name in self.described.names:  # A word of a description may have the name of a node.
            names.append(f"{name} (description)" if name in seen else name)
            seen.add(name)
        return names

    def stored_settings(self) -> dict[str, Any]:
        """The table, and the arrays of the matrix."""
        matrix = self.described.matrix
        return {
            "table": self.table,
            "names": list(self.described.names),
            "classes": matrix.shape[0],
            **dict(zip(_MATRIX, _arrays_of(matrix), strict=True)),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The features of a file."""
        from scipy.sparse import csr_array

        table, names = settings["table"], settings["names"]
        if not isinstance(table, FeatureTable) or not isinstance(names, list):
            raise MargraveError("output features need a table and names.")
        if not all(isinstance(name, str | Real) for name in names):
            raise MargraveError("the names of output features must be texts or numbers.")
        begin, column, value = (settings[name] for name in _MATRIX)
        matrix = csr_array((value, column, begin), shape=(settings["classes"], len(names)))
        matrix.check_format()
        return cls(table, OutputMatrix(matrix, names))


@dataclass
class NodeMap(_TableBehind):
    """A table with one column per node; with `intercept`, each node also has a weight without an attribute."""

    name = "nodes"

    table: FeatureTable = field(default_factory=lambda: FeatureTable("all"))
    intercept: bool = True

    def __post_init__(self) -> None:
        self.intercept = flag("intercept", self.intercept)

    def fresh(self) -> Self:
        """A copy with the same settings that has not learned anything."""
        return type(self)(self.table.fresh(), self.intercept)

    def learn(self, rows: _core.Tokens, bound: _core.Structure) -> None:
        """Learn the pairs of attributes and gold nodes."""
        self.table.learn(rows, bound)

    def map(self, rows: _core.Tokens, bound: _core.Structure, *, training: bool = False) -> _core.Features:
        """The table of nodes; two sets differ in at most all nodes, which bounds their distance."""
        from scipy.sparse import csr_array, eye_array

        width = bound.columns
        table = self.table.map(rows, bound, training=training, transitions=Transitions(start=self.intercept))
        return _with_output(table, csr_array(eye_array(width)), spread=sqrt(width))

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes with the largest weights for each node."""
        return self.table.top(w[: self.table.size], columns, n)

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of the attributes for each node, and those of nodes alone."""
        intercept = [Block.of_labels("intercept", columns)] if self.intercept else []
        return [self.table.block("attribute", columns), *intercept]


_MATRIX = ("begin", "column", "value")


def _arrays_of(matrix: "csr_array") -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Row bounds, columns and values of a sparse matrix, with the types that the core requires."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)


def _with_output(feature_map: _core.Features, matrix: "csr_array", spread: float = 0.0) -> _core.OutputFeatures:
    """Features of classes from a table of output features; `spread` as in the core."""
    return _core.output_features(feature_map, matrix.shape[1], *_arrays_of(matrix), spread)


def side_by_side(blocks: Sequence[OutputMatrix]) -> OutputMatrix:
    """All output features of all blocks; their inner products of classes add up."""
    from scipy.sparse import csr_array, hstack

    joined = csr_array(hstack([block.matrix for block in blocks]))
    return OutputMatrix(joined, [name for block in blocks for name in block.names])


def class_ancestors(
    taxonomy: "Taxonomy", classes: Sequence[Any], node_weights: Mapping[Any, float] | None = None
) -> OutputMatrix:
    """One feature per node, whose value is the node's weight (1 by default) for the classes at or below the node.

    Nodes that are ancestors of all classes do not distinguish them and are left out.
    """
    from scipy.sparse import csr_array

    weights = _checked_weights(taxonomy, node_weights)
    above = [taxonomy.ancestors(name) for name in classes]
    counts: dict[Any, int] = {}
    for nodes in above:
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
    shared = [node for node in taxonomy.nodes if node not in set(classes)]
    telling = [node for node in (*classes, *shared) if 0 < counts.get(node, 0) < len(classes)]
    column = {node: k for k, node in enumerate(telling)}
    places = [(y, column[node]) for y, nodes in enumerate(above) for node in nodes if node in column]
    rows, columns = np.array(places, dtype=np.int64).reshape(-1, 2).T
    values = np.array([weights.get(telling[k], 1.0) for k in columns], dtype=np.float64)
    return OutputMatrix(csr_array((values, (rows, columns)), shape=(len(classes), len(telling))), telling)


def class_words(descriptions: Mapping[Any, str], classes: Sequence[Any]) -> OutputMatrix:
    """The tf-idf vector of each class's description, normalized to length 1; idf is computed from the descriptions.

    Words that occur in all descriptions do not distinguish the classes and are left out.
    """
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not isinstance(descriptions, Mapping):
        raise MargraveError(f"descriptions must be a mapping from classes to texts, not {type(descriptions).__name__}.")
    for name in classes:
        if name not in descriptions:
            raise MargraveError(f"class {name!r} has no description.")
        if not isinstance(descriptions[name], str):
            raise MargraveError(f"the description of class {name!r} must be a string, not {descriptions[name]!r}.")
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b", max_df=max(1, len(classes) - 1))
    try:
        matrix = vectorizer.fit_transform([descriptions[name] for name in classes])
    except ValueError:
        raise MargraveError("the descriptions have no words that distinguish the classes.") from None
    return OutputMatrix(csr_array(matrix), vectorizer.get_feature_names_out().tolist())


def class_similarity(similarity: Any, classes: Sequence[Any]) -> OutputMatrix:
    """Features whose inner products are these similarities, a symmetric matrix without negative eigenvalues.

    They are the eigenvectors of the matrix, each multiplied by the square root of its eigenvalue.
    """
    from scipy.sparse import csr_array

    n = len(classes)
    try:
        matrix = np.asarray(similarity, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise MargraveError("similarities must be a matrix of numbers.") from None
    if matrix.shape != (n, n):
        raise MargraveError(f"similarities must be a matrix of {n} x {n} classes, not of shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise MargraveError("similarities must be finite.")
    largest = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > _ROUNDING * largest:
        raise MargraveError("similarities must be symmetric.")
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    if values[0] < -_ROUNDING * max(values[-1], largest):
        raise MargraveError(f"similarities must not have negative eigenvalues, and one is {values[0]:.3g}.")
    kept = values > _ROUNDING * values[-1]
    if not kept.any():
        raise MargraveError("similarities must not all be zero.")
    roots = vectors[:, kept] * np.sqrt(values[kept])
    return OutputMatrix(csr_array(roots[:, ::-1]), [f"eigenvector {k}" for k in range(roots.shape[1])])


def _checked_weights(taxonomy: "Taxonomy", node_weights: Mapping[Any, float] | None) -> dict[Any, float]:
    if node_weights is None:
        return {}
    if not isinstance(node_weights, Mapping):
        raise MargraveError(f"node_weights must be a mapping from nodes to numbers, not {type(node_weights).__name__}.")
    for node in node_weights:
        if node not in taxonomy:
            raise MargraveError(f"node_weights has a weight for {node!r}, and the taxonomy has no such node.")
    rule = "be finite and not negative"
    return {
        node: real(f"the weight of node {node!r}", weight, rule, lambda w: w >= 0 and isfinite(w))
        for node, weight in node_weights.items()
    }
