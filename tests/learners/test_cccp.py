"""Differences of losses, problems measured from other weights, and the convex-concave procedure over any learner."""

import gc
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from margrave import (
    Hinge,
    LinearClassifier,
    Log,
    LossFamily,
    MargraveError,
    Perceptron,
    SequenceTagger,
    _core,
    load,
)
from margrave.learners import (
    BCFW,
    EG,
    LBFGS,
    MIRA,
    SGD,
    SMO,
    AveragedPerceptron,
    BatchEG,
    Checkpoint,
    Learner,
    Objective,
    learner_named,
)
from margrave.learners.cccp import CCCP
from margrave.learners.checks import check_loss
from margrave.losses import LOSSES, DifferenceOfLosses, ExpectedCostBound, Ramp, loss_named
from margrave.maps import FeatureTable
from margrave.structures import Multiclass
from margrave.testing.enumeration import distribution, numerical_gradient
from tests.learners.test_learners import KINDS, Matching, Watched, Weights, matching, solve
from tests.references.dual import untied_chain
from tests.references.problems import bind
from tests.registry import KINDS as REGISTERED
from tests.registry import Case, Kind

DIFFERENCES = [Ramp(), ExpectedCostBound(), DifferenceOfLosses(3.0, 2.0), DifferenceOfLosses(inf, 0.5)]
SMOOTH = [loss for loss in DIFFERENCES if loss.smooth]
INNER: list[Learner] = [EG(), BCFW(), LBFGS(), MIRA()]

every_kind = pytest.mark.parametrize("kind", REGISTERED, ids=lambda kind: kind.name)
every_difference = pytest.mark.parametrize("loss", DIFFERENCES, ids=lambda loss: loss.name)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=3, deadline=None)


def combinations(losses: list[DifferenceOfLosses]) -> list[Any]:
    """Every learner of `INNER` with every loss that it can do."""
    return [
        pytest.param(inner, loss, id=f"{inner.name}-{loss.name}")
        for inner in INNER
        for loss in losses
        if loss.smooth or "finite beta" not in inner.needs
    ]


def kind_named(name: str) -> Kind:
    return next(kind for kind in REGISTERED if kind.name == name)


def values_of(case: Case, w: Weights, loss: LossFamily) -> Weights:
    """The difference for every example, as an expectation over all outputs and not as a difference."""
    values = []
    for i in range(len(case)):
        scores, cost = case.outputs[i].values(case.matrices[i] @ w), case.costs[i]
        if loss.smooth:
            p = distribution(loss.beta * scores)
            values.append(float(np.log(p @ np.exp(loss.beta * loss.gamma * cost)) / loss.beta))
        else:
            values.append(float((scores + loss.gamma * cost).max() - scores.max()))
    return np.array(values)


# ---- the losses ------------------------------------------------------------------------------------------------------


