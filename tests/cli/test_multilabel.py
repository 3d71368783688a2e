"""The command line on sets of classes."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave import metrics
from margrave.data.taxonomy import Taxonomy
from margrave.datasets import read_svmlight_paths, read_taxonomy, read_texts
from margrave.estimators import HierarchicalMultiLabelClassifier, MultiLabelClassifier
from tests.references.commands import done, message, run

TREE = "1\n1/1\n1/2\n2\n2/1\n"
NODES = ["1", "1/1", "1/2", "2", "2/1"]


def lines(seed: int, n: int) -> str:
    """Examples with a feature for each node, and one that says nothing."""
    rng = np.random.default_rng(seed)
    text = ""
    for _ in range(n):
        leaves = [leaf for leaf in ("1/1", "1/2", "2/1") if rng.random() < 0.5]
        x = rng.normal(0, 0.5, 6)
        for k, node in enumerate(NODES):
            x[k] += any(leaf.startswith(node) for leaf in leaves)
        text += f"{';'.join(leaves)}\t" + " ".join(f"{k}:{value:.3f}" for k, value in enumerate(x, 1)) + "\n"
    return text


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with examples, their hierarchy, and a model."""
    folder = tmp_path_factory.mktemp("mails")
    (folder / "train.svm").write_text(lines(0, 60))
    (folder / "test.svm").write_text(lines(1, 40))
    (folder / "tree").write_text(TREE)
    options = ("--taxonomy", folder / "tree", "--dev", folder / "test.svm", "--json", "-C", 1)
    report = done("train", "--task", "multilabel", folder / "train.svm", "-o", folder / "m", *options)
    (folder / "report.json").write_text(report)
    return folder


def test_sets_are_learned_as_in_python(mails: Path) -> None:
    X, y = read_svmlight_paths(mails / "train.svm", multilabel=True)
    model = HierarchicalMultiLabelClassifier(taxonomy=read_taxonomy(mails / "tree")).fit(X, y)
    loaded: Any = margrave.load(mails / "m")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    report = json.loads((mails / "report.json").read_text())
    assert (report["n_examples"], report["n_classes"], report["n_features"]) == (60, 5, 6)
    assert (report["loss"], report["cost"], report["converged"]) == ("hinge", "hamming", True)


def test_evaluate_measures_as_the_metrics_do(mails: Path) -> None:
    _, gold = read_svmlight_paths(mails / "test.svm", multilabel=True)
    predicted = [
        line.split(";") if line else [] for line in done("predict", mails / "m", mails / "test.svm").splitlines()
    ]
    tree = read_taxonomy(mails / "tree")
    scores, of_nodes = metrics.label_scores(gold, predicted), metrics.hierarchical_scores(gold, predicted, tree)
    report = json.loads(done("evaluate", mails / "m", mails / "test.svm", "--json"))
    assert report.pop("n_examples") == 40
    assert report == {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "hierarchical_precision": of_nodes.precision,
        "hierarchical_recall": of_nodes.recall,
        "hierarchical_f1": of_nodes.f1,
        "exact": np.mean([set(a) == set(b) for a, b in zip(gold, predicted, strict=True)]),
    }
    assert 0.7 < scores.f1 < of_nodes.f1
    assert json.loads((mails / "report.json").read_text())["dev"] == report
    assert f"{'F1':<24}{100 * scores.f1:.2f} %" in done("evaluate", mails / "m", mails / "test.svm").splitlines()


def test_predict_writes_the_lowest_classes_with_their_probabilities(mails: Path) -> None:
    model: Any = margrave.load(mails / "m")
    X, _ = read_svmlight_paths(mails / "test.svm", multilabel=True)
    written = done("predict", mails / "m", mails / "test.svm", "--marginals").splitlines()
    number = {name: k for k, name in enumerate(model.classes_.tolist())}
    for nodes, mu, line in zip(model.predict(X), model.predict_proba(X), written, strict=True):
        lowest, probabilities = (part.split(";") if part else [] for part in line.split("\t"))
        assert {above for name in lowest for above in model.taxonomy_.ancestors(name)} == set(nodes)
        assert probabilities == [f"{mu[number[name]]:.4f}" for name in lowest]


