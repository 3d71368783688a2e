"""Online exponentiated gradient on the dual (000, section 5; 002, Fig. 2)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.learners.base import Learner
from margrave.learners.dual import ORDER_HELP, ORDERS, blank_blocks, check_bytes
from margrave.learners.gibbs import CAP, CompactGibbsState, GibbsState
from margrave.learners.objective import Objective, Step
from margrave.losses import LossFamily
from margrave.memory import lazy_zeros
from margrave.options import option
from margrave.threads import available_threads

_GROWTH = 1.3  # the maximum growth of a rate from one visit to the next
_FEW_PARTS = 2**25  # half a gigabyte of distributions: up to this, nothing is gained by storing only some of the parts


@dataclass
class EG(Learner):
    """Multiplicative updates of one example's distribution at a time; the dual objective never falls.

    The rate of every example is adapted at each visit: it is reduced until D does not fall, and increased after a gain.
    The distributions are initially concentrated on the gold outputs, or given by `Objective.start`. `PrintedEG` has the
    rates of the papers.

    >>> EG(rate=0.5, order="cyclic").name
    'eg'
    """

    name: ClassVar[str] = "eg"
    needs: ClassVar[tuple[str, ...]] = ("logsum", "cost of parts", "any scores")
    offers: ClassVar[tuple[str, ...]] = ("tol",)
    default_max_iter: ClassVar[int] = 1000

    rate: float = option(0.7, "The initial step size of every example.", above=0)
    start: float = option(8.0, "How strongly training starts from the correct outputs; 0 is uniform.", at_least=0)
    order: str = option("shuffled", ORDER_HELP, choices=ORDERS)
    skip: bool = option(True, "Leave out examples with small gaps in two passes of three, at finite beta.")
    single: bool = option(
        False,
        "Store the distributions compactly, in about a quarter of the memory, at finite beta: the largest "
        "probabilities in single precision, all others in 16 bits; certificates are computed in double precision.",
    )

    def blank(self, objective: Objective) -> GibbsState:
        """Blocks without natural parameters and marginals, which take no memory before they are written."""
        problem, stored = objective.problem, self.stored_parts(objective)
        n = _core.part_offsets(problem)[-1] if stored is None else stored.size
        rates = self.first_rates(objective)
        if not self.single:
            check_bytes(objective, n, bytes_in_double(n))
            t, mu = (lazy_zeros(n, np.dtype(np.float64)) for _ in range(2))
            return GibbsState(**blank_blocks(objective), stored=stored, t=t, mu=mu, rate=rates)
        heavy = int(_core.heavy_room(problem, stored)[-1])
        check_bytes(objective, n, bytes_compactly(n, heavy, problem.size))
        return CompactGibbsState(
            **blank_blocks(objective),
            stored=stored,
            t=lazy_zeros(n, np.dtype(np.int16)),
            mu=lazy_zeros(n, np.dtype(np.uint16)),
            rate=rates,
            steps=np.zeros(2 * problem.size),
            heavy=np.zeros(problem.size, dtype=np.int32),
            heavy_part=lazy_zeros(heavy, np.dtype(np.int32)),
            heavy_t=lazy_zeros(heavy, np.dtype(np.float32)),
            heavy_mu=lazy_zeros(heavy, np.dtype(np.float32)),
        )

    def required_bytes(self, loss: LossFamily, problem: _core.Problem) -> int:
        """The bytes of natural parameters and marginals; a run takes little else besides data and weights."""
        stored = self._stored_parts(problem, loss.core(), available_threads(None))
        n = int(_core.part_offsets(problem)[-1]) if stored is None else stored.size
        if not self.single:
            return bytes_in_double(n)
        return bytes_compactly(n, int(_core.heavy_room(problem, stored)[-1]), problem.size)

    def first_rates(self, objective: Objective) -> NDArray[np.float64]:
        """The rates that the examples begin with."""
        return np.full(
            objective.problem.size, min(self.rate, 1.0) if objective.loss.smooth else self.rate * objective.C
        )

    def stored_parts(self, objective: Objective) -> _core.StoredParts | None:
        """The parts whose natural parameters can change; None means all, also where all of them take little memory."""
        return self._stored_parts(objective.problem, objective.family, objective.threads)

    @staticmethod
    def _stored_parts(problem: _core.Problem, family: _core.LossFamily, threads: int) -> _core.StoredParts | None:
        few = _core.part_offsets(problem)[-1] <= _FEW_PARTS
        return None if few else _core.StoredParts(problem, family, threads)

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse compact distributions if beta is infinite."""
        super().check(loss, problem)
        if self.single and not loss.smooth:
            raise MargraveError(
                f"single precision needs a finite beta, and {loss.name} has an infinite one, for which natural "
                "parameters grow without bound: use single=False."
            )

    def begin(self, objective: Objective) -> GibbsState:
        """All mass on the gold outputs, or the weights that the first distributions imply.

        Adapted rates need no distributions before the first visits, which saves a pass; examples without weight are not
        visited.
        """
        state = self.blank(objective)
        if objective.start is not None:
            state.begin_at(objective.start)
        else:
            state.begin_at_gold(self.start)
        if not (state.at_gold and (objective.weights() > 0).all()):
            state.expect()
        return state

    def continue_with(self, state: GibbsState, objective: Objective) -> GibbsState:
        """The same alpha with another C.

        If beta is infinite, natural parameters grow without bound, and outputs that lost all mass would take long to
        regain it. In this case the parameters are scaled down first.
        """
        state.rescale(objective)
        largest = float(max(state.t.max(initial=0.0), -state.t.min(initial=0.0)))
        if not objective.loss.smooth and largest > CAP:
            state.t *= CAP / largest
            state.expect()
        return state

    def one_pass(self, state: GibbsState) -> Step:
        """Visits the examples that have something to gain."""
        skips = self.skip and state.objective.loss.smooth
        order = state.visits(self.order, skips and state.turn > 1)  # Gains of first visits tell little of what is left.
        self.visit(state, order)
        state.settle()
        return state.step()

    def visit(self, state: GibbsState, order: NDArray[np.int64]) -> None:
        """Make one step on each of these examples."""
        state.visit(order, _GROWTH)

    def certify(self, state: GibbsState) -> Step:
        """P and the gap; compact marginals are computed again in double precision, which takes another pass."""
        return state.certify_exactly() if self.single else state.certify(state.mu, state.stored_parts)


def bytes_in_double(parts: int) -> int:
    """The bytes of a natural parameter and a marginal of each of these parts in double precision."""
    return 16 * parts


def bytes_compactly(parts: int, heavy: int, examples: int) -> int:
    """The same if the numbers are compact, with room for this many heavy parts (`CompactGibbsState`)."""
    return 4 * parts + 12 * heavy + 20 * examples
