"""The readers and writers of the field's formats: what they give back, and how they name a mistake."""

import gzip
import io
import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from margrave.data import Sentence, Word, spans
from margrave.datasets import (
    conllu_lines,
    load_digits,
    load_town,
    read_brackets,
    read_columns,
    read_conllu,
    read_conllx,
    read_svmlight,
    write_brackets,
    write_columns,
    write_conllu,
)
from margrave.datasets.opening import write_lines
from margrave.errors import DataError, MargraveError

Rows = list[tuple[str, ...]]
File = Callable[..., Path]


def message(path: Path, line: int | None, text: str) -> str:
    where = f"{path}, line {line}" if line else f"{path}"
    return f"{where}: {text}"


def refusal(function: Callable[..., Iterable[object] | None], *arguments: Any, **options: Any) -> str:
    """The message with which a reader or writer refuses its input; it must be one sentence on one line."""
    with pytest.raises(MargraveError) as caught:
        list(function(*arguments, **options) or [])
    text = str(caught.value)
    assert "\n" not in text and text.endswith((".", ")"))
    return text


# Columns: reading

TWO = [[("The", "DT"), ("cat", "NN")], [("Sit", "VB")]]


@pytest.mark.parametrize(
    "text",
    [
        "The DT\ncat NN\n\nSit VB\n\n",
        "The DT\ncat NN\n\nSit VB\n",
        "The DT\ncat NN\n\nSit VB",
        "\n\nThe DT\ncat NN\n\n\n\nSit VB\n\n\n",
        "The DT\ncat NN\n \t \nSit VB\n  ",
        "The DT\r\ncat NN\r\n\r\nSit VB\r\n",
        "The \t DT\n  cat NN \n\n\tSit\tVB\n",
        "\ufeffThe DT\ncat NN\n\nSit VB\n",
    ],
)
def test_blank_lines_separate_sentences_however_many_and_whatever_the_line_ends(file: File, text: str) -> None:
    assert list(read_columns(file(text))) == TWO
    assert list(read_columns(io.StringIO(text.removeprefix("\ufeff")))) == TWO


@pytest.mark.parametrize("text", ["", "\n", " \n\n\t\n"])
def test_a_file_without_lines_has_no_sentences(file: File, text: str) -> None:
    assert list(read_columns(file(text))) == []


def test_gzip_is_known_by_its_content_and_not_by_its_name(file: File) -> None:
    text = b"The DT\ncat NN\n\nSit VB\n"
    assert list(read_columns(file(gzip.compress(text), "packed.conll"))) == TWO
    assert list(read_columns(file(text, "plain.gz"))) == TWO
    assert list(read_columns(file(gzip.compress(text[:9]) + gzip.compress(text[9:]), "two.gz"))) == TWO


def test_sentences_are_read_one_at_a_time(file: File) -> None:
    sentences = read_columns(file("The DT\n\ncat NN\n\nbroken\n"))
    assert next(sentences) == [("The", "DT")]
    assert next(sentences) == [("cat", "NN")]
    with pytest.raises(DataError):
        next(sentences)


def test_a_pipe_is_read_like_a_file() -> None:
    reading, writing = os.pipe()
    os.write(writing, gzip.compress(b"The DT\ncat NN\n\nSit VB\n"))
    os.close(writing)
    try:
        assert list(read_columns(f"/dev/fd/{reading}")) == TWO
    finally:
        os.close(reading)


def test_columns_are_selected_and_ordered(file: File) -> None:
    path = file("a b c\nd e f\n")
    assert list(read_columns(path, columns=[2, 0])) == [[("c", "a"), ("f", "d")]]
    assert list(read_columns(path, columns=[-1])) == [[("c",), ("f",)]]
    assert list(read_columns(path, columns=[0, 0, -3])) == [[("a", "a", "a"), ("d", "d", "d")]]


def test_a_given_separator_splits_exactly(file: File) -> None:
    path = file("New York\t\tLOC\n\t \tO\n")
    assert list(read_columns(path, separator="\t")) == [[("New York", "", "LOC"), ("", " ", "O")]]


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2028", "\u0085", "\x1c"])
def test_only_ascii_white_space_splits_or_ends_lines(file: File, space: str) -> None:
    text = f"10{space}000 CD\n{space} X\n"
    assert list(read_columns(file(text))) == [[(f"10{space}000", "CD"), (space, "X")]]


DOCUMENTS = "-DOCSTART- O\n\nEU ORG\n\n-DOCSTART- O\n\nPeter PER\n"


