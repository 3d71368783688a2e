"""Projective trees beyond what every registered structure is tested for: counts, long sentences, extreme scores."""

from math import comb, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from margrave.examples import Examples
from margrave.maps import SparseMap
from margrave.structures import NonProjectiveTree, NoOutputs, ProjectiveTree
from margrave.testing.enumeration import Outputs
from margrave.testing.problems import SCORES, frequencies_agree, random_scores
from tests.core.test_simd import EVERY, instruction_set
from tests.references.enumeration import arc_part, crosses, projective_graph, projective_trees, tree_parts, trees
from tests.references.problems import bind, bound_of
from tests.registry.hypergraphs import core_graph
from tests.structures.test_structures import assert_as_engine, assert_as_enumerated, assert_close, extreme_scores

seeds = st.integers(0, 2**32 - 1)
roots = pytest.mark.parametrize("single_root", [True, False])


def plain(n: int, single_root: bool, allowed=None, structure=ProjectiveTree) -> _core.Problem:
    """One sentence without attributes; only its scores matter."""
    return bind(structure(single_root), [[[]] * (n * n)], [list(range(n))], feature_map=SparseMap(), allowed=allowed)


def as_hypergraph(n: int, single_root: bool) -> _core.Problem:
    graph = core_graph(projective_graph(n, single_root))
    structure = _core.hypergraphs([graph], np.array([n * n], dtype=np.int64), None, None, None)
    rows = _core.Tokens(np.array([0, n * n]), np.zeros(n * n + 1, dtype=np.int64), np.zeros(0, np.int32), None)
    return _core.join(structure, _core.sparse_parts(0, rows, np.ones(1, dtype=np.int64)))


def heads_of(parts, n: int) -> list[int]:
    return bound_of(ProjectiveTree(), NoOutputs(), Examples.of_sizes([n * n])).decode(np.array([0, len(parts)]), parts)[
        0
    ]


def number_of_trees(n: int, single_root: bool) -> int:
    """1, 3, 12, 55, ... (A001764), and with a single root 1, 2, 7, 30, ... (A006013)."""
    return comb(3 * n - 2, n - 1) // n if single_root else comb(3 * n, n) // (2 * n + 1)


@roots
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_all_projective_trees_are_found_and_no_others(n: int, single_root: bool) -> None:
    every = projective_trees(n, single_root)
    assert len(every) == number_of_trees(n, single_root)
    problem = plain(n, single_root)
    found = problem.kbest(0, np.zeros(n * n), len(every) + 1)
    assert {tuple(heads_of(parts, n)) for _, parts in found} == set(every) and len(found) == len(every)
    value, mu = problem.logsum(0, np.zeros(n * n))
    assert_close(value, log(len(every)))
    assert_close(mu, Outputs(n * n, [tree_parts(heads) for heads in every]).logsum(np.zeros(n * n))[1])


@roots
@pytest.mark.parametrize("n", [20, 100, 400, 1000])
def test_the_number_of_trees_of_long_sentences_is_the_known_one(n: int, single_root: bool) -> None:
    """Neither the plain nor the wide sums overflow; -500 on every arc leaves the trees equally likely."""
    if n == 1000 and not single_root:
        return
    count = number_of_trees(n, single_root)
    value, mu = plain(n, single_root).logsum(0, np.full(n * n, -500.0))
    assert_allclose(value, count.bit_length() * log(2) + log(count / 2 ** count.bit_length()) - 500.0 * n, rtol=1e-12)
    assert_allclose(mu.reshape(n, n).sum(axis=1), 1.0, rtol=1e-9)


