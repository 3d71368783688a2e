"""Classes of a taxonomy: examples whose label is a path such as 4/6/2, labelled texts, and the taxonomy itself.

Several classes of one example stand with `;` between. A node is named by its whole path, so that 4/6/2 lies below 4/6,
and that below 4; dots may take the place of the slashes (comp.sys.mac.hardware).
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal, overload

from margrave.datasets.opening import TextSource, read_lines, source_name
from margrave.datasets.svmlight import read_rows
from margrave.errors import DataError

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
    """The examples of an svmlight file as rows of a matrix, and their classes, as they are written.

    With `multilabel` the classes of an example are a tuple, which may be empty; else each example has exactly one.
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
    """The class and the text of each line `class TAB text` of a file (plain or gzip) or stream, one at a time.

    With `multilabel` the classes of a text are a tuple, which is empty where nothing but the text is written.
    """
    name = source_name(path)
    for number, written, text in _numbered_texts(path, encoding):
        if written is None and not multilabel:
            raise DataError(name, number, "no tab, where one is expected between the class and the text.")
        classes = _classes(name, number, written or "", multilabel)
        yield (classes if multilabel else classes[0]), text


def read_descriptions(path: TextSource, encoding: str = "utf-8") -> dict[str, str]:
    """What each class is about, from lines `class TAB text`."""
    name = source_name(path)
    lines: dict[str, int] = {}
    descriptions: dict[str, str] = {}
    for number, described, text in _numbered_texts(path, encoding):
        if not described or not text.strip():
            raise DataError(name, number, "a class, a tab and its description are expected.")
        if described in lines:
            raise DataError(name, number, f"{described!r} is described here and in line {lines[described]}.")
        lines[described], descriptions[described] = number, text
    return descriptions


def read_hierarchy(path: TextSource, encoding: str = "utf-8") -> list[tuple[str, str | None]]:
    """The nodes of a taxonomy, each with a parent, or None for a node at the top; several parents are several pairs.

    A line of the file is `parent TAB child`, or, in all lines, one node named by its path: 4/6/2, or comp.sys.mac.
    """
    name = source_name(path)
    lines = [(number, line) for number, line in read_lines(path, encoding) if line.strip()]
    if not lines:
        raise DataError(name, None, "it holds no nodes.")
    if any("\t" in line for _, line in lines):
        return _pairs(name, lines)
    between = next((mark for mark in "/." if any(mark in line for _, line in lines)), None)
    if between is None:
        raise DataError(
            name, lines[0][0], f"{lines[0][1]!r} is neither parent TAB child nor, as any other line, a path like 4/6/2."
        )
    return _prefixes(name, lines, between)


def _numbered_texts(path: TextSource, encoding: str) -> Iterator[tuple[int, str | None, str]]:
    """The number of each line that is not blank, what stands before its tab, None if it has none, and the text."""
    for number, line in read_lines(path, encoding):
        if line.strip():
            before, tab, text = line.partition("\t")
            yield (number, before.strip(), text) if tab else (number, None, line)


def _take_classes(name: str, number: int, fields: list[str], multilabel: bool) -> tuple[str, ...]:
    """The classes before the features, taken off the fields of a line."""
    written = "" if ":" in fields[0] else fields.pop(0)
    if not written and not multilabel:
        raise DataError(name, number, f"{fields[0]!r} stands where a class such as 4/6/2 is expected.")
    return _classes(name, number, written, multilabel)


def _classes(name: str, number: int, written: str, multilabel: bool) -> tuple[str, ...]:
    if not written and multilabel:
        return ()
    classes = tuple(written.split(_BETWEEN_CLASSES)) if multilabel else (written,)
    for one in classes:
        if "" in one.split("/"):
            raise DataError(name, number, f"{one!r} is no class: a name, or a path such as 4/6/2, is expected.")
    if not multilabel and _BETWEEN_CLASSES in written:
        raise DataError(name, number, f"{written!r} are several classes, where one is expected.")
    return classes


def _pairs(name: str, lines: list[tuple[int, str]]) -> list[tuple[str, str | None]]:
    pairs: dict[tuple[str, str], None] = {}  # in the order of the file, each once
    for number, line in lines:
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 2 or not all(fields):
            raise DataError(name, number, f"{line!r} is not parent TAB child.")
        parent, child = fields
        if parent == child:
            raise DataError(name, number, f"{child!r} is its own parent.")
        pairs[child, parent] = None
    children = {child for child, _ in pairs}
    tops = dict.fromkeys(parent for _, parent in pairs if parent not in children)
    return [*((top, None) for top in tops), *pairs]


def _prefixes(name: str, lines: list[tuple[int, str]], between: str) -> list[tuple[str, str | None]]:
    pairs: dict[tuple[str, str | None], None] = {}
    for number, line in lines:
        steps = line.strip().split(between)
        if "" in steps:
            raise DataError(name, number, f"{line!r} is no path: something is missing before or after {between!r}.")
        parent = None
        for depth in range(1, len(steps) + 1):
            node = between.join(steps[:depth])
            pairs[node, parent] = None
            parent = node
    return list(pairs)
