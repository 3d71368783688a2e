"""Derivations of forests; parts are edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.forests import Forest
from margrave.errors import MargraveError, quoted
from margrave.examples import Examples
from margrave.losses.costs import Cost, Hamming
from margrave.structures.base import Bound, NoOutputs, Structure
from margrave.structures.edges import bounds, check_graphs, edge_graphs, ragged


@dataclass
class ForestDerivations(Structure[NoOutputs, _core.ForestStructure]):
    """The derivations of forests, given and predicted as tuples of the numbers of their edges, depth first.

    In a tuple, an edge is followed by what its tails derive, the last tail before the others. A derivation without two
    edges of the same node may be given in any order.

    The cost "hamming" is the number of edges that are not in the gold derivation.
    """

    name = "forest-derivations"
    examples = "forests"
    costs = (Hamming,)

    def bind(self, outputs: NoOutputs, examples: Examples, costs: Cost | None = None) -> _core.ForestStructure:
        """Make the core's structure of these forests, with a row for each edge.

        Parameters
        ----------
        outputs : not used.
        examples : the forests; outputs are their gold derivations.
        costs : the costs of wrong derivations, if they are needed.
        """
        forests, Y = edge_graphs(self, Forest, examples, costs), examples.Y
        gold = None
        if Y is not None:
            listed = [self._derivation(i, y, forest) for i, (y, forest) in enumerate(zip(Y, forests, strict=True))]
            gold = ragged(listed)
        return _core.forests(*forest_arrays(forests), gold, costs is not None)

    def decode(
        self,
        bound: Bound[NoOutputs, _core.ForestStructure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[tuple[int, ...]]:
        """The derivations."""
        return [tuple(parts[first:last].tolist()) for first, last in pairwise(begin.tolist())]

    def _derivation(self, i: int, y: Any, forest: Forest) -> list[int]:
        edges = list(y)
        if not all(isinstance(e, int) and 0 <= e < len(forest.edges) for e in edges):
            raise MargraveError(f"example {i}: a derivation is a list of numbers of edges, not {quoted(y)}.")
        forest.string(edges)  # raises if the edges do not form a derivation
        return edges


def forest_arrays(forests: Sequence[Forest]) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    """What the core takes of forests: nodes, where edges begin, heads, tails and targets."""
    edges = [edge for forest in check_graphs(Forest, forests) for edge in forest.edges]
    number: dict[str, int] = {}
    targets = [
        [number.setdefault(each, len(number)) if isinstance(each, str) else -1 - each for each in edge.target]
        for edge in edges
    ]
    return (
        np.array([forest.nodes for forest in forests], dtype=np.int64),
        bounds([forest.edges for forest in forests]),
        np.array([edge.head for edge in edges], dtype=np.int32),
        *ragged([edge.tails for edge in edges]),
        *ragged(targets),
    )
