"""A problem of one's own takes the same steps as the native one, asks no more than it must, and tells every mistake."""

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_matrix
from scipy.special import logsumexp, softmax

from margrave import (
    CustomProblem,
    Hinge,
    Log,
    LossFamily,
    MargraveError,
    Perceptron,
    Problem,
    Ramp,
    SoftmaxMargin,
    _core,
)
from margrave.learners import (
    BCFW,
    CG,
    LBFGS,
    LEARNERS,
    MIRA,
    SGD,
    Auto,
    AveragedPerceptron,
    Checkpoint,
    CuttingPlane,
    KBestMIRA,
    Learner,
    Objective,
    OneSlack,
)
from margrave.maps import FeatureTable
from margrave.structures import Chain, Multiclass
from tests.references.problems import bind
from tests.references.svm import FORMS, Example, Form, optimum

Weights = NDArray[np.float64]

LABELS = 3
COST = np.array([[0.0, 1.0, 1.7], [0.6, 0.0, 1.2], [1.4, 0.8, 0.0]])  # no two alike: ties would be broken differently


def multiclass() -> Problem:
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(14, 4)), random.integers(0, LABELS, size=14).astype(np.int32)
    return bind(Multiclass(), X, labels, feature_map=FeatureTable("all"), classes=[*range(LABELS)], loss=Hinge(COST))


def chain() -> Problem:
    random = np.random.default_rng(1)
    X = [[[f"a{a}" for a in random.integers(0, 6, size=2)] for _ in range(n)] for n in (1, 2, 3, 4, 2, 3, 3)]
    labels = random.integers(0, LABELS, size=sum(map(len, X))).astype(np.int32)
    return bind(Chain(), X, labels, feature_map=FeatureTable("all"), classes=[*range(LABELS)], loss=Hinge(COST))


NATIVE = {"multiclass": multiclass, "chain": chain}
Output = tuple[int, ...]


class Counted:
    """The four functions of a native problem, whose outputs are tuples of parts; inputs are numbers of examples."""

    def __init__(self, native: Problem) -> None:
        self.native, self.calls = native, Counter[str]()

    def counts(self, i: int, y: Output) -> Weights:
        return np.bincount(y, minlength=self.native.parts(i)).astype(float)

    def joint_feature(self, i: int, y: Output) -> dict[int, float]:
        return dict(zip(*(array.tolist() for array in self.native.row(i, self.counts(i, y))), strict=True))

    def gold(self, i: int) -> Output:
        return tuple(sorted(self.native.gold(i).tolist()))

    def theta(self, i: int, w: Weights, y: Output | None) -> Weights:
        return self.native.score(i, w) + (0.0 if y is None else self.native.cost(i)[0])

    def argmax(self, i: int, w: Weights, y: Output | None = None) -> Output:
        self.calls["argmax"] += 1
        return tuple(sorted(self.native.argmax(i, self.theta(i, w, y))[1].tolist()))

    def kbest(self, i: int, w: Weights, k: int, y: Output | None = None) -> list[Output]:
        self.calls["kbest"] += 1
        return [tuple(sorted(best.tolist())) for _, best in self.native.kbest(i, self.theta(i, w, y), k)]

    def logsum(self, i: int, w: Weights) -> tuple[float, Weights]:
        self.calls["logsum"] += 1
        value, mu = self.native.logsum(i, self.native.score(i, w))
        mean = np.zeros(self.native.dim)
        self.native.scatter(i, mu, 1.0, mean)
        return value, mean

    def problem(self, **settings: Any) -> CustomProblem:
        n = self.native.size
        gold = [self.gold(i) for i in range(n)]

        def cost(y: Output, other: Output) -> float:
            i = next(i for i in range(n) if gold[i] is y)
            delta, c0 = self.native.cost(i)
            return c0 + float(delta @ self.counts(i, other))

        # examples may have the same gold parts: `cost` knows them by identity
        gold = [tuple([*y]) for y in gold]
        return CustomProblem(
            [*range(n)], gold, self.joint_feature, cost, self.argmax, **{"dim": self.native.dim} | settings
        )

    def full(self) -> CustomProblem:
        return self.problem(kbest=self.kbest, logsum=self.logsum)


STEPS: list[tuple[Learner, LossFamily]] = [
    (BCFW(pairwise=False), Hinge()),
    (BCFW(pairwise=False, order="gap", averaging=True), Hinge()),
    (MIRA(), Hinge()),
    (MIRA(prediction=True), Hinge()),
    (KBestMIRA(k=4), Hinge()),
    (SGD(rate=0.3), Hinge()),
    (SGD(), Hinge()),
    (AveragedPerceptron(), Hinge()),
    (AveragedPerceptron(), Perceptron()),
    (LBFGS(), Log()),
    (CG(), Log()),
    (SGD(rate=0.3), Log()),
    (MIRA(), Log()),
]
ENDS: list[Learner] = [  # rounding decides between outputs of the same slope: only where they end is the same
    BCFW(),
    BCFW(order="gap"),
    CuttingPlane(),
    CuttingPlane(variant="a"),
    OneSlack(),
    OneSlack(cached=5),
]


@pytest.mark.parametrize("kind", NATIVE)
@pytest.mark.parametrize(("learner", "loss"), STEPS, ids=[f"{loss.name}-{learner!r}" for learner, loss in STEPS])
def test_it_takes_the_same_steps_as_the_native_problem(kind: str, learner: Learner, loss: LossFamily) -> None:
    native = NATIVE[kind]()
    counted = Counted(native)
    own_task = Objective(counted.full(), loss, C=0.7, max_iter=8, tol=1e-7, n_jobs=1)
    expected = learner.solve(Objective(native, loss, C=0.7, max_iter=8, tol=1e-7, n_jobs=1))
    found = learner.solve(own_task)
    assert_allclose(found.w, expected.w, rtol=1e-7, atol=1e-8)
    assert len(found.history) == len(expected.history)
    for ours, theirs in zip(found.history, expected.history, strict=True):
        assert ours.passes == pytest.approx(theirs.passes)
        for value in ("primal", "dual"):
            found_value, expected_value = getattr(ours, value), getattr(theirs, value)
            assert (found_value is None) == (expected_value is None)
            assert found_value is None or found_value == pytest.approx(expected_value, rel=1e-8, abs=1e-8)
    if learner != SGD():  # whose passes do not count the rates that it gave up
        assert sum(counted.calls.values()) == round(own_task.passes * native.size)


@pytest.mark.parametrize("kind", NATIVE)
@pytest.mark.parametrize("learner", ENDS, ids=repr)
def test_it_ends_where_the_native_problem_does_and_asks_once_a_visit(kind: str, learner: Learner) -> None:
    native = NATIVE[kind]()
    counted = Counted(native)
    objective = Objective(counted.problem(), Hinge(), C=0.7, tol=1e-9)
    expected = learner.solve(Objective(native, Hinge(), C=0.7, tol=1e-9))
    found = learner.solve(objective)
    assert found.converged
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=3e-9)
    assert found.certificate.dual == pytest.approx(expected.certificate.dual, rel=3e-9)
    assert_allclose(found.w, expected.w, atol=1e-3)  # 1/2 |w - w*|^2 <= gap
    assert sum(counted.calls.values()) == round(objective.passes * native.size)


