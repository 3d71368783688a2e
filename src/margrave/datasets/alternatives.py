"""Further right spans of tagged sequences, in a file beside that of the tags."""

from collections.abc import Sequence

from margrave.checks import natural
from margrave.data.tags import Answers
from margrave.datasets.opening import TextSource, read_lines, source_name
from margrave.errors import DataError, MargraveError, counted, quoted


def read_alternatives(source: TextSource, Y: Sequence[Sequence[str]], encoding: str = "utf-8") -> list[Answers]:
    """Read alternatives to the spans of sequences; return the tags together with them.

    A line has the number of a sequence, a label, the first token of the span, and the token behind its last one, all
    counted from 0 and separated by blanks or tabs.

    Parameters
    ----------
    source : the file (plain or gzip) or open stream.
    Y : the tags of each sequence.
    encoding : the encoding of the file.

    >>> from io import StringIO
    >>> read_alternatives(StringIO("0 GENE 2 3"), [["O", "B-GENE", "I-GENE"]])[0].alternatives
    [Span(label='GENE', start=2, stop=3)]
    """
    name = source_name(source)
    found = [Answers(tags) for tags in Y]
    for number, line in read_lines(source, encoding):
        if not line.strip():
            continue
        label, numbers = _fields(line.split())
        if numbers is None:
            raise DataError(
                name,
                number,
                f"expected the number of a sequence, a label and two positions, not {quoted(line.strip())}.",
            )
        i, start, stop = numbers
        if i >= len(found):
            raise DataError(name, number, f"sequence {i}, but there are {counted(len(found), 'sequence')}, from 0 on.")
        try:
            found[i].alternatives += Answers(found[i], [(label, start, stop)]).alternatives
        except MargraveError as error:
            raise DataError(name, number, str(error)) from None
    return found


def _fields(fields: Sequence[str]) -> tuple[str, list[int] | None]:
    """The label, and the numbers of the sequence and of both positions, if the fields are these four."""
    if len(fields) != 4:
        return "", None
    sequence, label, *positions = fields
    numbers = [number for text in (sequence, *positions) if (number := natural(text)) is not None]
    return label, numbers if len(numbers) == 3 else None
