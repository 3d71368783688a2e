"""Models of classification with features of classes."""

from typing import TYPE_CHECKING, Any

from margrave.errors import MargraveError
from margrave.estimators.model import check_choice
from margrave.estimators.models.linear_classifier import ClassifierModel
from margrave.losses import loss_named
from margrave.maps import OutputMap
from margrave.settings.classifiers import TaxonomySettings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_COSTS = ("tree", "zero-one")


class TaxonomyModel(TaxonomySettings, ClassifierModel, saved_as="TaxonomyClassifier"):
    """Predicts a class by its output features: what `load` makes of the file of a `TaxonomyClassifier`."""

    map_: OutputMap

    @property
    def output_matrix_(self) -> "csr_array":
        """The output features of each class: (classes, output features)."""
        self._check_fitted()
        return self.map_.described.matrix

    @property
    def output_features_(self) -> list[Any]:
        """The names of the output features: nodes, words, eigenvectors."""
        self._check_fitted()
        return self.map_.described.names

    def _check_parameters(self) -> Any:
        checked, loss = super()._check_parameters(), loss_named(self.loss)
        if not isinstance(loss.cost, str) or loss.cost != "hamming":
            raise MargraveError(
                "the cost of a TaxonomyClassifier is a parameter: pass cost=, and a loss without a cost."
            )
        if isinstance(self.cost, str):
            check_choice("cost", self.cost, _COSTS)
        if self.node_weights is not None and self.taxonomy is None and self.similarity is not None:
            raise MargraveError("node_weights are weights of the nodes of a taxonomy: pass taxonomy= too.")
        return checked
