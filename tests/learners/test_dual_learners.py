"""Learners that keep dual variables: they reach P*, their bounds hold at every record, their steps are the papers'."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from margrave import Hinge, Log, LossFamily, MargraveError, Problem, _core
from margrave.learners import EG, LEARNERS, Learner, Objective, Record, Solution, eg_bound, eg_steps
from margrave.maps import FeatureTable, SparseMap
from margrave.structures import Chain, NonProjectiveTree
from margrave.testing.optimum import Alternatives, dual
from tests.learners.test_learners import FAMILY, KINDS, Matching, Watched, Weights, matching, solve
from tests.references.dual import (
    Alpha,
    Listed,
    Optimum,
    Pass,
    Update,
    bartlett_rate,
    best,
    closed_form,
    copies,
    dca,
    divergence,
    dual_of,
    eg_path,
    exactly,
    first_eg_step,
    k_best,
    listed,
    most_of_any_dual,
    of_classes,
    primal_of,
    real_chain,
    safe_rate,
    untied_chain,
)
from tests.references.problems import bind

HINGE = (inf, 1.0)
LOSSES = [*FAMILY, HINGE]
PROBLEMS = {**KINDS, "untied chain": untied_chain, "real chain": real_chain}
ALL = ("multiclass", "chain", "tree", "matching")
UNTIED = ("multiclass", "untied chain")
PLENTY = 5_000  # passes: many times what these problems need


# ---- the learners ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A learner with its options, and what is promised of it."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    smooth: float | None = 1e-6  # the relative gap that it reaches at finite beta; None: it does not take such a loss
    hinge: float | None = 1e-6  # at beta = inf
    kinds: tuple[str, ...] = field(default=ALL, repr=False)
    falls: float | None = 1e-12  # D never falls by more than this share of P*; None: it may
    at_alpha: bool = True  # its weights are w(alpha)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options)})"

    def reaches(self, beta: float) -> float | None:
        return self.smooth if beta < inf else self.hinge

    def make(self) -> Learner:
        return made(self.name, **dict(self.options))


def made(name: str, **options: Any) -> Learner:
    return LEARNERS[name](**options)


def variant(name: str, promises: dict[str, Any], **options: Any) -> Variant:
    return Variant(name, tuple(options.items()), **promises)


SLOW_AT_INFINITY = {"hinge": 1e-3}
DEFAULTS = [
    variant("eg", SLOW_AT_INFINITY),
    variant("eg-batch", SLOW_AT_INFINITY),
    variant("smo", {"smooth": None, "kinds": UNTIED}),
    variant("bcfw", {}),
    variant("cg", {"hinge": None, "falls": None, "at_alpha": False}),
]
CONFIGURED = [
    variant("eg", SLOW_AT_INFINITY, order="cyclic"),
    variant("eg", SLOW_AT_INFINITY, order="gap"),
    # what single precision leaves out comes back with a certificate; at beta = inf it is refused
    variant("eg", {"hinge": None, "falls": 1e-7}, single=True),
    variant("eg", SLOW_AT_INFINITY, skip=False),
    variant("printed-eg", SLOW_AT_INFINITY, schedule="halved"),
    variant("smo-eg", {"smooth": None, "hinge": 1e-3, "kinds": UNTIED, "falls": None}),
    variant("eg-batch", SLOW_AT_INFINITY, form="weights"),
    variant("bcfw", {"hinge": 1e-3}, pairwise=False),
    variant("bcfw", {}, order="cyclic"),
    variant("bcfw", {}, order="gap"),
    variant("bcfw", {"smooth": 1e-3, "hinge": 1e-3, "falls": None, "at_alpha": False}, averaging=True),
    variant("bcfw", {"hinge": None, "kinds": UNTIED}, exact_entropy=True),
]
VARIANTS = [*DEFAULTS, *CONFIGURED]


@dataclass(frozen=True)
class Case:
    """A learner on a problem under a loss."""

    variant: Variant
    kind: str
    beta: float
    gamma: float

    def __str__(self) -> str:
        return f"{self.variant}-{self.kind}-{self.beta:g}-{self.gamma:g}"

    @property
    def loss(self) -> LossFamily:
        return LossFamily(self.beta, self.gamma)

    @property
    def accuracy(self) -> float:
        accuracy = self.variant.reaches(self.beta)
        assert accuracy is not None
        return accuracy


def cases(variants: list[Variant], kinds: tuple[str, ...] = (), losses: Any = LOSSES) -> Iterator[Case]:
    for one in variants:
        for kind in one.kinds:
            for beta, gamma in losses:
                if one.reaches(beta) is not None and (not kinds or kind in kinds):
                    yield Case(one, kind, beta, gamma)


SOLVED = [
    *cases(DEFAULTS),
    *cases(CONFIGURED, ("multiclass", "chain", "untied chain", "matching"), [(1.0, 1.0), HINGE]),
]
EARLY = list(cases(VARIANTS, ("multiclass", "tree", "untied chain"), [(1.0, 0.0), (3.0, 1.0), HINGE]))
ONLINE = [
    variant("mira", {}),
    variant("mira", {}, exact=True),
    variant("mira", {}, cumulative=True),
    variant("mira", {"smooth": None}, prediction=True),
]
MIRA = [
    *cases(ONLINE, ("multiclass", "chain"), [(1.0, 1.0), HINGE]),
    *cases([variant("kbest-mira", {"smooth": None})], ("multiclass", "tree"), [HINGE]),
]
COUNTED = list(cases([*VARIANTS, *ONLINE], ("matching",), [(1.0, 1.0), HINGE]))
ALL_EG = [one for one in VARIANTS if one.name in ("eg", "printed-eg")]
OTHERS = [
    *((case, seed) for case in cases(VARIANTS, ("multiclass",), [(1.0, 1.0), HINGE]) for seed in (0, 3, 4)),
    *((case, seed) for case in cases(ALL_EG, ("matching",), [HINGE]) for seed in (0, 3, 4)),
    *((case, seed) for case in cases(ALL_EG, ("chain",), [HINGE]) for seed in (16, 26, 28)),
]
SEED = 1


@cache
def problem_of(kind: str, beta: float, gamma: float, seed: int = SEED) -> tuple[Problem, list[Alternatives]]:
    return PROBLEMS[kind](seed, LossFamily(beta, gamma))


@cache
def listed_of(kind: str, beta: float, gamma: float) -> list[Listed]:
    return listed(problem_of(kind, beta, gamma)[0])


@cache
def optimum_at(kind: str, beta: float, gamma: float, C: float, seed: int = SEED) -> Optimum:
    return best(problem_of(kind, beta, gamma, seed)[1], LossFamily(beta, gamma), C)


def optimum_of(kind: str, beta: float, gamma: float) -> Optimum:
    """At C = 1, to 1e-10."""
    found = optimum_at(kind, beta, gamma, 1.0)
    assert found.primal - found.dual <= 1e-10 * found.primal
    return found


@cache
def solved(case: Case) -> Solution:
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    return solve(case.variant.make(), problem, case.loss, tol=case.accuracy, max_iter=PLENTY)


@cache
def early(case: Case) -> Solution:
    """After three passes, far from the optimum."""
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    return solve(case.variant.make(), problem, case.loss, tol=0.0, max_iter=3)


# ---- what a history promises -----------------------------------------------------------------------------------------


def certificate(record: Record) -> tuple[float, float, float]:
    """P, D and the gap of a record that must have them."""
    assert record.primal is not None
    assert record.dual is not None
    assert record.gap is not None
    return record.primal, record.dual, record.gap


def assert_bounds(history: list[Record], optimum: Optimum) -> None:
    """P and D bound each other and P* at every record, and the gap is their difference."""
    size = abs(optimum.primal)
    for record in history:
        if record.dual is not None:
            assert record.dual <= optimum.primal + 1e-9 * (size + abs(record.dual))
        if record.primal is not None:
            assert record.primal >= optimum.dual - 1e-9 * (size + abs(record.primal))
        if record.gap is not None:
            P, D, gap = certificate(record)
            assert gap >= -1e-9 * (abs(P) + abs(D))
            assert gap == pytest.approx(P - D, abs=1e-9 * (abs(P) + abs(D)))


def assert_solved(solution: Solution, optimum: Optimum, accuracy: float) -> None:
    assert solution.converged, solution.reason
    assert solution.history[-1].relative_gap <= accuracy
    lowest = certificate(solution.certificate)[0]
    assert lowest <= certificate(solution.history[-1])[0]
    assert lowest * (1 - accuracy) <= optimum.primal * (1 + 1e-10) + 1e-12


def assert_rises(history: list[Record], optimum: Optimum, falls: float | None = 1e-12) -> None:
    if falls is None:
        return
    duals = [record.dual for record in history if record.dual is not None]
    for before, after in pairwise(duals):
        assert after >= before - falls * max(abs(before), abs(optimum.primal))


def distance(solution: Solution) -> float:
    """How far the weights can be from the optimal ones: P is strongly convex with constant 1."""
    return sqrt(2 * max(certificate(solution.certificate)[2], 0.0))


@pytest.mark.parametrize("case", SOLVED, ids=str)
def test_every_dual_learner_reaches_the_optimum_of_an_independent_solver(case: Case) -> None:
    solution, optimum = solved(case), optimum_of(case.kind, case.beta, case.gamma)
    assert_solved(solution, optimum, case.accuracy)
    assert certificate(solution.history[-1])[1] >= optimum.dual * (1 - case.accuracy)


@pytest.mark.parametrize("case", SOLVED, ids=str)
def test_the_bounds_hold_at_every_record(case: Case) -> None:
    solution, optimum = solved(case), optimum_of(case.kind, case.beta, case.gamma)
    assert_bounds(solution.history, optimum)
    single = ("single", True) in case.variant.options  # whose D is an estimate between certificates
    assert all(record.dual is not None or (single and record.primal is None) for record in solution.history)
    lowest = min(record.primal for record in solution.history if record.primal is not None)
    highest = max(record.dual for record in solution.history if record.dual is not None)
    assert highest <= lowest + 1e-9 * (abs(highest) + abs(lowest))
    for before, after in pairwise(solution.history):
        assert after.passes > before.passes
        assert after.seconds >= before.seconds


@pytest.mark.parametrize("case", [case for case in SOLVED if case.variant.falls is not None], ids=str)
def test_the_dual_never_falls(case: Case) -> None:
    assert_rises(solved(case).history, optimum_of(case.kind, case.beta, case.gamma), case.variant.falls)


@pytest.mark.parametrize(("case", "seed"), OTHERS, ids=str)
def test_other_data_are_solved_too(case: Case, seed: int) -> None:
    """Where a rate that only shrinks, or digits that were left out, would show."""
    problem, _ = problem_of(case.kind, case.beta, case.gamma, seed)
    optimum = optimum_at(case.kind, case.beta, case.gamma, 1.0, seed)
    solution = solve(case.variant.make(), problem, case.loss, tol=case.accuracy, max_iter=PLENTY)
    assert_solved(solution, optimum, case.accuracy)
    assert_bounds(solution.history, optimum)
    assert_rises(solution.history, optimum, case.variant.falls)


@pytest.mark.parametrize("case", COUNTED, ids=str)
def test_every_inference_is_counted(case: Case) -> None:
    """002, section 7: the cost of an example is the number of evaluations on it, also where a step is tried again."""
    for rounds in (1, 4):
        problem = Watched(problem_of(case.kind, case.beta, case.gamma)[0])
        solution = solve(case.variant.make(), problem, case.loss, tol=0.0, max_iter=rounds)
        assert solution.history[-1].passes == pytest.approx(problem.calls / problem.size, rel=1e-12)


@pytest.mark.parametrize("kind", UNTIED)
def test_the_dual_of_the_hybrid_falls_at_most_where_eg_takes_over(kind: str) -> None:
    """EG cannot begin from a zero, so that the mass which SMO has moved is blended first."""
    problem, _ = problem_of(kind, *HINGE)
    history = solve(made("smo-eg", smo_passes=4), problem, Hinge(), tol=1e-3, max_iter=PLENTY).history
    assert_rises(history[:3], optimum_of(kind, *HINGE))
    assert_rises(history[3:], optimum_of(kind, *HINGE))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kind", UNTIED)
def test_the_hybrid_keeps_what_smo_has_gained(kind: str, C: float) -> None:
    """At the switch D falls by one per cent at most, whatever C is."""
    problem, _ = problem_of(kind, *HINGE)
    for passes in (1, 5):
        (smo,), (hybrid,) = (
            duals_of(learner, problem, Hinge(), C, passes)[-1:]
            for learner in (made("smo"), made("smo-eg", smo_passes=passes))
        )
        assert 0.99 * smo - 1e-9 <= hybrid <= smo + 1e-9


@pytest.mark.parametrize("kind", UNTIED)
def test_natural_parameters_are_those_of_the_marginals(kind: str) -> None:
    """EG begins with them; for chains they are logarithms of conditional probabilities (000, section 5)."""
    problem, _ = problem_of(kind, *HINGE)
    random, begin = np.random.default_rng(1), _core.part_offsets(problem)
    scores = [random.normal(size=problem.parts(i)) for i in range(problem.size)]
    mu = np.concatenate([problem.logsum(i, theta)[1] for i, theta in enumerate(scores)])
    for threads in (1, 2):
        t = _core.natural_parameters(problem, mu, threads)
        for i in range(problem.size):
            own = slice(begin[i], begin[i + 1])
            assert_allclose(problem.logsum(i, t[own])[1], mu[own], atol=1e-12)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_outputs_that_a_problem_lists_are_those_enumerated(kind: str) -> None:
    for beta, gamma in ((1.0, 1.0), HINGE):
        examples = problem_of(kind, beta, gamma)[1]
        found = listed_of(kind, beta, gamma)
        for mine, theirs in zip(found, examples, strict=True):
            assert_allclose(np.sort(mine.cost), np.sort(theirs.cost))
        there = best(found, LossFamily(beta, gamma), 1.0)
        assert there.primal == pytest.approx(optimum_of(kind, beta, gamma).primal, rel=1e-9)


# ---- the weights and their dual --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", EARLY, ids=str)
def test_the_record_kept_is_that_of_the_weights_returned(case: Case) -> None:
    """Far from the optimum, where nothing agrees by chance."""
    solution = early(case)
    examples = listed_of(case.kind, case.beta, case.gamma)
    P, D, gap = certificate(solution.certificate)
    assert pytest.approx(primal_of(solution.w, examples, case.loss, 1.0), rel=1e-10) == P
    assert gap == pytest.approx(P - D, abs=1e-9 * (abs(P) + abs(D)))
    if case.variant.name == "cg":  # D is that of a mixture, which is at least as good as the distribution at w.
        rounding = 1e-9 * abs(P)
        best_dual = optimum_of(case.kind, case.beta, case.gamma).primal
        assert dual(solution.w, list(examples), case.loss, 1.0) - rounding <= D <= best_dual + rounding


@pytest.mark.parametrize("case", [case for case in EARLY if case.variant.at_alpha], ids=str)
def test_no_dual_value_exceeds_what_its_weights_allow(case: Case) -> None:
    """There must be an alpha with w(alpha) = w and a D(alpha) this high."""
    solution = early(case)
    examples = listed_of(case.kind, case.beta, case.gamma)
    most = most_of_any_dual(solution.w, examples, case.loss, 1.0)
    assert certificate(solution.certificate)[1] <= most + 1e-7 * optimum_of(case.kind, case.beta, case.gamma).primal


@pytest.mark.parametrize("form", ["parts", "weights"])
@pytest.mark.parametrize("kind", ALL)
def test_the_dual_of_batch_eg_under_the_log_loss_follows_from_its_weights(kind: str, form: str) -> None:
    """From a uniform start t = A z, so that alpha has the most entropy among all with its w(alpha)."""
    problem, _ = problem_of(kind, 1.0, 0.0)
    solution = solve(made("eg-batch", form=form, rate=0.02, start=0.0), problem, Log(), tol=0.0, max_iter=4)
    most = most_of_any_dual(solution.w, listed_of(kind, 1.0, 0.0), Log(), 1.0)
    assert solution.certificate.dual == pytest.approx(most, rel=1e-7)


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
def test_the_first_step_of_online_eg_goes_towards_the_fixed_point(beta: float, gamma: float) -> None:
    """Whatever the line search makes of the rate: alpha is on the path of 002's update, from 12 on the gold parts."""
    loss = LossFamily(beta, gamma)
    problem, _ = matching(4, size=1)
    assert isinstance(problem, Matching)
    for C in (0.3, 3.0):
        at = first_eg_step(problem, 12.0, loss, C, at_gold=True)
        solution = solve(made("eg", rate=0.5, start=12.0), problem, loss, C=C, tol=0.0, max_iter=1)

        def beyond(rho: float, w: Weights = solution.w, at: Any = at) -> float:
            return float((at(rho)[1] - w) @ w)

        rho = brentq(beyond, 0, 0.5 + 1e-9, xtol=1e-15)
        value, w = at(rho)
        assert rho > 0
        assert_allclose(solution.w, w, rtol=0, atol=1e-9 * float(np.abs(w).max()))
        assert solution.certificate.dual == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
