"""What pictures of sentences share: axes whose unit is a point (1/72 inch), so that text fits its place."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from margrave.plots.saving import drawable, fonts_for

WORD, TAG, LABEL = 11.0, 7.5, 7.5  # sizes of text
MARGIN = 14.0
RIGHT, WRONG, FAINT = "#333333", "#c8102e", "#777777"

_LONGEST = 30  # characters that are shown of a word, tag or label


def short(text: str) -> str:
    """A text that is not too long to be drawn."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def confidence_colors() -> Callable[[float], Any]:
    """Colors of probabilities, from orange (0) to dark blue (1), all of them dark enough for thin lines."""
    from matplotlib.colors import LinearSegmentedColormap

    colors: Callable[[float], Any] = LinearSegmentedColormap.from_list("confidence", ["#ff8c00", "#1f9e89", "#10218b"])
    return colors


class Canvas:
    """A figure to draw on; `texts` decide about its fonts."""

    def __init__(self, texts: Iterable[str]) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.figure = Figure(dpi=72)  # A pixel is a point, so that measured text has the right size.
        FigureCanvasAgg(self.figure)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.fonts = fonts_for(texts)

    def text(
        self, x: float, y: float, text: str, size: float, color: Any = RIGHT, *, boxed: bool = False, **style: Any
    ) -> None:
        """Text in the middle of a point; with `boxed`, it hides the lines behind it."""
        if not text:
            return
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8} if boxed else None
        style = {"horizontalalignment": "center", "verticalalignment": "center_baseline", **style}
        self.axes.text(
            x,
            y,
            drawable(text),
            fontsize=size,
            color=color,
            family=self.fonts,
            parse_math=False,
            bbox=box,
            zorder=3,
            **style,
        )

    def width(self, text: str, size: float) -> float:
        """The width of text in points."""
        from matplotlib.text import Text

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            measured = Text(
                0, 0, drawable(text), fontsize=size, family=self.fonts, parse_math=False, figure=self.figure
            )
            return float(measured.get_window_extent().width)

    def note(self, x: float, y: float, text: str, color: str = RIGHT) -> float:
        """Small text that begins at x; returns where it ends."""
        self.text(x, y, text, LABEL, color, horizontalalignment="left")
        return x + self.width(text, LABEL) + 4

    def confidence_bar(self, x: float, y: float) -> float:
        """What the colors of probabilities mean; returns where it ends."""
        colors = confidence_colors()
        steps, step = 60, 1.5
        x = self.note(x, y, "probability 0")
        for k in range(steps):
            self.axes.fill_between([x, x + step], y - 3, y + 3, color=colors((k + 0.5) / steps), linewidth=0)
            x += step
        return self.note(x + 4, y, "1") + 10

    def resize(self, left: float, right: float, bottom: float, top: float) -> None:
        """Makes the figure as large as what was drawn."""
        self.axes.set_xlim(left, right)
        self.axes.set_ylim(bottom, top)
        self.axes.set_axis_off()
        self.figure.set_size_inches((right - left) / 72, (top - bottom) / 72)
