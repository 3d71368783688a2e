"""Bad input of every kind: one clear sentence says what is wrong and where, and nothing has changed."""

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from margrave import (
    Hinge,
    LinearClassifier,
    LossFamily,
    MargraveError,
    Problem,
    Reranker,
    SequenceTagger,
    SoftmaxMargin,
    _core,
    load,
)
from margrave.binding import bind as bind_examples
from margrave.examples import Examples
from margrave.files import model as model_file
from margrave.learners import LBFGS, SGD, Objective
from margrave.maps import ChainMap, FeatureTable, SparseMap
from margrave.structures import Chain, Labels, Multiclass, NonProjectiveTree, NoOutputs
from tests.references.problems import bind, bound_of
from tests.references.refusals import refusal
from tests.registry import BUILT_IN_LEARNERS

X = [[["the"], ["dog"], ["barks"]], [["the"], ["cat"], ["sleeps"]]]
Y = [["D", "N", "V"], ["D", "N", "V"]]


def state(model: Any) -> dict[str, Any]:
    return dict(vars(model))


def assert_unchanged(model: Any, before: dict[str, Any]) -> None:
    assert vars(model).keys() == before.keys()
    for key, value in before.items():
        assert vars(model)[key] is value, key


@cache
def fitted_tagger() -> SequenceTagger:
    return SequenceTagger().fit(X, Y)


@cache
def fitted_classifier() -> LinearClassifier:
    return LinearClassifier().fit(np.eye(3), ["a", "b", "c"])


# ---- sequences that are none -----------------------------------------------------------------------------------------


TOKEN = "example 1, token 2: "
TOKENS = [[["a"], ["b"]], [["a"], ["b"]]]


def second(token: Any) -> list[Any]:
    """Two good sequences, but for one token."""
    return [X[0], [*X[1][:2], token]]


SEQUENCES: dict[str, tuple[Any, Any, str]] = {
    "more tokens than labels": (X, [Y[0], ["D", "N"]], r"^example 1 has 3 tokens and 2 labels\.$"),
    "fewer tokens than labels": (X, [["D", "N", "V", "V"], Y[1]], r"^example 0 has 3 tokens and 4 labels\.$"),
    "more sequences than labels": (X, Y[:1], r"^there are 2 sequences in X and 1 in y\.$"),
    "more labels than sequences": (X[:1], Y, r"^there are 1 sequences in X and 2 in y\.$"),
    "a generator with too few sequences": ((x for x in X[:1]), Y, r"there are 1 sequences in X and 2 in y\.$"),
    "a generator with too many sequences": ((x for x in X + X), Y, r"there are 4 sequences in X and 2 in y\.$"),
    "an empty sequence with a label": ([*X, []], [*Y, ["D"]], r"^example 2 has 0 tokens and 1 labels\.$"),
    "only an empty sequence": ([[]], [[]], r"^all sequences are empty: there is nothing to learn from\.$"),
    "no data": ([], [], r"^there are no sequences\.$"),
    "one label": (X, [["D"] * 3] * 2, r"^there is only one class, 'D': at least two are needed"),
    "labels in a string": (X, ["DNV", "DNV"], r"^example 0: y must have a list of labels per sentence, not str\.$"),
    "all labels in a string": (X, "DN", r"must (be|have) a list.*, not str\.$"),
    "labels in bytes": (X, [b"DNV", b"DNV"], r"^example 0: y must have a list of labels per sentence, not bytes\.$"),
    "labels in a dictionary": (
        X,
        [{"D": 1, "N": 2, "V": 3}] * 2,
        r"^example 0: y must have a list of labels per sentence, not dict\.",
    ),
    "labels in a set": (
        X,
        [{"D", "N", "V"}] * 2,
        r"^example 0: y must have a list of labels per sentence, not set\.$",
    ),
    "labels without sequences": (X, [1, 2], r"^example 0: y must have a list of labels per sentence, not int\.$"),
    "labels that are missing": (
        X,
        [["D", "N", "V"], None],
        r"^example 1: y must have a list of labels per sentence, not NoneType\.$",
    ),
    "no labels": (X, None, r"^y must be a (list|sequence) of .*, not NoneType\.$"),
    "a number for labels": (X, 3, r"^y must be a (list|sequence) of .*, not int\.$"),
    "labels of two kinds": (X, [["D", 1, "V"], Y[1]], r"^labels must be strings or numbers, all of one kind\.$"),
    "a label that is missing": (
        X,
        [["D", None, "V"], Y[1]],
        r"^example 0: a label must be a string or a number, not None\.$",
    ),
    "a list for a label": (
        X,
        [[["D"], "N", "V"], Y[1]],
        r"^example 0: a label must be a string or a number, not \['D'\]\.$",
    ),
    "tuples for labels": (
        X,
        [[("a", 1), ("b", 2), ("c", 3)]] * 2,
        r"^example 0: a label must be a string or a number, not \(",
    ),
    "arrays for labels": (X, [np.eye(3)] * 2, r"^example 0: a label must be a string or a number, not array"),
    "a label that is not a number": (X, [[nan, 1.0, 2.0]] * 2, r"^labels must be strings or numbers"),
    "no sequences": (None, Y, r"^X must be a sequence of examples, not NoneType\.$"),
    "a number for sequences": (3, Y, r"^X must be a sequence of examples, not int\.$"),
    "a string for sequences": ("ab", Y, r"^X must be a sequence of examples, not str\.$"),
    "bytes for sequences": (b"ab", Y, r"^X must be a sequence of examples, not bytes\.$"),
    "a dictionary of sequences": ({0: X[0], 1: X[1]}, Y, r"^X must be a sequence of examples, not dict\.$"),
    "a number for a sequence": ([X[0], 3], Y, r"^example 1\b.*a sequence must be a list of tokens, not int\.$"),
    "a string for a sequence": ([X[0], "dog"], Y, r"^example 1\b.*a sequence must be a list of tokens, not str\.$"),
    "None for a sequence": ([X[0], None], Y, r"^example 1\b.*a sequence must be a list of tokens, not NoneType\.$"),
    "a dictionary for a sequence": ([X[0], {"a": 1}], Y, r"^example 1\b.*must be a list of tokens, not dict\.$"),
    "a string for a token": (second("sleeps"), Y, rf"^{TOKEN}a token must be a list .*, not str\.$"),
    "bytes for a token": (second(b"sleeps"), Y, rf"^{TOKEN}a token must be a list .*, not bytes\.$"),
    "a number for a token": (second(3), Y, rf"^{TOKEN}a token must be a list .*, not int\.$"),
    "None for a token": (second(None), Y, rf"^{TOKEN}a token must be a list .*, not NoneType\.$"),
    "bytes for an attribute": (second([b"a"]), Y, rf"^{TOKEN}an attribute must be a string.*, not bytes\.$"),
    "a number for an attribute": (second(["a", 1]), Y, rf"^{TOKEN}an attribute must be a string.*, not int\.$"),
    "None for an attribute": (second([None]), Y, rf"^{TOKEN}an attribute must be a string.*, not NoneType\.$"),
    "a list for an attribute": (second([["a"]]), Y, rf"^{TOKEN}an attribute must be a string.*, not list\.$"),
    "half a character": (
        second(["\ud800"]),
        Y,
        rf"^{TOKEN}an attribute must be a string.*, and one has half of a char",
    ),
    "half a character as a value": (second({"w": "\ud800"}), Y, rf"^{TOKEN}.*a string of valid characters"),
    "a number for a name": (second({1: 1.0}), Y, rf"^{TOKEN}an attribute must be a string.*, not int\.$"),
    "nan": (second({"ok": 1.0, "w": nan}), Y, rf"^{TOKEN}attribute 'w' has the value nan; values must be finite\.$"),
    "inf": (second({"w": inf}), Y, rf"^{TOKEN}attribute 'w' has the value inf; values must be finite\.$"),
    "-inf": (second({"w": -inf}), Y, rf"^{TOKEN}attribute 'w' has the value -inf; values must be finite\.$"),
    "a value too large": (second({"w": 10**400}), Y, rf"^{TOKEN}attribute 'w' .*(finite|too large)"),
    "None for a value": (second({"w": None}), Y, rf"^{TOKEN}attribute 'w' must have a number .*, not NoneType\.$"),
    "a list for a value": (second({"w": [1]}), Y, rf"^{TOKEN}attribute 'w' must have a number .*, not list\.$"),
    "a complex value": (second({"w": 1j}), Y, rf"^{TOKEN}attribute 'w' must have a number .*, not complex\.$"),
    "vectors of two lengths": (
        [np.ones((3, 2)), np.ones((3, 4))],
        Y,
        r"^example 1 has vectors of length 4, but example 0 has 2\.$",
    ),
    "a vector for a sequence": ([np.ones((3, 2)), np.ones(3)], Y, r"^example 1: .*two-dimensional array.*\(3,\)\.$"),
    "nan in a vector": ([np.eye(3), np.diag([1, 1, nan])], Y, r"^example 1, token 2, column 2: the value is nan; "),
    "inf in a vector": ([np.eye(3), np.diag([1, inf, 1])], Y, r"^example 1, token 1, column 1: the value is inf"),
    "nan in a sparse vector": (
        [csr_array(np.eye(3)), csr_array(np.diag([1, 1, nan]))],
        Y,
        r"^example 1(, token 2, column 2)?: .*(nan|NaN)",
    ),
    "strings in an array": ([np.array([["a"], ["b"], ["c"]])] * 2, Y, r"^example 0: .*number"),
    "vectors, then names": ([np.eye(3), X[1]], Y, r"^example 1: .*(number|vector)"),
    "names, then vectors": ([X[0], np.eye(3)], Y, r"^example 1, token 0: an attribute must be a string"),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_that_cannot_be_learned_from(name: str) -> None:
    data, labels, message = SEQUENCES[name]
    model = SequenceTagger().fit(X, Y)
    before = state(model)
    assert re.search(message, found := refusal(lambda: model.fit(data, labels))), found
    assert_unchanged(model, before)
    assert model.predict(X) == Y


PREDICT: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no sequences": (None, {}, r"^X must be a (list|sequence) of .*, not NoneType\.$"),
    "a number": (3, {}, r"^X must be a (list|sequence) of .*, not int\.$"),
    "a string": ("ab", {}, r"^X must be a (list|sequence) of .*, not str\.$"),
    "a number for a sequence": ([X[0], 3], {}, r"^example 1\b.*a sequence must be a list of tokens, not int\.$"),
    "strings for tokens": ([["the", "dog"]], {}, r"^example 0, token 0: a token must be a list .*, not str\.$"),
    "vectors": ([np.eye(3)], {}, r"^the model was trained on named attributes, and this input has vectors\.$"),
    "edges that were not learned": (X, {"edges": X}, r"trained without transition attributes|no transition attributes"),
    "allowed for too few sequences": (X, {"allowed": [None]}, r"^there are 2 sequences, but allowed labels for 1\.$"),
    "allowed for too few tokens": (
        X,
        {"allowed": [None, [None] * 2]},
        r"^example 1 has 3 tokens, but allowed labels for 2\.$",
    ),
    "an unknown label among the allowed": (
        X,
        {"allowed": [None, [["D"], ["n"], None]]},
        r"^unknown label among the allowed ones 'n'; .*valid: D, N, V",
    ),
    "nothing allowed": (
        X,
        {"allowed": [None, [None, [], None]]},
        r"^example 1, position 1: the constraints forbid every label here\.$",
    ),
    "allowed labels in a string": (
        X,
        {"allowed": [None, ["DN", None, None]]},
        r"^example 1, position 0: allowed labels must be ",
    ),
    "a number among the allowed": (
        X,
        {"allowed": [None, [3, None, None]]},
        r"^example 1, position 0: allowed labels must be ",
    ),
    "a list among the allowed": (X, {"allowed": [None, [[["D"]], None, None]]}, r"label"),
    "a number for allowed": (X, {"allowed": 3}, r"allowed.*int"),
    "numbers for allowed": (X, {"allowed": [3, 3]}, r"^example 0: .*allowed labels must be a list"),
}


