"""The objective of a learner, its state, and the outcome of a pass.

The objective contains the problem, the loss and the settings that all learners share, and computes P, its gradient and
the certificate. All of its methods count the passes over the data that they make.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import declared_types, is_a
from margrave.errors import MargraveError, Message, quoted, setting
from margrave.learners.checkpoint import Checkpoint
from margrave.learners.checks import check_settings, example_weights
from margrave.learners.rounding import Rounding, lowered, radii
from margrave.losses import LossFamily
from margrave.losses.costs import CostFunction
from margrave.memory import check_memory
from margrave.threads import available_threads

if TYPE_CHECKING:
    from margrave.learners.observers import Observer

Weights = NDArray[np.float64]

_LONGEST = 1e150  # The squares of vectors that are shorter do not overflow.
_VECTORS = 3  # Every learner has at least weights, a gradient or an average, and the best weights so far.


@dataclass
class Objective:
    """What a learner minimizes: P(w) = 1/2 |w|^2 + C sum_i sample_weight_i L_i(w).

    With a hard margin, P is 1/2 |w|^2 subject to constraints, and C is ignored.

    Parameters
    ----------
    problem : the examples, bound to a structure and features.
    loss : the loss.
    C : the weight of the losses.
    sample_weight : one factor per example on its C; None means 1.
    max_iter : the maximum number of iterations; None uses the learner's default.
    max_seconds : the time after which to stop, also within a pass; None is no limit.
    tol : the relative gap at which to stop.
    n_jobs : the number of threads; -1 uses all processors, and None uses them all where they do not change the result.
    random_state : the seed of the random numbers.
    verbose : report progress on the error stream.
    dev_score : a function from weights to a score on development data; higher is better.
    start : the weights to start from, for learners that support this.
    checkpoint : a checkpoint to continue from and to write.
    decode : a function from an example and parts to an output in the form that cost functions take; None passes the
        parts.
    observers : objects that are called after every pass.
    approximate : the core's structure, if its inference is approximate: it counts how that went, and checkpoints store
        the messages that it keeps.
    """

    problem: _core.Problem
    loss: LossFamily
    C: float = 1.0
    sample_weight: Weights | None = None
    max_iter: int | None = None
    max_seconds: float | None = None
    tol: float = 1e-4
    n_jobs: int | None = None
    random_state: int = 0
    verbose: bool = False
    dev_score: Callable[[Weights], float] | None = None
    start: Weights | None = None
    checkpoint: Checkpoint | None = None
    decode: Callable[[int, NDArray[np.int32]], Any] | None = None
    observers: "Sequence[Observer]" = ()
    approximate: Any = None
    passes: float = field(default=0.0, init=False)
    family: _core.LossFamily = field(init=False, repr=False)  # the loss with C and the sample weights, for the core
    _sharing: _core.Sharing | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.C, self.tol, self.max_iter, self.max_seconds, self.n_jobs, self.random_state = check_settings(
            self.C, self.tol, self.max_iter, self.max_seconds, self.n_jobs, self.random_state
        )
        if self.start is not None:
            self.start = np.ascontiguousarray(self.start, dtype=np.float64)
            if self.start.shape != (self.problem.dim,) or not np.isfinite(self.start).all():
                raise MargraveError(f"the weights to start from must be {self.problem.dim} finite numbers.")
        if self.problem.size == 0:
            raise MargraveError("there are no examples to learn from.")
        check_memory(
            _VECTORS * 8 * self.problem.dim,
            f"a model with {self.problem.dim} weights",
            Message(
                "use fewer features, for example without very large feature numbers, or ", setting(weights="hash:20")
            ),
        )
        if self.sample_weight is not None:
            self.sample_weight = example_weights(self.sample_weight, self.problem.size)
        self.family = self.loss.core(self.C, self.sample_weight)

    @property
    def threads(self) -> int:
        """The number of threads to use where their number does not change the result."""
        return available_threads(self.n_jobs)

    def weights(self) -> Weights:
        """C_i = C sample_weight_i."""
        return self.C * (np.ones(self.problem.size) if self.sample_weight is None else self.sample_weight)

    @property
    def largest_weight(self) -> float:
        """The largest C_i, by which a learner is chosen."""
        return self.C if self.sample_weight is None else self.C * float(self.sample_weight.max())

    @cached_property
    def rounding(self) -> Rounding:
        """Bounds on the rounding errors of P, its gradient and D."""
        return Rounding.of(self.problem, self.loss, self.weights(), self.radii)

    @cached_property
    def radii(self) -> Weights:
        """R_i, the largest difference between the features of two outputs of example i."""
        return radii(self.problem, self.weights())

    @cached_property
    def longest(self) -> int:
        """The largest number of parts of a gold output."""
        return max(len(self.problem.gold(i)) for i in range(self.problem.size))

    def ascent(
        self, w: Weights, order: NDArray[np.int64]
    ) -> tuple[_core.Problem, Weights, _core.LossFamily, NDArray[np.int64], int, _core.Sharing | None]:
        """The first arguments of every sequential pass of the core over a dual.

        Several threads step at once only if the user asked for them, because the result then varies in its last bits.
        """
        threads = 1 if self.n_jobs is None else self.threads
        if threads > 1 and self._sharing is None:
            self._sharing = _core.Sharing(self.problem, threads)
        return self.problem, w, self.family, order, threads, self._sharing

    def losses(self, w: Weights, *, gradient: bool = False) -> tuple[float, Weights]:
        """C sum_i sample_weight_i L_i(w) and its gradient (empty unless asked for); one pass, two for a difference."""
        value, slope = self.losses_of(self.family, w, gradient=gradient)
        if self.loss.convex:
            return value, slope
        less, back = self.subtracted_losses(w, gradient=gradient)
        return value - less, slope - back

    def subtracted_losses(self, w: Weights, *, gradient: bool = False) -> tuple[float, Weights]:
        """The same for L(beta, 0), which a difference of losses subtracts, perhaps over good outputs only; one pass."""
        family = self.loss.core(self.C, self.sample_weight, gamma=0.0)
        problem = self.problem
        if self.loss.latent and isinstance(problem, _core.DividedProblem):
            problem = _core.good_outputs(problem)
        return self.losses_of(family, w, gradient=gradient, problem=problem)

    def losses_of(
        self, family: _core.LossFamily, w: Weights, *, gradient: bool = False, problem: _core.Problem | None = None
    ) -> tuple[float, Weights]:
        """The same for a member of the family with the C and the sample weights of this objective; one pass."""
        self.passes += 1
        losses, slope = _core.losses_and_gradient(problem or self.problem, w, family, self.threads, gradient)
        total = losses.sum() if self.sample_weight is None else (losses * self.sample_weight).sum()
        return self.C * float(total), slope

    def slacks(self, w: Weights) -> Weights:
        """xi_i of a hinge loss with any re-scaling; one pass."""
        self.passes += 1
        return _core.svm_slacks(self.problem, w, *self.rescaling(), self.threads, self.loss.gamma)[0]

    def cost(self, i: int) -> tuple[Weights, float]:
        """The cost of the loss for outputs of example i, delta and c0, where it decomposes over parts."""
        if not self.loss.zero_one:
            delta, constant = self.problem.cost(i)
            return delta, constant
        delta = np.ones(self.problem.parts(i))
        for k in range(self.problem.gold_count(i)):
            delta[self.problem.gold(i, k)] = 0.0
        return delta, 0.0

    def decode_output(self, i: int, parts: NDArray[np.int32]) -> Any:
        """An output of example i in the form that cost functions take."""
        return tuple(parts.tolist()) if self.decode is None else self.decode(i, parts)

    def rescaling(self) -> tuple[str, int, str | Callable[[int, NDArray[np.int32]], float]]:
        """The core's form of the hinge loss: re-scaling, slack, and the cost or a function of an example's parts."""
        loss, problem = self.loss, self.problem
        if not isinstance(loss.costs, CostFunction):
            return loss.rescale, loss.slack, loss.cost_kind
        cost = loss.costs.function
        gold: dict[int, Any] = {}  # The gold output of an example is decoded only once.

        def cost_of(i: int, parts: NDArray[np.int32]) -> float:
            if i not in gold:
                gold[i] = self.decode_output(i, np.sort(problem.gold(i)))
            return float(cost(gold[i], self.decode_output(i, parts)))

        return loss.rescale, loss.slack, cost_of

    def check_costs(self) -> None:
        """Refuse a cost function that is not zero for the gold outputs."""
        cost = self.rescaling()[2]
        if isinstance(cost, str):
            return
        for i in range(self.problem.size):
            paid = cost(i, np.sort(self.problem.gold(i)))
            if paid != 0:
                raise MargraveError(f"example {i}: the right output must cost 0, and it costs {paid:g}.")

    @property
    def fallbacks(self) -> int:
        """How often approximate inference has replaced an estimate that was obviously wrong by a bound."""
        return 0 if self.approximate is None else int(self.approximate.fallbacks)

    def primal(self, w: Weights, known: Weights | None = None) -> float:
        """P(w); one pass.

        With a hard margin, the weights are first scaled up until they satisfy the margin; P is infinite if they cannot.

        Parameters
        ----------
        w : the weights.
        known : the slacks that known outputs ask for, where searches can miss them.
        """
        if self.loss.of_family and known is None:
            return 0.5 * self.problem.dot(w, w) + self.losses(w)[0]
        xi = self.slacks(w)
        return self.primal_of_slacks(w, xi if known is None else np.maximum(xi, known))

    def primal_of_slacks(self, w: Weights, xi: Weights) -> float:
        """P(w) with these slacks; no pass."""
        norm = 0.5 * self.problem.dot(w, w)
        if self.loss.slack == 0:
            margin = 1.0 - float(xi[self.weights() > 0].max())
            return norm / margin**2 if margin > 0 else inf
        return norm + float(self.weights() @ (xi if self.loss.slack == 1 else 0.5 * xi**2))

    def value_and_gradient(self, w: Weights) -> tuple[float, Weights]:
        """P(w) and its gradient; one pass."""
        loss, slope = self.losses(w, gradient=True)
        slope += w
        return 0.5 * self.problem.dot(w, w) + loss, slope

    def check_scale(self) -> None:
        """Refuse features with which |w|^2 can overflow: w(alpha) is no longer than the sum of C_i R_i."""
        if not isinstance(self.problem, _core.BoundProblem):
            return
        hard = not self.loss.of_family and self.loss.slack == 0  # C is ignored
        with np.errstate(over="ignore"):
            largest = max(float(((1.0 if hard else self.weights()) * self.radii).sum()), float(self.radii.max()))
        if not largest < _LONGEST:
            i = int(np.argmax(self.radii))
            raise MargraveError(
                f"example {i}: the square of its features times C = {self.C:g} overflows: scale the features, or lower "
                "C."
            )

    def check_finite(self, primal: float) -> None:
        """Raise an error if the objective is infinite or NaN."""
        if not isfinite(primal):
            raise MargraveError(
                f"the objective is {primal} after {self.passes:g} passes: scale the features, or lower C."
            )

    def certify(self, w: Weights) -> tuple[float, float | None, float | None]:
        """P, D and the gap at any w; one pass. At beta = inf, and for a difference of losses, there is only P.

        With alpha the loss's own distribution at w, w(alpha) = w - grad P(w), so the gap is half the squared norm of
        the gradient (docs/background/learning.md), and what rounding may hide of it.
        """
        if not (self.loss.smooth and self.loss.convex):
            return self.primal(w), None, None
        primal, slope = self.value_and_gradient(w)
        gap = 0.5 * self.problem.dot(slope, slope)
        dual = self.dual_at(w, primal, gap)
        return primal, dual, gap if dual == primal - gap else primal - dual

    def dual_at(self, w: Weights, primal: float, gap: float) -> float:
        """D of the loss's own distributions at w, lowered by its rounding error where that is not negligible.

        Parameters
        ----------
        w : the weights.
        primal : P(w).
        gap : half the squared norm of the gradient of P at w.
        """
        norm = sqrt(self.problem.dot(w, w))
        return lowered(primal - gap, self.rounding.of_dual(primal, norm, sqrt(2 * gap)))


Objectives = tuple[float | None, float | None, float | None]  # P, D and the gap, as far as they are known


@dataclass
class State:
    """The state of a learner between passes: numbers, texts, arrays and generators, which a checkpoint can store."""

    objective: Objective

    growing: ClassVar[tuple[str, ...]] = ()  # the arrays whose sizes change, which `verify` checks

    @property
    def rounding(self) -> float:
        """The fraction by which objectives that are computed again may differ."""
        return 1e-9

    def objectives(self) -> Objectives:
        """P, D and the gap of this state, as far as it knows them without a pass."""
        return None, None, None

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """All fields except the objective, for a checkpoint: values that JSON can store, and arrays."""
        plain: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray | np.generic) or (isinstance(value, float) and not isfinite(value)):
                arrays[each.name] = np.asarray(value)  # JSON has neither infinite numbers nor NumPy's types.
            elif isinstance(value, np.random.Generator):
                plain[each.name] = value.bit_generator.state
            elif each.name != "objective":
                plain[each.name] = value
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `pack` returned; an error if it has another form than this state."""
        types = declared_types(type(self))  # type: ignore[arg-type]  # A class can be a key.
        for each in fields(self):
            if each.name in arrays:
                value = _like(arrays[each.name], getattr(self, each.name), each.name, each.name in self.growing)
                setattr(self, each.name, np.array(value)[()])  # An array without axes becomes a number.
            elif isinstance(getattr(self, each.name), np.random.Generator):
                try:
                    getattr(self, each.name).bit_generator.state = plain[each.name]
                except OverflowError:
                    raise MargraveError(f"its {each.name} has a number that is too large or negative") from None
            elif each.name != "objective":
                if isinstance(getattr(self, each.name), np.ndarray):
                    raise MargraveError(f"its {each.name} is not an array")
                value = plain[each.name]
                if not is_a(value, types[each.name]) or not _is_finite(value):
                    raise MargraveError(f"its {each.name} cannot be {quoted(value)}")
                setattr(self, each.name, value)

    def verify(self) -> None:
        """Refuse a state from a checkpoint whose sizes or running sums are wrong; called on a copy, may use passes."""


