"""What all learners share: the run loop, the history, the certificate, checkpoints, and what happens on Ctrl-C.

A learner is a dataclass with its settings, `begin(task)`, which makes its state, and `one_pass(state)`, which improves
it and says where it stands. Everything else is here.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from math import ceil, inf, isfinite
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.errors import DataError, MargraveError
from margrave.learners.checkpoint import Checkpoint, Kept, fingerprint
from margrave.losses import LossFamily

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    """Where a learner stood after a pass; `dual` and `gap` are None where there is no certificate."""

    passes: float  # effective passes over the data: every inference counts (002, section 7)
    seconds: float
    primal: float | None  # None: no pass was spent on it
    dual: float | None = None
    gap: float | None = None

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal objective; infinite where there is none."""
        return inf if self.gap is None or self.primal is None else self.gap / max(abs(self.primal), 1e-300)


@dataclass(frozen=True)
class Solution:
    """The weights found, how they were found, and why the search ended."""

    w: Weights
    kept: Record  # where the learner stood at w
    history: list[Record]
    converged: bool
    reason: str  # "relative gap ...", "gradient norm ...", "max_iter", "interrupted", ...
    state: Any = None  # of the learner, to go on from


@dataclass
class Task:
    """One optimisation problem: minimise P(w) = 1/2 |w|^2 + C sum_i sample_weight_i L_i(w).

    With a hard margin P is 1/2 |w|^2, subject to constraints, and C plays no part.
    """

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
    start: Weights | None = None  # where to begin, for learners that can
    checkpoint: Checkpoint | None = None
    show: Callable[[int, NDArray[np.int32]], Any] | None = None  # an output to a cost function; None: its parts
    passes: float = field(default=0.0, init=False)
    _sharing: _core.Sharing | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.C, self.tol, self.max_iter, self.n_threads, self.seed = check_settings(
            self.C, self.tol, self.max_iter, self.n_threads, self.seed
        )
        if self.start is not None:
            self.start = np.ascontiguousarray(self.start, dtype=np.float64)
            if self.start.shape != (self.problem.dim,) or not np.isfinite(self.start).all():
                raise MargraveError(f"the weights to start from must be {self.problem.dim} finite numbers.")
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
        """The number of threads to use where it changes no bit."""
        return available_threads(self.n_threads)

    def weights(self) -> Weights:
        """C_i = C sample_weight_i."""
        return self.C * (np.ones(self.problem.size) if self.sample_weight is None else self.sample_weight)

    def family(self) -> tuple[_core.Problem, float, float, bool, float, Weights | None]:
        """What every pass of the core over a dual takes first."""
        loss = self.loss
        return self.problem, loss.beta, loss.gamma, loss.zero_one, self.C, self.sample_weight

    def ascent(
        self, w: Weights, order: NDArray[np.int64]
    ) -> tuple[
        _core.Problem, Weights, float, float, bool, float, Weights | None, NDArray[np.int64], int, _core.Sharing | None
    ]:
        """The same for sequential passes; several threads step at once only if asked for, since that moves bits."""
        threads = self.n_threads or 1
        if threads > 1 and self._sharing is None:
            self._sharing = _core.Sharing(self.problem, threads)
        problem, *family = self.family()
        return problem, w, *family, order, threads, self._sharing  # type: ignore[return-value]

    def losses(self, w: Weights, *, gradient: bool = False) -> tuple[float, Weights]:
        """C sum_i sample_weight_i L_i(w) and its gradient (empty unless asked for); one pass, two for a difference."""
        value, slope = self.losses_at(w, self.loss.gamma, gradient=gradient)
        if self.loss.convex:
            return value, slope
        less, back = self.losses_at(w, 0.0, gradient=gradient)
        return value - less, slope - back

    def losses_at(self, w: Weights, gamma: float, *, gradient: bool = False) -> tuple[float, Weights]:
        """The same for the loss (beta, gamma); one pass."""
        self.passes += 1
        losses, slope = _core.losses_and_gradient(
            self.problem,
            w,
            self.loss.beta,
            gamma,
            self.loss.zero_one,
            self.C,
            self.sample_weight,
            self.threads,
            gradient,
        )
        total = losses.sum() if self.sample_weight is None else (losses * self.sample_weight).sum()
        return self.C * float(total), slope

    def slacks(self, w: Weights) -> Weights:
        """xi_i of a hinge loss with any re-scaling; one pass."""
        self.passes += 1
        return _core.svm_slacks(self.problem, w, *self.rescaling(), self.threads)[0]

    def shown(self, i: int, parts: NDArray[np.int32]) -> Any:
        """An output of example i as functions of outputs get it."""
        return tuple(parts.tolist()) if self.show is None else self.show(i, parts)

    def rescaling(self) -> tuple[str, int, str | Callable[[int, NDArray[np.int32]], float]]:
        """How the core calls the hinge loss: re-scaling, slack, and the cost or its function of an example's parts."""
        loss, problem = self.loss, self.problem
        if not callable(loss.cost):
            return loss.rescale, loss.slack, loss.cost_kind
        cost = loss.cost
        right: dict[int, Any] = {}  # the gold outputs as they are shown: one serves all that an example is asked for

        def cost_of(i: int, parts: NDArray[np.int32]) -> float:
            if i not in right:
                right[i] = self.shown(i, np.sort(problem.gold(i)))
            return float(cost(right[i], self.shown(i, parts)))

        return loss.rescale, loss.slack, cost_of

    def check_costs(self) -> None:
        """Refuses a cost function that is not zero on the right outputs."""
        cost = self.rescaling()[2]
        if isinstance(cost, str):
            return
        for i in range(self.problem.size):
            paid = cost(i, np.sort(self.problem.gold(i)))
            if paid != 0:
                raise MargraveError(f"example {i}: the right output must cost 0, and it costs {paid:g}.")

    def primal(self, w: Weights) -> float:
        """P(w); one pass. With a hard margin that of w stretched until it keeps the margin; infinite if it cannot."""
        norm = 0.5 * self.problem.dot(w, w)
        if self.loss.of_family:
            return norm + self.losses(w)[0]
        xi = self.slacks(w)
        if self.loss.slack == 0:
            margin = 1.0 - float(xi[self.weights() > 0].max())
            return norm / margin**2 if margin > 0 else inf
        return norm + float(self.weights() @ (xi if self.loss.slack == 1 else 0.5 * xi**2))

    def objective(self, w: Weights) -> tuple[float, Weights]:
        """P(w) and its gradient; one pass."""
        loss, slope = self.losses(w, gradient=True)
        slope += w
        return 0.5 * self.problem.dot(w, w) + loss, slope

    def check_finite(self, primal: float | None) -> None:
        """Refuses to go on from an objective that is no number."""
        if primal is None or not isfinite(primal):
            raise MargraveError(
                f"the objective is {primal} after {self.passes:g} passes: scale the features, or lower C."
            )

    def certify(self, w: Weights) -> tuple[float, float | None, float | None]:
        """P, D and the gap at any w; one pass. At beta = inf, and of a difference, a primal w has no certificate.

        With alpha the loss's own distribution at w, w(alpha) = w - grad P(w), so the gap is half the squared norm of
        the gradient (docs/design.md, section 1).
        """
        if not (self.loss.smooth and self.loss.convex):
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
        real("tol", tol, "be finite and not negative", lambda tol: 0 <= tol < inf),
        None if max_iter is None else whole("max_iter", max_iter, 1, 10**9),
        None if n_threads is None else whole("n_threads", n_threads, 1, 1024),
        _seed(seed),
    )


