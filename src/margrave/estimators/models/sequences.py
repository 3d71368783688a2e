"""Sequences as users have them: in any container, and some of them empty.

An empty sequence has exactly one output, the empty one. Nothing is to be inferred, and nothing can be learned from it.
The core has no such sequences: they are set aside before, and their answers are put back after.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from margrave.checks import has_length
from margrave.data.per_example import PerExample
from margrave.errors import MargraveError
from margrave.examples import Examples


def as_list(values: Any) -> Any:
    """The values of a generator, a series or an array of objects or texts as a list; anything else stays as it is.

    Generators among the values become lists, too.

    >>> as_list(iter(word) for word in ["ab", "c"])
    [['a', 'b'], ['c']]
    """
    if isinstance(values, np.ndarray):
        return values.tolist() if values.dtype.kind in "OUST" else values
    if hasattr(values, "to_list"):  # a series of pandas or polars
        return values.to_list()
    if hasattr(values, "__next__"):
        values = [*values]
    if isinstance(values, list | tuple) and any(hasattr(each, "__next__") for each in values):
        return [[*each] if hasattr(each, "__next__") else each for each in values]
    return values


def as_lists(examples: Examples) -> Examples:
    """The same examples in lists."""
    extras = {name: as_list(values) for name, values in examples.extras.items()}
    return replace(examples, X=as_list(examples.X), Y=as_list(examples.Y), extras=extras)


def not_empty(examples: Examples) -> list[int] | None:
    """The numbers of the sequences that are not empty; None if this is true of all, or cannot be told."""
    X, Y = examples.X, examples.Y
    if not isinstance(X, list | tuple) or (Y is not None and (not has_length(Y) or len(Y) != len(X))):
        return None
    sizes = [*map(_size, X)]
    if 0 not in sizes:
        return None
    # A sequence without tokens that has labels is a mistake, which is reported later.
    return [i for i, size in enumerate(sizes) if size != 0 or (Y is not None and _size(Y[i]) != 0)]


def _size(sequence: Any) -> int:
    """The number of tokens, or -1 if it is not a sequence."""
    if hasattr(sequence, "shape") and sequence.shape:
        return int(sequence.shape[0])
    return len(sequence) if has_length(sequence) else -1


def without_empty(examples: Examples, kept: Sequence[int]) -> Examples:
    """These of the examples. An array with a row for each token has none for an empty sequence, and stays."""
    of_tokens = {name: values for name, values in examples.extras.items() if getattr(values, "ndim", 1) > 1}
    of_sequences = {name: values for name, values in examples.extras.items() if name not in of_tokens}
    return replace(examples, extras=of_sequences).some(kept).having(**of_tokens)


def check_any(kept: list[int]) -> None:
    """Refuse training data of empty sequences only."""
    if not kept:
        raise MargraveError("all sequences are empty: there is nothing to learn from.")


def around_empty(examples: Examples, method: Callable[[Examples], Any], empty: Callable[[], Any]) -> PerExample:
    """What a method answers for all sequences; `empty` makes the answer for an empty one."""
    examples = as_lists(examples)
    kept = not_empty(examples)
    if kept is None:
        return PerExample(method(examples))
    with numbered(kept):
        answers = dict(zip(kept, method(without_empty(examples, kept)), strict=True))
    return PerExample(answers[i] if i in answers else empty() for i in range(len(examples.X)))


@contextmanager
def numbered(kept: Sequence[int]) -> Iterator[None]:
    """Errors about an example have its number among all sequences, of which only these were passed on."""
    try:
        yield
    except MargraveError as error:
        first, *rest = error.message.parts
        found = re.match(r"(dev: )?example (\d+)", str(first))
        if found is None or int(found[2]) >= len(kept):
            raise
        renumbered = f"{found[1] or ''}example {kept[int(found[2])]}{str(first)[found.end() :]}"
        raise MargraveError(renumbered, *rest) from None
