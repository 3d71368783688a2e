"""Translation by synchronous grammars, against the enumeration of all derivations; grammar files."""

import gzip
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from margrave.errors import DataError, MargraveError
from margrave.translation.language_model import NGramModel
from margrave.translation.synchronous import SynchronousDecoder, SynchronousGrammar
from margrave.translation.weighted_forest import WeightedForest
from tests.references.refusals import refusal

seeds = st.integers(0, 2**32 - 1)
some = settings(max_examples=25, deadline=None)
SOURCES, TARGETS = "abc", "uvwxy"
WORD = -0.4342944819032518

Rule = tuple[str, tuple[str, ...], tuple[str | int, ...], dict[str, float]]


def random_rules(rng: np.random.Generator) -> list[Rule]:
    """Rules with words, one gap or two, whose target may swap them, repeat words or have none."""
    rules: list[Rule] = []
    for number in range(int(rng.integers(3, 8))):
        gaps = int(rng.integers(0, 3))
        source = [str(each) for each in rng.choice(list(SOURCES), int(rng.integers(1, 3)))]
        for gap in range(gaps):
            source.insert(int(rng.integers(0, len(source) + 1)) if gap == 0 else len(source), f"[X,{gap + 1}]")
        order = [int(k) for k in rng.permutation(gaps)]
        target: list[str | int] = [str(each) for each in rng.choice(list(TARGETS), int(rng.integers(0, 3)))]
        for gap in order:
            target.insert(int(rng.integers(0, len(target) + 1)), gap)
        features = {"f": float(rng.integers(-4, 5)) / 4, f"rule {number}": 1.0}
        rules.append(("X", tuple(source), tuple(target), features))
    return rules


def as_text(rules: list[Rule]) -> list[str]:
    return [
        f"[{label}] ||| {' '.join(source)} ||| "
        + " ".join(each if isinstance(each, str) else f"[X,{each + 1}]" for each in target)
        + " ||| "
        + " ".join(f"{name.replace(' ', '_')}={value}" for name, value in features.items())
        for label, source, target, features in rules
    ]


def derivations(rules: list[Rule], source: list[str], pass_all: bool) -> list[tuple[str, dict[str, float]]]:
    """The string and the features of every derivation, by trying all ways to match every rule."""
    found: dict[tuple[int, int], list[tuple[tuple[str, ...], dict[str, float]]]] = {}

    def matches(symbols: tuple[str, ...], i: int, j: int) -> list[list[tuple[int, int]]]:
        """The spans of the gaps, for all ways in which the symbols cover a span."""
        if not symbols:
            return [[]] if i == j else []
        if not symbols[0].startswith("["):
            return matches(symbols[1:], i + 1, j) if i < j and source[i] == symbols[0] else []
        return [[(i, m), *rest] for m in range(i + 1, j + 1) for rest in matches(symbols[1:], m, j)]

    for width in range(1, len(source) + 1):
        for i in range(len(source) - width + 1):
            j = i + width
            here = found[i, j] = []
            for _, symbols, target, features in rules:
                for spans in matches(symbols, i, j):
                    for inner in product(*(found.get(span, []) for span in spans)):
                        words = [w for each in target for w in ([each] if isinstance(each, str) else inner[each][0])]
                        total = defaultdict(float, {name.replace(" ", "_"): v for name, v in features.items()})
                        total["WordPenalty"] += WORD * sum(isinstance(each, str) for each in target)
                        for _, below in inner:
                            for name, value in below.items():
                                total[name] += value
                        here.append((tuple(words), dict(total)))
            alone = any(symbols == (source[i],) for _, symbols, _, _ in rules)
            if width == 1 and (pass_all or not alone):
                here.append(((source[i],), {"PassThrough": 1.0, "WordPenalty": WORD}))
    # Glue: the sentence is cut into pieces.
    whole: list[list[tuple[tuple[str, ...], dict[str, float]]]] = [[((), {})]]
    for j in range(1, len(source) + 1):
        whole.append([])
        for i in range(j):
            for (words, features), (more, others) in product(whole[i], found[i, j]):
                total = defaultdict(float, features)
                total["Glue"] += float(i > 0)
                for name, value in others.items():
                    total[name] += value
                whole[j].append((words + more, dict(total)))
    return [(" ".join(words), features) for words, features in whole[-1]]