def _seed(seed: Any) -> int:
    if not isinstance(seed, Integral) or seed < 0:
        raise MargraveError(f"seed must be a whole number that is not negative, and it is {seed!r}.")
    return int(seed)


@dataclass
class State:
    """What a learner carries from pass to pass: numbers, texts, arrays and generators, so that it can be kept."""

    task: Task

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All of it but the task, for a checkpoint: what JSON can hold, and arrays."""
        plain: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray | np.generic) or (isinstance(value, float) and not isfinite(value)):
                arrays[each.name] = np.asarray(value)  # JSON has no infinite numbers, and none of numpy's
            elif isinstance(value, np.random.Generator):
                plain[each.name] = value.bit_generator.state
            elif each.name != "task":
                plain[each.name] = value
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Takes over what `pack` gave."""
        for each in fields(self):
            if each.name in arrays:
                setattr(self, each.name, np.array(arrays[each.name])[()])  # an array without axes is a number
            elif isinstance(getattr(self, each.name), np.random.Generator):
                getattr(self, each.name).bit_generator.state = plain[each.name]
            elif each.name != "task":
                setattr(self, each.name, plain[each.name])


@dataclass
class Step:
    """What one pass came to. P may be left out: a learner that has a dual then certifies when it pays."""

    w: Weights
    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    estimate: float | None = None  # of the gap, as the pass saw it going by
    done: str = ""  # a reason to stop that only the learner knows
    stuck: bool = False  # that reason is a failure, not the optimum


