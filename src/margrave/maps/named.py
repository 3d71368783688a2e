"""The weights of a model by name: a mapping from names to numbers, in the order of `coef_`.

A map lists its weights as blocks that stand one after another in `coef_`. A block has a group, and its weights have a
feature, a label, or both.
"""

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError, quoted

Name = tuple[Any, ...]  # (group, feature, label), (group, feature) or (group, label)


@dataclass(frozen=True, eq=False)
class Block:
    """Weights that stand one after another: those of one group.

    Parameters
    ----------
    group : the word for what they are weights of: "token", "transition".
    features, labels : the features and labels that occur; None if weights have none.
    row, column : the indices of the feature and of the label of each weight.
    """

    group: str
    features: Sequence[Any] | None
    labels: Sequence[Any] | None
    row: NDArray[np.int64] = field(repr=False)
    column: NDArray[np.int64] = field(repr=False)

    @classmethod
    def table(cls, group: str, features: Sequence[Any], labels: Sequence[Any]) -> "Block":
        """Every feature has a weight for every label; those of a feature stand together."""
        cells = np.arange(len(features) * len(labels))
        return cls(group, features, labels, cells // max(len(labels), 1), cells % max(len(labels), 1))

    @classmethod
    def of_features(cls, group: str, features: Sequence[Any]) -> "Block":
        """Every feature has one weight."""
        return cls(group, features, None, np.arange(len(features)), np.zeros(len(features), dtype=np.int64))

    @classmethod
    def of_labels(cls, group: str, labels: Sequence[Any]) -> "Block":
        """Every label has one weight."""
        return cls(group, None, labels, np.zeros(len(labels), dtype=np.int64), np.arange(len(labels)))

    def __len__(self) -> int:
        """The number of weights."""
        return len(self.row)

    def names(self) -> Iterator[Name]:
        """The names of the weights, in order."""
        for row, column in zip(self.row.tolist(), self.column.tolist(), strict=True):
            yield self._name(row, column)

    def _name(self, row: int, column: int) -> Name:
        feature = () if self.features is None else (self.features[row],)
        label = () if self.labels is None else (self.labels[column],)
        return (self.group, *feature, *label)

    @cached_property
    def _numbers(self) -> tuple[dict[Any, int], dict[Any, int]]:
        return (
            {name: k for k, name in enumerate(self.features or ())},
            {of: k for k, of in enumerate(self.labels or ())},
        )

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells of the weights, sorted, and their places."""
        cells = self.row * len(self.labels or (None,)) + self.column
        order = np.argsort(cells, kind="stable")
        return cells[order], order

    def place(self, rest: Name) -> int | None:
        """The place of a weight in the block, by its feature and its label; None if there is none."""
        if len(rest) != (self.features is not None) + (self.labels is not None):
            return None
        features, labels = self._numbers
        row = 0 if self.features is None else features.get(rest[0], -1)
        column = 0 if self.labels is None else labels.get(rest[-1], -1)
        if row < 0 or column < 0:
            return None
        cells, order = self._sorted
        cell = row * len(self.labels or (None,)) + column
        at = int(np.searchsorted(cells, cell))
        return int(order[at]) if at < len(cells) and cells[at] == cell else None

    def of_feature(self, feature: Any) -> NDArray[np.int64]:
        """The places of the weights of a feature."""
        row = None if self.features is None else self._numbers[0].get(feature)
        return np.zeros(0, dtype=np.int64) if row is None else np.flatnonzero(self.row == row)


class UnknownWeightError(MargraveError, KeyError):
    """There is no weight of this name; it is a KeyError, as mappings raise.

    Parameters
    ----------
    name : the name.
    other : the name of a weight, as an example; None if no weight has one.
    """

    def __init__(self, name: Any, other: Name | None) -> None:
        example = "no weight has one" if other is None else f"a name is a tuple such as {quoted(other)}"
        super().__init__(f"there is no weight with the name {quoted(name)}: {example}.")

    __str__ = Exception.__str__  # A KeyError shows its argument quoted.


class NamedWeights(Mapping[Name, float]):
    """The weights of a model by name.

    Parameters
    ----------
    blocks : the names, block by block.
    w : the weights in the same order; what is behind the last block has no names, such as hashed features.
    """

    def __init__(self, blocks: Sequence[Block], w: NDArray[np.float64]) -> None:
        self.blocks = list(blocks)
        self._begin = np.concatenate([[0], np.cumsum([len(block) for block in blocks])]).astype(np.int64)
        self._w = w[: int(self._begin[-1])]

    def __len__(self) -> int:
        return len(self._w)

    def __iter__(self) -> Iterator[Name]:
        for block in self.blocks:
            yield from block.names()

    def __getitem__(self, name: Name) -> float:
        group, *rest = name if isinstance(name, tuple) and name else (name,)
        for block, begin in zip(self.blocks, self._begin.tolist(), strict=False):
            if block.group == group and (place := block.place(tuple(rest))) is not None:
                return float(self._w[begin + place])
        raise UnknownWeightError(name, next(iter(self), None))

    def items(self) -> ItemsView[Name, float]:
        """The names with their weights."""
        return _Items(self, self._w)

    def values(self) -> ValuesView[float]:
        """The weights, in the order of `coef_`."""
        return _Values(self, self._w)

    def of(self, feature: Any) -> dict[Name, float]:
        """The weights of one feature: for each label, if it has one for each.

        Parameters
        ----------
        feature : its name.
        """
        found: dict[Name, float] = {}
        for block, begin in zip(self.blocks, self._begin.tolist(), strict=False):
            for place in block.of_feature(feature).tolist():
                name = block._name(int(block.row[place]), int(block.column[place]))
                found[name] = float(self._w[begin + place])
        return found

    def frame(self) -> Any:
        """The weights as a data frame of pandas, with the columns group, feature, label and weight."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MargraveError("a data frame needs the package pandas: install it, or use the mapping.") from None
        columns: dict[str, list[Any]] = {"group": [], "feature": [], "label": []}
        for block in self.blocks:
            columns["group"] += [block.group] * len(block)
            for key, names, which in (("feature", block.features, block.row), ("label", block.labels, block.column)):
                columns[key] += [None] * len(block) if names is None else [names[k] for k in which.tolist()]
        return pandas.DataFrame({**columns, "weight": self._w})

    def renamed(self, names: Sequence[Any]) -> "NamedWeights":
        """The same weights, with names for features that are numbers of columns."""
        blocks = [
            of if of.features is None else replace(of, features=[column_name(names, k) for k in of.features])
            for of in self.blocks
        ]
        return NamedWeights(blocks, self._w)

    def __repr__(self) -> str:
        groups = ", ".join(dict.fromkeys(block.group for block in self.blocks))
        return f"<NamedWeights: {len(self):,} weights of the groups {groups}>"


def column_name(names: Sequence[Any], feature: Any) -> Any:
    """The name of a feature that may be the number of a column; others, such as an intercept, have names already."""
    return names[feature] if isinstance(feature, int) else feature


class _Items(ItemsView[Name, float]):
    def __init__(self, weights: NamedWeights, w: NDArray[np.float64]) -> None:
        super().__init__(weights)
        self._names, self._w = weights, w

    def __iter__(self) -> Iterator[tuple[Name, float]]:
        return zip(self._names, self._w.tolist(), strict=True)


class _Values(ValuesView[float]):
    def __init__(self, weights: NamedWeights, w: NDArray[np.float64]) -> None:
        super().__init__(weights)
        self._w = w

    def __iter__(self) -> Iterator[float]:
        return iter(self._w.tolist())
