"""JSON in the lines of files: what is wrong with a line is said in one sentence."""

import json
from typing import Any

from margrave.errors import MargraveError


def parse_json(text: str, **settings: Any) -> Any:
    """The value that a line writes in JSON.

    Parameters
    ----------
    text : the line.
    settings : for `json.loads`.

    >>> parse_json('{"word": "\\\\ud800"}')
    Traceback (most recent call last):
    margrave.errors.MargraveError: a text has \\ud800, which is half of a character: write both halves, or all of it.
    """
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
    except ValueError as error:
        raise MargraveError(f"it is not JSON: {getattr(error, 'msg', error)}.") from None
    return value
