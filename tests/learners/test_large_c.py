"""Any C from very small to very large: the dual learners' bounds, who is chosen, and what ends a run."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from margrave import Hinge, Log, LossFamily, SequenceTagger, SoftmaxMargin
from margrave.learners import BCFW, CCCP, EG, LBFGS, LEARNERS, Auto, Ended, Objective, Solution, auto
from margrave.losses import DifferenceOfLosses
from margrave.maps import FeatureTable
from margrave.structures import Multiclass
from margrave.testing.learners import small_problems
from margrave.testing.optimum import Alternatives
from tests.learners.test_learners import chain
from tests.references.dual import best, real_chain, untied_chain
from tests.references.problems import bind

CS = [1e-3, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]
SMALL = {small.name: small for small in small_problems()}


def problem_named(name: str, loss: LossFamily) -> tuple[Any, list[Alternatives]]:
    if name in SMALL:
        return SMALL[name].problem, SMALL[name].examples
    return {"tied": chain, "untied": untied_chain, "real": real_chain}[name](0, loss)


def solve(learner: Any, problem: Any, loss: LossFamily, **options: Any) -> Solution:
    return learner.solve(Objective(problem, loss, **{"tol": 1e-4, "n_jobs": 1, "max_iter": 300, **options}))


@pytest.mark.parametrize("C", CS)
@pytest.mark.parametrize("name", ["tied", "untied", "real", "classes", "trees", "lists"])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_bcfw_reaches_the_optimum_of_an_independent_solver(name: str, gamma: float, C: float) -> None:
    loss = LossFamily(np.inf, gamma)
    problem, examples = problem_named(name, loss)
    there = best(examples, loss, C)
    solution = solve(BCFW(), problem, loss, C=C)
    assert solution.converged, solution.reason
    assert solution.certificate.primal is not None and solution.certificate.dual is not None
    assert there.dual * (1 - 1e-6) <= solution.certificate.primal <= there.primal * (1 + 1.1e-4)
    for record in solution.history:
        assert record.dual is not None
        assert record.dual <= there.primal * (1 + 1e-8)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", ["tied", "classes", "trees"])
def test_the_blocks_follow_joint_steps(name: str, C: float) -> None:
    """Masses sum to 1, w is theirs, and D never falls."""
    problem, _ = problem_named(name, Hinge())
    weight = np.ones(problem.size)
    weight[0], weight[-1] = 0.0, 2.5
    solution = solve(BCFW(), problem, Hinge(), C=C, sample_weight=weight, tol=1e-6)
    solution.state.verify()
    duals = [record.dual for record in solution.history if record.dual is not None]
    scale = max(abs(duals[-1]), 1e-9)
    assert all(after >= before - 1e-9 * scale for before, after in pairwise(duals))


@pytest.mark.parametrize("loss", [Log(), SoftmaxMargin(), LossFamily(0.3, 5.0)], ids=lambda loss: loss.name)
def test_auto_leaves_a_large_c_to_lbfgs(loss: LossFamily, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = problem_named("untied", loss)
    monkeypatch.setattr(auto, "_FEWEST_PARTS", 0)
    monkeypatch.setattr(auto, "FEW_WEIGHTS", 0)
    for C in CS:
        chosen = Auto().resolve(loss, problem, C)
        assert chosen == (LBFGS() if C >= 100 else EG())
        objective = Objective(problem, loss, C=C, n_jobs=1)
        assert Auto().solve(objective).converged
    inner = CCCP()._inner(DifferenceOfLosses(1.0, 1.0), problem, 1e4)
    assert inner == LBFGS()


@pytest.mark.parametrize(("C", "weight"), [(1e4, 1.0), (1.0, 1e4), (1e-2, 1e6), (1e-2, 9e3), (1e4, 1e-4)])
@pytest.mark.parametrize("how_many", ["one", "all"])
def test_auto_chooses_by_the_largest_c_of_an_example(
    C: float, weight: float, how_many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weight of a loss is C times the weight of its example."""
    monkeypatch.setattr(auto, "_FEWEST_PARTS", 0)
    monkeypatch.setattr(auto, "FEW_WEIGHTS", 0)
    problem, _ = problem_named("untied", Log())
    rest = weight if how_many == "all" else 1e-3 * weight
    weights = np.full(problem.size, rest)
    weights[-1] = weight
    assert Objective(problem, Log(), C=C, sample_weight=weights).largest_weight == pytest.approx(C * weight)
    X, y = [[["a"], ["b"]], [["b"], ["c"]]], [["s", "t"], ["t", "t"]]
    fitted = SequenceTagger(C=C, max_iter=1000).fit(X, y, sample_weight=[rest, weight])
    assert fitted.learner_ == (LBFGS() if C * weight >= 100 else EG())
    assert Auto().solve(Objective(problem, Log(), C=C, sample_weight=weights, tol=1e-2, n_jobs=1)).converged


