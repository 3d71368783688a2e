"""Attribute x label tables: what a token's attributes say about its label (003, Eq. 13).

Attributes come as lists of strings, as dictionaries from names to numbers, or as dense or sparse vectors. `"observed"`
keeps a weight for each pair of attribute and label that occurs in training, `"all"` for every pair, and hashing maps
names to a fixed number of rows without keeping them.
"""

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError, unknown

PAIRS = ("observed", "all")


@dataclass
class RowEncoder:
    """Turns one kind of attributes into rows of numbers; the first call decides the kind and learns the names."""

    hash_bits: int = 0
    kind: str | None = None  # "names", "hashed" or "columns"
    vocabulary: _core.Vocabulary | None = None
    columns: int = 0

    @property
    def attributes(self) -> int:
        """The number of rows that a table needs."""
        if self.kind == "names":
            return len(self.vocabulary) if self.vocabulary is not None else 0
        return 1 << self.hash_bits if self.kind == "hashed" else self.columns

    def encode(self, X: Any, *, single: bool, learn: bool, unit: str = "token") -> _core.Tokens:
        """Rows of all tokens of X; `single` if every example is one token, `unit` is what errors call a token."""
        if not learn and isinstance(X, list | tuple) and len(X) == 0:
            return _core.Tokens(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(0, np.int32), None)
        kind = "columns" if _has_columns(X, single) else "hashed" if self.hash_bits else "names"
        if learn:
            self.kind = kind
            self.vocabulary = _core.Vocabulary() if kind == "names" else None
        elif kind != self.kind:
            raise MargraveError(
                f"the model was trained on {_KINDS[str(self.kind)]}, and this input has {_KINDS[kind]}."
            )
        if kind != "columns":
            return _core.encode(X, self.vocabulary, learn, self.hash_bits if kind == "hashed" else 0, single, unit)
        begin, rows = _stack(X, single)
        if learn:
            self.columns = rows.shape[1]
        elif rows.shape[1] != self.columns:
            raise MargraveError(
                f"the model was trained on vectors of length {self.columns}, and these have {rows.shape[1]}."
            )
        if rows.shape[1] > _MOST_COLUMNS:
            raise MargraveError(f"vectors may have {_MOST_COLUMNS} columns at most, and these have {rows.shape[1]}.")
        if isinstance(rows, np.ndarray):
            return _core.dense_rows(rows, begin, single, unit)
        return _core.Tokens(begin, rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)


_MOST_COLUMNS = 2**31 - 1  # which are numbered in 32 bits
_KINDS = {"columns": "vectors", "names": "named attributes", "hashed": "named attributes"}


def _has_columns(X: Any, single: bool) -> bool:
    if hasattr(X, "shape"):
        return True
    return not single and isinstance(X, list | tuple) and len(X) > 0 and hasattr(X[0], "shape")


def _stack(X: Any, single: bool) -> tuple[NDArray[np.int64], Any]:
    """Where examples begin, and all rows as one dense or CSR matrix."""
    from scipy.sparse import csr_array, issparse, vstack

    def as_rows(x: Any, where: str) -> Any:
        try:
            rows = csr_array(x, dtype=np.float64) if issparse(x) else np.ascontiguousarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise MargraveError(f"{where}vectors must be arrays of numbers, not {type(x).__name__}.") from None
        if rows.ndim != 2:
            raise MargraveError(f"{where}vectors must come as a two-dimensional array, not with shape {rows.shape}.")
        if issparse(rows) and not np.isfinite(rows.data).all():
            raise MargraveError(f"{where}values must be finite, and there is a NaN or an infinite one.")
        return rows

    if single:
        rows = as_rows(X, "")
        return np.arange(rows.shape[0] + 1, dtype=np.int64), rows
    blocks = [as_rows(x, f"example {i}: ") for i, x in enumerate(X)]
    width = blocks[0].shape[1]
    for i, block in enumerate(blocks):
        if block.shape[1] != width:
            raise MargraveError(f"example {i} has vectors of length {block.shape[1]}, and example 0 of {width}.")
    begin = np.concatenate([[0], np.cumsum([block.shape[0] for block in blocks])]).astype(np.int64)
    dense = all(isinstance(block, np.ndarray) for block in blocks)
    return begin, np.concatenate(blocks) if dense else csr_array(vstack(blocks))


