"""Searches for the most violated output: exact where costs can be counted, and honest where they miss something."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import CustomProblem, Hinge, LossFamily, _core
from margrave.learners import BCFW, CuttingPlane, Ended, Learner, Objective, OneSlack, Solution
from margrave.maps import FeatureTable
from margrave.structures import Chain
from tests.references.problems import bind
from tests.references.svm import FORMS, Array, Example, Form, optimum
from tests.registry import KINDS, Kind

MARGIN, SLACK = FORMS[0], FORMS[1]
LEARNED: dict[str, Learner] = {
    "a": CuttingPlane(variant="a"),
    "b": CuttingPlane(variant="b"),
    "one-slack": OneSlack(),
    "one-slack, cached": OneSlack(cached=5),
}
_ROUNDING = 1e-9
THREE = (0.37, 1.91, 3.13)


def learners_for(form: Form) -> list[str]:
    return [name for name in LEARNED if not name.startswith("one-slack") or form.slack == 1]


# ---- chains with costs of labels, and all of their outputs -----------------------------------------------------------


def priced(seed: int, cost: Any, form: Form, classes: int = 3, longest: int = 5) -> tuple[Any, Hinge]:
    """Chains whose labels, or pairs of labels, have these costs."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, longest + 1, 6)
    X = [rng.normal(size=(n, 3)) for n in lengths]
    labels = rng.integers(0, classes, lengths.sum()).astype(np.int32)
    loss = Hinge(cost, rescale=form.rescale, slack=form.slack)
    names = list(range(classes))
    return bind(Chain(), X, labels, feature_map=FeatureTable("all"), classes=names, loss=loss), loss


def many_costs(seed: int) -> Array:
    """A cost for every pair of labels, so that they cannot be counted."""
    return np.random.default_rng(seed).uniform(0.2, 4.0, (5, 5)) * (1 - np.eye(5))


def listed(problem: Any) -> list[Example]:
    """All outputs of every example but the gold one."""
    found = []
    for i in range(problem.size):
        outputs = [y for _, y in problem.kbest(i, np.zeros(problem.parts(i)), 10**6)]
        counts = np.array([np.bincount(y, minlength=problem.parts(i)) for y in outputs], dtype=float)
        gold = np.bincount(problem.gold(i), minlength=problem.parts(i)).astype(float)
        rows = np.array([problem.score(i, unit) for unit in np.eye(problem.dim)]).T
        delta, c0 = problem.cost(i)
        wrong = (counts != gold).any(axis=1)
        ys = [tuple(sorted(map(int, y))) for y, is_wrong in zip(outputs, wrong, strict=True) if is_wrong]
        parts = tuple(sorted(map(int, problem.gold(i))))
        found.append(Example(ys, (gold - counts[wrong]) @ rows, np.maximum(counts[wrong] @ delta + c0, 0.0), parts))
    return found


def solve(name: str | Learner, problem: Any, loss: LossFamily, **options: Any) -> Solution:
    learner = LEARNED[name] if isinstance(name, str) else name
    return learner.solve(Objective(problem, loss, **{"n_jobs": 1, "max_iter": 500, **options}))


# ---- exact where costs can be counted --------------------------------------------------------------------------------

sizes = st.floats(0.03, 30).map(lambda x: float(f"{x:.3g}"))
few_costs = st.lists(sizes, min_size=1, max_size=3)
multiples = st.tuples(sizes, st.lists(st.integers(0, 40), min_size=4, max_size=4)).map(
    lambda pair: [pair[0] * k for k in pair[1]]
)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), costs=st.one_of(few_costs, multiples), form=st.sampled_from(FORMS[1:]))
def test_up_to_three_costs_or_multiples_of_a_unit_are_searched_exactly(
    seed: int, costs: Sequence[float], form: Form
) -> None:
    rng = np.random.default_rng(seed)
    price = rng.choice(np.asarray(costs), (4, 4)) * (1 - np.eye(4))
    for cost in (price, rng.choice(np.asarray(costs), 4)):
        problem, _ = priced(seed, cost, form, classes=4, longest=4)
        w = rng.normal(size=problem.dim) * 10 ** rng.uniform(-2, 1)
        for i, x in enumerate(listed(problem)):
            H, paid, y, exact, bound = _core.most_violated(problem, w, i, form.rescale, form.slack, "parts")
            values = form.violations(x, w)
            true = max(0.0, float(values.max(initial=0.0)))
            assert exact
            assert_allclose([H, bound], true, rtol=1e-8, atol=1e-9)
            if H > 1e-9:
                k = x.ys.index(tuple(map(int, y)))
                assert_allclose([values[k], x.cost[k]], [H, paid], rtol=1e-8, atol=1e-9)


