"""The bound of primal learners: D at a mixture of the loss's own distributions at all weights so far."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import Log, LossFamily, Reranker
from margrave.learners import CG, LBFGS, SVRG, Learner, Objective, Observer
from margrave.learners.primal import PrimalState
from margrave.testing.enumeration import distribution
from margrave.testing.optimum import optimum, primal
from tests.learners.test_learners import FAMILY, KINDS, Weights, assert_certified, solve
from tests.registry import KINDS as REGISTERED
from tests.registry import Case, Kind

PRIMAL: list[Learner] = [LBFGS(), CG(), SVRG()]
every_learner = pytest.mark.parametrize("learner", PRIMAL, ids=lambda learner: learner.name)


class Mixture:
    """A distribution over all outputs of every example, and D by its definition."""

    def __init__(self, case: Case, loss: LossFamily, weights: Weights) -> None:
        self.case, self.loss, self.weights = case, loss, weights
        self.p: list[Weights] = []

    def own(self, w: Weights) -> list[Weights]:
        """The loss's own distributions at w."""
        case, loss = self.case, self.loss
        scores = [case.outputs[i].values(case.matrices[i] @ w) for i in range(len(case))]
        return [
            distribution(loss.beta * (each + loss.gamma * cost)) for each, cost in zip(scores, case.costs, strict=True)
        ]

    def mix(self, w: Weights, share: float) -> None:
        self.p = [(1 - share) * p + share * q for p, q in zip(self.p or self.own(w), self.own(w), strict=True)]

    def dual(self) -> tuple[float, Weights]:
        """D, and w(alpha)."""
        case, loss, value = self.case, self.loss, 0.0
        w = np.zeros(case.problem.dim)
        for i, p in enumerate(self.p):
            features = np.array([case.matrices[i][list(y)].sum(axis=0) for y in case.outputs[i].ys])
            w += self.weights[i] * (features[case.gold_index(i)] - p @ features)
            entropy = -float(p @ np.log(np.where(p > 0, p, 1.0)))
            value += self.weights[i] * (loss.gamma * float(p @ case.costs[i]) + entropy / loss.beta)
        return value - 0.5 * float(w @ w), w


def bound(state: PrimalState) -> float:
    return state.linear - 0.5 * float(state.mixed @ state.mixed)


def exact(kind: Kind) -> bool:
    problem = kind(0).problem
    return bool(problem.exact and problem.euclidean and "logsum" in problem.offers)


# ---- the mixture -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in REGISTERED if exact(kind)], ids=lambda kind: kind.name)
def test_the_bound_is_at_most_the_dual_of_the_mixture_of_the_distributions(kind: Kind) -> None:
    """Its w is that of the mixture, it is no lower than D at any of the weights, and never falls."""
    rng = np.random.default_rng(5)
    case, loss = kind(3), LossFamily(1.5, 0.5)
    weight = rng.uniform(0.0, 2.0, size=len(case))
    objective = Objective(case.problem, loss, C=0.3, sample_weight=weight, n_jobs=1)
    w = rng.standard_normal(objective.problem.dim)
    state, mixture = PrimalState(objective, w, *objective.value_and_gradient(w)), Mixture(case, loss, 0.3 * weight)
    mixture.mix(w, 1.0)
    size = 1.0 + float(np.abs(state.mixed).max(initial=0.0)) ** 2
    for scale in (1.0, 0.1, 3.0, 0.3, 0.03, 1.0):
        best = bound(state)
        before, linear = state.mixed.copy(), state.linear
        state.w = scale * rng.standard_normal(objective.problem.dim)
        state.primal, state.slope = objective.value_and_gradient(state.w)
        state.mix()
        own = state.w - state.slope
        far = float((own - before) @ (own - before))
        share = float((state.mixed - before) @ (own - before)) / far if far > 0 else 0.0
        assert -1e-9 <= share <= 1 + 1e-9
        mixture.mix(state.w, share)
        value, w_alpha = mixture.dual()
        assert_allclose(state.mixed, w_alpha, atol=1e-9 * size)
        assert bound(state) <= value + 1e-9 * size
        assert bound(state) >= max(best, state.primal - state.own_gap()) - 1e-9 * size
        for other in np.linspace(0, 1, 9):  # No other share would give a higher bound.
            mixed, lifted = before + other * (own - before), linear + other * (state.own_linear() - linear)
            assert lifted - 0.5 * float(mixed @ mixed) <= bound(state) + 1e-9 * size


