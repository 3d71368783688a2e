"""What several test files need from pytest itself."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

_PREAMBLE = """
import faulthandler, os, resource
import numpy as np
from margrave import _core
from margrave.errors import MargraveError
if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which maps all of the address space
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    faulthandler.dump_traceback_later(120, exit=True)  # a guard against hanging, also on a busy machine
"""


# A process that was started in the background of a script ignores Ctrl-C, and one under nohup ignores SIGHUP; so do the
# processes that they start. The tests of these signals would then wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--quick`, which `make check` uses."""
    parser.addoption("--quick", action="store_true", help="run one case of every test, and few examples of properties")


def pytest_configure(config: pytest.Config) -> None:
    """Properties have no deadline; with `--quick`, they are tried on few examples, unless they say on how many."""
    settings.register_profile("untimed", deadline=None)
    settings.register_profile("quick", deadline=None, max_examples=5)
    settings.load_profile("quick" if config.getoption("--quick") else "untimed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--quick`, only the first case of every test runs."""
    if config.getoption("--quick"):
        first: dict[str, pytest.Item] = {}
        others = []
        for item in items:
            if first.setdefault(item.nodeid.partition("[")[0], item) is not item:
                others.append(item)
        config.hook.pytest_deselected(items=others)
        items[:] = first.values()


def pytest_collection_finish() -> None:
    """The thousands of tests that are collected stay to the end, so the garbage collector need not visit them."""
    gc.freeze()


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Writes text or bytes to a file and gives its path."""

    def write(content: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property, each of which overwrites the last."""
    return tmp_path_factory.mktemp("properties")


@pytest.fixture
def child() -> Callable[[str], str]:
    """Runs a script in a process of its own that may crash, hang or swallow memory; what the script prints."""

    def run(script: str) -> str:
        here = os.path.dirname(os.path.dirname(__file__))
        path = os.pathsep.join([here, *filter(None, sys.path)])
        done = subprocess.run(
            [sys.executable, "-c", _PREAMBLE + script],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert done.returncode == 0, f"the child ended with {done.returncode}: {done.stderr[-500:]}"
        return done.stdout

    return run
