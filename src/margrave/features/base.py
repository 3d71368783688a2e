"""The protocol of feature maps: attributes to rows, rows to weights, and the names behind them.

The order in a fit: `encode(X, grow=True)` turns attributes into rows of numbers and gives every new name a number;
`learn(rows, bound)` decides which weights there are, from the gold parts of the bound structure; `map(rows, bound)` is
the core's linear map. Later data are encoded with `grow=False`, in which names that training did not have are left out.

Shards of a data set learn on copies of one's own (`fresh`), and `merge` joins them in the order of the shards: first
what they have encoded, which renumbers the rows of later shards, then, over the joint names, what they have learned.
The result has the same bits as one shard.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.files.stored import Stored

Weights = NDArray[np.float64]
Ranked = list[tuple[Any, float]]  # names of features with their weights, the heaviest first


class Rows(Protocol):
    """Encoded examples: flat rows of the core, with bounds."""

    @property
    def example_begin(self) -> NDArray[np.int64]:
        """Where the units of each example begin, followed by the end of the last."""


class Features(Stored, kind="features"):
    """The base of all feature maps."""

    @property
    def learned(self) -> bool:
        """Whether `learn` has decided which weights there are."""
        raise MargraveError(f"the features {type(self).__name__} do not say whether they are learned.")

    def fresh(self) -> Self:
        """The same settings, nothing learned."""
        return type(self).from_settings(self.stored_settings())

    def encode(self, X: Any, *, grow: bool, **more: Any) -> Any:
        """Rows of the examples of X; `grow`: give names that are new a number of their own."""
        raise MargraveError(f"the features {type(self).__name__} do not say how they encode examples.")

    def renumber(self, rows: Any, numbers: Any) -> Any:
        """Rows that were encoded before a merge, with the numbers that `merge` gave."""
        return rows.renumbered(numbers)

    def merge(self, other: Self) -> Any:
        """Adds what another shard has encoded and learned; returns the numbers that the other's names have here."""
        raise MargraveError(f"the features {type(self).__name__} cannot be learned from shards.")

    def learn(self, rows: Any, bound: _core.Structure) -> None:
        """Decides which weights there are, in addition to those of earlier calls."""

    def map(self, rows: Any, bound: _core.Structure, *, training: bool = False) -> _core.Features:
        """The linear map of these rows; `training`: they are what was learned from."""
        raise MargraveError(f"the features {type(self).__name__} do not say how they map weights to scores.")

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The n heaviest features by column (label, node), or of all parts alike; refuses features without names."""
        raise MargraveError(f"the features {type(self).__name__} have no names to show.")

    def compact(self, w: Weights) -> tuple[Self, Weights]:
        """The features and weights without what prediction has no use for."""
        return self, w

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The features and weights without those that are zero, where that changes no score."""
        return self, w

    def copied(self, **changes: Any) -> Self:
        """A shallow copy with other attributes."""
        other = copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        return other


def heaviest(names: Sequence[Any], weights: Weights, n: int, *, by_size: bool = False) -> Ranked:
    """The n features with the largest weights, those of weight zero left out; `by_size`: whatever the sign."""
    order = np.argsort(-np.abs(weights) if by_size else -weights, kind="stable")[:n]
    return [(names[k], float(weights[k])) for k in order.tolist() if weights[k] != 0 and (by_size or weights[k] > 0)]
