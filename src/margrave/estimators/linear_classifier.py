"""Classification without structure, with the same losses and learners as all other estimators."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from margrave.errors import MargraveError
from margrave.estimators.matrix_examples import MatrixExamples, has_names
from margrave.estimators.model import Given
from margrave.maps import Kernel, table_named
from margrave.maps.base import FeatureMap
from margrave.settings.classifiers import ClassifierSettings
from margrave.structures import Multiclass


class LinearClassifier(ClassifierSettings, ClassifierMixin, MatrixExamples):  # type: ignore[misc]
    """Predicts a class; minimises 1/2 |w|^2 + C sum_i L_i(w) over one weight vector per class, without intercept.

    X is a dense or sparse matrix, or a list of attribute lists or dictionaries. With the log loss this is multinomial
    logistic regression, with the hinge loss Crammer and Singer's support vector machine.

    Attributes
    ----------
    classes_ : the classes, sorted.
    coef_ : (classes, attributes), or one number per observed pair; for a kernel, (classes, support inputs).

    >>> LinearClassifier().fit([{"a": 1.0}, {"b": 2.0}], ["x", "y"]).predict([{"b": 1.0}])
    array(['y'], dtype='<U1')
    """

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of examples with the right class.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`.
        """
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def _structure(self, given: Given) -> Multiclass:
        return Multiclass()

    def _map(self, outputs: Any) -> FeatureMap:
        return table_named(self.weights, self.kernel)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return float(np.mean(np.asarray(Y) == predicted))

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        X, y = given.X, given.Y
        if isinstance(sample_weight, Real) and hasattr(y, "__len__"):
            sample_weight = np.full(len(y), sample_weight)  # scikit-learn's estimators accept one number.
        if self.features is not None or has_names(X):
            if not hasattr(y, "__len__") or isinstance(y, str | bytes):
                raise MargraveError(f"y must be a list of classes, not {type(y).__name__}.")
            return given, sample_weight
        rows, labels = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, estimator=self)
        self._structure(given).learn(labels).check()
        check_classification_targets(labels)
        return replace(given, X=rows, Y=labels, original=X), sample_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, Kernel) and self.kernel.function == "precomputed"
        return tags