def test_exact_updates_are_those_of_the_native_problem() -> None:
    expected = MIRA(exact=True).solve(Objective(chain(), Hinge(), max_iter=2))
    found = MIRA(exact=True).solve(Objective(Counted(chain()).problem(), Hinge(), max_iter=2))
    assert_allclose(found.w, expected.w, atol=1e-4)


@pytest.mark.parametrize(
    "learner", [BCFW(), MIRA(), CuttingPlane(), OneSlack(cached=3)], ids=lambda learner: learner.name
)
def test_threads_ask_one_at_a_time_and_come_to_the_same_end(learner: Learner) -> None:
    counted = Counted(chain())
    busy: list[int] = []

    def argmax(i: int, w: Weights, y: Output | None = None) -> Output:
        busy.append(i)
        assert len(busy) == 1
        best = counted.argmax(i, w, y)
        sum(range(2000))  # time for another thread
        busy.pop()
        return best

    problem = counted.problem()
    problem._argmax = argmax
    most = 20 if learner.name == "mira" else 300
    alone = learner.solve(Objective(counted.problem(), Hinge(), C=0.5, tol=1e-6, max_iter=most, n_jobs=1))
    together = learner.solve(Objective(problem, Hinge(), C=0.5, tol=1e-6, max_iter=most, n_jobs=3))
    if learner.name == "mira":
        assert together.certificate.primal == pytest.approx(alone.certificate.primal, rel=0.1)
    else:
        assert together.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-5)


def test_losses_and_gradients_have_the_same_bits_with_any_number_of_threads() -> None:
    w = np.random.default_rng(3).normal(size=chain().dim)
    for loss in (Hinge(), Perceptron(), Log()):
        one, four = (
            Objective(Counted(chain()).full(), loss, n_jobs=threads).losses(w, gradient=True) for threads in (1, 4)
        )
        assert one[0] == four[0] and np.array_equal(one[1], four[1])


def test_one_problem_serves_one_learner_after_another() -> None:
    native = chain()
    problem = Counted(native).full()
    runs: list[tuple[Learner, LossFamily]] = [
        (AveragedPerceptron(), Perceptron()),
        (MIRA(), Hinge()),
        (SGD(rate=0.1), Hinge()),
        (BCFW(pairwise=False), Hinge()),
        (MIRA(prediction=True), Hinge()),
        (LBFGS(), Log()),
        (KBestMIRA(), Hinge()),
    ]
    for learner, loss in runs:
        expected = learner.solve(Objective(native, loss, max_iter=5))
        found = learner.solve(Objective(problem, loss, max_iter=5))
        assert_allclose(found.w, expected.w, rtol=1e-6, atol=1e-7)
    best = BCFW().solve(Objective(native, Hinge(), tol=1e-6)).certificate.primal
    for learner in (BCFW(), CuttingPlane(), OneSlack(), BCFW(), CuttingPlane()):
        assert learner.solve(Objective(problem, Hinge(), tol=1e-6)).certificate.primal == pytest.approx(best, rel=2e-6)


def test_a_slice_of_it_is_a_problem() -> None:
    native = chain()
    problem = Counted(native).problem()
    expected, found = (MIRA().solve(Objective(each.slice(2, 6), Hinge(), max_iter=3)) for each in (native, problem))
    assert_allclose(found.w, expected.w, atol=1e-8)
    for i in range(4):
        ours, theirs = (
            each.slice(2, 6).oracle(i, found.w, _core.LossFamily(inf, 1.0))[:2] for each in (problem, native)
        )
        assert ours == pytest.approx(theirs)


def test_costs_of_its_own_reach_what_the_loss_calls_zero_one_and_a_hard_margin() -> None:
    native = multiclass()
    counted = Counted(native)
    zero_one = CustomProblem(
        [*range(native.size)],
        [counted.gold(i) for i in range(native.size)],
        counted.joint_feature,
        lambda y, other: float(y != other),
        lambda i, w, y=None: max(
            ((part,) for part in range(LABELS)), key=lambda best: native.score(i, w)[best[0]] + (y not in (None, best))
        ),
        dim=native.dim,
    )
    expected = BCFW().solve(Objective(native, Hinge("zero-one"), tol=1e-6))
    assert BCFW().solve(Objective(zero_one, Hinge(), tol=1e-6)).certificate.primal == pytest.approx(
        expected.certificate.primal, rel=2e-6
    )
    problem = counted.full()
    for learner in (BCFW(), CuttingPlane()):  # by the two best
        found = learner.solve(Objective(problem, Hinge("zero-one"), tol=1e-6))
        assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-6)


def test_a_hard_margin_is_kept_by_the_two_best() -> None:
    X = np.repeat(np.eye(LABELS), 3, axis=0) + np.random.default_rng(0).normal(scale=0.1, size=(9, LABELS))
    Y = np.repeat(np.arange(LABELS, dtype=np.int32), 3)
    native = bind(Multiclass(), X, Y, feature_map=FeatureTable("all"), classes=[*range(LABELS)], loss=Hinge())
    expected, found = (
        CuttingPlane().solve(Objective(each, Hinge(slack=0), tol=1e-6)) for each in (native, Counted(native).full())
    )
    assert found.converged and found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-5)


def test_the_learner_that_chooses_takes_one_that_works() -> None:
    native = bind(
        Multiclass(),
        np.random.default_rng(0).normal(size=(60, 2)),
        np.arange(60, dtype=np.int32) % LABELS,
        feature_map=FeatureTable("all"),
        classes=[*range(LABELS)],
        loss=Hinge(COST),
    )
    for loss in (Hinge(), Log(), Perceptron()):
        Auto().solve(Objective(Counted(native).full(), loss, C=0.1, tol=1e-2))


# ---- what the functions may return


def feature(x: Weights, y: int) -> Weights:
    return np.outer(np.eye(LABELS)[y], x).ravel()


def best_label(x: Weights, w: Weights, y: int | None = None) -> int:
    return int(np.argmax(w.reshape(LABELS, -1) @ x + (0.0 if y is None else COST[y])))


def label_cost(y: int, other: int) -> float:
    return float(COST[y, other])


def data(n: int = 12, d: int = 3) -> tuple[Weights, list[int]]:
    random = np.random.default_rng(5)
    return random.normal(size=(n, d)), [int(y) for y in random.integers(0, LABELS, size=n)]


def labels(**change: Any) -> CustomProblem:
    X, Y = data()
    given = {"X": X, "Y": Y, "joint_feature": feature, "cost": label_cost, "argmax": best_label} | change
    return CustomProblem(**given)


VECTORS: dict[str, Callable[[Weights], Any]] = {
    "list": lambda v: v.tolist(),
    "single precision": lambda v: v.astype(np.float32),
    "csr matrix": lambda v: csr_matrix(v[None]),
    "sparse array": lambda v: coo_array(v[None]),
    "repeated entries": lambda v: coo_array((np.r_[v, v] / 2, (np.zeros(18, int), np.r_[0:9, 0:9])), shape=(1, 9)),
    "dictionary": lambda v: {k: x for k, x in enumerate(v) if x},
}


