"""Search graphs in tuning: pruning and merging against enumeration; LP (8) over graphs is LP (8) over all paths."""

from collections.abc import Iterator

import numpy as np
import pytest

from margrave.estimators import Reranker
from margrave.learners import LP
from margrave.translation.decoding import Candidates, Edges
from margrave.translation.graph_tuning import GraphMargins, chain, merge, prune
from margrave.translation.tuning import HopeFearMIRA, MergedLists

Path = tuple[str, float, tuple[float, ...]]  # text, score, features


def random_graph(rng: np.random.Generator, features: int = 4) -> Edges:
    """A small graph, all of whose nodes lie on a path; the last edges have no word."""
    nodes = int(rng.integers(3, 6))
    edges = [(v - 1, v) for v in range(1, nodes)]
    edges += [(int(rng.integers(0, v)), v) for v in range(1, nodes) for _ in range(2)]
    edges.sort(key=lambda edge: edge[1])
    index = np.tile(np.arange(features, dtype=np.int32), len(edges))
    return Edges(
        nodes,
        np.array([tail for tail, _ in edges], dtype=np.int32),
        np.array([head for _, head in edges], dtype=np.int32),
        [str(rng.choice(list("abc"))) if head < nodes - 1 else "" for _, head in edges],
        rng.normal(size=len(edges)),
        np.arange(0, features * len(edges) + 1, features),
        index,
        rng.normal(size=features * len(edges)).round(3),
    )


def edge_paths(graph: Edges, node: int = 0) -> Iterator[list[int]]:
    """The edges of every path from a node to the last one."""
    if node == graph.nodes - 1:
        yield []
    for e in np.flatnonzero(graph.tails == node).tolist():
        for rest in edge_paths(graph, int(graph.heads[e])):
            yield [e, *rest]


def all_paths(graph: Edges, features: int = 4) -> list[Path]:
    """Every path from the first to the last node."""
    found = []
    for path in edge_paths(graph):
        total = np.zeros(features)
        for e in path:
            for k in range(graph.begin[e], graph.begin[e + 1]):
                total[graph.index[k]] += graph.value[k]
        text = " ".join(graph.words[e] for e in path if graph.words[e])
        found.append((text, round(float(graph.scores[path].sum()), 9), tuple(total.round(6).tolist())))
    return sorted(found)


def best_through(graph: Edges) -> list[float]:
    """The score of the best path through each edge, sorted."""
    best = np.full(len(graph.tails), -np.inf)
    for path in edge_paths(graph):
        best[path] = np.maximum(best[path], graph.scores[path].sum())
    return sorted(best.round(9).tolist(), reverse=True)


@pytest.mark.parametrize("seed", range(8))
def test_pruning_keeps_the_best_paths_and_merging_keeps_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = random_graph(rng), random_graph(rng)
    every = all_paths(first)
    assert all_paths(prune(first, 10**6)) == every
    for most in (1, 3, 5):
        kept = prune(first, most)
        assert set(all_paths(kept)) <= set(every)
        best = best_through(first)
        assert best_through(kept) == [each for each in best if each >= best[most - 1]]
    merged = merge([first, second])
    assert all_paths(merged) == sorted(every + all_paths(second))
    assert (np.diff(merged.heads) >= 0).all()


def lists_of(graph: Edges, references: list[str]) -> MergedLists:
    """All paths of a graph as candidates."""
    lists = MergedLists(references)
    paths = all_paths(graph)
    begin = np.arange(0, 4 * len(paths) + 1, 4)
    index = np.tile(np.arange(4, dtype=np.int32), len(paths))
    value = np.array([value for _, _, features in paths for value in features])
    lists.add(0, Candidates([text for text, _, _ in paths], begin, index, value))
    lists.graphs[0].append(graph)
    return lists


@pytest.mark.parametrize("seed", range(6))
def test_lp_over_graphs_is_lp_over_the_list_of_all_paths(seed: int) -> None:
    graph = random_graph(np.random.default_rng(100 + seed))
    reference = all_paths(graph)[0][0]
    lists = lists_of(graph, [reference])
    learner = LP(program="all", free_sign=True)
    of_graphs = GraphMargins(learner=learner, C=5.0, tol=1e-6, good=1)
    of_graphs.learn(lists, np.zeros(4), 0)
    (chosen,) = lists.best(0, 1)
    good = [k for k, text in enumerate(lists.texts[0]) if text == lists.texts[0][chosen]]
    wrong = [k for k in range(len(lists.texts[0])) if k not in good]
    rows = lists.dense(0, 4)
    listed = Reranker("hinge", C=5.0, learner=learner, tol=1e-6).fit([rows[good + wrong]], [list(range(len(good)))])
    assert of_graphs.outcome is not None and listed.certificate_.primal is not None
    assert of_graphs.outcome.certificate.primal == pytest.approx(listed.certificate_.primal, rel=1e-5)


def test_a_candidate_is_a_graph_of_one_path() -> None:
    graph = random_graph(np.random.default_rng(3))
    lists = lists_of(graph, ["a b"])
    for k, text in enumerate(lists.texts[0]):
        ((spelled, _, features),) = all_paths(chain(lists, 0, k))
        assert spelled == text
        np.testing.assert_allclose(features, lists.dense(0, 4)[k], atol=1e-6)


def test_the_average_of_mira_is_that_of_all_its_steps() -> None:
    rng = np.random.default_rng(0)
    lists = MergedLists(["a b c d", "b c d a"])
    for i in range(2):
        texts = [" ".join(rng.permutation(list("abcd"))) for _ in range(6)]
        value = rng.normal(size=5 * len(texts))
        index = np.tile(np.array([0, 1, 3, 4, 6], dtype=np.int32), len(texts))
        lists.add(i, Candidates(texts, np.arange(0, 5 * len(texts) + 1, 5), index, value))
    start = rng.normal(size=7)
    found = HopeFearMIRA(0.2, passes=3, random_state=1).learn(lists, start, 2)
    w = start * (scales := lists.deviations(7, 2))
    rows = [lists.dense(i, 7) / scales for i in range(2)]
    gains = [np.array(each) for each in lists.bleu]
    w *= 0.3 * np.sqrt(sum(np.var(each) for each in gains) / sum(np.var(each @ w) for each in rows))
    total, order = np.zeros(7), np.random.default_rng(1)
    for _ in range(3):
        for i in order.permutation(2):
            scores = rows[i] @ w
            hope, fear = int(np.argmax(scores + gains[i])), int(np.argmax(scores - gains[i]))
            change = rows[i][hope] - rows[i][fear]
            loss = gains[i][hope] - gains[i][fear] - (scores[hope] - scores[fear])
            if loss > 0 and hope != fear:
                w = w + min(0.2, loss / (change @ change)) * change
            total += w
    np.testing.assert_allclose(found, total / 6 / scales, rtol=1e-9)
