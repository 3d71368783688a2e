"""What predict writes has the lines of its input, at the same places."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans, integers, lists, sampled_from, tuples

from margrave.cli import sequences
from tests.references.commands import done, message, run

SENTENCES = ["the D", "dog N\nbarks V", "a D\ncat N\nsleeps V"]
BLANK = ["", " ", "\t", "\r"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layout")
    text = "\n\n".join(SENTENCES) + "\n"
    (folder / "data").write_text(text)
    (folder / "headed").write_text(f"word tag\n{text}")
    (folder / "data.conllu").write_text("1\tthe\tthe\tD\t_\t_\t2\tx\t_\t_\n2\tdog\tdog\tN\t_\t_\t0\tx\t_\t_\n\n")
    done("train", folder / "data", "-o", folder / "plain.model", "-q")
    done("train", folder / "headed", "-o", folder / "headed.model", "-q", "--header")
    done("train", folder / "data.conllu", "-o", folder / "tags.model", "-q")
    done("train", "--task", "parse", folder / "data.conllu", "-o", folder / "trees.model", "-q", "--columns", "form")
    return folder


def texts() -> object:
    gaps = lists(sampled_from(BLANK), min_size=1, max_size=4)
    return tuples(lists(sampled_from(BLANK), max_size=3), lists(tuples(sampled_from(SENTENCES), gaps), min_size=1))


@pytest.mark.parametrize("headed", [False, True])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(text=texts(), ends=booleans(), above=integers(0, 2), size=sampled_from([1, 20, 1 << 18]))
def test_lines_keep_their_numbers(
    models: Path, monkeypatch: pytest.MonkeyPatch, headed: bool, text: object, ends: bool, above: int, size: int
) -> None:
    leading, pairs = text  # type: ignore[misc]
    lines = [*leading, *(line for rows, gap in pairs for line in [*rows.split("\n"), *gap])]
    if not ends:  # The last sentence is the end of the file.
        del lines[-len(pairs[-1][1]) :]
    if headed:
        lines = [*[""] * above, "word tag", *lines]
    monkeypatch.setattr(sequences, "BLOCK", size)
    model = models / ("headed.model" if headed else "plain.model")
    result = done("predict", model, "-", stdin="\n".join([*lines, ""]).encode())
    written = result.split("\n")[:-1]
    assert len(written) == len(lines) + (not ends)
    for line, found in zip(lines, written, strict=False):
        assert found.split()[: len(line.split())] == line.split() and bool(found) == bool(line.strip())


@pytest.mark.parametrize("model", ["plain", "headed", "tags", "trees"])
@pytest.mark.parametrize("content", [b"", b"\n", b"\n \n\n"])
def test_an_empty_file_predicts_to_an_empty_file(models: Path, tmp_path: Path, model: str, content: bytes) -> None:
    empty, output = tmp_path / "empty", tmp_path / "out"
    empty.write_bytes(content)
    for more in ((), ("--marginals",)):
        assert done("predict", models / f"{model}.model", empty, *more) == ""
        assert done("predict", models / f"{model}.model", empty, "-o", output, *more) == ""
        assert output.read_bytes() == b""
    assert "it contains no sequences" in message(run("evaluate", models / "plain.model", empty))


def test_a_header_alone_predicts_to_a_header(models: Path) -> None:
    assert done("predict", models / "headed.model", "-", stdin=b"word tag\n") == "word tag predicted_tag\n"
    refused = message(run("predict", models / "headed.model", "-", stdin=b"word\tother\n"))
    assert refused == "<stdin>: its columns are word, other, not word, tag."
