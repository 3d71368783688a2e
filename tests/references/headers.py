"""Headers of files with another value in one of their fields."""

from collections.abc import Iterator
from typing import Any

# One or more of every type that JSON has, and of every form that model files give to values.
VALUES: list[Any] = [
    None, True, 2, -1, 2**64, 1.5, 10**400, "x", [], ["x"], [[None]], {}, {"x": 1},
    {"kind": "tuple", "items": []}, {"kind": "mapping", "items": [["x", 1]]}, {"kind": "number", "value": "inf"},
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the fields of a header are; of lists, the first two members."""
    yield at
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*at, key))
    elif isinstance(value, list):
        for k, each in enumerate(value[:2]):
            yield from places(each, (*at, k))


def altered(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    """The header with another value in one place."""
    if not at:
        return new
    copied = value.copy()
    copied[at[0]] = altered(value[at[0]], at[1:], new)
    return copied
