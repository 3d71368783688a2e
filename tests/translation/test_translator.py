"""Translators: tuning in rounds, verbs, files, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from margrave import LatticeDecoder, LossFamily, MargraveError, PathCV, Translator
from margrave.estimators import load
from margrave.files.stored import pack, unpack
from margrave.learners import LP
from margrave.metrics import bleu
from margrave.translation.decoding import Candidates, Found
from margrave.translation.language_model import NGramModel
from margrave.translation.synchronous import SynchronousDecoder, SynchronousGrammar
from margrave.translation.training import phrase_decoder
from margrave.translation.tuning import HopeFearMIRA, MergedLists, Mert, PseudoReferences, tune

NOUNS = {"maison": "house", "fleur": "flower", "porte": "door"}
COLORS = {"bleue": "blue", "verte": "green", "rouge": "red"}
# BLEU needs sentences of four words and more.
X = [f"la {noun} {color} est ici" for noun in NOUNS for color in COLORS]
X += [f"une {noun} est ici" for noun in NOUNS]
Y = [f"the {color} {noun} is here" for noun in NOUNS.values() for color in COLORS.values()]
Y += [f"a {noun} is here" for noun in NOUNS.values()]
LINKS = ["0-0 1-2 2-1 3-3 4-4"] * 9 + ["0-0 1-1 2-2 3-3"] * 3
SMALL: dict[str, Any] = {"rounds": 2, "k": 10, "folds": 3, "beam": 10}


@pytest.fixture(scope="module")
def fitted() -> Translator:
    return Translator("mert", **SMALL).fit(X, Y, LINKS)


TUNINGS: dict[str, dict[str, Any]] = {
    "mira": {"tuning": "mira"},
    "sparse mira": {"tuning": "mira", "sparse": True},
    "LP (7)": {"tuning": "learner", "learner": LP(program="closest"), "sparse": True, "good": 2, "wrong": None},
    "LP (8)": {"tuning": "learner", "learner": LP(program="all", free_sign=True), "good": 2},
    "LP (8) over graphs": {"tuning": "learner", "learner": LP(program="all"), "graphs": True, "sparse": True, "C": 10},
    "LP (7) over graphs": {"tuning": "learner", "learner": LP(program="closest"), "graphs": True, "good": 2},
    "latent log over graphs": {"tuning": "learner", "loss": "latent-log", "learner": "auto", "graphs": True},
    "log": {"tuning": "learner", "loss": "log", "learner": "lbfgs"},
}


@pytest.mark.parametrize("name", TUNINGS)
def test_every_tuning_learns_to_translate(name: str) -> None:
    model = Translator(**SMALL, **TUNINGS[name]).fit(X, Y, LINKS)
    assert len(model.rounds_) >= 2
    assert max(each.bleu for each in model.rounds_) >= model.rounds_[0].bleu
    assert model.score(X, Y) > 0.5
    assert not model.certificate_.exact and not any(record.exact for record in model.history_)


@pytest.mark.parametrize("name", ["LP (7)", "LP (8)", "log"])
def test_a_certificate_belongs_to_the_weights_that_are_kept(name: str, tmp_path: Path) -> None:
    model = Translator(**SMALL, **TUNINGS[name]).fit(X, Y, LINKS)
    (kept,) = (each for each in model.rounds_ if each.chosen)
    assert kept.bleu == max(each.bleu for each in model.rounds_)
    model.save(tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        if kept.outcome is None:  # the weights of the start, which nobody learned
            assert each.certificate_.primal is each.certificate_.dual is each.certificate_.gap is None
        else:
            assert each.certificate_.primal == kept.outcome.certificate.primal


@pytest.mark.parametrize("tuning", ["none", "mert", "mira"])
def test_weights_that_minimize_no_objective_have_no_certificate(tuning: str, tmp_path: Path) -> None:
    model = Translator(tuning, **SMALL).fit(X, Y, LINKS)
    model.save(tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        assert each.certificate_.primal is each.certificate_.dual is each.certificate_.gap is None


def test_mert_does_not_make_the_tuning_sentences_worse(fitted: Translator) -> None:
    assert max(each.bleu for each in fitted.rounds_) >= fitted.rounds_[0].bleu
    assert fitted.score(X, Y) == bleu(fitted.predict(X), Y) > 0.8


def test_development_data_can_be_tuned_on() -> None:
    model = Translator("mert", **SMALL).fit(
        X, Y, LINKS, tune=(["une porte rouge est ici"], [["a red door is here", "x"]])
    )
    assert model.predict(["une porte rouge est ici"]) == ["a red door is here"]


def test_a_model_comes_back_from_its_file(fitted: Translator, tmp_path: Path) -> None:
    for model in (fitted, Translator(**SMALL, **TUNINGS["LP (7)"]).fit(X, Y, LINKS)):
        model.save(tmp_path / "m")
        again = load(tmp_path / "m")
        assert again.predict(X) == model.predict(X)
        assert again.predict_kbest(X[:2], 3) == model.predict_kbest(X[:2], 3)
        assert again.top_features(3) == model.top_features(3)
        assert not again.certificate_.exact


def test_the_verbs_agree(fitted: Translator) -> None:
    best = fitted.predict(X[:3])
    ranked = fitted.predict_kbest(X[:3], 4)
    assert [of[0][1] for of in ranked] == best
    for of in ranked:
        assert [score for score, _ in of] == sorted((score for score, _ in of), reverse=True)
        assert len({text for _, text in of}) == len(of)
    for lattice, marginals in zip(fitted.lattices(X[:3]), fitted.predict_marginals(X[:3]), strict=True):
        assert len(marginals) == len(lattice.edges)
        ends = [p for edge, p in zip(lattice.edges, marginals, strict=True) if edge.head == lattice.nodes - 1]
        assert sum(ends) == pytest.approx(1.0)
    assert all(p <= 0 for p in fitted.log_probability(X[:3], best))
    assert len(fitted.sample(X[:1], n=3)[0]) == 3


def test_unknown_words_are_copied_and_counted(fitted: Translator) -> None:
    assert "tour" in fitted.predict(["la tour bleue"])[0].split()
    assert fitted.n_unknown_ == 1


@pytest.mark.parametrize(
    ("settings", "fit", "message"),
    [
        ({"tuning": "guess"}, {}, "unknown tuning 'guess'"),
        ({"tuning": "mert", "sparse": True}, {}, "for few features"),
        ({"folds": 1}, {}, "folds must be at least 2"),
        ({}, {"alignments": ["0-0"]}, "must be as many of each"),
        ({}, {"alignments": ["0-5", *LINKS[1:]]}, "sentence 0: the link 0-5 is out of range"),
        ({}, {"tune": (["a", "b"], ["x"])}, "2 sentences to tune on, but references of 1"),
        ({}, {"checkpoint": "c"}, "keeps no checkpoint"),
        ({"tuning": "learner", "loss": "log", "learner": "lp"}, {}, "lp"),
        ({"decoder": "words"}, {}, "unknown decoder 'words'"),
        ({"graphs": True}, {}, "graphs=True is for tuning='learner'"),
        ({}, {"alignments": None}, "phrases are learned from alignments"),
        ({"tuning": "none", "start": {"distances": 1.0}}, {}, "unknown feature 'distances'"),
        ({}, {"language_model": ""}, "language_model must be an NGramModel, not str"),
    ],
)
def test_mistakes_are_one_sentence(settings: Any, fit: Any, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        Translator(**settings).fit(X, Y, **{"alignments": LINKS, **fit})


@pytest.mark.parametrize("with_model", [False, True])
def test_a_training_sentence_is_decoded_with_phrases_of_other_folds_only(
    with_model: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sentence has a word of its own, which no phrase of its decoder may have."""
    seen: dict[str, Any] = {}
    given = NGramModel.estimate(Y) if with_model else None

    def tuned(decoders: Any, source: Any, references: Any, learner: Any, **settings: Any) -> Any:
        seen.update(decoders=decoders, source=source)
        return decoders[0].start(), []

    monkeypatch.setattr("margrave.translation.translator.tune_decoders", tuned)
    source, target = [f"{x} w{i}" for i, x in enumerate(X)], [f"{y} v{i}" for i, y in enumerate(Y)]
    links = [f"{each} {len(x.split())}-{len(y.split())}" for each, x, y in zip(LINKS, X, Y, strict=True)]
    Translator(folds=4, n_tuning=None).fit(source, target, links, language_model=given)
    assert seen["source"] == source and len({id(each) for each in seen["decoders"]}) == 4
    for i, decoder in enumerate(seen["decoders"]):
        known = {word for phrase, _ in decoder.table.pairs() for word in phrase.split()}
        assert f"w{i}" not in known and sum(f"w{k}" in known for k in range(len(X))) == len(X) - 3
        assert given is decoder.model if given is not None else f"v{i}" not in decoder.model


