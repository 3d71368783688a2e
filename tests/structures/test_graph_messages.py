"""Approximate inference on factor graphs: messages, bounds and relaxations against enumeration."""

import sys
from itertools import combinations, product
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from margrave import MargraveError, _core
from margrave.data import Allowed, AtMostOne, Budget, Factors, Forbidden, Implies, Or, Rule, TreeRule, Xor
from margrave.data.graphs import grid_edges
from margrave.examples import Examples
from margrave.learners import BCFW, learner_named
from margrave.learners.objective import Objective
from margrave.losses import Hamming, Hinge, Log
from margrave.structures import FactorGraph
from margrave.structures.factor_graph import LabelSets
from margrave.testing.enumeration import Array, Outputs, numerical_gradient
from tests.references.enumeration import trees
from tests.references.graphs import SETS, Even, FastEven, cells_of, labelings, part_count, random_graph, scope_of

seeds = st.integers(0, 2**32 - 1)
schedules = pytest.mark.parametrize("schedule", ["sequential", "parallel", "residual"])
STYLES = ["tree", "loop", "triples", "hard", "listed", "partial", "single", "disconnected"]


def bind(graph: Factors, inference: str, gold: Any = None, **options: Any) -> Any:
    structure = FactorGraph(labels=SETS, inference=inference, **options)
    return structure.bind(LabelSets(SETS), Examples.of_sizes(np.array([0]), gold, X=[graph]))


def problem_of(bound: _core.FactorGraphStructure, parts: int) -> _core.Problem:
    rows = _core.Tokens(
        np.array([0, parts]), np.zeros(parts + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0)
    )
    return _core.join(bound, _core.sparse_parts(1, rows, np.ones(1, dtype=np.int64)))


def outputs_of(graph: Factors) -> tuple[list[tuple[int, ...]], Outputs]:
    every = list(labelings(graph, SETS))
    return [y for y, _ in every], Outputs(part_count(graph, SETS), [tuple(sorted(parts)) for _, parts in every])


@schedules
@pytest.mark.parametrize("style", ["tree", "single", "disconnected"])
@given(seed=seeds, size=st.sampled_from([1.0, 40.0, 900.0]))
@settings(max_examples=10, deadline=None)
def test_belief_propagation_is_exact_on_trees(schedule: str, style: str, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, style, SETS)
    _, outputs = outputs_of(graph)
    bound = bind(graph, "bp", schedule=schedule, tolerance=1e-13)
    theta = size * rng.standard_normal(outputs.n)
    value, mu = problem_of(bound, outputs.n).logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert bound.sweeps[0] > 0
    assert_allclose(value, expected, rtol=1e-10, atol=1e-10)
    assert_allclose(mu, marginals, atol=1e-9)
    labeling, converged = bound.max_product(0, theta)
    assert converged
    assert_allclose(
        outputs.values(theta)[outputs_of(graph)[0].index(tuple(labeling.tolist()))],
        outputs.values(theta).max(),
        rtol=1e-12,
    )


