"""Learners: they reach the optimum of independent solvers, certify it, and take exactly the steps that they name."""

import gc
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from margrave import Hinge, LinearClassifier, Log, LossFamily, MargraveError, Perceptron, Problem, SequenceTagger
from margrave.learners import LBFGS, LEARNERS, SGD, AveragedPerceptron, Learner, Objective, Solution, learner_named
from margrave.learners.objective import Step
from margrave.maps import FeatureTable, SparseMap
from margrave.structures import CandidateLists, Chain, Multiclass, NonProjectiveTree
from margrave.testing.optimum import Alternatives, dual, optimum, primal
from tests.references.problems import bind
from tests.registry import BUILT_IN_LEARNERS

FAMILY = [(1.0, 0.0), (1.0, 1.0), (1.0, 3.0), (3.0, 1.0)]
Weights = NDArray[np.float64]


class Matching(Problem):
    """A structure written in Python: perfect matchings of k boxes with k items, by enumeration; parts are pairs."""

    def __init__(self, maps: Weights, gold: list[tuple[int, ...]]) -> None:
        super().__init__(len(maps), maps.shape[2])
        self.maps, self.right = maps, gold  # maps: (examples, k * k, dim)
        self.k = len(gold[0])
        self.all = [[k * self.k + item for k, item in enumerate(y)] for y in permutations(range(self.k))]
        self.table = np.zeros((len(self.all), self.k * self.k))
        for row, parts in zip(self.table, self.all, strict=True):
            row[parts] = 1

    def parts(self, i: int) -> int:
        return self.k * self.k

    def score(self, i: int, w: Weights) -> Weights:
        return self.maps[i] @ w

    def row(self, i: int, v: Weights) -> tuple[NDArray[np.int64], Weights]:
        return np.arange(self.dim), v @ self.maps[i]

    def radius(self, i: int) -> float:
        rows = self.table @ self.maps[i]
        return float(max(np.linalg.norm(a - b) for a in rows for b in rows))

    def gold(self, i: int) -> list[int]:
        return [k * self.k + item for k, item in enumerate(self.right[i])]

    def cost(self, i: int) -> tuple[Weights, float]:
        delta = np.ones(self.k * self.k)
        delta[self.gold(i)] = 0
        return delta, 0.0

    def argmax(self, i: int, theta: Weights) -> tuple[float, list[int]]:
        scores = self.table @ theta
        return float(scores.max()), self.all[int(scores.argmax())]

    def logsum(self, i: int, theta: Weights) -> tuple[float, Weights]:
        scores = self.table @ theta
        return float(logsumexp(scores)), softmax(scores) @ self.table


class Watched(Problem):
    """Another problem, with every inference counted, and `event` called before it."""

    def __init__(self, inner: Problem, event: Callable[[int], None] = lambda calls: None) -> None:
        super().__init__(inner.size, inner.dim)
        self.inner, self.event, self.calls = inner, event, 0

    def parts(self, i: int) -> int:
        return int(self.inner.parts(i))

    def score(self, i: int, w: Weights) -> Weights:
        return self.inner.score(i, w)

    def row(self, i: int, v: Weights) -> Any:
        return self.inner.row(i, v)

    def gold(self, i: int) -> Any:
        return self.inner.gold(i)

    def cost(self, i: int) -> Any:
        return self.inner.cost(i)

    def argmax(self, i: int, theta: Weights) -> Any:
        self._count()
        return self.inner.argmax(i, theta)

    def logsum(self, i: int, theta: Weights) -> Any:
        self._count()
        return self.inner.logsum(i, theta)

    def _count(self) -> None:
        self.calls += 1
        self.event(self.calls)


def matching(seed: int = 0, loss: LossFamily | None = None, size: int = 6) -> tuple[Problem, list[Alternatives]]:
    random = np.random.default_rng(seed)
    gold = [tuple(int(k) for k in random.permutation(3)) for _ in range(size)]
    problem = Matching(random.normal(size=(size, 9, 5)), gold)
    every = list(permutations(range(3)))
    examples = [
        Alternatives(
            problem.table @ problem.maps[i],
            np.array([float(sum(a != b for a, b in zip(y, gold[i], strict=True))) for y in every]),
            every.index(gold[i]),
        )
        for i in range(size)
    ]
    return problem, examples


def multiclass(seed: int = 0, loss: LossFamily | None = None) -> tuple[Problem, list[Alternatives]]:
    """The cost is a matrix, so that gold and predicted labels cannot be confused unnoticed."""
    random = np.random.default_rng(seed)
    n, d, width = 12, 4, 3
    X, labels = random.normal(size=(n, d)), random.integers(0, width, size=n).astype(np.int32)
    labels[:width] = range(width)
    cost = random.uniform(0.5, 2, size=(width, width)) * (1 - np.eye(width))
    if loss is not None:
        loss = LossFamily(loss.beta, loss.gamma, cost)
    problem = bind(Multiclass(), X, labels, feature_map=FeatureTable("all"), classes=list(range(width)), loss=loss)
    return problem, [Alternatives(np.kron(np.eye(width), X[i]), cost[labels[i]], labels[i]) for i in range(n)]


def chain_data(seed: int, n: int = 6, width: int = 3) -> tuple[list[list[list[str]]], list[list[int]]]:
    """Sequences of 1 to 5 tokens of 1 to 3 attributes, of which some occur twice in a token."""
    random = np.random.default_rng(seed)
    lengths = [1, 5, *random.integers(2, 5, size=n - 2)]
    X = [[[f"a{a}" for a in random.integers(0, 5, size=random.integers(1, 4))] for _ in range(m)] for m in lengths]
    return X, [[int(label) for label in random.integers(0, width, size=m)] for m in lengths]


