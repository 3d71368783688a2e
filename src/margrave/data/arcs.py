"""The arcs of sentences that a parser scores, and the labels that they may have."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError, counted


@dataclass(frozen=True, eq=False)
class Arcs:
    """The arcs of some sentences that have parts: those that pruning leaves.

    Parameters
    ----------
    words : the number of words of each sentence.
    left : whether an arc has a part: a boolean array over the n * n arcs of each sentence of n words, word by word
        (m = 1..n) and head by head (h = 0..n without m), all sentences concatenated; None leaves all of them.

    >>> Arcs([2, 1], [True, True, False, True, True]).count.tolist()
    [3, 1]
    """

    words: NDArray[np.int64]
    left: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        words = np.ascontiguousarray(self.words)
        if words.ndim != 1 or (words.size and words.dtype.kind not in "iu"):
            raise MargraveError("the numbers of words must be a list of whole numbers.")
        for i in np.flatnonzero(words < 1):
            raise MargraveError(f"example {i} has no words.")
        object.__setattr__(self, "words", words.astype(np.int64))
        if self.left is None:
            return
        left, arcs = np.ascontiguousarray(self.left), int((self.words**2).sum())
        if left.dtype != np.bool_ or left.shape != (arcs,):
            raise MargraveError(
                f"the arcs that are left must be a boolean array of shape ({arcs},), not {left.dtype} of {left.shape}."
            )
        object.__setattr__(self, "left", left)

    @property
    def count(self) -> NDArray[np.int64]:
        """The number of arcs with parts of each sentence."""
        begin = np.concatenate([[0], np.cumsum(self.words**2)])
        if self.left is not None:
            begin = np.concatenate([[0], np.cumsum(self.left, dtype=np.int64)])[begin]
        counts: NDArray[np.int64] = begin[1:] - begin[:-1]
        return counts

    def __repr__(self) -> str:
        arcs = f"{self.count.sum()} of {(self.words**2).sum()} arcs"
        return f"<Arcs of {counted(len(self.words), 'sentence')}: {arcs}>"


@dataclass(frozen=True, eq=False)
class ArcLabels:
    """The labels that each arc may have: one of several sets, such as those seen with a pair of tags.

    Parameters
    ----------
    of_arc : the set of every arc that has a part, sentence by sentence, in the order of the arcs.
    begin : where each set begins in `members`, and the end of the last one.
    members : the labels of all sets, as numbers of the classes, ascending in each set.

    >>> ArcLabels([0, 1, 1], [0, 1, 3], [2, 0, 1]).count.tolist()  # label 2 alone, or 0 and 1
    [1, 2, 2]
    """

    of_arc: NDArray[np.int32]
    begin: NDArray[np.int64]
    members: NDArray[np.int32]

    def __post_init__(self) -> None:
        for name, kind in (("of_arc", np.int32), ("begin", np.int64), ("members", np.int32)):
            numbers = np.ascontiguousarray(getattr(self, name))
            if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
                raise MargraveError(f"{name} of ArcLabels must be a list of whole numbers.")
            object.__setattr__(self, name, numbers.astype(kind, copy=False))

    @property
    def count(self) -> NDArray[np.int64]:
        """The number of labels of each arc."""
        counts: NDArray[np.int64] = np.diff(self.begin)[self.of_arc]
        return counts

    def __repr__(self) -> str:
        return f"<ArcLabels of {counted(len(self.of_arc), 'arc')}, {counted(len(self.begin) - 1, 'set')} of labels>"
