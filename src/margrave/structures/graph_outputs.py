"""Refuses factor graphs whose hard factors and listed tuples leave no output, and says which ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.structures import rules
from margrave.structures.graph_programs import relaxation_is_empty

_MOST_COLUMNS = 20_000  # of a linear program that is tried where elimination is too wide: about a second
_NAMES = {
    rule.kind: rule.__name__
    for rule in (
        *(rules.Xor, rules.AtMostOne, rules.Or, rules.Implies, rules.Budget, rules.TreeRule, rules.Allowed),
        *(rules.Forbidden, rules.OwnRule),
    )
}


def refuse_empty_graphs(arrays: Any, sizes: NDArray[np.int64], graphs: Iterable[int]) -> None:
    """Raises an error that names rules of the first graph that leave no output together.

    None of them can be left out: the others leave an output, or nothing is known about them. Elimination over the hard
    factors and listed tuples alone decides where it is narrow; elsewhere a short search and the linear relaxation may
    prove that there is no output, and graphs of which nothing is proved pass.

    Parameters
    ----------
    arrays : the graphs, an object of `GraphArrays`.
    sizes : the number of labels of each set of labels.
    graphs : the numbers of the graphs to look at.
    """
    for g in graphs:
        every = range(int(arrays.hard_begin[g + 1] - arrays.hard_begin[g]))
        of = _Restrictions(arrays, sizes, g)
        known = of.have_outputs(every, True)
        if known or (known is None and not of.relaxed_empty(every, True)):
            continue
        proof = of.relaxed_empty if known is None else of.found_empty
        tuples = not proof(every, False)  # whether the listed tuples are needed
        needed = _needed(every, partial(proof, tuples=tuples))
        kinds = arrays.hard_kind[int(arrays.hard_begin[g]) + np.array(needed, dtype=np.int64)].tolist()
        raise MargraveError(f"graph {g}: {_sentence(needed, kinds, tuples)}")


@dataclass
class _Restrictions:
    """Whether some hard factors of a graph, with or without the listed tuples, leave an output."""

    arrays: Any
    sizes: NDArray[np.int64]
    g: int

    def have_outputs(self, hards: Sequence[int], tuples: bool) -> bool | None:
        """By elimination or by a search; None if the search is given up."""
        graph = self.arrays.restrictions(self.g, hards, tuples=tuples)
        return _core.has_outputs(graph.core(self.sizes), 0)

    def found_empty(self, hards: Sequence[int], tuples: bool) -> bool:
        """By elimination, or by a search that comes to its end."""
        return self.have_outputs(hards, tuples) is False

    def relaxed_empty(self, hards: Sequence[int], tuples: bool) -> bool:
        """By the linear relaxation, in which rules of users have no inequalities and are left out."""
        kind = self.arrays.hard_kind[self.arrays.hard_begin[self.g] :]
        graph = self.arrays.restrictions(self.g, [h for h in hards if kind[h] != rules.OwnRule.kind], tuples=tuples)
        return relaxation_is_empty(graph, self.sizes, 0, _MOST_COLUMNS)


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


def _sentence(needed: list[int], kinds: list[int], tuples: bool) -> str:
    if not needed:
        return "the tuples that its factors list leave no output."
    named = [f"{h} ({_NAMES[kind]})" for h, kind in zip(needed, kinds, strict=True)]
    rest = ", together with the tuples that its factors list," if tuples else " together" if len(named) > 1 else ""
    if len(named) == 1:
        return f"hard factor {named[0]}{rest} {'leave' if tuples else 'leaves'} no output."
    return f"hard factors {', '.join(named[:-1])} and {named[-1]}{rest} leave no output."
