"""How much memory the contents of a file may take.

A small file can describe something large: a vector by its length, text by its compressed form, the paths of a deep
hierarchy by one line. What a file makes us allocate is therefore bounded by what it contains. Each reader has a `Room`
that grows with what it has read, and takes from it before it allocates.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from margrave.errors import MargraveError

VARIABLE = "MARGRAVE_FILE_MEMORY"  # environment variable: a number of bytes, instead of _FREE

# Hashed features make sparse vectors: one of 2^25 weights, of which a few are not zero, still fits.
_FREE = 1 << 28
# Text and vectors of few different values take a hundredth of their size on the disk at best.
_TIMES = 100


class TooLargeError(MargraveError):
    """A file describes something much larger than itself."""


class Room:
    """The bytes that the contents of one file may still take: a fixed number, and a multiple of what was read."""

    def __init__(self, read: int = 0) -> None:
        self._left = _free() + _TIMES * read

    def add(self, read: int) -> None:
        """So many bytes more were read."""
        self._left += _TIMES * read

    def take(self, size: int, what: str) -> None:
        """Refuse to allocate so many bytes if there is no room for them."""
        self._left -= size
        if self._left < 0:
            raise TooLargeError(
                f"{what} would take far more memory than the file suggests: if you trust the file, set the environment "
                f"variable {VARIABLE} to the number of bytes that it may take ({_free()} now)."
            )


_current: ContextVar[Room | None] = ContextVar("_current", default=None)


@contextmanager
def room_of_file(read: int) -> Iterator[None]:
    """Within this context, `take_room` counts for one file that has so many bytes."""
    token = _current.set(Room(read))
    try:
        yield
    finally:
        _current.reset(token)


def take_room(size: int, what: str) -> None:
    """Refuse to allocate so many bytes for what the current file describes, if there is no room for them."""
    if (room := _current.get()) is not None:
        room.take(size, what)


def longest_line() -> int:
    """The most characters that a line may have, whose text stands in memory twice while it is read."""
    return _free() // 2


def _free() -> int:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return _FREE
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise MargraveError(f"the environment variable {VARIABLE} must be a number of bytes, and it is {text!r}.")
    return int(text)
