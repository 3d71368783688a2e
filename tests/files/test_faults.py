"""Every operation on files fails once, or the power is lost after it: what was there is kept, and one sentence says it.

Everything that writes a file goes through `margrave.files.disk`, which these tests replace.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

from margrave import MargraveError, SequenceTagger, load
from margrave.datasets import read_columns, write_columns
from margrave.files import output
from margrave.files.disk import Disk
from margrave.learners import Checkpoint
from margrave.plots import arc_diagram, save_figure
from tests.estimators.registry import ENTRIES
from tests.files.disks import OPERATIONS, FailingDisk, MortalDisk, SlowDisk
from tests.files.watching import opened_for_writing
from tests.references.commands import message, run

COLUMNS = "the D\ndog N\nbarks V\n\na D\ncat N\nsleeps V\n\n"


@dataclass(frozen=True)
class Job:
    """Something that writes a file.

    Parameters
    ----------
    name : the name of the file.
    write : writes it; its first argument is the path.
    kept : whether this file is a version that is good to have, besides the old one.
    """

    name: str
    write: Callable[[Path], object]
    kept: Callable[[Path], bool] | None = None

    def __str__(self) -> str:
        return self.name


ENTRY = ENTRIES["SequenceTagger"]


@cache
def fitted() -> SequenceTagger:
    """The model that is saved, and that predicts."""
    return ENTRY.make(features=ENTRY.features(), n_jobs=1, max_iter=5, tol=0.3).fit(ENTRY.raw, ENTRY.y)


PASSES = 6


def fit(checkpoint: Checkpoint | None = None) -> SequenceTagger:
    """A run of a few passes."""
    settings = {"loss": "hinge", "learner": "bcfw", "tol": 0.0, "max_iter": PASSES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ENTRY.make(n_jobs=1, **settings).fit(ENTRY.X, ENTRY.y, checkpoint=checkpoint)


def predict(path: Path) -> None:
    """The command."""
    model, data = path.parent / "model.margrave", path.parent / "data.conll"
    done = run("predict", model, data, "-o", path)
    if done.exit_code:
        raise MargraveError(message(done))


def is_resumed(path: Path) -> bool:
    """Whether the run that left this checkpoint can be continued to the weights of one that never stopped."""
    resumed = fit(Checkpoint(path, every=0.0))
    return resumed.coef_.tobytes() == fit().coef_.tobytes()


def draw(path: Path) -> None:
    save_figure(path, arc_diagram(["dogs", "sleep"], [2, 0]))


def convert(path: Path) -> None:
    sentences = list(read_columns(path.parent / "data.conll"))
    write_columns(path, sentences)


JOBS = [
    Job("new.margrave", lambda path: fitted().save(path)),
    Job("run.checkpoint", lambda path: fit(Checkpoint(path, every=0.0)), is_resumed),
    Job("predicted.conll", predict),
    Job("predicted.conll.gz", predict),
    Job("converted.conll", convert),
    Job("converted.conll.gz", convert),
    Job("picture.svg", draw),
    Job("picture.png", draw),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with what the jobs read."""
    fitted().save(tmp_path / "model.margrave")
    (tmp_path / "data.conll").write_text(COLUMNS)
    return tmp_path


@contextmanager
def on(disk: Disk) -> Iterator[None]:
    """Everything is written to this disk."""
    before = output.disk
    output.disk = disk
    try:
        yield
    finally:
        output.disk = before


def old_content(job: Job, path: Path) -> bytes | None:
    """What is there before the job: a file that only its owner can read, or nothing, if the job would read it."""
    if job.kept is not None:
        return None
    path.write_bytes(b"what was there")
    path.chmod(0o600)
    return path.read_bytes()


