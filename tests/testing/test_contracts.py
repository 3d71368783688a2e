"""The contracts hold for the library's own classes, and what breaks one is named with the smallest example."""

from dataclasses import dataclass
from itertools import count, product
from typing import Any, ClassVar

import numpy as np
import pytest

from margrave import Hinge, LinearClassifier, Log, LossFamily
from margrave.features import Columns, Features, TfIdf
from margrave.learners import LBFGS, Objective, Solution, Step
from margrave.maps import ChainMap, FeatureTable, SparseMap
from margrave.structures import CandidateLists, Chain, Labels, Multiclass, NonProjectiveTree, ProjectiveTree
from margrave.testing import (
    ContractError,
    check_estimator,
    check_feature_map,
    check_features,
    check_learner,
    check_loss,
    check_problem,
    check_structure,
)
from margrave.testing.learners import small_problems
from margrave.testing.optimum import bounds, optimum
from tests.registry import BUILT_IN_LEARNERS
from tests.registry.problems import Gaps
from tests.testing.outside.learner import FrankWolfe, Mixture
from tests.testing.outside.structure import Segments, divisions

WORDS = [[["a"]], [["a"], ["b"]], [["c"], ["a"], ["b"]]]
TAGS = [["x"], ["y", "x"], ["x", "y", "z"]]
SEQUENCES = [[list(y) for y in product("xyz", repeat=len(x))] for x in WORDS]


def wrong_labels(y: list[str], other: list[str]) -> float:
    return float(sum(a != b for a, b in zip(y, other, strict=True)))


# ---- structures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", [Chain(), Chain(tied=False), Chain(order=2)], ids=str)
def test_chains_keep_the_contracts(structure: Chain) -> None:
    table = ChainMap(FeatureTable("observed"))
    check_structure(structure, WORDS, TAGS, SEQUENCES, feature_map=table, cost=wrong_labels)


def test_classes_keep_the_contracts() -> None:
    every = [["a", "b", "c"]] * 4
    check_structure(Multiclass(), np.eye(4), ["a", "b", "c", "a"], every, feature_map=FeatureTable("all"))


@pytest.mark.parametrize("structure", [NonProjectiveTree(), ProjectiveTree()], ids=str)
def test_trees_keep_the_contracts(structure: Any) -> None:
    every = [[[0]], [[0, 1], [2, 0]]]
    X = [[["1"]], [["1"], ["2"], ["3"], ["4"]]]
    check_structure(structure, X, [[0], [2, 0]], every)


class Shifted(Segments):
    name = "outside-shifted"

    def decode(self, bound: Any, begin: Any, parts: Any, owners: Any = None) -> Any:
        return [[(a + 1, b + 1) for a, b in y] for y in super().decode(bound, begin, parts, owners)]


class Unnamed(Segments):
    pass


class FirstOnly(Chain):
    """Learns from the first sequence only."""

    name = "outside-first-only"

    def learn(self, Y: Any) -> Labels:
        return super().learn(Y[:1])


@pytest.mark.parametrize(
    ("structure", "sentence"),
    [
        (Shifted(), r'"decode returns the output that has the parts" \(example 0: .*\): an output is \[\(1, 2\)\]'),
        (Unnamed(), r'"a model file can store it": .*define `name`'),
    ],
)
def test_a_broken_structure_is_named_with_its_smallest_example(structure: Any, sentence: str) -> None:
    lengths = [1, 2, 4]
    every = [divisions(n) for n in lengths]
    X = [[[f"{k}"] for k in range(len(set(s for y in ys for s in y)))] for ys in every]
    with pytest.raises(ContractError, match=f"^{type(structure).__name__} breaks the contract {sentence}"):
        check_structure(structure, X, [ys[0] for ys in every], every)


def test_costs_other_than_those_of_the_function_are_found() -> None:
    with pytest.raises(
        ContractError, match=r'"costs are those of the cost function" \(example 1: .*is 2 .*should be 4'
    ):
        check_structure(Segments(), [[["a"]], [["a"]] * 3], [[(0, 1)], [(0, 2)]], [divisions(1), divisions(2)],
                        cost=lambda y, other: 2.0 * len(set(other) - set(y)))  # fmt: skip


def test_shards_that_do_not_merge_are_found() -> None:
    with pytest.raises(ContractError, match=r'"shards merge to what all outputs have in common" \(shards of 1 and 2\)'):
        check_structure(FirstOnly(), WORDS, TAGS, SEQUENCES, feature_map=ChainMap(FeatureTable("observed")))


def test_an_output_that_is_missing_in_the_enumeration_is_found() -> None:
    every = [ys[:-1] if len(ys) > 3 else ys for ys in SEQUENCES]  # without ["z", "z"] and ["z", "z", "z"]
    with pytest.raises(ContractError, match=r"which is not an output|the best output scores"):
        check_structure(Chain(), WORDS, TAGS, every, feature_map=ChainMap(FeatureTable("observed")))


# ---- problems --------------------------------------------------------------------------------------------------------

