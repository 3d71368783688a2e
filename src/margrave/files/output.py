"""Files that are written whole or not at all; what must not be overwritten is refused before any work is done."""

import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from typing import BinaryIO

from margrave.errors import DataError


def check_output(path: str | PathLike[str]) -> str:
    """Where a file is to be written, which is where a link points to, if it can be.

    Refused is also what os.replace would overwrite without asking: it heeds the folder's permissions, not the file's.
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
        if not mode & 0o222 or not os.access(target, os.W_OK):  # the mode too: a superuser has access to everything
            raise DataError(path, None, "cannot be written: the file is read-only.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(path, None, "cannot be written: its directory is read-only.")
    return target


@contextmanager
def replacing(path: str | PathLike[str], *, alone: bool = False) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` once it is whole and safely on the disk, and else never.

    `alone`: no other process writes it. Its temporary name is then always the same, so that a process that is killed
    again and again leaves no more than one temporary file.
    """
    folder, name = os.path.split(check_output(path))  # a symbolic link stays one
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
    """The error for a file that could not be written after all."""
    return DataError(path, None, f"cannot be written: {reason(error)}.")


def reason(error: OSError) -> str:
    """What went wrong, as a part of a sentence."""
    return (error.strerror or str(error)).lower()
