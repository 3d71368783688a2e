"""The memory that a computation will take, compared with what is available before it is taken.

A system that has promised more memory than it has ends the process without a word, and NumPy's own error names neither
the cause nor a remedy.
"""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError, setting


class OutOfMemoryError(MargraveError, MemoryError):
    """There was no memory left in the middle of a computation."""


_CGROUPS = Path("/sys/fs/cgroup")
_CGROUPS_OF_PROCESS = Path("/proc/self/cgroup")
_VERSION_2 = ("memory.max", "memory.current", "")  # the limit of a group, what it uses, the prefix of its statistics
_VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")


def available_memory() -> float:
    """The bytes that this process can still take; infinite where the system does not say."""
    path, path_1 = _groups_of_process()
    groups = [(folder, _VERSION_2) for folder in _with_parents(_CGROUPS, path)]
    groups += [(folder, _VERSION_1) for folder in _with_parents(_CGROUPS / "memory", path_1)]
    return min([_of_system(), *(_of_group(folder, *names) for folder, names in groups)])


def check_memory(size: float, what: str, remedy: str) -> None:
    """Refuse a computation that needs more bytes than there are, in one sentence.

    Parameters
    ----------
    size : the number of bytes.
    what : what asks for them.
    remedy : what the user can do about it.
    """
    if size < 2**20:  # Asking the system takes longer than so little is worth.
        return
    available = available_memory()
    if size > available:
        raise MargraveError(
            f"{what} would take {size / 2**30:.3g} GiB of memory, and {available / 2**30:.3g} GiB are available: ",
            remedy,
            ".",
        )


@contextmanager
def within_memory(what: str) -> Iterator[None]:
    """Says in one sentence that the system had no memory left, wherever that was noticed.

    Parameters
    ----------
    what : what asked for it.
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError(
            f"{what} ran out of memory: use fewer examples or features, ", setting(n_jobs=1), ", or more memory."
        ) from error


def lazy_zeros(n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros that take no memory before they are written.

    NumPy asks for huge pages, which the system clears as a whole. Distributions are read and written example by
    example, so huge pages gain nothing, and virtual machines can take long to provide them.
    """
    size = max(1, n * dtype.itemsize)
    try:
        room = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{size} bytes cannot be allocated.") from error
    return np.frombuffer(room, dtype, n)


def _of_system() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return inf


def _groups_of_process() -> tuple[str, str]:
    """The control groups of this process, of version 2 and of the memory controller of version 1; "/" is the root."""
    paths = {"": "/", "memory": "/"}
    try:
        lines = _CGROUPS_OF_PROCESS.read_text().splitlines()
    except (OSError, ValueError):
        lines = []
    for line in lines:
        _, _, entry = line.partition(":")
        controllers, _, path = entry.partition(":")
        for controller in paths.keys() & set(controllers.split(",")):
            paths[controller] = path
    return paths[""], paths["memory"]


def _with_parents(root: Path, path: str) -> list[Path]:
    """The folders from the root to that of a group; a container may not see all of them."""
    names = [name for name in path.split("/") if name]
    if ".." in names:  # The group is outside of what this process sees.
        names = []
    return [root.joinpath(*names[:length]) for length in range(len(names) + 1)]


def _of_group(folder: Path, limit: str, usage: str, prefix: str) -> float:
    """What a control group leaves: the system drops the pages of files that it has read before it refuses memory."""
    most = _number(folder / limit)
    if most == inf:
        return inf
    used = _number(folder / usage, 0.0)
    files = _statistic(folder, f"{prefix}inactive_file") + _statistic(folder, f"{prefix}active_file")
    return max(most - max(used - files, 0.0), 0.0)


def _statistic(folder: Path, name: str) -> float:
    """A number of `memory.stat`; 0 if there is none."""
    try:
        pairs = map(str.split, (folder / "memory.stat").read_text().splitlines())
        return max(next((float(int(pair[1])) for pair in pairs if pair[:1] == [name]), 0.0), 0.0)
    except (OSError, ValueError, IndexError):
        return 0.0


def _number(path: Path, otherwise: float = inf) -> float:
    """The number in a file; `otherwise` if there is none ("max" means that there is no limit)."""
    try:
        return float(int(path.read_text()))
    except (OSError, ValueError):
        return otherwise
