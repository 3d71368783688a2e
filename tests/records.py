"""Records of whole runs of the tests, beside those of the benchmarks, for docs/reliability.md.

`python -m tests.records coverage TESTS PYTHON CORE` and `python -m tests.records sanitizers NAME TESTS` write
benchmarks/results/coverage.json and sanitizers.json, from what pytest (--junitxml), coverage.py (JSON) and gcovr
(--json-summary) report. `make coverage`, `make test-asan` and `make test-tsan` end with them, so there is a record only
of a run in which all tests passed.
"""

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks.freshness import commit
from benchmarks.machine import describe, described, has_result, read_result, write_result
from benchmarks.tables import markdown

Result = dict[str, Any]

COVERAGE, SANITIZERS = "coverage", "sanitizers"
_COUNTS = ("tests", "skipped", "failures", "errors")


def main(arguments: list[str]) -> None:
    """Writes the record that the first argument names."""
    match arguments:
        case ["coverage", tests, python, core]:
            write_coverage(Path(tests), Path(python), Path(core))
        case ["sanitizers", name, tests]:
            write_sanitizers(name, Path(tests))
        case _:
            raise SystemExit(__doc__)


def write_coverage(tests: Path, python: Path, core: Path) -> None:
    """Writes how many lines of the Python code and of the core a run of the tests has reached."""
    totals = _read(python)["totals"]
    of_core = _read(core)
    lines = {
        "Python": {"lines": totals["num_statements"], "run": totals["covered_lines"]},
        "core": {"lines": of_core["line_total"], "run": of_core["line_covered"]},
    }
    write_result(COVERAGE, described({"measured": {"commit": commit()}, "tests": counts(tests), "lines": lines}))


def write_sanitizers(name: str, tests: Path) -> None:
    """Writes how many tests have passed under some sanitizers; the runs under others stay in the record.

    Parameters
    ----------
    name : the sanitizers.
    tests : the report of pytest.
    """
    runs = read_result(SANITIZERS)["runs"] if has_result(SANITIZERS) else {}
    machine = describe()
    runs[name] = {"tests": counts(tests), "commit": commit(), "cpu": machine["cpu"], "date": machine["date"]}
    write_result(SANITIZERS, described({"runs": runs}))


def counts(report: Path) -> Result:
    """The numbers of tests in a report of pytest, and the seconds."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    found: Result = {name: sum(int(suite.get(name, 0)) for suite in suites) for name in _COUNTS}
    return found | {"seconds": sum(float(suite.get("time", 0.0)) for suite in suites)}


def coverage_table() -> str:
    """The share of lines that the tests run, in Markdown."""
    if not has_result(COVERAGE):
        return "Not measured yet: `make coverage` does so."
    result = read_result(COVERAGE)
    rows = [
        [name, f"{of['lines']:,}", f"{of['run']:,}", f"{of['run'] / of['lines']:.1%}"]
        for name, of in result["lines"].items()
    ]
    tests = result["tests"]
    when = f"{result['machine']['date'][:10]}, commit {result['measured']['commit']}"
    said = f"{when}: {tests['tests']:,} tests, {_failed(tests)} failures, {tests['skipped']} skipped."
    return f"{markdown(['code', 'lines', 'run by the tests', 'share'], rows)}\n\n{said}"


def sanitizers_table() -> str:
    """The tests that were run under sanitizers, in Markdown."""
    if not has_result(SANITIZERS):
        return "Not recorded yet: `make test-asan` and `make test-tsan` do so."
    rows = [
        [
            name,
            f"{run['tests']['tests']:,}",
            f"{run['tests']['skipped']:,}",
            f"{_failed(run['tests'])}",
            run["date"][:10],
            str(run["commit"]),
        ]
        for name, run in read_result(SANITIZERS)["runs"].items()
    ]
    return markdown(["sanitizers", "tests", "skipped", "failures", "date", "commit"], rows)


def _failed(tests: Result) -> int:
    failed: int = tests["failures"] + tests["errors"]
    return failed


def _read(path: Path) -> Result:
    found: Result = json.loads(path.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
