"""One class of a taxonomy an example: accuracy and tree loss (003, section 5.1)."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

from margrave.errors import MargraveError
from margrave.metrics.counting import listed

if TYPE_CHECKING:
    from margrave.labels.taxonomy import Taxonomy


@dataclass(frozen=True)
class TreeScores:
    """The part of the examples with the right class, and the mean tree loss with its standard error.

    The standard error of a mean of one example is not known, and nan.
    """

    examples: int
    accuracy: float
    tree_loss: float
    standard_error: float


def tree_loss(gold: Sequence[Hashable], predicted: Sequence[Hashable], taxonomy: "Taxonomy") -> float:
    """The mean height of the first common ancestor of the right and the predicted class (003, section 5.1).

    >>> from margrave.labels.taxonomy import Taxonomy
    >>> tree_loss(["1/1", "1/1"], ["1/2", "1/1"], Taxonomy.from_names(["1/1", "1/2"], "/"))
    0.5
    """
    return tree_scores(gold, predicted, taxonomy).tree_loss


def tree_scores(gold: Sequence[Hashable], predicted: Sequence[Hashable], taxonomy: "Taxonomy") -> TreeScores:
    """Accuracy and tree loss of one class an example."""
    if len(gold) != len(predicted):
        raise MargraveError(f"gold has {len(gold)} examples, but predicted has {len(predicted)}.")
    if len(gold) == 0:
        raise MargraveError("there are no examples to score.")
    pairs = Counter(zip(listed(gold), listed(predicted), strict=True))  # few compared to the examples
    losses = {pair: taxonomy.tree_loss(*pair) for pair in pairs}
    n = pairs.total()
    mean = sum(losses[pair] * count for pair, count in pairs.items()) / n
    squares = sum((losses[pair] - mean) ** 2 * count for pair, count in pairs.items())
    right = sum(count for (true, guess), count in pairs.items() if true == guess)
    return TreeScores(n, right / n, mean, sqrt(squares / (n - 1) / n) if n > 1 else nan)
