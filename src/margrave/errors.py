"""Errors, whose messages are one sentence that says what is wrong, where, and what to do."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike, fspath
from typing import Any


@dataclass(frozen=True)
class Setting:
    """A setting with the values that a message suggests. In Python it is a parameter, on the command line an option.

    >>> str(Setting("learner", ("eg", "bcfw", "lbfgs")))
    "learner='eg', 'bcfw' or 'lbfgs'"
    """

    name: str
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name}={either([*map(repr, self.values)])}"


def setting(**named: Any) -> Setting:
    """One setting with its value, or with several values in a tuple.

    >>> str(setting(slack=1))
    'slack=1'
    """
    ((name, value),) = named.items()
    return Setting(name, value if isinstance(value, tuple) else (value,))


class Message(str):
    """A text of parts, some of which are settings: as a text, it names them as parameters of Python.

    >>> message = Message("use ", setting(learner="eg"), ", or fewer examples")
    >>> str(message)
    "use learner='eg', or fewer examples"
    >>> message.written(lambda setting: f"--{setting.name} {setting.values[0]}")
    'use --learner eg, or fewer examples'
    """

    parts: tuple[str | Setting, ...]

    def __new__(cls, *parts: str | Setting) -> "Message":
        """The text of the parts."""
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts = tuple(one for part in parts for one in (part.parts if isinstance(part, Message) else [part]))
        return text

    def written(self, write: Callable[[Setting], str]) -> str:
        """The text with the settings as `write` has them."""
        return "".join(write(part) if isinstance(part, Setting) else part for part in self.parts)


class MargraveError(ValueError):
    """An error in the input; the message is one clear sentence.

    Parameters
    ----------
    parts : the parts of the message: texts, and settings that the command line calls by the names of its options.
    """

    def __init__(self, *parts: str | Setting) -> None:
        self.message = Message(*parts)
        super().__init__(self.message)


class TimeUpError(BaseException):
    """The time limit of a run has passed. Like KeyboardInterrupt, it is no Exception, and the run ends with a model."""


class DataError(MargraveError):
    """An error in a file; the message begins with its name and line.

    >>> str(DataError("train.conll", 1042, "2 columns, but the lines before have 3."))
    'train.conll, line 1042: 2 columns, but the lines before have 3.'
    """

    def __init__(self, path: str | PathLike[str], line: int | None, *parts: str | Setting) -> None:
        where = fspath(path) if line is None else f"{fspath(path)}, line {line}"
        super().__init__(f"{where}: ", *parts)


def quoted(value: object, most: int = 80) -> str:
    """What was passed or read, as a message quotes it: cut after some characters.

    >>> quoted("a" * 5), quoted("a" * 500, most=3), quoted([1, 2], most=3)
    ("'aaaaa'", "'aaa...'", '[1,...')
    """
    if isinstance(value, str):
        return repr(value if len(value) <= most else f"{value[:most]}...")
    try:
        text = " ".join(repr(value).split())  # on one line, unlike that of an array
    except ValueError:  # Python does not write whole numbers of thousands of digits.
        text = f"a {type(value).__name__} that is too long to be shown"
    return text if len(text) <= most else f"{text[:most]}..."


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


def the_first(numbers: Sequence[object], most: int = 10, between: str = ", ") -> str:
    """The first few numbers, so that a message stays short.

    >>> the_first([3, 7, 9], most=2)
    '3, 7, ...'
    """
    return between.join([*map(str, numbers[:most]), *(["..."] if len(numbers) > most else [])])


def shortened(text: str, most: int = 80) -> str:
    """The text on one line, cut at this many characters; control characters are shown as escapes.

    The core's messages pass through this as well.

    >>> shortened("a long text", 8), shortened("a\\nb")
    ('a lon...', 'a\\\\nb')
    """
    text = text[: most + 1]
    if not text.isprintable():
        text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    return text if len(text) <= most else text[: most - 3] + "..."


def unknown(kind: str, name: object, valid: Iterable[str]) -> MargraveError:
    """The error for a name that is not among the valid ones, with the nearest of them suggested.

    >>> str(unknown("loss", "hing", ["log", "hinge"]))
    "unknown loss 'hing'; did you mean 'hinge'? (valid: log, hinge)"
    """
    valid = list(valid)
    near = [each for each in valid if each.lower() == str(name).lower()] or get_close_matches(str(name), valid, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return MargraveError(f"unknown {kind} {quoted(name)}; {hint}(valid: {', '.join(valid)})")
