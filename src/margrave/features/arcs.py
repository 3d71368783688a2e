"""Attributes of the parts of dependency trees, from templates over the columns of their words.

A template consists of terms joined by `|`. A term is a column, counted from 0, of one of the words of a part, with an
offset to a neighboring word and a function if needed:

    h[0]        column 0 of the head
    w[1]        column 1 of the word
    s[1]        column 1 of the next child of the head, between the head and the word (siblings)
    g[1]        column 1 of the head of the head (grandparents)
    c[1]        column 1 of another child of the head, anywhere before the word (pairs of children, crossing trees)
    h[1]+1      column 1 of the word after the head; w[1]-2: of the second word before the word
    w[0].lower  a function, as in the templates of tokens (inputs/templates.py)
    w[2].each   each of the values of a list such as Case=Nom|Number=Sing; _ is an empty list

The other terms are:

    between[1]  each distinct value of column 1 among the words between head and word
    way         the direction of the arc with its length, binned
    dir         the direction of the arc; with a grandparent, also the direction of the arc to the head; with another
                child, also the direction from it to the head
    label       the label of the arc

A template with `s` is about neighboring children of a head, one with `c` about any two children of a head, one with
`g` about a head and its head, one with `label` about an arc with its label, and every other template about an arc. The
attribute is the template, `=`, and the values joined by `|`; if a term has several values, there are several
attributes, and there is none if a function has no value. The root has the value ROOT in every column. Before the root
and behind the last word the value is NONE. The first child on a side of a head has the sibling ROOT.

    template           its attributes for the arc from "barks" (VERB) to "dog" (NOUN) in "the dog barks"
    h[1]|w[1]          h[1]|w[1]=VERB|NOUN
    w[0].lower|way     w[0].lower|way=dog|<1
    w[1]-1|w[1]        w[1]-1|w[1]=DET|NOUN
"""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, Self

from margrave import _core
from margrave.errors import MargraveError, quoted, unknown
from margrave.features.base import MOST_VALUES, ColumnTemplates, Row
from margrave.features.templates import FUNCTIONS, function_results

ROOT, NONE = "ROOT", "NONE"
TAG = 1  # the column of the tag, if there is one
BUILT_IN = ("arcs", "siblings", "grandparents", "arc-pairs", "labels", "pruning")
_EACH = "each"
_PLAIN = ("way", "dir", "label")


class _Term(NamedTuple):
    what: str  # h, w, s, g, c, between, way, dir or label
    column: int = 0
    offset: int = 0
    function: str = ""


_TERM = re.compile(r"(h|w|s|g|c|between)\[(0|[1-9][0-9]{0,3})\]([+-][1-9][0-9]{0,3})?(?:\.(\w+))?")


