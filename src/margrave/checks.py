"""Checks of settings; the error for a wrong setting is one sentence that names it."""

import re
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from margrave.errors import MargraveError, quoted

_HALF = re.compile("[\ud800-\udfff]")


def real(name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> float:
    """The value as a float; an error if it is not a number for which the rule holds.

    >>> real("C", -1, "be positive and finite", lambda C: C > 0)
    Traceback (most recent call last):
        ...
    margrave.errors.MargraveError: C must be positive and finite, and it is -1.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise MargraveError(f"{name} must be a number, and it is {quoted(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = float("nan")
    if not holds(number):
        raise MargraveError(f"{name} must {rule}, and it is {quoted(value)}.")
    return number


def whole(name: str, value: Any, low: float, high: float) -> int:
    """The value as an int; an error if it is not a whole number from low to high."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise MargraveError(f"{name} must be a whole number, and it is {quoted(value)}.")
    if not low <= int(value) <= high:
        bound = f"at least {low}" if int(value) < low else f"at most {high}"
        raise MargraveError(f"{name} must be {bound}, and it is {quoted(value)}.")
    return int(value)


def is_text(value: Any) -> bool:
    """Whether it is a text that can be written, unlike half of a character (a lone surrogate).

    >>> is_text("a"), is_text(1), is_text("\\ud800")
    (True, False, False)
    """
    return isinstance(value, str) and (value.isascii() or not _HALF.search(value))


def flag(name: str, value: Any) -> bool:
    """The value as a bool; an error if it is not one."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):  # NumPy's bool is not a subclass.
        return bool(value)
    raise MargraveError(f"{name} must be True or False, and it is {quoted(value)}.")