def chain(seed: int = 0, loss: LossFamily | None = None, pairs: str = "observed") -> tuple[Problem, list[Alternatives]]:
    width = 3
    X, Y = chain_data(seed)
    flat = np.array([label for labels in Y for label in labels], dtype=np.int32)
    problem = bind(Chain(), X, flat, feature_map=FeatureTable(pairs), classes=list(range(width)), loss=loss)

    def occurring(x: list[list[str]], y: Any) -> Iterator[tuple[Any, Any]]:
        for attributes, label in zip(x, y, strict=True):
            yield from ((a, label) for a in attributes)
        yield from pairwise(y)

    everything = product(range(width), repeat=2), product({a for x in X for token in x for a in token}, range(width))
    seen = {pair for x, y in zip(X, Y, strict=True) for pair in occurring(x, y)}
    number = {pair: k for k, pair in enumerate(seen if pairs == "observed" else [p for ps in everything for p in ps])}
    examples = []
    for x, gold in zip(X, Y, strict=True):
        outputs = list(product(range(width), repeat=len(x)))
        features = np.zeros((len(outputs), len(number)))
        for row, y in zip(features, outputs, strict=True):
            for pair in occurring(x, y):
                if pair in number:
                    row[number[pair]] += 1
        cost = np.array([float(sum(a != b for a, b in zip(y, gold, strict=True))) for y in outputs])
        examples.append(Alternatives(features, cost, outputs.index(tuple(gold))))
    return problem, examples


def is_tree(heads: tuple[int, ...], single_root: bool) -> bool:
    if single_root and heads.count(0) > 1:
        return False
    for word in range(1, len(heads) + 1):
        at = word
        for _ in heads:
            at = heads[at - 1] if at else 0
        if at:
            return False
    return True


def tree(seed: int = 0, loss: LossFamily | None = None, single_root: bool = True) -> tuple[Problem, list[Alternatives]]:
    random = np.random.default_rng(seed)
    X, golds, examples = [], [], []
    for n in (1, 2, 3, 4):
        arcs = [(head, word) for word in range(1, n + 1) for head in range(n + 1) if head != word]
        vectors = random.normal(size=(n * n, 6))
        outputs = [heads for heads in product(range(n + 1), repeat=n) if is_tree(heads, single_root)]
        gold = outputs[int(random.integers(len(outputs)))]
        features = [
            sum(vectors[arcs.index((head, word))] for word, head in enumerate(heads, start=1)) for heads in outputs
        ]
        cost = np.array([float(sum(a != b for a, b in zip(heads, gold, strict=True))) for heads in outputs])
        X.append(vectors)
        golds.append(gold)
        examples.append(Alternatives(np.array(features), cost, outputs.index(gold)))
    return bind(NonProjectiveTree(single_root), X, golds, feature_map=SparseMap()), examples


