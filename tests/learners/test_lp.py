"""LP-Struct (004): column generation against the full linear program, its certificate, and its solvers."""

import sys
import warnings
from dataclasses import replace
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from margrave import CustomProblem, MargraveError, Reranker, _core
from margrave.learners import LP, Checkpoint, Objective, Solution
from margrave.learners.lp import LPConstraints, LPState
from margrave.losses import Hinge, Log, LossFamily
from margrave.maps import FeatureTable, SparseMap
from margrave.solvers.lp_master import Constraints
from margrave.structures import CandidateLists, Multiclass
from tests.references.problems import bind
from tests.registry import KINDS, Case

Array = NDArray[np.float64]

pytest.importorskip("highspy", reason="the extra margrave[lp] is not installed")

# A C that is too small is a case, too.
pytestmark = pytest.mark.filterwarnings("ignore:all weights are zero at C")

CASES = {kind.name: kind for kind in KINDS}
SOLVERS = ("simplex", "extragradient")


def case_of(name: str, seed: int, size: int = 4) -> Case:
    return CASES[name](seed, size=size)


def features(case: Case, i: int, y: Any) -> Array:
    """Psi(x_i, y)."""
    counts = np.zeros(len(case.matrices[i]))
    np.add.at(counts, list(y), 1.0)
    return np.asarray(counts @ case.matrices[i])


def rows(
    case: Case, *, margin: str = "one", program: str = "all", metric: Any = None
) -> tuple[list[Array], list[float], list[int]]:
    """Every constraint of programs (6) to (8), written out: dPsi, margin, example."""
    H, margins, owners = [], [], []
    for i in range(len(case)):
        right = case.good(i)
        for y, cost in zip(case.outputs[i].ys, case.costs[i], strict=True):
            if y in right:
                continue
            against = right
            if program == "closest":
                far = [
                    np.sum((features(case, i, each) - features(case, i, y)) ** 2) if metric is None else metric(each, y)
                    for each in right
                ]
                against = [right[int(np.argmin(far))]]
            for each in against:
                H.append(features(case, i, each) - features(case, i, y))
                margins.append(1.0 if margin == "one" else float(cost))
                owners.append(i)
    return H, margins, owners


def optimum(case: Case, C: Array, *, free_sign: bool = False, **options: Any) -> float:
    """The value of the full linear program, by scipy's HiGHS."""
    H, margins, owners = rows(case, **options)
    if not H:
        return 0.0
    matrix = np.array(H)
    M = np.zeros((len(H), len(case)))
    M[np.arange(len(H)), owners] = 1.0
    sides = [matrix, -matrix] if free_sign else [matrix]
    cost = np.concatenate([np.ones(sum(side.shape[1] for side in sides)), C])
    found = linprog(cost, A_ub=-csr_array(np.hstack([*sides, M])), b_ub=-np.array(margins), bounds=(0, None))
    assert found.status == 0
    return float(found.fun)


def primal(case: Case, w: Array, C: Array, **options: Any) -> float:
    """|w|_1 + C'xi by definition."""
    xi = np.zeros(len(case))
    for h, margin, i in zip(*rows(case, **options), strict=True):
        xi[i] = max(xi[i], margin - float(h @ w))
    return float(np.abs(w).sum() + C @ xi)


def solve(case: Case, C: float = 2.0, tol: float = 1e-7, **options: Any) -> Any:
    return LP(**options).solve(Objective(case.problem, Hinge(), C=C, tol=tol, n_jobs=1))


TOL = {"simplex": 1e-7, "extragradient": 1e-4, "pdlp": 1e-4}


# ---- column generation reaches the optimum of the full program -------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("free_sign", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_column_generation_solves_the_full_program(name: str, free_sign: bool, solver: str) -> None:
    for seed, C in ((0, 5.0), (1, 0.3), (2, 2.0)):
        case = case_of(name, seed)
        expected = optimum(case, np.full(len(case), C), free_sign=free_sign)
        solution = solve(case, C, TOL[solver], solver=solver, free_sign=free_sign)
        assert solution.converged, solution.reason
        assert solution.certificate.primal == pytest.approx(expected, rel=TOL[solver], abs=1e-9)
        assert primal(case, solution.w, np.full(len(case), C)) == pytest.approx(solution.certificate.primal, rel=1e-9)
        assert free_sign or (solution.w >= 0).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("program", ["all", "closest"])
@pytest.mark.parametrize("name", ["candidates", "candidates, vectors"])
def test_several_good_outputs_are_programs_7_and_8(name: str, program: str, solver: str) -> None:
    assert any(len(case_of(name, seed).good(i)) > 1 for seed in range(6) for i in range(4))
    for seed in range(6):
        case = case_of(name, seed)
        for margin in ("one", "cost"):
            expected = optimum(case, np.full(len(case), 2.0), program=program, margin=margin)
            solution = solve(case, tol=TOL[solver], solver=solver, program=program, margin=margin)
            assert solution.certificate.primal == pytest.approx(expected, rel=TOL[solver], abs=1e-9)
            assert solution.state.exact


def test_the_metric_says_which_good_output_is_closest() -> None:
    def numbers(good: tuple[int, ...], wrong: tuple[int, ...]) -> float:
        return float((7 * good[0] + 3 * wrong[0]) % 5)

    differs = False
    for seed in range(8):
        case = case_of("candidates", seed)
        C = np.full(len(case), 2.0)
        expected = optimum(case, C, program="closest", metric=numbers)
        differs |= abs(expected - optimum(case, C, program="closest")) > 1e-6
        assert solve(case, solver="simplex", program="closest", metric=numbers).certificate.primal == pytest.approx(
            expected
        )
    assert differs, "the metric never mattered"


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("free_sign", [False, True])
@pytest.mark.parametrize("name", ["chain", "tree, single root", "multiclass"])
def test_the_margin_may_be_the_cost(name: str, free_sign: bool, solver: str) -> None:
    for seed in range(4):
        case = case_of(name, seed)
        expected = optimum(case, np.full(len(case), 2.0), margin="cost", free_sign=free_sign)
        solution = solve(case, tol=TOL[solver], solver=solver, margin="cost", free_sign=free_sign)
        assert solution.converged, solution.reason
        assert solution.certificate.primal == pytest.approx(expected, rel=max(TOL[solver], 1e-6), abs=1e-9)


