"""Several classes per example from a hierarchy; an example with a class also has all its ancestors."""

from typing import Any

from margrave.estimators.matrix_examples import MatrixEstimator
from margrave.estimators.models.hierarchical_multilabel import HierarchyModel
from margrave.maps import NodeMap, table_named


class HierarchicalMultiLabelClassifier(HierarchyModel, MatrixEstimator):
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

    def _map(self, outputs: Any) -> NodeMap:
        return NodeMap(table_named(self.weights, self.kernel), self.intercept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
