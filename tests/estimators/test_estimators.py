"""Estimators: scikit-learn's conventions, predictions equal to enumeration, files that give back every bit."""

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from margrave import Hinge, LinearClassifier, LossFamily, SequenceTagger, SoftmaxMargin, _core, load
from margrave.learners import LBFGS, SGD, Learner, Objective
from margrave.learners.objective import Step
from margrave.losses import loss_named
from margrave.maps.rows import RowEncoder

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def expected_failures(estimator: LinearClassifier) -> dict[str, str]:
    if estimator.learner not in ("sgd", "perceptron"):
        return {}
    reason = "one visit with a doubled step is not two visits"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        LinearClassifier(),
        LinearClassifier(weights="observed"),
        LinearClassifier("softmax-margin", learner=LBFGS(memory=3), n_jobs=2),
        LinearClassifier("hinge", learner="sgd"),
        LinearClassifier("perceptron", learner="perceptron"),
    ],
    expected_failed_checks=expected_failures,
)
def test_the_classifier_keeps_all_of_scikit_learns_conventions(
    estimator: LinearClassifier, check: Callable[[Any], None]
) -> None:
    check(estimator)


# ---- sequences and their labels, by enumeration ----------------------------------------------------------------------


def sequences(seed: int, n: int = 8, longest: int = 4, attributes: int = 6) -> list[Any]:
    random = np.random.default_rng(seed)
    return [
        [[f"a{a}" for a in random.integers(0, attributes, size=2)] for _ in range(random.integers(1, longest + 1))]
        for _ in range(n)
    ]


def tags(X: list[Any], seed: int, width: int = 3) -> list[list[str]]:
    random = np.random.default_rng(seed)
    return [["BIO"[(len(x) + t + int(random.integers(2))) % width] for t in range(len(x))] for x in X]


def with_numbers(X: list[Any], seed: int) -> list[Any]:
    """The same tokens as dictionaries: numbers, zeros, and strings as values."""
    random = np.random.default_rng(seed)
    return [[{**{a: float(random.normal()) for a in token}, "zero": 0, "is": token[0]} for token in x] for x in X]