@dataclass
class AttributeTable:
    """The weights of attributes with labels, of label tuples, and of transition attributes with tuples.

    Weights lie in this order: (attribute, label) pairs, label tuples, start, stop, (transition attribute, tuple) pairs.
    """

    pairs: str = "observed"
    hash_bits: int = 0

    tokens: RowEncoder = field(init=False, repr=False)
    edges: RowEncoder = field(init=False, repr=False)
    token_pairs: _core.Pairs | None = field(default=None, init=False, repr=False)
    edge_pairs: _core.Pairs | None = field(default=None, init=False, repr=False)
    gram_weight: NDArray[np.int64] = field(init=False, repr=False)  # of each tuple: the number of its weight, or -1

    def __post_init__(self) -> None:
        if self.pairs not in PAIRS:
            raise unknown("features", self.pairs, PAIRS)
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)
        self.tokens = RowEncoder(self.hash_bits)
        self.edges = RowEncoder(self.hash_bits)
        self.gram_weight = np.zeros(0, dtype=np.int64)

    @property
    def learned(self) -> bool:
        """Whether a training set has settled which weights there are."""
        return self.token_pairs is not None

    @property
    def gram_weights(self) -> int:
        """How many label tuples have a weight."""
        return int(self.gram_weight.max(initial=-1)) + 1

    @property
    def token_rows(self) -> int:
        """The number of rows that the table of tokens needs."""
        return self.tokens.attributes

    @property
    def token_weights(self) -> int:
        """How many weights tokens have: the first of all."""
        return 0 if self.token_pairs is None else self.token_pairs.size

    def fresh(self) -> "AttributeTable":
        """The same settings, nothing learned."""
        return AttributeTable(self.pairs, self.hash_bits)

    def check_fit(self, labels: int, grams: int) -> None:
        """Refuses features that were learned for other labels or tuples, or whose parts do not belong together."""
        for pairs, attributes, width in (
            (self.token_pairs, self.token_rows, labels),
            (self.edge_pairs, self.edges.attributes, grams),
        ):
            if pairs is not None and (pairs.labels != width or pairs.attributes != attributes):
                raise MargraveError(
                    f"the features were learned for {pairs.attributes} attributes and {pairs.labels} columns, and "
                    f"there are {attributes} and {width}."
                )
        if len(self.gram_weight) != grams:
            raise MargraveError(f"the features were learned for {len(self.gram_weight)} label tuples, not {grams}.")

    def learn_pairs(
        self,
        rows: _core.Tokens,
        encoder: RowEncoder,
        width: int,
        seen_begin: NDArray[np.int64],
        seen: NDArray[np.int32],
    ) -> _core.Pairs:
        """The pairs to keep, given for each token the labels (or tuples) that it is seen with."""
        if self.pairs == "all":
            return _core.Pairs(encoder.attributes, width)
        return _core.observed_pairs(rows, encoder.attributes, width, seen_begin, seen)

    def learn_tokens(
        self, rows: _core.Tokens, width: int, seen_begin: NDArray[np.int64], seen: NDArray[np.int32]
    ) -> None:
        """The pairs of tokens' attributes and labels to keep."""
        self.token_pairs = self.learn_pairs(rows, self.tokens, width, seen_begin, seen)

    def learn_grams(self, grams: int, seen: NDArray[np.int32]) -> None:
        """Which label tuples get a weight: those seen, or all."""
        self.gram_weight = np.full(grams, -1, dtype=np.int64)
        kept = np.arange(grams) if self.pairs == "all" else np.unique(seen)
        self.gram_weight[kept] = np.arange(len(kept))

    def map(
        self,
        rows: _core.Tokens,
        *,
        training: bool,
        order: int = 0,
        tied: bool = True,
        scale: float = 1.0,
        start: bool = False,
        stop: bool = False,
        edges: _core.Tokens | None = None,
    ) -> _core.Features:
        """The feature map of these rows (`training`: those it was learned from); the rest is as in `Chain`."""
        assert self.token_pairs is not None
        grams = self.gram_weight, self.gram_weights, order, tied, scale
        return _core.table(rows, self.token_pairs, *grams, start, stop, edges, self.edge_pairs)

    def compact(self, w: NDArray[np.float64]) -> tuple["AttributeTable", NDArray[np.float64]]:
        """The features and weights without what prediction has no use for."""
        return self, w

    def without_zeros(self, w: NDArray[np.float64]) -> tuple["AttributeTable", NDArray[np.float64]]:
        """The features and weights without pairs, tuples and names whose weights are all zero; scores stay the same.

        Tables of hashed attributes and of columns keep their rows, and those of all pairs whole rows; start and stop
        keep their places.
        """
        assert self.token_pairs is not None
        smaller = copy(self)
        grams_at = self.token_pairs.size
        rest_at = grams_at + self.gram_weights
        edges_at = len(w) - (0 if self.edge_pairs is None else self.edge_pairs.size)
        smaller.tokens, smaller.token_pairs, of_tokens = _nonzero_pairs(self.tokens, self.token_pairs, w[:grams_at])
        smaller.gram_weight, of_grams = _nonzero_grams(self.gram_weight, w[grams_at:rest_at])
        of_edges = w[edges_at:]
        if self.edge_pairs is not None:
            smaller.edges, smaller.edge_pairs, of_edges = _nonzero_pairs(self.edges, self.edge_pairs, of_edges)
        return smaller, np.concatenate([of_tokens, of_grams, w[rest_at:edges_at], of_edges])

    def to_file(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """What a model file keeps of it, beside encoders and pairs: settings by name, and arrays."""
        return {"pairs": self.pairs, "hash_bits": self.hash_bits}

    @classmethod
    def from_file(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """What `to_file` kept."""
        return cls(header["pairs"], header["hash_bits"])


def _nonzero_pairs(
    encoder: RowEncoder, pairs: _core.Pairs, w: NDArray[np.float64]
) -> tuple[RowEncoder, _core.Pairs, NDArray[np.float64]]:
    """The pairs with a weight that is not zero, the encoder of their attributes, and the weights."""
    if pairs.packed:
        begin, column = pairs.arrays()
        counts = np.diff(np.concatenate([[0], np.cumsum(w != 0)])[begin])  # of each attribute: the pairs that stay
    else:
        counts = np.count_nonzero(w.reshape(-1, pairs.labels), axis=1)
    vocabulary = encoder.vocabulary
    kept = counts > 0 if vocabulary is not None else np.ones(len(counts), dtype=np.bool_)
    if vocabulary is not None:
        encoder = replace(encoder, vocabulary=_named(vocabulary, kept))
    if not pairs.packed:
        return encoder, _core.Pairs(int(kept.sum()), pairs.labels), w.reshape(-1, pairs.labels)[kept].ravel()
    begin = np.concatenate([[0], np.cumsum(counts[kept])]).astype(np.int64)
    return encoder, _core.Pairs(pairs.labels, begin, column[w != 0]), w[w != 0]


def _named(vocabulary: _core.Vocabulary, kept: NDArray[np.bool_]) -> _core.Vocabulary:
    """The names that are kept, in the same order."""
    text, offsets = vocabulary.arrays()
    lengths = np.diff(offsets)
    return _core.Vocabulary(
        text[np.repeat(kept, lengths)], np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64)
    )


def _nonzero_grams(
    gram_weight: NDArray[np.int64], w: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The numbers of the weights of label tuples, -1 for those of zeros, and the weights that are not zero."""
    has_weight = gram_weight >= 0
    kept = np.zeros(len(w), dtype=np.bool_)
    kept[gram_weight[has_weight]] = True
    kept &= w != 0
    renumbered = np.full_like(gram_weight, -1)
    renumbered[has_weight] = np.where(kept, np.cumsum(kept) - 1, -1)[gram_weight[has_weight]]
    return renumbered, w[kept]


def features_named(features: str | AttributeTable) -> AttributeTable:
    """Fresh features from `"observed"`, `"all"`, `"hash:BITS"`, or the settings of a table or a kernel.

    >>> features_named("hash:18").hash_bits
    18
    """
    if isinstance(features, AttributeTable):
        return features.fresh()
    name, _, bits = str(features).partition(":")
    if name == "hash" and bits.isdecimal() and 1 <= int(bits) <= 30:
        return AttributeTable("all", int(bits))
    if bits or name not in PAIRS:
        raise unknown("features", features, [*PAIRS, "hash:18"])
    return AttributeTable(name)
