"""Every registered structure against enumeration; hand-written inference against references that have no shortcuts."""

import gc
from collections.abc import Iterator
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from margrave.examples import Examples
from margrave.maps import FeatureTable, SparseMap
from margrave.structures import Chain, Labels, NonProjectiveTree, NoOutputs
from margrave.testing.enumeration import Array, Outputs
from margrave.testing.problems import (
    SCORES,
    Contract,
    best_by_cost,
    best_output,
    clamped_parts,
    entropy_of_marginals,
    frequencies_agree,
    gold_and_costs,
    gradient_of_logsum,
    k_best_outputs,
    log_partition,
    only_output,
    random_scores,
)
from tests.references.enumeration import (
    ChainParts,
    Graph,
    arc_part,
    chain_graph,
    chain_logsum,
    chain_logsum_of_any_order,
    tree_logsum_lapack,
    tree_parts,
    trees,
)
from tests.references.problems import bind, bound_of
from tests.registry import KINDS, Case, Kind
from tests.registry.hypergraphs import core_graph
from tests.registry.labels import random_forbidden

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=6, deadline=None)
some = settings(max_examples=25, deadline=None)


def every_example(case: Case, seed: int) -> Iterator[tuple[int, Array]]:
    """(example, scores), with all styles of scores in turn."""
    rng = np.random.default_rng(seed + 1)
    for turn, style in enumerate(rng.permutation(SCORES)):
        i = turn % len(case)
        yield i, random_scores(rng, case.outputs[i].n, style)


def holds(contract: Contract, case: Case, seed: int) -> None:
    """The contract holds on every example, unless the problem does not offer what it is about."""
    rng = np.random.default_rng(seed)
    if not contract.needs or contract.needs in case.problem.offers:
        for i, theta in every_example(case, seed):
            contract(case, i, theta, rng)


def assert_close(actual, expected, *, smallest: float = 1e-9) -> None:
    """Equal to nine digits; marginals also where they are small, down to this size."""
    assert_allclose(actual, expected, rtol=1e-9, atol=smallest)


def offering(problem: _core.Problem, what: str) -> None:
    if what not in problem.offers:
        pytest.skip(f"offers no {what}")


# ---- the contracts --------------------------------------------------------------------------------------------------


@every_kind
@given(seed=seeds)
@few
def test_argmax_is_the_best_output(kind: Kind, seed: int) -> None:
    holds(best_output, kind(seed), seed)


@every_kind
@given(seed=seeds)
@few
def test_logsum_and_marginals_are_those_of_the_enumeration(kind: Kind, seed: int) -> None:
    case = kind(seed)
    if "logsum" not in case.problem.offers:
        return
    rng = np.random.default_rng(seed)
    for i, theta in every_example(case, seed):
        if np.isfinite(case.outputs[i].values(theta)).any() or "Python" not in kind.name:
            log_partition(case, i, theta, rng)


@every_kind
@given(seed=seeds)
@few
def test_kbest_is_the_sorted_enumeration(kind: Kind, seed: int) -> None:
    holds(k_best_outputs, kind(seed), seed)


@every_kind
@given(seed=seeds)
@few
def test_argmax_by_cost_is_the_best_output_at_every_cost(kind: Kind, seed: int) -> None:
    holds(best_by_cost, kind(seed), seed)


@every_kind
@pytest.mark.parametrize("style", ["usual", "forbidden"])
def test_samples_have_the_frequencies_of_the_distribution(kind: Kind, style: str) -> None:
    case = kind(11)
    offering(case.problem, "sample")
    rng = np.random.default_rng(5)
    for i in (1, 2):
        outputs = case.outputs[i]
        theta = random_scores(rng, outputs.n, style)
        if outputs.values(theta).max() == -inf:
            theta = random_scores(rng, outputs.n, "usual")
        frequencies_agree(case.problem, i, outputs, theta, 1000 if "Python" in kind.name else 3000)


@every_kind
@given(seed=seeds)
@few
def test_entropy_gives_the_parameters_that_reproduce_the_marginals(kind: Kind, seed: int) -> None:
    case = kind(seed)
    if "entropy" not in case.problem.offers:
        return
    rng = np.random.default_rng(seed)
    for i, outputs in enumerate(case.outputs):
        for style in entropy_of_marginals.styles:
            entropy_of_marginals(case, i, random_scores(rng, outputs.n, style), rng)


@every_kind
@given(seed=seeds)
@few
def test_marginals_are_the_gradient_of_logsum(kind: Kind, seed: int) -> None:
    case = kind(seed, size=2)
    if "logsum" not in case.problem.offers:
        return
    rng = np.random.default_rng(seed)
    gradient_of_logsum(case, 1, rng.standard_normal(case.outputs[1].n), rng)


@every_kind
@given(seed=seeds)
@few
def test_gold_outputs_and_their_costs_are_the_users(kind: Kind, seed: int) -> None:
    for cost in kind.costs:
        case = kind(seed, cost)
        for i, outputs in enumerate(case.outputs):
            gold_and_costs(case, i, np.zeros(outputs.n), np.random.default_rng(seed))


