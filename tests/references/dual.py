"""What dual learners are compared with, where every output has a dual variable of its own.

Optima come from general-purpose solvers (scipy for finite beta, an interior-point method for beta = inf), each with its
own certificate; the algorithms of the papers are written out over enumerated outputs. Nothing here uses a learner.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize
from scipy.special import log_softmax, softmax

from margrave import LossFamily, Problem
from margrave.maps import FeatureTable
from margrave.structures import Chain, Multiclass
from margrave.testing.optimum import Alternatives
from tests.learners.test_learners import Matching, Weights, chain, chain_data
from tests.references.problems import bind

Alpha = list[Weights]  # a distribution over the outputs of every example


# ---- problems --------------------------------------------------------------------------------------------------------


@dataclass
class Listed(Alternatives):
    """All outputs of one example with their parts; the features are in the problem's own order of weights."""

    ys: list[tuple[int, ...]]


def listed(problem: Problem) -> list[Listed]:
    """All outputs of every example, as the problem itself lists them."""
    found = []
    for i in range(problem.size):
        zero = np.zeros(problem.parts(i))
        ys = problem.all if isinstance(problem, Matching) else [y for _, y in problem.kbest(i, zero, 10**6)]
        sets = [tuple(sorted(int(part) for part in y)) for y in ys]
        counts = np.array([np.bincount(y, minlength=len(zero)) for y in sets], dtype=float)
        rows = np.array([problem.score(i, unit) for unit in np.eye(problem.dim)]).T  # (parts, dim)
        delta, c0 = problem.cost(i)
        gold = sets.index(tuple(sorted(int(part) for part in problem.gold(i))))
        found.append(Listed(counts @ rows, counts @ delta + c0, gold, sets))
    return found


def untied_chain(seed: int = 0, loss: LossFamily | None = None) -> tuple[Problem, list[Alternatives]]:
    """The sequences of `chain`, with a transition table for every position."""
    X, Y = chain_data(seed)
    flat = np.array([label for labels in Y for label in labels], dtype=np.int32)
    problem = bind(Chain(tied=False), X, flat, feature_map=FeatureTable("observed"), classes=[0, 1, 2], loss=loss)
    return problem, chain(seed, loss)[1]


def real_chain(seed: int = 0, loss: LossFamily | None = None) -> tuple[Problem, list[Alternatives]]:
    """Sequences with real-valued features and costs, so that no two outputs tie once a weight is not zero."""
    random = np.random.default_rng(seed)
    lengths = [1, 4, 3, 2, 3]
    X = [random.normal(size=(n, 3)) for n in lengths]
    labels = random.integers(0, 3, size=sum(lengths)).astype(np.int32)
    cost = random.uniform(0.5, 2, size=(3, 3)) * (1 - np.eye(3))
    if loss is not None:
        loss = LossFamily(loss.beta, loss.gamma, cost)
    problem = bind(Chain(), X, labels, feature_map=FeatureTable("all"), classes=[0, 1, 2], loss=loss)
    return problem, list(listed(problem))


def of_classes(
    X: Weights, labels: Sequence[int], loss: LossFamily, cost: Weights
) -> tuple[Problem, list[Alternatives]]:
    """Examples with these rows, labels and costs: (gold, predicted)."""
    width = len(cost)
    problem = bind(
        Multiclass(),
        X,
        np.array(labels, dtype=np.int32),
        feature_map=FeatureTable("all"),
        classes=list(range(width)),
        loss=LossFamily(loss.beta, loss.gamma, cost),
    )
    return problem, [Alternatives(np.kron(np.eye(width), x), cost[k], k) for x, k in zip(X, labels, strict=True)]


def copies(examples: Sequence[Alternatives], weight: Sequence[int]) -> list[Alternatives]:
    """Every example so many times."""
    return [x for x, k in zip(examples, weight, strict=True) for _ in range(k)]


# ---- the dual by its definition (docs/background/learning.md) --------------------------------------------------------


def entropy(p: Weights) -> float:
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def dual_of(alpha: Alpha, examples: Sequence[Alternatives], loss: LossFamily, C: float) -> tuple[float, Weights]:
    """D(alpha) and w(alpha)."""
    w, value = np.zeros(examples[0].features.shape[1]), 0.0
    for x, p in zip(examples, alpha, strict=True):
        w += C * (x.features[x.gold] - p @ x.features)
        value += C * (loss.gamma * float(p @ x.cost) + entropy(p) / loss.beta)
    return value - 0.5 * float(w @ w), w


