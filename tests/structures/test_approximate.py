"""What structures with approximate inference owe all the same: every one that is registered with exact=False."""

from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from margrave import MargraveError, _core
from margrave.learners import BCFW, Checkpoint, learner_named
from margrave.learners.objective import Objective
from margrave.losses import Hinge, Log, LossFamily
from tests.registry import APPROXIMATE, Case, Kind

every_kind = pytest.mark.parametrize("kind", APPROXIMATE, ids=lambda kind: kind.name)
keeping = pytest.mark.parametrize(
    "kind", [kind for kind in APPROXIMATE if "kept" in kind.name], ids=lambda kind: kind.name
)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=5, deadline=None)


def scores(case: Case, seed: int):
    """(example, its outputs, scores): of usual size, with ties, with forbidden parts, large."""
    rng = np.random.default_rng(seed + 1)
    for turn, style in enumerate(("usual", "ties", "forbidden", "large")):
        i = turn % len(case)
        theta = rng.standard_normal(case.outputs[i].n) * (100 if style == "large" else 1)
        if style == "ties":
            theta = np.sign(theta)
        if style == "forbidden":
            theta[rng.random(len(theta)) < 0.1] = -inf
        yield i, case.outputs[i], theta


@every_kind
@given(seed=seeds)
@few
def test_scores_costs_and_gold_outputs_do_not_depend_on_inference(kind: Kind, seed: int) -> None:
    case = kind(seed)
    problem = case.problem
    assert not problem.exact
    assert case.bound is not None and not case.bound.exact
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(problem.dim)
    for i, outputs in enumerate(case.outputs):
        assert_allclose(problem.score(i, w), case.matrices[i] @ w, atol=1e-12)
        assert tuple(sorted(problem.gold(i).tolist())) == case.gold[i]
        delta, constant = problem.cost(i)
        assert_allclose(outputs.values(delta) + constant, case.costs[i], atol=1e-12)
        v = rng.standard_normal(outputs.n)
        gathered = np.zeros(problem.dim)
        problem.scatter(i, v, 2.0, gathered)
        assert_allclose(gathered, 2.0 * case.matrices[i].T @ v, atol=1e-12)


@every_kind
@given(seed=seeds)
@few
def test_what_is_found_is_an_output_and_what_is_certified_is_best(kind: Kind, seed: int) -> None:
    case = kind(seed)
    for i, outputs, theta in scores(case, seed):
        value, parts = case.problem.argmax(i, theta)
        best = float(outputs.values(theta).max())
        size = 1 + float(np.abs(theta[np.isfinite(theta)]).sum())
        assert value <= best + 1e-9 * size
        if best == -inf:
            assert len(parts) == 0
            continue
        if value == -inf:  # a search that hard factors defeat
            continue
        assert tuple(sorted(parts.tolist())) in outputs.ys
        assert_allclose(theta[parts].sum(), value, atol=1e-9 * size)
        if case.bound.certified[i] == 1:
            assert value >= best - 1e-7 * size


@every_kind
@given(seed=seeds)
@few
def test_pseudo_marginals_are_shares_and_forbidden_parts_have_none(kind: Kind, seed: int) -> None:
    case = kind(seed)
    for i, outputs, theta in scores(case, seed):
        value, mu = case.problem.logsum(i, theta)
        expected, _ = outputs.logsum(theta)
        assert not np.isnan(value)
        assert (mu >= 0).all() and (mu <= 1 + 1e-9).all() and (mu[theta == -inf] == 0).all()
        if value == -inf:
            assert not mu.any()
        if "trw" in kind.name:
            assert value >= expected - 1e-9 * (1 + abs(expected))
        if "reweighted" in kind.name and expected > -inf:
            right = theta[list(case.gold[i])]
            assert value >= right.sum() - 1e-12 * np.abs(right).sum()


@every_kind
@given(seed=seeds)
@few
def test_a_relaxation_is_never_below_the_best_output(kind: Kind, seed: int) -> None:
    case = kind(seed)
    if "relaxed_argmax" not in case.problem.offers:
        return
    for i, outputs, theta in scores(case, seed):
        bound, mu = case.problem.relaxed_argmax(i, theta)
        best = float(outputs.values(theta).max())
        size = 1 + float(np.abs(theta[np.isfinite(theta)]).sum())
        assert bound >= best - 1e-7 * size
        if best > -inf and case.bound.certified[i] == 1:
            assert_allclose(mu[mu > 0] @ theta[mu > 0], best, atol=1e-6 * size)