@pytest.mark.parametrize("kind", ALL)
def test_the_safe_rates_of_online_eg_keep_their_promise(kind: str, beta: float, gamma: float) -> None:
    """002, sections 4.3 and 4.5: a step on block i gains KL / eta if eta is at most 1 / (1 + |A_ii|_inf)."""
    loss, C = LossFamily(beta, gamma), 2.0
    problem, _ = problem_of(kind, beta, gamma)
    learner = made("printed-eg", schedule="safe", start=0.0)
    state = learner.begin(Objective(problem, loss, C=C, n_jobs=1))
    curve = C * np.array([problem.radius(i) for i in range(problem.size)]) ** 2
    rates = 1 / (1 + beta * curve) if loss.smooth else 1 / curve
    assert_allclose(state.rate, rates, rtol=1e-12)
    dual = state.dual()
    for _ in range(20):
        learner.one_pass(state)
        assert state.dual() >= dual - 1e-12 * abs(dual)
        dual = state.dual()
    assert_allclose(state.rate, rates, rtol=1e-12)  # they are not adapted
    assert dual > learner.begin(Objective(problem, loss, C=C, n_jobs=1)).dual()


@pytest.mark.parametrize("radius", [0.0, 1e-9])
def test_safe_rates_are_bounded_for_examples_with_hardly_any_features(radius: float) -> None:
    random = np.random.default_rng(3)
    X = [random.normal(size=(length, 3)) * (1.0 if i % 2 else radius) for i, length in enumerate((1, 4, 1, 7))]
    y = [random.integers(0, 3, size=len(x)).tolist() for x in X]
    labels = np.concatenate(y).astype(np.int32)
    loss = LossFamily(inf, 2.0)
    problem = bind(Chain(), X, labels, feature_map=FeatureTable("all"), classes=[0, 1, 2], loss=loss)
    learner = made("printed-eg", schedule="safe")
    state = learner.begin(Objective(problem, loss, C=4.6, n_jobs=1))
    dual = state.dual()
    for _ in range(300):
        learner.one_pass(state)
        assert state.dual() >= dual - 1e-12 * abs(dual)
        dual = state.dual()
    # Examples without features end with the highest cost: their label is wrong.
    assert_allclose(state.cost[[0, 2]], 1, rtol=1e-9)


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
def test_halving_takes_the_first_rate_that_raises_the_dual(beta: float, gamma: float) -> None:
    """002, section 7: from some eta_0 on, anew at every visit; every trial is counted."""
    loss = LossFamily(beta, gamma)
    problem, _ = matching(4, size=1)
    assert isinstance(problem, Matching)
    most = 0
    for C in (0.3, 3.0, 300.0):
        at = first_eg_step(problem, 6.0, loss, C, at_gold=False)
        trials = next(k for k in range(60) if at(0.9 * 0.5**k)[0] >= at(0.0)[0])
        learner = made("printed-eg", rate=0.9, start=6.0, schedule="halved")
        state = learner.begin(Objective(problem, loss, C=C, n_jobs=1))
        learner.one_pass(state)
        value, w = at(0.9 * 0.5**trials)
        assert state.trials == trials + 1
        assert_allclose(state.w, w, rtol=0, atol=1e-9 * float(np.abs(w).max()))
        assert state.dual() == pytest.approx(value, rel=1e-9)
        assert_allclose(state.rate, 0.9)  # where the next visit begins
        most = max(most, trials)
    assert most > 0


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(MargraveError, match="did you mean 'safe'"):
        made("printed-eg", schedule="save")


