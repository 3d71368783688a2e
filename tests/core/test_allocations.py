"""An allocation of a fit that fails ends the fit in one sentence, and the next fit gives the usual weights.

benchmarks/experiments/allocations.py tries a thousand places; here are some of them.
"""

import os
import sys
from importlib import import_module
from typing import Any

import pytest

from benchmarks.allocations import BINDING, DONE, NEW, PYTHON, RAW, SENTENCE, compiler, preloaded
from benchmarks.machine import in_new_process

EXPERIMENT: Any = import_module("benchmarks.experiments.allocations")

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="another allocator"),
    pytest.mark.skipif(compiler() is None, reason="no compiler to build the failing allocator"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="sanitizers have their own allocator"),
]
OF_OTHERS = (BINDING, RAW)  # NumPy and nanobind do not always pass on that Python had no memory.
SAMPLED = {"tagger, eg": 6, "tagger, bcfw": 3, "parser": 3, "maps": 3}


@pytest.mark.parametrize("name", SAMPLED)
def test_every_failing_allocation_is_one_sentence_and_nothing_is_lost(name: str) -> None:
    with preloaded():
        found = in_new_process(EXPERIMENT.tried, name, dict.fromkeys(EXPERIMENT.PLACES, SAMPLED[name]))
    counts = found["outcomes"]
    assert {*counts.pop(PYTHON, {})} <= {DONE, SENTENCE, *OF_OTHERS}, found["wrong"]
    assert all({*outcomes} <= {DONE, SENTENCE} for outcomes in counts.values()), found["wrong"]
    assert counts[NEW][SENTENCE] > 0  # They have failed indeed.


def test_the_fits_that_are_sampled_exist() -> None:
    assert SAMPLED.keys() <= EXPERIMENT.FITS.keys()