@pytest.mark.parametrize("kind", VECTORS)
def test_features_may_be_dense_or_sparse(kind: str) -> None:
    problem = labels(joint_feature=lambda x, y: VECTORS[kind](feature(x, y)), dim=9)
    expected, found = (MIRA().solve(Objective(each, Hinge(), max_iter=5)) for each in (labels(), problem))
    assert_allclose(found.w, expected.w, atol=1e-5)


@pytest.mark.parametrize(
    "wrap", [str, lambda y: (y,), lambda y: np.array([y, 7], np.int8), lambda y: frozenset({y})], ids=range(4)
)
def test_outputs_may_be_anything_that_can_be_hashed_and_arrays(wrap: Callable[[int], Any]) -> None:
    X, Y = data()
    back = {str(wrap(y)): y for y in range(LABELS)}
    shared = np.zeros(2, np.int64)  # an argmax may return the same array, written anew

    def argmax(x: Weights, w: Weights, y: Any = None) -> Any:
        best = wrap(best_label(x, w, None if y is None else back[str(y)]))
        if not isinstance(best, np.ndarray):
            return best
        shared[:] = best
        return shared

    problem = CustomProblem(
        X,
        [wrap(y) for y in Y],
        lambda x, y: feature(x, back[str(y)]),
        lambda y, other: label_cost(back[str(y)], back[str(other)]),
        argmax,
    )
    found = CuttingPlane().solve(Objective(problem, Hinge(), tol=1e-6))
    expected = CuttingPlane().solve(Objective(labels(), Hinge(), tol=1e-6))
    assert_allclose(found.w, expected.w, atol=1e-9)
    for i, parts, alpha in found.state.support():
        assert alpha > 0 and str(problem.output(i, int(parts[0]))) in back


def test_prediction_is_the_argmax_without_cost() -> None:
    problem = labels()
    X, Y = data()
    w = BCFW().solve(Objective(problem, Hinge(), C=10.0, tol=1e-2)).w
    assert problem.predict(X, w) == [best_label(x, w) for x in X]
    assert sum(y == best for y, best in zip(Y, problem.predict(X, w), strict=True)) > 6
    with pytest.raises(MargraveError, match="9 weights"):
        problem.predict(X, w[1:])
    with pytest.raises(MargraveError, match="argmax failed on input 1: "):
        problem.predict([X[0], "no vector"], w)


def test_weights_cannot_be_written_to_by_an_argmax() -> None:
    def argmax(x: Weights, w: Weights, y: int | None = None) -> int:
        w[:] = 0
        return 0

    with pytest.raises(MargraveError, match=r"argmax failed on example \d+: ValueError: .*read-only"):
        MIRA().solve(Objective(labels(argmax=argmax), Hinge()))


def test_the_radius_is_that_of_the_outputs_seen() -> None:
    problem = labels()
    assert problem.radius(0) == 0
    x = data()[0][0]
    MIRA().solve(Objective(problem, Hinge(), max_iter=2))
    assert problem.radius(0) == pytest.approx(np.sqrt(2) * np.linalg.norm(x))


# ---- a kernel in place of features


def inner_product(x: Weights, y: int, other_x: Weights, other_y: int) -> float:
    return float(feature(x, y) @ feature(other_x, other_y))


def best_scored(x: Weights, score: Callable[[int], float], y: int | None = None) -> int:
    return int(np.argmax([score(k) + (0.0 if y is None else COST[y, k]) for k in range(LABELS)]))


def of_kernel(**change: Any) -> CustomProblem:
    return labels(**{"joint_feature": None, "joint_kernel": inner_product, "argmax": best_scored} | change)


