"""Checkpoints of every learner, with contents changed behind a right checksum, from which a run goes on.

The run must refuse the file, or end with a record that is true: a best P below the optimum would be false, and so would
a D above it, where the weights or running sums were changed that they are computed from again.
"""

from collections.abc import Callable
from functools import cache, partial
from math import inf
from random import Random
from typing import Any

from margrave.files import model as model_file
from tests.fuzz.files import contents, edits
from tests.fuzz.readers import scratch
from tests.fuzz.targets import Case, Target, WrongError
from tests.learners.altered_checkpoints import TRUE, false_record, truth
from tests.learners.test_checkpoints import CASES, problem_of, run

_IN_HEADER = 0.25  # the share of changes


def targets() -> list[Target]:
    """One for each learner, with its cases in the tests of checkpoints."""
    by_name: dict[str, list[int]] = {}
    for number, one in enumerate(CASES):
        by_name.setdefault(one.name, []).append(number)
    return [Target("checkpoints", name, partial(_make, numbers), _run) for name, numbers in by_name.items()]


@cache
def checkpoint(number: int, kind: int, loss: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays after three passes."""
    one = CASES[number]
    path = scratch() / "run"
    path.unlink(missing_ok=True)
    run(
        one.make(), problem_of(one.kinds[kind], *one.losses[loss]), one.loss(*one.losses[loss]), path, C=0.7, max_iter=3
    )
    return model_file.read(path)


@cache
def optimum(number: int, kind: int, loss: int) -> float:
    """From below."""
    one = CASES[number]
    beta, gamma = one.losses[loss]
    if (beta, gamma) == (inf, 0.0):
        return -inf
    return truth(one, problem_of(one.kinds[kind], beta, gamma), one.loss(beta, gamma))


def _make(numbers: list[int], rng: Random) -> Case:
    number = rng.choice(numbers)
    of = [number, rng.randrange(2), rng.randrange(len(CASES[number].losses))]
    return {"of": of, "edits": edits(rng, *checkpoint(*of), _IN_HEADER)}


def _run(case: Case, passed: Callable[[str], None]) -> None:
    number, kind, loss = case["of"]
    one = CASES[number]
    beta, gamma = one.losses[loss]
    path = scratch() / "resumed"
    path.write_bytes(contents(*checkpoint(number, kind, loss), case["edits"]))
    model_file.read(path)
    passed("checksum")
    solution = run(one.make(), problem_of(one.kinds[kind], beta, gamma), one.loss(beta, gamma), path, C=0.7, max_iter=6)
    passed("header")
    checked = all(change[0] == "array" and change[2] in TRUE for change in case["edits"])
    if checked and false_record(solution.certificate, least := optimum(number, kind, loss)):
        raise WrongError(f"a false record: {solution.certificate}, and the optimum is {least}")
