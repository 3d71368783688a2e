"""The command line: what it trains, predicts and measures, and how it speaks of mistakes and of Ctrl-C."""

import errno
import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import margrave
from margrave import metrics
from margrave.cli import reports
from margrave.cli.options import command_option
from margrave.cli.streams import one_line_messages
from margrave.data import convert_tags
from margrave.datasets import load_town, read_columns, write_columns
from margrave.errors import Message, setting
from margrave.features.templates import Templates, default_templates
from margrave.learners import LEARNERS, LP, Objective
from margrave.structures import Chain
from tests.references.commands import message, run
from tests.references.problems import bind

COMMAND = [sys.executable, "-m", "margrave"]


def fields(text: str) -> list[list[list[str]]]:
    """The sequences of a text in columns."""
    return [[line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a part of the town corpus, and a model of it."""
    folder = tmp_path_factory.mktemp("town")
    write_columns(folder / "train.conll", load_town("train")[:200])
    write_columns(folder / "dev.conll", load_town("dev")[:60])
    write_columns(folder / "test.conll", load_town("test")[:60])
    arguments = ("--dev", folder / "dev.conll", "--json", "--tol", "1e-3")
    result = run("train", folder / "train.conll", "-o", folder / "town.margrave", *arguments)
    assert result.exit_code == 0, result.output
    (folder / "report.json").write_text(result.stdout)
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file of three columns that is learned at once."""
    path = tmp_path / "small.conll"
    path.write_text("the D O\nold J O\ntown N B-X\n\na D O\ntown N B-X\nhall N I-X\n\nold J O\nhall N B-X\n")
    return path


def test_segments_are_trained_predicted_and_evaluated(town: Path, tmp_path: Path) -> None:
    model = tmp_path / "segments.margrave"
    settings = ("--segments", "--max-length", "8", "--tol", "1e-3", "--loss", "hinge", "--cost", "segments")
    result = run("train", town / "train.conll", "-o", model, *settings)
    assert result.exit_code == 0, result.output
    report = json.loads(run("evaluate", model, town / "test.conll", "--json").stdout)
    assert report["f1"] > 0.5
    written = fields(run("predict", model, town / "test.conll").stdout)
    tagger = margrave.load(model)
    rows = [[[*row[:-1]] for row in sequence] for sequence in load_town("test")[:60]]
    assert [[row[-1] for row in sequence] for sequence in written] == tagger.predict(rows)
    assert "length=" in run("inspect", model, "--top", "20").stdout
    for wrong, message_part in (("--order 2", "--order"), ("--kernel rbf", "--kernel")):
        command = ("train", town / "train.conll", "-o", model, "--segments", *wrong.split())
        assert message_part in message(run(*command))
    for option in (("--max-length", "3"), ("--loss", "hinge", "--cost", "segments")):
        assert "--segments only" in message(run("train", town / "train.conll", "-o", model, *option))


def test_a_refusal_of_the_library_names_options(town: Path, tmp_path: Path) -> None:
    refused = message(run("train", town / "train.conll", "-o", tmp_path / "m", "--loss", "log", "--learner", "lp"))
    assert refused.endswith("log has beta = 1: use --learner eg, or --loss hinge.")
    with pytest.raises(margrave.MargraveError, match=r"use learner='eg', or loss='hinge'\.$"):
        margrave.SequenceTagger(loss="log", learner="lp").fit([[["a"]]], [["X"]])


def test_a_warning_of_the_library_names_options(capsys: pytest.CaptureFixture[str]) -> None:
    options = [command_option("learner", str, "")]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with one_line_messages("stopped.", options):
            warnings.warn(Message("it is slow: use ", setting(learner="eg"), "."), stacklevel=1)
    assert capsys.readouterr().err == "margrave: warning: it is slow: use --learner eg.\n"


def test_segments_are_learned_and_measured_with_alternatives(tmp_path: Path) -> None:
    data, spans, model = tmp_path / "train.conll", tmp_path / "train.spans", tmp_path / "segments.margrave"
    data.write_text("the O\nOld B-LOC\nTown I-LOC\nHall I-LOC\n\nOld B-LOC\nTown I-LOC\nHall O\n\n" * 2)
    spans.write_text("1 LOC 0 3\n\n3\tLOC 0 3\n")
    train = ("train", data, "-o", model, "--segments", "--alternatives", spans, "--json")
    assert message(run(*train)) == "--alternatives needs --loss latent-log, --loss latent-hinge or --learner lp."
    alone = ("train", data, "-o", model, "--alternatives", spans, "--loss", "latent-log")
    assert message(run(*alone)) == "--alternatives applies to --segments only."
    for learning in (
        ("--loss", "hinge", "--learner", "lp", "-C", "10"),
        ("--loss", "latent-hinge"),
        ("--loss", "latent-log"),
    ):
        result = run(*train, *learning)
        assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["loss"].startswith("latent-log")
    predicted = run("predict", model, data).stdout.splitlines()[5:8]
    assert [line.split()[-1] for line in predicted] == ["B-LOC", "I-LOC", "I-LOC"]
    scores = [json.loads(run("evaluate", model, data, "--json", *more).stdout) for more in ((), train[5:7])]
    assert [each["f1"] for each in scores] == [0.5, 1.0]
    for line, said in (
        ("1 LOC 0", "expected the number of a sequence, a label and two positions, not '1 LOC 0'."),
        ("4 LOC 0 1", "sequence 4, but there are 4 sequences, from 0 on."),
        ("1 LOC 2 4", "the alternative LOC from 2 to 4 is not a span of a sequence of 3 tokens."),
        ("1 O 0 1", "the label of an alternative must be that of a span, not 'O'."),
    ):
        spans.write_text(f"1 LOC 0 3\n{line}\n")
        for command in ((*train, "--loss", "latent-log"), ("evaluate", model, data, "--alternatives", spans)):
            assert message(run(*command)) == f"{spans}, line 2: {said}"


def test_segments_of_iob1_are_learned_and_measured(tmp_path: Path) -> None:
    data, model = tmp_path / "iob1.conll", tmp_path / "segments.margrave"
    data.write_text("Old I-LOC\nTown I-LOC\nis O\n\nis O\nOld I-LOC\nTown I-LOC\n")
    result = run("train", data, "-o", model, "--segments", "--dev", data, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["dev"]["accuracy"] == 1.0
    bioes = tmp_path / "bioes.conll"
    bioes.write_text("Old B-LOC\nTown E-LOC\nis O\n")
    for path in (data, bioes):
        report = json.loads(run("evaluate", model, path, "--json").stdout)
        assert (report["accuracy"], report["sequence_accuracy"], report["f1"]) == (1.0, 1.0, 1.0)
    assert "bioes.conll, line 2: the label is 'E-LOC'" in message(run("train", bioes, "-o", model, "--segments"))


@pytest.mark.parametrize(
    ("name", "text", "options", "line"),
    [
        ("a.conll", "\nx O\n\n\ny O\nz V\n", (), 6),
        ("a.conll", "\nword tag\nx O\n\ny V\n", ("--header",), 5),
        ("a.conll", "x O\n\ny B-O\n", (), 3),
        ("a.conllu", "# text\n1-2\txy" + "\t_" * 8 + "\n1\tx\t_\tO" + "\t_" * 6 + "\n2\ty\t_\tV" + "\t_" * 6 + "\n\n",
         ("--label", "upos"), 4),
    ],
)  # fmt: skip
def test_a_label_that_is_no_tag_of_segments_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, options: tuple[str, ...], line: int
) -> None:
    (tmp_path / name).write_text(text)
    said = message(run("train", tmp_path / name, "-o", tmp_path / "no.margrave", "--segments", *options))
    assert f"{name}, line {line}: the label is" in said and said.endswith("--segments needs O, B-label or I-label.")
    piped = message(run("train", "-", "-o", tmp_path / "no.margrave", "--segments", *options, *(
        ("--format", "conllu") if name.endswith("u") else ()), stdin=text.encode()))  # fmt: skip
    assert piped.startswith("<stdin>: the label is")


# ---- help ------------------------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from margrave.cli import main\n"
        "sys.argv = ['margrave', '--help']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'rich', 'margrave._core', 'margrave.estimators'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "B-PER" in done.stdout and all(name in done.stdout for name in ("train", "predict", "evaluate"))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("train", "-o --dev -C --loss --learner --weights --order --templates --separator --max-iter --tol --threads "
                  "--seed --checkpoint --json --quiet 0[-1]|0[0]"),
        ("predict", "-o --marginals"),
        ("evaluate", "--json --scheme"),
    ],
)  # fmt: skip
def test_help_of_a_command_shows_every_option_and_an_example(command: str, expected: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"margrave {command} " in result.stdout
    assert all(word in result.stdout for word in expected.split())


def test_help_names_every_learner() -> None:
    text = " ".join(run("train", "--help").stdout.split()).replace("- ", "-")  # lines end after hyphens too
    names = re.search(r"--learner NAME ([^;.]*)", text)
    assert names and set(re.split(", | or ", names[1])) == {
        name for name, of in LEARNERS.items() if of.__module__.startswith("margrave.")
    }


def test_the_module_runs_as_the_command() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True)
    assert done.stdout == f"margrave {margrave.__version__}\n"


