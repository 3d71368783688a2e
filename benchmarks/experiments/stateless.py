"""Seconds of learners that store nothing per example on the Brown corpus with its full tags, and of EG beside them.

A learner that takes longer than the seconds stored in the result is stopped. The last run is all of the corpus with 472
tags, where the state of EG would exceed the limit of `auto`: set MARGRAVE_STATELESS=short to leave it out.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.corpora.columns import brown, last_column
from benchmarks.corpora.problems import SavedTagging
from benchmarks.curves import View, certifies, follow, reached, thinned
from benchmarks.lp_struct import peak_mb
from benchmarks.machine import in_new_process
from benchmarks.plots import draw, finished, gap_axes, panels
from benchmarks.tables import markdown, when
from margrave.inputs import Templates
from margrave.learners import CG, LBFGS, SVRG, BatchEG, Learner, OnlineEG, Task
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("brown-pos",)
RESULT = "stateless"
GOALS = (1e-1, 1e-2, 1e-3)  # relative gaps
C = 1.0
PARTS = {5_000: 60.0, 20_000: 90.0}  # sentences in a random order, and the most seconds per learner
ALL_SECONDS = 420.0  # per learner on all sentences
LEARNERS: dict[str, Learner] = {
    "svrg": SVRG(),
    "lbfgs": LBFGS(),
    "cg": CG(),
    "eg-batch, form=weights": BatchEG(form="weights"),
    "eg, single": OnlineEG(single=True),
}
ON_ALL = ("svrg", "lbfgs")


def measure() -> Result:
    """Runs of one thread, each in a process of its own."""
    sentences = [rows for _, rows in brown()]
    order = np.random.default_rng(0).permutation(len(sentences))
    sentences = [sentences[i] for i in order]
    sizes: dict[int, float] = dict(PARTS)
    if os.environ.get("MARGRAVE_STATELESS") != "short":
        sizes[len(sentences)] = ALL_SECONDS
    runs = {}
    with TemporaryDirectory() as folder:
        for size, seconds in sizes.items():
            words = [[row[:1] for row in rows] for rows in sentences[:size]]
            X = Templates().learn(words).transform(words)
            saved = SavedTagging(str(Path(folder, f"{size}.npz")), X, last_column(sentences[:size]))
            tokens = sum(map(len, words))
            names = LEARNERS if size in PARTS else ON_ALL
            learners = {name: in_new_process(solved, saved, tokens, name, seconds) for name in names}
            runs[f"{size:,} sentences"] = {
                "tokens": tokens,
                "labels": saved.labels,
                "seconds": seconds,
                "learners": learners,
            }
    return {"C": C, "runs": runs}


def solved(saved: SavedTagging, tokens: int, name: str, seconds: float) -> Result:
    """One learner: when it reached the goals, and the most memory that this process had."""
    problem = saved.bind(tokens)
    points = follow(LEARNERS[name], Task(problem, Log(), C=C, n_threads=1), GOALS, seconds)["curve"]
    return {
        "weights": problem.dim,
        "reached": reached(points, GOALS, certifies),
        "end": points[-1],
        "curve": thinned(points, View("seconds", "relative_gap", low=0.5 * GOALS[-1], high=10.0)),
        "peak_mb": peak_mb(),
    }


def table(result: Result) -> str:
    """A row per learner and size."""
    rows = [
        [
            name,
            str(run["labels"]),
            learner,
            *(when(each["reached"][f"{goal:g}"]) for goal in GOALS),
            f"{each['end']['relative_gap']:.1e} ({each['end']['seconds']:.0f} s)",
            f"{each['peak_mb'] / 1024:.2f}",
        ]
        for name, run in result["runs"].items()
        for learner, each in run["learners"].items()
    ]
    return markdown(["data", "tags", "learner", *(f"{goal:g}" for goal in GOALS), "gap at the end", "peak GiB"], rows)


def plot(result: Result) -> Any:
    """Relative gaps against seconds."""
    figure, every = panels(len(result["runs"]))
    for panel, (name, run) in zip(every, result["runs"].items(), strict=True):
        for learner, each in run["learners"].items():
            draw(panel, learner, each["curve"], "seconds", "relative_gap")
        gap_axes(panel, GOALS[-1], f"Brown, {name}, {run['labels']} tags")
    return finished(figure)
