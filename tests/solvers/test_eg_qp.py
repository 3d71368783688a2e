"""EG for quadratic programs: it reaches the optimum of an independent solver, within the bounds of 000 and 002."""

from importlib import import_module
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from margrave.errors import MargraveError
from margrave.solvers.eg_qp import QPSolution, eg_qp

module = import_module("margrave.solvers.eg_qp")  # the function has the same name
RATES = ["safe", "norm", "adaptive"]
FORMATS = ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"]
Vector = NDArray[np.float64]
Program = tuple[Vector, Vector, list[int]]

every_rate = pytest.mark.parametrize("rate", RATES)
seeds = st.integers(0, 2**32 - 1)


def program(seed: int, *, most_blocks: int = 4, largest: int = 4) -> Program:
    """A random QP: A of any rank, b of any size against it, blocks of any length."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, rng.integers(1, most_blocks + 1)).tolist()
    m = sum(sizes)
    features = rng.standard_normal((m, rng.integers(1, m + 1)))
    return features @ features.T, 3 * rng.random() * rng.standard_normal(m), sizes


EXAMPLE = program(13)  # blocks of 4, 4, 4 and 1 variables, A of rank 11


def Q(A: Any, b: Vector, alpha: Vector) -> float:  # noqa: N802
    return float(b @ alpha + 0.5 * alpha @ (A @ alpha))


def blocks_of(v: Vector, sizes: list[int]) -> list[Vector]:
    return np.split(v, np.cumsum(sizes)[:-1])


def gap_at(A: Any, b: Vector, sizes: list[int], alpha: Vector) -> float:
    """How much a linear model of Q can fall: no point is better than alpha by more."""
    grad = b + A @ alpha
    pairs = zip(blocks_of(grad, sizes), blocks_of(alpha, sizes), strict=True)
    return float(sum(g @ a - g.min() for g, a in pairs))


def optimum(A: Vector, b: Vector, sizes: list[int]) -> Vector:
    """The minimum by sequential least squares, refused unless it is one."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    member = (owner == np.arange(len(sizes))[:, None]).astype(float)
    found = minimize(
        lambda a: Q(A, b, a),
        1 / np.array(sizes, dtype=float)[owner],
        jac=lambda a: b + A @ a,
        bounds=[(0, 1)] * len(b),
        constraints={"type": "eq", "fun": lambda a: member @ a - 1, "jac": lambda a: member},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    u = found.x.clip(0)
    u /= (member @ u)[owner]
    assert gap_at(A, b, sizes, u) <= 1e-6 * max(1, abs(Q(A, b, u)))
    return u


def vertices(sizes: list[int]) -> list[Vector]:
    return [np.concatenate([np.eye(size)[k] for size, k in zip(sizes, ks, strict=True)]) for ks in corners(sizes)]


def corners(sizes: list[int]) -> list[tuple[int, ...]]:
    return list(product(*map(range, sizes)))


def widest(A: Vector, b: Vector, sizes: list[int]) -> float:
    """The largest range of the gradient within a block, by trying every vertex."""
    return max(float(np.ptp(g)) for v in vertices(sizes) for g in blocks_of(b + A @ v, sizes))


def random_point(rng: np.random.Generator, sizes: list[int]) -> Vector:
    return np.concatenate([rng.dirichlet(np.ones(size)) for size in sizes])


def assert_distributions(alpha: Vector, sizes: list[int]) -> None:
    assert (alpha >= 0).all()
    assert_allclose([a.sum() for a in blocks_of(alpha, sizes)], 1, rtol=1e-13)


@every_rate
@given(seed=seeds)
@settings(deadline=None, max_examples=25)
def test_the_optimum_is_that_of_an_independent_solver(rate: str, seed: int) -> None:
    A, b, sizes = program(seed)
    u = optimum(A, b, sizes)
    found = eg_qp(A, b, sizes, rate=rate, max_iter=3000, tol=1e-7)
    scale = max(1, abs(Q(A, b, u)))
    assert_distributions(found.alpha, sizes)
    assert Q(A, b, found.alpha) - Q(A, b, u) <= found.gap + 1e-9 * scale
    assert Q(A, b, found.alpha) - Q(A, b, u) >= -1e-6 * scale  # what the other solver may have left
    if rate == "adaptive":
        assert Q(A, b, found.alpha) - Q(A, b, u) <= 1e-3 * scale
    if found.converged:
        assert Q(A, b, found.alpha) - Q(A, b, u) <= 1.01e-7 * scale


@every_rate
def test_a_strictly_convex_program_is_solved_to_the_last_digits(rate: str) -> None:
    rng = np.random.default_rng(5)
    features = rng.standard_normal((9, 30))
    A, b, sizes = features @ features.T / 30, rng.standard_normal(9), [2, 3, 4]
    found = eg_qp(A, b, sizes, rate=rate, tol=1e-10, max_iter=20000)
    assert found.converged
    assert found.gap <= 1e-10 * max(1, abs(found.objective[-1]))
    assert_allclose(found.alpha, optimum(A, b, sizes), atol=1e-5)


@every_rate
@given(seed=seeds, steps=st.integers(0, 30))
@settings(deadline=None, max_examples=25)
def test_the_objective_and_the_gap_are_what_they_say(rate: str, seed: int, steps: int) -> None:
    A, b, sizes = program(seed)
    found = eg_qp(A, b, sizes, rate=rate, max_iter=steps, tol=0)
    start = np.concatenate([np.full(size, 1 / size) for size in sizes])
    assert len(found.objective) == steps + 1 or (found.gap == 0 and found.converged)
    assert_allclose(found.objective[0], Q(A, b, start), rtol=1e-12, atol=1e-12)
    assert_allclose(found.objective[-1], Q(A, b, found.alpha), rtol=1e-12, atol=1e-12)
    assert_allclose(found.gap, gap_at(A, b, sizes, found.alpha), rtol=1e-9, atol=1e-9)


@every_rate
def test_the_steps_are_those_of_the_algorithm(rate: str) -> None:
    A, b, sizes = EXAMPLE
    start = random_point(np.random.default_rng(1), sizes)
    before = eg_qp(A, b, sizes, rate=rate, start=start, max_iter=2, tol=0).alpha
    found = eg_qp(A, b, sizes, rate=rate, start=start, max_iter=3, tol=0)
    theta = np.log(before) - found.rate * (b + A @ before)
    assert_allclose(found.alpha, np.concatenate([softmax(t) for t in blocks_of(theta, sizes)]), rtol=1e-9)


def test_the_rates_are_those_of_the_papers() -> None:
    A, b, sizes = EXAMPLE
    scale = widest(A, b, sizes) + np.linalg.eigvalsh(A)[-1]
    assert_allclose(eg_qp(A, b, sizes, rate="safe", max_iter=0).rate, 0.4 / scale, rtol=2e-3)
    assert_allclose(eg_qp(A, b, sizes, rate="norm", max_iter=0).rate, 1 / (len(sizes) * np.abs(A).max()))
    assert eg_qp(A, b, sizes, rate=0.125, max_iter=0).rate == 0.125


@given(seed=seeds)
@settings(deadline=None, max_examples=40)
def test_theorem_2_holds_after_every_step(seed: int) -> None:
    A, b, sizes = program(seed)
    rng = np.random.default_rng(seed)
    start = random_point(rng, sizes).clip(1e-12)
    start /= np.repeat([a.sum() for a in blocks_of(start, sizes)], sizes)
    found = eg_qp(A, b, sizes, rate="safe", start=start, max_iter=200, tol=0)
    T = np.arange(1, len(found.objective))
    scale = widest(A, b, sizes) + np.linalg.eigvalsh(A)[-1]
    for u in (optimum(A, b, sizes), random_point(rng, sizes), vertices(sizes)[0]):
        bound = found.bound(u)
        divergence = sum(x * np.log(x / y) for x, y in zip(u, start, strict=True) if x > 0)
        descent = found.objective[0] - found.objective[1:]
        assert_allclose(bound, (2.5 * scale * divergence + 1.5 * descent) / T, rtol=2e-3, atol=1e-9)
        assert (found.objective[1:] - Q(A, b, u) <= bound + 1e-12 * scale).all()


@given(seed=seeds, share=st.sampled_from([1.0, 0.3]))
@settings(deadline=None, max_examples=40)
def test_the_bound_of_002_holds_after_every_step(seed: int, share: float) -> None:
    A, b, sizes = program(seed)
    norm = len(sizes) * np.abs(A).max()
    found = eg_qp(A, b, sizes, rate="norm" if share == 1 else share / norm, max_iter=200, tol=0)
    T = np.arange(1, len(found.objective))
    start = 1 / np.repeat(sizes, sizes)
    for u in (optimum(A, b, sizes), vertices(sizes)[-1]):
        divergence = sum(x * np.log(x / y) for x, y in zip(u, start, strict=True) if x > 0)
        bound = found.bound(u)
        assert_allclose(bound, divergence * norm / share / T, rtol=1e-9, atol=1e-12)
        assert (found.objective[1:] - Q(A, b, u) <= bound + 1e-12 * (norm + np.abs(b).max())).all()


@pytest.mark.parametrize("rate", ["safe", "norm", "adaptive", "0.566 / (B + lambda)"])
@given(seed=seeds)
@settings(deadline=None, max_examples=40)
def test_the_objective_never_rises(rate: str, seed: int) -> None:
    A, b, sizes = program(seed, largest=5)
    scale = widest(A, b, sizes) + np.linalg.eigvalsh(A)[-1]
    eta = rate if rate in RATES else 0.566 / scale
    objective = eg_qp(A, b, sizes, rate=eta, max_iter=200, tol=0).objective
    noise = 1e-14 * (len(sizes) * np.abs(A).max() + np.abs(b).sum())
    assert all(after <= before + noise for before, after in pairwise(objective))


def test_a_rate_that_is_too_large_makes_the_objective_rise() -> None:
    objective = eg_qp(np.diag([2.0, 1.0]), np.zeros(2), [2], rate=50.0, max_iter=5).objective
    assert objective[2] > objective[1]


@given(seed=seeds)
@settings(deadline=None, max_examples=40)
def test_the_range_of_the_gradient_is_exact_where_that_is_cheap_and_never_too_small(seed: int) -> None:
    A, b, sizes = program(seed)
    exact, paper = widest(A, b, sizes), 2 * (len(sizes) * np.abs(A).max() + np.abs(b).max())
    holes = np.where(np.abs(A) > 1, A, 0)  # the largest of a sparse row and block may be a zero that is not stored
    for matrix, truth in ((A, exact), (holes, widest(holes, b, sizes))):
        for form in (matrix, sp.csr_array(matrix)):
            qp = module._QP(form, b, module._Blocks(np.array(sizes)))
            assert_allclose(module._range(qp), truth, rtol=1e-12, atol=1e-12)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "_CHEAP", 0)
                rough = module._range(qp)
            assert truth - 1e-12 <= rough <= paper + 1e-12


