"""Encoding of attributes as rows of numbers: lists of strings, dictionaries, dense or sparse vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.files.stored import vector
from margrave.stored import Stored


@dataclass
class RowEncoder(Stored, kind="encoder"):
    """Encodes one kind of attributes as rows of numbers; the first call with `grow` decides the kind.

    With `hash_bits`, names are hashed to this many bits; if it is 0, they are numbered.
    """

    name = "rows"

    hash_bits: int = 0
    form: str | None = field(default=None, init=False)  # "names", "hashed" or "columns"
    vocabulary: _core.Vocabulary | None = field(default=None, init=False)
    columns: int = field(default=0, init=False)
    # For attributes that are numbered before they are spelled: which row each number has.
    _keyed: WeakKeyDictionary[_core.KeyedNames, _core.KeyTable] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the rows of numbered attributes, which are looked up again when they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_keyed"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restores what `__getstate__` returned."""
        self.__dict__.update(state, _keyed=WeakKeyDictionary())

    def __post_init__(self) -> None:
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)

    @property
    def attributes(self) -> int:
        """The number of rows that a table needs."""
        if self.form == "names":
            return len(self.vocabulary) if self.vocabulary is not None else 0
        return 1 << self.hash_bits if self.form == "hashed" else self.columns

    def encode(self, X: Any, *, single: bool, grow: bool, unit: str = "token", threads: int = 1) -> _core.Tokens:
        """Encode all tokens of X as rows.

        Parameters
        ----------
        X : the examples.
        single : whether every example is one token.
        grow : whether new names get a number; otherwise they are left out.
        unit : the word for a token in error messages.
        threads : with more than one, many names are looked up while those that follow are read; the rows are the same.
        """
        if not grow and isinstance(X, list | tuple) and len(X) == 0:
            return _core.Tokens(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(0, np.int32), None)
        form = "columns" if _has_columns(X, single) else "hashed" if self.hash_bits else "names"
        first = grow and self.form is None
        if first:
            self.form = form
            self.vocabulary = _core.Vocabulary() if form == "names" else None
        elif form != self.form:
            trained = "no attributes" if self.form is None else _FORMS[self.form]
            raise MargraveError(f"the model was trained on {trained}, and this input has {_FORMS[form]}.")
        if isinstance(X, _core.KeyedAttributes) and not single:
            return self._key_table(X.names).encode(X, grow)
        if form != "columns":
            bits = self.hash_bits if form == "hashed" else 0
            return _core.encode(X, self.vocabulary, grow, bits, single, unit, threads)
        begin, rows = _stack(X, single)
        if first:
            self.columns = rows.shape[1]
        elif rows.shape[1] != self.columns:
            raise MargraveError(
                f"the model was trained on vectors of length {self.columns}, and these have {rows.shape[1]}."
            )
        if rows.shape[1] > _MOST_COLUMNS:
            raise MargraveError(f"vectors must have at most {_MOST_COLUMNS} columns, and these have {rows.shape[1]}.")
        if isinstance(rows, np.ndarray):
            return _core.dense_rows(rows, begin, single, unit)
        return _core.Tokens(begin, rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)

    def _key_table(self, names: _core.KeyedNames) -> _core.KeyTable:
        table = self._keyed.get(names)
        if table is None or table.vocabulary is not self.vocabulary:
            table = self._keyed[names] = _core.KeyTable(names, self.vocabulary, self.hash_bits)
        return table

    def names(self) -> Sequence[Any]:
        """The names of attributes, or the numbers of columns, in the order of their numbers."""
        if self.form == "hashed":
            raise MargraveError("hashed features do not store names.")
        return range(self.columns) if self.vocabulary is None else self.vocabulary.names()

    def merge(self, other: Self) -> NDArray[np.int32] | None:
        """Add the other's names; return their numbers here, or None if they do not change."""
        if other.form is None:
            return None
        if self.form is None:
            self.form, self.columns = other.form, other.columns
            self.vocabulary = None if other.vocabulary is None else _core.Vocabulary()
        if (self.form, self.columns) != (other.form, other.columns):
            raise MargraveError("all shards of a data set must have the same kind of attributes.")
        if self.vocabulary is None or other.vocabulary is None or self.vocabulary is other.vocabulary:
            return None
        return self.vocabulary.merge(other.vocabulary)

    def subset(self, kept: NDArray[np.bool_]) -> Self:
        """An encoder of the names in `kept` only, in the same order; columns and hashed names cannot be removed."""
        if self.vocabulary is None:
            return self
        text, offsets = self.vocabulary.arrays()
        lengths = np.diff(offsets)
        smaller = replace(self)
        smaller.form, smaller.columns = self.form, self.columns
        smaller.vocabulary = _core.Vocabulary(
            text[np.repeat(kept, lengths)], np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)
        )
        return smaller

    def state(self) -> dict[str, Any]:
        """The form, and the names or the number of columns."""
        state: dict[str, Any] = {"form": self.form, "columns": self.columns}
        if self.vocabulary is not None:
            state["bytes"], state["offsets"] = self.vocabulary.arrays()
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        form, columns = state["form"], state["columns"]
        forms = (None, "columns", "hashed") if self.hash_bits else (None, "columns", "names")
        if form not in forms or not isinstance(columns, int) or not 0 <= columns < 2**31:
            raise MargraveError(f"it has attributes of the unknown kind {form!r}.")
        self.form, self.columns = form, columns
        if form == "names":
            self.vocabulary = _core.Vocabulary(
                vector(state["bytes"], np.uint8, "names"), vector(state["offsets"], np.int64, "names")
            )


