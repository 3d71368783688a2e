"""Scores of classes in a taxonomy and of sets of labels, against scikit-learn and against their definitions."""

from collections.abc import Hashable
from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.preprocessing import MultiLabelBinarizer

from margrave.data.taxonomy import Taxonomy
from margrave.errors import MargraveError
from margrave.metrics import (
    Counts,
    LabelScores,
    TreeScores,
    hierarchical_scores,
    label_scores,
    tree_loss,
    tree_scores,
)

LABELS = ["a", "b", "c", "d", "e"]
SETS = st.sets(st.sampled_from(LABELS))
# Leaves at depths 1 to 3, and one node, 1/3, in between that is a class too.
NODES = ["1/1/1", "1/1/2", "1/2/1", "1/3", "2/1", "2/2", "3"]
TREE = Taxonomy.from_names(NODES, "/")


def averages(scores: LabelScores) -> dict[str, float]:
    return {
        "precision": scores.precision,
        "recall": scores.recall,
        "micro": scores.f1,
        "macro": scores.macro_f1,
    }


def expected(gold: list[set[Any]], predicted: list[set[Any]], labels: list[Any]) -> dict[str, float]:
    """The same from scikit-learn, which takes one column for two classes: an empty one is added, and not counted."""
    binarizer = MultiLabelBinarizer(classes=[*labels, "none"])
    true, guess = binarizer.fit_transform(gold), binarizer.transform(predicted)
    counted: dict[str, Any] = {"labels": range(len(labels)), "zero_division": 0}
    return {
        "precision": precision_score(true, guess, average="micro", **counted),
        "recall": recall_score(true, guess, average="micro", **counted),
        "micro": f1_score(true, guess, average="micro", **counted),
        "macro": f1_score(true, guess, average="macro", **counted),
    }


# Sets of labels


@settings(deadline=None)
@given(st.lists(st.tuples(SETS, SETS), min_size=1, max_size=12))
def test_averages_over_labels_equal_scikit_learn(pairs: list[tuple[set[str], set[str]]]) -> None:
    gold, predicted = [true for true, _ in pairs], [guess for _, guess in pairs]
    assert averages(label_scores(gold, predicted, LABELS)) == pytest.approx(
        expected(gold, predicted, LABELS), abs=1e-12
    )
    occurring = sorted(set().union(*gold, *predicted))
    if occurring:
        assert averages(label_scores(gold, predicted)) == pytest.approx(expected(gold, predicted, occurring), abs=1e-12)


def test_every_label_has_counts_of_its_own() -> None:
    scores = label_scores([{"a", "b"}, {"b"}], [("a",), ["b", "c"]])
    assert scores.by_label == {"a": Counts(1, 1, 1), "b": Counts(2, 1, 1), "c": Counts(0, 1, 0)}
    assert (scores.gold, scores.predicted, scores.correct) == (3, 3, 2)
    assert label_scores([{"a", "b"}], [{"a"}], ["b"]).by_label == {"b": Counts(1, 0, 0)}


@settings(deadline=None)
@given(st.lists(st.tuples(st.sets(st.sampled_from(NODES)), st.sets(st.sampled_from(NODES))), min_size=1, max_size=10))
def test_hierarchical_averages_are_those_of_sets_with_everything_above(pairs: list[tuple[set[str], set[str]]]) -> None:
    def closed(nodes: set[str]) -> set[str]:
        steps = [node.split("/") for node in nodes]
        return {"/".join(of[:depth]) for of in steps for depth in range(1, len(of) + 1)}

    gold, predicted = [true for true, _ in pairs], [guess for _, guess in pairs]
    every = sorted(TREE.nodes)
    scores = hierarchical_scores(gold, predicted, TREE, every)
    full = expected([closed(true) for true in gold], [closed(guess) for guess in predicted], every)
    assert averages(scores) == pytest.approx(full, abs=1e-12)