@every_kind
@given(seed=seeds)
@few
def test_clamp_forbids_what_no_output_has_and_nothing_else(kind: Kind, seed: int) -> None:
    case = kind(seed)
    for i, outputs in enumerate(case.outputs):
        rng = np.random.default_rng(seed)
        clamped_parts(case, i, rng.standard_normal(outputs.n), rng)


@every_kind
@given(seed=seeds)
@few
def test_where_one_output_is_left_it_is_the_answer(kind: Kind, seed: int) -> None:
    case = kind(seed)
    only_output(case, case.by_size()[0], np.zeros(0), np.random.default_rng(seed))


@every_kind
@given(seed=seeds)
@few
def test_inference_at_weights_is_that_under_their_scores(kind: Kind, seed: int) -> None:
    case = kind(seed)
    rng = np.random.default_rng(seed)
    offset = _core.offset(case.problem, rng.standard_normal(case.problem.dim))  # whose costs are its own
    for problem in (case.problem, case.problem.slice(0, len(case)), offset):
        w = rng.standard_normal(problem.dim)
        for i in range(len(case)):
            for scale, gamma in ((1.0, 0.0), (1.0, 1.0), (0.5, 2.0)):
                delta = problem.cost(i)[0]
                scores = scale * problem.score(i, w)
                ranking = scores + gamma * delta
                theta, ((value, y),) = problem.infer(i, w, _core.Question("argmax", gamma=gamma, scale=scale))
                assert np.array_equal(theta, scores)
                assert value == problem.argmax(i, ranking)[0] and np.array_equal(y, problem.argmax(i, ranking)[1])
                if "kbest" in problem.offers:
                    _, best = problem.infer(i, w, _core.Question("kbest", k=3, gamma=gamma, scale=scale))
                    assert [value for value, _ in best] == [value for value, _ in problem.kbest(i, ranking, 3)]  # type: ignore[attr-defined]
                if "logsum" in problem.offers:
                    question = _core.Question("logsum", beta=2.0, gamma=gamma, scale=scale)
                    _, (value, index, feature_map) = problem.infer(i, w, question)
                    expected, mu = problem.logsum(i, 2.0 * ranking)
                    assert value == expected
                    row = problem.row(i, mu)
                    assert np.array_equal(index, row[0]) and np.array_equal(feature_map, row[1])
            with pytest.raises(MargraveError, match="offers no most_violated"):
                problem.infer(i, w, _core.Question("most_violated"))


def test_a_question_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(MargraveError, match="a question is 'argmax', 'kbest', 'logsum', 'relaxed_argmax' or"):
        _core.Question("best")
    for name, value in (
        ("gamma", -1.0),
        ("k", 0),
        ("beta", inf),
        ("scale", 0.0),
        ("rescale", "both"),
        ("slack", 0),
    ):
        with pytest.raises(MargraveError, match=f"{name} must be"):
            _core.Question("argmax", **{name: value})
    question = _core.Question("most_violated", rescale="slack", slack=2)
    assert (question.kind, question.rescale, question.slack) == ("most_violated", "slack", 2)


@every_kind
@given(seed=seeds)
@settings(max_examples=3, deadline=None)
def test_a_slice_is_the_problem_of_its_examples(kind: Kind, seed: int) -> None:
    case = kind(seed, size=5)
    whole, part = case.problem.slice(0, 5), case.problem.slice(1, 4)
    w = np.random.default_rng(seed).standard_normal(whole.dim)
    family = _core.LossFamily(1.0, 1.0)
    assert (part.size, part.dim, part.offers, part.has_gold) == (3, whole.dim, whole.offers, whole.has_gold)
    for i in range(3):
        theta = part.score(i, w)
        assert part.parts(i) == whole.parts(i + 1)
        assert np.array_equal(theta, whole.score(i + 1, w))
        assert np.array_equal(part.gold(i), whole.gold(i + 1))
        assert np.array_equal(part.forbid(i, theta), whole.forbid(i + 1, theta))
        assert np.array_equal(part.cost(i)[0], whole.cost(i + 1)[0]) and part.cost(i)[1] == whole.cost(i + 1)[1]
        assert part.radius(i) == whole.radius(i + 1)
        assert part.argmax(i, theta)[0] == whole.argmax(i + 1, theta)[0]
        assert np.array_equal(part.logsum(i, theta)[1], whole.logsum(i + 1, theta)[1])
        assert [v for v, _ in part.kbest(i, theta, 4)] == [v for v, _ in whole.kbest(i + 1, theta, 4)]
        assert np.array_equal(part.sample(i, theta, 3), whole.sample(i + 1, theta, 3))
        assert part.oracle(i, w, family)[:3] == whole.oracle(i + 1, w, family)[:3]
        rows = part.row(i, theta), whole.row(i + 1, theta)
        assert np.array_equal(rows[0][0], rows[1][0]) and np.array_equal(rows[0][1], rows[1][1])
        g, h = np.zeros(part.dim), np.zeros(part.dim)
        part.scatter(i, theta, 2.0, g)
        whole.scatter(i + 1, theta, 2.0, h)
        assert np.array_equal(g, h)
    assert part.slice(1, 3).slice(1, 1).size == 0


