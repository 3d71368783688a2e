"""Alignment by log-odds that are counted in known alignments: the generative model of 003, section 5.3."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.data.substitution import SubstitutionMatrix
from margrave.errors import MargraveError
from margrave.estimators.estimator import Estimator
from margrave.estimators.homology_ranker import known_homologues, with_candidates
from margrave.estimators.sequence_aligner import AlignerModel, SequenceAligner, known_matches
from margrave.features.sequences import LETTERS, Sequences
from margrave.learners.checks import example_weights
from margrave.maps.alignment import AlignmentMap, letters_of, sequences_of
from margrave.settings.aligners import CountedAlignmentSettings
from margrave.structures.alignment import Alignment
from margrave.structures.base import NoOutputs


def log_odds(
    pairs: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64], smoothing: float
) -> NDArray[np.float64]:
    """log P(a, b) / (P(a) P(b)) with Laplace's rule: `smoothing` is added to every count.

    Parameters
    ----------
    pairs : (letters, letters) counts of matched pairs.
    x, y : counts of the letters of the sequences x and y.
    smoothing : what is added to every count.

    >>> log_odds(np.array([[8.0, 0], [0, 8]]), np.array([8.0, 8]), np.array([8.0, 8]), 1.0).round(2)
    array([[ 0.59, -1.61],
           [-1.61,  0.59]])
    """
    joint, px, py = pairs + smoothing, x + smoothing, y + smoothing
    found: NDArray[np.float64] = np.log(joint / joint.sum() / (px / px.sum())[:, None] / (py / py.sum())[None, :])
    return found


class GenerativeAligner(CountedAlignmentSettings, AlignerModel, Estimator):
    """Counts matched letters of known alignments, and scores them by their log-odds (003, section 5.3).

    It has all methods of `SequenceAligner`, whose weights are then log-odds in natural logarithms.

    >>> model = GenerativeAligner(mode="global").fit([("ACGT", "AGT")], [("ACGT", "A-GT")])
    >>> model.predict([("CGT", "GT")])
    [[(1, 0), (2, 1)]]
    """

    features = "default"
    gaps = "linear"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the letters of known alignments.

        Parameters
        ----------
        X : pairs of sequences; or natives with candidates, as in `HomologyRanker`.
        y : their alignments; or the numbers of the homologues with their alignments.
        sample_weight : one factor per example on its counts.
        """
        self._check_parameters()
        if _has_candidates(X):
            natives = with_candidates(X)
            known = known_homologues(natives, y)
            features = Sequences(self.alphabet).learn(natives)
            X = [(x, candidates[good]) for (x, candidates), (good, _) in zip(natives, known, strict=True)]
            Y = [each for _, each in known]
        else:
            features, X, Y = Sequences(self.alphabet).learn(X), list(X), known_matches(y, X)
        if len(X) != len(Y):
            raise MargraveError(f"there are {len(X)} pairs in X and {len(Y)} in y.")
        weights = np.ones(len(X)) if sample_weight is None else example_weights(sample_weight, len(X))
        encoded = features.transform(X)
        rows = sequences_of(encoded)
        Alignment(self.mode, self.gaps, tied=False).bind(
            NoOutputs(), np.zeros(0, dtype=np.int64), Y, x=letters_of(rows.x), y=letters_of(rows.y)
        )  # which refuses pairs outside of their sequences
        views = features.views
        if views is None or not views.single or list(views.values) != [LETTERS]:
            raise MargraveError("counting takes sequences of letters, without attributes and further columns.")
        n = views.size(LETTERS)
        joint, of_x, of_y = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        for (a, b), each, weight in zip(encoded, Y, weights, strict=True):
            x, z = a.columns[LETTERS], b.columns[LETTERS]
            np.add.at(of_x, x, weight)
            np.add.at(of_y, z, weight)
            for i, j in each:
                joint[x[i], z[j]] += weight
        letters = views.values[LETTERS]
        assert not isinstance(letters, int)
        table = log_odds(joint, of_x, of_y, float(self.smoothing))
        matrix = SubstitutionMatrix(letters, table, float(self.gap), float(self.gap))
        self._set_matrix(matrix, AlignmentMap(symmetric=False, affine=False), "letters are counted")
        return self

    def predict(self, X: Any) -> Any:
        """Align every pair of sequences; of natives with candidates, choose the candidate with the best alignment.

        Parameters
        ----------
        X : pairs of sequences, or natives with candidates.
        """
        if not _has_candidates(X):
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
        if not _has_candidates(X):
            return float(super().score(X, y))
        good = [known for known, _ in known_homologues(with_candidates(X), y)]
        return float(np.mean(self.predict(X) == np.array(good)))


def _has_candidates(X: Any) -> bool:
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


def aligner_of(matrix: SubstitutionMatrix, mode: str = "global", gaps: str = "affine") -> SequenceAligner:
    """A fitted `SequenceAligner` with the scores of a matrix, such as BLOSUM62.

    Parameters
    ----------
    matrix : the scores of pairs and gaps.
    mode, gaps : as in `SequenceAligner`.

    >>> from margrave.data import BLOSUM62
    >>> aligner_of(BLOSUM62).predict([("HEAGAWGHEE", "PAWHEAE")])
    [[(3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5), (9, 6)]]
    """
    model = SequenceAligner(mode=mode, gaps=gaps, symmetric=False)
    model._set_matrix(matrix, model._map(None), "the scores are those of a given matrix")
    return model
