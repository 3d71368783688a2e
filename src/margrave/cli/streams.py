"""Input and output of commands: standard input, lines of output, one-line messages, Ctrl-C."""

import errno
import os
import signal
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from io import BufferedWriter, FileIO, StringIO, TextIOWrapper
from itertools import islice
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeVar

import typer

from margrave.cli.options import CommandOption, in_options
from margrave.errors import DataError, MargraveError
from margrave.files.output import check_output, reason

if TYPE_CHECKING:
    from margrave.datasets.opening import TextSource

Item = TypeVar("Item")
Owned = TypeVar("Owned")
Result = TypeVar("Result")

INTERRUPTED = 130  # the exit code by which shells know Ctrl-C
_STANDARD_OUTPUT = 1  # its file descriptor
# What asks a program to end: Ctrl-C, the system, and a terminal that is closed.
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def source(path: str) -> str | TextIO:
    """What a reader opens for this path; - is standard input."""
    if path != "-":
        return path
    # Bad bytes are escaped, as in files, so the reader can name their line.
    return TextIOWrapper(_standard_input(), "utf-8-sig", "surrogateescape", newline="\n")


def binary_source(path: str) -> str | IO[bytes]:
    """The same for a reader that takes bytes."""
    return path if path != "-" else _standard_input()


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:  # The command was started with <&-.
        raise DataError(display_name("-"), None, "cannot be read: it is closed.")
    return sys.stdin.buffer


def display_name(path: str) -> str:
    """The name of an input in messages."""
    return "<stdin>" if path == "-" else path


class StandardOutput(FileIO):
    """Standard output, in which every byte is accounted for: it is written, or an error names the stream.

    It is meant to be buffered, since a buffer repeats a write that took only some of the bytes. With PYTHONUNBUFFERED,
    Python's own stream is not, and ignores how many bytes a full disk took.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._failed = False

    def write(self, data: Any) -> int:
        """Writes bytes; after an error, it drops what Python tries to write once more at exit."""
        if self._failed:
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except OSError as error:
            self._failed = True
            why = "it is closed" if error.errno == errno.EBADF else error.strerror
            raise OSError(error.errno, why, "<stdout>") from error


def open_standard_streams() -> None:
    """Prepares the output streams of a process of the command line."""
    if sys.stderr is None:  # The command was started with 2>&-, and print would write to standard output instead.
        sys.stderr = TextIOWrapper(FileIO(os.devnull, "w"), "utf-8", "backslashreplace")
    if sys.stdout is None:  # The same with >&-: a file that cannot be written to fails like a closed one.
        encoding, errors = "utf-8", "strict"
        os.dup2(os.open(os.devnull, os.O_RDONLY), _STANDARD_OUTPUT)
    else:
        encoding, errors = sys.stdout.encoding, sys.stdout.errors or "strict"
        sys.stdout.flush()
    sys.stdout = TextIOWrapper(BufferedWriter(StandardOutput(_STANDARD_OUTPUT)), encoding, errors)


class _Buffered(StringIO):
    """Text in memory, under the name of the stream that it came from."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


def first_line(path: str, what: str) -> tuple[str, "TextSource"]:
    """The first line that is neither blank nor a comment, and the data from their beginning; a pipe is buffered.

    `what` names the contents in the message about an empty file.
    """
    from margrave.datasets.opening import read_lines

    data: TextSource = path
    if path == "-" or not os.path.isfile(path):
        data = _Buffered("\n".join(line for _, line in read_lines(source(path))), display_name(path))
    first = next((line for _, line in read_lines(data) if line.partition("#")[0].strip()), None)
    if isinstance(data, _Buffered):
        data.seek(0)
    if first is None:
        raise DataError(display_name(path), None, f"it contains no {what}.")
    return first, data


