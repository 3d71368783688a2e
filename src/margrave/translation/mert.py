"""Minimum error rate training: weights that select the candidates with the best score by a metric (Och 2003).

The metric is a function of statistics that are summed over lists, such as BLEU. Along a line of weights, the score of
every candidate is a linear function. The best candidates of a list form the upper envelope of these functions, and the
sums change only where the best candidate changes, so that the best point of the line can be found exactly. Lines follow
the axes of the features, and random directions.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.metrics.significance import scores_of_rows
from margrave.metrics.translation import bleu_of_statistics

Score = Callable[[Any], Any]

# Relative gains below this are rounding errors.
_ROUNDING = 1e-12
# Intervals that are this small relative to their ends are ignored. Rounding could have swapped the ends if several
# lines meet in one point, or the middle could round into another interval.
_NARROW = 1e-9


def mert(
    features: Sequence[NDArray[Any]],
    statistics: Sequence[NDArray[Any]],
    score: Score = bleu_of_statistics,
    start: Sequence[float] | NDArray[Any] | None = None,
    *,
    restarts: int = 20,
    random_directions: int = 10,
    max_iter: int = 100,
    random_state: int = 0,
) -> tuple[NDArray[np.float64], float]:
    """Find weights with the best score; return them, scaled so that their absolute values sum to 1, and the score.

    The candidate of each list with the greatest `features[i] @ weights` is chosen, or the first of several. The score
    is never below that of `start`.

    Parameters
    ----------
    features : for each list, an array (candidates, d).
    statistics : for each list, an array (candidates, s).
    score : a function from sums of statistics (..., s) to numbers (...); greater is better.
    start : the weights to start from; None for random weights.
    restarts : the number of further starts from random weights.
    random_directions : the number of random directions to search in each iteration, in addition to every feature.
    max_iter : the maximum number of iterations per start; the search ends earlier if no direction improves the score.
    random_state : the seed of the random numbers.

    >>> import numpy as np
    >>> weights, score = mert([np.array([[1.0], [2.0]])], [np.array([[0], [1]])], lambda sums: sums[..., 0], [-1.0])
    >>> weights, score
    (array([1.]), 1.0)
    """
    restarts = whole("restarts", restarts, 0, 10**9)
    random_directions = whole("random_directions", random_directions, 0, 10**9)
    max_iter = whole("max_iter", max_iter, 1, 10**9)
    random_state = whole("random_state", random_state, 0, 2**63 - 1)
    lists = _pack(features, statistics)
    scales = lists.scales()
    # Each restart has its own generator, so that more restarts begin with the same ones as fewer restarts.
    generators = [np.random.default_rng([random_state, k]) for k in range(restarts + 1)]
    starts = [generator.normal(size=len(scales)) / scales for generator in generators]
    if start is not None:
        starts[0] = _checked_vector("start", start, len(scales))
    found = [
        _coordinate_ascent(lists, score, weights, scales, random_directions, max_iter, generator)
        for weights, generator in zip(starts, generators, strict=True)
    ]
    weights, best = max(found, key=lambda pair: pair[1])
    return _of_norm_one(weights, lists, score, best), best


def deviations(lists: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The standard deviation of each feature within lists; 1 for a feature that is constant in each of them.

    Parameters
    ----------
    lists : for each list, an array (candidates, d).
    """
    total: NDArray[np.float64] | float = 0.0
    size = 0
    for rows in lists:
        total = total + ((rows - rows.mean(axis=0)) ** 2).sum(axis=0)
        size += len(rows)
    found = np.sqrt(total / size)
    return np.where(found > 0, found, 1.0)


def line_search(
    features: Sequence[NDArray[Any]],
    statistics: Sequence[NDArray[Any]],
    weights: Sequence[float] | NDArray[Any],
    direction: Sequence[float] | NDArray[Any],
    score: Score = bleu_of_statistics,
) -> tuple[float, float]:
    """Find the best step along a direction, in the middle of the widest interval with the best score; return both.

    Parameters
    ----------
    features, statistics, score : as in `mert`.
    weights : the weights to start from.
    direction : the direction to search in.

    >>> import numpy as np
    >>> features = [np.array([[1.0, 0.0], [0.0, 1.0], [2.0, -4.0]])]
    >>> line_search(features, [np.array([[0], [1], [0]])], [1.0, 0.0], [0.0, 1.0], lambda sums: sums[..., 0])
    (2.0, 1.0)
    """
    lists = _pack(features, statistics)
    d = lists.features.shape[1]
    return _best_step(lists, score, _checked_vector("weights", weights, d), _checked_vector("direction", direction, d))


