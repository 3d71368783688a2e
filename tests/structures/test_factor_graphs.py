"""Factor graphs: clique trees against enumeration and against other kernels, hard factors, and what is refused."""

import subprocess
import sys
from itertools import combinations, pairwise, product
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from margrave.binding import bind
from margrave.data import (
    Allowed,
    AtMostOne,
    Budget,
    Factor,
    Factors,
    Forbidden,
    Implies,
    Or,
    OwnRule,
    Rule,
    Taxonomy,
    TreeRule,
    Xor,
)
from margrave.examples import Examples
from margrave.losses import Hamming
from margrave.maps import ChainMap, FeatureTable, SparseMap
from margrave.structures import Chain, FactorGraph, Labels, NodeSets
from margrave.structures.node_sets import Nodes
from margrave.testing.enumeration import Outputs
from tests.references.graphs import SETS, Even, allows, labelings, part_count, random_graph

seeds = st.integers(0, 2**32 - 1)
BINARY = {"two": ["a", "b"]}


def problem_of(graphs: list[Factors], sets=SETS, Y=None, memory: float = 64.0, **more) -> _core.Problem:
    """A problem in which every part has a weight of its own."""
    return bound_of(graphs, sets, Y, memory, **more).problem


def bound_of(graphs: list[Factors], sets=SETS, Y=None, memory: float = 64.0, **more):
    counts = [part_count(graph, sets) for graph in graphs]
    rows = [np.eye(max(counts))[:n] for n in counts]
    names = [[sets[kind][0] for kind in graph.variables] for graph in graphs] if Y is None else Y
    feature_map = SparseMap()
    feature_map.encode(Examples(rows), grow=True)
    return bind(
        FactorGraph(labels=sets, memory=memory),
        feature_map,
        Examples(graphs, Y, encoded=rows),
        outputs=FactorGraph(labels=sets).learn(names),
        **more,
    )


def refused(graph: Factors, **settings) -> None:
    structure = FactorGraph(labels=SETS, **settings)
    structure.bind(structure.learn([["a"]]), Examples.of_sizes(np.array([1]), X=[graph]))


def outputs_of(graph: Factors, sets=SETS) -> Outputs:
    return Outputs(part_count(graph, sets), [parts for _, parts in labelings(graph, sets)])