@every_kind
@given(seed=seeds)
@few
def test_the_objective_is_that_of_the_enumeration(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for cost in kind.costs:
        case = kind(seed, cost)
        w = rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal(case.problem.dim)
        weight = rng.uniform(0.0, 2.0, len(case))
        for loss in DIFFERENCES:
            objective = Objective(case.problem, loss, C=0.7, sample_weight=weight, n_jobs=1)
            expected = 0.5 * w @ w + 0.7 * weight @ values_of(case, w, loss)
            assert_allclose(objective.primal(w), expected, rtol=1e-9, atol=1e-9)
            assert objective.passes == 2
            assert objective.certify(w) == (objective.primal(w), None, None)


@pytest.mark.parametrize("name", ["multiclass", "chain", "tree, single root", "hypergraph"])
@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_the_gradient_agrees_with_finite_differences(name: str, loss: DifferenceOfLosses) -> None:
    case = kind_named(name)(2)
    objective = Objective(case.problem, loss, C=0.7, n_jobs=1)
    w = np.random.default_rng(2).standard_normal(case.problem.dim)
    assert_allclose(objective.value_and_gradient(w)[1], numerical_gradient(objective.primal, w), atol=1e-5)


@every_kind
@given(seed=seeds)
@few
def test_a_difference_lies_between_the_cost_and_its_largest_value(kind: Kind, seed: int) -> None:
    """The ramp loss bounds the cost of the prediction, the other one the expected cost; none exceeds the largest."""
    case = kind(seed, kind.costs[-1])
    w = 3 * np.random.default_rng(seed).standard_normal(case.problem.dim)
    for i in range(len(case)):
        scores, cost = case.outputs[i].values(case.matrices[i] @ w), case.costs[i]
        one = case.problem.slice(i, i + 1)
        ramp, bound = (Objective(one, loss, n_jobs=1).losses(w)[0] for loss in (Ramp(), ExpectedCostBound()))
        assert cost[int(scores.argmax())] - 1e-9 <= ramp <= cost.max() + 1e-9
        assert float(distribution(scores) @ cost) - 1e-9 <= bound <= cost.max() + 1e-9


def test_differences_go_by_name() -> None:
    corners = {"ramp": (Ramp, inf), "expected-cost": (ExpectedCostBound, 1.0)}
    for name, (kind, beta) in corners.items():
        loss = loss_named(name)
        assert type(loss) is kind is LOSSES[name]
        assert (loss.beta, loss.gamma, loss.name, loss.convex) == (beta, 1.0, name, False)
    assert DifferenceOfLosses(3.0, 2.0).name == "dL(beta=3, gamma=2)"
    assert DifferenceOfLosses(1.0).name == "expected-cost"
    assert Hinge().convex
    assert_array_equal(Ramp({"a": 3.0}).cost_matrix(["a", "b"]), [[0, 3], [1, 0]])
    with pytest.raises(MargraveError, match="gamma of a difference of losses must be positive"):
        DifferenceOfLosses(1.0, 0.0)


# ---- weights measured from others ------------------------------------------------------------------------------------


@every_kind
@given(seed=seeds)
@few
def test_the_losses_of_an_offset_are_those_of_the_problem_at_shifted_weights(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = kind(seed, kind.costs[-1], size=9)
    u, r = rng.standard_normal((2, case.problem.dim))
    offset = _core.offset(case.problem, r)
    for beta, gamma in ((1.0, 1.0), (3.0, 0.5), (inf, 1.0), (inf, 2.0)):
        family = _core.LossFamily(beta, gamma, C=0.7, sample_weight=rng.uniform(size=9))
        expected = _core.losses_and_gradient(case.problem, u + gamma * r, family, 1, True)
        one, two = (_core.losses_and_gradient(offset, u, family, threads, True) for threads in (1, 2))
        for mine, theirs, again in zip(one, expected, two, strict=True):
            assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
            assert_array_equal(mine, again)


@every_kind
@given(seed=seeds)
@few
def test_an_offset_changes_the_costs_and_nothing_else(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = kind(seed)
    problem = case.problem.slice(0, len(case))  # which asks a problem written in Python in the same words
    w, r = rng.standard_normal((2, problem.dim))
    offset = _core.offset(problem, r)
    assert (offset.size, offset.dim, offset.offers) == (problem.size, problem.dim, problem.offers)
    assert offset.dot(w, r) == problem.dot(w, r)
    for i, outputs in enumerate(case.outputs):
        theta, mu = offset.score(i, w), rng.standard_normal(outputs.n)
        assert_array_equal(theta, problem.score(i, w))
        assert_array_equal(offset.gold(i), problem.gold(i))
        assert_array_equal(offset.forbid(i, theta), problem.forbid(i, theta))
        assert offset.radius(i) == problem.radius(i)
        assert offset.argmax(i, theta)[0] == problem.argmax(i, theta)[0]
        assert_array_equal(offset.logsum(i, theta)[1], problem.logsum(i, theta)[1])
        assert [v for v, _ in offset.kbest(i, theta, 4)] == [v for v, _ in problem.kbest(i, theta, 4)]
        assert_array_equal(offset.sample(i, theta, 3), problem.sample(i, theta, 3))
        delta, c0 = offset.cost(i)
        scores = outputs.values(case.matrices[i] @ r).astype(float)
        expected = case.costs[i] + scores - scores[case.gold_index(i)]
        assert_allclose(c0 + outputs.counts @ delta, expected, rtol=1e-9, atol=1e-9)
        index, value = offset.row(i, mu)
        g = np.zeros(problem.dim)
        offset.scatter(i, mu, 1.0, g)
        assert_allclose(theta @ mu, w @ g, rtol=1e-9, atol=1e-9)
        assert_allclose(theta @ mu, w[index] @ value, rtol=1e-9, atol=1e-9)
        moved = w.copy()
        change = offset.move(i, mu, 0.5, moved)
        assert_allclose(moved, w + 0.5 * g, rtol=1e-9, atol=1e-9)
        assert_allclose(change, 0.5 * (moved @ moved - w @ w), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", [(1.0, 1.0), (3.0, 0.5), (inf, 1.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_learners_of_the_dual_are_right_about_an_offset(kind: str, family: tuple[float, float]) -> None:
    """Steps of the dual move weights by line searches that count on linear scores: none may see the offset there."""
    loss = LossFamily(*family)
    problem, _ = KINDS[kind](1, loss)
    offset = _core.offset(problem, np.random.default_rng(1).standard_normal(problem.dim))
    lowest, certified = [], []
    for learner in (EG(), BatchEG(), BCFW(), *([LBFGS()] if loss.smooth else [])):
        solution = solve(learner, offset, loss, tol=1e-6 if loss.smooth else 1e-3, max_iter=5000)
        assert solution.converged
        for record in solution.history:
            assert record.gap is None or record.gap >= -1e-9 * (abs(record.primal) + abs(record.dual))
        lowest.append(solution.certificate.primal)
        certified.append(solution.certificate.dual)
    assert min(lowest) >= max(certified) - 1e-9  # weak duality between all of them
    assert_allclose(lowest, lowest[-1], rtol=2e-6 if loss.smooth else 2e-3)


def test_smo_is_right_about_an_offset() -> None:
    problem, _ = untied_chain(1, Hinge())
    offset = _core.offset(problem, np.random.default_rng(1).standard_normal(problem.dim))
    smo, bcfw = (solve(learner, offset, Hinge(), tol=1e-5, max_iter=5000) for learner in (SMO(), BCFW()))
    assert smo.converged
    assert smo.certificate.primal == pytest.approx(bcfw.certificate.primal, rel=2e-5)


@every_kind
def test_an_offset_outlives_the_name_of_its_problem(kind: Kind) -> None:
    case = kind(3)
    expected = case.outputs[1].values(case.matrices[1] @ np.ones(case.problem.dim)).astype(float)
    expected += case.costs[1] - expected[case.gold_index(1)]
    offset = _core.offset(case.problem, np.ones(case.problem.dim))
    counts = case.outputs[1].counts
    del case
    gc.collect()
    delta, c0 = offset.cost(1)
    assert_allclose(c0 + counts @ delta, expected, rtol=1e-9, atol=1e-9)


def test_an_offset_of_another_length_or_of_a_cost_beyond_parts_is_refused() -> None:
    problem, _ = KINDS["chain"](0, Hinge())
    with pytest.raises(MargraveError, match=rf"r must have length {problem.dim}, not 3\."):
        _core.offset(problem, np.zeros(3))
    with pytest.raises(MargraveError, match="not a sum over parts"):
        _core.offset(problem, np.zeros(problem.dim), True)


# ---- the procedure ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@every_difference
def test_every_round_minimizes_a_bound_that_touches_the_objective(kind: str, loss: DifferenceOfLosses) -> None:
    """P of the round, but for a constant, is the objective at w_k and above it everywhere else: along random lines."""
    problem, _ = KINDS[kind](2, loss)
    random = np.random.default_rng(3)
    for _ in range(3):
        here = random.standard_normal(problem.dim)
        objective = Objective(
            problem, loss, C=0.7, sample_weight=random.uniform(0, 2, problem.size), start=here, n_jobs=1
        )
        state = CCCP().begin(objective)
        bound = state.convex_problem(1e-6)
        assert bound.loss.convex
        constant = objective.primal(here) - bound.primal(here - state.r)
        for line in random.standard_normal((4, problem.dim)):
            for step in (-10.0, -1.0, -0.1, 0.1, 1.0, 10.0):
                w = here + step * line
                value = objective.primal(w)
                assert bound.primal(w - state.r) + constant >= value - 1e-9 * abs(value)
        if loss.smooth:  # the bound and the objective have the same slope where they touch
            assert_allclose(
                bound.value_and_gradient(here - state.r)[1], objective.value_and_gradient(here)[1], atol=1e-9
            )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("inner", "loss"), combinations(DIFFERENCES[:3]))
def test_the_objective_never_rises_from_round_to_round(kind: str, inner: Learner, loss: DifferenceOfLosses) -> None:
    problem, _ = KINDS[kind](1, loss)
    objective = Objective(problem, loss, n_jobs=1)
    solution = CCCP(inner, rounds=4, inner_tol=1e-3).solve(objective)
    for record in solution.history:
        assert (record.dual, record.gap) == (None, None)
    for before, after in pairwise(solution.history):
        assert after.primal <= before.primal
        assert after.passes > before.passes
    assert len(solution.history) <= 4
    assert len(solve(CCCP(inner, rounds=4), problem, loss, max_iter=1).history) == 1
    assert solution.certificate == solution.history[-1]
    assert solution.certificate.primal == pytest.approx(objective.primal(solution.w), rel=1e-12)
    first = solve(inner, problem, LossFamily(loss.beta, loss.gamma), tol=1e-3).w
    assert solution.history[0].primal == pytest.approx(objective.primal(first), rel=1e-9)  # the first round is plain L


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_a_smooth_difference_ends_where_its_gradient_is_zero(kind: str, loss: DifferenceOfLosses) -> None:
    problem, _ = KINDS[kind](1, loss)
    objective = Objective(problem, loss, n_jobs=1, tol=1e-13)
    solution = CCCP(LBFGS(), rounds=300, inner_tol=1e-12).solve(objective)
    assert solution.converged
    assert np.linalg.norm(objective.value_and_gradient(solution.w)[1]) <= 1e-4
    assert np.linalg.norm(objective.value_and_gradient(np.zeros(problem.dim))[1]) > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_the_ramp_loss_ends_where_no_prediction_changes(kind: str) -> None:
    problem, _ = KINDS[kind](1, Ramp())
    learner = CCCP(inner_tol=1e-5)
    solution = solve(learner, problem, Ramp(), tol=0.0)
    assert solution.converged
    assert solution.reason == "the tangent of the concave part is the one before"
    again = solve(learner, problem, Ramp(), tol=0.0, start=solution.w)
    assert len(again.history) == 1
    assert_allclose(again.w, solution.w, atol=0.02)


def test_it_goes_on_from_given_weights_and_never_to_worse_ones() -> None:
    loss = ExpectedCostBound()
    problem, _ = matching(1)
    first = solve(CCCP(LBFGS(), rounds=3), problem, loss)
    on = solve(CCCP(LBFGS(), rounds=3), problem, loss, start=first.w)
    whole = solve(CCCP(LBFGS(), rounds=6), problem, loss)
    assert on.history[0].primal < first.certificate.primal
    assert on.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-9)
    local = solve(CCCP(LBFGS(), rounds=100, inner_tol=1e-10), problem, loss, tol=1e-10).w
    stays = solve(CCCP(MIRA()), problem, loss, start=local)  # no minimizer, and so no better
    assert (stays.converged, stays.reason) == (False, "learner 'mira' found nothing lower")
    assert_array_equal(stays.w, local)
    assert stays.certificate.primal == pytest.approx(Objective(problem, loss, n_jobs=1).primal(local), rel=1e-12)


def test_another_c_begins_where_the_last_one_ended() -> None:
    problem, _ = matching(1)
    learner = CCCP(rounds=3)
    low = solve(learner, problem, Ramp())
    state = learner.continue_with(low.state, Objective(problem, Ramp(), C=2.0, n_jobs=1))
    high = learner.solve(state.objective, state)
    assert high.history[0].primal <= Objective(problem, Ramp(), C=2.0, n_jobs=1).primal(low.w)
    assert high.history[0].passes > 2


@pytest.mark.parametrize("inner", [LBFGS(), BCFW(), SGD(rate=0.1)], ids=lambda inner: inner.name)
def test_all_inner_passes_count(inner: Learner) -> None:
    loss = ExpectedCostBound()
    problem = Watched(matching(0)[0])
    solution = solve(CCCP(inner, rounds=3, inner_tol=1e-3), problem, loss)
    assert problem.calls == pytest.approx(solution.history[-1].passes * problem.size, rel=1e-12)


@pytest.mark.parametrize("loss", DIFFERENCES[:2], ids=lambda loss: loss.name)
def test_the_inner_learner_is_chosen_for_the_convex_part(loss: DifferenceOfLosses) -> None:
    problem, _ = KINDS["chain"](0, loss)
    chosen = learner_named("auto").resolve(LossFamily(loss.beta, loss.gamma), problem)
    automatic, named = (solve(CCCP(inner, rounds=2), problem, loss) for inner in ("auto", chosen))
    assert_array_equal(automatic.w, named.w)


@every_difference
def test_auto_is_the_procedure_for_a_difference(loss: DifferenceOfLosses) -> None:
    problem, _ = matching(0)
    assert learner_named("auto").resolve(loss, problem) == CCCP()
    check_loss(learner_named("auto"), loss)
    assert_array_equal(
        solve(learner_named("auto"), problem, loss, max_iter=1).w, solve(CCCP(), problem, loss, max_iter=1).w
    )


@pytest.mark.parametrize(("inner", "loss"), [(LBFGS(), ExpectedCostBound()), (BatchEG(), Ramp())])
def test_the_number_of_threads_changes_no_bit(inner: Learner, loss: DifferenceOfLosses) -> None:
    problem, _ = KINDS["chain"](0, loss)
    one, two = (solve(CCCP(inner, rounds=3), problem, loss, n_jobs=threads) for threads in (1, 2))
    assert_array_equal(one.w, two.w)
    assert [record.primal for record in one.history] == [record.primal for record in two.history]


def test_the_same_seed_gives_the_same_bits() -> None:
    problem, _ = matching(0)
    first, again, other = (solve(CCCP("sgd", rounds=1), problem, Ramp(), random_state=seed).w for seed in (7, 7, 8))
    assert_array_equal(first, again)
    assert (first != other).any()


def test_examples_without_weight_take_no_part() -> None:
    random = np.random.default_rng(0)
    maps, gold = random.normal(size=(6, 9, 5)), [tuple(int(k) for k in random.permutation(3)) for _ in range(6)]
    weight = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 0.5])
    all_six = solve(CCCP(LBFGS()), Matching(maps, gold), ExpectedCostBound(), sample_weight=weight)
    kept = np.flatnonzero(weight)
    four = Matching(maps[kept], [gold[i] for i in kept])
    assert_allclose(all_six.w, solve(CCCP(LBFGS()), four, ExpectedCostBound(), sample_weight=weight[kept]).w, atol=1e-9)


