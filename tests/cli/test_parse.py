"""Parsers on the command line: options, what is written, scores, taggers, pictures, and how mistakes are refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave.cli.taggers import Tagger
from margrave.data import Sentence
from margrave.datasets import load_harbor, read_conllu, read_conllx, write_conllu
from margrave.estimators import ArcLabeler, DependencyParser
from margrave.learners import Ended
from margrave.metrics import attachment_scores, conll18_scores, punctuation
from tests.references.commands import done, message, run

TREE = "1\tdogs\t_\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
# 4 hangs on 2 across the arc from 3 to the root.
CROSSING = "".join(
    f"{k}\tw{k}\t_\tX{k}\t_\t_\t{head}\tdep\t_\t_\n" for k, head in enumerate([3, 1, 0, 2], 1)
) + "\n"  # fmt: skip


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few sentences to train on and others to test on, a parser of them, and one without labels."""
    folder = tmp_path_factory.mktemp("harbor")
    sentences = load_harbor("train")
    write_conllu(folder / "train.conllu", sentences[:60])
    write_conllu(folder / "test.conllu", sentences[60:90])
    train = ("train", "--task", "parse", folder / "train.conllu", "-q", "--tol", 0.01)
    done(*train, "-o", folder / "labeled")
    done(*train, "-o", folder / "bare", "--labels", "no", "--columns", "form,upos")
    done("train", folder / "train.conllu", "-q", "-o", folder / "tagger", "--label", "upos", "--tol", 0.01)
    return folder


def sentences_of(path: Path) -> list[Sentence]:
    return list(read_conllu(path))


def rows(sentence: Sentence, *columns: str) -> list[tuple[str, ...]]:
    return [tuple(getattr(word, column) for column in columns) for word in sentence.words]


# ---- options ---------------------------------------------------------------------------------------------------------


def test_options_are_those_of_the_estimator(file: Callable[..., Path], tmp_path: Path) -> None:
    data = file(TREE * 3, "t.conllu")
    train = ("train", "--task", "parse", data, "-o", tmp_path / "m", "-q", "--tol", 0.1)
    done(*train)
    model: Any = margrave.load(tmp_path / "m")
    assert (model.order, model.projective, model.labels, model.prune, model.decode) == (
        1,
        "auto",
        "auto",
        "auto",
        "auto",
    )
    assert (
        (model.weights, model.C, model.tol) == ("auto", 0.1, 0.1)
        and model.max_words == 80
        and model.single_root is True
    )
    assert model.metadata_ == {"format": "conllu", "columns": ["form", "upos", "feats"]}
    done(*train, "--order", 2, "--projective", "yes", "--crossing", "drop", "--labels", "joint", "--prune", "lengths",
         "--decode", "mbr", "--max-words", 5, "--columns", "form,xpos", "--weights", "hash:10")  # fmt: skip
    model = margrave.load(tmp_path / "m")
    assert (model.order, model.projective, model.crossing) == (2, True, "drop")
    assert (model.labels, model.prune, model.decode, model.max_words) == ("joint", "lengths", "mbr", 5)
    assert model.weights == "hash:10" and model.metadata_["columns"] == ["form", "xpos"]
    done(*train, "--projective", "no", "--prune", "no", "--labels", "yes", "--several-roots")
    model = margrave.load(tmp_path / "m")
    assert (model.projective, model.prune, model.labels, model.single_root) == (False, False, True, False)
    assert model.labeler_.labels_ == model.labels_ == ["nsubj", "root"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--projective", "maybe"], "unknown --projective 'maybe'; (valid: "),
        (["--crossing", "dropp"], "unknown --crossing 'dropp'; did you mean 'drop'?"),
        (["--labels", "joined"], "unknown --labels 'joined'; did you mean 'joint'?"),
        (["--prune", "length"], "unknown --prune 'length'; did you mean 'lengths'?"),
        (["--decode", "mrb"], "unknown --decode 'mrb'; did you mean 'mbr'?"),
        (["--columns", "form,tag"], "unknown CoNLL-U column 'tag'"),
        (["--columns", "form,deprel"], "--columns contains deprel, which a parser predicts."),
        (["--format", "conll"], "unknown --format 'conll'"),
        (["--weights", "hash:x"], "unknown weights 'hash:x'"),
    ],
)
def test_a_wrong_option_is_refused_before_data_are_read(tmp_path: Path, options: list[str], expected: str) -> None:
    assert message(run("train", "--task", "parse", "no-data", "-o", tmp_path / "m", *options)).startswith(expected)


