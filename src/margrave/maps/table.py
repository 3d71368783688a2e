"""Attribute x label tables: a weight for pairs of an attribute and a label (003, Eq. 13).

With `"observed"`, each pair that occurs in the training data has a weight, and with `"all"` every pair has one. Hashing
maps names to a fixed number of rows without storing the names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import natural, whole
from margrave.errors import MargraveError, unknown
from margrave.examples import Examples
from margrave.files.stored import vector
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.named import Block
from margrave.maps.rows import RowEncoder

PAIRS = ("observed", "all")


@dataclass
class Transitions:
    """What the core's table scores in addition to the attributes of rows: label tuples, and first and last labels."""

    gram_weight: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    gram_weights: int = 0  # the number of weights of label tuples
    order: int = 0
    tied: bool = True
    scale: float = 1.0
    start: bool = False
    stop: bool = False
    rows: _core.Tokens | None = None  # attributes of transitions
    weighted: _core.Pairs | None = None  # the pairs of such an attribute and a tuple that have a weight


@dataclass
class FeatureTable(FeatureMap[_core.Tokens, _core.Structure]):
    """One weight per pair of an attribute and a column (label, node).

    The weights of an attribute are contiguous, in the order of the columns.

    Parameters
    ----------
    pairs : which pairs have a weight: "observed" or "all".
    hash_bits : hash names to this many bits; 0 stores the names.
    """

    name = "table"

    pairs: str = "observed"
    hash_bits: int = 0

    encoder: RowEncoder = field(init=False, repr=False)
    weighted: _core.Pairs | None = field(default=None, init=False, repr=False)  # which pairs have a weight

    def __post_init__(self) -> None:
        if self.pairs not in PAIRS:
            raise unknown("weights", self.pairs, PAIRS)
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)
        self.encoder = RowEncoder(self.hash_bits)

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.weighted is not None

    @property
    def height(self) -> int:
        """The number of rows of the table, which is the number of attributes."""
        return self.encoder.attributes

    @property
    def size(self) -> int:
        """The number of weights."""
        return 0 if self.weighted is None else self.weighted.size

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> _core.Tokens:
        """One row per example."""
        return self.encoder.encode(examples.attributes, single=True, grow=grow, threads=threads)

    def encode_tokens(self, X: Any, *, grow: bool, threads: int = 1) -> _core.Tokens:
        """One row per token of each sequence."""
        return self.encoder.encode(X, single=False, grow=grow, threads=threads)

    def merge(self, other: Self) -> NDArray[np.int32] | None:
        """Add the other shard's names and pairs."""
        numbers = self.encoder.merge(other.encoder)
        if other.weighted is not None:
            if numbers is not None and (numbers != np.arange(len(numbers))).any():
                raise MargraveError("shards must share their names before they learn which weights exist.")
            self._add(other.weighted)
        return numbers

    def renumber(self, rows: _core.Tokens, numbers: NDArray[np.int32] | None) -> _core.Tokens:
        """Rows of a shard with the numbers of the joint names."""
        return rows if numbers is None else rows.renumbered(numbers)

    def learn(self, rows: _core.Tokens, bound: _core.Structure) -> None:
        """Learn the pairs of attributes of rows and gold parts of their examples."""
        self.learn_columns(rows, bound.columns, *bound.gold_parts())

    def learn_columns(
        self, rows: _core.Tokens, width: int, seen_begin: NDArray[np.int64], seen: NDArray[np.int32]
    ) -> None:
        """The same, for given columns of each row."""
        if self.pairs == "all":
            self.weighted = _core.Pairs(self.height, width)
        else:
            self._add(_core.observed_pairs(rows, self.height, width, seen_begin, seen))

    def _add(self, pairs: _core.Pairs) -> None:
        self.weighted = pairs if self.weighted is None else self.weighted.union(pairs)

    def map(
        self,
        rows: _core.Tokens,
        bound: _core.Structure,
        *,
        training: bool = False,
        transitions: Transitions | None = None,
    ) -> _core.Features:
        """The core's table of these rows, with the transitions of a chain if there are any."""
        self.check_width(bound.columns)
        return self.map_columns(rows, training=training, transitions=transitions)

    def map_columns(
        self, rows: _core.Tokens, *, training: bool = False, transitions: Transitions | None = None
    ) -> _core.Features:
        """The same, for columns that can differ from those of the structure."""
        assert self.weighted is not None
        more = transitions or Transitions()
        settings = more.gram_weight, more.gram_weights, more.order, more.tied, more.scale, more.start, more.stop
        return _core.table(rows, self.weighted, *settings, more.rows, more.weighted)

    def check_width(self, width: int) -> None:
        """Refuse a table that was learned for other columns, or whose parts are inconsistent."""
        pairs = self.weighted
        if pairs is None:
            raise MargraveError("features are learned from labeled examples, and there are no labels.")
        if pairs.labels != width or pairs.attributes != self.height:
            raise MargraveError(
                f"the features were learned for {pairs.attributes} attributes and {pairs.labels} columns, and "
                f"there are {self.height} and {width}."
            )

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes with the largest weights for each column."""
        assert self.weighted is not None
        names = self.encoder.names()
        if not self.weighted.packed:
            by_column = w[: self.size].reshape(-1, self.weighted.labels).T
            return {column: largest(names, by_column[k], n) for k, column in enumerate(columns)}
        begin, column_of = self.weighted.arrays()
        attribute = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        found: dict[Any, Ranked] = {}
        for k, column in enumerate(columns):
            mine = np.flatnonzero(column_of == k)
            ranked = largest(attribute[mine].tolist(), w[mine], n)
            found[column] = [(names[number], weight) for number, weight in ranked]
        return found

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of the attributes, each for every column that it has a weight for."""
        return [self.block("attribute", columns)]

    def block(self, group: str, columns: Sequence[Any]) -> Block:
        """The same as one block of this group."""
        assert self.weighted is not None
        names = self.encoder.names()
        if not self.weighted.packed:
            return Block.table(group, names, columns)
        begin, column = self.weighted.arrays()
        return Block(
            group, names, columns, np.repeat(np.arange(len(begin) - 1), np.diff(begin)), column.astype(np.int64)
        )

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The table without pairs and names whose weights are all zero.

        No rows are removed for hashed attributes and numbered columns; with all pairs, only whole rows are removed.
        """
        assert self.weighted is not None
        pairs = self.weighted
        if pairs.packed:
            begin, column = pairs.arrays()
            counts = np.diff(np.concatenate([[0], np.cumsum(w != 0)])[begin])  # the remaining pairs of each attribute
        else:
            counts = np.count_nonzero(w.reshape(-1, pairs.labels), axis=1)
        named = self.encoder.vocabulary is not None
        kept = counts > 0 if named else np.ones(len(counts), dtype=np.bool_)
        encoder = self.encoder.subset(kept)
        if not pairs.packed:
            smaller = self.copied(encoder=encoder, weighted=_core.Pairs(int(kept.sum()), pairs.labels))
            return smaller, w.reshape(-1, pairs.labels)[kept].ravel()
        begin = np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int64)
        return self.copied(encoder=encoder, weighted=_core.Pairs(pairs.labels, begin, column[w != 0])), w[w != 0]

    def state(self) -> dict[str, Any]:
        """The names and the pairs."""
        pairs: dict[str, Any] | None = None
        if self.weighted is not None:
            kept = self.weighted
            pairs = {"attributes": kept.attributes, "labels": kept.labels}
            if kept.packed:
                pairs["begin"], pairs["column"] = kept.arrays()
        return {"encoder": self.encoder, "pairs": pairs}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.encoder = state["encoder"]
        if not isinstance(self.encoder, RowEncoder) or self.encoder.hash_bits != self.hash_bits:
            raise MargraveError("its encoder does not belong to its table.")
        pairs = state["pairs"]
        if pairs is None:
            return
        if "begin" in pairs:
            begin, column = vector(pairs["begin"], np.int64, "pairs"), vector(pairs["column"], np.uint16, "pairs")
            self.weighted = _core.Pairs(pairs["labels"], begin, column)
        else:
            self.weighted = _core.Pairs(pairs["attributes"], pairs["labels"])


def hash_bits_of(weights: str) -> int:
    """The number of hash bits of `"hash:BITS"`, and 0 for `"all"`: for maps that give every attribute its weights."""
    if not isinstance(weights, str) or weights == "observed":
        raise unknown("weights", weights, ["all", "hash:18"])
    return table_named(weights).hash_bits


def table_named(weights: str | FeatureTable, kernel: FeatureTable | None = None) -> FeatureTable:
    """Return a new table from `"observed"`, `"all"`, `"hash:BITS"` or a table's settings, or from a kernel if given.

    >>> table_named("hash:18").hash_bits
    18
    """
    if kernel is not None:
        if not isinstance(kernel, FeatureTable):
            raise MargraveError(f"kernel must be a Kernel, not {type(kernel).__name__}.")
        return kernel.fresh()
    if isinstance(weights, FeatureTable):
        return weights.fresh()
    name, _, bits = str(weights).partition(":")
    count = natural(bits)
    if name == "hash" and count is not None and 1 <= count <= 30:
        return FeatureTable("all", count)
    if bits or name not in PAIRS:
        raise unknown("weights", weights, [*PAIRS, "hash:18"])
    return FeatureTable(name)
