"""What approximate inference learns by default, and runs that end far from a stationary point."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from benchmarks.corpora.regions import regions
from margrave import GraphLabeler, LinearClassifier
from margrave.learners import SGD, Auto
from margrave.losses import Log, SoftmaxMargin


def alone(train: tuple[list[Any], list[Any]], new: tuple[list[Any], list[Any]]) -> float:
    """The accuracy of a classifier of single pixels."""
    (X, y), (X_new, y_new) = (
        ([pixel for image in images for row in image for pixel in row], np.concatenate([each.ravel() for each in of]))
        for images, of in (train, new)
    )
    return float(LinearClassifier().fit(np.array(X), y).score(np.array(X_new), y_new))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("n", "side", "labels"), [(6, 12, 3), (6, 10, 8), (4, 10, 14)])
def test_the_defaults_of_approximate_inference_label_better_than_without_edges(n: int, side: int, labels: int) -> None:
    """Also with many labels, where messages do not converge and the objective jumps."""
    scores = []
    for seed in (1, 2):
        train, new = regions(n, side, labels, seed), regions(4, 14, labels, 99 + seed)
        scores.append((GraphLabeler(inference="bp").fit(*train).score(*new), alone(train, new)))
    ours, others = np.mean(scores, axis=0)
    assert ours > others + 0.02


@pytest.mark.parametrize("labels", [3, 10])
def test_bounds_without_jumps_are_minimized_to_tol_by_default(labels: int) -> None:
    X, y = regions(4, 8, labels, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GraphLabeler(inference="trw", C=0.1, tol=1e-2).fit(X, y)
        path = GraphLabeler(inference="trw", tol=1e-2).fit_path(X, y, [0.1, 0.05])
    assert model.converged_ and all(each.converged_ for each in path)
    assert {each.learner_.name for each in (model, *path)} == {"lbfgs"}


@pytest.mark.parametrize("loss", [Log(), SoftmaxMargin()])
@pytest.mark.parametrize("dim", [1, 20_000, 2**22])
def test_the_choice_for_approximate_inference_does_not_depend_on_the_number_of_weights(loss: Any, dim: int) -> None:
    class Problem:
        exact, euclidean, any_scores, offers = False, True, True, ("argmax", "logsum")

    problem: Any = Problem()
    problem.dim = dim
    assert Auto().resolve(loss, problem).name == "mira"


@pytest.mark.parametrize("learner", [SGD(rate=1e-6), SGD(rate=1e-5)], ids=["slow", "slower"])
@pytest.mark.parametrize("C", [0.01, 0.1])
def test_a_run_that_ends_far_from_a_stationary_point_warns(learner: Any, C: float) -> None:
    X, y = regions(2, 6, 3, 0)
    model = GraphLabeler(inference="bp", learner=learner, C=C, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=f"learner '{learner.name}' ended far from the optimum"):
        model.fit(X, y)


def test_other_runs_do_not_warn() -> None:
    X, y = regions(2, 6, 3, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphLabeler(inference="bp", learner="lbfgs", C=0.01, tol=1e-2).fit(X, y)
        GraphLabeler("hinge", inference="relaxed", learner="sgd", max_iter=2).fit(X, y)  # no gradient
        LinearClassifier(learner=SGD(rate=1e-6), max_iter=2).fit(np.eye(3), ["a", "b", "c"])  # exact inference
