"""Factored sequential minimal optimisation for max-margin Markov networks, the comparison method of 000."""

from dataclasses import dataclass
from typing import ClassVar

from margrave import _core
from margrave.learners.base import Learner, Step, Task, Weights
from margrave.learners.dual import DualState, blank_blocks, check_order, gold_counts


@dataclass
class SMO(Learner):
    """Moves mass from the worst output that has any to the loss-augmented best one, an example at a time.

    It works on the marginals of untied parts: `tied=False`.

    >>> SMO().name
    'smo'
    """

    name: ClassVar[str] = "smo"
    own_scores: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("argmax", "untied")
    infinite_beta_only: ClassVar[bool] = True
    cost_of_parts: ClassVar[bool] = True
    reaches_tol: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 1000

    order: str = "shuffled"

    def __post_init__(self) -> None:
        check_order(self.order)

    def blank(self, task: Task) -> "_State":
        """All mass on the gold outputs."""
        return _State(**blank_blocks(task), mu=gold_counts(task))

    def carry(self, state: "_State", task: Task) -> "_State":
        """The same marginals at another C."""
        state.rescale(task)
        return state

    def one_pass(self, state: "_State") -> Step:
        """One step for every example."""
        order = state.visits(self.order, False)
        state.count(_core.smo_pass(*state.task.ascent(state.w, order), state.mu, state.cost, state.gap))
        return state.step()

    def certify(self, state: "_State") -> Step:
        """P and the gap; one pass."""
        return state.certify(state.mu)


@dataclass(kw_only=True)
class _State(DualState):
    mu: Weights  # of all examples, one after another
