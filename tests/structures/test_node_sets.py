"""Sets of nodes that hold, with a node, its parent: the structure against enumeration, and the classifier."""

import re
from collections.abc import Collection
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from margrave import HierarchicalMultiLabelClassifier, Hinge, MargraveError, Taxonomy, _core, load
from margrave.losses import LossFamily
from margrave.maps import FeatureTable
from margrave.structures import NodeSets
from margrave.testing.enumeration import Outputs
from tests.references.problems import bind
from tests.references.refusals import refusal

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
some = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def random_parents(rng: np.random.Generator, nodes: int) -> list[int]:
    """A forest whose nodes are numbered in any order."""
    order = rng.permutation(nodes)
    parents = np.full(nodes, -1)
    for k in range(1, nodes):
        if rng.random() < 0.75:
            parents[order[k]] = order[rng.integers(k)]
    return [int(p) for p in parents]


def closed_sets(parents: list[int]) -> list[tuple[int, ...]]:
    subsets = ([v for v in range(len(parents)) if bits >> v & 1] for bits in range(1 << len(parents)))
    return [tuple(y) for y in subsets if all(parents[v] < 0 or parents[v] in y for v in y)]


def problem_of(parents: list[int], gold: list[Collection[int]]) -> _core.Problem:
    return bind(
        NodeSets(Taxonomy(parents)),
        np.ones((len(gold), 1)),
        gold,
        feature_map=FeatureTable("all"),
        classes=list(range(len(parents))),
        loss=LossFamily(),
    )


@given(seed=seeds)
@some
def test_inference_is_that_of_all_closed_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = random_parents(rng, int(rng.integers(1, 9)))
    n = len(parents)
    outputs = Outputs(n, closed_sets(parents))
    gold = outputs.ys[rng.integers(len(outputs.ys))]
    problem = problem_of(parents, [gold])
    theta = rng.choice([1.0, 30.0]) * rng.standard_normal(n)
    if rng.random() < 0.4:
        theta[rng.random(n) < 0.3] = -inf
    values = outputs.values(theta).astype(float)

    value, y = problem.argmax(0, theta)
    assert value == pytest.approx(values.max(), abs=1e-9)
    assert tuple(y) in outputs.ys
    assert theta[y].sum() == pytest.approx(value, abs=1e-9)

    expected, marginals = outputs.logsum(theta)
    log_z, mu = problem.logsum(0, theta)
    assert log_z == pytest.approx(expected, abs=1e-9)
    assert_allclose(mu, marginals, rtol=1e-9, atol=1e-30)

    found = problem.kbest(0, theta, 5)
    assert_allclose([v for v, _ in found], np.sort(values[values > -inf])[::-1][:5], atol=1e-9)
    assert len({tuple(y) for _, y in found}) == len(found)

    delta = rng.integers(0, 3, n).astype(float)
    best = outputs.best_by_cost(theta, delta)
    by_cost = problem.argmax_by_cost(0, theta, delta)
    assert [cost for cost, _, _ in by_cost] == sorted(best)
    assert_allclose([v for _, v, _ in by_cost], [best[cost] for cost in sorted(best)], atol=1e-9)

    assert all(tuple(problem.sample(0, theta, k)) in outputs.ys for k in range(5))
    prices, c0 = problem.cost(0)
    for other in outputs.ys:
        assert c0 + prices[list(other)].sum() == len(set(other) ^ set(gold))


def test_samples_are_as_frequent_as_they_should_be() -> None:
    parents = [-1, 0, 0, -1, 3]
    outputs = Outputs(5, closed_sets(parents))
    theta = np.array([0.3, -0.5, 0.8, -1.0, 0.2])
    problem = problem_of(parents, [()])
    counts = np.mean([np.isin(np.arange(5), problem.sample(0, theta, k)) for k in range(20000)], axis=0)
    assert_allclose(counts, outputs.logsum(theta)[1], atol=0.02)  # five deviations


