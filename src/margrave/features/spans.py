"""Attributes of the labeled spans and splits of constituent trees, from templates over the columns of their words.

A template consists of terms joined by `|`. A term is a column, counted from 0, of one of the words around a span, with
an offset to a neighboring word and a function if needed:

    first[0]      column 0 of the first word of the span
    last[1]       column 1 of its last word
    before[1]     column 1 of the word before the span, and after[1] of the word behind it
    split[1]      column 1 of the first word behind the split; split[1]-1: of the last word before it
    first[1]+1    column 1 of the word after the first word
    last[0].lower a function, as in the templates of tokens (inputs/templates.py)
    inside[1]     each distinct value of column 1 among the words of the span but the last one
    length        the number of words of the span: 1, 2, 3, 4, 5 to 10, or more

A template with `split` is about a span and the place where it divides; every other template is about a span and its
label. Before the first word the value is ROOT, and behind the last word it is NONE.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from margrave import _core
from margrave.errors import MargraveError, quoted, unknown
from margrave.features.base import MOST_VALUES, ColumnTemplates, Row
from margrave.features.templates import FUNCTIONS, function_results


class _Term(NamedTuple):
    what: str  # as in the core's templates of trees: h is the word before the span, w its last word
    column: int = 0
    offset: int = 0
    function: str = ""


_PLACES = {"first": ("h", 1), "before": ("h", 0), "last": ("w", 0), "after": ("w", 1), "split": ("s", 0)}
_TERM = re.compile(r"(first|last|before|after|split|inside)\[(0|[1-9][0-9]{0,3})\]([+-][1-9][0-9]{0,3})?(?:\.(\w+))?")


class SpanTemplates(ColumnTemplates):
    """Templates for labeled spans and splits.

    Parameters
    ----------
    templates : the templates; None chooses a built-in set for the columns of the training data
        (`default_span_templates`).
    label : where the column to predict stands in rows that have one; -1 is behind all other columns.

    >>> SpanTemplates(["first[1]|last[1]", "length"]).templates
    ('first[1]|last[1]', 'length')
    """

    name = "span-templates"

    _compiled: _core.TreeTemplates | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled templates, which are made again when they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}

    def _parse(self, template: str) -> tuple[_Term, ...]:
        return _parse(template)

    def _set(self, templates: Sequence[str]) -> None:
        super()._set(templates)
        self._compiled = None

    def _built_in(self, columns: int) -> Sequence[str]:
        return default_span_templates(columns)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The templates of a file."""
        return cls(settings["templates"], label=settings["label"])

    @property
    def has_splits(self) -> bool:
        """Whether some templates are about splits."""
        return any(term.what == "s" for terms in self._terms.values() for term in terms)

    def _of_rows(self, X: Any) -> _core.TreeAttributes:
        rows = [[list(row) for row in lazy.rows] for lazy in self._lazily(X)]
        table = _core.table_of_rows(rows, self.columns or 0, self.label)
        if table is None:
            raise MargraveError("the columns of a word must be strings.")
        return self._of_table(table, -1)

    def _of_table(self, table: _core.ColumnTable, label: int) -> _core.TreeAttributes:
        compiled = self._compiled
        if compiled is None or len(compiled) > MOST_VALUES:
            terms = [[tuple(term) for term in terms] for terms in self._terms.values()]
            self._compiled = compiled = _core.TreeTemplates(list(self.templates), terms, -1)
        return compiled.attributes(table, label, function_results)

    def attributes(self, rows: Sequence[Row]) -> list[list[str]]:
        """Attributes of spans are computed in the core alone."""
        raise MargraveError("attributes of spans have no names.")


def default_span_templates(columns: int) -> list[str]:
    """The built-in templates: words, tags and lengths at the borders of a span, and around its split.

    They are those of Hall, Durrett and Klein (2014): first, last, outer and split words, with the length of the span,
    here for words and for tags, and pairs of them.

    Parameters
    ----------
    columns : the number of columns: the word and, if there are two, the tag.
    """
    word = "[0].lower"
    ends = [f"{place}{word}" for place in ("first", "last", "before", "after")]
    found = ["length", *ends, *(f"{end}|length" for end in ends[:2]), f"first{word}|last{word}"]
    found += [f"before{word}|first{word}", f"last{word}|after{word}", "first[0].shape", "last[0].shape"]
    found += [f"split{word}", f"split[0]-1.lower|split{word}"]
    if columns > 1:
        tags = [f"{place}[1]" for place in ("first", "last", "before", "after")]
        found += [*tags, *(f"{tag}|length" for tag in tags)]
        found += ["first[1]|last[1]", "first[1]|last[1]|length", "before[1]|first[1]", "last[1]|after[1]"]
        found += ["before[1]|first[1]|last[1]|after[1]", "before[1]|after[1]", "before[1]|first[1]|last[1]"]
        found += ["first[1]|last[1]|after[1]", "first[1]|first[1]+1", "last[1]-1|last[1]", "inside[1]"]
        found += [f"first{word}|last[1]", f"first[1]|last{word}", f"before[1]|first{word}", f"last{word}|after[1]"]
        found += ["split[1]", "split[1]-1|split[1]", "first[1]|split[1]-1|split[1]|last[1]"]
        found += ["split[1]-1|split[1]|length", "first[1]|split[1]", "split[1]-1|last[1]"]
    return found


def _parse(template: str) -> tuple[_Term, ...]:
    terms: list[_Term] = []
    for text in template.split("|"):
        if text == "length":
            terms.append(_Term("way"))
            continue
        match = _TERM.fullmatch(text)
        if match is None:
            raise MargraveError(
                f"bad template {quoted(template)}: expected terms like first[0], last[1]+1.lower, inside[1] or length, "
                "joined by |."
            )
        what, column, offset, function = match.groups()
        if function is not None and function not in FUNCTIONS:
            raise unknown("template function", function, FUNCTIONS)
        if what == "inside":
            if offset or (function or "").startswith(("prefix", "suffix")):
                raise MargraveError(
                    f"bad template {quoted(template)}: {text} must have one value for every word inside."
                )
            terms.append(_Term("between", int(column), 0, function or ""))
            continue
        place, more = _PLACES[what]
        terms.append(_Term(place, int(column), int(offset or 0) + more, function or ""))
    if not any(term.what == "s" for term in terms):
        terms.append(_Term("label"))
    return tuple(terms)
