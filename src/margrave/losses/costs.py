"""Costs of predicting one output when another is right.

Structures are bound with a cost object. `Hamming`, `ZeroOne`, `Tree` and `Matrix` decompose over the labels of an
output, except for the zero-one cost of a structured output, which the loss handles. `F1` and `CostFunction` require a
cutting-plane learner. Only `Matrix` stores a number for every pair of labels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margrave import _core
from margrave.data.taxonomy import Taxonomy
from margrave.errors import MargraveError, unknown
from margrave.stored import Stored

# Users specify a cost as "hamming", "zero-one", "f1" or "segments"; as one number per label (the cost of missing it),
# in a mapping or in the order of the classes; as a matrix from gold to predicted labels, or the same in mappings; as a
# function of the gold output and another one; or as a Cost.
CostLike: TypeAlias = (
    "str | Mapping[Any, float] | Mapping[Any, Mapping[Any, float]] | ArrayLike | Callable[[Any, Any], float] | Cost"
)

_RULE = "costs must be finite, not negative, and zero for the right label."


class Cost(Stored, kind="cost"):
    """The base of all costs."""

    of_whole_outputs: ClassVar[bool] = False  # whether only cutting-plane learners know what to do with it

    def label_cost(self, classes: Sequence[Any]) -> _core.LabelCost:
        """The cost of each of these labels when another one is right, in the core's form; Hamming by default."""
        return _core.hamming_cost(np.ones(len(classes)))

    def matrix(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        """The same as a dense (gold, predicted) matrix."""
        return 1.0 - np.eye(len(classes))


@dataclass(frozen=True, eq=False)
class Hamming(Cost):
    """The number of wrong labels (or heads, or nodes); with `weights`, the sum of the weights of the missed labels.

    Parameters
    ----------
    weights : one number per label, as a mapping (labels that it lacks weigh 1) or as a list in the order of the
        classes; None if all labels weigh 1.

    >>> Hamming({"a": 3.0}).matrix(["a", "b"])
    array([[0., 3.],
           [1., 0.]])
    """

    name = "hamming"

    weights: Any = None

    def label_cost(self, classes: Sequence[Any]) -> _core.LabelCost:
        """One weight per label."""
        return _core.hamming_cost(self._weights(classes))

    def matrix(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        """Each row has the weight of its label everywhere except on the diagonal."""
        return self._weights(classes)[:, None] * (1.0 - np.eye(len(classes)))

    def of_classes(self, everything: Sequence[Any], classes: Sequence[Any]) -> "Hamming":
        """The same cost, given for all classes, of some of them."""
        weight = dict(zip(everything, self._weights(everything).tolist(), strict=True))
        return Hamming([weight[label] for label in classes])

    def _weights(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        weights = self.weights
        if weights is None:
            return np.ones(len(classes))
        if isinstance(weights, Mapping):
            for label in weights:
                if label not in classes:
                    raise unknown("label in the costs", label, map(str, classes))
            weights = [weights.get(label, 1.0) for label in classes]
        return _numbers(weights, len(classes), of_pairs=False)


@dataclass(frozen=True, eq=False)
class ZeroOne(Cost):
    """1 for every output except the right one."""

    name = "zero-one"


@dataclass(frozen=True, eq=False)
class Matrix(Cost):
    """Any number for every pair of a gold and a predicted label.

    Parameters
    ----------
    values : the matrix over the classes, in their order; or a mapping from gold labels to mappings from predicted
        labels to numbers, in which pairs that are missing cost 1.

    >>> Matrix({"a": {"b": 3.0}}).matrix(["a", "b"])
    array([[0., 3.],
           [1., 0.]])
    """

    name = "matrix"

    values: Any

    def label_cost(self, classes: Sequence[Any]) -> _core.LabelCost:
        """The rows and columns of these labels."""
        return _core.matrix_cost(len(classes), self.matrix(classes).ravel())

    def matrix(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        """The same as an array."""
        values = self.values
        if isinstance(values, Mapping):
            for label in [*values, *(other for row in values.values() for other in row)]:
                if label not in classes:
                    raise unknown("label in the costs", label, map(str, classes))
            rows = [values.get(gold, {}) for gold in classes]
            values = [
                [row.get(label, float(label != gold)) for label in classes]
                for gold, row in zip(classes, rows, strict=True)
            ]
        return _numbers(values, len(classes), of_pairs=True)

    def of_classes(self, everything: Sequence[Any], classes: Sequence[Any]) -> "Matrix":
        """The same cost, given for all classes, of some of them."""
        number = {label: k for k, label in enumerate(everything)}
        known = [number[label] for label in classes]
        return Matrix(np.ascontiguousarray(self.matrix(everything)[np.ix_(known, known)]))


@dataclass(frozen=True, eq=False)
class Tree(Cost):
    """The tree loss between classes of a taxonomy: the height of their first common ancestor."""

    name = "tree"

    taxonomy: Taxonomy

    def label_cost(self, classes: Sequence[Any]) -> _core.LabelCost:
        """The nodes above each class, the classes below each node and the nodes' heights: never a dense matrix."""
        above = [self.taxonomy.ancestors(name) for name in classes]
        below: dict[Any, list[int]] = {}
        for k, nodes in enumerate(above):
            for node in nodes:
                below.setdefault(node, []).append(k)
        number = {node: k for k, node in enumerate(below)}
        heights = np.array([float(self.taxonomy.height(node)) for node in below])
        return _core.tree_cost(
            *_ragged([[number[node] for node in nodes] for nodes in above]),
            *_ragged(list(below.values())),
            heights,
            1.0 + self.taxonomy.depth,
        )

    def matrix(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        """The tree losses between all pairs of classes."""
        return self.taxonomy.tree_losses(classes)


@dataclass(frozen=True, eq=False)
class F1(Cost):
    """One minus the F1 score of the output's parts; only cutting-plane learners minimize it."""

    name = "f1"
    of_whole_outputs = True


@dataclass(frozen=True, eq=False)
class Segments(Cost):
    """The number of predicted segments that are wrong plus the number of right ones that are missing; O does not count.

    Only segmentations have it (`SegmentTagger`).
    """

    name = "segments"

    def label_cost(self, classes: Sequence[Any]) -> _core.LabelCost:
        """Refused: a label alone does not say where a segment begins and ends."""
        raise MargraveError("the cost 'segments' is for segmentations: use SegmentTagger.")


@dataclass(frozen=True, eq=False)
class CostFunction(Cost):
    """Any function of the gold output and another one; cutting-plane learners evaluate it on the best outputs."""

    name = "function"
    of_whole_outputs = True

    function: Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False)
class GivenCosts(Cost):
    """Costs that are part of the data: one number for each candidate of each example."""

    costs: Any
    loss: Cost = field(default_factory=Hamming)  # what the loss asked for


def cost_named(cost: CostLike) -> Cost:
    """Return the cost object that a user's value stands for.

    Parameters
    ----------
    cost : a name, numbers per label, a matrix, a function, or a cost object.

    >>> cost_named("hamming")
    Hamming(weights=None)
    """
    if isinstance(cost, Cost):
        return cost
    if isinstance(cost, str):
        if cost not in _NAMED:
            raise unknown("cost", cost, _NAMED)
        return _NAMED[cost]()
    if callable(cost):
        return CostFunction(cost)
    if isinstance(cost, Mapping):
        return Matrix(cost) if any(isinstance(each, Mapping) for each in cost.values()) else Hamming(cost)
    try:
        return Hamming(cost) if np.ndim(cost) == 1 else Matrix(cost)
    except ValueError:  # rows of different lengths
        return Matrix(cost)


_NAMED: dict[str, type[Cost]] = {"hamming": Hamming, "zero-one": ZeroOne, "f1": F1, "segments": Segments}


def _numbers(values: Any, n: int, *, of_pairs: bool) -> NDArray[np.float64]:
    """A number per label, or per pair of labels."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise MargraveError(
            "costs must be numbers: one per label, or a matrix from gold to predicted labels."
        ) from None
    if not np.isfinite(array).all() or (array < 0).any():
        raise MargraveError(_RULE)
    if array.shape != ((n, n) if of_pairs else (n,)):
        raise MargraveError(
            f"costs must be one number per label or a matrix from gold to predicted labels: shape ({n},) or "
            f"({n}, {n}), not {array.shape}."
        )
    if of_pairs and array.diagonal().any():
        raise MargraveError(_RULE)
    return np.ascontiguousarray(array)


def _ragged(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The concatenated lists, and the offset at which each of them begins."""
    begin = np.concatenate([[0], np.cumsum([len(each) for each in lists])]).astype(np.int64)
    return begin, np.array([k for each in lists for k in each], dtype=np.int32)
