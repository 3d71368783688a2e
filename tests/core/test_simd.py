"""The hot loops of every instruction set agree with one another and with plain formulas."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.special import logsumexp

from margrave import _core
from margrave.errors import MargraveError
from margrave.features import AttributeTable
from margrave.structures import Chain, Multiclass
from tests.references.problems import bind

NOT_ON_EVERY_PROCESSOR = ("avx2", "avx512")


@contextmanager
def instruction_set(name: str) -> Iterator[None]:
    before = _core.instruction_set()
    try:
        _core.choose_instruction_set(name)
    except MargraveError:
        if name not in NOT_ON_EVERY_PROCESSOR:
            raise
        pytest.skip(f"this processor has no {name}")
    try:
        yield
    finally:
        _core.choose_instruction_set(before)


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
    return bind(Chain(tied=tied), tokens, gold, features=AttributeTable(pairs), classes=list(range(labels)))


@pytest.mark.parametrize("pairs", ["observed", "all"])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("labels", [1, 2, 3, 4, 5, 10, 22, 31, 32, 33, 40])
def test_every_label_count_gives_the_same_results_on_every_instruction_set(labels: int, tied: bool, pairs: str) -> None:
    problem = chain_problem(labels, pairs, tied, valued=labels % 2 == 0)
    w = np.random.default_rng(1).normal(size=problem.dim)
    results = {}
    for name in ("baseline", _core.instruction_set()):
        with instruction_set(name):
            losses, gradient = _core.losses_and_gradient(problem, w, _core.LossFamily(1.0, 0.0), 1, True)
            _, parts = _core.argmax_all(problem, w, 1)
            moved = w.copy()
            v = np.random.default_rng(2).normal(size=problem.parts(4))
            change = problem.move(4, v, 0.3, moved)
            assert change == pytest.approx(0.5 * (moved @ moved - w @ w), abs=1e-9)
        results[name] = (losses, gradient, parts)
    baseline, best = results["baseline"], results[_core.instruction_set()]
    np.testing.assert_allclose(best[0], baseline[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(best[1], baseline[1], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(best[2], baseline[2])


@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
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


@pytest.mark.parametrize("name", ["baseline", "avx2", "avx512"])
def test_softmax_is_exact_for_extreme_scores(name: str) -> None:
    rng = np.random.default_rng(0)
    for labels in range(1, 12):
        gold = np.zeros(1, dtype=np.int32)
        problem = bind(Multiclass(), np.ones((1, 2)), gold, features=AttributeTable("all"), classes=list(range(labels)))
        for scale in (1e-3, 1.0, 50.0, 1e3, 1e6):
            theta = rng.normal(scale=scale, size=labels)
            with instruction_set(name):
                value, mu = problem.logsum(0, theta)
            assert value == pytest.approx(logsumexp(theta), rel=1e-14, abs=1e-14)
            np.testing.assert_allclose(mu, np.exp(theta - logsumexp(theta)), rtol=1e-10, atol=1e-300)


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(MargraveError, match="no loops named avx9000"):
        _core.choose_instruction_set("avx9000")
