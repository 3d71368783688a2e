"""Models that align pairs of sequences."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length
from margrave.data.alignments import GAP_CHARACTERS, gapped, matched_pairs
from margrave.data.candidates import Candidates
from margrave.data.substitution import SubstitutionMatrix
from margrave.datasets.substitution import write_matrix
from margrave.errors import MargraveError, Message, setting
from margrave.estimators.model import Origin, StructuredModel, check_choice
from margrave.examples import Examples
from margrave.features.sequences import LETTERS, EncodedSequence, Sequences, Views, sequence_columns
from margrave.maps.alignment import AlignmentMap, letters_of, sequences_of
from margrave.memory import check_memory
from margrave.metrics.alignments import pair_scores
from margrave.settings.aligners import AlignerSettings, way_to_decode
from margrave.structures.alignment import Alignment, check_pairs
from margrave.structures.base import NoOutputs

Matches = list[tuple[int, int]]
_DECODERS = ("score", "accuracy")
# That decoding by accuracy takes per cell: the choice in it, and the scores and their exponentials if they have places.
_BYTES_OF_LETTERS, _BYTES_OF_PLACES = 1, 17


class AlignmentScores(StructuredModel, saved_as=""):
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


class PairwiseModel(AlignmentScores, saved_as=""):
    """Aligns pairs of sequences by the scores of letters and gaps."""

    mode: Any
    gaps: Any
    decode: Any
    caution: float

    def _structure(self, examples: Examples) -> Alignment:
        return Alignment(self.mode, self.gaps, self._tied(examples))

    def _tied(self, examples: Examples) -> bool:
        """Whether parts belong to letters instead of positions, if scores depend on letters alone."""
        return bool(self.map_.of_letters and not examples.extra("places"))

    def _check_parameters(self) -> Any:
        check_choice("way to decode", way_to_decode(self.decode, self.mode), _DECODERS)
        return super()._check_parameters()

    def _completed(self, examples: Examples, outputs: Any) -> Examples:
        rows = sequences_of(examples.attributes)
        letters = max((s.views.size("letters") for s in [*rows.x[:1], *rows.y[:1]]), default=1)
        return examples.having(x=letters_of(rows.x), y=letters_of(rows.y), letters=letters)

    def _outputs(self, Y: Any, X: Any) -> Any:
        return known_matches(Y, X)

    def _score(self, Y: Any, predicted: Any, outputs: Any) -> float:
        return pair_scores(Y, predicted).f1

    def predict(self, X: Any) -> list[Matches]:
        """Align every pair of sequences.

        Parameters
        ----------
        X : as in `fit`.
        """
        if way_to_decode(self.decode, self.mode) == "score":
            return self._predict(self._given(X))  # type: ignore[no-any-return]
        bound = self._bind(self._given(X))
        w = self._temperature() * self._weights()
        _check_cells(bound.core, self._threads())

        def aligned(i: int) -> Matches:
            flat = bound.core.most_accurate(i, bound.problem.score(i, w), float(self.caution)).tolist()
            return list(zip(flat[::2], flat[1::2], strict=True))

        with ThreadPoolExecutor(self._threads()) as pool:
            return list(pool.map(aligned, range(bound.problem.size)))

    def predict_marginals(self, X: Any) -> list[NDArray[np.float64]]:
        """Compute the posterior probability that letter i of x is matched with letter j of y, for every pair.

        Parameters
        ----------
        X : as in `fit`.
        """
        return self._predict_marginals(self._given(X, extras={"places": True}))  # type: ignore[no-any-return]

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
        bound = self._bind(self._given(X))
        w = self._weights()
        return np.array([bound.core.best_score(i, bound.problem.score(i, w)) for i in range(bound.problem.size)])

    def _set_matrix(self, matrix: SubstitutionMatrix, feature_map: AlignmentMap, reason: str) -> None:
        """Become a model with the scores of this matrix; `reason` says where they are from."""
        features = Sequences(tuple(matrix.letters))
        features.views = feature_map.views = Views({"letters": tuple(matrix.letters)})
        self.outputs_, self.map_, self.features_ = NoOutputs(), feature_map, features
        empty = self._bound(Examples([]), self.outputs_, feature_map, None)
        self._set_origin(Origin(reason))
        self._set_model(self.outputs_, feature_map, features, feature_map.from_matrix(matrix, empty.problem.dim))

    def aligned(self, X: Sequence[Any]) -> list[tuple[str, str]]:
        """Align every pair of texts, and write both with "-" for gaps; unmatched letters of x come first.

        Parameters
        ----------
        X : pairs of texts.
        """
        return [gapped(str(x), str(y), pairs) for (x, y), pairs in zip(X, self.predict(X), strict=True)]


class AlignerModel(AlignerSettings, PairwiseModel, saved_as="SequenceAligner"):
    """Aligns pairs of sequences: what `load` makes of the file of a `SequenceAligner`."""

    def _tied(self, examples: Examples) -> bool:
        return self.tied is not False and super()._tied(examples)


def known_matches(Y: Any, X: Any = ()) -> list[Any]:
    """Known alignments as matched pairs; pairs of aligned texts are converted, and must be those of the pairs X."""
    if isinstance(Y, str | Mapping | Candidates) or not has_length(Y):
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


def _check_cells(core: _core.AlignmentStructure, threads: int) -> None:
    """Refuse pairs of sequences if decoding the longest by accuracy, one on each thread, does not fit into memory."""
    lengths = sorted((core.lengths(i) for i in range(core.size)), key=lambda each: each[0] * each[1], reverse=True)
    if lengths:
        n, m = lengths[0]
        check_memory(
            (_BYTES_OF_LETTERS if core.tied else _BYTES_OF_PLACES) * sum(a * b for a, b in lengths[:threads]),
            f"decoding {n} and {m} letters by accuracy",
            Message("use ", setting(decode="score")),
        )


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
    theta = np.zeros(n * m + n + m)
    np.subtract(table, caution, out=theta[: n * m].reshape(n, m))
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
