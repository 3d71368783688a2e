"""k-best MIRA (001, Eq. 17)."""

from dataclasses import dataclass
from typing import ClassVar

from margrave import _core
from margrave.learners.base import Learner
from margrave.learners.mira import AVERAGE_HELP, MIRAState, at_zero
from margrave.learners.objective import Objective, Step, Weights
from margrave.options import option


@dataclass
class KBestMIRA(Learner):
    """Makes the smallest update that places the gold output above each of the k best by its cost.

    >>> KBestMIRA(k=10).name
    'kbest-mira'
    """

    name: ClassVar[str] = "kbest-mira"
    needs: ClassVar[tuple[str, ...]] = ("kbest", "infinite beta", "cost of parts", "euclidean", "whole outputs")
    offers: ClassVar[tuple[str, ...]] = ("last weights",)
    default_max_iter: ClassVar[int] = 20

    k: int = option(5, "The number of best outputs that an update considers.", at_least=1, at_most=10_000)
    average: bool = option(True, AVERAGE_HELP)

    def blank(self, objective: Objective) -> MIRAState:
        """All weights zero."""
        return at_zero(objective)

    def result(self, state: MIRAState) -> Weights:
        """The average, or the last weights."""
        return state.result(self.average)

    def one_pass(self, state: MIRAState) -> Step:
        """One update for every example, in shuffled order."""
        order = state.order()
        ascent = state.objective.ascent(state.w, order)
        return state.finish(_core.kbest_mira_pass(*ascent, state.sum, state.steps, self.k), self.average)
