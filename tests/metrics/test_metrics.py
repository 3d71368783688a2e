"""Scores against hand-worked cases and against the definitions of the field's reference scorers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.data import Answers, convert_tags
from margrave.errors import MargraveError
from margrave.metrics import (
    AttachmentScores,
    SpanCounts,
    attachment_scores,
    sequence_accuracy,
    span_scores,
    token_accuracy,
)

SCHEMES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}
Tagged = list[list[str]]


def tags(*sentences: str) -> Tagged:
    return [sentence.split() for sentence in sentences]


@st.composite
def gold_and_predicted(draw: st.DrawFn, scheme: str) -> tuple[Tagged, Tagged]:
    """Random tags, mostly ill-formed, of which the predictions repeat many."""
    tag = st.sampled_from(["O"] + [f"{prefix}-{label}" for prefix in SCHEMES[scheme] for label in ("X", "Y")])
    gold = draw(st.lists(st.lists(tag, max_size=8), max_size=4))
    predicted = [[draw(st.one_of(st.just(true), tag)) for true in sentence] for sentence in gold]
    return gold, predicted


# Spans


def test_spans_by_hand() -> None:
    gold = tags("B-PER I-PER O B-LOC", "O B-ORG I-ORG O", "B-LOC B-LOC")
    predicted = tags("B-PER I-PER O B-ORG", "O B-ORG O O", "B-LOC I-LOC")
    scores = span_scores(gold, predicted)
    # Right: PER. Wrong label: LOC as ORG. Wrong end: ORG. Two gold LOC run together into one.
    assert (scores.gold, scores.predicted, scores.correct) == (5, 4, 1)
    assert (scores.precision, scores.recall, scores.f1) == (1 / 4, 1 / 5, 2 / 9)
    assert scores.by_label == {"LOC": SpanCounts(3, 1, 0), "ORG": SpanCounts(1, 2, 0), "PER": SpanCounts(1, 1, 1)}
    assert list(scores.by_label) == ["LOC", "ORG", "PER"]
    assert (scores.by_label["PER"].f1, scores.by_label["LOC"].f1) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("predicted", "counts"),
    [
        ("B-X I-X O B-X", (2, 2, 2)),  # the tags themselves
        ("B-X O O B-X", (2, 2, 2)),  # the first one by an alternative
        ("O B-X I-X I-X", (2, 2, 2)),  # an alternative that overlaps both
        ("B-X B-X I-X I-X", (2, 2, 2)),  # two alternatives for the first one, of which the longer one finds the second
        ("B-X O O O", (2, 1, 1)),  # the second one is missing
        ("B-X I-X B-X O", (2, 2, 1)),  # ... and a wrong one is there
        ("B-Y I-Y O O", (2, 1, 0)),  # another label
        ("O O O O", (2, 0, 0)),
    ],
)
def test_spans_with_alternatives_by_hand(predicted: str, counts: tuple[int, int, int]) -> None:
    answers = Answers(["B-X", "I-X", "O", "B-X"], [("X", 0, 1), ("X", 1, 4)])
    scores = span_scores([answers], tags(predicted))
    assert (scores.gold, scores.predicted, scores.correct) == counts


def test_the_same_span_in_another_sentence_is_not_found() -> None:
    assert span_scores(tags("B-X O", "O O"), tags("O O", "B-X O")).correct == 0


def test_ratios_of_nothing_are_zero() -> None:
    for scores in (span_scores([], []), span_scores(tags("O O"), tags("O O"))):
        assert (scores.precision, scores.recall, scores.f1, scores.by_label) == (0.0, 0.0, 0.0, {})
    assert span_scores(tags("O"), tags("B-X")).precision == 0.0
    assert span_scores(tags("B-X"), tags("O")).recall == 0.0


def test_scores_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        span_scores(tags("B-X"), tags("B-X")).correct = 2  # type: ignore[misc]


def conlleval(gold: Tagged, predicted: Tagged) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Gold, predicted and correct chunks by label, in one walk over the lines as conlleval.pl makes it.

    The rules for E and S are those of its later versions, which know BIOES: E and S always end a chunk, B and S always
    start one.
    """

    def ends(last: str, last_type: str, tag: str, type: str) -> bool:
        pairs = {"BB", "BS", "BO", "IB", "IS", "IO"}
        return last + tag in pairs or last in "ES" or (last != "O" and last_type != type)

    def starts(last: str, last_type: str, tag: str, type: str) -> bool:
        pairs = {"EE", "EI", "SE", "SI", "OE", "OI"}
        return last + tag in pairs or tag in "BS" or (tag != "O" and last_type != type)

    in_gold, in_predicted, correct = Counter[str](), Counter[str](), Counter[str]()
    last_true, last_true_type, last_guess, last_guess_type = "O", "", "O", ""
    in_correct = False
    lines = [pair for pairs in zip(gold, predicted, strict=True) for pair in [*zip(*pairs, strict=True), ("O", "O")]]
    for true_line, guess_line in lines:
        true, _, true_type = true_line.partition("-")
        guess, _, guess_type = guess_line.partition("-")
        true_ends = ends(last_true, last_true_type, true, true_type)
        guess_ends = ends(last_guess, last_guess_type, guess, guess_type)
        if in_correct:
            if true_ends and guess_ends and last_guess_type == last_true_type:
                in_correct = False
                correct[last_true_type] += 1
            elif true_ends != guess_ends or guess_type != true_type:
                in_correct = False
        true_starts = starts(last_true, last_true_type, true, true_type)
        guess_starts = starts(last_guess, last_guess_type, guess, guess_type)
        if true_starts and guess_starts and guess_type == true_type:
            in_correct = True
        in_gold[true_type] += true_starts
        in_predicted[guess_type] += guess_starts
        last_true, last_true_type, last_guess, last_guess_type = true, true_type, guess, guess_type
    return +in_gold, +in_predicted, +correct


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_spans_are_counted_as_conlleval_counts_chunks(scheme: str, data: st.DataObject) -> None:
    gold, predicted = data.draw(gold_and_predicted(scheme))
    scores = span_scores(gold, predicted, scheme)
    in_gold, in_predicted, correct = conlleval(gold, predicted)
    assert scores.by_label == {
        label: SpanCounts(in_gold[label], in_predicted[label], correct[label])
        for label in sorted(in_gold.keys() | in_predicted.keys())
    }
    assert (scores.gold, scores.predicted, scores.correct) == (in_gold.total(), in_predicted.total(), correct.total())


