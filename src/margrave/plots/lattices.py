"""Pictures of lattices: nodes in a row, edges as arcs with their words, colored by their probabilities."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from margrave.data.lattices import Lattice
from margrave.errors import MargraveError
from margrave.plots.saving import drawable, fonts_for, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STEP = 1.2  # inches between two nodes
_LEVEL = 0.38  # inches by which parallel and longer edges lie higher
_RISE = 0.75  # how high the middle of an edge lies, as a share of its level
_MOST = 400  # edges that are drawn at most
_SHOWN = 0.005  # smaller probabilities are not written


def lattice_diagram(
    lattice: Lattice, probabilities: Sequence[float] | None = None, *, title: str | None = None
) -> "Figure":
    """Draw a lattice; an edge leads from left to right, above the nodes if it skips some.

    Parameters
    ----------
    lattice : the lattice.
    probabilities : one number per edge, which decides its color and is written behind its word.
    title : a text above the picture.
    """
    require_matplotlib()
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch

    if len(lattice.edges) > _MOST:
        raise MargraveError(f"a picture shows up to {_MOST} edges, and this lattice has {len(lattice.edges)}.")
    if probabilities is not None and len(probabilities) != len(lattice.edges):
        raise MargraveError(f"there must be one probability per edge: {len(lattice.edges)}.")
    levels = _levels(lattice)
    top = _RISE * max(levels, default=0.0)  # of the highest edge
    height = _LEVEL * (top + 2.5)
    width = _STEP * lattice.nodes + 0.6
    figure = Figure(figsize=(width, height + (0.3 if title else 0.0)))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(-0.7, lattice.nodes - 0.3)
    axes.set_ylim(-1.0, top + (2.2 if title else 1.5))
    # A word with dollar signs is no formula.
    style: dict[str, Any] = {"fontfamily": fonts_for([edge.word for edge in lattice.edges]), "parse_math": False}
    colors = _colors(probabilities, len(lattice.edges), Normalize(0.0, 1.0))
    # Probable edges lie above the others.
    orders = [1.0 + (0.0 if probabilities is None else 2.0 * float(probabilities[k])) for k in range(len(colors))]
    for k, (edge, level) in enumerate(zip(lattice.edges, levels, strict=True)):
        color = colors[k]
        points = [(edge.tail, 0.0), (edge.tail + 0.25, level), (edge.head - 0.25, level), (edge.head, 0.0)]
        axes.add_patch(
            FancyArrowPatch(
                path=_curve(points),
                arrowstyle="-|>",
                mutation_scale=8,
                lw=1.2,
                color=color,
                zorder=orders[k],
                shrinkA=6,
                shrinkB=6,
            )
        )
        text = edge.word or "ε"
        if probabilities is not None and probabilities[k] >= _SHOWN:
            text += f" {probabilities[k]:.2f}"
        middle = (edge.tail + edge.head) / 2
        axes.text(
            middle,
            _RISE * level,
            text,
            zorder=orders[k] + 0.5,
            ha="center",
            va="center",
            fontsize=8.5,
            color=color,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            **style,
        )
    for v in range(lattice.nodes):
        axes.plot([v], [0.0], "o", ms=7, mfc="white", mec="#333333", zorder=5)
    if title:
        axes.text((lattice.nodes - 1) / 2, top + 1.6, drawable(title), ha="center", fontsize=10, parse_math=False)
    return figure


def _curve(points: Sequence[tuple[float, float]]) -> Any:
    from matplotlib.path import Path

    return Path(list(points), [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])


def _colors(probabilities: Sequence[float] | None, n: int, scale: Any) -> list[Any]:
    if probabilities is None:
        return ["#333333"] * n
    from matplotlib import colormaps

    shades = colormaps["Blues"]
    return [shades(0.3 + 0.7 * float(scale(p))) for p in probabilities]


def _levels(lattice: Lattice) -> list[float]:
    """The height of every edge: no two edges that overlap have the same."""
    order = sorted(range(len(lattice.edges)), key=lambda k: lattice.edges[k].head - lattice.edges[k].tail)
    taken: list[list[tuple[int, int]]] = []
    levels = [0.0] * len(lattice.edges)
    for k in order:
        tail, head = lattice.edges[k].tail, lattice.edges[k].head
        level = next(
            (n for n, of in enumerate(taken) if all(head <= other[0] or tail >= other[1] for other in of)), len(taken)
        )
        if level == len(taken):
            taken.append([])
        taken[level].append((tail, head))
        levels[k] = 1.0 + level if level or head - tail > 1 else 0.0
    return levels