@roots
@given(seed=seeds, n=st.integers(1, 12))
@settings(max_examples=12, deadline=None)
def test_hand_written_loops_agree_with_the_hypergraph_engine(single_root: bool, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    hand, engine = plain(n, single_root), as_hypergraph(n, single_root)
    for style in (*SCORES, "1e4"):
        theta = 1e4 * random_scores(rng, n * n, "usual") if style == "1e4" else random_scores(rng, n * n, style)
        assert_as_engine(hand, engine, theta, rng)


@roots
@given(seed=seeds, n=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_extreme_scores_and_forbidden_arcs_agree_with_enumeration(single_root: bool, seed: int, n: int) -> None:
    theta = extreme_scores(np.random.default_rng(seed), n * n)
    outputs = Outputs(n * n, [tree_parts(heads) for heads in projective_trees(n, single_root)])
    assert_as_enumerated(plain(n, single_root), outputs, theta, seed)
    if outputs.logsum(theta)[0] == -inf:
        assert plain(n, single_root).argmax_by_cost(0, theta, np.zeros(n * n)) == []


@roots
@pytest.mark.parametrize("n", [30, 60, 150, 300])
@pytest.mark.parametrize("size", [1.0, 10.0, 300.0])
def test_plain_and_wide_sums_of_long_sentences_agree(n: int, single_root: bool, size: float) -> None:
    """A word without a good head sends the sentence to the wide sums; without this word both can be compared."""
    rng = np.random.default_rng(n)
    theta = size * rng.standard_normal(n * n)
    problem, longer = plain(n, single_root), plain(n + 1, single_root)
    value, mu = problem.logsum(0, theta)
    table = np.full((n + 1, n + 1), -inf)  # the last word has no child, and hangs under the word before it
    table[:n, :n] = theta.reshape(n, n)
    table[n, n] = -1e5
    again, also = longer.logsum(0, table.ravel())
    assert_close(again + 1e5, value)
    assert_allclose(also.reshape(n + 1, n + 1)[:n, :n].ravel(), mu, rtol=1e-9, atol=1e-30)
    assert_allclose(mu.reshape(n, n).sum(axis=1), 1.0, rtol=1e-9)


@roots
def test_a_sentence_of_a_thousand_words_is_parsed(single_root: bool) -> None:
    n = 1000
    problem = plain(n, single_root)
    theta = np.random.default_rng(0).standard_normal(n * n)
    best, parts = problem.argmax(0, theta)
    heads = heads_of(parts, n)
    assert_close(theta[parts].sum(), best)
    assert (
        ProjectiveTree(single_root).bind(NoOutputs(), Examples.of_sizes(np.array([n * n]), [heads])).has_gold
    )  # a projective tree
    first, second = problem.kbest(0, theta, 2)
    assert_close(first[0], best)
    assert second[0] < first[0]


@roots
@pytest.mark.parametrize("strength", [8.0, 700.0])
def test_samples_have_their_frequencies_for_any_size_of_scores(single_root: bool, strength: float) -> None:
    n = 4
    theta = np.random.default_rng(8).standard_normal(n * n)
    theta[[arc_part(n, 2, 1), arc_part(n, 1, 2), arc_part(n, 4, 3)]] += strength
    outputs = Outputs(n * n, [tree_parts(heads) for heads in projective_trees(n, single_root)])
    frequencies_agree(plain(n, single_root), 0, outputs, theta, 3000)


@roots
@given(seed=seeds, n=st.integers(1, 30))
@settings(max_examples=15, deadline=None)
def test_single_roots_and_constraints_are_never_violated(single_root: bool, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random(n * n) < 0.5
    allowed[list(tree_parts(range(n)))] = True  # the gold tree of plain()
    problem = plain(n, single_root, allowed)
    theta = 3 * rng.standard_normal(n * n)
    delta = rng.integers(0, 3, n * n).astype(float)
    found = [problem.argmax(0, theta)[1], *(problem.sample(0, theta, s) for s in range(5))]
    found += [parts for _, parts in problem.kbest(0, theta, 20)]
    found += [parts for _, _, parts in problem.argmax_by_cost(0, theta, delta)]
    for parts in found:
        heads = heads_of(parts, n)
        assert allowed[parts].all() and not crosses(heads)
        assert heads.count(0) == 1 or (not single_root and heads.count(0) > 1)
    mu = problem.logsum(0, theta)[1]
    assert not mu[~allowed].any()
    assert_allclose(mu.reshape(n, n).sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("structure", [ProjectiveTree, NonProjectiveTree])
def test_arcs_are_required_and_forbidden_by_lists_of_heads(structure) -> None:
    def trees_of(allowed) -> set[tuple[int, ...]]:
        mask = structure().bind(NoOutputs(), Examples.of_sizes(np.array([9]), None, allowed=allowed))
        rows = _core.Tokens(np.array([0, 9]), np.zeros(10, np.int64), np.zeros(0, np.int32), None)
        problem = _core.join(mask, _core.sparse_parts(0, rows, np.ones(1, np.int64)))
        return {tuple(heads_of(parts, 3)) for _, parts in problem.kbest(0, np.zeros(9), 100)}

    every = set(projective_trees(3, True) if structure is ProjectiveTree else trees(3, True))
    assert trees_of(None) == trees_of([None]) == trees_of([[None] * 3]) == every
    assert trees_of([[{2}, None, None]]) == {heads for heads in every if heads[0] == 2}
    assert trees_of([[{2, 3}, None, [2]]]) == {heads for heads in every if heads[0] in (2, 3) and heads[2] == 2}
    mask = np.ones(9, dtype=bool)
    mask[arc_part(3, 0, 2)] = False
    assert trees_of(mask) == {heads for heads in every if heads[1] != 0}
    for allowed, message in (
        ([[{1}, None, None]], "word 1: an allowed head must be 0 or the number of another word, not 1"),
        ([[{4}, None, None]], "not 4"),
        ([[{"0"}, None, None]], "not '0'"),
        ([[2, None, None]], "allowed heads must be a set, not int"),
        ([["2", None, None]], "allowed heads must be a set, not str"),
        ([[None, None]], "example 0 has 3 words, but allowed heads for 2"),
        ([5], "example 0: its allowed heads must be a list, not int"),
        ([None, None], "there are 1 sentences, but allowed heads for 2"),
        (5, "allowed must be a list"),
        (np.ones(8, dtype=bool), r"must have shape \(9,\)"),
        ([[{2}, {1}, None]], "example 0: its allowed arcs make no tree"),
        ([[set(), None, None]], "example 0: its allowed arcs make no tree"),
        ([[{0}, {0}, None]], "example 0: its allowed arcs make no tree"),
    ):
        with pytest.raises(MargraveError, match=message):
            structure().bind(NoOutputs(), Examples.of_sizes(np.array([9]), None, allowed=allowed))
    with pytest.raises(MargraveError, match="example 0, word 1: its head 2 is not allowed"):
        structure().bind(NoOutputs(), Examples.of_sizes(np.array([9]), [[2, 0, 2]], allowed=[[{3}, None, None]]))


def test_gold_trees_with_crossing_arcs_are_refused() -> None:
    def bound(*golds, single_root=True):
        return ProjectiveTree(single_root).bind(
            NoOutputs(), Examples.of_sizes(np.array([len(y) ** 2 for y in golds]), golds)
        )

    with pytest.raises(
        MargraveError,
        match="example 1, word 1: the arc from its head 3 crosses that from 0 to 2; use NonProjectiveTree",
    ):
        bound([0], [3, 0, 2])
    for n in (3, 4):
        for single_root in (True, False):
            for heads in trees(n, single_root):
                if crosses(heads):
                    with pytest.raises(MargraveError, match=r"example 0, word .* crosses"):
                        bound(heads, single_root=single_root)
                else:
                    bound(heads, single_root=single_root)
    for heads, word in (([2, 1], "cycle"), ([1, 0], "own head"), ([3, 0], "out of range"), ([0, 0], "second child")):
        with pytest.raises(MargraveError, match=word):
            bound(heads)
    with pytest.raises(MargraveError, match="example 0 has 4001 words: at most 4000 are possible"):
        ProjectiveTree().bind(NoOutputs(), Examples.of_sizes(np.array([4001**2])))


@pytest.mark.parametrize("name", EVERY)
@roots
def test_every_instruction_set_finds_the_same_trees(name: str, single_root: bool) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 5, 7, 8, 9, 16, 17, 31, 40):
        problem, theta = plain(n, single_root), random_scores(rng, n * n, "ties")
        with instruction_set("baseline"):
            expected, (value, mu) = problem.argmax(0, theta), problem.logsum(0, theta)
        with instruction_set(name):
            found, (again, also) = problem.argmax(0, theta), problem.logsum(0, theta)
            assert found[0] == expected[0] and np.array_equal(found[1], expected[1])
        assert_close(again, value)
        assert_close(also, mu)


def test_equal_scores_give_the_same_tree_every_time() -> None:
    for n in (2, 5, 20):
        for value in (0.0, 0.1, -0.7):
            theta = np.full(n * n, value)
            first = plain(n, True).argmax(0, theta)[1]
            for _ in range(3):
                assert np.array_equal(plain(n, True).argmax(0, theta)[1], first)
            assert np.array_equal(plain(n, True).kbest(0, theta, 3)[0][1], first)


def test_one_thread_gives_the_bits_of_many() -> None:
    rng = np.random.default_rng(5)
    words = rng.integers(1, 30, 40).tolist()
    X = [rng.standard_normal((n * n, 6)) for n in words]
    problem = bind(ProjectiveTree(), X, [list(range(n)) for n in words], feature_map=SparseMap())
    w = rng.standard_normal(6)
    family = _core.LossFamily(1.0, 1.0)
    for call in (
        lambda threads: _core.losses_and_gradient(problem, w, family, threads, True)[-1],
        lambda threads: _core.marginals_all(problem, w, 1.0, threads)[-1],
        lambda threads: _core.argmax_all(problem, w, threads)[-1],
    ):
        assert np.array_equal(call(1), call(3))
