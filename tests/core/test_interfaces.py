"""Every optional interface of a problem agrees with its plain operations and with enumeration."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import MargraveError, _core
from tests.registry import KINDS, Kind
from tests.registry.cases import CountedCase

SEEDS = range(3)
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def examples(kind: Kind) -> Iterator[tuple[Any, int, np.random.Generator]]:
    """The examples of some problems of a kind."""
    for seed in SEEDS:
        case = kind(seed, size=3)
        for i in range(len(case)):
            yield case, i, np.random.default_rng(seed)


@every_kind
def test_parts_that_have_weights_score_sum_and_move_as_all_parts_do(kind: Kind) -> None:
    for case, i, rng in examples(kind):
        problem = case.problem
        w, listed = rng.normal(size=problem.dim), problem.weighted_parts(i)
        theta = _core.weighted_scores(problem, i, w)
        if theta is None:
            assert len(listed) == problem.parts(i)
            continue
        every = np.zeros(problem.parts(i))
        every[listed] = theta
        assert_allclose(every, problem.score(i, w), atol=1e-12)

        v = rng.normal(size=problem.parts(i))
        moved, wanted = w.copy(), w.copy()
        change = _core.move_weighted(problem, i, v[listed], 0.5, moved)
        assert_allclose(change, problem.move(i, v, 0.5, wanted), atol=1e-10)
        assert_allclose(moved, wanted, atol=1e-12)

        if "logsum" in problem.offers:
            scores = rng.normal(size=len(listed))
            every[listed] = scores
            value, mu = _core.weighted_logsum(problem, i, scores)
            log_z, marginals = problem.logsum(i, every)
            assert_allclose(value, log_z, rtol=1e-12)
            assert_allclose(mu, marginals[listed], atol=1e-12)


@every_kind
def test_counts_are_those_of_the_items_of_every_output(kind: Kind) -> None:
    for case, i, _ in examples(kind):
        counts = _core.counts(case.problem, i)
        if counts is None:
            continue
        assert isinstance(case, CountedCase), "give the items of its outputs"
        right, predicted, of_gold = counts
        items = case.items[i]
        gold = items[case.gold_index(i)]
        assert of_gold == gold.total()
        assert_allclose(case.outputs[i].counts @ predicted, [of.total() for of in items])
        assert_allclose(case.outputs[i].counts @ right, [(of & gold).total() for of in items])


@every_kind
def test_changes_without_a_common_site_are_combined_to_outputs(kind: Kind) -> None:
    """What an output adds to the gold one, and what it lacks, is the sum over its changes."""
    for case, i, rng in examples(kind):
        outputs = case.outputs[i]
        gold = outputs.counts[case.gold_index(i)]
        of_parts = {tuple(row): k for k, row in enumerate(outputs.counts.tolist())}
        found = {}
        for k in rng.permutation(len(outputs.ys))[:20]:
            y = np.array(outputs.ys[k], dtype=np.int32)
            try:
                divided = _core.changes(case.problem, i, y)
            except MargraveError as error:
                assert "no output" in str(error)  # a constraint forbids it
                continue
            if divided is None:
                return
            sites, changes = divided
            difference = np.zeros(outputs.n)
            for parts, first, last in changes:
                change = np.bincount(parts, minlength=outputs.n) - gold
                assert tuple(change + gold) in of_parts and 0 <= first <= last < sites
                difference += change
                found[tuple(parts.tolist())] = change, first, last
            assert_allclose(difference, outputs.counts[k] - gold)
            places = sorted((first, last) for _, first, last in changes)
            assert all(before[1] < after[0] for before, after in pairwise(places))
        for (one, _, end), (other, begin, _) in product(found.values(), repeat=2):
            if end < begin:
                assert tuple(gold + one + other) in of_parts


@every_kind
def test_inference_in_lock_step_agrees_with_that_of_single_examples(kind: Kind) -> None:
    for seed in SEEDS:
        problem = kind(seed, size=4).problem
        if not problem.any_scores:
            continue
        w = np.random.default_rng(seed).normal(size=problem.dim)
        begin, parts = _core.argmax_all(problem, w, 1)
        scores = [problem.score(i, w) for i in range(problem.size)]
        for i, theta in enumerate(scores):
            assert_allclose(theta[parts[begin[i] : begin[i + 1]]].sum(), problem.argmax(i, theta)[0], rtol=1e-9)
        if "logsum" in problem.offers:
            begin, log_z, mu = _core.marginals_all(problem, w, 1.0, 1)
            for i, theta in enumerate(scores):
                value, marginals = problem.logsum(i, theta)
                assert_allclose(log_z[i], value, rtol=1e-9)
                assert_allclose(mu[begin[i] : begin[i + 1]], marginals, atol=1e-9)
        if "kbest" in problem.offers:
            outputs, values, _, _ = _core.kbest_all(problem, w, 3, 1)
            for i, theta in enumerate(scores):
                assert_allclose(
                    values[outputs[i] : outputs[i + 1]], [v for v, _ in problem.kbest(i, theta, 3)], rtol=1e-9
                )


def test_every_optional_interface_is_offered_by_some_kinds() -> None:
    """Otherwise the tests above compare nothing."""
    problems = [kind(0, size=3).problem for kind in KINDS]
    assert any(_core.weighted_scores(p, 0, np.zeros(p.dim)) is not None for p in problems)
    assert any(_core.counts(p, 0) is not None for p in problems)
    assert any(_core.changes(p, 0, p.gold(0)) is not None for p in problems)
