"""Command lines: all commands, tasks and options, from the parsers, with changed data, models, values and streams.

A command ends with code 0, or with 1 or 2 and one line `margrave: ...`. What it writes must arrive, however little of
it each call to the system takes: if the output fails, so does the command.
"""

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from margrave.cli import app, evaluate, inspect, predict, train
from margrave.cli.options import CommandOption, Parameters
from margrave.cli.streams import INTERRUPTED
from margrave.cli.tasks import TASKS
from margrave.learners import LEARNERS
from margrave.losses import loss_names
from tests.cli.test_tasks import TINY
from tests.fuzz.files import contents, edits
from tests.fuzz.readers import SAMPLES, scratch
from tests.fuzz.targets import Case, RefusedError, Target, WrongError
from tests.fuzz.texts import NUMBERS, WORDS, as_bytes, as_json, changed

_FILES = ["data", "bare", "model", "missing", ".", "data/x", "-", "/dev/null", "extra", "extra2", ""]
_OUTPUTS = ["out", "out", "out.gz", "-", "data", ".", "missing/out", "/dev/full", "/dev/null", "out.png", "out.svg"]
_LISTS = {"--loss": lambda: list(loss_names()), "--learner": lambda: list(LEARNERS), "--task": lambda: list(TASKS)}
_REPEATED = {"--starts", "--max-iter", "--max-seconds", "--threads", "--rounds", "--seed"}
_SMALL = ["0", "1", "2", "-1", "nan", "a", "1.5", "", "none", "9" * 30]
_ROOM = [0, 1, 7, 40, 100]  # bytes that a full disk still takes


def targets() -> list[Target]:
    """The command line by itself, and all commands with the models of each task."""
    return [Target("commands", "general", _make_general, _run)] + [
        Target("commands", name, partial(_make, name), _run) for name in TASKS if name in TINY
    ]


# ---- cases -----------------------------------------------------------------------------------------------------------


@cache
def _parameters(command: str, task: str) -> Parameters:
    if command == "train":
        return train.parameters(TASKS[task])
    return {"predict": predict, "evaluate": evaluate, "inspect": inspect}[command].parameters()


@cache
def small_model(task: str) -> bytes:
    """A model of a task, trained on its tiny data."""
    folder = scratch() / "model-folder"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tiny = TINY[task]
    (folder / tiny.name).write_text(tiny.data)
    ended = _ended(["train", "--task", task, tiny.name, "-o", "m", "-q", *tiny.options], folder, b"", None)
    if ended.code != 0:
        raise LookupError(f"the tiny data of {task} cannot be learned: {ended.error}")
    return (folder / "m").read_bytes()


@cache
def _parts(task: str) -> tuple[Any, Any]:
    from margrave.files import model as model_file

    path = scratch() / "parts"
    path.write_bytes(small_model(task))
    return model_file.read(path)


def _value(rng: Random, option: CommandOption) -> str:
    if option.flag in ("--output", "-o"):
        return rng.choice(_OUTPUTS)
    if option.metavar == "FILE" or option.metavar == "MODEL":
        return rng.choice([*_FILES, *_OUTPUTS])
    if option.flag in _LISTS and rng.random() < 0.7:
        return rng.choice(_LISTS[option.flag]())
    if option.flag in _REPEATED:
        return rng.choice(_SMALL)
    choices = [str(choice) for choice in option.option.choices]
    kinds = option.option.kinds
    usual = (
        ["1", "2", "3", "10"]
        if int in kinds
        else ["0.5", "1", "2.5", "1e-3"]
        if float in kinds
        else ["a", "none", "auto"]
    )
    of_kind = [*choices * 4, *usual * 3, *_SMALL]
    text = rng.choice([*of_kind, rng.choice(NUMBERS), rng.choice(WORDS)])
    return text.replace("/", "")


def _options(rng: Random, command: str, task: str) -> list[str]:
    parameters = _parameters(command, task)
    found = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        option = rng.choice([*parameters.options, *parameters.hidden] if rng.random() < 0.1 else parameters.options)
        if option.is_switch:
            found.append(option.flag)
        elif rng.random() < 0.02:
            found.append(option.flag)  # without its value
        else:
            value = _value(rng, option)
            found += [f"{option.flag}={value}"] if rng.random() < 0.3 else [option.flag, value]
    return found


def _data(rng: Random, task: str) -> str:
    tiny = TINY[task]
    samples = [tiny.data.encode(), tiny.bare.encode()]
    if rng.random() < 0.4:
        return as_json(rng.choice([samples[0], samples[0], samples[1]]))
    return as_json(changed(rng, samples, [text.encode() for texts in SAMPLES.values() for text in texts]))


def _make(task: str, rng: Random) -> Case:
    command = rng.choice(["train"] * 2 + ["predict"] * 3 + ["evaluate"] * 2 + ["inspect"])
    name = "-" if rng.random() < 0.1 else TINY[task].name
    case: Case = {"task": task, "files": {"data": _data(rng, task)}, "stdin": name == "-"}
    if command == "train":
        start = ["train", "--task", task, name, "-o", "out", *TINY[task].options]
        if rng.random() < 0.5:
            start += ["--max-iter", "3"]
    else:
        start = [command, "model", *([] if command == "inspect" else [name])]
        case["edits"] = edits(rng, *_parts(task), 0.6) if rng.random() < 0.15 else []
    case["arguments"] = [*start, *_options(rng, command, task)]
    if "extra" in case["arguments"]:
        case["files"]["extra"] = as_json(changed(rng, [b"a\nb\n", b"0[0]\n"], [TINY[task].data.encode()]))
    if rng.random() < 0.25:
        case["room"] = rng.choice([*_ROOM, None])  # None: all that is written, a few bytes at a time
    return case


