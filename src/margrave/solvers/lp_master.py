"""The master problems of LP-Struct (004): the linear program over the known constraints, with two solvers.

    min  |w|_1 + C'xi   subject to   H w + M xi >= margin,  w >= 0 (or of free sign),  xi >= 0

Every example has one slack, or one for each of its sites (docs/background/learning.md): M has ones where a constraint
occupies a site.

HiGHS provides the simplex method. The extragradient method is implemented here, because no library that we use can
start it from the solution of the previous program.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError, setting
from margrave.highs import highs_for, run

Floats = NDArray[np.float64]
SOLVERS = ("extragradient", "simplex", "pdlp")
STEPS = ("scaled", "spectral", "frobenius")

_NOTHING = 1e-12  # A weight that adds less than this to a margin of 1 is a rounding error of the simplex.
_COLD = 1e-7  # A relative difference above this between a cold and a hot start means that the hot start was wrong.


@dataclass
class Constraints:
    """Rows of H over the features that occur, the sites that they occupy, and their multipliers."""

    sites: NDArray[np.int64]  # where those of each example begin, and their number
    place: NDArray[np.int32]  # the index of each feature among those that occur, or -1
    features: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    begin: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    column: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    value: Floats = field(default_factory=lambda: np.zeros(0))
    first: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    last: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    margin: Floats = field(default_factory=lambda: np.zeros(0))
    multiplier: Floats = field(default_factory=lambda: np.zeros(0))
    idle: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # rounds without a multiplier

    def __len__(self) -> int:
        return len(self.margin)

    def add(
        self,
        first: NDArray[np.int32],
        last: NDArray[np.int32],
        margin: Floats,
        begin: NDArray[np.int64],
        feature: NDArray[np.int64],
        value: Floats,
    ) -> None:
        """Add rows over features; new features get the next indices."""
        new = np.unique(feature[self.place[feature] < 0])
        self.place[new] = len(self.features) + np.arange(len(new), dtype=np.int32)
        self.features = np.concatenate([self.features, new])
        self.begin = np.concatenate([self.begin, self.begin[-1] + begin[1:]])
        self.column = np.concatenate([self.column, self.place[feature]])
        self.value = np.concatenate([self.value, value])
        self.first = np.concatenate([self.first, first])
        self.last = np.concatenate([self.last, last])
        self.margin = np.concatenate([self.margin, margin])
        self.multiplier = np.concatenate([self.multiplier, np.zeros(len(margin))])
        self.idle = np.concatenate([self.idle, np.zeros(len(margin), np.int64)])

    def retain(self, stay: NDArray[np.bool_]) -> None:
        """Remove all other rows; their features stay."""
        length = np.diff(self.begin)
        entries = np.repeat(stay, length)
        self.begin = np.concatenate([[0], np.cumsum(length[stay])]).astype(np.int64)
        self.column, self.value = self.column[entries], self.value[entries]
        self.first, self.last, self.margin = self.first[stay], self.last[stay], self.margin[stay]
        self.multiplier, self.idle = self.multiplier[stay], self.idle[stay]

    def check(self, dim: int, sites: NDArray[np.int64]) -> None:
        """Refuse rows from a file that are not rows over these features and the sites of these examples."""
        features, rows = len(self.features), len(self.margin)
        whole = {"place": np.int32, "features": np.int64, "begin": np.int64, "column": np.int32}
        whole |= {"sites": np.int64, "first": np.int32, "last": np.int32}
        numbers = {"value": np.float64, "margin": np.float64, "multiplier": np.float64, "idle": np.int64}
        for name, dtype in (whole | numbers).items():
            array = getattr(self, name)
            if array.dtype != dtype or array.ndim != 1 or not np.isfinite(array).all():
                raise MargraveError(f"the {name} of its constraints must be finite and of type {np.dtype(dtype)}")
        if not np.array_equal(self.sites, sites):
            raise MargraveError("the sites of its constraints are not those of the examples")
        lengths = (len(self.first), len(self.last), len(self.multiplier), len(self.idle), len(self.begin) - 1)
        place = np.full(dim, -1, np.int32)
        if (
            any(length != rows for length in lengths)
            or len(self.column) != len(self.value)
            or self.begin[0] != 0
            or self.begin[-1] != len(self.column)
            or (np.diff(self.begin) < 0).any()
            or _outside(self.column, features)
            or _outside(self.first, int(sites[-1]))
            or _outside(self.last, int(sites[-1]))
            or not np.array_equal(_example(sites, self.first), _example(sites, self.last))
            or (self.last < self.first).any()
            or _outside(self.features, dim)
            or (self.multiplier < 0).any()
        ):
            raise MargraveError("its constraints are not rows over the features of the examples")
        place[self.features] = np.arange(features, dtype=np.int32)
        if not np.array_equal(place, self.place) or np.count_nonzero(place >= 0) != features:
            raise MargraveError("the features of its constraints are not numbered")

    def matrix(self) -> Any:
        """H as a sparse matrix."""
        from scipy.sparse import csr_array

        return csr_array((self.value, self.column, self.begin), shape=(len(self), len(self.features)))

    def occupied(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ones of M: row numbers and sites, row by row."""
        length = self.last.astype(np.int64) - self.first + 1
        row = np.repeat(np.arange(len(self)), length)
        within = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
        return row, self.first[row] + within

    def mass(self) -> Floats:
        """M'lambda: the multipliers at every site."""
        row, site = self.occupied()
        return np.bincount(site, self.multiplier[row], minlength=int(self.sites[-1])).astype(np.float64)

    def asked(self, w: Floats) -> Floats:
        """What slack every known constraint asks for at w."""
        return np.asarray(self.margin - self.matrix() @ w[self.features])

    def slacks(self, asked: Floats) -> Floats:
        """The smallest slacks of the sites that give every constraint what it asks for."""
        return _core.lp_slacks(self.sites, self.first, self.last, asked)