def vectors(X: list[Any], seed: int) -> list[NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    return [random.normal(size=(len(x), 4)) * random.integers(0, 2, size=(len(x), 4)) for x in X]


def named_entries(token: Any) -> Iterator[tuple[str, float]]:
    """Names and values of a token, as the documentation of `SequenceTagger` has them."""
    if isinstance(token, dict):
        for name, value in token.items():
            yield (f"{name}={value}", 1.0) if isinstance(value, str) else (name, float(value))
    else:
        yield from ((name, 1.0) for name in token)


def rows_of(encoder: RowEncoder, token: Any) -> Iterator[tuple[int, float]]:
    if encoder.form == "columns":
        yield from enumerate(token)
        return
    names = {name: k for k, name in enumerate(encoder.vocabulary.names())} if encoder.vocabulary is not None else {}
    yield from ((names[name], value) for name, value in named_entries(token) if name in names)


def weight_numbers(pairs: _core.Pairs) -> dict[tuple[int, int], int]:
    """(attribute, column) to the number of its weight."""
    if not pairs.packed:
        return {(a, c): a * pairs.labels + c for a in range(pairs.attributes) for c in range(pairs.labels)}
    begin, column = pairs.arrays()
    return {(a, int(column[k])): k for a in range(pairs.attributes) for k in range(begin[a], begin[a + 1])}


class ByDefinition:
    """The score of a labeling, from the weights' order as `ChainMap` documents it, and nothing of the core."""

    def __init__(self, tagger: SequenceTagger) -> None:
        self.tagger, self.classes, feature_map = tagger, tagger.classes_.tolist(), tagger.map_
        width = len(self.classes)
        forbidden = {tuple(pair) for pair in tagger.forbidden}
        self.tuples = [
            labels
            for m in range(2, tagger.order + 2)
            for labels in product(range(width), repeat=m)
            if tagger.order == 1
            or all((self.classes[a], self.classes[b]) not in forbidden for a, b in pairwise(labels))
        ]
        self.number = {labels: k for k, labels in enumerate(self.tuples)}
        self.forbidden = forbidden
        self.token_weight = weight_numbers(feature_map.tokens.weighted)
        self.gram_at = len(self.token_weight)
        self.start_at = self.gram_at + feature_map.gram_weights
        self.stop_at = self.start_at + width * tagger.start
        self.edge_at = self.stop_at + width * tagger.stop
        self.edge_weight = {} if feature_map.edges is None else weight_numbers(feature_map.edges.weighted)
        assert self.edge_at + len(self.edge_weight) == tagger.coef_.size

    def labelings(self, n: int, allowed: Any = None) -> list[tuple[int, ...]]:
        choices = [
            [k for k, label in enumerate(self.classes) if allowed is None or allowed[t] is None or label in allowed[t]]
            for t in range(n)
        ]
        return [
            y
            for y in product(*choices)
            if all((self.classes[a], self.classes[b]) not in self.forbidden for a, b in pairwise(y))
        ]

    def score(self, x: Any, y: tuple[int, ...], edges: Any = None) -> float:
        w, feature_map, scale = self.tagger.coef_, self.tagger.map_, self.tagger.transition_scale
        total = 0.0
        for token, label in zip(x, y, strict=True):
            for a, value in rows_of(feature_map.tokens.encoder, token):
                total += value * w[self.token_weight[a, label]] if (a, label) in self.token_weight else 0.0
        for t in range(1, len(y)):
            for m in range(2, min(t, self.tagger.order) + 2):
                gram = self.number[y[t + 1 - m : t + 1]]
                at = feature_map.gram_weight[gram]
                total += scale * w[self.gram_at + at] if at >= 0 else 0.0
                for a, value in [] if edges is None else rows_of(feature_map.edges.encoder, edges[t]):
                    if (a, gram) in self.edge_weight:
                        total += scale * value * w[self.edge_at + self.edge_weight[a, gram]]
        if self.tagger.start:
            total += w[self.start_at + y[0]]
        if self.tagger.stop:
            total += w[self.stop_at + y[-1]]
        return total

    def primal(self, X: Any, Y: Any, edges: Any = None) -> float:
        """P at the weights."""
        loss, total = loss_named(self.tagger.loss), 0.5 * self.tagger.coef_ @ self.tagger.coef_
        cost = loss.cost_matrix(self.classes)
        for i, (x, labels) in enumerate(zip(X, Y, strict=True)):
            gold = tuple(self.classes.index(label) for label in labels)
            outputs = self.labelings(len(x))
            v = np.array([self.score(x, y, edges and edges[i]) for y in outputs])
            right = v[outputs.index(gold)]
            v += loss.gamma * np.array([sum(cost[a, b] for a, b in zip(gold, y, strict=True)) for y in outputs])
            total += self.tagger.C * (
                (logsumexp(loss.beta * v) / loss.beta if isfinite(loss.beta) else v.max()) - right
            )
        return float(total)


TAGGERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "all pairs": {"weights": "all"},
    "order 2": {"order": 2},
    "order 3": {"order": 3, "weights": "all"},
    "forbidden": {"forbidden": [("O", "I"), ("I", "I")]},
    "forbidden at order 2": {"forbidden": [("O", "I"), ("I", "I")], "order": 2},
    "forbidden at order 3": {"forbidden": {("O", "I")}, "order": 3, "start": True},
    "start and stop": {"start": True, "stop": True},
    "scaled": {"transition_scale": 0.3, "tied": False},
    "untied order 2": {"tied": False, "order": 2, "stop": True},
    "softmax-margin": {"loss": SoftmaxMargin(cost={"B": 3.0})},
    "sharp": {"loss": LossFamily(3.0, 1.0)},
    "hinge": {"loss": "hinge", "learner": SGD(rate=0.2), "max_iter": 3},
    "perceptron": {"loss": "perceptron", "learner": "perceptron", "max_iter": 3},
    "numbers": {},
    "vectors": {"weights": "all"},
    "vectors with edges": {"weights": "observed"},
    "edges": {},
    "edges of order 2": {"order": 2, "weights": "all", "start": True, "transition_scale": 0.5},
    "edges with forbidden": {"order": 2, "forbidden": [("O", "I"), ("I", "I")]},
    "hashed": {"weights": "hash:5"},
}


def data_for(name: str, seed: int = 0) -> tuple[list[Any], list[list[str]], list[Any] | None]:
    X = sequences(seed)
    Y = tags(X, seed)
    if "forbidden" in name:
        Y = [["B" if t % 2 == 0 else "O" for t in range(len(x))] for x in X]
        Y[0] = ["I"] * 1 + Y[0][1:] if len(X[0]) == 1 else ["B", "I", "O", "B"][: len(X[0])]
    edges = sequences_like(X, seed + 1) if "edges" in name else None
    if "vectors" in name:
        X = vectors(X, seed)
        edges = None if edges is None else vectors(X, seed + 5)
    return (with_numbers(X, seed) if name == "numbers" else X), Y, edges


