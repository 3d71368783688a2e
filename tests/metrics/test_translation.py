"""BLEU, NIST and the randomization test against recorded values, hand-worked cases and their definitions."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from math import exp, log, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave.errors import MargraveError
from margrave.metrics import (
    BleuStatistics,
    NistStatistics,
    approximate_randomization,
    bleu,
    bleu_of_statistics,
    nist,
    nist_of_statistics,
    sentence_bleu,
)

Corpus = tuple[list[str], list[list[str]]]

words = st.lists(st.sampled_from(["a", "b", "c", "A", "dd"]), max_size=9).map(" ".join)


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """Texts over few words, so that many n-grams match, with one to three references a segment."""
    hypotheses = draw(st.lists(words, min_size=1, max_size=5))
    return hypotheses, [draw(st.lists(words, min_size=1, max_size=3)) for _ in hypotheses]


# BLEU

# By sacrebleu 2.6, tokenize="none", divided by 100: smooth_method "exp", "add-k" and "none", then "exp" in lower case.
RECORDED: dict[str, tuple[Corpus, tuple[float, float, float, float]]] = {
    "one word differs": (
        (["the cat sat on the mat"], [["the cat sat on a mat"]]),
        (0.537284965911771, 0.6389431042462729, 0.537284965911771, 0.537284965911771),
    ),
    "several references": (
        (
            [
                "it is a guide to action which ensures that the military always obeys the commands of the party",
                "he read the book because he was interested in world history",
            ],
            [
                [
                    "it is a guide to action that ensures that the military will forever heed party commands",
                    "it is the guiding principle which guarantees the military forces always being under the command "
                    "of the party",
                    "it is the practical guide for the army always to heed the directions of the party",
                ],
                [
                    "he was interested in world history because he read the book",
                    "the book he read was on history",
                    "he read a book of world history",
                ],
            ],
        ),
        (0.5920778868801044, 0.6108780048582718, 0.5920778868801044, 0.5920778868801044),
    ),
    "no 4-gram matches": (
        (
            ["a small house stands near the river", "the boat is red"],
            [["a small cottage stands by the river"], ["the red boat"]],
        ),
        (0.15499999679101573, 0.25965358893403384, 0.0, 0.15499999679101573),
    ),
    "short, and an empty hypothesis": (
        (["the dog runs through the wet grass", ""], [["the dog runs through the wet green grass"], ["he sleeps"]]),
        (0.5477927682341229, 0.5663883102178477, 0.5477927682341229, 0.5477927682341229),
    ),
    "another case": (
        (["The Dog runs through the Grass ."], [["the dog runs through the grass ."]]),
        (0.26269098944241587, 0.3574567288497839, 0.0, 1.0),
    ),
    "no text of four words": ((["a b", "c"], [["a b"], ["c"]]), (0.0, 1.0, 0.0, 0.0)),
}


@pytest.mark.parametrize(("corpus", "scores"), RECORDED.values(), ids=RECORDED)
def test_bleu_is_that_of_sacrebleu(corpus: Corpus, scores: tuple[float, ...]) -> None:
    found = [bleu(*corpus, smooth=smooth) for smooth in ("exp", "add-one", "none")]
    assert_allclose([*found, bleu(*corpus, lowercase=True)], scores, atol=1e-9, rtol=0)


@given(corpora(), st.sampled_from([("exp", "exp"), ("add-one", "add-k"), ("none", "none")]), st.booleans())
@settings(deadline=None, max_examples=300)
def test_bleu_is_that_of_sacrebleu_on_random_texts(corpus: Corpus, smooth: tuple[str, str], lowercase: bool) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    hypotheses, references = corpus
    streams = [[texts[k] if k < len(texts) else None for texts in references] for k in range(3)]
    theirs = sacrebleu.BLEU(tokenize="none", smooth_method=smooth[1], lowercase=lowercase, force=True)
    expected = theirs.corpus_score(hypotheses, streams).score / 100
    assert bleu(hypotheses, references, smooth=smooth[0], lowercase=lowercase) == pytest.approx(expected, abs=1e-9)


def test_the_statistics_of_bleu_by_hand() -> None:
    # "a" matches twice, as in the second reference; both references are one word away, and the shorter counts.
    rows = BleuStatistics([["b c", "a a b d"], "x"]).segments(["a a a", "x"])
    assert rows.dtype == np.int64
    assert rows.tolist() == [[2, 1, 0, 0, 3, 2, 1, 0, 3, 2], [1, 0, 0, 0, 1, 0, 0, 0, 1, 1]]


@given(corpora())
@settings(deadline=None)
def test_lists_have_the_statistics_of_their_hypotheses(corpus: Corpus) -> None:
    hypotheses, references = corpus
    for statistics in (BleuStatistics(references), NistStatistics(references)):
        lists = statistics.lists([[text, "a b"] for text in hypotheses])
        assert_allclose([rows[0] for rows in lists], statistics.segments(hypotheses))
        assert_allclose([rows[1] for rows in lists], statistics.segments(["a b"] * len(hypotheses)))


def test_a_reference_is_a_text_or_a_list_of_them() -> None:
    assert bleu(["a b c d e"], ["a b c d f"]) == bleu(["a b c d e"], [["a b c d f"]])
    assert bleu(["a b c d e"], np.array(["a b c d f"])) == bleu(["a b c d e"], ["a b c d f"])
    assert nist(["a b"], ["a c"]) == nist(["a b"], [("a c",)])


def test_bleu_of_many_sums_at_once_is_bleu_of_each() -> None:
    rows = BleuStatistics(["a b c d e", "a b c", "f", ""]).segments(["a b c d e", "a c b", "g", "f"])
    for smooth in ("exp", "add-one", "none"):
        each = [bleu_of_statistics(row, smooth=smooth) for row in rows]
        assert_allclose(bleu_of_statistics(rows[:, None], smooth=smooth), np.array(each)[:, None])


# Sentence BLEU


def bleu_plus_one(hypothesis: str, references: Sequence[str]) -> float:
    """The definition of Lin and Och, without the library's counts."""
    guess = hypothesis.split()
    logs = []
    for n in range(1, 5):
        grams = Counter(tuple(guess[k : k + n]) for k in range(len(guess) - n + 1))
        hits = 0
        for gram, count in grams.items():
            texts = [reference.split() for reference in references]
            hits += min(count, max(sum(tuple(t[k : k + n]) == gram for k in range(len(t))) for t in texts))
        matches, total = (hits, len(guess)) if n == 1 else (hits + 1, max(0, len(guess) - n + 1) + 1)
        if matches == 0:
            return 0.0
        logs.append(log(matches / total))
    closest = min((abs(len(r.split()) - len(guess)), len(r.split())) for r in references)[1]
    return exp(min(0.0, 1 - closest / len(guess)) + sum(logs) / 4)