def test_texts_and_classes_without_a_hierarchy(file: Callable[..., Path], tmp_path: Path) -> None:
    data = file("pets;noise\tdogs bark loudly\npets\tcats purr softly\nnoise\tcars roar loudly\nthe silent text\n")
    done("train", "--task", "multilabel", data, "-o", tmp_path / "m", "-q", "-C", 100)
    model: Any = margrave.load(tmp_path / "m")
    assert set(model.taxonomy_.nodes) == {"pets", "noise"}
    assert model.features_.words[0] == "bark"
    assert done("predict", tmp_path / "m", data).splitlines() == ["noise;pets", "pets", "noise", ""]
    texts = [text for _, text in read_texts(data, multilabel=True)]
    assert model.predict(texts) == [["noise", "pets"], ["pets"], ["noise"], []]
    inspected = json.loads(done("inspect", tmp_path / "m", "--top", 2, "--json"))
    assert "loudly" in dict(inspected["top"]["noise"]) and inspected["labels"] == ["noise", "pets"]


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--cost", "zero-one"], {"loss": margrave.Hinge("zero-one")}),
        (["--loss", "log"], {"loss": "log"}),
        (["--weights", "observed"], {"weights": "observed"}),
    ],
)
def test_options_are_the_parameters_of_the_classifier(
    mails: Path, tmp_path: Path, options: list[str], settings: dict[str, Any]
) -> None:
    X, y = read_svmlight_paths(mails / "train.svm", multilabel=True)
    model = HierarchicalMultiLabelClassifier(taxonomy=Taxonomy.from_names(NODES, "/"), **settings).fit(X, y)
    done("train", "--task", "multilabel", mails / "train.svm", "-o", tmp_path / "m", "-q", *options)
    np.testing.assert_array_equal(margrave.load(tmp_path / "m").coef_, model.coef_)


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--label-graph", "tree"], {"graph": "tree"}),
        (["--label-graph", "independent"], {"graph": "independent"}),
        (["--label-graph", "full", "--pair-features", "--loss", "hinge"], {"graph": "full", "pair_attributes": True}),
        (
            ["--label-graph", "full", "--inference", "trw", "--tol", "0.1"],
            {"graph": "full", "inference": "trw", "tol": 0.1},
        ),
        (["--label-graph", "tree", "--weights", "hash:6"], {"graph": "tree", "weights": "hash:6"}),
        (["--label-pairs", "pairs"], {"graph": [("1/2", "2/1"), ("1/1", "2/1")]}),
    ],
)
def test_label_graphs_are_learned_as_in_python(
    mails: Path, tmp_path: Path, options: list[str], settings: dict[str, Any]
) -> None:
    (tmp_path / "pairs").write_text("1/2\t2/1\n\n1/1\t2/1\n")
    options = [str(tmp_path / "pairs") if each == "pairs" else each for each in options]
    command = ("train", "--task", "multilabel", mails / "train.svm", "-o", tmp_path / "m", "--dev", mails / "test.svm")
    report = json.loads(done(*command, "--json", *options))
    X, y = read_svmlight_paths(mails / "train.svm", multilabel=True)
    loss = "hinge" if "hinge" in options else "log"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MultiLabelClassifier(loss, **settings).fit(X, y)
    loaded: Any = margrave.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.edges_ == model.edges_ and report["loss"] == loss
    X, gold = read_svmlight_paths(mails / "test.svm", multilabel=True)
    predicted = [
        line.split(";") if line else [] for line in done("predict", tmp_path / "m", mails / "test.svm").splitlines()
    ]
    assert predicted == model.predict(X)
    scores = json.loads(done("evaluate", tmp_path / "m", mails / "test.svm", "--json"))
    assert scores["f1"] == scores["hierarchical_f1"] == metrics.label_scores(gold, predicted).f1 == report["dev"]["f1"]
    inspected = json.loads(done("inspect", tmp_path / "m", "--json"))
    assert inspected["label_graph"] == [list(pair) for pair in model.edges_]
    shown = done("inspect", tmp_path / "m")
    assert all(f"    {first} - {second}" in shown for first, second in model.edges_)


