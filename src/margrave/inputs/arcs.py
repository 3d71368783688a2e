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
from typing import Any, NamedTuple, Self

from margrave.checks import whole
from margrave.errors import MargraveError, unknown
from margrave.inputs.base import Inputs, Lazy, Row, check_sentences, without_label
from margrave.inputs.templates import FUNCTIONS

ROOT = "ROOT"


class _Term(NamedTuple):
    end: str  # h, w or way
    column: int
    function: str | None


_TERM = re.compile(r"(h|w)\[(0|[1-9][0-9]{0,3})\](?:\.(\w+))?")


class ArcTemplates(Inputs):
    """Templates for arcs: a sentence of n rows gives n * n lists of attributes, word by word and head by head.

    Parameters
    ----------
    templates : the templates. None chooses a built-in set: forms, tags (the second column, if there is one) and their
        pairs, each alone and combined with the direction and the length of the arc.

    >>> arcs = ArcTemplates(["h[0]|w[0]", "way"])
    >>> arcs.attributes([["dogs"], ["bark"]])[1]
    ['h[0]|w[0]=bark|dogs', 'way=<1']
    """

    name = "arc-templates"

    def __init__(self, templates: Sequence[str] | None = None) -> None:
        self.given = None if templates is None else tuple(templates)
        self.columns: int | None = None  # the number of columns of the training data
        self._set(self.given or ())
        if templates is not None and not self.templates:
            raise MargraveError("no templates: at least one is needed.")

    def _set(self, templates: Sequence[str]) -> None:
        self.templates = tuple(templates)
        self._terms = {template: _parse(template) for template in self.templates}

    def learn(self, X: Any) -> Self:
        """The same templates for rows with the columns of these sentences."""
        check_sentences(X)
        first = next((rows[0] for rows in X if len(rows)), None)
        if first is None:
            raise MargraveError("there are no words, so the number of columns is unknown.")
        return self._for_columns(len(first))

    def _for_columns(self, columns: int) -> Self:
        learned = type(self)(self.given)
        if self.given is None:
            learned._set(default_arc_templates(columns))
        needed = max(term.column + 1 for terms in learned._terms.values() for term in terms)
        if needed > columns:
            raise MargraveError(f"a template asks for column {needed - 1}, but the rows have {columns}.")
        learned.columns = columns
        return learned

    def transform(self, X: Any) -> list[Lazy]:
        """The attributes of the arcs of sentences whose rows have exactly the columns of the training data."""
        check_sentences(X)
        if self.columns is None:
            raise MargraveError("these templates have not learned how many columns there are: call learn(X) first.")
        checked = [without_label(rows, self.columns, -1, f"example {i}") for i, rows in enumerate(X)]
        return [Lazy(self, rows, len(rows) ** 2) for rows in checked]

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

    def stored_settings(self) -> dict[str, Any]:
        """The templates."""
        return {"templates": None if self.given is None else list(self.given)}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The templates of a file."""
        return cls(settings["templates"])

    def state(self) -> dict[str, Any]:
        """The number of columns."""
        return {"columns": self.columns}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        if state["columns"] is not None:
            learned = self._for_columns(whole("columns", state["columns"], 1, 10**6))
            self.columns = learned.columns
            self._set(learned.templates)


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
