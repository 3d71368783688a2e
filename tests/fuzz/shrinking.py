"""Smaller cases that fail at the same place: parts of lists and texts are left out as long as the failure stays."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz.targets import Case
from tests.fuzz.texts import at, edited, paths

TRIES = 400
SECONDS = 30.0


def smaller(case: Case, still_fails: Callable[[Case], bool], tries: int = TRIES, seconds: float = SECONDS) -> Case:
    """The smallest case that was found within a number of tries and seconds."""
    until = time.monotonic() + seconds
    found = True
    while found:
        found = False
        for candidate in candidates(case):
            if tries <= 0 or time.monotonic() > until:
                return case
            tries -= 1
            if still_fails(candidate):
                case, found = candidate, True
                break
    return case


def candidates(case: Any) -> Iterator[Any]:
    """The case with something left out or made simpler; large pieces come first."""
    places = [path for path in paths(case) if path]
    for share in (2, 4, 8, 16, 0):
        for path in places:
            value = at(case, path)
            if isinstance(value, list | str) and value:
                step = max(1, len(value) // share) if share else 1
                if share == 0 and len(value) > 64:
                    continue
                for k in range(0, len(value), step):
                    yield edited(case, path, lambda old, k=k, step=step: old[:k] + old[k + step :])
            elif isinstance(value, dict) and share == 2:
                for key in value:
                    yield edited(case, path, lambda old, key=key: {name: of for name, of in old.items() if name != key})
