"""scikit-learn's logistic regression on MNIST.

Its objective is P(w) = 1/2 |w|^2 + C sum_i L_i(w), the same as Margrave's. The gap at w is 1/2 |grad P(w)|^2, and is
relative to P.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._linear_loss import LinearModelLoss
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from benchmarks.corpora.images import mnist

Array = NDArray[Any]

# newton-cholesky is not among them: one of its steps takes longer than a whole fit of the others (mnist_eg.json).
SOLVERS = ("lbfgs", "newton-cg", "saga")
FORMS: dict[str, Callable[[Array], Any]] = {"dense": lambda X: X, "sparse": csr_array}  # of the images
FIRST_TOL = 1e-2
FINEST = 1.05  # ratio of tolerances below which bisection ends
MOST_ITERATIONS = 10_000
REPEATS = 3
LONG = 5.0  # seconds of a fit that is not repeated


def objective(X: Any, y: Array, w: Array, C: float) -> tuple[float, float]:
    """P and the gap at weights w (classes, pixels), in double precision; X may be sparse."""
    scores = X.astype(np.float64) @ w.astype(np.float64).T
    log_z = logsumexp(scores, axis=1)
    rows = np.arange(len(y))
    primal = 0.5 * np.sum(np.square(w, dtype=np.float64)) + C * np.sum(log_z - scores[rows, y])
    mu = np.exp(scores - log_z[:, None])
    mu[rows, y] -= 1
    gradient = w + C * (mu.T @ X)
    return float(primal), 0.5 * float(np.sum(gradient**2))


@dataclass
class Fit:
    """One fit to a tolerance, timed alone; P and the gap are evaluated outside the timing."""

    tol: float
    coef: Array
    iterations: int
    passes: int  # over all data: see passes()
    seconds: float
    primal: float
    gap: float

    def record(self) -> dict[str, float]:
        """Everything but the weights."""
        numbers = {name: value for name, value in vars(self).items() if name != "coef"}
        return numbers | {"relative_gap": self.gap / self.primal}


def fit(
    X: Any, y: Array, C: float, tol: float, solver: str = "lbfgs", most: int = MOST_ITERATIONS, w: Array | None = None
) -> Fit:
    """Fit, from weights w if given, until scikit-learn's measure of the slope is at most tol, or `most` iterations."""
    model = LogisticRegression(
        C=C, fit_intercept=False, solver=solver, tol=tol, max_iter=most, random_state=0, warm_start=w is not None
    )
    if w is not None:
        model.coef_, model.intercept_ = w, np.zeros(len(w))
    with warnings.catch_warnings(), passes() as evaluations:
        warnings.simplefilter("ignore", ConvergenceWarning)  # most is meant
        started = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - started
    iterations = int(model.n_iter_[0])
    coef = model.coef_
    return Fit(tol, coef, iterations, len(evaluations) or iterations, seconds, *objective(X, y, coef, C))


@contextmanager
def passes() -> Iterator[list[None]]:
    """One entry for every evaluation of the gradient, of P and its gradient (each step of a line search), or of the
    Hessian, over all data; saga makes none, and its passes are its epochs."""
    evaluations: list[None] = []

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(*args: Any, **kwargs: Any) -> Any:
            evaluations.append(None)
            return method(*args, **kwargs)

        return evaluate

    with ExitStack() as patches:
        for name in ("loss_gradient", "gradient_hessian"):
            patches.enter_context(patch.object(LinearModelLoss, name, counted(getattr(LinearModelLoss, name))))
        yield evaluations


