"""Numbers rounded to 16 bits, which a model file then stores without loss.

A number is rounded to s |m| m for an integer m of 16 bits: its root, with its sign, is a multiple of the step s. A
rounded number x is off by at most s sqrt(|x|), so small numbers keep more digits than multiples of one number would.
Rounding rounded numbers changes nothing: s has few digits, so the root of s |m| m is exactly s |m|.
"""

from math import frexp, isfinite, ldexp, sqrt

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_MOST = 2**15 - 1  # of a number of 16 bits with a sign
_DIGITS = 20  # of the step, in bits: products with m are exact
_FIRST = 1000  # Most arrays that are not rounded are found out by their first numbers.


def rounded(x: Numbers) -> Numbers:
    """The numbers rounded to 16 bits; zeros stay zeros.

    >>> w = rounded(np.array([0.5, -0.001, 0.0]))
    >>> bool(abs(w - [0.5, -0.001, 0.0]).max() < 1e-5)
    True
    >>> bool((rounded(w) == w).all())
    True
    """
    step = _step(x)
    return numbers_of(step, _multiples(x, step))


def stored_in_16_bits(x: Numbers) -> tuple[float, NDArray[np.int16]] | None:
    """The step and the integers of rounded numbers; None if the numbers are not rounded."""
    step = _step(x)
    for part in (x[:_FIRST], x):
        if not isfinite(step) or (numbers_of(step, _multiples(part, step)) != part).any():
            return None
    return step, _multiples(x, step)


def numbers_of(step: float, multiples: NDArray[np.int16]) -> Numbers:
    """The numbers that these integers stand for."""
    roots: Numbers = np.multiply(step, multiples, dtype=np.float64)
    roots *= np.abs(roots)
    return roots


def _step(x: Numbers) -> float:
    digits, exponent = frexp(sqrt(max(x.max(initial=0.0), -x.min(initial=0.0))) / _MOST)
    return ldexp(np.ceil(digits * 2.0**_DIGITS), exponent - _DIGITS) if isfinite(digits) else digits


def _multiples(x: Numbers, step: float) -> NDArray[np.int16]:
    if step == 0:
        return np.zeros(len(x), dtype=np.int16)
    roots = np.sqrt(np.abs(x))
    roots /= step
    return np.copysign(np.rint(roots, out=roots), x).astype(np.int16)