def test_sample_weights_are_factors() -> None:
    case = case_of("chain", 3)
    weight = np.array([0.0, 0.5, 1.0, 3.0])
    objective = Objective(case.problem, Hinge(), C=2.0, tol=1e-8, sample_weight=weight)
    solution = LP(solver="simplex", free_sign=True).solve(objective)
    assert solution.certificate.primal == pytest.approx(optimum(case, 2.0 * weight, free_sign=True), rel=1e-7)


def test_pdlp_is_a_third_solver() -> None:
    case = case_of("multiclass", 1)
    expected = optimum(case, np.full(len(case), 2.0), free_sign=True)
    solution = solve(case, tol=1e-4, solver="pdlp", free_sign=True)
    assert solution.certificate.primal == pytest.approx(expected, rel=2e-4)


# ---- the certificate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("margin", ["one", "cost"])
@pytest.mark.parametrize("name", ["chain", "candidates", "tree, single root"])
def test_every_round_bounds_the_optimum_from_both_sides(name: str, margin: str, solver: str) -> None:
    for seed in range(3):
        case = case_of(name, seed)
        expected = optimum(case, np.full(len(case), 4.0), free_sign=True, margin=margin)
        history = solve(case, 4.0, TOL[solver], solver=solver, free_sign=True, margin=margin).history
        for record in history:
            assert record.dual <= expected * (1 + 1e-9) + 1e-9
            assert record.primal >= expected * (1 - 1e-9) - 1e-9
            assert record.gap == pytest.approx(record.primal - record.dual)
        duals = [record.dual for record in history]
        assert duals == sorted(duals)
        assert history[-1].relative_gap <= TOL[solver]


def test_the_bound_divides_by_what_the_multipliers_exceed() -> None:
    from margrave.solvers.lp_master import Program

    rng = np.random.default_rng(0)
    H = rng.integers(-2, 3, (6, 4)).astype(float)
    sparse = csr_array(H)
    first, last = np.array([[0, 0, 1, 2, 3, 2], [0, 0, 2, 2, 3, 3]], np.int32)  # of examples with 1, 2 and 1 sites
    constraints = Constraints(np.array([0, 1, 3, 4]), np.full(4, -1, np.int32))
    constraints.add(
        first, last, np.arange(1.0, 7.0), sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data
    )
    constraints.multiplier = multiplier = rng.random(6)
    C = np.array([0.1, 2.0, 2.0, 3.0])
    mass = [sum(multiplier[(first <= site) & (site <= last)]) for site in range(4)]
    for free_sign in (False, True):
        program = Program(constraints, C, free_sign, np.zeros(4), np.zeros(4), np.zeros(4))
        load = H.T @ multiplier
        load = np.abs(load) if free_sign else load
        most = max(1.0, load.max(), (mass / C).max())
        assert program.dual() == pytest.approx(np.arange(1.0, 7.0) @ multiplier / most)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_are_exactly_zero_where_the_program_says_so(solver: str) -> None:
    zeros = 0
    for seed in range(6):
        case = case_of("candidates", seed, 6)
        solution = solve(case, 1.0, TOL[solver], solver=solver, free_sign=True)
        program = solution.state.program
        worthless = program.worth() < 1 - 1e-2
        assert (solution.w[worthless] == 0).all()
        zeros += int(worthless.sum())
    assert zeros > 10


# ---- the search for constraints --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(CASES)), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_a_round_finds_the_most_violated_constraint_of_each_example(
    name: str, seed: int, by_cost: bool, closest: bool
) -> None:
    case = case_of(name, seed)
    assume(not (closest and good_paths_are_several(case)))
    w = np.random.default_rng(seed).normal(size=case.problem.dim)
    found = LPConstraints(case.problem, _core.LossFamily(inf, 1.0, not by_cost), closest, None, 2)
    slack, owner, first, last, margin, begin, column, value = found.round(
        w, without_rows(found), np.full(len(case), True), 2
    )
    options = {"margin": "cost" if by_cost else "one", "program": "closest" if closest else "all"}
    H, margins, owners = rows(case, **options)
    for i in range(len(case)):
        asked = [m - h @ w for h, m, k in zip(H, margins, owners, strict=True) if k == i]
        assert slack[i] == pytest.approx(max([0.0, *asked]), abs=1e-9)
        at = np.flatnonzero(owner == i)
        assert bool(len(at)) == (slack[i] > 1e-9)
        of_rows = []
        for k in at:
            row = np.zeros(case.problem.dim)
            row[column[begin[k] : begin[k + 1]]] = value[begin[k] : begin[k + 1]]
            of_rows.append(margin[k] - row @ w)
            assert found.sites[i] <= first[k] <= last[k] < found.sites[i + 1]
        assert (first[at][1:] > last[at][:-1]).all()
        assert sum(of_rows) == pytest.approx(slack[i], abs=1e-9)
        if found.sites[i + 1] - found.sites[i] == 1:
            assert len(at) <= 1
    assert found.exact


def without_rows(found: LPConstraints, dim: int = 10_000) -> Constraints:
    return Constraints(found.sites, np.full(dim, -1, np.int32))


@pytest.mark.parametrize("by_cost", [False, True])
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("lattice")])
def test_the_good_path_of_program_7_differs_from_the_best_other_one_in_the_fewest_parts(
    name: str, by_cost: bool
) -> None:
    for seed in range(20):
        case = case_of(name, seed)
        w = np.random.default_rng(seed).normal(size=case.problem.dim)
        found = LPConstraints(case.problem, _core.LossFamily(inf, 1.0, not by_cost), True, None, 1)
        slack = found.round(w, without_rows(found), np.full(len(case), True), 1)[0]
        for i in range(len(case)):
            right = case.good(i)
            costs = case.costs[i] if by_cost else np.ones(len(case.costs[i]))
            wrong = [(y, cost) for y, cost in zip(case.outputs[i].ys, costs, strict=True) if y not in right]
            if not wrong:
                assert slack[i] == 0
                continue
            values = [features(case, i, y) @ w + cost for y, cost in wrong]
            possible = []  # Several outputs may be the best one, or the closest one to it.
            for (y, _), value in zip(wrong, values, strict=True):
                if value > max(values) - 1e-9:
                    fewest = min(len(set(each) ^ set(y)) for each in right)
                    closest = [each for each in right if len(set(each) ^ set(y)) == fewest]
                    possible += [max(0.0, value - features(case, i, each) @ w) for each in closest]
            assert min(abs(each - slack[i]) for each in possible) < 1e-9
        assert found.exact != good_paths_are_several(case)


