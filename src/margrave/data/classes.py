"""The set of labels of a data set, as sorted distinct values."""

from collections.abc import Iterable, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave.errors import MargraveError, quoted


def distinct_labels(labels: Iterable[Any]) -> NDArray[Any]:
    """The sorted distinct labels, which must be strings or numbers of one kind."""
    try:
        distinct = sorted(set(labels))
    except TypeError:
        raise MargraveError("labels must be strings or numbers, all of one kind.") from None
    if any(label != label for label in distinct):
        raise MargraveError("labels must be strings or numbers, and one is NaN.")
    classes = np.array(distinct)
    if distinct and (classes.dtype.kind not in "Ubiuf" or classes.tolist() != distinct):
        raise MargraveError("labels must be strings or numbers, all of one type that an array can store.")
    return classes


def labels_in(Y: Iterable[Iterable[Any]]) -> NDArray[Any]:
    """The sorted distinct labels of lists of labels; an error names the example whose label is neither text nor number.

    >>> labels_in([["b", "a"], ["a"]]).tolist()
    ['a', 'b']
    """
    try:
        return distinct_labels(chain.from_iterable(Y))
    except MargraveError:
        for i, labels in enumerate(Y):
            for label in labels:
                if not is_label(label):
                    raise MargraveError(
                        f"example {i}: a label must be a string or a number, not {quoted(label)}."
                    ) from None
        raise


def is_label(label: Any) -> bool:
    """Whether it can be a label: a text or a number."""
    return isinstance(label, str | Real | np.bool_)


def same(gold: Any, found: Any) -> bool:
    """Whether a label that a user gives is the predicted one; what cannot be a label is not."""
    return is_label(gold) and bool(gold == found)


def check_several(classes: NDArray[Any]) -> NDArray[Any]:
    """Refuse fewer than two classes, with which there is nothing to learn."""
    if len(classes) == 0:
        raise MargraveError("there are no labels.")
    if len(classes) < 2:
        raise MargraveError(
            f"there is only one class, {quoted(classes.tolist()[0])}: at least two are needed to learn from."
        )
    return classes


def label_numbers(labels: Sequence[Any], classes: Sequence[Any]) -> NDArray[np.int32]:
    """The index of each label in the classes."""
    number = {label: k for k, label in enumerate(classes)}
    try:
        return np.fromiter((number[label] for label in labels), dtype=np.int32, count=len(labels))
    except KeyError as error:
        raise MargraveError(f"the label {quoted(error.args[0])} is not among the classes.") from None
    except TypeError:  # A label that cannot be looked up is none.
        wrong = next((label for label in labels if not is_label(label)), None)
        raise MargraveError(f"a label must be a string or a number, not {quoted(wrong)}.") from None
