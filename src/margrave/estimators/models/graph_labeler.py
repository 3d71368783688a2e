"""Models that predict labels for the nodes of graphs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.data.graphs import Graph, as_graphs
from margrave.errors import MargraveError
from margrave.estimators.extras import PREDICTION, Extra
from margrave.estimators.model import check_choice
from margrave.estimators.models.approximate import ApproximateModel
from margrave.examples import Examples
from margrave.maps.graphs import GraphMap
from margrave.maps.table import hash_bits_of
from margrave.settings.classifiers import GraphSettings
from margrave.structures.factor_graph import INFERENCES, FactorGraph


class GraphModel(GraphSettings, ApproximateModel, saved_as="GraphLabeler"):
    """Predicts a label for every node of a graph: what `load` makes of the file of a `GraphLabeler`."""

    extras = (
        Extra(
            "allowed", PREDICTION, "for each graph None or, for each of its nodes, None or the labels that it may have."
        ),
    )
    _approximate_with = "inference='bp', 'trw', 'relaxed' or 'lp'"

    classes_: NDArray[Any]
    map_: GraphMap
    features = None

    def top_pairs(self, n: int = 10) -> list[tuple[Any, float]]:
        """The n attributes of edges with pairs of labels that have the largest absolute weights, with these weights.

        Parameters
        ----------
        n : the number of attributes.
        """
        self._check_fitted()
        return self.map_.top_pairs(self.coef_, self.outputs_.names, n)

    def _check_parameters(self) -> Any:
        check_choice("inference", self.inference, tuple(INFERENCES))
        hash_bits_of(self.weights)
        return super()._check_parameters()

    def _structure(self, examples: Examples) -> FactorGraph:
        return FactorGraph(None, self.inference, self.memory)

    def _examples(self, method: str, X: Any, extras: Mapping[str, Any], Y: Any = None) -> Examples:
        examples = super()._examples(method, X, extras, Y)
        if hasattr(X, "__len__") and hasattr(X, "__getitem__"):
            shapes = [x.shape[:2] if isinstance(x, np.ndarray) else None for x in X]  # of images
            return examples.having(shapes=shapes) if any(shapes) else examples
        return examples

    def _inputs(self, X: Any) -> list[Graph]:
        return as_graphs(X, self.neighbors, self.window)

    def _outputs(self, Y: Any, X: Sequence[Graph]) -> list[list[Any]]:
        return flat_labels(Y, X)

    def _finished(self, examples: Examples, outputs: Sequence[Any], owners: Sequence[int]) -> Any:
        shapes = examples.extra("shapes")
        if shapes is None:
            return outputs
        return [_shaped(y, shapes[i]) for y, i in zip(outputs, owners, strict=True)]

    def _predict_marginals(self, examples: Examples) -> list[NDArray[np.float64]]:
        tables: list[NDArray[np.float64]] = super()._predict_marginals(examples)
        return self._finished(examples, tables, range(len(tables)))  # type: ignore[no-any-return]

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        if len(Y) != len(predicted):
            raise MargraveError(f"there are {len(predicted)} graphs in X and {len(Y)} in y.")
        right = total = 0
        for i, (gold, found) in enumerate(zip(Y, predicted, strict=True)):
            labels, names = np.asarray(gold, dtype=object).ravel().tolist(), np.asarray(found).ravel().tolist()
            if len(labels) != len(names):
                raise MargraveError(f"example {i} has {len(names)} nodes and {len(labels)} labels.")
            right += sum(a == b for a, b in zip(labels, names, strict=True))
            total += sum(label is not None for label in labels)
        if total == 0:
            raise MargraveError("no node has a known label, so there is nothing to score.")
        return right / total


def _shaped(values: Any, shape: tuple[int, int] | None) -> Any:
    """Labels or marginals of an image as an array of its shape."""
    return values if shape is None else np.asarray(values).reshape(*shape, *np.shape(values)[1:])


def flat_labels(Y: Any, graphs: Sequence[Graph]) -> list[list[Any]]:
    """The labels of the nodes of each graph as lists; those of images may be arrays (height, width)."""
    if isinstance(Y, str | bytes) or not hasattr(Y, "__len__"):
        raise MargraveError(f"y must be a list with the labels of each graph, not {type(Y).__name__}.")
    if len(Y) != len(graphs):
        raise MargraveError(f"there are {len(graphs)} graphs in X and {len(Y)} in y.")
    flat = []
    for i, (labels, graph) in enumerate(zip(Y, graphs, strict=True)):
        if isinstance(labels, Mapping) and graph.names is not None:
            if missing := [node for node in graph.names if node not in labels]:
                raise MargraveError(f"example {i}: node {missing[0]!r} has no label.")
            if superfluous := set(labels).difference(graph.names):
                node = min(superfluous, key=repr)
                raise MargraveError(f"example {i}: there is a label for {node!r}, which is not a node of the graph.")
            labels = [labels[node] for node in graph.names]
        elif isinstance(labels, np.ndarray):
            if graph.shape is not None and labels.ndim == 2 and labels.shape != graph.shape:
                raise MargraveError(f"example {i} is an image of {graph.shape}, but its labels are {labels.shape}.")
            labels = labels.ravel().tolist()
        if isinstance(labels, str | bytes) or not hasattr(labels, "__len__"):
            raise MargraveError(f"example {i}: y must have a list of labels per graph, not {type(labels).__name__}.")
        if len(labels) != len(graph):
            raise MargraveError(f"example {i} has {len(graph)} nodes and {len(labels)} labels.")
        flat.append(list(labels))
    return flat