# ---- batch exponentiated gradient ------------------------------------------------------------------------------------


def rate_of(step: float, loss: LossFamily, C: float) -> float:
    """The setting `rate` for a step on -D / C: rho at finite beta, the eta of 000 at beta = inf."""
    return step / loss.beta if loss.smooth else step / C


def duals_of(learner: Learner, problem: Problem, loss: LossFamily, C: float, steps: int) -> list[float]:
    history = solve(learner, problem, loss, C=C, tol=0.0, max_iter=steps).history
    assert len(history) == steps
    return [record.dual for record in history if record.dual is not None]


def assert_same_path(
    duals: list[float], path: list[Alpha], examples: list[Any], loss: LossFamily, C: float
) -> list[Alpha]:
    """D is that of every alpha in turn, from the start or from the first step on; the alphas that were met."""
    expected = [dual_of(alpha, examples, loss, C)[0] for alpha in path]
    first = int(abs(duals[0] - expected[1]) < abs(duals[0] - expected[0]))
    assert_allclose(duals, expected[first : first + len(duals)], rtol=1e-9)
    return path[first : first + len(duals)]


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
@pytest.mark.parametrize("kind", ALL)
def test_batch_eg_over_parts_is_batch_eg_over_outputs(kind: str, beta: float, gamma: float) -> None:
    """000, Theorem 1: the same D at every step, at any fixed rate."""
    loss, C = LossFamily(beta, gamma), 0.5
    problem, examples = problem_of(kind, beta, gamma)
    for step in (safe_rate(problem, loss, C), 5 * safe_rate(problem, loss, C)):
        duals = duals_of(made("eg-batch", rate=rate_of(step, loss, C), start=0.0), problem, loss, C, 15)
        assert_same_path(duals, eg_path(examples, loss, C, step, 16), examples, loss, C)


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
@pytest.mark.parametrize("kind", ALL)
def test_safe_rates_keep_the_promises_of_their_theorems(kind: str, beta: float, gamma: float) -> None:
    """002, Lemma 2: every step gains KL / eta. 002, section 4.4 and 4.5: what is missing falls like 1 / T."""
    loss, C, T = LossFamily(beta, gamma), 1.0, 25
    problem, examples = problem_of(kind, beta, gamma)
    optimum = optimum_of(kind, beta, gamma)
    objective = Objective(problem, loss, C=C, n_jobs=1)
    step = safe_rate(problem, loss, C)
    duals = duals_of(made("eg-batch", rate="safe", start=0.0), problem, loss, C, T)
    path = eg_path(examples, loss, C, step, T + 1)
    met = assert_same_path(duals, path, examples, loss, C)
    slack = 1e-9 * optimum.primal
    for (before, after), (p, q) in zip(pairwise(duals), pairwise(met), strict=True):
        assert after - before >= C * divergence(p, q) / step - slack
    known = C * divergence(optimum.alpha, path[0])
    for value, alpha in zip(duals, met, strict=True):
        t = next(k for k, other in enumerate(path) if other is alpha)
        if t:
            bound = eg_bound(objective, t, divergence=known)
            assert bound == pytest.approx(known / (step * t))
            assert optimum.dual - value <= bound + slack
            assert bound <= eg_bound(objective, t) * (1 + 1e-9)


