"""Dependency trees whose arcs do not cross; parts are arcs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.arcs import Arcs
from margrave.losses.costs import F1
from margrave.structures.arc_trees import ArcTree


@dataclass
class ProjectiveTree(ArcTree):
    """Arc-factored projective trees: those of `NonProjectiveTree` in which no two arcs cross.

    Arcs are drawn above the sentence, with the root on its left. Parts and costs are those of
    `NonProjectiveTree`. Gold trees must be projective; `margrave.data.heads` has functions that test this and that
    make a tree projective.

    Parameters
    ----------
    single_root : whether the root must have exactly one child.
    labeled : whether words have labels, so that outputs have a pair (head, label) for every word.
    wrong_label : the cost of a word with the right head and a wrong label; one with a wrong head costs 1.
    """

    name = "projective-tree"
    costs = (*ArcTree.costs, F1)

    def _of_arcs(
        self, arcs: Arcs, heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.ProjectiveTreeStructure:
        return _core.projective_tree(arcs.words, heads, allowed, self.single_root, arcs.left)