@pytest.mark.parametrize("name", PREDICT)
def test_sequences_that_cannot_be_predicted(name: str) -> None:
    data, more, message = PREDICT[name]
    model = fitted_tagger()
    before = state(model)
    for method in (model.predict, model.predict_marginals):
        assert re.search(message, found := refusal(lambda method=method: method(data, **more))), found  # type: ignore[misc]
    assert_unchanged(model, before)


def test_vectors_of_another_length_cannot_be_predicted() -> None:
    model = SequenceTagger().fit([np.eye(3)], [[0, 1, 0]])
    message = refusal(lambda: model.predict([np.ones((2, 4))]))
    assert message == "the model was trained on vectors of length 3, and these have 4."
    message = refusal(lambda: model.predict(X))
    assert message == "the model was trained on vectors, and this input has named attributes."


def test_transition_attributes_belong_to_tokens() -> None:
    model = SequenceTagger().fit(X, Y, edges=X)
    assert refusal(lambda: model.predict(X)) == "the model was trained with transition attributes: pass edges=."
    for edges in (X[:1], [X[0], X[1][:2]], [X[0], []]):
        message = refusal(lambda edges=edges: model.predict(X, edges=edges))  # type: ignore[misc]
        assert "transition attributes for every token" in message
        message = refusal(lambda edges=edges: SequenceTagger().fit(X, Y, edges=edges))  # type: ignore[misc]
        assert "transition attributes for every token" in message
    bad: list[Any] = [X[0], [["a"], [3], ["b"]]]
    assert re.search(r"example 1, token 1: .*string.*not int", refusal(lambda: model.predict(X, edges=bad)))


def test_sequences_to_score_need_their_labels() -> None:
    model = fitted_tagger()
    assert "1" in refusal(lambda: model.score(X, Y[:1]))
    assert refusal(lambda: model.score(X, [Y[0], ["D", "N"]]))
    assert (
        refusal(lambda: model.score(X, ["DNV", "DNV"]))
        == "example 0: y must have a list of labels per sentence, not str."
    )
    assert refusal(lambda: model.score(X, None))  # type: ignore[arg-type]


def test_dev_data_are_checked_like_training_data() -> None:
    model = SequenceTagger(learner="sgd")
    for dev, message in (
        ((X, Y[:1]), r"there are 2 sequences in X and 1 in y"),
        ((X, [Y[0], ["D"]]), r"example 1 has 3 tokens and 1 labels"),
        (([], []), r"there are no sequences"),
        (3, r"dev"),
        ((X, Y, Y), r"dev"),
        (([[["the"], 3]], [["D", "N"]]), r"example 0, token 1: a token must be a list"),
    ):
        found = refusal(lambda dev=dev: model.fit(X, Y, dev=dev))  # type: ignore[misc]
        assert re.search(message, found), found
    assert not hasattr(model, "coef_")


def test_labels_that_an_array_cannot_hold_come_back_unchanged_or_are_refused() -> None:
    labels: list[Any]
    for labels in (["a", "a\0", "b"], [2**63 + 1, -1, 2**63 + 2], [2**70, 2**70 + 1, 0], [0.1, 2**53 + 1, 2**53]):
        model = SequenceTagger(C=100.0)
        try:
            model.fit([[["a"], ["b"], ["c"]]], [labels])
        except MargraveError as error:
            assert "label" in str(error)
        else:
            assert model.predict([[["a"], ["b"], ["c"]]]) == [labels]


# ---- classes ---------------------------------------------------------------------------------------------------------


NAMED = [{"a": 1.0}, {"b": 2.0}, {"c": 1.0}]