@every_kind
def test_a_slice_outlives_the_name_of_its_whole(kind: Kind) -> None:
    case = kind(3)
    part = case.problem.slice(1, 3)
    theta = np.zeros(case.outputs[1].n)
    expected = case.outputs[1].logsum(theta)[0]
    case.problem = None  # type: ignore[assignment]
    gc.collect()
    assert_close(part.logsum(0, theta)[0], expected)


@every_kind
def test_wrong_lengths_and_numbers_are_refused_in_words(kind: Kind) -> None:
    case = kind(1)
    problem, n = case.problem, case.outputs[1].n
    fine = np.zeros(n)
    for wrong in (np.zeros(n + 1), np.zeros(n - 1)):
        for call in (
            lambda v: problem.argmax(1, v),
            lambda v: problem.logsum(1, v),
            lambda v: problem.kbest(1, v, 2),
            lambda v: problem.sample(1, v, 0),
            lambda v: problem.argmax_by_cost(1, v, fine),
            lambda v: problem.argmax_by_cost(1, fine, v),
            lambda v: problem.forbid(1, v),
        ):
            if "Python" in kind.name and not isinstance(problem, _core.SliceProblem):
                break  # a direct call is the user's own method
            with pytest.raises(MargraveError, match=f"length {n}"):
                call(wrong)
    for bad in (np.nan, inf):
        theta = fine.copy()
        theta[n - 1] = bad
        for call in (
            lambda v: problem.argmax(1, v),
            lambda v: problem.logsum(1, v),
            lambda v: problem.kbest(1, v, 2),
            lambda v: problem.sample(1, v, 0),
            lambda v: problem.argmax_by_cost(1, v, fine),
        ):
            if "Python" in kind.name and not isinstance(problem, _core.SliceProblem):
                break
            with pytest.raises(MargraveError, match=f"part {n - 1} has the score"):
                call(theta)
    for w in (np.zeros(problem.dim + 1), np.zeros(problem.dim + 7)):
        with pytest.raises(MargraveError, match=f"w must have length {problem.dim}"):
            problem.oracle(1, w, _core.LossFamily(1.0, 0.0))
        with pytest.raises(MargraveError, match=f"w must have length {problem.dim}"):
            _core.losses_and_gradient(problem, w, _core.LossFamily(1.0, 0.0), 2, True)
        with pytest.raises(MargraveError, match=f"w must have length {problem.dim}"):
            _core.argmax_all(problem, w, 2)
        with pytest.raises(MargraveError, match=f"w must have length {problem.dim}"):
            _core.marginals_all(problem, w, 1.0, 2)
    for i in (-1, len(case), 2**40):
        with pytest.raises(MargraveError, match=f"example {i} is out of range"):
            problem.oracle(i, np.zeros(problem.dim), _core.LossFamily(1.0, 0.0))
        if isinstance(problem, _core.BoundProblem | _core.SliceProblem):
            for call in (problem.parts, problem.gold, problem.cost, problem.radius):
                with pytest.raises(MargraveError, match=f"example {i} is out of range"):
                    call(i)
            with pytest.raises(MargraveError, match=f"example {i} is out of range"):
                problem.argmax(i, fine)
    for begin, end in ((-1, 2), (0, len(case) + 1), (3, 2)):
        with pytest.raises(MargraveError):
            problem.slice(begin, end)


def test_costs_that_cannot_be_counted_are_refused() -> None:
    for kind in KINDS:
        case = kind(1)
        if "argmax_by_cost" not in case.problem.offers or "Python" in kind.name:
            continue
        for bad in (0.5, 2e6, -2e6, np.nan, inf):
            delta = np.zeros(case.outputs[1].n)
            delta[-1] = bad
            with pytest.raises(MargraveError, match="whole numbers"):
                case.problem.argmax_by_cost(1, np.zeros(case.outputs[1].n), delta)


def test_costs_that_are_few_but_large_are_counted_in_time(child) -> None:
    """Ten tokens with one label that costs 50000: eleven different costs, however large they are."""
    printed = child("""
from tests.structures.test_structures import as_hypergraph, plain_chain
for problem in (plain_chain(10, 3, True), plain_chain(10, 3, False), as_hypergraph(10, 3, True)):
    delta = np.zeros(problem.parts(0))
    delta[1:30:3] = 50_000
    found = problem.argmax_by_cost(0, np.ones(problem.parts(0)), delta)
    assert [cost for cost, _, _ in found] == [50_000 * k for k in range(11)]
print("counted")
""")
    assert "counted" in printed


# ---- chains ---------------------------------------------------------------------------------------------------------


def plain_chain(length: int, labels: int, tied: bool, order: int = 1, forbidden=()) -> _core.Problem:
    """One sequence without attributes; only its scores matter."""
    classes = list(range(labels))
    return bind(
        Chain(order=order, tied=tied, forbidden=forbidden),
        [[[]] * length],
        np.zeros(length, dtype=np.int32),
        feature_map=FeatureTable(),
        classes=classes,
    )