def explicit(problem: CustomProblem, a: Weights) -> Weights:
    """The weights of features that coefficients stand for."""
    X, room = data()[0], problem.parts(0)
    return sum(
        (a[k] * feature(X[k // room], problem.output(k // room, k % room)) for k in np.flatnonzero(a)), np.zeros(9)
    )


@pytest.mark.parametrize(
    "learner", [MIRA(), MIRA(prediction=True), AveragedPerceptron(), BCFW(pairwise=False)], ids=repr
)
def test_a_kernel_takes_the_same_steps_as_its_features(learner: Learner) -> None:
    problem = of_kernel()
    expected, found = (
        learner.solve(Objective(each, Hinge(), C=0.7, max_iter=6, tol=0)) for each in (labels(), problem)
    )
    assert_allclose(explicit(problem, found.w), expected.w, rtol=1e-7, atol=1e-8)
    assert len(found.history) == len(expected.history)
    for ours, theirs in zip(found.history, expected.history, strict=True):
        for value in ("primal", "dual"):
            found_value, expected_value = getattr(ours, value), getattr(theirs, value)
            assert (found_value is None) == (expected_value is None)
            assert found_value is None or found_value == pytest.approx(expected_value, rel=1e-8, abs=1e-8)
    X = np.random.default_rng(7).normal(size=(20, 3))
    assert problem.predict(X, found.w) == labels().predict(X, expected.w)


@pytest.mark.parametrize("learner", ENDS, ids=repr)
def test_a_kernel_ends_where_its_features_do(learner: Learner) -> None:
    problem = of_kernel()
    expected, found = (learner.solve(Objective(each, Hinge(), C=0.7, tol=1e-8)) for each in (labels(), problem))
    assert found.converged
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=3e-8)
    assert found.certificate.dual == pytest.approx(expected.certificate.dual, rel=3e-8)
    assert_allclose(explicit(problem, found.w), expected.w, atol=1e-3)
    X = np.random.default_rng(7).normal(size=(20, 3))
    assert problem.predict(X, found.w) == labels().predict(X, expected.w)


def test_a_kernel_has_the_inner_products_and_radii_of_its_features() -> None:
    problem = of_kernel()
    u, v = (MIRA().solve(Objective(problem, Hinge(), C=C, max_iter=2)).w for C in (0.5, 3.0))
    assert problem.dot(u, v) == pytest.approx(float(explicit(problem, u) @ explicit(problem, v)), rel=1e-12)
    assert problem.dot(u, v) == pytest.approx(problem.dot(v, u), rel=1e-12)
    assert problem.radius(0) == pytest.approx(np.sqrt(2) * np.linalg.norm(data()[0][0]))


def test_a_kernel_of_degree_two_separates_what_no_line_does() -> None:
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    Y = [0, 0, 1, 1]

    def learn(degree: int) -> list[Any]:
        problem = CustomProblem(
            X,
            Y,
            None,
            lambda y, other: float(y != other),
            lambda x, score, y=None: max(range(2), key=lambda k: score(k) + (y not in (None, k))),
            joint_kernel=lambda x, y, x2, y2: (y == y2) * (1 + x @ x2) ** degree,
        )
        solution = BCFW().solve(Objective(problem, Hinge(), C=100.0, tol=1e-3))
        assert solution.converged
        return problem.predict(X, solution.w)

    assert learn(2) == Y
    assert learn(1) != Y


def test_outputs_with_a_coefficient_are_not_forgotten() -> None:
    random = np.random.default_rng(4)
    X = random.normal(size=(3, 5, 5, 4))
    Y = [tuple(int(k) for k in random.permutation(5)) for _ in X]
    directions = iter(random.normal(size=(10**4, 4)))
    wander = False

    def argmax(x: Weights, score: Callable[[Output], float], y: Output | None = None) -> Output:
        if wander:  # at weights 0 every output is the best without costs
            return best_matching(x, next(directions))
        every = [*permutations(range(5))]
        return max(every, key=lambda other: score(other) + (0.0 if y is None else wrong_pairs(y, other)))

    problem = CustomProblem(
        X,
        Y,
        None,
        wrong_pairs,
        argmax,
        joint_kernel=lambda x, y, x2, y2: float(match_features(x, y) @ match_features(x2, y2)),
        outputs=32,
    )
    w = MIRA().solve(Objective(problem, Hinge(), max_iter=1)).w
    support = [divmod(int(k), problem.parts(0)) for k in np.flatnonzero(w)]
    before, norm = [problem.output(*each) for each in support], problem.dot(w, w)
    scores = [problem.score(i, w)[0] for i in range(3)]
    wander = True
    for _ in range(60):
        Objective(problem, Perceptron()).primal(np.zeros(problem.dim))
    assert [problem.output(*each) for each in support] == before
    assert problem.dot(w, w) == pytest.approx(norm, rel=1e-12)
    assert [problem.score(i, w)[0] for i in range(3)] == pytest.approx(scores, rel=1e-12)
    for i in range(3):  # those that took the places of forgotten ones have scores of their own
        theta = problem.score(i, w)
        whole = sum(w[j * problem.parts(0) + k] * match_features(X[j], problem.output(j, k)) for j, k in support)
        for part in range(problem.parts(i)):
            if theta[part] > -inf:
                assert theta[part] == pytest.approx(float(whole @ match_features(X[i], problem.output(i, part))))


def test_kernel_values_are_asked_for_once() -> None:
    asked = Counter[tuple[bytes, int, bytes, int]]()

    def counted(x: Weights, y: int, other_x: Weights, other_y: int) -> float:
        asked[x.tobytes(), y, other_x.tobytes(), other_y] += 1
        return inner_product(x, y, other_x, other_y)

    problem = of_kernel(joint_kernel=counted)
    BCFW().solve(Objective(problem, Hinge(), tol=1e-4))
    assert max(asked.values()) == 1


@pytest.mark.parametrize("learner", [LBFGS(), CG(), SGD(), KBestMIRA()], ids=lambda learner: learner.name)
def test_learners_that_need_the_euclidean_inner_product_refuse_a_kernel(learner: Learner) -> None:
    problem = of_kernel()
    assert labels().euclidean and not problem.euclidean
    loss = Log() if "finite beta" in learner.needs else Hinge()
    with pytest.raises(MargraveError, match="needs weights with the Euclidean inner product"):
        learner.solve(Objective(problem, loss))


class Own(CustomProblem):
    pass


def test_what_a_kernel_cannot_do_is_refused() -> None:
    for change, message in (
        ({"joint_feature": feature}, "either joint_feature or joint_kernel must be given, and both"),
        ({"joint_kernel": None}, "either joint_feature or joint_kernel must be given, and neither"),
        ({"dim": 9}, "dim cannot be given with joint_kernel"),
        ({"logsum": lambda x, w: (0.0, np.zeros(9))}, "logsum cannot be given with joint_kernel"),
    ):
        with pytest.raises(MargraveError, match=message):
            of_kernel(**change)
    with pytest.raises(MargraveError, match="joint_kernel is for CustomProblem itself, and Own is another"):
        Own(*data(), None, label_cost, best_scored, joint_kernel=inner_product)
    w = MIRA().solve(Objective(of_kernel(), Hinge(), max_iter=1)).w
    with pytest.raises(MargraveError, match=r"part \d+ of example \d+ has a coefficient and is no output"):
        of_kernel().predict(data()[0], w)


def test_a_kernel_with_threads_comes_to_the_same_end() -> None:
    expected = BCFW().solve(Objective(labels(), Hinge(), C=0.5, tol=1e-6))
    found = BCFW().solve(Objective(of_kernel(), Hinge(), C=0.5, tol=1e-6, max_iter=300, n_jobs=3))
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-5)


# ---- many outputs: a ranking, and a matching of boxes with items


def rank_features(x: Weights, y: Output) -> Weights:
    """Items ranked earlier count more: sum over pairs (a before b) of x_a - x_b."""
    factor = np.arange(len(y) - 1, -len(y), -2)
    return np.asarray(factor @ x[list(y)])


def swaps(y: Output, other: Output) -> float:
    """The pairs in the wrong order."""
    place = np.argsort(y)[list(other)]
    return float(sum(a > b for k, a in enumerate(place) for b in place[k + 1 :]))


def best_ranking(x: Weights, w: Weights, y: Output | None = None) -> Output:
    every = [*permutations(range(len(x)))]
    return max(every, key=lambda other: w @ rank_features(x, other) + (0.0 if y is None else swaps(y, other)))


def test_rankings_are_learned_and_certified() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 4, 3))
    Y = [tuple(int(k) for k in np.argsort(-(x @ [1.0, -2.0, 0.5]))) for x in X]
    problem = CustomProblem(X[:12], Y[:12], rank_features, swaps, best_ranking)
    found = OneSlack().solve(Objective(problem, Hinge(), C=10.0, tol=1e-3))
    assert found.converged
    assert [swaps(y, best) for y, best in zip(Y, problem.predict(X, found.w), strict=True)].count(0.0) >= 17


def pair_scores(x: Weights, w: Weights) -> Weights:
    return x @ w  # x: (boxes, items, features)


def match_features(x: Weights, y: Output) -> Weights:
    return x[np.arange(len(y)), list(y)].sum(axis=0)


def wrong_pairs(y: Output, other: Output) -> float:
    return float(sum(a != b for a, b in zip(y, other, strict=True)))


def best_matching(x: Weights, w: Weights, y: Output | None = None) -> Output:
    scores = pair_scores(x, w)
    if y is not None:
        scores = scores + 1.0
        scores[np.arange(len(y)), list(y)] -= 1.0
    return tuple(int(k) for k in linear_sum_assignment(scores, maximize=True)[1])


def enumerated_matching(x: Weights, w: Weights, y: Output | None = None) -> Output:
    every = [*permutations(range(len(x)))]
    return max(every, key=lambda other: w @ match_features(x, other) + (0.0 if y is None else wrong_pairs(y, other)))


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4))
@settings(deadline=None, max_examples=25)
def test_matchings_have_the_losses_of_enumeration(seed: int, k: int) -> None:
    random = np.random.default_rng(seed)
    X, w = random.normal(size=(4, k, k, 3)), random.normal(size=3)
    Y = [tuple(int(item) for item in random.permutation(k)) for _ in X]
    problem = CustomProblem(X, Y, match_features, wrong_pairs, best_matching)
    every = [*permutations(range(k))]
    for loss in (Hinge(), Perceptron()):
        gold = [w @ match_features(x, y) for x, y in zip(X, Y, strict=True)]
        top = [
            max(w @ match_features(x, other) + loss.gamma * wrong_pairs(y, other) for other in every)
            for x, y in zip(X, Y, strict=True)
        ]
        assert Objective(problem, loss).losses(w)[0] == pytest.approx(sum(top) - sum(gold), rel=1e-9, abs=1e-9)