def test_document_starts_are_sentences_unless_skipped(file: File) -> None:
    path = file(DOCUMENTS)
    assert [s[0][0] for s in read_columns(path)] == ["-DOCSTART-", "EU", "-DOCSTART-", "Peter"]
    assert [s[0][0] for s in read_columns(path, skip_docstart=True)] == ["EU", "Peter"]


def test_skipped_document_starts_end_a_sentence_and_may_have_any_width(file: File) -> None:
    path = file("-DOCSTART-\nEU ORG\n-DOCSTART- -X- O\nPeter PER\n")
    assert list(read_columns(path, skip_docstart=True)) == [[("EU", "ORG")], [("Peter", "PER")]]


def test_another_encoding_is_read_when_named(file: File) -> None:
    for encoding in ("latin-1", "utf-16", "utf-8"):
        path = file("año NC\n".encode(encoding))
        assert list(read_columns(path, encoding=encoding)) == [[("año", "NC")]]


def test_carriage_returns_at_line_ends_are_no_part_of_the_last_field(file: File) -> None:
    assert list(read_columns(file("a\tb\r\nc\td\r\n"), separator="\t")) == [[("a", "b"), ("c", "d")]]
    assert list(read_conllu(file(TREE.replace("\n", "\r\n")))) == list(read_conllu(io.StringIO(TREE)))


# Columns: mistakes


def test_a_line_of_another_width_is_refused(file: File) -> None:
    path = file("a b c\n\nd e\n")
    assert refusal(read_columns, path) == message(path, 3, "2 columns, but the lines before have 3.")
    path = file("a b c\nd\n")
    assert refusal(read_columns, path) == message(path, 2, "1 column, but the lines before have 3.")


@pytest.mark.parametrize("column", [2, -3, 10])
def test_a_column_that_is_not_there_is_refused(file: File, column: int) -> None:
    path = file("\na b\n")
    expected = message(path, 2, f"column {column} was asked for, but there are only 2 columns.")
    assert refusal(read_columns, path, columns=[0, column]) == expected


@pytest.mark.parametrize("line", [1, 2, 30_000])  # the last far beyond the block that the decoder reads at once
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_bytes_of_another_encoding_are_found_on_their_line(
    file: File, line: int, pack: Callable[[bytes], bytes]
) -> None:
    path = file(pack(b"a b\n" * (line - 1) + b"caf\xe9 NN\n" + b"a b\n" * 1000))
    expected = "not valid UTF-8 text (byte 0xE9); convert it to UTF-8, or pass encoding= in Python."
    assert refusal(read_columns, path) == message(path, line, expected)


def test_sentences_before_a_bad_byte_are_still_read(file: File) -> None:
    sentences = read_columns(file(b"a b\n\ncaf\xe9 NN\n"))
    assert next(sentences) == [("a", "b")]


def test_a_nul_is_refused(file: File) -> None:
    path = file(b"a b\nc\0 d\n")
    assert refusal(read_columns, path).startswith(message(path, 2, "not valid UTF-8 text (a NUL character)"))


def test_utf16_without_its_name_is_refused(file: File) -> None:
    path = file("a b\n".encode("utf-16"))
    assert refusal(read_columns, path).startswith(message(path, 1, "not valid UTF-8 text (byte 0xFF)"))


def test_a_stream_that_cannot_be_decoded_is_refused_by_its_name(file: File) -> None:
    path = file(b"a b\ncaf\xe9 NN\n")
    with open(path, encoding="utf-8") as stream:
        assert refusal(read_columns, stream) == message(path, None, "not valid utf-8 after line 0.")


def test_a_stream_without_a_name_is_called_a_stream() -> None:
    assert refusal(read_columns, io.StringIO("a b\nc\n")).startswith("<stream>, line 2: 1 column")


def test_missing_files_and_directories_are_refused(tmp_path: Path) -> None:
    assert refusal(read_columns, tmp_path / "no.txt") == message(tmp_path / "no.txt", None, "no such file.")
    assert refusal(read_columns, str(tmp_path)) == message(tmp_path, None, "a directory, not a file.")


def test_gzip_cut_short_is_refused_wherever_it_is_cut(file: File) -> None:
    packed = gzip.compress("".join(f"word{i} tag{i * i}\n" for i in range(50)).encode())
    for length in range(2, len(packed)):
        path = file(packed[:length])
        assert "the gzip data are damaged or truncated" in refusal(read_columns, path)


