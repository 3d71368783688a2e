"""Milliseconds of inference on batches of random lattices: the kernels of lattices against the hypergraph engine.

The scores of edges are given, so that the time is that of inference alone. Every batch has as many edges, and enough of
them that a processor cannot learn by heart which branches they take: with a few small lattices again and again, it
would, and loops that it could not predict on new data would seem fast.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.tables import markdown
from margrave import _core
from margrave.data import Lattice
from margrave.examples import Examples
from margrave.structures import LatticePaths, NoOutputs

Result = dict[str, Any]

CORPORA = ()
RESULT = "lattice_inference"
EDGES = 160_000  # of a batch
NODES = (20, 100, 500)
OUT = 5  # edges that leave a node
AHEAD = 6  # nodes that an edge leads ahead, less than this
REPEATS = 7
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "argmax": lambda problem, theta: _core.argmax_all(problem, None, 1, theta=theta),
    "marginals": lambda problem, theta: _core.marginals_all(problem, None, 1.0, 1, theta=theta),
    "10 best": lambda problem, theta: _core.kbest_all(problem, None, 10, 1, theta=theta),
    "10 samples": lambda problem, theta: _core.sample_all(problem, None, 1.0, 10, 0, 1, theta=theta),
}


def measure() -> Result:
    """The shortest of some runs, on scores from a standard normal distribution; one thread."""
    rows = []
    for nodes in NODES:
        count = EDGES // (nodes * OUT)
        lattices = [random_lattice(np.random.default_rng(k), nodes) for k in range(count)]
        units = np.array([len(lattice.edges) for lattice in lattices], dtype=np.int64)
        ours = LatticePaths().bind(NoOutputs(), Examples.of_sizes(units, X=lattices))
        engine = _core.hypergraphs([graph(lattice) for lattice in lattices], units, None, None, None)
        times = {name: timed(bound, units) for name, bound in (("lattice", ours), ("hypergraph", engine))}
        rows.append({"nodes": nodes, "lattices": count, **times})
    return {"edges": EDGES, "rows": rows}


def random_lattice(rng: np.random.Generator, nodes: int) -> Lattice:
    """Edges lead a few nodes ahead, and each node also has one to the next."""
    edges = [
        (v, min(v + int(step), nodes), "w") for v in range(nodes) for step in (1, *rng.integers(1, AHEAD, OUT - 1))
    ]
    return Lattice.of(edges, start=0, end=nodes)


def graph(lattice: Lattice) -> _core.Hypergraph:
    """The lattice as a hypergraph, whose first node has an edge without tails and parts."""
    n = len(lattice.edges)
    heads = np.array([0, *(edge.head for edge in lattice.edges)], dtype=np.int32)
    tails = np.array([edge.tail for edge in lattice.edges], dtype=np.int32)
    begin = np.array([0, *range(n + 1)], dtype=np.int64)
    return _core.Hypergraph(lattice.nodes, heads, begin, tails, begin, np.arange(n, dtype=np.int32))


def timed(bound: _core.Structure, units: Any) -> Result:
    """Milliseconds per batch."""
    parts = int(units.sum())
    begin = np.concatenate([[0], np.cumsum(units)]).astype(np.int64)
    rows = _core.Tokens(begin, np.arange(parts + 1, dtype=np.int64), np.arange(parts, dtype=np.int32), None)
    problem = _core.join(bound, _core.sparse_parts(parts, rows, bound.choices))
    theta = np.random.default_rng(0).standard_normal(parts)
    return {name: 1e3 * shortest(partial(call, problem, theta)) for name, call in OPERATIONS.items()}


def shortest(call: Callable[[], Any]) -> float:
    """Seconds of the shortest of some calls."""
    times = []
    for _ in range(REPEATS):
        began = perf_counter()
        call()
        times.append(perf_counter() - began)
    return min(times)


def table(result: Result) -> str:
    """Milliseconds and ratios."""
    rows = [
        [
            str(row["nodes"]),
            str(row["lattices"]),
            name,
            f"{row['lattice'][name]:.3f}",
            f"{row['hypergraph'][name]:.3f}",
            f"{row['hypergraph'][name] / row['lattice'][name]:.1f}",
        ]
        for row in result["rows"]
        for name in OPERATIONS
    ]
    header = ["nodes", "lattices", "operation", "lattice, ms", "hypergraph engine, ms", "ratio"]
    return f"{result['edges']:,} edges at a time\n\n{markdown(header, rows)}"


def plot(result: Result) -> None:
    """There is none."""