def _make_general(rng: Random) -> Case:
    task = rng.choice(sorted(set(TASKS) & set(TINY)))
    words = [
        rng.choice([*WORDS, *_FILES, *_SMALL, "train", "predict", "evaluate", "inspect", "--help", "-h", "--version"])
    ]
    flags = [
        option.flag
        for name in ("train", "predict", "evaluate", "inspect")
        for option in _parameters(name, task).options
    ]
    for _ in range(rng.randrange(5)):
        words.append(
            rng.choice(
                [*WORDS, *_FILES, *_SMALL, *flags, *flags, "--", "--help", "-", "--no-such", "-qq", "--task=" + task]
            )
        )
    if rng.random() < 0.7:
        words.insert(0, rng.choice(["train", "predict", "evaluate", "inspect"]))
    return {
        "task": task,
        "files": {"data": _data(rng, task)},
        "stdin": False,
        "edits": [],
        "arguments": [w.replace("..", "") for w in words],
    }


# ---- one command -----------------------------------------------------------------------------------------------------


class Ended:
    """How a command ended."""

    def __init__(self, code: int, output: bytes, error: str) -> None:
        self.code, self.output, self.error = code, output, error


class _Pipe(io.RawIOBase):
    """An output that takes few bytes at a time, and after some bytes none any more, like a disk that is full."""

    def __init__(self, room: int | None) -> None:
        self.taken = bytearray()
        self.room = room
        self.refused = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        raise io.UnsupportedOperation("no file")

    def write(self, data: Any) -> int:
        left = len(data) if self.room is None else max(0, self.room - len(self.taken))
        if data and not left:
            self.refused = True
            raise OSError(28, os.strerror(28))
        piece = bytes(data)[: min(left, 13)]
        self.taken += piece
        return len(piece)


@contextmanager
def _streams(stdin: bytes, output: Any) -> Iterator[io.StringIO]:
    before = sys.stdin, sys.stdout, sys.stderr
    error = io.StringIO()
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin)), output, error
    try:
        yield error
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _ended(arguments: Sequence[str], folder: Path, stdin: bytes, raw: _Pipe | None) -> Ended:
    """Runs a command in a folder; exceptions that it does not turn into a message are the caller's."""
    taken = io.BytesIO()
    # As `open_standard_streams` sets it up: a raw write may take a part of the bytes, and a buffer repeats it.
    output = io.TextIOWrapper(taken if raw is None else io.BufferedWriter(raw), "utf-8", "surrogateescape")
    code = 0
    here = os.getcwd()
    os.chdir(folder)
    try:
        with _streams(stdin, output) as error:
            try:
                app(list(arguments), prog_name="margrave")
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            return Ended(code, bytes(raw.taken) if raw else taken.getvalue(), error.getvalue())
    finally:
        os.chdir(here)
        if raw is not None:
            raw.room = None
        with suppress(OSError, ValueError):
            output.detach()


def _prepared(case: Case) -> tuple[Path, bytes]:
    """The folder of a command with its files, and its standard input."""
    folder = scratch() / "command"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    data = as_bytes(case["files"].get("data", ""))
    for name in {"data", TINY[case["task"]].name}:
        (folder / name).write_bytes(data)
    for name, text in case["files"].items():
        (folder / name).write_bytes(as_bytes(text))
    (folder / "bare").write_text(TINY[case["task"]].bare)
    model = contents(*_parts(case["task"]), case["edits"]) if case.get("edits") else small_model(case["task"])
    (folder / "model").write_bytes(model)
    return folder, data if case["stdin"] else b""


def _run(case: Case, passed: Callable[[str], None]) -> None:
    folder, stdin = _prepared(case)
    ended = _ended(case["arguments"], folder, stdin, None)
    _check(ended)
    left = sorted(path.name for path in folder.iterdir() if path.name.startswith(".") or path.name.endswith(".tmp"))
    if left:
        raise WrongError(f"a temporary file is left: {left}")
    if ended.code == 0 and ended.output and "room" in case:
        folder, stdin = _prepared(case)
        raw = _Pipe(case["room"])
        again = _ended(case["arguments"], folder, stdin, raw)
        # Reports have times, of which one may have fewer digits.
        if again.code == 0 and len(again.output) + (0 if raw.refused else 64) < len(ended.output):
            raise WrongError(f"output is lost: code 0, and {len(again.output)} of {len(ended.output)} bytes written")
        if again.code not in (0, 1, 2) or "Traceback" in again.error:
            raise WrongError(f"a full disk: code {again.code}, {again.error[-300:]!r}")
        if raw.refused and again.code == 0:
            raise WrongError(f"output is lost: the output was refused, and the code is 0; {again.error!r}")
    if ended.code == 0:
        passed("read")
    else:
        raise RefusedError(ended.error.strip().splitlines()[-1] if ended.error.strip() else "")


def _check(ended: Ended) -> None:
    """Refuses what is neither an answer nor a refusal in one line."""
    if "Traceback" in ended.error:
        raise WrongError(f"a traceback: {ended.error[-500:]!r}")
    said = [line for line in ended.error.split("\n") if line]
    warned = [line for line in said if line.startswith("margrave: warning: ")]
    rest = [line for line in said if line not in warned]
    if ended.code == 0:
        if rest:
            raise WrongError(f"code 0, and on standard error: {ended.error[:500]!r}")
        return
    if ended.code not in (1, 2, INTERRUPTED):
        raise WrongError(f"an exit code that is not documented: {ended.code}")
    help_shown = ended.output.startswith(b"Usage: ") or ended.error.startswith("Usage: ")
    if not help_shown and (len(rest) != 1 or not rest[0].startswith("margrave: ")):
        raise WrongError(f"not one line: code {ended.code}, {ended.error[:500]!r}")