def test_damaged_gzip_is_refused(file: File) -> None:
    packed = bytearray(gzip.compress("".join(f"word{i} tag{i * i}\n" for i in range(50)).encode()))
    packed[-5] ^= 1  # in the checksum
    assert "the gzip data are damaged" in refusal(read_columns, file(bytes(packed)))
    assert "the gzip data are damaged" in refusal(read_columns, file(gzip.compress(b"a b\n") + b"garbage"))


def test_arguments_that_cannot_work_are_refused(file: File) -> None:
    path = file("a b\n")
    assert refusal(read_columns, path, encoding="utf-9") == "unknown encoding 'utf-9'."
    assert refusal(read_columns, path, encoding="base64").startswith("unknown encoding 'base64'")
    assert refusal(read_columns, path, separator="").startswith("separator is empty")


# Columns: writing

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\t\f\v \ufeff"), min_size=1)
fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0\t\ufeff"))


def tables(cells: st.SearchStrategy[str], filler: st.SearchStrategy[str]) -> st.SearchStrategy[list[Rows]]:
    """Sentences of one width; the filler keeps every row from looking blank."""
    return st.integers(0, 3).flatmap(
        lambda n: st.lists(st.lists(st.tuples(filler, *[cells] * n), min_size=1, max_size=4), max_size=4)
    )


@settings(deadline=None)
@given(tables(words, words), st.sampled_from(["t.conll", "t.gz"]))
def test_written_columns_are_read_back(folder: Path, sentences: list[Rows], name: str) -> None:
    write_columns(folder / name, sentences)
    assert list(read_columns(folder / name)) == sentences
    assert list(read_columns(folder / name, separator=" ")) == sentences


@settings(deadline=None)
@given(tables(fields, words))
def test_written_tab_separated_columns_are_read_back(folder: Path, sentences: list[Rows]) -> None:
    write_columns(folder / "t.tsv", sentences, separator="\t")
    assert list(read_columns(folder / "t.tsv", separator="\t")) == sentences


def test_names_in_gz_are_packed_and_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.gz", TWO)
    write_columns(tmp_path / "b.gz", TWO)
    packed = (tmp_path / "a.gz").read_bytes()
    assert gzip.decompress(packed) == b"The DT\ncat NN\n\nSit VB\n\n"
    assert packed == (tmp_path / "b.gz").read_bytes()
    assert packed[4:8] == bytes(4)  # no time, which would differ a second later


