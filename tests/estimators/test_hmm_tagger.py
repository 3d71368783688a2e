"""The hidden Markov model: probabilities, counts by hand, decoding against enumeration, words never seen, files."""

import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from margrave import MargraveError, load
from margrave.estimators.hmm_tagger import HMMTagger
from margrave.estimators.models.hmm_tagger import ANY_WORD
from margrave.files import model as model_file

WORDS = ["a", "ab", "Ab", "cab", "CAB", "b7", "7", "!", "Berlin", "walking", "talking", ""]


def corpus(seed: int, width: int = 3, n: int = 12) -> tuple[list[list[str]], list[list[str]]]:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 6, size=n)
    X = [[WORDS[k] for k in random.integers(0, len(WORDS), size=length)] for length in lengths]
    return X, [["XYZ"[k] for k in random.integers(0, width, size=length)] for length in lengths]


def log_probability(tagger: HMMTagger, words: list[str], tags: tuple[int, ...]) -> float:
    """log p(words, tags) by the definition of the model."""
    width = len(tagger.classes_)
    padded = (*tagger.order * [width], *tags)
    total = 0.0
    for t, word in enumerate(words):
        total += np.log(tagger.transitions_[padded[t : t + tagger.order + 1]])
        total += np.log(tagger.emissions_[tagger.symbols_.index(symbol(tagger, word)), tags[t]])
    return total


def symbol(tagger: HMMTagger, word: str) -> str:
    (((found,),),) = tagger._inputs([[word]])
    return found


@pytest.mark.parametrize("order", [1, 2, 3])
@given(seed=integers(0, 2**32 - 1), smoothing=sampled_from([1e-3, 0.3, 10.0]), rare=sampled_from([1, 3, 10]))
@settings(deadline=None, max_examples=15)
def test_probabilities_are_positive_and_sum_to_one(order: int, seed: int, smoothing: float, rare: int) -> None:
    tagger = HMMTagger(order, smoothing=smoothing, rare=rare).fit(*corpus(seed))
    assert tagger.emissions_.shape == (len(tagger.symbols_), len(tagger.classes_))
    assert (tagger.emissions_ > 0).all() and (tagger.transitions_ > 0).all()
    assert_allclose(tagger.emissions_.sum(axis=0), 1.0, rtol=1e-12)
    assert_allclose(tagger.transitions_.sum(axis=-1), 1.0, rtol=1e-12)


def test_transitions_are_the_smoothed_counts() -> None:
    X = [["u", "v", "u"], ["v", "u"]]
    y = [["A", "B", "A"], ["A", "A"]]
    first = HMMTagger(smoothing=2.0).fit(X, y)
    share = np.array([4 + 1, 1 + 1]) / (5 + 2)  # A four times, B once
    after_a = (np.array([1, 1]) + 2 * share) / (2 + 2)
    after_b = (np.array([1, 0]) + 2 * share) / (1 + 2)
    at_start = (np.array([2, 0]) + 2 * share) / (2 + 2)
    assert_allclose(first.transitions_, [after_a, after_b, at_start], rtol=1e-12)
    second = HMMTagger(2, smoothing=2.0).fit(X, y)
    assert_allclose(second.transitions_[0, 1], (np.array([1, 0]) + 2 * after_b) / (1 + 2), rtol=1e-12)  # A B, then A
    assert_allclose(second.transitions_[2, 0], (np.array([1, 1]) + 2 * after_a) / (2 + 2), rtol=1e-12)  # start, A
    assert_allclose(second.transitions_[2, 2], (np.array([2, 0]) + 2 * at_start) / (2 + 2), rtol=1e-12)  # the start
    assert_allclose(second.transitions_[1, 1], after_b, rtol=1e-12)  # B B was never seen


