"""LP-Struct: a large margin under the L1 norm, by linear programming with column generation (004, Algorithms 1, 2)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real
from margrave.errors import MargraveError, Message, setting
from margrave.highs import highs_for
from margrave.learners.base import Learner
from margrave.learners.objective import Objective, Objectives, State, Step, Weights
from margrave.learners.resuming import check_same, check_that, scale_of_losses
from margrave.learners.run import Solution
from margrave.losses import LossFamily
from margrave.memory import check_memory
from margrave.options import option
from margrave.solvers.lp_master import SOLVERS, STEPS, Constraints, Master, Program, master_named

PROGRAMS = ("all", "closest")
MARGINS = ("one", "cost")
SEPARATIONS = ("in-out", "master")

# Constraints are sought at a point between the best weights and those of the master, initially at this fraction.
_TOWARDS = 0.3
_LONGER, _SHORTER, _LEAST = 1.5, 0.5, 0.1  # factors after a point with a lower P and after another, and the lower limit
# With the cost as the margin, an output with several wrong parts asks for the sum of what each of them asks for. Unless
# outputs are sets of changes, the multipliers of an example are spread over about as many outputs as it has uncertain
# parts, and a search finds one of them. The larger the weights are, the fewer parts are wrong: searches at multiples of
# the point find outputs with fewer and fewer wrong parts in the same round.
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
_EQUAL = 1e-12  # Margins whose relative difference is below this are equal.
_OF_BOUNDS = 0.1  # Programs are solved to this fraction of the tolerance of the bounds on the smallest C.
_GROWTH, _MOST_GROWTH = 10.0, 1e4  # If no weight pays at some C, this many times as much is tried, up to the latter.
_FOR_WARNING = 0.01  # The tolerance of the C that a warning names.
_ROUNDS_FOR_WARNING = 12  # The most rounds at each C that is tried for it.
_LAST_ROUNDS = 100  # The most rounds that seek weights with zeros, once weights without them are good enough.


def _function(name: str, metric: Any) -> Any:
    """The metric; an error if it cannot be called."""
    if not callable(metric):
        raise MargraveError(f"{name} must be a function of two outputs, not {type(metric).__name__}.")
    return metric


def _two_tolerances(name: str, tolerances: Any) -> tuple[float, float]:
    """The tolerances of Algorithm 2 as numbers; an error if they are not two positive ones."""
    if not isinstance(tolerances, tuple | list) or len(tolerances) != 2:
        raise MargraveError(f"{name} must be two numbers: of changes and of the objectives.")
    change, balance = (
        real("every tolerance", each, "be positive and finite", lambda each: 0 < each < inf) for each in tolerances
    )
    return change, balance


@dataclass
class LP(Learner):
    """Minimizes |w|_1 + C sum_i xi_i, where every wrong output scores at least 1 - xi_i below the good ones.

    It is linear program (6) of Wang and Shawe-Taylor (2009) or, with several good outputs, (8) or (7). Constraints are
    sought between the best weights so far and those of the master problem (Ben-Ameur and Neto, 2007). Algorithm 1 of
    the paper, `separation="master"`, seeks them at the latter, and takes two to three times as many rounds.

    >>> LP(solver="simplex", free_sign=True).name
    'lp'
    """

    name: ClassVar[str] = "lp"
    needs: ClassVar[tuple[str, ...]] = ("kbest", "infinite beta", "euclidean", "whole outputs")
    offers: ClassVar[tuple[str, ...]] = ("several good outputs", "another objective", "tol")
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
        None,
        "A function (good, wrong) that says how far apart two outputs are; None is the distance of features.",
        check=_function,
    )
    margin: str = option(
        "one", 'The margin of a wrong output; "cost" is the cost of the loss times its gamma.', choices=MARGINS
    )
    separation: str = option(
        "in-out",
        'Where constraints are sought; "master" is Algorithm 1 as printed: at the weights of the master, one for each '
        "example and round, and none is ever removed.",
        choices=SEPARATIONS,
    )
    step: str = option("scaled", "The step sizes of the extragradient.", choices=STEPS)
    restarts: bool = option(
        True, "Restart the extragradient from means; without restarts it is Algorithm 2 as printed."
    )
    tolerances: tuple[float, float] | None = option(
        None,
        "If given, every master but the last ends as in Algorithm 2, line 10, where the first bounds the changes and "
        "the second the absolute difference of the objectives.",
        check=_two_tolerances,
    )
    rounds: int = option(
        10, "Remove a constraint after this many rounds without a multiplier.", at_least=1, at_most=10**9
    )

    def settings(self) -> dict[str, Any]:
        """The settings; a metric is represented by its name."""
        named = getattr(self.metric, "__qualname__", None if self.metric is None else type(self.metric).__qualname__)
        return super().settings() | {"metric": named}

    def check(self, loss: LossFamily, problem: _core.Problem) -> None:
        """Refuse a metric where good outputs cannot be listed: the closest one is then found by a search over parts."""
        super().check(loss, problem)
        if self.metric is not None and "good" in problem.offers:
            raise MargraveError("lp takes no metric where good outputs are not listed: leave it out, and parts count.")

    def check_packages(self) -> None:
        """Refuse the solvers of HiGHS if it is not installed."""
        if self.solver != "extragradient":
            highs_for(f"solver '{self.solver}'", setting(solver="extragradient"))

    def blank(self, objective: Objective, several: bool = True) -> "LPState":
        """No constraints. Without `several`, there will be one for each example and search."""
        of_parts = None if self.metric is None else partial(_distance, objective, self.metric)
        margin = objective.family if self.margin == "cost" else _core.LossFamily(inf, 1.0, zero_one=True)
        closest = self.program == "closest"
        several = several and self.separation == "in-out"
        return self._without_rows(
            objective, LPConstraints(objective.problem, margin, closest, of_parts, objective.threads, several)
        )

    def solve(self, objective: Objective, state: "LPState | None" = None) -> Solution:
        """Solve the program; warn if all weights are zero, and say which C would be large enough."""
        solution = super().solve(objective, state)
        if solution.converged and not solution.w.any():
            constraints = solution.state.constraints
            # The next C of a path has the same constraints. It searches up to a larger C if this one found none.
            if constraints.sufficient_c == inf:
                assert solution.certificate.primal is not None
                constraints.sufficient_c = self._sufficient_c(
                    objective, constraints, solution.certificate.primal / objective.C
                )
            warnings.warn(_all_zero(objective.C, constraints.sufficient_c), stacklevel=2)
        return solution

    def _sufficient_c(self, objective: Objective, constraints: "LPConstraints", at_zero: float) -> float:
        """A C at which a weight is worth its price, close to the smallest; infinity if none was found.

        `at_zero` is the sum of all slacks at w = 0. Larger and larger C are tried until a weight is not zero. Its
        quotient, as in `smallest_c`, is the next C, until there is none.
        """
        smallest, C = inf, objective.C
        while smallest == inf and C < _MOST_GROWTH * objective.C:
            C *= _GROWTH
            smallest = self._quotient(objective, constraints, C, at_zero)
        for _ in range(_LAST_ROUNDS if smallest < inf else 0):
            before, smallest = smallest, min(smallest, self._quotient(objective, constraints, smallest, at_zero))
            if smallest > (1 - _FOR_WARNING) * before:
                break
        return smallest

    def _quotient(self, objective: Objective, constraints: "LPConstraints", C: float, at_zero: float) -> float:
        """|w|_1 over the slacks that the weights w of this C save; infinity if they are zero, or save nothing."""
        more = replace(
            objective,
            C=C,
            tol=max(objective.tol, _FOR_WARNING),
            max_iter=_ROUNDS_FOR_WARNING,
            observers=(),
            checkpoint=None,
            verbose=False,
        )
        # At a large C the simplex may not finish its programs, whereas the quotient may be that of any weights.
        learner = replace(self, solver="extragradient")
        found = super(LP, learner).solve(more, learner._without_rows(more, constraints))
        assert found.certificate.primal is not None
        length = float(np.abs(found.w).sum())
        saved = at_zero - (found.certificate.primal - length) / C
        return length / saved if length > 0 and saved > 0 else inf

    def smallest_c(self, objective: Objective, *, tol: float = 0.01, max_rounds: int = 100) -> tuple[float, float]:
        """Bounds on the smallest C at which a weight is worth its price: w = 0 is an optimum up to this C only.

        With S(w) the sum of all slacks at w, each times its sample weight, the answer is the infimum of
        |w|_1 / (S(0) - S(w)) over the weights that lower S, since P(w) < P(0) if and only if C is larger than this
        quotient. Every w gives an upper bound. The infimum is found as Dinkelbach (1967) does: rounds at some C find
        weights with P(w) < P(0), whose quotient becomes the next C.

        For a lower bound, let every example spread its sample weight over the outputs that require the most slack at
        w = 0. Times C this is an optimal lambda, with w = 0, as long as C max_j (H'lambda)_j <= 1.

        Parameters
        ----------
        objective : the objective; its C is where the search starts. It ends at 10,000 times this C.
        tol : the relative difference of the bounds at which to stop.
        max_rounds : the maximum number of rounds.
        """
        # At a large C the simplex may not finish its programs, whereas the bounds hold for any multipliers and weights.
        learner = replace(self, separation="in-out", rounds=10**9, solver="extragradient")

        def at(C: float) -> Objective:
            return replace(objective, C=C, tol=_OF_BOUNDS * tol, observers=(), checkpoint=None, verbose=False)

        C = objective.C
        state = learner.blank(at(C), several=False)
        state.add_violated(np.zeros_like(state.best))
        most = state.program.rows.slacks(state.program.rows.margin)  # what every example asks for at w = 0
        share = objective.weights() / objective.C
        at_zero, low, high = float(share @ most), 0.0, inf
        if at_zero == 0:
            return inf, inf
        for _ in range(max_rounds):
            state.round(learner.rounds)
            length = float(np.abs(state.best).sum())
            gain = at_zero - (state.best_primal - length) / C
            if length > 0 and gain > 0:
                high = min(high, length / gain)
            low = min(max(low, state.optimal_at_zero_up_to(most, share)), high)
            if low >= (1 - tol) * high or C > _MOST_GROWTH * objective.C:
                break
            if high < C or (high == inf and state.gap <= state.objective.tol * state.best_primal):
                C = high if high < C else _GROWTH * C
                state = learner.continue_with(state, at(C))
                state.towards = 1.0  # All weights on the way have a quotient, so the master's may be far off.
        return low, high

    def _without_rows(self, objective: Objective, constraints: "LPConstraints") -> "LPState":
        problem, sites = objective.problem, constraints.sites
        check_memory(
            8 * 8 * problem.dim,
            f"learner 'lp' with {problem.dim} weights",
            Message("use fewer features, or ", setting(learner="sgd")),
        )
        nothing = np.zeros(problem.dim)
        return LPState(
            objective,
            nothing,
            program=Program(
                Constraints(sites, np.full(problem.dim, -1, np.int32)),
                constraints.of_sites(objective.weights()),
                self.free_sign,
                np.ones(problem.dim) if self.separation == "master" else nothing,  # Algorithm 1, line 2
                np.zeros(sites[-1]),
                nothing,
            ),
            master=master_named(self.solver, self.step, self.restarts, self.tolerances, objective.threads),
            constraints=constraints,
        )

    def known_primal(self, state: "LPState", w: Weights) -> float:
        """P of these weights over the known constraints."""
        return state.known_primal(w)

    def note(self, state: "LPState") -> str:
        """What P and D are, where the search cannot find every constraint of program (7)."""
        misses = state.constraints.misses
        return "P and D are no statement about program 7, but about the constraints found" if misses else ""

    def continue_with(self, state: "LPState", objective: Objective) -> "LPState":
        """The constraints, their multipliers and the weights."""
        new = self._without_rows(objective, state.constraints)
        new.program = replace(state.program, C=new.program.C)
        new.best, new.value = state.best, new.program.dual()
        new.add_violated(new.best)
        return new

    def certify(self, state: "LPState") -> Step:
        """P of the best weights, or of w = 0 before the first round; one pass."""
        if state.best_primal == inf:
            state.add_violated(np.zeros_like(state.best))
        return Step(state.best, *state.objectives())

    def one_pass(self, state: "LPState") -> Step:
        """Make one round or, once the gap is small enough, all rounds until weights with zeros have a small gap too."""
        if self.separation == "master":
            state.round_at_master()
            return Step(state.best, *state.objectives())
        state.round(self.rounds)
        for _ in range(_LAST_ROUNDS):
            if state.gap > state.objective.tol * state.best_primal or state.set_zeros():
                return Step(state.best, *state.objectives())
            state.round(self.rounds)
        return Step(state.best, *state.objectives(), done="zeros do not reach tol", stuck=True)


def _all_zero(C: float, sufficient: float) -> str:
    """The warning that all weights are zero, with a C at which one of them pays."""
    what = f"all weights are zero at C = {C:g}"
    if sufficient == inf:
        return Message(
            f"{what}, and so they are at {_MOST_GROWTH:g} times this C: use other features or ",
            setting(free_sign=True),
            ".",
        )
    if sufficient <= C:
        return f"{what}, although a weight pays from C = {sufficient:.3g} on: use a larger C or a smaller tol."
    return f"{what}: a weight is worth its price from C = {sufficient:.3g} on, so use a larger C."


def _distance(
    objective: Objective, metric: Callable[[Any, Any], float], i: int, good: NDArray[np.int32], wrong: NDArray[np.int32]
) -> float:
    """The distance of two outputs of example i by the metric."""
    return metric(objective.decode_output(i, good), objective.decode_output(i, wrong))


class LPConstraints:
    """The constraints of the full program, one at a time, with a margin of gamma times the cost of the family.

    `metric(i, good, wrong)` takes the parts of the outputs. Without `several`, a search finds one constraint of each
    example: that of an output, and not those of its changes or of outputs at multiples of the weights.
    """

    def __init__(
        self,
        problem: _core.Problem,
        margin: _core.LossFamily,
        closest: bool,
        metric: Callable[[int, NDArray[np.int32], NDArray[np.int32]], float] | None,
        threads: int,
        several: bool = True,
    ) -> None:
        self.sufficient_c = inf  # a C at which a weight pays, once one was asked for and found
        self._problem = problem
        found = _core.closest_good(problem, metric, threads) if closest else None
        # where the sites of each example begin, and their number
        self.sites = _core.lp_sites(problem, margin) if several else np.arange(problem.size + 1)
        self._rule = margin, closest, found, metric, self.sites
        # Line 6 of Algorithm 1 does not always find the most violated constraint if outputs cannot be listed.
        self.misses = closest and found is None and any(problem.gold_count(i) > 1 for i in range(problem.size))
        self.exact = not self.misses and bool(getattr(problem, "exact", True))
        # The most violated output does not depend on the length of w if the margin is 1, if outputs are single parts,
        # there are no sums, and if they are sets of changes, all changes are found at once.
        split = self.sites[-1] > problem.size
        single = margin.zero_one or problem.zero_one_is_of_parts or split
        self.multiples = _MULTIPLES if several and not single else ()

    def known(self, rows: Constraints, asked: Weights) -> Weights:
        """The slacks of all examples that give every known constraint what it asks for."""
        known: Weights = np.add.reduceat(rows.slacks(asked), self.sites[:-1])
        return known

    def of_sites(self, of_examples: Weights) -> Weights:
        """The number of each example at all of its sites."""
        return np.repeat(of_examples, np.diff(self.sites))

    def round(
        self,
        w: Weights,
        rows: Constraints,
        counts: NDArray[np.bool_],
        threads: int,
        xi: Weights | float = 0.0,
    ) -> tuple[NDArray[Any], ...]:
        """Slacks of all examples, and the most violated constraints that require more slack than the known ones.

        The constraints are given by their examples, sites, margins, and rows (begin, feature, value). Examples that do
        not count have none. Those that require no more than the slacks `xi` are left out as well. A search that is not
        exact may miss what is known: slacks are at least those that the known constraints require.
        """
        asked = rows.asked(w)
        least = self.known(rows, asked)
        known = np.where(counts, np.maximum(least, xi), inf)
        found = _core.lp_round(self._problem, w, *self._rule, known, rows.first, rows.last, asked, _ROUNDING, threads)
        return found if self.exact else (np.maximum(found[0], least), *found[1:])


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

    def objectives(self) -> Objectives:
        """P of the best weights, D and the gap."""
        return self.best_primal, self.value, self.gap

    @property
    def gap(self) -> float:
        """P - D; constraints that inference never found count in neither of them."""
        return self.best_primal - self.value

    def round(self, rounds: int) -> None:
        """Add constraints (lines 4 to 11 of Algorithm 1), then solve the master over all known ones (line 12)."""
        program = self.program
        if self.best_primal == inf:
            added = self.add_most_violated(np.ones_like(self.best))  # line 2
        else:
            before = self.best_primal
            between = self.best + self.towards * (program.inner - self.best)
            dust = (program.inner == 0) & (np.abs(between) < _DUST * np.abs(between).max(initial=0.0))
            added = self.add_most_violated(np.where(dust, 0.0, between))
            self.towards *= _LONGER if self.best_primal < before else _SHORTER
            self.towards = min(max(self.towards, _LEAST), 1.0) if added else 1.0
        aim = max(_OF_GAP * self.gap, _TIGHT * self.objective.tol * self.best_primal)
        few = added <= _FEW * self.objective.problem.size
        most = _AT_LAST if not added else max(self.iterations, _WITH_FEW if few else _ITERATIONS)
        primal, bound = self.master.solve(program, aim, most, last=not added)
        self.value = max(self.value, bound)
        # If the value of the master agrees with P, no important constraint is missing, and the rest of the gap is that
        # of the master: more constraints would only make its iterations slower.
        agrees = abs(primal - self.best_primal) <= self.objective.tol * self.best_primal
        self.iterations = min(2 * self.iterations, _WITH_FEW) if agrees and primal - bound > aim else _ITERATIONS
        rows = program.rows
        rows.idle = np.where(rows.multiplier > 0, 0, rows.idle + 1)
        stay = (rows.idle <= rounds) | (not self.exact)  # A search that is not exact may not find them again.
        if not stay.all():
            rows.retain(stay)
            self.master.remove_all_but(stay)

    def round_at_master(self) -> None:
        """Algorithm 1, lines 4 to 12, as printed, except that a constraint which is there is not added again.

        The master is solved to the tolerances of Algorithm 2 or, without them, to a fraction of the gap.
        """
        program = self.program
        added = self.add_violated(program.w, program.xi)
        aim = max(_OF_GAP * self.gap, _TIGHT * self.objective.tol * self.best_primal)
        _, bound = self.master.solve(program, aim, _AT_LAST, last=not added)
        self.value = max(self.value, bound)

    def add_most_violated(self, w: Weights) -> int:
        """Add the most violated constraints at w and, if there are any, at its multiples; the number of those at w."""
        added = self.add_violated(w)
        for multiple in self.constraints.multiples if added else ():
            self.add_violated(multiple * w)
        return added

    def add_violated(self, w: Weights, xi: Weights | float = 0.0) -> int:
        """Add the most violated constraint of each example at w; return the number of examples with new ones.

        Constraints that require no more than the slacks `xi` are left out. If P is lower at w than at the best weights
        so far, w replaces them.
        """
        objective, rows, C = self.objective, self.program.rows, self.objective.weights()
        slack, owner, *found = self.constraints.round(w, rows, C > 0, objective.threads, xi)
        objective.passes += 1
        primal = float(np.abs(w).sum() + C @ slack)
        if primal < self.best_primal:
            self.best, self.best_primal = w, primal
        rows.add(*found)
        self._count_known()
        return len(np.unique(owner))

    def known_primal(self, w: Weights) -> float:
        """P at w over the known constraints, which is at least D."""
        slack = self.constraints.known(self.program.rows, self.program.rows.asked(w))
        return float(np.abs(w).sum() + self.objective.weights() @ slack)

    def _count_known(self) -> None:
        """Raise P to what the known constraints require, some of which the search may have missed at these weights."""
        if not self.exact:
            self.best_primal = max(self.best_primal, self.known_primal(self.best))

    def optimal_at_zero_up_to(self, most: Weights, share: Weights) -> float:
        """A C up to which w = 0 is optimal: see `LP.smallest_c`.

        `most` is the slack that every example asks for at w = 0, and `share` its sample weight. Constraints must be of
        whole outputs.
        """
        rows = self.program.rows
        tight = rows.margin >= most[rows.first] * (1 - _EQUAL)
        spread = np.where(tight, rows.multiplier, 0.0)
        mass = np.bincount(rows.first, spread, minlength=len(most))
        first = np.full(len(most), -1)  # a constraint that asks for as much, of the examples without multipliers
        first[rows.first[tight][::-1]] = np.flatnonzero(tight)[::-1]
        alone = first[(mass == 0) & (most > 0)]
        spread[alone] = 1.0
        mass[rows.first[alone]] = 1.0
        spread = np.where(most[rows.first] > 0, spread, 0.0)
        multiplier = np.divide(spread * share[rows.first], mass[rows.first], out=np.zeros(len(rows)), where=spread > 0)
        worth = float(self.program.worth(multiplier).max(initial=0.0))
        return 1 / worth if worth > 0 else inf

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
            if self.gap <= self.objective.tol * self.best_primal:
                if self.master.verify(program):
                    return True
                break  # The zeros were those of a wrong master.
        self.best, self.best_primal = best, primal
        self._count_known()
        return False

    def verify(self) -> None:
        """P must be that of the best weights. Rows have no outputs, so their numbers cannot be computed again.

        A search that is not exact may find other outputs now: P must then be at least what the rows require.
        """
        if self.exact:
            no_example = np.zeros(self.objective.problem.size, bool)
            slack = self.constraints.round(self.best, self.program.rows, no_example, self.objective.threads)[0]
            primal = float(np.abs(self.best).sum() + self.objective.weights() @ slack)
            check_same("P", self.best_primal, primal, terms=scale_of_losses(self.objective, self.best))
        else:
            check_that(self.best_primal >= self.known_primal(self.best) * (1 - 1e-9), "P counts all constraints")
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
        stored: dict[str, Any] = {name: np.array(array) for name, array in arrays.items() if "." in name}
        rows = Constraints(**{each.name: stored[f"rows.{each.name}"] for each in fields(Constraints)})
        program = replace(
            self.program, rows=rows, weight=plain["weight"], **{name: stored[f"program.{name}"] for name in _PROGRAM}
        )
        rows.check(self.objective.problem.dim, self.constraints.sites)
        for name in _PROGRAM:
            check_that(stored[f"program.{name}"].dtype == np.float64, f"the {name} of the program are numbers")
            check_that(np.isfinite(stored[f"program.{name}"]).all(), f"the {name} of the program are finite")
            check_that(
                stored[f"program.{name}"].shape == getattr(self.program, name).shape, f"there is one {name} each"
            )
        check_that(type(plain["weight"]) is float and 0 < plain["weight"] < inf, "the weight of dual steps is positive")
        same = {"program": program, "master": self.master, "constraints": self.constraints}
        super().unpack(plain | same, {name: array for name, array in arrays.items() if "." not in name})


_PROGRAM = ("w", "xi", "inner")
