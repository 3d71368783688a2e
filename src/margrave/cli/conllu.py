"""CoNLL-U and CoNLL-X files for tasks: sentences, and the columns of their words by name."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from margrave.cli.streams import display_name, source
from margrave.errors import DataError, MargraveError, unknown

if TYPE_CHECKING:
    from margrave.datasets import Sentence, Word

FORMATS = ("conllu", "conllx")
MISSING = "_"

_EXTENSIONS = {".conllu": "conllu", ".conll-u": "conllu", ".conllx": "conllx", ".conll-x": "conllx"}
_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_KEYED = "misc:"  # the value of a key in misc


def format_by_extension(path: str) -> str | None:
    """The format that the name of a file tells, also if it is packed."""
    return _EXTENSIONS.get(os.path.splitext(path.removesuffix(".gz"))[1].lower())


def check_format(name: str) -> None:
    """Refuses a format that is not known."""
    if name not in FORMATS:
        raise unknown("--format", name, FORMATS)


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


def read_sentences(path: str, format: str) -> Iterator["Sentence"]:
    """The sentences of a file or of standard input, at least one."""
    from margrave.datasets import read_conllu, read_conllx

    sentences = {"conllu": read_conllu, "conllx": read_conllx}[format](source(path))
    first = next(sentences, None)
    if first is None:
        raise DataError(display_name(path), None, "it holds no sentences.")
    yield first
    yield from sentences


def rows(sentence: "Sentence", columns: Sequence[str]) -> list[tuple[str, ...]]:
    """These columns of every word."""
    return [tuple(value(word, column) for column in columns) for word in sentence.words]


def value(word: "Word", column: str) -> str:
    """What a word has in a column; _ where misc does not have the key."""
    if not column.startswith(_KEYED):
        text: str = getattr(word, column)
        return text
    prefix = column.removeprefix(_KEYED) + "="
    found = (part.removeprefix(prefix) for part in word.misc.split("|") if part.startswith(prefix))
    return next(found, MISSING)


def with_value(word: "Word", column: str, text: str) -> "Word":
    """The word with another value in a column."""
    if not column.startswith(_KEYED):
        changes: dict[str, Any] = {column: text}
        return replace(word, **changes)
    prefix = column.removeprefix(_KEYED) + "="
    parts = [part for part in word.misc.split("|") if part != MISSING and not part.startswith(prefix)]
    if text != MISSING:
        parts.append(prefix + text)
    return replace(word, misc="|".join(parts) or MISSING)


def with_head(word: "Word", head: int) -> "Word":
    """The word with this head; its relation to another head than before is not known."""
    return word if head == word.head else replace(word, head=head, deprel=MISSING)


def with_probability(word: "Word", probability: float) -> "Word":
    """The word with a probability in misc."""
    return with_value(word, "misc:Probability", f"{probability:.4f}")