def test_matchings_are_learned_as_with_an_argmax_by_enumeration() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(10, 4, 4, 3))
    Y = [best_matching(x + random.normal(scale=0.7, size=x.shape), np.array([1.0, -1.0, 0.5])) for x in X]
    best = [
        BCFW()
        .solve(Objective(CustomProblem(X, Y, match_features, wrong_pairs, argmax), Hinge(), C=1.0, tol=1e-6))
        .certificate.primal
        for argmax in (best_matching, enumerated_matching)
    ]
    assert best[0] == pytest.approx(best[1], rel=2e-6)


# ---- every re-scaling and slack, by most_violated


def svm_examples(X: Weights, Y: list[Output]) -> list[Example]:
    """All outputs of the matchings but the right ones, as the independent solver takes them."""
    found = []
    for x, y in zip(X, Y, strict=True):
        others = [other for other in permutations(range(len(y))) if other != y]
        psi = np.array([match_features(x, y) - match_features(x, other) for other in others])
        found.append(Example(others, psi, np.array([wrong_pairs(y, other) for other in others]), y))
    return found


class MostViolated:
    """The most violated matching by enumeration, for features and for kernels, and how it was called."""

    def __init__(self) -> None:
        self.calls = Counter[tuple[str, int]]()

    def __call__(self, x: Weights, w: Any, y: Output, rescale: str, slack: int) -> Output:
        self.calls[rescale, slack] += 1
        score = w if callable(w) else lambda other: w @ match_features(x, other)
        form = Form(rescale, slack)

        def violation(other: Output) -> float:
            r, m = float(form.weight(np.array(wrong_pairs(y, other)))), score(y) - score(other)
            return r * (1 - m) if rescale == "slack" else r - m

        return max(permutations(range(len(y))), key=violation)


def matchings(n: int = 7, k: int = 3) -> tuple[Weights, list[Output]]:
    random = np.random.default_rng(8)
    X = random.normal(size=(n, k, k, 4))
    return X, [best_matching(x + random.normal(scale=0.9, size=x.shape), np.array([1.0, -1.0, 0.5, 0.0])) for x in X]


def only_predicts(x: Weights, w: Weights) -> Output:
    return best_matching(x, w)


@pytest.mark.parametrize("kernel", [False, True], ids=["features", "kernel"])
@pytest.mark.parametrize("C", [0.2, 5.0])
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("learner", [CuttingPlane(), CuttingPlane(variant="a"), OneSlack()], ids=repr)
def test_every_svm_reaches_the_optimum_of_an_independent_solver(
    learner: Learner, form: Form, C: float, kernel: bool
) -> None:
    if isinstance(learner, OneSlack) and form.slack == 2:
        pytest.skip("one-slack is for linear slack")
    X, Y = matchings()
    search = MostViolated()
    settings: dict[str, Any] = {"most_violated": search}
    if kernel:
        settings |= {
            "joint_kernel": lambda x, y, x2, y2: float(match_features(x, y) @ match_features(x2, y2)),
            "outputs": 32,
        }
    problem = CustomProblem(X, Y, None if kernel else match_features, wrong_pairs, only_predicts, **settings)
    assert problem.offers == ["argmax", "most_violated"] and problem.slice(1, 3).offers == problem.offers
    objective = Objective(problem, Hinge(rescale=form.rescale, slack=form.slack), C=C, tol=1e-8)
    found = learner.solve(objective)
    expected = optimum(form, svm_examples(X, Y), C)
    assert found.converged and found.exact
    assert found.certificate.primal == pytest.approx(expected.primal, rel=1e-6)
    assert found.certificate.dual == pytest.approx(expected.primal, rel=1e-6)
    if not kernel:
        assert found.certificate.primal == pytest.approx(form.primal(svm_examples(X, Y), found.w, C), rel=1e-9)
    assert set(search.calls) == {(form.rescale, form.slack)}
    assert sum(search.calls.values()) == round(objective.passes * len(X))


