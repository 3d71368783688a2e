"""Several classes per example from a hierarchy; an example with a class also has all its ancestors."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from margrave.data import Taxonomy
from margrave.errors import MargraveError
from margrave.estimators.matrix_examples import MatrixExamples, has_names
from margrave.estimators.model import Given
from margrave.maps import NodeMap, table_named
from margrave.settings.classifiers import HierarchySettings
from margrave.structures import NodeSets
from margrave.structures.node_sets import closed_sets


class HierarchicalMultiLabelClassifier(HierarchySettings, MatrixExamples):
    """Predicts sets of nodes of one or more trees that contain the parent of each of their nodes.

    X is a dense or sparse matrix, or a list of attribute lists or dictionaries. Y is a list of sets of nodes, to which
    all ancestors are added, or an indicator matrix with one column per node in sorted order. The cost is the number of
    missing and superfluous nodes.

    Attributes
    ----------
    classes_ : the nodes, sorted.
    taxonomy_ : the taxonomy of the nodes.
    coef_, intercept_ : (nodes, attributes), or one number per observed pair; and one number per node.

    >>> model = HierarchicalMultiLabelClassifier(taxonomy=".", C=10.0)
    >>> model.fit([["purr"], ["bark"], []], [["pet.cat"], ["pet.dog"], []]).predict([["bark"], []])
    [['pet', 'pet.dog'], []]
    """

    classes_: NDArray[Any]
    intercept_: NDArray[np.float64]  # one number per node; zero without intercept

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the nodes."""
        self._check_fitted()
        taxonomy: Taxonomy = self.outputs_.taxonomy
        return taxonomy

    def _structure(self, given: Given) -> NodeSets:
        return NodeSets(self.taxonomy)

    def _map(self, outputs: Any) -> NodeMap:
        return NodeMap(table_named(self.weights, self.kernel), self.intercept)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The micro-averaged F1 of the nodes of all examples; 1 if there are no nodes and none are predicted."""
        names = outputs.classes.tolist()
        gold = closed_sets(Y, outputs)
        if len(gold) != len(predicted):
            raise MargraveError(f"there are {len(predicted)} examples in X and {len(gold)} in Y.")
        right = sum(len({names[k] for k in a} & set(b)) for a, b in zip(gold, predicted, strict=True))
        both = sum(map(len, gold)) + sum(map(len, predicted))
        return 2 * right / both if both else 1.0

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        if self.features is not None or has_names(given.X):
            return given, sample_weight
        rows = check_array(given.X, accept_sparse="csr", dtype=np.float64, estimator=self)
        return replace(given, X=rows, original=given.X), sample_weight

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        super()._set_weights(w)
        size = self.map_.table.size
        self.intercept_ = w[size:] if self.map_.intercept else np.zeros(len(self.outputs_.classes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
