"""Checks what an archive of the sources and a wheel contain, and runs the README's example where there is no compiler.

Usage: python tools/check_dist.py dist/margrave-....tar.gz dist/margrave-....whl
"""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Exits with one sentence if something is wrong with the archive or the wheel."""
    archive, wheel = (Path(name).resolve() for name in sys.argv[1:])
    files = files_of_the_package()
    check_archive(archive, files)
    check_contents(wheel, files)
    run_example(wheel)
    print(f"{wheel.name} has the right contents, and the README's example runs without a compiler.")


def files_of_the_package() -> set[Path]:
    """The paths of the files below src, without those that are made there."""
    folder = ROOT / "src"
    files = {path.relative_to(folder) for path in (folder / "margrave").rglob("*") if path.is_file()}
    return {path for path in files if path.suffix != ".so" and "__pycache__" not in path.parts}


def check_archive(archive: Path, files: set[Path]) -> None:
    """The archive has everything that the wheel is built from."""
    top = archive.name.removesuffix(".tar.gz")
    expected = {Path("src", path) for path in files}
    expected |= {Path(name) for name in ("pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE")}
    with tarfile.open(archive) as packed:
        found = {Path(name).relative_to(top) for name in packed.getnames()}
    if missing := expected - found:
        sys.exit(f"{archive.name} lacks {', '.join(sorted(map(str, missing)))}.")
    if made := {path.parts[0] for path in found} & {"build", "dist", "demo"}:
        sys.exit(f"{archive.name} must not contain {', '.join(sorted(made))}.")


def check_contents(wheel: Path, files: set[Path]) -> None:
    """The wheel has every file of the package, the compiled core in place of its C++ sources, and nothing else."""
    core = f"margrave/_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    expected = {path.as_posix() for path in files if not path.is_relative_to("margrave/_core")} | {core}
    expected |= {"margrave/_core.pyi", "margrave/py.typed"}  # what type checkers need; the build makes the first

    with ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    if missing := expected - found:
        sys.exit(f"{wheel.name} lacks {', '.join(sorted(missing))}.")
    if surplus := found - expected:
        sys.exit(f"{wheel.name} must not contain {', '.join(sorted(surplus))}.")


def run_example(wheel: Path) -> None:
    """Installs the wheel into an empty environment from which no compiler can be reached, and runs the example."""
    example = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    if example is None:
        sys.exit("README.md has no block of Python to run.")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder, "bin")
        hidden = {"PATH": str(programs), "CC": "/bin/false", "CXX": "/bin/false"}
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | hidden
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", str(wheel)]
        for what, arguments in {"installed": install, "used as the README shows": ["-c", example[1]]}.items():
            command = [str(programs / "python"), *arguments]
            if subprocess.run(command, cwd=folder, env=environment, check=False).returncode != 0:
                sys.exit(f"{wheel.name} could not be {what}: see above.")


if __name__ == "__main__":
    main()
