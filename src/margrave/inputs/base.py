"""The protocol of inputs, which turn raw data into what features encode. They are saved with the model.

`learn` reads the training data once and returns inputs that know, for example, the number of columns of a row or the
vocabulary. `transform` turns raw examples into attributes, lazily if all attributes at once would fill the memory, and
refuses examples that differ in form from the training data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from margrave.errors import MargraveError, counted
from margrave.files.stored import Stored

Row = Sequence[str]  # the columns of one token


class Inputs(Stored, kind="inputs"):
    """The base of all inputs."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.stored_settings().items())
        return f"{type(self).__name__}({settings})"

    def learn(self, X: Any) -> Self:
        """Return a copy of these inputs that has learned from the training data.

        Parameters
        ----------
        X : the raw examples of the training data.
        """
        return self

    def transform(self, X: Any) -> Any:
        """Turn raw examples into attributes.

        Parameters
        ----------
        X : raw examples, in the same form as the training data.
        """
        raise MargraveError(f"the inputs {type(self).__name__} do not say how they make attributes.")


@dataclass(frozen=True, slots=True)
class Lazy:
    """The attributes of one sentence, computed on demand, because those of a whole corpus would fill the memory."""

    inputs: Any
    rows: Sequence[Row]
    units: int

    def __len__(self) -> int:
        return self.units

    def __iter__(self) -> Iterator[Any]:
        return iter(self.inputs.attributes(self.rows))


def check_sentences(X: Any) -> None:
    """Refuse anything that is not a list of sentences, each of which is a list of rows of columns."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise MargraveError(f"X must be a list of sentences, not {type(X).__name__}.")
    for i, rows in enumerate(X):
        if isinstance(rows, str | bytes) or not hasattr(rows, "__len__"):
            raise MargraveError(f"example {i}: a sentence must be a list of rows, not {type(rows).__name__}.")
        if any(isinstance(row, str) for row in rows):
            raise MargraveError(
                f"example {i}: a token is a sequence of columns, not a string: write ['dog'] for 'dog'."
            )


def without_label(rows: Sequence[Row], columns: int, label: int, where: str) -> Sequence[Row]:
    """The rows without their label; they must have exactly these columns, with or without the label."""
    for row in rows:
        if len(row) not in (columns, columns + 1):
            raise MargraveError(
                f"{where}: a row has {counted(len(row), 'column')}, but the model takes "
                f"{columns}, or {columns + 1} with the label."
            )
    # No template refers to a label after all other columns, so that it need not be removed.
    if label < 0 or all(len(row) == columns for row in rows):
        return rows
    return [row if len(row) == columns else [*row[:label], *row[label + 1 :]] for row in rows]
