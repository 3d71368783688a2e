"""Examples: what passes from an estimator to features, feature map and structure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from margrave import _core
from margrave.checks import has_length
from margrave.errors import MargraveError


@dataclass  # not frozen: every prediction makes one, which would take three times as long
class Examples:
    """Inputs, their outputs if known, and what else belongs to them.

    Parameters
    ----------
    X : the inputs.
    Y : their outputs; None if they are not known.
    extras : what else belongs to the examples, by name: attributes of transitions, allowed labels, arcs.
    training : whether something is learned from these examples.
    encoded : what the features made of X; None if X has attributes already.
    begin : where the rows of each example begin, and how many there are, once the feature map has encoded them.
    """

    X: Any
    Y: Any = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    training: bool = False
    encoded: Any = None
    begin: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @classmethod
    def of_sizes(cls, sizes: Any, Y: Any = None, X: Any = None, **extras: Any) -> Self:
        """Examples with so many rows each, for a structure without a feature map.

        >>> Examples.of_sizes([2, 3]).begin.tolist()
        [0, 2, 5]
        """
        return cls(X, Y, extras, begin=_core.bounds(np.asarray(sizes, dtype=np.int64)))

    def __len__(self) -> int:
        """The number of examples, once they are encoded."""
        return len(self.begin) - 1

    @classmethod
    def given(cls, X: Any, *Y: Any, extras: Mapping[str, Any] | None = None) -> Self:
        """The examples that a user passes, perhaps with outputs; an error if X or Y holds nothing at all.

        >>> Examples.given([["a"]], None)
        Traceback (most recent call last):
            ...
        margrave.errors.MargraveError: y must be a list of outputs, one per example, not NoneType.
        """
        check_holds("X must be a sequence of examples", X)
        for of in Y:
            check_holds("y must be a list of outputs, one per example", of)
        return cls(X, Y[0] if Y else None, {} if extras is None else extras)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each example."""
        return _core.lengths(self.begin)

    @property
    def attributes(self) -> Any:
        """What the feature map encodes."""
        return self.X if self.encoded is None else self.encoded

    def extra(self, name: str) -> Any:
        """What else belongs to the examples; None if it was not given."""
        return self.extras.get(name)

    def having(self, **extras: Any) -> Self:
        """The same examples with these extras."""
        return replace(self, extras={**self.extras, **extras})

    def some(self, chosen: Sequence[int]) -> Self:
        """Some of the examples, with everything that belongs to them.

        >>> Examples(["a", "b", "c"], [1, 2, 3], {"sample_weight": [0.5, 1.0, 2.0]}).some([0, 2]).extras
        {'sample_weight': [0.5, 2.0]}
        """
        n = count(self.Y if self.X is None else self.X)
        for name, values in self.extras.items():
            if has_length(values) and len(values) != n:
                raise MargraveError(f"{name} must have one entry per example: {n}, not {len(values)}.")
        extras = {name: some(values, chosen) for name, values in self.extras.items()}
        return replace(self, X=some(self.X, chosen), Y=some(self.Y, chosen), extras=extras)


_ENCODED = _core.ColumnTable | _core.TreeAttributes  # examples that the core holds


def check_holds(what: str, values: Any) -> None:
    """Refuse what holds no values, such as None, a number or a text.

    Parameters
    ----------
    what : what must be what.
    values : what was passed: any container, or an iterator.
    """
    texts_and_types = str | bytes | bytearray | memoryview | type
    several = hasattr(values, "__iter__") or hasattr(values, "__array__")
    if count(values) is None:
        holds = several and not isinstance(values, texts_and_types) and getattr(values, "shape", None) != ()
    else:  # What has a length need not be a list, such as an encoded sequence.
        holds = several or hasattr(values, "__getitem__") or isinstance(values, _ENCODED)
    if not holds:
        raise MargraveError(f"{what}, not {type(values).__name__}.")


def count(values: Any) -> int | None:
    """The number of values, or of rows of a matrix; None if they have none, such as those of an iterator."""
    if isinstance(values, str | bytes):
        return None
    if hasattr(values, "shape"):
        return int(values.shape[0]) if values.shape else None
    return len(values) if has_length(values) else None


def some(values: Any, chosen: Sequence[int]) -> Any:
    """Some of the values; a table of the core stays one, and one value for all examples stays as it is."""
    if isinstance(values, _core.ColumnTable):
        return values.some(chosen)
    if hasattr(values, "tocsr"):
        return values.tocsr()[chosen]
    if hasattr(values, "iloc"):
        return values.iloc[chosen]
    if not has_length(values):
        return values
    return values[chosen] if isinstance(values, np.ndarray) else [values[i] for i in chosen]
