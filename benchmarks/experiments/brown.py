"""Training a CRF with 87 labels: online EG and L-BFGS beside CRFsuite's L-BFGS on 5,000 sentences of Brown.

The same sentences and attributes as in the experiment `labels`, with tags cut at -, + and *; one thread.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from benchmarks.corpora.problems import Tagging
from benchmarks.curves import Point, View, near, reached, thinned
from benchmarks.experiments.labels import CUTS, attributes, sample
from benchmarks.machine import in_new_process
from benchmarks.plots import nearness
from benchmarks.tables import markdown, number, when
from margrave.learners import EG, LBFGS, Learner, Objective
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("brown-pos",)
RESULT = "brown"
TAGS = "cut at -, + and *"
C = 0.5  # CRFsuite's c2 = 1
NEAR = (1e-3, 1e-5)  # of the optimum, relatively
# Each in a run of its own, since P is computed only where tol is expected.
TOLS = (1e-1, 1e-2, 5e-3, 3e-3, 1e-3, 1e-4, 1e-6)
CRFSUITE_ITERATIONS = 250


def measure() -> Result:
    """When each of them came how near to the optimum."""
    curves = {
        "eg": in_new_process(training, EG(), TOLS),
        "lbfgs": in_new_process(training, LBFGS(), TOLS[-2:-1]),
    }
    if find_spec("pycrfsuite"):
        curves["crfsuite"] = in_new_process(crfsuite_training)
    optimum = min(point["P"] for points in curves.values() for point in points)
    for points in curves.values():
        for point in points:
            point["above"] = point["P"] / optimum - 1
    runs = {
        name: {
            "reached": reached(points, NEAR, near),
            "curve": thinned(points, View("seconds", "above", low=1e-6)),
        }
        for name, points in curves.items()
    }
    if "crfsuite" in runs:
        theirs = runs["crfsuite"]["reached"]
        for name in ("eg", "lbfgs"):
            runs[name]["ratios"] = {
                goal: theirs[goal]["seconds"] / at["seconds"]
                for goal, at in runs[name]["reached"].items()
                if at and theirs[goal]
            }
    return {"labels": 87, "C": C, "optimum": optimum, "runs": runs}


def sentences() -> tuple[list[Any], list[list[str]]]:
    """Attributes and labels."""
    rows = sample()
    return [attributes(each) for each in rows], [[CUTS[TAGS](tag) for _, tag in each] for each in rows]


def training(learner: Learner, tols: Sequence[float]) -> list[Point]:
    """Passes, seconds and P wherever the learner computed P."""
    problem = Tagging(*sentences()).bind(True)
    histories = [learner.solve(Objective(problem, Log(), C=C, tol=tol, n_jobs=1)).history for tol in tols]
    return [
        {"passes": record.passes, "seconds": record.seconds, "P": record.primal}
        for history in histories
        for record in history
        if record.primal is not None
    ]


def crfsuite_training() -> list[Point]:
    """Evaluations, CRFsuite's own seconds, and P after each iteration."""
    from benchmarks.rivals.crfsuite import losses_of_training

    steps = losses_of_training(*sentences(), 1 / (2 * C), CRFSUITE_ITERATIONS)
    return [{"passes": n, "seconds": seconds, "P": C * loss} for n, seconds, loss in steps]


def table(result: Result) -> str:
    """Passes and seconds to each goal, and the ratio to CRFsuite."""
    rows = [
        [name, *(f"{when(run['reached'][goal])}{ratio(run, goal)}" for goal in map("{:g}".format, NEAR))]
        for name, run in result["runs"].items()
    ]
    title = (
        "passes (and seconds) until P is within this fraction of the optimum, and how many times faster than CRFsuite"
    )
    return f"{title}\n\n{markdown(['learner', *map('{:g}'.format, NEAR)], rows)}"


def ratio(run: Result, goal: str) -> str:
    """How many times faster than CRFsuite, as the end of a cell."""
    return f", {number(run['ratios'][goal], '.1f')} x" if goal in run.get("ratios", {}) else ""


def plot(result: Result) -> Any:
    """How fast each gets near the optimum."""
    curves = {name: run["curve"] for name, run in result["runs"].items()}
    return nearness("5,000 sentences of Brown, 87 labels, one thread", curves)
