"""CoNLL columns: one token per line with its fields side by side, and a blank line between sentences."""

import re
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, counted, quoted

COLUMN_BLANKS = " \t\r\f\v"
_FIELD = re.compile(f"[^{COLUMN_BLANKS}]+")
_UNWRITABLE = re.compile("[\n\r\0]")


def read_columns(
    path: TextSource,
    *,
    columns: Sequence[int] | None = None,
    separator: str | None = None,
    skip_docstart: bool = False,
    encoding: str = "utf-8",
) -> Iterator[list[tuple[str, ...]]]:
    """Read sentences from a column file, one at a time; a sentence is a list of rows, and a row a tuple of fields.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    columns : the columns to return, in this order; negative numbers count from the last column. None returns all.
    separator : the string between two fields. Each occurrence separates, so fields can be empty or contain blanks.
        None separates fields by runs of ASCII white space.
    skip_docstart : treat lines that begin with -DOCSTART- as blank lines.
    encoding : the encoding of the file.
    """
    check_separator(separator)
    lines = read_lines(path, encoding)
    yield from column_sentences(source_name(path), lines, columns, separator, skip_docstart)


def check_separator(separator: str | None) -> None:
    """Refuse an empty separator."""
    if separator == "":
        raise MargraveError("separator is empty: pass a character, or None for any white space.")


def column_sentences(
    name: str,
    lines: Iterable[tuple[int, str]],
    columns: Sequence[int] | None = None,
    separator: str | None = None,
    skip_docstart: bool = False,
    width: int = 0,
) -> Iterator[list[tuple[str, ...]]]:
    """The sentences of numbered lines, which must have `width` columns; 0 means as many as the first of them."""
    sentence: list[tuple[str, ...]] = []
    for number, line in lines:
        fields = _split(line, separator) if line.strip(COLUMN_BLANKS) else []
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
    """Write sentences in the form that `read_columns` reads.

    Parameters
    ----------
    path : the file to write; it is compressed with gzip if its name ends in .gz.
    sentences : lists of rows, each a sequence of fields.
    separator : the string between two fields.
    """
    if not separator or _UNWRITABLE.search(separator):
        raise MargraveError(f"{quoted(separator)} cannot separate fields: pass a blank or a tab as the separator.")
    write_lines(path, _lines(sentences, separator))


def _split(line: str, separator: str | None) -> list[str]:
    if separator is not None:
        return line.split(separator)
    # str.split also splits at no-break and other Unicode spaces, which occur in tokens of real corpora. It is several
    # times faster, though, and safe for printable lines, because the blank is the only printable space.
    return line.split() if line.isprintable() else _FIELD.findall(line)


def _check_columns(name: str, number: int, columns: Sequence[int] | None, width: int) -> None:
    for column in columns or ():
        if not -width <= column < width:
            raise DataError(
                name, number, f"column {column} was asked for, but there are only {counted(width, 'column')}."
            )


def _lines(sentences: Iterable[Iterable[Sequence[str]]], separator: str) -> Iterator[str]:
    exact = None if separator == " " else separator  # Readers split at blanks by default.
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
            # Splitting the line again detects empty fields, separators inside fields and rows that look blank.
            blank = not line.strip(COLUMN_BLANKS)
            if isinstance(row, str) or blank or _UNWRITABLE.search(line) or _split(line, exact) != fields:
                message = f"{quoted(row)} cannot be written as fields separated by {quoted(separator)}."
                raise MargraveError(f"row {j} of sentence {i}: {message}")
            yield line
            empty = False
        if empty:
            raise MargraveError(f"sentence {i} is empty, which columns cannot express.")
        yield ""
