"""The command line on lists of candidates: training, prediction, measures, mistakes."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave import metrics
from margrave.data import NBestList
from margrave.datasets import read_nbest, read_ranking, relevance_targets, write_nbest
from margrave.estimators import Reranker
from margrave.features import NGrams
from margrave.learners import LP
from margrave.metrics.pseudo_references import pseudo_references, sentence_bleu_costs
from tests.references.commands import done, message, run

WORDS = ["the", "a", "old", "new", "house", "tree", "stands", "falls", "there", "now", "slowly"]


def translations(seed: int, n: int) -> tuple[list[NBestList], list[str], list[str]]:
    """Lists whose hypotheses are the reference with errors, which one feature counts and the file's score does not."""
    rng = np.random.default_rng(seed)
    lists, references, others = [], [], []
    for id in range(n):
        reference = rng.choice(WORDS, 8).tolist()
        hypotheses, features, scores = [], [], []
        for _ in range(6):
            words = [rng.choice(WORDS) if rng.random() < 0.4 else word for word in reference]
            wrong = sum(a != b for a, b in zip(words, reference, strict=True))
            hypotheses.append(" ".join(words))
            features.append({"fit": -wrong + rng.normal(0, 0.5), "noise": rng.normal()})
            scores.append(rng.normal())
        lists.append(NBestList(id, hypotheses, features, scores))
        references.append(" ".join(reference))
        others.append(" ".join(rng.permutation(reference)))
    return lists, references, others


def svmlight_lines(seed: int, n: int) -> list[str]:
    """Lists of five candidates, whose relevance grows with feature 1 and falls with feature 3."""
    rng = np.random.default_rng(seed)
    lines = []
    for query in range(1, n + 1):
        X = rng.normal(size=(5, 4))
        worth = X[:, 0] - X[:, 2] + rng.normal(0, 0.2, 5)
        for rank, x in zip((-worth).argsort().argsort(), X, strict=True):
            lines.append(f"{max(0, 2 - rank)} qid:{query} " + " ".join(f"{k}:{v:.3f}" for k, v in enumerate(x, 1)))
    return lines


