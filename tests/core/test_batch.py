"""Passes over all examples say what the calls for one example say, whatever the number of threads."""

import itertools
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from margrave import _core
from margrave.testing.enumeration import distribution
from tests.references.refusals import refusal
from tests.registry import KINDS, Case, Kind

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=3, deadline=None)


def random_scores(rng: np.random.Generator, case: Case) -> tuple[list[np.ndarray], np.ndarray]:
    """Scores of the parts of each example, and of all one after another."""
    scores = [rng.normal(size=outputs.n) for outputs in case.outputs]
    return scores, np.concatenate(scores)


def lists(begin: np.ndarray, parts: np.ndarray) -> list[list[int]]:
    assert begin.dtype == np.int64 and parts.dtype == np.int32
    assert begin[0] == 0 and begin[-1] == len(parts)
    return [parts[a:b].tolist() for a, b in itertools.pairwise(begin)]


@every_kind
@given(seed=seeds)
@few
def test_passes_over_scores_are_those_of_each_example(kind: Kind, seed: int) -> None:
    case = kind(seed)
    problem, rng = case.problem, np.random.default_rng(seed)
    scores, theta = random_scores(rng, case)
    best = lists(*_core.argmax_all(problem, None, 2, theta=theta))
    assert best == [problem.argmax(i, x)[1].tolist() for i, x in enumerate(scores)]
    if "logsum" in problem.offers:
        begin, log_z, mu = _core.marginals_all(problem, None, 0.7, 2, theta=theta)
        for i, x in enumerate(scores):
            value, marginals = problem.logsum(i, 0.7 * x)
            assert log_z[i] == value
            assert_array_equal(mu[begin[i] : begin[i + 1]], marginals)
    if "kbest" in problem.offers:
        output_begin, values, *outputs = _core.kbest_all(problem, None, 3, 2, theta=theta)
        expected = [problem.kbest(i, x, 3) for i, x in enumerate(scores)]
        assert_array_equal(np.diff(output_begin), [len(ys) for ys in expected])
        assert_array_equal(values, [value for ys in expected for value, _ in ys])
        assert lists(*outputs) == [y.tolist() for ys in expected for _, y in ys]


@every_kind
@given(seed=seeds)
@few
def test_passes_over_weights_are_passes_over_their_scores(kind: Kind, seed: int) -> None:
    case = kind(seed)
    problem = case.problem
    w = np.random.default_rng(seed).normal(size=problem.dim)
    theta = np.concatenate([problem.score(i, w) for i in range(problem.size)])
    passes: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("argmax", _core.argmax_all, ()),
        ("logsum", _core.marginals_all, (0.7,)),
        ("kbest", _core.kbest_all, (2,)),
        ("sample", _core.sample_all, (1.3, 4, seed)),
    ]
    for offer, run, options in passes:
        if offer not in problem.offers:
            continue
        results = [run(problem, w, *options, threads) for threads in (1, 3)]
        results += [run(problem, None, *options, threads, theta=theta) for threads in (1, 2)]
        for result in results[1:]:
            for array, expected in zip(result, results[0], strict=True):
                assert_array_equal(array, expected)


@pytest.mark.parametrize("name", ["chain", "chain, order 2, forbidden", "tree, single root", "node sets", "candidates"])
def test_samples_are_drawn_in_proportion_to_exp_beta_score(name: str) -> None:
    (kind,) = [kind for kind in KINDS if kind.name == name]
    case = kind(3)
    beta, n = 1.5, 4000
    scores, theta = random_scores(np.random.default_rng(3), case)
    drawn = lists(*_core.sample_all(case.problem, None, beta, n, 11, 2, theta=theta))
    assert len(drawn) == n * len(case)
    for i, outputs in enumerate(case.outputs):
        p = np.asarray(distribution(np.array([beta * sum(scores[i][k] for k in y) for y in outputs.ys], np.longdouble)))
        number = {tuple(sorted(y)): k for k, y in enumerate(outputs.ys)}
        found = [number[tuple(sorted(y))] for y in drawn[i * n : (i + 1) * n]]
        shares = np.bincount(found, minlength=len(p)) / n
        assert_allclose(shares, p.astype(float), atol=5 * 0.5 / np.sqrt(n))  # five standard deviations at most


