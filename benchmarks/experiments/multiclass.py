"""MNIST: scikit-learn's logistic regression and ours, to the same certified gap."""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.images import mnist
from benchmarks.machine import in_new_process
from benchmarks.rivals import sklearn_logistic
from benchmarks.rivals.sklearn_logistic import REPEATS, objective
from benchmarks.tables import markdown
from margrave import StructuredClassifier

Result = dict[str, Any]

CORPORA = ("mnist",)
RESULT = "mnist"
C = 0.01
GOAL = 1e-4  # the relative gap to reach


def measure() -> Result:
    """MNIST: scikit-learn's logistic regression and ours, to the same certified gap."""
    data: Result = {}
    for n in (10_000, 60_000):
        ours = in_new_process(margrave_on, n)
        rival = in_new_process(sklearn_logistic.measure, n, C, GOAL)
        # NumPy's and SciPy's thread pools fight each other: the rival is taken at its best.
        mine = {f"{t['threads']}_threads": t["seconds"] for t in ours["timings"]}
        best = {
            f"{threads}_threads": min(t["seconds"] for t in rival["timings"] if t["threads"] <= threads)
            for threads in (1, 2)
        }
        ratios = {threads: best[threads] / mine[threads] for threads in mine}
        data[str(n)] = {"margrave": ours, "scikit-learn": rival, "best": best, "ratios": ratios}
    return {"data": data}


def margrave_on(n: int) -> Result:
    """Ours on the first n images, with one thread and with two; on few images also the optimum."""
    result: Result = {"n": n, "C": C, "goal": GOAL, "timings": [timing(n, C, GOAL, threads) for threads in (1, 2)]}
    if n <= 10_000:
        result["optimum"] = optimum(n, C)
    return result


def timing(n: int, C: float, goal: float, threads: int) -> dict[str, Any]:
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


def table(result: Result) -> str:
    """Margrave beside scikit-learn at its best."""
    rows = []
    for n, part in result["data"].items():
        for at in part["margrave"]["timings"]:
            threads = f"{at['threads']}_threads"
            numbers = (at["seconds"], part["best"][threads], part["ratios"][threads])
            rows.append([n, str(at["threads"]), *(f"{number:.2f}" for number in numbers)])
    title = "MNIST, seconds to a relative gap of 1e-4"
    return f"{title}\n\n{markdown(['images', 'threads', 'margrave', 'scikit-learn', 'ratio'], rows)}"


def plot(result: Result) -> None:
    """There is none."""
