"""Records of test runs hold what pytest, coverage.py and gcovr report, and the page has a table of each."""

import json
from pathlib import Path

import pytest

from benchmarks import machine
from tests import records

REPORT = """<?xml version="1.0"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="0" failures="1" skipped="2" tests="12" time="3.5">
<testcase classname="a" name="b" time="0.1"/></testsuite></testsuites>"""


@pytest.fixture(autouse=True)
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    path = tmp_path / "tests.xml"
    path.write_text(REPORT)
    return path


def cells(table: str) -> list[list[str]]:
    """The cells of a table in Markdown, below its head."""
    rows = [row for row in table.splitlines() if row.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_the_lines_of_python_and_core_are_recorded(report: Path) -> None:
    assert "make coverage" in records.coverage_table()
    python, core = report.with_name("python.json"), report.with_name("core.json")
    python.write_text(json.dumps({"totals": {"num_statements": 2000, "covered_lines": 1900}}))
    core.write_text(json.dumps({"line_total": 400, "line_covered": 300, "files": []}))
    records.main(["coverage", str(report), str(python), str(core)])
    table = records.coverage_table()
    assert cells(table) == [["Python", "2,000", "1,900", "95.0%"], ["core", "400", "300", "75.0%"]]
    assert table.endswith(": 12 tests, 1 failures, 2 skipped.")


def test_a_run_under_one_sanitizer_keeps_the_record_of_another(report: Path) -> None:
    assert "make test-asan" in records.sanitizers_table()
    records.main(["sanitizers", "address", str(report)])
    report.write_text(REPORT.replace('failures="1"', 'failures="0"'))
    records.main(["sanitizers", "thread", str(report)])
    records.main(["sanitizers", "address", str(report)])
    rows = cells(records.sanitizers_table())
    assert [row[:4] for row in rows] == [["address", "12", "2", "0"], ["thread", "12", "2", "0"]]


def test_other_arguments_are_refused() -> None:
    with pytest.raises(SystemExit, match="Records of whole runs"):
        records.main(["coverage"])
