"""Factor graphs, labeled graphs and sets of nodes."""

from itertools import combinations, product
from typing import Any

import numpy as np

from margrave.binding import bind as bind_examples
from margrave.data import Graph as NodesAndEdges
from margrave.data import Taxonomy
from margrave.examples import Examples
from margrave.losses import LossFamily
from margrave.maps import FeatureTable, GraphMap, SparseMap
from margrave.structures import (
    FactorGraph,
    Labels,
    NodeSets,
)
from margrave.structures.factor_graph import shared_graphs
from margrave.testing.enumeration import Outputs, Parts
from tests.references.graphs import SETS, labelings, part_count, random_graph
from tests.references.problems import bind
from tests.registry.cases import LABEL_COSTS, Case, register
from tests.registry.labels import Rows, label_loss


@register("graph, tree", LABEL_COSTS, style="tree")
@register("graph, loops", LABEL_COSTS, style="loop", form="real")
@register("graph, triples", style="triples")
@register("graph, disconnected", style="disconnected", form="vectors")
@register("graph, single variable", style="single")
@register("graph, hard factors", style="hard", bits=3)
@register("graph, listed tuples", style="listed")
@register("graph, partial factors", LABEL_COSTS, style="partial", form="real")
@register("graph, allowed", style="allowed")
@register("graph, bp", exact=False, style="loop", inference="bp", form="real")
@register("graph, bp, triples, parallel", exact=False, style="triples", inference="bp", schedule="parallel")
@register("graph, bp, hard factors, residual", exact=False, style="hard", inference="bp", schedule="residual")
@register("graph, bp, allowed, messages kept", exact=False, style="allowed", inference="bp", keep=1.0)
@register("graph, trw", exact=False, style="loop", inference="trw", form="vectors")
@register("graph, trw, messages kept", exact=False, style="loop", inference="trw", keep=1.0)
@register("graph, relaxed", exact=False, style="loop", inference="relaxed", form="real")
@register("graph, relaxed, hard factors", exact=False, style="hard", inference="relaxed")
@register("graph, lp", exact=False, style="loop", inference="lp", form="real")
@register("graph, lp, triples", exact=False, style="triples", inference="lp")
@register("graph, lp, partial factors", exact=False, style="partial", inference="lp")
@register("graph, lp, listed tuples", exact=False, style="listed", inference="lp")
def graph(
    rng: np.random.Generator, cost: str, size: int, *, style: str, form: str = "names", bits: int = 0, **inference: Any
) -> Case:
    price, loss = {}, None
    for name, labels in SETS.items():
        loss, price[name] = label_loss(np.random.default_rng(0), cost if cost == "hamming" else "hamming", labels)
    if cost != "hamming":  # costs of labels are given for one set of labels
        loss, price["three"] = label_loss(rng, cost, SETS["three"])
    sets = SETS if cost == "hamming" else {"three": SETS["three"]}
    graphs = [random_graph(rng, style, sets, 5 if cost == "hamming" else 4) for _ in range(size)]
    if size > 2:
        graphs[2] = graphs[1]  # examples may share a graph
    every = [list(labelings(graph, sets)) for graph in graphs]
    gold = [ys[rng.integers(len(ys))][0] for ys in every]
    allowed = None
    if style == "allowed":
        masks = [
            [[name for k, name in enumerate(sets[kind]) if k == right or rng.random() < 0.6] for kind, right in pairs]
            for pairs in (list(zip(graph.variables, y, strict=True)) for graph, y in zip(graphs, gold, strict=True))
        ]
        allowed = [None, *masks[1:]]
        every = [
            [
                (y, parts)
                for y, parts in ys
                if mask is None
                or all(sets[kind][k] in names for kind, k, names in zip(graph.variables, y, mask, strict=True))
            ]
            for ys, mask, graph in zip(every, allowed, graphs, strict=True)
        ]
    counts = [part_count(graph, sets) for graph in graphs]
    rows = Rows(rng, counts, form, bits)
    names = [[sets[kind][k] for kind, k in zip(g.variables, y, strict=True)] for g, y in zip(graphs, gold, strict=True)]
    bound = bind_examples(
        FactorGraph(labels=sets, **inference),
        SparseMap(bits),
        Examples(graphs, names, extras={"allowed": allowed}, encoded=rows.given),
        costs=None if loss is None else loss.costs,
    )
    assert bound.decode(*bound.core.gold_parts()) == names
    return Case(
        bound.problem,
        [Outputs(n, [parts for _, parts in ys]) for n, ys in zip(counts, every, strict=True)],
        [dict(ys)[y] for ys, y in zip(every, gold, strict=True)],
        [
            np.array([sum(price[kind][r, k] for kind, r, k in zip(g.variables, right, y, strict=True)) for y, _ in ys])
            for g, right, ys in zip(graphs, gold, every, strict=True)
        ],
        rows.matrices(),
        bound=bound.approximate,
    )


