"""Exact inference on graphs: clique trees against pgmpy and toulbar2, and chains against their own kernel.

Every figure of Margrave is the fastest of several runs at one thread; the rivals, if they are installed, run once.
Structures are made once, as in training; what that takes is a column of its own. The marginals of pgmpy are compared
with `logsum`, which has the log partition function and all marginals; the best labeling of toulbar2 with `argmax`.
"""

from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import markdown, number
from margrave import _core
from margrave.binding import bind
from margrave.data.graphs import grid_edges
from margrave.examples import Examples
from margrave.maps import ChainMap, FeatureTable
from margrave.structures import Chain, FactorGraph, Labels
from margrave.structures.factor_graph import GraphArrays

Result = dict[str, Any]

CORPORA: tuple[str, ...] = ()
RESULT = "clique_trees"
REPEATS = 7
GRIDS = ((3, 10, 3), (4, 8, 2), (10, 100, 2))
CHAINS = (2, 10, 45)
LENGTH = 200
SMALL = 40  # nodes up to which pgmpy is asked: the grid of 10 x 100 takes it more than two minutes


def measure() -> Result:
    """Seconds of log partition functions with marginals, and of the best labeling."""
    rng = np.random.default_rng(0)
    grids = {f"{h} x {w}, {n} labels": of_graph(rng, h * w, grid_edges(h, w, 4)[0], n) for h, w, n in GRIDS}
    return {"repeats": REPEATS, "grids": grids, "chains": {str(n): of_chain(rng, n) for n in CHAINS}}


def of_graph(rng: np.random.Generator, nodes: int, edges: NDArray[np.int64], labels: int) -> Result:
    started = perf_counter()
    problem, structure = graph_problem(nodes, edges, labels)
    made = perf_counter() - started
    unary, pairs = random_scores(rng, nodes, len(edges), labels)
    theta = np.concatenate([unary.ravel(), pairs.ravel()])
    found: Result = {
        "width": structure.width,
        "MB": structure.bytes / 1e6,
        "make": made,
        "logsum": fastest(lambda: problem.logsum(0, theta)),
        "argmax": fastest(lambda: problem.argmax(0, theta)),
    }
    if nodes <= SMALL and find_spec("pgmpy") is not None:
        from benchmarks.rivals.pgmpy_graphs import calibration

        found["pgmpy made"], found["pgmpy"], log_z = calibration(unary, edges, pairs)
        assert abs(log_z - problem.logsum(0, theta)[0]) < 1e-6 * abs(log_z)
    if find_spec("pytoulbar2") is not None:
        from benchmarks.rivals.toulbar2_graphs import best_labeling

        best = best_labeling(unary, edges, pairs)
        if best is not None:
            found["toulbar2"], value = best
            assert abs(value - problem.argmax(0, theta)[0]) < 1e-4
    return found


def of_chain(rng: np.random.Generator, labels: int) -> Result:
    """The same chain as a graph and as a chain."""
    edges = np.stack([np.arange(LENGTH - 1), np.arange(1, LENGTH)], axis=1)
    problem, _ = graph_problem(LENGTH, edges, labels)
    names = [f"label {k:02}" for k in range(labels)]
    chain = bind(
        Chain(tied=False),
        ChainMap(FeatureTable("all")),
        Examples([np.eye(LENGTH)], [[names[t % labels] for t in range(LENGTH)]]),
        outputs=Labels(np.array(names)),
    ).problem
    theta = rng.normal(size=problem.parts(0))
    return {
        f"{verb} of {kind}": fastest(lambda each=each, verb=verb: getattr(each, verb)(0, theta), 50)
        for verb in ("logsum", "argmax")
        for kind, each in (("graph", problem), ("chain", chain))
    }


def random_scores(
    rng: np.random.Generator, nodes: int, edges: int, labels: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of the labels of each node, and of the pairs of labels of each edge."""
    return rng.standard_normal((nodes, labels)), rng.standard_normal((edges, labels, labels))


def graph_problem(
    nodes: int, edges: NDArray[np.int64], labels: int, settings: FactorGraph | None = None
) -> tuple[_core.Problem, Any]:
    """A graph with a score for every label of a node and for every pair of labels of an edge."""
    outputs = Labels(np.array([f"label {k:02}" for k in range(labels)]))
    graphs = GraphArrays.pairwise(np.zeros(1, np.int64), np.array([nodes]), [edges])
    structure: Any = (settings or FactorGraph()).bind(outputs, Examples.of_sizes(np.array([1]), X=graphs))
    n = structure.parts(0)
    rows = _core.Tokens(np.array([0, n]), np.arange(n + 1), np.arange(n, dtype=np.int32), None)
    return _core.join(structure, _core.sparse_parts(n, rows, structure.choices, structure.repeats)), structure


def fastest(work: Callable[[], object], repeats: int = REPEATS) -> float:
    seconds = []
    for _ in range(repeats):
        started = perf_counter()
        work()
        seconds.append(perf_counter() - started)
    return min(seconds)


def table(result: Result) -> str:
    """One table of grids, one of chains."""
    grids = [
        [
            name,
            str(r["width"]),
            f"{r['MB']:.2f}",
            *(f"{1e3 * r[k]:.2f}" for k in ("make", "logsum", "argmax")),
            *(number(1e3 * r[k] if k in r else None, ".1f") for k in ("pgmpy made", "pgmpy", "toulbar2")),
        ]
        for name, r in result["grids"].items()
    ]
    chains = [
        [
            labels,
            *(f"{1e6 * r[f'{verb} of {kind}']:.0f}" for verb in ("logsum", "argmax") for kind in ("graph", "chain")),
        ]
        for labels, r in result["chains"].items()
    ]
    return "\n\n".join(
        [
            markdown(
                [
                    *("grid", "largest clique", "MB", "made in ms", "marginals ms", "argmax ms"),
                    *("pgmpy: made in ms", "marginals ms", "toulbar2: argmax ms"),
                ],
                grids,
            ),
            markdown(
                ["labels of a chain", "marginals as graph, us", "as chain", "argmax as graph", "as chain"], chains
            ),
        ]
    )


def plot(result: Result) -> None:
    """There is none."""