def rules(rng: np.random.Generator, kinds: list[str]) -> dict[str, Rule]:
    """A rule of every kind over all variables."""

    def literal(v: int) -> tuple[Any, ...]:
        label = str(rng.choice(SETS[kinds[v]]))
        return (v, label, False) if rng.random() < 0.3 else (v, label)

    n = len(kinds)
    every = list(product(*(SETS[kind] for kind in kinds)))
    some = [every[k] for k in rng.permutation(len(every))[: max(1, len(every) // 2)]]
    literals = [literal(v) for v in range(n)]
    found: dict[str, Rule] = {
        "xor": Xor(literals),
        "at most one": AtMostOne(literals),
        "or": Or(literals),
        "budget": Budget(literals, int(rng.integers(0, n + 1))),
        "allowed": Allowed(list(range(n)), some),
        "forbidden": Forbidden(list(range(n)), some),
        "own": Even(list(range(n))),
    }
    if n > 1:
        found["implication"] = Implies(literals[1:], literals[0])
    return found


@pytest.mark.parametrize("inference", ["relaxed", "lp"])
@pytest.mark.parametrize("style", ["loop", "triples", "hard", "partial"])
@given(seed=seeds)
@settings(max_examples=6, deadline=None)
def test_certificates_do_not_depend_on_the_unit_of_scores(style: str, inference: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, style, SETS)
    graph = Factors(graph.variables, graph.soft, [rule for rule in graph.hard if not isinstance(rule, Even)])
    _, outputs = outputs_of(graph)
    bound = bind(graph, inference)
    problem = problem_of(bound, outputs.n)
    theta = rng.standard_normal(outputs.n)
    for unit in (1e-12, 1e-8, 1.0, 1e12):
        best = float(outputs.values(unit * theta).max())
        value, _ = problem.argmax(0, unit * theta)
        certified = bound.certified[0] == 1
        assert value <= best + 1e-9 * unit
        assert not certified or value >= best - 1e-6 * unit
        assert problem.relaxed_argmax(0, unit * theta)[0] >= best - 1e-6 * unit


@pytest.mark.parametrize("kind", ["xor", "at most one", "or", "budget", "allowed", "forbidden", "own", "implication"])
@given(seed=seeds, forbid=st.booleans())
@settings(max_examples=15, deadline=None)
def test_messages_of_hard_factors_are_those_of_their_tables(kind: str, seed: int, forbid: bool) -> None:
    """One hard factor and scores of single labels: a tree, on which everything is exact."""
    rng = np.random.default_rng(seed)
    kinds = [str(rng.choice(["two", "three"])) for _ in range(int(rng.integers(2, 6)))]
    graph = Factors(kinds, [(v,) for v in range(len(kinds))], [rules(rng, kinds)[kind]])
    labels, outputs = outputs_of(graph)
    if not labels:
        return
    theta = 2 * rng.standard_normal(outputs.n)
    if forbid:
        theta[rng.integers(outputs.n)] = -inf
    check_exact(graph, labels, outputs, theta)


@given(seed=seeds, n=st.integers(2, 5), forbid=st.booleans())
@settings(max_examples=15, deadline=None)
def test_a_rule_of_the_user_has_the_answers_of_its_table(seed: int, n: int, forbid: bool) -> None:
    """A rule with a maximum and a sum of its own, beside pairs, by clique trees, belief propagation and AD3."""
    rng = np.random.default_rng(seed)
    alone = Factors(["two"] * n, [(v,) for v in range(n)], [FastEven(range(n))])
    labels, outputs = outputs_of(alone)
    theta = 2 * rng.standard_normal(outputs.n)
    if forbid:
        theta[rng.integers(outputs.n)] = -inf
    check_exact(alone, labels, outputs, theta)
    graph = Factors(["two"] * n, [*alone.soft, *((v, v + 1) for v in range(n - 1))], alone.hard)
    listed = Factors(["two"] * n, graph.soft, [Allowed(range(n), [[SETS["two"][k] for k in y] for y in labels])])
    _, outputs = outputs_of(graph)
    theta = 0.3 * rng.standard_normal(outputs.n)
    value, mu = problem_of(bind(graph, "exact"), outputs.n).logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert_allclose(value, expected, rtol=1e-9)
    assert_allclose(mu, marginals, atol=1e-9)
    best = float(outputs.values(theta).max())
    assert_allclose(problem_of(bind(graph, "exact"), outputs.n).argmax(0, theta)[0], best, rtol=1e-9, atol=1e-9)
    ours, table = bind(graph, "bp", tolerance=1e-12), bind(listed, "bp", tolerance=1e-12)
    value, mu = problem_of(ours, outputs.n).logsum(0, theta)
    expected, marginals = problem_of(table, outputs.n).logsum(0, theta)
    assert ours.sweeps[0] == table.sweeps[0]
    if ours.sweeps[0] > 0:
        assert_allclose(value, expected, rtol=1e-9)
        assert_allclose(mu, marginals, atol=1e-9)
    bound, _ = problem_of(bind(graph, "relaxed", iterations=3000), outputs.n).relaxed_argmax(0, theta)
    assert bound >= best - 1e-7
    assert_allclose(
        bound, problem_of(bind(listed, "relaxed", iterations=3000), outputs.n).relaxed_argmax(0, theta)[0], atol=2e-3
    )


@pytest.mark.parametrize("size", [1.0, 100.0, 400.0, 745.0, 800.0, 2e3, 1e5])
def test_a_rule_of_the_user_sends_the_messages_of_its_table_at_any_size_of_scores(size: float) -> None:
    """Where one factor all but excludes a label, so that its marginal underflows, another may still prefer it."""
    converged = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 5))
        kinds = [str(kind) for kind in rng.choice(["two", "three"], n)]
        scopes = [sorted(rng.permutation(n)[: rng.integers(2, n + 1)].tolist()) for _ in range(rng.integers(1, 3))]
        soft = [(v,) for v in range(n)] + [pair for pair in combinations(range(n), 2) if rng.random() < 0.6]
        own = Factors(kinds, soft, [Even(scope) for scope in scopes])
        parts = part_count(own, SETS)
        theta = size * rng.uniform(-1, 1, parts)
        ours, table = (bind(Factors(kinds, soft, hard), "bp") for hard in (own.hard, [even(kinds, s) for s in scopes]))
        value, mu = problem_of(ours, parts).logsum(0, theta)
        expected, marginals = problem_of(table, parts).logsum(0, theta)
        assert (ours.sweeps[0] > 0) == (table.sweeps[0] > 0)
        if ours.sweeps[0] > 0:
            converged += 1
            assert_allclose(value, expected, rtol=1e-9, atol=1e-5)
            assert_allclose(mu, marginals, atol=1e-5)
    assert converged > 20


def even(kinds: list[str], scope: list[int]) -> Allowed:
    """The rule `Even` as a list of tuples."""
    sets = [SETS[kinds[v]] for v in scope]
    every = product(*(range(len(labels)) for labels in sets))
    return Allowed(scope, [[labels[k] for labels, k in zip(sets, y, strict=True)] for y in every if sum(y) % 2 == 0])


@pytest.mark.parametrize("labels", [2, 3, 8, 20])
@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0])
def test_the_best_labeling_of_a_grid_is_that_of_clique_trees(labels: int, strength: float) -> None:
    """Wherever it is certified; the bound is above it in any case, and rules change nothing of that."""
    sets = {"label": [f"{k:02}" for k in range(labels)]}
    edges, _ = grid_edges(3, 4, 4)
    graph = Factors(["label"] * 12, [*((v,) for v in range(12)), *map(tuple, edges.tolist())])
    examples = Examples.of_sizes(np.array([0]), X=[graph])
    found: Any = (
        FactorGraph(labels=sets, inference=kind, memory=500.0).bind(LabelSets(sets), examples)
        for kind in ("bp", "exact")
    )
    ours, exact = found
    certified = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        pairs = strength * (np.eye(labels) + rng.choice([0.0, 0.2]) * rng.standard_normal((labels, labels)))
        pairs[rng.random(pairs.shape) < 0.05] = -inf
        theta = np.concatenate([rng.standard_normal(12 * labels), *[pairs.ravel()] * len(edges)])
        value, parts = problem_of(ours, len(theta)).argmax(0, theta)
        best, _ = problem_of(exact, len(theta)).argmax(0, theta)
        assert_allclose(value, theta[parts].sum(), rtol=1e-12)
        assert value <= best + 1e-9
        if ours.certified[0] == 1:
            certified += 1
            assert_allclose(value, best, rtol=1e-7)
    assert certified >= 1