def test_scores_on_dev_data_are_those_of_the_weights_themselves() -> None:
    problem, _ = matching(1)
    start = np.random.default_rng(1).standard_normal(problem.dim)
    seen: list[Weights] = []

    def score(w: Weights) -> float:
        seen.append(w)
        return 0.0

    inner = SGD(rates=(1e-12,))
    solve(CCCP(inner, rounds=1), problem, Ramp(), start=start, dev_score=score)
    assert len(seen) == 1
    assert_allclose(seen[0], start, atol=1e-6)


def test_the_zero_one_cost_of_classes_is_that_of_parts() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20, dtype=np.int32) % 3
    uneven = Ramp(np.array([[0, 5, 5], [2, 0, 2], [3, 3, 0]]))
    plain, other = (
        bind(Multiclass(), X, y, feature_map=FeatureTable("all"), classes=[0, 1, 2], loss=loss)
        for loss in (Ramp(), uneven)
    )
    expected = solve(CCCP(), plain, Ramp())
    assert_array_equal(solve(CCCP(), other, Ramp("zero-one")).w, expected.w)  # whatever cost it was bound with
    assert (solve(CCCP(), other, Ramp()).w != expected.w).any()


# ---- what it is for --------------------------------------------------------------------------------------------------


def test_the_ramp_loss_ignores_an_outlier_and_the_hinge_loss_does_not() -> None:
    """Forty points on two sides of a line, and one far out on the wrong side.

    Under the hinge loss the outlier, whose loss grows with its distance, turns the line and shrinks the margin. Its
    ramp loss cannot exceed its cost, and the weights are those of the data without it.
    """
    random = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.column_stack([np.where(y == 1, 1.0, -1.0) * random.uniform(0.5, 1.5, 40), random.normal(size=40)])
    X_all, y_all = np.vstack([X, [6.0, 6.0]]), np.append(y, 0)

    def line(model: LinearClassifier) -> Weights:
        return model.coef_[1] - model.coef_[0]

    clean = line(LinearClassifier("hinge", learner="bcfw", tol=1e-6).fit(X, y))
    hinge = line(LinearClassifier("hinge", learner="bcfw", tol=1e-6).fit(X_all, y_all))
    ramp = LinearClassifier("ramp", learner=CCCP(inner_tol=1e-6)).fit(X_all, y_all)
    assert_allclose(clean, [1.917, -0.030], atol=2e-3)
    assert_allclose(hinge, [1.218, -0.254], atol=2e-3)
    assert_allclose(line(ramp), clean, atol=2e-3)
    # the first round is the hinge loss; at its solution the outlier already costs what it costs at most, 1
    assert_allclose([record.primal for record in ramp.history_], [4.626, 1.952], atol=1e-3)
    assert ramp.predict([[6.0, 6.0]]) == [1]


