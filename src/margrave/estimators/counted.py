"""The base of estimators that count instead of minimizing an objective."""

from typing import Any

from margrave.errors import MargraveError
from margrave.estimators.estimator import Estimator


class NoPathError(MargraveError, AttributeError):
    """A counted model was asked for a path; it also is an AttributeError, so that `hasattr` is False."""


class CountedEstimator(Estimator):
    """The base of all estimators without an objective."""

    def __getattr__(self, name: str) -> Any:
        """Say why there is no `fit_path`; other attributes that are missing are an error as usual."""
        what = type(self).__name__
        if name == "fit_path":
            raise NoPathError(f"{what} counts and minimizes no objective, so it has no C and no path of C: use fit.")
        raise AttributeError(f"{what!r} object has no attribute {name!r}", name=name, obj=self)