def test_deep_and_wide_trees_are_no_trouble() -> None:
    n = 50_000
    deep, wide = [-1, *range(n - 1)], [-1, *([0] * (n - 1))]
    for parents, best in ((deep, 1.0), (wide, float(n))):
        structure = _core.node_sets(np.array(parents, dtype=np.int32), 1, None, None, False)
        rows = _core.dense_rows(np.ones((1, 1)), np.array([0, 1]), True)
        table = _core.table(rows, _core.Pairs(1, n), np.zeros(0, np.int64), 0, 0, True, 1.0, False, False, None, None)
        problem = _core.join(structure, table)
        theta = np.full(n, -1.0) if parents is deep else np.ones(n)
        if parents is deep:
            theta[-1] = float(n)
        value, y = problem.argmax(0, theta)
        assert value == best and len(y) == n
        log_z, mu = problem.logsum(0, theta)
        assert np.isfinite(log_z) and ((mu > 0) & (mu <= 1)).all()


def test_the_radius_bounds_and_reaches_the_largest_difference() -> None:
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    for intercept, lengths in ((True, [26.0, 1.0]), (False, [25.0, 0.0])):
        problem = bind(
            NodeSets(Taxonomy([-1, 0, 0])),
            X,
            [{0}, {0, 1}],
            feature_map=FeatureTable("all"),
            classes=[0, 1, 2],
            intercept=intercept,
        )
        for i in range(2):
            index, value = problem.row(i, np.ones(3))  # the full set against the empty one
            assert problem.radius(i) == pytest.approx(np.sqrt(3 * lengths[i]))
            assert np.linalg.norm(value) == pytest.approx(problem.radius(i))
            assert len(index) == len(set(index))


def test_the_structure_refuses_what_is_no_closed_set_in_one_sentence() -> None:
    def make(parents: list[int], begin: Any = None, gold: Any = None, size: int = 1) -> Any:
        as_array = [None if x is None else np.array(x, dtype=t) for x, t in ((begin, np.int64), (gold, np.int32))]
        return lambda: _core.node_sets(np.array(parents, dtype=np.int32), size, *as_array, True)  # type: ignore[call-arg]

    assert "its own ancestor" in refusal(make([1, 0]))
    assert "its own ancestor" in refusal(make([0]))
    assert "parent is out of range" in refusal(make([5]))
    assert "parent is out of range" in refusal(make([-2]))
    assert "without its parent" in refusal(make([-1, 0], [0, 1], [1]))
    assert "occurs twice" in refusal(make([-1, 0], [0, 2], [0, 0]))
    assert "node is out of range" in refusal(make([-1, 0], [0, 1], [2]))
    assert "bounds" in refusal(make([-1, 0], [0, 2], [0]))
    assert "bounds" in refusal(make([-1, 0], [0, 1], [0], size=2))
    for size in (-1, 2**31, 2**63 - 1):
        assert "the number of examples must be from 0 to 16777216" in refusal(make([-1], size=size))
    two = NodeSets(Taxonomy([-1, 0]))
    learned = FeatureTable("all")
    bind(two, np.eye(1), [{0}], feature_map=learned, classes=[0, 1])
    assert "need a tree" in refusal(lambda: NodeSets(Taxonomy({"a": ["b", "c"]})).learn([["a"]]))
    assert "nodes of the taxonomy" in refusal(lambda: bind(two, np.eye(1), feature_map=learned, classes=[0, 7]))
    assert "2 examples and 1 sets" in refusal(
        lambda: bind(two, np.eye(2), [{0}], feature_map=FeatureTable("all"), classes=[0, 1])
    )
    assert "no outputs" in refusal(lambda: bind(two, np.eye(2), feature_map=FeatureTable("all"), classes=[0, 1]))


# ---- the classifier -------------------------------------------------------------------------------------------------

TREE = Taxonomy.from_names(["a.b.c", "a.b.d", "a.e", "f.g"])
NODES = ["a", "a.b", "a.b.c", "a.b.d", "a.e", "f", "f.g"]


def examples(rng: np.random.Generator, n: int = 40) -> tuple[np.ndarray, list[list[str]]]:
    """Attributes that tell, with some noise, which leaves an example has."""
    chosen = rng.random((n, 4)) < 0.4
    leaves = np.array(["a.b.c", "a.b.d", "a.e", "f.g"])
    return chosen + 0.1 * rng.standard_normal((n, 4)), [leaves[row].tolist() for row in chosen]


