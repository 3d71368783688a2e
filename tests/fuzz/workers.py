"""Workers under limits: they run jobs, are watched, and are started again after a crash, a hang or too much memory."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.targets import Case, Outcome
from tests.fuzz.worker import PASSED, RESTART, STATE
from tests.sanitized import SANITIZED

SECONDS = 100.0 if SANITIZED else 10.0  # sanitizers slow the core down
WALL_SECONDS = 120.0  # much more, because other processes can keep a busy machine
_POLL = 0.25
_TICKS = os.sysconf("SC_CLK_TCK")
_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Tried:
    """What came of cases: how many ended how, and those that failed."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)  # seed and outcome


class Worker:
    """A process, and another one after it if that becomes necessary.

    Parameters
    ----------
    seconds : of processor time that a case may take.
    wall_seconds : in all, for a case that waits and does nothing.
    """

    def __init__(self, seconds: float = SECONDS, wall_seconds: float = WALL_SECONDS) -> None:
        self.seconds, self.wall_seconds = seconds, wall_seconds
        memory = "/dev/shm"
        self.folder = Path(
            tempfile.mkdtemp(prefix="margrave-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
        )
        self.process: subprocess.Popen[bytes] | None = None
        self.jobs = 0
        self.waiting = b""

    def close(self) -> None:
        """Ends the process."""
        self._kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def targets(self, kind: str) -> list[str]:
        """The names of all targets of a kind, which need not be imported here."""
        said, _ = self._job({"list": kind}, Tried())
        assert said is not None
        names: list[str] = said["names"]
        return names

    def seeds(self, target: str, first: int, count: int) -> Tried:
        """The cases of some seeds."""
        tried = Tried()
        end = first + count
        while first < end:
            found, ended = self._job({"target": target, "first": first, "count": end - first}, tried)
            if found is not None:
                break
            first = ended + 1
        return tried

    def case(self, target: str, case: Case) -> Outcome:
        """One case."""
        tried = Tried()
        found, _ = self._job({"target": target, "case": case}, tried)
        if found is not None and found.get("outcome"):
            return Outcome(**found["outcome"])
        return tried.failures[-1][1]

    def _job(self, job: dict[str, Any], tried: Tried) -> tuple[dict[str, Any] | None, int]:
        """Runs a job to its end, or to a case that ends the process: its last line, or None and the seed."""
        process = self._running()
        self.jobs += 1
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"job": self.jobs, **job}).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # It has ended, which is found below.
        seed, since, used = -1, time.monotonic(), self._processor_seconds()
        while True:
            lines, ended = self._lines()
            for line in lines:
                said = json.loads(line)
                if said.get("done"):
                    self._add_counts(tried)
                    return said, 0
                tried.failures.append((said["seed"], _outcome(said)))
            if ended:
                return None, self._crashed(tried)
            now = self._state()
            if (now[0], now[1]) != (self.jobs, seed):
                since, used = time.monotonic(), self._processor_seconds()
                seed = now[1] if now[0] == self.jobs else seed
            elif self._processor_seconds() - used > self.seconds or time.monotonic() - since > self.wall_seconds:
                return None, self._hung(tried)

    def _lines(self) -> tuple[list[bytes], bool]:
        """What the process has said, and whether it has ended."""
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], _POLL)
        if not ready:
            return [], False
        piece = os.read(self.process.stdout.fileno(), 1 << 20)
        *lines, self.waiting = (self.waiting + piece).split(b"\n")
        return lines, not piece

    def _crashed(self, tried: Tried) -> int:
        """Notes a crash, unless the process only asks to be started again; the seed of the case."""
        assert self.process is not None
        code = self.process.wait()
        numbers = self._state()
        self._add_counts(tried)
        if code != RESTART:
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            trace = self._said()
            self._add_failure(
                tried, numbers[1], f"crash: {name}: {_last_message(trace)}", f"{name} in {_innermost(trace)}", trace
            )
        self._kill()
        return numbers[1]

    def _hung(self, tried: Tried) -> int:
        assert self.process is not None
        numbers = self._state()
        self._add_counts(tried)
        self.process.send_signal(signal.SIGUSR1)  # It writes what it is at.
        time.sleep(0.5)
        trace = self._said()
        self._add_failure(
            tried, numbers[1], f"hang: more than {self.seconds:g} s", f"hang in {_innermost(trace)}", trace
        )
        self._kill()
        return numbers[1]

    def _add_failure(self, tried: Tried, seed: int, what: str, site: str, trace: str) -> None:
        tried.counts["failure"] += 1
        tried.failures.append((seed, Outcome("failure", what, site, trace)))

    def _add_counts(self, tried: Tried) -> None:
        numbers = self._state()
        if numbers[0] == self.jobs:
            for k, name in enumerate(("answer", "refusal", "failure", *PASSED)):
                tried.counts[name] += numbers[2 + k]

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            (self.folder / "state").write_bytes(bytes(STATE.size))
            path = os.pathsep.join([str(_ROOT), *filter(None, sys.path)])
            one = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
            with open(self.folder / "said", "wb") as said:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "tests.fuzz.worker", str(self.folder)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    env={**os.environ, **one, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "2", "PYTHONHASHSEED": "0"},
                )
            self.waiting = b""
        return self.process

    def _kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
            self.process = None

    def _state(self) -> tuple[int, ...]:
        return STATE.unpack((self.folder / "state").read_bytes())

    def _said(self) -> str:
        return (self.folder / "said").read_bytes()[-20_000:].decode("utf-8", "replace")

    def _processor_seconds(self) -> float:
        """The processor time that the process has used; endless if there is none any more."""
        assert self.process is not None
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.process_time()
        return (int(fields[11]) + int(fields[12])) / _TICKS


def _outcome(said: dict[str, Any]) -> Outcome:
    return Outcome(said["end"], said["what"], said["site"], said["trace"], said["passed"])


def _last_message(trace: str) -> str:
    """What a process wrote before it ended: its last line that is no part of a list of calls."""
    lines = [line for line in trace.splitlines() if line.strip() and not line.startswith(("  ", "Thread", "Current"))]
    return lines[-1][:300] if lines else "no message"


def _innermost(trace: str) -> str:
    """The innermost call of the library in the current thread, as `faulthandler` writes it."""
    lines = trace[trace.rfind("most recent call first") :].splitlines()
    inside = [line.strip() for line in lines if "/margrave/" in line] or [
        line.strip() for line in lines if "File " in line
    ]
    if not inside:
        return "?"
    file, _, rest = inside[0].removeprefix("File ").partition(", line ")
    return f"{file.strip(chr(34)).rpartition('/margrave/')[2]}:{rest.rpartition(' in ')[2]}"