def candidates(seed: int = 0, loss: LossFamily | None = None) -> tuple[Problem, list[Alternatives]]:
    """Lists of several lengths, with several good candidates and costs of all kinds."""
    random = np.random.default_rng(seed)
    counts = [1, 6, *random.integers(2, 7, size=8)]
    X = [random.normal(size=(n, 5)) for n in counts]
    good = [[int(k) for k in random.permutation(n)[: random.integers(1, n // 2 + 2)]] for n in counts]
    costs = [random.uniform(0.5, 3.0, size=n) for n in counts]
    for cost, numbers in zip(costs, good, strict=True):
        cost[numbers] = 0
    problem = bind(CandidateLists(), X, good, costs, feature_map=SparseMap(), loss=loss)
    return problem, [Alternatives(*each) for each in zip(X, costs, [numbers[0] for numbers in good], strict=True)]


KINDS: dict[str, Callable[..., tuple[Problem, list[Alternatives]]]] = {
    "multiclass": multiclass,
    "candidates": candidates,
    "chain": chain,
    "tree": tree,
    "matching": matching,
}


def solve(learner: Learner, problem: Problem, loss: LossFamily, **settings: Any) -> Solution:
    return learner.solve(Objective(problem, loss, **{"n_jobs": 1, **settings}))


def assert_certified(solution: Solution) -> None:
    """What every history with a dual promises."""
    lowest = min(record.primal for record in solution.history)
    for record in solution.history:
        assert record.dual is not None
        assert record.gap is not None
        scale = abs(record.primal) + abs(record.dual)
        assert record.gap >= -1e-9 * scale
        assert record.gap == pytest.approx(record.primal - record.dual, abs=1e-9 * scale)
        assert record.dual <= lowest + 1e-9 * scale  # weak duality holds between any two records


def assert_in_order(solution: Solution) -> None:
    for before, after in pairwise(solution.history):
        assert after.passes > before.passes
        assert after.seconds >= before.seconds


# ---- the optimum -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
@pytest.mark.parametrize("kind", KINDS)
def test_lbfgs_reaches_the_optimum_of_an_independent_solver(kind: str, beta: float, gamma: float) -> None:
    loss = LossFamily(beta, gamma)
    problem, examples = KINDS[kind](1, loss)
    for C in (0.1, 10.0):
        best = optimum(examples, loss, C)
        solution = solve(LBFGS(), problem, loss, C=C, tol=1e-10)
        assert solution.converged
        assert solution.history[-1].relative_gap <= 1e-10
        assert solution.history[-1].primal == pytest.approx(best, rel=1e-9)
        assert_certified(solution)
        assert_in_order(solution)
        for record in solution.history:
            assert record.dual is not None
            assert record.dual <= best * (1 + 1e-9)
        for before, after in pairwise(solution.history):
            assert after.primal <= before.primal * (1 + 1e-13)


@pytest.mark.parametrize("pairs", ["observed", "all"])
def test_only_the_pairs_of_the_feature_map_take_part_in_the_optimum(pairs: str) -> None:
    problem, examples = chain(3, Log(), pairs)
    assert problem.dim == examples[0].features.shape[1]
    solution = solve(LBFGS(), problem, Log(), C=5.0, tol=1e-10)
    assert solution.history[-1].primal == pytest.approx(optimum(examples, Log(), 5.0), rel=1e-9)


def test_several_roots_have_an_optimum_of_their_own() -> None:
    loss = LossFamily(1.0, 1.0)
    problem, examples = tree(2, loss, single_root=False)
    solution = solve(LBFGS(), problem, loss, C=2.0, tol=1e-10)
    assert solution.history[-1].primal == pytest.approx(optimum(examples, loss, 2.0), rel=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.01, 1.0, 100.0]), family=st.sampled_from(FAMILY))
def test_the_certificate_is_the_dual_of_the_losss_own_distribution(
    seed: int, C: float, family: tuple[float, float]
) -> None:
    loss = LossFamily(*family)
    problem, examples = matching(seed, size=3)
    solution = solve(SGD(rate=0.1), problem, loss, C=C, max_iter=3, tol=0.0)
    record = solution.certificate
    assert record.primal == pytest.approx(primal(solution.w, examples, loss, C)[0], rel=1e-12)
    assert record.dual == pytest.approx(dual(solution.w, examples, loss, C), rel=1e-9, abs=1e-9 * record.primal)
    assert record.gap == pytest.approx(record.primal - record.dual, abs=1e-9 * (abs(record.primal) + abs(record.dual)))


@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
def test_the_log_loss_of_classes_is_scikit_learns_logistic_regression(C: float) -> None:
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 5)), random.integers(0, 4, size=60)
    theirs = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, y)
    ours = LinearClassifier(C=C, tol=1e-12).fit(X, y)
    scores = X @ theirs.coef_.T
    best = 0.5 * (theirs.coef_**2).sum() + C * (logsumexp(scores, axis=1) - scores[np.arange(60), y]).sum()
    assert ours.history_[-1].primal == pytest.approx(best, rel=1e-6)
    assert ours.history_[-1].primal <= best * (1 + 1e-9)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4 * np.abs(theirs.coef_).max())
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_the_log_loss_of_chains_is_that_of_crfsuite(tmp_path: Path) -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    random = np.random.default_rng(0)
    X = [[[f"a{a}" for a in random.permutation(12)[:3]] for _ in range(random.integers(1, 7))] for _ in range(40)]
    Y = [[f"t{(int(token[0][1:]) + int(random.integers(2))) % 4}" for token in x] for x in X]
    c2 = 0.05
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c1": 0.0, "c2": c2, "max_iterations": 2000, "epsilon": 1e-9, "delta": 1e-12})
    for x, y in zip(X, Y, strict=True):
        trainer.append([dict.fromkeys(token, 1.0) for token in x], y)
    trainer.train(str(tmp_path / "crf"))
    theirs = trainer.logparser.last_iteration
    ours = SequenceTagger(C=1 / (2 * c2), tol=1e-11).fit(X, Y)
    assert ours.coef_.size == theirs["active_features"]
    assert ours.history_[-1].primal / ours.C == pytest.approx(theirs["loss"], rel=1e-6)
    assert np.linalg.norm(ours.coef_) == pytest.approx(theirs["feature_norm"], rel=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_any_c_converges(C: float) -> None:
    X, Y = chain_data(0, n=8)
    tagger = SequenceTagger(C=C, tol=1e-6).fit(X, Y)
    assert tagger.converged_
    assert tagger.history_[-1].relative_gap <= 1e-6
    assert isfinite(tagger.coef_.sum())


def test_ending_early_is_a_warning_and_not_convergence() -> None:
    from sklearn.exceptions import ConvergenceWarning

    X, Y = chain_data(0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter.* relative gap of .* > tol"):
        tagger = SequenceTagger(C=100.0, max_iter=2).fit(X, Y)
    assert not tagger.converged_
    assert tagger.stop_reason_ == "max_iter"
    assert tagger.n_iter_ == len(tagger.history_) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("scale", [1e100, 1e160, 1e300])
def test_a_search_that_fails_far_from_the_optimum_is_no_convergence(scale: float) -> None:
    """Features so large that no step can be taken: an error or a warning, never a model called converged."""
    try:
        model = LinearClassifier().fit(np.eye(3) * scale, [0, 1, 2])
    except MargraveError as error:
        assert "scale the features" in str(error)
    else:
        assert not model.converged_ or model.history_[-1].relative_gap <= model.tol


# ---- weights of examples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("beta", "gamma"), FAMILY)
def test_a_weight_is_so_many_copies_and_no_weight_is_no_example(beta: float, gamma: float) -> None:
    random = np.random.default_rng(5)
    X, y = random.normal(size=(10, 4)), np.arange(10) % 3
    weight = np.array([0, 1, 2, 3, 0, 1, 1, 2, 0, 1])
    settings: dict[str, Any] = {"loss": LossFamily(beta, gamma), "C": 2.0, "tol": 1e-13}
    weighted = LinearClassifier(**settings).fit(X, y, sample_weight=weight)
    repeated = LinearClassifier(**settings).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6 * np.abs(repeated.coef_).max())
    assert weighted.history_[-1].primal == pytest.approx(repeated.history_[-1].primal, rel=1e-10)


def test_weights_of_sequences_are_copies_too() -> None:
    X, Y = chain_data(2)
    weight = [2, 1, 0, 1, 3, 1]
    copies = [i for i, k in enumerate(weight) for _ in range(k)]
    settings: dict[str, Any] = {"weights": "hash:6", "tol": 1e-13}  # with names, the example left out would be missed
    weighted = SequenceTagger(**settings).fit(X, Y, sample_weight=weight)
    repeated = SequenceTagger(**settings).fit([X[i] for i in copies], [Y[i] for i in copies])
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6 * np.abs(repeated.coef_).max())


