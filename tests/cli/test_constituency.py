"""Constituent trees on the command line: from file to file, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from margrave import load
from margrave.data.constituents import bracketed
from tests.references.commands import done, message, run

TREES = """(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))))
(S (NP (NN snow)) (VP (VBZ falls)))
(S (NP (DT the) (NN cat)) (VP (VBZ sleeps) (PP (IN in) (NP (DT the) (NN snow)))))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Any label may stand over any span: with the rules of so few trees every sentence would have one tree only.
    folder = tmp_path_factory.mktemp("constituency")
    (folder / "trees.txt").write_text(TREES)
    options = ["--grammar", "spans", "-C", 10, "-q", "--prune", "1e-4"]
    done("train", "--task", "constituency", folder / "trees.txt", "-o", folder / "model", *options)
    return folder


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


def test_the_top_node_is_not_a_constituent_whose_probability_counts(tmp_path: Path) -> None:
    (tmp_path / "topped.txt").write_text("".join(f"(TOP {tree})\n" for tree in TREES.splitlines()))
    options = ["--grammar", "spans", "-C", 10, "-q"]
    done("train", "--task", "constituency", tmp_path / "topped.txt", "-o", tmp_path / "model", *options)
    line = done("predict", tmp_path / "model", tmp_path / "topped.txt", "--marginals").splitlines()[0]
    share, text = line.split("\t")
    parser = load(tmp_path / "model")
    tree = next(bracketed(text))
    known = parser.predict_proba(parser.sentences_of([tree]))[0]
    constituents = tree.children[0].constituents()
    assert tree.label == "TOP" and len(constituents) == 4
    assert float(share) == pytest.approx(sum(known[each] for each in constituents) / 4, abs=1e-6)


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


def test_trees_are_drawn_with_their_probabilities(trained: Path, file: Callable[..., Path]) -> None:
    pytest.importorskip("matplotlib")
    told = done("inspect", trained / "model", "--data", trained / "trees.txt", "--plot", trained / "t.svg")
    assert f"drawn in {trained / 't.svg'}" in told
    drawn = (trained / "t.svg").read_text()
    assert all(f"<!-- {word} -->" in drawn for word in ("the", "dog", "NP", "VP", "not in the gold tree"))
    done(
        "inspect", trained / "model", "--data", trained / "trees.txt", "--plot", trained / "t.png", "--sentences", "2-3"
    )
    assert {path.name for path in trained.glob("t-*.png")} == {"t-2.png", "t-3.png"}
    bare = file("(X (DT the) (NN dog) (VBZ sleeps))\n", "bare.txt")
    done("inspect", trained / "model", "--data", bare, "--plot", trained / "bare.svg")
    assert "not in the gold tree" not in (trained / "bare.svg").read_text()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--data", "trees.txt"], "--data applies to --plot"),
        (["--plot", "t.svg"], "--plot needs sentences: give a file with --data."),
        (["--data", "trees.txt", "--plot", "t.svg", "--sentences", "9"], "--sentences 9, but it has 3 sentences."),
        (["--data", "trees.txt", "--plot", "t.pdf"], "a picture's name must end in .svg or .png."),
        (["--data", "trees.txt", "--plot", "t.svg", "--explain", "1:1"], "--explain"),
    ],
)
def test_options_of_pictures_that_do_not_fit_are_refused(trained: Path, options: list[str], expected: str) -> None:
    names = [trained / option if option.startswith(("t.", "trees")) else option for option in options]
    assert expected in message(run("inspect", trained / "model", *names))


def test_a_pruning_grammar_is_part_of_the_model(trained: Path) -> None:
    assert '"n_pruning_rules": ' in done("inspect", trained / "model", "--json")
    command = ["train", "--task", "constituency", trained / "trees.txt", "-o", trained / "m", "--prune", "2"]
    assert "--prune must lie between 0 and 1, and it is 2" in message(run(*command))