def curve(X: Array, y: Array, C: float, solver: str, goals: Sequence[float], longest: float) -> list[Fit]:
    """Fits with more and more iterations, until P is below every goal or a fit takes longer than `longest` seconds.

    scikit-learn does not show the weights on its way, so that every point is a fit of its own; around the goals the
    numbers of iterations lie side by side. Only Newton's next step depends on the weights alone: there each point goes
    on from the one before.
    """
    if solver == "newton-cholesky":
        return _continued(X, y, C, solver, min(goals), longest)
    fits: dict[int, Fit] = {}

    def primal(most: int) -> float:
        if most not in fits:
            fits[most] = fit(X, y, C, 0.0, solver, most)
        return fits[most].primal

    most = 1
    while primal(most) > min(goals) and fits[most].seconds < longest:
        most = max(most + 1, most * 3 // 2)
    for goal in goals:
        high = next((n for n in sorted(fits) if primal(n) <= goal), 0)
        low = max((n for n in fits if n < high), default=high)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if primal(middle) <= goal else (middle, high)
    return [fits[n] for n in sorted(fits)]


def _continued(X: Array, y: Array, C: float, solver: str, goal: float, longest: float) -> list[Fit]:
    fits = [fit(X, y, C, 0.0, solver, 1)]
    while fits[-1].primal > goal and fits[-1].seconds < longest:
        last = fits[-1]
        step = fit(X, y, C, 0.0, solver, 1, last.coef)
        step.iterations += last.iterations
        step.passes += last.passes
        step.seconds += last.seconds
        fits.append(step)
    return fits


def loosest(X: Any, y: Array, C: float, goal: float, solver: str = SOLVERS[0], longest: float = inf) -> list[Fit]:
    """Fits made in looking for the loosest tolerance that reaches the goal; the last is the one.

    A bound on the iterations would not do: the gap goes up and down along L-BFGS, the tolerance finds its first low.
    The search ends as soon as a fit that misses the goal takes `longest` seconds: none that reaches it is faster.
    """
    fits = [fit(X, y, C, FIRST_TOL, solver)]
    while fits[-1].gap > goal * fits[-1].primal:
        if fits[-1].seconds > longest:
            return fits
        fits.append(fit(X, y, C, fits[-1].tol / 10, solver))
    best = fits[-1]
    below, above = best.tol, best.tol * 10  # the goal is reached at below, and not at above
    fewest = max((f.iterations for f in fits[:-1]), default=0)
    while best.iterations - fewest > 1 and above / below > FINEST:
        tried = fit(X, y, C, (below * above) ** 0.5, solver)
        fits.append(tried)
        if tried.gap <= goal * tried.primal:
            best, below = tried, tried.tol
        else:
            fewest, above = tried.iterations, tried.tol
            if tried.seconds > longest:
                break
    return [*(f for f in fits if f is not best), best]


@contextmanager
def blas_threads(threads: int, pools: str) -> Iterator[list[int]]:
    """So many BLAS threads in all pools, or in NumPy's alone; yields the numbers in force.

    NumPy and SciPy may each bring an OpenBLAS of their own. The products of a fit are NumPy's, and when both pools have
    threads, those that wait spin on the cores that the others need: a fit on two threads is then slower than on one.
    """
    with threadpool_limits(limits=threads, user_api="blas"):
        scipys = [lib["filepath"] for lib in threadpool_info() if "scipy.libs" in lib["filepath"]]
        idle = ThreadpoolController().select(filepath=scipys if pools == "numpy" else [])
        with idle.limit(limits=1):
            yield [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def measure(n: int, C: float, goal: float, threads: Sequence[int] = (1, 2)) -> dict[str, Any]:
    """Seconds of each solver to the goal on the first n images, for each form of these and number of BLAS threads.

    Tolerances are sought with one thread and on sparse rows, on which all solvers are faster.
    """
    images, labels, _, _ = mnist()
    X = images[:n].astype(np.float64) / 255
    y = labels[:n].astype(np.int64)
    forms = {name: form(X) for name, form in FORMS.items()}
    searches: dict[str, list[Fit]] = {}
    given_up: dict[str, dict[str, float]] = {}  # the last fit of each solver that misses the goal and takes longer
    with blas_threads(1, "all"):
        fit(X[:1000], y[:1000], C, FIRST_TOL)  # the first fit also pays for lazy imports
        for solver in SOLVERS:
            longest = min((found[-1].seconds for found in searches.values()), default=inf)
            found = loosest(forms["sparse"], y, C, goal, solver, longest)
            if found[-1].gap <= goal * found[-1].primal:
                searches[solver] = found
            else:
                given_up[solver] = found[-1].record()
    return {
        "n": n,
        "C": C,
        "goal": goal,
        "searches": {solver: [f.record() for f in found] for solver, found in searches.items()},
        "given_up": given_up,
        "timings": {
            form: [
                {"solver": solver} | timing(rows, y, C, found[-1].tol, solver, count)
                for solver, found in searches.items()
                for count in threads
            ]
            for form, rows in forms.items()
        },
    }


def timing(X: Any, y: Array, C: float, tol: float, solver: str, threads: int) -> dict[str, Any]:
    """Seconds of the fastest of a few fits with so many BLAS threads; a long one is not repeated."""
    pools = "all" if threads == 1 else "numpy"
    with blas_threads(threads, pools) as in_force:
        repeats = [fit(X, y, C, tol, solver)]
        while len(repeats) < REPEATS and repeats[0].seconds < LONG:
            repeats.append(fit(X, y, C, tol, solver))
    return {
        "threads": threads,
        "pools": pools,
        "pool_threads": in_force,
        "seconds": min(f.seconds for f in repeats),
        "seconds_repeats": [f.seconds for f in repeats],
        "relative_gap": max(f.gap / f.primal for f in repeats),
    }
