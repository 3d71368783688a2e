"""MERT against brute force: every breakpoint of a line, and every cell of the plane."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from margrave.errors import MargraveError
from margrave.metrics import bleu_of_statistics
from margrave.translation.mert import line_search, mert

Lists = list[np.ndarray]


def share(sums: Any) -> Any:
    """A metric that does not split over lists."""
    return sums[..., 0] / (1.0 + sums[..., 1])


def random_lists(
    generator: np.random.Generator, n: int, longest: int, d: int, *, whole: bool = False
) -> tuple[Lists, Lists]:
    """Lists of different lengths; whole features make parallel and equal lines, and lines through one point."""
    sizes = generator.integers(1, longest + 1, n)
    if whole:
        features = [generator.integers(-2, 3, (k, d)).astype(float) for k in sizes]
    else:
        features = [generator.normal(size=(k, d)) for k in sizes]
    return features, [generator.integers(0, 6, (k, 2)) for k in sizes]


def score_at(features: Lists, statistics: Lists, weights: Any, score: Callable[[Any], Any]) -> float:
    chosen = [rows[np.argmax(of @ np.asarray(weights))] for of, rows in zip(features, statistics, strict=True)]
    return float(score(np.sum(chosen, axis=0)[None])[0])


def breakpoints(features: Lists, weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Every step at which two candidates of a list are equal, on top or not."""
    steps = set()
    for of in features:
        heights, slopes = of @ weights, of @ direction
        for a, b in combinations(range(len(of)), 2):
            if abs(slopes[a] - slopes[b]) > 1e-9:
                steps.add((heights[a] - heights[b]) / (slopes[b] - slopes[a]))
    return np.array(sorted(steps))


def brute_force(features: Lists, statistics: Lists, weights: np.ndarray, direction: np.ndarray) -> float:
    """The best score over a fine grid, and between each two breakpoints."""
    steps = breakpoints(features, weights, direction)
    if len(steps):
        wide = np.concatenate([[True], np.diff(steps) > 1e-6])
        steps = steps[wide]
    tried = [*np.linspace(-5, 5, 101) + 1e-4 * np.pi, *((steps[1:] + steps[:-1]) / 2)]
    tried += [steps[0] - 1, steps[-1] + 1] if len(steps) else []
    return max(score_at(features, statistics, weights + step * direction, share) for step in tried)


# Line search


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 6), st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_a_line_search_finds_the_best_of_all_intervals(seed: int, n: int, longest: int, d: int) -> None:
    generator = np.random.default_rng(seed)
    features, statistics = random_lists(generator, n, longest, d)
    weights, direction = generator.normal(size=(2, d))
    step, score = line_search(features, statistics, weights, direction, share)
    assert score == pytest.approx(score_at(features, statistics, weights + step * direction, share))
    assert score == pytest.approx(brute_force(features, statistics, weights, direction))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@settings(deadline=None, max_examples=150)
