"""Files of lattices: JSON lines and PLF.

JSON lines has one lattice per line:

    {"edges": [{"from": 0, "to": 1, "word": "a", "features": {"lm": -1.5}}, ...], "good": ["a b", ...], "id": "7"}

Nodes are numbers or texts. Paths lead from the node "start" to the node "end", which may be given; if not, they are the
only node without incoming and the only one without outgoing edges. An edge without a word, or with an empty one, adds
nothing to the string of a path. "good" is a list of strings, or a single one.

PLF is Python's notation of nested tuples, one lattice per line: for each node but the last one, its edges as (word,
weight, how many nodes ahead). The word *EPS* stands for none. The weight becomes the feature "weight".
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

from margrave.data.lattices import EPSILON, Lattice
from margrave.datasets.json_lines import check_keys, json_line, name_of, parse_json
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, quoted


def read_lattices(path: TextSource, encoding: str = "utf-8") -> Iterator[Lattice]:
    """Read lattices from a file, one per line, in JSON or PLF; gzip is recognized.

    Parameters
    ----------
    path : the file, or an open stream.
    encoding : of the text.
    """
    return (lattice for _, lattice in numbered_lattices(path, encoding))


def numbered_lattices(path: TextSource, encoding: str = "utf-8") -> Iterator[tuple[int, Lattice]]:
    """The same, each with the number of its line."""
    name = source_name(path)
    for number, line in read_lines(path, encoding):
        text = line.strip()
        if not text:
            continue
        try:
            yield number, _from_json(text, str(number)) if text.startswith("{") else from_plf(text, id=str(number))
        except MargraveError as error:
            raise DataError(name, number, str(error)) from None


def from_plf(text: str, *, good: Sequence[str] = (), id: str = "") -> Lattice:
    """A lattice in PLF.

    Parameters
    ----------
    text : nested tuples in Python's notation.
    good : the good strings.
    id : a name.

    >>> from_plf("((('a', 0.5, 1), ('b c', 0.25, 1)),)").nodes
    Traceback (most recent call last):
    margrave.errors.MargraveError: the word of an edge must be a text without blanks, not 'b c'.
    """
    nodes = _literal(text)
    if not isinstance(nodes, tuple) or not nodes:
        raise MargraveError("a lattice in PLF is a tuple of nodes, each a tuple of edges.")
    edges: list[Any] = []
    for tail, arcs in enumerate(nodes):
        if not isinstance(arcs, tuple):
            raise MargraveError(f"node {tail}: expected a tuple of edges, not {quoted(arcs)}.")
        for arc in arcs:
            if not isinstance(arc, tuple) or len(arc) != 3 or type(arc[2]) is not int:
                raise MargraveError(f"node {tail}: an edge is (word, weight, nodes ahead), not {quoted(arc)}.")
            word, weight, ahead = arc
            if ahead < 1 or tail + ahead > len(nodes):
                raise MargraveError(
                    f"node {tail}: an edge leads {quoted(ahead)} nodes ahead, and the last node is {len(nodes)}."
                )
            edges.append((tail, tail + ahead, word, {"weight": weight}))
    return Lattice.of(edges, start=0, end=len(nodes), good=good, id=id)


# What PLF consists of. Operators and calls of Python are no part of it: a chain of them takes its parser much memory.
_TEXT = r"""(?:'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+")"""
_NUMBER = r"[-+]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?+[0-9]++)?+"
_PLF = re.compile(rf"(?:[\s,(\[]|(?:[)\]]|None|True|False|{_NUMBER}|{_TEXT})\s*+(?=[,)\]]|\Z))*+")
_PIECE = re.compile(rf"[()\[\]]|{_TEXT}")
_DEPTH = 4  # one more than a lattice needs, so that the message can show what is wrong


def _literal(text: str) -> Any:
    """What Python's notation stands for: tuples, texts and numbers; nothing is run."""
    if _PLF.fullmatch(text):
        depth = deepest = 0
        for piece in _PIECE.findall(text):
            depth += 1 if piece in "([" else -1 if piece in ")]" else 0
            deepest = max(deepest, depth)
        if deepest <= _DEPTH:
            with suppress(ValueError, SyntaxError):
                return ast.literal_eval(text)
    raise MargraveError("expected a lattice: a JSON object, or nested tuples as in PLF.")


def to_plf(lattice: Lattice) -> str:
    """A lattice in PLF, which has one number per edge: the feature `weight`, or 0 for edges without it.

    Parameters
    ----------
    lattice : the lattice; other features are refused.
    """
    for name in (name for edge in lattice.edges for name in edge.features if name != "weight"):
        raise MargraveError(f"PLF has no feature but weight, and an edge has {quoted(name)}: use write_lattices.")
    arcs: list[list[str]] = [[] for _ in range(lattice.nodes - 1)]
    for tail, head, word, features in lattice.edges:
        arcs[tail].append(f"({word or EPSILON!r}, {features.get('weight', 0.0)!r}, {head - tail})")
    return "(" + "".join(f"({''.join(f'{arc},' for arc in of)})," for of in arcs) + ")"


def _from_json(text: str, id: str) -> Lattice:
    data = parse_json(text)
    check_keys(data, ("edges", "start", "end", "good", "id"), "a lattice")
    edges = data.get("edges")
    if not isinstance(edges, list):
        raise MargraveError('a lattice needs "edges", a list of objects with "from", "to", "word" and "features".')
    for edge in edges:
        check_keys(edge, ("from", "to", "word", "features"), "an edge")
        if "from" not in edge or "to" not in edge:
            raise MargraveError(f'an edge has "from" and "to", unlike {quoted(edge)}.')
    good = data.get("good", [])
    if not isinstance(good, list | str):
        raise MargraveError('"good" must be a list of strings, or a string.')
    listed = [(edge["from"], edge["to"], edge.get("word", ""), edge.get("features", {})) for edge in edges]
    named = name_of(data.get("id", id))
    return Lattice.of(listed, start=data.get("start"), end=data.get("end"), good=good, id=named)


def write_lattices(path: str | PathLike[str], lattices: Iterable[Lattice]) -> None:
    """Write lattices as JSON lines, with the names of their nodes; an existing file is replaced only if this succeeds.

    Parameters
    ----------
    path : the file; a name that ends in .gz is compressed.
    lattices : the lattices.
    """
    write_lines(path, (_to_json(lattice) for lattice in lattices))


def _to_json(lattice: Lattice) -> str:
    names = lattice.names or range(lattice.nodes)
    edges = [
        {
            "from": names[edge.tail],
            "to": names[edge.head],
            **({"word": edge.word} if edge.word else {}),
            **({"features": dict(edge.features)} if edge.features else {}),
        }
        for edge in lattice.edges
    ]
    data = {"id": lattice.id, "start": names[0], "end": names[-1], "edges": edges, "good": list(lattice.good)}
    return json_line(data)
