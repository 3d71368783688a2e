"""Constituent trees in Penn brackets."""

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any

from margrave.data.constituents import Tree, cleaned, numbered_trees
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError


def read_brackets(path: TextSource, *, clean: bool = True, encoding: str = "utf-8") -> Iterator[Tree]:
    """Read the trees of a file in Penn brackets. A tree may take several lines, and blank lines do not matter.

    Parameters
    ----------
    path : the file, plain or gzip, or an open stream.
    clean : whether function tags and traces are left out, and with them nodes without any word.
    encoding : the encoding of the file.
    """
    name = source_name(path)

    def refuse(line: int, what: str) -> DataError:
        return DataError(name, line, what)

    for line, tree in numbered_trees(read_lines(path, encoding), refuse):
        found = cleaned(tree) if clean else tree
        if found is None:
            raise DataError(name, line, "an empty tree: it has no words besides traces.")
        yield found


def write_brackets(path: str | PathLike[str], trees: Iterable[Any]) -> None:
    """Write trees in Penn brackets, one per line.

    Parameters
    ----------
    path : the file; it is packed if its name ends in .gz.
    trees : the trees, in any form that `Tree.of` takes.
    """
    write_lines(path, (str(Tree.of(tree)) for tree in trees))