@pytest.mark.parametrize(
    "rows, separator",
    [
        ([("", "X")], " "),
        ([("New York", "LOC")], " "),
        ([("a\tb", "X")], " "),
        ([("a\nb", "X")], " "),
        ([("a", "X\r")], "\t"),
        ([("a\0", "X")], "\t"),
        ([("a\tb", "X")], "\t"),
        ([("", " ")], "\t"),
        ([("a|", "b")], "||"),
        (["ab"], " "),
        ([("a", "b"), ("c",)], " "),
        ([()], " "),
        ([], " "),
        ([("\ud800", "X")], " "),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path: Path, rows: list[Any], separator: str) -> None:
    path = tmp_path / "t.conll"
    path.write_text("old")
    refusal(write_columns, path, [[("a", "b")], rows], separator)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.conll"]


@pytest.mark.parametrize("separator", ["", "\n", "\r", "\0"])
def test_separators_that_end_lines_are_refused(tmp_path: Path, separator: str) -> None:
    assert "separator" in refusal(write_columns, tmp_path / "t", TWO, separator)


def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.conll"
    path.write_text("old")

    def broken() -> Iterator[Rows]:
        yield [("The", "DT")]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_columns(path, broken())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.conll"]


def test_a_read_only_file_is_not_overwritten(file: File) -> None:
    path = file("old")
    path.chmod(0o444)
    assert refusal(write_columns, path, TWO) == message(path, None, "cannot be written: the file is read-only.")
    assert path.read_text() == "old"


def test_targets_that_cannot_be_files_are_refused(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "t.conll"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert refusal(write_columns, missing, TWO).endswith("cannot be written: its directory does not exist.")
    assert refusal(write_columns, tmp_path, TWO).endswith("cannot be written: it is a directory.")
    assert refusal(write_columns, fifo, TWO).endswith("cannot be written: it is not an ordinary file.")
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_links_and_permissions_survive(file: File, tmp_path: Path) -> None:
    path, link = file("old"), tmp_path / "link"
    path.chmod(0o640)
    link.symlink_to(path)
    write_columns(link, TWO)
    assert link.is_symlink() and list(read_columns(path)) == TWO
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(file: File, tmp_path: Path) -> None:
    write_lines(tmp_path / "new", ["a"])
    assert (tmp_path / "new").stat().st_mode == file("a", "other").stat().st_mode
    assert (tmp_path / "new").read_bytes() == b"a\n"


# CoNLL-U

TREE = """\
# sent_id = 1
# text = vámonos al mar
0.1\t_\t_\tPRON\t_\t_\t_\t_\t1:nsubj\t_
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tv\tMood=Imp|Number=Plur\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\tp\tCase=Acc\t1\tobj\t1:obj\t_
2.1\tx\t_\t_\t_\t_\t_\t_\t1:dep\t_
2.2\ty\t_\t_\t_\t_\t_\t_\t1:dep\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\ta\ta\tADP\ts\t_\t5\tcase\t5:case\t_
4\tel\tel\tDET\td\tDefinite=Def\t5\tdet\t5:det\t_
5\tmar mío\tmar\tNOUN\tn\t_\t1\tobl\t1:obl\tSpaceAfter=No
5.1\tz\t_\t_\t_\t_\t_\t_\t1:dep\t_

1\tsin\tsin\tADP\t_\t_\t_\t_\t_\t_
2\tcabeza\t_\tNOUN\t_\t_\t_\t_\t_\t_

"""


def word_line(id: int | str, head: int | str) -> str:
    return f"{id}\tw\t_\t_\t_\t_\t{head}\tdep\t_\t_\n"


def tree_text(heads: Iterable[int | str]) -> str:
    return "".join(word_line(id, head) for id, head in enumerate(heads, 1))


def test_conllu_is_read_and_written_byte_for_byte(file: File, tmp_path: Path) -> None:
    path = file(TREE)
    write_conllu(tmp_path / "copy.conllu", read_conllu(path))
    assert (tmp_path / "copy.conllu").read_bytes() == TREE.encode()
    write_conllu(tmp_path / "copy.conllu.gz", read_conllu(path))
    assert list(read_conllu(tmp_path / "copy.conllu.gz")) == list(read_conllu(path))
    assert "".join(f"{line}\n" for line in conllu_lines(read_conllu(path))) == TREE


def test_conllu_rows_go_where_they_belong(file: File) -> None:
    first, second = read_conllu(file(TREE))
    assert first.comments == ["# sent_id = 1", "# text = vámonos al mar"]
    assert [word.form for word in first.words] == ["vamos", "nos", "a", "el", "mar mío"]
    assert [row[0] for row in first.multiword] == ["1-2", "3-4"]
    assert [row[0] for row in first.empty] == ["0.1", "2.1", "2.2", "5.1"]
    assert first.heads == [0, 1, 5, 5, 1]
    fields = ("mar mío", "mar", "NOUN", "n", "_", 1, "obl", "1:obl", "SpaceAfter=No")
    assert first.words[4] == Word(5, *fields)
    assert [word.head for word in second.words] == [None, None]
    with pytest.raises(MargraveError, match="word 1 \\('sin'\\) has no head"):
        _ = second.heads


def test_a_predicted_tree_is_written(file: File, tmp_path: Path) -> None:
    sentences = list(read_conllu(file(TREE)))
    sentences[1].words[0].head, sentences[1].words[1].head = 2, 0
    write_conllu(tmp_path / "out.conllu", sentences)
    assert [sentence.heads for sentence in read_conllu(tmp_path / "out.conllu")] == [[0, 1, 5, 5, 1], [2, 0]]


def reaches_root(heads: Sequence[int | None]) -> bool:
    """By definition: so many steps as there are words lead every word to 0 or to an unannotated head."""

    def climb(word: int) -> bool:
        for _ in heads:
            word = (heads[word - 1] if word else 0) or 0
        return word == 0

    return all(map(climb, range(1, len(heads) + 1)))


def heads_of(length: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, length), min_size=length, max_size=length)


@settings(deadline=None, max_examples=300)
@given(st.integers(1, 6).flatmap(heads_of), st.sets(st.integers(0, 5)))
def test_heads_are_accepted_exactly_when_all_lead_to_a_root(annotated: list[int], gaps: set[int]) -> None:
    heads = [None if i in gaps else head for i, head in enumerate(annotated)]
    text = tree_text("_" if head is None else head for head in heads)
    for reader in (read_conllu, read_conllx):
        if reaches_root(heads):
            (sentence,) = reader(io.StringIO(text))
            assert [word.head for word in sentence.words] == heads
        else:
            told = refusal(reader, io.StringIO(text))
            assert "form a cycle" in told or "has no root" in told


@settings(deadline=None)
@given(st.integers(2, 6).flatmap(heads_of))
def test_the_cycle_that_is_reported_is_one(heads: list[int]) -> None:
    if 0 not in heads or reaches_root(heads):
        return
    told = refusal(read_conllu, io.StringIO(tree_text(heads)))
    cycle = [int(word) for word in told.removesuffix(".").partition("cycle: ")[2].split(" -> ")]
    assert cycle[0] == cycle[-1] and len(set(cycle)) == len(cycle) - 1 >= 1
    assert all(heads[word - 1] == head for word, head in itertools.pairwise(cycle))


@pytest.mark.parametrize(
    "text, line, expected",
    [
        ("1\tw\t_\n", 1, "3 columns, but a word has 10, separated by tabs."),
        ("1 w _ _ _ _ 0 root _ _\n", 1, "1 column, but a word has 10, separated by tabs."),
        ("1\tw\t\t_\t_\t_\t0\troot\t_\t_\n", 1, "column 3 is empty; write _ for a missing value."),
        (word_line(2, 0), 1, "id 2 is out of order after word 0."),
        (word_line(1, 0) + word_line(3, 1), 2, "id 3 is out of order after word 1."),
        (word_line(1, 0) + word_line(1, 0), 2, "id 1 is out of order after word 1."),
        (word_line(0, 0), 1, "id 0 is out of order after word 0."),
        (word_line("01", 0), 1, "id '01' is not a number, a range (3-4) or an empty node (3.1)."),
        (word_line("٣", 0), 1, "id '٣' is not a number, a range (3-4) or an empty node (3.1)."),
        ("# c\n" + word_line(1, 0) + "# d\n" + word_line(2, 1), 3, "a comment inside a sentence: "),
        (word_line("2-3", "_") + tree_text([0, 1, 1]), 1, "id 2-3 is out of order after word 0."),
        (word_line(1, 0) + word_line("2-2", "_") + word_line(2, 1), 2, "range 2-2 must have two words or more after"),
        (
            word_line("1-2", "_") + word_line(1, 0) + word_line("2-3", "_"),
            3,
            "range 2-3 must have two words or more after",
        ),
        (word_line("1-2", "_") * 2 + tree_text([0, 1]), 2, "id 1-2 is out of order after word 0."),
        (word_line("1-3", "_") + tree_text([0, 1]), 1, "the range ends at 3, but the last word is 2."),
        (word_line("1.1", "_") + word_line(1, 0), 1, "id 1.1 is out of order after word 0."),
        (word_line(1, 0) + word_line("1.2", "_") + word_line("1.1", "_"), 3, "id 1.1 is out of order after word 1."),
        (word_line("1-2", "_") + word_line("0.1", "_") + tree_text([0, 1]), 2, "id 0.1 is out of order after word 0."),
        (word_line(1, "x"), 1, "head 'x' is neither 0 nor the number of a word; "),
        (word_line(1, "-1"), 1, "head '-1' is neither 0 nor the number of a word; "),
        (word_line(1, "1_0"), 1, "head '1_0' is neither 0 nor the number of a word; "),
        (
            tree_text([0, 1]) + "\n" + tree_text([0, 3]),
            5,
            "word 2 ('w') of the sentence that starts in line 4 has head 3, but the last word is 2.",
        ),
        (
            tree_text([0]) + "\n# sent_id = s2\n" + tree_text([0, 3]),
            5,
            "word 2 ('w') of sentence s2 has head 3, but the last word is 2.",
        ),
        (tree_text([0]) + "\n# c\n" + tree_text([2, 1]), 3, "the sentence that starts here has no root"),
        (
            tree_text([0]) + "\n# sent_id = s2\n" + tree_text([2, 1]),
            3,
            "sentence s2 has no root, a word whose",
        ),
        (
            tree_text([0]) + "\n# c\n" + tree_text([0, 3, 2]),
            5,
            "word 2 ('w') of the sentence that starts in line 3 is its own ancestor, since the heads form a cycle: 2",
        ),
        (
            "# sent_id = a b\n" + tree_text([0, 2]),
            3,
            "word 2 ('w') of sentence a b is its own ancestor, since the heads form a cycle: 2 -> 2.",
        ),
        (tree_text([0]) + "\n# only a comment\n", 3, "the sentence has no words."),
        (tree_text([0]) + "\n# text = \n# sent_id = s2\n", 3, "sentence s2 has no words."),
        (tree_text([0]) + "\n# c\n" + word_line("0.1", "_"), 3, "the sentence has no words."),
    ],
)
def test_conllu_mistakes_are_named_by_file_and_line(file: File, text: str, line: int, expected: str) -> None:
    path = file(text)
    assert refusal(read_conllu, path).startswith(message(path, line, expected))


@pytest.mark.parametrize("reader", [read_conllu, read_conllx])
def test_a_second_root_is_refused_on_request(file: File, reader: Callable[..., Any]) -> None:
    path = file(tree_text([0, 1]) + "\n" + tree_text([2, 0, 0, 0, "_"]))
    assert [sentence.words[0].head for sentence in reader(path)] == [0, 2]
    told = refusal(reader, path, single_root=True)
    assert told == message(
        path, 6, "word 3 ('w') of the sentence that starts in line 4 is a second root besides word 2 ('w')."
    )
    assert len(list(reader(file(tree_text([0, 1]) + "\n" + tree_text([2, 0])), single_root=True))) == 2


rows = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=4)


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_whatever_conllu_holds_survives_reading_and_writing(data: st.DataObject) -> None:
    def line(id: str, head: str) -> str:
        fields = [data.draw(rows) for _ in range(8)]
        return "\t".join([id, *fields[:5], head, *fields[5:]]) + "\n"

    text = ""
    for _ in range(data.draw(st.integers(1, 3))):
        text += "".join(f"#{data.draw(rows)}\n" for _ in range(data.draw(st.integers(0, 2))))
        count, covered = data.draw(st.integers(1, 5)), 0
        text += line("0.1", "_") if data.draw(st.booleans()) else ""
        for id in range(1, count + 1):
            if id > covered and id < count and data.draw(st.booleans()):
                covered = data.draw(st.integers(id + 1, count))
                text += line(f"{id}-{covered}", "_")
            text += line(str(id), str(data.draw(st.integers(0, id - 1))))
            text += "".join(line(f"{id}.{k}", "_") for k in range(1, data.draw(st.integers(1, 3))))
        text += "\n"
    assert "".join(f"{each}\n" for each in conllu_lines(read_conllu(io.StringIO(text, newline="\n")))) == text


