"""Answers of different lengths, one per example: a list of which NumPy makes an array of objects."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class PerExample(list[Any]):
    """A list with one entry per example.

    NumPy makes a one-dimensional array of its entries, whatever their lengths. Functions that join the predictions of
    several calls need this, such as scikit-learn's `cross_val_predict`.

    >>> np.concatenate([PerExample([["D", "N"]]), PerExample([["V"]])]).tolist()
    [['D', 'N'], ['V']]
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The entries as an array of objects."""
        return np.fromiter(self, dtype=object, count=len(self))
