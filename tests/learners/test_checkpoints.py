"""Checkpoints: a run that was stopped, killed or interrupted goes on to the bits of one that never was."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from margrave import Hinge, Log, LossFamily, MargraveError, Perceptron, Problem, Reranker, SequenceTagger, _core, load
from margrave.files import model as model_file
from margrave.files.disk import Disk
from margrave.learners import (
    CG,
    EG,
    LBFGS,
    LEARNERS,
    MIRA,
    SGD,
    AveragedPerceptron,
    Checkpoint,
    Ended,
    Learner,
    Objective,
    Record,
    Solution,
)
from margrave.learners.objective import State, Step
from margrave.losses import DifferenceOfLosses
from margrave.testing.optimum import primal
from tests.core.test_simd import instruction_set
from tests.learners.test_learners import KINDS, Watched, Weights, matching, multiclass
from tests.references.dual import best, of_classes, untied_chain
from tests.references.headers import VALUES, altered, places
from tests.registry import BUILT_IN_LEARNERS

PROBLEMS = {**KINDS, "untied chain": untied_chain}
SMOOTH, HINGE, PERCEPTRON = (1.0, 1.0), (inf, 1.0), (inf, 0.0)
BATCH = ("lbfgs", "cg", "eg-batch")
UNTIED = ("smo", "smo-eg")


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here cuts the power, and waiting for the disk is most of the time that a small checkpoint takes."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.checkpoint"


# ---- the learners ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A learner with its options, and the losses that it takes."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    losses: tuple[tuple[float, float], ...] = (SMOOTH, HINGE)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options)})"

    def make(self) -> Learner:
        return LEARNERS[self.name](**dict(self.options))

    def loss(self, beta: float, gamma: float) -> LossFamily:
        return DifferenceOfLosses(beta, gamma) if self.name == "cccp" else LossFamily(beta, gamma)

    @property
    def kinds(self) -> tuple[str, ...]:
        untied = self.name in UNTIED or ("exact_entropy", True) in self.options
        return ("multiclass", "untied chain" if untied else "chain")


def case(name: str, losses: tuple[tuple[float, float], ...] = (SMOOTH, HINGE), **options: Any) -> Case:
    return Case(name, tuple(options.items()), losses)


CASES = [
    case("auto", (SMOOTH, HINGE, PERCEPTRON)),
    case("lbfgs", (SMOOTH, (3.0, 0.5))),
    case("lbfgs", (SMOOTH,), memory=2),
    case("lbfgs", (SMOOTH,), gradient_tol=1e-3),
    case("cg", (SMOOTH, (3.0, 0.5))),
    case("sgd"),
    case("sgd", rate=0.1),
    case("sgd", rates=[0.5, 0.05]),
    case("svrg", (SMOOTH, (3.0, 0.5))),
    case("svrg", (SMOOTH,), length=0.3),
    case("perceptron", (SMOOTH, PERCEPTRON)),
    case("eg"),
    case("eg", order="gap"),
    case("eg", order="cyclic"),
    case("eg", (SMOOTH,), single=True),
    case("eg", (SMOOTH,), single=True, order="gap"),
    case("printed-eg"),
    case("printed-eg", rate=0.1, schedule="constant"),
    case("printed-eg", schedule="safe"),
    case("eg", skip=False, start=2.0),
    case("eg-batch"),
    case("eg-batch", form="weights"),
    case("eg-batch", rate="safe"),
    case("eg-batch", rate=0.05, form="weights"),
    case("smo", (HINGE,)),
    case("smo", (HINGE,), order="gap"),
    case("smo-eg", (HINGE,)),
    case("smo-eg", (HINGE,), smo_passes=2, order="gap"),
    case("mira"),
    case("mira", exact=True),
    case("mira", average=False),
    case("mira", (HINGE,), prediction=True),
    case("mira", cumulative=True),
    case("kbest-mira", (HINGE,)),
    case("kbest-mira", (HINGE,), k=2, average=False),
    case("bcfw"),
    case("bcfw", pairwise=False),
    case("bcfw", averaging=True),
    case("bcfw", order="gap"),
    case("bcfw", order="cyclic", cached_steps=0),
    case("bcfw", (SMOOTH,), exact_entropy=True),
    case("cutting-plane", (HINGE,)),
    case("cutting-plane", (HINGE,), variant="a", epsilon=0.01),
    case("one-slack", (HINGE,)),
    case("one-slack", (HINGE,), cached=3),
    case("lp", (HINGE,)),
    case("cccp"),
    case("cccp", inner="lbfgs", losses=(SMOOTH,)),
]
DEFAULTS = [one for one in CASES if not one.options]


def test_every_learner_is_here() -> None:
    assert {one.name for one in DEFAULTS} == set(BUILT_IN_LEARNERS)


@cache
def problem_of(kind: str, beta: float, gamma: float) -> Problem:
    return PROBLEMS[kind](1, LossFamily(beta, gamma))[0]


def run(learner: Learner, problem: Problem, loss: LossFamily, path: Path | None = None, **settings: Any) -> Solution:
    file = None if path is None else Checkpoint(path, every=0)
    return learner.solve(
        Objective(problem, loss, checkpoint=file, **{"n_jobs": 1, "tol": 0.0, "random_state": 3, **settings})
    )


def bits(solution: Solution, *, certificate: bool = True) -> tuple[Any, ...]:
    """All that a solution says, but for the time it took."""
    of_weights = [solution.certificate] if certificate else []
    records = [(record.passes, record.primal, record.dual, record.gap) for record in (*of_weights, *solution.history)]
    return solution.w.tobytes(), repr(records), solution.converged, solution.reason


def weights_for(problem: Problem) -> Weights:
    """Some examples count more, and one not at all."""
    return np.arange(problem.size) % 3 / 2 + (np.arange(problem.size) > 0)


# ---- stopped, and gone on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", CASES, ids=str)
@pytest.mark.parametrize("chained", [False, True], ids=["classes", "chains"])
def test_a_run_stopped_after_every_pass_has_the_bits_of_one_that_never_was(
    one: Case, chained: bool, tmp_path: Path
) -> None:
    """Each run goes on from where the one before was stopped; each is compared with one from the very beginning."""
    kind = one.kinds[chained]
    for beta, gamma in one.losses:
        loss, problem = one.loss(beta, gamma), problem_of(kind, beta, gamma)
        path = tmp_path / f"{beta}-{gamma}"
        settings = {"C": 0.7, "sample_weight": None if chained else weights_for(problem)}
        for passes in range(1, 9):
            whole = run(one.make(), problem, loss, max_iter=passes, **settings)
            resumed = run(one.make(), problem, loss, path, max_iter=passes, **settings)
            assert bits(resumed) == bits(whole)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["cutting-plane", "one-slack", "bcfw", "mira", "kbest-mira", "smo"])
@pytest.mark.parametrize("seed", range(8))
def test_real_features_leave_no_trace_of_what_was_computed_before(name: str, seed: int, tmp_path: Path) -> None:
    """Sums of real numbers have rounding errors, which must not stay in memory that the next example uses."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(int(rng.integers(2, 6)), 3)) for _ in range(int(rng.integers(2, 6)))]
    C, first = float(10 ** rng.uniform(-1, 1)), int(rng.integers(1, 4))

    def fit(passes: int, path: Path | None) -> Any:
        model = Reranker("hinge", C=C, learner=name, tol=1e-8, max_iter=passes, n_jobs=1)
        return model.fit(X, [0] * len(X), checkpoint=path)

    whole = fit(30, None)
    fit(first, tmp_path / "run")
    resumed = fit(30, tmp_path / "run")
    assert resumed.coef_.tobytes() == whole.coef_.tobytes()
    assert resumed.stop_reason_ == whole.stop_reason_


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", [None, [0.0, 3.0, 0.5, 2.0]], ids=["no costs", "costs"])
@pytest.mark.parametrize(
    ("name", "beta"), [("bcfw", 1.0), ("bcfw", inf), ("smo", inf), ("smo-eg", inf), ("eg", 1.0), ("printed-eg", inf)]
)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_the_zero_one_cost_takes_the_place_of_given_costs(
    scale: float, name: str, beta: float, given: list[float] | None, tmp_path: Path
) -> None:
    """Also where costs are computed again: after a resumption, and where rounding errors add up."""
    rng = np.random.default_rng(0)
    X = [scale * rng.normal(size=(4, 3)) for _ in range(6)]
    more = {} if given is None else {"costs": [given] * 6}
    loss = LossFamily(beta, 1.0, "zero-one")

    def fit(learner: str, passes: int, path: Path | None = None) -> Any:
        model = Reranker(loss, C=5.0, learner=learner, tol=1e-8, max_iter=passes, n_jobs=1)
        return model.fit(X, [0] * 6, checkpoint=path, **more)

    other = fit("lbfgs" if beta < inf else "cutting-plane", 1000)
    fit(name, 2, tmp_path / "run")
    resumed = fit(name, 300, tmp_path / "run")
    assert resumed.certificate_.dual <= other.certificate_.primal * (1 + 1e-6)
    assert resumed.coef_.tobytes() == fit(name, 300).coef_.tobytes()


