"""Online EG stores numbers only for parts that have a weight; nothing that it computes shows the difference."""

import itertools
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from margrave import LossFamily, MargraveError, _core
from margrave.examples import Examples
from margrave.learners import CCCP, EG, LBFGS, Auto, Checkpoint, Objective, PrintedEG, Solution, auto, eg
from margrave.losses import ExpectedCostBound
from margrave.structures import Chain, Labels
from tests.registry import KINDS, Kind

LOSSES = [(1.0, 0.0), (1.0, 1.0), (3.0, 0.5), (inf, 1.0)]
PASSES = 5


@pytest.fixture(autouse=True)
def problems_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are left out also where all of them would take little memory."""
    monkeypatch.setattr(eg, "_FEW_PARTS", 0)


def solved(problem: _core.Problem, *, all_parts: bool = False, passes: int = PASSES, **settings: Any) -> Solution:
    """A few passes of EG, with the numbers of all parts or of the stored ones."""
    loss = LossFamily(*settings.pop("loss", (1.0, 0.0)))
    learner = settings.pop("kind", EG)(**settings.pop("options", {}))
    if all_parts:
        learner.stored_parts = lambda objective: None  # type: ignore[method-assign]
    objective = Objective(problem, loss, **{"C": 0.7, "tol": 0.0, "n_jobs": 1, "max_iter": passes} | settings)
    return learner.solve(objective)


def agree(problem: _core.Problem, **settings: Any) -> None:
    """Weights, P, D, gaps and natural parameters are those of EG with the numbers of all parts, up to rounding."""
    few, full = solved(problem, **settings), solved(problem, all_parts=True, **settings)
    size = 1 + abs(full.certificate.primal or 0.0)
    assert_allclose(few.state.w, full.state.w, atol=1e-9 * size)
    assert_allclose(few.w, full.w, atol=1e-9 * size)
    for one, other in zip(few.history, full.history, strict=True):
        assert one.passes == other.passes
        for name in ("primal", "dual", "gap"):
            values = getattr(one, name), getattr(other, name)
            assert values == (None, None) or abs(values[0] - values[1]) <= 1e-9 * size
    stored = stored_numbers(problem, few.state)
    assert_allclose(few.state.t, full.state.t[stored], atol=1e-8)
    assert_allclose(few.state.mu, full.state.mu[stored], atol=1e-8)
    assert not np.delete(full.state.t, stored).any()


def stored_numbers(problem: _core.Problem, state: Any) -> Any:
    """The stored parts, counted over all examples: the weighted ones, or all where another one is gold or costs."""
    family, begin = state.objective.family, _core.part_offsets(problem)
    stored = []
    for i in range(problem.size):
        parts = problem.weighted_parts(i)
        used = np.zeros(problem.parts(i), dtype=bool)
        used[problem.gold(i)] = True
        if family.gamma > 0:
            used |= problem.cost(i)[0] != 0
        needed = np.arange(problem.parts(i)) if np.delete(used, parts).any() else parts
        stored.append(begin[i] + needed)
    return np.concatenate(stored)


def chain_of(
    seed: int,
    *,
    order: int = 1,
    tied: bool = True,
    forbid: bool = False,
    weighted: float = 0.5,
    labels: int = 4,
    observed: bool = False,
) -> Any:
    """Sequences whose label tuples have weights at random, so that gold ones are without a weight here and there.

    With `observed`, all gold label pairs have a weight.
    """
    rng = np.random.default_rng(seed)
    labels, lengths = labels if order < 3 else 3, rng.integers(1, 7, 12)
    classes = [f"label {k}" for k in range(labels)]
    forbidden = [(classes[0], classes[1]), (classes[2], classes[1])] if forbid else []
    possible = [(a, b) for a in classes for b in classes if (a, b) not in forbidden]
    Y = []
    for n in lengths:
        y = [classes[rng.integers(labels)]]
        while len(y) < n:
            y.append(rng.choice([b for a, b in possible if a == y[-1]]))
        Y.append([str(label) for label in y])
    chain = Chain(order=order, tied=tied, forbidden=forbidden)
    loss = LossFamily()
    bound = chain.bind(Labels(np.array(classes)), Examples.of_sizes(lengths, Y), loss.costs)
    tokens = int(lengths.sum())
    rows = _core.Tokens(
        np.concatenate([[0], np.cumsum(lengths)]),
        3 * np.arange(tokens + 1),
        rng.integers(0, 9, 3 * tokens).astype(np.int32),
        None,
    )
    has = rng.random(bound.gram_parts) < weighted
    if observed:
        has[[labels * classes.index(a) + classes.index(b) for y in Y for a, b in itertools.pairwise(y)]] = True
    gram_weight = np.where(has, np.cumsum(has) - 1, -1)
    table = _core.table(
        rows, _core.Pairs(9, labels), gram_weight, int(has.sum()), order, tied, 1.0, True, False, None, None
    )
    return _core.join(bound, table)


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_stored_parts_are_as_good_as_all(kind: Kind, beta: float, gamma: float) -> None:
    for seed in range(3):
        agree(kind(seed, size=8).problem, loss=(beta, gamma))


@pytest.mark.parametrize("instructions", _core.instruction_sets())
@pytest.mark.parametrize("weighted", [0.0, 0.3, 0.97])
@pytest.mark.parametrize("labels", [9, 32, 33, 87])
def test_any_number_of_labels(instructions: str, labels: int, weighted: float) -> None:
    before = _core.instruction_set()
    _core.choose_instruction_set(instructions)
    try:
        problem = chain_of(labels, labels=labels, weighted=weighted, observed=True)
        assert any(len(problem.weighted_parts(i)) < problem.parts(i) for i in range(problem.size))
        agree(problem)
        agree(problem, loss=(3.0, 0.5))
        agree(problem, options={"start": 300.0})  # scores that need log space
    finally:
        _core.choose_instruction_set(before)


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("forbid", [True, False])
def test_gold_parts_without_a_weight_are_no_exception(
    order: int, tied: bool, forbid: bool, beta: float, gamma: float
) -> None:
    sizes = set()
    for seed in range(4):
        problem = chain_of(seed, order=order, tied=tied, forbid=forbid, weighted=0.8)
        weight = np.random.default_rng(seed).random(problem.size) * (np.arange(problem.size) != 3)
        agree(problem, loss=(beta, gamma), sample_weight=weight)
        for i in range(problem.size):
            missing = not set(problem.gold(i).tolist()) <= set(problem.weighted_parts(i).tolist())
            sizes.add((missing, len(problem.weighted_parts(i)) < problem.parts(i)))
    assert {(True, True), (False, True)} <= sizes  # both kinds of examples were there


@pytest.mark.parametrize("options", [{"order": "gap"}, {"skip": False}, {"start": 0.0}])
def test_options_do_not_matter(options: dict[str, Any]) -> None:
    agree(chain_of(5, weighted=0.6), options=options)


def test_constant_rates_do_not_matter() -> None:
    agree(chain_of(5, weighted=0.6), kind=PrintedEG, options={"rate": 0.05, "schedule": "constant"})


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
def test_given_weights_do_not_matter(beta: float, gamma: float) -> None:
    problem = chain_of(6)
    agree(problem, loss=(beta, gamma), start=0.3 * np.random.default_rng(6).standard_normal(problem.dim))


def test_offsets_of_the_convex_concave_procedure_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def weights() -> Any:
        objective = Objective(chain_of(7), ExpectedCostBound(), max_iter=3, n_jobs=1)
        return CCCP(inner=EG(), inner_tol=1e-8).solve(objective).w

    few = weights()
    monkeypatch.setattr(EG, "stored_parts", lambda self, objective: None)
    assert_allclose(few, weights(), atol=1e-3)  # The inner learner stops at its tolerance.


@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
def test_the_bounds_hold_and_the_dual_never_falls(beta: float, gamma: float) -> None:
    for seed in range(4):
        found = solved(chain_of(seed, weighted=0.3), loss=(beta, gamma), passes=40, tol=1e-9)
        duals = [record.dual for record in found.history if record.dual is not None]
        assert all(after >= before - 1e-10 for before, after in itertools.pairwise(duals))
        assert found.certificate.gap is not None
        assert found.certificate.gap >= -1e-10


def test_compact_numbers_are_of_the_same_parts_and_certificates_in_double_precision() -> None:
    problem = chain_of(8, weighted=0.4)
    single = solved(problem, options={"single": True}, tol=1e-5, passes=500)
    double = solved(problem, tol=1e-9, passes=500)
    assert (single.state.t.dtype, single.state.mu.dtype) == (np.int16, np.uint16)
    assert len(single.state.t) == len(double.state.t) < _core.part_offsets(problem)[-1]
    assert single.certificate.relative_gap <= 1e-5
    assert single.certificate.dual <= double.certificate.primal + 1e-9  # type: ignore[operator]
    assert single.certificate.gap >= 0  # type: ignore[operator]


def test_all_pairs_have_all_parts() -> None:
    problem = chain_of(9, weighted=1.0)
    assert len(solved(problem, passes=1).state.t) == _core.part_offsets(problem)[-1]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_other_parts_have_no_score_and_are_not_read(kind: Kind) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        problem = kind(seed).problem
        for i in range(problem.size):
            parts = problem.weighted_parts(i)
            assert (np.diff(parts) > 0).all()
            w, mu = rng.standard_normal(problem.dim), rng.standard_normal(problem.parts(i))
            assert not np.delete(problem.score(i, w), parts).any()
            other = np.full(problem.parts(i), np.nan)
            other[parts] = mu[parts]
            found = []
            for values in (mu, other):
                g, moved = np.zeros(problem.dim), w.copy()
                problem.scatter(i, values, 2.0, g)
                change = problem.move(i, values, 0.5, moved)
                found.append([g, moved, change, *problem.row(i, values)])
            for one, same in zip(*found, strict=True):
                assert_array_equal(one, same)


def test_a_checkpoint_of_stored_parts_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    problem, path = chain_of(11), tmp_path / "run.checkpoint"
    solved(problem, passes=2, checkpoint=Checkpoint(path))
    assert_array_equal(solved(problem, passes=5, checkpoint=Checkpoint(path)).w, solved(problem, passes=5).w)


def test_auto_chooses_by_the_bytes_of_the_stored_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, loss = chain_of(14, weighted=0.2), LossFamily(1.0, 0.0)
    stored = _core.StoredParts(problem, loss.core(), 1).size
    assert stored < _core.part_offsets(problem)[-1]
    monkeypatch.setattr(auto, "_FEWEST_PARTS", 0)
    monkeypatch.setattr(auto, "FEW_WEIGHTS", 0)
    most = EG(single=True).required_bytes(loss, problem)
    for double, compact, chosen in (
        (16 * stored, most, EG()),
        (16 * stored - 1, most, EG(single=True)),
        (16 * stored - 1, most - 1, LBFGS()),
    ):
        monkeypatch.setattr(auto, "_MOST_BYTES_IN_DOUBLE", double)
        monkeypatch.setattr(auto, "_MOST_BYTES", compact)
        assert Auto().resolve(loss, problem) == chosen
        assert Auto().resolve(loss, problem, tol=1e-6) == (EG() if 16 * stored <= compact else LBFGS())


def test_auto_chooses_lbfgs_for_few_weights_however_many_parts_they_score(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, loss = chain_of(14, weighted=0.2), LossFamily(1.0, 0.0)
    monkeypatch.setattr(auto, "_FEWEST_PARTS", 0)
    for most, chosen in ((problem.dim, LBFGS()), (problem.dim - 1, EG())):
        monkeypatch.setattr(auto, "FEW_WEIGHTS", most)
        assert Auto().resolve(loss, problem) == chosen


def test_stored_parts_of_another_problem_are_refused() -> None:
    problem, other = chain_of(12), chain_of(13)
    family = _core.LossFamily(1.0, 0.0)
    stored = _core.StoredParts(other, family, 1)
    with pytest.raises(MargraveError, match="another problem"):
        _core.weights_of(problem, family, 1, np.zeros(stored.size), stored)
