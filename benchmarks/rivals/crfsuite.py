"""CRFsuite on CoNLL-2000 chunking, and its gradient on any sequences.

CRFsuite minimizes sum_i loss_i + c2 |w|^2, which is P / C at C = 1 / (2 c2).
"""

import resource
import tempfile
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pycrfsuite

from benchmarks.corpora.columns import conll2000_attributes, conll2000_stream
from margrave.metrics import span_scores

TAGGINGS = 5  # of which the median is taken


def observed_pairs_trainer(c2: float, iterations: int) -> tuple[pycrfsuite.Trainer, dict[str, Any]]:
    """L-BFGS on weights for the pairs that occur, and its settings."""
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    settings = {
        "c1": 0.0,
        "c2": c2,
        "max_iterations": iterations,
        "feature.minfreq": 0,
        "feature.possible_states": False,
        "feature.possible_transitions": False,
    }
    trainer.set_params(settings)
    return trainer, settings


def cost(log: Any) -> tuple[int, float]:
    """Evaluations of the gradient and CRFsuite's own seconds (processor time) of a run."""
    # Every line-search trial is one evaluation; the one at the start point falls into iteration 1.
    return 1 + sum(it["linesearch_trials"] for it in log.iterations), sum(it["time"] for it in log.iterations)


def steps_of(log: Any) -> list[tuple[int, float, float]]:
    """Evaluations, seconds and the loss after each iteration."""
    trials = accumulate(it["linesearch_trials"] for it in log.iterations)
    times = accumulate(it["time"] for it in log.iterations)
    losses = (it["loss"] for it in log.iterations)
    return [(1 + n, at, loss) for n, at, loss in zip(trials, times, losses, strict=True)]


def train_on(X: Iterable[Any], Y: Iterable[Sequence[str]], c2: float, iterations: int) -> Any:
    """The log of a run; its model is thrown away."""
    trainer, _ = observed_pairs_trainer(c2, iterations)
    for attributes, labels in zip(X, Y, strict=True):
        trainer.append(attributes, labels)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model"))
    return trainer.logparser


def losses_of_training(
    X: Iterable[Any], Y: Iterable[Sequence[str]], c2: float, iterations: int
) -> list[tuple[int, float, float]]:
    """Evaluations, seconds and the loss after each iteration of L-BFGS."""
    return steps_of(train_on(X, Y, c2, iterations))


def seconds_per_evaluation(X: Iterable[Any], Y: Iterable[Sequence[str]], iterations: int) -> float:
    """Seconds of one loss and gradient, as the mean over a short run."""
    evaluations, seconds = cost(train_on(X, Y, 1.0, iterations))
    return seconds / evaluations


def train(model: Path, c2: float, iterations: int) -> tuple[dict[str, Any], list[tuple[int, float, float]]]:
    """Train by L-BFGS; seconds are CRFsuite's own (processor time), memory is that of this process."""
    start = _peak_mb()
    trainer, settings = observed_pairs_trainer(c2, iterations)
    # One sentence at a time: Python never holds the corpus, so the peak is CRFsuite's.
    started = perf_counter()
    for rows in conll2000_stream("train"):
        trainer.append(conll2000_attributes(rows), [row[2] for row in rows])
    appended = perf_counter()
    before = _peak_mb()
    trainer.train(str(model))
    log = trainer.logparser
    evaluations, seconds = cost(log)
    return {
        "settings": settings,
        "features": log.featgen_num_features,
        "iterations": len(log.iterations),
        "loss": log.iterations[-1]["loss"],
        "evaluations": evaluations,
        "seconds": seconds,
        "seconds_per_evaluation": seconds / evaluations,
        "seconds_to_append": appended - started,
        "seconds_wall": perf_counter() - appended,
        "peak_mb_at_start": start,  # Python and its modules, before any data
        "peak_mb_before_training": before,
        "peak_mb": _peak_mb(),
        "model_mb": model.stat().st_size / 2**20,
    }, steps_of(log)


def tag(model: Path) -> dict[str, Any]:
    """Tag the test file from lists of attribute strings; making the strings is not timed."""
    sentences = list(conll2000_stream("test"))
    attributes = [conll2000_attributes(rows) for rows in sentences]
    gold = [[row[2] for row in rows] for rows in sentences]
    tagger = pycrfsuite.Tagger()
    started = perf_counter()
    tagger.open(str(model))
    opened = perf_counter()
    times = []
    for _ in range(TAGGINGS):
        begun = perf_counter()
        labels = [tagger.tag(xseq) for xseq in attributes]
        times.append(perf_counter() - begun)
    seconds = median(times)
    tokens = sum(map(len, gold))
    correct = sum(g == p for gs, ps in zip(gold, labels, strict=True) for g, p in zip(gs, ps, strict=True))
    return {
        "seconds_to_open": opened - started,
        "seconds": seconds,
        "tokens": tokens,
        "tokens_per_second": tokens / seconds,
        "accuracy": correct / tokens,
        "chunk_f1": span_scores(gold, labels).f1,
    }


def measure(c2: float, iterations: int) -> tuple[dict[str, Any], list[tuple[int, float, float]]]:
    """Training and tagging; and evaluations, seconds and loss after each iteration."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        trained, steps = train(model, c2, iterations)
        tagged = tag(model)
    return {"crfsuite": pycrfsuite.CRFSUITE_VERSION, "train": trained, "tag": tagged}, steps


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
