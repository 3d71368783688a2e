"""000, Fig. 4: D after each pass of SMO, of online EG by rates and by starts, and of EG after SMO."""

from collections.abc import Sequence
from typing import Any

from benchmarks.corpora.columns import conll2003, last_column
from benchmarks.corpora.lines import Attributes
from benchmarks.corpora.problems import Tagging
from benchmarks.curves import Point, View, follow, thinned
from benchmarks.plots import draw, finished, panels
from benchmarks.tables import along, along_cells, markdown
from margrave.inputs import default_templates
from margrave.learners import SMO, Hybrid, Learner, OnlineEG, Task
from margrave.losses import Hinge

Result = dict[str, Any]

CORPORA = ("conll2003-en",)
RESULT = "fig4"
SECONDS = 60.0  # after which a learner makes no further pass
MARKS = (1, 3, 10, 30, 100)  # passes in the table
FIG4_PASSES = 100
FIG4_RATES = (0.03, 0.1, 0.3, 1.0)
FIG4_STARTS = (0.0, 3.0, 6.0, 12.0)


def measure() -> Result:
    """000, Fig. 4: D after each pass of SMO, of online EG by rates and by starts, and of EG that goes on from SMO.

    Rates stay fixed as in the paper, but for the comparison of starts: there D would fall soon at eta = 1.
    """
    sentences = conll2003("train")[:1000]
    data = Tagging(Attributes(sentences, default_templates(1).attributes), last_column(sentences))
    problem = data.bind(tied=False)
    learners: dict[str, Learner] = {"SMO": SMO(), "EG": OnlineEG()}
    learners |= {f"EG, eta {rate:g}": OnlineEG(rate=rate, adaptive=False) for rate in FIG4_RATES}
    learners |= {f"EG, start {start:g}": OnlineEG(rate=1.0, start=start) for start in FIG4_STARTS}
    learners |= {f"EG after {n} x SMO": Hybrid(smo_passes=n) for n in (1, 3, 10)}
    runs = {}
    for name, learner in learners.items():
        task = Task(problem, Hinge(), C=1.0, max_iter=FIG4_PASSES, n_threads=1)
        run = follow(learner, task, [1e-6], SECONDS)
        run["D_after"] = along([point["D"] for point in run["curve"]], MARKS)
        run["curve"] = thinned(numbered(run["curve"]), View("pass", "D", log_y=False, low=0.0))
        runs[name] = run
    sizes = {
        "sentences": len(sentences),
        "tokens": data.tokens,
        "tags": len(data.outputs.classes),
        "weights": problem.dim,
    }
    return {"C": 1.0, "seconds": SECONDS, **sizes, "learners": runs}


def numbered(points: Sequence[Point]) -> list[Point]:
    """The points with their number, which counts visits to all examples and not the trials made on them."""
    return [point | {"pass": n} for n, point in enumerate(points, 1)]


def table(result: Result) -> str:
    """D along the way."""
    rows = [[name, *along_cells(run["D_after"], MARKS)] for name, run in result["learners"].items()]
    title = f"D after so many passes; {result['sentences']:,} sentences, {result['tokens']:,} tokens"
    return f"{title}\n\n{markdown(['learner', *map(str, MARKS), 'highest'], rows)}"


def plot(result: Result) -> Any:
    """000, Fig. 4: D after each pass, by rates, by starts, and of EG after SMO."""
    highest = max(run["D_after"]["highest"] for run in result["learners"].values())
    figure, axes = panels(3)
    for panel, kind in zip(axes, ("EG, eta", "EG, start", "EG after"), strict=True):
        panel.set(xlabel="passes", ylabel="D", xscale="log")
        everywhere = {"SMO": {"color": "black", "linestyle": "--"}, "EG": {"color": "grey", "linestyle": "--"}}
        for name, run in result["learners"].items():
            if name in everywhere or name.startswith(kind):
                draw(panel, name, run["curve"], "pass", "D", **everywhere.get(name, {}))
        panel.set_ylim(-0.05 * highest, 1.05 * highest)
    axes[0].set_title(f"CoNLL-2003, {result['sentences']:,} sentences, hinge loss")
    return finished(figure)
