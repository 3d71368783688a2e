"""What holds for every registered task: its help, a round through all commands, and how it refuses mistakes."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

import margrave
from margrave.cli.kernels import KernelOptions
from margrave.cli.learning import learning_options
from margrave.cli.reports import certificate_rows
from margrave.cli.tasks import TASKS, task_named
from margrave.cli.tasks.base import DEFAULT_TASK, Task
from margrave.learners import EG, LEARNERS, LP
from margrave.losses import loss_named, loss_names
from margrave.maps import Kernel
from margrave.options import option
from margrave.settings.learning import LearningSettings
from tests.references.commands import done, message, run


@dataclass
class Tiny:
    """Data that a task learns at once: `data` with labels, `bare` the same without, `mistaken` without any label."""

    data: str
    bare: str
    mistaken: str
    refusal: str  # of what is mistaken
    score: str  # in the report of evaluate
    name: str = "data.txt"
    options: tuple[str, ...] = ()


TREES = "1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
MORE = TREES.replace("dogs", "cats").replace("bark", "sleep")
HEADLESS = re.sub(r"\t[0-9]\t\w+\t_\t_\n", r"\t_\t_\t_\t_\n", TREES + MORE)

GRAPH = '{"nodes": [["red"], ["blue"]], "edges": [[0, 1]], "labels": ["r", "b"]}\n'
BARE = GRAPH.replace(', "labels": ["r", "b"]', "")
LATTICE = '{{"edges": [{{"from": 0, "to": 1, "word": "a", "features": {{"x": {}}}}}, {{"from": 0, "to": 1}}]{}}}\n'
LATTICES = LATTICE.format(1, ', "good": ["a"]') + LATTICE.format(2, ', "good": ["a"]')
BARE_LATTICES = LATTICE.format(1, "") + LATTICE.format(2, "")

TINY = {
    "graph": Tiny(GRAPH, BARE, BARE, "has no labels", "accuracy", "data.jsonl"),
    "tagging": Tiny("the D\ndog N\n\nthe D\ncat N\n", "the\ndog\n\nthe\ncat\n", "the\ndog\n", "1 column", "accuracy"),
    "lattice": Tiny(LATTICES, BARE_LATTICES, BARE_LATTICES, "has no good string", "accuracy"),
    "multilabel": Tiny("a;b 1:1 2:1\na 1:1\nb 2:1\n", "1:1 2:1\n1:1\n2:1\n", "1:1\n2:1\n", "has a class", "f1"),
    "constituency": Tiny(
        "(S (NP (N we)) (VP (V see) (NP (N cats)) (PP (P in) (NP (N rain)))))\n"
        "(NP (NP (N hats)) (PP (P in) (NP (N rain))))\n(S (NP (N we)) (VP (V see) (NP (N rain))))\n",
        "(X (N we) (V see) (N cats) (P in) (N rain))\n(X (N hats) (P in) (N rain))\n(X (N we) (V see) (N rain))\n",
        "(X (D the) (N dog))\n",
        "its trees have no constituents",
        "f1",
        "data.mrg",
    ),
    "parse": Tiny(TREES + MORE, HEADLESS, HEADLESS, "has no head", "uas", "data.conllu"),
    "rerank": Tiny(
        "1 qid:1 1:1\n0 qid:1 2:1\n1 qid:2 1:2\n0 qid:2 2:1\n",
        "0 qid:1 1:1\n0 qid:1 2:1\n0 qid:2 1:2\n0 qid:2 2:1\n",
        "0 qid:1 1:1\n0 qid:1 2:1\n",
        "none of its lists has a candidate",
        "accuracy",
    ),
    "align": Tiny(
        "ACGT\tA-GT\nGATC\tG-TC\n", "ACGT\tAGT\nGATC\tGTC\n", "ACGT\tAGT\n", "must have the same length", "f1",
    ),
    "translate": Tiny(
        "a b c d ||| w x y z ||| 0-0 1-1 2-2 3-3\nb c d a ||| x y z w ||| 0-0 1-1 2-2 3-3\n",
        "a b c d\nb c d a\n",
        "a b c d\nb c d a\n",
        "a line must be source ||| target",
        "bleu",
        options=("--rounds", "1"),
    ),
    "classify": Tiny("a 1:1\nb 2:1\nc 3:1\n", "1:1\n2:1\n3:1\n", "1:1\n2:1\n", "a class", "accuracy"),
    "homology": Tiny(
        "ACGT\nACGT\tAC-T\nGGG\n\nTTAC\nCCC\nTTAC\t-TAC\n", "ACGT\nACT\nGGG\n\nTTAC\nCCC\nTAC\n",
        "ACGT\nACT\nGGG\n", "must be aligned", "accuracy",
    ),
    "taxonomy": Tiny("a/b 1:1\na/c 2:1\nd/e 3:1\n", "1:1\n2:1\n3:1\n", "1:1\n2:1\n", "a class such as", "accuracy"),
}  # fmt: skip

EVERY = pytest.mark.parametrize("name", TASKS)


def test_every_task_is_tested_here() -> None:
    assert set(TINY) == set(TASKS)
    assert next(iter(TASKS)) == DEFAULT_TASK


@pytest.fixture
def trained(name: str, tmp_path: Path) -> tuple[Path, Path]:
    """The tiny data of a task, and a model of them."""
    data, model = tmp_path / TINY[name].name, tmp_path / "m"
    data.write_text(TINY[name].data)
    weight = () if name == "translate" else ("-C", 10)  # which minimum error rate training does not have
    done("train", "--task", name, data, "-o", model, "-q", *weight, *TINY[name].options)
    return data, model


# ---- help ------------------------------------------------------------------------------------------------------------


def flags(text: str) -> set[str]:
    """The options that a help text lists."""
    return set(re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+|-C)\b", text[text.index("\nOptions:") :], re.MULTILINE))


SHARED = {"--output", "--task", "--dev", "--checkpoint", "--json", "--quiet", "--help"}


@EVERY
def test_help_shows_exactly_the_options_of_the_task_in_either_order(name: str) -> None:
    first, last = done("train", "--task", name, "--help"), done("train", "--help", "--task", name)
    assert first == last == done("train", f"--task={name}", "-h")
    task = TASKS[name]
    learning = {each.flag for each in learning_options(task.settings)}
    assert flags(first) == SHARED | learning | {each.flag for each in task.options()}
    assert all(command in first for command in task.examples)
    others = {command for other in TASKS.values() if other is not task for command in other.examples}
    assert not any(command in first for command in others)


def test_help_without_a_task_lists_the_tasks_and_shows_the_default() -> None:
    text = done("train", "--help")
    for name, task in TASKS.items():
        assert re.search(rf"^ +{name} +{task.summary}$", text, re.MULTILINE)
    assert flags(text) == flags(done("train", "--help", "--task", DEFAULT_TASK))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["train", "--help"], ["predict", "-h"], ["evaluate", "--help"], ["inspect", "--help"]]
    + [["train", "--help", "--task", name] for name in TASKS],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from margrave.cli import main\n"
        f"sys.argv = ['margrave', *{arguments!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'rich', 'margrave._core', 'margrave.learners'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "margrave" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nothing"], "no such option: --nothing; see 'margrave --help'."),
        (["nothing"], "no such command 'nothing'; see 'margrave --help'."),
        (["predict"], "missing argument 'MODEL'; see 'margrave predict --help'."),
    ],
)
def test_arguments_that_cannot_be_are_refused_in_one_line(arguments: list[str], said: str) -> None:
    assert message(run(*arguments)) == said


def test_ctrl_c_while_modules_are_imported_says_one_line() -> None:
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'margrave.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from margrave.__main__ import main\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "margrave: interrupted.\n")


def test_help_names_every_loss() -> None:
    text = " ".join(done("train", "--help").split()).replace("- ", "-")  # lines end after hyphens too
    names = re.search(r"--loss NAME ([^.]*)", text)
    own = {name for name in loss_names() if type(loss_named(name)).__module__.startswith("margrave.")}
    assert names and set(re.split(", | or ", names[1])) == own


def test_help_shows_the_settings_of_a_learner() -> None:
    text = " ".join(done("train", "--help", "--learner", "sgd").split())
    for each in LEARNERS["sgd"].options():
        assert f"{each.name}=" in text and each.help in text
    assert "has no settings" in done("train", "--help", "--learner", "auto")
    assert "did you mean 'sgd'?" in message(run("train", "--help", "--learner", "sdg"))


# ---- all commands ----------------------------------------------------------------------------------------------------


@EVERY
def test_a_model_goes_through_all_commands(name: str, trained: tuple[Path, Path], tmp_path: Path) -> None:
    data, model = trained
    tiny = TINY[name]
    assert margrave.load(model).saved_as == TASKS[name].estimator.rpartition(":")[2]
    report = json.loads(done("evaluate", model, data, "--json"))
    assert report[tiny.score] == 1.0
    assert "100.00" in done("evaluate", model, data)

    (tmp_path / f"bare-{tiny.name}").write_text(tiny.bare)
    predicted = done("predict", model, data)
    assert predicted.strip() and done("predict", model, "-", stdin=tiny.data.encode()) == predicted
    assert len(done("predict", model, tmp_path / f"bare-{tiny.name}").splitlines()) == len(predicted.splitlines())
    assert done("predict", model, data, "--marginals") != predicted

    inspected = json.loads(done("inspect", model, "--top", 2, "--json"))
    assert inspected["exact"] is (name != "translate") and inspected["top"]  # The search for translations prunes.
    for features in inspected["top"].values():
        assert len(features) <= 2 and all(isinstance(text, str) and weight for text, weight in features)
    assert "top" not in json.loads(done("inspect", model, "--json"))
    first = next(of for of in inspected["top"].values() if of)[0]
    assert first[0] in done("inspect", model, "--top", 2)


@EVERY
def test_the_dev_scores_of_a_training_are_those_of_evaluate(name: str, trained: tuple[Path, Path]) -> None:
    data, model = trained
    again = ("train", "--task", name, data, "-o", model, "--dev", data, *TINY[name].options)
    dev = json.loads(done(*again, "--json"))["dev"]
    evaluated = json.loads(done("evaluate", model, data, "--json"))
    assert dev and dev.items() <= evaluated.items()
    assert re.search(r"^dev +\S", done(*again), re.MULTILINE)


# ---- mistakes --------------------------------------------------------------------------------------------------------


@EVERY
def test_an_empty_file_is_refused(name: str, trained: tuple[Path, Path], tmp_path: Path) -> None:
    _, model = trained
    empty = tmp_path / f"empty-{TINY[name].name}"
    empty.write_text("\n\n")
    before = model.read_bytes()
    commands = [["train", "--task", name, empty, "-o", model], ["evaluate", model, empty], ["predict", model, empty]]
    if name in ("tagging", "parse"):  # No sentence has no answer, and the lines of the answers are those of the input.
        assert done(*commands.pop()) == ""
    for command in commands:
        refused = message(run(*command))
        assert refused.startswith((f"{empty}: it contains no ", f"{empty}: it holds no ")) or "no examples" in refused
    assert model.read_bytes() == before


@EVERY
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"what is this\nno data of mine at all\n"])
def test_a_file_of_something_else_is_refused(
    name: str, trained: tuple[Path, Path], tmp_path: Path, content: bytes
) -> None:
    _, model = trained
    wrong = tmp_path / f"wrong-{TINY[name].name}"
    wrong.write_bytes(content)
    assert str(wrong) in message(run("train", "--task", name, wrong, "-o", tmp_path / "new"))
    assert str(wrong) in message(run("evaluate", model, wrong))
    assert not (tmp_path / "new").exists()


@EVERY
def test_data_without_labels_teach_nothing(name: str, tmp_path: Path) -> None:
    bare = tmp_path / f"bare-{TINY[name].name}"
    bare.write_text(TINY[name].mistaken)
    refused = message(run("train", "--task", name, bare, "-o", tmp_path / "new"))
    assert refused.startswith(str(bare)) and TINY[name].refusal in refused
    assert not (tmp_path / "new").exists()


@EVERY
def test_options_of_other_tasks_are_refused_by_name(name: str, tmp_path: Path) -> None:
    own = {each.name for each in TASKS[name].options()}
    for other in TASKS.values():
        for each in other.options():
            if each.name not in own:
                value = [] if each.is_switch else ["1"]
                refused = message(run("train", "--task", name, "no-data", "-o", tmp_path / "m", each.flag, *value))
                assert refused.startswith(f"{each.flag} applies to --task ") and other.name in refused
                assert refused.endswith(f" only, and this is --task {name}.")


@EVERY
def test_options_of_other_models_are_refused_by_name(name: str, trained: tuple[Path, Path]) -> None:
    data, model = trained
    for command in ("predict", "evaluate"):
        own = {each.name for each in getattr(TASKS[name], f"{command}_options")}
        for other in TASKS.values():
            for each in getattr(other, f"{command}_options"):
                if each.name not in own:
                    value = {"scheme": ["IOB2"], "format": ["conllu"], "decode": ["mbr"]}.get(
                        each.name, [] if each.is_switch else ["1"]
                    )
                    refused = message(run(command, model, data, each.flag, *value))
                    assert refused.startswith(f"{model}: {each.flag} applies to {each.applies} only, and this model ")


@EVERY
def test_ctrl_c_before_the_first_pass_writes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    data = tmp_path / TINY[name].name
    data.write_text(TINY[name].data)
    monkeypatch.setattr(TASKS[name].estimator_class(), "_threads", interrupt)
    result = run("train", "--task", name, data, "-o", tmp_path / "m")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "margrave: interrupted before the first pass: nothing was written.\n"
    assert os.listdir(tmp_path) == [data.name]


@EVERY
def test_no_file_of_an_option_is_overwritten(name: str, tmp_path: Path) -> None:
    for each in TASKS[name].options():
        if each.metavar == "FILE":
            file = tmp_path / "file"
            file.write_text("mine")
            refused = message(run("train", "--task", name, "data", "-o", file, each.flag, file))
            assert refused == f"{file}: it is both read and to be written: give the output another name."


# ---- learners, kernels, certificates ---------------------------------------------------------------------------------


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_text(TINY["tagging"].data)
    return path


@pytest.mark.parametrize(
    ("options", "learner"),
    [
        (["--learner", "eg", "--set", "rate=0.25", "--set", "skip=no"], EG(rate=0.25, skip=False)),
        (["--learner", "eg", "--set", "rate=0.7"], "eg"),  # which is the default
        (["--learner", "lp", "--loss", "hinge", "--set", "rounds=3", "--free-sign"], LP(rounds=3, free_sign=True)),
        (["--learner", "lp", "--loss", "hinge", "--set", "tolerances=0.01,0.1"], LP(tolerances=(0.01, 0.1))),
    ],
)
def test_any_setting_of_a_learner_can_be_set(tagged: Path, tmp_path: Path, options: list[str], learner: Any) -> None:
    done("train", tagged, "-o", tmp_path / "m", "-q", "--tol", 0.1, *options)
    assert margrave.load(tmp_path / "m").learner == learner


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--learner", "eg", "--set", "rat=1"], "unknown eg setting 'rat'; did you mean 'rate'?"),
        (["--learner", "eg", "--set", "rate"], "--set takes NAME=VALUE, not 'rate'."),
        (["--learner", "eg", "--set", "start=far"], "--set start=far: start cannot be 'far'. How strongly"),
        (["--learner", "eg-batch", "--set", "rate=fast"], "unknown rate of eg-batch 'fast'"),
        (["--learner", "eg", "--set", "order=best"], "unknown order 'best'; (valid: shuffled"),
        (["--learner", "eg", "--set", "rate=-1"], "the rate of eg must be positive"),
        (["--learner", "eg", "--set", "rate=1", "--set", "rate=2"], "the setting rate of the learner is given twice."),
        (["--set", "rate=1"], "--set rate=1: learner 'auto' has no settings: name one with --learner."),
        (["--loss", "hinge", "--learner", "lp", "--set", "metric=len"], "--set metric=len: metric cannot be 'len'."),
    ],
)
def test_a_wrong_setting_is_refused(tagged: Path, tmp_path: Path, options: list[str], expected: str) -> None:
    assert message(run("train", tagged, "-o", tmp_path / "m", *options)).startswith(expected)
    assert not (tmp_path / "m").exists()


def test_the_options_of_kernels_are_fields_of_the_kernel() -> None:
    declared = {each.name: each for each in fields(Kernel) if each.init}
    for each in fields(KernelOptions):
        if each.name != "kernel":
            default = declared[each.name.removeprefix("kernel_")].default
            assert default is None or each.metadata["if_none"] == f"{default:g}"


@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if issubclass(task, KernelOptions)])
def test_kernels_are_learned_and_applied(name: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_text(TINY[name].data)
    train = ("train", "--task", name, data, "-o", tmp_path / "m", "--loss", "hinge", "-q", "--tol", 0.1)
    done(*train, "--kernel", "polynomial", "--degree", 3, "--kernel-gamma", 0.5, "--coef0", 2)
    model: Any = margrave.load(tmp_path / "m")
    assert model.kernel == Kernel("polynomial", degree=3, gamma=0.5, coef0=2.0)
    assert json.loads(done("evaluate", tmp_path / "m", data, "--json"))[TINY[name].score] == 1.0
    assert "a kernel has coefficients for training inputs" in message(run("inspect", tmp_path / "m", "--top", 3))
    done(*train, "--kernel", "rbf", "--nystroem", 2)
    assert margrave.load(tmp_path / "m").kernel == Kernel("rbf", nystroem=2)

    assert message(run(*train, "--degree", 2)) == "--degree applies to --kernel only, which is not given."
    assert message(run(*train, "--kernel", "rgb")).startswith("unknown --kernel 'rgb'; did you mean 'rbf'?")


def test_an_approximate_certificate_says_so() -> None:
    report = {"primal": 2.0, "dual": 1.0, "gap": 1.0, "relative_gap": 0.5, "stop_reason": "max_iter", "exact": False}
    rows = dict(certificate_rows(report))
    assert (rows["P"], rows["gap"]) == ("2, approximate", "1 (relative 0.5, approximate)")
    rows = dict(certificate_rows({**report, "exact": True}))
    assert (rows["P"], rows["gap"]) == ("2", "1 (relative 0.5)")


def test_a_file_keeps_that_a_certificate_is_approximate(tagged: Path, tmp_path: Path) -> None:
    done("train", tagged, "-o", tmp_path / "m", "-q")
    model: Any = margrave.load(tmp_path / "m")
    assert model.certificate_.exact
    model.certificate_ = replace(model.certificate_, exact=False)  # as if its inference had been approximate
    model.save(tmp_path / "n")
    assert json.loads(done("inspect", tmp_path / "n", "--json"))["exact"] is False
    assert re.search(r"^P +\S+, approximate$", done("inspect", tmp_path / "n"), re.MULTILINE)
    assert "approximate" not in done("inspect", tmp_path / "m")


# ---- registering -----------------------------------------------------------------------------------------------------


def test_two_tasks_of_one_name_are_an_error() -> None:
    with pytest.raises(TypeError, match="the task 'parse' is already Parse"):

        class Other(Task):
            name = "parse"

    assert task_named("parse").__name__ == "Parse"


def test_a_task_is_its_declaration() -> None:
    @dataclass
    class Mine(Task):
        fields = ("tol",)

        size: int = option(3, "How large.", at_least=1)
        files_too: str | None = option(None, "A file.", metavar="FILE")

        def job(self, data: str, dev: str | None) -> Any: ...

        @staticmethod
        def dev_summary(scores: Any) -> str: ...  # type: ignore[empty-body]

        @staticmethod
        def model(path: str, estimator: Any) -> Any: ...

    assert [(each.flag, each.metavar, each.option.default) for each in Mine.options()] == [
        ("--tol", "NUMBER", 1e-4),
        ("--size", "N", 3),
        ("--files-too", "FILE", None),
    ]
    mine = Mine(LearningSettings(tol=0.5), files_too="x")
    assert mine.files() == ["x"] and mine.parameters()["tol"] == 0.5
    assert "Mine" not in {task.__name__ for task in Task.registered.values()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("learner", ["eg", "lbfgs", "bcfw"])
def test_the_number_of_passes_is_what_max_iter_limits(tagged: Path, tmp_path: Path, learner: str, most: int) -> None:
    train = ["train", tagged, "-o", tmp_path / "m", "--learner", learner, "--max-iter", most, "-C", 1000]
    report = json.loads(done(*train, "--json"))
    assert 1 <= report["iterations"] <= most
    assert report["passes"] >= report["iterations"]
    row = re.search(r"^passes +(\d+)(?: \((\S+) effective\))?$", done(*train), re.MULTILINE)
    assert row and int(row[1]) == report["iterations"]
    assert float(row[2] or row[1]) == pytest.approx(report["passes"], rel=1e-5)
    assert row[0] in done("inspect", tmp_path / "m").splitlines()
    assert margrave.load(tmp_path / "m").n_iter_ == report["iterations"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_time_limit_is_an_option(tagged: Path, tmp_path: Path) -> None:
    result = run("train", tagged, "-o", tmp_path / "m", "--max-seconds", 1e-9, "--tol", 0)  # All weights are zero.
    assert result.exit_code == 0
    assert re.search(r"^stopped +reached --max-seconds before converging$", result.stdout, re.MULTILINE)
    assert margrave.load(tmp_path / "m").ended_ == "max_seconds"
    assert message(run("train", tagged, "-o", tmp_path / "n", "--max-seconds", 0)).startswith("--max-seconds must be")