@every_kind
@given(seed=seeds)
@few
def test_smooth_losses_are_sums_at_scores_with_costs(kind: Kind, seed: int) -> None:
    """L(beta, gamma) runs inference on beta (s + gamma cost), and its gradient has the pseudo-marginals found there."""
    loss = LossFamily(2.0, 1.5)
    case, other = kind(seed), kind(seed)  # what one keeps of its messages does not change the other
    problem = case.problem
    w = 0.2 * np.random.default_rng(seed).standard_normal(problem.dim)
    losses, gradient = _core.losses_and_gradient(other.problem, w, loss.core(1.0, None), 1, True)
    expected = np.zeros(problem.dim)
    for i in range(len(case)):
        theta, (delta, constant) = problem.score(i, w), problem.cost(i)
        log_z, mu = problem.logsum(i, loss.beta * (theta + loss.gamma * delta))
        gold = list(case.gold[i])
        if "reweighted" not in kind.name:  # where a bound may take the place of a negative loss
            assert_allclose(losses[i], log_z / loss.beta + loss.gamma * constant - theta[gold].sum(), atol=1e-9)
        problem.scatter(i, mu, 1.0, expected)
        problem.scatter(i, np.bincount(gold, minlength=len(mu)).astype(float), -1.0, expected)
    assert_allclose(gradient, expected, atol=1e-9)


@every_kind
def test_passes_have_the_same_bits_for_any_number_of_threads(kind: Kind) -> None:
    """Over several passes: what an example keeps depends on its own past alone."""
    found = []
    for threads in (1, 3):
        case = kind(3, size=8)
        rng = np.random.default_rng(0)
        passes = []
        for _ in range(3):
            w = rng.standard_normal(case.problem.dim)
            passes.append(_core.marginals_all(case.problem, w, 1.0, threads)[2])
            passes.append(_core.argmax_all(case.problem, w, threads)[1])
        found.append(passes)
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)


@every_kind
@pytest.mark.parametrize("learner", ["sgd", "mira"])
def test_learners_go_on_and_say_that_inference_is_approximate(kind: Kind, learner: str) -> None:
    case = kind(5, size=5)
    for loss in (Log(), Hinge()):
        solution = learner_named(learner).solve(
            Objective(case.problem, loss, C=0.1, max_iter=3, approximate=case.bound)
        )
        assert not solution.exact
        relaxed = "relaxed_argmax" in case.problem.offers and not loss.smooth
        assert ("relaxed objective" if relaxed else "approximate") in solution.reason


@every_kind
@pytest.mark.parametrize("learner", ["cutting-plane", "kbest-mira", "smo", BCFW(pairwise=True)])
def test_learners_that_need_more_than_a_relaxation_say_so(kind: Kind, learner: object) -> None:
    case = kind(5, size=3)
    if "relaxed_argmax" not in case.problem.offers:
        return
    with pytest.raises(MargraveError) as refusal:
        learner_named(learner).solve(Objective(case.problem, Hinge(), C=1.0, max_iter=2))
    assert "\n" not in str(refusal.value)


# ---- messages that are kept -----------------------------------------------------------------------------------------


@keeping
@given(seed=seeds)
@few
def test_messages_that_are_kept_are_where_the_next_ones_start(kind: Kind, seed: int) -> None:
    case = kind(seed)
    status = case.bound
    assert len(status.kept) > 0 and np.isnan(status.kept).all()
    for i, outputs in enumerate(case.outputs):
        theta = 0.2 * np.random.default_rng(seed).standard_normal(outputs.n)
        first, mu = case.problem.logsum(i, theta)
        sweeps = status.sweeps[i]
        again, other = case.problem.logsum(i, theta)
        if sweeps < 0:
            continue
        assert 0 < status.sweeps[i] <= min(sweeps, 2)
        assert_allclose(again, first, rtol=1e-6, atol=1e-6)
        assert_allclose(other, mu, atol=1e-4)


@keeping
def test_messages_that_are_kept_can_be_stored_and_restored(kind: Kind) -> None:
    case, other = kind(1), kind(1)
    w = np.ones(case.problem.dim)
    _core.marginals_all(case.problem, w, 1.0, 1)
    other.bound.kept = case.bound.kept
    for i in range(len(case)):
        theta = case.problem.score(i, 0.9 * w)
        assert case.problem.logsum(i, theta)[0] == other.problem.logsum(i, theta)[0]
    with pytest.raises(ValueError, match="numbers of messages"):
        case.bound.kept = np.zeros(len(case.bound.kept) + 1)


@keeping
@pytest.mark.parametrize("learner", ["sgd", "mira"])
def test_a_run_that_keeps_messages_goes_on_from_its_checkpoint(kind: Kind, learner: str, tmp_path: Path) -> None:
    """With the same bits as one that was never interrupted."""

    def run(iterations: int, name: str) -> np.ndarray:
        case = kind(7, size=6)
        checkpoint = Checkpoint(tmp_path / name, every=0.0)
        objective = Objective(
            case.problem, Log(), C=0.1, max_iter=iterations, tol=0.0, checkpoint=checkpoint, approximate=case.bound
        )
        return learner_named(learner).solve(objective).w

    whole = run(6, "whole")
    run(3, "half")
    assert_array_equal(run(6, "half"), whole)
