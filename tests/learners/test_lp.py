"""LP-Struct (004): column generation against the full linear program, its certificate, and its solvers."""

import sys
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from margrave import MargraveError, Reranker, _core
from margrave.features import AttributeTable, SparseFeatures
from margrave.learners import LP, Checkpoint, Solution, Task
from margrave.learners.lp import LPConstraints
from margrave.losses import Hinge, Log, LossFamily
from margrave.solvers.lp_master import Constraints
from margrave.structures import CandidateLists, Multiclass
from tests.references.problems import bind
from tests.registry import KINDS, Case

Array = NDArray[np.float64]

pytest.importorskip("highspy", reason="the extra margrave[lp] is not installed")

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
    return LP(**options).solve(Task(case.problem, Hinge(), C=C, tol=tol, n_threads=1))


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
        assert solution.kept.primal == pytest.approx(expected, rel=TOL[solver], abs=1e-9)
        assert primal(case, solution.w, np.full(len(case), C)) == pytest.approx(solution.kept.primal, rel=1e-9)
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
            assert solution.kept.primal == pytest.approx(expected, rel=TOL[solver], abs=1e-9)
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
        assert solve(case, solver="simplex", program="closest", metric=numbers).kept.primal == pytest.approx(expected)
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
        assert solution.kept.primal == pytest.approx(expected, rel=max(TOL[solver], 1e-6), abs=1e-9)


def test_sample_weights_are_factors() -> None:
    case = case_of("chain", 3)
    weight = np.array([0.0, 0.5, 1.0, 3.0])
    task = Task(case.problem, Hinge(), C=2.0, tol=1e-8, sample_weight=weight)
    solution = LP(solver="simplex", free_sign=True).solve(task)
    assert solution.kept.primal == pytest.approx(optimum(case, 2.0 * weight, free_sign=True), rel=1e-7)


def test_pdlp_is_a_third_solver() -> None:
    case = case_of("multiclass", 1)
    expected = optimum(case, np.full(len(case), 2.0), free_sign=True)
    solution = solve(case, tol=1e-4, solver="pdlp", free_sign=True)
    assert solution.kept.primal == pytest.approx(expected, rel=2e-4)


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
    constraints = Constraints(np.full(4, -1, np.int32))
    sparse = csr_array(H)
    owner = np.array([0, 0, 1, 1, 2, 2])
    constraints.add(
        owner, np.arange(1.0, 7.0), sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data
    )
    constraints.multiplier = multiplier = rng.random(6)
    C = np.array([0.1, 2.0, 3.0])
    for free_sign in (False, True):
        program = Program(constraints, C, free_sign, np.zeros(4), np.zeros(3), np.zeros(4))
        load = H.T @ multiplier
        load = np.abs(load) if free_sign else load
        most = max(1.0, load.max(), (np.bincount(owner, multiplier) / C).max())
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
    w = np.random.default_rng(seed).normal(size=case.problem.dim)
    found = LPConstraints(case.problem, _core.LossFamily(inf, 1.0, not by_cost), closest, None, 2)
    slack, owner, margin, begin, column, value = found.round(w, np.full(len(case), -inf), 2)
    options = {"margin": "cost" if by_cost else "one", "program": "closest" if closest else "all"}
    H, margins, owners = rows(case, **options)
    for i in range(len(case)):
        asked = [m - h @ w for h, m, k in zip(H, margins, owners, strict=True) if k == i]
        assert slack[i] == pytest.approx(max([0.0, *asked]), abs=1e-9)
        at = np.flatnonzero(owner == i)
        assert len(at) == bool(asked)
        for k in at:
            row = np.zeros(case.problem.dim)
            row[column[begin[k] : begin[k + 1]]] = value[begin[k] : begin[k + 1]]
            assert margin[k] - row @ w == pytest.approx(max(asked), abs=1e-9)
    assert found.exact


def test_constraints_that_are_known_are_not_found_again() -> None:
    case = case_of("chain", 0)
    found = LPConstraints(case.problem, _core.LossFamily(inf, 1.0, True), False, None, 1)
    w = np.zeros(case.problem.dim)
    slack, *_ = found.round(w, np.zeros(len(case)), 1)
    _, owner, *_ = found.round(w, slack, 1)
    assert len(owner) == 0


