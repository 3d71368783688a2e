"""Pictures of constituent trees: nothing overlaps, no lines cross, and mistakes are shown."""

from itertools import combinations
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex

from margrave.data.constituents import Constituent
from margrave.datasets import load_quay
from margrave.errors import MargraveError
from margrave.plots import constituent_diagram, save_figure

WRONG = "#c8102e"
TREES = [tree for tree in load_quay("dev") if len(tree.words) <= 20][:6]


def lines(figure: Any) -> list[tuple[tuple[float, float], tuple[float, float], str]]:
    found = []
    for line in figure.axes[0].lines:
        (x0, x1), (y0, y1) = line.get_xdata(), line.get_ydata()
        found.append(((x0, y0), (x1, y1), line.get_linestyle()))
    return found


@pytest.mark.parametrize("k", range(len(TREES)))
def test_labels_do_not_touch_and_lines_do_not_cross(k: int) -> None:
    probabilities = dict.fromkeys(TREES[k].constituents(), 0.5)
    figure = constituent_diagram(TREES[k], probabilities=probabilities if k % 2 else None)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    for one, other in combinations(boxes, 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        up = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert across < 1 or up < 2.5  # of descenders
    upright = [(a[0], min(a[1], b[1]), max(a[1], b[1])) for a, b, _ in lines(figure) if a[0] == b[0]]
    level = [(min(a[0], b[0]), max(a[0], b[0]), a[1]) for a, b, _ in lines(figure) if a[0] != b[0]]
    for x, low, high in upright:
        assert not any(left + 0.1 < x < right - 0.1 and low < y < high for left, right, y in level)


def test_every_word_tag_and_label_is_drawn() -> None:
    tree = TREES[0]
    texts = [text.get_text() for text in constituent_diagram(tree, title="a title").axes[0].texts]
    labels = [constituent.label for constituent in tree.constituents()]
    assert sorted(texts) == sorted([*tree.words, *tree.tags, *labels, "a title"])


def test_constituents_that_the_gold_tree_does_not_have_are_red() -> None:
    guess, gold = "(S (NP (D the) (N dog)) (VP (V barks)))", "(S (NP (D the)) (VP (N dog) (V barks)))"
    figure = constituent_diagram(guess, gold=gold)
    red = {text.get_text() for text in figure.axes[0].texts if to_hex(text.get_color()) == WRONG}
    assert red == {"NP", "VP", "label"}
    assert {style for *_, style in lines(figure)} == {"-", "--"}
    right = constituent_diagram(gold, gold=gold)
    assert {text.get_text() for text in right.axes[0].texts if to_hex(text.get_color()) == WRONG} == {"label"}


def test_colors_show_probabilities() -> None:
    tree = "(S (NP (D the)) (VP (V barks)))"
    sure = {Constituent("S", 0, 2): 1.0, Constituent("NP", 0, 1): 0.25}
    figure = constituent_diagram(tree, probabilities=sure)
    texts = {text.get_text(): to_hex(text.get_color()) for text in figure.axes[0].texts}
    assert {"1.00", "0.25", "0.00"} <= set(texts)
    assert len({texts["S"], texts["NP"], texts["VP"]}) == 3


def test_other_words_are_refused() -> None:
    with pytest.raises(MargraveError, match="as many words"):
        constituent_diagram("(S (A a))", gold="(S (A a) (B b))")


def test_pictures_can_be_saved(tmp_path: Any) -> None:
    save_figure(tmp_path / "tree.png", constituent_diagram(TREES[1]))
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
