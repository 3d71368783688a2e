"""Output features of classes, taxonomies and their tree loss, and the classifier made of them."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from margrave import (
    Hinge,
    LinearClassifier,
    Taxonomy,
    TaxonomyClassifier,
    _core,
    load,
)
from margrave.datasets import read_taxonomy
from margrave.losses import LossFamily, loss_named
from margrave.maps import FeatureTable
from margrave.maps.outputs import class_ancestors, class_similarity, class_words, side_by_side
from margrave.structures import Multiclass
from tests.references.problems import bind
from tests.references.refusals import refusal

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
some = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)

ANIMALS = {"cat": "mammal", "dog": "mammal", "carp": "fish", "trout": "fish", "mammal": "animal", "fish": "animal"}


def random_taxonomy(rng: np.random.Generator, nodes: int, most_parents: int) -> Taxonomy:
    """Nodes n0, n1, ..., each below some that come before it."""
    names = [f"n{k}" for k in range(nodes)]
    return Taxonomy(
        {
            name: [str(p) for p in rng.choice(names[:k], min(k, rng.integers(most_parents + 1)), replace=False)]
            for k, name in enumerate(names)
        }
    )


# ---- taxonomies -----------------------------------------------------------------------------------------------------


def test_every_way_to_make_a_taxonomy_makes_the_same_one(tmp_path: Path) -> None:
    paths = ["1", "1/1", "1/1/1", "1/2", "2", "2/1"]
    made = Taxonomy({"1/1": "1", "1/1/1": "1/1", "1/2": ["1"], "2": None, "2/1": "2"})
    (tmp_path / "paths").write_text("".join(f"{path}\n" for path in paths))
    (tmp_path / "down").write_text("1\t1/1\n1/1\t1/1/1\n1\t1/2\n2\t2/1\n")
    (tmp_path / "up").write_text("1/1\t1\n1/1/1\t1/1\n\n1/2\t1\n2/1\t2\n")
    assert Taxonomy.from_names(["1/1/1", "1/2", "2/1"], "/") == made
    assert Taxonomy.from_pairs([("1/1", "1"), ("1/1/1", "1/1"), ("1/2", "1"), ("2/1", "2"), ("2", None)]) == made
    assert read_taxonomy(tmp_path / "paths") == made
    assert read_taxonomy(tmp_path / "down") == made
    assert read_taxonomy(tmp_path / "up", child_first=True) == made
    assert read_taxonomy(tmp_path / "up") != made
    assert Taxonomy([-1, 0, 0, None, [1, 3]]) == Taxonomy({1: 0, 2: 0, 3: None, 4: (3, 1)})
    assert Taxonomy(np.array([-1, 0, 0])) == Taxonomy({1: 0, 2: 0})


def test_what_lies_above_and_below() -> None:
    animals = Taxonomy(ANIMALS | {"seal": ["mammal", "fish"]})
    assert len(animals) == 8 and "cat" in animals and "cow" not in animals
    assert animals.nodes[0] == "animal" and set(animals) == set(animals.nodes)
    assert all(animals.nodes.index(p) < animals.nodes.index(n) for n in animals for p in animals.parents(n))
    assert animals.ancestors("seal") == ("seal", "mammal", "fish", "animal")
    assert animals.ancestors("animal") == ("animal",)
    assert set(animals.children("mammal")) == {"cat", "dog", "seal"} and animals.children("cat") == ()
    assert set(animals.leaves) == {"cat", "dog", "carp", "trout", "seal"}
    assert [animals.height(n) for n in ("cat", "fish", "animal")] == [0, 1, 2]
    assert not animals.is_forest and Taxonomy(ANIMALS).is_forest
    assert repr(animals) == "<Taxonomy of 8 nodes, 5 of them leaves>"


def test_wrong_taxonomies_are_refused_in_one_sentence(tmp_path: Path) -> None:
    assert refusal(lambda: Taxonomy({"a": "b", "b": "c", "c": "a"})).startswith(
        "a taxonomy must not have cycles, and this one has"
    )
    assert "'a' below 'a'" in refusal(lambda: Taxonomy({"a": "a"}))
    assert "empty name" in refusal(lambda: Taxonomy({"a": " "}))
    assert "empty name" in refusal(lambda: Taxonomy({"": "a"}))
    assert "at least one node" in refusal(lambda: Taxonomy({}))
    assert "not str" in refusal(lambda: Taxonomy("a.b"))
    assert "string or a number" in refusal(lambda: Taxonomy({("a",): None}))
    assert "one is nan" in refusal(lambda: Taxonomy({float("nan"): None}))
    assert "pairs (child, parent)" in refusal(lambda: Taxonomy.from_pairs([("a", "b", "c")]))
    assert "'a..b' has an empty part" in refusal(lambda: Taxonomy.from_names(["a..b"]))
    assert "such as '.' or '/'" in refusal(lambda: Taxonomy.from_names(["a"], ""))
    assert "must be strings, and one is 3" in refusal(lambda: Taxonomy.from_names([3]))
    assert "no such file" in refusal(lambda: read_taxonomy(tmp_path / "none"))
    animals = Taxonomy(ANIMALS)
    for ask in (animals.ancestors, animals.height, animals.parents, animals.children):
        assert refusal(lambda ask=ask: ask("cow")) == "the taxonomy has no node 'cow'."
    assert "no node ['cat']" in refusal(lambda: animals.height(["cat"]))
    assert "no node 'cow'" in refusal(lambda: animals.tree_losses(["cat", "cow"]))


def test_the_tree_loss_is_the_height_of_the_first_common_ancestor() -> None:
    animals = Taxonomy(ANIMALS)
    assert_array_equal(
        animals.tree_losses(["cat", "dog", "carp", "mammal"]),
        [[0, 1, 2, 1], [1, 0, 2, 1], [2, 2, 0, 2], [1, 1, 2, 0]],
    )
    assert animals.tree_loss("mammal", "mammal") == 0
    uneven = Taxonomy.from_names(["a.b.c", "a.d", "a.e", "f"])
    assert uneven.tree_loss("a.d", "a.e") == 2  # the height of a, whose longest way down is a.b.c
    assert uneven.tree_loss("a.b", "a.b.c") == 1
    assert uneven.tree_loss("a.d", "f") == 3  # the root without a name
    diamond = Taxonomy({"x": ["left", "right"], "y": ["right"], "z": ["left"], "left": "top", "right": "top"})
    assert [diamond.tree_loss("x", "y"), diamond.tree_loss("x", "z"), diamond.tree_loss("y", "z")] == [1, 1, 2]
    deep = Taxonomy({"x": ["low", "high"], "y": ["low", "high"], "w": "high", "v": "w"})
    assert deep.tree_loss("x", "y") == 1  # low rather than high, although both are above both


@given(seed=seeds)
@some
def test_tree_losses_are_those_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    taxonomy = random_taxonomy(rng, int(rng.integers(1, 9)), int(rng.integers(1, 4)))
    heights = {n: 0 for n in taxonomy}
    for node in reversed(taxonomy.nodes):
        for parent in taxonomy.parents(node):
            heights[parent] = max(heights[parent], heights[node] + 1)
    assert all(taxonomy.height(n) == h for n, h in heights.items())
    losses = taxonomy.tree_losses(taxonomy.nodes)
    for i, a in enumerate(taxonomy.nodes):
        for j, b in enumerate(taxonomy.nodes):
            common = set(taxonomy.ancestors(a)) & set(taxonomy.ancestors(b))
            root = 1 + max(heights.values())
            by_hand = 0 if a == b else min((heights[z] for z in common), default=root)
            assert losses[i, j] == taxonomy.tree_loss(a, b) == by_hand


# ---- output features ------------------------------------------------------------------------------------------------


@given(seed=seeds)
@some
def test_features_of_ancestors_are_the_weights_of_the_nodes_above(seed: int) -> None:
    rng = np.random.default_rng(seed)
    taxonomy = random_taxonomy(rng, int(rng.integers(2, 9)), 3)
    classes = sorted(str(n) for n in rng.choice(taxonomy.nodes, rng.integers(2, len(taxonomy) + 1), replace=False))
    weights = {str(n): float(rng.integers(0, 5)) for n in rng.choice(taxonomy.nodes, 2)}
    output = class_ancestors(taxonomy, classes, weights)
    dense = output.matrix.toarray()
    assert len(set(output.names)) == len(output.names) == dense.shape[1]
    for z in taxonomy:
        below = np.array([z in taxonomy.ancestors(y) for y in classes])
        if z in output.names:
            assert_array_equal(dense[:, output.names.index(z)], below * weights.get(z, 1.0))
        else:
            assert below.all() or not below.any()  # it cannot distinguish the classes


def test_features_of_descriptions_are_their_tf_idf() -> None:
    texts = {"a": "the red wine, red", "b": "The white wine", "c": "the x", "d": "of no concern"}
    output = class_words(texts, ["a", "b", "c"])
    assert output.names == ["red", "white", "wine", "x"]
    rare, common = np.log(4 / 2) + 1, np.log(4 / 3) + 1
    rows = np.array([[2 * rare, 0, common, 0], [0, rare, common, 0], [0, 0, 0, rare]])
    assert_allclose(output.matrix.toarray(), rows / np.linalg.norm(rows, axis=1, keepdims=True), rtol=1e-12)


@given(seed=seeds)
@some
def test_features_of_a_similarity_have_it_as_inner_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, rank = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    root = rng.standard_normal((n, rank))
    output = class_similarity(root @ root.T, list(range(n)))
    dense = output.matrix.toarray()
    assert dense.shape[1] == len(output.names) <= min(n, rank)
    assert_allclose(dense @ dense.T, root @ root.T, atol=1e-10)


def test_blocks_side_by_side_add_up_similarities() -> None:
    both = side_by_side(
        [
            class_ancestors(Taxonomy(dict.fromkeys("abc")), list("abc")),
            class_words({"a": "x y", "b": "y", "c": "z"}, list("abc")),
        ]
    )
    words = both.matrix.toarray()[:, 3:]
    assert_allclose((both.matrix @ both.matrix.T).toarray(), np.eye(3) + words @ words.T)
    assert both.names == ["a", "b", "c", "x", "y", "z"]


@pytest.mark.parametrize("pairs", ["all", "observed"])
@given(seed=seeds)
@some
def test_the_features_of_an_output_are_the_tensor_product(pairs: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, classes, width = (int(k) for k in rng.integers(1, 6, 4))
    phi = rng.integers(-2, 3, (n, d)) / 2.0
    lambdas = rng.standard_normal((classes, width)) * (rng.random((classes, width)) < 0.6)
    gold = rng.integers(0, classes, n).astype(np.int32)
    problem = bind(
        Multiclass(),
        phi,
        gold,
        feature_map=FeatureTable(pairs),
        classes=list(range(classes)),
        output=csr_array(lambdas),
    )
    kept = np.ones((d, width), dtype=bool) if pairs == "all" else (phi != 0).T @ (lambdas[gold] != 0)
    assert problem.dim == kept.sum()
    for i in range(n):
        a = np.array([np.outer(phi[i], row)[kept] for row in lambdas]).reshape(classes, problem.dim)  # Psi(x, y)
        w, v, g = rng.standard_normal(problem.dim), rng.standard_normal(classes), rng.standard_normal(problem.dim)
        v[rng.random(classes) < 0.5] = 0.0
        assert_allclose(problem.score(i, w), a @ w, atol=1e-12)
        index, value = problem.row(i, v)
        dense = np.zeros(problem.dim)
        dense[index] = value
        assert_allclose(dense, a.T @ v, atol=1e-12)
        spread = g.copy()
        problem.scatter(i, v, 0.5, spread)
        assert_allclose(spread, g + 0.5 * (a.T @ v), atol=1e-12)
        moved = g.copy()
        change = problem.move(i, v, 0.5, moved)
        assert_allclose(moved, spread, atol=1e-12)
        assert change == pytest.approx(0.5 * (moved @ moved - g @ g), abs=1e-10)
        widest = max(float(np.linalg.norm(p - q)) for p in a for q in a)
        assert problem.radius(i) >= widest - 1e-9
        if pairs == "all":
            assert problem.radius(i) == pytest.approx(widest, abs=1e-7)


def test_classes_without_any_feature_leave_an_observed_table_empty() -> None:
    feature_map = FeatureTable("observed")
    output = csr_array(np.array([[0.0], [1.0]]))
    problem = bind(
        Multiclass(),
        np.eye(300),
        np.zeros(300, dtype=np.int32),
        feature_map=feature_map,
        classes=["nothing", "something"],
        output=output,
    )
    assert problem.dim == 0
    assert_array_equal([problem.score(i, np.zeros(0)) for i in range(300)], np.zeros((300, 2)))
    assert problem.move(0, np.ones(2), 1.0, np.zeros(0)) == 0


def test_the_core_refuses_matrices_that_do_not_fit() -> None:
    begin, none = np.arange(3, dtype=np.int64), np.zeros(0, dtype=np.int64)
    rows = _core.dense_rows(np.eye(2), begin, True)
    table = _core.table(rows, _core.Pairs(2, 3), none, 0, 0, True, 1.0, False, False, None, None)

    def make(width: int, bounds: Any, column: Any, value: Any, spread: float = 0.0) -> Any:
        return lambda: _core.output_features(
            table, width, np.array(bounds), np.array(column, dtype=np.int32), np.array(value, dtype=float), spread
        )

    assert make(3, [0, 1, 2], [0, 2], [1.0, 1.0])().dim == 6
    assert "has 3 output features, and the matrix has 4" in refusal(make(4, [0, 1], [0], [1.0]))
    assert "bounds" in refusal(make(3, [0, 2], [0], [1.0]))
    assert "bounds" in refusal(make(3, [1, 1], [0], [1.0]))
    assert "as many values" in refusal(make(3, [0, 1], [0], [1.0, 2.0]))
    assert "out of range" in refusal(make(3, [0, 1], [3], [1.0]))
    assert "finite" in refusal(make(3, [0, 1], [0], [np.inf]))
    assert "spread" in refusal(make(3, [0, 1], [0], [1.0], np.nan))


def test_features_that_do_not_fit_the_classes_are_refused_in_one_sentence() -> None:
    animals, classes = Taxonomy(ANIMALS), ["carp", "cat"]
    assert "a weight for 'cow'" in refusal(lambda: class_ancestors(animals, classes, {"cow": 1.0}))
    assert "not negative" in refusal(lambda: class_ancestors(animals, classes, {"cat": -1.0}))
    assert "mapping from nodes" in refusal(lambda: class_ancestors(animals, classes, [1.0]))
    assert "'cat' has no description" in refusal(lambda: class_words({"carp": "wet"}, classes))
    assert "must be a string" in refusal(lambda: class_words({"carp": 1, "cat": "x"}, classes))
    assert "no words" in refusal(lambda: class_words({"carp": "", "cat": "!"}, classes))
    assert "distinguish the classes" in refusal(lambda: class_words({"carp": "it is", "cat": "is it"}, classes))
    assert "mapping from classes" in refusal(lambda: class_words(["wet", "dry"], classes))
    assert "2 x 2 classes, not of shape (3, 3)" in refusal(lambda: class_similarity(np.eye(3), classes))
    assert "symmetric" in refusal(lambda: class_similarity([[1, 0.5], [0, 1]], classes))
    assert "negative eigenvalue" in refusal(lambda: class_similarity([[0, 1], [1, 0]], classes))
    assert "finite" in refusal(lambda: class_similarity([[np.nan, 0], [0, 1]], classes))
    assert "zero" in refusal(lambda: class_similarity(np.zeros((2, 2)), classes))
    assert "numbers" in refusal(lambda: class_similarity("x", classes))


# ---- the classifier -------------------------------------------------------------------------------------------------


def blobs(rng: np.random.Generator, classes: list[str], n: int = 12, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Examples of each class around a place of its own."""
    y = np.repeat(classes, n)
    places = {name: rng.standard_normal(d) for name in classes}
    return np.array([places[name] for name in y]) + 0.4 * rng.standard_normal((len(y), d)), y


