"""The time limit: every learner sees it, also within a pass, and ends with a model; no inner loop goes on for ever."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from margrave import Hinge, LinearClassifier, LossFamily, MargraveError, SequenceTagger, _core, highs
from margrave.errors import TimeUpError
from margrave.learners import BCFW, LEARNERS, Checkpoint, Ended, Learner, Objective, OneSlack, Solution
from margrave.losses import loss_named
from margrave.maps import FeatureTable
from margrave.structures import Multiclass
from margrave.testing.learners import small_problems
from tests.learners.test_checkpoints import bits
from tests.references.problems import bind
from tests.registry import BUILT_IN_LEARNERS
from tests.registry.problems import Gaps

LOSSES = ("log", "softmax-margin", "hinge", "perceptron", "ramp")
SMALL = {small.name: small for small in small_problems()}


def accepted(name: str) -> list[tuple[Learner, LossFamily, Any]]:
    """The combinations that a learner takes, on classes and on sequences."""
    found = []
    for small in (SMALL["classes"], SMALL["untied sequences"]):
        for loss in map(loss_named, LOSSES):
            learner = LEARNERS[name]()
            try:
                chosen = learner.resolve(loss, small.problem)
                chosen.check(loss, small.problem)
            except MargraveError:
                continue
            found.append((chosen, loss, small))
    return found


def assert_model(solution: Solution, loss: LossFamily, small: Any, learner: Learner) -> None:
    assert np.isfinite(solution.w).all()
    assert solution.w.shape == (small.problem.dim,)
    assert len(solution.history) >= 1
    assert solution.certificate.primal is not None and np.isfinite(solution.certificate.primal)
    if "another objective" not in learner.offers:
        own = Objective(small.problem, loss).primal(solution.w)
        assert solution.certificate.primal == pytest.approx(own, rel=1e-9, abs=1e-12)
    assert _core.seconds_left() == np.inf


@pytest.mark.parametrize("name", sorted(set(BUILT_IN_LEARNERS)))
def test_a_limit_that_is_over_at_once_still_gives_a_model(name: str) -> None:
    for learner, loss, small in accepted(name):
        solution = learner.solve(Objective(small.problem, loss, max_seconds=1e-9, n_jobs=1))
        assert solution.ended is Ended.MAX_SECONDS, (loss.name, solution.reason)
        assert solution.reason.startswith("max_seconds")
        assert not solution.converged
        assert_model(solution, loss, small, learner)


@pytest.mark.parametrize("seconds", [1e-9, 1e-4])
@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_an_average_of_no_pass_is_no_result(loss: str, seconds: float) -> None:
    small, learner, family = SMALL["classes"], BCFW(averaging=True), loss_named(loss)
    solution = learner.solve(Objective(small.problem, family, tol=0.0, max_seconds=seconds, n_jobs=1))
    assert solution.ended is Ended.MAX_SECONDS, solution.reason
    assert_model(solution, family, small, learner)


def after(seconds_of_call: Callable[[], None], calls: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets time run out at a call of what looks at it."""
    count = [0]
    check = _core.check_signals

    def counted() -> None:
        count[0] += 1
        if count[0] == calls:
            seconds_of_call()
        check()

    monkeypatch.setattr(_core, "check_signals", counted)
    return count


