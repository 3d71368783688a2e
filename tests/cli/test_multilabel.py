"""The command line on sets of classes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave import metrics
from margrave.data.taxonomy import Taxonomy
from margrave.datasets import read_svmlight_paths, read_taxonomy, read_texts
from margrave.estimators import HierarchicalMultiLabelClassifier
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