CLASSES = ["carp", "cat", "dog", "trout"]


@pytest.mark.parametrize("loss", ["hinge", "log", "softmax-margin"])
def test_a_flat_taxonomy_is_the_structured_classifier(loss: str) -> None:
    X, y = blobs(np.random.default_rng(0), CLASSES)
    plain = LinearClassifier(loss, tol=1e-3).fit(X, y)
    flat = [
        TaxonomyClassifier(loss, tol=1e-3),
        TaxonomyClassifier(loss, tol=1e-3, taxonomy=dict.fromkeys(CLASSES)),
        TaxonomyClassifier(loss, tol=1e-3, taxonomy=dict.fromkeys(CLASSES, "animal")),
        TaxonomyClassifier(loss, tol=1e-3, taxonomy=".", cost="zero-one"),
    ]
    for model in flat:
        model.fit(X, y)
        assert model.output_features_ == CLASSES
        assert_array_equal(model.coef_, plain.coef_)
        assert_array_equal(model.predict(X), plain.predict(X))
        assert_array_equal(model.decision_function(X), plain.decision_function(X))
        assert [r.primal for r in model.history_] == [r.primal for r in plain.history_]


@pytest.mark.parametrize("cost", ["tree", "zero-one", "matrix", "numbers", "mapping"])
def test_the_objective_is_that_of_its_definition(cost: str) -> None:
    rng = np.random.default_rng(1)
    X, y = blobs(rng, CLASSES, 5)
    matrix = rng.random((4, 4)) * (1 - np.eye(4))
    given: dict[str, Any] = {
        "matrix": matrix,
        "numbers": [1.0, 2.0, 3.0, 4.0],
        "mapping": {"cat": 3.0},
    }
    delta = {
        "tree": np.array([[0, 2, 2, 1], [2, 0, 1, 2], [2, 1, 0, 2], [1, 2, 2, 0]]),
        "zero-one": 1 - np.eye(4),
        "matrix": matrix,
        "numbers": np.array([1, 2, 3, 4])[:, None] * (1 - np.eye(4)),
        "mapping": np.array([1, 3, 1, 1])[:, None] * (1 - np.eye(4)),
    }[cost]
    weights = {"fish": 0.5, "dog": 2.0}
    model = TaxonomyClassifier(
        taxonomy=ANIMALS, node_weights=weights, cost=given.get(cost, cost), C=0.3, learner="bcfw", tol=1e-3
    ).fit(X, y)
    assert model.classes_.tolist() == CLASSES
    assert model.output_features_[:4] == CLASSES and set(model.output_features_[4:]) == {"mammal", "fish"}
    lambdas = np.array(
        [[weights.get(z, 1.0) * (z in (c, ANIMALS[c])) for z in model.output_features_] for c in CLASSES]
    )
    assert_array_equal(model.output_matrix_.toarray(), lambdas)
    scores = X @ model.coef_.T @ lambdas.T
    assert_allclose(model.decision_function(X), scores, atol=1e-10)
    gold = np.array([CLASSES.index(name) for name in y])
    slack = (delta[gold] + scores).max(axis=1) - scores[range(len(y)), gold]
    primal = 0.5 * (model.coef_**2).sum() + 0.3 * slack.sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.converged_ and model.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize("rescale", ["margin", "slack"])
