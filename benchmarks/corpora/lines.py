"""What the loaders of corpora in lines share."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from margrave.datasets.opening import read_lines

Rows = list[tuple[str, ...]]  # a sentence: one tuple of columns per token


class Attributes(Sequence[Any]):
    """The attributes of sentences, made as they are asked for: Python never holds them all."""

    def __init__(self, sentences: Sequence[Any], of: Callable[[Any], list[list[str]]]) -> None:
        self.sentences = sentences
        self.of = of

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, i: Any) -> Any:
        return self.of(self.sentences[i])


def commented(path: Path) -> Iterator[tuple[str, Rows]]:
    """The comment line that opens each sentence, and its tab-separated rows."""
    comment = ""
    rows: Rows = []
    for _, line in read_lines(path):
        if not line:
            yield comment, rows
            comment, rows = "", []
        elif not comment:
            comment = line
        else:
            rows.append(tuple(line.split("\t")))
    if rows:
        yield comment, rows
