"""What structural SVMs are compared with: every constraint of 003 written out, and the quadratic programs solved whole.

An example is its other outputs, each with dPsi(y) = Psi(gold) - Psi(y) and a cost. With r = 1 (SVM0), the cost (SVM1)
or its square root (SVM2), all programs of the paper are one:

    minimize 1/2 |w|^2 + sum_i C_i L_i   subject to   <w, g(y)> >= h(y) - xi_i,  xi_i >= 0

where h = r, g = dPsi (margin re-scaling) or r dPsi (slack re-scaling), and L_i = xi_i or 1/2 xi_i^2; SVM0 has no slack.
Its multipliers are beta; those of the paper are alpha = beta or r beta. Nothing here uses a learner.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import lsq_linear

from margrave import Problem
from margrave.testing.enumeration import Outputs
from margrave.testing.optimum import Alternatives
from tests.registry import Case

Array = NDArray[np.float64]
Parts = tuple[int, ...]


# ---- the outputs of a problem ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """All outputs but the gold one."""

    ys: list[Parts]
    psi: Array  # dPsi(y): (outputs, weights)
    cost: Array  # of every output
    gold: Parts

    @cached_property
    def radius(self) -> float:
        """R_i = max |dPsi(y)|."""
        return float(np.linalg.norm(self.psi, axis=1).max(initial=0.0))

    @cached_property
    def most(self) -> float:
        """Delta_i: the highest cost."""
        return float(self.cost.max(initial=0.0))


def f1_cost(gold: Parts, y: Parts) -> float:
    """1 - F1 over parts, none of which an output has twice."""
    return 0.0 if gold == y else 1.0 - 2.0 * len(set(gold) & set(y)) / (len(gold) + len(y))


def examples_of(case: Case, cost: str = "parts") -> list[Example]:
    """The outputs of a registered problem, with the problem's own cost ("parts"), "zero-one" or "f1"."""
    found = []
    for i, (outputs, gold) in enumerate(zip(case.outputs, case.gold, strict=True)):
        own = dict(zip(outputs.ys, case.costs[i], strict=True))  # a bag may have several derivations
        own.pop(gold)
        ys = list(own)
        if cost == "parts":
            costs = [own[y] for y in ys]
        else:
            costs = [float(y not in case.good(i)) if cost == "zero-one" else f1_cost(gold, y) for y in ys]
        psi = _differences(case.problem, i, Outputs(outputs.n, ys), gold)
        found.append(Example(ys, psi, np.array(costs, dtype=float), gold))
    return found


def _differences(problem: Problem, i: int, outputs: Outputs, gold: Parts) -> Array:
    right = np.bincount(gold, minlength=outputs.n).astype(float)
    psi = np.zeros((len(outputs.ys), problem.dim))
    if outputs.ys:
        for row, counts in zip(psi, outputs.counts, strict=True):
            index, value = problem.row(i, right - counts)
            np.add.at(row, index, value)
    return psi


# ---- the programs of the paper ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """Slack 0, 1 or 2, with the margin or the slack re-scaled."""

    rescale: str = "margin"
    slack: int = 1

    def __str__(self) -> str:
        return f"SVM{self.slack}-{self.rescale}" if self.slack else "SVM0"

    def weight(self, cost: Array) -> Array:
        """r(y)."""
        return np.ones_like(cost) if self.slack == 0 else cost if self.slack == 1 else np.sqrt(cost)

    def violations(self, x: Example, w: Array) -> Array:
        """H(y) of every output but the gold one (003, Alg. 1, step 5)."""
        r, m = self.weight(x.cost), x.psi @ w
        return r * (1 - m) if self.rescale == "slack" else r - m

    def slack_of(self, x: Example, w: Array) -> float:
        """xi_i."""
        return float(self.violations(x, w).max(initial=0.0))

    def primal(self, examples: Sequence[Example], w: Array, C: Array | float) -> float:
        """P(w) of SVM1 and SVM2 by its definition."""
        xi = np.array([self.slack_of(x, w) for x in examples])
        return float(0.5 * w @ w + (C * (xi if self.slack == 1 else 0.5 * xi * xi)).sum())


FORMS = [Form(rescale, slack) for slack in (1, 2) for rescale in ("margin", "slack")]
HARD = Form("margin", 0)


@dataclass(frozen=True)
class Optimum:
    """Weights and multipliers, and the values that they certify: dual <= P* <= primal."""

    w: Array
    beta: Array
    primal: float
    dual: float


class NotSeparableError(Exception):
    """SVM0 has no solution."""


