"""The linear relaxation of the best labeling of a factor graph as a linear program, solved by HiGHS (001, Eq. 7).

In place of a labeling there are shares of the labels of each variable, and of the cells of each factor of several
variables, which agree about the shares of labels. Rules about literals are inequalities of the shares, and these are
the convex hulls of what the rules allow: sums of literals, and for a tree the flows from the root to each word. Tuples
that are allowed or forbidden have shares of their own. The solution is a vertex; if it is integral, it is the best
labeling.
"""

from dataclasses import dataclass, field
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.data.rules import Allowed, AtMostOne, Budget, Forbidden, Implies, Or, OwnRule, TreeRule, Xor
from margrave.errors import MargraveError, setting
from margrave.highs import highs_for

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
_MOST_CELLS = 10**7  # of the tables of one graph
_INFEASIBLE = 2  # what scipy calls a program without a solution


class GraphPrograms:
    """The relaxations of the graphs of a data set. Each program is made once; every solution starts anew.

    Parameters
    ----------
    arrays : the graphs, an object of `GraphArrays`.
    sizes : the number of labels of each set of labels.
    """

    def __init__(self, arrays: Any, sizes: NDArray[np.int64]) -> None:
        self.highspy = highs_for(setting(inference="lp"), setting(inference="relaxed"))
        self.programs = [_program(arrays, sizes, g) for g in range(len(arrays.variable_begin) - 1)]

    def solve(self, g: int, theta: Floats) -> tuple[float, Floats, Floats]:
        """The bound of graph g at the scores of its parts, the shares of the parts, and the shares of the labels.

        Parameters
        ----------
        g : the number of the graph.
        theta : the scores of its parts; -inf forbids a part.
        """
        program = self.programs[g]
        # The tolerances of HiGHS are absolute, so the program is solved with scores whose largest one is 1.
        size = float(np.abs(theta, where=np.isfinite(theta), out=np.zeros(len(theta))).max(initial=0.0)) or 1.0
        theta = theta / size
        cost, upper = np.zeros(program.columns), np.ones(program.columns)
        forbidden = np.concatenate([program.forbidden, program.column[np.isneginf(theta)]])
        upper[forbidden] = 0.0
        np.add.at(cost, program.column, np.where(np.isneginf(theta), 0.0, theta))
        cost[forbidden] = 0.0
        shares, multipliers = self._optimum(program, cost, upper)
        if shares is None:
            return -inf, np.zeros(len(theta)), np.zeros(program.labels)
        return size * program.bound(cost, upper, multipliers), shares[program.column], shares[: program.labels]

    def _optimum(self, program: "_Program", cost: Floats, upper: Floats) -> tuple[Floats | None, Floats]:
        """The solution and the multipliers of the rows; no solution if the program has none."""
        highs = self.highspy
        lp, model = highs.HighsLp(), highs.Highs()
        lp.num_col_, lp.num_row_ = program.columns, len(program.low)
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = -cost, np.zeros(program.columns), upper
        lp.row_lower_, lp.row_upper_ = program.low, program.high
        lp.a_matrix_.format_ = highs.MatrixFormat.kRowwise
        matrix = program.matrix
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        for option, value in (("output_flag", False), ("threads", 1), ("solver", "simplex")):
            model.setOptionValue(option, value)
        model.passModel(lp)
        model.run()
        status = model.getModelStatus()
        if status == highs.HighsModelStatus.kInfeasible:
            return None, np.zeros(0)
        if status != highs.HighsModelStatus.kOptimal:
            raise MargraveError(
                f"HiGHS did not solve the relaxation ({status}): use ", setting(inference="relaxed"), "."
            )
        found = model.getSolution()
        shares = np.clip(np.array(found.col_value, dtype=np.float64), 0.0, upper)
        return shares, -np.array(found.row_dual, dtype=np.float64)


@dataclass
class _Program:
    """max <cost, x> with low <= matrix x <= high and 0 <= x <= 1; the first columns are the shares of labels."""

    labels: int
    columns: int
    column: NDArray[np.int64]  # of each part
    forbidden: NDArray[np.int64]  # columns that are 0
    matrix: "csr_array"
    low: Floats
    high: Floats

    def bound(self, cost: Floats, upper: Floats, multipliers: Floats) -> float:
        """What no solution exceeds, by the multipliers of the rows: true whatever they are."""
        multipliers = np.where(np.isinf(self.high), np.minimum(multipliers, 0.0), multipliers)
        multipliers = np.where(np.isinf(self.low), np.maximum(multipliers, 0.0), multipliers)
        limits = np.where(multipliers > 0, self.high, self.low)
        of_rows = np.where(multipliers == 0, 0.0, multipliers * np.where(np.isinf(limits), 0.0, limits))
        slopes = cost - self.matrix.T @ multipliers
        return float(of_rows.sum() + (upper * np.maximum(slopes, 0.0)).sum())


