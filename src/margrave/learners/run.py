"""The loop that all learners share: passes, history, certificates, checkpoints, observers, and Ctrl-C."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf, isfinite
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from margrave.errors import DataError, MargraveError
from margrave.learners.checkpoint import Snapshot, fingerprint
from margrave.learners.ended import Ended, ending_sentence
from margrave.learners.observers import Observer, progress_observer
from margrave.learners.resuming import check_same, check_that, scale_of_losses
from margrave.learners.task import Record, State, Step, Task, Weights

if TYPE_CHECKING:
    from margrave.learners.base import Learner

T = TypeVar("T")


@dataclass(frozen=True)
class Solution:
    """The weights found, how they were found, and why the search ended.

    Parameters
    ----------
    w : the weights.
    kept : the record of the weights.
    history : one record per pass.
    converged : whether the learner stopped at the optimum.
    ended : how the run ended.
    reason : the same in words: "relative gap ...", "gradient norm ...", "max_iter", "interrupted", ...
    state : the state of the learner, from which it can continue.
    exact : False if inference, and therefore the certificate, is approximate.
    """

    w: Weights
    kept: Record
    history: list[Record]
    converged: bool
    ended: Ended
    reason: str
    state: Any = None
    exact: bool = True


_ROUNDING = 1e-6  # P and D are sums over all examples; a gap below minus this fraction of P is not a rounding error.
_MESSAGES = "messages"  # the name of the messages that inference keeps, in a checkpoint
_FIRST_CERTIFICATE = 50  # The first certificate is computed after this many passes, regardless of the estimate.


class Run:
    """One optimisation: its loop, its history, the best weights so far, and when to compute a certificate."""

    def __init__(self, learner: "Learner", task: Task) -> None:
        self.learner = learner
        self.task = task
        self.history: list[Record] = []
        self.best: tuple[Record, Weights] | None = None
        self._observers: Sequence[Observer] = (*task.observers, *([progress_observer()] if task.verbose else []))
        self._started = time.perf_counter()
        self._fingerprint: dict[str, str] = {}
        self._resumed = False
        self._done: tuple[str, bool] | None = None  # the learner's own reason to stop, and whether it is the optimum
        self._stop_reason = ""  # the reason that an observer gave to end the run
        self._solution: Solution | None = None
        self._largest = task.C  # the largest P so far, or C if that is more: what rounding errors are compared with
        self._ratio = 0.7  # the ratio of the gap to its estimate; typical of EG until the first certificate
        self._next = 1  # the pass after which a certificate is due, unless the estimate asks for it earlier

    def solve(self, state: Any = None) -> Solution:
        """Make passes until the gap reaches tol, the learner or an observer ends the run, or max_iter is reached."""
        with ExitStack() as ends:
            for observer in self._observers:
                ends.callback(self._end, observer)
                self._untimed(partial(observer.begin, self.task, self.learner))
            self._solution = self._solve(state)
        return self._solution

    def _end(self, observer: Observer) -> None:
        observer.end(self._solution)

    def _solve(self, state: Any) -> Solution:
        learner, task = self.learner, self.task
        otherwise = Ended.MAX_ITER
        try:
            state = self.resume(state)
            most = learner.most_iterations(task)
            while not (self.ended() or self._stop_reason) and len(self.history) < most:
                step = learner.one_pass(state)
                if step.primal is None and (step.done or self.should_certify(step)):
                    step = self.calibrate(step, learner.certify(state))
                self.add_record(step, self.is_exact(state))
                self.notify_observers(step)
                if step.interrupted:
                    raise KeyboardInterrupt
                self.write_checkpoint(state)
            self.write_checkpoint(state, last=True)  # before the certificate, which a longer run would not have
            self.certify_last_record(state)
        except KeyboardInterrupt:  # Checkpoints contain only complete passes.
            if not self.history:
                raise  # There is no model yet.
            otherwise = Ended.INTERRUPTED
            self.certify_last_record(state)
        if self.best is None:
            raise MargraveError(
                f"after {len(self.history)} iterations of learner '{learner.name}' no weights satisfy the hard margin "
                "yet: raise max_iter, or use slack=1."
            )
        of_observer = (Ended.OBSERVER if self._stop_reason else otherwise, self._stop_reason, False)
        ended, reason, converged = self.ended() or of_observer
        sentence = ending_sentence(ended, reason, self._notes(state))
        exact = self.is_exact(state)
        return Solution(self.best[1].copy(), self.best[0], self.history, converged, ended, sentence, state, exact)

    def _notes(self, state: Any) -> Iterator[str]:
        """The learner's note and, because P is computed from the outputs that were found, that on inference."""
        if note := self.learner.remark(state):
            yield note
        if not self.is_exact(state):
            relaxed = "relaxed_argmax" in getattr(self.task.problem, "offers", ()) and not self.task.loss.smooth
            yield "of the relaxed objective" if relaxed else "approximate: inference is not exact"

    def is_exact(self, state: Any) -> bool:
        """Whether inference is exact: that of the problem, and the learner's own search for constraints."""
        return bool(getattr(self.task.problem, "exact", True) and getattr(state, "exact", True))

    def should_certify(self, step: Step) -> bool:
        """Whether the estimate suggests that tol is reached, or a certificate is due; these become less frequent."""
        if step.estimate is None:
            return len(self.history) + 1 >= self._next
        self._next = max(self._next, _FIRST_CERTIFICATE)  # Occasional certificates update the ratio.
        gap = step.estimate * self._ratio
        known = 0.0 if self.best is None else self.best[0].primal or 0.0
        size = abs(known if step.dual is None else step.dual + gap)
        return gap <= self.task.tol * size or len(self.history) + 1 >= self._next

    def calibrate(self, seen: Step, certified: Step) -> Step:
        """The certificate; the ratio of the gap to its estimate is updated by it."""
        if seen.estimate and certified.gap is not None:
            self._ratio = float(np.clip(certified.gap / seen.estimate, 0.1, 10.0))
        self._next = max(len(self.history) + 2, ceil((1.2 if seen.estimate is None else 2) * (len(self.history) + 1)))
        return replace(certified, done=seen.done, stuck=seen.stuck)

    def add_record(self, step: Step, exact: bool = True) -> None:
        """Add a record to the history, and store the weights if they are the best."""
        objective = step.dual if step.primal is None else step.primal
        if objective is not None:
            self.task.check_finite(objective)
        seconds = time.perf_counter() - self._started
        record = Record(self.task.passes, seconds, step.primal, step.dual, step.gap, exact)
        if exact:
            self.check_bounds(record)
        if record.primal is not None:
            best = None if self.best is None else self.best[0].primal
            last = "last weights" in self.learner.offers
            if best is None or last or record.primal <= best or record.relative_gap <= self.task.tol:
                self.best = record, step.w
        if step.done:
            self._done = step.done, not step.stuck
        self.history.append(record)

    def check_bounds(self, record: Record) -> None:
        """Raise an error if D is above P by more than rounding, which exact inference cannot give."""
        if self._resumed and record.relative_gap < -_ROUNDING:
            raise MargraveError(
                "after the run was continued, D is above P, so the checkpoint has false constraints: remove the file."
            )
        self._largest = max(self._largest, abs(record.primal or 0.0))
        if record.gap is not None and not record.gap >= -_ROUNDING * self._largest:  # The gap can be NaN.
            raise MargraveError(
                f"P is {record.primal:.6g} and D {record.dual:.6g} after {self.task.passes:g} passes, but exact "
                "inference never gives a D above P: scale the features or lower C, and let a problem of your own say "
                "exact = False."
            )

    def notify_observers(self, step: Step) -> None:
        """Pass the last record and the weights, which are read-only, to the observers."""
        if not self._observers:
            return
        w = step.w.view()
        w.flags.writeable = False
        for observer in self._observers:
            reason = self._untimed(partial(observer.note, self.history[-1], w))
            self._stop_reason = self._stop_reason or reason or ""

    def _untimed(self, call: Callable[[], T]) -> T:
        """The result of the call, whose time does not count."""
        before = time.perf_counter()
        try:
            return call()
        finally:
            self._started += time.perf_counter() - before

    def certify_last_record(self, state: Any) -> None:
        """Add P to the last record if it has none."""
        if self.history[-1].primal is None:
            step = self.learner.certify(state)
            self.history.pop()
            self.add_record(step, self.is_exact(state))

    def ended(self) -> tuple[Ended, str, bool] | None:
        """How and why the run is over, and whether it is at the optimum; None if the run is not over."""
        gap, tol = self.history[-1].relative_gap if self.history else inf, self.task.tol
        if gap <= tol:
            return Ended.GAP, f"relative gap {gap:.2g} <= tol {tol:g}", True
        return None if self._done is None else (Ended.DONE, *self._done)

    def resume(self, state: Any) -> Any:
        """The state to begin with: the checkpoint's, if there is one."""
        learner, checkpoint = self.learner, self.task.checkpoint
        if checkpoint is None:
            return learner.begin(self.task) if state is None else state
        if not learner.resumable:
            learner.blank(self.task)  # This raises an error now instead of when the file is needed.
        self._fingerprint = fingerprint(self.task, learner.name, learner.settings())
        saved = checkpoint.read(self._fingerprint)
        if saved is None:
            return learner.begin(self.task) if state is None else state
        state = learner.blank(self.task)
        try:
            state.unpack(saved.plain, saved.arrays)
            self._set_kept(saved.arrays)
            self.history = [Record(*values) for values in saved.history]
            self.best = None if saved.best is None else (Record(*saved.best), saved.w)
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(
                checkpoint.path, None, f"this checkpoint lacks state that learner '{learner.name}' needs: remove it."
            ) from error
        try:
            state.verify()
            self._verify_best()
            for record in self.history:
                _verify_record(record)
            copy = learner.blank(self.task)  # What is computed to check the end of the run must not change the state.
            copy.unpack(saved.plain, saved.arrays)
            copy.verify()
            self._verify_end(copy, saved.done)
        except MargraveError as error:
            raise DataError(
                checkpoint.path, None, f"this checkpoint contradicts itself ({str(error).rstrip('.')}): remove it."
            ) from None
        self._set_kept(saved.arrays)  # The checks have changed the messages.
        self._resumed = True
        self.task.passes = saved.passes  # Neither the passes nor the time of the checks count.
        self._started = time.perf_counter() - self.history[-1].seconds
        self._ratio, self._next, self._done = saved.ratio, saved.next, saved.done
        return state

    def _kept(self) -> NDArray[np.float64] | None:
        """The messages that approximate inference keeps between passes; None if it keeps none."""
        kept = None if self.task.approximate is None else self.task.approximate.kept
        return None if kept is None or len(kept) == 0 else kept

    def _set_kept(self, arrays: dict[str, NDArray[Any]]) -> None:
        if self._kept() is None:
            return
        messages = arrays[_MESSAGES]
        check_that(messages.dtype == np.float64 and messages.ndim == 1, "messages are a list of numbers")
        self.task.approximate.kept = messages

    def _verify_best(self) -> None:
        """Refuse best weights that do not have the P of their record."""
        if self.best is None:
            return
        record, w = self.best
        check_that(
            w.dtype == np.float64 and w.shape == (self.task.problem.dim,), "the best weights are one per feature"
        )
        check_that(np.isfinite(w).all(), "the best weights are finite")
        # Messages that have not converged depend on where they started, and so does P.
        if "another objective" not in self.learner.offers and self._kept() is None:
            primal = np.asarray(record.primal, dtype=np.float64)
            check_same("P", primal, self.task.primal(w), terms=scale_of_losses(self.task, w))
        if record.dual is not None and record.exact:
            check_that(record.dual <= float(record.primal or 0.0) * (1 + 1e-9) + 1e-9, "D is at most P")

    def _verify_end(self, state: Any, done: tuple[str, bool] | None) -> None:
        """Refuse a last record that is not of the state, and an end that the next pass does not confirm.

        Where a gap reaches tol, but the state does not confirm it, what is computed again takes its place.
        """
        learner, task, record = self.learner, self.task, self.history[-1]
        primal, dual = _objectives(state)
        if record.primal is not None and primal is not None:
            check_same("last P", record.primal, primal)
        if record.dual is not None and dual is not None:
            check_same("last D", record.dual, dual)
        elif record.primal is not None and record.dual is not None and record.relative_gap <= task.tol:
            try:
                step = learner.certify(state)
            except MargraveError:  # It computes P in every pass, and D at w where beta is finite.
                w = getattr(state, "w", self.best[1] if self.best else np.zeros(task.problem.dim))
                step = Step(w, *task.certify(w))
            if not _confirmed(record.primal, record.dual, step):
                known = replace(record, primal=step.primal, dual=step.dual, gap=step.gap)
                self.history[-1] = known
                if self.best is not None and self.best[0] == record:
                    self.best = known, self.best[1]
        if done is not None and done[1]:
            step = learner.one_pass(state)
            check_that(bool(step.done) and not step.stuck, "the run is over")

    def write_checkpoint(self, state: Any, *, last: bool = False) -> None:
        """Write the checkpoint, if there is one and it is due."""
        if self.task.checkpoint is None or not self.history or not self.task.checkpoint.due(last):
            return
        if not isinstance(state, State):
            raise MargraveError(f"the state of learner '{self.learner.name}' is not a State, which a checkpoint needs.")
        plain, arrays = state.pack()
        if (kept := self._kept()) is not None:
            arrays = {**arrays, _MESSAGES: kept}
        self.task.checkpoint.write(
            self._fingerprint,
            Snapshot(
                plain,
                arrays,
                self.task.passes,
                [_values(record) for record in self.history],
                None if self.best is None else _values(self.best[0]),
                np.zeros(0) if self.best is None else self.best[1],
                self._ratio,
                self._next,
                self._done,
            ),
        )


