"""Where the corpora are: in the folder that MARGRAVE_DATA names, by default shared/data beside the repository."""

import os
from pathlib import Path

DEFAULT = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"


class MissingData(Exception):  # noqa: N818 (it says what is missing, not that something broke)
    """The corpora, or a part of one, are not where MARGRAVE_DATA says."""


def corpus(name: str) -> Path:
    """The folder of a corpus, below the folder that MARGRAVE_DATA names."""
    root = Path(os.environ.get("MARGRAVE_DATA") or DEFAULT)
    if not (root / name).is_dir():
        raise MissingData(f"benchmark data not found: set MARGRAVE_DATA to the folder that holds {name}/ (now {root}).")
    return root / name


def data_file(name: str, file: str) -> Path:
    """A file of a corpus, plain or packed."""
    folder = corpus(name)
    for path in (folder / file, folder / f"{file}.gz"):
        if path.is_file():
            return path
    raise MissingData(f"benchmark data not found: {folder} holds no {file} or {file}.gz.")


def only_file(name: str, pattern: str) -> Path:
    found = sorted(corpus(name).glob(pattern))
    if len(found) != 1:
        raise MissingData(f"benchmark data not found: {corpus(name)} holds {len(found)} files {pattern}, expected one.")
    return found[0]