def compare(problem: _core.Problem, outputs: Outputs, theta: np.ndarray) -> None:
    value, parts = problem.argmax(0, theta)
    best = float(outputs.values(theta).max())
    assert_allclose(value, best, rtol=1e-9, atol=1e-9)
    if best > -inf:
        assert_allclose(theta[parts].sum(), best, rtol=1e-9, atol=1e-9)
        assert tuple(sorted(parts.tolist())) in outputs.ys
    log_z, mu = problem.logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert_allclose(log_z, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(mu, marginals, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("style", ["tree", "loop", "triples", "disconnected", "hard", "listed", "partial"])
@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_larger_graphs_agree_with_enumeration(style: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, style, SETS, most=9)
    while np.prod([len(SETS[kind]) for kind in graph.variables]) > 4096:
        graph = random_graph(rng, style, SETS, most=9)
    problem, outputs = problem_of([graph]), outputs_of(graph)
    for size in (1.0, 300.0):
        theta = rng.uniform(-size, size, outputs.n)
        compare(problem, outputs, theta)
        theta[rng.random(outputs.n) < 0.2] = -inf
        compare(problem, outputs, theta)
    found = problem.kbest(0, theta, 10)
    values = np.sort(outputs.values(theta).astype(float))[::-1]
    assert_allclose([value for value, _ in found], values[values > -inf][:10], rtol=1e-9)


@pytest.mark.parametrize(
    "rule",
    [
        *(kind([(v, "b") for v in range(12)]) for kind in (Xor, AtMostOne, Or)),
        *(Budget([(v, "b") for v in range(12)], most) for most in (0, 1, 3, 11, 12, 40)),
        Implies([(v, "b") for v in range(11)], (11, "b")),
        Xor([(v, "b", v % 2 == 0) for v in range(12)]),
        Implies([(v, "a", v % 3 > 0) for v in range(11)], (11, "b", False)),
        Even(range(6)),
    ],
    ids=lambda rule: f"{type(rule).__name__} {getattr(rule, 'most', '')}",
)
def test_rules_over_many_variables_are_those_of_their_table(rule: Rule) -> None:
    """Rules that count become chains of small tables; they have the same marginals as the list of what is allowed."""
    n = 12
    kinds = ["two"] * n
    soft = [(v,) for v in range(n)] + [(v, v + 1) for v in range(0, n - 1, 3)]
    problem = problem_of([Factors(kinds, soft, [rule])], BINARY)
    names = product(BINARY["two"], repeat=n)
    allowed = [y for y in names if allows(rule, y, BINARY, kinds)]
    table = problem_of([Factors(kinds, soft, [Allowed(range(n), allowed)])], BINARY)
    rng = np.random.default_rng(3)
    for size in (1.0, 300.0):
        theta = rng.uniform(-size, size, problem.parts(0))
        ours, reference = problem.logsum(0, theta), table.logsum(0, theta)
        assert_allclose(ours[0], reference[0], rtol=1e-9)
        assert_allclose(ours[1], reference[1], rtol=1e-9, atol=1e-12)
        assert_allclose(problem.argmax(0, theta)[0], table.argmax(0, theta)[0], rtol=1e-9)
        ours_best = [value for value, _ in problem.kbest(0, theta, 20)]
        assert_allclose(ours_best, [value for value, _ in table.kbest(0, theta, 20)], rtol=1e-9)


@pytest.mark.parametrize("single_root", [True, False])
def test_a_tree_factor_allows_dependency_trees(single_root: bool) -> None:
    arcs = [(head, word) for word in (1, 2, 3) for head in range(4) if head != word]
    rule = TreeRule(3, [(head, word, k, "b") for k, (head, word) in enumerate(arcs)], single_root)
    graph = Factors(["two"] * 9, [Factor((v,), [("b",)], "zero") for v in range(9)], [rule])
    outputs = outputs_of(graph, BINARY)
    assert len(outputs.ys) == (9 if single_root else 16)  # n^(n - 1) and (n + 1)^(n - 1)
    theta = np.random.default_rng(0).normal(size=9)
    compare(problem_of([graph], BINARY), outputs, theta)


@given(seed=seeds, length=st.integers(1, 7), labels=st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_clique_trees_are_the_kernel_of_chains(seed: int, length: int, labels: int) -> None:
    rng = np.random.default_rng(seed)
    classes = [f"label {k}" for k in range(labels)]
    graph = Factors(length, [*((t,) for t in range(length)), *((t, t + 1) for t in range(length - 1))])
    n = length * labels + (length - 1) * labels**2
    feature_map = SparseMap()
    feature_map.encode(Examples([np.eye(n)]), grow=True)
    outputs = Labels(np.array(classes))
    ours = bind(FactorGraph(), feature_map, Examples([graph], encoded=[np.eye(n)]), outputs=outputs).problem
    y = [[classes[int(k)] for k in rng.integers(0, labels, length)]]
    chain = bind(
        Chain(tied=False), ChainMap(FeatureTable("all")), Examples([np.eye(length)], y), outputs=outputs
    ).problem
    for size in (1.0, 300.0):
        theta = rng.uniform(-size, size, n)
        for a, b in zip(ours.logsum(0, theta), chain.logsum(0, theta), strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        mu = ours.logsum(0, theta)[1]
        if size == 1.0:
            assert_allclose(ours.entropy(0, mu)[0], chain.entropy(0, mu)[0], rtol=1e-9)
        assert_allclose(ours.argmax(0, theta)[0], chain.argmax(0, theta)[0], rtol=1e-12)
        ours_best, best = ours.kbest(0, theta, 5), chain.kbest(0, theta, 5)
        assert_allclose([value for value, _ in ours_best], [value for value, _ in best], rtol=1e-12)


@given(seed=seeds, length=st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_chains_in_any_order_are_recognized(seed: int, length: int) -> None:
    """A chain may have its variables, its factors and the ends of its edges in any order."""
    rng = np.random.default_rng(seed)
    way = [int(v) for v in rng.permutation(length)]
    pairs = [tuple(int(v) for v in rng.permutation(pair)) for pair in pairwise(way)]
    soft = [[*((v,) for v in range(length)), *pairs][k] for k in rng.permutation(2 * length - 1)]
    for more in ([], [(int(rng.integers(length)),)], [(way[0], way[-1])] if length > 2 else []):
        graph = Factors(["three"] * length, [*soft, *more])
        problem, outputs = problem_of([graph]), outputs_of(graph)
        for size in (1.0, 300.0):
            theta = rng.uniform(-size, size, outputs.n)
            compare(problem, outputs, theta)
            best = np.sort(outputs.values(theta).astype(float))[::-1][:4]
            assert_allclose([value for value, _ in problem.kbest(0, theta, 4)], best, rtol=1e-9)
        if "entropy" in problem.offers:
            log_z, mu = problem.logsum(0, theta / 300)
            entropy, t = problem.entropy(0, mu)
            assert_allclose(entropy, log_z - theta @ mu / 300, rtol=1e-9, atol=1e-12)
            assert_allclose(problem.logsum(0, t)[1], mu, atol=1e-9)


@given(seed=seeds, nodes=st.integers(2, 8))
@settings(max_examples=20, deadline=None)
def test_clique_trees_are_the_kernel_of_node_sets(seed: int, nodes: int) -> None:
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(-1, v)) if v else -1 for v in range(nodes)]
    taxonomy = Taxonomy({v: [] if p < 0 else [p] for v, p in enumerate(parents)})
    rules = [Implies([(v, "b")], (p, "b")) for v, p in enumerate(parents) if p >= 0]
    graph = Factors(["two"] * nodes, [Factor((v,), [("b",)], "zero") for v in range(nodes)], rules)
    ours = problem_of([graph], BINARY, [["a"] * nodes], costs=Hamming())
    kernel = NodeSets(taxonomy).bind(Nodes(taxonomy), Examples.of_sizes(np.array([1]), [[]]), Hamming())
    feature_map = SparseMap()
    feature_map.encode(Examples([np.eye(nodes)]), grow=True)
    joined = _core.join(kernel, feature_map.map(feature_map.encode(Examples([np.eye(nodes)]), grow=False), kernel))
    theta = rng.uniform(-3, 3, nodes)
    for a, b in zip(ours.logsum(0, theta), joined.logsum(0, theta), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert ours.argmax(0, theta)[1].tolist() == joined.argmax(0, theta)[1].tolist()
    for a, b in zip(ours.cost(0), joined.cost(0), strict=True):
        assert_allclose(a, b)


def test_entropy_and_untied_need_cliques_that_are_scopes_of_factors() -> None:
    cycle = [(v,) for v in range(4)] + [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert not {"entropy", "untied"} & set(problem_of([Factors(["two"] * 4, cycle)]).offers)
    chordal = Factors(["two"] * 4, [*cycle, (0, 1, 2), (0, 2, 3)])
    assert {"entropy", "untied"} <= set(problem_of([chordal]).offers)
    partial = Factors(["two"] * 2, [(0,), (1,), Factor((0, 1), [("a", "a")], "zero")])
    assert not {"entropy", "untied"} & set(problem_of([partial]).offers)
    with pytest.raises(MargraveError, match="every clique is the scope of a factor"):
        problem_of([Factors(["two"] * 4, cycle)]).entropy(0, np.full(24, 0.25))


def test_entropy_is_that_of_the_distribution_with_these_marginals() -> None:
    graph = Factors(["two", "three", "two"], [(0,), (0, 1, 2), (1, 2)])
    problem, outputs = problem_of([graph]), outputs_of(graph)
    theta = np.random.default_rng(1).normal(size=outputs.n)
    log_z, mu = problem.logsum(0, theta)
    entropy, t = problem.entropy(0, mu)
    assert_allclose(entropy, log_z - theta @ mu, rtol=1e-9)
    assert_allclose(problem.logsum(0, t)[1], mu, atol=1e-9)
    assert_allclose(problem.logsum(0, t)[0], 0.0, atol=1e-9)


def test_graphs_that_are_too_wide_are_refused_with_their_width_and_what_to_use() -> None:
    n = 24
    number = np.arange(n * n).reshape(n, n)
    pairs = [*zip(number[:, :-1].ravel(), number[:, 1:].ravel(), strict=True)]
    pairs += [*zip(number[:-1].ravel(), number[1:].ravel(), strict=True)]
    grid = Factors(["two"] * n * n, [*((v,) for v in range(n * n)), *((int(a), int(b)) for a, b in pairs)])
    with pytest.raises(
        MargraveError, match=r"a clique of \d\d variables and tables of \d+ MB, and the limit is 64 MB"
    ) as e:
        refused(grid, memory=64)
    assert 'inference="bp"' in str(e.value)
    complete = Factors(["three"] * 300, [*((v,) for v in range(300)), *((a, b) for b in range(300) for a in range(b))])
    with pytest.raises(MargraveError, match=r"a clique of (at least )?300 variables"):
        refused(complete)


def test_a_long_chain_and_many_components_are_fine() -> None:
    n = 20_000
    soft = [*((v,) for v in range(n)), *((v, v + 1) for v in range(n - 1) if v % 5)]
    structure: Any = FactorGraph(labels=BINARY).bind(
        FactorGraph(labels=BINARY).learn([["a"]]), Examples.of_sizes(np.array([1]), X=[Factors(["two"] * n, soft)])
    )
    assert structure.parts(0) == sum(2 if len(scope) == 1 else 4 for scope in soft)
    assert structure.width == 2


GRAPH = Factors(["two", "three"], [(0,), (1,), (0, 1)])


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (Factors([], []), "graph 0 has no variables"),
        (Factors(["four"], [(0,)]), "four"),
        (Factors(["two"], [(0,), (1,)]), "there is no variable 1; the graph has 1"),
        (Factors(["two"], [(0, 0)]), "variable 0 occurs twice"),
        (Factors(["two"], [()]), "it has no variables"),
        (Factors(["two", "two"], [(0,)]), "variable 1 is in no soft factor"),
        (Factors(["two"], [Factor((0,), [("a", "b")])]), "a tuple must have 1 labels"),
        (Factors(["two"], [Factor((0,), [("c",)])]), "variable 0 has no label 'c'"),
        (Factors(["two"], [Factor((0,), [("b",), ("a",)])]), "in the order"),
        (Factors(["two"], [Factor((0,), [("a",), ("a",)])]), "listed twice"),
        (Factors(["two"], [Factor((0,), [])]), "nothing is allowed"),
        (Factors(["two"], [Factor((0,), None, "maybe")]), "forbidden"),
        (Factors(["three"], [Factor((0,), [("x",)], "zero")]), "is in no soft factor that has a part"),
        (Factors(["two"], [(0,)], [Xor([])]), "it has no variables"),
        (Factors(["two"], [(0,)], [Xor([(0, "a"), (0, "b")])]), "variable 0 occurs twice"),
        (Factors(["two"], [(0,)], [Or([(0, "x")])]), "variable 0 has no label 'x'"),
        (Factors(["two"], [(0,)], [Budget([(0, "a")], -1)]), "a budget must be at least 0"),
        (Factors(["two"], [(0,)], [TreeRule(1, [(1, 1, 0, "a")])]), "no arc from 1 to 1"),
        (Factors(["two"], [(0,)], [Allowed([0], [])]), "nothing is allowed"),
        (Factors(["two"], [(0,)], ["xor"]), "it must be a rule"),
        (
            Factors(["two"] * 2, [(0,), (1,)], [Or([(0, "a")]), Xor([(0, "b"), (1, "a")]), Forbidden([1], [("a",)])]),
            r"hard factors 0 \(Or\), 1 \(Xor\) and 2 \(Forbidden\) together leave no output",
        ),
        (Factors(["two"], [(0,)], [Forbidden([0], [("a",), ("b",)])]), r"hard factor 0 \(Forbidden\) leaves no output"),
        (
            Factors(["two", "two"], [(0,), (1,), Factor((0, 1), [("a", "b")]), Factor((1, 0), [("a", "a")])]),
            "the tuples that its factors list leave no output",
        ),
    ],
)  # fmt: skip
def test_graphs_that_make_no_sense_are_refused(graph: Factors, why: str) -> None:
    with pytest.raises(MargraveError, match=why):
        refused(graph)


def test_outputs_that_do_not_fit_are_refused() -> None:
    graph = Factors(["two", "two"], [(0,), (1,)], [Xor([(0, "a"), (1, "a")])])
    with pytest.raises(MargraveError, match="example 1: its gold labels break hard factor 0"):
        problem_of([graph, graph], Y=[["a", "b"], ["a", "a"]])
    with pytest.raises(MargraveError, match="example 0 has 2 variables and 1 labels"):
        problem_of([graph], Y=[["a"]])
    with pytest.raises(MargraveError, match=r"example 0, variable 1: 'x' is not in its set 'two'"):
        problem_of([graph], Y=[["a", "x"]])
    listed = Factors(["two", "two"], [(0,), (1,), Factor((0, 1), [("a", "b")])])
    with pytest.raises(MargraveError, match="does not list the tuple that the gold labels have"):
        problem_of([listed], Y=[["a", "a"]])
    bound = FactorGraph(labels=SETS)
    with pytest.raises(MargraveError, match="there are 2 examples, but 1 graphs"):
        bound.bind(bound.learn([["a"]]), Examples.of_sizes(np.array([1, 1]), X=[graph]))
    with pytest.raises(MargraveError, match="need the graph of each example"):
        bound.bind(bound.learn([["a"]]), Examples.of_sizes(np.array([1])))
    with pytest.raises(MargraveError, match="did you mean 'exact'"):
        FactorGraph(inference="exakt")
    for rows in (10, 12):
        with pytest.raises(MargraveError, match=f"example 0 has features for {rows} parts, and the structure has 11"):
            feature_map = SparseMap()
            bind(bound, feature_map, Examples([GRAPH], [["b", "y"]], encoded=[np.eye(12)[:rows]]))
    with pytest.raises(MargraveError, match="the set of labels 's' has no labels"):
        FactorGraph(labels={"s": []})
    with pytest.raises(MargraveError, match="a label twice"):
        FactorGraph(labels={"s": ["a", "a"]})


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
@given(seed=seeds)
@settings(max_examples=8, deadline=None)
def test_a_clique_with_many_factors_has_the_answers_of_the_enumeration(n: int, seed: int) -> None:
    """All pairs and some triples of n variables, tuples that are listed, and rules: many tables are one clique."""
    rng = np.random.default_rng(seed)
    kinds = [str(kind) for kind in rng.choice(["two", "three"], n)]
    soft: list[Any] = [(v,) for v in rng.permutation(n).tolist()]
    soft += [tuple(pair) for pair in rng.permutation(list(combinations(range(n), 2))).tolist()]
    soft += [tuple(rng.permutation(n)[:3].tolist()) for _ in range(n) if n > 2]
    soft += [
        Factor((v, (v + 1) % n), [(SETS[kinds[v]][0], SETS[kinds[(v + 1) % n]][1])], "zero") for v in range(0, n - 1, 2)
    ]
    hard = [Even(list(range(n))), Budget([(v, SETS[kinds[v]][1]) for v in range(n)], n - 1)] if n % 2 else []
    graph = Factors(kinds, soft, hard)
    every = list(labelings(graph, SETS))
    outputs = Outputs(part_count(graph, SETS), [tuple(sorted(parts)) for _, parts in every])
    problem = problem_of([graph])
    theta = rng.standard_normal(outputs.n)
    theta[rng.integers(outputs.n)] = -inf
    value, mu = problem.logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert_allclose(value, expected, rtol=1e-12)
    assert_allclose(mu, marginals, atol=1e-12)
    best = np.sort(outputs.values(theta))[::-1]
    assert_allclose(problem.argmax(0, theta)[0], best[0], rtol=1e-12)
    found = [value for value, _ in problem.kbest(0, theta, 5)]
    assert_allclose(found, best[: len(found)], rtol=1e-12)


class Answering(OwnRule):
    """A rule of which maximum and sum return what they are told, or raise an error."""

    def __init__(self, variables, maximum=(0.0, [0, 0]), sum=(0.0, [[0.5, 0.5]] * 2)):
        super().__init__(variables)
        self.answers = {"maximum": maximum, "sum": sum}

    def maximum(self, scores):
        return self._answer("maximum")

    def sum(self, scores):
        return self._answer("sum")

    def _answer(self, method):
        if self.answers[method] is ZeroDivisionError:
            raise ZeroDivisionError("oh")
        return self.answers[method]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"maximum": ZeroDivisionError}, "maximum raised ZeroDivisionError: oh"),
        ({"sum": ZeroDivisionError}, "sum raised ZeroDivisionError: oh"),
        ({"maximum": None}, "maximum must return a pair, and first a number, not None"),
        ({"maximum": (float("nan"), [0, 0])}, "maximum must return a finite number or -inf, not nan"),
        ({"maximum": (0.0, [0])}, r"maximum must return the number of a label for each of its 2 variables, not \[0\]"),
        ({"maximum": (0.0, [0, 5])}, r"maximum returned the labels \[0, 5\], but its variables have \[2, 2\] labels"),
        ({"maximum": (0.0, [-1, 0])}, "maximum returned the labels"),
        ({"sum": (float("nan"), [np.zeros(2)] * 2)}, "sum must return a finite number or -inf, not nan"),
        ({"sum": (0.0, [np.full(2, np.nan)] * 2)}, "sum must return marginals from 0 to 1"),
        ({"sum": (0.0, [np.zeros(7)] * 2)}, r"sum must return, for each of its variables, the marginals"),
    ],
)
def test_mistakes_in_rules_of_users_name_the_graph_and_the_rule(answers, why) -> None:
    for inference in ("exact", "bp"):
        if inference == "exact" and "sum" in answers:
            continue  # which asks for maxima only
        structure = FactorGraph(labels=BINARY, inference=inference)
        graph = Factors(["two", "two"], [(0,), (1,)], [Or([(0, "a"), (1, "a")]), Answering([0, 1], **answers)])
        with pytest.raises(MargraveError, match=rf"^graph 0, hard factor 1 \(Answering\): {why}") as caught:
            bound = bind(structure, SparseMap(), Examples([graph], [["a", "b"]], encoded=[[["x"]] * 4]))
            bound.problem.logsum(0, np.zeros(4))
        if "raised" in why:
            assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_rules_without_methods_and_budgets_that_are_not_whole_are_refused() -> None:
    for rule, why in (
        (OwnRule([0]), r"\(OwnRule\): the rule OwnRule defines neither allows nor maximum and sum"),
        (Budget([(0, "a")], 1.5), ": a budget must be a whole number, and it is 1.5"),
    ):
        with pytest.raises(MargraveError, match=rf"^graph 0, hard factor 0 ?{why}"):
            problem_of([Factors(["two", "two"], [(0,), (1,)], [rule])])


