"""Which code a result was measured with, and what of it is older than the code of today."""

import subprocess
from filecmp import cmp
from pathlib import Path
from typing import Any

from benchmarks.sources import CORE, ROOT, core_sources, fingerprint

UNFINISHED = "what a run that was interrupted had not reached"
EVERYTHING = "all of it"


def measured_with(name: str) -> dict[str, str | None]:
    """The commit, and the fingerprint of the sources of an experiment; None if another package is installed."""
    sources = fingerprint(f"benchmarks.experiments.{name}") if installed_from_here() else None
    return {"commit": commit(), "sources": sources}


def outdated(result: dict[str, Any], sources: str) -> list[str]:
    """What of a result was not measured with these sources: the names of pieces, or everything."""
    measured = result.get("measured", {})
    if "pieces" in result:
        old = [piece for piece in result["pieces"] if measured.get(piece, {}).get("sources") != sources]
    else:
        old = [] if measured.get("sources") == sources else [EVERYTHING]
    return old if result.get("finished", True) else [*old, UNFINISHED]


def installed_from_here() -> bool:
    """Whether the package that is imported was built from the sources beside the benchmarks."""
    import margrave
    from margrave import _core

    here, there = CORE.parent, Path(margrave.__file__).parent
    paths = [path.relative_to(here) for path in here.rglob("*.py")]
    same = all((there / path).exists() and cmp(here / path, there / path, shallow=False) for path in paths)
    return same and Path(_core.__file__).stat().st_mtime >= max(path.stat().st_mtime for path in core_sources())


def commit() -> str | None:
    """The commit of the sources, with a plus sign if they have changed since; None outside of a repository."""
    changed = _git("status", "--porcelain", "--", "src", "benchmarks", ":!benchmarks/results")
    at = _git("rev-parse", "--short=12", "HEAD")
    return None if at is None else at + ("+" if changed else "")


def _git(*arguments: str) -> str | None:
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
