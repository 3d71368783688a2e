"""The lines of each reader that its cases run: `python -m tests.fuzz --coverage 1000`.

The lines are those of the reader and of all functions of its module that it uses, directly or not. What it does in
other modules and in the core is not counted here; `make coverage` counts that.
"""

import ast
import os
import resource
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks.freshness import commit
from benchmarks.machine import RESULTS, described, has_result, read_result, write_result
from benchmarks.tables import markdown
from tests.fuzz.targets import targets
from tests.fuzz.worker import MEMORY

NAME = "reader_coverage"
_UNNAMED = ("__init__", "__post_init__", "__iter__", "__next__", "__enter__", "__exit__", "__call__")

Reached = dict[str, dict[str, Any]]  # by reader: the module, its lines, how many of them were run, and the others


def measure(cases: int) -> Reached:
    """The lines that the first cases of each reader run."""
    os.environ["COVERAGE_CORE"] = "ctrace"  # which knows what ran on behalf of whom
    from coverage import Coverage

    warnings.simplefilter("ignore")
    watch = Coverage(data_file=None, config_file=False, include=["*/margrave/*"])
    with tempfile.TemporaryDirectory(prefix="margrave-fuzz-") as folder:
        os.environ["MARGRAVE_FUZZ_FOLDER"] = folder
        watch.start()
        try:
            found = targets("readers")
            _limit_memory()
            for name, target in found.items():
                watch.switch_context(name)
                for seed in range(cases):
                    target.outcome(target.case(seed))
        finally:
            watch.stop()
    return {name: _lines(watch, name) for name in found}


def _lines(watch: Any, name: str) -> dict[str, Any]:
    from tests.fuzz.readers import function_named

    function = function_named(name)
    file, statements, _, _, _ = watch.analysis2(sys.modules[function.__module__])
    data = watch.get_data()
    data.set_query_context(name)
    used = used_lines(Path(file).read_text(encoding="utf-8"), function.__qualname__) & set(statements)
    run = used & set(data.lines(file) or ())
    return {"module": function.__module__, "lines": len(used), "run": len(run), "others": sorted(used - run)}


def used_lines(source: str, name: str) -> set[int]:
    """The lines of a function or method of a module, and of all that its code names and the module defines."""
    tree = ast.parse(source)
    functions: dict[str, list[Any]] = {}  # by name; methods also by that of their class, if they are called unnamed
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    key = node.name if method.name in _UNNAMED else method.name
                    functions.setdefault(key, []).append(method)
    lines: set[int] = set()
    waiting, seen = [name.rpartition(".")[2]], set[str]()
    while waiting:
        known = waiting.pop()
        if known in seen:
            continue
        seen.add(known)
        for function in functions.get(known, ()):
            lines |= set(range(function.body[0].lineno, function.end_lineno + 1))
            for node in ast.walk(function):
                if isinstance(node, ast.Name):
                    waiting.append(node.id)
                elif isinstance(node, ast.Attribute):
                    waiting.append(node.attr)
    return lines


def _limit_memory() -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))


def write(reached: Reached, cases: int) -> Path:
    """Writes the numbers of lines, with the machine, the versions and the commit."""
    readers = {name: {key: of[key] for key in ("module", "lines", "run")} for name, of in reached.items()}
    write_result(NAME, described({"measured": {"commit": commit()}, "cases": cases, "readers": readers}))
    return RESULTS / f"{NAME}.json"


def shares(readers: Reached) -> str:
    """The share of its lines that each reader has run, in Markdown."""
    rows = [
        [f"`{name}`", f"`{of['module']}`", f"{of['run']} of {of['lines']}", f"{of['run'] / of['lines']:.0%}"]
        for name, of in sorted(readers.items(), key=lambda item: (item[1]["module"], item[0]))
    ]
    return markdown(["reader", "module", "lines run", "share"], rows)


def table() -> str:
    """The shares that were recorded."""
    if not has_result(NAME):
        return "Not measured yet: `python -m tests.fuzz --coverage 1000 --record` does so."
    result = read_result(NAME)
    when = f"{result['machine']['date'][:10]}, commit {result['measured']['commit']}"
    return f"{shares(result['readers'])}\n\n{when}: {result['cases']:,} cases of each reader."
