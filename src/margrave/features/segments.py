"""Attributes of segments from the texts of their tokens, by short templates.

A template is one of the following words, and all but `length` may be followed by `.function`, with the functions of
templates over columns (inputs/templates.py). The attribute is the template, `=`, and the values joined by blanks.

    template            its attribute of "New York" in "in New York today"
    string              string=New York
    string.lower        string.lower=new york
    string.shape        string.shape=Xxx Xxxx
    length              length=2
    first, last         first=New, last=York
    before, after       before=in, after=today; none at the ends of a sequence
    ngram1, ngram2, ... ngram1=New, ngram1=York: all runs of so many tokens inside of the segment

A dictionary is a set of phrases; a segment that is one of them has the attribute `in` and the name of the dictionary.
Models store attributes, so these strings never change.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import whole
from margrave.errors import MargraveError, quoted, unknown
from margrave.features.base import Features
from margrave.features.templates import FUNCTIONS

DEFAULT_SEGMENT_TEMPLATES = (
    "string",
    "string.lower",
    "string.shape",
    "string.short_shape",
    "length",
    "first",
    "last",
    "first.lower",
    "last.lower",
    "last.suffix3",
    "ngram2.lower",
    "ngram1.lower",
)

_KINDS = ("string", "length", "first", "last", "before", "after", "ngram")
_TEMPLATE = re.compile(r"([a-z]+?)([1-9]?)(?:\.(\w+))?")


class SegmentTemplates(Features):
    """A list of templates for segments, and dictionaries.

    Parameters
    ----------
    templates : the templates; None for a built-in set.
    dictionaries : sets of phrases by name; the tokens of a phrase are separated by one blank.
    column : the column of the texts.

    >>> SegmentTemplates(["length"], {"city": ["New York"]}).attributes(["New", "York"])[-1]
    ['length=2', 'in city']
    """

    name = "segment-templates"

    def __init__(
        self,
        templates: Sequence[str] | None = None,
        dictionaries: Mapping[str, Sequence[str]] | None = None,
        *,
        column: int = 0,
    ) -> None:
        if isinstance(templates, str) or (templates is not None and not hasattr(templates, "__iter__")):
            raise MargraveError(f"templates must be a list of texts, not {type(templates).__name__}.")
        if dictionaries is not None and not isinstance(dictionaries, Mapping):
            raise MargraveError(f"dictionaries must be sets of phrases by name, not {type(dictionaries).__name__}.")
        self.given = None if templates is None else tuple(templates)
        self.column = whole("column", column, 0, 10**6)
        self.dictionaries = {str(name): _phrases(name, of) for name, of in (dictionaries or {}).items()}
        self.templates = DEFAULT_SEGMENT_TEMPLATES if self.given is None else self.given
        if len(set(self.templates)) < len(self.templates):
            raise MargraveError("a template is given twice.")
        self._functions: list[str | None] = []  # of the texts that the core is given
        self._parsed = [self._parse(template) for template in self.templates]
        for k, name in enumerate(self.dictionaries):
            self._parsed.append((f"in {name}", "dictionary", 1, self._texts(None), k))

    def _parse(self, template: str) -> tuple[str, str, int, int, int]:
        match = _TEMPLATE.fullmatch(template) if isinstance(template, str) else None
        kind, n, function = match.groups() if match else ("", "", None)
        bad = kind not in _KINDS or (kind == "ngram") != bool(n) or (kind == "length" and function)
        if bad:
            raise MargraveError(
                f"bad template {quoted(template)}: expected string, length, first, last, before, after or ngram2, and "
                "all but length may be followed by .lower or another function."
            )
        if function is not None and function not in FUNCTIONS:
            raise unknown("template function", function, FUNCTIONS)
        return template, kind, int(n or 1), self._texts(function), 0

    def _texts(self, function: str | None) -> int:
        """The number of the texts that a function makes of the tokens."""
        if function not in self._functions:
            self._functions.append(function)
        return self._functions.index(function)

    def rows(
        self,
        texts: Sequence[Sequence[str]],
        longest: int,
        vocabulary: _core.Vocabulary | None,
        hash_bits: int = 0,
        growing: NDArray[np.bool_] | None = None,
    ) -> _core.Tokens:
        """One row of attributes per span of at most `longest` tokens, by end and length.

        Parameters
        ----------
        texts : the texts of the tokens of each sequence.
        longest : the length of the longest spans.
        vocabulary : the names of attributes; None if they are hashed.
        hash_bits : the number of bits that names are hashed to.
        growing : the spans whose new names are added to the vocabulary; None adds none.
        """
        number: dict[str, int] = {}
        numbers = [number.setdefault(text, len(number)) for sequence in texts for text in sequence]
        of_tokens = np.array(numbers, dtype=np.int32)
        begin = np.concatenate([[0], np.cumsum([len(sequence) for sequence in texts])]).astype(np.int64)
        values = []
        for function in self._functions:
            results = list(number) if function is None else [FUNCTIONS[function](text) for text in number]
            missing = np.array([result is None for result in results], dtype=np.bool_)
            of_function = np.where(missing, -1, np.arange(len(results)))[of_tokens] if len(results) else of_tokens
            values.append(([result or "" for result in results], of_function.astype(np.int32)))
        compiled = _core.SegmentTemplates(self._parsed, list(self.dictionaries.values()))
        return compiled.rows(begin, values, longest, vocabulary, hash_bits, growing)

    def attributes(self, texts: Sequence[str]) -> list[list[str]]:
        """The attributes of all spans of one sequence, by end and length.

        Parameters
        ----------
        texts : the texts of its tokens.
        """
        n = max(len(texts), 1)
        vocabulary = _core.Vocabulary()
        spans = len(texts) * (len(texts) + 1) // 2
        tokens = self.rows([texts], n, vocabulary, growing=np.ones(spans, dtype=np.bool_))
        names = vocabulary.names()
        _, begin, index, _ = tokens.arrays()
        return [[names[k] for k in index[begin[row] : begin[row + 1]].tolist()] for row in range(spans)]

    def stored_settings(self) -> dict[str, Any]:
        """The templates and dictionaries."""
        return {
            "templates": None if self.given is None else list(self.given),
            "dictionaries": {name: list(phrases) for name, phrases in self.dictionaries.items()},
            "column": self.column,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The templates of a file."""
        return cls(settings["templates"], settings["dictionaries"], column=settings["column"])


def _phrases(name: Any, phrases: Any) -> list[str]:
    if isinstance(phrases, str) or not hasattr(phrases, "__iter__"):
        raise MargraveError(f"the dictionary {quoted(name)} must be a list of phrases, not {type(phrases).__name__}.")
    found = []
    for phrase in phrases:
        if not isinstance(phrase, str):
            raise MargraveError(f"the dictionary {quoted(name)} has a phrase that is not a text: {quoted(phrase)}.")
        found.append(phrase)
    return sorted(set(found))
