"""Graphs some labels of which are never seen, and labels with hidden states."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import GraphLabeler, MargraveError, load
from margrave.estimators.graph_labeler import _unknown_labels
from margrave.learners import CCCP
from margrave.structures.hidden_states import LabelStates

Graphs = tuple[list[Any], list[list[Any]]]


def stars(hidden: int, leaves: int = 4, n: int = 60, seed: int = 0) -> Graphs:
    """Leaves that mostly have the label of their center, which has no label in any graph."""
    rng = np.random.default_rng(seed)
    labels = "abcd"[:hidden]
    X: list[Any] = []
    Y = []
    for _ in range(n):
        center = rng.integers(hidden)
        of_leaves = np.where(rng.random(leaves) < 0.9, center, rng.integers(0, hidden, leaves))
        X.append(([["center"], *[["leaf"]] * leaves], [(0, k) for k in range(1, leaves + 1)]))
        Y.append([None, *(labels[k] for k in of_leaves)])
    return X, Y


def shapes(n: int, seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    """Chains of noisy numbers; "round" stands for numbers near -2 and near 2, and "flat" for those near 0."""
    rng = np.random.default_rng(seed)
    X: list[Any] = []
    Y = []
    for _ in range(n):
        labels = rng.integers(0, 2, 4)
        sides = rng.choice([-2.0, 2.0], 4)
        X.append(((labels * sides + 0.5 * rng.standard_normal(4))[:, None], [(k, k + 1) for k in range(3)]))
        Y.append(["round" if label else "flat" for label in labels])
    return X, Y


@pytest.mark.parametrize(("hidden", "leaves"), [(2, 3), (2, 6), (3, 4), (4, 4)])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_labels_that_no_graph_shows_are_told_apart(hidden: int, leaves: int, seed: int) -> None:
    """At w = 0 all labels of the centers look alike: the objective is as low as with a center that is known."""
    X, Y = stars(hidden, leaves)
    shown = [[each[1], *each[1:]] for each in Y[:1]] + Y[1:]
    model = GraphLabeler(random_state=seed).fit(X, Y)
    assert model.converged_
    with_one = GraphLabeler(random_state=seed).fit(X, shown)
    assert model.certificate_.primal <= with_one.certificate_.primal * 1.02


@pytest.mark.parametrize("pairs", ["directed", "symmetric", "equal"])
@pytest.mark.parametrize("learner", ["auto", "cccp"])
@pytest.mark.parametrize(("hidden", "leaves"), [(2, 4), (3, 4), (4, 6)])
def test_no_start_stays_where_labels_that_no_graph_shows_look_alike(
    hidden: int, leaves: int, learner: str, pairs: str
) -> None:
    """w = 0 is on the way to a saddle: weights for all pairs of labels keep the labels of the centers alike."""
    X, Y = stars(hidden, leaves, n=40)
    alike = objective_of_leaves_alone(Y)
    found = set()
    for seed in range(3):
        model = GraphLabeler(pairs=pairs, learner=learner, starts=1, random_state=seed).fit(X, Y)
        assert model.certificate_.primal < 0.9 * alike
        found.add(model.coef_.tobytes())
    assert len(found) == 3
    several = GraphLabeler(pairs=pairs, learner=learner, starts=2).fit(X, Y)
    assert all(each["objective"] < 0.9 * alike for each in several.starts_)


def objective_of_leaves_alone(Y: list[list[Any]]) -> float:
    """The lowest objective if the labels of leaves do not depend on the center."""
    leaves = [label for y in Y for label in y if label is not None]
    return float(
        GraphLabeler().fit([([["leaf"]], [])] * len(leaves), [[label] for label in leaves]).certificate_.primal
    )


@pytest.mark.parametrize("starts", [1, 2, 3, 5])
def test_it_says_how_many_starts_agree_with_the_lowest_objective(starts: int) -> None:
    model = GraphLabeler(starts=starts).fit(*stars(2))
    if starts == 1:
        assert "agree" not in model.stop_reason_
        return
    lowest = min(each["objective"] for each in model.starts_)
    assert_allclose(model.certificate_.primal, lowest, rtol=1e-12)
    agree = sum(each["objective"] <= lowest + 10 * model.tol * abs(lowest) for each in model.starts_)
    assert len(model.starts_) == starts
    assert f"({agree} of {starts} starts agree)" in model.stop_reason_


def test_cccp_is_a_learner_of_unknown_labels_and_others_run_inside_it() -> None:
    X, Y = stars(2, n=20)
    lowest = GraphLabeler().fit(X, Y)
    assert lowest.learner_.name == "lbfgs"
    for learner, inner in (("cccp", "auto"), (CCCP(inner="eg", rounds=300), "eg"), ("eg", "eg")):
        model = GraphLabeler(learner=learner).fit(X, Y)
        assert isinstance(model.learner_, CCCP) and model.learner_.inner == inner
        assert_allclose(model.certificate_.primal, lowest.certificate_.primal, rtol=0.01)
    with pytest.raises(MargraveError, match="is for differences of losses"):
        GraphLabeler(learner="cccp").fit(X, [["a"] * len(y) for y in Y])


@pytest.mark.parametrize("states", [2, 3, {"round": 2}])
def test_hidden_states_learn_what_one_state_cannot(states: Any) -> None:
    """A label whose nodes lie on both sides of those of another one."""
    train, test = shapes(40), shapes(40, seed=1)
    plain = GraphLabeler(C=10.0).fit(*train).score(*test)
    for decode in ("best", "marginals"):
        model = GraphLabeler(C=10.0, states=states, decode=decode).fit(*train)
        assert model.classes_.tolist() == ["flat", "round"]
        assert model.score(*test) > max(0.9, plain + 0.2)


@pytest.mark.parametrize("states", [2, {"round": 3}])
def test_probabilities_are_sums_over_the_states(states: Any, tmp_path: Any) -> None:
    """The model with a label for each state is the same problem, without the sums."""
    X, Y = shapes(6)
    model = GraphLabeler(C=2.0, states=states).fit(X, Y)
    counts = [2, 2] if states == 2 else [1, 3]
    assert isinstance(model.outputs_, LabelStates) and model.outputs_.states == counts
    owner = np.repeat([0, 1], counts)
    names = [f"{k}" for k in range(len(owner))]
    flat = GraphLabeler().fit(X, [[*names, *names][: len(y)] for y in Y])
    assert flat.classes_.tolist() == names
    flat.coef_ = model.coef_
    rows = flat.predict_marginals(X)
    for mine, row in zip(model.predict_marginals(X), rows, strict=True):
        for label in (0, 1):
            assert_allclose(mine[:, label], row[:, owner == label].sum(axis=1), atol=1e-9)
    total = np.zeros(len(X))
    for y in product(model.classes_.tolist(), repeat=4):
        total += np.exp(model.log_probability(X, [list(y)] * len(X)))
    assert_allclose(total, 1, rtol=1e-9)
    likelihood = model.log_probability(X, Y).sum()
    assert_allclose(model.certificate_.primal, 0.5 * model.coef_ @ model.coef_ - 2.0 * likelihood, rtol=1e-9)
    assert_allclose(model.log_probability(X, [[None] * 4] * len(X)), 0, atol=1e-9)
    model.save(tmp_path / "states.margrave")
    again = load(tmp_path / "states.margrave")
    assert again.predict(X) == model.predict(X)
    columns = [(label, k) for label, count in zip(["flat", "round"], counts, strict=True) for k in range(count)]
    assert list(again.top_features(1)) == columns


def test_what_hidden_states_do_not_allow_is_refused() -> None:
    X, Y = shapes(5)
    model = GraphLabeler(states=2).fit(X, Y)
    with pytest.raises(MargraveError, match="use sample"):
        model.predict_kbest(X)
    assert set(model.sample(X, n=3)[0][0]) <= {"flat", "round"}
    with pytest.raises(MargraveError, match="hidden states need the log loss"):
        GraphLabeler("hinge", states=2).fit(X, Y)
    with pytest.raises(MargraveError, match="they have hidden states"):
        GraphLabeler(states=2).fit_path(X, Y, [1.0])
    with pytest.raises(MargraveError, match="unknown label with states 'square'"):
        GraphLabeler(states={"square": 2}).fit(X, Y)
    with pytest.raises(MargraveError, match="the number of states of label 'flat'"):
        GraphLabeler(states={"flat": 0}).fit(X, Y)
    with pytest.raises(MargraveError, match="at least 1"):
        GraphLabeler(states=0).fit(X, Y)
    with pytest.raises(MargraveError, match="numbers of states for 1"):
        LabelStates(np.array(["a", "b"]), [1])


def test_states_of_shards_merge() -> None:
    one, other = LabelStates(np.array(["a", "c"]), [1, 3]), LabelStates(np.array(["b", "c"]), [2, 3])
    both = one.merge(other)
    assert both.classes.tolist() == ["a", "b", "c"] and both.states == [1, 2, 3]
    assert both.names == ["a", "b", "b", "c", "c", "c"]
    assert not _unknown_labels([["a"]])
