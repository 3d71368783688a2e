"""The loss family on every learner that accepts it: all find the optimum of an independent solver."""

from functools import cache
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import CustomProblem, Hinge, Log, LossFamily, MargraveError, _core
from margrave.learners import (
    BCFW,
    CCCP,
    EG,
    LEARNERS,
    MIRA,
    CuttingPlane,
    KBestMIRA,
    Learner,
    Objective,
    OneSlack,
    Solution,
)
from margrave.losses import DifferenceOfLosses
from margrave.testing.optimum import Alternatives, alternatives_of, bounds, primal
from tests.references.svm import Form, examples_of
from tests.registry import BUILT_IN_LEARNERS, KINDS, Case, Kind

# Structures, each with costs of several values where it takes any, and one written in Python.
STRUCTURES = [
    ("chain", "matrix"),
    ("chain, untied", "weights"),
    ("multiclass, vectors", "matrix"),
    ("tree, single root", "hamming"),
    ("projective tree, single root", "hamming"),
    ("graph, tree", "matrix"),
    ("grammar", "hamming"),
    ("written in Python", "hamming"),
]
GAMMAS = [0.03, 0.1, 0.5, 3.0, 30.0]
BETAS = [0.3, 2.7, inf]
C = 0.4
TOL = 1e-3
# Learners that reach tol, with settings under which they are other learners.
VARIANTS: list[Learner] = [
    *(LEARNERS[name]() for name in sorted(BUILT_IN_LEARNERS) if "tol" in LEARNERS[name].offers),
    CuttingPlane(variant="a"),
    OneSlack(cached=5),
]


@cache
def case_of(kind: str, prices: str) -> Case:
    """One that is not trivial: examples have several outputs on average."""
    make = next(one for one in KINDS if one.name == kind)
    cases = (make(seed, prices, 4) for seed in range(3, 60))
    return next(case for case in cases if sum(len(outputs.ys) for outputs in case.outputs) >= 3 * len(case))


@cache
def best(kind: str, prices: str, zero_one: bool, beta: float, gamma: float) -> tuple[float, float]:
    return bounds(alternatives(kind, prices, zero_one), LossFamily(beta, gamma), C)


def alternatives(kind: str, prices: str, zero_one: bool) -> list[Alternatives]:
    case = case_of(kind, prices)
    examples = alternatives_of(case)
    if zero_one:
        for i, x in enumerate(examples):
            x.cost = case.wrong(i)
    return examples


def accepted(loss: LossFamily, problem: Any) -> list[Learner]:
    """The learners that take the loss on the problem and minimize P."""
    found = []
    for learner in VARIANTS:
        try:
            learner.check(loss, problem)
        except MargraveError:
            continue
        if "another objective" not in learner.offers:
            found.append(learner)
    return found


def solve(learner: Learner, problem: Any, loss: LossFamily, **options: Any) -> Solution:
    return learner.solve(Objective(problem, loss, **{"C": C, "tol": TOL, "max_iter": 20_000, "n_jobs": 1, **options}))


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("kind", "prices"), STRUCTURES)
def test_all_learners_find_the_same_optimum(kind: str, prices: str, beta: float, gamma: float) -> None:
    for cost in ("hamming", "zero-one"):
        loss, problem = LossFamily(beta, gamma, cost), case_of(kind, prices).problem
        if cost == "zero-one" and (prices != "hamming" or (beta < inf and beta * gamma > 14)):
            continue  # Beyond 14, the zero-one cost of a structured output is refused.
        lower, upper = best(kind, prices, cost == "zero-one", beta, gamma)
        learners = accepted(loss, problem)
        assert len(learners) >= 3
        for learner in learners:
            solution = solve(learner, problem, loss)
            P, D = solution.certificate.primal, solution.certificate.dual
            assert solution.converged, (learner, cost, solution.reason)
            assert P is not None and D is not None
            assert lower * (1 - 1e-9) - 1e-12 <= P <= upper * (1 + 1.01 * TOL) + 1e-9, (learner, cost)
            assert upper * (1 + 1e-9) + 1e-12 >= D, (learner, cost)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("kind", "prices"), [STRUCTURES[0], STRUCTURES[2], STRUCTURES[4], STRUCTURES[5]])
