"""001, Fig. 3: F1 on development data after each pass of DCA (mira), SGD and L-BFGS, log loss, and F1 on test data."""

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.entities import Entities, p_value, test_f1
from benchmarks.curves import Point, View, follow, thinned
from benchmarks.plots import DOTS, draw, finished, panels
from benchmarks.stages import Stages
from benchmarks.summaries import chosen, summary
from benchmarks.tables import along, along_cells, markdown, number, with_interval
from margrave.learners import LBFGS, MIRA, SGD, Learner, Objective, Observer, Record, Weights
from margrave.learners.run import Solution
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("conll2003-en",)
RESULT = "fig3_001"
MARKS = (1, 2, 5, 10, 20, 50, 100, 200)  # passes in the table
CS = (0.001, 0.01, 0.1, 1.0, 10.0)
PASSES = 50  # of the online learners
TOL = 1e-4  # the relative gap at which L-BFGS has converged
SEEDS = 5  # of the online learners at their chosen C
RATES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)  # the rates of SGD in the paper
LEARNERS = (MIRA(), SGD(rates=RATES), LBFGS())
PAPER = {"weights": 1_312_255, "lbfgs": {"iterations": 121, "dev": 0.9053, "test": 0.8531}}


class Trained(NamedTuple):
    """A run: its curve, what else is known about it, and the counts of its last weights on the test sentences."""

    dev: list[float]
    run: Result
    counts: NDArray[np.int64]


class Last(Observer):
    """Keeps the weights after the last pass, and the state of the learner."""

    w: Weights
    state: Any

    def note(self, record: Record, w: Weights) -> None:
        self.w = w  # No copy: after the last pass nothing changes them.

    def end(self, solution: Solution | None) -> None:
        self.state = None if solution is None else solution.state


def measure() -> Result:
    """001, Fig. 3: F1 on development data after each pass, for all C; F1 on test data at the C that is best there.

    SGD chooses its rate by the F1 on development data after one pass with each, as in the paper. As there, the curve
    begins with the pass of the chosen rate and does not count the others.
    """
    entities, stages = Entities(), Stages(RESULT)
    learners, counts = {}, {}
    for learner in LEARNERS:
        learners[learner.name], counts[learner.name] = stages.measure(
            learner.name, partial(measure_learner, entities, learner)
        )
    # L-BFGS has no seed: its model stands beside that of each seed.
    others = {"sgd": counts["sgd"], "lbfgs": SEEDS * counts["lbfgs"]}
    p = {name: p_value(counts["mira"], of) for name, of in others.items()}
    sizes = {"passes": PASSES, "tol": TOL, "paper": PAPER, **entities.sizes}
    return {**sizes, "learners": learners, "p_of_mira_against": p}


def measure_learner(entities: Entities, learner: Learner) -> tuple[Result, list[NDArray[np.int64]]]:
    """The runs of one learner at every C, and those with further seeds at the C that ends best on development data."""
    by_C = {C: train(entities, learner, C, seed=0) for C in CS}
    best = chosen(CS, lambda C: by_C[C].dev[-1])
    seeds = range(1, 1 if isinstance(learner, LBFGS) else SEEDS)
    ends = [by_C[best], *(train(entities, learner, best, seed) for seed in seeds)]
    result = {
        "C": best,
        "dev": mean([end.dev[-1] for end in ends]),
        "test": mean([test_f1(end.counts) for end in ends]),
        "runs": {f"{C:g}": of.run for C, of in by_C.items()},
    }
    return result, [end.counts for end in ends]


def train(entities: Entities, learner: Learner, C: float, seed: int) -> Trained:
    """One run on one thread: a fixed number of passes, or to convergence."""
    online = not isinstance(learner, LBFGS)
    objective = Objective(entities.problem, Log(), C=C, n_jobs=1, random_state=seed, dev_score=entities.dev_f1)
    objective.max_iter = PASSES if online else None
    last = Last()
    objective.observers = (last,)
    points = follow(learner, objective, [0.0 if online else TOL], inf, {"F1": entities.dev_f1})["curve"]
    dev = [point["F1"] for point in points]
    run: Result = {"passes": len(points), "relative_gap": points[-1]["relative_gap"], "F1_after": along(dev, MARKS)}
    if isinstance(learner, SGD):
        run["rate"] = last.state.rate
    run["curve"] = thinned(numbered(points), View("pass", "F1", log_y=False))
    return Trained(dev, run, entities.test_counts(last.w))


def mean(values: list[float]) -> Result:
    """The summary of several values, or the only value."""
    return summary(values) if len(values) > 1 else {"mean": values[0], "values": values}


def numbered(points: Sequence[Point]) -> list[Point]:
    """The points with their number, which counts visits to all examples and not the trials made on them."""
    return [point | {"pass": n} for n, point in enumerate(points, 1)]


def table(result: Result) -> str:
    """F1 on development data along the way, and the end at the chosen C."""
    rows = []
    for name, of in result["learners"].items():
        for C, run in of["runs"].items():
            end = [str(run["passes"]), number(run.get("rate"), "g")]
            rows.append([f"{name}, C = {C}", *along_cells(run["F1_after"], MARKS, 100), *end])
    ends = [
        [name, f"{of['C']:g}", *(cell(of[part]) for part in ("dev", "test"))] for name, of in result["learners"].items()
    ]
    p = ", ".join(f"{name}: {value:.3f}" for name, value in result["p_of_mira_against"].items())
    along_the_way = markdown(["learner", *map(str, MARKS), "highest", "passes", "rate"], rows)
    chosen_C = markdown(["learner", "C", "dev F1, %", "test F1, %"], ends)
    return f"F1 on development data after so many passes, %\n\n{along_the_way}\n\n{chosen_C}\n\np of mira against {p}"


def cell(of: Result) -> str:
    """A mean in per cent, with its interval if there is one."""
    return with_interval(of, ".2f", 100) if "interval" in of else f"{100 * of['mean']:.2f}"


def plot(result: Result) -> Any:
    """001, Fig. 3: F1 on development data after each pass; one panel per learner and one color per C."""
    figure, axes = panels(3)
    best = max(run["F1_after"]["highest"] for of in result["learners"].values() for run in of["runs"].values())
    for panel, (name, of) in zip(axes, result["learners"].items(), strict=True):
        panel.set(xscale="log", xlabel="passes", ylabel="F1 on development data", title=f"{name}, CoNLL-2003")
        panel.set_ylim(best - 0.15, best + 0.01)
        for C, run in of["runs"].items():
            draw(panel, f"C = {C}", run["curve"], "pass", "F1", **DOTS)
    return finished(figure)