@pytest.mark.parametrize("start", [0.0, 2.0])
@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (3.0, 1.0), HINGE])
@pytest.mark.parametrize("kind", ["multiclass", "chain", "tree"])
def test_the_bound_of_002_is_known_before_the_first_step(kind: str, beta: float, gamma: float, start: float) -> None:
    """002, sections 4.4 and 4.5, without the optimum, with sample weights, and from any start."""
    loss = LossFamily(beta, gamma)
    problem, _ = problem_of(kind, beta, gamma)
    examples = listed(problem)
    weight = np.random.default_rng(1).uniform(0.2, 1.5, size=problem.size)
    optimum = best(examples, loss, [*weight])
    objective = Objective(problem, loss, C=1.0, sample_weight=weight, n_jobs=1)
    right = [[sum(part in x.ys[x.gold] for part in y) for y in x.ys] for x in examples]
    first = [np.exp(start * np.array(counts)) for counts in right]
    largest = sum(c * np.log(p.sum()) for c, p in zip(weight, first, strict=True))
    alpha = [p / p.sum() for p in first]
    exact = sum(c * divergence([p], [q]) for c, p, q in zip(weight, optimum.alpha, alpha, strict=True))
    R = max(problem.radius(i) for i in range(problem.size))
    eta = 1 / (1 / beta + problem.size * weight.max() * R**2)
    assert eg_bound(objective, 10, start=start) == pytest.approx(largest / (10 * eta))
    assert exact <= largest
    settings: dict[str, Any] = {"C": 1.0, "sample_weight": weight, "tol": 0.0, "max_iter": 30}
    history = solve(made("eg-batch", rate="safe", start=start), problem, loss, **settings).history
    for steps, record in enumerate(history, start=1):
        assert record.dual is not None
        for bound in (
            eg_bound(objective, steps, start=start),
            eg_bound(objective, steps, start=start, divergence=exact),
        ):
            assert optimum.primal - record.dual <= bound + 1e-9 * optimum.primal
    # The number of steps is the smallest at which the bound is kept.
    missing = eg_bound(objective, 7, start=start)
    assert eg_steps(objective, missing * (1 + 1e-9), start=start) == 7
    assert eg_steps(objective, missing * (1 - 1e-9), start=start) == 8


def test_the_bound_of_002_refuses_what_has_no_bound() -> None:
    problem, _ = problem_of("multiclass", *HINGE)
    objective = Objective(problem, Hinge(), C=1.0)
    with pytest.raises(MargraveError, match="steps must be"):
        eg_bound(objective, 0)
    with pytest.raises(MargraveError, match="missing must be positive and finite"):
        eg_steps(objective, 0.0)
    with pytest.raises(MargraveError, match="divergence must be finite and not negative"):
        eg_bound(objective, 1, divergence=-1.0)