def test_ctrl_c_keeps_the_best_weights_so_far() -> None:
    calls: list[Any] = []

    def decode(weights: Any) -> Any:
        calls.append(weights)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return np.full(2, float(len(calls))), [Found(candidates((["x", "a b c d"][len(calls) - 1], [1.0, 0.0])))]

    weights, history = tune(decode, ["a b c d"], Mert(), rounds=5, dense=2)
    assert weights.tolist() == [2.0, 2.0]
    assert [each.interrupted for each in history] == [False, True]
    with pytest.raises(KeyboardInterrupt):  # there are no weights yet
        tune(lambda w: (_ for _ in ()).throw(KeyboardInterrupt), ["a"], Mert(), rounds=5, dense=2)


def test_the_best_of_the_last_stack_become_candidates() -> None:
    stack = candidates(("a b c x", [0.0, 1.0]), ("a b c d", [0.0, 2.0]), ("x", [0.0, 3.0]))
    learned: list[list[str]] = []

    class Learner(Mert):
        def learn(self, lists: MergedLists, start: Any, dense: int) -> Any:
            learned.extend(lists.texts)
            return start

    found = [Found(candidates(("y", [1.0, 0.0])), stack)]
    tune(lambda w: (np.zeros(2), found), ["a b c d"], Learner(), rounds=1, dense=2, good=2)
    assert learned == [["y", "a b c d", "a b c x"]]


