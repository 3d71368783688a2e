"""Observers: they see every pass, change no bit, cost no time, and can end a run; the progress that `verbose` shows."""

import io
import sys
import time
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from margrave import Hinge, Log, MargraveError, Ramp
from margrave.learners import (
    BCFW,
    CCCP,
    EG,
    LBFGS,
    Auto,
    Checkpoint,
    Ended,
    Learner,
    LinePrinter,
    Objective,
    Observer,
    ProgressBar,
    Record,
    Solution,
    Weights,
)
from margrave.learners.observers import progress_observer
from tests.learners.test_learners import chain, matching


class Diary(Observer):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.begun: list[tuple[Objective, Learner]] = []
        self.records: list[Record] = []
        self.weights: list[Weights] = []
        self.ends: list[Solution | None] = []

    def begin(self, objective: Objective, learner: Learner) -> None:
        self.begun.append((objective, learner))

    def note(self, record: Record, w: Weights) -> str | None:
        self.records.append(record)
        self.weights.append(w.copy())
        return None

    def end(self, solution: Solution | None) -> None:
        self.ends.append(solution)


def numbers(history: list[Record]) -> list[tuple[Any, ...]]:
    return [(record.passes, record.primal, record.dual, record.gap) for record in history]


@pytest.mark.parametrize("learner", [LBFGS(), EG(), BCFW()], ids=lambda learner: learner.name)
def test_an_observer_sees_every_pass_and_changes_no_bit(learner: Learner) -> None:
    loss = Hinge() if learner.name == "bcfw" else Log()
    problem, _ = chain(0, loss)
    plain = learner.solve(Objective(problem, loss, n_jobs=1, max_iter=12, tol=1e-9))
    diary = Diary()
    objective = Objective(problem, loss, n_jobs=1, max_iter=12, tol=1e-9, observers=[diary])
    observed = learner.solve(objective)
    assert_array_equal(observed.w, plain.w)
    assert numbers(observed.history) == numbers(plain.history)
    assert diary.begun == [(objective, learner)]
    assert diary.ends == [observed]
    assert diary.records[:-1] == observed.history[:-1] and len(diary.records) == len(observed.history)
    assert observed.w.tobytes() in [w.tobytes() for w in diary.weights] or diary.records[-1].primal is None


def test_the_weights_and_the_certificate_that_an_observer_sees_belong_together() -> None:
    problem, _ = chain(0, Log())
    diary = Diary()
    LBFGS().solve(Objective(problem, Log(), n_jobs=1, max_iter=5, tol=0.0, observers=[diary]))
    other = Objective(problem, Log(), n_jobs=1)
    for record, w in zip(diary.records, diary.weights, strict=True):
        assert other.primal(w) == pytest.approx(record.primal, rel=1e-12)


def test_an_observer_cannot_change_the_weights_but_compute_with_them() -> None:
    problem, _ = chain(0, Log())
    primals = []

    class Meddling(Observer):
        def note(self, record: Record, w: Weights) -> None:
            primals.append(Objective(problem, Log(), n_jobs=1).primal(w))
            w[:] = 0

    with pytest.raises(ValueError, match="read-only"):
        EG().solve(Objective(problem, Log(), n_jobs=1, observers=[Meddling()]))
    assert len(primals) == 1


def test_the_time_of_observers_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    class Slow(Observer):
        def begin(self, objective: Objective, learner: Learner) -> None:
            now[0] += 1000.0

        def note(self, record: Record, w: Weights) -> None:
            now[0] += 1000.0

    class Ticking(LBFGS):
        def one_pass(self, state: Any) -> Any:
            now[0] += 1.0
            return super().one_pass(state)

    problem, _ = chain(0, Log())
    solution = Ticking().solve(Objective(problem, Log(), n_jobs=1, max_iter=3, tol=0.0, observers=[Slow(), Slow()]))
    assert [record.seconds for record in solution.history] == [1.0, 2.0, 3.0]


def test_an_observer_can_end_the_run_which_a_checkpoint_can_continue(tmp_path: Any) -> None:
    class Stopping(Observer):
        def note(self, record: Record, w: Weights) -> str | None:
            return "enough seen" if record.passes >= 3 else None

    problem, _ = chain(0, Log())
    path = tmp_path / "run.checkpoint"
    settings: dict[str, Any] = {"n_jobs": 1, "max_iter": 8, "tol": 0.0}
    stopped = EG().solve(Objective(problem, Log(), **settings, checkpoint=Checkpoint(path), observers=[Stopping()]))
    assert (stopped.ended, stopped.reason, stopped.converged) == (Ended.OBSERVER, "enough seen", False)
    assert len(stopped.history) < 8 and stopped.certificate.primal is not None
    continued = EG().solve(Objective(problem, Log(), **settings, checkpoint=Checkpoint(path)))
    whole = EG().solve(Objective(problem, Log(), **settings))
    assert_array_equal(continued.w, whole.w)
    assert numbers(continued.history) == numbers(whole.history)


@pytest.mark.parametrize("where", ["begin", "note", "end"])
def test_an_exception_in_an_observer_reaches_the_caller_and_ends_the_others(where: str) -> None:
    class Failing(Observer):
        pass

    def fail(self: Observer, *arguments: Any) -> None:
        raise LookupError("on purpose")

    setattr(Failing, where, fail)
    problem, _ = chain(0, Log())
    first, last = Diary(), Diary()
    with pytest.raises(LookupError, match="on purpose"):
        LBFGS().solve(Objective(problem, Log(), n_jobs=1, max_iter=3, observers=[first, Failing(), last]))
    assert len(first.ends) == 1 and (first.ends[0] is None) == (where != "end")
    assert len(last.begun) == len(last.ends) == (0 if where == "begin" else 1)