# ---- refusals, interrupts, files -------------------------------------------------------------------------------------


LEARNERS_OF_CONVEX_LOSSES: list[Learner] = [*INNER, SGD(), SMO(), BatchEG(), AveragedPerceptron()]


@pytest.mark.parametrize("learner", LEARNERS_OF_CONVEX_LOSSES, ids=lambda learner: learner.name)
@every_difference
def test_other_learners_refuse_a_difference_and_name_cccp(learner: Learner, loss: DifferenceOfLosses) -> None:
    problem = Watched(matching()[0])
    with pytest.raises(MargraveError) as error:
        solve(learner, problem, loss)
    assert str(error.value) == (
        f"learner '{learner.name}' needs a convex loss, and {loss.name} is a difference of two: use learner='cccp', "
        "or loss='hinge'."
    )
    assert problem.calls == 0
    assert solve(CCCP(rounds=1), problem, loss).history


@pytest.mark.parametrize("loss", [Log(), Hinge(), Perceptron()], ids=lambda loss: loss.name)
def test_cccp_refuses_a_convex_loss(loss: LossFamily) -> None:
    better = AveragedPerceptron() if loss.name == "perceptron" else BCFW()
    with pytest.raises(MargraveError, match=f"{loss.name} is convex: use learner='{better.name}', or loss='ramp'"):
        check_loss(CCCP(), loss)
    check_loss(better, loss)
    check_loss(CCCP(), Ramp())


