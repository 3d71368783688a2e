"""Alignment by log-odds that are counted in known alignments: the generative model of 003, section 5.3."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.data.substitution import SubstitutionMatrix
from margrave.errors import MargraveError
from margrave.estimators.counted import CountedEstimator
from margrave.estimators.models.generative_aligner import CountedAlignerModel, has_candidates
from margrave.estimators.models.homology_ranker import known_homologues, with_candidates
from margrave.estimators.models.sequence_aligner import AlignerModel, known_matches
from margrave.estimators.weighting import weighted
from margrave.examples import Examples
from margrave.features.sequences import LETTERS, Sequences
from margrave.learners.checks import example_weights
from margrave.maps.alignment import AlignmentMap, letters_of, sequences_of
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


class GenerativeAligner(CountedEstimator, CountedAlignerModel):
    """Counts matched letters of known alignments, and scores them by their log-odds.

    It predicts as `SequenceAligner` does, with log-odds in natural logarithms as weights. Counting minimizes no
    objective, so it has neither a `C` nor `fit_path`.

    >>> model = GenerativeAligner(mode="global").fit([("ACGT", "AGT")], [("ACGT", "A-GT")])
    >>> model.predict([("CGT", "GT")])
    [[(1, 0), (2, 1)]]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count the letters of known alignments.

        Parameters
        ----------
        X : pairs of sequences; or natives with candidates, as in `HomologyRanker`.
        y : their alignments; or the numbers of the homologues with their alignments.
        sample_weight : one factor per example on its counts.
        """
        self._check_parameters()
        examples = weighted(self._given(X, y), sample_weight)
        X, y, given = examples.X, examples.Y, examples.extra("sample_weight")
        if has_candidates(X):
            natives = with_candidates(X)
            known = known_homologues(natives, y)
            features = Sequences(self.alphabet).learn(natives)
            X = [(x, candidates[good]) for (x, candidates), (good, _) in zip(natives, known, strict=True)]
            Y = [each for _, each in known]
        else:
            features, X, Y = Sequences(self.alphabet).learn(X), list(X), known_matches(y, X)
        if len(X) != len(Y):
            raise MargraveError(f"there are {len(X)} pairs in X and {len(Y)} in y.")
        weights = np.ones(len(X)) if given is None else example_weights(given, len(X))
        encoded = features.transform(X)
        rows = sequences_of(encoded)
        counted = Examples(X, Y, {"x": letters_of(rows.x), "y": letters_of(rows.y)})
        Alignment(self.mode, self.gaps, tied=False).bind(NoOutputs(), counted)  # refuses pairs outside of sequences
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


def aligner_of(matrix: SubstitutionMatrix, mode: str = "global", gaps: str = "affine") -> AlignerModel:
    """A model with the scores of a matrix, such as BLOSUM62, that predicts the alignments with the highest score.

    Parameters
    ----------
    matrix : the scores of pairs and gaps.
    mode, gaps : as in `SequenceAligner`.

    >>> from margrave.data import BLOSUM62
    >>> aligner_of(BLOSUM62).predict([("HEAGAWGHEE", "PAWHEAE")])
    [[(3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5), (9, 6)]]
    """
    model = AlignerModel(mode=mode, gaps=gaps, symmetric=False, decode="score")
    Alignment(mode, gaps)  # refuses others
    feature_map = AlignmentMap(symmetric=False, affine=gaps == "affine")
    model._set_matrix(matrix, feature_map, "the scores are those of a given matrix")
    return model
