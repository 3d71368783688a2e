"""The quadratic program of one block of multipliers: the optimum of an independent solver, from any start."""

from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave import MargraveError, _core
from tests.references.svm import Array, Program


@dataclass(frozen=True)
class BlockQP:
    """max h'a - 1/2 a'Ga - q/2 (sum a)^2 over a >= 0, sum a <= cap, with G = FF'."""

    F: Array
    h: Array
    q: float
    cap: float

    @property
    def gram(self) -> Array:
        return self.F @ self.F.T

    def value(self, a: Array) -> float:
        v = a @ self.F
        return float(self.h @ a - 0.5 * v @ v - 0.5 * self.q * a.sum() ** 2)

    def best(self) -> tuple[Array, float, float]:
        """The best a, and what its value is at least and at most."""
        program = Program(
            np.hstack([self.F, np.full((len(self.h), 1), np.sqrt(self.q))]),
            self.h,
            np.zeros(len(self.h), dtype=np.int64),
            np.array([1.0 if self.cap == inf else self.cap]),
            0 if self.cap == inf else 1,
        )
        found = program.optimum()
        return found.beta, found.dual, found.primal

    def scaled(self, of_gram: float, of_h: float) -> "BlockQP":
        """The same program in other units: a is of_h / of_gram as large, the value of_h^2 / of_gram."""
        return BlockQP(
            np.sqrt(of_gram) * self.F,
            of_h * self.h,
            of_gram * self.q,
            self.cap * of_h / of_gram if self.cap < inf else inf,
        )

    def solve(self, start: Array, tol: float = 0.0) -> tuple[Array, float]:
        a, left = _core.block_qp(self.h, self.gram.ravel(), self.q, self.cap, start, tol)
        return np.asarray(a), float(left)


SHAPES = ("wide", "deficient", "one direction", "duplicates", "whole numbers", "zero rows", "nearly equal")