def test_cccp_ends_at_the_same_objective_with_any_learner_inside(
    kind: str, prices: str, beta: float, gamma: float
) -> None:
    loss, problem = DifferenceOfLosses(beta, gamma), case_of(kind, prices).problem
    found = {}
    for inner in VARIANTS:
        learner = CCCP(inner=inner, rounds=3, inner_tol=1e-7)
        try:
            learner.check(loss, problem)
        except MargraveError:
            continue
        if {"single", "another objective"} & set(inner.offers) or inner.name in ("eg", "eg-batch", "smo", "smo-eg"):
            continue  # These do not reach such a small gap in a moment.
        solution = solve(learner, problem, loss, tol=0.0, max_iter=3)
        found[repr(inner)] = solution.history[0].primal, solution.certificate.primal
    assert len(found) >= 2
    first, last = np.array(list(found.values())).T
    assert_allclose(first, first[0], rtol=1e-2, err_msg=str(found))
    assert (last <= first * (1 + 1e-9) + 1e-12).all()


def classes(gamma_of_cost: float) -> tuple[CustomProblem, list[Alternatives]]:
    """A problem by functions, with its gamma in the cost."""
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(8, 3)), rng.integers(0, 4, 8).tolist()
    price = gamma_of_cost * rng.choice([0.37, 1.91, 3.13], (4, 4)) * (1 - np.eye(4))

    def feature(x: Any, y: int) -> Any:
        return np.outer(np.eye(4)[y], x).ravel()

    def argmax(x: Any, w: Any, y: int | None = None) -> int:
        return int((w.reshape(4, 3) @ x + (0 if y is None else price[y])).argmax())

    def logsum(x: Any, w: Any) -> tuple[float, Any]:
        scores = w.reshape(4, 3) @ x
        p = np.exp(scores - scores.max())
        return float(scores.max() + np.log(p.sum())), np.outer(p / p.sum(), x).ravel()

    problem = CustomProblem(X, Y, feature, lambda y, other: float(price[y, other]), argmax, logsum=logsum)
    return problem, [
        Alternatives(np.array([feature(x, z) for z in range(4)]), price[y], y) for x, y in zip(X, Y, strict=True)
    ]


@pytest.mark.parametrize("gamma", GAMMAS)
def test_a_problem_by_functions_has_the_same_optimum_with_all_learners(gamma: float) -> None:
    for loss in (Hinge(), Log()):
        tried = 0
        lower, upper = bounds(classes(gamma)[1], loss, C)
        for learner in VARIANTS:
            problem, _ = classes(gamma)
            try:
                learner.check(loss, problem)
            except MargraveError:
                continue
            if "another objective" in learner.offers:
                continue
            tried += 1
            P = solve(learner, problem, loss).certificate.primal
            assert P is not None
            assert lower * (1 - 1e-9) <= P <= upper * (1 + 1.01 * TOL), learner
        assert tried >= 2


@pytest.mark.parametrize("gamma", [0.03, 0.5, 3.0])
def test_a_problem_by_functions_refuses_another_gamma_with_every_learner(gamma: float) -> None:
    problem, _ = classes(1.0)
    for learner in VARIANTS:
        with pytest.raises(MargraveError) as error:
            solve(learner, problem, LossFamily(inf, gamma))
        assert str(error.value).endswith(".")


# ---- every structure and every learner ------------------------------------------------------------------------------

PASSES = 5  # of learners that do not reach tol
ALL: list[Learner] = [
    *(kind() for name, kind in sorted(BUILT_IN_LEARNERS.items()) if name not in ("cccp", "perceptron", "lp")),
    *VARIANTS[len(VARIANTS) - 2 :],
    BCFW(pairwise=False),
    EG(single=True),
    KBestMIRA(k=3),
    MIRA(average=False),
]