MATRICES = [np.random.default_rng(0).normal(size=(n, 4)) for n in (4, 2, 3)]
GOLD = [(0, 2), (1,), ()]
CHOICES = [Gaps.choices(len(a)) for a in MATRICES]


class WrongArgmax(Gaps):
    def argmax(self, i: int, theta: Any) -> Any:
        return 0.0, np.zeros(0, np.int32)


class WrongMarginals(Gaps):
    def logsum(self, i: int, theta: Any) -> Any:
        value, mu = super().logsum(i, theta)
        return value, 0.99 * mu


class Repeating(Gaps):
    def kbest(self, i: int, theta: Any, k: int) -> Any:
        return (super().kbest(i, theta, 1) * k)[: len(super().kbest(i, theta, k))]


class CheapCosts(Gaps):
    def argmax_by_cost(self, i: int, theta: Any, delta: Any) -> Any:
        return super().argmax_by_cost(i, theta, delta)[:1]


class Biased(Gaps):
    def sample(self, i: int, theta: Any, seed: int) -> Any:
        return super().sample(i, 0.5 * theta, seed)


class NotAdjoint(Gaps):
    def row(self, i: int, v: Any) -> Any:
        index, value = super().row(i, v)
        return index, 2.0 * value


def test_a_problem_in_python_keeps_the_contracts() -> None:
    check_problem(Gaps(MATRICES, GOLD), CHOICES)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (WrongArgmax, "argmax returns the best output and its score"),
        (WrongMarginals, "logsum is the log partition function, and marginals are expected counts"),
        (Repeating, "kbest returns the k best outputs, best first, each once"),
        (CheapCosts, "argmax_by_cost returns the best output of every cost"),
        (Biased, "samples have the frequencies of the distribution"),
        (NotAdjoint, "scores are A w, and scatter, row and move are the adjoint of A"),
    ],
)
def test_a_broken_problem_is_named_with_its_smallest_example(kind: Any, sentence: str) -> None:
    with pytest.raises(ContractError) as broken:
        check_problem(kind(MATRICES, GOLD), CHOICES)
    assert str(broken.value).startswith(
        f'{kind.__name__} breaks the contract "{sentence}" (example 1: 2 parts, 3 outputs'
    )


def test_gold_outputs_must_be_outputs() -> None:
    with pytest.raises(ContractError, match=r"good output 0 is \(0, 2\), which is not among the outputs"):
        check_problem(Gaps(MATRICES, GOLD), [[(0,), (1,)], *CHOICES[1:]])


# ---- learners --------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
@pytest.mark.parametrize(
    "name",
    [name for name in BUILT_IN_LEARNERS if name != "printed-eg"],  # whose fixed steps take too many passes
)
def test_the_learners_of_the_library_keep_the_contracts(name: str) -> None:
    check_learner(name, Cs=(0.1, 0.5), dual_rises=name in ("eg", "eg-batch", "smo", "bcfw"))


def test_both_solvers_of_the_optimum_agree() -> None:
    for small in small_problems():
        lower, upper = bounds(small.examples, Log(), 2.0)
        assert lower == pytest.approx(upper, rel=1e-9)
        assert upper == optimum(small.examples, Log(), 2.0)


@dataclass
class TooSure(FrankWolfe):
    """Its D is too high."""

    name: ClassVar[str] = "outside-too-sure"

    def certify(self, state: Mixture) -> Step:
        step = super().certify(state)
        dual = 0.99 * step.primal + 0.01 * step.dual
        return Step(step.w, step.primal, dual, step.primal - dual)


@dataclass
class Hasty(FrankWolfe):
    """It says that it is done when it is not."""

    name: ClassVar[str] = "outside-hasty"
    offers: ClassVar[tuple[str, ...]] = ("tol",)

    def one_pass(self, state: Mixture) -> Step:
        step = super().one_pass(state)
        step.done = "enough"
        return step


@dataclass
class Forgetful(FrankWolfe):
    """Its passes depend on what no checkpoint has."""

    name: ClassVar[str] = "outside-forgetful"

    def begin(self, objective: Objective) -> Mixture:
        state = super().begin(objective)
        state.turns = count()  # type: ignore[attr-defined]
        return state

    def one_pass(self, state: Mixture) -> Step:
        step = super().one_pass(state)
        if not hasattr(state, "turns"):
            state.w = 0.5 * state.w
            state.value = 0.5 * state.value
        return step