# What the reference scorers answered when they were run on these tags: precision, recall and F1 of all spans by seqeval
# 1.2.2 in its default mode, and for each label the numbers of gold, predicted and correct spans. The counting code of
# conlleval.pl (version 2004-01-26) gives the same numbers for IOB1 and IOB2; it does not know the S of BIOES. Bars
# separate sentences.
REFERENCE_ANSWERS: list[tuple[str, str, str, tuple[float, float, float], dict[str, tuple[int, int, int]]]] = [
    # Well-formed, one wrong label and one wrong end.
    (
        "IOB2",
        "B-PER I-PER O B-LOC | O B-ORG I-ORG O",
        "B-PER I-PER O B-ORG | O B-ORG O O",
        (1 / 3, 1 / 3, 1 / 3),
        {"LOC": (1, 0, 0), "ORG": (1, 2, 0), "PER": (1, 1, 1)},
    ),
    # Two neighbors run together.
    ("IOB2", "B-X B-X O B-Y", "B-X I-X O B-Y", (1 / 2, 1 / 3, 2 / 5), {"X": (2, 1, 0), "Y": (1, 1, 1)}),
    # I after O starts a span.
    ("IOB2", "O B-X I-X O", "O I-X I-X O", (1, 1, 1), {"X": (1, 1, 1)}),
    # I first in its sentence starts a span.
    ("IOB2", "B-X I-X | B-Y", "I-X I-X | I-Y", (1, 1, 1), {"X": (1, 1, 1), "Y": (1, 1, 1)}),
    # I of another label starts a span.
    ("IOB2", "B-X I-X B-Y I-Y", "B-X I-X I-Y I-Y", (1, 1, 1), {"X": (1, 1, 1), "Y": (1, 1, 1)}),
    # I of the first label again starts a third span.
    ("IOB2", "B-X B-Y B-X O", "B-X I-Y I-X O", (1, 1, 1), {"X": (2, 2, 2), "Y": (1, 1, 1)}),
    # A span does not cross the end of a sentence.
    ("IOB2", "B-X I-X | I-X O", "B-X I-X | B-X O", (1, 1, 1), {"X": (2, 2, 2)}),
    # Both gold and predicted tags are ill-formed.
    ("IOB2", "I-X I-Y I-Y B-Y", "I-X B-Y I-Y I-Y", (1 / 2, 1 / 3, 2 / 5), {"X": (1, 1, 1), "Y": (2, 1, 0)}),
    # A label that is only predicted.
    ("IOB2", "B-X O O", "B-X B-Y I-Y", (1 / 2, 1, 2 / 3), {"X": (1, 1, 1), "Y": (0, 1, 0)}),
    # A label that is only in gold.
    ("IOB2", "B-X B-Y I-Y", "B-X O O", (1, 1 / 2, 2 / 3), {"X": (1, 1, 1), "Y": (1, 0, 0)}),
    # The right start with the wrong end.
    ("IOB2", "B-X I-X I-X O B-X", "B-X I-X O O B-X", (1 / 2, 1 / 2, 1 / 2), {"X": (2, 2, 1)}),
    # The right end with the wrong start.
    ("IOB2", "O B-X I-X O | B-Y", "B-X I-X I-X O | B-Y", (1 / 2, 1 / 2, 1 / 2), {"X": (1, 1, 0), "Y": (1, 1, 1)}),
    # A hyphen in a label.
    ("IOB2", "B-A-B I-A-B O B-A", "B-A-B I-A-B O B-A-B", (1 / 2, 1 / 2, 1 / 2), {"A": (1, 0, 0), "A-B": (1, 2, 1)}),
    # B only between neighbors of one label.
    ("IOB1", "I-X I-X B-X O I-Y", "I-X I-X B-X O I-Y", (1, 1, 1), {"X": (2, 2, 2), "Y": (1, 1, 1)}),
    # B where I would do.
    ("IOB1", "I-X I-X O I-Y", "B-X I-X O B-Y", (1, 1, 1), {"X": (1, 1, 1), "Y": (1, 1, 1)}),
    # A missing B joins two spans.
    ("IOB1", "I-X B-X I-X | I-Y I-X", "I-X I-X I-X | I-Y I-X", (2 / 3, 1 / 2, 4 / 7), {"X": (3, 2, 1), "Y": (1, 1, 1)}),
    # Neighbors of different labels need no B.
    ("IOB1", "I-X I-Y I-X", "I-X B-Y B-X", (1, 1, 1), {"X": (2, 2, 2), "Y": (1, 1, 1)}),
    # Well-formed, one wrong end.
    (
        "BIOES",
        "B-X E-X O S-Y | B-Y I-Y E-Y O",
        "B-X E-X O S-Y | B-Y E-Y O O",
        (2 / 3, 2 / 3, 2 / 3),
        {"X": (1, 1, 1), "Y": (2, 2, 1)},
    ),
    # S and E end a span.
    ("BIOES", "S-X S-X B-X E-X", "S-X I-X B-X E-X", (1, 1, 1), {"X": (3, 3, 3)}),
    # E after O is a span of its own.
    ("BIOES", "O S-X O S-Y", "O E-X O S-Y", (1, 1, 1), {"X": (1, 1, 1), "Y": (1, 1, 1)}),
    # E after E starts a span.
    ("BIOES", "B-X E-X S-X", "B-X E-X E-X", (1, 1, 1), {"X": (2, 2, 2)}),
    # I after E starts a span.
    ("BIOES", "B-X E-X B-X E-X", "B-X E-X I-X E-X", (1, 1, 1), {"X": (2, 2, 2)}),
    # A span without an end stops before O, S, B and another label.
    (
        "BIOES",
        "S-X O S-X S-X S-X B-X E-X S-X S-Y",
        "B-X O B-X S-X B-X B-X I-X B-X E-Y",
        (1, 1, 1),
        {"X": (6, 6, 6), "Y": (1, 1, 1)},
    ),
    # I and E after S.
    ("BIOES", "S-X B-X E-X | S-X S-X", "S-X I-X E-X | S-X E-X", (1, 1, 1), {"X": (4, 4, 4)}),
    # A span without an end at the end of its sentence.
    ("BIOES", "B-X E-X | S-Y", "B-X I-X | B-Y", (1, 1, 1), {"X": (1, 1, 1), "Y": (1, 1, 1)}),
]


