"""Sequences of letters, of tokens with attributes, and with columns of the user's own, as numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from margrave.checks import Fields, flag, has_length, is_a
from margrave.data.candidates import Candidates
from margrave.errors import MargraveError, quoted, shortened
from margrave.features.base import Features

LETTERS = "letters"  # the column that every sequence has


@dataclass(frozen=True, eq=False)
class Views:
    """What columns sequences have, and which values: names of values, or a number of numeric columns."""

    values: dict[str, tuple[str, ...] | int]
    single: bool = True  # whether a position has one letter, and not a list of attributes

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """The views of a file."""
        fields = Fields(state)
        values = dict(fields.of("values", Mapping[str, tuple[str, ...] | int]))
        if not is_a(values.get(LETTERS), tuple[str, ...]):
            raise MargraveError("its sequences have no letters.")
        for name, each in values.items():
            if not 0 < each < 2**31 if isinstance(each, int) else len(set(each)) < len(each):
                raise MargraveError(f"the column {quoted(name)} of its sequences has a value twice, or a wrong number.")
        return cls(values, fields.of("single", bool))

    def same_as(self, other: "Views") -> bool:
        """Whether codes of these columns mean the same there."""
        return self is other or (self.single == other.single and self.values == other.values)

    def size(self, column: str) -> int:
        """The number of codes of a column."""
        values = self.values[column]
        return values if isinstance(values, int) else len(values)


@dataclass(frozen=True, eq=False)
class EncodedSequence:
    """A sequence as numbers: for each column one code per position, lists of codes, or rows of numbers."""

    columns: dict[str, Any]
    views: Views

    def __len__(self) -> int:
        return len(self.columns[LETTERS])


def sequence_columns(sequence: Any, where: str) -> dict[str, Any]:
    """The columns of a sequence as the user gives it.

    Parameters
    ----------
    sequence : a text, a list of tokens or of lists of attributes, Biopython's Seq or SeqRecord, or a dictionary from
        columns to these, with the letters under "letters".
    where : which sequence this is, for errors.
    """
    if isinstance(sequence, Mapping):
        if LETTERS not in sequence:
            raise MargraveError(f"{where} has columns, but none that is called 'letters'.")
        columns = {str(name): _plain(column, where) for name, column in sequence.items()}
    else:
        columns = {LETTERS: _plain(sequence, where)}
    n = len(columns[LETTERS])
    if n == 0:
        raise MargraveError(f"{where} is empty.")
    for name, column in columns.items():
        if len(column) != n:
            raise MargraveError(f"{where}: column {quoted(name)} has {len(column)} entries for {n} letters.")
    return columns


def _plain(sequence: Any, where: str) -> Any:
    if isinstance(sequence, str):
        return sequence
    if hasattr(sequence, "seq"):  # Biopython's SeqRecord
        sequence = sequence.seq
    if hasattr(sequence, "translate") and hasattr(sequence, "__bytes__"):  # Biopython's Seq
        return str(sequence)
    if isinstance(sequence, np.ndarray) and sequence.ndim > 0:
        return sequence
    if isinstance(sequence, bytes | Mapping) or not isinstance(sequence, Iterable) or hasattr(sequence, "shape"):
        raise MargraveError(f"{where} must be a text or a list of tokens, not {type(sequence).__name__}.")
    return list(sequence)


class Sequences(Features):
    """Numbers the letters of sequences, and the values of further columns.

    Parameters
    ----------
    alphabet : the letters, in this order; None takes those of the training data, sorted.
    also : letters that are known besides those of the training data, if there is no alphabet.
    upper : take lower-case letters, such as soft-masked ones, as upper case.
    replace : letters that are taken as others, such as {"U": "C", "O": "K"}.
    other : the letter as which all letters are taken that are not in the alphabet; None refuses them.

    >>> features = Sequences("ACGT", upper=True, replace={"U": "T"}, other="A").learn([("ACGT", "AC")])
    >>> features.transform([("acu", "N")])[0][0].columns["letters"].tolist()
    [0, 1, 3]
    """

    name = "sequences"

    def __init__(
        self,
        alphabet: Sequence[str] | None = None,
        also: Sequence[str] = (),
        *,
        upper: bool = False,
        replace: Mapping[str, str] | None = None,
        other: str | None = None,
    ) -> None:
        for name, letters in (("alphabet", () if alphabet is None else alphabet), ("also", also)):
            listed = isinstance(letters, str) or has_length(letters)
            if not listed or not all(isinstance(letter, str) for letter in letters):
                raise MargraveError(f"{name} must be a text or a list of letters, not {quoted(letters)}.")
        self.alphabet = None if alphabet is None else tuple(alphabet)
        self.also = tuple(also)
        self.upper = flag("upper", upper)
        if not isinstance(replace, Mapping | None):
            raise MargraveError(f"replace must be a mapping from letters to letters, not {quoted(replace)}.")
        self.replace = dict(replace or {})
        self.other = other
        if not all(isinstance(letter, str) for letter in (*self.replace, *self.replace.values(), other or "")):
            raise MargraveError("replace must be a mapping from letters to letters, and other a letter.")
        if self.alphabet is not None and len(set(self.alphabet)) != len(self.alphabet):
            raise MargraveError("a letter of the alphabet is given twice.")
        self.views: Views | None = None

    def stored_settings(self) -> dict[str, Any]:
        """The alphabet as it was given."""
        return {
            "alphabet": self.alphabet,
            "also": self.also,
            "upper": self.upper,
            "replace": self.replace,
            "other": self.other,
        }

    @classmethod
    def from_settings(cls, settings: Any) -> Self:
        """Features with these settings."""
        return cls(**settings)

    def state(self) -> dict[str, Any]:
        """The values of all columns."""
        if self.views is None:
            return {}
        return {"values": dict(self.views.values), "single": self.views.single}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned."""
        if state:
            self.views = Views.restored(state)

    def learn(self, X: Any) -> Self:
        """The letters and values of all sequences of these examples, which are tuples or lists of sequences."""
        seen: dict[str, Any] = {}
        single: bool | None = None
        for where, sequence in each_sequence(X):
            columns = sequence_columns(sequence, where)
            if seen and set(columns) != set(seen):
                raise MargraveError(f"{where} has the columns {sorted(columns)}, and others have {sorted(seen)}.")
            for name, column in columns.items():
                if isinstance(column, np.ndarray) and column.ndim == 2 and name != LETTERS:
                    if seen.setdefault(name, column.shape[1]) != column.shape[1]:
                        raise MargraveError(
                            f"{where}: column {quoted(name)} has {column.shape[1]} numbers per position."
                        )
                    continue
                of_lists = not isinstance(column, str) and not isinstance(column[0], str)
                if name == LETTERS:
                    if single is not None and single == of_lists:
                        raise MargraveError(f"{where}: some sequences have letters, and others lists of attributes.")
                    single = not of_lists
                values = seen.setdefault(name, set())
                if not isinstance(values, set):
                    raise MargraveError(f"{where}: column {quoted(name)} must have rows of numbers, as in the others.")
                if not of_lists and not all(isinstance(letter, str) for letter in column):
                    raise MargraveError(f"{where}: column {quoted(name)} must have a text at every position.")
                if name == LETTERS and not of_lists:
                    column = [*map(self.letter, column)]
                values.update(*map(_attributes, column) if of_lists else (column,))
        if not seen:
            raise MargraveError("there are no sequences.")
        learned = type(self)(**self.stored_settings())
        if single:
            seen[LETTERS].update(self.also)
        values = {name: each if isinstance(each, int) else tuple(sorted(each)) for name, each in seen.items()}
        if self.alphabet is not None:
            values[LETTERS] = self.alphabet
        if single and self.other is not None and self.other not in values[LETTERS]:
            raise MargraveError(f"the letter {quoted(self.other)} for all others is not in the alphabet.")
        learned.views = Views(values, bool(single))
        if self.alphabet is not None:  # This raises an error for other letters.
            learned.transform(X)
        return learned

    def transform(self, X: Any) -> list[Any]:
        """The same examples with encoded sequences."""
        if self.views is None:
            raise MargraveError("these features have not learned an alphabet yet.")
        encoded = iter([self._encoded(sequence, where) for where, sequence in each_sequence(X)])
        return [_replaced(x, encoded) for x in X]

    def _encoded(self, sequence: Any, where: str) -> EncodedSequence:
        assert self.views is not None
        columns = sequence_columns(sequence, where)
        if set(columns) != set(self.views.values):
            raise MargraveError(f"{where} has the columns {sorted(columns)}, and not {sorted(self.views.values)}.")
        return EncodedSequence(
            {name: self._codes(name, columns[name], where) for name in self.views.values}, self.views
        )

    def _codes(self, name: str, column: Any, where: str) -> Any:
        assert self.views is not None
        values = self.views.values[name]
        if isinstance(values, int):
            rows = np.asarray(column, dtype=np.float64)
            if rows.ndim != 2 or rows.shape[1] != values or not np.isfinite(rows).all():
                raise MargraveError(f"{where}: column {quoted(name)} must have {values} finite numbers per position.")
            return rows
        number = self._numbers(name)
        if name == LETTERS and not self.views.single:
            return [[number[a] for a in _attributes(token) if a in number] for token in column]
        if name == LETTERS:
            if not all(isinstance(letter, str) for letter in column):
                raise MargraveError(f"{where}: column {quoted(name)} must have a text at every position.")
            column = [*map(self.letter, column)]
            if self.other is not None:
                column = [letter if letter in number else self.other for letter in column]
            for k, letter in enumerate(column):
                if letter not in number:
                    raise MargraveError(
                        f"{where}, position {k}: the letter {quoted(letter)} is not in the alphabet ({_shown(values)})."
                    )
            return np.array([number[letter] for letter in column], dtype=np.int32)
        return [[number[value]] if value in number else [] for value in column]

    def letter(self, letter: str) -> str:
        """The letter as which a letter is taken, whether or not it is in the alphabet.

        Parameters
        ----------
        letter : as it stands in a sequence.
        """
        if self.upper:
            letter = letter.upper()
        return self.replace.get(letter, letter)

    def knows(self, letter: str) -> bool:
        """Whether sequences may have a letter.

        Parameters
        ----------
        letter : as it stands in a sequence.
        """
        return self.other is not None or self.letter(letter) in self._numbers(LETTERS)

    def taking(
        self, *, upper: bool = False, replace: Mapping[str, str] | None = None, other: str | None = None
    ) -> Self:
        """The same features, which take more letters as others.

        Parameters
        ----------
        upper, replace, other : as in the constructor, in addition to what these features have.
        """
        settings = self.stored_settings()
        settings["upper"] |= upper
        settings["replace"] = {**self.replace, **(replace or {})}
        settings["other"] = self.other if other is None else other
        more = type(self)(**settings)
        more.views = self.views
        known = more._numbers(LETTERS)
        for name in (*more.replace.values(), *filter(None, [more.other])):
            if name not in known:
                raise MargraveError(f"the letter {quoted(name)} is not in the alphabet ({_shown(list(known))}).")
        return more

    def _numbers(self, name: str) -> dict[str, int]:
        assert self.views is not None
        values = self.views.values[name]
        assert not isinstance(values, int)
        return {value: k for k, value in enumerate(values)}