def good_paths_are_several(case: Case) -> bool:
    """Whether an example has good paths that are not listed, among which program (7) takes the closest one."""
    divided = isinstance(case.problem, _core.DividedProblem)
    return divided and any(len(case.good(i)) > 1 for i in range(len(case)))


@pytest.mark.parametrize("margin", ["one", "cost"])
def test_constraints_that_are_known_are_not_found_again(margin: str) -> None:
    case = case_of("chain", 0)
    counts = np.full(len(case), True)
    found = LPConstraints(case.problem, _core.LossFamily(inf, 1.0, margin == "one"), False, None, 1)
    known = without_rows(found)
    w = np.random.default_rng(0).normal(size=case.problem.dim)
    slack, owner, *new = found.round(w, known, counts, 1)
    assert len(owner) > 0
    known.add(*new)
    assert_allclose(np.add.reduceat(known.slacks(known.asked(w)), found.sites[:-1]), slack, atol=1e-12)
    _, owner, *_ = found.round(w, known, counts, 1)
    assert len(owner) == 0


def test_examples_that_do_not_count_have_no_constraints() -> None:
    case = case_of("chain", 0)
    found = LPConstraints(case.problem, _core.LossFamily(inf, 1.0, False), False, None, 1)
    counts = np.array([True, False, True, False])
    _, owner, *_ = found.round(np.zeros(case.problem.dim), without_rows(found), counts, 1)
    assert set(owner) == {0, 2}


# ---- the smallest C --------------------------------------------------------------------------------------------------


def smallest_c(case: Case, *, free_sign: bool, weight: Array, **options: Any) -> float:
    """1 / min max_j (H'lambda)_j over what examples can spread over the outputs that ask for the most at w = 0."""
    H, margins, owners = map(np.array, rows(case, **options))
    most = np.array([max(margins[owners == i], default=0.0) for i in range(len(case))])
    tight = (margins == most[owners]) & (margins > 0)
    if not tight.any():
        return inf
    H, owners = H[tight], owners[tight]
    sides = np.hstack([H, -H]) if free_sign else H
    M = np.array([owners == i for i in range(len(case)) if (owners == i).any()], float)
    found = linprog(
        np.append(np.zeros(len(H)), 1.0),
        A_ub=np.hstack([sides.T, -np.ones((sides.shape[1], 1))]),
        b_ub=np.zeros(sides.shape[1]),
        A_eq=np.hstack([M, np.zeros((len(M), 1))]),
        b_eq=[weight[i] for i in range(len(case)) if (owners == i).any()],
        bounds=[(0, None)] * len(H) + [(None, None)],
    )
    assert found.status == 0
    return 1 / found.fun if found.fun > 1e-9 else inf


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("free_sign", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("chain", {"margin": "one"}),
        ("chain", {"margin": "cost"}),
        ("multiclass", {"margin": "cost"}),
        ("candidates, vectors", {"program": "all"}),
        ("candidates, vectors", {"program": "closest", "margin": "cost"}),
    ],
)
def test_the_smallest_c_is_that_of_the_full_program(
    name: str, options: dict[str, str], free_sign: bool, solver: str
) -> None:
    for seed in range(3):
        case = case_of(name, seed)
        weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(case))
        expected = smallest_c(case, free_sign=free_sign, weight=weight, **options)
        objective = Objective(case.problem, Hinge(), C=0.05, sample_weight=weight)
        low, high = LP(solver=solver, free_sign=free_sign, **options).smallest_c(objective)
        assert low * (1 - 1e-9) <= expected <= high * (1 + 1e-9)
        if expected < inf:
            assert high <= 1.02 * low
            settings = {"free_sign": free_sign, **options}
            zero = primal(case, np.zeros(case.problem.dim), expected * weight, **options)
            assert optimum(case, 0.99 * expected * weight, **settings) == pytest.approx(0.99 * zero)
            assert optimum(case, 1.05 * expected * weight, **settings) < 1.05 * zero * (1 - 1e-9)