@pytest.mark.parametrize(("scheme", "gold", "predicted", "overall", "by_label"), REFERENCE_ANSWERS)
def test_span_scores_equal_those_of_seqeval_and_conlleval(
    scheme: str,
    gold: str,
    predicted: str,
    overall: tuple[float, float, float],
    by_label: dict[str, tuple[int, int, int]],
) -> None:
    gold_tags, predicted_tags = tags(*gold.split(" | ")), tags(*predicted.split(" | "))
    scores = span_scores(gold_tags, predicted_tags, scheme)
    np.testing.assert_allclose((scores.precision, scores.recall, scores.f1), overall, rtol=1e-12)
    assert scores.by_label == {label: SpanCounts(*counts) for label, counts in by_label.items()}
    # The walk above, which judges random tags, gives the same answers.
    in_gold, in_predicted, correct = conlleval(gold_tags, predicted_tags)
    assert {label: (in_gold[label], in_predicted[label], correct[label]) for label in by_label} == by_label


@settings(deadline=None)
@given(gold_and_predicted("IOB2"), st.sampled_from(sorted(SCHEMES)))
def test_scores_do_not_depend_on_the_scheme(pair: tuple[Tagged, Tagged], scheme: str) -> None:
    gold, predicted = ([convert_tags(sentence, "IOB2", scheme) for sentence in sentences] for sentences in pair)
    assert span_scores(gold, predicted, scheme) == span_scores(*pair)


