"""The task of translation: train, predict, evaluate, pictures, and how it speaks of mistakes."""

import json
from pathlib import Path

import pytest

from margrave import Translator, load
from margrave.translation.language_model import NGramModel
from tests.references.commands import message, run

NOUNS = {"maison": "house", "fleur": "flower", "porte": "door"}
PAIRS = [(f"la {noun} bleue est ici", f"the blue {NOUNS[noun]} is here", "0-0 1-2 2-1 3-3 4-4") for noun in NOUNS]
PAIRS += [(f"une {noun} est ici", f"a {NOUNS[noun]} is here", "0-0 1-1 2-2 3-3") for noun in NOUNS]
SMALL = ("--rounds", "1", "--folds", "2", "--candidates", "10")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for k, name in enumerate(("fr", "en", "links")):
        (tmp_path / f"train.{name}").write_text("".join(f"{pair[k]}\n" for pair in PAIRS))
    (tmp_path / "train.txt").write_text("".join(" ||| ".join(pair) + "\n" for pair in PAIRS))
    (tmp_path / "tune.txt").write_text("une porte bleue est ici ||| a blue door is here\n")
    return tmp_path


def test_three_files_are_one_and_a_model_is_tuned_applied_and_drawn(files: Path) -> None:
    model = files / "m"
    train = ("train", "--task", "translate", files / "train.fr", "-o", model, "--json", *SMALL)
    apart = ("--target", files / "train.en", "--alignments", files / "train.links", "--tune", files / "tune.txt")
    result = run(*train, *apart)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["n_pairs"] == 6 and len(report["tuning_bleu"]) >= 1 and report["n_phrase_pairs"] > 20
    ranked = run("predict", model, files / "tune.txt", "--kbest", "2").stdout.splitlines()
    assert ranked[0].startswith("0 ||| a blue door is here ||| ") and len(ranked) == 2
    (files / "new.txt").write_text("une tour est ici\n\n")
    assert run("predict", model, files / "new.txt").stdout == "a tour is here\n\n"
    about = run("inspect", model).stdout
    assert "learner" in about and "mert" in about and "no certificate" in about and "loss" not in about
    scores = json.loads(run("evaluate", model, files / "train.txt", "--json").stdout)
    assert scores["bleu"] == 1.0 and scores["unknown"] == 0.0
    again = run("evaluate", model, files / "train.fr", "--references", files / "train.en", "--json")
    assert json.loads(again.stdout) == scores
    pytest.importorskip("matplotlib")
    drawn = run("inspect", model, "--data", files / "tune.txt", "--plot", files / "graph.svg")
    assert drawn.exit_code == 0, drawn.output
    assert "<svg" in (files / "graph.svg").read_text()


def test_a_learner_tunes_as_in_python_and_is_reported(files: Path) -> None:
    train = ("train", "--task", "translate", files / "train.txt", "-o", files / "m", "--json", *SMALL)
    (files / "start").write_text("language model -0.7\nwords -1\n")
    result = run(*train, "--tuning", "learner", "--worst", "0", "--start", files / "start")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["learner"] == "lp" and report["loss"] == "hinge"
    model = load(files / "m")
    usual = Translator()
    assert (model.learner, model.tol, model.C) == (usual.learner, usual.tol, usual.C)
    assert (model.k, model.wrong, model.folds) == (10, 0, 2)
    assert json.loads(run("inspect", files / "m", "--json").stdout)["learner"] == "lp"


def test_mistakes_are_one_sentence(files: Path) -> None:
    train = ("train", "--task", "translate", files / "train.txt", "-o", files / "m", "-q", *SMALL)
    (files / "bad.txt").write_text("a b ||| x y ||| 0-0\na b ||| x y ||| 0-2\n")
    refused = message(run("train", "--task", "translate", files / "bad.txt", "-o", files / "m"))
    assert refused.startswith(f"{files / 'bad.txt'}, line 2: the link 0-2 is out of range")
    assert "belong together" in message(run(*train, "--target", files / "train.en"))
    assert "no links" in message(run("train", "--task", "translate", files / "tune.txt", "-o", files / "m"))
    assert "--tuning mert is for few features" in message(run(*train, "--sparse"))
    assert message(run(*train, "--graphs")) == "--graphs is for --tuning learner."
    assert "--loss applies to --tuning learner" in message(run(*train, "--slack", "2"))
    assert "unknown --tuning 'best'" in message(run(*train, "--tuning", "best"))
    assert message(run(*train, "-C", "5")) == "-C applies to --tuning learner only, and this is --tuning mert."
    assert "--loss applies to --tuning learner" in message(run(*train, "--tuning", "mira", "--loss", "log"))
    assert not (files / "m").exists()
    assert run(*train, "--tuning", "none").exit_code == 0
    refused = message(run("evaluate", files / "m", files / "train.fr", "--references", files / "tune.txt"))
    assert refused == f"{files / 'tune.txt'}: 1 line, but {files / 'train.fr'} has 6."