def sequences_like(X: list[Any], seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [[[f"e{random.integers(3)}"] for _ in x] for x in X]


@cache
def fitted(name: str) -> tuple[SequenceTagger, Any, Any, Any]:
    X, Y, edges = data_for(name)
    return SequenceTagger(**TAGGERS[name], C=2.0).fit(X, Y, edges=edges), X, Y, edges


ENUMERABLE = [name for name in TAGGERS if name != "hashed"]


@pytest.mark.parametrize("name", ENUMERABLE)
def test_predictions_are_the_best_labelings_and_marginals_their_probabilities(name: str) -> None:
    tagger, X, _, edges = fitted(name)
    reference = ByDefinition(tagger)
    new = data_for(name, seed=9)
    for data, at in ((X, edges), (new[0], new[2])):
        beta = loss_named(tagger.loss).beta
        for i, (x, best, mu) in enumerate(
            zip(data, tagger.predict(data, edges=at), tagger.predict_marginals(data, edges=at), strict=True)
        ):
            outputs = reference.labelings(len(x))
            scores = np.array([reference.score(x, y, at and at[i]) for y in outputs])
            found = tuple(reference.classes.index(label) for label in best)
            assert scores[outputs.index(found)] == pytest.approx(scores.max(), abs=1e-10)
            p = softmax(scores * (beta if isfinite(beta) else 1.0))
            expected = np.zeros((len(x), len(reference.classes)))
            for y, share in zip(outputs, p, strict=True):
                expected[range(len(x)), y] += share
            assert_allclose(mu, expected, atol=1e-9)
            assert_allclose(mu.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in ENUMERABLE if name != "perceptron"])
def test_the_history_speaks_of_the_objective_that_the_documentation_states(name: str) -> None:
    tagger, X, Y, edges = fitted(name)
    best = min(record.primal for record in tagger.history_)
    assert best == pytest.approx(ByDefinition(tagger).primal(X, Y, edges), rel=1e-9)


@pytest.mark.parametrize("name", ["plain", "order 2", "forbidden", "forbidden at order 2", "start and stop", "edges"])
def test_allowed_labels_restrict_outputs_and_nothing_else(name: str) -> None:
    tagger, X, _, edges = fitted(name)
    reference = ByDefinition(tagger)
    random = np.random.default_rng(3)
    allowed: list[Any] = [[None if random.random() < 0.4 else ["B", "O"] for _ in x] for x in X]
    allowed[2] = None
    best, mu = (
        tagger.predict(X, edges=edges, allowed=allowed),
        tagger.predict_marginals(X, edges=edges, allowed=allowed),
    )
    for i, x in enumerate(X):
        outputs = reference.labelings(len(x), allowed[i])
        scores = np.array([reference.score(x, y, edges and edges[i]) for y in outputs])
        found = tuple(reference.classes.index(label) for label in best[i])
        assert scores[outputs.index(found)] == pytest.approx(scores.max(), abs=1e-10)
        expected = np.zeros((len(x), len(reference.classes)))
        for y, share in zip(outputs, softmax(scores), strict=True):
            expected[range(len(x)), y] += share
        assert_allclose(mu[i], expected, atol=1e-9)
    assert tagger.predict(X, edges=edges, allowed=[None] * len(X)) == tagger.predict(X, edges=edges)


def test_one_allowed_label_everywhere_is_the_answer() -> None:
    tagger, X, _, _ = fitted("plain")
    wanted = [["I"] * len(x) for x in X]
    assert tagger.predict(X, allowed=[[{label} for label in labels] for labels in wanted]) == wanted


def test_forbidden_transitions_are_never_predicted() -> None:
    for name in ("forbidden", "forbidden at order 2", "forbidden at order 3"):
        tagger, _, _, _ = fitted(name)
        forbidden = {tuple(pair) for pair in tagger.forbidden}
        for labels in tagger.predict(sequences(4, n=60, longest=9)):
            assert not forbidden & set(pairwise(labels))


def test_observed_and_all_pairs_have_the_weights_that_they_say() -> None:
    X, Y = [[["a"], ["b"]], [["a"]]], [["x", "y"], ["y"]]
    assert SequenceTagger().fit(X, Y).coef_.size == 3 + 1  # a-x, b-y, a-y; x-y
    assert SequenceTagger(weights="all").fit(X, Y).coef_.size == 2 * 2 + 2 * 2
    assert SequenceTagger(weights="hash:7").fit(X, Y).coef_.size == 2**7 * 2 + 2 * 2
    long = [[["a"], ["b"], ["a"], ["b"]]], [["x", "y", "x", "x"]]  # a-x, b-y, b-x, then x-y, y-x, x-x, x-y-x, y-x-x
    assert SequenceTagger(order=2).fit(*long).coef_.size == 3 + 3 + 2
    assert SequenceTagger(order=3).fit(*long).coef_.size == 3 + 3 + 2 + 1
    assert SequenceTagger(weights="all", order=2, start=True, stop=True).fit(X, Y).coef_.size == 4 + 4 + 8 + 2 + 2


