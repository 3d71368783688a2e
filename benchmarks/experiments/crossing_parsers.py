"""UAS of parsers whose arcs can cross: second order, by belief propagation and AD3, against first order.

Both orders have the softmax-margin loss, five passes of `mira` and the same C; steps of `mira` rarely reach it, and
`fig4_001` shows that 0.1 and 1 make no difference. First order prunes arcs by lengths, as by default, and second order
by the posteriors of a parser of single arcs. Both learn from the whole training part, and all words of the test part
are scored. P is the chance that a difference this large comes from exchanging the two parsers' trees at random. Shares
of certified trees and of sentences on which belief propagation converges are those of the test part; a visit in
training whose loss is negative makes no step. Training and parsing, from sentences in memory, have one thread.
"""

from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from benchmarks.corpora.problems import word_rows
from benchmarks.corpora.trees import treebank
from benchmarks.pieces import Pieces
from benchmarks.tables import markdown, number
from margrave.data import Sentence
from margrave.estimators import DependencyParser
from margrave.learners import Observer, Solution
from margrave.metrics import approximate_randomization, attachment_statistics, bootstrap_interval, uas_of_statistics

Result = dict[str, Any]

CORPORA = ("ud-gothic-proiel", "ud-english-ewt")
RESULT = "crossing_parsers"
COLUMNS = ("form", "upos", "xpos", "feats")
SETTINGS: dict[str, Any] = {
    **{"loss": "softmax-margin", "C": 0.1, "learner": "mira", "max_iter": 5, "projective": False},
    **{"labels": False, "weights": "hash:22", "decode": "best", "n_jobs": 1},
}
TRIALS = 2_000


def measure() -> Iterator[Result]:
    """Both orders on each treebank."""
    pieces = Pieces(RESULT)
    for corpus in CORPORA:
        yield from pieces.measure(corpus, partial(measure_treebank, corpus))


def measure_treebank(corpus: str) -> list[Result]:
    """A row per order; that of the second has the chance of its difference from the first."""
    train, test = treebank(corpus, "train"), treebank(corpus, "test")
    rows: list[Result] = []
    statistics: list[NDArray[Any]] = []
    for order in (1, 2):
        row, trees = trained(train, test, order)
        statistics.append(attachment_statistics([sentence.heads for sentence in test], trees))
        interval = bootstrap_interval(statistics[-1], uas_of_statistics, trials=TRIALS)
        rows.append(row | {"UAS": interval.score, "interval": [interval.low, interval.high]})
    rows[1]["P"] = approximate_randomization(statistics[0], statistics[1], uas_of_statistics, trials=TRIALS)
    return rows


def trained(train: list[Sentence], test: list[Sentence], order: int) -> tuple[Result, Any]:
    """A parser of this order: what is known about its training and its inference, and its trees of the test part."""
    X, X_test = word_rows(train, COLUMNS), word_rows(test, COLUMNS)
    parser = DependencyParser(order=order, **SETTINGS)
    started, ended = perf_counter(), End()
    parser.fit(X, [sentence.heads for sentence in train], observers=[ended])
    row: Result = {
        "order": order,
        "train": {"sentences": len(train), "words": sum(map(len, X))},
        "seconds": perf_counter() - started,
        "lost_arcs": parser.lost_arcs_,
        "reason": parser.stop_reason_,
    }
    if order == 2:
        report = parser.inference_report(X_test)
        row |= {"certified": report.certified, "converged": report.converged, "sweeps": report.sweeps}
        row["negative_visits"] = ended.state.negative / ended.state.steps
    started = perf_counter()
    trees = parser.predict(X_test)
    row["tokens_per_second"] = sum(map(len, X_test)) / (perf_counter() - started)
    return row, trees


class End(Observer):
    """The state of the learner at the end."""

    state: Any = None

    def end(self, solution: Solution | None) -> None:
        self.state = None if solution is None else solution.state


def table(result: Result) -> str:
    """A row per treebank and order, with half of the 95 % interval of UAS over test sentences."""
    rows = [
        [
            corpus,
            str(row["order"]),
            f"{row['train']['words']:,}",
            f"{100 * row['UAS']:.2f} ± {50 * (row['interval'][1] - row['interval'][0]):.2f}",
            number(row.get("P"), ".4f"),
            f"{row['seconds']:.0f}",
            f"{row['tokens_per_second']:,.0f}",
            *(f"{row[key]:.2%}" if row.get(key) is not None else "-" for key in SHARES.values()),
        ]
        for corpus, orders in result["pieces"].items()
        for row in orders
    ]
    return markdown(["treebank", "order", "words", "UAS, %", "P", "seconds of training", "tokens/s", *SHARES], rows)


SHARES = {
    "gold arcs lost": "lost_arcs",
    "certified": "certified",
    "converged": "converged",
    "visits without a step": "negative_visits",
}


def plot(result: Result) -> None:
    """There is none."""
