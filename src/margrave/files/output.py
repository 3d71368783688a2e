"""Atomic replacement of files; files that must not be overwritten are refused before any work is done."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import BinaryIO

from margrave.errors import DataError


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

    With `alone`, no other process writes the file. Its temporary name is then always the same, so that a process that
    is killed repeatedly leaves at most one temporary file.
    """
    import hashlib  # here, because the command line's help imports this module and must be fast
    import secrets
    import shutil

    folder, name = os.path.split(check_output(path))  # A symbolic link remains a link.
    mark = hashlib.sha256(os.fsencode(name)).hexdigest()[:16] if alone else secrets.token_hex(8)
    target, temporary = os.path.join(folder, name), os.path.join(folder, f".margrave-{mark}.tmp")
    try:
        if alone:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if os.path.exists(target):
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise not_written(path, error) from error


def not_written(path: str | PathLike[str], error: OSError) -> DataError:
    """The error for a file that could not be written."""
    return DataError(path, None, f"cannot be written: {reason(error)}.")


def reason(error: OSError) -> str:
    """The reason of an error, as part of a sentence."""
    return (error.strerror or str(error)).lower()
