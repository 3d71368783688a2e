"""The protocol of feature maps: they encode attributes as rows, assign weights to them, and know their names.

During a fit, `encode(examples, grow=True)` turns attributes into rows of numbers and gives every new name a number;
`learn(rows, bound)` decides which weights exist, based on the gold parts of the bound structure; `map(rows, bound)`
returns the core's linear map. New data are encoded with `grow=False`, which leaves out unknown names.

Each shard of a data set encodes and learns with its own copy of the features (`fresh`). `merge` joins the copies in the
order of the shards: first what they have encoded, which renumbers the rows of later shards, then what they have learned
over the joint names. The result has the same bits as one shard.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.maps.named import Block
from margrave.stored import Stored

Weights = NDArray[np.float64]
Ranked = list[tuple[Any, float]]  # names of features with their weights, by decreasing weight


Rows = TypeVar("Rows")
Core = TypeVar("Core", bound=_core.Structure)


class FeatureMap(Stored, Generic[Rows, Core], kind="feature map"):
    """The base of all feature maps, generic in their rows and in the core's structures that they belong to."""

    @property
    def learned(self) -> bool:
        """Whether `learn` has decided which weights exist."""
        raise MargraveError(f"the features {type(self).__name__} do not say whether they are learned.")

    def fresh(self) -> Self:
        """A copy with the same settings that has not learned anything."""
        return type(self).from_settings(self.stored_settings())

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> Rows:
        """Encode examples as rows; with `grow`, new names get a number. Threads do not change the rows."""
        raise MargraveError(f"the features {type(self).__name__} do not say how they encode examples.")

    def renumber(self, rows: Rows, numbers: Any) -> Rows:
        """Rows that were encoded before a merge, with the numbers that `merge` returned."""
        raise MargraveError(f"the features {type(self).__name__} cannot be learned from shards.")

    def merge(self, other: Self) -> Any:
        """Add what another shard has encoded and learned; return the numbers that its names have here."""
        raise MargraveError(f"the features {type(self).__name__} cannot be learned from shards.")

    def learn(self, rows: Rows, bound: Core) -> None:
        """Decide which weights exist, in addition to those of earlier calls."""

    def map(self, rows: Rows, bound: Core, *, training: bool = False) -> _core.Features:
        """The linear map of these rows; `training` says that they are the training data."""
        raise MargraveError(f"the features {type(self).__name__} do not say how they map weights to scores.")

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The n features with the largest weights, for each column (label, node) or for all parts together."""
        raise MargraveError(f"the features {type(self).__name__} have no names to show.")

    def rounded(self, w: Weights) -> Weights:
        """The weights as a model keeps them: a map with very many of them may round them to fewer bits."""
        return w

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """The names of the weights in their order; `tuples` are those of neighboring labels, if there are any.

        Weights behind the last block have no names.
        """
        raise MargraveError(f"the features {type(self).__name__} have no names to show.")

    def compact(self, w: Weights) -> tuple[Self, Weights]:
        """The features and weights without anything that prediction does not need."""
        return self, w

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The features and weights without zero weights, as far as that changes no score."""
        return self, w

    def copied(self, **changes: Any) -> Self:
        """A shallow copy with these attributes changed."""
        other = copy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        return other


def largest(names: Sequence[Any], weights: Weights, n: int, *, by_size: bool = False) -> Ranked:
    """The n features with the largest positive weights, or, with `by_size`, with the largest absolute weights."""
    order = np.argsort(-np.abs(weights) if by_size else -weights, kind="stable")[:n]
    return [(names[k], float(weights[k])) for k in order.tolist() if weights[k] != 0 and (by_size or weights[k] > 0)]