def case(seed: int, n: int, pass_all: bool = False):
    rng = np.random.default_rng(seed)
    while True:
        rules = random_rules(rng)
        source = [str(each) for each in rng.choice([*SOURCES, "z"], n)]
        every = derivations(rules, source, pass_all)
        if len(every) <= 3000:
            break
    weights = {"f": 1.0, "Glue": -0.7, "PassThrough": -1.5, "WordPenalty": 0.8}
    for name in sorted({name for _, features in every for name in features if name.startswith("rule")}):
        weights[name] = float(rng.normal())
    grammar = SynchronousGrammar().add(as_text(rules)).add_glue()
    return rng, grammar, source, every, weights


def score(features: dict[str, float], weights: dict[str, float]) -> float:
    return sum(weights.get(name, 0.0) * value for name, value in features.items())


def best_strings(every, weights, model: NGramModel | None = None) -> dict[str, float]:
    best: dict[str, float] = {}
    for text, features in every:
        value = score(features, weights)
        if model is not None:
            value += weights["LanguageModel"] * model.score(text)
        best[text] = max(best.get(text, -np.inf), value)
    return best


def random_model(rng: np.random.Generator, order: int) -> NGramModel:
    text = [" ".join(rng.choice([*TARGETS, "z"], rng.integers(1, 8))) for _ in range(40)]
    return NGramModel.estimate(text, order)


@given(seed=seeds, n=st.integers(1, 6), pass_all=st.booleans())
@some
def test_without_a_model_all_derivations_are_found_in_order(seed: int, n: int, pass_all: bool) -> None:
    _, grammar, source, every, weights = case(seed, n, pass_all)
    decoder = SynchronousDecoder(grammar, pass_through="all" if pass_all else "unknown")
    (found,) = decoder.decode([source], weights, k=4000, distinct=False)
    expected = sorted((score(features, weights) for _, features in every), reverse=True)
    assert_allclose([each.score for each in found], expected, rtol=1e-9, atol=1e-9)
    for each in found[:50]:
        assert_allclose(score(each.features, weights), each.score, rtol=1e-9, atol=1e-9)
    (strings,) = decoder.decode([source], weights, k=4000)
    best = best_strings(every, weights)
    assert len({each.text for each in strings}) == len(strings) == len(best)
    assert_allclose([each.score for each in strings], sorted(best.values(), reverse=True), rtol=1e-9, atol=1e-9)
    assert_allclose([best[each.text] for each in strings], [each.score for each in strings], rtol=1e-9, atol=1e-9)


@given(seed=seeds, n=st.integers(1, 5), order=st.integers(1, 5))
@some
def test_cube_pruning_with_an_unlimited_beam_is_exact_search(seed: int, n: int, order: int) -> None:
    rng, grammar, source, every, weights = case(seed, n)
    model = random_model(rng, order)
    weights["LanguageModel"] = 1.3
    best = best_strings(every, weights, model)
    decoder = SynchronousDecoder(grammar, model)
    (found,) = decoder.decode([source], weights, k=4000, beam=None)
    assert len(found) == len(best)
    assert_allclose([each.score for each in found], sorted(best.values(), reverse=True), rtol=1e-9, atol=1e-9)
    assert_allclose([best[each.text] for each in found], [each.score for each in found], rtol=1e-9, atol=1e-9)
    for each in found[:20]:
        assert_allclose(each.features["LanguageModel"], model.score(each.text), rtol=1e-9)
        assert_allclose(score(each.features, weights), each.score, rtol=1e-9, atol=1e-9)


