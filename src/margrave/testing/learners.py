"""The contracts of a learner, on small problems of several structures whose outputs are written out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from margrave import _core
from margrave.binding import bind
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.learners import Checkpoint, Ended, Learner, Objective, Observer, Record, Solution, State, learner_named
from margrave.losses import Cost, Hamming, LossFamily, loss_named
from margrave.maps import ChainMap, FeatureTable, SparseMap
from margrave.maps.base import FeatureMap
from margrave.structures import CandidateLists, Chain, Multiclass, NonProjectiveTree
from margrave.structures.base import Structure
from margrave.testing.enumeration import Array
from margrave.testing.failures import contract, require, require_bits, require_close
from margrave.testing.optimum import Alternatives, alternatives_of, bounds, primal
from margrave.testing.problems import Case
from margrave.testing.structures import check_stored, enumerate_case

LOSSES = ("log", "softmax-margin", "hinge", "perceptron", "ramp")
_ROUNDING = 1e-9  # of P and D, relative to their size
_FALL = 1e-7  # by how much D may fall, relative to P: learners may keep it in single precision
_PASSES = 5_000  # many times what these problems need
_STOPS = 6  # passes of the runs that are stopped and continued


@dataclass(frozen=True)
class SmallProblem:
    """A problem of few small examples, with all outputs of each."""

    name: str
    case: Case

    @property
    def problem(self) -> _core.Problem:
        """The problem itself."""
        return self.case.problem

    @property
    def examples(self) -> list[Alternatives]:
        """All outputs, as a learner sees them."""
        return alternatives_of(self.case)


def small_problems(costs: Cost | None = None) -> list[SmallProblem]:
    """Classes, label sequences with tied and untied transitions, trees, and lists of candidates.

    Parameters
    ----------
    costs : the costs of wrong outputs, which leave out structures that do not support them; None is the Hamming cost.
    """
    rng = np.random.default_rng(0)
    labels = ["a", "b", "c"]
    lengths = [1, 2, 3, 3]
    sentences = [[[f"w{k}" for k in rng.choice(4, 2, replace=False)] for _ in range(n)] for n in lengths]
    tags = [[str(label) for label in rng.choice(labels, n)] for n in lengths]
    tags[-1] = labels
    all_tags = [[list(y) for y in product(labels, repeat=n)] for n in lengths]
    trees = [_trees(n) for n in (1, 2, 3)]
    arcs = [rng.normal(size=(n * n, 4)) for n in (1, 2, 3)]
    lists = [rng.normal(size=(n, 4)) for n in (1, 3, 5)]
    right = [int(rng.integers(len(each))) for each in lists]
    every: list[tuple[str, Structure[Any, Any], Any, Any, Any, FeatureMap[Any, Any]]] = [
        ("classes", Multiclass(), rng.normal(size=(7, 3)), [*labels, *rng.choice(labels, 4).tolist()], [labels] * 7,
         FeatureTable("all")),
        ("sequences", Chain(), sentences, tags, all_tags, ChainMap(FeatureTable("observed"))),
        ("untied sequences", Chain(tied=False), sentences, tags, all_tags, ChainMap(FeatureTable("observed"))),
        ("trees", NonProjectiveTree(), arcs, [each[-1] for each in trees], trees, SparseMap()),
        ("lists", CandidateLists(), lists, right, [list(range(len(each))) for each in lists], SparseMap()),
    ]  # fmt: skip
    return [_problem(*each, costs or Hamming()) for each in every if _supported(each[1], costs or Hamming())]


def _supported(structure: Structure[Any, Any], costs: Cost) -> bool:
    try:
        structure.check_cost(costs)
    except MargraveError:
        return False
    return True


def _trees(n: int) -> list[list[int]]:
    """All trees of n words with one child of the root, as the heads of the words."""
    return [list(heads) for heads in product(range(n + 1), repeat=n) if heads.count(0) == 1 and _rooted(heads)]


def _rooted(heads: Sequence[int]) -> bool:
    for word in range(1, len(heads) + 1):
        at = word
        for _ in heads:
            at = heads[at - 1] if at else 0
        if at:
            return False
    return True


def _problem(
    name: str,
    structure: Structure[Any, Any],
    X: Any,
    Y: Any,
    every: Any,
    feature_map: FeatureMap[Any, Any],
    costs: Cost,
) -> SmallProblem:
    bound = bind(structure, feature_map, Examples(X, Y), costs=costs)
    return SmallProblem(name, enumerate_case(bound, feature_map, X, Y, every, costs))


# D and P near the optimum, by problem, beta, gamma, C, and whether examples have weights: the same for every learner.
_BOUNDS: dict[tuple[str, float, float, float, bool], tuple[float, float]] = {}


def _bounds(small: SmallProblem, loss: LossFamily, C: float, *, weighted: bool = False) -> tuple[float, float]:
    key = (small.name, loss.beta, loss.gamma, C, weighted)
    if key not in _BOUNDS:
        weights = _weights(small) if weighted else np.ones(len(small.case))
        _BOUNDS[key] = bounds(small.examples, LossFamily(loss.beta, loss.gamma), C * weights)
    return _BOUNDS[key]


def _weights(small: SmallProblem) -> Array:
    """Weights of examples, of which one is 0."""
    return np.arange(len(small.case)) % 3 / 2.0 + (np.arange(len(small.case)) > 0)


# ---- the contracts ---------------------------------------------------------------------------------------------------


def check_learner(
    learner: str | Learner,
    losses: Sequence[str | LossFamily] = LOSSES,
    *,
    tol: float = 1e-3,
    Cs: Sequence[float] = (0.1, 3.0),
    dual_rises: bool = False,
) -> None:
    """Check a learner of your own on small problems of several structures.

    Where it offers "tol", it must reach the optimum of an independent solver. All records must be true: P is that of
    the weights, D is never above the optimum, and the gap is their difference. A run that was continued from a
    checkpoint must end with the same bits, and `max_iter`, observers, example weights and the seed must count.
    Combinations that the learner refuses are left out.

    Parameters
    ----------
    learner : a learner, or its name.
    losses : the losses to try; at least one of them must be accepted on some problem.
    tol : the relative gap that a learner with "tol" must reach.
    Cs : the values of C.
    dual_rises : whether the learner promises that D never falls.

    >>> check_learner("lbfgs", ["log"], tol=1e-6)
    """
    learner = learner_named(learner)
    check_stored(learner)
    tried = 0
    problems = small_problems()
    for small in problems:
        for loss in map(loss_named, losses):
            chosen = _accepted(learner, loss, small)
            if chosen is not None:
                tried += 1
                _check_runs(chosen, loss, small, tol, Cs, dual_rises)
    with contract(f"learner '{learner.name}'", "it accepts one of the losses on one of the problems"):
        names = ", ".join(loss_named(loss).name for loss in losses)
        require(tried, f"it refuses {names} on {', '.join(small.name for small in problems)}")


def _accepted(learner: Learner, loss: LossFamily, small: SmallProblem) -> Learner | None:
    """The learner that does the work; None if it refuses the combination, which it must say in one sentence."""
    where = f"loss {loss.name}, {small.name}"
    with contract(f"learner '{learner.name}'", "a combination that it refuses is one sentence", where):
        try:
            chosen = learner.resolve(loss, small.problem)
            chosen.check_packages()
            chosen.check(loss, small.problem)
        except MargraveError as refusal:
            require(str(refusal).endswith("."), f"it says {str(refusal)!r}")
            return None
    return chosen


def _check_runs(
    learner: Learner, loss: LossFamily, small: SmallProblem, tol: float, Cs: Sequence[float], rises: bool
) -> None:
    of = f"learner '{learner.name}'"
    other = "another objective" in learner.offers
    for C in Cs:
        where = f"loss {loss.name}, C = {C:g}, {small.name}"
        settings: dict[str, Any] = {"C": C, "tol": tol, "max_iter": _PASSES if "tol" in learner.offers else 20}
        solution = _solve(of, where, learner, loss, small, **settings)
        if not other:
            _check_records(of, where, solution, loss, small, C * np.ones(len(small.case)))
        if other or not loss.convex:
            continue
        _check_bounds(of, where, solution, _bounds(small, loss, C), rises)
        if "tol" in learner.offers:
            _check_optimum(of, where, solution, _bounds(small, loss, C), tol)
            weights = _weights(small)
            weighted = _solve(of, f"{where}, example weights", learner, loss, small, sample_weight=weights, **settings)
            _check_records(of, f"{where}, example weights", weighted, loss, small, C * weights)
            _check_optimum(of, f"{where}, example weights", weighted, _bounds(small, loss, C, weighted=True), tol)
    if len(Cs) > 1 and not other and loss.convex and type(learner).continue_with is not Learner.continue_with:
        where = f"loss {loss.name}, from C = {Cs[0]:g} to {Cs[1]:g}, {small.name}"
        with contract(of, "it continues with another C", where):
            first = learner.solve(Objective(small.problem, loss, C=Cs[0], tol=tol, max_iter=_PASSES, n_jobs=1))
            then = Objective(small.problem, loss, C=Cs[1], tol=tol, max_iter=_PASSES, n_jobs=1)
            second = learner.solve(then, learner.continue_with(first.state, then))
        _check_records(of, where, second, loss, small, Cs[1] * np.ones(len(small.case)))
        _check_optimum(of, where, second, _bounds(small, loss, Cs[1]), tol)
    _check_passes(of, f"loss {loss.name}, {small.name}", learner, loss, small)


def _solve(of: str, where: str, learner: Learner, loss: LossFamily, small: SmallProblem, **settings: Any) -> Solution:
    with contract(of, "it runs", where):
        return learner.solve(Objective(small.problem, loss, n_jobs=1, **settings))


def _check_records(of: str, where: str, solution: Solution, loss: LossFamily, small: SmallProblem, C: Array) -> None:
    """The records are of the weights that are returned, and their passes increase."""
    with contract(of, "the weights are finite, one per feature", where):
        require(solution.w.shape == (small.problem.dim,), f"they have the shape {solution.w.shape}")
        require(np.isfinite(solution.w).all(), "some are infinite or NaN")
    with contract(of, "passes and seconds increase from record to record", where):
        for before, after in pairwise(solution.history):
            require(after.passes > before.passes, f"passes go from {before.passes:g} to {after.passes:g}")
            require((after.seconds or 0.0) >= (before.seconds or 0.0), "seconds decrease")
    if loss.convex:
        with contract(of, "the certificate is that of the weights", where):
            value = primal(solution.w, small.examples, loss, C)[0]
            require_close("P", solution.certificate.primal, value, digits=1e-9, smallest=1e-9 * abs(value))


def _check_bounds(of: str, where: str, solution: Solution, optimum: tuple[float, float], rises: bool) -> None:
    lower, upper = optimum
    with contract(of, "no P is below the optimum", where):
        for record in _with(solution, "primal"):
            least = lower - _ROUNDING * (abs(lower) + abs(record.primal or 0.0))
            require((record.primal or 0.0) >= least, f"P is {record.primal:.12g}, and the optimum {lower:.12g}")
    with contract(of, "no D is above the optimum", where):
        for record in _with(solution, "dual"):
            most = upper + _ROUNDING * (abs(upper) + abs(record.dual or 0.0))
            require((record.dual or 0.0) <= most, f"D is {record.dual:.12g}, and the optimum {upper:.12g}")
    with contract(of, "the gap is P - D and never negative beyond rounding", where):
        for record in _with(solution, "gap"):
            require(record.primal is not None and record.dual is not None, "there is a gap without P or D")
            P, D, gap = record.primal or 0.0, record.dual or 0.0, record.gap or 0.0
            if isfinite(D):
                require(abs(P - D - gap) <= _ROUNDING * (abs(P) + abs(D)), f"P - D is {P - D:.9g}, the gap {gap:.9g}")
            require(gap >= -_ROUNDING * (abs(P) + abs(D)), f"the gap is {gap:.9g}")
    if rises:
        with contract(of, "D never falls", where):
            duals = [record.dual or 0.0 for record in _with(solution, "dual")]
            for before, after in pairwise(duals):
                least = before - _FALL * max(abs(before), upper)
                require(after >= least, f"it goes from {before:.12g} to {after:.12g}")


def _with(solution: Solution, what: str) -> Iterator[Record]:
    return (record for record in solution.history if getattr(record, what) is not None)


def _check_optimum(of: str, where: str, solution: Solution, optimum: tuple[float, float], tol: float) -> None:
    upper = optimum[1]
    with contract(of, "it reaches tol, because it offers that", where):
        require(solution.converged, f"it ended with {solution.reason!r} after {len(solution.history)} passes")
    with contract(of, "its optimum is that of an independent solver", where):
        P = solution.certificate.primal or 0.0
        require(upper + tol * max(abs(P), 1e-9) + _ROUNDING >= P, f"P is {P:.12g}, and the optimum {upper:.12g}")


class _Watcher(Observer):
    """Copies all that it gets, and stops a run after some passes."""

    def __init__(self, stop: int = 0) -> None:
        self.began = self.ended = 0
        self.records: list[Record] = []
        self.stop = stop

    def begin(self, objective: Objective, learner: Learner) -> None:
        """Counts the call."""
        self.began += 1

    def note(self, record: Record, w: Array) -> str | None:
        """Stores the record."""
        self.records.append(record)
        return "enough" if len(self.records) == self.stop else None

    def end(self, solution: Solution | None) -> None:
        """Counts the call."""
        self.ended += 1


def _check_passes(of: str, where: str, learner: Learner, loss: LossFamily, small: SmallProblem) -> None:
    """What few passes show: max_iter, observers, the seed, certificates that change nothing, and checkpoints."""

    def solve(passes: int, **settings: Any) -> Solution:
        fixed = {"C": 0.7, "tol": 0.0, "n_jobs": 1, "random_state": 3, "max_iter": passes}
        return learner.solve(Objective(small.problem, loss, **{**fixed, **settings}))

    with contract(of, "max_iter limits the passes", where):
        whole = solve(_STOPS)
        require(1 <= len(whole.history) <= _STOPS, f"max_iter is {_STOPS}, and there are {len(whole.history)} records")
        if len(whole.history) == _STOPS and whole.ended is not Ended.DONE and whole.ended is not Ended.GAP:
            require(whole.ended is Ended.MAX_ITER, f"it ended with {whole.ended.value!r}")
    with contract(of, "the same seed gives the same bits", where):
        require_bits("w", solve(_STOPS).w, whole.w)
    with contract(of, "observers are called after every pass, and change nothing", where):
        watcher = _Watcher()
        watched = solve(_STOPS, observers=[watcher])
        require((watcher.began, watcher.ended) == (1, 1), f"begin and end were called {watcher.began, watcher.ended}")
        require(len(watcher.records) == len(whole.history), f"there were {len(watcher.records)} calls")
        require_bits("w", watched.w, whole.w)
    if len(whole.history) > 1:
        with contract(of, "an observer can end the run", where):
            stopped = solve(_STOPS, observers=[_Watcher(stop=1)])
            require(stopped.ended is Ended.OBSERVER and len(stopped.history) == 1, f"it ended with {stopped.reason!r}")
    if learner.resumable:
        _check_checkpoints(of, where, learner, solve)


def _check_checkpoints(of: str, where: str, learner: Learner, solve: Any) -> None:
    with contract(of, "the state is one that a checkpoint can store", where):
        state = solve(1).state
        require(isinstance(state, State), f"it is a {type(state).__name__}, and must be derived from State")
    with contract(of, "a run that was continued has the same bits as one that was never stopped", where):
        with TemporaryDirectory() as folder:
            file = Path(folder, "run")
            for passes in (1, 2, _STOPS):
                whole = solve(passes)
                resumed = solve(passes, checkpoint=Checkpoint(file, every=0))
                require_bits(f"w after {passes} passes", resumed.w, whole.w)
                numbers = [[(r.passes, r.primal, r.dual, r.gap) for r in each.history] for each in (whole, resumed)]
                require(numbers[0] == numbers[1], f"the histories of {passes} passes differ")
