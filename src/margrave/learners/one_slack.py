"""The 1-slack cutting plane (Joachims, Finley and Yu: Cutting-Plane Training of Structural SVMs, 2009)."""

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError, setting
from margrave.learners.base import Learner
from margrave.learners.objective import Objective, Objectives, State, Step, Weights
from margrave.learners.resuming import check_same, check_that, scale_of_losses
from margrave.losses import LossFamily
from margrave.options import option

_QP = 1e-3  # The master problem is solved to this fraction of the gap.
# The next cut is made at a point between the best weights and those of the master problem (Franc and Sonnenburg, 2008,
# search for the best point on this line and add a fixed fraction). With many examples the first cuts carry little
# information, and P begins to rise close to the best weights. The fraction grows after a cut before that point and
# shrinks after one beyond it. This keeps P falling, but larger fractions raise D faster: once the gap is small, the
# fraction is at least the initial one.
_TOWARDS = 0.2  # the fraction at first
_LONGER = 1.25  # the factor by which it grows or shrinks
_LEAST = 1e-3  # its lower limit
_LITTLE = 0.02  # The gap is small below this fraction of P.
_ROUNDING = 1e-12
_CACHED = 100  # The most constraints of cached outputs between two inferences.
_WORTH = 0.1  # A constraint of cached outputs that cuts less than this fraction of the gap is not added.


