"""Memory and answers of one model that eight threads ask for millions of predictions.

Sentences come from the built-in corpora. Every tenth has a word that nobody has seen before, as real input does, so
whatever remembers words would grow. Threads take batches from one counter. The answers to known sentences are compared
with those of one thread, and those to every hundredth batch are predicted again at the end by a model that one thread
has just loaded. Each model has a process of its own, and is a piece of the result.

Two numbers say where the memory is: what the process has, and what the C library's malloc has handed out, which is what
models and predictions hold. The difference is free memory that malloc keeps. By default, glibc keeps it in several
arenas, so that threads need not wait for each other; the tagger is measured with a single arena, too. Features drop
their tables when these are full, so memory rises and falls, and the highest values of both halves are compared.
"""

import ctypes
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.machine import in_new_process
from benchmarks.pieces import Pieces
from benchmarks.plots import finished, panels
from benchmarks.small import maps, town, trees
from benchmarks.tables import markdown
from margrave import DependencyParser, GraphLabeler, SequenceTagger, load
from margrave.features import Templates

Result = dict[str, Any]

CORPORA = ()
RESULT = "load"
THREADS = 8
BATCH = 500
REPEATED = 100  # Of this many batches, one is predicted again at the end.
POINTS = 100  # measurements of memory in one run
PREDICTIONS = {"tagger": 20_000_000, "parser": 200_000, "graph labeler": 200_000}
ONE_ARENA = "tagger, one arena"  # as with MALLOC_ARENA_MAX=1

_M_ARENA_MAX = -8  # of mallopt
_TOTALS = re.compile(r'<(?:total type="(fast|rest|mmap)" count="\d+"|(system) type="current") size="(\d+)"')

Batch = Callable[[int], list[Any]]


def measure() -> Iterator[Result]:
    """Memory over time, rates and comparisons for each model."""
    pieces = Pieces(RESULT)
    for name, total in PREDICTIONS.items():
        yield from pieces.measure(name, partial(in_new_process, run, name, total))
    yield from pieces.measure(ONE_ARENA, partial(in_new_process, run, "tagger", PREDICTIONS["tagger"], 1))


