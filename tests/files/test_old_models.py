"""Model files of all releases open, and predict what they predicted when they were written."""

from pathlib import Path

import pytest

import margrave
from margrave import __version__, load
from margrave.files.model import FORMAT_VERSION, OLDEST_FORMAT
from tests.files.old_models import FOLDER, as_json, from_json, predicted_again

FILES = sorted(FOLDER.glob("*/*.margrave"))
MOST_BYTES = 400_000  # of one release


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}, {path.stem}")
def test_every_old_file_opens_and_predicts_as_before(path: Path) -> None:
    found, before = predicted_again(path)
    assert found == before


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}, {path.stem}")
def test_every_old_file_can_be_saved_anew(path: Path, tmp_path: Path) -> None:
    new = tmp_path / path.name
    load(path, mmap=True).save(new)
    new.with_suffix(".json").write_bytes(path.with_suffix(".json").read_bytes())
    found, before = predicted_again(new)
    assert found == before


def test_every_estimator_has_a_file_of_this_version() -> None:
    public = (getattr(margrave, name) for name in margrave.__all__)
    estimators = {each.__name__ for each in public if hasattr(each, "predict") and hasattr(each, "save")}
    assert len(estimators) >= 18
    assert estimators <= {path.stem for path in FILES if path.parent.name == __version__}


def test_the_files_of_a_release_are_small() -> None:
    for folder in FOLDER.iterdir():
        assert sum(path.stat().st_size for path in folder.iterdir()) < MOST_BYTES


def test_the_oldest_format_never_rises() -> None:
    """Files in this format were released, and are opened for ever."""
    assert OLDEST_FORMAT == 4 <= FORMAT_VERSION


def test_inputs_come_back_from_their_files() -> None:
    value = {"a": [1, 2.5, ("b", None)], "c": True}
    assert from_json(as_json(value)) == value
