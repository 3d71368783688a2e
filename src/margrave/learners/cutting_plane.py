"""The n-slack cutting plane of the structural SVM (003, Algorithm 1)."""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import is_number
from margrave.errors import MargraveError, setting
from margrave.learners.base import Learner
from margrave.learners.objective import Objective, Objectives, State, Step, Weights
from margrave.learners.resuming import check_same, check_that, scale_of_weights
from margrave.options import option

VARIANTS = ("a", "b")

_ROUNDING = 1e-12  # A smaller violation counts as none.
_OVER_S = 0.1  # Between two passes the known constraints are optimized to this fraction of the gap that a pass saw.
_AFTER_EACH = 0.01  # Variant (a) optimizes them to this fraction of that gap after each constraint.
_AT_MOST = 100  # In variant (a), the gap is at most this many times tol.
_ROUNDS_OVER_S = 10  # The maximum number of rounds over the known constraints between two passes.
_ROUNDS_OF_HARD = 100  # The same with a hard margin.
_ALL_ROUNDS = 100_000  # The same if a pass has found no new constraint.
_ALWAYS = 10**9  # Searches that are not exact may not find a constraint again, so that none is removed.
_HEAVIEST = 500  # A contradiction is sought among this many constraints with the largest multipliers.
_NUMBERS = 30_000_000  # The maximum size of their feature vectors.


@dataclass
class CuttingPlane(Learner):
    """Finds the most violated constraint of one example at a time, and optimizes the dual over those found so far.

    It accepts any re-scaling, slack and cost of `Hinge`. Variant "b" of Algorithm 1 as published stops before the
    optimum; here it is followed by full optimizations until the gap is below tol.

    >>> CuttingPlane(variant="a", epsilon=0.01).name
    'cutting-plane'
    """

    name: ClassVar[str] = "cutting-plane"
    needs: ClassVar[tuple[str, ...]] = ("infinite beta", "whole outputs")
    offers: ClassVar[tuple[str, ...]] = ("any rescaling", "tol")
    default_max_iter: ClassVar[int] = 1000

    variant: str = option(
        "b",
        'Step 10 of Algorithm 1: after each new constraint, "a" optimizes over all constraints and "b" over those of '
        "the same example.",
        choices=VARIANTS,
    )
    epsilon: float | None = option(
        None,
        "Add only constraints that are violated by more than this beyond their example's slack, and stop when there is "
        "none; None is no such limit.",
        above=0,
    )
    rounds: int = option(
        50, "Remove a constraint after this many visits without a multiplier.", at_least=1, at_most=10**9
    )

    def blank(self, objective: Objective) -> "CutState":
        """No constraints: w = 0."""
        objective.check_costs()
        return CutState(
            objective,
            np.zeros(objective.problem.dim),
            np.random.default_rng(objective.random_state),
            cuts=_core.Cuts(objective.problem),
        )

    def one_pass(self, state: "CutState") -> Step:
        """Visits every example once."""
        objective = state.objective
        epsilon = _ROUNDING if self.epsilon is None else self.epsilon
        rounds = self.rounds if state.exact else _ALWAYS
        added = state.visit(epsilon, rounds, self.variant == "a", self._after_each(state))
        done = ""
        if added == 0 and self.epsilon is not None and state.settled:
            done = f"no constraint is violated by more than epsilon {self.epsilon:g}"
        if added == 0:  # Only the known constraints can still improve the objective.
            state.optimize(self._over_s(state), _ALL_ROUNDS)
        elif self.variant == "b":
            state.optimize(_OVER_S * state.gap, _ROUNDS_OVER_S if objective.loss.slack else _ROUNDS_OF_HARD)
        state.settled = added == 0
        step = state.step(done)
        if objective.loss.slack == 0:
            state.check_separable()
        return step

    def certify(self, state: "CutState") -> Step:
        """P, D and the gap at w(alpha), computed again; one pass. With a hard margin, w is scaled to satisfy it."""
        objective = state.objective
        state.w = state.cuts.weights(objective.problem)
        known = None if state.exact else state.cuts.slacks(objective.problem, state.w)
        dual, primal = state.dual(), objective.primal(state.w, known)
        if primal == inf:  # The hard margin is not satisfied yet.
            return Step(state.w.copy(), None, dual)
        norm = 0.5 * objective.problem.dot(state.w, state.w)
        stretch = sqrt(primal / norm) if objective.loss.slack == 0 and norm > 0 else 1.0
        return Step(stretch * state.w, primal, dual, primal - dual)

    def known_primal(self, state: "CutState", w: Weights) -> float:
        """P of these weights over the constraints found so far."""
        slacks = state.cuts.slacks(state.objective.problem, w)
        return max(super().known_primal(state, w), state.objective.primal_of_slacks(w, slacks))

    def note(self, state: "CutState") -> str:
        """How many searches were proved exact, if not all."""
        if state.proved == state.searches:
            return ""
        share = 100 * state.proved / state.searches
        return f"{state.proved} of {state.searches} searches for violated constraints ({share:.0f}%) were proved exact"

    def _over_s(self, state: "CutState", share: float = 0.1) -> float:
        """The gap of the known constraints at which they count as optimized: a `share` of tol, if tol decides."""
        objective = state.objective
        if objective.loss.slack == 0:
            return max(0.1 * objective.tol, _ROUNDING)
        if self.epsilon is not None:
            return 0.01 * self.epsilon * float(objective.weights().max())
        size = state.value if state.value > 0 else float(objective.weights().sum())
        return max(share * objective.tol, _ROUNDING) * size

    def _after_each(self, state: "CutState") -> float:
        """The same between two constraints of variant (a); a goal far below the current gap would be pointless."""
        return min(max(self._over_s(state), _AFTER_EACH * state.gap), self._over_s(state, _AT_MOST))


