"""What shards of a data set learn can be put together: vocabularies, token rows and observed pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from margrave import _core
from tests.references.refusals import refusal

names = st.lists(st.text(max_size=3), max_size=60)
some = settings(max_examples=50, deadline=None)


def vocabulary(texts: list[str]) -> _core.Vocabulary:
    result = _core.Vocabulary()
    _core.encode([[texts]], result, True, 0, False)
    return result


@given(first=names, second=names)
@some
def test_a_merged_vocabulary_is_that_of_both_lists(first: list[str], second: list[str]) -> None:
    ours, other = vocabulary(first), vocabulary(second)
    numbers = ours.merge(other)
    assert numbers.dtype == np.int32
    assert ours.names() == vocabulary(first + second).names()
    assert [ours.names()[k] for k in numbers] == other.names() == list(dict.fromkeys(second))
    assert all(ours.find(name) == k for name, k in zip(other.names(), numbers, strict=True))
    assert_array_equal(ours.merge(ours), np.arange(len(ours)))


def test_merging_is_associative() -> None:
    rng = np.random.default_rng(0)
    lists = [[f"name {k}" for k in rng.integers(0, 500, 300)] for _ in range(3)]
    left, right, last = (vocabulary(texts) for texts in lists)
    tail = vocabulary(lists[1])
    tail.merge(last)
    grouped = vocabulary(lists[0])
    grouped.merge(tail)
    left.merge(right)
    left.merge(last)
    assert left.names() == grouped.names() == vocabulary([*lists[0], *lists[1], *lists[2]]).names()


def tokens(value: np.ndarray | None = None) -> _core.Tokens:
    return _core.Tokens(np.array([0, 2, 3]), np.array([0, 2, 2, 3]), np.array([4, 1, 4], dtype=np.int32), value)


@pytest.mark.parametrize("value", [None, np.array([0.5, -1.0, 2.0])])
def test_tokens_give_their_arrays_and_are_renumbered(value: np.ndarray | None) -> None:
    map_ = np.array([-1, 7, -1, -1, 0], dtype=np.int32)  # attributes that do not occur may have no number
    for rows, index in [(tokens(value), [4, 1, 4]), (tokens(value).renumbered(map_), [0, 7, 0])]:
        example_begin, row_begin, found, values = rows.arrays()
        assert_array_equal(example_begin, [0, 2, 3])
        assert_array_equal(row_begin, [0, 2, 2, 3])
        assert_array_equal(found, index)
        assert found.dtype == np.int32
        if value is None:
            assert values is None
        else:
            assert_array_equal(values, value)


def test_tokens_without_a_new_number_are_refused() -> None:
    short, negative = np.zeros(4, np.int32), np.array([0, -1, 0, 0, 0], dtype=np.int32)
    assert refusal(lambda: tokens().renumbered(short)) == "attribute 4 occurs, and there are new numbers for 4."
    assert refusal(lambda: tokens().renumbered(negative)) == "attribute 1 occurs, and its new number is negative."


pair_sets = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 4)))


def packed(pairs: set[tuple[int, int]], attributes: int) -> _core.Pairs:
    ordered = sorted(pairs)
    counts = np.bincount(np.array([a for a, _ in ordered], dtype=int), minlength=attributes)
    columns = np.array([label for _, label in ordered], dtype=np.uint16)
    return _core.Pairs(5, np.concatenate([[0], np.cumsum(counts)]), columns)


@given(first=pair_sets, second=pair_sets, more=st.integers(0, 3))
@some
def test_the_union_of_observed_pairs(first: set[tuple[int, int]], second: set[tuple[int, int]], more: int) -> None:
    union = packed(first, 7).union(packed(second, 7 + more))
    expected = packed(first | second, 7 + more)
    assert union.packed and union.labels == 5
    for array, right in zip(union.arrays(), expected.arrays(), strict=True):
        assert_array_equal(array, right)
    other_way = packed(second, 7 + more).union(packed(first, 7))
    for array, right in zip(other_way.arrays(), expected.arrays(), strict=True):
        assert_array_equal(array, right)


def test_the_union_of_full_tables() -> None:
    union = _core.Pairs(3, 5).union(_core.Pairs(8, 5))
    assert (union.attributes, union.labels, union.packed) == (8, 5, False)


def test_tables_that_do_not_fit_are_refused() -> None:
    full = _core.Pairs(3, 5)
    assert "tables of 5 and of 4 columns" in refusal(lambda: full.union(_core.Pairs(3, 4)))
    assert "observed pairs and one of all pairs" in refusal(lambda: full.union(packed(set(), 7)))
    assert "observed pairs and one of all pairs" in refusal(lambda: packed(set(), 7).union(full))
