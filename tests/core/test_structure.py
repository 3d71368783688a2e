"""What a structure of the core says about itself, and what problems and feature maps make of it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from margrave import _core
from margrave.testing.enumeration import Outputs
from tests.references.enumeration import ChainParts, projective_trees, tree_parts, trees
from tests.references.refusals import refusal

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=10, deadline=None)


def sets_of(parents: list[int]) -> list[tuple[int, ...]]:
    found = []
    for code in range(2 ** len(parents)):
        nodes = tuple(v for v in range(len(parents)) if code >> v & 1)
        if all(parents[v] < 0 or parents[v] in nodes for v in nodes):
            found.append(nodes)
    return found


def structures(rng: np.random.Generator, gold: bool = True) -> dict[str, tuple[Any, list[Outputs], list[tuple]]]:
    """Every structure of the core, small: with the outputs and the gold output of each example."""
    labels, lengths = 3, [1, 3, 2]
    begin = np.concatenate([[0], np.cumsum(lengths)])
    tags = rng.integers(0, labels, begin[-1]).astype(np.int32)
    given_tags = tags if gold else None
    result: dict[str, Any] = {}
    for name, order, tied in [("chain", 1, True), ("untied chain", 1, False), ("chain of order 2", 2, True)]:
        parts = ChainParts(labels, order, tied)
        result[name] = (
            _core.chain(labels, begin, given_tags, None, None, order, tied, None),
            [Outputs(parts.count(n), [parts.of(y) for y in parts.sequences(n)]) for n in lengths],
            [parts.of(tuple(tags[a : a + n])) for a, n in zip(begin, lengths, strict=False)],
        )
    result["multiclass"] = (
        _core.multiclass(labels, np.arange(4), tags[:3] if gold else None, None, None),
        [Outputs(labels, [(k,) for k in range(labels)])] * 3,
        [(int(k),) for k in tags[:3]],
    )
    all_trees = [list(trees(n, False)) for n in lengths]
    some = [ys[rng.integers(len(ys))] for ys in all_trees]
    heads = np.array([h for y in some for h in y], dtype=np.int32)
    result["trees"] = (
        _core.non_projective_tree(np.array(lengths), heads if gold else None, None, False),
        [Outputs(n * n, [tree_parts(y) for y in ys]) for n, ys in zip(lengths, all_trees, strict=True)],
        [tree_parts(y) for y in some],
    )
    projective = [projective_trees(n, True) for n in lengths]
    some = [ys[rng.integers(len(ys))] for ys in projective]
    heads = np.array([h for y in some for h in y], dtype=np.int32)
    result["projective trees"] = (
        _core.projective_tree(np.array(lengths), heads if gold else None, None, True),
        [Outputs(n * n, [tree_parts(y) for y in ys]) for n, ys in zip(lengths, projective, strict=True)],
        [tree_parts(y) for y in some],
    )
    counts = [1, 4, 2]
    good = np.array([0, 3, 1], dtype=np.int32)
    bounds = np.arange(4) if gold else None
    result["candidates"] = (
        _core.candidates(np.concatenate([[0], np.cumsum(counts)]), bounds, good if gold else None, None),
        [Outputs(n, [(k,) for k in range(n)]) for n in counts],
        [(int(k),) for k in good],
    )
    parents = [-1, 0, 0, -1]
    nodes = np.array([0, 2, 3], dtype=np.int32)
    bounds = np.array([0, 2, 2, 3]) if gold else None
    result["node sets"] = (
        _core.node_sets(np.array(parents, dtype=np.int32), 3, bounds, nodes if gold else None, True),
        [Outputs(4, sets_of(parents))] * 3,
        [(0, 2), (), (3,)],
    )
    # Both edges of the last node lead to the first, which has part 0 three times.
    graph = _core.Hypergraph(
        2,
        np.array([0, 1, 1], dtype=np.int32),
        np.array([0, 0, 1, 3]),
        np.array([0, 0, 0], dtype=np.int32),
        np.array([0, 3, 4, 4]),
        np.array([0, 0, 0, 1], dtype=np.int32),
    )
    result["hypergraph"] = (
        _core.hypergraphs([graph], np.array([2]), [np.zeros(6, dtype=np.int32)] if gold else None, None, None),
        [Outputs(2, [(0, 0, 0, 1), (0, 0, 0, 0, 0, 0)])],
        [(0,) * 6],
    )
    return result


def random_rows(rng: np.random.Generator, structure: _core.Structure) -> tuple[_core.Tokens, list[np.ndarray]]:
    """A dense vector for every part, and the matrix of each example."""
    matrices = [rng.normal(size=(structure.parts(i), 3)) for i in range(structure.size)]
    begin = np.concatenate([[0], np.cumsum([len(m) for m in matrices])])
    values = np.concatenate(matrices).ravel()
    index = np.tile(np.arange(3, dtype=np.int32), begin[-1])
    return _core.Tokens(begin, np.arange(begin[-1] + 1) * 3, index, values), matrices


NAMES = list(structures(np.random.default_rng(0)))


@pytest.mark.parametrize("name", NAMES)
def test_gold_parts_are_those_of_each_example(name: str) -> None:
    structure, outputs, gold = structures(np.random.default_rng(1))[name]
    begin, parts = structure.gold_parts()
    assert begin.dtype == np.int64 and parts.dtype == np.int32
    assert structure.has_gold and len(begin) == structure.size + 1
    for i, y in enumerate(gold):
        assert structure.parts(i) == outputs[i].n
        assert sorted(parts[begin[i] : begin[i + 1]]) == sorted(y)
    assert begin[-1] == len(parts)
    without, _, _ = structures(np.random.default_rng(1), gold=False)[name]
    assert not without.has_gold
    assert refusal(without.gold_parts) == "this structure was bound without gold outputs."


@pytest.mark.parametrize("name", NAMES)
def test_outputs_choose_one_part_of_each_group(name: str) -> None:
    structure, outputs, _ = structures(np.random.default_rng(2))[name]
    assert structure.exact and "argmax" in structure.offers
    assert structure.choices.dtype == np.int64
    for i in range(structure.size):
        size, often = structure.choice(i), structure.repeats[i]
        assert structure.choices[i] == size
        for y in outputs[i].ys:
            if size > 1:
                assert sorted(part // size for part in y) == list(range(outputs[i].n // size))
            assert all(y.count(part) <= often for part in y)
    for i in (-1, structure.size):
        expected = f"example {i} is out of range: there are {structure.size}."
        assert refusal(lambda i=i: structure.parts(i)) == refusal(lambda i=i: structure.choice(i)) == expected


def test_columns_are_labels_or_parts() -> None:
    columns = {name: structure.columns for name, (structure, _, _) in structures(np.random.default_rng(3)).items()}
    assert columns == {
        "chain": 3,
        "untied chain": 3,
        "chain of order 2": 3,
        "multiclass": 3,
        "trees": 1,
        "projective trees": 1,
        "candidates": 1,
        "node sets": 4,
        "hypergraph": 1,
    }
    choices = {name: list(s.choices) for name, (s, _, _) in structures(np.random.default_rng(3)).items()}
    assert choices["trees"] == [1, 3, 2] and choices["candidates"] == [1, 4, 2] and choices["multiclass"] == [3, 3, 3]
    assert choices["node sets"] == choices["chain"] == [1, 1, 1]


@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds)
@few
def test_the_radius_of_sparse_parts_bounds_all_differences(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure, outputs, _ = structures(rng)[name]
    rows, matrices = random_rows(rng, structure)
    problem = _core.join(structure, _core.sparse_parts(3, rows, structure.choices, structure.repeats))
    for i, matrix in enumerate(matrices):
        images = [matrix.T @ np.bincount(np.array(y, dtype=int), minlength=outputs[i].n) for y in outputs[i].ys]
        farthest = max(np.linalg.norm(a - b) for a in images for b in images)
        assert farthest <= problem.radius(i) * (1 + 1e-12)


def test_repeats_are_checked() -> None:
    rows = _core.Tokens(np.array([0, 1]), np.array([0, 0]), np.zeros(0, np.int32), None)
    assert "one number of repeats" in refusal(lambda: _core.sparse_parts(1, rows, np.ones(1, int), np.ones(2, int)))
    assert "at least 1" in refusal(lambda: _core.sparse_parts(1, rows, np.ones(1, int), np.zeros(1, int)))


# ---- exactness -------------------------------------------------------------------------------------------------------


class Inner(_core.Problem):
    """Two parts, one of which is the output."""

    def __init__(self) -> None:
        super().__init__(3, 2)

    def parts(self, i: int) -> int:
        return 2

    def score(self, i: int, w: Any) -> Any:
        return w

    def gold(self, i: int) -> Any:
        return [0]

    def cost(self, i: int) -> Any:
        return [0.0, 1.0], 0.0

    def argmax(self, i: int, theta: Any) -> Any:
        return max(theta), [int(np.argmax(theta))]


class ByClass(Inner):
    exact = False


class ByProperty(Inner):
    @property
    def exact(self) -> bool:
        return False


def by_object() -> Inner:
    problem = Inner()
    problem.exact = False
    return problem


@pytest.mark.parametrize("make", [ByClass, ByProperty, by_object])
def test_a_problem_written_in_python_may_be_approximate(make: Any) -> None:
    problem = make()
    assert not problem.exact
    assert not problem.slice(1, 3).exact
    assert not _core.offset(problem, np.ones(2)).exact


def test_problems_are_exact_unless_they_say_otherwise() -> None:
    assert Inner().exact and Inner().slice(0, 1).exact
    for structure, _, _ in structures(np.random.default_rng(4)).values():
        rows, _ = random_rows(np.random.default_rng(5), structure)
        problem = _core.join(structure, _core.sparse_parts(3, rows, structure.choices, structure.repeats))
        assert problem.exact
        expected = "whether inference is exact follows from the structure."
        assert refusal(lambda p=problem: setattr(p, "exact", False)) == expected


def test_exact_must_be_a_truth_value() -> None:
    class Odd(Inner):
        exact = "perhaps"

    assert "exact must be True or False" in refusal(lambda: Odd().slice(0, 1).exact)


def test_choices_of_no_examples() -> None:
    empty = _core.multiclass(2, np.zeros(1, np.int64), np.zeros(0, np.int32), None, None)
    begin, parts = empty.gold_parts()
    assert_array_equal(begin, [0])
    assert len(parts) == len(empty.choices) == empty.size == 0
