"""Constituent trees on the command line: from file to file, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from margrave import load
from margrave.labels.constituents import bracketed
from tests.references.commands import done, message, run

TREES = """(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))
(S (NP (NN snow)) (VP (VBZ falls)))
(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (PP (IN in) (NP (DT the) (NN snow)))))
"""


@pytest.fixture
def trained(tmp_path: Path, file: Callable[..., Path]) -> Path:
    # Any label may stand over any span: with the rules of so few trees every sentence would have one tree only.
    options = ["--grammar", "spans", "-C", 10, "-q"]
    done("train", "--task", "constituency", file(TREES, "trees.txt"), "-o", tmp_path / "model", *options)
    return tmp_path


def test_trees_are_predicted_from_file_to_file(trained: Path) -> None:
    done("predict", trained / "model", trained / "trees.txt", "-o", trained / "parsed.txt")
    assert (trained / "parsed.txt").read_text() == TREES
    assert "sentences" in done("evaluate", trained / "model", trained / "trees.txt")


def test_marginals_are_the_mean_probabilities_of_the_constituents(trained: Path) -> None:
    lines = done("predict", trained / "model", trained / "trees.txt", "--marginals").splitlines()
    parser = load(trained / "model")
    trees = [next(bracketed(line)) for line in TREES.splitlines()]
    for line, tree, known in zip(lines, trees, parser.predict_proba(parser.sentences_of(trees)), strict=True):
        share, text = line.split("\t")
        constituents = next(bracketed(text)).constituents()
        assert text == str(tree)
        expected = sum(known[each] for each in constituents) / len(constituents)
        assert 0 < expected < 1 and float(share) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP (NN a))\n", "line 1: "),
        ("(S (NP (NN a)))\n(S (NP))\n", "line 2: "),
        ("", ""),
        ("the dog sees\n", "line 1: "),
    ],
)
def test_files_that_hold_no_trees_are_refused_with_their_place(
    trained: Path, file: Callable[..., Path], text: str, expected: str
) -> None:
    wrong = file(text, "wrong.txt")
    for command in (
        [*("train", "--task", "constituency"), wrong, "-o", trained / "m"],
        ["predict", trained / "model", wrong],
    ):
        said = message(run(*command))
        assert said.startswith(f"{wrong}") and expected in said, said
    assert not (trained / "m").exists()
