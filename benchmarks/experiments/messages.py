"""Approximate inference: belief propagation against PGMax, AD3 against toulbar2, and second-order parsing.

Belief propagation makes 100 sweeps over a grid of 50 x 50 variables with 5 labels, whose scores are from a standard
normal distribution; what compiling takes in PGMax is not counted, and its numbers have single precision. The best
labeling is searched on a smaller grid, where toulbar2 can prove it; AD3 solves a relaxation, whose labeling may be
worse. Parsers of crossing trees learn from the first sentences of the training part with a C that was not chosen on any
data (`crossing_parsers` has the accuracy), and parse the test part from sentences in memory. Everything runs on one
core; the shortest of some runs.
"""

import os
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.problems import word_rows
from benchmarks.corpora.trees import treebank
from benchmarks.experiments.clique_trees import fastest, graph_problem, random_scores
from benchmarks.tables import markdown, number
from margrave.data.graphs import grid_edges
from margrave.estimators import DependencyParser
from margrave.structures import FactorGraph

Result = dict[str, Any]

CORPORA = ("ud-gothic-proiel", "ud-english-ewt")
RESULT = "messages"
SIDE, LABELS = 50, 5
SWEEPS = 100
SMALL = 10  # the side of the grid whose best labeling is searched
SCHEDULES = ("sequential", "parallel", "residual")
REPEATS = 5
SENTENCES, PASSES, C = 1000, 3, 0.1
COLUMNS = ("form", "upos", "feats")


def measure() -> Result:
    """Seconds on the grid, and tokens per second of parsers of second order."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # XLA has no setting for a single thread
    return {
        "grid": grid(),
        "best": best_labeling(),
        "parsing": {corpus: parsing(corpus) for corpus in CORPORA},
        "sentences": SENTENCES,
        "passes": PASSES,
        "C": C,
    }


def grid() -> Result:
    """Sums by each schedule and, if it is installed, by PGMax."""
    edges = grid_edges(SIDE, SIDE, 4)[0]
    unary, pairs = random_scores(np.random.default_rng(0), SIDE * SIDE, len(edges), LABELS)
    theta = np.concatenate([unary.ravel(), pairs.ravel()])
    sums: Result = {}
    for schedule in SCHEDULES:
        settings = FactorGraph(inference="bp", schedule=schedule, sweeps=SWEEPS, tolerance=1e-300)
        problem, structure = graph_problem(SIDE * SIDE, edges, LABELS, settings)
        seconds = fastest(lambda problem=problem: problem.logsum(0, theta), REPEATS)
        mu = problem.logsum(0, theta)[1][: unary.size].reshape(unary.shape)
        sums[schedule] = {"seconds": seconds, "sweeps": abs(int(structure.sweeps[0]))}
        if schedule == "parallel" and find_spec("pgmax") is not None:
            sums["PGMax"] = by_pgmax(unary, edges, pairs, mu)
    return sums


def best_labeling() -> Result:
    """AD3 and, if it is installed, toulbar2."""
    edges = grid_edges(SMALL, SMALL, 4)[0]
    unary, pairs = random_scores(np.random.default_rng(0), SMALL**2, len(edges), LABELS)
    theta = np.concatenate([unary.ravel(), pairs.ravel()])
    problem, structure = graph_problem(SMALL**2, edges, LABELS, FactorGraph(inference="bp"))
    seconds = fastest(lambda: problem.argmax(0, theta), REPEATS)
    value = problem.argmax(0, theta)[0]
    found: Result = {"AD3": {"seconds": seconds, "value": value, "certified": bool(structure.certified[0] == 1)}}
    if find_spec("pytoulbar2") is not None:
        from benchmarks.rivals import toulbar2_graphs

        proved = toulbar2_graphs.best_labeling(unary, edges, pairs)
        found["toulbar2"] = None if proved is None else {"seconds": proved[0], "value": proved[1], "certified": True}
    return found


def by_pgmax(unary: NDArray[Any], edges: NDArray[Any], pairs: NDArray[Any], mu: NDArray[Any]) -> Result:
    """Its parallel sweeps, and how far its marginals are from ours."""
    from benchmarks.rivals.pgmax_graphs import belief_propagation

    compiling, seconds, marginals = belief_propagation(unary, edges, pairs, SWEEPS, REPEATS)
    apart = float(np.abs(marginals - mu).max())
    return {"seconds": seconds, "sweeps": SWEEPS, "compiling": compiling, "apart": apart}


def parsing(corpus: str) -> Result:
    """Trains a parser of second order, and parses the test part."""
    train, test = treebank(corpus, "train")[:SENTENCES], treebank(corpus, "test")
    parser = DependencyParser(
        "log",
        C=C,
        order=2,
        projective=False,
        labels=False,
        prune="posterior",
        learner="mira",
        max_iter=PASSES,
        weights="hash:22",
        n_jobs=1,
    )
    parser.fit(word_rows(train, COLUMNS), [sentence.heads for sentence in train])
    X = word_rows(test, COLUMNS)
    words = sum(map(len, X))
    seconds = fastest(lambda: parser.predict(X), 2)
    report = parser.inference_report(X)
    shares = {"certified": report.certified, "converged": report.converged}
    return {"words": words, "tokens_per_second": words / seconds, **shares, "sweeps": report.sweeps}


def table(result: Result) -> str:
    """Sums, best labelings, and parsers."""
    fast = result["grid"]["parallel"]["seconds"]
    rows = [
        [
            name,
            f"{run['seconds']:.4f}",
            str(run["sweeps"]),
            f"{run['seconds'] / fast:.2f}",
            number(run.get("apart"), ".1e"),
        ]
        for name, run in result["grid"].items()
    ]
    labelings = [
        [name, *((f"{run['seconds']:.3f}", f"{run['value']:.3f}", str(run["certified"])) if run else ("-", "-", "-"))]
        for name, run in result["best"].items()
    ]
    parsed = [
        [corpus, f"{run['tokens_per_second']:,.0f}", f"{run['certified']:.1%}", f"{run['converged']:.1%}"]
        for corpus, run in result["parsing"].items()
    ]
    return "\n\n".join(
        [
            markdown(["belief propagation", "seconds", "sweeps", "of parallel", "marginals apart"], rows),
            markdown(["best labeling", "seconds", "value", "proved"], labelings),
            markdown(["treebank", "tokens/s", "certified", "converged"], parsed),
        ]
    )


def plot(result: Result) -> None:
    """There is none."""
