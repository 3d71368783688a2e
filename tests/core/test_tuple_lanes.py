"""Chains of order 2 and 3 with few weighted label tuples: several in lock-step, scores as a constant plus a list."""

from itertools import pairwise, product
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from margrave import SequenceTagger, _core
from tests.core.test_lock_step import LOG, every_instruction_set, seeds, slices
from tests.core.test_simd import instruction_set

orders = st.sampled_from([(2, 1), (2, 3), (2, 7), (2, 10), (3, 2), (3, 4), (3, 5)])  # with numbers of labels
shares = st.sampled_from([0.0, 0.02, 0.05, 0.15])  # of the tuples that have a weight: few enough to be listed


class Tuples(NamedTuple):
    """Label sequences whose every token has weights of its own, so that weights are scores and gradients marginals."""

    problem: _core.Problem
    order: int
    labels: int
    begin: np.ndarray  # of the sequences among the tokens
    gold: np.ndarray
    exists: dict[int, np.ndarray]  # by length: the tuples without a forbidden transition
    weighted: np.ndarray  # of all that exist, one length after another
    allowed: np.ndarray  # (tokens, labels)

    @property
    def tokens(self) -> int:
        return int(self.begin[-1])

    def emissions(self, w: np.ndarray) -> np.ndarray:
        """Of all tokens, before constraints."""
        return w[: self.tokens * self.labels].reshape(self.tokens, self.labels)

    def scores(self, w: np.ndarray) -> dict[int, np.ndarray]:
        """Of the tuples by length, -inf if they do not exist."""
        parts, first = np.zeros(len(self.weighted)), 0
        parts[self.weighted] = w[self.tokens * self.labels :]
        tables = {}
        for m, exists in self.exists.items():
            tables[m] = np.full(exists.shape, -inf)
            tables[m][exists] = parts[first : first + exists.sum()]
            first += int(exists.sum())
        return tables

    def weights_of(self, numbers: dict[int, np.ndarray]) -> np.ndarray:
        """What belongs to tuples, as weights."""
        parts = np.concatenate([numbers[m][exists] for m, exists in self.exists.items()])
        return parts[self.weighted]


def tuples(
    rng: np.random.Generator,
    order: int,
    labels: int,
    lengths: Any,
    share: float,
    *,
    forbidden: float = 0.0,
    allowed: float = 1.0,
) -> Tuples:
    """With so large a share of the tuples weighted, of the transitions forbidden, and of the labels allowed."""
    begin = np.concatenate([[0], np.cumsum(lengths)])
    tokens = int(begin[-1])
    gold = rng.integers(0, labels, size=tokens).astype(np.int32)
    never = rng.random((labels, labels)) < forbidden
    never[gold[:-1], gold[1:]] = False
    exists = {2: ~never}
    for m in range(3, order + 2):
        exists[m] = exists[m - 1][..., None] & ~never
    weighted = rng.random(sum(int(each.sum()) for each in exists.values())) < share
    allow = rng.random((tokens, labels)) < allowed
    allow[np.arange(tokens), gold] = True
    weight = np.full(len(weighted), -1)
    weight[weighted] = np.arange(weighted.sum())
    rows = _core.Tokens(begin, np.arange(tokens + 1), np.arange(tokens, dtype=np.int32), None)
    pairs = _core.Pairs(tokens, labels)
    features = _core.table(rows, pairs, weight, int(weighted.sum()), order, True, 1.0, False, False, None, None)
    cost = _core.hamming_cost(rng.uniform(0.5, 2, size=labels))
    constraints = (allow.ravel() if allowed < 1 else None), (never.ravel() if forbidden > 0 else None)
    structure = _core.chain(labels, begin, gold, cost, constraints[0], order, True, constraints[1])
    return Tuples(_core.join(structure, features), order, labels, begin, gold, exists, weighted, allow)


