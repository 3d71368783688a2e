"""Arc diagrams: nothing overlaps, arcs cross only where trees do, and mistakes are shown."""

import os
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch

from margrave.data import Sentence
from margrave.data.heads import is_projective
from margrave.datasets import load_harbor
from margrave.errors import MargraveError
from margrave.plots import arc_diagram, save_figure

WRONG = "#c8102e"
SENTENCES = load_harbor("dev") + load_harbor("test")[:30]
LONGEST = max(SENTENCES, key=lambda sentence: len(sentence.words))


def drawn(sentence: Sentence, **more: Any) -> Any:
    words, labels = [word.form for word in sentence.words], [word.deprel for word in sentence.words]
    return arc_diagram(words, sentence.heads, labels, tags=[word.upos for word in sentence.words], **more)


def shifted(heads: Sequence[int]) -> list[int]:
    """Other heads, none of which is its own word."""
    n = len(heads)
    moved = [head % n + 1 for head in heads]
    return [head if head != word else head % n + 1 for word, head in enumerate(moved, 1)]


def boxes(figure: Any) -> list[Any]:
    figure.canvas.draw()
    return [text.get_window_extent() for text in figure.axes[0].texts]


def lines(figure: Any) -> list[Any]:
    return [patch.get_path().vertices for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]


def crossings(figure: Any) -> int:
    """How often the upright part of one arc meets the level part of another."""
    upright, level = [], []
    for points in lines(figure):
        if len(points) == 2:  # the root's arc
            upright.append((points[0][0], max(points[0][1], points[1][1])))
        else:
            (left, _), (right, _), top = *sorted((tuple(points[0]), tuple(points[-1]))), points[3][1]
            upright += [(left, top), (right, top)]
            level.append((left, right, top))
    return sum(left + 1 < x < right - 1 and top > height + 1 for x, top in upright for left, right, height in level)


@pytest.mark.parametrize("sentence", [*SENTENCES[:12], LONGEST], ids=lambda sentence: f"{len(sentence.words)} words")
def test_no_text_overlaps_another_or_leaves_the_picture(sentence: Sentence) -> None:
    figure = drawn(
        sentence,
        gold_heads=shifted(sentence.heads),
        gold_labels=["long:label"] * len(sentence.words),
        probabilities=[0.5] * len(sentence.words),
        title="a title",
    )
    found = boxes(figure)
    width, height = figure.get_size_inches() * figure.dpi
    assert len(found) >= 4 * len(sentence.words)
    for box in found:
        assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height
    for one, other in combinations(found, 2):
        assert not (one.x0 < other.x1 - 1 and other.x0 < one.x1 - 1 and one.y0 < other.y1 - 1 and other.y0 < one.y1 - 1)


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.comments[0])
def test_arcs_cross_exactly_where_the_tree_is_not_projective(sentence: Sentence) -> None:
    assert (crossings(drawn(sentence)) == 0) == is_projective(sentence.heads)


def test_labels_fit_between_the_ends_of_their_arcs() -> None:
    figure = arc_diagram(["a", "b", "c"], [2, 0, 2], ["left:arc:with:a:long:label", "root", "right:arc:with:a:label"])
    figure.canvas.draw()
    found = {text.get_text(): text.get_window_extent(dpi=72) for text in figure.axes[0].texts}
    left, _, right = (sorted((points[0][0], points[-1][0])) for points in lines(figure))
    for label, (start, end) in (("left:arc:with:a:long:label", left), ("right:arc:with:a:label", right)):
        assert found[label].width + 10 <= end - start


def test_every_word_has_one_arc_and_one_arrow() -> None:
    figure = drawn(LONGEST)
    assert len(lines(figure)) == len(LONGEST.words)
    assert len(figure.axes[0].patches) == 2 * len(LONGEST.words)


