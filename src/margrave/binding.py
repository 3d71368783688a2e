"""Binding of structure, features and data to a problem: the only place where the middle layer meets the core.

As in docs/architecture.md, outputs are learned, examples are encoded, the structure is bound, and the features are
learned and mapped. `bind_shards` does the same for a data set in several shards, which share one label set and one
vocabulary; their examples have the same bits as in a single problem.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.losses.costs import Cost
from margrave.maps.base import FeatureMap
from margrave.structures.base import Structure, Units

Weights = NDArray[np.float64]


@dataclass
class Bound:
    """Examples bound to a problem, with what is needed to decode its outputs."""

    problem: _core.Problem
    structure: Structure
    outputs: Any
    units: Units
    core: _core.Structure  # the structure of the problem

    @property
    def approximate(self) -> Any:
        """The core's structure whose inference is approximate, which knows how it went; None if inference is exact."""
        inner = self.core.trees if isinstance(self.core, _core.LabelledTreeStructure) else self.core
        return None if inner.exact else inner

    def decode(
        self, begin: NDArray[np.int64], parts: NDArray[np.int32], examples: NDArray[np.int64] | None = None
    ) -> Any:
        """Outputs from their parts: one per example or, if `examples` are given, output k is one of examples[k]."""
        return self.structure.decode_bound(self.outputs, self.units, self.core, examples, begin, parts)

    def decode_one(self, i: int, parts: NDArray[np.int32]) -> Any:
        """The output of example i that has these parts."""
        return self.decode(np.array([0, len(parts)], dtype=np.int64), parts, np.array([i], dtype=np.int64))[0]

    def present(self, begin: NDArray[np.int64], mu: NDArray[np.float64]) -> Any:
        """The marginals of all examples in the user's form."""
        return self.structure.present_bound(self.outputs, self.units, self.core, begin, mu)

    def best(self, w: Weights, threads: int) -> Any:
        """The best outputs of all examples."""
        return self.decode(*_core.argmax_all(self.problem, w, threads))


def bind(
    structure: Structure,
    feature_map: FeatureMap,
    X: Any,
    Y: Any = None,
    *,
    outputs: Any = None,
    costs: Cost | None = None,
    to_map: Mapping[str, Any] | None = None,
    to_structure: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> Bound:
    """Make the problem of these examples; features that have not learned anything yet learn from them.

    Parameters
    ----------
    structure, features : the structure and the features of the examples.
    X : the examples, in a form that the features can encode.
    Y : their outputs, if known.
    outputs : what the outputs have in common; None learns it from Y.
    costs : the costs of wrong outputs.
    to_features, to_structure : further arguments of `features.encode` and `structure.bind`.
    threads : the number of threads for encoding, which does not change the problem.

    >>> from margrave.maps import ChainMap
    >>> from margrave.structures import Chain
    >>> bind(Chain(), ChainMap(), [[["the"], ["dog"]]], [["D", "N"]]).problem.dim
    3
    """
    training = not feature_map.learned
    if training and Y is None:
        raise MargraveError("features are learned from examples with outputs, but there are no outputs.")
    if outputs is None:
        outputs = structure.learn(Y)
    rows = feature_map.encode(X, grow=training, threads=threads, **(to_map or {}))
    units = _core.lengths(rows.example_begin)
    bound = structure.bind(outputs, units, Y, costs=costs, **(to_structure or {}))
    if training:
        feature_map.learn(rows, bound)
    problem = structure.join(bound, feature_map.map(rows, bound, training=training))
    return Bound(problem, structure, outputs, units, bound)


def bind_shards(
    structure: Structure,
    feature_map: FeatureMap,
    shards: Sequence[tuple[Any, Any]],
    *,
    costs: Cost | None = None,
    to_map: Sequence[Mapping[str, Any]] | None = None,
) -> list[Bound]:
    """Make one problem per shard (X, Y) of a data set, with one label set and one vocabulary.

    Parameters
    ----------
    structure : the structure of the examples.
    features : features that have not learned anything yet; they learn the same as from all examples at once.
    shards : pairs of examples and their outputs.
    costs : the costs of wrong outputs.
    to_features : further arguments of `features.encode` for each shard.
    """
    outputs = reduce(lambda one, other: one.merge(other), [structure.learn(Y) for _, Y in shards])
    more = to_map or [{}] * len(shards)
    copies = [feature_map.fresh() for _ in shards]
    encoded = [each.encode(X, grow=True, **extra) for each, (X, _), extra in zip(copies, shards, more, strict=True)]
    rows = [feature_map.renumber(each, feature_map.merge(copy)) for each, copy in zip(encoded, copies, strict=True)]
    units = [np.diff(each.example_begin) for each in rows]
    bounds = [structure.bind(outputs, n, Y, costs=costs) for n, (_, Y) in zip(units, shards, strict=True)]
    for each, bound in zip(rows, bounds, strict=True):
        feature_map.learn(each, bound)
    return [
        Bound(structure.join(bound, feature_map.map(each, bound)), structure, outputs, n, bound)
        for each, bound, n in zip(rows, bounds, units, strict=True)
    ]
