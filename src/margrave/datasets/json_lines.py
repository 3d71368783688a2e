"""JSON in the lines of files: what is wrong with a line is said in one sentence."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from margrave.checks import is_number
from margrave.errors import MargraveError, quoted, shortened

# What a number that is too large for a float looks like; other texts can look like it, too.
_LONGEST = 310
_LARGE = re.compile(r"[0-9]{309}|[0-9][eE]\+?[0-9]{3}")


def parse_json(text: str, **settings: Any) -> Any:
    """The value that a line writes in JSON; its numbers are finite, and a float can hold them.

    Parameters
    ----------
    text : the line.
    settings : for `json.loads`.

    >>> parse_json('{"word": "\\\\ud800"}')
    Traceback (most recent call last):
    margrave.errors.MargraveError: a text has \\ud800, which is half of a character: write both halves, or all of it.
    """
    settings["parse_constant"] = _refuse_number
    if _LARGE.search(text):  # Calls for each number would take most of the time.
        settings["parse_int"], settings["parse_float"] = _whole, _real
    try:
        value = json.loads(text, **settings)
        if "\\u" in text:  # An escape may write half of a character, which no file and no vocabulary can hold.
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start].encode("ascii", "backslashreplace").decode()
        raise MargraveError(
            f"a text has {half}, which is half of a character: write both halves, or all of it."
        ) from None
    except RecursionError:
        raise MargraveError("it is not JSON that can be read: it is nested too deeply.") from None
    except json.JSONDecodeError as error:
        raise MargraveError(f"it is not JSON: {error.msg}.") from None
    return value


def json_line(value: Mapping[str, Any]) -> str:
    """The line of a JSON object; what JSON cannot hold is an error."""
    try:
        return json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise MargraveError(f"the line {quoted(value)} cannot be written as JSON: {error}.") from None


def check_keys(value: Any, known: Sequence[str], what: str) -> None:
    """Refuse anything but an object with these keys."""
    if not isinstance(value, Mapping):
        raise MargraveError(f"{what} must be a JSON object, not {quoted(value)}.")
    for key in value:
        if key not in known:
            raise MargraveError(f"{what} has {', '.join(known[:-1])} and {known[-1]}, not {quoted(key)}.")


def name_of(value: Any) -> str:
    """A name or a number that stands for an example."""
    if not isinstance(value, str) and not is_number(value):
        raise MargraveError(f'"id" must be a text or a number, not {quoted(value)}.')
    return str(value)


def _whole(text: str) -> Any:
    value = int(text) if len(text) <= _LONGEST else None  # Longer ones take Python too long.
    return value if is_number(value) else _refuse_number(text)


def _real(text: str) -> Any:
    value = float(text)
    return value if is_number(value) else _refuse_number(text)


def _refuse_number(text: str) -> Any:
    raise MargraveError(f"the number {shortened(text)} is not finite, or too large.")
