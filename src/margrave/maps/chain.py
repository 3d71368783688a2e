"""The feature map of chains (003, Eq. 13): attributes of tokens, label tuples, start, stop, attributes of transitions.

The order of the weights is: (attribute, label) pairs, label tuples, start, stop, (transition attribute, tuple) pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.files.stored import vector
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.mercer import Kernel
from margrave.maps.named import Block
from margrave.maps.table import FeatureTable, Transitions


@dataclass
class ChainRows:
    """Rows of all tokens, and rows of the transitions into them if transitions have attributes."""

    tokens: _core.Tokens
    edges: _core.Tokens | None = None

    @property
    def example_begin(self) -> NDArray[np.int64]:
        """The index of the first token of each sequence."""
        return self.tokens.example_begin


@dataclass
class ChainMap(FeatureMap[ChainRows, _core.ChainStructure]):
    """The features of label sequences.

    Every label tuple has one weight; whether these are the observed tuples or all of them is decided by `tokens.pairs`.

    Parameters
    ----------
    tokens : the map of the tokens' attributes, a table or a kernel.
    start, stop : whether the labels of the first and the last position have additional weights.
    scale : the factor on the features of transitions.
    """

    name = "chain"

    tokens: FeatureTable = field(default_factory=FeatureTable)
    start: bool = False
    stop: bool = False
    scale: float = 1.0

    edges: FeatureTable | None = field(default=None, init=False, repr=False)  # the table of transition attributes
    gram_weight: NDArray[np.int64] = field(init=False, repr=False)  # the index of each tuple's weight, or -1
    _counted: tuple[Any, int] = field(default=(None, 0), init=False, repr=False, compare=False)  # see gram_weights

    def __post_init__(self) -> None:
        if isinstance(self.tokens, Kernel) and self.tokens.function == "precomputed":
            raise MargraveError("a precomputed kernel cannot be used with sequences: choose another kernel.")
        self.start, self.stop = flag("start", self.start), flag("stop", self.stop)
        rule = "be finite and not negative"
        self.scale = real("the scale of transitions", self.scale, rule, lambda scale: 0 <= scale < np.inf)
        self.gram_weight = np.zeros(0, dtype=np.int64)

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.tokens.learned

    @property
    def gram_weights(self) -> int:
        """How many label tuples have a weight; counted once for each array, as predictions ask for it in every call."""
        if self._counted[0] is not self.gram_weight:
            self._counted = self.gram_weight, int(self.gram_weight.max(initial=-1)) + 1
        return self._counted[1]

    def fresh(self) -> Self:
        """A copy with the same settings that has not learned anything."""
        return type(self)(self.tokens.fresh(), self.start, self.stop, self.scale)

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> ChainRows:
        """Encode tokens and, if there are `edges` among the extras, the attributes of transitions into them.

        Those of the first token are ignored.
        """
        edges = examples.extra("edges")
        if grow and edges is not None and self.edges is None:
            self.edges = self._edge_table()
        if edges is not None and self.edges is None:
            raise MargraveError("the model was trained without transition attributes: do not pass edges=.")
        if edges is None and self.edges is not None:
            raise MargraveError("the model was trained with transition attributes: pass edges=.")
        tokens = self.tokens.encode_tokens(examples.attributes, grow=grow, threads=threads)
        if edges is None:
            return ChainRows(tokens)
        assert self.edges is not None
        edge_rows = self.edges.encode_tokens(edges, grow=grow, threads=threads)
        if not np.array_equal(edge_rows.example_begin, tokens.example_begin):
            raise MargraveError("there must be transition attributes for every token.")
        return ChainRows(tokens, edge_rows)

    def merge(self, other: Self) -> tuple[Any, Any]:
        """Add the other shard's names, pairs and tuples."""
        numbers = self.tokens.merge(other.tokens)
        edge_numbers = None
        if other.edges is not None:
            self.edges = self.edges or self._edge_table()
            edge_numbers = self.edges.merge(other.edges)
        if len(other.gram_weight):
            self._add_grams(len(other.gram_weight), np.flatnonzero(other.gram_weight >= 0))
        return numbers, edge_numbers

    def renumber(self, rows: ChainRows, numbers: tuple[Any, Any]) -> ChainRows:
        """Rows of a shard with the numbers of the joint names."""
        tokens = self.tokens.renumber(rows.tokens, numbers[0])
        if rows.edges is None or self.edges is None:
            return ChainRows(tokens)
        return ChainRows(tokens, self.edges.renumber(rows.edges, numbers[1]))

    def learn(self, rows: ChainRows, bound: _core.ChainStructure) -> None:
        """Decide which pairs and tuples get weights, based on the gold parts; only the structure can number tuples."""
        labels, grams = bound.gold_labels(), bound.gram_parts
        self.tokens.learn_columns(rows.tokens, bound.columns, np.arange(len(labels) + 1, dtype=np.int64), labels)
        begin, seen = bound.gold_tuples()
        self._add_grams(grams, np.unique(seen))
        if rows.edges is not None:
            assert self.edges is not None
            self.edges.learn_columns(rows.edges, grams, begin, seen)

    def map(self, rows: ChainRows, bound: _core.ChainStructure, *, training: bool = False) -> _core.Features:
        """The core's map of these sequences."""
        if not self.learned:
            raise MargraveError("features are learned from labeled sequences, and there are no labels.")
        if not isinstance(bound, _core.ChainStructure):
            raise MargraveError("features of chains need a chain, and this is another structure.")
        if self.edges is not None:
            self.edges.check_width(bound.gram_parts)
        self.tokens.check_width(bound.columns)
        if len(self.gram_weight) != bound.gram_parts:
            raise MargraveError(
                f"the features were learned for {len(self.gram_weight)} label tuples, not {bound.gram_parts}."
            )
        transitions = Transitions(
            self.gram_weight,
            self.gram_weights,
            bound.order,
            bound.tied,
            float(self.scale),
            self.start,
            self.stop,
            rows.edges,
            None if self.edges is None else self.edges.weighted,
        )
        return self.tokens.map(rows.tokens, bound, training=training, transitions=transitions)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes of tokens with the largest weights for each label."""
        return self.tokens.top(w[: self.tokens.size], columns, n)

    def top_transitions(
        self, w: Weights, tuples: Sequence[tuple[Any, ...]], n: int
    ) -> list[tuple[tuple[Any, ...], float]]:
        """The n label tuples with the largest absolute weights."""
        weights = w[self.tokens.size : self.tokens.size + self.gram_weights]
        kept = np.flatnonzero(self.gram_weight >= 0)
        named = [tuples[k] for k in kept[np.argsort(self.gram_weight[kept])].tolist()]
        return largest(named, weights, n, by_size=True)

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of tokens, transitions, starts, stops and attributes of transitions."""
        found = [self.tokens.block("token", columns), transition_block(self.gram_weight, tuples)]
        found += [Block.of_labels("start", columns)] * self.start + [Block.of_labels("stop", columns)] * self.stop
        return found if self.edges is None else [*found, self.edges.block("edge", tuples)]

    def compact(self, w: Weights) -> tuple[Self, Weights]:
        """The features without anything that prediction does not need, such as support inputs without a coefficient."""
        at = self.tokens.size
        tokens, of_tokens = self.tokens.compact(w[:at])
        return self.copied(tokens=tokens), np.concatenate([of_tokens, w[at:]])

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The features without pairs, tuples and names whose weights are all zero; start and stop do not change."""
        grams_at = self.tokens.size
        rest_at = grams_at + self.gram_weights
        edges_at = len(w) - (0 if self.edges is None else self.edges.size)
        tokens, of_tokens = self.tokens.without_zeros(w[:grams_at])
        gram_weight, of_grams = nonzero_grams(self.gram_weight, w[grams_at:rest_at])
        smaller, of_edges = self.copied(tokens=tokens, gram_weight=gram_weight), w[edges_at:]
        if self.edges is not None:
            smaller.edges, of_edges = self.edges.without_zeros(of_edges)
        return smaller, np.concatenate([of_tokens, of_grams, w[rest_at:edges_at], of_edges])

    def state(self) -> dict[str, Any]:
        """The indices of the tuples' weights, and the table of transitions."""
        return {"gram_weight": self.gram_weight, "edges": self.edges}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        weight, edges = state["gram_weight"], state["edges"]
        if edges is not None and not isinstance(edges, FeatureTable):
            raise MargraveError("the attributes of its transitions must be a table.")
        self.gram_weight, self.edges = stored_numbers(weight, "weights of label tuples"), edges

    def _edge_table(self) -> FeatureTable:
        """A table for the attributes of transitions, with the same settings as that of tokens."""
        return FeatureTable(self.tokens.pairs, self.tokens.hash_bits)

    def _add_grams(self, grams: int, seen: NDArray[Any]) -> None:
        """Give weights to these tuples, or to all of them, in addition to those that already have one."""
        has_weight = np.zeros(grams, dtype=np.bool_)
        has_weight[: len(self.gram_weight)] = self.gram_weight >= 0
        has_weight[slice(None) if self.tokens.pairs == "all" else seen] = True
        self.gram_weight = np.full(grams, -1, dtype=np.int64)
        self.gram_weight[has_weight] = np.arange(int(has_weight.sum()))


