"""Candidate lists: several good outputs, the core's checks, and the Reranker against what it must equal."""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csr_array
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import tests.references.refusals as refusals
from margrave import LinearClassifier, MargraveError, Reranker, _core, load
from margrave.examples import Examples
from margrave.files import model as model_file
from margrave.learners import BCFW, LP, Checkpoint, CuttingPlane, Objective, learner_named
from margrave.learners.checkpoint import fingerprint
from margrave.learners.checks import check_loss
from margrave.losses import Hinge, Log, LossFamily, SoftmaxMargin, loss_named
from margrave.maps import SparseMap
from margrave.maps.mercer import Kernel
from margrave.structures import CandidateLists, NoOutputs
from tests.references.problems import bind as bind_examples
from tests.references.svm import HARD, Example, NotSeparableError, examples_of, optimum
from tests.registry import BUILT_IN_LEARNERS, KINDS
from tests.registry.problems import Gaps


def lists(seed: int, size: int = 30, width: int = 4) -> tuple[list[np.ndarray], list[list[int]]]:
    """Lists of 1 to 6 candidates whose good ones score best under weights that noise hides a little."""
    rng = np.random.default_rng(seed)
    w = np.arange(1.0, width + 1) * np.resize([1, -1], width)
    X = [rng.normal(size=(int(n), width)) for n in rng.integers(1, 7, size)]
    order = [np.argsort(-(x @ w + 0.3 * rng.normal(size=len(x)))) for x in X]
    return X, [y[: rng.integers(1, len(y) // 2 + 2)].tolist() for y in order]


def named(X: list[np.ndarray]) -> list[list[dict[str, float]]]:
    return [[{f"x{k}": float(v) for k, v in enumerate(row)} for row in x] for x in X]


def bind(X: Any, good: Any = None, costs: Any = None, **settings: Any) -> _core.Problem:
    return bind_examples(CandidateLists(), X, good, costs, **{"feature_map": SparseMap(unit="candidate"), **settings})


def refusal(call: Any) -> str:
    """The message, which is one sentence."""
    message = refusals.refusal(call)
    assert ". " not in message
    return message


# ---- several good outputs --------------------------------------------------------------------------------------------


def test_the_good_outputs_come_best_first_also_from_slices_and_offsets() -> None:
    problem = bind([np.eye(3), np.ones((2, 3)), np.eye(3)], [[2, 0], 1, [0, 1, 2]])
    views = {0: problem, 1: problem.slice(1, 3), 2: problem.slice(1, 3).slice(1, 2)}
    for begin, view in views.items():
        for i in range(view.size):
            good = [[2, 0], [1], [0, 1, 2]][begin + i]
            assert view.gold_count(i) == len(good)
            assert [view.gold(i, k).tolist() for k in range(len(good))] == [[k] for k in good]
            assert view.gold(i).tolist() == good[:1]
    offset = _core.offset(problem, np.ones(3))
    assert [offset.gold_count(i) for i in range(3)] == [2, 1, 3]
    for k in (-1, 2, 2**40):
        message = refusal(lambda k=k: problem.gold(0, k))
        assert message == f"good output {k} of example 0 is out of range: there are 2."
    assert "example 3 is out of range" in refusal(lambda: problem.gold_count(3))
    assert "without good candidates" in refusal(lambda: bind([np.eye(3)], feature_map=learned(3)).gold_count(0))


def learned(width: int) -> SparseMap:
    feature_map = SparseMap(unit="candidate")
    bind([np.eye(width)], [0], feature_map=feature_map)
    return feature_map


class GapsWithSeveral(Gaps):
    """Several good outputs, written in Python."""

    every_good: Any

    def gold_count(self, i: int) -> Any:
        return len(self.every_good) if isinstance(self.every_good, list) else self.every_good

    def gold(self, i: int, k: int = 0) -> Any:
        return np.array(self.every_good[k], dtype=np.int32) if isinstance(self.every_good, list) else super().gold(i)


def test_a_problem_written_in_python_may_have_several_good_outputs() -> None:
    old = Gaps([np.eye(3)], [(0, 2)])
    assert old.gold_count(0) == old.slice(0, 1).gold_count(0) == 1
    assert old.slice(0, 1).gold(0, 0).tolist() == [0, 2]
    assert "there are 1" in refusal(lambda: old.slice(0, 1).gold(0, 1))
    several = GapsWithSeveral([np.eye(3)], [(0, 2)])
    several.every_good = [[0, 2], [1], []]
    view = several.slice(0, 1)
    assert view.gold_count(0) == 3
    assert [view.gold(0, k).tolist() for k in range(3)] == several.every_good
    several.every_good = [[0, 2], [7]]
    assert "part 7 is out of range" in refusal(lambda: view.gold(0, 1))
    for wrong, words in ((0, "must be at least 1"), ("two", "must return a whole number, not str")):
        several.every_good = wrong
        assert f"gold_count(i) {words}" in refusal(lambda: view.gold(0))


def test_other_good_candidates_make_other_data_of_a_checkpoint() -> None:
    def data(good: list[int]) -> str:
        problem = bind([np.eye(3)], [good], [np.zeros(3)])
        return fingerprint(Objective(problem, Hinge()), "bcfw", {})["data"]

    assert data([0]) != data([0, 1]) != data([0, 2])
    assert data([0, 1]) == data([0, 1])


def test_a_hard_margin_asks_nothing_of_other_good_candidates() -> None:
    apart = together = 0
    for seed in range(20):
        case = next(kind for kind in KINDS if kind.name == "candidates, vectors")(seed, size=3)
        examples = []
        for i, x in enumerate(examples_of(case)):
            bad = [k for k, y in enumerate(x.ys) if y not in case.good(i)]
            examples.append(Example([x.ys[k] for k in bad], x.psi[bad], x.cost[bad], x.gold))
        if not sum(len(x.ys) for x in examples):
            continue
        try:
            there = optimum(HARD, examples)
        except NotSeparableError:
            together += 1
            assert "not separable" in refusal(
                lambda case=case: CuttingPlane().solve(Objective(case.problem, Hinge(slack=0)))
            )
            continue
        apart += 1
        solution = CuttingPlane().solve(Objective(case.problem, Hinge(slack=0), tol=1e-7))
        assert solution.certificate.primal == pytest.approx(there.primal, rel=1e-5)
    assert apart >= 3
    assert together >= 2


# ---- what the core refuses -------------------------------------------------------------------------------------------

BAD_ARRAYS: dict[str, tuple[list[int], Any, Any, Any, str]] = {
    "no bounds": ([], None, None, None, "must begin with 0"),
    "bounds from 1": ([1, 2], None, None, None, "must begin with 0"),
    "no candidates": ([0, 2, 2], None, None, None, "example 1 has no candidates"),
    "falling bounds": ([0, 2, 1], None, None, None, "example 1 has no candidates"),
    "too many": ([0, 2**31], None, None, None, "example 0 has too many candidates"),
    "costs alone": ([0, 2], None, None, [0.0, 1.0], "come with the bounds of the good ones"),
    "good ones without bounds": ([0, 2], None, [0], None, "come with the bounds of the good ones"),
    "bounds for fewer": ([0, 2, 3], [0, 1], [0], None, "bounds of good candidates must ascend"),
    "bounds beyond": ([0, 2], [0, 2], [0], None, "bounds of good candidates must ascend"),
    "falling good bounds": ([0, 2, 3], [0, 2, 1], [0], None, "bounds of good candidates must ascend"),
    "good bounds from 1": ([0, 2], [1, 1], [0], None, "bounds of good candidates must ascend"),
    "no good one": ([0, 2, 3], [0, 1, 1], [0], None, "example 1 has no good candidate"),
    "good one too high": ([0, 2], [0, 1], [2], None, "example 0: there is no candidate 2 among its 2"),
    "good one below 0": ([0, 2], [0, 1], [-1], None, "example 0: there is no candidate -1 among its 2"),
    "good one twice": ([0, 2], [0, 2], [1, 1], None, "example 0: candidate 1 is listed twice as good"),
    "few costs": ([0, 2], [0, 1], [0], [0.0], "one cost per candidate"),
    "a NaN": ([0, 2], [0, 1], [0], [0.0, np.nan], "example 0, candidate 1: costs must be finite and not negative"),
    "an infinite cost": ([0, 2], [0, 1], [0], [0.0, inf], "costs must be finite and not negative"),
    "a negative cost": ([0, 2], [0, 1], [0], [0.0, -1.0], "costs must be finite and not negative"),
    "a good one that costs": ([0, 2], [0, 1], [1], [0.0, 1.0], "example 0, candidate 1: a good candidate must cost 0"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_arrays_that_are_no_lists_are_refused(name: str) -> None:
    begin, good_begin, good, cost, words = BAD_ARRAYS[name]

    def as_array(values: Any, dtype: Any) -> Any:
        return None if values is None else np.array(values, dtype=dtype)

    arrays = as_array(good_begin, np.int64), as_array(good, np.int32), as_array(cost, np.float64)
    assert words in refusal(lambda: _core.candidates(np.array(begin, dtype=np.int64), *arrays))


def test_lists_that_do_not_fit_their_features_are_refused() -> None:
    structure = _core.candidates(np.array([0, 2]), None, None, None)
    rows = _core.dense_rows(np.eye(3), np.array([0, 3]), False)
    assert "has features for 3 parts" in refusal(
        lambda: _core.join(structure, _core.sparse_parts(3, rows, np.array([3])))
    )


# ---- what a user gets wrong ------------------------------------------------------------------------------------------

A, B = {"a": 1.0}, {"b": 1.0}
BAD_INPUT: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "no examples": ([], [], {}, "there are no examples to learn from."),
    "a text": ("abc", [0], {}, "X must be a sequence of examples, not str."),
    "a number": (3, [0], {}, "X must be a sequence of examples, not int."),
    "one list only": (np.eye(2), [0], {}, "X must be a list with the candidates of each example"),
    "a sparse matrix": (csr_array(np.eye(2)), [0], {}, "X must be a list with the candidates of each example"),
    "a number for a list": ([[A, B], 3], [0, 0], {}, "example 1: its candidates must be a list or a matrix, not int."),
    "a dictionary for a list": ([A], [0], {}, "example 0: its candidates must be a list or a matrix, not dict."),
    "no candidates": ([[A, B], []], [0, 0], {}, "example 1: there is no candidate 0 among its 0."),
    "a text for a candidate": ([[A, "b"]], [0], {}, "example 0, candidate 1: a candidate must be a list of attribute"),
    "a number for a candidate": ([[A, 3]], [0], {}, "example 0, candidate 1: a candidate must be a list of attribute"),
    "a value that is not a number": ([[A, {"b": None}]], [0], {}, "example 0, candidate 1: attribute 'b' must have a"),
    "a NaN among names": ([[A, {"b": np.nan}]], [0], {}, "example 0, candidate 1: attribute 'b' has the value nan"),
    "a NaN in a matrix": ([np.array([[0.0], [np.nan]])], [0], {}, "example 0, candidate 1, column 0: the value is nan"),
    "a vector for a matrix": ([np.ones(3)], [0], {}, "example 0: vectors must be rows of a two-dimensional array"),
    "columns that differ": ([np.ones((2, 3)), np.ones((2, 2))], [0, 0], {}, "example 1 has vectors of length 2"),
    "names after vectors": ([np.ones((2, 3)), [A]], [0, 0], {}, "example 1: vectors must be arrays of numbers"),
    "y that is a text": ([[A, B]], "0", {}, "y must be a list of outputs, one per example, not str."),
    "y of another length": ([[A, B]], [0, 1], {}, "there are 1 lists of candidates, but good candidates for 2."),
    "a half candidate": ([[A, B]], [0.5], {}, "example 0: the number of a good candidate must be a whole number"),
    "a flag": ([[A, B]], [True], {}, "example 0: the number of a good candidate must be a whole number"),
    "a name for a number": ([[A, B]], ["a"], {}, "example 0: its good candidates must be a number or a list"),
    "a set without order": ([[A, B]], [{0, 1}], {}, "best first, not set."),
    "below 0": ([[A, B]], [-1], {}, "example 0: the number of a good candidate must be at least 0, and it is -1."),
    "beyond the list": ([[A], [A, B]], [0, [0, 2]], {}, "example 1: there is no candidate 2 among its 2."),
    "good twice": ([[A, B]], [[1, 1]], {}, "example 0: candidate 1 is given twice as good."),
    "costs of another length": ([[A, B]], [0], {"costs": [[0, 1], [1, 0]]}, "costs must be a list with the costs"),
    "a number for costs": ([[A, B]], [0], {"costs": 3}, "costs must be a list with the costs"),
    "few costs": ([[A, B]], [0], {"costs": [[0]]}, "example 0: costs must be 2 numbers, one per candidate"),
    "costs that are no numbers": ([[A, B]], [0], {"costs": [["x", "y"]]}, "example 0: costs must be numbers"),
    "an infinite cost": ([[A, B]], [0], {"costs": [[0, inf]]}, "example 0: costs must be finite and not negative."),
    "a negative cost": ([[A, B]], [0], {"costs": [[0, -1]]}, "example 0: costs must be finite and not negative."),
    "a good one that costs": ([[A, B]], [0], {"costs": [[1, 0]]}, "example 0: good candidates must cost 0."),
    "few weights": ([[A, B]], [0], {"sample_weight": [1, 2]}, "sample_weight must have one number per example"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_what_a_user_gets_wrong_is_one_sentence(name: str) -> None:
    X, y, others, words = BAD_INPUT[name]
    assert words in refusal(lambda: Reranker().fit(X, y, **others))


BAD_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "a matrix": ({"loss": Hinge(cost=[[0, 1], [1, 0]])}, "the cost of a candidate is 'hamming'"),
    "a mapping": ({"loss": Hinge(cost={"a": 1.0})}, "the cost of a candidate is 'hamming'"),
    "f1": ({"loss": Hinge(cost="f1"), "learner": "cutting-plane"}, "the cost of a candidate is 'hamming'"),
    "a function for BCFW": ({"loss": Hinge(cost=lambda a, b: 1.0), "learner": "bcfw"}, "use learner='cutting-plane'"),
    "no_good": ({"no_good": "stopp"}, "unknown no_good 'stopp'; did you mean 'stop'?"),
    "observed": ({"weights": "observed"}, "the weights of candidates are 'all' or 'hash:BITS'"),
    "a kernel": ({"weights": Kernel("linear")}, "the weights of candidates are 'all' or 'hash:BITS'"),
    "unknown weights": ({"weights": "some"}, "unknown weights 'some'"),
    "an unknown learner": ({"learner": "simplex"}, "unknown learner 'simplex'"),
    "C": ({"C": 0}, "C must be positive and finite, and it is 0."),
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_settings_that_make_no_sense_are_refused(name: str) -> None:
    wrong, words = BAD_SETTINGS[name]
    assert words in refusal(lambda: Reranker(**wrong).fit([[A, B]], [0]))


def test_binding_needs_what_it_learns_from() -> None:
    assert "there are no outputs" in refusal(lambda: bind([[A, B]]))
    assert "need good candidates" in refusal(lambda: bind([np.eye(2)], None, [[0, 1]], feature_map=learned(2)))
    assert "example 1 has no good candidate" in refusal(lambda: bind([[A, B], [A]], [0, []]))
    assert "example 0 has no candidates" in refusal(lambda: Reranker.of_weights({"a": 1.0}).predict([[]]))
    model = Reranker().fit([[A, B]], [0])
    assert "trained on named attributes" in refusal(lambda: model.predict([np.eye(2)]))
    model = Reranker().fit([np.eye(2)], [0])
    assert "vectors of length 2, and these have 3" in refusal(lambda: model.predict([np.eye(3)]))
    with pytest.raises(NotFittedError):
        Reranker().predict([[A, B]])
    with pytest.raises(NotFittedError):
        Reranker().save("nowhere")


# ---- examples without a good candidate -------------------------------------------------------------------------------


def test_examples_without_a_good_candidate_are_counted_and_listed() -> None:
    X, y = [[A, B]] * 14, [0] * 14
    y[3] = []  # type: ignore[call-overload]
    expected = "1 of 14 examples has no good candidate (number 3): use no_good='skip' to leave them out."
    assert refusal(lambda: Reranker().fit(X, y)) == expected
    expected = "12 of 14 examples have no good candidate (number 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...): use no_good="
    y = [0, *[[] for _ in range(12)], 1]  # type: ignore[list-item]
    assert refusal(lambda: Reranker().fit(X, y)).startswith(expected)
    for no_good in ("stop", "skip"):
        model = Reranker(no_good=no_good)
        words = refusal(lambda model=model: model.fit(X[:2], [[], []]))
        assert words == "2 of 2 examples have no good candidate (number 0, 1)."


def test_skipped_examples_might_as_well_not_be_there() -> None:
    X, y = lists(1)
    costs = [np.where(np.isin(range(len(x)), good), 0.0, 2.0) for x, good in zip(X, y, strict=True)]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    expected = Reranker("log", tol=1e-8).fit(X, y, weight, costs=costs)
    assert expected.n_skipped_ == 0
    skipped = Reranker("log", tol=1e-8, no_good="skip").fit(
        [X[0], X[3], *X[1:], np.zeros((0, 4))],
        [y[0], [], *y[1:], []],
        [weight[0], 7.0, *weight[1:], 7.0],
        costs=[costs[0], np.ones(len(X[3])), *costs[1:], []],
    )
    assert skipped.n_skipped_ == 2
    assert_array_equal(skipped.coef_, expected.coef_)
    assert "one number per example: 2 of them" in refusal(
        lambda: Reranker(no_good="skip").fit(X[:2], [y[0], []], [1.0])
    )
    # numbers of examples are those of the data, whatever is skipped
    wrong = [[A, B], [A, B], [A, B]], [[], 0, 5]
    assert "example 2: there is no candidate 5" in refusal(lambda: Reranker(no_good="skip").fit(*wrong))
    wrong_costs = [[1, 1], [0, 1], [1, 1]]
    assert "example 2: good candidates must cost 0" in refusal(
        lambda: Reranker(no_good="skip").fit(wrong[0], [[], 0, 0], costs=wrong_costs)
    )


# ---- learning --------------------------------------------------------------------------------------------------------


def suiting(name: str) -> str:
    """A loss that the learner takes."""
    for loss in ("hinge", "log", "ramp"):
        try:
            check_loss(learner_named(name), loss_named(loss))
        except MargraveError:
            continue
        return loss
    raise AssertionError(f"no loss suits {name}")


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", BUILT_IN_LEARNERS)
def test_every_learner_learns_from_candidates(name: str) -> None:
    X, y = lists(0)
    model = Reranker(suiting(name), learner=name, max_iter=30).fit(X, y)
    assert model.score(X, y) > 0.75
    assert Reranker(suiting(name), learner=name, max_iter=30).fit(named(X), y).score(named(X), y) > 0.75


@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
def test_classes_written_as_candidates_are_a_classifier(loss: str) -> None:
    rng = np.random.default_rng(3)
    classes, d = 3, 4
    X, y = rng.normal(size=(20, d)), rng.integers(0, classes, 20)
    there = LinearClassifier(loss, C=0.7, tol=1e-7).fit(X, y)
    as_lists = [np.kron(np.eye(classes), x) for x in X]
    here = Reranker(loss, C=0.7, tol=1e-7).fit(as_lists, y)
    P = there.certificate_.primal
    assert here.certificate_.primal == pytest.approx(P, rel=1e-6)
    assert_allclose(here.coef_.reshape(classes, d), there.coef_, atol=1e-2 if loss == "hinge" else 1e-3)
    assert_array_equal(here.predict(as_lists), there.predict(X))
    assert_allclose(np.array(here.predict_proba(as_lists)), there.predict_proba(X), atol=1e-2)
    assert here.score(as_lists, y) == there.score(X, y)


def test_names_rows_sparse_rows_and_cubes_are_the_same() -> None:
    rng = np.random.default_rng(1)
    cube = rng.integers(-2, 3, (12, 4, 5)) / 2.0
    y = rng.integers(0, 4, 12)
    dense = Reranker("log", tol=1e-9).fit(list(cube), y)
    for form in (cube, [csr_array(x) for x in cube], [cube[0], *(csr_array(x) for x in cube[1:])]):
        assert_array_equal(Reranker("log", tol=1e-9).fit(form, y).coef_, dense.coef_)
    words = Reranker("log", tol=1e-9).fit(named(list(cube)), y)
    assert_allclose([words.feature_weights()[f"x{k}"] for k in range(5)], dense.coef_, atol=1e-6)
    assert dense.n_features_in_ == 5
    assert not hasattr(words, "n_features_in_")
    hashed = Reranker("log", tol=1e-9, weights="hash:12").fit(named(list(cube)), y)
    assert hashed.coef_.shape == (4096,)
    assert_array_equal(hashed.predict(named(list(cube))), dense.predict(cube))


def test_the_first_good_candidate_is_the_right_one_and_the_others_cost_nothing() -> None:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    w = np.array([0.3, 0.9])
    problem = bind([x], [[0, 1]])
    scores = x @ w

    def loss_of(first: int, cost_of_the_last: float) -> Any:
        return pytest.approx(max(scores[0], scores[1], scores[2] + cost_of_the_last) - scores[first])

    for loss in (Hinge(), Hinge("zero-one")):
        assert Objective(problem, loss).losses(w)[0] == loss_of(0, 1.0)
        assert Objective(problem, loss).slacks(w)[0] == loss_of(0, 1.0)
    costly = bind([x], [[0, 1]], [[0, 0, 3]])
    assert Objective(costly, Hinge()).losses(w)[0] == loss_of(0, 3.0)
    assert Objective(costly, Hinge("zero-one")).losses(w)[0] == loss_of(0, 1.0)
    other_way = bind([x], [[1, 0]])
    assert Objective(other_way, Hinge()).losses(w)[0] == loss_of(1, 1.0)


def test_the_zero_one_cost_ignores_the_costs_of_the_data() -> None:
    X, y = lists(4)
    costs = [np.where(np.isin(range(len(x)), good), 0.0, 5.0) for x, good in zip(X, y, strict=True)]
    plain = Reranker(tol=1e-6).fit(X, y).certificate_.primal
    assert Reranker(Hinge("zero-one"), tol=1e-6).fit(X, y, costs=costs).certificate_.primal == pytest.approx(
        plain, rel=1e-5
    )
    assert Reranker(tol=1e-6).fit(X, y, costs=costs).certificate_.primal > 1.1 * plain


def test_a_cost_function_gets_the_candidates_as_they_were_given() -> None:
    X, y = lists(5, size=12)
    given, first = named(X), [good[0] for good in y]
    seen = []

    def distance(gold: dict[str, float], other: dict[str, float]) -> float:
        seen.extend([gold, other])
        return abs(gold["x0"] - other["x0"])

    asked = Reranker(Hinge(cost=distance), learner="cutting-plane", tol=1e-6).fit(given, first)
    told = [[abs(x[k]["x0"] - other["x0"]) for other in x] for x, k in zip(given, first, strict=True)]
    expected = Reranker(learner="cutting-plane", tol=1e-6).fit(given, first, costs=told)
    assert asked.certificate_.primal == pytest.approx(expected.certificate_.primal, rel=1e-5)
    assert all(any(each is candidate for x in given for candidate in x) for each in seen)


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
def test_the_metric_of_the_closest_good_one_gets_them_too() -> None:
    X, y = lists(5, size=12)
    given = named(X)
    assert any(len(good) > 1 for good in y)
    seen = []

    def distance(good: dict[str, float], wrong: dict[str, float]) -> float:
        seen.append(good)
        return abs(good["x1"] - wrong["x1"])

    model = Reranker(learner=LP(program="closest", metric=distance))
    model.fit(given, y)
    asked = len(seen)
    model.fit_path(given, y, [0.5, 1.0, 2.0])
    assert all(any(each is given[i][k] for i in range(12) for k in y[i]) for each in seen)
    assert len(seen) == 2 * asked  # a path asks once
    sparse = [coo_array(np.array([list(each.values()) for each in x])) for x in given]
    by_rows = LP(program="closest", metric=lambda good, wrong: abs(good.toarray()[0] - wrong.toarray()[0]).sum())
    assert Reranker(learner=by_rows).fit(sparse, y).converged_


def test_a_weight_is_a_number_of_copies() -> None:
    X, y = lists(6, size=8)
    twice = Reranker("log", tol=1e-9).fit([*X, X[2]], [*y, y[2]])
    weighted = Reranker("log", tol=1e-9).fit(X, y, sample_weight=[1, 1, 2, 1, 1, 1, 1, 1])
    assert_allclose(twice.coef_, weighted.coef_, atol=1e-5)


def test_a_path_is_its_fits_one_by_one() -> None:
    X, y = lists(7)
    X, y = [*X, X[0]], [*y, []]
    base = Reranker("log", tol=1e-8, no_good="skip")
    path = base.fit_path(X, y, [0.1, 1.0])
    for C, model in zip((0.1, 1.0), path, strict=True):
        assert (model.C, model.n_skipped_) == (C, 1)
        assert_allclose(model.coef_, clone(base).set_params(C=C).fit(X, y).coef_, atol=1e-4)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    X, y = lists(8)
    path = tmp_path / "run"
    with pytest.warns(ConvergenceWarning):
        Reranker(learner="bcfw", tol=1e-12, max_iter=3).fit(X, y, checkpoint=Checkpoint(path, every=0))
    with pytest.warns(ConvergenceWarning):
        whole = Reranker(learner="bcfw", tol=1e-12, max_iter=6).fit(X, y)
        resumed = Reranker(learner="bcfw", tol=1e-12, max_iter=6).fit(X, y, checkpoint=path)
    assert_array_equal(resumed.coef_, whole.coef_)
    other = [[*good, *({*range(len(x))} - {*good})] for x, good in zip(X, y, strict=True)]
    assert "data" in refusal(lambda: Reranker(learner="bcfw", tol=1e-12, max_iter=6).fit(X, other, checkpoint=path))


def test_steps_are_as_long_as_the_longest_candidates_allow() -> None:
    """The radius does not grow with the number of candidates."""
    x = np.random.default_rng(0).normal(size=(50, 3))
    problem = bind([x], [0])
    largest = max(np.linalg.norm(a - b) for a in x for b in x)
    assert largest <= problem.radius(0) <= 2 * np.linalg.norm(x, axis=1).max() * (1 + 1e-12)


# ---- prediction ------------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1), beta=st.sampled_from([0.5, 1.0, 3.0, inf]))
@settings(max_examples=20, deadline=None)
def test_probabilities_are_the_softmax_of_the_scores(seed: int, beta: float) -> None:
    X, y = lists(seed, size=6)
    w = np.random.default_rng(seed).normal(size=4)
    model = Reranker.of_weights({f"x{k}": v for k, v in enumerate(w)}).set_params(loss=LossFamily(beta, 1.0))
    scores, shares = model.decision_function(named(X)), model.predict_proba(named(X))
    assert len(scores) == len(shares) == len(X)
    for x, theta, p in zip(X, scores, shares, strict=True):
        assert_allclose(theta, x @ w, atol=1e-12)
        assert_allclose(p, softmax((1.0 if beta == inf else beta) * theta), rtol=1e-9)
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
    best = model.predict(named(X))
    assert best.dtype == np.int64
    assert best.tolist() == [int(theta.argmax()) for theta in scores]
    assert model.score(named(X), y) == np.mean([k in good for k, good in zip(best.tolist(), y, strict=True)])


def test_no_examples_have_no_predictions() -> None:
    for model in (Reranker().fit(*lists(0)), Reranker.of_weights({"a": 1.0})):
        assert model.predict([]).shape == (0,)
        assert model.predict_proba([]) == []
        assert model.decision_function([]) == []
        assert "no examples to score" in refusal(lambda model=model: model.score([], []))


def test_an_example_without_a_good_candidate_scores_as_wrong() -> None:
    model = Reranker.of_weights({"a": 1.0})
    assert model.score([[A, B], [A, B], [B, A]], [0, [], [0, 1]]) == pytest.approx(2 / 3)
    assert "there are 1 lists of candidates, but good candidates for 2" in refusal(
        lambda: model.score([[A, B]], [0, 1])
    )


def test_candidates_without_any_attribute_tie() -> None:
    model = Reranker().fit([[[], []], [[]]], [1, 0])
    assert model.feature_weights() == {}
    assert model.predict([[[], []]]).tolist() == [0]


# ---- weights and files -----------------------------------------------------------------------------------------------


def test_weights_go_in_and_come_out() -> None:
    given_weights = {"lm": 0.5, "länge": -2.0, "zero": 0.0}
    model = Reranker.of_weights(given_weights)
    assert model.feature_weights() == {"lm": 0.5, "länge": -2.0}
    assert model.coef_.tolist() == [0.5, -2.0, 0.0]
    assert model.certificate_.primal == pytest.approx(0.5 * 4.25)
    assert_allclose(model.decision_function([[{"lm": 2.0, "new": 9.0}, ["länge"]]])[0], [1.0, -2.0])
    assert Reranker.of_weights({}).predict([[A, B]]).tolist() == [0]
    columns = Reranker(C=10.0).fit([np.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])], [0])
    assert list(columns.feature_weights()) == [1]
    for wrong in ({"a": np.nan}, {"a": "1"}, {1: 2.0}, ["a"], 3):
        refusal(lambda wrong=wrong: Reranker.of_weights(wrong))
    assert "do not store names" in refusal(lambda: Reranker(weights="hash:4").fit([[A, B]], [0]).feature_weights())


FORMS: dict[str, Any] = {
    "names": (named, "all"),
    "hashed": (named, "hash:8"),
    "columns": (lambda X: X, "all"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_model_is_what_its_file_says(form: str, tmp_path: Path) -> None:
    as_given, feature_map = FORMS[form]
    X, y = lists(9)
    model = Reranker(
        SoftmaxMargin("zero-one"), C=0.3, learner=BCFW(), weights=feature_map, no_good="skip", random_state=4
    )
    model.fit([*as_given(X), as_given(X)[0]], [*y, []])
    model.save(tmp_path / "model", {"by": "test"})
    back = Reranker.load(tmp_path / "model")
    assert_array_equal(back.coef_, model.coef_)
    for loss in ("beta", "gamma", "cost"):
        assert getattr(back.loss, loss) == getattr(model.loss, loss)
    ours, theirs = ({**m.get_params(), "loss": None, "learner": None} for m in (model, back))
    assert ours == theirs
    assert back.metadata_ == {"by": "test"}
    assert back.certificate_ == replace(model.certificate_, seconds=None)
    assert not hasattr(back, "classes_")
    assert_array_equal(back.predict(as_given(X)), model.predict(as_given(X)))
    for p, q in zip(back.predict_proba(as_given(X)), model.predict_proba(as_given(X)), strict=True):
        assert_array_equal(p, q)
    back.save(tmp_path / "again")
    assert_array_equal(load(tmp_path / "again").coef_, model.coef_)


def test_given_weights_survive_a_file(tmp_path: Path) -> None:
    model = Reranker.of_weights({"lm": 0.5, "tm": 1.0})
    model.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert isinstance(back.estimator(), Reranker)
    assert back.feature_weights() == model.feature_weights()
    assert back.stop_reason_ == "given weights"


def test_a_file_that_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    Reranker().fit(named(lists(0)[0]), lists(0)[1]).save(tmp_path / "model")

    def altered(*path_and_value: Any) -> str:
        header, arrays = model_file.read(tmp_path / "model")
        *path, last, value = path_and_value
        place: Any = header
        for key in path:
            place = place[key]
        place[last] = value
        model_file.write(tmp_path / "bad", header, arrays)
        return refusal(lambda: load(tmp_path / "bad"))

    labels = {"kind": "outputs", "name": "labels", "settings": {"classes": ["a", "b"]}, "state": {}}
    assert "candidates do not have labels" in altered("outputs", labels)
    assert "unknown no_good" in altered("parameters", "no_good", "guess")
    assert "no parameter 'order'" in altered("parameters", "order", 2)
    assert "no setting 'pairs'" in altered("map", "settings", "pairs", "observed")
    assert "encoder does not belong" in altered("map", "settings", "hash_bits", 5)


def test_a_cost_function_is_kept_in_no_file(tmp_path: Path) -> None:
    model = Reranker(Hinge(cost=lambda gold, other: float((gold != other).any())), learner="cutting-plane").fit(
        *lists(0)
    )
    assert "cannot be stored in a file" in refusal(lambda: model.save(tmp_path / "model"))


def test_a_metric_is_kept_in_no_file(tmp_path: Path) -> None:
    model = Reranker(learner=LP(program="closest", metric=lambda good, wrong: 1.0)).fit(*lists(0))
    assert "a function cannot be stored in a file (learner.metric)" in refusal(lambda: model.save(tmp_path / "model"))
    model.set_params(learner="lp").save(tmp_path / "model")
    assert load(tmp_path / "model").learner == "lp"


def test_scikit_learn_can_clone_and_search() -> None:
    X, y = lists(10, size=40)
    model = Reranker("log", C=0.2, weights="hash:6", no_good="skip")
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(Reranker(Log()), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.75
    assert search.best_estimator_.score(X, y) > 0.75
    costs = [np.where(np.isin(range(len(x)), good), 0.0, 2.0) for x, good in zip(X, y, strict=True)]
    scores = cross_val_score(Reranker("softmax-margin"), named(X), y, cv=3, params={"costs": costs})
    assert scores.shape == (3,)
    assert scores.mean() > 0.7


# ---- losses over all good candidates ---------------------------------------------------------------------------------


def latent(w: Any, X: list[np.ndarray], good: list[list[int]], C: float, loss: str, price: Any) -> float:
    """P by its definition, without the penalty's derivation: all candidates against the good ones."""
    total = 0.5 * float(w @ w)
    for x, numbers, costs in zip(X, good, price, strict=True):
        theta = x @ w
        if loss == "latent-log":
            total += C * (logsumexp(theta) - logsumexp(theta[numbers]))
        else:
            total += C * ((theta + costs).max() - theta[numbers].max())
    return total


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(
    "loss, learner", [("latent-log", "auto"), ("latent-log", "cccp"), ("latent-hinge", "cccp")], ids=str
)
def test_latent_losses_take_all_good_candidates(loss: str, learner: str, given: bool, C: float) -> None:
    X, good = lists(5)
    price = [np.ones(len(x)) if not given else np.random.default_rng(i).uniform(0, 3, len(x)) for i, x in enumerate(X)]
    for costs, numbers in zip(price, good, strict=True):
        costs[numbers] = 0
    model = Reranker(loss, C=C, learner=learner, tol=1e-9).fit(X, good, costs=price if given else None)
    found = model.coef_
    assert_allclose(model.certificate_.primal, latent(found, X, good, C, loss, price), rtol=1e-9)
    assert model.certificate_.primal < latent(np.zeros(len(found)), X, good, C, loss, price)
    bests = [np.sort(x[numbers] @ found) for x, numbers in zip(X, good, strict=True)]
    if learner == "cccp" and any(len(of) > 1 and of[-1] - of[-2] < 1e-3 for of in bests):
        return  # Where two good candidates are equally good, the procedure may stay although P has a slope.
    rng = np.random.default_rng(0)
    for _ in range(50):  # It is a local optimum, as far as a nonconvex loss has one.
        near = found + 1e-3 * rng.standard_normal(len(found))
        assert latent(near, X, good, C, loss, price) > model.certificate_.primal - 1e-6 * C


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_latent_losses_of_single_good_candidates_are_the_plain_ones(C: float) -> None:
    X, good = lists(2)
    first = [numbers[0] for numbers in good]
    latent_model = Reranker("latent-log", C=C, tol=1e-10).fit(X, first)
    assert_allclose(latent_model.coef_, Reranker("log", C=C, tol=1e-10).fit(X, first).coef_, atol=1e-4)


@given(seed=st.integers(0, 2**32 - 1))
def test_inference_among_good_candidates_is_that_of_their_list(seed: int) -> None:
    X, good = lists(seed, size=4)
    problem = _core.divide(
        _core.candidates(
            np.cumsum([0, *map(len, X)]).astype(np.int64),
            np.cumsum([0, *map(len, good)]).astype(np.int64),
            np.concatenate(good).astype(np.int32),
            None,
        ),
        _features(X),
    )
    rng = np.random.default_rng(seed)
    for i, (x, numbers) in enumerate(zip(X, good, strict=True)):
        theta = rng.normal(size=len(x)) * 10.0 ** rng.integers(-3, 3)
        others = [k for k in range(len(x)) if k not in numbers]
        for among, chosen in ((True, numbers), (False, others)):
            value, parts = problem.argmax_among(among, i, theta)
            total, mu = problem.logsum_among(among, i, theta)
            if not chosen:
                assert value == total == -inf
                continue
            assert value == theta[chosen].max() and parts.tolist() == [chosen[int(np.argmax(theta[chosen]))]]
            expected = np.zeros(len(x))
            expected[chosen] = softmax(theta[chosen])
            assert_allclose(total, logsumexp(theta[chosen]), rtol=1e-12)
            assert_allclose(mu, expected, atol=1e-12)


def _features(X: list[np.ndarray]) -> Any:
    feature_map = SparseMap(unit="candidate")
    examples = Examples(X)
    rows = feature_map.encode(examples, grow=True)
    core = CandidateLists().bind(NoOutputs(), replace(examples, begin=rows.example_begin))
    return feature_map.map(rows, core)