def assert_chain_logsum(emission: np.ndarray, tables: np.ndarray, tied: bool) -> None:
    """The core against forward-backward in extended precision; tables: (1 or length - 1, labels, labels)."""
    length, labels = emission.shape
    theta = np.concatenate([emission.ravel(), tables.ravel()])
    expected, mu, pairs = chain_logsum(
        emission, np.broadcast_to(tables, (length - 1, labels, labels)) if tied else tables
    )
    value, marginals = plain_chain(length, labels, tied).logsum(0, theta)
    if expected == -inf:
        assert value == -inf and not marginals.any()
        return
    assert_close(value, expected)
    assert_close(marginals[: length * labels], mu.ravel(), smallest=1e-30)
    assert_close(marginals[length * labels :], (pairs.sum(axis=0) if tied else pairs).ravel(), smallest=1e-30)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("width", [200.0, 229.9, 230.0, 230.1, 260.0, 800.0])
@given(seed=seeds, length=st.integers(2, 200), labels=st.integers(1, 6))
@settings(max_examples=12, deadline=None)
def test_long_chains_agree_on_both_sides_of_the_switch_to_log_space(
    tied: bool, width: float, seed: int, length: int, labels: int
) -> None:
    rng = np.random.default_rng(seed)
    share = rng.uniform()  # of the whole width that lies in the transitions
    emission = rng.uniform(0, width * (1 - share), (length, labels)) + rng.normal(0, 100, (length, 1))
    tables = rng.uniform(0, width * share, (1 if tied else length - 1, labels, labels))
    t, m = rng.integers(length), rng.integers(len(tables))
    emission[t, [0, -1]] = 0.0, width * (1 - share)
    tables[m, 0, 0], tables[m, -1, -1] = 0.0, width * share
    assert_chain_logsum(emission, tables, tied)


