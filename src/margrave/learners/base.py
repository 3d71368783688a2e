"""What all learners share: the run loop, the history, the certificate, and what happens on Ctrl-C.

A learner is a dataclass with its settings, `begin(task)`, which makes its state, and `one_pass(state)`, which improves
it and says where it stands. Everything else is here.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, isfinite
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.errors import MargraveError
from margrave.losses import LossFamily

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    """Where a learner stood after a pass; `dual` and `gap` are None where there is no certificate."""

    passes: float  # effective passes over the data: every inference counts (002, section 7)
    seconds: float
    primal: float
    dual: float | None = None
    gap: float | None = None

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal objective; infinite where there is none."""
        return inf if self.gap is None else self.gap / max(abs(self.primal), 1e-300)


@dataclass(frozen=True)
class Solution:
    """The weights found, how they were found, and why the search ended."""

    w: Weights
    kept: Record  # where the learner stood at w
    history: list[Record]
    converged: bool
    reason: str  # "relative gap ...", "gradient norm ...", "max_iter", "interrupted", ...


@dataclass
class Task:
    """One optimisation problem: minimise P(w) = 1/2 |w|^2 + C sum_i sample_weight_i L_i(w)."""

    problem: _core.Problem
    loss: LossFamily
    C: float = 1.0
    sample_weight: Weights | None = None
    max_iter: int | None = None  # None: the learner's own default
    tol: float = 1e-4  # on the relative gap
    n_threads: int | None = None  # None: all processors
    seed: int = 0
    verbose: bool = False
    dev_score: Callable[[Weights], float] | None = None  # higher is better
    passes: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.C, self.tol, self.max_iter, self.n_threads, self.seed = check_settings(
            self.C, self.tol, self.max_iter, self.n_threads, self.seed
        )
        if self.problem.size == 0:
            raise MargraveError("there are no examples to learn from.")
        if self.sample_weight is not None:
            try:
                weight = np.ascontiguousarray(self.sample_weight, dtype=np.float64)
            except (TypeError, ValueError):
                raise MargraveError("sample_weight must be a list of numbers, one an example.") from None
            if weight.shape != (self.problem.size,):
                raise MargraveError(f"sample_weight must have one number an example: {self.problem.size} of them.")
            if not np.isfinite(weight).all() or (weight < 0).any():
                raise MargraveError("sample_weight must be finite and not negative.")
            if not weight.any():
                raise MargraveError("sample_weight must not be zero for every example.")
            self.sample_weight = weight

    @property
    def threads(self) -> int:
        """The number of threads to use."""
        return available_threads(self.n_threads)

    def losses(self, w: Weights, *, gradient: bool = False) -> tuple[float, Weights]:
        """C sum_i sample_weight_i L_i(w) and its gradient (empty unless asked for); one pass."""
        self.passes += 1
        losses, slope = _core.losses_and_gradient(
            self.problem,
            w,
            self.loss.beta,
            self.loss.gamma,
            self.loss.zero_one,
            self.C,
            self.sample_weight,
            self.threads,
            gradient,
        )
        total = losses.sum() if self.sample_weight is None else (losses * self.sample_weight).sum()
        return self.C * float(total), slope

    def primal(self, w: Weights) -> float:
        """P(w); one pass."""
        return 0.5 * self.problem.dot(w, w) + self.losses(w)[0]

    def objective(self, w: Weights) -> tuple[float, Weights]:
        """P(w) and its gradient; one pass."""
        loss, slope = self.losses(w, gradient=True)
        slope += w
        return 0.5 * self.problem.dot(w, w) + loss, slope

    def check_finite(self, primal: float) -> None:
        """Refuses to go on from an objective that is no number."""
        if not isfinite(primal):
            raise MargraveError(
                f"the objective is {primal} after {self.passes:g} passes: scale the features, or lower C."
            )

    def certify(self, w: Weights) -> tuple[float, float | None, float | None]:
        """P, D and the gap at any w; one pass. At beta = inf a primal w has no certificate.

        With alpha the loss's own distribution at w, w(alpha) = w - grad P(w), so the gap is half the squared norm of
        the gradient (docs/design.md, section 1).
        """
        if not self.loss.smooth:
            return self.primal(w), None, None
        primal, slope = self.objective(w)
        gap = 0.5 * self.problem.dot(slope, slope)
        return primal, primal - gap, gap


def check_settings(
    C: Any, tol: Any, max_iter: Any, n_threads: Any, seed: Any
) -> tuple[float, float, int | None, int | None, int]:
    """What every estimator passes on to its learner, refused in one sentence where it makes no sense."""
    return (
        real("C", C, "be positive and finite", lambda C: 0 < C < inf),
        real("tol", tol, "be a number that is not negative", lambda tol: tol >= 0),
        None if max_iter is None else whole("max_iter", max_iter, 1, 10**9),
        None if n_threads is None else whole("n_threads", n_threads, 1, 1024),
        _seed(seed),
    )


