"""CoNLL-2000 chunking by Margrave: python -m benchmarks.tagging --learner eg --json OUT.

The same attributes, pairs and objective as benchmarks.rivals.crfsuite: log loss, C = 0.5 (CRFsuite's c2 = 1).
"""

import argparse
import resource
import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import margrave
from benchmarks.data import Attributes, conll2000, conll2000_attributes
from benchmarks.machine import deliver, describe
from margrave import _core
from margrave.features.table import AttributeTable
from margrave.learners import LEARNERS, OnlineEG, Task
from margrave.learners.eg import GibbsState
from margrave.metrics import span_scores, token_accuracy
from margrave.structures import Chain

C = 0.5
OPTIMUM = 13139.27  # of P / C
EVALUATIONS = 15


class Watched(OnlineEG):
    """Online EG whose state can be looked at in the end."""

    state: GibbsState

    def begin(self, task: Task) -> GibbsState:
        self.state = super().begin(task)
        return self.state

    def trials_per_visit(self) -> float:
        """How many rates a visit tried."""
        return self.state.trials / self.state.visited


def train(
    learner: str, threads: int, tol: float, looser: Sequence[float]
) -> tuple[margrave.SequenceTagger, dict[str, Any]]:
    """To a certified relative gap; memory is that of this process, data and all.

    Dual learners look at P only where they hope to be done. Runs to looser gaps show how soon they were there.
    """
    sentences = conll2000("train")
    X, y = Attributes(sentences, conll2000_attributes), [[row[2] for row in rows] for rows in sentences]
    started = perf_counter()
    watched = Watched() if learner == "eg" else learner
    tagger = margrave.SequenceTagger(C=C, learner=watched, tol=tol, n_threads=threads).fit(X, y)
    seconds = perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    last = tagger.certificate_
    assert last.primal is not None
    early = [
        margrave.SequenceTagger(C=C, learner=learner, tol=each, n_threads=threads).fit(X, y).certificate_
        for each in sorted(looser, reverse=True)
    ]
    history = [[at.passes, at.seconds, at.primal / C] for at in (*early, *tagger.history_) if at.primal is not None]
    return tagger, {
        "learner": learner,
        "threads": threads,
        "weights": len(tagger.coef_),
        "attributes": tagger.features_.tokens.attributes,
        "transitions": tagger.features_.gram_weights,
        "P_over_C": last.primal / C,
        "D_over_C": (last.dual or 0.0) / C,
        "relative_gap": last.relative_gap,
        "evaluations": last.passes,
        "seconds": last.seconds,
        "seconds_with_encoding": seconds,
        "seconds_per_evaluation_with_learner": last.seconds / last.passes,
        "stop_reason": tagger.stop_reason_,
        "iterations": tagger.n_iter_,
        "trials_per_visit": watched.trials_per_visit() if isinstance(watched, Watched) else None,
        "history": history,
        "peak_mb": peak,
    }


def curves(result: dict[str, Any]) -> dict[str, list[dict[str, float]]]:
    """How far P was above the optimum, relatively, along the way: of each of our runs, and of CRFsuite's."""
    histories = {}
    for name, run in result.items():
        if name.startswith("margrave"):
            threads = "1 thread" if run["train"]["threads"] == 1 else f"{run['train']['threads']} threads"
            histories[f"{run['train']['learner']}, {threads}"] = run["train"]["history"]
    if "crfsuite" in result:
        steps = result["crfsuite"]["train"]["iterations"]
        sums = zip(accumulate(s["trials"] for s in steps), accumulate(s["seconds"] for s in steps), strict=True)
        histories["crfsuite"] = [[1 + n, seconds, s["loss"]] for (n, seconds), s in zip(sums, steps, strict=True)]
    return {
        name: [{"passes": n, "seconds": seconds, "above": P / OPTIMUM - 1} for n, seconds, P in history]
        for name, history in histories.items()
    }


def evaluate_gradient(tagger: margrave.SequenceTagger, threads: int) -> dict[str, Any]:
    """Seconds for one loss and gradient over the training data at the optimum."""
    sentences = conll2000("train")
    classes = tagger.classes_.tolist()
    number = {label: k for k, label in enumerate(classes)}
    gold = np.array([number[row[2]] for rows in sentences for row in rows], dtype=np.int32)
    features = AttributeTable()
    problem = Chain().bind(Attributes(sentences, conll2000_attributes), gold, features=features, classes=classes)
    seconds = []
    for _ in range(EVALUATIONS):
        started = perf_counter()
        _core.losses_and_gradient(problem, tagger.coef_, 1.0, 0.0, False, C, None, threads, True)
        seconds.append(perf_counter() - started)
    return {"threads": threads, "seconds": median(seconds), "fastest": min(seconds), "evaluations": EVALUATIONS}


def tag(tagger: margrave.SequenceTagger) -> dict[str, Any]:
    """Tag the test file from lists of attribute strings, with one thread; making the strings is not timed."""
    sentences = conll2000("test")
    X = [conll2000_attributes(rows) for rows in sentences]
    y = [[row[2] for row in rows] for rows in sentences]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.margrave"
        tagger.save(path)
        size = path.stat().st_size / 2**20
        started = perf_counter()
        loaded = margrave.load(path)
        opened = perf_counter() - started
        assert isinstance(loaded, margrave.SequenceTagger)
        loaded.set_params(n_threads=1)
        seconds = []
        for _ in range(5):
            started = perf_counter()
            labels = loaded.predict(X)
            seconds.append(perf_counter() - started)
    tokens = sum(map(len, y))
    return {
        "model_mb": size,
        "seconds_to_open": opened,
        "seconds": median(seconds),
        "tokens": tokens,
        "tokens_per_second": tokens / median(seconds),
        "accuracy": token_accuracy(y, labels),
        "chunk_f1": span_scores(y, labels).f1,
    }


def main() -> None:
    """Train, tag, and write or print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tagging", description=__doc__)
    parser.add_argument("--learner", choices=LEARNERS, default="lbfgs")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tol", type=float, default=1e-5)
    parser.add_argument("--looser", type=float, nargs="*", default=[], help="further gaps, each in a run of its own")
    parser.add_argument("--json", type=Path, help="where to write the figures (default: print them)")
    args = parser.parse_args()
    machine = describe()
    tagger, trained = train(args.learner, args.threads, args.tol, args.looser)
    result = {
        "tool": "margrave",
        "instruction_set": _core.instruction_set(),
        "machine": machine,
        "train": trained,
        "gradient": [evaluate_gradient(tagger, threads) for threads in (1, 2)],
        "tag": tag(tagger),
    }
    deliver(result, args.json)


if __name__ == "__main__":
    main()
