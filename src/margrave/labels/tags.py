"""Spans encoded as one tag per token in the schemes IOB1, IOB2 and BIOES, and conversion between the schemes.

IOB1 writes I-X, and B-X only where a span directly follows another one with the same label; IOB2 writes B-X at every
start; BIOES also marks the end (E-X) and spans of one token (S-X). Ill-formed tags are interpreted as by conlleval: a
tag that cannot continue the previous span starts a new one.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from margrave.errors import MargraveError, unknown

_PREFIXES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}


class Span(NamedTuple):
    """A labelled stretch of tokens, from `start` up to but not including `stop`."""

    label: str
    start: int
    stop: int


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
        if tag == "O":
            prefix, after = "O", ""
        else:
            prefix, dash, after = tag[:1], tag[1:2], tag[2:]
            if dash != "-" or not after or prefix not in prefixes:
                raise MargraveError(f"tags[{position}] is {tag!r}, but {_expected(scheme)}.")
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