@given(seed=seeds, beam=st.integers(1, 6))
@some
def test_a_beam_finds_translations_with_their_own_scores(seed: int, beam: int) -> None:
    rng, grammar, source, every, weights = case(seed, 6)
    model = random_model(rng, 3)
    weights["LanguageModel"] = 1.0
    best = best_strings(every, weights, model)
    (found,) = SynchronousDecoder(grammar, model).decode([source], weights, k=5, beam=beam)
    assert found
    for each in found:
        assert each.score <= best[each.text] + 1e-9
        assert_allclose(score(each.features, weights), each.score, rtol=1e-9, atol=1e-9)
        assert_allclose(each.features["LanguageModel"], model.score(each.text), rtol=1e-9)


@given(seed=seeds, n=st.integers(1, 6))
@some
def test_derivations_of_a_translation_are_all_of_its_derivations(seed: int, n: int) -> None:
    rng, grammar, source, every, weights = case(seed, n)
    model = random_model(rng, 2)
    weights["LanguageModel"] = 0.5
    decoder = SynchronousDecoder(grammar, model)
    text = every[int(rng.integers(len(every)))][0]
    found = decoder.derivations(source, text, weights, k=4000)
    expected = [score(features, weights) + 0.5 * model.score(text) for each, features in every if each == text]
    assert {each.text for each in found} == {text}
    assert_allclose([each.score for each in found], sorted(expected, reverse=True), rtol=1e-9, atol=1e-9)
    assert decoder.derivations(source, text + " nothing", weights) == []


@given(seed=seeds, n=st.integers(1, 5), lm=st.booleans())
@some
def test_the_forest_of_a_sentence_has_its_translations(seed: int, n: int, lm: bool) -> None:
    rng, grammar, source, every, weights = case(seed, n)
    model = random_model(rng, 3) if lm else None
    if lm:
        weights["LanguageModel"] = 1.1
    decoder = SynchronousDecoder(grammar, model)
    forest = decoder.forest(source, weights, beam=None)
    assert forest is not None
    weighted = WeightedForest(forest, weights)
    best = best_strings(every, weights, model)
    found = weighted.kbest_strings(4000)
    assert_allclose([best[each.text] for each in found], sorted(best.values(), reverse=True), rtol=1e-9, atol=1e-9)
    assert_allclose([each.score for each in found], sorted(best.values(), reverse=True), rtol=1e-9, atol=1e-9)
    values = [score(f, weights) + (weights["LanguageModel"] * model.score(t) if model else 0.0) for t, f in every]
    assert_allclose(weighted.log_partition(), np.logaddexp.reduce(values), rtol=1e-9)


def test_rules_with_sentence_ends_are_those_of_joshua() -> None:
    glue = [
        "[GOAL] ||| <s> ||| <s> ||| 0",
        "[GOAL] ||| [GOAL,1] [X,2] ||| [GOAL,1] [X,2] ||| -1",
        "[GOAL] ||| [GOAL,1] </s> ||| [GOAL,1] </s> ||| 0",
    ]
    rules = ["[X] ||| a ||| u ||| 0.5 2", "[X] ||| a [X,1] b [X,2] ||| [X,2] v [X,1] ||| 1 0"]
    grammar = SynchronousGrammar().add(rules, prefix="tm_", sign=-1.0).add(glue, prefix="glue_", sign=-1.0)
    model = NGramModel.estimate(["u v u", "v u", "u u v"], 3)
    decoder = SynchronousDecoder(grammar, model, pass_through="all", unknown_feature="OOV")
    assert decoder.features == ["tm_0", "tm_1", "glue_0", "LanguageModel", "WordPenalty", "OOV"]
    weights = {"tm_0": 1.0, "glue_0": 0.25, "LanguageModel": 1.0, "WordPenalty": 1.0, "OOV": -9.0}
    (found,) = decoder.decode(["a a b a"], weights, k=1, beam=None)
    assert found[0].text == "u v u"
    assert_allclose(found[0].features["LanguageModel"], model.score("u v u"))
    assert found[0].features["tm_0"] == -2.0 and found[0].features["glue_0"] == 1.0
    assert_allclose(found[0].features["WordPenalty"], 5 * WORD)  # with both ends
    assert decoder.unknown("a d b") == ["d"]


