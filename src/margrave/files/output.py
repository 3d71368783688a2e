"""Atomic replacement of files; files that must not be overwritten are refused before any work is done."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter
from os import PathLike
from typing import BinaryIO, cast

from margrave.errors import DataError
from margrave.files.disk import Disk, DiskFile

disk = Disk()  # Tests put another one here.

_BUFFER = 1 << 18  # in bytes
_EVERYBODY, _OWNER = 0o666, 0o600  # permissions, of which the system takes away those of the umask


def check_output(path: str | PathLike[str]) -> str:
    """The path to which a file will be written, with links resolved; an error if it cannot be written.

    Read-only files are refused as well: os.replace would overwrite them, because it checks only the permissions of the
    folder.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise DataError(path, None, "cannot be written: its directory does not exist.")
    if os.path.exists(target):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise DataError(path, None, "cannot be written: it is a directory.")
        if not stat.S_ISREG(mode):
            raise DataError(path, None, "cannot be written: it is not an ordinary file.")
        if not mode & 0o222 or not os.access(target, os.W_OK):  # A superuser has access to all files.
            raise DataError(path, None, "cannot be written: the file is read-only.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(path, None, "cannot be written: its directory is read-only.")
    return target


@contextmanager
def replacing(path: str | PathLike[str], *, alone: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` once it is complete and on the disk.

    Afterwards the file survives a loss of power, and before, what was there does: the content reaches the disk before
    the name, and the name before this ends. With `alone`, no other process writes the file. Its temporary name is then
    always the same, so that a process that is killed repeatedly leaves at most one temporary file.
    """
    import hashlib  # here, because the command line's help imports this module and must be fast
    import secrets

    folder, name = os.path.split(check_output(path))  # A symbolic link remains a link.
    mark = hashlib.sha256(os.fsencode(name)).hexdigest()[:16] if alone else secrets.token_hex(8)
    target, temporary = os.path.join(folder, name), os.path.join(folder, f".margrave-{mark}.tmp")
    try:
        mode = _mode(target)
        if alone:
            with suppress(FileNotFoundError):
                disk.remove(temporary)
        try:
            # What replaces a private file is private from the beginning.
            raw = DiskFile(disk, temporary, _EVERYBODY if mode is None else _OWNER)
            with BufferedWriter(raw, _BUFFER) as file:
                if mode is not None:
                    raw.set_mode(mode)
                yield cast(BinaryIO, file)
                file.flush()
                raw.sync()
            disk.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                disk.remove(temporary)
            raise
    except OSError as error:
        raise not_written(path, error) from error
    try:
        disk.sync_folder(folder)
    except OSError as error:
        raise DataError(
            path,
            None,
            f"it is complete, but its directory cannot be synced ({reason(error)}): a loss of power could undo it.",
        ) from error


def _mode(path: str) -> int | None:
    """The permissions of a file; None if there is none."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


def not_written(path: str | PathLike[str], error: OSError) -> DataError:
    """The error for a file that could not be written."""
    return DataError(path, None, f"cannot be written: {reason(error)}.")


def reason(error: OSError) -> str:
    """The reason of an error, as part of a sentence."""
    return (error.strerror or str(error)).lower()
