"""Attachment scores against cases worked out by hand from the rules of eval.pl and of the CoNLL 2018 scorer."""

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.errors import MargraveError
from margrave.metrics import (
    AttachmentScores,
    Counts,
    Interval,
    approximate_randomization,
    attachment_report,
    attachment_scores,
    attachment_statistics,
    bootstrap_interval,
    conll18_scores,
    las_of_statistics,
    punctuation,
    sequence_accuracy,
    uas_of_statistics,
    universal_labels,
)

#         1      2      3       4    5      6      7    8       9    10
FORMS = ["The", "old", "clock", ",", "we", "know", ",", "stops", "--", "."]
GOLD_HEADS = [3, 3, 8, 6, 6, 8, 6, 0, 8, 8]
GOLD_LABELS = ["det", "amod", "nsubj", "punct", "nsubj", "parataxis", "punct", "root", "punct", "punct"]
HEADS = [3, 8, 8, 3, 6, 0, 6, 6, 8, 8]
LABELS = ["det", "amod", "nsubj:pass", "punct", "nsubj", "root", "punct", "ccomp", "punct", "dep"]
# Right heads: words 1, 3, 5, 7, 9, 10. Right heads and labels: 1, 5, 7, 9, and also 3 without subtypes.


def test_eval_pl_by_hand() -> None:
    one = [GOLD_HEADS], [HEADS], [GOLD_LABELS], [LABELS]
    assert attachment_scores(*one) == AttachmentScores(10, 6 / 10, 4 / 10)  # eval.pl -p
    # Words 4, 7, 9 and 10 are punctuation, so that words 1, 2, 3, 5, 6, 8 remain.
    assert punctuation([FORMS]) == [[False, False, False, True, False, False, True, False, True, True]]
    assert attachment_scores(*one, punctuation([FORMS])) == AttachmentScores(6, 3 / 6, 2 / 6)


def test_the_scores_of_conll_2018_by_hand() -> None:
    scores = conll18_scores([GOLD_HEADS], [HEADS], [GOLD_LABELS], [LABELS])
    assert (scores.words, scores.uas, scores.las) == (10, 6 / 10, 5 / 10)
    # Content words of the gold tree: 2, 3, 5, 6, 8. Of the predicted tree: the same, and 10 (dep). Right: 3 and 5.
    assert scores.clas == Counts(5, 6, 2)
    assert scores.clas.f1 == 2 * 2 / (5 + 6)


@pytest.mark.parametrize(
    "label, content",
    [(label, False) for label in ("aux", "aux:pass", "case", "cc", "clf", "cop", "det", "mark", "punct")]
    + [(label, True) for label in ("acl:relcl", "compound:prt", "dep", "expl", "fixed", "nsubj", "obl", "root")],
)
def test_content_words_are_those_of_conll_2018(label: str, content: bool) -> None:
    assert conll18_scores([[0]], [[0]], [[label]], [[label]]).clas == Counts(content, content, content)


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=3))
def test_punctuation_has_only_characters_of_the_categories_of_punctuation(form: str) -> None:
    kinds = {unicodedata.category(c) for c in form}
    expected = bool(kinds) and kinds <= {"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"}
    assert punctuation([[form]]) == [[expected]]


def test_symbols_are_no_punctuation() -> None:
    assert punctuation([["...", "''", "``", "$", "%", "«", "،", "-LRB-", "¿?", "+", "_"]]) == [
        [True, True, False, False, True, True, True, False, True, False, True]
    ]


def test_the_report_by_hand() -> None:
    report = attachment_report([GOLD_HEADS, [0]], [HEADS, [0]], [GOLD_LABELS, ["root"]], [LABELS, ["root"]])
    assert (report.sentences, report.words, report.uas, report.las) == (2, 11, 7 / 11, 5 / 11)
    assert (report.whole_trees, report.whole_labeled_trees) == (1 / 2, 1 / 2)
    # The gold distances are 2 1 5 2 1 2 1 root 1 2, and the predicted ones 2 6 5 1 1 root 1 2 1 2.
    assert report.by_distance == {
        "root": Counts(2, 2, 1),
        "1": Counts(4, 4, 3),
        "2": Counts(4, 3, 2),
        "3-6": Counts(1, 2, 1),
        "7+": Counts(0, 0, 0),
    }
    # Words before their heads: 1 to 6 in the gold tree; 1, 2, 3 and 5 in the predicted one.
    assert report.by_direction == {"root": Counts(2, 2, 1), "left": Counts(6, 4, 3), "right": Counts(3, 5, 3)}
    assert list(report.by_label) == sorted({*GOLD_LABELS, *LABELS})
    assert report.by_label["punct"] == Counts(4, 3, 2)
    assert report.by_label["root"] == Counts(2, 2, 1)
    assert report.by_label["nsubj"] == Counts(2, 1, 1)
    assert report.by_label["nsubj:pass"] == Counts(0, 1, 0)


