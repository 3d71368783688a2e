"""Labels for the nodes of graphs: conditional random fields and structural SVMs on graphs, grids and images."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from margrave.binding import bind
from margrave.errors import MargraveError
from margrave.estimators.base import SPREAD, Training
from margrave.estimators.graph_inference import GraphEstimator
from margrave.estimators.models.graph_labeler import GraphModel, observed
from margrave.examples import Examples
from margrave.learners import CCCP, Learner, Objective, learner_named
from margrave.learners.checks import check_loss
from margrave.learners.hidden import HiddenObjective, hidden_loss
from margrave.losses import Cost, LossFamily
from margrave.maps.graphs import GraphMap
from margrave.maps.table import hash_bits_of

_ROUNDS = 200  # of cccp by default; EM approaches its end slowly
_FIRST = 1  # with the seed: the first start draws other numbers than those after it


class GraphLabeler(GraphModel, GraphEstimator):
    """Predicts a label for every node of a graph; minimizes 1/2 |w|^2 + C sum_i L_i(w).

    X is a list of graphs, each of them an object of `margrave.data.Graph`, a tuple (nodes, edges) or (nodes, edges,
    edge features), a networkx graph whose nodes and edges have the attribute "features", or an image, that is an array
    (height, width) or (height, width, channels). Attributes of nodes and edges are matrices, or lists of strings or
    dictionaries. y has a list of labels for each graph, or an array (height, width) for each image. For networkx graphs
    it can also have a dictionary from nodes to labels.

    A label may be None if it is not known, and labels may have hidden states. With the log loss and exact inference,
    the model then maximizes the likelihood of the labels that are known. This is not convex, so the learner starts from
    several points. 'lbfgs' and 'cccp' minimize it, and 'cccp' uses any other learner inside.

    Attributes
    ----------
    classes_ : the labels, sorted.
    coef_ : the weights.
    history_, certificate_ : P, D and the gap after each pass, and for `coef_`.
    n_iter_, converged_, stop_reason_ : the number of iterations, and whether and why the learner stopped.
    starts_ : after several starts, the objective and the norm of its gradient for every start; not saved.

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
        if not self._hides(labels):
            return examples, {}
        known = [label for each in labels for label in each if label is not None]
        if not known:
            raise MargraveError("no node has a label.")
        # Which label stands for those that are unknown makes no difference: it is in both losses.
        complete = [[known[0] if label is None else label for label in each] for each in labels]
        return replace(examples, Y=complete).having(observed=labels), {}

    # With unknown labels or hidden states, the likelihood of what is known is maximized.

    def _settings(self, examples: Examples) -> LossFamily:
        plain = self._check_parameters()
        if not self._hides(examples.Y):
            return super()._settings(examples)
        loss, learner = hidden_loss(plain), self._hidden_learner()
        check_loss(learner, loss)
        learner.check_packages()
        return loss

    def _hidden_learner(self) -> Learner:
        learner = learner_named(self.learner)
        return learner if "smooth latent losses" in learner.offers else CCCP(inner=self.learner, rounds=_ROUNDS)

    def _hides(self, Y: Any) -> bool:
        """Whether something of these labels is not observed."""
        return self.states != 1 or _unknown_labels(Y)

    def _n_starts(self, loss: LossFamily) -> int:
        return self.starts if loss.latent else 1

    def _costs(self, loss: LossFamily, outputs: Any, examples: Examples) -> Cost | None:
        return None if examples.extra("observed") else super()._costs(loss, outputs, examples)

    def _chosen_learner(self, objective: Objective) -> Learner:
        if not isinstance(objective, HiddenObjective):
            return super()._chosen_learner(objective)
        learner = self._hidden_learner().resolve(objective.loss, objective.problem)
        return CCCP(rounds=_ROUNDS) if learner == CCCP() else learner

    def _objective(
        self, training: Training, loss: LossFamily, kind: type[Objective] = Objective, **more: Any
    ) -> Objective:
        labels = training.examples.extra("observed")
        if labels is None:
            return super()._objective(training, loss, kind, **more)
        bound, examples = training.bound, training.examples.having(allowed=[observed(each) for each in labels])
        known = bind(bound.structure, training.feature_map, examples, outputs=bound.outputs).problem
        # Not zero: there, labels and states that no graph shows look alike, and weights for all pairs of labels keep
        # them so, up to a saddle that no learner leaves.
        start = SPREAD * np.random.default_rng([self.random_state, _FIRST]).standard_normal(known.dim)
        return super()._objective(training, loss, HiddenObjective, start=start, observed=known, **more)

    def _fit_path(self, examples: Examples, Cs: Any) -> list[Any]:
        if self._hides(examples.Y):
            hidden = "some are unknown (None)" if _unknown_labels(examples.Y) else "they have hidden states"
            raise MargraveError(f"a path of C needs all labels, and {hidden}: use fit for each C.")
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
