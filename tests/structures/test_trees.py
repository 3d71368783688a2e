"""Dependency trees of every kind: the arcs that have parts, decoding, limits, and what they do not offer."""

from itertools import product
from math import comb, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import DependencyParser, MargraveError, _core
from margrave.binding import BoundProblem
from margrave.binding import bind as bind_examples
from margrave.data import ArcLabels, Arcs
from margrave.examples import Examples
from margrave.maps import SparseMap
from margrave.structures import NonProjectiveTree, NoOutputs, ProjectiveTree, SecondOrderTree
from margrave.structures.base import Bound
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


def bound_with_weights(name: str, arcs: Arcs, single_root: bool = True) -> tuple[BoundProblem[Any, Any], np.ndarray]:
    """Sentences whose parts have one weight each, and random weights."""
    structure = STRUCTURES[name](single_root)
    counts = structure.bind(NoOutputs(), Examples.of_sizes(arcs.count, None, arcs=arcs)).part_counts
    X = [[[f"{i} {k}"] for k in range(count)] for i, count in enumerate(counts.tolist())]
    gold = [list(range(n)) for n in arcs.words.tolist()]
    bound = bind_examples(structure, SparseMap(), Examples(X, gold, extras={"arcs": arcs}))
    return bound, np.random.default_rng(0).standard_normal(bound.problem.dim)


@every
@roots
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_outputs_of_pruned_sentences_are_decoded_by_what_they_are_bound_to(
    name: str, single_root: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 6, 4).tolist()
    arcs = some_arcs(rng, words)
    bound, w = bound_with_weights(name, arcs, single_root)
    left = np.split(arcs.left, np.cumsum(arcs.words**2)[:-1])
    assert bound.core.words.tolist() == words  # type: ignore[attr-defined]
    begin, heads, dependents, labels = bound.core.arcs()  # type: ignore[attr-defined]
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
        assert structure.bind(NoOutputs(), Examples.of_sizes(arcs.count, arcs=arcs)).size == 2
    else:
        with pytest.raises(MargraveError, match="example 1: its allowed arcs make no tree"):
            structure.bind(NoOutputs(), Examples.of_sizes(arcs.count, arcs=arcs))
    every_arc = Arcs([1, n])
    if possible:
        structure.bind(NoOutputs(), Examples.of_sizes(every_arc.count, arcs=every_arc, allowed=more))
    else:
        with pytest.raises(MargraveError, match="example 1: its allowed arcs make no tree"):
            structure.bind(NoOutputs(), Examples.of_sizes(every_arc.count, arcs=every_arc, allowed=more))


@pytest.mark.parametrize("n", [63, 64, 65, 130])
@roots
def test_long_sentences_with_one_tree_have_it(n: int, single_root: bool) -> None:
    """The check of projective trees goes by blocks of 64 positions."""
    for heads in (list(range(n)), [0, *[1] * (n - 1)], [*range(2, n + 1), 0]):
        left = np.zeros(n * n, dtype=bool)
        left[list(tree_parts(heads))] = True
        for name, make in STRUCTURES.items():
            bound = make(single_root).bind(NoOutputs(), Examples.of_sizes(np.array([0]), arcs=Arcs([n], left)))
            assert bound.size == 1, name
            left[arc_part(n, heads[-1], n)] = False
            with pytest.raises(MargraveError, match="make no tree"):
                make(single_root).bind(NoOutputs(), Examples.of_sizes(np.array([0]), arcs=Arcs([n], left)))
            left[arc_part(n, heads[-1], n)] = True


@every
def test_gold_trees_must_be_among_the_arcs(name: str) -> None:
    structure = STRUCTURES[name](True)
    left = np.ones(9, dtype=bool)
    left[arc_part(3, 2, 1)] = False
    with pytest.raises(MargraveError, match="example 0, word 1: its head 2 is not allowed"):
        structure.bind(NoOutputs(), Examples.of_sizes(np.array([8]), [[2, 0, 2]], arcs=Arcs([3], left)))
    with pytest.raises(MargraveError, match="example 0, word 1: its head 2 is not allowed"):
        structure.bind(NoOutputs(), Examples.of_sizes(np.array([9]), [[2, 0, 2]], arcs=Arcs([3]), allowed=left))
    assert structure.bind(
        NoOutputs(),
        Examples.of_sizes(np.array([8]), [[3, 0, 2] if name == "non-projective" else [0, 1, 2]], arcs=Arcs([3], left)),
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
        (
            lambda: structure.bind(NoOutputs(), Examples.of_sizes(np.array([1, 1]), arcs=Arcs([1]))),
            "2 sentences, but arcs of 1",
        ),
        (
            lambda: structure.bind(NoOutputs(), Examples.of_sizes(np.array([1]), arcs=[1])),
            "arcs must be an object of Arcs, not list",
        ),
        (lambda: structure.bind(NoOutputs(), Examples.of_sizes(np.array([0]))), "example 0 has no words"),
    ):
        with pytest.raises(MargraveError, match=message):
            call()
    bound = structure.bind(NoOutputs(), Examples.of_sizes(np.array([4]), arcs=Arcs([2])))
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


