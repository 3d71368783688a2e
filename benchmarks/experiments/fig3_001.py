"""001, Fig. 3: F1 on development data after each pass of DCA (mira), SGD and L-BFGS, log loss."""

from collections.abc import Sequence
from typing import Any

from benchmarks.corpora.columns import conll2003, last_column
from benchmarks.corpora.lines import Attributes
from benchmarks.corpora.problems import Tagging
from benchmarks.curves import Point, View, follow, thinned
from benchmarks.plots import DOTS, draw, finished, panels
from benchmarks.tables import along, along_cells, markdown
from margrave.inputs import default_templates
from margrave.learners import LBFGS, MIRA, SGD, Task
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("conll2003-en",)
RESULT = "fig3_001"
SECONDS = 40.0  # after which a learner makes no further pass
MARKS = (1, 2, 5, 10, 30, 100)  # passes in the table
FIG3_PASSES = {"mira": 30, "sgd": 30, "lbfgs": 150}  # 001: L-BFGS converges after 121
FIG3_CS = (0.1, 1.0, 10.0)


def measure() -> Result:
    """001, Fig. 3: F1 on development data after each pass of DCA (mira), SGD and L-BFGS, log loss, three values of C.

    SGD chooses its rate by that F1, after one pass with each, as in the paper. Those passes count.
    """
    train, dev = conll2003("train"), conll2003("testa")
    attributes = default_templates(3).attributes
    result = {}
    for n in (1000, len(train)):
        data = Tagging(Attributes(train[:n], attributes), last_column(train[:n]))
        problem = data.bind(tied=True)
        f1 = data.f1(Attributes(dev, attributes), last_column(dev))
        runs = {}
        for C in FIG3_CS:
            for learner in (MIRA(), SGD(rates=(0.001, 0.01, 0.1, 1.0, 10.0, 100.0)), LBFGS()):
                passes = FIG3_PASSES[learner.name]
                task = Task(problem, Log(), C=C, max_iter=passes, n_threads=1, dev_score=f1)
                run = follow(learner, task, [1e-4], SECONDS, {"F1": f1})
                run["F1_after"] = along([point["F1"] for point in run["curve"]], MARKS)
                run["curve"] = thinned(numbered(run["curve"]), View("pass", "F1", log_y=False))
                runs[f"{learner.name}, C = {C:g}"] = run
        result[f"{n:,} sentences"] = {"tokens": data.tokens, "weights": problem.dim, "learners": runs}
    return {"seconds": SECONDS, "data": result}


def numbered(points: Sequence[Point]) -> list[Point]:
    """The points with their number, which counts visits to all examples and not the trials made on them."""
    return [point | {"pass": n} for n, point in enumerate(points, 1)]


def table(result: Result) -> str:
    """F1 along the way."""
    rows = [
        [name, learner, *along_cells(run["F1_after"], MARKS, 100)]
        for name, part in result["data"].items()
        for learner, run in part["learners"].items()
    ]
    header = ["data", "learner", *map(str, MARKS), "highest"]
    return f"F1 on development data after so many passes, %\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """001, Fig. 3: F1 on development data after each pass; one colour per learner and one line style per C."""
    lines = {"0.1": ":", "1": "--", "10": "-"}
    colours = {"mira": "C0", "sgd": "C1", "lbfgs": "C2"}
    figure, axes = panels(2)
    for panel, (name, part) in zip(axes, result["data"].items(), strict=True):
        panel.set(xscale="log", xlabel="passes", ylabel="F1 on development data", title=f"CoNLL-2003, {name}")
        best = max(run["F1_after"]["highest"] for run in part["learners"].values())
        panel.set_ylim(best - 0.15, best + 0.01)
        for learner, run in part["learners"].items():
            kind, C = learner.split(", C = ")
            style = {"color": colours[kind], "linestyle": lines[C], **DOTS}
            draw(panel, learner, run["curve"], "pass", "F1", **style)
    return finished(figure)
