"""Runs and saves that are killed at random moments lose nothing; benchmarks/experiments/kills.py kills 300 times."""

from importlib import import_module
from random import Random
from typing import Any

import pytest

from benchmarks.machine import in_new_process

EXPERIMENT: Any = import_module("benchmarks.experiments.kills")


@pytest.mark.parametrize("learner", ["lbfgs", "sgd", "cutting-plane"])
def test_a_learner_that_is_killed_ends_with_the_weights_of_one_that_never_was(learner: str) -> None:
    found = in_new_process(EXPERIMENT.of_learner, learner, 3, Random(1))
    assert found["kills"] == 3
    assert found["different"] == found["unreadable"] == 0
    assert found["left"] <= 1  # a temporary file, which the next write takes over


@pytest.mark.parametrize("work", ["of_command", "of_saving"])
def test_a_command_or_a_save_that_is_killed_loses_nothing(work: str) -> None:
    found = in_new_process(getattr(EXPERIMENT, work), 3, Random(1))
    assert found["kills"] == 3
    assert found["different"] == found["unreadable"] == 0


def test_every_learner_is_killed() -> None:
    assert (
        EXPERIMENT.KILLS["learner"] * len(EXPERIMENT.LEARNERS)
        + EXPERIMENT.KILLS["command"]
        + EXPERIMENT.KILLS["saving"]
        >= 300
    )