def spectrum(seed: int, values: Vector) -> Vector:
    turn, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    A = turn * values @ turn.T
    return (A + A.T) / 2


@pytest.mark.parametrize(
    "A",
    [
        np.zeros((4, 4)),
        np.array([[3.0]]),
        np.eye(30),
        np.ones((30, 30)),
        np.diag(np.arange(50.0)),
        np.kron(np.eye(20), np.ones((2, 2))),
        spectrum(0, np.linspace(0, 1, 60)),
        spectrum(1, 1 - 10.0 ** -np.arange(12)),
        spectrum(2, np.repeat([0.0, 0.9, 1.0], [1, 97, 2])),
        spectrum(3, 10.0 ** -np.arange(40.0)) * 1e90,
    ],
)
def test_the_largest_eigenvalue_is_not_underestimated(A: Vector) -> None:
    exact = np.linalg.eigvalsh(A)[-1]
    for form in (A, sp.csr_array(A)):
        assert exact <= module._eigenvalue(form) * (1 + 1e-14) <= exact * 1.0011


def test_an_eigenvalue_that_is_not_found_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **kwargs: Any) -> None:
        raise scipy.sparse.linalg.ArpackError(-9999)

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", fails)
    A = EXAMPLE[0]
    assert module._eigenvalue(A) == min(np.abs(A).sum(axis=1).max(), np.trace(A)) >= np.linalg.eigvalsh(A)[-1]