@dataclass
class OneSlack(Learner):
    """Has one slack variable for all examples: a constraint joins the most violated outputs of each.

    It accepts any re-scaling and cost of `Hinge`, with linear slack.

    >>> OneSlack(cached=10).name
    'one-slack'
    """

    name: ClassVar[str] = "one-slack"
    needs: ClassVar[tuple[str, ...]] = ("infinite beta", "whole outputs")
    offers: ClassVar[tuple[str, ...]] = ("any rescaling", "tol")
    default_max_iter: ClassVar[int] = 10_000

    epsilon: float | None = option(
        None,
        "Stop when no constraint is violated by more than this, averaged over the examples; None is no such limit.",
        above=0,
    )
    cached: int = option(
        0,
        "Remember this many outputs of each example and make constraints of them while they cut enough, which saves "
        "time where inference takes much longer than scoring.",
        at_least=0,
        at_most=10**6,
    )
    rounds: int = option(
        30, "Remove a constraint after this many rounds without a multiplier.", at_least=1, at_most=10**9
    )

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse quadratic slack and hard margins."""
        super().check(loss, problem)
        if loss.slack != 1:
            raise MargraveError(
                f"learner 'one-slack' needs linear slack, and this is {loss.name}: use ",
                setting(learner="cutting-plane"),
                ".",
            )

    def blank(self, objective: Objective) -> "OneSlackState":
        """No constraints: w = 0."""
        objective.check_costs()
        return OneSlackState(
            objective, np.zeros(objective.problem.dim), cache=_core.OutputCache(objective.problem, self.cached)
        )

    def known_primal(self, state: "OneSlackState", w: Weights) -> float:
        """P of these weights over the outputs of all constraints."""
        return max(super().known_primal(state, w), state.known_primal(w))

    def one_pass(self, state: "OneSlackState") -> Step:
        """Add a constraint by inference, then those of cached outputs that cut enough."""
        state.cut(cached=False)
        state.solve(self.rounds)
        for _ in range(_CACHED if self.cached else 0):
            before = state.value
            if not state.cut(cached=True):
                break
            state.solve(self.rounds)
            if not state.value > before:  # the limit of precision
                break
        done = ""
        if self.epsilon is not None and state.best_primal - state.value <= self.epsilon * float(
            state.objective.weights().sum()
        ):
            done = f"no constraint is violated by more than epsilon {self.epsilon:g}"
        return Step(state.best, *state.objectives(), done=done)


# Of a joint constraint: where the parts of each example's output begin, the parts, factors, and costs times gamma.
Outputs = tuple[NDArray[np.int64], NDArray[np.int32], Weights, Weights]


@dataclass
class OneSlackState(State):
    """Joint constraints, their multipliers, and the weights that they imply."""

    growing = ("best", "linear", "multiplier", "gram", "idle")

    w: Weights
    best: Weights = field(default_factory=lambda: np.zeros(0))  # the weights with the lowest P
    best_primal: float = inf
    value: float = 0.0  # D
    towards: float = _TOWARDS  # the position of the next cut between best (0) and w (1)
    linear: Weights = field(default_factory=lambda: np.zeros(0))
    multiplier: Weights = field(default_factory=lambda: np.zeros(0))
    gram: Weights = field(default_factory=lambda: np.zeros((0, 0)))
    idle: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    directions: list[Weights] = field(default_factory=list)
    outputs: list[Outputs] = field(default_factory=list)
    missed: float = 0.0
    cache: Any = None

    def objectives(self) -> Objectives:
        """P of the best weights, D and the gap."""
        return self.best_primal, self.value, self.best_primal - self.value

    @property
    def n_constraints(self) -> int:
        """The number of joint constraints."""
        return len(self.linear)

    @property
    def exact(self) -> bool:
        """Whether inference found the most violated constraints."""
        return self.objective.problem.exact and self.missed == 0

    def support(self) -> list[tuple[int, NDArray[np.int32], float]]:
        """The outputs with mass: example, parts, and their alpha."""
        alpha: dict[tuple[int, bytes], float] = {}
        for mass, (begin, parts, factor, _) in zip(self.multiplier, self.outputs, strict=True):
            for i in np.flatnonzero(factor) if mass > 0 else ():
                key = int(i), np.sort(parts[begin[i] : begin[i + 1]]).tobytes()
                alpha[key] = alpha.get(key, 0.0) + float(mass * factor[i])
        return [(i, np.frombuffer(parts, dtype=np.int32), mass) for (i, parts), mass in alpha.items()]

    def cut(self, *, cached: bool) -> bool:
        """Add the most violated constraint; False, without any change, if one of cached outputs cuts too little."""
        objective = self.objective
        rescale, _, cost = objective.rescaling()
        start = self.w if self.best_primal == inf else self.best
        way = self.w - start
        at = start + self.towards * way
        known = [] if cached or self.exact else self.outputs  # A search that is not exact may miss them.
        linear, direction, violation, begin, parts, factor, costs, missed = _core.one_cut(
            objective.problem, at, objective.family, rescale, cost, self.cache, cached, known, objective.threads
        )
        excess = linear - objective.problem.dot(direction, self.w) - self.slack()
        if not cached:
            objective.passes += 1
            self.missed = max(self.missed, objective.C * missed)
            primal = 0.5 * objective.problem.dot(at, at) + float(objective.weights() @ violation)
            if self.best_primal < inf:
                self.adapt(objective.problem.dot(at, way) - objective.C * objective.problem.dot(direction, way))
            if self.exact and primal <= self.best_primal:
                self.best, self.best_primal = at.copy(), primal
        elif not objective.C * excess > max(_WORTH * (self.best_primal - self.value), _ROUNDING * self.best_primal):
            return False
        products = np.append(self.products(direction), objective.problem.dot(direction, direction))
        objective.check_finite(float(products[-1]))
        n = self.n_constraints
        gram = np.empty((n + 1, n + 1))
        gram[:n, :n] = self.gram
        gram[n] = gram[:, n] = products
        self.gram = gram
        self.linear = np.append(self.linear, linear)
        self.multiplier = np.append(self.multiplier, 0.0)
        self.idle = np.append(self.idle, 0)
        self.directions.append(direction)
        self.outputs.append((begin, parts, factor, costs))
        if not (cached or self.exact):
            self.count_known(at)
        return True

    def count_known(self, at: Weights) -> None:
        """Count all known outputs in P, some of which the searches may have missed, at the best weights and here."""
        if self.best_primal < inf:
            self.best_primal = max(self.best_primal, self.known_primal(self.best))
        if (here := self.known_primal(at)) <= self.best_primal:
            self.best, self.best_primal = at.copy(), here

    def known_primal(self, w: Weights) -> float:
        """P at w over the outputs of the known constraints, which is at least D."""
        objective = self.objective
        slacks = _core.known_slacks(objective.problem, w, objective.loss.rescale, self.outputs, objective.threads)
        return objective.primal_of_slacks(w, slacks)

    def adapt(self, slope: float) -> None:
        """Choose the position of the next cut by the slope of P at the last one."""
        little = self.best_primal - self.value <= _LITTLE * self.best_primal
        further = self.towards * _LONGER if slope < 0 else self.towards / _LONGER
        self.towards = min(max(further, _TOWARDS if little else _LEAST), 1.0)

    def slack(self) -> float:
        """xi of the master problem."""
        return max(0.0, float((self.linear - self.gram @ self.multiplier).max(initial=0.0)))

    def products(self, vector: Weights) -> Weights:
        """The inner products of all directions with a vector."""
        return np.array([self.objective.problem.dot(direction, vector) for direction in self.directions])

    def solve(self, rounds: int) -> None:
        """Solve the master problem over all constraints, and compute w and D from its solution."""
        objective = self.objective
        tol = _QP * max(self.best_primal - self.value, 0.0) / objective.C
        size = float(np.abs(self.linear).max(initial=0.0))
        self.multiplier, _ = _core.block_qp(
            self.linear, self.gram.ravel(), 0.0, objective.C, self.multiplier, max(tol, 1e-13 * size)
        )
        self.idle = np.where(self.multiplier > 0, 0, self.idle + 1)
        keep = (self.idle <= rounds) | (not self.exact)  # A search that is not exact may not find them again.
        if not keep.all():
            self.linear, self.multiplier, self.idle = self.linear[keep], self.multiplier[keep], self.idle[keep]
            self.gram = np.ascontiguousarray(self.gram[np.ix_(keep, keep)])
            self.directions = [self.directions[k] for k in np.flatnonzero(keep)]
            self.outputs = [self.outputs[k] for k in np.flatnonzero(keep)]
        self.w = np.zeros(objective.problem.dim)
        for k in np.flatnonzero(self.multiplier):
            _core.add_scaled(self.directions[k], float(self.multiplier[k]), self.w)
        dual = float(self.linear @ self.multiplier) - 0.5 * objective.problem.dot(self.w, self.w)
        self.value = max(self.value, dual)  # The last digits can be rounding errors.

    def verify(self) -> None:
        """Sizes must be those of the constraints, and w, D and P must follow from them and from the best weights."""
        objective, n = self.objective, self.n_constraints
        for name in ("multiplier", "idle"):
            check_that(getattr(self, name).shape == (n,), f"there is one {name} per constraint")
        check_that(len(self.directions) == n and self.gram.shape == (n, n), "directions are those of constraints")
        check_that(all(each.shape == self.w.shape for each in self.directions), "directions are of w")
        for outputs in self.outputs:
            check_that(_are_outputs(objective.problem, *outputs), "outputs are arrays of parts")
        check_same("products of directions", self.gram, np.array([self.products(each) for each in self.directions]))
        check_that((self.multiplier >= 0).all(), "multipliers are not negative")
        check_that(self.multiplier.sum() <= objective.C * (1 + 1e-9), "multipliers sum to at most C")
        w, terms = np.zeros(objective.problem.dim), 0.0
        for k in np.flatnonzero(self.multiplier):
            _core.add_scaled(self.directions[k], float(self.multiplier[k]), w)
            terms += float(self.multiplier[k] * np.abs(self.directions[k]).max(initial=0.0))
        check_same("w", self.w, w, terms=terms)
        square = objective.problem.dot(w, w)
        dual = max(float(self.linear @ self.multiplier) - 0.5 * square, 0.0)
        check_same("D", self.value, dual, terms=sqrt(max(square, 0.0)) * terms)
        if self.best_primal < inf:
            check_that(self.best.shape == self.w.shape and np.isfinite(self.best).all(), "the best weights are finite")
            primal = objective.primal(self.best)
            if not self.exact:
                primal = max(primal, self.known_primal(self.best))
            check_same("P", self.best_primal, primal, terms=scale_of_losses(objective, self.best))

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Directions, outputs and cached ones as arrays."""
        plain, arrays = super().pack()
        for name in ("directions", "outputs", "cache"):
            del plain[name]
        arrays["directions"] = np.array(self.directions)
        for k, (begin, parts, factor, cost) in enumerate(self.outputs):
            arrays |= {f"begin.{k}": begin, f"parts.{k}": parts, f"factor.{k}": factor, f"cost.{k}": cost}
        arrays |= {f"cached.{k}": array for k, array in enumerate(self.cache.arrays())}
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """The same from arrays."""
        directions = [np.array(direction) for direction in arrays["directions"]]
        outputs = [tuple(np.array(arrays[f"{name}.{k}"]) for name in _OUTPUTS) for k in range(len(directions))]
        self.cache.fill(self.objective.problem, *(np.array(arrays[f"cached.{k}"]) for k in range(4)))
        check_that(arrays["directions"].dtype == np.float64, "directions are numbers")
        rest = {name: array for name, array in arrays.items() if name != "directions" and "." not in name}
        super().unpack(plain | {"directions": directions, "outputs": outputs, "cache": self.cache}, rest)


_OUTPUTS = ("begin", "parts", "factor", "cost")


def _are_outputs(
    problem: _core.Problem, begin: NDArray[np.int64], parts: NDArray[np.int32], factor: Weights, cost: Weights
) -> bool:
    """Whether these can be the outputs of a joint constraint: parts of every example, one after another."""
    types = begin.dtype == np.int64 and parts.dtype == np.int32 and factor.dtype == cost.dtype == np.float64
    if not types or begin.shape != (problem.size + 1,) or parts.ndim != 1:
        return False
    if not factor.shape == cost.shape == (problem.size,):
        return False
    if begin[0] != 0 or begin[-1] != len(parts) or (np.diff(begin) < 0).any():
        return False
    most = np.repeat([problem.parts(i) for i in range(problem.size)], np.diff(begin))
    return bool(((parts >= 0) & (parts < most)).all())
