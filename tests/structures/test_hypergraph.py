"""The hypergraph engine on random graphs, against the enumeration of derivations."""

from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from margrave.testing.enumeration import Outputs
from tests.references.enumeration import Graph
from tests.registry.hypergraphs import core_graph

seeds = st.integers(0, 2**32 - 1)
many = settings(max_examples=60, deadline=None)


def random_graph(rng: np.random.Generator) -> tuple[Graph, int]:
    """Any acyclic graph: nodes without edges, edges without tails or parts, the same tail or part twice."""
    nodes, parts = int(rng.integers(1, 8)), int(rng.integers(1, 6))
    edges = []
    for v in range(nodes):
        for _ in range(rng.integers(0, 4)):
            tails = tuple(int(u) for u in rng.integers(0, v, rng.integers(0, 3))) if v else ()
            edges.append((v, tails, tuple(int(p) for p in rng.integers(0, parts, rng.integers(0, 3)))))
    return Graph(nodes, edges), parts


def small_graph(rng: np.random.Generator) -> tuple[Graph, int, Outputs]:
    while True:
        graph, parts = random_graph(rng)
        sizes = [0] * graph.nodes  # derivations of each node, before they are made
        for head, tails, _ in graph.edges:
            sizes[head] += int(np.prod([sizes[u] for u in tails], dtype=float))
        if sizes[-1] <= 200 and max(sizes) <= 2000:
            return graph, parts, Outputs(parts, graph.derivations())


def problem_of(graph: Graph, parts: int) -> _core.Problem:
    count = np.array([parts], dtype=np.int64)
    structure = _core.hypergraphs([core_graph(graph)], count, None, None, None)
    rows = _core.Tokens(np.array([0, parts]), np.zeros(parts + 1, dtype=np.int64), np.zeros(0, np.int32), None)
    return _core.join(structure, _core.sparse_parts(0, rows, np.ones(1, dtype=np.int64)))


def scores(rng: np.random.Generator, parts: int) -> np.ndarray:
    theta = rng.choice([1.0, 300.0, 800.0]) * rng.standard_normal(parts)
    if rng.random() < 0.3:
        theta = np.round(theta)
    theta[rng.random(parts) < rng.choice([0.0, 0.2])] = -inf
    return theta