class Stacked:
    """All outputs of all examples one below the other, each row less that of its gold output."""

    def __init__(self, examples: Sequence[Alternatives], loss: LossFamily) -> None:
        sizes = [len(x.cost) for x in examples]
        self.loss, self.sizes = loss, sizes
        self.begin = np.cumsum([0, *sizes[:-1]])
        self.owner = np.repeat(range(len(sizes)), sizes)
        self.along = np.concatenate([x.features - x.features[x.gold] for x in examples])
        self.bonus = loss.gamma * np.concatenate([x.cost for x in examples])

    def losses(self, w: Weights) -> tuple[Weights, Weights]:
        """L_i(w) of every example, and the loss's own distributions, all in one row (finite beta; else the losses)."""
        v = self.along @ w + self.bonus
        top = np.maximum.reduceat(v, self.begin)
        if self.loss.beta == inf:
            return top, v
        p = np.exp(self.loss.beta * (v - top[self.owner]))
        total = np.add.reduceat(p, self.begin)
        return top + np.log(total) / self.loss.beta, p / total[self.owner]

    def apart(self, row: Weights) -> Alpha:
        return np.split(row, self.begin[1:])


def own_distribution(x: Alternatives, w: Weights, loss: LossFamily) -> Weights:
    """The loss's own distribution at w; finite beta."""
    return np.asarray(softmax(loss.beta * (x.features @ w + loss.gamma * x.cost)))


def primal_of(w: Weights, examples: Sequence[Alternatives], loss: LossFamily, C: float | Sequence[float]) -> float:
    """P(w)."""
    losses = Stacked(examples, loss).losses(w)[0]
    return float(0.5 * w @ w + np.broadcast_to(np.asarray(C, dtype=float), len(examples)) @ losses)


def most_of_any_dual(w: Weights, examples: Sequence[Alternatives], loss: LossFamily, C: float) -> float:
    """The highest D(alpha) among all alpha with w(alpha) = w; -inf where there is none.

    By Lagrange it is the least of C sum_i L_i(v) + <v, w> - 1/2 |w|^2 over all v, so that an inexact minimum is still a
    bound. At beta = inf it is a linear program over alpha.
    """
    stacked = Stacked(examples, loss)
    if loss.beta == inf:
        sums = stacked.owner == np.arange(len(examples))[:, None]
        A = np.vstack([-C * stacked.along.T, sums])
        found = linprog(-C * stacked.bonus, A_eq=A, b_eq=np.concatenate([w, np.ones(len(examples))]))
        return -inf if found.x is None else float(C * stacked.bonus @ found.x - 0.5 * w @ w)

    def lagrangian(v: Weights) -> tuple[float, Weights]:
        losses, p = stacked.losses(v)
        return float(v @ w + C * losses.sum()), w + C * p @ stacked.along

    options = {"maxiter": 400, "gtol": 1e-13, "ftol": 1e-16, "maxcor": 30}
    found = minimize(lagrangian, w, jac=True, method="L-BFGS-B", options=options)
    return float(found.fun - 0.5 * w @ w)


# ---- the optimum -----------------------------------------------------------------------------------------------------


@dataclass
class Optimum:
    """Weights and dual variables, and the values that they certify: dual <= P* <= primal."""

    w: Weights
    alpha: Alpha
    primal: float
    dual: float


def best(
    examples: Sequence[Alternatives], loss: LossFamily, C: float | Sequence[float], origin: Weights | None = None
) -> Optimum:
    """The least 1/2 |w - origin|^2 + sum_i C_i L_i(w)."""
    start = np.zeros(examples[0].features.shape[1]) if origin is None else origin
    stacked = Stacked(examples, loss)
    factors = np.broadcast_to(np.asarray(C, dtype=float), len(examples))
    p = (_interior_point if loss.beta == inf else _quasi_newton)(stacked, factors, start)
    weighted = factors[stacked.owner] * p
    move = -weighted @ stacked.along
    alpha = stacked.apart(p)
    entropies = sum(c * entropy(q) for c, q in zip(factors, alpha, strict=True))
    dual = weighted @ (stacked.along @ start + stacked.bonus) + entropies / loss.beta - 0.5 * move @ move
    primal = 0.5 * move @ move + factors @ stacked.losses(start + move)[0]
    return Optimum(start + move, alpha, float(primal), float(dual))


def _quasi_newton(stacked: Stacked, C: Weights, origin: Weights) -> Weights:
    def objective(w: Weights) -> tuple[float, Weights]:
        losses, p = stacked.losses(w)
        move = w - origin
        return float(0.5 * move @ move + C @ losses), move + (C[stacked.owner] * p) @ stacked.along

    options = {"maxiter": 10_000, "gtol": 1e-13, "ftol": 1e-16, "maxcor": 30}
    found = minimize(objective, origin, jac=True, method="L-BFGS-B", options=options)
    return stacked.losses(found.x)[1]


