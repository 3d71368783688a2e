"""The bound on the error of LP-Struct's weights against the formulas of 004, term by term."""

from math import ceil, inf, log, log2, nan
from typing import Any

import pytest

from margrave import MargraveError
from margrave.learners import lp_error_bound, lp_log_covering_number

COVER: dict[str, Any] = {"objective": 3.0, "largest": 2.0, "dim": 7, "examples": 5, "points": 40, "radius": 0.5}
BOUND: dict[str, Any] = {"objective": 3.0, "C": 4.0, "largest": 2.0, "dim": 7, "examples": 500}


def test_the_covering_number_is_corollary_6_3() -> None:
    c, b, d, m, n, gamma = COVER.values()
    found = lp_log_covering_number(**COVER)
    first = 36 * c**2 * b**2 * (1 + log(d + m)) / gamma**2
    assert found == pytest.approx(first * log2(2 * ceil(4 * c * b / gamma + 2) * n + 1), rel=1e-14)
    # Only the ratio of c b to gamma counts.
    assert lp_log_covering_number(**COVER | {"objective": 30.0, "radius": 5.0}) == pytest.approx(found)
    assert lp_log_covering_number(**COVER | {"largest": 1.0, "objective": 6.0}) == pytest.approx(found)
    # d and m count as their sum, l only within the last logarithm.
    assert lp_log_covering_number(**COVER | {"dim": 5, "examples": 7}) == found
    more = lp_log_covering_number(**COVER | {"points": 80})
    assert more - found == pytest.approx(first * log2((2 * 50 * 80 + 1) / (2 * 50 * 40 + 1)))
    # A value between whole numbers is rounded up: 4 c b / gamma + 2 is 50 here, and 50.004 with a slightly larger c.
    larger = lp_log_covering_number(**COVER | {"objective": 3.0 * (1 + 1e-4)})
    assert larger == pytest.approx((1 + 1e-4) ** 2 * first * log2(2 * 51 * 40 + 1), rel=1e-12)


def test_without_weights_and_slacks_one_function_covers_all() -> None:
    assert lp_log_covering_number(**COVER | {"objective": 0.0}) == 0.0


def test_the_bound_is_theorem_6_2() -> None:
    covering = lp_log_covering_number(3.0, 2.0, 7, 500, 2 * 500, 0.5)
    assert lp_error_bound(**BOUND) == pytest.approx(2 / 500 * (covering + log2(2 / 0.05)), rel=1e-14)
    # eta counts only as log2(2 / eta): half of it is one bit.
    assert lp_error_bound(**BOUND, eta=0.01) - lp_error_bound(**BOUND, eta=0.02) == pytest.approx(2 / 500)
    # b is the larger of the largest feature and 1 / C.
    assert lp_error_bound(**BOUND | {"C": 0.25}) == lp_error_bound(**BOUND | {"C": 0.25, "largest": 4.0})
    assert lp_error_bound(**BOUND | {"C": 0.6}) == lp_error_bound(**BOUND)
    # The margin divides the objective.
    assert lp_error_bound(**BOUND, margin=2.0) == pytest.approx(lp_error_bound(**BOUND | {"objective": 1.5}))


def test_triples_are_as_many_as_examples_unless_given() -> None:
    assert lp_error_bound(**BOUND, triples=500) == lp_error_bound(**BOUND)
    # More triples count outside and in the logarithm, but not as slacks.
    covering = lp_log_covering_number(3.0, 2.0, 7, 500, 2 * 10**6, 0.5)
    assert lp_error_bound(**BOUND, triples=10**6) == pytest.approx(2e-6 * (covering + log2(40)))
    assert lp_error_bound(**BOUND, triples=10**6) < lp_error_bound(**BOUND)


@pytest.mark.parametrize("objective", [0.0, 1e-9, 1.0])
def test_the_condition_of_the_theorem_always_holds(objective: float) -> None:
    for size in (1, 10, 10**9):
        bound = lp_error_bound(**BOUND | {"objective": objective}, triples=size, eta=0.999)
        assert size > 2 / bound


def test_a_bound_that_is_too_large_for_a_number_says_nothing() -> None:
    assert lp_error_bound(1e200, C=1e-5, largest=1e200, dim=1, examples=1) == inf
    assert lp_error_bound(1e160, C=1.0, largest=1.0, dim=1, examples=1) == inf
    assert lp_log_covering_number(**COVER | {"objective": 1e300, "largest": 1e10}) == inf
    assert 1e300 < lp_error_bound(1e150, C=1.0, largest=1.0, dim=1, examples=1) < inf


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": -1.0}, "objective"),
        ({"objective": nan}, "objective"),
        ({"C": 0.0}, "C must"),
        ({"largest": inf}, "largest"),
        ({"dim": 0}, "dim"),
        ({"examples": 2.5}, "triples|examples"),
        ({"triples": 0}, "triples"),
        ({"margin": 0.0}, "margin"),
        ({"eta": 1.0}, "eta"),
    ],
)
def test_wrong_numbers_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MargraveError, match=message):
        lp_error_bound(**BOUND | options)
