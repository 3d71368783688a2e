"""Stages of long experiments, whose values are kept until the experiment is complete.

A run that is interrupted goes on behind its last stage. Values are kept beside the results, in files that are not part
of any record. They count only for the same sources, and are forgotten once the result is written.
"""

import os
import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import TypeVar

from benchmarks import machine
from benchmarks.experiment import full_name
from benchmarks.freshness import measured_with

T = TypeVar("T")


class Stages:
    """The stages of an experiment by name."""

    def __init__(self, name: str) -> None:
        self._folder = _folder(name)
        self._sources = measured_with(full_name(name) or name)["sources"]

    def measure(self, stage: str, measured: Callable[[], T]) -> T:
        """The value of a stage, which is measured unless an interrupted run has done so with these sources."""
        path = self._folder / f"{sha256(stage.encode()).hexdigest()[:16]}.pickle"
        if self._sources is not None and path.exists():
            sources, value = pickle.loads(path.read_bytes())
            if sources == self._sources:
                print(f"  {stage} was measured before the interruption", flush=True)
                return value
        value = measured()
        if self._sources is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(pickle.dumps((self._sources, value)))
            os.replace(temporary, path)
        return value


def forget(name: str) -> None:
    """Removes what is kept of an experiment, since its result is written."""
    rmtree(_folder(name), ignore_errors=True)


def _folder(name: str) -> Path:
    return machine.RESULTS / f".{name}.unfinished"
