"""Models of classification without structure."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.estimators.models.matrix_examples import MatrixModel
from margrave.examples import Examples
from margrave.settings.classifiers import ClassifierSettings
from margrave.structures import Multiclass


class ClassifierModel(ClassifierSettings, MatrixModel, saved_as="LinearClassifier"):
    """Predicts a class: what `load` makes of the file of a `LinearClassifier`."""

    classes_: NDArray[Any]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the logarithms of `predict_proba`.

        Parameters
        ----------
        X : as in `fit`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of every class; for two classes, the score of the second minus that of the first.

        Parameters
        ----------
        X : as in `fit`.
        """
        scores = super().decision_function(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _structure(self, examples: Examples) -> Multiclass:
        return Multiclass()

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return float(np.mean(np.asarray(Y) == predicted))
