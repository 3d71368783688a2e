"""One safe file format: a safetensors file with a JSON header and a checksum over every byte.

The layout is that of safetensors (https://huggingface.co/docs/safetensors), so that any safetensors reader can open a
model, and nothing in the file is ever executed. We do not use the safetensors library, because it has no checksum. The
arrays are read-only views of one block of memory: a copy of the file or, if asked for, a map of it.

    8 bytes     N, the length of the table, little-endian
    N bytes     the table, JSON: {"__metadata__": {"checksum": ..., "margrave": ...}, name: dtype, shape and offsets};
                padded with spaces so that the tensors are aligned
    the rest    the tensors, little-endian, row-major, without gaps (the format allows none), widest dtype first,
                so that each is aligned to its dtype

"margrave" is the JSON text {"format": 4, "header": {...}}. "checksum" is the SHA-256 of the whole file, computed with
zeros in place of its own 64 digits.
"""

import hashlib
import io
import json
import math
import mmap
import os
import stat
from collections.abc import Iterable, Mapping
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import DataError, MargraveError, quoted
from margrave.files.output import reason, replacing
from margrave.memory import check_memory

FORMAT_VERSION = 4
OLDEST_FORMAT = 4  # From this one on, all formats are read for ever; tests/files/old has files of every release.

_ALIGNMENT = 64  # a cache line
_MAX_TABLE = 100_000_000  # in bytes; the limit of the safetensors library
_MOST_DEPTH = 100  # of the header: objects within objects, each of them in a few levels of lists
_NO_CHECKSUM = "0" * 64
_IN_MEMORY = "a pickled model"  # which messages name in place of a file
_DTYPES = {
    name: np.dtype(code)
    for name, code in {
        "F64": "<f8", "I64": "<i8", "U64": "<u8",
        "F32": "<f4", "I32": "<i4", "U32": "<u4",
        "F16": "<f2", "I16": "<i2", "U16": "<u2",
        "I8": "i1", "U8": "u1", "BOOL": "?",
    }.items()
}  # fmt: skip
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def write(
    path: str | PathLike[str], header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]], *, alone: bool = False
) -> None:
    """Write a model file; after a failure, an existing file is unchanged.

    With `alone`, no other process writes the file. Its temporary name is then always the same, so that a process that
    is killed repeatedly leaves at most one temporary file.
    """
    contents = _contents(path, header, arrays)
    with replacing(path, alone=alone) as file:
        file.writelines(contents)