def closed(nodes: Collection[str]) -> list[str]:
    return sorted({above for node in nodes for above in TREE.ancestors(node)})


@pytest.mark.parametrize("loss", ["hinge", "log", "softmax-margin", Hinge(cost="zero-one")])
def test_it_learns_sets_and_predicts_closed_ones(loss: Any) -> None:
    X, Y = examples(np.random.default_rng(0))
    model = HierarchicalMultiLabelClassifier(loss, taxonomy=TREE, C=10.0, tol=1e-2).fit(X, Y)
    assert model.classes_.tolist() == NODES
    predicted = model.predict(X)
    assert predicted == [closed(nodes) for nodes in Y]
    assert [] in predicted and model.score(X, Y) == 1.0
    random = model.predict(np.random.default_rng(1).standard_normal((50, 4)))
    assert all(nodes == closed(nodes) for nodes in random)
    mu = model.predict_proba(X)
    assert mu.shape == (40, 7) and ((mu >= 0) & (mu <= 1)).all()
    for node in TREE:
        for parent in TREE.parents(node):
            assert (mu[:, NODES.index(node)] <= mu[:, NODES.index(parent)] + 1e-12).all()


def test_the_objective_is_that_of_its_definition() -> None:
    X, Y = examples(np.random.default_rng(2), 15)
    model = HierarchicalMultiLabelClassifier(taxonomy=TREE, C=0.3, tol=1e-3, learner="bcfw").fit(X, Y)
    parents = [NODES.index(TREE.parents(n)[0]) if TREE.parents(n) else -1 for n in NODES]
    counts = Outputs(7, closed_sets(parents)).counts
    theta = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), theta, atol=1e-12)
    gold = np.array([[node in closed(nodes) for node in NODES] for nodes in Y], dtype=float)
    cost = np.abs(counts[None] - gold[:, None]).sum(axis=2)
    slack = (cost + theta @ counts.T).max(axis=1) - (theta * gold).sum(axis=1)
    primal = 0.5 * ((model.coef_**2).sum() + (model.intercept_**2).sum()) + 0.3 * slack.sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.converged_


def test_every_form_of_y_is_the_same() -> None:
    X, Y = examples(np.random.default_rng(3))
    indicator = np.array([[node in closed(nodes) for node in NODES] for nodes in Y])
    leaves_only = np.array([[node in nodes for node in NODES] for nodes in Y], dtype=int)
    forms: list[Any] = [Y, [set(nodes) for nodes in Y], [tuple(closed(nodes)) for nodes in Y]]
    forms += [indicator, indicator.astype(float), csr_array(indicator), leaves_only]
    models = [HierarchicalMultiLabelClassifier(taxonomy=TREE).fit(X, form) for form in forms]
    for model, form in zip(models, forms, strict=True):
        assert_array_equal(model.coef_, models[0].coef_)
        assert model.score(X, form) == models[0].score(X, Y)
    from_names = HierarchicalMultiLabelClassifier(taxonomy=".").fit(X, Y)
    assert_array_equal(from_names.coef_, models[0].coef_)
    named = [{f"x{k}": v for k, v in enumerate(row)} for row in X]
    assert_allclose(HierarchicalMultiLabelClassifier(taxonomy=TREE).fit(named, Y).coef_, models[0].coef_, atol=1e-3)


def test_without_a_taxonomy_labels_know_nothing_of_each_other() -> None:
    from sklearn.linear_model import LogisticRegression

    X, Y = examples(np.random.default_rng(4))
    flat = HierarchicalMultiLabelClassifier("log", intercept=False, tol=1e-8).fit(X, Y)
    assert flat.classes_.tolist() == ["a.b.c", "a.b.d", "a.e", "f.g"] and not flat.intercept_.any()
    for k, leaf in enumerate(flat.classes_):
        alone = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(X, [leaf in nodes for nodes in Y])
        assert_allclose(flat.coef_[k], alone.coef_[0], atol=1e-3)
    by_number = HierarchicalMultiLabelClassifier("log", intercept=False, tol=1e-8)
    by_number.fit(X, np.array([[leaf in nodes for leaf in [*flat.classes_, "none"]] for nodes in Y]))
    assert by_number.classes_.tolist() == [0, 1, 2, 3, 4]
    assert_allclose(by_number.coef_[:4], flat.coef_, atol=1e-3)