# ---- train, predict, evaluate ----------------------------------------------------------------------------------------


def test_the_report_of_a_training_is_that_of_its_model(town: Path) -> None:
    text = (town / "report.json").read_text()
    assert text.count("\n") == 1
    report = json.loads(text)
    tagger: Any = margrave.load(town / "town.margrave")
    train = list(read_columns(town / "train.conll"))
    assert report["model"] == str(town / "town.margrave")
    assert report["model_bytes"] == (town / "town.margrave").stat().st_size
    assert report["n_sequences"] == len(train)
    assert report["n_tokens"] == sum(map(len, train))
    assert report["n_labels"] == len(tagger.classes_)
    assert report["n_weights"] == len(tagger.coef_)
    assert report["converged"] is True and "relative gap" in report["stop_reason"]
    assert report["passes"] >= 1 and report["seconds"] > 0
    assert report["primal"] == tagger.history_[-1].primal
    assert report["gap"] == pytest.approx(report["primal"] - report["dual"])
    assert report["relative_gap"] == report["gap"] / report["primal"] <= 1e-3


def test_the_dev_scores_of_a_training_are_those_of_evaluate(town: Path) -> None:
    dev = json.loads((town / "report.json").read_text())["dev"]
    measured = json.loads(run("evaluate", town / "town.margrave", town / "dev.conll", "--json").stdout)
    assert dev == {name: measured[name] for name in ("accuracy", "precision", "recall", "f1")}
    assert dev["f1"] > 0.3  # it has learned something


def test_predict_adds_what_the_model_says_in_python(town: Path) -> None:
    sentences = list(read_columns(town / "test.conll"))
    tagger: Any = margrave.load(town / "town.margrave")
    labels = tagger.predict(sentences)
    templates = default_templates(2)
    assert labels == tagger.without_features().predict([templates.attributes(rows) for rows in sentences])
    result = run("predict", town / "town.margrave", town / "test.conll")
    assert result.exit_code == 0 and result.stderr == ""
    assert fields(result.stdout) == [
        [[*row, label] for row, label in zip(rows, of, strict=True)] for rows, of in zip(sentences, labels, strict=True)
    ]


def test_marginals_are_the_probabilities_of_the_predictions(town: Path) -> None:
    tagger: Any = margrave.load(town / "town.margrave")
    marginals = tagger.predict_marginals(list(read_columns(town / "test.conll")))
    rows = fields(run("predict", town / "town.margrave", town / "test.conll", "--marginals").stdout)
    classes = tagger.classes_.tolist()
    for of_sentence, mu in zip(rows, marginals, strict=True):
        for (*_, label, probability), expected in zip(of_sentence, mu, strict=True):
            assert re.fullmatch(r"[01]\.\d{4}", probability)
            assert float(probability) == pytest.approx(expected[classes.index(label)], abs=5.1e-5)


