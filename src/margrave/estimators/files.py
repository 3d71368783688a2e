"""The registry of estimators in model files: they register by subclassing, so that `load` needs no table of them."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from numpy.typing import NDArray


class SavedModel:
    """The base of estimators that can be saved; a file refers to them by the name of their class."""

    registered: ClassVar[dict[str, type["SavedModel"]]] = {}

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        SavedModel.registered[cls.__name__] = cls

    @classmethod
    def _from_file(cls, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The model of a file. Files are not trusted: inconsistent contents raise an error."""
        raise ValueError(f"a {cls.__name__} cannot be read from a file.")