def test_copies_of_all_examples_are_a_larger_c() -> None:
    X, Y = chain_data(4)
    once = SequenceTagger(C=3.0, tol=1e-13).fit(X, Y)
    thrice = SequenceTagger(C=1.0, tol=1e-13).fit(X * 3, Y * 3)
    assert_allclose(once.coef_, thrice.coef_, atol=1e-6 * np.abs(once.coef_).max())


def test_integer_and_non_contiguous_weights_are_weights() -> None:
    X, Y = chain_data(4)
    plain = SequenceTagger().fit(X, Y, sample_weight=[1.0, 2.0, 1.0, 2.0, 1.0, 2.0])
    for weight in (np.array([1, 2, 1, 2, 1, 2]), np.array([1.0, 9, 2, 9, 1, 9, 2, 9, 1, 9, 2, 9])[::2]):
        assert_array_equal(SequenceTagger().fit(X, Y, sample_weight=weight).coef_, plain.coef_)


# ---- the history -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "loss"),
    [
        (LBFGS(), Log()),
        (LBFGS(), LossFamily(2.0, 1.0)),
        (SGD(rate=0.1), Log()),
        (SGD(), Log()),
        (SGD(rate=0.1), Hinge()),
        (SGD(), Hinge()),
        (AveragedPerceptron(), Perceptron()),
        (AveragedPerceptron(), Log()),
    ],
    ids=lambda value: value.name,
)
def test_every_inference_is_counted(learner: Learner, loss: LossFamily) -> None:
    for rounds in (1, 2, 4):
        problem = Watched(chain(0, loss)[0])
        solution = solve(learner, problem, loss, max_iter=rounds, tol=0.0)
        assert len(solution.history) == rounds
        assert solution.history[-1].passes == problem.calls / problem.size
        assert_in_order(solution)


def test_an_iteration_that_searches_its_step_counts_every_trial() -> None:
    problem, _ = matching(5)
    trials = Watched(problem)
    solution = solve(LBFGS(), trials, Log(), C=100.0, tol=1e-8)
    assert solution.history[-1].passes == trials.calls / problem.size > len(solution.history) + 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [Log(), Hinge(), Perceptron()], ids=lambda loss: loss.name)
def test_the_weights_returned_are_those_that_a_record_speaks_of(kind: str, loss: LossFamily) -> None:
    """L-BFGS and SGD return the iterate of the lowest P, the perceptron its last average."""
    learners: list[Learner] = [AveragedPerceptron()]
    if loss.name != "perceptron":
        learners.append(SGD(rate=0.5))
    if loss.smooth:
        learners.append(LBFGS())
    for learner in learners:
        problem, _ = KINDS[kind](0, loss)
        solution = solve(learner, problem, loss, C=3.0, max_iter=6, tol=0.0)
        at_w = Objective(problem, loss, C=3.0, n_jobs=1).certify(solution.w)[0]
        best = min(record.primal for record in solution.history)
        assert at_w == (solution.history[-1].primal if "last weights" in learner.offers else best)


def test_a_saved_certificate_is_that_of_the_weights_saved(tmp_path: Path) -> None:
    """SGD may end above its best pass; what the file says of P must hold for the weights in it."""
    from margrave import load

    random = np.random.default_rng(0)
    X, y = random.normal(size=(12, 3)), np.arange(12) % 3
    model = LinearClassifier(learner=SGD(rate=4.0), max_iter=9, C=5.0, tol=0.0).fit(X, y)
    best = min(record.primal for record in model.history_)
    assert model.history_[-1].primal > best, "the example must be one where the last pass is not the best"
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.history_[-1].primal == best


# ---- stopping --------------------------------------------------------------------------------------------------------


def test_a_reason_is_given_for_every_end() -> None:
    problem, _ = matching()
    gap = solve(LBFGS(), problem, Log(), tol=1e-3)
    assert (gap.converged, gap.reason.split(" <= ")[1]) == (True, "tol 0.001")
    assert gap.reason.startswith("relative gap ")
    norm = solve(LBFGS(gradient_tol=1e-2), problem, Log(), tol=0.0)
    assert norm.converged
    assert norm.reason.startswith("gradient norm ")
    few = solve(LBFGS(), problem, Log(), tol=0.0, max_iter=2)
    assert (few.converged, few.reason, len(few.history)) == (False, "max_iter", 2)


