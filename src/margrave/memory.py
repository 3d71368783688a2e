"""The memory that a computation will take, compared with what is available before it is taken.

A system that has promised more memory than it has ends the process without a word, and NumPy's own error names neither
the cause nor a remedy.
"""

from math import inf
from pathlib import Path

from margrave.errors import MargraveError

_CGROUPS = (  # the limit of a container, and what it uses: of version 2 and version 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_memory() -> float:
    """The bytes that this process can still take; infinite where the system does not say."""
    return min([_of_system(), *(_number(most) - _number(used, 0.0) for most, used in _CGROUPS)])


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
            f"{what} would take {size / 2**30:.3g} GiB of memory, and {available / 2**30:.3g} GiB are available: "
            f"{remedy}."
        )


def _of_system() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return inf


def _number(path: str, otherwise: float = inf) -> float:
    """The number in a file; `otherwise` if there is none ("max" means that there is no limit)."""
    try:
        return float(int(Path(path).read_text()))
    except (OSError, ValueError):
        return otherwise
