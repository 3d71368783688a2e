"""Second-order trees beyond what every registered structure is tested for: order of parts, engines, limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from margrave.examples import Examples
from margrave.maps import SparseMap
from margrave.structures import NoOutputs, ProjectiveTree, SecondOrderTree
from margrave.testing.enumeration import Outputs
from margrave.testing.problems import SCORES, random_scores
from tests.references.enumeration import crosses, projective_trees, second_order_graph, second_order_parts
from tests.references.problems import bind, bound_of
from tests.registry.hypergraphs import core_graph
from tests.registry.trees import random_heads
from tests.structures.test_projective_trees import number_of_trees
from tests.structures.test_projective_trees import plain as plain_projective
from tests.structures.test_structures import assert_as_engine, assert_as_enumerated, assert_close, extreme_scores

seeds = st.integers(0, 2**32 - 1)
kinds = pytest.mark.parametrize("kind", ["siblings", "grandparents"])
roots = pytest.mark.parametrize("single_root", [True, False])


def plain(n: int, kind: str, single_root: bool, allowed=None, gold=None) -> _core.Problem:
    """One sentence without attributes; only its scores matter."""
    structure = SecondOrderTree(kind, single_root)
    rows = [[]] * len(structure.part_tuples(n, allowed))
    restrictions = None if allowed is None else [allowed]
    return bind(structure, [rows], [gold or list(range(n))], feature_map=SparseMap(), allowed=restrictions)


@kinds
@roots
@given(seed=seeds, n=st.integers(1, 7), allow=st.booleans())
@settings(max_examples=20, deadline=None)
def test_parts_are_those_of_the_documentation(kind: str, single_root: bool, seed: int, n: int, allow: bool) -> None:
    allowed = random_heads(np.random.default_rng(seed), tuple(range(n))) if allow else None
    structure = SecondOrderTree(kind, single_root)
    number = second_order_parts(n, kind == "grandparents", single_root, allowed)
    assert structure.part_tuples(n, allowed).tolist() == [list(part) for part in number]
    units = np.array([len(number)])
    restrictions = None if allowed is None else [allowed]
    bound = structure.bind(
        NoOutputs(), Examples.of_sizes(units, [list(range(n))], allowed=restrictions)
    )  # the sizes of all arcs as well
    assert bound.parts(0) == len(number)


@kinds
@roots
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_all_projective_trees_are_found_with_their_parts(kind: str, n: int, single_root: bool) -> None:
    every = projective_trees(n, single_root)
    number = second_order_parts(n, kind == "grandparents", single_root)
    problem = plain(n, kind, single_root)
    outputs = Outputs(len(number), [number.of(heads) for heads in every])
    found = problem.kbest(0, np.zeros(outputs.n), len(every) + 1)
    assert {tuple(parts.tolist()) for _, parts in found} == set(outputs.ys)
    assert len(found) == number_of_trees(n, single_root)
    for theta in (np.zeros(outputs.n), np.random.default_rng(n).standard_normal(outputs.n)):
        value, mu = problem.logsum(0, theta)
        expected, marginals = outputs.logsum(theta)
        assert_close(value, expected)
        assert_close(mu, marginals, smallest=1e-30)


@kinds
@roots
@given(seed=seeds, n=st.integers(1, 7), allow=st.booleans())
@settings(max_examples=8, deadline=None)
def test_hand_written_loops_agree_with_the_hypergraph_engine(
    kind: str, single_root: bool, seed: int, n: int, allow: bool
) -> None:
    """The reference has other items: it adds children one by one."""
    rng = np.random.default_rng(seed)
    allowed = random_heads(rng, tuple(range(n))) if allow else None
    number = second_order_parts(n, kind == "grandparents", single_root, allowed)
    hand, size = plain(n, kind, single_root, allowed), len(number)
    graph = core_graph(second_order_graph(n, number, single_root))
    rows = _core.Tokens(np.array([0, size]), np.zeros(size + 1, dtype=np.int64), np.zeros(0, np.int32), None)
    structure = _core.hypergraphs([graph], np.array([size], dtype=np.int64), None, None, None)
    engine = _core.join(structure, _core.sparse_parts(0, rows, np.ones(1, dtype=np.int64)))
    for style in (*SCORES, "1e4"):
        theta = 1e4 * random_scores(rng, size, "usual") if style == "1e4" else random_scores(rng, size, style)
        assert_as_engine(hand, engine, theta, rng)


@kinds
@roots
@given(seed=seeds, n=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_extreme_scores_and_forbidden_parts_agree_with_enumeration(
    kind: str, single_root: bool, seed: int, n: int
) -> None:
    number = second_order_parts(n, kind == "grandparents", single_root)
    outputs = Outputs(len(number), [number.of(heads) for heads in projective_trees(n, single_root)])
    theta = extreme_scores(np.random.default_rng(seed), outputs.n)
    assert_as_enumerated(plain(n, kind, single_root), outputs, theta, seed)


@kinds
@roots
@given(seed=seeds, n=st.integers(1, 25), size=st.sampled_from([1.0, 30.0, 300.0]))
@settings(max_examples=8, deadline=None)
def test_without_scores_of_pairs_the_trees_are_those_of_first_order(
    kind: str, single_root: bool, seed: int, n: int, size: float
) -> None:
    rng = np.random.default_rng(seed)
    first, second = plain_projective(n, single_root), plain(n, kind, single_root)
    arcs = size * rng.standard_normal(n * n)
    theta = np.zeros(second.parts(0))
    theta[: n * n] = arcs
    value, mu = second.logsum(0, theta)
    expected, marginals = first.logsum(0, arcs)
    assert_close(value, expected)
    assert_allclose(mu[: n * n], marginals, rtol=1e-9, atol=1e-30)
    assert_close(second.argmax(0, theta)[0], first.argmax(0, arcs)[0])
    assert_close([v for v, _ in second.kbest(0, theta, 5)], [v for v, _ in first.kbest(0, arcs, 5)])
    tuples = SecondOrderTree(kind, single_root).part_tuples(n)
    pairs = (tuples[:, 2] >= 0).nonzero()[0]  # every arc has a sibling, or none
    by_arc = np.zeros((n + 1, n + 1))
    np.add.at(by_arc, (tuples[pairs, 1], tuples[pairs, 3]), mu[pairs])
    assert_allclose(by_arc[tuples[: n * n, 1], tuples[: n * n, 3]], marginals, rtol=1e-9, atol=1e-12)


@kinds
def test_scores_of_pairs_add_to_those_of_arcs(kind: str) -> None:
    """Moving a score from an arc to all of its siblings, or to all of its grandparents, changes nothing."""
    rng = np.random.default_rng(0)
    n = 12
    problem, tuples = plain(n, kind, True), SecondOrderTree(kind, True).part_tuples(n)
    theta = 200 * rng.standard_normal(len(tuples))
    moved = rng.choice([-1e3, 0.0, 1e3], (n + 1, n + 1))
    change = moved[tuples[:, 1], tuples[:, 3]]
    arcs = (tuples[:, 0] < 0) & (tuples[:, 2] < 0)
    value, mu = problem.logsum(0, theta)
    shifted = theta - np.where(arcs, change, 0.0) + np.where(tuples[:, 2] >= 0, change, 0.0)
    again, also = problem.logsum(0, shifted)
    assert_close(again, value)
    assert_allclose(also, mu, rtol=1e-6, atol=1e-30)
    assert np.array_equal(problem.argmax(0, shifted)[1], problem.argmax(0, theta)[1])


@kinds
@roots
@given(seed=seeds, n=st.integers(1, 15))
@settings(max_examples=8, deadline=None)
def test_pruned_arcs_and_second_roots_never_occur(kind: str, single_root: bool, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = random_heads(rng, tuple(range(n)))
    problem = plain(n, kind, single_root, allowed)
    structure, size = SecondOrderTree(kind, single_root), problem.parts(0)
    theta = 3 * rng.standard_normal(size)
    found = [problem.argmax(0, theta)[1], *(problem.sample(0, theta, s) for s in range(3))]
    found += [parts for _, parts in problem.kbest(0, theta, 10)]
    number = second_order_parts(n, kind == "grandparents", single_root, allowed)
    for parts in found:
        begin = np.array([0, len(parts)])
        (heads,) = bound_of(structure, NoOutputs(), Examples.of_sizes([size], allowed=[allowed])).decode(begin, parts)
        assert not crosses(heads) and all(head in may for head, may in zip(heads, allowed, strict=True))
        assert heads.count(0) == 1 or (not single_root and heads.count(0) > 1)
        assert number.of(heads) == tuple(sorted(parts.tolist()))
    mu = problem.logsum(0, theta)[1]
    (table,) = bound_of(structure, NoOutputs(), Examples.of_sizes([size], allowed=[allowed])).present(
        np.array([0, size]), mu
    )
    assert_allclose(table.sum(axis=1), 1.0, rtol=1e-9)
    assert all(table[word, head] == 0 for word in range(n) for head in range(n + 1) if head not in allowed[word])


@kinds
def test_long_pruned_sentences_neither_overflow_nor_crash(kind: str) -> None:
    """Four heads per word: the number of parts grows with the length of the sentence alone."""
    n = 200
    near = [[h for h in range(max(0, m - 2), min(n, m + 2) + 1) if h != m] for m in range(1, n + 1)]
    problem = plain(n, kind, True, near)
    rng = np.random.default_rng(1)
    assert problem.parts(0) < 50 * n
    for size in (1.0, 300.0, 1e4):
        theta = size * rng.standard_normal(problem.parts(0))
        value, mu = problem.logsum(0, theta)
        best, parts = problem.argmax(0, theta)
        assert best <= value * (1 + 1e-12) if value > 0 else best <= value
        assert_close(theta[parts].sum(), best)
        assert ((mu >= 0) & (mu <= 1 + 1e-9)).all()


@kinds
def test_what_does_not_fit_is_refused(kind: str) -> None:
    structure = SecondOrderTree(kind)
    size = len(structure.part_tuples(3))
    for arguments, message in (
        ({"units": [size + 1]}, f"example 0 has attributes for {size + 1} parts, but no sentence has that many"),
        ({"allowed": [[None] * 2]}, f"example 0 has attributes for {size} parts, but its arcs have"),
        ({"Y": [[3, 0, 2]]}, "example 0, word 1: the arc from its head 3 crosses"),
        ({"Y": [[2, 1, 0]]}, "cycle"),
        ({"Y": [[0, 0, 0]]}, "second child of the root"),
        ({"Y": [[2, 0, 2]], "allowed": [[[0], None, None]]}, "example 0, word 1: its head 2 is not allowed"),
        ({"allowed": [[[2], [1], None]]}, "example 0: its allowed arcs make no tree"),
        ({"allowed": [[[], None, None]]}, "example 0: its allowed arcs make no tree"),
        ({"allowed": [[[1], None, None]]}, "word 1: an allowed head must be 0 or the number of another word, not 1"),
        ({"allowed": [3]}, "example 0: its allowed heads must be a list, not int"),
        ({"allowed": []}, "there are 1 sentences, but allowed heads for 0"),
        ({"allowed": 5}, "allowed must be a list"),
    ):
        given = {"units": [size], **arguments}
        with pytest.raises(MargraveError, match=message):
            structure.bind(NoOutputs(), Examples.of_sizes(np.array(given.pop("units")), **given))
    for lonely in range(5):  # a word without a head
        allowed = [[] if word == lonely else None for word in range(5)]
        with pytest.raises(MargraveError, match="example 0: its allowed arcs make no tree"):
            structure.bind(NoOutputs(), Examples.of_sizes(np.array([1]), allowed=[allowed]))
    with pytest.raises(MargraveError, match="unknown kind of parts 'cousins'"):
        SecondOrderTree("cousins")
    with pytest.raises(MargraveError, match="allow fewer arcs"):
        _core.second_order_tree(np.array([2000]), None, None, True, True)


@kinds
def test_one_thread_gives_the_bits_of_many(kind: str) -> None:
    rng = np.random.default_rng(5)
    words = rng.integers(1, 12, 30).tolist()
    structure = SecondOrderTree(kind)
    X = [rng.standard_normal((len(structure.part_tuples(n)), 6)) for n in words]
    problem = bind(structure, X, [list(range(n)) for n in words], feature_map=SparseMap())
    w = rng.standard_normal(6)
    family = _core.LossFamily(1.0, 1.0)
    for call in (
        lambda threads: _core.losses_and_gradient(problem, w, family, threads, True)[-1],
        lambda threads: _core.marginals_all(problem, w, 1.0, threads)[-1],
        lambda threads: _core.argmax_all(problem, w, threads)[-1],
        lambda threads: _core.kbest_all(problem, w, 3, threads)[-1],
    ):
        assert np.array_equal(call(1), call(3))


def test_first_order_structures_are_decoded_alike() -> None:
    """The heads of an output do not depend on which parts its structure has."""
    rng = np.random.default_rng(2)
    for n in (1, 4, 9):
        first = plain_projective(n, True)
        second, structure = plain(n, "siblings", True), SecondOrderTree()
        arcs = rng.standard_normal(n * n)
        theta = np.concatenate([arcs, np.zeros(second.parts(0) - n * n)])
        one, other = first.argmax(0, arcs)[1], second.argmax(0, theta)[1]
        decoded = bound_of(ProjectiveTree(), NoOutputs(), Examples.of_sizes([n * n])).decode(np.array([0, n]), one)
        assert (
            bound_of(structure, NoOutputs(), Examples.of_sizes([len(theta)])).decode(np.array([0, len(other)]), other)
            == decoded
        )
