"""Learning to rank: candidate lists in the svmlight format, `relevance qid:number index:value ... # comment`."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave.checks import decimal
from margrave.datasets.opening import TextSource, note_begin, source_name
from margrave.datasets.svmlight import read_rows
from margrave.errors import DataError, quoted

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def read_ranking(
    path: TextSource, *, n_features: int | None = None, zero_based: bool = False
) -> "tuple[list[csr_array], list[NDArray[np.float64]], NDArray[np.int64]]":
    """Read candidate lists in the order of the file.

    Returns one matrix per query with a row for each candidate, the relevances of its candidates, and the query ids. All
    matrices have the same number of columns. `relevance_targets` turns relevances into targets for a `Reranker`.

    Parameters
    ----------
    path : a file (plain or gzip) or an open text stream.
    n_features : the number of columns; None uses the largest feature index of the file.
    zero_based : whether feature indices start at 0 instead of 1.
    """
    name = source_name(path)
    lines: list[int] = []
    matrix, labels, queries = read_rows(path, n_features, zero_based, partial(_take_relevance, lines=lines))
    if queries is None:
        if not lines:
            raise DataError(name, None, "it contains no candidates.")
        raise DataError(name, lines[0], "the query id (qid:) is missing; it says to which list a candidate belongs.")
    begins = np.flatnonzero(np.diff(queries, prepend=queries[0] - 1))
    ids = queries[begins]
    _check_once(name, ids, [lines[begin] for begin in begins])
    relevances = np.array([float(relevance) for (relevance,) in labels])
    ends = [*begins[1:], len(queries)]
    matrices = [matrix[begin:end] for begin, end in zip(begins, ends, strict=True)]
    return matrices, np.split(relevances, begins[1:]), ids


def relevance_targets(relevances: Iterable[ArrayLike]) -> tuple[list[list[int]], list[NDArray[np.float64]]]:
    """Turn relevances into targets for a `Reranker`: the good candidates and the costs of every list.

    The good candidates are those with the highest relevance; a list without a relevance above zero has none. The cost
    of a candidate is the difference between the highest relevance of its list and its own.

    Parameters
    ----------
    relevances : for each list, one relevance per candidate.

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
    """Remove the relevance from the fields of a line and return it; the number of the line is appended to `lines`."""
    if decimal(fields[0]) is None:
        raise DataError(name, number, f"the relevance {quoted(fields[0])} is not a finite number.")
    lines.append(number)
    return (fields.pop(0),)


def _check_once(name: str, ids: NDArray[np.int64], lines: list[int]) -> None:
    begins: dict[int, int] = {}  # the line at which the list of each id begins
    for id, line in zip(ids.tolist(), lines, strict=True):
        note_begin(begins, "query id", id, name, line)
