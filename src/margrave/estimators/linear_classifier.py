"""Classification without structure, with the same losses and learners as all other estimators."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from margrave.errors import MargraveError
from margrave.estimators.matrix_examples import MatrixEstimator
from margrave.estimators.models.linear_classifier import ClassifierModel
from margrave.estimators.models.matrix_examples import has_names
from margrave.examples import Examples
from margrave.maps import Kernel, table_named
from margrave.maps.base import FeatureMap


class LinearClassifier(ClassifierModel, ClassifierMixin, MatrixEstimator):  # type: ignore[misc]
    """Predicts a class; minimizes 1/2 |w|^2 + C sum_i L_i(w) over one weight vector per class, without intercept.

    X is a dense or sparse matrix, or a list of attribute lists or dictionaries, and y has a class for each. With the
    log loss this is multinomial logistic regression, with the hinge loss Crammer and Singer's support vector machine.

    Attributes
    ----------
    classes_ : the classes, sorted.
    coef_ : (classes, attributes), or one number per observed pair; for a kernel, (classes, support inputs).

    >>> LinearClassifier().fit([{"a": 1.0}, {"b": 2.0}], ["x", "y"]).predict([{"b": 1.0}])
    array(['y'], dtype='<U1')
    """

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of examples with the right class.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`.
        """
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def _map(self, outputs: Any) -> FeatureMap[Any, Any]:
        return table_named(self.weights, self.kernel)

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        y = examples.Y
        if isinstance(examples.extra("sample_weight"), Real) and hasattr(y, "__len__"):
            # scikit-learn's estimators accept one number.
            examples = examples.having(sample_weight=np.full(len(y), examples.extra("sample_weight")))
        if self.features is not None or has_names(examples.X):
            if not hasattr(y, "__len__") or isinstance(y, str | bytes):
                raise MargraveError(f"y must be a list of classes, not {type(y).__name__}.")
            return examples, {}
        examples, learned = self._validated(examples, y=y)
        self._structure(examples).learn(examples.Y).check()
        check_classification_targets(examples.Y)
        return examples, learned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, Kernel) and self.kernel.function == "precomputed"
        return tags
