"""Pictures of constituent trees: words in a row, and above them the constituents, colored by their probabilities.

A node stands above its children, one level higher than the highest of them, in the middle between the first and the
last. What is below one child lies beside what is below the next, so that no lines cross and no labels touch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from margrave.data.constituents import TOPS, Constituent, Tree, cleaned
from margrave.errors import MargraveError
from margrave.plots.canvas import FAINT, MARGIN, RIGHT, TAG, WORD, WRONG, Canvas, confidence_colors, short
from margrave.plots.saving import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NODE = 9.0  # the size of labels
_GAP = 9.0  # between words, and between labels of one level
_LEVEL = 28.0  # between levels
_SHARE = 6.5  # the size of probabilities
_LINE = 1.0


@dataclass(eq=False)
class _Node:
    """A constituent with what is drawn of it; a leaf is a tag."""

    text: str
    children: list["_Node"]
    word: int = -1  # of a leaf
    color: Any = RIGHT
    wrong: bool = False
    share: str = ""  # its probability
    level: int = 0
    x: float = 0.0

    def each(self) -> list["_Node"]:
        """This node and those below it, children first."""
        return [*(node for child in self.children for node in child.each()), self]


def constituent_diagram(
    tree: Any,
    *,
    probabilities: Mapping[Constituent, float] | None = None,
    gold: Any = None,
    title: str | None = None,
) -> "Figure":
    """Draw a constituent tree.

    Constituents that the gold tree does not have are red and have dashed lines; if there are probabilities, their
    labels alone are red.

    Parameters
    ----------
    tree : the tree, in any form that `margrave.data.Tree.of` takes.
    probabilities : the probabilities of constituents, as `ConstituencyParser.predict_proba` returns them; those that
        are missing count as 0.
    gold : the right tree, if `tree` is predicted.
    title : a line above the picture.

    >>> from margrave.plots import constituent_diagram, save_figure
    >>> figure = constituent_diagram("(S (NP (NNS Dogs)) (VP (VBP bark)))")
    >>> save_figure("constituents.svg", figure)  # doctest: +SKIP
    """
    found = Tree.of(tree)
    right = None
    if gold is not None:
        right = cleaned(Tree.of(gold))
        if right is None or len(right.words) != len(found.words):
            raise MargraveError("the gold tree must have as many words as the tree.")
    require_matplotlib()
    picture = _Picture(found, title)
    picture.draw(_nodes(found, right, probabilities), right is not None, probabilities is not None)
    return picture.figure


def _nodes(tree: Tree, gold: Tree | None, probabilities: Mapping[Constituent, float] | None) -> _Node:
    """The nodes of a tree, with their colors."""
    colors = None if probabilities is None else confidence_colors()
    known = None if gold is None else gold.constituents()
    at = 0

    def visit(tree: Tree) -> _Node:
        nonlocal at
        if tree.is_leaf:
            at += 1
            return _Node(short(tree.label), [], word=at - 1, color=FAINT)
        begin = at
        children = [visit(child) for child in tree.inner]
        constituent = Constituent(tree.label, begin, at)
        top = tree.label in TOPS
        node = _Node(short(tree.label) or "TOP", children, level=1 + max(child.level for child in children))
        if known is not None and not top:
            node.wrong = constituent not in known
            if not node.wrong:
                known.remove(constituent)  # Chains may have one label twice.
        node.color = WRONG if node.wrong else FAINT if top else RIGHT
        if colors is not None and probabilities is not None and not top:
            share = min(max(float(probabilities.get(constituent, 0.0)), 0.0), 1.0)
            node.color, node.share = colors(share), f"{share:.2f}"
        return node

    return visit(tree)


class _Picture(Canvas):
    """A tree above its sentence."""

    def __init__(self, tree: Tree, title: str | None) -> None:
        self.words, self.title = [short(word) for word in tree.words], title
        labels = [constituent.label for constituent in tree.constituents()]
        super().__init__([*self.words, *tree.tags, *labels, title or ""])

    def draw(self, root: _Node, compared: bool, confident: bool) -> None:
        """Draws everything, and gives the figure its size."""
        nodes = root.each()
        self.place(root, 0.0)
        for node in nodes:
            self.node(node)
        leaves = [node for node in nodes if node.word >= 0]
        for leaf in leaves:
            self.text(leaf.x, 0.0, self.words[leaf.word], WORD)
        half = {id(node): self.half_width(node) for node in nodes}
        left = min(node.x - half[id(node)] for node in nodes) - MARGIN
        right = max(node.x + half[id(node)] for node in nodes) + MARGIN
        top, bottom = self.height(root) + 2 * _NODE, -WORD
        if self.title:
            top += WORD + 4
            self.text(left + MARGIN, top - WORD / 2, self.title, WORD, horizontalalignment="left")
            right = max(right, left + 2 * MARGIN + self.width(self.title, WORD))
        if compared or confident:
            bottom -= 20
            right = max(right, self.legend(left + MARGIN, bottom + 5, compared, confident) + MARGIN)
        self.resize(left, right, bottom - 8, top)

    def place(self, node: _Node, left: float) -> float:
        """Gives a node and those below it their places to the right of a point; returns where they end."""
        half = self.half_width(node)
        if not node.children:
            node.x = left + half
            return node.x + half
        right = left
        for k, child in enumerate(node.children):
            right = self.place(child, right + (_GAP if k else 0.0))
        node.x = (node.children[0].x + node.children[-1].x) / 2
        lacking = left - (node.x - half)
        if lacking > 0:
            for each in node.each():
                each.x += lacking
            right += lacking
        return max(right, node.x + half)

    def half_width(self, node: _Node) -> float:
        """Half of the room that a node needs."""
        if node.word >= 0:
            return max(self.width(self.words[node.word], WORD), self.width(node.text, TAG)) / 2
        return (max(self.width(node.text, _NODE), self.width(node.share, _SHARE)) + 4) / 2

    def height(self, node: _Node) -> float:
        """Where a label stands; tags stand above their words."""
        return WORD + 2 if node.word >= 0 else WORD + 4 + _LEVEL * node.level

    def node(self, node: _Node) -> None:
        """A label above a bar, from which lines lead down to its children."""
        y = self.height(node)
        below = y - (_NODE / 2 + 3 if not node.share else _NODE / 2 + _SHARE + 4)
        lines = [([child.x, child.x], [below, self.height(child) + _NODE / 2 + 2]) for child in node.children]
        if len(node.children) > 1:
            lines.append(([node.children[0].x, node.children[-1].x], [below, below]))
        for line in lines:
            style = "--" if node.wrong else "-"
            self.axes.plot(*line, style, color=node.color, linewidth=_LINE, solid_capstyle="round", zorder=1)
        color = WRONG if node.wrong else node.color
        self.text(node.x, y, node.text, TAG if node.word >= 0 else _NODE, color, boxed=True)
        self.text(node.x, y - _NODE / 2 - _SHARE / 2 - 1, node.share, _SHARE, node.color, boxed=True)

    def legend(self, x: float, y: float, compared: bool, confident: bool) -> float:
        """What colors and lines mean; returns where it ends."""
        if confident:
            x = self.confidence_bar(x, y)
        if compared:
            x = self.note(x, y, "label", WRONG)
            x = self.note(x, y, "not in the gold tree")
        return x
