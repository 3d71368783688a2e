"""The columns of words of CoNLL-U by name, as Python reads and fills them in: what the core is compared with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from margrave.data import Sentence, Word

MISSING = "_"
_KEYED = "misc:"  # the value of a key in misc


def rows(sentence: Sentence, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """These columns of every word."""
    return [tuple(value(word, column) for column in columns) for word in sentence.words]


def value(word: Word, column: str) -> str:
    """What a word has in a column; _ where misc does not have the key."""
    if not column.startswith(_KEYED):
        text: str = getattr(word, column)
        return text
    prefix = column.removeprefix(_KEYED) + "="
    found = (part.removeprefix(prefix) for part in word.misc.split("|") if part.startswith(prefix))
    return next(found, MISSING)


def with_value(word: Word, column: str, text: str) -> Word:
    """The word with another value in a column."""
    if not column.startswith(_KEYED):
        changes: dict[str, Any] = {column: text}
        return replace(word, **changes)
    prefix = column.removeprefix(_KEYED) + "="
    parts = [part for part in word.misc.split("|") if part != MISSING and not part.startswith(prefix)]
    if text != MISSING:
        parts.append(prefix + text)
    return replace(word, misc="|".join(parts) or MISSING)


def with_head(word: Word, head: int) -> Word:
    """The word with this head; its relation to another head than before is not known."""
    return word if head == word.head else replace(word, head=head, deprel=MISSING)


def with_probability(word: Word, probability: float) -> Word:
    """The word with a probability in misc."""
    return with_value(word, "misc:Probability", f"{probability:.4f}")
