"""CoNLL-U and CoNLL-X files for tasks: sentences, and the columns of their words by name."""

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from margrave.cli.streams import binary_source, display_name, source
from margrave.errors import DataError, MargraveError, unknown

if TYPE_CHECKING:
    from margrave import _core
    from margrave.data import Sentence
    from margrave.datasets.opening import Block

FORMATS = ("conllu", "conllx")
TEXT = "text"  # a format to predict from: one sentence per line
MISSING = "_"

_EXTENSIONS = {".conllu": "conllu", ".conll-u": "conllu", ".conllx": "conllx", ".conll-x": "conllx"}
_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
HEAD = _FIELDS.index("head"), ""  # as the core takes it
_KEYED = "misc:"  # the value of a key in misc


def format_by_extension(path: str) -> str | None:
    """The format that the name of a file tells, also if it is packed."""
    return _EXTENSIONS.get(os.path.splitext(path.removesuffix(".gz"))[1].lower())


def check_column(name: str) -> str:
    """The name of a column, if words have such a column."""
    if name not in _COLUMNS and not (name.startswith(_KEYED) and len(name) > len(_KEYED)):
        raise unknown("CoNLL-U column", name, [*_COLUMNS, f"{_KEYED}NAME"])
    return name


def check_columns(names: str) -> list[str]:
    """The names of columns with commas between them."""
    columns = [check_column(name.strip()) for name in names.split(",")]
    if len(set(columns)) < len(columns):
        raise MargraveError(f"--columns {names} names a column twice.")
    return columns


def place(name: str) -> tuple[int, str]:
    """A column as the core takes it: its place among the ten fields, and the key in misc with its =, if it has one."""
    if name.startswith(_KEYED):
        return _FIELDS.index("misc"), name.removeprefix(_KEYED) + "="
    return _FIELDS.index(name), ""


def read_text(path: str, size: int | None, *, needed: bool = True) -> Iterator[tuple[str, "Block"]]:
    """The pieces of a file or of standard input, each with the name of the file in messages.

    `size` is roughly how many bytes a piece should have; None means everything at once. A file without sentences is an
    error if some are `needed`, and otherwise has no pieces.
    """
    from margrave.datasets.conllu import CONLLU_BLANKS
    from margrave.datasets.opening import read_blocks, source_name

    data = binary_source(path)
    waiting: Block | None = None
    for block in read_blocks(data, CONLLU_BLANKS, size):
        if waiting is None:
            waiting = block
        elif waiting.text.strip() and block.text.strip():
            yield source_name(data), waiting
            waiting = block
        else:  # Blank lines belong to their neighbors, so every piece has a sentence.
            waiting = waiting._replace(text=waiting.text + block.text, failure=block.failure)
    if waiting is None or not (waiting.text.strip() or waiting.failure):
        if needed:
            raise DataError(display_name(path), None, "it contains no sentences.")
        return
    yield source_name(data), waiting


def read_plain(path: str, size: int) -> Iterator[tuple[str, "Block"]]:
    """Plain text, one sentence per line with blanks between tokens, as pieces of CoNLL-U of about this many bytes.

    The id of a sentence is the number of its line. Blank lines are left out.
    """
    from margrave.datasets.columns import COLUMN_BLANKS
    from margrave.datasets.opening import Block, read_lines

    name = display_name(path)
    lines: list[str] = []
    length = 0
    for number, line in read_lines(source(path)):
        if line.count("\t") == len(_FIELDS) - 1:
            raise DataError(name, number, "this is a line of CoNLL-U, and not plain text: leave out --format text.")
        words = [word for word in re.split(f"[{COLUMN_BLANKS}]+", line) if word]
        if not words:
            continue
        lines += [f"# sent_id = {number}", f"# text = {' '.join(words)}"]
        lines += ["\t".join([str(k), word, *"________"]) for k, word in enumerate(words, 1)] + [""]
        length += len(line)
        if length >= size:
            yield name, Block(1, "\n".join([*lines, ""]).encode())
            lines, length = [], 0
    if lines:
        yield name, Block(1, "\n".join([*lines, ""]).encode())


def parse(
    name: str, block: "Block", columns: Sequence[str], format: str = "conllu", *, trees: bool = False
) -> "_core.ConlluText":
    """The sentences of a piece, with a table of these columns of their words; mistakes are refused.

    Heads are read only if `trees` are wanted: for a program that fills them in, it does not matter what they were.
    """
    from margrave import _core
    from margrave.datasets.opening import check_block

    text, stopped = _core.parse_conllu(block.text, [place(column) for column in columns], format == "conllx", trees)
    check_block(name, block, stopped, sentences(name, block, format, trees=trees))
    return text


def sentences(
    name: str, block: "Block", format: str, *, trees: bool = True, single_root: bool = False
) -> Iterator["Sentence"]:
    """The sentences of a piece as the reader in Python reads them, which knows the lines of mistakes."""
    from margrave.datasets.conllu import conllu_sentences, conllx_sentences
    from margrave.datasets.opening import block_lines

    read = conllx_sentences if format == "conllx" else conllu_sentences
    return read(name, block_lines(name, block), trees=trees, single_root=single_root)
