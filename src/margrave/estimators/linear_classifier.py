"""Classification without structure, with the same losses and learners as all other estimators."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from margrave.checks import has_length
from margrave.data.classes import is_label
from margrave.errors import MargraveError, quoted
from margrave.estimators.matrix_examples import MatrixEstimator, in_one_sentence
from margrave.estimators.models.linear_classifier import ClassifierModel
from margrave.estimators.models.matrix_examples import has_names
from margrave.examples import Examples
from margrave.learners.checks import example_weights
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
        predicted = self.predict(X)
        y = np.asarray(y) if hasattr(y, "__array__") else y
        if not has_length(y) or len(y) != len(predicted):
            raise MargraveError(f"y must have a class for each of the {len(predicted)} examples in X.")
        for i, label in enumerate(y):
            if not is_label(label):
                raise MargraveError(f"example {i}: a class must be a string or a number, not {quoted(label)}.")
        weights = None if sample_weight is None else example_weights(_for_all(sample_weight, y), len(y))
        right = [bool(a == b) for a, b in zip(y, predicted.tolist(), strict=True)]
        return float(np.average(right, weights=weights))

    def _map(self, outputs: Any) -> FeatureMap[Any, Any]:
        return table_named(self.weights, self.kernel)

    def _training_examples(self, method: str, X: Any, y: Any, sample_weight: Any, extras: Any) -> Examples:
        return super()._training_examples(method, X, y, _for_all(sample_weight, y), extras)

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        y = examples.Y
        if self.features is not None or has_names(examples.X):
            if not has_length(y):
                raise MargraveError(f"y must be a list of classes, not {type(y).__name__}.")
            return examples, {}
        examples, learned = self._validated(examples, y=y)
        self._structure(examples).learn(examples.Y).check()
        with in_one_sentence():
            check_classification_targets(examples.Y)
        return examples, learned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, Kernel) and self.kernel.function == "precomputed"
        return tags


def _for_all(sample_weight: Any, y: Any) -> Any:
    """One weight per example where one number is given for all, which scikit-learn's estimators accept."""
    one = isinstance(sample_weight, Real) and has_length(y)
    return [sample_weight] * len(y) if one else sample_weight
