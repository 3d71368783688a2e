"""Exponentiated gradient for quadratic programs over products of simplices (Bartlett et al. 2004).

The variables are stored as logarithms, so a variable that is too small for a floating-point number can grow again.
"""
# The algorithm is that of 000, section 4, with the rates of 000, Theorem 2, and 002, section 4.5.

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave.checks import real, whole
from margrave.errors import MargraveError, quoted, unknown

Vector = NDArray[np.float64]
Matrix = Any  # a dense array or a scipy.sparse.csr_array


@dataclass(frozen=True, eq=False)
class QPSolution:
    """The result of `eg_qp`, with its history and a bound on its distance from the optimum.

    Parameters
    ----------
    alpha : the point found.
    objective : Q before the first step and after every step.
    rate : the rate; if adaptive, that of the last step, or infinite if there was none.
    gap : sum_i (<grad_i, alpha_i> - min grad_i), an upper bound on Q(alpha) - min Q.
    converged : whether the gap reached the tolerance.
    """

    alpha: Vector
    objective: Vector
    rate: float
    gap: float
    converged: bool
    _log_start: Vector = field(repr=False)
    _sizes: NDArray[np.int64] = field(repr=False)
    _weights: tuple[float, float] | None = field(repr=False)  # factors on D(u, alpha^1), Q(alpha^1) - Q(alpha^T+1)

    def bound(self, u: ArrayLike) -> Vector:
        """Compute the theoretical upper bounds on Q(alpha^T+1) - Q(u) after T = 1, 2, ... steps.

        For the safe rate the bound is (2.5 (B + lambda) D(u, alpha^1) + 1.5 (Q(alpha^1) - Q(alpha^T+1))) / T
        (Bartlett et al. 2004); for a rate of at most 1 / (n |A|_inf) it is D(u, alpha^1) / (rate T) (Globerson et al.
        2007).

        Parameters
        ----------
        u : a point to compare with, such as the optimum; every block must be a probability distribution.
        """
        from scipy.special import xlogy

        if self._weights is None:
            raise MargraveError("no bound is known for this rate: use rate='safe' or rate='norm'.")
        u = _distributions("u", u, _Blocks(self._sizes))
        divergence = xlogy(u, u).sum() - u @ self._log_start
        of_divergence, of_descent = self._weights
        descent = self.objective[0] - self.objective[1:]
        bound: Vector = (of_divergence * divergence + of_descent * descent) / np.arange(1, len(self.objective))
        return bound