def test_weights_that_are_all_zero_are_warned_about_with_the_smallest_c() -> None:
    case = case_of("chain", 1)
    expected = smallest_c(case, free_sign=True, weight=np.ones(len(case)))
    with pytest.warns(UserWarning, match=r"all weights are zero at C = .*from C = \S+ on") as warned:
        assert not solve(case, expected / 2, free_sign=True).w.any()
    said = float(str(warned[0].message).split("from C = ")[1].split(" ")[0])
    assert said == pytest.approx(expected, rel=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solve(case, 1.1 * said, free_sign=True).w.any()


def test_features_that_never_pay_are_said_to() -> None:
    problem = bind(CandidateLists(), [np.zeros((3, 2))] * 2, [0, 1], feature_map=SparseMap())
    with pytest.warns(UserWarning, match="and so they are at 10000 times this C: use other features"):
        LP().solve(Objective(problem, Hinge(), tol=1e-6))


def test_a_path_searches_further_for_a_c_that_is_large_enough() -> None:
    """That no weight pays up to 10,000 times the first C says nothing about the second."""
    case = case_of("chain", 1)
    expected = smallest_c(case, free_sign=True, weight=np.ones(len(case)))
    learner = LP(free_sign=True)
    objective = Objective(case.problem, Hinge(), C=1e-6 * expected, tol=1e-6)
    with pytest.warns(UserWarning, match="and so they are at 10000 times this C"):
        first = learner.solve(objective)
    objective = replace(objective, C=expected / 2)
    with pytest.warns(UserWarning, match=r"from C = \S+ on") as warned:
        learner.solve(objective, learner.continue_with(first.state, objective))
    said = float(str(warned[0].message).split("from C = ")[1].split(" ")[0])
    assert said == pytest.approx(expected, rel=0.02)


# ---- Algorithm 1 as printed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("name", "margin"), [("chain", "one"), ("chain", "cost"), ("candidates", "one")])
def test_separation_at_the_master_is_algorithm_1(
    name: str, margin: str, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of(name, 3)
    H, margins, owners = rows(case, margin=margin)
    rounds = []
    search = LPState.add_violated

    def noted(state: LPState, w: Array, *xi: Any) -> int:
        program, before = state.program, len(state.program.rows)
        expected = np.zeros(len(case)) if not rounds else program.xi.copy()  # line 2
        assert_allclose(w, program.w if rounds else np.ones(case.problem.dim))  # lines 2 and 12
        known = np.zeros(len(case)) if not before else program.rows.slacks(program.rows.asked(w))
        added = search(state, w, *xi)
        new = []
        for i in range(len(case)):  # lines 4 to 11
            asked = max((m - h @ w for h, m, k in zip(H, margins, owners, strict=True) if k == i), default=-inf)
            if asked > max(expected[i], known[i]) + 1e-9:
                new.append((i, asked))
        assert program.rows.first[before:].tolist() == [i for i, _ in new]
        assert_allclose(program.rows.asked(w)[before:], [asked for _, asked in new], atol=1e-9)
        rounds.append(added)
        return added

    monkeypatch.setattr(LPState, "add_violated", noted)
    solution = solve(case, 9.0, TOL[solver], solver=solver, margin=margin, separation="master", free_sign=True)
    assert solution.converged, solution.reason
    assert len(rounds) > 2
    assert solution.state.n_constraints == sum(rounds)  # None was removed.
    expected = optimum(case, np.full(len(case), 9.0), margin=margin, free_sign=True)
    assert solution.certificate.primal == pytest.approx(expected, rel=max(TOL[solver], 1e-6))


def test_the_whole_method_of_the_paper_finds_the_optimum() -> None:
    case = case_of("chain", 2)
    solution = solve(case, tol=1e-3, separation="master", restarts=False, step="frobenius", tolerances=(1e-4, 1e-2))
    assert solution.converged, solution.reason
    assert solution.certificate.primal == pytest.approx(optimum(case, np.full(len(case), 2.0)), rel=1e-3)


@pytest.mark.parametrize("tolerances", [(1e-2, 1.0), (1e-3, 0.1), (1e-4, 1e-2)])
@pytest.mark.parametrize("C", [0.5, 2.0, 9.0])
def test_every_master_is_that_of_algorithm_2_from_weights_of_1_on(
    C: float, tolerances: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = case_of("chain", 0)
    point = np.ones(case.problem.dim), np.zeros(len(case)), np.zeros(0)  # Algorithm 1, line 2
    compared = count(1)
    round_at_master = LPState.round_at_master

    def noted(state: LPState) -> None:
        nonlocal point
        rows, before = state.program.rows, len(state.program.rows)
        round_at_master(state)
        new = len(rows) - before
        if not new:  # Such a master is tightened, and those after it start from there.
            monkeypatch.undo()
            return
        w, xi, multiplier = point
        H = np.zeros((len(rows), len(w)))
        H[:, rows.features] = rows.matrix().toarray()
        np.maximum.at(xi, rows.first, rows.margin - H @ w)  # Algorithm 2, lines 3 to 8
        start = w, xi, np.append(multiplier, np.zeros(new))
        _, *point = equation_13((H, rows.first, rows.margin, np.full(len(case), C)), 50_000, tolerances, start)
        for found, expected in zip((state.program.w, state.program.xi, rows.multiplier), point, strict=True):
            assert_allclose(found, expected, atol=1e-8)
        next(compared)

    monkeypatch.setattr(LPState, "round_at_master", noted)
    solve(case, C, 1e-3, separation="master", restarts=False, step="frobenius", tolerances=tolerances)
    assert next(compared) > 2


# ---- constraints of changes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("chain")])
def test_the_changes_of_a_chain_add_up_to_its_outputs(name: str) -> None:
    """Every wrong output is a set of changes without a common site, and every such set is an output."""
    changed = 0
    for seed in range(4):
        case = case_of(name, seed)
        found = LPConstraints(case.problem, _core.LossFamily(inf, 1.0, False), False, None, 1)
        known = without_rows(found)
        H, margins, owners = rows(case, margin="cost")
        every = np.array([[*h, m] for h, m in zip(H, margins, strict=True)])
        # All changes, by searches at many weights.
        for k in range(300):
            w = np.random.default_rng(k).normal(size=case.problem.dim) * (k % 5)
            known.add(*found.round(w, known, np.full(len(case), True), 1)[2:])
        full = np.zeros((len(known), case.problem.dim))
        full[:, known.features] = known.matrix().toarray()
        of_changes = np.column_stack([full, known.margin])
        for row in range(len(known)):  # A change alone is an output.
            own = every[np.array(owners) == owner_of(found, known, row)]
            assert np.abs(own - of_changes[row]).sum(axis=1).min() < 1e-9
        for a in range(len(known)):  # So are two without a common site.
            for b in range(len(known)):
                if known.last[a] < known.first[b] and owner_of(found, known, a) == owner_of(found, known, b):
                    own = every[np.array(owners) == owner_of(found, known, a)]
                    assert np.abs(own - of_changes[a] - of_changes[b]).sum(axis=1).min() < 1e-9
                    changed += 1
    assert changed > 10 or name != "chain"


def owner_of(found: LPConstraints, known: Constraints, row: int) -> int:
    return int(np.searchsorted(found.sites, known.first[row], side="right")) - 1


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
def test_slacks_of_sites_are_those_of_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sites = np.concatenate([[0], np.cumsum(rng.integers(1, 6, 3))])
    owner = rng.integers(0, 3, 8)
    ends = np.sort([rng.integers(sites[owner], sites[owner + 1]) for _ in range(2)], axis=0).astype(np.int32)
    asked = rng.normal(0.5, 1.0, 8)
    slack = _core.lp_slacks(sites, *ends, asked)  # type: ignore[call-arg]
    M = np.array([(ends[0] <= site) & (site <= ends[1]) for site in range(sites[-1])]).T.astype(float)
    assert (slack >= 0).all()
    assert (M @ slack >= asked - 1e-12).all()
    assert slack.sum() == pytest.approx(linprog(np.ones(sites[-1]), A_ub=-M, b_ub=-asked).fun, abs=1e-9)


def test_only_chains_with_one_good_output_that_costs_nothing_have_several_sites() -> None:
    hinge = _core.LossFamily(inf, 1.0, False)
    for name in CASES:
        case = case_of(name, 1)
        several = np.diff(_core.lp_sites(case.problem, hinge)) > 1
        assert "chain" in name or not several.any()
    chain = case_of("chain", 1).problem
    assert (np.diff(_core.lp_sites(chain, hinge)) > 1).any()
    assert (np.diff(_core.lp_sites(chain, _core.LossFamily(inf, 1.0, True))) == 1).all()


@pytest.mark.parametrize(
    ("sites", "first", "last"),
    [([0, 2], [1], [0]), ([0, 2], [-1], [0]), ([0, 2], [0], [2]), ([0, 2, 3], [1], [2]), ([0, 0, 2], [0], [0])],
)
def test_sites_of_no_example_are_refused(sites: list[int], first: list[int], last: list[int]) -> None:
    ends = np.array(first, np.int32), np.array(last, np.int32)
    with pytest.raises(MargraveError, match=r"belongs to no example|must have a site"):
        _core.lp_slacks(np.array(sites), *ends, np.ones(1))


def test_closest_good_outputs_of_another_problem_are_refused() -> None:
    case = case_of("candidates", 0)
    problem = case.problem
    closest = _core.closest_good(problem, None, 1)
    w, margin = np.zeros(problem.dim), _core.LossFamily(inf, 1.0, True)
    ends, sites = np.zeros(0, np.int32), np.arange(problem.size + 1)
    known = sites, np.zeros(problem.size), ends, ends, np.zeros(0)
    for wrong in (None, closest[:-1], np.full_like(closest, 99), np.full_like(closest, -1)):
        with pytest.raises(MargraveError, match="closest"):
            _core.lp_round(problem, w, margin, True, wrong, None, *known, 0.0, 1)
    with pytest.raises(MargraveError, match="closest"):
        _core.lp_round(problem, w, margin, False, closest, None, *known, 0.0, 1)
    assert _core.closest_good(case_of("chain", 0).problem, None, 1) is None


@pytest.mark.parametrize("margin", ["one", "cost"])
@pytest.mark.parametrize("scale", [1e-8, 1e5, 1e10, 1e14])
def test_the_extragradient_measures_each_feature_in_its_own_unit(scale: float, margin: str) -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) * [1.0, scale, 1.0] for _ in range(8)]
    costs = [np.array([0.0, *rng.uniform(0.2, 1.0, 3)]) for _ in X]
    problem = bind(CandidateLists(), X, [0] * 8, costs, feature_map=SparseMap())
    solution = LP(margin=margin).solve(Objective(problem, Hinge(), C=2.0, tol=1e-5))
    assert solution.converged
    assert solution.certificate.gap >= 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_margins_are_exact_however_large_the_scores(solver: str) -> None:
    rng = np.random.default_rng(0)
    X = [np.array([[0.0], [1e14 * rng.uniform(1, 9)]]) for _ in range(10)]
    costs = [np.array([0.0, cost]) for cost in rng.uniform(0.1, 1, 10)]
    problem = bind(CandidateLists(), X, [0] * 10, costs, feature_map=SparseMap())
    record = LP(solver=solver, margin="cost").solve(Objective(problem, Hinge(), tol=1e-6)).certificate
    optimum = sum(cost[1] for cost in costs)  # at w = 0
    assert record.primal == pytest.approx(optimum, rel=1e-12)
    assert record.dual <= optimum * (1 + 1e-12)


def test_the_margin_by_cost_is_as_wide_as_the_loss_says() -> None:
    case = case_of("chain", 1)
    narrow, wide = (
        LP(solver="simplex", margin="cost")
        .solve(Objective(case.problem, LossFamily(inf, gamma), C=2.0, tol=1e-7))
        .certificate
        for gamma in (1.0, 2.0)
    )
    assert narrow.primal == pytest.approx(optimum(case, np.full(4, 2.0), margin="cost"))
    assert wide.primal == pytest.approx(2 * narrow.primal)  # weights and slacks twice as large


def test_the_metric_is_asked_of_wrong_outputs_alone() -> None:
    asked = set()

    def metric(good: Any, wrong: Any) -> float:
        asked.add((good, wrong))
        return 1 / abs(good["x"] - wrong["x"])

    class Named(dict[str, float]):
        __hash__ = object.__hash__  # type: ignore[assignment]

    x = [Named(x=1.0), Named(x=2.0), Named(x=3.0), Named(x=4.0)]
    Reranker(learner=LP(program="closest", metric=metric)).fit([x], [[0, 1]])
    assert asked == {(good, wrong) for good in x[:2] for wrong in x[2:]}


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_are_zero_or_count(solver: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = [rng.normal(size=(6, 8)) for _ in range(10)], rng.integers(0, 6, 10).tolist()
        problem = bind(CandidateLists(), X, y, feature_map=SparseMap())
        w = LP(solver=solver, free_sign=True).solve(Objective(problem, Hinge(), C=1.0, tol=1e-6)).w
        assert (np.abs(w[w != 0]) > 1e-6).all()


# ---- the extragradient method ----------------------------------------------------------------------------------------


def random_master(seed: int) -> tuple[Array, NDArray[np.int32], Array, Array]:
    rng = np.random.default_rng(seed)
    H = rng.integers(-2, 3, (12, 7)) * (rng.random((12, 7)) < 0.6)
    return (
        H.astype(float),
        rng.integers(0, 4, 12).astype(np.int32),
        rng.integers(1, 4, 12).astype(float),
        np.full(4, 2.0),
    )


def extragradient(master: Any, *, step: str = "scaled", goal: float = 0.0, most: int = 10, **given: Any) -> Any:
    H, owner, margin, C = master
    sparse = csr_array(H)
    w, xi, multiplier = np.full(H.shape[1], given.get("start", 0.0)), np.zeros(len(C)), np.zeros(len(H))
    result = _core.extragradient(  # type: ignore[call-arg]
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int32),
        sparse.data,
        given.get("sites", np.arange(len(C) + 1)),
        owner,
        given.get("last", owner),
        margin,
        C,
        given.get("free_sign", False),
        w,
        xi,
        multiplier,
        step,
        given.get("restarts", True),
        goal,
        *given.get("tolerances", (0.0, 0.0)),
        1.0,
        most,
        given.get("threads", 1),
    )
    return result, w, xi, multiplier


def equation_13(
    master: Any,
    most: int,
    tolerances: tuple[float, float] | None = None,
    start: tuple[Array, Array, Array] | None = None,
) -> tuple[int, Array, Array, Array]:
    """Algorithm 2 as printed, from a point or from zeros: the iterations and the last point."""
    H, owner, margin, C = master
    M = np.zeros((len(H), len(C)))
    M[np.arange(len(H)), owner] = 1.0
    alpha = (2 * (H**2).sum() + 2 * (M**2).sum()) ** -0.5
    w, xi, lam = start or (np.zeros(H.shape[1]), np.zeros(len(C)), np.zeros(len(H)))
    for t in range(1, most + 1):
        before = np.concatenate([w, xi]), lam
        w_bar = np.maximum(w - alpha * (1 - H.T @ lam), 0)
        xi_bar = np.maximum(xi - alpha * (C - M.T @ lam), 0)
        lam_bar = np.maximum(lam + alpha * (margin - M @ xi - H @ w), 0)
        w, xi, lam = (
            np.maximum(w - alpha * (1 - H.T @ lam_bar), 0),
            np.maximum(xi - alpha * (C - M.T @ lam_bar), 0),
            np.maximum(lam + alpha * (margin - M @ xi_bar - H @ w_bar), 0),
        )
        after = np.concatenate([w, xi]), lam
        if tolerances is None:
            continue
        changes = [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in zip(before, after, strict=True) if b.any()]
        balance = abs(w.sum() + C @ xi - margin @ lam)  # line 10
        if len(changes) == 2 and max(changes) < tolerances[0] and balance < tolerances[1]:
            return t, w, xi, lam
    return most, w, xi, lam


@pytest.mark.parametrize(("most", "restarts"), [(15, True), (15, False), (400, False)])
@pytest.mark.parametrize("seed", range(5))
def test_the_papers_step_is_equation_13(seed: int, most: int, restarts: bool) -> None:
    master = random_master(seed)
    _, *theirs = equation_13(master, most)
    _, *found = extragradient(master, step="frobenius", most=most, restarts=restarts)
    for ours, other in zip(found, theirs, strict=True):
        assert ours == pytest.approx(other, abs=1e-12)


def test_restarts_leave_the_papers_path() -> None:
    _, w, *_ = extragradient(random_master(0), step="frobenius", most=400, restarts=True)
    assert np.abs(w - equation_13(random_master(0), 400)[1]).max() > 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_algorithm_2_ends_by_line_10(seed: int) -> None:
    tolerances = 1e-3, 1e-2
    iterations, *theirs = equation_13(random_master(seed), 100_000, tolerances)
    (count, _, _, done, *_), *found = extragradient(
        random_master(seed), step="frobenius", most=100_000, restarts=False, tolerances=tolerances
    )
    assert done
    assert count == iterations < 100_000
    for ours, other in zip(found, theirs, strict=True):
        assert ours == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize("free_sign", [False, True])
@pytest.mark.parametrize("step", ["frobenius", "spectral", "scaled"])
def test_every_step_finds_the_optimum(step: str, free_sign: bool) -> None:
    for seed in range(6):
        H, owner, margin, C = master = random_master(seed)
        M = np.zeros((len(H), len(C)))
        M[np.arange(len(H)), owner] = 1.0
        sides = [H, -H] if free_sign else [H]
        cost = np.concatenate([np.ones(H.shape[1] * len(sides)), C])
        expected = linprog(cost, A_ub=-np.hstack([*sides, M]), b_ub=-margin).fun
        (iterations, above, below, done, _, best), *_ = extragradient(
            master, step=step, goal=1e-6, most=200_000, free_sign=free_sign
        )
        assert done, iterations
        assert below - 1e-9 <= expected <= above + 1e-9
        assert above - below <= 1e-6
        slack = np.zeros(len(C))
        np.maximum.at(slack, owner, margin - H @ best)
        assert np.abs(best).sum() + C @ slack == pytest.approx(above)


@pytest.mark.parametrize("free_sign", [False, True])
def test_features_that_cannot_pay_change_no_optimum(free_sign: bool) -> None:
    left_out = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sites = np.concatenate([[0], np.cumsum(rng.integers(1, 4, 8))])
        H = rng.integers(-2, 3, (40, 30)) * (rng.random((40, 30)) < 0.1).astype(float)
        example = rng.integers(0, 8, 40)
        ends = np.sort(rng.integers(sites[example], sites[example + 1], (2, 40)), axis=0).astype(np.int32)
        margin, C = rng.integers(1, 4, 40).astype(float), np.repeat(rng.uniform(0.05, 0.6, 8), np.diff(sites))
        M = (ends[0][:, None] <= np.arange(sites[-1])) & (np.arange(sites[-1]) <= ends[1][:, None])
        sides = [H, -H] if free_sign else [H]
        cost = np.concatenate([np.ones(H.shape[1] * len(sides)), C])
        expected = linprog(cost, A_ub=-np.hstack([*sides, M]), b_ub=-margin).fun
        master, given = (H, ends[0], margin, C), {"sites": sites, "last": ends[1], "free_sign": free_sign, "start": 1.0}
        (_, above, below, done, _, best), w, *_ = extragradient(master, goal=1e-6, most=200_000, **given)
        assert done
        assert below - 1e-9 <= expected <= above + 1e-9
        slacks = _core.lp_slacks(sites, ends[0], ends[1], margin - H @ best)
        assert np.abs(best).sum() + C @ slacks == pytest.approx(above)
        # In any direction one unit of a feature saves at most C times its largest value of each site.
        size = np.abs(H) if free_sign else np.maximum(H, 0)
        most = sum(C[site] * size[ends[0] == site].max(axis=0, initial=0.0) for site in range(sites[-1]))
        assert (w[most < 1] == 0).all()
        assert (best[most < 1] == 0).all()
        left_out += (most < 1).sum()
    assert left_out > 100


def test_a_feature_that_just_pays_is_kept() -> None:
    found, w, *_ = extragradient((np.eye(1), np.zeros(1, np.int32), np.ones(1), np.ones(1)), most=0, start=1.0)
    assert found[1] == w[0] == 1.0


def test_the_papers_tolerances_end_it() -> None:
    (many, *_), *_ = extragradient(random_master(0), most=100_000, tolerances=(1e-7, 1e-6))
    (few, _, _, done, *_), w, xi, multiplier = extragradient(random_master(0), most=100_000, tolerances=(1e-3, 1e-2))
    _, _, margin, C = random_master(0)
    assert done
    assert few < many < 100_000
    assert abs(w.sum() + C @ xi - margin @ multiplier) < 1e-2


@pytest.mark.parametrize("tolerances", [(1e-3, 1e-2), (1e-2, 1.0), (0.1, 10.0)])
def test_the_last_master_is_tightened_whatever_the_tolerances(tolerances: tuple[float, float]) -> None:
    case = case_of("chain", 2, 6)
    solution = solve(case, tol=1e-4, tolerances=tolerances)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(optimum(case, np.full(6, 2.0)), rel=1e-4)


def test_the_number_of_threads_changes_no_bit() -> None:
    rng = np.random.default_rng(5)
    H = rng.integers(-2, 3, (2000, 150)) * (rng.random((2000, 150)) < 0.9)
    assert np.count_nonzero(H) > 200_000  # smaller ones are solved on one thread
    master = H.astype(float), rng.integers(0, 90, 2000).astype(np.int32), np.ones(2000), np.full(90, 3.0)
    one = extragradient(master, most=200)
    for threads in (2, 3):
        for a, b in zip(one[1:], extragradient(master, most=200, threads=threads)[1:], strict=True):
            assert (a == b).all()


def test_learning_is_the_same_on_two_threads() -> None:
    case = case_of("chain", 2, 6)
    one, two = (
        LP(free_sign=True).solve(Objective(case.problem, Hinge(), C=3.0, tol=1e-3, n_jobs=threads))
        for threads in (1, 2)
    )
    assert (one.w == two.w).all()


# ---- refusals and continued runs -------------------------------------------------------------------------------------


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    case = case_of("chain", 0)
    with pytest.raises(MargraveError, match=r"highspy.*margrave\[lp\].*extragradient"):
        solve(case, solver="simplex")
    assert solve(case, tol=1e-2).converged


def test_a_master_that_is_not_finished_is_reported_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    import highspy

    monkeypatch.setattr(
        highspy.Highs, "getModelStatus", lambda self: highspy.HighsModelStatus.kIterationLimit, raising=True
    )
    with pytest.raises(MargraveError, match=r"could not finish.*[Ii]teration limit.*solver='extragradient'"):
        solve(case_of("chain", 0), solver="simplex")


@pytest.mark.parametrize("scale", [1e16, 1e-13])
@pytest.mark.parametrize("solver", ["simplex", "pdlp"])
def test_features_that_highs_would_leave_out_are_refused(solver: str, scale: float) -> None:
    problem = bind(
        Multiclass(),
        scale * np.eye(3),
        np.arange(3, dtype=np.int32),
        feature_map=FeatureTable("all"),
        classes=[0, 1, 2],
    )
    with pytest.raises(MargraveError, match=rf"HiGHS \({solver}\) does not take features .*scale them"):
        LP(solver=solver).solve(Objective(problem, Hinge()))


def test_the_final_program_is_solved_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import highspy

    made = []
    real = highspy.Highs
    monkeypatch.setattr(highspy, "Highs", lambda: made.append(real()) or made[-1])  # type: ignore[func-returns-value]
    solution = solve(case_of("chain", 0), solver="simplex")
    assert solution.converged
    assert len(made) == 2
    values = [model.getInfo().objective_function_value for model in made]
    assert values == pytest.approx([solution.certificate.primal] * 2)


def test_a_hot_start_that_ends_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from margrave.solvers import lp_master

    values = iter([5.0, 7.0, 7.0, 7.0])
    cold: list[bool] = []
    real = lp_master.Highs.verify

    def verify(self: Any, program: Any) -> bool:
        cold.append(real(self, program))
        return cold[-1]

    monkeypatch.setattr(lp_master.Highs, "_value", lambda self, program: next(values))
    monkeypatch.setattr(lp_master.Highs, "verify", verify)
    assert solve(case_of("chain", 0), solver="simplex").converged
    assert cold[:2] == [False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "barrier"}, "solver"),
        ({"program": "some"}, "program"),
        ({"margin": "two"}, "margin"),
        ({"step": "long"}, "step"),
        ({"free_sign": "yes"}, "free_sign"),
        ({"metric": 3}, "metric"),
        ({"tolerances": (1e-3,)}, "tolerances"),
        ({"tolerances": 1e-3}, "tolerances"),
        ({"tolerances": (1e-3, -1.0)}, "tolerance"),
        ({"rounds": 0}, "rounds"),
        ({"separation": "out"}, "separation"),
        ({"restarts": 1}, "restarts"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MargraveError, match=message) as refused:
        LP(**options)
    assert "\n" not in str(refused.value)


