"""Labels for the nodes of graphs: conditional random fields and structural SVMs on graphs, grids and images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.binding import bind
from margrave.data.graphs import Graph, as_graphs
from margrave.errors import MargraveError
from margrave.estimators.approximate import ApproximateEstimator
from margrave.estimators.base import Training, check_choice
from margrave.estimators.model import Given
from margrave.learners import CCCP, Checkpoint
from margrave.learners.checkpoint import as_checkpoint
from margrave.learners.hidden import HiddenObjective, hidden_loss
from margrave.losses import LossFamily
from margrave.maps.graphs import GraphMap
from margrave.maps.table import hash_bits_of
from margrave.settings.classifiers import GraphSettings
from margrave.structures.factor_graph import INFERENCES, FactorGraph, GraphArrays

_ROUNDS = 200  # with unknown labels; EM approaches its end slowly


@dataclass
class _GraphGiven(Given):
    """Training data; `observed` has the label of each node that is known, if some are not."""

    observed: list[list[Any]] | None = None


class GraphLabeler(GraphSettings, ApproximateEstimator):
    """Predicts a label for every node of a graph; minimises 1/2 |w|^2 + C sum_i L_i(w).

    X is a list of graphs, each of them an object of `margrave.data.Graph`, a tuple (nodes, edges) or (nodes, edges,
    edge features), a networkx graph whose nodes and edges have the attribute "features", or an image, that is an array
    (height, width) or (height, width, channels). Attributes of nodes and edges are matrices, or lists of strings or
    dictionaries. y has a list of labels for each graph, or an array (height, width) for each image. For networkx graphs
    it can also have a dictionary from nodes to labels.

    A label may be None if it is not known. With the log loss and exact inference, the model then maximises the
    likelihood of the labels that are known, which is not convex; learner 'cccp' is used, with `learner` inside.

    Attributes
    ----------
    classes_ : the labels, sorted.
    coef_ : the weights.
    history_, certificate_ : P, D and the gap after each pass, and for `coef_`.
    n_iter_, converged_, stop_reason_ : the number of iterations, and whether and why the learner stopped.

    >>> triangle = ([["red"], ["blue"], []], [(0, 1), (1, 2), (0, 2)])
    >>> path = ([["blue"], [], ["red"]], [(0, 1), (1, 2)])
    >>> labeler = GraphLabeler(C=10.0).fit([triangle, path], [["r", "b", "b"], ["b", "b", "r"]])
    >>> labeler.predict([([["red"], [], ["blue"]], [(0, 1), (1, 2)])])
    [['r', 'b', 'b']]
    """

    _approximate_with = "inference='bp', 'trw', 'relaxed' or 'lp'"

    classes_: NDArray[Any]
    map_: GraphMap
    features = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        dev: tuple[Any, ...] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Learn from graphs and the labels of their nodes.

        Parameters
        ----------
        X : the graphs.
        y : the labels of the nodes of each graph.
        sample_weight : one factor per graph on its C.
        dev : development data (X, y), by which sgd chooses its rate.
        checkpoint : a file for the state of the learner; after an interruption, the same call continues from it.
        observers : objects that are called after every pass (`margrave.learners.Observer`).
        """
        return self._fit(Given(X, y), sample_weight, self._dev_given(dev), checkpoint, observers)

    def predict(self, X: Any, *, allowed: Any = None) -> list[Any]:
        """Predict the best labels of every graph: a list, or an array (height, width) for an image.

        Parameters
        ----------
        X : as in `fit`.
        allowed : for each graph None or, for each of its nodes, None or the labels that it may have.
        """
        return self._shaped(X, self._predict(_given(X, allowed)))

    def predict_marginals(self, X: Any, *, allowed: Any = None) -> list[NDArray[np.float64]]:
        """Compute the probability of every label of every node: one (nodes, classes) array per graph.

        The model is p(y) ~ exp(beta <theta, y>) with the loss's beta, or with 1 if that is infinite. For an image the
        array is (height, width, classes).

        Parameters
        ----------
        X, allowed : as in `predict`.
        """
        return self._shaped(X, self._predict_marginals(_given(X, allowed)))

    def predict_kbest(self, X: Any, k: int = 10, *, allowed: Any = None) -> list[list[tuple[float, Any]]]:
        """Predict the k best labellings of every graph, best first, each with its score; exact inference only.

        Parameters
        ----------
        X, allowed : as in `predict`.
        k : the number of labellings.
        """
        found = self._predict_kbest(_given(X, allowed), k)
        return [[(score, self._shaped([x], [y])[0]) for score, y in scored] for x, scored in zip(X, found, strict=True)]

    def sample(self, X: Any, n: int = 1, random_state: int = 0, *, allowed: Any = None) -> list[list[Any]]:
        """Draw n labellings of every graph from the model; exact inference only.

        Parameters
        ----------
        X, allowed : as in `predict`.
        n : the number of labellings.
        random_state : the seed of the random numbers; the same seed draws the same labellings.
        """
        drawn = self._sample(_given(X, allowed), n, random_state)
        return [self._shaped([x] * n, ys) for x, ys in zip(X, drawn, strict=True)]

    def score(self, X: Any, y: Any) -> float:
        """Compute the fraction of nodes with the right label, among those whose label is known.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        return self._score(flat_labels(y, self._raw(X)), self.predict(X), self.outputs_)

    def top_pairs(self, n: int = 10) -> list[tuple[Any, float]]:
        """The n attributes of edges with pairs of labels that have the largest absolute weights, with these weights.

        Parameters
        ----------
        n : the number of attributes.
        """
        self._check_fitted()
        return self.map_.top_pairs(self.coef_, self.outputs_.names, n)

    # ---- what the base asks ------------------------------------------------------------------------------------------

    def _check_parameters(self) -> LossFamily:
        check_choice("inference", self.inference, tuple(INFERENCES))
        hash_bits_of(self.weights)
        return super()._check_parameters()

    def _fit(
        self, given: Given, sample_weight: Any, dev: Given | None, checkpoint: Any, observers: Sequence[Any]
    ) -> Self:
        if not _unknown_labels(given.Y):
            return super()._fit(given, sample_weight, dev, checkpoint, observers)
        loss = hidden_loss(self._settings())
        training = self._training(given, sample_weight, loss)
        observed = self._observed(training)
        objective = HiddenObjective(
            training.bound.problem,
            loss,
            C=self.C,
            sample_weight=training.sample_weight,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=bool(self.verbose),
            dev_score=None if dev is None else self._dev_score(dev, training),
            checkpoint=as_checkpoint(checkpoint),
            observers=tuple(observers),
            start=np.zeros(training.bound.problem.dim),
            observed=observed,
        )
        learner = CCCP(inner=self.learner, rounds=_ROUNDS)
        self._set_fitted(training, self._set_solution(learner, learner.solve(objective)))
        return self

    def _fit_path(self, given: Given, Cs: Any, sample_weight: Any) -> list[Any]:
        if _unknown_labels(given.Y):
            raise MargraveError("a path of C needs all labels, and some are unknown (None): use fit for each C.")
        return super()._fit_path(given, Cs, sample_weight)

    def _observed(self, training: Training) -> Any:
        """The problem with the labellings that agree with what is known."""
        given, bound = training.given, training.bound
        assert isinstance(given, _GraphGiven) and given.observed is not None
        allowed = [[None if label is None else [label] for label in labels] for labels in given.observed]
        to_structure = {**self._to_structure(given, given.X, bound.outputs), "allowed": allowed}
        return bind(
            bound.structure, training.feature_map, given.X, given.Y, outputs=bound.outputs, to_structure=to_structure
        ).problem

    def _costs(self, loss: LossFamily, outputs: Any, given: Given) -> Any:
        hidden = isinstance(given, _GraphGiven) and given.observed is not None
        return None if hidden else super()._costs(loss, outputs, given)

    def _structure(self, given: Given) -> FactorGraph:
        return FactorGraph(None, self.inference, self.memory)

    def _map(self, outputs: Any) -> GraphMap:
        return GraphMap(self.pairs, self.intercept, hash_bits_of(self.weights))

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        graphs = as_graphs(given.X, self.neighbours, self.window)
        labels = flat_labels(given.Y, graphs)
        if not _unknown_labels(labels):
            return replace(given, X=graphs, Y=labels), sample_weight
        known = [label for each in labels for label in each if label is not None]
        if not known:
            raise MargraveError("no node has a label.")
        # Which label stands for those that are unknown makes no difference: it is in both losses.
        complete = [[known[0] if label is None else label for label in each] for each in labels]
        return _GraphGiven(graphs, complete, given.to_map, given.to_structure, observed=labels), sample_weight

    def _raw(self, X: Any) -> list[Graph]:
        return as_graphs(X, self.neighbours, self.window)

    def _dev_given(self, dev: Any) -> Given | None:
        given = super()._dev_given(dev)
        if given is None:
            return None
        graphs = self._raw(given.X)
        return replace(given, X=graphs, Y=flat_labels(given.Y, graphs))

    def _to_structure(self, given: Given, X: list[Graph], outputs: Any) -> dict[str, Any]:
        return {**given.to_structure, "graphs": shared_graphs(X)}

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

    def _shaped(self, X: Any, found: Sequence[Any]) -> list[Any]:
        """Labels or marginals of images as arrays of their shape."""
        return [
            np.asarray(y).reshape(*x.shape[:2], *np.shape(y)[1:]) if isinstance(x, np.ndarray) else y
            for x, y in zip(X, found, strict=True)
        ]


def _unknown_labels(Y: Any) -> bool:
    """Whether some nodes have no label."""
    try:
        return any(label is None for labels in Y for label in _each(labels))
    except TypeError:  # which is refused later
        return False


def _each(labels: Any) -> Any:
    if isinstance(labels, np.ndarray):
        return labels.ravel().tolist() if labels.dtype == object else ()
    return labels.values() if isinstance(labels, Mapping) else labels


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
            raise MargraveError(f"example {i}: its labels must be a list, not {type(labels).__name__}.")
        if len(labels) != len(graph):
            raise MargraveError(f"example {i} has {len(graph)} nodes and {len(labels)} labels.")
        flat.append(list(labels))
    return flat


def shared_graphs(X: Sequence[Graph]) -> GraphArrays:
    """The graphs of all examples; those with the same nodes and edges are one."""
    number: dict[tuple[int, bytes], int] = {}
    distinct: list[Graph] = []
    graph_of = []
    for graph in X:
        key = (len(graph), graph.edges.tobytes())
        if key not in number:
            number[key] = len(distinct)
            distinct.append(graph)
        graph_of.append(number[key])
    return GraphArrays.pairwise(
        np.array(graph_of, dtype=np.int64),
        np.array([len(graph) for graph in distinct], dtype=np.int64),
        [graph.edges for graph in distinct],
    )


def _given(X: Any, allowed: Any) -> Given:
    return Given(X, to_structure={} if allowed is None else {"allowed": allowed})
