"""Refuses factor graphs whose hard factors and listed tuples leave no output, and says which ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.data import rules
from margrave.errors import MargraveError
from margrave.structures.graph_programs import relaxation_is_empty

_MOST_COLUMNS = 20_000  # of a linear program that is tried where elimination is too wide: about a second
_NAMES = {
    rule.kind: rule.__name__
    for rule in (
        *(rules.Xor, rules.AtMostOne, rules.Or, rules.Implies, rules.Budget, rules.TreeRule, rules.Allowed),
        *(rules.Forbidden, rules.OwnRule),
    )
}


@dataclass
class Restrictions:
    """What forbids labelings of a graph: hard factors, listed tuples, and labels that are not allowed.

    Parameters
    ----------
    arrays : the graphs, an object of `GraphArrays`.
    sizes : the number of labels of each set of labels.
    g : the number of the graph.
    allowed : which labels each variable may have; None: all.
    """

    arrays: Any
    sizes: NDArray[np.int64]
    g: int
    allowed: Sequence[NDArray[np.bool_]] | None = None

    def check(self, where: str) -> None:
        """Raise an error that names hard factors that leave no output together.

        None of them can be left out: the others leave an output, or nothing is known about them. Elimination over the
        hard factors and listed tuples alone decides where it is narrow; elsewhere a short search and the linear
        relaxation may prove that there is no output, and a graph of which nothing is proved passes.
        """
        begin = int(self.arrays.hard_begin[self.g])
        every = range(int(self.arrays.hard_begin[self.g + 1]) - begin)
        known = self._have_outputs(every, True, True)
        if known or (known is None and not self._relaxed_empty(every, True, True)):
            return
        proof = self._relaxed_empty if known is None else self._found_empty
        tuples = not proof(every, False, True)  # whether the listed tuples are needed
        labels = self.allowed is not None and not proof(every, tuples, False)
        needed = _needed(every, lambda hards: proof(hards, tuples, labels))
        kinds = self.arrays.hard_kind[begin + np.array(needed, dtype=np.int64)].tolist()
        raise MargraveError(f"{where}: {_sentence(needed, kinds, tuples, labels)}")

    def _graph(self, hards: Sequence[int], tuples: bool, labels: bool) -> Any:
        return self.arrays.restrictions(self.g, hards, tuples=tuples, allowed=self.allowed if labels else None)

    def _have_outputs(self, hards: Sequence[int], tuples: bool, labels: bool) -> bool | None:
        """By elimination or by a search; None if the search is given up."""
        return _core.has_outputs(self._graph(hards, tuples, labels).core(self.sizes), 0)

    def _found_empty(self, hards: Sequence[int], tuples: bool, labels: bool) -> bool:
        """By elimination, or by a search that comes to its end."""
        return self._have_outputs(hards, tuples, labels) is False

    def _relaxed_empty(self, hards: Sequence[int], tuples: bool, labels: bool) -> bool:
        """By the linear relaxation, in which rules of users have no inequalities and are left out."""
        kind = self.arrays.hard_kind[self.arrays.hard_begin[self.g] :]
        with_inequalities = [h for h in hards if kind[h] != rules.OwnRule.kind]
        return relaxation_is_empty(self._graph(with_inequalities, tuples, labels), self.sizes, 0, _MOST_COLUMNS)


def _needed(every: Sequence[int], is_empty: Callable[[list[int]], bool]) -> list[int]:
    """Rules that leave nothing, none of which can be left out.

    The last rule of the shortest beginning that leaves nothing together with those that are needed is needed as well.
    """
    needed, rest = list[int](), list(every)
    while not is_empty(needed):
        low, high = 0, len(rest)
        while low < high:
            middle = (low + high) // 2
            if is_empty([*rest[:middle], *needed]):
                high = middle
            else:
                low = middle + 1
        if low == 0:  # what was proved with more rules is no longer proved with these
            break
        needed, rest = [rest[low - 1], *needed], rest[: low - 1]
    return sorted(needed)


def _sentence(needed: list[int], kinds: list[int], tuples: bool, labels: bool) -> str:
    others = [
        *(["the tuples that its factors list"] if tuples else []),
        *(["the labels that are allowed"] if labels else []),
    ]
    named = [f"{h} ({_NAMES[kind]})" for h, kind in zip(needed, kinds, strict=True)]
    if not named:
        return f"{' and '.join(others)} leave no output."
    listed = f"hard factor {named[0]}"
    if len(named) > 1:
        listed = f"hard factors {', '.join(named[:-1])} and {named[-1]} together"
    if others:
        return f"{listed.removesuffix(' together')}, together with {' and '.join(others)}, leave no output."
    return f"{listed} {'leaves' if len(named) == 1 else 'leave'} no output."
