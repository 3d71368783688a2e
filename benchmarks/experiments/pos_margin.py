"""Beyond 004: a margin of one for every wrong tag instead of one for all: errors on GENIA, and CPU time of both."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from benchmarks.corpora.columns import conll2000, conll2000_attributes, genia_all, last_column
from benchmarks.experiments import pos
from benchmarks.experiments.pos import LP_TOL, PAPER_POS, SAMPLES, TEST, TRAIN, Method, methods, table1
from benchmarks.lp_struct import Rounds
from benchmarks.machine import in_new_process
from benchmarks.summaries import Result
from benchmarks.tables import markdown
from margrave.estimators import SequenceTagger
from margrave.learners import LP

CORPORA = ("genia-treebank", "conll2000")
RESULT = "pos_margin"
MARGINS = ("one", "cost")
SENTENCES = 1_000  # of the runs whose time is measured
TOL = 1e-2  # on the relative gap of these runs
DATA: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], float]] = {  # sentences, attributes of one, C
    "CoNLL-2000 chunking, C = 3": (lambda: conll2000("train"), conll2000_attributes, 3.0),
    "CoNLL-2000 chunking, C = 10": (lambda: conll2000("train"), conll2000_attributes, 10.0),
    "GENIA, parts of speech, C = 10": (genia_all, lambda rows: [[word] for word, _ in rows], 10.0),
}


def measure() -> Result:
    """Errors with a margin by the cost, and the time of each margin on fewer sentences."""
    return errors() | {"times": times()}


def errors() -> Result:
    """Table 1 of the paper with a margin of one for every wrong tag, on the same sentences."""
    known = methods(0.0)
    by_cost = Method(
        lambda C: SequenceTagger("hinge", learner=LP(margin="cost"), C=C, n_jobs=1, tol=LP_TOL),
        (10.0,),
        limit=inf,
    )
    measured = table1(genia_all(), {"LP-Struct, margin by Hamming": by_cost, "perceptron": known["perceptron"]})
    del measured["curves"]  # which are not shown
    return {
        "train": TRAIN,
        "test": TEST,
        "samples": SAMPLES,
        "tol": {"LP-Struct": LP_TOL},
        "paper": PAPER_POS,
    } | measured


def times() -> Result:
    """CPU seconds of both margins at the same C, each in a process of its own and with one thread."""
    data = {}
    for name, (_, _, C) in DATA.items():
        runs = {margin: in_new_process(one_run, name, margin) for margin in MARGINS}
        data[name] = {"C": C, "margins": runs, "ratio": runs["cost"]["cpu"] / runs["one"]["cpu"]}
    return {"sentences": SENTENCES, "tol": TOL, "data": data}


def one_run(name: str, margin: str) -> Result:
    """LP-Struct with this margin on random sentences, to the tolerance."""
    load, attributes, C = DATA[name]
    every = load()
    sentences = [every[i] for i in np.random.default_rng(0).permutation(len(every))[:SENTENCES]]
    rounds = Rounds()
    tagger = SequenceTagger("hinge", learner=LP(margin=margin), C=C, tol=TOL, n_jobs=1)
    tagger.fit([attributes(rows) for rows in sentences], last_column(sentences), observers=[rounds])
    return {
        "tokens": sum(map(len, sentences)),
        "weights": len(tagger.coef_),
        "zeros": float(np.mean(tagger.coef_ == 0)),
        "cpu": rounds.curve[-1]["cpu"],
        "rounds": len(rounds.curve),
        "constraints": rounds.state.n_constraints,
        "relative_gap": tagger.certificate_.relative_gap,
        "converged": tagger.converged_,
    }


def table(result: Result) -> str:
    """The errors, and the time of each margin."""
    times = result["times"]
    rows = [
        [
            name,
            margin,
            f"{run['cpu']:.1f}",
            f"{data['ratio']:.2f}" if margin == "cost" else "",
            str(run["rounds"]),
            f"{run['constraints']:,}",
            f"{run['relative_gap']:.1e}",
        ]
        for name, data in times["data"].items()
        for margin, run in data["margins"].items()
    ]
    title = f"{times['sentences']:,} sentences, to a relative gap of {times['tol']:g}"
    if "machine" in times:  # They were added to the errors of another run.
        title += f"; measured on {times['machine']['cpu']}, {times['machine']['date']}"
    header = ["data", "margin", "CPU seconds", "times margin one", "rounds", "constraints", "relative gap"]
    return f"{pos.table(result)}\n\n{title}\n\n{markdown(header, rows)}"


def plot(result: Result) -> None:
    """There is none."""
