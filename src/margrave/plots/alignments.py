"""Pictures of alignments: learned substitution scores beside given ones, and posterior probabilities of pairs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from margrave.errors import MargraveError
from margrave.plots.saving import drawable, fonts_for, require_matplotlib, texts_as_they_are

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from margrave.data import SubstitutionMatrix

_INK, _GOLD = "#333333", "#c8102e"
_LARGE = 60  # letters beyond which they are not written along the axes


def substitution_diagram(
    matrix: "SubstitutionMatrix",
    reference: "SubstitutionMatrix | None" = None,
    *,
    titles: tuple[str, str] = ("learned", "BLOSUM62"),
) -> "Figure":
    """Draw a substitution matrix, beside another one for the same letters if it is given.

    Parameters
    ----------
    matrix : the matrix.
    reference : another one, in the same unit; letters that it does not have score 0.
    titles : the names of both.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    letters = list(matrix.letters)
    if not letters:
        raise MargraveError("a matrix without letters cannot be drawn.")
    tables = [(titles[0], matrix.table(letters), matrix)]
    if reference is not None:
        tables.append((titles[1], reference.table(letters), reference))
    most = max(float(np.abs(table).max()) for _, table, _ in tables) or 1.0
    side = max(3.2, 0.24 * len(letters) + 1.0) if len(letters) <= _LARGE else 7.0
    with texts_as_they_are(fonts_for(letters)):
        figure = Figure(figsize=(side * len(tables) + 1.0, side + 0.5), layout="constrained")
        panels = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (title, table, of) in zip(panels, tables, strict=True):
            image = axes.imshow(table, cmap="RdBu", vmin=-most, vmax=most)
            gaps = f"gaps: {of.gap_open:.1f} and {of.gap_extend:.1f} for each further letter"
            axes.set_title(drawable(f"{title}\n{gaps}"), fontsize=9, color=_INK)
            _name(axes.xaxis, letters)
            _name(axes.yaxis, letters)
            axes.xaxis.tick_top()
            axes.tick_params(length=0, labelsize=8)
            if len(letters) <= 24:
                for i, j in np.ndindex(table.shape):
                    value = float(table[i, j])
                    color = "w" if abs(value) > 0.6 * most else _INK
                    axes.text(j, i, str(round(value)), ha="center", va="center", fontsize=6, color=color)
        figure.colorbar(image, ax=list(panels), shrink=0.8, label="score")
    return figure


def posterior_diagram(
    table: ArrayLike,
    x: Sequence[Any],
    y: Sequence[Any],
    predicted: Sequence[tuple[int, int]] = (),
    *,
    gold: Sequence[tuple[int, int]] | None = None,
    title: str = "",
) -> "Figure":
    """Draw the posterior probabilities of all pairs of letters, with the predicted alignment.

    Parameters
    ----------
    table : (letters of x, letters of y) probabilities.
    x, y : the sequences.
    predicted : the matched pairs of an alignment, drawn as circles.
    gold : those of the known alignment, drawn as red points.
    title : above the picture.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    values = np.asarray(table, dtype=float)
    if values.ndim != 2 or values.shape != (len(x), len(y)) or not values.size:
        raise MargraveError(f"the table must have {len(x)} rows and {len(y)} columns, and it has {values.shape}.")
    n, m = values.shape
    for i, j in [*predicted, *(gold or ())]:
        if not (0 <= i < n and 0 <= j < m):
            raise MargraveError(f"the pair ({i}, {j}) is outside of sequences of {n} and {m} letters.")
    small = max(n, m) <= _LARGE
    unit = min(0.22, 9.0 / max(n, m))
    with texts_as_they_are(fonts_for([title, *map(str, x), *map(str, y)])):
        figure = Figure(figsize=(max(3.0, unit * m) + 1.8, max(2.2, unit * n) + 1.2), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values.clip(0.0, 1.0), cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        size = 60.0 * min(1.0, unit / 0.22) ** 2
        if len(predicted):
            rows, columns = np.array(predicted).T
            axes.scatter(
                columns, rows, s=size, facecolors="none", edgecolors="#1f77b4", linewidths=0.9, label="predicted"
            )
        if gold:
            rows, columns = np.array(gold).T
            axes.scatter(columns, rows, s=size / 8, color=_GOLD, label="known")
        if small:
            _name(axes.xaxis, [str(each) for each in y])
            _name(axes.yaxis, [str(each) for each in x])
            axes.tick_params(length=0, labelsize=7)
        axes.xaxis.tick_top()
        if title:
            axes.set_title(drawable(title), fontsize=9, color=_INK)
        figure.colorbar(image, ax=axes, shrink=0.8, label="posterior probability")
        if len(predicted) or gold:
            figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _name(axis: Any, letters: Sequence[str]) -> None:
    """The letters along an axis, unless they are too many."""
    if len(letters) <= _LARGE:
        axis.set_ticks(range(len(letters)), [drawable(letter) for letter in letters])