def eg_qp(
    A: Any,
    b: ArrayLike,
    sizes: Sequence[int] | NDArray[np.integer],
    *,
    rate: str | float = "adaptive",
    start: ArrayLike | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> QPSolution:
    """Minimize Q(alpha) = b'alpha + 1/2 alpha'A alpha, where every block of alpha is a probability distribution.

    Parameters
    ----------
    A : a symmetric, positive semi-definite matrix, dense or a scipy sparse array, which is never made dense. A negative
        eigenvalue is an error as soon as two variables or a step reveal it.
    b : the linear coefficients.
    sizes : the lengths of the blocks.
    rate : "adaptive", which grows from step to step and is halved until Q does not rise; "safe", 0.4 / (B + lambda)
        (Bartlett et al. 2004), or "norm", 1 / (n |A|_inf) (Globerson et al. 2007), which have proven bounds and need
        many more steps; or a number.
    start : the starting point, which must be positive; None for uniform distributions.
    max_iter : the maximum number of steps.
    tol : the search ends when the gap is at most tol max(1, |Q|).

    >>> solution = eg_qp([[2.0, 0.0], [0.0, 1.0]], [0.0, 0.0], sizes=[2])
    >>> solution.alpha.round(3).tolist(), solution.converged
    ([0.333, 0.667], True)
    """
    max_iter = whole("max_iter", max_iter, 0, 2**31 - 1)
    tol = real("tol", tol, "be finite and not negative", lambda tol: 0 <= tol < inf)
    b = _numbers("b", b)
    if not b.size:
        raise MargraveError("b must not be empty.")
    blocks = _Blocks(_lengths(sizes, len(b)))
    qp = _QP(_matrix(A, len(b)), b, blocks)
    eta, weights = _rate(qp, rate)

    point = qp.at(-np.log(blocks.sizes[blocks.owner]) if start is None else np.log(_interior(start, blocks)))
    log_start, objective = point.log_alpha, [point.value]
    while not (converged := point.gap <= tol * max(1.0, abs(point.value))) and len(objective) <= max_iter:
        if rate == "adaptive":
            point, eta = qp.descend(point, eta)
        else:
            point = qp.step(point, eta)
        objective.append(point.value)
    return QPSolution(point.alpha, np.array(objective), eta, point.gap, converged, log_start, blocks.sizes, weights)


_RATES = ("safe", "norm", "adaptive")
_LARGEST = 1e200  # The largest number allowed in a program, so that no sum overflows.
_FURTHEST = 1e100  # The largest change of the logarithm of a variable in one step, for the same reason.
_ROUNDING = 1e-9  # Errors below this fraction of the largest number in A are attributed to rounding.
_GROWTH = 1.1  # The growth of an adaptive rate; with this value about one step in eight is tried twice.
_BOLDEST = 20.0  # The largest change of a logarithm in an adaptive step, relative to the best of its block.
_CHEAP = 10**7  # The exact B is computed if it requires at most this many numbers, a fraction of a second.


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The positions of the distributions in alpha."""

    sizes: NDArray[np.int64]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The block of each variable."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def above_least(self, grad: Vector) -> Vector:
        """The difference between each number and the smallest number of its block."""
        return grad - np.minimum.reduceat(grad, self.starts)[self.owner]

    def normalized(self, theta: Vector) -> tuple[Vector, Vector]:
        """The logarithms of the distributions with these natural parameters, and the distributions themselves."""
        theta = theta - np.maximum.reduceat(theta, self.starts)[self.owner]
        weight = np.exp(theta)
        total = np.add.reduceat(weight, self.starts)
        return theta - np.log(total)[self.owner], weight / total[self.owner]

    def most(self, rows: Matrix) -> Vector:
        """The largest inner product of each row with any alpha: the sum of its largest numbers, one per block."""
        if isinstance(rows, np.ndarray):
            return np.asarray(np.maximum.reduceat(rows, self.starts, axis=1).sum(axis=1))
        if rows.nnz == 0:
            return np.zeros(rows.shape[0])
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        run = row * len(self.sizes) + self.owner[rows.indices]  # ascending; equal for entries in the same row and block
        first = np.flatnonzero(np.diff(run, prepend=-1))
        stored = np.diff(first, append=rows.nnz)
        largest = np.maximum.reduceat(rows.data, first)
        has_zero = stored < self.sizes[run[first] % len(self.sizes)]
        largest[has_zero] = np.maximum(largest[has_zero], 0)
        sums: Vector = np.bincount(row[first], weights=largest, minlength=rows.shape[0]).astype(np.float64)
        return sums


@dataclass(frozen=True, eq=False)
class _Point:
    log_alpha: Vector
    alpha: Vector
    image: Vector  # A alpha
    slope: Vector  # the gradient of Q minus the smallest number of each block, which cancels in EG updates
    value: float  # Q(alpha)

    @property
    def gap(self) -> float:
        return float(self.alpha @ self.slope)


@dataclass(frozen=True, eq=False)
class _QP:
    A: Matrix
    b: Vector
    blocks: _Blocks

    @cached_property
    def norm(self) -> float:
        """n |A|_inf."""
        return len(self.blocks.sizes) * _largest(self.A)

    def at(self, theta: Vector) -> _Point:
        log_alpha, alpha = self.blocks.normalized(theta)
        image = self.A @ alpha
        value = float(self.b @ alpha + 0.5 * (alpha @ image))
        return _Point(log_alpha, alpha, image, self.blocks.above_least(self.b + image), value)

    def step(self, point: _Point, eta: float) -> _Point:
        """One update of all variables."""  # 000, Fig. 3
        new = self.at(point.log_alpha - np.minimum(point.slope, _FURTHEST / eta) * eta)
        move = new.alpha - point.alpha
        if move @ (new.image - point.image) < -_ROUNDING * self.norm * np.abs(move).sum():
            raise _indefinite()
        return new

    def descend(self, point: _Point, eta: float) -> tuple[_Point, float]:
        """The update at the largest rate found, up to `_GROWTH` times the last, at which Q does not rise."""
        eta = min(_GROWTH * eta, _BOLDEST / float(point.slope.max()), float_info.max)
        while True:
            new = self.step(point, eta)
            # Twice the change of Q, which is more exact in this form than as the difference of two values.
            change = (new.slope + point.slope) @ (new.alpha - point.alpha)
            if change <= 0 or eta * self.norm <= 1:  # Q cannot rise at this rate (002, 4.5).
                return new, eta
            eta /= 2


def _rate(qp: _QP, rate: str | float) -> tuple[float, tuple[float, float] | None]:
    """The (first) rate, and the weights of its bound."""
    if isinstance(rate, str) and rate not in _RATES:
        raise unknown("rate", rate, _RATES)
    if rate == "safe":
        scale = max(_range(qp) + _eigenvalue(qp.A), float_info.min)
        return 0.4 / scale, (2.5 * scale, 1.5)
    if rate == "adaptive":
        return inf, None
    largest = 1 / max(qp.norm, float_info.min)
    if rate == "norm":
        return largest, (qp.norm, 0.0)
    eta = real("rate", rate, "be positive and finite", lambda eta: 0 < eta < inf)
    return eta, (1 / eta, 0.0) if eta <= largest else None


def _range(qp: _QP) -> float:
    """B of Theorem 2: the largest possible difference between the gradients of two variables.

    The theorem takes the maximum over all pairs of variables, but its proof (Lemmas 2 and 3) uses only pairs from one
    block, as we do. Adding a constant to b within a block therefore changes neither the steps nor their rate.
    """
    A, b, blocks = qp.A, qp.b, qp.blocks
    if int((blocks.sizes**2).sum()) * len(b) <= _CHEAP:
        widest = 0.0
        for start, size in zip(blocks.starts, blocks.sizes, strict=True):
            i, j = (start + k.ravel() for k in np.indices((size, size)))
            widest = max(widest, float((b[i] - b[j] + blocks.most(A[i] - A[j])).max()))
        return widest
    # Bounding each gradient separately gives a larger B, which is still at most 2 (n |A|_inf + |b|_inf).
    high = np.maximum.reduceat(b + blocks.most(A), blocks.starts)
    low = np.minimum.reduceat(b - blocks.most(-A), blocks.starts)
    return float((high - low)[blocks.sizes > 1].max(initial=0.0))


def _eigenvalue(A: Matrix) -> float:
    """The largest eigenvalue of A, or a slightly larger number."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    most = float(min(abs(A).sum(axis=1).max(), A.diagonal().sum()))
    if A.shape[0] == 1 or most <= 0:
        return max(most, 0.0)
    first = np.random.default_rng(0).standard_normal(A.shape[0])  # not orthogonal to any eigenvector
    scaled = LinearOperator(A.shape, matvec=lambda v: (A @ v) / most, dtype=np.float64)
    try:
        found = eigsh(scaled, k=1, which="LA", v0=first, tol=1e-4, return_eigenvectors=False)
    except ArpackError:
        return most
    return 1.001 * min(most, float(found[0]) * most)  # The estimate is too small by at most tol.


def _numbers(name: str, values: Any) -> Vector:
    """The values as a vector; an error if they are not one."""
    vector = _real(name, values)
    if vector.ndim != 1:
        raise MargraveError(f"{name} must be a list of numbers, and it has {vector.ndim} dimensions.")
    _check_size(name, vector)
    return vector


def _real(name: str, values: Any) -> Vector:
    """The values as an array; an error if they are not real numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise MargraveError(f"{name} must have the same number of values in every row.") from None
    if array.dtype.kind not in "biuf":
        raise MargraveError(f"{name} must hold real numbers.")
    return array.astype(np.float64, copy=False)


def _check_size(name: str, values: Vector) -> None:
    wrong = values[~(np.abs(values) <= _LARGEST)]
    if wrong.size:
        raise MargraveError(f"{name} must contain finite numbers up to {_LARGEST:g}, and it contains {wrong[0]:g}.")


def _lengths(sizes: Any, m: int) -> NDArray[np.int64]:
    if not isinstance(sizes, Iterable):
        raise MargraveError(f"sizes must be a list of whole numbers, and it is {quoted(sizes)}.")
    lengths = [whole("a size", size, 1, 2**31 - 1) for size in sizes]
    if sum(lengths) != m:
        raise MargraveError(f"the sizes must sum to the length of b, which is {m}, and they sum to {sum(lengths)}.")
    return np.array(lengths, dtype=np.int64)


def _matrix(A: Any, m: int) -> Matrix:
    """A as a dense or CSR array; an error if it is not a matrix that the algorithm accepts."""
    from scipy.sparse import csr_array, issparse

    sparse = issparse(A)
    if sparse and A.dtype.kind not in "biuf":
        raise MargraveError("A must hold real numbers.")
    A = A if sparse else _real("A", A)
    if A.shape != (m, m):
        raise MargraveError(f"A must be a matrix of shape {(m, m)}, as b has {m} numbers, and its shape is {A.shape}.")
    if sparse:
        A = csr_array(A, dtype=np.float64, copy=True)
        A.sum_duplicates()
    _check_size("A", A.data if sparse else A)
    noise = _ROUNDING * _largest(A)
    if _largest(A - A.T) > noise:
        raise MargraveError("A must be symmetric.")
    diagonal = A.diagonal() + noise
    if (diagonal < 0).any():
        raise _indefinite()
    root = np.sqrt(diagonal)
    if sparse:
        entries = A.tocoo()
        beyond = np.abs(entries.data) > root[entries.row] * root[entries.col]
    else:
        beyond = np.abs(A) > root[:, None] * root
    if beyond.any():  # A submatrix of two variables has a negative eigenvalue.
        raise _indefinite()
    return A


def _largest(A: Matrix) -> float:
    """|A|_inf: the largest magnitude of any number in A."""
    return float(max(A.max(), -A.min()))


def _indefinite() -> MargraveError:
    return MargraveError("A must be positive semi-definite, and it has a negative eigenvalue.")


def _distributions(name: str, values: ArrayLike, blocks: _Blocks) -> Vector:
    """The values, if each block of them is a probability distribution."""
    vector = _numbers(name, values)
    if len(vector) != len(blocks.owner):
        raise MargraveError(f"{name} must have {len(blocks.owner)} numbers, and it has {len(vector)}.")
    if (vector < 0).any():
        raise MargraveError(f"{name} must not be negative anywhere, and it contains {vector.min():g}.")
    totals = np.add.reduceat(vector, blocks.starts)
    wrong = np.flatnonzero(np.abs(totals - 1) > 1e-6)
    if wrong.size:
        raise MargraveError(f"{name} must sum to 1 in every block, and block {wrong[0]} sums to {totals[wrong[0]]:g}.")
    return vector


def _interior(start: ArrayLike, blocks: _Blocks) -> Vector:
    """The starting point, if no number of it is zero."""
    alpha = _distributions("start", start, blocks)
    if not alpha.all():
        raise MargraveError("start must be positive everywhere: a variable that is zero would stay zero.")
    return alpha
