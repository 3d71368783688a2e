"""Arc diagrams of dependency trees: words in a row, arcs from heads to words, gold trees above and predictions below.

The arcs of a tree are stacked by length, each above all arcs that it overlaps. Arcs at one word leave it in the order
of their lengths, so that arcs cross only if the tree is not projective.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Any

from margrave.errors import MargraveError, quoted
from margrave.plots.canvas import FAINT, LABEL, MARGIN, RIGHT, TAG, WORD, WRONG, Canvas, confidence_colors, short
from margrave.plots.saving import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 1.0  # width of arcs
_GAP = 12.0  # between words
_PORT = 6.0  # between the arcs of a word
_LEVEL = 17.0  # between stacked arcs
_BASE = 9.0  # between words and the ends of arcs
_CORNER = 5.0  # radius of the corners of arcs


@dataclass(eq=False)
class _Arc:
    """An arc from a head to a word, both counted from 0, or to a word from the root (head -1)."""

    head: int
    word: int
    label: str
    color: Any
    label_color: str
    dashed: bool
    level: int = 0
    places: dict[int, float] = field(default_factory=dict)  # of its ends, relative to the centers of the words

    @property
    def ends(self) -> tuple[int, int]:
        """The two words, from left to right."""
        return min(self.head, self.word), max(self.head, self.word)


def arc_diagram(
    words: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    gold_heads: Sequence[int] | None = None,
    gold_labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    title: str | None = None,
) -> "Figure":
    """Draw a dependency tree as arcs above its words, or a predicted tree below and the gold tree above the words.

    Arcs of a prediction with another head than the gold tree, and the gold arcs that it misses, are dashed and red; so
    are labels that differ. If there are probabilities, the colors of predicted arcs show them instead.

    Parameters
    ----------
    words : the words of the sentence.
    heads : the head of every word: 0 for the root, otherwise the number of a word, counted from 1.
    labels : the label of every arc; None to draw arcs without labels.
    tags : what to write below the words, such as parts of speech.
    gold_heads, gold_labels : the right heads and labels, if `heads` and `labels` are predicted.
    probabilities : the probability of every arc, or another confidence between 0 and 1.
    title : a line above the picture.

    >>> from margrave.plots import arc_diagram, save_figure
    >>> figure = arc_diagram(["Dogs", "bark"], [2, 0], ["nsubj", "root"], tags=["NOUN", "VERB"])
    >>> save_figure("tree.svg", figure)  # doctest: +SKIP
    """
    _check(words, heads, labels, tags, gold_heads, gold_labels, probabilities)
    require_matplotlib()
    predicted = _arcs(heads, labels, gold_heads, gold_labels, probabilities)
    gold = None if gold_heads is None else _arcs(gold_heads, gold_labels, heads, labels, None)
    picture = _Picture([short(word) for word in words], [short(tag) for tag in tags or ()], title)
    picture.draw(predicted if gold is None else gold, None if gold is None else predicted, probabilities is not None)
    return picture.figure


def _check(
    words: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str] | None,
    tags: Sequence[str] | None,
    gold_heads: Sequence[int] | None,
    gold_labels: Sequence[str] | None,
    probabilities: Sequence[float] | None,
) -> None:
    if not len(words):
        raise MargraveError("there are no words to draw.")
    rows = {
        "heads": heads,
        "labels": labels,
        "tags": tags,
        "gold_heads": gold_heads,
        "gold_labels": gold_labels,
        "probabilities": probabilities,
    }
    for name, row in rows.items():
        if row is not None and len(row) != len(words):
            raise MargraveError(f"there are {len(words)} words, but {name} has length {len(row)}.")
    if gold_labels is not None and gold_heads is None:
        raise MargraveError("gold_labels need gold_heads.")
    for name, row in (("heads", heads), ("gold_heads", gold_heads)):
        for word, head in enumerate(() if row is None else row, 1):
            if not 0 <= head <= len(words) or head == word:
                raise MargraveError(
                    f"{name}: the head of word {word} must be 0 or another word, and it is {quoted(head)}."
                )
    for word, probability in enumerate(() if probabilities is None else probabilities, 1):
        if not (isfinite(probability) and -1e-9 <= probability <= 1 + 1e-9):
            raise MargraveError(
                f"the probability of word {word} must be between 0 and 1, and it is {quoted(probability)}."
            )


def _arcs(
    heads: Sequence[int],
    labels: Sequence[str] | None,
    other_heads: Sequence[int] | None,
    other_labels: Sequence[str] | None,
    probabilities: Sequence[float] | None,
) -> list[_Arc]:
    """The arcs of a tree, with the colors that its comparison with another tree gives them."""
    colors = None if probabilities is None else confidence_colors()
    arcs = []
    for at, head in enumerate(heads):
        attached = other_heads is None or other_heads[at] == head
        labeled = labels is None or other_labels is None or other_labels[at] == labels[at]
        color = RIGHT if attached else WRONG
        if colors is not None and probabilities is not None:
            color = colors(float(probabilities[at]))
        label_color = RIGHT if attached and labeled else WRONG
        label = short("root" if head == 0 else "") if labels is None else short(labels[at])
        arcs.append(_Arc(int(head) - 1, at, label, color, label_color, not attached))
    return arcs


class _Picture(Canvas):
    """A sentence with its arcs."""

    def __init__(self, words: list[str], tags: list[str], title: str | None) -> None:
        super().__init__([*words, *tags, title or ""])
        self.words, self.tags, self.title = words, tags, title

    def draw(self, above: list[_Arc], below: list[_Arc] | None, confident: bool) -> None:
        """Draws everything, and gives the figure its size."""
        trees = [above] if below is None else [above, below]
        widths = [self.width(word, WORD) for word in self.words]
        for at, tag in enumerate(self.tags):
            widths[at] = max(widths[at], self.width(tag, TAG))
        for tree in trees:
            _stack(tree)
            for at, width in enumerate(_place_ends(tree, len(self.words))):
                widths[at] = max(widths[at], width)
            for arc in tree:
                if arc.head < 0:
                    widths[arc.word] = max(widths[arc.word], self.width(arc.label, LABEL))
        centers = self.centers(widths, trees)
        height = WORD + (TAG + 4 if self.tags else 0)
        left = -MARGIN - (12 if below is not None else 0)
        right = centers[-1] + widths[-1] / 2 + MARGIN
        top = self.tree(above, centers, _BASE + WORD / 2, 1)
        bottom = WORD / 2 - height
        for center, word in zip(centers, self.words, strict=True):
            self.text(center, 0, word, WORD)
        for center, tag in zip(centers, self.tags, strict=False):
            self.text(center, -WORD / 2 - 3 - TAG / 2, tag, TAG, FAINT)
        if below is not None:
            start = bottom - _BASE - 2
            bottom = self.tree(below, centers, start, -1)
            for name, y in (("gold", (_BASE + WORD / 2 + top) / 2), ("predicted", (start + bottom) / 2)):
                self.text(left + 10, y, name, LABEL, FAINT, rotation=90)
        if self.title:
            top += WORD + 6
            self.text(left + MARGIN, top - WORD / 2, self.title, WORD, horizontalalignment="left")
            right = max(right, left + 2 * MARGIN + self.width(self.title, WORD))
        if below is not None or confident:
            bottom -= 22
            right = max(right, self.legend(left + MARGIN, bottom + 5, below is not None, confident) + MARGIN)
        self.resize(left, right, bottom - 8, top + 8)

    def centers(self, widths: list[float], trees: list[list[_Arc]]) -> list[float]:
        """The center of every word, so that words do not touch and every label fits on its arc."""
        gaps = [_GAP] * len(widths)

        def positions() -> list[float]:
            steps = [(a + b) / 2 + gap for a, b, gap in zip(widths, widths[1:], gaps, strict=False)]
            return list(accumulate(steps, initial=widths[0] / 2))

        centers = positions()
        arcs = [arc for tree in trees for arc in tree if arc.head >= 0]
        for arc in sorted(arcs, key=lambda arc: arc.ends[1] - arc.ends[0]):
            left, right = arc.ends
            length = centers[right] + arc.places[right] - centers[left] - arc.places[left]
            lacking = self.width(arc.label, LABEL) + 2 * _CORNER + 2 - length
            if lacking > 0:
                gaps[left] += lacking
                centers = positions()
        return centers

    def tree(self, arcs: list[_Arc], centers: list[float], start: float, up: int) -> float:
        """Draws the arcs of a tree upwards or downwards (up = -1), and returns how far they reach."""

        def height(arc: _Arc) -> float:
            return start + up * _LEVEL * arc.level

        legs = [(centers[at] + x, arc) for arc in arcs for at, x in arc.places.items()]
        for arc in arcs:
            y = height(arc)
            tip = centers[arc.word] + arc.places[arc.word]
            if arc.head < 0:
                self.line([(tip, y), (tip, start)], arc)
                self.text(tip, y + up * (LABEL / 2 + 1), arc.label, LABEL, arc.label_color, boxed=True)
            else:
                tail = centers[arc.head] + arc.places[arc.head]
                corner = min(_CORNER, abs(tip - tail) / 2) * (1 if tip > tail else -1)
                inside = y - up * _CORNER
                self.line(
                    [(tail, start), (tail, inside), (tail, y), (tail + corner, y), (tip - corner, y), (tip, y),
                     (tip, inside), (tip, start)],
                    arc,
                )  # fmt: skip
                room = self.width(arc.label, LABEL) / 2 + 2
                crossing = [x for x, other in legs if other.level > arc.level or other.head < 0]
                self.text(
                    _free_place(min(tail, tip), max(tail, tip), room, crossing), y, arc.label, LABEL,
                    arc.label_color, boxed=True,
                )  # fmt: skip
            self.arrow(tip, start, up, arc)
        ends = [height(arc) + up * (LABEL + 3 if arc.head < 0 else LABEL / 2) for arc in arcs]
        return max(ends) if up > 0 else min(ends)

    def line(self, points: list[tuple[float, float]], arc: _Arc) -> None:
        """A line through points; with eight points, the third and the sixth are rounded corners."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        curve, to = Path.CURVE3, Path.LINETO
        codes = [Path.MOVETO, *([to] if len(points) == 2 else [to, curve, curve, to, curve, curve, to])]
        style = "--" if arc.dashed else "-"
        self.axes.add_patch(
            PathPatch(Path(points, codes), fill=False, edgecolor=arc.color, linewidth=_LINE, linestyle=style, zorder=1)
        )

    def arrow(self, x: float, y: float, up: int, arc: _Arc) -> None:
        """The tip of an arc."""
        from matplotlib.patches import Polygon

        tip = y - up * 4.0
        corners = [(x, tip), (x - 2.2, y + up * 1.5), (x + 2.2, y + up * 1.5)]
        self.axes.add_patch(Polygon(corners, facecolor=arc.color, edgecolor="none", zorder=2))

    def legend(self, x: float, y: float, compared: bool, confident: bool) -> float:
        """What colors and lines mean; returns where it ends."""
        if confident:
            x = self.confidence_bar(x, y)
        if compared:
            entries = [("right", RIGHT, False), ("wrong head", WRONG, True)]
            for name, color, dashed in entries:
                arc = _Arc(0, 0, "", FAINT if confident else color, "", dashed)
                self.line([(x, y), (x + 22, y)], arc)
                x = self.note(x + 27, y, name) + 10
            x = self.note(x, y, "label", WRONG) + 2
            x = self.note(x, y, "wrong head or label")
        return x