def test_the_report_tells_what_became_of_crossing_trees_and_long_sentences(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    data = file(TREE * 3 + CROSSING, "t.conllu")
    train = ("train", "--task", "parse", data, "-o", tmp_path / "m", "--tol", 0.1, "--labels", "no")
    report = json.loads(done(*train, "--json"))
    assert (report["projective"], report["crossing_trees"], report["crossing"]) == (False, 1, None)
    assert report["n_weights"] == margrave.load(tmp_path / "m").coef_.size
    assert "trees       not projective; 1 tree has crossing arcs\n" in done(*train)
    assert "trees       projective; 1 tree has crossing arcs, which were lifted\n" in done(
        *train, "--projective", "yes"
    )
    dropped = done(*train, "--projective", "yes", "--crossing", "drop")
    assert "trees       projective; 1 tree has crossing arcs and was left out\n" in dropped
    refused = message(run(*train, "--projective", "yes", "--crossing", "refuse"))
    assert refused.startswith("1 of 4 trees have crossing arcs")
    short = done(*train, "--max-words", 3)
    assert "trees       projective; 0 trees have crossing arcs\n" in short
    assert "left out    1 sentence of more than 3 words (--max-words)\n" in short


def test_the_report_tells_what_pruning_loses(harbor: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "parse", harbor / "test.conllu", "-o", tmp_path / "m", "--tol", 0.1, "--labels", "no")
    report = json.loads(done(*train, "--prune", "posterior", "--json"))
    assert report["lost_arcs"] == margrave.load(tmp_path / "m").lost_arcs_ and 0 <= report["lost_arcs"] < 1
    assert report["n_pruning_weights"] > 0
    text = done(*train, "--prune", "posterior")
    assert re.search(r"^pruning +loses [0-9.]+ % of the arcs of training trees$", text, re.MULTILINE)


# ---- predicting ------------------------------------------------------------------------------------------------------


def test_trees_are_written_back_with_their_heads(file: Callable[..., Path], tmp_path: Path) -> None:
    data = file("# kept\n" + TREE * 2, "t.conllu")
    done("train", "--task", "parse", data, "-o", tmp_path / "m", "-q", "-C", 10, "--labels", "no")
    assert done("predict", tmp_path / "m", data) == data.read_text()
    bare = file(TREE.replace("2\tnsubj", "_\t_").replace("0\troot", "1\troot"), "b.conllu")
    expected = TREE.replace("nsubj", "_").replace("root", "_")  # a relation to another head is not known
    assert done("predict", tmp_path / "m", bare) == expected
    done("train", "--task", "parse", data, "-o", tmp_path / "m", "-q", "-C", 10)
    assert done("predict", tmp_path / "m", bare) == TREE
    assert "Probability=" in done("predict", tmp_path / "m", data, "--marginals")


def test_what_is_written_is_what_the_estimator_predicts(harbor: Path, tmp_path: Path) -> None:
    model: Any = margrave.load(harbor / "labeled")
    gold = sentences_of(harbor / "test.conllu")
    X = [rows(sentence, "form", "upos", "feats") for sentence in gold]
    for options, decode in (([], "auto"), (["--decode", "best"], "best"), (["--threads", 1, "--marginals"], "mbr")):
        out = tmp_path / "out.conllu"
        done("predict", harbor / "labeled", harbor / "test.conllu", "-o", out, *options)
        model.decode = decode
        predicted = model.predict(X)
        written = sentences_of(out)
        assert [[(word.head, word.deprel) for word in of.words] for of in written] == predicted
        assert [of.comments for of in written] == [of.comments for of in gold]
        assert [rows(of, "form", "lemma", "upos", "feats") for of in written] == [
            rows(of, "form", "lemma", "upos", "feats") for of in gold
        ]
        if "--marginals" in options:
            for of, probabilities in zip(written, model.predict_proba(X, predicted), strict=True):
                for word, p in zip(of.words, probabilities, strict=True):
                    assert f"Probability={p:.4f}" in word.misc.split("|")


def test_multiword_tokens_empty_nodes_and_comments_stay(harbor: Path) -> None:
    text = (
        "# sent_id = a\n# anything\n0.1\tnull\t_\t_\t_\t_\t_\t_\t_\t_\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tthe\t_\tDET\t_\t_\t_\t_\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t_\t_\t_\tA=b\n2.1\tnull\t_\t_\t_\t_\t_\t_\t1:x\t_\n"
        "3\tbarks\t_\tVERB\t_\t_\t_\t_\t3:dep\t_\n\n"
    )
    written = done("predict", harbor / "labeled", "-", stdin=text.encode()).splitlines()
    for line, expected in zip(written, text.splitlines(), strict=True):
        fields, same = line.split("\t"), expected.split("\t")
        if same[0].isdecimal():
            fields[6:8] = ["_", "_"]
        assert fields == same


def test_line_ends_blank_lines_and_a_byte_order_mark_stay(harbor: Path, tmp_path: Path) -> None:
    text = "\n".join(["", TREE, "", "# text", TREE]).replace("\n", "\r\n").encode("utf-8-sig")
    (tmp_path / "in.conllu").write_bytes(text)
    for model in ("labeled", "tagger"):
        done("predict", harbor / model, tmp_path / "in.conllu", "-o", tmp_path / "out.conllu")
        for old, new in zip(text.split(b"\t"), (tmp_path / "out.conllu").read_bytes().split(b"\t"), strict=True):
            assert old == new or (old.isalnum() and new.isalnum())
        written = run("predict", harbor / model, "-", stdin=text).stdout_bytes
        assert written == (tmp_path / "out.conllu").read_bytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_what_is_written(harbor: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = done("predict", harbor / "labeled", harbor / "test.conllu", "--threads", 1)
    monkeypatch.setattr("margrave.cli.tasks.parse.BLOCK", 700)  # so that there are many pieces
    command = ("predict", harbor / "labeled", harbor / "test.conllu", "--threads", threads)
    assert done(*command) == expected
    assert done(*command, "--marginals").count("Probability=") == len(re.findall(r"^\d+\t", expected, re.MULTILINE))


def test_conll_x_is_read_and_written(file: Callable[..., Path], tmp_path: Path) -> None:
    data = file(TREE * 2, "t.conllx")
    train = ("train", "--task", "parse", "-o", tmp_path / "m", "-q", "-C", 10)
    done(*train, data)
    assert margrave.load(tmp_path / "m").metadata_ == {"format": "conllx", "columns": ["form", "xpos", "feats"]}
    done(*train, data, "--columns", "form,xpos")
    assert margrave.load(tmp_path / "m").metadata_ == {"format": "conllx", "columns": ["form", "xpos"]}
    assert done("predict", tmp_path / "m", "-", stdin=TREE.encode()) == TREE
    assert len(list(read_conllx(data))) == 2
    refused = message(run("predict", tmp_path / "m", data, "--marginals"))
    assert refused == "--marginals needs the column misc of CoNLL-U, which CoNLL-X does not have."
    commented = file("# only in CoNLL-U\n" + TREE, "plain")
    assert message(run("predict", tmp_path / "m", commented)).startswith(f"{commented}, line 1: ")
    assert done("predict", tmp_path / "m", commented, "--format", "conllu").startswith("# only in CoNLL-U\n")
    assert message(run("train", data, "-o", tmp_path / "n")).startswith(f"{data}: CoNLL-X is for --task parse")


def test_arc_templates_come_from_a_file(file: Callable[..., Path], tmp_path: Path) -> None:
    data, templates = file(TREE * 2, "t.conllu"), file("# tags\nh[1]|w[1]\nway\n", "templates")
    train = ("train", "--task", "parse", data, "-o", tmp_path / "m", "-q", "--templates", templates)
    done(*train)
    assert margrave.load(tmp_path / "m").features_.templates == ("h[1]|w[1]", "way")
    for text, options, expected in (
        ("h[1]|v[1]", [], "bad template 'h[1]|v[1]'"),
        ("h[3]", [], "it uses column 3, but --columns has only columns 0 to 2."),
        ("h[1]", ["--order", 2], "no template has the term s or g, which --order 2 needs."),
        ("h[1]", ["--labels", "joint"], "no template has the term label, which --labels joint needs."),
        ("h[1]|s[1]", [], "a template has the term s or g, which is for --order 2."),
        ("h[1]\nw[1]|label", [], "a template has the term label, which is for --labels joint."),
    ):
        templates.write_text(f"{text}\n")
        assert message(run(*train, *options)).startswith(f"{templates}: {expected}")
    templates.write_text("h[1]|w[1]\ng[1]|h[1]|dir\nh[1]|w[1]|label\n")
    done(*train, "--order", 2, "--labels", "joint")


# ---- evaluating ------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_metrics(harbor: Path) -> None:
    report = json.loads(done("evaluate", harbor / "labeled", harbor / "test.conllu", "--json"))
    model: Any = margrave.load(harbor / "labeled")
    gold = sentences_of(harbor / "test.conllu")
    predicted = model.predict([rows(sentence, "form", "upos", "feats") for sentence in gold])
    heads, labels = [of.heads for of in gold], [[word.deprel for word in of.words] for of in gold]
    sides = heads, [[h for h, _ in of] for of in predicted], labels, [[label for _, label in of] for of in predicted]
    every = attachment_scores(*sides)
    assert (report["uas"], report["las"]) == (every.uas, every.las)
    assert (report["n_sentences"], report["n_words"]) == (len(gold), every.words)
    words = attachment_scores(*sides, ignore=punctuation([[word.form for word in of.words] for of in gold]))
    assert report["without_punctuation"] == {"n_words": words.words, "uas": words.uas, "las": words.las}
    assert words.words < every.words
    universal = conll18_scores(*sides)
    assert report["conll18"]["las"] == universal.las and report["conll18"]["clas"] == universal.clas.f1
    for name in ("uas", "las"):
        low, high = report["intervals"][name]
        assert low <= report[name] <= high and low < high
    for name in ("by_distance", "by_direction", "by_label"):
        assert sum(of["gold"] for of in report[name].values()) == every.words
    assert report["by_label"]["root"]["gold"] == len(gold)
    text = done("evaluate", harbor / "labeled", harbor / "test.conllu")
    for part in (
        "UAS",
        "LAS",
        "without punctuation",
        "CoNLL 2018",
        "exact match",
        "95 % interval",
        "distance",
        "nsubj",
    ):
        assert part in text
    assert f"{100 * every.las:.2f} %" in text


def test_a_parser_without_labels_has_no_las(harbor: Path) -> None:
    report = json.loads(done("evaluate", harbor / "bare", harbor / "test.conllu", "--json"))
    assert report["las"] is report["whole_labeled_trees"] is report["conll18"] is None
    assert report["by_label"] == {} and set(report["intervals"]) == {"uas"}
    text = done("evaluate", harbor / "bare", harbor / "test.conllu")
    assert "LAS" not in text and "UAS" in text


def test_sentences_of_punctuation_alone_are_scored(harbor: Path, file: Callable[..., Path]) -> None:
    data = file("1\t.\t_\tPUNCT\t_\t_\t0\troot\t_\t_\n\n", "t.conllu")
    report = json.loads(done("evaluate", harbor / "labeled", data, "--json"))
    assert report["uas"] == 1.0 and report["without_punctuation"] is None
    assert "without punctuation" not in done("evaluate", harbor / "labeled", data)


def test_labels_that_training_did_not_have_are_counted(harbor: Path, file: Callable[..., Path]) -> None:
    text = (harbor / "test.conllu").read_text()
    renamed = file(text.replace("\tnsubj\t", "\tsubject\t"), "t.conllu")
    report = json.loads(done("evaluate", harbor / "labeled", renamed, "--json"))
    assert report["unseen_labels"] == {"subject": text.count("\tnsubj\t")}
    note = f"{text.count(chr(9) + 'nsubj' + chr(9))} words have labels that the training data do not have"
    assert note in done("evaluate", harbor / "labeled", renamed)
    assert "do not have" not in done("evaluate", harbor / "labeled", harbor / "test.conllu")


def test_two_parsers_are_compared_on_the_same_sentences(harbor: Path) -> None:
    command = ("evaluate", harbor / "labeled", harbor / "test.conllu", "--compare", harbor / "bare")
    report = json.loads(done(*command, "--json"))
    other = json.loads(done("evaluate", harbor / "bare", harbor / "test.conllu", "--json"))
    compared = report["compared"]
    assert compared["model"] == str(harbor / "bare") and compared["uas"] == other["uas"]
    difference = compared["uas_difference"]
    assert difference["score"] == pytest.approx(report["uas"] - other["uas"], abs=1e-12)
    assert difference["low"] <= difference["score"] <= difference["high"] and 0 < difference["p"] <= 1
    assert "las_difference" not in compared  # the other parser has no labels
    assert f"compared with {harbor / 'bare'}\n" in done(*command)
    same = json.loads(
        done("evaluate", harbor / "labeled", harbor / "test.conllu", "--compare", harbor / "labeled", "--json")
    )["compared"]
    assert same["las_difference"] == {"score": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}


# ---- taggers ---------------------------------------------------------------------------------------------------------


def test_training_sees_jackknifed_tags_and_prediction_tags_first(harbor: Path, tmp_path: Path) -> None:
    model, test = tmp_path / "m", harbor / "test.conllu"
    train = ("train", "--task", "parse", harbor / "train.conllu", "-o", model, "--tol", 0.01, "--columns", "form,upos")
    report = json.loads(done(*train, "--tagger", harbor / "tagger", "--folds", 3, "--json", "--dev", test))
    (how,) = report["taggers"]
    assert (how["label"], how["columns"], how["folds"]) == ("upos", ["form"], 3) and 0.5 < how["accuracy"] < 1
    parser: Any = margrave.load(model)
    assert parser.metadata_["taggers"] == [how]
    assert f"tags          upos predicted in 3 folds, {100 * how['accuracy']:.2f} % correct\n" in done(
        *train, "--tagger", harbor / "tagger", "--folds", 3
    )
    # What the file has in upos plays no part any more.
    tagger: Any = margrave.load(harbor / "tagger")
    X = []
    for sentence in sentences_of(test):
        forms = [word.form for word in sentence.words]
        X.append(list(zip(forms, tagger.predict([[(form,) for form in forms]])[0], strict=True)))
    bare = tmp_path / "bare.conllu"
    bare.write_text(re.sub(r"^(\d+\t\S+\t\S+\t)\S+", r"\1_", test.read_text(), flags=re.MULTILINE))
    for path in (test, bare):
        done("predict", model, path, "--tagger", harbor / "tagger", "-o", tmp_path / "out.conllu")
        written = sentences_of(tmp_path / "out.conllu")
        assert [rows(of, "form", "upos") for of in written] == X
        assert [[(word.head, word.deprel) for word in of.words] for of in written] == parser.predict(X)
        evaluated = json.loads(done("evaluate", model, path, "--tagger", harbor / "tagger", "--json"))
        assert report["dev"].items() <= evaluated.items()
    for command in ("predict", "evaluate"):
        assert message(run(command, model, test)) == (
            f"{model}: it was trained on predicted upos: give the tagging model with --tagger."
        )


def test_each_part_is_tagged_by_a_tagger_that_has_not_seen_it(file: Callable[..., Path], tmp_path: Path) -> None:
    # Each sentence has words of its own, which only a tagger that was trained on them can tag right.
    row = "{1}\tw{0}{1}\t_\tT{2}\t_\t_\t{3}\tdep\t_\t_\n"
    text = "".join(row.format(k, 1, k % 2, 2) + row.format(k, 2, k % 2, 0) + "\n" for k in range(8))
    data = file(text, "t.conllu")
    done("train", data, "-o", tmp_path / "tagger", "-q", "--templates", file("0[0]\n", "templates"), "-C", 10)
    assert json.loads(done("evaluate", tmp_path / "tagger", data, "--json"))["accuracy"] == 1.0
    train = ("train", "--task", "parse", data, "-o", tmp_path / "m", "--tagger", tmp_path / "tagger", "--json")
    (how,) = json.loads(done(*train, "--folds", 8))["taggers"]
    assert how["accuracy"] <= 0.5
    assert message(run(*train, "--folds", 9)) == f"{data}: it has 8 sentences, too few for --folds 9."


def test_a_tagger_that_does_not_fit_is_refused(harbor: Path, file: Callable[..., Path], tmp_path: Path) -> None:
    data = file(TREE * 2, "t.conllu")
    train = ("train", "--task", "parse", data, "-o", tmp_path / "m", "-q")
    done("train", data, "-o", tmp_path / "xpos", "-q", "--label", "xpos")
    done("train", file("a X\nb Y\n"), "-o", tmp_path / "columns", "-q")
    for tagger, expected in (
        (harbor / "labeled", "--tagger takes a tagging model, and this is a DependencyParser."),
        (tmp_path / "xpos", "it predicts xpos, and the parser reads only the columns form, upos, feats."),
        (tmp_path / "columns", "it does not tag CoNLL-U: train a tagger with --format conllu."),
    ):
        assert message(run(*train, "--tagger", tagger)) == f"{tagger}: {expected}"
        for command in ("predict", "evaluate"):
            assert message(run(command, harbor / "labeled", data, "--tagger", tagger)) == f"{tagger}: {expected}"
    twice = message(run(*train, "--tagger", harbor / "tagger", "--tagger", harbor / "tagger"))
    assert twice == f"{harbor / 'tagger'}: it predicts upos, which another --tagger predicts already."
    untagged = file(re.sub("NOUN|VERB", "_", TREE * 6), "u.conllu")
    refused = message(run("train", "--task", "parse", untagged, "-o", tmp_path / "m", "--tagger", harbor / "tagger"))
    assert refused == f"{untagged}: none of its words has a label in upos to train taggers on."


# ---- inspecting ------------------------------------------------------------------------------------------------------


def test_trees_are_drawn(harbor: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    inspect = ("inspect", harbor / "labeled", "--data", harbor / "test.conllu")
    assert f"drawn in {tmp_path / 'tree.svg'}\n" in done(*inspect, "--plot", tmp_path / "tree.svg")
    assert "<svg" in (tmp_path / "tree.svg").read_text()
    report = json.loads(done(*inspect, "--plot", tmp_path / "tree.png", "--sentences", "2-3", "--json"))
    assert report["plots"] == [str(tmp_path / f"tree-{k}.png") for k in (2, 3)]
    assert all(Path(path).read_bytes().startswith(b"\x89PNG") for path in report["plots"])
    bare = re.sub(r"\t[0-9]+\t\w+\t_\t", "\t_\t_\t_\t", (harbor / "test.conllu").read_text())
    (tmp_path / "bare.conllu").write_text(bare)
    done("inspect", harbor / "bare", "--data", tmp_path / "bare.conllu", "--plot", tmp_path / "bare.svg")
    assert (tmp_path / "bare.svg").stat().st_size < (tmp_path / "tree.svg").stat().st_size


def test_a_head_is_explained(harbor: Path) -> None:
    inspect = ("inspect", harbor / "labeled", "--data", harbor / "test.conllu", "--explain", "2:3")
    found = json.loads(done(*inspect, "--json"))["explanation"]
    sentence = sentences_of(harbor / "test.conllu")[1]
    model: Any = margrave.load(harbor / "labeled")
    x = rows(sentence, "form", "upos", "feats")
    expected = model.explain(x, 3)
    assert found["word"] == [3, sentence.words[2].form] and found["head"][0] == model.predict([x])[0][2][0]
    assert found["attributes"] == [[name, weight] for name, weight in expected.attributes]
    assert found["attributes"][0][0] in done(*inspect)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--plot", "t.svg"], "--plot needs sentences: give a file with --data."),
        (["--explain", "1:1"], "--explain needs sentences: give a file with --data."),
        (["--data", "TEST"], "--data applies to --plot and --explain only: give one of them."),
        (["--data", "TEST", "--sentences", "1", "--explain", "1:1"], "--sentences applies to --plot only"),
        (["--data", "TEST", "--plot", "t.pdf"], "t.pdf: a picture's name must end in .svg or .png."),
        (["--data", "TEST", "--plot", "t.svg", "--sentences", "0"], "--sentences takes a number or a range"),
        (["--data", "TEST", "--plot", "t.svg", "--sentences", "3-2"], "--sentences 3-2: the range ends before"),
        (["--data", "TEST", "--plot", "t.svg", "--sentences", "30-31"], "TEST: --sentences 30-31, but it has 30 "),
        (["--data", "TEST", "--explain", "3"], "--explain takes SENTENCE:WORD such as 3:7, not '3'"),
        (["--data", "TEST", "--explain", "31:1"], "TEST: --explain 31:1, but it has 30 sentences."),
        (["--data", "TEST", "--explain", "1:99"], "TEST: --explain 1:99, but sentence 1 has "),
    ],
)
def test_a_wrong_picture_is_refused(harbor: Path, options: list[str], expected: str) -> None:
    pytest.importorskip("matplotlib")
    test = str(harbor / "test.conllu")
    given = [test if each == "TEST" else each for each in options]
    assert message(run("inspect", harbor / "labeled", *given)).startswith(expected.replace("TEST", test))


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("0\troot", "1\troot", "line 4: the sentence that starts here has no root"),
        ("2\tnsubj", "3\tnsubj", "line 4: word 1 ('dogs') of the sentence that starts in line 4 has head 3, but "),
        ("2\tnsubj", "1\tnsubj", "line 4: word 1 ('dogs') of the sentence that starts in line 4 is its own ancestor"),
        ("2\tnsubj", "x\tnsubj", "line 4: head 'x' is neither 0 nor the number of a word; "),
        ("2\tnsubj", "0\troot", "line 5: word 2 ('bark') of the sentence that starts in line 4 is a second root "),
    ],
)
def test_heads_that_are_no_tree_are_refused_with_their_place(
    harbor: Path, file: Callable[..., Path], tmp_path: Path, old: str, new: str, expected: str
) -> None:
    data = file(TREE + TREE.replace(old, new), "t.conllu")
    refused = message(run("train", "--task", "parse", data, "-o", tmp_path / "m"))
    assert refused.startswith(f"{data}, {expected}"), refused
    if "second root" in expected:
        assert refused.endswith("besides word 1 ('dogs'): give --several-roots to allow this.")
        done("train", "--task", "parse", data, "-o", tmp_path / "m", "-q", "--several-roots")
        assert margrave.load(tmp_path / "m").single_root is False
        return
    assert message(run("evaluate", harbor / "labeled", data)).startswith(f"{data}, {expected}")
    # What is predicted does not depend on the heads that were there.
    assert done("predict", harbor / "labeled", data) == 2 * done(
        "predict", harbor / "labeled", file(TREE, "one.conllu")
    )
    assert done("predict", harbor / "tagger", data).count("\tdogs\t") == 2