@pytest.mark.parametrize(("inference", "learner", "loss"), [
    ("exact", "lbfgs", Log()), ("exact", "bcfw", Hinge()), ("bp", "sgd", Log()), ("relaxed", "sgd", Hinge())
])  # fmt: skip
def test_learning_with_a_rule_of_the_user_is_learning_with_its_table(inference: str, learner: str, loss: Any) -> None:
    rng = np.random.default_rng(0)
    even = list(labelings(Factors(["two"] * 4, [(0,)], [FastEven(range(4))]), SETS))
    allowed = [[SETS["two"][k] for k in y] for y, _ in even]
    gold = [allowed[k] for k in rng.integers(0, len(allowed), 6)]
    soft = [(v,) for v in range(4)] + [(0, 1), (1, 2), (2, 3)]
    matrices = [rng.standard_normal((20, 5)) for _ in gold]
    found = []
    for rule in (FastEven(range(4)), Allowed(range(4), allowed)):
        structure = FactorGraph(labels=SETS, inference=inference, tolerance=1e-10)
        bound = structure.bind(
            LabelSets(SETS),
            Examples.of_sizes(np.zeros(6, int), gold, X=[Factors(["two"] * 4, soft, [rule])] * 6),
            Hamming(),
        )
        problem = joined(bound, matrices)
        found.append(learner_named(learner).solve(Objective(problem, loss, C=1.0, tol=1e-6, max_iter=20)).w)
    assert np.abs(found[1]).max() > 0.1
    assert_allclose(found[0], found[1], atol=1e-4)


