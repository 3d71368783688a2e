"""Phrase extraction against cases by hand, and the phrase-based search against all translations of tiny inputs."""

from collections.abc import Iterator
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave.errors import DataError, MargraveError
from margrave.translation.language_model import NGramModel
from margrave.translation.parallel import read_parallel
from margrave.translation.phrase_decoder import DENSE, FeatureNames, PhraseDecoder
from margrave.translation.phrases import SCORES, AlignedText, PhraseTable

Span = tuple[int, int]


# ---- extraction ------------------------------------------------------------------------------------------------------


def test_phrases_are_consistent_with_the_alignment() -> None:
    # "ne" and "pas" are both linked to "not", so that no phrase has only one of them.
    table = AlignedText(["il ne va pas"], ["he does not go"], ["0-0 1-2 2-3 3-2"]).phrases()
    assert set(table.pairs()) == {
        ("il", "he"),
        ("il", "he does"),
        ("va", "go"),
        ("ne va pas", "not go"),
        ("ne va pas", "does not go"),
        ("il ne va pas", "he does not go"),
    }


def test_words_are_separated_by_blanks_alone() -> None:
    """Word aligners count a word with a no-break space as one."""
    text = AlignedText(["10\u00a0000 euros"], ["ten\u2009thousand euros"], ["0-0 1-1"])
    assert ("10\u00a0000", "ten\u2009thousand") in text.phrases().pairs()


@pytest.mark.parametrize("links", [None, 3, [(0, 0), 1], [("0", 0)], [(0.5, 0)]])
def test_links_of_a_wrong_form_are_refused(links: Any) -> None:
    with pytest.raises(MargraveError, match="sentence 0: links must be pairs of numbers"):
        AlignedText(["a"], ["b"], [links])


def test_phrases_have_a_longest_length() -> None:
    text = AlignedText(["a b c"], ["x y z"], ["0-0 1-1 2-2"])
    assert all(len(f.split()) <= 2 and len(e.split()) <= 2 for f, e in text.phrases(longest=2).pairs())
    assert ("a b", "x y") in text.phrases(longest=2).pairs()


def test_probabilities_by_hand() -> None:
    table = AlignedText(["a", "a", "a", "b"], ["x", "x", "y", "x"], ["0-0"] * 4).phrases()
    scores = table.pairs()["a", "x"]
    assert scores["p(target|source)"] == pytest.approx(log(2 / 3))
    assert scores["p(source|target)"] == pytest.approx(log(2 / 3))
    assert scores["lex(target|source)"] == pytest.approx(log(2 / 3))
    assert table.pairs()["a", "y"]["p(source|target)"] == pytest.approx(0)


def test_lexical_weights_average_over_links_and_use_null() -> None:
    table = AlignedText(["a b", "a", "b"], ["x y", "x", "z"], ["0-0 1-0", "0-0", "0-0"]).phrases()
    # x is linked to a and b: p(x|a) = 2/2, p(x|b) = 1/2, so the mean is 3/4; y has no link, and p(y|NULL) = 1.
    assert table.pairs()["a b", "x y"]["lex(target|source)"] == pytest.approx(log(3 / 4))
    # p(a|x) = 2/3 and p(b|x) = 1/3.
    assert table.pairs()["a b", "x y"]["lex(source|target)"] == pytest.approx(log(2 / 9))


def test_orientations_by_hand() -> None:
    # b -> y is preceded by c -> z, which lies after it in the source, and followed by nothing.
    scores = AlignedText(["b c"], ["z y"], ["0-1 1-0"]).phrases().pairs()["b", "y"]
    assert scores["backward swap"] == pytest.approx(log(1.5 / 2.5))
    assert scores["forward discontinuous"] == pytest.approx(log(1.5 / 2.5))
    # c -> z begins the translation, but not the source, and is followed by what lies before it.
    scores = AlignedText(["b c"], ["z y"], ["0-1 1-0"]).phrases().pairs()["c", "z"]
    assert scores["backward discontinuous"] == scores["forward swap"] == pytest.approx(log(1.5 / 2.5))
    assert scores["backward monotone"] == scores["forward monotone"] == pytest.approx(log(0.5 / 2.5))
    whole = AlignedText(["b c"], ["z y"], ["0-1 1-0"]).phrases().pairs()["b c", "z y"]
    assert whole["backward monotone"] == whole["forward monotone"] == pytest.approx(log(1.5 / 2.5))


