"""Choice of one candidate from a list, such as the n best outputs of another system; parts are candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length, whole
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.losses.costs import Cost, CostFunction, GivenCosts, Hamming, ZeroOne
from margrave.structures.base import Bound, NoOutputs, Structure


@dataclass
class CandidateLists(Structure[NoOutputs, _core.Structure]):
    """Lists of candidates, each with its own features; several candidates of a list can be good.

    Learners that need one good output use the first one, which is the best; the other good ones cost nothing. The cost
    "hamming" is that given with the data; "zero-one" is 1 for every candidate that is not good.

    Parameters
    ----------
    divided : whether problems offer inference among the good candidates, which latent losses need.
    """

    name = "candidates"
    costs = (Hamming, ZeroOne, CostFunction, GivenCosts)

    divided: bool = False

    def bind(self, outputs: NoOutputs, examples: Examples, costs: Cost | None = None) -> _core.Structure:
        """Make the core's structure for some lists, with a row for each candidate.

        Parameters
        ----------
        outputs : not used.
        examples : the lists; outputs are the index of the good candidate, or the indices of all good ones, best first.
        costs : `GivenCosts` have one number per candidate, which is 0 for good ones; otherwise all others cost 1.
        """
        if not isinstance(outputs, NoOutputs):
            raise MargraveError("it has labels, but candidates do not have labels.")
        counts, Y = examples.sizes.tolist(), examples.Y
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
            raise MargraveError("the costs of candidates need good candidates, which cost 0, but none are given.")
        return _core.candidates(examples.begin, good_begin, flat, cost)

    def join(self, core: _core.Structure, features: _core.Features) -> _core.Problem:
        """The problem of lists with their features."""
        return _core.divide(core, features) if self.divided else super().join(core, features)

    def decode(
        self,
        bound: Bound[NoOutputs, _core.Structure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """The index of the chosen candidate of every example: an output has one part, which is its candidate."""
        return parts.astype(np.int64)

    def check_cost(self, cost: Cost) -> None:
        """Refuse a cost that candidates cannot have."""
        of_loss = cost.loss if isinstance(cost, GivenCosts) else cost
        if not isinstance(of_loss, self.costs) or getattr(of_loss, "weights", None) is not None:
            raise MargraveError(
                "the cost of a candidate is 'hamming' (given with the data), 'zero-one', or a function of the good "
                "candidate and another one."
            )


def candidate_lists(X: Any) -> list[Any]:
    """The examples of X as a list; an error if an example is not a list or a matrix of candidates."""
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__iter__") or getattr(X, "ndim", None) == 2:
        raise MargraveError(
            f"X must be a list with the candidates of each example, as a list or a matrix, not {type(X).__name__}."
        )
    lists = list(X)
    for i, x in enumerate(lists):
        if isinstance(x, str | bytes | Mapping) or not getattr(x, "shape", has_length(x)):
            raise MargraveError(f"example {i}: its candidates must be a list or a matrix, not {type(x).__name__}.")
    return lists


def good_lists(good: Any, counts: Sequence[int]) -> list[list[int]]:
    """The indices of the good candidates of each example; `counts` has the number of its candidates."""
    if isinstance(good, str | bytes | Mapping) or not has_length(good):
        raise MargraveError(
            f"good candidates must be a list with a number, or a list of numbers, for each example, not "
            f"{type(good).__name__}."
        )
    if len(good) != len(counts):
        raise MargraveError(f"there are {len(counts)} lists of candidates, but good candidates for {len(good)}.")
    lists = []
    for i, (given, n) in enumerate(zip(good, counts, strict=True)):
        if isinstance(given, str | bytes | Mapping | set | frozenset):
            raise MargraveError(
                f"example {i}: its good candidates must be a number or a list of numbers, best first, not "
                f"{type(given).__name__}."
            )
        numbers = given if has_length(given) else [given]
        lists.append([whole(f"example {i}: the number of a good candidate", k, 0, 2**31 - 1) for k in numbers])
        seen: set[int] = set()
        for k in lists[i]:
            if k >= n:
                raise MargraveError(f"example {i}: there is no candidate {k} among its {n}.")
            if k in seen:
                raise MargraveError(f"example {i}: candidate {k} is given twice as good.")
            seen.add(k)
    return lists


def cost_lists(costs: Any, good: Sequence[Sequence[int]], counts: Sequence[int]) -> list[NDArray[np.float64]]:
    """The costs of the candidates of each example; `counts` has the number of its candidates."""
    if not has_length(costs) or len(costs) != len(counts):
        raise MargraveError(f"costs must be a list with the costs of each example's candidates: {len(counts)} of them.")
    arrays = []
    for i, (given, right, n) in enumerate(zip(costs, good, counts, strict=True)):
        try:
            array = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
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