def test_sentences_without_words_or_heads_are_refused(harbor: Path, file: Callable[..., Path], tmp_path: Path) -> None:
    data = file(TREE + "# only a comment\n\n", "t.conllu")
    for command in (
        ["train", "--task", "parse", data, "-o", tmp_path / "m"],
        ["predict", harbor / "labeled", data],
        ["evaluate", harbor / "labeled", data],
    ):
        assert message(run(*command)) == f"{data}, line 4: the sentence has no words."
    data = file(TREE + TREE.replace("2\tnsubj", "_\t_"), "h.conllu")
    assert message(run("evaluate", harbor / "labeled", data)) == f"{data}, sentence 2: word 1 ('dogs') has no head."


def test_labels_that_are_asked_for_must_be_there(file: Callable[..., Path], tmp_path: Path) -> None:
    data = file(TREE.replace("nsubj", "_").replace("root", "_") * 2, "t.conllu")
    train = ("train", "--task", "parse", data, "-o", tmp_path / "m", "-q")
    for labels in ("yes", "joint"):
        refused = message(run(*train, "--labels", labels))
        assert refused == f"{data}: --labels {labels}, but none of its words has a label in deprel."
    done(*train)
    assert margrave.load(tmp_path / "m").labels_ == []


def test_a_sentence_that_is_too_long_is_refused_with_its_file(harbor: Path, file: Callable[..., Path]) -> None:
    rows = "".join(f"{k}\tw\t_\tX\t_\t_\t{k - 1}\tdep\t_\t_\n" for k in range(1, 4102))
    data = file(rows + "\n", "t.conllu")
    for command in ("predict", "evaluate"):
        refused = message(run(command, harbor / "labeled", data))
        assert refused == f"{data}: example 0 has 4101 words: at most 4000 are possible."


