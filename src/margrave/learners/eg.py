"""Online exponentiated gradient on the dual (000, section 5; 002, Fig. 2), and a hybrid that starts with SMO."""

from dataclasses import InitVar, dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError, unknown
from margrave.learners.base import Learner
from margrave.learners.dual import (
    ORDER_HELP,
    ORDERS,
    DualState,
    blank_blocks,
    certified,
    check_parts,
    dual_value,
    gold_counts,
    unseen,
)
from margrave.learners.resuming import check_same, check_that, scale_of_weights
from margrave.learners.task import Step, Task, Weights
from margrave.losses import LossFamily
from margrave.memory import lazy_zeros
from margrave.options import option

_GROWTH = 1.3  # the maximum growth of a rate from one visit to the next
_CAP = 20.0  # the maximum change of a natural parameter in one step
_FEW_PARTS = 2**25  # half a gigabyte of distributions: up to this, nothing is gained by storing only some of the parts
_OF_DOUBLE, _OF_SINGLE = 1e-9, 1e-3  # What is computed again may differ from what was stored by this fraction.
_LOST = 0.01  # The fraction of D that the switch from SMO to EG may give up, which EG regains within a pass.
_LEAST_MIXED = 1e-12  # The least share of the uniform distribution that EG begins with.
_CAP_AT_INFINITY = 2.0  # the same if beta is infinite, because outputs that lost all mass take long to regain it


