"""Forests: inference against the enumeration of derivations, distinct strings, and cdec's files."""

import gzip
from itertools import chain, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from margrave.data import Forest
from margrave.datasets import read_forests, write_forests
from margrave.errors import DataError
from margrave.examples import Examples
from margrave.losses import Hamming
from margrave.structures import ForestDerivations, NoOutputs
from margrave.testing.enumeration import Outputs
from margrave.translation.weighted_forest import WeightedForest
from tests.references.enumeration import forest_with_repeats, random_forest

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=40, deadline=None)


@given(seed=seeds)
@some
def test_every_operation_is_that_of_the_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest, derivations = random_forest(rng)
    weights = {f"f{k}": float(rng.normal()) for k in range(4)}
    weighted = WeightedForest(forest, weights)
    outputs = Outputs(len(forest.edges), [edges for edges, _ in derivations])
    values = outputs.values(weighted.scores).astype(float)
    order = np.argsort(-values, kind="stable")
    assert_allclose(weighted.best().score, values.max(), rtol=1e-9)
    found = weighted.kbest(len(values) + 5)
    assert_allclose([each.score for each in found], values[order], rtol=1e-9, atol=1e-9)
    assert {tuple(sorted(each.edges)) for each in found} == set(outputs.ys)
    log_z, marginals = outputs.logsum(weighted.scores)
    assert_allclose(weighted.log_partition(), log_z, rtol=1e-9)
    assert_allclose(weighted.marginals(), marginals, rtol=1e-9, atol=1e-12)
    costs = rng.integers(0, 3, len(forest.edges)).astype(float)
    by_cost = weighted.best_by_cost(costs)
    expected = outputs.best_by_cost(weighted.scores, costs)
    assert [cost for cost, _ in by_cost] == sorted(expected)
    assert_allclose([each.score for _, each in by_cost], [expected[c] for c in sorted(expected)], rtol=1e-9, atol=1e-9)


@given(seed=seeds)
@some
def test_distinct_strings_are_complete_and_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest, derivations = random_forest(rng)
    weighted = WeightedForest(forest, {f"f{k}": float(rng.normal()) for k in range(4)})
    best: dict[str, float] = {}
    for edges, text in derivations:
        assert forest.string(edges) == text
        value = float(weighted.scores[list(edges)].sum())
        best[text] = max(best.get(text, -np.inf), value)
    found = weighted.kbest_strings(len(derivations) + 5)
    assert len({each.text for each in found}) == len(found) == len(best)
    assert_allclose([each.score for each in found], sorted(best.values(), reverse=True), rtol=1e-9, atol=1e-9)
    assert_allclose([best[each.text] for each in found], [each.score for each in found], rtol=1e-9, atol=1e-9)


def test_samples_follow_the_distribution() -> None:
    forest, derivations = random_forest(np.random.default_rng(5))
    weighted = WeightedForest(forest, {"f0": 0.5, "f1": -0.5})
    drawn = [tuple(sorted(each.edges)) for each in weighted.sample(4000, random_state=1)]
    values = np.array([weighted.scores[list(edges)].sum() for edges, _ in derivations])
    probabilities = np.exp(values - weighted.log_partition())
    shares = np.array([drawn.count(edges) / len(drawn) for edges, _ in derivations])
    assert_allclose(shares, probabilities, atol=4 * np.sqrt(0.25 / len(drawn)))


def test_a_chain_of_many_nodes_needs_no_deep_recursion() -> None:
    n = 20_000
    edges = [(0, (), ("a",)), (0, (), ("b",))] + [(v, (v - 1,), (0,)) for v in range(1, n)]
    weighted = WeightedForest(Forest.of(edges), {})
    assert {each.text for each in weighted.kbest_strings(3)} == {"a", "b"}