@dataclass
class Learner:
    """The base of all learners."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  # of the structure, beyond what the loss needs
    infinite_beta_only: ClassVar[bool] = False  # works on outputs, not on distributions
    cost_of_parts: ClassVar[bool] = False  # cannot do with a cost that is no sum over parts
    smooth_only: ClassVar[bool] = False  # needs a gradient everywhere: finite beta
    own_scores: ClassVar[bool] = False  # asks for inference under scores of its own, not under weights
    cutting_planes: ClassVar[bool] = False  # works constraint by constraint: any re-scaling, slack and cost
    regularised: ClassVar[bool] = True  # minimises P; at (inf, 0) that would be w = 0
    own_objective: ClassVar[bool] = False  # minimises something else than P, such as with another norm of w
    convex_losses: ClassVar[bool] = True  # learns under the losses of the family
    differences: ClassVar[bool] = False  # learns under differences of them
    euclidean_only: ClassVar[bool] = False  # computes with weights as if their inner product were the Euclidean one
    keeps_last: ClassVar[bool] = False  # the result is the last iterate, not the one with the lowest P
    reaches_tol: ClassVar[bool] = False  # its gap falls below tol in time, so that ending earlier is a warning
    default_max_iter: ClassVar[int] = 100

    def settings(self) -> dict[str, Any]:
        """What JSON can hold of it; a learner among its settings is a name and settings again."""
        kept: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Learner):
                value = {"name": value.name, "settings": value.settings()}
            kept[each.name] = list(value) if isinstance(value, tuple) else value
        return kept

    def check_packages(self) -> None:
        """Refuses, before any work, a setting that needs a package which is not installed."""

    def most_iterations(self, task: Task) -> int:
        """When to give up: what the task says, or the learner's own default."""
        return task.max_iter or self.default_max_iter

    def resolve(self, loss: LossFamily, problem: _core.Problem) -> "Learner":
        """The learner that does the work: itself, unless its task is to choose."""
        return self

    def blank(self, task: Task) -> Any:
        """A state without any work done, for a checkpoint to fill."""
        raise MargraveError(
            f"the learner {type(self).__name__} does not say how it begins: it needs blank(task), or begin(task) where "
            "there is no checkpoint."
        )

    def begin(self, task: Task) -> Any:
        """The state before the first pass."""
        return self.blank(task)

    def carry(self, state: Any, task: Task) -> Any:
        """A state for the same problem at another C, begun from one that is done."""
        raise MargraveError(
            f"learner '{self.name}' cannot go on from one C to the next: use learner='eg', 'bcfw' or 'lbfgs'."
        )

    def one_pass(self, state: Any) -> Step:
        """One improvement."""
        raise MargraveError(f"the learner {type(self).__name__} has no passes.")

    def certify(self, state: Any) -> Step:
        """P, D and the gap where the state stands; one pass or more. For learners whose passes leave P out."""
        raise MargraveError(f"the learner {type(self).__name__} computes no P.")

    def solve(self, task: Task, state: Any = None) -> Solution:
        """Passes until the certificate is good enough, the learner is done, or the passes are used up.

        `state` is where to begin, if not where the learner itself would.
        """
        check(self, task.loss, task.problem)
        run = Run(task, self.name, self.settings())
        otherwise = "max_iter"
        with progress(task.verbose, self.name) as show:
            try:
                state = run.resume(self, state)
                most = self.most_iterations(task)
                while not run.ended() and len(run.history) < most:
                    step = self.one_pass(state)
                    if step.primal is None and (step.done or run.pays(step)):
                        step = run.calibrate(step, self.certify(state))
                    show(run.note(step, self.keeps_last))
                    if step.done == "interrupted":  # a learner within this one was: this is no whole pass
                        raise KeyboardInterrupt
                    run.keep(state)
                run.keep(state, last=True)  # before the certificate that a run with more passes would not compute
                run.complete(self, state)
            except KeyboardInterrupt:  # a checkpoint holds whole passes only
                if not run.history:
                    raise  # there is no model yet
                otherwise = "interrupted"
                run.complete(self, state)
        if run.best is None:
            raise MargraveError(
                f"after {len(run.history)} iterations of learner '{self.name}' no weights keep the hard margin yet: "
                "raise max_iter, or use slack=1."
            )
        reason, converged = run.ended() or (otherwise, False)
        if not getattr(state, "exact", True):  # P is then that of the outputs found
            reason += " (approximate: inference is not exact)"
        return Solution(run.best[1].copy(), run.best[0], run.history, converged, reason, state)


