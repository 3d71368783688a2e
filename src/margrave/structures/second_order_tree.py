"""Projective dependency trees with parts of two arcs: siblings, and grandparents."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag
from margrave.errors import MargraveError, unknown
from margrave.losses.costs import Cost, CostFunction, Hamming, ZeroOne
from margrave.structures.arc_trees import (
    allowed_heads,
    check_entries,
    check_trees,
    flat_heads,
    head_table,
    heads_of_arcs,
)
from margrave.structures.base import NoOutputs, Structure, Units

KINDS = ("siblings", "grandparents")


@dataclass
class SecondOrderTree(Structure):
    """Projective trees whose score is a sum over arcs and over pairs of arcs.

    A tree over the words 1..n and the root 0 has the following parts, and an example has a row of features for each
    part that exists:

    * (h, m): the arc from h to m;
    * (h, -, m): m is the child of h that is closest to it, on its side of h;
    * (h, s, m): s and m are neighbours among the children of h on one side, and s is the one closer to h;
    * (g, h, m): g is the head of h, and h is the head of m (only with `parts="grandparents"`).

    There are no parts for the last child on a side. Parts exist only for arcs that are allowed: `bind` takes the
    allowed arcs of each sentence, by default all. `part_tuples` lists the parts in order. Inference takes time O(n^3)
    with siblings (McDonald and Pereira 2006) and O(n^4) with grandparents (model 1 of Koo and Collins 2010), and less
    if few arcs are allowed. The cost of a tree is its number of wrong heads.

    Parameters
    ----------
    parts : "siblings", or "grandparents" for siblings and grandparents.
    single_root : whether the root must have exactly one child.

    >>> SecondOrderTree().part_tuples(3)[-2:].tolist()  # the parts of the arc from 2 to 3 and of that from 1, with 2
    [[-1, 1, 2, 3], [-1, 2, 0, 3]]
    """

    name = "second-order-tree"
    examples = "sentences"
    costs = (Hamming, ZeroOne, CostFunction)

    parts: str = "siblings"
    single_root: bool = True

    def __post_init__(self) -> None:
        if self.parts not in KINDS:
            raise unknown("kind of parts", self.parts, KINDS)
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
    ) -> _core.SecondOrderTreeStructure:
        """Make the core's structure for sentences with these numbers of parts.

        Parameters
        ----------
        outputs : what `learn` returned.
        units : the number of parts of each sentence.
        Y : the heads of each sentence, if known, with 0 for the root.
        costs : the costs of wrong heads, if they are needed.
        allowed : for each sentence None or, for each of its words, None or the heads that it may have. Only these arcs
            have parts.
        """
        if costs is not None:
            self.check_cost(costs)
        masks = self._masks(units, allowed)
        words = np.array([len(mask) for mask in masks], dtype=np.int64)
        heads = None if Y is None else flat_heads(words, Y)
        bound = self._core(masks, heads)
        for i, given in enumerate(units.tolist()):
            if bound.parts(i) != given:
                raise MargraveError(
                    f"example {i} has attributes for {given} parts, but its arcs have {bound.parts(i)}."
                )
        return bound

    def part_tuples(self, words: int, allowed: Any = None) -> NDArray[np.int32]:
        """The parts of a sentence in order, as rows (grandparent, head, sibling, word).

        -1 stands for what a part does not have. Sibling 0 stands for none: the word is the closest child of its head.

        Parameters
        ----------
        words : the number of words of the sentence.
        allowed : None or, for each word, None or the heads that it may have.
        """
        return self._core([allowed_heads(0, allowed, words)], None).part_tuples(0).reshape(-1, 4)

    def decode(
        self,
        outputs: NoOutputs,
        units: Units,
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        *,
        allowed: Any = None,
    ) -> list[list[int]]:
        """The heads of the words 1..n of every sentence; `allowed` as it was bound."""
        trees = []
        for first, last, mask in zip(begin[:-1], begin[1:], self._masks(units, allowed), strict=True):
            arcs, y = np.flatnonzero(mask), parts[first:last]
            trees.append(heads_of_arcs(arcs[y[y < len(arcs)]], len(mask)))
        return trees

    def present(
        self,
        outputs: NoOutputs,
        units: Units,
        begin: NDArray[np.int64],
        mu: NDArray[np.float64],
        *,
        allowed: Any = None,
    ) -> list[NDArray[np.float64]]:
        """The probability of every head of every word: one (words, words + 1) array per sentence, the root first."""
        tables = []
        for first, mask in zip(begin[:-1], self._masks(units, allowed), strict=True):
            arcs = np.zeros(mask.size)
            arcs[mask.ravel()] = mu[first : first + np.count_nonzero(mask)]
            tables.append(head_table(arcs, len(mask)))
        return tables

    def _core(
        self, masks: Sequence[NDArray[np.bool_]], heads: NDArray[np.int32] | None
    ) -> _core.SecondOrderTreeStructure:
        words = np.array([len(mask) for mask in masks], dtype=np.int64)
        flat = None if all(mask.all() for mask in masks) else np.concatenate([mask.ravel() for mask in masks])
        return _core.second_order_tree(words, heads, flat, self.parts == "grandparents", self.single_root)

    def _masks(self, units: Units, allowed: Any) -> list[NDArray[np.bool_]]:
        """Which arcs are allowed: one array (words, heads) per sentence, where the index of a head skips the word."""
        if allowed is None:
            allowed = [None] * len(units)
        check_entries(allowed, len(units))
        return [
            allowed_heads(i, heads, self._words(i, parts) if heads is None else len(heads))
            for i, (parts, heads) in enumerate(zip(units.tolist(), allowed, strict=True))
        ]

    def _words(self, example: int, parts: int) -> int:
        """The number of words of a sentence in which all arcs are allowed."""
        words = next(n for n in count(1) if self._count(n) >= parts)
        if self._count(words) != parts:
            raise MargraveError(f"example {example} has attributes for {parts} parts, but no sentence has that many.")
        return words

    def _count(self, n: int) -> int:
        """The number of parts of n words, if all arcs are allowed."""
        siblings = 2 * comb(n, 3) + (0 if self.single_root else comb(n, 2))
        grandparents = n * (n - 1) + 4 * comb(n, 3) if self.parts == "grandparents" else 0
        return 2 * n * n + siblings + grandparents