def test_a_run_of_mira_that_its_gap_ends_can_go_on(path: Path) -> None:
    """P takes a pass there, and D is that of the state, not of the weights."""

    def fit(passes: int) -> SequenceTagger:
        learner = MIRA(average=False, exact=True)
        model = SequenceTagger(
            LossFamily(inf, 0.03), C=193.4, learner=learner, tol=1e-9, max_iter=passes, n_jobs=1, start=True
        )
        return model.fit([[{}, {"r": 0.257, "p": 0.636}, {"p": 1.0}]], [["C", "C", "A"]], checkpoint=path)

    first = fit(1)
    assert first.converged_ and first.stop_reason_.startswith("relative gap")
    assert fit(13).coef_.tobytes() == first.coef_.tobytes()


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
@pytest.mark.parametrize("one", CASES, ids=str)
def test_a_run_stopped_on_its_way_to_the_optimum_stops_for_the_same_reason(one: Case, tmp_path: Path) -> None:
    """With a tolerance, when to certify depends on what was certified before."""
    for beta, gamma in one.losses:
        loss, problem = one.loss(beta, gamma), problem_of(one.kinds[1], beta, gamma)
        path = tmp_path / f"{beta}-{gamma}"
        whole = run(one.make(), problem, loss, tol=1e-3, max_iter=30)
        for passes in (2, 9, 23, 30, 30):
            parts = run(one.make(), problem, loss, path, tol=1e-3, max_iter=passes)
        assert bits(parts) == bits(whole)


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
@pytest.mark.parametrize("C", [1e4, 1e7])
@pytest.mark.parametrize("one", [one for one in CASES if not one.options or one.name in ("bcfw", "eg")], ids=str)
def test_at_a_large_c_rounding_is_no_contradiction(one: Case, C: float, path: Path) -> None:
    """w is a sum of terms of size C, most of which cancel."""
    for beta, gamma in one.losses:
        for kind in one.kinds:
            problem, loss = problem_of(kind, beta, gamma), one.loss(beta, gamma)
            path.unlink(missing_ok=True)
            passes = 3 if one.name in ("cccp", "lp") else 100  # These take long.
            begun = run(one.make(), problem, loss, path, C=C, max_iter=passes)
            resumed = run(one.make(), problem, loss, path, C=C, max_iter=passes + 1)
            assert len(resumed.history) >= len(begun.history)


def test_a_run_may_go_on_in_another_process(tmp_path: Path, child: Callable[[str], str]) -> None:
    """One for every learner; the other process makes its own problems."""
    wanted = {}
    for one in DEFAULTS:
        run(one.make(), *elsewhere(one), tmp_path / one.name, max_iter=4)
        wanted[one.name] = bits(run(one.make(), *elsewhere(one), max_iter=9))
    printed = child(f"""
from pathlib import Path
from tests.learners.test_checkpoints import *
for one in DEFAULTS:
    w, *rest = bits(run(one.make(), *elsewhere(one), Path({str(tmp_path)!r}) / one.name, max_iter=9))
    print(json.dumps([one.name, w.hex(), *rest]))
""")
    found = {name: (bytes.fromhex(w), *rest) for name, w, *rest in map(json.loads, printed.splitlines())}
    assert found == wanted


@pytest.mark.parametrize("one", DEFAULTS, ids=str)
def test_a_run_at_a_large_c_may_go_on_with_other_instructions(one: Case, path: Path) -> None:
    """Their sums have other last bits."""
    passes = 3 if one.name in ("cccp", "lp") else 40
    with instruction_set("baseline"):
        begun = run(one.make(), *elsewhere(one), path, C=1e7, max_iter=passes)
    resumed = run(one.make(), *elsewhere(one), path, C=1e7, max_iter=passes + 1)
    assert len(resumed.history) >= len(begun.history)


def elsewhere(one: Case) -> tuple[Problem, LossFamily]:
    loss = one.loss(*one.losses[0])
    return PROBLEMS[one.kinds[1]](4, loss)[0], loss


