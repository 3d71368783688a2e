"""The task of alignments: train, predict, evaluate, pictures, and how it speaks of mistakes."""

import json
from pathlib import Path

import numpy as np
import pytest

import margrave
from margrave.data import BLOSUM62
from margrave.datasets import read_pairs, write_matrix
from tests.references.commands import message, run

PAIRS = "ACGT\tA-GT\nTTACG\t-TACG\nGATTA\tG-TTA\n"
OPTIONS = ("-C", "10", "--decode", "score")  # with which these pairs are learned perfectly


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    result = run("train", "--task", "align", tmp_path / "pairs.tsv", "-o", tmp_path / "m", *OPTIONS)
    assert result.exit_code == 0, result.output
    return tmp_path / "m"


def test_pairs_are_trained_predicted_evaluated_and_drawn(model: Path) -> None:
    data = model.parent / "pairs.tsv"
    assert json.loads(run("evaluate", model, data, "--json").stdout)["f1"] == 1.0
    assert run("predict", model, data).stdout == PAIRS
    x, _, columns = run("predict", model, data, "--marginals").stdout.splitlines()[0].split("\t")
    assert len(columns.split(";")) == len(x) and all(0 <= float(p) <= 1 for p in columns.split(";"))
    assert "A:A" in run("inspect", model, "--top", "30").stdout
    pytest.importorskip("matplotlib")
    for options, made in (
        (("--plot", model.parent / "matrix.svg"), ["matrix.svg"]),
        (("--plot", model.parent / "p.svg", "--data", data, "--sentences", "1-2"), ["p-1.svg", "p-2.svg"]),
    ):
        drawn = run("inspect", model, *options)
        assert drawn.exit_code == 0, drawn.output
        for name in made:
            assert f"drawn in {model.parent / name}" in drawn.stdout
            assert "<svg" in (model.parent / name).read_text()
    assert "--sentences selects pairs of --data, which is not given." in message(
        run("inspect", model, "--plot", model.parent / "p.svg", "--sentences", "1")
    )
    assert "--sentences 4, but it has 3 pairs" in message(
        run("inspect", model, "--plot", model.parent / "p.svg", "--data", data, "--sentences", "4")
    )


def test_scores_of_gaps_and_ways_to_decode_are_options(tmp_path: Path) -> None:
    (tmp_path / "pairs.fasta").write_text(">a\nACGT\n>b\nA-GT\n>c\nTTACG\n>d\n-TACG\n")
    command = ("train", "--task", "align", tmp_path / "pairs.fasta", "-o", tmp_path / "m")
    options = (
        "--start",
        "BLOSUM62",
        "--gap-residues",
        "--gap-context",
        "1",
        "--decode",
        "accuracy",
        "--caution",
        "0.1",
    )
    result = run(*command, *options)
    assert result.exit_code == 0, result.output
    (tmp_path / "other.tsv").write_text("WACGT\tWAGT\n")  # W is a letter of BLOSUM62
    assert run("predict", tmp_path / "m", tmp_path / "other.tsv").exit_code == 0
    assert "unknown --decode 'acuracy'; did you mean 'accuracy'" in message(run(*command, "--decode", "acuracy"))
    assert run(*command, "--caution", "0.5").exit_code == 0
    for options in (("--decode", "score"), ("--mode", "local")):
        failed = message(run(*command, "--caution", "0.5", *options))
        assert "--caution applies to alignments that are decoded by expected accuracy: use --decode accuracy." in failed
    assert run(*command, "--caution", "2", "--decode", "accuracy").exit_code != 0


