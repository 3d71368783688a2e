"""Spans encoded as one tag per token in the schemes IOB1, IOB2 and BIOES, and conversion between the schemes.

IOB1 writes I-X, and B-X only where a span directly follows another one with the same label; IOB2 writes B-X at every
start; BIOES also marks the end (E-X) and spans of one token (S-X). Ill-formed tags are interpreted as by conlleval: a
tag that cannot continue the previous span starts a new one.
"""

from collections.abc import Iterable, Sequence
from operator import index
from typing import NamedTuple

from margrave.errors import MargraveError, counted, quoted, shortened, unknown

_PREFIXES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}


class Span(NamedTuple):
    """A labeled stretch of tokens, from `start` up to but not including `stop`."""

    label: str
    start: int
    stop: int


class Answers(list[str]):
    """The tags of a sequence together with further spans that are right in place of some of its own.

    A prediction is right if each of its spans is one of the tags or an alternative, and if each span of the tags is
    predicted, or overlaps a predicted alternative. Alternatives can thus be combined freely.

    Parameters
    ----------
    tags : one tag per token.
    alternatives : spans as (label, start, stop), where `stop` is not included.

    >>> Answers(["O", "B-GENE", "I-GENE"], [("GENE", 2, 3)]).alternatives
    [Span(label='GENE', start=2, stop=3)]
    """

    def __init__(self, tags: Iterable[str] = (), alternatives: Iterable[tuple[str, int, int]] = ()) -> None:
        super().__init__(tags)
        self.alternatives = [self._checked(each) for each in alternatives]

    def _checked(self, given: tuple[str, int, int]) -> Span:
        try:
            label, start, stop = given
            found = Span(label, index(start), index(stop))
        except (TypeError, ValueError):
            raise MargraveError(f"an alternative must be (label, start, stop), not {quoted(given)}.") from None
        if not isinstance(label, str) or not label or label == "O":
            raise MargraveError(f"the label of an alternative must be that of a span, not {quoted(label)}.")
        if not 0 <= found.start < found.stop <= len(self):
            raise MargraveError(
                f"the alternative {shortened(label)} from {start} to {stop} is not a span of a sequence of {len(self)} "
                "tokens."
            )
        return found

    def __repr__(self) -> str:
        return f"<Answers {shortened(' '.join(self))}, {counted(len(self.alternatives), 'alternative')}>"


def alternatives_of(tags: Sequence[str]) -> list[Span]:
    """The alternatives to the spans of a sequence; there are none unless they come as `Answers`."""
    return tags.alternatives if isinstance(tags, Answers) else []


def overlap(one: Span, other: Span) -> bool:
    """Whether two spans have a token in common."""
    return one.start < other.stop and other.start < one.stop


def spans(tags: Sequence[str], scheme: str = "IOB2") -> list[Span]:
    """Decode the spans of a sequence of tags, from left to right.

    Parameters
    ----------
    tags : one tag per token.
    scheme : the tag scheme: "IOB1", "IOB2" or "BIOES".

    >>> spans(["B-PER", "I-PER", "O", "B-LOC"])
    [Span(label='PER', start=0, stop=2), Span(label='LOC', start=3, stop=4)]
    """
    prefixes = _prefixes(scheme)
    found: list[Span] = []
    label, start = "", 0  # the span that is still open; an empty label means none
    for position, tag in enumerate(tags):
        if not isinstance(tag, str):
            raise MargraveError(f"tags[{position}] is {quoted(tag)}, but {_expected(scheme)}.")
        if tag == "O":
            prefix, after = "O", ""
        else:
            prefix, dash, after = tag[:1], tag[1:2], tag[2:]
            if dash != "-" or not after or prefix not in prefixes:
                raise MargraveError(f"tags[{position}] is {quoted(tag)}, but {_expected(scheme)}.")
        continues = label == after and prefix in "IE"
        if label and not continues:
            found.append(Span(label, start, position))
        if after and not continues:
            start = position
        label = after
        if prefix in "ES":
            found.append(Span(label, start, position + 1))
            label = ""
    if label:
        found.append(Span(label, start, len(tags)))
    return found


def convert_tags(tags: Sequence[str], source: str, target: str) -> list[str]:
    """Convert tags to another scheme; ill-formed tags are interpreted as by `spans` and become well-formed.

    Parameters
    ----------
    tags : one tag per token.
    source, target : the tag scheme of `tags` and that of the result: "IOB1", "IOB2" or "BIOES".

    >>> convert_tags(["I-PER", "I-PER", "B-PER", "O"], "IOB1", "BIOES")
    ['B-PER', 'E-PER', 'S-PER', 'O']
    """
    _prefixes(target)
    return _tags(spans(tags, source), len(tags), target)


def _tags(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    tags = ["O"] * length
    before = Span("", 0, 0)
    for span in spans:
        label, start, stop = span
        tags[start:stop] = [f"I-{label}"] * (stop - start)
        if scheme != "IOB1" or (before.label == label and before.stop == start):
            tags[start] = f"B-{label}"
        if scheme == "BIOES":
            tags[stop - 1] = f"S-{label}" if stop - start == 1 else f"E-{label}"
        before = span
    return tags


def _prefixes(scheme: str) -> str:
    if scheme not in _PREFIXES:
        raise unknown("tag scheme", scheme, _PREFIXES)
    return _PREFIXES[scheme]


def _expected(scheme: str) -> str:
    *others, last = (f"{prefix}-label" for prefix in _PREFIXES[scheme])
    return f"tags of {scheme} are O, {', '.join(others)} or {last}"