@pytest.mark.parametrize("single_root", [True, False])
@given(seed=seeds, words=st.integers(1, 3), forbid=st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_messages_of_trees_are_those_of_their_tables(single_root: bool, seed: int, words: int, forbid: int) -> None:
    rng = np.random.default_rng(seed)
    arcs = [(h, m) for m in range(1, words + 1) for h in range(words + 1) if h != m]
    rule = TreeRule(words, [(h, m, v, "b") for v, (h, m) in enumerate(arcs)], single_root=single_root)
    graph = Factors(["two"] * len(arcs), [(v,) for v in range(len(arcs))], [rule])
    labels, outputs = outputs_of(graph)
    theta = 2 * rng.standard_normal(outputs.n)
    theta[rng.integers(0, outputs.n, forbid)] = -inf  # arcs that must not, or must be there
    check_exact(graph, labels, outputs, theta)


def check_exact(graph: Factors, labels: list[tuple[int, ...]], outputs: Outputs, theta: Array) -> None:
    bound = bind(graph, "bp", tolerance=1e-13)
    problem = problem_of(bound, outputs.n)
    value, mu = problem.logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    if expected == -inf:
        assert value == -inf
        return
    assert_allclose(value, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(mu, marginals, atol=1e-9)
    best = float(outputs.values(theta).max())
    labeling, _ = bound.max_product(0, theta)
    assert_allclose(outputs.values(theta)[labels.index(tuple(labeling.tolist()))], best, rtol=1e-9)
    found, y = problem.argmax(0, theta)
    assert_allclose(found, best, rtol=1e-9, atol=1e-9)
    assert bound.certified[0] == 1
    assert tuple(sorted(y.tolist())) in outputs.ys


@pytest.mark.parametrize("style", ["loop", "triples", "hard", "partial", "listed"])
@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_pseudo_marginals_are_the_gradient_of_bethes_log_z(style: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, style, SETS)
    _, outputs = outputs_of(graph)
    bound = bind(graph, "bp", tolerance=1e-13, sweeps=3000)
    problem = problem_of(bound, outputs.n)
    theta = 0.5 * rng.standard_normal(outputs.n)
    value, mu = problem.logsum(0, theta)
    if bound.sweeps[0] < 0 or value == -inf:
        return  # no fixed point was found, and nothing is promised
    gradient = numerical_gradient(lambda x: problem.logsum(0, x)[0], theta, 1e-4)
    assert_allclose(mu, gradient, atol=1e-6)


@schedules
@pytest.mark.parametrize("inference", ["bp", "trw"])
@example(seed=730, damping=0.2)  # in which a factor hears what it has said itself
@given(seed=seeds, damping=st.sampled_from([0.2, 0.5, 0.8]))
@settings(max_examples=8, deadline=None)
def test_damping_leaves_fixed_points_where_they_are(inference: str, schedule: str, seed: int, damping: float) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, "loop" if inference == "trw" else str(rng.choice(["loop", "triples", "hard"])), SETS)
    _, outputs = outputs_of(graph)
    theta = 0.5 * rng.standard_normal(outputs.n)
    found = []
    for share in (0.0, damping):
        bound = bind(graph, inference, schedule=schedule, damping=share, tolerance=1e-13, sweeps=3000)
        found.append(problem_of(bound, outputs.n).logsum(0, theta))
        if bound.sweeps[0] < 0:
            return  # no fixed point was found
    assert_allclose(found[1][0], found[0][0], rtol=1e-9, atol=1e-9)
    assert_allclose(found[1][1], found[0][1], atol=1e-9)


@schedules
@pytest.mark.parametrize("inference", ["bp", "trw"])
def test_damped_messages_settle(inference: str, schedule: str) -> None:
    """On a cycle with weak scores, with any share of the old messages."""
    graph = Factors(["two"] * 4, [*((v,) for v in range(4)), (0, 1), (1, 2), (2, 3), (0, 3)])
    theta = 0.5 * np.random.default_rng(0).standard_normal(24)
    for damping in (0.0, 0.3, 0.9):
        bound = bind(graph, inference, schedule=schedule, damping=damping, tolerance=1e-10, sweeps=1000)
        problem_of(bound, 24).logsum(0, theta)
        assert bound.sweeps[0] > 0


def test_damping_ends_oscillations() -> None:
    """Four variables of which every two repel each other: parallel messages swing between two states for ever.

    The change of all messages is multiplied by -2 tanh(0.9) = -1.4 in a sweep, and by 0.5 - 0.7 with half of the old
    ones.
    """
    pairs = [(a, b) for b in range(4) for a in range(b)]
    graph = Factors(["two"] * 4, [*((v,) for v in range(4)), *pairs])
    _, outputs = outputs_of(graph)
    theta = np.concatenate([np.tile([0.3, 0.0], 4), np.tile([-0.9, 0.9, 0.9, -0.9], len(pairs))])
    swinging = bind(graph, "bp", schedule="parallel", sweeps=2000)
    problem_of(swinging, outputs.n).logsum(0, theta)
    assert swinging.sweeps[0] < 0
    damped = bind(graph, "bp", schedule="parallel", sweeps=2000, damping=0.5, tolerance=1e-12)
    value, mu = problem_of(damped, outputs.n).logsum(0, theta)
    assert damped.sweeps[0] > 0
    sequential = bind(graph, "bp", sweeps=2000, tolerance=1e-12)
    expected, others = problem_of(sequential, outputs.n).logsum(0, theta)
    assert sequential.sweeps[0] > 0
    assert_allclose(value, expected, rtol=1e-9)
    assert_allclose(mu, others, atol=1e-9)


@schedules
def test_no_damping_has_the_bits_of_the_plain_messages(schedule: str) -> None:
    """Parallel sweeps by `values` know no damping; messages of the other schedules are those of the default."""
    rng = np.random.default_rng(0)
    graph = random_graph(rng, "loop", SETS)
    _, outputs = outputs_of(graph)
    theta = rng.standard_normal(outputs.n)
    plain = bind(graph, "bp", schedule=schedule, sweeps=7, tolerance=1e-300)
    undamped = bind(graph, "bp", schedule=schedule, sweeps=7, tolerance=1e-300, damping=0.0)
    value, mu = problem_of(plain, outputs.n).logsum(0, theta)
    other, others = problem_of(undamped, outputs.n).logsum(0, theta)
    assert value == other
    assert_array_equal(mu, others)
    if schedule == "parallel":
        assert value == undamped.values(0, theta, 7)[-1]


@given(seed=seeds, size=st.sampled_from([0.3, 1.0, 5.0]))
@settings(max_examples=30, deadline=None)
def test_the_reweighted_bound_is_above_log_z_at_every_iteration(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, "loop", SETS, 6)
    _, outputs = outputs_of(graph)
    bound = bind(graph, "trw", sweeps=300, tolerance=1e-12)
    theta = size * rng.standard_normal(outputs.n)
    expected, _ = outputs.logsum(theta)
    values = bound.values(0, theta, 20)
    assert len(values) == 21
    assert (values >= expected - 1e-9 * (1 + abs(expected))).all()
    value, mu = problem_of(bound, outputs.n).logsum(0, theta)
    assert value >= expected - 1e-9 * (1 + abs(expected))
    assert value <= values[0] + 1e-9 * (1 + abs(expected)) or bound.sweeps[0] < 0
    first = 0
    for factor in graph.soft:
        cells = len(cells_of(factor, graph, SETS))
        assert_allclose(mu[first : first + cells].sum(), 1, rtol=1e-9)
        first += cells


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_gradient_of_the_reweighted_bound_is_its_mu(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, "loop", SETS)
    _, outputs = outputs_of(graph)
    bound = bind(graph, "trw", sweeps=3000, tolerance=1e-12)
    problem = problem_of(bound, outputs.n)
    theta = rng.standard_normal(outputs.n)
    _, mu = problem.logsum(0, theta)
    if bound.sweeps[0] < 0:
        return  # no fixed point was found, and nothing is promised
    assert_allclose(mu, numerical_gradient(lambda x: problem.logsum(0, x)[0], theta, 1e-4), atol=1e-6)


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_reweighted_bound_is_exact_on_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, "tree", SETS)
    _, outputs = outputs_of(graph)
    theta = rng.standard_normal(outputs.n)
    value, mu = problem_of(bind(graph, "trw"), outputs.n).logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(mu, marginals, atol=1e-9)