@dataclass
class CutState(State):
    """The constraints found, their multipliers, and the weights that they imply."""

    w: Weights
    random: np.random.Generator
    value: float = 0.0  # D
    gap: float = inf  # the gap that the last pass found; with a hard margin, the largest violation
    missed: float = 0.0  # how much larger the gap could be because inference is inexact
    searches: int = 0  # for the most violated output of an example
    proved: int = 0  # those that are proved to have found it
    worst: int = -1  # the example with the largest violation
    violation: float = inf  # that violation
    settled: bool = False  # whether the last pass added no constraint
    turn: int = 0  # the number of passes with a hard margin
    gains: list[Any] = field(default_factory=list)  # variant (a): example, gain of D, violation beyond the slack
    steps: int = 0  # variant (a): steps of the optimizations over all constraints
    cuts: Any = None

    @property
    def n_constraints(self) -> int:
        """The number of constraints."""
        return len(self.cuts)

    @property
    def exact(self) -> bool:
        """Whether inference found the most violated constraints."""
        return self.objective.problem.exact and self.proved == self.searches

    def support(self) -> list[tuple[int, NDArray[np.int32], float]]:
        """The outputs with mass: example, parts, and their alpha."""
        begin, part_begin, parts, _, _, factor, multiplier, _ = self.cuts.arrays()
        examples = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        return [
            (int(examples[k]), parts[part_begin[k] : part_begin[k + 1]], float(factor[k] * multiplier[k]))
            for k in np.flatnonzero(multiplier > 0)
        ]

    def visit(self, epsilon: float, rounds: int, variant_a: bool, goal: float) -> int:
        """Make one pass with inference; return the number of constraints added."""
        order = self.random.permutation(self.objective.problem.size)
        added, self.gap, self.missed, searches, proved, self.worst, self.violation, gains, steps = self.cuts.one_pass(
            *self._core(), order, epsilon, rounds, variant_a, goal
        )
        self.searches += searches
        self.proved += proved
        self.gains += [list(gain) for gain in gains]
        self.steps += steps
        self.objective.passes += 1
        return int(added)

    def optimize(self, goal: float, rounds: int) -> None:
        """Improve the multipliers without inference."""
        self.cuts.optimize(*self._core(), goal, rounds)

    def dual(self) -> float:
        """D at the multipliers."""
        self.value = float(self.cuts.dual(*self._core()))
        return self.value

    def objectives(self) -> Objectives:
        """D; P takes a pass."""
        return None, self.dual(), None

    def step(self, done: str) -> Step:
        """The outcome of a pass; with a hard margin, there is no estimate of the gap."""
        estimate = self.gap if self.objective.loss.slack else None
        return Step(self.w.copy(), *self.objectives(), estimate=estimate, done=done)

    def check_separable(self) -> None:
        """Raise an error if no weights can satisfy the margin.

        Weights u of norm 1 have some margin m(y) <= sum alpha m(y) / sum alpha = <u, w> / sum alpha <= |w| / sum alpha.
        """
        norm = self.objective.problem.dot(self.w, self.w)
        mass = self.value + 0.5 * norm
        most = sqrt(norm) / mass if mass > 0 else inf
        self.turn += 1
        if self.violation >= 1 and self.turn.bit_count() == 1:  # Compute a better bound occasionally.
            most = min(most, self.margin())
        if most < self.objective.tol:
            raise MargraveError(
                f"the examples are not separable: no weights of norm 1 separate them by more than {most:.1g}, which is "
                f"below tol; the most violated one is example {self.worst}; use ",
                setting(slack=(1, 2)),
                ".",
            )

    def margin(self) -> float:
        """The best margin of weights of norm 1 over the heaviest constraints: the least |w(alpha)| at sum alpha = 1."""
        problem = self.objective.problem
        begin, part_begin, parts, *_, multiplier, _ = self.cuts.arrays()
        examples = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        heaviest = np.argsort(-multiplier, kind="stable")[: min(_HEAVIEST, max(_NUMBERS // problem.dim, 2))]
        rows = []
        for k in heaviest:
            i = int(examples[k])
            counts = np.zeros(problem.parts(i))
            np.add.at(counts, problem.gold(i), 1.0)
            np.add.at(counts, parts[part_begin[k] : part_begin[k + 1]], -1.0)
            row = np.zeros(problem.dim)
            problem.scatter(i, counts, 1.0, row)
            rows.append(row)
        gram = np.zeros((len(rows), len(rows)))
        for a, row in enumerate(rows):
            gram[a, : a + 1] = gram[: a + 1, a] = [problem.dot(row, other) for other in rows[: a + 1]]
        large = np.full(len(rows), 1.0 + 2 * np.abs(gram).max(initial=0.0))  # large enough that all mass is used
        start = np.zeros(len(rows))
        start[gram.diagonal().argmin()] = 1.0
        one_block = np.zeros(len(rows), np.int64), np.zeros(1), np.ones(1)
        alpha, _, _ = _core.joint_qp(large, gram.ravel(), *one_block, start, 0.0)
        return sqrt(max(float(alpha @ gram @ alpha), 0.0))

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The constraints as arrays."""
        plain, arrays = super().pack()
        del plain["cuts"]
        return plain, arrays | dict(zip(_CUTS, self.cuts.arrays(), strict=True))

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """The constraints from arrays."""
        stored = [np.ascontiguousarray(arrays[name]) for name in _CUTS]
        gains = plain["gains"]
        check_that(isinstance(gains, list) and all(map(_is_gain, gains)), "each gain has an example and two numbers")
        super().unpack(plain | {"cuts": _core.Cuts.from_arrays(self.objective.problem, *stored)}, arrays)

    def verify(self) -> None:
        """w must be that of the multipliers."""
        check_that(0 <= self.proved <= self.searches, "searches were proved exact as often as there were any, at most")
        begin, *_, factor, multiplier, _ = self.cuts.arrays()
        mass = np.add.reduceat(np.append(multiplier, 0.0), begin[:-1]) * (np.diff(begin) > 0)
        terms = scale_of_weights(self.objective, mass * max(1.0, float(factor.max(initial=0.0))))
        check_same("w", self.w, self.cuts.weights(self.objective.problem), terms=terms)

    def _core(self) -> tuple[_core.Problem, Weights, _core.LossFamily, str, int, Any]:
        objective = self.objective
        return objective.problem, self.w, objective.family, *objective.rescaling()


def _is_gain(gain: Any) -> bool:
    """Whether it is what a search found: an example, the gain of D, and the violation beyond the slack."""
    return isinstance(gain, list) and len(gain) == 3 and all(map(is_number, gain))


_CUTS = ("cut_begin", "part_begin", "parts", "cost", "linear", "factor", "multiplier", "idle")