@pytest.mark.parametrize(
    ("inner", "loss"),
    [(LBFGS(), Ramp()), ("cg", Ramp()), ("smo", ExpectedCostBound()), (AveragedPerceptron(), Ramp()), ("lp", Ramp())],
)
def test_an_inner_learner_that_cannot_do_a_round_is_refused_before_any_work(
    inner: str | Learner, loss: DifferenceOfLosses
) -> None:
    problem = Watched(matching()[0])
    with pytest.raises(
        MargraveError, match=rf"cannot be the inner learner of cccp with {loss.name}.*use inner='auto'\.$"
    ):
        solve(CCCP(inner), problem, loss, start=np.zeros(problem.dim))
    assert problem.calls == 0


def test_an_inner_learner_that_needs_more_of_the_structure_is_refused_before_any_work() -> None:
    problem = Watched(matching()[0])
    with pytest.raises(MargraveError, match="'kbest-mira' with loss hinge needs 'kbest'"):
        solve(CCCP("kbest-mira"), problem, Ramp(), start=np.zeros(problem.dim))
    assert problem.calls == 0


def test_settings_that_make_no_sense_are_refused() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"inner": 3}, "must be a name or a learner, not 3"),
        ({"inner": "cccp"}, "must be another one"),
        ({"inner": CCCP()}, "must be another one"),
        ({"rounds": 0}, "rounds of cccp"),
        ({"inner_tol": -1.0}, "inner_tol"),
    ]
    for options, message in bad:
        with pytest.raises(MargraveError, match=message):
            CCCP(**options)
    with pytest.raises(MargraveError, match="did you mean 'bcfw'"):
        solve(CCCP("bcf"), matching()[0], Ramp())
    problem, _ = KINDS["chain"](0, Ramp())
    with pytest.raises(MargraveError, match="unlike the zero-one cost of a structured output: use cost='hamming'"):
        solve(CCCP(), problem, Ramp("zero-one"))


