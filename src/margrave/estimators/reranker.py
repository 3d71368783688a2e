"""Choosing the best of a list of candidates: n-best lists of other systems, learning to rank (004, section 5.2)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real
from margrave.errors import MargraveError, the_first
from margrave.estimators.base import StructuredEstimator, Training
from margrave.estimators.model import Given, Origin
from margrave.learners import Checkpoint, Record
from margrave.losses import Cost, LossFamily
from margrave.losses.costs import GivenCosts
from margrave.maps import SparseMap, table_named
from margrave.settings.lists import RerankerSettings
from margrave.structures import CandidateLists
from margrave.structures.base import NoOutputs
from margrave.structures.candidates import candidate_lists, cost_lists, good_lists

_NO_GOOD = ("stop", "skip")


class Reranker(RerankerSettings, StructuredEstimator):
    """Chooses one candidate from each list; minimises 1/2 |w|^2 + C sum_i L_i(w), with one weight per name.

    An example of X is a list of candidates, which are dictionaries from names to numbers or lists of names, or a dense
    or sparse matrix with one row per candidate. y has the index of the good candidate, or the indices of all good ones,
    best first. If several are good, learners use the first as the right one, and the others cost nothing.

    Attributes
    ----------
    coef_ : one weight per name.
    n_skipped_ : the number of examples that were left out; it is not saved.

    >>> lists = [[{"lm": -2.0}, {"lm": -1.0}], [{"lm": -1.0}, {"lm": -3.0}, {"lm": -2.0, "oov": 1.0}]]
    >>> Reranker().fit(lists, [1, 0]).predict([[{"lm": -4.0}, {"lm": -2.0}]])
    array([1])
    """

    map_: SparseMap
    n_skipped_: int
    n_features_in_: int  # only if candidates are rows of matrices

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        costs: Any = None,
        sample_weight: Any = None,
        *,
        dev: tuple[Any, ...] | None = None,
        checkpoint: str | PathLike[str] | Checkpoint | None = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Learn from lists of candidates and the indices of the good ones.

        Parameters
        ----------
        X : the lists.
        y : for each list, the index of its good candidate, or the indices of all good ones, best first.
        costs : for each list, one number per candidate, which is 0 for good ones; None means 1 for all others.
        sample_weight : one factor per example on its C.
        dev : development data (X, y), by which sgd chooses its rate.
        checkpoint : a file for the state of the learner; after an interruption, the same call continues from it.
        observers : objects that are called after every pass (`margrave.learners.Observer`).
        """
        return self._fit(Given(X, y, costs=costs), sample_weight, self._dev_given(dev), checkpoint, observers)

    def fit_path(
        self, X: Any, y: Any, Cs: Sequence[float], *, costs: Any = None, sample_weight: Any = None
    ) -> list[Self]:
        """Fit one reranker per C, in the given order, each starting from the solution of the previous one.

        Parameters
        ----------
        X, y, costs, sample_weight : as in `fit`.
        Cs : the values of C; ascending values are the fastest.
        """
        return self._fit_path(Given(X, y, costs=costs), Cs, sample_weight)

    @classmethod
    def of_weights(cls, weights: Mapping[str, float]) -> Self:
        """Make a reranker with given weights, for example from another tuning method.

        Its certificate is that of an empty data set.

        Parameters
        ----------
        weights : the weight of each name.

        >>> Reranker.of_weights({"lm": 0.5, "tm": 1.0}).predict([[{"lm": 3.0}, {"tm": 2.0}]])
        array([1])
        """
        if not isinstance(weights, Mapping) or not all(isinstance(name, str) for name in weights):
            raise MargraveError("weights must be a dictionary from names to numbers.")
        w = np.array(
            [real(f"the weight of {name!r}", value, "be finite", np.isfinite) for name, value in weights.items()]
        )
        model = cls()
        feature_map = SparseMap(unit="candidate")
        feature_map.encode([[list(weights)]], grow=True)
        at_zero = Record(0.0, 0.0, 0.5 * float(w @ w))
        model._set_origin(Origin("given weights", converged=False, certificate=at_zero))
        model.n_skipped_ = 0
        model._set_model(NoOutputs(), feature_map, None, w)
        return model

    def feature_weights(self) -> dict[Any, float]:
        """The weights that are not zero, by attribute name or column number."""
        self._check_fitted()
        names = self.map_.encoder.names()
        return {name: value for name, value in zip(names, self.coef_.tolist(), strict=True) if value}

    def predict_proba(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the probabilities of the candidates of each list, with the loss's beta or, if that is infinite, 1.

        Parameters
        ----------
        X : as in `fit`.
        """
        probabilities: list[NDArray[np.float64]] = self._predict_marginals(Given(X))
        return probabilities

    def decision_function(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the scores of the candidates of each list.

        Parameters
        ----------
        X : as in `fit`.
        """
        problem = self._bind(Given(X)).problem
        return [problem.score(i, self.coef_) for i in range(problem.size)]

    def score(self, X: Any, y: Any) -> float:
        """Compute the fraction of examples whose predicted candidate is good; those without a good one count as wrong.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        X = self._lists(X)
        if not X:
            raise MargraveError("there are no examples to score.")
        bound = self._bind(Given(X))
        best = bound.best(self.coef_, self._threads())
        return self._score(good_lists(y, bound.units.tolist()), best, bound.outputs)

    def _check_parameters(self) -> LossFamily:
        loss = super()._check_parameters()
        CandidateLists().check_cost(loss.costs)
        self._map(NoOutputs())
        return loss

    def _structure(self, given: Given) -> CandidateLists:
        return CandidateLists()

    def _map(self, outputs: NoOutputs) -> SparseMap:
        table = table_named(self.weights)
        if type(table).name != "table" or table.pairs != "all":
            raise MargraveError("the weights of candidates are 'all' or 'hash:BITS': one weight per attribute.")
        return SparseMap(table.hash_bits, "candidate")

    def _costs(self, loss: LossFamily, outputs: NoOutputs, given: Given) -> Cost:
        return loss.costs if given.costs is None else GivenCosts(given.costs, loss.costs)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        good = [numbers if hasattr(numbers, "__len__") else [numbers] for numbers in Y]
        return sum(k in numbers for k, numbers in zip(predicted.tolist(), good, strict=True)) / len(good)

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        """The examples that have a good candidate."""
        X = [x.tocsr() if hasattr(x, "tocsr") else x for x in self._lists(given.X)]
        if not X:
            raise MargraveError("there are no examples to learn from.")
        counts = [_count(x) for x in X]
        good = good_lists(given.Y, counts)
        costs = None if given.costs is None else cost_lists(given.costs, good, counts)
        kept = [i for i, numbers in enumerate(good) if numbers]
        n_skipped = len(X) - len(kept)
        if n_skipped:
            if self.no_good == "stop" or not kept:
                raise _without_good([i for i, numbers in enumerate(good) if not numbers], len(X))
            if sample_weight is not None and np.ndim(sample_weight):
                sample_weight = np.asarray(sample_weight)
                if sample_weight.shape != (len(X),):
                    raise MargraveError(f"sample_weight must have one number per example: {len(X)} of them.")
                sample_weight = sample_weight[kept]
            X, good = [X[i] for i in kept], [good[i] for i in kept]
            costs = None if costs is None else [costs[i] for i in kept]
        return replace(given, X=X, Y=good, costs=costs, fitted={"n_skipped_": n_skipped}), sample_weight

    def _raw(self, X: Any) -> Any:
        return self._lists(X)

    def _lists(self, X: Any) -> list[Any]:
        """The examples as lists of candidates; the inputs check raw examples."""
        return candidate_lists(X) if getattr(self, "features_", self.features) is None else list(X)

    def _decoder(self, training: Training) -> Callable[[int, NDArray[np.int32]], Any]:
        return lambda i, parts: training.given.X[i][parts[0]]  # candidates of X

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        self.coef_ = w
        if self.features_ is None and self.map_.encoder.form == "columns":
            self.n_features_in_ = self.map_.encoder.columns


def _count(x: Any) -> int:
    """The number of candidates of one example."""
    if hasattr(x, "hypotheses"):
        return len(x.hypotheses)
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def _without_good(examples: list[int], of: int) -> MargraveError:
    count = f"{len(examples)} of {of} examples {'have' if len(examples) > 1 else 'has'} no good candidate"
    advice = "" if len(examples) == of else ": pass no_good='skip' to leave them out"
    return MargraveError(f"{count} (number {the_first(examples)}){advice}.")
