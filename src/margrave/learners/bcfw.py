"""Block-coordinate Frank-Wolfe; at finite beta, stochastic dual coordinate ascent (docs/background/learning.md)."""

from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError, setting
from margrave.learners.base import Learner
from margrave.learners.checks import check_rule
from margrave.learners.dual import (
    ORDER_HELP,
    ORDERS,
    DualState,
    blank_blocks,
    certified,
    check_parts,
    dual_of,
    gold_counts,
)
from margrave.learners.objective import Objective, Objectives, Step, Weights
from margrave.learners.resuming import check_same, check_that, expected_costs, scale_of_weights
from margrave.losses import LossFamily
from margrave.options import option

_MEMORY = 10  # the number of outputs without mass that a block remembers
_ENOUGH = 0.1  # A visit optimizes over the outputs that it knows until this fraction of the gap it found is left.
_FIRST = 10  # After so many passes, one that closes less than a fraction of the gap
_SLOW = 0.05  # is followed by steps on all blocks together,
_OF_GAP = 0.01  # until the gap among the known outputs is this fraction of the gap.


@dataclass
class BCFW(Learner):
    """Block-coordinate Frank-Wolfe: updates one example at a time with an exact line search.

    If beta is infinite, pairwise steps move mass between the outputs that a block remembers; plain steps move mass from
    all old outputs in proportion to the new one. If beta is finite, this is stochastic dual coordinate ascent.

    >>> BCFW(pairwise=False, averaging=True).name
    'bcfw'
    """

    name: ClassVar[str] = "bcfw"
    offers: ClassVar[tuple[str, ...]] = ("tol",)
    default_max_iter: ClassVar[int] = 1000

    pairwise: bool = option(
        True, "Move mass between the outputs that a block remembers instead of from all alike, where beta is infinite."
    )
    cached_steps: int = option(
        10, "The most pairwise steps per remembered output after an inference.", at_least=0, at_most=10**6
    )
    order: str = option("shuffled", ORDER_HELP, choices=ORDERS)
    averaging: bool = option(
        False, "Return the average of the weights over the passes, with later passes counting more."
    )
    exact_entropy: bool = option(
        False,
        "At finite beta, search over the entropy of the mixture itself instead of a bound on it; requires a structure "
        "that offers entropies of untied parts.",
    )

    def blank(self, objective: Objective) -> "_State":
        """All mass on the gold outputs, so that w = 0."""
        if self._pairwise(objective.loss):
            check_parts(objective)  # A certificate takes the marginals of all parts.
            return _State(**blank_blocks(objective), blocks=_core.Blocks(objective.problem))
        return _State(**blank_blocks(objective), mu=gold_counts(objective))

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse problems without distributions over parts, or without entropies, if they are needed."""
        super().check(loss, problem)
        if self._pairwise(loss):
            check_rule("whole outputs", self, loss, problem)
        if loss.smooth and not problem.any_scores:
            raise MargraveError(
                f"learner 'bcfw' needs distributions over parts with {loss.name}, and this problem has none: use ",
                setting(learner="lbfgs"),
                ", or ",
                setting(loss="hinge"),
                ".",
            )
        if self.exact_entropy and not (loss.smooth and {"entropy", "untied"} <= set(problem.offers)):
            raise MargraveError(
                "exact_entropy needs a finite beta and a structure with entropies of untied parts: leave it out."
            )

    def continue_with(self, state: "_State", objective: Objective) -> "_State":
        """The same alpha with another C."""
        state.rescale(objective)
        state.average, state.average_value = np.zeros(0), 0.0
        return state

    def one_pass(self, state: "_State") -> Step:
        """Visits all examples."""
        objective = state.objective
        order = state.visits(self.order, self.order == "shuffled" and self._pairwise(objective.loss))
        ascent, before = objective.ascent(state.w, order), state.dual()
        if state.blocks is not None:
            _core.pairwise_pass(*ascent, state.blocks, state.gap, self.cached_steps, _MEMORY, _ENOUGH)
        else:
            _core.mixing_pass(*ascent, state.mu, state.entropy, state.cost, state.gap, self.exact_entropy)
        state.count(len(order))
        state.update_costs()
        gap = state.estimate() if state.blocks is not None and state.turn > _FIRST else None
        if gap is not None and state.dual() - before < _SLOW * gap:
            _core.take_joint_steps(objective.problem, state.w, objective.family, state.blocks, _OF_GAP * gap)
            state.update_costs()
        state.settle()
        if self.averaging:
            state.add_to_average()
        w = state.average.copy() if self.averaging else state.w
        return Step(w, *state.objectives(), estimate=state.estimate())

    def certify(self, state: "_State") -> Step:
        """P and the gap; one pass. If there is an average, D is taken at the average of alpha, which is feasible."""
        if len(state.average):
            w = state.average.copy()
            primal, dual = state.objective.primal(w, state.known_slacks(w)), state.average_dual()
            return Step(w, primal, dual, primal - dual)
        state.update_costs()  # An interrupted pass has not done this.
        w = state.weights()
        return certified(state.objective, w, state.value(), state.rounding_at(w), state.known_slacks(w))

    def known_primal(self, state: "_State", w: Weights) -> float:
        """P of these weights over the outputs that blocks remember."""
        known = state.known_slacks(w)
        of_blocks = -inf if known is None else state.objective.primal_of_slacks(w, known)
        return max(super().known_primal(state, w), of_blocks)

    def _pairwise(self, loss: LossFamily) -> bool:
        return self.pairwise and not loss.smooth


@dataclass(kw_only=True)
class _State(DualState):
    growing = ("average",)  # It is empty before the first pass.

    mu: Weights = field(default_factory=lambda: np.zeros(0))  # the concatenated marginals of all examples,
    blocks: Any = None  # or the outputs that have mass
    average: Weights = field(default_factory=lambda: np.zeros(0))
    average_value: float = 0.0  # the average of D without its norm

    def verify(self) -> None:
        """w and the costs must be those of the blocks, whose masses sum to 1."""
        super().verify()
        problem = self.objective.problem
        check_that(len(self.average) in (0, problem.dim), "the average has one weight per feature")
        if self.blocks is None:
            self.verify_marginals(self.mu, of_parts=not self.objective.loss.beyond_parts(problem))
            return
        begin, _, _, alpha, *_ = self.blocks.arrays()
        check_same("masses", np.add.reduceat(alpha, begin[:-1]), np.ones(problem.size))
        check_same("costs", self.cost, self.blocks.costs())
        check_same("w", self.w, self.weights(), terms=scale_of_weights(self.objective))

    def objectives(self) -> Objectives:
        """D, at the average of alpha if there is one; P takes a pass."""
        return None, self.average_dual() if len(self.average) else self.dual(), None

    def weights(self) -> Weights:
        """w(alpha), computed again."""
        if self.blocks is None:
            return self.weights_of(self.mu)
        w: Weights = self.blocks.weights(self.objective.problem, self.objective.family, self.objective.threads)
        return w

    def rounding_at(self, w: Weights, summed: int = 0) -> float:
        """As for all marginals; the masses of outputs are exact, and w has no terms for those without mass."""
        return super().rounding_at(w, summed if self.blocks is None else summed - 1)

    def compute_again(self) -> None:
        """And the costs; entropies are never sums of steps."""
        self.w = self.weights()
        if self.blocks is None and not self.objective.loss.beyond_parts(self.objective.problem):
            self.cost = expected_costs(self.objective, _core.part_offsets(self.objective.problem), self.mu)

    def known_slacks(self, w: Weights) -> Weights | None:
        """The slacks that remembered outputs ask for; None if searches are exact, or nothing is remembered."""
        objective = self.objective
        if self.blocks is None or objective.problem.exact:
            return None
        slacks: Weights = self.blocks.slacks(objective.problem, w, objective.family, objective.threads)
        return slacks

    def update_costs(self) -> None:
        """Compute the expected costs of blocks that store their outputs."""
        if self.blocks is not None:
            self.cost = self.blocks.costs()

    def add_to_average(self) -> None:
        """Add pass k with weight k: the weighted averages of Lacoste-Julien et al. (2013), over whole passes."""
        share = 2 / (self.turn + 1)
        if not len(self.average):
            self.average = np.zeros_like(self.w)
        self.average += share * (self.w - self.average)
        self.average_value += share * (self.value() - self.average_value)

    def average_dual(self) -> float:
        """A lower bound on D at the average of alpha, because the entropy is concave."""
        error = self.rounding_at(self.average, self.summed)
        return min(dual_of(self.objective, self.average, self.average_value, error), self.dual())

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The blocks as arrays."""
        plain, arrays = super().pack()
        if plain.pop("blocks") is not None:
            arrays |= dict(zip(_BLOCKS, self.blocks.arrays(), strict=True))
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """The blocks from arrays."""
        blocks = self.blocks
        if blocks is not None:
            stored = [np.ascontiguousarray(arrays[name]) for name in _BLOCKS]
            blocks = _core.Blocks.from_arrays(self.objective.problem, *stored)
        super().unpack(plain | {"blocks": blocks}, arrays)


_BLOCKS = ("atom_begin", "part_begin", "parts", "alpha", "atom_cost", "gram")