def _outside(numbers: NDArray[Any], end: int) -> bool:
    """Whether a number is negative or not below the end."""
    return bool(len(numbers) and (numbers.min() < 0 or numbers.max() >= end))


def _example(sites: NDArray[np.int64], site: NDArray[np.int32]) -> NDArray[np.int64]:
    """The examples that have these sites."""
    return np.searchsorted(sites, site, side="right")


@dataclass
class Program:
    """The program that a master solves, with its current weights and those with the lowest value."""

    rows: Constraints
    C: Floats  # the C of every site, which is that of its example
    free_sign: bool
    w: Floats  # the last iterate, or a vertex: exactly zero where the program says so
    xi: Floats
    inner: Floats  # the weights with the lowest value
    weight: float = 1.0  # the weight of the extragradient's dual steps

    def worth(self, multiplier: Floats | None = None) -> Floats:
        """H'lambda of every feature: the value of one unit of its weight, whose price is 1.

        Parameters
        ----------
        multiplier : lambda; None means the multipliers of the rows.
        """
        worth = np.zeros_like(self.w)
        worth[self.rows.features] = self.rows.matrix().T @ (self.rows.multiplier if multiplier is None else multiplier)
        return np.abs(worth) if self.free_sign else worth

    def dual(self) -> float:
        """A lower bound on the full program: the value of lambda after scaling it down to be feasible."""
        rows = self.rows
        mass = rows.mass()
        of_sites = np.divide(mass, self.C, where=mass > 0, out=np.zeros_like(mass))
        most = max(1.0, float(self.worth().max(initial=0.0)), float(of_sites.max()))
        return float(rows.margin @ rows.multiplier) / most


