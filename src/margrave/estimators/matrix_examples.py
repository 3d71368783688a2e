"""The base of estimators whose examples can be the rows of one matrix, with scikit-learn's checks."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.models.matrix_examples import MatrixModel, RowModel, has_names
from margrave.examples import Examples

_OF_COLUMNS = ("n_features_in_", "feature_names_in_")


class RowEstimator(RowModel, StructuredEstimator, BaseEstimator, saved_as=""):  # type: ignore[misc]
    """The base of estimators of rows. They take scikit-learn's matrices, and derive from its base, too."""

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        if self.features is not None or has_names(examples.X):
            return examples, {}
        return self._validated(examples)

    def _validated(self, examples: Examples, **checks: Any) -> tuple[Examples, dict[str, Any]]:
        """Examples that passed scikit-learn's checks, and what it notes of their columns."""
        noted = copy(self)  # scikit-learn writes on what it checks
        found = validate_data(noted, examples.X, accept_sparse="csr", dtype=np.float64, **checks)
        rows, Y = found if "y" in checks else (found, examples.Y)
        return replace(examples, X=rows, Y=Y), {name: vars(noted)[name] for name in _OF_COLUMNS if name in vars(noted)}

    def _checked_rows(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _set_fitted(self, training: Training, w: NDArray[np.float64]) -> None:
        for name in _OF_COLUMNS:
            self.__dict__.pop(name, None)
        super()._set_fitted(training, w)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MatrixEstimator(MatrixModel, RowEstimator, saved_as=""):
    """The base of classifiers: one column of the table per class or node."""