@pytest.mark.parametrize("tied", [True, False])
@given(seed=seeds, length=st.integers(2, 60), labels=st.integers(2, 7))
@settings(max_examples=40, deadline=None)
def test_long_chains_agree_where_states_starve(tied: bool, seed: int, length: int, labels: int) -> None:
    """-inf makes states that nothing reaches, or that lead nowhere, while their scores run away from all others."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1.0, 50.0, 100.0, 115.0, 300.0, 800.0])
    emission = rng.uniform(-size, size, (length, labels)) / 2
    tables = rng.uniform(-size, size, (1 if tied else length - 1, labels, labels)) / 2
    emission[rng.random((length, labels)) < rng.choice([0, 0.1, 0.3])] = -inf
    tables[rng.random(tables.shape) < rng.choice([0, 0.2, 0.5])] = -inf
    island = rng.random(labels) < 0.5  # labels that only ever follow each other, and score much better or worse
    tables[:, island[:, None] != island[None, :]] = -inf
    emission[:, island] += rng.choice([-1, 1]) * size / 2
    emission[rng.choice([0, -1]), island] = -inf
    assert_chain_logsum(emission, tables, tied)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("end", [0, -1])
@pytest.mark.parametrize("per_step", [20.0, 100.0, 220.0])
def test_a_dead_end_may_outweigh_everything_that_counts(tied: bool, end: int, per_step: float) -> None:
    """Two labels that never meet; one is better by `per_step` at every position, but cannot begin (or end)."""
    for length in range(2, 60):
        emission = np.zeros((length, 3))
        emission[:, 2] = per_step
        emission[:, 1] = np.linspace(-1, 1, length)
        emission[end, 2] = -inf
        tables = np.zeros((1 if tied else length - 1, 3, 3))
        tables[:, 2, :2] = tables[:, :2, 2] = -inf
        assert_chain_logsum(emission, tables, tied)


@pytest.mark.parametrize("tied", [True, False])
def test_marginals_keep_nine_digits_in_log_space_however_long_the_chain(tied: bool) -> None:
    """All scores are near 800, so that log Z is huge, and one of -800 sends the chain to log space."""
    rng = np.random.default_rng(0)
    for length in (50, 200):
        emission = 800 + rng.standard_normal((length, 4))
        tables = 800 + rng.standard_normal((1 if tied else length - 1, 4, 4))
        emission[length // 2, 0] = -800
        assert_chain_logsum(emission, tables, tied)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("labels", [1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 34, 37, 40])
def test_loops_of_every_number_of_labels_agree(labels: int, tied: bool) -> None:
    """Up to 32 labels the compiler knows their number, and rows are padded to four."""
    rng = np.random.default_rng(labels)
    for length in (1, 2, 5):
        problem = plain_chain(length, labels, tied)
        emission = rng.standard_normal((length, labels))
        tables = rng.standard_normal((1 if tied else length - 1, labels, labels))
        if length > 1:
            assert_chain_logsum(emission, tables, tied)
        else:
            value, mu = problem.logsum(0, np.concatenate([emission.ravel(), tables.ravel()]))
            assert_close(value, log(np.exp(emission).sum()))
            assert_close(mu[:labels], (np.exp(emission) / np.exp(emission).sum()).ravel())
            assert not mu[labels:].any()
        theta = np.concatenate([emission.ravel(), tables.ravel()])
        best = emission[0]
        for t in range(1, length):
            best = (best[:, None] + tables[0 if tied else t - 1]).max(axis=0) + emission[t]
        value, parts = problem.argmax(0, theta)
        assert_close(value, best.max())
        assert_close(theta[parts].sum(), best.max())
        assert ChainParts(labels, 1, tied).of([int(k) % labels for k in parts[:length]]) == tuple(
            sorted(parts.tolist())
        )


def as_hypergraph(length: int, labels: int, tied: bool) -> _core.Problem:
    parts = ChainParts(labels, 1, tied)
    emission = np.arange(length * labels).reshape(length, labels)
    grams = np.array(
        [[[parts.gram_part(length, t, (a, b)) for b in range(labels)] for a in range(labels)] for t in range(1, length)]
    ).reshape(length - 1, labels, labels)
    count = np.array([parts.count(length)], dtype=np.int64)
    structure = _core.hypergraphs([core_graph(chain_graph(emission, grams))], count, None, None, None)
    rows = _core.Tokens(np.array([0, count[0]]), np.zeros(count[0] + 1, dtype=np.int64), np.zeros(0, np.int32), None)
    return _core.join(structure, _core.sparse_parts(0, rows, np.ones(1, dtype=np.int64)))


@pytest.mark.parametrize("tied", [True, False])
@given(seed=seeds, length=st.integers(1, 30), labels=st.integers(1, 5))
@some
def test_hand_written_loops_of_chains_agree_with_the_hypergraph_engine(
    tied: bool, seed: int, length: int, labels: int
) -> None:
    rng = np.random.default_rng(seed)
    hand, engine = plain_chain(length, labels, tied), as_hypergraph(length, labels, tied)
    for style in SCORES:
        assert_as_engine(hand, engine, random_scores(rng, hand.parts(0), style), rng)


def assert_as_engine(hand: _core.Problem, engine: _core.Problem, theta: np.ndarray, rng: np.random.Generator) -> None:
    """Both answer alike. In log space, a sum of scores loses the digits that its size takes up."""
    best, expected = hand.argmax(0, theta)[0], engine.argmax(0, theta)[0]
    assert best == expected or abs(best - expected) <= 1e-9 * max(1.0, abs(expected))
    value, mu = hand.logsum(0, theta)
    again, also = engine.logsum(0, theta)
    assert (value == -inf) == (again == -inf)
    if value > -inf:
        assert_close(value, again)
        assert_allclose(mu, also, rtol=max(1e-9, 1e-14 * abs(value)), atol=1e-30)
    few_best = [v for v, _ in hand.kbest(0, theta, 20)]
    assert_close(np.array(few_best), np.array([v for v, _ in engine.kbest(0, theta, 20)]))
    if "argmax_by_cost" not in hand.offers:
        return
    delta = (rng.random(len(theta)) < 0.3).astype(float)
    by_cost, engines = hand.argmax_by_cost(0, theta, delta), engine.argmax_by_cost(0, theta, delta)
    assert [c for c, _, _ in by_cost] == [c for c, _, _ in engines]
    assert_close(np.array([v for _, v, _ in by_cost]), np.array([v for _, v, _ in engines]))


@given(seed=seeds, order=st.integers(1, 3), tied=st.booleans(), length=st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_long_chains_of_any_order_agree_with_log_space(seed: int, order: int, tied: bool, length: int) -> None:
    """Around the switch to log space, and where -inf makes states starve."""
    rng = np.random.default_rng(seed)
    labels = int(rng.integers(1, 4 if order < 3 else 3))
    forbidden = random_forbidden(rng, labels) if rng.random() < 0.5 else frozenset()
    parts = ChainParts(labels, order, tied, forbidden)
    width = rng.choice([1.0, 60.0, 110.0, 229.9, 230.1, 400.0, 1600.0])
    theta = rng.uniform(-0.5, 0.5, parts.count(length)) * width / (order + 1) + rng.choice([0.0, 100.0])
    if rng.random() < 0.5:
        theta[rng.random(len(theta)) < rng.choice([0.05, 0.2])] = -inf
    if rng.random() < 0.5:  # one label runs away from the others, and comes to nothing
        theta[0 : length * labels : labels] += width / 2
        theta[rng.choice([0, (length - 1) * labels])] = -inf
    value, mu = plain_chain(length, labels, tied, order, sorted(forbidden)).logsum(0, theta)
    expected, marginals = chain_logsum_of_any_order(parts, length, theta)
    if expected == -inf:
        assert value == -inf and not mu.any()
        return
    assert_close(value, expected)
    assert_close(mu, marginals, smallest=1e-30)


@given(seed=seeds, order=st.integers(2, 3), tied=st.booleans())
@settings(max_examples=15, deadline=None)
def test_a_chain_whose_long_tuples_score_nothing_is_one_of_order_1(seed: int, order: int, tied: bool) -> None:
    """Long chains of higher order, where there is nothing to enumerate."""
    rng = np.random.default_rng(seed)
    length, labels = 25, 3
    high, low = plain_chain(length, labels, tied, order), plain_chain(length, labels, tied)
    parts = ChainParts(labels, order, tied)
    emission = 50 * rng.standard_normal(length * labels)
    pairs = 50 * rng.standard_normal((1 if tied else length - 1, labels * labels))
    tables = np.zeros((len(pairs), len(parts.grams)))
    tables[:, : labels * labels] = pairs
    value, mu = high.logsum(0, np.concatenate([emission, tables.ravel()]))
    expected, marginals = low.logsum(0, np.concatenate([emission, pairs.ravel()]))
    assert_close(value, expected)
    found = np.concatenate(
        [mu[: length * labels], mu[length * labels :].reshape(len(tables), -1)[:, : labels**2].ravel()]
    )
    assert_close(found, marginals, smallest=1e-30)
    best = high.argmax(0, np.concatenate([emission, tables.ravel()]))[0]
    assert_close(best, low.argmax(0, np.concatenate([emission, pairs.ravel()]))[0])


@pytest.mark.parametrize("value", [0.0, 0.1, -0.7])
def test_kbest_of_many_equal_scores_takes_no_exponential_search(value: float, child) -> None:
    """Ties are broken by rounding alone, and no such difference may send the search through all paths."""
    printed = child(f"""