def test_mistakes_have_another_color() -> None:
    words, gold_labels = ["a", "b", "c"], ["det", "root", "obj"]
    figure = arc_diagram(words, [2, 0, 1], ["nmod", "root", "obj"], gold_heads=[2, 0, 2], gold_labels=gold_labels)
    red = [text.get_text() for text in figure.axes[0].texts if text.get_color() == WRONG]
    assert sorted(red) == ["det", "label", "nmod", "obj", "obj"]
    arcs = [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    dashed = [patch for patch in arcs if patch.get_linestyle() == "--"]
    assert [to_hex(patch.get_edgecolor()) for patch in dashed] == [WRONG] * 3  # gold, predicted and in the legend
    assert {text.get_text() for text in figure.axes[0].texts} >= {"gold", "predicted", "wrong head"}


def test_probabilities_are_colors() -> None:
    figure = arc_diagram(["a", "b", "c"], [2, 0, 2], probabilities=[0.0, 1.0, 0.5])
    arcs = [to_hex(patch.get_edgecolor()) for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    assert arcs[:2] == ["#ff8c00", "#10218b"] and len(set(arcs)) == 3
    assert "probability 0" in {text.get_text() for text in figure.axes[0].texts}


@pytest.mark.parametrize(
    "words",
    [
        ["$x$", "_^{", "\\frac", "%"],
        ["كِتَاب", "अक्षर", "漢字", "𐌲𐌿𐍄"],
        ["ἀρχῇ", "\U0010fffd", "🙂", "é"],
        ["x" * 500, "", " ", "-"],
    ],
)
@pytest.mark.parametrize("extension", ["svg", "png"])
def test_any_text_can_be_drawn(words: list[str], extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"tree.{extension}"
    save_figure(path, arc_diagram(words, [2, 0, 2, 3], words, tags=words, title=words[0]))
    assert path.stat().st_size > 1000


def test_files_are_svg_or_png_and_always_the_same(tmp_path: Path) -> None:
    for extension in ("svg", "png"):
        first, second = tmp_path / f"a.{extension}", tmp_path / f"b.{extension}"
        for path in (first, second):
            save_figure(path, drawn(SENTENCES[3]))
        assert first.read_bytes() == second.read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert sorted(os.listdir(tmp_path)) == ["a.png", "a.svg", "b.png", "b.svg"]


def test_a_picture_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tree.svg"
    path.write_text("old")
    figure = drawn(SENTENCES[3])

    def fails(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(figure, "savefig", fails)
    with pytest.raises(KeyboardInterrupt):
        save_figure(path, figure)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["tree.svg"]


def test_very_long_sentences_are_drawn(tmp_path: Path) -> None:
    n = 600
    figure = arc_diagram(["word"] * n, [0, *range(1, n)], ["dep"] * n)
    save_figure(tmp_path / "long.png", figure)
    assert (tmp_path / "long.png").stat().st_size > 1000


def test_one_word_is_a_tree() -> None:
    assert [text.get_text() for text in arc_diagram(["Yes"], [0]).axes[0].texts] == ["root", "Yes"]


@pytest.mark.parametrize(
    "arguments, more, expected",
    [
        (([], []), {}, "there are no words to draw."),
        ((["a", "b"], [0]), {}, "there are 2 words, but heads has length 1."),
        ((["a"], [0]), {"tags": ["X", "Y"]}, "there are 1 words, but tags has length 2."),
        ((["a"], [1]), {}, "heads: the head of word 1 must be 0 or another word, and it is 1."),
        ((["a"], [2]), {}, "heads: the head of word 1 must be 0 or another word, and it is 2."),
        ((["a"], [0]), {"gold_heads": [-1]}, "gold_heads: the head of word 1 must be 0 or another word, and it is -1."),
        ((["a"], [0]), {"gold_labels": ["x"]}, "gold_labels need gold_heads."),
        ((["a"], [0]), {"probabilities": [1.5]}, "the probability of word 1 must be between 0 and 1, and it is 1.5."),
        ((["a"], [0]), {"probabilities": [float("nan")]}, "the probability of word 1 must be between 0 and 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: Any, more: dict[str, Any], expected: str) -> None:
    with pytest.raises(MargraveError) as caught:
        arc_diagram(*arguments, **more)
    assert str(caught.value).startswith(expected)


def test_a_picture_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MargraveError, match=r"tree\.gif: a picture's name must end in \.svg or \.png\.$"):
        save_figure(tmp_path / "tree.gif", drawn(SENTENCES[3]))
    assert os.listdir(tmp_path) == []


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MargraveError) as caught:
        arc_diagram(["a"], [0])
    assert str(caught.value) == "drawing needs matplotlib: install it with pip install 'margrave[plots]'."
