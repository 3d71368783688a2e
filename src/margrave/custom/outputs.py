"""The outputs of an example that were seen, and their features as sparse rows."""

from collections.abc import Mapping, Sequence
from math import inf
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError

Weights = NDArray[np.float64]
Row = tuple[NDArray[np.int64], Weights]  # indices in order, without repeats, and values

GOLD = 0  # the part that is the right output

_SPARE = 8  # The number of outputs to remember although no learner took them into its weights.


class SeenOutputs:
    """The outputs of one example that were seen, with their features and costs; each is one part."""

    def __init__(self, room: int) -> None:
        self.slots: dict[Any, int] = {}  # parts by key
        self.keys: dict[int, Any] = {}
        self.ys: dict[int, Any] = {}
        self.rows: dict[int, Row] = {}
        self.cost = np.zeros(room)
        self.used = np.zeros(room, bool)
        self.held = np.zeros(room, bool)  # A learner asked for the features, and may have kept the part.
        self._flat: tuple[NDArray[np.int64], NDArray[np.int64], Weights] | None = None  # all rows: slot, index, value

    def add(self, slot: int, key: Any, y: Any, row: Row, cost: float) -> None:
        """Adds an output to the list; an array is copied, because its owner may go on writing into it."""
        self.slots[key], self.keys[slot], self.rows[slot], self.cost[slot] = slot, key, row, cost
        self.ys[slot] = y.copy() if isinstance(y, np.ndarray) else y
        self.used[slot] = True
        self._flat = None

    def forget(self) -> None:
        """Drops the oldest of the outputs that no learner can refer to, except for a few."""
        spare = [slot for slot in self.ys if slot != GOLD and not self.held[slot]]
        for slot in spare[: max(0, len(spare) - _SPARE)]:
            del self.slots[self.keys.pop(slot)], self.ys[slot], self.rows[slot]
            self.cost[slot], self.used[slot], self._flat = 0.0, False, None

    def scores(self, w: Weights) -> Weights:
        """<w, features> of each; -inf where there is none."""
        if self._flat is None:
            lengths = [len(index) for index, _ in self.rows.values()]
            self._flat = (
                np.repeat(list(self.rows), lengths),
                np.concatenate([index for index, _ in self.rows.values()]),
                np.concatenate([value for _, value in self.rows.values()]),
            )
        slot, index, value = self._flat
        scores = _sums(slot, value * w[index], len(self.used))
        scores[~self.used] = -inf
        return scores


def output_key(i: int, y: Any) -> Any:
    """What distinguishes an output from others; whole numbers of any width are the same."""
    if isinstance(y, np.ndarray) and y.dtype != object:
        same = y.astype(np.int64) if y.dtype.kind in "bui" else y
        return np.ndarray, y.shape, same.tobytes()
    try:
        hash(y)
    except TypeError:
        raise MargraveError(
            f"the output of example {i} cannot be hashed, being a {type(y).__name__}: it must be a tuple, a string, a "
            "number or an array."
        ) from None
    return y


def sparse_entries(vector: Any, what: str) -> tuple[NDArray[np.int64], Weights, int | None]:
    """The indices in order, the values, and the length where the vector has one."""
    length: int | None = None
    try:
        if isinstance(vector, Mapping):
            if not all(isinstance(k, Integral) for k in vector):
                raise TypeError
            index = np.fromiter(vector.keys(), np.int64, len(vector))
            value = np.fromiter(vector.values(), np.float64, len(vector))
        elif hasattr(vector, "tocoo"):
            entries = vector.tocoo()
            if entries.ndim == 2 and entries.shape[0] != 1:
                raise TypeError
            length = int(entries.shape[-1])
            index, value = np.asarray(entries.col, np.int64), np.asarray(entries.data, np.float64)
        else:
            dense = np.asarray(vector, dtype=np.float64)
            if dense.ndim != 1:
                raise TypeError
            length = len(dense)
            index = np.flatnonzero(dense)
            value = dense[index]
    except (TypeError, ValueError, OverflowError):
        shape = getattr(vector, "shape", None)
        found = f"a {type(vector).__name__}" + ("" if shape is None else f" of shape {shape}")
        raise MargraveError(
            f"{what} must be a vector of numbers, a sparse matrix of one row, or a dictionary from index to value, and "
            f"it is {found}."
        ) from None
    return *sum_of_rows([(index, value)], np.ones(1)), length


def sum_of_rows(rows: Sequence[Row], factors: Weights) -> Row:
    """The sum of factor * row."""
    if not rows:
        return np.zeros(0, np.int64), np.zeros(0)
    index, where = np.unique(np.concatenate([index for index, _ in rows]), return_inverse=True)
    value = np.concatenate([factor * value for (_, value), factor in zip(rows, factors, strict=True)])
    return index, _sums(where, value, len(index))


def _sums(where: NDArray[Any], value: Weights, n: int) -> Weights:
    sums: Weights = np.bincount(where, weights=value, minlength=n).astype(np.float64, copy=False)
    return sums
