"""What several test files need from pytest itself."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

_PREAMBLE = """
import resource, sys
import numpy as np
from margrave import _core
from margrave.errors import MargraveError
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
"""


@pytest.fixture
def child() -> Callable[[str], str]:
    """Runs a script in a process of its own, with 4 GB and a minute: it must not take the tests down. What it prints."""

    def run(script: str) -> str:
        here = os.path.dirname(__file__)
        path = os.pathsep.join([here, *filter(None, sys.path)])
        try:
            done = subprocess.run(
                [sys.executable, "-c", _PREAMBLE + script],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env={**os.environ, "PYTHONPATH": path},
            )
        except subprocess.TimeoutExpired:
            pytest.fail("the child was still running after a minute")
        assert done.returncode == 0, f"the child ended with {done.returncode}: {done.stderr[-500:]}"
        return done.stdout

    return run
