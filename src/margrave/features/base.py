"""The protocol of features, which turn raw data into named features that maps encode. They are saved with the model.

`learn` reads the training data once and returns features that know, for example, the number of columns of a row or the
vocabulary. `transform` turns raw examples into attributes, lazily if all attributes at once would fill the memory, and
refuses examples that differ in form from the training data.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from margrave import _core
from margrave.checks import has_length, whole
from margrave.errors import MargraveError, counted, quoted
from margrave.stored import Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row = Sequence[str]  # the columns of one token

# Numbered values take some 70 bytes each. When there are more than these, numbering starts anew: nothing depends on the
# numbers, and a model that predicts for ever takes a bounded amount of memory (benchmarks/experiments/load.py). More of
# them save no time: predicting the million words of the Brown corpus takes as long with four times as many.
MOST_VALUES = 500_000
_MOST_COLUMNS = 1000  # of built-in templates: each has templates of its own, and files of tokens have few columns


class Features(Stored, kind="features"):
    """The base of all features."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.stored_settings().items())
        return f"{type(self).__name__}({settings})"

    def learn(self, X: Any) -> Self:
        """Return a copy of these features that has learned from the training data.

        Parameters
        ----------
        X : the raw examples of the training data.
        """
        return self

    def learn_weighted(self, X: Any, weights: "NDArray[np.float64]") -> Self:
        """The same from examples with weights, where 2 is two copies; to be defined by features that count examples.

        Parameters
        ----------
        X : as in `learn`.
        weights : one positive number per example.
        """
        return self.learn(X)

    def transform(self, X: Any) -> Any:
        """Turn raw examples into attributes.

        Parameters
        ----------
        X : raw examples, in the same form as the training data.
        """
        raise MargraveError(f"the features {type(self).__name__} do not say how they transform examples.")


@dataclass(frozen=True, slots=True)
class Lazy:
    """The attributes of one sentence, computed on demand, because those of a whole corpus would fill the memory."""

    features: Any
    rows: Sequence[Row]
    size: int

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.features.attributes(self.rows))


class ColumnTemplates(Features):
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
                raise MargraveError(f"template {quoted(template)} is given twice.")
        self._terms = {template: self._parse(template) for template in self.templates}

    def _parse(self, template: str) -> tuple[Any, ...]:
        """The terms of a template; an invalid template is an error."""
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
        if isinstance(X, _core.ColumnTable):
            return self._for_columns(X.width)
        _check_sentences(X)
        first = next((rows[0] for rows in X if len(rows)), None)
        if first is None:
            raise MargraveError("there are no tokens, so the number of columns is unknown.")
        return self._for_columns(len(first))

    def _for_columns(self, columns: int) -> Self:
        learned = self._unlearned()
        if self.given is None:
            if columns > _MOST_COLUMNS:
                raise MargraveError(
                    f"the built-in templates are for at most {_MOST_COLUMNS} columns, and there are {columns}: pass "
                    "templates."
                )
            learned._set(self._built_in(columns))
        if learned.n_columns > columns:
            raise MargraveError(
                f"a template asks for column {learned.n_columns - 1}, but the rows have only columns 0 to "
                f"{columns - 1}."
            )
        learned.columns = columns
        return learned

    def _unlearned(self) -> Self:
        """A copy with the same settings."""
        return type(self)(self.given, label=self.label)

    def transform(self, X: Any) -> Any:
        """The attributes of sentences whose rows have the columns of the training data, or those and a label.

        Parameters
        ----------
        X : lists of rows, or a table of the core.
        """
        if self.columns is None:
            raise MargraveError("these templates have not learned how many columns there are: call learn(X) first.")
        if isinstance(X, _core.ColumnTable):
            check_width(X.width, self.columns, "the table")
            return self._of_table(X, self.label if X.width > self.columns else -1)
        table = _core.table_of_rows(X, self.columns, self.label)
        return self._of_rows(X) if table is None else self._of_table(table, -1)

    def _of_table(self, table: _core.ColumnTable, label: int) -> Any:
        """The attributes of a table, which may have a label in a column among the others."""
        raise MargraveError(f"{type(self).__name__} does not say how it reads a table.")

    def _of_rows(self, X: Any) -> Any:
        """The attributes of rows of other types than lists of strings; an error if they cannot be taken."""
        return self._lazily(X)

    def _lazily(self, X: Any) -> list[Lazy]:
        """The attributes of sentences, each computed on demand."""
        _check_sentences(X)
        assert self.columns is not None
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
        """Restores what `state` returned."""
        if state["columns"] is not None:
            learned = self._for_columns(whole("columns", state["columns"], 1, 10**6))
            self.columns = learned.columns
            self._set(learned.templates)


def _check_sentences(X: Any) -> None:
    """Refuse anything that is not a list of sentences, each of which is a list of rows of columns."""
    if not has_length(X):
        raise MargraveError(f"X must be a list of sentences, each a list of rows, not {type(X).__name__}.")
    for i, rows in enumerate(X):
        if not has_length(rows):
            raise MargraveError(
                f"example {i}: a sentence must be a list of rows, not {type(rows).__name__}: did you mean [X]?"
            )
        if {*map(type, rows)} <= {list, tuple}:
            continue
        for row in rows:
            if isinstance(row, str):
                raise MargraveError(
                    f"example {i}: a token is a sequence of columns, not a string: write ['dog'] for 'dog'."
                )
            if not has_length(row):
                raise MargraveError(f"example {i}: a token is a sequence of columns, not {type(row).__name__}.")


def check_width(width: int, columns: int, where: str) -> None:
    """Refuse rows that have neither these columns nor these and a label."""
    if width not in (columns, columns + 1):
        raise MargraveError(
            f"{where}: a row has {counted(width, 'column')}, but the model takes "
            f"{columns}, or {columns + 1} with the label."
        )


def _without_label(rows: Sequence[Row], columns: int, label: int, where: str) -> Sequence[Row]:
    """The rows without their label; they must have exactly these columns, with or without the label."""
    if type(rows) not in (list, tuple):
        rows = list(rows)  # The length of other sequences may be anything.
    for row in rows:
        check_width(len(row), columns, where)
    # No template refers to a label after all other columns, so that it need not be removed.
    if label < 0 or all(len(row) == columns for row in rows):
        return rows
    return [row if len(row) == columns else [*row[:label], *row[label + 1 :]] for row in rows]
