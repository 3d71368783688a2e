"""A system that gives fewer threads than are asked for: the same result, and no crash."""

import os
import subprocess
import sys

import pytest

from tests.sanitized import OWN_MEMORY, SANITIZED

resource = pytest.importorskip("resource", reason="this system has no limits of resources to set")

STACK = 2**31  # of a thread, which takes address space only: so few of them fit into what a process may have

SCRIPT = """
import numpy as np
from margrave import LinearClassifier

random = np.random.default_rng(0)
X, y = random.normal(size=(3000, 30)), random.integers(0, 3, 3000)
for learner in ({"loss": "log", "learner": "lbfgs"}, {"loss": "hinge", "learner": "lp"}):
    bits = [LinearClassifier(**learner, n_jobs=n, tol=0.5).fit(X, y).coef_.tobytes() for n in (1, 16)]
    assert bits[0] == bits[1]
"""


@pytest.mark.skipif(SANITIZED, reason=OWN_MEMORY)
@pytest.mark.parametrize("most", [0, 2])
def test_fewer_threads_than_asked_for_give_the_same_bits(most: int) -> None:
    space = STACK * most + STACK * 3 // 4

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        resource.setrlimit(resource.RLIMIT_AS, (space, space))

    if resource.getrlimit(resource.RLIMIT_STACK)[1] not in (resource.RLIM_INFINITY, STACK):
        pytest.skip("stacks as large as this test needs are not allowed here")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=environment,
        preexec_fn=limit,
    )
    assert run.returncode == 0, run.stderr
