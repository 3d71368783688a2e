"""Features of constituent trees: one weight per rule, and hashed attributes of labeled spans and splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.named import Block


class SpanRows(NamedTuple):
    """Sentences for the map: their numbers of words and, with templates, the values of their words."""

    words: NDArray[np.int64]
    attributes: _core.TreeAttributes | None

    @property
    def example_begin(self) -> NDArray[np.int64]:
        """Where the words of each sentence begin."""
        return np.concatenate([[0], np.cumsum(self.words)]).astype(np.int64)


@dataclass
class SpanMap(FeatureMap[SpanRows, _core.ConstituentStructure]):
    """One weight per rule of the grammar and, with templates, per attribute and label of a span and per split.

    Parameters
    ----------
    hash_bits : attributes are hashed to this many bits; 0 if there are none, so that rules alone have weights.
    rules : the names of the rules, which the grammar tells.
    """

    name = "spans"

    hash_bits: int = 0
    rules: Sequence[str] = ()

    trained: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self.hash_bits = whole("the number of hash bits", self.hash_bits, 0, 30)
        self.rules = [str(rule) for rule in self.rules]

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.trained

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> SpanRows:
        """The sentences: what `SpanTemplates` make of them, or lists of words."""
        X = examples.attributes
        if isinstance(X, _core.TreeAttributes):
            return SpanRows(X.words, X)
        if self.hash_bits and isinstance(X, list) and not X:
            table = _core.ColumnTable()
            return SpanRows(
                np.zeros(0, np.int64), _core.TreeTemplates([], [], -1).attributes(table, -1, lambda name, values: [])
            )
        if self.hash_bits:
            raise MargraveError("features of spans take what SpanTemplates make of sentences.")
        return SpanRows(np.array([len(words) for words in X], dtype=np.int64), None)

    def merge(self, other: Self) -> None:
        """Nothing is numbered: rules are those of the grammar, and attributes are hashed."""

    def renumber(self, rows: SpanRows, numbers: None) -> SpanRows:
        """The same rows."""
        return rows

    def learn(self, rows: SpanRows, bound: _core.ConstituentStructure) -> None:
        """All rules and attributes have weights."""
        self.trained = True

    def map(self, rows: SpanRows, bound: _core.ConstituentStructure, *, training: bool = False) -> _core.SpanMap:
        """The core's map of these trees."""
        return _core.span_map(bound, rows.attributes if self.hash_bits else None, self.hash_bits)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The rules with the largest absolute weights; hashed attributes have no names."""
        return {"rule": largest(self.rules, w[: len(self.rules)], n, by_size=True)}

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of the rules; the hashed attributes behind them have no names."""
        return [Block.of_features("rule", self.rules)]

    def state(self) -> dict[str, Any]:
        """Whether they are learned."""
        return {"trained": self.trained}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        self.trained = flag("trained", state["trained"])
