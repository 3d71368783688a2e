"""The readers of the core take what the readers in Python take, give the same cells, and stop where these complain."""

import gzip
from collections.abc import Callable, Iterator
from io import BytesIO, StringIO
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave import _core
from margrave.cli import conllu
from margrave.cli.sequences import ColumnReader, ConlluReader
from margrave.cli.trees import read_treebank
from margrave.datasets import conllu_lines, read_columns, read_conllu, read_conllx
from margrave.datasets.columns import COLUMN_BLANKS
from margrave.datasets.conllu import conllu_sentences
from margrave.datasets.opening import Block, block_lines, read_blocks, read_lines
from margrave.errors import DataError, MargraveError
from tests.references import conllu_words

cells = st.sampled_from(
    [b"a", b"B-X", "é".encode(), "\u00a0".encode(), b"-DOCSTART-", b"|", b"\xff", b"\0", b"\xe2\x82"]
)
spaces = st.sampled_from([b" ", b"\t", b"  ", b" \t", b"\r", b"\f", b"\v", b"", "\u2028".encode()])
ends = st.sampled_from([b"\n", b"\n", b"\r\n", b"\n\n", b"\n \n", b"\n\r\n", b""])
texts = st.lists(cells | spaces | ends, max_size=40).map(b"".join)
good_lines = st.lists(st.sampled_from([b"a B", b"a  b", b"", b" ", "é x".encode(), b"a\tb\r", b"\r"]), max_size=12)


def sentences_of(table: _core.ColumnTable) -> list[list[tuple[str, ...]]]:
    """The rows of a table, sentence by sentence."""
    columns = [table.column(c) for c in range(table.width)]
    return [[*zip(*of, strict=True)] for of in zip(*columns, strict=True)]


def until_error(sentences: Iterator[Any]) -> tuple[list[Any], str]:
    """What a reader gives, and what it says in the end if something is wrong."""
    found = []
    try:
        for sentence in sentences:
            found.append(sentence)
    except MargraveError as error:
        return found, str(error)
    return found, ""


def in_python(text: bytes, read: Callable[[Path], Iterator[Any]], folder: Path) -> tuple[list[Any], str]:
    path = folder / "file"
    path.write_bytes(text)
    return until_error(read(path))


@settings(deadline=None, max_examples=300)
@given(
    text=texts | good_lines.map(b"\n".join),
    separator=st.sampled_from([None, "\t", " ", "é", "| "]),
    mark=st.booleans(),
)
def test_columns_are_those_of_python(
    text: bytes, separator: str | None, mark: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if mark:
        text = b"\xef\xbb\xbf" + text
    folder = tmp_path_factory.getbasetemp()
    expected, said = in_python(text, lambda path: read_columns(path, separator=separator), folder)
    reader = ColumnReader(separator)
    path = str(folder / "file")
    try:
        found = sentences_of(reader._read(path)[1])
    except DataError as error:
        assert str(error) == (said or f"{path}: it contains no sequences.")
        assert said or not expected
    else:
        assert (found, "") == (expected, said)


@settings(deadline=None, max_examples=200)
@given(text=texts | good_lines.map(b"\n".join), size=st.integers(1, 30), mark=st.booleans())
def test_blocks_are_whole_sentences_and_know_their_lines(text: bytes, size: int, mark: bool) -> None:
    text = b"\xef\xbb\xbf" + text if mark and text else text
    blocks = list(read_blocks(BytesIO(text), COLUMN_BLANKS, size))
    assert b"".join(block.mark.encode() + block.text for block in blocks) == text
    assert not any(block.text.startswith(b"\xef\xbb\xbf") for block in blocks[:1])
    for block, after in pairwise(blocks):
        assert after.first == block.first + block.text.count(b"\n")
        *_, last, rest = block.text.split(b"\n")
        assert rest == b"" and not last.strip(COLUMN_BLANKS.encode())


def test_small_blocks_give_the_same_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("margrave.datasets.opening._PIECE", 7)
    monkeypatch.setattr("margrave.cli.sequences.BLOCK", 10)
    path = tmp_path / "file"
    path.write_bytes("\ufeffa b\r\nc d\n\n\n e  f\ng h\n \ni j".encode())
    header, batches = ColumnReader(None).unlabeled(str(path), 2, False)
    tables = [read().table for read in batches]
    assert header == "" and len(tables) > 1
    assert [*chain.from_iterable(map(sentences_of, tables))] == list(read_columns(path))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (b"a b\n\nc\n", 3, "1 column, but the lines before have 2."),
        (b"a b\n\nc d\n\xff b\n", 4, "not valid UTF-8 text (byte 0xFF)"),
        (b"a b\n\nc d\n\0 b\n", 4, "not valid UTF-8 text (a NUL character)"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_mistakes_in_later_blocks_name_their_line(
    text: bytes, line: int, what: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("margrave.datasets.opening._PIECE", 3)
    monkeypatch.setattr("margrave.datasets.opening._GZIP_PIECE", 3)
    monkeypatch.setattr("margrave.cli.sequences.BLOCK", 3)
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(text) if packed else text)
    batches = ColumnReader(None).unlabeled(str(path), 2, False)[1]
    with pytest.raises(DataError) as caught:
        for read in batches:
            read()
    assert str(caught.value).startswith(f"{path}, line {line}: {what}")


def test_a_damaged_gzip_file_names_the_line_that_python_names(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"word{i} {i * i % 1013}\n\n" for i in range(30000)).encode())
    path = tmp_path / "file.gz"
    for end in (40, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:end])
        _, said = until_error(read_columns(path))
        assert "the gzip data are damaged or truncated here" in said
        with pytest.raises(DataError) as caught:
            ColumnReader(None)._read(str(path))
        assert str(caught.value) == said


