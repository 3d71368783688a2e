"""Every learner on handwritten words, hinge loss: how soon it is how near to the optimum."""

from typing import Any

from benchmarks.corpora.problems import ocr_words
from benchmarks.curves import compare, regularized_learners
from benchmarks.plots import DOTS, colored, draw, finished, gap_axes, panels
from benchmarks.tables import goals_of, markdown, times_to_goals
from margrave.learners import BCFW
from margrave.losses import Hinge

Result = dict[str, Any]

CORPORA = ("ocr-letters",)
RESULT = "ocr"
SECONDS = 20.0  # after which a learner makes no further pass
OCR_C = 0.1
OCR_GOALS = (0.2, 0.059, 0.027, 1e-2, 1e-3)
MARKS = "(auto): what learner='auto' chooses. *: no certificate of its own; P against the best D of all."


def measure() -> Result:
    """OCR letters, hinge loss, C = 0.1: how soon each learner is how near."""
    learners = regularized_learners()
    learners["bcfw, plain"] = BCFW(pairwise=False)
    learners["bcfw, plain, averaged"] = BCFW(pairwise=False, averaging=True)
    result: dict[str, Any] = {}
    for folds, most in (("one fold", False), ("the other folds", True)):
        data = ocr_words(all_but_one_fold=most)
        runs = compare(learners, data.bind, Hinge(), OCR_C, OCR_GOALS, SECONDS)
        result[f"{folds}, {len(data.X):,} words"] = {"letters": data.tokens, "learners": runs}
    return {"C": OCR_C, "seconds": SECONDS, "data": result}


def table(result: Result) -> str:
    """When each learner reached which gap, on several data sets (ocr, choosing)."""
    data = result["data"]
    rows = [[name, *row] for name, part in data.items() for row in times_to_goals(part["learners"])]
    goals = goals_of(next(iter(data.values()))["learners"])
    title = "effective passes (and seconds) to a relative gap of"
    return f"{title}\n\n{markdown(['data', 'learner', *goals], rows)}\n\n{MARKS}"


def plot(result: Result) -> Any:
    """The relative gap of each learner against time, a panel a data set (ocr, choosing)."""
    data = result["data"]
    figure, axes = panels(2, len(data) // 2)
    for panel, (name, part) in zip(axes, data.items(), strict=True):
        nearest = min(float(goal) for run in part["learners"].values() for goal in run["reached"])
        gap_axes(panel, nearest, name)
        for learner, color in colored(part["learners"]):
            run = part["learners"][learner]
            if "curve" in run:
                style = {"linestyle": "-" if run["certified"] else ":", "color": color, **DOTS}
                draw(panel, learner, run["curve"], "seconds", "relative_gap", **style)
    return finished(figure)