def test_only_the_best_pairs_of_a_source_phrase_are_kept() -> None:
    text = AlignedText(["a"] * 4, ["x", "y", "y", "z"], ["0-0"] * 4)
    assert set(text.phrases(most=1).pairs()) == {("a", "y")}
    assert set(text.phrases(used=[True, False, False, False]).pairs()) == {("a", "x")}


def test_links_out_of_range_are_refused_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a b\nc\n")
    (tmp_path / "e").write_text("x y\nz\n")
    (tmp_path / "good").write_text("0-0 1-1\n0-0\n")
    assert read_parallel(tmp_path / "f", tmp_path / "e", tmp_path / "good").alignments == [[(0, 0), (1, 1)], [(0, 0)]]
    (tmp_path / "bad").write_text("0-0 1-1\n0-1\n")
    with pytest.raises(
        DataError, match=r"bad, line 2: the link 0-1 is out of range: .* 1 source word and 1 target word"
    ):
        read_parallel(tmp_path / "f", tmp_path / "e", tmp_path / "bad")
    (tmp_path / "bad").write_text("0-0 1/1\n0-0\n")
    with pytest.raises(DataError, match="bad, line 1: '1/1' is not a link"):
        read_parallel(tmp_path / "f", tmp_path / "e", tmp_path / "bad")
    for text in ("0-0\n", "0-0\n0-0\n0-0\n"):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(DataError, match="f has 2"):
            read_parallel(tmp_path / "f", tmp_path / "e", tmp_path / "bad")
    (tmp_path / "e").write_text("x y\n")
    with pytest.raises(DataError, match=r"e: 1 line, but .*f has 2"):
        read_parallel(tmp_path / "f", tmp_path / "e")
    with pytest.raises(MargraveError, match="sentence 0: the link 3-0 is out of range"):
        AlignedText(["a"], ["x"], ["3-0"])


def test_altered_tables_are_refused() -> None:
    table = AlignedText(["a b"], ["x y"], ["0-0 1-1"]).phrases()
    state = table.state()
    again = PhraseTable()
    again.restore(state)
    assert again.pairs() == table.pairs()
    for name, value in (
        ("source", state["source"] + 5),
        ("scores", state["scores"][:-1]),
        ("scores", np.full_like(state["scores"], np.inf)),
        ("pairs_begin", state["pairs_begin"][::-1].copy()),
        ("target_words", ["x"]),
    ):
        with pytest.raises(MargraveError):
            PhraseTable().restore(state | {name: value})


def test_there_are_the_14_features_of_the_paper() -> None:
    assert len(DENSE) == len(set(DENSE)) == 14
    assert sum(" monotone" in name or " swap" in name or " discontinuous" in name for name in DENSE) == 6
    assert len(FeatureNames()) == 14


# ---- search ----------------------------------------------------------------------------------------------------------


def segmentations(n: int, longest: int, reach: int, i: int = 0) -> Iterator[list[Span]]:
    """All sequences of source phrases in the order of the translation, in which only neighbors swap."""
    if i == n:
        yield []
        return
    for j in range(i + 1, min(n, i + longest) + 1):
        for rest in segmentations(n, longest, reach, j):
            yield [(i, j), *rest]
        for k in range(j + 1, min(n, i + reach, j + longest) + 1):
            for rest in segmentations(n, longest, reach, k):
                yield [(j, k), (i, j), *rest]


def orientation(one: Span, two: Span) -> int:
    return 0 if two[0] == one[1] else 1 if two[1] == one[0] else 2


