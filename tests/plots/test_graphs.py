"""Pictures of graphs."""

from pathlib import Path

import numpy as np
import pytest

from margrave import MargraveError

pytest.importorskip("matplotlib")

from margrave.plots import graph_diagram, save_figure
from margrave.plots.graphs import layout


def texts(figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_nodes_have_their_labels_and_mistakes_the_right_ones(tmp_path: Path) -> None:
    figure = graph_diagram([(0, 1), (1, 2)], ["a", "b", "a"], gold=["a", "b", "b"], probabilities=[0.5, 1.0, 0.9])
    assert texts(figure) == ["a", "b", "a (b)"]
    for name in ("one.svg", "two.svg"):
        save_figure(tmp_path / name, figure)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_grids_are_cells_beside_the_right_ones() -> None:
    figure = graph_diagram([(0, 1)], ["a", "b"], shape=(1, 2), gold=["a", "a"])
    assert texts(figure) == ["a", "b", "a", "a"] and len(figure.axes) == 2
    assert len(texts(graph_diagram([], list(range(400)), shape=(20, 20)))) == 0  # too many to read


def test_the_layout_puts_neighbors_closer_than_others() -> None:
    path = np.array([(k, k + 1) for k in range(5)])
    places = layout(6, path)
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert distance[path[:, 0], path[:, 1]].max() < distance[0, 5]
    assert np.array_equal(places, layout(6, path)) and np.isfinite(layout(4, np.zeros((0, 2), np.int64))).all()


@pytest.mark.parametrize(
    ("arguments", "settings", "why"),
    [
        (([], []), {}, "without nodes"),
        (([(0, 3)], ["a"]), {}, "a node that does not exist"),
        (([], ["a"]), {"gold": []}, "gold must have an entry"),
        (([], ["a"]), {"shape": (2, 2)}, "4 cells"),
        (([], ["a"]), {"positions": [[0, 0, 0]]}, "positions must be"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, settings, why: str) -> None:
    with pytest.raises(MargraveError, match=why):
        graph_diagram(*arguments, **settings)
