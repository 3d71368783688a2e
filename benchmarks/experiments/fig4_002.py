"""002, Fig. 4: P, D and accuracy by effective iterations of EG, L-BFGS and CG on projective trees of UD Slovenian.

The paper has 1,234 sentences of the CoNLL-X treebank of Slovene and leaves out 200 of them. This experiment learns from
the projective sentences of the development part of UD Slovenian SSJ, another treebank, except for the last 200, which
choose C. Accuracies are those of the first 300 sentences of its test part. Arcs are pruned by tags and lengths.
"""

from math import inf
from typing import Any

from benchmarks.corpora.problems import TemplateParsing
from benchmarks.corpora.trees import treebank
from benchmarks.curves import Point, View, follow, near, reached, thinned
from benchmarks.plots import DOTS, colored, draw, finished, panels
from benchmarks.tables import markdown, number
from margrave.data.heads import crossing_words
from margrave.learners import CG, EG, LBFGS, Learner, Objective, Observer, PrintedEG, Record, Weights
from margrave.losses import Log
from margrave.structures import ProjectiveTree

Result = dict[str, Any]

CORPORA = ("ud-slovenian-ssj",)
RESULT = "fig4_002"
CS = (0.03, 0.1, 0.3)
HELD_OUT = 200
TEST = 300  # sentences of the test part on which accuracies are measured
BITS = 20  # to which attributes are hashed
COLUMNS = ("form", "upos", "feats")
TOL = 1e-5  # the relative gap at which a run ends
ITERATIONS = 30  # effective ones, after which a run ends
MARKS = (2, 5, 10, 20, 30)  # effective iterations in the table
GOALS = (0.1, 0.01, 0.001)  # distances of P from the optimum
LEARNERS: dict[str, Learner] = {
    "eg": EG(),
    "eg, halved rates": PrintedEG(rate=0.5, order="cyclic"),
    "lbfgs": LBFGS(),
    "cg": CG(),
}


class Enough(Observer):
    """Ends a run after so many effective iterations."""

    def note(self, record: Record, w: Weights) -> str | None:
        return "enough iterations" if record.passes >= ITERATIONS else None


def measure() -> Result:
    """P, D and accuracy after each iteration of every learner, at the C that is best on the held-out sentences."""
    projective = [each for each in treebank("ud-slovenian-ssj", "dev") if not crossing_words(each.heads)]
    train, held_out = projective[:-HELD_OUT], projective[-HELD_OUT:]
    test = treebank("ud-slovenian-ssj", "test")[:TEST]
    data = TemplateParsing(train, ProjectiveTree(), COLUMNS, BITS, prune="lengths")
    accuracy = data.uas(held_out)
    by_C = {C: accuracy(EG().solve(Objective(data.problem, Log(), C=C, tol=1e-2, n_jobs=1)).w) for C in CS}
    C = max(by_C, key=lambda C: (by_C[C], -C))
    questions = {"accuracy": data.uas(test)}
    runs = {}
    for name, learner in LEARNERS.items():
        objective = Objective(data.problem, Log(), C=C, n_jobs=1, observers=[Enough()])
        runs[name] = follow(learner, objective, [TOL], inf, questions)
    best = max(point["D"] for run in runs.values() for point in run["curve"] if point["D"] is not None)
    for run in runs.values():
        points = run["curve"]
        for point in points:
            point["above"] = (point["P"] - best) / best
            point["below"] = None if point["D"] is None else (best - point["D"]) / best
        run["iterations_to"] = {goal: at and at["passes"] for goal, at in reached(points, GOALS, near).items()}
        run["accuracy_after"] = {str(mark): after(points, mark) for mark in MARKS}
        shown = (View("passes", name, log_x=False, log_y=name != "accuracy") for name in ("above", "below", "accuracy"))
        run["curve"] = thinned(points, *shown)
    return {
        "sentences": {"train": len(train), "held_out": len(held_out), "test": len(test)},
        "words": sum(len(sentence.words) for sentence in train),
        "weights": data.problem.dim,
        "accuracy_by_C": {f"{C:g}": share for C, share in by_C.items()},
        "C": C,
        "optimum_at_least": best,
        "learners": runs,
    }


def after(points: list[Point], iterations: float) -> float | None:
    """The accuracy at the last point with no more than so many effective iterations; None if there is no such point."""
    return next((point["accuracy"] for point in reversed(points) if point["passes"] <= iterations), None)


def table(result: Result) -> str:
    """Effective iterations to the goals, and accuracies along the way."""
    rows = []
    for name, run in result["learners"].items():
        near_optimum = [number(run["iterations_to"][f"{goal:g}"], ".3g") for goal in GOALS]
        accuracies = [number(share and 100 * share, ".2f") for share in run["accuracy_after"].values()]
        rows.append([name, *near_optimum, *accuracies])
    header = ["learner", *(f"P within {100 * goal:g} %" for goal in GOALS), *(f"accuracy after {n}" for n in MARKS)]
    return f"C = {result['C']:g}\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """How far P and D are from the optimum, and the accuracy, by effective iterations."""
    figure, (objectives, accuracies) = panels(2)
    objectives.set(
        yscale="log", ylim=(1e-5, 10), xlabel="effective iterations", ylabel="distance from the optimum, relative"
    )
    objectives.set_title("UD Slovenian, projective trees")
    best = max(share for run in result["learners"].values() for share in run["curve"]["accuracy"])
    accuracies.set(ylim=(best - 0.1, best + 0.01), xlabel="effective iterations", ylabel="accuracy on test sentences")
    for name, color in colored(result["learners"]):
        curve = result["learners"][name]["curve"]
        draw(objectives, f"{name}, P", curve, "passes", "above", color=color, **DOTS)
        draw(accuracies, name, curve, "passes", "accuracy", color=color, **DOTS)
        if name.startswith("eg"):
            draw(objectives, f"{name}, D", curve, "passes", "below", color=color, linestyle="--")
    return finished(figure)
