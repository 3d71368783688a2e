"""Seconds of learners that store nothing per example on the Brown corpus with its full tags, and of EG beside them.

A learner that takes longer than the seconds stored in the result is stopped. The last run is all of the corpus with 472
tags, where the state of EG would exceed the limit of `auto`: set MARGRAVE_STATELESS=short to leave it out, or
MARGRAVE_STATELESS=LEARNER to run nothing but this learner on all of the corpus and add it to the result. Such a run can
be made in pieces, whose seconds and CPU seconds are added up: with MARGRAVE_STATELESS_PIECE=SECONDS it stops after so
many seconds, and the next one continues from the checkpoint that it left in the folder for temporary files.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.corpora.columns import brown, last_column
from benchmarks.corpora.problems import SavedTagging
from benchmarks.curves import MOST_PASSES, Point, View, certifies, follow, reached, thinned
from benchmarks.lp_struct import peak_mb
from benchmarks.machine import in_new_process, read_result
from benchmarks.plots import draw, finished, gap_axes, panels
from benchmarks.tables import markdown, when
from margrave import Problem
from margrave.features import Templates
from margrave.learners import CG, EG, LBFGS, SVRG, BatchEG, Checkpoint, Learner, Objective, Observer, Record, Weights
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("brown-pos",)
RESULT = "stateless"
GOALS = (1e-1, 1e-2, 1e-3)  # relative gaps
C = 1.0
PARTS = {5_000: 60.0, 20_000: 90.0}  # sentences in a random order, and the most seconds per learner
ALL_SECONDS = 3600.0  # per learner on all sentences
LEARNERS: dict[str, Learner] = {
    "svrg": SVRG(),
    "lbfgs": LBFGS(),
    "cg": CG(),
    "eg-batch, form=weights": BatchEG(form="weights"),
    "eg, single": EG(single=True),
}
ON_ALL = {"svrg": 1, "lbfgs": 2}  # threads: the steps of svrg use one
PIECE = float(os.environ.get("MARGRAVE_STATELESS_PIECE", "0"))  # seconds; 0 makes the run in one go


def measure() -> Result:
    """Runs, each in a process of its own; on parts of the corpus with one thread."""
    sentences = [rows for _, rows in brown()]
    order = np.random.default_rng(0).permutation(len(sentences))
    sentences = [sentences[i] for i in order]
    wanted = os.environ.get("MARGRAVE_STATELESS", "")
    sizes: dict[int, float] = dict(PARTS) if wanted not in ON_ALL else {}
    if wanted != "short":
        sizes[len(sentences)] = ALL_SECONDS
    runs: Result = read_result(RESULT)["runs"] if wanted in ON_ALL else {}
    with TemporaryDirectory() as folder:
        for size, seconds in sizes.items():
            words = [[row[:1] for row in rows] for rows in sentences[:size]]
            X = Templates().learn(words).transform(words)
            saved = SavedTagging(str(Path(folder, f"{size}.npz")), X, last_column(sentences[:size]))
            tokens = sum(map(len, words))
            names = dict.fromkeys(LEARNERS, 1) if size in PARTS else ON_ALL
            run = runs.setdefault(f"{size:,} sentences", {"learners": {}})
            run |= {"tokens": tokens, "labels": saved.labels}
            for name, threads in names.items():
                if wanted == name and PIECE:
                    before = run["learners"].get(name, {})
                    run["learners"][name] = in_new_process(continued, saved, tokens, name, threads, before)
                elif wanted not in ON_ALL or name == wanted:
                    run["learners"][name] = in_new_process(solved, saved, tokens, name, seconds, threads)
    return {"C": C, "runs": runs}


def solved(saved: SavedTagging, tokens: int, name: str, seconds: float, threads: int) -> Result:
    """One learner: when it reached the goals, CPU seconds in all, and the most memory that this process had."""
    problem = saved.bind(tokens)
    before = process_time()
    points = follow(LEARNERS[name], Objective(problem, Log(), C=C, n_jobs=threads), GOALS, seconds)["curve"]
    return {
        "threads": threads,
        "cpu_seconds": process_time() - before,
        **outcome(problem, points),
        "peak_mb": peak_mb(),
    }


class TimeLimit(Observer):
    """Ends a run after so many seconds of this process."""

    def __init__(self, seconds: float) -> None:
        self._end = perf_counter() + seconds

    def note(self, record: Record, w: Weights) -> str | None:
        return "the time is up" if perf_counter() > self._end else None


def continued(saved: SavedTagging, tokens: int, name: str, threads: int, before: Result) -> Result:
    """The next piece of a run of a learner that computes P and D in every iteration; `before` is the result so far."""
    problem = saved.bind(tokens)
    start = process_time()
    path = Path(gettempdir(), f"stateless-{name}.checkpoint")
    before = before if path.exists() else {}
    objective = Objective(problem, Log(), C=C, tol=GOALS[-1], max_iter=MOST_PASSES, n_jobs=threads)
    objective.checkpoint, objective.observers = Checkpoint(path, every=1e6), (TimeLimit(PIECE),)
    solution = LEARNERS[name].solve(objective)
    points = [
        {
            "passes": record.passes,
            "seconds": record.seconds,
            "P": record.primal,
            "D": record.dual,
            "relative_gap": record.relative_gap,
            "certified": True,
        }
        for record in solution.history
    ]
    return {
        "threads": threads,
        "cpu_seconds": before.get("cpu_seconds", 0.0) + process_time() - start,
        "pieces": before.get("pieces", 0) + 1,
        **outcome(problem, points),
        "peak_mb": max(before.get("peak_mb", 0.0), peak_mb()),
    }


def outcome(problem: Problem, points: list[Point]) -> Result:
    """What is stored of the points of a run."""
    return {
        "weights": problem.dim,
        "reached": reached(points, GOALS, certifies),
        "end": points[-1],
        "curve": thinned(points, View("seconds", "relative_gap", low=0.5 * GOALS[-1], high=10.0)),
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
            f"{each['cpu_seconds']:.0f}" if "cpu_seconds" in each else "",
            f"{each['peak_mb'] / 1024:.2f}",
        ]
        for name, run in result["runs"].items()
        for learner, each in run["learners"].items()
    ]
    return markdown(
        ["data", "tags", "learner", *(f"{goal:g}" for goal in GOALS), "gap at the end", "CPU s", "peak GiB"], rows
    )


def plot(result: Result) -> Any:
    """Relative gaps against seconds."""
    figure, every = panels(len(result["runs"]))
    for panel, (name, run) in zip(every, result["runs"].items(), strict=True):
        for learner, each in run["learners"].items():
            draw(panel, learner, each["curve"], "seconds", "relative_gap")
        gap_axes(panel, GOALS[-1], f"Brown, {name}, {run['labels']} tags")
    return finished(figure)
