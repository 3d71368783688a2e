"""Forests: packed derivations whose edges carry words and features, and the files that hold them.

The files are cdec's: one JSON object per line, with the keys "rules", "features", and then "edges" and "node" in turn,
once per node:

    {"rules": [1, "[X] ||| a", 2, "[X] ||| [1] b"], "features": ["p"],
     "edges": [{"tail": [], "feats": [0, -0.5], "rule": 1}], "node": {"in_edges": [0]},
     "edges": [{"tail": [0], "feats": [0, -0.2], "rule": 2}], "node": {"in_edges": [1]}}

"feats" has the number or the name of each feature, followed by its value. The last field of a rule that is not a list
of features is its target; without rules, edges have no words. A node without edges stands for nothing, with score 0.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from typing import Any, NamedTuple

from margrave.datasets.json_lines import parse_json
from margrave.datasets.lattices import topological_order
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError


class ForestEdge(NamedTuple):
    """An edge from several nodes to one: what it spells are words, and the numbers of its tails from 0."""

    head: int
    tails: tuple[int, ...] = ()
    target: tuple[str | int, ...] = ()
    features: Mapping[str, float] = {}


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
        given = [_checked(edge) for edge in edges]
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
            raise MargraveError(f"no edge leads to its goal {goal!r}.")
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
                raise MargraveError(f"no edge leads to its node {node}, so that nothing derives it.")
        number = {node: k for k, node in enumerate(node for node in order if node in needed)}
        kept = [
            ForestEdge(number[head], tuple(number[tail] for tail in tails), target, features)
            for head, tails, target, features in given
            if head in needed
        ]
        kept.sort(key=lambda edge: edge.head)
        return cls(len(number), tuple(kept), str(id))

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


def _checked(edge: Any) -> ForestEdge:
    if not isinstance(edge, tuple | list) or not 1 <= len(edge) <= 4:
        raise MargraveError(f"an edge is (head, tails, target, features), not {edge!r}.")
    head, tails, target, features = ForestEdge(*edge)
    if not all(isinstance(node, int) and not isinstance(node, bool) for node in (head, *tails)):
        raise MargraveError(f"nodes are numbers, unlike those of the edge {edge!r}.")
    gaps = [symbol for symbol in target if not isinstance(symbol, str)]
    if any(not isinstance(gap, int) or not 0 <= gap < len(tails) for gap in gaps) or len(set(gaps)) < len(gaps):
        raise MargraveError(f"the target of an edge has words, and each of its {len(tails)} tails at most once.")
    for word in target:
        if isinstance(word, str) and word.split() != [word]:
            raise MargraveError(f"the words of an edge must be texts without blanks, not {word!r}.")
    for name, value in features.items():
        valid = isinstance(name, str) and isinstance(value, int | float) and not isinstance(value, bool)
        if not valid or not isfinite(value):
            raise MargraveError(f"the features of an edge must be finite numbers by name, not {name!r}: {value!r}.")
    return ForestEdge(head, tuple(tails), tuple(target), {name: float(value) for name, value in features.items()})


# ---- files -----------------------------------------------------------------------------------------------------------


def read_forests(path: TextSource, encoding: str = "utf-8") -> Iterator[Forest]:
    """Read forests from a file in cdec's JSON, one per line; gzip is recognised.

    Parameters
    ----------
    path : the file, or an open stream.
    encoding : of the text.
    """
    name = source_name(path)
    for number, line in read_lines(path, encoding):
        if not line.strip():
            continue
        try:
            yield _from_json(line, str(number))
        except MargraveError as error:
            raise DataError(name, number, str(error)) from None


def _from_json(text: str, id: str) -> Forest:
    pairs = parse_json(text, object_pairs_hook=_Pairs)
    if not isinstance(pairs, _Pairs):
        raise MargraveError("expected a JSON object.")
    rules: dict[Any, tuple[str | int, ...]] = {}
    names: list[Any] = []
    found: list[tuple[Any, ...]] = []  # tails, target, features of all edges so far
    edges: list[ForestEdge] = []
    node = 0
    for key, value in pairs:
        if key not in ("rules", "features", "edges", "node"):
            raise MargraveError(f"a forest has rules, features, edges and nodes, not {key}.")
        if key == "node":
            numbers = dict(value).get("in_edges") if isinstance(value, _Pairs) else None
            if not isinstance(numbers, list) or not all(isinstance(k, int) and 0 <= k < len(found) for k in numbers):
                raise MargraveError(f'node {node}: "in_edges" must be numbers of the edges before it.')
            # A node without edges is a beginning, such as the first node of a lattice.
            edges += [_checked((node, *found[k])) for k in numbers] or [ForestEdge(node)]
            node += 1
        elif not isinstance(value, list):
            raise MargraveError(f'"{key}" must be a list.')
        elif key == "rules":
            rules = _rules(value)
        elif key == "features":
            names = value
        else:
            found += [_edge(edge, rules, names) for edge in value]
    if node == 0:
        raise MargraveError("a forest needs at least one node.")
    return Forest.of(edges, goal=node - 1, id=id)


class _Pairs(list[tuple[str, Any]]):
    """The members of an object: cdec repeats keys, which a dictionary would lose."""


def _rules(listed: Sequence[Any]) -> dict[Any, tuple[str | int, ...]]:
    rules: dict[Any, tuple[str | int, ...]] = {}
    for number, rule in zip(listed[::2], listed[1::2], strict=False):
        fields = rule.split("|||") if isinstance(rule, str) else []
        if len(fields) < 2:
            raise MargraveError(f"a rule is [LABEL] ||| target or [LABEL] ||| source ||| target, not {rule!r}.")
        rules[number] = tuple(_symbol(token) for token in fields[min(2, len(fields) - 1)].split())
    return rules


def _symbol(token: str) -> str | int:
    """A word, or the number of a tail: [1] or [X,1]."""
    if token.startswith("[") and token.endswith("]"):
        digits = token[1:-1].rpartition(",")[2]
        if digits.isdecimal():
            return int(digits) - 1
    return token


def _edge(edge: Any, rules: Mapping[Any, tuple[str | int, ...]], names: Sequence[Any]) -> tuple[Any, ...]:
    if not isinstance(edge, _Pairs):
        raise MargraveError(f"an edge must be a JSON object, not {edge!r}.")
    data = dict(edge)
    tails, feats = data.get("tail", []), data.get("feats", [])
    if not isinstance(tails, list) or not isinstance(feats, list) or len(feats) % 2:
        raise MargraveError('an edge needs "tail", a list of nodes, and "feats", a list of features and values.')
    features = {}
    for feature, value in zip(feats[::2], feats[1::2], strict=True):
        if isinstance(feature, int) and not 0 <= feature < len(names):
            raise MargraveError(f"feature {feature} is not among the {len(names)} names of features.")
        features[names[feature] if isinstance(feature, int) else feature] = value
    rule = data.get("rule")
    if rule is not None and rule not in rules:
        raise MargraveError(f"an edge has rule {rule!r}, which is not among the rules.")
    return tuple(tails), rules.get(rule, tuple(range(len(tails)))), features


def write_forests(path: str | PathLike[str], forests: Iterable[Forest]) -> None:
    """Write forests in cdec's JSON, one per line; an existing file is replaced only if this succeeds.

    Parameters
    ----------
    path : the file; a name that ends in .gz is compressed.
    forests : the forests.
    """
    write_lines(path, map(_to_json, forests))


def _to_json(forest: Forest) -> str:
    rules: dict[str, int] = {}
    names: dict[str, int] = {}
    by_head: list[list[str]] = [[] for _ in range(forest.nodes)]
    for head, tails, target, features in forest.edges:
        rule = "[X] ||| " + " ".join(each if isinstance(each, str) else f"[{each + 1}]" for each in target)
        feats = [each for name, value in features.items() for each in (names.setdefault(name, len(names)), value)]
        edge = {"tail": list(tails), "feats": feats, "rule": rules.setdefault(rule, len(rules) + 1)}
        by_head[head].append(json.dumps(edge))
    listed = [each for rule, number in rules.items() for each in (number, rule)]
    members = [f'"rules":{json.dumps(listed, ensure_ascii=False)}', f'"features":{json.dumps([*names])}']
    first = 0
    for edges in by_head:
        members.append(f'"edges":[{",".join(edges)}]')
        members.append(f'"node":{{"in_edges":{json.dumps([*range(first, first + len(edges))])}}}')
        first += len(edges)
    return "{" + ",".join(members) + "}"