def _interior_point(stacked: Stacked, C: Weights, origin: Weights) -> Weights:
    """The dual of the hinge loss, a quadratic program over a product of simplices; (w - origin, alpha) vary."""
    n, d, m = len(stacked.sizes), len(origin), len(stacked.owner)
    weight = C[stacked.owner]
    sums = sparse.csc_matrix((np.ones(m), (stacked.owner, range(m))), shape=(n, m))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-14
    found = clarabel.DefaultSolver(
        sparse.block_diag([sparse.eye(d), sparse.csc_matrix((m, m))], format="csc"),
        np.concatenate([np.zeros(d), -weight * (stacked.along @ origin + stacked.bonus)]),
        sparse.bmat(
            [[sparse.eye(d), (weight[:, None] * stacked.along).T], [None, sums], [None, -sparse.eye(m)]], format="csc"
        ),
        np.concatenate([np.zeros(d), np.ones(n), np.zeros(m)]),
        [clarabel.ZeroConeT(d + n), clarabel.NonnegativeConeT(m)],
        settings,
    ).solve()
    p = np.clip(np.array(found.x)[d:], 0, None)
    return _polished(p / np.bincount(stacked.owner, p)[stacked.owner], stacked, C, origin)


def _polished(p: Weights, stacked: Stacked, C: Weights, origin: Weights) -> Weights:
    """Exact steps between two outputs of an example, where the interior point ended short of the last digits."""
    w = origin - (C[stacked.owner] * p) @ stacked.along
    for _ in range(300):
        gap = total = 0.0
        for c, begin, size in zip(C, stacked.begin, stacked.sizes, strict=True):
            rows = slice(begin, begin + size)
            q, along = p[rows], stacked.along[rows]  # views
            v = along @ w + stacked.bonus[rows]
            gap, total = gap + c * (v.max() - q @ v), total + c * v.max()
            to, off = v.argmax(), np.where(q > 0, v, inf).argmin()
            way = along[to] - along[off]
            if v[to] > v[off]:
                share = min(q[off], (v[to] - v[off]) / max(c * way @ way, 1e-300))
                q[to] += share
                q[off] -= share
                w -= c * share * way
        if gap <= 1e-14 * max(1.0, total):
            break
    return p


# ---- exponentiated gradient (000, Fig. 3; 002, Fig. 1) ---------------------------------------------------------------


def uniform(examples: Sequence[Alternatives]) -> Alpha:
    return [np.full(len(x.cost), 1 / len(x.cost)) for x in examples]


def eg_path(examples: Sequence[Alternatives], loss: LossFamily, C: float, rate: float, steps: int) -> list[Alpha]:
    """alpha^1 (uniform) to alpha^(steps + 1) of batch EG with this rate on -D / C."""
    path = [uniform(examples)]
    for _ in range(steps):
        _, w = dual_of(path[-1], examples, loss, C)
        path.append([_eg_step(p, x, w, loss, rate) for p, x in zip(path[-1], examples, strict=True)])
    return path


def _eg_step(p: Weights, x: Alternatives, w: Weights, loss: LossFamily, rate: float) -> Weights:
    log_p = np.log(p)
    return np.asarray(np.exp(log_softmax(log_p + rate * (x.features @ w + loss.gamma * x.cost - log_p / loss.beta))))


def safe_rate(problem: Problem, loss: LossFamily, C: float) -> float:
    """The rate on -D / C at which every step gains (002, Lemma 2 and section 4.5), with |A|_inf <= C R^2."""
    bound = problem.size * C * max(problem.radius(i) for i in range(problem.size)) ** 2
    return 1 / (bound + 1 / loss.beta)


def divergence(p: Alpha, q: Alpha) -> float:
    """The sum of the KL divergences of all examples."""
    return float(sum((a[a > 0] * np.log(a[a > 0] / b[a > 0])).sum() for a, b in zip(p, q, strict=True)))


def bartlett_rate(examples: Sequence[Alternatives], loss: LossFamily, C: float) -> float:
    """B + lambda of 000, Theorem 2, with the bound on B that is printed there; for Q = -D at beta = inf."""
    stacked = Stacked(examples, loss)
    largest = C * C * (stacked.along**2).sum(axis=1).max()  # of the entries of A, by Cauchy and Schwarz
    eigenvalue = C * C * np.linalg.eigvalsh(stacked.along.T @ stacked.along)[-1]
    return float(2 * (len(examples) * largest + C * stacked.bonus.max()) + eigenvalue)


# ---- dual coordinate ascent as printed (001, Alg. 1 and 2) -----------------------------------------------------------