@register("graph, tied weights", LABEL_COSTS)
@register("graph, tied weights of edges", described=True, form="real")
@register("graph, tied weights, directed", pairs="directed", form="vectors", described=True, intercept=False)
@register("graph, tied weights, equal labels", pairs="equal", bits=2)
def labeled_graph(
    rng: np.random.Generator,
    cost: str,
    size: int,
    *,
    pairs: str = "auto",
    described: bool = False,
    intercept: bool = True,
    form: str = "names",
    bits: int = 0,
) -> Case:
    labels = int(rng.integers(2, 4))
    classes = [f"label {k}" for k in range(labels)]
    loss, price = label_loss(rng, cost, classes)
    nodes = [1, 4, *(int(n) for n in rng.integers(2, 5, max(0, size - 2)))][:size]
    edges = [
        [(int(a), int(b)) for a, b in map(rng.permutation, combinations(range(n), 2)) if rng.random() < 0.6]
        for n in nodes
    ]
    gold = [tuple(int(k) for k in rng.integers(0, labels, n)) for n in nodes]
    of_nodes = Rows(rng, nodes, form, bits)
    of_edges = Rows(rng, [len(e) for e in edges], form, bits) if described else None
    graphs = [
        NodesAndEdges(x, e, None if of_edges is None else of_edges.given[i])
        for i, (x, e) in enumerate(zip(of_nodes.given, edges, strict=True))
    ]
    structure, feature_map = FactorGraph(), GraphMap(pairs, intercept, bits)
    bound = bind_examples(
        structure,
        feature_map,
        Examples(shared_graphs(graphs), [[classes[k] for k in y] for y in gold], encoded=graphs),
        outputs=Labels(np.array(classes)),
        costs=None if loss is None else loss.costs,
    )
    if pairs == "auto":
        pairs = "directed" if described else "symmetric"
    column = {"directed": lambda a, b: (a, b), "equal": lambda a, b: 0 if a == b else None}.get(
        pairs, lambda a, b: (min(a, b), max(a, b))
    )
    columns = list(dict.fromkeys(column(a, b) for a, b in product(range(labels), repeat=2) if column(a, b) is not None))
    edge_count = of_edges.count if of_edges else (1 << bits if bits and described else 0)
    width = (of_nodes.count + intercept) * labels + (edge_count + intercept) * len(columns)
    outputs, matrices, costs = [], [], []
    for i, (n, joined) in enumerate(zip(nodes, edges, strict=True)):
        count = n * labels + len(joined) * labels**2
        a = np.zeros((count, width))
        for v, pairs_of_row in enumerate(of_nodes.pairs[i]):
            for attribute, value in [*([(-1, 1.0)] if intercept else []), *pairs_of_row]:
                for k in range(labels):
                    a[v * labels + k, (attribute + intercept) * labels + k] += value
        first = (of_nodes.count + intercept) * labels
        for e in range(len(joined)):
            row = [*([(-1, 1.0)] if intercept else []), *(of_edges.pairs[i][e] if of_edges else [])]
            for attribute, value in row:
                for k, m in product(range(labels), repeat=2):
                    if (which := column(k, m)) is not None:
                        place = first + (attribute + intercept) * len(columns) + columns.index(which)
                        a[n * labels + (e * labels + k) * labels + m, place] += value
        ys = list(product(range(labels), repeat=n))
        outputs.append(
            Outputs(
                count,
                [
                    tuple(v * labels + k for v, k in enumerate(y))
                    + tuple(n * labels + (e * labels + y[s]) * labels + y[t] for e, (s, t) in enumerate(joined))
                    for y in ys
                ],
            )
        )
        costs.append(np.array([sum(price[r, k] for r, k in zip(gold[i], y, strict=True)) for y in ys], dtype=float))
        matrices.append(a)
    golds = [outputs[i].ys[list(product(range(labels), repeat=n)).index(gold[i])] for i, n in enumerate(nodes)]
    return Case(bound.problem, outputs, golds, costs, matrices)


@register("node sets")
@register("node sets, intercept, real values", intercept=True, form="real")
def node_sets(rng: np.random.Generator, cost: str, size: int, *, intercept: bool = False, form: str = "names") -> Case:
    nodes = int(rng.integers(1, 8))
    parents = {k: int(rng.integers(k)) if k and rng.random() < 0.7 else None for k in range(nodes)}
    order = rng.permutation(nodes).tolist()  # node k is class number order[k]
    above = {order[k]: None if p is None else order[p] for k, p in parents.items()}
    outputs = closed_sets(above)
    gold = [outputs[rng.integers(len(outputs))] for _ in range(size)]
    rows = Rows(rng, [1] * size, form, 0)
    problem = bind(
        NodeSets(Taxonomy(above)),
        [tokens[0] for tokens in rows.given],
        gold,
        feature_map=FeatureTable("all"),
        classes=list(range(nodes)),
        loss=LossFamily(),
        intercept=intercept,
    )
    matrices = []
    for tokens in rows.pairs:
        phi = np.zeros(rows.count)
        for a, value in tokens[0]:
            phi[a] += value
        matrices.append(np.kron(np.append(phi, 1.0) if intercept else phi, np.eye(nodes)))
    return Case(
        problem,
        [Outputs(nodes, outputs) for _ in gold],
        gold,
        [np.array([len(set(y) ^ set(g)) for y in outputs], dtype=float) for g in gold],
        matrices,
    )


def closed_sets(parents: dict[int, int | None]) -> list[Parts]:
    """All sets of nodes that hold, with a node, its parent."""
    subsets = ([v for v in sorted(parents) if bits >> v & 1] for bits in range(1 << len(parents)))
    return [tuple(y) for y in subsets if all(parents[v] is None or parents[v] in y for v in y)]
