"""Grammars as log-linear models: online EG against L-BFGS on sentences of ptb-sample, in passes and seconds.

The sentences are the first ones of up to 25 words, from tags; the grammar has the rules of their trees.
"""

from typing import Any

import numpy as np

from benchmarks.corpora.constituents import constituents
from benchmarks.curves import View, follow, near, reached, thinned
from benchmarks.plots import DOTS, colored, draw, finished, panels
from benchmarks.tables import markdown, number
from margrave import _core
from margrave.examples import Examples
from margrave.learners import EG, LBFGS, Learner, Objective
from margrave.losses import Log
from margrave.maps import SpanMap
from margrave.structures import ContextFreeTree

Result = dict[str, Any]

CORPORA = ("ptb-sample",)
RESULT = "crf_parsing"
SENTENCES = 1000  # the others were left out for want of time
LONGEST = 25  # words
HORIZONTAL = 1  # siblings that symbols tell
C = 1.0  # not tuned
SECONDS = 30.0  # after which a run ends
TOL = 1e-4  # the relative gap at which a run ends
GOALS = (0.1, 0.01, 0.001)  # distances of P from the optimum
LEARNERS: dict[str, Learner] = {"eg": EG(), "lbfgs": LBFGS()}


def measure() -> Result:
    """P above the best D that is known, after each pass."""
    trees = constituents("ptb-sample", "train", LONGEST)[:SENTENCES]
    structure = ContextFreeTree(horizontal=HORIZONTAL)
    grammar = structure.learn(trees)
    features = SpanMap(0, grammar.compiled.rule_names())
    sentences = [list(zip(tree.words, tree.tags, strict=True)) for tree in trees]
    bound = structure.bind(grammar, Examples.of_sizes(np.zeros(len(trees), np.int64), trees, X=sentences))
    problem = _core.join(bound, features.map(features.encode(Examples(sentences), grow=True), bound))
    runs = {
        name: follow(learner, Objective(problem, Log(), C=C, n_jobs=1), [TOL], SECONDS, {})
        for name, learner in LEARNERS.items()
    }
    best = max(point["D"] for run in runs.values() for point in run["curve"] if point["D"] is not None)
    for run in runs.values():
        points = run["curve"]
        for point in points:
            point["above"] = (point["P"] - best) / best
        found = reached(points, GOALS, near)
        run["passes_to"] = {goal: at and at["passes"] for goal, at in found.items()}
        run["seconds_to"] = {goal: at and at["seconds"] for goal, at in found.items()}
        run["curve"] = thinned(points, View("passes", "above"), View("seconds", "above"))
    sizes = {"sentences": len(trees), "words": sum(len(tree.words) for tree in trees), "weights": problem.dim}
    return {**sizes, "rules": len(grammar.binary), "C": C, "optimum_at_least": best, "learners": runs}


def table(result: Result) -> str:
    """A row per learner."""
    rows = []
    for name, run in result["learners"].items():
        cells = [number(run[what][str(goal)], ".1f") for goal in GOALS for what in ("passes_to", "seconds_to")]
        rows.append([name, *cells])
    header = ["learner", *(f"{what} to {goal:g}" for goal in GOALS for what in ("passes", "seconds"))]
    sizes = f"{result['sentences']} sentences of up to {LONGEST} words, {result['rules']:,} binary rules"
    about = f"{sizes}, C = {result['C']:g}; P above the best D that is known, relative; one thread"
    return f"{markdown(header, rows)}\n\n{about}"


def plot(result: Result) -> Any:
    """P above the optimum against passes and seconds."""
    figure, axes = panels(2)
    for panel, along in zip(axes, ("passes", "seconds"), strict=True):
        panel.set(xscale="log", yscale="log", xlabel=along, ylabel="P above the optimum, relative")
        for name, color in colored(result["learners"]):
            draw(panel, name, result["learners"][name]["curve"], along, "above", color=color, **DOTS)
    return finished(figure)