def test_examples_and_seeds_have_streams_of_their_own() -> None:
    rows = _core.Tokens(np.arange(9), np.zeros(9, np.int64), np.zeros(0, np.int32), None)
    structure = _core.multiclass(50, np.arange(9), None, None, None)
    nothing = np.zeros(0, np.int64)
    table = _core.table(rows, _core.Pairs(0, 50), nothing, 0, 0, True, 1.0, False, False, None, None)
    problem = _core.join(structure, table)

    def draws(seed: int, threads: int = 1) -> np.ndarray:
        return _core.sample_all(problem, np.zeros(0), 1.0, 20, seed, threads)[1].reshape(8, 20)

    assert_array_equal(draws(5), draws(5, threads=2))
    streams = {tuple(row) for seed in range(4) for row in draws(seed)}
    assert len(streams) == 4 * 8  # example 1 of one seed is not example 0 of the next


def test_exactly_one_of_weights_and_scores() -> None:
    problem = next(kind for kind in KINDS if kind.name == "chain")(0).problem
    w = np.zeros(problem.dim)
    theta = np.zeros(sum(problem.parts(i) for i in range(problem.size)))
    runs: list[Any] = [
        lambda w, **more: _core.argmax_all(problem, w, 1, **more),
        lambda w, **more: _core.marginals_all(problem, w, 1.0, 1, **more),
        lambda w, **more: _core.kbest_all(problem, w, 2, 1, **more),
        lambda w, **more: _core.sample_all(problem, w, 1.0, 2, 0, 1, **more),
    ]
    for run in runs:
        assert "exactly one of the two" in refusal(lambda run=run: run(None))
        assert "exactly one of the two" in refusal(lambda run=run: run(w, theta=theta))
        assert "w must have length" in refusal(lambda run=run: run(w[1:]))
        assert f"theta must have length {len(theta)}" in refusal(lambda run=run: run(None, theta=theta[1:]))
        for bad in (nan, inf):
            spoiled = theta.copy()
            spoiled[2] = bad
            assert "at place 2; scores must be finite" in refusal(lambda run=run, x=spoiled: run(None, theta=x))
    none = "the number of outputs per example must be from 1 to {}, and it is 0."
    assert refusal(lambda: _core.kbest_all(problem, w, 0, 1)) == none.format(2**31 - 1)
    assert refusal(lambda: _core.sample_all(problem, w, 1.0, 0, 0, 1)) == none.format(2**24)
    for beta in (0.0, -1.0, inf, nan):
        assert "positive and finite" in refusal(lambda b=beta: _core.sample_all(problem, w, b, 1, 0, 1))
    for threads in (0, 1025):
        assert "n_jobs" in refusal(lambda t=threads: _core.kbest_all(problem, w, 1, t))


def test_forbidden_parts_may_have_minus_infinity() -> None:
    problem = next(kind for kind in KINDS if kind.name == "multiclass")(1).problem
    sizes = [problem.parts(i) for i in range(problem.size)]
    theta = np.concatenate([np.where(np.arange(n) == n - 1, 0.0, -inf) for n in sizes])
    _, parts = _core.sample_all(problem, None, 2.0, 3, 0, 1, theta=theta)
    assert_array_equal(parts, np.repeat(np.array(sizes) - 1, 3))
    begin, values, _, parts = _core.kbest_all(problem, None, 5, 1, theta=theta)
    assert_array_equal(begin, np.arange(len(sizes) + 1))
    assert_array_equal(values, 0)
    assert_array_equal(parts, np.array(sizes) - 1)