def test_conllx_is_read_and_written_byte_for_byte(file: File, tmp_path: Path) -> None:
    text = "1\tetxe#\te\tIZE\tARR\tBIZ-\t2\tsubj\t_\t_\n2\tda\ti\tADI\tADI\t_\t0\tROOT\t_\t_\n\n"
    path = file(text.encode("latin-1"))
    (sentence,) = read_conllx(path, encoding="latin-1")
    assert sentence.heads == [2, 0]
    assert (sentence.words[0].upos, sentence.words[0].xpos) == ("IZE", "ARR")
    write_conllu(tmp_path / "copy", [sentence])
    assert (tmp_path / "copy").read_bytes() == text.encode()


@pytest.mark.parametrize(
    "text, line, expected",
    [
        ("# comment\n" + tree_text([0]), 1, "1 column"),
        (word_line("1-2", "_") + tree_text([0, 1]), 1, "id 1-2 is out of order after word 0."),
        (tree_text([0]) + word_line("1.1", "_"), 2, "id 1.1 is out of order after word 1."),
        (
            tree_text([0, 4]),
            2,
            "word 2 ('w') of the sentence that starts in line 1 has head 4, but the last word is",
        ),
        (tree_text([0, 3, 2]), 2, "word 2 ('w') of the sentence that starts in line 1 is its own ancestor, since the"),
        (tree_text([0]) + "\n" + tree_text([2, 1]), 3, "the sentence that starts here has no root"),
    ],
)
def test_conllx_mistakes_are_named_by_file_and_line(file: File, text: str, line: int, expected: str) -> None:
    path = file(text)
    assert refusal(read_conllx, path).startswith(message(path, line, expected))