# ---- CoNLL-U ---------------------------------------------------------------------------------------------------------

ids = st.sampled_from(["1", "2", "3", "1-2", "2-3", "0.1", "1.1", "1.2", "2.1", "1-9", "01", "x", "4", "1.10"])
heads = st.sampled_from(["0", "0", "1", "2", "3", "_", "9", "-1", "99999999999"])
miscs = st.sampled_from(["_", "NER=a", "A=b|NER=c", "NER=a|NER=b", "Probability=x", "NER", "é=ü"])
rows = st.builds(
    lambda id, form, head, misc, width: "\t".join([id, form, "l", "U", "x|y", "F=1|G=2", head, "d", "_", misc][:width]),
    ids, st.sampled_from(["a", "é", "", "#"]), heads, miscs, st.sampled_from([10] * 9 + [9]),
)  # fmt: skip
numbered = st.lists(st.tuples(st.sampled_from(["0", "1", "_"]), miscs), min_size=1, max_size=4).map(
    lambda words: [f"{k}\tw{k}\tl\tU\tx\tF=1|G=2\t{head}\td\t_\t{misc}" for k, (head, misc) in enumerate(words, 1)]
)
blocks = numbered | st.lists(rows | st.just("# text"), max_size=5) | st.just(["# text", "# more"])
endings = st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n \t\n\n"])
conllu_texts = st.lists(st.tuples(blocks, endings), max_size=4).map(
    lambda parts: "".join("\n".join(lines) + end for lines, end in parts)
)