@pytest.mark.parametrize("one", [one for one in CASES if one.name in BATCH], ids=str)
def test_batch_learners_go_on_with_any_number_of_threads(one: Case, tmp_path: Path) -> None:
    for beta, gamma in one.losses:
        loss, problem = one.loss(beta, gamma), large(beta, gamma)
        whole = run(one.make(), problem, loss, max_iter=8)
        for threads in ((2, 2), (1, 2), (2, 1)):
            path = tmp_path / f"{beta}-{gamma}-{threads}"
            run(one.make(), problem, loss, path, max_iter=3, n_jobs=threads[0])
            found = run(one.make(), problem, loss, path, max_iter=8, n_jobs=threads[1])
            # Where D falls, nothing in a checkpoint proves that of earlier passes.
            falls = one.name == "eg-batch"
            assert bits(found, certificate=not falls) == bits(whole, certificate=not falls)
            if falls:
                assert found.certificate.primal == whole.certificate.primal
                assert (found.certificate.dual or -inf) <= (whole.certificate.dual or -inf)


SEQUENTIAL = [one for one in CASES if one.name not in BATCH]
DRAWN = [one for one in SEQUENTIAL if ("order", "gap") in one.options]  # examples may come twice in a pass


@pytest.mark.parametrize("one", [one for one in SEQUENTIAL if one not in DRAWN], ids=str)
def test_two_threads_go_on_from_where_they_were(one: Case, path: Path) -> None:
    """Their steps come in any order: the past is the same to the bit, and D does not fall."""
    go_on_with_two_threads(one, path)


def test_two_threads_that_draw_examples_go_on_from_where_they_were(tmp_path: Path, child: Callable[[str], str]) -> None:
    """In a process of its own: two threads at the same example at the same time would tear it apart."""
    child(f"""
from pathlib import Path
from tests.learners.test_checkpoints import *
for k in range(3):
    for one in DRAWN:
        go_on_with_two_threads(one, Path({str(tmp_path)!r}) / f"{{one}}-{{k}}", seed=k)
""")


def go_on_with_two_threads(one: Case, path: Path, seed: int = 0) -> None:
    beta, gamma = one.losses[-1]
    loss, problem = one.loss(beta, gamma), large(beta, gamma)
    before = run(one.make(), problem, loss, path, max_iter=4, n_jobs=2, C=0.1, random_state=seed)
    after = run(one.make(), problem, loss, path, max_iter=8, n_jobs=2, C=0.1, random_state=seed)
    assert repr(after.history[:3]) == repr(before.history[:3])
    if "tol" in one.make().offers and ("averaging", True) not in one.options:
        duals = [record.dual for record in after.history if record.dual is not None]
        later = [record.dual for record in after.history[4:] if record.dual is not None]
        assert all(dual >= before.history[-1].dual * (1 - 1e-7) for dual in later)
        assert max(duals) <= min(record.primal for record in after.history if record.primal is not None) * (1 + 1e-9)
    if one.name in ("sgd", "perceptron"):  # which step with one thread alone
        assert bits(after) == bits(run(one.make(), problem, loss, max_iter=8, C=0.1, random_state=seed))


@cache
def large(beta: float, gamma: float) -> Problem:
    """Enough examples that two threads are at work at the same time."""
    random = np.random.default_rng(2)
    X, labels = random.normal(size=(200, 4)), [int(k) for k in random.integers(0, 3, size=200)]
    return of_classes(X, labels, LossFamily(beta, gamma), 1 - np.eye(3))[0]


# ---- runs that are over, and settings that may change ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "loss", "reason"),
    [
        (LBFGS(), Log(), "relative gap"),
        (EG(), Log(), "relative gap"),
        (LBFGS(gradient_tol=0.5), Log(), "gradient norm"),
        (AveragedPerceptron(), Perceptron(), "no mistakes in a whole pass"),
    ],
    ids=["lbfgs", "eg", "gradient", "perceptron"],
)
def test_a_run_that_is_over_does_no_more_work(learner: Learner, loss: LossFamily, reason: str, path: Path) -> None:
    problem = Watched(matching(5, size=3)[0])
    first = run(learner, problem, loss, path, max_iter=500, tol=1e-3, C=0.1)
    assert first.converged
    assert first.reason.startswith(reason)
    written = path.read_bytes()
    for most in (500, 1000, 2):
        problem.calls = 0
        assert bits(run(learner, problem, loss, path, max_iter=most, tol=1e-3, C=0.1)) == bits(first)
        assert problem.calls <= 9 * problem.size  # to check the state, its weights and the end, which is not counted
    assert path.read_bytes() == written


def test_a_search_at_the_limit_of_numbers_stays_there(path: Path) -> None:
    """It has failed, and would fail again."""
    problem = Watched(matching(5)[0])
    first = run(LBFGS(), problem, Log(), path, max_iter=500)
    assert "the limit of floating-point numbers" in first.reason
    assert not first.converged
    problem.calls = 0
    assert bits(run(LBFGS(), problem, Log(), path, max_iter=500)) == bits(first)
    assert problem.calls <= 3 * problem.size  # to check the state and the best weights, which is not counted


@pytest.mark.parametrize("learner", [LBFGS(), CG(), EG()], ids=lambda learner: learner.name)
def test_a_smaller_tolerance_goes_on_and_a_larger_one_is_met(learner: Learner, path: Path) -> None:
    problem = problem_of("chain", 1.0, 1.0)
    loose = run(learner, problem, LossFamily(1.0, 1.0), path, max_iter=300, tol=1e-2)
    assert loose.converged
    tight = run(learner, problem, LossFamily(1.0, 1.0), path, max_iter=300, tol=1e-6)
    assert tight.converged
    assert repr(tight.history[: len(loose.history)]) == repr(loose.history)
    assert tight.history[-1].relative_gap <= 1e-6 < loose.history[-1].relative_gap
    again = run(learner, problem, LossFamily(1.0, 1.0), path, max_iter=300, tol=1e-2)
    assert again.reason.endswith("<= tol 0.01")
    assert again.w.tobytes() == tight.w.tobytes()
    if learner.name != "eg":  # which certifies when the tolerance makes it worth while
        whole = run(learner, problem, LossFamily(1.0, 1.0), max_iter=len(tight.history))
        assert tight.w.tobytes() == whole.w.tobytes()
        assert [each.primal for each in tight.history] == [each.primal for each in whole.history]


