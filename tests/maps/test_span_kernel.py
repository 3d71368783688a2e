"""Kernels on the spans of constituent trees (003, section 4.5.1): their contract, and agreement with explicit ones."""

from itertools import combinations_with_replacement
from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import ConstituencyParser, Hinge, Kernel, MargraveError, _core, load
from margrave.binding import bind
from margrave.data.constituents import Tree
from margrave.examples import Examples
from margrave.features import SpanTemplates
from margrave.learners import Objective, learner_named
from margrave.maps import SpanKernel, SparseMap
from margrave.structures import ContextFreeTree, Grammar, SpanTree
from margrave.testing.problems import assert_adjoint

TREES = [
    Tree.of(text)
    for text in (
        "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks))))",
        "(TOP (S (NP (PRP we)) (VP (VBP see) (NP (NP (NN rain)) (PP (IN in) (NP (NN rain)))))))",
        "(TOP (S (NP (PRP we)) (VP (VBP see) (NP (DT a) (NN dog)))))",
    )
]
SENTENCES = [list(zip(tree.words, tree.tags, strict=True)) for tree in TREES]
TEMPLATES = ["first[1]", "last[1]", "after[0]", "length", "first[0]|last[0]"]
KERNELS = {
    "linear": Kernel(),
    "polynomial": Kernel("polynomial", gamma=0.5, coef0=2.0),
    "rbf": Kernel("rbf", gamma=0.1),
}
STRUCTURES = {"rules": ContextFreeTree(horizontal=0), "spans": SpanTree()}
of_kernels = pytest.mark.parametrize("kernel", KERNELS)
of_structures = pytest.mark.parametrize("structure", STRUCTURES)


def attributes(sentence: list[tuple[str, str]]) -> list[set[str]]:
    """What TEMPLATES say about each span, written out."""
    n = len(sentence)
    found = []
    for s in range(n):
        for e in range(s + 1, n + 1):
            (first, tag), (last, last_tag) = sentence[s], sentence[e - 1]
            after = sentence[e][0] if e < n else "NONE"
            size = e - s if e - s < 5 else "5 to 10"
            found.append({f"f {tag}", f"l {last_tag}", f"a {after}", f"n {size}", f"b {first} {last}"})
    return found


EVERY = [attributes(sentence) for sentence in SENTENCES]
NAMES = sorted({name for spans in EVERY for span in spans for name in span})


def vectors(spans: list[set[str]]) -> np.ndarray:
    return np.array([[float(name in span) for name in NAMES] for span in spans])


def by_definition(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    inner = X @ Z.T
    if kernel.function == "polynomial":
        return (kernel.learned_gamma * inner + kernel.coef0) ** kernel.degree
    if kernel.function == "rbf":
        return np.exp(-kernel.learned_gamma * ((X**2).sum(1)[:, None] + (Z**2).sum(1)[None] - 2 * inner))
    return inner


def bound(structure: str, kernel: str) -> tuple[_core.Problem, SpanKernel, Grammar]:
    trees = STRUCTURES[structure]
    grammar: Any = trees.learn(TREES)
    compiled = grammar.compiled
    feature_map = SpanKernel(KERNELS[kernel].fresh(), len(compiled.span_nodes), compiled.rule_names())
    features = SpanTemplates(TEMPLATES).learn(SENTENCES)
    return (
        bind(
            trees, feature_map, Examples(SENTENCES, TREES, encoded=features.transform(SENTENCES)), outputs=grammar
        ).problem,
        feature_map,
        grammar,
    )


@of_structures
@of_kernels
def test_scores_and_inner_products_are_the_kernels_by_definition(structure: str, kernel: str) -> None:
    problem, feature_map, grammar = bound(structure, kernel)
    support = np.unique(np.concatenate([vectors(spans) for spans in EVERY]), axis=0)
    assert feature_map.kernel.n_support == len(support)
    rows = [row.tolist() for spans in EVERY for row in vectors(spans)]
    order = [rows.index(list(row)) for row in dict.fromkeys(map(tuple, rows))]  # in which they first occur
    support = np.array(rows)[order]
    labels = len(grammar.compiled.span_nodes)
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, problem.dim))
    n = len(support) * labels
    assert problem.dim == n + len(grammar.compiled.rule_names())
    a, b = u[:n].reshape(-1, labels), v[:n].reshape(-1, labels)
    gram = by_definition(feature_map.kernel, support, support)
    assert_allclose(problem.dot(u, v), (a * (gram @ b)).sum() + u[n:] @ v[n:], rtol=1e-9)
    rules = np.concatenate([np.zeros(n), u[n:]])
    for i, spans in enumerate(EVERY):
        scores = problem.score(i, u) - problem.score(i, rules)
        expected = (by_definition(feature_map.kernel, vectors(spans), support) @ a).ravel()
        first = problem.parts(i) - len(expected)
        assert_allclose(scores[first:], expected, atol=1e-9)
        assert not scores[:first].any()


