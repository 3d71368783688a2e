"""Classes of a taxonomy: examples whose label is a path such as 4/6/2, labeled texts, and the taxonomy itself.

Several classes of one example are separated by `;`. A node is named by its whole path: 4/6/2 lies below 4/6, which lies
below 4. Dots can be used instead of slashes (comp.sys.mac.hardware).
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal, overload

from margrave.data.taxonomy import Taxonomy, nodes_of_path
from margrave.datasets.opening import TextSource, read_lines, source_name
from margrave.datasets.svmlight import read_rows
from margrave.errors import DataError, MargraveError, quoted
from margrave.room import Room

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Classes = list[str] | list[tuple[str, ...]]

_BETWEEN_CLASSES = ";"


@overload
def read_svmlight_paths(
    path: TextSource, *, n_features: int | None = ..., zero_based: bool = ..., multilabel: Literal[False] = ...
) -> "tuple[csr_array, list[str]]": ...
@overload
def read_svmlight_paths(
    path: TextSource, *, n_features: int | None = ..., zero_based: bool = ..., multilabel: Literal[True]
) -> "tuple[csr_array, list[tuple[str, ...]]]": ...
def read_svmlight_paths(
    path: TextSource, *, n_features: int | None = None, zero_based: bool = False, multilabel: bool = False
) -> "tuple[csr_array, Classes]":
    """Read an svmlight file whose labels are classes of a taxonomy: a matrix with one row per example, and the classes.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    n_features : the number of columns; None uses the largest feature index of the file.
    zero_based : whether feature indices start at 0 instead of 1.
    multilabel : whether examples have any number of classes; the classes of an example are then a tuple. Otherwise each
        example must have exactly one class.
    """
    matrix, labels, _ = read_rows(path, n_features, zero_based, partial(_take_classes, multilabel=multilabel))
    return matrix, labels if multilabel else [of[0] for of in labels]


@overload
def read_texts(
    path: TextSource, *, multilabel: Literal[False] = ..., encoding: str = ...
) -> Iterator[tuple[str, str]]: ...
@overload
def read_texts(
    path: TextSource, *, multilabel: Literal[True], encoding: str = ...
) -> Iterator[tuple[tuple[str, ...], str]]: ...
def read_texts(
    path: TextSource, *, multilabel: bool = False, encoding: str = "utf-8"
) -> Iterator[tuple[str | tuple[str, ...], str]]:
    """Read the class and the text of each line `class TAB text`, one line at a time.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    multilabel : whether texts have any number of classes; the classes of a text are then a tuple, which is empty for a
        line that has only a text.
    encoding : the encoding of the file.
    """
    name = source_name(path)
    for number, written, text in _numbered_texts(path, encoding):
        if written is None and not multilabel:
            raise DataError(name, number, "there is no tab between the class and the text.")
        classes = _classes(name, number, written or "", multilabel)
        yield (classes if multilabel else classes[0]), text


def read_descriptions(path: TextSource, encoding: str = "utf-8") -> dict[str, str]:
    """Read descriptions of classes from lines `class TAB text`.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    encoding : the encoding of the file.
    """
    name = source_name(path)
    lines: dict[str, int] = {}
    descriptions: dict[str, str] = {}
    for number, described, text in _numbered_texts(path, encoding):
        if not described or not text.strip():
            raise DataError(name, number, "a line must have a class, a tab and its description.")
        if described in lines:
            raise DataError(name, number, f"{quoted(described)} is described here and in line {lines[described]}.")
        lines[described], descriptions[described] = number, text
    return descriptions


def read_hierarchy(path: TextSource, encoding: str = "utf-8") -> list[tuple[str, str | None]]:
    """Read a taxonomy as pairs (node, parent).

    The parent of a node at the top is None; a node with several parents has several pairs. Either all lines of the file
    are `parent TAB child`, or all lines are paths of nodes, such as 4/6/2 or comp.sys.mac.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    encoding : the encoding of the file.
    """
    name = source_name(path)
    lines = [(number, line) for number, line in read_lines(path, encoding) if line.strip()]
    if not lines:
        raise DataError(name, None, "it contains no nodes.")
    if any("\t" in line for _, line in lines):
        return _pairs(name, lines)
    between = next((mark for mark in "/." if any(mark in line for _, line in lines)), None)
    if between is None:
        raise DataError(
            name, lines[0][0], f"{quoted(lines[0][1])} is neither parent TAB child nor a path such as 4/6/2."
        )
    return _prefixes(name, lines, between)


def read_taxonomy(path: TextSource, *, child_first: bool = False, encoding: str = "utf-8") -> Taxonomy:
    """Read a taxonomy.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream, in which either all lines are `parent TAB child`, or all lines
        are paths such as 4/6/2.
    child_first : whether the lines are `child TAB parent` instead.
    encoding : the encoding of the file.
    """
    pairs = read_hierarchy(path, encoding)
    if child_first:
        return Taxonomy.from_pairs((parent, child) for child, parent in pairs if parent is not None)
    return Taxonomy.from_pairs(pairs)


def _numbered_texts(path: TextSource, encoding: str) -> Iterator[tuple[int, str | None, str]]:
    """The number of each line that is not blank, the text before its tab (None without a tab), and the text after."""
    for number, line in read_lines(path, encoding):
        if line.strip():
            before, tab, text = line.partition("\t")
            yield (number, before.strip(), text) if tab else (number, None, line)


def _take_classes(name: str, number: int, fields: list[str], multilabel: bool) -> tuple[str, ...]:
    """Remove the classes from the fields of a line and return them."""
    written = "" if ":" in fields[0] else fields.pop(0)
    if not written and not multilabel:
        raise DataError(name, number, f"the line must begin with a class such as 4/6/2, not {quoted(fields[0])}.")
    return _classes(name, number, written, multilabel)


def _classes(name: str, number: int, written: str, multilabel: bool) -> tuple[str, ...]:
    if not written and multilabel:
        return ()
    classes = tuple(written.split(_BETWEEN_CLASSES)) if multilabel else (written,)
    for one in classes:
        if "" in one.split("/"):
            raise DataError(name, number, f"{quoted(one)} is not a class, which is a name or a path such as 4/6/2.")
    if not multilabel and _BETWEEN_CLASSES in written:
        raise DataError(name, number, f"{quoted(written)} has several classes, but only one is allowed.")
    return classes


def _pairs(name: str, lines: list[tuple[int, str]]) -> list[tuple[str, str | None]]:
    pairs: dict[tuple[str, str], None] = {}  # distinct pairs in the order of the file
    for number, line in lines:
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            raise DataError(name, number, f"{quoted(line)} is not parent TAB child.")
        parent, child = fields
        if parent == child:
            raise DataError(name, number, f"{quoted(child)} is its own parent.")
        pairs[child, parent] = None
    children = {child for child, _ in pairs}
    tops = dict.fromkeys(parent for _, parent in pairs if parent not in children)
    return [*((top, None) for top in tops), *pairs]


def _prefixes(name: str, lines: list[tuple[int, str]], between: str) -> list[tuple[str, str | None]]:
    pairs: dict[tuple[str, str | None], None] = {}
    room = Room()
    for number, line in lines:
        path = line.strip()
        if "" in path.split(between):
            raise DataError(
                name, number, f"{quoted(line)} is not a path: something is missing before or after {quoted(between)}."
            )
        room.add(len(path))
        try:
            pairs.update(dict.fromkeys(nodes_of_path(path, between, room)))
        except MargraveError as error:
            raise DataError(name, number, error.message) from None
    return list(pairs)