@pytest.mark.parametrize("slack", [1, 2])
def test_the_tree_loss_re_scales_slacks_and_margins(rescale: str, slack: int) -> None:
    X, y = blobs(np.random.default_rng(7), CLASSES, 5, 3)
    loss = Hinge(rescale=rescale, slack=slack)
    model = TaxonomyClassifier(loss, taxonomy=ANIMALS, C=0.3, learner="cutting-plane", tol=1e-5).fit(X, y)
    scores = model.decision_function(X)
    gold = np.array([CLASSES.index(name) for name in y])
    delta = Taxonomy(ANIMALS).tree_losses(CLASSES)[gold]
    r = np.sqrt(delta) if slack == 2 else delta
    m = scores[range(len(y)), gold][:, None] - scores
    xi = (r - m if rescale == "margin" else r * (1 - m)).max(axis=1).clip(0)
    losses = xi if slack == 1 else 0.5 * xi**2
    primal = 0.5 * (model.coef_**2).sum() + 0.3 * losses.sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert abs(model.certificate_.relative_gap) <= 1e-5


def test_a_taxonomy_is_the_similarity_of_shared_ancestors() -> None:
    X, y = blobs(np.random.default_rng(2), CLASSES)
    tree = TaxonomyClassifier("log", taxonomy=ANIMALS, tol=1e-9).fit(X, y)
    kernel = (tree.output_matrix_ @ tree.output_matrix_.T).toarray()
    same = TaxonomyClassifier("log", similarity=kernel, tol=1e-9).fit(X, y)
    assert same.coef_.shape == (4, 6) and tree.coef_.shape == (6, 6)
    assert same.certificate_.primal == pytest.approx(tree.certificate_.primal, rel=1e-7)
    assert_allclose(same.decision_function(X), tree.decision_function(X), atol=1e-3)
    assert_allclose(same.predict_proba(X), tree.predict_proba(X), atol=1e-4)


