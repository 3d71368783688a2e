"""The registry of models and estimators in model files: they register by subclassing, so `load` needs no table."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

from numpy.typing import NDArray

from margrave import _HOMES
from margrave.errors import DataError
from margrave.room import TooLargeError, room_of_file
from margrave.stored import UnknownClassError


class SavedModel:
    """The base of models that can be saved; a file refers to them by the name of their estimator.

    `class TaggerModel(..., saved_as="SequenceTagger")` is what `load` makes of the file of a `SequenceTagger`. An
    estimator without such a model is its own model. With `saved_as=""` a class is a base of others only.
    """

    estimators: ClassVar[dict[str, type["SavedModel"]]] = {}  # by name
    models: ClassVar[dict[str, type["SavedModel"]]] = {}  # by the name of their estimator
    saved_as: ClassVar[str]  # the name of the estimator

    def __init_subclass__(cls, *, saved_as: str | None = None, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.saved_as = saved_as or cls.__name__
        if saved_as != "":
            (SavedModel.models if saved_as else SavedModel.estimators)[cls.saved_as] = cls

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The model of a file. Files are not trusted: inconsistent contents raise an error."""
        raise ValueError(f"a {cls.__name__} cannot be read from a file.")


M = TypeVar("M", bound=SavedModel)


def estimator_named(name: str) -> type[SavedModel] | None:
    """The estimator of this name; its module is imported if it is one of the package."""
    if name not in SavedModel.estimators and name in _HOMES:
        import_module(_HOMES[name])
    return SavedModel.estimators.get(name)


def model_named(name: str) -> type[SavedModel] | None:
    """The model of the estimator of this name, or the estimator itself if it has none.

    The model of an estimator of the package is in a file of the same name, which imports no scikit-learn.
    """
    if name not in SavedModel.models and name in _HOMES:
        folder, _, file = _HOMES[name].rpartition(".")
        module = f"{folder}.models.{file}"
        if folder == "margrave.estimators" and find_spec(module) is not None:
            import_module(module)
    return SavedModel.models.get(name) or estimator_named(name)


def model_of(path: str | PathLike[str], kind: type[M], header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> M:
    """The model of a file; an error in one sentence if its contents are inconsistent."""
    try:
        with room_of_file(sum(array.nbytes for array in arrays.values())):
            return kind._from_file(header, arrays)
    except (UnknownClassError, TooLargeError) as error:
        raise DataError(path, None, error.message) from None
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        # The checksum is right, so the file was written this way: report the inconsistency on one line.
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(
            path, None, f"it is not a model that Margrave wrote ({type(error).__name__}: {reason})."
        ) from None
