"""Fits in which one allocation fails, and what comes of it.

The process must have been started with the library of `failing_allocations.cpp` loaded before everything else
(`preloaded`). Every attempt is made in a copy of the process, which may crash or hang.
"""

import ctypes
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from shutil import which
from subprocess import run
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NoReturn

from margrave import MargraveError

_HOOKS = "_testcapi"  # which lets allocations of Python fail; some systems leave it out
NEW, LARGE, PYTHON = "operator new", "4 kB or more", "Python's own"  # the kinds of allocations
KINDS = (NEW, LARGE, *([PYTHON] if find_spec(_HOOKS) else []))
# What can come of it: the fit needs no such memory, it says so in one sentence, or something is wrong.
DONE, SENTENCE = "done", "one sentence"
RAW, DIFFERENT, LOST, CRASH = "another error", "other weights", "not the same afterwards", "crash or hang"
# nanobind, which binds the core, ends the process if Python cannot give it a few bytes for the arguments of a call.
BINDING = "nanobind gave up"
OUTCOMES = (DONE, SENTENCE, BINDING, RAW, DIFFERENT, LOST, CRASH)

_SOURCE = Path(__file__).with_name("failing_allocations.cpp")
_NUMBERS = {NEW: 1, LARGE: 2}  # as in the source
_OF_PYTHON = 20_000  # places among which some are chosen; Python does not count its allocations
_SECONDS = 60  # after which an attempt hangs

Fit = Callable[[], Callable[[], Any]]  # prepares a fit of a new estimator, which gives the estimator


def compiler() -> str | None:
    """The compiler, if there is one."""
    return os.environ.get("CXX") or which("g++") or which("c++")


@contextmanager
def preloaded() -> Iterator[None]:
    """Processes that are started within the block load the library first."""
    with TemporaryDirectory() as folder:
        library = Path(folder, "failing_allocations.so")
        flags = ["-std=c++20", "-O1", "-shared", "-fPIC"]
        run([compiler() or "g++", *flags, str(_SOURCE), "-o", str(library)], check=True)
        before = {name: os.environ.get(name) for name in ("LD_PRELOAD", "FAILING_ALLOCATIONS")}
        os.environ |= {"LD_PRELOAD": str(library), "FAILING_ALLOCATIONS": str(library)}
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


class Failing:
    """Lets one allocation fail. Only in a process that was started within `preloaded`."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ["FAILING_ALLOCATIONS"])
        self._library.fail_allocation.argtypes = [ctypes.c_int, ctypes.c_long]
        self._library.allocations.restype = ctypes.c_long

    def begin(self, kind: str, n: int) -> None:
        """The n-th allocation of this kind fails from now on; none if n is 0."""
        if kind == PYTHON:
            if n:
                import_module(_HOOKS).set_nomemory(n, n + 1)
        else:
            self._library.fail_allocation(_NUMBERS[kind], n)

    def end(self, kind: str) -> int:
        """No allocation fails any more; how many there were."""
        if kind == PYTHON:
            import_module(_HOOKS).remove_mem_hooks()
            return _OF_PYTHON
        found = int(self._library.allocations())
        self._library.fail_allocation(0, 0)
        return found


def outcomes(fit: Fit, kind: str, most: int, random: Random) -> list[tuple[int, str, str]]:
    """Places of allocations that fail, one for each attempt, with what came of each, and a text about it."""
    whole = _weights(fit()())  # Everything is imported now.
    _, _, total = _attempt(fit, whole, kind, 0)
    places = range(1, total + 1) if total <= most else sorted(random.sample(range(1, total + 1), most))
    return [(n, *_attempt(fit, whole, kind, n)[:2]) for n in places]


def _attempt(fit: Fit, whole: bytes, kind: str, n: int) -> tuple[str, str, int]:
    """What comes of a fit whose n-th allocation fails, in a process of its own; and the number of allocations."""
    reading, writing = os.pipe()
    with TemporaryFile() as errors:
        process = os.fork()
        if process == 0:
            os.dup2(errors.fileno(), 2)
            _child(writing, fit, whole, kind, n)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
        _, status = os.waitpid(process, 0)
        errors.seek(0)
        text = errors.read().decode(errors="replace").strip()
    if status or not said:
        return (BINDING if "Critical nanobind error" in text else CRASH), f"{text[-200:]} (status {status})", 0
    outcome, text, total = json.loads(said)
    return outcome, text, total


def _child(writing: int, fit: Fit, whole: bytes, kind: str, n: int) -> NoReturn:
    """One attempt, which is written to the pipe."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_SECONDS)
        os.write(writing, json.dumps(_tried(fit, whole, kind, n)).encode())
    finally:
        os._exit(0)


def _tried(fit: Fit, whole: bytes, kind: str, n: int) -> tuple[str, str, int]:
    failing, prepared = Failing(), fit()
    failing.begin(kind, n)
    try:
        found = prepared()
    except (MargraveError, MemoryError) as error:
        total, text = failing.end(kind), str(error)
        outcome = SENTENCE if text.endswith((".", ")")) and "\n" not in text else RAW
        text = text or type(error).__name__
    except BaseException as error:
        total = failing.end(kind)
        outcome, text = RAW, f"{type(error).__name__}: {error}"
    else:
        total = failing.end(kind)
        outcome, text = (DONE, "") if _weights(found) == whole else (DIFFERENT, "")
    if outcome == SENTENCE and _weights(fit()()) != whole:
        outcome = LOST
    return outcome, text[:200], total


def _weights(model: Any) -> bytes:
    return bytes(model.coef_.tobytes())
