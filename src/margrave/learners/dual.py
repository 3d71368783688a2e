"""The base of dual learners: w = w(alpha), D, and which examples a pass visits (docs/background/learning.md)."""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError, Message, setting
from margrave.learners.objective import Objective, Objectives, State, Step, Weights
from margrave.learners.resuming import check_same, check_that, expected_costs, scale_of_weights
from margrave.learners.rounding import lowered
from margrave.memory import check_memory

ORDERS = ("shuffled", "cyclic", "gap")
ORDER_HELP = 'The order in which a pass visits the examples; "gap" draws them in proportion to their gaps.'

# Examples whose gap is below this fraction of the mean are skipped (measured on CoNLL-2000: 18 passes instead of 25).
_SKIPPED = 0.5
_WHOLE = 3  # Every third pass visits all examples.
_UNIFORM = 0.2  # With order "gap", this fraction of the draws is uniform, so that every gap is updated occasionally.


@dataclass(kw_only=True)
class DualState(State):
    """Blocks of dual variables, one per example, and the weights that they imply."""

    w: Weights
    entropy: Weights  # H_i, or a lower bound on it
    cost: Weights  # c_i
    gap: Weights  # the gap of each example at its last visit; inf before the first
    random: np.random.Generator
    turn: int = 0  # passes so far
    summed: int = 0  # the number of passes whose steps w and costs sum

    def verify(self) -> None:
        """Gaps are not negative; learners add what they know about their blocks."""
        check_that((self.gap >= 0).all(), "gaps are not negative")
        check_that(np.isfinite(self.w).all(), "w is finite")

    def verify_marginals(self, mu: Weights, *, of_parts: bool = True) -> None:
        """w must be that of the marginals and, where costs decompose over parts, the costs as well."""
        objective = self.objective
        check_that(np.isfinite(mu).all(), "marginals are finite")
        check_same("w", self.w, self.weights_of(mu), terms=scale_of_weights(objective))
        if of_parts and objective.loss.gamma > 0:
            check_same("costs", self.cost, expected_costs(objective, _core.part_offsets(objective.problem), mu))

    def visits(self, order: str, skip: bool) -> NDArray[np.int64]:
        """The examples of the next pass; with `skip`, two passes in three leave out those with small gaps."""
        n = self.objective.problem.size
        self.turn += 1
        self.summed += 1
        seen = self.objective.weights() * self.gap
        if order == "gap" and np.isfinite(seen).all() and seen.sum() > 0:
            return self.random.choice(n, n, p=(1 - _UNIFORM) * seen / seen.sum() + _UNIFORM / n)
        chosen = np.arange(n) if order == "cyclic" else self.random.permutation(n)
        if skip and self.turn % _WHOLE != 1 and np.isfinite(seen).all():
            chosen = chosen[seen[chosen] >= _SKIPPED * seen.mean()]
        return chosen

    def count(self, inferences: int) -> None:
        """Count inferences as a fraction of a pass."""
        self.objective.passes += inferences / self.objective.problem.size

    def value(self) -> float:
        """sum_i C_i (gamma c_i + H_i / beta)."""
        return dual_value(self.objective, self.cost, self.entropy)

    def dual(self) -> float:
        """D(alpha) = sum_i C_i (gamma c_i + H_i / beta) - 1/2 |w|^2, lowered where rounding errors matter."""
        return dual_of(self.objective, self.w, self.value(), self.rounding_at(self.w, self.summed))

    def rounding_at(self, w: Weights, summed: int = 0) -> float:
        """How much D at w = w(alpha) may be too large; w and the costs sum the steps of this many passes."""
        norm = sqrt(self.objective.problem.dot(w, w))
        return self.objective.rounding.of_state(norm, 1 + summed, self.largest_score())

    def largest_score(self) -> float | None:
        """A bound on the natural parameters of outputs, if they have any."""
        return None

    def compute_again(self) -> None:
        """Compute w, and what else sums the steps of all passes, from alpha."""
        raise MargraveError(f"the state {type(self).__name__} does not say how to compute its sums again.")

    def settle(self) -> None:
        """After a pass: compute sums of steps again where their rounding errors are not negligible in D."""
        value = self.value() - 0.5 * self.objective.problem.dot(self.w, self.w)
        if lowered(value, self.rounding_at(self.w, self.summed)) < value:
            self.compute_again()
            self.summed = 0

    def objectives(self) -> Objectives:
        """D; P takes a pass."""
        return None, self.dual(), None

    def estimate(self) -> float | None:
        """The sum of the gaps at the last visits; None if some example has not been visited yet."""
        total = float(self.objective.weights() @ self.gap)
        return total if total < inf else None

    def step(self) -> Step:
        """The outcome of a pass; weights without P are never the result, so they are not copied."""
        return Step(self.w, *self.objectives(), estimate=self.estimate())

    def certify(self, mu: Weights, stored: _core.StoredParts | None = None) -> Step:
        """P, D and the gap at w(alpha), computed again from the marginals; one pass. The state does not change.

        The marginals are those of all parts, or of the stored ones.
        """
        w = self.weights_of(mu, stored)
        return certified(self.objective, w, self.value(), self.rounding_at(w))

    def weights_of(self, mu: Weights, stored: _core.StoredParts | None = None) -> Weights:
        """w(alpha) of these marginals."""
        objective = self.objective
        return _core.weights_of(objective.problem, objective.family, objective.threads, mu, stored)

    def rescale(self, objective: Objective) -> None:
        """Continue with the same alpha and another C, to which w is proportional."""
        self.w *= objective.C / self.objective.C
        self.objective = objective
        self.gap = unseen(objective)
        self.turn = 0


