"""Language models: modified Kneser-Ney smoothing by its definition, back-off by its definition, and ARPA files."""

import gzip
import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave.errors import DataError, MargraveError
from margrave.translation.language_model import NGramModel
from tests.references.refusals import refusal

TEXT = ["a b c", "a b a b", "b", "", "c a b c a b c", "a a b c", "d b a", "<unk> a b"]


def random_text(seed: int, sentences: int, words: int) -> list[str]:
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(words, 0.3))
    return [" ".join(f"w{k}" for k in rng.choice(words, size=rng.integers(0, 12), p=share)) for _ in range(sentences)]


class Smoothed:
    """Modified Kneser-Ney smoothing with counts in dictionaries, word by word as the formula has it."""

    def __init__(self, sentences: list[str], order: int) -> None:
        self.order = order
        occurrences: Counter[tuple[str, ...]] = Counter()
        for sentence in sentences:
            words = ["<s>", *sentence.split(), "</s>"]
            for end, n in itertools.product(range(2, len(words) + 1), range(1, order + 1)):
                if end - n >= 0:
                    occurrences[tuple(words[end - n : end])] += 1
        before = defaultdict(set)
        for gram in occurrences:
            before[gram[1:]].add(gram[0])
        self.count = {
            gram: n if len(gram) == order or gram[0] == "<s>" else len(before[gram]) for gram, n in occurrences.items()
        }
        self.vocabulary = sorted({gram[-1] for gram in self.count} | {"<unk>", "</s>"})
        self.discounts = {n: self._discounts(n) for n in range(1, order + 1)}

    def _discounts(self, n: int) -> list[float]:
        of = Counter(count for gram, count in self.count.items() if len(gram) == n)
        if not all(of[k] for k in (1, 2, 3, 4)):
            return [0.5, 1.0, 1.5]
        y = of[1] / (of[1] + 2 * of[2])
        found = [k - (k + 1) * y * of[k + 1] / of[k] for k in (1, 2, 3)]
        return found if all(0 < d < k for k, d in enumerate(found, 1)) else [0.5, 1.0, 1.5]

    def probability(self, word: str, context: tuple[str, ...]) -> float:
        known = [w if w in self.vocabulary or w == "<s>" else "<unk>" for w in context]
        context = tuple(known[max(0, len(known) - self.order + 1) :])
        lower = self.probability(word, context[1:]) if context else 1 / len(self.vocabulary)
        after = {w: self.count[(*context, w)] for w in self.vocabulary if self.count.get((*context, w))}
        if not after:
            return lower
        total = sum(after.values())
        discount = {w: self.discounts[len(context) + 1][min(c, 3) - 1] for w, c in after.items()}
        spared = sum(discount.values()) / total
        return (after.get(word, 0) - discount.get(word, 0)) / total + spared * lower


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("text", [TEXT, random_text(0, 60, 8), random_text(1, 200, 40)], ids=["small", "60", "200"])
def test_estimates_are_modified_kneser_ney_by_definition(text: list[str], order: int) -> None:
    model, slow = NGramModel.estimate(text, order), Smoothed(text, order)
    rng = np.random.default_rng(order)
    contexts = [tuple(text[i].split())[:k] for i in rng.integers(0, len(text), 6) for k in (1, 3)]
    contexts += [(), ("<s>",), ("<s>", "a", "b"), ("never", "a"), ("a", "never"), ("b", "</s>")]
    for context in contexts:
        for word in [*slow.vocabulary[:10], "</s>", "<unk>"]:
            assert_allclose(10 ** model.conditional(word, context), slow.probability(word, context), rtol=1e-10)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_probabilities_sum_to_one_behind_every_context(order: int) -> None:
    text = random_text(2, 300, 25)
    model = NGramModel.estimate(text, order)
    words = [*sorted({word for sentence in text for word in sentence.split()}), "</s>", "<unk>"]
    contexts = {tuple(("<s>", *s.split())[k : k + 4]) for s in text[:30] for k in range(4)} | {(), ("new", "w1")}
    for context in contexts:
        assert_allclose(sum(10 ** model.conditional(word, context) for word in words), 1.0, atol=1e-12)


