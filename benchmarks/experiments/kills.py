"""Kills at random moments: all learners with checkpoints, the command line, and saving; nothing may be lost.

A process with a run is killed (SIGKILL) again and again, at moments spread evenly over the time that the whole run
takes, and started again each time until it has been killed as often as wanted; then it may end. Its weights must be
those of a run that was never killed, at one thread. Saving writes two models in turns to one path, where one of the two
must be complete whenever the process is killed.
"""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from subprocess import DEVNULL, run
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

from benchmarks.machine import in_new_process
from benchmarks.pieces import Pieces
from benchmarks.plots import finished, panels
from benchmarks.small import town
from benchmarks.tables import markdown
from margrave import LinearClassifier, MargraveError, SequenceTagger, load
from margrave.features import Templates
from margrave.files import output
from margrave.files.disk import Disk
from margrave.learners import LEARNERS, Checkpoint

Result = dict[str, Any]

CORPORA = ()
RESULT = "kills"
KILLS = {"learner": 11, "command": 57, "saving": 45}  # for each learner, and in all
COUNTS = ("kills", "with_file", "runs", "different", "unreadable")
SENTENCES = 12
PASSES = 20
FEW_PASSES = {"cccp": 2, "lp": 5}  # each of which is a run of another learner, or a linear program
ROUNDS = 8  # of kills of one run: by then it may end, and another one begins
TOLERANCES = {"cccp": 0.0}  # which is also that of the inner learner
UNTIED = ("smo", "smo-eg")  # learners of problems whose parts have no weights in common

# What each learner takes, where that is not the log loss.
LOSSES = {
    name: "hinge" for name in ("smo", "smo-eg", "kbest-mira", "cutting-plane", "one-slack", "lp", "mira", "bcfw")
} | {"cccp": "ramp", "perceptron": "perceptron"}


class Unsynced(Disk):
    """A disk that does not wait: what a killed process has written, the system has."""

    def sync(self, file: int) -> None:
        pass

    def sync_folder(self, path: str) -> None:
        pass


Work = Callable[[], None]
Start = Callable[[], int]  # begins the work in a process of its own, and gives its number


def measure() -> Iterator[Result]:
    """Kills and resumed runs by what was killed, each in a process of its own."""
    pieces = Pieces(RESULT)
    for name in sorted(LEARNERS):
        yield from pieces.measure(name, partial(in_new_process, of_learner, name, KILLS["learner"], Random(name)))
    yield from pieces.measure("command line", partial(in_new_process, of_command, KILLS["command"], Random(0)))
    yield from pieces.measure("saving", partial(in_new_process, of_saving, KILLS["saving"], Random(0)))


def of_learner(name: str, kills: int, random: Random) -> Result:
    """A learner whose run is killed and continued from its checkpoint."""
    warnings.simplefilter("ignore")
    fit = fits(name)
    whole = fit(None).coef_.tobytes()
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.checkpoint")

        def work() -> None:
            fit(Checkpoint(path, every=0.0))

        def same() -> bool:
            return bool(fit(Checkpoint(path)).coef_.tobytes() == whole)

        return killed(forked(work), same, path, kills, random)


def fits(name: str) -> Callable[[Checkpoint | None], Any]:
    """A small problem for a learner."""
    X, y = town("train", SENTENCES)
    settings: Result = {"loss": LOSSES.get(name, "log"), "learner": name, "tol": TOLERANCES.get(name, 0.0), "n_jobs": 1}
    settings["max_iter"] = FEW_PASSES.get(name, PASSES)
    if name in UNTIED:
        words = [row for rows in X for row in rows]
        tags = [tag for tags in y for tag in tags]
        attributes = [[f"{column}={value}" for column, value in enumerate(row)] for row in words]
        return lambda checkpoint: LinearClassifier(**settings).fit(attributes, tags, checkpoint=checkpoint)
    short = Templates(["0[0]", "0[-1]", "1[0]"])
    return lambda checkpoint: SequenceTagger(features=short, **settings).fit(X, y, checkpoint=checkpoint)


