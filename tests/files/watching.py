"""Which files Python opens for writing. The hook stays to the end, so its module refers to little."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_watched: list[list[str]] = []


@contextmanager
def opened_for_writing() -> Iterator[list[str]]:
    """The paths that are opened for writing within the block."""
    _add_hook()
    paths: list[str] = []
    _watched.append(paths)
    try:
        yield paths
    finally:
        _watched.pop()


@cache
def _add_hook() -> None:
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event == "open":
        path, _, flags = arguments
        if flags & (os.O_WRONLY | os.O_RDWR):
            _watched[-1].append(os.fspath(path))