def test_a_class_without_examples_is_predicted_from_its_place() -> None:
    X = [["wet", "small"], ["wet", "large"], ["dry", "small"], ["dry", "large"]] * 3
    y = ["fish", "whale", "mouse", "horse"] * 3
    taxonomy = {
        "fish": ["sea", "little"],
        "whale": ["sea", "big"],
        "mouse": ["land", "little"],
        "horse": ["land", "big"],
    }
    model = TaxonomyClassifier(taxonomy=taxonomy, classes=sorted(taxonomy), C=10.0)
    model.fit(X[:3], y[:3])  # no horse
    assert model.classes_.tolist() == ["fish", "horse", "mouse", "whale"]
    assert model.predict(X).tolist() == y
    nothing = TaxonomyClassifier(classes=sorted(taxonomy), C=10.0).fit(X[:3], y[:3])
    assert nothing.decision_function([["dry", "large"]])[0, 1] == 0.0  # without shared features it stays at nothing


def test_a_class_without_examples_is_predicted_from_its_description() -> None:
    places, sizes = ("water", "field", "air", "desert"), ("small", "middling", "large")
    X = [[place, size] for place in places for size in sizes]
    descriptions = {f"animal {k}": f"It lives in {place}, and is {size}." for k, (place, size) in enumerate(X)}
    y = list(descriptions)
    seen = [k for k in range(len(y)) if k not in (0, 7)]
    model = TaxonomyClassifier(descriptions=descriptions, classes=y, C=10.0)
    model.fit([X[k] for k in seen], [y[k] for k in seen])
    assert model.predict(X).tolist() == y
    assert set(model.output_features_) > {"water", "large", "animal 0"}


