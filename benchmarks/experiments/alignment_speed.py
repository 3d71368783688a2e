"""Milliseconds of alignments of 300 letters beside Biopython's and parasail's, training, and 50,000 letters."""

import resource
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.tables import markdown
from margrave import SequenceAligner
from margrave.data import BLOSUM62, Letters
from margrave.data.substitution import HALF_BIT
from margrave.estimators.generative_aligner import aligner_of
from margrave.examples import Examples
from margrave.features import Sequences
from margrave.structures import Alignment, NoOutputs

Result = dict[str, Any]

CORPORA: tuple[str, ...] = ()
RESULT = "alignment_speed"
LETTERS = "ARNDCQEGHILKMFPSTWYV"
LENGTH = 300
REPEATS = 200
MODES = ("global", "local", "semi-global")
PAIRS, TRAIN_LENGTH, TOLERANCE = 1000, 200, 1e-3
LONG = 50_000
BATCH = 20  # calls that are timed together, for one of which the clock is too coarse


def shortest(run: Callable[[], Any]) -> float:
    """Milliseconds of the fastest of some batches."""
    times = []
    for _ in range(REPEATS // BATCH):
        begin = perf_counter()
        for _ in range(BATCH):
            run()
        times.append((perf_counter() - begin) / BATCH)
    return 1000 * min(times)


def descendant(rng: np.random.Generator, x: np.ndarray, kept: float = 0.5) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """A sequence with some letters replaced, and with short gaps in both; and which letters are matched."""
    made: list[int] = []
    matches = []
    i = 0
    while i < len(x):
        chance = rng.random()
        if chance < 0.02:
            i += int(rng.integers(1, 6))
        elif chance < 0.04:
            made += rng.integers(0, len(LETTERS), int(rng.integers(1, 6))).tolist()
        else:
            matches.append((i, len(made)))
            made.append(int(x[i]) if rng.random() < kept else int(rng.integers(0, len(LETTERS))))
            i += 1
    return np.array(made), matches


def text(codes: np.ndarray) -> str:
    """The letters of numbers."""
    return "".join(LETTERS[k] for k in codes)


def inference() -> dict[str, Any]:
    """Our score, alignment and posteriors of one pair, and the scores of others."""
    from margrave import _core

    rng = np.random.default_rng(0)
    x = rng.integers(0, len(LETTERS), LENGTH)
    y = rng.integers(0, len(LETTERS), LENGTH)
    rows = {}
    for mode in MODES:
        structure = Alignment(mode, letters=len(LETTERS))
        bound = structure.bind(
            NoOutputs(), Examples.of_sizes(np.zeros(0, dtype=np.int64), x=Letters.of([x]), y=Letters.of([y]))
        )
        assert isinstance(bound, _core.AlignmentStructure)
        parts = bound.parts(0)
        empty = _core.Tokens(
            np.array([0, parts]), np.zeros(parts + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), None
        )
        problem = _core.join(bound, _core.sparse_parts(1, empty, bound.choices, bound.repeats))
        theta = np.zeros(parts)
        n = len(LETTERS)
        theta[: n * n] = BLOSUM62.table(LETTERS).ravel()
        for first in range(n * n, n * n + (4 if mode == "local" else 8) * n, 2 * n):
            theta[first : first + n], theta[first + n : first + 2 * n] = -10, -1
        natural = theta * HALF_BIT
        rows[mode] = {
            "score": shortest(lambda: bound.best_score(0, theta)),  # noqa: B023
            "alignment": shortest(lambda: problem.argmax(0, theta)),  # noqa: B023
            "posteriors": shortest(lambda: problem.logsum(0, natural)),  # noqa: B023
            **rivals(mode, text(x), text(y), bound.best_score(0, theta)),
        }
    return rows


def rivals(mode: str, x: str, y: str, score: float) -> dict[str, float]:
    """Milliseconds of Biopython and parasail, whose scores must be ours."""
    found = {}
    if find_spec("Bio"):
        from Bio.Align import PairwiseAligner

        aligner = PairwiseAligner(scoring="blastp")
        aligner.open_gap_score, aligner.extend_gap_score = -10, -1
        aligner.mode = "local" if mode == "local" else "global"
        if mode == "semi-global":
            aligner.open_end_gap_score = aligner.extend_end_gap_score = 0
        assert aligner.score(x, y) == score
        found["Biopython, score"] = shortest(lambda: aligner.score(x, y))
        found["Biopython, alignment"] = shortest(lambda: aligner.align(x, y)[0])
    if find_spec("parasail"):
        import parasail

        name = {"global": "nw", "local": "sw", "semi-global": "sg"}[mode]
        matrix = parasail.blosum62
        for kind in ("striped_16", "scan_16"):
            function = getattr(parasail, f"{name}_{kind}")
            assert function(x, y, 10, 1, matrix).score == score
            found[f"parasail, score, {kind}"] = shortest(lambda: function(x, y, 10, 1, matrix))  # noqa: B023
    return found


def known_pairs(count: int, length: int) -> tuple[list[tuple[str, str]], list[list[tuple[int, int]]]]:
    """Random sequences of this length with their descendants, and which letters are matched."""
    rng = np.random.default_rng(1)
    X, Y = [], []
    for _ in range(count):
        x = rng.integers(0, len(LETTERS), length)
        y, matches = descendant(rng, x)
        X.append((text(x), text(y)))
        Y.append(matches)
    return X, Y


def training() -> dict[str, Any]:
    """Seconds to a gap of 1e-3 on pairs of 200 letters, with two threads."""
    X, Y = known_pairs(PAIRS, TRAIN_LENGTH)
    model = SequenceAligner(tol=TOLERANCE, n_jobs=2, features=Sequences(LETTERS))
    begin = perf_counter()
    model.fit(X, Y)
    seconds = perf_counter() - begin
    return {
        "seconds": seconds,
        "gap": model.certificate_.relative_gap,
        "passes": model.n_iter_,
        "learner": model.learner_.name,
    }


def long_sequences() -> dict[str, Any]:
    """Seconds and memory of one alignment of 50,000 letters in linear memory."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, len(LETTERS), LONG)
    y, matches = descendant(rng, x)
    model = aligner_of(BLOSUM62, "global")
    model.predict([(text(x[:100]), text(y[:100]))])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = perf_counter()
    (found,) = model.predict([(text(x), text(y))])
    seconds = perf_counter() - begin
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "letters": [len(x), len(y)],
        "seconds": seconds,
        "megabytes": memory,
        "recall": len(set(found) & set(matches)) / len(matches),
    }


def measure() -> Result:
    """All of it, one after another; memory first, since the peak never falls."""
    long = long_sequences()
    return {
        "length": LENGTH,
        "long": long,
        "inference": inference(),
        "training": training(),
        "parasail": version("parasail") if find_spec("parasail") else None,
        "biopython": version("biopython") if find_spec("Bio") else None,
    }


def table(result: Result) -> str:
    """Milliseconds by mode, and the ratios that matter."""
    names = sorted({name for of in result["inference"].values() for name in of})
    ours = ("score", "alignment", "posteriors")
    names = [*ours, *(name for name in names if name not in ours)]
    rows = [
        [name, *(f"{result['inference'][mode][name]:.3f}" for mode in MODES)]
        for name in names
        if all(name in of for of in result["inference"].values())
    ]
    ratio = [f"{of['posteriors'] / of['alignment']:.1f}" for of in result["inference"].values()]
    rows.append(["posteriors / alignment", *ratio])
    long, train = result["long"], result["training"]
    return (
        f"Milliseconds for {result['length']} x {result['length']} letters, one thread\n\n"
        f"{markdown(['', *MODES], rows)}\n\n"
        f"{long['letters'][0]} x {long['letters'][1]} letters: {long['seconds']:.1f} s, {long['megabytes']:.0f} MB\n"
        f"{PAIRS} pairs of {TRAIN_LENGTH} letters by {train['learner']}, two threads: {train['seconds']:.1f} s to "
        f"a gap of {train['gap']:.1e} ({train['passes']} passes)"
    )


def plot(result: Result) -> None:
    """There is none."""