@pytest.mark.parametrize("short", [False, True], ids=["at once", "after half of a write"])
@pytest.mark.parametrize("job", JOBS, ids=str)
def test_every_operation_that_fails_leaves_the_old_file_and_nothing_else(job: Job, short: bool, work: Path) -> None:
    path = work / job.name
    others = sorted(os.listdir(work))
    failed = set()
    for n in count(1):
        path.unlink(missing_ok=True)
        old = old_content(job, path)
        disk = FailingDisk(n, short=short)
        with on(disk):
            try:
                job.write(path)
            except MargraveError as error:
                sentence = str(error)
            else:
                sentence = ""
        assert sorted({*os.listdir(work)} - {job.name}) == others  # no temporary file
        if disk.failed is None:
            assert sentence == ""
            break
        failed.add(disk.failed)
        left = path.read_bytes() if path.exists() else None
        why = "no space left on device"
        if disk.failed == "sync_folder":  # The new file has its name already.
            assert left != old
            assert sentence == (
                f"{path}: it is complete, but its directory cannot be synced ({why}): a loss of power could undo it."
            )
        else:
            assert sentence == f"{path}: cannot be written: {why}."
            assert left == old or job.kept is not None
        if old is not None:
            assert path.stat().st_mode & 0o777 == 0o600
        if left != old and job.kept is not None:
            assert job.kept(path)
    if short:
        assert "write" in failed
    else:
        # Only checkpoints are alone, and remove what a killed process may have left.
        assert failed == {*OPERATIONS} - ({"remove"} if job.kept is None else set())


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_a_disk_that_writes_little_at_a_time_gets_the_same_bytes(job: Job, work: Path) -> None:
    path = work / job.name
    job.write(path)
    whole = path.read_bytes()
    path.unlink()
    with on(SlowDisk(97)):
        job.write(path)
    if job.kept is None:
        assert path.read_bytes() == whole
    else:
        assert job.kept(path)  # It also has the seconds that the run took.


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_a_loss_of_power_leaves_the_old_or_the_new_file(job: Job, work: Path) -> None:
    path = work / job.name
    old = old_content(job, path)
    disk = MortalDisk(work)
    with on(disk):
        job.write(path)
    new = path.read_bytes()
    assert {state.get(str(path)) for state in disk.states[-1]} == {new}  # What was written stays.
    found = {state.get(str(path)) for states in disk.states for state in states}
    if job.kept is None:
        assert found == {old, new}
        return
    assert len(found) == 1 + PASSES  # nothing, and a file after every pass
    for content in found - {None}:
        path.write_bytes(content)
        assert job.kept(path)


def test_without_syncs_a_loss_of_power_would_be_noticed(work: Path) -> None:
    path = work / "new.margrave"
    disk = MortalDisk(work, syncs=False)
    with on(disk):
        fitted().save(path)
    left = {state.get(str(path)) for state in disk.states[-1]}
    new = path.read_bytes()
    assert left == {None, b"", new[: round(len(new) / 2)], new}


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_nothing_is_written_past_the_disk(job: Job, work: Path) -> None:
    disk = MortalDisk(work)
    with on(disk), opened_for_writing() as paths:
        job.write(work / job.name)
    assert disk.created
    assert [path for path in paths if str(path).startswith(str(work))] == disk.created


def test_every_writer_of_data_sets_goes_through_the_disk(tmp_path: Path) -> None:
    """The jobs above are some of many; the sources show that there is no other way to write."""
    root = Path(output.__file__).parents[1]
    for source in root.rglob("*.py"):
        text = source.read_text()
        if source.name not in ("disk.py", "streams.py"):  # which opens the null device
            for call in ("os.open(", "os.write(", "os.replace(", "os.rename(", "write_text(", "write_bytes("):
                assert call not in text, source
            assert not any(f'open(path, "{mode}' in text for mode in "wxa"), source


def test_a_model_that_was_saved_is_what_is_loaded_after_every_failure(work: Path) -> None:
    path = work / "new.margrave"
    fitted().save(path)
    with on(FailingDisk(3)), pytest.raises(MargraveError):
        fitted().save(path)
    assert load(path).predict(ENTRY.raw) == fitted().predict(ENTRY.raw)