@given(words, st.lists(words, min_size=1, max_size=3))
@settings(deadline=None)
def test_sentence_bleu_adds_one_above_words(hypothesis: str, references: list[str]) -> None:
    expected = bleu_plus_one(hypothesis, references)
    assert sentence_bleu(hypothesis, references) == pytest.approx(expected, abs=1e-12)


def test_sentence_bleu_by_hand() -> None:
    # Words 2 of 3, pairs 1 + 1 of 2 + 1, triples 0 + 1 of 1 + 1, and no quadruple: 1 of 1; one word too few.
    expected = exp(1 - 4 / 3) * (2 / 3 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert sentence_bleu("a b x", "a b c d") == pytest.approx(expected, abs=1e-12)
    assert sentence_bleu("A b c", ["a b c"], lowercase=True) == 1.0
    assert sentence_bleu("x y", ["a b"]) == sentence_bleu("", ["a b"]) == 0.0


# NIST


def test_nist_by_hand() -> None:
    # The information of a (2 of 4 words) is 1 bit, of b and c 2 bits, and of "a b" (after 1 of 2 a's) 1 bit.
    penalty = exp(log(0.5) * (log(3 / 4) / log(1.5)) ** 2)
    assert nist(["a b c"], ["a b a c"]) == pytest.approx(penalty * (5 / 3 + 1 / 2), abs=1e-12)


def test_nist_of_several_references_by_hand() -> None:
    # Of 6 words a is 3, b 2 and c 1. a matches twice, as often as in the second reference; 3 is the mean length.
    expected = (2 + log2(3)) / 3 + (log2(3) + log2(3 / 2)) / 2
    assert nist(["a a b"], [["a b", "a a b c"]]) == pytest.approx(expected, abs=1e-12)


def test_the_penalty_of_nist_is_a_half_at_two_thirds_of_the_words() -> None:
    reference = "a b c d e f"
    whole = nist_of_statistics(np.array([2.0, 0, 0, 0, 0, 6, 5, 4, 3, 2, 6]))
    short = nist_of_statistics(np.array([2.0, 0, 0, 0, 0, 6, 5, 4, 3, 2, 9]))
    assert short / whole == pytest.approx(0.5)
    assert nist(["a b c d e f g h i"], [reference]) < nist([reference], [reference])


def nist_by_definition(hypotheses: list[str], references: list[list[str]]) -> float:
    """Doddington's sums with mteval's choices, n by n over the whole corpus."""
    texts = [[text.split() for text in segment] for segment in references]
    guesses = [text.split() for text in hypotheses]

    def grams(text: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(text[k : k + n]) for k in range(len(text) - n + 1))

    def occurrences(gram: tuple[str, ...]) -> int:
        return sum(grams(text, len(gram))[gram] for segment in texts for text in segment)

    score = 0.0
    for n in range(1, 6):
        bits, total = 0.0, 0
        for guess, segment in zip(guesses, texts, strict=True):
            for gram, count in grams(guess, n).items():
                total += count
                limit = max(grams(text, n)[gram] for text in segment)
                if limit:
                    before = occurrences(gram[:-1]) if n > 1 else sum(len(text) for s in texts for text in s)
                    bits += min(count, limit) * log2(before / occurrences(gram))
        score += bits / total if total else 0.0
    mean = sum(sum(len(text) for text in segment) / len(segment) for segment in texts)
    ratio = sum(map(len, guesses)) / mean if mean else 1.0
    if ratio == 0:
        return 0.0
    return score * (exp(log(0.5) * (log(ratio) / log(1.5)) ** 2) if ratio < 1 else 1.0)


@given(corpora())
@settings(deadline=None, max_examples=50)
def test_nist_is_what_its_definition_says(corpus: Corpus) -> None:
    assert nist(*corpus) == pytest.approx(nist_by_definition(*corpus), abs=1e-9)


def test_nist_in_lower_case() -> None:
    assert nist(["The Cat"], ["the cat"]) == 0.0
    assert nist(["The Cat"], ["the cat"], lowercase=True) == 1.0


# Bad input

MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: bleu(["a"], ["a", "b"]), "hypotheses has 1 segments, but references has 2."),
    (lambda: nist(["a", "b"], ["a"]), "hypotheses has 2 segments, but references has 1."),
    (lambda: bleu(["a"], [[]]), "references[0] is empty, but a segment needs at least one reference."),
    (lambda: nist(["a", "b"], ["a", []]), "references[1] is empty, but a segment needs at least one reference."),
    (lambda: bleu([], []), "references is empty: there are no segments to score."),
    (lambda: bleu([], ["a"]), "hypotheses is empty: there are no segments to score."),
    (lambda: bleu("a b", ["a"]), "hypotheses must be a sequence of segments, and it is 'a b'."),
    (lambda: bleu(["a"], "a b"), "references must be a sequence of segments, and it is 'a b'."),
    (lambda: bleu([["a"]], ["a"]), "hypotheses[0] must be a text, and it is ['a']."),  # type: ignore[list-item]
    (lambda: bleu(["a"], [3]), "references[0] must be a text or a list of texts, and it is 3."),  # type: ignore[list-item]
    (lambda: bleu(["a"], [["a", 3]]), "references[0][1] must be a text, and it is 3."),  # type: ignore[list-item]
    (
        lambda: bleu(["a"], ["a"], smooth="exq"),
        "unknown smoothing 'exq'; did you mean 'exp'? (valid: exp, add-one, none)",
    ),
    (lambda: bleu(["a"], ["a"], lowercase=2), "lowercase must be True or False, and it is 2."),  # type: ignore[arg-type]
    (lambda: sentence_bleu("a", []), "references[0] is empty, but a segment needs at least one reference."),
    (lambda: BleuStatistics(["a"]).lists([[]]), "hypotheses[0] is empty: there are no texts to score."),
    (lambda: BleuStatistics(["a"]).lists(["a"]), "hypotheses[0] must be a sequence of texts, and it is 'a'."),
    (lambda: bleu_of_statistics(np.zeros((3, 9))), "BLEU needs 10 statistics per segment, and the shape is (3, 9)."),
    (lambda: nist_of_statistics(np.zeros(())), "NIST needs 11 statistics per segment, and the shape is ()."),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_is_named_in_one_sentence(mistake: Callable[[], Any], message: str) -> None:
    with pytest.raises(MargraveError) as caught:
        mistake()
    assert str(caught.value) == message