def test_fewer_passes_than_were_made_give_what_there_is(path: Path) -> None:
    """Even if no certificate has been spent on it so far."""
    problem = problem_of("chain", *HINGE)
    for name in ("eg", "bcfw"):
        file = path.with_name(name)
        run(LEARNERS[name](), problem, Hinge(), file, max_iter=6)
        solution = run(LEARNERS[name](), problem, Hinge(), file, max_iter=1)
        assert len(solution.history) == 6
        assert bits(solution) == bits(run(LEARNERS[name](), problem, Hinge(), max_iter=6))


def test_the_passes_and_the_seconds_of_all_runs_add_up(path: Path) -> None:
    problem = problem_of("chain", *SMOOTH)
    for passes in (2, 4, 6):
        history = run(EG(), problem, LossFamily(*SMOOTH), path, max_iter=passes).history
    assert [record.passes for record in history] == sorted(record.passes for record in history)
    assert [record.seconds for record in history] == sorted(record.seconds for record in history)


# ---- killed ----------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys, time
from margrave import LossFamily
from margrave.files import model as model_file
from margrave.files.disk import Disk
from margrave.maps import FeatureTable
from margrave.learners import LEARNERS, Checkpoint, Objective
from margrave.structures import Multiclass
from tests.references.problems import bind

name, beta, path = {name!r}, float('{beta}'), {path!r}
random = np.random.default_rng(0)
X, labels = random.normal(size=(300, 20)), random.integers(0, 5, size=300).astype(np.int32)
loss = LossFamily(beta, 1.0)
problem = bind(Multiclass(), X, labels, feature_map=FeatureTable("all"), classes=list(range(5)), loss=loss)

def run(checkpoint=None):
    settings = {{"tol": 0.0, "max_iter": 90, "n_jobs": 1}}
    return LEARNERS[name]().solve(Objective(problem, loss, 100.0, checkpoint=checkpoint, **settings))

def bits(solution):
    return solution.w.tobytes(), [(r.passes, r.primal, r.dual, r.gap) for r in solution.history]

whole = bits(run())
began = time.perf_counter()
run(Checkpoint(path, every=0))
one_pass = (time.perf_counter() - began) / len(whole[1])
os.remove(path)

def version():
    return os.stat(path).st_mtime_ns if os.path.exists(path) else 0

kills, passes, seen, most_left = 0, 0, set(), 0
while kills < 20:
    before, late = version(), random.random() < 0.5
    process = os.fork()
    if not process:
        code = 1
        try:
            run(Checkpoint(path, every=0))
            code = 0
        finally:
            os._exit(code)
    ended = status = 0
    while late and version() == before and not ended:
        time.sleep(one_pass / 10)
        ended, status = os.waitpid(process, os.WNOHANG)
    time.sleep(random.uniform(0, 2 * one_pass))
    if not ended:
        os.kill(process, signal.SIGKILL)
        ended, status = os.waitpid(process, 0)
    if os.WIFEXITED(status):  # it was over before it was killed: the next one begins anew
        assert status == 0
        os.remove(path)
        passes = 0
        continue
    kills += 1
    if os.path.exists(path):
        header, arrays = model_file.read(path)
        assert len(header["history"]) >= passes, "a pass was lost"
        passes = len(header["history"])
        seen.add(passes)
    left = set(os.listdir(os.path.dirname(path))) - {{os.path.basename(path)}}
    most_left = max(most_left, len(left))
