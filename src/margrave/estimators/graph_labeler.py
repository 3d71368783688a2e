"""Labels for the nodes of graphs: conditional random fields and structural SVMs on graphs, grids and images."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from margrave.binding import bind
from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.models.graph_labeler import GraphModel
from margrave.examples import Examples
from margrave.learners import CCCP, Learner, Objective
from margrave.learners.hidden import HiddenObjective, hidden_loss
from margrave.losses import Cost, LossFamily
from margrave.maps.graphs import GraphMap
from margrave.maps.table import hash_bits_of

_ROUNDS = 200  # with unknown labels; EM approaches its end slowly


class GraphLabeler(GraphModel, StructuredEstimator):
    """Predicts a label for every node of a graph; minimizes 1/2 |w|^2 + C sum_i L_i(w).

    X is a list of graphs, each of them an object of `margrave.data.Graph`, a tuple (nodes, edges) or (nodes, edges,
    edge features), a networkx graph whose nodes and edges have the attribute "features", or an image, that is an array
    (height, width) or (height, width, channels). Attributes of nodes and edges are matrices, or lists of strings or
    dictionaries. y has a list of labels for each graph, or an array (height, width) for each image. For networkx graphs
    it can also have a dictionary from nodes to labels.

    A label may be None if it is not known. With the log loss and exact inference, the model then maximizes the
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

    def _map(self, outputs: Any) -> GraphMap:
        return GraphMap(self.pairs, self.intercept, hash_bits_of(self.weights))

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        graphs = self._inputs(examples.X)
        labels = self._outputs(examples.Y, graphs)
        examples = replace(examples, X=graphs, Y=labels)
        if not _unknown_labels(labels):
            return examples, {}
        known = [label for each in labels for label in each if label is not None]
        if not known:
            raise MargraveError("no node has a label.")
        # Which label stands for those that are unknown makes no difference: it is in both losses.
        complete = [[known[0] if label is None else label for label in each] for each in labels]
        return replace(examples, Y=complete).having(observed=labels), {}

    # With unknown labels, `CCCP` maximizes the likelihood of those that are known.

    def _settings(self, examples: Examples) -> LossFamily:
        loss = super()._settings(examples)
        return hidden_loss(loss) if _unknown_labels(examples.Y) else loss

    def _costs(self, loss: LossFamily, outputs: Any, examples: Examples) -> Cost | None:
        return None if examples.extra("observed") else super()._costs(loss, outputs, examples)

    def _chosen_learner(self, objective: Objective) -> Learner:
        if isinstance(objective, HiddenObjective):
            return CCCP(inner=self.learner, rounds=_ROUNDS)
        return super()._chosen_learner(objective)

    def _objective(
        self, training: Training, loss: LossFamily, kind: type[Objective] = Objective, **more: Any
    ) -> Objective:
        labels = training.examples.extra("observed")
        if labels is None:
            return super()._objective(training, loss, kind, **more)
        allowed = [[None if label is None else [label] for label in each] for each in labels]
        bound, examples = training.bound, training.examples.having(allowed=allowed)
        observed = bind(bound.structure, training.feature_map, examples, outputs=bound.outputs).problem
        start = np.zeros(observed.dim)
        return super()._objective(training, loss, HiddenObjective, start=start, observed=observed, **more)

    def _fit_path(self, examples: Examples, Cs: Any) -> list[Any]:
        if _unknown_labels(examples.Y):
            raise MargraveError("a path of C needs all labels, and some are unknown (None): use fit for each C.")
        return super()._fit_path(examples, Cs)


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
