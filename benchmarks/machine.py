"""What a benchmark ran on, processes of their own, and the files of results."""

import json
import os
import platform
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = (
    *("margrave", "numpy", "scipy", "scikit-learn", "python-crfsuite", "torch", "torch-struct", "supar"),
    *("pgmpy", "pgmax", "jax", "pytoulbar2"),
)
DIGITS = 6  # significant digits of a number in a file
WIDTH = 200  # of a line, beyond which lists of objects and objects are broken


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


def described(result: dict[str, Any]) -> dict[str, Any]:
    """A result with what it ran on."""
    from margrave import _core

    return {"machine": describe(), "instruction_set": _core.instruction_set()} | result


def in_new_process(function: Callable[..., T], *arguments: Any) -> T:
    """What the function returns, called in a process of its own, so that memory and caches are its own as well."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_die_of_interruption) as pool:
        process = pool.submit(os.getpid).result()
        try:
            return pool.submit(function, *arguments).result()
        except KeyboardInterrupt:
            os.kill(process, signal.SIGTERM)  # in case the signal was for this process alone
            raise


def _die_of_interruption() -> None:
    """Lets Ctrl-C end the process: a learner ends only its run, and its weights would be recorded as the result."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def read_result(name: str) -> dict[str, Any]:
    """The result of results/NAME.json."""
    return json.loads(_result_file(name).read_text(encoding="utf-8"))


def has_result(name: str) -> bool:
    """Whether results/NAME.json exists."""
    return _result_file(name).exists()


def write_result(name: str, result: dict[str, Any]) -> None:
    """Writes results/NAME.json through a temporary name in the same folder."""
    RESULTS.mkdir(exist_ok=True)
    path = _result_file(name)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(readable(rounded(result)) + "\n", encoding="utf-8")
    os.replace(temporary, path)


def rounded(value: Any) -> Any:
    """The value with every number rounded to six significant digits."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, float) and isfinite(value):
        return float(f"{value:.{DIGITS}g}")
    return value


def readable(value: Any, indent: str = "") -> str:
    """JSON with one line for a list of numbers, and for every object that fits into a line."""
    flat = json.dumps(value)
    if not isinstance(value, dict | list) or len(indent) + len(flat) <= WIDTH:
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        items = [f"{deeper}{json.dumps(key)}: {readable(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if not any(isinstance(item, dict | list) for item in value):
        return flat
    return "[\n" + ",\n".join(deeper + readable(item, deeper) for item in value) + f"\n{indent}]"


def _result_file(name: str) -> Path:
    return RESULTS / f"{name}.json"


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