def member(kind: Kind, *, smooth: bool) -> tuple[LossFamily, Case]:
    """A member of the family for each structure, and its most general cost: neither is 0 or 1."""
    rng = np.random.default_rng([ord(letter) for letter in kind.name])
    beta = float(10 ** rng.uniform(-0.7, 0.7)) if smooth else inf
    return LossFamily(beta, float(10 ** rng.uniform(-1.5, 1.5))), kind(int(rng.integers(1000)), kind.costs[-1], 3)


@pytest.mark.parametrize("smooth", [False, True], ids=["beta = inf", "beta < inf"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_bounds_of_every_learner_hold_on_every_structure(kind: Kind, smooth: bool) -> None:
    """P is that of the weights by its definition, no D exceeds the optimum, and learners with tol end there."""
    loss, case = member(kind, smooth=smooth)
    examples = alternatives_of(case)
    lower, upper = bounds(examples, loss, C)
    size = 1e-9 * upper + 1e-12 * C * loss.gamma * max(x.cost.max() for x in examples) + 1e-12
    tried = 0
    for learner in ALL:
        try:
            learner.check(loss, case.problem)
        except MargraveError:
            continue
        tried += 1
        ends = "tol" in learner.resolve(loss, case.problem).offers and learner != BCFW(pairwise=False)
        if not smooth and "logsum" in learner.needs:
            ends = False  # Distributions that have all mass on one output take many passes.
        solution = solve(learner, case.problem, loss, max_iter=3000 if ends else PASSES)
        certificate = solution.certificate
        assert certificate.primal == pytest.approx(primal(solution.w, examples, loss, C)[0], rel=1e-9, abs=size)
        assert certificate.primal >= lower - size, learner
        rounding = 1e-7 * upper if learner == EG(single=True) else 0.0
        for record in (certificate, *solution.history):
            assert record.dual is None or record.dual <= upper + size + rounding, learner
        if ends:
            assert solution.converged, (learner, solution.reason)
            assert certificate.primal <= upper * (1 + 1.01 * TOL) + size, learner
    assert tried >= 6


# ---- the searches for the most violated output -----------------------------------------------------------------------

SEARCHED = [
    *(("chain", prices, "parts") for prices in ("hamming", "weights", "matrix")),
    *(("multiclass, vectors", prices, "parts") for prices in ("hamming", "weights", "matrix")),
    ("chain, untied", "hamming", "f1"),
    ("multiclass", "hamming", "f1"),
    ("hypergraph", "hamming", "f1"),
    ("grammar", "hamming", "f1"),
    ("grammar", "hamming", "parts"),
    ("projective tree, single root", "hamming", "parts"),
    ("graph, tree", "matrix", "parts"),
    ("tree, single root", "hamming", "parts"),
    ("chain", "hamming", "zero-one"),
]


@pytest.mark.parametrize(("kind", "prices", "cost"), SEARCHED)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.03, 30))
def test_gamma_multiplies_the_costs_of_every_search(kind: str, prices: str, cost: str, seed: int, gamma: float) -> None:
    """Under both re-scalings, with linear and quadratic slack: what is found is what all outputs say."""
    case = next(one for one in KINDS if one.name == kind)(seed, prices, 3)
    if cost == "f1" and kind == "grammar":
        pytest.skip("the F1 cost of a grammar counts constituents, not parts")
    rng = np.random.default_rng(seed)
    w = rng.normal(size=case.problem.dim) * 10 ** rng.uniform(-2, 1)
    for i, x in enumerate(examples_of(case, cost)):
        scaled = type(x)(x.ys, x.psi, gamma * x.cost, x.gold)
        for form in (Form("margin", 1), Form("slack", 1), Form("margin", 2), Form("slack", 2)):
            values = form.violations(scaled, w)
            true = float(values.max(initial=0.0))
            H, paid, y, exact, bound = _core.most_violated(case.problem, w, i, form.rescale, form.slack, cost, gamma)
            size = 1e-8 * (1 + np.abs(values).max(initial=0.0))
            assert bound >= true - size
            assert true + size >= H
            if exact:
                assert pytest.approx(true, abs=size) == H
            if size < H:
                k = x.ys.index(tuple(map(int, y)))
                assert values[k] == pytest.approx(H, abs=size)
                assert paid == pytest.approx(gamma * x.cost[k], abs=size)
