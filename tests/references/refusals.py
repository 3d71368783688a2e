"""What is said when something is refused: one sentence on one line."""

from collections.abc import Callable
from typing import Any

import pytest

from margrave import MargraveError
from margrave.errors import DataError


def refusal(call: Callable[[], object], kind: type[Exception] = MargraveError) -> str:
    """The one sentence with which a call is refused."""
    with pytest.raises(kind) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith((".", ")"))  # "unknown ...; (valid: ...)" ends in its list
    assert "incompatible function arguments" not in message
    return message


def refusal_of_file(read: Callable[..., Any], path: Any, **options: Any) -> str:
    """What is said of a file, after its name."""
    with pytest.raises(DataError) as error:
        result = read(path, **options)
        if not isinstance(result, list | tuple | dict):
            list(result)
    text = str(error.value)
    assert text.startswith(str(path)) and "\n" not in text
    return text.removeprefix(str(path))