def test_a_bigram_model_of_two_sentences_is_that_of_the_hand_calculation() -> None:
    # Words: a (behind <s> and b), b (behind a), </s> (behind a and b): 5 distinct bigrams. No discounts can be computed
    # from so little, so they are 0.5, 1 and 1.5. There are 4 words: a, b, </s>, <unk>.
    model = NGramModel.estimate(["a b a", "a b"], order=2)
    spared = (1.0 + 0.5 + 1.0) / 5
    b, a = 0.5 / 5 + spared / 4, 1.0 / 5 + spared / 4
    assert_allclose(10 ** model.conditional("b"), b, rtol=1e-12)
    assert_allclose(10 ** model.conditional("a"), a, rtol=1e-12)
    assert_allclose(10 ** model.conditional("<unk>"), spared / 4, rtol=1e-12)
    # a occurs three times before another word: twice before b, once before </s>.
    assert_allclose(10 ** model.conditional("b", "a"), 1 / 3 + 1.5 / 3 * b, rtol=1e-12)
    assert_allclose(10 ** model.conditional("a", "a"), 1.5 / 3 * a, rtol=1e-12)
    # Both sentences begin with a.
    assert_allclose(10 ** model.conditional("a", "<s>"), 1 / 2 + 1 / 2 * a, rtol=1e-12)
    by_hand = [("a", "<s>"), ("b", "a"), ("</s>", "b")]
    assert_allclose(model.score("a b"), sum(model.conditional(w, h) for w, h in by_hand), rtol=1e-12)


ARPA = """
a line before the beginning

\\data\\
ngram 1=5
ngram 2=3
ngram 3=2

\\1-grams:
-99\t<s>\t-0.25
-1\t</s>
-0.5\ta\t-0.125
-0.75\tb\t-0.5
-2\t<unk>

\\2-grams:
-0.25\t<s> a\t-0.0625
-0.375 a b -1.5
-0.5\tb b

\\3-grams:
-0.1\t<s> a b
-0.2\tb a b

\\end\\
"""


