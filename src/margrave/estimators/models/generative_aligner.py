"""Models that align by counted log-odds."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from margrave.errors import MargraveError
from margrave.estimators.models.homology_ranker import known_homologues, with_candidates
from margrave.estimators.models.sequence_aligner import PairwiseModel
from margrave.settings.aligners import CountedAlignmentSettings


class CountedAlignerModel(CountedAlignmentSettings, PairwiseModel, saved_as="GenerativeAligner"):
    """Aligns pairs of sequences by log-odds: what `load` makes of the file of a `GenerativeAligner`."""

    features = "default"
    gaps = "linear"

    def predict(self, X: Any) -> Any:
        """Align every pair of sequences; of natives with candidates, choose the candidate with the best alignment.

        Parameters
        ----------
        X : pairs of sequences, or natives with candidates.
        """
        if not has_candidates(X):
            return super().predict(X)
        natives = with_candidates(X)
        scores = self.best_scores([(x, y) for x, candidates in natives for y in candidates])
        ends = np.cumsum([len(candidates) for _, candidates in natives])[:-1]
        return np.array([int(np.argmax(each)) for each in np.split(scores, ends)], dtype=np.int64)

    def score(self, X: Any, y: Any) -> float:
        """The F1 of matched pairs; of natives with candidates, the share of right candidates.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        if not has_candidates(X):
            return float(super().score(X, y))
        good = [known for known, _ in known_homologues(with_candidates(X), y)]
        return float(np.mean(self.predict(X) == np.array(good)))


def has_candidates(X: Any) -> bool:
    """Whether examples are natives with lists of candidates, and not pairs of sequences."""
    if isinstance(X, str | Mapping) or not hasattr(X, "__iter__"):
        raise MargraveError(f"X must be a list of pairs of sequences, not {type(X).__name__}.")
    return any(isinstance(pair, tuple | list) and len(pair) == 2 and _are_candidates(*pair) for pair in X)


def _are_candidates(x: Any, y: Any) -> bool:
    """Whether y is a list of sequences like x, and not a list of tokens."""
    if not isinstance(y, list | tuple) or not len(y):
        return False
    of_tokens = all(isinstance(each, str) for each in y)
    if isinstance(x, list | tuple):  # x has tokens, and so has every candidate
        return not of_tokens
    return not (of_tokens and all(len(each) == 1 for each in y))