def random_qp(rng: np.random.Generator, shape: str, limit: str, n: int) -> BlockQP:
    """limit: a cap, a bend of the sum, both, or neither (then h is what some weights can meet)."""
    width = {"wide": n + 3, "deficient": max(1, n // 2), "one direction": 1}.get(shape, max(1, n - 1))
    F = rng.normal(size=(n, width))
    h = rng.normal(size=n) + rng.choice([0.0, 1.0])
    if shape == "duplicates":
        same = rng.integers(0, max(1, n // 2), n)
        F, h = F[same], np.where(rng.random(n) < 0.5, h[same], h)
    elif shape == "whole numbers":
        F, h = rng.integers(-2, 3, size=(n, width)).astype(float), rng.integers(0, 3, size=n).astype(float)
    elif shape == "zero rows":
        F[rng.random(n) < 0.4] = 0.0
    elif shape == "nearly equal":
        F = F[:1] + 1e-6 * F
    if limit == "neither":
        h = F @ rng.normal(size=width) - rng.choice([0.0, 0.5], size=n) * rng.random(n)
    cap = float(10 ** rng.uniform(-2, 2)) if limit in ("cap", "both") else inf
    return BlockQP(F, h, float(10 ** rng.uniform(-2, 1)) if limit in ("bend", "both") else 0.0, cap)


def assert_best(qp: BlockQP, a: Array, low: float, high: float) -> None:
    """Feasible, and as good as any to 1e-8."""
    assert np.isfinite(a).all()
    assert a.min(initial=0.0) >= 0.0
    assert a.sum() <= qp.cap * (1 + 1e-12)
    terms = np.abs(qp.h) @ a + a @ np.abs(qp.gram) @ a  # the scale of rounding errors of the value
    small = 1e-8 * max(abs(low), abs(high)) + 1e-15 * terms
    assert qp.value(a) <= high + small
    assert qp.value(a) >= low - small


LIMITS = ("cap", "bend", "both", "neither")


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_optimum_is_that_of_an_independent_solver(shape: str, limit: str) -> None:
    for seed in range(30):
        rng = np.random.default_rng([seed, 0])
        n = int(rng.integers(1, 25))
        qp = random_qp(rng, shape, limit, n)
        best, low, high = qp.best()
        starts = [np.zeros(n), best, best + rng.random(n), np.where(rng.random(n) < 0.5, best, 0.0)]
        for start in starts:
            assert_best(qp, qp.solve(start)[0], low, high)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("shape", ["wide", "deficient", "duplicates", "whole numbers"])
def test_units_do_not_matter(shape: str, limit: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng([seed, 1])
        n = int(rng.integers(2, 15))
        qp = random_qp(rng, shape, limit, n)
        best, low, high = qp.best()
        for of_gram in (1e-6, 1.0, 1e6):
            for of_h in (1e-6, 1.0, 1e6):
                unit = of_h**2 / of_gram
                other = qp.scaled(of_gram, of_h)
                for start in (np.zeros(n), np.where(rng.random(n) < 0.5, best, 0.0) * of_h / of_gram):
                    assert_best(other, other.solve(start)[0], low * unit, high * unit)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(SHAPES), limit=st.sampled_from(["cap", "bend", "both"]))
def test_a_variable_more_never_costs_anything(seed: int, shape: str, limit: str) -> None:
    """As a constraint is added: the start is the optimum without it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    qp = random_qp(rng, shape, limit, n)
    a, before = np.zeros(0), 0.0
    for k in range(1, n + 1):
        part = BlockQP(qp.F[:k], qp.h[:k], qp.q, qp.cap)
        start = np.append(a, 0.0)
        a, _ = part.solve(start)
        assert part.value(a) >= before - 1e-12 * (abs(before) + 1)
        before = part.value(a)
    _, low, high = qp.best()
    assert_best(qp, a, low, high)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(SHAPES), tol=st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_what_the_slopes_leave_bounds_what_is_left(seed: int, shape: str, tol: float) -> None:
    rng = np.random.default_rng(seed)
    qp = random_qp(rng, shape, "cap", int(rng.integers(1, 20)))
    _, low, _ = qp.best()
    a, left = qp.solve(np.zeros(len(qp.h)), tol)
    assert left <= tol
    assert left * qp.cap >= low - qp.value(a) - 1e-9 * abs(low)


def test_a_start_outside_is_brought_inside() -> None:
    rng = np.random.default_rng(3)
    qp = random_qp(rng, "wide", "cap", 6)
    best, low, high = qp.best()
    for start in (best - 1.0, 100 * qp.cap * rng.random(6), np.full(6, -5.0)):
        assert_best(qp, qp.solve(start)[0], low, high)


def test_the_same_start_gives_the_same_bits() -> None:
    rng = np.random.default_rng(4)
    qp = random_qp(rng, "duplicates", "both", 9)
    start = rng.random(9) * qp.cap / 9
    kept = start.copy()
    a, left = qp.solve(start)
    again, left_again = qp.solve(start)
    assert np.array_equal(a, again) and left == left_again
    assert np.array_equal(start, kept)


def test_one_variable_has_a_closed_form() -> None:
    for g, q, cap, h in ((2.0, 0.0, inf, 3.0), (2.0, 1.0, inf, 3.0), (2.0, 0.0, 0.7, 3.0), (2.0, 0.0, 5.0, -1.0)):
        a, _ = _core.block_qp(np.array([h]), np.array([g]), q, cap, np.zeros(1), 0.0)
        assert a[0] == pytest.approx(min(max(h / (g + q), 0.0), cap), rel=1e-12, abs=0.0)


def test_without_constraints_there_is_nothing_to_do() -> None:
    empty = np.zeros(0)
    a, left = _core.block_qp(empty, empty, 0.0, 1.0, empty, 0.0)
    assert len(a) == 0 and left == 0


def test_bad_input_is_refused() -> None:
    one, nan = np.ones(1), np.full(1, np.nan)
    with pytest.raises(MargraveError, match="gram"):
        _core.block_qp(one, np.ones(2), 0.0, 1.0, one, 0.0)
    with pytest.raises(MargraveError, match="alpha"):
        _core.block_qp(one, one, 0.0, 1.0, np.ones(2), 0.0)
    for q, cap, tol in ((-1.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, 1.0, -1.0), (np.nan, 1.0, 0.0), (0.0, np.nan, 0.0)):
        with pytest.raises(MargraveError, match="must"):
            _core.block_qp(one, one, q, cap, one, tol)
    for h, gram, start in ((nan, one, one), (one, nan, one), (one, one, nan)):
        with pytest.raises(MargraveError, match="finite"):
            _core.block_qp(h, gram, 0.0, 1.0, start, 0.0)
