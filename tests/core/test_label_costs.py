"""Costs of labels as objects: each gives what a matrix of all pairs gives, and refuses what is no cost."""

from collections.abc import Sequence
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from margrave import _core
from tests.references.refusals import refusal

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=40, deadline=None)


def matrix_of(cost: _core.LabelCost) -> NDArray[np.float64]:
    return np.array([cost.row(gold) for gold in range(cost.labels)])


def ragged(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    begin = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return begin, np.array([k for numbers in lists for k in numbers], dtype=np.int32)


def random_tree(rng: np.random.Generator) -> tuple[_core.LabelCost, NDArray[np.float64]]:
    """A tree cost, and the matrix by its definition: classes are leaves or inner nodes of a random forest."""
    nodes, labels = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    parents = [int(rng.integers(-1, k)) if k else -1 for k in range(nodes)]
    ancestors: list[list[int]] = []
    for node, parent in enumerate(parents):
        ancestors.append([node, *(ancestors[parent] if parent >= 0 else [])])
    height = np.zeros(nodes)
    for node in reversed(range(nodes)):  # strictly above those of the children
        height[node] += rng.integers(1, 5) / 2
        if parents[node] >= 0:
            height[parents[node]] = max(height[parents[node]], height[node])
    above = [list(rng.permutation(ancestors[int(rng.integers(nodes))])) for _ in range(labels)]
    for numbers in above:
        if rng.random() < 0.2:
            numbers.clear()  # a class of its own, below no node
    below = [[a for a in range(labels) if node in above[a]] for node in range(nodes)]
    root = height.max() + 1
    matrix = np.full((labels, labels), root)
    for a in range(labels):
        for b in range(labels):
            common = set(above[a]) & set(above[b])
            if a == b:
                matrix[a, b] = 0
            elif common:
                matrix[a, b] = min(height[node] for node in common)
    return _core.tree_cost(*ragged(above), *ragged(below), height, float(root)), matrix


@given(seed=seeds)
@some
def test_a_tree_costs_the_height_of_the_lowest_common_node(seed: int) -> None:
    cost, matrix = random_tree(np.random.default_rng(seed))
    assert_array_equal(matrix_of(cost), matrix)


@given(seed=seeds)
@some
def test_every_cost_binds_like_its_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = int(rng.integers(1, 6))
    weights = rng.normal(size=labels)
    dense = rng.normal(size=(labels, labels))
    tree, matrix_of_tree = random_tree(rng)
    wrong = 1.0 - np.eye(labels)
    for cost, matrix in [
        (_core.hamming_cost(weights), weights[:, None] * wrong),
        (_core.matrix_cost(labels, dense.ravel()), dense),
        (tree, matrix_of_tree),
    ]:
        n = cost.labels
        assert_array_equal(matrix_of(cost), matrix)
        lengths = rng.integers(1, 4, size=3)
        begin = np.concatenate([[0], np.cumsum(lengths)])
        gold = rng.integers(0, n, size=begin[-1]).astype(np.int32)
        rows = _core.Tokens(begin, np.arange(begin[-1] + 1) * 0, np.zeros(0, np.int32), None)
        grams = np.full(n * n, -1, dtype=np.int64)
        chain = _core.chain(n, begin, gold, cost, None, 1, True, None)
        table = _core.table(rows, _core.Pairs(0, n), grams, 0, 0, True, 1.0, False, False, None, None)
        for i, length in enumerate(lengths):
            delta, c0 = _core.join(chain, table).cost(i)
            assert c0 == 0
            assert_array_equal(delta[: length * n].reshape(length, n), matrix[gold[begin[i] : begin[i + 1]]])
            assert_array_equal(delta[length * n :], 0)
        first = _core.multiclass(n, np.arange(4), gold[:3], cost, None)
        no_rows = _core.Tokens(np.arange(4), np.zeros(4, np.int64), np.zeros(0, np.int32), None)
        plain = _core.table(no_rows, _core.Pairs(0, n), grams[:0], 0, 0, True, 1.0, False, False, None, None)
        for i in range(3):
            assert_array_equal(_core.join(first, plain).cost(i)[0], matrix[gold[i]])


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_costs_must_be_finite(bad: float) -> None:
    lists = (np.array([0, 1]), np.zeros(1, np.int32))
    calls = [
        lambda: _core.hamming_cost(np.array([1.0, bad])),
        lambda: _core.matrix_cost(2, np.array([0.0, 1.0, bad, 0.0])),
        lambda: _core.tree_cost(*lists, *lists, np.array([bad]), 1.0),
        lambda: _core.tree_cost(*lists, *lists, np.array([1.0]), bad),
    ]
    for call in calls:
        assert refusal(call) == "costs must be finite."


def test_matrices_of_the_wrong_shape_are_refused() -> None:
    for labels, count in [(2, 3), (2, 6), (0, 0), (3, 0), (2**31 - 1, 1)]:
        assert refusal(lambda n=labels, k=count: _core.matrix_cost(n, np.zeros(k))) == "costs must be (labels, labels)."
    for labels in (-1, 2**31, 2**32, 2**63 - 1):
        assert "the number of labels must be from 0" in refusal(lambda n=labels: _core.matrix_cost(n, np.zeros(1)))


def test_costs_of_other_labels_are_refused() -> None:
    cost = _core.hamming_cost(np.ones(3))
    expected = "there are 2 labels, and costs of 3."
    assert refusal(lambda: _core.multiclass(2, np.arange(2), None, cost, None)) == expected
    assert refusal(lambda: _core.chain(2, np.arange(2), None, cost, None, 1, True, None)) == expected
    for label in (-1, 3):
        assert refusal(lambda k=label: cost.row(k)) == f"label {label} is out of range: there are 3."


def test_trees_that_do_not_agree_are_refused() -> None:
    good = {"above": [[0], [1, 0]], "below": [[0, 1], [1]]}

    def make(above: list[list[int]], below: list[list[int]], height: Sequence[float] = (2.0, 1.0)) -> _core.LabelCost:
        return _core.tree_cost(*ragged(above), *ragged(below), np.array(height), 3.0)

    assert_array_equal(matrix_of(make(**good)), [[0, 2], [2, 0]])
    assert "from 0 to their number" in refusal(
        lambda: _core.tree_cost(np.array([0, 2, 1]), *ragged([[0]])[1:], *ragged([[0]]), np.array([1.0]), 1.0)
    )
    assert "include number 2" in refusal(lambda: make([[0], [2]], good["below"]))
    assert "include number -1" in refusal(lambda: make(good["above"], [[0, 1], [-1]]))
    assert "a height for each of the 1 nodes" in refusal(lambda: make([[0], [1, 0]], [[0, 1]]))
    assert "exactly the classes" in refusal(lambda: make(good["above"], [[0, 1], []]))
    assert "exactly the classes" in refusal(lambda: make([[0, 0], [1, 0]], good["below"]))