def test_the_report_leaves_out_what_is_ignored_and_labels_that_are_not_given() -> None:
    report = attachment_report([GOLD_HEADS], [HEADS], ignore=punctuation([FORMS]))
    assert (report.words, report.uas, report.las, report.whole_labeled_trees) == (6, 3 / 6, None, None)
    assert report.by_label == {}
    assert sum(count.gold for count in report.by_distance.values()) == 6
    # The only mistakes are in words that do not count.
    assert attachment_report([[2, 0, 2]], [[2, 0, 1]], ignore=[[False, False, True]]).whole_trees == 1.0


@pytest.mark.parametrize("distance, name", [(1, "1"), (2, "2"), (3, "3-6"), (6, "3-6"), (7, "7+"), (20, "7+")])
def test_distances_are_binned(distance: int, name: str) -> None:
    heads = [0] * (distance + 1)
    heads[distance] = 1
    report = attachment_report([heads], [heads])
    assert report.by_distance[name] == Counts(1, 1, 1)
    assert report.by_distance["root"] == Counts(distance, distance, distance)
    assert report.by_direction["right"] == Counts(1, 1, 1)


trees = st.lists(st.integers(0, 3), min_size=1, max_size=9)
relations = st.sampled_from(["a", "b", "a:x"])


@settings(deadline=None)
@given(st.data())
def test_the_parts_of_a_report_add_up(data: st.DataObject) -> None:
    gold = data.draw(st.lists(trees, min_size=1, max_size=4))
    other = [[data.draw(st.one_of(st.just(head), st.integers(0, 3))) for head in heads] for heads in gold]
    labels, others = ([[data.draw(relations) for _ in heads] for heads in gold] for _ in range(2))
    report = attachment_report(gold, other, labels, others)
    right = sum(a == b for x, y in zip(gold, other, strict=True) for a, b in zip(x, y, strict=True))
    for parts in (report.by_distance, report.by_direction):
        assert sum(part.gold for part in parts.values()) == report.words
        assert sum(part.predicted for part in parts.values()) == report.words
        assert sum(part.correct for part in parts.values()) == right
    assert report.las == sum(part.correct for part in report.by_label.values()) / report.words
    assert report.whole_trees == sequence_accuracy(gold, other)
    statistics = attachment_statistics(gold, other, labels, others)
    assert uas_of_statistics(statistics.sum(axis=0)) == report.uas == right / report.words
    assert las_of_statistics(statistics.sum(axis=0)) == report.las
    assert (attachment_statistics(gold, other) == statistics[:, :2]).all()
    universal = conll18_scores(gold, other, labels, others)
    assert (universal.uas, universal.las) == (
        report.uas,
        attachment_scores(gold, other, universal_labels(labels), universal_labels(others)).las,
    )


def test_a_sentence_in_which_nothing_counts_has_no_words() -> None:
    assert attachment_statistics([[0], [2, 0]], [[0], [2, 0]], ignore=[[True], [False, False]]).tolist() == [
        [0, 0],
        [2, 2],
    ]
    assert uas_of_statistics(np.array([0, 0])) == 0.0


def test_heads_may_be_arrays() -> None:
    heads = np.array([[2, 0], [0, 1]])
    report = attachment_report(heads, heads, np.array([["a", "b"]] * 2), [["a", "b"]] * 2)
    assert (report.uas, report.las, list(report.by_label)) == (1.0, 1.0, ["a", "b"])


# Confidence


def test_the_bootstrap_of_one_segment_is_its_score() -> None:
    assert bootstrap_interval(np.array([[4, 3]]), uas_of_statistics) == Interval(0.75, 0.75, 0.75)