def test_a_model_of_another_task_is_refused(harbor: Path) -> None:
    test = harbor / "test.conllu"
    refused = message(run("evaluate", harbor / "labeled", test, "--compare", harbor / "tagger"))
    assert refused == f"{harbor / 'tagger'}: --compare takes another parser, and this model tags sequences."
    for command, options, models in (
        ("evaluate", ["--compare", harbor / "labeled"], "parsing"),
        ("predict", ["--decode", "mbr"], "parsing and alignments"),
        ("predict", ["--tagger", harbor / "tagger"], "parsing"),
    ):
        refused = message(run(command, harbor / "tagger", test, *options))
        assert refused == f"{harbor / 'tagger'}: {options[0]} applies to {models} only, and this model tags sequences."
    refused = message(run("inspect", harbor / "tagger", "--data", test, "--plot", "t.svg"))
    assert refused.startswith(
        f"{harbor / 'tagger'}: --data applies to parsing, constituency, graphs, lattices, translation and alignments"
    )


def test_a_parser_of_python_does_not_say_how_to_read(file: Callable[..., Path], tmp_path: Path) -> None:
    margrave.DependencyParser().fit([[("a",), ("b",)]], [[2, 0]]).save(tmp_path / "m")
    refused = message(run("predict", tmp_path / "m", file(TREE)))
    assert refused == f"{tmp_path / 'm'}: it does not say how to read sentences: train it with 'margrave train'."


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