def test_predict_needs_no_label_column(town: Path, tmp_path: Path) -> None:
    unlabeled = tmp_path / "unlabeled.conll"
    write_columns(unlabeled, read_columns(town / "test.conll", columns=[0, 1]))
    with_labels = fields(run("predict", town / "town.margrave", town / "test.conll").stdout)
    without = fields(run("predict", town / "town.margrave", unlabeled).stdout)
    assert without == [[[word, pos, label] for word, pos, _, label in rows] for rows in with_labels]


def test_files_standard_input_and_gzip_give_the_same(town: Path, tmp_path: Path) -> None:
    content = (town / "test.conll").read_bytes()
    packed = tmp_path / "test.conll.gz"
    packed.write_bytes(gzip.compress(content))
    expected = run("predict", town / "town.margrave", town / "test.conll").stdout
    assert run("predict", town / "town.margrave", packed).stdout == expected
    assert run("predict", town / "town.margrave", "-", stdin=content).stdout == expected
    done = subprocess.run([*COMMAND, "predict", town / "town.margrave", "-"], input=content, capture_output=True)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, expected, b"")

    for name in ("plain.conll", "packed.conll.gz"):
        result = run("predict", town / "town.margrave", packed, "-o", tmp_path / name)
        assert result.exit_code == 0 and result.output == ""
    assert (tmp_path / "plain.conll").read_text() == expected
    assert gzip.decompress((tmp_path / "packed.conll.gz").read_bytes()).decode() == expected


def test_sequences_beyond_one_batch_keep_their_order(town: Path, tmp_path: Path) -> None:
    once = run("predict", town / "town.margrave", town / "test.conll").stdout
    many = (town / "test.conll").read_bytes() * 40
    assert run("predict", town / "town.margrave", "-", stdin=many).stdout == once * 40


