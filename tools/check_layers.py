"""Checks that no file of the core includes a layer above its own, and, with --alone, that every header compiles alone.

Usage: python tools/check_layers.py [--alone]

The layers are those of docs/architecture.md. Only bindings, and the .cpp files that bind, include bindings.
"""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CORE = Path(__file__).parent.parent / "src" / "margrave" / "_core"

# Each folder may include those before it, and files of its own.
LAYERS = (
    "simd",
    "threads",
    "protocol",
    "losses",
    "solvers",
    "engines",
    "rows",
    "structures",
    "inputs",
    "features",
    "passes",
    "translation",
    "bindings",
)


def files() -> list[Path]:
    """The sources of the core."""
    return sorted(path for path in CORE.rglob("*") if path.suffix in (".h", ".cpp"))


def wrong_includes(path: Path) -> Iterator[str]:
    """What a file must not include, with its line."""
    own = path.relative_to(CORE).parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'#include "(\w+)/', line)
        if not found:
            continue
        other = found.group(1)
        binds = path.suffix == ".cpp" and other == "bindings"
        if other not in LAYERS or (LAYERS.index(other) > LAYERS.index(own) and not binds):
            yield f"{path.relative_to(CORE)}, line {number}: {own} must not include {other}."


def compile_error(path: Path) -> str | None:
    """Why a header does not compile alone; None if it does."""
    import nanobind

    folders = [sysconfig.get_path("include"), nanobind.include_dir()]
    flags = ["-std=gnu++20", "-fsyntax-only", f"-I{CORE}", *(f"-isystem{folder}" for folder in folders)]
    name = path.relative_to(CORE).as_posix()
    compiler = [os.environ.get("CXX", "g++"), *flags, "-x", "c++", "-"]
    done = subprocess.run(compiler, input=f'#include "{name}"\n', text=True, capture_output=True)
    return None if done.returncode == 0 else f"{name} does not compile alone:\n{done.stderr}"


def main() -> int:
    """Print what is wrong."""
    wrong = [each for path in files() for each in wrong_includes(path)]
    if "--alone" in sys.argv[1:]:
        headers = [path for path in files() if path.suffix == ".h"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong += filter(None, pool.map(compile_error, headers))
    print("\n".join(wrong) or f"The includes of {len(files())} files follow the layers.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