@given(seed=seeds)
@some
def test_derivations_with_a_node_several_times_are_those_of_the_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest, derivations = forest_with_repeats(rng)
    weighted = WeightedForest(forest, {f"f{k}": float(rng.normal()) for k in range(4)})
    values = {}  # by what identifies a derivation: its edges with their repeats, and its text
    for edges, text in derivations:
        values.setdefault((edges, text), []).append(float(weighted.scores[list(edges)].sum()))
    found = weighted.kbest(len(derivations) + 5)
    assert sorted((tuple(sorted(each.edges)), each.text) for each in found) == sorted(derivations)
    assert_allclose([each.score for each in found], sorted(chain(*values.values()), reverse=True), rtol=1e-9, atol=1e-9)
    strings = weighted.kbest_strings(len(derivations) + 5)
    assert sorted(each.text for each in strings) == sorted({text for _, text in derivations})
    costs = rng.integers(0, 3, len(forest.edges)).astype(float)
    for each in [*strings, *weighted.sample(10, random_state=1), *(best for _, best in weighted.best_by_cost(costs))]:
        assert forest.string(each.edges) == each.text
        assert_allclose(values[tuple(sorted(each.edges)), each.text][0], each.score, rtol=1e-9, atol=1e-9)


def test_edges_of_a_repeated_node_must_come_in_order() -> None:
    forest = Forest.of([(0, (), ("a",)), (0, (), ("b",)), (1, (0, 0), (0, "and", 1))])
    assert forest.string([2, 1, 0]) == "a and b" and forest.string([2, 0, 1]) == "b and a"
    assert forest.string([0, 2]) == forest.string([2, 0, 0]) == "a and a"
    for edges in ([0, 1, 2], [2, 0, 1, 1], [2, 1, 0, 0]):
        with pytest.raises(MargraveError, match=r"must come depth first|first 3 are one"):
            forest.string(edges)


CDEC = (
    '{"rules":[1,"[X] ||| a ||| A",2,"[X] ||| [1] b",3,"[X] ||| [X,1] c [X,2] ||| [2] [1] C ||| p=1"],'
    '"features":["f1","f2"],'
    '"edges":[{"tail":[],"spans":[0,1,-1,-1],"feats":[0,-0.5],"rule":1},{"tail":[],"feats":["other",2.0]}],'
    '"node":{"in_edges":[0,1],"cat":"X"},'
    '"edges":[{"tail":[0],"feats":[0,1,1,-2],"rule":2}],"node":{"in_edges":[2]},'
    '"edges":[{"tail":[0,1],"feats":[],"rule":3}],"node":{"in_edges":[3]}}'
)


def test_files_of_cdec_are_read(tmp_path) -> None:
    path = tmp_path / "forest.json.gz"
    path.write_bytes(gzip.compress(f"{CDEC}\n\n".encode()))
    (forest,) = read_forests(path)
    assert (forest.nodes, forest.id) == (3, "1")
    assert [edge.target for edge in forest.edges] == [("A",), (), (0, "b"), (1, 0, "C")]
    assert forest.edges[2].features == {"f1": 1.0, "f2": -2.0} and forest.edges[1].features == {"other": 2.0}
    weighted = WeightedForest(forest, {"f1": 2.0, "f2": 1.0, "other": 0.25})
    # Node 0 is below both tails.
    assert sorted(each.text for each in weighted.kbest(10)) == ["A b A C", "A b C", "b A C", "b C"]
    assert weighted.best().text == "b C"


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_what_is_written_is_read_back(tmp_path_factory, seed: int) -> None:
    forests = [random_forest(np.random.default_rng([seed, k]))[0] for k in range(2)]
    path = tmp_path_factory.mktemp("forests") / "forests.json"
    write_forests(path, forests)
    again = list(read_forests(path))
    assert [(each.nodes, each.edges) for each in again] == [(each.nodes, each.edges) for each in forests]


def test_a_node_without_edges_is_a_beginning(tmp_path) -> None:
    path = tmp_path / "lattice.json"
    path.write_text(
        '{"rules":[1,"[X] ||| [1] a",2,"[X] ||| [1] B"],"features":["f"],"edges":[],"node":{"in_edges":[]},'
        '"edges":[{"tail":[0],"feats":[0,-0.2],"rule":1},{"tail":[0],"feats":[0,-0.6],"rule":2}],'
        '"node":{"in_edges":[0,1]}}\n'
    )
    (forest,) = read_forests(path)
    assert [each.text for each in WeightedForest(forest, {"f": 1.0}).kbest_strings(5)] == ["a", "B"]