@of_structures
@of_kernels
def test_scatter_is_the_adjoint_of_score_and_move_tells_the_change(structure: str, kernel: str) -> None:
    problem, _, _ = bound(structure, kernel)
    assert not problem.euclidean
    rng = np.random.default_rng(1)
    w = rng.standard_normal(problem.dim)
    for i in range(problem.size):
        mu = rng.standard_normal(problem.parts(i)) * (rng.random(problem.parts(i)) < 0.3)
        assert_adjoint(problem, i, mu, w)


def explicit(kernel: Kernel) -> _core.Problem:
    """The same problem with all monomials of the quadratic kernel as ordinary features."""
    trees = STRUCTURES["rules"]
    grammar: Any = trees.learn(TREES)
    compiled = grammar.compiled
    rules, labels = len(compiled.rule_names()), len(compiled.span_nodes)
    given: list[list[dict[Any, float]]] = []
    for spans in EVERY:
        parts: list[dict[Any, float]] = [{f"rule {k}": 1.0} for k in range(rules)]
        for x in vectors(spans):
            phi = {"1": kernel.coef0}
            for j, k in combinations_with_replacement(np.flatnonzero(x).tolist(), 2):
                phi[f"{j} {k}"] = kernel.learned_gamma * (1.0 if j == k else sqrt(2))
            phi |= {f"{j}": sqrt(2 * kernel.learned_gamma * kernel.coef0) for j in np.flatnonzero(x).tolist()}
            parts += [{f"{name} of {label}": value for name, value in phi.items()} for label in range(labels)]
        given.append(parts)
    return bind(trees, SparseMap(), Examples(None, TREES, encoded=given), outputs=grammar).problem


@pytest.mark.parametrize(
    ("learner", "loss"),
    [("cutting-plane", Hinge("f1", rescale="slack", slack=2)), ("cutting-plane", Hinge()), ("bcfw", Hinge())],
    ids=str,
)
def test_a_polynomial_kernel_gives_what_explicit_features_give(learner: str, loss: Hinge) -> None:
    problem, feature_map, _ = bound("rules", "polynomial")
    other = explicit(feature_map.kernel)
    ours, theirs = (
        learner_named(learner).solve(Objective(each, loss, C=0.1, tol=1e-10, max_iter=300, n_jobs=1))
        for each in (problem, other)
    )
    assert len(ours.history) == len(theirs.history)
    assert_allclose(ours.history[-1].primal, theirs.history[-1].primal, rtol=1e-9)
    for i in range(problem.size):
        assert_allclose(problem.score(i, ours.w), other.score(i, theirs.w), atol=1e-6)


def test_a_parser_has_a_kernel_and_is_saved(tmp_path) -> None:
    kernel = Kernel("polynomial", gamma=0.1)
    parser = ConstituencyParser("hinge", C=10.0, grammar="spans", kernel=kernel).fit(None, TREES)
    X = parser.sentences_of(TREES)
    assert [str(tree) for tree in parser.predict(X)] == [str(tree) for tree in TREES]
    assert 0 < parser.n_support_ < sum(map(len, EVERY))
    parser.save(tmp_path / "kernel.model")
    again = load(tmp_path / "kernel.model")
    new = [*X, [("a", "DT"), ("cat", "NN"), ("sees", "VBZ"), ("rain", "NN")]]
    assert again.predict_kbest(new, 3) == parser.predict_kbest(new, 3)
    assert again.n_support_ == parser.n_support_ and "rule" in parser.top_features(2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "lbfgs"}, "Euclidean"),
        ({"learner": "sgd"}, "Euclidean"),
        ({"kernel": Kernel("precomputed")}, "for classes"),
        ({"kernel": Kernel(nystroem=5)}, "landmarks"),
        ({"features": None}, "between attributes of spans"),
        ({"features": SpanTemplates(["first[0]", "split[0]"])}, "with split"),
        ({"weights": "observed"}, "hash:BITS"),
    ],
)
def test_what_a_kernel_on_spans_cannot_do_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        ConstituencyParser(**({"kernel": Kernel()} | settings)).fit(None, TREES)