EXAMPLES: dict[str, tuple[Any, Any, str]] = {
    "more names than labels": (NAMED, ["x", "y"], r"^there are 3 examples in X and 2 in y\.$"),
    "more rows than labels": (np.eye(3), ["x", "y"], r"inconsistent numbers of samples: \[3, 2\]"),
    "one label": (NAMED, ["x"] * 3, r"^there is only one class, 'x': at least two are needed to learn from\.$"),
    "one label of rows": (
        np.eye(3),
        ["x"] * 3,
        r"^there is only one class, 'x': at least two are needed to learn from",
    ),
    "no names": ([], [], r"(?i)no examples|0 sample|empty|got 1D array"),
    "labels of two kinds": (NAMED, ["x", 1, "y"], r"^labels must be strings or numbers, all of one kind\.$"),
    "labels of two kinds in an array": (
        np.eye(3),
        np.array(["x", 1, "y"], dtype=object),
        r"^labels must be strings or numbers, all of one kind\.$",
    ),
    "no labels": (NAMED, None, r"y .*None"),
    "no labels of rows": (np.eye(3), None, r"requires y to be passed, but the target y is None"),
    "numbers for classes": (np.eye(3), [0.1, 0.2, 0.3], r"Unknown label type: continuous"),
    "several labels": (np.eye(3), np.eye(3), r"(?i)y should be a 1d array|label type"),
    "None": (None, [0, 1, 2], r"X .*None"),
    "a generator": ((x for x in NAMED), [0, 1, 2], r"X .*generator"),
    "a string": ("abc", [0, 1, 2], r"(?i)X must be|1D array|0d array|scalar|string"),
    "strings": (["a b", "c d", "e"], [0, 1, 2], r"(?i)example 0|1D array|string"),
    "nan in a name": ([*NAMED[:2], {"w": nan}], [0, 1, 2], r"^example 2\b.*attribute 'w' has the value nan; "),
    "nan in a row": (np.diag([1, 1, nan]), [0, 1, 2], r"Input X contains NaN"),
    "inf in a row": (np.diag([1, 1, inf]), [0, 1, 2], r"Input X contains infinity"),
    "nan in a sparse row": (csr_array(np.diag([1, 1, nan])), [0, 1, 2], r"Input X contains NaN"),
    "one row": (np.ones(3), [0, 1, 2], r"Expected 2D array, got 1D array instead"),
    "a cube": (np.ones((3, 2, 2)), [0, 1, 2], r"(?i)array with dim 3"),
    "a number among names": ([*NAMED[:2], 3], [0, 1, 2], r"^example 2\b.*, not int\.$"),
    "a string among names": ([*NAMED[:2], "c"], [0, 1, 2], r"^example 2\b.*, not str\.$"),
    "a number for an attribute": ([["a"], ["b"], [3]], [0, 1, 2], r"^example 2\b.*an attribute must be a string.*int"),
    "complex numbers": (np.eye(3) * 1j, [0, 1, 2], r"Complex data not supported"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_that_cannot_be_learned_from(name: str) -> None:
    """Rows of numbers are checked by scikit-learn, in its words."""
    data, labels, message = EXAMPLES[name]
    model = LinearClassifier().fit(np.eye(4), list("abcd"))
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.fit(data, labels)
    assert_unchanged(model, before)
    assert model.predict(np.eye(4)).tolist() == list("abcd")


def test_a_refused_parameter_leaves_the_old_model_as_it_was() -> None:
    model = LinearClassifier().fit(np.eye(3), list("abc"))
    before = state(model.set_params(C=-1.0))
    refusal(lambda: model.fit(np.eye(4), list("abcd")))
    assert_unchanged(model, before)
    assert model.predict(np.eye(3)).tolist() == list("abc")


def test_messages_about_examples_speak_of_no_tokens() -> None:
    assert "token" not in refusal(lambda: LinearClassifier().fit([{"a": 1.0}, {"a": nan}], [0, 1]))


def test_more_columns_than_can_be_numbered_are_refused() -> None:
    wide = csr_array(([1.0, 1.0], ([0, 1], [0, 3 * 10**9])), shape=(2, 3 * 10**9 + 1))
    message = refusal(lambda: Reranker().fit([wide], [0]))
    assert message == "vectors must have at most 2147483647 columns, and these have 3000000001."


def test_rows_that_the_model_does_not_fit() -> None:
    model = fitted_classifier()
    with pytest.raises(ValueError, match="X has 4 features, but LinearClassifier is expecting 3 features as input"):
        model.predict(np.eye(4))
    assert refusal(lambda: model.predict(NAMED)).startswith(
        "the model was trained on vectors, and this input has named"
    )
    named = LinearClassifier().fit(NAMED, list("abc"))
    assert refusal(lambda: named.predict(np.eye(3))).startswith("the model was trained on named attributes, and this")
    for method in (model.predict, model.predict_proba, model.decision_function, model.predict_log_proba):
        with pytest.raises(ValueError, match="NaN"):
            method(np.diag([1, nan, 1]))
        with pytest.raises(ValueError):
            method(None)
        with pytest.raises(ValueError):
            method([])


def test_a_model_that_has_not_learned_says_so(tmp_path: Path) -> None:
    tagger, classifier = SequenceTagger(), LinearClassifier()
    calls: list[Callable[[], object]] = [
        lambda: tagger.predict(X),
        lambda: tagger.predict([]),
        lambda: tagger.predict_marginals(X),
        lambda: tagger.predict_marginals([]),
        lambda: tagger.score(X, Y),
        lambda: tagger.save(tmp_path / "model"),
        lambda: classifier.predict(np.eye(3)),
        lambda: classifier.predict(NAMED),
        lambda: classifier.predict_proba(np.eye(3)),
        lambda: classifier.predict_log_proba(np.eye(3)),
        lambda: classifier.decision_function(np.eye(3)),
        lambda: classifier.score(np.eye(3), [0, 1, 2]),
        lambda: classifier.save(tmp_path / "model"),
    ]
    for call in calls:
        assert "is not fitted yet" in refusal(call, NotFittedError)
    assert not any(tmp_path.iterdir())


# ---- parameters ------------------------------------------------------------------------------------------------------


PARAMETERS: list[tuple[str, Any, str]] = [
    *(("C", value, rf"^C must be positive and finite, and it is {value}\.$") for value in (0, -1, nan, inf, -inf)),
    *(("C", value, r"^C must be .*") for value in (None, "1", [1.0], 1j)),
    *(("tol", value, rf"^tol must .*negative, and it is {value}\.$") for value in (-1, nan)),
    *(("tol", value, r"^tol must ") for value in (None, "x", [0.1])),
    *(("max_iter", value, rf"^max_iter must be .*\b1\b.*, and it is {value}\.$") for value in (0, -2)),
    *(("max_iter", value, r"^max_iter must be ") for value in (2.5, "3", nan)),
    *(("n_jobs", value, rf"^n_jobs must be .*1\b.*{value}\.$") for value in (0, -2)),
    *(("n_jobs", value, r"^n_jobs must be ") for value in (2.0, "2", 10**6, 2**70)),
    *(("random_state", value, r"^random_state must ") for value in (-1, 1.5, "a")),
    (
        "loss",
        "hing",
        r"^unknown loss 'hing'; did you mean 'hinge'\? \(valid: log, hinge, softmax-margin, perceptron, ramp, "
        r"expected-cost, latent-log, latent-hinge\)$",
    ),
    ("loss", "softmax margin", r"^unknown loss 'softmax margin'; did you mean 'softmax-margin'\?"),
    *(("loss", value, r"^unknown loss ") for value in ("", None, 3, [], Hinge)),
    ("learner", "lbgfs", r"^unknown learner 'lbgfs'; did you mean 'lbfgs'\? \(valid: auto, bcfw, .*lbfgs.*\)$"),
    *(("learner", value, r"^unknown learner ") for value in ("", None, 3, [], LBFGS)),
    ("weights", "observd", r"^unknown weights 'observd'; did you mean 'observed'\?"),
    *(("weights", value, r"^unknown weights ") for value in ("", None, 3, [], "all:3", "hash", "hash:", "hash:x")),
    *(("weights", value, r"^unknown weights 'hash:[0-9]+'|1 to 30") for value in ("hash:0", "hash:31", "hash:99999")),
]

TAGGER_PARAMETERS: list[tuple[str, Any, str]] = [
    *(
        ("order", value, rf"^the order of a chain must be .*\b0\b.*\b3, and it is {value}\.$")
        for value in (-1, 4, 10**30)
    ),
    *(("order", value, r"^the order of a chain must be ") for value in (None, "1", 1.5, 2.0, [1])),
    *(("transition_scale", value, r"^the scale of transitions must be ") for value in (-1, nan, inf, None, "2")),
    *(("start", value, r"\bstart must be ") for value in ("yes", None, [1])),
    *(("stop", value, r"\bstop must be ") for value in ("yes", None)),
    *(("tied", value, r"\btied must be ") for value in ("yes", None)),
    ("forbidden", [("D", "X")], r"^unknown label in the forbidden transitions 'X'; .*valid: D, N, V"),
    ("forbidden", [("d", "N")], r"^unknown label in the forbidden transitions 'd'; "),
    *(
        ("forbidden", value, r"forbidden.* pairs? of labels")
        for value in ("DN", [("D",)], [("D", "N", "V")], [3], 3, ["DN"], [None], {"D": "N"})
    ),
    ("forbidden", [("D", ["N"])], r"forbidden"),
    ("forbidden", [("D", "N")], r"^example 0, position 1: .*(forbid|forbidden)"),
    ("forbidden", [("N", "V")], r"^example 0, position 2: .*(forbid|forbidden)"),
    (
        "forbidden",
        [(a, b) for a in "DNV" for b in "DNV"],
        r"^example 0, position 1: the constraints forbid every label here\.$",
    ),
]


@pytest.mark.parametrize(("name", "value", "message"), PARAMETERS, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("learner", ["lbfgs", "sgd"])
def test_parameters_that_no_estimator_has(name: str, value: Any, message: str, learner: str) -> None:
    for model, data in (
        (SequenceTagger(learner=learner).fit(X, Y), (X, Y)),
        (LinearClassifier(learner=learner).fit(NAMED, [0, 1, 2]), (NAMED, [0, 1, 2])),
    ):
        before = state(model.set_params(**{name: value}))
        assert re.search(message, found := refusal(lambda model=model, data=data: model.fit(*data))), found  # type: ignore[misc]
        assert_unchanged(model, before)


@pytest.mark.parametrize(("name", "value", "message"), TAGGER_PARAMETERS, ids=lambda value: repr(value)[:40])
def test_parameters_that_no_tagger_has(name: str, value: Any, message: str) -> None:
    model = SequenceTagger().fit(X, Y)
    before = state(model.set_params(**{name: value}))
    assert re.search(message, found := refusal(lambda: model.fit(X, Y))), found
    assert_unchanged(model, before)


@pytest.mark.parametrize("order", [2, 3])
def test_gold_labels_across_a_forbidden_transition_are_named(order: int) -> None:
    model = SequenceTagger(order=order, forbidden=[("N", "V")])
    assert refusal(lambda: model.fit(X, Y)).startswith("example 0, position 2: ")


def test_more_label_tuples_than_memory_are_refused() -> None:
    labels = [[str(k) for k in range(300)]]
    message = refusal(lambda: SequenceTagger(order=3).fit([[["a"]] * 300], labels))
    assert re.search(r"order 3 with 300 labels makes too many label tuples", message)


def test_a_parameter_is_refused_before_the_data_are_read() -> None:
    read = []

    class Listening(list[Any]):
        def __iter__(self) -> Any:
            read.append(True)
            return super().__iter__()

    no_gradient = {"loss": "hinge", "learner": "lbfgs"}
    for settings in ({"C": -1}, {"learner": "x"}, no_gradient, {"tol": -1}, {"order": 7}, {"n_jobs": 0}):
        refusal(lambda settings=settings: SequenceTagger(**settings).fit(Listening(X), Y))  # type: ignore[misc]
    assert not read
    SequenceTagger().fit(Listening(X), Y)
    assert read


def test_an_error_of_the_user_while_data_are_read_comes_out_unchanged() -> None:
    def broken(values: list[Any]) -> Any:
        yield values[0]
        raise KeyError("line 7")

    class Strange:
        def __float__(self) -> float:
            raise KeyError("line 7")

    class NoIterator:
        def __iter__(self) -> Any:
            raise KeyError("line 7")

    data: list[Any] = [
        broken(X),
        [X[0], broken(X[1])],
        [X[0], [["a"], ["b"], broken(["c"])]],
        NoIterator(),
        [X[0], [["a"], ["b"], {"c": Strange()}]],
    ]
    for sequences in data:
        with pytest.raises(KeyError, match="line 7"):
            SequenceTagger().fit(sequences, Y)


@pytest.mark.parametrize("value", [2, "yes", None, 0])
def test_anything_true_is_verbose(value: Any, capfd: pytest.CaptureFixture[str]) -> None:
    assert_array_equal(SequenceTagger(verbose=value).fit(X, Y).coef_, fitted_tagger().coef_)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("value", [np.int64(3), np.uint8(3), 0, 2**62])
def test_any_whole_number_is_a_seed(value: Any) -> None:
    assert SequenceTagger(learner="sgd", random_state=value).fit(X, Y).predict(X) == Y


@pytest.mark.parametrize(
    "settings",
    [{"start": np.True_}, {"stop": np.False_}, {"tied": np.False_}, {"order": np.int64(2)}, {"n_jobs": np.int64(2)}],
    ids=str,
)
def test_numbers_of_numpy_are_numbers(settings: dict[str, Any], tmp_path: Path) -> None:
    plain = {key: value.item() for key, value in settings.items()}
    model = SequenceTagger(**settings).fit(X, Y)
    assert_array_equal(model.coef_, SequenceTagger(**plain).fit(X, Y).coef_)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == Y


@pytest.mark.parametrize("C", [np.float64(0.1), np.float32(0.1), np.int64(1)])
def test_a_c_of_numpy_is_a_number_of_full_precision_and_can_be_saved(C: Any, tmp_path: Path) -> None:
    model = SequenceTagger(C=C).fit(X, Y)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").C == C
    assert_array_equal(model.coef_, SequenceTagger(C=C.item()).fit(X, Y).coef_)
    assert model.history_[-1].primal == SequenceTagger(C=C.item()).fit(X, Y).history_[-1].primal


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1], r"sample_weight must be finite and not negative"),
        ([1, nan], r"sample_weight must be finite and not negative"),
        ([1, inf], r"sample_weight must be finite and not negative"),
        ([1], r"sample_weight must have one number per example: 2"),
        ([1, 1, 1], r"sample_weight must have one number per example: 2"),
        ([[1], [1]], r"sample_weight must have one number per example: 2"),
        (1.0, r"sample_weight must have one number per example: 2"),
        (["a", "b"], r"sample_weight must .*number"),
        ([None, 1], r"sample_weight must "),
        ("ab", r"sample_weight must "),
    ],
    ids=str,
)
def test_weights_that_no_example_has(weight: Any, message: str) -> None:
    model = SequenceTagger().fit(X, Y)
    before = state(model)
    assert re.search(message, found := refusal(lambda: model.fit(X, Y, sample_weight=weight))), found
    assert_unchanged(model, before)
    if weight != 1.0:  # which scikit-learn takes for the weight of all
        with pytest.raises(ValueError):
            LinearClassifier().fit(np.eye(2), [0, 1], sample_weight=weight)