def test_threads_and_repetitions_change_nothing_and_one_decoder_is_made(
    fitted: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = fitted.set_params(n_jobs=1).predict(X), fitted.predict_kbest(X, 3)
    made = []

    def decoder(*arguments: Any) -> Any:
        made.append(arguments)
        return phrase_decoder(*arguments)

    monkeypatch.setattr("margrave.translation.translator.phrase_decoder", decoder)
    assert (fitted.set_params(n_jobs=3).predict(X), fitted.predict_kbest(X, 3)) == alone
    assert fitted.n_unknown_ == 0 and not made
    fitted.set_params(beam=11).predict(X[:1])
    assert len(made) == 1
    fitted.set_params(beam=10)


def test_tuning_in_threads_gives_the_same_weights() -> None:
    models = [Translator("mira", **SMALL, n_jobs=n).fit(X, Y, LINKS) for n in (1, 3)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("limit", ["wrong", "n_tuning"])
def test_zero_means_no_limit(limit: str) -> None:
    settings: dict[str, Any] = {**SMALL, **TUNINGS["LP (8)"], "start": {"language model": -0.7, "words": -1.0}}
    all_of_them, none = (Translator(**{**settings, limit: value}).fit(X, Y, LINKS) for value in (0, None))
    np.testing.assert_array_equal(all_of_them.coef_, none.coef_)
    assert [each.candidates for each in all_of_them.rounds_] == [each.candidates for each in none.rounds_]


def test_probabilities_are_those_of_a_lattice_decoder_with_the_same_weights() -> None:
    model = Translator("learner", loss=LossFamily(2.0, 1.0), learner="lbfgs", **SMALL).fit(X, Y, LINKS)
    weights = dict(zip(model.map_.encoder.names(), model.coef_.tolist(), strict=True))
    decoder = LatticeDecoder.of_weights(weights).set_params(loss=model.loss)
    lattices = model.lattices(X[:3])
    np.testing.assert_array_equal(model.log_probability(X[:3], Y[:3]), decoder.log_probability(lattices, Y[:3]))
    assert model.sample(X[:3], 5) == decoder.sample(lattices, 5)
    assert model.predict_kbest_paths(X[:3], 4) == decoder.predict_kbest_paths(lattices, 4)
    for one, other in zip(model.predict_marginals(X[:3]), decoder.predict_marginals(lattices), strict=True):
        np.testing.assert_array_equal(one, other)


def test_tuning_starts_from_given_weights_and_uses_a_given_language_model() -> None:
    language_model = NGramModel.estimate(Y[::-1], order=2)
    start = {"distance": 0.9, "language model": 0.7}
    model = Translator("none", start=start).fit(X, Y, LINKS, language_model=language_model)
    weights = dict(zip(model.map_.encoder.names(), model.coef_.tolist(), strict=True))
    assert (weights["distance"], weights["language model"], weights["words"]) == (0.9, 0.7, 1.0)
    assert model.language_model_ is not None and model.language_model_.model is language_model


# ---- grammars --------------------------------------------------------------------------------------------------------

RULES = [f"[X] ||| {noun} ||| {NOUNS[noun]} ||| right=1" for noun in NOUNS]
RULES += [f"[X] ||| {noun} ||| {NOUNS[noun]}s ||| wrong=1" for noun in NOUNS]
RULES += [f"[X] ||| [X,1] {color} ||| {COLORS[color]} [1] ||| right=1" for color in COLORS]
RULES += [f"[X] ||| [X,1] {color} ||| [1] {COLORS[color]} ||| wrong=1" for color in COLORS]
RULES += ["[X] ||| la ||| the", "[X] ||| une ||| a", "[X] ||| est ici ||| is here ||| right=1"]


def hiero(with_model: bool) -> SynchronousDecoder:
    grammar = SynchronousGrammar().add(RULES[::2], span_limit=9).add(RULES[1::2]).add_glue()
    return SynchronousDecoder(grammar, NGramModel.estimate(Y, order=2) if with_model else None)


GRAMMAR_TUNINGS: dict[str, dict[str, Any]] = {
    "mert": {"tuning": "mert"},
    "mira": {"tuning": "mira", "step": 0.1},
    "LP (7)": {"tuning": "learner", "learner": LP(program="closest"), "good": 2},
    "LP (8)": {"tuning": "learner", "learner": LP(program="all"), "good": 1, "wrong": None},
}


@pytest.mark.parametrize("name", GRAMMAR_TUNINGS)
def test_a_grammar_is_tuned_saved_and_used(name: str, tmp_path: Path) -> None:
    start = {"right": -1.0, "wrong": 1.0}
    model = Translator(decoder=hiero(name == "mert"), start=start, rounds=3, k=20, **GRAMMAR_TUNINGS[name]).fit(X, Y)
    assert model.rounds_[0].bleu < 0.5 and model.score(X, Y) == max(each.bleu for each in model.rounds_) == 1.0
    assert model.predict(["la tour verte est ici"]) == ["the green tour is here"] and model.n_unknown_ == 1
    weights = dict(zip(model.map_.encoder.names(), model.coef_.tolist(), strict=True))
    assert weights["PassThrough"] == -100.0  # it is not tuned
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.predict_kbest(X, 3) == model.predict_kbest(X, 3)
    assert again.decoder.features == model.decoder.features  # type: ignore[union-attr]
    best = again.predict_kbest(X[:1], 50)[0]
    assert [score for score, _ in best] == sorted((score for score, _ in best), reverse=True)
    assert len({text for _, text in best}) == len(best) > 1


def test_a_grammar_takes_several_references_and_can_be_cloned() -> None:
    model = clone(Translator("mira", decoder=hiero(False), rounds=1, step=0.1, beam=0))
    model.fit(X[:3], [[y, "another text of five words"] for y in Y[:3]])
    assert model.predict(X[:1]) == Y[:1]
    assert model.fit([], [], tune=(X[:2], Y[:2])).predict(X[:1]) == Y[:1]


def test_a_sentence_without_a_derivation_is_copied_and_counted() -> None:
    grammar = SynchronousGrammar().add(["[S] ||| a [X,1] ||| [1] b", "[X] ||| c ||| d"])
    model = Translator("none", decoder=SynchronousDecoder(grammar)).fit(["a c"], ["d b"])
    assert model.predict(["a c", "c a", ""]) == ["d b", "c a", ""]
    assert model.n_unknown_ == 2


def test_a_damaged_grammar_is_refused(tmp_path: Path) -> None:
    decoder = hiero(True)
    packed: dict[str, Any] = {}
    stored = pack(decoder, packed, "d")
    assert unpack(stored, packed).features == decoder.features
    place = next(name for name, array in packed.items() if array.dtype == np.uint8)
    with pytest.raises(MargraveError, match="rules of its decoder are damaged"):
        unpack(stored, packed | {place: packed[place][:-9]})
    with pytest.raises(MargraveError, match="has no grammar"):
        unpack(stored | {"settings": {}}, packed)


@pytest.mark.parametrize(
    ("settings", "fit", "message"),
    [
        ({"sparse": True, "tuning": "mira"}, {}, "only phrases have sparse features"),
        ({"start": {"rihgt": 1.0}}, {}, "did you mean 'right'"),
        ({}, {"alignments": LINKS}, "a grammar needs no alignments"),
        ({}, {"tune": ([3], ["a"])}, "sentence 0 must be a text, not int"),
        ({}, {"tune": ("a b", ["a"])}, "X must be a list of sentences"),
        ({}, {"y": Y[:-1]}, f"{len(X)} sentences to tune on, but references of {len(X) - 1}"),
    ],
)
def test_mistakes_with_grammars_are_one_sentence(settings: Any, fit: Any, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        Translator(decoder=hiero(False), **settings).fit(X, **{"y": Y, **fit})


def test_a_grammar_has_no_lattices() -> None:
    model = Translator("none", decoder=hiero(False)).fit(X, Y)
    with pytest.raises(MargraveError, match="form forests and not lattices"):
        model.predict_marginals(X[:1])


# ---- tuning ----------------------------------------------------------------------------------------------------------


def candidates(*rows: tuple[str, list[float]]) -> Candidates:
    """Texts with two dense features."""
    begin = np.arange(0, 2 * len(rows) + 1, 2)
    values = np.array([value for _, features in rows for value in features])
    return Candidates([text for text, _ in rows], begin, np.tile([0, 1], len(rows)).astype(np.int32), values)


def test_lists_are_merged_and_copies_are_left_out() -> None:
    lists = MergedLists(["a b", "c"])
    first = candidates(("a b", [1.0, 0.0]), ("a", [0.0, 1.0]), ("a b", [1.0, 0.0]), ("a b", [2.0, 0.0]))
    assert lists.add(0, first) == 3
    assert lists.add(0, candidates(("b", [0.0, 0.0]), ("a", [0.0, 1.0]))) == 1
    assert lists.add(1, candidates(("x", [0.0, 0.0]), ("c", [1.0, 0.0]), ("y", [1.0, 1.0])), best=1) == 1
    assert [len(of) for of in lists.bleu] == [4, 1]
    assert lists.bleu[1] == [1.0]
    np.testing.assert_allclose(lists.dense(0, 2), [[1, 0], [0, 1], [2, 0], [0, 0]])


@pytest.mark.parametrize("learner", [Mert(), HopeFearMIRA(0.1), PseudoReferences(learner=LP(program="all"), wrong=1)])
def test_learners_of_lists_prefer_what_has_a_high_bleu(learner: Any) -> None:
    """The second feature is that of wrong translations, and the start prefers it."""
    shown = [
        candidates((f"a good {k} text", [1.0, 0.0]), (f"a bad {k} word", [0.0, 1.0]), ("other", [0.2, 0.5]))
        for k in range(5)
    ]

    def decode(weights: Any) -> Any:
        w = np.array([0.1, 1.0]) if weights is None else weights
        found = []
        for each in shown:
            order = np.argsort(-(each.value.reshape(-1, 2) @ w), kind="stable")
            rows = [(each.texts[k], each.value.reshape(-1, 2)[k].tolist()) for k in order]
            found.append(Found(candidates(*rows)))
        return w, found

    weights, history = tune(decode, [f"a good {k} text" for k in range(5)], learner, rounds=3, dense=2)
    assert weights[0] > weights[1]
    assert history[0].bleu < 0.1 and max(each.bleu for each in history) == 1.0
    assert history[-1].added == 0


def test_a_path_of_c_is_refused() -> None:
    """What is learned from depends on the weights of the round before."""
    with pytest.raises(MargraveError, match="PathCV needs an estimator that has a C and fit_path, and Translator is"):
        PathCV(Translator("learner"), Cs=[1, 2]).fit(X, Y)


def test_fewer_references_than_sentences_are_refused() -> None:
    shown = [Found(candidates(("a", [0.0, 0.0])))] * 2
    with pytest.raises(MargraveError, match="2 sentences, but references of 1"):
        tune(lambda w: (np.zeros(2), shown), ["a"], Mert(), rounds=1, dense=2)


@pytest.mark.parametrize("best", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("times", [1, 2, 4])
def test_only_the_best_texts_are_added_each_once(best: int, times: int) -> None:
    """Derivations of the same text are many, and would leave no place for other texts."""
    texts = [f"the {color} house is {place}" for color in ("blue", "red", "green") for place in ("here", "there")]
    every = [text for text in texts for _ in range(times)]
    n = len(every)
    found = Candidates(every, np.arange(n + 1), np.zeros(n, np.int32), np.arange(n, dtype=float))
    lists = MergedLists(["the blue house is here"])
    assert lists.add(0, found, best) == min(best, len(texts)) == len(set(lists.texts[0])) == len(lists.texts[0])
    scores = dict(zip(texts, _bleu_of(texts), strict=True))
    assert sorted(scores[text] for text in lists.texts[0]) == sorted(scores.values())[-best:]
    first = [every.index(text) for text in lists.texts[0]]
    assert [value.tolist() for value in lists.value[0]] == [[float(k)] for k in first]  # the first of each text


def _bleu_of(texts: list[str]) -> list[float]:
    lists = MergedLists(["the blue house is here"])
    n = len(texts)
    lists.add(0, Candidates(texts, np.arange(n + 1), np.zeros(n, np.int32), np.arange(n, dtype=float)))
    return lists.bleu[0]


@pytest.mark.parametrize("tuning, rounds", [("mert", 1), ("mert", 3), ("mira", 2), ("none", 1)])
def test_a_tuning_without_an_objective_counts_its_rounds_and_its_time(tuning: str, rounds: int) -> None:
    model = Translator(tuning, **{**SMALL, "rounds": rounds}).fit(X, Y, LINKS)
    assert model.history_[-1].passes == model.n_iter_ == len(model.rounds_)
    assert (model.history_[-1].seconds > 0) and (model.history_[-1].passes > 0) == (tuning != "none")