@dataclass
class Unfair(LBFGS):
    """It ignores the weights of examples."""

    name: ClassVar[str] = "outside-unfair"

    def solve(self, objective: Objective, state: Any = None) -> Solution:
        if objective.sample_weight is not None:
            objective = Objective(
                objective.problem, objective.loss, C=objective.C, tol=objective.tol, max_iter=objective.max_iter
            )
        return super().solve(objective, state)


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        (TooSure(), "no D is above the optimum"),
        (Hasty(), "its optimum is that of an independent solver"),
        (Forgetful(), "a run that was continued has the same bits as one that was never stopped"),
        (Unfair(), r"the certificate is that of the weights\" \(loss log, C = 0.1, classes, example weights"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_broken_learner_is_named_with_the_problem(learner: Any, sentence: str) -> None:
    with pytest.raises(ContractError, match=rf"learner '{learner.name}' breaks the contract \"{sentence}"):
        check_learner(learner, ["log"])


def test_a_learner_that_accepts_nothing_is_refused() -> None:
    with pytest.raises(ContractError, match="it refuses perceptron on classes, sequences"):
        check_learner("lbfgs", ["perceptron"])


# ---- losses, features and maps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin", "ramp", LossFamily(2.0, 1.5, {"a": 2.0, "b": 1.0})])
def test_losses_keep_the_contracts(loss: Any) -> None:
    check_loss(loss)


class HalfHinge(Hinge):
    """Its gamma is not the one that the core gets."""

    name: ClassVar[str] = "outside-half-hinge"

    def core(self, *args: Any, **settings: Any) -> Any:
        return super().core(*args, **{**settings, "gamma": 0.5})


del HalfHinge.registered["outside-half-hinge"]  # Messages that list all losses would name it.


def test_a_broken_loss_is_named_with_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HalfHinge.registered, HalfHinge.name, HalfHinge)
    with pytest.raises(ContractError, match=r'HalfHinge breaks .* that of the definition" \(classes, weights \[0.0, '):
        check_loss(HalfHinge())


class Numbering(Features):
    """The features of an example depend on its place."""

    name = "outside-numbering"

    def transform(self, X: Any) -> Any:
        return [[f"{k}"] for k, _ in enumerate(X)]


class Changing(Features):
    """Learning changes the features themselves."""

    name = "outside-changing"
    seen = 0

    def learn(self, X: Any) -> "Changing":
        self.seen = len(X)
        return self

    def transform(self, X: Any) -> Any:
        return [[x] for x in X]

    def state(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def restore(self, state: Any) -> None:
        self.seen = state["seen"]


def test_features_keep_the_contracts_or_are_named() -> None:
    check_features(TfIdf(), ["the cat", "a dog", "the dog"])
    check_features(Columns(), np.eye(3))
    with pytest.raises(ContractError, match=r"do not depend on other examples.*example 1: alone \['0'\], not \['1'\]"):
        check_features(Numbering(), ["a", "b"])
    with pytest.raises(ContractError, match="does not change those that it was called on"):
        check_features(Changing(), ["a", "b"])


@dataclass
class Unsharded(SparseMap):
    """A map that forgets the names of other shards."""

    name: ClassVar[str] = "outside-unsharded"

    def merge(self, other: Any) -> Any:
        super().merge(other)
        return None


def test_feature_maps_keep_the_contracts_or_are_named() -> None:
    check_feature_map(ChainMap(FeatureTable("observed")), Chain(), WORDS, TAGS)
    check_feature_map(FeatureTable("all"), Multiclass(), np.eye(3), ["x", "y", "x"])
    lists = [[["a"], ["b"]], [["b"], ["c"]]]
    check_feature_map(SparseMap(), CandidateLists(), lists, [0, 1])
    with pytest.raises(ContractError, match=r'"shards have the same bits as all examples at once" \(1 and 1\)'):
        check_feature_map(Unsharded(), CandidateLists(), lists, [0, 1])


# ---- estimators ------------------------------------------------------------------------------------------------------

X, Y = [["a"], ["b"], ["a", "c"]], ["x", "y", "x"]


class Greedy(LinearClassifier):
    """Its fit changes a parameter."""

    def fit(self, *args: Any, **settings: Any) -> Any:
        super().fit(*args, **settings)
        self.C = 2 * self.C
        return self


class Moody(LinearClassifier):
    """No two fits are the same."""

    turns = count()

    def fit(self, *args: Any, **settings: Any) -> Any:
        super().fit(*args, **settings)
        self.coef_ = self.coef_ * (1 + 1e-9 * next(self.turns))
        return self


class Lonely(LinearClassifier):
    """One example alone gets another class."""

    def predict(self, X: Any) -> Any:
        return super().predict(X) if len(X) > 1 else self.classes_[:1]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (
            Greedy,
            "parameters can be read, set and cloned, .*: fit changed C from 0.5 to 1.0",
        ),
        (Moody, "a second fit gives the same bits"),
        (Lonely, "one example at a time gives the same as all at once.*predict of example 1: 'x', not 'y'"),
    ],
)
def test_a_broken_estimator_is_named_with_the_contract(kind: Any, sentence: str) -> None:
    with pytest.raises(ContractError, match=f'{kind.__name__} breaks the contract "{sentence}'):
        check_estimator(kind(), X, Y)


def test_an_estimator_must_reach_the_score() -> None:
    with pytest.raises(ContractError, match=r"it learns the examples with a score of 1\": the score is 0"):
        check_estimator(LinearClassifier(), [["a"], ["a"], ["b"]], ["x", "y", "z"], min_score=1.0)


def test_a_method_that_is_said_to_be_missing_must_be() -> None:
    with pytest.raises(ContractError, match="a method that the structure does not offer is refused"):
        check_estimator(LinearClassifier(), X, Y, without=("sample",))
