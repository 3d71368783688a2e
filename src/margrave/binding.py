"""Binding of structure, features and data to a problem: the only place where the middle layer meets the core.

As in docs/architecture.md, outputs are learned, examples are encoded, the structure is bound, and the features are
learned and mapped. `bind_shards` does the same for a data set in several shards, which share one label set and one
vocabulary; their examples have the same bits as in a single problem.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.losses.costs import Cost
from margrave.maps.base import FeatureMap
from margrave.structures.base import Bound, Core, Out, Structure

Weights = NDArray[np.float64]


@dataclass
class BoundProblem(Bound[Out, Core]):
    """Examples bound to a problem."""

    problem: _core.Problem

    @property
    def approximate(self) -> Any:
        """The core's structure whose inference is approximate, which knows how it went; None if inference is exact."""
        inner = self.core.trees if isinstance(self.core, _core.LabeledTreeStructure) else self.core
        return None if inner.exact else inner

    def best(self, w: Weights, threads: int) -> Any:
        """The best outputs of all examples."""
        return self.decode(*_core.argmax_all(self.problem, w, threads))


def bind(
    structure: Structure[Out, Core],
    feature_map: FeatureMap[Any, Core],
    examples: Examples,
    *,
    outputs: Out | None = None,
    costs: Cost | None = None,
    threads: int = 1,
) -> BoundProblem[Out, Core]:
    """Make the problem of these examples; a feature map that has not learned anything yet learns from them.

    Parameters
    ----------
    structure, feature_map : the structure and the features of the examples.
    examples : the examples, in a form that the feature map can encode.
    outputs : what the outputs have in common; None learns it from those of the examples.
    costs : the costs of wrong outputs.
    threads : the number of threads for encoding, which does not change the problem.

    >>> from margrave.maps import ChainMap
    >>> from margrave.structures import Chain
    >>> bind(Chain(), ChainMap(), Examples([[["the"], ["dog"]]], [["D", "N"]])).problem.dim
    3
    """
    training = not feature_map.learned
    if training and examples.Y is None:
        raise MargraveError("features are learned from examples with outputs, but there are no outputs.")
    if outputs is None:
        outputs = structure.learn(examples.Y)
    rows = feature_map.encode(examples, grow=training, threads=threads)
    examples = replace(examples, begin=rows.example_begin)
    core = structure.bind(outputs, examples, costs)
    if training:
        feature_map.learn(rows, core)
    problem = structure.join(core, feature_map.map(rows, core, training=training))
    return BoundProblem(structure, outputs, examples, core, problem)


def bind_shards(
    structure: Structure[Out, Core],
    feature_map: FeatureMap[Any, Core],
    shards: Sequence[Examples],
    *,
    costs: Cost | None = None,
) -> list[BoundProblem[Out, Core]]:
    """Make one problem per shard of a data set, with one label set and one vocabulary.

    Parameters
    ----------
    structure : the structure of the examples.
    feature_map : a feature map that has not learned anything yet; it learns the same as from all examples at once.
    shards : the examples of each shard with their outputs.
    costs : the costs of wrong outputs.
    """
    outputs = reduce(lambda one, other: one.merge(other), [structure.learn(shard.Y) for shard in shards])
    copies = [feature_map.fresh() for _ in shards]
    encoded = [each.encode(shard, grow=True) for each, shard in zip(copies, shards, strict=True)]
    rows = [feature_map.renumber(each, feature_map.merge(copy)) for each, copy in zip(encoded, copies, strict=True)]
    sized = [replace(shard, begin=each.example_begin) for shard, each in zip(shards, rows, strict=True)]
    cores = [structure.bind(outputs, shard, costs) for shard in sized]
    for each, core in zip(rows, cores, strict=True):
        feature_map.learn(each, core)
    return [
        BoundProblem(structure, outputs, shard, core, structure.join(core, feature_map.map(each, core)))
        for shard, core, each in zip(sized, cores, rows, strict=True)
    ]