_FIRST_LOOK = 50  # passes, where passes see the gap going by


class Run:
    """The course of one optimisation: history, the best weights so far, and when a certificate pays."""

    def __init__(self, task: Task, name: str, settings: dict[str, Any]) -> None:
        self.task = task
        self.learner: dict[str, Any] = {"learner": name, "settings": settings}
        self.history: list[Record] = []
        self.best: tuple[Record, Weights] | None = None
        self._started = time.perf_counter()
        self._fingerprint: dict[str, str] = {}
        self._done: tuple[str, bool] | None = None  # the learner's own reason to stop, and whether it is the optimum
        self._ratio = 0.7  # of the gap to what passes saw of it going by; of EG, until they are compared
        self._next = 1  # certify after this pass, if nothing says so before

    def pays(self, step: Step) -> bool:
        """Whether a certificate is likely to end the run, or due: they grow rarer as the passes grow many."""
        if step.estimate is None or step.dual is None:
            return len(self.history) + 1 >= self._next
        self._next = max(self._next, _FIRST_LOOK)  # a look now and then keeps the ratio true
        gap = step.estimate * self._ratio
        return gap <= self.task.tol * abs(step.dual + gap) or len(self.history) + 1 >= self._next

    def calibrate(self, seen: Step, certified: Step) -> Step:
        """The certificate, after learning from it how good the estimate was."""
        if seen.estimate and certified.gap is not None:
            self._ratio = float(np.clip(certified.gap / seen.estimate, 0.1, 10.0))
        self._next = max(len(self.history) + 2, ceil((1.2 if seen.estimate is None else 2) * (len(self.history) + 1)))
        return replace(certified, done=seen.done, stuck=seen.stuck)

    def note(self, step: Step, keeps_last: bool) -> Record:
        """Adds a record, and keeps the weights if they are the best."""
        self.task.check_finite(step.dual if step.primal is None else step.primal)
        seconds = time.perf_counter() - self._started
        record = Record(self.task.passes, seconds, step.primal, step.dual, step.gap)
        if record.primal is not None:
            best = None if self.best is None else self.best[0].primal
            if best is None or keeps_last or record.primal <= best or record.relative_gap <= self.task.tol:
                self.best = record, step.w
        if step.done:
            self._done = step.done, not step.stuck
        self.history.append(record)
        return record

    def complete(self, learner: Learner, state: Any) -> None:
        """Gives the last record the P that it lacks, if it does."""
        if self.history[-1].primal is None:
            step = learner.certify(state)
            self.history.pop()
            self.note(step, learner.keeps_last)

    def ended(self) -> tuple[str, bool] | None:
        """Why the run is over, and whether at the optimum; None while it is not."""
        gap, tol = self.history[-1].relative_gap if self.history else inf, self.task.tol
        return (f"relative gap {gap:.2g} <= tol {tol:g}", True) if gap <= tol else self._done

    def resume(self, learner: Learner, state: Any) -> Any:
        """The state to begin with: the checkpoint's, if there is one."""
        checkpoint = self.task.checkpoint
        if checkpoint is None:
            return learner.begin(self.task) if state is None else state
        if type(learner).blank is Learner.blank:
            learner.blank(self.task)  # which refuses: better now than when the file is needed
        self._fingerprint = fingerprint(self.task, **self.learner)
        kept = checkpoint.read(self._fingerprint)
        if kept is None:
            return learner.begin(self.task) if state is None else state
        state = learner.blank(self.task)
        try:
            state.unpack(kept.plain, kept.arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                checkpoint.path, None, f"this checkpoint lacks what learner '{learner.name}' needs to go on: remove it."
            ) from error
        self.task.passes = kept.passes
        self.history = [Record(*values) for values in kept.history]
        self.best = None if kept.best is None else (Record(*kept.best), kept.w)
        self._ratio, self._next, self._done = kept.ratio, kept.next, kept.done
        self._started -= self.history[-1].seconds
        return state

    def keep(self, state: Any, *, last: bool = False) -> None:
        """Writes the checkpoint, if there is one and it is due."""
        if self.task.checkpoint is None or not self.history or not self.task.checkpoint.due(last):
            return
        if not isinstance(state, State):
            name = self.learner["learner"]
            raise MargraveError(f"the state of learner '{name}' is no State, which a checkpoint needs.")
        plain, arrays = state.pack()
        best = None if self.best is None else [*asdict(self.best[0]).values()]
        self.task.checkpoint.write(
            self._fingerprint,
            Kept(
                plain,
                arrays,
                self.task.passes,
                [[*asdict(record).values()] for record in self.history],
                best,
                np.zeros(0) if self.best is None else self.best[1],
                self._ratio,
                self._next,
                self._done,
            ),
        )