assert bits(run(Checkpoint(path, every=0))) == whole
print(len(seen), most_left, len(os.listdir(os.path.dirname(path))))
"""


@pytest.mark.parametrize(("name", "beta"), [("eg", 1.0), ("bcfw", inf)])
def test_a_run_killed_twenty_times_ends_with_the_bits_of_one_that_never_was(
    name: str, beta: float, path: Path, child: Callable[[str], str]
) -> None:
    printed = child(KILLED.format(name=name, beta=beta, path=str(path)))
    stops, most_left, files = map(int, printed.split())
    assert stops >= 5  # it was killed at different passes, not only before the first
    assert most_left <= 1  # a temporary file, which the next write takes over
    assert files == 1


# ---- interrupted -----------------------------------------------------------------------------------------------------


def once_after(calls: int) -> Callable[[int], None]:
    """Ctrl-C at one call, and never again."""

    def event(so_far: int) -> None:
        if so_far == calls + 1:
            raise KeyboardInterrupt

    return event


class Measured(Watched):
    """With the one thing more that a safe rate asks for."""

    def radius(self, i: int) -> float:
        return float(self.inner.radius(i))


@cache
def least(beta: float, gamma: float) -> float:
    """P* of the problem that is interrupted, or a bound on it."""
    loss = LossFamily(beta, gamma)
    return best(matching(2, loss)[1], loss, 1.0).primal if gamma else 0.0


NATIVE = (*UNTIED, "kbest-mira")  # which need more of a structure than one written in Python can offer
PYTHON = [
    one
    for one in CASES
    if one.name not in (*NATIVE, "cccp", "lp") and not {"exact", "exact_entropy"} & dict(one.options).keys()
]


@pytest.mark.parametrize("one", PYTHON, ids=str)
def test_ctrl_c_returns_a_solution_and_leaves_the_last_whole_pass(one: Case, tmp_path: Path) -> None:
    for beta, gamma in one.losses:
        loss = LossFamily(beta, gamma)
        inner, examples = matching(2, loss)
        counted = Measured(inner)
        whole = run(one.make(), counted, loss, max_iter=5)
        for calls in np.linspace(3, counted.calls - 1, 4).astype(int):
            path = tmp_path / f"{beta}-{gamma}-{calls}"
            try:
                solution = run(one.make(), Measured(inner, once_after(calls)), loss, path, max_iter=5)
            except KeyboardInterrupt:  # before the end of the first pass
                assert not path.exists()
                continue
            assert (solution.ended, solution.reason) == (Ended.INTERRUPTED, "interrupted")
            assert not solution.converged
            assert solution.certificate.primal == pytest.approx(primal(solution.w, examples, loss, 1.0)[0], rel=1e-9)
            assert all(record.dual is None or record.dual <= least(beta, gamma) + 1e-9 for record in solution.history)
            past = len(model_file.read(path)[0]["history"]) - 1  # the last record is of where the run was interrupted
            assert [record.dual for record in solution.history[:past]] == [r.dual for r in whole.history[:past]]
            resumed = run(one.make(), inner, loss, path, max_iter=5)
            assert bits(resumed) == bits(whole)


@pytest.mark.parametrize("one", [one for one in CASES if one.name in NATIVE], ids=str)
@pytest.mark.parametrize("at", [2, 3, 4])
def test_ctrl_c_within_a_native_pass_leaves_the_last_whole_pass(
    one: Case, at: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of("untied chain", *HINGE)
    whole = run(one.make(), problem, Hinge(), max_iter=6)
    calls = 0

    def interrupted(native: Callable[..., Any]) -> Callable[..., Any]:
        def some_of_a_pass(*arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls != at:
                return native(*arguments)
            order = arguments[3]
            native(*arguments[:3], order[: len(order) // 2], *arguments[4:])
            raise KeyboardInterrupt

        return some_of_a_pass

    with monkeypatch.context() as patch:
        for name in ("smo_pass", "eg_pass", "kbest_mira_pass"):
            patch.setattr(_core, name, interrupted(getattr(_core, name)))
        solution = run(one.make(), problem, Hinge(), path, max_iter=6)
    assert (solution.ended, solution.reason) == (Ended.INTERRUPTED, "interrupted")
    assert len(model_file.read(path)[0]["history"]) == at - 1
    assert bits(run(one.make(), problem, Hinge(), path, max_iter=6)) == bits(whole)


@pytest.mark.parametrize("beta", [1.0, inf])
def test_ctrl_c_within_a_convex_problem_of_cccp_leaves_the_last_whole_round(beta: float, tmp_path: Path) -> None:
    """Even within the first, of which there is a model already."""
    loss = DifferenceOfLosses(beta)
    inner, _ = matching(2, loss)
    counted = Watched(inner)
    whole = run(LEARNERS["cccp"](), counted, loss, max_iter=3)
    for calls in np.linspace(0.1, 0.9, 4) * counted.calls:
        path = tmp_path / f"{calls}"
        solution = run(LEARNERS["cccp"](), Watched(inner, once_after(int(calls))), loss, path, max_iter=3)
        assert (solution.ended, solution.reason) == (Ended.INTERRUPTED, "interrupted")
        assert not solution.converged
        assert bits(run(LEARNERS["cccp"](), inner, loss, path, max_iter=3)) == bits(whole)


def test_ctrl_c_while_the_file_is_written_leaves_the_one_before(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problem_of("chain", *SMOOTH)
    writes = 0

    def third_time(disk: Disk, file: int) -> None:
        nonlocal writes
        writes += 1
        if writes == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Disk, "sync", third_time)
        solution = run(EG(), problem, LossFamily(*SMOOTH), path, max_iter=6)
    assert (solution.ended, solution.reason) == (Ended.INTERRUPTED, "interrupted")
    assert os.listdir(path.parent) == [path.name]
    assert len(model_file.read(path)[0]["history"]) == 2
    whole = run(EG(), problem, LossFamily(*SMOOTH), max_iter=6)
    assert bits(run(EG(), problem, LossFamily(*SMOOTH), path, max_iter=6)) == bits(whole)


# ---- refusals --------------------------------------------------------------------------------------------------------

LOSS = LossFamily(*SMOOTH)


def changed(name: str) -> tuple[Learner, Problem, LossFamily, dict[str, Any]]:
    """The run of `EG(rate=0.5)` on classes with C = 1, but for one thing."""
    learner: Learner = EG(rate=0.5)
    problem, loss, settings = multiclass(0, LOSS)[0], LOSS, {}
    match name:
        case "learner":
            learner = LEARNERS["bcfw"]()
        case "setting 'rate'":
            learner = EG(rate=0.25)
        case "setting 'order'":
            learner = EG(rate=0.5, order="gap")
        case "loss":
            loss = LossFamily(1.0000001, 1.0)
        case "C":
            settings = {"C": 1.0000001}
        case "random_state":
            settings = {"random_state": 4}
        case "data":
            problem = multiclass(1, LOSS)[0]
        case "cost":
            problem = classes(cost=2.0)
        case "examples":
            problem = classes(n=11)
        case "weights":
            problem = classes(d=5)
        case "sample_weight":
            settings = {"sample_weight": weights_for(problem)}
        case "start":
            settings = {"start": np.ones(problem.dim)}
    return learner, problem, loss, settings


def classes(n: int = 12, d: int = 4, cost: float = 1.0) -> Problem:
    """The examples of `multiclass(0)`, but for what is asked for."""
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(12, 4)), random.integers(0, 3, size=12)
    labels[:3] = range(3)
    matrix = random.uniform(0.5, 2, size=(3, 3)) * (1 - np.eye(3))
    matrix[0, 1] *= cost
    wide = np.hstack([X, np.ones((12, 1))])
    return of_classes(wide[:n, :d], labels[:n], LOSS, matrix)[0]


CHANGES = [
    "learner",
    "setting 'rate'",
    "setting 'order'",
    "loss",
    "C",
    "random_state",
    "data",
    "cost",
    "examples",
    "weights",
    "sample_weight",
    "start",
]


@pytest.mark.parametrize("what", CHANGES)
def test_the_checkpoint_of_another_run_is_refused_and_stays(what: str, path: Path) -> None:
    learner, problem, loss, settings = changed("nothing")
    run(learner, problem, loss, path, max_iter=2, **settings)
    assert len(run(learner, classes(), loss, path, max_iter=3, **settings).history) == 3
    before = path.read_bytes()
    learner, problem, loss, settings = changed(what)
    with pytest.raises(MargraveError) as error:
        run(learner, problem, loss, path, max_iter=4, **settings)
    message = str(error.value)
    assert message.startswith(f"{path}: this checkpoint is of another run: its {what} is ")
    assert message.endswith("; remove the file, or name another.")
    assert "\n" not in message
    assert path.read_bytes() == before


def test_a_refusal_shows_both_values(path: Path) -> None:
    problem = problem_of("chain", *HINGE)
    run(SGD(rate=0.1), problem, Hinge(), path, max_iter=2)
    for learner, settings, shown in (
        (LEARNERS["bcfw"](), {}, "its learner is 'sgd', and not 'bcfw'"),
        (SGD(rate=0.2), {}, "its setting 'rate' is 0.1, and not 0.2"),
        (SGD(rate=0.1, rates=[0.1]), {}, r"its setting 'rates' is \[0.001, .*\], and not \[0.1\]"),
        (SGD(rate=0.1), {"C": 2.0}, "its C is 1.0, and not 2.0"),
        (SGD(rate=0.1), {"random_state": 9}, "its random_state is 3, and not 9"),
    ):
        with pytest.raises(MargraveError, match=shown):
            run(learner, problem, Hinge(), path, max_iter=3, **settings)
    with pytest.raises(MargraveError, match=r"loss is L\(beta=inf, gamma=1.0\), and not L\(beta=1.0, gamma=1.0\)"):
        run(SGD(rate=0.1), problem, LOSS, path, max_iter=3)


@pytest.mark.parametrize("example", [0, 7, 399])
def test_data_that_differ_in_one_example_are_other_data(example: int, path: Path) -> None:
    """However small its numbers are, and however many examples there are."""
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(400, 3)) * 1e-9, [k % 3 for k in range(400)]
    run(SGD(rate=0.1), of_classes(X, labels, LOSS, 1 - np.eye(3))[0], LOSS, path, max_iter=2)
    other = X.copy()
    other[example, 1] *= 1.001
    with pytest.raises(MargraveError, match="its data is another"):
        run(SGD(rate=0.1), of_classes(other, labels, LOSS, 1 - np.eye(3))[0], LOSS, path, max_iter=3)
    labels[example] = (labels[example] + 1) % 3
    with pytest.raises(MargraveError, match="its data is another"):
        run(SGD(rate=0.1), of_classes(X, labels, LOSS, 1 - np.eye(3))[0], LOSS, path, max_iter=3)


def test_the_number_of_threads_the_tolerance_and_the_passes_may_change(path: Path) -> None:
    problem = problem_of("chain", *SMOOTH)
    run(LBFGS(), problem, LOSS, path, max_iter=2)
    solution = run(LBFGS(), problem, LOSS, path, max_iter=200, tol=1e-6, n_jobs=2)
    assert bits(solution) == bits(run(LBFGS(), problem, LOSS, max_iter=200, tol=1e-6))


def test_a_damaged_file_is_refused_at_every_length(path: Path) -> None:
    problem = problem_of("multiclass", *SMOOTH)
    run(EG(), problem, LOSS, path, max_iter=2)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[-9] ^= 1
    cut = [content[:n] for n in range(0, len(content), 97)]
    for damaged in (*cut, content + b"x", bytes(flipped), b"garbage" * 99):
        path.write_bytes(damaged)
        with pytest.raises(MargraveError) as error:
            run(EG(), problem, LOSS, path, max_iter=4)
        assert str(error.value).startswith(f"{path}: ")
        assert "\n" not in str(error.value)
        assert path.read_bytes() == damaged


def test_a_model_is_no_checkpoint_and_a_checkpoint_no_model(path: Path) -> None:
    SequenceTagger("log").fit([[["a"], ["b"]]], [[0, 1]]).save(path)
    before = path.read_bytes()
    problem = problem_of("chain", *SMOOTH)
    with pytest.raises(MargraveError, match=r"run\.checkpoint: this is not a checkpoint\.$"):
        run(LBFGS(), problem, LOSS, path, max_iter=4)
    assert path.read_bytes() == before
    path.unlink()
    run(LBFGS(), problem, LOSS, path, max_iter=4)
    with pytest.raises(MargraveError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")


# One case per form of the state.
ALTERED = [
    number
    for number, one in enumerate(CASES)
    if not one.options
    or {"form", "single", "pairwise", "averaging", "exact_entropy", "cached"} & {name for name, _ in one.options}
]


@pytest.mark.parametrize("number", ALTERED, ids=[str(CASES[number]) for number in ALTERED])
def test_an_altered_checkpoint_is_refused_or_the_run_goes_on(number: int) -> None:
    """And never crashes; where the best weights or D were altered, the certificates of the run are true."""
    root = Path(__file__).parents[2]
    program = [sys.executable, "-m", "tests.learners.altered_checkpoints", str(number)]
    done = subprocess.run(program, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


WRONG_HEADERS: dict[str, Any] = {
    **{
        f"{name} {value}": {name: value} for name in ("passes", "ratio", "next") for value in ("x", None, True, -1, [1])
    },
    **{f"{name} {value}": {name: value} for name in ("history", "state", "best") for value in ("x", 1, [1], [["x"]])},
    **{f"done {value}": {"done": value} for value in ("x", 1, [1], [1, 2], ["because", 1], ["because", True])},
    "no history": {"history": []},
}
WRONG_RECORDS = {
    "P is inf": [1.0, 1.0, "inf", 1.0, 0.0],
    "a text": [1.0, 1.0, "x", 1.0, 0.0],
    "no gap left": [1.0, 1.0, 1.0, 1.0, 0.0],
    "D above P": [1.0, 1.0, 1.0, 2.0, -1.0],
    "a gap that is not P - D": [1.0, 1.0, 1e9, 1.0, 0.0],
    "a gap of nothing": [1.0, 1.0, 1.0, None, 0.0],
    "longer": [1.0, 1.0, 1.0, 0.0, 1.0, False, 1.0],
    "passes are missing": [None, 1.0, 1.0, 0.0, 1.0],
}


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
@pytest.mark.parametrize("one", DEFAULTS, ids=str)
def test_an_altered_header_is_refused_or_no_false_end(one: Case, path: Path) -> None:
    beta, gamma = one.losses[0]
    problem, loss = problem_of("multiclass", beta, gamma), one.loss(beta, gamma)
    run(one.make(), problem, loss, path, C=0.7, max_iter=2)
    header, views = model_file.read(path)
    arrays = {name: np.array(array) for name, array in views.items()}
    history: Any = header["history"]
    wrong = WRONG_HEADERS | {what: {"history": [*history[:-1], last]} for what, last in WRONG_RECORDS.items()}
    for what, change in wrong.items():
        model_file.write(path, header | change, arrays)
        try:
            solution = run(one.make(), problem, loss, path, C=0.7, max_iter=3)
        except MargraveError as error:
            assert "this checkpoint " in str(error), what
        else:
            assert len(solution.history) > len(history), what


def other_values(value: Any) -> list[Any]:
    """Other numbers, and what is not one, in the place of a number of a header."""
    if type(value) is bool:
        return [not value, 1]
    if type(value) not in (int, float):
        return []
    near = [value + 1.03, value - 1.03, value * 1.5, -value] if type(value) is float else [value + 1, value - 1, 2**62]
    return [*near, 0, 1e300, -1e300, "inf", None, [value]]


def altered_records(header: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Headers that differ from this one in one claim: in what the best weights or the last pass reached, or the end."""
    last = header["history"][-1]
    records = {"best": header["best"], "last": last}
    for name, record in records.items():
        if record is None:
            continue
        changed = [[*record[:k], other, *record[k + 1 :]] for k in (2, 3, 4) for other in other_values(record[k])]
        passes, seconds, primal, dual, gap, *exact = record
        for by in (1.03, 1e-3, -1.03):
            if type(dual) is float and type(gap) is float:
                changed.append([passes, seconds, primal, dual + by, gap - by, *exact])
            if type(primal) is float:
                of = [dual, gap - by] if type(gap) is float else [dual, gap]
                changed.append([passes, seconds, primal - by, *of, *exact])
                changed.append([passes, seconds, primal, primal - 1e-9, 1e-9, *exact])
        for new in changed:
            history = header["history"] if name == "best" else [*header["history"][:-1], new]
            best = new if name == "best" or header["best"] == last else header["best"]
            yield f"{name} {new}", {"history": history, "best": best}
            yield f"only {name} {new}", {"best": new} if name == "best" else {"history": history}
    for name, value in header["state"].items():
        for other in other_values(value):
            yield f"{name} {other}", {"state": {**header["state"], name: other}}
    for optimal in (True, False):
        yield f"done {optimal}", {"done": ["forged", optimal]}


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers near the largest one overflow
@pytest.mark.parametrize("one", [one for one in DEFAULTS if one.name != "cccp"], ids=str)
def test_a_claim_of_a_checkpoint_is_refused_or_the_certificate_is_correct(one: Case, path: Path) -> None:
    """P of the best weights, D and the end are computed again, never believed."""
    beta, gamma = one.losses[0]
    problem, loss = problem_of("multiclass", beta, gamma), one.loss(beta, gamma)
    reference = run(LEARNERS["lp" if one.name == "lp" else "bcfw"](), problem, loss, C=0.7, tol=1e-9, max_iter=3000)
    optimum = reference.certificate
    assert optimum.primal is not None and optimum.dual is not None
    run(one.make(), problem, loss, path, C=0.7, max_iter=3)
    header: Any
    header, views = model_file.read(path)
    arrays = {name: np.array(array) for name, array in views.items()}
    size = 1e-6 * max(1.0, abs(optimum.primal))
    for what, change in altered_records(header):
        for passes in (3, 4):
            model_file.write(path, header | change, arrays)
            try:
                found = run(one.make(), problem, loss, path, C=0.7, max_iter=passes)
            except MargraveError as error:
                assert "\n" not in str(error) and str(error).endswith("."), what
                continue
            record = found.certificate
            assert record.primal is not None and record.primal >= optimum.dual - size, what
            assert record.dual is None or record.dual <= optimum.primal + size, what
            assert record.gap is None or record.dual is None or abs(record.primal - record.dual - record.gap) <= size, (
                what
            )
            assert "forged" not in found.reason, what


