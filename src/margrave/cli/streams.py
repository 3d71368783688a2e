"""What goes in and out of a command: standard input, lines of output, one-line messages, Ctrl-C."""

import os
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from itertools import islice
from typing import TYPE_CHECKING, TextIO, TypeVar

import typer

from margrave.errors import DataError, MargraveError
from margrave.files.output import check_output, reason

if TYPE_CHECKING:
    from margrave.datasets.opening import TextSource

Item = TypeVar("Item")

INTERRUPTED = 130  # the exit code by which shells know Ctrl-C


def source(path: str) -> str | TextIO:
    """What a reader is to open; - is standard input."""
    if path != "-":
        return path
    # bad bytes are escaped, as in files: the reader then names their line
    return TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "surrogateescape", newline="\n")


def shown_name(path: str) -> str:
    """How messages call an input."""
    return "<stdin>" if path == "-" else path


class _Kept(StringIO):
    """Text that can be read again, under the name of where it came from."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


def first_line(path: str, what: str) -> tuple[str, "TextSource"]:
    """The first line that says something, and the data from their beginning; a pipe is kept to be read again.

    `what` a file holds is what the message about an empty one misses.
    """
    from margrave.datasets.opening import read_lines

    kept: TextSource = path
    if path == "-" or not os.path.isfile(path):
        kept = _Kept("\n".join(line for _, line in read_lines(source(path))), shown_name(path))
    first = next((line for _, line in read_lines(kept) if line.partition("#")[0].strip()), None)
    if isinstance(kept, _Kept):
        kept.seek(0)
    if first is None:
        raise DataError(shown_name(path), None, f"it holds no {what}.")
    return first, kept


def template_lines(path: str) -> list[str]:
    """The templates of a file, one per line; # begins a comment."""
    from margrave.datasets.opening import read_lines

    return [text for _, line in read_lines(path) if (text := line.partition("#")[0].strip())]


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """So many at a time."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def check_place(path: str, inputs: Iterable[str | None]) -> None:
    """Refuses a file that could not be written, or is also read, before any work is done for it."""
    target = check_output(path)
    for read in inputs:
        if read is not None and os.path.exists(read) and os.path.exists(target) and os.path.samefile(read, target):
            raise DataError(path, None, "it is both read and to be written: give the output another name.")


def write(text: str) -> None:
    """A line, or lines, on standard output, in UTF-8 as the files are."""
    try:
        sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    except OSError:
        # What could not be written would be tried again, and complained of, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def complain(text: str) -> None:
    """A line on standard error."""
    print(f"margrave: {text}", file=sys.stderr, flush=True)


@contextmanager
def one_line_messages(interrupted: str) -> Iterator[None]:
    """Errors, warnings and Ctrl-C as one line each on standard error, and never a traceback."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except BrokenPipeError:  # the reader, such as `head`, has seen enough: typer ends silently
            raise
        except MargraveError as error:
            complain(str(error))
            raise typer.Exit(2) from error
        except OSError as error:
            name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
            complain(f"{name}{reason(error)}.")
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            complain(interrupted)
            raise typer.Exit(INTERRUPTED) from error


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    complain(f"warning: {message}")


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Names the file in an error about its contents that the library finds."""
    try:
        yield
    except DataError:
        raise
    except MargraveError as error:
        raise DataError(shown_name(path), None, str(error)) from error


@contextmanager
def no_interrupt() -> Iterator[None]:
    """Ctrl-C is not heard: pressed twice, the second would otherwise lose the model that the first ended."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
