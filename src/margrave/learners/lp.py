"""LP-Struct: a large margin under the L1 norm, by linear programming with column generation (004, Algorithms 1, 2)."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real, whole
from margrave.errors import MargraveError, unknown
from margrave.learners.base import Learner, option
from margrave.learners.resuming import check_same, check_that
from margrave.learners.task import State, Step, Task, Weights
from margrave.memory import check_memory
from margrave.solvers.lp_master import SOLVERS, STEPS, Constraints, Master, Program, highs_for, master_named

PROGRAMS = ("all", "closest")
MARGINS = ("one", "cost")

# Constraints are sought at a point between the best weights and those of the master, initially at this fraction.
_TOWARDS = 0.3
_LONGER, _SHORTER, _LEAST = 1.5, 0.5, 0.1  # factors after a point with a lower P and after another, and the lower limit
# With the cost as the margin, an output with several wrong labels asks for the sum of what each of them asks for. The
# multipliers of an example are therefore spread over about as many outputs as it has uncertain labels, and a search
# finds one of them. The larger the weights are, the fewer labels are wrong: searches at multiples of the point find
# outputs with fewer and fewer wrong labels in the same round.
_MULTIPLES = (1.5, 2.5)
_ROUNDING = 1e-9  # A new constraint must ask for this much more slack than the known ones.
_OF_GAP = 0.2  # A master is solved to this fraction of the remaining gap.
_TIGHT = 0.5  # A master is solved to at least this fraction of tol.
_ITERATIONS = 80  # The maximum number of iterations of the extragradient between two rounds, at first.
_FEW = 0.05  # If at most this fraction of the examples has a new constraint, most of the gap lies in the master.
_WITH_FEW = 800  # The number of iterations in this case, and the most that they are doubled to between two rounds.
_AT_LAST = 50_000  # The number of iterations if no new constraint was found.
_DUST = 1e-6  # Weights below this fraction of the largest are remainders of weights that the master has dropped.
_WORTHLESS = 1e-6  # A feature is worth less than it costs if it falls short by this much.
_LAST_ROUNDS = 100  # The most rounds that seek weights with zeros, once weights without them are good enough.


@dataclass
class LP(Learner):
    """Minimises |w|_1 + C sum_i xi_i, where every wrong output scores at least 1 - xi_i below the good ones.

    This is linear program (6) of 004 or, with several good outputs, (8) or (7). Constraints are sought between the best
    weights so far and those of the master problem (Ben-Ameur and Neto, 2007); Algorithm 1 of the paper, which seeks
    them at the latter, takes two to three times as many rounds.

    >>> LP(solver="simplex", free_sign=True).name
    'lp'
    """

    name: ClassVar[str] = "lp"
    needs: ClassVar[tuple[str, ...]] = ("kbest", "infinite beta", "euclidean")
    offers: ClassVar[tuple[str, ...]] = ("another objective", "tol")
    default_max_iter: ClassVar[int] = 1000

    solver: str = option(
        "extragradient",
        'The solver of the master problems; "simplex" and "pdlp" need the package highspy.',
        choices=SOLVERS,
    )
    free_sign: bool = option(False, "Allow negative weights, which the paper does not.")
    program: str = option(
        "all",
        'With several good outputs, "all" places all of them above each wrong output (8), and "closest" only the one '
        "closest to it (7).",
        choices=PROGRAMS,
    )
    metric: Callable[[Any, Any], float] | None = option(
        None, "A function (good, wrong) that says how far apart two outputs are; None is the distance of features."
    )
    margin: str = option(
        "one", 'The margin of a wrong output; "cost" is the cost of the loss times its gamma.', choices=MARGINS
    )
    step: str = option("scaled", "The step sizes of the extragradient.", choices=STEPS)
    tolerances: tuple[float, float] | None = option(
        None,
        "If given, every master but the last ends as in Algorithm 2, line 10, where the first bounds the changes and "
        "the second the absolute difference of the objectives.",
    )
    rounds: int = option(10, "Remove a constraint after this many rounds without a multiplier.")

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
        """The settings; a metric is represented by its name."""
        named = getattr(self.metric, "__qualname__", None if self.metric is None else type(self.metric).__qualname__)
        return super().settings() | {"metric": named}

    def check_packages(self) -> None:
        """Refuse the solvers of HiGHS if it is not installed."""
        if self.solver != "extragradient":
            highs_for(self.solver)

    def blank(self, task: Task) -> "LPState":
        """No constraints."""
        of_parts = None if self.metric is None else partial(_distance, task, self.metric)
        margin = task.family if self.margin == "cost" else _core.LossFamily(inf, 1.0, zero_one=True)
        closest = self.program == "closest"
        return self._without_rows(task, LPConstraints(task.problem, margin, closest, of_parts, task.threads))

    def _without_rows(self, task: Task, constraints: "LPConstraints") -> "LPState":
        problem = task.problem
        check_memory(
            8 * 8 * problem.dim, f"learner 'lp' with {problem.dim} weights", "use fewer features, or learner='sgd'"
        )
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
        new.add_violated(new.best)
        return new

    def one_pass(self, state: "LPState") -> Step:
        """Make one round or, once the gap is small enough, all rounds until weights with zeros have a small gap too."""
        state.round(self.rounds)
        for _ in range(_LAST_ROUNDS):
            if state.gap > state.task.tol * state.best_primal or state.set_zeros():
                return Step(state.best, state.best_primal, state.value, state.gap)
            state.round(self.rounds)
        return Step(state.best, state.best_primal, state.value, state.gap, done="zeros do not reach tol", stuck=True)


def _distance(
    task: Task, metric: Callable[[Any, Any], float], i: int, good: NDArray[np.int32], wrong: NDArray[np.int32]
) -> float:
    """The distance of two outputs of example i by the metric."""
    return metric(task.decode_output(i, good), task.decode_output(i, wrong))


class LPConstraints:
    """The constraints of the full program, one at a time, with a margin of gamma times the cost of the family.

    `metric(i, good, wrong)` takes the parts of the outputs.
    """

    def __init__(
        self,
        problem: _core.Problem,
        margin: _core.LossFamily,
        closest: bool,
        metric: Callable[[int, NDArray[np.int32], NDArray[np.int32]], float] | None,
        threads: int,
    ) -> None:
        self._problem = problem
        found = _core.closest_good(problem, metric, threads) if closest else None
        self._rule = margin, closest, found, metric
        # Line 6 of Algorithm 1 does not always find the most violated constraint if outputs cannot be listed.
        several = closest and found is None and any(problem.golds(i) > 1 for i in range(problem.size))
        self.exact = not several
        # The most violated output does not depend on the length of w if the margin is 1, and if outputs are single
        # parts, there are no sums.
        self.multiples = () if margin.zero_one or problem.zero_one_is_of_parts else _MULTIPLES

    def round(self, w: Weights, known: Weights, threads: int) -> tuple[NDArray[Any], ...]:
        """Slacks of all examples, and the most violated constraints that require more slack than the known ones.

        The constraints are given by their examples, margins, and rows (begin, feature, value).
        """
        return _core.lp_round(self._problem, w, *self._rule, known, _ROUNDING, threads)


@dataclass
class LPState(State):
    """The constraints found, the state of the master, and the best weights."""

    best: Weights  # the weights with the lowest P
    program: Program
    master: Master
    constraints: LPConstraints
    best_primal: float = inf
    value: float = 0.0  # D
    towards: float = _TOWARDS
    iterations: int = _ITERATIONS  # of the next master, unless it has few new constraints

    @property
    def exact(self) -> bool:
        """Whether the most violated constraints were found."""
        return self.constraints.exact

    @property
    def n_constraints(self) -> int:
        """The number of constraints."""
        return len(self.program.rows)

    @property
    def gap(self) -> float:
        """P - D; it can be negative if inference missed constraints, because P is then too low."""
        gap = self.best_primal - self.value
        return gap if self.exact else max(gap, 0.0)

    def round(self, rounds: int) -> None:
        """Add constraints (lines 4 to 11 of Algorithm 1), then solve the master over all known ones (line 12)."""
        program = self.program
        if self.best_primal == inf:
            added = self.add_most_violated(np.ones_like(self.best))  # line 2
        else:
            before = self.best_primal
            between = self.best + self.towards * (program.inner - self.best)
            dust = (program.inner == 0) & (np.abs(between) < _DUST * np.abs(between).max())
            added = self.add_most_violated(np.where(dust, 0.0, between))
            self.towards *= _LONGER if self.best_primal < before else _SHORTER
            self.towards = min(max(self.towards, _LEAST), 1.0) if added else 1.0
        aim = max(_OF_GAP * self.gap, _TIGHT * self.task.tol * self.best_primal)
        few = added <= _FEW * self.task.problem.size
        most = _AT_LAST if not added else max(self.iterations, _WITH_FEW if few else _ITERATIONS)
        primal, bound = self.master.solve(program, aim, most, last=not added)
        self.value = max(self.value, bound)
        # If the value of the master agrees with P, no important constraint is missing, and the rest of the gap is that
        # of the master: more constraints would only make its iterations slower.
        agrees = abs(primal - self.best_primal) <= self.task.tol * self.best_primal
        self.iterations = min(2 * self.iterations, _WITH_FEW) if agrees and primal - bound > aim else _ITERATIONS
        rows = program.rows
        rows.idle = np.where(rows.multiplier > 0, 0, rows.idle + 1)
        kept = rows.idle <= rounds
        if not kept.all():
            rows.retain(kept)
            self.master.remove(kept)

    def add_most_violated(self, w: Weights) -> int:
        """Add the most violated constraints at w and, if there are any, at its multiples; the number of those at w."""
        added = self.add_violated(w)
        for multiple in self.constraints.multiples if added else ():
            self.add_violated(multiple * w)
        return added

    def add_violated(self, w: Weights) -> int:
        """Add the most violated constraint of each example at w; return the number of new ones.

        If P is lower at w than at the best weights so far, w replaces them.
        """
        task, rows, C = self.task, self.program.rows, self.program.C
        known = np.where(C > 0, rows.slacks(w, len(C)), inf)
        slack, owner, margin, begin, feature, value = self.constraints.round(w, known, task.threads)
        task.passes += 1
        primal = float(np.abs(w).sum() + C @ slack)
        if primal < self.best_primal:
            self.best, self.best_primal = w, primal
        rows.add(owner, margin, begin, feature, value)
        return len(owner)

    def set_zeros(self) -> bool:
        """Set weights to zero that are zero in the master; False, without any change, if tol is then not reached.

        The best weights lie between masters and have few zeros. If all zeros of the master are too many, those that all
        optima have are tried: a weight is zero at every optimum if its feature is worth less than it costs, that is, if
        its reduced cost is positive.
        """
        best, primal, program = self.best, self.best_primal, self.program
        of_master = program.w == 0
        for zero in (of_master, of_master & (program.worth() < 1 - _WORTHLESS)):
            self.best_primal = inf
            self.add_violated(np.where(zero, 0.0, best))
            if self.gap <= self.task.tol * self.best_primal:
                if self.master.verify(program):
                    return True
                break  # The zeros were those of a wrong master.
        self.best, self.best_primal = best, primal
        return False

    def verify(self) -> None:
        """P must be that of the best weights. Rows have no outputs, so that their numbers cannot be computed again."""
        nothing_more = np.full(self.task.problem.size, inf)
        slack = self.constraints.round(self.best, nothing_more, self.task.threads)[0]
        check_same("P", self.best_primal, float(np.abs(self.best).sum() + self.program.C @ slack))
        check_that(self.value <= self.best_primal * (1 + 1e-9), "D is at most P")

    def pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The program as arrays; its solver starts again."""
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
        rows.check(self.task.problem.dim, self.task.problem.size)
        for name in _PROGRAM:
            check_that(kept[f"program.{name}"].dtype == np.float64, f"the {name} of the program are numbers")
            check_that(np.isfinite(kept[f"program.{name}"]).all(), f"the {name} of the program are finite")
            check_that(kept[f"program.{name}"].shape == getattr(self.program, name).shape, f"there is one {name} each")
        check_that(type(plain["weight"]) is float and 0 < plain["weight"] < inf, "the weight of dual steps is positive")
        same = {"program": program, "master": self.master, "constraints": self.constraints}
        super().unpack(plain | same, {name: array for name, array in arrays.items() if "." not in name})


_PROGRAM = ("w", "xi", "inner")
