"""Fits in which one allocation fails, at a thousand places: each ends in one sentence, and nothing is lost.

A library that is loaded before the process starts counts allocations and lets one fail: C++'s `operator new`, any
allocation of 4 kB or more, which are those of arrays, or one of Python's own. Afterwards the same fit in the same
process must give the weights that it always gives. Batch learners use two threads, so one that waits for ever would
show; the weights of others depend on what their threads do first, so they use one.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from benchmarks.allocations import BINDING, DONE, KINDS, OUTCOMES, SENTENCE, Fit, outcomes, preloaded
from benchmarks.machine import in_new_process
from benchmarks.pieces import Pieces
from benchmarks.plots import finished, panels
from benchmarks.small import brackets, compounds, dialects, digit_sets, lists, maps, texts, town, trees
from benchmarks.tables import markdown
from margrave import (
    ConstituencyParser,
    DependencyParser,
    GraphLabeler,
    LatticeDecoder,
    LinearClassifier,
    MultiLabelClassifier,
    Reranker,
    SequenceAligner,
    SequenceTagger,
)
from margrave.features import Templates, TfIdf

Result = dict[str, Any]

CORPORA = ()
RESULT = "allocations"
PLACES = {kind: most for kind, most in zip(KINDS, (40, 20, 25), strict=False)}  # for each fit
EXAMPLES = 6  # of what went wrong
LEARNERS = {"lbfgs": "log", "eg": "log", "bcfw": "hinge", "cutting-plane": "hinge", "lp": "hinge", "sgd": "log"}


def measure() -> Iterator[Result]:
    """What came of all attempts, by fit and kind of allocation."""
    pieces = Pieces(RESULT)
    with preloaded():
        for name in FITS:
            yield from pieces.measure(name, partial(in_new_process, tried, name, PLACES))


def tried(name: str, places: dict[str, int]) -> Result:
    """One fit, with so many places of each kind."""
    warnings.simplefilter("ignore")
    fit, random = FITS[name](), Random(0)
    came = {kind: outcomes(fit, kind, most, random) for kind, most in places.items()}
    wrong = [
        {"kind": kind, "place": n, "outcome": outcome, "text": text}
        for kind, found in came.items()
        for n, outcome, text in found
        if outcome not in (DONE, SENTENCE, BINDING)
    ]
    counts = {kind: Counter(outcome for _, outcome, _ in found) for kind, found in came.items()}
    return {"random_state": 0, "outcomes": counts, "wrong": wrong[:EXAMPLES]}


def fit_of(estimator: Any, X: Any, y: Any, learner: str = "lbfgs", loss: str = "log") -> Fit:
    """A fit of a new estimator with the settings of this one."""
    settings = {"learner": learner, "loss": loss, "max_iter": 8, "n_jobs": 2 if learner == "lbfgs" else 1}

    def prepared() -> Callable[[], Any]:
        new = estimator.unfitted().set_params(**settings)
        return lambda: new.fit(X, y)

    return prepared


def _tagger(learner: str, loss: str) -> Callable[[], Fit]:
    return lambda: fit_of(SequenceTagger(features=Templates()), *town("train", 12), learner, loss)


FITS: dict[str, Callable[[], Fit]] = {
    **{f"tagger, {learner}": _tagger(learner, loss) for learner, loss in LEARNERS.items()},
    "parser": lambda: fit_of(DependencyParser(), *trees("train", 5, longest=10)),
    "constituents": lambda: fit_of(ConstituencyParser(), *brackets("train", 5)),
    "maps": lambda: fit_of(GraphLabeler(), *maps(3)),
    "labels": lambda: fit_of(MultiLabelClassifier(), *digit_sets(0, 20)),
    "texts": lambda: fit_of(LinearClassifier(features=TfIdf()), *texts()),
    "reranker": lambda: fit_of(Reranker(), *lists(5)[:2]),
    "aligner": lambda: fit_of(SequenceAligner(), *dialects(0, 3)),
    "lattices": lambda: fit_of(LatticeDecoder(), *compounds()),
}


def table(result: Result) -> str:
    """Outcomes by fit, and by kind of allocation."""
    rows: dict[str, Counter[str]] = {}
    for name, piece in result["pieces"].items():
        for kind, counts in piece["outcomes"].items():
            for row in (name, f"all, {kind}"):
                rows[row] = rows.get(row, Counter()) + Counter(counts)
    ordered = sorted(rows.items(), key=lambda row: row[0].startswith("all, "))
    return markdown(["fit", *OUTCOMES], [[name, *(str(of[each]) for each in OUTCOMES)] for name, of in ordered])


def plot(result: Result) -> Any:
    """Outcomes by fit, as bars."""
    figure, (panel,) = panels()
    left = dict.fromkeys(result["pieces"], 0)
    for number, outcome in enumerate(OUTCOMES):
        of_fit = {
            name: sum(counts.get(outcome, 0) for counts in piece["outcomes"].values())
            for name, piece in result["pieces"].items()
        }
        label = f"{outcome}: {sum(of_fit.values())}"
        panel.barh([*of_fit], [*of_fit.values()], left=[*left.values()], color=f"C{number}", label=label)
        left = {name: left[name] + count for name, count in of_fit.items()}
    panel.set(xlabel="fits", title="One allocation of a fit fails")
    return finished(figure)
