"""Label graphs: Chow-Liu trees, and models against independent ones."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from margrave import HierarchicalMultiLabelClassifier, MargraveError, MultiLabelClassifier
from margrave.structures.label_graph import LabelCounts


def data(seed: int = 0, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    a = X[:, 0] + 0.5 * rng.normal(size=n) > 0
    b = np.where(rng.random(n) < 0.9, a, ~a)  # depends on a alone
    return X, np.stack([a, b, X[:, 1] > 0], axis=1).astype(int)


def test_the_tree_joins_the_labels_that_know_most_of_each_other() -> None:
    X, Y = data()
    model = MultiLabelClassifier(graph="tree").fit(X, Y)
    assert (0, 1) in model.edges_ and len(model.edges_) == 2
    assert MultiLabelClassifier(graph="full").fit(X, Y).edges_ == list(combinations(range(3), 2))
    assert MultiLabelClassifier(graph=[(2, 0)]).fit(X, Y).edges_ == [(0, 2)]


def test_counts_merge_over_shards() -> None:
    Y = [["a"], ["a", "b"], ["c"], [], ["b", "c"]]
    whole, merged = LabelCounts.of(Y), LabelCounts.of(Y[:2]).merge(LabelCounts.of(Y[2:]))
    assert (merged.labels, merged.counts, merged.examples) == (whole.labels, whole.counts, whole.examples)
    assert merged.tree() == whole.tree()


def test_independent_labels_are_one_model_each() -> None:
    X, Y = data()
    ours = MultiLabelClassifier(graph="independent", C=2.0, tol=1e-9).fit(X, Y)
    flat = HierarchicalMultiLabelClassifier("log", C=2.0, tol=1e-9).fit(X, Y)
    assert_allclose(ours.certificate_.primal, flat.certificate_.primal, rtol=1e-8)
    assert_allclose(ours.predict_proba(X), flat.predict_proba(X), atol=1e-4)


def test_marginals_of_labels_are_those_of_all_sets() -> None:
    X, Y = data()
    model = MultiLabelClassifier(graph="full", pair_attributes=True).fit(X, Y)
    every = model.predict_kbest(X[:1], k=8)[0]
    assert len(every) == 8
    mass = np.exp([score for score, _ in every])
    expected = [
        sum(m for m, (_, labels) in zip(mass, every, strict=True) if k in labels) / mass.sum() for k in range(3)
    ]
    assert_allclose(model.predict_proba(X[:1])[0], expected, atol=1e-9)


def test_an_indicator_matrix_keeps_labels_that_never_occur() -> None:
    X, Y = data()
    Y[:, 2] = 0
    model = MultiLabelClassifier().fit(X, Y)
    assert model.predict_proba(X).shape == Y.shape and model.edges_ == [(0, 1)]


def test_mistakes_are_named() -> None:
    X, Y = data()
    for graph, why in (
        ("trees", "did you mean 'tree'"),
        ([(0, 0)], "self-loop"),
        ([(0, 1), (1, 0)], "twice"),
        ([(0, 9)], "9"),
    ):
        with pytest.raises(MargraveError, match=why):
            MultiLabelClassifier(graph=graph).fit(X, Y)
    with pytest.raises(MargraveError, match="there are 40 examples in X and 39"):
        MultiLabelClassifier().fit(X, Y[:39])
    with pytest.raises(MargraveError, match="there are no labels"):
        MultiLabelClassifier().fit([["a"], ["b"]], [[], []])
    with pytest.raises(MargraveError, match="weights"):
        MultiLabelClassifier(weights="observed").fit(X, Y)


def test_a_single_label_is_a_logistic_regression() -> None:
    X, Y = data()
    y = Y[:, 0]
    model = MultiLabelClassifier(C=0.5, tol=1e-10).fit(X, y[:, None])
    with_one = np.hstack([X, np.ones((len(X), 1))])  # whose weight is penalized like all others
    other = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(with_one, y)
    assert model.edges_ == []
    assert_allclose(model.predict_proba(X)[:, 0], other.predict_proba(with_one)[:, 1], atol=1e-4)