def test_the_gradient_tolerance_is_relative_to_the_weights() -> None:
    problem, examples = matching()
    solution = solve(LBFGS(gradient_tol=1e-5), problem, Log(), C=30.0, tol=0.0)
    _, slope = primal(solution.w, examples, Log(), 30.0)
    assert np.linalg.norm(slope) <= 1e-5 * max(1.0, float(np.linalg.norm(solution.w))) * (1 + 1e-6)
    before = solve(LBFGS(), problem, Log(), C=30.0, tol=0.0, max_iter=len(solution.history) - 1)
    _, slope = primal(before.w, examples, Log(), 30.0)
    assert np.linalg.norm(slope) > 1e-5 * max(1.0, float(np.linalg.norm(before.w)))


def test_lbfgs_with_a_tolerance_of_zero_ends_at_the_limit_of_the_numbers() -> None:
    problem, examples = matching()
    solution = solve(LBFGS(), problem, Log(), tol=0.0)
    assert solution.reason != "max_iter"
    assert solution.history[-1].primal == pytest.approx(optimum(examples, Log(), 1.0), rel=1e-13)


def test_a_problem_whose_optimum_is_zero_is_solved_at_once() -> None:
    """Two equal examples with different labels, and features that cannot tell the labels apart."""
    problem = Matching(np.zeros((2, 9, 3)), [(0, 1, 2), (1, 0, 2)])
    solution = solve(LBFGS(), problem, Log())
    assert solution.converged
    assert_array_equal(solution.w, np.zeros(3))
    assert solution.history[-1].primal == pytest.approx(2 * np.log(6))


@pytest.mark.parametrize("memory", [1, 3, 30])
def test_any_memory_reaches_the_optimum(memory: int) -> None:
    problem, examples = chain(1, Log())
    solution = solve(LBFGS(memory=memory), problem, Log(), tol=1e-10)
    assert solution.history[-1].primal == pytest.approx(optimum(examples, Log(), 1.0), rel=1e-9)


# ---- stochastic gradient descent -------------------------------------------------------------------------------------


def gradient(problem: Problem, i: int, w: Weights, loss: LossFamily) -> Weights:
    """Of L_i, from the problem's single steps alone."""
    theta = problem.score(i, w)
    delta, _ = problem.cost(i) if loss.gamma else (np.zeros_like(theta), 0.0)
    v = theta + loss.gamma * delta
    mu = np.zeros_like(theta)
    if loss.smooth:
        mu = problem.logsum(i, loss.beta * v)[1].copy()
    else:
        np.add.at(mu, problem.argmax(i, v)[1], 1.0)
    np.subtract.at(mu, problem.gold(i), 1.0)
    dense = np.zeros(problem.dim)
    index, value = problem.row(i, mu)
    np.add.at(dense, index, value)
    return dense


