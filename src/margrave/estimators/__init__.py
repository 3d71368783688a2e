"""The estimators, which follow scikit-learn's conventions, and `load` for their model files.

A module is imported when one of its names is used, and a new estimator needs no entry here.
"""

from importlib import import_module
from os import PathLike
from typing import Any

from margrave import _HOMES
from margrave.checks import flag
from margrave.errors import DataError
from margrave.estimators.files import SavedModel
from margrave.files import model as model_file
from margrave.stored import UnknownClassError

__all__ = ["load", *(name for name, home in _HOMES.items() if home.startswith(f"{__name__}."))]


def load(path: str | PathLike[str], *, mmap: bool = False) -> Any:
    """Load a model that `save` wrote; damaged and foreign files, and files in another format, are an error.

    Parameters
    ----------
    path : the file. Nothing in it is executed: it contains only numbers, texts and the names of Margrave's classes.
    mmap : map the file instead of copying it, so that several processes share its memory. Such a file must never be
        overwritten in place, for example by `cp`: predictions would change, or the process would be killed. `save` is
        safe, because it writes a new file and then renames it.
    """
    header, arrays = model_file.read(path, mapped=flag("mmap", mmap))
    kind = _estimator(str(header.get("estimator")))
    if kind is None:
        name = header.get("estimator")
        raise DataError(path, None, f"it holds a {name}, which this Margrave does not know: upgrade Margrave.")
    try:
        return kind._from_file(header, arrays)
    except UnknownClassError as error:
        raise DataError(path, None, str(error)) from None
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        # The checksum is right, so the file was written this way: report the inconsistency on one line.
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(
            path, None, f"it is not a model that Margrave wrote ({type(error).__name__}: {reason})."
        ) from None


def _estimator(name: str) -> type[SavedModel] | None:
    """The estimator of this name; its module is imported if it is one of the package."""
    if name not in SavedModel.registered and name in _HOMES:
        import_module(_HOMES[name])
    return SavedModel.registered.get(name)


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else _estimator(name)
    if found is None:
        raise AttributeError(f"module 'margrave.estimators' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