def local_optimum(graph: Factors, theta: Array) -> float:
    """The optimum of the relaxation, as a linear program over mixtures of labelings of each factor."""
    kinds = graph.variables
    begin = np.concatenate([[0], np.cumsum([len(SETS[kind]) for kind in kinds])]).astype(int)
    columns = int(begin[-1])
    value = [0.0] * columns
    rows: list[dict[int, float]] = []
    right: list[float] = []
    for v in range(len(kinds)):
        rows.append({k: 1.0 for k in range(begin[v], begin[v + 1])})
        right.append(1.0)
    first = 0
    blocks: list[tuple[list[int], list[tuple[tuple[int, ...], float]]]] = []
    for factor in graph.soft:
        scope = scope_of(factor)
        cells = {cell: first + k for k, cell in enumerate(cells_of(factor, graph, SETS))}
        first += len(cells)
        forbids = getattr(factor, "tuples", None) is not None and factor.others == "forbidden"
        block = []
        for numbers in product(*(range(len(SETS[kinds[v]])) for v in scope)):
            part = cells.get(tuple(SETS[kinds[v]][k] for v, k in zip(scope, numbers, strict=True)))
            if part is not None or not forbids:
                block.append((numbers, 0.0 if part is None else theta[part]))
        blocks.append((scope, block))
    for rule in graph.hard:
        own = Factors(kinds, [], [rule])
        blocks.append((list(range(len(kinds))), [(numbers, 0.0) for numbers, _ in labelings(own, SETS)]))
    for scope, block in blocks:
        for j, v in enumerate(scope):
            for k in range(len(SETS[kinds[v]])):
                row = {begin[v] + k: -1.0}
                row.update({columns + c: 1.0 for c, (numbers, _) in enumerate(block) if numbers[j] == k})
                rows.append(row)
                right.append(0.0)
        value += [score for _, score in block]
        columns += len(block)
    matrix = np.zeros((len(rows), columns))
    for r, row in enumerate(rows):
        for k, entry in row.items():
            matrix[r, k] = entry
    return -float(linprog(-np.array(value), A_eq=matrix, b_eq=right, bounds=(0, 1)).fun)