def test_a_smooth_loss_is_refused() -> None:
    case = case_of("chain", 0)
    with pytest.raises(MargraveError, match="loss='hinge'"):
        LP().solve(Objective(case.problem, Log()))


def test_a_metric_that_is_no_number_is_refused_with_its_example() -> None:
    case = next(
        case
        for case in (case_of("candidates", seed) for seed in range(20))
        if any(len(case.good(i)) > 1 for i in range(4))
    )
    for value in (float("nan"), None, "near"):
        with pytest.raises(MargraveError, match=r"example \d+: the metric must be a number"):
            solve(case, program="closest", metric=lambda good, wrong, value=value: value)
    with pytest.raises(ZeroDivisionError):
        solve(case, program="closest", metric=lambda good, wrong: 1 / 0)


def test_a_path_goes_on_from_the_constraints_that_are_known() -> None:
    case = case_of("chain", 1, 6)
    learner = LP(solver="simplex", free_sign=True)
    first = learner.solve(Objective(case.problem, Hinge(), C=0.5, tol=1e-7))
    objective = Objective(case.problem, Hinge(), C=4.0, tol=1e-7)
    second = learner.solve(objective, learner.continue_with(first.state, objective))
    assert second.certificate.primal == pytest.approx(optimum(case, np.full(6, 4.0), free_sign=True), rel=1e-6)


