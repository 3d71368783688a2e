"""Models that predict several labels per example, with scores for pairs of labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError
from margrave.estimators.models.approximate import ApproximateModel
from margrave.estimators.models.matrix_examples import RowModel
from margrave.examples import Examples
from margrave.maps.table import hash_bits_of
from margrave.settings.classifiers import MultiLabelSettings
from margrave.structures.label_graph import LabelGraph
from margrave.structures.node_sets import read_sets


class MultiLabelModel(MultiLabelSettings, RowModel, ApproximateModel, saved_as="MultiLabelClassifier"):
    """Predicts sets of labels: what `load` makes of the file of a `MultiLabelClassifier`."""

    _approximate_with = "inference='bp', 'trw', 'relaxed' or 'lp'"

    classes_: NDArray[Any]

    @property
    def edges_(self) -> list[tuple[Any, Any]]:
        """The pairs of labels that the label graph joins."""
        self._check_fitted()
        labels = self.outputs_.labels
        return [(labels[a], labels[b]) for a, b in self._structure(Examples([])).edges(self.outputs_)]

    def _check_parameters(self) -> Any:
        self._structure(Examples([]))
        hash_bits_of(self.weights)
        return super()._check_parameters()

    def _structure(self, examples: Examples) -> LabelGraph:
        return LabelGraph(self.graph, self.inference, self.memory)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        """The micro-averaged F1 of the labels of all examples; 1 if there are no labels and none are predicted."""
        gold = read_sets(Y)[1]
        if len(gold) != len(predicted):
            raise MargraveError(f"there are {len(predicted)} examples in X and {len(gold)} in Y.")
        right = sum(len(set(a) & set(b)) for a, b in zip(gold, predicted, strict=True))
        both = sum(map(len, gold)) + sum(map(len, predicted))
        return 2 * right / both if both else 1.0

    def _set_learned(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_learned(header, arrays)
        self.map_.check_graph(len(self.outputs_.labels), len(self._structure(Examples([])).edges(self.outputs_)))

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        super()._set_weights(w)
        if self.features_ is None and self.map_.encoder.form == "columns":
            self.n_features_in_ = self.map_.encoder.columns