# ---- losses and learners ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (
            [[0, 1], [1, 0], [1, 1]],
            r"costs must be one number per label or a matrix .*\(3,\) or \(3, 3\), not \(3, 2\)",
        ),
        ([1, 2], r"costs must be .* not \(2,\)"),
        (3, r"costs must be .* not \(\)"),
        (None, r"costs must be "),
        (np.ones((3, 3)), r"zero for the right label"),
        (np.eye(3) - 1, r"costs must be finite, not negative"),
        ([1, 2, nan], r"costs must be finite, not negative"),
        ([1, 2, inf], r"costs must be finite, not negative"),
        ([-1, 1, 1], r"costs must be finite, not negative"),
        (["x", "y", "z"], r"costs? .*number"),
        ([[0, 1], [1]], r"costs must be "),
        ({"a": 1.0, "x": 2.0}, r"unknown label in the costs 'x'; .*valid: a, b, c"),
        ({"a": "much"}, r"costs? .*number"),
        ({"a": None}, r"costs? .*(number|finite)"),
        ({"a": -1.0}, r"costs must be finite, not negative"),
    ],
    ids=str,
)
def test_costs_that_no_labels_have(cost: Any, message: str) -> None:
    for loss in (SoftmaxMargin, Hinge):
        model = LinearClassifier(loss(cost=cost), learner="sgd")
        assert re.search(message, found := refusal(lambda model=model: model.fit(np.eye(3), list("abc")))), found  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LossFamily(0, 1), r"^beta must be positive \(or infinite\), and it is 0\.$"),
        (lambda: LossFamily(-1, 1), r"^beta must be positive"),
        (lambda: LossFamily(nan, 1), r"^beta must be positive"),
        (lambda: LossFamily("1", 1), r"^beta must be "),  # type: ignore[arg-type]
        (lambda: LossFamily(None, 1), r"^beta must be "),  # type: ignore[arg-type]
        (lambda: LossFamily(1, -1), r"^gamma must be finite and not negative, and it is -1\.$"),
        (lambda: LossFamily(1, inf), r"^gamma must be finite and not negative"),
        (lambda: LossFamily(1, nan), r"^gamma must be finite and not negative"),
        (lambda: LossFamily(1, "1"), r"^gamma must be "),  # type: ignore[arg-type]
        (
            lambda: Hinge(cost="haming"),
            r"^unknown cost 'haming'; did you mean 'hamming'\? \(valid: hamming, zero-one, f1, segments\)$",
        ),
        (lambda: SGD(rate=0), r"^the rate of sgd must be positive and finite, and it is 0\.$"),
        (lambda: SGD(rate=nan), r"^the rate of sgd must be positive and finite"),
        (lambda: SGD(rate="x"), r"^the rate of sgd must be "),  # type: ignore[arg-type]
        (lambda: SGD(rates=(0.1, inf)), r"^the rate of sgd must be positive and finite, and it is inf\.$"),
        (lambda: SGD(rates=()), r"rate"),
        (lambda: SGD(rates=0.1), r"rates"),  # type: ignore[arg-type]
        (lambda: LBFGS(memory=0), r"memory"),
        (lambda: LBFGS(memory=-1), r"memory"),
        (lambda: LBFGS(memory="x"), r"memory"),  # type: ignore[arg-type]
        (lambda: LBFGS(memory=2.5), r"memory"),  # type: ignore[arg-type]
        (lambda: LBFGS(gradient_tol=-1), r"gradient_tol"),
        (lambda: LBFGS(gradient_tol=nan), r"gradient_tol"),
        (lambda: LBFGS(gradient_tol="x"), r"gradient_tol"),  # type: ignore[arg-type]
    ],
)
def test_settings_that_no_loss_and_no_learner_has(make: Callable[[], object], message: str) -> None:
    assert re.search(message, found := refusal(make)), found


