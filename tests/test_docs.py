"""The documentation is true: its Python runs, its links lead somewhere, and the examples in docstrings are right."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

import margrave

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*sorted(ROOT.glob("docs/**/*.md")), *ROOT.glob("README.md")]
LINKING = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
MODULES = ["margrave", *(module.name for module in pkgutil.walk_packages(margrave.__path__, "margrave."))]

_BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FILE = re.compile(r"`([\w/]+\.(?:h|cpp|py))`")  # a file of the repository, by the end of its path
_PATTERN = re.compile(r"(^|/)(x|NAME)\.\w+$")  # how pages call any file, or one that a reader will write


def each(pages: list[Path]) -> pytest.MarkDecorator:
    """Runs a test on each of the pages."""
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.relative_to(ROOT).as_posix())


def python_blocks(text: str) -> Iterator[tuple[int, str]]:
    """The number of the line before each block, and its code; blocks after `<!-- not run -->` are left out."""
    for block in _BLOCK.finditer(text):
        before = text[: block.start()].splitlines()
        if not before or before[-1].strip() != "<!-- not run -->":
            yield len(before) + 1, dedent(block[2])


def anchors(page: Path) -> set[str]:
    """The names by which links find a page's headings."""
    headings = _HEADING.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each(PAGES)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    # A process of its own, as a reader would run it: what a page registers must not be there in other tests.
    lines: list[str] = []
    for line, code in python_blocks(page.read_text(encoding="utf-8")):
        lines += [""] * (line - len(lines)) + code.splitlines()  # the blank lines make tracebacks point right
    if not lines:
        return
    script = tmp_path / f"{page.stem}.py"
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    ran = subprocess.run([sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@each(LINKING)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        if linked.parent.name == "plots":  # which are drawn when the site is built, from the results of the benchmarks
            linked = ROOT / "benchmarks" / "results" / f"{linked.stem}.json"
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


@each(LINKING)
def test_the_files_that_a_page_names_exist(page: Path) -> None:
    folders = ("src", "tests", "benchmarks", "docs", "tools", "examples")
    there = ["/" + path.as_posix() for folder in folders for path in ROOT.joinpath(folder).rglob("*.*")]
    named = _FILE.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))
    looked_for = {"/" + name for name in named if not _PATTERN.search(name)}
    assert not {name for name in looked_for if not any(path.endswith(name) for path in there)}


def test_blocks_are_found_with_their_lines_unless_they_are_not_to_be_run() -> None:
    shown = (
        "```python\na = 1\n```\n\n<!-- not run -->\n```python\nb\n```\n```console\n$ c\n```\n```python\nd = 2\n```\n"
    )
    assert list(python_blocks(shown)) == [(1, "a = 1\n"), (12, "d = 2\n")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_give_what_they_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # examples save models, and the tests run in the folder of the repository
    assert doctest.testmod(importlib.import_module(name)).failed == 0
