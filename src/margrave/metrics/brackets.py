"""Scores of constituent trees: labeled bracketing as evalb counts it, exact match, tags, and crossing brackets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.data.constituents import TOPS, Constituent, Tree, cleaned
from margrave.errors import MargraveError
from margrave.metrics.counting import Counts
from margrave.metrics.significance import Interval, bootstrap_interval

# The tags of words that evalb leaves out, and the labels that it takes for the same (new.prm).
PUNCTUATION = frozenset([",", ":", "``", "''", ".", "?", "!"])
SAME = {"PRT": "ADVP"}


@dataclass(frozen=True)
class BracketScores(Counts):
    """Counts of labeled brackets with their ratios; per tree in the arrays.

    A tree is an exact match if its brackets are the gold ones. A predicted bracket crosses if a gold bracket overlaps
    it and neither contains the other.
    """

    trees: int
    exact: int
    words: int
    right_tags: int
    crossing: int
    without_crossing: int
    by_label: Mapping[str, Counts]
    per_tree: NDArray[np.int64]  # (trees, 4): gold, predicted and correct brackets, and whether it is an exact match

    @property
    def exact_match(self) -> float:
        """The fraction of trees whose brackets are all right."""
        return self.exact / self.trees if self.trees else 0.0

    @property
    def tagging(self) -> float:
        """The fraction of words with the right tag."""
        return self.right_tags / self.words if self.words else 0.0

    def interval(self, confidence: float = 0.95, trials: int = 1000, random_state: int = 0) -> Interval:
        """A bootstrap interval of F1 over trees.

        Parameters
        ----------
        confidence : the probability of the interval.
        trials : the number of samples.
        random_state : the seed of the random numbers.
        """
        return bootstrap_interval(
            self.per_tree, f1_of_counts, confidence=confidence, trials=trials, random_state=random_state
        )


def f1_of_counts(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 from sums (..., 4) of `BracketScores.per_tree`."""
    both = sums[..., 0] + sums[..., 1]
    return np.divide(2 * sums[..., 2], both, out=np.zeros_like(both), where=both > 0)


def bracket_scores(
    gold: Sequence[Any], predicted: Sequence[Any], punctuation: Sequence[str] | frozenset[str] = PUNCTUATION
) -> BracketScores:
    """Score trees by labeled brackets, as evalb does.

    Brackets are constituents without words whose gold tag is punctuation. The top node, tags, function tags and traces
    do not count, and neither do brackets over punctuation alone. PRT counts as ADVP.

    Parameters
    ----------
    gold, predicted : the right and the predicted trees, in any form that `Tree.of` takes.
    punctuation : the tags of words that are left out; () keeps all words.

    >>> gold, guess = "(S (NP (N a) (N b)) (VP (V c)))", "(S (NP (N a)) (VP (N b) (V c)))"
    >>> scores = bracket_scores([gold], [guess])
    >>> scores.precision, scores.correct, scores.crossing
    (0.3333333333333333, 1, 1)
    """
    if len(gold) != len(predicted):
        raise MargraveError(f"gold has {len(gold)} trees, but predicted has {len(predicted)}.")
    in_gold, in_predicted, in_both = Counter[str](), Counter[str](), Counter[str]()
    rows = []
    words = right_tags = crossing = without = 0
    for i, (true, guess) in enumerate(zip(gold, predicted, strict=True)):
        a, b = _clean(true, f"gold[{i}]"), _clean(guess, f"predicted[{i}]")
        if a.words != b.words:
            raise MargraveError(f"predicted[{i}] has other words than gold[{i}].")
        kept = [tag not in punctuation for tag in a.tags]
        one, other = brackets(a, kept), brackets(b, kept)
        both = one & other
        in_gold.update(bracket.label for bracket in one.elements())
        in_predicted.update(bracket.label for bracket in other.elements())
        in_both.update(bracket.label for bracket in both.elements())
        rows.append((one.total(), other.total(), both.total(), one == other))
        words += sum(kept)
        right_tags += sum(keep and x == y for keep, x, y in zip(kept, a.tags, b.tags, strict=True))
        crosses = sum(n for bracket, n in other.items() if any(_crosses(bracket, each) for each in one))
        crossing += crosses
        without += crosses == 0
    per_tree = np.array(rows, dtype=np.int64).reshape(-1, 4)
    sums = per_tree.sum(axis=0).tolist()
    labels = sorted(in_gold | in_predicted)
    return BracketScores(
        gold=sums[0],
        predicted=sums[1],
        correct=sums[2],
        trees=len(rows),
        exact=sums[3],
        words=words,
        right_tags=right_tags,
        crossing=crossing,
        without_crossing=without,
        by_label={label: Counts(in_gold[label], in_predicted[label], in_both[label]) for label in labels},
        per_tree=per_tree,
    )


def mcnemar(first: Sequence[bool] | NDArray[Any], second: Sequence[bool] | NDArray[Any]) -> float:
    """Compute the exact two-sided p-value of McNemar's test of whether one system is right more often.

    Parameters
    ----------
    first, second : for each item, whether a system is right.

    >>> mcnemar([True] * 6, [False] * 6)
    0.03125
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if one.shape != other.shape:
        raise MargraveError("McNemar's test needs both systems on the same items.")
    wins, losses = int((one & ~other).sum()), int((other & ~one).sum())
    n = wins + losses
    if n == 0:
        return 1.0
    tail = sum(comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, float(2 * tail / 2**n))


def brackets(tree: Tree, kept: Sequence[bool]) -> Counter[Constituent]:
    """The labeled brackets of a tree over the words that are kept."""
    place = np.concatenate([[0], np.cumsum(kept)]).tolist()
    found = Counter(
        Constituent(SAME.get(label, label), place[begin], place[end])
        for label, begin, end in tree.constituents()
        if label not in TOPS
    )
    return Counter({bracket: n for bracket, n in found.items() if bracket.begin < bracket.end})


def _crosses(a: Constituent, b: Constituent) -> bool:
    return a.begin < b.begin < a.end < b.end or b.begin < a.begin < b.end < a.end


def _clean(tree: Any, where: str) -> Tree:
    try:
        found = cleaned(Tree.of(tree))
    except MargraveError as error:
        raise MargraveError(f"{where}: {error}") from None
    if found is None:
        raise MargraveError(f"{where}: an empty tree: it has no words besides traces.")
    return found
