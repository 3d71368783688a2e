"""Options of predict and evaluate that belong to a structure: ways to decode, letters, plain text, punctuation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave.data import Lattice
from margrave.datasets import read_nbest
from margrave.features import Sequences, SpanTemplates
from margrave.metrics import bracket_scores
from tests.references.commands import done, message, run

PAIRS = "ACGT\tA-GT\nGATC\tG-TC\nGGTCA\tGG-CA\nTTAC\tT-AC\n"
TREES = "(S (NP (D the) (N dog)) (VP (V barks)) (. .))\n(S (NP (N dogs)) (VP (V see) (NP (N cats))) (. .))\n"
WORDS = "1\tDogs\t_\tN\t_\t_\t2\tx\t_\t_\n2\tbark\t_\tV\t_\t_\t0\ty\t_\t_\n\n1\tBark\t_\tV\t_\t_\t0\ty\t_\t_\n\n"
TEXT = "la maison ||| the house ||| 0-0 1-1\nla fleur ||| the flower ||| 0-0 1-1\nune fleur ||| a flower ||| 0-0 1-1\n"
PLF = "((('la',0.5,1),('une',1.5,1),),(('fleur',0,1),),)"


def test_aligners_decode_as_predict_and_evaluate_say(tmp_path: Path) -> None:
    data, model = tmp_path / "pairs.tsv", tmp_path / "m"
    data.write_text(PAIRS)
    done("train", "--task", "align", data, "-o", model, "-q", "--loss", "hinge", "-C", 0.01)
    aligner: Any = margrave.load(model)
    X = [tuple(line.replace("-", "").split("\t")) for line in PAIRS.splitlines()]
    for options, settings in (
        ([], {}),
        (["--decode", "accuracy"], {"decode": "accuracy"}),
        (["--decode", "accuracy", "--caution", "0.9"], {"decode": "accuracy", "caution": 0.9}),
    ):
        for name, value in settings.items():
            setattr(aligner, name, value)
        lines = ["\t".join(pair) for pair in aligner.aligned(X)]
        assert done("predict", model, data, *options).splitlines() == lines
        assert json.loads(done("evaluate", model, data, "--json", *options))["n_pairs"] == 4
    assert "--caution applies to --decode accuracy only" in message(run("predict", model, data, "--caution", "0.5"))
    refused = message(run("predict", model, data, "--decode", "mbr"))
    assert refused.startswith("unknown --decode 'mbr'") and "score, accuracy" in refused


def test_letters_outside_of_the_alphabet_are_taken_as_others(tmp_path: Path) -> None:
    data, model, new = tmp_path / "pairs.tsv", tmp_path / "m", tmp_path / "new.tsv"
    data.write_text(PAIRS)
    new.write_text("acGU\tAXT\n")
    plain = ("train", "--task", "align", data, "-o", model, "-q")
    done(*plain)
    assert message(run("predict", model, new)) == f"{new}, line 1: column 1: the letter 'a' is not in the alphabet."
    options = ("--upper", "--replace", "U=T", "--other", "G")
    by_hand = done("predict", model, "-", stdin=b"ACGT\tAGT\n")
    given = done("predict", model, new, *options)
    assert given.upper().replace("U", "T").replace("X", "G") == by_hand and "acGU" in given  # Letters stay as they are.
    weights = margrave.load(model).coef_
    done(*plain, *options)
    assert done("predict", model, new) == given
    np.testing.assert_array_equal(margrave.load(model).coef_, weights)
    masked = tmp_path / "masked.tsv"
    masked.write_text(PAIRS.replace("T", "u").replace("CA", "ca"))
    done("train", "--task", "align", masked, "-o", model, "-q", *options)
    np.testing.assert_array_equal(margrave.load(model).coef_, weights)
    for wrong, said in (
        (["--replace", "UT"], "--replace takes LETTER=LETTER, such as U=C, not 'UT'."),
        (["--replace", "U=Q"], "the letter 'Q' is not in the alphabet (A C G T)."),
        (["--other", "Q"], "the letter 'Q' is not in the alphabet (A C G T)."),
    ):
        assert message(run("predict", model, new, *wrong)) == said
    with pytest.raises(margrave.MargraveError, match="'Q' for all others is not in the alphabet"):
        Sequences(other="Q").learn([("AC", "C")])


def test_plain_text_is_parsed(tmp_path: Path) -> None:
    data, parser, tagger, text = (tmp_path / name for name in ("data.conllu", "parser", "tagger", "text"))
    data.write_text(WORDS * 3)
    text.write_text("Dogs bark\n\n  Bark \t\nCats bark .\n")
    done("train", "--task", "parse", data, "-o", parser, "-q", "--columns", "form,upos")
    done("train", data, "-o", tagger, "-q")
    refused = message(run("predict", parser, text, "--format", "text"))
    assert refused.startswith(f"{parser}: the parser reads the columns form, upos, and plain text has no upos: give")
    written = done("predict", parser, text, "--format", "text", "--tagger", tagger)
    same = done("predict", parser, "-", "--format", "conllu", "--tagger", tagger, stdin=written.encode())
    assert written == same
    blocks = [block.splitlines() for block in written.strip().split("\n\n")]
    assert [block[:2] for block in blocks] == [
        ["# sent_id = 1", "# text = Dogs bark"], ["# sent_id = 3", "# text = Bark"],
        ["# sent_id = 4", "# text = Cats bark ."],
    ]  # fmt: skip
    assert [len(block) - 2 for block in blocks] == [2, 1, 3]
    assert all(len(line.split("\t")) == 10 for block in blocks for line in block[2:])
    assert "Probability=" in done("predict", parser, text, "--format", "text", "--tagger", tagger, "--marginals")
    assert done("predict", parser, "-", "--format", "text", "--tagger", tagger, stdin=b"\n \n") == ""
    refused = message(run("predict", parser, data, "--format", "text", "--tagger", tagger))
    assert refused == f"{data}, line 1: this is a line of CoNLL-U, and not plain text: leave out --format text."
    assert "unknown --format 'text'" in message(run("evaluate", parser, text, "--format", "text"))


def test_constituents_have_templates_and_punctuation(tmp_path: Path) -> None:
    data, templates, model = tmp_path / "data.mrg", tmp_path / "templates", tmp_path / "m"
    data.write_text(TREES)
    templates.write_text("first[1]|last[1]\nlength  # in words\n")
    train = ("train", "--task", "constituency", data, "-o", model, "-q")
    done(*train, "--grammar", "spans", "--templates", templates)
    parser: Any = margrave.load(model)
    assert parser.features_.templates == ("first[1]|last[1]", "length")
    gold = [margrave.data.Tree.of(line) for line in TREES.splitlines()]
    alone = margrave.ConstituencyParser(grammar="spans", features=SpanTemplates(["first[1]|last[1]", "length"]))
    np.testing.assert_array_equal(parser.coef_, alone.fit(parser.sentences_of(gold), gold).coef_)
    for tags in ("none", ".", ". V"):
        report = json.loads(done("evaluate", model, data, "--json", "--punctuation", tags))
        scores = bracket_scores(gold, parser.predict(parser.sentences_of(gold)), [] if tags == "none" else tags.split())
        assert (report["f1"], report["tagging"]) == (scores.f1, scores.tagging)
    refused = message(run("evaluate", model, data, "--punctuation", ". ,"))
    assert refused == f"{data}: --punctuation has ',', and no word has this tag."
    for text, said in (
        ("first[2]\n", "it uses column 2, but words have only columns 0 and 1 (the tag)."),
        ("firts[0]\n", "bad template 'firts[0]'"),
        ("", "no templates"),
    ):
        templates.write_text(text)
        refused = message(run(*train, "--templates", templates))
        assert refused.startswith(str(templates)) and said in refused


@pytest.fixture
def translator(tmp_path: Path) -> Path:
    (tmp_path / "text").write_text(TEXT)
    done("train", "--task", "translate", tmp_path / "text", "-o", tmp_path / "m", "-q", "--tuning", "none")
    return tmp_path / "m"


def test_lists_of_translations_have_features_that_explain_their_scores(translator: Path, tmp_path: Path) -> None:
    model: Any = margrave.load(translator)
    lists = tmp_path / "lists"
    done("predict", translator, "-", "--kbest", 4, "--features", "-o", lists, stdin=b"une maison\nla fleur\n")
    found = list(read_nbest(lists))
    plain = done("predict", translator, "-", "--kbest", 4, stdin=b"une maison\nla fleur\n").splitlines()
    assert [line.split(" ||| ")[1] for line in plain] == [text for of in found for text in of.hypotheses]
    weights = {name: weight for (_, name), weight in model.weights_.items()}
    for of in model.predict_nbest(["une maison", "la fleur"], 4):
        assert of.scores == sorted(of.scores, reverse=True)
        for features, score in zip(of.features, of.scores, strict=True):
            assert sum(weights[name] * value for name, value in features.items()) == pytest.approx(score, abs=1e-6)
    references = tmp_path / "references"
    references.write_text("a house\nthe flower\n")
    done("train", "--task", "rerank", lists, "-o", tmp_path / "reranker", "-q", "--references", references)
    assert "--features applies to --kbest only" in message(run("predict", translator, lists, "--features"))


def test_a_lattice_is_translated_as_the_best_of_its_strings(translator: Path, tmp_path: Path) -> None:
    model: Any = margrave.load(translator)
    lattice = Lattice.of([(0, 1, "la", {"weight": 0.5}), (0, 1, "une", {"weight": 1.5}), (1, 2, "fleur")])
    scores = {text: model.predict_kbest([text], 1)[0][0] for text in ("la fleur", "une fleur")}
    for factor in (-5.0, 0.0, 0.3, 5.0):
        totals = {
            translation: score + factor * {"la fleur": 0.5, "une fleur": 1.5}[text]
            for text, (score, translation) in scores.items()
        }
        best = max(totals, key=totals.__getitem__)
        assert model.predict([lattice, "la maison"], lattice_weight=factor) == [best, "the house"]
        (listed,) = model.predict_nbest([lattice], 1, lattice_weight=factor)
        assert listed.hypotheses == [best] and listed.scores == [pytest.approx(totals[best])]
        assert listed.features[0]["SourceLattice"] in (0.5, 1.5)
        options = ("--lattice-weight", factor)
        assert done("predict", translator, "-", *options, stdin=PLF.encode()).strip() == best
    assert model.predict([lattice], paths=1) == ["a flower"]
    data = tmp_path / "data"
    data.write_text(f"{PLF} ||| a flower\nla maison ||| the house\n")
    assert json.loads(done("evaluate", translator, data, "--json"))["n_sentences"] == 2
    refused = message(run("predict", translator, "-", stdin=b"la maison\n((('la',0,7),),)\n"))
    assert refused == "<stdin>, line 2: node 0: an edge leads 7 nodes ahead, and the last node is 1."
    text = tmp_path / "aligned"
    text.write_text(f"{PLF} ||| a flower ||| 0-0\n")
    refused = message(run("train", "--task", "translate", text, "-o", tmp_path / "new"))
    assert refused == f"{text}, line 1: it is a lattice in PLF, which predict and evaluate take, not this."
