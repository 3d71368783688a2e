"""CoNLL-U and named columns on the command line: what is the label, what is an input, and what is written back."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import margrave
from margrave.datasets import read_conllu
from tests.references.commands import done, message, run

WORDS = [
    ("the", "DET", "DT", "Ent=O"),
    ("town", "NOUN", "NN", "Ent=B-LOC|SpaceAfter=No"),
    ("slept", "VERB", "VBD", "_"),
]
MORE = [("a", "DET", "DT", "_"), ("dog", "NOUN", "NN", "_"), ("barked", "VERB", "VBD", "Ent=O")]


def conllu(*sentences: list[tuple[str, str, str, str]]) -> str:
    """Sentences with a comment and a multiword token each."""
    text = ""
    for words in sentences:
        text += "# text = something\n1-2\tboth\t_\t_\t_\t_\t_\t_\t_\t_\n"
        for k, (form, upos, xpos, misc) in enumerate(words, 1):
            text += f"{k}\t{form}\t_\t{upos}\t{xpos}\t_\t{(k + 1) % 4}\tdep\t_\t{misc}\n"
        text += "\n"
    return text


DATA = conllu(WORDS, MORE, WORDS, MORE)


@pytest.fixture
def data(file: Callable[..., Path]) -> Path:
    return file(DATA, "data.conllu")


@pytest.mark.parametrize(
    ("options", "column", "right"),
    [
        ([], "upos", [word[1] for word in WORDS]),
        (["--label", "upos"], "upos", [word[1] for word in WORDS]),
        (["--label", "xpos", "--columns", "form,upos"], "xpos", [word[2] for word in WORDS]),
    ],
)
def test_a_column_is_learned_and_filled_in(
    data: Path, tmp_path: Path, options: list[str], column: str, right: list[str]
) -> None:
    report = json.loads(done("train", data, "-o", tmp_path / "m", "--json", "-C", 10, *options))
    assert (report["n_sequences"], report["n_tokens"], report["n_labels"]) == (4, 12, 3)
    model: Any = margrave.load(tmp_path / "m")
    columns = options[-1].split(",") if "--columns" in options else ["form"]
    assert model.metadata_ == {"format": "conllu", "label": column, "columns": columns}
    rows = [[("the", "DET")[: len(columns)], ("town", "NOUN")[: len(columns)]]]
    assert model.predict(rows) == [right[:2]]

    bare = DATA
    for value in set(right):
        bare = bare.replace(f"\t{value}\t", "\t_\t")
    (tmp_path / "bare.conllu").write_text(bare)
    assert done("predict", tmp_path / "m", tmp_path / "bare.conllu") == DATA
    assert json.loads(done("evaluate", tmp_path / "m", data, "--json"))["accuracy"] == 1.0
    assert message(run("evaluate", tmp_path / "m", tmp_path / "bare.conllu")) == (
        f"{tmp_path / 'bare.conllu'}: none of its words has a label in {column}."
    )


def test_a_key_of_misc_is_learned_and_filled_in(data: Path, tmp_path: Path) -> None:
    done("train", data, "-o", tmp_path / "m", "-q", "-C", 10, "--label", "misc:Ent")
    assert margrave.load(tmp_path / "m").classes_.tolist() == ["B-LOC", "O", "_"]
    bare = DATA.replace("Ent=B-LOC|", "").replace("Ent=O", "_")
    predicted = done("predict", tmp_path / "m", "-", stdin=bare.encode())
    assert predicted == DATA.replace("Ent=B-LOC|SpaceAfter=No", "SpaceAfter=No|Ent=B-LOC")


def test_marginals_are_put_into_misc(data: Path, tmp_path: Path) -> None:
    done("train", data, "-o", tmp_path / "m", "-q", "-C", 10)
    (tmp_path / "out.conllu").write_text(done("predict", tmp_path / "m", data, "--marginals"))
    model: Any = margrave.load(tmp_path / "m")
    for sentence in read_conllu(tmp_path / "out.conllu"):
        (mu,) = model.predict_marginals([[(word.form,) for word in sentence.words]])
        for word, probabilities in zip(sentence.words, mu, strict=True):
            assert f"Probability={probabilities.max():.4f}" in word.misc.split("|")


def test_the_format_is_known_by_extension_or_given(data: Path, tmp_path: Path) -> None:
    (tmp_path / "packed.conll-u.gz").write_bytes(gzip.compress(DATA.encode()))
    (tmp_path / "plain").write_text(DATA)
    expected = None
    for path, options in (
        (data, []),
        (tmp_path / "packed.conll-u.gz", []),
        (tmp_path / "plain", ["--format", "conllu"]),
    ):
        done("train", path, "-o", tmp_path / "m", "-q", *options)
        predicted = done("predict", tmp_path / "m", path)
        assert expected in (None, predicted)
        expected = predicted
    refused = message(run("train", tmp_path / "plain", "-o", tmp_path / "n"))
    assert refused.startswith(f"{tmp_path / 'plain'}, line 2: 10 columns, but the lines before have 4.")
    refused = message(run("train", data, "-o", tmp_path / "n", "--format", "columns"))
    assert refused.startswith(f"{data}, line 2: ")
    assert message(run("train", data, "-o", tmp_path / "n", "--format", "conll")).startswith("unknown --format 'conll'")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--label", "upo"], "unknown CoNLL-U column 'upo'; did you mean 'upos'?"),
        (["--label", "misc:"], "unknown CoNLL-U column 'misc:'"),
        (["--columns", "form,tag"], "unknown CoNLL-U column 'tag'"),
        (["--columns", "form,form"], "--columns form,form names a column twice."),
        (["--columns", "form,upos"], "upos is both the --label and one of the --columns."),
        (["--separator", "TAB"], "--separator applies to column files only, and "),
        (["--header"], "--header applies to column files only, and "),
    ],
)
def test_a_wrong_column_is_refused(data: Path, tmp_path: Path, options: list[str], expected: str) -> None:
    assert message(run("train", data, "-o", tmp_path / "m", *options)).startswith(expected)


@pytest.mark.filterwarnings("default")
def test_a_column_of_too_many_values_is_warned_of(file: Callable[..., Path], tmp_path: Path) -> None:
    data = file("".join(f"word{k % 7} label{k}\n{'' if k % 5 else chr(10)}" for k in range(1001)))
    train = ("train", data, "-o", tmp_path / "m", "-q", "--learner", "perceptron", "--max-iter", 1)
    expected = "the label column has 1,001 distinct values, such as 'label0': choose another with --label."
    assert run(*train).stderr == f"margrave: warning: {expected}\n"
    done(*train, "--label", 0)


# ---- column files ----------------------------------------------------------------------------------------------------

COLUMNS = "D the x\nN town y\n\nD a x\nN dog y\n"


@pytest.mark.parametrize("label", [["--label", "0"], ["--header", "--label", "tag"], ["--header", "--label", "0"]])
def test_the_label_may_be_any_column(file: Callable[..., Path], tmp_path: Path, label: list[str]) -> None:
    header = "tag word other\n" if "--header" in label else ""
    data = file(header + COLUMNS)
    done("train", data, "-o", tmp_path / "m", "-q", "-C", 10, *label)
    model: Any = margrave.load(tmp_path / "m")
    assert model.classes_.tolist() == ["D", "N"] and (model.features_.columns, model.features_.label) == (2, 0)
    assert model.predict([[("the", "x"), ("dog", "y")]]) == model.predict([[("?", "the", "x"), ("?", "dog", "y")]])
    assert json.loads(done("evaluate", tmp_path / "m", data, "--json"))["accuracy"] == 1.0

    lines = [line and f"{line} {line[0]}" for line in COLUMNS.splitlines()]
    first = ["tag word other predicted_tag"] if header else []
    assert done("predict", tmp_path / "m", data).splitlines() == [*first, *lines, ""]
    bare = header.replace("tag ", "") + COLUMNS.replace("D ", "").replace("N ", "")
    lines = [line and f"{line[2:]} {line[0]}" for line in COLUMNS.splitlines()]
    first = ["word other tag"] if header else []
    assert done("predict", tmp_path / "m", "-", stdin=bare.encode()).splitlines() == [*first, *lines, ""]
    if header:
        marginals = done("predict", tmp_path / "m", "-", "--marginals", stdin=bare.encode()).splitlines()
        assert marginals[0] == "word other tag probability"


def test_a_header_must_be_that_of_the_training(file: Callable[..., Path], tmp_path: Path) -> None:
    data = file("tag word other\n\n" + COLUMNS)  # a blank line behind the header is no sequence
    done("train", data, "-o", tmp_path / "m", "-q", "--header", "--label", "tag")
    for header, expected in (
        ("tag words other", "its columns are tag, words, other, not tag, word, other."),
        ("word tag other", "its columns are word, tag, other, not tag, word, other."),
    ):
        other = file(f"{header}\n{COLUMNS}", "other")
        for command in ("predict", "evaluate"):
            assert message(run(command, tmp_path / "m", other)) == f"{other}: {expected}"
    assert message(run("evaluate", tmp_path / "m", file("tag word other\n", "empty"))).endswith(
        "it contains no sequences."
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--label", "3"], "{}: --label 3, but its columns are 0 to 2."),
        (["--label", "tag"], "--label tag is not a number: columns have names with --header or --format conllu."),
        (
            ["--header", "--label", "tug"],
            "unknown column in --label 'tug'; did you mean 'tag'? (valid: tag, word, other)",
        ),
        (["--columns", "form"], "--columns applies to CoNLL-U only, and {} is a column file."),
    ],
)
def test_a_wrong_label_is_refused(file: Callable[..., Path], tmp_path: Path, options: list[str], expected: str) -> None:
    data = file("tag word other\n" + COLUMNS)
    assert message(run("train", data, "-o", tmp_path / "m", *options)) == expected.format(data)
