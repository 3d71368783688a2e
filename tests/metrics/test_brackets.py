"""Labeled bracketing, by cases that are counted by hand."""

import numpy as np
import pytest

from margrave import MargraveError
from margrave.metrics import bracket_scores, mcnemar

GOLD = "(TOP (S (NP (D the) (N dog)) (, ,) (VP (V saw) (NP (N cats)) (PP (P in) (NP (N rain)))) (. .)))"
GUESS = "(TOP (S (NP (D the) (N dog)) (, ,) (VP (V saw) (NP (NP (N cats)) (PP (P in) (NP (V rain))))) (. .)))"


def test_brackets_are_counted_without_top_tags_and_punctuation() -> None:
    scores = bracket_scores([GOLD, GOLD], [GUESS, GOLD])
    # gold: S, NP(0,2), VP(2,6), NP(3,4), PP(4,6), NP(5,6); predicted: the same and NP(3,6).
    assert (scores.gold, scores.predicted, scores.correct) == (12, 13, 12)
    assert (scores.trees, scores.exact, scores.words, scores.right_tags) == (2, 1, 12, 11)
    assert (scores.crossing, scores.without_crossing) == (0, 2)
    assert scores.by_label["NP"].predicted == 7 and scores.by_label["NP"].correct == 6
    assert scores.f1 == 24 / 25


def test_punctuation_does_not_move_brackets() -> None:
    inside = "(S (NP (N a) (, ,)) (VP (V b)))"
    outside = "(S (NP (N a)) (, ,) (VP (V b)))"
    assert bracket_scores([inside], [outside]).f1 == 1.0
    assert bracket_scores([inside], [outside], punctuation=()).correct == 2


def test_repeated_brackets_count_as_often_as_they_occur() -> None:
    scores = bracket_scores(["(NP (NP (N a) (N b)))"], ["(NP (N a) (N b))"])
    assert (scores.gold, scores.predicted, scores.correct) == (2, 1, 1)


def test_particles_count_as_adverb_phrases() -> None:
    """As evalb's parameter files say (EQ_LABEL ADVP PRT)."""
    scores = bracket_scores(["(S (NP (N a)) (ADVP (RP up)))"], ["(S (NP (N a)) (PRT (RP up)))"])
    assert (scores.gold, scores.predicted, scores.correct, scores.exact) == (3, 3, 3, 1)


def test_crossing_brackets() -> None:
    scores = bracket_scores(["(S (A (x a) (x b)) (x c))"], ["(S (x a) (B (x b) (x c)))"])
    assert (scores.crossing, scores.without_crossing, scores.correct) == (1, 0, 1)


def test_intervals_contain_the_score() -> None:
    scores = bracket_scores([GOLD] * 20, [GUESS, GOLD] * 10)
    interval = scores.interval()
    assert interval.low < scores.f1 < interval.high <= 1.0


def test_mcnemar_is_the_binomial_test_of_disagreements() -> None:
    assert mcnemar([True, False], [True, False]) == 1.0
    assert mcnemar(np.array([1, 1, 1, 0, 1]), np.array([0, 0, 0, 0, 1])) == 0.25


def test_other_words_are_refused() -> None:
    with pytest.raises(MargraveError, match=r"^predicted\[0\] has other words than gold\[0\]\.$"):
        bracket_scores(["(S (A a))"], ["(S (A b))"])
    with pytest.raises(MargraveError, match=r"^gold\[0\]: unbalanced brackets"):
        bracket_scores(["(S (A a)"], ["(S (A b))"])
