"""The error of an estimator that is used before `fit`, which is also scikit-learn's."""

from sklearn import exceptions

from margrave.errors import MargraveError


class NotFittedError(MargraveError, exceptions.NotFittedError):  # type: ignore[misc]
    """An estimator is used before `fit`."""