from tests.structures.test_structures import as_hypergraph, plain_chain, plain_tree
for problem in (
    plain_chain(200, 4, True), plain_chain(200, 4, False), plain_chain(60, 3, True, 2), plain_chain(60, 3, False, 3),
    as_hypergraph(200, 4, True), plain_tree(40, True), plain_tree(40, False),
):
    theta = np.full(problem.parts(0), {value})
    found = problem.kbest(0, theta, 20)
    assert len({{tuple(sorted(y.tolist())) for _, y in found}}) == 20
    assert np.allclose([value for value, _ in found], problem.argmax(0, theta)[0], rtol=1e-9, atol=1e-9)
print("found")
""")
    assert "found" in printed


def test_one_token_and_one_label() -> None:
    for tied in (True, False):
        for order in (0, 1, 2, 3):
            single = plain_chain(1, 3, tied, order)
            theta = np.zeros(single.parts(0))
            theta[:3] = 1.0, 3.0, 2.0
            theta[3:] = 100.0  # no transition takes place
            assert single.argmax(0, theta)[0] == 3.0
            assert single.argmax(0, theta)[1].tolist() == [1]
            assert_close(single.logsum(0, theta)[0], log(np.exp([1.0, 3.0, 2.0]).sum()))
            assert [y.tolist() for _, y in single.kbest(0, theta, 9)] == [[1], [2], [0]]
            only = plain_chain(4, 1, tied, order)
            theta = np.ones(only.parts(0))
            value, mu = only.logsum(0, theta)
            assert value == only.argmax(0, theta)[0] == theta[only.argmax(0, theta)[1]].sum()
            assert_close(mu, np.bincount(only.argmax(0, theta)[1], minlength=len(mu)).astype(float))


def test_constraints_that_forbid_every_output_or_the_gold_one_are_refused() -> None:
    X, y = [[["a"], ["b"], ["c"]]], np.array([0, 1, 0], dtype=np.int32)
    table = FeatureTable
    with pytest.raises(MargraveError, match="example 0, position 1"):
        bind(Chain(), X, y, feature_map=table(), classes=[0, 1], allowed=np.array([[1, 1], [0, 0], [1, 1]], dtype=bool))
    with pytest.raises(MargraveError, match="example 0, position 1"):
        bind(Chain(), X, y, feature_map=table(), classes=[0, 1], allowed=np.array([[1, 1], [1, 0], [1, 1]], dtype=bool))
    for order in (1, 2, 3):
        with pytest.raises(MargraveError, match="example 0"):
            bind(Chain(order, forbidden=[(0, 1)]), X, y, feature_map=table(), classes=[0, 1])
    with pytest.raises(MargraveError, match="forbid"):
        _core.multiclass(2, np.arange(2), np.zeros(1, np.int32), None, np.array([False, False]))


def test_a_multiclass_example_whose_gold_label_is_not_allowed_is_refused() -> None:
    with pytest.raises(MargraveError, match="example 0"):
        _core.multiclass(2, np.arange(2), np.zeros(1, np.int32), None, np.array([False, True]))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("length", [2, 3])
def test_forbidding_every_transition_is_refused(order: int, length: int, child) -> None:
    printed = child(f"""
try:
    _core.chain(2, np.array([0, {length}]), None, None, None, {order}, True, np.ones(4, dtype=bool))
except MargraveError as error:
    print(error)
""")
    assert "example 0, position 1" in printed


@pytest.mark.parametrize("order, labels", [(1, 40_000), (1, 50_000), (2, 1500), (3, 270)])
def test_too_many_label_tuples_are_refused_before_they_are_made(child, order: int, labels: int) -> None:
    """270 labels of order 3 would be 5 thousand million tuples; 50,000 labels are possible at order 0."""
    printed = child(f"""
try:
    _core.chain({labels}, np.array([0, 1]), None, None, None, {order}, True, None)
except MargraveError as error:
    print(error)
