"""Every registered feature map: A by definition, its adjoint, and its radius; how attributes become rows."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, csr_matrix

from margrave import MargraveError, _core
from margrave.binding import bind as bind_examples
from margrave.examples import Examples
from margrave.maps import ChainMap, FeatureTable, SparseMap, table_named
from margrave.structures import Chain, Labels, Multiclass, NonProjectiveTree
from tests.references.enumeration import hash_of
from tests.references.problems import bind
from tests.registry import KINDS, Kind

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=8, deadline=None)


@every_kind
@given(seed=seeds)
@few
def test_score_is_the_matrix_of_its_definition(kind: Kind, seed: int) -> None:
    case = kind(seed)
    for i, a in enumerate(case.matrices):
        assert a.shape == (case.problem.parts(i), case.problem.dim)
        w = np.random.default_rng(seed).standard_normal(case.problem.dim)
        assert_allclose(case.problem.score(i, w), a @ w, rtol=1e-12, atol=1e-12)
        for k in range(case.problem.dim):
            unit = np.zeros(case.problem.dim)
            unit[k] = 1.0
            assert_allclose(case.problem.score(i, unit), a[:, k], rtol=1e-15)


@every_kind
@given(seed=seeds)
@few
def test_scatter_and_row_are_the_adjoint_of_score(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = kind(seed)
    problem = case.problem
    for i, a in enumerate(case.matrices):
        w, mu = rng.standard_normal(problem.dim), rng.standard_normal(a.shape[0])
        mu[rng.random(len(mu)) < 0.3] = 0.0
        g = start = rng.standard_normal(problem.dim)
        g = start.copy()
        problem.scatter(i, mu, -0.7, g)
        assert_allclose(g, start - 0.7 * (a.T @ mu), rtol=1e-12, atol=1e-12)
        index, value = problem.row(i, mu)
        assert len(set(index.tolist())) == len(index)
        dense = np.zeros(problem.dim)
        dense[index] = value
        assert_allclose(dense, a.T @ mu, rtol=1e-12, atol=1e-12)
        assert_allclose(problem.score(i, w) @ mu, value @ w[index], rtol=1e-10, atol=1e-10)
        assert_allclose(problem.dot(w, dense), w @ dense, rtol=1e-12, atol=1e-12)
        moved = start.copy()
        change = problem.move(i, mu, -0.7, moved)
        assert_allclose(moved, g, rtol=1e-12, atol=1e-12)
        assert change == pytest.approx(0.5 * (moved @ moved - start @ start), abs=1e-11)


@every_kind
@given(seed=seeds)
@few
def test_radius_bounds_the_distance_of_any_two_outputs(kind: Kind, seed: int) -> None:
    case = kind(seed)
    for i, outputs in enumerate(case.outputs):
        points = outputs.counts @ case.matrices[i]
        squares = (points**2).sum(axis=1)
        distance = np.sqrt(np.maximum(0, squares[:, None] + squares[None, :] - 2 * points @ points.T)).max()
        assert case.problem.radius(i) >= distance * (1 - 1e-9)


def test_radius_counts_every_length_of_tuples_however_few_are_left() -> None:
    """With two labels that never meet there are as few tuples of order 2 as pairs of order 1."""
    for order in (1, 2, 3):
        problem = bind(
            Chain(order, forbidden=[("a", "b"), ("b", "a")]),
            [[[]] * 6, [[]] * 6],
            np.repeat([0, 1], 6).astype(np.int32),
            feature_map=FeatureTable(),
            classes=["a", "b"],
        )
        distance = np.zeros(problem.dim)
        problem.scatter(0, np.bincount(problem.gold(0), minlength=problem.parts(0)).astype(float), 1.0, distance)
        problem.scatter(1, np.bincount(problem.gold(1), minlength=problem.parts(1)).astype(float), -1.0, distance)
        assert problem.radius(0) >= np.linalg.norm(distance) * (1 - 1e-12)


@every_kind
def test_features_refuse_wrong_lengths_in_words(kind: Kind) -> None:
    case = kind(2)
    if not isinstance(case.problem, _core.BoundProblem | _core.SliceProblem):
        pytest.skip("a direct call is the user's own method")
    n, dim = case.outputs[1].n, case.problem.dim
    with pytest.raises(MargraveError, match=f"w must have length {dim}"):
        case.problem.score(1, np.zeros(dim + 1))
    with pytest.raises(MargraveError, match=f"mu must have length {n}"):
        case.problem.scatter(1, np.zeros(n + 1), 1.0, np.zeros(dim))
    with pytest.raises(MargraveError, match=f"g must have length {dim}"):
        case.problem.scatter(1, np.zeros(n), 1.0, np.zeros(dim + 1))
    with pytest.raises(MargraveError, match=f"v must have length {n}"):
        case.problem.row(1, np.zeros(n + 1))
    with pytest.raises(MargraveError, match=f"u must have length {dim}"):
        case.problem.dot(np.zeros(dim + 1), np.zeros(dim))


@pytest.mark.parametrize("what", ["float32", "strided", "read-only"])
def test_what_scatter_cannot_write_to_is_refused_rather_than_copied(what: str) -> None:
    case = next(kind for kind in KINDS if kind.name == "chain")(1)
    dim = case.problem.dim
    g: Any = {"float32": np.zeros(dim, np.float32), "strided": np.zeros(2 * dim)[::2], "read-only": np.zeros(dim)}[what]
    if what == "read-only":
        g.flags.writeable = False
    with pytest.raises(TypeError):
        case.problem.scatter(1, np.ones(case.outputs[1].n), 1.0, g)


@pytest.mark.parametrize("what", ["float32", "strided", "read-only"])
def test_weights_that_a_pass_cannot_write_to_are_refused_rather_than_copied(what: str) -> None:
    case = next(kind for kind in KINDS if kind.name == "chain")(1)
    dim, order, family = case.problem.dim, np.arange(len(case)), _core.LossFamily(1.0, 0.0)
    w: Any = {"float32": np.zeros(dim, np.float32), "strided": np.zeros(2 * dim)[::2], "read-only": np.zeros(dim)}[what]
    if what == "read-only":
        w.flags.writeable = False
    with pytest.raises(TypeError):
        _core.sgd_pass(case.problem, w, family, order, 0.1, 0)
    with pytest.raises(TypeError):
        _core.perceptron_pass(case.problem, w, family, order, np.zeros(dim), 0)
    with pytest.raises(TypeError):
        _core.perceptron_pass(case.problem, np.zeros(dim), family, order, w, 0)


@pytest.mark.parametrize("pairs", ["observed", "all"])
@pytest.mark.parametrize("real", [False, True])
def test_tables_of_every_number_of_labels_are_their_matrix(pairs: str, real: bool) -> None:
    """Up to 32 labels the compiler knows their number, and four are taken at a time."""
    rng = np.random.default_rng(0)
    for labels in range(1, 42):
        x = rng.integers(-3, 4, (60, 9)) / 2.0 if real else (rng.random((60, 9)) < 0.5).astype(float)
        gold = np.concatenate([np.arange(labels), rng.integers(0, labels, 60 - labels)]).astype(np.int32)
        problem = bind(Multiclass(), x, gold, feature_map=FeatureTable(pairs), classes=list(range(labels)))
        seen = np.zeros((9, labels), dtype=bool)
        for row, label in zip(x, gold, strict=True):
            seen[:, label] |= row != 0
        kept = seen if pairs == "observed" else np.ones((9, labels), dtype=bool)
        assert problem.dim == kept.sum()
        w, mu = rng.standard_normal(problem.dim), rng.standard_normal(labels)
        table = np.zeros((9, labels))
        table[kept] = w
        for i in range(0, 60, 7):
            assert_allclose(problem.score(i, w), x[i] @ table, rtol=1e-12, atol=1e-12)
            g = np.ones(problem.dim)
            problem.scatter(i, mu, 3.0, g)
            assert_allclose(g, 1 + 3 * np.outer(x[i], mu)[kept], rtol=1e-12, atol=1e-12)


# ---- rows -----------------------------------------------------------------------------------------------------------


def scores_of(x, feature_map: FeatureTable, w: np.ndarray) -> np.ndarray:
    problem = bind(Multiclass(), x, None, feature_map=feature_map, classes=["a", "b"])
    return np.array([problem.score(i, w) for i in range(problem.size)])


def fitted(x, labels=(0, 1), **settings_of_table) -> tuple[FeatureTable, _core.Problem]:
    feature_map = FeatureTable(**settings_of_table)
    problem = bind(Multiclass(), x, np.array(labels, dtype=np.int32), feature_map=feature_map, classes=["a", "b"])
    return feature_map, problem


def test_the_same_attributes_in_any_form_make_the_same_rows() -> None:
    rows = [["u", "v"], ["v"]]
    forms = [
        rows,
        [tuple(row) for row in rows],
        [dict.fromkeys(row, 1.0) for row in rows],
        [dict.fromkeys(row, 1) for row in rows],
    ]
    w = np.arange(1.0, 4.0)
    results = []
    for form in forms:
        feature_map, problem = fitted(form)
        assert problem.dim == 3  # (u, a), (v, a), (v, b)
        results.append(scores_of(form, feature_map, w))
    assert all(np.array_equal(result, results[0]) for result in results)
    assert results[0].tolist() == [[3.0, 3.0], [2.0, 3.0]]


def test_vectors_in_any_form_make_the_same_rows() -> None:
    x = np.array([[0.0, 2.0, -1.0], [1.0, 0.0, 0.5]])
    w = np.arange(1.0, 7.0)
    for form in (x, csr_matrix(x), csr_array(x), x.astype(np.float32), np.asfortranarray(x)):
        feature_map, problem = fitted(form, pairs="all")
        assert problem.dim == 6
        assert_allclose(scores_of(form, feature_map, w), x @ w.reshape(3, 2), rtol=1e-15)
    # a sparse matrix may list an entry twice, or a zero
    twice = csr_matrix((np.array([1.0, 1.0, -1.0, 1.0, 0.5, 0.0]), np.array([1, 1, 2, 0, 2, 1]), np.array([0, 3, 6])))
    feature_map, _ = fitted(twice, pairs="all")
    assert_allclose(scores_of(twice, feature_map, w), x @ w.reshape(3, 2), rtol=1e-15)


def test_names_may_be_any_text_and_values_any_number() -> None:
    names = ["", " ", "a=b", "ü", "日本語", "x" * 1000, "\0", "a\0b", "🙂"]
    feature_map, problem = fitted([names, []])
    assert problem.dim == len(names)
    assert feature_map.encoder.vocabulary is not None
    assert feature_map.encoder.vocabulary.names() == names
    assert [feature_map.encoder.vocabulary.find(name) for name in names] == list(range(len(names)))
    feature_map, _ = fitted(
        [{"n": np.float32(0.5), "i": 3, "t": True, "s": "text", "zero": 0.0}, {"n": -2.5}], pairs="all"
    )
    assert feature_map.encoder.vocabulary.names() == ["n", "i", "t", "s=text"]
    w = np.arange(1.0, 9.0)
    expected = np.array([[0.5, 3, 1, 1], [-2.5, 0, 0, 0]]) @ w.reshape(4, 2)
    assert_allclose(scores_of([{"n": 0.5, "i": 3, "t": 1, "s": "text"}, {"n": -2.5}], feature_map, w), expected)


def test_attributes_that_are_made_when_asked_for_are_those_of_lists() -> None:
    """Generators own their tokens, and nobody else does."""
    rows = [[{f"name {i} {t} {k}": k + 0.5 for k in range(5)} for t in range(4)] for i in range(50)]
    listed, lazy = _core.Vocabulary(), _core.Vocabulary()
    expected = _core.encode(rows, listed, True, 0, False)
    found = _core.encode(
        (({f"name {i} {t} {k}": k + 0.5 for k in range(5)} for t in range(4)) for i in range(50)), lazy, True, 0, False
    )
    assert lazy.names() == listed.names()
    assert (found.examples, found.tokens, found.entries) == (expected.examples, expected.tokens, expected.entries)


def test_an_attribute_that_training_never_saw_scores_nothing() -> None:
    feature_map, problem = fitted([["u"], ["v"]], pairs="all")
    w = np.arange(1.0, problem.dim + 1)
    assert scores_of([["u", "new"], ["new"]], feature_map, w).tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert len(feature_map.encoder.vocabulary) == 2


@given(names=st.lists(st.text(max_size=40), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_hashed_attributes_are_where_the_hash_of_their_bytes_says(names: list[str]) -> None:
    """Model files depend on it, so that it may never change."""
    feature_map, problem = fitted([names, []], hash_bits=6, pairs="all")
    assert problem.dim == 2 * 64
    for k, name in enumerate(names):
        w = np.zeros(128)
        w[2 * hash_of(name, 6)] = 1.0
        assert scores_of([[name]], feature_map, w)[0, 0] == 1.0, k


def test_the_hash_is_the_one_of_the_first_version() -> None:
    assert [hash_of(name, 30) for name in ("", "a", "attribute", "0[0]=the")] == HASHES


HASHES = [531038009, 684678358, 26415257, 526896349]


def test_a_vocabulary_finds_its_names_after_growing_and_from_its_arrays() -> None:
    names = [f"name {k}" for k in range(5000)]
    feature_map, _ = fitted([names, names[::-1]])
    vocabulary = feature_map.encoder.vocabulary
    assert vocabulary is not None and len(vocabulary) == 5000
    again = _core.Vocabulary(*vocabulary.arrays())
    for v in (vocabulary, again):
        assert v.names() == names
        assert [v.find(name) for name in names] == list(range(5000))
        assert v.find("name 5000") == -1


def test_bad_attributes_are_refused_by_their_place() -> None:
    for x, message in (
        (["text", "text"], "example 0"),
        ([["u"], 3], "example 1"),
        ([["u"], [3]], "example 1"),
        ([["u"], [None]], "example 1"),
        ([{"u": None}, []], "attribute 'u'"),
        ([{"u": float("nan")}, []], "attribute 'u' has the value nan"),
        ([{"u": float("-inf")}, []], "attribute 'u' has the value"),
        ([{3: 1.0}, []], "example 0"),
        ([["\ud800"], []], "example 0"),
        (3, "X must be a sequence"),
        ("text", "X must be a sequence"),
    ):
        with pytest.raises(MargraveError, match=message):
            fitted(x)
    with pytest.raises(MargraveError, match="finite"):
        fitted(np.array([[1.0], [np.nan]]))
    with pytest.raises(MargraveError, match="two-dimensional"):
        fitted(np.zeros(2))
    with pytest.raises(MargraveError, match="2 examples and 1 labels"):
        fitted([["u"], ["v"]], labels=[0])
    feature_map, _ = fitted(np.zeros((2, 3)))
    with pytest.raises(MargraveError, match="length 3"):
        bind(Multiclass(), np.zeros((2, 4)), None, feature_map=feature_map, classes=["a", "b"])
    with pytest.raises(MargraveError, match="vectors"):
        bind(Multiclass(), [["u"]], None, feature_map=feature_map, classes=["a", "b"])


def bind_chain(X, labels, **options) -> _core.Problem:
    structure = {k: options.pop(k) for k in ("order", "tied", "forbidden") if k in options}
    feature_map = options.pop("feature_map", None) or FeatureTable()
    return bind(
        Chain(**structure),
        X,
        None if labels is None else np.array(labels, dtype=np.int32),
        feature_map=feature_map,
        classes=[0, 1],
        **options,
    )


def test_bad_sequences_are_refused_in_words() -> None:
    X = [[["u"], ["v"]], [["u"]]]
    assert bind_chain(X, [0, 1, 0]).size == 2
    for x, labels, options, message in (
        ([[["u"]], []], [0], {}, "example 1 is an empty sequence"),
        (X, [0, 1], {}, "1 tokens and 0 labels"),
        (X, None, {}, "no outputs"),
        (X, [0, 1, 0], {"edges": [[["e"], ["e"]]]}, "every token"),
        (X, [0, 1, 0], {"edges": [[["e"]], [["e"], ["e"]]]}, "every token"),
        (X, [0, 1, 0], {"allowed": np.ones((2, 2), dtype=bool)}, "allowed"),
        (X, [0, 1, 0], {"order": 4}, "order of a chain"),
        (X, [0, 1, 0], {"scale": -1.0}, "scale"),
        (X, [0, 1, 0], {"scale": np.nan}, "scale"),
        (X, [0, 1, 0], {"forbidden": [(0, 7)]}, "forbidden transitions"),
    ):
        with pytest.raises(MargraveError, match=message):
            bind_chain(x, labels, **options)


def test_a_label_that_is_not_among_the_classes_is_refused() -> None:
    for structure, X, Y in ((Chain(), [[["u"]]], [["c"]]), (Multiclass(), [["u"]], ["c"])):
        feature_map = ChainMap() if isinstance(structure, Chain) else FeatureTable()
        with pytest.raises(MargraveError, match="the label 'c' is not among the classes"):
            bind_examples(structure, feature_map, Examples(X, Y), outputs=Labels(np.array(["a", "b"])))


def test_sequences_with_transition_attributes_need_them_again_and_others_refuse_them() -> None:
    X = [[["u"], ["v"]]]
    with_edges, without = FeatureTable(), FeatureTable()
    bind_chain(X, [0, 1], feature_map=with_edges, edges=[[[], ["e"]]])
    bind_chain(X, [0, 1], feature_map=without)
    with pytest.raises(MargraveError, match="transition attributes"):
        bind_chain(X, None, feature_map=with_edges)
    with pytest.raises(MargraveError, match="transition attributes"):
        bind_chain(X, None, feature_map=without, edges=[[[], ["e"]]])


def test_a_bound_problem_scores_new_sequences_with_the_weights_it_learned() -> None:
    feature_map = FeatureTable()
    train = bind_chain([[["u"], ["v"]], [["v"]]], [0, 1, 0], feature_map=feature_map)
    new = bind_chain([[["v"], ["new"], ["u"]]], None, feature_map=feature_map)
    assert new.dim == train.dim and not new.has_gold
    w = np.arange(1.0, train.dim + 1)  # (u, 0), (v, 0), (v, 1), then the transition 0 -> 1
    assert new.score(0, w).tolist() == [2.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 4.0, 0.0, 0.0]
    with pytest.raises(MargraveError, match="gold"):
        new.gold(0)
    with pytest.raises(MargraveError, match="gold"):
        _core.losses_and_gradient(new, w, _core.LossFamily(1.0, 0.0), 1, True)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_sequences_at_all_make_a_problem_of_size_0(order: int) -> None:
    assert bind_chain([], [], order=order).size == 0


def test_an_empty_input_makes_a_problem_of_size_0_after_any_training() -> None:
    feature_map, _ = fitted([["u"], ["v"]])
    assert bind(Multiclass(), [], None, feature_map=feature_map, classes=["a", "b"]).size == 0
    vectors, _ = fitted(np.ones((2, 3)))
    assert bind(Multiclass(), np.ones((0, 3)), None, feature_map=vectors, classes=["a", "b"]).size == 0
    of_chain = FeatureTable()
    bind_chain([np.ones((2, 3))], [0, 1], feature_map=of_chain)
    assert bind_chain([], None, feature_map=of_chain).size == 0
    arcs = SparseMap()
    bind(NonProjectiveTree(), [np.ones((4, 2))], [[0, 1]], feature_map=arcs)
    assert bind(NonProjectiveTree(), [], None, feature_map=arcs).size == 0


def test_features_are_named_as_on_the_command_line() -> None:
    assert table_named("observed").pairs == "observed"
    assert table_named("all").pairs == "all"
    assert (table_named("hash:5").pairs, table_named("hash:5").hash_bits) == ("all", 5)
    for bad in ("hash", "hash:", "hash:0", "hash:31", "hash:x", "observed:3", "nothing"):
        with pytest.raises(MargraveError, match="unknown weights"):
            table_named(bad)


# ---- what a damaged model file could hold ---------------------------------------------------------------------------


def test_vocabularies_that_lie_are_refused() -> None:
    text, offsets = np.frombuffer(b"abcd", dtype=np.uint8), np.array([0, 1, 2, 4])
    assert _core.Vocabulary(text, offsets).names() == ["a", "b", "cd"]
    assert _core.Vocabulary(text[:0], offsets[:1]).names() == []
    for lie in (
        (text, offsets[:-1]),  # not all bytes
        (text, np.append(offsets, 5)),  # more bytes than there are
        (text, np.array([1, 2, 4])),
        (text, np.array([0, 3, 2, 4])),
        (text, np.array([0, -1, 4])),
        (text, np.zeros(0, dtype=np.int64)),
        (np.frombuffer(b"aa", dtype=np.uint8), np.array([0, 1, 2])),  # one name twice
    ):
        with pytest.raises(MargraveError):
            _core.Vocabulary(*lie)


def test_names_that_are_no_text_are_refused() -> None:
    with pytest.raises((MargraveError, UnicodeDecodeError)):
        _core.Vocabulary(np.frombuffer(b"\xff\xfe", dtype=np.uint8), np.array([0, 2])).names()


def test_tables_of_any_shape_are_checked() -> None:
    longs, shorts = (lambda x: np.array(x, dtype=np.int64)), (lambda x: np.array(x, dtype=np.uint16))
    assert _core.Pairs(2, longs([0, 2, 2]), shorts([0, 1])).size == 2
    for begin, column in (([0, 1], [0, 1]), ([0, 2, 1], [0]), ([1, 2], [0, 1]), ([], []), ([0, 1], [2])):
        with pytest.raises(MargraveError):
            _core.Pairs(2, longs(begin), shorts(column))
    for attributes, labels in ((-1, 2), (2, 0), (2**40, 2**40)):
        with pytest.raises(MargraveError):
            _core.Pairs(attributes, labels)


def test_a_table_whose_row_lists_a_column_twice_is_refused() -> None:
    """Rows are stored with 16 bits for their length: one with 65536 columns or more would be read wrongly."""
    with pytest.raises(MargraveError):
        _core.Pairs(2, np.array([0, 2], dtype=np.int64), np.array([1, 1], dtype=np.uint16))
    with pytest.raises(MargraveError):
        _core.Pairs(2, np.array([0, 70_000], dtype=np.int64), np.zeros(70_000, dtype=np.uint16))


def test_rows_of_any_shape_are_checked() -> None:
    longs, ints = (lambda x: np.array(x, dtype=np.int64)), (lambda x: np.array(x, dtype=np.int32))
    assert _core.Tokens(longs([0, 1]), longs([0, 2]), ints([0, 5]), None).entries == 2
    for arguments in (
        (longs([0, 2]), longs([0, 2]), ints([0, 5]), None),
        (longs([0, 1]), longs([0, 1]), ints([0, 5]), None),
        (longs([1, 1]), longs([0, 2]), ints([0, 5]), None),
        (longs([0, 1]), longs([0, 2]), ints([0, -5]), None),
        (longs([0, 1]), longs([0, 2]), ints([0, 5]), np.ones(1)),
        (longs([0, 1]), longs([0, 2]), ints([0, 5]), np.array([1.0, np.nan])),
        (longs([]), longs([0]), ints([]), None),
    ):
        with pytest.raises(MargraveError):
            _core.Tokens(*arguments)
    rows = _core.Tokens(longs([0, 1]), longs([0, 2]), ints([0, 5]), None)
    with pytest.raises(MargraveError, match="out of the table's range"):
        _core.table(rows, _core.Pairs(5, 2), longs([]), 0, 0, True, 1.0, False, False, None, None)
    with pytest.raises(MargraveError, match="out of range"):
        _core.sparse_parts(5, rows, longs([1]))


def test_features_that_belong_to_other_examples_are_refused(child) -> None:
    """Their rows are read by the structure's examples: fewer of them must not be read beyond their end."""
    printed = child("""
begin = np.array([0, 3, 6])
structure = _core.chain(2, begin, None, None, None, 1, True, None)
rows = _core.Tokens(np.array([0, 1]), np.array([0, 1]), np.zeros(1, np.int32), None)
grams = np.arange(4)
table = _core.table(rows, _core.Pairs(1, 2), grams, 4, 1, True, 1.0, False, False, None, None)
try:
    _core.join(structure, table)
except MargraveError as error:
    print("refused:", error)
""")
    assert "refused" in printed


def test_ragged_bounds_are_those_of_the_users_sequences() -> None:
    rows = _core.encode([[["a"], ["b", "c"]], [[]]], _core.Vocabulary(), True, 0, False)
    assert rows.example_begin.tolist() == [0, 2, 3]
    assert (rows.examples, rows.tokens, rows.entries) == (2, 3, 3)
    assert all(b > a for a, b in pairwise(rows.example_begin.tolist()))
