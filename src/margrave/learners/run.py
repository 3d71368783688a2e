"""The loop that all learners share: passes, history, certificates, checkpoints, observers, Ctrl-C, and time limits."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf, isfinite
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import DataError, MargraveError, TimeUpError, setting
from margrave.learners.checkpoint import Snapshot, fingerprint
from margrave.learners.ended import Ended, ending_sentence
from margrave.learners.objective import Objective, State, Step, Weights
from margrave.learners.observers import Observer, progress_observer
from margrave.learners.record import Record
from margrave.learners.resuming import check_same, check_that, is_same, scale_of_dual, scale_of_losses

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
        """Make passes until the gap reaches tol, the learner or an observer ends the run, or a limit is reached."""
        with ExitStack() as ends:
            for observer in self._observers:
                ends.callback(self._end, observer)
                self._untimed(partial(observer.begin, self.objective, self.learner))
            ends.callback(self._restore_limit, _core.seconds_left(), time.perf_counter())
            self._solution = self._solve(state)
        return self._solution

    def _restore_limit(self, left: float, then: float) -> None:
        """Go back to the deadline of a run around this one."""
        _core.set_seconds_left(left - (time.perf_counter() - then))

    def _end(self, observer: Observer) -> None:
        observer.end(self._solution)

    def _solve(self, state: Any) -> Solution:
        learner, objective = self.learner, self.objective
        otherwise = Ended.MAX_ITER
        try:
            state = self.resume(state)
            self.limit_time()
            most = learner.most_iterations(objective)
            while not (self.ended() or self._stop_reason) and len(self.history) < most:
                _core.check_signals()
                step = learner.one_pass(state)
                if step.primal is None and (step.done or self.should_certify(step)):
                    step = self.calibrate(step, learner.certify(state))
                self.add_record(step, state)
                self.notify_observers(step)
                if step.interrupted:
                    raise step.interrupted
                self.write_checkpoint(state)
            _core.set_seconds_left(inf)  # The certificate is not cut short.
            self.write_checkpoint(state, last=True)  # before the certificate, which a longer run would not have
            self.certify_last_record(state)
            if 0 < self._resumed_at < len(self.history):
                self._check_state(*state.pack())
        except KeyboardInterrupt:  # Checkpoints contain only complete passes.
            if not self.history:
                raise  # There is no model yet.
            otherwise = Ended.INTERRUPTED
            _core.set_seconds_left(inf)
            self.certify_last_record(state)
        except TimeUpError:
            otherwise = Ended.MAX_SECONDS
            _core.set_seconds_left(inf)
            self.certify_last_record(state)
        if self.best is None:
            raise MargraveError(
                f"after {len(self.history)} iterations of learner '{learner.name}' no weights satisfy the hard margin "
                "yet: raise max_iter or max_seconds, or use ",
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
        dual = step.dual_estimate if step.dual is None else step.dual
        size = abs(known if dual is None else dual + gap)
        return gap <= self.objective.tol * size or len(self.history) + 1 >= self._next

    def calibrate(self, seen: Step, certified: Step) -> Step:
        """The certificate; the ratio of the gap to its estimate is updated by it."""
        if seen.estimate and certified.gap is not None:
            self._ratio = float(np.clip(certified.gap / seen.estimate, 0.1, 10.0))
        self._next = max(len(self.history) + 2, ceil((1.2 if seen.estimate is None else 2) * (len(self.history) + 1)))
        return replace(certified, done=seen.done, stuck=seen.stuck)

    def add_record(self, step: Step, state: Any) -> None:
        """Add a record to the history, and store the weights if they are the best."""
        exact = self.is_exact(state)
        value = step.dual if step.primal is None else step.primal
        if value is not None:
            self.objective.check_finite(value)
        seconds = time.perf_counter() - self._started
        record = Record(self.objective.passes, seconds, step.primal, step.dual, step.gap, exact)
        self._largest = max(self._largest, abs(record.primal or 0.0))
        if exact:
            self.check_bounds(record)
        if record.primal is not None:
            best = None if self.best is None else self.best[0].primal
            last = "last weights" in self.learner.offers
            if best is None or last or record.primal <= best or self.reached_tol(record):
                self.best = record, step.w
            elif not exact:
                self.keep_best(record, step.w, state)
        if step.done:
            self._done = step.done, not step.stuck
        self.history.append(record)

    def keep_best(self, record: Record, w: Weights, state: Any) -> None:
        """Keep the best weights if their P, with all outputs that are known now, is still below that of the record."""
        assert self.best is not None
        before, kept = self.best
        assert before.primal is not None and record.primal is not None
        primal = max(before.primal, self.learner.known_primal(state, kept))
        if record.primal <= primal:
            self.best = record, w
        elif primal > before.primal:
            dual = record.dual if before.dual is None else max(before.dual, record.dual or -inf)
            gap = None if dual is None else primal - dual
            self.best = replace(before, primal=primal, dual=dual, gap=gap, exact=False), kept

    def is_rounding(self, gap: float) -> bool:
        """Whether a gap is not negative beyond rounding, which NaN is not either."""
        return gap >= -_ROUNDING * self._largest

    def reached_tol(self, record: Record) -> bool:
        """Whether the gap is at most tol. A negative gap proves that P or D is wrong, and no optimum."""
        return record.relative_gap <= self.objective.tol and self.is_rounding(record.gap or 0.0)

    def check_bounds(self, record: Record) -> None:
        """Raise an error if D is above P by more than rounding, which exact inference cannot give."""
        if record.gap is not None and not self.is_rounding(record.gap):
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

    def limit_time(self) -> None:
        """Set the deadline, unless a run around this one has an earlier one. Seconds count as in the history."""
        if self.objective.max_seconds is not None:
            left = self.objective.max_seconds - (time.perf_counter() - self._started)
            _core.set_seconds_left(min(left, _core.seconds_left()))

    def _untimed(self, call: Callable[[], T]) -> T:
        """The result of the call, whose time does not count."""
        before, left = time.perf_counter(), _core.seconds_left()
        _core.set_seconds_left(inf)
        try:
            return call()
        finally:
            _core.set_seconds_left(left)
            self._started += time.perf_counter() - before

    def certify_last_record(self, state: Any) -> None:
        """Add P to the last record if it has none; a run that ended within its first pass gets its only record."""
        if not self.history or self.history[-1].primal is None:
            step = self.learner.certify(state)
            del self.history[-1:]
            self.add_record(step, state)

    def ended(self) -> tuple[Ended, str, bool] | None:
        """How and why the run is over, and whether it is at the optimum; None if the run is not over."""
        if self.history and self.reached_tol(self.history[-1]):
            gap = max(self.history[-1].relative_gap, 0.0)  # Below zero it is rounding.
            return Ended.GAP, f"relative gap {gap:.2g} <= tol {self.objective.tol:g}", True
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
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise DataError(
                checkpoint.path, None, f"this checkpoint lacks state that learner '{learner.name}' needs: remove it."
            ) from error
        self._check_state(saved.plain, saved.arrays, saved.done, first=True)
        self._resumed_at = len(self.history)
        self.objective.passes = saved.passes
        self._started = time.perf_counter() - (self.history[-1].seconds or 0.0)  # The time of the check does not count.
        self._ratio, self._next, self._done = saved.ratio, saved.next, saved.done
        return state

    def _check_state(
        self,
        plain: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        done: tuple[str, bool] | None = None,
        *,
        first: bool = False,
    ) -> None:
        """Refuse a state whose P, D or end is not true: all of it is computed again, on a copy.

        With `first`, the state is that of a checkpoint, of which this process has computed nothing yet.

        The copy is made because computing changes a state in its last bits, and the passes of the check do not count.
        """
        assert self.objective.checkpoint is not None
        passes, messages = self.objective.passes, self._messages()
        messages = None if messages is None else messages.copy()
        copy = self.learner.blank(self.objective)
        copy.unpack(plain, arrays)
        try:
            copy.verify()
            self._check_best(copy)
            self._check_last(copy)
            if first:
                self._prove_best(copy)
            if done is not None:
                step = self.learner.one_pass(copy)
                check_that(bool(step.done) and step.stuck != done[1], "the run is over")
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

    def _check_best(self, state: State) -> None:
        """Refuse best weights that do not have the P of their record; it may count outputs that a search misses."""
        if self.best is None:
            return
        record, w = self.best
        check_that(
            w.dtype == np.float64 and w.shape == (self.objective.problem.dim,), "the best weights are one per feature"
        )
        check_that(np.isfinite(w).all(), "the best weights are finite")
        # Messages that have not converged depend on where they started, and so does P.
        if "another objective" not in self.learner.offers and self._messages() is None:
            primal, found = np.asarray(record.primal, dtype=np.float64), self.objective.primal(w)
            if not self.is_exact(state) and self.learner.known_primal(state, w) > -inf:
                found = max(found, float(primal))
            check_same("P", primal, found, terms=scale_of_losses(self.objective, w))
        _check_gap(record)

    def _prove_best(self, state: State) -> None:
        """Take from the record of the best weights a D that nothing proves: neither the state nor the weights.

        D of the state is at least that of any earlier pass, unless a learner's D can fall. At finite beta, the weights
        have a bound of their own. If inference is not exact, D is an estimate, and the record says so.
        """
        if self.best is None or not self.is_exact(state):
            return
        record, w = self.best
        if record.dual is None or record.primal is None or not isfinite(record.dual):
            return
        terms = scale_of_dual(self.objective, w)
        proven = -inf
        for objectives in (state.objectives, partial(self.objective.certify, w)):  # The second takes a pass.
            found = objectives()[1]
            proven = proven if found is None else max(proven, found)
            if is_same(max(record.dual, proven), proven, state.rounding, terms):
                return
        nothing = proven == -inf
        self.best = (
            replace(record, dual=None if nothing else proven, gap=None if nothing else record.primal - proven),
            w,
        )

    def _check_last(self, state: State) -> None:
        """Refuse a last record that is not that of the state; where it would end the run, it must have a D."""
        record = self.history[-1]
        _check_gap(record)
        primal, dual, _ = state.objectives()
        ends = self.reached_tol(record)
        if ends and (primal is None or dual is None):
            step = self.learner.certify(state)
            primal, dual = step.primal, step.dual if dual is None else dual
            check_that(dual is not None, "a gap is that of P and D")
        if self._messages() is not None:
            return
        result = self.learner.result(state) if self.is_exact(state) else None
        if result is not None and record.primal is not None and isfinite(record.primal):
            found = self.objective.primal(result)
            check_same("last P", record.primal, found, state.rounding, scale_of_losses(self.objective, result))
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
    finite = gap is not None and isfinite(gap)
    if primal is None or dual is None or not isfinite(dual):
        check_that(not finite, "a gap is that of P and D")
    else:
        check_that(finite, "P and D have a gap")
        check_same("gap", gap, primal - dual, terms=1e3 * (abs(primal) + abs(dual)))  # type: ignore[arg-type]


def _values(record: Record) -> list[Any]:
    """The record as stored in a checkpoint: five numbers and, only if inference was approximate, False."""
    values = [record.passes, record.seconds, record.primal, record.dual, record.gap]
    return values if record.exact else [*values, False]