@pytest.fixture
def grammar(files: Path) -> Path:
    rules = [f"[X] ||| {noun} ||| {NOUNS[noun]} ||| right=1" for noun in NOUNS]
    rules += ["[X] ||| [X,1] bleue ||| blue [1] ||| 0.5", "[X] ||| la ||| the", "[X] ||| une ||| a"]
    rules += ["[X] ||| est ici ||| is here", "[X] ||| [X,1] bleue ||| [1] blue ||| 0.5 wrong=1"]
    (files / "rules").write_text("".join(f"{rule}\n" for rule in rules))
    (files / "start").write_text("wrong 1\n\nright 2.5\n")
    NGramModel.estimate([pair[1] for pair in PAIRS], order=2).write_arpa(files / "lm.arpa")
    return files


def test_a_grammar_is_tuned_applied_and_inspected(grammar: Path) -> None:
    files, model = grammar, grammar / "m"
    train = ("train", "--task", "translate", files / "train.fr", "--target", files / "train.en", "-o", model, "--json")
    rules = ("--decoder", "hiero", "--grammar", files / "rules", "--lm", files / "lm.arpa", "--span-limit", "4")
    result = run(*train, *rules, "--start", files / "start", "--rounds", "2", "--candidates", "10")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["n_rules"] == 10 and report["n_ngrams"] > 10 and report["tuning_bleu"][-1] == 1.0
    (files / "new.txt").write_text("une tour est ici\n\n")
    assert run("predict", model, files / "new.txt").stdout == "a tour is here\n\n"
    ranked = run("predict", model, files / "new.txt", "--kbest", "2").stdout.splitlines()
    assert ranked[0].startswith("0 ||| a tour is here ||| ") and ranked[-1].startswith("1 |||")
    about = run("inspect", model).stdout
    assert "learner" in about and "mert" in about and "no certificate" in about and "loss" not in about
    scores = json.loads(run("evaluate", model, files / "train.txt", "--json").stdout)
    assert scores["bleu"] == 1.0 and scores["unknown"] == 0.0
    shown = run("inspect", model, "--top", "3")
    assert shown.exit_code == 0 and "PassThrough" in shown.output
    refused = message(run("inspect", model, "--data", files / "new.txt", "--plot", files / "graph.svg"))
    assert "forests and not lattices" in refused


@pytest.mark.parametrize("decoder", ["phrases", "hiero"])
def test_weights_are_tuned_on_several_references(grammar: Path, decoder: str) -> None:
    files = grammar
    (files / "one").write_text("there it is\nlook\n")
    (files / "two").write_text("a blue door is here\nhere is a flower\n")
    (files / "tune.fr").write_text("une porte bleue est ici\nune fleur est ici ||| what follows bars is not read\n")
    train = ("train", "--task", "translate", "-o", files / "m", "--json", "--rounds", "1", "--candidates", "10")
    given = {
        "phrases": (files / "train.txt", "--tune", files / "tune.fr", "--folds", "2"),
        "hiero": (files / "tune.fr", "--decoder", "hiero", "--grammar", files / "rules"),
    }[decoder]
    scores = []
    for references in (("one",), ("one", "two")):
        flags = [each for name in references for each in ("--references", files / name)]
        result = run(*train, *given, *flags)
        assert result.exit_code == 0, result.output
        scores.append(json.loads(result.stdout)["tuning_bleu"][0])
    assert scores[0] < 0.1 < 0.2 < scores[1]
    (files / "one").write_text("there it is\n")
    refused = message(run(*train, *given, "--references", files / "one"))
    assert refused == f"{files / 'one'}: 1 line, but {files / 'tune.fr'} has 2."


def test_references_need_sentences_to_tune_on(grammar: Path) -> None:
    files = grammar
    train = ("train", "--task", "translate", files / "train.txt", "-o", files / "m", "--references", files / "train.en")
    assert message(run(*train)) == "--references are those of the sentences of --tune: give --tune FILE, too."
    hiero = ("--decoder", "hiero", "--grammar", files / "rules", "--target", files / "train.en")
    assert message(run(*train, *hiero)) == "--references and --target exclude each other: give one of them."
    assert not (files / "m").exists()


def test_mistakes_with_grammars_are_one_sentence(grammar: Path) -> None:
    files = grammar
    train = ("train", "--task", "translate", files / "train.txt", "-o", files / "m", "--decoder", "hiero")
    assert "needs rules: give --grammar" in message(run(*train))
    assert "unknown --decoder" in message(run(*train[:-1], "words"))
    assert "--folds applies to --decoder phrases only" in message(run(*train, "--folds", "3"))
    assert "--glue applies to --decoder hiero only" in message(run(*train[:-1], "phrases", "--glue", files / "rules"))
    (files / "rules").write_text("[X] ||| a ||| b\n[X] ||| a [X,1] ||| b\n")
    refused = message(run(*train, "--grammar", files / "rules"))
    assert refused.startswith(f"{files / 'rules'}, line 2: the gaps of the source")
    (files / "rules").write_text("[X] ||| la ||| the\n")
    (files / "lm.arpa").write_text((files / "lm.arpa").read_text()[:200])
    refused = message(run(*train, "--grammar", files / "rules", "--lm", files / "lm.arpa"))
    assert refused.startswith(f"{files / 'lm.arpa'}, line ")
    (files / "start").write_text("p one\n")
    refused = message(run(*train, "--grammar", files / "rules", "--start", files / "start"))
    assert refused.startswith(f"{files / 'start'}, line 1: expected the name of a feature and a number")
    (files / "rules").write_text("")
    assert message(run(*train, "--grammar", files / "rules")) == f"{files / 'rules'}: it holds no rules."
    assert not (files / "m").exists()
