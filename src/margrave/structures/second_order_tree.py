"""Projective dependency trees with parts of two arcs: siblings, and grandparents."""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data.arcs import Arcs
from margrave.errors import unknown
from margrave.structures.arc_trees import TreeOfPairs

KINDS = ("siblings", "grandparents")


@dataclass
class SecondOrderTree(TreeOfPairs):
    """Projective trees whose score is a sum over arcs and over pairs of arcs.

    A tree over the words 1..n and the root 0 has the following parts, and an example has a row of features for each
    part that exists:

    * (h, m): the arc from h to m;
    * (h, -, m): m is the child of h that is closest to it, on its side of h;
    * (h, s, m): s and m are neighbors among the children of h on one side, and s is the one closer to h;
    * (g, h, m): g is the head of h, and h is the head of m (only with `parts="grandparents"`).

    There are no parts for the last child on a side. Parts exist only for the arcs that `bind` is given as `arcs` or,
    without them, as `allowed`, by default all. `part_tuples` lists the parts in order. Inference takes time O(n^3) with
    siblings (McDonald and Pereira 2006) and O(n^4) with grandparents (model 1 of Koo and Collins 2010), and less if few
    arcs are left. The cost of a tree is its number of wrong heads.

    Parameters
    ----------
    parts : "siblings", or "grandparents" for siblings and grandparents.
    single_root : whether the root must have exactly one child.
    labeled : whether arcs have labels; parts of two arcs have none.
    wrong_label : the cost of a word with the right head and a wrong label; one with a wrong head costs 1.

    >>> SecondOrderTree().part_tuples(3)[-2:].tolist()  # the parts of the arc from 2 to 3 and of that from 1, with 2
    [[-1, 1, 2, 3], [-1, 2, 0, 3]]
    """

    name = "second-order-tree"

    parts: str = "siblings"
    single_root: bool = True
    labeled: bool = False
    wrong_label: float = 1.0

    def __post_init__(self) -> None:
        if self.parts not in KINDS:
            raise unknown("kind of parts", self.parts, KINDS)
        super().__post_init__()

    def _of_arcs(
        self, arcs: Arcs, heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.SecondOrderTreeStructure:
        grandparents = self.parts == "grandparents"
        return _core.second_order_tree(arcs.words, heads, allowed, grandparents, self.single_root, arcs.left)

    def _count(self, n: int) -> int:
        """The number of parts of n words, if all arcs are allowed."""
        siblings = 2 * comb(n, 3) + (0 if self.single_root else comb(n, 2))
        grandparents = n * (n - 1) + 4 * comb(n, 3) if self.parts == "grandparents" else 0
        return 2 * n * n + siblings + grandparents
