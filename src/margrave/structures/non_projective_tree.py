"""Dependency trees whose arcs may cross; parts are arcs."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.features.sparse import ArcFeatures


@dataclass
class NonProjectiveTree:
    """Arc-factored trees over the words 1..n and the root 0: every word has one head, and all reach the root.

    The cost of a tree is its number of wrong heads. `single_root` allows one child of the root only.
    """

    single_root: bool = True

    def bind(
        self,
        X: Sequence[Any],
        heads: Sequence[Sequence[int]] | None = None,
        *,
        features: ArcFeatures,
    ) -> _core.Problem:
        """The problem of these sentences.

        X: for each sentence the attributes of its n * n arcs, word by word (m = 1..n) and head by head (h = 0..n
        without m): lists of strings, dictionaries, or a sparse or dense (n * n, d) matrix. The first bind with heads
        learns the features' names.
        """
        learn = not features.learned
        if learn and heads is None:
            raise MargraveError("features are learned from trees, and there are none.")
        rows = features.encode(X, learn=learn)
        arcs = np.diff(rows.example_begin)
        words = np.sqrt(arcs).round().astype(np.int64)
        for i in np.flatnonzero(words * words != arcs):
            raise MargraveError(f"example {i} has attributes for {arcs[i]} arcs; a sentence of n words has n * n.")
        flat: NDArray[np.int32] | None = None
        if heads is not None:
            if len(heads) != len(words):
                raise MargraveError(f"there are {len(words)} sentences and {len(heads)} lists of heads.")
            numbers = [_heads_of(k, tree, int(n)) for k, (n, tree) in enumerate(zip(words, heads, strict=True))]
            flat = np.concatenate([np.zeros(0, dtype=np.int32), *numbers])
        structure = _core.non_projective_tree(words, flat, self.single_root)
        return _core.join(structure, _core.sparse_parts(features.dim, rows, np.maximum(words, 1)))

    def decode(self, parts: NDArray[np.int32], words: int) -> list[int]:
        """The heads of the words 1..n, from the parts of a tree."""
        word, place = np.divmod(np.sort(parts), words)  # place: the head, with the word itself left out
        return [int(h) for h in place + (place > word)]


def _heads_of(example: int, tree: Any, words: int) -> NDArray[np.int32]:
    """The heads of one sentence as numbers; those out of any range become -1, which the core refuses with its word."""
    if isinstance(tree, str | bytes) or not hasattr(tree, "__len__"):
        raise MargraveError(f"example {example}: its heads must be a list of numbers, not {type(tree).__name__}.")
    if len(tree) != words:
        raise MargraveError(f"example {example} has arcs for {words} words and {len(tree)} heads.")
    for head in tree:
        if not isinstance(head, Integral) or isinstance(head, bool):
            raise MargraveError(f"example {example}: a head must be the number of a word, not {head!r}.")
    return np.array([head if 0 <= head < 2**31 else -1 for head in tree], dtype=np.int32)
