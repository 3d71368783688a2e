"""What a benchmark ran on, and where its result is written."""

import json
import os
import platform
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
