"""The base of estimators whose examples can be the rows of one matrix, with scikit-learn's checks."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from margrave.errors import MargraveError, shortened
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.models.matrix_examples import MatrixModel, RowModel, has_names
from margrave.examples import Examples

_LONGEST = 1000  # characters of a message of scikit-learn, which may show an array

_OF_COLUMNS = ("n_features_in_", "feature_names_in_")


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """What scikit-learn says of wrong data, as Margrave's error on one line."""
    try:
        yield
    except MargraveError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        kind = _NoNumbersError if isinstance(error, TypeError) else MargraveError
        raise kind(shortened(" ".join(str(error).split()).rstrip("."), _LONGEST) + ".") from error


class RowEstimator(RowModel, StructuredEstimator, BaseEstimator, saved_as=""):  # type: ignore[misc]
    """The base of estimators of rows. They take scikit-learn's matrices, and derive from its base, too."""

    def _given(self, X: Any, *Y: Any, extras: Mapping[str, Any] | None = None) -> Examples:
        """The examples; a missing y is refused in the words that scikit-learn expects."""
        if Y and Y[0] is None:
            raise MargraveError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return super()._given(X, *Y, extras=extras)

    def _prepared(self, examples: Examples) -> tuple[Examples, dict[str, Any]]:
        if self.features is not None or has_names(examples.X):
            return examples, {}
        return self._validated(examples)

    def _validated(self, examples: Examples, **checks: Any) -> tuple[Examples, dict[str, Any]]:
        """Examples that passed scikit-learn's checks, and what it notes of their columns."""
        noted = copy(self)  # scikit-learn writes on what it checks
        with in_one_sentence():
            found = validate_data(noted, examples.X, accept_sparse="csr", dtype=np.float64, **checks)
        rows, Y = found if "y" in checks else (found, examples.Y)
        return replace(examples, X=rows, Y=Y), {name: vars(noted)[name] for name in _OF_COLUMNS if name in vars(noted)}

    def _checked_rows(self, X: Any) -> Any:
        with in_one_sentence():
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


class _NoNumbersError(MargraveError, TypeError):
    """An error for objects among the numbers of a matrix, for which scikit-learn's conventions want a TypeError."""
