"""Sparse examples in the svmlight format: `label qid:number index:value ... # comment`."""

from array import array
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from margrave.checks import decimal, natural, whole
from margrave.datasets.opening import TextSource, read_lines, source_name
from margrave.errors import DataError, quoted

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = NDArray[np.float64] | list[str] | list[tuple[float, ...]] | list[tuple[str, ...]]


def read_svmlight(
    path: TextSource, *, n_features: int | None = None, zero_based: bool = False, multilabel: bool = False
) -> "tuple[csr_array, Labels, NDArray[np.int64] | None]":
    """Read sparse examples: a matrix with one row per example, the labels, and the query ids or None.

    Labels are numbers if all of them are numbers, otherwise strings. `read_svmlight_paths` reads labels that are paths
    in a taxonomy, and `read_ranking` reads lists of candidates.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    n_features : the number of columns; None uses the largest feature index of the file.
    zero_based : whether feature indices start at 0 instead of 1.
    multilabel : whether examples have any number of labels, separated by commas; the labels of an example are then a
        tuple.
    """
    matrix, labels, queries = read_rows(path, n_features, zero_based, partial(_take_label, multilabel=multilabel))
    return matrix, _labels(labels, multilabel), queries


def read_rows(
    path: TextSource,
    n_features: int | None,
    zero_based: bool,
    take_label: Callable[[str, int, list[str]], tuple[str, ...]],
) -> "tuple[csr_array, list[tuple[str, ...]], NDArray[np.int64] | None]":
    """Examples, labels and query ids.

    `take_label(name, line, fields)` removes the label from the fields of a line and returns it.
    """
    from scipy.sparse import csr_array

    name, base = source_name(path), 0 if zero_based else 1
    if n_features is not None:
        n_features = whole("n_features", n_features, 0, np.iinfo(np.int64).max)
    labels: list[tuple[str, ...]] = []
    columns, values, starts, queries = array("q"), array("d"), array("q", [0]), array("q")
    for number, line in read_lines(path):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        labels.append(take_label(name, number, fields))
        if fields and fields[0].startswith("qid:"):
            queries.append(_integer(name, number, "query id", fields.pop(0)[4:]))
        if queries and len(queries) != len(labels):
            raise DataError(name, number, "some examples up to here have a query id (qid:) and some have none.")
        before = -1
        for pair in fields:
            index, colon, value = pair.partition(":")
            if not colon:
                raise DataError(name, number, f"{quoted(pair)} is not a pair index:value.")
            column = _integer(name, number, "feature index", index) - base
            if column <= before:
                raise DataError(name, number, _misplaced(column + base, base, before + base))
            if n_features is not None and column >= n_features:
                raise DataError(name, number, f"feature index {index} is too large for n_features={n_features}.")
            cell = decimal(value)
            if cell is None:
                raise DataError(name, number, f"value {quoted(value)} of feature {index} is not a finite number.")
            columns.append(column)
            values.append(cell)
            before = column
        starts.append(len(columns))

    width = n_features if n_features is not None else max(columns, default=-1) + 1
    narrow = max(width, len(columns)) <= np.iinfo(np.int32).max
    integer = np.int32 if narrow else np.int64  # They take half the memory, and some code accepts no others.
    cells = np.array(values), np.array(columns, integer), np.array(starts, integer)
    matrix = csr_array(cells, shape=(len(labels), width))
    return matrix, labels, np.array(queries) if queries else None


def _take_label(name: str, number: int, fields: list[str], multilabel: bool) -> tuple[str, ...]:
    if ":" in fields[0]:
        if multilabel:  # An example without labels is allowed.
            return ()
        raise DataError(name, number, f"the line must begin with the label, not {quoted(fields[0])}.")
    text = fields.pop(0)
    label = tuple(text.split(",")) if multilabel else (text,)
    if "" in label:
        raise DataError(name, number, f"label list {quoted(text)} has nothing before or after a comma.")
    return label


def _integer(name: str, number: int, what: str, text: str) -> int:
    value = natural(text)
    if value is None:
        raise DataError(name, number, f"{what} {quoted(text)} is not a natural number below 10^18.")
    return value


def _misplaced(index: int, base: int, before: int) -> str:
    if index < base:
        return "feature index 0, but they start at 1 (pass zero_based=True if they start at 0)."
    return f"feature index {index} after {before}, but they must increase."


def _labels(labels: list[tuple[str, ...]], multilabel: bool) -> Labels:
    numbers = [tuple([value for name in label if (value := decimal(name)) is not None]) for label in labels]
    if list(map(len, numbers)) != list(map(len, labels)):
        return labels if multilabel else [name for (name,) in labels]
    return numbers if multilabel else np.array(numbers, np.float64).reshape(-1)