@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("name", sorted(set(BUILT_IN_LEARNERS)))
def test_a_run_whose_time_is_up_ends_with_the_passes_so_far(
    name: str, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for learner, loss, small in accepted(name):
        with monkeypatch.context() as patch:
            after(lambda: _core.set_seconds_left(-1.0), passes + 1, patch)
            solution = learner.solve(Objective(small.problem, loss, tol=0.0, n_jobs=1, max_iter=50))
        if solution.ended is Ended.MAX_SECONDS:
            assert 1 <= len(solution.history) <= passes
        else:  # It was over before.
            assert solution.ended in (Ended.DONE, Ended.GAP, Ended.MAX_ITER)
        assert_model(solution, loss, small, learner)


def test_passes_look_at_the_time() -> None:
    """Every sequential or parallel pass raises the error once the deadline of its thread has passed."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(200, 4)), rng.integers(0, 3, 200).astype(np.int32)
    problem = bind(Multiclass(), X, labels, feature_map=FeatureTable("all"), classes=[0, 1, 2])
    for name in ("bcfw", "eg", "one-slack", "cutting-plane", "mira", "sgd", "perceptron"):
        learner, loss = LEARNERS[name](), LossFamily(1.0, 1.0) if name in ("eg", "sgd") else Hinge()
        state = learner.begin(Objective(problem, loss, n_jobs=1))
        _core.set_seconds_left(-1.0)
        try:
            with pytest.raises(TimeUpError):
                learner.one_pass(state)
        finally:
            _core.set_seconds_left(np.inf)


def linear_program(method: str, size: int) -> Any:
    """A random program that HiGHS cannot solve in a moment."""
    highspy = pytest.importorskip("highspy")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(size, size)) * (rng.random((size, size)) < 0.1)
    model, lp = highspy.Highs(), highspy.HighsLp()
    for name, value in (("output_flag", False), ("threads", 1), ("solver", method)):
        model.setOptionValue(name, value)
    row, column = np.nonzero(rows)
    lp.num_row_ = lp.num_col_ = size
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = rng.random(size) + 0.1, np.zeros(size), np.full(size, np.inf)
    lp.row_lower_, lp.row_upper_ = rng.uniform(-0.05, 0.05, size), np.full(size, np.inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(row, np.arange(size + 1)).astype(np.int32)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = column.astype(np.int32), rows[row, column]
    model.passModel(lp)
    return highspy, model


@pytest.mark.parametrize("method", ["simplex", "pdlp"])
def test_a_linear_program_sees_the_limit(method: str) -> None:
    highspy, model = linear_program(method, 1500)
    _core.set_seconds_left(0.05)
    try:
        with pytest.raises(TimeUpError):
            highs.run(highspy, model)
    finally:
        _core.set_seconds_left(np.inf)
    assert not model.is_solver_running()
    assert model.getModelStatus() != highspy.HighsModelStatus.kOptimal


def test_a_linear_program_sees_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    highspy, model = linear_program("simplex", 1500)
    calls = iter([None, None, KeyboardInterrupt()])

    def check() -> None:
        if error := next(calls):
            raise error

    monkeypatch.setattr(_core, "check_signals", check)
    with pytest.raises(KeyboardInterrupt):
        highs.run(highspy, model)
    assert not model.is_solver_running()
    assert model.getModelStatus() != highspy.HighsModelStatus.kOptimal


@pytest.mark.parametrize("learner", ["bcfw", "lbfgs", "one-slack", "cutting-plane", "mira", "sgd", "svrg", "eg"])
def test_the_limit_is_looked_at_after_every_example_that_takes_long(learner: str) -> None:
    """A few examples of many parts: a pass does not wait for eight of them."""
    seen = []

    class Long(Gaps):
        """The parts that are added are in no output."""

        def parts(self, i: int) -> int:
            return 5000

        def score(self, i: int, w: Any) -> Any:
            return np.append(super().score(i, w), np.zeros(5000 - len(self.matrices[i])))

        def row(self, i: int, v: Any) -> Any:
            return super().row(i, v[: len(self.matrices[i])])

        def values(self, i: int, theta: Any) -> Any:
            seen.append(i)
            _core.set_seconds_left(-1.0)
            return super().values(i, theta)

    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=(4, 3)) for _ in range(6)]
    problem = Long(matrices, [(0,)] * 6)
    loss = LossFamily(1.0, 1.0) if {"finite beta", "logsum"} & set(LEARNERS[learner].needs) else Hinge()
    one = LEARNERS[learner]()
    with pytest.raises(TimeUpError):
        try:
            one.one_pass(one.begin(Objective(problem, loss, n_jobs=1)))
        finally:
            _core.set_seconds_left(np.inf)
    assert len(seen) <= 2


def test_observers_and_runs_around_have_their_own_time() -> None:
    small, seen = SMALL["classes"], []

    class Slow:
        def begin(self, objective: Any, learner: Any) -> None:
            seen.append(_core.seconds_left())

        def note(self, record: Any, w: Any) -> None:
            seen.append(_core.seconds_left())

        def end(self, solution: Any) -> None:
            seen.append(_core.seconds_left())

    _core.set_seconds_left(500.0)
    try:
        objective = Objective(small.problem, Hinge(), max_seconds=1000.0, observers=[Slow()])  # type: ignore[list-item]
        solution = LEARNERS["bcfw"]().solve(objective)
        assert solution.converged
        assert 0 < _core.seconds_left() <= 500.0
        assert all(left == np.inf for left in seen[:-1])
    finally:
        _core.set_seconds_left(np.inf)


def test_the_seconds_of_a_resumed_run_count(tmp_path: Any) -> None:
    small = SMALL["untied sequences"]

    def solve(**settings: Any) -> Solution:
        fixed: dict[str, Any] = {"tol": 0.0, "n_jobs": 1, "checkpoint": Checkpoint(tmp_path / "run", every=0)}
        return LEARNERS["bcfw"]().solve(Objective(small.problem, Hinge(), **fixed, **settings))

    first = solve(max_iter=3)
    assert len(first.history) == 3
    # The checkpoint is older than the last record, which gets its P when the run ends.
    over = solve(max_iter=6, max_seconds=first.history[0].seconds)
    assert over.ended is Ended.MAX_SECONDS
    assert len(over.history) == 3
    whole = LEARNERS["bcfw"]().solve(Objective(small.problem, Hinge(), tol=0.0, n_jobs=1, max_iter=6))
    assert bits(solve(max_iter=6, max_seconds=1e6)) == bits(whole)


@pytest.mark.parametrize("size", [1.0, 1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("cached", [1, 5, 100])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_cached_outputs_do_not_hold_up_a_run(size: float, cached: int, C: float) -> None:
    """The constraints of cached outputs between two inferences are limited, however badly the master is conditioned."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, labels = size * rng.normal(size=(5, 1)), np.array([0, 1, 0, 1, 1], np.int32)
        problem = bind(Multiclass(), X, labels, feature_map=FeatureTable("all"), classes=[0, 1], loss=Hinge())
        solution = OneSlack(cached=cached).solve(
            Objective(problem, Hinge(), C=C, tol=1e-9, max_iter=20, max_seconds=60.0, n_jobs=1)
        )
        assert solution.ended in (Ended.GAP, Ended.MAX_ITER), solution.reason
        assert np.isfinite(solution.w).all()


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), "soon"])
def test_a_time_limit_is_positive(seconds: Any) -> None:
    with pytest.raises(MargraveError, match="max_seconds must be"):
        Objective(SMALL["classes"].problem, Hinge(), max_seconds=seconds)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_pass_the_limit_on() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), rng.integers(0, 3, 60)
    model = LinearClassifier("log", C=1e3, tol=0.0, max_seconds=1e-9).fit(X, y)
    assert (model.ended_, model.stop_reason_) == (Ended.MAX_SECONDS, "max_seconds")
    assert model.predict(X).shape == (60,)
    words = [[["a"], ["b"]], [["b"]]]
    tagger = SequenceTagger("ramp", learner="cccp", max_seconds=1e-9).fit(words, [["x", "y"], ["y"]])
    assert tagger.ended_ is Ended.MAX_SECONDS
