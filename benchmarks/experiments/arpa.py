"""Opening an ARPA language model of 5 million generated n-grams: seconds and memory."""

from pathlib import Path
from resource import getpagesize
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.machine import in_new_process
from benchmarks.tables import markdown
from margrave.translation.language_model import NGramModel

Result = dict[str, Any]

CORPORA = ()
RESULT = "arpa"
COUNTS = (200_000, 1_800_000, 3_000_000)  # by length
REPEATS = 3


def measure() -> Result:
    """The shortest of some runs, each in a process of its own; one thread."""
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "model.arpa"))
        write_generated(path)
        runs = [in_new_process(opened, path) for _ in range(REPEATS)]
        size = Path(path).stat().st_size
    best = min(runs, key=lambda run: run["seconds"])
    return {"n-grams": sum(COUNTS), "counts": list(COUNTS), "file_mb": size / 1e6, **best}


def opened(path: str) -> Result:
    """What it takes to open a model."""
    before = resident_mb()
    began = perf_counter()
    model = NGramModel.read_arpa(path)
    seconds = perf_counter() - began
    return {
        "seconds": seconds,
        "resident_mb": resident_mb() - before,
        "model_mb": model.core.bytes / 1e6,
        "order": model.order,
    }


def resident_mb() -> float:
    """The memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * getpagesize() / 1e6


def write_generated(path: str) -> None:
    """N-grams of random words, with random scores, sorted as tools write them."""
    rng = np.random.default_rng(0)
    words = np.array(["<s>", "</s>", "<unk>", *(f"word{k}" for k in range(COUNTS[0] - 3))])
    contexts = np.zeros((1, 0), dtype=np.int64)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\\data\\\n" + "".join(f"ngram {n}={count}\n" for n, count in enumerate(COUNTS, 1)))
        for n, count in enumerate(COUNTS, 1):
            grams = np.arange(count)[:, None] if n == 1 else continued(rng, contexts, count)
            scores = -rng.uniform(0.1, 6.0, (2, count)).round(6)
            file.write(f"\n\\{n}-grams:\n")
            last = n == len(COUNTS)
            for gram, score, weight in zip(grams, *scores, strict=True):
                line = f"{score}\t{' '.join(words[gram])}"
                file.write(line + "\n" if last else f"{line}\t{weight}\n")
            contexts = grams
        file.write("\n\\end\\\n")


def continued(rng: np.random.Generator, contexts: Any, count: int) -> Any:
    """Distinct n-grams that continue some contexts, sorted."""
    numbers = np.unique(rng.integers(0, len(contexts) * COUNTS[0], int(1.01 * count)))
    numbers = np.sort(rng.choice(numbers, count, replace=False))
    return np.concatenate([contexts[numbers // COUNTS[0]], (numbers % COUNTS[0])[:, None]], axis=1)


def table(result: Result) -> str:
    """One line."""
    header = ["n-grams", "file, MB", "seconds", "memory, MB", "more resident memory, MB"]
    row = [
        f"{result['n-grams']:,}",
        f"{result['file_mb']:.0f}",
        f"{result['seconds']:.2f}",
        f"{result['model_mb']:.0f}",
        f"{result['resident_mb']:.0f}",
    ]
    return markdown(header, [row])


def plot(result: Result) -> None:
    """There is none."""