# ---- labels ---------------------------------------------------------------------------------------------------------

LABELED = {
    "non-projective": lambda **more: NonProjectiveTree(labeled=True, **more),
    "projective": lambda **more: ProjectiveTree(labeled=True, **more),
    "siblings": lambda **more: SecondOrderTree("siblings", labeled=True, **more),
    "grandparents": lambda **more: SecondOrderTree("grandparents", labeled=True, **more),
}
TREES = [[(2, "subject"), (0, "root"), (2, "object")], [(0, "root")]]


@every
def test_labels_are_learned_and_decoded(name: str) -> None:
    structure = LABELED[name]()
    outputs: Any = structure.learn(TREES)
    assert outputs.classes.tolist() == ["object", "root", "subject"]
    left = np.ones(10, dtype=bool)
    left[arc_part(3, 1, 3)] = False
    arcs = Arcs([3, 1], left)
    sets = ArcLabels([0] * 9, [0, 3], [0, 1, 2])
    for labels in (None, sets):
        examples = Examples.of_sizes(arcs.count, TREES, arcs=arcs, labels=labels)
        bound = structure.bind(outputs, examples)
        begin, parts = bound.gold_parts()
        assert Bound(structure, outputs, examples, bound).decode(begin, parts) == TREES
    assert bound.labels == 3 and bound.words.tolist() == [3, 1]
    arc_begin, heads, words, labels = bound.arcs()
    assert arc_begin.tolist() == [0, 24, 27] and labels[:6].tolist() == [0, 1, 2, 0, 1, 2]
    assert (heads[3:6] == 2).all() and (words[3:6] == 1).all()
    problem = problem_of(bound)
    mu = np.concatenate([problem.logsum(i, np.cos(np.arange(problem.parts(i))))[1] for i in range(2)])
    mu_begin = np.concatenate([[0], np.cumsum(bound.part_counts)])
    tables = structure.present_labels(bound, mu_begin, mu)
    assert [table.shape for table in tables] == [(3, 4, 3), (1, 2, 3)]
    for table, by_head in zip(tables, Bound(structure, outputs, examples, bound).present(mu_begin, mu), strict=True):
        assert_allclose(table.sum(axis=2), by_head, rtol=1e-12)
        assert_allclose(by_head.sum(axis=1), 1.0, rtol=1e-9)
    assert tables[0][2, 1].sum() == 0  # the arc that is not left


@every
def test_without_scores_of_labels_marginals_are_those_of_arcs(name: str) -> None:
    """Labels that score the same share the probability of their arc, also where it is tiny."""
    rng = np.random.default_rng(0)
    for n, size in ((7, 1.0), (7, 300.0), (7, 1e4)):
        arcs = some_arcs(rng, [n])
        plain = STRUCTURES[name](True).bind(NoOutputs(), Examples.of_sizes(arcs.count, arcs=arcs))
        count, arc_count = plain.parts(0), int(arcs.count[0])
        outputs = LABELED[name]().learn([[(0, k) for k in range(4)]])
        bound = LABELED[name]().bind(outputs, Examples.of_sizes(arcs.count, arcs=arcs))
        theta = size * rng.standard_normal(count)
        spread = np.concatenate([np.repeat(theta[:arc_count], 4), theta[arc_count:]])
        one, four = problem_of(plain), problem_of(bound)
        value, mu = one.logsum(0, theta)
        again, also = four.logsum(0, spread)
        assert_allclose(again, value + n * np.log(4), rtol=1e-12)
        assert_allclose(also[: 4 * arc_count].reshape(-1, 4).sum(axis=1), mu[:arc_count], rtol=1e-9)
        assert_allclose(also[4 * arc_count :], mu[arc_count:], rtol=1e-9)
        assert_allclose(four.argmax(0, spread)[0], one.argmax(0, theta)[0], rtol=1e-12)
        best = four.kbest(0, spread, 4**3)  # the labelings of the best tree come first, and all score the same
        assert len({tuple(parts.tolist()) for _, parts in best}) == 4**3
        assert_allclose([v for v, _ in best], best[0][0], rtol=1e-9)


