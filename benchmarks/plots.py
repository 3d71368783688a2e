"""What the plots of the experiments share."""

from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any

from benchmarks.curves import Curve

DOTS = {"marker": ".", "markersize": 4}
COLORS = (*(f"C{k}" for k in range(10)), "black", "gold", "navy", "lime", "teal", "maroon", "sienna", "salmon")


def panels(columns: int = 1, rows: int = 1) -> tuple[Any, Any]:
    """A figure and its axes, row by row."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    size = (7, 4.5) if columns == 1 else (5.5 * columns, 4.2 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return figure, axes.ravel()


def finished(figure: Any) -> Any:
    """The figure with a grid and a legend in every panel."""
    for panel in figure.axes:
        panel.grid(alpha=0.3, which="both")
        panel.legend(fontsize="small")
    return figure


def draw(panel: Any, name: str, curve: Curve, x: str, y: str, **style: Any) -> None:
    """One curve, through the points that have this value; on a logarithmic axis only where it is positive."""
    positive = panel.get_yscale() == "log"
    pairs = zip(curve[x], curve[y], strict=True)
    known = [(a, b) for a, b in pairs if b is not None and (b > 0 or not positive)]
    panel.plot([a for a, _ in known], [b for _, b in known], label=name, **style)


def gap_axes(panel: Any, nearest: float, title: str) -> None:
    """Relative gaps against time, down to the goal."""
    limits = (0.5 * nearest, 10)
    panel.set(xscale="log", yscale="log", ylim=limits, xlabel="seconds", ylabel="relative gap", title=title)


def colored(learners: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each learner with a color that is the same in every panel, whether it could run there or not."""
    yield from zip(sorted(learners), cycle(COLORS), strict=False)


def draw_beside_linear(panel: Any, label: str, curve: Curve, x: str, y: str, color: str) -> None:
    """Points, and a dotted line of slope one through the last of them, for two logarithmic axes."""
    draw(panel, label, curve, x, y, color=color, marker="o")
    linear = {x: curve[x], "line": [curve[y][-1] * at / curve[x][-1] for at in curve[x]]}
    draw(panel, "_linear", linear, x, "line", color=color, linestyle=":")


def nearness(title: str, curves: Mapping[str, Curve]) -> Any:
    """A figure of how fast each run gets near the optimum."""
    figure, (panel,) = panels()
    panel.set(
        xscale="log",
        yscale="log",
        ylim=(1e-6, None),
        xlabel="seconds of training",
        ylabel="P above the optimum, relative",
        title=title,
    )
    for name, curve in curves.items():
        draw(panel, name, curve, "seconds", "above", **DOTS)
    return finished(figure)
