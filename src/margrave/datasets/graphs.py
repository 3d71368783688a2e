"""Graphs with labeled nodes as JSON lines: one object per line, with nodes, edges and labels."""

import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np

from margrave.data.graphs import Graph, LabeledGraph, grid_edges
from margrave.datasets.json_lines import parse_json
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, quoted

_KEYS = ("nodes", "edges", "edge_features", "labels", "shape")


def read_graphs(path: TextSource, *, neighbors: int = 4) -> Iterator[LabeledGraph]:
    """Read graphs from JSON lines.

    A line is an object with "nodes", the attributes of each node: a list of names, an object from names to numbers, or
    a list of numbers; "edges", pairs of nodes counted from 0; perhaps "edge_features", the attributes of each edge in
    the same forms; and perhaps "labels", a label for each node, or null if it is not known. With "shape", [height,
    width], nodes are the cells of a grid row by row, and "edges" may be left out. Other keys are kept in `fields`.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    neighbors : 4 or 8, for grids without edges.

    >>> from io import StringIO
    >>> lines = StringIO('{"nodes": [["red"], []], "edges": [[0, 1]], "labels": ["r", "b"]}')
    >>> [(len(each.graph), each.labels) for each in read_graphs(lines)]
    [(2, ['r', 'b'])]
    """
    name = source_name(path)
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            yield _graph(parse_json(line), neighbors)
        except MargraveError as error:
            raise DataError(name, number, str(error)) from None


def write_graphs(path: str | PathLike[str], graphs: Iterable[Mapping[str, Any]]) -> None:
    """Write graphs as JSON lines.

    Parameters
    ----------
    path : the file; gzip if its name ends in .gz.
    graphs : the objects of the lines, with the keys that `read_graphs` describes.
    """
    write_lines(path, (graph_line(fields) for fields in graphs))


def graph_line(fields: Mapping[str, Any]) -> str:
    """The line of a graph."""
    return json.dumps(dict(fields), ensure_ascii=False, allow_nan=False)


def _graph(fields: Any, neighbors: int) -> LabeledGraph:
    if not isinstance(fields, dict):
        raise MargraveError('a graph is an object with "nodes" and "edges".')
    if not isinstance(fields.get("nodes"), list):
        raise MargraveError('the list "nodes" is missing, with the attributes of each node.')
    nodes = _attributes(fields["nodes"], "node")
    shape, edges, of_edges = fields.get("shape"), fields.get("edges"), fields.get("edge_features")
    if shape is not None:
        if not (isinstance(shape, list) and len(shape) == 2 and all(type(n) is int and n > 0 for n in shape)):
            raise MargraveError(f'"shape" must be [height, width], not {quoted(shape)}.')
        shape = (shape[0], shape[1])
        if shape[0] * shape[1] != len(fields["nodes"]):
            raise MargraveError(f'"shape" is {list(shape)}, but there are {len(fields["nodes"])} nodes.')
        if edges is None:
            edges, directions = grid_edges(*shape, neighbors)
            of_edges = directions if of_edges is None else of_edges
    if edges is None:
        raise MargraveError('the list "edges" is missing, with pairs of nodes; it may be empty.')
    if isinstance(of_edges, list):
        of_edges = _attributes(of_edges, "edge")
    elif of_edges is not None and not isinstance(of_edges, np.ndarray):
        raise MargraveError('"edge_features" must be a list with the attributes of each edge.')
    graph = Graph(nodes, edges, of_edges, shape)
    return LabeledGraph(graph, _labels(fields.get("labels"), len(graph)), fields)


def _labels(labels: Any, nodes: int) -> list[Any] | None:
    if labels is None:
        return None
    if not isinstance(labels, list) or len(labels) != nodes:
        raise MargraveError(f'"labels" must be a list with a label for each of the {nodes} nodes.')
    for label in labels:
        if label is not None and (not isinstance(label, str | int) or isinstance(label, bool)):
            raise MargraveError(f"a label must be a text, a whole number or null, and one is {json.dumps(label)}.")
    return labels


def _attributes(rows: list[Any], what: str) -> Any:
    """Rows of numbers as a matrix; names and values as they are."""
    numeric = [isinstance(row, list) and bool(row) and all(type(v) in (int, float) for v in row) for row in rows]
    if rows and all(numeric):
        if len({len(row) for row in rows}) > 1:
            raise MargraveError(f"each {what} must have the same number of values.")
        matrix = np.array(rows, dtype=np.float64)
        if not np.isfinite(matrix).all():
            raise MargraveError(f"the values of each {what} must be finite.")
        return matrix
    for k, row in enumerate(rows):
        names = isinstance(row, list) and all(isinstance(name, str) for name in row)
        values = isinstance(row, dict) and all(type(v) in (int, float, str) for v in row.values())
        if not names and not values:
            raise MargraveError(
                f"{what} {k}: its attributes must be a list of names, an object from names to numbers, or, for all of "
                f"them, a list of numbers."
            )
    return rows
