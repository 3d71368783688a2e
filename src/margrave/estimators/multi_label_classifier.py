"""Several labels per example, with scores for pairs of labels."""

from typing import Any

from margrave.estimators.graph_inference import GraphEstimator
from margrave.estimators.matrix_examples import RowEstimator
from margrave.estimators.models.multi_label_classifier import MultiLabelModel
from margrave.maps.label_graph import LabelGraphMap
from margrave.maps.table import hash_bits_of


class MultiLabelClassifier(MultiLabelModel, GraphEstimator, RowEstimator):
    """Predicts sets of labels; minimizes 1/2 |w|^2 + C sum_i L_i(w).

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

    def _map(self, outputs: Any) -> LabelGraphMap:
        return LabelGraphMap(self.pair_attributes, hash_bits_of(self.weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