def test_closest_good_outputs_of_another_problem_are_refused() -> None:
    case = case_of("candidates", 0)
    problem = case.problem
    closest = _core.closest_good(problem, None, 1)
    w, known, margin = np.zeros(problem.dim), np.zeros(problem.size), _core.LossFamily(inf, 1.0, True)
    for wrong in (None, closest[:-1], np.full_like(closest, 99), np.full_like(closest, -1)):
        with pytest.raises(MargraveError, match="closest"):
            _core.lp_round(problem, w, margin, True, wrong, None, known, 0.0, 1)
    with pytest.raises(MargraveError, match="closest"):
        _core.lp_round(problem, w, margin, False, closest, None, known, 0.0, 1)
    assert _core.closest_good(case_of("chain", 0).problem, None, 1) is None


@pytest.mark.parametrize("margin", ["one", "cost"])
@pytest.mark.parametrize("scale", [1e-8, 1e5, 1e10, 1e14])
def test_the_extragradient_measures_each_feature_in_its_own_unit(scale: float, margin: str) -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) * [1.0, scale, 1.0] for _ in range(8)]
    costs = [np.array([0.0, *rng.uniform(0.2, 1.0, 3)]) for _ in X]
    problem = bind(CandidateLists(), X, [0] * 8, costs, features=SparseFeatures())
    solution = LP(margin=margin).solve(Task(problem, Hinge(), C=2.0, tol=1e-5))
    assert solution.converged
    assert solution.kept.gap >= 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_margins_are_exact_however_large_the_scores(solver: str) -> None:
    rng = np.random.default_rng(0)
    X = [np.array([[0.0], [1e14 * rng.uniform(1, 9)]]) for _ in range(10)]
    costs = [np.array([0.0, cost]) for cost in rng.uniform(0.1, 1, 10)]
    problem = bind(CandidateLists(), X, [0] * 10, costs, features=SparseFeatures())
    kept = LP(solver=solver, margin="cost").solve(Task(problem, Hinge(), tol=1e-6)).kept
    optimum = sum(cost[1] for cost in costs)  # at w = 0
    assert kept.primal == pytest.approx(optimum, rel=1e-12)
    assert kept.dual <= optimum * (1 + 1e-12)


def test_the_margin_by_cost_is_as_wide_as_the_loss_says() -> None:
    case = case_of("chain", 1)
    narrow, wide = (
        LP(solver="simplex", margin="cost").solve(Task(case.problem, LossFamily(inf, gamma), C=2.0, tol=1e-7)).kept
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
        problem = bind(CandidateLists(), X, y, features=SparseFeatures())
        w = LP(solver=solver, free_sign=True).solve(Task(problem, Hinge(), C=1.0, tol=1e-6)).w
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
    w, xi, multiplier = np.zeros(H.shape[1]), np.zeros(len(C)), np.zeros(len(H))
    result = _core.extragradient(
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int32),
        sparse.data,
        owner,
        margin,
        C,
        given.get("free_sign", False),
        w,
        xi,
        multiplier,
        step,
        goal,
        *given.get("tolerances", (0.0, 0.0)),
        1.0,
        most,
        given.get("threads", 1),
    )
    return result, w, xi, multiplier


