"""Seconds of chains of order 2 and 3, in which most label tuples have no weight: chunks, and tags of two letters.

Gradient, P, tagging, the five best outputs and one sample, by observed pairs and tuples, on one thread.
"""

from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, NamedTuple

from benchmarks.corpora.columns import brown, conll2000, conll2000_attributes, last_column
from benchmarks.corpora.problems import Tagging
from benchmarks.experiments.labels import attributes
from benchmarks.plots import finished, panels
from benchmarks.tables import markdown, number
from margrave import _core
from margrave.learners import LBFGS, Objective
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("conll2000", "brown-pos")
RESULT = "orders"
ITERATIONS = 5  # of L-BFGS, to weights like those that most gradients of a run are computed at
SECONDS = 1.0  # a measurement is repeated for so long, and at least twice; the fastest counts
BEST = 5  # outputs of each sentence
QUESTIONS = {
    "gradient": "gradient",
    "P": "P",
    "tagging": "tagging",
    "kbest": f"{BEST} best",
    "sample": "1 sample",
}


class Case(NamedTuple):
    """So many sentences of a corpus, and the order of their chains."""

    corpus: str
    order: int
    sentences: int


CASES = (
    Case("conll2000", 2, 500),
    Case("conll2000", 2, 2_000),
    Case("conll2000", 3, 500),
    Case("brown-pos", 2, 500),
)


def measure() -> Result:
    """Processor seconds for each case."""
    return {"runs": [case._asdict() | one_run(*sentences(case), case.order) for case in CASES]}


def sentences(case: Case) -> tuple[list[Any], list[list[str]]]:
    """Attributes and labels."""
    if case.corpus == "conll2000":
        chunks = conll2000("train")[: case.sentences]
        return [conll2000_attributes(rows) for rows in chunks], last_column(chunks)
    every = [rows for _, rows in brown()]
    words = every[:: len(every) // case.sentences][: case.sentences]
    return [attributes(rows) for rows in words], [[tag[:2] for _, tag in rows] for rows in words]


def one_run(X: Sequence[Any], Y: Sequence[Sequence[str]], order: int) -> Result:
    """Seconds of each question, and how many of the longest tuples occur."""
    tagging = Tagging(X, Y, order=order)
    problem = tagging.bind(True)
    labels = len(tagging.outputs.classes)
    w = LBFGS().solve(Objective(problem, Log(), C=1.0, tol=0.0, max_iter=ITERATIONS, n_jobs=1)).w
    family = Log().core(1.0)
    return {
        "tokens": tagging.tokens,
        "labels": labels,
        "tuples": len({tuple(y[k : k + order + 1]) for y in Y for k in range(len(y) - order)}) / labels ** (order + 1),
        "gradient": fastest(lambda: _core.losses_and_gradient(problem, w, family, 1, True)),
        "P": fastest(lambda: _core.losses_and_gradient(problem, w, family, 1, False)),
        "tagging": fastest(lambda: _core.argmax_all(problem, w, 1)),
        "kbest": fastest(lambda: _core.kbest_all(problem, w, BEST, 1)),
        "sample": fastest(lambda: _core.sample_all(problem, w, 1.0, 1, 0, 1)),
    }


def fastest(run: Callable[[], Any]) -> float:
    """Processor seconds of the fastest of several calls."""
    seconds: list[float] = []
    while len(seconds) < 2 or sum(seconds) < SECONDS:
        started = process_time()
        run()
        seconds.append(process_time() - started)
    return min(seconds)


def table(result: Result) -> str:
    """Seconds for each case."""
    rows = [
        [
            run["corpus"],
            str(run["order"]),
            f"{run['sentences']:,}",
            str(run["labels"]),
            f"{run['tuples']:.2%}",
            *(number(run[of], ".3f") for of in QUESTIONS),
        ]
        for run in result["runs"]
    ]
    header = ["corpus", "order", "sentences", "labels", "tuples seen", *QUESTIONS.values()]
    return f"Chains of higher order, one thread, processor seconds\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """Microseconds per token of every question."""
    figure, (panel,) = panels()
    panel.set(yscale="log", xlabel="question", ylabel="microseconds per token", title="chains of higher order")
    for run in result["runs"]:
        name = f"{run['corpus']}, order {run['order']}, {run['sentences']:,} sentences"
        panel.plot(list(QUESTIONS.values()), [1e6 * run[of] / run["tokens"] for of in QUESTIONS], "o-", label=name)
    return finished(figure)
