"""Means over samples, folds and draws, and what is chosen or concluded from them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Result = dict[str, Any]


def summary(values: Iterable[float]) -> Result:
    """The mean, half of its 95 % interval, the standard deviation, and the values themselves."""
    from scipy.stats import t

    sample = np.array(list(values), dtype=np.float64)
    deviation = float(sample.std(ddof=1))
    half = float(t.ppf(0.975, len(sample) - 1)) * deviation / np.sqrt(len(sample))
    return {"mean": float(sample.mean()), "interval": float(half), "sd": deviation, "values": sample.tolist()}


def chosen(Cs: Iterable[float], score: Callable[[float], float]) -> float:
    """The C with the highest score; of equal ones the smallest."""
    by_C = {C: score(C) for C in Cs}
    return max(by_C, key=lambda C: (by_C[C], -C))


def plain_folds(n: int, k: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Training and test parts of a cross-validation."""
    from sklearn.model_selection import KFold

    yield from KFold(k, shuffle=True, random_state=0).split(np.zeros(n))


def verdict(gain: Result) -> str:
    """Whether a mean gain is above zero, below, or neither for certain."""
    if abs(gain["mean"]) <= gain["interval"]:
        return "undecided"
    return "wins" if gain["mean"] > 0 else "loses"