@dataclass(frozen=True)
class Program:
    """One constraint a row."""

    g: Array  # (constraints, weights)
    h: Array
    owner: NDArray[np.int64]  # the example of every constraint
    C: Array  # of every example
    slack: int

    @classmethod
    def of(cls, form: Form, examples: Sequence[Example], C: Array | float = 1.0) -> "Program":
        """Examples without weight have no constraints, nor do outputs without cost under slack re-scaling."""
        factors = np.broadcast_to(np.asarray(C, dtype=float), len(examples))
        r = np.concatenate([form.weight(x.cost) for x in examples])
        psi = np.concatenate([x.psi for x in examples])
        owner = np.repeat(np.arange(len(examples)), [len(x.ys) for x in examples])
        kept = (factors[owner] > 0) & (r > 0 if form.rescale == "slack" else True)
        g = r[:, None] * psi if form.rescale == "slack" else psi
        return cls(g[kept], r[kept], owner[kept], factors, form.slack)

    def primal(self, w: Array) -> float:
        """P(w); without slack infinite where a constraint is broken by more than rounding."""
        broken = self.h - self.g @ w
        if self.slack == 0:
            size = np.abs(self.h) + np.linalg.norm(self.g, axis=1) * np.linalg.norm(w)
            return float(0.5 * w @ w) if (broken <= 1e-11 * size).all() else inf
        xi = np.zeros(len(self.C))
        np.maximum.at(xi, self.owner, broken)
        return float(0.5 * w @ w + self.C @ (xi if self.slack == 1 else 0.5 * xi * xi))

    def feasible(self, beta: Array) -> Array:
        """Multipliers that the dual allows: not negative, and with linear slack at most C_i in all."""
        beta = np.clip(beta, 0.0, None)
        if self.slack == 1:
            share = np.bincount(self.owner, beta, len(self.C)) / np.where(self.C > 0, self.C, inf)
            beta = beta / np.maximum(share, 1.0)[self.owner]
        return beta

    def dual(self, beta: Array) -> float:
        """D (003, Propositions 4 to 9)."""
        w = beta @ self.g
        total = np.bincount(self.owner, beta, len(self.C))
        bend = (total**2 / np.where(self.C > 0, self.C, inf)).sum() if self.slack == 2 else 0.0
        return float(beta @ self.h - 0.5 * w @ w - 0.5 * bend)

    def optimum(self) -> Optimum:
        """The least P by an interior-point method on the primal, certified to 1e-9."""
        for regularization, fraction in _ATTEMPTS:
            w, beta = self._interior_point(regularization, fraction)
            beta = self.feasible(beta)
            primal, w = min(((self.primal(v), v) for v in (w, beta @ self.g)), key=lambda pair: pair[0])
            dual = self.dual(beta)
            if primal - dual <= 1e-9 * max(primal, 1e-3):
                return Optimum(w, beta, primal, dual)
        raise AssertionError(f"the reference is certified to {primal - dual} of {primal} only")

    def _interior_point(self, regularization: float, fraction: float) -> tuple[Array, Array]:
        """w and the multipliers; (w, xi) vary, xi in units of 1 / sqrt(C_i) under quadratic slack."""
        m, d = self.g.shape
        if m == 0:
            return np.zeros(d), np.zeros(0)
        blocks, which = np.unique(self.owner, return_inverse=True)
        n, C = (len(blocks) if self.slack else 0), self.C[blocks]
        curved, linear, unit = (1.0, 0.0 * C, 1 / np.sqrt(C)) if self.slack == 2 else (0.0, C, np.ones_like(C))
        by_block = sparse.csc_matrix((unit[which], (range(m), which)), shape=(m, len(blocks)))[:, :n]
        signs = n if self.slack == 1 else 0  # a squared slack has no reason to be negative
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
        settings.static_regularization_constant, settings.max_step_fraction = regularization, fraction
        found = clarabel.DefaultSolver(
            sparse.diags(np.concatenate([np.ones(d), np.full(n, curved)]), format="csc"),
            np.concatenate([np.zeros(d), linear[:n]]),
            sparse.bmat(
                [[-sparse.csc_matrix(self.g), -by_block], [sparse.csc_matrix((signs, d)), -sparse.eye(signs, n)]],
                format="csc",
            ),
            np.concatenate([-self.h, np.zeros(signs)]),
            [clarabel.NonnegativeConeT(m + signs)],
            settings,
        ).solve()
        if "Infeasible" in str(found.status):
            raise NotSeparableError
        return np.array(found.x)[:d], np.array(found.z)[:m]


# The solver's regularization and step fraction: with its own it gives up on a few of these programs.
_ATTEMPTS = ((1e-8, 0.99), (1e-12, 0.99), (1e-12, 0.9), (1e-10, 0.8))


def optimum(form: Form, examples: Sequence[Example], C: Array | float = 1.0) -> Optimum:
    """w*, P* and D* of a form."""
    return Program.of(form, examples, C).optimum()


# ---- the same by other methods ---------------------------------------------------------------------------------------


def by_least_squares(program: Program) -> float:
    """P* of SVM0 and SVM2 as a problem of least distance (Lawson and Hanson 1974, chapter 23): active sets, no steps.

    The point x nearest to 0 with rows x >= h is -r / r_last, where r is what (rows, h)' u, u >= 0, lacks of (0, 1).
    """
    rows = program.g
    if program.slack == 2:
        unit = np.eye(len(program.C)) / np.sqrt(np.where(program.C > 0, program.C, 1.0))
        rows = np.hstack([rows, unit[program.owner]])
    target = np.append(np.zeros(rows.shape[1]), 1.0)
    r = lsq_linear(np.vstack([rows.T, program.h]), target, (0, inf), method="bvls", tol=1e-15, max_iter=10_000).fun
    return float(0.5 * (r[:-1] @ r[:-1]) / r[-1] ** 2)


def as_losses(form: Form, examples: Sequence[Example]) -> list[Alternatives]:
    """Examples whose structured hinge loss is the linear slack of these: the gold output first, then -g and h."""
    found = []
    for x in examples:
        r = form.weight(x.cost)
        g = (r[:, None] if form.rescale == "slack" else 1.0) * x.psi
        found.append(Alternatives(np.vstack([np.zeros((1, g.shape[1])), -g]), np.append(0.0, r), 0))
    return found
