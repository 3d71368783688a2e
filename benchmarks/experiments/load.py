"""Memory and answers of one model that eight threads ask for millions of predictions.

Sentences come from the built-in corpora. Every tenth has a word that nobody has seen before, as real input does, so
whatever remembers words would grow. Threads take batches from one counter. The answers to known sentences are compared
with those of one thread, and those to every hundredth batch are predicted again at the end by a model that one thread
has just loaded. Each model has a process of its own, and is a piece of the result.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from statistics import mean
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
QUARTERS = (1, 3)  # which are compared; in the first one, threads fill their workspaces, and features their tables
PREDICTIONS = {"tagger": 10_000_000, "parser": 100_000, "graph labeler": 200_000}

Batch = Callable[[int], list[Any]]


def measure() -> Iterator[Result]:
    """Memory over time, rates and comparisons for each model."""
    pieces = Pieces(RESULT)
    for name, total in PREDICTIONS.items():
        yield from pieces.measure(name, partial(in_new_process, run, name, total))


def run(name: str, total: int) -> Result:
    """One model under load."""
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
    before, after = (mean(mb for n, mb in curve if n * 4 // (total + 1) == quarter) for quarter in QUARTERS)
    return {
        "threads": THREADS,
        "predictions": total,
        "compared": total // BATCH * sum(map(is_known, range(BATCH))) + len(repeated) * BATCH,
        "different": different,
        "seconds": seconds,
        "growth_mb": after - before,
        "curve": {"predictions": [n for n, _ in curve], "mb": [mb for _, mb in curve]},
    }


def is_known(k: int) -> bool:
    """Whether an example of a batch is the same in every batch."""
    return k % 10 != 0


def asked(model: Any, batch: Batch, total: int) -> tuple[list[tuple[int, float]], int, float]:
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

    curve: list[tuple[int, float]] = []
    threads = [threading.Thread(target=work, args=(own,)) for own in range(THREADS)]
    started = perf_counter()
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if sum(done) >= len(curve) * total / POINTS:
            curve.append((sum(done), resident()))
        stop.wait(0.05)
    for thread in threads:
        thread.join()
    curve.append((sum(done), resident()))
    return curve, sum(wrong), perf_counter() - started


def differences(some: list[Any], others: list[Any]) -> int:
    """How many of the answers differ; those of images are arrays."""
    pairs = zip(some, others, strict=True)
    return sum(not np.array_equal(one, other) if isinstance(one, np.ndarray) else one != other for one, other in pairs)


def resident() -> float:
    """The memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


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
    """Growth of memory and differences."""
    rows = (
        [
            name,
            f"{run['predictions']:,}",
            f"{run['predictions'] / run['seconds']:,.0f}",
            f"{run['curve']['mb'][-1]:.0f} MB",
            f"{run['growth_mb']:+.1f} MB",
            f"{run['different']} of {run['compared']:,}",
        ]
        for name, run in result["pieces"].items()
    )
    head = ["model", "predictions", "per second", "memory", "growth, last quarter over second", "different answers"]
    return markdown(head, rows)


def plot(result: Result) -> Any:
    """Memory against predictions."""
    figure, (panel,) = panels()
    panel.set(
        xlabel="share of the predictions", ylabel="memory of the process, MB", title=f"One model, {THREADS} threads"
    )
    for name, run in result["pieces"].items():
        share = [n / run["predictions"] for n in run["curve"]["predictions"]]
        different = f"{run['different']} of {run['compared']:,} answers differ"
        panel.plot(share, run["curve"]["mb"], label=f"{name}: {run['predictions']:,} predictions, {different}")
    panel.set_ylim(bottom=0)
    return finished(figure)