@pytest.mark.parametrize("kind", ALL)
def test_the_rate_of_bartletts_theorem_keeps_its_promise(kind: str) -> None:
    """000, Theorem 2, with eta = 0.4 / (B + lambda); Q = -D."""
    C, T, loss = 1.0, 25, Hinge()
    problem, examples = problem_of(kind, *HINGE)
    optimum = optimum_of(kind, *HINGE)
    B_and_lambda = bartlett_rate(examples, loss, C)
    eta = 0.4 / B_and_lambda
    duals = duals_of(made("eg-batch", rate=eta, start=0.0), problem, loss, C, T)
    path = eg_path(examples, loss, C, eta * C, T + 1)
    met = assert_same_path(duals, path, examples, loss, C)
    start, end = dual_of(path[0], examples, loss, C)[0], duals[-1]
    last = next(k for k, alpha in enumerate(path) if alpha is met[-1])
    before_last = [start, *duals] if last == len(duals) else duals
    promised = 2.5 * B_and_lambda * divergence(optimum.alpha, path[0]) + 1.5 * (end - start)
    assert end >= np.mean(before_last[:last]) >= optimum.dual - promised / last - 1e-9 * optimum.primal


@pytest.mark.parametrize("rate", ["adaptive", "safe", 0.001])
@pytest.mark.parametrize(
    "case", list(cases(DEFAULTS[1:2])), ids=lambda case: f"{case.kind}-{case.beta:g}-{case.gamma:g}"
)
def test_weights_and_parts_are_two_forms_of_one_algorithm(case: Case, rate: Any) -> None:
    """000, section 3: the primal form keeps z and s instead of t."""
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    parts, weights = (
        solve(made("eg-batch", rate=rate, form=form, start=0.0), problem, case.loss, C=0.7, tol=0.0, max_iter=12)
        for form in ("parts", "weights")
    )
    ours, theirs = ([one.dual for one in form.history if one.dual is not None] for form in (weights, parts))
    assert_allclose(ours, theirs, rtol=0, atol=1e-9 * abs(theirs[-1]))
    assert_allclose(weights.w, parts.w, rtol=0, atol=1e-9 * float(np.abs(parts.w).max()))


# ---- scales (001, footnote 18) ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.3, 4.0])
@pytest.mark.parametrize("case", list(cases(VARIANTS, ("multiclass",), [(1.0, 1.0), (3.0, 1.0), HINGE])), ids=str)
def test_only_two_of_c_beta_and_gamma_are_free(case: Case, a: float) -> None:
    """At C' = a C, beta' = beta / a, gamma' = a gamma losses and weights are a times as large, and P a^2 times."""
    tol = min(case.accuracy, 1e-8 if case.beta < inf and case.accuracy < 1e-3 else inf)
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    plain = solve(case.variant.make(), problem, case.loss, C=0.5, tol=tol, max_iter=PLENTY)
    loss = LossFamily(case.beta / a, a * case.gamma)
    scaled = solve(case.variant.make(), problem, loss, C=0.5 * a, tol=tol, max_iter=PLENTY)
    assert plain.converged
    assert scaled.converged
    assert np.linalg.norm(scaled.w - a * plain.w) <= distance(scaled) + a * distance(plain) + 1e-9
    assert certificate(scaled.certificate)[0] == pytest.approx(a * a * certificate(plain.certificate)[0], rel=2 * tol)


@pytest.mark.parametrize("name", ["mira", "kbest-mira"])
@pytest.mark.parametrize("a", [0.3, 4.0])
def test_the_steps_of_mira_scale_with_its_settings(a: float, name: str) -> None:
    for beta, gamma in LOSSES if name == "mira" else [HINGE]:
        problem, _ = problem_of("multiclass", beta, gamma)
        plain = solve(made(name), problem, LossFamily(beta, gamma), C=0.5, tol=0.0, max_iter=3)
        scaled = solve(made(name), problem, LossFamily(beta / a, a * gamma), C=0.5 * a, tol=0.0, max_iter=3)
        assert_allclose(scaled.w, a * plain.w, rtol=0, atol=1e-7 * float(np.abs(plain.w).max()))
        assert certificate(scaled.history[0])[1] == pytest.approx(a * a * certificate(plain.history[0])[1], rel=1e-7)


# ---- MIRA (001, Alg. 1) ----------------------------------------------------------------------------------------------


def shuffles(n: int, passes: int, seed: int) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [[int(i) for i in random.permutation(n)] for _ in range(passes)]


def assert_takes_the_steps(
    learner: Any,
    problem: Problem,
    loss: LossFamily,
    update: Update,
    tolerance: float,
    weight: Weights | None = None,
) -> None:
    """Pass for pass the averages of Alg. 1, its D in the first pass, and no D after it."""
    C, seed, examples = 0.4, 11, listed(problem)
    expected = dca(examples, update, C, shuffles(problem.size, 2, seed), weight)
    factors = [C] * problem.size if weight is None else [C * k for k in weight]
    optimum = best(examples, loss, factors)
    settings: dict[str, Any] = {"C": C, "random_state": seed, "sample_weight": weight}
    for passes, model in enumerate(expected, start=1):
        solution = solve(learner, problem, loss, tol=0.0, max_iter=passes, **settings)
        assert_allclose(solution.w, model.average, rtol=0, atol=tolerance * float(np.abs(model.average).max()))
        first, *later = solution.history
        assert solution.certificate.primal == pytest.approx(
            primal_of(model.average, examples, loss, factors), rel=tolerance
        )
        assert certificate(first)[1] == pytest.approx(expected[0].dual, rel=tolerance)
        assert_bounds(solution.history, optimum)
        assert all(record.dual is None and record.gap is None for record in later)
    last = solve(replace(learner, average=False), problem, loss, tol=0.0, max_iter=1, **settings)
    assert_allclose(last.w, expected[0].last, rtol=0, atol=tolerance * float(np.abs(expected[0].last).max()))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
@pytest.mark.parametrize("kind", ["multiclass", "real chain", "tree", "matching"])
def test_mira_takes_the_steps_of_algorithms_1_and_2(kind: str, beta: float, gamma: float, weighted: bool) -> None:
    loss = LossFamily(beta, gamma)
    problem, _ = problem_of(kind, beta, gamma)
    weight = np.random.default_rng(3).uniform(0.5, 2, size=problem.size) if weighted else None
    assert_takes_the_steps(made("mira"), problem, loss, closed_form(problem, loss), 1e-9, weight)


@pytest.mark.parametrize("kind", ["multiclass", "matching"])
def test_mira_may_update_on_its_prediction(kind: str) -> None:
    """001, footnote 11: the half-space of the best output under the model alone."""
    problem, _ = problem_of(kind, *HINGE)
    update = closed_form(problem, Hinge(), prediction=True)
    assert_takes_the_steps(made("mira", prediction=True), problem, Hinge(), update, 1e-9)


