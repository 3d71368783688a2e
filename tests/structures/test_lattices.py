"""Lattices: random ones with many paths, distinct and good strings, the engine that they must equal, and files."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from margrave import LatticeDecoder, MargraveError, _core, load
from margrave.data import Lattice
from margrave.data.lattices import Edge
from margrave.datasets import from_plf, read_lattices, to_plf, write_lattices
from margrave.errors import DataError
from margrave.examples import Examples
from margrave.features import EdgeFeatures
from margrave.learners import LP
from margrave.losses import Hamming, Hinge, LatentHinge, SoftmaxMargin
from margrave.structures import LatticePaths, NoOutputs
from margrave.testing.enumeration import Outputs
from tests.references.enumeration import check_division, lattice_paths, random_lattice
from tests.registry.hypergraphs import core_graph
from tests.registry.lattices import lattice_graph

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=30, deadline=None)


def problem_of(bound: _core.Structure, parts: int) -> _core.Problem:
    """The structure of one example with one weight per part."""
    rows = _core.Tokens(np.array([0, parts]), np.arange(parts + 1), np.arange(parts, dtype=np.int32), None)
    features = _core.sparse_parts(parts, rows, bound.choices, bound.repeats)
    return (
        LatticePaths().join(bound, features)
        if isinstance(bound, _core.LatticeStructure)
        else _core.join(bound, features)
    )


def bound_of(lattice: Lattice, good=None) -> _core.LatticeStructure:
    units = np.array([len(lattice.edges)], dtype=np.int64)
    Y = None if good is None else [good]
    return LatticePaths().bind(
        NoOutputs(), Examples.of_sizes(units, Y, X=[lattice]), None if good is None else Hamming()
    )


def large_lattice(rng: np.random.Generator, epsilon: bool) -> tuple[Lattice, list[tuple[int, ...]]]:
    """A lattice with up to 500 paths."""
    while True:
        lattice = random_lattice(rng, epsilon, nodes=11, words=3)
        paths = lattice_paths(lattice)
        if len(paths) <= 500:
            return lattice, paths


@given(seed=seeds, epsilon=st.booleans())
@some
def test_inference_is_that_of_the_enumeration(seed: int, epsilon: bool) -> None:
    rng = np.random.default_rng(seed)
    lattice, paths = large_lattice(rng, epsilon)
    outputs = Outputs(len(lattice.edges), paths)
    problem = problem_of(bound_of(lattice), outputs.n)
    for size in (1.0, 30.0, 1000.0):
        theta = size * rng.standard_normal(outputs.n)
        theta[rng.random(outputs.n) < 0.1] = -np.inf
        values = outputs.values(theta).astype(float)
        order = np.sort(values[values > -np.inf])[::-1]
        value, _ = problem.argmax(0, theta)
        if len(order) == 0:
            assert value == -np.inf and problem.logsum(0, theta)[0] == -np.inf
            continue
        assert_allclose(value, order[0], rtol=1e-9)
        log_z, mu = problem.logsum(0, theta)
        expected, marginals = outputs.logsum(theta)
        assert_allclose(log_z, expected, rtol=1e-9)
        assert_allclose(mu, marginals, rtol=1e-9, atol=1e-30)
        found = problem.kbest(0, theta, 600)
        assert_allclose([each for each, _ in found], order, rtol=1e-9)
        assert len({tuple(y.tolist()) for _, y in found}) == len(order)


@given(seed=seeds, epsilon=st.booleans())
@some
def test_distinct_strings_are_complete_and_in_order(seed: int, epsilon: bool) -> None:
    rng = np.random.default_rng(seed)
    lattice, paths = large_lattice(rng, epsilon)
    bound = bound_of(lattice)
    theta = rng.standard_normal(len(lattice.edges))
    best: dict[str, float] = {}
    for path in paths:
        string = lattice.string(path)
        best[string] = max(best.get(string, -np.inf), float(theta[list(path)].sum()))
    expected = sorted(best.items(), key=lambda item: -item[1])
    for k in (1, 3, len(best) + 5):
        found = bound.kbest_strings(0, theta, k)
        strings = [lattice.string(parts.tolist()) for _, parts in found]
        assert len(set(strings)) == len(strings) == min(k, len(best))
        assert_allclose([value for value, _ in found], [value for _, value in expected[:k]])
        assert_allclose([best[string] for string in strings], [value for value, _ in found])


@given(seed=seeds, epsilon=st.booleans())
@some
def test_the_product_with_the_trie_divides_the_paths(seed: int, epsilon: bool) -> None:
    rng = np.random.default_rng(seed)
    lattice, paths = large_lattice(rng, epsilon)
    strings = [lattice.string(path) for path in paths]
    distinct = sorted(set(strings))
    good = [str(each) for each in rng.permutation(distinct)[: int(rng.integers(1, 5))]] + ["no such string"]
    problem = problem_of(bound_of(lattice, good), len(lattice.edges))
    assert "good" in problem.offers
    outputs = Outputs(len(lattice.edges), paths)
    is_good = np.array([string in good for string in strings])
    best = check_division(problem, rng.standard_normal(len(lattice.edges)), outputs, is_good)
    assert all((lattice.string(y) in good) == wanted for wanted, y in best.items())
    delta, c0 = problem.cost(0)
    assert c0 == 0 and not delta[outputs.counts[is_good].any(axis=0)].any()


def test_inference_on_a_large_lattice_is_that_of_the_hypergraph_engine() -> None:
    rng = np.random.default_rng(0)
    nodes, words = 300, ["a", "b", "c"]
    edges = [(v, v + int(step), str(rng.choice(words))) for v in range(nodes) for step in rng.integers(1, 6, 5)]
    lattice = Lattice.of([(tail, min(head, nodes), word) for tail, head, word in edges], start=0, end=nodes)
    n = len(lattice.edges)
    problem = problem_of(bound_of(lattice), n)
    engine = problem_of(
        _core.hypergraphs([core_graph(lattice_graph(lattice))], np.array([n], dtype=np.int64), None, None, None), n
    )
    for size in (0.0, 1.0, 50.0):
        theta = size * rng.standard_normal(n)
        assert_allclose(problem.argmax(0, theta)[0], engine.argmax(0, theta)[0])
        for ours, theirs in zip(problem.logsum(0, theta), engine.logsum(0, theta), strict=True):
            assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        for ours, theirs in zip(problem.kbest(0, theta, 20), engine.kbest(0, theta, 20), strict=True):
            assert_allclose(ours[0], theirs[0])


def test_the_first_of_several_best_paths_is_that_of_the_hypergraph_engine() -> None:
    """Of the edges with which a best path to a node can end, the first is taken."""
    rng = np.random.default_rng(2)
    edges = [(v, min(v + int(step), 60), "w") for v in range(60) for step in (1, *rng.integers(1, 9, 7))]
    lattice = Lattice.of(edges, start=0, end=60)
    n = len(lattice.edges)
    graph = core_graph(lattice_graph(lattice))
    engine = problem_of(_core.hypergraphs([graph], np.array([n], dtype=np.int64), None, None, None), n)
    problem = problem_of(bound_of(lattice), n)
    for highest in (1, 2, 3):
        theta = rng.integers(0, highest, n).astype(float)
        theta[rng.random(n) < 0.2] = -np.inf
        assert problem.argmax(0, theta)[1].tolist() == engine.argmax(0, theta)[1].tolist()


def test_more_paths_than_numbers_can_count_are_summed() -> None:
    edges = [(v, v + 1, word) for v in range(2000) for word in "abc"]
    problem = problem_of(bound_of(Lattice.of(edges)), len(edges))
    log_z, mu = problem.logsum(0, np.zeros(len(edges)))
    assert_allclose(log_z, 2000 * np.log(3))
    assert_allclose(mu, 1 / 3)
    assert len(problem.sample(0, np.zeros(len(edges)), 0)) == 2000


# ---- files -----------------------------------------------------------------------------------------------------------


def test_files_are_read_back(tmp_path) -> None:
    rng = np.random.default_rng(1)
    lattices = [
        Lattice.of(
            [(*edge[:3], {"x": float(rng.integers(9))}) for edge in random_lattice(rng, True).edges],
            start=0,
            good=["a b", "b"],
            id=f"lattice {k}",
        )
        for k in range(5)
    ]
    for name in ("some.jsonl", "some.jsonl.gz"):
        write_lattices(tmp_path / name, lattices)
        again = list(read_lattices(tmp_path / name))
        assert [(each.nodes, each.edges, each.good, each.id) for each in again] == [
            (each.nodes, each.edges, each.good, each.id) for each in lattices
        ]
    with gzip.open(tmp_path / "some.jsonl.gz", "rt") as file:
        assert file.readline().startswith("{")


def test_nodes_keep_their_names_in_files(tmp_path) -> None:
    edges = [("go", "x", "a"), ("go", 7, "b"), ("x", 7, "c"), (7, "end", "")]
    lattice = Lattice.of(edges, good=["a c"])
    write_lattices(tmp_path / "named.jsonl", [lattice])
    (again,) = read_lattices(tmp_path / "named.jsonl")
    assert again.names == lattice.names == ("go", "x", 7, "end")
    assert again == lattice
    plain = Lattice(lattice.nodes, lattice.edges)  # without names, nodes are written by their numbers
    write_lattices(tmp_path / "plain.jsonl", [plain])
    assert next(read_lattices(tmp_path / "plain.jsonl")).edges == plain.edges


def test_one_good_string_needs_no_list(tmp_path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"edges": [{"from": 0, "to": 1, "word": "ab"}], "good": "ab"}\n')
    assert [each.good for each in read_lattices(path)] == [Lattice.of([(0, 1, "ab")], good="ab").good] == [("ab",)]


def test_characters_of_two_escapes_are_read(tmp_path) -> None:
    path = tmp_path / "pair.jsonl"
    path.write_text('{"edges": [{"from": 0, "to": 1, "word": "\\ud83d\\ude00"}]}\n')
    assert [each.edges[0].word for each in read_lattices(path)] == ["\U0001f600"]


def test_plf_refuses_features_that_it_cannot_hold() -> None:
    with pytest.raises(MargraveError, match="PLF has no feature but weight, and an edge has 'lm'"):
        to_plf(Lattice.of([(0, 1, "a", {"weight": 1.0}), (0, 1, "b", {"lm": 2.0})]))
    assert to_plf(Lattice.of([(0, 1, "a")])) == "((('a', 0.0, 1),),)"


def test_plf_is_read_and_written(tmp_path) -> None:
    text = "((('ein\\'s', 0.5, 1), ('*EPS*', 0.25, 2),), (('zwei', 1.0, 1),),)"
    lattice = from_plf(text)
    assert [(edge.tail, edge.head, edge.word) for edge in lattice.edges] == [
        (0, 1, "ein's"),
        (0, 2, ""),
        (1, 2, "zwei"),
    ]
    assert lattice.edges[0].features == {"weight": 0.5}
    assert from_plf(to_plf(lattice)) == lattice
    (tmp_path / "some.plf").write_text(text + "\n\n" + text + "\n")
    assert [each.id for each in read_lattices(tmp_path / "some.plf")] == ["1", "3"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"edges": [{"from": 0, "to": 1}, {"from": 1, "to": 2}, {"from": 2, "to": 1}]}',
            "cycle through the nodes 1, 2",
        ),
        ('{"edges": [{"from": "a", "to": "a"}]}', "cycle through the nodes a"),
        ('{"edges": []}', "at least one edge"),
        ('{"edges": [{"from": 0, "to": 2}, {"from": 1, "to": 2}]}', "2 nodes without incoming edges"),
        ('{"edges": [{"from": 0, "to": 1}], "start": 7}', "start node 7"),
        ('{"edges": [{"from": 0, "to": 1, "word": "a b"}]}', "without blanks"),
        ('{"edges": [{"from": 0, "to": 1, "features": {"x": "y"}}]}', "finite numbers"),
        ('{"edges": [{"from": 0, "to": 1, "weight": 1}]}', "an edge has"),
        ('{"edges": [{"from": 0.5, "to": 1}]}', "a node is a number or a text"),
        ('{"arcs": []}', "not 'arcs'"),
        ('{"edges"', "not JSON"),
        ('{"edges": [{"from": 0, "to": 1, "word": "\\ud800"}]}', "half of a character"),
        ('{"edges": [{"from": 0, "to": 1}], "good": ["a", "\\uDC00"]}', "half of a character"),
        ('{"edges": [{"from": 0, "to": 1}], "good": 7}', "a list of strings, or a string"),
        (
            '{"edges": [{"from": 0, "to": 1}, {"from": 2, "to": 3}], "start": 0, "end": 3}',
            "no path leads from its start 0",
        ),
        ("((('\\ud800', 0.5, 1),),)", "without blanks"),
        ("((('a', 0.5, 2),),)", "leads 2 nodes ahead"),
        ("((('a', 0.5, 0),),)", "leads 0 nodes ahead"),
        ("(('a', 0.5, 1),)", "an edge is"),
        ("import os", "expected a lattice"),
        ("(" * 1000, "expected a lattice"),
    ],
)
def test_mistakes_in_files_are_named_with_their_line(tmp_path, line: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"edges": [{"from": 0, "to": 1}]}\n' + line + "\n")
    with pytest.raises(DataError, match=message) as error:
        list(read_lattices(path))
    assert str(error.value).startswith(f"{path}, line 2: ")


# ---- the estimator ---------------------------------------------------------------------------------------------------


def spelling(k: int) -> Lattice:
    """Two ways to spell each of two words, of which the features tell the right one."""
    edges = []
    for place in range(2):
        for word in "ab":
            for way in range(2):
                right = float(word == "ab"[(k + place) % 2])
                edges.append((place, place + 1, word, {f"hint {way}": right, "noise": float((k + way) % 3)}))
    return Lattice.of(edges, id=str(k))


X = [spelling(k) for k in range(6)]
Y = [["a b" if k % 2 == 0 else "b a"] for k in range(6)]


@pytest.mark.parametrize("loss", ["latent-log", "latent-hinge", "log", "hinge"])
def test_a_decoder_learns_and_is_saved(loss: str, tmp_path) -> None:
    decoder = LatticeDecoder(loss, C=10.0, features=EdgeFeatures()).fit(X, Y)
    assert decoder.predict(X) == [strings[0] for strings in Y]
    assert decoder.score(X, Y) == 1.0
    decoder.save(tmp_path / "decoder.model")
    again = load(tmp_path / "decoder.model")
    assert again.predict_kbest(X, 3) == decoder.predict_kbest(X, 3)
    assert all(len({string for _, string in found}) == 3 for found in decoder.predict_kbest(X, 3))
    assert decoder.predict_kbest(X, 1)[0][0][1] == decoder.predict_kbest_paths(X, 4)[0][0][1]
    for marginals, lattice in zip(decoder.predict_marginals(X), X, strict=True):
        assert_allclose(sum(mu for mu, edge in zip(marginals, lattice.edges, strict=True) if edge.tail == 0), 1.0)
    if loss.startswith("latent"):
        assert decoder.certificate_.gap is None
        assert len(decoder.starts_) == 3
        assert min(start["objective"] for start in decoder.starts_) == pytest.approx(decoder.certificate_.primal)


def test_a_decoder_of_given_weights_answers_as_the_one_that_learned_them(tmp_path) -> None:
    learned = LatticeDecoder("latent-log", C=10.0).fit(X, Y)
    decoder = LatticeDecoder.of_weights(dict(zip(learned.map_.encoder.names(), learned.coef_.tolist(), strict=True)))
    decoder.save(tmp_path / "m")
    for each in (decoder, load(tmp_path / "m")):
        assert each.predict_kbest(X, 3) == learned.predict_kbest(X, 3)
        assert_array_equal(each.log_probability(X, [y[0] for y in Y]), learned.log_probability(X, [y[0] for y in Y]))
    assert decoder.certificate_.primal == pytest.approx(0.5 * float(learned.coef_ @ learned.coef_))
    for wrong in ({"a": np.nan}, {"a": "1"}, {1: 2.0}, ["a"]):
        with pytest.raises(MargraveError, match=r"weights must be a dictionary|the weight of 'a' must be"):
            LatticeDecoder.of_weights(wrong)


@pytest.mark.parametrize("learner", ["cccp", "lbfgs"])
def test_the_latent_log_loss_is_that_of_its_definition(learner: str) -> None:
    decoder = LatticeDecoder("latent-log", C=3.0, learner=learner, tol=1e-6).fit(X, Y)
    assert decoder.certificate_.gap is None
    if learner == "lbfgs":
        assert all(0.5 * start["gradient"] ** 2 <= 1e-6 * start["objective"] for start in decoder.starts_)
    objective = 0.5 * float(decoder.coef_ @ decoder.coef_)
    for lattice, good in zip(X, Y, strict=True):
        features = EdgeFeatures().transform([lattice])[0]
        names = decoder.map_.encoder.names()
        theta = np.array([sum(decoder.coef_[names.index(n)] * v for n, v in edge.items()) for edge in features])
        paths = lattice_paths(lattice)
        values = np.array([theta[list(path)].sum() for path in paths])
        is_good = np.array([lattice.string(path) in good for path in paths])
        objective += 3.0 * (logsumexp(values) - logsumexp(values[is_good]))
    assert_allclose(decoder.certificate_.primal, objective, rtol=1e-9)


@pytest.mark.parametrize("margin", ["one", "cost"])
@pytest.mark.parametrize("program", ["all", "closest"])
def test_lp_separates_good_paths_from_the_others(program: str, margin: str) -> None:
    learner = LP(program=program, margin=margin, free_sign=True)
    decoder = LatticeDecoder("hinge", C=10.0, learner=learner, tol=1e-3).fit(X, Y)
    assert decoder.predict(X) == [strings[0] for strings in Y]
    if program == "all":
        assert decoder.certificate_.relative_gap <= 1e-3 and decoder.certificate_.exact
    else:
        assert not decoder.certificate_.exact and "no statement about program 7" in decoder.stop_reason_


def test_lp_refuses_a_metric_that_it_could_not_use() -> None:
    learner = LP(program="closest", metric=lambda good, wrong: 0.0)
    with pytest.raises(MargraveError, match="lp takes no metric where good outputs are not listed"):
        LatticeDecoder("hinge", learner=learner).fit(X, Y)


def test_lattices_without_a_good_path_are_counted_listed_or_skipped() -> None:
    bad = [*Y[:2], ["c"], *Y[3:]]
    with pytest.raises(MargraveError, match=r"1 of 6 lattices have no path that spells a good string \(id 2\)"):
        LatticeDecoder().fit(X, bad)
    decoder = LatticeDecoder(unreachable="skip").fit(X, bad, sample_weight=np.ones(6))
    assert decoder.n_skipped_ == 1
    with pytest.raises(MargraveError, match="no lattice has a path"):
        LatticeDecoder(unreachable="skip").fit(X, [["c"]] * 6)


TWO_WAYS = Lattice.of([(0, 1, "a", {"x": 1.0}), (0, 1, "a", {"x": 1.0}), (0, 1, "b", {"y": 1.0})])
TWO_STRINGS = Lattice.of([(0, 1, "a", {"x": 1.0}), (0, 1, "c", {"z": 1.0}), (0, 1, "b", {"y": 1.0})])
ONE_WAY = Lattice.of([(0, 1, "a", {"x": 1.0}), (0, 1, "b", {"y": 1.0})])


@pytest.mark.parametrize(
    "learner", ["auto", "bcfw", "cutting-plane", "one-slack", "mira", "kbest-mira", "sgd", "perceptron"]
)
@pytest.mark.parametrize(("lattice", "good"), [(TWO_WAYS, ["a"]), (TWO_STRINGS, ["a", "c"])])
def test_no_learner_lets_the_zero_one_cost_charge_good_paths(learner: str, lattice: Lattice, good: list[str]) -> None:
    with pytest.raises(MargraveError, match="use cost='hamming', or learner='lp'"):
        LatticeDecoder(Hinge("zero-one"), learner=learner, C=100.0).fit([lattice], [good])


def test_hard_margins_and_smooth_losses_do_not_charge_good_paths_either() -> None:
    for loss in (Hinge(slack=0), SoftmaxMargin("zero-one")):
        with pytest.raises(MargraveError, match="charge good outputs except for the first"):
            LatticeDecoder(loss).fit([TWO_WAYS], ["a"])


def test_the_zero_one_cost_is_exact_where_it_is_accepted() -> None:
    """lp leaves good paths alone, and with a single good path every learner does: w = (1/2, -1/2) has margin 1."""
    for lattice, good in ((TWO_WAYS, ["a"]), (TWO_STRINGS, ["a", "c"])):
        learner = LP(margin="cost", free_sign=True)
        decoder = LatticeDecoder(Hinge("zero-one"), learner=learner, C=100.0).fit([lattice], [good])
        assert decoder.certificate_.primal == pytest.approx(1.0, rel=1e-3)  # y = -1 suffices
        assert decoder.predict([lattice])[0] in good
    decoder = LatticeDecoder(Hinge("zero-one"), C=100.0, tol=1e-9).fit([ONE_WAY], ["a"])
    assert_allclose(decoder.coef_, [0.5, -0.5], atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unreachable": "ignore"}, "unreachable"),
        ({"starts": 0}, "starts must"),
        ({"loss": LatentHinge("zero-one")}, "decomposes over parts"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        LatticeDecoder(**settings).fit(X, Y)


def test_latent_losses_need_good_outputs() -> None:
    from margrave import SequenceTagger

    with pytest.raises(MargraveError, match="needs 'good'"):
        SequenceTagger("latent-log", learner="cccp").fit([[["a"], ["b"]]], [["A", "B"]])


@pytest.mark.parametrize("n", [2, 3, 6])
def test_ends_of_a_lattice_are_refused_by_what_is_wrong_with_them(n: int) -> None:
    """A path of n edges: no edge leaves its last node or enters its first, and no path leads backward."""
    edges = [(k, k + 1, "a") for k in range(n)]
    for start in range(n + 1):
        for end in range(n + 1):
            if start < end:
                Lattice.of(edges, start=start, end=end)
                continue
            with pytest.raises(MargraveError) as error:
                Lattice.of(edges, start=start, end=end)
            if start == n:
                assert str(error.value) == f"no edge leaves its start node {n}."
            elif end == 0:
                assert str(error.value) == "no edge enters its end node 0."
            elif start == end:
                assert str(error.value) == "its first node is its last."
            else:
                assert str(error.value) == f"no path leads from its start {start} to its end {end}."


def test_a_node_that_only_led_to_the_start_is_left_out() -> None:
    lattice = Lattice.of([(0, 1, "a"), (1, 2, "b"), (2, 3, "c")], start=1, end=2)
    assert (lattice.nodes, lattice.names, lattice.edges) == (2, (1, 2), (Edge(0, 1, "b", {}),))
    with pytest.raises(MargraveError, match="no path leads from its start 1 to its end 0"):
        Lattice.of([(0, 1, "a"), (1, 2, "b"), (3, 0, "c")], start=1, end=0)
