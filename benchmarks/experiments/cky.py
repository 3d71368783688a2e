"""Milliseconds per sentence of CKY with the grammar of ptb-sample, by length and by number of rules; one thread."""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.constituents import constituents
from benchmarks.plots import draw, panels
from benchmarks.tables import markdown
from margrave import _core
from margrave.estimators.pcfg import log_probabilities
from margrave.features import SpanFeatures
from margrave.labels.constituents import Tree
from margrave.structures import ContextFreeTree, Grammar

Result = dict[str, Any]

CORPORA = ("ptb-sample",)
RESULT = "cky"
SENTENCES = 10  # of each length
REPEATS = 3
WORDS = (5, 10, 15, 20, 25, 30, 40)
LENGTH = 25  # of the curve by rules
HORIZONTAL = {"0": 0, "1": 1, "2": 2, "all": None}  # siblings that symbols tell; the first curve has 2
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "argmax": lambda problem, w: _core.argmax_all(problem, w, 1),
    "inside-outside": lambda problem, w: _core.marginals_all(problem, w, 1.0, 1),
}


def measure() -> Result:
    """The shortest of some runs, at the weights of a PCFG."""
    trees = constituents("ptb-sample", "train")
    grammars = {name: Grammar.of_trees(trees, horizontal=value) for name, value in HORIZONTAL.items()}
    by_words = [timed(grammars["2"], trees, n) for n in WORDS]
    by_rules = [timed(grammar, trees, LENGTH) for grammar in grammars.values()]
    curves = {"words": together(by_words), "rules": together(by_rules)}
    return {"length": LENGTH, "horizontal": list(HORIZONTAL), "curves": curves}


def together(runs: list[Result]) -> Result:
    """Lists of what the runs have."""
    return {key: [run[key] for run in runs] for key in runs[0]}


def timed(grammar: Grammar, trees: list[Tree], n: int) -> Result:
    """Milliseconds per sentence of n words."""
    chosen = [list(zip(tree.words, tree.tags, strict=True)) for tree in trees if len(tree.words) == n][:SENTENCES]
    bound = ContextFreeTree().bind(grammar, np.zeros(len(chosen), np.int64), sentences=chosen)
    features = SpanFeatures()
    problem = _core.join(bound, features.map(features.encode(chosen, grow=True), bound))
    w = log_probabilities(grammar, 0.0)
    times = {name: 1e3 * shortest(partial(call, problem, w)) / len(chosen) for name, call in OPERATIONS.items()}
    return {"words": n, "rules": len(grammar.binary), "symbols": len(grammar.compiled.symbols), **times}


def shortest(call: Callable[[], Any]) -> float:
    """Seconds of the fastest call; the first one also takes memory."""
    seconds = []
    for _ in range(REPEATS):
        started = perf_counter()
        call()
        seconds.append(perf_counter() - started)
    return min(seconds)


def table(result: Result) -> str:
    """A row per length, and one per grammar."""
    rows = [
        [str(words), f"{rules:,}", *(f"{ms:.2f}" for ms in times), f"{1e3 / times[0]:.0f}"]
        for curve in result["curves"].values()
        for words, rules, *times in zip(*(curve[key] for key in ("words", "rules", *OPERATIONS)), strict=True)
    ]
    header = ["words", "binary rules", *(f"{name}, ms" for name in OPERATIONS), "sentences/s (argmax)"]
    return f"{markdown(header, rows)}\n\nper sentence, one thread"


def plot(result: Result) -> Any:
    """Milliseconds against words and against rules."""
    figure, axes = panels(2)
    for panel, along in zip(axes, ("words", "rules"), strict=True):
        panel.set(xscale="log", yscale="log", xlabel=along, ylabel="ms per sentence")
        panel.grid(alpha=0.3, which="both")
        for name in OPERATIONS:
            draw(panel, name, result["curves"][along], along, name, marker=".")
    axes[0].legend()
    return figure