class Master(Protocol):
    """A solver of the program over the known constraints, which starts from the previous solution."""

    def solve(self, program: Program, goal: float, most: int, last: bool) -> tuple[float, float]:
        """Improve w, inner and the multipliers until their values differ by less than `goal`; return these values.

        The first is that of `inner` in this program, and the second a lower bound on the full program.

        Parameters
        ----------
        program : the program.
        goal : the difference of the primal and the dual value at which to stop.
        most : the maximum number of iterations.
        last : whether no constraint was added since the previous call.
        """

    def remove_all_but(self, stay: NDArray[np.bool_]) -> None:
        """Called when all rows except those in `stay` have been removed."""

    def verify(self, program: Program) -> bool:
        """Solve again with a cold start; False if the value was wrong."""


@dataclass
class Extragradient:
    """The extragradient method of Wang and Shawe-Taylor (2009, Algorithm 2)."""

    step: str
    restarts: bool
    tolerances: tuple[float, float] | None
    threads: int
    iterations: int = 0  # of all calls so far

    def solve(self, program: Program, goal: float, most: int, last: bool) -> tuple[float, float]:
        """Iterate from the previous solution; the last master is solved more tightly."""
        # The iteration is Eq. 13 of 004, and the tolerances are those of its section 4.1.
        rows, used = program.rows, program.rows.features
        # Lines 3 to 8: the previous weights and multipliers, and slacks that make them feasible.
        program.xi = np.maximum(program.xi, rows.slacks(rows.asked(program.w)))
        w = program.w[used]
        change, balance = (0.0, 0.0) if self.tolerances is None or last else self.tolerances
        iterations, primal, dual, _, program.weight, best = _core.extragradient(
            rows.begin,
            rows.column,
            rows.value,
            rows.sites,
            rows.first,
            rows.last,
            rows.margin,
            program.C,
            program.free_sign,
            w,
            program.xi,
            rows.multiplier,
            self.step,
            self.restarts,
            0.0 if change and not self.restarts else goal,  # Line 10 alone ends Algorithm 2.
            change,
            balance,
            program.weight,
            most,
            self.threads,
        )
        self.iterations += iterations
        program.w = np.zeros_like(program.w)
        program.w[used] = w
        program.inner = np.zeros_like(program.w)
        program.inner[used] = best
        return primal, dual

    def remove_all_but(self, stay: NDArray[np.bool_]) -> None:
        """Do nothing: the rows are read again in each call."""

    def verify(self, program: Program) -> bool:
        """Always True, because its values are those of feasible points."""
        return True


