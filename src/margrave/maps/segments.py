"""The feature map of labeled segmentations.

Tokens have attributes as in chains, with one weight per attribute and tag: a segment scores the sum of the scores of
its tokens under the tags that it gives them. Segments may have attributes of their own, with one weight per attribute
and label. The order of the weights is: (attribute, tag) pairs, pairs of labels, start, stop, (segment attribute, label)
pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, real, whole
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.features.segments import SegmentTemplates
from margrave.maps.base import FeatureMap, Ranked, Weights, largest
from margrave.maps.chain import nonzero_grams, stored_numbers, transition_block
from margrave.maps.mercer import Kernel
from margrave.maps.named import Block
from margrave.maps.rows import RowEncoder
from margrave.maps.table import FeatureTable


@dataclass
class SegmentRows:
    """Rows of all tokens, and rows of all spans if segments have attributes."""

    tokens: _core.Tokens
    spans: _core.Tokens | None = None

    @property
    def example_begin(self) -> NDArray[np.int64]:
        """The index of the first token of each sequence."""
        return self.tokens.example_begin


@dataclass
class SegmentMap(FeatureMap[SegmentRows, _core.SemiMarkovStructure]):
    """The features of labeled segmentations.

    Parameters
    ----------
    tokens : the table of the tokens' attributes.
    labels, longest : the labels of segments, and the length of the longest ones.
    templates : the templates of the segments' own attributes; None if they have none. With observed pairs, the names
        of the segments in the training data are stored.
    start, stop : whether the labels of the first and the last segment have additional weights.
    scale : the factor on the features of pairs of labels.
    """

    name = "segments"

    tokens: FeatureTable = field(default_factory=FeatureTable)
    labels: list[str] = field(default_factory=list)
    longest: int = 1
    templates: SegmentTemplates | None = None
    start: bool = False
    stop: bool = False
    scale: float = 1.0

    spans: FeatureTable | None = field(default=None, init=False, repr=False)  # the table of segments' attributes
    pair_weight: NDArray[np.int64] = field(init=False, repr=False)  # the index of each pair's weight, or -1
    edges: None = field(default=None, init=False, repr=False)  # transitions have no attributes

    def __post_init__(self) -> None:
        if not isinstance(self.tokens, FeatureTable) or isinstance(self.tokens, Kernel):
            raise MargraveError("segments need features with one weight per attribute and tag, not a kernel.")
        if self.templates is not None and not isinstance(self.templates, SegmentTemplates):
            raise MargraveError("the templates of segments must be a SegmentTemplates object.")
        self.longest = whole("longest", self.longest, 1, 1_000_000)
        self.start, self.stop = flag("start", self.start), flag("stop", self.stop)
        rule = "be finite and not negative"
        self.scale = real("the scale of transitions", self.scale, rule, lambda scale: 0 <= scale < np.inf)
        self.pair_weight = np.zeros(0, dtype=np.int64)
        if self.templates is not None:
            self.spans = self._span_table()

    @property
    def learned(self) -> bool:
        """Whether a training set has decided which weights exist."""
        return self.tokens.learned

    @property
    def pair_weights(self) -> int:
        """How many pairs of labels have a weight."""
        return int(self.pair_weight.max(initial=-1)) + 1

    def fresh(self) -> Self:
        """A copy with the same settings that has not learned anything."""
        settings = self.labels, self.longest, self.templates, self.start, self.stop, self.scale
        return type(self)(self.tokens.fresh(), *settings)

    def encode(self, examples: Examples, *, grow: bool, threads: int = 1) -> SegmentRows:
        """Encode tokens, and with templates all spans of the tokens' `texts`, which are among the extras.

        With `grow`, the extra `segments` has for each sequence the segments whose attributes get numbers; longer ones
        do not.
        """
        tokens = self.tokens.encode_tokens(examples.attributes, grow=grow, threads=threads)
        if self.templates is None or self.spans is None:
            return SegmentRows(tokens)
        texts, sizes = examples.extra("texts"), np.diff(tokens.example_begin)
        if texts is None or [len(of) for of in texts] != sizes.tolist():
            raise MargraveError("templates of segments need the text of every token.")
        encoder = self.spans.encoder
        if grow and encoder.form is None:
            encoder.form = "hashed" if encoder.hash_bits else "names"
            encoder.vocabulary = None if encoder.hash_bits else _core.Vocabulary()
        growing = self._flags(sizes, examples.extra("segments")) if grow and encoder.vocabulary is not None else None
        spans = self.templates.rows(texts, self.longest, encoder.vocabulary, encoder.hash_bits, growing)
        return SegmentRows(tokens, spans)

    def _flags(self, sizes: NDArray[np.int64], segments_of: Any) -> NDArray[np.bool_]:
        """Which spans are segments of the given outputs."""
        counts = self._span_counts(sizes)
        flags = np.zeros(int(counts.sum()), dtype=np.bool_)
        for at, segments in zip((np.cumsum(counts) - counts).tolist(), segments_of, strict=True):
            for start, end in segments:
                if end - start > self.longest:
                    continue
                flags[at + span_number(start, end, self.longest)] = True
        return flags

    def _span_counts(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        short = np.minimum(sizes, self.longest)
        counts: NDArray[np.int64] = short * (short + 1) // 2 + (sizes - short) * self.longest
        return counts

    def merge(self, other: Self) -> tuple[Any, Any]:
        """Add the other shard's names and pairs."""
        numbers = self.tokens.merge(other.tokens)
        span_numbers = None
        if self.spans is not None and other.spans is not None:
            if self.longest != other.longest:
                raise MargraveError("shards with attributes of segments need one max_length for all of them.")
            span_numbers = self.spans.merge(other.spans)
        if len(other.pair_weight):
            self._add_pairs(len(other.pair_weight), np.flatnonzero(other.pair_weight >= 0))
        return numbers, span_numbers

    def renumber(self, rows: SegmentRows, numbers: tuple[Any, Any]) -> SegmentRows:
        """Rows of a shard with the numbers of the joint names."""
        tokens = self.tokens.renumber(rows.tokens, numbers[0])
        if rows.spans is None or self.spans is None:
            return SegmentRows(tokens)
        return SegmentRows(tokens, self.spans.renumber(rows.spans, numbers[1]))

    def learn(self, rows: SegmentRows, bound: _core.SemiMarkovStructure) -> None:
        """Decide which pairs get weights, based on the good outputs."""
        width = bound.labels
        self.tokens.learn_columns(rows.tokens, bound.columns, *bound.good_tags())
        self._add_pairs(width * width, bound.good_pairs())
        if self.spans is not None:
            assert rows.spans is not None
            self.spans.learn_columns(rows.spans, width, *bound.good_spans())

    def map(self, rows: SegmentRows, bound: _core.SemiMarkovStructure, *, training: bool = False) -> _core.Features:
        """The core's map of these sequences."""
        if not self.learned:
            raise MargraveError("features are learned from labeled sequences, and there are no labels.")
        if not isinstance(bound, _core.SemiMarkovStructure):
            raise MargraveError("features of segments need segmentations, and this is another structure.")
        self.tokens.check_width(bound.columns)
        if len(self.pair_weight) != bound.labels**2 or (self.spans is not None and bound.longest != self.longest):
            raise MargraveError("the features were learned for other labels, or for segments of other lengths.")
        tokens: Any = self.tokens.map_columns(rows.tokens)
        spans: Any = None
        if self.spans is not None:
            assert rows.spans is not None
            self.spans.check_width(bound.labels)
            spans = self.spans.map_columns(rows.spans)
        settings = self.pair_weight, self.pair_weights, float(self.scale), self.start, self.stop
        return _core.segment_map(bound, tokens, spans, *settings)

    def top(self, w: Weights, columns: Sequence[Any], n: int) -> dict[Any, Ranked]:
        """The attributes of tokens with the largest weights for each tag, and those of segments for each label."""
        found = self.tokens.top(w[: self.tokens.size], columns, n)
        if self.spans is None:
            return found
        of_segments = self.spans.top(w[len(w) - self.spans.size :], self.labels, n)
        return {**found, **{f"segment {label}": ranked for label, ranked in of_segments.items()}}

    def top_transitions(
        self, w: Weights, tuples: Sequence[tuple[Any, ...]], n: int
    ) -> list[tuple[tuple[Any, ...], float]]:
        """The n pairs of labels with the largest absolute weights."""
        weights = w[self.tokens.size : self.tokens.size + self.pair_weights]
        kept = np.flatnonzero(self.pair_weight >= 0)
        return largest([tuples[k] for k in kept.tolist()], weights, n, by_size=True)

    def blocks(self, columns: Sequence[Any], tuples: Sequence[Any]) -> list[Block]:
        """Those of tokens, transitions, starts, stops and attributes of segments."""
        found = [self.tokens.block("token", columns), transition_block(self.pair_weight, tuples)]
        found += [Block.of_labels("start", self.labels)] * self.start + [
            Block.of_labels("stop", self.labels)
        ] * self.stop
        return found if self.spans is None else [*found, self.spans.block("segment", self.labels)]

    def without_zeros(self, w: Weights) -> tuple[Self, Weights]:
        """The features without pairs and names whose weights are all zero; start and stop do not change."""
        pairs_at = self.tokens.size
        rest_at = pairs_at + self.pair_weights
        spans_at = len(w) - (0 if self.spans is None else self.spans.size)
        tokens, of_tokens = self.tokens.without_zeros(w[:pairs_at])
        pair_weight, of_pairs = nonzero_grams(self.pair_weight, w[pairs_at:rest_at])
        smaller, of_spans = self.copied(tokens=tokens, pair_weight=pair_weight), w[spans_at:]
        if self.spans is not None:
            smaller.spans, of_spans = self.spans.without_zeros(of_spans)
        return smaller, np.concatenate([of_tokens, of_pairs, w[rest_at:spans_at], of_spans])

    def state(self) -> dict[str, Any]:
        """The indices of the pairs' weights, and the table of segments."""
        return {"pair_weight": self.pair_weight, "spans": self.spans}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        weight, spans = state["pair_weight"], state["spans"]
        if (spans is None) != (self.templates is None) or not isinstance(spans, FeatureTable | None):
            raise MargraveError("the attributes of its segments must be a table.")
        if spans is not None and not isinstance(spans.encoder, RowEncoder):
            raise MargraveError("the attributes of its segments must be a table.")
        self.pair_weight, self.spans = stored_numbers(weight, "weights of pairs"), spans

    def _span_table(self) -> FeatureTable:
        """A table for the attributes of segments, with the same settings as that of tokens."""
        return FeatureTable(self.tokens.pairs, self.tokens.hash_bits)

    def _add_pairs(self, pairs: int, seen: NDArray[Any]) -> None:
        """Give weights to these pairs of labels, or to all of them, in addition to those that already have one."""
        has_weight = np.zeros(pairs, dtype=np.bool_)
        has_weight[: len(self.pair_weight)] = self.pair_weight >= 0
        has_weight[slice(None) if self.tokens.pairs == "all" else seen] = True
        self.pair_weight = np.full(pairs, -1, dtype=np.int64)
        self.pair_weight[has_weight] = np.arange(int(has_weight.sum()))


def span_number(start: int, end: int, longest: int) -> int:
    """The number of the span from `start` up to `end` among those of at most `longest` tokens, by end and length."""
    before = end * (end - 1) // 2 if end <= longest else longest * (longest - 1) // 2 + (end - longest) * longest
    return before + end - start - 1
