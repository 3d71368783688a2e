"""Learning weights from whole search graphs: all paths are compared with pseudo-references.

The graphs of several decodings are merged: they share their first and their last node. The pseudo-references of a
sentence are its best candidates by BLEU+1. Every path that spells one of them is good, and all other paths are wrong;
both are searched by Viterbi, since the product of the graph with the trie of the good strings divides it in two.
"""

# With LP(program="all"), this is program (8) of 004, section 5.2.

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.learners import Ended, learner_named
from margrave.learners.checks import check_loss
from margrave.learners.objective import Objective
from margrave.losses import loss_named
from margrave.structures.lattice_paths import good_arrays, vocabulary_of
from margrave.translation.decoding import Edges, Weights
from margrave.translation.parallel import split_words
from margrave.translation.tuning import MergedLists, ObjectiveLearner, Outcome


@dataclass
class GraphMargins(ObjectiveLearner):
    """Separates the paths of pseudo-references from all other paths of merged search graphs, as in `LatticeDecoder`.

    Parameters
    ----------
    n_edges : how many edges of each graph are kept, those on the best paths. Everything that is learned is relative to
        these graphs, which are pruned anyway.
    """

    needs_graphs: ClassVar[bool] = True

    n_edges: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_edges = whole("n_edges", self.n_edges, 1, 10**9)

    def pruned(self, graph: Edges) -> Edges:
        """The edges of a graph that are kept.

        Parameters
        ----------
        graph : a search graph.
        """
        return prune(graph, self.n_edges)

    def learn(self, lists: MergedLists, start: Weights, dense: int) -> Weights:
        """The optimum; the weights of the round before if it is zero, which would make all translations equal."""
        scales = lists.deviations(len(start), dense)
        graphs, strings = [], []
        for i in range(lists.size):
            if not lists.graphs[i]:
                continue
            good = lists.best(i, self.good)
            # A graph of an earlier round, or what is kept of it, need not have all of them.
            graphs.append(merge([*lists.graphs[i], *(chain(lists, i, k) for k in good)]))
            strings.append([lists.texts[i][k] for k in good])
        if not graphs:
            raise MargraveError("the decoder has no search graphs: learn from lists instead.")
        problem = _problem(graphs, strings, scales)
        loss = loss_named(self.loss)
        check_loss(learner_named(self.learner), loss)
        learner = learner_named(self.learner).resolve(loss, problem, self.settings()["C"])
        found = learner.solve(Objective(problem, loss, n_jobs=1, **self.settings()))
        interrupted = found.ended is Ended.INTERRUPTED
        self.outcome = Outcome(
            learner, found.certificate, found.history, found.converged, bool(found.w.any()), interrupted
        )
        w: Weights = found.w / scales
        return w if w.any() else start


def prune(graph: Edges, most: int) -> Edges:
    """The edges on the best paths: no other edges lie on a better path, and every edge lies on a whole path.

    Parameters
    ----------
    graph : a search graph whose edges are in the order of their heads.
    most : the number of edges to keep; more are kept if they lie on the same path as one that is kept.
    """
    if len(graph.tails) <= most:
        return graph
    tails, heads, scores = graph.tails.tolist(), graph.heads.tolist(), graph.scores.tolist()
    inside = [0.0] + [-np.inf] * (graph.nodes - 1)
    for tail, head, score in zip(tails, heads, scores, strict=True):
        inside[head] = max(inside[head], inside[tail] + score)
    outside = [-np.inf] * (graph.nodes - 1) + [0.0]
    for tail, head, score in zip(reversed(tails), reversed(heads), reversed(scores), strict=True):
        outside[tail] = max(outside[tail], outside[head] + score)
    # The best path through each edge. The sum of a path is rounded differently from edge to edge.
    through = np.array(inside)[graph.tails] + graph.scores + np.array(outside)[graph.heads]
    kept = np.flatnonzero(through >= np.partition(through, -most)[-most] - 1e-9 * max(1.0, abs(inside[-1])))
    used = np.unique(np.concatenate([graph.tails[kept], graph.heads[kept], [0, graph.nodes - 1]]))
    number = np.full(graph.nodes, -1, dtype=np.int32)
    number[used] = np.arange(len(used))
    found = _select(graph, kept)
    return replace(found, nodes=len(used), tails=number[found.tails], heads=number[found.heads])


