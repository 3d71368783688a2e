"""MNIST by Margrave: python -m benchmarks.multiclass 10000 --json OUT; the same data, P and goal as scikit-learn's."""

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.data import mnist
from benchmarks.machine import deliver, describe
from benchmarks.rivals.sklearn_logistic import REPEATS, objective
from margrave import StructuredClassifier


def measure(n: int, C: float, goal: float, threads: int) -> dict[str, Any]:
    """Seconds of a whole fit to the goal, the fastest of a few; P and gap are evaluated by the rival's own code."""
    images, labels, _, _ = mnist()
    X = images[:n].astype(np.float64) / 255
    y = labels[:n].astype(np.int64)
    StructuredClassifier(C=C, tol=1e-1, n_threads=threads).fit(X[:1000], y[:1000])  # lazy imports
    seconds = []
    for _ in range(REPEATS):
        started = perf_counter()
        model = StructuredClassifier(C=C, tol=goal, n_threads=threads).fit(X, y)
        seconds.append(perf_counter() - started)
    primal, gap = objective(X, y, np.ascontiguousarray(model.coef_), C)
    last = model.history_[-1]
    return {
        "threads": threads,
        "seconds": min(seconds),
        "seconds_repeats": seconds,
        "seconds_learning": last.seconds,
        "passes": last.passes,
        "primal": primal,
        "relative_gap": gap / primal,
        "relative_gap_reported": last.relative_gap,
        "train_accuracy": float(model.score(X[:10000], y[:10000])),
    }


def optimum(n: int, C: float) -> dict[str, Any]:
    """P at a relative gap of 1e-12, and scikit-learn's at a tight tolerance."""
    from sklearn.linear_model import LogisticRegression

    images, labels, _, _ = mnist()
    X = images[:n].astype(np.float64) / 255
    y = labels[:n].astype(np.int64)
    ours = StructuredClassifier(C=C, tol=1e-12).fit(X, y)
    theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(X, y)
    ours_at, _ = objective(X, y, np.ascontiguousarray(ours.coef_), C)
    theirs_at, _ = objective(X, y, theirs.coef_, C)
    return {
        "margrave": ours_at,
        "scikit-learn": theirs_at,
        "relative_difference": abs(ours_at - theirs_at) / theirs_at,
        "largest_weight_difference": float(np.abs(ours.coef_ - theirs.coef_).max()),
    }


def main() -> None:
    """Measure, and write or print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multiclass", description=__doc__)
    parser.add_argument("n", type=int, help="training images: 10000 or 60000")
    parser.add_argument("--C", type=float, default=0.01)
    parser.add_argument("--goal", type=float, default=1e-4, help="relative gap to reach")
    parser.add_argument("--json", type=Path, help="where to write the figures (default: print them)")
    args = parser.parse_args()
    result = {
        "tool": "margrave",
        "machine": describe(),
        "n": args.n,
        "C": args.C,
        "goal": args.goal,
        "timings": [measure(args.n, args.C, args.goal, threads) for threads in (1, 2)],
    }
    if args.n <= 10_000:
        result["optimum"] = optimum(args.n, args.C)
    deliver(result, args.json)


if __name__ == "__main__":
    main()
