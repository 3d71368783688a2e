"""Several classes per example: sets of nodes of a forest that contain the parents of their nodes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length
from margrave.data.classes import check_several, distinct_labels, is_label
from margrave.data.taxonomy import Taxonomy, as_taxonomy
from margrave.errors import MargraveError, either, quoted
from margrave.examples import Examples
from margrave.losses.costs import F1, Cost, Hamming, ZeroOne
from margrave.structures.base import Bound, Outputs, Structure


@dataclass(frozen=True)
class Nodes(Outputs):
    """The nodes of a taxonomy in which no node has more than one parent."""

    name = "nodes"

    taxonomy: Taxonomy | None  # None if no node has been seen yet

    @property
    def classes(self) -> NDArray[Any]:
        """The sorted nodes; the parts have the same order."""
        return distinct_labels(() if self.taxonomy is None else self.taxonomy.nodes)

    def merge(self, other: Self) -> Self:
        """The nodes of both."""
        if self.taxonomy is None or other.taxonomy is None:
            return other if self.taxonomy is None else self
        both = {node: list(self.taxonomy.parents(node)) for node in self.taxonomy}
        for node in other.taxonomy:
            known = both.setdefault(node, [])
            known += [parent for parent in other.taxonomy.parents(node) if parent not in known]
        return type(self)(Taxonomy(both))

    def check(self) -> None:
        """Refuse fewer than two nodes."""
        if self.taxonomy is None:
            raise MargraveError("a taxonomy needs at least one node.")
        check_several(self.classes)


@dataclass
class NodeSets(Structure[Nodes, _core.Structure]):
    """Sets of nodes of a taxonomy that contain the parent of each of their nodes, including the empty set.

    Parts are the nodes.

    Parameters
    ----------
    taxonomy : a `Taxonomy`, the parents of its nodes, the separator of node names such as a.b.c, or None for labels
        that are unrelated. No node may have more than one parent.
    """

    name = "node-sets"
    costs = (Hamming, ZeroOne, F1)

    taxonomy: Any = None

    def learn(self, Y: Any) -> Nodes:
        """The taxonomy of the nodes that Y names."""
        taxonomy, sets = _read(Y, self.taxonomy)
        if taxonomy is None and not len(sets):
            raise MargraveError("there are no examples to learn from.")
        return self._checked(taxonomy)

    def bind(self, outputs: Nodes, examples: Examples, costs: Cost | None = None) -> _core.Structure:
        """Make the core's structure for these examples, each of which has one row of features."""
        if costs is not None and (not isinstance(costs, self.costs) or getattr(costs, "weights", None) is not None):
            names = either([repr(kind.name) for kind in self.costs])
            raise MargraveError(f"the cost of a set of nodes must be {names}, without label weights.")
        self._checked(outputs.taxonomy)
        if outputs.taxonomy is None:
            raise MargraveError("there are no labels.")
        classes = outputs.classes.tolist()
        n, Y = len(examples), examples.Y
        begin = gold = None
        if Y is not None:
            sets = closed_sets(Y, outputs)
            if len(sets) != n:
                raise MargraveError(f"there are {n} examples and {len(sets)} sets of nodes.")
            begin = np.concatenate([[0], np.cumsum([len(nodes) for nodes in sets])]).astype(np.int64)
            gold = np.array([node for nodes in sets for node in sorted(nodes)], dtype=np.int32)
        number = {node: k for k, node in enumerate(classes)}
        taxonomy = outputs.taxonomy
        above = [taxonomy.parents(node) for node in classes]
        parents = np.array([number[nodes[0]] if nodes else -1 for nodes in above], dtype=np.int32)
        return _core.node_sets(parents, n, begin, gold, costs is not None)

    def decode(
        self,
        bound: Bound[Nodes, _core.Structure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[Any]]:
        """The nodes of every example, in sorted order."""
        names = bound.outputs.classes.tolist()
        return [[names[k] for k in parts[first:last]] for first, last in pairwise(begin.tolist())]

    def present(
        self, bound: Bound[Nodes, _core.Structure], begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The probability of every node: (examples, nodes)."""
        return mu.reshape(-1, len(bound.outputs.classes))

    def part_names(self, outputs: Nodes) -> list[Any]:
        """The nodes."""
        names: list[Any] = outputs.classes.tolist()
        return names

    def count_examples(self, X: Any, Y: Any, where: str = "Y") -> None:
        """Refuse different numbers of inputs and outputs."""
        n = Y.shape[0] if hasattr(Y, "shape") else len(Y)
        super().count_examples(X, range(n), where)

    @staticmethod
    def _checked(taxonomy: Taxonomy | None) -> Nodes:
        if taxonomy is not None and not taxonomy.is_forest:
            node = next(node for node in taxonomy if len(taxonomy.parents(node)) > 1)
            raise MargraveError(f"sets of nodes need a tree, but node {quoted(node)} has more than one parent.")
        return Nodes(taxonomy)


def closed_sets(Y: Any, outputs: Nodes) -> list[set[int]]:
    """The sets of Y with the ancestors of their nodes, as indices of the sorted nodes."""
    taxonomy = outputs.taxonomy
    assert taxonomy is not None
    number = {node: k for k, node in enumerate(outputs.classes.tolist())}
    closed = []
    for i, nodes in enumerate(_read(Y, taxonomy)[1]):
        for node in nodes:
            if node not in number:
                raise MargraveError(f"example {i}: the taxonomy has no node {quoted(node)}.")
        closed.append({number[above] for node in nodes for above in taxonomy.ancestors(node)})
    return closed


def read_sets(Y: Any) -> tuple[list[Any], list[Collection[Any]]]:
    """The labels of a list of sets or of an indicator matrix, whose columns are all labels, and the sets."""
    taxonomy, sets = _read(Y, None)
    return [] if taxonomy is None else list(taxonomy.nodes), sets


def _read(Y: Any, taxonomy: Any) -> tuple[Taxonomy | None, list[Collection[Any]]]:
    """The taxonomy (None if no nodes are known), and the nodes that Y names for each example."""
    if hasattr(Y, "tocsr") or (isinstance(Y, np.ndarray) and Y.ndim == 2):
        from scipy.sparse import csr_array

        if isinstance(taxonomy, str):
            raise MargraveError("an indicator matrix does not have names with a separator: pass the taxonomy itself.")
        rows = csr_array(Y)
        if not np.isin(rows.data, (0, 1)).all():
            raise MargraveError("an indicator matrix must have only zeros and ones.")
        rows.eliminate_zeros()
        known = as_taxonomy(taxonomy, range(rows.shape[1]) if taxonomy is None else ())
        nodes = distinct_labels(known.nodes).tolist()
        if rows.shape[1] != len(nodes):
            raise MargraveError(f"an indicator matrix needs {len(nodes)} columns, one per node, not {rows.shape[1]}.")
        bounds = pairwise(rows.indptr.tolist())
        return known, [[nodes[k] for k in rows.indices[first:last]] for first, last in bounds]
    if isinstance(Y, Mapping) or not has_length(Y):
        raise MargraveError(f"Y must be a list of sets of nodes or an indicator matrix, not {type(Y).__name__}.")
    for i, nodes in enumerate(Y):
        if isinstance(nodes, Mapping) or not has_length(nodes):
            raise MargraveError(f"example {i}: its nodes must be a list or a set, not {type(nodes).__name__}.")
        for node in nodes:
            if not is_label(node):
                raise MargraveError(f"example {i}: a node must be a string or a number, not {quoted(node)}.")
    if taxonomy is not None and not isinstance(taxonomy, str):
        return as_taxonomy(taxonomy, ()), list(Y)
    names = dict.fromkeys(node for nodes in Y for node in nodes)
    return as_taxonomy(taxonomy, list(names)) if names else None, list(Y)
