"""The letters of sequences as numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import counted


@dataclass(frozen=True, eq=False)
class Letters:
    """The letters of some sequences as numbers, one sequence after another.

    Parameters
    ----------
    begin : where each sequence begins, and the end of the last one.
    codes : the letters of all sequences, or None if only the lengths are known.
    """

    begin: NDArray[np.int64]
    codes: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, sequences: Sequence[Any]) -> "Letters":
        """Join sequences of numbers.

        >>> Letters.of([[0, 2], [1]]).begin.tolist()
        [0, 2, 3]
        """
        begin = np.concatenate([[0], np.cumsum([len(s) for s in sequences])]).astype(np.int64)
        codes = [np.asarray(s, dtype=np.int32) for s in sequences]
        return cls(begin, np.concatenate([np.zeros(0, dtype=np.int32), *codes]))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of letters of each sequence."""
        return np.diff(self.begin)

    def __repr__(self) -> str:
        return f"<Letters of {counted(len(self.begin) - 1, 'sequence')}, {self.begin[-1]} in all>"
