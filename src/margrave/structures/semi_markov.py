"""Labeled segmentations, written as IOB2 tags; parts are segments and pairs of neighboring labels.

The tokens outside of all spans are segments of their own, of length 1 and with the label O, because tags cannot say
where a longer one would begin. Where spans have alternatives (`margrave.data.Answers`), several segmentations are
right, and they are never listed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import flag, whole
from margrave.data.classes import check_several, label_numbers
from margrave.data.tags import Span, alternatives_of, spans
from margrave.errors import MargraveError, unknown
from margrave.examples import Examples
from margrave.losses.costs import Cost, Segments
from margrave.structures.base import Bound, Outputs, Structure, check_lengths
from margrave.structures.chain import allowed_mask, check_labels

OUTSIDE = "O"
_LONGEST = 1_000_000  # tokens that a segment may have at most


@dataclass(frozen=True, eq=False)
class Segmentation(Outputs):
    """The labels of segments, sorted, and how many tokens a segment of each of them has at most.

    >>> Segmentation(["LOC", "O"], [2, 1]).classes.tolist()
    ['B-LOC', 'I-LOC', 'O']
    """

    name = "segments"

    labels: list[str]
    longest: list[int]

    def __post_init__(self) -> None:
        valid = isinstance(self.labels, list) and isinstance(self.longest, list)
        if not valid or len(self.labels) != len(self.longest) or self.labels != sorted(set(self.labels)):
            raise MargraveError("its labels are not in order, or have no lengths.")
        for label, longest in zip(self.labels, self.longest, strict=True):
            whole(f"the longest segment of {label}", longest, 1, 1 if label == OUTSIDE else _LONGEST)

    @cached_property
    def first(self) -> list[str]:
        """The tag of the first token of a segment, by label."""
        return [label if label == OUTSIDE else f"B-{label}" for label in self.labels]

    @cached_property
    def inside(self) -> list[str | None]:
        """The tag of all other tokens; None if the segments of a label have one token only."""
        return [f"I-{label}" if n > 1 else None for label, n in zip(self.labels, self.longest, strict=True)]

    @cached_property
    def names(self) -> list[str]:
        """The tags, sorted."""
        return sorted([*self.first, *(tag for tag in self.inside if tag is not None)])

    @property
    def classes(self) -> NDArray[Any]:
        """The tags as an array."""
        return np.array(self.names)

    def merge(self, other: Self) -> Self:
        """The labels of both, with the longer of their lengths."""
        longest = dict(zip(self.labels, self.longest, strict=True))
        for label, n in zip(other.labels, other.longest, strict=True):
            longest[label] = max(n, longest.get(label, 1))
        labels = sorted(longest)
        return type(self)(labels, [longest[label] for label in labels])

    def check(self) -> None:
        """Refuse fewer than two labels."""
        check_several(np.array(self.labels))


BoundSegments = Bound[Segmentation, _core.SemiMarkovStructure]


@dataclass
class SemiMarkov(Structure[Segmentation, _core.SemiMarkovStructure]):
    """Divisions of sequences into labeled segments, given and predicted as IOB2 tags.

    Parameters
    ----------
    max_length : how many tokens a segment may have: one number for all labels but O, a mapping from labels to numbers,
        or None for the longest segment of each label in the training data. Labels that a mapping lacks are learned.
        Longer alternatives are left out.
    tied : share one table of pairs of neighboring labels among all boundaries; some learners need False.
    """

    name = "semi-markov"
    examples = "sequences"
    costs = (Cost,)

    max_length: int | Mapping[str, int] | None = None
    tied: bool = True

    def __post_init__(self) -> None:
        self.tied = flag("tied", self.tied)
        if isinstance(self.max_length, Mapping):
            self.max_length = {label: whole("max_length", n, 1, _LONGEST) for label, n in self.max_length.items()}
        elif self.max_length is not None:
            self.max_length = whole("max_length", self.max_length, 1, _LONGEST)

    def learn(self, Y: Sequence[Sequence[str]]) -> Segmentation:
        """The labels that occur, and the lengths of their longest segments."""
        check_labels(Y)
        longest: dict[str, int] = {}
        for i, tags in enumerate(Y):
            for label, start, stop in [*segments_of(tags, i), *alternatives_of(tags)]:
                longest[label] = max(longest.get(label, 1), stop - start)
        if isinstance(self.max_length, Mapping):
            for label in self.max_length:
                if label not in longest:
                    raise unknown("label in max_length", label, longest)
            longest |= self.max_length
        elif self.max_length is not None:
            longest = dict.fromkeys(longest, self.max_length)
        if OUTSIDE in longest:
            longest[OUTSIDE] = 1
        labels = sorted(longest)
        return Segmentation(labels, [longest[label] for label in labels])

    def bind(self, outputs: Segmentation, examples: Examples, costs: Cost | None = None) -> _core.SemiMarkovStructure:
        """Make the core's structure for some sequences, with a row for each token.

        Parameters
        ----------
        outputs : the labels of segments.
        examples : the sequences; outputs are their tags, perhaps with alternatives. Extras: `allowed`, for each
            position of each sequence None or the tags that are allowed there; or a boolean array (tokens, tags) for all
            sequences, concatenated.
        costs : the costs of wrong outputs, if they are needed.
        """
        check_lengths(examples)
        Y, allowed = examples.Y, examples.extra("allowed")
        if costs is not None:
            self.check_cost(costs)
        names = outputs.names
        number = {tag: k for k, tag in enumerate(names)}
        by_segments = isinstance(costs, Segments)
        alternatives = None if Y is None else self._alternatives(outputs, Y)
        if by_segments and alternatives is not None:
            raise MargraveError("the cost 'segments' needs a single right answer: leave out the alternatives.")
        mask = None if allowed is None else allowed_mask(allowed, examples.sizes.tolist(), names)
        return _core.semi_markov(
            np.array(outputs.longest, dtype=np.int32),
            len(names),
            np.array([number[tag] for tag in outputs.first], dtype=np.int32),
            np.array([-1 if tag is None else number[tag] for tag in outputs.inside], dtype=np.int32),
            examples.begin,
            None if Y is None else self._numbers(outputs, Y),
            None if costs is None or by_segments else costs.label_cost(names),
            np.array([label == OUTSIDE for label in outputs.labels]),
            by_segments,
            None if mask is None else mask.ravel(),
            alternatives,
            self.tied,
        )

    def join(self, core: _core.SemiMarkovStructure, features: _core.Features) -> _core.Problem:
        """The problem; with alternatives, it can be asked for its good segmentations and for the others."""
        return _core.divide(core, features) if core.divided else _core.join(core, features)

    def _alternatives(
        self, outputs: Segmentation, Y: Sequence[Sequence[str]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
        """Where the alternatives of each sequence begin, and (start, stop, label) of each; None if there are none."""
        if not any(map(alternatives_of, Y)):
            return None
        number = {label: k for k, label in enumerate(outputs.labels)}
        begin, rows = [0], []
        for i, tags in enumerate(Y):
            for label, start, stop in alternatives_of(tags):
                if label not in number:
                    raise MargraveError(f"example {i}: no segment can have the label {label!r} of an alternative.")
                if stop - start <= outputs.longest[number[label]]:
                    rows += [start, stop, number[label]]
            begin.append(len(rows) // 3)
        return np.array(begin, dtype=np.int64), np.array(rows, dtype=np.int32)

    def _numbers(self, outputs: Segmentation, Y: Sequence[Sequence[str]]) -> NDArray[np.int32]:
        """The numbers of the tags of all tokens, well-formed."""
        longest = dict(zip(outputs.labels, outputs.longest, strict=True))
        tags: list[str] = []
        for i, given in enumerate(Y):
            for label, start, stop in segments_of(given, i):
                if stop - start > longest.get(label, stop):
                    raise MargraveError(
                        f"example {i}: the {label} at position {start} has {stop - start} tokens, and max_length is "
                        f"{longest[label]}."
                    )
                tags += tags_of(Span(label, start, stop))
        return label_numbers(tags, outputs.names)

    def check_sizes(self, examples: Examples) -> None:
        """Check that every sequence has as many tags as tokens."""
        check_lengths(examples)

    def decode(
        self,
        bound: BoundSegments,
        begin: NDArray[np.int64],
        parts: NDArray[np.int32],
        owners: NDArray[np.int64] | None = None,
    ) -> list[list[str]]:
        """The tags of every sequence."""
        names = np.array(bound.outputs.names, dtype=object)
        tags = names[bound.core.read_tags(owners, begin, parts)].tolist()
        first = bound.examples.begin if owners is None else _core.bounds(bound.examples.sizes[owners])
        return [tags[a:b] for a, b in pairwise(first.tolist())]

    def decode_numbers(
        self, bound: BoundSegments, begin: NDArray[np.int64], parts: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The indices of the tags of all sequences, concatenated."""
        return bound.core.read_tags(None, begin, parts)

    def present(
        self, bound: BoundSegments, begin: NDArray[np.int64], mu: NDArray[np.float64]
    ) -> list[NDArray[np.float64]]:
        """The probability of every tag at every position: one (tokens, tags) array per sequence."""
        rows = bound.core.tag_marginals(begin, mu).reshape(-1, len(bound.outputs.names))
        return [rows[a:b] for a, b in pairwise(bound.examples.begin.tolist())]

    def part_names(self, outputs: Segmentation) -> list[str]:
        """The tags."""
        return list(outputs.names)

    def tuples(self, outputs: Segmentation) -> list[tuple[str, str]]:
        """The pairs of neighboring labels, in the order of their parts."""
        return [(before, after) for before in outputs.labels for after in outputs.labels]


def tags_of(segment: Span) -> list[str]:
    """The IOB2 tags of a segment."""
    label, start, stop = segment
    return [label if label == OUTSIDE else f"B-{label}", *[f"I-{label}"] * (stop - start - 1)]


def segments_of(tags: Sequence[str], example: int) -> list[Span]:
    """The segments of one sequence, in order: its spans, and the tokens between them."""
    try:
        found = spans(tags)
    except MargraveError as error:
        raise MargraveError(
            f"example {example}: {error.args[0].removesuffix('.')}, and segments need such tags: convert others with "
            "margrave.datasets.convert_tags."
        ) from None
    except TypeError:
        raise MargraveError(f"example {example}: segments need tags such as O, B-PER and I-PER.") from None
    segments: list[Span] = []
    done = 0
    for span in [*found, Span("", len(tags), len(tags))]:
        segments += [Span(OUTSIDE, t, t + 1) for t in range(done, span.start)]
        if span.label:
            if span.label == OUTSIDE:
                raise MargraveError(f"example {example}: a span cannot have the label O.")
            segments.append(span)
        done = span.stop
    return segments