def available_threads(wanted: int | None) -> int:
    """The number asked for, or that of the processors this process may use."""
    if wanted is not None:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_loss(learner: Learner, loss: LossFamily) -> None:
    """Refuses a loss that the learner cannot minimise, in one sentence that says what would work."""
    if not loss.convex and not learner.differences:
        raise MargraveError(
            f"learner '{learner.name}' needs a convex loss, and {loss.name} is a difference of two: use learner='cccp'."
        )
    if loss.convex and not learner.convex_losses:
        better = "bcfw" if loss.smooth or loss.gamma > 0 else "perceptron"
        raise MargraveError(
            f"learner '{learner.name}' is for differences of losses, and {loss.name} is convex: use "
            f"learner='{better}', or loss='ramp'."
        )
    if not loss.of_family and not learner.cutting_planes:
        raise MargraveError(
            f"learner '{learner.name}' knows the hinge loss with margin re-scaling and linear slack only, and this is "
            f"{loss.name}: use learner='cutting-plane'."
        )
    if learner.smooth_only and not loss.smooth:
        raise MargraveError(
            f"learner '{learner.name}' needs a smooth loss, and {loss.name} has beta = inf: use learner='bcfw', or "
            "loss='softmax-margin'."
        )
    if learner.infinite_beta_only and loss.smooth:
        raise MargraveError(
            f"learner '{learner.name}' needs a loss with beta = inf, and {loss.name} has beta = {loss.beta:g}: use "
            "learner='eg', or loss='hinge'."
        )
    if learner.regularised and not loss.smooth and loss.gamma == 0:
        raise MargraveError(
            f"under the perceptron loss the regularised optimum is w = 0, so learner '{learner.name}' refuses it: use "
            "learner='perceptron', or loss='hinge'."
        )


def check(learner: Learner, loss: LossFamily, problem: _core.Problem) -> None:
    """Refuses a combination that cannot work, in one sentence that says what would."""
    check_loss(learner, loss)
    if learner.euclidean_only and not problem.euclidean:
        raise MargraveError(
            f"learner '{learner.name}' needs weights with the Euclidean inner product, and those of a kernel have "
            "another: use learner='bcfw', 'eg', 'smo', 'mira', 'cutting-plane', 'one-slack' or 'perceptron', or a "
            "kernel with nystroem=."
        )
    if learner.cost_of_parts and loss.beyond_parts(problem):
        other = "learner='bcfw', or " if loss.convex else ""
        raise MargraveError(
            f"learner '{learner.name}' needs a cost that is a sum over parts, and the zero-one cost of a structured "
            f"output is none: use {other}cost='hamming'."
        )
    if learner.own_scores and not getattr(problem, "any_scores", True):
        raise MargraveError(
            f"learner '{learner.name}' needs inference under any scores, and this problem has it under weights only: "
            f"use learner='bcfw' with loss='hinge'{', or learner=' + repr('lbfgs') if problem.euclidean else ''}."
        )
    offers = problem.offers
    for need in (*loss.needs, *learner.needs):
        if need not in offers:
            raise MargraveError(
                f"learner '{learner.name}' with loss {loss.name} needs '{need}', and this problem offers only "
                f"{', '.join(offers) or 'nothing'}{_ADVICE.get(need, '')}."
            )


_ADVICE = {
    "kbest": ": use learner='bcfw'",
    "untied": ": use learner='bcfw', or tied=False on a chain",
    "logsum": ": use loss='hinge' with learner='bcfw'",
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
            values = [
                f"{name} {value:.6g}" for name, value in (("P", record.primal), ("D", record.dual)) if value is not None
            ]
            gap = "" if record.gap is None else f"  relative gap {record.relative_gap:.2e}"
            bar.update(line, state=f"pass {record.passes:.4g}  {'  '.join(values)}{gap}")

        yield show
