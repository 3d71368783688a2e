"""The estimators, which follow scikit-learn's conventions, and `load` for their model files.

A module is imported when one of its names is used, and a new estimator needs no entry here.
"""

from os import PathLike
from typing import Any

from margrave import _HOMES
from margrave.checks import flag
from margrave.errors import DataError
from margrave.estimators.files import estimator_named, model_named, model_of
from margrave.files import model as model_file

__all__ = ["load", *(name for name, home in _HOMES.items() if home.startswith(f"{__name__}."))]


def load(path: str | PathLike[str], *, mmap: bool = False) -> Any:
    """Load a model that `save` wrote; damaged and foreign files, and files in another format, are an error.

    The model predicts, and imports no scikit-learn; `model.estimator()`, or `load` of an estimator such as
    `SequenceTagger.load`, gives an estimator that can also learn.

    Parameters
    ----------
    path : the file. Nothing in it is executed: it contains only numbers, texts and the names of Margrave's classes.
    mmap : map the file instead of copying it, so that several processes share its memory. Such a file must never be
        overwritten in place, for example by `cp`: predictions would change, or the process would be killed. `save` is
        safe, because it writes a new file and then renames it.
    """
    header, arrays = model_file.read(path, mapped=flag("mmap", mmap))
    kind = model_named(str(header.get("estimator")))
    if kind is None:
        name = header.get("estimator")
        raise DataError(path, None, f"it contains a {name}, which this Margrave does not know: upgrade Margrave.")
    return model_of(path, kind, header, arrays)


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else estimator_named(name)
    if found is None:
        raise AttributeError(f"module 'margrave.estimators' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
