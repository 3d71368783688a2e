"""Genes in GENETAG by segments, with the alternatives of the corpus as further right answers, or with one answer only.

Scores are those of the corpus: a gold mention is found if it is predicted, or if an alternative is that overlaps it,
and a predicted mention that is neither is wrong. The attributes of tokens come from the built-in templates over words
alone (the tag column gives the answer away). C is chosen on the development part; all of this was fixed before the test
part was looked at.
"""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.columns import genetag_answers
from benchmarks.corpora.entities import p_value, test_f1
from benchmarks.machine import describe, write_result
from benchmarks.summaries import Result
from benchmarks.tables import markdown
from margrave.estimators import SequenceTagger
from margrave.inputs import SegmentTemplates, Templates
from margrave.labels.tags import alternatives_of
from margrave.metrics import span_scores

CORPORA = ("genetag",)
RESULT = "genetag"
CS = (0.1, 0.3, 1.0)
TOL = 1e-2
LOSSES = {"one answer": "log", "several answers": "latent-log"}
SEGMENTS: dict[str, Any] = {"attributes of tokens": True, "attributes of segments, too": SegmentTemplates()}
PARTS = ("train", "devtest", "test")


def measure() -> Result:
    """Both losses with the same attributes; one thread. The first one ignores alternatives in everything."""
    data = {part: genetag_answers(part) for part in PARTS}
    X = {part: [x for x, _ in of] for part, of in data.items()}
    y = {part: [answers for _, answers in of] for part, of in data.items()}
    runs: Result = {name: {} for name in SEGMENTS}
    found = {
        "tol": TOL,
        "Cs": list(CS),
        "sentences": {part: len(of) for part, of in data.items()},
        "with_alternatives": {part: sum(bool(alternatives_of(each)) for each in y[part]) for part in PARTS},
        "models": runs,
    }
    for name, segments in SEGMENTS.items():
        counts = {}
        for model, loss in LOSSES.items():
            right: Any = y["train"] if loss == "latent-log" else [list(each) for each in y["train"]]
            runs[name][model], counts[model] = best(X, y, right, loss, segments)
            print(f"  {name}, {model}: {runs[name][model]}", flush=True)
        runs[name]["several answers"]["p"] = p_value([counts["one answer"]], [counts["several answers"]])
        write_result(RESULT, {"machine": describe(), **found})  # so that an interruption loses little
    return found


def best(X: Any, y: Any, right: Any, loss: str, segments: Any) -> tuple[Result, NDArray[np.int64]]:
    """The model with the C that is best on the development part; what each test sentence counts."""
    runs = []
    for C in CS:
        tagger = SequenceTagger(loss, C=C, inputs=Templates(), segments=segments, starts=1, tol=TOL, n_threads=1)
        began = perf_counter()
        tagger.fit(X["train"], right)
        seconds = perf_counter() - began
        dev = span_scores(y["devtest"], tagger.predict(X["devtest"])).f1
        runs.append((dev, -C, seconds, tagger))
        print(f"    C {C:g}: dev F1 {100 * dev:.2f}, {seconds:.0f} s, {tagger.stop_reason_}", flush=True)
    dev, negative, seconds, tagger = max(runs, key=lambda run: run[:2])
    starts = []
    if loss == "latent-log":  # three starts at this C, to see how far apart they lead; the test has the first
        again = SequenceTagger(loss, C=-negative, inputs=Templates(), segments=segments, tol=TOL, n_threads=1)
        starts = again.fit(X["train"], right).starts_
    tags = tagger.predict(X["test"])
    scores = [span_scores([gold], [guess]) for gold, guess in zip(y["test"], tags, strict=True)]
    strict = span_scores([list(gold) for gold in y["test"]], tags)
    counts = np.array([(of.gold, of.predicted, of.correct) for of in scores])
    gold, predicted, correct = counts.sum(axis=0).tolist()
    return {
        "C": -negative,
        "dev_f1": {f"{-each[1]:g}": each[0] for each in runs},
        "test_precision": correct / predicted,
        "test_recall": correct / gold,
        "test_f1": test_f1(counts),
        "test_f1_of_one_answer": strict.f1,
        "seconds": seconds,
        "weights": int(tagger.coef_.size),
        "objective": tagger.certificate_.primal,
        "rounds": tagger.n_iter_,
        "starts": starts,
    }, counts


def table(result: Result) -> str:
    """Precision, recall and F1 by the rules of the corpus, F1 against one answer, p and seconds."""
    rows = [
        [
            name,
            model,
            f"{of['C']:g}",
            f"{100 * max(of['dev_f1'].values()):.2f}",
            *(f"{100 * of[f'test_{score}']:.2f}" for score in ("precision", "recall", "f1", "f1_of_one_answer")),
            f"{of['p']:.4f}" if "p" in of else "",
            f"{of['weights']:,}",
            f"{of['seconds']:.0f}",
        ]
        for name, models in result["models"].items()
        for model, of in models.items()
    ]
    header = [
        "segments",
        "trained with",
        "C",
        "dev F1",
        "precision",
        "recall",
        "test F1",
        "F1 of one answer",
        "p",
        "weights",
        "s",
    ]
    return markdown(header, rows)


def plot(result: Result) -> None:
    """There is none."""
