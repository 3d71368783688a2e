"""Dependency trees whose arcs can cross, with parts of two arcs, by approximate inference (001, appendix A)."""

from dataclasses import dataclass
from math import comb, inf

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import real, whole
from margrave.data.arcs import Arcs
from margrave.errors import unknown
from margrave.structures.arc_trees import TreeOfPairs

FALLBACKS = ("none", "reweighted")


@dataclass
class ArcPairTree(TreeOfPairs):
    """Trees with crossing arcs whose score is a sum over arcs and over pairs of arcs.

    A tree over the words 1..n and the root 0 has the following parts, and an example has a row of features for each
    part that exists:

    * (h, m): the arc from h to m;
    * (h, s, m): s and m are children of h, and s stands before m, wherever h is;
    * (g, h, m): g is the head of h, and h is the head of m.

    Parts exist only for the arcs that `bind` is given as `arcs` or, without them, as `allowed`, by default all.
    `part_tuples` lists the parts in order. The cost of a tree is its number of wrong heads.

    Exact inference is intractable. Sums and marginals are those of loopy belief propagation with one factor for the
    tree, which sends its messages to all arcs together by the matrix-tree theorem, in O(n^3). They are exact if no pair
    has a score. The best tree is searched by AD3: a tree that reaches the bound of the relaxation is certified to be
    best. Certificates of learners say that inference is approximate.

    Parameters
    ----------
    single_root : whether the root must have exactly one child.
    labeled : whether arcs have labels; parts of two arcs have none.
    wrong_label : the cost of a word with the right head and a wrong label; one with a wrong head costs 1.
    sweeps : the number of sweeps over all messages at most.
    tolerance : messages have converged if none of them changes by more than this fraction.
    damping : the share of the old message in the new one. It grows by itself where messages do not settle.
    iterations : the number of iterations of AD3 at most. More iterations certify more trees; they rarely find better
        ones.
    fallback : what a loss is if belief propagation gives the gold tree a probability above 1:
        "none" leaves it negative, and `sgd` and `mira` make no step; "reweighted" takes an upper bound on log Z, with
        its gradient. Learners report how often this happens.
    keep : how many MB of messages are kept between passes. The messages of a sentence then start where they ended the
        last time, so that fewer sweeps are needed once the weights settle. The first sentences that fit have room; a
        checkpoint stores what is kept. 0 keeps nothing.
    kappa : the weight of the entropy of trees in the bound, between 0 and 1; the rest is that of forests of pairs.

    >>> ArcPairTree().part_tuples(2).tolist()  # arcs from 0 and 2 to 1, from 0 and 1 to 2; then heads of heads
    [[-1, 0, -1, 1], [-1, 2, -1, 1], [-1, 0, -1, 2], [-1, 1, -1, 2], [0, 2, -1, 1], [0, 1, -1, 2]]
    """

    name = "arc-pair-tree"

    single_root: bool = True
    labeled: bool = False
    wrong_label: float = 1.0
    sweeps: int = 100
    tolerance: float = 1e-6
    damping: float = 0.0
    iterations: int = 60
    fallback: str = "none"
    # On a few random sentences, 0.9 lowers the excess over log Z by 3 to 20 %, with 3 to 5.5 times as many sweeps.
    kappa: float = 0.7
    keep: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sweeps = whole("sweeps", self.sweeps, 1, 10**6)
        self.iterations = whole("iterations", self.iterations, 1, 10**6)
        self.tolerance = real("tolerance", self.tolerance, "be positive and finite", lambda x: 0 < x < inf)
        self.damping = real("damping", self.damping, "be at least 0 and below 1", lambda x: 0 <= x < 1)
        if self.fallback not in FALLBACKS:
            raise unknown("fallback", self.fallback, FALLBACKS)
        self.keep = real("keep", self.keep, "be finite and not negative", lambda size: 0 <= size < inf)
        self.kappa = real("kappa", self.kappa, "be between 0 and 1", lambda x: 0 < x < 1)

    def _of_arcs(
        self, arcs: Arcs, heads: NDArray[np.int32] | None, allowed: NDArray[np.bool_] | None
    ) -> _core.ArcPairTreeStructure:
        return _core.arc_pair_tree(
            arcs.words,
            heads,
            allowed,
            self.single_root,
            arcs.left,
            self.sweeps,
            self.tolerance,
            self.damping,
            self.iterations,
            self.fallback == "reweighted",
            self.kappa,
            1e6 * self.keep,
        )

    def _count(self, n: int) -> int:
        """The number of parts of n words, if all arcs are allowed."""
        siblings = n * comb(max(n - 1, 0), 2) + (0 if self.single_root else comb(n, 2))
        return n * n + siblings + n * (n - 1) + n * (n - 1) * (n - 2)