@dataclass
class OnlineEG(Learner):
    """Multiplicative updates of one example's distribution at a time; the dual objective never falls.

    The rate of every example is adapted at each visit: it is reduced until D does not fall, and increased after a gain.
    The rates of 002 can be chosen instead: the safe ones of section 4.3, and the halved ones of section 7. The
    distributions are initially concentrated on the gold outputs, or given by `Task.start`.

    >>> OnlineEG(rate=0.5, order="cyclic").name
    'eg'
    """

    name: ClassVar[str] = "eg"
    needs: ClassVar[tuple[str, ...]] = ("logsum", "cost of parts", "any scores")
    offers: ClassVar[tuple[str, ...]] = ("tol",)
    default_max_iter: ClassVar[int] = 1000

    rate: str | float = option(
        0.7,
        'The first rate of every example: rho, or 000\'s eta where beta is infinite; "safe" is a rate that stays, and '
        "at which D never falls (002, sections 4.3 and 4.5).",
        above=0,
    )
    start: float = option(8.0, "The natural parameter that the parts of the gold outputs begin with.", at_least=0)
    order: str = option("shuffled", ORDER_HELP, choices=ORDERS)
    skip: bool = option(True, "Leave out examples with small gaps in two passes of three, at finite beta.")
    adaptive: bool = option(True, "Adapt the rates from visit to visit; if not, they stay, and D may fall.")
    halving: bool = option(
        False,
        "Begin every visit with `rate` and halve it until D does not fall (002, section 7), instead of adapting it.",
    )
    single: bool = option(
        False,
        "Keep the distributions in single precision, which halves the memory, at finite beta; certificates are "
        "computed in double precision all the same.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rate, str) and self.rate != "safe":
            raise unknown("rate of eg", self.rate, ("safe", "a number"))
        if self.halving and (self.rate == "safe" or not self.adaptive):
            raise MargraveError(
                "halving needs a rate to halve: leave out adaptive=False, and use a number as the rate."
            )

    def blank(self, task: Task) -> "GibbsState":
        """Blocks without natural parameters and marginals, which take no memory before they are written."""
        stored = self.stored_parts(task)
        precision = np.dtype(np.float32 if self.single else np.float64)
        n = check_parts(task, 2 * precision.itemsize, None if stored is None else stored.size)
        t, mu = lazy_zeros(n, precision), lazy_zeros(n, precision)
        return GibbsState(**blank_blocks(task), stored=stored, t=t, mu=mu, rate=self.first_rates(task))

    def first_rates(self, task: Task) -> NDArray[np.float64]:
        """The rates that the examples begin with."""
        if isinstance(self.rate, str):
            return safe_rates(task)
        return np.full(task.problem.size, min(self.rate, 1.0) if task.loss.smooth else self.rate * task.C)

    def stored_parts(self, task: Task) -> _core.StoredParts | None:
        """The parts whose natural parameters can change; None means all, also where all of them take little memory."""
        if _core.part_offsets(task.problem)[-1] <= _FEW_PARTS:
            return None
        return _core.StoredParts(task.problem, task.family, task.threads)

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse single precision if beta is infinite."""
        super().check(loss, problem)
        if self.single and not loss.smooth:
            raise MargraveError(
                f"single precision needs a finite beta, and {loss.name} has an infinite one, for which natural "
                "parameters grow without bound: use single=False."
            )

    def begin(self, task: Task) -> "GibbsState":
        """All mass on the gold outputs, or the weights that the first distributions imply.

        Adapted rates need no distributions before the first visits, which saves a pass; examples without weight are not
        visited. The algorithms of the papers begin with the weights of given distributions.
        """
        state = self.blank(task)
        if task.start is not None:
            state.begin_at(task.start)
        else:
            state.begin_at_gold(self.start)
        if not (state.at_gold and self.adapts and (task.weights() > 0).all()):
            state.expect()
        return state

    @property
    def adapts(self) -> bool:
        """Whether the rate of an example depends on what its last visit gained."""
        return self.adaptive and self.rate != "safe" and not self.halving

    def carry(self, state: "GibbsState", task: Task) -> "GibbsState":
        """The same alpha with another C.

        If beta is infinite, natural parameters grow without bound, and outputs that lost all mass would take long to
        regain it. In this case the parameters are scaled down first.
        """
        state.rescale(task)
        if self.rate == "safe" or self.halving:
            state.rate = self.first_rates(task)
        largest = float(max(state.t.max(initial=0.0), -state.t.min(initial=0.0)))
        if not task.loss.smooth and largest > _CAP:
            state.t *= _CAP / largest
            state.expect()
        return state

    def one_pass(self, state: "GibbsState") -> Step:
        """Visits the examples that have something to gain."""
        skips = self.skip and self.adapts and state.task.loss.smooth
        order = state.visits(self.order, skips and state.turn > 1)  # Gains of first visits tell little of what is left.
        state.visit(order, _GROWTH if self.adapts else 1.0, halving=self.halving)
        return state.step()

    def certify(self, state: "GibbsState") -> Step:
        """P and the gap; in single precision, marginals are computed again, which takes another pass."""
        return state.certify_exactly() if self.single else state.certify(state.mu, state.stored_parts)


def safe_rates(task: Task) -> NDArray[np.float64]:
    """Rates at which D never falls: 1/(1 + beta C_i R_i^2), or 1/(C_i R_i^2) if beta is infinite.

    A step changes one block, and the entries of its own part of A are at most C_i R_i^2 (002, section 4.3). If beta is
    infinite and R_i is small or 0, any rate would do in exact arithmetic, but marginals lose the digits that natural
    parameters gain: the costs may not change a parameter by more than a limit in one step.
    """
    problem, loss = task.problem, task.loss
    square = np.array([problem.radius(i) for i in range(problem.size)]) ** 2
    curve: Weights = task.weights() * square
    if loss.smooth:
        rates: Weights = 1 / (1 + loss.beta * curve)
        return rates
    costs = np.array([np.abs(problem.cost(i)[0]).max(initial=0.0) for i in range(problem.size)])
    least = loss.gamma * costs / _CAP_AT_INFINITY
    bounded: Weights = 1 / np.where(curve + least > 0, np.maximum(curve, least), 1.0)
    return bounded


@dataclass
class Hybrid(OnlineEG):
    """Begins with passes of SMO, which make fast progress at first, and continues with EG (000, last paragraph).

    At the switch, natural parameters become the logarithms of the conditionals of a mixture of SMO's marginals and
    uniform ones, because EG cannot change a zero. D can fall once at this point, by one per cent at most.

    >>> Hybrid(smo_passes=2).name
    'smo-eg'
    """

    name: ClassVar[str] = "smo-eg"
    needs: ClassVar[tuple[str, ...]] = (
        "infinite beta",
        "cost of parts",
        "any scores",
        "logsum",
        "untied",
        "entropy",
    )

    smo_passes: int = option(20, "The number of passes of SMO.", at_least=1, at_most=10**6)
    mixed: float = option(
        1e-2,
        "The largest share of the uniform distribution that EG begins with; it is less where D would fall far.",
        above=0,
        below=1,
    )

    def stored_parts(self, task: Task) -> None:
        """All parts, because the conditionals that EG begins with are not 0 for parts without a weight."""

    def blank(self, task: Task) -> "GibbsState":
        """Natural parameters that only matter after the passes of SMO."""
        state = super().blank(task)
        state.smo_passes = self.smo_passes
        return state

    def begin(self, task: Task) -> "GibbsState":
        """All mass on the gold outputs."""
        state = self.blank(task)
        state.mu[:] = gold_counts(task)
        return state

    def one_pass(self, state: "GibbsState") -> Step:
        """Make a pass of SMO or of EG; the last pass of SMO ends with the switch to EG."""
        if state.turn >= self.smo_passes:
            return super().one_pass(state)
        order = state.visits(self.order, False)
        mu = state.mu.astype(np.float64)
        state.count(_core.smo_pass(*state.task.ascent(state.w, order), mu, state.cost, state.gap))
        state.mu[:] = mu
        if state.turn == self.smo_passes:
            self._switch(state, mu)
        return state.step()

    def _switch(self, state: "GibbsState", mu: NDArray[np.float64]) -> None:
        task, w, value = state.task, state.w, state.value()
        state.t[:] = 0
        state.expect()  # state.mu is uniform now
        mixed = _largest_share(task, (w, value), (state.w, state.value()), self.mixed)
        blend = (1 - mixed) * mu + mixed * state.mu
        state.t[:] = _core.natural_parameters(task.problem, blend, task.threads)
        state.gap = unseen(task)
        state.expect()


def _largest_share(task: Task, ours: tuple[Weights, float], other: tuple[Weights, float], most: float) -> float:
    """The largest share of another alpha, up to `most`, that can be mixed into ours while D loses at most _LOST of it.

    Both are given by w(alpha) and D without its norm. Along the line between them D is quadratic.
    """
    (w, value), (other_w, other_value) = ours, other
    dot, way = task.problem.dot, other_w - w
    bend, slope = dot(way, way), other_value - value - dot(w, way)
    spare = _LOST * abs(value - 0.5 * dot(w, w))
    if spare + most * slope - 0.5 * most**2 * bend >= 0:
        return most
    root = sqrt(slope**2 + 2 * bend * spare)  # of the form whose numbers do not cancel; D may have nothing to spare
    share = (slope + root) / bend if slope >= 0 else 2 * spare / (root - slope)
    return max(share, _LEAST_MIXED)


@dataclass(kw_only=True)
class GibbsState(DualState):
    """alpha_i as Gibbs distributions over the parts, concatenated over all examples.

    Natural parameters of parts without a weight are 0, and their marginals are not needed: they are not stored, except
    where `StoredParts` makes an exception.
    """

    stored: InitVar[_core.StoredParts | None]  # the parts that t and mu are about; None means all
    t: NDArray[Any]  # natural parameters
    mu: NDArray[Any]  # marginals
    rate: NDArray[np.float64]
    trials: int = 0
    visited: int = 0

    def __post_init__(self, stored: _core.StoredParts | None) -> None:
        self.stored_parts = stored
        self.at_gold = False  # whether mu is that of the gold outputs, which no natural parameters express
        self.smo_passes = 0  # the number of passes after which natural parameters describe the blocks

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Restore what `pack` returned; earlier versions stored the numbers of all parts."""
        every = int(_core.part_offsets(self.task.problem)[-1])
        if self.stored_parts is not None and arrays["t"].shape == (every,):
            self.stored_parts = None
            self.t, self.mu = np.empty(every, self.t.dtype), np.empty(every, self.mu.dtype)
        super().unpack(plain, arrays)

    def verify(self) -> None:
        """Marginals, entropies, costs and w must be those of the natural parameters."""
        super().verify()
        if self.turn < self.smo_passes:
            self.verify_marginals(self.mu)
            return
        check_that(np.isfinite(self.t).all(), "natural parameters are finite")
        check_that((self.rate > 0).all() and np.isfinite(self.rate).all(), "rates are positive")
        rounding = _OF_SINGLE if self.t.dtype == np.float32 else _OF_DOUBLE
        mu, entropy, cost = np.zeros_like(self.mu), np.empty_like(self.entropy), np.empty_like(self.cost)
        w = self._expectations(mu, entropy, cost)
        check_same("w", self.w, w, rounding, terms=scale_of_weights(self.task))
        check_same("marginals", self.mu, mu, rounding)
        # An entropy is the difference of the logarithm of a sum and the expected natural parameters of an output.
        longest = max(len(self.task.problem.gold(i)) for i in range(self.task.problem.size))
        largest = float(np.abs(self.t).max(initial=0.0)) * longest
        check_same("entropies", self.entropy, entropy, rounding, terms=largest)
        check_same("costs", self.cost, cost, rounding)

    def begin_at_gold(self, start: float) -> None:
        """All mass on the gold outputs; the first step goes from the natural parameter `start` on their parts."""
        task = self.task
        _core.begin_at_gold(task.problem, task.threads, self.stored_parts, start, self.t, self.mu)
        self.at_gold = True

    def expect(self) -> None:
        """Compute marginals, entropies, costs and w from the natural parameters; one pass."""
        self.w = self._expectations(self.mu, self.entropy, self.cost)
        self.at_gold = False

    def certify_exactly(self) -> Step:
        """P, D and the gap of the natural parameters in double precision; two passes. The state does not change."""
        entropy, cost = np.empty_like(self.entropy), np.empty_like(self.cost)
        w = self._expectations(np.zeros(0, self.t.dtype), entropy, cost)
        return certified(self.task, w, dual_value(self.task, cost, entropy))

    def _expectations(self, mu: NDArray[Any], entropy: Weights, cost: Weights) -> Weights:
        task = self.task
        task.passes += 1
        return _core.gibbs_expectations(
            task.problem, task.family, task.threads, self.stored_parts, self.t, mu, entropy, cost
        )

    def begin_at(self, w: Weights) -> None:
        """Set the natural parameters to those of the loss's own distributions at these weights; one pass."""
        task = self.task
        task.passes += 1
        self.t[:] = 0
        _core.eg_batch_step(
            task.problem, task.family, task.threads, self.stored_parts, w, self.t, self.t, 1.0, self.entropy, self.cost
        )

    def estimate(self) -> float | None:
        """The estimate of the gap; None if beta is infinite, where a visit knows its gain but not what remains."""
        return super().estimate() if self.task.loss.smooth else None

    def visit(self, order: NDArray[np.int64], growth: float, *, halving: bool = False) -> None:
        """One pass of EG over these examples."""
        blocks = (self.t, self.mu, self.rate, self.entropy, self.cost, self.gap)
        cap = _CAP if self.task.loss.smooth else _CAP_AT_INFINITY
        settings = (growth, cap, halving, self.at_gold)
        trials = _core.eg_pass(*self.task.ascent(self.w, order), self.stored_parts, *blocks, *settings)
        self.at_gold = False
        self.trials += trials
        self.visited += len(order)
        self.count(trials)
