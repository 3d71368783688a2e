"""The operations by which all files are written; tests replace them by those of a disk that fails or loses power."""

import errno
import os
from io import RawIOBase
from typing import Any

# What systems answer that cannot synchronize a folder, such as some that keep their files on a network.
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


class Disk:
    """What happens to files: every method is one operation, and raises OSError if it fails."""

    def create(self, path: str, mode: int) -> int:
        """Open a new file for writing; its number."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)

    def set_mode(self, file: int, mode: int) -> None:
        """Set the permissions of an open file."""
        os.fchmod(file, mode)

    def write(self, file: int, content: memoryview) -> int:
        """Write the beginning of the content; the number of bytes written."""
        return os.write(file, content)

    def sync(self, file: int) -> None:
        """Wait until all that was written to the file would survive a loss of power."""
        os.fsync(file)

    def close(self, file: int) -> None:
        """Close the file."""
        os.close(file)

    def replace(self, old: str, new: str) -> None:
        """Give a file the name of another one, which it replaces."""
        os.replace(old, new)

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.unlink(path)

    def sync_folder(self, path: str) -> None:
        """Wait until the names in the folder would survive a loss of power, where the system can."""
        try:
            folder = os.open(path, os.O_RDONLY)
        except PermissionError:  # It can be written, but not read.
            return
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in _NO_SYNC:
                raise
        finally:
            os.close(folder)


class DiskFile(RawIOBase):
    """A new file on a disk. It has no file number, so nothing can write past the disk."""

    def __init__(self, disk: Disk, path: str, mode: int) -> None:
        self._disk = disk
        self._file = disk.create(path, mode)

    def writable(self) -> bool:
        """It can be written, and nothing else."""
        return True

    def write(self, content: Any) -> int:
        """Write the beginning of the content; the number of bytes written."""
        with memoryview(content) as view:
            written = self._disk.write(self._file, view)
            if written == 0 and view.nbytes:
                raise OSError(errno.EIO, "nothing could be written")
        return written

    def set_mode(self, mode: int) -> None:
        """Set its permissions."""
        self._disk.set_mode(self._file, mode)

    def sync(self) -> None:
        """Wait until all that was written would survive a loss of power."""
        self._disk.sync(self._file)

    def close(self) -> None:
        """Close it; once."""
        if not self.closed:
            super().close()
            self._disk.close(self._file)
