"""Everything that writes a file refuses in the same words what cannot, or must not, be written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from margrave.cli.streams import check_place
from margrave.datasets.opening import write_lines
from margrave.errors import DataError
from margrave.files import model as model_file
from margrave.files.output import check_output, replacing

WRITERS: list[Callable[[Path], object]] = [
    check_output,
    lambda path: check_place(str(path), []),
    lambda path: write_lines(path, ["a line"]),
    lambda path: model_file.write(path, {}, {}),
]


@pytest.mark.parametrize("write", WRITERS, ids=["check", "command", "lines", "model"])
def test_what_cannot_be_written_is_refused_and_left_as_it_is(write: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "locked").write_text("old")
    (tmp_path / "locked").chmod(0o444)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("locked")
    for name, why in (
        ("missing/new", "its directory does not exist"),
        ("file/new", "its directory does not exist"),
        ("folder", "it is a directory"),
        ("pipe", "it is not an ordinary file"),
        ("locked", "the file is read-only"),
        ("link", "the file is read-only"),
    ):
        with pytest.raises(DataError) as error:
            write(tmp_path / name)
        assert str(error.value) == f"{tmp_path / name}: cannot be written: {why}."
    assert (tmp_path / "locked").read_text() == "old"
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "link", "locked", "pipe"]


@pytest.mark.parametrize("write", WRITERS, ids=["check", "command", "lines", "model"])
def test_a_directory_without_permission_is_refused(
    write: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: os.fspath(place) != str(tmp_path))
    with pytest.raises(DataError) as error:
        write(tmp_path / "new")
    assert str(error.value) == f"{tmp_path / 'new'}: cannot be written: its directory is read-only."
    assert os.listdir(tmp_path) == []


def test_a_link_is_written_where_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "new").symlink_to("old")
    assert check_output(tmp_path / "new") == str(tmp_path / "old")
    assert check_output(tmp_path / "old") == str(tmp_path / "old")


@pytest.mark.parametrize("write", WRITERS[2:], ids=["lines", "model"])
def test_a_file_that_is_replaced_keeps_its_mode(write: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(0o600)
    write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size > 0


def test_nobody_can_read_what_replaces_a_private_file_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(0o600)
    with replacing(path):
        [temporary] = tmp_path.glob(".margrave-*.tmp")
        assert temporary.stat().st_mode & 0o077 == 0
    path.chmod(0o664)
    with replacing(path):
        [temporary] = tmp_path.glob(".margrave-*.tmp")
        assert temporary.stat().st_mode & 0o777 & ~0o664 == 0
    assert path.stat().st_mode & 0o777 == 0o664