def _shown(values: Sequence[str]) -> str:
    return shortened(" ".join(values[:30])) + (" ..." if len(values) > 30 else "")


def _attributes(token: Any) -> list[str]:
    if isinstance(token, str):
        return [token]
    found = list(token) if isinstance(token, Iterable) else []
    if not all(isinstance(a, str) for a in found) or not isinstance(token, Iterable):
        raise MargraveError(f"a token must be a text or a list of attribute strings, not {quoted(token)}.")
    return found


def each_sequence(X: Any) -> Iterable[tuple[str, Any]]:
    """The sequences of pairs (x, y), or of natives with a list of candidates (x, [y, ...])."""
    if isinstance(X, str | Mapping) or not hasattr(X, "__iter__"):
        raise MargraveError(f"X must be a list of pairs of sequences, not {type(X).__name__}.")
    for i, example in enumerate(X):
        if isinstance(example, str | Mapping) or not has_length(example) or len(example) != 2:
            raise MargraveError(f"example {i} must be a pair of sequences.")
        x, y = example
        yield f"example {i}, x", x
        if isinstance(y, Candidates):
            for k, each in enumerate(y):
                yield f"example {i}, candidate {k}", each
        else:
            yield f"example {i}, y", y


def _replaced(example: Any, encoded: Any) -> tuple[Any, Any]:
    x = next(encoded)
    y = example[1]
    return (x, Candidates(next(encoded) for _ in y)) if isinstance(y, Candidates) else (x, next(encoded))
