"""Files of forests, which are cdec's: one JSON object per line.

An object has the keys "rules", "features", and then "edges" and "node" in turn, once per node:

    {"rules": [1, "[X] ||| a", 2, "[X] ||| [1] b"], "features": ["p"],
     "edges": [{"tail": [], "feats": [0, -0.5], "rule": 1}], "node": {"in_edges": [0]},
     "edges": [{"tail": [0], "feats": [0, -0.2], "rule": 2}], "node": {"in_edges": [1]}}

"feats" has the number or the name of each feature, followed by its value. The last field of a rule that is not a list
of features is its target; without rules, edges have no words. A node without edges stands for nothing, with score 0.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from margrave.checks import is_text, natural
from margrave.data.forests import Forest, ForestEdge, checked_edge
from margrave.datasets.json_lines import json_line, parse_json
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, quoted


def read_forests(path: TextSource, encoding: str = "utf-8") -> Iterator[Forest]:
    """Read forests from a file in cdec's JSON, one per line; gzip is recognized.

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
            raise MargraveError(f"a forest has rules, features, edges and nodes, not {quoted(key)}.")
        if key == "node":
            numbers = dict(value).get("in_edges") if isinstance(value, _Pairs) else None
            if not isinstance(numbers, list) or not all(type(k) is int and 0 <= k < len(found) for k in numbers):
                raise MargraveError(f'node {node}: "in_edges" must be numbers of the edges before it.')
            # A node without edges is a beginning, such as the first node of a lattice.
            edges += [checked_edge((node, *found[k])) for k in numbers] or [ForestEdge(node)]
            node += 1
        elif not isinstance(value, list):
            raise MargraveError(f'"{key}" must be a list.')
        elif key == "rules":
            rules = _rules(value)
        elif key == "features":
            for name in value:
                if not is_text(name):
                    raise MargraveError(f'"features" must be names, and one is {quoted(name)}.')
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
            raise MargraveError(f"a rule is [LABEL] ||| target or [LABEL] ||| source ||| target, not {quoted(rule)}.")
        if type(number) is not int:
            raise MargraveError(f"the number of a rule must be a whole number, not {quoted(number)}.")
        rules[number] = tuple(_symbol(token) for token in fields[min(2, len(fields) - 1)].split())
    return rules


def _symbol(token: str) -> str | int:
    """A word, or the number of a tail: [1] or [X,1]."""
    if token.startswith("[") and token.endswith("]"):
        number = natural(token[1:-1].rpartition(",")[2])
        if number is not None:
            return number - 1
    return token


def _edge(edge: Any, rules: Mapping[Any, tuple[str | int, ...]], names: Sequence[Any]) -> tuple[Any, ...]:
    if not isinstance(edge, _Pairs):
        raise MargraveError(f"an edge must be a JSON object, not {quoted(edge)}.")
    data = dict(edge)
    tails, feats = data.get("tail", []), data.get("feats", [])
    if not isinstance(tails, list) or not isinstance(feats, list) or len(feats) % 2:
        raise MargraveError('an edge needs "tail", a list of nodes, and "feats", a list of features and values.')
    features = {}
    for feature, value in zip(feats[::2], feats[1::2], strict=True):
        if not isinstance(feature, str) and (type(feature) is not int or not 0 <= feature < len(names)):
            raise MargraveError(f"feature {quoted(feature)} is not among the {len(names)} names of features.")
        features[feature if isinstance(feature, str) else names[feature]] = value
    rule = data.get("rule")
    if rule is not None and (type(rule) is not int or rule not in rules):
        raise MargraveError(f"an edge has rule {quoted(rule)}, which is not among the rules.")
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
        by_head[head].append(json_line(edge))
    listed = [each for rule, number in rules.items() for each in (number, rule)]
    members = [f'"rules":{json.dumps(listed, ensure_ascii=False)}', f'"features":{json.dumps([*names])}']
    first = 0
    for edges in by_head:
        members.append(f'"edges":[{",".join(edges)}]')
        members.append(f'"node":{{"in_edges":{json.dumps([*range(first, first + len(edges))])}}}')
        first += len(edges)
    return "{" + ",".join(members) + "}"
