"""What posterior pruning of spans by a PCFG saves and costs on ptb-sample, in training and by length in prediction.

Every parser learns from the first 400 training sentences in one pass of the perceptron, with and without prune=1e-4,
and predicts the first 200 test sentences. Times are of the processor, on one thread.
"""

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

from benchmarks.corpora.constituents import constituents
from benchmarks.tables import markdown
from margrave import ConstituencyParser
from margrave.data.constituents import Tree
from margrave.estimators.models.constituency_parser import spans_left
from margrave.features import SpanTemplates
from margrave.metrics import bracket_scores

Result = dict[str, Any]

CORPORA = ("ptb-sample",)
RESULT = "span_pruning"
LEAST = 1e-4
SENTENCES, TESTED, PASSES = 400, 200, 1
LENGTHS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 80))  # words
SETTINGS: dict[str, Result] = {
    "rules": {"grammar": "rules", "horizontal": 2},
    "spans": {"grammar": "spans"},
    "rules and spans": {"grammar": "rules", "horizontal": 2, "features": SpanTemplates()},
}


def measure() -> Iterator[Result]:
    """Scores, seconds of training, and milliseconds per sentence by length."""
    train, test = constituents("ptb-sample", "train")[:SENTENCES], constituents("ptb-sample", "test")[:TESTED]
    rows: Result = {}
    for name, settings in SETTINGS.items():
        for prune in (None, LEAST):
            parser = ConstituencyParser(
                "perceptron", learner="perceptron", max_iter=PASSES, n_jobs=1, prune=prune, **settings
            )
            seconds, _ = timed(partial(parser.fit, None, train))
            scores = bracket_scores(test, parser.predict(parser.sentences_of(test)))
            row = {"f1": scores.f1, "lost": parser.lost_spans_, "training": seconds}
            rows[f"{name}, pruned" if prune else name] = row | {"lengths": by_length(parser, test)}
            print(f"  {name}, {prune}: {scores.f1:.4f}, {seconds:.1f} s", flush=True)
            yield {"prune": LEAST, "train": len(train), "test": len(test), "rows": rows}


def by_length(parser: ConstituencyParser, trees: list[Tree]) -> list[Result]:
    """Milliseconds per sentence of prediction, of probabilities and of the pruner alone; the share of spans left."""
    found = []
    for low, high in LENGTHS:
        X = parser.sentences_of([tree for tree in trees if low <= len(tree.words) <= high])
        row: Result = {"words": [low, high], "sentences": len(X)}
        for name, verb in {"predict": parser.predict, "marginals": parser.predict_marginals}.items():
            row[name] = 1e3 * timed(partial(verb, X))[0] / len(X)
        if parser.pruner_ is not None:
            seconds, left = timed(partial(spans_left, parser.pruner_, X, LEAST))
            row["pruner"] = 1e3 * seconds / len(X)
            row["left"] = sum(int(spans.sum()) for spans in left) / sum(len(spans) for spans in left)
        found.append(row)
    return found


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and what the call returns."""
    started = process_time()
    value = call()
    return process_time() - started, value


def table(result: Result) -> str:
    """A row per parser, and milliseconds per sentence by length."""
    rows = [
        [
            name,
            f"{100 * row['f1']:.1f}",
            "" if row["lost"] is None else f"{100 * row['lost']:.2f}",
            f"{row['training']:.1f}",
        ]
        for name, row in result["rows"].items()
    ]
    summary = markdown(["parser", "F1", "gold spans lost in training, %", "training, CPU s"], rows)
    found = []
    for name, row in result["rows"].items():
        for of in row["lengths"]:
            low, high = of["words"]
            cells = [f"{of[key]:.2f}" if key in of else "" for key in ("predict", "marginals", "pruner")]
            share = f"{100 * of['left']:.0f}" if "left" in of else ""
            found.append([name, f"{low} to {high}", str(of["sentences"]), *cells, share])
    header = ["parser", "words", "sentences", "predict, ms", "marginals, ms", "pruner alone, ms", "spans left, %"]
    return f"{summary}\n\n{markdown(header, found)}"


def plot(result: Result) -> None:
    """There is no plot."""
