"""Milliseconds per sentence of CKY with the grammar of ptb-sample, by length and by number of rules; one thread.

Also those of the search for the most violated tree with the F1 cost, which is stratified by right and predicted
constituents (003, section 4.5.2), and those of torch-struct on a random grammar without zeros.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.constituents import constituents
from benchmarks.plots import draw, panels
from benchmarks.tables import markdown, number
from margrave import Hinge, _core
from margrave.data.constituents import Tree
from margrave.estimators.pcfg import log_probabilities
from margrave.examples import Examples
from margrave.learners import Objective
from margrave.maps import SpanMap
from margrave.structures import ContextFreeTree, Grammar

Result = dict[str, Any]

CORPORA = ("ptb-sample",)
RESULT = "cky"
SENTENCES = 10  # of each length
REPEATS = 3
WORDS = (5, 10, 15, 20, 25, 30, 40)
LENGTH = 25  # of the curve by rules
F1_WORDS = (5, 8, 10, 12, 15, 18, 20)
F1_SENTENCES = 4
SYMBOLS = 30  # non-terminals of the random grammar, each with a rule for all pairs of them
DENSE_WORDS = (10, 25)
BATCH = 4  # random sentences
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
    found: Result = {"length": LENGTH, "horizontal": list(HORIZONTAL), "curves": curves}
    found["f1"] = together([timed_f1(grammars["2"], trees, n) for n in F1_WORDS])
    found["dense"] = together([timed_dense(n) for n in DENSE_WORDS])
    return found


def together(runs: list[Result]) -> Result:
    """Lists of what the runs have."""
    return {key: [run[key] for run in runs] for key in runs[0]}


def timed(grammar: Grammar, trees: list[Tree], n: int) -> Result:
    """Milliseconds per sentence of n words."""
    chosen = [list(zip(tree.words, tree.tags, strict=True)) for tree in trees if len(tree.words) == n][:SENTENCES]
    bound = ContextFreeTree().bind(grammar, Examples.of_sizes(np.zeros(len(chosen), np.int64), X=chosen))
    features = SpanMap()
    problem = _core.join(bound, features.map(features.encode(Examples(chosen), grow=True), bound))
    w = log_probabilities(grammar, 0.0)
    times = {name: 1e3 * shortest(partial(call, problem, w)) / len(chosen) for name, call in OPERATIONS.items()}
    return {"words": n, "rules": len(grammar.binary), "symbols": len(grammar.compiled.symbols), **times}


def timed_f1(grammar: Grammar, trees: list[Tree], n: int) -> Result:
    """Milliseconds of the search with the F1 cost for one sentence of n words, at the weights of a PCFG."""
    chosen = [tree for tree in trees if len(tree.words) == n][:F1_SENTENCES]
    bound = ContextFreeTree().bind(grammar, Examples.of_sizes(np.zeros(len(chosen), np.int64), chosen))
    features = SpanMap()
    sentences = [list(zip(tree.words, tree.tags, strict=True)) for tree in chosen]
    problem = _core.join(bound, features.map(features.encode(Examples(sentences), grow=True), bound))
    objective = Objective(problem, Hinge(cost="f1", slack=2), C=1.0, n_jobs=1)
    started = perf_counter()
    objective.primal(log_probabilities(grammar, 0.0))
    return {"words": n, "F1": 1e3 * (perf_counter() - started) / len(chosen)}


def timed_dense(n: int) -> Result:
    """Milliseconds per sentence with a random grammar, and those of torch-struct if it is installed.

    All rules over SYMBOLS non-terminals and as many tags exist.
    """
    rng = np.random.default_rng(n)
    names = [f"N{k}" for k in range(SYMBOLS)]
    tags = [f"T{k}" for k in range(SYMBOLS)]
    words = [f"w{k}" for k in range(n)]
    both = [*names, *tags]
    rules: list[Any] = [(a, (b, c)) for a in names for b in both for c in both]
    rules += [(tag, word) for tag in tags for word in words]
    grammar = Grammar.of_rules(rules, names[0])
    sentences = [[(word, word) for word in words]] * BATCH
    bound = ContextFreeTree(grammar=grammar).bind(grammar, Examples.of_sizes(np.zeros(BATCH, np.int64), X=sentences))
    features = SpanMap()
    problem = _core.join(bound, features.map(features.encode(Examples(sentences), grow=True), bound))
    compiled = grammar.compiled
    w = rng.standard_normal(len(compiled.rule_names()))
    found: Result = {"words": n, "rules": len(compiled.binary), "torch-struct": None, "apart": None}
    for name, call in OPERATIONS.items():
        found[name] = 1e3 * shortest(partial(call, problem, w)) / BATCH
    if not find_spec("torch_struct"):
        print("  without torch-struct, which is not installed")
        return found
    from benchmarks.rivals.torch_grammars import torch_struct_marginals

    binary = np.array([w[compiled.binary[a, b, c]] for a in names for b in both for c in both])
    lexical = [[w[len(compiled.binary) + compiled.lexical[tag, word]] for tag in tags] for word in words]
    roots = np.array([w[-1], *(-1e9 for _ in names[1:])])
    shape = SYMBOLS, 2 * SYMBOLS, 2 * SYMBOLS
    marginals, value = torch_struct_marginals(binary.reshape(shape), np.array(lexical), roots, BATCH)
    theta = np.zeros(problem.parts(0))
    theta[: len(w)] = w
    found["apart"] = abs(value() - problem.logsum(0, theta)[0])
    found["torch-struct"] = 1e3 * shortest(marginals) / BATCH
    return found


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
    f1 = [[str(n), f"{ms:.1f}"] for n, ms in zip(result["f1"]["words"], result["f1"]["F1"], strict=True)]
    keys = ("words", "rules", *OPERATIONS, "torch-struct")
    dense = [
        [str(words), f"{rules:,}", *(number(ms, ".2f") for ms in times)]
        for words, rules, *times in zip(*(result["dense"][key] for key in keys), strict=True)
    ]
    dense_header = ["words", "binary rules", *(f"{name}, ms" for name in OPERATIONS), "torch-struct, marginals, ms"]
    tables = [markdown(header, rows), markdown(["words", "search with the F1 cost, ms"], f1)]
    return "\n\n".join([*tables, markdown(dense_header, dense), "per sentence, one thread"])


def plot(result: Result) -> Any:
    """Milliseconds against words and against rules."""
    figure, axes = panels(2)
    for panel, along in zip(axes, ("words", "rules"), strict=True):
        panel.set(xscale="log", yscale="log", xlabel=along, ylabel="ms per sentence")
        panel.grid(alpha=0.3, which="both")
        for name in OPERATIONS:
            draw(panel, name, result["curves"][along], along, name, marker=".")
    draw(axes[0], "search with the F1 cost", result["f1"], "words", "F1", marker=".")
    axes[0].legend()
    return figure
