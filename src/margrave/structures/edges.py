"""What lattices and forests share: their parts are the edges of one graph per example."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.losses.costs import Cost
from margrave.structures.base import Structure


class _Graph(Protocol):
    @property
    def edges(self) -> Sequence[Any]: ...


G = TypeVar("G", bound=_Graph)


def check_graphs(kind: type[G], graphs: Sequence[Any]) -> Sequence[G]:
    """The graphs; an error if one is of another kind."""
    for i, graph in enumerate(graphs):
        if not isinstance(graph, kind):
            raise MargraveError(f"example {i} must be a {kind.__name__}, not {type(graph).__name__}.")
    return graphs


def edge_graphs(structure: Structure[Any, Any], kind: type[G], examples: Examples, costs: Cost | None) -> Sequence[G]:
    """The graphs that a structure is bound to; an error unless they have one row per edge and costs that it supports.

    Parameters
    ----------
    structure : the structure.
    kind : the type of the graphs.
    examples : the graphs.
    costs : the costs of wrong outputs, if they are needed.
    """
    checked = check_graphs(kind, [] if examples.X is None else examples.X)
    if [len(graph.edges) for graph in checked] != examples.sizes.tolist():
        raise MargraveError("there must be one row of features per edge.")
    if costs is not None:
        structure.check_cost(costs)
    return checked


def ragged(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where each list begins in all of them one after another, and what they have."""
    return bounds(lists), np.array([k for each in lists for k in each], dtype=np.int32)


def bounds(lists: Sequence[Sequence[Any]]) -> NDArray[np.int64]:
    """Where each list begins in all of them one after another, and how much there is."""
    return np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
