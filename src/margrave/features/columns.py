"""Sparse matrices from files that number their columns, reduced to the columns of the training data."""

from collections.abc import Mapping
from typing import Any, Self

from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.features.base import Features


class Columns(Features):
    """One sparse matrix for all examples, or one per example; columns that the training data lack are ignored.

    >>> from scipy.sparse import csr_array
    >>> Columns().learn(csr_array([[0.0, 1.0]])).transform(csr_array([[2.0, 3.0, 4.0]])).toarray()
    array([[2., 3.]])
    """

    name = "columns"

    def __init__(self) -> None:
        self.n_features = 0

    def learn(self, X: Any) -> Self:
        """The number of columns."""
        learned = type(self)()
        learned.n_features = X.shape[1] if hasattr(X, "shape") else X[0].shape[1] if len(X) else 0
        return learned

    def transform(self, X: Any) -> Any:
        """Matrices with the columns of the training data."""
        return self._resized(X) if hasattr(X, "shape") else [self._resized(x) for x in X]

    def _resized(self, x: Any) -> Any:
        from scipy.sparse import csr_array, issparse

        if not issparse(x) and getattr(x, "ndim", 0) != 2:
            raise MargraveError(f"examples must be matrices, not {type(x).__name__}.")
        rows = csr_array(x)
        rows.resize(rows.shape[0], self.n_features)
        return rows

    def column_names(self) -> list[str]:
        """The numbers of the columns in such files, which count from 1."""
        return [str(k + 1) for k in range(self.n_features)]

    def state(self) -> dict[str, Any]:
        """The number of columns."""
        return {"n_features": self.n_features}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.n_features = whole("n_features", state["n_features"], 0, 2**31)
