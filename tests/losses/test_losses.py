"""The loss family by its definition on every registered problem; batches, threads, certificates, and errors."""

from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave import Hinge, Log, LossFamily, MargraveError, Perceptron, SoftmaxMargin, _core
from margrave.learners import Objective
from margrave.losses import LOSSES, loss_named
from margrave.maps import FeatureTable
from margrave.structures import Chain, Multiclass
from margrave.testing.enumeration import LossByDefinition, Outputs, distribution, entropy_of, numerical_gradient
from tests.references.problems import bind
from tests.registry import KINDS, Case, Kind
from tests.registry.problems import Gaps

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=4, deadline=None)

FAMILY = [(1.0, 0.0), (1.0, 1.0), (1.0, 3.0), (3.0, 1.0), (0.5, 2.0), (inf, 1.0), (inf, 0.0)]
COSTS = [
    (cost, zero_one)
    for cost, zero_one in (
        *(("hamming", False), ("hamming", True), ("weights", False), ("matrix", False)),
        *(("costs", False), ("costs", True)),
    )
]


def kind_named(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


def costs_of(case: Case, i: int, zero_one: bool) -> np.ndarray:
    return case.wrong(i) if zero_one else case.costs[i]


def by_definition(case: Case, i: int, w: np.ndarray, beta: float, gamma: float, zero_one: bool) -> LossByDefinition:
    scores = case.outputs[i].values(case.matrices[i] @ w)
    return LossByDefinition.of(scores, costs_of(case, i, zero_one), case.gold_index(i), beta, gamma)


def gradient_of(case: Case, i: int, p: np.ndarray) -> np.ndarray:
    """A' (expected parts - gold parts) under a distribution over the outputs."""
    counts = case.outputs[i].counts
    return (p.astype(float) @ counts - counts[case.gold_index(i)]) @ case.matrices[i]


def batch(case_or_problem, w, beta, gamma, zero_one=False, scale=1.0, weight=None, threads=1, gradient=True):
    problem = case_or_problem.problem if isinstance(case_or_problem, Case) else case_or_problem
    family = _core.LossFamily(beta, gamma, zero_one, scale, weight)
    return _core.losses_and_gradient(problem, w, family, threads, gradient)


def cases(kind: Kind, seed: int):
    """(case, zero_one) for every cost that the problem has."""
    for cost, zero_one in COSTS:
        if cost in kind.costs:
            yield kind(seed, cost), zero_one


# ---- the family -----------------------------------------------------------------------------------------------------


@every_kind
@given(seed=seeds)
@few
def test_every_member_of_the_family_is_its_definition(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for case, zero_one in cases(kind, seed):
        w = rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal(case.problem.dim)
        for beta, gamma in FAMILY:
            losses, gradient = batch(case, w, beta, gamma, zero_one)
            total = np.zeros(case.problem.dim)
            for i in range(len(case)):
                expected = by_definition(case, i, w, beta, gamma, zero_one)
                assert_allclose(losses[i], expected.loss, rtol=1e-9, atol=1e-9)
                loss, cost, entropy, index, value = case.problem.oracle(i, w, _core.LossFamily(beta, gamma, zero_one))
                assert_allclose(loss, expected.loss, rtol=1e-9, atol=1e-9)
                assert_allclose(entropy, expected.entropy, rtol=1e-9, atol=1e-9)
                slope = np.zeros(case.problem.dim)
                slope[index] = value
                total += slope
                if beta < inf:
                    assert_allclose(slope, gradient_of(case, i, expected.p), rtol=1e-9, atol=1e-9)
                    if gamma > 0:
                        assert_allclose(cost, expected.cost, rtol=1e-9, atol=1e-9)
                else:  # any of the best outputs may have been taken
                    best = np.flatnonzero(_nearly_best(case, i, w, gamma, zero_one))
                    slopes = [gradient_of(case, i, np.eye(len(expected.p))[k]) for k in best]
                    near = [np.allclose(slope, s, rtol=1e-9, atol=1e-9) for s in slopes]
                    assert any(near)
                    if gamma > 0:
                        prices = costs_of(case, i, zero_one)[best[np.array(near)]]
                        assert np.isclose(prices, cost, rtol=1e-9, atol=1e-9).any()
            assert_allclose(gradient, total, rtol=1e-9, atol=1e-9)


def _nearly_best(case: Case, i: int, w: np.ndarray, gamma: float, zero_one: bool) -> np.ndarray:
    values = case.outputs[i].values(case.matrices[i] @ w) + gamma * costs_of(case, i, zero_one)
    return values >= values.max() - 1e-9


@pytest.mark.parametrize(
    "name", ["multiclass", "chain", "tree, single root", "hypergraph", "candidates", "written in Python"]
)
@pytest.mark.parametrize("zero_one", [False, True])
def test_the_expected_cost_is_that_of_the_distribution_also_without_a_margin(name: str, zero_one: bool) -> None:
    case = kind_named(name)(1)
    w = np.random.default_rng(1).standard_normal(case.problem.dim)
    for i in range(len(case)):
        expected = by_definition(case, i, w, 1.0, 0.0, zero_one)
        assert_allclose(
            case.problem.oracle(i, w, _core.LossFamily(1.0, 0.0, zero_one))[1], expected.cost, rtol=1e-9, atol=1e-9
        )


@every_kind
@given(seed=seeds)
@few
def test_gradients_agree_with_finite_differences(kind: Kind, seed: int) -> None:
    case = kind(seed, size=3)
    w = np.random.default_rng(seed).standard_normal(case.problem.dim)
    for member in ((1.0, 0.0, False), (1.0, 3.0, False), (0.5, 2.0, True)):

        def total(v: np.ndarray, member=member) -> float:
            return batch(case, v, *member, gradient=False)[0].sum()

        assert_allclose(batch(case, w, *member)[1], numerical_gradient(total, w), atol=1e-6)


@every_kind
@given(seed=seeds)
@few
def test_losses_are_convex_along_lines_and_never_negative(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for case, zero_one in cases(kind, seed):
        a, b = 3 * rng.standard_normal((2, case.problem.dim))
        for beta, gamma in FAMILY:
            ends = batch(case, a, beta, gamma, zero_one)[0], batch(case, b, beta, gamma, zero_one)[0]
            assert (ends[0] >= -1e-9).all()  # the gold output is among those that max_beta ranges over, at no cost
            _, slope = batch(case, a, beta, gamma, zero_one)
            assert ends[1].sum() >= ends[0].sum() + slope @ (b - a) - 1e-8  # above its tangent
            for share in (0.25, 0.5, 0.9):
                between = batch(case, (1 - share) * a + share * b, beta, gamma, zero_one)[0]
                assert (between <= (1 - share) * ends[0] + share * ends[1] + 1e-9).all()


@every_kind
@given(seed=seeds)
@few
def test_a_large_beta_comes_near_the_maximum(kind: Kind, seed: int) -> None:
    """max <= max_beta <= max + log(outputs) / beta."""
    case = kind(seed)
    w = np.random.default_rng(seed).standard_normal(case.problem.dim)
    for gamma in (0.0, 1.0):
        _assert_limit(case, w, gamma, zero_one=False)


def _assert_limit(case: Case, w: np.ndarray, gamma: float, *, zero_one: bool) -> None:
    hard = batch(case, w, inf, gamma, zero_one)[0]
    most = log(max(len(outputs.ys) for outputs in case.outputs))
    for beta in (1.0, 10.0, 100.0, 1000.0, 1e5):
        soft = batch(case, w, beta, gamma, zero_one)[0]
        assert (soft >= hard - 1e-9).all(), f"beta {beta}"
        assert (soft <= hard + most / beta + 1e-9).all(), f"beta {beta}"


def _two_labels(structure: str) -> _core.Problem:
    """One token, two labels: theta = w."""
    gold, x = np.zeros(1, dtype=np.int32), np.ones((1, 1))
    feature_map, classes = FeatureTable("all"), [0, 1]
    if structure == "multiclass":
        return bind(Multiclass(), x, gold, feature_map=feature_map, classes=classes, loss=Hinge())
    return bind(Chain(), [x], gold, feature_map=feature_map, classes=classes, loss=Hinge())


@pytest.mark.parametrize("beta", [1.0, 5.0, 10.0, 14.0, 20.0, 40.0, 1000.0])
@pytest.mark.parametrize("structure", ["multiclass", "chain"])
def test_the_zero_one_cost_is_exact_however_sure_the_model_is(structure: str, beta: float) -> None:
    """The gold label is better by `distance`: L = 1/beta log(1 + exp(beta (1 - distance))).

    Structures can only take the gold output away from a sum that it may dominate: they refuse where digits are lost.
    """
    problem = _two_labels(structure)
    w = np.zeros(problem.dim)
    if structure == "chain" and beta > 14:
        with pytest.raises(MargraveError, match="zero-one"):
            problem.oracle(0, w, _core.LossFamily(beta, 1.0, True))
        with pytest.raises(MargraveError, match="zero-one"):
            batch(problem, w, beta, 1.0, True)
        return
    for distance in (-5.0, 0.0, 0.9, 1.0, 1.1, 3.0, 10.0, 30.0, 50.0, 700.0):
        for level in (0.0, -100.0, 30.0):
            w[:2] = level + distance, level
            near = 1e-9 * max(1.0, beta * abs(w[:2]).max())  # what the scores themselves are known to
            expected = np.logaddexp(0.0, beta * (1 - distance)) / beta
            loss, cost, entropy, index, value = problem.oracle(0, w, _core.LossFamily(beta, 1.0, True))
            assert_allclose(loss, expected, rtol=1e-9, atol=near)
            wrong = 1 / (1 + exp(np.clip(-beta * (1 - distance), -700, 700)))
            assert_allclose(cost, wrong, rtol=1e-9, atol=near)
            gradient = np.zeros(problem.dim)
            gradient[index] = value
            assert_allclose(gradient[:2], [-wrong, wrong], rtol=1e-9, atol=near)
            h = entropy_of(np.array([wrong, 1 - wrong], dtype=np.longdouble))
            assert_allclose(entropy, h, rtol=1e-9, atol=100 * near)


@pytest.mark.parametrize("cost", ["hamming", "weights", "matrix", "none"])
@pytest.mark.parametrize("name", ["multiclass", "chain"])
def test_the_zero_one_cost_is_one_whatever_the_problem_was_bound_with(name: str, cost: str) -> None:
    for seed in range(10):
        case = kind_named(name)(seed, cost)
        w = np.random.default_rng(seed).standard_normal(case.problem.dim)
        for beta, gamma in FAMILY:
            losses, _ = batch(case, w, beta, gamma, True)
            expected = [by_definition(case, i, w, beta, gamma, True).loss for i in range(len(case))]
            assert_allclose(losses, expected, rtol=1e-9, atol=1e-9)


@every_kind
@given(seed=seeds)
@few
def test_weights_of_examples_scale_their_gradients_and_nothing_else(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = kind(seed)
    w, weight = rng.standard_normal(case.problem.dim), rng.uniform(0, 3, len(case))
    for beta, gamma in ((1.0, 1.0), (inf, 1.0)):
        losses, gradient = batch(case, w, beta, gamma, scale=0.7, weight=weight)
        assert np.array_equal(losses, batch(case, w, beta, gamma)[0])
        expected = np.zeros(case.problem.dim)
        for i in range(len(case)):
            _, _, _, index, value = case.problem.oracle(i, w, _core.LossFamily(beta, gamma))
            np.add.at(expected, index, 0.7 * weight[i] * value)
        assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9)
    assert len(batch(case, w, 1.0, 1.0, gradient=False)[1]) == 0


# ---- certificates ---------------------------------------------------------------------------------------------------


def dual(case: Case, C: float, ps: list[np.ndarray], beta: float, gamma: float) -> tuple[float, np.ndarray]:
    """D(alpha) and w(alpha) of docs/background/learning.md, from distributions over the enumerated outputs."""
    w = np.zeros(case.problem.dim)
    total = 0.0
    for i, p in enumerate(ps):
        w -= C * gradient_of(case, i, p)
        total += C * (gamma * float(p @ case.costs[i]) + (entropy_of(p) / beta if beta < inf else 0.0))
    return total - 0.5 * float(w @ w), w


@every_kind
@given(seed=seeds)
@few
def test_every_distribution_bounds_the_primal_from_below_by_the_formula(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case, C = kind(seed), 0.3
    w = rng.standard_normal(case.problem.dim)
    for beta, gamma in FAMILY[:-1]:
        losses, _ = batch(case, w, beta, gamma)
        primal = 0.5 * w @ w + C * losses.sum()
        ps = [distribution(3 * rng.standard_normal(len(o.ys)).astype(np.longdouble)) for o in case.outputs]
        value, w_of_alpha = dual(case, C, ps, beta, gamma)
        brackets = 0.0
        for i, p in enumerate(ps):
            h = entropy_of(p) / beta if beta < inf else 0.0
            bracket = losses[i] - (gamma * float(p @ case.costs[i]) + w @ gradient_of(case, i, p) + h)
            assert bracket >= -1e-9
            brackets += bracket
        assert_allclose(primal - value, C * brackets + 0.5 * ((w - w_of_alpha) ** 2).sum(), rtol=1e-9, atol=1e-9)


@every_kind
@given(seed=seeds)
@few
def test_the_gap_at_the_losses_own_distribution_is_half_the_squared_gradient(kind: Kind, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case, C = kind(seed), 0.3
    w = rng.standard_normal(case.problem.dim)
    weight = rng.uniform(0.5, 2.0, len(case))
    for beta, gamma in FAMILY:
        if beta == inf:
            continue
        losses, slope = batch(case, w, beta, gamma, scale=C)
        gradient = w + slope
        ps = [by_definition(case, i, w, beta, gamma, False).p for i in range(len(case))]
        primal, (value, _) = 0.5 * w @ w + C * losses.sum(), dual(case, C, ps, beta, gamma)
        assert_allclose(primal - value, 0.5 * gradient @ gradient, rtol=1e-9, atol=1e-9)
        # The same D from the distribution that the core returns.
        own = sum(
            gamma * cost + h / beta
            for _, cost, h, _, _ in (case.problem.oracle(i, w, _core.LossFamily(beta, gamma)) for i in range(len(case)))
        )
        assert_allclose(C * own - 0.5 * ((w - gradient) ** 2).sum(), value, rtol=1e-9, atol=1e-9)
        objective = Objective(case.problem, LossFamily(beta, gamma), C=C, sample_weight=weight, n_jobs=1)
        p, d, gap = objective.certify(w)
        weighted = w + batch(case, w, beta, gamma, scale=C, weight=weight)[1]
        assert_allclose(p, 0.5 * w @ w + C * losses @ weight, rtol=1e-9, atol=1e-9)
        error = objective.rounding.of_dual(p, float(np.linalg.norm(w)), float(np.linalg.norm(weighted)))
        assert_allclose(gap, 0.5 * weighted @ weighted, rtol=1e-9, atol=1e-9 + error)  # by which D may be lowered
        assert_allclose(d, p - gap, rtol=1e-9, atol=1e-9)


# ---- batches and threads --------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("zero_one", [False, True])
def test_any_number_of_threads_gives_the_same_bits(kind: Kind, zero_one: bool) -> None:
    case = kind(17, size=41)
    rng = np.random.default_rng(1)
    w, weight = rng.standard_normal(case.problem.dim), rng.uniform(0, 2, 41)
    for beta, gamma in FAMILY:
        first = batch(case, w, beta, gamma, zero_one, 0.7, weight)
        for threads in (2, 4, 2, 1, 7):
            again = batch(case, w, beta, gamma, zero_one, 0.7, weight, threads)
            assert np.array_equal(first[0], again[0]) and np.array_equal(first[1], again[1])


@every_kind
def test_batched_inference_is_that_of_the_examples_on_any_number_of_threads(kind: Kind) -> None:
    case = kind(23, size=33)
    problem = case.problem
    w = np.random.default_rng(2).standard_normal(problem.dim)
    for threads in (1, 2, 4):
        begin, parts = _core.argmax_all(problem, w, threads)
        bounds, log_z, mu = _core.marginals_all(problem, w, 0.7, threads)
        assert len(begin) == len(bounds) == 34 and bounds[-1] == len(mu) and begin[-1] == len(parts)
        for i in range(33):
            theta = problem.score(i, w)
            assert np.array_equal(parts[begin[i] : begin[i + 1]], problem.argmax(i, theta)[1])
            value, marginals = problem.logsum(i, 0.7 * theta)
            assert value == log_z[i] and np.array_equal(marginals, mu[bounds[i] : bounds[i + 1]])


@every_kind
def test_every_instruction_set_gives_the_same_losses_and_gradients(kind: Kind) -> None:
    case = kind(29, size=12)
    w = np.random.default_rng(3).standard_normal(case.problem.dim)
    best = _core.instruction_set()
    try:
        for beta, gamma in FAMILY:
            _core.choose_instruction_set("baseline")
            expected = batch(case, w, beta, gamma)
            for name in _core.instruction_sets():
                _core.choose_instruction_set(name)
                losses, gradient = batch(case, w, beta, gamma)
                assert_allclose(losses, expected[0], rtol=1e-12, atol=1e-12)
                assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-12)
    finally:
        _core.choose_instruction_set(best)


def test_batches_of_no_examples_and_of_one() -> None:
    case = kind_named("chain")(3)
    w = np.ones(case.problem.dim)
    for threads in (1, 4):
        losses, gradient = batch(case.problem.slice(1, 1), w, 1.0, 1.0, threads=threads)
        assert len(losses) == 0 and not gradient.any()
        losses, _ = batch(case.problem.slice(1, 2), w, 1.0, 1.0, threads=threads)
        assert_allclose(losses, by_definition(case, 1, w, 1.0, 1.0, False).loss, rtol=1e-9)
    begin, parts = _core.argmax_all(case.problem.slice(2, 2), w, 2)
    assert begin.tolist() == [0] and len(parts) == 0


@pytest.mark.parametrize("bad", [0, -1, 1025])
def test_a_senseless_number_of_threads_is_refused(bad: int) -> None:
    case = kind_named("chain")(3)
    with pytest.raises(MargraveError, match="n_jobs"):
        batch(case, np.zeros(case.problem.dim), 1.0, 0.0, threads=bad)


def test_senseless_members_of_the_family_are_refused() -> None:
    case = kind_named("chain")(3)
    w = np.zeros(case.problem.dim)
    for beta in (0.0, -1.0, np.nan):
        with pytest.raises(MargraveError, match="beta"):
            batch(case, w, beta, 0.0)
        with pytest.raises(MargraveError, match="beta"):
            case.problem.oracle(0, w, _core.LossFamily(beta, 0.0))
        with pytest.raises(MargraveError, match="beta"):
            LossFamily(beta, 0.0)
    for beta in (inf, np.nan):  # of marginals, which exist at finite temperatures
        with pytest.raises(MargraveError, match="beta"):
            _core.marginals_all(case.problem, w, beta, 1)
    for gamma in (-1.0, inf, np.nan):
        with pytest.raises(MargraveError, match="gamma"):
            batch(case, w, 1.0, gamma)
        with pytest.raises(MargraveError, match="gamma"):
            LossFamily(1.0, gamma)
    for C in (0.0, -1.0, inf, np.nan):
        with pytest.raises(MargraveError, match="C must be positive and finite"):
            _core.LossFamily(1.0, 0.0, C=C)
    for weight in (-1.0, inf, np.nan):
        with pytest.raises(MargraveError, match="sample_weight must be finite and not negative"):
            _core.LossFamily(1.0, 0.0, sample_weight=np.array([1.0, weight]))
    for wrong in (len(case) + 1, 0):
        with pytest.raises(MargraveError, match="sample_weight must have length"):
            batch(case, w, 1.0, 0.0, weight=np.ones(wrong))


def test_the_family_that_the_core_takes_is_a_value_of_its_own() -> None:
    weight = np.array([1.0, 2.0])
    family = Hinge("zero-one").core(0.5, weight)
    weight[0] = 9.0
    assert (family.beta, family.gamma, family.zero_one, family.C) == (inf, 1.0, True, 0.5)
    family.sample_weight[1] = 9.0
    assert family.sample_weight.tolist() == [1.0, 2.0]
    assert Log().core().sample_weight is None and LossFamily(2.0, 1.0).core(gamma=0.0).gamma == 0.0
    for name in ("beta", "gamma", "zero_one", "C", "sample_weight"):
        with pytest.raises(AttributeError):
            setattr(family, name, 1.0)


def test_scores_that_are_no_numbers_neither_hang_nor_crash(child) -> None:
    """A learner that diverges makes weights like these, and must be able to say so."""
    names = {
        "multiclass, vectors",
        "chain, vectors",
        "chain, order 2",
        "tree, vectors",
        "tree, single root",
        "hypergraph",
    }
    printed = child(f"""
from tests.registry import KINDS
for kind in KINDS:
    if kind.name not in {names}:
        continue
    for seed in range(100):
        problem = kind(seed).problem
        rng = np.random.default_rng(seed)
        for bad in (np.nan, np.inf, -np.inf, 1e308):
            w = rng.standard_normal(problem.dim)
            w[rng.random(problem.dim) < rng.choice([0.3, 1.0])] = bad
            for beta, gamma, zero_one in ((1.0, 1.0, False), (np.inf, 1.0, False), (np.inf, 1.0, True)):
                try:
                    _core.losses_and_gradient(problem, w, _core.LossFamily(beta, gamma, zero_one), 2, True)
                    _core.argmax_all(problem, w, 2)
                except MargraveError:
                    pass
    print(kind.name)
""")
    assert set(printed.splitlines()) == names


# ---- costs and names ------------------------------------------------------------------------------------------------


def test_names_are_corners_of_the_family() -> None:
    corners = {"log": (1.0, 0.0), "softmax-margin": (1.0, 1.0), "hinge": (inf, 1.0), "perceptron": (inf, 0.0)}
    assert set(LOSSES) == {*corners, "ramp", "expected-cost", "latent-log", "latent-hinge"}
    for name, corner in corners.items():
        loss = loss_named(name)
        assert (loss.beta, loss.gamma) == corner and loss.name == name
        assert loss_named(loss) is loss
    with pytest.raises(MargraveError, match="did you mean 'hinge'"):
        loss_named("hing")


def test_a_loss_asks_for_what_it_uses() -> None:
    assert Log().needs == SoftmaxMargin().needs == ("logsum",)
    assert Hinge().needs == Perceptron().needs == ("argmax",)
    assert set(Hinge("zero-one").needs) == {"argmax", "kbest"}
    assert LossFamily(inf, 0.0, "zero-one").needs == ("argmax",)


def test_costs_of_labels_are_refused_where_they_make_no_cost() -> None:
    for cost in ([1.0, -1.0], [1.0, inf], [np.nan, 1.0], [1.0], np.ones((2, 2)), np.zeros((2, 3)), [[0, -1], [1, 0]]):
        with pytest.raises(MargraveError, match="costs must be"):
            Hinge(cost).cost_matrix(["a", "b"])
    with pytest.raises(MargraveError, match="unknown label"):
        Hinge({"c": 1.0}).cost_matrix(["a", "b"])
    with pytest.raises(MargraveError, match="unknown cost"):
        Hinge("haming")
    assert Hinge([2.0, 3.0]).cost_matrix(["a", "b"]).tolist() == [[0.0, 2.0], [3.0, 0.0]]
    assert Hinge([[0, 5], [7, 0]]).cost_matrix(["a", "b"]).tolist() == [[0.0, 5.0], [7.0, 0.0]]
    assert Hinge().cost_matrix(["a"]).tolist() == [[0.0]]


def test_a_zero_one_margin_of_a_long_chain_is_the_second_best_path() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 4, 80).astype(np.int32)
    problem = bind(
        Chain(tied=False), [np.eye(80)], gold, feature_map=FeatureTable("all"), classes=list(range(4)), loss=Hinge()
    )
    w = 0.1 * rng.standard_normal(problem.dim)
    w[: 80 * 4].reshape(80, 4)[range(80), gold] += 1.0
    theta = problem.score(0, w)
    (first, best), (second, _) = problem.kbest(0, theta, 2)
    assert set(best.tolist()) == set(problem.gold(0).tolist())
    for gamma in (0.5 * (first - second), 2.0 * (first - second)):
        loss, cost, _, _, value = problem.oracle(0, w, _core.LossFamily(inf, gamma, True))
        expected = max(0.0, second + gamma - first)
        assert_allclose(loss, expected, rtol=1e-9, atol=1e-9)
        assert cost == (expected > 0) == value.any()


# ---- problems written in Python -------------------------------------------------------------------------------------


class Broken(Gaps):
    """Breaks in one of its methods, at one of its examples."""

    def __init__(self, method: str, how: str, size: int = 12) -> None:
        rng = np.random.default_rng(0)
        super().__init__([rng.standard_normal((4, 3)) for _ in range(size)], [(1,)] * size)
        self.method, self.how, self.kept = method, how, []

    def _break(self, method: str, i: int, result):
        if method != self.method or i != 7:
            return result
        if self.how == "raise":
            raise LookupError(f"no {method} today")
        return _damaged(result, self.how)

    def parts(self, i):
        return self._break("parts", i, super().parts(i))

    def score(self, i, w):
        return self._break("score", i, super().score(i, w))

    def row(self, i, v):
        return self._break("row", i, super().row(i, v))

    def gold(self, i):
        return self._break("gold", i, super().gold(i))

    def cost(self, i):
        return self._break("cost", i, super().cost(i))

    def argmax(self, i, theta):
        return self._break("argmax", i, super().argmax(i, theta))

    def logsum(self, i, theta):
        return self._break("logsum", i, super().logsum(i, theta))

    def kbest(self, i, theta, k):
        return self._break("kbest", i, super().kbest(i, theta, k))


def _damaged(result, how: str):
    """What a careless method might return instead."""
    if how == "none":
        return None
    if how == "text":
        return "text"
    if how == "short":  # one entry too few, or too many
        if isinstance(result, list):
            return [(value, np.append(y, 99)) for value, y in result]
        if isinstance(result, tuple):
            return tuple(np.append(x, 99) if isinstance(x, np.ndarray) else x for x in result)
        return np.append(result, 99)
    if isinstance(result, list):
        return [(value, np.append(y, -1)) for value, y in result]
    if isinstance(result, tuple):
        return tuple(-1 - x if isinstance(x, np.ndarray) and x.dtype.kind == "i" else x for x in result)
    return -1 - result


METHODS = {  # by the member of the family that calls it
    "score": (1.0, 1.0, False),
    "row": (1.0, 1.0, False),
    "gold": (1.0, 1.0, False),
    "cost": (1.0, 1.0, False),
    "logsum": (1.0, 1.0, False),
    "argmax": (inf, 1.0, False),
    "kbest": (inf, 1.0, True),
}


def _answers():
    return [np.random.default_rng(k).standard_normal((4, 3)) for k in range(5)], [(1,)] * 5


class Answering(Gaps):
    """Answers questions at weights itself, right or wrong."""

    def __init__(self, change=lambda kind, theta, found: (theta, found)) -> None:
        super().__init__(*_answers())
        self.change, self.asked = change, []

    def infer(self, i, w, question):
        self.asked.append(question)
        return self.change(question.kind, *super().infer(i, w, question))


def test_a_python_problem_may_answer_questions_at_weights_itself() -> None:
    w = np.array([0.3, -1.0, 0.5])
    for beta, gamma, zero_one in ((1.0, 0.0, False), (2.0, 1.0, True), (inf, 1.0, False), (inf, 1.0, True)):
        expected, slope = batch(Gaps(*_answers()), w, beta, gamma, zero_one)  # by scores and inference under them
        problem = Answering()
        for each in (problem, problem.slice(0, 5)):
            problem.asked.clear()
            losses, gradient = batch(each, w, beta, gamma, zero_one)
            assert_allclose(losses, expected, rtol=1e-12)
            assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)
            assert len(problem.asked) == 5


@pytest.mark.parametrize(
    ("change", "beta", "message"),
    [
        (lambda kind, theta, found: theta, inf, r"infer\(i, w, question\) must return the scores"),
        (lambda kind, theta, found: (theta[1:], found), inf, r"scores of infer\(i, w, question\) must have length 4"),
        (lambda kind, theta, found: (theta, []), inf, "returned no output"),
        (lambda kind, theta, found: (theta, [1.0]), inf, "must be pairs of a number and parts"),
        (lambda kind, theta, found: (theta, [(1.0, [4])]), inf, "part 4 is out of range"),
        (lambda kind, theta, found: (theta, 1.0), 1.0, "must be a number, indices and values"),
        (lambda kind, theta, found: (theta, (1.0, [3], [1.0])), 1.0, "has the index 3, out of range"),
        (lambda kind, theta, found: (theta, (1.0, [0, 1], [1.0])), 1.0, "the values of infer.* must have length 2"),
    ],
)
def test_a_wrong_answer_of_a_python_problem_is_refused(change, beta: float, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        batch(Answering(change), np.ones(3), beta, 0.0)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_an_exception_in_a_python_problem_comes_out_of_the_batch(method: str, threads: int) -> None:
    problem = Broken(method, "raise")
    beta, gamma, zero_one = METHODS[method]
    for _ in range(5):
        with pytest.raises(LookupError, match=f"no {method} today"):
            batch(problem, np.ones(3), beta, gamma, zero_one, threads=threads)
    problem.method = "nothing"
    assert np.isfinite(batch(problem, np.ones(3), beta, gamma, zero_one, threads=threads)[0]).all()
    problem.method = method
    if method in ("score", "argmax"):
        with pytest.raises(LookupError):
            _core.argmax_all(problem, np.ones(3), threads)
    if method in ("score", "logsum"):
        with pytest.raises(LookupError):
            _core.marginals_all(problem, np.ones(3), 1.0, threads)


def test_parts_that_fail_late_do_not_leave_threads_waiting_for_one_another(child) -> None:
    """parts(i) is asked again and again; here it fails at the `when`-th time, with other threads ahead."""
    printed = child("""
import time
from tests.losses.test_losses import Broken
class Late(Broken):
    def __init__(self, when):
        super().__init__("nothing", "")
        self.asked, self.when = 0, when
    def parts(self, i):
        if i == 3:
            self.asked += 1
            if self.asked == self.when:
                time.sleep(0.2)
                raise LookupError("no parts today")
        return 4
for when in range(1, 6):
    try:
        _core.losses_and_gradient(Late(when), np.ones(3), _core.LossFamily(1.0, 1.0), 3, True)
    except LookupError:
        pass
    print("came back", when)
""")
    assert printed.splitlines() == [f"came back {when}" for when in range(1, 6)]


def test_parts_that_change_their_number_are_refused(child) -> None:
    """What was made room for must be what is written."""
    printed = child("""
from tests.losses.test_losses import Broken
class Growing(Broken):
    asked = 0
    def parts(self, i):
        Growing.asked += 1
        return 4 if Growing.asked < 16 else 400_000
    def score(self, i, w):
        return np.zeros(Growing.parts(self, i))
    def logsum(self, i, theta):
        return 0.0, np.zeros(Growing.parts(self, i))
try:
    _core.losses_and_gradient(Growing("nothing", ""), np.ones(3), _core.LossFamily(1.0, 0.0), 1, True)
except MargraveError as error:
    print("refused:", error)
""")
    assert "refused" in printed


@pytest.mark.parametrize("how", ["none", "text", "short", "negative"])
@pytest.mark.parametrize("method", METHODS)
def test_nonsense_from_a_python_problem_is_refused_in_words(method: str, how: str) -> None:
    if how == "negative" and method in ("score", "cost", "logsum"):
        pytest.skip("numbers, not ids: any will do")
    problem = Broken(method, how)
    beta, gamma, zero_one = METHODS[method]
    for threads in (1, 2):
        with pytest.raises((MargraveError, TypeError, ValueError)) as caught:
            batch(problem, np.ones(3), beta, gamma, zero_one, threads=threads)
        assert "bad_cast" not in str(caught.value)


def test_a_method_that_is_missing_is_named() -> None:
    class Little(_core.Problem):
        def parts(self, i: int) -> int:
            return 2

    problem = Little(3, 2)
    assert problem.offers == [] and not problem.has_gold
    w = np.zeros(2)
    with pytest.raises(MargraveError, match="gold"):
        batch(problem, w, 1.0, 0.0)
    with pytest.raises(MargraveError, match="no score"):
        _core.argmax_all(problem, w, 2)
    for call, name in (
        (lambda: problem.score(0, w), "score"),
        (lambda: problem.argmax(0, w), "argmax"),
        (lambda: problem.logsum(0, w), "logsum"),
        (lambda: problem.kbest(0, w, 1), "kbest"),
        (lambda: problem.sample(0, w, 1), "sample"),
        (lambda: problem.entropy(0, w), "entropy"),
        (lambda: problem.argmax_by_cost(0, w, w), "argmax_by_cost"),
        (lambda: problem.row(0, w), "row"),
        (lambda: problem.scatter(0, w, 1.0, w.copy()), "row"),
        (lambda: problem.gold(0), "gold"),
        (lambda: problem.cost(0), "cost"),
        (lambda: problem.radius(0), "radius"),
    ):
        with pytest.raises(MargraveError, match=f"no {name}"):
            call()


def test_a_python_problem_that_forgets_to_begin_is_refused() -> None:
    class Forgetful(_core.Problem):
        def __init__(self) -> None:
            pass

    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
        batch(Forgetful(), np.zeros(1), 1.0, 0.0)
    with pytest.raises(MargraveError, match="number of weights must be from 0"):
        _core.Problem(2, -1)


class Hoarder(Gaps):
    """Keeps every array that it is given, and writes into them all."""

    def __init__(self, matrices, gold) -> None:
        super().__init__(matrices, gold)
        self.kept: list[tuple[np.ndarray, np.ndarray]] = []

    def _keep(self, x: np.ndarray) -> np.ndarray:
        copy = x.copy()
        self.kept.append((x, copy))
        return copy

    def score(self, i, w):
        return super().score(i, self._keep(w))

    def row(self, i, v):
        return super().row(i, self._keep(v))

    def logsum(self, i, theta):
        return super().logsum(i, self._keep(theta))

    def argmax(self, i, theta):
        return super().argmax(i, self._keep(theta))


def test_keeping_and_overwriting_what_a_python_problem_is_given_does_no_harm() -> None:
    case: Any = kind_named("written in Python")(5, size=30)
    hoarder = Hoarder(case.problem.matrices, case.problem.gold_parts)
    w = np.random.default_rng(0).standard_normal(case.problem.dim)
    before = w.copy()
    for beta, threads in ((1.0, 1), (1.0, 2), (inf, 2)):
        result = batch(hoarder, w, beta, 1.0, threads=threads)
        expected = batch(case, w, beta, 1.0)
        assert np.array_equal(result[0], expected[0]) and np.array_equal(result[1], expected[1])
        for given_array, copy in hoarder.kept:
            assert np.array_equal(given_array, copy, equal_nan=True)  # nobody wrote into it after the call
            given_array[:] = np.nan
            copy[:] = np.nan
    assert np.array_equal(w, before)
    assert np.array_equal(batch(hoarder, w, 1.0, 1.0, threads=2)[0], batch(case, w, 1.0, 1.0)[0])


def test_a_python_problem_that_only_knows_its_argmax_has_the_losses_that_need_no_more() -> None:
    class OnlyArgmax(Gaps):
        logsum = _core.Problem.logsum
        kbest = _core.Problem.kbest

    case: Any = kind_named("written in Python")(6)
    problem = OnlyArgmax(case.problem.matrices, case.problem.gold_parts)
    assert "argmax" in problem.offers and "logsum" not in problem.offers and "kbest" not in problem.offers
    w = np.random.default_rng(0).standard_normal(problem.dim)
    assert np.array_equal(batch(problem, w, inf, 1.0, threads=2)[0], batch(case, w, inf, 1.0)[0])
    for beta, zero_one, missing in ((1.0, False, "logsum"), (inf, True, "kbest")):
        for threads in (1, 2):
            with pytest.raises(MargraveError, match=f"offers no {missing}"):
                batch(problem, w, beta, 1.0, zero_one, threads=threads)


@pytest.mark.parametrize("method", ["dot", "scatter", "forbid"])
def test_every_method_that_a_python_problem_overrides_is_the_one_that_is_called(method: str) -> None:
    """The protocol of docs/architecture.md is the same in Python: nothing that a subclass says is silently ignored."""
    called = []

    class Overriding(Gaps):
        pass

    def record(self, *arguments):
        called.append(method)
        return getattr(super(Overriding, self), method)(*arguments)

    setattr(Overriding, method, record)
    case: Any = kind_named("written in Python")(6)
    problem = Overriding(case.problem.matrices, case.problem.gold_parts).slice(0, len(case))
    w = np.ones(problem.dim)
    if method == "dot":
        problem.dot(w, w)
    elif method == "scatter":
        batch(problem, w, 1.0, 0.0)
    else:
        problem.forbid(0, np.zeros(problem.parts(0)))
    assert called


def test_outputs_of_the_registry_are_what_this_file_believes() -> None:
    """A guard for the tests themselves: the perceptron's loss is the distance to the best output."""
    case = kind_named("tree, single root")(0)
    outputs: Outputs = case.outputs[1]
    assert len(outputs.ys) == 64  # 4^3 trees of four words under one root
    w = np.ones(case.problem.dim)
    scores = outputs.values(case.matrices[1] @ w)
    expected = float(scores.max() - scores[case.gold_index(1)])
    assert_allclose(batch(case, w, inf, 0.0)[0][1], expected, rtol=1e-12, atol=1e-12)
