"""The operations of a problem are listed where they are declared and again where problems pass them on."""

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "src" / "margrave" / "_core"

# What a problem written in Python does not answer itself: only the core's structures have these.
NOT_IN_PYTHON = {"interfaces", "lock_step"}


def body(path: str, opening: str) -> str:
    """The text of the class that begins with a line `opening`, up to the brace that ends it."""
    text = (CORE / path).read_text()
    begin = text.index(opening)
    return text[begin : text.index("\n};\n", begin)]


def virtual_functions(text: str) -> set[str]:
    return set(re.findall(r"virtual [^;{]*?(\w+)\([^;{]*\) const", text))


def overrides(text: str) -> set[str]:
    return set(re.findall(r"(\w+)\([^;{}]*\)\s*const override", text))


OPERATIONS = virtual_functions(body("protocol/problem.h", "class Problem {"))


def test_a_problem_has_at_most_22_virtual_functions() -> None:
    assert {"traits", "interfaces", "argmax", "logsum", "move"} <= OPERATIONS
    assert len(OPERATIONS) + 1 <= 22  # with the destructor


@pytest.mark.parametrize(
    ("path", "opening", "missing"),
    [
        ("protocol/forwarding.h", "class ForwardingProblem", set()),
        ("protocol/bound_problem.h", "class BoundProblem", {"infer"}),  # it scores the parts, as every problem does
        ("bindings/problem.cpp", "struct PythonProblem", NOT_IN_PYTHON),
    ],
)
def test_every_list_of_operations_is_whole(path: str, opening: str, missing: set[str]) -> None:
    listed = overrides(body(path, opening))
    assert OPERATIONS - listed == missing


def test_every_operation_is_bound() -> None:
    """Properties stand for the traits; optional interfaces have bindings of their own (bindings/interfaces.cpp)."""
    text = (CORE / "bindings/problem.cpp").read_text()
    begin = text.index("nb::class_<Problem, PythonProblem>")
    bound = set(re.findall(r'\.def\w*\(\s*"(\w+)"', text[begin : text.index("nb::class_<BoundProblem", begin)]))
    assert OPERATIONS - bound == {"traits", *NOT_IN_PYTHON}
    for trait in re.findall(r"^  \w+ (\w+) = ", body("protocol/problem.h", "struct Traits {"), re.MULTILINE):
        assert trait in bound


def test_lock_step_passes_on_every_operation_of_lanes() -> None:
    lanes = virtual_functions(body("protocol/lock_step.h", "class Lanes {"))
    own = virtual_functions(body("protocol/lock_step.h", "class LockStep :"))
    assert {"logsum", "argmax", "kbest", "sample"} <= lanes and {"score", "scatter_shared"} <= own
    assert overrides(body("protocol/bound_problem.h", "class BoundLockStep")) == lanes | own