def run(name: str, total: int, arenas: int = 0) -> Result:
    """One model under load.

    Parameters
    ----------
    name : the model.
    total : how many predictions.
    arenas : the most arenas of malloc; 0 leaves them as they are.
    """
    if arenas:
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, arenas)
    estimator, batch = MODELS[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        estimator.save(path)
        del estimator
        model = load(path)
        curve, different, seconds = asked(model, batch, total)
        fresh = load(path)
        repeated = range(0, total // BATCH, REPEATED)
        different += sum(differences(fresh.predict(batch(k)), model.predict(batch(k))) for k in repeated)
    return {
        "threads": THREADS,
        "predictions": total,
        "compared": total // BATCH * sum(map(is_known, range(BATCH))) + len(repeated) * BATCH,
        "different": different,
        "seconds": seconds,
        "highest_mb": highest(curve, total, 1),
        "highest_held_mb": highest(curve, total, 2),
        "curve": {name: [point[k] for point in curve] for k, name in enumerate(("predictions", "mb", "held_mb"))},
    }


def highest(curve: list[tuple[int, float, float]], total: int, which: int) -> list[float]:
    """The highest value of either half of the predictions."""
    return [max(point[which] for point in curve if (2 * point[0] > total) == second) for second in (False, True)]


def is_known(k: int) -> bool:
    """Whether an example of a batch is the same in every batch."""
    return k % 10 != 0


def asked(model: Any, batch: Batch, total: int) -> tuple[list[tuple[int, float, float]], int, float]:
    """Memory by number of predictions, how many answers differ from those of one thread, and the seconds."""
    known = [k for k in range(BATCH) if is_known(k)]
    alone = model.predict(batch(0))
    expected = [alone[k] for k in known]
    numbers = count()
    done = [0] * THREADS
    wrong = [0] * THREADS
    stop = threading.Event()

    def work(own: int) -> None:
        while (number := next(numbers)) < total // BATCH:
            answers = model.predict(batch(number))
            wrong[own] += differences([answers[k] for k in known], expected)
            done[own] += BATCH

    curve: list[tuple[int, float, float]] = []
    threads = [threading.Thread(target=work, args=(own,)) for own in range(THREADS)]
    started = perf_counter()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if sum(done) >= len(curve) * total / POINTS:
            curve.append((sum(done), resident(), held()))
        stop.wait(0.05)
    for thread in threads:
        thread.join()
    curve.append((sum(done), resident(), held()))
    return curve, sum(wrong), perf_counter() - started


def differences(some: list[Any], others: list[Any]) -> int:
    """How many of the answers differ; those of images are arrays."""
    pairs = zip(some, others, strict=True)
    return sum(not np.array_equal(one, other) if isinstance(one, np.ndarray) else one != other for one, other in pairs)


def resident() -> float:
    """The memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def held() -> float:
    """What malloc has handed out and not got back, in MB; NaN if the C library is not glibc."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "malloc_info"):
        return float("nan")
    library.open_memstream.restype = ctypes.c_void_p
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = ctypes.c_void_p(library.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    library.malloc_info(0, stream)
    library.fclose(stream)
    xml = ctypes.string_at(text, size.value).decode()
    library.free(text)
    sums = {found[1] or found[2]: int(found[3]) for found in _TOTALS.finditer(xml)}  # the last ones are those of all
    return (sums["system"] + sums["mmap"] - sums["fast"] - sums["rest"]) / 2**20


def with_new_words(sentences: list[Any], renamed: Callable[[Any, str], Any]) -> Batch:
    """Batches of sentences; the first word of every tenth is new in every batch."""
    pool = [sentences[k % len(sentences)] for k in range(BATCH)]

    def batch(number: int) -> list[Any]:
        return [
            [renamed(rows[0], f"w{number}x{k}"), *rows[1:]] if not is_known(k) else rows for k, rows in enumerate(pool)
        ]

    return batch


def tagger() -> tuple[Any, Batch]:
    """Entities of the built-in corpus, with the default templates."""
    X, y = town("train")
    short = [rows for rows in X if len(rows) <= 12]
    return SequenceTagger(features=Templates(), n_jobs=1).fit(X, y), with_new_words(
        short, lambda row, word: [word, *row[1:]]
    )


def parser() -> tuple[Any, Batch]:
    """Trees of the built-in treebank."""
    X, y = trees("train", 300)
    return DependencyParser(n_jobs=1).fit(X, y), with_new_words(X, lambda row, word: (word, *row[1:]))


def graph_labeler() -> tuple[Any, Batch]:
    """Labels of the pixels of small maps; every tenth has other values in every batch."""
    X, y = maps(100)
    pool = [X[k % len(X)] for k in range(BATCH)]

    def batch(number: int) -> list[Any]:
        return [image if is_known(k) else image + number % 1000 for k, image in enumerate(pool)]

    return GraphLabeler(n_jobs=1).fit(X, y), batch


MODELS = {"tagger": tagger, "parser": parser, "graph labeler": graph_labeler}


def table(result: Result) -> str:
    """The highest memory of both halves, and differences."""
    rows = (
        [
            name,
            f"{run['predictions']:,}",
            f"{run['predictions'] / run['seconds']:,.0f}",
            _halves(run["highest_held_mb"]),
            _halves(run["highest_mb"]),
            f"{run['different']} of {run['compared']:,}",
        ]
        for name, run in result["pieces"].items()
    )
    head = ["model", "predictions", "per second", "held by model and predictions", "process", "different answers"]
    return markdown(head, rows)


def _halves(highest: list[float]) -> str:
    return f"{highest[0]:.0f} MB, then {highest[1]:.0f} MB"


def plot(result: Result) -> Any:
    """Memory against predictions: of the process above, and held by the model and predictions below."""
    figure, of = panels(2)
    for panel, key, title in zip(of, ("mb", "held_mb"), ("the process", "held by model and predictions"), strict=True):
        panel.set(xlabel="share of the predictions", ylabel="MB", title=f"{THREADS} threads: {title}")
        for name, run in result["pieces"].items():
            share = [n / run["predictions"] for n in run["curve"]["predictions"]]
            panel.plot(share, run["curve"][key], label=f"{name}: {run['predictions']:,} predictions")
        panel.axvline(0.5, color="#bbbbbb", linewidth=0.8, zorder=0)
        panel.set_ylim(bottom=0)
    return finished(figure)
