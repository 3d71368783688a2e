"""Pseudo-references, their costs and n-gram features: by hand, and by what they promise on random lists."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave.errors import MargraveError
from margrave.features.ngrams import ngram_indicators, varying_ngrams
from margrave.metrics import sentence_bleu
from margrave.metrics.pseudo_references import pseudo_references, sentence_bleu_costs

words = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=6).map(" ".join)
Lists = tuple[list[list[str]], list[list[str]]]


@st.composite
def lists(draw: st.DrawFn) -> Lists:
    """Lists with copies of texts, and references."""
    hypotheses = draw(st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=3))
    hypotheses = [texts + draw(st.lists(st.sampled_from(texts), max_size=3)) for texts in hypotheses]
    return hypotheses, [draw(st.lists(words, min_size=1, max_size=2)) for _ in hypotheses]


# Good candidates


def test_the_best_candidates_by_hand() -> None:
    hypotheses = [["a b x", "a b c", "x y z", "a b c d", "b a c"], ["q", "r"]]
    references = ["a b c d", ["s", "q"]]
    assert pseudo_references(hypotheses, references, best=1) == [[3], [0]]
    assert pseudo_references(hypotheses, references, best=2) == [[3, 1], [0]]
    assert pseudo_references(hypotheses, references, best=99) == [[3, 1, 0, 4], [0]]
    assert pseudo_references(hypotheses, references, within=0) == [[3], [0]]
    lost = 1 - sentence_bleu("a b c", "a b c d")
    assert pseudo_references(hypotheses, references, within=lost) == [[3, 1], [0]]
    assert pseudo_references(hypotheses, references, within=lost - 1e-9) == [[3], [0]]


def test_all_copies_of_a_good_text_are_good() -> None:
    hypotheses = [["x", "a b", "a c", "a  b ", "x", "a b"]]
    assert pseudo_references(hypotheses, ["a b"], best=1) == [[1, 3, 5]]
    assert pseudo_references(hypotheses, ["a b"], best=2) == [[1, 3, 5, 2]]
    assert pseudo_references(hypotheses, ["a b"], within=0.0) == [[1, 3, 5]]


def test_equal_texts_come_in_the_order_of_the_list() -> None:
    hypotheses = [["b x", "a x", "b x", "x y", "y x"]]  # as good as one another, then nothing right
    assert pseudo_references(hypotheses, ["a b"], best=1) == [[0, 2]]
    assert pseudo_references(hypotheses, ["a b"], best=2) == [[0, 1, 2]]
    assert pseudo_references(hypotheses, ["a b"], best=4) == [[0, 1, 2]]


def test_what_shares_no_word_with_its_reference_is_not_good() -> None:
    for choice in ({"best": 3}, {"within": 1.0}):
        assert pseudo_references([["x", "a"], ["x", "y"]], ["a b", "a b"], **choice) == [[1], []]


def test_rounding_does_not_order_equal_candidates() -> None:
    # Six of seven words right, or three and a pair: 6 * 1 = 3 * 2, in logarithms but for their last digit.
    hypotheses = [["d a c c f e b", "d a a b d b d"]]
    assert pseudo_references(hypotheses, ["a b c d e f g"], best=2) == [[0, 1]]
    assert pseudo_references([hypotheses[0][::-1]], ["a b c d e f g"], best=2) == [[0, 1]]
    assert pseudo_references(hypotheses, ["a b c d e f g"], within=0) == [[0, 1]]


def test_copies_are_found_in_lower_case() -> None:
    hypotheses = [["A b", "a B", "a c"]]
    assert pseudo_references(hypotheses, ["a b"], best=1, lowercase=True) == [[0, 1]]
    assert pseudo_references(hypotheses, ["a b"], best=1) == [[0]]
    assert sentence_bleu_costs(hypotheses, ["a b"], lowercase=True)[0][:2].tolist() == [0, 0]


@given(lists(), st.integers(1, 4), st.floats(0, 1))
@settings(deadline=None)
def test_no_bad_candidate_is_better_than_a_good_one(of: Lists, best: int, within: float) -> None:
    hypotheses, references = of
    by_number = pseudo_references(hypotheses, references, best=best)
    by_margin = pseudo_references(hypotheses, references, within=within)
    for texts, reference, first, second in zip(hypotheses, references, by_number, by_margin, strict=True):
        scores = [sentence_bleu(text, reference) for text in texts]
        right = {text for text, score in zip(texts, scores, strict=True) if score > 0}
        if not right:
            assert first == second == []
            continue
        for good in (first, second):
            assert len(set(good)) == len(good) >= 1
            keys = [(-round(scores[k], 12), k) for k in good]
            assert keys == sorted(keys)
            bad = set(range(len(texts))) - set(good)
            assert all(scores[k] <= min(scores[g] for g in good) + 1e-12 for k in bad)
            assert not {texts[k] for k in bad} & {texts[g] for g in good}
        assert len({texts[k] for k in first}) == min(best, len(right))
        enough = max(scores) - within - 1e-12
        assert set(second) == {k for k, score in enumerate(scores) if score >= enough and score > 0}


# Costs


@given(lists())
@settings(deadline=None)
def test_a_cost_is_what_is_lost_to_the_best(of: Lists) -> None:
    hypotheses, references = of
    for texts, reference, costs in zip(
        hypotheses, references, sentence_bleu_costs(hypotheses, references), strict=True
    ):
        scores = np.array([sentence_bleu(text, reference) for text in texts])
        assert_allclose(costs, scores.max() - scores, atol=1e-12)
        assert costs.min() == 0


@given(lists())
@settings(deadline=None)
def test_good_candidates_cost_nothing(of: Lists) -> None:
    hypotheses, references = of
    good = pseudo_references(hypotheses, references, best=2)
    plain = sentence_bleu_costs(hypotheses, references)
    for numbers, before, costs in zip(good, plain, sentence_bleu_costs(hypotheses, references, good=good), strict=True):
        assert (costs[numbers] == 0).all()
        others = np.setdiff1d(np.arange(len(costs)), numbers)
        assert_allclose(costs[others], before[others])


# N-grams


def test_the_ngrams_that_vary_by_hand() -> None:
    hypotheses = [["the red house", "the house", "the house"], ["the house", "the home"], ["a", "a"]]
    assert varying_ngrams(hypotheses, orders=[1]) == ["ngram:home", "ngram:house", "ngram:red"]
    assert varying_ngrams(hypotheses, orders=(2,)) == [
        "ngram:red house",
        "ngram:the home",
        "ngram:the house",
        "ngram:the red",
    ]
    assert varying_ngrams(hypotheses, orders=(1, 2, 3), min_lists=2) == ["ngram:the house"]
    assert "ngram:the red house" in varying_ngrams(hypotheses)
    assert varying_ngrams(hypotheses, min_lists=3) == []


def test_indicators_stand_beside_dense_features() -> None:
    hypotheses = [["the house the house", "the home"], ["a house"]]
    dense = [[{"lm": -1.0}, {"lm": -2.0, "w": 3.0}], [{}]]
    names = ["ngram:the house", "ngram:house", "ngram:home"]
    assert ngram_indicators(hypotheses, names, features=dense) == [
        [{"lm": -1.0, "ngram:house": 1.0, "ngram:the house": 1.0}, {"lm": -2.0, "w": 3.0, "ngram:home": 1.0}],
        [{"ngram:house": 1.0}],
    ]
    assert dense == [[{"lm": -1.0}, {"lm": -2.0, "w": 3.0}], [{}]]
    assert ngram_indicators([["the house"]], []) == [[{}]]


@given(st.lists(st.lists(words, min_size=1, max_size=5), min_size=1, max_size=4), st.integers(1, 3))
@settings(deadline=None)
def test_kept_ngrams_vary_in_enough_lists(hypotheses: list[list[str]], min_lists: int) -> None:
    names = varying_ngrams(hypotheses, min_lists=min_lists)
    everything = varying_ngrams([["", text] for texts in hypotheses for text in texts])
    indicated = ngram_indicators(hypotheses, everything)
    for name in everything:
        numbers = [sum(name in candidate for candidate in candidates) for candidates in indicated]
        varies = sum(0 < number < len(texts) for number, texts in zip(numbers, hypotheses, strict=True))
        assert (name in names) == (varies >= min_lists)


# Bad input

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: pseudo_references([["a"]], ["a"]), "pseudo_references needs best or within, and not both."),
    (
        lambda: pseudo_references([["a"]], ["a"], best=1, within=0),
        "pseudo_references needs best or within, and not both.",
    ),
    (lambda: pseudo_references([["a"]], ["a"], best=0), "best must be at least 1, and it is 0."),
    (lambda: pseudo_references([["a"]], ["a"], within=-0.1), "within must be at least 0 and finite, and it is -0.1."),
    (lambda: pseudo_references([["a"]], ["a", "b"], best=1), "hypotheses has 1 segments, but references has 2."),
    (
        lambda: pseudo_references([["a"], []], ["a", "b"], best=1),
        "hypotheses[1] is empty: there are no texts to score.",
    ),
    (lambda: pseudo_references([["a", 3]], ["a"], best=1), "hypotheses[0][1] must be a text, and it is 3."),  # type: ignore[list-item]
    (lambda: sentence_bleu_costs([["a"]], ["a"], good=[]), "hypotheses has 1 lists, but good has 0."),
    (lambda: sentence_bleu_costs([["a"]], ["a"], good=[[1]]), "a number in good[0] must be at most 0, and it is 1."),
    (lambda: varying_ngrams([["a"]], orders=[]), "orders must be a collection of whole numbers, and it is []."),
    (lambda: varying_ngrams([["a"]], orders=3), "orders must be a collection of whole numbers, and it is 3."),  # type: ignore[arg-type]
    (lambda: varying_ngrams([["a"]], orders=[0]), "an order of n-grams must be at least 1, and it is 0."),
    (lambda: varying_ngrams([["a"]], min_lists=0), "min_lists must be at least 1, and it is 0."),
    (lambda: ngram_indicators([["a"]], ["a"]), "'a' is not the name of an n-gram, which must begin with 'ngram:'."),
    (lambda: ngram_indicators([["a"]], [], features=[]), "hypotheses has 1 lists, but features has 0."),
    (lambda: ngram_indicators([["a"]], [], features=[[]]), "hypotheses[0] has 1 candidates, but features[0] has 0."),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_is_named_in_one_sentence(mistake: Callable[[], Any], message: str) -> None:
    with pytest.raises(MargraveError) as caught:
        mistake()
    assert str(caught.value) == message
