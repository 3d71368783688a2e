"""Pictures of alignments."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from margrave import MargraveError
from margrave.data import BLOSUM62, SubstitutionMatrix
from margrave.plots import posterior_diagram, save_figure, substitution_diagram


def test_a_matrix_is_drawn_beside_another_one(tmp_path) -> None:
    matrix = SubstitutionMatrix("ARN", [[4.4, -0.2, -2], [-0.2, 5, 0], [-2, 0, 6]], -8.0, -0.5)
    figure = substitution_diagram(matrix, BLOSUM62)
    learned, given, _ = figure.axes
    assert [text.get_text() for text in learned.texts] == ["4", "0", "-2", "0", "5", "0", "-2", "0", "6"]
    assert [text.get_text() for text in given.texts[:3]] == ["4", "-1", "-2"]
    assert "-8.0 and -0.5" in learned.get_title()
    assert [label.get_text() for label in given.get_xticklabels()] == ["A", "R", "N"]
    save_figure(tmp_path / "matrix.svg", figure)
    assert len(substitution_diagram(matrix).axes) == 2
    with pytest.raises(MargraveError, match="a matrix without letters"):
        substitution_diagram(SubstitutionMatrix("", np.zeros((0, 0))))


def test_posteriors_are_drawn_with_both_alignments(tmp_path) -> None:
    figure = posterior_diagram(np.full((2, 3), 0.25), "AC", "ACC", [(0, 0), (1, 2)], gold=[(0, 0)], title="pair 1")
    axes = figure.axes[0]
    assert axes.images[0].get_array().shape == (2, 3)
    assert [len(each.get_offsets()) for each in axes.collections] == [2, 1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["A", "C"]
    save_figure(tmp_path / "posteriors.png", figure)
    posterior_diagram(np.zeros((1, 100)), "A", "C" * 100)
    with pytest.raises(MargraveError, match="must have 2 rows and 2 columns"):
        posterior_diagram(np.zeros((2, 3)), "AC", "AC")
    with pytest.raises(MargraveError, match=r"the pair \(2, 0\) is outside of sequences of 2 and 3 letters"):
        posterior_diagram(np.zeros((2, 3)), "AC", "ACC", [(2, 0)])
