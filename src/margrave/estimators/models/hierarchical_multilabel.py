"""Models that predict several classes per example from a hierarchy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.data import Taxonomy
from margrave.errors import MargraveError
from margrave.estimators.models.matrix_examples import MatrixModel
from margrave.examples import Examples
from margrave.settings.classifiers import HierarchySettings
from margrave.structures import NodeSets
from margrave.structures.node_sets import closed_sets


class HierarchyModel(HierarchySettings, MatrixModel, saved_as="HierarchicalMultiLabelClassifier"):
    """Predicts sets of nodes: what `load` makes of the file of a `HierarchicalMultiLabelClassifier`."""

    classes_: NDArray[Any]
    intercept_: NDArray[np.float64]  # one number per node; zero without intercept

    @property
    def taxonomy_(self) -> Taxonomy:
        """The taxonomy of the nodes."""
        self._check_fitted()
        taxonomy: Taxonomy = self.outputs_.taxonomy
        return taxonomy

    def _structure(self, examples: Examples) -> NodeSets:
        return NodeSets(self.taxonomy)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The micro-averaged F1 of the nodes of all examples; 1 if there are no nodes and none are predicted."""
        names = outputs.classes.tolist()
        gold = closed_sets(Y, outputs)
        if len(gold) != len(predicted):
            raise MargraveError(f"there are {len(predicted)} examples in X and {len(gold)} in Y.")
        right = sum(len({names[k] for k in a} & set(b)) for a, b in zip(gold, predicted, strict=True))
        both = sum(map(len, gold)) + sum(map(len, predicted))
        return 2 * right / both if both else 1.0

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        super()._set_weights(w)
        size = self.map_.table.size
        self.intercept_ = w[size:] if self.map_.intercept else np.zeros(len(self.outputs_.classes))
