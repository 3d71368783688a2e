"""CRFsuite on CoNLL-2000 chunking: python -m benchmarks.rivals.crfsuite conll2000 --json OUT.

CRFsuite minimises sum_i loss_i + c2 |w|^2, which is P / C at C = 1 / (2 c2).
"""

import argparse
import resource
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import pycrfsuite

from benchmarks.data import conll2000_attributes, conll2000_stream
from benchmarks.machine import deliver, describe
from margrave.metrics import span_scores


def train(model: Path, c2: float, iterations: int) -> dict[str, Any]:
    """Train by L-BFGS; seconds are CRFsuite's own (processor time), memory is that of this process."""
    start = _peak_mb()
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
    # One sentence at a time: Python never holds the corpus, so the peak is CRFsuite's.
    started = perf_counter()
    for rows in conll2000_stream("train"):
        trainer.append(conll2000_attributes(rows), [row[2] for row in rows])
    appended = perf_counter()
    before = _peak_mb()
    trainer.train(str(model))
    log = trainer.logparser
    # Every line-search trial is one evaluation; the one at the start point falls into iteration 1.
    evaluations = 1 + sum(it["linesearch_trials"] for it in log.iterations)
    seconds = sum(it["time"] for it in log.iterations)
    return {
        "settings": settings,
        "features": log.featgen_num_features,
        "iterations": [
            {"loss": it["loss"], "seconds": it["time"], "trials": it["linesearch_trials"]} for it in log.iterations
        ],
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
    }


def tag(model: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """Tag the test file from lists of attribute strings; making the strings is not timed."""
    sentences = list(conll2000_stream("test"))
    attributes = [conll2000_attributes(rows) for rows in sentences]
    gold = [[row[2] for row in rows] for rows in sentences]
    tagger = pycrfsuite.Tagger()
    started = perf_counter()
    tagger.open(str(model))
    opened = perf_counter()
    labels = [tagger.tag(xseq) for xseq in attributes]
    seconds = perf_counter() - opened
    tokens = sum(map(len, gold))
    correct = sum(g == p for gs, ps in zip(gold, labels, strict=True) for g, p in zip(gs, ps, strict=True))
    return {
        "seconds_to_open": opened - started,
        "seconds": seconds,
        "tokens": tokens,
        "tokens_per_second": tokens / seconds,
        "accuracy": correct / tokens,
        "chunk_f1": span_scores(gold, labels).f1,
    }, labels


def main() -> None:
    """Train, tag, and write or print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals.crfsuite", description=__doc__)
    parser.add_argument("corpus", choices=["conll2000"])
    parser.add_argument("--c2", type=float, default=1.0)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--json", type=Path, help="where to write the figures (default: print them)")
    parser.add_argument("--labels", type=Path, help="where to write the predicted labels, one sentence a line")
    args = parser.parse_args()
    machine = describe()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        trained = train(model, args.c2, args.iterations)
        tagged, labels = tag(model)
    if args.labels:
        args.labels.write_text("".join(" ".join(ls) + "\n" for ls in labels), encoding="utf-8")
    result = {
        "rival": "crfsuite",
        "crfsuite": pycrfsuite.CRFSUITE_VERSION,
        "corpus": args.corpus,
        "machine": machine,
        "train": trained,
        "tag": tagged,
    }
    deliver(result, args.json)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux


if __name__ == "__main__":
    main()