@pytest.fixture(scope="module")
def moses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with n-best lists, their references, and a model."""
    folder = tmp_path_factory.mktemp("moses")
    for seed, part in enumerate(["train", "test"]):
        lists, references, others = translations(seed, 40)
        write_nbest(folder / f"{part}.nbest", lists)
        (folder / f"{part}.ref").write_text("\n".join(references) + "\n")
        (folder / f"{part}.ref2").write_text("\n".join(others) + "\n")
    arguments = ("--references", folder / "train.ref", "--json", "-C", "0.1")
    report = done("train", "--task", "rerank", folder / "train.nbest", "-o", folder / "m", *arguments)
    (folder / "report.json").write_text(report)
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with lists of rows, and a model."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "train.svm").write_text("\n".join(svmlight_lines(0, 40)) + "\n")
    (folder / "test.svm").write_text("\n".join(svmlight_lines(1, 30)) + "\n")
    arguments = ("--dev", folder / "test.svm", "--json")
    report = done("train", "--task", "rerank", folder / "train.svm", "-o", folder / "m", *arguments)
    (folder / "report.json").write_text(report)
    return folder


# ---- train -----------------------------------------------------------------------------------------------------------


def learned(folder: Path, *options: object) -> tuple[dict[str, Any], Reranker]:
    """The report and the model of a training on the n-best lists of a folder."""
    file = folder / "new.model"
    arguments = ("--references", folder / "train.ref", "--json", "-o", file, *options)
    report = json.loads(done("train", "--task", "rerank", folder / "train.nbest", *arguments))
    return report, Reranker.load(file)


def in_python(
    folder: Path, loss: str = "hinge", costs: bool = False, learner: str | LP = "auto", **chosen: Any
) -> Reranker:
    lists = list(read_nbest(folder / "train.nbest"))
    hypotheses = [one.hypotheses for one in lists]
    references = (folder / "train.ref").read_text().splitlines()
    good = pseudo_references(hypotheses, references, **chosen)
    cost = sentence_bleu_costs(hypotheses, references, good=good) if costs else None
    return Reranker(loss, C=0.1, learner=learner).fit([one.features for one in lists], good, costs=cost)


def test_n_best_lists_are_learned_as_in_python(moses: Path) -> None:
    model: Any = margrave.load(moses / "m")
    np.testing.assert_array_equal(model.coef_, in_python(moses, best=1).coef_)
    report = json.loads((moses / "report.json").read_text())
    assert (report["n_lists"], report["n_candidates"]) == (40, 240)
    assert report["n_good"] >= 40 and report["n_weights"] == 2
    assert (report["loss"], report["cost"], report["converged"]) == ("hinge", "zero-one", True)
    assert report["gap"] == pytest.approx(report["primal"] - report["dual"])


def test_good_hypotheses_and_their_costs_are_chosen_by_options(moses: Path) -> None:
    default = margrave.load(moses / "m").coef_
    for options, chosen in (
        (["--good", 3], {"best": 3}),
        (["--within", 0.2], {"within": 0.2}),
        (["--within", 0], {"within": 0.0}),
        (["--cost", "bleu", "--good", 2], {"best": 2, "costs": True}),
        (["--loss", "log", "--good", 2], {"best": 2, "loss": "log"}),
    ):
        report, model = learned(moses, "-C", 0.1, *options)
        np.testing.assert_array_equal(model.coef_, in_python(moses, **chosen).coef_)
        assert (model.coef_ != default).any()
        assert report["cost"] == (None if "log" in options else "bleu" if "bleu" in options else "zero-one")


def test_more_references_are_more_ways_to_be_right(moses: Path) -> None:
    report, model = learned(moses, "--references", moses / "train.ref2", "--good", 2)
    lists = list(read_nbest(moses / "train.nbest"))
    both = [(moses / name).read_text().splitlines() for name in ("train.ref", "train.ref2")]
    good = pseudo_references([one.hypotheses for one in lists], list(zip(*both, strict=True)), best=2)
    assert report["n_good"] == sum(map(len, good))
    np.testing.assert_array_equal(model.coef_, Reranker().fit([one.features for one in lists], good).coef_)


def test_lower_case_ignores_capitals(moses: Path, tmp_path: Path) -> None:
    (tmp_path / "capitals").write_text((moses / "train.ref").read_text().upper())
    data = ("train", "--task", "rerank", moses / "train.nbest", "--references", tmp_path / "capitals", "-q", "-C", 0.1)
    done(*data, "-o", tmp_path / "m", "--lowercase")
    np.testing.assert_array_equal(margrave.load(tmp_path / "m").coef_, margrave.load(moses / "m").coef_)
    assert message(run(*data, "-o", tmp_path / "m")).endswith("that shares a word with its reference.")


@pytest.mark.parametrize("features", ["all", "hash:16"])
def test_n_grams_are_features_in_training_and_after_it(moses: Path, features: str) -> None:
    report, model = learned(moses, "--ngrams", 2, "--weights", features, "-C", 10, "--lowercase")
    assert report["n_weights"] > 100
    if features == "all":
        names = {name for name in model.feature_weights() if name.startswith("ngram:")}
        assert {name.count(" ") for name in names} == {0, 1}
    lists = list(read_nbest(moses / "train.nbest"))
    good = pseudo_references([one.hypotheses for one in lists], (moses / "train.ref").read_text().splitlines(), best=1)
    best = done("predict", moses / "new.model", moses / "train.nbest").splitlines()
    right = [any(text == one.hypotheses[k] for k in of) for text, one, of in zip(best, lists, good, strict=True)]
    assert np.mean(right) > 0.95  # which the two other features cannot reach
    assert done("predict", moses / "new.model", moses / "test.nbest").count("\n") == 40


@pytest.mark.parametrize("solver", ["extragradient", "simplex", "pdlp"])
@pytest.mark.parametrize("program", ["all", "closest"])
def test_linear_programs_are_learned_as_in_python(moses: Path, solver: str, program: str) -> None:
    if solver != "extragradient":
        pytest.importorskip("highspy")
    learner = ("--learner", "lp", "--solver", solver, "--program", program)
    report, model = learned(moses, "-C", 0.1, "--good", 1, "--free-sign", *learner)
    same = in_python(moses, best=1, learner=LP(solver, free_sign=True, program=program))
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert report["converged"] and report["cost"] == "zero-one" and model.feature_weights()["fit"] > 0
    report, model = learned(moses, "-C", 0.1, "--good", 2, "--cost", "bleu", *learner)
    same = in_python(moses, best=2, costs=True, learner=LP(solver, margin="cost", program=program))
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert report["cost"] == "bleu" and (model.coef_ >= 0).all()


def test_lists_of_rows_are_learned_as_in_python(pages: Path) -> None:
    X, relevances, _ = read_ranking(pages / "train.svm")
    good, costs = relevance_targets(relevances)
    model: Any = margrave.load(pages / "m")
    np.testing.assert_array_equal(model.coef_, Reranker().fit(X, good).coef_)
    report = json.loads((pages / "report.json").read_text())
    assert (report["n_lists"], report["n_candidates"], report["n_good"], report["n_skipped"]) == (40, 200, 40, 0)
    evaluated = json.loads(done("evaluate", pages / "m", pages / "test.svm", "--json"))
    assert report["dev"]["accuracy"] == evaluated["accuracy"] > 0.7

    summary = done("train", "--task", "rerank", pages / "train.svm", "-o", pages / "c", "--cost", "relevance")
    assert "hinge, relevance cost, C 1" in summary
    np.testing.assert_array_equal(margrave.load(pages / "c").coef_, Reranker().fit(X, good, costs=costs).coef_)


def test_lists_without_a_good_candidate_stop_or_are_skipped(pages: Path, tmp_path: Path) -> None:
    lines = (pages / "train.svm").read_text().splitlines()
    lost = {7, 30}
    (tmp_path / "t").write_text(
        "\n".join(re.sub(r"^\d+", "0", line) if int(line.split()[1][4:]) in lost else line for line in lines)
    )
    train = ("train", "--task", "rerank", tmp_path / "t", "-o", tmp_path / "m", "--json")
    for options in ((), ("--no-good", "stop")):
        refused = message(run(*train, *options))
        assert refused == (
            f"{tmp_path / 't'}: 2 lists have no good candidate (qid 7, 30): use --no-good skip to leave such lists out."
        )
        assert not (tmp_path / "m").exists()
    report = json.loads(done(*train, "--no-good", "skip"))
    assert (report["n_lists"], report["n_skipped"], report["n_good"]) == (40, 2, 38)
    (tmp_path / "rest").write_text("\n".join(line for line in lines if int(line.split()[1][4:]) not in lost))
    done("train", "--task", "rerank", tmp_path / "rest", "-o", tmp_path / "r", "-q")
    np.testing.assert_array_equal(margrave.load(tmp_path / "m").coef_, margrave.load(tmp_path / "r").coef_)

    (tmp_path / "t").write_text("0 qid:1 1:1\n0 qid:1 2:1\n")
    refused = message(run(*train, "--no-good", "skip"))
    assert refused == f"{tmp_path / 't'}: none of its lists has a candidate with a relevance above 0."


def test_hypotheses_without_a_right_word_are_not_good(moses: Path, tmp_path: Path) -> None:
    references = (moses / "train.ref").read_text().splitlines()
    references[3] = references[8] = "nothing-of-it"
    (tmp_path / "ref").write_text("\n".join(references))
    train = ("train", "--task", "rerank", moses / "train.nbest", "--references", tmp_path / "ref", "-o", tmp_path / "m")
    train = (*train, "-C", 0.1)
    refused = message(run(*train))
    assert refused == (
        f"{moses / 'train.nbest'}: 2 lists have no good candidate (id 3, 8): use --no-good skip to leave such lists "
        "out."
    )
    for options in ((), ("--cost", "bleu"), ("--within", 0.1)):
        report = json.loads(done(*train, "--no-good", "skip", "--json", *options))
        assert report["n_skipped"] == 2 and isinstance(margrave.load(tmp_path / "m").features_, NGrams)
    (tmp_path / "ref").write_text("nothing-of-it\n" * len(references))
    refused = message(run(*train, "--no-good", "skip"))
    assert refused.endswith("none of its lists has a candidate that shares a word with its reference.")


# ---- predict, evaluate, inspect --------------------------------------------------------------------------------------


def test_predict_writes_the_best_hypothesis_of_each_list(moses: Path) -> None:
    model: Any = margrave.load(moses / "m")
    X = lists = list(read_nbest(moses / "test.nbest"))
    best = model.predict(X)
    assert (best == model.without_features().predict([one.features for one in lists])).all()
    words = [one.hypotheses[k] for one, k in zip(lists, best, strict=True)]
    assert done("predict", moses / "m", moses / "test.nbest").splitlines() == words
    rows = [line.split("\t") for line in done("predict", moses / "m", moses / "test.nbest", "--scores").splitlines()]
    assert [row[0] for row in rows] == words
    scores = [of[k] for of, k in zip(model.decision_function(X), best, strict=True)]
    np.testing.assert_allclose([float(row[1]) for row in rows], scores, rtol=1e-5)
    rows = [line.split("\t") for line in done("predict", moses / "m", moses / "test.nbest", "--marginals").splitlines()]
    probabilities = [of[k] for of, k in zip(model.predict_proba(X), best, strict=True)]
    np.testing.assert_allclose([float(row[1]) for row in rows], probabilities, atol=5e-5)


def test_predict_writes_the_number_of_the_best_row(pages: Path) -> None:
    model: Any = margrave.load(pages / "m")
    best = model.predict(read_ranking(pages / "test.svm")[0])
    assert done("predict", pages / "m", pages / "test.svm").split() == [str(k) for k in best]
    both = done("predict", pages / "m", pages / "test.svm", "--scores", "--marginals").splitlines()
    assert all(re.fullmatch(r"[0-4]\t\S+\t[01]\.\d{4}", line) for line in both)


def test_more_lists_than_one_batch_keep_their_order(moses: Path, tmp_path: Path) -> None:
    one, two, *_ = read_nbest(moses / "test.nbest")
    many = [NBestList(id, *((one, two)[id % 2].hypotheses, (one, two)[id % 2].features)) for id in range(203)]
    write_nbest(tmp_path / "many", many)
    first, second, *_ = done("predict", moses / "m", moses / "test.nbest").splitlines()
    lines = done("predict", moses / "m", tmp_path / "many").splitlines()
    assert lines == [(first, second)[id % 2] for id in range(203)]


def test_features_may_be_strange_in_a_part_of_a_file(moses: Path, tmp_path: Path) -> None:
    one, *_ = read_nbest(moses / "test.nbest")
    strange = [{"stranger": 1.0} for _ in one.features]
    best, *_ = done("predict", moses / "m", moses / "test.nbest").splitlines()
    for known in (0, 100):
        every = [NBestList(id, one.hypotheses, one.features if id == known else strange) for id in range(101)]
        write_nbest(tmp_path / "part", every)
        lines = done("predict", moses / "m", tmp_path / "part").splitlines()
        assert (len(lines), lines[known]) == (101, best)
    write_nbest(tmp_path / "all", [NBestList(id, one.hypotheses, strange) for id in range(101)])
    expected = f"{tmp_path / 'all'}: the model knows none of its features, such as 'stranger'."
    assert message(run("predict", moses / "m", tmp_path / "all")) == expected


def test_features_that_the_training_did_not_have_play_no_part(pages: Path, tmp_path: Path) -> None:
    lines = (pages / "test.svm").read_text().splitlines()
    (tmp_path / "more").write_text("\n".join(f"{line} 9:{k}" for k, line in enumerate(lines)))
    (tmp_path / "less").write_text("0 qid:1 1:1\n0 qid:1 1:2\n")
    assert done("predict", pages / "m", tmp_path / "more") == done("predict", pages / "m", pages / "test.svm")
    assert done("predict", pages / "m", tmp_path / "less") == "1\n"


def test_files_standard_input_and_gzip_give_the_same(moses: Path, pages: Path, tmp_path: Path) -> None:
    for folder, name in ((moses, "test.nbest"), (pages, "test.svm")):
        content = (folder / name).read_bytes()
        (tmp_path / "t.gz").write_bytes(gzip.compress(content))
        expected = done("predict", folder / "m", folder / name)
        assert done("predict", folder / "m", "-", stdin=content) == expected
        assert done("predict", folder / "m", tmp_path / "t.gz", "-o", tmp_path / "out") == ""
        assert (tmp_path / "out").read_text() == expected
    content = (moses / "train.nbest").read_bytes()
    done("train", "--task", "rerank", "-", "-o", tmp_path / "m", "-q", "-C", 0.1, "--references", moses / "train.ref",
         stdin=content)  # fmt: skip
    np.testing.assert_array_equal(margrave.load(tmp_path / "m").coef_, margrave.load(moses / "m").coef_)


def test_evaluate_compares_what_is_chosen_with_the_file_and_the_oracle(moses: Path) -> None:
    arguments = ("evaluate", moses / "m", moses / "test.nbest", "--references", moses / "test.ref")
    report = json.loads(done(*arguments, "--json"))
    lists = list(read_nbest(moses / "test.nbest"))
    references = (moses / "test.ref").read_text().splitlines()
    texts = {
        "chosen": done("predict", moses / "m", moses / "test.nbest").splitlines(),
        "first": [one.hypotheses[int(np.argmax(one.scores or []))] for one in lists],
        "oracle": [
            max(one.hypotheses, key=lambda text: metrics.sentence_bleu(text, of))
            for one, of in zip(lists, references, strict=True)
        ],
    }
    for name, chosen in texts.items():
        assert report[name]["bleu"] == pytest.approx(metrics.bleu(chosen, references), rel=1e-12)
        assert report[name]["nist"] == pytest.approx(metrics.nist(chosen, references), rel=1e-12)
    assert report["first"]["bleu"] < report["chosen"]["bleu"] < report["oracle"]["bleu"]
    statistics = metrics.BleuStatistics(references)
    chosen, first = statistics.segments(texts["chosen"]), statistics.segments(texts["first"])
    p = metrics.approximate_randomization(chosen, first, metrics.bleu_of_statistics)
    assert report["p_value"]["bleu"] == p < 0.01
    assert (report["n_lists"], report["n_candidates"]) == (40, 240)

    summary = done(*arguments)
    assert f"{100 * report['chosen']['bleu']:.2f}   {report['chosen']['nist']:.4f}\n" in summary
    assert [line.split()[0] for line in summary.splitlines()[4:]] == ["chosen", "the", "oracle", "p-value"]


def test_without_scores_the_file_ranks_by_its_order(moses: Path, tmp_path: Path) -> None:
    lists = list(read_nbest(moses / "test.nbest"))
    write_nbest(tmp_path / "t", [NBestList(one.id, one.hypotheses, one.features) for one in lists])
    report = json.loads(done("evaluate", moses / "m", tmp_path / "t", "--references", moses / "test.ref", "--json"))
    references = (moses / "test.ref").read_text().splitlines()
    assert report["first"]["bleu"] == pytest.approx(metrics.bleu([one.hypotheses[0] for one in lists], references))


def test_evaluate_in_lower_case_ignores_capitals(moses: Path, tmp_path: Path) -> None:
    (tmp_path / "capitals").write_text((moses / "test.ref").read_text().upper())
    plain = done("evaluate", moses / "m", moses / "test.nbest", "--references", moses / "test.ref")
    capitals = ("evaluate", moses / "m", moses / "test.nbest", "--references", tmp_path / "capitals")
    assert done(*capitals, "--lowercase") == plain
    assert json.loads(done(*capitals, "--json"))["chosen"]["bleu"] == 0


def test_lists_may_be_a_part_of_the_references(moses: Path, tmp_path: Path) -> None:
    lists = list(read_nbest(moses / "test.nbest"))
    references = (moses / "test.ref").read_text().splitlines()
    write_nbest(tmp_path / "t", [lists[30], lists[4]])
    report = json.loads(done("evaluate", moses / "m", tmp_path / "t", "--references", moses / "test.ref", "--json"))
    chosen = done("predict", moses / "m", tmp_path / "t").splitlines()
    assert report["chosen"]["bleu"] == pytest.approx(metrics.bleu(chosen, [references[30], references[4]]))


def test_evaluate_counts_lists_whose_best_row_is_good(pages: Path) -> None:
    X, relevances, _ = read_ranking(pages / "test.svm")
    model: Any = margrave.load(pages / "m")
    report = json.loads(done("evaluate", pages / "m", pages / "test.svm", "--json"))
    accuracy = model.score(X, relevance_targets(relevances)[0])
    assert report == {"n_lists": 30, "n_candidates": 150, "n_without_good": 0, "accuracy": accuracy}
    assert f"{'accuracy':<20}{100 * accuracy:.2f} %" in done("evaluate", pages / "m", pages / "test.svm").splitlines()


def test_inspect_shows_the_heaviest_features(moses: Path, pages: Path) -> None:
    model: Any = margrave.load(moses / "m")
    report = json.loads(done("inspect", moses / "m", "--top", 9, "--json"))
    assert report["estimator"] == "Reranker" and report["cost"] == "zero-one"
    assert list(report["weights"]) == ["fit", "noise"] and report["weights"] == model.feature_weights()
    assert report["zero_weights"] == 0 and report["n_weights"] == 2
    assert f"fit  {model.feature_weights()['fit']:+.6g}" in done("inspect", moses / "m", "--top", 1).splitlines()
    assert "noise" not in done("inspect", moses / "m", "--top", 1)
    assert "weights" not in json.loads(done("inspect", moses / "m", "--json"))

    columns: Any = margrave.load(pages / "m")
    heaviest = json.loads(done("inspect", pages / "m", "--top", 2, "--json"))["weights"]
    assert heaviest == {str(k + 1): columns.coef_[k] for k in np.argsort(-abs(columns.coef_))[:2]}
    assert set(heaviest) == {"1", "3"}  # counted from 1, as in the file


def test_weights_that_are_zero_are_counted(pages: Path, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1 qid:1 1:1 2:1 3:1 4:1\n0 qid:1 1:0.5 2:1 3:1 4:1\n")
    report = json.loads(done("train", "--task", "rerank", tmp_path / "t", "-o", tmp_path / "m", "--json"))
    assert report["zero_weights"] == 0.75
    assert "weights     4 (75.00 % zero)" in done("inspect", tmp_path / "m").splitlines()


def test_weights_that_are_all_zero_are_warned_of(tmp_path: Path) -> None:
    """What is good in one list is bad in the other: no weight pays."""
    (tmp_path / "t").write_text("1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:2\n0 qid:2 1:1\n")
    result = run("train", "--task", "rerank", tmp_path / "t", "-o", tmp_path / "m", "-q")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        "margrave: warning: every weight is zero, so all outputs score the same: try another -C or --cost.\n"
    )
    assert not margrave.load(tmp_path / "m").coef_.any()


@pytest.mark.filterwarnings("default:all weights are zero at C")
def test_lp_says_from_which_c_on_a_weight_pays(tmp_path: Path) -> None:
    """The good candidate of two lists is 2 better, so that a weight saves 2 C in each: it pays from C = 1/4 on."""
    (tmp_path / "t").write_text("1 qid:1 1:3\n0 qid:1 1:1\n1 qid:2 1:3\n0 qid:2 1:1\n")
    for C, zero in (("0.2", True), ("0.3", False)):
        command = ["train", "--task", "rerank", tmp_path / "t", "-o", tmp_path / "m", "-q", "--learner", "lp", "-C", C]
        result = run(*command)
        assert result.exit_code == 0
        said = r"margrave: warning: all weights are zero at C = 0\.2: .*from C = 0\.25\d* on, so use a larger C\.\n"
        assert re.fullmatch(said if zero else "", result.stderr)


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--good", 2, "--within", 0.1], "--good and --within both select the good candidates: give one of them."),
        (["--no-good", "leave"], "unknown --no-good 'leave'; (valid: stop, skip)"),
        (["--cost", "hamming"], "unknown --cost 'hamming'; (valid: zero-one, bleu, relevance)"),
        (["--weights", "some"], "unknown weights 'some'"),
        (
            ["--templates", "t"],
            "--templates applies to --task tagging or constituency or parse only, and this is --task rerank.",
        ),
        (["--taxonomy", "t"], "--taxonomy applies to --task multilabel or taxonomy only, and this is"),
        (["--dev", "d"], "--dev has no references: use 'margrave evaluate MODEL DEV --references FILE'."),
        (["--solver", "simplex"], "--solver applies to --learner lp only, and this is --learner auto."),
        (["--free-sign", "--learner", "bcfw"], "--free-sign applies to --learner lp only, and this is --learner bcfw."),
        (["--program", "all"], "--program applies to --learner lp only, and this is --learner auto."),
        (["--cost", "bleu", "--loss", "log"], "--loss log does not use --cost"),
    ],
)
def test_a_wrong_option_is_named(moses: Path, tmp_path: Path, options: list[object], expected: str) -> None:
    train = ("train", "--task", "rerank", moses / "train.nbest", "--references", moses / "train.ref")
    assert message(run(*train, "-o", tmp_path / "m", *options)).startswith(expected)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("option", ["--references", "--good", "--within", "--lowercase", "--ngrams", "--no-good"])
def test_options_of_candidates_are_refused_elsewhere(option: str, tmp_path: Path) -> None:
    values = {"--lowercase": [], "--no-good": ["skip"]}.get(option, ["1"])
    refused = message(run("train", "data", "-o", tmp_path / "m", option, *values))
    owners = "rerank or translate" if option == "--references" else "rerank"
    assert refused == f"{option} applies to --task {owners} only, and this is --task tagging."


def test_options_of_hypotheses_are_refused_for_rows(pages: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "rerank", pages / "train.svm", "-o", tmp_path / "m")
    for options in (["--references", pages / "m"], ["--good", 2], ["--within", 0], ["--lowercase"], ["--ngrams", 1]):
        refused = message(run(*train, *options))
        assert refused == f"{options[0]} applies to n-best lists only, and {pages / 'train.svm'} is svmlight."
    refused = message(run(*train, "--cost", "bleu"))
    assert refused == f"--cost bleu applies to n-best lists only, and {pages / 'train.svm'} is svmlight: use relevance."
    refused = message(run("evaluate", pages / "m", pages / "test.svm", "--references", "r"))
    assert refused == (
        f"{pages / 'm'}: --references applies to n-best lists and translation only, and this model ranks candidates "
        "without words."
    )
    assert os.listdir(tmp_path) == []


def test_options_of_other_models_are_refused(moses: Path, tmp_path: Path) -> None:
    refused = message(run("evaluate", moses / "m", moses / "test.nbest", "--scheme", "IOB2"))
    assert refused == f"{moses / 'm'}: --scheme applies to tagging only, and this model ranks hypotheses."
    (tmp_path / "t").write_text("a A\nb B\n")
    done("train", tmp_path / "t", "-o", tmp_path / "m", "-q")
    refused = message(run("predict", tmp_path / "m", tmp_path / "t", "--scores"))
    assert refused == f"{tmp_path / 'm'}: --scores applies to lists of candidates only, and this model tags sequences."
    refused = message(run("evaluate", tmp_path / "m", tmp_path / "t", "--references", tmp_path / "t"))
    assert refused == (
        f"{tmp_path / 'm'}: --references applies to n-best lists and translation only, and this model tags sequences."
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "{}: it contains no candidates."),
        ("\n \n", "{}: it contains no candidates."),
        ("the D\nold J\n", "{}: its first line is neither a hypothesis (0 ||| words ||| name=value) nor has a query"),
        ("1 1:0.5\n", "{}: its first line is neither a hypothesis"),
        ("0 ||| a ||| f=1\n0 ||| b ||| f=x\n", "{}, line 2: value 'x' of feature 'f' is not a finite number."),
        ("0 ||| a ||| f=1\n1 ||| b ||| f=1\n0 ||| c ||| f=1\n", "{}, line 3: list 0 occurs again after list 1"),
        ("0 ||| a ||| f=1\n40 ||| b ||| f=1\n-1 ||| b |||\n", "{}: 2 lists have no reference (id 40, -1): "),
        ("0 ||| a |||\n0 ||| b |||\n", "{}: its hypotheses have no features to learn from: give --ngrams."),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_named(moses: Path, tmp_path: Path, content: str, expected: str) -> None:
    data = tmp_path / "t"
    data.write_text(content)
    train = ("train", "--task", "rerank", data, "-o", tmp_path / "m", "--references", moses / "train.ref")
    assert message(run(*train)).startswith(expected.format(data))
    assert os.listdir(tmp_path) == ["t"]


def test_n_best_lists_need_references(moses: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "rerank", moses / "train.nbest", "-o", tmp_path / "m")
    refused = message(run(*train))
    assert refused == f"{moses / 'train.nbest'}: hypotheses alone do not show which are good: give --references."
    refused = message(run("evaluate", moses / "m", moses / "test.nbest"))
    assert refused == "translations are measured by references: give --references."
    (tmp_path / "short").write_text("one line\n")
    short = ("--references", moses / "train.ref", "--references", tmp_path / "short")
    refused = message(run(*train, *short))
    assert refused == f"{tmp_path / 'short'}: 1 line, but {moses / 'train.ref'} has 40."
    refused = message(run("evaluate", moses / "m", moses / "test.nbest", "--references", tmp_path / "short"))
    assert refused == (
        f"{moses / 'test.nbest'}: 39 lists have no reference (id 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...): "
        f"{tmp_path / 'short'} has the lines of ids 0 to 0."
    )
    assert message(run(*train, "--references", tmp_path / "no")) == f"{tmp_path / 'no'}: no such file."
    refused = message(run(*train, "--references", moses / "train.ref", "--cost", "relevance"))
    assert refused == f"{moses / 'train.nbest'}: --cost relevance requires svmlight with relevances: use bleu."
    assert os.listdir(tmp_path) == ["short"]


def test_the_references_are_not_overwritten(moses: Path, tmp_path: Path) -> None:
    (tmp_path / "ref").write_bytes((moses / "train.ref").read_bytes())
    train = ("train", "--task", "rerank", moses / "train.nbest", "--references", tmp_path / "ref")
    refused = message(run(*train, "-o", tmp_path / "ref"))
    assert refused == f"{tmp_path / 'ref'}: it is both read and to be written: give the output another name."


def test_a_file_of_another_kind_is_refused(moses: Path, pages: Path, tmp_path: Path) -> None:
    assert message(run("predict", moses / "m", pages / "test.svm")).startswith(f"{pages / 'test.svm'}, line 1: 1 field")
    assert message(run("predict", pages / "m", moses / "test.nbest")).startswith(f"{moses / 'test.nbest'}, line 1: ")
    (tmp_path / "t").write_text("0 ||| a ||| lm=1\n0 ||| b ||| lm=2\n")
    for command in (["predict"], ["evaluate", "--references", moses / "test.ref"]):
        refused = message(run(*command, moses / "m", tmp_path / "t"))
        assert refused == f"{tmp_path / 't'}: the model knows none of its features, such as 'lm'."


def test_features_whose_weights_were_zero_are_not_foreign(tmp_path: Path) -> None:
    model = Reranker.of_weights({"lm": 1.0, "tm": 0.0, "wp": 0.0})
    model.features_ = NGrams()
    model.save(tmp_path / "m")
    (tmp_path / "t").write_text("0 ||| a ||| tm=1\n0 ||| b ||| tm=2\n")
    assert done("predict", tmp_path / "m", tmp_path / "t") == "a\n"


def test_a_model_that_does_not_say_how_to_read_is_refused(moses: Path, tmp_path: Path) -> None:
    Reranker.of_weights({"lm": 1.0}).save(tmp_path / "m")
    refused = message(run("predict", tmp_path / "m", moses / "test.nbest"))
    assert refused == f"{tmp_path / 'm'}: it does not say how to read candidates: train it with 'margrave train'."
    assert json.loads(done("inspect", tmp_path / "m", "--top", 1, "--json"))["weights"] == {"lm": 1.0}


def test_names_of_hashed_features_are_not_known(moses: Path) -> None:
    learned(moses, "--weights", "hash:8")
    refused = message(run("inspect", moses / "new.model", "--top", 1))
    assert refused == f"{moses / 'new.model'}: hashed features do not store names."


def test_ctrl_c_before_the_first_pass_writes_nothing(moses: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ref")
    arguments = ["train", "--task", "rerank", moses / "train.nbest", "--references", tmp_path / "ref"]
    command = [sys.executable, "-m", "margrave", *map(str, arguments), "-o", str(tmp_path / "m")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        with open(tmp_path / "ref", "w"):  # which waits until the command reads it
            process.send_signal(signal.SIGINT)
            _, text = process.communicate()
    assert (process.returncode, text) == (130, "margrave: interrupted before the first pass: nothing was written.\n")
    assert os.listdir(tmp_path) == ["ref"]
