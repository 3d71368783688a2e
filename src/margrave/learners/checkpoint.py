"""Checkpoints: where a learner stands, in one file that is replaced whole, so that a killed run can go on."""

import time
import zlib
from dataclasses import dataclass, field
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from margrave import model_file
from margrave.checks import real
from margrave.errors import DataError, MargraveError

if TYPE_CHECKING:
    from margrave.learners.base import Task


@dataclass
class Kept:
    """What a checkpoint holds of a run."""

    plain: dict[str, Any]  # of the learner's state
    arrays: dict[str, NDArray[Any]]
    passes: float
    history: list[list[Any]]
    best: list[Any] | None
    w: NDArray[np.float64]  # the best weights so far
    ratio: float
    next: int


@dataclass
class Checkpoint:
    """A file that follows a run: written at most every `every` seconds, and at its end; read if it is there already.

    With one thread, and for batch learners with any number, a run that goes on from it ends with the same bits as one
    that was never interrupted. The file belongs to one task: another problem, loss, C, seed or learner is refused.

    >>> Checkpoint("run.checkpoint", every=60.0).path.name
    'run.checkpoint'
    """

    path: Path
    every: float = 30.0
    _written: float = field(default=-inf, init=False, repr=False)

    def __init__(self, path: str | PathLike[str], every: float = 30.0) -> None:
        self.path = Path(path)
        self.every = real(
            "the seconds between checkpoints", every, "be finite and not negative", lambda s: 0 <= s < inf
        )
        self._written = time.monotonic()

    def due(self, last: bool) -> bool:
        """Whether it is time to write."""
        return last or time.monotonic() - self._written >= self.every

    def write(self, task: "Task", learner: dict[str, Any], kept: Kept) -> None:
        """Replaces the file."""
        header = {
            "checkpoint": _fingerprint(task, learner),
            "state": kept.plain,
            "passes": kept.passes,
            "history": kept.history,
            "best": kept.best,
            "ratio": kept.ratio,
            "next": kept.next,
        }
        model_file.write(self.path, header, {"best": kept.w} | {f"state.{k}": v for k, v in kept.arrays.items()})
        self._written = time.monotonic()

    def read(self, task: "Task", learner: dict[str, Any]) -> Kept | None:
        """What the file holds, or None if there is no file."""
        if not self.path.exists():
            return None
        header, arrays = model_file.read(self.path)
        stored = header.get("checkpoint")
        if not isinstance(stored, dict):
            raise DataError(self.path, None, "this is no checkpoint.")
        for name, value in _fingerprint(task, learner).items():
            if stored.get(name) != value:
                raise DataError(
                    self.path,
                    None,
                    f"this checkpoint is of another run: its {name} is {stored.get(name)!r}, and not {value!r}; "
                    "remove the file, or name another.",
                )
        content: dict[str, Any] = dict(header)
        state = {name.removeprefix("state."): array for name, array in arrays.items() if name != "best"}
        return Kept(
            content["state"],
            state,
            content["passes"],
            content["history"],
            content["best"],
            np.array(arrays["best"]),
            content["ratio"],
            content["next"],
        )


def as_checkpoint(checkpoint: "str | PathLike[str] | Checkpoint | None") -> Checkpoint | None:
    """A checkpoint from what a user passes."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if not isinstance(checkpoint, str | PathLike):
        raise MargraveError(f"checkpoint must be a path or a Checkpoint, not {type(checkpoint).__name__}.")
    return Checkpoint(checkpoint)


_LOOKED_AT = 200  # examples whose features tell one data set from another


def _fingerprint(task: "Task", learner: dict[str, Any]) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    problem = task.problem
    data = 0
    w = np.random.default_rng(0).normal(size=problem.dim)
    for i in range(0, problem.size, max(1, problem.size // _LOOKED_AT)):
        gold = np.asarray(problem.gold(i))
        data = zlib.crc32(gold.tobytes(), data)
        data = zlib.crc32(np.round(np.asarray(problem.score(i, w))[gold], 6).tobytes(), data)
    weight = 0 if task.sample_weight is None else zlib.crc32(task.sample_weight.tobytes())
    return {
        "learner": learner["name"],
        "settings": {k: list(v) if isinstance(v, tuple) else v for k, v in learner["settings"].items()},
        "loss": [None if task.loss.beta == inf else task.loss.beta, task.loss.gamma, task.loss.zero_one],
        "C": task.C,
        "seed": task.seed,
        "examples": problem.size,
        "weights": problem.dim,
        "data": data,
        "sample_weight": weight,
    }