def all_translations(
    words: list[str], table: PhraseTable, model: NGramModel, reach: int, sparse: bool
) -> Iterator[tuple[str, dict[str, float]]]:
    """The text and the features of every derivation, by their definitions."""
    pairs = table.pairs()
    by_source: dict[str, list[tuple[str, dict[str, float]]]] = {}
    for (f, e), scores in pairs.items():
        by_source.setdefault(f, []).append((e, scores))
    n = len(words)
    longest = max(len(f.split()) for f in by_source)
    copied = dict(zip(SCORES, [-10.0] * 4 + [-log(3)] * 6, strict=True))
    for spans in segmentations(n, longest, reach):
        sources = [" ".join(words[a:b]) for a, b in spans]
        choices = [by_source.get(f, [(f, copied)] if " " not in f else []) for f in sources]
        for chosen in product(*choices):
            features: dict[str, float] = {}

            def add(name: str, value: float, features: dict[str, float] = features) -> None:
                features[name] = features.get(name, 0.0) + value

            target = " ".join(e for e, _ in chosen).split()
            history = ["<s>", *target, "</s>"]
            for k in range(1, len(history)):
                add("language model", log(10) * model.conditional(history[k], history[:k]))
                three = ["<s>", *history][k - 1 : k + 2]
                known = all(word in table.target_words or word in ("<s>", "</s>") for word in three)
                if sparse and known:
                    add("trigram: " + " ".join(three), 1.0)
            around = [(0, 0), *spans, (n, n)]
            for k, (e, scores) in enumerate(chosen, 1):
                forward, backward = orientation(around[k], around[k + 1]), orientation(around[k - 1], around[k])
                for name in (*SCORES[:4], SCORES[4 + forward], SCORES[7 + backward]):
                    add(name, scores[name])
                add("phrases", -1.0)
                add("distance", -float(abs(around[k][0] - around[k - 1][1])))
                if sparse and scores is not copied:
                    text = f"{sources[k - 1]} ||| {e}"
                    for kind in ("pair", f"forward {'msd'[forward]}", f"backward {'msd'[backward]}"):
                        add(f"{kind}: {text}", 1.0)
            add("words", float(len(target)))
            yield " ".join(target), {name: value for name, value in features.items() if value}


