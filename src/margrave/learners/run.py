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

from margrave.errors import DataError, MargraveError, setting
from margrave.learners.checkpoint import Snapshot, fingerprint
from margrave.learners.ended import Ended, ending_sentence
from margrave.learners.objective import Objective, State, Step, Weights
from margrave.learners.observers import Observer, progress_observer
from margrave.learners.record import Record
from margrave.learners.resuming import check_same, check_that, scale_of_dual, scale_of_losses

if TYPE_CHECKING:
    from margrave.learners.base import Learner

T = TypeVar("T")


@dataclass(frozen=True)
class Solution:
    """The weights found, how they were found, and why the search ended.

    Parameters
    ----------
    w : the weights.
    certificate : the record of the weights.
    history : one record per pass.
    converged : whether the learner stopped at the optimum.
    ended : how the run ended.
    reason : the same in words: "relative gap ...", "gradient norm ...", "max_iter", "interrupted", ...
    state : the state of the learner, from which it can continue.
    exact : False if inference, and therefore the certificate, is approximate.
    """

    w: Weights
    certificate: Record
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
    """One optimization: its loop, its history, the best weights so far, and when to compute a certificate."""

    def __init__(self, learner: "Learner", objective: Objective) -> None:
        self.learner = learner
        self.objective = objective
        self.history: list[Record] = []
        self.best: tuple[Record, Weights] | None = None
        self._observers: Sequence[Observer] = (
            *objective.observers,
            *([progress_observer()] if objective.verbose else []),
        )
        self._started = time.perf_counter()
        self._fingerprint: dict[str, str] = {}
        self._resumed_at = 0  # the number of passes that the checkpoint had, which no pass of this process has checked
        self._done: tuple[str, bool] | None = None  # the learner's own reason to stop, and whether it is the optimum
        self._stop_reason = ""  # the reason that an observer gave to end the run
        self._solution: Solution | None = None
        self._largest = (
            objective.C
        )  # the largest P so far, or C if that is more: what rounding errors are compared with
        self._ratio = 0.7  # the ratio of the gap to its estimate; typical of EG until the first certificate
        self._next = 1  # the pass after which a certificate is due, unless the estimate asks for it earlier

    def solve(self, state: Any = None) -> Solution:
        """Make passes until the gap reaches tol, the learner or an observer ends the run, or max_iter is reached."""
        with ExitStack() as ends:
            for observer in self._observers:
                ends.callback(self._end, observer)
                self._untimed(partial(observer.begin, self.objective, self.learner))
            self._solution = self._solve(state)
        return self._solution

    def _end(self, observer: Observer) -> None:
        observer.end(self._solution)

    def _solve(self, state: Any) -> Solution:
        learner, objective = self.learner, self.objective
        otherwise = Ended.MAX_ITER
        try:
            state = self.resume(state)
            most = learner.most_iterations(objective)
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
            if 0 < self._resumed_at < len(self.history):
                self._check_state(*state.pack())
        except KeyboardInterrupt:  # Checkpoints contain only complete passes.
            if not self.history:
                raise  # There is no model yet.
            otherwise = Ended.INTERRUPTED
            self.certify_last_record(state)
        if self.best is None:
            raise MargraveError(
                f"after {len(self.history)} iterations of learner '{learner.name}' no weights satisfy the hard margin "
                "yet: raise max_iter, or use ",
                setting(slack=1),
                ".",
            )
        of_observer = (Ended.OBSERVER if self._stop_reason else otherwise, self._stop_reason, False)
        ended, reason, converged = self.ended() or of_observer
        sentence = ending_sentence(ended, reason, self._notes(state))
        exact = self.is_exact(state)
        return Solution(self.best[1].copy(), self.best[0], self.history, converged, ended, sentence, state, exact)

    def _notes(self, state: Any) -> Iterator[str]:
        """The learner's note and, because P is computed from the outputs that were found, that on inference."""
        if note := self.learner.note(state):
            yield note
        if not self.is_exact(state):
            relaxed = (
                "relaxed_argmax" in getattr(self.objective.problem, "offers", ()) and not self.objective.loss.smooth
            )
            yield "of the relaxed objective" if relaxed else "approximate: inference is not exact"

    def is_exact(self, state: Any) -> bool:
        """Whether inference is exact: that of the problem, and the learner's own search for constraints."""
        return bool(getattr(self.objective.problem, "exact", True) and getattr(state, "exact", True))

    def should_certify(self, step: Step) -> bool:
        """Whether the estimate suggests that tol is reached, or a certificate is due; these become less frequent."""
        if step.estimate is None:
            return len(self.history) + 1 >= self._next
        self._next = max(self._next, _FIRST_CERTIFICATE)  # Occasional certificates update the ratio.
        gap = step.estimate * self._ratio
        known = 0.0 if self.best is None else self.best[0].primal or 0.0
        size = abs(known if step.dual is None else step.dual + gap)
        return gap <= self.objective.tol * size or len(self.history) + 1 >= self._next

    def calibrate(self, seen: Step, certified: Step) -> Step:
        """The certificate; the ratio of the gap to its estimate is updated by it."""
        if seen.estimate and certified.gap is not None:
            self._ratio = float(np.clip(certified.gap / seen.estimate, 0.1, 10.0))
        self._next = max(len(self.history) + 2, ceil((1.2 if seen.estimate is None else 2) * (len(self.history) + 1)))
        return replace(certified, done=seen.done, stuck=seen.stuck)

    def add_record(self, step: Step, exact: bool = True) -> None:
        """Add a record to the history, and store the weights if they are the best."""
        value = step.dual if step.primal is None else step.primal
        if value is not None:
            self.objective.check_finite(value)
        seconds = time.perf_counter() - self._started
        record = Record(self.objective.passes, seconds, step.primal, step.dual, step.gap, exact)
        if exact:
            self.check_bounds(record)
        if record.primal is not None:
            best = None if self.best is None else self.best[0].primal
            last = "last weights" in self.learner.offers
            if best is None or last or record.primal <= best or record.relative_gap <= self.objective.tol:
                self.best = record, step.w
        if step.done:
            self._done = step.done, not step.stuck
        self.history.append(record)

    def check_bounds(self, record: Record) -> None:
        """Raise an error if D is above P by more than rounding, which exact inference cannot give."""
        self._largest = max(self._largest, abs(record.primal or 0.0))
        if record.gap is not None and not record.gap >= -_ROUNDING * self._largest:  # The gap can be NaN.
            raise MargraveError(
                f"P is {record.primal:.6g} and D {record.dual:.6g} after {self.objective.passes:g} passes, but exact "
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
        gap, tol = self.history[-1].relative_gap if self.history else inf, self.objective.tol
        if gap <= tol:
            return Ended.GAP, f"relative gap {gap:.2g} <= tol {tol:g}", True
        return None if self._done is None else (Ended.DONE, *self._done)

    def resume(self, state: Any) -> Any:
        """The state to begin with: the checkpoint's, if there is one."""
        learner, checkpoint = self.learner, self.objective.checkpoint
        if checkpoint is None:
            return learner.begin(self.objective) if state is None else state
        if not learner.resumable:
            learner.blank(self.objective)  # This raises an error now instead of when the file is needed.
        self._fingerprint = fingerprint(self.objective, learner.name, learner.settings())
        saved = checkpoint.read(self._fingerprint)
        if saved is None:
            return learner.begin(self.objective) if state is None else state
        state = learner.blank(self.objective)
        try:
            state.unpack(saved.plain, saved.arrays)
            self._set_messages(saved.arrays)
            self.history = [Record(*values) for values in saved.history]
            self.best = None if saved.best is None else (Record(*saved.best), saved.w)
        except (LookupError, TypeError, ValueError) as error:
            raise DataError(
                checkpoint.path, None, f"this checkpoint lacks state that learner '{learner.name}' needs: remove it."
            ) from error
        self._check_state(saved.plain, saved.arrays, saved.done)
        self._resumed_at = len(self.history)
        self.objective.passes = saved.passes
        self._started = time.perf_counter() - self.history[-1].seconds  # The time of the check does not count.
        self._ratio, self._next, self._done = saved.ratio, saved.next, saved.done
        return state

    def _check_state(
        self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]], done: tuple[str, bool] | None = None
    ) -> None:
        """Refuse a state whose P, D or end is not true: all of it is computed again, on a copy.

        The copy is made because computing changes a state in its last bits, and the passes of the check do not count.
        """
        assert self.objective.checkpoint is not None
        passes, messages = self.objective.passes, self._messages()
        messages = None if messages is None else messages.copy()
        copy = self.learner.blank(self.objective)
        copy.unpack(plain, arrays)
        try:
            copy.verify()
            self._check_best()
            self._check_last(copy)
            if done is not None and done[1]:
                step = self.learner.one_pass(copy)
                check_that(bool(step.done) and not step.stuck, "the run is over")
        except MargraveError as error:
            raise DataError(
                self.objective.checkpoint.path,
                None,
                f"this checkpoint contradicts itself ({str(error).rstrip('.')}): remove it.",
            ) from None
        self.objective.passes = passes
        if messages is not None:
            self.objective.approximate.kept = messages

    def _messages(self) -> NDArray[np.float64] | None:
        """The messages that approximate inference keeps between passes; None if it keeps none."""
        messages = None if self.objective.approximate is None else self.objective.approximate.kept
        return None if messages is None or len(messages) == 0 else messages

    def _set_messages(self, arrays: dict[str, NDArray[Any]]) -> None:
        if self._messages() is None:
            return
        messages = arrays[_MESSAGES]
        check_that(messages.dtype == np.float64 and messages.ndim == 1, "messages are a list of numbers")
        self.objective.approximate.kept = messages

    def _check_best(self) -> None:
        """Refuse best weights that do not have the P of their record."""
        if self.best is None:
            return
        record, w = self.best
        check_that(
            w.dtype == np.float64 and w.shape == (self.objective.problem.dim,), "the best weights are one per feature"
        )
        check_that(np.isfinite(w).all(), "the best weights are finite")
        # Messages that have not converged depend on where they started, and so does P.
        if "another objective" not in self.learner.offers and self._messages() is None:
            primal = np.asarray(record.primal, dtype=np.float64)
            check_same("P", primal, self.objective.primal(w), terms=scale_of_losses(self.objective, w))
        _check_gap(record)

    def _check_last(self, state: State) -> None:
        """Refuse a last record that is not that of the state; where it would end the run, it must have a D."""
        record = self.history[-1]
        _check_gap(record)
        primal, dual, _ = state.objectives()
        ends = record.relative_gap <= self.objective.tol
        if ends and (primal is None or dual is None):
            step = self.learner.certify(state)
            primal, dual = step.primal, step.dual
            check_that(dual is not None, "a gap is that of P and D")
        if self._messages() is not None:
            return
        w = getattr(state, "w", None)
        terms = 0.0 if w is None else scale_of_dual(self.objective, w)
        for name, stored, computed in (("last P", record.primal, primal), ("last D", record.dual, dual)):
            if stored is not None and computed is not None and isfinite(stored):
                check_same(name, stored, computed, state.rounding, terms)

    def write_checkpoint(self, state: Any, *, last: bool = False) -> None:
        """Write the checkpoint, if there is one and it is due."""
        if self.objective.checkpoint is None or not self.history or not self.objective.checkpoint.due(last):
            return
        if not isinstance(state, State):
            raise MargraveError(f"the state of learner '{self.learner.name}' is not a State, which a checkpoint needs.")
        plain, arrays = state.pack()
        if (messages := self._messages()) is not None:
            arrays = {**arrays, _MESSAGES: messages}
        self.objective.checkpoint.write(
            self._fingerprint,
            Snapshot(
                plain,
                arrays,
                self.objective.passes,
                [_values(record) for record in self.history],
                None if self.best is None else _values(self.best[0]),
                np.zeros(0) if self.best is None else self.best[1],
                self._ratio,
                self._next,
                self._done,
            ),
        )


def _check_gap(record: Record) -> None:
    """Refuse a record with a gap that is not that of its P and D."""
    primal, dual, gap = record.primal, record.dual, record.gap
    if gap is None or not isfinite(gap):
        return
    if primal is None or dual is None:
        raise MargraveError("a gap is that of P and D")
    check_same("gap", gap, primal - dual, terms=1e3 * (abs(primal) + abs(dual)))


def _values(record: Record) -> list[Any]:
    """The record as stored in a checkpoint: five numbers and, only if inference was approximate, False."""
    values = [record.passes, record.seconds, record.primal, record.dual, record.gap]
    return values if record.exact else [*values, False]