PRICED = [one for one in KINDS if {"weights", "matrix"} & set(one.costs)]


@pytest.mark.parametrize("kind", PRICED, ids=lambda kind: kind.name)
def test_no_structure_misses_what_it_says_it_has_found(kind: Kind) -> None:
    exact = 0
    for prices in sorted({"weights", "matrix"} & set(kind.costs)):
        for seed in range(4):
            case = kind(seed, prices, 3)
            w = np.random.default_rng(seed).normal(size=case.problem.dim)
            for i in range(len(case)):
                scores = case.outputs[i].counts @ (case.matrices[i] @ w)
                m = scores[case.gold_index(i)] - scores
                true = max(0.0, float((case.costs[i] * (1 - m)).max()))
                H, _, _, proved, bound = _core.most_violated(case.problem, w, i, "slack", 1, "parts")
                assert bound >= true - 1e-8 * (1 + true)
                assert true + 1e-8 * (1 + true) >= H
                exact += proved
                if proved:
                    assert pytest.approx(true, rel=1e-8, abs=1e-8) == H
    assert exact > 0


def test_a_search_that_cannot_count_says_so() -> None:
    """Many costs without a common unit: the bound holds, and not every search is proved exact."""
    proved = 0
    for seed in range(12):
        problem, _ = priced(seed, many_costs(seed), SLACK, classes=5, longest=4)
        w = np.random.default_rng(seed).normal(size=problem.dim)
        for i, x in enumerate(listed(problem)):
            H, _, _, exact, bound = _core.most_violated(problem, w, i, "slack", 1, "parts")
            true = max(0.0, float(SLACK.violations(x, w).max()))
            assert bound >= true - 1e-8 >= H - 2e-8
            proved += exact
            if exact:
                assert pytest.approx(true, rel=1e-8, abs=1e-8) == H
    assert 0 < proved < 12 * 6


@pytest.mark.parametrize("C", [0.03, 1.0, 30.0])
@pytest.mark.parametrize(("scale", "seed"), [(0.1, 0), (1.0, 1), (7.3, 2)])
@pytest.mark.parametrize(("name", "form"), [(name, form) for form in FORMS for name in learners_for(form)], ids=str)
def test_three_costs_have_the_optimum_of_an_independent_solver(
    name: str, form: Form, seed: int, scale: float, C: float
) -> None:
    problem, loss = priced(seed, scale * np.array(THREE), form)
    there = optimum(form, listed(problem), C)
    solution = solve(name, problem, loss, C=C, tol=1e-6, max_iter=3000)
    assert solution.converged, solution.reason
    assert solution.exact
    assert solution.certificate.primal == pytest.approx(there.primal, rel=1e-5)
    assert solution.certificate.dual == pytest.approx(there.primal, rel=1e-5)


# ---- where searches miss something, P counts what is known -----------------------------------------------------------


def assert_honest(solution: Solution, tol: float) -> None:
    """No record of weights that are kept has a negative gap, and none has ended the run."""
    assert not solution.exact
    assert "approximate" in solution.reason
    certificate, last = solution.certificate, solution.history[-1]
    for record in (certificate, last):
        assert record.primal is not None and record.dual is not None and record.gap is not None
        assert record.gap >= -_ROUNDING * (abs(record.primal) + abs(record.dual))
        assert record.gap == pytest.approx(record.primal - record.dual, abs=_ROUNDING * abs(record.primal))
    assert certificate.primal is not None
    for record in solution.history:
        if record.dual is not None:
            assert certificate.primal >= record.dual * (1 - _ROUNDING)
    if solution.ended is Ended.GAP:
        assert 0 <= last.relative_gap + _ROUNDING <= tol + _ROUNDING


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("scale", "seed"), [(0.2, 0), (1.0, 1), (5.0, 2)])
@pytest.mark.parametrize(("name", "form"), [(name, form) for form in FORMS[1:] for name in learners_for(form)], ids=str)
def test_p_counts_every_constraint_that_is_known(name: str, form: Form, seed: int, scale: float, C: float) -> None:
    problem, loss = priced(seed, scale * many_costs(seed), form, classes=5, longest=4)
    examples = listed(problem)
    there = optimum(form, examples, C)
    solution = solve(name, problem, loss, C=C, tol=1e-4)
    if solution.exact:  # Searches by multiplier have been proved all the same.
        assert solution.certificate.primal == pytest.approx(there.primal, rel=1e-3)
        return
    assert_honest(solution, 1e-4)
    assert solution.certificate.dual is not None
    assert solution.certificate.dual <= there.primal * (1 + 1e-9)
    xi = np.zeros(len(examples))  # what the outputs with mass ask for at the weights returned
    for i, parts, _ in solution.state.support():
        x = examples[i]
        xi[i] = max(xi[i], form.violations(x, solution.w)[x.ys.index(tuple(map(int, parts)))])
    known = 0.5 * solution.w @ solution.w + C * (xi if form.slack == 1 else 0.5 * xi**2).sum()
    assert solution.certificate.primal is not None
    assert solution.certificate.primal >= known * (1 - 1e-9)


