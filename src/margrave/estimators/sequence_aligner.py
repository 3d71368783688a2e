"""Aligning pairs of sequences with scores that are learned from known alignments (003, section 4.4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.binding import Bound
from margrave.checks import flag
from margrave.data.alignments import GAP_CHARACTERS, matched_pairs
from margrave.data.candidates import Candidates
from margrave.data.substitution import SubstitutionMatrix, matrix_named
from margrave.datasets.substitution import write_matrix
from margrave.errors import MargraveError
from margrave.estimators.base import StructuredEstimator, Training, check_choice
from margrave.estimators.model import Given, Origin, StructuredModel
from margrave.features.base import Features
from margrave.features.sequences import LETTERS, EncodedSequence, Sequences, Views, sequence_columns
from margrave.learners import Objective
from margrave.losses import Cost, LossFamily
from margrave.losses.costs import F1
from margrave.maps.alignment import AlignmentMap, letters_of, sequences_of
from margrave.metrics.alignments import pair_scores
from margrave.settings.aligners import AlignerSettings
from margrave.structures.alignment import Alignment, AlignmentModel, check_pairs
from margrave.structures.base import NoOutputs

Weights = NDArray[np.float64]
Matches = list[tuple[int, int]]
DECODERS = ("score", "accuracy")
_LONGEST_F1 = 40  # letters of a sequence for which the F1 cost is counted


class AlignmentScores(StructuredModel):
    """What models of alignments share: scores of pairs of letters and of gaps."""

    map_: AlignmentMap

    @property
    def matrix_(self) -> SubstitutionMatrix:
        """The learned scores of pairs of letters and of gaps; windows, contexts and columns are not in it."""
        self._check_fitted()
        return self.map_.to_matrix(self._weights())

    def write_matrix(self, path: str | PathLike[str]) -> None:
        """Write the learned matrix in NCBI's text format, which Biopython's `PairwiseAligner` can use.

        Parameters
        ----------
        path : the file.
        """
        write_matrix(path, self.matrix_)


class AlignmentEstimator(AlignmentScores, StructuredEstimator):
    """What estimators of alignments share: letters, features, and weights that are measured from a given matrix."""

    mode: str
    gaps: str
    symmetric: bool
    gap_residues: bool
    end_gaps: bool
    start: str | SubstitutionMatrix | None

    def _structure(self, given: Given) -> AlignmentModel:
        raise MargraveError(f"{type(self).__name__} does not say which structure it has.")

    def _default_features(self) -> Features:
        return Sequences(also=() if self.start is None else matrix_named(self.start).letters)

    def _map(self, outputs: Any) -> AlignmentMap:
        return AlignmentMap(
            symmetric=self.symmetric,
            gap_residues=self.gap_residues,
            end_gaps=self.end_gaps,
            affine=self.gaps == "affine",
        )

    def _check_parameters(self) -> LossFamily:
        loss = super()._check_parameters()
        self._structure(Given([]))
        if self.start is not None:
            matrix_named(self.start)
            # The scores of w0 enter with gamma, and what a difference of losses subtracts has gamma = 0.
            if not loss.of_family or loss.zero_one or not loss.convex:
                raise MargraveError(
                    "a matrix to start from needs a convex loss of the family with a cost that decomposes over parts: "
                    "'log', 'hinge' or 'softmax-margin'."
                )
        return loss

    # With a matrix w0 to start from, a learner sees the weights u = w - w0 and penalises |u|^2; the scores of w0 are in
    # the costs (protocol/offset.h), which enter with gamma = 1 for losses that have no cost of their own.

    def _costs(self, loss: LossFamily, outputs: Any, given: Given) -> Any:
        return None if self.start is not None and loss.gamma == 0 else loss.costs

    def _training(self, given: Given, sample_weight: Any, loss: LossFamily) -> Training:
        training = super()._training(given, sample_weight, loss)
        if self.start is None:
            return training
        w0 = self._start_weights(training)
        problem = _core.offset(training.bound.problem, w0 / (loss.gamma or 1.0))
        return replace(training, bound=replace(training.bound, problem=problem))

    def _start_weights(self, training: Training) -> Weights:
        assert isinstance(training.feature_map, AlignmentMap)
        natural = matrix_named(self.start).measured_in(1.0)
        return training.feature_map.from_matrix(natural, training.bound.problem.dim)

    def _objective(self, training: Training, loss: LossFamily, **more: Any) -> Objective:
        if self.start is not None and loss.gamma == 0:
            loss = LossFamily(loss.beta, 1.0)
        return super()._objective(training, loss, **more)

    def _dev_given(self, dev: Any) -> Given | None:
        given = super()._dev_given(dev)
        return given if given is None or given.Y is None else self._checked(given, None)[0]

    def _dev_score(self, given: Given, training: Training) -> Callable[[Weights], float]:
        score = super()._dev_score(given, training)
        w0 = self._start_weights(training) if self.start is not None else None
        return score if w0 is None else lambda u: score(u + w0)

    def _set_fitted(self, training: Training, w: Weights) -> None:
        super()._set_fitted(training, w if self.start is None else w + self._start_weights(training))


class AlignerModel(AlignmentScores):
    """Aligns pairs of sequences by the scores of letters and gaps."""

    mode: Any
    gaps: Any
    decode: Any
    caution: float

    def _structure(self, given: Given) -> Alignment:
        return Alignment(self.mode, self.gaps, bool(given.to_structure.get("tied", True)))

    def _check_parameters(self) -> Any:
        check_choice("way to decode", self.decode, DECODERS)
        return super()._check_parameters()

    def _to_structure(self, given: Given, X: Any, outputs: Any) -> Mapping[str, Any]:
        rows = sequences_of(X)
        x, y = letters_of(rows.x), letters_of(rows.y)
        letters = max((s.views.size("letters") for s in [*rows.x[:1], *rows.y[:1]]), default=1)
        return {"x": x, "y": y, "letters": letters}

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return pair_scores(known_matches(Y), predicted).f1

    def score(self, X: Any, y: Any) -> float:
        """The F1 of matched pairs.

        Parameters
        ----------
        X, y : as in `fit`.
        """
        return float(super().score(X, known_matches(y, X)))

    def predict(self, X: Any) -> list[Matches]:
        """Align every pair of sequences.

        Parameters
        ----------
        X : as in `fit`.
        """
        if self.decode == "score":
            return self._predict(Given(X))  # type: ignore[no-any-return]
        return [most_accurate(table, float(self.caution)) for table in self.predict_marginals(X)]

    def predict_marginals(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the posterior probability that letter i of x is matched with letter j of y, for every pair.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._predict_marginals(Given(X, to_structure={"tied": False}))  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> list[list[tuple[int, int, float]]]:
        """Align every pair, with a confidence for every column: (i, j, probability), with -1 for a gap.

        The probability of a column with a gap is that its letter is not matched with any other.

        Parameters
        ----------
        X : as in `fit`.
        """
        tables = self.predict_marginals(X)
        predicted = self.predict(X)
        return [_confidence(pairs, table) for pairs, table in zip(predicted, tables, strict=True)]

    def best_scores(self, X: Any) -> NDArray[np.float64]:
        """The score of the best alignment of every pair, in linear memory if parts are tied.

        Parameters
        ----------
        X : as in `fit`.
        """
        bound = self._bind(Given(X))
        assert isinstance(bound.core, _core.AlignmentStructure)
        w = self._weights()
        return np.array([bound.core.best_score(i, bound.problem.score(i, w)) for i in range(bound.problem.size)])

    def _set_matrix(self, matrix: SubstitutionMatrix, feature_map: AlignmentMap, reason: str) -> None:
        """Become a model with the scores of this matrix; `reason` says where they are from."""
        features = Sequences(tuple(matrix.letters))
        features.views = feature_map.views = Views({"letters": tuple(matrix.letters)})
        empty = self._bound(Given([]), NoOutputs(), feature_map, None)
        self._set_origin(Origin(reason))
        self._set_model(NoOutputs(), feature_map, features, feature_map.from_matrix(matrix, empty.problem.dim))

    def aligned(self, X: Sequence[Any]) -> list[tuple[str, str]]:
        """Align every pair of texts, and write both with "-" for gaps; unmatched letters of x come first.

        Parameters
        ----------
        X : pairs of texts.
        """
        from margrave.data.alignments import gapped

        return [gapped(str(x), str(y), pairs) for (x, y), pairs in zip(X, self.predict(X), strict=True)]

    def _bound(self, given: Given, outputs: Any, feature_map: Any, features: Features | None) -> Bound:
        if given.Y is None and feature_map is not None and not feature_map.of_letters:
            given = replace(given, to_structure={**given.to_structure, "tied": False})
        return super()._bound(given, outputs, feature_map, features)


class SequenceAligner(AlignerSettings, AlignerModel, AlignmentEstimator):
    """Aligns pairs of sequences; minimises 1/2 |w - start|^2 + C sum_i L_i(w).

    An example of X is a pair (x, y) of sequences: texts, Biopython's Seq or SeqRecord, lists of tokens, lists of lists
    of attribute strings, or dictionaries of columns, such as {"letters": "ACD", "helix": "HHC"}; columns that are
    matrices are profiles. An output is the list of matched positions (i, j), from 0, or a pair of aligned texts of the
    same length, with "-" for gaps.

    Attributes
    ----------
    coef_ : the weights.
    matrix_ : the learned substitution matrix.

    >>> pairs = [("ACGT", "AGT"), ("TTACG", "TACG"), ("GATTA", "GTTA")]
    >>> known = [("ACGT", "A-GT"), ("TTACG", "-TACG"), ("GATTA", "G-TTA")]
    >>> SequenceAligner(C=10.0).fit(pairs, known).predict([("CGAT", "CGT")])
    [[(0, 0), (1, 1), (3, 2)]]
    """

    def _structure(self, given: Given) -> Alignment:
        tied = given.to_structure.get("tied")
        if tied is None:
            tied = self._tied(given)
        return Alignment(self.mode, self.gaps, bool(tied), edges=self.edges and given.Y is not None)

    def _tied(self, given: Given) -> bool:
        """Whether parts are tied: for losses without costs, and for prediction, if scores depend on letters alone."""
        if self.tied != "auto":
            return bool(self.tied)
        if self.edges and given.Y is not None:
            return False
        from margrave.losses import loss_named

        feature_map = getattr(self, "map_", None) if given.Y is None else None
        simple = self.window == 0 and self.gap_context == 0 and (feature_map is None or feature_map.of_letters)
        columns = given.Y is not None and not _only_letters(given.X)
        return simple and not columns and (given.Y is None or loss_named(self.loss).gamma == 0)

    def _map(self, outputs: Any) -> AlignmentMap:
        feature_map = super()._map(outputs)
        feature_map.window, feature_map.gap_context = self.window, self.gap_context
        feature_map.__post_init__()
        return feature_map

    def _check_parameters(self) -> LossFamily:
        loss: LossFamily = super()._check_parameters()
        if not isinstance(self.tied, bool):
            check_choice("tied", self.tied, ("auto",))
        elif self.tied and loss.gamma > 0:
            raise MargraveError(
                f"the loss {loss.name!r} counts wrong pairs by their places, which tied parts do not tell: pass "
                "tied=False."
            )
        if flag("edges", self.edges) and self.tied is True:
            raise MargraveError("parts of edges are not tied: pass tied=False.")
        return loss

    def _checked(self, given: Given, sample_weight: Any) -> tuple[Given, Any]:
        return replace(given, Y=known_matches(given.Y, given.X)), sample_weight

    def _costs_of_loss(self) -> Cost:
        from margrave.losses import loss_named

        return loss_named(self.loss).costs

    def _to_structure(self, given: Given, X: Any, outputs: Any) -> Mapping[str, Any]:
        found = super()._to_structure(given, X, outputs)
        if given.Y is not None and isinstance(self._costs_of_loss(), F1):
            for i, length in enumerate(np.maximum(found["x"].lengths, found["y"].lengths).tolist()):
                if length > _LONGEST_F1:
                    raise MargraveError(
                        f"example {i} has {length} letters, and the F1 cost is counted for up to {_LONGEST_F1}: use "
                        "the cost 'hamming'."
                    )
        return found


def _only_letters(X: Any) -> bool:
    """Whether all that is known of sequences is their letters."""
    for pair in X:
        for sequence in pair if hasattr(pair, "__len__") and len(pair) == 2 else ():
            views = getattr(sequence, "views", None)
            if views is not None:
                return bool(views.single and list(views.values) == ["letters"])
            if isinstance(sequence, Mapping) and len(sequence) > 1:
                return False
            if isinstance(sequence, list | tuple) and sequence and not isinstance(sequence[0], str):
                return False
    return True


def known_matches(Y: Any, X: Any = ()) -> list[Any]:
    """Known alignments as matched pairs; pairs of aligned texts are converted, and must be those of the pairs X."""
    if isinstance(Y, str | Mapping | Candidates) or not hasattr(Y, "__len__"):
        raise MargraveError(f"y must be a list with an alignment for each pair, not {type(Y).__name__}.")
    converted = []
    for i, known in enumerate(Y):
        if isinstance(known, tuple | list) and len(known) == 2 and all(isinstance(each, str) for each in known):
            converted.append(matched_pairs(known[0], known[1], f"example {i}"))
        else:
            converted.append(known)
    check_pairs(converted)
    for i, (pair, known) in enumerate(zip(X, Y, strict=False)):  # Numbers of examples are compared later.
        if isinstance(known[0] if len(known) else None, str) and isinstance(pair, tuple | list) and len(pair) == 2:
            for side, sequence, text in zip("xy", pair, known, strict=True):
                check_aligned(text, sequence, f"example {i}, {side}")
    return converted


def check_aligned(text: str, sequence: Any, where: str) -> None:
    """Refuse an aligned text that is not its sequence with gaps.

    Parameters
    ----------
    text : the sequence with gaps.
    sequence : as the user gives it, or encoded; longer tokens than letters are only counted.
    where : which sequence this is, for errors.
    """
    letters = "".join(letter for letter in text if letter not in GAP_CHARACTERS)
    encoded = isinstance(sequence, EncodedSequence)
    own = letters if encoded else sequence_columns(sequence, where)[LETTERS]
    size = len(sequence) if encoded else len(own)
    if size != len(letters):
        raise MargraveError(f"{where} has {size} letters, and {len(letters)} in the known alignment.")
    for k, (letter, aligned) in enumerate(zip(own, letters, strict=True)):
        if isinstance(letter, str) and len(letter) == 1 and letter != aligned:
            raise MargraveError(f"{where}, position {k}: the letter is {letter!r}, and {aligned!r} in the alignment.")


def most_accurate(table: NDArray[np.float64], caution: float) -> Matches:
    """The alignment with the largest sum of posterior probabilities minus `caution`.

    Parameters
    ----------
    table : the posterior probabilities of all pairs.
    caution : what every pair costs.

    >>> most_accurate(np.array([[0.9, 0.1], [0.2, 0.3]]), 0.5)
    [(0, 0)]
    """
    n, m = table.shape
    begin_x, begin_y = np.array([0, n], dtype=np.int64), np.array([0, m], dtype=np.int64)
    structure = _core.alignment("local", False, 1, begin_x, begin_y, None, None, None, None, False)
    theta = np.concatenate([(table - caution).ravel(), np.zeros(n + m)])
    return [(int(i), int(j)) for i, j in structure.best_matches(0, theta).reshape(-1, 2)]


def _confidence(pairs: Matches, table: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    n, m = table.shape
    free_x, free_y = 1 - table.sum(axis=1), 1 - table.sum(axis=0)
    columns: list[tuple[int, int, float]] = []
    i = j = 0
    for a, b in [*pairs, (n, m)]:
        columns += [(k, -1, float(free_x[k])) for k in range(i, a)] + [(-1, k, float(free_y[k])) for k in range(j, b)]
        if a < n:
            columns.append((a, b, float(table[a, b])))
        i, j = a + 1, b + 1
    return columns