@given(seed=seeds)
@many
def test_inference_agrees_with_the_derivations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, parts, outputs = small_graph(rng)
    problem, theta = problem_of(graph, parts), scores(rng, parts)
    values = outputs.values(theta) if outputs.ys else np.zeros(0)
    if values.max(initial=-inf) == -inf:
        assert problem.argmax(0, theta)[0] == -inf and len(problem.argmax(0, theta)[1]) == 0
        assert problem.logsum(0, theta)[0] == -inf and not problem.logsum(0, theta)[1].any()
        assert problem.kbest(0, theta, 5) == []
        assert problem.argmax_by_cost(0, theta, np.ones(parts)) == []
        with pytest.raises(MargraveError, match="every output is forbidden"):
            problem.sample(0, theta, 0)
        return
    value, y = problem.argmax(0, theta)
    assert_allclose(value, float(values.max()), rtol=1e-9, atol=1e-9)
    assert tuple(y.tolist()) in outputs.ys
    log_z, mu = problem.logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert_allclose(log_z, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(mu, marginals, rtol=1e-9, atol=1e-30)
    assert tuple(problem.sample(0, theta, seed).tolist()) in outputs.ys


@given(seed=seeds)
@many
def test_kbest_finds_every_derivation_once_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, parts, outputs = small_graph(rng)
    problem, theta = problem_of(graph, parts), scores(rng, parts)
    values = outputs.values(theta).astype(float) if outputs.ys else np.zeros(0)
    alive = np.sort(values[values > -inf])[::-1]
    for k in (1, 3, len(values) + 1):
        found = problem.kbest(0, theta, k)
        assert len(found) == min(k, len(alive))
        assert_allclose([value for value, _ in found], alive[:k], rtol=1e-9, atol=1e-9)
        for value, y in found:
            assert_allclose(theta[y].sum(), value, rtol=1e-9, atol=1e-9)
    bags = Counter(tuple(y.tolist()) for _, y in found)
    assert bags == Counter(y for y, value in zip(outputs.ys, values, strict=True) if value > -inf)


@given(seed=seeds)
@many
def test_argmax_by_cost_agrees_with_the_derivations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, parts, outputs = small_graph(rng)
    problem, theta = problem_of(graph, parts), scores(rng, parts)
    delta = rng.integers(0, 4, parts).astype(float)
    found = problem.argmax_by_cost(0, theta, delta)
    expected = outputs.best_by_cost(theta, delta) if outputs.ys else {}
    assert [cost for cost, _, _ in found] == sorted(expected)
    for cost, value, y in found:
        assert tuple(y.tolist()) in outputs.ys
        assert delta[y].sum() == cost
        assert_allclose([value, theta[y].sum()], expected[cost], rtol=1e-9, atol=1e-9)


def test_samples_of_derivations_have_their_frequencies() -> None:
    rng = np.random.default_rng(2)
    for _ in range(4):
        graph, parts, outputs = small_graph(rng)
        while not 2 < len(set(outputs.ys)) < 40:
            graph, parts, outputs = small_graph(rng)
        problem, theta = problem_of(graph, parts), rng.standard_normal(parts)
        values = outputs.values(theta)
        p = np.exp(values - values.max()).astype(float)
        expected: Counter[tuple[int, ...]] = Counter()
        for y, share in zip(outputs.ys, p / p.sum(), strict=True):
            expected[y] += share  # type: ignore[assignment]
        draws = 4000
        seen = Counter(tuple(problem.sample(0, theta, seed).tolist()) for seed in range(draws))
        assert set(seen) <= set(expected)
        for y, share in expected.items():  # 5.5 standard deviations
            assert abs(seen[y] - draws * share) <= 5.5 * (draws * share * (1 - share)) ** 0.5 + 3


def test_a_node_without_edges_is_no_output_and_an_edge_without_parts_is_one() -> None:
    empty = problem_of(Graph(1, []), 1)
    assert empty.argmax(0, np.zeros(1))[0] == -inf
    nothing = problem_of(Graph(1, [(0, (), ())]), 1)
    assert nothing.argmax(0, np.ones(1))[0] == 0 and len(nothing.argmax(0, np.ones(1))[1]) == 0
    assert nothing.logsum(0, np.ones(1))[0] == 0 and nothing.logsum(0, np.ones(1))[1].tolist() == [0]
    assert [(v, y.tolist()) for v, y in nothing.kbest(0, np.ones(1), 3)] == [(0.0, [])]


def test_a_chain_of_a_hundred_thousand_nodes_overflows_no_stack() -> None:
    n = 100_000
    graph = Graph(n, [(0, (), (0,)), *((v, (v - 1,), (v % 2,)) for v in range(1, n) for _ in range(1 + (v < 3)))])
    problem = problem_of(graph, 2)
    theta = np.array([0.0, 1.0])
    assert problem.argmax(0, theta)[0] == n / 2
    assert_allclose(problem.logsum(0, theta)[0], n / 2 + 2 * np.log(2), rtol=1e-12)
    assert len(problem.kbest(0, theta, 9)) == 4
    assert len(problem.sample(0, theta, 0)) == n


def core(nodes, heads, tail_begin, tails, part_begin, parts) -> _core.Hypergraph:
    ints, longs = (lambda x: np.array(x, dtype=np.int32)), (lambda x: np.array(x, dtype=np.int64))
    return _core.Hypergraph(nodes, ints(heads), longs(tail_begin), ints(tails), longs(part_begin), ints(parts))


def test_graphs_that_are_none_are_refused_in_words() -> None:
    assert core(2, [0, 1], [0, 0, 1], [0], [0, 1, 2], [0, 4]).parts == 5
    for arguments, message in (
        ((0, [], [0], [], [0], []), "nodes of a hypergraph must be from 1"),
        ((2, [1, 0], [0, 0, 0], [], [0, 0, 0], []), "ascending order"),
        ((2, [2], [0, 0], [], [0, 0], []), "heads must be nodes"),
        ((2, [-1], [0, 0], [], [0, 0], []), "heads must be nodes"),
        ((2, [1], [0, 1], [1], [0, 0], []), "before its head"),
        ((2, [1], [0, 1], [-1], [0, 0], []), "before its head"),
        ((2, [1], [0, 2], [0], [0, 0], []), "ragged lists"),
        ((2, [1], [0], [], [0, 0], []), "ragged lists"),
        ((2, [1], [0, 0], [], [0, 1], [-1]), "negative"),
    ):
        with pytest.raises(MargraveError, match=message):
            core(*arguments)


def test_examples_that_do_not_fit_their_graph_are_refused_in_words() -> None:
    graph = core(1, [0], [0, 0], [], [0, 1], [3])
    four, gold = np.array([4], dtype=np.int64), [np.array([3], dtype=np.int32)]
    assert _core.hypergraphs([graph], four, gold, [np.zeros(4)], np.zeros(1)).size == 1
    with pytest.raises(MargraveError, match="more parts"):
        _core.hypergraphs([graph], np.array([3], dtype=np.int64), None, None, None)
    with pytest.raises(MargraveError, match="gold part is out of range"):
        _core.hypergraphs([graph], four, [np.array([4], dtype=np.int32)], None, None)
    with pytest.raises(MargraveError, match="every part"):
        _core.hypergraphs([graph], four, gold, [np.zeros(3)], None)
    with pytest.raises(MargraveError, match="length 1"):
        _core.hypergraphs([graph], four, gold, None, np.zeros(2))


def test_a_missing_graph_is_refused(child) -> None:
    printed = child("""
try:
    _core.hypergraphs([None], np.array([2], dtype=np.int64), None, None, None)
except (MargraveError, TypeError) as error:
    print("refused:", error)
""")
    assert "refused" in printed