def template_lines(path: str) -> list[str]:
    """The templates of a file, one per line; # begins a comment."""
    from margrave.datasets.opening import read_lines

    return [text for _, line in read_lines(path) if (text := line.partition("#")[0].strip())]


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of at most `size` items, in order."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def in_order(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """What `work` makes of each item, in the order of the items; on several threads, a few items ahead at most."""
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def with_own(owned: Sequence[Owned], work: Callable[[Owned, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """What `work` makes of each item, in order, on as many threads as there are things to own, one for each."""
    free: SimpleQueue[Owned] = SimpleQueue()
    for each in owned:
        free.put(each)

    def with_one(item: Item) -> Result:
        own = free.get()
        try:
            return work(own, item)
        finally:
            free.put(own)

    return in_order(with_one, items, len(owned))


def check_place(path: str, inputs: Iterable[str | None]) -> None:
    """Refuses, before any work is done, an output file that cannot be written or that is also an input."""
    target = check_output(path)
    for read in inputs:
        if read is not None and os.path.exists(read) and os.path.exists(target) and os.path.samefile(read, target):
            raise DataError(path, None, "it is both read and to be written: give the output another name.")


def write(text: str) -> None:
    """Writes lines to standard output, in UTF-8 as in files."""
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    sys.stdout.flush()


def write_error(text: str) -> None:
    """Writes a line to standard error, unless the caller has closed it."""
    if sys.stderr is not None:
        print(f"margrave: {text}", file=sys.stderr, flush=True)


@contextmanager
def one_line_messages(interrupted: str, options: Sequence[CommandOption] = ()) -> Iterator[None]:
    """Shows errors, warnings and Ctrl-C as one line each on standard error, never as a traceback.

    Messages of the library name the options of the command instead of parameters.
    """

    def show_warning(message: Warning | str, *place: Any, **more: Any) -> None:
        text = message.args[0] if isinstance(message, Warning) and message.args else message
        write_error(f"warning: {in_options(text, options)}")

    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        try:
            yield
        except BrokenPipeError:  # A reader such as `head` has closed the pipe: typer ends silently.
            raise
        except MargraveError as error:
            write_error(in_options(error.message, options))
            raise typer.Exit(2) from error
        except typer.TyperException as error:  # The arguments are wrong.
            message = error.format_message()
            if "\n" in message:  # This is the help, for a command without arguments.
                raise
            context = getattr(error, "ctx", None)
            place = "margrave" if context is None else context.command_path
            write_error(f"{message[:1].lower()}{message[1:].rstrip('.')}; see '{place} --help'.")
            raise typer.Exit(2) from error
        except ImportError as error:
            if error.name is not None:  # A module is missing or broken: the traceback says where.
                raise
            write_error(str(error))  # The core refuses an instruction set that this processor lacks.
            raise typer.Exit(2) from error
        except OSError as error:
            name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
            write_error(f"{name}{reason(error)}.")
            raise typer.Exit(2) from error
        except MemoryError as error:  # outside of a fit, which says more
            write_error("out of memory: use less data at a time, or fewer threads.")
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            write_error(interrupted)
            raise typer.Exit(interrupted_code()) from error


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Names the file in an error about its contents that the library finds."""
    try:
        yield
    except DataError:
        raise
    except MargraveError as error:
        raise DataError(display_name(path), None, error.message) from error


class _Ending:
    """Turns a signal that asks the program to end into Ctrl-C, and has the exit code by which shells know it."""

    code = INTERRUPTED

    def __call__(self, number: int, frame: object) -> None:
        self.code = 128 + number
        raise KeyboardInterrupt


_ending = _Ending()


def interrupted_code() -> int:
    """The exit code of a command that was asked to end."""
    return _ending.code


def end_as_by_ctrl_c() -> None:
    """Ends commands in the same way for all such signals, so that no temporary file is left.

    A signal that is ignored, as by nohup, stays so.
    """
    for each in _ENDING:
        if signal.getsignal(each) is signal.SIG_DFL:
            signal.signal(each, _ending)


@contextmanager
def no_interrupt() -> Iterator[None]:
    """Ignores Ctrl-C: pressed a second time, it would otherwise lose the model that is being saved."""
    before = [(each, signal.signal(each, signal.SIG_IGN)) for each in _ENDING]
    try:
        yield
    finally:
        for each, handler in before:
            signal.signal(each, handler)