def test_mistakes_with_label_graphs_are_named(mails: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "multilabel", mails / "train.svm", "-o", tmp_path / "m")
    pairs = tmp_path / "pairs"
    for options, said in (
        (["--label-graph", "tree", "--label-pairs", pairs], "--label-graph and --label-pairs exclude each other"),
        (["--label-graph", "tree", "--taxonomy", mails / "tree"], "--label-graph and --taxonomy exclude each other"),
        (["--label-pairs", pairs, "--kernel", "rbf"], "--label-pairs and --kernel exclude each other"),
        (["--pair-features"], "--pair-features applies to label graphs only"),
        (["--inference", "bp"], "--inference applies to label graphs only"),
        (["--label-graph", "tee"], "unknown --label-graph 'tee'; did you mean 'tree'?"),
        (["--label-graph", "tree", "--weights", "observed"], "unknown weights 'observed'"),
        (["--label-graph", "full", "--memory", "1e-6"], "tables of"),
    ):
        assert said in message(run(*train, *options))
    for text, said in (
        ("1/1\n", ", line 1: a line must have two classes and a tab between them."),
        ("1/1\t1/2\n1/1\t7\n", ", line 2: no example has the class '7'."),
        ("1/1\t1/2\n1/2\t1/1\n", ", line 2: the pair of '1/2' and '1/1' has a line already."),
        ("1/1\t1/1\n", ", line 1: the pair of '1/1' and '1/1' is one class twice."),
        ("\n", ": it contains no pairs of classes."),
    ):
        pairs.write_text(text)
        assert message(run(*train, "--label-pairs", pairs)) == f"{pairs}{said}"


def test_mistakes_are_named(mails: Path, file: Callable[..., Path], tmp_path: Path) -> None:
    train = ("train", "--task", "multilabel", mails / "train.svm", "-o", tmp_path / "m")
    tree = file("1\n1/1\n", "tree")
    assert message(run(*train, "--taxonomy", tree)) == f"{mails / 'train.svm'}: the taxonomy has no class '1/2'."
    refused = message(run(*train, "--weights", "all", "--kernel", "rbf"))
    assert refused == "--weights and --kernel exclude each other: give one of them."
    refused = message(run("evaluate", mails / "m", "-", stdin=b"7/7 1:1\n"))
    assert refused == "<stdin>: the taxonomy has no class '7/7'."
    assert message(run("evaluate", mails / "m", "-", stdin=b"1:1\n")) == "<stdin>: none of its examples has a class."
    HierarchicalMultiLabelClassifier().fit(np.eye(2), [["a"], ["b"]]).save(tmp_path / "python")
    refused = message(run("predict", tmp_path / "python", mails / "test.svm"))
    assert refused == f"{tmp_path / 'python'}: it does not say how to read examples: train it with 'margrave train'."


def test_a_fitted_classifier_scores_development_data_by_the_new_fit() -> None:
    """sgd chooses its rate by them; an earlier fit with other nodes plays no part."""
    X = [["purr"], ["bark"], ["purr", "bark"]]
    model = HierarchicalMultiLabelClassifier(learner="sgd", max_iter=3).fit(X, [["a"], ["b"], ["a", "b"]])
    dev = X, [["cat"], ["dog"], ["cat", "dog"]]
    again = model.fit(*dev, dev=dev)
    fresh = HierarchicalMultiLabelClassifier(learner="sgd", max_iter=3).fit(*dev, dev=dev)
    np.testing.assert_array_equal(again.coef_, fresh.coef_)
    assert fresh.score(*dev) == again.score(*dev) > 0.8