def test_an_array_that_decides_what_is_known_has_its_size(path: Path) -> None:
    """With one number per example, k-best MIRA would take its sum of steps for a bound."""
    problem, loss = problem_of("multiclass", *HINGE), Hinge()
    for name in ("kbest-mira", "mira"):
        run(LEARNERS[name](), problem, loss, path, C=0.7, max_iter=3)
        header, views = model_file.read(path)
        spent = np.zeros(problem.size)
        model_file.write(path, header, {**{k: np.array(v) for k, v in views.items()}, "state.spent": spent})
        with pytest.raises(MargraveError, match="lacks state that learner"):
            run(LEARNERS[name](), problem, loss, path, C=0.7, max_iter=4)
        path.unlink()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one", DEFAULTS, ids=str)
def test_a_field_of_another_type_is_refused_or_the_run_goes_on(one: Case, path: Path) -> None:
    """Each field of the header, also of the learner's own state."""
    beta, gamma = one.losses[0]
    problem, loss = problem_of("multiclass", beta, gamma), one.loss(beta, gamma)
    run(one.make(), problem, loss, path, C=0.7, max_iter=2)
    header, views = model_file.read(path)
    arrays = {name: np.array(array) for name, array in views.items()}
    wrong = []
    for at in places(header):
        for value in VALUES if at and at[0] != "checkpoint" else ():
            model_file.write(path, altered(header, at, value), arrays)
            try:
                run(one.make(), problem, loss, path, C=0.7, max_iter=3)
            except MargraveError as error:
                assert "\n" not in str(error)
            except Exception as error:
                wrong.append(f"{'.'.join(map(str, at))} = {str(value)[:40]}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", ["history", "best", "state", "t", "random"])
