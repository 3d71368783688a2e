"""Features of rules, spans and splits: a linear map, its adjoint, and which attributes templates share."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import MargraveError
from margrave.binding import bind
from margrave.data.constituents import Tree
from margrave.examples import Examples
from margrave.features import SpanTemplates
from margrave.losses import Hamming
from margrave.maps import SpanMap
from margrave.structures import ContextFreeTree, SpanTree

TREES = [
    Tree.of("(S (NP (DT the) (JJ old) (NN dog)) (VP (VBZ barks)))"),
    Tree.of("(S (NP (PRP we)) (VP (VBP see) (NP (DT the) (NN dog))))"),
]
X = [list(zip(tree.words, tree.tags, strict=True)) for tree in TREES]
CASES = {
    "rules": (ContextFreeTree(), None),
    "untied rules": (ContextFreeTree(tied=False), None),
    "rules and templates": (ContextFreeTree(splits=True), SpanTemplates()),
    "spans": (SpanTree(splits=True), SpanTemplates()),
    "spans without splits": (SpanTree(), SpanTemplates(["first[1]|last[1]", "inside[1]", "length"])),
}


def bound(name: str, bits: int = 5):
    structure, templates = CASES[name]
    features = None if templates is None else templates.learn(X)
    feature_map = SpanMap(0 if features is None else bits)
    rows = X if features is None else features.transform(X)
    return bind(structure, feature_map, Examples(X, TREES, encoded=rows), costs=Hamming())


@pytest.mark.parametrize("name", CASES)
def test_scatter_row_and_move_are_the_adjoint_of_score(name: str) -> None:
    problem = bound(name).problem
    rng = np.random.default_rng(0)
    for i in range(problem.size):
        matrix = np.stack([problem.score(i, unit) for unit in np.eye(problem.dim)], axis=1)
        w, v = rng.normal(size=problem.dim), rng.normal(size=problem.parts(i))
        assert_allclose(problem.score(i, w), matrix @ w, atol=1e-12)
        index, values = problem.row(i, v)
        dense = np.zeros(problem.dim)
        dense[index] = values
        assert_allclose(dense, matrix.T @ v, atol=1e-12)
        best, worst = (problem.argmax(i, sign * v)[1] for sign in (1, -1))
        apart = matrix[best].sum(axis=0) - matrix[worst].sum(axis=0)
        assert np.linalg.norm(apart) <= problem.radius(i) + 1e-9


def test_spans_with_the_same_borders_have_the_same_scores() -> None:
    found = bound("spans without splits", bits=16)
    w = np.random.default_rng(1).normal(size=found.problem.dim)
    labels = len(found.outputs.compiled.spans)
    first = int(found.core.first_spans[0])
    tables = [found.problem.score(i, w)[first:].reshape(-1, labels) for i in range(2)]
    assert_allclose(tables[0][0], tables[1][7])  # the first "the" and the last one, as single words
    assert not np.allclose(tables[0][0], tables[0][1])


@pytest.mark.parametrize("template", ["first", "middle[0]", "first[0].nothing", "inside[0]+1", ""])
def test_wrong_templates_are_refused(template: str) -> None:
    with pytest.raises(MargraveError):
        SpanTemplates([template])
