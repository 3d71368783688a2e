"""Chains with many labels: several in lock-step, and transitions as a constant plus a sparse part."""

from collections.abc import Iterator
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from margrave import _core
from tests.core.test_simd import EVERY, instruction_set

every_instruction_set = pytest.mark.parametrize("name", EVERY)
seeds = st.integers(0, 2**32 - 1)
LOG = _core.LossFamily(1.0, 0.0)


class Chains(NamedTuple):
    """Label sequences whose every token has weights of its own, so that weights are scores and gradients marginals."""

    problem: _core.Problem
    labels: int
    begin: np.ndarray  # of the sequences among the tokens
    gold: np.ndarray
    listed: np.ndarray  # the transitions that have a weight, (labels, labels)
    forbidden: np.ndarray  # likewise
    allowed: np.ndarray  # (tokens, labels)

    @property
    def tokens(self) -> int:
        return int(self.begin[-1])

    def emissions(self, w: np.ndarray) -> np.ndarray:
        """Of all tokens, before constraints."""
        return w[: self.tokens * self.labels].reshape(self.tokens, self.labels)

    def transitions(self, w: np.ndarray) -> np.ndarray:
        """Before constraints."""
        table = np.zeros((self.labels, self.labels))
        table[self.listed] = w[self.tokens * self.labels :]
        return table


def chains(
    rng: np.random.Generator, labels: int, lengths: Any, share: float, *, forbidden: float = 0.0, allowed: float = 1.0
) -> Chains:
    """With so large a share of the transitions listed and forbidden, and of the labels allowed; the gold ones are."""
    begin = np.concatenate([[0], np.cumsum(lengths)])
    tokens = int(begin[-1])
    gold = rng.integers(0, labels, size=tokens).astype(np.int32)
    listed = rng.random((labels, labels)) < share
    never = rng.random((labels, labels)) < forbidden
    never[gold[:-1], gold[1:]] = False
    allow = rng.random((tokens, labels)) < allowed
    allow[np.arange(tokens), gold] = True
    weight = np.full(labels * labels, -1)
    weight[listed.ravel()] = np.arange(listed.sum())
    rows = _core.Tokens(begin, np.arange(tokens + 1), np.arange(tokens, dtype=np.int32), None)
    pairs = _core.Pairs(tokens, labels)
    features = _core.table(rows, pairs, weight, int(listed.sum()), 1, True, 1.0, False, False, None, None)
    cost = _core.hamming_cost(rng.uniform(0.5, 2, size=labels))
    constraints = (allow.ravel() if allowed < 1 else None), (never.ravel() if forbidden > 0 else None)
    structure = _core.chain(labels, begin, gold, cost, constraints[0], 1, True, constraints[1])
    return Chains(_core.join(structure, features), labels, begin, gold, listed, never, allow)