# Approximate randomization


def total(sums: Any) -> Any:
    return sums[..., 0]


def ratio(sums: Any) -> Any:
    return sums[..., 0] / sums[..., 1]


def enumerated(first: np.ndarray, second: np.ndarray, score: Callable[[Any], Any]) -> float:
    """The part of all ways to swap segments that give at least the true difference."""
    observed = abs(score(first.sum(0)) - score(second.sum(0)))
    count = 0
    for swap in product([False, True], repeat=len(first)):
        choose = np.array(swap)[:, None]
        one, other = np.where(choose, second, first).sum(0), np.where(choose, first, second).sum(0)
        count += abs(score(one) - score(other)) >= observed - 1e-12
    return count / 2 ** len(first)


@pytest.mark.parametrize("score", [total, ratio])
def test_few_segments_give_the_exact_p_value(score: Callable[[Any], Any]) -> None:
    generator = np.random.default_rng(0)
    for n in (1, 2, 5, 8):
        first, second = generator.integers(1, 5, (n, 2)), generator.integers(1, 5, (n, 2))  # many ties
        assert approximate_randomization(first, second, score) == enumerated(first, second, score)
        noise = generator.normal(size=(2, n, 2)) + 3
        assert approximate_randomization(noise[0], noise[1], score) == enumerated(noise[0], noise[1], score)


