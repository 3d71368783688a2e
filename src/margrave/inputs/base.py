"""The protocol of inputs: raw data to what features encode. They are part of the model and are saved with it.

`learn` looks at the training data once and gives the inputs of the model: how many columns rows have, which words there
are. `transform` turns raw examples into attributes, lazily where all attributes at once would fill the memory, and
refuses examples that are not of the form that was learned.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from margrave.checks import whole
from margrave.errors import MargraveError, counted
from margrave.files.stored import Stored

Row = Sequence[str]  # the columns of one token


class Inputs(Stored, kind="inputs"):
    """The base of all inputs."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.stored_settings().items())
        return f"{type(self).__name__}({settings})"

    def learn(self, X: Any) -> Self:
        """These inputs with what the training data add to them."""
        return self

    def transform(self, X: Any) -> Any:
        """The attributes of raw examples."""
        raise MargraveError(f"the inputs {type(self).__name__} do not say how they make attributes.")


@dataclass(frozen=True, slots=True)
class Lazy:
    """The attributes of one sentence, made when they are asked for: those of a corpus would fill the memory."""

    inputs: Any
    rows: Sequence[Row]
    units: int

    def __len__(self) -> int:
        return self.units

    def __iter__(self) -> Iterator[Any]:
        return iter(self.inputs.attributes(self.rows))


class ColumnTemplates(Inputs):
    """The base of templates over the columns of rows: templates, checked and parsed, for a number of columns.

    A class below says how templates are parsed, which ones are built in, and how many columns they need.
    """

    def __init__(self, templates: Sequence[str] | None = None, *, label: int = -1) -> None:
        self.given = None if templates is None else tuple(templates)
        self.label = whole("label", label, -1, 10**6)
        self.columns: int | None = None  # of the training data
        if self.given is not None and not self.given:
            raise MargraveError("no templates: at least one is needed.")
        self._set(self.given or ())

    def _set(self, templates: Sequence[str]) -> None:
        self.templates = tuple(templates)
        for i, template in enumerate(self.templates):
            if template in self.templates[:i]:
                raise MargraveError(f"template {template!r} is given twice.")
        self._terms = {template: self._parse(template) for template in self.templates}

    def _parse(self, template: str) -> tuple[Any, ...]:
        """The terms of a template; refuses what is none."""
        raise MargraveError(f"{type(self).__name__} does not say how it parses templates.")

    def _built_in(self, columns: int) -> Sequence[str]:
        """The templates for rows with so many columns."""
        raise MargraveError(f"{type(self).__name__} has no templates of its own.")

    @property
    def n_columns(self) -> int:
        """The smallest number of columns that rows need."""
        return max((term.column + 1 for terms in self._terms.values() for term in terms), default=0)

    def attributes(self, rows: Sequence[Row]) -> list[list[str]]:
        """The attributes of one sentence."""
        raise MargraveError(f"{type(self).__name__} does not say how it makes attributes.")

    def _units(self, rows: Sequence[Row]) -> int:
        """How many lists of attributes a sentence has."""
        return len(rows)

    def learn(self, X: Any) -> Self:
        """The same templates for rows with the columns of these sentences."""
        _check_sentences(X)
        first = next((rows[0] for rows in X if len(rows)), None)
        if first is None:
            raise MargraveError("there are no tokens to count the columns of.")
        return self._for_columns(len(first))

    def _for_columns(self, columns: int) -> Self:
        learned = type(self)(self.given, label=self.label)
        if self.given is None:
            learned._set(self._built_in(columns))
        if learned.n_columns > columns:
            raise MargraveError(
                f"a template asks for column {learned.n_columns - 1}, but the rows have only columns 0 to "
                f"{columns - 1}."
            )
        learned.columns = columns
        return learned

    def transform(self, X: Any) -> list[Lazy]:
        """The attributes of sentences whose rows have the columns of the training data, or those and a label."""
        _check_sentences(X)
        if self.columns is None:
            raise MargraveError("these templates have not learned how many columns there are: call learn(X) first.")
        checked = [_without_label(rows, self.columns, self.label, f"example {i}") for i, rows in enumerate(X)]
        return [Lazy(self, rows, self._units(rows)) for rows in checked]

    def stored_settings(self) -> dict[str, Any]:
        """The templates, and where the label stands."""
        return {"templates": None if self.given is None else list(self.given), "label": self.label}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The templates of a file."""
        return cls(settings["templates"], label=settings["label"])

    def state(self) -> dict[str, Any]:
        """The number of columns."""
        return {"columns": self.columns}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes back what `state` gave."""
        if state["columns"] is not None:
            learned = self._for_columns(whole("columns", state["columns"], 1, 10**6))
            self.columns = learned.columns
            self._set(learned.templates)


def _check_sentences(X: Any) -> None:
    """Refuses what is no list of sentences of rows of columns."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise MargraveError(f"X must be a list of sentences, not {type(X).__name__}.")
    for i, rows in enumerate(X):
        if isinstance(rows, str | bytes) or not hasattr(rows, "__len__"):
            raise MargraveError(f"example {i}: a sentence must be a list of rows, not {type(rows).__name__}.")
        if any(isinstance(row, str) for row in rows):
            raise MargraveError(
                f"example {i}: a token is a sequence of columns, not a string: write ['dog'] for 'dog'."
            )


def _without_label(rows: Sequence[Row], columns: int, label: int, where: str) -> Sequence[Row]:
    """Rows that have exactly these columns, or the label as well, which is left out."""
    for row in rows:
        if len(row) not in (columns, columns + 1):
            raise MargraveError(
                f"{where}: a row has {counted(len(row), 'column')}, but the model takes "
                f"{columns}, or {columns + 1} with the label."
            )
    # A label behind all other columns is never asked for, so that it need not be cut off.
    if label < 0 or all(len(row) == columns for row in rows):
        return rows
    return [row if len(row) == columns else [*row[:label], *row[label + 1 :]] for row in rows]