@pytest.mark.parametrize("kind", ["chain", "matching", "multiclass", "tree"])
@pytest.mark.parametrize("loss", [Log(), LossFamily(2.0, 1.0), Hinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("weighted", [False, True])
def test_sgd_takes_the_steps_of_its_formula(kind: str, loss: LossFamily, weighted: bool) -> None:
    """eta_t = eta / (1 + (t-1)/n) against the gradient of lambda/2 |w|^2 + weight_i L_i, with lambda = 1/(n C)."""
    problem, _ = KINDS[kind](2, loss)
    n, C, eta = problem.size, 0.7, 0.3
    weight = np.random.default_rng(1).uniform(0, 2, size=n) if weighted else np.ones(n)
    random = np.random.default_rng(17)
    w, t = np.zeros(problem.dim), 0
    reached = []
    for _ in range(4):
        for i in random.permutation(n):
            t += 1
            rate = eta / (1 + (t - 1) / n)
            slope = w / (n * C) + weight[i] * gradient(problem, int(i), w, loss)
            w = w - rate * slope
        reached.append(w)
    for rounds in range(1, 5):
        learner = SGD(rate=eta)
        objective = Objective(problem, loss, C=C, random_state=17, n_jobs=1, sample_weight=weight if weighted else None)
        state = learner.begin(objective)
        for _ in range(rounds):
            step = learner.one_pass(state)
        assert_allclose(step.w, reached[rounds - 1], atol=1e-12 * max(1.0, float(np.abs(w).max())))


def test_sgd_survives_a_rate_that_shrinks_the_weights_to_nothing() -> None:
    """eta lambda >= 1: the first factor is zero, and nothing may be divided by it."""
    problem, _ = matching()
    solution = solve(SGD(rate=50.0), problem, Log(), C=0.01, max_iter=40)
    assert np.isfinite(solution.w).all()


@pytest.mark.parametrize("kind", KINDS)
def test_sgd_comes_near_the_optimum_of_the_log_loss(kind: str) -> None:
    """At rate = C the formula is 1 / (lambda (n + t - 1)), the rate at which SGD on a strongly convex P converges."""
    problem, examples = KINDS[kind](0, Log())
    best = optimum(examples, Log(), 1.0)
    solution = solve(SGD(rate=1.0), problem, Log(), max_iter=100, tol=0.0)
    assert_certified(solution)
    found = min(record.primal for record in solution.history)
    assert best * (1 - 1e-9) <= found <= best * 1.001


@pytest.mark.parametrize("kind", KINDS)
def test_sgd_comes_near_the_optimum_of_the_hinge_loss(kind: str) -> None:
    """The hinge loss is at most L(beta, 1), and less by at most log(outputs) / beta."""
    sharp = LossFamily(beta=300.0, gamma=1.0)
    problem, examples = KINDS[kind](0, Hinge())
    above = optimum(KINDS[kind](0, sharp)[1], sharp, 1.0)
    below = above - sum(np.log(len(x.cost)) for x in examples) / sharp.beta
    solution = solve(SGD(rate=1.0), problem, Hinge(), max_iter=200)
    found = min(record.primal for record in solution.history)
    assert all(record.dual is None and record.gap is None for record in solution.history)
    assert below <= found <= above * 1.01
    if kind == "matching":  # its weights are ours
        assert primal(solution.w, examples, Hinge(), 1.0)[0] == pytest.approx(found, rel=1e-12)


def test_sgd_chooses_the_rate_of_the_lowest_p() -> None:
    problem, _ = chain(0, Log())
    for C in (0.01, 1.0, 100.0):
        tried = {rate: solve(SGD(rate=rate), problem, Log(), C=C, max_iter=1, tol=0.0) for rate in SGD().rates}
        best = min(tried, key=lambda rate: tried[rate].history[0].primal)  # type: ignore[return-value]
        chosen = solve(SGD(), problem, Log(), C=C, max_iter=3, tol=0.0)
        assert_array_equal(chosen.w, solve(SGD(rate=best), problem, Log(), C=C, max_iter=3, tol=0.0).w)


def test_sgd_chooses_the_rate_of_the_best_dev_score() -> None:
    problem, _ = chain(0, Log())
    scores: list[Callable[[Weights], float]] = [lambda w: -float(w @ w), lambda w: float(w @ w)]
    for score, best in zip(scores, (0.001, 1.0), strict=True):
        chosen = solve(SGD(), problem, Log(), max_iter=3, tol=0.0, dev_score=score)
        assert_array_equal(chosen.w, solve(SGD(rate=best), problem, Log(), max_iter=3, tol=0.0).w)


def test_dev_data_choose_the_rate_of_an_estimator() -> None:
    X, Y = chain_data(0, n=8)
    rates = (1e-5, 0.5)
    reference = [SequenceTagger(learner=SGD(rate=rate), max_iter=1).fit(X, Y) for rate in rates]
    dev_X, best = next(
        (x, int(np.argmax(scores)))
        for seed in range(50)
        for x in [chain_data(seed)]
        if len(set(scores := [model.score(*x) for model in reference])) == 2
    )
    chosen = SequenceTagger(learner=SGD(rates=rates), max_iter=1).fit(X, Y, dev=dev_X)
    assert_array_equal(chosen.coef_, reference[best].coef_)


# ---- the perceptron --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chain", "matching", "multiclass", "tree"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_perceptron_is_the_average_of_naive_steps(kind: str, weighted: bool) -> None:
    problem, _ = KINDS[kind](3, Perceptron())
    n = problem.size
    weight = np.random.default_rng(1).uniform(0.5, 2, size=n) if weighted else np.ones(n)
    random = np.random.default_rng(23)
    w, visited = np.zeros(problem.dim), []
    for rounds in range(1, 5):
        for i in random.permutation(n):
            w = w - weight[i] * gradient(problem, int(i), w, Perceptron())
            visited.append(w)
        learner = AveragedPerceptron()
        objective = Objective(
            problem, Perceptron(), random_state=23, n_jobs=1, sample_weight=weight if weighted else None
        )
        state = learner.begin(objective)
        for _ in range(rounds):
            step = learner.one_pass(state)
        average = np.mean(visited, axis=0)
        assert_allclose(step.w, average, atol=1e-12 * max(1.0, float(np.abs(average).max())))


def test_the_perceptron_stops_when_a_pass_makes_no_mistake() -> None:
    X = [[[f"w{k}"] for k in order] for order in ([0, 1, 2], [2, 0], [1, 1, 0])]
    Y = [[int(token[0][1:]) for token in x] for x in X]
    tagger = SequenceTagger("perceptron", learner="perceptron").fit(X, Y)
    assert tagger.converged_
    assert tagger.stop_reason_ == "no mistakes in a whole pass"
    assert 1 < tagger.n_iter_ < 20
    assert tagger.predict(X) == Y


def test_the_perceptron_goes_on_while_there_are_mistakes() -> None:
    """The same token with two labels can never be got right."""
    tagger = SequenceTagger("perceptron", learner="perceptron", max_iter=7).fit([[["a"]], [["a"]]], [[0], [1]])
    assert (tagger.n_iter_, tagger.converged_, tagger.stop_reason_) == (7, False, "max_iter")


def test_c_plays_no_part_in_the_perceptron() -> None:
    X, Y = chain_data(0)
    low, high = (SequenceTagger("perceptron", learner="perceptron", C=C).fit(X, Y).coef_ for C in (1e-3, 1e3))
    assert_array_equal(low, high)


# ---- the same bits ---------------------------------------------------------------------------------------------------


COMBINATIONS = [("log", "lbfgs"), ("log", "sgd"), ("hinge", "sgd"), ("perceptron", "perceptron"), ("log", "perceptron")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "learner"), COMBINATIONS)
def test_the_number_of_threads_changes_no_bit(loss: str, learner: str) -> None:
    X, Y = chain_data(0, n=70)
    fitted = [SequenceTagger(loss, learner=learner, n_jobs=k, max_iter=6).fit(X, Y) for k in (1, 2, 4)]
    for model in fitted[1:]:
        assert_array_equal(model.coef_, fitted[0].coef_)
        assert [r.primal for r in model.history_] == [r.primal for r in fitted[0].history_]
        for mine, first in zip(model.predict_marginals(X), fitted[0].predict_marginals(X), strict=True):
            assert_array_equal(mine, first)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_bit_of_any_structure(kind: str) -> None:
    loss = LossFamily(1.0, 1.0)
    problem, _ = KINDS[kind](0, loss)
    one, two, four = (solve(LBFGS(), problem, loss, n_jobs=k, tol=1e-8).w for k in (1, 2, 4))
    assert_array_equal(one, two)
    assert_array_equal(one, four)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("loss", "learner"), COMBINATIONS)
