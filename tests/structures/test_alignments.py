"""Alignments: numbers of outputs, every mode and kind of gap up to 5 x 5 letters, repeats of letters, linear memory."""

import resource
from math import comb, inf

import numpy as np
import pytest
from numpy.testing import assert_allclose

from margrave import _core
from margrave.data import Letters
from margrave.errors import MargraveError
from margrave.examples import Examples
from margrave.losses import Hamming, ZeroOne
from margrave.structures import Alignment, NoOutputs
from margrave.testing.enumeration import Outputs
from tests.references.alignments import AlignmentParts, alignments, edge_parts, edge_scores, log_sums

MODES = ("global", "local", "semi-global")
GAPS = ("affine", "linear")
SIZES = ((12, 12, 1), (30, 30, 1), (12, -12, 1), (1e3, 1e3, 1), (1e4, 1e4, 1e4), (-1e4, 1e3, 1e4))  # gaps, ends, pairs
NO_UNITS = np.zeros(0, dtype=np.int64)


def bound_to(structure: Alignment, xs, ys, gold=None, costs=None):
    return structure.bind(NoOutputs(), Examples.of_sizes(NO_UNITS, gold, x=Letters.of(xs), y=Letters.of(ys)), costs)


def problem_of(structure: Alignment, xs, ys, gold=None, costs=None):
    bound = bound_to(structure, xs, ys, gold, costs)
    parts = [bound.parts(i) for i in range(bound.size)]
    rows = _core.Tokens(
        np.concatenate([[0], np.cumsum(parts)]).astype(np.int64),
        np.zeros(sum(parts) + 1, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        None,
    )
    return bound, _core.join(bound, _core.sparse_parts(1, rows, bound.choices, bound.repeats))


@pytest.mark.parametrize("n", range(1, 6))
@pytest.mark.parametrize("m", range(1, 6))
def test_there_are_as_many_alignments_as_the_formula_says(n: int, m: int) -> None:
    assert len(list(alignments(n, m))) == comb(n + m, n)
    x, y = list(range(n)), list(range(m))
    for mode in MODES:
        for tied in (True, False):
            bound, problem = problem_of(Alignment(mode, tied=tied, letters=5), [x], [y])
            value, _ = problem.logsum(0, np.zeros(bound.parts(0)))
            assert_allclose(np.exp(value), comb(n + m, n), rtol=1e-12)
    bound, problem = problem_of(Alignment(tied=False, edges=True), [x], [y])
    assert_allclose(np.exp(problem.logsum(0, np.zeros(bound.parts(0)))[0]), comb(n + m, n), rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("shape", [(5, 5), (5, 2), (1, 5), (4, 5)])
def test_inference_agrees_with_enumeration_also_where_letters_repeat(mode, gaps, tied, shape) -> None:
    n, m = shape
    rng = np.random.default_rng([MODES.index(mode), GAPS.index(gaps), tied, n, m])
    for trial in range(3):
        x, y = rng.integers(0, 3, n).tolist(), rng.integers(0, 3, m).tolist()
        every = list(alignments(n, m))
        parts = AlignmentParts(x, y, mode, gaps == "affine", tied, 3)
        outputs = Outputs(len(parts.number), [parts.of(each) for each in every])
        bound, problem = problem_of(Alignment(mode, gaps, tied, letters=3), [x], [y])
        theta = rng.standard_normal(outputs.n) * (1.0, 5.0, 100.0)[trial]
        theta[rng.random(outputs.n) < 0.1 * trial] = -inf
        values = outputs.values(theta)
        best, found = problem.argmax(0, theta)
        assert_allclose(best, float(values.max()), rtol=1e-9, atol=1e-9)
        assert_allclose(bound.best_score(0, theta), best, rtol=1e-12, atol=1e-12)
        if best > -inf:
            assert parts.of([tuple(pair) for pair in bound.matches(0, found).reshape(-1, 2).tolist()]) == tuple(
                sorted(found.tolist())
            )
        total, mu = problem.logsum(0, theta)
        expected, marginals = outputs.logsum(theta)
        assert_allclose(total, expected, rtol=1e-9, atol=1e-9)
        assert_allclose(mu, marginals, rtol=1e-9, atol=1e-12)
        kbest = problem.kbest(0, theta, 7)
        order = np.sort(values[values > -inf])[::-1].astype(float)[:7]
        assert_allclose([value for value, _ in kbest], order, rtol=1e-9, atol=1e-9)
        matched = {tuple(bound.matches(0, y).tolist()) for _, y in kbest}
        assert len(matched) == len(kbest)
        delta = rng.integers(0, 3, outputs.n).astype(float)
        by_cost = outputs.best_by_cost(theta, delta)
        assert {cost: value for cost, value, _ in problem.argmax_by_cost(0, theta, delta)} == pytest.approx(by_cost)


@pytest.mark.parametrize("shape", [(5, 5), (5, 2), (1, 5)])
def test_inference_on_edges_agrees_with_enumeration(shape: tuple[int, int]) -> None:
    n, m = shape
    rng = np.random.default_rng([n, m])
    outputs = Outputs(10 * n * m + 1, [edge_parts(n, m, each) for each in alignments(n, m)])
    _, problem = problem_of(Alignment(tied=False, edges=True), [range(n)], [range(m)])
    theta = rng.standard_normal(outputs.n)
    values = outputs.values(theta)
    best, _ = problem.argmax(0, theta)
    assert_allclose(best, values.max(), rtol=1e-9)
    total, mu = problem.logsum(0, theta)
    expected, marginals = outputs.logsum(theta)
    assert_allclose(total, expected, rtol=1e-9)
    assert_allclose(mu, marginals, rtol=1e-9, atol=1e-12)
    kbest = [value for value, _ in problem.kbest(0, theta, 7)]
    assert_allclose(kbest, np.sort(values)[::-1][:7], rtol=1e-9)
    p = np.exp(values - float(expected))
    assert_allclose(problem.entropy(0, mu)[0], -(p * np.log(p)).sum(), rtol=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", ["usual", "steep", "rising", "forbidden", "far apart", "huge"])
def test_sums_over_long_sequences_are_those_of_the_edges_of_the_trellis(mode, gaps, tied, kind) -> None:
    """Also where values leave the range of scaled sums; marginals are the derivatives."""
    rng = np.random.default_rng([MODES.index(mode), GAPS.index(gaps), tied])
    n, m = (23, 31) if kind != "far apart" else (3, 37)
    x, y = rng.integers(0, 4, n), rng.integers(0, 4, m)
    bound, problem = problem_of(Alignment(mode, gaps, tied, letters=4), [x], [y])
    parts = AlignmentParts(x.tolist(), y.tolist(), mode, gaps == "affine", tied, 4)
    theta = rng.standard_normal(bound.parts(0))
    shift = {"usual": -1.0, "steep": -30.0, "rising": 4.0, "forbidden": -1.0, "far apart": -60.0, "huge": -1.0}[kind]
    for name, k in parts.number.items():
        if name[0] in ("inside", "end"):
            theta[k] += shift
        if name[0] == "pair" and kind in ("steep", "huge"):
            theta[k] = theta[k] * 30 + (0 if kind == "steep" else 100)
    if kind == "forbidden":
        theta[rng.random(len(theta)) < 0.1] = -inf
    edges, of_edges = problem_of(Alignment(tied=False, edges=True), [x], [y])
    expected, mu_edges = of_edges.logsum(0, np.array(edge_scores(parts, theta.tolist())))
    total, mu = problem.logsum(0, theta)
    assert_allclose(total, expected, rtol=1e-11, atol=1e-9)
    if total == -inf:
        return
    if not tied:
        assert_allclose(bound.match_table(0, mu), edges.match_table(0, mu_edges), atol=1e-9)
    way = rng.standard_normal(len(theta))
    step = 1e-6
    ahead, behind = (problem.logsum(0, theta + s * step * way)[0] for s in (1, -1))
    assert_allclose((ahead - behind) / (2 * step), mu @ way, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("tied", [True, False])
def test_sums_are_exact_for_scores_of_any_size(mode: str, gaps: str, tied: bool) -> None:
    """Also for gaps that earn something, long sequences beside short ones, and gaps at the ends of other scores."""
    rng = np.random.default_rng([MODES.index(mode), GAPS.index(gaps), tied])
    for n, m in ((1, 64), (64, 1), (3, 61)):
        x, y = rng.integers(0, 4, n), rng.integers(0, 4, m)
        bound, problem = problem_of(Alignment(mode, gaps, tied, letters=4), [x], [y])
        parts = AlignmentParts(x.tolist(), y.tolist(), mode, gaps == "affine", tied, 4)
        for inside, end, pair in SIZES:
            shift = {"pair": pair, "inside": inside, "end": end, "begin": 0.0}
            theta = rng.standard_normal(bound.parts(0)) + [shift[str(name[0])] for name in parts.number]
            expected, table = log_sums(n, m, edge_scores(parts, theta.tolist()))
            total, mu = problem.logsum(0, theta)
            assert_allclose(total, expected, rtol=1e-12, atol=1e-9)
            assert np.isfinite(mu).all()
            if not tied:
                assert_allclose(bound.match_table(0, mu), np.ravel(table), atol=1e-9)
            else:
                found = np.bincount((x[:, None] * 4 + y).ravel(), np.ravel(table), 16)
                assert_allclose(mu[:16], found, atol=1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_posteriors_of_matches_are_those_of_places(mode: str) -> None:
    """Every letter of x is matched with at most one letter of y; the table is that of the enumeration."""
    rng = np.random.default_rng(3)
    n, m = 4, 5
    bound, problem = problem_of(Alignment(mode, tied=False), [range(n)], [range(m)])
    theta = rng.standard_normal(bound.parts(0))
    _, mu = problem.logsum(0, theta)
    table = bound.match_table(0, mu).reshape(n, m)
    parts = AlignmentParts(range(n), range(m), mode, True, False, 1)
    every = list(alignments(n, m))
    values = Outputs(len(parts.number), [parts.of(each) for each in every]).values(theta)
    p = np.exp(values - values.max())
    p /= p.sum()
    expected = np.zeros((n, m))
    for share, each in zip(p, every, strict=True):
        for i, j in each:
            expected[i, j] += float(share)
    assert_allclose(table, expected, atol=1e-12)
    assert (table.sum(axis=1) <= 1 + 1e-12).all() and (table.sum(axis=0) <= 1 + 1e-12).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gaps", GAPS)
def test_divide_and_conquer_finds_as_good_an_alignment_as_tables(mode: str, gaps: str) -> None:
    """The same pair in one table, and split into so many cells that tables are given up."""
    rng = np.random.default_rng(8)
    letters = 4
    x, y = rng.integers(0, letters, 1500), rng.integers(0, letters, 1300)
    assert len(x) * len(y) > 1 << 20
    bound, problem = problem_of(Alignment(mode, gaps, letters=letters), [x], [y])
    theta = np.zeros(bound.parts(0))
    theta[: letters**2] = (np.eye(letters) * 3 - 1).ravel() + 0.01 * rng.standard_normal(letters**2)
    theta[letters**2 : letters**2 + 16] = -2 + rng.standard_normal(16)
    if mode != "local":
        theta[letters**2 + (16 if gaps == "affine" else 8) : letters**2 + (32 if gaps == "affine" else 16)] = -1.5
    value, parts = problem.argmax(0, theta)
    assert_allclose(value, theta[parts].sum(), rtol=1e-12)
    assert_allclose(value, bound.best_score(0, theta), rtol=1e-12)
    pairs = bound.matches(0, parts).reshape(-1, 2)
    assert (np.diff(pairs, axis=0) > 0).all()
    again = AlignmentParts(x.tolist(), y.tolist(), mode, gaps == "affine", True, letters)
    assert again.of([tuple(pair) for pair in pairs.tolist()]) == tuple(sorted(parts.tolist()))


def test_every_instruction_set_finds_the_same_scores() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, 37), rng.integers(0, 5, 61)
    before, results = _core.instruction_set(), []
    for name in _core.instruction_sets():
        _core.choose_instruction_set(name)
        try:
            for mode in MODES:
                bound, problem = problem_of(Alignment(mode, tied=True, letters=5), [x], [y])
                theta = np.random.default_rng(2).standard_normal(bound.parts(0))
                value, mu = problem.logsum(0, theta)
                results.append([bound.best_score(0, theta), value, *mu[:60]])
        finally:
            _core.choose_instruction_set(before)
    for k in range(0, len(results), len(MODES)):
        assert_allclose(results[: len(MODES)], results[k : k + len(MODES)], rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_scores_are_those_of_biopython(mode: str) -> None:
    """BLOSUM62, 10 for the first letter of a gap and 1 for each further one, on random pairs."""
    align = pytest.importorskip("Bio.Align")
    aligner = align.PairwiseAligner(scoring="blastp")
    aligner.open_gap_score, aligner.extend_gap_score = -10, -1
    aligner.mode = "local" if mode == "local" else "global"
    if mode == "semi-global":
        aligner.open_end_gap_score = aligner.extend_end_gap_score = 0
    matrix = aligner.substitution_matrix
    letters = "ARNDCQEGHILKMFPSTWYV"
    table = np.array([[matrix[a, b] for b in letters] for a in letters])
    rng = np.random.default_rng(5)
    xs = [rng.integers(0, 20, rng.integers(1, 60)) for _ in range(1000)]
    ys = [rng.integers(0, 20, rng.integers(1, 60)) for _ in range(1000)]
    bound, _ = problem_of(Alignment(mode, letters=20), xs, ys)
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        theta = np.zeros(bound.parts(i))
        theta[:400] = table.ravel()
        for first in range(400, 480 if mode == "local" else 560, 40):
            theta[first : first + 20], theta[first + 20 : first + 40] = -10, -1
        expected = aligner.score("".join(letters[k] for k in x), "".join(letters[k] for k in y))
        assert bound.best_score(i, theta) == (max(expected, 0) if mode == "local" else expected)


def test_invalid_alignments_are_refused_in_one_sentence() -> None:
    structure = Alignment(tied=False)
    for gold, match in (
        ([[(0, 0), (0, 1)]], "example 0: matched pairs must ascend in both sequences"),
        ([[(0, 5)]], r"example 0: the pair \(0, 5\) is outside of sequences of 2 and 3 letters"),
        ([[0, 1]], "example 0: matched pairs must be a list of pairs"),
    ):
        with pytest.raises(MargraveError, match=match):
            bound_to(structure, [[0, 0]], [[0, 0, 0]], gold)
    with pytest.raises(MargraveError, match="empty"):
        bound_to(structure, [[]], [[0]])
    with pytest.raises(MargraveError, match="not in the alphabet"):
        bound_to(Alignment(letters=2), [[0, 2]], [[0]])
    with pytest.raises(MargraveError, match="needs tied=False"):
        bound_to(Alignment(), [[0]], [[0]], [[(0, 0)]], ZeroOne())
    with pytest.raises(MargraveError, match="unknown mode of alignments 'globl'; did you mean 'global'"):
        Alignment("globl")
    with pytest.raises(MargraveError, match="not tied"):
        Alignment(edges=True)


def test_parts_at_their_places_beyond_the_memory_limit_are_refused_with_the_number() -> None:
    long = Letters(np.array([0, 50_000], dtype=np.int64))
    for structure, match in (
        (Alignment(tied=False), "50000 times 50000 pairs of places.*134217728: use tied=True"),
        (Alignment(tied=False, edges=True), "10 times 50000 times 50000 edges"),
    ):
        with pytest.raises(MargraveError, match=match):
            structure.bind(NoOutputs(), Examples.of_sizes(NO_UNITS, x=long, y=long))


def test_costs_count_missed_and_wrong_pairs() -> None:
    gold = [[(0, 0), (2, 1)]]
    bound, problem = problem_of(Alignment(tied=False), [range(3)], [range(2)], gold, Hamming())
    delta, c0 = problem.cost(0)
    assert c0 + delta[problem.gold(0)].sum() == 0
    assert c0 == 2  # nothing is matched: both are missed
    assert c0 + delta[[1 * 2 + 0]].sum() == 3  # one wrong pair more
    assert bound.matches(0, problem.gold(0)).reshape(-1, 2).tolist() == [[0, 0], [2, 1]]


def test_the_best_alignment_of_long_sequences_takes_linear_memory() -> None:
    """Tables of 5,000 x 5,000 cells would take 600 MB; 50,000 letters are measured in benchmarks/alignment_speed."""
    n, letters = 5000, 4
    rng = np.random.default_rng(4)
    x = rng.integers(0, letters, n)
    y = np.delete(x, rng.integers(0, n, 50))
    bound = bound_to(Alignment("global", letters=letters), [x], [y])
    theta = np.full(bound.parts(0), -2.0)
    theta[: letters**2] = (np.eye(letters) * 3 - 2).ravel()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pairs = bound.best_matches(0, theta).reshape(-1, 2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024
    assert len(pairs) > 4800 and (x[pairs[:, 0]] == y[pairs[:, 1]]).mean() > 0.95
