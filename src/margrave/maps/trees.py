"""Features of the parts of trees by templates: weights are found by fingerprints, and nothing is stored per arc."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from margrave import _core
from margrave.checks import flag, whole
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.files.rounding import rounded
from margrave.files.stored import vector
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.named import Block


@dataclass
class TreeMap(FeatureMap[_core.TreeAttributes, _core.TreeStructure]):
    """One weight per attribute of the parts of trees, as `margrave.features.ArcTemplates` makes them.

    Parameters
    ----------
    hash_bits : attributes are hashed to this many bits, and a model keeps their weights in 16 bits each; 0 stores the
        attributes of gold trees with their names.
    labels : the labels of arcs, if arcs have labels.
    """

    name = "trees"

    hash_bits: int = 22
    labels: Sequence[str] = ()

    table: _core.FingerprintTable | None = field(default=None, init=False, repr=False)
    trained: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)
        self.labels = [str(label) for label in self.labels]

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.trained

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> _core.TreeAttributes:
        """The values of the words of all sentences."""
        X = examples.attributes
        if isinstance(X, list) and not X:
            return _core.TreeTemplates([], [], -1).attributes(_core.ColumnTable(), -1, lambda function, values: [])
        if not isinstance(X, _core.TreeAttributes):
            raise MargraveError("features of trees take what ArcTemplates make of sentences.")
        return X

    def merge(self, other: Self) -> None:
        """Nothing is numbered before `learn`, which adds the attributes of one shard after another."""

    def renumber(self, rows: _core.TreeAttributes, numbers: None) -> _core.TreeAttributes:
        """The same rows."""
        return rows

    def learn(self, rows: _core.TreeAttributes, bound: _core.TreeStructure) -> None:
        """Give weights to the attributes of the gold trees, unless attributes are hashed."""
        self.trained = True
        if self.hash_bits == 0:
            if self.table is None:
                self.table = _core.FingerprintTable()
            self.table.observe(rows, bound, self.labels)

    def map(self, rows: _core.TreeAttributes, bound: _core.TreeStructure, *, training: bool = False) -> _core.TreeMap:
        """The core's map of the parts of these trees."""
        return _core.tree_map(rows, bound, self.hash_bits, self.table, len(self.labels))

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes with the largest absolute weights, for all parts together."""
        if self.table is None:
            raise MargraveError("hashed features do not store names.")
        return {"arc": largest(self.table.names(), w, n, by_size=True)}

    def rounded(self, w: Weights) -> Weights:
        """Hashed weights rounded to 16 bits: there are as many as cells, however few features a sentence has."""
        return w if self.hash_bits == 0 else rounded(w)

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of the attributes of arcs and their pairs."""
        if self.table is None:
            raise MargraveError("hashed features do not store names.")
        return [Block.of_features("arc", self.table.names())]

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The features without the attributes whose weight is zero."""
        if self.table is None:
            return self, w
        fingerprints, text, offsets = self.table.arrays()
        kept, lengths = w != 0, np.diff(offsets)
        begin = np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)
        table = _core.FingerprintTable(fingerprints[kept], text[np.repeat(kept, lengths)], begin)
        return self.copied(table=table), w[kept]

    def state(self) -> dict[str, Any]:
        """Whether they are learned, and the attributes that have weights."""
        state: dict[str, Any] = {"trained": self.trained}
        if self.table is not None:
            fingerprints, state["bytes"], state["offsets"] = self.table.arrays()
            state["fingerprints"] = fingerprints.view(np.int64)
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.trained = flag("trained", state["trained"])
        if self.trained and self.hash_bits == 0:
            self.table = _core.FingerprintTable(
                vector(state["fingerprints"], np.int64, "fingerprints").view(np.uint64),
                vector(state["bytes"], np.uint8, "names"),
                vector(state["offsets"], np.int64, "names"),
            )
