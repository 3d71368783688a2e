"""What the experiments with LP-Struct (004) share: a learner that notes every round, and timings of its inference."""

import resource
from dataclasses import dataclass, replace
from math import inf
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from margrave.learners import LP, Step, Task
from margrave.learners.lp import LPState

Result = dict[str, Any]

TIMINGS = 5  # of which the median is taken


@dataclass
class Watched(LP):
    """LP-Struct that notes where it stood after each round, and whose state can be looked at in the end."""

    limit: float = inf  # CPU seconds after which it gives up

    def begin(self, task: Task) -> LPState:
        self.curve: list[Result] = []
        self.cpu, self.started = process_time(), perf_counter()
        self.state: LPState = super().begin(task)
        return self.state

    def one_pass(self, state: LPState) -> Step:
        step = super().one_pass(state)
        self.curve.append(
            {
                "round": len(self.curve) + 1,
                "cpu": process_time() - self.cpu,
                "seconds": perf_counter() - self.started,
                "constraints": state.n_constraints,
                "P": step.primal,
                "D": step.dual,
            }
        )
        over = self.curve[-1]["cpu"] > self.limit
        return replace(step, done="out of time", stuck=True) if over else step


def timed_rounds(state: LPState) -> Result:
    """Wall seconds to find the most violated constraint of every example at the weights found."""
    result: Result = {"examples": state.task.problem.size}
    for threads in (1, 2):
        seconds = []
        for _ in range(TIMINGS):
            started = perf_counter()
            state.constraints.round(state.best, np.zeros(state.task.problem.size), threads)
            seconds.append(perf_counter() - started)
        result[f"{threads}_threads"] = median(seconds)
    return result


def peak_mb() -> float:
    """The most resident memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
