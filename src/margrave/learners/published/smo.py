"""Factored sequential minimal optimization for max-margin Markov networks, the comparison method of 000."""

from dataclasses import dataclass
from typing import ClassVar

from margrave import _core
from margrave.learners.base import Learner
from margrave.learners.dual import ORDER_HELP, ORDERS, DualState, blank_blocks, gold_counts
from margrave.learners.objective import Objective, Step, Weights
from margrave.learners.resuming import expected_costs
from margrave.options import option


@dataclass
class SMO(Learner):
    """Moves mass from the worst output that has any to the loss-augmented best one, one example at a time.

    It works on the marginals of untied parts: `tied=False`.

    >>> SMO().name
    'smo'
    """

    name: ClassVar[str] = "smo"
    needs: ClassVar[tuple[str, ...]] = (
        "argmax",
        "untied",
        "infinite beta",
        "cost of parts",
        "any scores",
        "whole outputs",
    )
    offers: ClassVar[tuple[str, ...]] = ("tol",)
    default_max_iter: ClassVar[int] = 1000

    order: str = option("shuffled", ORDER_HELP, choices=ORDERS)

    def blank(self, objective: Objective) -> "_State":
        """All mass on the gold outputs."""
        return _State(**blank_blocks(objective), mu=gold_counts(objective))

    def continue_with(self, state: "_State", objective: Objective) -> "_State":
        """The same marginals at another C."""
        state.rescale(objective)
        return state

    def one_pass(self, state: "_State") -> Step:
        """One step for every example."""
        order = state.visits(self.order, False)
        state.count(_core.smo_pass(*state.objective.ascent(state.w, order), state.mu, state.cost, state.gap))
        state.settle()
        return state.step()

    def certify(self, state: "_State") -> Step:
        """P and the gap; one pass."""
        return state.certify(state.mu)


@dataclass(kw_only=True)
class _State(DualState):
    mu: Weights  # the concatenated marginals of all examples

    def compute_again(self) -> None:
        """And the costs."""
        self.w = self.weights_of(self.mu)
        self.cost = expected_costs(self.objective, _core.part_offsets(self.objective.problem), self.mu)

    def verify(self) -> None:
        """w and the costs must be those of the marginals."""
        super().verify()
        self.verify_marginals(self.mu)