def test_a_span_limit_keeps_rules_from_long_spans() -> None:
    weights = {"Glue": -1.0}
    for limit, expected in ((None, "u"), (2, "u"), (1, "v v")):
        grammar = SynchronousGrammar().add(["[X] ||| a a ||| u"], span_limit=limit).add(["[X] ||| a ||| v"]).add_glue()
        (found,) = SynchronousDecoder(grammar).decode(["a a"], weights)
        assert found[0].text == expected


def test_grammars_are_read_from_files_in_both_formats(tmp_path) -> None:
    path = tmp_path / "grammar.gz"
    text = "[X] ||| das [X,1] ||| the [1] ||| 0.5 count=2 ||| 0-0\n\n[X] ||| haus ||| house ||| 1\n"
    path.write_bytes(gzip.compress(text.encode()))
    grammar = SynchronousGrammar().read(path).add_glue()
    assert (len(grammar), grammar.features, grammar.labels) == (4, ["PhraseModel_0", "count", "Glue"], ["X", "S"])
    (found,) = SynchronousDecoder(grammar).decode(["das haus"], {"PhraseModel_0": 1.0}, k=1)
    assert found[0].text == "the house"
    assert found[0].features["PhraseModel_0"] == 1.5 and found[0].features["count"] == 2.0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("[X] ||| a [X,1] ||| b", "the gaps of the source ([X,1]) and of the target (none) are not the same"),
        ("[X] ||| a ||| b [X,1]", "the gaps of the source (none)"),
        ("[X] ||| [X,1] a [X,2] ||| [X,1] [X,1]", "not the same"),
        ("[X] ||| [X,1] a [X,1] ||| [X,1]", "not the same"),
        ("[X] ||| [X,1] a ||| [Y,1]", "not the same"),
        ("[X] ||| a [X,1] ||| b [X]", "expected a gap such as [X,1] or [1]"),
        ("[X] ||| [X,1] ||| [1]", "replaces a label by itself"),
        ("[X] |||  ||| b", "source of the rule is empty"),
        ("[X] ||| a", "expected [LABEL] ||| source ||| target"),
        ("X ||| a ||| b", "expected one [LABEL]"),
        ("[X] ||| a ||| b ||| p=x", "not p=x"),
        ("[X] ||| a ||| b ||| nan", "not nan"),
    ],
)
def test_a_rule_with_a_mistake_is_refused_with_its_line(tmp_path, rule: str, message: str) -> None:
    path = tmp_path / "rules"
    path.write_text("[X] ||| c ||| d ||| 1\n" + rule + "\n")
    said = refusal(lambda: SynchronousGrammar().read(path), DataError)
    assert f"rules, line 2: {message}" in said or ("line 2: " in said and message in said)


def test_what_cannot_be_decoded_is_refused_or_empty() -> None:
    grammar = SynchronousGrammar().add(["[X] ||| a ||| b"]).add_glue()
    decoder = SynchronousDecoder(grammar)
    assert decoder.decode([""], {}) == [[]] and decoder.forest("", {}) is None
    for weights, message in (({"nothing": 1.0}, "unknown feature"), ({"Glue": np.inf}, "finite")):
        with pytest.raises(MargraveError, match=message):
            decoder.decode(["a"], weights)
    with pytest.raises(MargraveError, match="beam"):
        decoder.decode(["a"], {}, beam=0)
    with pytest.raises(MargraveError, match="source contains <s>"):
        decoder.decode(["<s> a"], {})
    with pytest.raises(MargraveError, match="list of words"):
        decoder.decode([7], {})
    with pytest.raises(MargraveError, match=r"no rule makes the goal \[TOP\]"):
        SynchronousDecoder(grammar, goal="TOP")
    with pytest.raises(MargraveError, match="back to itself"):
        SynchronousDecoder(SynchronousGrammar().add(["[X] ||| [S,1] ||| [1]"]).add_glue())
    with pytest.raises(MargraveError, match="did you mean 'all'"):
        SynchronousDecoder(grammar, pass_through="al")
