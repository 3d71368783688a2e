"""A structure from outside of the package: divisions of a text into segments, as a hypergraph."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.examples import Examples
from margrave.losses import Cost
from margrave.structures import NoOutputs, Structure
from margrave.structures.base import Bound

LONGEST = 3
Segment = tuple[int, int]  # begin, end


@cache
def segments(n: int) -> list[Segment]:
    """All segments of n tokens, by their ends; the position in the list is the part."""
    return [(begin, end) for end in range(1, n + 1) for begin in range(max(0, end - LONGEST), end)]


def divisions(n: int, begin: int = 0) -> list[list[Segment]]:
    """All divisions of the tokens from `begin` on, by brute force."""
    if begin == n:
        return [[]]
    ends = range(begin + 1, min(begin + LONGEST, n) + 1)
    return [[(begin, end), *rest] for end in ends for rest in divisions(n, end)]


def graph(n: int) -> _core.Hypergraph:
    """Node t says that the first t tokens are divided; a segment is an edge from its begin to its end."""
    every = segments(n)
    heads = np.array([0, *(end for _, end in every)], dtype=np.int32)
    tails = np.array([begin for begin, _ in every], dtype=np.int32)
    begins = np.array([0, *range(len(every) + 1)], dtype=np.int64)  # Node 0 has an edge without tails and parts.
    return _core.Hypergraph(n + 1, heads, begins, tails, begins, np.arange(len(every), dtype=np.int32))


def tokens_of(examples: Examples) -> list[int]:
    """The number of tokens of each text, from its number of segments."""
    lengths = {len(segments(n)): n for n in range(1, 100)}
    return [lengths[count] for count in examples.sizes.tolist()]


@dataclass
class Segments(Structure[NoOutputs, _core.Structure]):
    """Divisions of a text into segments of at most three tokens; a row, and a part, is a segment."""

    name = "outside-segments"
    examples = "texts"

    def learn(self, Y: Sequence[Any]) -> NoOutputs:
        return NoOutputs()

    def bind(self, outputs: NoOutputs, examples: Examples, costs: Cost | None = None) -> _core.Structure:
        lengths, Y = tokens_of(examples), examples.Y
        if costs is not None:
            self.check_cost(costs)
        gold = delta = None
        if Y is not None:
            numbers = [{segment: part for part, segment in enumerate(segments(n))} for n in lengths]
            gold = [np.array([of[s] for s in map(tuple, y)], np.int32) for of, y in zip(numbers, Y, strict=True)]
            delta = [np.ones(int(count)) for count in examples.sizes]  # every wrong segment costs 1
            for of_example, parts in zip(delta, gold, strict=True):
                of_example[parts] = 0
        graphs = [graph(n) for n in lengths]
        return _core.hypergraphs(graphs, examples.sizes, gold, delta, None)

    def decode(
        self,
        bound: Bound[NoOutputs, _core.Structure],
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[Segment]]:
        every = [segments(n) for n in tokens_of(bound.examples)]
        names = every if owners is None else [every[i] for i in owners]
        bounds = zip(names, pairwise(begin.tolist()), strict=True)
        return [sorted(of[part] for part in parts[first:last]) for of, (first, last) in bounds]