@pytest.mark.parametrize(
    "sentence, expected",
    [
        (Sentence(words=[Word(1, "a\tb", head=0)]), "line 3: 11 columns"),
        (Sentence(words=[Word(1, "a\nb", head=0)]), "line 3: '1\\ta\\nb"),
        (Sentence(words=[Word(1, "", head=0)]), "line 3: column 2 is empty"),
        (Sentence(words=[Word(2, "a", head=0)]), "line 3: id 2 is out of order"),
        (
            Sentence(words=[Word(1, "a", head=2)]),
            "line 3: word 1 ('a') of the sentence that starts in line 3 has",
        ),
        (Sentence(words=[Word(1, "a", head=1)]), "line 3: the sentence that starts here has no root"),
        (Sentence(["no hash"], [Word(1, "a", head=0)]), "line 3: 1 column"),
        (Sentence(words=[Word(1, "a", head=0)], multiword=[("1-2", *"abcdefghi")]), "line 3: the range ends at 2"),
        (Sentence(words=[Word(1, "a", head=0)], empty=[("3.1", *"abcdefghi")]), "line 4: id 3.1 is out of order"),
        (Sentence(words=[Word(1, "a", head=0)], empty=[("x", *"abcdefghi")]), "line 3: id 'x' is not a number"),
        (Sentence(), "line 3: the sentence has no words."),
    ],
)
def test_what_is_not_conllu_is_not_written(tmp_path: Path, sentence: Sentence, expected: str) -> None:
    path = tmp_path / "out.conllu"
    good = Sentence(words=[Word(1, "a", head=0)])
    assert refusal(write_conllu, path, [good, sentence]).startswith(f"{path}, {expected}")
    assert refusal(lambda: list(conllu_lines([good, sentence]))).startswith(f"<output>, {expected}")
    assert os.listdir(tmp_path) == []


