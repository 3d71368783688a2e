"""Costs that are any function of two outputs: the same optimum as the cost that the core knows, and clear refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from margrave import Hinge, LinearClassifier, MargraveError, SequenceTagger
from margrave.learners import CuttingPlane, Learner, OneSlack
from margrave.losses.costs import CostFunction
from tests.registry import BUILT_IN_LEARNERS

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(int(RNG.integers(1, 4)), 4)) for _ in range(12)]
Y = [[str(label) for label in RNG.choice(["a", "b", "c"], len(x))] for x in X]


def wrong(gold: list[str], other: list[str]) -> float:
    assert len(gold) == len(other)
    assert set(other) <= {"a", "b", "c"}
    return float(sum(a != b for a, b in zip(gold, other, strict=True)))


@pytest.mark.parametrize(("rescale", "slack"), [("margin", 1), ("slack", 1), ("margin", 2), ("slack", 2)])
@pytest.mark.parametrize("learner", [CuttingPlane("a"), CuttingPlane("b"), OneSlack(), OneSlack(cached=3)])
def test_a_function_that_counts_is_the_hamming_cost(learner: Learner, rescale: str, slack: int) -> None:
    if isinstance(learner, OneSlack) and slack != 1:
        pytest.skip("one-slack has linear slack")
    costs = (wrong, "hamming")
    ours, known = (
        SequenceTagger(Hinge(cost, rescale, slack), C=0.3, learner=learner, tol=1e-7).fit(X, Y) for cost in costs
    )
    assert ours.certificate_.primal == pytest.approx(known.certificate_.primal, rel=1e-6)
    assert_allclose(ours.coef_, known.coef_, atol=1e-3)


@pytest.mark.parametrize("learner", ["cutting-plane", "one-slack"])
def test_a_cost_object_is_its_function(learner: str) -> None:
    def doubled(gold: list[str], other: list[str]) -> float:
        return 2 * wrong(gold, other)

    models = [
        SequenceTagger(Hinge(cost), C=0.3, learner=learner, tol=1e-6).fit(X, Y)
        for cost in (doubled, CostFunction(doubled), "hamming")
    ]
    plain, as_object, hamming = (model.certificate_.primal for model in models)
    assert as_object == plain > 1.1 * hamming
    assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_function_of_classes_is_a_matrix() -> None:
    matrix = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 0.5], [1.0, 1.0, 0.0]])
    x, y = RNG.normal(size=(20, 3)), RNG.integers(0, 3, 20)
    for rescale in ("margin", "slack"):
        ours, known = (
            LinearClassifier(Hinge(cost, rescale), C=0.2, learner="cutting-plane", tol=1e-7).fit(x, y)
            for cost in (lambda gold, other: matrix[gold, other], matrix)
        )
        assert_allclose(ours.coef_, known.coef_, atol=1e-3)


def test_where_there_are_many_outputs_only_the_best_are_searched() -> None:
    x = [RNG.normal(size=(8, 4))]
    y = [[str(label) for label in RNG.choice(["a", "b", "c"], 8)]]
    y[0][:3] = "abc"
    tagger = SequenceTagger(Hinge(wrong), C=0.1, learner="cutting-plane", tol=1e-3).fit(x, y)
    exact = SequenceTagger(Hinge(), C=0.1, learner="cutting-plane", tol=1e-6).fit(x, y)
    assert tagger.certificate_.dual <= exact.certificate_.primal * (1 + 1e-9)  # fewer constraints: a lower optimum


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (lambda gold, other: -1.0 if gold != other else 0.0, r"^example \d+: costs must be finite and not negative"),
        (lambda gold, other: float("nan") if gold != other else 0.0, r"^example \d+: costs must be finite"),
        (lambda gold, other: 1.0, r"^example 0: the right output must cost 0, and it costs 1\.$"),
    ],
)
def test_wrong_costs_are_refused_with_the_example(cost, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        SequenceTagger(Hinge(cost), learner="cutting-plane").fit(X, Y)


def test_what_a_cost_function_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        SequenceTagger(Hinge(lambda gold, other: 1 / 0 if gold != other else 0.0), learner="one-slack").fit(X, Y)


@pytest.mark.parametrize(
    "name", [name for name, kind in BUILT_IN_LEARNERS.items() if "any rescaling" not in kind.offers]
)
def test_other_learners_refuse_cost_functions(name: str) -> None:
    with pytest.raises(MargraveError, match="use"):
        SequenceTagger(Hinge(wrong), learner=name).fit(X, Y)


def test_a_cost_function_is_not_kept_in_a_file(tmp_path) -> None:
    tagger = SequenceTagger(Hinge(wrong), learner="cutting-plane").fit(X, Y)
    with pytest.raises(MargraveError, match="a function cannot be stored"):
        tagger.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    tagger.set_params(loss="hinge").save(tmp_path / "model")


def test_cost_functions_are_for_the_hinge_loss() -> None:
    from margrave import SoftmaxMargin

    with pytest.raises(MargraveError, match="hinge"):
        SoftmaxMargin(cost=wrong)