def as_python_writes(text: str) -> str:
    """The text with line feeds alone, and with one blank line after each sentence."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    blocks = [list(of) for blank, of in groupby(lines, lambda line: not line.strip(" \t")) if not blank]
    return "".join("\n".join(block) + "\n\n" for block in blocks)


@settings(deadline=None, max_examples=400)
@given(text=conllu_texts, label=st.sampled_from(["upos", "misc:NER", "feats"]), probable=st.booleans())
def test_conllu_is_that_of_python(text: str, label: str, probable: bool) -> None:
    columns = ["form", "feats", "misc:NER"]
    expected, said = until_error(read_conllu(StringIO(text)))
    parsed, stopped = _core.parse_conllu(text.encode(), [conllu.place(column) for column in columns])
    assert bool(stopped) == bool(said)
    assert len(parsed.table) == len(expected)
    assert sentences_of(parsed.table) == [conllu_words.rows(sentence, columns) for sentence in expected]
    # What is written is what Python writes with the labels filled in.
    import numpy as np

    labels, n = ["_", "X=1|Y", "é"], parsed.table.tokens
    numbers, probabilities = np.arange(n, dtype=np.int32) % 3, np.arange(n) / 7
    at = 0
    for sentence in expected:
        for k, word in enumerate(sentence.words):
            filled = conllu_words.with_value(word, label, labels[int(numbers[at])])
            sentence.words[k] = conllu_words.with_probability(filled, float(probabilities[at])) if probable else filled
            at += 1
    written = parsed.lines([(conllu.place(label), labels, numbers)], probabilities if probable else None)
    assert as_python_writes(written) == "".join(f"{line}\n" for line in conllu_lines(expected))


@settings(deadline=None, max_examples=300)
@given(text=conllu_texts, words_only=st.booleans(), labeled=st.booleans())
def test_trees_are_read_and_filled_in_as_in_python(text: str, words_only: bool, labeled: bool) -> None:
    import numpy as np

    read = read_conllx if words_only else read_conllu
    expected, said = until_error(read(StringIO(text)))
    parsed, stopped = _core.parse_conllu(text.encode(), [conllu.place("form")], words_only)
    assert bool(stopped) == bool(said)
    words = [word for sentence in expected for word in sentence.words]
    assert parsed.heads.tolist() == [-1 if word.head is None else word.head for word in words]
    # Every second word hangs on the first one, and its relation is unknown unless it is filled in.
    at = 0
    for sentence in expected:
        for k, word in enumerate(sentence.words):
            changed = conllu_words.with_head(word, at % 2 if k else 0)
            sentence.words[k] = conllu_words.with_value(changed, "deprel", "new") if labeled else changed
            at += 1
    begin = np.cumsum([0, *(len(sentence.words) for sentence in expected)])
    heads = np.arange(len(words), dtype=np.int32) % 2
    heads[begin[:-1]] = 0
    columns = [(conllu.HEAD, ["0", "1"], heads)]
    if labeled:
        columns.append((conllu.place("deprel"), ["new"], np.zeros(len(words), dtype=np.int32)))
    assert as_python_writes(parsed.lines(columns, None)) == "".join(f"{line}\n" for line in conllu_lines(expected))


@settings(deadline=None, max_examples=300)
@given(text=conllu_texts, end=st.sampled_from(["\n", "\r\n"]), words_only=st.booleans())
def test_line_ends_and_blank_lines_stay(text: str, end: str, words_only: bool) -> None:
    text = text.replace("\r", "").replace("\n", end)
    parsed, stopped = _core.parse_conllu(text.encode(), [conllu.place("form")], words_only, False)
    written = parsed.lines([], None)
    if stopped:
        assert text.startswith(written)
    elif text and text.split(end)[-2].strip():  # The blank line after the last sentence is added.
        assert written == text + end
    else:
        assert written == text
    whole = text.removesuffix(end)
    if not stopped and end in whole and whole.split(end)[-1].strip():
        assert _core.parse_conllu(whole.encode(), [], words_only, False)[0].lines([], None) == whole + end + end


@settings(deadline=None, max_examples=200)
@given(text=conllu_texts, trees=st.booleans())
def test_errors_in_conllu_are_those_of_python(text: str, trees: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "file.conllu"
    path.write_text(text, encoding="utf-8", newline="")
    expected, said = until_error(conllu_sentences(str(path), read_lines(path), trees=trees))
    try:
        if trees:
            found = read_treebank(str(path), "conllu", ["form"], lambda name, block: block).table
        else:  # Taggers do not read heads.
            found = ConlluReader("upos", ["form"]).labeled(str(path), 1)[0]
    except DataError as error:
        assert str(error) == (said or f"{path}: it contains no sentences.")
    else:
        assert said == "" and len(found) == len(expected)


def test_small_pieces_of_conllu_are_written_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("margrave.datasets.opening._PIECE", 7)
    word = "1\ta\tb\tc\td\te\t0\tf\tg\th\r\n"
    text = f"\ufeff\r\n\r\n{word}\r\n\r\n\r\n\r\n\r\n\r\n# text\r\n{word}\r\n{word}\r\n\r\n\r\n\r\n\r\n"
    path = tmp_path / "file"
    path.write_bytes(text.encode())
    for size in (1, 30, None):
        pieces = [block for _, block in conllu.read_text(str(path), size)]
        parsed = [conllu.parse("file", block, ["form"]) for block in pieces]
        assert all(len(each.table) for each in parsed) and (len(pieces) > 1) == (size is not None)
        written = "".join(block.mark + each.lines([], None) for block, each in zip(pieces, parsed, strict=True))
        assert written == text


def test_labels_that_conllu_cannot_hold_are_refused() -> None:
    import numpy as np

    parsed, _ = _core.parse_conllu(b"1\ta\tb\tc\td\te\t0\tf\tg\th\n", [(1, "")])
    with pytest.raises(MargraveError, match="cannot be written as a field of CoNLL-U"):
        parsed.lines([((3, ""), ["a\tb"], np.zeros(1, dtype=np.int32))], None)
    for numbers in (np.zeros(2, dtype=np.int32), np.ones(1, dtype=np.int32), -np.ones(1, dtype=np.int32)):
        with pytest.raises(MargraveError):
            parsed.lines([((3, ""), ["a"], numbers)], None)
        with pytest.raises(MargraveError):
            parsed.table.lines(" ", ["a"], numbers, None)
    with pytest.raises(MargraveError, match="columns 1 to 9"):
        _core.parse_conllu(b"", [(10, "")])
    with pytest.raises(MargraveError, match="within its sentences"):
        parsed.table.slice(0, 2)
    with pytest.raises(MargraveError, match="no column 1"):
        parsed.table.column(1)


def test_lines_of_a_block_are_numbered_from_its_first() -> None:
    assert list(block_lines("f", Block(5, b"a\r\n\nb"))) == [(5, "a"), (6, ""), (7, "b")]
