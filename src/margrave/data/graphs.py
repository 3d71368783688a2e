"""Graphs as users have them: arrays, networkx graphs and images, all turned into one form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import has_length, is_list, whole
from margrave.data.rules import Rule
from margrave.errors import MargraveError, counted, quoted

Edges = NDArray[np.int64]  # (edges, 2): the nodes of each edge; features of an edge can depend on their order


@dataclass(frozen=True, eq=False)
class Graph:
    """The nodes and edges of one example.

    Parameters
    ----------
    nodes : the attributes of the nodes: a list with an entry per node, each a list of strings, a dictionary or a list
        of numbers; or a dense or sparse matrix with a row per node.
    edges : an array (edges, 2) with the numbers of the nodes of each edge.
    edge_features : the attributes of the edges, in the same forms as those of nodes; None: edges have none. The first
        node of an edge is its source, so features may depend on the direction.
    shape : the height and width if the nodes are the pixels of an image.
    names : what the nodes are called, if labels are given by name.
    rules : rules that every labeling of the graph must follow, such as `Xor` or `Forbidden`; their variables are the
        numbers of nodes.

    >>> Graph([["x"], ["y"]], [(0, 1)]).edges.tolist()
    [[0, 1]]
    """

    nodes: Any
    edges: Any
    edge_features: Any = None
    shape: tuple[int, int] | None = None
    names: Sequence[Any] | None = None
    rules: Sequence[Rule] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _edges(self.edges))
        object.__setattr__(self, "nodes", with_numbers(self.nodes, "node"))
        object.__setattr__(self, "edge_features", with_numbers(self.edge_features, "edge"))
        count = _rows(self.nodes, "nodes")
        if count == 0:
            raise MargraveError("it has no nodes.")
        if self.edge_features is not None and (rows := _rows(self.edge_features, "edges")) != len(self.edges):
            raise MargraveError(f"it has {len(self.edges)} edges and attributes of {rows}.")
        check_edges(count, self.edges)

    def __len__(self) -> int:
        return _rows(self.nodes, "nodes")

    def __repr__(self) -> str:
        return f"<Graph of {counted(len(self), 'node')}, {counted(len(self.edges), 'edge')}>"


@dataclass(frozen=True, eq=False)
class LabeledGraph:
    """A graph of a file: the graph, the labels of its nodes (None if it has none), and the object of its line."""

    graph: Graph
    labels: list[Any] | None
    fields: Mapping[str, Any]

    def __repr__(self) -> str:
        labels = "without" if self.labels is None else "with"
        size = f"{counted(len(self.graph), 'node')}, {counted(len(self.graph.edges), 'edge')}"
        return f"<LabeledGraph of {size}, {labels} labels>"


def as_graphs(X: Any, neighbors: int = 4, window: int = 1) -> list[Graph]:
    """The graphs of all examples, whichever form they have.

    Parameters
    ----------
    X : a list of `Graph`; of tuples (nodes, edges) or (nodes, edges, edge features); of networkx graphs, whose nodes
        and edges may have an attribute "features"; or of images, arrays of two or three dimensions.
    neighbors, window : as in `image_graph`.
    """
    if isinstance(X, Graph) or hasattr(X, "is_directed") or not has_length(X) or isinstance(X, str | dict):
        raise MargraveError(f"X must be a list of graphs, not {type(X).__name__}.")
    graphs = []
    for i, x in enumerate(X):
        try:
            graphs.append(_as_graph(x, neighbors, window))
        except MargraveError as error:
            raise MargraveError(f"example {i}: {error}") from None
    return graphs


def _as_graph(x: Any, neighbors: int, window: int) -> Graph:
    if isinstance(x, Graph):
        return x
    if hasattr(x, "is_directed") and hasattr(x, "nodes") and hasattr(x, "edges"):
        return networkx_graph(x)
    if isinstance(x, np.ndarray) and x.ndim in (2, 3):
        return image_graph(x, neighbors=neighbors, window=window)
    if isinstance(x, tuple | list) and len(x) in (2, 3):
        return Graph(*x)
    raise MargraveError(
        f"a graph is a Graph, a tuple (nodes, edges) or (nodes, edges, edge features), a networkx graph or an image, "
        f"not {type(x).__name__}."
    )


def networkx_graph(graph: Any) -> Graph:
    """A networkx graph, with nodes and edges in its own order; their attribute "features" has what describes them."""
    if graph.is_multigraph():
        raise MargraveError("a multigraph has several edges between two nodes: use a Graph or a DiGraph.")
    number = {node: k for k, node in enumerate(graph.nodes)}
    edges = [(number[source], number[target]) for source, target in graph.edges]
    nodes = _described([data for _, data in graph.nodes(data=True)], "nodes")
    described = _described([data for _, _, data in graph.edges(data=True)], "edges")
    return Graph([[]] * len(number) if nodes is None else nodes, edges, described, names=list(number))


def _described(data: Sequence[Any], what: str) -> Any:
    """The features of all nodes or edges; None if none has any."""
    found = [each.get("features") for each in data]
    if all(each is None for each in found):
        return None
    if any(each is None for each in found):
        raise MargraveError(f'some {what} have the attribute "features", and others do not.')
    if isinstance(found[0], np.ndarray):
        try:
            return np.stack(found)
        except ValueError:
            raise MargraveError(f'the "features" of {what} must be arrays of one length.') from None
    return found


def image_graph(image: Any, *, neighbors: int = 4, window: int = 1) -> Graph:
    """A grid of pixels. Edges have the attributes right, down and, with 8 neighbors, two for the diagonals.

    Parameters
    ----------
    image : an array (height, width) or (height, width, channels).
    neighbors : 4, or 8 with diagonals.
    window : the attributes of a pixel are the values in a square of this size around it (1, 3, 5, ...), with zeros
        outside of the image.

    >>> image_graph(np.zeros((2, 3))).edges.tolist()
    [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    """
    try:
        pixels = np.asarray(image, dtype=np.float64)
    except (TypeError, ValueError):
        raise MargraveError("an image must be an array of numbers.") from None
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.ndim != 3 or pixels.size == 0:
        raise MargraveError(f"an image must be (height, width) or (height, width, channels), not {np.shape(image)}.")
    window = whole("window", window, 1, 99)
    if window % 2 == 0:
        raise MargraveError(f"window must be odd, and it is {window}.")
    height, width, channels = pixels.shape
    reach = window // 2
    padded = np.pad(pixels, ((reach, reach), (reach, reach), (0, 0)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (window, window), axis=(0, 1))
    nodes = views.reshape(height * width, channels * window * window)
    edges, directions = grid_edges(height, width, neighbors)
    return Graph(nodes, edges, directions, (height, width))


@lru_cache(maxsize=64)
def grid_edges(height: int, width: int, neighbors: int) -> tuple[Edges, NDArray[np.float64]]:
    """The edges of a grid, and for each the direction as a row of zeros and a one."""
    if neighbors not in (4, 8):
        raise MargraveError(f"neighbors must be 4 or 8, and it is {quoted(neighbors)}.")
    number = np.arange(height * width).reshape(height, width)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    if neighbors == 8:
        pairs += [(number[:-1, :-1], number[1:, 1:]), (number[:-1, 1:], number[1:, :-1])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    directions = np.repeat(np.eye(len(pairs)), [a.size for a, _ in pairs], axis=0)
    for array in (edges, directions):
        array.setflags(write=False)  # Many graphs share them.
    return edges, directions


def check_edges(nodes: int, edges: Edges) -> None:
    """Refuse edges to nodes that do not exist, self-loops and double edges."""
    if edges.size == 0:
        return
    for k in np.flatnonzero((edges < 0).any(axis=1) | (edges >= nodes).any(axis=1)).tolist():
        raise MargraveError(f"edge {k} joins {edges[k].tolist()}, but there are {nodes} nodes, numbered from 0.")
    for k in np.flatnonzero(edges[:, 0] == edges[:, 1]).tolist():
        raise MargraveError(f"edge {k} is a self-loop: it joins node {edges[k, 0]} with itself.")
    keys = edges.min(axis=1) * nodes + edges.max(axis=1)
    order = np.argsort(keys, kind="stable")
    for k in np.flatnonzero(np.diff(keys[order]) == 0).tolist():
        first, second = sorted((int(order[k]), int(order[k + 1])))
        a, b = edges[second].tolist()
        raise MargraveError(f"edges {first} and {second} are double: both join nodes {a} and {b}.")


def _edges(edges: Any) -> Edges:
    try:
        array = np.asarray(edges)
    except ValueError:
        raise MargraveError("edges must be pairs of numbers of nodes.") from None
    if array.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise MargraveError(f"edges must be an array (edges, 2) of numbers of nodes, not {array.dtype} {array.shape}.")
    return np.ascontiguousarray(array, dtype=np.int64)


def with_numbers(rows: Any, what: str) -> Any:
    """Lists of numbers as a matrix, and attributes in any other form as they are.

    >>> with_numbers([[1, 2.5], [0, 1]], "node").tolist()
    [[1.0, 2.5], [0.0, 1.0]]
    """
    first = rows[0] if isinstance(rows, list | tuple) and len(rows) else None
    if (
        not isinstance(first, list | tuple | np.ndarray)
        or not is_list(first)
        or not len(first)
        or not isinstance(first[0], Real)
    ):
        return rows
    for k, row in enumerate(rows):
        if not isinstance(row, list | tuple | np.ndarray) or not is_list(row) or len(row) != len(first):
            raise MargraveError(f"{what} {k}: its attributes must be {len(first)} numbers, as those of {what} 0.")
    try:
        values = np.array(rows)
    except ValueError:  # Something else than a number has a length of its own.
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise MargraveError(f"the attributes of each {what} must be finite numbers, as the first ones are.")
    return values.astype(np.float64)


def _rows(features: Any, what: str) -> int:
    if hasattr(features, "shape"):
        if len(features.shape) != 2:
            raise MargraveError(f"the attributes of {what} must be a matrix, not of shape {features.shape}.")
        return int(features.shape[0])
    if isinstance(features, str | bytes | dict) or not has_length(features):
        raise MargraveError(f"the attributes of {what} must be a list or a matrix, not {type(features).__name__}.")
    return len(features)
