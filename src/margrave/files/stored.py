"""Values and objects of `margrave.stored` in the form in which model files hold them: JSON and arrays."""

from collections.abc import Mapping
from importlib import import_module
from math import isfinite
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import Fields, is_a, is_number
from margrave.errors import MargraveError, quoted, shortened
from margrave.files.rounding import numbers_of, stored_in_16_bits
from margrave.room import take_room
from margrave.stored import Stored, UnknownClassError, kind_named

Arrays = dict[str, NDArray[Any]]  # the arrays of a file, by name


def pack(value: Any, arrays: Arrays, place: str) -> Any:
    """The value in a form that JSON can store; its arrays are added to `arrays` under names that begin with `place`.

    >>> arrays = {}
    >>> pack({"a": (1, np.ones(2))}, arrays, "costs")
    {'kind': 'mapping', 'items': [['a', {'kind': 'tuple', 'items': [1, {'kind': 'array', 'array': 'costs.a.1'}]}]]}
    >>> list(arrays)
    ['costs.a.1']
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return pack(value.item(), arrays, place)
    if isinstance(value, int | float):
        return value if isinstance(value, int) or isfinite(value) else {"kind": "number", "value": repr(value)}
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays, place)
    if isinstance(value, Stored):
        return _pack_stored(value, arrays, place)
    if isinstance(value, list | tuple):
        items = [pack(item, arrays, f"{place}.{k}") for k, item in enumerate(value)]
        return items if isinstance(value, list) else {"kind": "tuple", "items": items}
    if isinstance(value, set | frozenset):
        return {"kind": "set", "items": pack(sorted(value, key=repr), arrays, place)}
    if isinstance(value, Mapping):
        pairs = enumerate(value.items())
        places = [f"{place}.{key if isinstance(key, str) else k}" for k, (key, _) in pairs]
        packed = zip(value.items(), places, strict=True)
        items = [[pack(key, arrays, place), pack(item, arrays, at)] for (key, item), at in packed]
        return {"kind": "mapping", "items": items}
    if callable(value):
        raise MargraveError(
            f"a function cannot be stored in a file ({place}): prediction does not need it; replace it by set_params "
            "first."
        )
    raise MargraveError(f"{place} is a {type(value).__name__}, which a file cannot store.")


def unpack(stored: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Recreate the value that `pack` was given. Files are not trusted: inconsistent contents raise an error."""
    if isinstance(stored, list):
        return [unpack(item, arrays) for item in stored]
    if not isinstance(stored, dict):
        return stored
    match stored:
        case {"kind": "number", "value": "inf" | "-inf" as value}:
            return float(value)
        case {"kind": "array", "array": str(place)}:
            return _array(arrays, place)
        case {"kind": "array", "length": int(length), "blank": 0 | -1 as blank, "sparse": str(place)} if (
            type(length) is int
        ):
            return _dense(_array(arrays, f"{place}.place"), _array(arrays, f"{place}.value"), length, blank, place)
        case {"kind": "array", "length": int(length), "mask": str(place)} if type(length) is int:
            return _masked(_array(arrays, f"{place}.mask"), _array(arrays, f"{place}.value"), length, place)
        case {"kind": "rounded", "step": step, "multiples": multiples} if is_number(step):
            whole = vector(unpack(multiples, arrays), np.int16, "rounded numbers")
            take_room(8 * len(whole), "a vector of rounded numbers")
            return numbers_of(step, whole)
        case {"kind": "tuple", "items": list(items)}:
            return tuple(unpack(item, arrays) for item in items)
        case {"kind": "set", "items": list(items)}:
            return {_key(unpack(item, arrays)) for item in items}
        case {"kind": "mapping", "items": list(items)} if all(is_a(item, tuple[Any, Any]) for item in items):
            return {_key(unpack(key, arrays)): unpack(item, arrays) for key, item in items}
        case {"kind": str(kind), "name": str(name), "settings": dict(settings), "state": dict(state)} if (
            base := kind_named(kind)
        ):
            found: type[Stored] | None = base.find(name)
            if found is None:
                return base.missing(name)
            value = found.from_settings({k: unpack(v, arrays) for k, v in settings.items()})
            value.restore(Fields({k: unpack(v, arrays) for k, v in state.items()}))
            return value
    raise MargraveError(f"it contains {str(stored)[:60]!r}, which is not valid in a model file.")


def _array(arrays: Mapping[str, NDArray[Any]], place: str) -> NDArray[Any]:
    if place not in arrays:
        raise MargraveError(f"it has no array {quoted(place)}.")
    return arrays[place]


