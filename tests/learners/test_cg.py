"""Conjugate gradients: the optimum of an independent solver, by exactly the steps of the formula, each one counted."""

from dataclasses import fields
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from margrave import Hinge, LinearClassifier, Log, LossFamily, MargraveError, Perceptron
from margrave.learners import Ended, Objective
from margrave.learners.cg import CG, FORMULAS
from margrave.testing.optimum import optimum
from tests.learners.test_learners import (
    KINDS,
    Broken,
    Matching,
    Watched,
    assert_certified,
    assert_in_order,
    matching,
    solve,
)

FAMILY = [(1.0, 0.0), (1.0, 1.0), (3.0, 1.0)]
Weights = NDArray[np.float64]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
@pytest.mark.parametrize("kind", KINDS)
def test_cg_reaches_the_optimum_of_an_independent_solver(kind: str, beta: float, gamma: float, formula: str) -> None:
    loss = LossFamily(beta, gamma)
    problem, examples = KINDS[kind](1, loss)
    for C in (0.1, 10.0):
        best = optimum(examples, loss, C)
        solution = solve(CG(formula), problem, loss, C=C, tol=1e-10)
        assert solution.converged
        assert solution.history[-1].relative_gap <= 1e-10
        assert solution.history[-1].primal == pytest.approx(best, rel=1e-9)
        assert_certified(solution)
        assert_in_order(solution)
        for before, after in pairwise(solution.history):
            assert after.primal <= before.primal * (1 + 1e-13)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_cg_reaches_the_optimum_at_any_c(kind: str, C: float) -> None:
    """At C = 1e6 the steps are far below what the rounding of P lets one see: the slopes must decide."""
    loss = LossFamily(3.0, 1.0)
    problem, examples = KINDS[kind](1, loss)
    solution = solve(CG(), problem, loss, C=C, tol=1e-10, max_iter=5000)
    assert solution.converged
    assert solution.history[-1].primal == pytest.approx(optimum(examples, loss, C), rel=1e-9)
    assert_certified(solution)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_step_and_every_direction_is_that_of_the_formula(kind: str, formula: str) -> None:
    """Strong Wolfe steps, and directions that begin anew where P would fall less than 0.1 |grad P|^2 along them."""
    bent = 0
    for (beta, gamma), C in product(FAMILY, (0.03, 1.0, 1e3)):
        loss = LossFamily(beta, gamma)
        state = CG().begin(Objective(KINDS[kind](1, loss)[0], loss, C=C, n_jobs=1))
        assert_array_equal(state.d, -state.slope)
        for _ in range(5):
            w, primal, slope, d = state.w, state.primal, state.slope, state.d.copy()
            CG(formula).one_pass(state)
            step = (state.w - w) @ d / (d @ d)
            assert_allclose(state.w, w + step * d, atol=1e-12 * np.abs(state.w).max())
            assert state.primal <= primal + 1e-4 * step * (slope @ d) + 1e-13 * primal
            assert abs(state.slope @ d) <= 0.1 * abs(slope @ d) * (1 + 1e-9)
            expected = direction(formula, slope, state.slope, d)
            assert_allclose(state.d, expected, atol=1e-9 * np.abs(expected).max())
            assert state.down == pytest.approx(state.slope @ state.d, rel=1e-9)
            bent += (state.d != -state.slope).any()
    assert bent > 20


def direction(formula: str, before: Weights, slope: Weights, d: Weights) -> Weights:
    y = slope - before
    if formula == "polak-ribiere":
        share = max(0.0, slope @ y / (before @ before))
    else:
        least = -1 / (np.linalg.norm(d) * min(0.01, float(np.linalg.norm(before))))
        share = max((y - 2 * d * (y @ y) / (d @ y)) @ slope / (d @ y), least) if d @ y > 0 else 0.0
    bent = share * d - slope
    return bent if bent @ slope < -0.1 * (slope @ slope) else -slope


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    overshoot=st.floats(-0.1, 0.1),
    size=st.sampled_from([1.0, 10.0, 100.0]),
    formula=st.sampled_from(FORMULAS),
)
def test_a_direction_always_leads_down(seed: int, overshoot: float, size: float, formula: str) -> None:
    """Whatever the step before left: a slope along it of either sign, a gradient alike or unlike the one before."""
    random = np.random.default_rng(seed)
    problem, _ = matching(0)
    state = CG().begin(Objective(problem, Log(), n_jobs=1))
    before = random.normal(size=problem.dim)
    d = -size * before
    slope = random.normal(size=problem.dim) * random.choice([0.1, 1.0])
    slope += (overshoot * -(before @ d) - slope @ d) / (d @ d) * d  # slope @ d = overshoot |before @ d|
    state.slope, state.d = slope, d.copy()
    state.turn(before, formula)
    assert_allclose(state.d, direction(formula, before, slope, d), rtol=1e-9)
    assert state.down == pytest.approx(slope @ state.d)
    assert state.down < -0.1 * (slope @ slope)


def test_a_search_that_fails_begins_again_from_the_gradient() -> None:
    problem, _ = matching(1)
    state = CG().begin(Objective(problem, Log(), n_jobs=1))
    CG().one_pass(state)
    passes, primal, slope, w = state.objective.passes, state.primal, state.slope, state.w
    state.d = slope.copy()  # uphill, which a search can only find out
    step = CG().one_pass(state)
    assert not step.done
    assert state.primal < primal
    assert state.objective.passes > passes + 30
    along = (state.w - w) / np.linalg.norm(state.w - w)
    assert_allclose(along, -slope / np.linalg.norm(slope), atol=1e-9)


