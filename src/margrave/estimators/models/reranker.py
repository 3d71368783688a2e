"""Models that choose the best of a list of candidates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError
from margrave.estimators.extras import LEARNING, Extra
from margrave.estimators.model import StructuredModel
from margrave.examples import Examples, count
from margrave.maps import SparseMap
from margrave.settings.lists import RerankerSettings
from margrave.structures import CandidateLists
from margrave.structures.candidates import candidate_lists, good_lists


class RerankingModel(RerankerSettings, StructuredModel, saved_as="Reranker"):
    """Chooses one candidate from each list: what `load` makes of the file of a `Reranker`."""

    extras = (
        Extra(
            "costs",
            LEARNING,
            "for each list, one number per candidate, which is 0 for good ones; None means 1 for all others.",
        ),
    )

    map_: SparseMap
    n_features_in_: int  # only if candidates are rows of matrices

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
        probabilities: list[NDArray[np.float64]] = self._predict_marginals(self._given(X))
        return probabilities

    def decision_function(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the scores of the candidates of each list.

        Parameters
        ----------
        X : as in `fit`.
        """
        problem = self._bind(self._given(X)).problem
        return [problem.score(i, self.coef_) for i in range(problem.size)]

    def score(self, X: Any, y: Any) -> float:
        """Compute the fraction of examples whose predicted candidate is good; those without a good one count as wrong.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        self._check_fitted()
        X = self._inputs(self._given(X, y).X)
        if not X:
            raise MargraveError("there are no examples to score.")
        return super().score(X, y)

    def _structure(self, examples: Examples) -> CandidateLists:
        return CandidateLists()

    def _inputs(self, X: Any) -> list[Any]:
        """The examples as lists of candidates; the features check raw examples."""
        return candidate_lists(X) if self.features_ is None else list(X)

    def _outputs(self, Y: Any, X: list[Any]) -> Any:
        return good_lists(Y, counts_of(X))

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return sum(k in numbers for k, numbers in zip(predicted.tolist(), Y, strict=True)) / len(Y)

    def _set_weights(self, w: NDArray[np.float64]) -> None:
        self.coef_ = w
        if self.features_ is None and self.map_.encoder.form == "columns":
            self.n_features_in_ = self.map_.encoder.columns


def counts_of(X: Sequence[Any]) -> list[int]:
    """The number of candidates of each example."""
    counts = [count(getattr(x, "hypotheses", x)) for x in X]
    for i, n in enumerate(counts):
        if n is None:
            raise MargraveError(f"example {i}: its candidates must be a list, not {type(X[i]).__name__}.")
    return [n for n in counts if n is not None]