def test_files_of_proteins_start_from_blosum62_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "proteins.tsv").write_text("HEAGAWGHE-E\t--P-AW-HEAE\nMKLIPF\tMKL-PF\n")
    (tmp_path / "others.tsv").write_text(PAIRS)
    for name, start in (("proteins", "BLOSUM62"), ("others", "none")):
        found = []
        for options in ((), ("--start", "auto"), ("--start", start)):
            train = ("train", "--task", "align", tmp_path / f"{name}.tsv", "-o", tmp_path / "m", *options)
            assert run(*train, "--dev", tmp_path / f"{name}.tsv").exit_code == 0
            found.append(margrave.load(tmp_path / "m").coef_)
        assert all((each == found[0]).all() for each in found)
    (tmp_path / "w.tsv").write_text("WACGT\tWA-GT\n")
    dev = ("train", "--task", "align", "-o", tmp_path / "m", "--dev", tmp_path / "w.tsv")
    assert run(*dev, tmp_path / "proteins.tsv").exit_code == 0  # W is a letter of BLOSUM62
    assert "the letter 'W' is not in the alphabet" in message(run(*dev, tmp_path / "others.tsv"))


def test_a_file_to_start_from_is_used_in_the_unit_that_it_states(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    write_matrix(tmp_path / "blosum62.txt", BLOSUM62)
    found = []
    for start in ("BLOSUM62", tmp_path / "blosum62.txt"):
        assert (
            run("train", "--task", "align", tmp_path / "pairs.tsv", "-o", tmp_path / "m", "--start", start).exit_code
            == 0
        )
        found.append(margrave.load(tmp_path / "m").coef_)
    np.testing.assert_allclose(found[0], found[1], atol=1e-8)


@pytest.mark.parametrize("learner", ["smo", "smo-eg"])
def test_learners_that_need_a_part_for_every_edge_apply(tmp_path: Path, learner: str) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    command = ("train", "--task", "align", tmp_path / "pairs.tsv", "-o", tmp_path / "m", "--loss", "hinge", *OPTIONS)
    assert json.loads(run(*command, "--learner", learner, "--json").stdout)["converged"]
    assert run("predict", tmp_path / "m", tmp_path / "pairs.tsv").stdout == PAIRS


@pytest.mark.parametrize("cost", ["hamming", "zero-one", "f1"])
def test_the_cost_of_a_wrong_alignment_is_an_option(tmp_path: Path, cost: str) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    command = ("train", "--task", "align", tmp_path / "pairs.tsv", "-o", tmp_path / "m", "--cost", cost, "-C", "10")
    report = json.loads(run(*command, "--loss", "hinge", "--json").stdout)
    assert (report["loss"].split()[0], report["cost"]) == ("hinge", cost)
    X, y = read_pairs(tmp_path / "pairs.tsv")
    same = margrave.SequenceAligner(margrave.Hinge(cost), C=10.0).fit(X, y)
    np.testing.assert_array_equal(margrave.load(tmp_path / "m").coef_, same.coef_)
    assert "--cost" in message(run(*command))  # the log loss has none


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ACGT\tAGT\nACJT\tAGT\n", "line 2: column 3: the letter 'J' is not in the alphabet"),
        ("ACGT\tAGJ\n", "line 1: column 8: the letter 'J' is not in the alphabet"),
        (">a\nAC\nGJ\n>b\nAGT\n", "line 3: column 2: the letter 'J' is not in the alphabet"),
        ("ACGT\t\n", "line 1: a sequence is empty."),
        ("ACGT\t--\n", "a sequence is empty"),
        (">a\nACGT\n>b\n", "a sequence is empty"),
        ("ACGT\n", "line 1: a line has two sequences and a tab between them, and this one has no tab"),
        (">a\nACGT\n", "every two sequences are a pair, and there are 1"),
    ],
)
def test_mistakes_in_files_are_named_with_line_and_column(model: Path, text: str, match: str) -> None:
    bad = model.parent / "bad.txt"
    bad.write_text(text)
    said = message(run("predict", model, bad))
    assert match in said and "bad.txt" in said


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ACGT\tAGT\n", "bad.txt, line 1: aligned sequences must have the same length, and they have 4 and 3."),
        ("A-GT\tA-GT\n", "line 1: column 2 has two gaps."),
        (
            ">a\nACGT\n>b\nAGT\n",
            "line 1: aligned sequences must have the same length, and they have 4 and 3 (a and b).",
        ),
    ],
)
def test_mistakes_in_alignments_are_named(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "bad.txt").write_text(text)
    assert match in message(run("train", "--task", "align", tmp_path / "bad.txt", "-o", tmp_path / "m"))
