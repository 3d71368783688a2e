"""Alignment by log-odds that are counted in known alignments: the generative model of 003, section 5.3."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real
from margrave.errors import MargraveError
from margrave.estimators.homology_ranker import known_homologues, with_candidates
from margrave.estimators.sequence_aligner import SequenceAligner, known_matches
from margrave.features.substitution import SubstitutionMatrix
from margrave.inputs.sequences import LETTERS, Sequences


def log_odds(
    pairs: NDArray[np.int64], x: NDArray[np.int64], y: NDArray[np.int64], smoothing: float
) -> NDArray[np.float64]:
    """log P(a, b) / (P(a) P(b)) with Laplace's rule: `smoothing` is added to every count.

    Parameters
    ----------
    pairs : (letters, letters) counts of matched pairs.
    x, y : counts of the letters of the sequences x and y.
    smoothing : what is added to every count.

    >>> log_odds(np.array([[8, 0], [0, 8]]), np.array([8, 8]), np.array([8, 8]), 1.0).round(2)
    array([[ 0.59, -1.61],
           [-1.61,  0.59]])
    """
    joint, px, py = pairs + smoothing, x + smoothing, y + smoothing
    found: NDArray[np.float64] = np.log(joint / joint.sum() / (px / px.sum())[:, None] / (py / py.sum())[None, :])
    return found


class GenerativeAligner:
    """Counts matched letters of known alignments, and scores them by their log-odds (003, section 5.3).

    Parameters
    ----------
    gap : the score of every unmatched letter; -0.2 is that of 003.
    smoothing : what Laplace's rule adds to every count.
    mode : "global", "local" or "semi-global".
    alphabet : the letters; None takes those of the training data.

    >>> model = GenerativeAligner(mode="global").fit([("ACGT", "AGT")], [("ACGT", "A-GT")])
    >>> model.predict([("CGT", "GT")])
    [[(1, 0), (2, 1)]]
    """

    def __init__(self, gap: float = -0.2, *, smoothing: float = 1.0, mode: str = "local", alphabet: Any = None) -> None:
        self.gap = real("gap", gap, "be finite", np.isfinite)
        self.smoothing = real("smoothing", smoothing, "be positive", lambda value: 0 < value < np.inf)
        self.mode = mode
        self.alphabet = alphabet

    def fit(self, X: Any, y: Any) -> Self:
        """Count the letters of known alignments.

        Parameters
        ----------
        X : pairs of sequences; or natives with candidates, as in `HomologyRanker`.
        y : their alignments; or the numbers of the homologues with their alignments.
        """
        if any(isinstance(pair[1], list | tuple) and not _tokens(pair[1]) for pair in X):
            natives = with_candidates(X)
            known = known_homologues(natives, y)
            inputs = Sequences(self.alphabet).learn(natives)
            pairs = [(x, candidates[good]) for (x, candidates), (good, _) in zip(natives, known, strict=True)]
            matches = [each for _, each in known]
        else:
            inputs, pairs, matches = Sequences(self.alphabet).learn(X), list(X), known_matches(y)
        assert inputs.views is not None
        n = inputs.views.size(LETTERS)
        joint, of_x, of_y = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        for (a, b), each in zip(inputs.transform(pairs), matches, strict=True):
            x, z = a.columns[LETTERS], b.columns[LETTERS]
            np.add.at(of_x, x, 1)
            np.add.at(of_y, z, 1)
            for i, j in each:
                joint[x[i], z[j]] += 1
        letters = inputs.views.values[LETTERS]
        assert not isinstance(letters, int)
        table = log_odds(joint.astype(np.int64), of_x.astype(np.int64), of_y.astype(np.int64), self.smoothing)
        self.matrix_ = SubstitutionMatrix(letters, table, self.gap, self.gap)
        return self

    def _aligner(self) -> SequenceAligner:
        if not hasattr(self, "matrix_"):
            raise MargraveError("this GenerativeAligner is not fitted yet: call fit first.")
        return aligner_of(self.matrix_, self.mode, "linear")

    def predict(self, X: Any) -> Any:
        """Align every pair of sequences; of natives with candidates, choose the candidate with the best alignment.

        Parameters
        ----------
        X : pairs of sequences, or natives with candidates.
        """
        if any(isinstance(pair[1], list | tuple) and not _tokens(pair[1]) for pair in X):
            natives = with_candidates(X)
            flat = [(x, y) for x, candidates in natives for y in candidates]
            scores = self._aligner().best_scores(flat)
            ends = np.cumsum([len(candidates) for _, candidates in natives])[:-1]
            return np.array([int(np.argmax(each)) for each in np.split(scores, ends)], dtype=np.int64)
        return self._aligner().predict(X)


def _tokens(y: Any) -> bool:
    """Whether it is a list of tokens of one letter each, and not a list of sequences."""
    return bool(len(y)) and all(isinstance(each, str) and len(each) == 1 for each in y)


def aligner_of(matrix: SubstitutionMatrix, mode: str = "global", gaps: str = "affine") -> SequenceAligner:
    """A fitted `SequenceAligner` with the scores of a matrix, such as BLOSUM62.

    Parameters
    ----------
    matrix : the scores of pairs and gaps.
    mode, gaps : as in `SequenceAligner`.

    >>> from margrave.features import BLOSUM62
    >>> aligner_of(BLOSUM62).predict([("HEAGAWGHEE", "PAWHEAE")])
    [[(3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5), (9, 6)]]
    """
    model = SequenceAligner(mode=mode, gaps=gaps, symmetric=False)
    model._set_matrix(matrix)
    return model
