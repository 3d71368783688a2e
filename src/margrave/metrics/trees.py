"""Accuracy and tree loss of classes in a taxonomy, one class per example (003, section 5.1)."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

from margrave.errors import MargraveError
from margrave.metrics.counting import listed

if TYPE_CHECKING:
    from margrave.data.taxonomy import Taxonomy


@dataclass(frozen=True)
class TreeScores:
    """The fraction of examples with the right class, and the mean tree loss with its standard error.

    The standard error of a single example is NaN.
    """

    examples: int
    accuracy: float
    tree_loss: float
    standard_error: float


def tree_loss(gold: Sequence[Hashable], predicted: Sequence[Hashable], taxonomy: "Taxonomy") -> float:
    """Compute the mean height of the first common ancestor of the correct and the predicted class.

    Parameters
    ----------
    gold, predicted : the right and the predicted class of each example.
    taxonomy : the taxonomy of the classes.

    >>> from margrave.data.taxonomy import Taxonomy
    >>> tree_loss(["1/1", "1/1"], ["1/2", "1/1"], Taxonomy.from_names(["1/1", "1/2"], "/"))
    0.5
    """
    return tree_scores(gold, predicted, taxonomy).tree_loss


def tree_scores(gold: Sequence[Hashable], predicted: Sequence[Hashable], taxonomy: "Taxonomy") -> TreeScores:
    """Compute accuracy and tree loss of predictions with one class per example.

    Parameters
    ----------
    gold, predicted : the right and the predicted class of each example.
    taxonomy : the taxonomy of the classes.
    """
    if len(gold) != len(predicted):
        raise MargraveError(f"gold has {len(gold)} examples, but predicted has {len(predicted)}.")
    if len(gold) == 0:
        raise MargraveError("there are no examples to score.")
    pairs = Counter(zip(listed(gold), listed(predicted), strict=True))  # far fewer than examples
    losses = {pair: taxonomy.tree_loss(*pair) for pair in pairs}
    n = pairs.total()
    mean = sum(losses[pair] * count for pair, count in pairs.items()) / n
    squares = sum((losses[pair] - mean) ** 2 * count for pair, count in pairs.items())
    right = sum(count for (true, guess), count in pairs.items() if true == guess)
    return TreeScores(n, right / n, mean, sqrt(squares / (n - 1) / n) if n > 1 else nan)
