"""Model files and checkpoints with changed contents behind a right checksum, and with changed tables of arrays."""

import hashlib
import zlib
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.files.model import FORMAT_VERSION
from tests.fuzz.expressions import evaluated
from tests.fuzz.texts import applied, dumped, edit

Arrays = Mapping[str, NDArray[Any]]

_CODES = {
    **{
        "f8": "F64",
        "i8": "I64",
        "u8": "U64",
        "f4": "F32",
        "i4": "I32",
        "u4": "U32",
        "f2": "F16",
        "i2": "I16",
        "u2": "U16",
    },
    **{"i1": "I8", "u1": "U8", "b1": "BOOL"},
}
_FLOATS = ["nan", "inf", "-inf", "-1.0", "0.0", "0.5", "1e-3", "1e6", "1e300", "-1e300", "1e-310"]
_BOMBS = ["b'[X] ||| a ||| b\\n' * 200000", "b'\\0' * 10**7", "b''", "b'a'"]  # what is compressed into bytes


def array_edit(rng: Random, arrays: Arrays) -> list[Any]:
    """A change of one array, which `with_array_edit` makes: [operation, name, ...]."""
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    kind = rng.randrange(12)
    if kind == 0:
        return ["drop", name]
    if kind == 1:
        return ["copy", name, rng.choice(sorted(arrays))]
    if kind == 2:
        return ["resize", name, rng.choice([0, 1, array.size - 1, array.size + 1, 2 * array.size, 100])]
    if kind == 3:
        return ["cast", name, rng.choice(sorted(_CODES))]
    if kind == 4:
        return ["reshape", name, rng.choice([[1, -1], [-1, 1], []])]
    if kind == 5:
        return ["reverse", name]
    if kind == 6 and array.dtype == np.uint8:
        return ["compressed", name, rng.choice(_BOMBS)]
    if kind == 7:
        return ["add", name, rng.choice([1, -1, 2, 100])]
    return ["put", name, rng.choice([0, array.size - 1, rng.randrange(max(1, array.size))]), _number(rng, array)]


def _number(rng: Random, array: NDArray[Any]) -> str:
    if array.dtype.kind == "f":
        return rng.choice(_FLOATS)
    if array.dtype.kind == "b":
        return rng.choice(["0", "1"])
    limits = np.iinfo(array.dtype)
    near = int(array.flat[rng.randrange(array.size)]) if array.size else 0
    wanted = rng.choice(
        [-1, 0, 1, 2, near, near + 1, near - 1, 10**6, -(10**6), limits.min, limits.max, limits.max - 1, 2**62]
    )
    return str(min(max(int(wanted), int(limits.min)), int(limits.max)))


def with_array_edit(arrays: Arrays, change: list[Any]) -> dict[str, NDArray[Any]]:
    """The arrays after a change; those that an earlier change has removed are left alone."""
    operation, name, *rest = change
    changed = dict(arrays)
    if name not in changed:
        return changed
    array = changed[name]
    if operation == "drop":
        del changed[name]
    elif operation == "copy":
        changed[name] = changed.get(rest[0], array)
    elif operation == "resize":
        changed[name] = np.resize(array, max(0, rest[0])) if array.size else np.zeros(max(0, rest[0]), array.dtype)
    elif operation == "cast":
        with np.errstate(all="ignore"):
            changed[name] = array.astype(rest[0])
    elif operation == "reshape":
        changed[name] = array.reshape(rest[0]) if rest[0] or array.size == 1 else array
    elif operation == "reverse":
        changed[name] = array[::-1] if array.ndim else array
    elif operation == "compressed":
        changed[name] = np.frombuffer(zlib.compress(evaluated(rest[0])), np.uint8)
    elif operation == "add":
        with np.errstate(all="ignore"):
            changed[name] = (array + np.asarray(rest[0]).astype(array.dtype)).astype(array.dtype)
    elif array.size:
        changed[name] = array.copy()
        value = evaluated(rest[1])
        if array.dtype.kind in "iu":  # The array may have been cast since.
            limits = np.iinfo(array.dtype)
            value = min(max(int(value), int(limits.min)), int(limits.max)) if value - value == 0 else 0
        with np.errstate(all="ignore"):
            changed[name].reshape(-1)[min(rest[0], array.size - 1)] = value
    return changed


def edits(rng: Random, header: Mapping[str, Any], arrays: Arrays, in_header: float) -> list[list[Any]]:
    """Some changes of the header, and of arrays; `in_header` is the share of the former."""
    found: list[list[Any]] = []
    tree: Any = dict(header)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < in_header or not arrays:
            change = edit(rng, tree)
            tree = applied(tree, change)
            found.append(["header", *change])
        else:
            found.append(["array", *array_edit(rng, arrays)])
    return found


def contents(header: Any, arrays: Arrays, changes: list[list[Any]]) -> bytes:
    """The bytes of a file after changes: of its header, of its arrays and of its table; the checksum is right."""
    for where, *change in changes:
        if where == "header":
            header = applied(header, change)
        elif where == "array":
            arrays = with_array_edit(arrays, change)
    stored = sorted(arrays.items(), key=lambda item: -item[1].itemsize)
    table: Any = {
        "__metadata__": {
            "checksum": "0" * 64,
            "margrave": dumped({"format": FORMAT_VERSION, "header": header}),
        }
    }
    end = 0
    for name, array in stored:
        table[name] = {
            "dtype": _CODES[array.dtype.str[1:]],
            "shape": array.shape,
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    for where, *change in changes:
        if where == "table":
            table = applied(table, change)
    text = dumped(table).encode()
    text += b" " * (-(8 + len(text)) % 64)
    whole = len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for _, array in stored)
    return whole.replace(b"0" * 64, hashlib.sha256(whole).hexdigest().encode(), 1)
