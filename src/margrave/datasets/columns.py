"""CoNLL columns: one token a line, its fields side by side, a blank line between sentences."""

import re
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, counted

_BLANKS = " \t\r\f\v"
_FIELD = re.compile(f"[^{_BLANKS}]+")
_UNWRITABLE = re.compile("[\n\r\0]")


def read_columns(
    path: TextSource,
    *,
    columns: Sequence[int] | None = None,
    separator: str | None = None,
    skip_docstart: bool = False,
    encoding: str = "utf-8",
) -> Iterator[list[tuple[str, ...]]]:
    """Sentences of a file (plain or gzip) or open text stream, one at a time, each a list of rows of fields.

    `columns` selects and orders the fields, negative numbers counting from the last. Without a separator, fields stand
    between runs of ASCII white space; a given one splits exactly, so that fields may be empty or hold blanks.
    """
    if separator == "":
        raise MargraveError("separator is empty: pass a character, or None for any white space.")
    name = source_name(path)
    width = 0  # of the first line, once seen: every line has at least one field
    sentence: list[tuple[str, ...]] = []
    for number, line in read_lines(path, encoding):
        fields = _split(line, separator) if line.strip(_BLANKS) else []
        if not fields or (skip_docstart and fields[0] == "-DOCSTART-"):
            if sentence:
                yield sentence
                sentence = []
            continue
        if not width:
            width = len(fields)
            _check_columns(name, number, columns, width)
        if len(fields) != width:
            raise DataError(name, number, f"{counted(len(fields), 'column')}, but the lines before have {width}.")
        sentence.append(tuple(fields) if columns is None else tuple([fields[column] for column in columns]))
    if sentence:
        yield sentence


def write_columns(
    path: str | PathLike[str], sentences: Iterable[Iterable[Sequence[str]]], separator: str = " "
) -> None:
    """Write sentences, each a list of rows of fields, so that `read_columns` gives them back; gzip if named .gz."""
    if not separator or _UNWRITABLE.search(separator):
        raise MargraveError(f"separator {separator!r} cannot stand between fields: pass a blank or a tab.")
    write_lines(path, _lines(sentences, separator))


def _split(line: str, separator: str | None) -> list[str]:
    if separator is not None:
        return line.split(separator)
    # str.split also splits at no-break and other Unicode spaces, which tokens of real corpora hold. In a printable
    # line there are none of these (the blank is the only printable space), and it is several times faster.
    return line.split() if line.isprintable() else _FIELD.findall(line)


def _check_columns(name: str, number: int, columns: Sequence[int] | None, width: int) -> None:
    for column in columns or ():
        if not -width <= column < width:
            raise DataError(
                name, number, f"column {column} was asked for, but there are only {counted(width, 'column')}."
            )


def _lines(sentences: Iterable[Iterable[Sequence[str]]], separator: str) -> Iterator[str]:
    exact = None if separator == " " else separator  # blanks are what any reader of columns splits at
    width = 0
    for i, sentence in enumerate(sentences):
        empty = True
        for j, row in enumerate(sentence):
            fields = list(row)
            width = width or len(fields)
            if len(fields) != width:
                message = f"{counted(len(fields), 'column')}, but the rows before have {width}."
                raise MargraveError(f"row {j} of sentence {i}: {message}")
            line = separator.join(fields)
            # Read it as it will be read: this finds empty fields, separators inside fields and rows that look blank.
            blank = not line.strip(_BLANKS)
            if isinstance(row, str) or blank or _UNWRITABLE.search(line) or _split(line, exact) != fields:
                message = f"{row!r} cannot be written as fields with {separator!r} between."
                raise MargraveError(f"row {j} of sentence {i}: {message}")
            yield line
            empty = False
        if empty:
            raise MargraveError(f"sentence {i} is empty, which columns cannot express.")
        yield ""
