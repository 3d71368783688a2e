"""Kernels between inputs: the contract of a feature map in its own inner product, and agreement with explicit ones."""

import pickle
from itertools import combinations_with_replacement
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone

from margrave import (
    HierarchicalMultiLabelClassifier,
    Kernel,
    LinearClassifier,
    MargraveError,
    SequenceTagger,
    TaxonomyClassifier,
    _core,
    load,
)
from margrave.files import model as model_file
from margrave.learners import BCFW, SMO, Objective, Record, Solution, learner_named
from margrave.losses import Hinge, Log, LossFamily, SoftmaxMargin
from margrave.maps import FeatureTable
from margrave.structures import Chain, Multiclass
from margrave.testing.problems import assert_adjoint
from tests.references.problems import bind

Array = NDArray[Any]
LABELS = 3
CLASSES = list(range(LABELS))
few = settings(max_examples=8, deadline=None)
seeds = st.integers(0, 2**32 - 1)

STRUCTURES = {
    "classes": (Multiclass(), {}),
    "chain": (Chain(), {"start": True, "stop": True, "scale": 0.5}),
    "untied chain": (Chain(tied=False), {"start": True}),
    "second order": (Chain(order=2, tied=False), {}),
}
FUNCTIONS = {"linear": Kernel(), "polynomial": Kernel("polynomial", gamma=0.5), "rbf": Kernel("rbf", gamma=0.3)}
of_structures = pytest.mark.parametrize("structure", STRUCTURES)
of_functions = pytest.mark.parametrize("function", FUNCTIONS)


def sequences(rng: np.random.Generator, structure: str, examples: int = 6, repeats: float = 0.3) -> list[Array]:
    """Vectors of tokens, of which some occur again and again."""
    lengths = [1] * examples if structure == "classes" else rng.integers(1, 5, examples).tolist()
    repeated = rng.standard_normal((3, 4)) * (rng.random((3, 4)) < 0.7)
    return [
        np.where(rng.random((n, 1)) < repeats, repeated[rng.integers(0, 3, n)], rng.standard_normal((n, 4)))
        for n in lengths
    ]


def labels_of(rng: np.random.Generator, X: list[Array]) -> NDArray[np.int32]:
    return rng.integers(0, LABELS, sum(map(len, X))).astype(np.int32)


def bound(
    structure: str, X: list[Array], y: Any, feature_map: FeatureTable, loss: LossFamily | None = None
) -> _core.Problem:
    if structure == "classes":
        return bind(Multiclass(), np.concatenate(X), y, feature_map=feature_map, classes=CLASSES, loss=loss)
    chain, of_features = STRUCTURES[structure]
    return bind(chain, X, y, feature_map=feature_map, classes=CLASSES, loss=loss, **of_features)


def by_definition(kernel: Kernel, X: Array, Z: Array) -> Array:
    inner = X @ Z.T
    if kernel.name == "linear":
        return inner
    if kernel.name == "polynomial":
        return (kernel.learned_gamma * inner + kernel.coef0) ** kernel.degree
    squares = (X**2).sum(1)[:, None] + (Z**2).sum(1)[None] - 2 * inner
    return np.exp(-kernel.learned_gamma * squares)


def distinct(X: list[Array]) -> Array:
    rows = np.concatenate(X)
    return np.array(list({row.tobytes(): row for row in rows}.values()))


# ---- the contract ---------------------------------------------------------------------------------------------------


