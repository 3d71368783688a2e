"""Dependency trees whose arcs can cross; parts are arcs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.arcs import Arcs
from margrave.structures.arc_trees import ArcTree


@dataclass
class NonProjectiveTree(ArcTree):
    """Arc-factored trees over the words 1..n and the root 0: every word has one head, and all words reach the root.

    Parts are the n * n arcs of a sentence, word by word (m = 1..n) and head by head (h = 0..n without m), or those of
    them that pruning leaves, in the same order (`arcs` of `bind`). The cost of a tree is its number of wrong heads.

    Parameters
    ----------
    single_root : whether the root must have exactly one child.
    labeled : whether words have labels, so that outputs have a pair (head, label) for every word.
    wrong_label : the cost of a word with the right head and a wrong label; one with a wrong head costs 1.
    """

    name = "non-projective-tree"

    def _of_arcs(
        self, arcs: Arcs, heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.NonProjectiveTreeStructure:
        return _core.non_projective_tree(arcs.words, heads, allowed, self.single_root, arcs.left)
