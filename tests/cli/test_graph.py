"""The task `graph`: what `inspect --plot` draws, unknown labels, and options that do not fit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave import GraphLabeler
from margrave.data import Budget, Forbidden, Graph, Or
from tests.references.commands import done, message, run

LINES = [
    {"nodes": [["red"], ["blue"], []], "edges": [[0, 1], [1, 2]], "labels": ["r", "b", "r"]},
    {"nodes": [["blue"], []], "edges": [[0, 1]], "labels": ["b", "r"], "id": 7},
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data, model = tmp_path / "data.jsonl", tmp_path / "m"
    data.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    done("train", "--task", "graph", data, "-o", model, "-q", "-C", 10)
    return data, model


def test_predictions_keep_what_the_lines_have(files: tuple[Path, Path]) -> None:
    data, model = files
    lines = [json.loads(line) for line in done("predict", model, data, "--marginals").splitlines()]
    assert [{k: v for k, v in line.items() if k != "probabilities"} for line in lines] == LINES
    assert all(0.5 < p <= 1 for line in lines for p in line["probabilities"])
    report = json.loads(done("evaluate", model, data, "--json"))
    assert report["accuracy"] == 1 and report["whole_graphs"] == 1 and report["labels"]["b"]["f1"] == 1


def test_pictures(files: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    data, model = files
    assert "drawn in" in done("inspect", model, "--data", data, "--plot", tmp_path / "g.svg", "--graph", 2)
    assert (tmp_path / "g.svg").read_text().startswith("<?xml")
    assert "--graph 3, but it has 2 graphs" in message(
        run("inspect", model, "--data", data, "--plot", tmp_path / "g.svg", "--graph", 3)
    )
    assert "give a file with --data" in message(run("inspect", model, "--plot", tmp_path / "g.svg"))
    assert "apply to --plot only" in message(run("inspect", model, "--data", data))
    assert "--sentences applies to parsing" in message(run("inspect", model, "--sentences", "1"))


def test_unknown_labels(files: tuple[Path, Path], tmp_path: Path) -> None:
    _, model = files
    partly = tmp_path / "partly.jsonl"
    partly.write_text("".join(json.dumps({**line, "labels": [None, *line["labels"][1:]]}) + "\n" for line in LINES))  # type: ignore[misc]
    assert json.loads(done("evaluate", model, partly, "--json"))["accuracy"] == 1
    report = json.loads(done("train", "--task", "graph", partly, "-o", tmp_path / "n", "--json"))
    assert report["learner"] == "lbfgs"
    assert "need the log loss" in message(
        run("train", "--task", "graph", partly, "-o", tmp_path / "n", "--loss", "hinge")
    )


def test_rules_hold_in_predictions(files: tuple[Path, Path], tmp_path: Path) -> None:
    _, model = files
    labeler: Any = margrave.load(model)
    for rules, python in (
        ([{"or": [[0, "b"]]}], [Or([(0, "b")])]),
        ([{"budget": [[0, "r"], [1, "r"], [2, "r"]], "most": 1}], [Budget([(v, "r") for v in range(3)], 1)]),
        ([{"forbidden": [["r", "b"]], "nodes": [0, 1]}], [Forbidden([0, 1], [["r", "b"]])]),
    ):
        new = tmp_path / "new.jsonl"
        line = {**LINES[0], "rules": rules}
        new.write_text(json.dumps(line) + "\n")
        (found,) = (json.loads(each) for each in done("predict", model, new, "--marginals").splitlines())
        graph = Graph(LINES[0]["nodes"], LINES[0]["edges"], rules=python)
        assert found["labels"] == labeler.predict([graph])[0] != LINES[0]["labels"] and found["rules"] == rules
        refused = message(run("train", "--task", "graph", new, "-o", tmp_path / "n"))  # its labels break the rule
        assert "hard factor 0" in refused
        line["labels"] = found["labels"]
        new.write_text((json.dumps(line) + "\n") * 2)
        done("train", "--task", "graph", new, "-o", tmp_path / "n", "-q")
        assert np.array_equal(
            margrave.load(tmp_path / "n").coef_, GraphLabeler().fit([graph] * 2, [line["labels"]] * 2).coef_
        )


def test_options_that_do_not_fit(files: tuple[Path, Path], tmp_path: Path) -> None:
    data, _ = files
    for flag, value, why in (
        ("--pairs", "both", "pairs"),
        ("--neighbors", "5", "must be 4 or 8"),
        ("--inference", "exat", "did you mean 'exact'"),
        ("--weights", "observed", "weights"),
    ):
        assert why in message(run("train", "--task", "graph", data, "-o", tmp_path / "n", flag, value))