def _seed(seed: Any) -> int:
    if not isinstance(seed, Integral) or seed < 0:
        raise MargraveError(f"seed must be a whole number that is not negative, and it is {seed!r}.")
    return int(seed)


@dataclass
class Step:
    """What one pass came to."""

    w: Weights
    primal: float
    dual: float | None = None
    gap: float | None = None
    done: str = ""  # a reason to stop that only the learner knows
    stuck: bool = False  # that reason is a failure, not the optimum


@dataclass
class Learner:
    """The base of all learners."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  # of the structure, beyond what the loss needs
    smooth_only: ClassVar[bool] = False  # needs a gradient everywhere: finite beta
    regularised: ClassVar[bool] = True  # minimises P; at (inf, 0) that would be w = 0
    keeps_last: ClassVar[bool] = False  # the result is the last iterate, not the one with the lowest P
    reaches_tol: ClassVar[bool] = False  # its gap falls below tol in time, so that ending earlier is a warning
    default_max_iter: ClassVar[int] = 100

    def begin(self, task: Task) -> Any:
        """The state before the first pass."""
        raise MargraveError(f"the learner {type(self).__name__} does not say how it begins.")

    def one_pass(self, state: Any) -> Step:
        """One improvement."""
        raise MargraveError(f"the learner {type(self).__name__} has no passes.")

    def solve(self, task: Task) -> Solution:
        """Passes until the certificate is good enough, the learner is done, or the passes are used up."""
        check(self, task.loss, task.problem)
        start = time.perf_counter()
        history: list[Record] = []
        best: tuple[Record, Weights] | None = None
        reason, converged = "max_iter", False
        with progress(task.verbose, self.name) as show:
            try:
                state = self.begin(task)
                for _ in range(task.max_iter or self.default_max_iter):
                    step = self.one_pass(state)
                    task.check_finite(step.primal)
                    seconds = time.perf_counter() - start
                    record = Record(task.passes, seconds, step.primal, step.dual, step.gap)
                    if best is None or self.keeps_last or record.primal <= best[0].primal:
                        best = record, step.w
                    history.append(record)
                    show(record)
                    if record.relative_gap <= task.tol:
                        reason, converged = f"relative gap {record.relative_gap:.2g} <= tol {task.tol:g}", True
                        break
                    if step.done:
                        reason, converged = step.done, not step.stuck
                        break
            except KeyboardInterrupt:
                if best is None:
                    raise  # there is no model yet
                reason = "interrupted"
        assert best is not None  # max_iter is at least 1
        return Solution(best[1].copy(), best[0], history, converged, reason)


def available_threads(wanted: int | None) -> int:
    """The number asked for, or that of the processors this process may use."""
    if wanted is not None:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_loss(learner: Learner, loss: LossFamily) -> None:
    """Refuses a loss that the learner cannot minimise, in one sentence that says what would work."""
    if learner.smooth_only and not loss.smooth:
        raise MargraveError(
            f"learner '{learner.name}' needs a smooth loss, and {loss.name} has beta = inf: use learner='sgd', or "
            "loss='softmax-margin'."
        )
    if learner.regularised and not loss.smooth and loss.gamma == 0:
        raise MargraveError(
            f"under the perceptron loss the regularised optimum is w = 0, so learner '{learner.name}' refuses it: use "
            "learner='perceptron', or loss='hinge'."
        )


def check(learner: Learner, loss: LossFamily, problem: _core.Problem) -> None:
    """Refuses a combination that cannot work, in one sentence that says what would."""
    check_loss(learner, loss)
    offers = problem.offers
    for need in (*loss.needs, *learner.needs):
        if need not in offers:
            raise MargraveError(
                f"learner '{learner.name}' with loss {loss.name} needs '{need}', and this problem offers only "
                f"{', '.join(offers) or 'nothing'}{_ADVICE.get(need, '')}."
            )


_ADVICE = {
    "untied": ": pass tied=False",
    "logsum": ": use loss='hinge' with learner='sgd'",
}


@contextmanager
def progress(shown: bool, name: str) -> Iterator[Callable[[Record], None]]:
    """A line that follows the passes, on a terminal; nothing elsewhere."""
    if not shown:
        yield lambda record: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        line = bar.add_task(name, total=None, state="")

        def show(record: Record) -> None:
            gap = "" if record.gap is None else f"  relative gap {record.relative_gap:.2e}"
            bar.update(line, state=f"pass {record.passes:g}  P {record.primal:.6g}{gap}")

        yield show