@pytest.mark.parametrize("style", STYLES)
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_relaxation_is_never_below_the_best_labeling(style: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, style, SETS)
    _, outputs = outputs_of(graph)
    bound = bind(graph, "relaxed", iterations=3000)
    problem = problem_of(bound, outputs.n)
    theta = rng.standard_normal(outputs.n)
    best = float(outputs.values(theta).max())
    value, mu = problem.relaxed_argmax(0, theta)
    certified = bound.certified[0] == 1
    assert value >= best - 1e-7
    found, y = problem.argmax(0, theta)
    assert tuple(sorted(y.tolist())) in outputs.ys
    assert_allclose(found, theta[y].sum(), atol=1e-10)
    assert found <= best + 1e-9
    if certified:
        assert_allclose(found, best, atol=1e-7)
        assert_allclose(mu @ theta, best, atol=1e-7)
    if style != "hard":  # the program has the rules over all variables, which is tighter where they have fewer
        assert_allclose(value, local_optimum(graph, theta), atol=1e-3)
        assert_allclose(mu @ theta, value, atol=1e-2)


@pytest.mark.parametrize("style", STYLES)
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_the_linear_program_has_the_bound_of_ad3(style: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, style, SETS)
    if any(isinstance(rule, Even) for rule in graph.hard):
        graph = Factors(graph.variables, graph.soft, [rule for rule in graph.hard if not isinstance(rule, Even)])
    _, outputs = outputs_of(graph)
    program, relaxed = bind(graph, "lp"), bind(graph, "relaxed", iterations=3000)
    theta = rng.standard_normal(outputs.n)
    bound, mu = problem_of(program, outputs.n).relaxed_argmax(0, theta)
    best = float(outputs.values(theta).max())
    assert bound >= best - 1e-9
    assert_allclose(bound, problem_of(relaxed, outputs.n).relaxed_argmax(0, theta)[0], atol=2e-3)
    assert_allclose(mu @ theta, bound, atol=1e-6)
    if style != "hard":  # the program of the test has rules over all variables, which is tighter
        assert_allclose(bound, local_optimum(graph, theta), atol=1e-6)
    found, y = problem_of(program, outputs.n).argmax(0, theta)
    assert tuple(sorted(y.tolist())) in outputs.ys
    assert found <= best + 1e-9
    assert (program.certified[0] == 1) == (abs(bound - found) < 1e-6)