def merge(graphs: Sequence[Edges]) -> Edges:
    """One graph with the paths of all, which share their first and their last node.

    Parameters
    ----------
    graphs : search graphs of one sentence.
    """
    last = 1 + sum(graph.nodes - 2 for graph in graphs)
    tails, heads = list[NDArray[np.int32]](), list[NDArray[np.int32]]()
    offset = 0
    for graph in graphs:
        for ends, of in ((tails, graph.tails), (heads, graph.heads)):
            ends.append(np.where(of == 0, 0, np.where(of == graph.nodes - 1, last, of + offset)).astype(np.int32))
        offset += graph.nodes - 2
    joined = Edges(
        last + 1,
        np.concatenate(tails),
        np.concatenate(heads),
        [word for graph in graphs for word in graph.words],
        np.concatenate([graph.scores for graph in graphs]),
        *_joined_rows(graphs),
    )
    return _select(joined, np.argsort(joined.heads, kind="stable"))


def _select(graph: Edges, edges: NDArray[np.intp]) -> Edges:
    """Some edges in this order, with the same numbers of nodes."""
    sizes = np.diff(graph.begin)[edges]
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    entries = np.repeat(graph.begin[edges] - begin[:-1], sizes) + np.arange(begin[-1])
    return Edges(
        graph.nodes,
        graph.tails[edges],
        graph.heads[edges],
        [graph.words[e] for e in edges],
        graph.scores[edges],
        begin,
        graph.index[entries],
        graph.value[entries],
    )


def _joined_rows(graphs: Sequence[Edges]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """The features of the edges of all graphs, one after another."""
    sizes = np.concatenate([np.diff(graph.begin) for graph in graphs])
    return (
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([graph.index for graph in graphs]),
        np.concatenate([graph.value for graph in graphs]),
    )


def _problem(graphs: Sequence[Edges], strings: Sequence[Sequence[str]], scales: Weights) -> _core.Problem:
    """The paths of the graphs, divided into those that spell one of the strings of their graph and the others."""
    number: dict[str, int] = {}
    begin = np.concatenate([[0], np.cumsum([len(graph.tails) for graph in graphs])]).astype(np.int64)
    numbers = [number.setdefault(word, len(number)) if word else -1 for graph in graphs for word in graph.words]
    good = good_arrays([list(each) for each in strings], number)
    bound = _core.lattices(
        np.array([graph.nodes for graph in graphs], dtype=np.int64),
        begin,
        np.concatenate([graph.tails for graph in graphs]),
        np.concatenate([graph.heads for graph in graphs]),
        np.array(numbers, dtype=np.int32),
        vocabulary_of(number),
        good,
        True,
    )
    row_begin, index, value = _joined_rows(graphs)
    rows = _core.Tokens(begin, row_begin, index, value / scales[index])
    return _core.divide(bound, _core.sparse_parts(len(scales), rows, bound.choices, bound.repeats))


def chain(lists: MergedLists, i: int, k: int) -> Edges:
    """A graph with one path, that of candidate k of sentence i; its first edge has all features.

    Parameters
    ----------
    lists : the candidates.
    i, k : the sentence and the candidate.
    """
    words = split_words(lists.texts[i][k]) or [""]
    index, value = lists.index[i][k], lists.value[i][k]
    nodes = np.arange(len(words) + 1, dtype=np.int32)
    begin = np.array([0] + [len(index)] * len(words), dtype=np.int64)
    return Edges(len(nodes), nodes[:-1], nodes[1:], words, np.zeros(len(words)), begin, index, value)
