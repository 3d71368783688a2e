"""LP-Struct: a large margin under the L1 norm, by linear programming with column generation (004, Algorithms 1, 2)."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real, whole
from margrave.errors import MargraveError, unknown
from margrave.learners.base import Learner, State, Step, Task, Weights
from margrave.solvers.lp_master import SOLVERS, STEPS, Constraints, Master, Program, highs_for, master_named

PROGRAMS = ("all", "closest")
MARGINS = ("one", "cost")

_TOWARDS = 0.3  # of the way from the best weights to those of the master, constraints are sought at first;
_LONGER, _SHORTER, _LEAST = 1.5, 0.5, 0.1  # what becomes of it where that has led to better weights, and where not
_ROUNDING = 1e-9  # a constraint must ask for so much more slack than those that are known
_OF_GAP = 0.2  # of what is left to close, a master is solved to
_ITERATIONS = 80  # of the extragradient, at most, between two rounds
_FEW = 0.05  # of the examples: where no more have a new constraint, what is left to gain is in the master,
_WITH_FEW = 800  # which then gets so many iterations
_AT_LAST = 50_000  # the same where no constraint is left to find
_DUST = 1e-6  # of the largest weight: what is less is left over from weights that the master has dropped
_WORTHLESS = 1e-6  # short of its cost
_TIGHT = 0.5  # of tol, masters need not be solved to less
_LAST_ROUNDS = 100  # that look for weights with zeros, once some without are good enough


@dataclass
class LP(Learner):
    """Minimises |w|_1 + C sum_i xi_i, where every wrong output scores at least 1 - xi_i below the good ones.

    That is linear program (6) of 004. With several good outputs, `program="all"` sets all of them above the wrong ones
    (8), `program="closest"` the one closest to each under `metric(good, wrong)` (7); None is the distance of features.
    Weights are not negative, as in the paper, unless `free_sign`. `margin="cost"` asks for the cost of the loss, times
    its gamma, instead of 1. The masters are solved by `solver`: "extragradient", or "simplex" and "pdlp", which need
    highspy. `step` is that of the extragradient; with `tolerances` its masters but the last end as in Algorithm 2, line
    10 (the second difference in absolute value). A constraint leaves after `rounds` rounds without a multiplier.

    Constraints are sought between the best weights so far and those of the master, not at these alone (Ben-Ameur and
    Neto, 2007): the paper's Algorithm 1 takes two to three times as many rounds.

    >>> LP(solver="simplex", free_sign=True).name
    'lp'
    """

    name: ClassVar[str] = "lp"
    needs: ClassVar[tuple[str, ...]] = ("kbest",)
    infinite_beta_only: ClassVar[bool] = True
    euclidean_only: ClassVar[bool] = True
    own_objective: ClassVar[bool] = True
    reaches_tol: ClassVar[bool] = True
    default_max_iter: ClassVar[int] = 1000

    solver: str = "extragradient"
    free_sign: bool = False
    program: str = "all"
    metric: Callable[[Any, Any], float] | None = None
    margin: str = "one"
    step: str = "scaled"
    tolerances: tuple[float, float] | None = None
    rounds: int = 10

    def __post_init__(self) -> None:
        for what, value, valid in (
            ("solver", self.solver, SOLVERS),
            ("program", self.program, PROGRAMS),
            ("margin", self.margin, MARGINS),
            ("step", self.step, STEPS),
        ):
            if value not in valid:
                raise unknown(what, value, valid)
        self.free_sign = flag("free_sign", self.free_sign)
        if self.metric is not None and not callable(self.metric):
            raise MargraveError(f"metric must be a function of two outputs, not {type(self.metric).__name__}.")
        if self.tolerances is not None:
            if not isinstance(self.tolerances, tuple | list) or len(self.tolerances) != 2:
                raise MargraveError("tolerances must be two numbers: of changes and of the objectives.")
            change, balance = (
                real("every tolerance", each, "be positive and finite", lambda each: 0 < each < inf)
                for each in self.tolerances
            )
            self.tolerances = change, balance
        self.rounds = whole("rounds", self.rounds, 1, 10**9)

    def settings(self) -> dict[str, Any]:
        """A metric is known by its name alone."""
        named = getattr(self.metric, "__qualname__", None if self.metric is None else type(self.metric).__qualname__)
        return super().settings() | {"metric": named}

    def check_packages(self) -> None:
        """HiGHS is an extra."""
        if self.solver != "extragradient":
            highs_for(self.solver)

    def blank(self, task: Task) -> "LPState":
        """No constraints."""
        metric = self.metric
        of_parts = None if metric is None else lambda i, good, wrong: metric(task.shown(i, good), task.shown(i, wrong))
        by_cost = self.margin == "cost"
        gamma, zero_one = (task.loss.gamma, task.loss.zero_one) if by_cost else (1.0, True)
        closest = self.program == "closest"
        return self._without_rows(task, LPConstraints(task.problem, gamma, zero_one, closest, of_parts, task.threads))

    def _without_rows(self, task: Task, constraints: "LPConstraints") -> "LPState":
        problem = task.problem
        nothing = np.zeros(problem.dim)
        return LPState(
            task,
            nothing,
            program=Program(
                Constraints(np.full(problem.dim, -1, np.int32)),
                task.weights(),
                self.free_sign,
                nothing,
                np.zeros(problem.size),
                nothing,
            ),
            master=master_named(self.solver, self.step, self.tolerances, task.threads),
            constraints=constraints,
        )

    def carry(self, state: "LPState", task: Task) -> "LPState":
        """The constraints, their multipliers and the weights."""
        new = self._without_rows(task, state.constraints)
        new.program = replace(state.program, C=task.weights())
        new.best, new.value = state.best, new.program.dual()
        new.find(new.best)
        return new

    def one_pass(self, state: "LPState") -> Step:
        """One round; with those that it takes until weights with zeros are good enough, once some without are."""
        state.round(self.rounds)
        for _ in range(_LAST_ROUNDS):
            if state.gap > state.task.tol * state.best_primal or state.settle():
                return Step(state.best, state.best_primal, state.value, state.gap)
            state.round(self.rounds)
        return Step(state.best, state.best_primal, state.value, state.gap, done="zeros not settled", stuck=True)


class LPConstraints:
    """The constraints of the full program, one at a time, with a margin of gamma times 1 (`zero_one`) or the cost.

    `metric(i, good, wrong)` is of parts.
    """

    def __init__(
        self,
        problem: _core.Problem,
        gamma: float,
        zero_one: bool,
        closest: bool,
        metric: Callable[[int, NDArray[np.int32], NDArray[np.int32]], float] | None,
        threads: int,
    ) -> None:
        self._problem = problem
        found = _core.closest_good(problem, metric, threads) if closest else None
        self._rule = gamma, zero_one, closest, found, metric
        # Line 6 of Algorithm 1 need not find the most violated constraint where outputs cannot be listed.
        several = closest and found is None and any(problem.golds(i) > 1 for i in range(problem.size))
        self.exact = not several

    def round(self, w: Weights, known: Weights, threads: int) -> tuple[NDArray[Any], ...]:
        """Slacks of all examples, and the most violated constraint of each that asks for more than is known.

        Of these: examples, margins, and rows (begin, feature, value).
        """
        return _core.lp_round(self._problem, *self._rule, w, known, _ROUNDING, threads)


@dataclass
class LPState(State):
    """The constraints found, where the master stands, and the best weights."""

    best: Weights  # the weights with the lowest P
    program: Program
    master: Master
    constraints: LPConstraints
    best_primal: float = inf
    value: float = 0.0  # D
    towards: float = _TOWARDS

    @property
    def exact(self) -> bool:
        """Whether the most violated constraints were found."""
        return self.constraints.exact

    @property
    def n_constraints(self) -> int:
        """How many constraints there are."""
        return len(self.program.rows)

    @property
    def gap(self) -> float:
        """P - D; where inference may have missed constraints, P may be too low."""
        gap = self.best_primal - self.value
        return gap if self.exact else max(gap, 0.0)

    def round(self, rounds: int) -> None:
        """Constraints (lines 4 to 11 of Algorithm 1), then the master over all that are known (line 12)."""
        program = self.program
        if self.best_primal == inf:
            added = self.find(np.ones_like(self.best))  # line 2
        else:
            before = self.best_primal
            between = self.best + self.towards * (program.inner - self.best)
            dust = (program.inner == 0) & (np.abs(between) < _DUST * np.abs(between).max())
            added = self.find(np.where(dust, 0.0, between))
            self.towards *= _LONGER if self.best_primal < before else _SHORTER
            self.towards = min(max(self.towards, _LEAST), 1.0) if added else 1.0
        aim = max(_OF_GAP * self.gap, _TIGHT * self.task.tol * self.best_primal)
        few = added <= _FEW * self.task.problem.size
        most = _AT_LAST if not added else _WITH_FEW if few else _ITERATIONS
        bound = self.master.solve(program, aim, most, last=not added)
        self.value = max(self.value, bound)
        rows = program.rows
        rows.idle = np.where(rows.multiplier > 0, 0, rows.idle + 1)
        kept = rows.idle <= rounds
        if not kept.all():
            rows.keep(kept)
            self.master.remove(kept)

    def find(self, w: Weights) -> int:
        """Adds the most violated constraint of each example at w, and keeps w if P is lower; how many are new."""
        task, rows, C = self.task, self.program.rows, self.program.C
        known = np.where(C > 0, rows.slacks(w, len(C)), inf)
        slack, owner, margin, begin, feature, value = self.constraints.round(w, known, task.threads)
        task.passes += 1
        primal = float(np.abs(w).sum() + C @ slack)
        if primal < self.best_primal:
            self.best, self.best_primal = w, primal
        rows.add(owner, margin, begin, feature, value)
        return len(owner)

    def settle(self) -> bool:
        """Whether the best weights will do with zeros where the program has them: what lies between masters has few.

        Those that the master has; or, if that is too many, those that all optima have: a weight is zero at every one if
        its feature is worth less than it costs, so that its reduced cost is positive.
        """
        best, primal, program = self.best, self.best_primal, self.program
        of_master = program.w == 0
        for zero in (of_master, of_master & (program.worth() < 1 - _WORTHLESS)):
            self.best_primal = inf
            self.find(np.where(zero, 0.0, best))
            if self.gap <= self.task.tol * self.best_primal:
                if self.master.verify(program):
                    return True
                break  # zeros of a wrong master
        self.best, self.best_primal = best, primal
        return False

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The program as arrays; its solver begins anew."""
        plain, arrays = super().pack()
        for name in ("program", "master", "constraints"):
            del plain[name]
        plain["weight"] = self.program.weight
        arrays |= {f"program.{name}": getattr(self.program, name) for name in _PROGRAM}
        arrays |= {f"rows.{each.name}": getattr(self.program.rows, each.name) for each in fields(Constraints)}
        return plain, arrays

    def unpack(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """The same from arrays."""
        kept: dict[str, Any] = {name: np.array(array) for name, array in arrays.items() if "." in name}
        rows = Constraints(**{each.name: kept[f"rows.{each.name}"] for each in fields(Constraints)})
        program = replace(
            self.program, rows=rows, weight=plain["weight"], **{name: kept[f"program.{name}"] for name in _PROGRAM}
        )
        same = {"program": program, "master": self.master, "constraints": self.constraints}
        super().unpack(plain | same, {name: array for name, array in arrays.items() if "." not in name})


_PROGRAM = ("w", "xi", "inner")
