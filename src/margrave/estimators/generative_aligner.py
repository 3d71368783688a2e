"""Alignment by log-odds that are counted in known alignments: the generative model of 003, section 5.3."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave.checks import real
from margrave.errors import MargraveError
from margrave.estimators.base import Given
from margrave.estimators.homology_ranker import known_homologues, with_candidates
from margrave.estimators.sequence_aligner import SequenceAligner, known_matches
from margrave.features.base import Features
from margrave.features.sequences import LETTERS, Sequences
from margrave.learners.checks import example_weights
from margrave.losses import LossFamily
from margrave.maps.alignment import letters_of, sequences_of
from margrave.maps.substitution import SubstitutionMatrix
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


class GenerativeAligner(SequenceAligner):
    """Counts matched letters of known alignments, and scores them by their log-odds (003, section 5.3).

    It has all methods of `SequenceAligner`, whose weights are then log-odds in natural logarithms.

    Parameters
    ----------
    gap : the score of every unmatched letter. The paper has -0.2, in a unit that it does not state; with natural
        logarithms, -1 comes nearest to its errors of six values that were tried (docs/papers.md).
    smoothing : what Laplace's rule adds to every count.
    mode : "global", "local" or "semi-global".
    alphabet : the letters; None takes those of the training data.
    decode, caution, n_jobs : as in `SequenceAligner`.

    >>> model = GenerativeAligner(mode="global").fit([("ACGT", "AGT")], [("ACGT", "A-GT")])
    >>> model.predict([("CGT", "GT")])
    [[(1, 0), (2, 1)]]
    """

    def __init__(
        self,
        gap: float = -0.2,
        *,
        smoothing: float = 1.0,
        mode: str = "local",
        alphabet: Any = None,
        decode: str = "score",
        caution: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        self.gap = gap
        self.smoothing = smoothing
        self.mode = mode
        self.alphabet = alphabet
        self.decode = decode
        self.caution = caution
        self.n_jobs = n_jobs

    # What the base asks of estimators that learn by optimisation.
    loss = "log"
    C = 1.0
    learner = "auto"
    gaps = "linear"
    tied = "auto"
    edges = False
    symmetric = False
    window = 0
    gap_residues = False
    gap_context = 0
    end_gaps = False
    start = None
    features = "default"
    max_iter = None
    tol = 1e-4
    random_state = 0
    verbose = False

    def _default_features(self) -> Features:
        return Sequences(self.alphabet)

    def _check_parameters(self) -> LossFamily:
        real("gap", self.gap, "be finite", np.isfinite)
        real("smoothing", self.smoothing, "be positive", lambda value: 0 < value < np.inf)
        return super()._check_parameters()

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        dev: Any = None,
        checkpoint: Any = None,
        observers: Sequence[Any] = (),
    ) -> Self:
        """Count the letters of known alignments.

        Parameters
        ----------
        X : pairs of sequences; or natives with candidates, as in `HomologyRanker`.
        y : their alignments; or the numbers of the homologues with their alignments.
        sample_weight : one factor per example on its counts.
        dev, checkpoint, observers : not used, since counting has no passes.
        """
        return super().fit(X, y, sample_weight, dev=dev, checkpoint=checkpoint, observers=observers)

    def _dev_given(self, dev: Any) -> None:
        return None

    def _fit(self, given: Given, sample_weight: Any, dev: Any, checkpoint: Any, observers: Any) -> Self:
        self._settings()
        X, Y = given.X, given.Y
        if _has_candidates(X):
            natives = with_candidates(X)
            known = known_homologues(natives, Y)
            features = Sequences(self.alphabet).learn(natives)
            X = [(x, candidates[good]) for (x, candidates), (good, _) in zip(natives, known, strict=True)]
            Y = [each for _, each in known]
        else:
            features, X, Y = Sequences(self.alphabet).learn(X), list(X), known_matches(Y, X)
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
        self._set_matrix(SubstitutionMatrix(letters, table, float(self.gap), float(self.gap)), "letters are counted")
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

    >>> from margrave.maps import BLOSUM62
    >>> aligner_of(BLOSUM62).predict([("HEAGAWGHEE", "PAWHEAE")])
    [[(3, 0), (4, 1), (5, 2), (6, 3), (7, 4), (8, 5), (9, 6)]]
    """
    model = SequenceAligner(mode=mode, gaps=gaps, symmetric=False)
    model._set_matrix(matrix)
    return model