def interrupt_once(after: float) -> Callable[[int], None]:
    """A single interrupt after so many calls."""
    done: list[int] = []

    def event(calls: int) -> None:
        if calls > after and not done:
            done.append(calls)
            raise KeyboardInterrupt

    return event


def test_an_interrupt_keeps_the_last_whole_round_or_what_there_is_of_the_first() -> None:
    loss, learner = ExpectedCostBound(), CCCP("lbfgs", rounds=4)
    inner, _ = matching(0)
    whole = solve(learner, inner, loss)
    assert len(whole.history) == 4
    for passes in (0.5, 3.5):  # before and after the inner learner has something to show for the third round
        problem = Watched(inner, interrupt_once((whole.history[1].passes + passes) * inner.size))
        solution = solve(learner, problem, loss)
        assert (solution.reason, solution.converged) == ("interrupted", False)
        assert [record.primal for record in solution.history] == [record.primal for record in whole.history[:2]]
        assert_array_equal(solution.w, solve(learner, inner, loss, max_iter=2).w)
    with pytest.raises(KeyboardInterrupt):
        solve(learner, Watched(inner, interrupt_once(3)), loss)
    partial = solve(learner, Watched(inner, interrupt_once(5.5 * inner.size)), loss)
    assert (partial.reason, partial.converged, len(partial.history)) == ("interrupted", False, 1)
    assert partial.certificate.primal == pytest.approx(Objective(inner, loss, n_jobs=1).primal(partial.w), rel=1e-12)
    assert (partial.w != solve(learner, inner, loss, max_iter=1).w).any()