class ArcTemplates(ColumnTemplates):
    """Templates for the parts of trees: arcs, arcs with labels, and pairs of arcs.

    Parameters
    ----------
    templates : the templates; None chooses a built-in set for the columns of the training data
        (`default_arc_templates`).
    built_in : which built-in set: "arcs"; "siblings" or "grandparents" for arcs and pairs of arcs; "arc-pairs" for
        arcs and pairs of arcs in crossing trees; "pruning" for a smaller set of arcs; "labels" for arcs with labels.
        Several sets are joined by +.
    label : where the column to predict stands in rows that have one; -1 is behind all other columns.

    >>> arcs = ArcTemplates(["h[0]|w[0]", "way"])
    >>> arcs.attributes([["dogs"], ["bark"]])[1]
    ['h[0]|w[0]=bark|dogs', 'way=<1']
    """

    name = "arc-templates"

    _compiled: _core.TreeTemplates | None = None

    def __init__(self, templates: Sequence[str] | None = None, *, built_in: str = "arcs", label: int = -1) -> None:
        for each in built_in.split("+"):
            if each not in BUILT_IN:
                raise unknown("built-in set of templates", each, BUILT_IN)
        self.built_in = built_in
        super().__init__(templates, label=label)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled templates, which are made again when they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}

    def _parse(self, template: str) -> tuple[_Term, ...]:
        return _parse(template)

    def _set(self, templates: Sequence[str]) -> None:
        super()._set(templates)
        self._compiled = None

    def _built_in(self, columns: int) -> Sequence[str]:
        return default_arc_templates(columns, self.built_in)

    def _unlearned(self) -> Self:
        return type(self)(self.given, built_in=self.built_in, label=self.label)

    def _units(self, rows: Sequence[Row]) -> int:
        return len(rows) ** 2

    def stored_settings(self) -> dict[str, Any]:
        """The templates, and where the label stands."""
        return super().stored_settings() | {"built_in": self.built_in}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The templates of a file."""
        return cls(settings["templates"], built_in=settings.get("built_in", "arcs"), label=settings["label"])

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
            self._compiled = compiled = _core.TreeTemplates(
                self.templates, terms, TAG if (self.columns or 0) > TAG else -1
            )
        return compiled.attributes(table, label, function_results)

    def terms(self) -> set[str]:
        """The kinds of terms that the templates have: h, w, s, g, c, between, way, dir, label."""
        return {term.what for terms in self._terms.values() for term in terms}

    def attributes(self, rows: Sequence[Row]) -> list[list[str]]:
        """The attributes of the n * n arcs of one sentence, by the templates about arcs, without labels.

        Parameters
        ----------
        rows : the rows of the sentence, without the label.
        """
        n = len(rows)
        arcs = [(head, word) for word in range(1, n + 1) for head in range(n + 1) if head != word]
        return [self.part_attributes(rows, head, word) for head, word in arcs]

    def part_attributes(
        self,
        rows: Sequence[Row],
        head: int,
        word: int,
        *,
        sibling: int | None = None,
        grandparent: int | None = None,
        child: int | None = None,
        label: str | None = None,
    ) -> list[str]:
        """The attributes of one part of a tree, as strings.

        Parameters
        ----------
        rows : the rows of the sentence, without the label.
        head, word : the ends of the arc; 0 is the root.
        sibling : the next child of the head towards the head, or 0 if there is none.
        grandparent : the head of the head.
        child : another child of the head, before the word.
        label : the label of the arc.
        """
        places = {"h": head, "w": word, "s": sibling, "g": grandparent, "c": child}
        given = {"s": sibling, "g": grandparent, "c": child, "label": label}
        wanted = {name for name, place in given.items() if place is not None}
        found = []
        for template, terms in self._terms.items():
            if {term.what for term in terms} & set(given) != wanted:
                continue
            values = [_values(rows, term, places, label) for term in terms]
            found += [f"{template}={'|'.join(each)}" for each in product(*values)]
        return found


def default_arc_templates(columns: int, built_in: str = "arcs") -> list[str]:
    """The built-in templates.

    The templates of arcs are those of McDonald, Crammer and Pereira (2005): forms and tags of head and word in all
    combinations, most of them also with the first five letters in place of the form; the tags around and between them;
    and all of these combined with the direction and the length of the arc. The words beside head and word are added,
    with the tags of both. Those of pairs of arcs are combinations of forms and tags with the direction (McDonald and
    Pereira 2006; Carreras 2007).

    Parameters
    ----------
    columns : the number of columns: the form, the tag, and lists of morphological features.
    built_in : as in `ArcTemplates`.
    """
    if "+" in built_in:
        return [template for each in built_in.split("+") for template in default_arc_templates(columns, each)]
    if built_in == "labels":
        return _labels(columns)
    pairs = {"siblings": "s", "grandparents": "sg", "arc-pairs": "cg"}.get(built_in, "")
    arcs = _arcs(columns, small=built_in == "pruning")
    return [*arcs, *(template for third in pairs for template in _pairs(columns, third))]


def _arcs(columns: int, small: bool) -> list[str]:
    both: list[str] = []
    for form in ("[0].lower",) if small else ("[0].lower", "[0].stem5"):
        head, word = f"h{form}", f"w{form}"
        both += [head, word, f"{head}|{word}"]
        if columns > 1:
            both += [f"{head}|h[1]", f"{word}|w[1]", f"{head}|h[1]|w[1]", f"h[1]|{word}|w[1]"]
    head, word = "h[0].lower", "w[0].lower"
    if columns > 1 and not small:
        both += [f"{head}|h[1]|{word}|w[1]", f"{head}|{word}|w[1]", f"{head}|h[1]|{word}"]
    if columns > 1:
        both += ["h[1]", "w[1]", "h[1]|w[1]", "h[1]|between[1]|w[1]"]
        heads, words = ["h[1]-1|h[1]", "h[1]|h[1]+1"], ["w[1]-1|w[1]", "w[1]|w[1]+1"]
        both += [f"{head}|{word}" for head in heads for word in words]
        both += [*(f"{head}|w[1]" for head in heads), *(f"h[1]|{word}" for word in words)]
    for column in () if small else range(2, columns):
        both += [f"h[1]|w[1]|h[{column}].each", f"h[1]|w[1]|w[{column}].each", f"h[{column}].each|w[{column}].each"]
    beside = [f"h[1]|w[1]|{end}[0]{offset}.lower" for end in "hw" for offset in ("-1", "+1")]
    more = beside if columns > 1 and not small else []
    return ["way", *both, *(f"{template}|way" for template in both), *more]


def _labels(columns: int) -> list[str]:
    head, word = "h[0].lower", "w[0].lower"
    plain = ["way", head, word, f"{head}|{word}", "w[0].suffix3", "w[0].stem5"]
    if columns > 1:
        plain += ["h[1]", "w[1]", "h[1]|w[1]", "h[1]|w[1]|way", f"{head}|w[1]", f"h[1]|{word}", f"{head}|h[1]|w[1]"]
        plain += [f"h[1]|{word}|w[1]", "w[1]-1|w[1]|h[1]", "w[1]|w[1]+1|h[1]", "w[1]|h[1]|h[1]+1", "w[1]|h[1]-1|h[1]"]
        plain += ["w[1]-1|w[1]|w[1]+1", "h[1]|between[1]|w[1]", "w[0]-1.lower|w[1]", "w[0]+1.lower|w[1]"]
    for column in range(2, columns):
        plain += [f"h[1]|w[1]|h[{column}].each", f"h[1]|w[1]|w[{column}].each"]
    return [f"{template}|label" for template in plain]


def _pairs(columns: int, third: str) -> list[str]:
    forms = {end: f"{end}[0].lower" for end in ("h", "w", third)}
    plain = [f"{forms[third]}|{forms['w']}"]
    if columns > 1:
        plain += [f"{third}[1]|w[1]", f"h[1]|{third}[1]|w[1]", f"{forms[third]}|w[1]", f"{third}[1]|{forms['w']}"]
        plain += [f"{forms['h']}|{third}[1]|w[1]", f"h[1]|{forms[third]}|w[1]", f"h[1]|{third}[1]|{forms['w']}"]
    return [f"{template}|dir" for template in plain]


def _parse(template: str) -> tuple[_Term, ...]:
    terms = []
    for text in template.split("|"):
        if text in _PLAIN:
            terms.append(_Term(text))
            continue
        match = _TERM.fullmatch(text)
        if match is None:
            raise MargraveError(
                f"bad template {quoted(template)}: expected terms like h[0], w[1]+1.lower, between[1] or way, joined "
                "by |."
            )
        what, column, offset, function = match.groups()
        if function is not None and function != _EACH and function not in FUNCTIONS:
            raise unknown("template function", function, [*FUNCTIONS, _EACH])
        if what == "between" and (offset or (function or "").startswith((_EACH, "prefix", "suffix"))):
            raise MargraveError(f"bad template {quoted(template)}: {text} must have one value for every word between.")
        terms.append(_Term(what, int(column), int(offset or 0), function or ""))
    if len({term.what for term in terms} & {"s", "g", "c", "label"}) > 1:
        raise MargraveError(f"bad template {quoted(template)}: it can have only one of s, g, c and label.")
    return tuple(terms)


def _values(rows: Sequence[Row], term: _Term, places: dict[str, int | None], label: str | None) -> list[str]:
    """The values of a term."""
    head, word = places["h"] or 0, places["w"] or 0
    if term.what == "way":
        return [_way(word - head)]
    if term.what == "dir":
        third = places["g"] if places["g"] is not None else places["c"]
        up = "" if third is None else _direction(head - third)
        return [_direction(word - head) + up]
    if term.what == "label":
        return [label or ""]
    if term.what == "between":
        inside = {value for t in range(min(head, word) + 1, max(head, word)) for value in _at(rows, term, t)}
        every = (value for t in range(1, len(rows) + 1) for value in _at(rows, term, t))
        return [value for value in dict.fromkeys(every) if value in inside]
    return _at(rows, term, (places[term.what] or 0) + term.offset)


def _at(rows: Sequence[Row], term: _Term, place: int) -> list[str]:
    """The values of a column at a place; 0 is the root."""
    if place == 0:
        return [ROOT]
    if not 0 < place <= len(rows):
        return [NONE]
    value = rows[place - 1][term.column]
    if term.function == _EACH:
        return [] if value == "_" else value.split("|")
    result = FUNCTIONS[term.function](value) if term.function else value
    return [] if result is None else [result]


def _way(distance: int) -> str:
    """The direction and the length of an arc; long lengths are binned."""
    length = abs(distance)
    return f"{_direction(distance)}{length if length < 5 else 5 if length <= 10 else 11}"


def _direction(distance: int) -> str:
    return "<" if distance < 0 else ">"