def problem_of(bound: _core.Structure) -> _core.Problem:
    """Parts without attributes; only their scores matter."""
    counts = [bound.parts(i) for i in range(bound.size)]
    begin = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    rows = _core.Tokens(begin, np.zeros(begin[-1] + 1, dtype=np.int64), np.zeros(0, np.int32), None)
    return _core.join(bound, _core.sparse_parts(0, rows, bound.choices))


@every
@given(seed=seeds)
@settings(max_examples=5, deadline=None)
def test_the_k_best_labeled_trees_of_longer_sentences_are_in_order_and_distinct(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arcs = some_arcs(rng, [9], 0.4)
    outputs = LABELED[name]().learn([[(0, k) for k in range(3)]])
    bound = LABELED[name]().bind(outputs, Examples.of_sizes(arcs.count, arcs=arcs))
    problem = problem_of(bound)
    theta = rng.standard_normal(bound.parts(0))
    found = problem.kbest(0, theta, 300)
    assert len({tuple(parts.tolist()) for _, parts in found}) == len(found) == 300
    values = [value for value, _ in found]
    assert values == sorted(values, reverse=True)
    assert_allclose(values, [theta[parts].sum() for _, parts in found], rtol=1e-9)
    assert_allclose(problem.kbest(0, theta, 20)[-1][0], values[19], rtol=1e-12)
    # Nothing is left out: what is drawn and better than the last of them is among them.
    known = {tuple(sorted(parts.tolist())) for _, parts in found}
    for seed_of_draw in range(50):
        parts = problem.sample(0, 3 * theta, seed_of_draw)
        assert theta[parts].sum() <= values[-1] + 1e-9 or tuple(sorted(parts.tolist())) in known


@every
def test_labels_that_do_not_fit_are_refused_in_one_sentence(name: str) -> None:
    structure: Any = LABELED[name]()
    outputs = structure.learn(TREES)
    arcs = Arcs([3, 1])

    def bind(Y: Any = None, **sets: Any) -> Any:
        labels = ArcLabels(**{"of_arc": [0] * 10, "begin": [0, 3], "members": [0, 1, 2]} | sets) if sets else None
        return structure.bind(outputs, Examples.of_sizes(arcs.count, Y, arcs=arcs, labels=labels))

    for call, message in (
        (lambda: structure.learn([[2, 0]]), r"example 0, word 1: its output must be a pair \(head, label\), not 2"),
        (lambda: structure.learn([5]), "example 0: its words must be a list of pairs"),
        (lambda: structure.learn([[(0, "a", "b")]]), "must be a pair"),
        (lambda: bind([[(2, "verb"), (0, "root"), (2, "object")], [(0, "root")]]), "'verb' is not among the classes"),
        (
            lambda: bind(TREES, members=[0, 1], begin=[0, 2]),
            "example 0, word 1: its label 2 is not allowed for the arc",
        ),
        (lambda: bind(of_arc=[0] * 9), "one set for each of 10 arcs, not 9"),
        (lambda: bind(of_arc=[1] * 10), "there is no set 1 of 1"),
        (lambda: bind(of_arc=[-1] * 10), "there is no set -1"),
        (lambda: bind(members=[0, 2, 1]), "set 0 must have ascending numbers below 3"),
        (lambda: bind(members=[0, 1, 3]), "set 0 must have ascending numbers below 3"),
        (lambda: bind(begin=[0, 2]), "bounds of sets must go from 0"),
        (lambda: bind(begin=[0, 4, 3]), "bounds of sets must ascend"),
        (lambda: bind(begin=[0, 0, 3]), "example 0, word 1: the arc from 0 has no label"),
        (lambda: ArcLabels([0.5], [0, 1], [0]), "of_arc of ArcLabels must be a list of whole numbers"),
        (
            lambda: structure.bind(outputs, Examples.of_sizes(arcs.count, arcs=arcs, labels=[0])),
            "must be an object of ArcLabels, not list",
        ),
        (
            lambda: STRUCTURES[name](True).bind(
                outputs, Examples.of_sizes(arcs.count, arcs=arcs, labels=ArcLabels([0], [0, 1], [0]))
            ),
            "labels of arcs need labeled=True",
        ),
        (lambda: LABELED[name](wrong_label=-1), "wrong_label must be finite and not negative"),
        (lambda: LABELED[name](single_root="yes"), "single_root must be True or False"),
    ):
        with pytest.raises(MargraveError, match=message):
            call()


# ---- numbers of trees, long sentences, and what trees do not offer ---------------------------------------------------


@roots
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_number_of_trees_is_that_of_the_known_formulas(n: int, single_root: bool) -> None:
    """(n + 1)^(n - 1) with several roots and n^(n - 1) with one (Cayley); projective ones: A001764 and A006013."""
    projective = comb(3 * n - 2, n - 1) // n if single_root else comb(3 * n, n) // (2 * n + 1)
    non_projective = n ** (n - 1) if single_root else (n + 1) ** (n - 1)
    for name, make in STRUCTURES.items():
        count = non_projective if name == "non-projective" else projective
        problem = problem_of(make(single_root).bind(NoOutputs(), Examples.of_sizes(np.array([0]), arcs=Arcs([n]))))
        zero = np.zeros(problem.parts(0))
        assert_allclose(problem.logsum(0, zero)[0], log(count), rtol=1e-12, atol=1e-12)
        found = problem.kbest(0, zero, count + 1)
        assert len({tuple(sorted(parts.tolist())) for _, parts in found}) == len(found) == count


@roots
@given(seed=seeds, n=st.integers(2, 6), ties=st.booleans())
@settings(max_examples=20, deadline=None)
def test_the_k_best_non_projective_trees_are_those_of_the_enumeration(
    single_root: bool, seed: int, n: int, ties: bool
) -> None:
    """All of them up to n = 5, with many children of the root to choose from, and equal scores."""
    rng = np.random.default_rng(seed)
    theta = rng.integers(0, 3, n * n).astype(float) if ties else rng.standard_normal(n * n)
    theta[[arc_part(n, 0, m) for m in range(1, n + 1)]] += rng.choice([-1.0, 0.0, 3.0])
    problem = problem_of(NonProjectiveTree(single_root).bind(NoOutputs(), Examples.of_sizes(np.array([n * n]))))
    parts = np.array([tree_parts(heads) for heads in trees(n, single_root)])
    expected = np.sort(theta[parts].sum(axis=1))[::-1][: 10**4 if n < 6 else 300]
    found = problem.kbest(0, theta, len(expected))
    assert_allclose([value for value, _ in found], expected, rtol=1e-9, atol=1e-9)
    assert len({tuple(sorted(y.tolist())) for _, y in found}) == len(expected)
    assert {tuple(sorted(y.tolist())) for _, y in found} <= set(map(tuple, parts.tolist()))


@every
def test_a_thousand_words_with_ten_heads_each_neither_overflow_nor_crash(name: str) -> None:
    n = 1000
    near = np.array([[abs(h - m) <= 5 and h != m for h in range(n + 1)] for m in range(1, n + 1)])
    near[n // 2 :: 97, 0] = True
    left = near[~np.eye(n, n + 1, 1, dtype=bool)]
    bound = STRUCTURES[name](True).bind(NoOutputs(), Examples.of_sizes(np.array([0]), arcs=Arcs([n], left)))
    problem = problem_of(bound)
    theta = 30 * np.random.default_rng(0).standard_normal(problem.parts(0))
    best, parts = problem.argmax(0, theta)
    assert_allclose(theta[parts].sum(), best, rtol=1e-9)
    assert bound.read(np.array([0, len(parts)]), parts)[1].tolist().count(0) == 1
    value, mu = problem.logsum(0, theta)
    assert np.isfinite(value) and value >= best - 1e-6
    table = bound.head_tables(np.array([0, len(mu)]), mu).reshape(n, n + 1)
    assert_allclose(table.sum(axis=1), 1.0, rtol=1e-9)


@every
@given(seed=seeds, n=st.integers(1, 5))
@settings(max_examples=10, deadline=None)
def test_entropy_is_log_z_minus_the_expected_score(name: str, seed: int, n: int) -> None:
    """Of the model's own distribution; the entropy of given marginals is not offered."""
    rng = np.random.default_rng(seed)
    problem = problem_of(
        STRUCTURES[name](True).bind(NoOutputs(), Examples.of_sizes(np.array([0]), arcs=some_arcs(rng, [n])))
    )
    theta = rng.standard_normal(problem.parts(0))
    value, mu = problem.logsum(0, theta)
    scores = np.array([v for v, _ in problem.kbest(0, theta, 10**6)])
    p = np.exp(scores - value)
    assert_allclose(value - theta @ mu, -(p * np.log(p)).sum(), rtol=1e-9, atol=1e-12)
    assert {"entropy", "untied"}.isdisjoint(problem.offers)
    with pytest.raises(MargraveError, match="offers no entropy"):
        problem.entropy(0, mu)


@pytest.mark.parametrize("learner", ["smo", "smo-eg"])
def test_smo_is_refused_on_trees_in_one_sentence(learner: str) -> None:
    with pytest.raises(MargraveError, match=r"^[^.]*untied[^.]*\.$|^[^.]*entropy[^.]*\.$"):
        DependencyParser("hinge", learner=learner).fit([[("a", "A"), ("b", "B")]], [[2, 0]])