@dataclass
class Pass:
    """After a pass of Alg. 1: the averaged model, the last model, and the dual value of all updates so far."""

    average: Weights
    last: Weights
    dual: float


Update = Callable[[int, Listed, Weights, float], tuple[Weights, float]]  # -> the next model, the gain in D


def dca(
    examples: Sequence[Listed], update: Update, C: float, orders: Iterable[Sequence[int]], weight: Weights | None = None
) -> list[Pass]:
    """Alg. 1: the average is of theta_1 .. theta_T, the models before each update; C = 1 / (lambda m)."""
    theta = np.zeros(examples[0].features.shape[1])
    total, T, dual, found = np.zeros_like(theta), 0, 0.0, []
    for order in orders:
        for i in order:
            total, T = total + theta, T + 1
            theta, gain = update(i, examples[i], theta, C if weight is None else C * weight[i])
            dual += gain
        found.append(Pass(total / T, theta, dual))
    return found


def closed_form(problem: Problem, loss: LossFamily, prediction: bool = False, left: Weights | None = None) -> Update:
    """Alg. 2 (Eq. 15); with `prediction` z_t is the best output under the model alone (footnote 11).

    If `left` is given, it bounds the next step on each example in place of C, and the step is subtracted from it.

    The dual variable of the update is the mixture of the gold output and z_t with the share eta / C of the latter,
    whose entropy is at least that share of the entropy of z_t; D has that bound.
    """

    def update(i: int, x: Listed, theta: Weights, C: float) -> tuple[Weights, float]:
        if loss.beta == inf:
            chosen = np.zeros(len(x.cost))
            chosen[top(problem, i, x, theta, 0.0 if prediction else loss.gamma, 1)] = 1
        else:
            chosen = own_distribution(x, theta, loss)
        slope = chosen @ x.features - x.features[x.gold]
        bonus = loss.gamma * float(chosen @ x.cost) + entropy(chosen) / loss.beta
        most = C if left is None else left[i]
        square = float(slope @ slope)
        eta = min(most, (slope @ theta + bonus) / square) if square > 0 else most * (bonus > 0)
        if left is not None:
            left[i] -= eta
        after = theta - eta * slope
        return after, float(eta * bonus - 0.5 * after @ after + 0.5 * theta @ theta)

    return update


def exactly(loss: LossFamily) -> Update:
    """Eq. 11 by a general-purpose solver."""

    def update(i: int, x: Listed, theta: Weights, C: float) -> tuple[Weights, float]:
        found = best([x], loss, C, theta)
        return found.w, found.dual

    return update


def k_best(problem: Problem, loss: LossFamily, k: int) -> Update:
    """Eq. 17 with the half-spaces of the k best outputs and xi >= 0, which is that of the gold output."""

    def update(i: int, x: Listed, theta: Weights, C: float) -> tuple[Weights, float]:
        kept = sorted({*top(problem, i, x, theta, loss.gamma, k), x.gold})
        found = best([Alternatives(x.features[kept], x.cost[kept], kept.index(x.gold))], loss, C, theta)
        return found.w, found.dual

    return update


def top(problem: Problem, i: int, x: Listed, w: Weights, gamma: float, k: int) -> list[int]:
    """The k outputs of the highest score + gamma cost; where there are ties, those that the problem names."""
    theta = problem.score(i, w) + gamma * problem.cost(i)[0]
    ys = [problem.argmax(i, theta)[1]] if k == 1 else [y for _, y in problem.kbest(i, theta, k)]
    chosen = [x.ys.index(tuple(sorted(int(part) for part in y))) for y in ys]
    values = x.features @ w + gamma * x.cost
    np.testing.assert_allclose(values[chosen], np.sort(values)[::-1][:k], rtol=0, atol=1e-9)
    return chosen


# ---- online exponentiated gradient, one step -------------------------------------------------------------------------


def first_eg_step(
    problem: Matching, start: float, loss: LossFamily, C: float, *, at_gold: bool
) -> Callable[[float], tuple[float, Weights]]:
    """D and w after one step of online EG on the only example, by the share rho of the way to the fixed point.

    alpha starts as the Gibbs distribution with `start` on the gold parts and zero elsewhere, or at the gold output,
    where w = 0; finite beta.
    """
    examples = listed(problem)
    x = examples[0]
    gold = set(x.ys[x.gold])
    t = np.array([start * len(gold.intersection(y)) for y in x.ys])
    _, w = dual_of([softmax(t)], examples, loss, C)
    aim = loss.beta * (x.features @ (0 * w if at_gold else w) + loss.gamma * x.cost)
    return lambda rho: dual_of([softmax((1 - rho) * t + rho * aim)], examples, loss, C)
