"""Errors, whose messages are one sentence that says what is wrong, where, and what to do."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from os import PathLike, fspath


class MargraveError(ValueError):
    """An error in the input; the message is one clear sentence."""


class DataError(MargraveError):
    """An error in a file; the message begins with its name and line.

    >>> str(DataError("train.conll", 1042, "2 columns, but the lines before have 3."))
    'train.conll, line 1042: 2 columns, but the lines before have 3.'
    """

    def __init__(self, path: str | PathLike[str], line: int | None, message: str) -> None:
        where = fspath(path) if line is None else f"{fspath(path)}, line {line}"
        super().__init__(f"{where}: {message}")


def counted(count: int, what: str) -> str:
    """A number with its noun in the singular or the plural.

    >>> counted(1, "list"), counted(3, "list")
    ('1 list', '3 lists')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def either(texts: Sequence[str]) -> str:
    """Texts with commas and "or" between them.

    >>> either(["log"]), either(["log", "hinge", "ramp"])
    ('log', 'log, hinge or ramp')
    """
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def the_first(numbers: Sequence[object], most: int = 10) -> str:
    """The first few numbers, so that a message stays short.

    >>> the_first([3, 7, 9], most=2)
    '3, 7, ...'
    """
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


def shortened(text: str, most: int = 80) -> str:
    """The text, cut at this many characters.

    >>> shortened("a long text", 8)
    'a lon...'
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def unknown(kind: str, name: object, valid: Iterable[str]) -> MargraveError:
    """The error for a name that is not among the valid ones, with the nearest of them suggested.

    >>> str(unknown("loss", "hing", ["log", "hinge"]))
    "unknown loss 'hing'; did you mean 'hinge'? (valid: log, hinge)"
    """
    valid = list(valid)
    near = get_close_matches(str(name), valid, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return MargraveError(f"unknown {kind} {name!r}; {hint}(valid: {', '.join(valid)})")
