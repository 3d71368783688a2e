"""MIRA where its steps are hard to compute: exact ones on long sentences, and all of them at a very large C."""

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from margrave import LossFamily, MargraveError, Problem, _core
from margrave.datasets import load_town
from margrave.learners import MIRA, CuttingPlane, KBestMIRA, Objective
from margrave.losses import Hinge
from margrave.maps import FeatureTable
from margrave.structures import Chain
from tests.learners.test_learners import Weights
from tests.references.dual import Update, closed_form, dca, exactly, k_best, listed, of_classes
from tests.references.problems import bind

TAGS = sorted({tag for sentence in load_town("train") for _, _, tag in sentence})
LONGEST = 4
SEED = 7
HINGE = (inf, 1.0)
LOSSES = [(1.0, 0.0), (5.0, 1.0), HINGE]


@cache
def long_sentences() -> Problem:
    """The longest sentences of the built-in corpus, with their entities as gold labels."""
    sentences = sorted(load_town("train"), key=len)[-LONGEST:]
    X = [
        [[f"word={word}", f"suffix={word[-3:]}", f"pos={pos}", f"capital={word[0].isupper()}"] for word, pos, _ in rows]
        for rows in sentences
    ]
    labels = [TAGS.index(tag) for rows in sentences for _, _, tag in rows]
    return bind(Chain(), X, labels, feature_map=FeatureTable("all"), classes=TAGS, loss=Hinge())


def step(i: int, loss: LossFamily, C: float, start: Weights) -> tuple[Weights, int]:
    """The weights after one exact step on example i, and the number of steps that were not solved."""
    w, total = start.copy(), np.zeros_like(start)
    *_, unsolved = _core.mira_pass(
        long_sentences(),
        w,
        loss.core(C),
        np.array([i]),
        1,
        None,
        total,
        0,
        exact=True,
        prediction=False,
        spent=np.zeros(0),
    )
    return w, unsolved


def equation_11(i: int, loss: LossFamily, C: float, start: Weights, w: Weights) -> tuple[float, Weights]:
    """1/2 |w - start|^2 + C L_i(w), and its gradient."""
    one = long_sentences().slice(i, i + 1)
    losses, slope = _core.losses_and_gradient(one, w, loss.core(C), 1, True)
    move = w - start
    return float(0.5 * move @ move + C * losses[0]), move + slope


def least(i: int, loss: LossFamily, C: float, start: Weights) -> float:
    """The minimum of Eq. 11 at finite beta by a general-purpose solver."""
    options = {"maxiter": 20_000, "maxfun": 40_000, "gtol": 1e-9, "ftol": 1e-15, "maxcor": 30}
    found = minimize(lambda w: equation_11(i, loss, C, start, w), start, jac=True, method="L-BFGS-B", options=options)
    return float(found.fun)


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
def test_exact_steps_on_long_sentences_solve_equation_11(beta: float, gamma: float, C: float) -> None:
    """The first step begins at zero and the second where the first has ended."""
    loss, problem = LossFamily(beta, gamma), long_sentences()
    start = np.zeros(problem.dim)
    for i in range(2):
        w, unsolved = step(i, loss, C, start)
        reached, _ = equation_11(i, loss, C, start, w)
        assert unsolved == 0
        if loss.smooth:
            assert reached <= least(i, loss, C, start) * (1 + 2e-6)
        elif i == 0:
            other = CuttingPlane().solve(Objective(problem.slice(i, i + 1), Hinge(), C=C, tol=1e-7, n_jobs=1))
            assert other.certificate.dual is not None
            assert reached <= other.certificate.dual * (1 + 2e-6)
        start = w


@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize(("beta", "gamma"), LOSSES)
def test_exact_steps_solve_equation_11_at_any_c(beta: float, gamma: float, C: float) -> None:
    loss, (problem, _) = LossFamily(beta, gamma), classes()
    assert_takes_the_steps(MIRA(exact=True), problem, loss, exactly(loss), C, 1e-5)