@pytest.mark.parametrize(("C", "most"), [(1e-3, 6), (0.1, 16), (10.0, 90), (1e3, 450)])
def test_searches_are_short(C: float, most: int) -> None:
    """The first trial, its bound and the secant each save passes; without any one of them some C needs more."""
    solution = solve(CG(), KINDS["chain"](1, Log())[0], Log(), C=C, tol=1e-10)
    assert solution.converged
    assert solution.history[-1].passes <= most


# ---- the history and the state ---------------------------------------------------------------------------------------


def test_every_inference_is_counted() -> None:
    for loss in (Log(), LossFamily(3.0, 1.0)):
        for rounds in (1, 2, 6):
            problem = Watched(KINDS["chain"](0, loss)[0])
            solution = solve(CG(), problem, loss, C=10.0, max_iter=rounds, tol=0.0)
            assert len(solution.history) == rounds
            assert solution.history[-1].passes == problem.calls / problem.size > rounds
            assert_in_order(solution)


def test_the_weights_returned_are_those_of_the_lowest_p() -> None:
    problem, _ = matching(2)
    solution = solve(CG(), problem, Log(), C=3.0, max_iter=4, tol=0.0)
    primal, dual, gap = Objective(problem, Log(), C=3.0, n_jobs=1).certify(solution.w)
    assert (solution.certificate.primal, solution.certificate.dual, solution.certificate.gap) == (primal, dual, gap)
    assert primal == min(record.primal for record in solution.history)


def test_a_search_goes_on_from_a_copy_of_its_state() -> None:
    """All that the next passes depend on are arrays and numbers in the fields of the state."""
    problem, _ = KINDS["chain"](0, Log())

    def objective() -> Objective:
        return Objective(problem, Log(), C=10.0, n_jobs=1)

    state = CG().begin(objective())
    for _ in range(4):
        CG().one_pass(state)
    other = CG().blank(objective())
    for field in fields(state):
        if field.name != "objective":
            value = getattr(state, field.name)
            assert type(value) in (np.ndarray, float, int)
            setattr(other, field.name, value.copy() if isinstance(value, np.ndarray) else value)
    for _ in range(4):
        assert_array_equal(CG().one_pass(state).w, CG().one_pass(other).w)


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    problem, _ = KINDS["chain"](0, Log())
    one, two = (solve(CG(), problem, Log(), C=10.0, n_jobs=threads) for threads in (1, 2))
    assert_array_equal(one.w, two.w)


# ---- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_tolerance_of_zero_ends_at_the_limit_of_the_numbers(kind: str) -> None:
    problem, examples = KINDS[kind](0, Log())
    solution = solve(CG(), problem, Log(), tol=0.0)
    assert solution.reason == "no step lowers P further: the limit of floating-point numbers"
    assert solution.ended is Ended.DONE
    assert not solution.converged
    assert solution.history[-1].relative_gap < 1e-15
    assert solution.history[-1].primal == pytest.approx(optimum(examples, Log(), 1.0), rel=1e-13)
    lowered = [after.primal < before.primal * (1 - 1e-15) for before, after in pairwise(solution.history)]
    assert any(lowered[-11:])  # ten steps in vain are enough


def test_max_iter_ends_the_search() -> None:
    solution = solve(CG(), matching()[0], Log(), tol=0.0, max_iter=2)
    assert (solution.converged, solution.reason, len(solution.history)) == (False, "max_iter", 2)
    assert solution.ended is Ended.MAX_ITER


def test_a_problem_whose_optimum_is_zero_is_solved_at_once() -> None:
    problem = Matching(np.zeros((2, 9, 3)), [(0, 1, 2), (1, 0, 2)])
    solution = solve(CG(), problem, Log())
    assert solution.converged
    assert solution.history[-1].passes == 1
    assert solution.history[-1].primal == pytest.approx(2 * np.log(6))
    assert_array_equal(solution.w, np.zeros(3))


def test_a_gradient_too_small_to_square_is_zero() -> None:
    solution = solve(CG(), matching()[0], Log(), C=1e-200)
    assert solution.converged
    assert solution.history[-1].passes == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e100, 1e160, 1e300])
def test_a_search_that_fails_far_from_the_optimum_is_no_convergence(scale: float) -> None:
    try:
        model = LinearClassifier(learner=CG()).fit(np.eye(3) * scale, [0, 1, 2])
    except MargraveError as error:
        assert "scale the features" in str(error)
    else:
        assert not model.converged_ or model.history_[-1].relative_gap <= model.tol


def test_an_objective_that_is_no_number_is_an_error() -> None:
    random = np.random.default_rng(0)
    problem = Broken(random.normal(size=(4, 9, 3)), [(1, 2, 0), (0, 1, 2), (2, 1, 0), (1, 0, 2)])
    with pytest.raises(MargraveError, match=r"^the objective is nan after [0-9]+ passes: .*\.$"):
        solve(CG(), problem, Log(), tol=0.0)


@pytest.mark.parametrize("loss", [Hinge(), Perceptron()], ids=lambda loss: loss.name)
def test_a_loss_without_a_gradient_is_refused(loss: LossFamily) -> None:
    problem = Watched(matching()[0])
    with pytest.raises(MargraveError) as error:
        solve(CG(), problem, loss)
    message = str(error.value)
    assert message.startswith(f"learner 'cg' needs a smooth loss, and {loss.name} has beta = inf: use learner='")
    assert "loss='softmax-margin'" in message
    assert problem.calls == 0
