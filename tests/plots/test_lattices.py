"""Pictures of lattices."""

import pytest

pytest.importorskip("matplotlib")

from margrave import MargraveError
from margrave.data import Lattice
from margrave.plots import lattice_diagram, save_figure

LATTICE = Lattice.of([(0, 1, "ein", {}), (0, 1, "", {}), (0, 2, "zwei", {}), (1, 2, "drei", {})])


def test_every_word_and_probability_is_drawn(tmp_path) -> None:
    figure = lattice_diagram(LATTICE, [0.25, 0.5, 0.25, 0.75], title="numbers")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["ein 0.25", "ε 0.50", "zwei 0.25", "drei 0.75", "numbers"]
    for name in ("lattice.svg", "lattice.png"):
        save_figure(tmp_path / name, figure)
        assert (tmp_path / name).stat().st_size > 1000
    assert [text.get_text() for text in lattice_diagram(LATTICE).axes[0].texts] == ["ein", "ε", "zwei", "drei"]


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(MargraveError, match="one probability per edge: 4"):
        lattice_diagram(LATTICE, [0.5])
    many = Lattice.of([(k, k + 1, "a") for k in range(500)])
    with pytest.raises(MargraveError, match="up to 400 edges"):
        lattice_diagram(many)
