"""Seconds and memory of `auto` to a relative gap of 1e-3 on more and more of the Brown corpus with short tags."""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpora.columns import brown_short, last_column
from benchmarks.corpora.problems import SavedTagging
from benchmarks.lp_struct import peak_mb
from benchmarks.machine import in_new_process
from benchmarks.plots import draw_beside_linear, finished, panels
from benchmarks.tables import markdown
from margrave.features import Templates
from margrave.learners import Auto, Objective
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("brown-pos",)
RESULT = "growth"
TOKENS = (50_000, 100_000, 200_000, 400_000, 800_000)  # and all
OWN_TOKENS = TOKENS[:4]  # of the runs whose pairs are those that occur in their own sentences
GROWTH_TOL = 1e-3  # on the relative gap
GROWTH_C = 1.0
ALL, OWN = "pairs of all sentences", "pairs of the sample"


def measure() -> Result:
    """Runs on the first sentences in a random order, each with one thread and in a process of its own."""
    sentences = brown_short()
    order = np.random.default_rng(0).permutation(len(sentences))
    sentences = [sentences[i] for i in order]
    words = [[row[:1] for row in rows] for rows in sentences]
    with TemporaryDirectory() as folder:
        X = Templates().learn(words).transform(words)
        saved = SavedTagging(str(Path(folder, "brown.npz")), X, last_column(sentences))
        curves = {
            ALL: [in_new_process(solved, saved, tokens, False) for tokens in (*TOKENS, sum(map(len, words)))],
            OWN: [in_new_process(solved, saved, tokens, True) for tokens in OWN_TOKENS],
        }
    return {"tol": GROWTH_TOL, "C": GROWTH_C, "labels": saved.labels} | summarized(curves)


def summarized(curves: dict[str, list[Result]]) -> Result:
    """The runs of each curve side by side, the exponents of time, and bytes per token."""
    together = {name: {key: [run[key] for run in runs] for key in runs[0]} for name, runs in curves.items()}
    exponents = {name: slope(np.log(curve["tokens"]), np.log(curve["cpu"])) for name, curve in together.items()}
    return {"curves": together, "exponents": exponents, "bytes_per_token": bytes_per_token(curves[ALL])}


def bytes_per_token(runs: list[Result]) -> dict[str, float]:
    """By the precision in which EG stores its state, from one number of tokens to the next.

    This leaves out what does not depend on the number of tokens: the interpreter, the names, the weights.
    """
    kinds = {run["learner"]: "single" if "single=True" in run["learner"] else "double" for run in runs}
    return {
        f"{kinds[after['learner']]}, {before['tokens']:,} to {after['tokens']:,} tokens": 2**20
        * (after["peak_mb"] - before["peak_mb"])
        / (after["tokens"] - before["tokens"])
        for before, after in pairwise(runs)
        if before["learner"] == after["learner"]
    }


def solved(saved: SavedTagging, tokens: int, own_pairs: bool) -> Result:
    """One run: CPU seconds, passes, and the most memory that this process had."""
    problem = saved.bind(tokens, own_pairs=own_pairs)
    loss = Log()
    learner = Auto().resolve(loss, problem)
    started = process_time()
    solution = learner.solve(Objective(problem, loss, C=GROWTH_C, tol=GROWTH_TOL, n_jobs=1))
    return {
        "tokens": tokens,
        "weights": problem.dim,
        "learner": repr(learner),
        "cpu": process_time() - started,
        "passes": solution.certificate.passes,
        "relative_gap": solution.certificate.relative_gap,
        "peak_mb": peak_mb(),
    }


def slope(x: Any, y: Any) -> float:
    """The slope of the line through these points with the smallest squares."""
    return float(np.polyfit(np.asarray(x, dtype=float), np.asarray(y, dtype=float), 1)[0])


def table(result: Result) -> str:
    """A row per run, and the exponents."""
    rows = [
        [
            name,
            f"{tokens:,}",
            f"{weights:,}",
            f"{cpu:.1f}",
            f"{passes:.1f}",
            f"{1e6 * cpu / passes / tokens:.2f}",
            f"{peak / 1024:.2f}",
        ]
        for name, curve in result["curves"].items()
        for tokens, weights, cpu, passes, peak in zip(
            *(curve[key] for key in ("tokens", "weights", "cpu", "passes", "peak_mb")), strict=True
        )
    ]
    header = ["weights of", "tokens", "weights", "CPU s", "passes", "µs per token and pass", "peak GiB"]
    exponents = "; ".join(f"{name}: {exponent:.3f}" for name, exponent in result["exponents"].items())
    memory = "; ".join(f"{of}: {value:,.0f}" for of, value in result["bytes_per_token"].items())
    return (
        f"{markdown(header, rows)}\n\nexponent of CPU seconds against tokens: {exponents}\n\n"
        f"bytes per token, by the precision of the state: {memory}"
    )


def plot(result: Result) -> Any:
    """Seconds and memory against tokens."""
    figure, (seconds, memory) = panels(2)
    for color, (name, curve) in zip(("C0", "C1"), result["curves"].items(), strict=True):
        draw_beside_linear(seconds, f"{name}: exponent {result['exponents'][name]:.2f}", curve, "tokens", "cpu", color)
        draw_beside_linear(memory, name, curve, "tokens", "peak_mb", color)
    seconds.set(xscale="log", yscale="log", xlabel="tokens", ylabel=f"CPU seconds to a gap of {result['tol']:g}")
    memory.set(xscale="log", yscale="log", xlabel="tokens", ylabel="peak resident memory, MB")
    return finished(figure)
