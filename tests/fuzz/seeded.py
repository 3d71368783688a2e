"""The seeded cases that `make test` runs, and those of them that are left out because their faults are still open.

`python -m tests.fuzz --open` tries all of them and lists those that fail in `open.txt`: a target and its seeds per
line. A mended fault takes its seeds off the list; when all are mended, there is no such file.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.targets import KINDS
from tests.fuzz.workers import Worker

OPEN = Path(__file__).with_name("open.txt")


def per_target(kind: str, names: list[str]) -> int:
    """How many seeds each target of a kind gets, from 0 on."""
    return -(-KINDS[kind] // len(names))


def open_seeds() -> dict[str, set[int]]:
    """The seeds that are left out, by target."""
    lines = OPEN.read_text(encoding="utf-8").splitlines() if OPEN.exists() else []
    return {words[0]: {int(seed) for seed in words[1:]} for words in map(str.split, lines) if words}


def ranges(begin: int, end: int, left_out: set[int]) -> Iterator[tuple[int, int]]:
    """The first seed and the number of each range between those that are left out."""
    for seed in [*sorted(seed for seed in left_out if begin <= seed < end), end]:
        if seed > begin:
            yield begin, seed - begin
        begin = seed + 1


def list_open() -> None:
    """Tries all seeded cases, and lists those that fail."""
    lines = []
    with Worker() as worker:
        for kind in KINDS:
            names = worker.targets(kind)
            for name in names:
                failed = sorted({seed for seed, _ in worker.seeds(name, 0, per_target(kind, names)).failures})
                if failed:
                    print(name, *failed, flush=True)
                    lines.append(" ".join([name, *map(str, failed)]))
    if lines:
        OPEN.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        OPEN.unlink(missing_ok=True)
