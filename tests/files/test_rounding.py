"""Rounding to 16 bits: how far off a number is at most, and that a file then holds all that is left of it."""

import json
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from margrave import MargraveError
from margrave.files.rounding import rounded, stored_in_16_bits
from margrave.files.stored import pack, unpack

sizes = st.integers(0, 3000)
shares = st.sampled_from([0.0, 0.02, 0.3, 0.97, 1.0])  # of the numbers that are not zero
# All but the largest and the smallest numbers, whose squares leave the range of floating-point numbers.
scales = st.sampled_from([1e-140, 1e-7, 1.0, 1e5, 1e140])


def numbers(seed: int, size: int, share: float, scale: float) -> Any:
    """Numbers of very different sizes, with zeros."""
    rng = np.random.default_rng(seed)
    x = scale * rng.standard_normal(size) * 10.0 ** rng.integers(-6, 3, size)
    return np.where(rng.random(size) < share, x, 0.0)


@given(seed=st.integers(0, 2**32 - 1), size=sizes, share=shares, scale=scales)
def test_the_error_grows_with_the_root_of_a_number_and_rounding_again_changes_nothing(
    seed: int, size: int, share: float, scale: float
) -> None:
    x = numbers(seed, size, share, scale)
    found = rounded(x)
    step = np.sqrt(np.abs(x).max(initial=0.0)) / 32767
    assert (np.abs(found - x) <= 1.001 * (step * np.sqrt(np.abs(x)) + step**2 / 4)).all()
    assert (found[x == 0] == 0).all()
    assert (found * x >= 0).all()
    assert_array_equal(rounded(found), found)


@given(seed=st.integers(0, 2**32 - 1), size=sizes, share=shares, scale=scales)
def test_a_file_takes_two_bytes_for_each_rounded_number_that_is_not_zero_and_a_bit_for_each_cell(
    seed: int, size: int, share: float, scale: float
) -> None:
    x = rounded(numbers(seed, size, share, scale))
    arrays: dict[str, Any] = {}
    stored = json.loads(json.dumps(pack(x, arrays, "weights"), allow_nan=False))
    assert_array_equal(unpack(stored, arrays), x)
    filled = np.count_nonzero(x)
    assert sum(array.nbytes for array in arrays.values()) <= min(2 * size, 2 * filled + size // 8 + 1)


@pytest.mark.parametrize("x", [[0.1, 0.2, 0.3], [1.0, inf], [nan], [1.0, 1.0 + 1e-15], [1e-320, 1.0]])
def test_other_numbers_are_stored_as_they_are(x: list[float]) -> None:
    assert stored_in_16_bits(np.array(x)) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 30}, "mask of its weights must have 30 bits"),
        ({"length": -1}, "must have -1 bits"),
        ({"length": True}, "not valid in a model file"),
        ({"mask": np.full(2, 255, np.uint8)}, "as many values as its mask"),
        ({"mask": np.zeros(2, np.int64)}, "mask of weights must be one-dimensional and of type uint8"),
        ({"value": np.zeros((3, 1), np.int16)}, "as many values as its mask"),
        ({"value": np.zeros(3)}, "rounded numbers must be one-dimensional and of type int16"),
        ({"step": inf}, "not valid in a model file"),
        ({"step": "1"}, "not valid in a model file"),
    ],
)
def test_an_inconsistent_file_is_refused(changes: dict[str, Any], message: str) -> None:
    arrays: dict[str, Any] = {}
    stored = pack(rounded(np.array([*[0.0] * 9, 1.0, 0.5, 0.25])), arrays, "weights")
    for name, value in changes.items():
        if f"weights.{name}" in arrays:
            arrays[f"weights.{name}"] = value
        else:
            (stored if name in stored else stored["multiples"])[name] = value
    with pytest.raises(MargraveError, match=message):
        unpack(stored, arrays)
