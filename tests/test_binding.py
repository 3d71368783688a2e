"""Shards of a data set share one label set and one vocabulary: their problems have the bits of one problem."""

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from margrave import Kernel, MargraveError, Taxonomy
from margrave.binding import bind, bind_shards
from margrave.examples import Examples
from margrave.files.stored import pack
from margrave.losses import Hamming
from margrave.maps import ChainMap, FeatureTable, NodeMap, SparseMap
from margrave.structures import CandidateLists, Chain, Labels, Multiclass, NodeSets, NonProjectiveTree, ProjectiveTree
from margrave.structures.node_sets import Nodes

LABELS = ("a", "b", "c", "d")


def names(rng: np.random.Generator) -> list[str]:
    return [f"name {k}" for k in rng.choice(9, rng.integers(1, 4))]


def sequences(rng: np.random.Generator, n: int) -> tuple[list[Any], list[Any]]:
    lengths = rng.integers(1, 5, n).tolist()
    return [[names(rng) for _ in range(m)] for m in lengths], [rng.choice(LABELS, m).tolist() for m in lengths]


def classes(rng: np.random.Generator, n: int) -> tuple[list[Any], list[Any]]:
    return [names(rng) for _ in range(n)], rng.choice(LABELS, n).tolist()


def lists(rng: np.random.Generator, n: int) -> tuple[list[Any], list[Any]]:
    X = [[names(rng) for _ in range(rng.integers(1, 4))] for _ in range(n)]
    return X, [int(rng.integers(len(x))) for x in X]


def sets(rng: np.random.Generator, n: int) -> tuple[list[Any], list[Any]]:
    return [names(rng) for _ in range(n)], [
        rng.choice(["x.y", "x.z", "u"], rng.integers(0, 3)).tolist() for _ in range(n)
    ]


def trees(rng: np.random.Generator, n: int) -> tuple[list[Any], list[Any]]:
    words = rng.integers(1, 4, n).tolist()
    return [[names(rng) for _ in range(m * m)] for m in words], [list(range(m)) for m in words]


MAKERS: dict[str, tuple[Any, Any, Any]] = {
    "chain": (Chain(), lambda: ChainMap(start=True, stop=True), sequences),
    "chain, all pairs": (Chain(), lambda: ChainMap(FeatureTable("all")), sequences),
    "chain, hashed": (Chain(), lambda: ChainMap(FeatureTable("all", 3)), sequences),
    "chain of order 2": (Chain(order=2), ChainMap, sequences),
    "chain, kernel": (Chain(), lambda: ChainMap(Kernel("polynomial")), sequences),
    "classes": (Multiclass(), FeatureTable, classes),
    "classes, kernel": (Multiclass(), lambda: Kernel("rbf"), classes),
    "classes, landmarks": (Multiclass(), lambda: Kernel("rbf", nystroem=5), classes),
    "candidates": (CandidateLists(), SparseMap, lists),
    "sets of nodes": (NodeSets("."), lambda: NodeMap(FeatureTable("observed")), sets),
    "trees": (NonProjectiveTree(), SparseMap, trees),
    "projective trees": (ProjectiveTree(), SparseMap, trees),
}


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 11), max_size=3, unique=True))
def test_shards_give_the_bits_of_one_problem(name: str, seed: int, cuts: list[int]) -> None:
    structure, make, draw = MAKERS[name]
    rng = np.random.default_rng(seed)
    X, Y = draw(rng, 12)
    bounds = [0, *sorted(cuts), 12]
    shards = [Examples(X[a:b], Y[a:b]) for a, b in pairwise(bounds)]
    whole_features, shard_features = make(), make()
    whole = bind(structure, whole_features, Examples(X, Y), costs=Hamming())
    parts = bind_shards(structure, shard_features, shards, costs=Hamming())
    one, other = {}, {}
    assert pack(whole_features, one, "features") == pack(shard_features, other, "features")
    assert one.keys() == other.keys()
    for key, array in one.items():
        assert_array_equal(array, other[key])
    assert all(part.problem.dim == whole.problem.dim for part in parts)
    w = rng.standard_normal(whole.problem.dim)
    i = 0
    for part in parts:
        assert pack(part.outputs, {}, "outputs") == pack(whole.outputs, {}, "outputs")
        for k in range(part.problem.size):
            if name == "classes, landmarks":  # whose vectors are products of matrices, which BLAS rounds by their shape
                assert_allclose(part.problem.score(k, w), whole.problem.score(i, w), rtol=1e-12, atol=1e-14)
            else:
                assert_array_equal(part.problem.score(k, w), whole.problem.score(i, w))
            assert_array_equal(part.problem.gold(k), whole.problem.gold(i))
            assert_array_equal(part.problem.cost(k)[0], whole.problem.cost(i)[0])
            i += 1
    assert i == whole.problem.size


def test_shards_with_attributes_of_transitions_share_them() -> None:
    rng = np.random.default_rng(3)
    X, Y = sequences(rng, 8)
    edges = [[names(rng) for _ in x] for x in X]
    whole_features, shard_features = ChainMap(), ChainMap()
    whole = bind(Chain(tied=False), whole_features, Examples(X, Y, extras={"edges": edges}))
    parts = bind_shards(
        Chain(tied=False),
        shard_features,
        [Examples(X[:3], Y[:3], {"edges": edges[:3]}), Examples(X[3:], Y[3:], {"edges": edges[3:]})],
    )
    w = rng.standard_normal(whole.problem.dim)
    assert_array_equal(parts[1].problem.score(0, w), whole.problem.score(3, w))


@given(seed=st.integers(0, 2**32 - 1))
def test_merging_what_outputs_have_in_common_is_associative(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = [Labels.of(rng.choice(LABELS, rng.integers(1, 4)).tolist()) for _ in range(3)]
    nodes = [Nodes(Taxonomy.from_names(rng.choice(["a.b", "a.c", "d.e.f", "g"], 2).tolist())) for _ in range(3)]
    for a, b, c in (labels, nodes):
        left, right = a.merge(b).merge(c), a.merge(b.merge(c))
        assert left.classes.tolist() == right.classes.tolist()
        assert left.classes.tolist() == reduce(lambda x, y: x.merge(y), [c, a, b]).classes.tolist()


def test_labels_of_two_kinds_do_not_merge() -> None:
    with pytest.raises(MargraveError, match="all of one kind"):
        Labels.of(["a"]).merge(Labels.of([1]))


def test_a_precomputed_kernel_cannot_be_sharded() -> None:
    X = np.eye(4)
    with pytest.raises(MargraveError, match=r"needs all inputs at once|must be a square matrix"):
        bind_shards(Multiclass(), Kernel("precomputed"), [Examples(X[:2], ["a", "b"]), Examples(X[2:], ["a", "b"])])
