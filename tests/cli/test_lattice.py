"""The task of lattices: train, predict, evaluate, pictures, and how it speaks of mistakes."""

import json
from pathlib import Path

import pytest

from margrave.data import Lattice
from margrave.datasets import write_lattices
from tests.references.commands import message, run


def lattice(k: int, good: list[str]) -> Lattice:
    edges = [
        (0, 1, "a", {"hint": float(k % 2 == 0)}),
        (0, 1, "b", {"hint": float(k % 2)}),
        (0, 2, "b", {"hint": float(k % 2), "long": 1.0}),
        (1, 2, "c", {"rest": 1.0}),
        (2, 3, "", {}),
    ]
    return Lattice.of(edges, good=good, id=f"w{k}")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_lattices(tmp_path / "train.jsonl", [lattice(k, ["a c"] if k % 2 == 0 else ["b c", "b"]) for k in range(8)])
    return tmp_path


def test_lattices_are_trained_predicted_evaluated_and_drawn(files: Path) -> None:
    model, data = files / "paths.model", files / "train.jsonl"
    result = run("train", "--task", "lattice", data, "-o", model, "-C", "10", "--dev", data, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["n_lattices"] == 8 and len(report["starts"]) == 3
    assert json.loads(run("evaluate", model, data, "--json").stdout)["accuracy"] == 1.0
    lines = run("predict", model, data).stdout.splitlines()
    assert lines[0] == "a c" and lines[1] in ("b c", "b") and len(lines) == 8
    ranked = run("predict", model, data, "--kbest", "2").stdout.splitlines()
    assert len(ranked) == 16 and ranked[0].startswith("w0 ||| a c ||| ")
    string, probability = run("predict", model, data, "--marginals").stdout.splitlines()[0].split("\t")
    assert string == "a c" and 0.5 < float(probability) <= 1.0
    assert "hint" in run("inspect", model, "--top", "3").stdout
    pytest.importorskip("matplotlib")
    picture = files / "lattice.svg"
    drawn = run("inspect", model, "--data", data, "--plot", picture, "--sentences", "2")
    assert drawn.exit_code == 0, drawn.output
    assert "<svg" in picture.read_text()


def test_plf_is_predicted(files: Path) -> None:
    model = files / "paths.model"
    write_lattices(files / "weights.jsonl", [Lattice.of([(0, 1, "a", {"weight": 1.0}), (0, 1, "b")], good=["a"])])
    assert run("train", "--task", "lattice", files / "weights.jsonl", "-o", model, "--starts", "1").exit_code == 0
    (files / "some.plf").write_text("((('x', 0.5, 1), ('y', 2.0, 1),),)\n")
    assert run("predict", model, files / "some.plf").stdout == "y\n"


def test_mistakes_are_one_sentence(files: Path) -> None:
    model, data = files / "paths.model", files / "train.jsonl"
    write_lattices(files / "bad.jsonl", [lattice(0, ["a c"]), lattice(1, ["z"])])
    command = ("train", "--task", "lattice", files / "bad.jsonl", "-o", model)
    assert "1 of 2 lattices have no path that spells a good string (id w1)" in message(run(*command))
    assert run(*command, "--unreachable", "skip").exit_code == 0
    write_lattices(files / "none.jsonl", [lattice(0, [])])
    command = ("train", "--task", "lattice", files / "none.jsonl", "-o", model)
    assert "none.jsonl, line 1: the lattice has no good string" in message(run(*command))
    (files / "cycle.jsonl").write_text('{"edges": [{"from": 0, "to": 1}, {"from": 1, "to": 0}]}\n')
    assert "line 1: it has a cycle through the nodes 0, 1" in message(run("predict", model, files / "cycle.jsonl"))
    assert "--unreachable" in message(run("train", "--task", "lattice", data, "-o", model, "--unreachable", "maybe"))


def test_mistakes_name_the_file_the_line_and_the_option(files: Path) -> None:
    model, data = files / "paths.model", files / "train.jsonl"
    train = ("train", "--task", "lattice")
    (files / "half.jsonl").write_text('\n{"edges": [{"from": 0, "to": 1, "word": "\\ud800"}], "good": ["a"]}\n')
    assert "half.jsonl, line 2: a text has \\ud800" in message(run(*train, files / "half.jsonl", "-o", model))
    (files / "apart.jsonl").write_text(
        '{"start": 0, "end": 3, "edges": [{"from": 0, "to": 1}, {"from": 2, "to": 3}], "good": "a"}\n'
    )
    assert run(*train, data, "-o", model).exit_code == 0
    assert "apart.jsonl, line 1: no path leads from its start 0 to its end 3." in message(
        run("predict", model, files / "apart.jsonl")
    )
    write_lattices(files / "bad.jsonl", [lattice(0, ["a c"]), lattice(1, ["z"])])
    said = message(run(*train, files / "bad.jsonl", "-o", model))
    assert "bad.jsonl, line 2: 1 of 2" in said and said.endswith("or use --unreachable skip.")
    write_lattices(files / "none.jsonl", [lattice(1, ["z"])])
    assert "none.jsonl, line 1: 1 of 1 lattices have no path" in message(
        run(*train, files / "none.jsonl", "-o", model, "--unreachable", "skip")
    )


def test_a_checkpoint_follows_one_run(files: Path) -> None:
    model, data, kept = files / "paths.model", files / "train.jsonl", files / "run.checkpoint"
    command = ("train", "--task", "lattice", data, "-o", model, "--checkpoint", kept, "--json")
    result = run(*command)
    assert result.exit_code == 0 and kept.exists(), result.output
    assert json.loads(result.stdout)["starts"] == []
    assert "use --starts 1" in message(run(*command, "--starts", "3"))
    assert run(*command[:-2], files / "other.checkpoint", "--loss", "hinge", "--starts", "3").exit_code == 0