# svmlight


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.booleans())
def test_svmlight_equals_scikit_learn(
    folder: Path, seed: int, zero_based: bool, multilabel: bool, with_queries: bool
) -> None:
    rng = np.random.default_rng(seed)
    base = 0 if zero_based else 1
    lines = ["# a comment", ""]
    for _ in range(rng.integers(1, 8)):
        labels = ",".join(map(str, rng.integers(-3, 4, rng.integers(0, 4) if multilabel else 1)))
        indices = np.flatnonzero(rng.random(12) < 0.4) + base
        values = rng.choice([1.0, -2.5, 1e-300, 0.1, 12345678.9], len(indices))
        pairs = [f"{index}:{value!r}" for index, value in zip(indices.tolist(), values.tolist(), strict=True)]
        query = [f"qid:{rng.integers(5)}"] if with_queries else []
        if labels or query or pairs:
            lines.append(" ".join([labels, *query, *pairs]) + rng.choice(["", "  ", " # note 3:4"]))
    path = folder / "data.svm"
    path.write_text("\n".join(lines) + "\n")
    options: dict[str, Any] = {"n_features": 13, "zero_based": zero_based, "multilabel": multilabel}
    matrix, y, queries = read_svmlight(path, **options)
    expected = load_svmlight_file(path, query_id=with_queries, **options)
    assert np.array_equal(matrix.toarray(), expected[0].toarray())
    if multilabel:  # scikit-learn sorts them
        assert [tuple(sorted(label)) for label in y] == expected[1]
    else:
        assert list(y) == expected[1].tolist()
    assert (queries is None) == (not with_queries or not len(y))
    if queries is not None:
        assert queries.tolist() == expected[2].tolist()


def test_svmlight_labels_are_numbers_only_if_all_are(file: File) -> None:
    assert np.array_equal(read_svmlight(file("+1 1:2\n-1.5e0 2:1\n"))[1], np.array([1.0, -1.5]))
    assert read_svmlight(file("1 1:2\ncat_a 2:1\n"))[1] == ["1", "cat_a"]
    assert read_svmlight(file("nan 1:2\n1 1:2\n"))[1] == ["nan", "1"]  # a name, such as that of a language
    assert read_svmlight(file("1,2 1:2\n2:1\n"), multilabel=True)[1] == [(1.0, 2.0), ()]
    assert read_svmlight(file("a,2 1:2\n2:1\n"), multilabel=True)[1] == [("a", "2"), ()]


def test_svmlight_width_is_the_largest_index_unless_given(file: File) -> None:
    path = file("1 1:2 7:1\n0\n")
    assert read_svmlight(path)[0].shape == (2, 7)
    assert read_svmlight(path, zero_based=True)[0].shape == (2, 8)
    assert read_svmlight(path, n_features=9)[0].shape == (2, 9)
    matrix, labels, queries = read_svmlight(file("# nothing\n"))
    assert read_svmlight(path)[0].indices.dtype == np.int32
    assert read_svmlight(file(f"1 {10**17}:1\n"))[0].indices.tolist() == [10**17 - 1]
    assert matrix.shape == (0, 0) and len(labels) == 0 and queries is None


