"""What a broken contract looks like: its sentence, the smallest example that shows it, and what was found there."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LONGEST = 80  # characters of a value that a message quotes


class ContractError(AssertionError):
    """A contract that does not hold, with the smallest example that shows it."""


@contextmanager
def contract(subject: Any, sentence: str, where: str = "") -> Iterator[None]:
    """Turn every error inside into one that names the contract and the example.

    Parameters
    ----------
    subject : what is checked: a name, or an object whose class has one.
    sentence : the contract.
    where : the example.

    >>> with contract("Segments", "argmax returns the best output", "example 0"):
    ...     require(1 > 2, "it scores 1, and the best output scores 2")
    Traceback (most recent call last):
    margrave.testing.failures.ContractError: Segments breaks the contract "argmax returns the best output" (example 0): it scores 1, and the best output scores 2.
    """  # noqa: E501
    try:
        yield
    except ContractError:
        raise
    except Exception as error:
        name = subject if isinstance(subject, str) else type(subject).__name__
        at = f" ({where})" if where else ""
        found = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        raise ContractError(f'{name} breaks the contract "{sentence}"{at}: {found.strip().rstrip(".")}.') from error


def require(holds: Any, found: str) -> None:
    """Refuse what does not hold; `found` says what was found instead."""
    if not holds:
        raise AssertionError(found)


def require_close(what: str, actual: Any, expected: Any, *, smallest: float = 1e-9, digits: float = 1e-9) -> None:
    """Refuse numbers that differ by more than nine digits, or by more than `smallest` where they are small."""
    found, wanted = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    require(found.shape == wanted.shape, f"{what} has the shape {found.shape}, and should have {wanted.shape}")
    wrong = ~np.isclose(found, wanted, rtol=digits, atol=smallest)
    if wrong.any():
        k = int(np.flatnonzero(wrong.ravel())[0])
        place = "" if found.ndim == 0 else f" at place {k}"
        raise AssertionError(f"{what} is {found.ravel()[k]:.12g}{place}, and should be {wanted.ravel()[k]:.12g}")


def require_same(what: str, actual: Any, expected: Any) -> None:
    """Refuse outputs that differ; lists, tuples and arrays of the same values are the same."""
    found, wanted = plain(actual), plain(expected)
    if found != wanted:
        raise AssertionError(f"{what} is {quoted(actual)}, and should be {quoted(expected)}")


def require_bits(what: str, actual: NDArray[Any], expected: NDArray[Any]) -> None:
    """Refuse arrays that differ in any bit."""
    if np.array_equal(actual, expected):
        return
    if actual.shape != expected.shape:
        raise AssertionError(f"{what} has the shape {actual.shape}, and should have {expected.shape}")
    k = int(np.flatnonzero(actual.ravel() != expected.ravel())[0])
    raise AssertionError(f"{what} is {actual.ravel()[k]!r} at place {k}, and should be {expected.ravel()[k]!r}")


def plain(value: Any) -> Any:
    """Outputs as lists, numbers and texts, which can be compared.

    >>> plain((1, np.array([2, 3])))
    [1, [2, 3]]
    """
    return json.loads(json.dumps(value, default=_as_list))


def _as_list(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return sorted(map(repr, value)) if isinstance(value, set | frozenset) else repr(value)


def quoted(value: Any) -> str:
    """A value as messages show it, cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
