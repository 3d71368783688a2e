"""The base of models whose examples can be the rows of one matrix."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError
from margrave.estimators.model import StructuredModel, token_table


class RowModel(StructuredModel, saved_as=""):
    """A model of examples that are rows of one matrix, attribute lists, or dictionaries."""

    n_features_in_: int

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of every class, label or node, with the loss's beta or, if that is infinite, 1.

        Parameters
        ----------
        X : as in `fit`.

        Returns
        -------
        (examples, columns), in the order of `classes_`.
        """
        probabilities: NDArray[np.float64] = self._predict_marginals(self._given(X))
        return probabilities

    def _inputs(self, X: Any) -> Any:
        return X if self.features_ is not None or has_names(X) else self._checked_rows(X)

    def _checked_rows(self, X: Any) -> Any:
        """The rows of a matrix; an error if they are not numbers, or not as many as in training."""
        try:
            rows = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise MargraveError("X must be a matrix of numbers, as that of the training data.") from None
        if rows.ndim != 2:
            raise MargraveError(f"X must have two dimensions, not {rows.ndim}.")
        known = getattr(self, "n_features_in_", None)
        if known is not None and rows.shape[1] != known:
            raise MargraveError(f"X has {rows.shape[1]} columns, and that of the training data had {known}.")
        if not np.isfinite(rows.data if hasattr(rows, "indptr") else rows).all():
            raise MargraveError("X must have finite numbers only.")
        return rows


class MatrixModel(RowModel, saved_as=""):
    """The base of models of classifiers: one row per example, one column of the table per class or node."""

    _in_file = (*RowModel._in_file, "_flat")

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of every class or node: (examples, columns).

        Parameters
        ----------
        X : as in `fit`.
        """
        problem = self._bind(self._given(X)).problem
        scores = [problem.score(i, self._flat) for i in range(problem.size)]
        return np.array(scores).reshape(-1, len(self.outputs_.classes))

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


def has_names(X: Any) -> bool:
    """Whether examples are attribute lists or dictionaries rather than rows of numbers."""
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        return False
    if isinstance(X, str | bytes) or not isinstance(X, Collection):
        raise MargraveError(f"X must be a matrix or a list of examples, not {type(X).__name__}.")
    if len(X) == 0:
        return False  # empty data are reported with those of matrices
    names = (dict, set, frozenset)
    return any(isinstance(x, names) or (isinstance(x, list | tuple) and any(isinstance(a, str) for a in x)) for x in X)
