"""How many weights a problem needs before EG reaches a gap sooner than L-BFGS: the border in `learners/auto.py`.

All data but the handwritten letters and digits are generated. The cases were chosen before any result was seen: few
weights on alignments, chains and classes, up to as many as the letters have, each with a small and a large C.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.corpora.problems import Tagging, classes_problem, digits_problem, ocr_words
from benchmarks.curves import compare
from benchmarks.experiments.alignment_speed import LETTERS, known_pairs
from benchmarks.tables import markdown
from margrave import SequenceAligner, _core
from margrave.examples import Examples
from margrave.features import Sequences
from margrave.learners import EG, LBFGS
from margrave.learners.auto import FEW_WEIGHTS
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("ocr-letters", "mnist")
RESULT = "few_weights"
SECONDS = 10.0  # after which a learner makes no further pass
GOALS = (1e-2, 1e-3, 1e-4)
CS = (0.01, 1.0)


@dataclass
class Case:
    """A problem, which is made when it is its turn, and the values of C that are measured."""

    problem: Callable[[], _core.Problem]
    cs: tuple[float, ...] = CS


def alignments(pairs: int, symmetric: bool, **features: Any) -> _core.Problem:
    """Pairs of 100 letters with a table of pairs of letters."""
    X, Y = known_pairs(pairs, 100)
    model = SequenceAligner(symmetric=symmetric, features=Sequences(LETTERS), **features)
    return model._training(Examples(X, Y, training=True), Log()).bound.problem


def chains(states: int, symbols: int, sequences: int) -> _core.Problem:
    """Sequences of 50 symbols that hidden states emit, as in a casino with loaded dice."""
    rng = np.random.default_rng(0)
    stay = 0.8 * np.eye(states) + 0.2 / states
    emit = rng.dirichlet(np.ones(symbols), states)
    X, Y = [], []
    for _ in range(sequences):
        tags = [int(rng.integers(states))]
        for _ in range(49):
            tags.append(int(rng.choice(states, p=stay[tags[-1]])))
        X.append([[f"x{rng.choice(symbols, p=emit[tag])}"] for tag in tags])
        Y.append([f"s{tag}" for tag in tags])
    return Tagging(X, Y, "all").bind(True)


def words(all_but_one_fold: bool) -> _core.Problem:
    """Handwritten words."""
    return ocr_words(all_but_one_fold=all_but_one_fold).bind(True)


def classes(features: int, count: int, examples: int) -> _core.Problem:
    """Classes around random centers, which overlap."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, count, examples)
    centers = rng.normal(size=(count, features)) / np.sqrt(features)
    return classes_problem(centers[labels] + rng.normal(size=(examples, features)), labels.tolist(), count)


def cases() -> dict[str, Case]:
    """All problems, by name."""
    return {
        "classes, 10 features": Case(partial(classes, features=10, count=5, examples=20_000)),
        "classes, 100 features": Case(partial(classes, features=100, count=5, examples=20_000)),
        "classes, 1,000 features": Case(partial(classes, features=1000, count=5, examples=20_000)),
        "chains, 3 states, 6 symbols": Case(partial(chains, 3, 6, 1000)),
        "chains, 10 states, 20 symbols": Case(partial(chains, 10, 20, 1000)),
        "8,000 chains, 10 states, 20 symbols": Case(partial(chains, 10, 20, 8000)),
        "chains, 20 states, 100 symbols": Case(partial(chains, 20, 100, 1000)),
        "alignments, 100 pairs": Case(partial(alignments, pairs=100, symmetric=True)),
        "alignments, 500 pairs": Case(partial(alignments, pairs=500, symmetric=True)),
        "alignments, 500 pairs, two tables": Case(partial(alignments, pairs=500, symmetric=False, gap_residues=True)),
        "alignments, 100 pairs, windows": Case(partial(alignments, pairs=100, symmetric=False, window=1)),
        "OCR letters, 704 words": Case(partial(words, False), (0.1, 1.0)),
        "OCR letters, 6,173 words": Case(partial(words, True), (0.1, 1.0)),
        "MNIST, 7,000 images": Case(digits_problem, (0.1, 1.0)),
    }


def measure() -> Result:
    """Passes and seconds of both learners, by the number of weights."""
    data = {}
    for name, case in cases().items():
        problem = case.problem()
        for C in case.cs:
            runs = compare({"eg": EG(), "lbfgs": LBFGS()}, lambda _: problem, Log(), C, GOALS, SECONDS)  # noqa: B023
            parts = sum(map(problem.parts, range(problem.size)))
            data[f"{name}, C = {C:g}"] = {
                "weights": problem.dim,
                "parts": parts,
                "examples": problem.size,
                "learners": {name: {"reached": run["reached"], "auto": run["auto"]} for name, run in runs.items()},
            }
            print(name, C, problem.dim, parts, {k: v["reached"] for k, v in runs.items()}, flush=True)
    return {"seconds": SECONDS, "few_weights": FEW_WEIGHTS, "data": data}


def _cell(at: dict[str, float] | None) -> str:
    return "-" if at is None else f"{at['passes']:.0f} ({at['seconds']:.2f} s)"


def table(result: Result) -> str:
    """Passes and seconds to two gaps, fewest weights first."""
    rows = []
    for name, of in sorted(result["data"].items(), key=lambda each: each[1]["weights"]):
        cells = [
            _cell(of["learners"][learner]["reached"][g]) for g in ("0.001", "0.0001") for learner in ("eg", "lbfgs")
        ]
        chosen = next((learner for learner, run in of["learners"].items() if run["auto"]), "other")
        rows.append([name, f"{of['weights']:,}", f"{of['parts']:,}", *cells, chosen])
    header = ["data", "weights", "parts", "`eg`, 1e-3", "`lbfgs`, 1e-3", "`eg`, 1e-4", "`lbfgs`, 1e-4", "`auto`"]
    return f"effective passes (and seconds) to a relative gap\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """How many times as long EG takes as L-BFGS, by the number of weights."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for goal, marker in (("0.001", "o"), ("0.0001", "x")):
        points = []
        for of in result["data"].values():
            eg, lbfgs = (of["learners"][learner]["reached"][goal] for learner in ("eg", "lbfgs"))
            if eg or lbfgs:  # a learner that did not arrive took at least all its time
                seconds = [at["seconds"] if at else result["seconds"] for at in (eg, lbfgs)]
                points.append((of["weights"], seconds[0] / seconds[1]))
        axes.plot(*zip(*points, strict=True), marker, ls="", label=f"to a gap of {float(goal):g}", fillstyle="none")
    axes.axhline(1, color="#999999", lw=0.8)
    axes.axvline(result["few_weights"], color="#999999", lw=0.8, ls=":", label="the limit of `auto`")
    axes.set(xscale="log", yscale="log", xlabel="weights", ylabel="seconds of eg / seconds of lbfgs")
    axes.legend(fontsize=8)
    return figure
