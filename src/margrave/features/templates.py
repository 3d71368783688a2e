"""Attributes of tokens from the columns of their rows, by short templates.

A template consists of terms joined by `|`. A term is `column[offset]`, the value in that column (counted from 0) of the
token that many places ahead, or behind if negative; it can be followed by `.function`. `begin` and `end` mark the first
and the last token. The attribute is the template, `=`, and the values joined by `|`. There is no attribute if a term
lies outside of the sequence or its function has no value.

    template            its attribute of "dog" in "the dog barks"
    0[0]                0[0]=dog
    0[-1]|0[0]          0[-1]|0[0]=the|dog
    0[1].suffix2        0[1].suffix2=ks
    0[2]                none
    begin               none; "the" has begin
    end                 none; "barks" has end

The functions:

    lower               lower case
    digits              every digit becomes 0:                              1,988.5 -> 0,000.0
    shape               letters become X or x, and digits d:                McX-12. -> XxX-dd.
    short_shape         the shape with one character per run:               McDonald-12. -> XxXx-d.
    prefixN, suffixN    the first or the last N characters (N = 1 to 9); no value if there are fewer than N
    stemN               the first N characters, or the whole value if there are fewer

Models store attributes, so these strings never change. A `|` inside a value is not escaped: the values `a|b`, `c` and
`a`, `b|c` give the same attribute.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from os import PathLike
from typing import Any, NamedTuple

from margrave import _core
from margrave.errors import DataError, MargraveError, quoted, unknown
from margrave.features.base import MOST_VALUES, ColumnTemplates


class Templates(ColumnTemplates):
    """A list of templates, ready for sentences.

    Parameters
    ----------
    templates : the templates; None chooses a built-in set for the columns of the training data (`default_templates`).
    label : the column of the label in rows that have one; -1 means after all other columns.

    >>> Templates(["begin", "0[-1]|0[0]"]).attributes([["the"], ["dog"]])
    [['begin'], ['0[-1]|0[0]=the|dog']]
    """

    name = "templates"

    _names: _core.TemplateNames | None = None  # the templates, compiled, with the numbers of the values met so far

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled templates, which are made again when they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_names"}

    def _parse(self, template: str) -> tuple[Any, ...]:
        return _parse(template)

    def _set(self, templates: Sequence[str]) -> None:
        super()._set(templates)
        self._names = None

    def _built_in(self, columns: int) -> Sequence[str]:
        return default_templates(columns).templates

    def transform(self, X: Any) -> Any:
        """The attributes of sentences whose rows have the columns of the training data, or those and a label.

        Parameters
        ----------
        X : lists of rows, or a table of the core.
        """
        # A subclass that defines its own attributes is asked for them.
        own = self.columns is not None and type(self).attributes is not Templates.attributes
        return self._lazily(X) if own else super().transform(X)

    def _of_table(self, table: _core.ColumnTable, label: int) -> _core.TemplateAttributes:
        names = self._names
        if names is None or len(names) > MOST_VALUES:
            terms = [
                [(term.column, term.offset, term.function or "") for term in terms] for terms in self._terms.values()
            ]
            self._names = names = _core.TemplateNames(self.templates, terms)
        return names.attributes(table, label, function_results)

    def attributes(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """The attributes of every token of one sentence, in the order of the templates.

        Parameters
        ----------
        rows : the rows of the sentence, without the label.
        """
        if not rows:
            return []
        self._check(rows)
        windows = _windows(rows, {term for terms in self._terms.values() for term in terms})
        by_template = [_attributes(template, terms, windows, len(rows)) for template, terms in self._terms.items()]
        return [list(filter(None, of_token)) for of_token in zip(*by_template, strict=True)]

    def _check(self, rows: Sequence[Sequence[str]]) -> None:
        if any(isinstance(row, str) for row in rows):
            raise MargraveError("a token is a sequence of columns, not a string: write ['dog'] for 'dog'.")
        if min(map(len, rows)) >= self.n_columns:
            return
        for number, row in enumerate(rows, 1):
            for template, terms in self._terms.items():
                if len(row) < _n_columns(terms):
                    raise MargraveError(
                        f"template {quoted(template)} needs {_n_columns(terms)} columns, "
                        f"but token {number} of the sentence, {list(row)}, has {len(row)}."
                    )


def read_templates(path: str | PathLike[str]) -> Templates:
    """Read templates from a text file, one per line; blank lines are skipped, and `#` begins a comment.

    Parameters
    ----------
    path : the file.
    """
    lines: dict[str, int] = {}
    try:
        with open(path, encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                template = line.partition("#")[0].strip()
                if template in lines:
                    raise DataError(path, number, f"template {quoted(template)} is on line {lines[template]} already.")
                if template:
                    lines[template] = number
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {(error.strerror or str(error)).lower()}.") from error
    except UnicodeDecodeError as error:
        raise DataError(path, None, "not a text file in UTF-8.") from error
    if not lines:
        raise DataError(path, None, "no templates: at least one is needed.")
    for template, number in lines.items():
        try:
            _parse(template)
        except MargraveError as error:
            raise DataError(path, number, str(error)) from error
    return Templates(list(lines))


def default_templates(n_columns: int) -> Templates:
    """The built-in templates for tagging words (parts of speech, chunks, entities).

    Parameters
    ----------
    n_columns : the number of columns; column 0 is the word, and the others are used as they are.
    """
    if n_columns < 1:
        raise MargraveError(f"templates need at least 1 column, which is the word, and not {n_columns}.")
    templates = [
        *_runs(0, 1),
        "0[-1]|0[0]",
        "0[0]|0[1]",
        "0[0].lower",
        *(f"0[0].prefix{n}" for n in (2, 3, 4)),
        *(f"0[0].suffix{n}" for n in (1, 2, 3, 4)),
        *(f"0[{offset}].shape" for offset in (-1, 0, 1)),
        "0[0].short_shape",
    ]
    for column in range(1, n_columns):
        templates += [*_runs(column, 1), *_runs(column, 2), *_runs(column, 3)]
    return Templates([*templates, "begin", "end"])


def _runs(column: int, length: int) -> list[str]:
    """All runs of this length inside the window from -2 to 2."""
    starts = range(-2, 4 - length)
    return ["|".join(f"{column}[{start + i}]" for i in range(length)) for start in starts]


# Words occur many times, so that the cache makes a shape as cheap as a dictionary look-up.
@lru_cache(maxsize=1 << 16)
def _shape(value: str) -> str:
    return "".join(
        ("X" if character.isupper() else "x") if character.isalpha() else "d" if character.isdigit() else character
        for character in value
    )


@lru_cache(maxsize=1 << 16)
def _short_shape(value: str) -> str:
    return "".join(character for character, _ in groupby(_shape(value)))


def _digits(value: str) -> str:
    return "".join("0" if character.isdigit() else character for character in value)


def _prefix(n: int, value: str) -> str | None:
    return value[:n] if len(value) >= n else None


def _suffix(n: int, value: str) -> str | None:
    return value[-n:] if len(value) >= n else None


def _stem(n: int, value: str) -> str:
    return value[:n]


FUNCTIONS: dict[str, Callable[[str], str | None]] = {
    "lower": str.lower,
    "digits": _digits,
    "shape": _shape,
    "short_shape": _short_shape,
    **{f"prefix{n}": partial(_prefix, n) for n in range(1, 10)},
    **{f"suffix{n}": partial(_suffix, n) for n in range(1, 10)},
    **{f"stem{n}": partial(_stem, n) for n in range(1, 10)},
}


def function_results(function: str, values: list[str]) -> list[str | None]:
    """What a function makes of each value."""
    return [*map(FUNCTIONS[function], values)]


class _Term(NamedTuple):
    column: int
    offset: int
    function: str | None


# The text is part of the attribute, so each meaning has only one text: 0[+1], 0[01] and spaces are refused.
_TERM = re.compile(r"(0|[1-9][0-9]{0,3})\[(0|-?[1-9][0-9]{0,3})\](?:\.(\w+))?")


def _parse(template: str) -> tuple[_Term, ...]:
    """The terms of a template; none for `begin` and `end`."""
    if template in ("begin", "end"):
        return ()
    terms = []
    for text in template.split("|"):
        match = _TERM.fullmatch(text)
        if match is None:
            raise MargraveError(
                f"bad template {quoted(template)}: expected begin, end, or terms like 0[-1] or 0[0].lower joined by |."
            )
        column, offset, function = match.groups()
        if function is not None and function not in FUNCTIONS:
            raise unknown("template function", function, FUNCTIONS)
        terms.append(_Term(int(column), int(offset), function))
    return tuple(terms)


def _n_columns(terms: Sequence[_Term]) -> int:
    return max((term.column + 1 for term in terms), default=0)


def _windows(rows: Sequence[Sequence[str]], terms: set[_Term]) -> dict[_Term, list[str | None]]:
    """The values of every term at every token; None where it has none."""
    values: dict[tuple[int, str | None], list[str | None]] = {}
    for column, function in {(term.column, term.function) for term in terms}:
        cells = [row[column] for row in rows]
        values[column, function] = [*cells] if function is None else [*map(FUNCTIONS[function], cells)]
    return {term: _shifted(values[term.column, term.function], term.offset) for term in terms}


def _shifted(values: list[str | None], offset: int) -> list[str | None]:
    outside: list[str | None] = [None] * min(abs(offset), len(values))
    return values[offset:] + outside if offset >= 0 else outside + values[:offset]


def _attributes(
    template: str, terms: Sequence[_Term], windows: Mapping[_Term, list[str | None]], length: int
) -> list[str | None]:
    """The attribute of one template at every token; None where it has none."""
    if template == "begin":
        return [template, *[None] * (length - 1)]
    if template == "end":
        return [*[None] * (length - 1), template]
    prefix = template + "="
    if len(terms) == 1:
        return [None if value is None else prefix + value for value in windows[terms[0]]]
    columns = [windows[term] for term in terms]
    return [None if None in values else prefix + "|".join(values) for values in zip(*columns, strict=True)]