def test_classes_without_examples_do_not_change_what_is_learned() -> None:
    X, y = blobs(np.random.default_rng(3), CLASSES)
    taxonomy = ANIMALS | {"shark": "fish", "cow": "mammal"}
    known = TaxonomyClassifier("log", taxonomy=taxonomy, tol=1e-10).fit(X, y)
    more = TaxonomyClassifier("log", taxonomy=taxonomy, tol=1e-10, classes=[*CLASSES, "cow", "shark"]).fit(X, y)
    assert more.certificate_.primal == pytest.approx(known.certificate_.primal, rel=1e-9)
    for name in ("cow", "shark"):
        assert not more.coef_[more.output_features_.index(name)].any()
    scores = more.decision_function(X)[:, [more.classes_.tolist().index(name) for name in CLASSES]]
    assert_allclose(scores, known.decision_function(X), atol=1e-4)


@pytest.mark.parametrize(
    "settings_of",
    [
        {"taxonomy": ANIMALS, "node_weights": {"fish": 0.5}, "classes": [*CLASSES, "fish"]},
        {"taxonomy": Taxonomy(ANIMALS | {"dog": ["mammal", "fish"]}), "cost": "zero-one", "loss": "softmax-margin"},
        {"descriptions": {name: f"the {name} eats" for name in CLASSES}, "cost": {"cat": 2.0}},
        {"descriptions": dict.fromkeys(CLASSES, "x") | {"cat": "y"}, "node_weights": {"cat": 0.5}},
        {"similarity": np.eye(4) + 1.0, "cost": 1 - np.eye(4), "weights": "observed"},
        {"taxonomy": "a", "weights": "hash:6"},
        {"taxonomy": ANIMALS, "loss": Hinge(rescale="slack", slack=2), "learner": "cutting-plane"},
    ],
)
def test_files_keep_the_classifier(settings_of: dict[str, Any], tmp_path: Path) -> None:
    X = [{name: 1.0, "eats": 2.0} for name in CLASSES] * 2
    y = CLASSES * 2
    if settings_of.get("taxonomy") == "a":
        y = ["xay", "xaz", "uav", "uaw"] * 2
    model = TaxonomyClassifier(**settings_of).fit(X, y)
    model.save(tmp_path / "model")
    kept = load(tmp_path / "model")
    assert isinstance(kept.estimator(), TaxonomyClassifier)
    assert_array_equal(kept.decision_function(X), model.decision_function(X))
    assert_array_equal(kept.predict(X), model.predict(X))
    assert_array_equal(kept.output_matrix_.toarray(), model.output_matrix_.toarray())
    assert kept.output_features_ == model.output_features_
    assert loss_named(kept.loss).name == loss_named(model.loss).name
    kept.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    again = clone(kept.estimator()).fit(X, y)
    assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("map_.column", np.array([0, 99, 1, 2], dtype=np.int32)),
        ("map_.begin", np.array([0, 1, 2, 3], dtype=np.int64)),
        ("map_.begin", np.array([0, 9, 2, 3, 4], dtype=np.int64)),
        ("map_.value", np.array([1.0, np.nan, 1.0, 1.0])),
        ("map_.value", np.ones((2, 2))),
        ("weights", np.zeros(7)),
    ],
)
def test_damaged_files_are_refused(array: str, value: np.ndarray, tmp_path: Path) -> None:
    from margrave.files import model as model_file

    TaxonomyClassifier().fit(np.eye(4), CLASSES).save(tmp_path / "model")
    header, arrays = model_file.read(tmp_path / "model")
    model_file.write(tmp_path / "damaged", header, arrays | {array: value})
    assert "not a model that Margrave wrote" in refusal(lambda: load(tmp_path / "damaged"))


