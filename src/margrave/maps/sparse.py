"""Sparse vectors for parts that have features of their own: arcs, candidates, segments; one weight per attribute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.named import Block
from margrave.maps.rows import RowEncoder


@dataclass
class SparseMap(FeatureMap[_core.Tokens, _core.Structure]):
    """One weight per attribute; every part is a list of attribute strings, a dictionary, or a row of a matrix.

    Parameters
    ----------
    hash_bits : hash names to this many bits; 0 stores the names.
    unit : the word for a part in error messages.
    """

    name = "sparse"

    hash_bits: int = 0
    unit: str = "part"

    encoder: RowEncoder = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)
        self.encoder = RowEncoder(self.hash_bits)

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.encoder.form is not None

    @property
    def size(self) -> int:
        """The number of weights."""
        return self.encoder.attributes

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> _core.Tokens:
        """One row per part."""
        return self.encoder.encode(examples.attributes, single=False, grow=grow, unit=self.unit, threads=threads)

    def merge(self, other: Self) -> NDArray[np.int32] | None:
        """Add the other shard's names."""
        return self.encoder.merge(other.encoder)

    def renumber(self, rows: _core.Tokens, numbers: NDArray[np.int32] | None) -> _core.Tokens:
        """Rows of a shard with the numbers of the joint names."""
        return rows if numbers is None else rows.renumbered(numbers)

    def map(self, rows: _core.Tokens, bound: _core.Structure, *, training: bool = False) -> _core.Features:
        """The core's map of these rows, one per part."""
        if not self.learned:
            raise MargraveError("features are learned from labeled examples, and there are no labels.")
        return _core.sparse_parts(self.size, rows, bound.choices, bound.repeats)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes with the largest absolute weights, for all parts together."""
        return {self.unit: largest(self.encoder.names(), w, n, by_size=True)}

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of the attributes."""
        return [Block.of_features(self.unit, self.encoder.names())]

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The features without the names whose weight is zero."""
        if self.encoder.vocabulary is None:
            return self, w
        return self.copied(encoder=self.encoder.subset(w != 0)), w[w != 0]

    def state(self) -> dict[str, Any]:
        """The names."""
        return {"encoder": self.encoder}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.encoder = state["encoder"]
        if not isinstance(self.encoder, RowEncoder) or self.encoder.hash_bits != self.hash_bits:
            raise MargraveError("its encoder does not belong to its features.")