def test_a_run_that_goes_on_from_a_checkpoint_ends_with_the_same_bits(tmp_path: Path) -> None:
    loss = ExpectedCostBound()
    problem, _ = matching(0)
    learner = CCCP(SGD(rates=(0.01, 0.1)))
    path = tmp_path / "run.checkpoint"
    objective = Objective(problem, loss, n_jobs=1, max_iter=2, checkpoint=Checkpoint(path))
    begun = learner.solve(objective)
    assert len(begun.history) == 2
    on = learner.solve(replace(objective, max_iter=4, checkpoint=Checkpoint(path)))
    whole = solve(learner, problem, loss, max_iter=4)
    assert_array_equal(on.w, whole.w)
    assert [record.primal for record in on.history] == [record.primal for record in whole.history]
    with pytest.raises(MargraveError, match="checkpoint is of another run"):
        CCCP(LBFGS()).solve(replace(objective, max_iter=4, checkpoint=Checkpoint(path)))


def models_that_come_back() -> list[Any]:
    return [
        ("ramp", CCCP(EG(rate=0.5), rounds=2)),
        (ExpectedCostBound(), CCCP("lbfgs", rounds=2)),
        (DifferenceOfLosses(2.0, 0.5), CCCP(SGD(rates=(0.1,)), rounds=2)),
        (Ramp({"b": 3.0}), CCCP(rounds=2)),
    ]


@pytest.mark.parametrize(("loss", "learner"), models_that_come_back())
def test_a_model_comes_back_from_its_file_with_its_loss_and_learner(
    loss: str | LossFamily, learner: Learner, tmp_path: Path
) -> None:
    X, Y = [[["x"], ["y"]], [["y"], ["x"], ["x"]]], [["a", "b"], ["b", "a", "a"]]
    model = SequenceTagger(loss, learner=learner).fit(X, Y)
    model.save(tmp_path / "m.model")
    back = load(tmp_path / "m.model")
    mine, theirs = loss_named(loss), loss_named(back.loss)
    assert not theirs.convex
    assert (theirs.beta, theirs.gamma, theirs.name) == (mine.beta, mine.gamma, mine.name)
    assert_array_equal(theirs.cost_matrix(["a", "b"]), mine.cost_matrix(["a", "b"]))
    assert back.learner == learner
    assert back.certificate_.primal == model.certificate_.primal
    assert_array_equal(back.estimator().fit(X, Y).coef_, model.coef_)