@of_structures
@of_functions
@given(seed=seeds)
@few
def test_scores_and_inner_products_are_the_kernels_by_definition(structure: str, function: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = sequences(rng, structure)
    kernel = FUNCTIONS[function].fresh()
    problem = bound(structure, X, labels_of(rng, X), kernel)
    support = distinct(X)
    assert kernel.n_support == len(support)
    u, v = rng.standard_normal((2, problem.dim))
    n = len(support) * LABELS
    a, b = u[:n].reshape(-1, LABELS), v[:n].reshape(-1, LABELS)
    gram = by_definition(kernel, support, support)
    assert_allclose(problem.dot(u, v), (a * (gram @ b)).sum() + u[n:] @ v[n:], rtol=1e-9, atol=1e-9)
    others = np.concatenate([np.zeros(n), u[n:]])  # the weights that are no coefficients
    for i, x in enumerate(X):
        scores = problem.score(i, u) - problem.score(i, others)
        assert_allclose(scores[: len(x) * LABELS], (by_definition(kernel, x, support) @ a).ravel(), atol=1e-9)
        assert not scores[len(x) * LABELS :].any()


@of_structures
@of_functions
@given(seed=seeds)
@few
def test_scatter_is_the_adjoint_of_score_and_move_tells_the_change(structure: str, function: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = sequences(rng, structure)
    problem = bound(structure, X, labels_of(rng, X), FUNCTIONS[function].fresh())
    assert not problem.euclidean
    w = rng.standard_normal(problem.dim)
    for i in range(problem.size):
        mu = rng.standard_normal(problem.parts(i)) * (rng.random(problem.parts(i)) < 0.5)
        assert_adjoint(problem, i, mu, w)


@of_structures
@of_functions
@given(seed=seeds)
@few
def test_radius_bounds_the_distance_of_any_two_outputs(structure: str, function: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = sequences(rng, structure, 3)
    problem = bound(structure, X, labels_of(rng, X), FUNCTIONS[function].fresh())
    for i, x in enumerate(X):
        gram = np.empty((problem.parts(i), problem.parts(i)))
        for k, one in enumerate(np.eye(problem.parts(i))):
            g = np.zeros(problem.dim)
            problem.scatter(i, one, 1.0, g)
            gram[k] = problem.score(i, g)
        assert_allclose(gram, gram.T, atol=1e-9)
        ys = [parts for _, parts in problem.kbest(i, np.zeros(problem.parts(i)), LABELS ** len(x))]
        counts = np.array([np.bincount(y, minlength=problem.parts(i)) for y in ys])
        assert len(counts) == LABELS ** len(x)
        inner = counts @ gram @ counts.T
        squares = inner.diagonal()[:, None] + inner.diagonal()[None] - 2 * inner
        assert sqrt(max(squares.max(), 0)) <= problem.radius(i) + 1e-9


@pytest.mark.parametrize("structure", ["classes", "chain"])
def test_radius_of_a_linear_kernel_is_that_of_explicit_features(structure: str) -> None:
    rng = np.random.default_rng(2)
    X = [np.abs(x) for x in sequences(rng, structure)]
    y = labels_of(rng, X)
    problems = [bound(structure, X, y, feature_map) for feature_map in (Kernel(), FeatureTable("all"))]
    for i in range(len(X)):
        assert_allclose(problems[0].radius(i), problems[1].radius(i), rtol=1e-12)


def test_equal_inputs_share_a_support_input_whatever_their_form() -> None:
    X: list[Any] = [[["a", "b"], ["b", "a"]], [{"a": 1, "b": 1.0}, {"a": 1.0, "b": 1.0, "c": 0.0}, ["a"], ["a", "a"]]]
    kernel = Kernel()
    bind(Chain(), X, np.zeros(6, dtype=np.int32), feature_map=kernel, classes=CLASSES)
    assert kernel.n_support == 3


def test_named_attributes_count_those_that_tokens_share() -> None:
    X = [["a", "b", "c"], ["b", "c", "d"], ["e"]]
    problem = bind(Multiclass(), X, np.zeros(3, dtype=np.int32), feature_map=(kernel := Kernel()), classes=CLASSES)
    assert problem.dim == 9
    w = np.zeros(9)
    w[::LABELS] = 1, 10, 100  # the coefficients of label 0
    assert [problem.score(i, w)[0] for i in range(3)] == [3 + 20, 2 + 30, 100]
    new = bind(Multiclass(), [["c", "unknown"]], feature_map=kernel, classes=CLASSES)
    assert new.score(0, w).tolist() == [11, 0, 0]


@of_functions
def test_sparse_and_dense_inputs_have_the_same_kernel(function: str) -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((12, 4)), rng.standard_normal((3, 4))
    X[0] = 0
    y = rng.integers(0, LABELS, 12).astype(np.int32)
    dense, sparse = FUNCTIONS[function].fresh(), FUNCTIONS[function].fresh()
    bind(Multiclass(), X, y, feature_map=dense, classes=CLASSES)
    w = rng.standard_normal(12 * LABELS)

    def spread(X: Any) -> Any:
        wide = np.zeros((len(X), 160))
        wide[:, 10::40] = X
        return csr_array(wide)

    bind(Multiclass(), spread(X), y, feature_map=sparse, classes=CLASSES)
    for rows in (X, new):
        expected = by_definition(dense, rows, X) @ w.reshape(-1, LABELS)
        for problem in (
            bind(Multiclass(), rows, feature_map=dense, classes=CLASSES),
            bind(Multiclass(), spread(rows), feature_map=sparse, classes=CLASSES),
        ):
            assert_allclose([problem.score(i, w) for i in range(len(rows))], expected, atol=1e-12)


# ---- agreement with explicit features -------------------------------------------------------------------------------


def solved(problem: _core.Problem, learner: str, loss: LossFamily, **settings: Any) -> Solution:
    return learner_named(learner).solve(Objective(problem, loss, **({"C": 0.1, "tol": 1e-9, "n_jobs": 1} | settings)))


def assert_same_course(ours: Solution, explicit: Solution) -> None:
    """P and D after every pass, to 1e-8."""
    assert len(ours.history) == len(explicit.history)
    assert_same_values(ours.history, explicit.history)


def assert_same_values(ours: list[Record], explicit: list[Record]) -> None:
    for a, b in zip(ours, explicit, strict=True):
        for found, expected in ((a.primal, b.primal), (a.dual, b.dual)):
            assert (found is None) == (expected is None)
            if found is not None and expected is not None:
                assert abs(found - expected) <= 1e-8 * max(1.0, abs(expected))


LEARNERS = [
    ("eg", Log()),
    ("eg", Hinge()),
    ("eg-batch", SoftmaxMargin()),
    ("bcfw", Log()),
    ("bcfw", Hinge()),
    ("mira", Hinge()),
    ("mira", Log()),
    ("smo", Hinge()),
    ("smo-eg", Hinge()),
    ("perceptron", Hinge()),
    ("cutting-plane", Hinge()),
    ("one-slack", Hinge()),
    ("auto", Hinge()),
]


@pytest.mark.parametrize("structure", ["classes", "untied chain", "chain"])
@pytest.mark.parametrize(("learner", "loss"), LEARNERS, ids=[f"{name} {loss.name}" for name, loss in LEARNERS])
def test_a_linear_kernel_gives_what_explicit_features_give(structure: str, learner: str, loss: LossFamily) -> None:
    rng = np.random.default_rng(7)
    X = sequences(rng, structure, 12, 0.0)  # outputs that differ in the place of equal tokens would tie
    y = labels_of(rng, X)
    problems = [bound(structure, X, y, feature_map, loss) for feature_map in (Kernel(), FeatureTable("all"))]
    if structure == "chain" and "untied" in learner_named(learner).needs:
        return
    solve_and_compare(problems, learner, loss)


def solve_and_compare(problems: list[_core.Problem], learner: str, loss: LossFamily) -> list[Solution]:
    """Steps between two outputs make them tie, and rounding tells which is next: there only the optimum is the same."""
    wandering = isinstance(learner_named(learner).resolve(loss, problems[0]), BCFW | SMO) and not loss.smooth
    ours, explicit = (solved(problem, learner, loss, **{"max_iter": 3000 if wandering else 25}) for problem in problems)
    if wandering:
        assert ours.converged and explicit.converged
        assert_same_values([ours.certificate], [explicit.certificate])
        for i in range(
            problems[0].size
        ):  # where outputs tie at the optimum, no prediction is better; |w - w*|^2 <= 2 gap
            best, other = (p.argmax(i, p.score(i, s.w))[0] for p, s in zip(problems, (ours, explicit), strict=True))
            assert abs(best - other) <= 1e-3
    else:
        assert_same_course(ours, explicit)
        assert_same_predictions(problems, ours, explicit, exact=loss.smooth)
    return [ours, explicit]


def assert_same_predictions(problems: list[_core.Problem], ours: Solution, explicit: Solution, exact: bool) -> None:
    """If not exact, outputs may tie up to rounding, as they do at the optimum of a loss that is not smooth."""
    for i in range(problems[0].size):
        (_, y), (_, other) = (p.argmax(i, p.score(i, s.w)) for p, s in zip(problems, (ours, explicit), strict=True))
        if exact:
            assert_array_equal(y, other)
        theta = problems[1].score(i, explicit.w)
        assert theta[y].sum() == pytest.approx(theta[other].sum(), abs=1e-9)


def quadratic(x: Array, gamma: float, coef0: float) -> Array:
    """The features whose inner product is (gamma <x, z> + coef0)^2."""
    pairs = [gamma * (1 if j == k else sqrt(2)) * x[:, j] * x[:, k]
             for j, k in combinations_with_replacement(range(x.shape[1]), 2)]  # fmt: skip
    single = [sqrt(2 * gamma * coef0) * x[:, j] for j in range(x.shape[1])]
    return np.stack([*pairs, *single, np.full(len(x), coef0)], axis=1)


@pytest.mark.parametrize("structure", ["classes", "untied chain"])
@pytest.mark.parametrize(("learner", "loss"), [("eg", Log()), ("bcfw", Hinge()), ("cutting-plane", Hinge())])
def test_a_polynomial_kernel_gives_what_products_of_attributes_give(
    structure: str, learner: str, loss: LossFamily
) -> None:
    rng = np.random.default_rng(3)
    X = sequences(rng, structure, 10)
    y = labels_of(rng, X)
    kernel = Kernel("polynomial", gamma=0.6, coef0=0.8)
    problem = bound(structure, X, y, kernel, loss)
    explicit = bound(structure, [quadratic(x, 0.6, 0.8) for x in X], y, FeatureTable("all"), loss)
    ours, theirs = solve_and_compare([problem, explicit], learner, loss)
    new = sequences(rng, structure, 5)
    scores = bound(structure, new, None, kernel)
    expanded = FeatureTable("all")
    bound(structure, [quadratic(x, 0.6, 0.8) for x in X], y, expanded)
    wanted = bound(structure, [quadratic(x, 0.6, 0.8) for x in new], None, expanded)
    for i in range(5):  # |w - w*|^2 is at most twice the gap
        assert_allclose(scores.score(i, ours.w), wanted.score(i, theirs.w), atol=1e-3)


def test_every_learner_with_a_dual_reaches_the_same_optimum_with_an_rbf_kernel() -> None:
    rng = np.random.default_rng(5)
    X = sequences(rng, "untied chain", 12)
    y = labels_of(rng, X)
    problem = bound("untied chain", X, y, Kernel("rbf"), Hinge())
    optima = [
        solved(problem, learner, Hinge(), C=1.0, tol=1e-6, max_iter=4000).certificate
        for learner in ("bcfw", "smo", "cutting-plane", "one-slack")
    ]
    for kept in optima:
        assert kept.relative_gap <= 1e-6
        assert_allclose(kept.primal, optima[0].primal, rtol=2e-6)


# ---- memory and threads ---------------------------------------------------------------------------------------------


@of_functions
def test_single_precision_is_close(function: str) -> None:
    rng = np.random.default_rng(1)
    X = sequences(rng, "chain", 10)
    y = labels_of(rng, X)
    kernel = FUNCTIONS[function]
    half = Kernel(kernel.name, gamma=kernel.gamma, single=True)
    exact, close = (bound("chain", X, y, feature_map, Log()) for feature_map in (kernel.fresh(), half))
    w = rng.standard_normal(exact.dim)
    scores = [np.concatenate([problem.score(i, w) for i in range(10)]) for problem in (exact, close)]
    assert_allclose(scores[1], scores[0], atol=1e-5)
    assert (scores[0] != scores[1]).any()
    optima = [solved(problem, "eg", Log(), tol=1e-6).certificate.primal for problem in (exact, close)]
    assert_allclose(optima[1], optima[0], rtol=1e-5)


@pytest.mark.parametrize("memory", [1e-6, 1e-3, 1000.0])  # megabytes: of one row, of a few, of all
def test_memory_and_threads_change_no_bit_of_a_pass(memory: float) -> None:
    rng = np.random.default_rng(4)
    X = sequences(rng, "chain", 60)
    y = labels_of(rng, X)
    whole = bound("chain", X, y, Kernel("rbf", gamma=0.2), Log())
    w = rng.standard_normal(whole.dim)
    family = _core.LossFamily(1.0, 0.0)
    losses, gradient = _core.losses_and_gradient(whole, w, family, 1, True)
    assert whole.dot(w, w) > 0
    for threads in (1, 2, 8, 32):
        fresh = bound("chain", X, y, Kernel("rbf", gamma=0.2, memory=memory), Log())
        for _ in range(2):
            again = _core.losses_and_gradient(fresh, w, family, threads, True)
            assert_array_equal(again[0], losses)
            assert_array_equal(again[1], gradient)
        assert fresh.dot(w, w) == whole.dot(w, w)


@pytest.mark.parametrize(("learner", "loss"), [("eg", Log()), ("bcfw", Hinge())])
def test_many_threads_that_step_at_once_reach_the_optimum(learner: str, loss: LossFamily) -> None:
    rng = np.random.default_rng(8)
    X = sequences(rng, "chain", 200)
    y = labels_of(rng, X)
    problem = bound("chain", X, y, Kernel("rbf", gamma=0.2, memory=0.01), loss)
    assert solved(problem, learner, loss, C=0.1, tol=1e-3, n_jobs=4, max_iter=3000).certificate.relative_gap <= 1e-3


# ---- landmarks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ["classes", "chain"])
@of_functions
def test_as_many_landmarks_as_inputs_are_exact(structure: str, function: str) -> None:
    rng = np.random.default_rng(6)
    X = sequences(rng, structure, 10)
    y = labels_of(rng, X)
    kernel = FUNCTIONS[function]
    landmarks = Kernel(kernel.name, gamma=kernel.gamma, nystroem=1000)
    exact = solved(bound(structure, X, y, kernel.fresh(), Log()), "eg", Log(), tol=1e-8)
    explicit = bound(structure, X, y, landmarks, Log())
    assert explicit.euclidean
    for learner in ("lbfgs", "eg"):
        assert_allclose(
            solved(explicit, learner, Log(), tol=1e-8).certificate.primal, exact.certificate.primal, rtol=1e-7
        )


def test_landmarks_approach_the_kernel_from_below() -> None:
    rng = np.random.default_rng(9)
    X = rng.standard_normal((40, 3))
    y = rng.integers(0, LABELS, 40).astype(np.int32)
    exact = solved(bind(Multiclass(), X, y, feature_map=Kernel("rbf"), classes=CLASSES), "eg", Log()).certificate.primal
    found = []
    for m in (5, 20, 39):
        kernel = Kernel("rbf", nystroem=m)
        problem = bind(Multiclass(), X, y, feature_map=kernel, classes=CLASSES)
        assert kernel.n_support == m
        assert problem.dim <= m * LABELS
        found.append(solved(problem, "lbfgs", Log()).certificate.primal)
    assert exact is not None
    assert abs(found[2] - exact) < abs(found[1] - exact) < abs(found[0] - exact) < 0.5 * exact
    same, other = Kernel("rbf", nystroem=5), Kernel("rbf", nystroem=5, random_state=1)
    for each in (same, other):
        bind(Multiclass(), X, y, feature_map=each, classes=CLASSES)
    first = Kernel("rbf", nystroem=5)
    bind(Multiclass(), X, y, feature_map=first, classes=CLASSES)
    assert same.support is not None and other.support is not None and first.support is not None
    assert_array_equal(same.support.arrays()[2], first.support.arrays()[2])
    assert same.support.arrays()[2].tolist() != other.support.arrays()[2].tolist()


# ---- estimators -----------------------------------------------------------------------------------------------------


def rings(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Points within a circle and outside it: no line parts them."""
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where((X**2).sum(1) < 0.5, "in", "out")


@pytest.mark.parametrize("loss", ["log", "hinge", "perceptron"])
def test_a_classifier_learns_with_a_kernel_what_no_line_parts(loss: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rings(rng, 150)
    linear = LinearClassifier(loss, C=10.0, kernel=Kernel(), tol=1e-2).fit(X, y)
    curved = LinearClassifier(loss, C=10.0, kernel=Kernel("polynomial"), tol=1e-2).fit(X, y)
    new = rings(rng, 100)
    assert linear.score(*new) < 0.8 < 0.93 < curved.score(*new)
    assert curved.coef_.shape == (2, curved.n_support_)
    assert curved.coef_.any(axis=0).all()


def test_a_model_keeps_the_inputs_that_have_coefficients() -> None:
    X, y = rings(np.random.default_rng(1), 80)
    classifier = LinearClassifier("hinge", C=10.0, learner="bcfw", kernel=Kernel("rbf", gamma=2.0)).fit(X, y)
    assert 2 < classifier.n_support_ < 60
    problem = bind(Multiclass(), X, (y == "out").astype(np.int32), feature_map=Kernel("rbf", gamma=2.0),
                                classes=["in", "out"], loss=Hinge())  # fmt: skip
    whole = BCFW().solve(Objective(problem, Hinge(), C=10.0)).w
    scores = np.array([problem.score(i, whole) for i in range(len(X))])
    assert_allclose(classifier.decision_function(X), scores[:, 1] - scores[:, 0], atol=1e-9)


def tagged(rng: np.random.Generator, n: int) -> tuple[list[Any], list[list[str]]]:
    """A tag says whether the two attributes of a token agree, which neither tells alone."""
    X, y = [], []
    for _ in range(n):
        bits = rng.integers(0, 2, (rng.integers(1, 6), 2))
        X.append([[f"left {a}", f"right {b}"] for a, b in bits])
        y.append(["same" if a == b else "other" for a, b in bits])
    return X, y


def test_a_tagger_learns_with_a_kernel_what_attributes_tell_together() -> None:
    X, y = tagged(np.random.default_rng(2), 40)
    for kernel in (Kernel("polynomial"), Kernel("rbf", gamma=1.0), Kernel("rbf", gamma=1.0, nystroem=4)):
        tagger = SequenceTagger("hinge", C=1.0, kernel=kernel, tol=1e-3).fit(X, y)
        assert tagger.score(X, y) == 1.0
        assert tagger.n_support_ == 4
    assert SequenceTagger("hinge", kernel=Kernel()).fit(X, y).score(X, y) < 0.9


KEPT = {
    "linear": Kernel(),
    "polynomial": Kernel("polynomial", degree=3, gamma=0.5, coef0=2.0),
    "rbf": Kernel("rbf", memory=10.0),
    "single": Kernel("rbf", single=True),
    "landmarks": Kernel("rbf", nystroem=3, random_state=5),
}


@pytest.mark.parametrize("name", KEPT)
def test_files_pickles_and_clones_keep_a_kernel(name: str, tmp_path: Path) -> None:
    X, y = tagged(np.random.default_rng(3), 20)
    tagger = SequenceTagger("hinge", kernel=KEPT[name], start=True, max_iter=50, tol=1e-2).fit(X, y)
    points, sides = rings(np.random.default_rng(3), 40)
    classifier = LinearClassifier("hinge", kernel=KEPT[name], tol=1e-1).fit(points, sides)
    for model, data in ((tagger, X), (classifier, points)):
        model.save(tmp_path / "model")
        read = load(tmp_path / "model")
        assert repr(read.kernel) == repr(KEPT[name])
        assert not read.kernel.learned
        for other in (read, pickle.loads(pickle.dumps(model))):
            assert_array_equal(other.coef_, model.coef_)
            assert other.n_support_ == model.n_support_
            again = [list(row) for row in other.predict(data)]
            assert again == [list(row) for row in model.predict(data)]
        read.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
        assert not clone(model).kernel.learned
    assert_array_equal(load(tmp_path / "model").decision_function(points), classifier.decision_function(points))


def test_a_file_whose_support_does_not_fit_is_refused(tmp_path: Path) -> None:
    X, y = rings(np.random.default_rng(3), 30)
    LinearClassifier("hinge", kernel=Kernel("rbf"), tol=1e-1).fit(X, y).save(tmp_path / "model")
    header, arrays = model_file.read(tmp_path / "model")
    changes: list[dict[str, Array]] = [
        {"map_.support.begin": arrays["map_.support.begin"][:-1]},
        {"map_.support.index": -arrays["map_.support.index"] - 1},
        {"map_.support.value": np.full_like(arrays["map_.support.value"], np.nan)},
        {"map_.support.value": np.ones_like(arrays["map_.support.value"])},  # the same input again and again
        {"weights": arrays["weights"][:-2]},
    ]
    for change in changes:
        model_file.write(tmp_path / "damaged", header, arrays | change)
        with pytest.raises(MargraveError, match="not a model that Margrave wrote"):
            load(tmp_path / "damaged")


def test_models_of_a_path_keep_supports_of_their_own() -> None:
    X, y = rings(np.random.default_rng(4), 60)
    classifier = LinearClassifier("hinge", learner="bcfw", kernel=Kernel("rbf", gamma=1.0), tol=1e-5, max_iter=5000)
    path = classifier.fit_path(X, y, [0.1, 3.0])
    for model in path:
        alone = clone(classifier).set_params(C=model.C).fit(X, y)
        assert_allclose(model.decision_function(X), alone.decision_function(X), atol=0.02)
    assert path[0].n_support_ != path[1].n_support_


def test_a_checkpoint_goes_on_with_a_kernel(tmp_path: Path) -> None:
    X, y = tagged(np.random.default_rng(5), 20)
    settings: dict[str, Any] = {"kernel": Kernel("polynomial"), "tol": 0.0, "learner": "eg", "n_jobs": 1}
    with pytest.warns(UserWarning, match="stopped after"):
        straight = SequenceTagger("log", max_iter=6, **settings).fit(X, y)
        SequenceTagger("log", max_iter=3, **settings).fit(X, y, checkpoint=tmp_path / "run")
        resumed = SequenceTagger("log", max_iter=6, **settings).fit(X, y, checkpoint=tmp_path / "run")
    assert_array_equal(resumed.coef_, straight.coef_)


# ---- precomputed ----------------------------------------------------------------------------------------------------


def test_a_precomputed_kernel_gives_what_the_same_kernel_gives(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rings(rng, 60)
    X[7] = X[3]
    y[7] = y[3]
    new = rings(rng, 20)[0]
    kernel = Kernel("rbf", gamma=2.0)
    kernel.learned_gamma = 2.0
    computed = LinearClassifier("log", kernel=kernel, tol=1e-8).fit(X, y)
    given = LinearClassifier("log", kernel=Kernel("precomputed"), tol=1e-8).fit(by_definition(kernel, X, X), y)
    assert given.n_support_ == 59
    rows = by_definition(kernel, new, X)
    assert_allclose(given.decision_function(rows), computed.decision_function(new), atol=1e-6)
    sparse = LinearClassifier("hinge", learner="bcfw", kernel=Kernel("precomputed"), C=10.0)
    sparse.fit(by_definition(kernel, X, X), y)
    assert sparse.n_support_ < 50
    sparse.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(rows), sparse.decision_function(rows))
    with pytest.raises(ValueError, match="features"):
        sparse.predict(rows[:, :-1])


def test_cross_validation_cuts_a_precomputed_kernel_both_ways() -> None:
    from sklearn.model_selection import cross_val_score

    X, y = rings(np.random.default_rng(1), 90)
    kernel = Kernel("polynomial")
    classifier = LinearClassifier("hinge", C=10.0, kernel=Kernel("precomputed"), tol=1e-2)
    assert cross_val_score(classifier, by_definition(kernel, X, X), y, cv=3).mean() > 0.85


# ---- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "loss"), [("lbfgs", "log"), ("cg", "log"), ("sgd", "log"), ("kbest-mira", "hinge")]
)
def test_learners_of_euclidean_weights_refuse_a_kernel(learner: str, loss: str) -> None:
    X, y = tagged(np.random.default_rng(6), 5)
    with pytest.raises(MargraveError, match=f"'{learner}' needs weights with the Euclidean .*='bcfw'"):
        SequenceTagger(loss, learner=learner, kernel=Kernel()).fit(X, y)
    SequenceTagger(loss, learner=learner, kernel=Kernel(nystroem=3), tol=0.5, max_iter=30).fit(X, y)


def test_new_inputs_can_only_be_scored() -> None:
    kernel = Kernel()
    bind(Multiclass(), np.eye(3), np.arange(3, dtype=np.int32), feature_map=kernel, classes=CLASSES)
    again = bind(Multiclass(), np.eye(3)[1:], np.arange(2, dtype=np.int32), feature_map=kernel, classes=CLASSES)
    assert again.dot(np.ones(9), np.ones(9)) == 9  # these are support inputs
    new = bind(Multiclass(), np.ones((1, 3)), feature_map=kernel, classes=CLASSES)
    assert new.score(0, np.ones(9)).tolist() == [3, 3, 3]
    g = np.zeros(9)
    for refused in (
        lambda: new.scatter(0, np.ones(3), 1.0, g),
        lambda: new.move(0, np.ones(3), 1.0, g),
        lambda: new.row(0, np.ones(3)),
        lambda: new.dot(g, g),
        lambda: new.radius(0),
    ):
        with pytest.raises(MargraveError, match=r"not among the support inputs .* only score"):
            refused()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"function": "cubic"}, "kernel"),
        ({"function": "polynomial", "degree": 0}, "degree"),
        ({"function": "polynomial", "coef0": -1.0}, "coef0"),
        ({"function": "rbf", "gamma": 0.0}, "gamma"),
        ({"gamma": inf}, "gamma"),
        ({"single": 2}, "single"),
        ({"memory": 0}, "megabytes"),
        ({"nystroem": 0}, "landmarks"),
        ({"function": "precomputed", "nystroem": 3}, "precomputed"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        Kernel(**settings)


def test_wrong_precomputed_kernels_are_refused() -> None:
    classifier = LinearClassifier("hinge", kernel=Kernel("precomputed"))
    y = ["a", "b", "a"]
    with pytest.raises(MargraveError, match="square matrix of the 3 training inputs"):
        classifier.fit(np.ones((3, 2)), y)
    with pytest.raises(MargraveError, match="square"):
        classifier.fit([{"p": 1.0}, {"q": 1.0}, {"r": 1.0}], y)
    with pytest.raises(MargraveError, match="symmetric"):
        classifier.fit(np.arange(9.0).reshape(3, 3), y)
    with pytest.raises(MargraveError, match="diagonal"):
        classifier.fit(-np.eye(3), y)
    X, labels = tagged(np.random.default_rng(0), 3)
    with pytest.raises(MargraveError, match="precomputed kernel cannot be used with sequences"):
        SequenceTagger("hinge", kernel=Kernel("precomputed")).fit(X, labels)


def test_transition_attributes_keep_weights_of_their_own() -> None:
    rng = np.random.default_rng(1)
    X = sequences(rng, "chain", 12)
    y = labels_of(rng, X)
    edges = [[[f"edge {k}"] for k in rng.integers(0, 3, len(x))] for x in X]
    problems = [
        bind(Chain(), X, y, feature_map=feature_map, classes=CLASSES, loss=Log(), edges=edges)
        for feature_map in (Kernel(), FeatureTable("all"))
    ]
    ours, explicit = (solved(problem, "eg", Log(), tol=1e-6) for problem in problems)
    assert_same_course(ours, explicit)


def test_output_features_go_with_a_kernel(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 3))
    y = rng.choice(["a.a", "a.b", "b.a", "b.b"], 40)
    settings: dict[str, Any] = {"learner": "cutting-plane", "C": 0.1, "tol": 1e-9}
    ours, explicit = (TaxonomyClassifier("hinge", kernel=each, **settings).fit(X, y) for each in (Kernel(), None))
    assert_allclose(ours.certificate_.primal, explicit.certificate_.primal, rtol=1e-8)
    assert_allclose(ours.decision_function(X), explicit.decision_function(X), atol=1e-3)
    ours.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X), ours.decision_function(X))
    sets = [[label, label[0]] for label in y]
    settings = {"learner": "bcfw", "C": 0.1, "tol": 1e-6, "taxonomy": {"a.a": "a", "a.b": "a", "b.a": "b", "b.b": "b"}}
    ours, explicit = (
        HierarchicalMultiLabelClassifier("hinge", kernel=each, **settings).fit(X, sets) for each in (Kernel(), None)
    )
    assert_allclose(ours.certificate_.primal, explicit.certificate_.primal, rtol=2e-6)
    assert_allclose(ours.intercept_, explicit.intercept_, atol=1e-2)
