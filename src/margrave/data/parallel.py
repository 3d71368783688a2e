"""Sentence pairs with word alignments."""

from typing import NamedTuple

from margrave.errors import counted

Links = list[tuple[int, int]]


class ParallelText(NamedTuple):
    """Sentence pairs, with their links if they are known: a link (i, j) joins source word i with target word j."""

    source: list[str]
    target: list[str]
    alignments: list[Links] | None = None

    def __repr__(self) -> str:
        links = "without" if self.alignments is None else "with"
        return f"<ParallelText of {counted(len(self.source), 'sentence pair')}, {links} links>"
