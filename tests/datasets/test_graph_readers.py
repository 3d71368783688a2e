"""Graphs as JSON lines: what is written can be read, and every mistake has its line."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from margrave import MargraveError
from margrave.data import Allowed, AtMostOne, Budget, Forbidden, Implies, Or, Xor
from margrave.datasets import read_graphs, write_graphs


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    fields = [
        {"nodes": [["ä"], []], "edges": [[0, 1]], "labels": ["x", "y"], "edge_features": [{"w": 0.5}], "id": 7},
        {"nodes": [[1.5, 2], [0, 1]], "edges": []},
        {"nodes": [[1], [2]], "shape": [1, 2], "labels": [3, 4]},
    ]
    path = tmp_path / "graphs.jsonl.gz"
    write_graphs(path, fields)
    first, second, third = read_graphs(path)
    assert [each.fields for each in (first, second, third)] == fields
    assert first.labels == ["x", "y"] and second.labels is None and third.labels == [3, 4]
    assert first.graph.edge_features == [{"w": 0.5}]
    assert isinstance(second.graph.nodes, np.ndarray) and second.graph.edges.shape == (0, 2)
    assert third.graph.edges.tolist() == [[0, 1]] and third.graph.shape == (1, 2)


def test_rules_are_read_as_in_python() -> None:
    rules = [
        ({"xor": [[0, "x"], [1, "y", False]]}, Xor([(0, "x"), (1, "y", False)])),
        ({"at_most_one": [[0, "x"], [1, "x"]]}, AtMostOne([(0, "x"), (1, "x")])),
        ({"or": [[0, 1]]}, Or([(0, 1)])),
        ({"implies": [[0, "x"]], "then": [1, "y"]}, Implies([(0, "x")], (1, "y"))),
        ({"budget": [[0, "x"], [1, "x"]], "most": 1}, Budget([(0, "x"), (1, "x")], 1)),
        ({"allowed": [["x", "y"]], "nodes": [1, 0]}, Allowed([1, 0], [["x", "y"]])),
        ({"forbidden": [["x"], ["y"]], "nodes": [1]}, Forbidden([1], [["x"], ["y"]])),
    ]
    fields = {"nodes": [["a"], ["b"]], "edges": [[0, 1]], "rules": [written for written, _ in rules]}
    (found,) = read_graphs(StringIO(json.dumps(fields)))
    assert found.graph.rules == [rule for _, rule in rules] and found.fields == fields


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "it is not JSON"),
        ('{"nodes": [["\\ud800"]], "edges": []}', "half of a character"),
        ("9" * 5000, "is not finite, or too large"),
        ("[]", "a graph is an object"),
        ("{}", 'the list "nodes" is missing'),
        ('{"nodes": [["a"]]}', 'the list "edges" is missing'),
        ('{"nodes": [], "edges": []}', "it has no nodes"),
        ('{"nodes": [5], "edges": []}', "node 0: its attributes must be a list of names"),
        ('{"nodes": [[1], [1, 2]], "edges": []}', "node 1: its attributes must be 1 numbers"),
        ('{"nodes": [[1e999]], "edges": []}', "finite"),
        ('{"nodes": [["a"]], "edges": [[0, 0]]}', "edge 0 is a self-loop"),
        ('{"nodes": [["a"]], "edges": [], "labels": []}', "a label for each of the 1 nodes"),
        ('{"nodes": [["a"]], "edges": [], "labels": [0.5]}', "one is 0.5"),
        ('{"nodes": [["a"]], "shape": [2, 2]}', "but there are 1 nodes"),
        ('{"nodes": [["a"]], "shape": 2}', "must be [height, width]"),
        ('{"nodes": [["a"]], "edges": [], "edge_features": 3}', '"edge_features" must be a list'),
        ('{"nodes": [["a"]], "edges": [], "rules": 3}', '"rules" must be a list'),
        ('{"nodes": [["a"]], "edges": [], "rules": [3]}', "rule 0: it must be an object with one of the keys xor, "),
        ('{"nodes": [["a"]], "edges": [], "rules": [{"xor": [[0, "x"]], "or": [[0, "x"]]}]}', "with one of the keys"),
        ('{"nodes": [["a"]], "edges": [], "rules": [{"xor": []}]}', "'xor' must have a list that is not empty"),
        ('{"nodes": [["a"]], "edges": [], "rules": [{"xor": [[1, "x"]]}]}', "rule 0: there is no node 1: there are 1"),
        ('{"nodes": [["a"]], "edges": [], "rules": [{"xor": [[0, true]]}]}', "a literal is [node, label]"),
        ('{"nodes": [["a"]], "edges": [], "rules": [{"budget": [[0, "x"]]}]}', "'budget' has the keys budget and most"),
        (
            '{"nodes": [["a"]], "edges": [], "rules": [{"xor": [[0, "x"]], "most": 2}]}',
            "has the keys xor, not xor, most",
        ),
        ('{"nodes": [["a"]], "edges": [], "rules": [{"implies": [[0, "x"]], "then": 3}]}', "a literal is"),
        ('{"nodes": [["a"]], "edges": [], "rules": [{"forbidden": [["x", "y"]], "nodes": [0]}]}', "a tuple must have"),
    ],
)
def test_every_mistake_has_its_line(line: str, why: str) -> None:
    good = '{"nodes": [["a"]], "edges": [], "labels": ["x"]}'
    with pytest.raises(MargraveError) as error:
        list(read_graphs(StringIO(f"{good}\n\n{line}\n")))
    assert "line 3: " in str(error.value) and why in str(error.value) and "\n" not in str(error.value)
