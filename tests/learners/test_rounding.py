"""Large features and a large C: no D may exceed the optimum, though rounding errors do."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from margrave import Hinge, LossFamily, SequenceTagger
from margrave.errors import MargraveError
from margrave.learners import BCFW, EG, LBFGS, SGD, SVRG, BatchEG, CuttingPlane, Learner, PrintedEG
from margrave.learners.rounding import lowered

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SMOOTH: list[Learner] = [
    SGD(rate=0.1),
    SVRG(),
    LBFGS(),
    EG(),
    BatchEG(),
    BatchEG(form="weights"),
    BCFW(),
    PrintedEG(schedule="constant"),
    PrintedEG(schedule="halved"),
]
HINGE: list[Learner] = [EG(), BatchEG(), BCFW(), BCFW(pairwise=False), BCFW(averaging=True), CuttingPlane()]
CASES: list[tuple[Learner, str]] = [
    *((learner, "hamming") for learner in SMOOTH),
    *((learner, "zero-one") for learner in SMOOTH if "cost of parts" not in learner.needs),
    *((learner, "hinge") for learner in HINGE),
]
LABELS = ("p", "q")

Chains = tuple[list[list[dict[str, float]]], list[list[str]]]


def chains(rng: np.random.Generator, scale: float) -> Chains:
    """Three sequences with real features, and labels for them."""
    X = [[{name: float(rng.normal() * scale) for name in "abc"} for _ in range(n)] for n in (3, 1, 2)]
    y = [[LABELS[int(rng.integers(2))] for _ in x] for x in X]
    y[0][:2] = LABELS
    return X, y


def primal(weights: Any, data: Chains, loss: LossFamily, C: float) -> float:
    """P in long double, by all outputs of every sequence."""
    exact = np.longdouble
    value = sum((exact(each) ** 2 for each in weights.values()), exact(0)) / 2
    for x, gold in zip(*data, strict=True):
        outputs = list(product(LABELS, repeat=len(x)))

        def score(y: tuple[str, ...], x: Any = x) -> Any:
            tokens = (
                exact(v) * weights["token", f, label] for t, label in zip(x, y, strict=True) for f, v in t.items()
            )
            pairs = (exact(weights["transition", one, other]) for one, other in pairwise(y))
            return sum(tokens, exact(0)) + sum(pairs, exact(0))

        wrong = [sum(a != b for a, b in zip(y, gold, strict=True)) for y in outputs]
        cost = np.minimum(wrong, 1) if loss.zero_one else np.array(wrong)
        v = np.array([score(y) for y in outputs]) + exact(loss.gamma) * cost - score(tuple(gold))
        soft = np.log(np.exp(loss.beta * (v - v.max())).sum()) / loss.beta if loss.smooth else 0
        value += C * (v.max() + soft)
    return float(value)


def test_only_an_error_that_is_not_negligible_lowers_a_dual() -> None:
    assert lowered(3.0, 2e-6) == 3.0
    assert lowered(3.0, 4e-6) == 3.0 - 4e-6
    assert lowered(-3.0, 1.0) == -3.0
    assert np.isfinite(lowered(3.0, np.inf))


@pytest.mark.parametrize("C", [1.0, 100.0, 1e6])
@pytest.mark.parametrize("scale", [1.0, 1e4, 1e6])
@pytest.mark.parametrize(("learner", "kind"), CASES, ids=str)
def test_no_dual_exceeds_the_optimum(learner: Learner, kind: str, scale: float, C: float) -> None:
    """Scores lose digits that gradients, entropies and weights need; the P of any weights bounds the optimum."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        data = chains(rng, scale)
        beta, gamma = (
            float(rng.choice([0.3, 3.0, 30.0])),
            0.4 if kind == "zero-one" else float(rng.choice([0.0, 1.0, 3.0])),
        )
        loss = Hinge() if kind == "hinge" else LossFamily(beta, gamma, kind)
        best = np.inf
        for each in (learner, LBFGS() if loss.smooth else BCFW()):
            model = SequenceTagger(loss, C=C, learner=each, weights="all", max_iter=100, random_state=seed, n_jobs=1)
            try:
                model.fit(*data)
            except MargraveError as error:  # marginals of wild steps can overflow
                assert "scale the features" in str(error)
                continue
            best = min(best, primal(model.weights_, data, loss, C))
            duals = [record.dual for record in model.history_ if record.dual is not None]
            assert max(duals, default=-np.inf) <= best * (1 + 1e-6)