def test_constraints_leave_when_they_have_had_no_use() -> None:
    case = case_of("chain", 1, 6)
    kept = {rounds: solve(case, solver="simplex", rounds=rounds).state.n_constraints for rounds in (1, 1000)}
    assert kept[1] < kept[1000]


@pytest.mark.parametrize("at", [2, 4])
def test_ctrl_c_leaves_the_last_whole_round(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of("chain", 1, 6)

    def run(kept: Checkpoint | None = None) -> Solution:
        return LP().solve(Objective(case.problem, Hinge(), C=3.0, tol=0.0, max_iter=6, checkpoint=kept))

    whole, calls, native = run(), 0, _core.extragradient

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        found = native(*arguments)
        if calls == at:
            raise KeyboardInterrupt
        return found

    path = tmp_path / "checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(_core, "extragradient", interrupted)
        solution = run(Checkpoint(path, every=0))
    assert solution.reason == "interrupted"
    assert len(solution.history) == at - 1
    again = run(Checkpoint(path, every=0))
    assert (again.w == whole.w).all()
    assert [record.dual for record in again.history] == [record.dual for record in whole.history]


class Both(_core.Problem):
    """Two good outputs of two parts each, which cannot be listed: every pair of four parts is an output."""

    PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))

    def __init__(self, matrix: Array) -> None:
        super().__init__(1, matrix.shape[1])
        self.matrix = matrix

    @property
    def offers(self) -> tuple[str, ...]:
        return ("argmax", "kbest")

    has_gold = True

    def parts(self, i: int) -> int:
        return 4

    def score(self, i: int, w: Array) -> Array:
        return self.matrix @ w

    def row(self, i: int, v: Array) -> tuple[NDArray[np.int64], Array]:
        values = self.matrix.T @ v
        return np.arange(len(values)), values

    def radius(self, i: int) -> float:
        return 100.0

    def gold_count(self, i: int) -> int:
        return 2

    def gold(self, i: int, k: int = 0) -> NDArray[np.int32]:
        return np.array(self.PAIRS[k], dtype=np.int32)

    def cost(self, i: int) -> tuple[Array, float]:
        return np.array([-1.0, 0.0, 0.0, 0.0]), 1.0

    def kbest(self, i: int, theta: Array, k: int) -> list[tuple[float, NDArray[np.int32]]]:
        ranked = sorted(self.PAIRS, key=lambda y: -theta[list(y)].sum())[:k]
        return [(float(theta[list(y)].sum()), np.array(y, dtype=np.int32)) for y in ranked]

    def argmax(self, i: int, theta: Array) -> tuple[float, NDArray[np.int32]]:
        return self.kbest(i, theta, 1)[0]


