"""What the experiments with LP-Struct (004) share: an observer that notes every round, and timings of its inference."""

import resource
from math import inf
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from margrave.learners import Learner, Objective, Observer, Record, Solution, Weights
from margrave.learners.lp import LPState
from margrave.solvers.lp_master import Constraints

Result = dict[str, Any]

TIMINGS = 5  # of which the median is taken


class Rounds(Observer):
    """Notes where LP-Struct stood after each round, ends it when its time is up, and keeps its last state."""

    state: LPState

    def __init__(self, limit: float = inf) -> None:
        self.limit = limit  # CPU seconds after which there is no further round
        self.curve: list[Result] = []

    def begin(self, objective: Objective, learner: Learner) -> None:
        self._cpu = process_time()

    def note(self, record: Record, w: Weights) -> str | None:
        cpu = process_time() - self._cpu
        place = {"round": len(self.curve) + 1, "cpu": cpu, "seconds": record.seconds}
        self.curve.append(place | {"P": record.primal, "D": record.dual})
        return "out of time" if cpu > self.limit else None

    def end(self, solution: Solution | None) -> None:
        if solution is not None:
            self.state = solution.state


def timed_rounds(state: LPState) -> Result:
    """Wall seconds to find the most violated constraint of every example at the weights found."""
    problem = state.objective.problem
    result: Result = {"examples": problem.size}
    nothing_known = Constraints(state.constraints.sites, np.full(problem.dim, -1, np.int32))
    counts = np.full(problem.size, True)
    for threads in (1, 2):
        seconds = []
        for _ in range(TIMINGS):
            started = perf_counter()
            state.constraints.round(state.best, nothing_known, counts, threads)
            seconds.append(perf_counter() - started)
        result[f"{threads}_threads"] = median(seconds)
    return result


def peak_mb() -> float:
    """The most resident memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