def test_ctrl_c_in_an_observer_leaves_a_model_as_in_a_pass() -> None:
    class Impatient(Observer):
        def note(self, record: Record, w: Weights) -> None:
            raise KeyboardInterrupt

    problem, _ = chain(0, Log())
    solution = EG().solve(Objective(problem, Log(), n_jobs=1, tol=0.0, observers=[Impatient()]))
    assert solution.reason == "interrupted" and len(solution.history) == 1 and solution.certificate.primal is not None


def test_observers_of_a_learner_that_runs_others_see_it_alone() -> None:
    problem, _ = chain(0, Ramp())
    diary = Diary()
    solution = CCCP().solve(Objective(problem, Ramp(), n_jobs=1, observers=[diary]))
    assert diary.records == solution.history
    chosen = Diary()
    Auto().solve(Objective(chain(0, Log())[0], Log(), n_jobs=1, max_iter=2, observers=[chosen]))
    assert [learner.name for _, learner in chosen.begun] == ["lbfgs"]


def test_a_run_that_is_refused_tells_observers_nothing() -> None:
    diary = Diary()
    with pytest.raises(MargraveError, match="needs a smooth loss"):
        LBFGS().solve(Objective(chain(0, Hinge())[0], Hinge(), observers=[diary]))
    assert not diary.begun and not diary.ends


# ---- what verbose shows ----------------------------------------------------------------------------------------------


def record(passes: float, seconds: float) -> Record:
    return Record(passes, seconds, 2.0, 1.0, 1.0)


def test_lines_come_after_the_first_pass_then_at_growing_distances_and_at_the_end() -> None:
    now, stream = [100.0], io.StringIO()
    printer = LinePrinter(stream, clock=lambda: now[0])
    printer.begin(Objective(matching()[0], Log()), LBFGS())
    printed = []
    for k in range(3000):
        before = stream.tell()
        printer.note(record(k + 1, now[0] - 100.0), np.zeros(1))
        if stream.tell() > before:
            printed.append(now[0] - 100.0)
        now[0] += 0.1
    distances = np.diff(printed)
    assert printed[0] == 0.0
    assert 1.0 < distances[0] < 5.0
    assert (np.diff(distances) > -0.11).all() and distances[-1] > 10 * distances[0]
    assert stream.getvalue().splitlines()[0] == "lbfgs: pass 1  P 2  D 1  relative gap 5.00e-01  0.0 s"
    printer.end(Solution(np.zeros(1), record(7, 3.0), [record(7, 3.0)], False, Ended.MAX_ITER, "max_iter"))
    assert stream.getvalue().splitlines()[-1] == "lbfgs: pass 7  P 2  D 1  relative gap 5.00e-01  3.0 s: max_iter"
    printer.end(None)
    assert len(stream.getvalue().splitlines()) == len(printed) + 1


def test_verbose_prints_lines_where_the_error_stream_is_not_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    problem, _ = chain(0, Log())
    quiet = LBFGS().solve(Objective(problem, Log(), n_jobs=1))
    assert capsys.readouterr() == ("", "")
    solution = LBFGS().solve(Objective(problem, Log(), n_jobs=1, verbose=True))
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("lbfgs: pass 2  P ") and lines[-1].endswith(f" s: {solution.reason}")
    assert_array_equal(solution.w, quiet.w)


def test_a_terminal_gets_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert isinstance(progress_observer(), ProgressBar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert isinstance(progress_observer(), LinePrinter)


def test_a_progress_bar_shows_the_last_record_and_stops_with_the_run() -> None:
    problem, _ = chain(0, Log())
    bar = ProgressBar()
    solution = LBFGS().solve(Objective(problem, Log(), n_jobs=1, observers=[bar]))
    [line] = bar._bar.tasks
    assert line.description == "lbfgs"
    assert line.fields["state"].endswith(f"relative gap {solution.history[-1].relative_gap:.2e}")
    assert not bar._bar.live.is_started


# ---- approximate inference -------------------------------------------------------------------------------------------


def test_approximate_inference_of_the_problem_travels_to_the_certificate(tmp_path: Any) -> None:
    class Approximate(type(matching()[0])):  # type: ignore[misc]
        exact = False

    exact: Any = matching()[0]
    problem = Approximate(exact.maps, exact.right)
    path = tmp_path / "run.checkpoint"
    for learner, loss in ((BCFW(), Hinge()), (LBFGS(), Log())):
        sure = learner.solve(Objective(exact, loss, n_jobs=1))
        assert sure.exact and sure.certificate.exact and "approximate" not in sure.reason
        solution = learner.solve(Objective(problem, loss, n_jobs=1))
        assert not solution.exact and not any(each.exact for each in [solution.certificate, *solution.history])
        assert solution.reason == f"{sure.reason} (approximate: inference is not exact)"
        for mine, theirs in zip(numbers(solution.history), numbers(sure.history), strict=True):
            assert mine[:2] == theirs[:2]  # A mixture of gradients bounds P only if inference is exact.
            assert mine == theirs if learner.name == "bcfw" else mine[2] <= theirs[2]
    for passes in (2, 4):
        solution = LBFGS().solve(Objective(problem, Log(), n_jobs=1, max_iter=passes, checkpoint=Checkpoint(path)))
    assert [each.exact for each in [solution.certificate, *solution.history]] == [False] * 5
