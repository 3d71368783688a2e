"""Structural SVM on handwritten words: seconds against the number of words."""

from typing import Any

import numpy as np

from benchmarks.corpora.problems import Tagging, ocr_words
from benchmarks.experiments.ocr import OCR_C
from benchmarks.experiments.svm_ocr import SECONDS, SVM_LEARNERS, timed
from benchmarks.plots import COLORS, draw_beside_linear, finished, panels
from benchmarks.tables import markdown

Result = dict[str, Any]

CORPORA = ("ocr-letters",)
RESULT = "svm_linear"
LINEAR_WORDS = (500, 1000, 2000, 3000, 4500, 6000)
LINEAR_GOALS = {"one-slack": 0.027, "cutting-plane": 1e-3, "bcfw": 1e-3}


def measure() -> Result:
    """Seconds against the number of words, and the exponent of the line through them in a log-log plot."""
    data = ocr_words(all_but_one_fold=True)
    order = np.random.default_rng(0).permutation(len(data.X))
    runs: dict[str, list[Result]] = {name: [] for name in SVM_LEARNERS}
    for n in LINEAR_WORDS:
        part = Tagging([data.X[i] for i in order[:n]], [data.Y[i] for i in order[:n]], "all")
        problem = part.bind(tied=True)
        for name, learner in SVM_LEARNERS.items():
            runs[name].append({"words": n} | timed(learner, problem, LINEAR_GOALS[name], SECONDS))
    return {
        "C": OCR_C,
        "seconds": SECONDS,
        "learners": {
            name: {
                "goal": LINEAR_GOALS[name],
                "curve": {key: [point[key] for point in points] for key in points[0]},
                "exponent": float(
                    np.polyfit(np.log(LINEAR_WORDS), np.log([point["seconds"] for point in points]), 1)[0]
                ),
            }
            for name, points in runs.items()
        },
    }


def table(result: Result) -> str:
    """Seconds by the number of words."""
    runs = result["learners"]
    words = next(iter(runs.values()))["curve"]["words"]
    rows = [
        [
            f"{name}, to {run['goal']:g}",
            *(f"{seconds:.2f}" for seconds in run["curve"]["seconds"]),
            f"{run['exponent']:.2f}",
        ]
        for name, run in runs.items()
    ]
    header = ["seconds by words", *(f"{n:,}" for n in words), "exponent"]
    return markdown(header, rows)


def plot(result: Result) -> Any:
    """Seconds against the number of words, with a line of slope one through the last point of each."""
    figure, (panel,) = panels()
    panel.set(
        xscale="log",
        yscale="log",
        xlabel="words",
        ylabel="seconds",
        title=f"OCR letters, structural SVM, C = {result['C']:g}",
    )
    for (name, run), color in zip(result["learners"].items(), COLORS, strict=False):
        draw_beside_linear(panel, f"{name}, gap {run['goal']:g}", run["curve"], "words", "seconds", color)
    return finished(figure)