def to_bytes(header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes that `write` would write, for pickles and copies."""
    return b"".join(_contents(_IN_MEMORY, header, arrays))


def _contents(
    path: str | PathLike[str], header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]
) -> list[bytes | memoryview]:
    """The bytes of a file, piece by piece."""
    tensors = {name: _portable(path, name, array) for name, array in arrays.items()}
    order = sorted(tensors, key=lambda name: -tensors[name].itemsize)
    contents = [tensors[name].reshape(-1).view(np.uint8).data for name in order]

    ends = np.cumsum([0, *(len(content) for content in contents)]).tolist()
    offsets = dict(zip(order, pairwise(ends), strict=True))
    # The checksum comes first in the table, so that the first run of 64 zeros is the checksum.
    table = {"__metadata__": {"checksum": _NO_CHECKSUM, "margrave": _header_text(path, header)}} | {
        name: {"dtype": _DTYPE_NAMES[tensor.dtype], "shape": tensor.shape, "data_offsets": offsets[name]}
        for name, tensor in tensors.items()
    }
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    if len(text) > _MAX_TABLE:
        raise DataError(path, None, f"a header of {len(text)} bytes is too long: pass long lists as arrays.")

    head = len(text).to_bytes(8, "little") + text
    checksum = _checksum(head, *contents)
    return [head.replace(_NO_CHECKSUM.encode(), checksum.encode(), 1), *contents]


def read(path: str | PathLike[str], *, mapped: bool = False) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """Read the header and the arrays of a model file; the arrays are read-only.

    With `mapped`, they are views of the memory-mapped file, which all processes that map it share. They then change
    with the file: a process that reads them after the file was overwritten in place and became shorter is killed.
    """
    return _parsed(path, _content(path, mapped))


def from_bytes(content: bytes) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """Read what `to_bytes` returned; the arrays can be written to."""
    return _parsed(_IN_MEMORY, memoryview(bytearray(content)))


def _parsed(path: str | PathLike[str], content: memoryview) -> tuple[dict[str, object], dict[str, NDArray[Any]]]:
    """The header and the arrays of the bytes of a file."""
    start, table = _table(path, content)
    metadata = table.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get("margrave"), str):
        raise DataError(path, None, "a safetensors file, but not a model written by Margrave.")
    header = _header(path, metadata["margrave"])  # This is first, because another format can differ in anything below.
    arrays = _views(path, content, start, table)
    _verify(path, content, start, metadata.get("checksum"))
    return header, arrays


def encode_strings(strings: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Encode strings as two arrays: their concatenated UTF-8 bytes, and the offset of each, followed by the end.

    >>> blob, offsets = encode_strings(["the", "", "dog"])
    >>> bytes(blob), offsets.tolist()
    (b'thedog', [0, 3, 3, 6])
    """
    # Lone surrogates, which come from text decoded with "surrogateescape", must be preserved.
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(string) for string in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def decode_strings(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Decode the arrays that `encode_strings` returned."""
    if blob.dtype != np.uint8 or offsets.dtype != np.int64 or blob.ndim != 1 or offsets.ndim != 1 or not offsets.size:
        raise MargraveError("damaged strings: expected a row of bytes and a row of at least one 64-bit offset.")
    if offsets[0] != 0 or offsets[-1] != blob.size or (offsets[1:] < offsets[:-1]).any():
        raise MargraveError(f"damaged strings: the offsets do not rise from 0 to {blob.size}.")
    content = blob.tobytes()
    try:
        return [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(offsets.tolist())]
    except UnicodeDecodeError as error:
        raise MargraveError("damaged strings: the bytes are not UTF-8.") from error


def _portable(path: str | PathLike[str], name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array in row-major order and little-endian; it is copied only if necessary."""
    dtype = array.dtype.newbyteorder("<")
    if dtype not in _DTYPE_NAMES:
        raise DataError(
            path, None, f"array {quoted(name)} of {array.dtype} cannot be stored (only real numbers and bool)."
        )
    if name == "__metadata__":
        raise DataError(path, None, "no array can be named '__metadata__'.")
    return np.asarray(array, dtype, order="C")


def _header_text(path: str | PathLike[str], header: Mapping[str, object]) -> str:
    content = {"format": FORMAT_VERSION, "header": dict(header)}
    if _is_deep(content):
        raise DataError(path, None, f"the header nests deeper than {_MOST_DEPTH} levels, which cannot be read again.")
    try:
        return json.dumps(content, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataError(path, None, f"the header is not JSON ({error}).") from error


def _checksum(head: bytes, *contents: memoryview) -> str:
    digest = hashlib.sha256(head)
    for content in contents:
        digest.update(content)
    return digest.hexdigest()


def _content(path: str | PathLike[str], mapped: bool) -> memoryview:
    """The bytes of the file, copied or mapped; they are read-only and begin at a multiple of `_ALIGNMENT`."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise DataError(path, None, "a directory, not a model file.")
        if not stat.S_ISREG(mode):  # Opening a pipe would wait forever.
            raise DataError(path, None, "not a regular file.")
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise DataError(path, None, "an empty file, not a model.")
            if mapped:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            _check_beginning(path, os.pread(file.fileno(), 9, 0))  # Any file could be given, also a very large one.
            check_memory(size, f"{os.fspath(path)}: a copy", "free some memory, or load a model with mmap=True")
            return _copied(file, size)
    except OSError as error:
        raise DataError(path, None, f"cannot be read: {reason(error)}.") from error


def _copied(file: io.FileIO, size: int) -> memoryview:
    """The first `size` bytes of the file, or fewer if another process has shortened it."""
    # Memory of its own begins at a page, and where the system can fill all pages at once, no page fault costs time.
    room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_POPULATE", 0))
    done = 0
    with memoryview(room) as buffer:
        while count := file.readinto(buffer[done:]):  # One call reads at most about two gigabytes.
            done += count
    return memoryview(room)[:done].toreadonly()


def _check_beginning(path: str | PathLike[str], beginning: bytes) -> int:
    """The length of the table, from the first nine bytes of the file."""
    length = int.from_bytes(beginning[:8], "little")
    if len(beginning) < 8 or length > _MAX_TABLE or beginning[8:9] not in (b"{", b""):
        raise DataError(path, None, "not a model file: it does not begin like a safetensors file.")
    return length


def _table(path: str | PathLike[str], content: memoryview) -> tuple[int, dict[str, object]]:
    """The offset of the tensors, and the JSON before them."""
    length = _check_beginning(path, bytes(content[:9]))
    if 8 + length > len(content):
        raise DataError(path, None, f"truncated: {len(content)} bytes, and the header alone ends at {8 + length}.")
    try:
        table = json.loads(bytes(content[8 : 8 + length]).decode())
    except (ValueError, RecursionError) as error:
        raise DataError(path, None, "not a model file, or damaged: its header is not JSON.") from error
    if not isinstance(table, dict):
        raise DataError(path, None, "not a model file: its header is not a JSON object.")
    return 8 + length, table


def _header(path: str | PathLike[str], text: str) -> dict[str, object]:
    try:
        content = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(path, None, "damaged: Margrave's header is not JSON.") from error
    version = content.get("format") if isinstance(content, dict) else None
    if type(version) is not int or version < 1:
        raise DataError(path, None, "damaged: Margrave's header has no format number.")
    if version > FORMAT_VERSION:
        raise DataError(
            path,
            None,
            f"written by a newer Margrave (format {version}, this one reads {FORMAT_VERSION}): upgrade Margrave.",
        )
    if version < OLDEST_FORMAT:
        raise DataError(
            path,
            None,
            f"written by an older Margrave (format {version}, the oldest that is read is {OLDEST_FORMAT}): train it "
            "again.",
        )
    if _is_deep(content):
        raise DataError(path, None, f"damaged: Margrave's header nests deeper than {_MOST_DEPTH} levels.")
    header = content.get("header")
    if not isinstance(header, dict):
        raise DataError(path, None, "damaged: Margrave's header is not a JSON object.")
    return header


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _is_deep(tree: object) -> bool:
    """Whether a value of JSON nests so deep that functions which follow it could run out of stack."""
    level = [tree]
    for _ in range(_MOST_DEPTH):
        inner: list[object] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.values()
            elif isinstance(each, list | tuple):
                inner += each
        level = inner
    return bool(level)


def _views(
    path: str | PathLike[str], content: memoryview, start: int, table: dict[str, object]
) -> dict[str, NDArray[Any]]:
    """Views of the tensors, after a check that they fill the file exactly and do not overlap."""
    entries = {name: _entry(path, name, entry) for name, entry in table.items()}
    extents = sorted((begin, end, name) for name, (_, _, begin, end) in entries.items())
    expected = 0
    for begin, end, name in extents:
        if begin != expected:
            how = "overlaps" if begin < expected else "leaves a gap after"
            raise DataError(path, None, f"damaged: array {quoted(name)} {how} the one before it.")
        expected = end
    if start + expected > len(content):
        raise DataError(path, None, f"truncated: {len(content)} of {start + expected} bytes.")
    if start + expected < len(content):
        raise DataError(path, None, f"damaged: {len(content) - start - expected} bytes follow the last array.")
    try:
        return {
            name: np.frombuffer(content, dtype, math.prod(shape), start + begin).reshape(shape)
            for name, (dtype, shape, begin, _) in entries.items()
        }
    except (ValueError, OverflowError) as error:  # more or larger dimensions than NumPy supports
        raise DataError(path, None, "damaged: an array has an impossible shape.") from error


def _entry(path: str | PathLike[str], name: str, entry: object) -> tuple[np.dtype[Any], list[int], int, int]:
    """Dtype, shape, begin and end of one tensor."""
    match entry:
        case {"dtype": str(dtype_name), "shape": list(shape), "data_offsets": [begin, end]}:
            dtype = _DTYPES.get(dtype_name)
            whole = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
            if dtype is not None and whole and end - begin == math.prod(shape) * dtype.itemsize:
                return dtype, shape, begin, end
    raise DataError(path, None, f"damaged: array {quoted(name)} has no valid dtype, shape and offsets.")


def _verify(path: str | PathLike[str], content: memoryview, start: int, checksum: object) -> None:
    if not isinstance(checksum, str) or not checksum.isascii():
        raise DataError(path, None, "damaged: it has no checksum.")
    head = bytes(content[:start]).replace(checksum.encode(), _NO_CHECKSUM.encode(), 1)
    if _checksum(head, content[start:]) != checksum:
        raise DataError(path, None, "damaged: its content does not match its checksum.")
