"""Pruning: a simple model, the pruner, says which parts of a sentence another one need not consider.

Arcs and spans are pruned in the same way. A pruner is learned from the training sentences. The parts of these sentences
are pruned by pruners that have not seen them, one per fold, so that learning meets what prediction will meet.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from margrave.examples import some
from margrave.learners import Ended

P = TypeVar("P")
Left = list[NDArray[np.bool_]]  # which parts of each sentence are left


def cross_pruned(
    blank: P, X: Any, Y: Any, weights: NDArray[np.float64] | None, folds: int, left: Callable[[P, Any], Left]
) -> tuple[P, Left]:
    """A pruner, and what pruners that have not seen them leave of the training sentences.

    Parameters
    ----------
    blank : the pruner before it is fitted.
    X, Y, weights : the training sentences, their trees and, if they have any, their weights.
    folds : the number of folds; with fewer than twice as many sentences, the pruner itself prunes them.
    left : what a fitted pruner leaves of some sentences.
    """
    n = len(Y)
    pruner = _fitted(blank, X, Y, weights)
    if n < 2 * folds:
        return pruner, left(pruner, X)
    found: dict[int, NDArray[np.bool_]] = {}
    for k in range(folds):
        inside = [i for i in range(n) if i % folds != k]
        model = _fitted(blank, some(X, inside), some(Y, inside), some(weights, inside))
        fold = list(range(k, n, folds))
        found.update(zip(fold, left(model, some(X, fold)), strict=True))
    return pruner, [found[i] for i in range(n)]


def _fitted(blank: Any, X: Any, Y: Any, weights: NDArray[np.float64] | None) -> Any:
    """A pruner whose training was not stopped by Ctrl-C, which is meant for the whole training."""
    model = blank.unfitted().fit(X, Y, weights)
    if model.ended_ is Ended.INTERRUPTED:
        raise KeyboardInterrupt
    return model