def test_closest_good_outputs_that_cannot_be_listed_are_not_exact() -> None:
    problem = Both(np.random.default_rng(0).normal(size=(4, 3)))
    objective = Objective(problem, Hinge(), C=2.0, tol=1e-6)
    approximate = LP(solver="simplex", program="closest", free_sign=True).solve(objective)
    assert not approximate.state.exact
    # Lines 5 and 6 of Algorithm 1: the best of the wrong outputs, and the good one closest to it.
    good, wrong = problem.PAIRS[:2], problem.PAIRS[2:]
    features = {y: problem.matrix[list(y)].sum(axis=0) for y in problem.PAIRS}

    def squares(a: Any, b: Any) -> float:
        return float(np.sum((features[tuple(a)] - features[tuple(b)]) ** 2))

    chosen = set()
    for metric in (None, lambda a, b: squares(sorted(a), sorted(b)), lambda a, b: -squares(sorted(a), sorted(b))):
        of_parts = None if metric is None else lambda i, a, b, metric=metric: metric(a.tolist(), b.tolist())
        found = LPConstraints(problem, _core.LossFamily(inf, 1.0, True), True, of_parts, 1)
        for seed in range(20):
            w = np.random.default_rng(seed).normal(size=problem.dim)
            best = max(wrong, key=lambda y: features[y] @ w)
            closest = min(good, key=lambda y: (metric or squares)(y, best))
            slack, owner, _, _, margin, _, _, value = found.round(w, without_rows(found), np.array([True]), 1)
            row = features[closest] - features[best]
            assert_allclose(slack, max(0.0, 1 - row @ w))
            if not len(owner):  # The best wrong output does not violate its constraint.
                continue
            assert_allclose(value, row, atol=1e-12)
            assert margin.tolist() == [1.0]
            chosen.add((metric, closest))
    assert len(chosen) == 6
    assert "approximate" in approximate.reason
    exact = LP(solver="simplex", program="all", free_sign=True).solve(Objective(problem, Hinge(), C=2.0, tol=1e-6))
    assert exact.state.exact
    assert exact.converged


