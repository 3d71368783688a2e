"""One out of a list of candidates of each example's own, such as the n best of another system; parts are candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.losses.costs import Cost, CostFunction, GivenCosts, Hamming, ZeroOne
from margrave.structures.base import NoOutputs, Structure, Units


@dataclass
class CandidateLists(Structure):
    """Lists of candidates with features of their own; several candidates may be good.

    Learners that want one good output take the first, the best; the others cost nothing. The cost "hamming" is what the
    data say, "zero-one" is 1 for every candidate that is not good.
    """

    name = "candidates"
    costs = (Hamming, ZeroOne, CostFunction, GivenCosts)

    def bind(
        self,
        outputs: NoOutputs,
        units: Units,
        Y: Sequence[Any] | None = None,
        *,
        costs: Cost | None = None,
        allowed: Any = None,
    ) -> _core.Structure:
        """The core's structure of lists of so many candidates.

        Y: for each example the number of its good candidate, or the numbers of all good ones, best first. costs: where
        the data bring their own (`GivenCosts`), one number per candidate, 0 for good ones; otherwise 1 for the others.
        """
        if not isinstance(outputs, NoOutputs):
            raise MargraveError("it has labels, and candidates have none.")
        counts = units.tolist()
        good_begin = flat = cost = None
        given = costs.costs if isinstance(costs, GivenCosts) else None
        if costs is not None:
            self.check_cost(costs)
        if Y is not None:
            numbers = good_lists(Y, counts)
            good_begin = np.concatenate([[0], np.cumsum([len(each) for each in numbers])]).astype(np.int64)
            flat = np.array([k for each in numbers for k in each], dtype=np.int32)
            if given is not None:
                cost = np.concatenate([np.zeros(0), *cost_lists(given, numbers, counts)])
        elif given is not None:
            raise MargraveError("the costs of candidates need good candidates, which cost 0, and there are none.")
        return _core.candidates(np.concatenate([[0], np.cumsum(units)]).astype(np.int64), good_begin, flat, cost)

    def decode(
        self, outputs: NoOutputs, units: Units, begin: NDArray[np.int64], parts: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """The number of the candidate of every example: an output has one part, which is its candidate."""
        return parts.astype(np.int64)

    def check_cost(self, cost: Cost) -> None:
        """Refuses a cost that candidates cannot have."""
        of_loss = cost.loss if isinstance(cost, GivenCosts) else cost
        if not isinstance(of_loss, self.costs) or getattr(of_loss, "weights", None) is not None:
            raise MargraveError(
                "the cost of a candidate is 'hamming' (what the data say), 'zero-one', or a function of the good "
                "candidate and another one."
            )


def candidate_lists(X: Any) -> list[Any]:
    """The examples of X, each of which has a number of candidates."""
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__iter__") or getattr(X, "ndim", None) == 2:
        raise MargraveError(
            f"X must be a list with the candidates of each example, as a list or a matrix, not {type(X).__name__}."
        )
    lists = list(X)
    for i, x in enumerate(lists):
        if isinstance(x, str | bytes | Mapping) or not getattr(x, "shape", hasattr(x, "__len__")):
            raise MargraveError(f"example {i}: its candidates must be a list or a matrix, not {type(x).__name__}.")
    return lists


def good_lists(good: Any, counts: Sequence[int]) -> list[list[int]]:
    """The numbers of the good candidates of each example, given how many candidates it has."""
    if isinstance(good, str | bytes | Mapping) or not hasattr(good, "__len__"):
        raise MargraveError(
            f"good candidates must be a list with a number, or a list of numbers, for each example, not "
            f"{type(good).__name__}."
        )
    if len(good) != len(counts):
        raise MargraveError(f"there are {len(counts)} lists of candidates and good ones of {len(good)}.")
    lists = []
    for i, (given, n) in enumerate(zip(good, counts, strict=True)):
        if isinstance(given, str | bytes | Mapping | set | frozenset):
            raise MargraveError(
                f"example {i}: its good candidates must be a number or a list of numbers, best first, not "
                f"{type(given).__name__}."
            )
        numbers = given if hasattr(given, "__len__") else [given]
        lists.append([whole(f"example {i}: the number of a good candidate", k, 0, 2**31 - 1) for k in numbers])
        seen: set[int] = set()
        for k in lists[i]:
            if k >= n:
                raise MargraveError(f"example {i}: there is no candidate {k} among its {n}.")
            if k in seen:
                raise MargraveError(f"example {i}: candidate {k} is good twice.")
            seen.add(k)
    return lists


def cost_lists(costs: Any, good: Sequence[Sequence[int]], counts: Sequence[int]) -> list[NDArray[np.float64]]:
    """The costs of the candidates of each example, given which are good and how many there are."""
    if not hasattr(costs, "__len__") or len(costs) != len(counts):
        raise MargraveError(f"costs must be a list with the costs of each example's candidates: {len(counts)} of them.")
    arrays = []
    for i, (given, right, n) in enumerate(zip(costs, good, counts, strict=True)):
        try:
            array = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise MargraveError(f"example {i}: costs must be numbers, one per candidate.") from None
        if array.shape != (n,):
            raise MargraveError(
                f"example {i}: costs must be {n} numbers, one per candidate, not of shape {array.shape}."
            )
        if not np.isfinite(array).all() or (array < 0).any():
            raise MargraveError(f"example {i}: costs must be finite and not negative.")
        if array[list(right)].any():
            raise MargraveError(f"example {i}: good candidates must cost 0.")
        arrays.append(array)
    return arrays