def test_hashed_attributes_collide_and_nothing_else() -> None:
    """With many bits the hashed model is the named one; with one bit there are two rows."""
    X = sequences(0)
    Y = tags(X, 0)
    named = SequenceTagger(weights="all", tol=1e-10).fit(X, Y)
    hashed = SequenceTagger(weights="hash:14", tol=1e-10).fit(X, Y)
    for a, b in zip(named.predict_marginals(X), hashed.predict_marginals(X), strict=True):
        assert_allclose(a, b, atol=1e-4)
    assert hashed.history_[-1].primal == pytest.approx(named.history_[-1].primal, rel=1e-8)
    assert SequenceTagger(weights="hash:1").fit(X, Y).coef_.size == 2 * 3 + 3 * 3


def test_attributes_of_all_scripts_are_kept_apart() -> None:
    names = ["naïve", "naive", "漢字", "汉字", "🦊", "", " ", "a\0b", "a", "e\u0301", "\u00e9", "x" * 3000]
    X, Y = [[[name]] for name in names], [[k] for k in range(len(names))]
    tagger = SequenceTagger(C=100.0).fit(X, Y)
    assert tagger.predict(X) == Y
    assert sorted(tagger.map_.tokens.encoder.vocabulary.names()) == sorted(names)


def test_a_string_value_is_an_attribute_of_its_own() -> None:
    as_values = SequenceTagger().fit([[{"w": "a"}, {"w": "b", "n": 2.0}]], [[0, 1]])
    as_names = SequenceTagger().fit([[{"w=a": 1.0}, {"w=b": 1, "n": 2.0}]], [[0, 1]])
    assert_array_equal(as_values.coef_, as_names.coef_)
    assert as_values.map_.tokens.encoder.vocabulary.names() == ["w=a", "w=b", "n"]


def test_sets_tuples_and_generators_of_attributes_are_lists() -> None:
    X = [[["a"], ["b", "c"]], [["c"]]]
    Y = [[0, 1], [0]]
    plain = SequenceTagger().fit(X, Y)
    kinds: list[Any] = [
        [[tuple(token) for token in x] for x in X],
        tuple(tuple(frozenset(token) for token in x) for x in X),
        [[(a for a in token) for token in x] for x in X],
        ([list(token) for token in x] for x in X),
    ]
    for kind in kinds:
        model = SequenceTagger(tol=1e-12).fit(kind, Y)
        assert model.predict(X) == plain.predict(X)
        assert model.history_[-1].primal == pytest.approx(SequenceTagger(tol=1e-12).fit(X, Y).history_[-1].primal)


def test_attributes_unseen_in_training_change_nothing() -> None:
    tagger, X, _, _ = fitted("plain")
    extended = [[[*token, "never seen"] for token in x] for x in X]
    for a, b in zip(tagger.predict_marginals(X), tagger.predict_marginals(extended), strict=True):
        assert_array_equal(a, b)
    assert tagger.predict([[["never seen"]]])[0][0] in tagger.classes_


def test_tokens_without_attributes_are_tokens() -> None:
    tagger = SequenceTagger(start=True).fit([[[], ["a"]], [["a"], []]], [["x", "y"], ["x", "y"]])
    assert tagger.predict([[[], []]]) == [["x", "y"]]


@pytest.mark.parametrize("labels", [["B", "I", "O"], [3, -1, 10**12], [0.5, 1.5, -2.0], [True, False, True]])
def test_labels_of_any_kind_come_back_as_they_went_in(labels: list[Any], tmp_path: Path) -> None:
    X = [[["a"], ["b"], ["c"]]] * 2
    Y = [labels, labels]
    tagger = SequenceTagger(C=50.0).fit(X, Y)
    assert tagger.predict(X) == Y
    assert {type(label) for y in tagger.predict(X) for label in y} == {type(labels[0])}
    tagger.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == Y
    from_arrays = SequenceTagger(C=50.0).fit(X, [np.array(labels)] * 2)
    assert from_arrays.predict(X) == Y
    assert_array_equal(from_arrays.coef_, tagger.coef_)
    named = [["a"], ["b"], ["c"]]
    assert LinearClassifier(C=50.0).fit(named, labels).predict(named).tolist() == labels


def test_the_score_is_the_share_of_right_tokens() -> None:
    tagger, X, Y, _ = fitted("plain")
    found = [a == b for y, best in zip(Y, tagger.predict(X), strict=True) for a, b in zip(y, best, strict=True)]
    assert tagger.score(X, Y) == sum(found) / len(found)
    with_edges, X, Y, edges = fitted("edges")
    assert 0 <= with_edges.score(X, Y, edges=edges) <= 1


def test_nothing_to_predict_is_no_prediction() -> None:
    tagger, _, _, _ = fitted("plain")
    assert tagger.predict([]) == []
    assert tagger.predict_marginals([]) == []


