"""Files of labelled sequences, as taggers read and write them: columns of tokens, and CoNLL-U."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from margrave.cli import conllu
from margrave.cli.streams import batches, display_name, source
from margrave.errors import DataError, MargraveError, counted, unknown

if TYPE_CHECKING:
    from margrave.datasets import Sentence

Row = tuple[str, ...]  # the columns of one token
Rows = list[Row]  # of one sequence
Labelled = tuple[list[Rows], list[list[str]]]  # sequences without their labels, and the labels

BATCH = 1000  # sequences that are predicted at once: enough for all threads, and little memory


class SequenceReader(Protocol):
    """How a tagger reads and writes files."""

    @property
    def label_place(self) -> int:
        """Where rows that have a label have it; -1 is behind all other columns."""

    def metadata(self) -> dict[str, Any]:
        """What a model keeps, besides the place of the label, which its templates know."""

    def labelled(self, path: str, n_columns: int) -> Labelled:
        """The sequences of a file, which have so many columns besides the label."""

    def unlabelled(self, path: str, n_columns: int, marginals: bool) -> tuple[list[str], Iterator[list[Any]]]:
        """The lines to write first, and the sequences of a file, which may have labels, in batches as `lines` takes."""

    def rows(self, batch: list[Any]) -> list[Rows]:
        """The sequences of a batch as the model takes them."""

    def lines(self, batch: list[Any], labels: list[list[str]], probabilities: list[list[float]] | None) -> list[str]:
        """A batch with its labels, as it is written."""


@dataclass(eq=False, repr=False)
class ColumnReader:
    """Files in columns; the label stands behind all others (-1) or at a place among them."""

    separator: str | None
    label_place: int = -1
    header: tuple[str, ...] = ()  # the names of all columns, also of the label, if files name them

    @classmethod
    def for_training(
        cls, path: str, separator: str | None, header: bool, label: str | None
    ) -> tuple["ColumnReader", Labelled]:
        """How to read files like this one, of which `label` names a column, and its sequences with their labels."""
        plain = cls(separator, header=("",) if header else ())
        names, sentences = plain._read(path)
        rows = list(sentences)
        width = len(rows[0][0])
        if width == 1:
            raise DataError(display_name(path), None, "1 column, but at least 2 are needed: the word and its label.")
        place = _label_place(display_name(path), label, names, width)
        reader = cls(separator, -1 if place == width - 1 else place, names)
        return reader, reader._split(rows)

    def metadata(self) -> dict[str, Any]:
        """What a model keeps, besides the place of the label, which its templates know."""
        return {"separator": self.separator, **({"header": list(self.header)} if self.header else {})}

    def labelled(self, path: str, n_columns: int) -> Labelled:
        """Sequences with as many columns as the model was trained on, and their labels."""
        names, sentences = self._read(path)
        rows = list(sentences)
        width = len(rows[0][0])
        if names != self.header and width == n_columns + 1:
            raise DataError(display_name(path), None, f"its columns are {_listed(names)}, not {_listed(self.header)}.")
        if width != n_columns + 1:
            place = "the label last" if self.label_place == -1 else f"the label in column {self.label_place}"
            raise DataError(
                display_name(path), None, f"{counted(width, 'column')}, but {n_columns + 1} are needed, {place}."
            )
        return self._split(rows)

    def unlabelled(self, path: str, n_columns: int, marginals: bool) -> tuple[list[str], Iterator[list[Rows]]]:
        """The header, if files have one, and the sequences."""
        names, sentences = self._read(path)
        first = next(sentences)
        width = len(first[0])
        if width not in (n_columns, n_columns + 1):
            expected = f"the model was trained on {counted(n_columns, 'column')} and a label"
            raise DataError(display_name(path), None, f"{counted(width, 'column')}, but {expected}.")
        header = self._output_header(display_name(path), names, width, marginals) if self.header else []
        return header, batches(chain([first], sentences), BATCH)

    def rows(self, batch: list[Rows]) -> list[Rows]:
        """The sequences themselves: the model leaves a label out."""
        return batch

    def lines(self, batch: list[Rows], labels: list[list[str]], probabilities: list[list[float]] | None) -> list[str]:
        """Every row with its label, and a blank line after every sequence."""
        between = self.separator or " "
        lines = []
        for k, rows in enumerate(batch):
            added = [[label] for label in labels[k]]
            if probabilities is not None:
                added = [[*of, f"{p:.4f}"] for of, p in zip(added, probabilities[k], strict=True)]
            lines += [between.join([*row, *of]) for row, of in zip(rows, added, strict=True)]
            lines.append("")
        return lines

    def _read(self, path: str) -> tuple[tuple[str, ...], Iterator[Rows]]:
        """The names of the columns, if the file has them, and its sequences, at least one."""
        from margrave.datasets import read_columns

        sentences = read_columns(source(path), separator=self.separator)
        first = next(sentences, [])
        names: Row = ()
        if self.header and first:
            names, *rest = first
            first = rest or next(sentences, [])
        if not first:
            raise DataError(display_name(path), None, "it holds no sequences.")
        return names, chain([first], sentences)

    def _split(self, sentences: Iterable[Rows]) -> Labelled:
        """The columns before and after the label, and the labels."""
        X, y = [], []
        for rows in sentences:
            place = self.label_place % len(rows[0])
            X.append([(*row[:place], *row[place + 1 :]) for row in rows])
            y.append([row[place] for row in rows])
        return X, y

    def _output_header(self, path: str, names: Row, width: int, marginals: bool) -> list[str]:
        """The header of the input, which must be that of the training, and the names of the columns that are added."""
        label = self.header[self.label_place]
        right, added = self.header, f"predicted_{label}"
        if width < len(self.header):
            place = self.label_place % len(self.header)
            right, added = (*self.header[:place], *self.header[place + 1 :]), label
        if names != right:
            raise DataError(path, None, f"its columns are {_listed(names)}, not {_listed(right)}.")
        return [(self.separator or " ").join([*names, added, *(["probability"] if marginals else [])])]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _label_place(path: str, label: str | None, names: Sequence[str], width: int) -> int:
    """The number of the column that `--label` names."""
    if label is None:
        return width - 1
    if label in names:
        return list(names).index(label)
    if re.fullmatch("[0-9]{1,9}", label):
        if int(label) >= width:
            raise DataError(path, None, f"--label {label}, but its columns are 0 to {width - 1}.")
        return int(label)
    if names:
        raise unknown("column in --label", label, names)
    raise MargraveError(f"--label {label} is not a number: columns have names with --header or --format conllu.")


@dataclass(eq=False, repr=False)
class ConlluReader:
    """CoNLL-U files, of which some columns of words are inputs and one is the label."""

    label: str
    columns: Sequence[str]
    label_place: ClassVar[int] = -1

    def metadata(self) -> dict[str, Any]:
        """What a model keeps."""
        return {"format": "conllu", "label": self.label, "columns": list(self.columns)}

    def labelled(self, path: str, n_columns: int) -> Labelled:
        """The columns of all sentences, and the labels, of which there are some."""
        X, y = [], []
        for sentence in conllu.read_sentences(path, "conllu"):
            X.append(conllu.rows(sentence, self.columns))
            y.append([conllu.value(word, self.label) for word in sentence.words])
        if all(label == conllu.MISSING for labels in y for label in labels):
            raise DataError(display_name(path), None, f"none of its words has a label in {self.label}.")
        return X, y

    def unlabelled(self, path: str, n_columns: int, marginals: bool) -> tuple[list[str], Iterator[list["Sentence"]]]:
        """The sentences of a file."""
        return [], batches(conllu.read_sentences(path, "conllu"), BATCH)

    def rows(self, batch: list["Sentence"]) -> list[Rows]:
        """The columns of these sentences that the model takes."""
        return [conllu.rows(sentence, self.columns) for sentence in batch]

    def lines(
        self, batch: list["Sentence"], labels: list[list[str]], probabilities: list[list[float]] | None
    ) -> list[str]:
        """The sentences with their labels filled in."""
        from margrave.datasets import conllu_lines

        filled = []
        for k, sentence in enumerate(batch):
            words = [
                conllu.with_value(word, self.label, of) for word, of in zip(sentence.words, labels[k], strict=True)
            ]
            if probabilities is not None:
                words = [conllu.with_probability(word, p) for word, p in zip(words, probabilities[k], strict=True)]
            filled.append(replace(sentence, words=words))
        return list(conllu_lines(filled))