def test_emissions_are_the_smoothed_counts() -> None:
    X = [["an", "an", "an", "in", "on", "7"]]
    y = [["A", "A", "B", "B", "B", "C"]]
    tagger = HMMTagger(smoothing=2.0, suffix_length=1, rare=1).fit(X, y)
    assert tagger.symbols_ == [
        *("word an", "word in", "word on", "word 7"),
        *(ANY_WORD, "lower ", "lower n", "digits ", "digits 7"),
    ]

    def smoothed(counts: list[int], general: Any) -> Any:
        return (np.array(counts) + 2 * general) / (sum(counts) + 2)

    share = smoothed([2, 3, 1], 1 / 3)
    # the words that occur once teach the classes
    any_word = smoothed([0, 2, 1], share)
    lower = smoothed([0, 2, 0], any_word)
    ending_in_n = smoothed([0, 2, 0], lower)
    digits = smoothed([0, 0, 1], any_word)
    seven = smoothed([0, 0, 1], digits)
    classes = np.array([3 * any_word, 2 * lower, 2 * ending_in_n, 1 * digits, 1 * seven])
    words = np.array(
        [
            3 * smoothed([2, 1, 0], ending_in_n),
            smoothed([0, 1, 0], ending_in_n),
            smoothed([0, 1, 0], ending_in_n),
            smoothed([0, 0, 1], seven),
        ]
    )
    overall = (3 + 1) / (6 + 2)
    unknown = (np.array([0, 2, 1]) + 2 * overall) / (np.array([2, 3, 1]) + 2)
    expected = [(1 - unknown) * words / words.sum(axis=0), unknown * classes / classes.sum(axis=0)]
    assert_allclose(tagger.emissions_, np.concatenate(expected), rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
@given(seed=integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=15)
def test_predictions_and_marginals_agree_with_enumeration(order: int, seed: int) -> None:
    tagger = HMMTagger(order, smoothing=0.5).fit(*corpus(seed))
    for words in corpus(seed + 1, n=4)[0]:
        words = [*words[:4], "unheard-of"]
        outputs = list(product(range(len(tagger.classes_)), repeat=len(words)))
        scores = np.array([log_probability(tagger, words, tags) for tags in outputs])
        (predicted,) = tagger.predict([words])
        at = outputs.index(tuple(np.searchsorted(tagger.classes_, predicted)))
        assert_allclose(scores[at], scores.max(), rtol=1e-9)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        expected = np.zeros((len(words), len(tagger.classes_)))
        for tags, share in zip(outputs, p, strict=True):
            expected[np.arange(len(words)), tags] += share
        (marginals,) = tagger.predict_marginals([words])
        assert_allclose(marginals, expected, atol=1e-9)


def test_unknown_words_are_read_by_suffix_shape_and_nothing() -> None:
    X = [["walking", "Berlin", "1987", "!", "NATO"], ["talking", "Turin", "2001", "?", "UN"]]
    y = [["V", "N", "D", "P", "A"]] * 2
    tagger = HMMTagger(suffix_length=3).fit(X, y)
    for word, known in {
        "walking": "word walking",
        "Walking": "capitalized ",
        "singing": "lower ing",
        "darling-ng": "lower ng",
        "tree": "lower ",
        "Dublin": "capitalized lin",
        "42": "digits ",
        "b-17": "digits 7",
        "...": "punctuation ",
        "EU": "capitals ",
        "I": "capitalized ",
        "": "punctuation ",
    }.items():
        assert symbol(tagger, word) == known
    assert tagger.predict([["singing"], ["Dublin"], ["42"], ["..."], ["EU"]]) == [["V"], ["N"], ["D"], ["P"], ["A"]]
    without = HMMTagger(suffix_length=0).fit([["walk", "talk"]], [["V", "N"]])
    assert symbol(without, "singing") == "lower "
    assert symbol(without, "Singing") == ANY_WORD


def test_words_teach_classes_even_if_none_is_rare() -> None:
    tagger = HMMTagger(rare=1).fit([["walking", "home"]] * 3, [["V", "N"]] * 3)
    assert tagger.predict([["talking"], ["dome"]]) == [["V"], ["N"]]


def test_a_frequent_word_beats_its_suffix_and_context_beats_a_doubtful_word() -> None:
    X = [["the", "run"], ["they", "run"], ["the", "run"], ["they", "walk"]] * 5
    y = [["D", "N"], ["P", "V"], ["D", "N"], ["P", "V"]] * 5
    assert HMMTagger().fit(X, y).predict([["the", "run"], ["they", "run"]]) == [["D", "N"], ["P", "V"]]


def test_tags_unseen_in_a_fold_count_as_wrong() -> None:
    X, y = [["a", "b"], ["a", "b"], ["a", "c"]], [["A", "B"], ["A", "B"], ["A", "C"]]
    assert cross_val_score(HMMTagger(), X, y, cv=KFold(3)).tolist() == [1.0, 1.0, 0.5]


def test_scikit_learns_conventions_hold() -> None:
    X, y = corpus(1)
    tagger = HMMTagger(2, smoothing=0.7, suffix_length=2, rare=4)
    assert tagger.get_params() == {"order": 2, "smoothing": 0.7, "suffix_length": 2, "rare": 4}
    copy = clone(tagger)
    assert copy.get_params() == tagger.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert tagger.fit(X, y) is tagger
    assert tagger.classes_.tolist() == ["X", "Y", "Z"]
    predicted = tagger.predict(X)
    right = [a == b for p, g in zip(predicted, y, strict=True) for a, b in zip(p, g, strict=True)]
    assert tagger.score(X, y) == np.mean(right)
    assert pickle.loads(pickle.dumps(tagger)).predict(X) == predicted
    search = GridSearchCV(HMMTagger(), {"order": [1, 2], "smoothing": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.predict(X[:1])[0][0] in "XYZ"


def test_tags_may_be_numbers() -> None:
    assert HMMTagger().fit([["a", "b"], ["b"]], [[1, 2], [2]]).predict([["a", "b"]]) == [[1, 2]]


@pytest.mark.parametrize("order", [1, 2])
def test_a_file_gives_back_every_bit(order: int, tmp_path: Path) -> None:
    X, y = corpus(3)
    tagger = HMMTagger(order, smoothing=0.7, suffix_length=2, rare=4).fit(X, y)
    tagger.save(tmp_path / "m.margrave", {"about": "letters"})
    found = HMMTagger.load(tmp_path / "m.margrave")
    assert found.get_params() == tagger.get_params() and found.metadata_ == {"about": "letters"}
    assert_array_equal(found.emissions_, tagger.emissions_)
    assert_array_equal(found.transitions_, tagger.transitions_)
    assert found.symbols_ == tagger.symbols_
    unseen = corpus(4)[0] + [["unheard-of"]]
    for ours, theirs in zip(tagger.predict_marginals(unseen), found.predict_marginals(unseen), strict=True):
        assert_array_equal(ours, theirs)
    with pytest.raises(MargraveError, match="metadata must be a dictionary, not list"):
        tagger.save(tmp_path / "m.margrave", ["about"])  # type: ignore[arg-type]


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    tagger = HMMTagger().fit(*corpus(3))
    path = tmp_path / "m.margrave"
    tagger.save(path)
    header, arrays = model_file.read(path)

    def refusal(part: str, changed: Any) -> str:
        wrong = {"header": dict(header), "arrays": dict(arrays)}
        wrong["header" if part in header else "arrays"][part] = changed
        model_file.write(path, wrong["header"], wrong["arrays"])
        with pytest.raises(MargraveError) as error:
            load(path)
        return str(error.value)

    disordered = {**header["outputs"], "settings": {"classes": ["Z", "Y", "X"]}}
    assert "labels are not in order" in refusal("outputs", disordered)
    assert "its transitions must be real numbers of shape (4, 3)" in refusal("transitions_", np.eye(3))
    assert "its emissions must be probabilities" in refusal("emissions_", 0 * tagger.emissions_)
    assert "its emissions must be probabilities" in refusal("emissions_", np.nan * tagger.emissions_)
    assert "not the logarithms" in refusal("emissions_", 0.5 * tagger.emissions_)
    blob, offsets = model_file.encode_strings([f"word {k}" for k in range(len(tagger.symbols_))])
    arrays |= {"map_.tokens.encoder.offsets": offsets}
    assert "one of its symbols must stand for any word" in refusal("map_.tokens.encoder.bytes", blob)
    blob, offsets = model_file.encode_strings(["word a"] * len(tagger.symbols_))
    arrays |= {"map_.tokens.encoder.offsets": offsets}
    assert "it is not a model that Margrave wrote" in refusal("map_.tokens.encoder.bytes", blob)
    assert "order of a hidden Markov model must be at most 3" in refusal(
        "parameters", {**tagger.get_params(), "order": 7}
    )


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "there are no sequences."),
        ([["a"], []], [["A"], ["B"]], "example 1 has 0 tokens and 1 labels."),
        ([["a"]], [["A"], ["B"]], "there are 1 sequences in X and 2 in y."),
        ([["a", "b"]], [["A"]], "example 0 has 2 tokens and 1 labels."),
        ([["a", "b"]], [["A", "A"]], "there is only one class, 'A': at least two are needed to learn from."),
        (["ab"], [["A", "B"]], "example 0: a sentence must be a list of words, not str: did you mean [X]?"),
        ([["a", 7]], [["A", "B"]], "example 0, position 1: a word must be a string, not int."),
        ("ab", [["A", "B"]], "X must be a sequence of examples, not str."),
        ([["a"]], ["A"], "example 0: y must have a list of labels per sentence, not str."),
    ],
)
def test_wrong_data_are_refused_in_one_sentence(X: Any, y: Any, message: str) -> None:
    with pytest.raises(MargraveError) as error:
        HMMTagger().fit(X, y)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"order": 0}, "the order of a hidden Markov model must be at least 1, and it is 0."),
        ({"order": 4}, "the order of a hidden Markov model must be at most 3, and it is 4."),
        ({"smoothing": 0.0}, "smoothing must be positive and finite, and it is 0.0."),
        ({"suffix_length": -1}, "suffix_length must be at least 0, and it is -1."),
        ({"rare": 0}, "rare must be at least 1, and it is 0."),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(wrong: Any, message: str) -> None:
    with pytest.raises(MargraveError) as error:
        HMMTagger(**wrong).fit([["a", "b"]], [["A", "B"]])
    assert str(error.value) == message


def test_no_sentence_has_no_prediction() -> None:
    assert HMMTagger().fit([["a", "b"]], [["A", "B"]]).predict([]) == []
