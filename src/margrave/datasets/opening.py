"""Reading and writing text line by line: plain and gzip files and open streams. Errors name the file and the line."""

import gzip
import os
import re
import zlib
from codecs import BOM_UTF8, lookup
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from io import BufferedReader, TextIOWrapper
from os import PathLike
from typing import IO, NamedTuple

from margrave import _core
from margrave.errors import DataError, MargraveError, quoted
from margrave.files.output import replacing
from margrave.room import VARIABLE, longest_line

TextSource = str | PathLike[str] | IO[str]

_GZIP_MAGIC = b"\x1f\x8b"
_MARK = BOM_UTF8.decode()
_PIECE, _GZIP_PIECE = 1 << 18, 1 << 13  # bytes
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")  # how "surrogateescape" marks a byte that it could not decode


class Block(NamedTuple):
    """A piece of a file: whole sentences, and what stopped the reading behind them, if anything did."""

    first: int  # the number of its first line
    text: bytes
    failure: DataError | None = None
    mark: str = ""  # a byte order mark before its text


def read_lines(source: TextSource, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The numbered lines of a file (plain or gzip) or of an open text stream, without their line ends."""
    name = source_name(source)
    number = 0
    with _reporting(name, encoding, lambda: number), _opened(source, encoding) as stream:
        for number, ended in enumerate(stream if stream is source else _limited(name, stream), 1):
            yield number, _checked(name, number, ended, encoding)


def read_blocks(source: str | PathLike[str] | IO[bytes], blanks: str, size: int | None) -> Iterator[Block]:
    """The pieces of a UTF-8 file (plain or gzip) or of an open binary stream, for readers in the core.

    Parameters
    ----------
    source : the file or stream; a byte order mark at its beginning is not part of the text.
    blanks : lines of these characters only stand between sentences.
    size : roughly how many bytes a piece should have; None means everything at once.
    """
    number = 1  # of the first line that waits
    waiting: list[bytes] = []
    length, wanted = 0, size
    mark: str | None = None  # not looked for yet

    def joined() -> tuple[str, bytes]:
        """The byte order mark, if this is the beginning of the file, and all that waits."""
        text = b"".join(waiting)
        if mark is None and text.startswith(BOM_UTF8):
            return BOM_UTF8.decode(), text.removeprefix(BOM_UTF8)
        return mark or "", text

    try:
        with _reporting(source_name(source), "utf-8", lambda: number - 1 + sum(of.count(b"\n") for of in waiting)):
            for piece in _pieces(source):
                waiting.append(piece)
                length += len(piece)
                if wanted is None or length < wanted:
                    continue
                mark, text = joined()
                end = _core.after_last_blank_line(text, blanks)
                if end:
                    yield Block(number, text[:end], mark=mark)
                    number += text.count(b"\n", 0, end)
                    mark = ""
                waiting, length = [text[end:]], len(text) - end
                wanted = size if end else 2 * wanted  # for a sentence that is longer than a piece
    except DataError as failure:
        # What is wrong with the lines before comes first; an incomplete line is none.
        mark, text = joined()
        yield Block(number, text[: text.rfind(b"\n") + 1], failure, mark)
        return
    mark, text = joined()
    if text:
        yield Block(number, text, mark=mark)


def read_line_pieces(source: str | PathLike[str] | IO[bytes]) -> Iterator[bytes]:
    """The lines of a file (plain or gzip) or of an open binary stream, many at a time, for readers in the core.

    Parameters
    ----------
    source : the file or stream; a byte order mark at its beginning is left out.
    """
    lines = 0
    rest = b""
    with _reporting(source_name(source), "utf-8", lambda: lines):
        for first, piece in enumerate(_pieces(source)):
            text = rest + (piece.removeprefix(BOM_UTF8) if first == 0 else piece)
            end = text.rfind(b"\n") + 1
            rest = text[end:]
            if end:
                yield text[:end]
                lines += text.count(b"\n", 0, end)
    if rest:
        yield rest


def block_lines(name: str, block: Block) -> Iterator[tuple[int, str]]:
    """The numbered lines of a block, as `read_lines` gives those of a file; invalid characters are an error."""
    lines = block.text.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, block.first):
        yield number, _checked(name, number, line, "utf-8")


def check_block(name: str, block: Block, stopped: int, again: Iterable[object]) -> None:
    """Refuses a block in which a reader of the core found a mistake, or behind which the file cannot be read.

    Parameters
    ----------
    name : the name of the file in messages.
    block : the block that was read.
    stopped : the line of the mistake within the block, or 0.
    again : what the reader in Python makes of the block, which says what is wrong.
    """
    if stopped:
        for _ in again:
            pass
        # Both readers follow the same rules, and tests compare them.
        raise DataError(name, block.first + stopped - 1, "this line cannot be read.")
    if block.failure is not None:
        raise block.failure


def _limited(name: str, stream: IO[str]) -> Iterator[str]:
    """The lines of a file; one without end, such as that of a device, is refused before it fills the memory."""
    most = longest_line()
    for number, line in enumerate(iter(partial(stream.readline, most), ""), 1):
        if len(line) == most:
            raise DataError(
                name,
                number,
                f"the line has more than {most - 1} characters: if you trust the file, set the environment variable "
                f"{VARIABLE} to more than twice as many bytes.",
            )
        yield line


def _checked(name: str, number: int, ended: str, encoding: str) -> str:
    """A line without its end."""
    line = ended.removesuffix("\n").removesuffix("\r")
    if not line.isascii() and (escaped := _ESCAPED_BYTE.search(line)):
        raise DataError(name, number, _undecodable(encoding, f"byte 0x{ord(escaped[0]) - 0xDC00:02X}"))
    if "\0" in line:
        raise DataError(name, number, _undecodable(encoding, "a NUL character"))
    return line


@contextmanager
def _reporting(name: str, encoding: str, lines_read: Callable[[], int]) -> Iterator[None]:
    """Says what is wrong with a file that cannot be read on."""
    try:
        yield
    except LookupError as error:
        raise MargraveError(f"unknown encoding {quoted(encoding)}.") from error
    except UnicodeError as error:  # raised by streams that the caller opened, and by encodings such as UTF-16
        wrong = error.encoding if isinstance(error, UnicodeDecodeError) else encoding
        raise DataError(name, None, f"not valid {wrong} after line {lines_read()}.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(name, lines_read() + 1, "the gzip data are damaged or truncated here.") from error
    except FileNotFoundError as error:
        raise DataError(name, None, "no such file.") from error
    except IsADirectoryError as error:
        raise DataError(name, None, "a directory, not a file.") from error
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {error.strerror or error}.") from error


def write_lines(path: str | PathLike[str], lines: Iterable[str], *, marked: bool = False) -> None:
    """Write lines as UTF-8 under a temporary name that becomes `path` once complete; gzip if the name ends in .gz.

    Parameters
    ----------
    path : the file.
    lines : the lines, without their ends.
    marked : whether a byte order mark before the first line is one, and not the beginning of a word.
    """
    packed = os.fspath(path).endswith(".gz")
    try:
        with (
            replacing(path) as file,
            # The header contains neither name nor time, so that equal lines give equal bytes.
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else nullcontext(file) as binary,
        ):
            text = TextIOWrapper(binary, encoding="utf-8", newline="\n")
            for number, line in enumerate(lines):
                if number == 0 and line.startswith(_MARK) and not marked:
                    text.write(_MARK)  # Readers drop one, and the other is part of the line.
                text.write(line + "\n")
            text.detach()  # This writes the rest of the buffer.
    except UnicodeEncodeError as error:
        raise DataError(path, None, f"a character cannot be written as UTF-8 ({error.reason}).") from error


def note_begin(begins: dict[int, int], what: str, id: int, name: str, line: int) -> None:
    """Store the line at which the lines of an id begin; raise an error if the id occurred before."""
    if id in begins:
        message = f"{what} {id} occurs again after {what} {next(reversed(begins))}; it began in line {begins[id]}."
        raise DataError(name, line, message)
    begins[id] = line


def source_name(source: TextSource | IO[bytes]) -> str:
    """The name of the file or stream in error messages."""
    if isinstance(source, (str, PathLike)):
        return os.fspath(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


@contextmanager
def _opened(source: TextSource, encoding: str) -> Iterator[IO[str]]:
    if not isinstance(source, (str, PathLike)):
        yield source
        return
    utf8 = lookup(encoding).name == "utf-8"
    with (
        _unpacked(source) as binary,
        # Invalid bytes are escaped here and reported later: the decoder works in blocks and does not know the
        # line. "utf-8-sig" drops a byte order mark, which would otherwise become part of the first token.
        TextIOWrapper(binary, "utf-8-sig" if utf8 else encoding, "surrogateescape", newline="\n") as text,
    ):
        yield text


@contextmanager
def _unpacked(path: str | PathLike[str]) -> Iterator[BufferedReader | gzip.GzipFile]:
    with open(path, "rb") as file:
        packed = file.peek(2)[:2] == _GZIP_MAGIC  # The file can be a pipe, so that seek is impossible.
        with gzip.GzipFile(fileobj=file) if packed else nullcontext(file) as binary:
            yield binary


def _pieces(source: str | PathLike[str] | IO[bytes]) -> Iterator[bytes]:
    """What a file or stream has, as it comes."""
    # `read1` returns what there is. `read` would wait for more of a pipe, and miss a Ctrl-C between two parts.
    if not isinstance(source, (str, PathLike)):
        yield from iter(partial(getattr(source, "read1", source.read), _PIECE), b"")
        return
    with _unpacked(source) as binary:
        # Gzip data are read in small pieces, so that everything before a damaged place is known.
        yield from iter(partial(binary.read1, _GZIP_PIECE if isinstance(binary, gzip.GzipFile) else _PIECE), b"")


def _undecodable(encoding: str, what: str) -> str:
    return f"not valid {encoding.upper()} text ({what}); convert it to UTF-8, or pass encoding= in Python."
