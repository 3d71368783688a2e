"""The task of translation: train, predict, evaluate, pictures, and how it speaks of mistakes."""

import json
from pathlib import Path

import pytest

from tests.references.commands import message, run

NOUNS = {"maison": "house", "fleur": "flower", "porte": "door"}
PAIRS = [(f"la {noun} bleue est ici", f"the blue {NOUNS[noun]} is here", "0-0 1-2 2-1 3-3 4-4") for noun in NOUNS]
PAIRS += [(f"une {noun} est ici", f"a {NOUNS[noun]} is here", "0-0 1-1 2-2 3-3") for noun in NOUNS]
SMALL = ("--rounds", "1", "--folds", "2", "--candidates", "10")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for k, name in enumerate(("fr", "en", "links")):
        (tmp_path / f"train.{name}").write_text("".join(f"{pair[k]}\n" for pair in PAIRS))
    (tmp_path / "train.txt").write_text("".join(" ||| ".join(pair) + "\n" for pair in PAIRS))
    (tmp_path / "tune.txt").write_text("une porte bleue est ici ||| a blue door is here\n")
    return tmp_path


def test_three_files_are_one_and_a_model_is_tuned_applied_and_drawn(files: Path) -> None:
    model = files / "m"
    train = ("train", "--task", "translate", files / "train.fr", "-o", model, "--json", *SMALL)
    apart = ("--target", files / "train.en", "--alignments", files / "train.links", "--tune", files / "tune.txt")
    result = run(*train, *apart)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["n_pairs"] == 6 and len(report["tuning_bleu"]) >= 1 and report["n_phrase_pairs"] > 20
    ranked = run("predict", model, files / "tune.txt", "--kbest", "2").stdout.splitlines()
    assert ranked[0].startswith("0 ||| a blue door is here ||| ") and len(ranked) == 2
    (files / "new.txt").write_text("une tour est ici\n\n")
    assert run("predict", model, files / "new.txt").stdout == "a tour is here\n\n"
    scores = json.loads(run("evaluate", model, files / "train.txt", "--json").stdout)
    assert scores["bleu"] == 1.0 and scores["unknown"] == 0.0
    again = run("evaluate", model, files / "train.fr", "--references", files / "train.en", "--json")
    assert json.loads(again.stdout) == scores
    pytest.importorskip("matplotlib")
    drawn = run("inspect", model, "--data", files / "tune.txt", "--plot", files / "graph.svg")
    assert drawn.exit_code == 0, drawn.output
    assert "<svg" in (files / "graph.svg").read_text()


def test_mistakes_are_one_sentence(files: Path) -> None:
    train = ("train", "--task", "translate", files / "train.txt", "-o", files / "m", "-q", *SMALL)
    (files / "bad.txt").write_text("a b ||| x y ||| 0-0\na b ||| x y ||| 0-2\n")
    refused = message(run("train", "--task", "translate", files / "bad.txt", "-o", files / "m"))
    assert refused.startswith(f"{files / 'bad.txt'}, line 2: the link 0-2 is out of range")
    assert "belong together" in message(run(*train, "--target", files / "train.en"))
    assert "no links" in message(run("train", "--task", "translate", files / "tune.txt", "-o", files / "m"))
    assert "--tuning mert is for few features" in message(run(*train, "--sparse"))
    assert "unknown --tuning 'best'" in message(run(*train, "--tuning", "best"))
    assert not (files / "m").exists()
    assert run(*train, "--tuning", "none").exit_code == 0
    refused = message(run("evaluate", files / "m", files / "train.fr", "--references", files / "tune.txt"))
    assert refused == f"{files / 'tune.txt'}: 1 line, but {files / 'train.fr'} has 6."
