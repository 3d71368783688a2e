"""The quadratic program of all blocks of multipliers together: the optimum of an independent solver, in few steps."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from margrave import MargraveError, _core
from tests.references.svm import Array, Optimum, Program
from tests.solvers.test_block_qp import SHAPES, random_qp

SLACKS = (0, 1, 2)


@dataclass(frozen=True)
class JointQP:
    """The dual of a program with one slack variable per block."""

    program: Program

    def solve(self, start: Array, tol: float = 0.0) -> tuple[Array, bool, int]:
        """Multipliers, whether they are the best ones, and the number of steps."""
        p = self.program
        none, ones = np.full(len(p.C), inf), np.zeros(len(p.C))
        q, cap = (1 / p.C if p.slack == 2 else ones), (p.C if p.slack == 1 else none)
        a, solved, steps = _core.joint_qp(p.h, (p.g @ p.g.T).ravel(), p.owner, q, cap, start, tol)
        return np.asarray(a), bool(solved), int(steps)

    def first(self, n: int) -> "JointQP":
        """The same with the first constraints only."""
        p = self.program
        return JointQP(replace(p, g=p.g[:n], h=p.h[:n], owner=p.owner[:n]))


def random_joint(rng: np.random.Generator, shape: str, slack: int, n: int, blocks: int) -> JointQP:
    one = random_qp(rng, shape, "neither" if slack == 0 else "cap", n)
    owner: NDArray[np.int64] = rng.integers(0, blocks, n)
    return JointQP(Program(one.F, one.h, owner, 10 ** rng.uniform(-2, 2, blocks), slack))


def assert_best(qp: JointQP, a: Array, there: Optimum) -> None:
    """Feasible, and as good as any to 1e-8."""
    p = qp.program
    assert a.min(initial=0.0) >= 0
    if p.slack == 1:
        assert (np.bincount(p.owner, a, len(p.C)) <= p.C * (1 + 1e-12)).all()
    terms = np.abs(p.h) @ a + a @ np.abs(p.g @ p.g.T) @ a  # the scale of rounding errors of the value
    small = 1e-8 * abs(there.primal) + 1e-15 * terms
    assert there.dual - small <= p.dual(a) <= there.primal + small


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_optimum_is_that_of_an_independent_solver(shape: str, slack: int) -> None:
    """What is not solved is a dual whose optima have no bound, from a start that is one of them."""
    unsolved = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, 5])
        n, blocks = int(rng.integers(1, 40)), int(rng.integers(1, 8))
        qp = random_joint(rng, shape, slack, n, blocks)
        there = qp.program.optimum()
        inside = qp.program.feasible(rng.random(n) * 10 ** rng.uniform(-3, 2))
        for start in (np.zeros(n), there.beta, np.where(rng.random(n) < 0.5, there.beta, 0.0), inside):
            a, solved, _ = qp.solve(start)
            unsolved += not solved
            assert_best(qp, a, there)
    assert unsolved <= (1 if slack == 0 and shape == "one direction" else 0)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(SHAPES), slack=st.sampled_from(SLACKS))
def test_a_constraint_more_never_costs_anything(seed: int, shape: str, slack: int) -> None:
    """The start is the optimum without it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    qp = random_joint(rng, shape, slack, n, 4)
    a, before = np.zeros(0), 0.0
    for k in range(1, n + 1):
        part = qp.first(k)
        a, solved, _ = part.solve(np.append(a, 0.0))
        assert solved
        value = part.program.dual(a)
        assert value >= before - 1e-11 * (abs(before) + 1)
        before = value
    assert_best(qp, a, qp.program.optimum())


@pytest.mark.parametrize("slack", SLACKS)
def test_a_constraint_more_takes_few_steps_however_many_there_are(slack: int) -> None:
    """The optimum before it is nearly the optimum after it: few variables enter or leave."""
    mean = {}
    for n in (50, 100, 200):
        rng = np.random.default_rng(n)
        F = rng.normal(size=(n, 2 * n)) * (rng.random((n, 2 * n)) < 0.1) + 0.3 * rng.normal(size=2 * n) / np.sqrt(n)
        program = Program(F, np.ones(n), rng.integers(0, n // 4, n), np.full(n // 4, 0.02), slack)
        a, counts = np.zeros(0), []
        for k in range(1, n + 1):
            a, solved, steps = JointQP(program).first(k).solve(np.append(a, 0.0))
            assert solved
            counts.append(steps)
        mean[n] = np.mean(counts[n // 2 :])
    assert mean[200] <= 2 * mean[50] + 1
    assert max(mean.values()) <= 10


def test_blocks_without_coupling_are_solved_at_once_as_they_are_alone() -> None:
    rng = np.random.default_rng(2)
    parts = [random_qp(rng, "wide", "cap", 5) for _ in range(3)]
    width = sum(one.F.shape[1] for one in parts)
    g, at = np.zeros((15, width)), 0
    for k, one in enumerate(parts):
        g[5 * k : 5 * k + 5, at : at + one.F.shape[1]] = one.F
        at += one.F.shape[1]
    h, caps = np.concatenate([one.h for one in parts]), np.array([one.cap for one in parts])
    a, solved, _ = JointQP(Program(g, h, np.repeat(np.arange(3), 5), caps, 1)).solve(np.zeros(15))
    assert solved
    for k, one in enumerate(parts):
        alone, _ = one.solve(np.zeros(5))
        assert a[5 * k : 5 * k + 5] == pytest.approx(alone, abs=1e-9 * max(1.0, one.cap))


def test_a_program_without_bound_is_not_solved() -> None:
    """Two opposite constraints of a hard margin."""
    g = np.array([[1.0, 0.0], [-1.0, 0.0]])
    a, solved, _ = JointQP(Program(g, np.ones(2), np.array([0, 1]), np.ones(2), 0)).solve(np.zeros(2))
    assert not solved
    assert np.isfinite(a).all() and (a >= 0).all()


def test_without_constraints_there_is_nothing_to_do() -> None:
    empty = np.zeros(0)
    a, solved, steps = _core.joint_qp(empty, empty, np.zeros(0, np.int64), np.zeros(2), np.ones(2), empty, 0.0)
    assert (len(a), solved, steps) == (0, True, 0)


def test_bad_input_is_refused() -> None:
    one, first = np.ones(1), np.zeros(1, np.int64)
    for changed in ({"gram": np.ones(2)}, {"block": first + 1}, {"alpha": -one}, {"alpha": 2 * one}, {"cap": 0 * one}):
        good = {"h": one, "gram": one, "block": first, "q": 0 * one, "cap": one, "alpha": one, "tol": 0.0}
        with pytest.raises(MargraveError):
            _core.joint_qp(**(good | changed))
