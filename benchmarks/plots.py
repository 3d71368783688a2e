"""The results of the drivers as pictures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.tagging import curves

Result = dict[str, Any]
Points = Sequence[Result]

DOTS = {"marker": ".", "markersize": 4}
COLOURS = (*(f"C{k}" for k in range(10)), "black", "gold", "navy", "lime")


@contextmanager
def panels(path: Path, columns: int = 1, rows: int = 1) -> Iterator[Any]:
    """Axes side by side, with grid and legend, written to a file in the end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    size = (7, 4.5) if columns == 1 else (5.5 * columns, 4.2 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    yield axes.ravel()
    for panel in axes.ravel():
        panel.grid(alpha=0.3, which="both")
        panel.legend(fontsize="small")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw(panel: Any, name: str, points: Points, x: str, y: str, **style: Any) -> None:
    """One curve, through the points that have this value; on a logarithmic axis only where it is positive."""
    positive = panel.get_yscale() == "log"
    known = [point for point in points if point.get(y) is not None and (point[y] > 0 or not positive)]
    panel.plot([point[x] for point in known], [point[y] for point in known], label=name, **style)


def tagging(result: Result, path: Path) -> None:
    """How fast each gets near the optimum."""
    with panels(path) as (panel,):
        panel.set(
            xscale="log",
            yscale="log",
            ylim=(1e-6, None),
            xlabel="seconds of training",
            ylabel="P above the optimum, relative",
            title="CoNLL-2000 chunking, conditional random field",
        )
        for name, points in curves(result).items():
            draw(panel, name, points, "seconds", "above", **DOTS)


def relative_gaps(result: Result, path: Path) -> None:
    """The relative gap of each learner against time, a panel a data set (ocr, choosing)."""
    data = result["data"]
    with panels(path, 2, len(data) // 2) as axes:
        for panel, (name, part) in zip(axes, data.items(), strict=True):
            nearest = min(float(goal) for run in part["learners"].values() for goal in run["reached"])
            gap_axes(panel, nearest, name)
            for learner, colour in coloured(part["learners"]):
                run = part["learners"][learner]
                if "curve" in run:
                    style = {"linestyle": "-" if run["certified"] else ":", "color": colour, **DOTS}
                    draw(panel, learner, run["curve"], "seconds", "relative_gap", **style)


def gap_axes(panel: Any, nearest: float, title: str) -> None:
    """Relative gaps against time, down to the goal."""
    limits = (0.5 * nearest, 10)
    panel.set(xscale="log", yscale="log", ylim=limits, xlabel="seconds", ylabel="relative gap", title=title)


def coloured(learners: Result) -> Iterator[tuple[str, Any]]:
    """Each learner with a colour that is the same in every panel, whether it could run there or not."""
    yield from zip(sorted(learners), COLOURS, strict=False)


def mnist(result: Result, path: Path) -> None:
    """002, Fig. 3: objective and accuracy against effective passes; and P against time."""
    lowest = result["optimum"]
    with panels(path, 3) as (objective, accuracy, time):
        objective.set(xlim=(0, 80), ylim=(0.6 * lowest, 1.8 * lowest), xlabel="effective passes", ylabel="objective")
        accuracy.set(xlim=(0, 80), xlabel="effective passes", ylabel="accuracy on dev")
        time.set(xscale="log", yscale="log", ylim=(1e-6, 10), xlabel="seconds", ylabel="P above the optimum, relative")
        for name, run in result["learners"].items():
            points = run["curve"]
            style = DOTS if "scikit" in name else {}
            draw(objective, f"{name}, P", points, "passes", "P", **style)
            if name == "eg":
                draw(objective, "eg, D", points, "passes", "D", color=objective.lines[-1].get_color(), linestyle="--")
            draw(accuracy, name, points, "passes", "dev_accuracy", **style)
            draw(time, name, points, "seconds", "above", **style)
        accuracy.set_ylim(bottom=0.8)
        objective.set_title("MNIST, 7,000 images, logistic regression")


def fig4(result: Result, path: Path) -> None:
    """000, Fig. 4: D after each pass, by rates, by starts, and of EG after SMO."""
    highest = max(point["D"] for run in result["learners"].values() for point in run["curve"])
    with panels(path, 3) as axes:
        for panel, kind in zip(axes, ("EG, eta", "EG, start", "EG after"), strict=True):
            panel.set(xlabel="passes", ylabel="D", xscale="log")
            everywhere = {"SMO": {"color": "black", "linestyle": "--"}, "EG": {"color": "grey", "linestyle": "--"}}
            for name, run in result["learners"].items():
                if name in everywhere or name.startswith(kind):
                    draw(panel, name, numbered(run["curve"]), "pass", "D", **everywhere.get(name, {}))
            panel.set_ylim(-0.05 * highest, 1.05 * highest)
        axes[0].set_title(f"CoNLL-2003, {result['sentences']:,} sentences, hinge loss")


def numbered(points: Points) -> list[Result]:
    """The points with their number, which counts visits to all examples and not the trials made on them."""
    return [point | {"pass": n} for n, point in enumerate(points, 1)]


def fig3_001(result: Result, path: Path) -> None:
    """001, Fig. 3: F1 on development data after each pass; a colour a learner, a line style a C."""
    lines = {"0.1": ":", "1": "--", "10": "-"}
    colours = {"mira": "C0", "sgd": "C1", "lbfgs": "C2"}
    with panels(path, 2) as axes:
        for panel, (name, part) in zip(axes, result["data"].items(), strict=True):
            panel.set(xscale="log", xlabel="passes", ylabel="F1 on development data", title=f"CoNLL-2003, {name}")
            best = max(point["F1"] for run in part["learners"].values() for point in run["curve"])
            panel.set_ylim(best - 0.15, best + 0.01)
            for learner, run in part["learners"].items():
                kind, C = learner.split(", C = ")
                style = {"color": colours[kind], "linestyle": lines[C], **DOTS}
                draw(panel, learner, numbered(run["curve"]), "pass", "F1", **style)


def trees(result: Result, path: Path) -> None:
    """The relative gap against time, and the attachment score against effective passes."""
    with panels(path, 2) as (gap, uas):
        gap_axes(gap, 1e-4, "UD Greek, non-projective trees")
        uas.set(xscale="log", xlabel="effective passes", ylabel="UAS on dev")
        for name, colour in coloured(result["learners"]):
            run = result["learners"][name]
            if "curve" in run:
                label = f"{name}, {run['loss']}"
                draw(uas, label, run["curve"], "passes", "UAS", color=colour)
                if any(point["relative_gap"] is not None for point in run["curve"]):
                    draw(gap, label, run["curve"], "seconds", "relative_gap", color=colour, **DOTS)
        uas.set_ylim(bottom=0.7)


def taxonomy(result: Result, path: Path) -> None:
    """003, Table 1: the mean tree loss of every column with its interval, a panel a corpus."""
    with panels(path, len(result["data"])) as axes:
        for panel, (name, data) in zip(axes, result["data"].items(), strict=True):
            panel.set(title=name, ylabel="mean tree loss")
            trainings = list(data["training"])
            panel.set_xticks(range(len(trainings)), trainings)
            columns = list(data["training"][trainings[0]]["columns"])
            for k, column in enumerate(columns):
                losses = [data["training"][training]["columns"][column]["tree_loss"] for training in trainings]
                places = [at + (k - (len(columns) - 1) / 2) * 0.11 for at in range(len(trainings))]
                means, halves = [of["mean"] for of in losses], [of["interval"] for of in losses]
                panel.errorbar(places, means, halves, fmt="o", markersize=4, capsize=2, label=column)


def draw_beside_linear(panel: Any, label: str, points: Points, x: str, y: str, colour: str) -> None:
    """Points, and a dotted line of slope one through the last of them, for two logarithmic axes."""
    draw(panel, label, points, x, y, color=colour, marker="o")
    linear = [point | {"line": points[-1][y] * point[x] / points[-1][x]} for point in points]
    draw(panel, "_linear", linear, x, "line", color=colour, linestyle=":")


def svm_linear(result: Result, path: Path) -> None:
    """Seconds against the number of words, with a line of slope one through the last point of each."""
    with panels(path) as (panel,):
        panel.set(
            xscale="log",
            yscale="log",
            xlabel="words",
            ylabel="seconds",
            title=f"OCR letters, structural SVM, C = {result['C']:g}",
        )
        for (name, run), colour in zip(result["learners"].items(), COLOURS, strict=False):
            draw_beside_linear(panel, f"{name}, gap {run['goal']:g}", run["curve"], "words", "seconds", colour)


def pos(result: Result, path: Path) -> None:
    """004, Fig. 2: CPU time up to each round of LP-Struct, a curve a sample: simplex dots, extragradient crosses."""
    styles = {"simplex": {"color": "C0", "marker": "."}, "extragradient": {"color": "C1", "marker": "x"}}
    with panels(path) as (panel,):
        panel.set(xlabel="rounds", ylabel="CPU seconds so far", title=f"LP-Struct, {result['train']:,} sentences")
        for solver, style in styles.items():
            for k, points in enumerate(result["curves"][f"LP-Struct, {solver}"]):
                label = f"_{solver}" if k else solver
                draw(panel, label, points, "round", "cpu", markersize=4, linewidth=0.6, **style)


def lp_scale(result: Result, path: Path) -> None:
    """Seconds of a round of LP-Struct against the number of sentences, with lines of slope one through the last."""
    with panels(path) as (panel,):
        panel.set(
            xscale="log",
            yscale="log",
            xlabel="sentences",
            ylabel="seconds a round",
            title=f"LP-Struct on GENIA, C = {result['C']:g}, mean of {result['rounds']} rounds",
        )
        for what, name, colour in (("round", "inference and master", "C0"), ("inference", "inference alone", "C1")):
            draw_beside_linear(panel, name, result["curve"], "sentences", what, colour)