def _verify_record(record: Record) -> None:
    """Refuse a record whose numbers contradict each other."""
    primal, dual, gap = record.primal, record.dual, record.gap
    if gap is not None:
        check_that(primal is not None and dual is not None, "a gap is that of P and D")
    if primal is None or dual is None or not record.exact:
        return
    if not isfinite(dual):
        check_that(gap in (None, inf), "there is no gap without D")
        return
    size = max(1.0, abs(primal), abs(dual))
    check_that(dual <= primal + _ROUNDING * size, "D is at most P")
    check_that(gap is None or abs(primal - dual - gap) <= 1e-9 * size, "the gap is P - D")


def _confirmed(primal: float, dual: float, step: Step) -> bool:
    """Whether P is no lower, and D no higher, than those that were computed again."""
    if step.primal is None or step.dual is None:
        return False
    rounding = 1e-9 * max(abs(step.primal), abs(step.dual))
    return primal >= step.primal - rounding and dual <= step.dual + rounding


def _objectives(state: Any) -> tuple[float | None, float | None]:
    """P and D of the last record, as far as the state of a learner has them."""
    if hasattr(state, "best_primal"):
        return state.best_primal, state.value
    return getattr(state, "primal", None), None


def _values(record: Record) -> list[Any]:
    """The record as stored in a checkpoint: five numbers and, only if inference was approximate, False."""
    values = [record.passes, record.seconds, record.primal, record.dual, record.gap]
    return values if record.exact else [*values, False]
