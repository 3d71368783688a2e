"""002, Fig. 3: P, D and accuracy of online EG, CG and L-BFGS on handwritten digits, beside scikit-learn's solvers."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.corpora.images import DIGITS, digits
from benchmarks.corpora.problems import digits_problem
from benchmarks.curves import Questions, View, follow, near, reached, thinned
from benchmarks.plots import DOTS, draw, finished, panels
from benchmarks.rivals.sklearn_logistic import blas_threads, curve, objective
from benchmarks.tables import goals_of, markdown, times_to_goals
from margrave.learners import CG, EG, LBFGS, Objective, Weights
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("mnist",)
RESULT = "mnist_eg"
SECONDS = 60.0  # after which a learner makes no further pass
MOST_PASSES_SHOWN = 80
DIGITS_CS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
DIGITS_C = 0.1  # which of them is best on dev
DIGITS_GOALS = (1e-3, 1e-5)


def measure() -> Result:
    """002, Fig. 3: P, D and the accuracy on dev, for online EG, CG and L-BFGS, and scikit-learn's solvers."""
    parts = {part: digits(part) for part in DIGITS}
    problem = digits_problem()

    def solve(C: float, tol: float) -> Weights:
        return LBFGS().solve(Objective(problem, Log(), C=C, tol=tol, n_jobs=1)).w

    def accuracy(w: Weights, part: str) -> float:
        X, y = parts[part]
        return float(np.mean((X @ w.reshape(-1, 10)).argmax(axis=1) == y))

    def primal(w: Weights) -> float:
        return objective(*parts["train"], w.reshape(-1, 10).T, C)[0]

    with blas_threads(1, "all"):
        by_C = {C: accuracy(solve(C, 1e-4), "dev") for C in DIGITS_CS}
        C = max(by_C, key=lambda C: by_C[C])
        best = solve(C, 1e-10)
        lowest = primal(best)
        questions: Questions = {"P": primal, "dev_accuracy": lambda w: accuracy(w, "dev")}
        runs = {
            learner.name: follow(learner, Objective(problem, Log(), C=C, n_jobs=1), [1e-6], SECONDS, questions)
            for learner in (EG(), CG(), LBFGS())
        }
        for solver in ("lbfgs", "saga", "newton-cholesky"):
            fits = curve(*parts["train"], C, solver, [lowest * (1 + goal) for goal in DIGITS_GOALS], SECONDS)
            runs[f"scikit-learn {solver}"] = {
                "curve": [
                    {"passes": fit.passes, "seconds": fit.seconds}
                    | {key: of(fit.coef.T.ravel()) for key, of in questions.items()}
                    for fit in fits
                ]
            }
    for name, run in runs.items():
        for point in run["curve"]:
            point["above"] = point["P"] / lowest - 1
        run["reached"] = reached(run["curve"], DIGITS_GOALS, near)
        early = [point for point in run["curve"] if point["passes"] <= MOST_PASSES_SHOWN]
        flat = partial(View, "passes", log_x=False, log_y=False)
        views = [flat("P", low=0.6 * lowest, high=1.8 * lowest), flat("dev_accuracy", low=0.8)]
        views += [flat("D", low=0.6 * lowest)] if name == "eg" else []
        run["curve"] = {
            "by_passes": thinned(early or run["curve"][:1], *views),
            "by_time": thinned(run["curve"], View("seconds", "above", low=1e-6, high=10.0)),
        }
    return {
        "seconds": SECONDS,
        "images": DIGITS,
        "dev_accuracy_by_C": {f"{C:g}": share for C, share in by_C.items()},
        "C": C,
        "optimum": lowest,
        "accuracy": {part: accuracy(best, part) for part in DIGITS},
        "learners": runs,
    }


def table(result: Result) -> str:
    """When each learner and solver came how near to the optimum."""
    learners = result["learners"]
    accuracy = ", ".join(f"{part} {100 * share:.2f} %" for part, share in result["accuracy"].items())
    title = f"C = {result['C']:g} by accuracy on dev; at the optimum P = {result['optimum']:.6g} ({accuracy})"
    goals = "effective passes (and seconds) until P is above the optimum, relatively, by no more than"
    return f"{title}\n{goals}\n\n{markdown(['learner', *goals_of(learners)], times_to_goals(learners))}"


def plot(result: Result) -> Any:
    """002, Fig. 3: objective and accuracy against effective passes; and P against time."""
    lowest = result["optimum"]
    figure, (objective, accuracy, time) = panels(3)
    objective.set(
        xlim=(0, MOST_PASSES_SHOWN), ylim=(0.6 * lowest, 1.8 * lowest), xlabel="effective passes", ylabel="objective"
    )
    accuracy.set(xlim=(0, MOST_PASSES_SHOWN), xlabel="effective passes", ylabel="accuracy on dev")
    time.set(xscale="log", yscale="log", ylim=(1e-6, 10), xlabel="seconds", ylabel="P above the optimum, relative")
    for name, run in result["learners"].items():
        points, by_time = run["curve"]["by_passes"], run["curve"]["by_time"]
        style = DOTS if "scikit" in name else {}
        draw(objective, f"{name}, P", points, "passes", "P", **style)
        if name == "eg":
            draw(objective, "eg, D", points, "passes", "D", color=objective.lines[-1].get_color(), linestyle="--")
        draw(accuracy, name, points, "passes", "dev_accuracy", **style)
        draw(time, name, by_time, "seconds", "above", **style)
    accuracy.set_ylim(bottom=0.8)
    objective.set_title("MNIST, 7,000 images, logistic regression")
    return finished(figure)
