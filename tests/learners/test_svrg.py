"""Variance-reduced gradient: its passes follow their formula, and it reaches the optimum without a rate to tune."""

from collections.abc import Callable
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from margrave import Log, LossFamily, MargraveError, Problem, _core
from margrave.learners import LBFGS, SVRG, Objective
from margrave.maps import FeatureTable
from margrave.structures import Chain
from margrave.testing.optimum import optimum
from tests.learners.test_learners import FAMILY, KINDS, Weights, assert_certified, assert_in_order, gradient
from tests.learners.test_learners import solve as solve_with
from tests.references.dual import of_classes
from tests.references.problems import bind


def many_labels(seed: int = 0, n: int = 70, labels: int = 40) -> Problem:
    """Tied chains with so many labels that their gradients are computed in lock-step."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, size=n)
    X = [[[f"a{a}" for a in random.integers(0, 9, size=3)] for _ in range(m)] for m in lengths]
    flat = random.integers(0, labels, size=lengths.sum()).astype(np.int32)
    return bind(
        Chain(), X, flat, feature_map=FeatureTable("observed"), classes=list(range(labels)), loss=LossFamily(1.0, 1.0)
    )


def one_pass(
    objective: Objective, w: Weights, reference: Weights, slope: Weights, time: float, order: Any = None
) -> Weights:
    w, problem = w.copy(), objective.problem
    order = np.arange(problem.size) if order is None else order
    levels = _core.drift_levels(problem, objective.family)
    _core.svrg_pass(problem, w, objective.family, order, levels, reference, slope, time)
    return w


# ---- the passes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chain", "matching", "multiclass", "tree"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pass_takes_the_steps_of_its_formula(kind: str, weighted: bool) -> None:
    """w -= T C_i A_i'(mu_i(w) - mu_i(r)) at visits; the dense term T (G + w - r) in equal shares, by weight."""
    loss, random, time = LossFamily(2.0, 1.0), np.random.default_rng(3), 0.3
    problem, _ = KINDS[kind](2, loss)
    n = problem.size
    weight = random.uniform(0, 2, size=n) if weighted else np.ones(n)
    objective = Objective(problem, loss, C=0.7, n_jobs=1, sample_weight=weight if weighted else None)
    reference, order = random.normal(size=problem.dim), random.permutation(n)
    slope = objective.value_and_gradient(reference)[1]
    shares = np.minimum(2 << _core.drift_levels(problem, objective.family).astype(np.int64), n)
    w = reference.copy()
    for step, i in enumerate(order, start=1):
        change = gradient(problem, int(i), w, loss) - gradient(problem, int(i), reference, loss)
        w = w - time * 0.7 * weight[i] * change
        due = step * shares // n != (step - 1) * shares // n
        w = w - due * time / shares * (slope + w - reference)
    assert_allclose(one_pass(objective, reference, reference, slope, time, order), w, atol=1e-11)


@pytest.mark.parametrize(
    "make",
    [many_labels, lambda: KINDS["tree"](1)[0], lambda: KINDS["candidates"](1)[0]],
    ids=["many labels", "tree", "candidates"],
)
def test_a_short_pass_is_a_step_against_the_difference_of_the_gradients(make: Callable[[], Problem]) -> None:
    problem = make()
    """To first order in T, w changes by -T (grad P(w) - grad P(r) + G), with or without lock-step."""
    loss, random, time = LossFamily(1.5, 0.7), np.random.default_rng(0), 1e-7
    objective = Objective(problem, loss, C=1.3, n_jobs=1, sample_weight=random.uniform(0, 2, size=problem.size))
    w, reference, slope = random.normal(size=(3, problem.dim))
    moved = (w - one_pass(objective, w, reference, slope, time)) / time
    expected = objective.value_and_gradient(w)[1] - objective.value_and_gradient(reference)[1] + slope
    assert_allclose(moved, expected, atol=2e-4 * float(np.abs(expected).max()))