def test_a_checkpoint_that_lacks_something_is_refused(part: str, path: Path) -> None:
    """As one of another release might."""
    problem = problem_of("multiclass", *SMOOTH)
    run(EG(), problem, LOSS, path, max_iter=2)
    header, views = model_file.read(path)
    content, arrays = json.loads(json.dumps(header)), {name: np.array(array) for name, array in views.items()}
    match part:
        case "t":
            del arrays["state.t"]
        case "random":
            del content["state"]["random"]
        case _:
            del content[part]
    model_file.write(path, content, arrays)
    with pytest.raises(
        MargraveError, match=r"checkpoint: this checkpoint (is incomplete|lacks state that .* needs): remove it\.$"
    ):
        run(EG(), problem, LOSS, path, max_iter=4)


# ---- files that cannot be written ------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [0.0, 1e6])
def test_a_place_where_no_checkpoint_can_be_is_refused_before_the_first_pass(every: float, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for place, why in (
        ("missing/run.checkpoint", "cannot be written: its directory does not exist."),
        ("file/run.checkpoint", "cannot be written: its directory does not exist."),
        ("folder", "cannot be written: it is a directory."),
    ):
        problem = Watched(matching()[0])
        with pytest.raises(MargraveError) as error:
            LBFGS().solve(Objective(problem, Log(), checkpoint=Checkpoint(tmp_path / place, every), n_jobs=1))
        assert str(error.value) == f"{tmp_path / place}: {why}"
        assert problem.calls == 0


@pytest.mark.parametrize("there", [False, True])
def test_a_place_without_permission_is_refused_before_the_first_pass(
    there: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        run(LBFGS(), matching()[0], Log(), path, max_iter=2)
    problem = Watched(matching()[0])
    monkeypatch.setattr(os, "access", lambda place, mode: os.fspath(place) != str(path if there else path.parent))
    with pytest.raises(MargraveError) as error:
        run(LBFGS(), problem, Log(), path)
    what = "the file" if there else "its directory"
    assert str(error.value) == f"{path}: cannot be written: {what} is read-only."
    assert problem.calls == 0


def test_a_full_disk_is_one_sentence_and_leaves_the_checkpoint_before(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of("chain", *SMOOTH)
    writes = 0

    def third_time(disk: Disk, file: int) -> None:
        nonlocal writes
        writes += 1
        if writes == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Disk, "sync", third_time)
        with pytest.raises(MargraveError) as error:
            run(EG(), problem, LOSS, path, max_iter=6)
    assert str(error.value) == f"{path}: cannot be written: no space left on device."
    assert os.listdir(path.parent) == [path.name]
    assert len(model_file.read(path)[0]["history"]) == 2
    assert bits(run(EG(), problem, LOSS, path, max_iter=6)) == bits(run(EG(), problem, LOSS, max_iter=6))


def test_a_checkpoint_is_written_after_the_first_pass_and_at_the_end(path: Path) -> None:
    """In between, when it is due."""
    records = []

    def look(calls: int) -> None:
        records.append(len(model_file.read(path)[0]["history"]) if path.exists() else 0)

    problem = Watched(matching()[0], look)
    LBFGS().solve(Objective(problem, LOSS, max_iter=4, tol=0.0, n_jobs=1, checkpoint=Checkpoint(path, every=1e6)))
    assert set(records) == {0, 1}
    assert len(model_file.read(path)[0]["history"]) == 4


@pytest.mark.parametrize("every", [-1.0, inf, nan, "often", None, True])
def test_a_time_between_checkpoints_that_makes_no_sense_is_refused(every: Any, path: Path) -> None:
    with pytest.raises(MargraveError, match=r"^the seconds between checkpoints must be .*\.$"):
        Checkpoint(path, every)


# ---- learners of the user --------------------------------------------------------------------------------------------


@dataclass
class Numbers(State):
    """One of everything that a state may hold."""

    w: Weights
    random: np.random.Generator
    single: Any = field(default_factory=lambda: np.zeros(2, dtype=np.float32))
    integers: Any = field(default_factory=lambda: np.arange(3))
    flags: Any = field(default_factory=lambda: np.array([True, False]))
    nothing: Any = field(default_factory=lambda: np.zeros((0, 3)))
    count: Any = field(default_factory=lambda: np.int64(0))
    half: Any = field(default_factory=lambda: np.float16(0.1))
    low: float = inf
    unknown: float = nan
    large: int = 0
    text: str = ""
    flag: bool = False
    missing: float | None = None
    rows: list[list[float]] = field(default_factory=list)
    other: Any = None


@dataclass
class Mine(Learner):
    """Walks at random; its records hold what the built-in ones never do."""

    name: ClassVar[str] = "mine"
    offers: ClassVar[tuple[str, ...]] = ("perceptron loss", "another objective")

    other: Any = None
    schedule: Callable[[int], float] = abs
    most: float = inf

    def blank(self, task: Objective) -> Numbers:
        return Numbers(task, np.zeros(task.problem.dim), np.random.default_rng(task.random_state))

    def one_pass(self, state: Numbers) -> Step:
        state.w += state.random.normal(size=len(state.w))
        state.single += np.float32(0.1)
        state.integers[1] += 1
        state.count += 1
        state.half += np.float16(0.1)
        state.large += 2**50
        state.text += "\u00e9\ud800"
        state.flag = not state.flag
        state.rows.append([0.1, float(state.count)])
        state.other = self.other
        state.objective.passes += 1
        primal = np.float32(1.0) + np.float32(state.random.random())
        return Step(state.w.copy(), primal, *((-inf, inf) if state.count % 2 else (nan, None)))


def test_a_learner_of_the_user_goes_on_with_the_same_bits(path: Path) -> None:
    """Numbers of numpy, of any width, infinite or none; texts; lists; and records of all of them."""
    problem = problem_of("multiclass", *SMOOTH)
    whole = run(Mine(), problem, LOSS, max_iter=5)
    for passes in range(1, 6):
        parts = run(Mine(), problem, LOSS, path, max_iter=passes)
    assert parts.w.tobytes() == whole.w.tobytes()
    for mine, theirs in zip(parts.history, whole.history, strict=True):
        assert_array_equal(numbers(mine), numbers(theirs))
        assert (mine.gap is None) == (theirs.gap is None)
    for name in vars(whole.state).keys() - {"objective", "random"}:
        mine, theirs = getattr(parts.state, name), getattr(whole.state, name)
        assert_array_equal(mine, theirs)
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype


def numbers(record: Record) -> Weights:
    return np.array([record.passes, record.primal, record.dual, record.gap], dtype=np.float64)


@pytest.mark.parametrize(
    "value",
    [(1, 2), {1, 2}, {1: 2}, [(1,)], [np.int64(1)], [inf], object(), 1j, np.zeros(2, complex), np.array(["a"])],
    ids=lambda value: str(value).partition(" at 0x")[0],  # the same in every process
)
def test_a_state_that_no_file_can_hold_is_refused_at_the_first_write(value: Any, path: Path) -> None:
    """Rather than given back as something else."""
    with pytest.raises(MargraveError) as error:
        run(Mine(other=value), problem_of("multiclass", *SMOOTH), LOSS, path, max_iter=5)
    assert "other" in str(error.value)
    assert os.listdir(path.parent) == []


class Plain(Learner):
    """No dataclass, and a state that is none."""

    name = "plain"
    offers = ("perceptron loss",)

    def begin(self, objective: Objective) -> dict[str, Any]:
        return {"objective": objective}

    def one_pass(self, state: dict[str, Any]) -> Step:
        state["objective"].passes += 1
        return Step(
            np.zeros(state["objective"].problem.dim),
            state["objective"].primal(np.zeros(state["objective"].problem.dim)),
        )


class Unprepared(Plain):
    def blank(self, objective: Objective) -> dict[str, Any]:
        return {"objective": objective}


def test_a_learner_without_a_state_to_keep_is_refused_before_it_has_much_to_lose(path: Path) -> None:
    problem = Watched(matching()[0])
    assert run(Plain(), problem, Log(), max_iter=2).history
    problem.calls = 0
    with pytest.raises(MargraveError, match=r"^the learner Plain .* checkpoint\.$"):
        run(Plain(), problem, Log(), path, max_iter=2)
    assert problem.calls == 0
    with pytest.raises(MargraveError, match=r"^the state of learner 'plain' is not a State, which .* needs\.$"):
        run(Unprepared(), problem, Log(), path, max_iter=2)
    assert not path.exists()


def test_numbers_of_numpy_are_settings_like_any_other(path: Path) -> None:
    problem = problem_of("multiclass", *SMOOTH)
    run(SGD(rate=np.float32(0.5)), problem, LOSS, path, max_iter=2)
    assert len(run(SGD(rate=0.5), problem, LOSS, path, max_iter=3).history) == 3