def tiny(seed: int) -> tuple[list[str], PhraseTable, NGramModel]:
    """A sentence with an unknown word, and a table and a model of a few random sentence pairs."""
    rng = np.random.default_rng(seed)
    source, target, links = [], [], []
    for _ in range(4):
        n = int(rng.integers(2, 5))
        f = rng.choice(list("abcd"), n)
        order = np.argsort(np.arange(n) + rng.normal(0, 0.8, n))
        source.append(" ".join(f))
        target.append(" ".join(str(f[k]).upper() + ("'" if rng.random() < 0.3 else "") for k in order))
        links.append([(int(k), t) for t, k in enumerate(order) if rng.random() < 0.9])
    table = AlignedText(source, target, links).phrases(longest=3)
    words = [str(word) for word in rng.choice([*"abcd", "u"], int(rng.integers(1, 5)))]
    return words, table, NGramModel.estimate(target, order=int(rng.integers(1, 4)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_search_without_limits_finds_all_translations(seed: int, sparse: bool) -> None:
    words, table, model = tiny(seed)
    reach = seed % 5
    decoder = PhraseDecoder(table, model, beam=0, options=0, reach=reach, sparse=sparse)
    if sparse:  # features come to be known by a search
        decoder.graph(words, grow=True)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=len(decoder.features))
    weights = dict(zip(decoder.features.names(table), w.tolist(), strict=True))
    best: dict[str, tuple[float, dict[str, float]]] = {}
    for text, features in all_translations(words, table, model, reach, sparse):
        score = sum(weights.get(name, 0.0) * value for name, value in features.items())
        if text not in best or score > best[text][0]:
            best[text] = score, features
    ((scores, found),) = decoder.kbest([" ".join(words)], w, k=10**6)
    ranked = sorted(best.items(), key=lambda item: -item[1][0])
    np.testing.assert_allclose(scores, [score for _, (score, _) in ranked], rtol=1e-9, atol=1e-9)
    assert sorted(found.texts) == sorted(best)
    names = list(weights)
    for k, text in enumerate(found.texts):
        entries = range(found.begin[k], found.begin[k + 1])
        features = {names[found.index[e]]: float(found.value[e]) for e in entries if abs(found.value[e]) > 1e-12}
        assert features == pytest.approx(best[text][1], rel=1e-6, abs=1e-6)  # the scores of tables are single precision
    (first,) = decoder.translate([" ".join(words)], w)
    assert best[first][0] == pytest.approx(ranked[0][1][0])  # of several with the same score


@pytest.mark.parametrize("seed", range(4))
def test_a_narrow_beam_finds_translations_that_exist(seed: int) -> None:
    words, table, model = tiny(seed)
    sentence = " ".join(words * 3)
    wide, narrow = (PhraseDecoder(table, model, beam=beam) for beam in (0, 2))
    w = wide.start()
    every, some = wide.kbest([sentence], w, k=1)[0], narrow.kbest([sentence], w, k=5)[0]
    assert some[0][0] <= every[0][0] + 1e-9
    for k, score in enumerate(some[0]):
        row = slice(some[1].begin[k], some[1].begin[k + 1])
        assert w[some[1].index[row]] @ some[1].value[row] == pytest.approx(score, rel=1e-9)


def test_many_translations_with_one_score_are_not_all_taken_up() -> None:
    """With weights of zero, all of more than 10^12 translations tie."""
    text = AlignedText(["a b", "a b", "b a"], ["x y", "u v", "y x"], ["0-0 1-1"] * 3)
    decoder = PhraseDecoder(text.phrases(), NGramModel.estimate(["x y"]))
    ((scores, found),) = decoder.kbest(["a b " * 20], np.zeros(14), k=4)
    assert len(set(found.texts)) == 4 and not scores.any()
    ((scores, found),) = decoder.kbest(["a b " * 20], np.array([0.0] * 11 + [1 / 3, 0.0, 0.0]), k=4)
    assert len(set(found.texts)) == 4
    np.testing.assert_allclose(scores, 40 / 3)


def test_the_lattice_has_the_translations_of_the_search() -> None:
    from margrave.estimators import LatticeDecoder

    words, table, model = tiny(3)
    decoder = PhraseDecoder(table, model, beam=0, options=0)
    sentence = " ".join(words)
    lattice = decoder.lattice(sentence)
    (_, found), (score, first) = decoder.kbest([sentence], k=5)[0], (0.0, "")
    assert len(lattice.edges) == len(decoder.graph(words).edges()[0])
    names = dict(zip(DENSE, decoder.start().tolist(), strict=True))
    best: list[tuple[float, str]] = [(0.0, "")] + [(-np.inf, "")] * (lattice.nodes - 1)
    for edge in lattice.edges:
        score = best[edge.tail][0] + sum(names[name] * value for name, value in edge.features.items())
        best[edge.head] = max(best[edge.head], (score, f"{best[edge.tail][1]} {edge.word}".strip()))
    score, first = best[-1]
    assert first == found.texts[0]
    assert LatticeDecoder("log").fit([lattice], [[found.texts[0]]]).predict([lattice]) == [found.texts[0]]


def test_the_stack_has_complete_translations() -> None:
    words, table, model = tiny(5)
    decoder = PhraseDecoder(table, model, beam=0, options=0)
    every = set(decoder.kbest([" ".join(words)], k=10**6)[0][1].texts)
    lists, stack, _ = decoder.find(" ".join(words), decoder.start(), 3)
    assert stack is not None
    assert stack.texts[0] == lists.texts[0]
    assert set(stack.texts) <= every


def test_unknown_words_are_copied_and_counted() -> None:
    text = AlignedText(["a b"], ["x y"], ["0-0 1-1"])
    decoder = PhraseDecoder(text.phrases(), NGramModel.estimate(["x y"]))
    assert decoder.translate(["a neu b neu", ""]) == ["x neu y neu", ""]
    assert decoder.n_unknown == 2


def test_names_of_features_come_back() -> None:
    words, table, model = tiny(1)
    decoder = PhraseDecoder(table, model, sparse=True)
    decoder.graph(words, grow=True)
    names = decoder.features.names(table)
    again, numbers = FeatureNames.of_names(names, table)
    assert again.names(table) == names
    assert numbers.tolist() == list(range(len(names)))
    for wrong in ("pair: a", "pair: zz ||| A", "trigram: A", "other: a ||| A"):
        with pytest.raises(MargraveError):
            FeatureNames.of_names([wrong, "trigram: A B"], table)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.translate("a b"), "X must be a list of sentences"),
        (lambda d: d.translate([3]), "sentence 0 must be a text"),
        (lambda d: d.translate(["a"], np.zeros(3)), "one weight per feature"),
        (lambda d: d.translate(["a"], np.full(14, np.inf)), "weights must be finite"),
        (lambda d: d.translate(["a"], np.full(14, 1e308)), "not finite"),
        (lambda d: d.kbest(["a"], k=0), "number of translations must be from 1"),
    ],
)
def test_wrong_arguments_are_one_sentence(call: Any, message: str) -> None:
    decoder = PhraseDecoder(AlignedText(["a", "a"], ["x", "y"], ["0-0"] * 2).phrases(), NGramModel.estimate(["x"]))
    with pytest.raises(MargraveError, match=message):
        call(decoder)
