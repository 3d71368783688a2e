"""MNIST: scikit-learn's logistic regression and ours, to the same certified gap."""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.images import mnist
from benchmarks.machine import in_new_process
from benchmarks.rivals import sklearn_logistic
from benchmarks.rivals.sklearn_logistic import FORMS, REPEATS, objective
from benchmarks.tables import markdown
from margrave import LinearClassifier

Result = dict[str, Any]

CORPORA = ("mnist",)
RESULT = "mnist"
C = 0.01
GOAL = 1e-4  # the relative gap to reach
THREADS = (1, 2)


def measure() -> Result:
    """Fewer and more images, as an array and as sparse rows; each in a process of its own."""
    data: Result = {}
    for n in (10_000, 60_000):
        ours = in_new_process(margrave_on, n)
        rival = in_new_process(sklearn_logistic.measure, n, C, GOAL)
        best, ratios = compare(ours, rival)
        data[str(n)] = {"margrave": ours, "scikit-learn": rival, "best": best, "ratios": ratios}
    return {"data": data}


def compare(ours: Result, rival: Result) -> tuple[Result, Result]:
    """The rival's fastest solver for each form and number of threads, and how many times our seconds it takes."""
    # NumPy's and SciPy's thread pools fight each other: the rival may use fewer threads.
    best = {
        form: {
            f"{threads}_threads": min(
                ({"solver": t["solver"], "seconds": t["seconds"]} for t in timings if t["threads"] <= threads),
                key=lambda t: float(t["seconds"]),
            )
            for threads in THREADS
        }
        for form, timings in rival["timings"].items()
    }
    ratios = {
        form: {
            f"{t['threads']}_threads": best[form][f"{t['threads']}_threads"]["seconds"] / t["seconds"] for t in timings
        }
        for form, timings in ours["timings"].items()
    }
    return best, ratios


def margrave_on(n: int) -> Result:
    """Ours on the first n images, with one thread and with two; on few images also the optimum."""
    timings = {form: [timing(n, form, threads) for threads in THREADS] for form in FORMS}
    result: Result = {"n": n, "C": C, "goal": GOAL, "timings": timings}
    if n <= 10_000:
        result["optimum"] = optimum(n, C)
    return result


def timing(n: int, form: str, threads: int) -> dict[str, Any]:
    """Seconds of a whole fit to the goal, the fastest of a few; P and gap are evaluated by the rival's own code."""
    images, labels, _, _ = mnist()
    X = FORMS[form](images[:n].astype(np.float64) / 255)
    y = labels[:n].astype(np.int64)
    LinearClassifier(C=C, tol=1e-1, n_jobs=threads).fit(X[:1000], y[:1000])  # lazy imports
    seconds = []
    for _ in range(REPEATS):
        started = perf_counter()
        model = LinearClassifier(C=C, tol=GOAL, n_jobs=threads).fit(X, y)
        seconds.append(perf_counter() - started)
    primal, gap = objective(X, y, np.ascontiguousarray(model.coef_), C)
    last = model.history_[-1]
    return {
        "threads": threads,
        "learner": model.learner_.name,
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
    ours = LinearClassifier(C=C, tol=1e-12).fit(X, y)
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
        for form, timings in part["margrave"]["timings"].items():
            for at in timings:
                threads = f"{at['threads']}_threads"
                best, ratio = part["best"][form][threads], part["ratios"][form][threads]
                numbers = (at["seconds"], best["seconds"], ratio)
                rows.append([n, form, str(at["threads"]), *(f"{number:.2f}" for number in numbers), best["solver"]])
    title = "MNIST, seconds to a relative gap of 1e-4"
    return f"{title}\n\n{markdown(['images', 'form', 'threads', 'margrave', 'scikit-learn', 'ratio', 'solver'], rows)}"


def plot(result: Result) -> None:
    """There is none."""
