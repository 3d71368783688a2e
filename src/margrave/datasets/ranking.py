"""Learning to rank: candidate lists in the svmlight format, `relevance qid:number index:value ... # comment`."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave.datasets.opening import TextSource, note_begin, source_name
from margrave.datasets.svmlight import finite_number, read_rows
from margrave.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def read_ranking(
    path: TextSource, *, n_features: int | None = None, zero_based: bool = False
) -> "tuple[list[csr_array], list[NDArray[np.float64]], NDArray[np.int64]]":
    """The candidates of every query as rows of a matrix, their relevances, and the queries' ids, in the file's order.

    All matrices have the same number of columns. `relevance_targets` turns relevances into what a `Reranker` learns.
    """
    name = source_name(path)
    lines: list[int] = []
    matrix, labels, queries = read_rows(path, n_features, zero_based, partial(_take_relevance, lines=lines))
    if queries is None:
        if not lines:
            raise DataError(name, None, "it holds no candidates.")
        raise DataError(name, lines[0], "no query id (qid:), which says to which list a candidate belongs.")
    begins = np.flatnonzero(np.diff(queries, prepend=queries[0] - 1))
    ids = queries[begins]
    _check_once(name, ids, [lines[begin] for begin in begins])
    relevances = np.array([float(relevance) for (relevance,) in labels])
    ends = [*begins[1:], len(queries)]
    matrices = [matrix[begin:end] for begin, end in zip(begins, ends, strict=True)]
    return matrices, np.split(relevances, begins[1:]), ids


def relevance_targets(relevances: Iterable[ArrayLike]) -> tuple[list[list[int]], list[NDArray[np.float64]]]:
    """The good candidates of every list, its most relevant ones, and the cost of each: how much less relevant it is.

    A list without a relevance above zero has no good candidate.

    >>> relevance_targets([[0, 2, 1, 2], [0, 0]])
    ([[1, 3], []], [array([2., 0., 1., 0.]), array([0., 0.])])
    """
    good, costs = [], []
    for relevance in relevances:
        values = np.asarray(relevance, np.float64)
        cost = values.max(initial=-np.inf) - values
        good.append(np.flatnonzero((cost == 0) & (values > 0)).tolist())
        costs.append(cost)
    return good, costs


def _take_relevance(name: str, number: int, fields: list[str], lines: list[int]) -> tuple[str, ...]:
    """The relevance before the query id, taken off the fields of a line, whose number is noted."""
    if finite_number(fields[0]) is None:
        raise DataError(name, number, f"{fields[0]!r} stands where a relevance, a finite number, is expected.")
    lines.append(number)
    return (fields.pop(0),)


def _check_once(name: str, ids: NDArray[np.int64], lines: list[int]) -> None:
    begins: dict[int, int] = {}  # the line at which the list of each id begins
    for id, line in zip(ids.tolist(), lines, strict=True):
        note_begin(begins, "query id", id, name, line)