class Highs:
    """HiGHS: its dual simplex with hot starts after rows were added, or its first-order method (PDLP)."""

    def __init__(self, method: str) -> None:
        self._highspy = highs_for(f"solver '{method}'", setting(solver="extragradient"))
        self._method = method
        self._model: Any = None
        self._rows = 0
        self._columns = 0

    def solve(self, program: Program, goal: float, most: int, last: bool) -> tuple[float, float]:
        """Add the new rows and columns, and solve to optimality."""
        if self._model is None:
            self._begin(program)
        self._add(program)
        self._run(program)
        return float(self._model.getInfo().objective_function_value), program.dual()

    def remove_all_but(self, stay: NDArray[np.bool_]) -> None:
        """Remove rows from the model; they have no multiplier, so that the basis remains valid."""
        gone = np.flatnonzero(~stay).astype(np.int32)
        self._expect(self._model.deleteRows(len(gone), gone))
        self._rows -= len(gone)

    def verify(self, program: Program) -> bool:
        """Check the value with a cold start: hot starts sometimes end at a wrong value (HiGHS 1.15)."""
        if self._method != "simplex":
            return True
        hot = self._value(program)
        self._model = None
        cold = self._value(program)
        return bool(abs(hot - cold) <= _COLD * max(1.0, abs(cold)))

    def _value(self, program: Program) -> float:
        self.solve(program, 0.0, 0, last=True)
        return float(self._model.getInfo().objective_function_value)

    def _begin(self, program: Program) -> None:
        """Make a program without rows, whose columns are the slacks."""
        slacks = len(program.C)
        self._model = self._highspy.Highs()
        self._rows = self._columns = 0
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("solver", self._method),
            ("simplex_strategy", 1),  # The dual simplex stays feasible when rows are added.
            ("pdlp_optimality_tolerance", 1e-7),
            ("small_matrix_value", 1e-12),  # Smaller entries count as 0; this is HiGHS's lowest limit.
        ):
            self._model.setOptionValue(option, value)
        lp = self._highspy.HighsLp()
        lp.num_col_, lp.num_row_ = slacks, 0
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.C, np.zeros(slacks), np.full(slacks, inf)
        self._expect(self._model.passModel(lp))

    def _add(self, program: Program) -> None:
        """Add the new columns, u and v of w = u - v side by side, and the new rows."""
        rows, sides = program.rows, 2 if program.free_sign else 1
        new = (len(rows.features) - self._columns) * sides
        nothing = np.zeros(0, np.int32)
        if new:
            starts = np.zeros(new, np.int32)
            upper = np.full(new, inf)
            self._expect(self._model.addCols(new, np.ones(new), np.zeros(new), upper, 0, starts, nothing, np.zeros(0)))
            self._columns = len(rows.features)
        count = len(rows) - self._rows
        if not count:
            return
        first = rows.begin[self._rows]
        begin = rows.begin[self._rows : -1] - first
        column, value = rows.column[first:].astype(np.int64), rows.value[first:]
        places = len(program.C) + sides * column
        if program.free_sign:
            places = np.stack([places, places + 1], axis=1).ravel()
            value = np.stack([value, -value], axis=1).ravel()
        row, site = rows.occupied()
        added = row >= self._rows
        row, site = row[added] - self._rows, site[added]
        ends = sides * (rows.begin[self._rows + 1 :] - first)[row]
        index = np.insert(places, ends, site)  # Each row ends with its slacks.
        entries = np.insert(value, ends, 1.0)
        starts = (sides * begin + np.searchsorted(row, np.arange(count))).astype(np.int32)
        upper = np.full(count, inf)
        lower = rows.margin[self._rows :]
        self._expect(self._model.addRows(count, lower, upper, len(entries), starts, index.astype(np.int32), entries))
        self._rows = len(rows)

    def _expect(self, status: Any) -> None:
        """Raise an error for any warning, which means that entries were left out."""
        if status != self._highspy.HighsStatus.kOk:
            raise MargraveError(
                f"HiGHS ({self._method}) does not take features as large or as small as these: scale them, or use ",
                setting(solver="extragradient"),
                ".",
            )

    def _run(self, program: Program) -> None:
        highs, rows = self._highspy, program.rows
        run(highs, self._model)
        status = self._model.getModelStatus()
        if status != highs.HighsModelStatus.kOptimal:
            raise MargraveError(
                f"HiGHS ({self._method}) could not finish the master problem of {len(rows)} constraints: "
                f"{self._model.modelStatusToString(status)}; scale the features, lower C, or use ",
                setting(solver="extragradient"),
                ".",
            )
        solution = self._model.getSolution()
        x = np.maximum(np.array(solution.col_value), 0.0)
        slacks = len(program.C)
        program.xi = x[:slacks]
        program.w = np.zeros_like(program.w)
        found = x[slacks:]
        w = found[::2] - found[1::2] if program.free_sign else found
        largest = np.zeros(len(w))
        np.maximum.at(largest, rows.column, np.abs(rows.value))
        program.w[rows.features] = np.where(np.abs(w) * largest < _NOTHING, 0.0, w)
        program.inner = program.w
        rows.multiplier = np.maximum(np.array(solution.row_dual), 0.0)


def master_named(
    solver: str, step: str, restarts: bool, tolerances: tuple[float, float] | None, threads: int
) -> Master:
    """The solver with this name, which is one of SOLVERS."""
    return Extragradient(step, restarts, tolerances, threads) if solver == "extragradient" else Highs(solver)
