"""A program that alters every array of a learner's checkpoint, makes the checksum right, and resumes.

Each altered file must be refused in one sentence, or the run must go on, since a forged state is not examined. An
array of another size or with an index out of range must never crash. Altered best weights, whose P is computed again,
must be refused, or the record of the solution must be true. It runs in a process of its own, because a crash would end
all other tests: `python -m tests.learners.altered_checkpoints NUMBER`.
"""

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from margrave import LossFamily, MargraveError, Problem
from margrave.files import model as model_file
from margrave.learners import Learner, Record, Solution
from tests.learners.test_checkpoints import CASES, Case, problem_of, run

LARGE = 10**6  # as an index, out of every range
ROUNDING = 1e-7
# What P and D are computed from again: the weights that are the result, and running sums that have the weights.
TRUE = ("best", "state.w", "state.best")


def alterations(array: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Other arrays in the place of this one, with what they are."""
    if array.ndim:
        yield "empty", array[:0].copy()
        yield "shorter", array[:-1].copy()
        yield "longer", np.concatenate([array, np.zeros((1, *array.shape[1:]), array.dtype)])
        yield "of two axes", array.reshape(1, *array.shape).copy()
    yield "of another type", array.astype(np.float32 if array.dtype == np.float64 else np.float64)
    yield "of small integers", np.nan_to_num(array, posinf=0.0).astype(np.int8)
    if not array.size:
        return
    whole = array.dtype.kind in "iu"
    if whole:
        limits = np.iinfo(array.dtype)
        values = [
            value
            for value in (-1, 0, 1, LARGE, -LARGE, limits.min, limits.max)
            if value in range(limits.min, limits.max + 1)
        ]
    else:
        values = [nan, inf, -inf, -1.0, 0.0, 0.5, 1e-3, 1e6, 1e300]
    for place in {0, array.size // 2, array.size - 1}:
        for value in values:
            altered = array.copy()
            altered.reshape(-1)[place] = value
            yield f"{value} at {place}", altered
    yield "all larger", array * 2 + 1
    yield "all zero", np.zeros_like(array)
    if not whole:
        yield "all slightly larger", array * 1.01
        yield "all negative", -np.abs(array)


def truth(one: Case, problem: Problem, loss: LossFamily) -> float:
    """The optimum, from below where it is not exact."""
    if one.name == "cccp":
        return -inf
    learner = "lp" if one.name == "lp" else "bcfw"
    solution = run(Learner.registered[learner](), problem, loss, C=0.7, tol=1e-10, max_iter=3000)
    assert solution.certificate.dual is not None
    return solution.certificate.dual


def false_record(record: Record, least: float) -> bool:
    size = ROUNDING * max(1.0, abs(least))
    too_low = record.primal is not None and not record.primal >= least - size
    return too_low or (record.dual is not None and not record.dual <= least + 2 * size)


def check(one: Case, folder: Path) -> Iterator[str]:
    """What went wrong."""
    for kind in one.kinds:
        for beta, gamma in one.losses:
            loss, problem = one.loss(beta, gamma), problem_of(kind, beta, gamma)
            least = -inf if (beta, gamma) == (inf, 0.0) else truth(one, problem, loss)
            path = folder / f"{kind}-{beta}-{gamma}"
            run(one.make(), problem, loss, path, C=0.7, max_iter=3)
            header, arrays = model_file.read(path)
            for name, array in arrays.items():
                for what, altered in alterations(array):
                    if altered.dtype == array.dtype and np.array_equal(altered, array):
                        continue
                    model_file.write(path, header, arrays | {name: altered})
                    where = f"{one} on {kind}, beta {beta}, {name} {what}"
                    try:
                        solution: Solution = run(one.make(), problem, loss, path, C=0.7, max_iter=6)
                    except MargraveError:
                        continue
                    except Exception as error:
                        yield f"{where}: {type(error).__name__}: {error}"
                        continue
                    if name in TRUE and least > -inf and false_record(solution.certificate, least):
                        yield f"{where}: false: {solution.certificate}, optimum {least}"


if __name__ == "__main__":
    os.fsync = lambda file: None  # Nothing here cuts the power.
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as scratch:
        wrong = list(check(CASES[int(sys.argv[1])], Path(scratch)))
    print("\n".join(wrong))
    sys.exit(bool(wrong))
