"""Compact distributions of online EG: 16 bits for most numbers, and everything that follows from them is exact."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from margrave import LossFamily, MargraveError, _core
from margrave.learners import EG, LBFGS, Checkpoint, Objective, Solution, eg
from tests.learners.test_stored_parts import chain_of
from tests.registry import KINDS, Kind

SMOOTH = [(1.0, 0.0), (1.0, 1.0), (3.0, 0.5)]


def solved(problem: _core.Problem, *, single: bool = True, **settings: Any) -> Solution:
    loss = LossFamily(*settings.pop("loss", (1.0, 0.0)))
    objective = Objective(problem, loss, **{"C": 0.7, "tol": 0.0, "n_jobs": 1, "max_iter": 5} | settings)
    return EG(single=single).solve(objective)


def decoded(state: Any) -> tuple[Any, Any]:
    """The natural parameters and marginals that the arrays of a state stand for, by the definition of the format."""
    begin = np.concatenate([[0], np.cumsum(state_sizes(state))])
    steps = state.steps.reshape(-1, 2)
    t, mu = state.t.astype(np.float64), state.mu.astype(np.float64)
    for i, (first, last) in enumerate(itertools.pairwise(begin)):
        t[first:last] *= steps[i, 0]
        mu[first:last] = (steps[i, 1] * mu[first:last]) ** 2
        own = slice(state.room[i], state.room[i] + state.heavy[i])
        t[first + state.heavy_part[own]] = state.heavy_t[own]
        mu[first + state.heavy_part[own]] = state.heavy_mu[own]
    return t, mu


def state_sizes(state: Any) -> Any:
    """The stored parts of each example; in these tests, all of them or the weighted ones."""
    problem = state.objective.problem
    if state.stored_parts is None:
        return [problem.parts(i) for i in range(problem.size)]
    return [len(problem.weighted_parts(i)) for i in range(problem.size)]


@pytest.mark.parametrize(("beta", "gamma"), SMOOTH)
@pytest.mark.parametrize("passes", [1, 2, 12])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_weights_entropies_and_costs_are_those_of_the_stored_numbers(
    kind: Kind, passes: int, beta: float, gamma: float
) -> None:
    problem = kind(3, size=8).problem
    if "logsum" not in problem.offers or not problem.exact:
        return
    state = solved(problem, loss=(beta, gamma), max_iter=passes).state
    t, mu = decoded(state)
    begin = _core.part_offsets(problem)
    size = 1 + np.abs(state.w).max()
    assert_allclose(state.w, state.weights_of(mu), atol=1e-10 * size)
    for i in range(problem.size):
        own = slice(begin[i], begin[i + 1])
        log_z, exact = problem.logsum(i, t[own])
        scale = 1 + np.abs(t[own]).max(initial=0.0)
        if state.turn and np.isfinite(state.gap[i]):
            assert abs(state.entropy[i] - (log_z - t[own] @ mu[own])) <= 1e-10 * scale * (1 + exact.sum())
        heavy = state.heavy_part[state.room[i] : state.room[i] + state.heavy[i]]
        bound = state.steps[2 * i + 1] * np.sqrt(exact) + state.steps[2 * i + 1] ** 2
        bound[heavy] = 2.0**-24 * exact[heavy]
        assert (np.abs(mu[own] - exact) <= 1.01 * bound + 1e-12).all()


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("labels", [3, 40])
def test_bounds_hold_and_the_optimum_is_that_of_lbfgs_where_double_precision_finds_it(labels: int, C: float) -> None:
    problem = chain_of(labels, labels=labels, weighted=0.6, observed=True)
    best = LBFGS().solve(Objective(problem, LossFamily(1.0, 0.0), C=C, tol=1e-12, n_jobs=1, max_iter=3000))
    assert best.certificate.primal is not None
    tol = 1e-6 if C < 100 else 1e-5
    found, double = (solved(problem, single=single, C=C, tol=tol, max_iter=400) for single in (True, False))
    assert found.converged == double.converged == (C < 100 or labels == 40)
    duals = [record.dual for record in found.history if record.dual is not None]
    # D between certificates is a running sum, and exact to the square of the rounding of marginals.
    assert max(duals) <= best.certificate.primal * (1 + 1e-8)
    assert found.certificate.primal is not None
    assert found.certificate.dual is not None
    assert found.certificate.primal >= best.certificate.primal * (1 - 1e-10)
    assert found.certificate.dual <= best.certificate.primal * (1 + 1e-12)


@pytest.mark.parametrize("instructions", _core.instruction_sets())
def test_every_instruction_set_stores_the_same_numbers(instructions: str) -> None:
    before = _core.instruction_set()
    reference = solved(chain_of(5, labels=33, weighted=0.7, observed=True), max_iter=30)
    _core.choose_instruction_set(instructions)
    try:
        found = solved(chain_of(5, labels=33, weighted=0.7, observed=True), max_iter=30)
    finally:
        _core.choose_instruction_set(before)
    assert_allclose(found.w, reference.w, atol=1e-4)
    assert_allclose(found.certificate.primal, reference.certificate.primal, rtol=1e-7)


@pytest.mark.parametrize("weighted", [0.2, 0.8])
def test_a_checkpoint_goes_on_with_the_same_bits(
    weighted: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eg, "_FEW_PARTS", 0)
    problem, path = chain_of(11, weighted=weighted, observed=True), tmp_path / "run.checkpoint"
    solved(problem, max_iter=3, checkpoint=Checkpoint(path))
    assert_array_equal(solved(problem, max_iter=9, checkpoint=Checkpoint(path)).w, solved(problem, max_iter=9).w)


def test_arrays_that_do_not_belong_to_the_problem_are_refused() -> None:
    problem = chain_of(4)
    state = solved(problem).state
    for name, place, value, message in (
        ("heavy_part", 0, problem.parts(0), "a heavy part is out of range"),
        ("heavy_part", 0, -1, "a heavy part is out of range"),
        ("heavy", 0, 10**6, "more heavy parts than room"),
        ("heavy", 1, -1, "more heavy parts than room"),
    ):
        array = getattr(state, name)
        before = array[place]
        array[place] = value
        with pytest.raises(MargraveError, match=message):
            state.expect()
        array[place] = before
    state.room = state.room[::-1].copy()
    with pytest.raises(MargraveError, match="must ascend from 0"):
        state.expect()
    state.room = np.zeros(3, dtype=np.int64)
    with pytest.raises(MargraveError, match="room must have length"):
        state.expect()


@pytest.mark.parametrize("labels", [2, 9, 60])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("few", [0, 2**25])
def test_the_memory_of_a_run_is_known_before(
    labels: int, single: bool, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eg, "_FEW_PARTS", few)
    problem = chain_of(2, labels=labels, weighted=0.4, observed=True)
    learner, loss = EG(single=single), LossFamily(1.0, 0.0)
    state = learner.blank(Objective(problem, loss, n_jobs=1))
    names = ["t", "mu", *(["steps", "heavy", "heavy_part", "heavy_t", "heavy_mu"] if single else [])]
    assert learner.required_bytes(loss, problem) == sum(getattr(state, name).nbytes for name in names)