@pytest.mark.parametrize("settings_of", [{}, {"intercept": False, "weights": "observed"}, {"weights": "hash:5"}])
def test_files_keep_the_classifier(settings_of: dict[str, Any], tmp_path: Path) -> None:
    X, Y = examples(np.random.default_rng(5))
    data = [{f"x{k}": v for k, v in enumerate(row)} for row in X] if "features" in settings_of else X
    model = HierarchicalMultiLabelClassifier(taxonomy=".", **settings_of).fit(data, Y)
    model.save(tmp_path / "model")
    kept = load(tmp_path / "model")
    assert isinstance(kept.estimator(), HierarchicalMultiLabelClassifier)
    assert kept.predict(data) == model.predict(data)
    assert_array_equal(kept.intercept_, model.intercept_)
    assert kept.taxonomy_ == model.taxonomy_
    kept.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_what_it_cannot_learn_from_is_refused_in_one_sentence() -> None:
    X = np.eye(2)

    def fit(Y: Any, X: Any = X, **of: Any) -> str:
        return refusal(lambda: HierarchicalMultiLabelClassifier(**({"taxonomy": TREE} | of)).fit(X, Y))

    assert fit([["a"], ["h"]]) == "example 1: the taxonomy has no node 'h'."
    assert fit([["a"], "a"]) == "example 1: its nodes must be a list or a set, not str."
    assert "2 examples in X and 1 in Y" in fit([["a"]])
    assert "node 'x' has more than one parent" in fit([[], []], taxonomy={"x": ["y", "z"]})
    assert "needs 7 columns, one per node, not 3" in fit(np.zeros((2, 3)))
    assert "only zeros and ones" in fit(np.full((2, 7), 0.5))
    assert "pass the taxonomy itself" in fit(np.zeros((2, 7)), taxonomy=".")
    assert "not str" in fit("ab")
    assert "'hamming', 'zero-one' or 'f1'" in fit([["a"], ["f"]], loss=Hinge(cost={"a": 2.0}))
    assert "intercept must be True or False" in fit([["a"], ["f"]], intercept=2)
    assert "at least one node" in fit([[], []], taxonomy=None)
    model = HierarchicalMultiLabelClassifier(taxonomy=TREE).fit(X, [["a"], ["f"]])
    assert "2 examples in X and 1 in y" in refusal(lambda: model.score(X, [["a"]]))


def test_scikit_learn_can_search_it() -> None:
    X, Y = examples(np.random.default_rng(6), 30)
    model = HierarchicalMultiLabelClassifier(taxonomy=TREE, tol=0.1)
    search = GridSearchCV(model, {"C": [1e-3, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"C": 1.0} and search.best_score_ > 0.9
    assert clone(model).get_params()["taxonomy"] == TREE


def test_all_examples_may_have_no_node() -> None:
    model = HierarchicalMultiLabelClassifier(taxonomy=TREE).fit(np.eye(3), [[], [], []])
    assert model.predict(np.eye(3)) == [[], [], []]
    assert model.score(np.eye(3), [[], [], []]) == 1.0


def test_the_f1_cost_of_nodes_can_be_minimized() -> None:
    X, Y = np.eye(3), [["a"], ["b"], ["a", "b"]]
    model = HierarchicalMultiLabelClassifier(Hinge("f1"), C=10.0).fit(X, Y)
    assert model.predict(X) == Y


@pytest.mark.parametrize("loss", [Hinge(cost={"a": 2.0}), Hinge(cost=[1.0, 2.0]), Hinge(cost=[[0.0, 1.0], [1.0, 0.0]])])
def test_the_message_about_costs_names_all_that_are_accepted(loss) -> None:
    make = HierarchicalMultiLabelClassifier
    with pytest.raises(MargraveError) as error:
        make(loss).fit([["a"], ["b"]], [["a"], ["b"]])
    named = re.findall(r"'([a-z0-9-]+)'", str(error.value))
    assert named == [kind.name for kind in NodeSets.costs] == ["hamming", "zero-one", "f1"]
    for name in named:
        make(Hinge(cost=name)).fit([["a"], ["b"]], [["a"], ["b"]])
