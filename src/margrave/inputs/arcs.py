"""Attributes of the arcs of sentences, from templates over the columns of the head and of the word.

A template consists of terms joined by `|`. `h[0]` is column 0 of the head and `w[1]` is column 1 of the word; both can
be followed by `.function`, as in the templates of tokens (inputs/templates.py). `way` is the direction of the arc with
its length, binned. The attribute is the template, `=`, and the values joined by `|`. The root has the value ROOT in
every column.

    template        its attribute for the arc from "barks" (VERB) to "dog" (NOUN) in "the dog barks"
    h[1]|w[1]       h[1]|w[1]=VERB|NOUN
    w[0].lower|way  w[0].lower|way=dog|<1
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from margrave.errors import MargraveError, unknown
from margrave.inputs.base import ColumnTemplates, Row
from margrave.inputs.templates import FUNCTIONS

ROOT = "ROOT"


class _Term(NamedTuple):
    end: str  # h, w or way
    column: int
    function: str | None


_TERM = re.compile(r"(h|w)\[(0|[1-9][0-9]{0,3})\](?:\.(\w+))?")


class ArcTemplates(ColumnTemplates):
    """Templates for arcs: every sentence of n rows gives n * n lists of attributes, word by word and head by head.

    Parameters
    ----------
    templates : the templates; None chooses a built-in set: forms, tags (the second column, if there is one) and their
        pairs, each alone and with the direction and the length of the arc.
    label : where the column to predict stands in rows that have one; -1 is behind all other columns.

    >>> arcs = ArcTemplates(["h[0]|w[0]", "way"])
    >>> arcs.attributes([["dogs"], ["bark"]])[1]
    ['h[0]|w[0]=bark|dogs', 'way=<1']
    """

    name = "arc-templates"

    def _parse(self, template: str) -> tuple[_Term, ...]:
        return _parse(template)

    def _built_in(self, columns: int) -> Sequence[str]:
        return default_arc_templates(columns)

    def _units(self, rows: Sequence[Row]) -> int:
        return len(rows) ** 2

    def attributes(self, rows: Sequence[Row]) -> list[list[str]]:
        """The attributes of the n * n arcs of one sentence."""
        values: dict[_Term, list[str | None]] = {}  # the values of the root and of every word
        for term in {term for terms in self._terms.values() for term in terms if term.end != "way"}:
            call = FUNCTIONS[term.function] if term.function else lambda value: value
            values[term] = [ROOT, *(call(row[term.column]) for row in rows)]
        n = len(rows)
        return [self._arc(values, head, word) for word in range(1, n + 1) for head in range(n + 1) if head != word]

    def _arc(self, values: Mapping[_Term, Sequence[str | None]], head: int, word: int) -> list[str]:
        found = []
        for template, terms in self._terms.items():
            parts = [
                _way(word - head) if term.end == "way" else values[term][head if term.end == "h" else word]
                for term in terms
            ]
            if None not in parts:
                found.append(f"{template}={'|'.join(map(str, parts))}")
        return found


def default_arc_templates(columns: int) -> list[str]:
    """Forms and tags of either end, pairs of both ends, and all of these combined with direction and distance."""
    head, word = ["h[0].lower"], ["w[0].lower"]
    if columns > 1:
        head, word = [*head, "h[1]"], [*word, "w[1]"]
    plain = [*head, *word, *(f"{h}|{w}" for h in head for w in word)]
    return ["way", *plain, *(f"{template}|way" for template in plain)]


def _parse(template: str) -> tuple[_Term, ...]:
    terms = []
    for text in template.split("|"):
        if text == "way":
            terms.append(_Term("way", -1, None))
            continue
        match = _TERM.fullmatch(text)
        if match is None:
            raise MargraveError(f"bad template {template!r}: expected terms like h[0], w[1].lower or way joined by |.")
        end, column, function = match.groups()
        if function is not None and function not in FUNCTIONS:
            raise unknown("template function", function, FUNCTIONS)
        terms.append(_Term(end, int(column), function))
    return tuple(terms)


def _way(distance: int) -> str:
    """The direction and the length of an arc; long lengths are binned."""
    length = abs(distance)
    bucket = length if length < 5 else 5 if length <= 10 else 11
    return f"{'<' if distance < 0 else '>'}{bucket}"
