"""The features of the edges of lattices: those that they come with, and their words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from margrave.checks import flag
from margrave.data.lattices import Lattice
from margrave.errors import MargraveError
from margrave.features.base import Features


@dataclass(repr=False)
class EdgeFeatures(Features):
    """Turns lattices into one dictionary of features per edge.

    Parameters
    ----------
    words : whether the word of an edge is a feature, too.

    >>> EdgeFeatures(words=True).transform([Lattice.of([(0, 1, "a", {"lm": -1.0})])])
    [[{'lm': -1.0, 'word=a': 1.0}]]
    """

    name = "edge-features"

    words: bool = False

    def __post_init__(self) -> None:
        self.words = flag("words", self.words)

    def transform(self, X: Sequence[Lattice]) -> list[list[dict[str, float]]]:
        """The features of every edge.

        Parameters
        ----------
        X : lattices.
        """
        found = []
        for i, lattice in enumerate(X):
            if not isinstance(lattice, Lattice):
                raise MargraveError(f"example {i} must be a Lattice, not {type(lattice).__name__}.")
            found.append([self._of(edge) for edge in lattice.edges])
        return found

    def _of(self, edge: Any) -> dict[str, float]:
        features = dict(edge.features)
        if self.words and edge.word:
            features[f"word={edge.word}"] = 1.0
        return features