def stored_numbers(value: Any, what: str) -> NDArray[np.int64]:
    """The numbers of the weights of label tuples, as a file holds them: 0, 1, 2, ... in any order, and -1 for none."""
    numbers = np.array(vector(value, np.int64, what))
    given = np.sort(numbers[numbers >= 0])
    if numbers.min(initial=-1) < -1 or not np.array_equal(given, np.arange(len(given))):
        raise MargraveError(f"the numbers of its {what} must be 0, 1, 2, ... in any order, and -1 for none.")
    return numbers


def transition_block(weight: NDArray[np.int64], tuples: Sequence[Any]) -> Block:
    """The names of the weights of label tuples: the labels before, and the last label."""
    place = np.flatnonzero(weight >= 0)
    kept = [tuples[k] for k in place[np.argsort(weight[place])].tolist()]
    before = [labels[0] if len(labels) == 2 else labels[:-1] for labels in kept]
    row, column = ({name: k for k, name in enumerate(dict.fromkeys(of))} for of in (before, [of[-1] for of in kept]))
    rows = np.array([row[name] for name in before], dtype=np.int64)
    columns = np.array([column[labels[-1]] for labels in kept], dtype=np.int64)
    return Block("transition", list(row), list(column), rows, columns)


def nonzero_grams(gram_weight: NDArray[np.int64], w: Weights) -> tuple[NDArray[np.int64], Weights]:
    """The numbers of the weights of label tuples, -1 for those of zeros, and the weights that are not zero."""
    has_weight = gram_weight >= 0
    kept = np.zeros(len(w), dtype=np.bool_)
    kept[gram_weight[has_weight]] = True
    kept &= w != 0
    renumbered = np.full_like(gram_weight, -1)
    renumbered[has_weight] = np.where(kept, np.cumsum(kept) - 1, -1)[gram_weight[has_weight]]
    return renumbered, w[kept]