def with_intercept(rows: _core.Tokens) -> _core.Tokens:
    """The same rows with the attribute 0 before all others, which move up by one."""
    example_begin, row_begin, index, value = rows.arrays()
    n = len(row_begin) - 1
    longer = row_begin + np.arange(n + 1)
    places = np.ones(int(longer[-1]), dtype=np.bool_)
    places[longer[:-1]] = False
    new_index = np.zeros(len(places), dtype=np.int32)
    new_index[places] = index + 1
    new_value = None
    if value is not None:
        new_value = np.ones(len(places))
        new_value[places] = value
    return _core.Tokens(example_begin, longer.astype(np.int64), new_index, new_value)


_MOST_COLUMNS = 2**31 - 1  # Columns are numbered in 32 bits.
_FORMS = {"columns": "vectors", "names": "named attributes", "hashed": "named attributes"}


def _has_columns(X: Any, single: bool) -> bool:
    if hasattr(X, "shape"):
        return True
    return not single and isinstance(X, list | tuple) and len(X) > 0 and hasattr(X[0], "shape")


def _stack(X: Any, single: bool) -> tuple[NDArray[np.int64], Any]:
    """The index of the first row of each example, and all rows as one dense or CSR matrix."""
    from scipy.sparse import csr_array, issparse, vstack

    def as_rows(x: Any, where: str) -> Any:
        try:
            rows = csr_array(x, dtype=np.float64) if issparse(x) else np.ascontiguousarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise MargraveError(f"{where}vectors must be arrays of numbers, not {type(x).__name__}.") from None
        if rows.ndim != 2:
            raise MargraveError(f"{where}vectors must be rows of a two-dimensional array, not of shape {rows.shape}.")
        if issparse(rows) and not np.isfinite(rows.data).all():
            raise MargraveError(f"{where}values must be finite, and one is NaN or infinite.")
        return rows

    if single:
        rows = as_rows(X, "")
        return np.arange(rows.shape[0] + 1, dtype=np.int64), rows
    blocks = [as_rows(x, f"example {i}: ") for i, x in enumerate(X)]
    if not blocks:
        raise MargraveError("there are no vectors.")
    width = blocks[0].shape[1]
    for i, block in enumerate(blocks):
        if block.shape[1] != width:
            raise MargraveError(f"example {i} has vectors of length {block.shape[1]}, but example 0 has {width}.")
    begin = np.concatenate([[0], np.cumsum([block.shape[0] for block in blocks])]).astype(np.int64)
    dense = all(isinstance(block, np.ndarray) for block in blocks)
    return begin, np.concatenate(blocks) if dense else csr_array(vstack(blocks))