def test_ctrl_c_while_labels_are_learned_saves_a_parser_without_labels(
    harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: ArcLabeler, *arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(ArcLabeler, "_training", interrupt)
    result = run("train", "--task", "parse", harbor / "train.conllu", "-o", tmp_path / "m", "--tol", 0.1, "--json")
    assert result.exit_code == 130 and f"the model so far is in {tmp_path / 'm'}" in result.stderr
    assert json.loads(result.stdout)["stop_reason"] == "interrupted before labels were learned"
    assert margrave.load(tmp_path / "m").labels_ == []
    assert json.loads(done("evaluate", tmp_path / "m", harbor / "test.conllu", "--json"))["las"] is None


def test_ctrl_c_while_trees_are_learned_saves_the_trees_so_far(
    harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = DependencyParser._set_solution

    def interrupted(self: DependencyParser, *arguments: Any) -> None:
        real(self, *arguments)
        self.ended_, self.stop_reason_ = Ended.INTERRUPTED, "interrupted"

    monkeypatch.setattr(DependencyParser, "_set_solution", interrupted)
    result = run("train", "--task", "parse", harbor / "train.conllu", "-o", tmp_path / "m", "--tol", 0.1, "-q")
    assert result.exit_code == 130
    assert margrave.load(tmp_path / "m").labels_ == []  # which are not learned after that
    (tmp_path / "m").unlink()
    # A pruner that is interrupted is no model of the user's.
    result = run("train", "--task", "parse", harbor / "train.conllu", "-o", tmp_path / "m", "--prune", "posterior")
    assert result.exit_code == 130 and not (tmp_path / "m").exists()
    assert result.stderr == "margrave: interrupted before the first pass: nothing was written.\n"


def test_ctrl_c_while_taggers_are_trained_writes_nothing(
    harbor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Tagger, "_predicted", interrupt)
    train = ("train", "--task", "parse", harbor / "train.conllu", "-o", tmp_path / "m", "--tagger", harbor / "tagger")
    result = run(*train)
    assert result.exit_code == 130 and not (tmp_path / "m").exists()


def test_arrays_of_trees_are_those_of_predict(harbor: Path) -> None:
    for name, columns in (("labeled", ("form", "upos", "feats")), ("bare", ("form", "upos"))):
        model: Any = margrave.load(harbor / name)
        X = [rows(sentence, *columns) for sentence in sentences_of(harbor / "test.conllu")]
        begin, heads, labels = model.predict_numbers(X)
        flat = [word for tree in model.predict(X) for word in tree]
        assert begin.tolist() == np.cumsum([0, *map(len, X)]).tolist()
        found = heads.tolist()
        if labels is not None:
            found = list(zip(found, [model.labels_[k] for k in labels.tolist()], strict=True))
        assert found == flat and (labels is None) == (name == "bare")