@pytest.mark.parametrize("more", [(), ("--marginals",)])
def test_threads_change_nothing(town: Path, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("margrave.cli.sequences.BLOCK", 200)
    monkeypatch.setattr("margrave.datasets.opening._PIECE", 100)
    one, three = (
        run("predict", town / "town.margrave", town / "test.conll", "--threads", n, *more).stdout for n in (1, 3)
    )
    assert one == three == run("predict", town / "town.margrave", town / "test.conll", *more).stdout
    model = margrave.load(town / "town.margrave")
    X = [[row[:-1] for row in rows] for rows in load_town("test")[:60]]
    place = 3 if not more else -2
    assert [[row[place] for row in rows] for rows in fields(one)] == model.predict(X)
    if more:
        mu = np.concatenate(model.predict_marginals(X))
        best = mu[np.arange(len(mu)), model.predict_numbers(X)]
        assert [row[-1] for rows in fields(one) for row in rows] == [f"{p:.4f}" for p in best]
    reports = [run("evaluate", town / "town.margrave", town / "test.conll", "--threads", n).stdout for n in (1, 3)]
    assert reports[0] == reports[1]


@pytest.mark.parametrize("threads", [1, 3])
def test_what_stands_before_a_mistake_is_written_first(
    town: Path, tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("margrave.cli.sequences.BLOCK", 200)
    monkeypatch.setattr("margrave.datasets.opening._PIECE", 100)
    good = (town / "test.conll").read_bytes()
    bad = tmp_path / "bad.conll"
    bad.write_bytes(good + b"one two three four\n")
    result = run("predict", town / "town.margrave", bad, "--threads", threads)
    assert result.exit_code == 2
    line = good.count(b"\n") + 1
    assert result.stderr == f"margrave: {bad}, line {line}: 4 columns, but the lines before have 3.\n"
    whole = run("predict", town / "town.margrave", town / "test.conll").stdout
    assert result.stdout and whole.startswith(result.stdout)


def test_evaluate_measures_as_the_metrics_do(town: Path) -> None:
    rows = fields(run("predict", town / "town.margrave", town / "test.conll").stdout)
    gold = [[row[-2] for row in of] for of in rows]
    predicted = [[row[-1] for row in of] for of in rows]
    scores = metrics.span_scores(gold, predicted)
    report = json.loads(run("evaluate", town / "town.margrave", town / "test.conll", "--json").stdout)
    assert report["n_sequences"] == len(gold) and report["n_tokens"] == sum(map(len, gold))
    assert report["accuracy"] == metrics.token_accuracy(gold, predicted)
    assert report["sequence_accuracy"] == metrics.sequence_accuracy(gold, predicted)
    assert (report["precision"], report["recall"], report["f1"]) == (scores.precision, scores.recall, scores.f1)
    assert list(report["labels"]) == list(scores.by_label)
    assert report["labels"]["PER"]["correct"] == scores.by_label["PER"].correct

    table = run("evaluate", town / "town.margrave", town / "test.conll").stdout
    overall = table.splitlines()[-1].split()
    assert overall[:4] == ["overall", str(scores.gold), str(scores.predicted), str(scores.correct)]
    assert overall[8:] == [f"{100 * scores.f1:.2f}", "%"]


def test_labels_that_write_no_spans_get_accuracies_only(town: Path, tmp_path: Path) -> None:
    tags = tmp_path / "tags.conll"
    write_columns(tags, [[(word, pos) for word, pos, _ in rows] for rows in load_town("train")[:40]])
    trained = run("train", tags, "-o", tmp_path / "tags.margrave", "--dev", tags, "--json", "--tol", "0.01")
    dev = json.loads(trained.stdout)["dev"]
    assert dev["accuracy"] > 0.9 and dev["f1"] is None
    report = json.loads(run("evaluate", tmp_path / "tags.margrave", tags, "--json").stdout)
    assert report["accuracy"] == dev["accuracy"] and report["f1"] is None and report["labels"] is None
    assert "F1" not in run("evaluate", tmp_path / "tags.margrave", tags).stdout
    refused = message(run("evaluate", tmp_path / "tags.margrave", tags, "--scheme", "IOB2"))
    assert "tags of IOB2 are O, B-label or I-label" in refused


def test_spans_count_the_same_in_every_scheme(small: Path, tmp_path: Path) -> None:
    reports = {}
    for scheme in ("IOB1", "IOB2", "BIOES"):
        data, model = tmp_path / f"{scheme}.conll", tmp_path / f"{scheme}.margrave"
        rows = [list(zip(*sentence, strict=True)) for sentence in read_columns(small)]
        tagged = [[*columns, convert_tags(tags, "IOB2", scheme)] for *columns, tags in rows]
        write_columns(data, [list(zip(*columns, strict=True)) for columns in tagged])
        run("train", data, "-o", model, "-C", "100", "-q")
        for option in ([], ["--scheme", scheme]):
            report = json.loads(run("evaluate", model, data, "--json", *option).stdout)
            reports[scheme, bool(option)] = report["labels"]
    assert all(labels == {"X": reports["IOB2", False]["X"]} for labels in reports.values())
    assert reports["IOB2", False]["X"]["correct"] == 3


@pytest.mark.parametrize(
    ("options", "learner", "certified"),
    [
        ([], "lbfgs", True),
        (["--loss", "softmax-margin"], "lbfgs", True),
        (["--loss", "hinge"], "bcfw", True),
        (["--loss", "perceptron"], "perceptron", False),
        (["--learner", "sgd", "--max-iter", "5"], "sgd", True),
        (["--weights", "all", "--order", "2"], "lbfgs", True),
        (["--weights", "hash:10", "--threads", "1", "--seed", "3"], "lbfgs", True),
        (["--learner", "eg"], "eg", True),
        (["--learner", "cg"], "cg", True),
        (["--learner", "eg-batch"], "eg-batch", True),
        (["--learner", "mira"], "mira", False),
        (["--learner", "perceptron"], "perceptron", False),
        (["--loss", "ramp"], "cccp", False),
        (["--loss", "hinge", "--learner", "eg", "--tol", "0.01"], "eg", True),
        (["--loss", "hinge", "--learner", "smo", "--order", "2"], "smo", True),
        (["--loss", "hinge", "--learner", "smo-eg", "--tol", "0.01"], "smo-eg", True),
        (["--loss", "hinge", "--learner", "kbest-mira"], "kbest-mira", False),
    ],
)
def test_every_loss_has_a_learner_and_says_whether_it_is_certified(
    small: Path, tmp_path: Path, options: list[str], learner: str, certified: bool
) -> None:
    model = tmp_path / "small.margrave"
    result = run("train", small, "-o", model, "--json", *options)
    report = json.loads(result.stdout)
    assert report["learner"] == learner
    assert all((report[name] is not None) == certified for name in ("dual", "gap", "relative_gap"))
    assert run("evaluate", model, small).exit_code == 0

    summary = run("train", small, "-o", model, *options).stdout
    assert ("no certificate" in summary) != certified
    for name in ("sequences", "tokens", "labels", "features", "weights", "loss", "learner", "passes", "seconds", "P",
                 "gap", "stopped", "model"):  # fmt: skip
        assert re.search(rf"^{name} +\S", summary, re.MULTILINE), name
    assert str(model) in summary


@pytest.mark.parametrize("learner", ["eg", "lbfgs"])
@pytest.mark.parametrize("much", [0, 10**7])
def test_the_summary_tells_the_memory_of_the_learner_if_it_is_much(
    small: Path, tmp_path: Path, learner: str, much: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "_MUCH", much)
    options = ["train", small, "-o", tmp_path / "small.margrave", "--learner", learner]
    report = json.loads(run(*options, "--json").stdout)
    assert (report["learner_bytes"] is not None) == (learner == "eg")
    found = re.search(r"^memory +\S.* besides data and weights$", run(*options).stdout, re.MULTILINE)
    assert (found is not None) == (much == 0)


@pytest.mark.parametrize("flag", ["--cost", "--label-cost", "--cost-matrix"])
def test_a_loss_without_a_cost_names_the_option_that_was_given(small: Path, tmp_path: Path, flag: str) -> None:
    matrix = tmp_path / "costs.txt"
    matrix.write_text("O I-A\nO 0 2\nI-A 1 0\n")
    value = {"--cost": "hamming", "--label-cost": "O=2", "--cost-matrix": str(matrix)}[flag]
    result = run("train", small, "-o", tmp_path / "small.margrave", "--loss", "log", flag, value)
    assert result.exit_code != 0
    assert f"--loss log does not use {flag}: choose another loss" in result.stderr


def test_the_reported_objective_is_that_of_the_weights_kept(small: Path, tmp_path: Path) -> None:
    """sgd keeps the weights of its best pass, and here that is not the last."""
    options = ("--loss", "hinge", "--learner", "sgd", "-C", "0.1", "--max-iter", "3")
    report = json.loads(run("train", small, "-o", tmp_path / "m", "--json", *options).stdout)
    tagger: Any = margrave.load(tmp_path / "m")
    classes = tagger.classes_.tolist()
    sentences = list(read_columns(small))
    X = [default_templates(2).attributes(rows) for rows in sentences]
    y = np.array([classes.index(row[-1]) for rows in sentences for row in rows], dtype=np.int32)
    problem = bind(Chain(), X, y, feature_map=tagger.map_, classes=classes, loss=margrave.Hinge())
    primal, _, _ = Objective(problem, margrave.Hinge(), C=0.1).certify(tagger.coef_)
    assert report["primal"] == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("solver", [None, "extragradient", "simplex", "pdlp"])
def test_the_options_of_the_linear_program_are_those_of_its_learner(
    small: Path, tmp_path: Path, solver: str | None
) -> None:
    if solver in ("simplex", "pdlp"):
        pytest.importorskip("highspy")
    train = ("train", small, "-o", tmp_path / "m", "--json", "--loss", "hinge", "--learner", "lp", "-C", "10")
    options: list[str] = [] if solver is None else ["--solver", solver]
    report = json.loads(run(*train, *options).stdout)
    tagger: Any = margrave.load(tmp_path / "m")
    assert (report["learner"], report["cost"], report["converged"]) == ("lp", "zero-one", True)
    assert tagger.learner == (LP(solver=solver) if solver not in (None, "extragradient") else "lp")
    assert (tagger.coef_ >= 0).all()
    assert 1 > report["zero_weights"] == tagger.n_zero_weights_ / tagger.n_weights_ > 0.5
    assert report["n_weights"] == tagger.n_weights_ > len(tagger.coef_)
    weights = f"{report['n_weights']:,} ({100 * report['zero_weights']:.2f} % zero)"
    assert f"{'weights':<12}{weights}" in run("inspect", tmp_path / "m").stdout.splitlines()

    free = json.loads(run(*train, *options, "--free-sign", "--cost", "hamming").stdout)
    assert margrave.load(tmp_path / "m").learner == LP(solver or "extragradient", free_sign=True, margin="cost")
    assert free["cost"] == "hamming" and free["primal"] != pytest.approx(report["primal"], rel=0.01)
    run(*train, *options, "--program", "closest")
    assert margrave.load(tmp_path / "m").learner == LP(solver or "extragradient", program="closest")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("learner", ["lbfgs", "eg", "sgd"])
def test_a_training_goes_on_from_its_checkpoint(small: Path, tmp_path: Path, learner: str) -> None:
    whole, parts, file = tmp_path / "whole", tmp_path / "parts", tmp_path / "checkpoint"
    options = ("--learner", learner, "--tol", "1e-7", "--json")
    once = json.loads(run("train", small, "-o", whole, "--max-iter", "8", *options).stdout)
    assert not file.exists()
    options = ("--checkpoint", file, *options)
    first = json.loads(run("train", small, "-o", parts, "--max-iter", "3", *options).stdout)
    assert first["passes"] < once["passes"] and file.exists()
    then = json.loads(run("train", small, "-o", parts, "--max-iter", "8", *options).stdout)
    assert (then["primal"], then["dual"]) == (once["primal"], once["dual"]) and file.exists()
    models: list[Any] = [margrave.load(path) for path in (whole, parts)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_quiet_says_nothing(small: Path, tmp_path: Path) -> None:
    result = run("train", small, "-o", tmp_path / "m", "--quiet")
    assert result.exit_code == 0 and result.output == "" and (tmp_path / "m").exists()


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(small: Path, tmp_path: Path) -> None:
    result = run("train", small, "-o", tmp_path / "m", "--max-iter", "1", "--tol", "1e-9", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["converged"] is False
    assert re.fullmatch(r"margrave: warning: stopped after 1 iterations .*\n", result.stderr)


def test_templates_travel_with_the_model(small: Path, tmp_path: Path) -> None:
    templates, model, words = tmp_path / "templates.txt", tmp_path / "m", tmp_path / "words"
    templates.write_text("# the word and its last letters\n0[0]\n0[0].suffix2\n0[-1]\n")
    assert run("train", small, "-o", model, "--templates", templates, "-q").exit_code == 0
    tagger: Any = margrave.load(model)
    assert tagger.features_.templates == ("0[0]", "0[0].suffix2", "0[-1]")
    assert (tagger.features_.columns, tagger.metadata_) == (2, {"separator": None})
    write_columns(words, read_columns(small, columns=[0]))  # all that the templates ask for, but not as in training
    refused = message(run("predict", model, words))
    assert refused == f"{words}: 1 column, but the model was trained on 2 columns and a label."


@pytest.mark.parametrize("name", ["TAB", "\\t", "\t"])
def test_a_separator_is_kept_in_the_model(tmp_path: Path, name: str) -> None:
    data, model = tmp_path / "data.tsv", tmp_path / "m"
    data.write_text("New York\t\tB-LOC\nsleeps\tV\tO\n\nParis\t\tB-LOC\nis quiet\tV\tO\n", encoding="utf-8")
    assert run("train", data, "-o", model, "--separator", name, "-q").exit_code == 0
    lines = run("predict", model, data).stdout.splitlines()
    assert lines[0] == "New York\t\tB-LOC\tB-LOC" and lines[4] == "is quiet\tV\tO\tO"
    assert run("evaluate", model, data).exit_code == 0


def test_text_is_utf8_whatever_the_locale(tmp_path: Path) -> None:
    data, model = tmp_path / "data", tmp_path / "m"
    data.write_text("Zürich B-Ort\u2116\nschläft O\n\nZürich B-Ort\u2116\n", encoding="utf-8")
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    run("train", data, "-o", model, "-q")
    for command in ("predict", "evaluate"):
        done = subprocess.run([*COMMAND, command, str(model), str(data)], capture_output=True, env=latin)
        assert done.returncode == 0 and done.stderr == b"", done.stderr
        assert "Ort\u2116" in done.stdout.decode("utf-8")


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--loss", "hing"],
            "unknown loss 'hing'; did you mean 'hinge'? (valid: log, hinge, softmax-margin, perceptron, ramp, "
            "expected-cost, latent-log, latent-hinge)",
        ),
        (["--learner", "lbgfs"], "unknown learner 'lbgfs'; did you mean 'lbfgs'?"),
        (["--weights", "hash:99"], "unknown weights 'hash:99'; did you mean 'hash:18'?"),
        (["-C", "0"], "-C must be positive and finite, and it is 0.0; see 'margrave train --help'."),
        (["--separator", ""], "separator is empty"),
        (["--loss", "hinge", "--learner", "lbfgs"], "learner 'lbfgs' needs a smooth loss"),
        (["--templates", "nowhere.txt"], "nowhere.txt: cannot be read: no such file or directory."),
        (["--dev", "nowhere.conll"], "nowhere.conll: no such file."),
    ],
)
def test_a_wrong_option_is_named(small: Path, tmp_path: Path, options: list[str], expected: str) -> None:
    assert message(run("train", small, "-o", tmp_path / "m", *options)).startswith(expected)
    assert sorted(os.listdir(tmp_path)) == ["small.conll"]


def test_a_checkpoint_that_cannot_be_is_refused_before_the_training(small: Path, tmp_path: Path) -> None:
    model, file = tmp_path / "m", tmp_path / "checkpoint"
    assert run("train", small, "-o", model, "--checkpoint", file, "--learner", "lbfgs", "-q").exit_code == 0
    empty, words = tmp_path / "empty", tmp_path / "words"
    empty.write_bytes(b"")
    words.write_text("no checkpoint at all\n")
    new = tmp_path / "new"
    for checkpoint, options, expected in [
        (file, ["-C", "2"], f"{file}: this checkpoint is of another run: its C is 1.0, and not 2.0; remove the file"),
        (file, ["--learner", "cg"], f"{file}: this checkpoint is of another run: its learner is 'lbfgs', and not 'cg'"),
        (file, ["--order", "2"], f"{file}: this checkpoint is of another run: its weights is "),
        (model, [], f"{model}: this is not a checkpoint."),
        (empty, [], f"{empty}: an empty file"),
        (words, [], f"{words}: not a model file"),
        (tmp_path, [], f"{tmp_path}: cannot be written: it is a directory."),
        (tmp_path / "missing" / "c", [], f"{tmp_path / 'missing' / 'c'}: cannot be written: its directory does not"),
        (small, [], f"{small}: it is both read and to be written"),
        (new, [], f"{new}: it is both the model and the checkpoint: give one another name."),
    ]:
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        arguments = ("--learner", "lbfgs", "--checkpoint", checkpoint, *options)
        assert message(run("train", small, "-o", new, *arguments)).startswith(expected)
        assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "options", [["--max-iter", "0"], ["--order", "4"], ["-C", "much"], ["--tol", "-1"], ["--nothing"]]
)
def test_an_option_that_cannot_be_is_refused_with_a_hint(small: Path, tmp_path: Path, options: list[str]) -> None:
    result = run("train", small, "-o", tmp_path / "m", *options)
    assert result.exit_code == 2 and options[0] in result.stderr
    assert re.fullmatch(r"margrave: [^\n]*; see 'margrave train --help'\.\n", result.stderr)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ": it contains no sequences."),
        (b"\n \n\n", ": it contains no sequences."),
        (b"a b O\nc O\n", ", line 2: 2 columns, but the lines before have 3."),
        (b"\na b O\n\nc d e O\n", ", line 4: 4 columns, but the lines before have 3."),
        (b"a b O\nc\xe9 d X\n", ", line 2: not valid UTF-8 text (byte 0xE9)"),
        (b"\x1f\x8b\x08\x00garbage", ", line 1: the gzip data are damaged or truncated here."),
    ],
)
@pytest.mark.parametrize("command", ["train", "dev", "predict", "evaluate"])
def test_a_mistake_in_a_file_is_named_by_file_and_line(
    town: Path, small: Path, tmp_path: Path, command: str, content: bytes, expected: str
) -> None:
    bad, output = tmp_path / "bad.conll", tmp_path / "out"
    bad.write_bytes(content)
    if command == "predict" and not content.strip():
        pytest.skip("No sequence has no prediction.")
    arguments = {
        "train": ["train", bad, "-o", output],
        "dev": ["train", small, "--dev", bad, "-o", output],
        "predict": ["predict", town / "town.margrave", bad, "-o", output],
        "evaluate": ["evaluate", town / "town.margrave", bad],
    }[command]
    assert message(run(*arguments)).startswith(f"{bad}{expected}")
    assert sorted(os.listdir(tmp_path)) == ["bad.conll", "small.conll"]


