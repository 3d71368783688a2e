"""The examples run, and show what they promise."""

import re
import runpy
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

WORDS = ["Ada", "Wren", "left", "Marle", "."]
GOLD = ["B-PER", "I-PER", "O", "B-LOC", "O"]
FOUND = ["B-PER", "I-PER", "O", "B-ORG", "O"]


def printed_sentences(console: Console) -> str:
    """What the demo prints of a sentence in which one of two entities is wrong."""
    assert isinstance(console.file, StringIO)
    demo: dict[str, Any] = runpy.run_path(str(EXAMPLES / "town_entities.py"))
    demo["show_sentences"](console, [WORDS], [GOLD], [FOUND])
    return console.file.getvalue()


def test_the_demo_shows_sentences_scores_weights_and_the_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    runpy.run_path(str(EXAMPLES / "town_entities.py"), run_name="__main__")
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err  # neither is a terminal
    assert re.search(r"Test sentences: \d+ of 119 have an error", out)
    assert re.search(r"\[[A-Z]\w+( \w+)* (PER|LOC|ORG|MISC)\]✗", out)
    for kind, gold in {"LOC": 53, "MISC": 28, "ORG": 38, "PER": 57, "all": 176}.items():
        assert re.search(rf"^ +{kind} +{gold}( +[\d.]+){{5}} *$", out, re.MULTILINE), kind
        assert kind == "all" or re.search(rf"^B-{kind} +\S+=\S+ \+\d", out, re.MULTILINE), kind
    assert re.search(r"^pairs +B-\w+ I-\w+ \+", out, re.MULTILINE)

    def number(name: str) -> float:
        found = re.search(rf"^{re.escape(name)} +(-?[\d.]+)", out, re.MULTILINE)
        assert found, name
        return float(found[1])

    assert 75 < number("test F1") < 95
    assert 0 < number("gap P - D") < 1e-3
    assert number("primal P") - number("dual D") == pytest.approx(number("gap P - D"), abs=2e-6)
    assert re.search(r"improve the objective by more than 0\.000\d %", out)
    assert (tmp_path / "demo" / "learning-curve.png").read_bytes().startswith(b"\x89PNG")
    lines = err.splitlines()  # of verbose=True where there is no terminal
    assert len(lines) >= 2 and all(line.startswith("lbfgs: pass ") for line in lines)


def test_entities_are_in_brackets_where_there_are_no_colors() -> None:
    for more in ({}, {"force_terminal": True, "color_system": "truecolor", "no_color": True}):
        text = printed_sentences(Console(file=StringIO(), width=120, **more))  # type: ignore[arg-type]
        plain = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert "[Ada Wren PER] left [Marle LOC]✗ ." in plain and "[Ada Wren PER] left [Marle ORG]✗ ." in plain
        assert not re.search(r"\x1b\[[\d;]*3\d", text)


def test_entities_have_the_colors_of_their_types_on_a_terminal() -> None:
    text = printed_sentences(
        Console(file=StringIO(), width=120, force_terminal=True, color_system="standard", no_color=False)
    )
    assert "\x1b[1;36mAda Wren\x1b[0m" in text  # PER, right
    assert "\x1b[1;4;32mMarle\x1b[0m" in text and "\x1b[1;4;35mMarle\x1b[0m" in text  # LOC and ORG, underlined
    assert "[Marle" not in re.sub(r"\x1b\[[\d;]*m", "", text)


def test_the_reranking_example_finds_what_the_diner_likes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "rerank.py"), run_name="__main__")
    out = capsys.readouterr().out
    good = {name.strip(): float(share) for name, share in re.findall(r"^  (.+?) +([\d.]+)%", out, re.MULTILINE)}
    for learned in ("log loss", "hinge loss", "linear program"):
        assert good[learned] > good["the nearest"] + 20
    assert (tmp_path / "demo" / "taste.png").read_bytes().startswith(b"\x89PNG")


def test_the_example_about_maps_shows_that_neighbors_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "label_map.py"), run_name="__main__")
    alone, beside = (float(share) for share in re.findall(r"([\d.]+)%$", capsys.readouterr().out, re.MULTILINE))
    assert beside > alone + 10
    assert (tmp_path / "demo" / "map.png").read_bytes().startswith(b"\x89PNG")


def test_words_are_split_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "split_words.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert re.search(r"^bellroom +bell room +[01]\.\d\d$", out, re.MULTILINE)
    assert re.search(r"^ropesale +rope sale ", out, re.MULTILINE)
    assert re.search(r"^salesbell +sales? bell ", out, re.MULTILINE)
    assert "objectives of 3 starts" in out
    assert (tmp_path / "demo" / "lattice.png").read_bytes().startswith(b"\x89PNG")


def test_an_invented_language_is_translated_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "translate.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "-> the small gull sees a old boat" in out
    assert re.search(r"-> a harbor sees the .*gunta", out)
    assert "unknown words: 1" in out
    assert (tmp_path / "demo" / "translation.png").read_bytes().startswith(b"\x89PNG")


def test_the_example_about_alignments_shows_that_learned_scores_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "align_dialects.py"), run_name="__main__")
    equal, counted, learned = (float(f1) for f1 in re.findall(r"F1 ([\d.]+) %", capsys.readouterr().out))
    assert learned > counted + 2 > equal + 10
    for name in ("alignment.png", "substitutions.png"):
        assert (tmp_path / "demo" / name).read_bytes().startswith(b"\x89PNG")


def test_constituents_are_parsed_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "parse_quay.py"), run_name="__main__")
    f1 = [float(share) for share in re.findall(r"^  \w.{27} +([\d.]+)% ", capsys.readouterr().out, re.MULTILINE)]
    assert len(f1) == 3 and min(f1) > 70
    assert (tmp_path / "demo" / "constituents.png").read_bytes().startswith(b"\x89PNG")