def test_a_node_that_nothing_derives_is_refused() -> None:
    with pytest.raises(MargraveError, match="no edge leads to its node 5"):
        Forest.of([(0, (), ("a",)), (1, (0, 5), (0, 1))], goal=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"rules":[1,"[X] ||| \\ud800"],"edges":[],"node":{"in_edges":[]}}', "half of a character"),
        ("[]", "expected a JSON object"),
        ('{"nodes":[]}', "not 'nodes'"),
        ("{}", "at least one node"),
        ('{"edges":[{"tail":[0],"feats":[]}],"node":{"in_edges":[0]}}', "cycle through the nodes 0"),
        ('{"edges":[{"tail":[],"feats":[0,1]}],"node":{"in_edges":[0]}}', "feature 0 is not among the 0 names"),
        ('{"edges":[{"tail":[],"feats":[],"rule":9}],"node":{"in_edges":[0]}}', "rule 9"),
        ('{"edges":[],"node":{"in_edges":[0]}}', "node 0"),
        ('{"rules":[1,"[X] ||| [1]"],"edges":[{"tail":[],"feats":[],"rule":1}],"node":{"in_edges":[0]}}', "0 tails"),
        ('{"rules":[1,"x"],"edges":[],"node":{"in_edges":[]}}', "a rule is"),
        ('{"edges":7}', "must be a list"),
        ('{"edges":[7]}', "must be a JSON object"),
        ('{"edges":[{"tail":[],"feats":["f","x"]}],"node":{"in_edges":[0]}}', "finite numbers"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "forests.json"
    path.write_text(f"{CDEC}\n{text}\n")
    with pytest.raises(DataError) as error:
        list(read_forests(path))
    assert f"{path}, line 2: " in str(error.value) and message in str(error.value)


def test_wrong_derivations_and_arrays_are_refused() -> None:
    forest = Forest.of([(0, (), ("a",)), (0, (), ("b",)), (1, (0,), (0,))])

    def bind(Y: Any, sizes: tuple[int, ...] = (3,)) -> Any:
        return ForestDerivations().bind(NoOutputs(), Examples.of_sizes(sizes, Y, X=[forest]), Hamming())

    assert bind([(0, 2)]).has_gold
    for Y, message in (([(0, 1, 2)], "two edges"), ([(2,)], "lacks"), ([(5,)], "numbers of edges")):
        with pytest.raises(MargraveError, match=message):
            bind(Y)
    with pytest.raises(MargraveError, match="one row of features per edge"):
        bind(None, (2,))
    ints, longs = (lambda *x: np.array(x, dtype=np.int32)), (lambda *x: np.array(x, dtype=np.int64))
    with pytest.raises(MargraveError, match="a tail that the edge does not have"):
        _core.forests(longs(1), longs(0, 1), ints(0), longs(0, 0), ints(), longs(0, 1), ints(-1), None, False)
    with pytest.raises(MargraveError, match="bounds"):
        _core.forests(longs(1), longs(0, 1), ints(0), longs(0, 7), ints(), longs(0, 0), ints(), None, False)
    with pytest.raises(MargraveError, match="bounds"):
        _core.forests(longs(1), longs(0, 9), ints(0), longs(0, 0), ints(), longs(0, 0), ints(), None, False)


def test_all_combinations_of_tails_are_derivations() -> None:
    leaves = [(v, (), (f"{name}{v}",)) for v, name in product(range(2), "ab")]
    forest = Forest.of([*leaves, (2, (0, 1), (1, "and", 0)), (2, (0, 1), (0, 1))])
    texts = {each.text for each in WeightedForest(forest, {}).kbest(99)}
    assert texts == {f"{y}1 and {x}0" for x, y in product("ab", "ab")} | {f"{x}0 {y}1" for x, y in product("ab", "ab")}
