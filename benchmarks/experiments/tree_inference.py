"""Milliseconds of inference for batches of random sentences, by structure of trees and length; one thread."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.plots import draw, finished, panels
from benchmarks.tables import markdown
from margrave import _core
from margrave.structures import NonProjectiveTree, NoOutputs, ProjectiveTree, SecondOrderTree

Result = dict[str, Any]

CORPORA = ()
RESULT = "tree_inference"
SENTENCES = 64
HEADS = 10  # that pruning leaves each word
REPEATS = 5
FIRST_ORDER = (5, 10, 25, 50, 100)
SECOND_ORDER = (5, 10, 25, 50)
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "marginals": lambda problem, w: _core.marginals_all(problem, w, 1.0, 1),
    "argmax": lambda problem, w: _core.argmax_all(problem, w, 1),
    "10 best": lambda problem, w: _core.kbest_all(problem, w, 10, 1),
}


def measure() -> Result:
    """The shortest of some runs, on scores from a standard normal distribution."""
    curves = {
        "non-projective": [timed(NonProjectiveTree(), n) for n in FIRST_ORDER],
        "projective": [timed(ProjectiveTree(), n) for n in FIRST_ORDER],
    }
    for kind in ("siblings", "grandparents"):
        tree = SecondOrderTree(kind)
        curves[kind] = [timed(tree, n, [[None] * n] * SENTENCES) for n in SECOND_ORDER[:-1]]
        curves[f"{kind}, {HEADS} heads"] = [timed(tree, n, pruned(n)) for n in SECOND_ORDER]
    together = {name: {key: [run[key] for run in runs] for key in runs[0]} for name, runs in curves.items()}
    return {"sentences": SENTENCES, "heads": HEADS, "curves": together}


def pruned(n: int) -> list[list[list[int]]]:
    """For each word the word before it, and others at random."""
    rng = np.random.default_rng(n)
    heads = [[h for h in range(n + 1) if h != word] for word in range(1, n + 1)]
    chosen = (
        [rng.choice(every, min(HEADS, len(every)), replace=False).tolist() for every in heads] for _ in range(SENTENCES)
    )
    return [[sorted({word, *some}) for word, some in enumerate(sentence)] for sentence in chosen]


def timed(structure: Any, n: int, allowed: list[Any] | None = None) -> Result:
    """Milliseconds per batch of sentences of n words, whose parts have one weight each."""
    if allowed is None:
        sizes = np.full(SENTENCES, n * n)
    else:
        sizes = np.array([len(structure.part_tuples(n, heads)) for heads in allowed])
    more = {} if allowed is None else {"allowed": allowed}
    bound = structure.bind(NoOutputs(), sizes, [list(range(n))] * SENTENCES, **more)
    parts = int(sizes.sum())
    begin, each = np.concatenate([[0], np.cumsum(sizes)]), np.arange(parts, dtype=np.int32)
    rows = _core.Tokens(begin, np.arange(parts + 1, dtype=np.int64), each, None)
    problem = _core.join(bound, _core.sparse_parts(parts, rows, bound.choices))
    w = np.random.default_rng(n).standard_normal(parts)
    times = {name: 1e3 * shortest(call, problem, w) for name, call in OPERATIONS.items()}
    return {"words": n, "parts": parts // SENTENCES, **times}


def shortest(call: Callable[[Any, Any], Any], problem: Any, w: Any) -> float:
    """Seconds of the fastest call; the first one also takes memory."""
    seconds = []
    for _ in range(REPEATS):
        started = perf_counter()
        call(problem, w)
        seconds.append(perf_counter() - started)
    return min(seconds)


def table(result: Result) -> str:
    """A row per structure and length."""
    rows = [
        [name, str(words), f"{parts:,}", *(f"{ms:.2f}" for ms in times)]
        for name, curve in result["curves"].items()
        for words, parts, *times in zip(*(curve[key] for key in ("words", "parts", *OPERATIONS)), strict=True)
    ]
    header = ["trees", "words", "parts", *(f"{name}, ms" for name in OPERATIONS)]
    return f"{markdown(header, rows)}\n\nper batch of {result['sentences']} sentences, one thread"


def plot(result: Result) -> Any:
    """Milliseconds against words."""
    figure, axes = panels(len(OPERATIONS))
    for panel, name in zip(axes, OPERATIONS, strict=True):
        panel.set(
            xscale="log", yscale="log", xlabel="words", ylabel=f"ms per {result['sentences']} sentences", title=name
        )
        for trees, curve in result["curves"].items():
            draw(panel, trees, curve, "words", name, marker="o")
    return finished(figure)
