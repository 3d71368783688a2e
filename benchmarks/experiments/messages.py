"""Approximate inference: seconds of belief propagation on a grid, and second-order parsing of crossing trees.

The grid has 50 x 50 variables with 5 labels, scores from a standard normal distribution, and 100 sweeps at one thread.
Parsers of first and second order are trained on the first sentences of the training part with the same learner, passes
and C, which was not chosen on any data; UAS is that of the dev part. Parsing is timed at one thread, from sentences in
memory to trees, with pruning.
"""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.trees import treebank
from benchmarks.tables import markdown
from margrave import _core
from margrave.estimators import DependencyParser
from margrave.structures import FactorGraph, Labels
from margrave.structures.factor_graph import GraphArrays

Result = dict[str, Any]

CORPORA = ("ud-gothic-proiel", "ud-english-ewt")
RESULT = "messages"
SIDE, LABELS, SWEEPS = 50, 5, 100
SENTENCES, NEW, PASSES, C = 1000, 400, 8, 0.1
REPEATS = 3


def measure() -> Result:
    """Seconds on the grid, and parsers of both orders for each treebank."""
    return {
        "grid": grid(),
        "parsing": {corpus: {str(order): parsing(corpus, order) for order in (1, 2)} for corpus in CORPORA},
        "sentences": SENTENCES,
        "passes": PASSES,
        "C": C,
    }


def grid() -> Result:
    """The shortest of some runs."""
    number = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    edges = np.concatenate(
        [
            np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1),
            np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1),
        ]
    )
    arrays = GraphArrays.pairwise(np.zeros(1, np.int64), np.array([SIDE * SIDE]), [edges])
    outputs = Labels.of([str(k) for k in range(LABELS)])
    found = {}
    for schedule in ("sequential", "parallel", "residual"):
        structure = FactorGraph(inference="bp", schedule=schedule, sweeps=SWEEPS, tolerance=1e-300)
        bound = structure.bind(outputs, np.zeros(1, dtype=np.int64), graphs=arrays)
        parts = bound.parts(0)
        rows = _core.Tokens(
            np.array([0, parts]), np.zeros(parts + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
        )
        problem = _core.join(bound, _core.sparse_parts(1, rows, np.ones(1, dtype=np.int64)))
        theta = np.random.default_rng(0).standard_normal(parts)
        seconds = []
        for _ in range(REPEATS):
            started = perf_counter()
            problem.logsum(0, theta)
            seconds.append(perf_counter() - started)
        found[schedule] = {"seconds": min(seconds), "sweeps": abs(int(bound.sweeps[0]))}
    return found


def examples(corpus: str, part: str, most: int) -> tuple[list[Any], list[list[int]]]:
    """Rows and heads of the first sentences."""
    sentences = treebank(corpus, part)[:most]
    X = [[[word.form, word.upos, word.feats] for word in sentence.words] for sentence in sentences]
    return X, [[word.head for word in sentence.words] for sentence in sentences]


def parsing(corpus: str, order: int) -> Result:
    """Trains a parser, and parses new sentences."""
    X, y = examples(corpus, "train", SENTENCES)
    new, gold = examples(corpus, "dev", NEW)
    parser = DependencyParser(
        "log",
        C=C,
        order=order,
        projective=False,
        labels=False,
        prune="posterior",
        learner="mira",
        max_iter=PASSES,
        features="hash:20",
        n_threads=1,
    )
    started = perf_counter()
    parser.fit(X, y)
    training = perf_counter() - started
    started = perf_counter()
    trees = parser.predict(new)
    seconds = perf_counter() - started
    tokens = sum(map(len, gold))
    right = sum(a == b for g, t in zip(gold, trees, strict=True) for a, b in zip(g, t, strict=True))
    found: Result = {
        "training_seconds": training,
        "reason": parser.stop_reason_,
        "uas": right / tokens,
        "tokens_per_second": tokens / seconds,
    }
    if order == 2:
        report = parser.inference_report(new)
        found |= {"certified": report.certified, "converged": report.converged, "sweeps": report.sweeps}
    return found


def table(result: Result) -> str:
    """Both tables."""
    rows = [[name, f"{run['seconds']:.3f}", str(run["sweeps"])] for name, run in result["grid"].items()]
    parsed = [
        [
            corpus,
            order,
            f"{100 * run['uas']:.1f}",
            f"{run['tokens_per_second']:,.0f}",
            f"{100 * run['certified']:.0f} %" if "certified" in run else "",
            f"{100 * run['converged']:.0f} %" if "converged" in run else "",
        ]
        for corpus, runs in result["parsing"].items()
        for order, run in runs.items()
    ]
    return "\n\n".join(
        [
            markdown(["schedule", "seconds", "sweeps"], rows),
            markdown(["treebank", "order", "UAS", "tokens/s", "certified", "converged"], parsed),
        ]
    )