def judged(case: Chains, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Losses and their gradient by forward and backward in log space."""
    emissions = np.where(case.allowed, case.emissions(w), -inf)
    table = np.where(case.forbidden, -inf, case.transitions(w))
    losses, own, pairs = [], np.zeros_like(emissions), np.zeros_like(table)
    for a, b in pairwise(case.begin):
        theta, y = emissions[a:b], case.gold[a:b]
        # each message without its sum, which goes into log Z: large scores would cost digits otherwise
        sums = [logsumexp(theta[0])]
        alpha, beta = [theta[0] - sums[0]], [np.zeros(case.labels)]
        for row in theta[1:]:
            message = logsumexp(alpha[-1][:, None] + table, axis=0) + row
            sums.append(logsumexp(message))
            alpha.append(message - sums[-1])
        for row, scale in zip(theta[:0:-1], sums[:0:-1], strict=True):
            beta.append(logsumexp(table + row + beta[-1], axis=1) - scale)
        beta.reverse()
        losses.append(sum(sums) - theta[np.arange(b - a), y].sum() - table[y[:-1], y[1:]].sum())
        own[a:b] = np.exp(np.array(alpha) + np.array(beta))
        own[np.arange(a, b), y] -= 1
        for t in range(1, b - a):
            pairs += np.exp(alpha[t - 1][:, None] + table + theta[t] + beta[t] - sums[t])
        np.subtract.at(pairs, (y[:-1], y[1:]), 1)
    return np.array(losses), np.concatenate([own.ravel(), pairs[case.listed]])


@every_instruction_set
@given(
    seed=seeds,
    labels=st.one_of(st.integers(1, 40), st.integers(33, 300)),
    sentences=st.integers(1, 12),
    share=st.sampled_from([0.01, 0.05, 0.3, 0.59, 0.7, 1.0]),
    scale=st.sampled_from([0.0, 0.1, 1.0, 5.0, 30.0, 100.0, 300.0]),
    negative=st.booleans(),
    forbidden=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
    allowed=st.sampled_from([1.0, 1.0, 0.3]),
)
@settings(max_examples=40, deadline=None)
def test_losses_and_gradients_are_those_of_log_space(
    name: str,
    seed: int,
    labels: int,
    sentences: int,
    share: float,
    scale: float,
    negative: bool,
    forbidden: float,
    allowed: float,
) -> None:
    """Also with weights that leave next to nothing of the constant part of a sum."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 60 if labels < 60 else 12, size=sentences)
    case = chains(rng, labels, lengths, share, forbidden=forbidden, allowed=allowed)
    w = np.concatenate([rng.normal(size=case.tokens * labels), scale * rng.uniform(-1, 1, size=case.listed.sum())])
    if negative:
        w[case.tokens * labels :] = -abs(w[case.tokens * labels :])
    with instruction_set(name):
        losses, gradient = _core.losses_and_gradient(case.problem, w, LOG, 1, True)
        without, _ = _core.losses_and_gradient(case.problem, w, LOG, 1, False)
    expected, slope = judged(case, w)
    assert_allclose(losses, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9 + 1e-11 * case.tokens)  # transitions are sums over all tokens
    assert_array_equal(without, losses)


@every_instruction_set
def test_labels_that_only_the_guard_computes_right(name: str) -> None:
    """All mass sits on labels whose transitions to label 0 take away all but e^-30 of the constant part."""
    rng = np.random.default_rng(0)
    case = chains(rng, 64, [9] * 11, 0.1)
    case.listed[:, 0] = True
    case = case._replace(listed=case.listed)
    weight = np.full(64 * 64, -1)
    weight[case.listed.ravel()] = np.arange(case.listed.sum())
    rows = _core.Tokens(case.begin, np.arange(100), np.arange(99, dtype=np.int32), None)
    structure = _core.chain(64, case.begin, case.gold, None, None, 1, True, None)
    features = _core.table(
        rows, _core.Pairs(99, 64), weight, int(case.listed.sum()), 1, True, 1.0, False, False, None, None
    )
    case = case._replace(problem=_core.join(structure, features))
    table = np.where(case.listed, rng.normal(size=(64, 64)), 0.0)
    table[:, 0] = -30 + rng.normal(size=64)
    emissions = rng.normal(size=(99, 64))
    emissions[::2, 0] = 40  # so that label 0 is likely all the same
    w = np.concatenate([emissions.ravel(), table[case.listed]])
    with instruction_set(name):
        losses, gradient = _core.losses_and_gradient(case.problem, w, LOG, 1, True)
    expected, slope = judged(case, w)
    assert_allclose(losses, expected, rtol=1e-11)
    assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


def random_case(seed: int, labels: int, share: float, **more: float) -> tuple[Chains, np.ndarray]:
    rng = np.random.default_rng(seed)
    case = chains(rng, labels, rng.integers(1, 30, size=rng.integers(1, 40)), share, **more)
    return case, rng.normal(scale=3.0, size=case.problem.dim)


@every_instruction_set
@given(seed=seeds, labels=st.integers(33, 90), share=st.sampled_from([0.05, 0.4, 1.0]), narrow=st.booleans())
@settings(max_examples=15, deadline=None)
def test_what_is_computed_for_a_sentence_does_not_depend_on_those_beside_it(
    name: str, seed: int, labels: int, share: float, narrow: bool
) -> None:
    """Losses and marginals have the same bits in any slice of the data; some sentences go to log space."""
    case, w = random_case(seed, labels, share, **({"forbidden": 0.2, "allowed": 0.2} if narrow else {}))
    emissions = case.emissions(w)
    emissions[case.begin[case.problem.size // 2]] *= 200  # beyond the range of scaled probabilities
    with instruction_set(name):
        losses, gradient = _core.losses_and_gradient(case.problem, w, LOG, 1, True)
        _, parts = _core.argmax_all(case.problem, w, 1)
        tags, at = [], 0
        for first, last in slices(seed, case.problem.size):
            some = case.problem.slice(first, last)
            its_losses, its_gradient = _core.losses_and_gradient(some, w, LOG, 1, True)
            assert_array_equal(its_losses, losses[first:last])
            a, b = case.begin[[first, last]]
            assert_array_equal(case.emissions(its_gradient)[a:b], case.emissions(gradient)[a:b])
            tags.append(_core.argmax_all(some, w, 1)[1])
            at = last
        assert at == case.problem.size
        assert_array_equal(np.concatenate(tags), parts)


def slices(seed: int, size: int) -> Iterator[tuple[int, int]]:
    rng, first = np.random.default_rng(seed), 0
    while first < size:
        last = min(size, first + int(rng.integers(1, 11)))
        yield first, last
        first = last


@given(seed=seeds, share=st.sampled_from([0.1, 1.0]), family=st.sampled_from([(1.0, 0.0), (2.0, 1.0), (inf, 1.0)]))
@settings(max_examples=10, deadline=None)
def test_the_number_of_threads_changes_no_bit(seed: int, share: float, family: tuple[float, float]) -> None:
    case, w = random_case(seed, 40, share)
    results = [_core.losses_and_gradient(case.problem, w, _core.LossFamily(*family), n, True) for n in (1, 2, 3)]
    for losses, gradient in results[1:]:
        assert_array_equal(losses, results[0][0])
        assert_array_equal(gradient, results[0][1])
    best = [_core.argmax_all(case.problem, w, n) for n in (1, 2, 3)]
    for _, parts in best[1:]:
        assert_array_equal(parts, best[0][1])


@every_instruction_set
@given(
    seed=seeds,
    labels=st.one_of(st.integers(33, 40), st.integers(33, 300)),
    share=st.sampled_from([0.01, 0.1, 0.5, 1.0]),
    ties=st.booleans(),
    forbidden=st.sampled_from([0.0, 0.3]),
    allowed=st.sampled_from([1.0, 0.1]),
)
@settings(max_examples=25, deadline=None)
def test_the_best_labels_are_those_of_each_example_alone_ties_included(
    name: str, seed: int, labels: int, share: float, ties: bool, forbidden: float, allowed: float
) -> None:
    case, w = random_case(seed, labels, share, forbidden=forbidden, allowed=allowed)
    if ties:
        w = np.round(w / 3)  # most are -1, 0 or 1
    with instruction_set(name):
        begin, parts = _core.argmax_all(case.problem, w, 1)
        for i, (a, b) in enumerate(pairwise(begin)):
            assert_array_equal(parts[a:b], case.problem.argmax(i, case.problem.score(i, w))[1])


@every_instruction_set
@given(
    seed=seeds,
    share=st.sampled_from([0.1, 1.0]),
    beta=st.sampled_from([0.5, 1.0, 3.0, inf]),
    gamma=st.sampled_from([0.0, 0.7]),
    constrained=st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_every_loss_is_the_sum_of_those_of_each_example_alone(
    name: str, seed: int, share: float, beta: float, gamma: float, constrained: bool
) -> None:
    case, w = random_case(seed, 37, share, **({"forbidden": 0.1, "allowed": 0.5} if constrained else {}))
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
