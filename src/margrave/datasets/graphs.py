"""Graphs with labeled nodes as JSON lines: one object per line, with nodes, edges and labels."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np

from margrave.data.graphs import Graph, LabeledGraph, grid_edges, with_numbers
from margrave.data.rules import Allowed, AtMostOne, Budget, Forbidden, Implies, Or, Rule, Xor
from margrave.datasets.json_lines import json_line, parse_json
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, quoted, shortened

# How lines name rules, and what else each of them needs.
_RULES: dict[str, tuple[Callable[..., Rule], str | None]] = {
    "xor": (Xor, None),
    "at_most_one": (AtMostOne, None),
    "or": (Or, None),
    "implies": (Implies, "then"),
    "budget": (Budget, "most"),
    "allowed": (Allowed, "nodes"),
    "forbidden": (Forbidden, "nodes"),
}


def read_graphs(path: TextSource, *, neighbors: int = 4) -> Iterator[LabeledGraph]:
    """Read graphs from JSON lines.

    A line is an object with "nodes", the attributes of each node: a list of names, an object from names to numbers, or
    a list of numbers; "edges", pairs of nodes counted from 0; perhaps "edge_features", the attributes of each edge in
    the same forms; and perhaps "labels", a label for each node, or null if it is not known. With "shape", [height,
    width], nodes are the cells of a grid row by row, and "edges" may be left out. "rules" may list what every labeling
    must follow. Other keys are kept in `fields`.

    A rule is an object whose key is its name. "xor", "at_most_one" and "or" have a list of literals, [node, label] or
    [node, label, false]; "budget" has "most" besides, the largest number of them that may be true. "implies" has a list
    of literals, and "then" the literal that follows from them. "allowed" and "forbidden" have a list of tuples of
    labels, and "nodes" the nodes that may have only these, or none of them.

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
    return json_line(fields)


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
    graph = Graph(nodes, edges, of_edges, shape, rules=_rules(fields.get("rules"), len(nodes)))
    return LabeledGraph(graph, _labels(fields.get("labels"), len(graph)), fields)


def _labels(labels: Any, nodes: int) -> list[Any] | None:
    if labels is None:
        return None
    if not isinstance(labels, list) or len(labels) != nodes:
        raise MargraveError(f'"labels" must be a list with a label for each of the {nodes} nodes.')
    for label in labels:
        whole = type(label) is int and -(2**63) <= label < 2**63
        if label is not None and not isinstance(label, str) and not whole:
            raise MargraveError(f"a label must be a text, a whole number or null, and one is {quoted(label)}.")
    return labels


def _rules(listed: Any, nodes: int) -> list[Rule]:
    if not isinstance(listed, list | None):
        raise MargraveError('"rules" must be a list of objects.')
    rules = []
    for k, each in enumerate(listed or ()):
        try:
            rules.append(_rule(each, nodes))
        except MargraveError as error:
            raise MargraveError(f"rule {k}: {error}") from None
    return rules


def _rule(fields: Any, nodes: int) -> Rule:
    names = [name for name in fields if name in _RULES] if isinstance(fields, dict) else []
    if len(names) != 1:
        raise MargraveError(f"it must be an object with one of the keys {', '.join(_RULES)}.")
    kind, more = _RULES[names[0]]
    expected = [names[0], *([] if more is None else [more])]
    if set(fields) != set(expected):
        found = shortened(", ".join(fields))
        raise MargraveError(f"{quoted(names[0])} has the keys {' and '.join(expected)}, not {found}.")
    listed = fields[names[0]]
    if not isinstance(listed, list) or not listed:
        raise MargraveError(f"{quoted(names[0])} must have a list that is not empty.")
    if more == "nodes":
        of = [_node(v, nodes) for v in fields[more]] if isinstance(fields[more], list) else []
        for labels in listed:
            if not isinstance(labels, list) or not of or len(labels) != len(of):
                raise MargraveError(f'a tuple must have a label for each of the "nodes", and one is {quoted(labels)}.')
        return kind(of, listed)
    literals = [_literal(each, nodes) for each in listed]
    if more == "then":
        return kind(literals, _literal(fields[more], nodes))
    return kind(literals) if more is None else kind(literals, fields[more])


def _literal(literal: Any, nodes: int) -> tuple[Any, ...]:
    match literal:
        case [node, str() | int() as label] | [node, str() | int() as label, bool()] if not isinstance(label, bool):
            return (_node(node, nodes), *literal[1:])
    raise MargraveError(f"a literal is [node, label] or [node, label, false], and one is {quoted(literal)}.")


def _node(node: Any, nodes: int) -> int:
    if type(node) is not int or not 0 <= node < nodes:
        raise MargraveError(f"there is no node {quoted(node)}: there are {nodes}, numbered from 0.")
    return node


def _attributes(rows: list[Any], what: str) -> Any:
    """Rows of numbers as a matrix; names and values as they are."""
    matrix = with_numbers(rows, what)
    if matrix is not rows:
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
