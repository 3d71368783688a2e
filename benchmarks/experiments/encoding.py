"""The share of encoding in training from lists of strings, with one thread and two; and microseconds per sentence.

Attributes are those of the built-in templates, as Python strings. Encoding is the fastest of several runs, each with a
new vocabulary. Sentences are predicted one at a time, from strings, with a model of conll2000.
"""

from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter
from timeit import repeat
from typing import Any

from benchmarks.corpora.columns import conll2000, conll2003
from benchmarks.corpora.lines import Rows
from benchmarks.tables import markdown
from margrave import SequenceTagger
from margrave.features.templates import default_templates
from margrave.maps.rows import RowEncoder

Result = dict[str, Any]

CORPORA = ("conll2000", "conll2003-en")
RESULT = "encoding"
REPEATS = 5
THREADS = (1, 2)
LENGTHS = (5, 10, 20)
ATTRIBUTES = 20  # per token of the sentences that are predicted one at a time
CALLS, ROUNDS = 200, 25  # of a prediction: the fastest and the median round count


def measure() -> Result:
    """Seconds of encoding and of the learner on both corpora, and of predictions for one sentence."""
    corpora = {"conll2000": conll2000, "conll2003-en": conll2003}
    return {
        "repeats": REPEATS,
        "training": {name: of_training(*strings(read("train"))) for name, read in corpora.items()},
        "one_sentence": of_one_sentence(*strings(conll2000("train"))),
    }


def strings(sentences: list[Rows]) -> tuple[list[list[list[str]]], list[list[str]]]:
    """The attributes of all tokens, each a string of its own as a user's code makes them, and the labels."""
    templates = default_templates(len(sentences[0][0]) - 1)
    return [templates.attributes([row[:-1] for row in rows]) for rows in sentences], [
        [row[-1] for row in rows] for rows in sentences
    ]


def of_training(X: list[list[list[str]]], y: list[list[str]]) -> Result:
    """For each number of threads: seconds of encoding, of the learner, and of the whole fit."""
    found: Result = {"names": sum(len(token) for tokens in X for token in tokens)}
    encoding: dict[int, list[float]] = {threads: [] for threads in THREADS}
    for _ in range(REPEATS):
        for threads in THREADS:
            started = perf_counter()
            RowEncoder().encode(X, single=False, grow=True, threads=threads)
            encoding[threads].append(perf_counter() - started)
    for threads in THREADS:
        started = perf_counter()
        model = SequenceTagger(n_jobs=threads).fit(X, y)
        found[str(threads)] = {
            "encoding": min(encoding[threads]),
            "learner": model.history_[-1].seconds,
            "fit": perf_counter() - started,
        }
    return found


def of_one_sentence(X: list[list[list[str]]], y: list[list[str]]) -> Result:
    """Microseconds of `predict([x])` for sentences of some lengths, by the number of tokens."""
    X = [[token[:ATTRIBUTES] for token in tokens] for tokens in X]
    model = SequenceTagger(n_jobs=1, tol=0.05).fit(X, y)
    sentences = {n: next(tokens for tokens in X if len(tokens) == n) for n in LENGTHS}
    return {str(n): microseconds(partial(model.predict, [x])) for n, x in sentences.items()}


def microseconds(call: Callable[[], Any]) -> dict[str, float]:
    """Of one call, in the fastest and in the median round."""
    rounds = [1e6 * seconds / CALLS for seconds in repeat(call, number=CALLS, repeat=ROUNDS)]
    return {"fastest": min(rounds), "median": median(rounds)}


def table(result: Result) -> str:
    """Shares of encoding, and microseconds."""
    rows = [
        [
            name,
            f"{of['names']:,}",
            str(threads),
            *(f"{of[str(threads)][part]:.2f}" for part in ("encoding", "learner", "fit")),
            f"{of[str(threads)]['encoding'] / of[str(threads)]['fit']:.1%}",
        ]
        for name, of in result["training"].items()
        for threads in THREADS
    ]
    names = ["corpus", "names", "threads", "encoding, s", "learner, s", "fit, s", "share of encoding"]
    times = [[n, f"{of['fastest']:.1f}", f"{of['median']:.1f}"] for n, of in result["one_sentence"].items()]
    return (
        f"Encoding in training from Python's lists\n\n{markdown(names, rows)}\n\n"
        f"Microseconds of predict([x]), {ATTRIBUTES} attributes per token\n\n"
        f"{markdown(['tokens', 'fastest', 'median'], times)}"
    )


def plot(result: Result) -> None:
    """There is none."""
