"""Model files: a small model of every registered estimator, with contents changed behind a right checksum, is opened.

What opens must also answer or refuse in one sentence: predictions, probabilities, saving.
"""

import os
from collections.abc import Callable
from functools import cache, partial
from random import Random
from typing import Any

from margrave import load
from margrave.estimators.files import SavedModel
from margrave.files import model as model_file
from margrave.files.stored import import_modules
from tests.estimators import options
from tests.fuzz.calls import call, verbs
from tests.fuzz.files import contents, edits
from tests.fuzz.readers import scratch
from tests.fuzz.targets import Case, Target, WrongError

_IN_HEADER = 0.5  # the share of changes


@cache
def bases() -> dict[str, list[str]]:
    """The names of the small models, by estimator: one or more of each that is registered."""
    import_modules("margrave.estimators")
    found: dict[str, list[str]] = {}
    for name in options.cases():
        found.setdefault(name.partition("(")[0], []).append(name)
    missing = {name for name, kind in SavedModel.estimators.items() if kind.__module__.startswith("margrave.")} - set(
        found
    )
    if missing:
        raise LookupError(f"no small model for {', '.join(sorted(missing))}: add it to tests/estimators/options.py.")
    return found


@cache
def small_model(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of a small model."""
    path = scratch() / "base"
    options.cases()[name].fit().save(path)
    load(path)  # If it were refused, so would every changed one, and nothing would be tried.
    return model_file.read(path)


def targets() -> list[Target]:
    """One for each estimator, with the models of its settings."""
    return [Target("models", name, partial(_make, names), _run) for name, names in bases().items()]


def _make(names: list[str], rng: Random) -> Case:
    base = rng.choice(names)
    changes = edits(rng, *small_model(base), _IN_HEADER)
    kind = type(options.cases()[base].estimator)
    offered = [name for name in verbs(kind) if not name.startswith("fit")]
    return {
        "base": base,
        "edits": changes,
        "map": rng.random() < 0.2,
        "verbs": [rng.choice(offered), *(["save"] if rng.random() < 0.1 else [])],
    }


def _run(case: Case, passed: Callable[[str], None]) -> None:
    path = os.fspath(scratch() / "model")
    with open(path, "wb") as file:
        file.write(contents(*small_model(case["base"]), case["edits"]))
    model_file.read(path)
    passed("checksum")
    model = load(path, mmap=case["map"])
    passed("header")
    base = options.cases()[case["base"]]
    for name in case["verbs"]:
        if name == "save":
            again = scratch() / "again"
            model.save(again)
            load(again)
        elif hasattr(model, name):
            call(model, name, {"X": base.X, "y": base.y, **base.more})
    if not case["edits"] and not hasattr(model, "predict"):
        raise WrongError("an unchanged model does not predict")
