"""Observers of a run: the progress bar, lines for output that is not a terminal, and the base for users' own."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from margrave.errors import MargraveError, quoted
from margrave.learners.objective import Objective, Weights
from margrave.learners.record import Record

if TYPE_CHECKING:
    from margrave.learners.base import Learner
    from margrave.learners.run import Solution


class Observer:
    """Observes a run. Derive a class from it, override the methods that you need, and pass it in `Objective.observers`.

    The time that observers take is not counted in `Record.seconds`, and the weights that they get are read-only, so
    that observers do not change the result of a run. An exception in an observer ends the run and is passed to the
    caller.

    >>> class Curve(Observer):
    ...     def __init__(self):
    ...         self.points = []
    ...     def note(self, record, w):
    ...         self.points.append((record.passes, record.primal))
    """

    def begin(self, objective: Objective, learner: "Learner") -> None:
        """Called before the first pass.

        Parameters
        ----------
        objective : the objective of the run.
        learner : the learner that runs.
        """

    def note(self, record: Record, w: Weights) -> str | None:
        """Called after every pass; returning a text ends the run, with this text as the reason.

        Parameters
        ----------
        record : the objectives after the pass.
        w : the weights after the pass. The next pass changes them, so copy them if you need them later.
        """
        return None

    def end(self, solution: "Solution | None") -> None:
        """Called at the end of the run.

        Parameters
        ----------
        solution : the solution, or None if the run ended with an exception.
        """


def as_observers(given: Any) -> tuple[Observer, ...]:
    """The observers that a user passes as a tuple; an error if they are something else."""
    found = tuple(given) if isinstance(given, list | tuple) else (given,)
    for each in found:
        if not isinstance(each, Observer):
            raise MargraveError(
                f"observers must be a list of objects of margrave.learners.Observer, and one is {quoted(each)}."
            )
    return found


class ProgressBar(Observer):
    """A line on the terminal that shows the progress of the run and disappears at its end."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._line: Any = None

    def begin(self, objective: Objective, learner: "Learner") -> None:
        """Shows the learner's name, and how much memory it takes if that is much."""
        self._bar.start()
        self._line = self._bar.add_task(learner.name, total=None, state=_memory(objective, learner))

    def note(self, record: Record, w: Weights) -> None:
        """Shows the record."""
        self._bar.update(self._line, state=describe(record))

    def end(self, solution: "Solution | None") -> None:
        """Removes the line."""
        self._bar.stop()


_FIRST_WAIT = 2.0  # seconds between the first line and the next
_LONGER_WAIT = 1.5  # the factor by which the wait grows after each line
_LONGEST_WAIT = 60.0  # the maximum number of seconds between two lines


class LinePrinter(Observer):
    """Prints a line after the first pass, then at growing intervals, and at the end.

    Parameters
    ----------
    stream : where to print; None is the error stream.
    clock : a function that returns the time in seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._name = ""
        self._wait, self._due = _FIRST_WAIT, 0.0

    def begin(self, objective: Objective, learner: "Learner") -> None:
        """Prints how much memory the run takes if that is much, and otherwise nothing before the first pass."""
        self._name = learner.name
        if memory := _memory(objective, learner):
            self._print(memory)
        self._wait, self._due = _FIRST_WAIT, self._clock()

    def note(self, record: Record, w: Weights) -> None:
        """Prints the record if a line is due."""
        now = self._clock()
        if now < self._due:
            return
        self._print(f"{describe(record)}  {record.seconds or 0.0:.1f} s")
        self._due = now + self._wait
        self._wait = min(self._wait * _LONGER_WAIT, _LONGEST_WAIT)

    def end(self, solution: "Solution | None") -> None:
        """Prints the last record and the reason why the run ended."""
        if solution is not None:
            last = solution.history[-1]
            self._print(f"{describe(last)}  {last.seconds or 0.0:.1f} s: {solution.reason}")

    def _print(self, text: str) -> None:
        stream = self._stream or sys.stderr
        if stream is not None:  # as where a service has closed it
            print(f"{self._name}: {text}", file=stream, flush=True)


_MUCH = 10 * 2**20  # bytes


def _memory(objective: Objective, learner: "Learner") -> str:
    """How much memory a run takes; empty if that is little, or not known before the run."""
    size = learner.required_bytes(objective.loss, objective.problem) or 0
    return f"takes {size / 2**20:.0f} MB besides data and weights" if size >= _MUCH else ""


def progress_observer() -> Observer:
    """The progress bar if the error stream is a terminal, otherwise the line printer."""
    return ProgressBar() if sys.stderr is not None and sys.stderr.isatty() else LinePrinter()


def describe(record: Record) -> str:
    """A record in one line.

    >>> describe(Record(3.0, 0.1, primal=2.0, dual=1.5, gap=0.5))
    'pass 3  P 2  D 1.5  relative gap 2.50e-01'
    """
    values = [f"{name} {value:.6g}" for name, value in (("P", record.primal), ("D", record.dual)) if value is not None]
    gap = [] if record.gap is None else [f"relative gap {record.relative_gap:.2e}"]
    return "  ".join([f"pass {record.passes:.4g}", *values, *gap])
