"""Models that predict labels for the nodes of graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length, is_list, whole
from margrave.data.classes import same
from margrave.data.graphs import Graph, as_graphs
from margrave.errors import MargraveError, quoted
from margrave.estimators.extras import PREDICTION, Extra
from margrave.estimators.model import check_choice
from margrave.estimators.models.approximate import ApproximateModel
from margrave.examples import Examples
from margrave.maps.graphs import GraphMap
from margrave.maps.table import hash_bits_of
from margrave.settings.classifiers import GraphSettings
from margrave.structures.factor_graph import INFERENCES, FactorGraph
from margrave.structures.hidden_states import HiddenStates


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
        n = whole("n", n, 1, 2**31 - 1)
        return self.map_.top_pairs(self.coef_, self._structure(Examples([])).part_names(self.outputs_), n)

    def _check_parameters(self) -> Any:
        check_choice("inference", self.inference, tuple(INFERENCES))
        if not isinstance(self.states, Mapping):
            whole("states", self.states, 1, 2**31 - 1)
        hash_bits_of(self.weights)
        return super()._check_parameters()

    def _structure(self, examples: Examples) -> FactorGraph:
        settings: dict[str, Any] = {"inference": self.inference, "memory": self.memory, "iterations": self.iterations}
        return FactorGraph(**settings) if self.states == 1 else HiddenStates(**settings, states=self.states)

    def _examples(self, method: str, X: Any, extras: Mapping[str, Any], *Y: Any) -> Examples:
        examples = super()._examples(method, X, extras, *Y)
        if is_list(X):
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

    def _predict_kbest(self, examples: Examples, k: int) -> list[list[tuple[float, Any]]]:
        if self.states != 1:
            raise MargraveError("the k best labelings are not known where labels have hidden states: use sample.")
        return super()._predict_kbest(examples, k)

    def _log_probability(self, examples: Examples) -> NDArray[np.float64]:
        """That of the labels that are known, summed over all others and over hidden states."""
        self._check_fitted()
        graphs = self._inputs(examples.X)
        labels = self._outputs(examples.Y, graphs)
        if self.states == 1 and not any(label is None for each in labels for label in each):
            return super()._log_probability(examples)
        allowed = examples.extra("allowed")
        if allowed is None:
            allowed = [None] * len(labels)
        else:
            self._bind(replace(examples, Y=None))  # which refuses what is not a list for each graph
        agree = [observed(each, among) for each, among in zip(labels, allowed, strict=True)]
        # One labeling that agrees, the same in both, cancels out.
        one = [[self.classes_[0] if among is None else next(iter(among)) for among in each] for each in agree]
        examples = replace(examples, X=graphs, Y=one)
        difference = super()._log_probability(examples) - super()._log_probability(examples.having(allowed=agree))
        return np.minimum(difference, 0.0)

    def _predict(self, examples: Examples) -> Any:
        if self._way_to_decode() == "best":
            return super()._predict(examples)
        labels = self._most_probable(examples)
        ruled = [i for i, graph in enumerate(examples.X) if graph.rules] if self.decode == "auto" else []
        if ruled:
            for i, best in zip(ruled, super()._predict(examples.some(ruled)), strict=True):
                labels[i] = best
        return labels

    def _way_to_decode(self) -> str:
        """What `decode` stands for; graphs with rules are another matter."""
        check_choice("way to decode", self.decode, ("auto", "best", "marginals"))
        if self.decode == "auto":
            return "marginals" if self.inference != "exact" and self._has_probabilities() else "best"
        return self.decode

    def _most_probable(self, examples: Examples) -> Any:
        """The label of each node with the largest marginal."""
        bound = self._bind(examples)
        begin, _, mu = _core.marginals_all(bound.problem, self.coef_, self._temperature(), self._threads())
        names = self.classes_.tolist()
        labels = [[names[k] for k in table.argmax(axis=1).tolist()] for table in bound.present(begin, mu)]
        return self._finished(bound.examples, labels, range(len(labels)))

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
            right += sum(same(a, b) for a, b in zip(labels, names, strict=True))
            total += sum(label is not None for label in labels)
        if total == 0:
            raise MargraveError("no node has a known label, so there is nothing to score.")
        return right / total


def _shaped(values: Any, shape: tuple[int, int] | None) -> Any:
    """Labels or marginals of an image as an array of its shape."""
    return values if shape is None else np.asarray(values).reshape(*shape, *np.shape(values)[1:])


def observed(labels: Sequence[Any], allowed: Sequence[Any] | None = None) -> list[Any]:
    """The labels that each node of a graph may have, given those that are known; None: all."""
    among = [None] * len(labels) if allowed is None else allowed
    return [each if label is None else [label] for label, each in zip(labels, among, strict=True)]


def flat_labels(Y: Any, graphs: Sequence[Graph]) -> list[list[Any]]:
    """The labels of the nodes of each graph as lists; those of images may be arrays (height, width)."""
    if not has_length(Y):
        raise MargraveError(f"y must be a list with the labels of each graph, not {type(Y).__name__}.")
    if len(Y) != len(graphs):
        raise MargraveError(f"there are {len(graphs)} graphs in X and {len(Y)} in y.")
    flat = []
    for i, (labels, graph) in enumerate(zip(Y, graphs, strict=True)):
        if isinstance(labels, Mapping) and graph.names is not None:
            if missing := [node for node in graph.names if node not in labels]:
                raise MargraveError(f"example {i}: node {quoted(missing[0])} has no label.")
            if superfluous := set(labels).difference(graph.names):
                node = min(superfluous, key=repr)
                raise MargraveError(f"example {i}: there is a label for {node!r}, which is not a node of the graph.")
            labels = [labels[node] for node in graph.names]
        elif isinstance(labels, np.ndarray):
            if graph.shape is not None and labels.ndim == 2 and labels.shape != graph.shape:
                raise MargraveError(f"example {i} is an image of {graph.shape}, but its labels are {labels.shape}.")
            labels = labels.ravel().tolist()
        if not has_length(labels):
            raise MargraveError(f"example {i}: y must have a list of labels per graph, not {type(labels).__name__}.")
        if len(labels) != len(graph):
            raise MargraveError(f"example {i} has {len(graph)} nodes and {len(labels)} labels.")
        flat.append(list(labels))
    return flat
