"""The layout of model files: tables of arrays that were changed behind a right checksum, and bytes changed anywhere."""

import os
from collections.abc import Callable
from functools import partial
from random import Random

from margrave import load
from margrave.files import model as model_file
from margrave.files.model import FORMAT_VERSION
from tests.fuzz.files import contents
from tests.fuzz.models import bases, small_model
from tests.fuzz.readers import scratch
from tests.fuzz.targets import Case, Target
from tests.fuzz.texts import applied, as_bytes, as_json, changed, edit


def targets() -> list[Target]:
    """The table of arrays, and the bytes."""
    names = [name for of in bases().values() for name in of[:2]]
    return [
        Target("layouts", "table", partial(_make_table, names), _run_table),
        Target("layouts", "bytes", partial(_make_bytes, names), _run_bytes),
    ]


def _make_table(names: list[str], rng: Random) -> Case:
    base = rng.choice(names)
    _header, arrays = small_model(base)
    table = {
        "__metadata__": {"checksum": "0" * 64, "margrave": f'{{"format":{FORMAT_VERSION},"header":{{}}}}'},
        **{
            name: {"dtype": "F64", "shape": list(array.shape), "data_offsets": [0, array.nbytes]}
            for name, array in arrays.items()
        },
    }
    changes = []
    for _ in range(rng.choice([1, 1, 2])):
        changes.append(["table", *edit(rng, table)])
        table = applied(table, changes[-1][1:])
    return {"base": base, "edits": changes, "map": rng.random() < 0.3}


def _run_table(case: Case, passed: Callable[[str], None]) -> None:
    path = os.fspath(scratch() / "layout")
    with open(path, "wb") as file:
        file.write(contents(*small_model(case["base"]), case["edits"]))
    _open(path, case["map"], passed)


def _make_bytes(names: list[str], rng: Random) -> Case:
    whole = contents(*small_model(rng.choice(names)), [])
    return {"text": as_json(changed(rng, [whole], [])), "map": rng.random() < 0.3}


def _run_bytes(case: Case, passed: Callable[[str], None]) -> None:
    path = os.fspath(scratch() / "layout")
    with open(path, "wb") as file:
        file.write(as_bytes(case["text"]))
    _open(path, case["map"], passed)


def _open(path: str, mapped: bool, passed: Callable[[str], None]) -> None:
    model_file.read(path, mapped=mapped)
    passed("checksum")
    load(path, mmap=mapped)
    passed("header")