@pytest.mark.parametrize("C", CS)
@pytest.mark.parametrize("name", sorted(set(LEARNERS) - {"auto", "cccp", "lp", "smo", "smo-eg"}))
def test_a_gap_that_ends_a_run_is_not_negative(name: str, C: float) -> None:
    """Also where the optimum is 0, because every example has one output only."""
    rng = np.random.default_rng(0)
    for n in (1, 7, 40):
        X, labels = rng.normal(size=(n, 3)), np.zeros(n, np.int32)
        for loss in (Log(), Hinge(), SoftmaxMargin(), LossFamily(2.5, 0.3)):
            problem = bind(Multiclass(), X, labels, feature_map=FeatureTable("all"), classes=[0], loss=loss)
            try:
                LEARNERS[name]().check(loss, problem)
            except ValueError:
                continue
            solution = solve(LEARNERS[name](), problem, loss, C=C, max_iter=20)
            assert not re.search(r"gap -", solution.reason), solution.reason
            if solution.ended is Ended.GAP:
                assert solution.certificate.primal == pytest.approx(0.0, abs=1e-6 * C)


@pytest.mark.parametrize("C", [1e-2, 0.3, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", [Log(), SoftmaxMargin(), LossFamily(2.0, 3.0)], ids=lambda loss: loss.name)
def test_every_bound_of_single_precision_holds(loss: LossFamily, seed: int, C: float) -> None:
    """Between certificates there is none: the rounding errors of many visits add up."""
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(30, 4)), rng.integers(0, 3, 30).astype(np.int32)
    problem = bind(Multiclass(), X, labels, feature_map=FeatureTable("all"), classes=[0, 1, 2], loss=loss)
    optimum = solve(LBFGS(), problem, loss, C=C, tol=1e-13, max_iter=2000).certificate.primal
    assert optimum is not None
    solution = solve(EG(single=True), problem, loss, C=C, tol=1e-12, max_iter=300)
    double = solve(EG(), problem, loss, C=C, tol=1e-12, max_iter=300)
    certified = [record.dual for record in solution.history if record.primal is not None]
    assert certified
    assert all(record.dual is None for record in solution.history if record.primal is None)
    for dual in certified:
        assert dual is not None
        assert dual <= optimum * (1 + 1e-12)
    assert all(record.dual is not None and record.dual <= optimum * (1 + 1e-12) for record in double.history)
    if C <= 1:
        assert solution.certificate.primal == pytest.approx(optimum, rel=1e-6)


def test_single_precision_reaches_tol_in_as_many_passes_as_double() -> None:
    problem, _ = problem_named("untied", Log())
    for C in (0.03, 0.3, 3.0):
        passes = [len(solve(EG(single=single), problem, Log(), C=C, tol=1e-5).history) for single in (False, True)]
        assert abs(passes[0] - passes[1]) <= 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1.0, 100.0, 1e6])
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e5])
@pytest.mark.parametrize("learner", ["lbfgs", "cg"])
@pytest.mark.parametrize("beta", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("x", [(13, -8), (5, -2), (-1, 10), (-6, -1, 2)])
def test_batch_learners_shrink_weights_that_separate_large_features(
    x: tuple[int, ...], beta: float, learner: str, scale: float, C: float
) -> None:
    """P is far smaller than the scores that cancel in it, so rounding hides that a step lowers it."""
    y = np.array([int(each > 0) for each in x], np.int32)
    X, loss = scale * np.array(x, dtype=float)[:, None], LossFamily(beta, 1.0)
    problem = bind(Multiclass(), X, y, feature_map=FeatureTable("all"), classes=[0, 1], loss=loss)
    objective = Objective(problem, loss, C=C, n_jobs=1)
    solution = LEARNERS[learner]().solve(objective)
    primal, slope = objective.value_and_gradient(solution.w)
    # At the optimum, scores are below 20 / beta; and a gradient is a sum of terms of the size C |x|.
    rounding = max(1e-14 * C * 20 / beta, (4e-16 * C * 2 * np.abs(X).sum()) ** 2)
    assert 0.5 * problem.dot(slope, slope) <= max(objective.tol * primal, rounding), solution.reason


@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("learner", ["lbfgs", "cg", "svrg"])
def test_the_gap_is_that_of_p_and_d(learner: str, scale: float, C: float) -> None:
    """Also where rounding errors of the gradient lower D; what ends a run is this gap."""
    rng = np.random.default_rng(0)
    X, y = scale * rng.normal(size=(12, 3)), rng.integers(0, 3, 12).astype(np.int32)
    problem = bind(Multiclass(), X, y, feature_map=FeatureTable("all"), classes=[0, 1, 2], loss=Log())
    solution = solve(LEARNERS[learner](), problem, Log(), C=C)
    for record in (solution.certificate, *solution.history):
        assert record.gap == pytest.approx(record.primal - record.dual, rel=1e-9, abs=1e-12 * abs(record.primal))
    if solution.ended is Ended.GAP:
        certificate = solution.certificate
        assert certificate.primal - certificate.dual <= 1.001e-4 * abs(certificate.primal)
