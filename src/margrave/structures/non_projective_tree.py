"""Dependency trees whose arcs can cross; parts are arcs."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag
from margrave.errors import MargraveError
from margrave.losses.costs import Cost, CostFunction, Hamming, ZeroOne
from margrave.structures.base import NoOutputs, Structure, Units


@dataclass
class NonProjectiveTree(Structure):
    """Arc-factored trees over the words 1..n and the root 0: every word has one head, and all words reach the root.

    Examples have one row of features for each of their n * n arcs, word by word (m = 1..n) and head by head (h = 0..n
    without m). The cost of a tree is its number of wrong heads.

    Parameters
    ----------
    single_root : whether the root must have exactly one child.
    """

    name = "non-projective-tree"
    examples = "sentences"
    costs = (Hamming, ZeroOne, CostFunction)

    single_root: bool = True

    def __post_init__(self) -> None:
        self.single_root = flag("single_root", self.single_root)

    def learn(self, Y: Sequence[Sequence[int]]) -> NoOutputs:
        """Check that Y is a list; heads have nothing in common that could be learned."""
        if isinstance(Y, str | bytes) or not hasattr(Y, "__len__"):
            raise MargraveError(f"y must be a list of lists of heads, not {type(Y).__name__}.")
        if len(Y) == 0:
            raise MargraveError("there are no sentences.")
        return NoOutputs()

    def bind(
        self,
        outputs: NoOutputs,
        units: Units,
        Y: Sequence[Sequence[int]] | None = None,
        *,
        costs: Cost | None = None,
        allowed: Any = None,
    ) -> _core.Structure:
        """Make the core's structure for sentences with these numbers of arcs; Y has heads, with 0 for the root."""
        words = words_of(units)
        if costs is not None:
            self.check_cost(costs)
        flat: NDArray[np.int32] | None = None
        if Y is not None:
            if len(Y) != len(words):
                raise MargraveError(f"there are {len(words)} sentences and {len(Y)} lists of heads.")
            numbers = [_heads_of(k, tree, int(n)) for k, (n, tree) in enumerate(zip(words, Y, strict=True))]
            flat = np.concatenate([np.zeros(0, dtype=np.int32), *numbers])
        return _core.non_projective_tree(words, flat, self.single_root)

    def decode(
        self, outputs: NoOutputs, units: Units, begin: NDArray[np.int64], parts: NDArray[np.int32]
    ) -> list[list[int]]:
        """The heads of the words 1..n of every sentence."""
        trees = []
        for first, last, n in zip(begin[:-1], begin[1:], words_of(units), strict=True):
            word, place = np.divmod(np.sort(parts[first:last]), max(int(n), 1))  # The index of the head skips the word.
            trees.append((place + (place > word)).tolist())
        return trees

    def present(
        self, outputs: NoOutputs, units: Units, begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The probability of every head of every word: one (words, words + 1) array per sentence, the root first."""
        tables = []
        for first, n in zip(begin[:-1], words_of(units).tolist(), strict=True):
            table = np.zeros((n, n + 1))
            table[~np.eye(n, n + 1, 1, dtype=bool)] = mu[first : first + n * n]
            tables.append(table)
        return tables


def words_of(units: Units) -> NDArray[np.int64]:
    """The number of words of each sentence, from its number of arcs."""
    words: NDArray[np.int64] = np.sqrt(units).round().astype(np.int64)
    for i in np.flatnonzero(words * words != units):
        raise MargraveError(f"example {i} has attributes for {units[i]} arcs; a sentence of n words has n * n.")
    return words


def _heads_of(example: int, tree: Any, words: int) -> NDArray[np.int32]:
    """The heads of one sentence; those that do not fit 32 bits become -1, which the core refuses with its word."""
    if isinstance(tree, str | bytes) or not hasattr(tree, "__len__"):
        raise MargraveError(f"example {example}: its heads must be a list of numbers, not {type(tree).__name__}.")
    if len(tree) != words:
        raise MargraveError(f"example {example} has arcs for {words} words and {len(tree)} heads.")
    for head in tree:
        if not isinstance(head, Integral) or isinstance(head, bool):
            raise MargraveError(f"example {example}: a head must be the number of a word, not {head!r}.")
    return np.array([head if 0 <= head < 2**31 else -1 for head in tree], dtype=np.int32)
