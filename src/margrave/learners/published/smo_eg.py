"""Exponentiated gradient that starts with passes of SMO (000, last paragraph)."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.learners.dual import gold_counts, unseen
from margrave.learners.eg import EG
from margrave.learners.gibbs import GibbsState
from margrave.learners.objective import Objective, Step, Weights
from margrave.options import option

_LOST = 0.01  # The fraction of D that the switch from SMO to EG may give up, which EG regains within a pass.
_LEAST_MIXED = 1e-12  # The least share of the uniform distribution that EG begins with.


@dataclass
class SMOEG(EG):
    """Begins with passes of SMO, which make fast progress at first, and continues with EG (Bartlett et al. 2004).

    At the switch, natural parameters become the logarithms of the conditionals of a mixture of SMO's marginals and
    uniform ones, because EG cannot change a zero. D can fall once at this point, by one per cent at most.

    >>> SMOEG(smo_passes=2).name
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

    def stored_parts(self, objective: Objective) -> None:
        """All parts, because the conditionals that EG begins with are not 0 for parts without a weight."""

    def blank(self, objective: Objective) -> GibbsState:
        """Natural parameters that only matter after the passes of SMO."""
        state = super().blank(objective)
        state.smo_passes = self.smo_passes
        return state

    def begin(self, objective: Objective) -> GibbsState:
        """All mass on the gold outputs."""
        state = self.blank(objective)
        state.mu[:] = gold_counts(objective)
        return state

    def one_pass(self, state: GibbsState) -> Step:
        """Make a pass of SMO or of EG; the last pass of SMO ends with the switch to EG."""
        if state.turn >= self.smo_passes:
            return super().one_pass(state)
        order = state.visits(self.order, False)
        mu = state.mu.astype(np.float64)
        state.count(_core.smo_pass(*state.objective.ascent(state.w, order), mu, state.cost, state.gap))
        state.mu[:] = mu
        if state.turn == self.smo_passes:
            self._switch(state, mu)
        return state.step()

    def _switch(self, state: GibbsState, mu: NDArray[np.float64]) -> None:
        objective, w, value = state.objective, state.w, state.value()
        state.t[:] = 0
        state.expect()  # state.mu is uniform now
        mixed = _largest_share(objective, (w, value), (state.w, state.value()), self.mixed)
        blend = (1 - mixed) * mu + mixed * state.mu
        state.t[:] = _core.natural_parameters(objective.problem, blend, objective.threads)
        state.gap = unseen(objective)
        state.expect()


def _largest_share(
    objective: Objective, ours: tuple[Weights, float], other: tuple[Weights, float], most: float
) -> float:
    """The largest share of another alpha, up to `most`, that can be mixed into ours while D loses at most _LOST of it.

    Both are given by w(alpha) and D without its norm. Along the line between them D is quadratic.
    """
    (w, value), (other_w, other_value) = ours, other
    dot, way = objective.problem.dot, other_w - w
    bend, slope = dot(way, way), other_value - value - dot(w, way)
    spare = _LOST * abs(value - 0.5 * dot(w, w))
    if spare + most * slope - 0.5 * most**2 * bend >= 0:
        return most
    root = sqrt(slope**2 + 2 * bend * spare)  # of the form whose numbers do not cancel; D may have nothing to spare
    share = (slope + root) / bend if slope >= 0 else 2 * spare / (root - slope)
    return max(share, _LEAST_MIXED)