@every_rate
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_is_the_same_as_dense(rate: str, form: str, kind: str) -> None:
    A, b, sizes = EXAMPLE
    A = np.where(np.kron(np.eye(len(b) // 2 + 1), np.ones((2, 2)))[: len(b), : len(b)] > 0, A, 0)
    sparse = getattr(sp, f"{form}_{kind}")(A)
    one, other = (eg_qp(X, b, sizes, rate=rate, max_iter=50, tol=1e-9) for X in (A, sparse))
    assert_allclose(one.objective, other.objective, rtol=1e-10)
    assert_allclose(one.alpha, other.alpha, rtol=1e-7, atol=1e-15)
    assert_allclose(one.rate, other.rate, rtol=1e-10)
    assert_allclose(one.gap, other.gap, rtol=1e-6)


def test_a_sparse_matrix_is_never_made_dense() -> None:
    m = 50_000  # dense, it would take 20 gigabytes
    rng = np.random.default_rng(0)
    A = sp.diags_array(rng.random(m)).tocsr()
    b = rng.standard_normal(m)
    for rate in RATES:
        found = eg_qp(A, b, np.full(m // 5, 5), rate=rate, max_iter=2)
        assert found.objective[-1] < found.objective[0]


def test_entries_stored_twice_are_added_and_the_matrix_is_left_alone() -> None:
    values, columns, rows = np.array([1.0, 0.5, 0.5, 1.0, 1.0]), np.array([1, 0, 0, 1, 1]), np.array([0, 3, 5])
    A = sp.csr_array((values, columns, rows), shape=(2, 2))  # [[1, 1], [0, 2]], unsorted
    A = A.T @ A
    twice = sp.csr_array((np.repeat(A.data, 2) / 2, np.repeat(A.indices, 2), A.indptr * 2), shape=A.shape)
    stored = twice.data.copy()
    one, other = (eg_qp(X, [0.3, 0.1], [2], rate="safe", max_iter=20) for X in (A, twice))
    assert_array_equal(twice.data, stored)
    assert twice.nnz == 2 * A.nnz
    assert_allclose(one.alpha, other.alpha, rtol=1e-12)


@every_rate
def test_a_linear_objective_is_minimized_at_a_vertex(rate: str) -> None:
    b, sizes = np.array([3.0, 1.0, 2.0, -1.0, -1.0, 5.0]), [3, 3]
    for A in (np.zeros((6, 6)), sp.csr_array((6, 6))):
        found = eg_qp(A, b, sizes, rate=rate)
        assert found.converged
        assert_allclose(found.objective[-1], 0, atol=1e-5)
        assert_allclose(found.alpha, [0, 1, 0, 0.5, 0.5, 0], atol=1e-5)
    assert_array_equal(eg_qp(A, b, sizes, rate="norm").objective[1:], [0.0])
    assert_array_equal(eg_qp(A, b, sizes, rate="norm").bound([0, 1, 0, 0, 1, 0]), [0.0])


@every_rate
def test_a_constant_objective_is_at_its_minimum(rate: str) -> None:
    found = eg_qp(np.zeros((5, 5)), [7.0, 7.0, -1.0, -1.0, -1.0], [2, 3], rate=rate, tol=0)
    assert found.converged
    assert found.gap == 0
    assert_allclose(found.objective, [6.0])


@every_rate
def test_blocks_of_one_variable_have_no_choice(rate: str) -> None:
    A, b, _ = EXAMPLE
    found = eg_qp(A, b, [1] * len(b), rate=rate, tol=0)
    assert_array_equal(found.alpha, np.ones(len(b)))
    assert found.converged
    assert found.gap == 0
    assert len(found.objective) == 1


def test_two_variables_that_are_the_same_move_like_one_with_their_weight() -> None:
    features = np.random.default_rng(2).standard_normal((3, 5))
    A, b, start = features @ features.T, np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.2, 0.4])
    twice = np.array([0, 0, 1, 2, 2])
    for rate in (0.02, 0.2):
        one = eg_qp(A, b, [3], rate=rate, start=start, max_iter=100, tol=0)
        other = eg_qp(A[np.ix_(twice, twice)], b[twice], [5], rate=rate, max_iter=100, tol=0)
        assert_allclose(other.alpha[[0, 3]], other.alpha[[1, 4]], rtol=1e-9)
        assert_allclose(np.bincount(twice, other.alpha), one.alpha, rtol=1e-9)
        assert_allclose(other.objective, one.objective, rtol=1e-12)
        assert_allclose(other.gap, one.gap, rtol=1e-6)


@every_rate
@pytest.mark.parametrize("power", [-900, -300, 300, 600])
def test_the_steps_do_not_depend_on_the_unit(rate: str, power: int) -> None:
    A, b, sizes = EXAMPLE
    unit = 2.0**power
    one = eg_qp(A, b, sizes, rate=rate, max_iter=100, tol=0)
    other = eg_qp(unit * A, unit * b, sizes, rate=rate, max_iter=100, tol=0)
    assert_array_equal(one.alpha, other.alpha)
    assert_array_equal(unit * one.objective, other.objective)
    assert unit * one.gap == other.gap


@every_rate
def test_the_smallest_numbers_do_no_harm(rate: str) -> None:
    A, b, sizes = EXAMPLE
    found = eg_qp(A * 1e-310, b * 1e-310, sizes, rate=rate, max_iter=100, tol=0)
    assert_distributions(found.alpha, sizes)
    assert found.objective[-1] <= found.objective[0]


@every_rate
def test_a_number_added_to_b_throughout_a_block_changes_no_step(rate: str) -> None:
    A, b, sizes = EXAMPLE
    lifted = b + np.repeat(100.0 * np.arange(len(sizes)), sizes)
    one, other = (eg_qp(A, x, sizes, rate=rate, max_iter=40, tol=0) for x in (b, lifted))
    assert_allclose(one.rate, other.rate, rtol=1e-9)
    assert_allclose(one.alpha, other.alpha, rtol=1e-6)


def test_a_variable_too_small_for_a_number_can_grow_again() -> None:
    A, b = np.diag([2.0, 1.0]), np.zeros(2)
    assert_array_equal(eg_qp(A, b, [2], rate=5000.0, max_iter=1).alpha, [0.0, 1.0])  # e^-2500 underflows to zero
    assert_array_equal(eg_qp(A, b, [2], rate=5000.0, max_iter=2).alpha, [1.0, 0.0])
    after = [eg_qp(A, [0.6, 0.0], [2], rate=1000.0, max_iter=steps).alpha[0] for steps in (1, 2)]
    assert after[0] == 0.0  # e^-1100
    assert_allclose(np.log(after[1]), -700)
    found = eg_qp(A, b, [2], start=[1.0, 1e-300])
    assert found.converged
    assert_allclose(found.alpha, [1 / 3, 2 / 3], atol=1e-3)


@pytest.mark.parametrize("rate", [1e308, 1e-308])
def test_a_rate_of_any_size_leaves_distributions(rate: float) -> None:
    A, b, sizes = EXAMPLE
    found = eg_qp(1e100 * A, 1e100 * b, sizes, rate=rate, max_iter=20)
    assert_distributions(found.alpha, sizes)
    assert np.isfinite(found.objective).all()


def test_the_search_goes_on_from_where_it_is_told() -> None:
    A, b, sizes = EXAMPLE
    whole = eg_qp(A, b, sizes, rate="norm", max_iter=20, tol=0)
    half = eg_qp(A, b, sizes, rate="norm", max_iter=10, tol=0)
    rest = eg_qp(A, b, sizes, rate="norm", start=half.alpha, max_iter=10, tol=0)
    assert_allclose(whole.alpha, rest.alpha, rtol=1e-9)
    assert_allclose(whole.objective[10:], rest.objective, rtol=1e-12)


def test_noise_in_a_gram_matrix_is_no_negative_eigenvalue() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((40, 3))
    centered = features @ features.T
    centered -= centered.mean(axis=0)
    centered -= centered.mean(axis=1)[:, None]
    assert np.linalg.eigvalsh(centered)[0] < 0
    for rate in RATES:
        assert isinstance(eg_qp(centered, np.zeros(40), [20, 20], rate=rate), QPSolution)


HOLLOW = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])  # no two of its variables give it away
SQUARE = np.eye(3)
NAN, INFINITE = np.diag([1.0, np.nan, 1.0]), np.diag([1.0, np.inf, 1.0])

MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"A": SQUARE + np.eye(3, k=1)}, "A must be symmetric."),
    ({"A": -SQUARE}, "A must be positive semi-definite, and it has a negative eigenvalue."),
    ({"A": 1 - SQUARE}, "A must be positive semi-definite, and it has a negative eigenvalue."),
    ({"A": HOLLOW, "b": [0, 0.1, 0]}, "A must be positive semi-definite, and it has a negative eigenvalue."),
    ({"A": NAN}, "A must contain finite numbers up to 1e+200, and it contains nan."),
    ({"A": INFINITE}, "A must contain finite numbers up to 1e+200, and it contains inf."),
    ({"A": -1e201 * SQUARE}, "A must contain finite numbers up to 1e+200, and it contains -1e+201."),
    ({"A": SQUARE * 1j}, "A must hold real numbers."),
    ({"A": SQUARE[:2]}, "A must be a matrix of shape (3, 3), as b has 3 numbers, and its shape is (2, 3)."),
]
DENSE_MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"A": [["1", "0", "0"]] * 3}, "A must hold real numbers."),
    ({"A": [[1, 0], [0]]}, "A must have the same number of values in every row."),
    ({"A": 1.0}, "A must be a matrix of shape (3, 3), as b has 3 numbers, and its shape is ()."),
    ({"b": [0, np.nan, 0]}, "b must contain finite numbers up to 1e+200, and it contains nan."),
    ({"b": [[0, 0, 0]]}, "b must be a list of numbers, and it has 2 dimensions."),
    ({"b": ["a", "b", "c"]}, "b must hold real numbers."),
    ({"b": [], "sizes": []}, "b must not be empty."),
    ({"sizes": [2, 2]}, "the sizes must sum to the length of b, which is 3, and they sum to 4."),
    ({"sizes": []}, "the sizes must sum to the length of b, which is 3, and they sum to 0."),
    ({"sizes": [3, 0]}, "a size must be at least 1, and it is 0."),
    ({"sizes": [1.5, 1.5]}, "a size must be a whole number, and it is 1.5."),
    ({"sizes": 3}, "sizes must be a list of whole numbers, and it is 3."),
    ({"start": [0.5, 0.5, 0]}, "start must be positive everywhere: a variable that is zero would stay zero."),
    ({"start": [1.5, -0.5, 0]}, "start must not be negative anywhere, and it contains -0.5."),
    ({"start": [0.5, 0.2, 0.2]}, "start must sum to 1 in every block, and block 0 sums to 0.9."),
    ({"start": [0.5, 0.5]}, "start must have 3 numbers, and it has 2."),
    ({"start": [0.5, np.nan, 0.5]}, "start must contain finite numbers up to 1e+200, and it contains nan."),
    ({"rate": "save"}, "unknown rate 'save'; did you mean 'safe'? (valid: safe, norm, adaptive)"),
    ({"rate": 0}, "rate must be positive and finite, and it is 0."),
    ({"rate": np.inf}, "rate must be positive and finite, and it is inf."),
    ({"rate": None}, "rate must be a number, and it is None."),
    ({"max_iter": -1}, "max_iter must be at least 0, and it is -1."),
    ({"tol": -1e-3}, "tol must be finite and not negative, and it is -0.001."),
]


