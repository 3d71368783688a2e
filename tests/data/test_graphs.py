"""Graphs as arrays, networkx graphs and images become the same thing, and what is wrong with one is named."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from margrave import GraphLabeler, MargraveError
from margrave.data import Graph, image_graph
from margrave.data.graphs import as_graphs


class Networkx:
    """What is used of a graph of networkx, whose views it imitates."""

    class View(dict):  # type: ignore[type-arg]
        def __call__(self, data: bool = False) -> Any:
            items = self.items()
            return (
                [(*(key if isinstance(key, tuple) else (key,)), value) for key, value in items] if data else list(self)
            )

    def __init__(self, nodes: dict[Any, Any], edges: dict[Any, Any], multi: bool = False) -> None:
        self.nodes, self.edges, self.multi = self.View(nodes), self.View(edges), multi

    def is_directed(self) -> bool:
        return False

    def is_multigraph(self) -> bool:
        return self.multi


def test_networkx_graphs_have_features_and_labels_by_name() -> None:
    nodes = {"x": {"features": ["red"]}, "y": {"features": ["blue"]}, "z": {"features": []}}
    edges = {("x", "y"): {"features": ["river"]}, ("z", "y"): {"features": []}}
    (graph,) = as_graphs([Networkx(nodes, edges)])
    assert graph.nodes == [["red"], ["blue"], []] and graph.edges.tolist() == [[0, 1], [2, 1]]
    assert graph.edge_features == [["river"], []] and graph.names == ["x", "y", "z"]
    model = GraphLabeler(C=10.0).fit([Networkx(nodes, edges)], [{"z": "r", "x": "r", "y": "b"}])
    assert model.predict([Networkx(nodes, edges)]) == [["r", "b", "r"]]
    with pytest.raises(MargraveError, match="example 0: node 'y' has no label"):
        GraphLabeler().fit([Networkx(nodes, edges)], [{"z": "r", "x": "r"}])
    labels = {"z": "r", "x": "r", "y": "b"}
    assert model.score([Networkx(nodes, edges)], [labels]) == 1
    with pytest.raises(MargraveError, match="example 0: there is a label for 'w', which is not a node of the graph"):
        GraphLabeler().fit([Networkx(nodes, edges)], [{**labels, "w": "b"}])
    bare = Networkx({1: {}, 2: {}}, {(1, 2): {}})
    assert as_graphs([bare])[0].edge_features is None
    with pytest.raises(MargraveError, match="some nodes have the attribute"):
        as_graphs([Networkx({1: {"features": []}, 2: {}}, {})])
    with pytest.raises(MargraveError, match="multigraph"):
        as_graphs([Networkx({}, {}, multi=True)])


def test_real_networkx_graphs_are_taken() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_node("a", features=np.array([1.0, 0.0]))
    graph.add_node("b", features=np.array([0.0, 1.0]))
    graph.add_edge("a", "b")
    (found,) = as_graphs([graph])
    assert found.nodes.tolist() == [[1, 0], [0, 1]] and found.edges.tolist() == [[0, 1]]


def test_images_are_grids() -> None:
    image = np.arange(6.0).reshape(2, 3)
    four, eight = image_graph(image), image_graph(image, neighbors=8, window=3)
    assert four.nodes.ravel().tolist() == [0, 1, 2, 3, 4, 5] and len(four.edges) == 7 and len(eight.edges) == 11
    assert four.shape == (2, 3) and four.edge_features.sum(axis=1).tolist() == [1] * 7
    assert eight.nodes[1].tolist() == [0, 0, 0, 0, 1, 2, 3, 4, 5]  # zeros above, row by row
    colors = image_graph(np.zeros((2, 2, 3)))
    assert colors.nodes.shape == (4, 3)


@pytest.mark.parametrize("row", [list, tuple, np.array])
@pytest.mark.parametrize("width", [1, 3])
def test_lists_of_numbers_are_a_matrix(row: Any, width: int) -> None:
    """In Python as in JSON lines, for nodes and for edges."""
    rng = np.random.default_rng(0)
    nodes, edges = rng.normal(size=(4, width)), rng.normal(size=(2, width))
    graphs = [(nodes, [(0, 1), (1, 2)], edges)]
    lists = [([row(each.tolist()) for each in nodes], [(0, 1), (1, 2)], [row(each.tolist()) for each in edges])]
    (graph,) = as_graphs(lists)
    assert graph.nodes.tolist() == nodes.tolist() and graph.edge_features.tolist() == edges.tolist()
    models = [GraphLabeler(C=10.0).fit(X * 2, [["a", "b", "a", "b"]] * 2) for X in (graphs, lists)]
    assert models[0].coef_.tolist() == models[1].coef_.tolist()
    assert models[1].predict(graphs) == models[1].predict(lists)
    for wrong, message in (
        ([row([1.0] * width), ["x"] * (width + 1)], "node 1: its attributes must be"),
        ([row([1.0] * width), row([np.nan] * width)], "the attributes of each node must be finite numbers"),
        ([row([1.0] * width), ["x"] * width], "the attributes of each node must be finite numbers"),
        ([row([1.0] * width), {"x": 1.0}], "node 1: its attributes must be"),
    ):
        with pytest.raises(MargraveError, match=message):
            Graph(wrong, [(0, 1)])


def test_dense_and_sparse_matrices_give_the_same_model() -> None:
    rng = np.random.default_rng(0)
    graphs = [(rng.normal(size=(4, 3)), [(0, 1), (1, 2)], rng.normal(size=(2, 2))) for _ in range(5)]
    sparse = [(csr_array(nodes), edges, csr_array(features)) for nodes, edges, features in graphs]
    y = [rng.integers(0, 2, 4).tolist() for _ in graphs]
    dense = GraphLabeler(n_jobs=1).fit(graphs, y)
    assert np.array_equal(dense.coef_, GraphLabeler(n_jobs=1).fit(sparse, y).coef_)
    assert dense.predict(sparse) == dense.predict(graphs)


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (([["a"], ["b"]], [(0, 0)]), "edge 0 is a self-loop: it joins node 0 with itself"),
        (([["a"], ["b"]], [(0, 1), (1, 0)]), "edges 0 and 1 are double: both join nodes 1 and 0"),
        (([["a"], ["b"]], [(0, 2)]), r"edge 0 joins \[0, 2\], but there are 2 nodes"),
        (([["a"], ["b"]], [(0, 1)], [["x"], ["y"]]), "it has 1 edges and attributes of 2"),
        (([], []), "it has no nodes"),
        (([["a"]], [(0.5, 1)]), "edges must be an array"),
        (([["a"]], 5), "edges must be an array"),
        (("a", []), "must be a list or a matrix"),
        (5, "a graph is a Graph, a tuple"),
        (np.zeros(3), "a graph is a Graph"),
        (np.zeros((0, 3)), "an image must be"),
        (np.array([["a"]]), "an image must be an array of numbers"),
    ],
)
def test_wrong_graphs_are_named(graph: Any, why: str) -> None:
    with pytest.raises(MargraveError, match=f"example 1: .*{why}"):
        GraphLabeler().fit([([["a"], ["b"]], [(0, 1)]), graph], [["r", "b"], ["r", "b"]])


@pytest.mark.parametrize(
    ("y", "why"),
    [
        ([["r", "b"]], "there are 2 graphs in X and 1 in y"),
        ([["r", "b"], ["r"]], "example 1 has 2 nodes and 1 labels"),
        (["rb", "rb"], "y must have a list of labels per graph"),
        ([["r", "r"], ["r", "r"]], "only one class"),
        (5, "y must be a list"),
    ],
)
def test_wrong_labels_are_named(y: Any, why: str) -> None:
    with pytest.raises(MargraveError, match=why):
        GraphLabeler().fit([([["a"], ["b"]], [(0, 1)])] * 2, y)


def test_wrong_settings_and_data_of_another_form_are_named() -> None:
    X, y = [([["a"], ["b"]], [(0, 1)])], [["r", "b"]]
    with pytest.raises(MargraveError, match="did you mean 'exact'"):
        GraphLabeler(inference="exat").fit(X, y)
    with pytest.raises(MargraveError, match="pairs"):
        GraphLabeler(pairs="both").fit(X, y)
    with pytest.raises(MargraveError, match="neighbors must be 4 or 8"):
        GraphLabeler(neighbors=6).fit([np.eye(2)], [np.eye(2)])
    with pytest.raises(MargraveError, match="window must be odd"):
        GraphLabeler(window=2).fit([np.eye(2)], [np.eye(2)])
    with pytest.raises(MargraveError, match="its labels are"):
        GraphLabeler().fit([np.eye(2)], [np.eye(3)])
    with pytest.raises(MargraveError, match="clique of"):
        GraphLabeler(memory=0.001).fit([np.eye(9)], [np.eye(9)])
    model = GraphLabeler().fit(X, y)
    with pytest.raises(MargraveError, match="its edges have attributes, but those of the training data had none"):
        model.predict([([["a"], ["b"]], [(0, 1)], [["x"]])])
    assert model.predict([([["a"], ["b"]], [(0, 1)])], allowed=[[{"b"}, None]])[0][0] == "b"
    assert model.predict([]) == []
    with pytest.raises(MargraveError, match="X must be a sequence of examples, not Graph"):
        model.predict(Graph([["a"]], []))