def dual_value(objective: Objective, cost: Weights, entropy: Weights) -> float:
    """sum_i C_i (gamma c_i + H_i / beta): D without its norm."""
    loss = objective.loss
    with np.errstate(invalid="ignore"):  # Marginals of wild steps can overflow, which the run refuses.
        return float(objective.weights() @ (loss.gamma * cost + (entropy / loss.beta if loss.smooth else 0.0)))


def dual_of(objective: Objective, w: Weights, value: float, error: float) -> float:
    """D at w = w(alpha), given the rest of D, lowered by its rounding error where that is not negligible."""
    return lowered(value - 0.5 * objective.problem.dot(w, w), error)


def certified(objective: Objective, w: Weights, value: float, error: float, known: Weights | None = None) -> Step:
    """P, D and the gap at w = w(alpha), given the rest of D, its error and the slacks of known outputs; one pass."""
    primal, dual = objective.primal(w, known), dual_of(objective, w, value, error)
    return Step(w, primal, dual, primal - dual)


def unseen(objective: Objective) -> Weights:
    """Gaps before any visit: infinite, except for examples without weight, where they are zero."""
    return np.where(objective.weights() > 0, inf, 0.0)


def blank_blocks(objective: Objective) -> dict[str, Any]:
    """The fields of a DualState with all mass on the gold outputs."""
    n = objective.problem.size
    return {
        "objective": objective,
        "w": np.zeros(objective.problem.dim),
        "entropy": np.zeros(n),
        "cost": np.zeros(n),
        "gap": unseen(objective),
        "random": np.random.default_rng(objective.random_state),
    }


def check_bytes(objective: Objective, parts: int, size: int) -> None:
    """An error if the numbers of these parts, which take this many bytes, do not fit into memory."""
    check_memory(
        size,
        f"the distributions over the {parts} parts of {objective.problem.size} examples",
        Message(
            "use ",
            setting(learner="lbfgs"),
            " for smooth losses, or ",
            setting(learner="sgd"),
            ", or fewer classes or examples",
        ),
    )


def check_parts(objective: Objective, bytes_per_part: int = 8) -> int:
    """The number of all parts; an error if numbers for each do not fit into memory."""
    n = int(_core.part_offsets(objective.problem)[-1])
    check_bytes(objective, n, bytes_per_part * n)
    return n


def gold_counts(objective: Objective) -> Weights:
    """The number of occurrences of each part in the gold outputs of all examples, concatenated."""
    counts = np.zeros(check_parts(objective))
    np.add.at(counts, _core.gold_parts(objective.problem), 1.0)
    return counts


def largest_score(objective: Objective, t: NDArray[Any]) -> float:
    """A bound on the sizes of the scores of outputs whose parts have these natural parameters."""
    return objective.longest * max(float(t.max(initial=0.0)), -float(t.min(initial=0.0)))


def gold_parameters(objective: Objective, start: float) -> Weights:
    """Natural parameters of all parts, concatenated: `start` for gold parts, 0 for others."""
    check_parts(objective, 16)  # marginals as well
    t: Weights = start * np.minimum(gold_counts(objective), 1.0)
    return t
