"""Records know the code they were measured with: fingerprints of made-up sources, and pieces measured again."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from benchmarks import machine, pieces
from benchmarks.freshness import EVERYTHING, UNFINISHED, outdated
from benchmarks.pieces import Pieces
from benchmarks.sources import fingerprint, python_sources

FILES = {
    "benchmarks/__init__.py": "",
    "benchmarks/table.py": '''
        """A table."""
        from benchmarks import corpus
        import library.model as model

        def measure():
            """Everything."""
            import library.late
            return run(["-m", "library", "train"])  # by the command line
        ''',
    "benchmarks/corpus.py": "WORDS = 10",
    "benchmarks/other.py": "import benchmarks.table",
    "src/library/__init__.py": 'HOMES = {"Learner": "library.learner", "Task": "library.task:Task"}',
    "src/library/__main__.py": "import library.cli",
    "src/library/cli.py": "",
    "src/library/model.py": "from library.parts import chain",
    "src/library/parts/__init__.py": "",
    "src/library/parts/chain.py": "ORDER = 1",
    "src/library/parts/tree.py": "",
    "src/library/late.py": "",
    "src/library/learner.py": "",
    "src/library/task.py": "",
    "src/library/unused.py": "",
    "src/library/_core/chain.h": "int order = 1;  // of a chain\n",
    "src/library/_core/chain.cpp": 'const char* url = "http://";\n',
    "src/library/_core/notes.txt": "",
}
UNUSED = {"benchmarks/other.py", "src/library/parts/tree.py", "src/library/unused.py", "src/library/_core/notes.txt"}
PYTHON = [name for name in FILES if name.endswith(".py")]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = text.split("\n        ")
        path.write_text("\n".join(lines).lstrip("\n") + "\n", encoding="utf-8")
    return tmp_path / "here"


def of(folder: Path) -> str:
    return fingerprint("benchmarks.table", (folder, folder / "src"), folder / "src" / "library" / "_core")


def test_the_sources_are_all_that_a_module_imports_wherever_it_does(sources: Path) -> None:
    found = python_sources("benchmarks.table", (sources, sources / "src"))
    assert {path.relative_to(sources).as_posix() for path in found} == set(PYTHON) - UNUSED


@pytest.mark.parametrize("name", FILES)
def test_the_fingerprint_changes_with_the_code_of_a_source_and_of_no_other_file(sources: Path, name: str) -> None:
    before, path = of(sources), sources / name
    path.write_text(path.read_text(encoding="utf-8") + "\nADDED = 1\n", encoding="utf-8")
    assert (of(sources) == before) == (name in UNUSED)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("benchmarks/table.py", "# by the command line", "# more"),
        ("benchmarks/table.py", '"""A table."""', '"""A table of\n\nresults."""'),
        ("benchmarks/table.py", '    """Everything."""\n', ""),
        ("benchmarks/corpus.py", "WORDS", "# words\n\nWORDS"),
        ("src/library/_core/chain.h", "// of a chain", "/* of chains\n and others */"),
        ("src/library/_core/chain.h", "  // of a chain", ""),
    ],
)
def test_comments_docstrings_and_blank_lines_do_not_count(sources: Path, name: str, old: str, new: str) -> None:
    before, path = of(sources), sources / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert of(sources) == before


def test_what_looks_like_a_comment_in_a_string_counts(sources: Path) -> None:
    before, path = of(sources), sources / "src/library/_core/chain.cpp"
    path.write_text(path.read_text(encoding="utf-8").replace("http://", "http://x"), encoding="utf-8")
    assert of(sources) != before


def test_the_fingerprint_does_not_depend_on_the_place_of_the_sources_but_on_their_names(sources: Path) -> None:
    before = of(sources)
    assert of(copytree(sources, sources.parent / "there")) == before
    (sources / "src/library/_core/chain.h").rename(sources / "src/library/_core/chains.h")
    assert of(sources) != before


def test_a_result_is_outdated_unless_it_was_measured_with_these_sources() -> None:
    assert outdated({"rows": []}, "new") == [EVERYTHING]  # a record from before records had fingerprints
    assert outdated({"measured": {"sources": "old"}}, "new") == [EVERYTHING]
    assert outdated({"measured": {"sources": None}}, "new") == [EVERYTHING]
    assert outdated({"measured": {"sources": "new"}}, "new") == []
    assert outdated({"measured": {"sources": "new"}, "finished": False}, "new") == [UNFINISHED]
    by_piece = {"pieces": {"a": 1, "b": 2, "c": 3}, "measured": {"a": {"sources": "new"}, "b": {"sources": "old"}}}
    assert outdated(by_piece, "new") == ["b", "c"]
    assert outdated(by_piece | {"finished": False}, "new") == ["b", "c", UNFINISHED]


class InterruptedRunError(Exception):
    """What stops a run."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Measures the pieces a, b and c with the sources of this name, and gives those that were measured."""
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    monkeypatch.setattr(pieces, "full_name", lambda name: name)

    def measured(sources: str, wanted: str = "", *, until: str = "") -> list[str]:
        monkeypatch.setenv("MARGRAVE_PIECES", wanted)
        monkeypatch.setattr(pieces, "measured_with", lambda name: {"commit": "0", "sources": sources})
        done: list[str] = []

        def one(piece: str) -> str:
            if piece == until:
                raise InterruptedRunError
            done.append(piece)
            return f"{piece} of {sources}"

        def every() -> Iterator[Any]:
            found = Pieces("made-up")
            for piece in "abc":
                yield from found.measure(piece, lambda piece=piece: one(piece))  # type: ignore[misc]

        try:
            for result in every():
                machine.write_result("made-up", result)
        except InterruptedRunError:
            pass
        return done

    return measured


def record(folder: Path) -> Any:
    return json.loads((folder / "made-up.json").read_text(encoding="utf-8"))


def test_an_update_measures_what_is_outdated_and_goes_on_after_an_interruption(
    run: Callable[..., list[str]], tmp_path: Path
) -> None:
    assert run("old") == ["a", "b", "c"]
    assert outdated(record(tmp_path), "old") == []
    assert outdated(record(tmp_path), "new") == ["a", "b", "c"]
    assert run("new", "outdated", until="b") == ["a"]
    assert record(tmp_path)["pieces"] == {"a": "a of new", "b": "b of old", "c": "c of old"}
    assert outdated(record(tmp_path), "new") == ["b", "c"]
    assert run("new", "outdated") == ["b", "c"]
    assert run("new", "outdated") == []
    assert outdated(record(tmp_path), "new") == []


def test_pieces_that_are_named_are_measured_and_a_record_without_the_others_is_unfinished(
    run: Callable[..., list[str]], tmp_path: Path
) -> None:
    assert run("new", "b") == ["b"]
    assert outdated(record(tmp_path), "new") == [UNFINISHED]
    assert run("new", "outdated") == ["a", "c"]
    assert outdated(record(tmp_path), "new") == []
    assert run("new", "b") == ["b"]
    assert run("new") == ["a", "b", "c"]
