"""The state of exponentiated gradient: one Gibbs distribution over outputs per example."""

from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.learners.dual import DualState, certified, dual_value, largest_score
from margrave.learners.objective import Step, Weights
from margrave.learners.resuming import check_same, check_that, scale_of_dual, scale_of_weights

CAP = 20.0  # the maximum change of a natural parameter in one step
CAP_AT_INFINITY = 2.0  # the same if beta is infinite, because outputs that lost all mass take long to regain it
_OF_COMPACT = 1e-3  # What is computed again from compact numbers may differ from what was stored by this fraction.


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

    def verify(self) -> None:
        """w and D must be those of the natural parameters."""
        super().verify()
        if self.turn < self.smo_passes:
            self.verify_marginals(self.mu)
            return
        check_that((self.rate > 0).all() and np.isfinite(self.rate).all(), "rates are positive")
        rounding = self.rounding
        stored, w = self.dual(), self.w
        self.expect()
        check_same("w", w, self.w, rounding, terms=scale_of_weights(self.objective))
        check_same("D", stored, self.dual(), rounding, scale_of_dual(self.objective, w))

    @property
    def numbers(self) -> Any:
        """Natural parameters and marginals, for the core, whose functions take those of either kind."""
        return _core.DoubleNumbers(self.t, self.mu)

    def begin_at_gold(self, start: float) -> None:
        """All mass on the gold outputs; the first step goes from the natural parameter `start` on their parts."""
        objective = self.objective
        _core.begin_at_gold(objective.problem, objective.threads, self.stored_parts, start, self.numbers)
        self.at_gold = True

    def expect(self) -> None:
        """Compute marginals, entropies, costs and w from the natural parameters; one pass."""
        self.w = self._expectations(self.entropy, self.cost, store=True)
        self.at_gold = False

    def certify_exactly(self) -> Step:
        """P, D and the gap of the natural parameters in double precision; two passes. The state does not change."""
        entropy, cost = np.empty_like(self.entropy), np.empty_like(self.cost)
        w = self._expectations(entropy, cost, store=False)
        return certified(self.objective, w, dual_value(self.objective, cost, entropy), self.rounding_at(w))

    def largest_score(self) -> float | None:
        """That of the natural parameters, once these describe the blocks."""
        return None if self.turn < self.smo_passes else largest_score(self.objective, self.t)

    def compute_again(self) -> None:
        """The marginals as well, which takes a pass."""
        self.expect()

    def _expectations(self, entropy: Weights, cost: Weights, *, store: bool) -> Weights:
        objective = self.objective
        objective.passes += 1
        return _core.gibbs_expectations(
            objective.problem,
            objective.family,
            objective.threads,
            self.stored_parts,
            self.numbers,
            store,
            entropy,
            cost,
        )

    def begin_at(self, w: Weights) -> None:
        """Set the natural parameters to those of the loss's own distributions at these weights; one pass."""
        objective = self.objective
        objective.passes += 1
        self.t[:] = 0
        _core.eg_batch_step(
            objective.problem,
            objective.family,
            objective.threads,
            self.stored_parts,
            w,
            self.numbers,
            self.numbers,
            1.0,
            self.entropy,
            self.cost,
        )

    def estimate(self) -> float | None:
        """The estimate of the gap; None if beta is infinite, where a visit knows its gain but not what remains."""
        return super().estimate() if self.objective.loss.smooth else None

    def visit(self, order: NDArray[np.int64], growth: float, *, halving: bool = False) -> None:
        """One pass of EG over these examples."""
        blocks = (self.numbers, self.rate, self.entropy, self.cost, self.gap)
        cap = CAP if self.objective.loss.smooth else CAP_AT_INFINITY
        settings = (growth, cap, halving, self.at_gold)
        trials = _core.eg_pass(*self.objective.ascent(self.w, order), self.stored_parts, *blocks, *settings)
        self.at_gold = False
        self.trials += trials
        self.visited += len(order)
        self.count(trials)


@dataclass(kw_only=True)
class CompactGibbsState(GibbsState):
    """The same with compact numbers (`passes/distributions.h` in the core).

    t and mu are integers, multiples of steps; the numbers of heavy parts, with nearly all of the mass, stand beside.
    """

    steps: NDArray[np.float64]  # of the parameters and of the roots of the marginals of each example
    heavy: NDArray[np.int32]  # how many heavy parts each example has
    heavy_part: NDArray[np.int32]
    heavy_t: NDArray[np.float32]
    heavy_mu: NDArray[np.float32]

    def __post_init__(self, stored: _core.StoredParts | None) -> None:
        super().__post_init__(stored)
        self.room = _core.heavy_room(self.objective.problem, stored)

    @property
    def rounding(self) -> float:
        """More than in double precision."""
        return _OF_COMPACT

    @property
    def numbers(self) -> _core.CompactNumbers:
        """Natural parameters and marginals, for the core."""
        heavy = (self.heavy, self.heavy_part, self.heavy_t, self.heavy_mu)
        return _core.CompactNumbers(self.t, self.mu, self.steps, self.room, *heavy)

    def largest_score(self) -> None:
        """Unknown: parameters are multiples of steps."""

    def settle(self) -> None:
        """Nothing: D is an estimate anyway."""

    def step(self) -> Step:
        """The outcome of a pass; rounding errors add up, so D is an estimate, and only certificates have a bound."""
        return Step(self.w, estimate=self.estimate(), dual_estimate=self.dual())
