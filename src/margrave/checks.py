"""What users pass and what files hold, turned into checked values; the error for a wrong one is one sentence.

All readers use these functions, so that no text or value leads to an error of Python itself, and none takes more time
than in proportion to its length. Python's own `int` and `float` take other notations as well: digits of other scripts,
1_000 and nan; and `int` takes time that grows with the square of the number of digits.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache
from inspect import get_annotations
from math import isfinite
from numbers import Integral, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from margrave.errors import MargraveError, quoted

_HALF = re.compile("[\ud800-\udfff]")
# Nothing that has been matched is given back (possessive quantifiers), so the time is linear.
_DECIMAL = re.compile(r"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+")


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


def has_length(value: Any) -> bool:
    """Whether it holds items that `len` counts, unlike a text, a type, an array without axes or a sparse matrix.

    >>> has_length([1]), has_length({"a"}), has_length("a"), has_length(None)
    (True, True, False, False)
    """
    if isinstance(value, str | bytes | bytearray | memoryview | type) or not hasattr(value, "__len__"):
        return False
    shape = getattr(value, "shape", None)
    return not isinstance(shape, tuple) or (len(shape) > 0 and not hasattr(value, "tocsr"))


def is_list(value: Any) -> bool:
    """Whether it is ordered and has a length, but is not a text.

    >>> is_list([1]), is_list((1, 2)), is_list({"a"}), is_list("a")
    (True, True, False, False)
    """
    if isinstance(value, list | tuple):
        return True
    return (
        has_length(value)
        and hasattr(value, "__getitem__")
        and hasattr(value, "__iter__")
        and not isinstance(value, Mapping)
    )


def one_of(value: Any, valid: Iterable[Any]) -> bool:
    """Whether it is one of some texts and plain values; nothing else, such as an array, is compared with them.

    >>> one_of("a", ["a", "b"]), one_of([1], [1]), one_of(None, ["a", None])
    (True, False, True)
    """
    return isinstance(value, str | Real | NoneType) and value in tuple(valid)


def is_text(value: Any) -> bool:
    """Whether it is a text that can be written, unlike half of a character (a lone surrogate).

    >>> is_text("a"), is_text(1), is_text("\\ud800")
    (True, False, False)
    """
    return isinstance(value, str) and (value.isascii() or not _HALF.search(value))


def decimal(text: str) -> float | None:
    """The value of a decimal number; None if the text is not a decimal number, or one too large for a float.

    >>> decimal("-1.5e3"), decimal("1_000"), decimal("1e999")
    (-1500.0, None, None)
    """
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    return number if isfinite(number) else None


def natural(text: str, digits: int = 18) -> int | None:
    """The value of a natural number; None if the text is something else or has more than so many digits.

    >>> natural("007"), natural("-1"), natural("1" * 19)
    (7, None, None)
    """
    return int(text) if 0 < len(text) <= digits and text.isascii() and text.isdigit() else None


def is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold, and neither infinite nor NaN.

    >>> is_number(1), is_number(10**400), is_number(True)
    (True, False, False)
    """
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        return False


def named_numbers(what: str, given: Any) -> dict[str, float]:
    """Finite numbers by name, such as the features of an edge."""
    if not isinstance(given, Mapping):
        raise MargraveError(f"{what} must be numbers by name, not {quoted(given)}.")
    for name, value in given.items():
        if not is_text(name) or not is_number(value):
            raise MargraveError(f"{what} must be finite numbers by name, not {quoted(name)}: {quoted(value)}.")
    return {name: float(value) for name, value in given.items()}


def is_a(value: Any, kind: Any) -> bool:
    """Whether a value has a type, given as an annotation; texts and protocols say nothing, and hold.

    Lists are tuples and the other way round, texts are not collections, numbers are not bools, and whole numbers have
    64 bits.

    >>> is_a([1, 2], tuple[int, ...]), is_a([1, "x"], list[int]), is_a(True, int), is_a(1, float | None)
    (True, False, False, True)
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(is_a(value, each) for each in inner)
    if kind is None or kind is NoneType:
        return value is None
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, Integral if kind is int else Real):
            return False
        return not isinstance(value, Integral) or -(2**63) <= int(value) < 2**63
    found = origin or kind
    if kind is Any or not isinstance(found, type) or getattr(found, "_is_protocol", False):
        return True
    if issubclass(found, Mapping):
        if not isinstance(value, Mapping):
            return False
        return not inner or all(is_a(key, inner[0]) and is_a(each, inner[1]) for key, each in value.items())
    plain = found in (list, tuple)
    if not plain and not (found.__module__ == "collections.abc" and issubclass(found, Collection)):
        return isinstance(value, found)
    if isinstance(value, str | Mapping) or not isinstance(value, list | tuple if plain else found):
        return False
    items: Any = value
    if found is tuple and inner and inner[-1] is not Ellipsis:
        return len(items) == len(inner) and all(is_a(each, of) for each, of in zip(items, inner, strict=True))
    return not inner or all(is_a(each, inner[0]) for each in items)


@cache
def declared_types(kind: Any) -> Mapping[str, Any]:
    """The types of the annotated attributes of a class; those that only type checkers know say nothing."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        names = vars(sys.modules[base.__module__])
        for name, annotation in get_annotations(base).items():
            found[name] = annotation
            with suppress(NameError):  # A type that is imported for type checkers only stays a text.
                found |= get_type_hints(SimpleNamespace(__annotations__={name: annotation}), names)
    return found


class Fields(dict[str, Any]):
    """The fields of an object that a file holds; one that is missing, or of another type, is an error.

    >>> fields = Fields({"labels": 3})
    >>> fields.of("labels", str)
    Traceback (most recent call last):
        ...
    margrave.errors.MargraveError: its labels cannot be 3.
    """

    def __missing__(self, name: str) -> Any:
        raise MargraveError(f"it has no {name}.")

    def of(self, name: str, kind: Any) -> Any:
        """The field of this name, which must have this type."""
        value = self[name]
        if not is_a(value, kind):
            raise MargraveError(f"its {name} cannot be {quoted(value)}.")
        return value


def fields_of(what: str, value: Any) -> Fields:
    """The fields of what should be an object."""
    if not isinstance(value, Mapping):
        raise MargraveError(f"its {what} must be fields by name, not {quoted(value)}.")
    return Fields(value)


def flag(name: str, value: Any) -> bool:
    """The value as a bool; an error if it is not one."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):  # NumPy's bool is not a subclass.
        return bool(value)
    raise MargraveError(f"{name} must be True or False, and it is {quoted(value)}.")


def truth(name: str, value: Any) -> bool:
    """Whether the value is true, as Python has it; an error if that cannot be told, as of an array."""
    try:
        return bool(value)
    except (TypeError, ValueError):
        raise MargraveError(f"{name} must be True or False, and it is {quoted(value)}.") from None
