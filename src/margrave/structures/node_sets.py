"""Sets of nodes of a forest that hold, with a node, its parent: several classes an example, at any height."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.features.outputs import with_output
from margrave.features.table import AttributeTable
from margrave.labels.taxonomy import Taxonomy
from margrave.losses import LossFamily


@dataclass
class NodeSets:
    """Closed sets of the nodes of a taxonomy in which no node has two parents; the empty set is one of them.

    A node scores what its attributes say, and with `intercept` a number of its own; its parts are the nodes.
    """

    taxonomy: Taxonomy
    intercept: bool = True

    def __post_init__(self) -> None:
        if not self.taxonomy.is_forest:
            node = next(node for node in self.taxonomy if len(self.taxonomy.parents(node)) > 1)
            raise MargraveError(f"sets of nodes need a tree, and node {node!r} has two parents or more.")

    def close(self, nodes: Collection[Any]) -> set[Any]:
        """The nodes and everything above them."""
        return {above for node in nodes for above in self.taxonomy.ancestors(node)}

    def bind(
        self,
        X: Any,
        sets: Sequence[Collection[int]] | None = None,
        *,
        features: AttributeTable,
        classes: Sequence[Any],
        loss: LossFamily | None = None,
    ) -> _core.Problem:
        """The problem of these examples; sets are numbers of classes, which are all the nodes in some order.

        The first bind with sets learns the features.
        """
        from scipy.sparse import csr_array, eye_array

        if loss is not None and not isinstance(loss.cost, str):
            raise MargraveError("the cost of a set of nodes is 'hamming' or 'zero-one', not numbers for labels.")
        learn = not features.learned
        if learn and sets is None:
            raise MargraveError("features are learned from labelled examples, and there are no labels.")
        rows = features.tokens.encode(X, single=True, learn=learn)
        n, width = rows.examples, len(classes)
        begin = gold = None
        if sets is not None:
            if len(sets) != n:
                raise MargraveError(f"there are {n} examples and {len(sets)} sets of nodes.")
            begin = np.concatenate([[0], np.cumsum([len(nodes) for nodes in sets])]).astype(np.int64)
            gold = np.array([node for nodes in sets for node in sorted(nodes)], dtype=np.int32)
            if learn:
                features.learn_tokens(rows, width, begin, gold)
        features.check_fit(width, 0)
        structure = _core.node_sets(self._parents(classes), n, begin, gold, loss is not None)
        table = features.map(rows, training=learn, start=self.intercept)
        # two sets differ in all nodes at most: in a table of one label an example that is more than any radius
        nodes = with_output(table, csr_array(eye_array(width)), spread=sqrt(width))
        return _core.join(structure, nodes)

    def _parents(self, classes: Sequence[Any]) -> NDArray[np.int32]:
        number = {node: k for k, node in enumerate(classes)}
        if number.keys() != set(self.taxonomy):
            raise MargraveError("the classes of sets of nodes must be the nodes of the taxonomy.")
        above = [self.taxonomy.parents(node) for node in classes]
        return np.array([number[parents[0]] if parents else -1 for parents in above], dtype=np.int32)
