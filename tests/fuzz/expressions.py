"""Values that JSON cannot hold, written as expressions of Python, so that a kept case can be read and changed."""

import threading
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import numpy as np


class Strange:
    """An object that nothing in the library knows."""


class HostileError(Exception):
    """What an object of the user raises, and the library passes on."""


class Hostile:
    """An object whose methods fail."""

    def __len__(self) -> int:
        raise HostileError("no length")

    def __iter__(self) -> Iterator[Any]:
        raise HostileError("no items")

    def __float__(self) -> float:
        raise HostileError("no number")


def _names() -> dict[str, Any]:
    """What expressions can name."""
    import scipy.sparse

    import margrave
    from margrave import _core

    return {
        **{name: getattr(margrave, name) for name in margrave.__all__},
        **{"np": np, "inf": inf, "nan": nan, "Strange": Strange, "Hostile": Hostile, "Path": Path, "Decimal": Decimal},
        **{"Fraction": Fraction, "date": date, "sparse": scipy.sparse, "threading": threading},
        **{"_core": _core},
    }


_known: dict[str, Any] = {}


def evaluated(expression: str, **more: Any) -> Any:
    """The value of an expression."""
    if not _known:
        _known.update(_names())
    return eval(expression, {**_known, **more})  # one namespace, which lambdas see as well


# Values of all kinds, each of which is wrong nearly everywhere.
ODD = [
    *("None", "True", "False", "0", "1", "-1", "2", "3", "-0.0", "0.5", "1.5", "nan", "inf", "-inf", "1e308", "1e-320"),
    *("2**31", "2**31 - 1", "-(2**31) - 1", "2**40", "2**62", "2**63", "2**63 - 1", "2**64", "-(2**63)", "10**30"),
    *("10**400", "1j", "''", "' '", "'a'", "'auto'", "'none'", "'log'", "'hinge'", "'a\\nb'", "'\\0'", "'\\ud800'"),
    *("'x' * 3000", "b''", "b'a'", "[]", "[[]]", "[None]", "()", "(1, 2)", "{}", "{'a': 1}", "{1: 'a'}", "{'a': nan}"),
    *("set()", "{'a'}", "[[], [[]]]", "[0]", "['a']", "['a', 1]", "[['a']]", "[[['a']]]", "[nan]", "range(3)"),
    *("range(10**6)", "(x for x in 'ab')", "iter([])", "Strange()", "Strange", "Hostile()", "[Hostile()]", "print"),
    *("np.float32(1)", "np.int8(-1)", "np.bool_(True)", "np.str_('a')", "np.nan", "np.float64('nan')", "np.array(1)"),
    *("np.array([])", "np.zeros((0, 3))", "np.eye(3)", "np.array([1, nan])", "np.array(['a', 'b'])"),
    *("np.array([None, 1], object)", "np.zeros((2, 2, 2))", "np.array([[1, 2], [3, 4]], np.int8)"),
    *("np.array([2**63], np.uint64)", "np.ones(3, np.complex128)", "np.zeros(3)[::-1]", "np.array([1.0, inf])"),
    *("np.zeros(3, [('a', int)])", "np.array('2020', 'M8[D]')", "sparse.csr_array((3, 3))"),
    *("sparse.eye_array(3, format='coo')", "sparse.csr_array(([nan], ([0], [0])), (2, 2))", "Decimal('1.5')"),
    *("Decimal('NaN')", "Fraction(1, 3)", "date(2020, 1, 1)", "Path('a')", "memoryview(b'abc')", "bytearray(b'a')"),
    *("threading.Lock()", "SequenceTagger()", "NotImplemented"),
]


def odd(rng: Random) -> str:
    """An expression whose value is probably wrong."""
    return rng.choice(ODD)
