"""Graphs as JSON lines: what is written can be read, and every mistake has its line."""

from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from margrave import MargraveError
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


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "it is not JSON"),
        ('{"nodes": [["\\ud800"]], "edges": []}', "half of a character"),
        ("9" * 5000, "it is not JSON"),
        ("[]", "a graph is an object"),
        ("{}", 'the list "nodes" is missing'),
        ('{"nodes": [["a"]]}', 'the list "edges" is missing'),
        ('{"nodes": [], "edges": []}', "it has no nodes"),
        ('{"nodes": [5], "edges": []}', "node 0: its attributes must be a list of names"),
        ('{"nodes": [[1], [1, 2]], "edges": []}', "the same number of values"),
        ('{"nodes": [[1e999]], "edges": []}', "finite"),
        ('{"nodes": [["a"]], "edges": [[0, 0]]}', "edge 0 is a self-loop"),
        ('{"nodes": [["a"]], "edges": [], "labels": []}', "a label for each of the 1 nodes"),
        ('{"nodes": [["a"]], "edges": [], "labels": [0.5]}', "one is 0.5"),
        ('{"nodes": [["a"]], "shape": [2, 2]}', "but there are 1 nodes"),
        ('{"nodes": [["a"]], "shape": 2}', "must be [height, width]"),
        ('{"nodes": [["a"]], "edges": [], "edge_features": 3}', '"edge_features" must be a list'),
    ],
)
def test_every_mistake_has_its_line(line: str, why: str) -> None:
    good = '{"nodes": [["a"]], "edges": [], "labels": ["x"]}'
    with pytest.raises(MargraveError) as error:
        list(read_graphs(StringIO(f"{good}\n\n{line}\n")))
    assert "line 3: " in str(error.value) and why in str(error.value) and "\n" not in str(error.value)
