"""A weight of 2 is two copies of an example, and a weight of 0 is its absence, for all that an estimator learns."""

import warnings
from inspect import signature
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import margrave
from margrave import (
    PCFG,
    ConstituencyParser,
    DependencyParser,
    HMMTagger,
    LinearClassifier,
    MargraveError,
    MultiLabelClassifier,
    SequenceTagger,
    load,
)
from margrave.datasets import load_quay
from margrave.examples import some
from margrave.features import TfIdf
from tests.estimators.options import SETTINGS, Case, cases
from tests.estimators.registry import ROWS, TEXTS

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CASES = {name: case for name, case in cases().items() if not name.startswith("Translator")}  # which has no weights
WEIGHTS = ([2, 1, 1, 0], [0, 1, 3, 1], [1, 0, 1, 2])
EXACT = {"tol": 1e-8, "max_iter": 2000}
COUNTS = ("PCFG", "HMMTagger", "GenerativeAligner")
# Support inputs of a kernel whose coefficients are 0 or nearly so, and inference whose runs have no optimum.
SUPPORT = ("ConstituencyParser(kernel=",)
APPROXIMATE = ("inference=", "order=2, projective=False")


def fit(case: Case, X: Any, y: Any, more: dict[str, Any], **weights: Any) -> Any:
    """A fitted model, or the sentence that refuses the data."""
    estimator = case.estimator.unfitted()
    if "tol" in estimator.get_params() and estimator.max_iter is None:
        estimator.set_params(**EXACT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return estimator.fit(X, y, **more, **weights)
    except MargraveError as error:
        return str(error)


def learned(model: Any) -> Any:
    """Labels, vocabularies, counts, pruners and all else in the file of a model but its weights."""
    arrays: Any = {}
    header = model._packed_learned(model.map_, model._weights(), arrays)
    header["outputs"] = repr(header["outputs"]).replace(".0", "")  # sums of weights
    header["more"] = {name: model._packed_more(name, arrays) for name in model._more}
    del header["weights"]
    return header, {name: array for name, array in arrays.items() if "weights" not in name and "/" not in name}


def assert_same_learned(one: Any, other: Any, name: str) -> None:
    (header, arrays), (expected, others) = learned(one), learned(other)
    more, of_copies = header.pop("more", {}), expected.pop("more", {})
    assert header == expected
    assert arrays.keys() == others.keys()
    for key, array in arrays.items():
        assert_allclose(array, others[key], rtol=1e-12, err_msg=f"{name}: {key}")
    for key, value in more.items():
        if isinstance(value, dict) and value.get("kind") == "estimator":
            inner, expected_inner = getattr(one, key), getattr(other, key)
            assert_allclose(inner.coef_, expected_inner.coef_, atol=1e-3)
            assert inner.certificate_.primal == pytest.approx(expected_inner.certificate_.primal, rel=2e-2)
        elif isinstance(value, float):
            assert value == pytest.approx(of_copies[key], rel=1e-12)
        elif key not in ("n_long_", "n_crossing_"):  # numbers of sentences
            assert value == of_copies[key]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_weight_is_a_number_of_copies(name: str, weights: list[int]) -> None:
    case = CASES[name]
    n = len(case.y)
    times = np.resize(weights, n)
    copies = np.repeat(np.arange(n), times).tolist()
    more = {key: some(value, copies) for key, value in case.more.items()}
    expected = fit(case, some(case.X, copies), some(case.y, copies), more)
    found = fit(case, case.X, case.y, dict(case.more), sample_weight=times)
    if isinstance(expected, str) or isinstance(found, str):
        assert isinstance(found, str) and isinstance(expected, str), (found, expected)
        return
    if not any(mark in name for mark in SUPPORT):
        assert_same_learned(found, expected, name)
    if name.startswith(COUNTS):
        assert_allclose(found.coef_, expected.coef_, rtol=1e-12)
    elif not any(mark in name for mark in APPROXIMATE):
        assert found.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-6)
        if not any(mark in name for mark in SUPPORT):
            assert_allclose(found._weights(), expected._weights(), atol=2e-3)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("wrong", [[nan, 1], [-1.0, 1], [inf, 1], [0.0, 0], ["a", "b"], [1.0] * 17, "ones", [[1.0]]])
def test_weights_that_are_none_are_refused(name: str, wrong: Any) -> None:
    if "sample_weight" not in signature(getattr(margrave, name).fit).parameters:
        assert name == "Translator"
        return
    case = CASES[f"{name}()"]
    given = np.resize(wrong, len(case.y)) if wrong in ([nan, 1], [-1.0, 1], [inf, 1], [0.0, 0]) else wrong
    with pytest.raises(MargraveError, match="sample_weight must"):
        case.estimator.unfitted().fit(case.X, case.y, **case.more, sample_weight=given)


