"""Forests: packed derivations whose edges carry words and features."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from margrave.checks import is_text, named_numbers
from margrave.data.lattices import topological_order
from margrave.errors import MargraveError, counted, quoted, shortened, the_first


class ForestEdge(NamedTuple):
    """An edge from several nodes to one: what it spells are words, and the numbers of its tails from 0."""

    head: int
    tails: tuple[int, ...] = ()
    target: tuple[str | int, ...] = ()
    features: Mapping[str, float] = {}

    def __repr__(self) -> str:
        tails = f" from {the_first(self.tails)}" if self.tails else ""
        spelled = shortened(" ".join(each if isinstance(each, str) else f"[{each}]" for each in self.target))
        return f"<ForestEdge{tails} to {self.head}: {spelled!r}, {counted(len(self.features), 'feature')}>"


@dataclass(frozen=True)
class Forest:
    """An acyclic hypergraph; its nodes are numbered such that tails come before their heads, its edges by their heads.

    A derivation of the last node has an edge for the node itself, and one for each tail of its edges. A node that is a
    tail several times may have another edge each time.

    Parameters
    ----------
    nodes : the number of nodes.
    edges : the edges, by ascending heads.
    id : a name for messages.

    >>> forest = Forest.of([(0, (), ("a",)), (0, (), ("b",)), (1, (0,), ("the", 0), {"rule": 1.0})])
    >>> forest.nodes, forest.string([1, 2])
    (2, 'the b')
    """

    nodes: int
    edges: tuple[ForestEdge, ...]
    id: str = ""

    @classmethod
    def of(cls, edges: Iterable[Any], *, goal: int | None = None, id: str = "") -> "Forest":
        """A forest from edges (head, tails, target, features) in any order; nodes may be any numbers.

        Parameters
        ----------
        edges : the edges; target and features may be left out.
        goal : the node whose derivations are meant; None for the only one that is no tail.
        id : a name.
        """
        given = [checked_edge(edge) for edge in edges]
        if not given:
            raise MargraveError("a forest needs at least one edge.")
        arcs = [(tail, edge.head) for edge in given for tail in edge.tails]
        heads = [edge.head for edge in given]
        if all(tail < head for tail, head in arcs):  # the order stays
            order = sorted({*heads, *(tail for tail, _ in arcs)})
        else:
            order = list(dict.fromkeys([*topological_order(arcs), *heads]))
        if goal is None:
            tails = {tail for edge in given for tail in edge.tails}
            only = [node for node in order if node not in tails]
            if len(only) != 1:
                raise MargraveError(f"it has {len(only)} nodes that are no tail: name the goal.")
            goal = only[0]
        elif goal not in order:
            raise MargraveError(f"no edge leads to its goal {quoted(goal)}.")
        needed, open_nodes = {goal}, [goal]
        by_head: dict[int, list[ForestEdge]] = {}
        for edge in given:
            by_head.setdefault(edge.head, []).append(edge)
        while open_nodes:
            for edge in by_head.get(open_nodes.pop(), ()):
                open_nodes += [tail for tail in edge.tails if tail not in needed]
                needed.update(edge.tails)
        for node in needed:
            if node not in by_head:
                raise MargraveError(f"no edge leads to its node {quoted(node)}, so that nothing derives it.")
        number = {node: k for k, node in enumerate(node for node in order if node in needed)}
        kept = [
            ForestEdge(number[head], tuple(number[tail] for tail in tails), target, features)
            for head, tails, target, features in given
            if head in needed
        ]
        kept.sort(key=lambda edge: edge.head)
        return cls(len(number), tuple(kept), str(id))

    def __repr__(self) -> str:
        return f"<Forest of {counted(self.nodes, 'node')}, {counted(len(self.edges), 'edge')}>"

    def string(self, derivation: Iterable[int]) -> str:
        """The words of a derivation, given by the numbers of its edges.

        Parameters
        ----------
        derivation : the edges depth first, where the last tail of an edge comes before the others; in any order if
            there are no two edges of the same node.
        """
        places = self._depth_first(list(derivation))
        below: list[list[int]] = []  # by place in the derivation: the places of the edges of its tails
        open_tails: list[tuple[int, int]] = []  # the place of an edge, and which of its tails comes next
        for place, k in enumerate(places):
            if open_tails:
                above, tail = open_tails.pop()
                below[above][tail] = place
            tails = self.edges[k].tails
            below.append([0] * len(tails))
            open_tails += [(place, tail) for tail in range(len(tails))]
        words: list[str] = []
        open_symbols: list[tuple[int, str | int]] = [(0, each) for each in reversed(self.edges[places[0]].target)]
        while open_symbols:
            place, symbol = open_symbols.pop()
            if isinstance(symbol, str):
                words.append(symbol)
                continue
            place = below[place][symbol]
            open_symbols += [(place, each) for each in reversed(self.edges[places[place]].target)]
        return " ".join(words)

    def _depth_first(self, derivation: list[int]) -> list[int]:
        """The edges of a derivation depth first; an error if they are no derivation."""
        by_node: dict[int, list[int]] = {}
        for k in derivation:
            by_node.setdefault(self.edges[k].head, []).append(k)
        node_of_several = next((node for node, of in by_node.items() if len(set(of)) > 1), None)
        given = iter(derivation)
        listed: list[int] = []
        open_nodes = [self.nodes - 1]
        while open_nodes:
            node = open_nodes.pop()
            if node not in by_node:
                raise MargraveError(f"a derivation lacks an edge of node {node}.")
            k = by_node[node][0] if node_of_several is None else next(given, -1)
            if k < 0 or self.edges[k].head != node:
                raise MargraveError(
                    f"a derivation has two edges of node {node_of_several}, so that its edges must come depth first."
                )
            listed.append(k)
            open_nodes += self.edges[k].tails
        if node_of_several is not None and len(listed) < len(derivation):
            raise MargraveError(f"a derivation has {len(derivation)} edges, and the first {len(listed)} are one.")
        return listed


def checked_edge(edge: Any) -> ForestEdge:
    """The edge with its defaults; an error if it is none."""
    if not isinstance(edge, tuple | list) or not 1 <= len(edge) <= 4:
        raise MargraveError(f"an edge is (head, tails, target, features), not {quoted(edge)}.")
    head, tails, target, features = ForestEdge(*edge)
    if not isinstance(tails, tuple | list) or not isinstance(target, tuple | list):
        raise MargraveError(f"the tails and the target of an edge must be lists, unlike those of {quoted(edge)}.")
    if not all(isinstance(node, int) and not isinstance(node, bool) for node in (head, *tails)):
        raise MargraveError(f"nodes are numbers, unlike those of the edge {quoted(edge)}.")
    gaps = [symbol for symbol in target if not isinstance(symbol, str)]
    if any(not isinstance(gap, int) or not 0 <= gap < len(tails) for gap in gaps) or len(set(gaps)) < len(gaps):
        raise MargraveError(f"the target of an edge has words, and each of its {len(tails)} tails at most once.")
    for word in target:
        if isinstance(word, str) and not (is_text(word) and word.split() == [word]):
            raise MargraveError(f"the words of an edge must be texts without blanks, not {quoted(word)}.")
    return ForestEdge(head, tuple(tails), tuple(target), named_numbers("the features of an edge", features))
