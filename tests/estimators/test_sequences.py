"""Sequences as users have them: empty ones, generators, arrays of objects, and columns of data frames."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import lists, sampled_from
from numpy.testing import assert_array_equal

from margrave import HMMTagger, LinearClassifier, MargraveError, SegmentTagger, SequenceTagger, load
from margrave.features import Templates
from tests.references.refusals import refusal

WORDS = [["the", "dog", "barks"], ["dogs", "bark"], ["the", "cat"], ["a", "cat", "sleeps"]]
TAGS = [["O", "B-N", "I-N"], ["B-N", "O"], ["O", "B-N"], ["O", "B-N", "I-N"]]
ATTRIBUTES: list[Any] = [[[f"w={word}"] for word in words] for words in WORDS]
ROWS: list[Any] = [[(word,) for word in words] for words in WORDS]
TAGGERS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "attributes": (lambda: SequenceTagger(C=10.0), ATTRIBUTES),
    "second order": (lambda: SequenceTagger(C=10.0, order=2), ATTRIBUTES),
    "rows": (lambda: SequenceTagger(C=10.0, features=Templates()), ROWS),
    "segments": (lambda: SegmentTagger(C=10.0), ATTRIBUTES),
    "words": (HMMTagger, WORDS),
}
every = pytest.mark.parametrize("name", TAGGERS)
MODELS = {name: make().fit(X, TAGS) for name, (make, X) in TAGGERS.items()}
EMPTY = -1


def filled(answers: Any, chosen: list[int], empty: Any) -> list[Any]:
    """The answers to the sequences that are not empty, in their places."""
    rest = iter(answers)
    return [empty if k == EMPTY else next(rest) for k in chosen]


@every
@given(chosen=lists(sampled_from([EMPTY, 0, 1, 2, 3]), max_size=6))
def test_an_empty_sequence_has_the_empty_answer_and_changes_no_other(name: str, chosen: list[int]) -> None:
    model, data = MODELS[name], TAGGERS[name][1]
    X, Y = ([[] if k == EMPTY else of[k] for k in chosen] for of in (data, TAGS))
    full, full_Y = [x for x in X if x], [y for y in Y if y]
    nothing = np.zeros((0, len(model.classes_)))
    assert model.predict(X) == filled(model.predict(full), chosen, [])
    assert model.predict_kbest(X, 3) == filled(model.predict_kbest(full, 3), chosen, [(0.0, [])])
    assert model.sample(X, 2, 7) == filled(model.sample(full, 2, 7), chosen, [[], []])
    for found, right in zip(
        model.predict_marginals(X), filled(model.predict_marginals(full), chosen, nothing), strict=True
    ):
        assert_array_equal(found, right)
    assert_array_equal(model.predict_numbers(X), model.predict_numbers(full))
    if full:
        assert_array_equal(model.log_probability(X, Y), filled(model.log_probability(full, full_Y), chosen, 0.0))
        assert model.score(X, Y) == model.score(full, full_Y)


@every
@pytest.mark.parametrize("places", [[0], [2, 2, 4], [0, 1, 2, 3, 4]])
def test_empty_sequences_teach_nothing(name: str, places: list[int]) -> None:
    make, data = TAGGERS[name]
    X: list[Any] = [*data]
    Y: list[Any] = [*TAGS]
    weights: list[Any] = [0.5, 1.0, 2.0, 1.0]
    for place in reversed(places):
        for values, empty in ((X, []), (Y, []), (weights, 9.0)):
            values.insert(place, empty)
    assert_array_equal(make().fit(X, Y).coef_, make().fit(data, TAGS).coef_)
    if name != "words":
        weighted = make().fit(X, Y, sample_weight=weights)
        assert_array_equal(weighted.coef_, make().fit(data, TAGS, sample_weight=[0.5, 1.0, 2.0, 1.0]).coef_)
        by_dev = [make().set_params(learner="sgd", max_iter=3) for _ in range(2)]
        assert_array_equal(by_dev[0].fit(X, Y, dev=(X, Y)).coef_, by_dev[1].fit(data, TAGS, dev=(data, TAGS)).coef_)


def test_attributes_of_transitions_and_allowed_labels_follow_their_sequences() -> None:
    X, Y, edges = ([[], *of[:2], [], *of[2:]] for of in (ATTRIBUTES, TAGS, ATTRIBUTES))
    model = SequenceTagger(C=10.0).fit(X, Y, edges=edges)
    alone = SequenceTagger(C=10.0).fit(ATTRIBUTES, TAGS, edges=ATTRIBUTES)
    assert_array_equal(model.coef_, alone.coef_)
    assert model.predict(X, edges=edges) == [[], *alone.predict(ATTRIBUTES, edges=ATTRIBUTES)[:2], [], *TAGS[2:]]
    allowed = [None, [["B-N"], None, None], None, None, None, None]
    mask = np.ones((10, 3), dtype=bool)
    mask[0, [1, 2]] = False
    for given_labels in (allowed, mask):
        assert model.predict(X, edges=edges, allowed=given_labels)[1][0] == "B-N"


@every
def test_mistakes_are_reported_by_the_number_that_the_user_counts(name: str) -> None:
    make, data = TAGGERS[name]
    X, Y = [[], *data], [[], *TAGS[:3], TAGS[3][:2]]
    assert refusal(lambda: make().fit(X, Y)) == "example 4 has 3 tokens and 2 labels."
    wrong = [("two", "columns", "more")] if name == "rows" else [None]
    assert "example 5" in refusal(lambda: MODELS[name].predict([[], *data, wrong]))
    assert refusal(lambda: make().fit([[], []], [[], []])) == "all sequences are empty: there is nothing to learn from."
    assert refusal(lambda: make().fit([[], *data], [["O"], *TAGS])) == "example 0 has 0 tokens and 1 labels."
    with pytest.raises(MargraveError, match="example 0 has 0 tokens and 1 labels"):
        MODELS[name].log_probability([[]], [["O"]])


def objects(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array


def series(values: list[Any]) -> Any:
    return pytest.importorskip("pandas").Series(values, index=range(100, 100 - len(values), -1))


FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "a generator": lambda values: (value for value in values),
    "generators": lambda values: (iter(value) for value in values),
    "a tuple": tuple,
    "an array of objects": objects,
    "a series": series,
}


@every
@pytest.mark.parametrize("form", FORMS)
def test_sequences_may_come_in_any_container(name: str, form: str) -> None:
    make, data = TAGGERS[name]
    convert = FORMS[form]
    model = make().fit(convert(data), convert(TAGS))
    assert_array_equal(model.coef_, MODELS[name].coef_)
    assert model.predict(convert(data)) == MODELS[name].predict(data)
    assert_array_equal(model.log_probability(convert(data), convert(TAGS)), MODELS[name].log_probability(data, TAGS))
    assert model.score(convert(data), convert(TAGS)) == MODELS[name].score(data, TAGS)
    equal = [data[0], data[3]]  # of which NumPy makes an array of two dimensions, or of three
    assert model.predict(np.array(equal, dtype=object)) == model.predict(equal)


@every
@pytest.mark.parametrize("form", ["a list", "an array of objects", "a series"])
def test_cross_val_predict_of_scikit_learn(name: str, form: str) -> None:
    from sklearn.model_selection import cross_val_predict

    make, data = TAGGERS[name]
    X, Y = [*data, [], *data], [*TAGS, [], *TAGS]
    convert = FORMS.get(form, list)
    found = cross_val_predict(make(), convert(X), convert(Y), cv=3)
    held_out = [make().fit(X[:k] + X[k + 3 :], Y[:k] + Y[k + 3 :]).predict(X[k : k + 3]) for k in (0, 3, 6)]
    assert found.dtype == object and found.tolist() == [labels for of in held_out for labels in of]


@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
@pytest.mark.parametrize("weights", ["observed", "all"])
@pytest.mark.parametrize("labels", [2, 9, 40])
def test_a_chain_of_order_0_is_a_classifier_of_tokens(loss: str, weights: str, labels: int) -> None:
    rng = np.random.default_rng(labels)
    Y = [rng.integers(0, labels, n).tolist() for n in rng.integers(1, 7, 40)]
    X = [[[f"a{label + rng.integers(0, 3)}", f"b{rng.integers(0, 5)}"] for label in of] for of in Y]
    settings: Any = {"weights": weights, "tol": 1e-9, "max_iter": 3000}
    tagger = SequenceTagger(loss, order=0, **settings).fit(X, Y)
    tokens, flat = [token for of in X for token in of], [label for of in Y for label in of]
    classifier = LinearClassifier(loss, **settings).fit(tokens, flat)
    assert tagger.certificate_.primal == pytest.approx(classifier.certificate_.primal, rel=1e-8)
    if loss != "hinge":
        marginals = np.concatenate(tagger.predict_marginals(X))
        np.testing.assert_allclose(marginals, classifier.predict_proba(tokens), atol=1e-3)
    assert tagger.top_transitions(3) == [] and {name[0] for name in tagger.weights_} == {"token"}


def test_a_chain_of_order_0_has_no_transitions() -> None:
    with pytest.raises(MargraveError, match="features of transitions need labels that depend on one another: order=1"):
        SequenceTagger(order=0).fit(ATTRIBUTES, TAGS, edges=ATTRIBUTES)
    with pytest.raises(MargraveError, match="forbidden transitions need a chain whose labels depend on one another"):
        SequenceTagger(order=0, forbidden=[("O", "I-N")]).fit(ATTRIBUTES, TAGS)


@pytest.mark.parametrize("labels", [4500, 5355, 9000])
def test_labels_that_are_too_many_for_pairs_are_learned_at_order_0(labels: int) -> None:
    names = [f"l{k}" for k in range(labels)]
    X, Y = (
        [[[name] for name in names[k : k + 9]] for k in range(0, labels, 9)],
        [names[k : k + 9] for k in range(0, labels, 9)],
    )
    with pytest.raises(MargraveError, match="makes too many label tuples: take a lower order"):
        SequenceTagger().fit(X, Y)
    tagger = SequenceTagger("hinge", order=0, learner="bcfw", C=100.0, max_iter=2).fit(X, Y)
    assert tagger.predict(X[-3:]) == Y[-3:] and tagger.coef_.size == labels


def test_predictions_are_a_list_and_an_array_of_objects(tmp_path: Any) -> None:
    model = MODELS["attributes"]
    model.save(tmp_path / "model")
    for found in (model.predict(ATTRIBUTES), load(tmp_path / "model").predict(ATTRIBUTES)):
        assert isinstance(found, list) and found == TAGS and repr(found) == repr(TAGS)
        assert np.asarray(found).shape == (4,) and np.asarray(found[:1]).shape == (1, 3)
        assert np.array(found, dtype=object, copy=True).tolist() == TAGS
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"X": ATTRIBUTES}).assign(predicted=lambda of: model.predict(of["X"]))
    assert frame["predicted"].tolist() == TAGS
