"""Pictures with characters that no font draws, that XML forbids, or that mean something to matplotlib."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from margrave.data import Lattice, SubstitutionMatrix
from margrave.plots import (
    arc_diagram,
    graph_diagram,
    lattice_diagram,
    posterior_diagram,
    save_figure,
    substitution_diagram,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MATRIX = SubstitutionMatrix("AB", np.eye(2), -1.0, -1.0)
DIAGRAMS: dict[str, Callable[[str], "Figure"]] = {
    "arcs": lambda odd: arc_diagram([f"a{odd}", "b"], [2, 0], [odd, "x"], tags=[odd, odd], title=odd),
    "lattice": lambda odd: lattice_diagram(Lattice.of([(0, 1, "a"), (0, 1, "$b$")]), [0.5, 0.5], title=f"x{odd}y"),
    "graph": lambda odd: graph_diagram([(0, 1)], [odd, "b"], gold=["b", odd]),
    "grid": lambda odd: graph_diagram([(0, 1)], [odd, "b"], shape=(1, 2), gold=["b", odd]),
    "posteriors": lambda odd: posterior_diagram(np.ones((2, 1)), ["a", odd], [odd], title=odd),
    "matrix": lambda odd: substitution_diagram(MATRIX, MATRIX, titles=(odd, odd)),
}


@pytest.mark.parametrize(
    "odd", ["\x00", "\x01", "\x1b", "\x0c", "\ufffe", "\uffff", "--", "<a>", "&", "\ud800", r"$\frac$", "$x$"]
)
@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_picture_of_any_characters_is_well_formed(name: str, odd: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    save_figure(path, DIAGRAMS[name](odd))
    ElementTree.parse(path)