def _key(value: Any) -> Any:
    """A member of a set, or a key."""
    try:
        hash(value)
    except TypeError:
        raise MargraveError(f"it contains {quoted(value)} as a name, which is not valid in a model file.") from None
    return value


def import_modules(package: ModuleType | str) -> None:
    """Import all modules of a package, so that their classes are registered; a new file needs no entry elsewhere."""
    module = import_module(package) if isinstance(package, str) else package
    for found in iter_modules(module.__path__):
        import_module(f"{module.__name__}.{found.name}")


def _pack_stored(value: Stored, arrays: Arrays, place: str) -> Any:
    if value.registered.get(type(value).name) is not type(value):
        try:
            return type(value).missing(value.name)
        except UnknownClassError:
            raise MargraveError(
                f"{place} is a {type(value).__qualname__}, which a file cannot name: define `name` in the class."
            ) from None
    return {
        "kind": value.kind,
        "name": type(value).name,
        "settings": {k: pack(v, arrays, f"{place}.{k}") for k, v in value.stored_settings().items()},
        "state": {k: pack(v, arrays, f"{place}.{k}") for k, v in value.state().items()},
    }


# The values that vectors often consist of: weights that are zero, and label tuples without a weight.
_BLANKS = (0, -1)


def _pack_array(array: NDArray[Any], arrays: Arrays, place: str) -> dict[str, Any]:
    """Store an array; numbers that are rounded to 16 bits in 16 bits, and vectors without what is mostly blank.

    Beside the values there is a position for each of them, as large as a value, or one bit for each element, whichever
    is less. Nothing of an array is lost.
    """
    while any(f"{place}{end}" in arrays for end in _ENDS):  # Different keys can have the same text.
        place += "'"
    if array.ndim == 1 and array.dtype == np.float64 and (found := stored_in_16_bits(array)):
        step, multiples = found
        return {"kind": "rounded", "step": step, "multiples": _pack_vector(multiples, arrays, place)}
    return _pack_vector(array, arrays, place)


_ENDS = ("", ".place", ".mask")


def _pack_vector(array: NDArray[Any], arrays: Arrays, place: str) -> dict[str, Any]:
    if array.ndim == 1 and array.dtype.kind in "fi" and array.dtype.itemsize == 8:
        for blank in _BLANKS:
            filled = np.flatnonzero(array != blank)
            if 3 * len(filled) < len(array):
                arrays[f"{place}.place"], arrays[f"{place}.value"] = filled.astype(np.int64), array[filled]
                return {"kind": "array", "length": len(array), "blank": blank, "sparse": place}
    if array.dtype == np.int16 and 16 * np.count_nonzero(array) + len(array) < 16 * len(array):
        arrays[f"{place}.mask"], arrays[f"{place}.value"] = np.packbits(array != 0), array[array != 0]
        return {"kind": "array", "length": len(array), "mask": place}
    arrays[place] = array
    return {"kind": "array", "array": place}


def _masked(mask: NDArray[Any], value: NDArray[Any], length: int, name: str) -> NDArray[Any]:
    """A vector whose elements are zero where a bit is 0."""
    vector(mask, np.uint8, f"mask of {name}")
    if not 0 <= length <= 8 * len(mask) < length + 8:
        raise MargraveError(f"the mask of its {name} must have {length} bits.")
    take_room((1 + value.itemsize) * length, f"its {name}, a vector of {shortened(str(length))} numbers,")
    filled = np.unpackbits(mask, count=length).view(np.bool_)
    if value.ndim != 1 or len(value) != np.count_nonzero(filled):
        raise MargraveError(f"its {name} must have as many values as its mask.")
    dense = np.zeros(length, dtype=value.dtype)
    dense[filled] = value
    return dense


def _dense(place: NDArray[Any], value: NDArray[Any], length: int, blank: float, name: str) -> NDArray[Any]:
    vector(place, np.int64, f"places of {name}")
    if value.shape != place.shape or length < 0:
        raise MargraveError(f"its {name} must have as many values as places.")
    take_room(value.itemsize * length, f"its {name}, a vector of {shortened(str(length))} numbers,")
    if len(place) and (place[0] < 0 or place[-1] >= length or (np.diff(place) <= 0).any()):
        raise MargraveError(f"the places of its {name} must ascend below {length}.")
    dense = np.full(length, blank, dtype=value.dtype) if blank else np.zeros(length, dtype=value.dtype)
    dense[place] = value
    return dense


def vector(array: Any, dtype: Any, name: str) -> NDArray[Any]:
    """The array; an error if it is not one-dimensional and of this type."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != dtype:
        raise MargraveError(f"its {name} must be one-dimensional and of type {np.dtype(dtype)}.")
    return array
