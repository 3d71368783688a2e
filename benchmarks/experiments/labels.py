"""Seconds of a gradient against the number of labels: 5,000 sentences of Brown with tags cut shorter and shorter.

Margrave's gradient, P and tagging beside CRFsuite's gradient, on the same attributes and observed pairs, one thread.
"""

import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import pairwise
from time import process_time
from typing import Any

from benchmarks.corpora.columns import brown
from benchmarks.corpora.lines import Rows
from benchmarks.corpora.problems import Tagging
from benchmarks.plots import finished, panels
from benchmarks.tables import markdown, number
from margrave import _core
from margrave.learners import LBFGS, Objective
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("brown-pos",)
RESULT = "labels"
SENTENCES = 5_000
ITERATIONS = 10  # of L-BFGS, to weights like those that most gradients of a run are computed at
REPEATS = 9  # the fastest counts
CUTS: dict[str, Callable[[str], str]] = {
    "first letter": lambda tag: tag[:1],
    "two letters": lambda tag: tag[:2],
    "cut at -, + and *": lambda tag: re.split(r"[-+*]", tag, maxsplit=1)[0],
    "full": lambda tag: tag,
}


def measure() -> Result:
    """Processor seconds for each set of labels."""
    sentences = sample()
    X = [attributes(rows) for rows in sentences]
    runs = {}
    for name, cut in CUTS.items():
        Y = [[cut(tag) for _, tag in rows] for rows in sentences]
        runs[name] = one_run(X, Y)
        if find_spec("pycrfsuite"):
            from benchmarks.rivals.crfsuite import seconds_per_evaluation

            runs[name]["crfsuite"] = seconds_per_evaluation(X, Y, ITERATIONS)
            runs[name]["ratio"] = runs[name]["crfsuite"] / runs[name]["gradient"]
    return {"sentences": len(sentences), "tokens": sum(map(len, sentences)), "runs": runs}


def sample() -> list[Rows]:
    """Sentences at equal distances, so that all genres are among them."""
    every = [rows for _, rows in brown()]
    return every[:: len(every) // SENTENCES][:SENTENCES]


def attributes(rows: Rows) -> list[list[str]]:
    """Words beside and affixes of each word."""
    words = [row[0] for row in rows]
    return [
        [
            f"w={word}",
            f"lower={word.lower()}",
            *(f"suffix={word[-n:]}" for n in (1, 2, 3)),
            f"first={word[0]}",
            *(f"w[{o}]={words[t + o]}" for o in (-2, -1, 1, 2) if 0 <= t + o < len(words)),
        ]
        for t, word in enumerate(words)
    ]


def one_run(X: Sequence[Any], Y: Sequence[Sequence[str]]) -> Result:
    """Seconds of loss and gradient, of the loss alone, and of tagging."""
    tagging = Tagging(X, Y)
    problem = tagging.bind(True)
    labels = len(tagging.outputs.classes)
    w = LBFGS().solve(Objective(problem, Log(), C=1.0, tol=0.0, max_iter=ITERATIONS, n_jobs=1)).w
    family = Log().core(1.0)
    return {
        "labels": labels,
        "weights": problem.dim,
        "transitions": len({pair for y in Y for pair in pairwise(y)}) / labels**2,
        "gradient": fastest(lambda: _core.losses_and_gradient(problem, w, family, 1, True)),
        "P": fastest(lambda: _core.losses_and_gradient(problem, w, family, 1, False)),
        "tagging": fastest(lambda: _core.argmax_all(problem, w, 1)),
    }


def fastest(run: Callable[[], Any]) -> float:
    """Processor seconds of the fastest of several calls."""
    seconds = []
    for _ in range(REPEATS):
        started = process_time()
        run()
        seconds.append(process_time() - started)
    return min(seconds)


def table(result: Result) -> str:
    """Seconds for each set of labels."""
    rows = [
        [
            name,
            str(run["labels"]),
            f"{run['transitions']:.1%}",
            *(number(run.get(of), ".3f") for of in ("gradient", "P", "tagging", "crfsuite")),
            number(run.get("ratio"), ".1f"),
        ]
        for name, run in result["runs"].items()
    ]
    title = f"{result['sentences']:,} sentences of Brown, {result['tokens']:,} tokens, one thread, processor seconds"
    header = ["tags", "labels", "transitions seen", "gradient", "P", "tagging", "CRFsuite's gradient", "ratio"]
    return f"{title}\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """Seconds against the number of labels."""
    figure, (panel,) = panels()
    panel.set(
        xscale="log",
        yscale="log",
        xlabel="labels",
        ylabel="seconds, one thread",
        title=f"{result['tokens']:,} tokens of Brown",
    )
    runs = list(result["runs"].values())
    names = {"gradient": "gradient", "P": "P", "tagging": "tagging", "crfsuite": "CRFsuite's gradient"}
    for of, name in names.items():
        known = [run for run in runs if of in run]
        panel.plot([run["labels"] for run in known], [run[of] for run in known], label=name, marker="o")
    return finished(figure)