def test_a_mistake_on_standard_input_is_named_by_its_line(town: Path) -> None:
    command = [*COMMAND, "predict", str(town / "town.margrave"), "-"]
    done = subprocess.run(command, input=b"a b O\n\xe9 b O\n", capture_output=True)
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.decode().startswith("margrave: <stdin>, line 2: not valid UTF-8 text (byte 0xE9)")

    assert message(run("evaluate", town / "town.margrave", "-", stdin=b"")) == "<stdin>: it contains no sequences."
    refused = message(run("evaluate", town / "town.margrave", "-", stdin=b"a b O\nc O\n"))
    assert refused.endswith(", line 2: 2 columns, but the lines before have 3.")
    refused = message(run("evaluate", town / "town.margrave", "-", stdin=b"a O\nc O\n"))
    assert refused == "<stdin>: 2 columns, but 3 are needed, the label last."


def test_columns_must_be_those_of_the_training(town: Path, small: Path, tmp_path: Path) -> None:
    one, two, four = (tmp_path / name for name in ("one", "two", "four"))
    one.write_text("O\nX\n")
    two.write_text("a O\nb X\n")
    four.write_text("a b c O\nd e f X\n")
    model = town / "town.margrave"
    assert message(run("train", one, "-o", tmp_path / "m")) == (
        f"{one}: 1 column, but at least 2 are needed: the word and its label."
    )
    assert message(run("train", small, "--dev", two, "-o", tmp_path / "m")) == (
        f"{two}: 2 columns, but 3 are needed, the label last."
    )
    assert message(run("evaluate", model, two)) == f"{two}: 2 columns, but 3 are needed, the label last."
    for path, columns in ((one, "1 column"), (four, "4 columns")):
        expected = f"{path}: {columns}, but the model was trained on 2 columns and a label."
        assert message(run("predict", model, path)) == expected


