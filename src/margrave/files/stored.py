"""Values and objects of `margrave.stored` in the form in which model files hold them: JSON and arrays."""

from collections.abc import Mapping
from importlib import import_module
from math import isfinite
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError
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
        return value if isfinite(value) else {"kind": "number", "value": repr(value)}
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
            return arrays[place]
        case {"kind": "array", "length": int(length), "blank": 0 | -1 as blank, "sparse": str(place)} if (
            type(length) is int
        ):
            return _dense(arrays[f"{place}.place"], arrays[f"{place}.value"], length, blank, place)
        case {"kind": "tuple", "items": list(items)}:
            return tuple(unpack(item, arrays) for item in items)
        case {"kind": "set", "items": list(items)}:
            return {unpack(item, arrays) for item in items}
        case {"kind": "mapping", "items": list(items)}:
            return {unpack(key, arrays): unpack(item, arrays) for key, item in items}
        case {"kind": str(kind), "name": str(name), "settings": dict(settings), "state": dict(state)} if (
            base := kind_named(kind)
        ):
            found: type[Stored] | None = base.find(name)
            if found is None:
                return base.missing(name)
            value = found.from_settings({k: unpack(v, arrays) for k, v in settings.items()})
            value.restore({k: unpack(v, arrays) for k, v in state.items()})
            return value
    raise MargraveError(f"it contains {str(stored)[:60]!r}, which is not valid in a model file.")


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
    """Store an array; a vector that is mostly blank is stored as positions and values.

    A position takes as much space as a value, so that a third of the values saves a third of the space.
    """
    while place in arrays or f"{place}.place" in arrays:  # Different keys can have the same text.
        place += "'"
    if array.ndim == 1 and array.dtype.kind in "fi" and array.dtype.itemsize == 8:
        for blank in _BLANKS:
            filled = np.flatnonzero(array != blank)
            if 3 * len(filled) < len(array):
                arrays[f"{place}.place"], arrays[f"{place}.value"] = filled.astype(np.int64), array[filled]
                return {"kind": "array", "length": len(array), "blank": blank, "sparse": place}
    arrays[place] = array
    return {"kind": "array", "array": place}


def _dense(place: NDArray[Any], value: NDArray[Any], length: int, blank: float, name: str) -> NDArray[Any]:
    vector(place, np.int64, f"places of {name}")
    if value.shape != place.shape or not 0 <= length < 2**62:
        raise MargraveError(f"its {name} must have as many values as places.")
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
