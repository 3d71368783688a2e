"""Pictures of graphs with labeled nodes: grids as cells, other graphs with a layout by springs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave.errors import MargraveError
from margrave.plots.saving import drawable, fonts_for, require_matplotlib, texts_as_they_are

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _WRONG = "#333333", "#c8102e"
_ROUNDS = 300  # of the layout
_LARGE = 200  # cells or nodes beyond which labels are not written
_KEY = 24  # labels beyond which their colors are not explained


def graph_diagram(
    edges: ArrayLike,
    labels: Sequence[Any],
    *,
    classes: Sequence[Any] | None = None,
    shape: tuple[int, int] | None = None,
    positions: ArrayLike | None = None,
    probabilities: Sequence[float] | None = None,
    gold: Sequence[Any] | None = None,
) -> "Figure":
    """Draw a graph whose nodes are colored by their labels.

    Parameters
    ----------
    edges : pairs of nodes.
    labels : the label of each node.
    classes : all labels, so that several pictures have the same colors.
    shape : the height and width of a grid, whose nodes are drawn as cells.
    positions : the place of each node, (nodes, 2); computed if not given.
    probabilities : of each label; the lower, the paler.
    gold : the right labels: for a grid they are drawn in a second panel, otherwise nodes with a wrong label have a red
        border and show the right label in brackets.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    names = list(labels)
    n = len(names)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if n == 0:
        raise MargraveError("a graph without nodes cannot be drawn.")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
        raise MargraveError(f"an edge joins a node that does not exist; there are {n}.")
    for what, given in (("probabilities", probabilities), ("gold", gold)):
        if given is not None and len(given) != n:
            raise MargraveError(f"{what} must have an entry for each of the {n} nodes, and it has {len(given)}.")
    known = sorted({*names, *(gold or ())}, key=str) if classes is None else list(classes)
    colors = _colors(known)
    strength = np.ones(n) if probabilities is None else np.clip(np.asarray(probabilities, dtype=float), 0.0, 1.0)
    faces = np.array([_paler(colors[name], p) for name, p in zip(names, strength, strict=True)])
    with texts_as_they_are(fonts_for(map(str, known))):
        if shape is not None:
            if shape[0] * shape[1] != n:
                raise MargraveError(f"a grid of {shape} has {shape[0] * shape[1]} cells, and there are {n} nodes.")
            panels = [(faces, names)]
            if gold is not None:
                panels.append((np.array([_paler(colors[name], 1.0) for name in gold]), list(gold)))
            size = min(8.0, max(2.0, 0.35 * shape[1])), min(8.0, max(2.0, 0.35 * shape[0]))
            figure = Figure(figsize=(size[0] * len(panels) + 0.4, size[1] + 0.9))
            for k, (color, shown) in enumerate(panels):
                axes = figure.add_subplot(1, len(panels), k + 1)
                _draw_grid(axes, color, shown, shape)
                if len(panels) > 1:
                    axes.set_title("predicted" if k == 0 else "gold", fontsize=9, color=_INK)
        else:
            places = layout(n, pairs) if positions is None else np.asarray(positions, dtype=float)
            if places.shape != (n, 2):
                raise MargraveError(f"positions must be ({n}, 2), not {places.shape}.")
            figure = Figure(figsize=(6.5, 5.0))
            _draw_graph(figure.add_subplot(1, 1, 1), places, pairs, faces, names, gold)
        _draw_key(figure, known, colors)
    return figure


def layout(nodes: int, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Places of nodes such that joined ones are close and others apart (Fruchterman and Reingold 1991).

    The start is a circle, so that equal graphs get equal places.
    """
    angle = 2 * np.pi * np.arange(nodes) / max(nodes, 1)
    places: NDArray[np.float64] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if nodes < 3 or nodes > 2000:
        return places
    wanted = 1.0 / np.sqrt(nodes)
    for step in np.linspace(0.1, 0.001, _ROUNDS):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-3)
        push = (apart * (wanted**2 / distance**2)[:, :, None]).sum(axis=1)
        along = places[edges[:, 0]] - places[edges[:, 1]]
        pull = along * np.sqrt((along**2).sum(axis=1, keepdims=True)) / wanted
        np.add.at(push, edges[:, 0], -pull)
        np.add.at(push, edges[:, 1], pull)
        push -= 0.5 * places  # so that parts that are not connected stay in the picture
        length = np.maximum(np.sqrt((push**2).sum(axis=1, keepdims=True)), 1e-9)
        places = places + push / length * np.minimum(length, step)
    return places


def _colors(classes: Sequence[Any]) -> dict[Any, NDArray[np.float64]]:
    from matplotlib import colormaps

    base = colormaps["tab10" if len(classes) <= 10 else "tab20" if len(classes) <= 20 else "hsv"]
    many = len(classes) > 20
    return {
        name: np.array(base(k / len(classes) if many else k)[:3], dtype=np.float64) for k, name in enumerate(classes)
    }


def _paler(color: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
    return 1 - (1 - color) * (0.15 + 0.75 * strength**3)


def _draw_grid(axes: "Axes", faces: Any, names: Sequence[Any], shape: tuple[int, int]) -> None:
    axes.imshow(faces.reshape(*shape, 3), interpolation="nearest")
    axes.set_axis_off()
    if len(names) <= _LARGE:
        for k, name in enumerate(names):
            axes.text(k % shape[1], k // shape[1], drawable(name), ha="center", va="center", fontsize=7, color=_INK)


def _draw_graph(
    axes: "Axes",
    places: NDArray[np.float64],
    edges: NDArray[np.int64],
    faces: Any,
    names: Sequence[Any],
    gold: Sequence[Any] | None,
) -> None:
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(list(places[edges]), colors="#aaaaaa", linewidths=1.0, zorder=1))
    wrong = [gold is not None and gold[k] != name for k, name in enumerate(names)]
    axes.scatter(
        places[:, 0],
        places[:, 1],
        s=260 if len(names) <= 50 else 60,
        c=faces,
        edgecolors=[_WRONG if each else _INK for each in wrong],
        linewidths=[1.8 if each else 0.8 for each in wrong],
        zorder=2,
    )
    if len(names) <= _LARGE:
        for k, (x, y) in enumerate(places.tolist()):
            text = f"{names[k]} ({gold[k]})" if gold is not None and wrong[k] else str(names[k])
            axes.text(x, y, drawable(text), ha="center", va="center", fontsize=7, color=_INK, zorder=3)
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)


def _draw_key(figure: "Figure", classes: Sequence[Any], colors: Any) -> None:
    """The colors of the labels, below the picture."""
    from matplotlib.patches import Patch

    if len(classes) > _KEY:
        return figure.tight_layout()
    handles = [
        Patch(facecolor=_paler(colors[name], 1.0).tolist(), edgecolor=_INK, label=drawable(name)) for name in classes
    ]
    columns = min(len(classes), 8)
    figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False, fontsize=7)
    lines = -(-len(classes) // columns)
    figure.tight_layout(rect=(0.0, min(0.4, 0.22 * (lines + 0.5) / figure.get_size_inches()[1]), 1.0, 1.0))