UNCOUNTED = [one for one in KINDS if "tree" in one.name and "argmax_by_cost" not in one(0).problem.offers]


@pytest.mark.parametrize("C", [0.3, 30.0, 1e3])
@pytest.mark.parametrize("name", ["a", "b", "one-slack", "one-slack, cached"])
@pytest.mark.parametrize("kind", UNCOUNTED[::5], ids=lambda kind: kind.name)
def test_runs_end_where_searches_find_nothing_new(kind: Kind, name: str, C: float) -> None:
    """What is known of each example then has the optimum that P and D tell, also where one constraint joins all."""
    inexact = 0
    for seed in range(3):
        problem, loss = kind(seed, size=4).problem, Hinge(rescale="slack")
        solution = solve(name, problem, loss, C=C, tol=1e-4)
        assert solution.converged, solution.reason
        if not solution.exact:
            inexact += 1
            assert_honest(solution, 1e-4)
            assert solution.certificate.primal == pytest.approx(solution.certificate.dual, rel=1e-4)
    assert inexact > 0


def groping(seed: int, loss: LossFamily, k: int = 12) -> tuple[CustomProblem, list[Example]]:
    """Classes whose search looks at a part of the outputs only, another one each time."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(8, 3)), rng.integers(0, k, 8).tolist()
    price = np.asarray(rng.choice([0.37, 1.91, 3.13, 0.77], (k, k))) * (1 - np.eye(k))
    look = np.random.default_rng(seed + 1)

    def feature(x: Array, y: int) -> Array:
        return np.outer(np.eye(k)[y], x).ravel()

    def cost(y: int, other: int) -> float:
        return float(price[y, other])

    def argmax(x: Array, w: Array, y: int | None = None) -> int:
        values = w.reshape(k, 3) @ x + (0 if y is None else price[y])
        some = look.choice(k, 4, replace=False)
        return int(some[values[some].argmax()])

    def most_violated(x: Array, w: Array, y: int, rescale: str, slack: int) -> int:
        scores = w.reshape(k, 3) @ x
        r = np.sqrt(price[y]) if slack == 2 else price[y]
        m = scores[y] - scores
        values = r * (1 - m) if rescale == "slack" else r - m
        some = look.choice(k, 4, replace=False)
        return int(some[values[some].argmax()])

    searches: dict[str, Any] = {} if loss.of_family else {"most_violated": most_violated}
    problem = CustomProblem(X, Y, feature, cost, argmax, exact=False, **searches)
    examples = []
    for x, y in zip(X, Y, strict=True):
        others = [z for z in range(k) if z != y]
        psi = np.array([feature(x, y) - feature(x, z) for z in others])
        examples.append(Example([(z,) for z in others], psi, price[y][others], (y,)))
    return problem, examples


@pytest.mark.parametrize(("C", "seed"), [(0.1, 0), (1.0, 1), (10.0, 2), (100.0, 3)])
@pytest.mark.parametrize(
    ("name", "form"),
    [*((name, form) for form in FORMS for name in learners_for(form)), ("bcfw", MARGIN)],
    ids=str,
)
def test_p_is_that_of_the_weights_returned_also_with_outputs_that_were_found_later(
    name: str, form: Form, seed: int, C: float
) -> None:
    loss = Hinge(rescale=form.rescale, slack=form.slack)
    problem, examples = groping(seed, loss)
    learner = BCFW() if name == "bcfw" else LEARNED[name]
    solution = solve(learner, problem, loss, C=C, tol=1e-3, max_iter=200)
    there = optimum(form, examples, C)
    assert_honest(solution, 1e-3)
    assert solution.certificate.dual is not None and solution.certificate.primal is not None
    assert solution.certificate.dual <= there.primal * (1 + 1e-9)
    true = form.primal(examples, solution.w, C)
    assert solution.certificate.primal <= true * (1 + 1e-9)
    xi = np.zeros(len(examples))  # what all outputs that the problem has seen ask for
    for i, (x, seen) in enumerate(zip(examples, problem._seen, strict=True)):
        known = [y in seen.ys.values() for (y,) in x.ys]
        xi[i] = form.violations(x, solution.w)[known].max(initial=0.0)
    least = 0.5 * solution.w @ solution.w + C * (xi if form.slack == 1 else 0.5 * xi**2).sum()
    assert solution.certificate.primal >= least * (1 - 1e-9)
