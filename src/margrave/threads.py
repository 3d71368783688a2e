"""How many threads there are."""

import os


def available_threads(wanted: int | None) -> int:
    """The given number; None and -1 mean the number of processors that this process can use."""
    if wanted is not None and wanted != -1:
        return wanted
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
