"""Disks for tests: one that fails on purpose, one that writes little at a time, and one that can lose its power."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from margrave.files.disk import Disk

OPERATIONS = ("create", "set_mode", "write", "sync", "close", "replace", "remove", "sync_folder")


class FailingDisk(Disk):
    """A disk whose n-th operation fails, or writes only half of what it is given if it is a write and `short`.

    After half of a write, the next operation fails, as on a disk that is full.
    """

    def __init__(self, n: int, *, short: bool = False) -> None:
        self._left = n
        self._short = short
        self.failed: str | None = None  # the operation

    def _fails(self, operation: str) -> bool:
        self._left -= 1
        if self._left == 0:
            self.failed = operation
        return self._left == 0

    def _check(self, operation: str) -> None:
        if self._fails(operation):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def create(self, path: str, mode: int) -> int:
        self._check("create")
        return super().create(path, mode)

    def set_mode(self, file: int, mode: int) -> None:
        self._check("set_mode")
        super().set_mode(file, mode)

    def write(self, file: int, content: memoryview) -> int:
        if self._short and self._left == 2 and content.nbytes > 1:
            self._left -= 1
            return super().write(file, content[: content.nbytes // 2])
        self._check("write")
        return super().write(file, content)

    def sync(self, file: int) -> None:
        self._check("sync")
        super().sync(file)

    def close(self, file: int) -> None:
        super().close(file)  # A file whose closing fails is closed.
        self._check("close")

    def replace(self, old: str, new: str) -> None:
        self._check("replace")
        super().replace(old, new)

    def remove(self, path: str) -> None:
        self._check("remove")
        super().remove(path)

    def sync_folder(self, path: str) -> None:
        self._check("sync_folder")
        super().sync_folder(path)


class SlowDisk(Disk):
    """A disk that writes at most so many bytes at a time."""

    def __init__(self, most: int) -> None:
        self._most = most

    def write(self, file: int, content: memoryview) -> int:
        return super().write(file, content[: self._most])


@dataclass
class _Content:
    """What one file has: what is on the disk for certain, and what may be lost."""

    synced: bytes = b""
    written: bytes = b""


@dataclass
class MortalDisk(Disk):
    """A disk that knows what could be left of a folder if the power had been lost after any of its operations.

    What was written to a file since its last sync is lost as a whole, lost in part, or not lost. Of the changes of
    names since the last sync of the folder, the last ones are lost, any number of them.
    """

    folder: Path
    created: list[str] = field(default_factory=list)
    syncs: bool = True  # False: a disk that only says that it syncs
    _contents: dict[int, _Content] = field(default_factory=dict)  # by serial number
    _open: dict[int, int] = field(default_factory=dict)  # serial numbers by file number
    _names: list[dict[str, int]] = field(default_factory=list)  # serial numbers by name: what is synced, and what came
    _serial: Any = field(default_factory=count)
    states: list[list[dict[str, bytes]]] = field(default_factory=list)  # what could be left, after each operation

    def __post_init__(self) -> None:
        names = {}
        for path in self.folder.iterdir():
            names[str(path)] = serial = next(self._serial)
            self._contents[serial] = _Content(path.read_bytes(), path.read_bytes())
        self._names = [names]
        self._note()

    def create(self, path: str, mode: int) -> int:
        file = super().create(path, mode)
        self.created.append(path)
        self._open[file] = serial = next(self._serial)
        self._contents[serial] = _Content()
        self._change({path: serial})
        return file

    def write(self, file: int, content: memoryview) -> int:
        written = super().write(file, content)
        self._contents[self._open[file]].written += bytes(content[:written])
        self._note()
        return written

    def sync(self, file: int) -> None:
        content = self._contents[self._open[file]]
        if self.syncs:
            content.synced = content.written
        self._note()

    def replace(self, old: str, new: str) -> None:
        super().replace(old, new)
        self._change({new: self._names[-1][old]}, old)

    def remove(self, path: str) -> None:
        super().remove(path)
        self._change({}, path)

    def sync_folder(self, path: str) -> None:
        if self.syncs:
            self._names = self._names[-1:]
        self._note()

    def _change(self, new: dict[str, int], *gone: str) -> None:
        self._names.append({name: of for name, of in self._names[-1].items() if name not in gone} | new)
        self._note()

    def _note(self) -> None:
        self.states.append(list(self._left()))

    def _left(self) -> Iterator[dict[str, bytes]]:
        for names in self._names:
            for kept in (0.0, 0.5, 1.0):
                yield {name: _after_loss(self._contents[serial], kept) for name, serial in names.items()}


def _after_loss(content: _Content, kept: float) -> bytes:
    """What is left of a file if this share of what was not synced is kept."""
    new = content.written[len(content.synced) :]
    return content.synced + new[: round(kept * len(new))]