@dataclass
class _Rows:
    """Rows of a program, entry by entry."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, entries: list[tuple[int, float]], low: float, high: float) -> None:
        for column, value in entries:
            self.row.append(len(self.low))
            self.column.append(column)
            self.value.append(value)
        self.low.append(low)
        self.high.append(high)


def relaxation_is_empty(arrays: Any, sizes: NDArray[np.int64], g: int, most_columns: int) -> bool:
    """Whether the relaxation of a graph has no solution, so that the graph has no output.

    Programs with more columns are not tried.
    """
    try:
        program = _program(arrays, sizes, g, most_columns)
    except MargraveError:
        return False
    upper = np.ones(program.columns)
    upper[program.forbidden] = 0.0
    above, below = np.isfinite(program.high), np.isfinite(program.low)
    from scipy.optimize import linprog  # slow to import, and most graphs need no linear program
    from scipy.sparse import vstack

    solved = linprog(
        np.zeros(program.columns),
        A_ub=vstack([program.matrix[above], -program.matrix[below]]),
        b_ub=np.concatenate([program.high[above], -program.low[below]]),
        bounds=np.stack([np.zeros(program.columns), upper], axis=1),
        method="highs",
    )
    return bool(solved.status == _INFEASIBLE)


def _program(arrays: Any, sizes: NDArray[np.int64], g: int, most_columns: int = _MOST_CELLS) -> _Program:
    first, last = arrays.variable_begin[g], arrays.variable_begin[g + 1]
    counts = sizes[arrays.set_of[first:last]].tolist()
    begin = [0, *np.cumsum(counts).tolist()]
    made = _Maker(counts, begin, most_columns)
    for v in range(len(counts)):
        made.rows.add([(k, 1.0) for k in range(begin[v], begin[v + 1])], 1.0, 1.0)
    for f in range(arrays.factor_begin[g], arrays.factor_begin[g + 1]):
        scope = arrays.scope[arrays.scope_begin[f] : arrays.scope_begin[f + 1]].tolist()
        listed = arrays.listed[arrays.listed_begin[f] : arrays.listed_begin[f + 1]].tolist()
        made.soft(scope, int(arrays.form[f]), listed)
    for h in range(arrays.hard_begin[g], arrays.hard_begin[g + 1]):
        literals = slice(arrays.literal_begin[h], arrays.literal_begin[h + 1])
        made.hard(
            f"graph {g}, hard factor {h - arrays.hard_begin[g]}",
            int(arrays.hard_kind[h]),
            arrays.literal_variable[literals].tolist(),
            arrays.literal_value[literals].tolist(),
            arrays.data[arrays.data_begin[h] : arrays.data_begin[h + 1]].tolist(),
        )
    rows = made.rows
    from scipy.sparse import csr_array

    matrix = csr_array((rows.value, (rows.row, rows.column)), shape=(len(rows.low), made.columns))
    return _Program(
        begin[-1],
        made.columns,
        np.array(made.parts, dtype=np.int64),
        np.array(made.forbidden, dtype=np.int64),
        matrix,
        np.array(rows.low),
        np.array(rows.high),
    )


class _Maker:
    """Collects the columns and rows of one graph."""

    def __init__(self, counts: list[int], begin: list[int], most_columns: int) -> None:
        self.most_columns = most_columns
        self.counts = counts
        self.begin = begin
        self.columns = begin[-1]
        self.rows = _Rows()
        self.parts: list[int] = []  # the column of each part
        self.forbidden: list[int] = []

    def soft(self, scope: list[int], form: int, listed: list[int]) -> None:
        """A soft factor whose cells all have parts (0), only the listed ones exist (1), or have parts (2)."""
        sizes = [self.counts[v] for v in scope]
        cells = int(np.prod(sizes))
        with_part = list(range(cells)) if form == 0 else listed
        if len(scope) == 1:
            of_label = self.begin[scope[0]]
            self.parts += [of_label + label for label in with_part]
            if form == 1:
                self.forbidden += [of_label + label for label in set(range(cells)) - set(listed)]
            return
        there = with_part if form == 1 else list(range(cells))
        self._expect_room(len(there))
        column = self._table(scope, [np.unravel_index(cell, sizes) for cell in there])
        place = dict(zip(there, column, strict=True))
        self.parts += [place[cell] for cell in with_part]

    def _expect_room(self, columns: float) -> None:
        if self.columns + columns > self.most_columns:
            raise MargraveError(
                "the tables of a graph are too large for a linear program: use ", setting(inference="relaxed"), "."
            )

    def _table(self, scope: list[int], tuples: list[Any]) -> list[int]:
        """New columns for tuples of labels, whose shares agree with those of the labels."""
        column = list(range(self.columns, self.columns + len(tuples)))
        self.columns += len(tuples)
        for j, v in enumerate(scope):
            having: list[list[int]] = [[] for _ in range(self.counts[v])]
            for k, labels in zip(column, tuples, strict=True):
                having[int(labels[j])].append(k)
            for label, of in enumerate(having):
                self.rows.add([(self.begin[v] + label, -1.0), *((k, 1.0) for k in of)], 0.0, 0.0)
        return column

    def _literal(self, variable: int, value: int) -> list[int]:
        """The labels with which a literal is true."""
        first = self.begin[variable]
        if value >= 0:
            return [first + value]
        return [first + label for label in range(self.counts[variable]) if label != ~value]

    def hard(self, where: str, kind: int, variables: list[int], values: list[int], data: list[int]) -> None:
        """A rule."""
        literals = [self._literal(v, value) for v, value in zip(variables, values, strict=True)]
        sum_of_all = [(k, 1.0) for labels in literals for k in labels]
        if kind == Xor.kind:
            self.rows.add(sum_of_all, 1.0, 1.0)
        elif kind == AtMostOne.kind:
            self.rows.add(sum_of_all, -inf, 1.0)
        elif kind == Or.kind:
            self.rows.add(sum_of_all, 1.0, inf)
        elif kind == Budget.kind:
            self.rows.add(sum_of_all, -inf, float(data[0]))
        elif kind == Implies.kind:  # 1 - sum of (1 - premise) <= conclusion
            premises = [(k, -1.0) for labels in literals[:-1] for k in labels]
            self.rows.add([*premises, *((k, 1.0) for k in literals[-1])], 1.0 - (len(literals) - 1), inf)
        elif kind == TreeRule.kind:
            self._tree(literals, data[0], data[1] == 1, list(zip(data[2::2], data[3::2], strict=True)))
        elif kind in (Allowed.kind, Forbidden.kind):
            listed = [tuple(data[k : k + len(variables)]) for k in range(0, len(data), len(variables))]
            if kind == Forbidden.kind:
                every = product(*(range(self.counts[v]) for v in variables))
                self._expect_room(float(np.prod([float(self.counts[v]) for v in variables])))
                gone = set(listed)
                listed = [labels for labels in every if labels not in gone]
            self._table(variables, sorted(set(listed)))
        elif kind == OwnRule.kind:
            raise MargraveError(
                f"{where}: a linear program needs inequalities, which a rule of your own does not have: use ",
                setting(inference="relaxed"),
                ".",
            )

    def _tree(self, literals: list[list[int]], words: int, single_root: bool, arcs: list[tuple[int, int]]) -> None:
        """Every word has one head, and a unit of flow reaches it from the root over the arcs (Martins et al. 2009)."""
        self._expect_room(words * len(arcs))
        into: list[list[int]] = [[] for _ in range(words + 1)]
        out_of: list[list[int]] = [[] for _ in range(words + 1)]
        for a, (head, word) in enumerate(arcs):
            into[word].append(a)
            out_of[head].append(a)
        shares = [[(k, 1.0) for k in labels] for labels in literals]
        for word in range(1, words + 1):
            self.rows.add([entry for a in into[word] for entry in shares[a]], 1.0, 1.0)
        if single_root:
            self.rows.add([entry for a in out_of[0] for entry in shares[a]], 1.0, 1.0)
        for goal in range(1, words + 1):
            flow = self.columns
            self.columns += len(arcs)
            for a in range(len(arcs)):
                self.rows.add([(flow + a, -1.0), *shares[a]], 0.0, inf)
            for word in range(words + 1):
                balance = [(flow + a, 1.0) for a in into[word]] + [(flow + a, -1.0) for a in out_of[word]]
                net = -1.0 if word == 0 else 1.0 if word == goal else 0.0
                self.rows.add(balance, net, net)
