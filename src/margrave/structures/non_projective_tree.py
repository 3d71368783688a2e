"""Dependency trees whose arcs may cross; parts are arcs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.features.arcs import ArcFeatures


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
            for k, (n, tree) in enumerate(zip(words, heads, strict=True)):
                if len(tree) != n:
                    raise MargraveError(f"example {k} has arcs for {n} words and {len(tree)} heads.")
            numbers = np.array([head for tree in heads for head in tree], dtype=np.int64)
            flat = np.clip(numbers, -1, np.iinfo(np.int32).max).astype(np.int32)  # out of range stays out of range
        structure = _core.non_projective_tree(words, flat, self.single_root)
        return _core.join(structure, _core.sparse_parts(features.dim, rows, np.maximum(words, 1)), words * words)

    def decode(self, parts: NDArray[np.int32], words: int) -> list[int]:
        """The heads of the words 1..n, from the parts of a tree."""
        word, place = np.divmod(np.sort(parts), words)  # place: the head, with the word itself left out
        return [int(h) for h in place + (place > word)]
