"""Files of labeled sequences, as taggers read and write them: columns of tokens, and CoNLL-U."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from margrave.cli import conllu
from margrave.cli.lemmas import LEMMA, as_lemmas, as_rules, numbered_lemmas
from margrave.cli.streams import binary_source, display_name
from margrave.errors import DataError, MargraveError, counted, unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from margrave import _core
    from margrave.datasets.opening import Block

Labeled = tuple["_core.ColumnTable", list[list[str]]]  # sequences without their labels, and the labels

BLOCK = 1 << 18  # bytes that are predicted at once: enough to be worth a thread's while, and little memory


@dataclass(eq=False, repr=False)
class Batch:
    """Some sequences of a file, and how they are written: from the labels there are, a number for each token, and
    probabilities if there are any."""

    table: "_core.ColumnTable"
    lines: "Callable[[list[str], NDArray[np.int32], NDArray[np.float64] | None], str]"


class SequenceReader(Protocol):
    """How a tagger reads and writes files."""

    @property
    def label_place(self) -> int:
        """Where rows that have a label have it; -1 is behind all other columns."""

    def metadata(self) -> dict[str, Any]:
        """What a model keeps, besides the place of the label, which its templates know."""

    def labeled(self, path: str, n_columns: int) -> Labeled:
        """The sequences of a file, which have so many columns besides the label."""

    def lines(self, path: str) -> Iterator[list[int]]:
        """For each sequence of a file, the numbers of the lines of its tokens."""

    def meanings(self, table: "_core.ColumnTable", labels: list[list[str]]) -> list[list[str]]:
        """What stands in a file for the labels of sequences; what is measured."""

    def unlabeled(self, path: str, n_columns: int, marginals: bool) -> tuple[str, Iterator[Callable[[], Batch]]]:
        """What is written first, and the sequences of a file, which may have labels. Batches are read when called."""


@dataclass(eq=False, repr=False)
class ColumnReader:
    """Files in columns; the label stands behind all others (-1) or at a place among them."""

    separator: str | None
    label_place: int = -1
    header: tuple[str, ...] = ()  # the names of all columns, also of the label, if files name them

    @classmethod
    def for_training(
        cls, path: str, separator: str | None, header: bool, label: str | None
    ) -> tuple["ColumnReader", Labeled]:
        """How to read files like this one, of which `label` names a column, and its sequences with their labels."""
        plain = cls(separator, header=("",) if header else ())
        names, table = plain._read(path)
        width = table.width
        if width == 1:
            raise DataError(display_name(path), None, "1 column, but at least 2 are needed: the word and its label.")
        place = _label_place(display_name(path), label, names, width)
        reader = cls(separator, -1 if place == width - 1 else place, names)
        return reader, reader._split(table)

    def metadata(self) -> dict[str, Any]:
        """What a model keeps, besides the place of the label, which its templates know."""
        return {"separator": self.separator, **({"header": list(self.header)} if self.header else {})}

    def labeled(self, path: str, n_columns: int) -> Labeled:
        """Sequences with as many columns as the model was trained on, and their labels."""
        names, table = self._read(path)
        if names != self.header and table.width == n_columns + 1:
            raise DataError(display_name(path), None, f"its columns are {_listed(names)}, not {_listed(self.header)}.")
        if table.width != n_columns + 1:
            place = "the label last" if self.label_place == -1 else f"the label in column {self.label_place}"
            raise DataError(
                display_name(path), None, f"{counted(table.width, 'column')}, but {n_columns + 1} are needed, {place}."
            )
        return self._split(table)

    def meanings(self, table: "_core.ColumnTable", labels: list[list[str]]) -> list[list[str]]:
        """The labels."""
        return labels

    def lines(self, path: str) -> Iterator[list[int]]:
        """For each sequence of a file, the numbers of the lines of its tokens."""
        from margrave.datasets.columns import COLUMN_BLANKS
        from margrave.datasets.opening import read_lines

        named = bool(self.header)
        for filled, group in groupby(read_lines(path), lambda line: bool(line[1].strip(COLUMN_BLANKS))):
            numbers = [number for number, _ in group][named and filled :]
            named = named and not filled
            if filled and numbers:
                yield numbers

    def unlabeled(self, path: str, n_columns: int, marginals: bool) -> tuple[str, Iterator[Callable[[], Batch]]]:
        """The header, if files have one, and the sequences; both are empty for an empty file."""
        blocks = self._blocks(path, BLOCK)
        names, first = self._first(path, blocks)
        if first is None and not names:
            return "", iter(())
        width = len(names) if first is None else first.table.width
        if width not in (n_columns, n_columns + 1):
            expected = f"the model was trained on {counted(n_columns, 'column')} and a label"
            raise DataError(display_name(path), None, f"{counted(width, 'column')}, but {expected}.")
        header = self._output_header(display_name(path), names, width, marginals) if self.header else ""
        if first is None:
            return header, iter(())
        first.check()
        above, gaps = _gaps(first.block.text, header=bool(header))
        header = "\n" * above + header
        rest = (partial(self._batch, name, block, width) for name, block in blocks)
        return header, chain([lambda: self._written(first.table, gaps)], rest)

    def _blocks(self, path: str, size: int | None) -> Iterator[tuple[str, "Block"]]:
        """The pieces of a file, each with the name of the file in messages."""
        from margrave.datasets.columns import COLUMN_BLANKS, check_separator
        from margrave.datasets.opening import read_blocks, source_name

        check_separator(self.separator)
        data = binary_source(path)
        return ((source_name(data), block) for block in read_blocks(data, COLUMN_BLANKS, size))

    def _read(self, path: str) -> tuple[tuple[str, ...], "_core.ColumnTable"]:
        """The names of the columns, if the file has them, and all of its sequences, at least one."""
        names, read = self._first(path, self._blocks(path, None))
        if read is None:
            raise DataError(display_name(path), None, "it contains no sequences.")
        read.check()
        return names, read.table

    def _first(self, path: str, blocks: Iterator[tuple[str, "Block"]]) -> tuple[tuple[str, ...], "_Read | None"]:
        """The names of the columns, if the file has them, and the first block with a sequence and all that is before.

        A mistake behind its first sequence is not reported yet, because other things may be wrong with the file.
        """
        names: tuple[str, ...] = ()
        before = b""
        for name, block in blocks:
            joined = block._replace(first=1, text=before + block.text)
            read = self._parsed(name, joined, 0, header=bool(self.header))
            names = tuple(read.names)
            if len(read.table):
                return names, read
            read.check()
            before = joined.text
        return names, None

    def _batch(self, name: str, block: "Block", width: int) -> Batch:
        read = self._parsed(name, block, width, header=False)
        read.check()
        return self._written(read.table, _gaps(block.text)[1])

    def _parsed(self, name: str, block: "Block", width: int, header: bool) -> "_Read":
        from margrave import _core
        from margrave.datasets.columns import column_sentences
        from margrave.datasets.opening import block_lines

        separator = None if self.separator is None else self.separator.encode("utf-8", "surrogatepass")
        table, names, stopped = _core.parse_columns(block.text, separator, width, header)
        again = column_sentences(name, block_lines(name, block), separator=self.separator, width=width)
        return _Read(name, block, table, names, stopped, again)

    def _written(self, table: "_core.ColumnTable", gaps: Sequence[int]) -> Batch:
        """Every row with its label, and as many blank lines between sequences as in the input."""

        def lines(*labeled: Any) -> str:
            return _laid_out(table.lines(self.separator or " ", *labeled), gaps)

        return Batch(table, lines)

    def _split(self, table: "_core.ColumnTable") -> Labeled:
        """The columns before and after the label, and the labels."""
        place = self.label_place % table.width
        return table.without_column(place), table.column(place)

    def _output_header(self, path: str, names: Sequence[str], width: int, marginals: bool) -> str:
        """The header of the input, which must be that of the training, and the names of the columns that are added."""
        label = self.header[self.label_place]
        right, added = self.header, f"predicted_{label}"
        if width < len(self.header):
            place = self.label_place % len(self.header)
            right, added = (*self.header[:place], *self.header[place + 1 :]), label
        if names != right:
            raise DataError(path, None, f"its columns are {_listed(names)}, not {_listed(right)}.")
        return (self.separator or " ").join([*names, added, *(["probability"] if marginals else [])])


@dataclass(eq=False, repr=False)
class _Read:
    """What the core has read of a block: the sequences before the first mistake."""

    name: str
    block: "Block"
    table: Any
    names: Sequence[str]
    stopped: int  # the line of the mistake within the block, or 0
    again: Iterable[Any]  # the block as the reader in Python reads it, which says what is wrong

    def check(self) -> None:
        """Refuses a block with a mistake, or one behind which the file cannot be read."""
        from margrave.datasets.opening import check_block

        check_block(self.name, self.block, self.stopped, self.again)


_BLANK = re.compile(rb"^(?:[ \t\r\f\v]*\n)+", re.MULTILINE)  # lines of blanks, one after another


def _gaps(text: bytes, *, header: bool = False) -> tuple[int, list[int]]:
    """The number of blank lines above the header, if there is one, before the first sequence, and after each."""
    runs = [(run.start(), run.end(), run[0].count(b"\n")) for run in _BLANK.finditer(text)]
    above = first = 0
    if header:
        if runs and runs[0][0] == 0:
            _, first, above = runs.pop(0)
        first = text.index(b"\n", first) + 1
    leading = runs.pop(0)[2] if runs and runs[0][0] == first else 0
    open_end = not runs or runs[-1][1] < len(text)  # The last sequence has no blank line behind it, and gets one.
    return above, [leading, *(lines for _, _, lines in runs), *([1] if open_end else [])]


def _laid_out(text: str, gaps: Sequence[int]) -> str:
    """A text that has a blank line after each sequence, with these numbers of blank lines instead."""
    leading, *after = gaps
    if not leading and all(lines == 1 for lines in after):
        return text
    sequences = text.split("\n\n")[:-1]
    ended = (f"{rows}\n" + "\n" * lines for rows, lines in zip(sequences, after, strict=True))
    return "\n" * leading + "".join(ended)


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

    def labeled(self, path: str, n_columns: int) -> Labeled:
        """The columns of all sentences, and the labels, of which there are some."""
        for name, block in conllu.read_text(path, None):
            table = conllu.parse(name, block, [*self.columns, self.label]).table
        place = len(self.columns)
        y = table.column(place)
        if all(label == conllu.MISSING for labels in y for label in labels):
            raise DataError(display_name(path), None, f"none of its words has a label in {self.label}.")
        X = table.without_column(place)
        return X, as_rules(self._forms(X), y) if self.label == LEMMA else y

    def meanings(self, table: "_core.ColumnTable", labels: list[list[str]]) -> list[list[str]]:
        """The labels; lemmas instead of the rules that make them."""
        return as_lemmas(self._forms(table), labels) if self.label == LEMMA else labels

    def _forms(self, table: "_core.ColumnTable") -> list[list[str]]:
        return table.column(self.columns.index("form"))

    def lines(self, path: str) -> Iterator[list[int]]:
        """For each sentence of a file, the numbers of the lines of its words."""
        from margrave.datasets.conllu import CONLLU_BLANKS
        from margrave.datasets.opening import read_lines

        for _, group in groupby(read_lines(path), lambda line: bool(line[1].strip(CONLLU_BLANKS))):
            numbers = [number for number, line in group if line.partition("\t")[0].isdecimal()]
            if numbers:
                yield numbers

    def unlabeled(self, path: str, n_columns: int, marginals: bool) -> tuple[str, Iterator[Callable[[], Batch]]]:
        """The sentences of a file."""
        pieces = conllu.read_text(path, BLOCK, needed=False)
        return "", (partial(self._batch, name, block) for name, block in pieces)

    def _batch(self, name: str, block: "Block") -> Batch:
        text = conllu.parse(name, block, self.columns)
        if self.label != LEMMA:
            return Batch(text.table, partial(_with_label, block.mark, text, self.label))

        def lines(rules: list[str], numbers: "NDArray[np.int32]", probabilities: "NDArray[np.float64] | None") -> str:
            lemmas = numbered_lemmas(self._forms(text.table), rules, numbers)
            return _with_label(block.mark, text, self.label, *lemmas, probabilities)

        return Batch(text.table, lines)


def _with_label(
    mark: str,
    text: "_core.ConlluText",
    column: str,
    labels: list[str],
    numbers: "NDArray[np.int32]",
    probabilities: "NDArray[np.float64] | None",
) -> str:
    """The lines of a text with the labels in a column."""
    return mark + text.lines([(conllu.place(column), labels, numbers)], probabilities)