def test_the_same_seed_gives_the_same_bits(loss: str, learner: str) -> None:
    X, Y = chain_data(0, n=20)
    first, again, other = (
        SequenceTagger(loss, learner=learner, random_state=seed, max_iter=3).fit(X, Y).coef_ for seed in (7, 7, 8)
    )
    assert_array_equal(first, again)
    assert (first != other).any() == (learner != "lbfgs")


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Hinge(), Perceptron()], ids=lambda loss: loss.name)
def test_lbfgs_refuses_a_loss_without_a_gradient(loss: LossFamily) -> None:
    problem = Watched(matching()[0])
    with pytest.raises(MargraveError) as error:
        solve(LBFGS(), problem, loss)
    message = str(error.value)
    assert "'lbfgs'" in message
    assert loss.name in message
    assert "use learner='bcfw'" in message
    assert "loss='softmax-margin'" in message
    assert problem.calls == 0


def test_sgd_refuses_the_perceptron_loss_and_names_the_perceptron() -> None:
    problem = Watched(matching()[0])
    with pytest.raises(MargraveError, match=r"perceptron loss.*'sgd'.*use learner='perceptron', or loss='hinge'"):
        solve(SGD(), problem, Perceptron())
    assert problem.calls == 0


@pytest.mark.filterwarnings("ignore:all weights are zero at C")
@pytest.mark.parametrize("name", BUILT_IN_LEARNERS)
def test_advice_in_a_refusal_is_advice_that_works(name: str) -> None:
    """Whatever a learner refuses, the learner and the losses that the sentence names are accepted."""
    X, Y = chain_data(0)
    tied = "untied" not in LEARNERS[name].needs
    for loss in ("log", "hinge", "softmax-margin", "perceptron"):
        try:
            SequenceTagger(loss, learner=name, tied=tied).fit(X, Y)
        except MargraveError as error:
            message = str(error)
            other = next(k for k in BUILT_IN_LEARNERS if f"learner='{k}'" in message)
            SequenceTagger(loss if loss != "perceptron" or other == "perceptron" else "hinge", learner=other).fit(X, Y)
            for better in ("hinge", "softmax-margin"):
                if f"loss='{better}'" in message:
                    SequenceTagger(better, learner=name, tied=tied).fit(X, Y)


class OnlyArgmax(Matching):
    logsum = Problem.logsum


def test_a_structure_without_a_sum_is_refused_by_name_and_told_what_works() -> None:
    random = np.random.default_rng(0)
    problem = OnlyArgmax(random.normal(size=(3, 9, 4)), [(0, 1, 2), (1, 0, 2), (2, 1, 0)])
    with pytest.raises(MargraveError, match=r"'lbfgs' with loss log needs 'logsum'.*offers only argmax.*loss='hinge'"):
        solve(LBFGS(), problem, Log())
    assert solve(SGD(), problem, Hinge(), max_iter=2).history
    assert solve(AveragedPerceptron(), problem, Perceptron()).history


def test_the_zero_one_cost_of_a_hinge_needs_two_best() -> None:
    problem, _ = matching()
    with pytest.raises(MargraveError, match="needs 'kbest'"):
        solve(SGD(), problem, Hinge(cost="zero-one"))


def test_a_problem_without_gold_outputs_cannot_be_learned_from() -> None:
    feature_map = FeatureTable("all")
    bind(Multiclass(), np.eye(3), np.array([0, 1, 2], np.int32), feature_map=feature_map, classes=[0, 1, 2])
    problem = bind(Multiclass(), np.eye(3), feature_map=feature_map, classes=[0, 1, 2])
    for learner in (LBFGS(), SGD(), AveragedPerceptron()):
        with pytest.raises(MargraveError, match="without gold outputs, and learning needs them"):
            solve(learner, problem, Log())


def test_learners_go_by_name() -> None:
    for name, kind in LEARNERS.items():
        assert type(learner_named(name)) is kind
        assert kind.name == name
    configured = SGD(rate=0.25)
    assert learner_named(configured) is configured


# ---- ends that nobody planned ----------------------------------------------------------------------------------------


def interrupt_after(calls: int) -> Callable[[int], None]:
    def event(so_far: int) -> None:
        if so_far > calls:
            raise KeyboardInterrupt

    return event


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("learner", "loss"),
    [(LBFGS(), Log()), (SGD(rate=0.1), Log()), (SGD(), Hinge()), (AveragedPerceptron(), Perceptron())],
    ids=lambda value: value.name,
)
def test_an_interrupt_keeps_the_solution_so_far(learner: Learner, loss: LossFamily, threads: int) -> None:
    inner, _ = matching(0, loss)
    whole = solve(learner, inner, loss, max_iter=5, tol=0.0)
    calls = round(whole.history[2].passes * inner.size) + 2  # in the middle of the fourth iteration
    problem = Watched(inner, interrupt_after(calls))
    solution = solve(learner, problem, loss, max_iter=50, tol=0.0, n_jobs=threads)
    assert solution.reason == "interrupted"
    assert not solution.converged
    assert [r.primal for r in solution.history] == [r.primal for r in whole.history[:3]]
    assert_array_equal(solution.w, solve(learner, inner, loss, max_iter=3, tol=0.0).w)