def test_parallel_equal_and_crossing_lines_are_told_apart(seed: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    features, statistics = random_lists(generator, n, 9, 2, whole=True)
    direction = np.array([0.0, 1.0])
    for weights in (np.array([1.0, 0.0]), np.array([0.0, 0.0]), np.array([1.0, 0.25])):
        step, score = line_search(features, statistics, weights, direction, share)
        # Quarters and eighths and their sums are exact, so even what is decided by ties alone is the same.
        steps = breakpoints(features, weights, direction)
        tried = [*((steps[1:] + steps[:-1]) / 2), *(steps[:1] - 1), *(steps[-1:] + 1)] or [0.0]
        scores = [score_at(features, statistics, weights + t * direction, share) for t in tried]
        assert score == pytest.approx(max(scores))
        assert score == pytest.approx(score_at(features, statistics, weights + step * direction, share))


def test_the_step_is_the_middle_of_the_widest_of_the_best_intervals() -> None:
    # On top: the first until 1, the second until 3, the third until 9, the fourth from there.
    features = [np.array([[0.0, 0.0], [-1.0, 1.0], [-4.0, 2.0], [-13.0, 3.0]])]
    assert line_search(features, [np.array([[0], [1], [1], [0]])], [1, 0], [0, 1], lambda s: s[..., 0]) == (6.0, 1.0)
    assert line_search(features, [np.array([[0], [1], [0], [0]])], [1, 0], [0, 1], lambda s: s[..., 0]) == (2.0, 1.0)
    assert line_search(features, [np.array([[1], [0], [0], [0]])], [1, 0], [0, 1], lambda s: s[..., 0]) == (0.0, 1.0)
    assert line_search(features, [np.array([[0], [0], [0], [1]])], [1, 0], [0, 1], lambda s: s[..., 0]) == (18.0, 1.0)


def test_a_line_that_is_never_on_top_is_never_chosen() -> None:
    features = [np.array([[0.0, -1.0], [-0.1, 0.0], [0.0, 1.0]])]  # the second would need both others below it
    assert line_search(features, [np.array([[0], [1], [0]])], [1, 0], [0, 1], lambda s: s[..., 0])[1] == 0


def test_lines_that_are_nearly_parallel_do_not_mix_candidates() -> None:
    generator = np.random.default_rng(11)
    for _ in range(200):
        slopes = 1 + 1e-13 * generator.integers(0, 50, 5)
        features = [np.column_stack([1e-13 * generator.normal(size=5), slopes])]
        statistics = [np.array([[0], [-100], [1], [-100], [2]])]
        score = line_search(features, statistics, [1, 0], [0, 1], lambda s: s[..., 0])[1]
        assert score in statistics[0]  # where a change comes before the one that it follows, 0 - -100 + 1


def test_without_a_change_the_step_is_zero() -> None:
    features, statistics = [np.ones((3, 2))], [np.array([[4], [9], [9]])]
    assert line_search(features, statistics, [1, 1], [0, 1], lambda s: s[..., 0]) == (0.0, 4.0)
    assert line_search(features, statistics, [1, 1], [0, 0], lambda s: s[..., 0]) == (0.0, 4.0)


# The whole search


def best_of_the_plane(features: Lists, statistics: Lists) -> float:
    """The best score over all cells of weights in the plane: the arcs between the angles at which two are equal."""
    angles = []
    for of in features:
        for a, b in combinations(of, 2):
            normal = np.arctan2(*(a - b)[::-1])
            angles += [normal + np.pi / 2, normal - np.pi / 2]
    angles = sorted(angle % (2 * np.pi) for angle in angles)
    middles = [(x + y) / 2 for x, y in zip(angles, [*angles[1:], angles[0] + 2 * np.pi], strict=True)]
    return max(score_at(features, statistics, [np.cos(a), np.sin(a)], share) for a in middles or [0.0])


@pytest.mark.parametrize("seed", range(15))
def test_the_best_cell_of_the_plane_is_found(seed: int) -> None:
    generator = np.random.default_rng(seed)
    features, statistics = random_lists(generator, 6, 5, 2)
    weights, score = mert(features, statistics, share, [1.0, 1.0], restarts=5, random_state=seed)
    assert score == pytest.approx(best_of_the_plane(features, statistics))
    assert score == score_at(features, statistics, weights, share)
    assert np.abs(weights).sum() == pytest.approx(1)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(deadline=None, max_examples=40)
def test_the_score_is_never_below_that_of_the_start(seed: int, whole: bool) -> None:
    generator = np.random.default_rng(seed)
    features, statistics = random_lists(generator, 10, 6, 3, whole=whole)
    start = np.round(generator.normal(size=3), 0 if whole else 9)
    weights, score = mert(features, statistics, share, start, restarts=1, random_directions=2, random_state=1)
    assert score >= score_at(features, statistics, start, share)
    assert score == pytest.approx(score_at(features, statistics, weights, share))


def bleu_lists(generator: np.random.Generator, n: int, size: int, d: int) -> tuple[Lists, Lists, np.ndarray]:
    """Candidates whose BLEU statistics follow a hidden linear score of features of very different scales."""
    scales = 10.0 ** generator.integers(-2, 3, d)
    hidden = generator.normal(size=d) / scales
    features, statistics = [], []
    for _ in range(n):
        of = generator.normal(size=(size, d)) * scales
        quality = 1 / (1 + np.exp(-(of @ hidden)))
        totals = np.array([20, 19, 18, 17])
        matches = np.floor(totals * quality[:, None] ** np.arange(1, 5)).astype(int)
        features.append(of)
        statistics.append(np.column_stack([matches, np.tile(totals, (size, 1)), np.full((size, 2), 20)]))
    return features, statistics, hidden


def test_a_hundred_lists_are_tuned_to_the_hidden_weights() -> None:
    generator = np.random.default_rng(7)
    features, statistics, hidden = bleu_lists(generator, 100, 100, 15)
    start = generator.normal(size=15)
    weights, score = mert(features, statistics, start=start, restarts=2)
    assert score == score_at(features, statistics, weights, bleu_of_statistics)
    assert score > score_at(features, statistics, start, bleu_of_statistics) + 0.1
    oracle = score_at(features, statistics, hidden, bleu_of_statistics)
    assert score > 0.98 * oracle


def test_a_seed_gives_the_same_weights_again() -> None:
    features, statistics = random_lists(np.random.default_rng(8), 20, 8, 4)
    first, score = mert(features, statistics, share, restarts=3, random_state=4)
    second, again = mert(features, statistics, share, restarts=3, random_state=4)
    assert (first == second).all()
    assert score == again
    assert (first != mert(features, statistics, share, restarts=3, random_state=5)[0]).any()


def test_more_restarts_are_never_worse() -> None:
    features, statistics = random_lists(np.random.default_rng(2), 30, 10, 6)
    scores = [
        mert(features, statistics, share, np.ones(6), restarts=restarts, random_directions=0)[1]
        for restarts in (0, 2, 8)
    ]
    assert scores[0] < scores[1] < scores[2]


def test_nothing_to_gain_returns_the_start() -> None:
    features, statistics = [np.array([[1.0, 0.0], [0.0, 1.0]])], [np.array([[3, 0], [3, 0]])]
    weights, score = mert(features, statistics, share, [3.0, 1.0], restarts=2)
    assert weights.tolist() == [0.75, 0.25]
    assert score == 3


def test_of_candidates_with_equal_features_the_first_is_chosen() -> None:
    generator = np.random.default_rng(12)
    for size in range(2, 12):  # a product with a matrix may round its last rows otherwise than the others
        features = [np.tile(generator.normal(size=15), (size, 1))]
        statistics = [np.column_stack([np.arange(1, size + 1), np.zeros(size)])]
        assert mert(features, statistics, share, restarts=2, max_iter=1)[1] == 1


def test_the_unit_of_a_feature_does_not_matter() -> None:
    features, statistics = random_lists(np.random.default_rng(13), 20, 8, 4)
    units = np.array([1.0, 1024.0, 1 / 64, 8.0])  # powers of two, which do not round
    one, score = mert(features, statistics, share, restarts=2, random_state=3)
    other, same = mert([of * units for of in features], statistics, share, restarts=2, random_state=3)
    assert same == score
    np.testing.assert_allclose(other * units / np.abs(other * units).sum(), one)


# Bad input

ONE, COUNTS = [np.ones((2, 3))], [np.ones((2, 1))]
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: mert([], []), "there are no lists to learn from."),
    (lambda: mert(ONE, []), "features has 1 lists, but statistics has 0."),
    (lambda: mert(ONE, [np.ones((3, 1))]), "features[0] has 2 candidates, but statistics[0] has 3."),
    (lambda: mert([*ONE, np.ones((1, 4))], COUNTS * 2), "features[1] has 1 candidates, but statistics[1] has 2."),
    (lambda: mert([*ONE, np.ones((2, 4))], COUNTS * 2), "features[1] has 4 columns, but features[0] has 3."),
    (lambda: mert(ONE * 2, [*COUNTS, np.ones((2, 9))]), "statistics[1] has 9 columns, but statistics[0] has 1."),
    (
        lambda: mert([np.ones((0, 3))], COUNTS),
        "features[0] must have at least one row and one column, and its shape is (0, 3).",
    ),
    (
        lambda: mert([np.ones(3)], COUNTS),
        "features[0] must have at least one row and one column, and its shape is (3,).",
    ),
    (lambda: mert([np.full((2, 3), np.nan)], COUNTS), "features[0] must be finite, and it is not."),
    (lambda: mert([[["a"], ["b"]]], COUNTS), "features[0] must be a 2-d array of numbers."),  # type: ignore[list-item]
    (lambda: mert(ONE, COUNTS), "BLEU needs 10 statistics per segment, and the shape is (1, 1)."),
    (
        lambda: mert(ONE, COUNTS, lambda sums: 1.0),
        "score must map sums of shape (..., 1) to numbers of shape (...), and it returned shape () for (1, 1).",
    ),
    (
        lambda: mert(ONE, COUNTS, start=[1.0]),
        "start must have one number for each of 3 features, and its shape is (1,).",
    ),
    (lambda: mert(ONE, COUNTS, start=["a"]), "start must be a list of numbers."),  # type: ignore[list-item]
    (lambda: mert(ONE, COUNTS, start=[1.0, np.inf, 0]), "start must be finite, and it is not."),
    (lambda: mert(ONE, COUNTS, restarts=-1), "restarts must be at least 0, and it is -1."),
    (lambda: mert(ONE, COUNTS, max_iter=0), "max_iter must be at least 1, and it is 0."),
    (lambda: mert(ONE, COUNTS, random_directions=-1), "random_directions must be at least 0, and it is -1."),
    (lambda: mert(ONE, COUNTS, random_state=-1), "random_state must be at least 0, and it is -1."),
    (
        lambda: line_search(ONE, COUNTS, [1.0] * 3, [1.0]),
        "direction must have one number for each of 3 features, and its shape is (1,).",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_a_mistake_is_named_in_one_sentence(mistake: Callable[[], Any], message: str) -> None:
    with pytest.raises(MargraveError) as caught:
        mistake()
    assert str(caught.value) == message