def judged(case: Tuples, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses and their gradient by forward and backward in log space over all tuples."""
    emissions, tables = np.where(case.allowed, case.emissions(w), -inf), case.scores(w)
    losses, own = [], np.zeros_like(emissions)
    counts = {m: np.zeros(table.shape) for m, table in tables.items()}
    for a, b in pairwise(case.begin):
        theta, y, lengths = emissions[a:b], case.gold[a:b], np.minimum(np.arange(b - a), case.order) + 1
        steps = [
            sum((tables[m] for m in range(2, n + 1)), row)  # of shorter tuples, the last labels
            for n, row in zip(lengths, theta, strict=True)
        ]
        # each message without its sum, which goes into log Z: large scores would cost digits otherwise
        sums = [logsumexp(theta[0])]
        alpha, beta = [theta[0] - sums[0]], [np.zeros((case.labels,) * min(b - a, case.order))]
        for t, step in enumerate(steps[1:], start=1):
            message = alpha[-1][..., None] + step
            if t >= case.order:
                message = logsumexp(message, axis=0)
            sums.append(logsumexp(message))
            alpha.append(message - sums[-1])
        for step, scale in zip(steps[:0:-1], sums[:0:-1], strict=True):
            beta.append(logsumexp(step + beta[-1], axis=-1) - scale)
        beta.reverse()
        loss = sum(sums) - theta[np.arange(b - a), y].sum()
        for t, n in enumerate(lengths):
            before = alpha[t - 1][..., None] if t > 0 else 0.0
            expected = np.exp(before + steps[t] + beta[t] - sums[t])
            own[a + t] = expected.sum(axis=tuple(range(n - 1)))
            own[a + t, y[t]] -= 1
            for m in range(2, n + 1):
                counts[m] += expected.sum(axis=tuple(range(n - m)))
                counts[m][tuple(y[t + 1 - m : t + 1])] -= 1
                loss -= tables[m][tuple(y[t + 1 - m : t + 1])]
        losses.append(loss)
    return np.array(losses), np.concatenate([own.ravel(), case.weights_of(counts)])


def all_scores(case: Tuples, w: np.ndarray) -> np.ndarray:
    """Of all parts of all examples: passes that are given them infer for one example after another."""
    return np.concatenate([case.problem.score(i, w) for i in range(case.problem.size)])


def random_case(seed: int, order: int, labels: int, share: float, **more: float) -> tuple[Tuples, np.ndarray]:
    rng = np.random.default_rng(seed)
    case = tuples(rng, order, labels, rng.integers(1, 12, size=rng.integers(1, 30)), share, **more)
    return case, rng.normal(scale=3.0, size=case.problem.dim)


@pytest.mark.parametrize(("order", "labels"), [(2, 3), (3, 2)])
def test_the_reference_is_right(order: int, labels: int) -> None:
    """Its losses are those of enumeration."""
    case, w = random_case(0, order, labels, 0.5)
    losses, _ = judged(case, w)
    tables = case.scores(w)
    for i, (a, b) in enumerate(pairwise(case.begin)):
        if b - a > 6:
            continue
        theta = case.emissions(w)[a:b]

        def score(y: tuple[int, ...], theta: np.ndarray = theta) -> float:
            tokens = sum(theta[t, label] for t, label in enumerate(y))
            return tokens + sum(tables[m][y[t : t + m]] for m in tables for t in range(len(y) - m + 1))

        total = logsumexp([score(y) for y in product(range(labels), repeat=b - a)])
        assert losses[i] == pytest.approx(total - score(tuple(case.gold[a:b].tolist())), rel=1e-10)


@every_instruction_set
@given(
    seed=seeds,
    shape=orders,
    sentences=st.integers(1, 12),
    share=st.sampled_from([0.0, 0.02, 0.05, 0.15, 1.0]),
    scale=st.sampled_from([0.0, 0.1, 1.0, 5.0, 30.0, 100.0, 300.0]),
    negative=st.booleans(),
    forbidden=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
    allowed=st.sampled_from([1.0, 1.0, 0.3]),
)
@settings(max_examples=60, deadline=None)
def test_losses_and_gradients_are_those_of_log_space(
    name: str,
    seed: int,
    shape: tuple[int, int],
    sentences: int,
    share: float,
    scale: float,
    negative: bool,
    forbidden: float,
    allowed: float,
) -> None:
    """Also with weights that leave next to nothing of the constant part of a sum, and with short sequences."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 15, size=sentences)
    case = tuples(rng, *shape, lengths, share, forbidden=forbidden, allowed=allowed)
    own = case.tokens * case.labels
    w = np.concatenate([rng.normal(size=own), scale * rng.uniform(-1, 1, size=case.problem.dim - own)])
    if negative:
        w[own:] = -abs(w[own:])
    with instruction_set(name):
        losses, gradient = _core.losses_and_gradient(case.problem, w, LOG, 1, True)
        without, _ = _core.losses_and_gradient(case.problem, w, LOG, 1, False)
    expected, slope = judged(case, w)
    assert_allclose(losses, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9 + 1e-11 * case.tokens)  # tuples are sums over all tokens
    assert_array_equal(without, losses)


@every_instruction_set
@pytest.mark.parametrize("order", [2, 3])
def test_states_that_only_the_guard_computes_right(name: str, order: int) -> None:
    """Listed tuples take away all but e^-30 of the constant part of the sums into and out of some states."""
    rng = np.random.default_rng(0)
    case = tuples(rng, order, 6, [9] * 11, 0.0)
    listed = {m: np.zeros(each.shape, dtype=bool) for m, each in case.exists.items()}
    listed[order + 1][..., 0] = True  # 1 in 6 tuples
    weighted = np.concatenate([each.ravel() for each in listed.values()])
    weight = np.full(len(weighted), -1)
    weight[weighted] = np.arange(weighted.sum())
    rows = _core.Tokens(case.begin, np.arange(100), np.arange(99, dtype=np.int32), None)
    features = _core.table(
        rows, _core.Pairs(99, 6), weight, int(weighted.sum()), order, True, 1.0, False, False, None, None
    )
    structure = _core.chain(6, case.begin, case.gold, None, None, order, True, None)
    case = case._replace(problem=_core.join(structure, features), weighted=weighted)
    emissions = rng.normal(size=(99, 6))
    emissions[::2, 0] = 40  # so that label 0 is likely all the same
    w = np.concatenate([emissions.ravel(), -30 + rng.normal(size=weighted.sum())])
    with instruction_set(name):
        losses, gradient = _core.losses_and_gradient(case.problem, w, LOG, 1, True)
    expected, slope = judged(case, w)
    assert_allclose(losses, expected, rtol=1e-11)
    assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


@every_instruction_set
@given(seed=seeds, shape=orders, share=shares, narrow=st.booleans())
@settings(max_examples=20, deadline=None)
def test_what_is_computed_for_a_sentence_does_not_depend_on_those_beside_it(
    name: str, seed: int, shape: tuple[int, int], share: float, narrow: bool
) -> None:
    """Losses, marginals, best outputs and their values have the same bits in any slice of the data."""
    case, w = random_case(seed, *shape, share, **({"forbidden": 0.2, "allowed": 0.4} if narrow else {}))
    case.emissions(w)[case.begin[case.problem.size // 2]] *= 200  # beyond the range of scaled probabilities
    with instruction_set(name):
        losses, gradient = _core.losses_and_gradient(case.problem, w, LOG, 1, True)
        _, best = _core.argmax_all(case.problem, w, 1)
        _, values, _, ranked = _core.kbest_all(case.problem, w, 3, 1)
        some = [case.problem.slice(first, last) for first, last in slices(seed, case.problem.size)]
        for (first, last), few in zip(slices(seed, case.problem.size), some, strict=True):
            its_losses, its_gradient = _core.losses_and_gradient(few, w, LOG, 1, True)
            assert_array_equal(its_losses, losses[first:last])
            a, b = case.begin[[first, last]]
            assert_array_equal(case.emissions(its_gradient)[a:b], case.emissions(gradient)[a:b])
        assert_array_equal(np.concatenate([_core.argmax_all(few, w, 1)[1] for few in some]), best)
        lists = [_core.kbest_all(few, w, 3, 1) for few in some]
        assert_array_equal(np.concatenate([each[1] for each in lists]), values)
        assert_array_equal(np.concatenate([each[3] for each in lists]), ranked)


@given(seed=seeds, shape=orders, share=shares, family=st.sampled_from([(1.0, 0.0), (2.0, 1.0), (inf, 1.0)]))
@settings(max_examples=15, deadline=None)
def test_the_number_of_threads_changes_no_bit(
    seed: int, shape: tuple[int, int], share: float, family: tuple[float, float]
) -> None:
    case, w = random_case(seed, *shape, share)
    results = [
        (
            *_core.losses_and_gradient(case.problem, w, _core.LossFamily(*family), threads, True),
            *_core.argmax_all(case.problem, w, threads),
            *_core.kbest_all(case.problem, w, 3, threads),
            *_core.sample_all(case.problem, w, 1.0, 2, seed, threads),
        )
        for threads in (1, 2, 3)
    ]
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            assert_array_equal(one, other)


@every_instruction_set
@given(
    seed=seeds,
    shape=orders,
    share=shares,
    ties=st.booleans(),
    forbidden=st.sampled_from([0.0, 0.3]),
    allowed=st.sampled_from([1.0, 0.4]),
)
@settings(max_examples=40, deadline=None)
def test_the_best_labels_are_those_of_each_example_alone_ties_included(
    name: str, seed: int, shape: tuple[int, int], share: float, ties: bool, forbidden: float, allowed: float
) -> None:
    """The k best as well, with their values to the bit."""
    case, w = random_case(seed, *shape, share, forbidden=forbidden, allowed=allowed)
    if ties:
        w = np.round(w / 3)  # most are -1, 0 or 1
    theta = all_scores(case, w)
    with instruction_set(name):
        for one, other in zip(
            (*_core.argmax_all(case.problem, w, 1), *_core.kbest_all(case.problem, w, 4, 1)),
            (
                *_core.argmax_all(case.problem, None, 1, theta=theta),
                *_core.kbest_all(case.problem, None, 4, 1, theta=theta),
            ),
            strict=True,
        ):
            assert_array_equal(one, other)


@every_instruction_set
@given(
    seed=seeds,
    shape=orders,
    share=shares,
    beta=st.sampled_from([0.3, 1.0, 50.0]),
    allowed=st.sampled_from([1.0, 0.4]),
)
@settings(max_examples=20, deadline=None)
def test_samples_are_those_of_each_example_alone(
    name: str, seed: int, shape: tuple[int, int], share: float, beta: float, allowed: float
) -> None:
    """The same random numbers lead to the same labels; beta = 50 leaves the range of scaled probabilities."""
    case, w = random_case(seed, *shape, share, allowed=allowed)
    with instruction_set(name):
        drawn = _core.sample_all(case.problem, w, beta, 3, seed, 1)
        alone = _core.sample_all(case.problem, None, beta, 3, seed, 1, theta=all_scores(case, w))
    for one, other in zip(drawn, alone, strict=True):
        assert_array_equal(one, other)


@every_instruction_set
@given(
    seed=seeds,
    shape=orders,
    share=shares,
    beta=st.sampled_from([0.5, 1.0, 3.0, inf]),
    gamma=st.sampled_from([0.0, 0.7]),
    constrained=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_every_loss_is_the_sum_of_those_of_each_example_alone(
    name: str, seed: int, shape: tuple[int, int], share: float, beta: float, gamma: float, constrained: bool
) -> None:
    case, w = random_case(seed, *shape, share, **({"forbidden": 0.1, "allowed": 0.5} if constrained else {}))
    weights = np.random.default_rng(seed).uniform(0, 2, size=case.problem.size)
    family = _core.LossFamily(beta, gamma, False, 0.3, weights)
    with instruction_set(name):
        losses, gradient = _core.losses_and_gradient(case.problem, w, family, 2, True)
        expected = np.zeros_like(w)
        for i in range(case.problem.size):
            loss, *_, index, value = case.problem.oracle(i, w, family)
            assert losses[i] == pytest.approx(loss, rel=1e-9, abs=1e-9)
            expected[index] += 0.3 * weights[i] * value
    assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("alone", [2, 6, 40])
def test_forbidden_transitions_may_leave_fewer_tuples_than_labels(order: int, alone: int) -> None:
    """Labels that only sequences of one token have, beside B, M and E: there are fewer pairs than labels."""
    single = [f"S{k}" for k in range(alone)]
    labels = ["B", "M", "E", *single]
    inside = {"B", "M", "E"}
    forbidden = [(a, b) for a in labels for b in labels if not {a, b} <= inside]
    Y = [[label] for label in single] + [["B", "M", "E"], ["B", "E"], ["B", "M", "M", "M", "E"]] * 4
    X = [[[f"w={label}", f"t={t}"] for t, label in enumerate(y)] for y in Y]
    sparse, dense = (
        SequenceTagger(order=order, forbidden=forbidden, weights=features, n_jobs=1, tol=1e-6, learner="lbfgs")
        for features in ("observed", "all")
    )
    assert sparse.fit(X, Y).predict(X) == Y and dense.fit(X, Y).predict(X) == Y
    assert all(best[0][1] == y for best, y in zip(sparse.predict_kbest(X, 3), Y, strict=True))
    assert all(len(drawn[0]) == len(y) for drawn, y in zip(sparse.sample(X), Y, strict=True))


def test_a_chain_without_any_tuple_of_its_order_has_a_gradient() -> None:
    forbidden = [("first", "first"), ("last", "first"), ("last", "last")]
    X, Y = [[["a"], ["b"]]] * 9, [["first", "last"]] * 9
    assert SequenceTagger(order=3, forbidden=forbidden, n_jobs=1).fit(X, Y).predict(X) == Y
