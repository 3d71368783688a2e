"""Dependency trees of every kind: the arcs that have parts, decoding, limits, and what they do not offer."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from margrave.binding import Bound
from margrave.binding import bind as bind_examples
from margrave.features import SparseFeatures
from margrave.structures import Arcs, NonProjectiveTree, NoOutputs, ProjectiveTree, SecondOrderTree
from tests.references.enumeration import arc_part, projective_trees, tree_parts, trees

seeds = st.integers(0, 2**32 - 1)
roots = pytest.mark.parametrize("single_root", [True, False])
STRUCTURES = {
    "non-projective": NonProjectiveTree,
    "projective": ProjectiveTree,
    "siblings": lambda single_root: SecondOrderTree("siblings", single_root),
    "grandparents": lambda single_root: SecondOrderTree("grandparents", single_root),
}
every = pytest.mark.parametrize("name", STRUCTURES)


def all_trees(name: str, n: int, single_root: bool) -> list[tuple[int, ...]]:
    return list(trees(n, single_root)) if name == "non-projective" else projective_trees(n, single_root)


def some_arcs(rng: np.random.Generator, words: list[int], share: float = 0.5) -> Arcs:
    """Random arcs, among them those of the tree in which every word has the head before it."""
    masks = [rng.random(n * n) < share for n in words]
    for mask, n in zip(masks, words, strict=True):
        mask[list(tree_parts(range(n)))] = True
    return Arcs(np.array(words), np.concatenate(masks))


def bound_with_weights(name: str, arcs: Arcs, single_root: bool = True) -> tuple[Bound, np.ndarray]:
    """Sentences whose parts have one weight each, and random weights."""
    structure = STRUCTURES[name](single_root)
    counts = structure.bind(NoOutputs(), arcs.count, None, arcs=arcs).part_counts
    X = [[[f"{i} {k}"] for k in range(count)] for i, count in enumerate(counts.tolist())]
    gold = [list(range(n)) for n in arcs.words.tolist()]
    bound = bind_examples(structure, SparseFeatures(), X, gold, to_structure={"arcs": arcs})
    return bound, np.random.default_rng(0).standard_normal(bound.problem.dim)


@every
@roots
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_outputs_of_pruned_sentences_are_decoded_by_what_they_are_bound_to(
    name: str, single_root: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 7, 4).tolist()
    arcs = some_arcs(rng, words)
    bound, w = bound_with_weights(name, arcs, single_root)
    left = np.split(arcs.left, np.cumsum(arcs.words**2)[:-1])
    assert bound.core.words.tolist() == words
    begin, heads, dependents, labels = bound.core.arcs()
    for i, n in enumerate(words):
        expected = [(h, m) for m, h in product(range(1, n + 1), range(n + 1)) if h != m and left[i][arc_part(n, h, m)]]
        found = range(begin[i], begin[i + 1])
        assert [(heads[k], dependents[k]) for k in found] == expected and (labels[found] == -1).all()
    golds, parts = bound.core.gold_parts()
    assert bound.decode(golds, parts) == [list(range(n)) for n in words]

    # The k best and samples, several for each sentence, and the marginals, by the scores of their trees.
    begin, values, part_begin, parts = _core.kbest_all(bound.problem, w, 3, 1)
    examples = np.repeat(np.arange(len(words)), np.diff(begin))
    decoded = bound.decode(part_begin, parts, examples)
    for i, heads_of, value in zip(examples.tolist(), decoded, values, strict=True):
        n = words[i]
        assert tuple(heads_of) in all_trees(name, n, single_root)
        assert left[i][list(tree_parts(heads_of))].all()
        assert bound.problem.kbest(i, bound.problem.score(i, w), 3)[0][0] >= value - 1e-9
    assert bound.best(w, 1) == [decoded[k] for k in begin[:-1]]
    sample_begin, samples = _core.sample_all(bound.problem, w, 1.0, 2, 0, 1)
    drawn = bound.decode(sample_begin, samples, np.repeat(np.arange(len(words)), 2))
    assert all(tuple(each) in all_trees(name, len(each), single_root) for each in drawn)
    assert bound.decode_one(1, samples[sample_begin[2] : sample_begin[3]]) == drawn[2]
    mu_begin, _, mu = _core.marginals_all(bound.problem, w, 1.0, 1)
    for i, table in enumerate(bound.present(mu_begin, mu)):
        n = words[i]
        assert table.shape == (n, n + 1)
        assert_allclose(table.sum(axis=1), 1.0, rtol=1e-9)
        zero = [[h == m or not left[i][arc_part(n, h, m)] for h in range(n + 1)] for m in range(1, n + 1)]
        assert (table[np.array(zero)] == 0).all()
        possible = [heads for heads in all_trees(name, n, single_root) if left[i][list(tree_parts(heads))].all()]
        assert len(bound.problem.kbest(i, bound.problem.score(i, w), 10**4)) == len(possible)


@every
@roots
@given(seed=seeds, n=st.integers(1, 5), share=st.sampled_from([0.2, 0.4, 0.6]))
@settings(max_examples=40, deadline=None)
def test_arcs_that_make_no_tree_are_refused_and_others_are_not(
    name: str, single_root: bool, seed: int, n: int, share: float
) -> None:
    left = np.random.default_rng(seed).random(n * n) < share
    structure = STRUCTURES[name](single_root)
    possible = any(left[list(tree_parts(heads))].all() for heads in all_trees(name, n, single_root))
    more = np.concatenate([[True], left])  # after a sentence of one word
    arcs = Arcs([1, n], more)
    if possible:
        assert structure.bind(NoOutputs(), arcs.count, arcs=arcs).size == 2
    else:
        with pytest.raises(MargraveError, match="example 1: its allowed arcs make no tree"):
            structure.bind(NoOutputs(), arcs.count, arcs=arcs)
    every_arc = Arcs([1, n])
    if possible:
        structure.bind(NoOutputs(), every_arc.count, arcs=every_arc, allowed=more)
    else:
        with pytest.raises(MargraveError, match="example 1: its allowed arcs make no tree"):
            structure.bind(NoOutputs(), every_arc.count, arcs=every_arc, allowed=more)


@pytest.mark.parametrize("n", [63, 64, 65, 130])
@roots
def test_long_sentences_with_one_tree_have_it(n: int, single_root: bool) -> None:
    """The check of projective trees goes by blocks of 64 positions."""
    for heads in (list(range(n)), [0, *[1] * (n - 1)], [*range(2, n + 1), 0]):
        left = np.zeros(n * n, dtype=bool)
        left[list(tree_parts(heads))] = True
        for name, make in STRUCTURES.items():
            bound = make(single_root).bind(NoOutputs(), np.array([0]), arcs=Arcs([n], left))
            assert bound.size == 1, name
            left[arc_part(n, heads[-1], n)] = False
            with pytest.raises(MargraveError, match="make no tree"):
                make(single_root).bind(NoOutputs(), np.array([0]), arcs=Arcs([n], left))
            left[arc_part(n, heads[-1], n)] = True


@every
def test_gold_trees_must_be_among_the_arcs(name: str) -> None:
    structure = STRUCTURES[name](True)
    left = np.ones(9, dtype=bool)
    left[arc_part(3, 2, 1)] = False
    with pytest.raises(MargraveError, match="example 0, word 1: its head 2 is not allowed"):
        structure.bind(NoOutputs(), np.array([8]), [[2, 0, 2]], arcs=Arcs([3], left))
    with pytest.raises(MargraveError, match="example 0, word 1: its head 2 is not allowed"):
        structure.bind(NoOutputs(), np.array([9]), [[2, 0, 2]], arcs=Arcs([3]), allowed=left)
    assert structure.bind(
        NoOutputs(), np.array([8]), [[3, 0, 2] if name == "non-projective" else [0, 1, 2]], arcs=Arcs([3], left)
    ).has_gold


@every
def test_what_does_not_fit_is_refused_in_one_sentence(name: str) -> None:
    structure: Any = STRUCTURES[name](True)
    for call, message in (
        (lambda: Arcs([0]), "example 0 has no words"),
        (lambda: Arcs([[1]]), "a list of whole numbers"),
        (lambda: Arcs([1.5]), "a list of whole numbers"),
        (lambda: Arcs([2], np.ones(3, bool)), r"boolean array of shape \(4,\), not bool of \(3,\)"),
        (lambda: Arcs([1], np.ones(1)), "boolean array"),
        (lambda: structure.bind(NoOutputs(), np.array([1, 1]), arcs=Arcs([1])), "2 sentences, but arcs of 1"),
        (lambda: structure.bind(NoOutputs(), np.array([1]), arcs=[1]), "arcs must be an object of Arcs, not list"),
        (lambda: structure.bind(NoOutputs(), np.array([0])), "example 0 has no words"),
    ):
        with pytest.raises(MargraveError, match=message):
            call()
    bound = structure.bind(NoOutputs(), np.array([4]), arcs=Arcs([2]))
    for begin, parts, examples, message in (
        ([0, 1], [0], None, "example 0: these parts give word 2 no head"),
        ([0, 2], [0, 1], None, "example 0: these parts give word 1 two heads"),
        ([0, 2], [0, 99], None, "example 0: there is no part 99"),
        ([0, 2], [0, -1], None, "example 0: there is no part -1"),
        ([0, 1, 2], [0, 1], None, "begin must have length 2"),
        ([0, 3], [0, 1], None, "begin must ascend"),
        ([2, 0], [0, 1], None, "begin must ascend"),
        ([0, 2], [0, 2], [1], "example 1 is out of range"),
        ([0, 2], [0, 2], [0, 0], "examples must have length 1"),
    ):
        with pytest.raises(MargraveError, match=message):
            bound.read(np.array(begin), np.array(parts, np.int32), None if examples is None else np.array(examples))
    with pytest.raises(MargraveError, match="there are 1 numbers"):
        bound.head_tables(np.array([0, 1]), np.zeros(1))