def _is_finite(value: Any) -> bool:
    """Whether JSON can store a value; infinite numbers and NaN are stored as arrays."""
    return not isinstance(value, float) or isfinite(value)


def _like(array: NDArray[Any], blank: Any, name: str, growing: bool) -> NDArray[Any]:
    """The array; an error if its type or, unless it grows, its shape is not that of the initial state."""
    wanted = np.asarray(blank)
    if array.dtype != wanted.dtype or array.ndim != wanted.ndim or not (growing or array.shape == wanted.shape):
        raise MargraveError(f"its {name} must be of type {wanted.dtype} and of shape {wanted.shape}")
    if array.ndim and array.dtype.kind == "f" and np.isnan(array).any():
        raise MargraveError(f"its {name} has NaN")
    return array


@dataclass
class Step:
    """The outcome of one pass.

    Dual learners can leave out P. The run then calls `certify` when the estimate of the gap suggests that the tolerance
    has been reached.

    Parameters
    ----------
    w : the weights after the pass.
    primal, dual, gap : P, D and the gap, as far as they are known.
    estimate : an estimate of the gap from quantities that the pass computed anyway.
    dual_estimate : an estimate of D where D itself takes a pass.
    done : a reason to stop that only the learner knows; empty to continue.
    stuck : whether that reason is a failure rather than the optimum.
    interrupted : what ended an inner run, so that this pass is incomplete: Ctrl-C or the time limit.
    """

    w: Weights
    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    estimate: float | None = None
    dual_estimate: float | None = None
    done: str = ""
    stuck: bool = False
    interrupted: type[BaseException] | None = None


def negative_losses(negative: int, visits: int) -> str:
    """A note on visits that made no step because approximate inference gave a negative loss."""  # 001, footnote 17
    return f"{negative} of {visits} visits made no step because approximate inference gave them a negative loss"


def replaced_losses(replaced: int, visits: int) -> str:
    """A note on visits whose negative loss was replaced by that of an upper bound."""  # 001, footnote 17
    return f"{replaced} of {visits} visits took the reweighted bound because belief propagation gave a negative loss"
