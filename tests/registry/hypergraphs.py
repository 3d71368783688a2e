"""Hypergraphs: the general engine that hand-written kernels must agree with."""

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.testing.enumeration import Array, Outputs, Parts
from tests.references.enumeration import Graph
from tests.registry.cases import Case, register


def bracketings(rng: np.random.Generator, words: int, symbols: int) -> tuple[Graph, int]:
    """Binary trees over a few words with symbols on their nodes; some rules are missing. One part a rule."""
    edges: list[tuple[int, Parts, Parts]] = []
    node: dict[tuple[int, int, int], int] = {}
    parts = 0
    for width in range(1, words + 1):
        for i in range(words - width + 1):
            for s in range(symbols):
                v = node[i, i + width, s] = len(node)
                if width == 1:
                    edges.append((v, (), (parts,) if rng.random() < 0.8 else ()))  # or a rule without any part
                    parts += 1
                for k in range(i + 1, i + width):
                    for a, b in np.ndindex(symbols, symbols):
                        if rng.random() < 0.7 or (a, b) == (0, 0):
                            edges.append((v, (node[i, k, a], node[k, i + width, b]), (parts,)))
                            parts += 1
    root = len(node)
    for s in range(symbols):
        edges.append((root, (node[0, words, s],), (parts,)))
        parts += 1
    return Graph(root + 1, edges), parts


def core_graph(graph: Graph) -> _core.Hypergraph:
    """The core's hypergraph of the same nodes and edges."""

    def begin(lists: list[Parts]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)

    def flat(lists: list[Parts]) -> NDArray[np.int32]:
        return np.array([k for x in lists for k in x], dtype=np.int32)

    heads = np.array([head for head, _, _ in graph.edges], dtype=np.int32)
    tails = [tails for _, tails, _ in graph.edges]
    parts = [parts for _, _, parts in graph.edges]
    return _core.Hypergraph(graph.nodes, heads, begin(tails), flat(tails), begin(parts), flat(parts))


def part_rows(rng: np.random.Generator, counts: list[int], dim: int) -> tuple[_core.Tokens, list[Array]]:
    """A random sparse vector for every part, as the core's rows and as matrices."""
    matrices = [rng.integers(-4, 5, (n, dim)) / 2.0 * (rng.random((n, dim)) < 0.5) for n in counts]
    rows = np.concatenate(matrices)
    lists = [np.flatnonzero(row) for row in rows]
    index = np.concatenate(lists)
    where = np.repeat(np.arange(len(rows)), [len(x) for x in lists])
    return (
        _core.Tokens(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64),
            index.astype(np.int32),
            rows[where, index],
        ),
        matrices,
    )


@register("hypergraph")
def hypergraph(rng: np.random.Generator, cost: str, size: int) -> Case:
    graphs, outputs, gold, deltas, c0, costs = [], [], [], [], [], []
    for _ in range(size):
        graph, parts = bracketings(rng, int(rng.integers(1, 4)), int(rng.integers(1, 3)))
        ys = graph.derivations()
        y = ys[rng.integers(len(ys))]
        delta = np.zeros(parts)  # the price of every gold part that is missed
        delta[list(y)] = -rng.integers(1, 4, len(y)).astype(float)
        graphs.append(core_graph(graph))
        outputs.append(Outputs(parts, ys))
        gold.append(y)
        deltas.append(delta)
        c0.append(-delta.sum())
        costs.append(np.array([-delta[[k for k in y if k not in other]].sum() for other in ys]))
    counts = [len(delta) for delta in deltas]
    rows, matrices = part_rows(rng, counts, 5)
    structure = _core.hypergraphs(
        graphs,
        np.array(counts, dtype=np.int64),
        [np.array(y, dtype=np.int32) for y in gold],
        deltas,
        np.array(c0),
    )
    features = _core.sparse_parts(5, rows, np.ones(size, dtype=np.int64))
    return Case(_core.join(structure, features), outputs, gold, costs, matrices)