def test_a_problem_without_examples_has_nothing_to_learn() -> None:
    with pytest.raises(MargraveError, match=r"^there are no examples to learn from\.$"):
        Objective(Problem(0, 3), LossFamily())
    assert refusal(lambda: Problem(-1, 3)) == "the number of examples must be from 0 to 2147483647, and it is -1."


# ---- trees -----------------------------------------------------------------------------------------------------------


def arcs(words: int) -> list[list[str]]:
    return [[f"{head}>{word}"] for word in range(1, words + 1) for head in range(words + 1) if head != word]


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 3, 1], r"^example 1, word [123]: it is on a cycle\.$"),
        ([0, 3, 2], r"^example 1, word [23]: it is on a cycle\.$"),
        ([0, 2, 1], r"^example 1, word 2: it is its own head\.$"),
        ([0, 1, 4], r"^example 1, word 3: its head is out of range\.$"),
        ([0, -1, 1], r"^example 1, word 2: its head is out of range\.$"),
        ([0, 2**40, 1], r"^example 1, word 2: its head is out of range\.$"),
        ([0, 2**70, 1], r"^example 1, word 2: its head is out of range\.$"),
        ([0, 0, 1], r"^example 1, word 2: it is a second child of the root, and single_root=True\.$"),
        ([0, 1], r"^example 1 has arcs for 3 words and 2 heads\.$"),
        ([0, 1, 1, 1], r"^example 1 has arcs for 3 words and 4 heads\.$"),
        ([0, 1.5, 1], r"^example 1\b.*1\.5"),
        ([0, None, 1], r"^example 1\b.*None"),
        ([0, "x", 1], r"^example 1\b.*x"),
        (3, r"^example 1\b.*int"),
        (None, r"^example 1\b.*None"),
    ],
    ids=str,
)
def test_heads_that_make_no_tree(heads: Any, message: str) -> None:
    feature_map = SparseMap()
    found = refusal(lambda: bind(NonProjectiveTree(), [arcs(2), arcs(3)], [[0, 1], heads], feature_map=feature_map))
    assert re.search(message, found), found


def test_several_roots_are_trees_where_they_are_allowed() -> None:
    problem = bind(NonProjectiveTree(single_root=False), [arcs(3)], [[0, 0, 1]], feature_map=SparseMap())
    assert bound_of(NonProjectiveTree(), NoOutputs(), Examples.of_sizes([9])).decode(
        np.array([0, 3]), problem.gold(0)
    ) == [[0, 0, 1]]


def test_arcs_that_belong_to_no_sentence() -> None:
    def refused(X: Any, heads: Any) -> str:
        return refusal(lambda: bind(NonProjectiveTree(), X, heads, feature_map=SparseMap(unit="arc")))

    assert refused([arcs(2), arcs(3)[:-1]], [[0, 1], [0, 1, 1]]).startswith("example 1 has attributes for 8 arcs; ")
    assert refused([arcs(2)], [[0, 1], [0, 1]]) == "there are 1 sentences and 2 lists of heads."
    assert refused([[]], [[]]) == "example 0 has no words."
    assert refused([arcs(1)], None) == "features are learned from examples with outputs, but there are no outputs."
    assert re.search(r"example 0, arc 1: .*attribute must be a string", refused([[["a"], [3], ["b"], ["c"]]], [[0, 1]]))
    assert "finite" in refused([np.full((4, 2), nan)], [[0, 1]])


# ---- what the core is given must fit together ------------------------------------------------------------------------


OUTCOMES = """
import json, os, signal
X, Y = json.loads({data!r})

def attempt(work):
    # in a process of its own, since what is tried may end it
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        try:
            result = "accepted: " + repr(work())[:100]
        except MargraveError as error:
            result = "refused: " + str(error)
        except BaseException as error:
            result = type(error).__name__ + ": " + str(error)
        os.write(theirs, result[:2000].encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        result = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return f"ended by signal {{os.WTERMSIG(status)}}" if os.WIFSIGNALED(status) else result
"""


def long_data() -> tuple[list[Any], list[list[str]]]:
    """Long enough that a write past the end of an array meets something."""
    data = [[[f"a{i * 7 % 13}"] for i in range(30)] for _ in range(20)]
    return data, [[str(i * 5 % 7) for i in range(30)] for _ in range(20)]