@pytest.mark.parametrize(
    ("beta", "gamma", "prediction"), [*((beta, gamma, False) for beta, gamma in LOSSES), (*HINGE, True)]
)
@pytest.mark.parametrize("kind", ["multiclass", "matching"])
def test_cumulative_steps_sum_to_c_and_have_a_dual(kind: str, beta: float, gamma: float, prediction: bool) -> None:
    """The steps of CRF++: what earlier steps on an example have left of C bounds the next one, and D stays valid."""
    loss, C, seed, passes = LossFamily(beta, gamma), 0.4, 11, 6
    problem, _ = problem_of(kind, beta, gamma)
    examples = listed(problem)
    weight = np.random.default_rng(3).uniform(0.5, 2, size=problem.size)
    left = C * weight
    update = closed_form(problem, loss, prediction, left)
    expected = dca(examples, update, C, shuffles(problem.size, passes, seed))
    optimum = best(examples, loss, [*(C * weight)])
    learner = made("mira", cumulative=True, prediction=prediction)
    settings: dict[str, Any] = {"C": C, "random_state": seed, "sample_weight": weight, "tol": 0.0}
    solution = solve(learner, problem, loss, max_iter=passes, **settings)
    expected = expected[: len(solution.history)]  # It ends early if no example takes a step.
    assert len(expected) > 1
    assert_allclose(solution.w, expected[-1].average, rtol=0, atol=1e-9 * float(np.abs(solution.w).max()))
    assert_allclose(
        [certificate(record)[1] for record in solution.history], [each.dual for each in expected], rtol=1e-9
    )
    assert_bounds(solution.history, optimum)
    assert_allclose(C * weight - solution.state.spent, left, rtol=0, atol=1e-9 * C)
    # Some examples have nothing left, so that the bound has made a difference.
    assert (solution.state.spent == C * weight).any()
    last = solve(learner, problem, loss, max_iter=1000, **settings)
    assert last.reason == "no example takes a step"
    assert not last.converged


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), (1.0, 3.0), HINGE])
@pytest.mark.parametrize("kind", ["multiclass", "real chain"])
def test_exact_mira_solves_every_step(kind: str, beta: float, gamma: float) -> None:
    """001, Eq. 11."""
    loss = LossFamily(beta, gamma)
    problem, _ = problem_of(kind, beta, gamma)
    assert_takes_the_steps(made("mira", exact=True), problem, loss, exactly(loss), 1e-5)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("kind", ["multiclass", "real chain", "tree"])
def test_k_best_mira_solves_the_program_of_its_k_half_spaces(kind: str, k: int) -> None:
    """001, Eq. 17."""
    problem, _ = problem_of(kind, *HINGE)
    assert_takes_the_steps(made("kbest-mira", k=k), problem, Hinge(), k_best(problem, Hinge(), k), 1e-6)


def test_one_best_and_all_best_are_mira_and_exact_mira() -> None:
    problem, _ = problem_of("real chain", *HINGE)
    for k, options in ((1, {}), (1000, {"exact": True})):
        few = solve(made("kbest-mira", k=k), problem, Hinge(), tol=0.0, max_iter=3)
        other = solve(made("mira", **options), problem, Hinge(), tol=0.0, max_iter=3)
        assert_allclose(few.w, other.w, rtol=0, atol=1e-6 * float(np.abs(other.w).max()))


@pytest.mark.parametrize("pairwise_steps", [True, False])
@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
@pytest.mark.parametrize("kind", ["multiclass", "real chain", "matching"])
def test_the_first_pass_of_mixing_is_that_of_mira(kind: str, beta: float, gamma: float, pairwise_steps: bool) -> None:
    """From the gold output the first step on an example is Alg. 2; the weights are the last ones, not the average."""
    loss = LossFamily(beta, gamma)
    problem, _ = problem_of(kind, beta, gamma)
    expected: Pass = dca(listed(problem), closed_form(problem, loss), 0.4, [range(problem.size)])[0]
    learner = made("bcfw", pairwise=pairwise_steps, cached_steps=0, order="cyclic")
    solution = solve(learner, problem, loss, C=0.4, tol=0.0, max_iter=1)
    assert_allclose(solution.w, expected.last, rtol=0, atol=1e-9 * float(np.abs(expected.last).max()))
    assert solution.history[0].dual == pytest.approx(expected.dual, rel=1e-9)


# ---- weights of examples ---------------------------------------------------------------------------------------------


COPIES = [0, 1, 2, 3, 0, 1, 1, 2, 0, 1, 4, 1]


@cache
def optimum_of_copies(beta: float, gamma: float) -> Optimum:
    return best(copies(listed_of("multiclass", beta, gamma), COPIES), LossFamily(beta, gamma), 0.5)


@pytest.mark.parametrize("case", list(cases(VARIANTS, ("multiclass",), [(1.0, 1.0), HINGE])), ids=str)
def test_a_weight_is_so_many_copies_and_no_weight_is_no_example(case: Case) -> None:
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    optimum = optimum_of_copies(case.beta, case.gamma)
    settings = {"C": 0.5, "tol": case.accuracy, "max_iter": PLENTY, "sample_weight": np.array(COPIES, dtype=float)}
    solution = solve(case.variant.make(), problem, case.loss, **settings)
    assert_solved(solution, optimum, case.accuracy)
    assert_bounds(solution.history, optimum)
    assert_rises(solution.history, optimum, case.variant.falls)
    assert np.linalg.norm(solution.w - optimum.w) <= distance(solution) + 1e-5


# ---- odd problems ----------------------------------------------------------------------------------------------------


def odd_problem(name: str, loss: LossFamily) -> tuple[Problem, list[Alternatives]]:
    random = np.random.default_rng(7)
    X, labels, cost = random.normal(size=(5, 3)), [0, 1, 2, 1, 0], 1 - np.eye(3)
    match name:
        case "copies":
            return of_classes(np.tile(X, (3, 1)), labels * 3, loss, cost)
        case "contradictions":
            return of_classes(np.tile(X, (3, 1)), [(k + j) % 3 for j in range(3) for k in labels], loss, cost)
        case "no features":
            return of_classes(0 * X, labels, loss, cost)
        case "one class":
            return of_classes(X, [0] * 5, loss, np.zeros((1, 1)))
        case "one example":
            return of_classes(X[:1], [1], loss, cost)
        case "no cost":
            return of_classes(X, labels, loss, 0 * cost)
        case "one matching":
            return Matching(random.normal(size=(3, 1, 4)), [(0,)] * 3), [Alternatives(np.ones((1, 4)), np.zeros(1), 0)]
        case "one-word trees":
            arcs = [random.normal(size=(1, 4)) for _ in range(3)]
            problem = bind(NonProjectiveTree(), arcs, [[0]] * 3, feature_map=SparseMap())
            return problem, [Alternatives(np.ones((1, 4)), np.zeros(1), 0)]
    raise AssertionError(name)


