"""Sentence pairs with word alignments."""

from typing import NamedTuple

Links = list[tuple[int, int]]


class ParallelText(NamedTuple):
    """Sentence pairs, with their links if they are known: a link (i, j) joins source word i with target word j."""

    source: list[str]
    target: list[str]
    alignments: list[Links] | None = None