@dataclass(frozen=True)
class _Lists:
    """The concatenated candidates of all lists, without those whose features equal those of an earlier one."""

    features: NDArray[np.float64]  # (candidates, d)
    statistics: NDArray[np.float64]  # (candidates, s)
    number: NDArray[np.intp]  # (lists, longest): the indices of the candidates of each list, padded with 0
    missing: NDArray[np.bool_]  # (lists, longest): whether an entry is padding

    def scales(self) -> NDArray[np.float64]:
        """The standard deviation of each feature within the lists, by which random weights are divided."""
        pairs = zip(self.number, self.missing, strict=True)
        return deviations(self.features[row[~missing]] for row, missing in pairs)

    def by_list(self, values: NDArray[np.float64], filler: float) -> NDArray[np.float64]:
        """Values of candidates, as an array (lists, longest)."""
        return np.where(self.missing, filler, values[self.number])

    def score_at(self, weights: NDArray[np.float64], score: Score) -> float:
        """The score of the candidates that these weights choose."""
        chosen = np.argmax(self.by_list(self.features @ weights, -np.inf), axis=1)
        sums = self.statistics[self.number[np.arange(len(chosen)), chosen]].sum(axis=0)
        return float(scores_of_rows(score, sums[None])[0])


def _coordinate_ascent(
    lists: _Lists,
    score: Score,
    weights: NDArray[np.float64],
    scales: NDArray[np.float64],
    random_directions: int,
    max_iter: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], float]:
    """Search along lines from these weights until no search improves the score."""
    d = len(scales)
    current = lists.score_at(weights, score)
    for _iteration in range(max_iter):
        before = current
        others = generator.normal(size=(random_directions, d))
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        for direction in np.concatenate([np.eye(d)[generator.permutation(d)], others]) / scales:
            step, _ = _best_step(lists, score, weights, direction)
            moved = weights + step * direction
            moved /= np.linalg.norm(moved * scales) or 1.0
            # Candidates that tie along the whole line can be chosen differently after rounding, so score again.
            value = lists.score_at(moved, score)
            if value > current + _ROUNDING * abs(current):
                weights, current = moved, value
        if current == before:
            break
    return weights, current


def _best_step(
    lists: _Lists, score: Score, weights: NDArray[np.float64], direction: NDArray[np.float64]
) -> tuple[float, float]:
    """The step to the middle of the widest interval with the best score, and that score."""
    first, steps, leaving, entering = _chains(lists, weights, direction)
    order = np.argsort(steps, kind="stable")
    ends = steps[order]
    changes = lists.statistics[entering[order]] - lists.statistics[leaving[order]]
    sums = np.concatenate([lists.statistics[first].sum(axis=0)[None], changes]).cumsum(axis=0)
    if not len(ends):
        return 0.0, float(scores_of_rows(score, sums)[0])
    left, right = np.concatenate([[-np.inf], ends]), np.concatenate([ends, [np.inf]])
    # An unbounded interval gets a finite width: twice the distance of its end from 0, and at least 2.
    left[0], right[-1] = ends[0] - 2 * max(1.0, abs(ends[0])), ends[-1] + 2 * max(1.0, abs(ends[-1]))
    widths, middles = right - left, (left + right) / 2
    wide = widths > _NARROW * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    scores = scores_of_rows(score, sums[wide])
    best = np.flatnonzero(scores == scores.max())
    chosen = best[np.argmax(widths[wide][best])]
    return float(middles[wide][chosen]), float(scores[chosen])