CLASSES = ["copies", "contradictions", "no features", "one class", "one example"]
SINGLE = ["one matching", "one-word trees"]  # which SMO does not take
ON_CLASSES = list(cases(DEFAULTS, ("multiclass",), [(1.0, 1.0), HINGE]))


@pytest.mark.parametrize(
    ("case", "name"),
    [
        *((case, name) for case in ON_CLASSES for name in CLASSES),
        *((case, name) for case in ON_CLASSES for name in SINGLE if case.variant.kinds == ALL),
    ],
    ids=str,
)
def test_odd_problems_are_solved(case: Case, name: str) -> None:
    """Copies of examples, contradictory ones, features that say nothing, and structures with a single output."""
    problem, examples = odd_problem(name, case.loss)
    optimum = best(examples, case.loss, 1.0)
    solution = solve(case.variant.make(), problem, case.loss, tol=case.accuracy, max_iter=PLENTY)
    assert_solved(solution, optimum, case.accuracy)
    assert_bounds(solution.history, optimum)
    if name in ("one class", "no features", *SINGLE):
        assert_allclose(solution.w, 0, rtol=0, atol=1e-12)


def test_the_hybrid_may_switch_where_the_dual_has_nothing_to_lose() -> None:
    """Without costs D is 0 at the gold outputs, where SMO stays; any share of the uniform one lowers it."""
    problem, _ = odd_problem("no cost", Hinge())
    solution = solve(made("smo-eg", smo_passes=1), problem, Hinge(), tol=1e-6, max_iter=20)
    assert_allclose(solution.w, 0, rtol=0, atol=1e-9)
    assert certificate(solution.certificate)[0] <= 1e-9


@pytest.mark.parametrize("case", ON_CLASSES, ids=str)
def test_a_cost_of_zero_is_no_obstacle(case: Case) -> None:
    """At beta = inf P* is then 0 at w = 0, which only a learner that starts from the gold outputs can say exactly."""
    problem, examples = odd_problem("no cost", case.loss)
    optimum = best(examples, case.loss, 1.0)
    solution = solve(case.variant.make(), problem, case.loss, tol=case.accuracy, max_iter=1000)
    assert_bounds(solution.history, optimum)
    if case.beta < inf or case.variant.name in ("smo", "bcfw"):
        assert_solved(solution, optimum, case.accuracy)
    else:
        assert certificate(solution.certificate)[0] <= 1e-2


@pytest.mark.parametrize("case", list(cases(DEFAULTS, ("multiclass", "matching"), [(1.0, 1.0), HINGE])), ids=str)
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_any_c_gives_bounds_and_a_small_one_the_optimum(case: Case, C: float) -> None:
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    optimum = optimum_at(case.kind, case.beta, case.gamma, C)
    solution = solve(case.variant.make(), problem, case.loss, C=C, tol=case.accuracy, max_iter=PLENTY if C < 1 else 40)
    assert isfinite(float(solution.w @ solution.w))
    assert solution.converged or C > 1
    assert_bounds(solution.history, optimum)
    assert_rises(solution.history, optimum, case.variant.falls)


@cache
def separable() -> tuple[Problem, list[Alternatives]]:
    """Examples that some weights separate with a margin of 1, so that from some C on the optimum does not change."""
    random = np.random.default_rng(4)
    X, labels = random.normal(size=(12, 8)), [int(k) for k in random.integers(0, 4, size=12)]
    return of_classes(X, labels, Hinge(), 1 - np.eye(4))


@pytest.mark.parametrize("C", [1e6, 1e9, 1e12, 1e15])
def test_bcfw_at_a_large_c_reaches_the_hard_margin(C: float) -> None:
    """The first pass takes passive-aggressive steps without slack; many passes reach the optimum without slack."""
    problem, _ = separable()
    examples = listed(problem)
    expected: Pass = dca(examples, closed_form(problem, Hinge()), C, [range(problem.size)])[0]
    first = solve(made("bcfw", cached_steps=0, order="cyclic"), problem, Hinge(), C=C, tol=0.0, max_iter=1)
    assert_allclose(first.w, expected.last, rtol=0, atol=1e-11 * float(np.abs(expected.last).max()))
    hard = best(examples, Hinge(), 1e3).w
    assert_allclose(best(examples, Hinge(), 1e4).w, hard, rtol=0, atol=1e-8 * float(np.abs(hard).max()))
    solution = solve(made("bcfw"), problem, Hinge(), C=C, tol=0.0, max_iter=1000)
    assert_allclose(solution.w, hard, rtol=0, atol=1e-8 * float(np.abs(hard).max()))


# ---- the same bits, and many threads ---------------------------------------------------------------------------------


def bits(solution: Solution) -> tuple[bytes, list[Any]]:
    return solution.w.tobytes(), [
        (record.passes, record.primal, record.dual, record.gap) for record in solution.history
    ]


@pytest.mark.parametrize("case", [*EARLY, *MIRA], ids=str)
def test_the_same_seed_gives_the_same_bits(case: Case) -> None:
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    first, again, other = (
        bits(solve(case.variant.make(), problem, case.loss, tol=0.0, max_iter=3, random_state=seed))
        for seed in (5, 5, 6)
    )
    assert first == again
    if case.variant.name in ("eg-batch", "cg") or ("order", "cyclic") in case.variant.options:
        assert first == other
    elif case.kind == "multiclass" and ("order", "gap") not in case.variant.options:
        assert first != other


def large(loss: LossFamily) -> tuple[Problem, list[Alternatives]]:
    """Enough examples that two threads are at work at the same time."""
    random = np.random.default_rng(2)
    X, labels = random.normal(size=(300, 4)), [int(k) for k in random.integers(0, 3, size=300)]
    return of_classes(X, labels, loss, 1 - np.eye(3))


@cache
def large_optimum(beta: float, gamma: float) -> tuple[Problem, list[Listed], Optimum]:
    problem, _ = large(LossFamily(beta, gamma))
    examples = listed(problem)
    return problem, examples, best(examples, LossFamily(beta, gamma), 0.1)


