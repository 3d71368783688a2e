"""Checkpoints: the state of a run in one file, always replaced as a whole, from which a killed run can continue."""

import json
import os
import re
import time
import zlib
from dataclasses import dataclass, field
from math import inf, isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave.checks import is_number, real
from margrave.errors import DataError, MargraveError
from margrave.files import model as model_file
from margrave.files.output import check_output

if TYPE_CHECKING:
    from margrave.learners.objective import Objective


@dataclass
class Snapshot:
    """The contents of a checkpoint."""

    plain: dict[str, Any]  # the part of the learner's state that JSON can store
    arrays: dict[str, NDArray[Any]]
    passes: float
    history: list[list[Any]]
    best: list[Any] | None
    w: NDArray[np.float64]  # the best weights so far
    ratio: float
    next: int
    done: tuple[str, bool] | None = None  # the learner's own reason to stop, and whether it is the optimum


@dataclass
class Checkpoint:
    """A file with the state of a run, which is written after the first pass, periodically, and at the end.

    If the file exists, the run continues from it. With one thread, and for batch learners with any number of threads, a
    run that was continued ends with the same bits as one that was never interrupted; the exception is the simplex of
    learner 'lp', which starts again. The file belongs to one run: it is refused for another problem, loss, C, seed or
    learner. Ctrl-C leaves the file as it was last written.

    A checkpoint is your own file. Damage is detected: a checksum covers every byte, sizes and indices are checked, and
    P of the best weights and D are computed again when a run is continued, never believed. A forged state whose numbers
    agree with each other is not examined.

    Parameters
    ----------
    path : the file.
    every : the number of seconds between two writes.

    >>> Checkpoint("run.checkpoint", every=60.0).path.name
    'run.checkpoint'
    """

    path: Path
    every: float = 30.0
    _written: float = field(init=False, repr=False)

    def __init__(self, path: str | PathLike[str], every: float = 30.0) -> None:
        self.path = Path(path)
        self.every = real(
            "the seconds between checkpoints", every, "be finite and not negative", lambda s: 0 <= s < inf
        )
        self._written = -inf  # Writing after the first pass detects a path that cannot be written early.

    def due(self, last: bool) -> bool:
        """Whether it is time to write."""
        return last or time.monotonic() - self._written >= self.every

    def write(self, run: dict[str, str], snapshot: Snapshot) -> None:
        """Replace the file; `run` is the result of `fingerprint`."""
        for name, value in snapshot.plain.items():
            if not _is_json(value):
                raise MargraveError(
                    f"a checkpoint cannot hold the learner's '{name}', which is a {type(value).__name__}: a state "
                    "consists of numbers, texts, arrays and generators."
                )
        header = {
            "checkpoint": run,
            "state": snapshot.plain,
            "passes": snapshot.passes,
            "history": [_as_json(record) for record in snapshot.history],
            "best": None if snapshot.best is None else _as_json(snapshot.best),
            "ratio": snapshot.ratio,
            "next": snapshot.next,
            "done": snapshot.done,
        }
        arrays = {"best": snapshot.w} | {f"state.{name}": array for name, array in snapshot.arrays.items()}
        model_file.write(self.path, header, arrays, alone=True)
        self._written = time.monotonic()

    def read(self, run: dict[str, str]) -> Snapshot | None:
        """The contents of the file, or None if it does not exist; an error if it belongs to another run."""
        check_output(self.path)  # This fails now rather than after hours of work.
        if not os.path.exists(self.path):
            return None
        header, arrays = model_file.read(self.path)
        stored = header.get("checkpoint")
        if not isinstance(stored, dict):
            raise DataError(self.path, None, "this is not a checkpoint.")
        for name, value in run.items():
            if stored.get(name) != value:
                what = "another" if name in _HASHED else f"{stored.get(name)}, and not {value}"
                raise DataError(
                    self.path,
                    None,
                    f"this checkpoint is of another run: its {name} is {what}; remove the file, or name another.",
                )
        try:
            return _snapshot(header, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(self.path, None, "this checkpoint is incomplete: remove it.") from error


def as_checkpoint(checkpoint: "str | PathLike[str] | Checkpoint | None") -> Checkpoint | None:
    """The checkpoint for a user's argument."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if not isinstance(checkpoint, str | PathLike):
        raise MargraveError(f"checkpoint must be a path or a Checkpoint, not {type(checkpoint).__name__}.")
    return Checkpoint(checkpoint)


_HASHED = ("data", "cost", "sample_weight", "start")


def fingerprint(objective: "Objective", learner: str, settings: dict[str, Any]) -> dict[str, str]:
    """The properties that must be the same for a run to continue; this takes one scoring of every example."""
    problem, loss = objective.problem, objective.loss
    kind = "L" if loss.convex else "dL"
    # The raw bits of a generator do not change between releases of NumPy; its distributions can change.
    w = np.random.PCG64(0).random_raw(problem.dim) / 2.0**64 - 0.5
    data = cost = 0
    for i in range(problem.size):
        data = _hash(problem.gold(i), data)
        for k in range(1, problem.gold_count(i)):
            data = _hash(problem.gold(i, k), data)
        data = _hash(np.asarray(problem.score(i, w), dtype=np.float32), data)  # The last bits depend on the processor.
        if loss.gamma > 0 and not loss.zero_one:
            delta, constant = problem.cost(i)
            cost = _hash(delta, _hash(constant, cost))
    return {
        "learner": f"'{learner}'",
        **{f"setting '{name}'": _description(value) for name, value in settings.items()},
        "loss": f"{kind}(beta={loss.beta!r}, gamma={loss.gamma!r}{', zero-one cost' if loss.zero_one else ''})",
        "C": repr(objective.C),
        "random_state": repr(objective.random_state),
        "examples": repr(problem.size),
        "weights": repr(problem.dim),
        "data": f"{data:08x}",
        "cost": f"{cost:08x}",
        "sample_weight": "none" if objective.sample_weight is None else f"{_hash(objective.sample_weight):08x}",
        "start": "none" if objective.start is None else f"{_hash(objective.start):08x}",
    }


def _hash(values: Any, so_far: int = 0) -> int:
    return zlib.crc32(np.ascontiguousarray(values).tobytes(), so_far)


def _description(setting: Any) -> str:
    value = list(setting) if isinstance(setting, tuple) else setting
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))  # The address of a function is not part of the setting.


def _is_json(value: Any) -> bool:
    """Whether JSON returns the value unchanged; it turns tuples into lists, and keys into texts."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False


def _as_json(record: list[Any]) -> list[float | str | bool | None]:
    """The record with infinite numbers and NaN as texts, because JSON does not have them."""
    return [x if x is None or x is False else float(x) if isfinite(x) else repr(float(x)) for x in record]


def _from_json(record: Any) -> list[float | bool | None]:
    """Five numbers, of which the last three may be missing and, only if inference was approximate, False."""
    if not isinstance(record, list) or len(record) not in (5, 6) or record[5:] not in ([], [False]):
        raise ValueError("a record is a list")
    *rest, dual, gap = record[:5]
    values = [None if x is None and k >= 2 else _number(x) for k, x in enumerate(rest)]
    # Where D is no bound, there is no finite gap.
    values.append(float(dual) if dual in ("-inf", "nan") else None if dual is None else _number(dual))
    values.append(inf if gap == "inf" else None if gap is None else _number(gap))
    return [*values, *record[5:]]


def _number(value: Any, least: float = -inf) -> float:
    if not is_number(value) or value < least:
        raise ValueError("a number is finite")
    return float(value)


def _count(value: Any) -> int:
    if type(value) is not int or not 1 <= value < 2**63:
        raise ValueError("a count is a positive whole number")
    return value


def _done(value: Any) -> tuple[str, bool] | None:
    match value:
        case None:
            return None
        case [str(reason), bool(optimal)] if reason:
            return reason, optimal
    raise ValueError("a reason is a text")


def _snapshot(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Snapshot:
    if not isinstance(header["state"], dict) or not header["history"]:
        raise ValueError("there is a state after some passes")
    return Snapshot(
        header["state"],
        {name.removeprefix("state."): array for name, array in arrays.items() if name != "best"},
        _number(header["passes"], 0.0),
        [_from_json(record) for record in header["history"]],
        None if header["best"] is None else _from_json(header["best"]),
        np.array(arrays["best"]),
        _number(header["ratio"], 0.0),
        _count(header["next"]),
        _done(header["done"]),
    )
