"""The stub that type checkers read says what the compiled module has."""

import subprocess
import sys
from pathlib import Path

import pytest

import margrave

STUB = Path(__file__).parents[2] / "src" / "margrave" / "_core.pyi"


def test_the_stub_is_that_of_the_module(tmp_path: Path) -> None:
    pytest.importorskip("nanobind")
    made = tmp_path / "_core.pyi"
    package = str(Path(margrave.__file__).parents[1])  # the module that is tested, wherever it is installed
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-i", package, "-m", "margrave._core", "-o", str(made)]
    subprocess.run(command, check=True)
    ruff = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "-q",
        "--config",
        str(STUB.parents[2] / "pyproject.toml"),
        str(made),
    ]
    if subprocess.run(ruff, check=False).returncode != 0:
        pytest.fail("the stub could not be formatted: ruff is needed, as for `make lint`.")
    assert made.read_text() == STUB.read_text(), "run `make format`, which writes the stub anew."
