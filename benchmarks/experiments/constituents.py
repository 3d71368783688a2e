"""Labelled bracketing on all lengths of ptb-sample: counting, a perceptron over rules, and span features."""

from time import process_time
from typing import Any

from benchmarks.corpora.constituents import constituents
from benchmarks.tables import markdown
from margrave import PCFG, ConstituencyParser
from margrave.metrics import bracket_scores

Result = dict[str, Any]

CORPORA = ("ptb-sample",)
RESULT = "constituents"
PASSES = 4
SETTINGS: dict[str, Result] = {
    "rules": {"grammar": "rules", "horizontal": 2},
    "spans": {"grammar": "spans"},
}


def measure() -> Result:
    """From words and tags; the number of passes was not tuned."""
    train, test = (constituents("ptb-sample", part) for part in ("train", "test"))
    rows: Result = {}
    for name, parser in {
        "PCFG": PCFG(horizontal=2, n_threads=1),
        "PCFG, parents": PCFG(horizontal=1, vertical=2, n_threads=1),
        **{
            f"perceptron, {name}": ConstituencyParser(
                "perceptron", learner="perceptron", max_iter=PASSES, n_threads=1, **settings
            )
            for name, settings in SETTINGS.items()
        },
    }.items():
        started = process_time()
        parser.fit(None, train)
        seconds = process_time() - started
        scores = bracket_scores(test, parser.predict(parser.sentences_of(test)))
        interval = scores.interval()
        rows[name] = {
            "f1": scores.f1,
            "interval": [interval.low, interval.high],
            "precision": scores.precision,
            "recall": scores.recall,
            "exact_match": scores.exact_match,
            "partial": parser.n_partial_,
            "seconds": seconds,
        }
        print(f"  {name}: {scores.f1:.4f}, {seconds:.0f} s", flush=True)
    return {"train": len(train), "test": len(test), "passes": PASSES, "rows": rows}


def table(result: Result) -> str:
    """A row per parser."""
    rows = []
    for name, row in result["rows"].items():
        low, high = row["interval"]
        cells = [f"{100 * row[key]:.1f}" for key in ("precision", "recall", "f1", "exact_match")]
        rows.append(
            [name, *cells, f"{100 * low:.1f} to {100 * high:.1f}", str(row["partial"]), f"{row['seconds']:.0f}"]
        )
    header = ["parser", "precision", "recall", "F1", "exact match", "F1, 95 %", "partial trees", "CPU s"]
    return f"{markdown(header, rows)}\n\n{result['train']} and {result['test']} sentences of all lengths"


def plot(result: Result) -> None:
    """There is no plot."""
