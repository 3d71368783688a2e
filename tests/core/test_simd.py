"""The hot loops of every instruction set agree with one another and with plain formulas."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

from margrave import _core
from margrave.errors import MargraveError
from margrave.maps import FeatureTable
from margrave.structures import Chain, Multiclass
from tests.references.problems import bind

EVERY = [
    pytest.param(name, marks=pytest.mark.skipif(name not in _core.instruction_sets(), reason="not on this processor"))
    for name in ("baseline", "avx2", "avx512")
]


@contextmanager
def instruction_set(name: str) -> Iterator[None]:
    before = _core.instruction_set()
    _core.choose_instruction_set(name)
    try:
        yield
    finally:
        _core.choose_instruction_set(before)


def rows_problem(labels: int, packed: bool, valued: bool) -> tuple[_core.Problem, list[NDArray[np.float64]]]:
    """Chains of which the table's weights are all there are, with the dense matrix (positions' parts, dim) of each.

    Rows have from none to all of the labels, the last row one, so that the weights end in the middle of a vector;
    attributes occur twice in a token, and tokens have none.
    """
    rng = np.random.default_rng(labels)
    attributes = 12
    lengths = [1, 7, 40]
    begin, index = [0], []
    for _ in range(sum(lengths)):
        index += rng.integers(0, attributes, size=rng.integers(0, 7)).tolist()
        index += index[-1:] if rng.random() < 0.5 and len(index) > begin[-1] else []
        begin.append(len(index))
    value = rng.normal(size=len(index)) if valued else None
    share = np.linspace(0, 1, attributes)[:, None]
    has = rng.random((attributes, labels)) < share if packed else np.ones((attributes, labels), dtype=bool)
    if packed:
        has[-1] = np.arange(labels) == labels - 1
    bounds = np.concatenate([[0], np.cumsum(has.sum(axis=1))]).astype(np.int64)
    columns = np.nonzero(has)[1].astype(np.uint16)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = _core.Tokens(ends, np.array(begin, dtype=np.int64), np.array(index, dtype=np.int32), value)
    pairs = _core.Pairs(labels, bounds, columns) if packed else _core.Pairs(attributes, labels)
    without = np.full(labels**2, -1, dtype=np.int64)
    feature_map = _core.table(tokens, pairs, without, 0, 1, True, 1.0, False, False, None, None)
    problem = _core.join(_core.chain(labels, ends, None, None, None, 1, True, None), feature_map)
    number = np.where(has, np.cumsum(has).reshape(has.shape) - 1, -1)
    matrices = []
    for first, last in pairwise(ends):
        A = np.zeros((last - first, labels, int(has.sum())))
        for t in range(first, last):
            for k in range(begin[t], begin[t + 1]):
                seen = np.flatnonzero(has[index[k]])
                A[t - first, seen, number[index[k], seen]] += 1.0 if value is None else value[k]
        matrices.append(A.reshape(-1, A.shape[-1]))
    return problem, matrices


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("valued", [True, False])
def test_rows_score_and_scatter_as_the_dense_matrix_does_for_every_number_of_labels(valued: bool, packed: bool) -> None:
    rng = np.random.default_rng(7)
    for labels in range(1, 101):
        problem, matrices = rows_problem(labels, packed, valued)
        w = rng.normal(size=problem.dim)
        for i, A in enumerate(matrices):
            scores = A @ w
            mu = rng.normal(size=problem.parts(i))
            expected = w + 0.3 * (A.T @ mu[: len(A)])
            gain = 0.5 * (expected @ expected - w @ w)
            untouched = ~(A != 0).any(axis=0)
            for name in _core.instruction_sets():
                with instruction_set(name):
                    theta = problem.score(i, w)
                    changed, moved = w.copy(), w.copy()
                    problem.scatter(i, mu, 0.3, changed)
                    change = problem.move(i, mu, 0.3, moved)
                np.testing.assert_allclose(theta[: len(A)], scores, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(changed, expected, rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-12)
                assert change == pytest.approx(gain, rel=1e-10, abs=1e-10), name
                assert np.array_equal(changed[untouched], w[untouched]), name


def chain_problem(labels: int, pairs: str, tied: bool, valued: bool, seed: int = 0) -> _core.Problem:
    rng = np.random.default_rng(seed)
    lengths = [1, 2, 3, 9, 30]
    tokens = [
        [
            {f"a{k}": float(rng.normal()) if valued else 1.0 for k in rng.choice(12, size=4, replace=False)}
            for _ in range(n)
        ]
        for n in lengths
    ]
    gold = rng.integers(0, labels, size=sum(lengths)).astype(np.int32)
    return bind(Chain(tied=tied), tokens, gold, feature_map=FeatureTable(pairs), classes=list(range(labels)))


@pytest.mark.parametrize("pairs", ["observed", "all"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("labels", [1, 2, 3, 4, 5, 10, 22, 31, 32, 33, 40])
def test_every_label_count_gives_the_same_results_on_every_instruction_set(labels: int, tied: bool, pairs: str) -> None:
    problem = chain_problem(labels, pairs, tied, valued=labels % 2 == 0)
    w = np.random.default_rng(1).normal(size=problem.dim)
    results = {}
    for name in _core.instruction_sets():
        with instruction_set(name):
            losses, gradient = _core.losses_and_gradient(problem, w, _core.LossFamily(1.0, 0.0), 1, True)
            _, parts = _core.argmax_all(problem, w, 1)
            moved = w.copy()
            v = np.random.default_rng(2).normal(size=problem.parts(4))
            change = problem.move(4, v, 0.3, moved)
            assert change == pytest.approx(0.5 * (moved @ moved - w @ w), abs=1e-9)
        results[name] = (losses, gradient, parts)
    baseline = results["baseline"]
    for found in results.values():
        np.testing.assert_allclose(found[0], baseline[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found[1], baseline[1], rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(found[2], baseline[2])


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("labels", [2, 3, 7, 8, 23, 24, 32, 37])
@pytest.mark.parametrize("scale", [1.0, 30.0, 400.0])
def test_forward_backward_is_exact_on_both_sides_of_the_switch_to_log_space(
    name: str, labels: int, scale: float
) -> None:
    """Scores beyond the range of the scaled loop are repeated in log space; the plain recursion is the judge."""
    problem = chain_problem(labels, "all", True, False)
    rng = np.random.default_rng(labels)
    with instruction_set(name):
        for i, length in enumerate([1, 2, 3, 9, 30]):
            theta = rng.normal(scale=scale, size=problem.parts(i))
            emission = theta[: length * labels].reshape(length, labels)
            transition = theta[length * labels :].reshape(labels, labels)
            alpha = [emission[0]]
            for row in emission[1:]:
                alpha.append(logsumexp(alpha[-1][:, None] + transition, axis=0) + row)
            beta = [np.zeros(labels)]
            for row in emission[:0:-1]:
                beta.append(logsumexp(transition + row + beta[-1], axis=1))
            expected = logsumexp(alpha[-1])
            value, mu = problem.logsum(i, theta)
            assert value == pytest.approx(expected, rel=1e-12)
            marginals = np.exp(np.array(alpha) + np.array(beta[::-1]) - expected)
            np.testing.assert_allclose(mu[: length * labels].reshape(length, labels), marginals, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_softmax_is_exact_for_extreme_scores(name: str) -> None:
    rng = np.random.default_rng(0)
    for labels in range(1, 12):
        gold = np.zeros(1, dtype=np.int32)
        problem = bind(
            Multiclass(), np.ones((1, 2)), gold, feature_map=FeatureTable("all"), classes=list(range(labels))
        )
        for scale in (1e-3, 1.0, 50.0, 1e3, 1e6):
            theta = rng.normal(scale=scale, size=labels)
            with instruction_set(name):
                value, mu = problem.logsum(0, theta)
            assert value == pytest.approx(logsumexp(theta), rel=1e-14, abs=1e-14)
            np.testing.assert_allclose(mu, np.exp(theta - logsumexp(theta)), rtol=1e-10, atol=1e-300)


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(MargraveError, match=r"no loops named avx9000, and this processor has loops for: .*baseline"):
        _core.choose_instruction_set("avx9000")


@pytest.mark.parametrize("name", EVERY)
def test_the_environment_forces_an_instruction_set(name: str) -> None:
    assert _with_environment(name).stdout.strip() == name


def test_an_unknown_instruction_set_in_the_environment_stops_the_import() -> None:
    run = _with_environment("avx9000")
    assert run.returncode != 0
    assert "MARGRAVE_INSTRUCTIONS is 'avx9000', and this processor has loops for: " in run.stderr.splitlines()[-1]


def _with_environment(name: str) -> subprocess.CompletedProcess[str]:
    code = "from margrave import _core; print(_core.instruction_set())"
    environment = {**os.environ, "MARGRAVE_INSTRUCTIONS": name}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def plain_viterbi(
    labels: int,
    order: int,
    forbidden: set[tuple[int, int]],
    emission: NDArray[np.float64],
    grams: list[dict[tuple[int, ...], float]],
) -> tuple[float, list[int]]:
    """The best labels of a tied chain by plain loops; the lexicographically first predecessor wins a tie."""
    best = {(k,): (float(emission[0, k]), [k]) for k in range(labels)}
    for row in emission[1:]:
        found: dict[tuple[int, ...], tuple[float, list[int]]] = {}
        for state in sorted(best):
            for k in range(labels):
                if (state[-1], k) in forbidden:
                    continue
                tuple_ = (*state, k)
                value = (
                    best[state][0] + float(row[k]) + sum(grams[m - 2][tuple_[-m:]] for m in range(2, len(tuple_) + 1))
                )
                target = tuple_[-order:]
                if target not in found or value > found[target][0]:
                    found[target] = (value, [*best[state][1], k])
        best = found
    top = max(value for value, _ in best.values())
    return top, next(path for _, (value, path) in sorted(best.items()) if value == top)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(("order", "most"), [(2, 19), (3, 9)])
@pytest.mark.parametrize("forbid", [False, True])
def test_viterbi_over_tuples_breaks_ties_as_plain_loops_do(name: str, order: int, most: int, forbid: bool) -> None:
    """Scores are small integers, so that many outputs tie; for every number of labels up to more than four vectors."""
    for labels in range(1, most + 1):
        rng = np.random.default_rng(labels)
        pairs = [(a, b) for a in range(labels) for b in range(labels) if a != b]
        forbidden = {pair for pair in pairs if forbid and rng.random() < 0.3}
        tuples: list[list[tuple[int, ...]]] = [[(k,) for k in range(labels)]]
        for _ in range(order):
            tuples.append([(*t, k) for t in tuples[-1] for k in range(labels) if (t[-1], k) not in forbidden])
        length = 6
        gold = np.zeros(length, dtype=np.int32)
        structure = Chain(order=order, forbidden=sorted(forbidden))
        problem = bind(
            structure, [[["a"]] * length], gold, feature_map=FeatureTable("all"), classes=list(range(labels))
        )
        emission = rng.integers(0, 2, size=(length, labels)).astype(float)
        grams = [{t: float(rng.integers(-1, 2)) for t in level} for level in tuples[1:]]
        theta = np.concatenate([emission.ravel(), *([level[t] for t in sorted(level)] for level in grams)])
        expected, path = plain_viterbi(labels, order, forbidden, emission, grams)
        with instruction_set(name):
            value, parts = problem.argmax(0, theta)
            kbest = problem.kbest(0, theta, 3)
        assert value == expected
        assert (parts[:length] % labels).tolist() == path
        assert kbest[0][0] == expected
        assert all(theta[y].sum() == score for score, y in kbest)


def test_several_samples_are_the_draws_one_after_another() -> None:
    problem = chain_problem(5, "all", True, False)
    w = np.random.default_rng(0).normal(size=problem.dim)
    one = _core.sample_all(problem, w, 1.0, 1, 7, 1)
    several = _core.sample_all(problem, w, 1.0, 4, 7, 1)
    for i in range(problem.size):
        first = several[1][several[0][4 * i] : several[0][4 * i + 1]]
        assert np.array_equal(first, one[1][one[0][i] : one[0][i + 1]])
