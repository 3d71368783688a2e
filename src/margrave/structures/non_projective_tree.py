"""Dependency trees whose arcs can cross; parts are arcs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.structures.arc_trees import ArcTree


@dataclass
class NonProjectiveTree(ArcTree):
    """Arc-factored trees over the words 1..n and the root 0: every word has one head, and all words reach the root.

    Examples have one row of features for each of their n * n arcs, word by word (m = 1..n) and head by head (h = 0..n
    without m). The cost of a tree is its number of wrong heads.

    Parameters
    ----------
    single_root : whether the root must have exactly one child.
    """

    name = "non-projective-tree"

    def _core(
        self, words: NDArray[np.int64], heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.Structure:
        return _core.non_projective_tree(words, heads, allowed, self.single_root)
