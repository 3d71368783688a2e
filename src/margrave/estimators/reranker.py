"""The best of a list of candidates: n-best lists of other systems, learning to rank (004, section 5.2)."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from margrave import _core
from margrave.checks import real
from margrave.errors import MargraveError, the_first, unknown
from margrave.estimators.base import Show, StructuredEstimator, check_path, solve_path
from margrave.features.table import AttributeTable
from margrave.learners import Checkpoint, Learner, Record
from margrave.learners.checkpoint import as_checkpoint
from margrave.losses import LossFamily
from margrave.structures import CandidateLists
from margrave.structures.candidates import candidate_lists, check_cost, cost_lists, good_lists

_NO_GOOD = ("stop", "skip")


class Reranker(StructuredEstimator):
    """Chooses from each example's own list of candidates; minimises 1/2 |w|^2 + C sum_i L_i(w), a weight an attribute.

    X has for each example a list of candidates, which are dictionaries from names to numbers or lists of names, or a
    dense or sparse matrix with a row for each; y has the number of the good candidate, or the numbers of all good ones,
    best first. Where several are good, learners take the first as the right one, and the others cost nothing.
    `costs[i]` are the costs of the candidates, 0 for good ones; by default all others cost 1. The loss's cost
    "hamming" stands for these, "zero-one" for 1 whatever they are; a function, and the metric of learner `LP`, gets two
    candidates as X has them.

    `no_good`: whether examples without a good candidate "stop" the fit or are left out ("skip", `n_skipped_` of them).
    Other parameters are those of `StructuredClassifier`; `features` are "all" or "hash:BITS".

    >>> lists = [[{"lm": -2.0}, {"lm": -1.0}], [{"lm": -1.0}, {"lm": -3.0}, {"lm": -2.0, "oov": 1.0}]]
    >>> Reranker().fit(lists, [1, 0]).predict([[{"lm": -4.0}, {"lm": -2.0}]])
    array([1])
    """

    n_skipped_: int  # files do not keep it
    n_features_in_: int  # where candidates are rows of matrices

    def __init__(
        self,
        loss: str | LossFamily = "hinge",
        *,
        C: float = 1.0,
        learner: str | Learner = "auto",
        features: str | AttributeTable = "all",
        max_iter: int | None = None,
        tol: float = 1e-4,
        n_threads: int | None = None,
        seed: int = 0,
        verbose: bool = False,
        no_good: str = "stop",
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
        self.no_good = no_good

    def _settings(self) -> tuple[LossFamily, AttributeTable]:
        loss, features = super()._settings()
        check_cost(loss)
        _check_no_good(self.no_good)
        return loss, features

    def fit(
        self,
        X: Any,
        y: Any,
        costs: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
    ) -> Self:
        """Learns from lists of candidates and the numbers of the good ones.

        `costs`: a number for each candidate. `sample_weight`: a factor on each example's C. `checkpoint`: a file that
        follows the learner, from which the same call goes on after it was killed or interrupted.
        """
        loss, features = self._settings()
        kept = as_checkpoint(checkpoint)
        problem, X, weight, skipped = self._learning_problem(X, y, costs, sample_weight, loss, features)
        w = self._solve(problem, loss, weight, checkpoint=kept, show=_shown(X))
        self._set_fitted(features, w, skipped)
        return self

    def fit_path(
        self, X: Any, y: Any, Cs: Sequence[float], *, costs: Any = None, sample_weight: Any = None
    ) -> list[Self]:
        """One reranker for each C, in the order given, each begun from where the one before ended.

        From small C to large is the cheapest. Ctrl-C ends the path with the rerankers so far.
        """
        rerankers: list[Self] = [clone(self).set_params(C=C) for C in check_path(Cs)]
        loss, features = rerankers[0]._settings()
        problem, X, weight, skipped = self._learning_problem(X, y, costs, sample_weight, loss, features)
        path = []
        for reranker, w in solve_path(rerankers, problem, loss, weight, _shown(X)):
            reranker._set_fitted(features, w, skipped)
            path.append(reranker)
        return path

    def _learning_problem(
        self, X: Any, y: Any, costs: Any, sample_weight: Any, loss: LossFamily, features: AttributeTable
    ) -> tuple[_core.Problem, list[Any], Any, int]:
        """The problem of the examples that have a good candidate, these, their weights, and how many have none."""
        X = [x.tocsr() if hasattr(x, "tocsr") else x for x in candidate_lists(X)]
        if not X:
            raise MargraveError("there are no examples to learn from.")
        good, costs = _checked(X, y, costs)
        kept = [i for i, numbers in enumerate(good) if numbers]
        skipped = len(X) - len(kept)
        if skipped:
            if self.no_good == "stop" or not kept:
                raise _without_good([i for i, numbers in enumerate(good) if not numbers], len(X))
            if sample_weight is not None:
                sample_weight = np.asarray(sample_weight)
                if sample_weight.shape != (len(X),):
                    raise MargraveError(f"sample_weight must have one number an example: {len(X)} of them.")
                sample_weight = sample_weight[kept]
            X, good = [X[i] for i in kept], [good[i] for i in kept]
            costs = None if costs is None else [costs[i] for i in kept]
        return CandidateLists().bind(X, good, costs, features=features, loss=loss), X, sample_weight, skipped

    def _set_fitted(self, features: AttributeTable, w: NDArray[np.float64], skipped: int) -> None:
        self._set_features(features)
        self._set_weights(w)
        self.n_skipped_ = skipped

    @classmethod
    def of_weights(cls, weights: Mapping[str, float]) -> Self:
        """A reranker with these weights of names: one that was tuned elsewhere, or not at all.

        Its certificate is that of no examples.

        >>> Reranker.of_weights({"lm": 0.5, "tm": 1.0}).predict([[{"lm": 3.0}, {"tm": 2.0}]])
        array([1])
        """
        if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
            raise MargraveError("weights must be a dictionary from names to numbers.")
        w = np.array(
            [real(f"the weight of {name!r}", value, "be finite", np.isfinite) for name, value in weights.items()]
        )
        model = cls()
        features = AttributeTable("all")
        CandidateLists().bind([[list(weights)]], [0], features=features)
        model.certificate_ = Record(0.0, 0.0, 0.5 * float(w @ w))
        model.history_ = [model.certificate_]
        model.n_iter_ = 0
        model.converged_ = False
        model.stop_reason_ = "given weights"
        model.metadata_ = {}
        model._set_fitted(features, w, 0)
        return model

    def weights(self) -> dict[Any, float]:
        """The weights that are not zero, by the names of their attributes, or by the numbers of columns."""
        self._check_fitted()
        encoder = self.features_.tokens
        if encoder.kind == "hashed":
            raise MargraveError("hashed features keep no names: coef_ has their weights by row.")
        names: Sequence[Any] = range(len(self.coef_)) if encoder.vocabulary is None else encoder.vocabulary.names()
        return {name: value for name, value in zip(names, self.coef_.tolist(), strict=True) if value}

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The number of the best candidate of every example."""
        _, parts = _core.argmax_all(self._bind(X), self.coef_, self._threads())
        return parts.astype(np.int64)

    def predict_proba(self, X: Any) -> list[NDArray[np.float64]]:
        """The probabilities of every example's candidates, under the loss's beta (1 where that is infinite)."""
        begin, _, mu = _core.marginals_all(self._bind(X), self.coef_, self._temperature(), self._threads())
        return np.split(mu, begin[1:-1]) if len(begin) > 1 else []

    def decision_function(self, X: Any) -> list[NDArray[np.float64]]:
        """The scores of every example's candidates."""
        problem = self._bind(X)
        return [problem.score(i, self.coef_) for i in range(problem.size)]

    def score(self, X: Any, y: Any) -> float:
        """The share of examples whose best candidate is good; one without a good candidate counts as wrong."""
        X = candidate_lists(X)
        if not X:
            raise MargraveError("there are no examples to score.")
        best = self.predict(X).tolist()
        good, _ = _checked(X, y, None)
        return sum(k in numbers for k, numbers in zip(best, good, strict=True)) / len(best)

    def _bind(self, X: Any) -> _core.Problem:
        self._check_fitted()
        return CandidateLists().bind(X, features=self.features_)

    # ---- model files -------------------------------------------------------------------------------------------------

    def _empty_problem(self) -> _core.Problem:
        return CandidateLists().bind([], features=self.features_)

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        self.coef_ = w
        if self.features_.tokens.kind == "columns":
            self.n_features_in_ = self.features_.tokens.columns

    def _labels(self) -> list[Any]:
        return []

    def _set_labels(self, labels: Any) -> None:
        if labels != []:
            raise MargraveError("it has labels, and candidates have none.")

    def _structure_settings(self) -> dict[str, Any]:
        return {"no_good": self.no_good}

    def _set_structure(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        _check_no_good(self.no_good)


def _shown(X: list[Any]) -> Show:
    """Candidates as X has them."""
    return lambda i, parts: X[i][parts[0]]


def _check_no_good(no_good: Any) -> None:
    if no_good not in _NO_GOOD:
        raise unknown("no_good", no_good, _NO_GOOD)


def _checked(X: list[Any], y: Any, costs: Any) -> tuple[list[list[int]], list[NDArray[np.float64]] | None]:
    """The good candidates and the costs of all examples."""
    counts = [x.shape[0] if hasattr(x, "shape") else len(x) for x in X]
    good = good_lists(y, counts)
    return good, None if costs is None else cost_lists(costs, good, counts)


def _without_good(examples: list[int], of: int) -> MargraveError:
    count = f"{len(examples)} of {of} examples {'have' if len(examples) > 1 else 'has'} no good candidate"
    advice = "" if len(examples) == of else ": pass no_good='skip' to leave them out"
    return MargraveError(f"{count} (number {the_first(examples)}){advice}.")