@pytest.mark.parametrize("seed", range(5))
def test_the_papers_step_is_equation_13(seed: int) -> None:
    H, owner, margin, C = master = random_master(seed)
    M = np.zeros((len(H), len(C)))
    M[np.arange(len(H)), owner] = 1.0
    alpha = (2 * (H**2).sum() + 2 * (M**2).sum()) ** -0.5
    w, xi, lam = np.zeros(H.shape[1]), np.zeros(len(C)), np.zeros(len(H))
    for _ in range(15):
        w_bar = np.maximum(w - alpha * (1 - H.T @ lam), 0)
        xi_bar = np.maximum(xi - alpha * (C - M.T @ lam), 0)
        lam_bar = np.maximum(lam + alpha * (margin - M @ xi - H @ w), 0)
        w, xi, lam = (
            np.maximum(w - alpha * (1 - H.T @ lam_bar), 0),
            np.maximum(xi - alpha * (C - M.T @ lam_bar), 0),
            np.maximum(lam + alpha * (margin - M @ xi_bar - H @ w_bar), 0),
        )
    _, *found = extragradient(master, step="frobenius", most=15)
    for ours, theirs in zip(found, (w, xi, lam), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


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
    assert solution.kept.primal == pytest.approx(optimum(case, np.full(6, 2.0)), rel=1e-4)


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
        LP(free_sign=True).solve(Task(case.problem, Hinge(), C=3.0, tol=1e-3, n_threads=threads)) for threads in (1, 2)
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
        Multiclass(), scale * np.eye(3), np.arange(3, dtype=np.int32), features=AttributeTable("all"), classes=[0, 1, 2]
    )
    with pytest.raises(MargraveError, match=rf"HiGHS \({solver}\) does not take features .*scale them"):
        LP(solver=solver).solve(Task(problem, Hinge()))


def test_the_final_program_is_solved_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import highspy

    made = []
    real = highspy.Highs
    monkeypatch.setattr(highspy, "Highs", lambda: made.append(real()) or made[-1])
    solution = solve(case_of("chain", 0), solver="simplex")
    assert solution.converged
    assert len(made) == 2
    values = [model.getInfo().objective_function_value for model in made]
    assert values == pytest.approx([solution.kept.primal] * 2)


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
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MargraveError, match=message) as refused:
        LP(**options)
    assert "\n" not in str(refused.value)


def test_a_smooth_loss_is_refused() -> None:
    case = case_of("chain", 0)
    with pytest.raises(MargraveError, match="loss='hinge'"):
        LP().solve(Task(case.problem, Log()))


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
    first = learner.solve(Task(case.problem, Hinge(), C=0.5, tol=1e-7))
    task = Task(case.problem, Hinge(), C=4.0, tol=1e-7)
    second = learner.solve(task, learner.carry(first.state, task))
    assert second.kept.primal == pytest.approx(optimum(case, np.full(6, 4.0), free_sign=True), rel=1e-6)


def test_constraints_leave_when_they_have_had_no_use() -> None:
    case = case_of("chain", 1, 6)
    kept = {rounds: solve(case, solver="simplex", rounds=rounds).state.n_constraints for rounds in (1, 1000)}
    assert kept[1] < kept[1000]


@pytest.mark.parametrize("at", [2, 4])
def test_ctrl_c_leaves_the_last_whole_round(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of("chain", 1, 6)

    def run(kept: Checkpoint | None = None) -> Solution:
        return LP().solve(Task(case.problem, Hinge(), C=3.0, tol=0.0, max_iter=6, checkpoint=kept))

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

    def golds(self, i: int) -> int:
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
    task = Task(problem, Hinge(), C=2.0, tol=1e-6)
    approximate = LP(solver="simplex", program="closest", free_sign=True).solve(task)
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
            slack, _, margin, _, _, value = found.round(w, np.full(problem.size, -inf), 1)
            assert_allclose(value, features[closest] - features[best], atol=1e-12)
            assert_allclose(slack, max(0.0, 1 - value @ w))
            assert margin.tolist() == [1.0]
            chosen.add((metric, closest))
    assert len(chosen) == 6
    assert "approximate" in approximate.reason
    exact = LP(solver="simplex", program="all", free_sign=True).solve(Task(problem, Hinge(), C=2.0, tol=1e-6))
    assert exact.state.exact
    assert exact.converged


def test_rows_may_name_a_feature_twice() -> None:
    class Twice(Both):
        def row(self, i: int, v: Array) -> tuple[NDArray[np.int64], Array]:
            index, value = super().row(i, v)
            return np.concatenate([index, index[::-1]]), np.concatenate([value - 1, np.ones(len(index))])

    matrix = np.random.default_rng(0).normal(size=(4, 3))
    once, twice = (
        LP(solver="simplex", free_sign=True).solve(Task(problem, Hinge(), C=2.0)).w
        for problem in (Both(matrix), Twice(matrix))
    )
    assert_allclose(twice, once)
