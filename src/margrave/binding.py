"""Structure, features and data become a problem: the one place where the middle layer meets the core.

The order is that of docs/design.md, section 5: outputs are learned, examples encoded, the structure bound, the features
learned and mapped. `bind_shards` does the same for a data set in several parts, which share one label set and one
vocabulary; their problems have the bits that the examples would have in one problem.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.features.base import Features
from margrave.losses.costs import Cost
from margrave.structures.base import Structure, Units

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Bound:
    """Examples bound to a problem, and how to read its outputs."""

    problem: _core.Problem
    structure: Structure
    outputs: Any
    units: Units

    def decode(self, begin: NDArray[np.int64], parts: NDArray[np.int32]) -> Any:
        """The outputs of all examples, from their parts."""
        return self.structure.decode(self.outputs, self.units, begin, parts)

    def best(self, w: Weights, threads: int) -> Any:
        """The best outputs of all examples."""
        return self.decode(*_core.argmax_all(self.problem, w, threads))


def bind(
    structure: Structure,
    features: Features,
    X: Any,
    Y: Any = None,
    *,
    outputs: Any = None,
    costs: Cost | None = None,
    to_features: Mapping[str, Any] | None = None,
    to_structure: Mapping[str, Any] | None = None,
) -> Bound:
    """The problem of these examples; features that have learned nothing yet learn from them.

    Parameters
    ----------
    structure, features : what the examples are bound to.
    X : the examples as the features encode them.
    Y : their outputs, where known.
    outputs : what the outputs have in common; None learns it from Y.
    costs : what wrong outputs cost.
    to_features, to_structure : what else `features.encode` and `structure.bind` take.

    >>> from margrave.features import ChainFeatures
    >>> from margrave.structures import Chain
    >>> bind(Chain(), ChainFeatures(), [[["the"], ["dog"]]], [["D", "N"]]).problem.dim
    3
    """
    training = not features.learned
    if training and Y is None:
        raise MargraveError("features are learned from examples with outputs, and there are no labels.")
    if outputs is None:
        outputs = structure.learn(Y)
    rows = features.encode(X, grow=training, **(to_features or {}))
    units = np.diff(rows.example_begin)
    bound = structure.bind(outputs, units, Y, costs=costs, **(to_structure or {}))
    if training:
        features.learn(rows, bound)
    return Bound(_core.join(bound, features.map(rows, bound, training=training)), structure, outputs, units)


def bind_shards(
    structure: Structure,
    features: Features,
    shards: Sequence[tuple[Any, Any]],
    *,
    costs: Cost | None = None,
    to_features: Sequence[Mapping[str, Any]] | None = None,
) -> list[Bound]:
    """The problems of the parts (X, Y) of a data set, over one label set and one vocabulary.

    `features` must have learned nothing yet; afterwards they have what one problem of all examples would give them.
    """
    outputs = reduce(lambda one, other: one.merge(other), [structure.learn(Y) for _, Y in shards])
    more = to_features or [{}] * len(shards)
    copies = [features.fresh() for _ in shards]
    encoded = [each.encode(X, grow=True, **extra) for each, (X, _), extra in zip(copies, shards, more, strict=True)]
    rows = [features.renumber(each, features.merge(copy)) for each, copy in zip(encoded, copies, strict=True)]
    units = [np.diff(each.example_begin) for each in rows]
    bounds = [structure.bind(outputs, n, Y, costs=costs) for n, (_, Y) in zip(units, shards, strict=True)]
    for each, bound in zip(rows, bounds, strict=True):
        features.learn(each, bound)
    return [
        Bound(_core.join(bound, features.map(each, bound)), structure, outputs, n)
        for each, bound, n in zip(rows, bounds, units, strict=True)
    ]
