"""How sure scores are: the significance of the difference between two systems, and confidence intervals.

The test is approximate randomization (Riezler and Maxwell 2005), and the intervals are percentiles of the bootstrap
(Efron and Tibshirani 1993, chapter 13).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import whole
from margrave.errors import MargraveError, quoted

# Differences that differ by less than this are equal except for the rounding of their sums.
_ROUNDING = 1e-10
# The number of swaps or weights of segments that are stored at a time (8 bytes each).
_AT_A_TIME = 4_000_000


def approximate_randomization(
    first: NDArray[Any] | Sequence[Any],
    second: NDArray[Any] | Sequence[Any],
    score: Callable[[Any], Any],
    *,
    trials: int = 10_000,
    random_state: int = 0,
) -> float:
    """Compute the two-sided p-value of the difference between two systems' scores on the same segments.

    Each trial swaps the outputs of the two systems in randomly chosen segments. The p-value is (1 + the number of
    trials whose difference is at least the observed one) / (1 + trials). If there are at most `trials` ways to swap,
    each of them is tried once and the p-value is exact.

    Parameters
    ----------
    first, second : what the systems achieved on each segment: two arrays of statistics (segments, k), or two sequences
        of outputs.
    score : for arrays, a function from sums (..., k) to scores (...), such as `bleu_of_statistics`; for sequences, a
        function from a list of outputs to a score.
    trials : the number of random trials.
    random_state : the seed of the random numbers.

    >>> wins, losses = np.ones((6, 1)), np.zeros((6, 1))
    >>> approximate_randomization(wins, losses, lambda sums: sums[..., 0]) == 2 / 2**6
    True
    """
    trials = whole("trials", trials, 1, 10**12)
    random_state = whole("random_state", random_state, 0, 2**63 - 1)
    if len(first) != len(second):
        raise MargraveError(f"the first system has {len(first)} segments, but the second has {len(second)}.")
    if len(first) == 0:
        raise MargraveError("there are no segments to compare.")
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        scores = _of_statistics(first, second, score)
    else:
        scores = _of_outputs(list(first), list(second), score)
    n = len(first)
    one, other = scores(np.zeros((1, n)))
    least = abs(one[0] - other[0]) - _ROUNDING * max(abs(one[0]), abs(other[0]))

    def as_large(swaps: NDArray[np.float64]) -> int:
        one, other = scores(swaps)
        return int(np.count_nonzero(np.abs(one - other) >= least))

    if 1 << n <= trials:
        return sum(map(as_large, _all_swaps(n))) / (1 << n)
    return (1 + sum(map(as_large, _random_swaps(n, trials, random_state)))) / (1 + trials)


@dataclass(frozen=True)
class Interval:
    """A score, or the difference between two scores, and the ends of its confidence interval."""

    score: float
    low: float
    high: float


def bootstrap_interval(
    statistics: NDArray[Any],
    score: Callable[[Any], Any],
    *,
    minus: NDArray[Any] | None = None,
    confidence: float = 0.95,
    trials: int = 10_000,
    random_state: int = 0,
) -> Interval:
    """Compute a confidence interval of a score, or of the difference between two systems' scores, by the bootstrap.

    Each trial draws as many segments as there are, with replacement. The interval lies between percentiles of the
    trials' scores. For a difference, the same segments are drawn for both systems (a paired bootstrap). Such an
    interval tells how large the difference is; `approximate_randomization` tests whether it could be chance.

    Parameters
    ----------
    statistics : what the system achieved on each segment, an array (segments, k).
    score : a function from sums (..., k) to scores (...), such as `uas_of_statistics` or `bleu_of_statistics`.
    minus : the statistics of another system on the same segments, whose score is subtracted; None for the score alone.
    confidence : the probability that the interval is meant to have.
    trials : the number of random trials.
    random_state : the seed of the random numbers.

    >>> right = np.array([[1, 1], [1, 0]] * 50)  # words and right words of 100 segments
    >>> bootstrap_interval(right, lambda sums: sums[..., 1] / sums[..., 0])
    Interval(score=0.5, low=0.4, high=0.6)
    """
    trials = whole("trials", trials, 1, 10**12)
    random_state = whole("random_state", random_state, 0, 2**63 - 1)
    if not 0 < confidence < 1:
        raise MargraveError(f"confidence must lie between 0 and 1, and it is {quoted(confidence)}.")
    systems = [np.asarray(each) for each in (statistics, minus) if each is not None]
    if len({each.shape for each in systems}) > 1 or systems[0].ndim != 2:
        shapes = " and ".join(str(each.shape) for each in systems)
        raise MargraveError(f"statistics must have the same shape (segments, numbers), and they have {shapes}.")
    n = len(systems[0])
    if n == 0:
        raise MargraveError("there are no segments to draw from.")

    def scores(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        first, *second = (scores_of_rows(score, weights @ each.astype(np.float64)) for each in systems)
        return first - second[0] if second else first

    drawn = np.concatenate([scores(weights) for weights in _random_weights(n, trials, random_state)])
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return Interval(scores(np.ones((1, n))).item(), low, high)


# Maps swaps (trials, segments), which are 1 where a segment is swapped, to the scores of both systems in each trial.
_Scores = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]


def _of_statistics(first: NDArray[Any], second: NDArray[Any], score: Callable[[Any], Any]) -> _Scores:
    if first.ndim != 2 or first.shape != second.shape:
        raise MargraveError(
            "the statistics of both systems must have the same shape (segments, numbers), "
            f"and their shapes are {first.shape} and {second.shape}."
        )
    one, other = first.sum(axis=0, dtype=np.float64), second.sum(axis=0, dtype=np.float64)
    change = second.astype(np.float64) - first

    def scores(swaps: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        moved = swaps @ change
        return scores_of_rows(score, one + moved), scores_of_rows(score, other - moved)

    return scores


def _of_outputs(first: list[Any], second: list[Any], score: Callable[[Any], Any]) -> _Scores:
    def scored(choices: NDArray[np.bool_]) -> NDArray[np.float64]:
        lists = ([y if swap else x for x, y, swap in zip(first, second, row, strict=True)] for row in choices.tolist())
        return _finite(np.array([float(score(outputs)) for outputs in lists]))

    def scores(swaps: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return scored(swaps == 1), scored(swaps == 0)

    return scores


def scores_of_rows(score: Callable[[Any], Any], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """The score of each row of sums, after a check that `score` returned one number per row."""
    scores = np.asarray(score(sums), np.float64)
    if scores.shape != sums.shape[:-1]:
        raise MargraveError(
            f"score must map sums of shape (..., {sums.shape[-1]}) to numbers of shape (...), "
            f"and it returned shape {scores.shape} for {sums.shape}."
        )
    return _finite(scores)


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(scores).all():
        raise MargraveError(f"score must return finite numbers, and it returned {scores[~np.isfinite(scores)][0]}.")
    return scores


def _all_swaps(n: int) -> Iterator[NDArray[np.float64]]:
    step = max(1, _AT_A_TIME // n)
    for begin in range(0, 1 << n, step):
        numbers = np.arange(begin, min(begin + step, 1 << n))
        yield (numbers[:, None] >> np.arange(n) & 1).astype(np.float64)


def _random_swaps(n: int, trials: int, random_state: int) -> Iterator[NDArray[np.float64]]:
    generator = np.random.default_rng(random_state)
    step = max(1, _AT_A_TIME // n)
    for begin in range(0, trials, step):
        yield generator.integers(0, 2, (min(step, trials - begin), n)).astype(np.float64)


def _random_weights(n: int, trials: int, random_state: int) -> Iterator[NDArray[np.float64]]:
    """How often each segment is drawn in each trial."""
    generator = np.random.default_rng(random_state)
    step = max(1, _AT_A_TIME // n)
    for begin in range(0, trials, step):
        rows = min(step, trials - begin)
        drawn = generator.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)