def _chains(
    lists: _Lists, weights: NDArray[np.float64], direction: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """The best candidates of the lists along the line weights + step * direction.

    Returns the best candidate of each list at step -inf, and all changes: their steps, the candidates that are
    replaced, and those that replace them. All lists advance together; the next best candidate is the one with a larger
    slope whose line crosses the current one first.
    """
    slopes = lists.by_list(lists.features @ direction, np.inf)
    heights = lists.by_list(lists.features @ weights, -np.inf)
    flattest = slopes.min(axis=1, keepdims=True)
    top = np.argmax(np.where(slopes == flattest, heights, -np.inf), axis=1)
    slopes[lists.missing] = -np.inf  # never steeper
    number = lists.number
    first = number[np.arange(len(top)), top]
    changes: list[tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]] = []
    while len(top):
        rows = np.arange(len(top))
        steeper = slopes - slopes[rows, top][:, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossings = (heights[rows, top][:, None] - heights) / steeper
        crossings[~(steeper > 0)] = np.inf
        following = np.argmin(crossings, axis=1)
        crossing = crossings[rows, following]
        more = np.flatnonzero(crossing < np.inf)
        changes.append((crossing[more], number[more, top[more]], number[more, following[more]]))
        top = following[more]
        slopes, heights, number = slopes[more], heights[more], number[more]
    steps, leaving, entering = (np.concatenate(column) for column in zip(*changes, strict=True))
    return first, steps, leaving, entering


def _of_norm_one(weights: NDArray[np.float64], lists: _Lists, score: Score, needed: float) -> NDArray[np.float64]:
    """The weights divided by the sum of their absolute values, unless rounding would lower the score."""
    norm = np.abs(weights).sum()
    scaled = weights / norm if 0 < norm < np.inf else weights
    return scaled if lists.score_at(scaled, score) >= needed else weights


def _pack(features: Sequence[NDArray[Any]], statistics: Sequence[NDArray[Any]]) -> _Lists:
    if len(features) != len(statistics):
        raise MargraveError(f"features has {len(features)} lists, but statistics has {len(statistics)}.")
    if not len(features):
        raise MargraveError("there are no lists to learn from.")
    kept_features: list[NDArray[np.float64]] = []
    kept_statistics: list[NDArray[np.float64]] = []
    sizes = []
    for i, (a, b) in enumerate(zip(features, statistics, strict=True)):
        rows, counts = _checked_rows(f"features[{i}]", a), _checked_rows(f"statistics[{i}]", b)
        if len(rows) != len(counts):
            raise MargraveError(f"features[{i}] has {len(rows)} candidates, but statistics[{i}] has {len(counts)}.")
        for name, array, before in (("features", rows, kept_features), ("statistics", counts, kept_statistics)):
            if before and array.shape[1] != before[0].shape[1]:
                raise MargraveError(
                    f"{name}[{i}] has {array.shape[1]} columns, but {name}[0] has {before[0].shape[1]}."
                )
        # Only the first of several candidates with the same features can be chosen.
        distinct = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        kept_features.append(rows[distinct])
        kept_statistics.append(counts[distinct])
        sizes.append(len(distinct))
    ends = np.cumsum(sizes)
    position = np.arange(max(sizes))
    missing = position >= np.array(sizes)[:, None]
    number = np.where(missing, 0, (ends - sizes)[:, None] + position)
    return _Lists(np.concatenate(kept_features), np.concatenate(kept_statistics), number, missing)


def _checked_rows(name: str, value: Any) -> NDArray[np.float64]:
    try:
        rows = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise MargraveError(f"{name} must be a 2-d array of numbers.") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise MargraveError(f"{name} must have at least one row and one column, and its shape is {rows.shape}.")
    if not np.isfinite(rows).all():
        raise MargraveError(f"{name} must be finite, and it is not.")
    return rows


def _checked_vector(name: str, value: Any, d: int) -> NDArray[np.float64]:
    try:
        vector = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise MargraveError(f"{name} must be a list of numbers.") from error
    if vector.shape != (d,):
        raise MargraveError(f"{name} must have one number for each of {d} features, and its shape is {vector.shape}.")
    if not np.isfinite(vector).all():
        raise MargraveError(f"{name} must be finite, and it is not.")
    return vector