def test_a_malformed_tag_is_named_by_example_and_position() -> None:
    with pytest.raises(MargraveError, match=r"^predicted\[1\]: tags\[0\] is 'Q-X', but tags of IOB2 are"):
        span_scores(tags("O", "O"), tags("O", "Q-X"))
    with pytest.raises(MargraveError, match=r"^unknown tag scheme 'BIO'"):
        span_scores([], [], scheme="BIO")
    with pytest.raises(MargraveError, match=r"^unknown tag scheme 'BIO'"):
        span_scores(tags("O"), tags("O"), scheme="BIO")


# Accuracies


def test_accuracies_by_hand() -> None:
    gold, predicted = [["a", "b"], ["c"], []], [["a", "c"], ["c"], []]
    assert token_accuracy(gold, predicted) == 2 / 3
    assert sequence_accuracy(gold, predicted) == 2 / 3
    assert sequence_accuracy([[1, 2], [3, 4]], np.array([[1, 2], [3, 5]])) == 1 / 2
    assert token_accuracy([[1, 2], [3, 4]], np.array([[1, 2], [3, 5]])) == 3 / 4


# Attachment


def test_attachment_by_hand() -> None:
    gold, predicted = [[2, 0, 2, 3], [0]], [[2, 0, 4, 2], [0]]
    gold_labels = [["det", "root", "obj", "punct"], ["root"]]
    predicted_labels = [["amod", "root", "obj", "punct"], ["root"]]
    # Right heads: words 1 and 2 of the first sentence and that of the second. The label of the very first is wrong.
    assert attachment_scores(gold, predicted) == AttachmentScores(5, 3 / 5, None)
    assert attachment_scores(gold, predicted, gold_labels, predicted_labels) == AttachmentScores(5, 3 / 5, 2 / 5)
    ignore = [[label == "punct" for label in labels] for labels in gold_labels]
    expected = AttachmentScores(4, 3 / 4, 2 / 4)
    assert attachment_scores(gold, predicted, gold_labels, predicted_labels, ignore) == expected
    ignore = [[True, False, False, True], [False]]
    expected = AttachmentScores(3, 2 / 3, 2 / 3)
    assert attachment_scores(gold, predicted, gold_labels, predicted_labels, ignore) == expected


def test_attachment_takes_arrays() -> None:
    heads = [np.array([2, 0]), np.array([0])]
    scores = attachment_scores(heads, [[2, 0], [0]], ignore=[np.array([False, True]), np.array([False])])
    assert scores == AttachmentScores(2, 1.0, None)
    assert type(scores.uas) is float


# What cannot be scored

Score = Callable[[Sequence[Any], Sequence[Any]], object]


@pytest.mark.parametrize(
    ("score", "names"),
    [
        (span_scores, ("gold", "predicted")),
        (token_accuracy, ("gold", "predicted")),
        (sequence_accuracy, ("gold", "predicted")),
        (attachment_scores, ("gold_heads", "predicted_heads")),
        (lambda a, b: attachment_scores(a, a, a, b), ("gold_labels", "predicted_labels")),
        (lambda a, b: attachment_scores(a, a, b, b), ("gold_heads", "gold_labels")),
        (lambda a, b: attachment_scores(a, a, ignore=b), ("gold_heads", "ignore")),
    ],
)
def test_ragged_input_is_refused_with_the_example(score: Score, names: tuple[str, str]) -> None:
    gold, other = names
    with pytest.raises(MargraveError, match=rf"^{gold}\[1\] has length 2, but {other}\[1\] has length 1\.$"):
        score([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(MargraveError, match=rf"^{gold} has 2 examples, but {other} has 1\.$"):
        score([["O"], ["O"]], [["O"]])


@pytest.mark.parametrize("score", [span_scores, token_accuracy, sequence_accuracy, attachment_scores])
def test_one_flat_sequence_is_refused(score: Score) -> None:
    with pytest.raises(MargraveError, match=r"\[0\] must be a sequence, and it is 'O'\.$"):
        score(["O", "O"], ["O", "O"])
    with pytest.raises(MargraveError, match=r"\[0\] must be a sequence, and it is 3\.$"):
        score([3, 0], [3, 0])


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(MargraveError, match=r"^there are no tokens to score\.$"):
        token_accuracy([[]], [[]])
    with pytest.raises(MargraveError, match=r"^there are no sequences to score\.$"):
        sequence_accuracy([], [])
    with pytest.raises(MargraveError, match=r"^there are no words to score\.$"):
        attachment_scores([[0]], [[0]], ignore=[[True]])


def test_labeled_attachment_needs_both_labels() -> None:
    with pytest.raises(MargraveError, match="needs both gold_labels and predicted_labels"):
        attachment_scores([[0]], [[0]], gold_labels=[["root"]])
