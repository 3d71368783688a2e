"""Tokens per second of parsers from a CoNLL-U file to the parsed file, and what their training takes (UD English).

Training is that of all sentences of up to 80 words with two threads, log loss, to a relative gap of 1e-3, and of 1e-2
in second order; C is that which the experiment `treebanks` chose on the dev part. Parsing has one thread; the
wall-clock seconds of the fastest of several runs in turn. Loading the model is not counted.
"""

import gzip
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from benchmarks.corpora.folder import data_file
from benchmarks.corpora.trees import treebank
from benchmarks.lp_struct import peak_mb
from benchmarks.machine import in_new_process
from benchmarks.tables import markdown
from margrave.cli.tasks import load_model
from margrave.datasets.opening import write_lines
from margrave.estimators import DependencyParser
from margrave.metrics import conll18_scores

Result = dict[str, Any]

CORPORA = ("ud-english-ewt",)
RESULT = "parsing"
C, BITS = 0.1, 22
TOL = {1: 1e-3, 2: 1e-2}  # by the order of the parser
REPEATS = 3
COLUMNS = ("form", "upos", "feats")


def measure() -> Result:
    """Trains a parser of each order, and parses the test part with the labels of the second stage and without."""
    with TemporaryDirectory() as folder:
        source = data_file("ud-english-ewt", "en_ewt-ud-test.conllu")
        data = Path(folder, "test.conllu")
        data.write_bytes((gzip.open if source.suffix == ".gz" else open)(source, "rb").read())
        trained = {str(order): in_new_process(training, order, str(Path(folder, f"{order}.model"))) for order in (1, 2)}
        tokens = sum(len(sentence.words) for sentence in treebank("ud-english-ewt", "test"))
        parsed = {}
        for order in (1, 2):
            model = str(Path(folder, f"{order}.model"))
            for labels in (False, True):
                seconds = in_new_process(parsing, model, labels, str(data), str(Path(folder, "parsed.conllu")))
                name = f"order {order}, {'labels in a second stage' if labels else 'without labels'}"
                parsed[name] = {"seconds": seconds, "tokens_per_second": tokens / seconds}
    return {"tokens": tokens, "C": C, "hash_bits": BITS, "trained": trained, "parsed": parsed}


def training(order: int, path: str) -> Result:
    """Trains a parser with two threads and saves it; its scores on the test part."""
    X, y, words = examples("train")
    settings: Result = {"C": C, "tol": TOL[order], "decode": "best", "weights": f"hash:{BITS}", "n_jobs": 2}
    parser = DependencyParser("log", order=order, **settings)
    started = perf_counter()
    parser.fit(X, y)
    seconds = perf_counter() - started
    parser.save(path, metadata={"format": "conllu", "columns": list(COLUMNS)})
    new, gold, _ = examples("test")
    trees = parser.predict(new)
    heads, labels = ([[word[k] for word in tree] for tree in trees] for k in (0, 1))
    gold_heads, gold_labels = ([[word[k] for word in tree] for tree in gold] for k in (0, 1))
    scores = conll18_scores(gold_heads, heads, gold_labels, labels)
    return {
        "tol": TOL[order],
        "words": words,
        "seconds": seconds,
        "seconds_of_trees": parser.certificate_.seconds,
        "passes": parser.certificate_.passes,
        "relative_gap": parser.certificate_.relative_gap,
        "peak_mb": peak_mb(),
        "uas": scores.uas,
        "las": scores.las,
    }


def examples(part: str) -> tuple[list[Any], list[Any], int]:
    """Rows, pairs (head, label), and the number of words."""
    sentences = treebank("ud-english-ewt", part)
    X = [[[getattr(word, name) for name in COLUMNS] for word in sentence.words] for sentence in sentences]
    y = [[(word.head, word.deprel) for word in sentence.words] for sentence in sentences]
    return X, y, sum(map(len, X))


def parsing(model: str, labels: bool, data: str, output: str) -> float:
    """The seconds of what `margrave predict` does with a model that is loaded."""
    loaded = load_model(model, 1)
    if not labels:
        loaded.parser.labeler_ = None  # type: ignore[attr-defined]
    best = float("inf")
    for _ in range(REPEATS):
        started = perf_counter()
        write_lines(output, chain.from_iterable(loaded.predicted_lines(data, False)))
        best = min(best, perf_counter() - started)
    return best


def table(result: Result) -> str:
    """Tokens per second, and what training takes."""
    parsed = (
        [name, f"{run['seconds']:.2f}", f"{run['tokens_per_second']:,.0f}"] for name, run in result["parsed"].items()
    )
    trained = (
        [
            f"order {order}",
            f"{run['seconds_of_trees']:.0f}",
            f"{run['seconds']:.0f}",
            f"{run['peak_mb']:,.0f}",
            f"{run['uas']:.2%}",
            f"{run['las']:.2%}",
        ]
        for order, run in result["trained"].items()
    )
    return "\n\n".join(
        [
            markdown(["parser", "s", "tokens/s"], parsed),
            markdown(["training, 2 threads", "trees, s", "with pruner and labels, s", "MB", "UAS", "LAS"], trained),
        ]
    )


def plot(result: Result) -> None:
    """There is nothing to draw."""