def test_an_interrupt_before_there_is_a_model_is_passed_on() -> None:
    for learner, loss in ((LBFGS(), Log()), (SGD(), Log()), (AveragedPerceptron(), Perceptron())):
        with pytest.raises(KeyboardInterrupt):
            solve(learner, Watched(matching()[0], interrupt_after(3)), loss)


def test_ctrl_c_reaches_the_native_loops() -> None:
    """A signal while native code runs ends the search between two passes at the latest, with what it has."""
    problem, _ = chain(0, Log())

    def on_alarm(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, on_alarm)
    gc.disable()  # a callback of the collector (hypothesis has one) would swallow the only interrupt there is
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        solution = solve(SGD(rate=0.1), problem, Log(), max_iter=10**9, tol=0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)
    assert solution.reason == "interrupted"
    assert len(solution.history) > 1


class Broken(Matching):
    """Its sum is not a number after a while."""

    good_calls = 6

    def logsum(self, i: int, theta: Weights) -> tuple[float, Weights]:
        self.good_calls -= 1
        value, mu = super().logsum(i, theta)
        return (value if self.good_calls > 0 else float("nan")), mu


@pytest.mark.parametrize("learner", [LBFGS(), SGD(rate=0.1), AveragedPerceptron()], ids=lambda learner: learner.name)
def test_an_objective_that_is_no_number_is_an_error(learner: Learner) -> None:
    random = np.random.default_rng(0)
    problem = Broken(random.normal(size=(4, 9, 3)), [(1, 2, 0), (0, 1, 2), (2, 1, 0), (1, 0, 2)])
    with pytest.raises(MargraveError, match=r"^the objective is nan after [0-9]+ passes: .*\.$"):
        solve(learner, problem, Log(), tol=0.0)


def test_weights_that_overflow_are_an_error() -> None:
    with pytest.raises(
        MargraveError, match=r"^example 0: the square of its .* overflows: scale the features, or lower C"
    ):
        LinearClassifier(learner=SGD(rate=1.0)).fit(np.eye(3) * 1e200, [0, 1, 2])
    with pytest.raises(MargraveError, match=r"^the objective is (nan|inf) after .*: scale the features, or lower C\.$"):
        LinearClassifier(learner=SGD(rate=1e300)).fit(np.eye(3) * 1e10, [0, 1, 2])


def test_an_exception_in_a_structure_of_the_user_comes_out_unchanged() -> None:
    class MineError(Exception):
        pass

    def event(calls: int) -> None:
        if calls == 9:
            raise MineError("here")

    for threads in (1, 3):
        with pytest.raises(MineError, match="here"):
            solve(LBFGS(), Watched(matching()[0], event), Log(), n_jobs=threads)


def test_a_structure_of_the_user_that_answers_wrongly_is_told_so() -> None:
    class TooShort(Matching):
        def score(self, i: int, w: Weights) -> Weights:
            return super().score(i, w)[:-1]

    class OutOfRange(Matching):
        def gold(self, i: int) -> list[int]:
            return [0, 4, 9]

    class NoRow(Matching):
        row = Problem.row

    maps = np.random.default_rng(0).normal(size=(2, 9, 3))
    for kind, message in (
        (TooShort, r"score\(i, w\) must have length 9, not 8\."),
        (OutOfRange, r"part 9 is out of range: there are 9\."),
        (NoRow, "offers no row"),
    ):
        with pytest.raises(MargraveError, match=message):
            solve(LBFGS(), kind(maps, [(0, 1, 2)] * 2), Log())


def test_a_learner_of_the_user_needs_only_begin_and_one_pass() -> None:
    @dataclass
    class Descent(Learner):
        name = "descent with begin"
        needs = ("finite beta",)

        def begin(self, objective: Objective) -> dict[str, Any]:
            return {"objective": objective, "w": np.zeros(objective.problem.dim)}

        def one_pass(self, state: dict[str, Any]) -> Step:
            _, slope = state["objective"].value_and_gradient(state["w"])
            state["w"] = state["w"] - 0.05 * slope
            return Step(state["w"], *state["objective"].certify(state["w"]))

    problem, examples = matching()
    solution = solve(Descent(), problem, Log(), tol=1e-9, max_iter=2000)
    assert solution.converged
    assert solution.history[-1].primal == pytest.approx(optimum(examples, Log(), 1.0), rel=1e-8)
    assert solution.history[-1].passes == 2 * len(solution.history)


@pytest.mark.parametrize("dual", [1.1, nan])
def test_a_dual_above_the_primal_is_an_error_and_not_convergence(dual: float) -> None:
    @dataclass
    class Wrong(Learner):
        name = f"wrong {dual}"

        def begin(self, objective: Objective) -> Objective:
            return objective

        def one_pass(self, state: Objective) -> Step:
            return Step(np.zeros(state.problem.dim), 1.0, dual, 1.0 - dual)

    with pytest.raises(MargraveError, match=rf"P is 1 and D {dual:g} .* never gives a D above P"):
        solve(Wrong(), matching()[0], Log())


def test_a_learner_without_passes_says_so() -> None:
    @dataclass
    class Nothing(Learner):
        name = "nothing"

    with pytest.raises(MargraveError, match="Nothing does not say how it begins"):
        solve(Nothing(), matching()[0], Log())
