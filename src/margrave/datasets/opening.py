"""Reading and writing text line by line: plain and gzip files and open streams. Errors name the file and the line."""

import gzip
import os
import re
import zlib
from codecs import lookup
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from os import PathLike
from typing import IO

from margrave.errors import DataError, MargraveError
from margrave.files.output import replacing

TextSource = str | PathLike[str] | IO[str]

_GZIP_MAGIC = b"\x1f\x8b"
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")  # how "surrogateescape" marks a byte that it could not decode


def read_lines(source: TextSource, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The numbered lines of a file (plain or gzip) or of an open text stream, without their line ends."""
    name = source_name(source)
    number = 0
    try:
        with _opened(source, encoding) as stream:
            for number, ended in enumerate(stream, 1):
                line = ended.removesuffix("\n").removesuffix("\r")
                if not line.isascii() and (escaped := _ESCAPED_BYTE.search(line)):
                    raise DataError(name, number, _undecodable(encoding, f"byte 0x{ord(escaped[0]) - 0xDC00:02X}"))
                if "\0" in line:
                    raise DataError(name, number, _undecodable(encoding, "a NUL character"))
                yield number, line
    except LookupError as error:
        raise MargraveError(f"unknown encoding {encoding!r}.") from error
    except UnicodeDecodeError as error:  # raised by streams that the caller opened, and by encodings such as UTF-16
        raise DataError(name, None, f"not valid {error.encoding} after line {number}.") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(name, number + 1, "the gzip data are damaged or truncated here.") from error
    except FileNotFoundError as error:
        raise DataError(name, None, "no such file.") from error
    except IsADirectoryError as error:
        raise DataError(name, None, "a directory, not a file.") from error
    except OSError as error:
        raise DataError(name, None, f"cannot be read: {error.strerror or error}.") from error


def write_lines(path: str | PathLike[str], lines: Iterable[str]) -> None:
    """Write lines as UTF-8 under a temporary name that becomes `path` once complete; gzip if the name ends in .gz."""
    packed = os.fspath(path).endswith(".gz")
    try:
        with (
            replacing(path) as file,
            # The header contains neither name nor time, so that equal lines give equal bytes.
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) if packed else nullcontext(file) as binary,
        ):
            text = TextIOWrapper(binary, encoding="utf-8", newline="\n")
            for line in lines:
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


def source_name(source: TextSource) -> str:
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
    with open(source, "rb") as file:
        packed = file.peek(2)[:2] == _GZIP_MAGIC  # The file can be a pipe, so that seek is impossible.
        with (
            gzip.GzipFile(fileobj=file) if packed else nullcontext(file) as binary,
            # Invalid bytes are escaped here and reported later: the decoder works in blocks and does not know the
            # line. "utf-8-sig" drops a byte order mark, which would otherwise become part of the first token.
            TextIOWrapper(binary, "utf-8-sig" if utf8 else encoding, "surrogateescape", newline="\n") as text,
        ):
            yield text


def _undecodable(encoding: str, what: str) -> str:
    return f"not valid {encoding.upper()} text ({what}); convert it to UTF-8, or pass encoding= in Python."