def test_a_pass_stays_at_the_optimum() -> None:
    problem = many_labels(1)
    objective = Objective(problem, Log(), n_jobs=1)
    w = solve_with(LBFGS(), problem, Log(), tol=1e-13).w
    assert_allclose(one_pass(objective, w, w, np.zeros(problem.dim), 0.5), w, atol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_levels_count_how_often_a_weight_is_touched(sign: float) -> None:
    """Also where features of both signs add up to nothing."""
    n = 64
    X = np.zeros((n, 2))
    X[:, 0] = np.where(np.arange(n) % 2, sign, 1.0)
    X[0, 1] = 1.0
    problem = of_classes(X, [k % 3 for k in range(n)], LossFamily(1.0, 0.0), 1 - np.eye(3))[0]
    levels = _core.drift_levels(problem, _core.LossFamily(1.0, 0.0)).reshape(2, 3)
    assert (levels[1] == 1).all()
    assert (levels[0] >= 4).all() if sign > 0 else (levels[0] >= 1).all()


def test_a_pass_at_an_infinite_beta_is_refused() -> None:
    problem, _ = KINDS["chain"](0)
    objective, zero = Objective(problem, LossFamily(inf, 1.0), n_jobs=1), np.zeros(problem.dim)
    with pytest.raises(MargraveError, match="finite beta"):
        one_pass(objective, zero, zero, zero, 0.1)


# ---- the learner -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
@pytest.mark.parametrize("kind", KINDS)
def test_svrg_reaches_the_optimum_of_an_independent_solver(kind: str, beta: float, gamma: float) -> None:
    loss = LossFamily(beta, gamma)
    problem, examples = KINDS[kind](1, loss)
    for C in (1e-3, 1.0, 100.0):
        best = optimum(examples, loss, C)
        solution = solve_with(SVRG(), problem, loss, C=C, tol=1e-6, max_iter=3000)
        assert solution.converged
        assert best * (1 - 1e-9) <= solution.certificate.primal <= best * (1 + 1e-6)
        assert_certified(solution)
        assert_in_order(solution)
        for record in solution.history:
            assert record.dual is not None
            assert record.dual <= best * (1 + 1e-9)
        for before, after in pairwise(solution.history):
            assert after.primal <= before.primal


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0])
def test_svrg_and_lbfgs_agree_in_lock_step(C: float) -> None:
    problem = many_labels(2)
    best = solve_with(LBFGS(), problem, Log(), C=C, tol=1e-9).certificate.primal
    solution = solve_with(SVRG(), problem, Log(), C=C, tol=1e-6)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("length", [1e-6, 0.1, 1e3])
def test_a_bad_first_length_is_corrected(length: float) -> None:
    problem, examples = KINDS["chain"](4, Log())
    solution = solve_with(SVRG(length=length), problem, Log(), C=10.0, tol=1e-6)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(optimum(examples, Log(), 10.0), rel=1e-6)


def test_features_of_any_scale_do_no_harm() -> None:
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(40, 3)) * [1e-2, 1.0, 1e2], random.integers(0, 3, size=40)
    problem = of_classes(X, labels, Log(), 1 - np.eye(3))[0]
    best = solve_with(LBFGS(), problem, Log(), tol=1e-9).certificate.primal
    solution = solve_with(SVRG(), problem, Log(), tol=1e-3, max_iter=50)
    primals = [record.primal for record in solution.history]
    assert all(after <= before for before, after in pairwise(primals))
    assert primals[-1] <= 1.01 * best


def test_the_zero_one_cost_of_sequences_is_minimized_too() -> None:
    loss = LossFamily(1.0, 1.0, "zero-one")
    problem, _ = KINDS["chain"](1, loss)
    best = solve_with(LBFGS(), problem, loss, tol=1e-10).certificate.primal
    assert solve_with(SVRG(), problem, loss, tol=1e-6).certificate.primal == pytest.approx(best, rel=1e-6)


def test_at_the_limit_of_floating_point_numbers_it_ends() -> None:
    problem, examples = KINDS["multiclass"](0, Log())
    solution = solve_with(SVRG(), problem, Log(), tol=0.0, max_iter=5000)
    assert "limit of floating-point numbers" in solution.reason
    assert solution.certificate.primal == pytest.approx(optimum(examples, Log(), 1.0), rel=1e-12)


def test_every_inference_is_counted() -> None:
    problem, _ = KINDS["chain"](0, Log())
    solution = solve_with(SVRG(), problem, Log(), tol=0.0, max_iter=4)
    assert [record.passes for record in solution.history] == [4, 7, 10, 13]


def test_the_number_of_threads_does_not_change_the_bits() -> None:
    problem = many_labels(3, n=300)
    one, two = (solve_with(SVRG(), problem, Log(), max_iter=3, n_jobs=threads) for threads in (1, 2))
    assert_array_equal(one.w, two.w)


@pytest.mark.parametrize("length", [0, -1.0, inf, "long"])
def test_a_length_that_makes_no_sense_is_refused(length: Any) -> None:
    with pytest.raises(MargraveError, match=r"^the length of svrg must be .*\.$"):
        SVRG(length=length)
