"""The base of estimators whose examples can be the rows of one matrix, with scikit-learn's checks and shapes."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.model import Given, token_table


class MatrixExamples(StructuredEstimator):
    """The base of classifiers: one row per example, one column of the table per class or node."""

    n_features_in_: int

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of every class or node: (examples, columns).

        Parameters
        ----------
        X : as in `fit`.
        """
        problem = self._bind(Given(X)).problem
        scores = [problem.score(i, self._flat) for i in range(problem.size)]
        return np.array(scores).reshape(-1, len(self.outputs_.classes))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of every class or node, with the loss's beta or, if that is infinite, 1.

        Parameters
        ----------
        X : as in `fit`.

        Returns
        -------
        (examples, columns), in the order of `classes_`.
        """
        probabilities: NDArray[np.float64] = self._predict_marginals(Given(X))
        return probabilities

    def _raw(self, X: Any) -> Any:
        if self.features_ is not None or has_names(X):
            return X
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _weights(self) -> NDArray[np.float64]:
        return self._flat

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        """`coef_` is (columns, attributes) if every pair has a weight, otherwise one number per pair.

        For a kernel it is (columns, support inputs).
        """
        self._flat = w
        table = token_table(self.map_)
        assert table is not None and table.weighted is not None
        of_table, pairs = w[: table.size], table.weighted
        self.coef_ = of_table if pairs.packed else of_table.reshape(-1, pairs.labels).T
        if self.features_ is None and table.encoder.form == "columns":
            self.n_features_in_ = table.encoder.columns

    def _set_fitted(self, training: Training, w: NDArray[np.float64]) -> None:
        super()._set_fitted(training, w)
        if training.given.original is not None:
            validate_data(self, training.given.original, skip_check_array=True)  # This stores the names of its columns.

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def has_names(X: Any) -> bool:
    """Whether examples are attribute lists or dictionaries rather than rows of numbers."""
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        return False
    if isinstance(X, str | bytes) or not isinstance(X, Collection):
        raise MargraveError(f"X must be a matrix or a list of examples, not {type(X).__name__}.")
    if len(X) == 0:
        return False  # scikit-learn itself reports empty data.
    names = (dict, set, frozenset)
    return any(isinstance(x, names) or (isinstance(x, list | tuple) and any(isinstance(a, str) for a in x)) for x in X)
