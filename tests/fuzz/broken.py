"""Targets that fail in every way there is, to test what watches them."""

import os
import time
from collections.abc import Callable
from typing import Any

from margrave.errors import MargraveError
from tests.fuzz.targets import Case, Target

_KEPT: list[Any] = []


def _crash(case: Case) -> None:
    if case["seed"] == 3:
        os.abort()


def _hang(case: Case) -> None:
    while case["seed"] == 3:
        pass


def _sleep(case: Case) -> None:
    if case["seed"] == 3:
        time.sleep(1000)


def _memory(case: Case) -> None:
    if case["seed"] == 3:
        _KEPT.append(b"x" * (700 << 20))


def _too_much(case: Case) -> None:
    if case["seed"] == 3:
        _KEPT.append(bytearray(1 << 40))


def _raw(case: Case) -> None:
    if 3 in case["list"]:
        raise KeyError(3)


def _lines(case: Case) -> None:
    if case["seed"] == 3:
        raise MargraveError("one\ntwo")


def _long(case: Case) -> None:
    raise MargraveError("x" * (3000 if case["seed"] == 3 else 30))


def targets() -> list[Target]:
    """One for each way; only seed 3 fails."""

    def target(name: str, try_it: Callable[[Case], None]) -> Target:
        def make(rng: Any) -> Case:
            raise NotImplementedError

        class Numbered(Target):
            def case(self, seed: int) -> Case:
                return {"seed": seed, "list": [*range(seed), seed], "text": "a" * 100}

        return Numbered("broken", name, make, lambda case, passed: try_it(case))

    ways = [_crash, _hang, _sleep, _memory, _too_much, _raw, _lines, _long]
    return [target(way.__name__.strip("_").replace("_", "-"), way) for way in ways]