def test_what_only_absent_examples_have_is_not_learned() -> None:
    X, y = [[["a"], ["b"]], [["b"], ["a"]], [["c"], ["a"]]], [["x", "y"], ["y", "x"], ["z", "x"]]
    tagger = SequenceTagger().fit(X, y, sample_weight=[1, 1, 0])
    assert tagger.classes_.tolist() == ["x", "y"] and "c" not in tagger.map_.tokens.encoder.names()
    hidden = HMMTagger().fit([["a", "b"], ["c"]], [["x", "y"], ["z"]], [1, 0])
    assert hidden.classes_.tolist() == ["x", "y"] and "word c" not in hidden.symbols_


@pytest.mark.parametrize("kind", ["list", "array", "sparse", "frame", "iterator"])
def test_absent_examples_are_left_out_of_every_kind_of_input(kind: str) -> None:
    rows = np.array([[1.0, 0], [0, 1], [1, 1], [5, 5]])
    if kind == "iterator":
        X: Any = ([[f"{value}"]] for value in "abab")
        tagger = SequenceTagger().fit(X, [["x"], ["y"], ["x"], ["z"]], sample_weight=[1, 1, 1, 0])
        assert tagger.classes_.tolist() == ["x", "y"]
        return
    frame = pytest.importorskip("pandas").DataFrame(rows) if kind == "frame" else None
    X = {"list": rows.tolist(), "array": rows, "sparse": csr_array(rows), "frame": frame}[kind]
    model = LinearClassifier().fit(X, ["a", "b", "a", "c"], sample_weight=[1, 2, 1, 0])
    assert model.classes_.tolist() == ["a", "b"]
    same = LinearClassifier().fit(rows[[0, 1, 1, 2]], ["a", "b", "b", "a"])
    assert_allclose(model.coef_, same.coef_, atol=1e-3)


@pytest.mark.parametrize("times", [2, 3, 7])
def test_the_tree_of_labels_and_document_frequencies_count_copies(times: int) -> None:
    """Without weights, the tree would have the pair of x and y."""
    y = [["y"], ["x"], [], ["x", "z"], ["y"], ["x", "y", "z"]]
    weights = [1, 1, times * 3, 1, 1, 1]
    copies = np.repeat(np.arange(6), weights).tolist()
    found = MultiLabelClassifier(features=TfIdf()).fit(TEXTS, y, sample_weight=weights)
    expected = MultiLabelClassifier(features=TfIdf()).fit(some(TEXTS, copies), some(y, copies))
    assert found.edges_ == expected.edges_ != MultiLabelClassifier().fit([["a"]] * 6, y).edges_
    assert_allclose(found.features_.idf, expected.features_.idf, rtol=1e-12)


@pytest.mark.parametrize("absent", [0.25, 0.5, 0.75])
def test_pruners_do_not_see_absent_sentences(absent: float) -> None:
    trees = [tree for tree in load_quay("train") if len(tree.words) <= 7][:16]
    present = np.random.default_rng(0).permutation(len(trees)) >= absent * len(trees)
    kept = [tree for tree, here in zip(trees, present, strict=True) if here]
    settings: dict[str, Any] = {"prune": 0.05, "max_iter": 3}
    found = ConstituencyParser(**settings).fit(None, trees, sample_weight=present.astype(float))
    expected = ConstituencyParser(**settings).fit(None, kept)
    assert found.pruner_.grammar_.stored_settings() == expected.pruner_.grammar_.stored_settings()
    assert found.lost_spans_ == expected.lost_spans_ and np.array_equal(found.coef_, expected.coef_)
    heads = [[2, 3, 0], [2, 3, 0], [2, 0], [2, 3, 0]]
    parser = DependencyParser(prune="posterior").fit(ROWS, heads, sample_weight=[1, 1, 0, 1])
    rest = DependencyParser(prune="posterior").fit(some(ROWS, [0, 1, 3]), some(heads, [0, 1, 3]))
    assert np.array_equal(parser.pruner_.coef_, rest.pruner_.coef_)


@pytest.mark.parametrize("scale", [0.125, 0.3, 2.5])
def test_counts_of_fractions_are_saved(scale: float, tmp_path: Path) -> None:
    trees = [tree for tree in load_quay("train") if len(tree.words) <= 7][:6]
    weights = scale * np.arange(1, 7)
    model = PCFG().fit(None, trees, weights)
    model.save(tmp_path / "grammar")
    again = load(tmp_path / "grammar")
    assert np.array_equal(again.coef_, model.coef_)
    assert again.grammar_.binary == model.grammar_.binary
    assert_allclose(model.coef_, PCFG().fit(None, trees, np.arange(1, 7)).coef_, rtol=1e-12)  # shares