MISFITS = {
    "a lower order": "changed({'order': 2}, order=1)",
    "a much lower order": "changed({'order': 3}, order=1)",
    "a higher order": "changed({'order': 1}, order=2)",
    "fewer tuples": "changed({'order': 2}, forbidden=[('0', '0'), ('1', '1')])",
    "more tuples": "changed({'order': 2, 'forbidden': [('0', '0'), ('1', '1')]}, forbidden=())",
    "scores of the start": "changed({}, start=True)",
    "no scores of the end": "changed({'stop': True}, stop=False)",
    "fewer classes": "bound(7, 2)",
    "more classes": "bound(2, 7)",
}


def test_a_structure_and_features_that_do_not_fit_are_refused(child: Callable[[str], str]) -> None:
    """Parameters of the structure changed after `fit` (which may be ignored too), and features for other classes."""
    script = (
        OUTCOMES.format(data=json.dumps(long_data()))
        + f"""
from margrave import SequenceTagger
from margrave.maps import FeatureTable
from margrave.structures import Chain
from tests.references.problems import bind

def changed(before, **after):
    model = SequenceTagger(**before).fit(X, Y)
    expected = model.predict(X)
    return "as before" if model.set_params(**after).predict(X) == expected else "another prediction"

def bound(first, then):
    feature_map = FeatureTable()
    labels = np.array([int(label) % first for labels in Y for label in labels], dtype=np.int32)
    bind(Chain(), X, labels, feature_map=feature_map, classes=list(range(first)))
    problem = bind(Chain(), X, feature_map=feature_map, classes=list(range(then)))
    return [problem.score(i, np.ones(problem.dim)).sum() for i in range(problem.size)]

print(json.dumps({{name: attempt(lambda: eval(code)) for name, code in {MISFITS!r}.items()}}))
"""
    )
    outcomes = json.loads(child(script))
    good = ("refused: ", "accepted: 'as before'")
    assert {name: outcome for name, outcome in outcomes.items() if not outcome.startswith(good)} == {}


def test_features_learned_for_chains_do_not_serve_classes() -> None:
    feature_map = ChainMap()
    bind(Chain(), X, np.array([0, 1, 2] * 2, np.int32), feature_map=feature_map, classes=[0, 1, 2])
    refusal(lambda: bind_examples(Multiclass(), feature_map, Examples([[["the"]]]), outputs=Labels(np.arange(3))))


def test_a_structure_learns_its_features_from_labels() -> None:
    for structure, data in ((Chain(), X), (Multiclass(), [["a"]])):
        message = refusal(lambda s=structure, d=data: bind(s, d, feature_map=FeatureTable(), classes=[0, 1]))  # type: ignore[misc]
        assert re.search("features are learned from examples with outputs, but there are no outputs", message)