def test_hierarchical_scores_count_shared_ancestors_but_not_the_root() -> None:
    tree = Taxonomy({"B": "A", "C": "A", "E": "B", "F": ["B", "C"], "G": "F"})
    scores = hierarchical_scores([{"G"}], [{"F"}], tree)  # the truth: G, F, B, C; predicted: F, B, C; the root is A
    assert (scores.precision, scores.recall) == (1.0, 0.75)
    assert set(scores.by_label) == {"B", "C", "F", "G"}
    scores = hierarchical_scores([{"G"}], [{"E"}], tree)  # predicted: E and B
    assert (scores.precision, scores.recall) == (0.5, 0.25)


def test_a_root_counts_only_if_it_is_a_class_alone() -> None:
    assert hierarchical_scores([{"x"}], [{"x"}], Taxonomy({"x": None})).f1 == 1.0
    named = Taxonomy({"a": "root", "b": "root"})
    assert hierarchical_scores([{"a"}], [{"b"}], named).f1 == 0.0


# One class per example


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), min_size=1, max_size=20))
def test_accuracy_and_mean_tree_loss_are_means_over_examples(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = [true for true, _ in pairs], [guess for _, guess in pairs]
    scores = tree_scores(gold, predicted, TREE)
    losses = [TREE.tree_loss(true, guess) for true, guess in pairs]
    assert scores.examples == len(pairs)
    assert scores.accuracy == pytest.approx(accuracy_score(gold, predicted), abs=1e-12)
    assert scores.tree_loss == tree_loss(gold, predicted, TREE) == pytest.approx(np.mean(losses), abs=1e-12)
    if len(pairs) > 1:
        assert scores.standard_error == pytest.approx(np.std(losses, ddof=1) / sqrt(len(pairs)), abs=1e-12)
    else:
        assert isnan(scores.standard_error)


def test_the_tree_loss_is_the_height_of_the_first_common_ancestor() -> None:
    gold = ["1/1/1"] * 5
    predicted = ["1/1/1", "1/1/2", "1/2/1", "1/3", "3"]
    losses = [tree_loss([true], [guess], TREE) for true, guess in zip(gold, predicted, strict=True)]
    assert losses == [0, 1, 2, 2, 3]
    scores = tree_scores(gold, predicted, TREE)
    assert scores == TreeScores(5, 0.2, 1.6, sqrt(1.3 / 5))


def test_arrays_are_taken_as_lists_are() -> None:
    gold, predicted = np.array([0, 1, 2]), np.array([0, 2, 2])
    flat = Taxonomy({0: None, 1: None, 2: None})
    assert tree_scores(gold, predicted, flat) == tree_scores([0, 1, 2], [0, 2, 2], flat)
    assert label_scores([gold], [predicted]) == label_scores([{0, 1, 2}], [{0, 2}])


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda: tree_scores(["3"], [], TREE), "gold has 1 examples, but predicted has 0."),
        (lambda: tree_scores([], [], TREE), "there are no examples to score."),
        (lambda: tree_loss(["3"], ["4"], TREE), "the taxonomy has no node '4'."),
        (lambda: label_scores([{"a"}], []), "gold has 1 examples, but predicted has 0."),
        (lambda: label_scores([{"a"}], ["a"]), "predicted[0] must be a set of labels, and it is 'a'."),
        (lambda: label_scores([3], [{"a"}]), "gold[0] must be a set of labels, and it is 3."),  # type: ignore[list-item]
        (lambda: label_scores([set()], [set()]), "there are no labels to score."),
        (lambda: hierarchical_scores([{"3"}], [{"3", "4"}], TREE), "predicted[0]: the taxonomy has no node '4'."),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused(score: Any, message: str) -> None:
    with pytest.raises(MargraveError) as error:
        score()
    assert str(error.value) == message


def test_scores_do_not_depend_on_the_kind_of_label() -> None:
    labels: list[Hashable] = [("t", 1), 7, "x"]
    assert label_scores([set(labels)], [set(labels[:2])]).recall == pytest.approx(2 / 3)