def test_templates_must_fit_the_columns(small: Path, tmp_path: Path) -> None:
    templates = tmp_path / "templates.txt"
    templates.write_text("0[0]\n2[0]\n")
    assert message(run("train", small, "-o", tmp_path / "m", "--templates", templates)) == (
        f"{templates}: it uses column 2, but before the label {small} has only columns 0 to 1."
    )
    templates.write_text("0[0]\n0[x]\n")
    expected = f"{templates}, line 2: bad template '0[x]'"
    assert message(run("train", small, "-o", tmp_path / "m", "--templates", templates)).startswith(expected)


def test_one_label_alone_teaches_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text("a O\nb O\n")
    assert "only one class" in message(run("train", data, "-o", tmp_path / "m"))


def test_an_output_that_cannot_be_written_is_found_before_the_data_are_read(town: Path, tmp_path: Path) -> None:
    read_only = tmp_path / "read-only"
    read_only.write_bytes(b"kept")
    read_only.chmod(0o444)
    missing = tmp_path / "missing" / "m"
    for output, expected in [
        (missing, "cannot be written: its directory does not exist."),
        (tmp_path, "cannot be written: it is a directory."),
        (read_only, "cannot be written: the file is read-only."),
        (Path(os.devnull), "cannot be written: it is not an ordinary file."),
    ]:
        assert message(run("train", "no-such-data", "-o", output)) == f"{output}: {expected}"
        assert message(run("predict", "no-such-model", "no-such-data", "-o", output)) == f"{output}: {expected}"
    assert read_only.read_bytes() == b"kept"
    assert os.listdir(tmp_path) == ["read-only"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that even a superuser cannot write to")
def test_a_folder_that_takes_no_files_is_found_before_the_data_are_read() -> None:
    output = "/proc/self/town.margrave"
    assert message(run("train", "no-such-data", "-o", output)).startswith(f"{output}: cannot be written: ")


def test_no_file_is_both_read_and_written(town: Path, small: Path, tmp_path: Path) -> None:
    content = small.read_bytes()
    link, templates = tmp_path / "link", tmp_path / "templates.txt"
    link.symlink_to(small)
    templates.write_text("0[0]\n")
    for output, options in [
        (small, []),
        (link, []),
        (small, ["--dev", small]),
        (templates, ["--templates", templates]),
    ]:
        assert "both read and to be written" in message(run("train", small, "-o", output, *options))
    assert "both read and to be written" in message(run("predict", town / "town.margrave", small, "-o", link))
    assert small.read_bytes() == content and templates.read_text() == "0[0]\n"


def test_a_failure_leaves_the_old_output_as_it_was(town: Path, tmp_path: Path) -> None:
    output, data = tmp_path / "out", tmp_path / "data"
    output.write_text("old")
    data.write_bytes((town / "test.conll").read_bytes() * 40 + b"only two\n")  # the mistake is beyond the first batch
    assert "2 columns, but the lines before have 3" in message(
        run("predict", town / "town.margrave", data, "-o", output)
    )
    assert output.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["data", "out"]


def _foreign(town: Path) -> bytes:
    header = b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
    return len(header).to_bytes(8, "little") + header


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lambda town: b"", "an empty file, not a model."),
        (lambda town: (town / "train.conll").read_bytes(), "not a model file"),
        (_foreign, "a safetensors file, but not a model written by Margrave."),
        (lambda town: (town / "town.margrave").read_bytes()[:-100], "truncated"),
        (lambda town: (town / "town.margrave").read_bytes()[:-1] + b"\xff", "damaged"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_file_that_is_no_model_is_refused(
    town: Path, tmp_path: Path, command: str, content: Callable[[Path], bytes], expected: str
) -> None:
    model = tmp_path / "bad.margrave"
    model.write_bytes(content(town))
    assert message(run(command, model, town / "test.conll")).startswith(f"{model}: {expected}")


def test_a_missing_model_is_named(town: Path) -> None:
    refused = message(run("predict", "no.margrave", town / "test.conll"))
    assert refused == "no.margrave: cannot be read: no such file or directory."


def test_a_model_without_templates_is_refused(small: Path, tmp_path: Path) -> None:
    tagger = margrave.SequenceTagger().fit([[["a"], ["b"]]], [["A", "B"]])
    for i, metadata in enumerate([None, {"templates": []}, {"templates": "0[0]", "n_columns": 1, "separator": None}]):
        model = tmp_path / f"{i}.margrave"
        tagger.save(model, metadata=metadata)
        refused = message(run("predict", model, small))
        assert refused == f"{model}: it contains no templates to make features with: train it with 'margrave train'."


def test_a_model_of_another_kind_is_refused(small: Path, tmp_path: Path) -> None:
    model = tmp_path / "classifier.margrave"
    margrave.LinearClassifier().fit(np.eye(2), ["a", "b"]).save(model)
    refused = message(run("evaluate", model, small))
    assert refused == f"{model}: it does not say how to read examples: train it with 'margrave train'."


def test_a_model_that_was_counted_has_no_training_to_show(tmp_path: Path) -> None:
    model = tmp_path / "hmm.margrave"
    margrave.HMMTagger().fit([["a", "b"]], [["A", "B"]]).save(model)
    for command in (["predict", model, model], ["evaluate", model, model]):
        assert message(run(*command)) == f"{model}: it contains a HMMTagger, which 'margrave train' does not make."
    assert message(run("inspect", model)) == f"{model}: it contains a HMMTagger, which was counted, not optimized."


def test_an_unknown_scheme_is_refused_before_the_model_is_read() -> None:
    refused = message(run("evaluate", "no.margrave", "no.conll", "--scheme", "IOB3"))
    assert refused == "unknown --scheme 'IOB3'; did you mean 'IOB2'? (valid: IOB1, IOB2, BIOES)"


# ---- pipes and Ctrl-C ------------------------------------------------------------------------------------------------


def test_a_reader_that_has_seen_enough_ends_it_silently(town: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes((town / "test.conll").read_bytes() * 100)  # more than a pipe holds
    command = [*COMMAND, "predict", str(town / "town.margrave"), str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        first = process.stdout.readline().decode().split()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
    assert first[:3] == data.read_text().split()[:3]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_one_line(town: Path) -> None:
    with open("/dev/full", "wb") as full:
        command = [*COMMAND, "evaluate", str(town / "town.margrave"), str(town / "test.conll")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"margrave: <stdout>: no space left on device.\n")


def test_an_instruction_set_that_there_is_not_is_one_line(small: Path) -> None:
    command = [*COMMAND, "train", str(small), "-o", str(small.with_suffix(".margrave"))]
    done = subprocess.run(command, env={**os.environ, "MARGRAVE_INSTRUCTIONS": "mmx"}, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.fullmatch(
        r"margrave: the environment variable MARGRAVE_INSTRUCTIONS is 'mmx', and this processor has loops for: .*\n",
        done.stderr,
    )


@contextmanager
def started(arguments: Sequence[object]) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """A command that heeds Ctrl-C, and the terminal that is its standard error."""
    terminal, its_end = pty.openpty()
    try:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=its_end,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        )
    finally:
        os.close(its_end)
    try:
        yield process, terminal
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()
        os.close(terminal)


def shown(terminal: int, until: bytes = b"") -> bytes:
    """What appears on the terminal, up to a text, or to the end."""
    text = b""
    while not until or until not in text:
        assert select.select([terminal], [], [], 100)[0], f"nothing more after {text!r}"
        try:
            part = os.read(terminal, 65536)
        except OSError as error:  # how Linux says that the other end is closed
            assert error.errno == errno.EIO
            part = b""
        if not part:
            assert not until, f"ended after {text!r}"
            break
        text += part
    return text


def test_ctrl_c_saves_the_model_so_far(town: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    endless = ("--learner", "sgd", "--tol", "0", "--max-iter", 10**9)
    with started(["train", town / "train.conll", "-o", model, "--json", *endless]) as (process, terminal):
        shown(terminal, until=b"pass ")
        process.send_signal(signal.SIGINT)
        text = shown(terminal).decode()
        assert process.wait() == 130
        assert process.stdout
        report = json.loads(process.stdout.read())
    assert f"margrave: interrupted after pass {report['passes']:g}: the model so far is in {model}" in text
    assert "Traceback" not in text
    assert report["stop_reason"] == "interrupted" and report["converged"] is False
    assert json.loads(run("evaluate", model, town / "train.conll", "--json").stdout)["accuracy"] > 0.5


def test_after_ctrl_c_the_same_command_goes_on_from_the_checkpoint(town: Path, tmp_path: Path) -> None:
    model, file = tmp_path / "m", tmp_path / "checkpoint"
    options = ("--learner", "sgd", "--tol", "0", "--json", "--checkpoint", file)
    with started(["train", town / "train.conll", "-o", model, "--max-iter", 10**9, *options]) as (process, terminal):
        shown(terminal, until=b"pass ")
        process.send_signal(signal.SIGINT)
        text = shown(terminal).decode()
        assert process.wait() == 130
        assert process.stdout
        first = json.loads(process.stdout.read())
    assert f"the model so far is in {model}; the same command resumes from {file}" in text
    iterations = int(first["passes"] - 8) // 2 + 3  # of two passes each, after four rates were tried
    then = json.loads(run("train", town / "train.conll", "-o", model, "--max-iter", iterations, *options).stdout)
    assert first["passes"] < then["passes"] < first["passes"] + 20
    assert then["primal"] <= first["primal"]


def test_ctrl_c_before_the_first_pass_writes_nothing(tmp_path: Path) -> None:
    data, model = tmp_path / "data", tmp_path / "m"
    model.write_bytes(b"an older model")
    os.mkfifo(data)
    with started(["train", data, "-o", model]) as (process, terminal):
        writer = _opened_once_read(data, process)
        process.send_signal(signal.SIGINT)
        text = shown(terminal).decode()
        assert process.wait() == 130
        os.close(writer)
    assert text.strip() == "margrave: interrupted before the first pass: nothing was written."
    assert model.read_bytes() == b"an older model"
    assert sorted(os.listdir(tmp_path)) == ["data", "m"]


def _opened_once_read(pipe: Path, process: "subprocess.Popen[bytes]") -> int:
    """The writing end of a named pipe, as soon as the process has opened its other end."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO  # nobody reads yet
        select.select([], [], [], 0.01)
    raise AssertionError("the process has ended without reading")


def test_ctrl_c_while_attributes_are_made_writes_nothing(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Templates, "transform", interrupt)
    result = run("train", small, "-o", tmp_path / "m")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "margrave: interrupted before the first pass: nothing was written.\n"
    assert not (tmp_path / "m").exists()


def test_a_second_ctrl_c_does_not_lose_the_model(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = margrave.SequenceTagger.save

    def interrupted_save(*arguments: Any, **named: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        save(*arguments, **named)

    monkeypatch.setattr(margrave.SequenceTagger, "save", interrupted_save)
    assert run("train", small, "-o", tmp_path / "m", "-q").exit_code == 0
    assert run("predict", tmp_path / "m", small).exit_code == 0


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_whatever_ends_a_command_leaves_no_temporary_file(name: str, town: Path, tmp_path: Path) -> None:
    output, ending = tmp_path / "out", getattr(signal, name)
    output.write_bytes(b"an older output")
    command = [*COMMAND, "predict", str(town / "town.margrave"), "-", "-o", str(output)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin and process.stderr
        process.stdin.write((town / "test.conll").read_bytes() * 60)  # and then nothing more for a while
        process.stdin.flush()
        while len(os.listdir(tmp_path)) < 2:
            assert process.poll() is None
            select.select([], [], [], 0.01)
        process.send_signal(ending)
        assert process.stderr.read() == b"margrave: interrupted.\n"
    assert process.returncode == 128 + ending
    assert output.read_bytes() == b"an older output"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_model_so_far_is_saved_when_the_system_ends_the_training(name: str, town: Path, tmp_path: Path) -> None:
    model, ending = tmp_path / "m", getattr(signal, name)
    endless = ("--learner", "sgd", "--tol", "0", "--max-iter", 10**9)
    with started(["train", town / "train.conll", "-o", model, "--json", *endless]) as (process, terminal):
        shown(terminal, until=b"pass ")
        process.send_signal(ending)
        assert b"the model so far is in" in shown(terminal)
        assert process.wait() == 128 + ending
    assert os.listdir(tmp_path) == ["m"]
    assert run("evaluate", model, town / "test.conll").exit_code == 0


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    program = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from margrave.cli.streams import *; "
        "end_as_by_ctrl_c(); print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "True\n"


@pytest.mark.parametrize(
    ("command", "closed", "code", "said"),
    [
        ("predict MODEL DATA >&-", ">&-", 2, "margrave: <stdout>: it is closed.\n"),
        ("evaluate MODEL DATA >&-", ">&-", 2, "margrave: <stdout>: it is closed.\n"),
        ("predict MODEL - <&-", "<&-", 2, "margrave: <stdin>: cannot be read: it is closed.\n"),
        ("predict MODEL no-such-file 2>&-", "2>&-", 2, ""),
        ("train DATA -o OUT 2>&-", "2>&-", 0, ""),
    ],
)
def test_closed_streams_are_one_line(
    command: str, closed: str, code: int, said: str, town: Path, tmp_path: Path
) -> None:
    for name, path in (("MODEL", "town.margrave"), ("DATA", "test.conll")):
        command = command.replace(name, str(town / path))
    command = command.replace("OUT", str(tmp_path / "m"))
    done = subprocess.run(f"{' '.join(COMMAND)} {command}", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (code, said)