@pytest.mark.parametrize(
    "line, expected",
    [
        ("1:2 2:3", "the line must begin with the label, not '1:2'."),
        ("1 2", "'2' is not a pair index:value."),
        ("1 2:", "value '' of feature 2 is not a finite number."),
        ("1 :2", "feature index '' is not a natural number below 10^18."),
        ("1 a:2", "feature index 'a' is not a natural number below 10^18."),
        ("1 -1:2", "feature index '-1' is not a natural number below 10^18."),
        (f"1 {10**18}:2", f"feature index '{10**18}' is not a natural number below 10^18."),
        ("1 1:2:3", "value '2:3' of feature 1 is not a finite number."),
        ("1 1:x", "value 'x' of feature 1 is not a finite number."),
        ("1 1:1_0", "value '1_0' of feature 1 is not a finite number."),
        ("1 1:nan", "value 'nan' of feature 1 is not a finite number."),
        ("1 1:-inf", "value '-inf' of feature 1 is not a finite number."),
        ("1 1:1e999", "value '1e999' of feature 1 is not a finite number."),
        ("1 2:1 2:1", "feature index 2 after 2, but they must increase."),
        ("1 3:1 2:1", "feature index 2 after 3, but they must increase."),
        ("1 0:1", "feature index 0, but they start at 1 (pass zero_based=True if they start at 0)."),
        ("1 6:1", "feature index 6 is too large for n_features=5."),
        ("1 qid:x 2:1", "query id 'x' is not a natural number below 10^18."),
        ("1 qid:3 2:1", "some examples up to here have a query id (qid:) and some have none."),
        ("1 1:1 qid:3", "feature index 'qid' is not a natural number below 10^18."),
    ],
)
def test_svmlight_mistakes_are_named_by_file_and_line(file: File, line: str, expected: str) -> None:
    path = file(f"# comment\n1 2:1\n{line}\n")
    assert refusal(read_svmlight, path, n_features=5) == message(path, 3, expected)


def test_svmlight_query_ids_are_all_or_none(file: File) -> None:
    path = file("1 qid:1 2:1\n1 2:1\n")
    assert refusal(read_svmlight, path).startswith(message(path, 2, "some examples up to here have a query id"))


def test_svmlight_label_lists_have_no_holes(file: File) -> None:
    path = file("1,,2 1:1\n")
    assert refusal(read_svmlight, path, multilabel=True).startswith(message(path, 1, "label list '1,,2' has nothing"))


# Built-in data


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_the_town_is_tagged_in_well_formed_iob2(part: Any) -> None:
    sentences = load_town(part)
    assert sentences
    for sentence in sentences:
        tags = [tag for _, _, tag in sentence]
        starts = {span.start for span in spans(tags)}
        assert starts == {i for i, tag in enumerate(tags) if tag.startswith("B-")}


def test_a_part_that_the_town_does_not_have_is_refused() -> None:
    assert refusal(load_town, "tset").startswith("unknown part 'tset'; did you mean 'test'?")


def test_the_digits_lie_between_0_and_1() -> None:
    images, digits = load_digits()
    assert images.shape == (1797, 64) and digits.shape == (1797,)
    assert images.min() == 0 and images.max() == 1
    assert set(digits.tolist()) == set(range(10))


# ---- brackets --------------------------------------------------------------------------------------------------------


def test_brackets_are_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "trees.mrg"
    file.write_text("( (S (NP-SBJ (N a))\n     (VP (V b) (NP (-NONE- *)))))\n\n(X (N c)) (Y (N d))\n")
    trees = list(read_brackets(file))
    assert [str(tree) for tree in trees] == ["( (S (NP (N a)) (VP (V b))))", "(X (N c))", "(Y (N d))"]
    write_brackets(tmp_path / "again.mrg.gz", trees)
    assert list(read_brackets(tmp_path / "again.mrg.gz")) == trees
    assert str(next(read_brackets(file, clean=False))).startswith("( (S (NP-SBJ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (A a))\n(S (A a)\n", "line 2: unbalanced brackets: the tree that begins here is not closed."),
        ("(S (A a))\n)\n", "line 2: unbalanced brackets: this ) closes nothing."),
        ("(S (A a))\n\n(S ())\n", "line 3: an empty tree: () has no children."),
        ("(S (-NONE- *))\n", "line 1: an empty tree: it has no words besides traces."),
    ],
)
def test_mistakes_in_brackets_are_reported_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "trees.mrg"
    file.write_text(text)
    with pytest.raises(MargraveError) as error:
        list(read_brackets(file))
    assert str(error.value) == f"{file}, {message}"