def test_most_violated_takes_the_place_of_an_argmax_with_costs() -> None:
    X, Y = matchings()
    search = MostViolated()
    for learner in (BCFW(), MIRA(), SGD(rate=0.1), CuttingPlane()):
        with_argmax, with_search = (
            learner.solve(Objective(problem, Hinge(), C=0.5, tol=1e-6, max_iter=200))
            for problem in (
                CustomProblem(X, Y, match_features, wrong_pairs, best_matching),
                CustomProblem(X, Y, match_features, wrong_pairs, only_predicts, most_violated=search),
            )
        )
        assert with_search.certificate.primal == pytest.approx(with_argmax.certificate.primal, rel=1e-5)
    assert set(search.calls) == {("margin", 1)}


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_slacks_are_those_of_enumeration(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, w = random.normal(size=(4, 3, 3, 3)), random.normal(size=3)
    Y = [tuple(int(item) for item in random.permutation(3)) for _ in X]
    problem = CustomProblem(X, Y, match_features, wrong_pairs, only_predicts, most_violated=MostViolated())
    for form in FORMS:
        expected = [form.slack_of(x, w) for x in svm_examples(X, Y)]
        found = Objective(problem, Hinge(rescale=form.rescale, slack=form.slack)).slacks(w)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_most_violated_output_that_is_not_is_found_out() -> None:
    X, Y = matchings()
    search = MostViolated()

    def forgetful(*args: Any) -> Output:
        return search(*args) if sum(search.calls.values()) < 40 else args[2]

    problem = CustomProblem(X, Y, match_features, wrong_pairs, only_predicts, most_violated=forgetful)
    with pytest.raises(
        MargraveError,
        match=r"most_violated of example \d returned an output that has H = 0, and one that it returned before has H = "
        r"[\d.e-]+: it must return the best; pass exact=False if your most_violated is approximate\.",
    ):
        CuttingPlane().solve(Objective(problem, Hinge(rescale="slack"), C=5.0, tol=0, max_iter=100))


# ---- approximate inference


class Sloppy:
    """Labels that are the best ones only most of the time: what a search without guarantees returns."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def ranked(self, values: Weights) -> list[int]:
        order = [int(k) for k in np.argsort(-values)]
        return order if self.random.random() < 0.7 else [order[1], order[0], *order[2:]]

    def argmax(self, x: Weights, w: Weights, y: int | None = None) -> int:
        return self.ranked(w.reshape(LABELS, -1) @ x + (0.0 if y is None else COST[y]))[0]

    def kbest(self, x: Weights, w: Weights, k: int, y: int | None = None) -> list[int]:
        best = self.ranked(w.reshape(LABELS, -1) @ x + (0.0 if y is None else COST[y]))[:k]
        return [best[0], *best[: k - 1]] if self.random.random() < 0.2 else best  # one of them twice

    def most_violated(self, x: Weights, w: Weights, y: int, rescale: str, slack: int) -> int:
        scores = w.reshape(LABELS, -1) @ x
        r = COST[y] ** (1 / slack)
        m = scores[y] - scores
        return self.ranked(r * (1 - m) if rescale == "slack" else r - m)[0]

    def problem(self, **change: Any) -> CustomProblem:
        return labels(**{"argmax": self.argmax, "kbest": self.kbest, "exact": False} | change)


APPROXIMATE: list[tuple[Learner, LossFamily]] = [
    (BCFW(), Hinge()),
    (BCFW(pairwise=False), Hinge()),
    (BCFW(), Hinge("zero-one")),
    (MIRA(), Hinge()),
    (MIRA(exact=True), Hinge()),
    (MIRA(prediction=True), Hinge()),
    (KBestMIRA(k=2), Hinge()),
    (SGD(rate=0.3), Hinge()),
    (AveragedPerceptron(), Perceptron()),
    (CuttingPlane(), Hinge()),
    (CuttingPlane(variant="a"), Hinge()),
    (OneSlack(cached=3), Hinge()),
    (LEARNERS["lp"](free_sign=True), Hinge()),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("learner", "loss"), APPROXIMATE, ids=[f"{loss.name}-{each!r}" for each, loss in APPROXIMATE])
def test_learners_go_on_with_an_approximate_argmax_and_say_so(learner: Learner, loss: LossFamily) -> None:
    with pytest.raises(MargraveError, match=r"pass exact=False if your|returned an output twice"):
        learner.solve(Objective(Sloppy().problem(exact=True), loss, tol=1e-3, max_iter=30))
    problem = Sloppy().problem()
    assert not problem.exact and not problem.slice(0, 3).exact
    found = learner.solve(Objective(problem, loss, tol=1e-3, max_iter=30))
    assert not found.exact and not found.certificate.exact
    assert found.reason.endswith("(approximate: inference is not exact)")
    best = learner.solve(Objective(labels(kbest=labels_in_order), loss, tol=1e-3, max_iter=30))
    assert best.exact and best.certificate.exact and "approximate" not in best.reason
    # All three labels are soon remembered, and the best remembered one is used.
    assert found.certificate.primal == pytest.approx(best.certificate.primal, rel=0.3)


def labels_in_order(x: Weights, w: Weights, k: int, y: int | None = None) -> list[int]:
    return [int(best) for best in np.argsort(-(w.reshape(LABELS, -1) @ x + (0.0 if y is None else COST[y])))[:k]]


@pytest.mark.parametrize("form", FORMS[1:], ids=str)
def test_an_approximate_search_for_the_most_violated_output_goes_on(form: Form) -> None:
    sloppy = Sloppy()
    loss = Hinge(rescale=form.rescale, slack=form.slack)
    with pytest.raises(MargraveError, match="pass exact=False if your most_violated is approximate"):
        exact = sloppy.problem(exact=True, most_violated=sloppy.most_violated)
        CuttingPlane().solve(Objective(exact, loss, tol=1e-6))
    found = CuttingPlane().solve(Objective(sloppy.problem(most_violated=sloppy.most_violated), loss, tol=1e-6))
    assert not found.exact and found.reason.endswith("(approximate: inference is not exact)")
    X, Y = data()
    examples = []
    for x, y in zip(X, Y, strict=True):
        others = [label for label in range(LABELS) if label != y]
        psi = np.array([feature(x, y) - feature(x, other) for other in others])
        examples.append(Example([(other,) for other in others], psi, COST[y, others], (y,)))
    expected = optimum(form, examples)
    assert found.certificate.dual <= expected.primal * (1 + 1e-9)  # D holds whatever inference misses
    assert form.primal(examples, found.w, 1.0) == pytest.approx(expected.primal, rel=0.05)


def test_the_better_of_what_is_returned_and_remembered_is_used() -> None:
    X = np.array([[1.0, 0.0, 0.0]])
    answers = iter([2, 1, 1])
    problem = labels(X=X, Y=[0], argmax=lambda x, w, y=None: next(answers), kbest=lambda *args: [1], exact=False)
    w = np.array([0.0, 0, 0, 5.0, 0, 0, 7.0, 0, 0])
    question = _core.Question("argmax")
    outputs = [problem.output(0, int(problem.infer(0, w, question)[1][0][1][0])) for _ in range(2)]
    assert outputs == [2, 2]
    _, best = problem.infer(0, w, _core.Question("kbest", k=3))
    assert [(value, problem.output(0, int(part[0]))) for value, part in best] == [(7.0, 2), (5.0, 1), (0.0, 0)]


def test_whether_it_is_exact_must_be_said_with_a_flag() -> None:
    with pytest.raises(MargraveError, match="exact must be True or False, and it is 'yes'"):
        labels(exact="yes")


# ---- what is remembered


def test_outputs_that_no_learner_keeps_are_forgotten_and_others_are_not() -> None:
    random = np.random.default_rng(4)
    X = random.normal(size=(3, 5, 5, 4))
    Y = [tuple(int(k) for k in random.permutation(5)) for _ in X]
    problem = CustomProblem(X, Y, match_features, wrong_pairs, best_matching, outputs=32)
    objective = Objective(problem, Hinge())
    for _ in range(60):
        objective.primal(random.normal(size=4))  # 60 outputs an example go by
    found = CuttingPlane().solve(Objective(problem, Hinge(), tol=1e-8))
    for _ in range(60):
        objective.primal(random.normal(size=4))
    assert found.state.cuts.weights(problem) == pytest.approx(found.w, abs=1e-9)


def test_more_outputs_than_there_is_room_for_are_refused() -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=(1, 6, 6, 4))
    problem = CustomProblem(x, [(0, 1, 2, 3, 4, 5)], match_features, wrong_pairs, best_matching, outputs=32)
    every = [*permutations(range(6))]
    objective = Objective(problem, Hinge())
    with pytest.raises(MargraveError, match=r"example 0 has had more than 32 different outputs: .*outputs=320"):
        for _ in range(200):
            objective.losses(random.normal(size=4), gradient=True)
    assert len(every) == 720


def test_a_run_that_keeps_no_outputs_goes_on_from_its_checkpoint(tmp_path: Any) -> None:
    expected = MIRA().solve(Objective(labels(), Hinge(), max_iter=6))
    for most in (3, 6):
        objective = Objective(labels(), Hinge(), max_iter=most, checkpoint=Checkpoint(tmp_path / "mira"))
        found = MIRA().solve(objective)
    assert_allclose(found.w, expected.w, atol=1e-12)
    with pytest.raises(MargraveError, match="no output that was seen"):
        for most in (3, 6):
            BCFW().solve(Objective(labels(), Hinge(), max_iter=most, tol=0, checkpoint=Checkpoint(tmp_path / "bcfw")))


# ---- what is refused


KEEPERS = ["eg", "eg-batch", "smo", "smo-eg"]


@pytest.mark.parametrize("name", KEEPERS)
def test_learners_that_have_scores_of_their_own_are_refused(name: str) -> None:
    for loss in (Hinge(), Log()):
        with pytest.raises(MargraveError):
            LEARNERS[name]().solve(Objective(Counted(multiclass()).full(), loss))


@pytest.mark.parametrize(
    ("learner", "loss", "message"),
    [
        (LEARNERS["eg"](), Log(), "learner 'eg' needs inference with any scores"),
        (LEARNERS["cccp"](), Ramp(), "learner 'cccp' needs inference with any scores"),
        (BCFW(), Log(), "needs distributions over parts with log"),
        (LBFGS(), SoftmaxMargin(), "has no costs in it: use loss Log"),
        (MIRA(exact=True), Log(), "not under other scores"),
        (BCFW(), LossFamily(inf, 0.5), "not under other scores: .*gamma in it"),
        (CuttingPlane(), Hinge(rescale="slack"), "not under other scores: .*margin re-scaling.*give most_violated"),
        (CuttingPlane(), Hinge(slack=2), "not under other scores: .*linear slack.*give most_violated"),
    ],
    ids=lambda case: case.name if hasattr(case, "name") else "",
)
def test_what_cannot_work_is_refused_in_one_sentence(learner: Learner, loss: LossFamily, message: str) -> None:
    problem = Counted(chain()).full()
    for each in (problem, problem.slice(0, 2)):
        with pytest.raises(MargraveError, match=message):
            learner.solve(Objective(each, loss))


@pytest.mark.parametrize(
    ("learner", "loss", "need"),
    [(KBestMIRA(), Hinge(), "kbest"), (LBFGS(), Log(), "logsum"), (BCFW(), Hinge("zero-one"), "kbest")],
)
def test_what_was_not_given_is_named(learner: Learner, loss: LossFamily, need: str) -> None:
    with pytest.raises(MargraveError, match=f"needs '{need}', and this problem offers only argmax"):
        learner.solve(Objective(labels(), loss))
    with pytest.raises(MargraveError, match=f"offers no {need}"):
        labels().infer(0, np.zeros(9), _core.Question(need, k=2))


def test_inference_under_scores_is_refused() -> None:
    problem = Counted(multiclass()).full()
    theta = problem.score(3, np.ones(problem.dim))
    for ask in (problem.argmax, problem.logsum, lambda i, theta: problem.kbest(i, theta, 2)):
        with pytest.raises(MargraveError, match=r"not under other scores: .* or give most_violated"):
            ask(3, theta)
    problem = labels()
    with pytest.raises(MargraveError, match="part 5 of example 2 is no output"):
        problem.row(2, np.eye(problem.parts(2))[5])
    with pytest.raises(MargraveError, match="part 1 of example 2 is no output"):
        problem.output(2, 1)
    with pytest.raises(MargraveError, match="beyond all numbers"):
        problem.score(0, np.full(9, np.nan))


def at(i: int, bad: Any, good: Callable[..., Any]) -> Callable[..., Any]:
    """A function that goes wrong on example i alone, which it knows by its input."""
    X = data()[0]
    return lambda x, *args: (bad(*args) if callable(bad) else bad) if np.array_equal(x, X[i]) else good(x, *args)


def fail(*args: Any) -> Any:
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"joint_feature": at(3, np.full(9, np.nan), feature)},
            "joint_feature of example 3 has the value nan at index 0",
        ),
        ({"joint_feature": at(3, {4: inf}, feature)}, "joint_feature of example 3 has the value inf at index 4"),
        ({"joint_feature": at(3, np.ones(8), feature)}, "joint_feature of example 3 has length 8, and there are 9"),
        ({"joint_feature": at(3, {9: 1.0}, feature)}, "joint_feature of example 3 has the index 9, and there are 9"),
        ({"joint_feature": at(3, {-1: 1.0}, feature)}, "joint_feature of example 3 has the index -1"),
        ({"joint_feature": at(3, {"a": 1.0}, feature)}, "joint_feature of example 3 must be a vector .* a dict"),
        ({"joint_feature": at(3, np.ones((3, 3)), feature)}, r"joint_feature of example 3 .* of shape \(3, 3\)"),
        ({"joint_feature": at(3, csr_matrix(np.ones((9, 9))), feature)}, r"joint_feature of example 3 .* \(9, 9\)"),
        ({"joint_feature": at(3, None, feature)}, "joint_feature of example 3 must be a vector"),
        ({"joint_feature": at(3, fail, feature)}, "joint_feature failed on example 3: KeyError: 'lost'"),
        ({"joint_feature": lambda x, y: {0: 1.0}}, "leave the number of weights open: give dim"),
        ({"argmax": at(3, [1, 2], best_label)}, "the output of example 3 cannot be hashed, being a list"),
        ({"argmax": at(3, fail, best_label)}, "argmax failed on example 3: KeyError: 'lost'"),
        (
            {"cost": lambda y, other: -1.0 if y != other else 0.0},
            r"output of example \d+ must be finite and not negative",
        ),
        ({"cost": lambda y, other: np.nan if y != other else 0.0}, r"output of example \d+ must be finite"),
        ({"cost": lambda y, other: 1.0}, "the cost of the right output of example 0 must be 0, and it is 1"),
        ({"cost": lambda y, other: "dear"}, "the cost of an output of example 0 must be a number, and it is 'dear'"),
        ({"cost": fail}, "cost failed on example 0: KeyError"),
        ({"Y": [0]}, "12 inputs and 1 outputs"),
        ({"Y": [[y] for y in data()[1]]}, "the output of example 0 cannot be hashed"),
        ({"X": [], "Y": []}, "no examples"),
        ({"dim": 0}, "dim must be at least 1"),
        ({"dim": 8}, "joint_feature of example 0 has length 9, and there are 8"),
        ({"outputs": 3}, "the number of outputs must be at least 32"),
    ],
)
def test_a_mistake_is_told_with_its_example(change: dict[str, Any], message: str) -> None:
    with pytest.raises(MargraveError, match=message) as caught:
        if "Y" in change and change["Y"] and isinstance(change["Y"][0], list):
            change = change | {"joint_feature": lambda x, y: feature(x, y[0]), "cost": lambda y, other: 0.0}
        MIRA().solve(Objective(labels(**change), Hinge(), n_jobs=1))
    if "failed" in message:
        assert isinstance(caught.value.__cause__, KeyError)


def test_an_argmax_that_misses_the_best_output_is_found_out() -> None:
    calls = Counter[int]()
    X = data()[0]

    def forgetful(x: Weights, w: Weights, y: int | None = None) -> int:
        i = int(np.flatnonzero((x == X).all(axis=1))[0])
        calls[i] += 1
        best = best_label(x, w, y)
        return (best + 1) % LABELS if i == 3 and calls[i] > 4 else best

    with pytest.raises(
        MargraveError,
        match=r"argmax of example 3 returned an output that scores [-\d.]+, and (one that it returned before|the right "
        r"one) scores [-\d.]+: it must return the best; pass exact=False if your argmax is approximate\.",
    ):
        BCFW().solve(Objective(labels(argmax=forgetful), Hinge(), tol=0, max_iter=50))
    with pytest.raises(MargraveError, match=r"argmax of example 0 .* and the right one scores 0\.?0*: it must"):
        labels(argmax=lambda x, w, y=None: 1, Y=[0] * 12, joint_feature=lambda x, y: [0.0, -float(y)]).infer(
            0, np.array([0.0, 9.0]), _core.Question("argmax", gamma=1.0)
        )


def test_a_kbest_that_is_not_the_best_is_found_out() -> None:
    counted = Counted(chain())

    def learn(kbest: Callable[..., Any]) -> None:
        problem = counted.problem(kbest=kbest)
        KBestMIRA(k=3).solve(Objective(problem, Hinge(), max_iter=5))

    with pytest.raises(MargraveError, match=r"kbest of example \d returned outputs that are not in the order"):
        learn(lambda *args: counted.kbest(*args)[::-1])
    with pytest.raises(MargraveError, match=r"kbest of example \d returned an output twice"):
        learn(lambda *args: counted.kbest(*args)[:1] * 2)
    with pytest.raises(MargraveError, match=r"kbest of example \d returned no output"):
        learn(lambda *args: [])
    with pytest.raises(MargraveError, match=r"kbest of example \d returned .* it must return the 3 best"):
        learn(lambda i, w, k, *y: counted.kbest(i, w, k + 5, *y)[5:] or counted.kbest(i, w, k, *y))
    with pytest.raises(MargraveError, match=r"kbest of example \d returned only 1 outputs, and .* the 3 best"):
        learn(lambda *args: counted.kbest(*args)[:1])
    with pytest.raises(MargraveError, match=r"kbest failed on example \d: KeyError"):
        learn(fail)


def test_a_logsum_that_cannot_be_one_is_found_out() -> None:
    counted = Counted(multiclass())

    def learn(logsum: Callable[..., Any]) -> None:
        LBFGS().solve(Objective(counted.problem(logsum=logsum), Log(), n_jobs=1))

    with pytest.raises(MargraveError, match="logsum of example 0 returned -1, and a single output scores 0"):
        learn(lambda i, w: (-1.0, np.zeros(counted.native.dim)))
    with pytest.raises(MargraveError, match="logsum of example 0 returned nan"):
        learn(lambda i, w: (np.nan, np.zeros(counted.native.dim)))
    with pytest.raises(MargraveError, match="logsum of example 0 must return a number and the expected"):
        learn(lambda i, w: 3.0)
    with pytest.raises(MargraveError, match="the expected joint feature of example 0 has length 2"):
        learn(lambda i, w: (3.0, [1.0, 2.0]))
    with pytest.raises(MargraveError, match="logsum failed on example 0: KeyError"):
        learn(fail)


def test_log_losses_and_other_temperatures_are_those_of_enumeration() -> None:
    X, Y = data()
    w = np.random.default_rng(6).normal(size=9)
    every = [np.array([feature(x, y) for y in range(LABELS)]) for x in X]

    def logsum(x: Weights, w: Weights) -> tuple[float, Weights]:
        feature_map = np.array([feature(x, y) for y in range(LABELS)])
        return float(logsumexp(feature_map @ w)), softmax(feature_map @ w) @ feature_map

    for beta in (1.0, 2.5):
        loss, slope = Objective(labels(logsum=logsum), LossFamily(beta, 0.0)).losses(w, gradient=True)
        expected = sum(logsumexp(beta * F @ w) / beta - F[y] @ w for F, y in zip(every, Y, strict=True))
        assert loss == pytest.approx(expected, rel=1e-12)
        assert_allclose(slope, sum(softmax(beta * F @ w) @ F - F[y] for F, y in zip(every, Y, strict=True)), rtol=1e-10)


def test_the_zero_one_cost_in_a_partition_function_is_that_of_enumeration() -> None:
    X, Y = data()
    w = np.random.default_rng(6).normal(size=9)

    def logsum(x: Weights, w: Weights) -> tuple[float, Weights]:
        feature_map = np.array([feature(x, y) for y in range(LABELS)])
        return float(logsumexp(feature_map @ w)), softmax(feature_map @ w) @ feature_map

    problem = labels(logsum=logsum)
    for beta in (1.0, 2.5):
        loss, slope = Objective(problem, LossFamily(beta, 1.0, "zero-one")).losses(w, gradient=True)
        expected, gradient = 0.0, np.zeros(9)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            F = np.array([feature(x, other) for other in range(LABELS)])
            v = F @ w + (np.arange(LABELS) != y)
            p = softmax(beta * v)
            expected += logsumexp(beta * v) / beta - F[y] @ w
            gradient += p @ F - F[y]
            found, cost, entropy, index, value = problem.oracle(i, w, _core.LossFamily(beta, 1.0, True))
            assert found == pytest.approx(logsumexp(beta * v) / beta - F[y] @ w, rel=1e-10)
            assert (cost, entropy) == (pytest.approx(1 - p[y], rel=1e-9), pytest.approx(-(p @ np.log(p)), rel=1e-9))
            row = np.zeros(9)
            row[index] = value
            assert_allclose(row, p @ F - F[y], atol=1e-10)
        assert loss == pytest.approx(expected, rel=1e-12)
        assert_allclose(slope, gradient, atol=1e-10)
    _, cost, entropy, _, _ = problem.oracle(0, w, _core.LossFamily(1.0, 0.0))
    p = softmax(np.array([feature(X[0], y) for y in range(LABELS)]) @ w)
    assert np.isnan(cost) and entropy == pytest.approx(-(p @ np.log(p)), rel=1e-9)  # no cost of expected features
    with pytest.raises(MargraveError, match="no marginals of parts"):
        _core.marginals_all(problem, w, 1.0, 1)


def test_the_best_outputs_of_all_examples_are_those_of_the_native_problem() -> None:
    native = chain()
    problem = Counted(native).full()
    w = np.random.default_rng(2).normal(size=native.dim)
    bounds, parts = _core.argmax_all(problem, w, 2)
    assert bounds.tolist() == [*range(native.size + 1)]
    for i, part in enumerate(parts.tolist()):
        assert problem.output(i, part) == tuple(sorted(native.argmax(i, native.score(i, w))[1].tolist()))
    begin, values, _, parts = _core.kbest_all(problem, w, 3, 1)
    native_begin, native_values, _, _ = _core.kbest_all(native, w, 3, 1)
    assert begin.tolist() == native_begin.tolist()
    assert_allclose(values, native_values, rtol=1e-9)
    with pytest.raises(MargraveError, match="not under other scores"):
        _core.argmax_all(problem, None, 1, theta=np.zeros(sum(map(problem.parts, range(problem.size)))))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, r"joint_kernel of example 3 with example \d+ must be finite, and it is nan"),
        (inf, r"joint_kernel of example 3 with example \d+ must be finite, and it is inf"),
        ("near", r"joint_kernel of example 3 with example \d+ must be a number, and it is 'near'"),
        (fail, "joint_kernel failed on example 3: KeyError: 'lost'"),
    ],
    ids=["nan", "inf", "a text", "a failure"],
)
def test_a_mistake_of_a_kernel_is_told_with_its_example(bad: Any, message: str) -> None:
    problem = of_kernel(joint_kernel=at(3, bad, inner_product))
    with pytest.raises(MargraveError, match=message):
        AveragedPerceptron().solve(Objective(problem, Hinge(), n_jobs=1))