def test_a_step_that_cannot_be_solved_is_reported_once() -> None:
    """At such a C, the entropy of the optimal distribution is smaller than what rounding makes of it."""
    objective = Objective(long_sentences(), LossFamily(1.0, 0.0), C=1e12, max_iter=2, n_jobs=1)
    solution = MIRA(exact=True).solve(objective)
    assert solution.state.unsolved > 0
    assert solution.reason.count("did not reach a relative gap of 1e-06") == 1
    assert f"{solution.state.unsolved} of {2 * LONGEST} exact steps" in solution.reason
    ordinary = MIRA(exact=True).solve(Objective(long_sentences(), LossFamily(1.0, 0.0), C=1.0, max_iter=2, n_jobs=1))
    assert ordinary.reason == "max_iter"


@pytest.mark.parametrize("other", ["prediction", "cumulative"])
def test_exact_steps_exclude_other_kinds_of_steps(other: str) -> None:
    with pytest.raises(MargraveError, match="not both"):
        MIRA(exact=True, **{other: True})


# ---- C to infinity: the passive-aggressive update without slack ------------------------------------------------------


@cache
def classes() -> tuple[Problem, Any]:
    """Examples of classes, each of which some weights separate from all others, so that no slack is needed."""
    random = np.random.default_rng(4)
    labels = [int(k) for k in random.integers(0, 4, size=12)]
    cost = random.uniform(0.5, 2, size=(4, 4)) * (1 - np.eye(4))  # so that there are no ties
    return of_classes(random.normal(size=(12, 6)), labels, Hinge(), cost)


def orders(n: int, passes: int) -> Sequence[Sequence[int]]:
    random = np.random.default_rng(SEED)
    return [[int(i) for i in random.permutation(n)] for _ in range(passes)]


def assert_takes_the_steps(
    learner: Any, problem: Problem, loss: LossFamily, update: Update, C: float, tolerance: float, least_c: float = inf
) -> None:
    """The last weights after two passes are those of the printed algorithm; from `least_c` on C makes no difference."""
    expected = dca(listed(problem), update, min(C, least_c), orders(problem.size, 2))[-1].last
    state = learner.blank(Objective(problem, loss, C=C, random_state=SEED, n_jobs=1))
    for _ in range(2):  # even if the first pass reaches the optimum
        learner.one_pass(state)
    assert_allclose(state.w, expected, rtol=0, atol=tolerance * float(np.abs(expected).max()))


LARGE = [1e6, 1e9, 1e12, 1e15]


@pytest.mark.parametrize("C", LARGE)
@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 0.0), HINGE])
def test_closed_form_steps_are_exact_at_a_large_c(beta: float, gamma: float, C: float) -> None:
    loss, (problem, _) = LossFamily(beta, gamma), classes()
    assert_takes_the_steps(MIRA(), problem, loss, closed_form(problem, loss), C, 1e-11)


@pytest.mark.parametrize("C", LARGE)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_k_best_steps_are_exact_at_a_large_c(k: int, C: float) -> None:
    problem, _ = classes()
    assert_takes_the_steps(KBestMIRA(k=k), problem, Hinge(), k_best(problem, Hinge(), k), C, 1e-8, 1e3)


@pytest.mark.parametrize("C", LARGE)
def test_exact_steps_of_the_hinge_loss_are_exact_at_a_large_c(C: float) -> None:
    problem, _ = classes()
    assert_takes_the_steps(MIRA(exact=True), problem, Hinge(), exactly(Hinge()), C, 1e-8, 1e3)


# ---- steps of very different lengths ---------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, 10.0, 1e3, 1e10])
@pytest.mark.parametrize("seed", range(8))
def test_closed_form_steps_are_exact_beside_much_shorter_ones(seed: int, C: float) -> None:
    """Large features make steps short, and an example without features takes one of length C."""
    random = np.random.default_rng(seed)
    X = np.zeros((9, 10))
    X[:4, :4] = np.diag(random.uniform(20, 1000, size=4))
    X[4:8, 4:] = random.uniform(0.1, 3, size=(4, 6))
    problem, _ = of_classes(X, [int(k) for k in random.integers(0, 2, size=9)], Hinge(), 1 - np.eye(2))
    loss = LossFamily(*HINGE)
    assert_takes_the_steps(MIRA(), problem, loss, closed_form(problem, loss), C, 1e-11)
