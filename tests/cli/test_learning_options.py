"""Options of training that Python has as settings: members of the loss family, costs of labels, transitions, lemmas."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

import margrave
from margrave import (
    GraphLabeler,
    Hinge,
    LinearClassifier,
    LossFamily,
    SequenceTagger,
    Taxonomy,
    TaxonomyClassifier,
)
from margrave.data.lemmas import apply_lemma_rule, lemma_rule
from margrave.features import Templates
from margrave.losses import DifferenceOfLosses, Matrix, cost_named
from tests.references.commands import done, message, run

DATA = "the D\nold J\ndog N\n\na D\ndog N\nbarks V\n\nthe D\nolds N\nbark V\n"
ROWS = [[tuple(line.split()[:1]) for line in block.splitlines()] for block in DATA.split("\n\n")]
TAGS = [[line.split()[1] for line in block.splitlines()] for block in DATA.split("\n\n")]
TREES = (
    "1\tDogs\tdog\tN\t_\t_\t2\tx\t_\t_\n2\tbarked\tbark\tV\t_\t_\t0\tx\t_\t_\n\n1\tcats\tcat\tN\t_\t_\t0\tx\t_\t_\n\n"
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_text(DATA)
    return path


def weights(path: Path) -> np.ndarray:
    return np.asarray(margrave.load(path).coef_)


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        (["--beta", "2", "--gamma", "0.5"], LossFamily(2.0, 0.5)),
        (["--beta", "inf", "--gamma", "3"], LossFamily(np.inf, 3.0)),
        (["--loss", "hinge", "--gamma", "0.5"], LossFamily(np.inf, 0.5)),
        (["--loss", "softmax-margin", "--beta", "0.3"], LossFamily(0.3, 1.0)),
        (["--loss", "ramp", "--beta", "2", "--gamma", "0.7"], DifferenceOfLosses(2.0, 0.7)),
        (["--beta", "3", "--gamma", "1", "--label-cost", "N=3"], LossFamily(3.0, 1.0, cost={"N": 3.0})),
        (["--loss", "hinge", "--label-cost", "N=3", "--label-cost", "D=0"], Hinge(cost={"N": 3.0, "D": 0.0})),
    ],
)
def test_every_member_of_the_loss_family_can_be_chosen(
    data: Path, tmp_path: Path, options: list[str], loss: LossFamily
) -> None:
    done("train", data, "-o", tmp_path / "m", "-q", "--tol", "0.01", *options)
    tagger = SequenceTagger(loss=loss, features=Templates(), tol=0.01).fit(ROWS, TAGS)
    assert_array_equal(weights(tmp_path / "m"), tagger.coef_)
    assert loss.name in done("inspect", tmp_path / "m")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--beta", "0"], "--beta must be a positive number or inf, and it is '0'; see 'margrave train --help'."),
        (["--beta", "x"], "--beta must be a positive number or inf, and it is 'x'; see 'margrave train --help'."),
        (["--gamma", "-1"], "--gamma must be finite and not negative, and it is -1.0; see 'margrave train --help'."),
        (["--loss", "latent-log", "--gamma", "1"], "--gamma applies to losses with one correct output, and"),
        (["--gamma", "0", "--cost", "hamming"], "--loss log does not use --cost: use a larger --gamma."),
        (["--loss", "hinge", "--beta", "2", "--slack", "2"], "slack re-scaling, quadratic slack and hard margins"),
        (["--label-cost", "N=3"], "--loss log does not use --label-cost: choose another loss"),
        (["--loss", "hinge", "--label-cost", "N"], "--label-cost takes LABEL=NUMBER, not 'N'."),
        (["--loss", "hinge", "--label-cost", "N=-1"], "--label-cost N=-1: a cost must be a number from 0 on"),
        (["--loss", "hinge", "--label-cost", "M=1"], "unknown label in the costs 'M'"),
        (["--loss", "hinge", "--label-cost", "N=1", "--cost", "hamming"], "--cost and --label-cost exclude each other"),
    ],
)
def test_wrong_losses_and_costs_are_refused(data: Path, tmp_path: Path, options: list[str], said: str) -> None:
    assert message(run("train", data, "-o", tmp_path / "m", *options)).startswith(said)


def test_a_matrix_of_costs_is_read_by_the_names_of_the_labels(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "costs"
    file.write_text("\tN\tV\tD\nN\t0\t3\t2\nV\t1\t0\t0.5\n")
    done("train", data, "-o", tmp_path / "m", "-q", "--tol", "0.01", "--loss", "hinge", "--cost-matrix", file)
    matrix = [[0, 1, 1, 1], [1, 0, 1, 1], [2, 1, 0, 3], [0.5, 1, 1, 0]]  # D, J, N, V
    tagger = SequenceTagger(loss=Hinge(cost=matrix), features=Templates(), tol=0.01).fit(ROWS, TAGS)
    assert_array_equal(weights(tmp_path / "m"), tagger.coef_)
    by_name = cost_named({"N": {"V": 3.0, "D": 2.0}, "V": {"D": 0.5}})
    assert isinstance(by_name, Matrix)
    assert_array_equal(by_name.matrix(["D", "J", "N", "V"]), matrix)
    for text, said in (
        ("", ": it contains no costs."),
        ("N V\n", ": it contains no costs."),
        ("N V\nN 0\n", ", line 2: 1 cost, but the first line has 2 labels."),
        ("N V\nN 0 x\n", ", line 2: a cost must be a number from 0 on, not 'x'."),
        ("N V\nN 1 2\n", ", line 2: the cost of the correct label 'N' itself must be 0."),
        ("N V\nN 0 2\nN 0 2\n", ", line 3: the label 'N' has a line already."),
        ("N N\nN 0 2\n", ", line 1: a label stands twice in the first line."),
    ):
        file.write_text(text)
        command = ("train", data, "-o", tmp_path / "m", "--loss", "hinge", "--cost-matrix", file)
        assert message(run(*command)) == f"{file}{said}"


COSTS: dict[str, tuple[str, Any]] = {
    "graph": (
        '{"nodes": [["a"], ["b"]], "edges": [[0, 1]], "labels": ["x", "y"]}\n'
        '{"nodes": [["b"], ["b"]], "edges": [[0, 1]], "labels": ["x", "z"]}\n',
        lambda cost: GraphLabeler(Hinge(cost=cost), tol=0.01).fit(
            [([["a"], ["b"]], [(0, 1)]), ([["b"], ["b"]], [(0, 1)])], [["x", "y"], ["x", "z"]]
        ),
    ),
    "classify": (
        "x 1:1\ny 2:1\nz 1:1 3:1\n",
        lambda cost: LinearClassifier(Hinge(cost=cost), tol=0.01).fit(csr_array(VECTORS), ["x", "y", "z"]),
    ),
    "taxonomy": (
        "x 1:1\ny 2:1\nz 1:1 3:1\n",
        lambda cost: TaxonomyClassifier(cost=cost, taxonomy=Taxonomy(dict.fromkeys("xyz")), tol=0.01).fit(
            csr_array(VECTORS), ["x", "y", "z"]
        ),
    ),
}
VECTORS = [[1.0, 0, 0], [0, 1, 0], [1, 0, 1]]


@pytest.mark.filterwarnings("ignore:the names of the classes are not paths")
@pytest.mark.parametrize("high", [0.25, 3.0, 17.0])
@pytest.mark.parametrize("task", COSTS)
def test_costs_by_label_apply_to_every_task_of_labels(task: str, high: float, tmp_path: Path) -> None:
    text, fit = COSTS[task]
    data, model, matrix = tmp_path / "data.jsonl", tmp_path / "m", tmp_path / "costs"
    data.write_text(text)
    matrix.write_text(f"\tx\tz\nx\t0\t{high}\n")
    train = ("train", "--task", task, data, "-o", model, "-q", "--loss", "hinge", "--tol", "0.01")
    done(*train, "--label-cost", f"x={high}")
    assert_array_equal(weights(model), fit({"x": high}).coef_)
    done(*train, "--cost-matrix", matrix)
    assert_array_equal(weights(model), fit({"x": {"z": high}}).coef_)
    assert message(run(*train, "--label-cost", "q=2")).startswith("unknown label in the costs 'q'")
    refused = message(run(*train[:-4], "--loss", "log", "--label-cost", "x=2"))
    assert refused.startswith("--loss log does not use --label-cost: choose another loss")


def test_transitions_have_features_by_templates(data: Path, tmp_path: Path) -> None:
    templates, model = tmp_path / "edges", tmp_path / "m"
    templates.write_text("0[0]\n0[-1]|0[0]  # both words\n")
    train = ("train", data, "-o", model, "--tol", "0.01", "--transition-scale", "0.5")
    report = json.loads(done(*train, "--edges", templates, "--dev", data, "--json"))
    edges = Templates(["0[0]", "0[-1]|0[0]"]).learn(ROWS).transform(ROWS)
    tagger = SequenceTagger(features=Templates(), transition_scale=0.5, tol=0.01).fit(ROWS, TAGS, edges=edges)
    assert_array_equal(weights(model), tagger.coef_)
    assert report["dev"]["accuracy"] == json.loads(done("evaluate", model, data, "--json"))["accuracy"] == 1.0
    written = [line.split()[-1] for line in done("predict", model, data, "--threads", 2).splitlines() if line]
    assert written == [tag for tags in tagger.predict(ROWS, edges=edges) for tag in tags]
    assert "--edges exclude each other" in message(run(*train, "--segments", "--edges", templates))
    templates.write_text("3[0]\n")
    assert message(run(*train, "--edges", templates)).startswith(f"{templates}: it uses column 3, but before")
    assert "scale" in message(run("train", data, "-o", model, "--transition-scale", "-1"))


@pytest.mark.parametrize(
    ("form", "lemma"),
    [("Dogs", "dog"), ("went", "go"), ("Paris", "Paris"), ("NATO", "NATO"), ("a", "b"), ("ge-laufen", "laufen"),
     ("C++", "c++"), ("x/y", "x/y"), ("=", "="), ("schönste", "schön"), ("DOGS", "dog"), ("_", "_")],
)  # fmt: skip
def test_a_rule_makes_the_lemma_of_its_form(form: str, lemma: str) -> None:
    assert apply_lemma_rule(form, lemma_rule(form, lemma)) == lemma


def test_lemmas_are_learned_from_forms(tmp_path: Path) -> None:
    data, model, new = tmp_path / "data.conllu", tmp_path / "m", tmp_path / "new.conllu"
    data.write_text(TREES * 4)
    new.write_text("1\tHogs\t_\tN\t_\t_\t_\t_\t_\t_\n2\tparked\t_\tV\t_\t_\t_\t_\t_\t_\n\n")
    report = json.loads(done("train", data, "-o", model, "--label", "lemma", "-C", 100, "--dev", data, "--json"))
    assert report["dev"]["accuracy"] == json.loads(done("evaluate", model, data, "--json"))["accuracy"] == 1.0
    assert report["n_labels"] < 4
    assert [line.split("\t")[2] for line in done("predict", model, new).splitlines() if line] == ["hog", "park"]
    assert "Probability=" in done("predict", model, new, "--marginals")
    refused = message(run("train", data, "-o", model, "--label", "lemma", "--columns", "upos"))
    assert refused == "--label lemma makes lemmas from forms: add form to --columns."
    parser = tmp_path / "parser"
    done("train", "--task", "parse", data, "-o", parser, "-q", "--columns", "form,lemma", "--tagger", model)
    assert "hog" in done("predict", parser, new, "--tagger", model)


def test_homologues_are_found_among_candidates(tmp_path: Path) -> None:
    data, model = tmp_path / "data", tmp_path / "m"
    data.write_text("ACGT\nACGT\tAC-T\nGGG\n\nTTAC\nCCC\nTTAC\t-TAC\n")
    done("train", "--task", "homology", data, "-o", model, "-q", "-C", 10)
    X = [("ACGT", ["ACT", "GGG"]), ("TTAC", ["CCC", "TAC"])]
    ranker = margrave.HomologyRanker(C=10.0).fit(X, [(0, ("ACGT", "AC-T")), (1, ("TTAC", "-TAC"))])
    assert_array_equal(weights(model), ranker.coef_)
    assert done("predict", model, data).split() == [str(k) for k in ranker.predict(X)]
    for text, said in (
        ("ACGT\n\n", ", line 1: the sequence has no candidates on the lines after it."),
        ("AC-T\nACT\n", ", line 1: a block begins with a sequence without gaps, not 'AC-T'."),
        ("ACGT\nACT\nGGG\n", ", line 1: one candidate of a sequence must be aligned with it by a tab, and none is."),
        ("ACGT\nACGA\tAC-T\n", ", line 2: the first of two aligned sequences must be that of line 1."),
        ("ACGT\nACGT\tACT\n", ", line 2: aligned sequences have the same length, not 4 and 3."),
        ("\n\n", ": it contains no sequences."),
    ):
        data.write_text(text)
        assert message(run("train", "--task", "homology", data, "-o", model)) == f"{data}{said}"


def test_weights_are_inspected_by_sign_and_by_name(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    done("train", data, "-o", model, "-q", "--loss", "hinge")
    tagger = margrave.load(model)
    report = json.loads(done("inspect", model, "--top", 2, "--sign", "negative", "--json"))
    assert all(weight < 0 for ranked in report["top"].values() for _, weight in ranked) and report["top"]["N"]
    text = done("inspect", model, "--weight", "0[0]=dog")
    assert f"token  0[0]=dog  N  {tagger.weights_['token', '0[0]=dog', 'N']:+.6g}" in text
    shown = json.loads(done("inspect", model, "--weight", "0[0]=dog", "--json"))["weight"]
    assert shown == [[*name, weight] for name, weight in tagger.weights_.of("0[0]=dog").items()]
    assert message(run("inspect", model, "--weight", "x")) == f"{model}: it has no weight of the feature 'x'."
    assert message(run("inspect", model, "--sign", "both")) == "--sign applies to --top only, which is not given."
