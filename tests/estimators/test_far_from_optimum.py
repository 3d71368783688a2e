"""What approximate inference learns by default, and runs that end far from a stationary point."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from margrave import GraphLabeler, LinearClassifier
from margrave.learners import SGD, Auto
from margrave.losses import Log, SoftmaxMargin

Images = tuple[list[Any], list[Any]]


def regions(n: int, side: int, labels: int, seed: int) -> Images:
    """Images whose regions have one label each, and pixels that show it half of the time."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        at, of = rng.uniform(0, side, (side * side // 20 + 2, 2)), rng.integers(0, labels, side * side // 20 + 2)
        grid = np.stack(np.mgrid[:side, :side], axis=-1)[:, :, None, :]
        truth = of[((grid - at) ** 2).sum(axis=-1).argmin(axis=-1)]
        seen = np.where(rng.random(truth.shape) < 0.5, truth, rng.integers(0, labels, truth.shape))
        X.append(np.eye(labels)[seen])
        y.append(truth)
    return X, y


@pytest.mark.parametrize(
    ("n", "side", "labels", "C"), [(4, 10, 3, 0.1), (6, 8, 5, 1.0), (3, 8, 10, 1.0), (3, 8, 14, 0.1), (3, 8, 20, 0.1)]
)
def test_the_default_of_approximate_inference_labels_new_grids_as_well_as_other_learners(
    n: int, side: int, labels: int, C: float
) -> None:
    """Also with many labels, where messages do not converge and the objective jumps."""
    X, y = regions(n, side, labels, 1)
    new = regions(4, 16, labels, 99)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, *others = (
            GraphLabeler(learner=learner, inference="bp", C=C, tol=1e-2, decode="marginals").fit(X, y).score(*new)
            for learner in ("auto", "sgd", "lbfgs")
        )
    assert ours >= max(others) - 0.05


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