@pytest.mark.parametrize("kind", ["xor", "at most one", "or", "budget", "allowed", "forbidden", "implication"])
@given(seed=seeds, forbid=st.booleans())
@settings(max_examples=8, deadline=None)
def test_the_inequalities_of_a_rule_are_its_convex_hull(kind: str, seed: int, forbid: bool) -> None:
    """With one rule and scores of single labels the program has an integral solution."""
    rng = np.random.default_rng(seed)
    kinds = [str(rng.choice(["two", "three"])) for _ in range(int(rng.integers(2, 6)))]
    graph = Factors(kinds, [(v,) for v in range(len(kinds))], [rules(rng, kinds)[kind]])
    labels, outputs = outputs_of(graph)
    if labels:
        check_program(rng, graph, outputs, forbid)


@pytest.mark.parametrize("single_root", [True, False])
@given(seed=seeds, words=st.integers(1, 4), forbid=st.booleans())
@settings(max_examples=8, deadline=None)
def test_the_flows_of_a_tree_are_its_convex_hull(single_root: bool, seed: int, words: int, forbid: bool) -> None:
    rng = np.random.default_rng(seed)
    graph, outputs = tree_graph(words, single_root)
    check_program(rng, graph, outputs, forbid)


def check_program(rng: np.random.Generator, graph: Factors, outputs: Outputs, forbid: bool) -> None:
    theta = 2 * rng.standard_normal(outputs.n)
    if forbid:
        theta[rng.integers(outputs.n)] = -inf
    bound = bind(graph, "lp")
    value, mu = problem_of(bound, outputs.n).relaxed_argmax(0, theta)
    best = float(outputs.values(theta).max())
    if best == -inf:
        assert value == -inf
        return
    assert_allclose(value, best, atol=1e-8)
    assert bound.certified[0] == 1
    assert set(mu.tolist()) <= {0.0, 1.0}
    assert_allclose(problem_of(bound, outputs.n).argmax(0, theta)[0], best, atol=1e-9)


def tree_graph(words: int, single_root: bool) -> tuple[Factors, Outputs]:
    """The arcs of a sentence as variables under a TREE factor, and its trees as outputs."""
    arcs = [(h, m) for m in range(1, words + 1) for h in range(words + 1) if h != m]
    rule = TreeRule(words, [(h, m, v, "b") for v, (h, m) in enumerate(arcs)], single_root=single_root)
    graph = Factors(["two"] * len(arcs), [(v,) for v in range(len(arcs))], [rule])
    heads = trees(words, single_root)
    return graph, Outputs(
        2 * len(arcs), [tuple(2 * v + (tree[m - 1] == h) for v, (h, m) in enumerate(arcs)) for tree in heads]
    )


def test_a_program_refuses_rules_without_inequalities_and_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Factors(["two"] * 2, [(0,), (1,)], [Even([0, 1])])
    with pytest.raises(MargraveError, match=r"graph 0, hard factor 0: a linear program needs inequalities.*'relaxed'"):
        bind(own, "lp")
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MargraveError, match=r"margrave\[lp\] brings: install it, or use inference='relaxed'"):
        bind(Factors(["two"], [(0,)]), "lp")


@pytest.mark.parametrize("single_root", [True, False])
def test_trees_that_are_too_large_for_tables_are_exact_if_nothing_else_sees_their_arcs(single_root: bool) -> None:
    rng = np.random.default_rng(0)
    graph, outputs = tree_graph(5, single_root)  # a table would have 2^25 cells
    bound = bind(graph, "exact", memory=10.0)
    assert bound.exact
    problem = problem_of(bound, outputs.n)
    for size in (1.0, 30.0):
        theta = size * rng.standard_normal(outputs.n)
        value, mu = problem.logsum(0, theta)
        expected, marginals = outputs.logsum(theta)
        assert_allclose(value, expected, rtol=1e-10)
        assert_allclose(mu, marginals, atol=1e-9)
        found, y = problem.argmax(0, theta)
        assert_allclose(found, outputs.values(theta).max(), rtol=1e-12)
        assert tuple(sorted(y.tolist())) in outputs.ys
    with_pairs = Factors(graph.variables, [*graph.soft, (0, 1)], graph.hard)
    with pytest.raises(MargraveError, match="inference="):
        bind(with_pairs, "exact", memory=10.0)


