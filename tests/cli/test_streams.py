"""Every byte that a command prints is written, or the command fails in one sentence."""

import io
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from margrave import SequenceTagger
from margrave.cli.streams import StandardOutput
from margrave.datasets import write_columns
from tests.references.commands import run

COMMAND = [sys.executable, "-m", "margrave"]
SENTENCES = [[(f"word{k}", "N", "B-X"), ("the", "D", "O")] for k in range(300)]
NO_SPACE = "margrave: <stdout>: no space left on device.\n"
TOO_LARGE = "margrave: <stdout>: file too large.\n"
CLOSED = "margrave: <stdout>: it is closed.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its data."""
    path = tmp_path_factory.mktemp("streams")
    write_columns(path / "train.conll", SENTENCES)
    assert run("train", path / "train.conll", "-o", path / "a.margrave", "--tol", "0.01").exit_code == 0
    return path


COMMANDS: dict[str, Callable[[Path], Sequence[object]]] = {
    "version": lambda path: ["--version"],
    "help": lambda path: ["--help"],
    "help of a command": lambda path: ["train", "--help"],
    "predict": lambda path: ["predict", path / "a.margrave", path / "train.conll"],
    "evaluate": lambda path: ["evaluate", path / "a.margrave", path / "train.conll"],
    "inspect": lambda path: ["inspect", path / "a.margrave"],
}


def finished(
    arguments: Sequence[object], stdout: int | None, *, unbuffered: bool = True, most: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """A command with this standard output, None if it is closed, whose files take at most so many bytes."""

    def prepare() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        if stdout is None:
            os.close(1)

    more = {"PYTHONUNBUFFERED": "1"} if unbuffered else {}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | more
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=prepare,
        check=False,
    )


def whole(arguments: Sequence[object]) -> bytes:
    return subprocess.run([*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_fills_half_way_is_one_sentence(name: str, folder: Path, tmp_path: Path) -> None:
    arguments = COMMANDS[name](folder)
    printed = whole(arguments)
    for unbuffered in (False, True):
        path = tmp_path / f"out-{unbuffered}"
        with path.open("wb") as file:
            done = finished(arguments, file.fileno(), unbuffered=unbuffered, most=len(printed) // 2)
        assert (done.returncode, done.stderr) == (2, TOO_LARGE)
        assert path.read_bytes() == printed[: len(printed) // 2]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_sentence(name: str, folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = finished(COMMANDS[name](folder), full.fileno())
    assert (done.returncode, done.stderr) == (2, NO_SPACE)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_report_of_training_that_cannot_be_printed_is_one_sentence_and_the_model_is_saved(
    folder: Path, tmp_path: Path
) -> None:
    model = tmp_path / "b.margrave"
    with open("/dev/full", "wb") as full:
        done = finished(["train", folder / "train.conll", "-o", model, "--tol", "0.01"], full.fileno())
    assert (done.returncode, done.stderr) == (2, NO_SPACE)
    assert SequenceTagger.load(model).predict([[("the", "D")]])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_closed_standard_output_is_one_sentence(name: str, folder: Path) -> None:
    done = finished(COMMANDS[name](folder), None)
    assert (done.returncode, done.stderr) == (2, CLOSED)


def test_a_closed_standard_output_does_not_matter_to_a_command_that_prints_nothing(
    folder: Path, tmp_path: Path
) -> None:
    arguments = COMMANDS["predict"](folder)
    done = finished([*arguments, "-o", tmp_path / "out"], None)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out").read_bytes() == whole(arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_without_a_reader_ends_a_command_silently_but_not_well(name: str, folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = finished(COMMANDS[name](folder), writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_standard_error_adds_nothing_to_what_is_printed(folder: Path) -> None:
    """Python's print writes to standard output where standard error is closed."""
    arguments = [*map(str, COMMANDS["predict"](folder))]
    shell = 'exec "$@" 2>&-'
    done = subprocess.run(["sh", "-c", shell, "sh", *COMMAND, *arguments], stdout=subprocess.PIPE, check=True)
    assert done.stdout == whole(arguments)
    done = subprocess.run(["sh", "-c", shell, "sh", *COMMAND, "predict", "none", "-"], stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_closed_standard_input_is_one_sentence(folder: Path) -> None:
    for command in ("predict", "evaluate"):
        arguments = [*COMMAND, command, str(folder / "a.margrave"), "-"]
        done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "margrave: <stdin>: cannot be read: it is closed.\n"


class Hesitant(StandardOutput):
    """Takes fewer bytes than it is given."""

    def write(self, data: bytes) -> int:
        return super().write(bytes(data)[:7])


def test_writes_that_take_only_some_bytes_are_repeated(tmp_path: Path) -> None:
    text = "".join(f"line {k}\n" for k in range(5000))
    with (tmp_path / "out").open("wb") as file:
        with io.TextIOWrapper(io.BufferedWriter(Hesitant(file.fileno())), "utf-8") as stream:
            stream.write(text)
    assert (tmp_path / "out").read_text() == text