# ---- model files that lie --------------------------------------------------------------------------------------------


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    fitted_tagger().save(path)
    content = path.read_bytes()
    for damaged in (b"", b"hello", content[:-1], content[:50], content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(damaged)
        assert refusal(lambda: load(path)).startswith(f"{path}: ")
    assert refusal(lambda: load(tmp_path / "none")).startswith(f"{tmp_path / 'none'}: cannot be read: no such file")
    assert "directory" in refusal(lambda: load(tmp_path))


def test_a_newer_file_asks_for_a_newer_margrave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    monkeypatch.setattr(model_file, "FORMAT_VERSION", 5)
    fitted_tagger().save(path)
    monkeypatch.undo()
    assert re.search(
        r"written by a newer Margrave \(format 5, this one reads 4\): upgrade", refusal(lambda: load(path))
    )
    model_file.write(path, {"estimator": "ImageCaptioner"}, {})
    assert re.search(
        r"it contains a ImageCaptioner, which this Margrave does not know: upgrade", refusal(lambda: load(path))
    )


def test_a_file_with_a_class_of_somebody_else_asks_for_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    fitted_tagger().save(path)
    monkeypatch.delitem(ChainMap.registered, ChainMap.name)
    assert refusal(lambda: load(path)) == (
        f"{path}: it contains the feature map {ChainMap.name!r}, which this Margrave does not know: import the module "
        "that defines it, or upgrade Margrave."
    )


def test_a_target_that_cannot_be_written_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("mine")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("permissions do not bind this user")
    assert refusal(lambda: fitted_tagger().save(path)).endswith("the file is read-only.")
    assert path.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def name_of(value: Any) -> str:
    """A name that is the same in every process: without addresses."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize("metadata", [{"a": object()}, {"a": nan}, {1: {2: {3}}}, "text", [1, 2], 3], ids=name_of)
def test_metadata_that_a_file_cannot_hold_leave_no_file(metadata: Any, tmp_path: Path) -> None:
    assert refusal(lambda: fitted_tagger().save(tmp_path / "model", metadata))
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_does_not_exist_is_named(tmp_path: Path) -> None:
    message = refusal(lambda: fitted_tagger().save(tmp_path / "nowhere" / "model"))
    assert message.endswith("nowhere/model: cannot be written: its directory does not exist.")
    assert "directory" in refusal(lambda: fitted_tagger().save(tmp_path))


def honest_models(tmp_path: Path) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    data, labels = long_data()
    tagger = SequenceTagger(max_iter=3, tol=1.0).fit(data, labels)
    with_edges = SequenceTagger(max_iter=3, tol=1.0).fit(data, labels, edges=data)
    dense = LinearClassifier(max_iter=3, tol=1.0).fit(np.eye(7), list("abcdefg"))
    models = {}
    for name, model in (("tagger", tagger), ("edges", with_edges), ("dense", dense)):
        model.save(tmp_path / name)
        header, arrays = model_file.read(tmp_path / name)
        models[name] = (header, {key: np.array(array) for key, array in arrays.items()})
    return models


Edit = Callable[[dict[str, Any], dict[str, Any]], object]


def put(name: str, at: Any, value: Any) -> Edit:
    return lambda header, arrays: arrays[name].__setitem__(at, value)


def replace(name: str, change: Callable[[Any], Any]) -> Edit:
    return lambda header, arrays: arrays.__setitem__(name, change(arrays[name]))


def drop(name: str) -> Edit:
    return lambda header, arrays: arrays.pop(name)


def say(*path_and_value: Any) -> Edit:
    """Sets an entry of the header."""
    *path, last, value = path_and_value

    def edit(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        place: Any = header
        for key in path:
            place = place[key]
        place[last] = value

    return edit


def unsay(*path: Any) -> Edit:
    def edit(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        place: Any = header
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return edit


def family(**settings: Any) -> dict[str, Any]:
    """A loss as a file has it."""
    return {"kind": "loss", "name": "family", "settings": {"beta": 1.0, "gamma": 0.0} | settings, "state": {}}


def lbfgs(**settings: Any) -> dict[str, Any]:
    """A learner as a file has it."""
    return {"kind": "learner", "name": "lbfgs", "settings": settings, "state": {}}


ENCODER = ("map", "settings", "tokens", "state", "encoder", "state")
TOKEN_PAIRS = ("map", "settings", "tokens", "state", "pairs", "items")  # attributes, labels, begin, column
EDGE_PAIRS = ("map", "state", "edges", "state", "pairs", "items")
DENSE_PAIRS = ("map", "state", "pairs", "items")
CLASSES = ("outputs", "settings", "classes")
NAMES, OFFSETS = "map_.tokens.encoder.bytes", "map_.tokens.encoder.offsets"
BEGIN, COLUMN = "map_.tokens.pairs.begin", "map_.tokens.pairs.column"
PLACE, VALUE = "map_.gram_weight.place", "map_.gram_weight.value"
TUPLES = ("map", "state", "gram_weight", "length")

LIES: dict[str, tuple[str, Edit]] = {
    "a negative number of iterations": ("tagger", say("iterations", -1)),
    "iterations that are no number": ("tagger", say("iterations", "many")),
    "an offset past the end": ("tagger", put(OFFSETS, 2, 10**12)),
    "a negative offset": ("tagger", put(OFFSETS, 1, -5)),
    "offsets that fall": ("tagger", replace(OFFSETS, lambda a: a[::-1].copy())),
    "no offsets": ("tagger", replace(OFFSETS, lambda a: a[:0])),
    "bytes too few": ("tagger", replace(NAMES, lambda a: a[:-3])),
    "a name twice": ("tagger", replace(NAMES, lambda a: np.full_like(a, 97))),
    "offsets of another type": ("tagger", replace(OFFSETS, lambda a: a.astype(np.float64))),
    "bytes of another type": ("tagger", replace(NAMES, lambda a: a.astype(np.int16))),
    "bytes in two dimensions": ("tagger", replace(NAMES, lambda a: a.reshape(1, -1))),
    "a column out of range": ("tagger", put(COLUMN, 0, 7)),
    "columns of another type": ("tagger", replace(COLUMN, lambda a: a.astype(np.int64))),
    "a row past the end": ("tagger", put(BEGIN, 3, 10**12)),
    "rows that fall": ("tagger", put(BEGIN, 3, -1)),
    "rows too few": ("tagger", replace(BEGIN, lambda a: np.delete(a, 1))),
    "no rows": ("tagger", replace(BEGIN, lambda a: a[:0])),
    "fewer labels than columns": ("tagger", say(*TOKEN_PAIRS, 1, 1, 2)),
    "more labels than there are": ("tagger", say(*TOKEN_PAIRS, 1, 1, 500)),
    "a negative number of labels": ("tagger", say(*TOKEN_PAIRS, 1, 1, -1)),
    "labels that are no number": ("tagger", say(*TOKEN_PAIRS, 1, 1, "7")),
    "pairs that are not packed": ("tagger", say(*TOKEN_PAIRS[:-1], "items", [["attributes", 13], ["labels", 7]])),
    "no token pairs": ("tagger", say(*TOKEN_PAIRS[:-1], None)),
    "no pairs": ("tagger", unsay(*TOKEN_PAIRS[:-1])),
    "pairs in a list": ("tagger", say(*TOKEN_PAIRS[:-1], [1, 2])),
    "too few tuples": ("tagger", say(*TUPLES, 39)),
    "too many tuples": ("tagger", say(*TUPLES, 490)),
    "a huge number of tuples": ("tagger", say(*TUPLES, 2**61)),
    "no tuples": ("tagger", say(*TUPLES, 0)),
    "places that fall": ("tagger", replace(PLACE, lambda a: a[::-1].copy())),
    "a place below range": ("tagger", put(PLACE, 0, -1)),
    "places of another type": ("tagger", replace(PLACE, lambda a: a.astype(np.float64))),
    "a tuple's weight below range": ("tagger", put(VALUE, 0, -2)),
    "a tuple's weight above range": ("tagger", put(VALUE, 0, 10**9)),
    "tuples of another type": ("tagger", replace(VALUE, lambda a: a.astype(np.float32))),
    "weights too few": ("tagger", replace("weights", lambda a: a[:-1])),
    "weights too many": ("tagger", replace("weights", lambda a: np.append(a, 1.0))),
    "weights of another type": ("tagger", replace("weights", lambda a: a.astype(np.float32))),
    "weights in two dimensions": ("tagger", replace("weights", lambda a: a.reshape(1, -1))),
    "a weight that is not a number": ("tagger", put("weights", 0, nan)),
    "an infinite weight": ("tagger", put("weights", 0, inf)),
    **{f"no {name}": ("tagger", drop(name)) for name in ("weights", PLACE, VALUE, NAMES, OFFSETS, BEGIN, COLUMN)},
    **{
        f"no {name} in the header": ("tagger", unsay(name))
        for name in ("parameters", "features", "outputs", "map", "weights", "n_weights", "certificate", "metadata")
    },
    **{
        f"a number for {name}": ("tagger", say(name, 3))
        for name in ("parameters", "features", "outputs", "map", "weights", "certificate", "metadata")
    },
    "a list for features": ("tagger", say("map", [1])),
    "features of another kind": (
        "tagger",
        say("features", {"kind": "loss", "name": "log", "settings": {}, "state": {}}),
    ),
    "an unknown kind of object": ("tagger", say("map", "kind", "module")),
    "an unknown feature map": ("tagger", say("map", "name", "telepathy")),
    "a class by its path": ("tagger", say("map", "name", "os.system")),
    "a list for settings": ("tagger", say("map", "settings", [1])),
    "an unknown setting of the features": ("tagger", say("map", "settings", "color", "red")),
    "a setting of Python": ("tagger", say("map", "settings", "self", 1)),
    "state where there is none": ("tagger", say("outputs", "state", {"more": 1})),
    "hash bits for a vocabulary": ("tagger", say("map", "settings", "tokens", "settings", "hash_bits", 12)),
    "another kind of attributes": ("tagger", say(*ENCODER, "form", "columns")),
    "an unknown kind of attributes": ("tagger", say(*ENCODER, "form", "telepathy")),
    "hashed, with no bits": ("tagger", say(*ENCODER, "form", "hashed")),
    "an array that is not there": ("tagger", say(*ENCODER, "bytes", {"kind": "array", "array": "elsewhere"})),
    "fewer classes": ("tagger", say(*CLASSES, ["0", "1"])),
    "more classes": ("tagger", say(*CLASSES, [str(k) for k in range(40)])),
    "no classes": ("tagger", say(*CLASSES, [])),
    "classes twice": ("tagger", say(*CLASSES, ["0"] * 7)),
    "classes of two kinds": ("tagger", say(*CLASSES, ["0", 1, "2", 3, "4", 5, "6"])),
    "lists for classes": ("tagger", say(*CLASSES, [["0"]] * 7)),
    "classes out of order": ("tagger", say(*CLASSES, [*"1023456"])),
    "another order": ("tagger", say("parameters", "order", 3)),
    "an impossible order": ("tagger", say("parameters", "order", 9)),
    "an order in words": ("tagger", say("parameters", "order", "one")),
    "scores of the start": ("tagger", say("map", "settings", "start", True)),
    "an unknown parameter": ("tagger", say("parameters", "color", "red")),
    "a parameter of Python": ("tagger", say("parameters", "self", 1)),
    "forbidden labels that are none": ("tagger", say("parameters", "forbidden", [["x", "y"]])),
    "forbidden numbers": ("tagger", say("parameters", "forbidden", 5)),
    "an unknown loss": ("tagger", say("parameters", "loss", "gain")),
    "a negative beta": ("tagger", say("parameters", "loss", family(beta=-1.0))),
    "a beta in words": ("tagger", say("parameters", "loss", family(beta="one"))),
    "an unknown cost": ("tagger", say("parameters", "loss", family(cost="dear"))),
    "a setting that losses lack": ("tagger", say("parameters", "loss", family(color="red"))),
    "a negative C": ("tagger", say("parameters", "C", -1.0)),
    "a C in words": ("tagger", say("parameters", "C", "one")),
    "a seed in words": ("tagger", say("parameters", "random_state", "one")),
    "a negative tolerance": ("tagger", say("parameters", "tol", -1.0)),
    "an unknown setting of the learner": ("tagger", say("parameters", "learner", lbfgs(speed=3))),
    "an impossible setting of the learner": ("tagger", say("parameters", "learner", lbfgs(memory=-1))),
    "an unknown choice of pairs": ("tagger", say("map", "settings", "tokens", "settings", "pairs", "some")),
    "a certificate in words": ("tagger", say("certificate", "primal", "low")),
    "fewer weights learned than there are": ("tagger", say("n_weights", 3)),
    "another estimator": ("tagger", say("estimator", "LinearClassifier")),
    "no estimator": ("tagger", unsay("estimator")),
    "an edge column out of range": ("edges", put("map_.edges.pairs.column", 0, 60000)),
    "fewer edge columns than tuples": ("edges", say(*EDGE_PAIRS, 1, 1, 3)),
    "edge pairs, and no edges": ("edges", say("map", "state", "edges", "state", "encoder", "state", "form", None)),
    "no edge pairs": ("edges", say(*EDGE_PAIRS[:-1], None)),
    "a text for edges": ("edges", say("map", "state", "edges", "none")),
    "more columns": ("dense", say("map", "state", "encoder", "state", "columns", 500)),
    "fewer columns": ("dense", say("map", "state", "encoder", "state", "columns", 1)),
    "negative columns": ("dense", say("map", "state", "encoder", "state", "columns", -1)),
    "more attributes": ("dense", say(*DENSE_PAIRS, 0, 1, 50)),
    "negative attributes": ("dense", say(*DENSE_PAIRS, 0, 1, -1)),
    "a table too large": ("dense", say(*DENSE_PAIRS, 0, 1, 2**60)),
    "more labels of rows": ("dense", say(*DENSE_PAIRS, 1, 1, 49)),
    "fewer classes of rows": ("dense", say(*CLASSES, ["a", "b"])),
    "a chain for rows": ("dense", say("map", "name", "chain")),
}


@pytest.fixture(scope="module")
def answers_to_lies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What comes of loading each of the lying files: all in one process that forks for each, for the sake of time."""
    folder = tmp_path_factory.mktemp("lies")
    models = honest_models(folder)
    paths: dict[str, str] = {}
    for k, (name, (kind, edit)) in enumerate(LIES.items()):
        header, arrays = copy.deepcopy(models[kind])
        edit(header, arrays)
        paths[name] = str(folder / f"lie{k}")
        model_file.write(paths[name], header, arrays)
    for kind in models:
        paths[kind] = str(folder / kind)
    script = (
        "from margrave.errors import MargraveError\nfrom margrave import load\n"
        "from margrave import SequenceTagger, LinearClassifier\n"  # once, and not in every fork
        + OUTCOMES.format(data=json.dumps(long_data()))
        + f"print(json.dumps({{name: attempt(lambda: load(path)) for name, path in {paths!r}.items()}}))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    answers: dict[str, str] = json.loads(run.stdout)
    return {name: answer.replace(paths[name] + ": ", "<path>: ") for name, answer in answers.items()}


@pytest.mark.parametrize("name", LIES)
def test_a_file_that_lies_behind_a_good_checksum_is_refused(name: str, answers_to_lies: dict[str, str]) -> None:
    answer = answers_to_lies[name]
    assert answer.startswith("refused: <path>: "), answer
    assert "\n" not in answer
    assert answer.endswith((".", ")"))


def test_a_file_that_tells_the_truth_is_accepted(answers_to_lies: dict[str, str]) -> None:
    for kind in ("tagger", "edges", "dense"):
        assert answers_to_lies[kind].startswith("accepted: ")


# ---- checkpoints' outputs, as the core takes them --------------------------------------------------------------------


def chains() -> Problem:
    labels = np.array([0, 1, 2] * 2, np.int32)
    return bind(Chain(), X, labels, feature_map=FeatureTable(), classes=[0, 1, 2])


def kept_outputs() -> dict[str, tuple[Callable[..., object], list[Any]]]:
    """What makes a state of a learner from arrays, and arrays that it makes it from."""
    problem = chains()
    blocks = _core.Blocks(problem).arrays()
    begin, part_begin, parts, *_ = blocks
    ones = np.ones(len(part_begin) - 1)
    cuts = [begin, part_begin, parts, ones, ones, ones, ones, np.zeros(len(ones), np.int64)]
    return {
        "blocks": (lambda *arrays: _core.Blocks.from_arrays(problem, *arrays).arrays(), list(blocks)),
        "cuts": (lambda *arrays: _core.Cuts.from_arrays(problem, *arrays).arrays(), cuts),
        "cache": (lambda *arrays: filled_cache(problem, *arrays), [begin, part_begin, parts, ones]),
    }


def filled_cache(problem: Problem, *arrays: Any) -> Any:
    cache = _core.OutputCache(problem, 3)
    cache.fill(problem, *arrays)
    return cache.arrays()


@pytest.mark.parametrize("kind", ["blocks", "cuts", "cache"])
def test_outputs_in_arrays_come_back_as_they_were(kind: str) -> None:
    make, arrays = kept_outputs()[kind]
    for back, given in zip(make(*arrays), arrays, strict=True):
        assert_array_equal(back, given)


@pytest.mark.parametrize("kind", ["blocks", "cuts", "cache"])
@pytest.mark.parametrize(
    ("which", "value"),
    [
        (0, []),
        (0, [0, 1]),
        (0, [0, 0, -1]),
        (0, [0, 3, 2]),
        (0, [0, -1, 2]),
        (0, [1, 1, 2]),
        (0, [0, 1, 2**62]),
        (1, []),
        (1, [0]),
        (1, [0, 5, 9]),
        (1, [0, 11, 10]),
        (1, [0, -4, 10]),
        (1, [0, 5, 2**62]),
        (1, [-1, 5, 10]),
        (2, []),
        (2, [-1] * 10),
        (2, [2**31 - 1] * 10),
        (3, []),
        (3, [nan, 1.0]),
        (3, [1.0, inf]),
    ],
)
def test_arrays_that_are_no_outputs_are_refused(kind: str, which: int, value: list[Any]) -> None:
    make, arrays = kept_outputs()[kind]
    arrays[which] = np.array(value, arrays[which].dtype)
    refusal(lambda: make(*arrays))
    if which == 0:  # no array of outputs at all, and a last bound that would fit it
        arrays[1:] = [np.empty(0, array.dtype) for array in arrays[1:]]
        refusal(lambda: make(*arrays))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("size", "C"), [(1e200, 1.0), (1e160, 1.0), (1e100, 1.0), (1.0, 1e300), (1.0, 1e150)], ids=str)
@pytest.mark.parametrize("loss", ["softmax-margin", "hinge", "ramp", "perceptron"])
@pytest.mark.parametrize("learner", sorted(BUILT_IN_LEARNERS))
def test_training_that_overflows_says_so_and_any_other_can_be_saved(
    learner: str, loss: str, size: float, C: float, tmp_path: Path
) -> None:
    X: list[Any] = [[{"a": size}, {"b": 1.0}], [{"b": -size}]]
    model = SequenceTagger(loss, C=C, learner=learner, weights="all", tied=False, max_iter=5)
    try:
        model.fit(X, [["A", "B"], ["A"]])
    except MargraveError as error:
        overflow = str(error).endswith("scale the features, or lower C.")
        assert overflow or re.search("needs? |refuses it|is for differences|supports", str(error)), error
        return
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == model.predict(X)


MATRIX, CLASSES = np.eye(4), list("abab")


@pytest.mark.parametrize(
    "X, y",
    [
        (MATRIX, CLASSES[:3]),
        (MATRIX[0], CLASSES),
        (MATRIX * np.nan, CLASSES),
        (MATRIX, [0.5, 1.5, 2.5, 3.5]),
        (np.full((4, 1), "a"), CLASSES),
        (MATRIX, None),
        (MATRIX[:0], []),
        (MATRIX + 1j, CLASSES),
    ],
)
def test_what_scikit_learn_says_of_matrices_is_an_error_of_margrave_on_one_line(X: Any, y: Any) -> None:
    refusal(lambda: LinearClassifier().fit(X, y))


@pytest.mark.parametrize("X", [MATRIX[:, :3], MATRIX[0], ["a b"], np.full((2, 4), np.inf)])
def test_so_it_is_when_a_model_predicts(X: Any, tmp_path: Path) -> None:
    model = LinearClassifier().fit(MATRIX, CLASSES)
    model.save(tmp_path / "model")
    refusal(lambda: model.predict(X))
    refusal(lambda: load(tmp_path / "model").predict(X))


def test_an_estimator_that_is_not_fitted_raises_an_error_of_margrave_and_of_scikit_learn() -> None:
    for error in (MargraveError, NotFittedError):
        assert "is not fitted yet" in refusal(lambda: SequenceTagger().predict([[["a"]]]), error)
