"""Several labels per example, with scores for pairs of labels."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from margrave.errors import MargraveError
from margrave.estimators.approximate import ApproximateEstimator
from margrave.estimators.base import Training
from margrave.estimators.matrix_examples import has_names
from margrave.estimators.model import Given
from margrave.losses import LossFamily
from margrave.maps.label_graph import LabelGraphMap
from margrave.maps.table import hash_bits_of
from margrave.settings.classifiers import MultiLabelSettings
from margrave.structures.label_graph import LabelGraph
from margrave.structures.node_sets import read_sets


class MultiLabelClassifier(MultiLabelSettings, ApproximateEstimator):
    """Predicts sets of labels; minimises 1/2 |w|^2 + C sum_i L_i(w).

    X is a dense or sparse matrix, or a list of attribute lists or dictionaries. Y is a list of sets of labels or an
    indicator matrix. A label graph says which pairs of labels depend on each other. The cost is the number of missing
    and superfluous labels.

    Attributes
    ----------
    classes_ : the labels, sorted.
    edges_ : the pairs of labels that the label graph joins.
    coef_ : the weights.

    >>> X, Y = [["sea"], ["sea", "sun"], ["hill"], ["hill"]], [["beach"], ["beach", "holiday"], [], []]
    >>> model = MultiLabelClassifier(C=10.0).fit(X, Y)
    >>> model.predict([["sun", "sea"], ["hill"]]), model.edges_
    ([['beach', 'holiday'], []], [('beach', 'holiday')])
    """

    _approximate_with = "inference='bp', 'trw', 'relaxed' or 'lp'"

    classes_: NDArray[Any]
    n_features_in_: int

    @property
    def edges_(self) -> list[tuple[Any, Any]]:
        """The pairs of labels that the label graph joins."""
        self._check_fitted()
        labels = self.outputs_.labels
        return [(labels[a], labels[b]) for a, b in self._structure(Given([])).edges(self.outputs_)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of every label, with the loss's beta or, if that is infinite, 1.

        Parameters
        ----------
        X : as in `fit`.

        Returns
        -------
        (examples, labels), in the order of `classes_`.
        """
        probabilities: NDArray[np.float64] = self._predict_marginals(Given(X))
        return probabilities

    def _check_parameters(self) -> LossFamily:
        self._structure(Given([]))
        hash_bits_of(self.weights)
        return super()._check_parameters()

    def _structure(self, given: Given) -> LabelGraph:
        return LabelGraph(self.graph, self.inference, self.memory)

    def _map(self, outputs: Any) -> LabelGraphMap:
        return LabelGraphMap(self.pair_attributes, hash_bits_of(self.weights))

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The micro-averaged F1 of the labels of all examples; 1 if there are no labels and none are predicted."""
        gold = read_sets(Y)[1]
        if len(gold) != len(predicted):
            raise MargraveError(f"there are {len(predicted)} examples in X and {len(gold)} in Y.")
        right = sum(len(set(a) & set(b)) for a, b in zip(gold, predicted, strict=True))
        both = sum(map(len, gold)) + sum(map(len, predicted))
        return 2 * right / both if both else 1.0

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        if self.features is not None or has_names(given.X):
            return given, sample_weight
        rows = check_array(given.X, accept_sparse="csr", dtype=np.float64, estimator=self)
        return replace(given, X=rows, original=given.X), sample_weight

    def _raw(self, X: Any) -> Any:
        if self.features_ is not None or has_names(X):
            return X
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        super()._set_weights(w)
        if self.features_ is None and self.map_.encoder.form == "columns":
            self.n_features_in_ = self.map_.encoder.columns

    def _set_fitted(self, training: Training, w: NDArray[np.float64]) -> None:
        super()._set_fitted(training, w)
        if training.given.original is not None:
            validate_data(self, training.given.original, skip_check_array=True)  # This stores the names of its columns.

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags
