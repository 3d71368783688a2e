"""The weights of a model by name: the layout of coef_, and what top_features shows of it."""

from functools import cache
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from margrave import (
    HierarchicalMultiLabelClassifier,
    LinearClassifier,
    MargraveError,
    MultiLabelClassifier,
    SequenceTagger,
)
from tests.estimators.options import cases
from tests.estimators.registry import ENTRIES, TAGS, VARIANTS, Entry, tokens

MORE = {
    "start, stop and edges": Entry(
        lambda **more: SequenceTagger(start=True, stop=True, **more), tokens(), TAGS, more={"edges": tokens()}
    ),
    "third order": Entry(lambda **more: SequenceTagger(order=3, weights="all", **more), tokens(), TAGS),
}
EVERY = ENTRIES | VARIANTS | MORE
# Every option of every estimator; the rules of hashed spans have names, and their features do not.
CASES = {name: case for name, case in cases().items() if not ("hash:" in name and "Constituency" in name)}
every = pytest.mark.parametrize("name", [*EVERY, *CASES])


@cache
def fitted(name: str) -> Any:
    if name in CASES:
        return CASES[name].fit()
    entry = EVERY[name]
    return entry.make(C=10.0, n_jobs=1).fit(entry.X, entry.y, **entry.more)


def has_names(name: str) -> bool:
    """Whether the features of the weights are known."""
    return EVERY[name].names if name in EVERY else not ("hash:" in name or "kernel=" in name)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every
def test_every_weight_has_a_name_and_names_are_in_the_order_of_the_weights(name: str) -> None:
    model = fitted(name)
    if not has_names(name):
        with pytest.raises(MargraveError, match=r"do not store names|features do not have weights"):
            print(model.weights_)
        return
    weights, w = model.weights_, model._weights()
    names = list(weights)
    assert len(names) == len(set(names)) == len(weights) and len(w) == len(weights)
    assert_array_equal([*weights.values()], w)
    assert dict(weights.items()) == {each: weights[each] for each in names} == dict(zip(names, w.tolist(), strict=True))
    for wrong in ("x", (), ("x",), ("token", "no such feature", "D"), (names[0][0],)):
        assert wrong not in weights
    for feature in {each[1] for each in names}:
        for full, weight in weights.of(feature).items():
            assert feature in full and weights[full] == weight
    assert weights.of("no such feature") == {}


def test_names_of_a_matrix_of_weights_are_in_the_order_of_its_columns() -> None:
    X = [[1.0, 2.0], [2.0, 3.0], [3.0, 1.0]]
    model = LinearClassifier().fit(X, ["u", "v", "w"])
    assert_array_equal([*model.weights_.values()], model.coef_.T.ravel())
    sets = HierarchicalMultiLabelClassifier(taxonomy=".").fit(X, [["u.x"], ["v"], ["u"]])
    assert_array_equal([*sets.weights_.values()], [*sets.coef_.T.ravel(), *sets.intercept_])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every
def test_top_features_are_the_named_weights_of_each_sign(name: str) -> None:
    if not has_names(name):
        return
    model = fitted(name)
    weights = {full: weight for full, weight in model.weights_.items() if weight}
    largest = model.top_features(10**6, sign="both")
    for label, ranked in model.top_features(10**6, sign="negative").items():
        assert all(weight < 0 for _, weight in ranked) and [w for _, w in ranked] == sorted(w for _, w in ranked)
        positive = model.top_features(10**6, sign="positive")[label]
        assert all(weight > 0 for _, weight in positive)
        assert sorted(map(repr, positive + ranked)) == sorted(map(repr, largest[label]))
        for feature, weight in positive + ranked:
            assert weight in [of for full, of in weights.items() if feature in full]
        assert model.top_features(1, sign="both")[label] == largest[label][:1]
        sizes = [abs(weight) for _, weight in model.top_features(2)[label]]  # of equal ones, either may come first
        assert sizes in ([weight for _, weight in positive[:2]], [abs(weight) for _, weight in largest[label][:2]])
    with pytest.raises(MargraveError, match=r"unknown sign 'minus'.*valid: positive, negative, both"):
        model.top_features(sign="minus")


@pytest.mark.parametrize("name", [name for name in CASES if "TfIdf" in name])
def test_features_of_texts_are_their_words(name: str) -> None:
    model = fitted(name)
    words = set(model.features_.column_names())
    found = {each[1] for each in model.weights_ if len(each) == 3}
    assert words <= found <= words | {"intercept"}
    assert {word for ranked in model.top_features(3).values() for word, _ in ranked} <= found
    word = max(model.weights_, key=lambda each: each[1] in words and abs(model.weights_[each]))[1]
    assert model.weights_.of(word)


@pytest.mark.parametrize("pair_attributes", [False, True])
@pytest.mark.parametrize("graph", ["independent", "tree", "full", [("z", "x")]], ids=str)
def test_weights_of_a_label_graph_score_its_sets(graph: Any, pair_attributes: bool) -> None:
    X = [["a", "b"], ["b"], ["c", "a"], ["c"], ["a", "c"], []]
    y = [["x", "y"], ["y"], ["z"], [], ["x", "z"], ["z", "y"]]
    model = MultiLabelClassifier(graph=graph, pair_attributes=pair_attributes, C=10.0).fit(X, y)
    weights = model.weights_
    for attributes, ranked in zip(X, model.predict_kbest(X, 8), strict=True):
        for score, labels in ranked:
            here = ["intercept", *attributes]
            names: list[Any] = [("label", each, label) for each in here for label in labels]
            for pair in model.edges_:
                presence = tuple((label, label in labels) for label in pair)
                names += [("edge", each, presence) for each in (here if pair_attributes else here[:1])]
            assert sum(weights[name] for name in names) == pytest.approx(score, abs=1e-9)


def test_weights_of_a_tagger_score_its_sequences() -> None:
    """The score of an output is the sum of the named weights of what is true of it."""
    model = SequenceTagger(C=10.0, start=True, stop=True).fit(tokens(), TAGS, edges=tokens())
    found = model.predict_kbest(tokens(), 20, edges=tokens())
    for attributes, ranked in zip(tokens(), found, strict=True):
        for score, labels in ranked:
            names: list[Any] = [("start", labels[0]), ("stop", labels[-1])]
            for t, label in enumerate(labels):
                names += [("token", attribute, label) for attribute in attributes[t]]
                if t:
                    names += [("transition", labels[t - 1], label)]
                    names += [("edge", attribute, (labels[t - 1], label)) for attribute in attributes[t]]
            assert sum(model.weights_.get(name, 0.0) for name in names) == pytest.approx(score, abs=1e-9)


def test_a_data_frame_has_the_same_weights() -> None:
    pytest.importorskip("pandas")
    weights = fitted("start, stop and edges").weights_
    frame = weights.frame()
    assert list(frame.columns) == ["group", "feature", "label", "weight"] and len(frame) == len(weights)
    chosen = frame[(frame.group == "token") & (frame.feature == "w=dog") & (frame.label == "N")]
    assert chosen.weight.tolist() == [weights["token", "w=dog", "N"]]
    assert frame[frame.group == "start"].label.tolist() == ["D", "N", "V"]
    assert "transition" in repr(weights)


@pytest.mark.parametrize("name", [("no", "such"), "word", (), 3, ("feature", "x" * 5000, "L"), ["list"]])
def test_an_unknown_name_is_an_error_of_one_sentence_and_a_key_error(name: Any) -> None:
    weights = SequenceTagger().fit([[["a"], ["b"]]], [["s", "t"]]).weights_
    known = next(iter(weights))
    with pytest.raises(MargraveError) as raised:
        weights[name]
    message = str(raised.value)
    assert isinstance(raised.value, KeyError)
    assert message.startswith("there is no weight with the name ") and message.endswith(f"such as {known!r}.")
    assert len(message) < 500 and "\n" not in message
    assert weights.get(name) is None and name not in weights
    assert weights.get(known) == weights[known]
