"""Milliseconds of inference for batches of random sentences, by structure of trees and length; one thread."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.plots import draw, panels
from benchmarks.tables import markdown, number
from margrave import _core
from margrave.data import Arcs
from margrave.examples import Examples
from margrave.structures import Labels, NonProjectiveTree, NoOutputs, ProjectiveTree, SecondOrderTree
from margrave.structures.arc_trees import ArcTree, DependencyTree
from margrave.structures.base import Bound

Result = dict[str, Any]

CORPORA = ()
RESULT = "tree_inference"
SENTENCES = 64
HEADS = 10  # that pruning leaves each word
REPEATS = 5
LABELS = 10  # that each arc of a labeled tree may have
WORDS = (5, 10, 25, 50, 100)
RIVAL_WORDS = (5, 10, 25, 50)
RIVALS = {"torch-struct": "torch_struct", "supar": "supar"}  # and the module to import
UNPRUNED = (5, 10, 25)  # lengths for second-order trees with all arcs
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "marginals": lambda problem, w: _core.marginals_all(problem, w, 1.0, 1),
    "argmax": lambda problem, w: _core.argmax_all(problem, w, 1),
    "10 best": lambda problem, w: _core.kbest_all(problem, w, 10, 1),
}


def measure() -> Result:
    """The shortest of some runs, on scores from a standard normal distribution."""
    curves = {
        "non-projective": [timed(NonProjectiveTree(), n) for n in WORDS],
        "projective": [timed(ProjectiveTree(), n) for n in WORDS],
        f"non-projective, {LABELS} labels": [timed(NonProjectiveTree(labeled=True), n) for n in WORDS],
        f"projective, {LABELS} labels": [timed(ProjectiveTree(labeled=True), n) for n in WORDS],
    }
    for kind in ("siblings", "grandparents"):
        curves[kind] = [timed(SecondOrderTree(kind), n) for n in UNPRUNED]
        curves[f"{kind}, {HEADS} heads"] = [timed(SecondOrderTree(kind), n, pruned(n)) for n in WORDS]
    for name, module in RIVALS.items():
        if find_spec(module):
            curves[f"{name}, non-projective"] = [timed_rival(name, NonProjectiveTree(), n) for n in RIVAL_WORDS]
            curves[f"{name}, projective"] = [timed_rival(name, ProjectiveTree(), n) for n in RIVAL_WORDS]
        else:
            print(f"  without {name}, which is not installed")
    together = {name: {key: [run[key] for run in runs] for key in runs[0]} for name, runs in curves.items()}
    return {"sentences": SENTENCES, "heads": HEADS, "labels": LABELS, "curves": together}


def pruned(n: int) -> NDArray[np.bool_]:
    """The arcs to each word from the word before it, and from others at random."""
    rng = np.random.default_rng(n)
    left = np.zeros((SENTENCES, n, n), dtype=np.bool_)
    for sentence in left:
        for word, heads in enumerate(sentence, 1):  # the heads 0 to n without the word itself
            heads[rng.choice(n, min(HEADS, n), replace=False)] = True
            heads[word - 1] = True
    return left.ravel()


def timed(structure: DependencyTree, n: int, left: NDArray[np.bool_] | None = None) -> Result:
    """Milliseconds per batch of sentences of n words, whose parts have one weight each."""
    arcs = Arcs(np.full(SENTENCES, n), left)
    outputs = Labels.of(range(LABELS)) if structure.labeled else NoOutputs()
    bound = structure.bind(outputs, Examples.of_sizes(arcs.count, arcs=arcs))
    parts = int(bound.part_counts.sum())
    begin, each = np.concatenate([[0], np.cumsum(bound.part_counts)]), np.arange(parts, dtype=np.int32)
    rows = _core.Tokens(begin, np.arange(parts + 1, dtype=np.int64), each, None)
    problem = _core.join(bound, _core.sparse_parts(parts, rows, bound.choices))
    w = np.random.default_rng(n).standard_normal(parts)
    times = {name: 1e3 * shortest(partial(call, problem, w)) for name, call in OPERATIONS.items()}
    return {"words": n, "parts": parts // SENTENCES, **times}


def timed_rival(name: str, structure: ArcTree, n: int) -> Result:
    """Milliseconds of a rival for the marginals of such sentences, and how far its marginals are from ours."""
    from benchmarks.rivals.torch_trees import supar_marginals, torch_struct_marginals

    # By word and head, where the head 0 is the root and words do not head themselves.
    scores = np.random.default_rng(n).standard_normal((SENTENCES, n, n + 1))
    arcs = np.tile(np.arange(n + 1) != np.arange(1, n + 1)[:, None], (SENTENCES, 1, 1))
    bound = structure.bind(NoOutputs(), Examples.of_sizes(np.full(SENTENCES, n * n)))
    rows = _core.Tokens(np.arange(SENTENCES + 1) * n * n, np.arange(arcs.sum() + 1), np.arange(arcs.sum()), None)
    problem = _core.join(bound, _core.sparse_parts(int(arcs.sum()), rows, bound.choices))
    begin, _, mu = _core.marginals_all(problem, scores[arcs], 1.0, 1)
    ours = np.stack(Bound(structure, NoOutputs(), Examples(None), bound).present(begin, mu))
    marginals = {"torch-struct": torch_struct_marginals, "supar": supar_marginals}[name]
    call, arranged = marginals(scores, isinstance(structure, ProjectiveTree))
    apart = float(np.abs(arranged(call()) - ours)[arcs].max())
    others = dict.fromkeys(OPERATIONS)
    return {"words": n, "parts": n * n, **others, "marginals": 1e3 * shortest(call), "apart": apart}


def shortest(call: Callable[[], Any]) -> float:
    """Seconds of the fastest call; the first one also takes memory."""
    seconds = []
    for _ in range(REPEATS):
        started = perf_counter()
        call()
        seconds.append(perf_counter() - started)
    return min(seconds)


def table(result: Result) -> str:
    """A row per structure and length."""
    rows = [
        [name, str(words), f"{parts:,}", *(number(ms, ".2f") for ms in times)]
        for name, curve in result["curves"].items()
        for words, parts, *times in zip(*(curve[key] for key in ("words", "parts", *OPERATIONS)), strict=True)
    ]
    header = ["trees", "words", "parts", *(f"{name}, ms" for name in OPERATIONS)]
    return f"{markdown(header, rows)}\n\nper batch of {result['sentences']} sentences, one thread"


def plot(result: Result) -> Any:
    """Milliseconds against words; rivals are dashed."""
    figure, axes = panels(len(OPERATIONS))
    for panel, name in zip(axes, OPERATIONS, strict=True):
        panel.set(
            xscale="log", yscale="log", xlabel="words", ylabel=f"ms per {result['sentences']} sentences", title=name
        )
        panel.grid(alpha=0.3, which="both")
        for trees, curve in result["curves"].items():
            style = "--" if trees.startswith(tuple(RIVALS)) else "-"
            draw(panel, trees, curve, "words", name, marker=".", linestyle=style)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    return figure