def test_wrong_settings_are_refused_in_one_sentence() -> None:
    X, y = np.eye(4), CLASSES

    def fit(**of: Any) -> str:
        return refusal(lambda: TaxonomyClassifier(**of).fit(X, y))

    assert "no node 'carp'" in fit(taxonomy={"cat": "mammal"})
    assert "unknown cost 'tre'; did you mean 'tree'?" in fit(cost="tre")
    assert "pass cost=" in fit(loss=Hinge(cost="zero-one"))
    assert "pass taxonomy= too" in fit(node_weights={"cat": 1.0}, similarity=np.eye(4))
    assert "the class 'trout', which is not among classes=" in fit(classes=["carp", "cat", "dog"])
    assert "it is 'carp'" in fit(classes="carp")
    assert "shape" in fit(cost=np.eye(3))
    assert "must be finite, not negative, and zero" in fit(cost=np.ones((4, 4)))
    assert "cycles" in fit(taxonomy={"cat": "dog", "dog": "cat"})
    assert "has no description" in fit(descriptions={"cat": "furry"})
    assert "must be strings" in refusal(lambda: TaxonomyClassifier(taxonomy="/").fit(X, [1, 2, 3, 4]))


def test_numbers_can_be_nodes() -> None:
    X, y = blobs(np.random.default_rng(4), ["0", "1", "2", "3"])
    numbers = y.astype(int)
    model = TaxonomyClassifier(taxonomy=[4, 4, 5, 5, -1, -1]).fit(X, numbers)
    assert model.predict(X).dtype == numbers.dtype and model.score(X, numbers) > 0.9
    assert set(model.output_features_) == {0, 1, 2, 3, 4, 5}


