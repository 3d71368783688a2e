"""Online exponentiated gradient with the rates of the papers (000, section 5; 002, sections 4.3, 4.5 and 7)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave.learners.eg import EG
from margrave.learners.gibbs import CAP_AT_INFINITY, GibbsState
from margrave.learners.objective import Objective, Weights
from margrave.options import option

SCHEDULES = ("halved", "constant", "safe")


@dataclass
class PrintedEG(EG):
    """Online EG whose rates are those of the papers: halved at every visit, constant, or safe.

    Halved rates begin every visit with `rate` and are halved until D does not fall. A constant `rate` is rho, or eta
    where beta is infinite, and D may fall. Safe rates stay, and D never falls; `rate` is ignored.

    >>> PrintedEG(schedule="safe").name
    'printed-eg'
    """

    name: ClassVar[str] = "printed-eg"
    offers: ClassVar[tuple[str, ...]] = ("certificate",)

    skip: bool = option(False, "Leave out examples with small gaps in two passes of three, at finite beta.")
    schedule: str = option("halved", "How rates are chosen.", choices=SCHEDULES)

    def first_rates(self, objective: Objective) -> NDArray[np.float64]:
        """The rates that the examples begin with."""
        return safe_rates(objective) if self.schedule == "safe" else super().first_rates(objective)

    def begin(self, objective: Objective) -> GibbsState:
        """The weights that the first distributions imply, as in the papers."""
        state = super().begin(objective)
        if state.at_gold:
            state.expect()
        return state

    def continue_with(self, state: GibbsState, objective: Objective) -> GibbsState:
        """The same alpha with another C, which safe and halved rates depend on."""
        state = super().continue_with(state, objective)
        if self.schedule != "constant":
            state.rate = self.first_rates(objective)
        return state

    def visit(self, state: GibbsState, order: NDArray[np.int64]) -> None:
        """Make one step on each of these examples."""
        state.visit(order, 1.0, halving=self.schedule == "halved")


def safe_rates(objective: Objective) -> NDArray[np.float64]:
    """Rates at which D never falls: 1/(1 + beta C_i R_i^2), or 1/(C_i R_i^2) if beta is infinite.

    A step changes one block, and the entries of its own part of A are at most C_i R_i^2 (Globerson et al. 2007). If
    beta is infinite and R_i is small or 0, any rate would do in exact arithmetic, but marginals lose the digits that
    natural parameters gain: the costs may not change a parameter by more than a limit in one step.
    """
    problem, loss = objective.problem, objective.loss
    square = np.array([problem.radius(i) for i in range(problem.size)]) ** 2
    curve: Weights = objective.weights() * square
    if loss.smooth:
        rates: Weights = 1 / (1 + loss.beta * curve)
        return rates
    costs = np.array([np.abs(objective.cost(i)[0]).max(initial=0.0) for i in range(problem.size)])
    least = loss.gamma * costs / CAP_AT_INFINITY
    bounded: Weights = 1 / np.where(curve + least > 0, np.maximum(curve, least), 1.0)
    return bounded
