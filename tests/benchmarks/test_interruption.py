"""Ctrl-C ends an experiment, and nothing that it has not finished is recorded."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import sleep

import pytest

from benchmarks.machine import in_new_process
from margrave import SequenceTagger
from margrave.datasets import load_town

ROOT = Path(__file__).resolve().parents[2]


def learn_for_ever(record: Path) -> None:
    """Records something while it learns, and something else after it."""
    sentences = load_town("train")
    X = [[row[:-1] for row in rows] for rows in sentences]
    y = [[row[-1] for row in rows] for rows in sentences]
    model = SequenceTagger(tol=0.0, max_iter=10**9, learner="sgd")
    record.write_text("learning", encoding="utf-8")
    model.fit(X, y)
    record.write_text("the weights of an interrupted run", encoding="utf-8")


def run(record: str) -> None:
    """What the process of the test does."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background may ignore
    in_new_process(learn_for_ever, Path(record))


@pytest.mark.parametrize("interrupt", [os.killpg, os.kill], ids=["all processes", "the first process alone"])
def test_an_interrupted_experiment_ends_and_records_nothing(
    interrupt: Callable[[int, int], None], tmp_path: Path
) -> None:
    record = tmp_path / "record"
    script = f"from tests.benchmarks.test_interruption import run; run({str(record)!r})"
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not record.exists():
            assert process.poll() is None, process.communicate()[1]
            sleep(0.05)
        sleep(0.5)
        interrupt(process.pid, signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=100)[1]  # which waits for all that have the pipe
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode != 0
    assert record.read_text(encoding="utf-8") == "learning"
