"""Readers and writers of sequences: FASTA, aligned FASTA, and tables of pairs."""

from collections.abc import Container, Iterable, Iterator, Sequence
from os import PathLike

from margrave.data.alignments import matched_pairs
from margrave.datasets.opening import TextSource, read_lines, source_name, write_lines
from margrave.errors import DataError, MargraveError, quoted

GAPS = "-."


def read_fasta(
    path: TextSource, alphabet: Iterable[str] | None = None, *, aligned: bool = False, encoding: str = "utf-8"
) -> Iterator[tuple[str, str]]:
    """Read the names and sequences of a FASTA file.

    Parameters
    ----------
    path : a file or a stream.
    alphabet : the letters that sequences may have; None allows all.
    aligned : whether sequences have gaps, which are "-" and ".".
    encoding : of the file.
    """
    name = source_name(path)
    allowed = None if alphabet is None else set(alphabet)
    title: str | None = None
    begin, pieces = 0, list[str]()
    for number, line in read_lines(path, encoding):
        text = line.rstrip()
        if text.startswith(">"):
            if title is not None:
                yield title, _joined(name, begin, title, pieces)
            title, begin, pieces = text[1:].strip(), number, []
        elif text:
            if title is None:
                raise DataError(name, number, "a FASTA file begins with a line that starts with '>'.")
            for column, letter in enumerate(text, 1):
                if letter.isspace() or (letter in GAPS and not aligned):
                    raise DataError(name, number, f"column {column}: {quoted(letter)} is not a letter of a sequence.")
                if allowed is not None and letter not in allowed and letter not in GAPS:
                    raise DataError(
                        name, number, f"column {column}: the letter {quoted(letter)} is not in the alphabet."
                    )
            pieces.append(text)
    if title is not None:
        yield title, _joined(name, begin, title, pieces)


def _joined(name: str, line: int, title: str, pieces: Sequence[str]) -> str:
    sequence = "".join(pieces)
    if not sequence.strip(GAPS):
        raise DataError(name, line, f"the sequence {quoted(title)} is empty.")
    return sequence


def read_pairs(
    path: TextSource, alphabet: Container[str] | None = None, *, aligned: bool = True, encoding: str = "utf-8"
) -> tuple[list[tuple[str, str]], list[list[tuple[int, int]]]]:
    """Read pairs of sequences: a FASTA file in which every two sequences are a pair, or a table.

    A table has one pair per line: two sequences with a tab between them. Returns the pairs without gaps and, if they
    are aligned, their matched positions.

    Parameters
    ----------
    path : a file or a stream.
    alphabet : the letters that sequences may have; None allows all.
    aligned : whether both sequences of a pair are aligned; otherwise gaps are dropped.
    encoding : of the file.
    """
    name = source_name(path)
    lines = [(number, text.rstrip(" \r\n")) for number, text in read_lines(path, encoding)]
    first = next((text for _, text in lines if text.strip()), "")
    rows = _fasta_rows(name, lines) if first.startswith(">") else _table_rows(name, lines)
    X, y = [], []
    for names, number, pieces in rows:
        for line, column, text in pieces:
            for k, letter in enumerate(text):
                if letter.isspace() or (alphabet is not None and letter not in alphabet and letter not in GAPS):
                    raise DataError(
                        name, line, f"column {column + k}: the letter {quoted(letter)} is not in the alphabet."
                    )
        a, b = ("".join(text for _, _, text in half) for half in _halves(pieces))
        for text in (a, b):
            if not text.strip(GAPS):
                raise DataError(name, number, f"a sequence is empty{names}.")
        if aligned:
            try:
                y.append(matched_pairs(a, b, "", GAPS))
            except MargraveError as error:
                raise DataError(name, number, f"{str(error).rstrip('.')}{names}.") from None
        X.append((_without_gaps(a), _without_gaps(b)))
    return X, y


Piece = tuple[int, int, str]  # line, column of its first letter, text; the text of the second sequence follows None
Row = tuple[str, int, list[Piece]]  # the names of both sequences in brackets, if they have some; line, pieces
_BETWEEN = (0, 0, "")  # separates the pieces of two sequences


def _halves(pieces: list[Piece]) -> tuple[list[Piece], list[Piece]]:
    middle = pieces.index(_BETWEEN)
    return pieces[:middle], pieces[middle + 1 :]


def _fasta_rows(name: str, lines: Sequence[tuple[int, str]]) -> Iterator[Row]:
    """Every two records."""
    records: list[tuple[str, int, list[Piece]]] = []
    for number, text in lines:
        if text.startswith(">"):
            records.append((text[1:].strip(), number, []))
        elif text:
            records[-1][2].append((number, 1, text))
    if len(records) % 2:
        raise DataError(name, records[-1][1], f"every two sequences are a pair, and there are {len(records)}.")
    for (a, number, of_a), (b, _, of_b) in zip(records[::2], records[1::2], strict=True):
        yield f" ({a} and {b})", number, [*of_a, _BETWEEN, *of_b]


def _table_rows(name: str, lines: Sequence[tuple[int, str]]) -> Iterator[Row]:
    """Lines with two sequences."""
    for number, text in lines:
        if not text.strip():
            continue
        fields = text.split("\t")
        if len(fields) != 2:
            found = "no tab" if len(fields) == 1 else f"{len(fields)} fields"
            raise DataError(name, number, f"a line has two sequences and a tab between them, and this one has {found}.")
        yield "", number, [(number, 1, fields[0]), _BETWEEN, (number, len(fields[0]) + 2, fields[1])]


def _without_gaps(text: str) -> str:
    return text.replace("-", "").replace(".", "")


def write_aligned_fasta(path: str | PathLike[str], records: Iterable[tuple[str, str]]) -> None:
    """Write names and aligned sequences as FASTA.

    Parameters
    ----------
    path : the file.
    records : pairs of a name and a sequence.
    """
    write_lines(path, (line for name, sequence in records for line in (f">{name}", sequence)))