def test_random_swaps_approach_the_exact_p_value() -> None:
    generator = np.random.default_rng(1)
    for _ in range(5):
        first, second = generator.integers(1, 9, (13, 2)), generator.integers(1, 9, (13, 2))
        exact = approximate_randomization(first, second, ratio, trials=2**13)
        sampled = [
            approximate_randomization(first, second, ratio, trials=2**13 - 1, random_state=seed) for seed in range(3)
        ]
        assert len(set(sampled)) > 1
        # Four deviations of the part of so many trials.
        assert_allclose(sampled, exact, atol=4 * np.sqrt(exact * (1 - exact) / 2**13) + 2**-12)


def test_p_values_of_equal_systems_are_uniform() -> None:
    generator = np.random.default_rng(2)
    p = [
        approximate_randomization(*generator.normal(size=(2, 20, 1)), total, trials=199, random_state=seed)
        for seed in range(500)
    ]
    distance = np.abs(np.sort(p) - (np.arange(500) + 0.5) / 500).max()
    assert distance < 1.63 / np.sqrt(500)  # Kolmogorov and Smirnov at 0.01
    assert min(p) >= 1 / 200


def test_p_values_do_not_depend_on_which_system_comes_first() -> None:
    generator = np.random.default_rng(3)
    for n in (4, 40):
        first, second = generator.integers(0, 9, (2, n, 2)) + 1
        assert approximate_randomization(first, second, ratio) == approximate_randomization(second, first, ratio)
    assert approximate_randomization(first, first, ratio) == 1.0


def test_a_clear_difference_has_the_least_p_value() -> None:
    first, second = np.ones((60, 1)), np.zeros((60, 1))
    assert approximate_randomization(first, second, total, trials=999) == 1 / 1000


def test_outputs_and_their_statistics_have_the_same_p_value() -> None:
    generator = np.random.default_rng(4)
    texts = [[" ".join(generator.choice(list("abc"), 6)) for _ in range(15)] for _ in range(3)]
    one, other, references = texts
    for statistics, of_sums, score in (
        (BleuStatistics(references), bleu_of_statistics, bleu),
        (NistStatistics(references), nist_of_statistics, nist),
    ):
        by_sums = approximate_randomization(
            statistics.segments(one), statistics.segments(other), of_sums, trials=150, random_state=5
        )
        by_texts = approximate_randomization(one, other, lambda y: score(y, references), trials=150, random_state=5)  # noqa: B023
        assert by_sums == by_texts
        assert 0 < by_sums < 1


def test_swaps_are_taken_in_pieces_without_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    few, many = generator.normal(size=(2, 6, 1)), generator.normal(size=(2, 30, 1))
    before = approximate_randomization(*few, total), approximate_randomization(*many, total, trials=300)
    monkeypatch.setattr("margrave.metrics.significance._AT_A_TIME", 50)
    assert before == (approximate_randomization(*few, total), approximate_randomization(*many, total, trials=300))


WRONG: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: approximate_randomization(np.ones((2, 1)), np.ones((3, 1)), total),
        "the first system has 2 segments, but the second has 3.",
    ),
    (lambda: approximate_randomization([], [], len), "there are no segments to compare."),
    (
        lambda: approximate_randomization(np.ones((2, 1)), np.ones((2, 3)), total),
        "the statistics of both systems must have the same shape (segments, numbers), "
        "and their shapes are (2, 1) and (2, 3).",
    ),
    (
        lambda: approximate_randomization(np.ones((2, 3)), np.ones((2, 3)), lambda sums: sums.sum()),
        "score must map sums of shape (..., 3) to numbers of shape (...), and it returned shape () for (1, 3).",
    ),
    (
        lambda: approximate_randomization(np.ones((2, 1)), np.ones((2, 1)), lambda sums: sums[..., 0] * np.nan),
        "score must return finite numbers, and it returned nan.",
    ),
    (
        lambda: approximate_randomization("ab", "cd", lambda y: float("inf")),
        "score must return finite numbers, and it returned inf.",
    ),
    (
        lambda: approximate_randomization(np.ones((2, 1)), np.ones((2, 1)), total, trials=0),
        "trials must be at least 1, and it is 0.",
    ),
    (
        lambda: approximate_randomization(np.ones((2, 1)), np.ones((2, 1)), total, random_state=-1),
        "random_state must be at least 0, and it is -1.",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_test_that_cannot_be_made_says_why(mistake: Callable[[], Any], message: str) -> None:
    with pytest.raises(MargraveError) as caught:
        mistake()
    assert str(caught.value) == message