""")
    assert "too many label tuples" in printed
    assert "take a lower order" in printed
    assert _core.chain(labels, np.array([0, 2]), None, None, None, 0, True, None).gram_parts == 0


def test_a_chain_with_more_parts_than_can_be_numbered_is_refused() -> None:
    """Part ids have 32 bits: 300000 positions of 100 labels, untied, need 3 thousand million."""
    begin = np.array([0, 300_000])
    gold = np.zeros(300_000, dtype=np.int32)
    with pytest.raises(MargraveError, match="example 0"):
        _core.chain(100, begin, gold, None, None, 1, False, None)
    assert (_core.chain(100, begin, gold, None, None, 1, True, None).gold(0) >= 0).all()


def test_chains_of_many_shapes_in_turn_do_not_mix_up_their_tuples() -> None:
    """The tuples of the last few shapes are kept: more shapes than that, in turn, each with its own transitions."""
    shapes = [
        (labels, order, forbidden)
        for labels in (2, 3)
        for order in (1, 2)
        for forbidden in (None, [(0, 1)], [(1, 0)], [(0, 0)])
    ]
    for labels, order, forbidden in 3 * shapes:
        flags = np.zeros((labels, labels), dtype=bool)
        for before, after in forbidden or ():
            flags[before, after] = True
        chain = _core.chain(labels, np.array([0, 4]), None, None, None, order, True, flags.ravel())
        seen = Chain(order, forbidden or ()).tuples(Labels(np.arange(labels)))
        assert chain.gram_parts == len(seen)
        parts = 4 * labels + len(seen)
        rows = _core.Tokens(np.array([0, parts]), np.zeros(parts + 1, np.int64), np.zeros(0, np.int32), None)
        problem = _core.join(chain, _core.sparse_parts(1, rows, np.ones(1, np.int64)))
        outputs = problem.kbest(0, problem.forbid(0, np.zeros(parts)), labels**4)
        found = {tuple((y[:4] % labels).tolist()) for _, y in outputs}
        every = {tuple(y) for y in np.ndindex(*[labels] * 4)}
        assert found == {y for y in every if not any(flags[y[t], y[t + 1]] for t in range(3))}


def test_parts_that_are_no_labels_are_not_decoded() -> None:
    longs, parts = (lambda *values: np.array(values, dtype=np.int64)), np.array([1, 2, 5], dtype=np.int32)
    assert _core.decode_labels(["a", "b"], longs(2, 1), longs(0, 2, 3), parts) == [["b", "a"], ["b"]]
    assert _core.decode_labels(["a", "b"], longs(), longs(0), parts) == []
    for units, begin in ((longs(4), longs(0, 3)), (longs(2), longs(2, 3)), (longs(1), longs(-1, 3)), (longs(-1),) * 2):
        with pytest.raises(MargraveError):
            _core.decode_labels(["a", "b"], units, begin, parts)
    with pytest.raises(MargraveError, match="not a label"):
        _core.decode_labels(["a"], longs(1), longs(0, 1), np.array([-1], dtype=np.int32))
    with pytest.raises(MargraveError, match="not a label"):
        _core.decode_labels([], longs(1), longs(0, 1), parts)


def test_allowed_labels_in_another_shape_are_refused() -> None:
    X, y = [[["a"], ["b"], ["c"]]], np.zeros(3, dtype=np.int32)
    for shape in ((2, 3), (6,), (1, 3, 2)):
        with pytest.raises(MargraveError, match="allowed"):
            bind(Chain(), X, y, feature_map=FeatureTable(), classes=[0, 1], allowed=np.ones(shape, dtype=bool))


def test_without_gold_outputs_there_are_none_to_ask_for() -> None:
    multiclass = _core.multiclass(2, np.arange(2), None, _core.matrix_cost(2, np.ones(4)), None)
    chain = _core.chain(2, np.array([0, 3]), None, _core.matrix_cost(2, np.ones(4)), None, 1, True, None)
    tree = _core.non_projective_tree(np.array([2]), None, None, True)
    graph = core_graph(Graph(1, [(0, (), (0,)), (0, (), (1,))]))
    hypergraph = _core.hypergraphs([graph], np.array([2]), None, None, None)
    for structure, parts in ((multiclass, 2), (chain, 10), (tree, 4), (hypergraph, 2)):
        rows = _core.Tokens(np.array([0, parts]), np.zeros(parts + 1, np.int64), np.zeros(0, np.int32), None)
        problem = _core.join(structure, _core.sparse_parts(1, rows, np.ones(1, np.int64)))
        assert not problem.has_gold
        assert problem.argmax(0, np.ones(parts))[0] > 0
        for call in (lambda p: p.gold(0), lambda p: p.oracle(0, np.zeros(1), _core.LossFamily(1.0, 0.0))):
            with pytest.raises(MargraveError, match="gold"):
                call(problem)


# ---- trees ----------------------------------------------------------------------------------------------------------


def plain_tree(n: int, single_root: bool) -> _core.Problem:
    return bind(NonProjectiveTree(single_root), [[[]] * (n * n)], [list(range(n))], feature_map=SparseMap())


@pytest.mark.parametrize("single_root", [True, False])
@given(seed=seeds, n=st.integers(2, 40))
@some
def test_tree_marginals_agree_with_lapack(single_root: bool, seed: int, n: int) -> None:
    theta = np.random.default_rng(seed).standard_normal(n * n)
    value, mu = plain_tree(n, single_root).logsum(0, theta)
    expected, marginals = tree_logsum_lapack(theta, n, single_root)
    assert_allclose(value, expected, rtol=1e-9)
    assert_allclose(mu, marginals, rtol=1e-9, atol=1e-11)
    assert_close(mu.reshape(n, n).sum(axis=1), np.ones(n))
    if single_root:
        assert_close(mu.reshape(n, n)[:, 0].sum(), 1.0)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("strength", [10.0, 20.0, 30.0, 200.0, 800.0])
def test_tree_marginals_keep_their_digits_where_lapack_loses_them(single_root: bool, strength: float) -> None:
    """Words 3 and 4 want each other as heads so much that the Laplacian is nearly singular."""
    n = 4
    theta = np.random.default_rng(4).standard_normal(n * n)
    theta[[arc_part(n, 4, 3), arc_part(n, 3, 4)]] += strength
    outputs = Outputs(n * n, [tree_parts(heads) for heads in trees(n, single_root)])
    value, mu = plain_tree(n, single_root).logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert_close(value, expected)
    assert_close(mu, marginals, smallest=1e-30)
    if strength == 30.0:
        assert np.abs(tree_logsum_lapack(theta, n, single_root)[1] - marginals).max() > 1e-6


@pytest.mark.parametrize("single_root", [True, False])
@given(seed=seeds, n=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_trees_of_extreme_scores_and_forbidden_arcs_agree_with_enumeration(
    single_root: bool, seed: int, n: int
) -> None:
    theta = extreme_scores(np.random.default_rng(seed), n * n)
    outputs = Outputs(n * n, [tree_parts(heads) for heads in trees(n, single_root)])
    assert_as_enumerated(plain_tree(n, single_root), outputs, theta, seed)


def extreme_scores(rng: np.random.Generator, size: int) -> np.ndarray:
    theta = rng.choice([1.0, 30.0, 100.0, 400.0, 1000.0, 1e4]) * rng.standard_normal(size)
    theta *= rng.choice([1.0, 1e-3], size)
    theta[rng.random(size) < rng.choice([0.0, 0.3, 0.6])] = -inf
    return theta


def assert_as_enumerated(problem: _core.Problem, outputs: Outputs, theta: np.ndarray, seed: int) -> None:
    value, mu = problem.logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    best, parts = problem.argmax(0, theta)
    if expected == -inf:
        assert value == best == -inf and not mu.any() and len(parts) == 0 and problem.kbest(0, theta, 3) == []
        with pytest.raises(MargraveError, match="forbidden"):
            problem.sample(0, theta, seed)
        return
    assert_close(value, expected)
    assert_close(mu, marginals, smallest=1e-30)
    assert_close(best, float(outputs.values(theta).max()))
    assert tuple(sorted(problem.sample(0, theta, seed).tolist())) in outputs.ys


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("strength", [3.0, 8.0, 60.0])
def test_tree_samples_have_their_frequencies_where_walks_run_in_circles(single_root: bool, strength: float) -> None:
    """Attracting pairs make Wilson's walks exceed their budget, so that draws come from the elimination."""
    n = 4
    theta = np.random.default_rng(8).standard_normal(n * n)
    for word, head in ((1, 2), (2, 1), (3, 4), (4, 3)):
        theta[arc_part(n, head, word)] += strength
    outputs = Outputs(n * n, [tree_parts(heads) for heads in trees(n, single_root)])
    frequencies_agree(plain_tree(n, single_root), 0, outputs, theta, 4000)


