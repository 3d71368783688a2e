"""The protocol of an experiment, and where to find them all."""

from ast import get_docstring, parse
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from benchmarks import experiments
from benchmarks.freshness import measured_with
from benchmarks.machine import described, write_result

Result = dict[str, Any]


class Experiment(Protocol):
    """A module of benchmarks/experiments; its docstring begins with one line about it."""

    CORPORA: tuple[str, ...]  # the folders of data that it needs
    RESULT: str  # the name of its files in benchmarks/results

    def measure(self) -> Result | Iterator[Result]:
        """Everything that the table and the plot need, as JSON can hold it and small enough to read.

        A long experiment may be a generator of what it has found so far, which is written each time.
        """

    def table(self, result: Result) -> str:
        """The result for a person to read, in Markdown."""

    def plot(self, result: Result) -> Any:
        """The result as a figure of matplotlib, or None."""


def names() -> list[str]:
    """The names of all experiments."""
    return sorted(module.name for module in iter_modules(experiments.__path__))


def experiment(name: str) -> Experiment:
    """The experiment of this name."""
    return cast(Experiment, import_module(f"benchmarks.experiments.{name}"))


def measured(name: str) -> Result:
    """The result of an experiment, and what it ran on; here because a new process cannot import `__main__`."""
    before = {"measured": measured_with(name)}
    found = experiment(name).measure()
    if isinstance(found, dict):
        return described(before | found)
    result: Result = {}
    for so_far in found:
        result = described(before | so_far)
        write_result(experiment(name).RESULT, result | {"finished": False})
    return result


def full_name(name: str) -> str | None:
    """The experiment of this name, or the one whose results have it; None if there is none."""
    every = names()
    return name if name in every else next((each for each in every if name == experiment(each).RESULT), None)


def about(name: str) -> str:
    """The first line of what it says about itself."""
    source = (Path(experiments.__path__[0]) / f"{name}.py").read_text(encoding="utf-8")
    return (get_docstring(parse(source)) or "").split("\n")[0]  # without importing it
