"""Files that are to be written: what would fail, or must not be overwritten, is refused before any work is done."""

import os
import stat
from os import PathLike

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


def not_written(path: str | PathLike[str], error: OSError) -> DataError:
    """The error for a file that could not be written after all."""
    return DataError(path, None, f"cannot be written: {reason(error)}.")


def reason(error: OSError) -> str:
    """What went wrong, as a part of a sentence."""
    return (error.strerror or str(error)).lower()
