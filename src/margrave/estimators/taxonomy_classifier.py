"""Classification with features of classes: taxonomies, descriptions, similarities (003, sections 4.2 and 5.1)."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import has_length
from margrave.data.taxonomy import as_taxonomy
from margrave.errors import MargraveError, quoted
from margrave.estimators.base import Training
from margrave.estimators.linear_classifier import LinearClassifier
from margrave.estimators.models.taxonomy_classifier import TaxonomyModel
from margrave.examples import Examples
from margrave.losses import Cost, Hamming, LossFamily, Matrix, Tree, cost_named
from margrave.maps import OutputMap, table_named
from margrave.maps.outputs import OutputMatrix, class_ancestors, class_similarity, class_words, side_by_side
from margrave.structures.base import Labels


class TaxonomyClassifier(TaxonomyModel, LinearClassifier):
    """Predicts a class with one weight vector per output feature instead of one per class, so that classes share them.

    The output features of taxonomy, descriptions and similarity are combined. Without any of them, this is a
    `LinearClassifier`.

    Attributes
    ----------
    classes_ : the classes, sorted.
    output_matrix_, output_features_ : the output features of each class, (classes, output features), and their names.
    coef_ : (output features, attributes), or one number per observed pair.

    >>> model = TaxonomyClassifier(taxonomy=".")
    >>> model.fit([["meow"], ["bark"], ["swim"]], ["pet.cat", "pet.dog", "fish.carp"]).predict([["bark"]])
    array(['pet.dog'], dtype='<U9')
    """

    def _map(self, outputs: Labels) -> OutputMap:
        """A table of the output features of the examples' classes; the other classes are added after learning."""
        everything = self._all_classes(outputs).classes.tolist()
        known = [everything.index(name) for name in outputs.classes.tolist()]
        described = self._described(everything)
        return OutputMap(table_named(self.weights, self.kernel), OutputMatrix(described.matrix[known], described.names))

    def _costs(self, loss: LossFamily, outputs: Labels, examples: Examples) -> Cost:
        everything = self._all_classes(outputs).classes.tolist()
        if isinstance(self.cost, str) and self.cost == "tree":
            return Tree(as_taxonomy(self.taxonomy, everything))
        cost = cost_named(self.cost)
        if isinstance(cost, Hamming | Matrix):  # given for all classes, of which examples may have some only
            return cost.of_classes(everything, outputs.classes.tolist())
        return cost

    def _set_fitted(self, training: Training, w: NDArray[np.float64]) -> None:
        outputs = self._all_classes(training.bound.outputs)
        assert isinstance(training.feature_map, OutputMap)
        feature_map = training.feature_map.copied(described=self._described(outputs.classes.tolist()))
        bound = replace(training.bound, outputs=outputs)
        super()._set_fitted(replace(training, bound=bound, feature_map=feature_map), w)

    def _all_classes(self, seen: Labels) -> Labels:
        if self.classes is None:
            return seen
        if not has_length(self.classes):
            raise MargraveError(f"classes must be a list of classes, and it is {quoted(self.classes)}.")
        everything = Labels.of(list(self.classes))
        everything.check()
        known = set(everything.classes.tolist())
        for name in seen.classes.tolist():
            if name not in known:
                raise MargraveError(f"an example has the class {quoted(name)}, which is not among classes=.")
        return everything

    def _described(self, classes: list[Any]) -> OutputMatrix:
        blocks = []
        if self.taxonomy is not None or self.similarity is None:
            blocks.append(class_ancestors(as_taxonomy(self.taxonomy, classes), classes, self.node_weights))
        if self.descriptions is not None:
            blocks.append(class_words(self.descriptions, classes))
        if self.similarity is not None:
            blocks.append(class_similarity(self.similarity, classes))
        return side_by_side(blocks)
