"""Lattices: acyclic graphs whose edges carry words and features."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from margrave.checks import is_text, named_numbers
from margrave.errors import MargraveError, counted, quoted, shortened, the_first

EPSILON = "*EPS*"
_SHOWN = 10  # nodes of a cycle that a message names


class Edge(NamedTuple):
    """An edge from node `tail` to node `head`."""

    tail: int
    head: int
    word: str = ""
    features: Mapping[str, float] = {}

    def __repr__(self) -> str:
        what = f"{shortened(repr(self.word))}, {counted(len(self.features), 'feature')}"
        return f"<Edge from {self.tail} to {self.head}: {what}>"


@dataclass(frozen=True)
class Lattice:
    """An acyclic graph; its nodes are numbered such that every edge leads to a higher one, its edges by their heads.

    Parameters
    ----------
    nodes : the number of nodes. Paths lead from node 0 to the last one.
    edges : the edges, by ascending heads.
    good : the good strings, best first, if they are known; words are separated by blanks.
    id : a name for messages and output files.

    >>> lattice = Lattice.of([(0, 1, "a"), (0, 1, "b"), (1, 2, "c")], good=["a c"])
    >>> lattice.nodes, [edge.word for edge in lattice.edges]
    (3, ['a', 'b', 'c'])
    """

    nodes: int
    edges: tuple[Edge, ...]
    good: tuple[str, ...] = ()
    id: str = ""
    names: tuple[Any, ...] = ()  # what the nodes were called, for messages and pictures

    @classmethod
    def of(
        cls,
        edges: Iterable[Any],
        *,
        start: Any = None,
        end: Any = None,
        good: Sequence[str] | str = (),
        id: str = "",
    ) -> "Lattice":
        """A lattice from edges (from, to, word, features) in any order; nodes may be any numbers or texts.

        Parameters
        ----------
        edges : the edges; word and features may be left out.
        start, end : the nodes that paths lead from and to; None for the only node without incoming edges, and for the
            only one without outgoing edges.
        good : the good strings, or the only one.
        id : a name.
        """
        given = [_edge(edge) for edge in edges]
        if not given:
            raise MargraveError("a lattice needs at least one edge.")
        order = topological_order([(tail, head) for tail, head, _, _ in given])
        first, last = _ends(given, start, end)
        # A node before the first one or behind the last one is on no path.
        order = [first, *(node for node in order if node not in (first, last)), last]
        place = {node: k for k, node in enumerate(order)}
        forward = [edge for edge in given if place[edge[0]] < place[edge[1]]]
        joined = {node for tail, head, _, _ in forward for node in (tail, head)}
        number = {node: k for k, node in enumerate(node for node in order if node in joined)}
        kept = [Edge(number[tail], number[head], word, features) for tail, head, word, features in forward]
        kept.sort(key=lambda edge: edge.head)
        reached = {number.get(first)}
        for edge in kept:  # by ascending heads, so that what leads to a tail has been seen
            if edge.tail in reached:
                reached.add(edge.head)
        if last not in number or number[last] not in reached:
            raise MargraveError(f"no path leads from its start {quoted(first)} to its end {quoted(last)}.")
        strings = tuple(map(_string, [good] if isinstance(good, str) else good))
        return cls(len(number), tuple(kept), strings, str(id), tuple(number))

    def string(self, path: Iterable[int]) -> str:
        """The words of the edges with these numbers, which are a path in order."""
        return " ".join(filter(None, (self.edges[k].word for k in path)))

    def without(self, dropped: Iterable[bool]) -> "Lattice":
        """The lattice without some edges, and without nodes that have no edges then.

        Parameters
        ----------
        dropped : for each edge, whether it is left out.
        """
        kept = [edge for edge, gone in zip(self.edges, dropped, strict=True) if not gone]
        ends = {0, self.nodes - 1}
        nodes = sorted(ends.union(*({edge.tail, edge.head} for edge in kept)))
        number = {node: k for k, node in enumerate(nodes)}
        edges = tuple(edge._replace(tail=number[edge.tail], head=number[edge.head]) for edge in kept)
        names = tuple(self.names[node] for node in nodes) if self.names else ()
        return Lattice(len(nodes), edges, self.good, self.id, names)

    def __repr__(self) -> str:
        return f"<Lattice of {counted(self.nodes, 'node')}, {counted(len(self.edges), 'edge')}>"


def _edge(edge: Any) -> tuple[Any, Any, str, dict[str, float]]:
    if not isinstance(edge, tuple | list) or not 2 <= len(edge) <= 4:
        raise MargraveError(f"an edge is (from, to, word, features), not {quoted(edge)}.")
    tail, head, word, features = (*edge, *("", {})[len(edge) - 2 :]) if len(edge) < 4 else tuple(edge)
    for node in (tail, head):
        _check_node(node)
    if word is None or word == EPSILON:
        word = ""
    if not is_text(word) or word.split() not in ([], [word]):
        raise MargraveError(f"the word of an edge must be a text without blanks, not {quoted(word)}.")
    return tail, head, word, named_numbers("the features of an edge", features)


def _check_node(node: Any) -> None:
    if not isinstance(node, int | str) or isinstance(node, bool):
        raise MargraveError(f"a node is a number or a text, not {quoted(node)}.")


def _string(words: Any) -> str:
    if isinstance(words, list | tuple) and all(isinstance(word, str) for word in words):
        words = " ".join(words)
    if not is_text(words):
        raise MargraveError(f"a good string must be a text or a list of words, not {quoted(words)}.")
    return " ".join(words.split())


def topological_order(edges: Sequence[tuple[Any, Any]]) -> list[Any]:
    """The nodes such that every edge leads to a later one; an error that names the nodes of a cycle."""
    after: dict[Any, list[Any]] = {}
    missing: dict[Any, int] = {}  # edges from nodes that have not been placed
    for tail, head in edges:
        after.setdefault(tail, []).append(head)
        after.setdefault(head, [])
        missing[head] = missing.get(head, 0) + 1
    order = [node for node in after if node not in missing]
    # First come, first served: numbers that are already in order stay. The list grows while it is gone through.
    for node in order:
        for head in after[node]:
            missing[head] -= 1
            if missing[head] == 0:
                order.append(head)
    if len(order) < len(after):
        raise MargraveError(f"it has a cycle through the nodes {_cycle(after, set(after) - set(order))}.")
    return order


def _cycle(after: Mapping[Any, Sequence[Any]], left: set[Any]) -> str:
    """The nodes of one cycle among those that are left, each of which has an edge from another of them."""
    before: dict[Any, Any] = {}
    for node in after:
        for head in after[node]:
            if node in left and head in left:
                before.setdefault(head, node)
    node = next(iter(before))
    seen: dict[Any, None] = {}
    while node not in seen:
        seen[node] = None
        node = before[node]
    walk = list(seen)
    return the_first([_shown(each) for each in walk[walk.index(node) :][::-1]], _SHOWN)


def _shown(node: Any) -> str:
    """The name of a node in messages."""
    return shortened(node) if isinstance(node, str) else quoted(node)


def _ends(edges: Sequence[tuple[Any, Any, str, Any]], start: Any, end: Any) -> tuple[Any, Any]:
    tails, heads = dict.fromkeys(edge[0] for edge in edges), dict.fromkeys(edge[1] for edge in edges)
    found = []
    for name, given, these, those in (("start", start, tails, heads), ("end", end, heads, tails)):
        if given is not None:
            _check_node(given)
            if given not in these:
                what = "leaves its start" if name == "start" else "enters its end"
                raise MargraveError(f"no edge {what} node {quoted(given)}.")
            found.append(given)
            continue
        only = [node for node in these if node not in those]
        if len(only) != 1:
            what = "without incoming edges" if name == "start" else "without outgoing edges"
            raise MargraveError(
                f"it has {len(only)} nodes {what} ({the_first(list(map(_shown, only)), _SHOWN)}): name the {name}."
            )
        found.append(only[0])
    if found[0] == found[1]:
        raise MargraveError("its first node is its last.")
    return found[0], found[1]
