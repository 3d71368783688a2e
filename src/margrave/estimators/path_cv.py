"""The choice of C by cross-validation along regularization paths, for every estimator that has paths."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from itertools import chain as flatten
from math import isfinite
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags

from margrave.checks import has_length, real, whole
from margrave.errors import MargraveError, quoted, unknown
from margrave.estimators.base import StructuredEstimator, check_path
from margrave.estimators.not_fitted import NotFittedError
from margrave.examples import Examples
from margrave.learners import Checkpoint, Ended
from margrave.learners.checkpoint import as_checkpoint

_Columns = dict[str, Any]  # what has one entry per example, by the name of the argument
_Score = Callable[[Any, Any, Any, _Columns], float]

_TIE = 1e-12  # Means that differ by less than this are equal except for rounding.


class PathCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Chooses the C of an estimator by cross-validation, and then learns from all examples.

    It chooses the C with the best mean score over the held-out folds, or the smallest of several. For each fold, one
    path is learned from the remaining examples, in ascending order of C, with each model starting from the solution of
    the previous one (`fit_path`). The learner must therefore be able to continue from one C to the next: "auto",
    "lbfgs", "cg", "eg", "smo", "smo-eg", "bcfw", "svrg", "cccp" or "lp".

    After `fit`, all methods and attributes of the best estimator can be used directly: `predict_kbest`, `coef_` and so
    on. `save` writes the file of the best estimator.

    Parameters
    ----------
    estimator : the estimator whose C is chosen. It is not changed.
    Cs : the values of C to compare.
    cv : the number of folds, or an object with `split(X)`, such as those of scikit-learn.
    scoring : None for the estimator's own `score`; "f1" for the F1 of spans, if the outputs are IOB or BIOES tags; or a
        function of a fitted estimator, X and y.

    Attributes
    ----------
    best_estimator_ : the estimator with the chosen C, learned from all examples.
    C_ : the chosen C.
    Cs_ : the values of C in ascending order.
    scores_ : the scores, (folds, Cs).

    >>> from margrave import SequenceTagger
    >>> X = [[["the"], ["dog"], ["barks"]], [["the"], ["cat"], ["sleeps"]]] * 2
    >>> found = PathCV(SequenceTagger(), Cs=[0.1, 10.0], cv=2).fit(X, [["D", "N", "V"]] * 4)
    >>> found.C_, found.scores_.tolist()
    (0.1, [[1.0, 1.0], [1.0, 1.0]])
    >>> found.predict([[["the"], ["dog"]]])
    [['D', 'N']]
    """

    best_estimator_: Any
    C_: float
    Cs_: NDArray[np.float64]
    scores_: NDArray[np.float64]

    def __init__(
        self,
        estimator: Any,
        *,
        Cs: Iterable[float] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
        cv: Any = 5,
        scoring: str | Callable[[Any, Any, Any], float] | None = None,
    ) -> None:
        self.estimator = estimator
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
        **columns: Any,
    ) -> Self:
        """Choose C, then learn from all examples.

        Parameters
        ----------
        X, y : the examples and their outputs, as in `fit` of the estimator, so X can be None if it can be there.
        checkpoint, observers : as in `fit` of the estimator. They concern the last run, which learns from all examples
            with the chosen C; the folds are repeated after an interruption.
        columns : further arguments of the estimator's `fit` with one entry per example, such as `edges` of taggers.
            Scores use those that the estimator's `score` takes, except for `sample_weight`, which they ignore.
        """
        Cs = sorted(set(check_path(self.Cs)))
        self._at(Cs[0])._settings(Examples(X, y))
        checkpoint = as_checkpoint(checkpoint)  # which is checked before any work is done
        columns = {name: column for name, column in columns.items() if column is not None}
        # Some estimators need outputs only.
        n = _check_columns({"y": y, **columns} if X is None else {"y": y, "X": X, **columns})
        score = self._score(y, columns)
        scores = []
        for k, (train, test) in enumerate(_folds(self.cv, y if X is None else X, n)):
            X_train, y_train, of_train = _rows(X, y, columns, train)
            X_test, y_test, of_test = _rows(X, y, columns, test)
            try:
                path = self.estimator.fit_path(X_train, y_train, Cs, **of_train)
                if len(path) < len(Cs) or path[-1].ended_ is Ended.INTERRUPTED:
                    raise KeyboardInterrupt
                scores.append([score(model, X_test, y_test, of_test) for model in path])
            except MargraveError as error:
                raise MargraveError(f"fold {k}: ", error.message) from None
        if not scores:
            raise MargraveError("cv must have at least one fold.")
        mean = np.mean(scores, axis=0)
        chosen = Cs[int(np.argmax(mean >= mean.max() - _TIE))]
        # Learning with the chosen C from the beginning takes fewer passes than following the path again.
        best = self._at(chosen).fit(X, y, checkpoint=checkpoint, observers=observers, **columns)
        self.best_estimator_, self.C_, self.Cs_, self.scores_ = best, chosen, np.array(Cs), np.array(scores)
        return self

    def predict(self, X: Any, **columns: Any) -> Any:
        """The predictions of the best estimator."""
        return self._best("predict").predict(X, **columns)

    def score(self, X: Any, y: Any, **columns: Any) -> float:
        """The score of the best estimator, by its own `score`."""
        return float(self._best("score").score(X, y, **columns))

    def save(self, path: str | PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the best estimator to one file, as its own `save` does."""
        self._best("save").save(path, metadata)

    def __getattr__(self, name: str) -> Any:
        # Called for what is not defined here: the methods and fitted attributes of the best estimator.
        if name.startswith("_") or not hasattr(vars(self).get("best_estimator_", vars(self).get("estimator")), name):
            raise AttributeError(f"{quoted(type(self).__name__)} object has no attribute {quoted(name)}")
        return getattr(self._best(name), name)

    def _best(self, name: str) -> Any:
        """The best estimator; an error before `fit`."""
        if "best_estimator_" not in vars(self):
            raise NotFittedError(f"this PathCV is not fitted: call fit before you use {name}.")
        return self.best_estimator_

    def _at(self, C: float) -> Any:
        """An unfitted estimator with this C."""
        if not isinstance(self.estimator, StructuredEstimator):
            raise MargraveError(
                f"PathCV needs an estimator that has a C and fit_path, and {type(self.estimator).__name__} is not one."
            )
        return clone(self.estimator).set_params(C=C)

    def _score(self, y: Any, columns: _Columns) -> _Score:
        """The function that scores models; invalid settings are an error before any work is done."""
        if self.scoring is None:
            return lambda model, X, y, columns: model.score(X, y, **_taken_by(model.score, columns))
        if callable(self.scoring):
            function = self.scoring
            if more := [name for name in columns if name != "sample_weight"]:
                raise MargraveError(
                    f"a scoring function is called with X and y only, but there are {' and '.join(more)}: use "
                    "scoring=None or 'f1'."
                )
            return lambda model, X, y, _: real("a score", function(model, X, y), "be finite", isfinite)
        if self.scoring != "f1":
            raise unknown("scoring", self.scoring, ("f1", "None", "a function"))

        from margrave.metrics import span_scores

        scheme = _scheme(y)
        return lambda model, X, y, columns: (
            span_scores(y, model.predict(X, **_taken_by(model.predict, columns)), scheme).f1
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(self.estimator)
        tags.estimator_type = of_estimator.estimator_type
        tags.classifier_tags, tags.input_tags = of_estimator.classifier_tags, of_estimator.input_tags
        tags.target_tags = of_estimator.target_tags
        return tags


def _count(column: Any) -> int | None:
    """The number of entries; None if it has no length."""
    if hasattr(column, "shape") and column.shape:
        return int(column.shape[0])
    return len(column) if has_length(column) else None


def _check_columns(columns: _Columns) -> int:
    """The number of examples, which is that of y; an error if something has another number of entries."""
    n = _count(columns["y"])
    if n is None:
        raise MargraveError("y must be a list with one output per example.")
    if n == 0:
        raise MargraveError("there are no examples.")
    for name, column in columns.items():
        if _count(column) != n:
            raise MargraveError(f"{name} must be a list with an entry for each of the {n} examples.")
    return n


def _rows(X: Any, y: Any, columns: _Columns, of: NDArray[np.int64]) -> tuple[Any, Any, _Columns]:
    """These examples of X, y and everything else that has one entry per example."""
    return (
        None if X is None else _safe_indexing(X, of),
        _safe_indexing(y, of),
        {name: _safe_indexing(column, of) for name, column in columns.items()},
    )


def _folds(cv: Any, X: Any, n: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each fold, the indices of the training examples and of those held out."""
    if hasattr(cv, "split") and not isinstance(cv, str | bytes):
        return iter(cv.split(X))
    from sklearn.model_selection import KFold

    return KFold(whole("cv", cv, 2, n)).split(X)  # type: ignore[no-any-return]


def _taken_by(method: Callable[..., Any], columns: _Columns) -> _Columns:
    """Those of the arguments that a method takes; a score is not weighted."""
    taken = signature(method).parameters
    return {name: column for name, column in columns.items() if name in taken and name != "sample_weight"}


def _scheme(y: Any) -> str:
    """The scheme of tags of spans; an error if the outputs are others."""
    from margrave.data.tags import spans

    if any(isinstance(labels, str) or not isinstance(labels, Iterable) for labels in y):
        raise MargraveError("scoring='f1' needs one list of tags per example.")
    labels = sorted({str(label) for label in flatten.from_iterable(y)})
    scheme = "BIOES" if any(label.startswith(("E-", "S-")) for label in labels) else "IOB2"  # This also reads IOB1.
    for label in labels:
        try:
            spans([label], scheme)
        except MargraveError:
            raise MargraveError(f"scoring='f1' needs labels that are tags of spans, but {label!r} is not.") from None
    return scheme