def two_loops(rng: np.random.Generator, examples: int, inference: str, **options: Any) -> tuple[Any, Any]:
    """Several cycles of four variables with tied weights, and the exact structure of the same graphs."""
    graph = Factors(["two"] * 4, [(v,) for v in range(4)] + [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    gold = [[SETS["two"][k] for k in rng.integers(0, 2, 4)] for _ in range(examples)]
    parts = part_count(graph, SETS)
    matrices = [rng.standard_normal((parts, 6)) for _ in range(examples)]
    found = []
    for kind, settings_of in (("exact", {}), (inference, options)):
        structure = FactorGraph(labels=SETS, inference=kind, **settings_of)
        bound = structure.bind(
            LabelSets(SETS), Examples.of_sizes(np.zeros(examples, dtype=int), gold, X=[graph] * examples), Hamming()
        )
        found.append(joined(bound, matrices))
    return found[0], found[1]


def joined(bound: _core.FactorGraphStructure, matrices: list[Array]) -> _core.Problem:
    """A problem whose example i has the features matrices[i], (parts, features)."""
    examples, (parts, dim) = len(matrices), matrices[0].shape
    rows = _core.Tokens(
        np.arange(examples + 1) * parts,
        np.arange(examples * parts + 1) * dim,
        np.tile(np.arange(dim, dtype=np.int32), examples * parts),
        np.concatenate(matrices).ravel(),
    )
    return _core.join(bound, _core.sparse_parts(dim, rows, np.ones(examples, dtype=np.int64)))


@pytest.mark.parametrize("learner", ["sgd", BCFW(pairwise=False), "auto"])
def test_learners_minimize_the_relaxed_hinge(learner: Any) -> None:
    exact, relaxed = two_loops(np.random.default_rng(0), 8, "relaxed", iterations=2000)
    learner = learner_named(learner)
    solution = learner.solve(Objective(relaxed, Hinge(), C=0.1, tol=1e-2, max_iter=60))
    assert "relaxed objective" in solution.reason
    assert not solution.exact
    objective = Objective(exact, Hinge(), C=0.1)
    best = learner_named("bcfw").solve(Objective(exact, Hinge(), C=0.1, tol=1e-6)).certificate.primal
    assert objective.primal(solution.w) <= solution.certificate.primal * (
        1 + 1e-6
    )  # the relaxed loss is above the loss
    assert objective.primal(solution.w) <= 1.1 * best


@pytest.mark.parametrize("learner", ["bcfw", "cutting-plane", "one-slack"])
def test_learners_that_keep_outputs_refuse_a_relaxation(learner: str) -> None:
    _, relaxed = two_loops(np.random.default_rng(0), 3, "relaxed")
    with pytest.raises(MargraveError, match=r"keeps whole outputs.*sgd"):
        learner_named(learner).solve(Objective(relaxed, Hinge(), C=1.0))


@pytest.mark.parametrize("inference", ["bp", "trw"])
def test_log_losses_of_messages_are_close_to_the_exact_ones(inference: str) -> None:
    exact, approximate = two_loops(np.random.default_rng(1), 8, inference)
    solution = learner_named("sgd").solve(Objective(approximate, Log(), C=0.1, tol=1e-3, max_iter=40))
    best = learner_named("lbfgs").solve(Objective(exact, Log(), C=0.1, tol=1e-8)).certificate.primal
    assert "approximate" in solution.reason
    assert Objective(exact, Log(), C=0.1).primal(solution.w) <= 1.05 * best
    if inference == "trw":
        assert solution.certificate.primal >= Objective(exact, Log(), C=0.1).primal(solution.w) - 1e-9


def test_settings_and_graphs_that_do_not_fit_are_refused() -> None:
    for wrong in ({"schedule": "random"}, {"sweeps": 0}, {"damping": 1.0}, {"tolerance": 0.0}, {"iterations": 0}):
        with pytest.raises(MargraveError):
            FactorGraph(inference="bp", **wrong)
    graph = Factors(["two"] * 2, [(0,), (1,)], [Xor([(0, "a"), (1, "a")])])
    with pytest.raises(ValueError, match="tree-reweighted messages are for graphs with factors of one or two"):
        bind(graph, "trw")