def _stack(arcs: list[_Arc]) -> None:
    """Gives every arc a level above all shorter arcs that it overlaps, and the root's arcs one above what they meet."""
    placed: list[_Arc] = []
    for arc in sorted(arcs, key=lambda arc: (arc.head < 0, arc.ends[1] - arc.ends[0], arc.ends[0])):
        left, right = (arc.word, arc.word) if arc.head < 0 else arc.ends
        levels = [
            other.level
            for other in placed
            if other.head >= 0
            and (
                other.ends[0] <= left <= other.ends[1]
                if arc.head < 0
                else other.ends[0] < right and left < other.ends[1]
            )
        ]
        arc.level = 1 + max(levels, default=0)
        placed.append(arc)


def _place_ends(arcs: list[_Arc], n: int) -> list[float]:
    """Places the ends of arcs at each word side by side, and returns the width that each word needs for them.

    From left to right: arcs to the left from short to long, the root's arc, and arcs to the right from long to short.
    """
    at_word: list[list[_Arc]] = [[] for _ in range(n)]
    for arc in arcs:
        at_word[arc.word].append(arc)
        if arc.head >= 0:
            at_word[arc.head].append(arc)

    def order(word: int, arc: _Arc) -> tuple[int, int]:
        other = word if arc.head < 0 else arc.head + arc.word - word
        side = (other > word) - (other < word)
        return side, -side * arc.level

    for word, ends in enumerate(at_word):
        for k, arc in enumerate(sorted(ends, key=lambda arc: order(word, arc))):
            arc.places[word] = _PORT * (k - (len(ends) - 1) / 2)
    return [_PORT * len(ends) for ends in at_word]


def _free_place(left: float, right: float, room: float, crossing: list[float]) -> float:
    """The place on an arc nearest to its middle where no line crosses its label; the middle if there is none."""
    middle = (left + right) / 2
    most: float = max(0.0, (right - left) / 2 - room - _CORNER)
    for k in range(21):
        x = middle + most * ((k + 1) // 2) / 10 * (1 if k % 2 else -1)
        if all(abs(x - line) > room for line in crossing):
            return x
    return middle