def refused(changes: dict[str, Any]) -> str:
    settings = {"A": SQUARE, "b": [0, 0, 0], "sizes": [3]} | changes
    with pytest.raises(MargraveError) as error:
        eg_qp(settings.pop("A"), settings.pop("b"), settings.pop("sizes"), **settings)
    return str(error.value)


@pytest.mark.parametrize(("changes", "message"), MISTAKES + DENSE_MISTAKES)
def test_a_mistake_is_named(changes: dict[str, Any], message: str) -> None:
    assert refused(changes) == message


@pytest.mark.parametrize(("changes", "message"), MISTAKES)
def test_a_mistake_in_a_sparse_matrix_is_named(changes: dict[str, Any], message: str) -> None:
    assert refused(changes | {"A": sp.coo_array(changes["A"])}) == message


def test_a_bound_that_is_not_known_is_not_made_up() -> None:
    A, b, sizes = EXAMPLE
    found = {rate: eg_qp(A, b, sizes, rate=rate, max_iter=3, tol=0) for rate in ("adaptive", 1e6)}
    for solution in found.values():
        with pytest.raises(MargraveError, match=r"^no bound is known for this rate: use rate='safe' or rate='norm'\.$"):
            solution.bound(solution.alpha)


@pytest.mark.parametrize("rate", ["safe", "norm"])
def test_a_bound_is_for_points_of_the_program(rate: str) -> None:
    found = eg_qp(SQUARE, [0.1, 0, 0], [3], rate=rate, max_iter=3)
    assert found.bound([0, 1, 0]).shape == (3,)
    with pytest.raises(MargraveError, match=r"^u must sum to 1 in every block, and block 0 sums to 2\.$"):
        found.bound([1, 1, 0])
    with pytest.raises(MargraveError, match=r"^u must have 3 numbers, and it has 2\.$"):
        found.bound([1, 0])