def test_scikit_learn_can_search_and_join_it() -> None:
    X, y = blobs(np.random.default_rng(5), CLASSES)
    grid = {"C": [0.01, 1.0], "taxonomy": [None, ANIMALS], "cost": ["tree", "zero-one"]}
    search = GridSearchCV(TaxonomyClassifier(learner="bcfw", tol=0.1), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    by_class = GridSearchCV(  # every fold lacks a class, which its taxonomy still knows
        TaxonomyClassifier(taxonomy=ANIMALS, classes=CLASSES, tol=0.1), {"C": [1.0]}, cv=KFold(4), error_score="raise"
    ).fit(X, y)
    assert np.isfinite(by_class.best_score_)
    texts = ["a wet carp", "a furry cat", "a furry dog", "a wet trout"]
    joined = make_pipeline(TfidfVectorizer(), TaxonomyClassifier(taxonomy=ANIMALS, C=10.0)).fit(texts, CLASSES)
    assert joined.predict(texts).tolist() == CLASSES


def test_a_path_of_models_knows_its_classes() -> None:
    X, y = blobs(np.random.default_rng(6), CLASSES)
    taxonomy = ANIMALS | {"cow": "mammal"}
    model = TaxonomyClassifier(taxonomy=taxonomy, classes=[*CLASSES, "cow"], learner="bcfw", tol=1e-2)
    path = model.fit_path(X, y, [0.1, 1.0])
    for one, C in zip(path, [0.1, 1.0], strict=True):
        alone = clone(model).set_params(C=C).fit(X, y)
        assert one.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-2)
        assert one.decision_function(X).shape == (len(y), 5)
    assert all(a.certificate_.primal < b.certificate_.primal for a, b in pairwise(path))


@parametrize_with_checks([TaxonomyClassifier(tol=1e-7), TaxonomyClassifier("log", weights="observed")])
def test_it_keeps_all_of_scikit_learns_conventions(estimator: TaxonomyClassifier, check: Any) -> None:
    check(estimator)


def test_costs_of_the_problem_are_those_of_the_classifier() -> None:
    losses = Taxonomy(ANIMALS).tree_losses(CLASSES)
    problem = bind(
        Multiclass(),
        np.eye(4),
        np.arange(4, dtype=np.int32),
        feature_map=FeatureTable("all"),
        classes=CLASSES,
        loss=LossFamily(cost=losses),
        output=class_ancestors(Taxonomy(ANIMALS), CLASSES).matrix,
    )
    assert_array_equal([problem.cost(i)[0] for i in range(4)], losses)