def arpa(tmp_path, text: str = ARPA, name: str = "model.arpa"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
def test_scores_of_a_file_back_off_as_the_format_defines(tmp_path, name: str) -> None:
    model = NGramModel.read_arpa(arpa(tmp_path, name=name))
    assert (model.order, len(model), "a" in model, "c" in model) == (3, 11, True, False)
    for word, context, expected in [
        ("a", "<s>", -0.25),
        ("b", "<s> a", -0.1),
        ("a", "<s> a", -0.0625 - 0.125 - 0.5),
        ("b", "a b", -1.5 - 0.5),
        ("b", "b b", -0.5),
        ("a", "b b", -0.5 - 0.5),
        ("c", "a b", -1.5 - 0.5 - 2),
        ("</s>", "c", -1),
        # b a is not listed, but it is the context of b a b: its own score is what back-off gives.
        ("a", "b", -0.5 - 0.5),
        ("b", "b a", -0.2),
        ("a", "b a", -0.125 - 0.5),
        ("b", "a b a", -0.2),
    ]:
        assert_allclose(model.conditional(word, context), expected, atol=1e-12, err_msg=f"{word} | {context}")
    assert_allclose(model.score("a b"), -0.25 - 0.1 + -1.5 - 0.5 - 1, atol=1e-12)
    assert model.score(["a", "b"]) == model.score("a b")


def test_a_state_is_the_longest_suffix_that_can_matter(tmp_path) -> None:
    model = NGramModel.read_arpa(arpa(tmp_path))
    assert model.state("<s> a") == ("<s>", "a")
    assert model.state("<s> a b") == ("a", "b")
    assert model.state("a b b") == ("b",)  # b b has neither continuations nor a back-off weight
    assert model.state("b </s>") == model.state("a c") == ()
    assert model.state("b b a") == ("b", "a")


@pytest.mark.parametrize("name", ["model.arpa", "model.arpa.gz"])
def test_a_written_model_is_read_back_with_the_same_numbers(tmp_path, name: str) -> None:
    text = random_text(3, 50, 12)
    model = NGramModel.estimate(text, 3)
    model.write_arpa(tmp_path / name)
    again = NGramModel.read_arpa(tmp_path / name)
    assert len(again) == len(model)
    assert [again.score(s) for s in text] == [model.score(s) for s in text]


def test_a_model_without_unk_gives_unknown_words_a_score_of_minus_100(tmp_path) -> None:
    text = ARPA.replace("-2\t<unk>\n", "").replace("ngram 1=5", "ngram 1=4")
    model = NGramModel.read_arpa(arpa(tmp_path, text))
    assert_allclose(model.conditional("c", "a b"), -1.5 - 0.5 - 100)


def test_all_words_of_large_files_are_found(tmp_path) -> None:
    text = random_text(4, 3000, 2000)
    model = NGramModel.estimate(text, 4)
    model.write_arpa(tmp_path / "large.arpa")
    again = NGramModel.read_arpa(tmp_path / "large.arpa")
    assert_allclose([again.score(s) for s in text[:200]], [model.score(s) for s in text[:200]], rtol=1e-12)
    assert all(math.isfinite(model.score(s)) for s in text)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("\\end\\\n", "", 24, "cut short"),
        ("-0.2\tb a b\n\n\\end\\\n", "", 22, "1 of 2 3-grams"),
        ("\\3-grams:\n-0.1\t<s> a b\n-0.2\tb a b\n\n\\end\\\n", "", 20, "3 of 3 2-grams"),
        ("ngram 2=3", "ngram 2=4", 21, "3 2-grams, and its beginning says 4"),
        ("ngram 2=3", "ngram 2=2", 19, "says 2"),
        ("ngram 2=3", "ngram 3=3", 6, "ngram 2=NUMBER"),
        ("ngram 3=2", "ngram 3=many", 7, "ngram 3=NUMBER"),
        ("\\2-grams:", "\\4-grams:", 16, "expected \\2-grams:"),
        ("-0.5\tb b", "-0.5\tb z", 19, "z is not among the 1-grams"),
        ("-0.5\tb b", "-0.5\tb", 19, "2 words"),
        ("-0.5\tb b", "-0.5\tb b -1 7", 19, "2 words"),
        ("-0.5\tb b", "-0.5\ta b", 19, "twice"),
        ("-0.5\tb b", "0.5\tb b", 19, "logarithm of a probability, not 0.5"),
        ("-0.5\tb b", "nan\tb b", 19, "logarithm of a probability, not nan"),
        ("-0.375 a b -1.5", "-0.375 a b x", 18, "back-off weight, not x"),
        ("\\data\\", "data", 25, "no line \\data\\"),
        ("-99\t<s>\t-0.25\n", "-99\tc\n", 16, "lack <s>"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(tmp_path, old: str, new: str, line: int, message: str) -> None:
    assert old in ARPA
    path = arpa(tmp_path, ARPA.replace(old, new))
    said = refusal(lambda: NGramModel.read_arpa(path), DataError)
    assert f"model.arpa, line {line}: " in said
    assert message in said


def test_files_that_cannot_be_decoded_or_unpacked_are_refused(tmp_path) -> None:
    (tmp_path / "latin.arpa").write_bytes(ARPA.replace("b", "é").encode("latin-1"))
    with pytest.raises(DataError, match=r"line 2: not valid UTF-8"):
        NGramModel.read_arpa(tmp_path / "latin.arpa")
    packed = gzip.compress(ARPA.encode())
    (tmp_path / "cut.arpa.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="truncated"):
        NGramModel.read_arpa(tmp_path / "cut.arpa.gz")
    with pytest.raises(DataError, match="no such file"):
        NGramModel.read_arpa(tmp_path / "none.arpa")


@pytest.mark.parametrize(
    ("sentences", "order", "message"),
    [
        ([], 3, "at least one sentence"),
        (["a <s> b"], 3, "sentence 0: a sentence contains <s>"),
        ([["a b"]], 3, "contains a blank"),
        ([["a", 7]], 3, "texts"),
        (["a"], 0, "order must be at least 1"),
    ],
)
def test_texts_without_a_model_are_refused(sentences, order: int, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        NGramModel.estimate(sentences, order)