RULE_AT_EXIT = """
from margrave.binding import bind
from margrave.examples import Examples
from margrave.maps import SparseMap
from margrave.structures import FactorGraph
from margrave.data import Factors, OwnRule

class Any(OwnRule):
    def allows(self, labels):
        return True

graph = Factors(["s"] * 2, [(0,), (1,)], [Any([0, 1])])
bounds = [
    bind(FactorGraph({"s": ["x", "y"]}, inference), SparseMap(), Examples([graph], [["x", "y"]], encoded=[[["a"]] * 4]))
    for inference in ("exact", "bp")
]
"""


def test_rules_that_are_alive_at_the_exit_of_the_interpreter_are_let_go() -> None:
    """The rule reaches the problem by the globals of its module, and the problem holds the rule in the core."""
    done = subprocess.run([sys.executable, "-c", RULE_AT_EXIT], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_outputs_and_marginals_come_back_in_the_users_form() -> None:
    bound = bound_of([GRAPH, Factors(["three"], [(0,)])], Y=[["b", "y"], ["z"]])
    assert bound.decode(*bound.core.gold_parts()) == [["b", "y"], ["z"]]
    w = np.zeros(bound.problem.dim)
    begin, _, mu = _core.marginals_all(bound.problem, w, 1.0, 1)
    first, second = bound.present(begin, mu)
    assert_allclose(np.concatenate(first), [1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3])
    assert_allclose(second[0], [1 / 3] * 3)