def test_heads_that_make_no_tree_are_refused() -> None:
    def bound(heads, single_root=True):
        n = len(heads)
        return bind(NonProjectiveTree(single_root), [[[]] * (n * n)], [heads], feature_map=SparseMap())

    for heads, word in (([2, 1], "cycle"), ([1, 0], "own head"), ([3, 0], "out of range"), ([-1, 0], "out of range")):
        with pytest.raises(MargraveError, match=word):
            bound(heads)
    with pytest.raises(MargraveError, match="word 2: it is a second child of the root"):
        bound([0, 0])
    assert bound([0, 0], single_root=False).gold(0).tolist() == [0, 2]


@given(seed=seeds)
@some
def test_decoded_trees_and_sequences_are_the_gold_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    every = list(trees(n, True))
    heads = list(every[rng.integers(len(every))])
    problem = bind(NonProjectiveTree(), [[[]] * (n * n)], [heads], feature_map=SparseMap())
    tree = problem.gold(0)
    assert bound_of(NonProjectiveTree(), NoOutputs(), Examples.of_sizes([n * n])).decode(
        np.array([0, len(tree)]), tree
    ) == [heads]
    lengths = rng.integers(1, 5, 3)
    labels = rng.integers(0, 3, lengths.sum()).astype(np.int32)
    chain = bind(
        Chain(order=2), [[[]] * int(k) for k in lengths], labels, feature_map=FeatureTable(), classes=[0, 1, 2]
    )
    gold = [chain.gold(i) for i in range(3)]
    begin = np.concatenate([[0], np.cumsum([len(y) for y in gold])])
    decoded = bound_of(Chain(order=2), Labels(np.arange(3)), Examples.of_sizes(lengths)).decode(
        begin, np.concatenate(gold)
    )
    assert [len(y) for y in decoded] == lengths.tolist()
    assert np.array_equal(np.concatenate(decoded), labels)
