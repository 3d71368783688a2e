"""Scores of alignments: pairs of residues that are matched as in the reference."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from margrave.errors import MargraveError


@dataclass(frozen=True)
class PairScores:
    """Precision, recall and F1 of matched pairs, over all examples together, and the mean F1 of the examples."""

    precision: float
    recall: float
    f1: float
    mean_f1: float


def pair_counts(gold: Any, predicted: Any, scored: Collection[tuple[int, int]] | None = None) -> tuple[int, int, int]:
    """The numbers of common pairs, of gold pairs and of predicted pairs.

    Parameters
    ----------
    gold, predicted : lists of matched pairs.
    scored : the letters that count, as pairs (0, i) of x and (1, j) of y; None counts all. A predicted pair counts if
        both its letters do.
    """
    right = {(int(i), int(j)) for i, j in gold}
    found = {(int(i), int(j)) for i, j in predicted}
    if scored is not None:
        found = {(i, j) for i, j in found if (0, i) in scored and (1, j) in scored}
    return len(right & found), len(right), len(found)


def f1_of(common: int, right: int, found: int) -> float:
    """The F1 of counts; 1 if there is nothing to find and nothing was found."""
    return 2 * common / (right + found) if right + found else 1.0


def pair_scores(gold: Sequence[Any], predicted: Sequence[Any]) -> PairScores:
    """The scores of predicted alignments.

    Parameters
    ----------
    gold, predicted : for each example its matched pairs (i, j).

    >>> pair_scores([[(0, 0), (1, 1)]], [[(0, 0), (1, 2)]]).f1
    0.5
    """
    if len(gold) != len(predicted):
        raise MargraveError(f"there are {len(gold)} known alignments and {len(predicted)} predicted ones.")
    counts = np.array([pair_counts(g, p) for g, p in zip(gold, predicted, strict=True)]).reshape(-1, 3)
    common, right, found = (int(k) for k in counts.sum(axis=0))
    each = [f1_of(*map(int, row)) for row in counts]
    return PairScores(
        common / found if found else 1.0,
        common / right if right else 1.0,
        f1_of(common, right, found),
        float(np.mean(each)) if each else 1.0,
    )