# ---- classes ---------------------------------------------------------------------------------------------------------


def blobs(seed: int = 0, n: int = 45, d: int = 4, width: int = 3) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    random = np.random.default_rng(seed)
    y = np.arange(n) % width
    return random.normal(size=(n, d)) + 1.5 * np.eye(width, d)[y], np.array(["ant", "bee", "cat", "dog"])[y]


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (1.0, 1.0), (3.0, 1.0)])
def test_probabilities_are_the_softmax_of_the_decision_function(beta: float, gamma: float) -> None:
    X, y = blobs()
    model = LinearClassifier(LossFamily(beta, gamma)).fit(X, y)
    scores = model.decision_function(X)
    assert_allclose(scores, X @ model.coef_.T, atol=1e-12)
    assert_allclose(model.predict_proba(X), softmax(beta * scores, axis=1), atol=1e-12)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert_array_equal(model.classes_, ["ant", "bee", "cat"])


def test_two_classes_have_one_decision() -> None:
    X, y = blobs(width=2)
    model = LinearClassifier().fit(X, y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X),)
    assert_array_equal(model.predict(X), model.classes_[(scores > 0).astype(int)])
    assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)), atol=1e-12)


def test_dense_sparse_and_named_input_give_the_same_model() -> None:
    X, y = blobs()
    X[np.abs(X) < 0.5] = 0
    dense = LinearClassifier(tol=1e-10).fit(X, y)
    for kind in (csr_array, csr_matrix, csc_array, coo_array):
        sparse = LinearClassifier(tol=1e-10).fit(kind(X), y)
        assert_array_equal(sparse.coef_, dense.coef_)
        assert_array_equal(sparse.predict_proba(kind(X)), dense.predict_proba(X))
    for single in (X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        assert_allclose(LinearClassifier(tol=1e-10).fit(single, y).coef_, dense.coef_, atol=1e-4)
    named = [{f"x{k}": value for k, value in enumerate(row)} for row in X.tolist()]
    by_name = LinearClassifier(tol=1e-10).fit(named, y)
    assert by_name.history_[-1].primal == pytest.approx(dense.history_[-1].primal, rel=1e-9)
    assert_allclose(by_name.predict_proba(named), dense.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_input_is_never_changed(kind: Any) -> None:
    """Explicit zeros and indices out of order are tidied up in a copy."""
    indptr, indices, data = np.array([0, 3, 4, 6]), np.array([2, 0, 1, 1, 3, 0]), np.array([1.0, 0, 2, 3, 0, 4])
    X = kind((data.copy(), indices.copy(), indptr.copy()), shape=(3, 4))
    model = LinearClassifier().fit(X, [0, 1, 2])
    for step in (lambda: None, lambda: model.predict(X), lambda: model.predict_proba(X)):
        step()
        assert_array_equal(X.indptr, indptr)
        assert_array_equal(X.indices, indices)
        assert_array_equal(X.data, data)
    rows = [X]
    tagger = SequenceTagger().fit(rows, [[0, 1, 0]])
    tagger.predict(rows)
    assert_array_equal(X.indptr, indptr)
    assert_array_equal(X.indices, indices)
    assert_array_equal(X.data, data)


def test_named_input_is_never_changed() -> None:
    X, Y, edges = data_for("edges")
    before = copy.deepcopy((X, Y, edges))
    SequenceTagger().fit(X, Y, edges=edges).predict(X, edges=edges)
    assert before == (X, Y, edges)


def test_repeated_entries_of_a_sparse_matrix_add_up() -> None:
    twice = csr_array((np.array([1.0, 2, 1]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    once = csr_array(np.array([[3.0, 0], [0, 1]]))
    assert_allclose(LinearClassifier().fit(twice, [0, 1]).coef_, LinearClassifier().fit(once, [0, 1]).coef_, atol=1e-12)


def test_observed_pairs_of_a_classifier() -> None:
    model = LinearClassifier(weights="observed").fit([{"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}], [0, 1, 2])
    assert model.coef_.shape == (4,)
    assert LinearClassifier().fit([{"a": 1.0}, {"b": 1.0}], [0, 1]).coef_.shape == (2, 2)


def test_examples_without_attributes_are_examples() -> None:
    named = LinearClassifier().fit([["a"], [], ["b"]], [0, 1, 2])
    assert named.predict([[], ["a"]]).tolist()[1] == 0
    first = LinearClassifier().fit([[], ["a"], ["b"]], [1, 0, 2])  # the first one must not decide the kind of input
    assert_allclose(first.predict_proba([["a"], ["b"]]), named.predict_proba([["a"], ["b"]]), atol=1e-3)


# ---- scikit-learn's machinery ----------------------------------------------------------------------------------------


def test_parameters_are_got_set_and_cloned() -> None:
    for make in (SequenceTagger, LinearClassifier):
        settings: dict[str, Any] = {
            "loss": Hinge(cost={"a": 2.0}),
            "C": 0.25,
            "learner": SGD(rate=0.5),
            "weights": "hash:9",
            "max_iter": 3,
            "tol": 0.1,
            "n_jobs": 1,
            "random_state": 9,
            "verbose": False,
        }
        model = make(**settings)
        params = model.get_params()
        for key, value in settings.items():
            assert params[key] is value
        twin = clone(model)
        assert {k: v for k, v in twin.get_params().items() if k not in ("loss", "learner")} == {
            k: v for k, v in params.items() if k not in ("loss", "learner")
        }
        assert twin.learner == model.learner
        assert (twin.loss.beta, twin.loss.gamma, twin.loss.cost) == (model.loss.beta, model.loss.gamma, {"a": 2.0})
        assert make().set_params(**settings).get_params() == params
        assert model.set_params(C=2.0) is model
        with pytest.raises(ValueError, match=r"unknown .* parameter 'c'"):
            model.set_params(c=1.0)


@pytest.mark.parametrize("name", TAGGERS)
def test_a_clone_of_a_fitted_tagger_learns_the_same(name: str) -> None:
    tagger, X, Y, edges = fitted(name)
    twin = clone(tagger)
    assert not hasattr(twin, "coef_")
    assert_array_equal(twin.fit(X, Y, edges=edges).coef_, tagger.coef_)


def test_learning_again_forgets_what_was_learned() -> None:
    X, Y, _ = data_for("plain")
    fresh = SequenceTagger().fit(X, Y)
    again = SequenceTagger().fit([[["q"], ["r"]]], [["x", "y"]]).fit(X, Y)
    assert_array_equal(again.coef_, fresh.coef_)
    assert_array_equal(again.classes_, fresh.classes_)
    dense = LinearClassifier().fit(*blobs()).fit(*blobs(d=5))
    assert dense.n_features_in_ == 5
    assert_array_equal(dense.coef_, LinearClassifier().fit(*blobs(d=5)).coef_)


@pytest.mark.parametrize("model", [SequenceTagger(), LinearClassifier(C=2.0, loss=Hinge(), learner=SGD(rate=1.0))])
def test_a_representation_shows_what_was_set(model: Any) -> None:
    text = repr(model)
    assert text.startswith(type(model).__name__ + "(")
    assert ("C=2.0" in text) == (model.C == 2.0)
    assert "0x" not in text


def test_pipelines_end_in_a_classifier() -> None:
    X, y = blobs()
    scaled = make_pipeline(StandardScaler(), LinearClassifier()).fit(100 * X, y)
    assert scaled.score(100 * X, y) > 0.6
    words = ["a good day", "good good night", "bad day", "very bad night", "good", "bad bad"]
    opinions = ["+", "+", "-", "-", "+", "-"]
    assert make_pipeline(TfidfVectorizer(), LinearClassifier(C=10.0)).fit(words, opinions).score(words, opinions) == 1
    named = [{"w": word, "n": len(word)} for word in words]
    for through in (DictVectorizer(), DictVectorizer(sparse=False)):
        assert make_pipeline(through, LinearClassifier(C=10.0)).fit(named, opinions).score(named, opinions) == 1


def test_a_grid_search_over_classes() -> None:
    X, y = blobs()
    search = GridSearchCV(LinearClassifier(), {"C": np.logspace(-3, 1, 3), "loss": ["log", "softmax-margin"]}, cv=3)
    search.fit(X, y)
    assert search.best_params_["C"] in np.logspace(-3, 1, 3)
    assert search.predict(X).shape == y.shape
    assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)
    assert len(cross_val_score(LinearClassifier(), X, y, cv=4)) == 4
    named = [{"a": float(row[0]), "b": float(row[1])} for row in X]
    assert len(cross_val_score(LinearClassifier(), named, y, cv=3)) == 3


def test_a_grid_search_over_sequences(tmp_path: Path) -> None:
    X = sequences(0, n=12)
    Y = tags(X, 0)
    grid = {"C": [0.01, 1.0], "order": np.array([1, 2]), "start": [True, False]}
    search = GridSearchCV(SequenceTagger(), grid, cv=3).fit(X, Y)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    best = search.best_estimator_
    assert best.predict(X) == search.predict(X)
    best.save(tmp_path / "model")  # what a grid puts into the parameters can be saved
    assert load(tmp_path / "model").predict(X) == search.predict(X)
    assert len(cross_val_score(SequenceTagger(), X, Y, cv=3)) == 3


def test_a_label_missing_from_a_fold_is_a_wrong_answer_and_no_error() -> None:
    X, y = blobs()
    rare = np.where(np.arange(len(y)) == 0, "rare", y)
    assert np.isfinite(cross_val_score(LinearClassifier(), X, rare, cv=KFold(3))).all()
    sequences_X = sequences(0, n=9)
    Y = tags(sequences_X, 0)
    Y[0][0] = "rare"
    scores = cross_val_score(SequenceTagger(), sequences_X, Y, cv=KFold(3))
    assert np.isfinite(scores).all()


# ---- model files, pickles and copies ---------------------------------------------------------------------------------


@cache
def classifier(name: str) -> tuple[LinearClassifier, Any]:
    X, y = blobs()
    if name == "named":
        X = [{f"x{k}": float(value) for k, value in enumerate(row)} for row in X]
    if name == "sparse":
        X = csr_array(X)
    settings: dict[str, dict[str, Any]] = {
        "named": {"weights": "observed"},
        "hashed": {"weights": "hash:6"},
        "hinge": {"loss": Hinge(cost={"ant": 4.0}), "learner": "sgd"},
        "numbers": {},
    }
    if name == "hashed":
        X = [[f"x{k}" for k in np.flatnonzero(row > 0)] for row in X]
    labels: Any = np.arange(len(y)) % 3 * 10 if name == "numbers" else y
    return LinearClassifier(**settings.get(name, {})).fit(X, labels), X


CLASSIFIERS = ["dense", "sparse", "named", "hashed", "hinge", "numbers"]
MODELS = [("tagger", name) for name in TAGGERS] + [("classifier", name) for name in CLASSIFIERS]


def model_and_answers(kind: str, name: str) -> tuple[Any, Callable[[Any], list[Any]]]:
    """A fitted model, and what it (or a copy of it) answers."""
    if kind == "tagger":
        tagger, X, _, edges = fitted(name)
        new = data_for(name, seed=9)
        return tagger, lambda model: [
            model.predict(X, edges=edges),
            [mu.tolist() for mu in model.predict_marginals(X, edges=edges)],
            model.predict(new[0], edges=new[2]),
        ]
    model, rows = classifier(name)
    return model, lambda model: [model.predict(rows).tolist(), model.predict_proba(rows).tolist()]


def assert_same_model(copied: Any, model: Any) -> None:
    assert type(copied.estimator()) is type(model)
    assert_array_equal(copied.coef_, model.coef_)
    assert copied.coef_.dtype == model.coef_.dtype
    assert copied.classes_.tolist() == model.classes_.tolist()
    assert copied.converged_ == model.converged_
    assert (copied.ended_, copied.stop_reason_) == (model.ended_, model.stop_reason_)
    assert copied.C == model.C
    assert loss_named(copied.loss).name == loss_named(model.loss).name


@pytest.mark.parametrize(("kind", "name"), MODELS)
def test_a_file_gives_back_every_bit(kind: str, name: str, tmp_path: Path) -> None:
    model, answers = model_and_answers(kind, name)
    metadata = {"language": "ελληνικά", "templates": ["w[0]", {"nested": [1, 2.5, None, True]}]}
    model.save(tmp_path / "first", metadata)
    loaded = load(tmp_path / "first")
    assert_same_model(loaded, model)
    assert answers(loaded) == answers(model)
    assert loaded.metadata_ == metadata
    loaded.save(tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()
    assert answers(load(tmp_path / "second")) == answers(model)


def test_all_models_are_read_by_a_fresh_process(tmp_path: Path) -> None:
    X, _, edges = data_for("edges of order 2")
    fitted("edges of order 2")[0].save(tmp_path / "tagger")
    rows, _ = blobs()
    classifier("dense")[0].save(tmp_path / "classifier")
    question = {"X": X, "edges": edges, "rows": rows.tolist()}
    code = """
import json, sys
from margrave import load
question = json.loads(sys.stdin.read())
answer = {"tagger": load(sys.argv[1]).predict(question["X"], edges=question["edges"]),
          "classifier": load(sys.argv[2]).predict_proba(question["rows"]).tolist()}
print(json.dumps(answer))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "tagger"), str(tmp_path / "classifier")]
    run = subprocess.run(command, input=json.dumps(question), capture_output=True, text=True, check=True)
    answer = json.loads(run.stdout)
    assert answer["tagger"] == fitted("edges of order 2")[0].predict(X, edges=edges)
    assert answer["classifier"] == classifier("dense")[0].predict_proba(rows).tolist()


@pytest.mark.parametrize(("kind", "name"), MODELS)
def test_pickles_and_deep_copies_are_the_same_model(kind: str, name: str, tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    model, answers = model_and_answers(kind, name)
    joblib.dump(model, tmp_path / "model.joblib")
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "model.joblib")):
        assert_same_model(copied, model)
        assert answers(copied) == answers(model)


@pytest.mark.parametrize(("kind", "name"), [("tagger", "plain"), ("tagger", "edges"), ("classifier", "named")])
def test_a_loaded_model_can_be_pickled_cloned_and_copied(kind: str, name: str, tmp_path: Path) -> None:
    model, answers = model_and_answers(kind, name)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    (tmp_path / "model").unlink()
    assert answers(copy.deepcopy(loaded)) == answers(model)
    assert answers(pickle.loads(pickle.dumps(loaded))) == answers(model)
    assert not hasattr(clone(loaded.estimator()), "coef_")
    assert "0x" not in repr(loaded)


@pytest.mark.parametrize(("kind", "name"), [("tagger", "plain"), ("classifier", "named")])
def test_a_mapped_model_predicts_the_same(kind: str, name: str, tmp_path: Path) -> None:
    model, answers = model_and_answers(kind, name)
    model.save(tmp_path / "model")
    assert answers(load(tmp_path / "model", mmap=True)) == answers(model)


@pytest.mark.parametrize("name", [name for name in TAGGERS if name not in ("hinge", "perceptron")])
def test_a_loaded_model_learns_again_what_the_first_one_learned(name: str, tmp_path: Path) -> None:
    """All that decides the optimum is in the file: loss and cost, C, the structure and the feature map."""
    tagger, X, Y, edges = fitted(name)
    tagger.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").estimator().fit(X, Y, edges=edges).coef_, tagger.coef_)


def test_the_cost_of_a_loss_is_in_the_file(tmp_path: Path) -> None:
    X, y = blobs()
    for cost in ({"ant": 4.0}, [1.0, 2.0, 3.0], np.array([[0.0, 1, 2], [3, 0, 4], [5, 6, 0]]), "zero-one"):
        model = LinearClassifier(SoftmaxMargin(cost=cost)).fit(X, y)
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert_array_equal(loaded.estimator().fit(X, y).coef_, model.coef_)


@dataclass
class Descent(Learner):
    """A learner of the user's."""

    name = "descent"
    needs = ("finite beta",)

    rate: float = 0.05

    def begin(self, objective: Objective) -> dict[str, Any]:
        return {"objective": objective, "w": np.zeros(objective.problem.dim)}

    def one_pass(self, state: dict[str, Any]) -> Step:
        state["w"] = state["w"] - self.rate * state["objective"].value_and_gradient(state["w"])[1]
        return Step(state["w"], *state["objective"].certify(state["w"]))


def test_a_model_of_the_users_own_learner_can_be_kept_in_a_file(tmp_path: Path) -> None:
    X, Y, _ = data_for("plain")
    tagger = SequenceTagger(learner=Descent(), max_iter=20).fit(X, Y)
    tagger.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_array_equal(loaded.coef_, tagger.coef_)
    assert loaded.predict(X) == tagger.predict(X)


def test_metadata_is_kept_replaced_and_taken_away(tmp_path: Path) -> None:
    tagger, _, _, _ = fitted("plain")
    tagger.save(tmp_path / "model", {"a": 1})
    loaded = load(tmp_path / "model")
    loaded.save(tmp_path / "kept")
    assert load(tmp_path / "kept").metadata_ == {"a": 1}
    loaded.save(tmp_path / "replaced", {"b": 2})
    assert load(tmp_path / "replaced").metadata_ == {"b": 2}
    loaded.save(tmp_path / "gone", {})
    assert load(tmp_path / "gone").metadata_ == {}


def test_saving_changes_neither_the_model_nor_its_weights(tmp_path: Path) -> None:
    tagger, X, Y, _ = fitted("plain")
    before = tagger.coef_.copy()
    tagger.save(tmp_path / "model", {"a": 1})
    loaded = load(tmp_path / "model")
    loaded.estimator().fit(X[:4], Y[:4])
    assert_array_equal(tagger.coef_, before)
    assert_array_equal(load(tmp_path / "model").coef_, before)


def test_a_model_outlives_its_file(tmp_path: Path) -> None:
    tagger, X, _, _ = fitted("plain")
    tagger.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    fitted("order 2")[0].save(tmp_path / "model")
    assert loaded.predict(X) == tagger.predict(X)
    (tmp_path / "model").unlink()
    assert loaded.predict(X) == tagger.predict(X)


def test_what_is_shown_while_learning_goes_to_the_error_stream(capfd: pytest.CaptureFixture[str]) -> None:
    X, Y, _ = data_for("plain")
    quiet = SequenceTagger().fit(X, Y)
    assert capfd.readouterr() == ("", "")
    shown = SequenceTagger(verbose=True).fit(X, Y)
    assert capfd.readouterr().out == ""
    assert_array_equal(shown.coef_, quiet.coef_)
