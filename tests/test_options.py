"""Declared settings: what is listed of them, and which values are refused in which sentence."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from margrave import MargraveError
from margrave.options import Option, check_options, option, options_of
from tests.test_imports import HEAVY, modules_after


def _even(name: str, value: int) -> int:
    if value % 2:
        raise MargraveError(f"{name} must be even, and it is {value}.")
    return value


@dataclass
class Settings:
    rate: float = option(0.5, "The step size.", above=0)
    share: float = option(0.5, "The share.", above=0, below=1)
    tol: float = option(0.0, "The tolerance.", at_least=0)
    shift: float = option(0.0, "Any finite number.")
    rounds: int = option(3, "The number of rounds.", at_least=1, at_most=10)
    order: str = option("shuffled", "The order.", choices=("shuffled", "cyclic"))
    slack: int = option(1, "The power.", choices=(0, 1, 2))
    projective: bool | str = option("auto", "Whether arcs cross.", choices=("auto", True, False))
    fast: bool = option(False, "Whether to hurry.")
    title: str = option("", "The title.")
    memory: int | None = option(None, "How much is remembered.", at_least=1)
    step: str | float = option("auto", "The step: a word or a number.", above=0)
    even: int = option(2, "An even number.", check=_even)
    metric: Callable[[Any, Any], float] | None = option(None, "A function.")
    free: int = -1


VALID = {
    "rate": (1, 0.1, np.float32(0.5)),
    "share": (0.25,),
    "tol": (0, 1e300),
    "shift": (-1.0,),
    "rounds": (1, 10, np.int64(4)),
    "order": ("cyclic", np.str_("cyclic")),
    "slack": (0, 2, np.int64(1)),
    "projective": (True, False, "auto"),
    "fast": (True, np.bool_(True)),
    "title": ("any",),
    "memory": (None, 1),
    "step": ("any", 0.5, 1),
    "even": (4,),
    "metric": (max, None),
    "free": ("not declared",),
}

WRONG = [
    ("rate", 0, "rate must be positive and finite, and it is 0."),
    ("rate", inf, "rate must be positive and finite, and it is inf."),
    ("rate", nan, "rate must be positive and finite, and it is nan."),
    ("rate", True, "rate must be a number, and it is True."),
    ("rate", None, "rate must be a number, and it is None."),
    ("share", 1, "share must lie between 0 and 1, and it is 1."),
    ("tol", -1, "tol must be finite and not negative, and it is -1."),
    ("shift", -inf, "shift must be finite, and it is -inf."),
    ("rounds", 0, "rounds must be at least 1, and it is 0."),
    ("rounds", 11, "rounds must be at most 10, and it is 11."),
    ("rounds", 2.5, "rounds must be a whole number, and it is 2.5."),
    ("rounds", False, "rounds must be a whole number, and it is False."),
    ("order", "cylic", "unknown order 'cylic'; did you mean 'cyclic'? (valid: shuffled, cyclic)"),
    ("order", None, "unknown order None; (valid: shuffled, cyclic)"),
    ("slack", True, "slack must be 0, 1 or 2, and it is True."),
    ("slack", "1", "slack must be 0, 1 or 2, and it is '1'."),
    ("projective", 1, "unknown projective 1; (valid: auto, True, False)"),
    ("fast", 1, "fast must be True or False, and it is 1."),
    ("title", 3, "title must be a text, and it is 3."),
    ("memory", 0, "memory must be at least 1, and it is 0."),
    ("step", -1, "step must be positive and finite, and it is -1."),
    ("step", None, "step must be a number, and it is None."),
    ("even", 3, "even must be even, and it is 3."),
]


def test_all_fields_are_listed_with_what_was_declared() -> None:
    listed = {each.name: each for each in options_of(Settings)}
    assert list(listed) == list(VALID)
    assert listed["rate"] == Option("rate", float, 0.5, "The step size.", above=0)
    assert listed["slack"] == Option("slack", int, 1, "The power.", (0, 1, 2))
    assert listed["free"] == Option("free", int, -1, "")


@pytest.mark.parametrize("name", VALID)
def test_valid_values_become_plain_ones_and_the_object_stays(name: str) -> None:
    for value in VALID[name]:
        settings = Settings(**{name: value})
        checked = check_options(settings)
        assert getattr(settings, name) is value
        if name != "free":
            assert checked[name] == value
            assert type(checked[name]).__module__ == "builtins" or checked[name] is value
    assert "free" not in checked


@pytest.mark.parametrize(("name", "value", "message"), WRONG)
def test_a_wrong_value_is_one_sentence_that_names_the_setting(name: str, value: Any, message: str) -> None:
    with pytest.raises(MargraveError) as caught:
        check_options(Settings(**{name: value}))
    assert str(caught.value) == message
    with pytest.raises(MargraveError, match=f"^(the |unknown ){name} of mine "):
        check_options(Settings(**{name: value}), "mine")


def test_annotations_may_be_texts() -> None:
    @dataclass
    class Late:
        rounds: "int | None" = option(None, "The number of rounds.", at_least=1)

    assert check_options(Late(rounds=2)) == {"rounds": 2}
    with pytest.raises(MargraveError, match="rounds must be a whole number"):
        check_options(Late(rounds="2"))  # type: ignore[arg-type]


def test_declarations_import_nothing_heavy() -> None:
    assert not modules_after("import margrave.options") & set(HEAVY)
