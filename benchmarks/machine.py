"""What a benchmark ran on, and where its result is written."""

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("margrave", "numpy", "scipy", "scikit-learn", "python-crfsuite")


def describe() -> dict[str, Any]:
    """The machine, the versions and the date."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": os.getloadavg()[0],  # of the last minute: a timing on a busy machine says so
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def write_result(name: str, result: dict[str, Any]) -> Path:
    """Write results/NAME.json and return its path."""
    RESULTS.mkdir(exist_ok=True)
    return write_json(RESULTS / f"{name}.json", result)


def run_one_of(
    experiments: Mapping[str, Callable[[float], dict[str, Any]]],
    prog: str,
    about: str | None,
    seconds: float,
    limit: str,
) -> None:
    """A driver's command line: one experiment, whose figures are written or printed; `limit` says what seconds are."""
    from margrave import _core

    parser = argparse.ArgumentParser(prog=f"python -m {prog}", description=about)
    parser.add_argument("experiment", choices=experiments)
    parser.add_argument("--seconds", type=float, default=seconds, help=limit)
    parser.add_argument("--json", type=Path, help="where to write the figures (default: print them)")
    args = parser.parse_args()
    machine = {"machine": describe(), "instruction_set": _core.instruction_set(), "seconds": args.seconds}
    deliver(machine | experiments[args.experiment](args.seconds), args.json)


def deliver(result: dict[str, Any], path: Path | None) -> None:
    """Write a driver's figures where it was asked to, or print them."""
    if path:
        write_json(path, result)
    else:
        print(json.dumps(result, indent=2, sort_keys=True))


def write_json(path: Path, result: dict[str, Any]) -> Path:
    """Write a result through a temporary name in the same folder."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(result, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(temporary, path)
    return path


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
