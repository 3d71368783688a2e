"""Classes without structure, by the same losses and learners as everything else."""

from collections.abc import Collection, Sequence
from numbers import Real
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y, validate_data

from margrave import _core
from margrave.errors import MargraveError
from margrave.estimators.base import Show, StructuredEstimator, check_classes, check_path, label_numbers, solve_path
from margrave.features.mercer import Kernel
from margrave.features.table import AttributeTable
from margrave.learners import Checkpoint, Learner
from margrave.learners.checkpoint import as_checkpoint
from margrave.losses import LossFamily
from margrave.structures import Multiclass


class StructuredClassifier(ClassifierMixin, StructuredEstimator):  # type: ignore[misc]
    """Predicts a class; minimises 1/2 |w|^2 + C sum_i L_i(w) over one weight vector a class, without intercept.

    X is a dense or sparse matrix, or a list of attribute lists or dictionaries. With the log loss this is multinomial
    logistic regression, with the hinge loss Crammer and Singer's support vector machine. Parameters are those of
    `SequenceTagger`, as far as they concern classes.

    >>> StructuredClassifier().fit([{"a": 1.0}, {"b": 2.0}], ["x", "y"]).predict([{"b": 1.0}])
    array(['y'], dtype='<U1')
    """

    def __init__(
        self,
        loss: str | LossFamily = "log",
        *,
        C: float = 1.0,
        learner: str | Learner = "auto",
        features: str | AttributeTable = "all",
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.C = C
        self.learner = learner
        self.features = features
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.seed = seed
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> Self:
        """Learns from examples and their classes.

        `sample_weight`: a factor on each example's C. `checkpoint`: a file that follows the learner, from which the
        same call goes on after it was killed or interrupted.
        """
        loss, features = self._settings()
        kept = as_checkpoint(checkpoint)
        problem, classes = self._learning_problem(X, y, loss, features)
        w = self._solve(
            problem,
            loss,
            _one_each(sample_weight, problem),
            checkpoint=kept,
            show=_shown(classes),
        )
        self._set_fitted(X, classes, features, w)
        return self

    def fit_path(self, X: Any, y: Any, Cs: Sequence[float], *, sample_weight: Any = None) -> list[Self]:
        """One classifier for each C, in the order given, each begun from where the one before ended.

        From small C to large is the cheapest. Ctrl-C ends the path with the classifiers so far.
        """
        classifiers: list[Self] = [clone(self).set_params(C=C) for C in check_path(Cs)]
        loss, features = classifiers[0]._settings()
        problem, classes = self._learning_problem(X, y, loss, features)
        path = []
        for classifier, w in solve_path(classifiers, problem, loss, _one_each(sample_weight, problem), _shown(classes)):
            classifier._set_fitted(X, classes, features, w)
            path.append(classifier)
        return path

    def _learning_problem(
        self, X: Any, y: Any, loss: LossFamily, features: AttributeTable
    ) -> tuple[_core.Problem, NDArray[Any]]:
        """The problem that examples with classes make, and the classes."""
        X, labels, classes = self._labelled(X, y)
        gold = label_numbers(labels, classes)
        return Multiclass().bind(X, gold, features=features, classes=classes.tolist(), loss=loss), classes

    def _labelled(self, X: Any, y: Any) -> tuple[Any, list[Any], NDArray[Any]]:
        """Examples, their classes and the sorted distinct ones, checked."""
        named = has_names(X)
        if named:
            if not hasattr(y, "__len__") or isinstance(y, str | bytes):
                raise MargraveError(f"y must be a list of classes, not {type(y).__name__}.")
            if len(X) != len(y):
                raise MargraveError(f"there are {len(X)} examples in X and {len(y)} in y.")
            labels = list(y)
        else:
            X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64, estimator=self)
            labels = y.tolist()
        classes = check_classes(labels)
        if not named:
            check_classification_targets(y)
        return X, labels, classes

    def _set_fitted(self, X: Any, classes: NDArray[Any], features: AttributeTable, w: NDArray[np.float64]) -> None:
        if features.tokens.kind == "columns":
            validate_data(self, X, skip_check_array=True)  # the names and the number of its columns
        self.classes_ = classes
        kept, w = features.compact(w)
        self._set_features(kept)
        self._set_weights(w)

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of every example."""
        problem = self._bind(X)
        _, parts = _core.argmax_all(problem, self._flat, self._threads())  # the one part of each output is its class
        best: NDArray[Any] = self.classes_[parts]
        return best

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of every class: (examples, classes), under the loss's beta (1 where that is infinite)."""
        problem = self._bind(X)
        _, _, mu = _core.marginals_all(problem, self._flat, self._temperature(), self._threads())
        return mu.reshape(-1, len(self.classes_))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logs of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of every class; for two classes, of the second above the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X: Any) -> NDArray[np.float64]:
        problem = self._bind(X)
        return np.array([problem.score(i, self._flat) for i in range(problem.size)]).reshape(-1, len(self.classes_))

    def _bind(self, X: Any) -> _core.Problem:
        self._check_fitted()
        if not has_names(X):
            X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._unlabelled(X)

    def _empty_problem(self) -> _core.Problem:
        return self._unlabelled([])

    def _unlabelled(self, X: Any) -> _core.Problem:
        return Multiclass().bind(X, features=self.features_, classes=self.classes_.tolist())

    def _weights(self) -> NDArray[np.float64]:
        return self._flat

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        """`coef_` is (classes, attributes) where every pair has a weight, else one number a pair.

        Of a kernel it is (classes, support inputs).
        """
        self._flat = w
        pairs = self.features_.token_pairs
        self.coef_ = w.reshape(-1, pairs.labels).T if pairs is not None and not pairs.packed else w
        if self.features_.tokens.kind == "columns":
            self.n_features_in_ = self.features_.tokens.columns

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.features, Kernel) and self.features.name == "precomputed"
        return tags


def _shown(classes: NDArray[Any]) -> Show:
    """Outputs as their classes."""
    return lambda _, parts: classes[parts[0]]


def _one_each(sample_weight: Any, problem: _core.Problem) -> Any:
    """A number alone is the weight of every example."""
    return np.full(problem.size, sample_weight) if isinstance(sample_weight, Real) else sample_weight


def has_names(X: Any) -> bool:
    """Whether examples are attribute lists or dictionaries rather than rows of numbers."""
    if hasattr(X, "shape") or hasattr(X, "__array__"):
        return False
    if isinstance(X, str | bytes) or not isinstance(X, Collection):
        raise MargraveError(f"X must be a matrix or a list of examples, not {type(X).__name__}.")
    if len(X) == 0:
        return False  # scikit-learn's own words about empty data
    names = (dict, set, frozenset)
    return any(isinstance(x, names) or (isinstance(x, list | tuple) and any(isinstance(a, str) for a in x)) for x in X)
