"""Sparse vectors for arcs, or for any parts that have features of their own."""

from dataclasses import dataclass, field
from typing import Any

from margrave import _core
from margrave.features.table import RowEncoder


@dataclass
class ArcFeatures:
    """One weight an attribute; every arc is a list of attribute strings, a dictionary, or a row of a matrix."""

    hash_bits: int = 0
    encoder: RowEncoder = field(init=False)

    def __post_init__(self) -> None:
        self.encoder = RowEncoder(self.hash_bits)

    @property
    def learned(self) -> bool:
        """Whether a training set has settled which weights there are."""
        return self.encoder.kind is not None

    @property
    def dim(self) -> int:
        """The number of weights."""
        return self.encoder.attributes

    def encode(self, X: Any, *, learn: bool) -> _core.Tokens:
        """Rows of all arcs."""
        return self.encoder.encode(X, single=False, learn=learn)
