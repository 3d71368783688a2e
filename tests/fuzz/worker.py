"""A process that runs cases under a limit of memory: `python -m tests.fuzz.worker FOLDER`, started by `workers.py`.

It reads jobs from standard input, one JSON object per line: a target with seeds, or with a case. Failures go to
standard output as they occur. What it is at stands in a mapped file, so that whoever started it knows after a crash
which case it was, and how many had ended well.
"""

import faulthandler
import gc
import json
import mmap
import os
import resource
import signal
import struct
import sys
import traceback
import warnings
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import IO, Any

from tests.sanitized import SANITIZED

MEMORY = 2 << 30  # bytes of address space that a worker may take beyond those that it begins with
GROWTH = 1 << 29  # bytes of memory that a case may take: its data are a few kilobytes
PASSED = ("read", "checksum", "header")  # the checks that are counted
STATE = struct.Struct(f"{5 + len(PASSED)}q")  # job, seed, answers, refusals, failures, and the checks that were passed
RESTART = 75  # the exit code after a case that took too much memory


class State:
    """The mapped file."""

    def __init__(self, path: Path) -> None:
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), STATE.size)
        self.numbers = [0] * (5 + len(PASSED))

    def write(self) -> None:
        STATE.pack_into(self.memory, 0, *self.numbers)


def main() -> None:
    """Answers jobs until standard input ends."""
    folder = Path(sys.argv[1])
    os.environ["MARGRAVE_FUZZ_FOLDER"] = str(folder)
    answers = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    faulthandler.enable(all_threads=True)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.fsync = lambda file: None  # Nothing here cuts the power.
    state = State(folder / "state")
    os.chdir(folder)
    limited = False
    for line in sys.stdin:
        job = json.loads(line)
        if "list" in job:
            answers.write(json.dumps({"job": job["job"], "done": True, "names": _names(job["list"])}) + "\n")
            answers.flush()
            continue
        target = _target(job["target"])
        if not limited:  # what is imported is not counted
            _limit_memory()
            limited = True
        _answer(job, target, state, answers)


def _target(name: str) -> Any:
    import numpy as np

    from tests.fuzz.expressions import evaluated
    from tests.fuzz.targets import target_named

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    evaluated("0")
    return target_named(name)


def _names(kind: str) -> list[str]:
    from tests.fuzz.targets import targets

    return [str(each) for each in targets(kind).values()]


def _limit_memory() -> None:
    if SANITIZED:  # which map all of the address space
        return
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def _answer(job: dict[str, Any], target: Any, state: State, answers: IO[str]) -> None:
    """Runs the cases of a job."""
    state.numbers = [job["job"], job.get("first", 0), *[0] * (3 + len(PASSED))]
    state.write()
    seeds = range(job["first"], job["first"] + job["count"]) if "first" in job else [None]
    said = None
    for seed in seeds:
        state.numbers[1] = seed or 0
        state.write()
        outcome = _outcome(target, seed, job.get("case"))
        state.numbers[2 + ("answer", "refusal", "failure").index(outcome["end"])] += 1
        for k, check in enumerate(PASSED):
            state.numbers[5 + k] += check in outcome["passed"]
        state.write()
        if outcome["end"] == "failure" and seed is not None:
            answers.write(json.dumps({"job": job["job"], "seed": seed, **outcome}) + "\n")
            answers.flush()
        said = outcome
        if outcome["what"].startswith("memory"):
            if seed is None:
                break
            os._exit(RESTART)
    answers.write(json.dumps({"job": job["job"], "done": True, "outcome": said if seeds == [None] else None}) + "\n")
    answers.flush()


def _outcome(target: Any, seed: int | None, case: Any) -> dict[str, Any]:
    """How a case ended, which is a failure if it took too much memory or if it could not even be made."""
    before = _peak()
    try:
        outcome = asdict(target.outcome(target.case(seed) if case is None else case))
    except Exception as error:
        outcome = {"end": "failure", "what": f"the case cannot be made: {error!r}", "site": "make", "passed": []}
        outcome["trace"] = traceback.format_exc()
    _reset()
    grown = _peak() - before
    if grown > GROWTH and not SANITIZED:
        outcome |= {"end": "failure", "what": f"memory: {grown >> 20} MB more", "site": f"memory in {target}"}
    return outcome


def _peak() -> int:
    """The largest resident memory of this process in bytes; that of getrusage begins with its parent's."""
    return 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])


def _reset() -> None:
    """Undoes what a case may have set for the process."""
    from margrave import _core

    _core.set_seconds_left(inf)
    if gc.get_count()[2] > 20:
        gc.collect()


if __name__ == "__main__":
    main()