# ---- the learners ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_bounds_the_optimum_never_falls_and_is_no_worse_than_by_the_last_gradient(kind: str, C: float) -> None:
    loss = LossFamily(*FAMILY[list(KINDS).index(kind) % len(FAMILY)])
    problem, examples = KINDS[kind](1, loss)
    best = optimum(examples, loss, C)
    for learner in PRIMAL:
        seen: list[Weights] = []
        objective = Objective(problem, loss, C=C, n_jobs=1, tol=1e-3, observers=(Watching(seen),))
        solution = learner.solve(objective)
        assert solution.converged
        assert_certified(solution)
        for before, after in pairwise(solution.history):
            assert after.dual >= before.dual - 1e-11 * (abs(before.dual) + best)
        for record, w in zip(solution.history, seen, strict=True):
            _, slope = primal(w, examples, loss, C)
            assert record.dual <= best * (1 + 1e-9)
            assert record.dual >= record.primal - 0.5 * float(slope @ slope) * (1 + 1e-6) - 1e-9 * best
        assert solution.history[-1].dual == pytest.approx(best, rel=1e-3)


class Watching(Observer):
    """Copies all weights."""

    def __init__(self, seen: list[Weights]) -> None:
        self.seen = seen

    def note(self, record: Any, w: Weights) -> None:
        self.seen.append(w.copy())


@every_learner
@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("scale", [1.0, 1e2, 1e4])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_rounding_error_of_the_first_weights_is_left_in_the_dual(learner: Learner, scale: float, C: float) -> None:
    """With large features, P at the first weights can be 1e17 times the optimum, whose terms then cancel in D."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        lists = [np.round(rng.normal(size=(3, 2)), 1) * scale for _ in range(2)]
        gold = [int(rng.integers(3)) for _ in lists]
        model = Reranker(LossFamily(3.0, 0.0), C=C, learner=learner).fit(lists, gold)
        w = model.coef_.astype(np.longdouble).ravel()
        value = 0.5 * w @ w
        for features, k in zip(lists, gold, strict=True):
            v = np.longdouble(3.0) * ((features - features[k]).astype(np.longdouble) @ w)
            value += C * (v.max() + np.log(np.exp(v - v.max()).sum())) / 3.0
        duals = [record.dual for record in model.history_]
        assert max(duals) <= value * (1 + 1e-6)
        assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(duals))


@every_learner
def test_the_bound_ends_runs_earlier_and_changes_no_weights(learner: Learner) -> None:
    problem, _ = KINDS["chain"](2, Log())
    whole: list[Weights] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrimalState, "mix", lambda state: None)
        patch.setattr(
            PrimalState,
            "objectives",
            lambda state: (state.primal, state.primal - state.own_gap(), state.own_gap()),
        )
        alone = learner.solve(Objective(problem, Log(), C=30.0, n_jobs=1, tol=1e-3, observers=(Watching(whole),)))
    seen: list[Weights] = []
    mixed = learner.solve(Objective(problem, Log(), C=30.0, n_jobs=1, tol=1e-3, observers=(Watching(seen),)))
    assert len(mixed.history) <= len(alone.history)
    for one, other in zip(seen, whole, strict=False):
        assert one.tobytes() == other.tobytes()


@every_learner
def test_of_approximate_inference_only_the_last_gradient_is_used(learner: Learner) -> None:
    """What several gradients bound need not be one convex function."""
    problem, _ = KINDS["matching"](1)
    problem.exact = False
    seen: list[Weights] = []
    objective = Objective(problem, Log(), n_jobs=1, max_iter=4, tol=0.0, observers=(Watching(seen),))
    for record, w in zip(learner.solve(objective).history, seen, strict=True):
        _, slope = Objective(problem, Log(), n_jobs=1).value_and_gradient(w)
        assert record.gap == pytest.approx(0.5 * float(slope @ slope))


@every_learner
def test_a_tight_tolerance_is_not_met_by_rounding(learner: Learner) -> None:
    problem, examples = KINDS["multiclass"](0, Log())
    solution = solve(learner, problem, Log(), C=100.0, tol=1e-13, max_iter=3000)
    assert solution.certificate.gap is not None
    assert solution.certificate.gap >= 0
    assert solution.certificate.primal == pytest.approx(optimum(examples, Log(), 100.0), rel=1e-12)