@pytest.mark.parametrize("case", list(cases(VARIANTS, ("multiclass",), [(1.0, 1.0), HINGE])), ids=str)
def test_two_threads_keep_the_bounds_exact(case: Case) -> None:
    """Whatever order two threads work in, P, D and the gap are those of the weights and of some alpha."""
    problem, examples, optimum = large_optimum(case.beta, case.gamma)
    tol = max(case.accuracy, 1e-5)
    solution = solve(case.variant.make(), problem, case.loss, C=0.1, tol=tol, max_iter=PLENTY, n_jobs=2)
    assert_solved(solution, optimum, tol)
    assert_bounds(solution.history, optimum)
    P, D, _ = certificate(solution.certificate)
    assert pytest.approx(primal_of(solution.w, examples, case.loss, 0.1), rel=1e-10) == P
    assert_rises(solution.history, optimum, case.variant.falls)
    if case.variant.at_alpha:
        assert most_of_any_dual(solution.w, examples, case.loss, 0.1) >= D - 1e-7 * optimum.primal


@pytest.mark.parametrize("case", list(cases(DEFAULTS, ("multiclass", "matching"), [(1.0, 1.0), HINGE])), ids=str)
def test_two_threads_reach_the_same_optimum(case: Case) -> None:
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    optimum = optimum_of(case.kind, case.beta, case.gamma)
    solution = solve(case.variant.make(), problem, case.loss, tol=case.accuracy, max_iter=PLENTY, n_jobs=2)
    assert_solved(solution, optimum, case.accuracy)
    assert_bounds(solution.history, optimum)


@cache
def of_common_weights(loss: LossFamily) -> Problem:
    """Many examples that all touch the same few weights, most of the way in the same direction."""
    random = np.random.default_rng(0)
    X = 0.7 + 0.3 * random.normal(size=(3000, 20))
    scores = X @ random.normal(size=(20, 10)) + 2 * random.gumbel(size=(3000, 10))
    return of_classes(X, [int(k) for k in scores.argmax(axis=1)], loss, 1 - np.eye(10))[0]


@pytest.mark.parametrize("threads", [2, 4, 8])
@pytest.mark.parametrize("name", ["eg", "bcfw"])
def test_threads_that_share_all_weights_need_few_more_passes_than_one(name: str, threads: int) -> None:
    """Whatever the pace of the threads: with examples of their own, they would still be at 1e-3 after 100 passes."""
    problem = of_common_weights(Log())

    def passes(number: int) -> int:
        solution = solve(made(name), problem, Log(), C=1.0, tol=1e-4, max_iter=100, n_jobs=number)
        assert solution.converged, solution.reason
        return len(solution.history)

    assert passes(threads) <= 2 * passes(1)


def most_above_the_optimum(name: str, beta: float) -> float:
    """How far D rises above P*, as a share of it, where two threads draw the same heavy examples again and again."""
    random = np.random.default_rng(2)
    loss, heavy = LossFamily(beta, 1.0), np.array([50.0, 50.0, *[1.0] * 98])
    X, labels = random.normal(size=(100, 10)), [int(k) for k in random.integers(0, 8, size=100)]
    problem, examples = of_classes(X, labels, loss, 1 - np.eye(8))
    limit = best(examples, loss, list(0.1 * heavy)).primal
    settings: dict[str, Any] = {"C": 0.1, "sample_weight": heavy, "tol": 1e-6, "max_iter": 60, "n_jobs": 2}
    histories = [solve(made(name, order="gap"), problem, loss, **settings).history for _ in range(6)]
    return max((record.dual or -inf) / limit - 1 for history in histories for record in history)


@pytest.mark.parametrize("name", ["eg", "bcfw"])
def test_two_threads_may_draw_the_same_example(child: Callable[[str], str], name: str) -> None:
    """In a process of its own, since two threads in one block of dual variables could do anything."""
    made(name)
    script = f"""
from tests.learners.test_dual_learners import most_above_the_optimum
print(max(most_above_the_optimum({name!r}, beta) for beta in (1.0, float("inf"))))
"""
    assert float(child(script)) <= 1e-9


# ---- single steps ----------------------------------------------------------------------------------------------------


def single_step(learner: Learner, state: Any, i: int) -> None:
    """A visit to one example, as the learner's pass makes it."""
    order = np.array([i])
    ascent = state.objective.ascent(state.w, order)
    if learner.name == "eg":
        state.visit(order, 1.3)
    elif learner.name == "smo":
        _core.smo_pass(*ascent, state.mu, state.cost, state.gap)  # type: ignore[call-arg]
    elif state.blocks is not None:
        _core.pairwise_pass(*ascent, state.blocks, state.gap, 10, 10, 0.1)  # type: ignore[call-arg]
        state.update_costs()
    else:
        _core.mixing_pass(*ascent, state.mu, state.entropy, state.cost, state.gap, False)  # type: ignore[call-arg]


@pytest.mark.parametrize("case", [*cases(DEFAULTS[:1]), *cases(DEFAULTS[2:4])], ids=str)
def test_no_single_step_lowers_the_dual_and_w_stays_that_of_alpha(case: Case) -> None:
    problem, _ = problem_of(case.kind, case.beta, case.gamma)
    learner = case.variant.make()
    objective = Objective(problem, case.loss, C=2.0, n_jobs=1)
    state = learner.begin(objective)
    before = state.dual()
    for _ in range(6):
        for i in range(problem.size):
            single_step(learner, state, i)
            after = state.dual()
            assert after >= before - 1e-12 * max(1.0, abs(before))
            before = after
    blocks, family = getattr(state, "blocks", None), _core.LossFamily(1.0, 0.0, C=2.0)
    if blocks is None:
        expected = _core.weights_of(problem, family, 1, state.mu, getattr(state, "stored_parts", None))
    else:
        expected = blocks.weights(problem, family, 1)
    assert_allclose(state.w, expected, atol=1e-10)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
def test_every_example_has_a_gibbs_distribution_after_the_first_pass_of_eg(beta: float, gamma: float, C: float) -> None:
    """Also where C is so large that D falls below that of the gold outputs with every trial of a first visit."""
    problem, _ = problem_of("chain", beta, gamma)
    state = EG().begin(Objective(problem, LossFamily(beta, gamma), C=C, n_jobs=1))
    assert state.dual() == 0 and not state.w.any()
    EG().one_pass(state)
    state.verify()  # marginals, entropies, costs and w are those of the natural parameters


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
def test_eg_begins_where_it_is_told(beta: float, gamma: float) -> None:
    """At the optimum of another learner EG has next to nothing left to do."""
    loss = LossFamily(beta, gamma)
    problem, _ = problem_of("chain", beta, gamma)
    if not loss.smooth:
        start = solve(made("bcfw"), problem, loss, tol=1e-6).w
        assert EG().begin(Objective(problem, loss, start=start)).dual() < inf  # any distributions will do
        return
    start = solve(made("cg"), problem, loss, tol=1e-10).w
    state = EG().begin(Objective(problem, loss, start=start, n_jobs=1))
    certificate = EG().certify(state)
    assert certificate.gap is not None and certificate.primal is not None
    assert certificate.gap <= 1e-8 * certificate.primal
    assert_allclose(certificate.w, start, atol=1e-3)
