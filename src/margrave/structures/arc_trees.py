"""What dependency trees have in common whose parts are arcs: heads, the arcs that are allowed, and their layout."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag
from margrave.errors import MargraveError
from margrave.losses.costs import Cost, CostFunction, Hamming, ZeroOne
from margrave.structures.base import NoOutputs, Structure, Units, is_list


@dataclass
class ArcTree(Structure):
    """The base of arc-factored trees: one row of features, and one part, for each of the n * n arcs of a sentence."""

    examples = "sentences"
    costs: ClassVar[tuple[type[Cost], ...]] = (Hamming, ZeroOne, CostFunction)

    single_root: bool = True

    def __post_init__(self) -> None:
        self.single_root = flag("single_root", self.single_root)

    def learn(self, Y: Sequence[Sequence[int]]) -> NoOutputs:
        """Check that Y is a list; heads have nothing in common that could be learned."""
        check_trees(Y)
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
        """Make the core's structure for sentences with these numbers of arcs.

        Parameters
        ----------
        outputs : what `learn` returned.
        units : the number of arcs of each sentence.
        Y : the heads of each sentence, if known, with 0 for the root.
        costs : the costs of wrong heads, if they are needed.
        allowed : for each sentence None or, for each of its words, None or the heads that it may have; a single head is
            required. Or a boolean array over the arcs of all sentences, concatenated.
        """
        words = words_of(units)
        if costs is not None:
            self.check_cost(costs)
        heads = None if Y is None else flat_heads(words, Y)
        mask = None if allowed is None else _allowed_arcs(allowed, words.tolist())
        return self._core(words, heads, mask)

    @abstractmethod
    def _core(
        self, words: NDArray[np.int64], heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.Structure:
        """The core's structure."""

    def decode(
        self, outputs: NoOutputs, units: Units, begin: NDArray[np.int64], parts: NDArray[np.int32]
    ) -> list[list[int]]:
        """The heads of the words 1..n of every sentence."""
        return [
            heads_of_arcs(parts[first:last], int(n))
            for first, last, n in zip(begin[:-1], begin[1:], words_of(units), strict=True)
        ]

    def present(
        self, outputs: NoOutputs, units: Units, begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The probability of every head of every word: one (words, words + 1) array per sentence, the root first."""
        return [
            head_table(mu[first : first + n * n], n)
            for first, n in zip(begin[:-1], words_of(units).tolist(), strict=True)
        ]


def check_trees(Y: Any) -> None:
    """Refuse outputs that are not a list of trees."""
    if isinstance(Y, str | bytes) or not hasattr(Y, "__len__"):
        raise MargraveError(f"y must be a list of lists of heads, not {type(Y).__name__}.")
    if len(Y) == 0:
        raise MargraveError("there are no sentences.")


def heads_of_arcs(arcs: NDArray[Any], n: int) -> list[int]:
    """The heads of n words, from the numbers of their arcs."""
    word, place = np.divmod(np.sort(arcs), max(n, 1))  # The index of the head skips the word.
    heads: list[int] = (place + (place > word)).tolist()
    return heads


def head_table(mu: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Numbers of n * n arcs as an array (words, words + 1), the root first, with 0 where head and word are the same."""
    table = np.zeros((n, n + 1))
    table[~np.eye(n, n + 1, 1, dtype=bool)] = mu
    return table


def words_of(units: Units) -> NDArray[np.int64]:
    """The number of words of each sentence, from its number of arcs."""
    words: NDArray[np.int64] = np.sqrt(units).round().astype(np.int64)
    for i in np.flatnonzero(words * words != units):
        raise MargraveError(f"example {i} has attributes for {units[i]} arcs; a sentence of n words has n * n.")
    return words


def flat_heads(words: NDArray[np.int64], Y: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """The heads of all sentences, concatenated."""
    if len(Y) != len(words):
        raise MargraveError(f"there are {len(words)} sentences and {len(Y)} lists of heads.")
    numbers = [_heads_of(k, tree, int(n)) for k, (n, tree) in enumerate(zip(words, Y, strict=True))]
    return np.concatenate([np.zeros(0, dtype=np.int32), *numbers])


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


def _allowed_arcs(allowed: Any, words: list[int]) -> NDArray[np.bool_]:
    """Whether an arc is allowed: one entry per arc of all sentences."""
    arcs = sum(n * n for n in words)
    if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
        if allowed.shape != (arcs,):
            raise MargraveError(f"allowed arcs must have shape ({arcs},), not {np.shape(allowed)}.")
        return np.ascontiguousarray(allowed)
    check_entries(allowed, len(words))
    masks = [allowed_heads(i, heads, n).ravel() for i, (heads, n) in enumerate(zip(allowed, words, strict=True))]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *masks])


def check_entries(allowed: Any, sentences: int) -> None:
    """Refuse restrictions that are not one entry per sentence, each of them None or a list."""
    if not is_list(allowed):
        raise MargraveError(f"allowed must be a list with an entry for each sentence, not {type(allowed).__name__}.")
    if len(allowed) != sentences:
        raise MargraveError(f"there are {sentences} sentences, but allowed heads for {len(allowed)}.")
    for i, heads in enumerate(allowed):
        if heads is not None and not is_list(heads):
            raise MargraveError(f"example {i}: its allowed heads must be a list, not {type(heads).__name__}.")


def allowed_heads(example: int, allowed: Any, n: int) -> NDArray[np.bool_]:
    """The mask of one sentence: (words, heads), where the index of a head skips the word."""
    mask = np.ones((n, n), dtype=np.bool_)
    if allowed is None:
        return mask
    if len(allowed) != n:
        raise MargraveError(f"example {example} has {n} words, but allowed heads for {len(allowed)}.")
    for word, heads in enumerate(allowed, 1):
        if heads is None:
            continue
        where = f"example {example}, word {word}"
        if isinstance(heads, str | bytes) or not hasattr(heads, "__iter__"):
            raise MargraveError(f"{where}: allowed heads must be a set, not {type(heads).__name__}.")
        mask[word - 1] = False
        for head in heads:
            if (
                not isinstance(head, Integral)
                or isinstance(head, bool)
                or int(head) not in range(n + 1)
                or head == word
            ):
                raise MargraveError(f"{where}: an allowed head must be 0 or the number of another word, not {head!r}.")
            mask[word - 1, int(head) - (int(head) > word)] = True
    return mask