def test_the_bootstrap_interval_is_that_of_the_binomial_distribution() -> None:
    # The number of ones among 400 draws from 100 ones and 300 zeros is binomial, with standard deviation 8.66.
    statistics = np.array([[1, 1]] * 100 + [[1, 0]] * 300)
    found = bootstrap_interval(statistics, uas_of_statistics, trials=40_000)
    binomial = np.random.default_rng(3).binomial(400, 0.25, 40_000) / 400
    assert found.score == 0.25
    assert (found.low, found.high) == pytest.approx(np.quantile(binomial, [0.025, 0.975]).tolist(), abs=1 / 400)
    narrow = bootstrap_interval(statistics, uas_of_statistics, confidence=0.5)
    assert found.low < narrow.low < 0.25 < narrow.high < found.high


def test_the_bootstrap_of_a_difference_draws_the_same_segments_for_both() -> None:
    generator = np.random.default_rng(0)
    words = generator.integers(1, 40, 200)
    right = generator.integers(0, words + 1)
    better = np.minimum(right + 1, words)
    first, second = np.stack([words, better], axis=1), np.stack([words, right], axis=1)
    found = bootstrap_interval(first, uas_of_statistics, minus=second)
    alone = bootstrap_interval(first, uas_of_statistics)
    assert found.score == pytest.approx((better - right).sum() / words.sum())
    # Both systems do well on the same sentences: the difference is much surer than either score.
    assert 0 < found.low < found.score < found.high
    assert found.high - found.low < (alone.high - alone.low) / 4
    assert approximate_randomization(first, second, uas_of_statistics, trials=999) == 1 / 1000
    swapped = bootstrap_interval(second, uas_of_statistics, minus=first)
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low))
    assert bootstrap_interval(first, uas_of_statistics, minus=first) == Interval(0.0, 0.0, 0.0)


def test_intervals_depend_on_the_seed_alone() -> None:
    statistics = np.random.default_rng(1).integers(0, 9, (500, 1)) + np.array([[9, 0, 0]])
    found = bootstrap_interval(statistics, las_of_statistics, random_state=4, trials=50)
    assert found == bootstrap_interval(statistics, las_of_statistics, random_state=4, trials=50)
    assert found != bootstrap_interval(statistics, las_of_statistics, random_state=5, trials=50)


def test_the_bootstrap_in_several_pieces_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = np.random.default_rng(1).integers(1, 9, (50, 2))
    at_once = bootstrap_interval(statistics, uas_of_statistics, trials=301)
    monkeypatch.setattr("margrave.metrics.significance._AT_A_TIME", 70)
    assert bootstrap_interval(statistics, uas_of_statistics, trials=301) == at_once


ONES = np.ones((3, 2))
REFUSALS: list[tuple[Callable[[], Any], str]] = [
    (lambda: bootstrap_interval(ONES, uas_of_statistics, confidence=1.0), "confidence must lie between 0 and 1"),
    (lambda: bootstrap_interval(ONES, uas_of_statistics, trials=0), "trials"),
    (lambda: bootstrap_interval(ONES[:0], uas_of_statistics), "there are no segments to draw from."),
    (lambda: bootstrap_interval(ONES[0], uas_of_statistics), "statistics must have the same shape"),
    (lambda: bootstrap_interval(ONES, uas_of_statistics, minus=ONES[:2]), "statistics must have the same shape"),
    (lambda: bootstrap_interval(ONES, lambda sums: sums), "score must map sums"),
    (lambda: las_of_statistics(ONES), "LAS needs the numbers of attachment_statistics with labels"),
    (lambda: uas_of_statistics(np.ones((2, 4))), "UAS needs the numbers of attachment_statistics in the last axis"),
    (lambda: attachment_report([], []), "there are no words to score."),
    (lambda: attachment_statistics([[0]], [[0]], [["a"]]), "labeled attachment needs both"),
    (lambda: conll18_scores([[0]], [[0]], [["a", "b"]], [["a"]]), "gold_heads[0] has length 1, but gold_labels[0]"),
]


@pytest.mark.parametrize("call, expected", REFUSALS, ids=[expected for _, expected in REFUSALS])
def test_what_cannot_be_scored_is_refused(call: Callable[[], Any], expected: str) -> None:
    with pytest.raises(MargraveError) as caught:
        call()
    assert str(caught.value).startswith(expected)
