"""The features of alignments: tables over pairs of letters and of other columns, and weights of gaps.

The order of the weights is that of `_core.alignment_map`: the table of letters, those of the windows around both
positions, those of further columns; then openings and extensions of gaps, by residue, by context; and once more for the
ends of sequences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.data.candidates import Candidates
from margrave.data.letters import Letters
from margrave.data.substitution import SubstitutionMatrix
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.features.sequences import LETTERS, EncodedSequence, Views
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.named import Block


@dataclass
class AlignmentRows:
    """Encoded pairs: the sequences x and y; or native sequences and all their candidates."""

    x: list[EncodedSequence]
    y: list[EncodedSequence]
    first: NDArray[np.int64] | None = None  # where the candidates of each example begin

    @property
    def example_begin(self) -> NDArray[np.int64]:
        """Where each sequence x begins."""
        return begins(self.x)


def begins(sequences: Sequence[EncodedSequence]) -> NDArray[np.int64]:
    """Where each sequence begins, and the end of the last one."""
    return np.concatenate([[0], np.cumsum([len(s) for s in sequences])]).astype(np.int64)


def letters_of(sequences: Sequence[EncodedSequence]) -> Letters:
    """The letters of encoded sequences, as structures take them; without codes if positions have attributes."""
    if not all(s.views.single for s in sequences):
        return Letters(begins(sequences))
    codes = [s.columns[LETTERS] for s in sequences]
    return Letters(begins(sequences), np.concatenate([np.zeros(0, dtype=np.int32), *codes]))


def sequences_of(X: Any) -> AlignmentRows:
    """The sequences of encoded examples."""
    for i, example in enumerate(X):
        pair = isinstance(example, tuple) and len(example) == 2 and isinstance(example[0], EncodedSequence)
        others = example[1] if pair and isinstance(example[1], Candidates) else example[1:] if pair else ()
        if not pair or not all(isinstance(each, EncodedSequence) for each in others):
            raise MargraveError(f"example {i} must be a pair of sequences that margrave.features.Sequences encoded.")
    xs, ys = [x for x, _ in X], [y for _, y in X]
    if any(isinstance(y, Candidates) for y in ys):
        first = np.concatenate([[0], np.cumsum([len(y) for y in ys])]).astype(np.int64)
        return AlignmentRows(xs, [each for y in ys for each in y], first)
    return AlignmentRows(xs, ys)


@dataclass
class AlignmentMap(FeatureMap[AlignmentRows, _core.Structure]):
    """One weight for every pair of letters, for opening and for extending a gap.

    Parameters
    ----------
    symmetric : whether the pairs (a, b) and (b, a) share a weight.
    window : tables of the letters at the same offset from both positions, for offsets up to this one.
    gap_residues : whether every letter has weights in gaps of its own, in addition to those of all letters.
    gap_context : weights of the letters around a letter in a gap, for offsets up to this one.
    end_gaps : whether gaps before the first and after the last match have weights of their own. In semi-global
        alignments these are the gaps of the shorter runs; local ones have no such gaps, and refuse True.
    affine : whether opening a gap has a weight of its own.
    """

    name = "alignment"

    symmetric: bool = True
    window: int = 0
    gap_residues: bool = False
    gap_context: int = 0
    end_gaps: bool = False
    affine: bool = True

    views: Views | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("symmetric", "gap_residues", "end_gaps", "affine"):
            setattr(self, name, flag(name, getattr(self, name)))
        for name in ("window", "gap_context"):
            setattr(self, name, whole(name, getattr(self, name), 0, 100))

    @property
    def learned(self) -> bool:
        """Whether the letters are known."""
        return self.views is not None

    @property
    def of_letters(self) -> bool:
        """Whether scores depend on the letters alone, so that parts can be tied."""
        simple = self.window == 0 and self.gap_context == 0
        return simple and (self.views is None or (self.views.single and list(self.views.values) == [LETTERS]))

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> AlignmentRows:
        """The sequences of the examples."""
        rows = sequences_of(examples.attributes)
        if grow and rows.x and self.views is None:
            self.views = rows.x[0].views
        if rows.x and self.views is not None and not rows.x[0].views.same_as(self.views):
            raise MargraveError("these sequences have other columns or letters than those of the training data.")
        return rows

    def merge(self, other: Self) -> None:
        """All shards have the same letters, which the inputs have learned."""
        self.views = self.views or other.views

    def renumber(self, rows: AlignmentRows, numbers: None) -> AlignmentRows:
        """The same rows."""
        return rows

    def map(self, rows: AlignmentRows, bound: _core.Structure, *, training: bool = False) -> _core.Features:
        """The core's map of the parts of these alignments."""
        if self.views is None:
            raise MargraveError("features are learned from known alignments, and there are none.")
        tied = isinstance(bound, _core.HomologyStructure) or (
            isinstance(bound, _core.AlignmentStructure) and bound.tied
        )
        if tied and not self.of_letters:
            raise MargraveError("windows, contexts and further columns need parts at their places: pass tied=False.")
        tables, gaps = [], []
        for column, offset in self._tables():
            x, y = (self._rows(sequences, column, offset, tied) for sequences in (rows.x, rows.y))
            size = self._size(column, offset)
            tables.append((x, y, size, size, self.symmetric))
        for column, offset in self._gaps():
            x, y = (self._rows(sequences, column, offset, tied) for sequences in (rows.x, rows.y))
            gaps.append((x, y, self._size(column, offset)))
        return _core.alignment_map(bound, tables, gaps, self.end_gaps)

    def _tables(self) -> list[tuple[str, int]]:
        """The columns of the tables, each with its offset in the window."""
        assert self.views is not None
        offsets = [o for o in range(-self.window, self.window + 1) if o]
        further = [column for column in self.views.values if column != LETTERS]
        return [(LETTERS, 0), *((LETTERS, o) for o in offsets), *((column, 0) for column in further)]

    def _gaps(self) -> list[tuple[str, int]]:
        offsets = [o for o in range(-self.gap_context, self.gap_context + 1) if o]
        return [("", 0), *([(LETTERS, 0)] if self.gap_residues else []), *((LETTERS, o) for o in offsets)]

    def _size(self, column: str, offset: int) -> int:
        assert self.views is not None
        return self.views.size(column) + (1 if offset else 0) if column else 1

    def _rows(self, sequences: Sequence[EncodedSequence], column: str, offset: int, tied: bool) -> _core.Tokens:
        """The rows of a view; offsets that leave a sequence have a code of their own."""
        assert self.views is not None
        if tied:
            n = self.views.size(LETTERS)
            codes = np.arange(n, dtype=np.int32) if column else np.zeros(n, dtype=np.int32)
            return _core.Tokens(np.array([0, n]), np.arange(n + 1), codes, None)
        begin = begins(sequences)
        n = int(begin[-1])
        if not column:
            return _core.Tokens(begin, np.arange(n + 1), np.zeros(n, dtype=np.int32), None)
        values = [s.columns[column] for s in sequences]
        if isinstance(self.views.values[column], int):
            width = self.views.size(column)
            matrix = np.concatenate([np.zeros((0, width)), *values])
            index = np.tile(np.arange(width, dtype=np.int32), n)
            return _core.Tokens(begin, np.arange(n + 1) * width, index, matrix.ravel())
        if column == LETTERS and self.views.single:
            if offset:
                outside = self.views.size(LETTERS)
                values = [_shifted(codes, offset, outside) for codes in values]
            return _core.Tokens(begin, np.arange(n + 1), np.concatenate([np.zeros(0, dtype=np.int32), *values]), None)
        lists = [row for each in values for row in each]
        if offset:
            outside = self.views.size(column)
            lists = [
                each[k + offset] if 0 <= k + offset < len(each) else [outside]
                for each in values
                for k in range(len(each))
            ]
        row_begin = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
        return _core.Tokens(begin, row_begin, np.array([a for row in lists for a in row], dtype=np.int32), None)

    def names(self) -> list[str]:
        """The names of all weights."""
        found = []
        for column, offset in self._tables():
            values = self._values(column, offset)
            pairs = product(range(len(values)), repeat=2)
            found += [f"{values[a]}:{values[b]}" for a, b in pairs if a <= b or not self.symmetric]
        of_gaps = []
        for column, offset in self._gaps():
            for kind in ("open", "extend") if self.affine else ("gap",):
                of_gaps += [f"{kind}:{value}" for value in self._values(column, offset)] if column else [kind]
        return [*found, *of_gaps, *(f"end {name}" for name in of_gaps if self.end_gaps)]

    def _values(self, column: str, offset: int) -> list[str]:
        assert self.views is not None
        values = self.views.values[column] if column else ("",)
        named = [str(k) for k in range(values)] if isinstance(values, int) else list(values)
        if column and column != LETTERS:
            named = [f"{column}={value}" for value in named]
        return [f"{value}@{offset:+d}" for value in [*named, "outside"]] if offset else named

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The weights with the largest absolute values."""
        names = self.names()
        return {"alignment": largest(names if len(names) == len(w) else [*names, *names], w, n, by_size=True)}

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of pairs of letters and of gaps."""
        return [Block.of_features("alignment", self.names())]

    def from_matrix(self, matrix: SubstitutionMatrix, dim: int) -> Weights:
        """The weights that give the scores of a matrix; all others are zero."""
        w = np.zeros(dim)
        assert self.views is not None
        letters = self.views.values[LETTERS]
        if isinstance(letters, int) or not self.views.single:
            raise MargraveError("a substitution matrix needs sequences of letters.")
        table = matrix.table(letters)
        n = len(letters)
        w[: self._table_size(n)] = ((table + table.T) / 2)[np.triu_indices(n)] if self.symmetric else table.ravel()
        at = self._gaps_begin()
        own = (dim - at) // 2 if dim > at + self._gaps_size() else 0
        for first in (at, at + own):
            w[first] = matrix.gap_open if self.affine else (matrix.gap_open + matrix.gap_extend) / 2
            if self.affine:
                w[first + 1] = matrix.gap_extend
        return w

    def to_matrix(self, w: Weights) -> SubstitutionMatrix:
        """The table of letters, and the scores of gaps, as a matrix."""
        assert self.views is not None
        letters = self.views.values[LETTERS]
        assert not isinstance(letters, int)
        n = len(letters)
        table = np.zeros((n, n))
        if self.symmetric:
            table[np.triu_indices(n)] = w[: self._table_size(n)]
            table = np.where(np.tri(n, k=-1, dtype=bool), table.T, table)
        else:
            table[:] = w[: n * n].reshape(n, n)
        at = self._gaps_begin()
        return SubstitutionMatrix(letters, table, float(w[at]), float(w[at + 1]) if self.affine else float(w[at]))

    def _table_size(self, n: int) -> int:
        return n * (n + 1) // 2 if self.symmetric else n * n

    def _gaps_begin(self) -> int:
        return sum(self._table_size(self._size(column, offset)) for column, offset in self._tables())

    def _gaps_size(self) -> int:
        return sum(self._size(column, offset) for column, offset in self._gaps()) * (2 if self.affine else 1)

    def state(self) -> dict[str, Any]:
        """The values of all columns."""
        return {} if self.views is None else {"values": dict(self.views.values), "single": self.views.single}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        if state:
            self.views = Views.restored(state)


def _shifted(codes: NDArray[np.int32], offset: int, outside: int) -> NDArray[np.int32]:
    """The codes at an offset from every position."""
    moved = np.full(len(codes), outside, dtype=np.int32)
    if offset > 0:
        moved[:-offset] = codes[offset:]
    else:
        moved[-offset:] = codes[:offset]
    return moved
