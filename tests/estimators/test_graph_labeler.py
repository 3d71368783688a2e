"""Labels of graphs: nodes without a label, and pixels against a plain classifier."""

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import GraphLabeler, MargraveError
from tests.estimators.registry import COLORS, color_maps


def observed_loss(model: GraphLabeler, graph, labels: list) -> float:
    """-log of the probability of the labels that are known, by looking at all labelings."""
    every = model.predict_kbest([graph], k=10**6)[0]
    assert len(every) == len(model.classes_) ** len(labels)
    scores = np.array([score for score, _ in every])
    agree = [all(a in (None, b) for a, b in zip(labels, y, strict=True)) for _, y in every]
    top = scores.max()
    return float(np.log(np.exp(scores - top).sum()) - np.log(np.exp(scores[agree] - top).sum()))


def test_unknown_labels_are_summed_out() -> None:
    partly = [["r", None, "r", "b"], ["b", None, None], ["r"], [None, None, None]]
    model = GraphLabeler(C=3.0, tol=1e-12, n_jobs=1).fit(color_maps(), partly)

    def objective(w: np.ndarray) -> float:
        other = GraphLabeler(C=3.0).fit(color_maps(), partly)
        other.coef_ = w
        losses = (observed_loss(other, graph, y) for graph, y in zip(color_maps(), partly, strict=True))
        return 0.5 * float(w @ w) + 3.0 * sum(losses)

    value = objective(model.coef_)
    assert_allclose(model.certificate_.primal, value, rtol=1e-9)
    step = np.random.default_rng(0).normal(size=model.coef_.size)
    for direction in (step, *np.eye(len(step))[:4]):  # a stationary point
        slope = (objective(model.coef_ + 1e-4 * direction) - objective(model.coef_ - 1e-4 * direction)) / 2e-4
        assert abs(slope) < 1e-3 * np.linalg.norm(direction)
    values = [record.primal for record in model.history_]
    assert all(b <= a + 1e-9 for a, b in pairwise(values))


def test_without_unknown_labels_it_is_the_log_loss() -> None:
    """One label that is unknown in an example of its own adds nothing, since all its labelings agree."""
    X, y = color_maps(), COLORS
    whole = GraphLabeler(C=2.0, tol=1e-9, n_jobs=1).fit(X, y)
    more = GraphLabeler(C=2.0, tol=1e-11, n_jobs=1).fit([*X, X[2]], [*y, [None]])
    assert more.learner_.name == "cccp"
    assert_allclose(more.certificate_.primal, whole.certificate_.primal, rtol=1e-6)
    assert_allclose(more.coef_, whole.coef_, atol=1e-3)
    assert more.score([*X, X[2]], [*y, [None]]) == whole.score(X, y)


def test_a_score_needs_a_known_label() -> None:
    X, y = color_maps(), COLORS
    model = GraphLabeler().fit(X, y)
    with pytest.raises(MargraveError, match="no node has a known label, so there is nothing to score"):
        model.score(X, [[None] * len(each) for each in y])


def test_a_small_limit_of_memory_is_said_as_it_is() -> None:
    with pytest.raises(MargraveError, match=r"tables of 0\.\d+ MB, and the limit is 1e-05 MB"):
        GraphLabeler(memory=1e-5).fit(color_maps(), COLORS)


def test_unknown_labels_need_the_log_loss() -> None:
    X, partly = color_maps(), [[None, *y[1:]] for y in COLORS]
    for loss in ("hinge", "softmax-margin", "ramp"):
        with pytest.raises(MargraveError, match="need the log loss"):
            GraphLabeler(loss).fit(X, partly)
    with pytest.raises(MargraveError, match="a path of C needs all labels"):
        GraphLabeler().fit_path(X, partly, [1.0])
    with pytest.raises(MargraveError, match="no node has a label"):
        GraphLabeler().fit(X, [[None] * len(y) for y in COLORS])
    image = np.array([[1, None], [0, 1]], dtype=object)
    assert GraphLabeler().fit([np.eye(2)], [image]).predict([np.eye(2)])[0].shape == (2, 2)


def test_neighbors_help_where_pixels_are_noisy() -> None:
    rng = np.random.default_rng(0)
    truth = [np.repeat(rng.integers(0, 2, (1, 8)), 3, axis=0) for _ in range(40)]
    seen = [np.where(rng.random(y.shape) < 0.25, 1 - y, y).astype(float) for y in truth]
    grid = GraphLabeler().fit(seen[:30], truth[:30])
    pixels = GraphLabeler().fit([(x.reshape(-1, 1), []) for x in seen[:30]], [y.ravel() for y in truth[:30]])
    alone = pixels.score([(x.reshape(-1, 1), []) for x in seen[30:]], [y.ravel() for y in truth[30:]])
    assert grid.score(seen[30:], truth[30:]) > alone + 0.05


@pytest.mark.parametrize("neighbors", [4, 8])
def test_marginals_of_images_are_those_of_all_labelings(neighbors: int) -> None:
    rng = np.random.default_rng(1)
    X, y = [rng.normal(size=(2, 3))] * 4, [rng.integers(0, 2, (2, 3)) for _ in range(4)]
    model = GraphLabeler(neighbors=neighbors).fit(X, y)
    every = model.predict_kbest(X[:1], k=64)[0]
    assert len({found.tobytes() for _, found in every}) == len(list(product(range(2), repeat=6)))
    mass = np.exp([score for score, _ in every])
    expected = sum(m * (found == 1) for m, (_, found) in zip(mass, every, strict=True)) / mass.sum()
    assert_allclose(model.predict_marginals(X[:1])[0][:, :, 1], expected, atol=1e-9)


@pytest.mark.parametrize("inference", ["bp", "trw", "relaxed", "lp"])
def test_approximate_inference_says_how_it_went(inference: str) -> None:
    X, y = color_maps(), COLORS
    model = GraphLabeler(inference=inference, C=10.0, max_iter=20).fit(X, y)
    assert "approximate" in model.stop_reason_ and not model.certificate_.exact
    report = model.inference_report(X)
    assert report.examples == len(X) and report.converged == 1 and report.sweeps >= 1
    assert report.certified == 1  # these graphs are trees and one cycle
    assert model.score(X, y) == 1
    for verb in (model.predict_kbest, model.sample):
        with pytest.raises(MargraveError, match="use inference='exact'"):
            verb(X)
    with pytest.raises(MargraveError, match="inference is exact, and there is nothing to report"):
        GraphLabeler().fit(X, y).inference_report(X)