@pytest.mark.parametrize("separation", ["in-out", "master"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_p_counts_the_constraints_that_the_search_missed(seed: int, solver: str, separation: str) -> None:
    """With inference that is not exact, constraints are found that ask for more at weights seen before."""
    random = np.random.default_rng(seed)
    X, Y, calls = random.normal(size=(12, 3)), random.integers(0, 60, 12).tolist(), count()

    def feature(x: Array, y: int) -> Array:
        return np.outer(np.eye(60)[y], x).ravel()

    def kbest(x: Array, w: Array, k: int, y: int | None = None) -> list[int]:
        ranked = np.argsort(-(w.reshape(60, 3) @ x)).tolist()
        return ranked[-k:] if next(calls) % 7 else ranked[:k]

    def argmax(x: Array, w: Array, y: int | None = None) -> int:
        return kbest(x, w, 1, y)[0]

    problem = CustomProblem(
        X, Y, feature, lambda y, other: float(y != other), argmax, kbest=kbest, outputs=32, exact=False
    )
    learner = LP(free_sign=True, solver=solver, separation=separation)
    objective = Objective(problem, Hinge(), C=2.0, tol=1e-4, max_iter=60)
    state = learner.begin(objective)
    for _ in range(40):
        step = learner.one_pass(state)
        assert step.dual is not None and step.primal is not None
        assert step.primal >= step.dual * (1 - 1e-9)
        assert step.gap == step.primal - step.dual
        slack = state.program.rows.slacks(state.program.rows.asked(state.best))  # one site for each example
        assert step.primal >= np.abs(state.best).sum() + 2.0 * slack.sum() - 1e-9


def test_rows_may_name_a_feature_twice() -> None:
    class Twice(Both):
        def row(self, i: int, v: Array) -> tuple[NDArray[np.int64], Array]:
            index, value = super().row(i, v)
            return np.concatenate([index, index[::-1]]), np.concatenate([value - 1, np.ones(len(index))])

    matrix = np.random.default_rng(0).normal(size=(4, 3))
    once, twice = (
        LP(solver="simplex", free_sign=True).solve(Objective(problem, Hinge(), C=2.0)).w
        for problem in (Both(matrix), Twice(matrix))
    )
    assert_allclose(twice, once)
