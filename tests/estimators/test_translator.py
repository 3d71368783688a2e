"""Translators: tuning in rounds, verbs, files, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from margrave import MargraveError, Translator
from margrave.estimators import load
from margrave.learners import LP
from margrave.metrics import bleu
from margrave.translation.phrase_decoder import Candidates
from margrave.translation.tuning import HopeFearMIRA, MergedLists, Mert, PseudoReferences, tune

NOUNS = {"maison": "house", "fleur": "flower", "porte": "door"}
COLOURS = {"bleue": "blue", "verte": "green", "rouge": "red"}
# BLEU needs sentences of four words and more.
X = [f"la {noun} {colour} est ici" for noun in NOUNS for colour in COLOURS]
X += [f"une {noun} est ici" for noun in NOUNS]
Y = [f"the {colour} {noun} is here" for noun in NOUNS.values() for colour in COLOURS.values()]
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
    "log": {"tuning": "learner", "loss": "log", "learner": "lbfgs"},
}


@pytest.mark.parametrize("name", TUNINGS)
def test_every_tuning_learns_to_translate(name: str) -> None:
    model = Translator(**SMALL, **TUNINGS[name]).fit(X, Y, LINKS)
    assert len(model.rounds_) >= 2
    assert max(each.bleu for each in model.rounds_) >= model.rounds_[0].bleu
    assert model.score(X, Y) > 0.5
    assert not model.certificate_.exact and not any(record.exact for record in model.history_)


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
    assert all(0 < p <= 1 for p in fitted.probability(X[:3], best))
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
    ],
)
def test_mistakes_are_one_sentence(settings: Any, fit: Any, message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        Translator(**settings).fit(X, Y, **{"alignments": LINKS, **fit})


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
            found.append((candidates(*rows), None))
        return w, found

    weights, history = tune(decode, [f"a good {k} text" for k in range(5)], learner, rounds=3, dense=2)
    assert weights[0] > weights[1]
    assert history[0].bleu < 0.1 and max(each.bleu for each in history) == 1.0
    assert history[-1].added == 0


def test_fewer_references_than_sentences_are_refused() -> None:
    shown = [(candidates(("a", [0.0, 0.0])), None)] * 2
    with pytest.raises(MargraveError, match="2 sentences, but references of 1"):
        tune(lambda w: (np.zeros(2), shown), ["a"], Mert(), rounds=1, dense=2)