def of_command(kills: int, random: Random) -> Result:
    """`margrave train`, killed and started again."""
    with TemporaryDirectory() as folder:
        data, model, path = (str(Path(folder, name)) for name in ("town.conll", "model", "run.checkpoint"))
        X, y = town("train", SENTENCES)
        rows = (
            " ".join([*row, tag]) for rows, tags in zip(X, y, strict=True) for row, tag in zip(rows, tags, strict=True)
        )
        Path(data).write_text("\n".join(rows) + "\n", encoding="utf-8")
        train = [sys.executable, "-m", "margrave", "train", data, "-o", model, "--quiet", "--threads", "1"]
        train += ["--learner", "bcfw", "--loss", "hinge", "--tol", "1e-9", "--max-iter", "100"]
        run(train, stdout=DEVNULL, stderr=DEVNULL, check=True)
        whole = load(model).coef_.tobytes()
        train += ["--checkpoint", path]

        def start() -> int:  # `subprocess` would wait for forgotten processes by itself
            silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
            return os.posix_spawn(sys.executable, train, os.environ, file_actions=silent)

        def same() -> bool:
            run(train, stdout=DEVNULL, stderr=DEVNULL, check=True)
            return load(model).coef_.tobytes() == whole

        return killed(start, same, Path(path), kills, random)


def of_saving(kills: int, random: Random) -> Result:
    """Two models that are saved to one path in turns: there must always be one of them."""
    X, y = town("train", SENTENCES)
    models = [SequenceTagger(features=Templates(), C=C, n_jobs=1, tol=0.1).fit(X, y) for C in (0.1, 1.0)]
    weights = {model.coef_.tobytes() for model in models}
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        models[0].save(path)

        def work() -> None:
            for k in range(100):
                models[k % 2].save(path)

        def same() -> bool:
            return load(path).coef_.tobytes() in weights

        return killed(forked(work), same, path, kills, random, readable=same)


def killed(
    start: Start, same: Callable[[], bool], path: Path, kills: int, random: Random, *, readable: Any = None
) -> Result:
    """Kills work until it has been killed often enough, and lets every run end after some kills.

    Parameters
    ----------
    start : begins the work, or goes on with it.
    same : lets the work end, and tells whether its result is that of work that was never killed.
    path : the file that the work writes.
    kills : how often.
    random : chooses the moments.
    readable : tells after every kill whether what is there is good; None if `same` tells it.
    """
    began = perf_counter()
    os.waitpid(start(), 0)
    seconds = perf_counter() - began
    found = {"kills": 0, "runs": 0, "different": 0, "unreadable": 0, "with_file": 0, "too_late": 0, "seconds": seconds}
    while found["kills"] < kills:
        if readable is None:
            path.unlink(missing_ok=True)
        for _ in range(ROUNDS):
            process = start()
            sleep(random.uniform(0.0, seconds))
            os.kill(process, signal.SIGKILL)
            _, status = os.waitpid(process, 0)
            if os.WIFEXITED(status):  # it was over before
                found["too_late"] += 1
                break
            found["kills"] += 1
            found["with_file"] += path.exists()
            if readable is not None:
                found["unreadable"] += not good(readable)
            if found["kills"] == kills:
                break
        found["runs"] += 1
        try:
            found["different"] += not same()
        except MargraveError as error:
            print(f"  {path.name}: {error}", flush=True)
            found["unreadable"] += 1
    left = [name for name in os.listdir(path.parent) if name.startswith(".margrave-")]
    return found | {"left": len(left)}


def good(readable: Callable[[], bool]) -> bool:
    """Whether a file can be read and has what it should."""
    try:
        return readable()
    except MargraveError:
        return False


def forked(work: Work) -> Start:
    """A start of work in a copy of this process, which needs no time to import anything."""

    def start() -> int:
        process = os.fork()
        if process == 0:
            try:
                output.disk = Unsynced()
                work()
            finally:
                os._exit(0)
        return process

    return start


def table(result: Result) -> str:
    """What was killed, and what came of it."""
    runs = result["pieces"]
    rows = [[name, *(str(run[key]) for key in COUNTS)] for name, run in runs.items()]
    rows.append(["all", *(str(sum(run[key] for run in runs.values())) for key in COUNTS)])
    return markdown(["what", "kills", "with a file", "runs", "different", "unreadable"], rows)


def plot(result: Result) -> Any:
    """Kills by what was killed."""
    figure, (panel,) = panels()
    runs = result["pieces"]
    panel.barh([*runs], [run["kills"] for run in runs.values()], label="kills")
    bad = [run["different"] + run["unreadable"] for run in runs.values()]
    panel.barh([*runs], bad, label="different weights, or unreadable")
    panel.set(xlabel="kills", title="Processes killed at random moments")
    return finished(figure)
