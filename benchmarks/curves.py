"""Curves of learners: an observer that follows a run towards several goals, and thinning to what a plot shows.

A point has the effective passes and seconds so far, P, D and the relative gap. Where the learner did not spend a pass
on P (`certified` is false), P is computed without being timed or counted, and so is all else that is asked about the
weights on the way. Everything runs on one thread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from math import hypot, inf, log10
from types import MappingProxyType
from typing import Any, NamedTuple

from margrave import _core
from margrave.errors import MargraveError
from margrave.learners import LEARNERS, Auto, Learner, Objective, Observer, Record, Weights
from margrave.learners.gibbs import GibbsState
from margrave.losses import LossFamily

Point = dict[str, Any]
Curve = dict[str, list[Any]]  # columns of equal length, by name
Questions = Mapping[str, Callable[[Weights], float]]  # what else is asked about the weights after each pass

MOST_PASSES = 10**6  # time or the goals end a run


class Follower(Observer):
    """Follows a run until it has certified the last of its goals or its time is up.

    The goals are the run's tol, one after another: a learner certifies when it expects to have reached its tol.
    """

    def __init__(self, goals: Sequence[float], seconds: float, questions: Questions) -> None:
        self.points: list[Point] = []
        self._left = sorted(goals, reverse=True)
        self._seconds, self._questions = seconds, questions

    def begin(self, objective: Objective, learner: Learner) -> None:
        self._objective, self._objective.tol = objective, self._left[0]
        self._other = Objective(objective.problem, objective.loss, C=objective.C, n_jobs=1)  # whose passes do not count

    def note(self, record: Record, w: Weights) -> str | None:
        primal = self._other.primal(w) if record.primal is None else record.primal
        point = {
            "passes": record.passes,
            "seconds": record.seconds,
            "P": primal,
            "D": record.dual,
            "relative_gap": None if record.dual is None else (primal - record.dual) / abs(primal),
            "certified": record.gap is not None,
        }
        self.points.append(point | {key: of(w) for key, of in self._questions.items()})
        self._left = [goal for goal in self._left if not certifies(point, goal)]
        if not self._left:
            return "all goals are reached"
        self._objective.tol = self._left[0]
        return "the time is up" if record.seconds > self._seconds else None


def follow(
    learner: Learner,
    objective: Objective,
    goals: Sequence[float],
    seconds: float,
    questions: Questions = MappingProxyType({}),
) -> dict[str, Any]:
    """A learner's curve, until it has certified the last of the goals, is done, or its time is up."""
    follower = Follower(goals, seconds, questions)
    objective.observers = (*objective.observers, follower)
    objective.max_iter = objective.max_iter or MOST_PASSES
    state = learner.solve(objective).state
    result: dict[str, Any] = {"settings": asdict(learner), "loss": objective.loss.name, "curve": follower.points}
    if isinstance(state, GibbsState) and state.visited:
        result["trials_per_visit"] = state.trials / state.visited
    return result


def within(point: Point, goal: float) -> bool:
    """Whether the relative gap is within the goal."""
    return bool(point["relative_gap"] <= goal)


def certifies(point: Point, goal: float) -> bool:
    """Whether the learner knows that it is."""
    return bool(point["certified"]) and within(point, goal)


def near(point: Point, goal: float) -> bool:
    """Whether P is above the optimum by no more than the goal, relatively."""
    return bool(point["above"] <= goal)


def reached(points: Sequence[Point], goals: Iterable[float], there: Callable[[Point, float], bool]) -> dict[str, Any]:
    """Passes and seconds at the first point that is there, or None, for each goal."""

    def first(goal: float) -> dict[str, float] | None:
        at = next((point for point in points if there(point, goal)), None)
        return at and {"passes": at["passes"], "seconds": at["seconds"]}

    return {f"{goal:g}": first(goal) for goal in goals}


def regularized_learners() -> dict[str, Learner]:
    """All learners that minimize P, with their defaults; the D of another objective is no bound on it."""
    others = {"perceptron loss", "another objective"}
    return {name: kind() for name, kind in LEARNERS.items() if not others & set(kind.offers)}


def compare(
    learners: dict[str, Learner],
    bind: Callable[[bool], _core.Problem],
    loss: LossFamily,
    C: float,
    goals: Sequence[float],
    seconds: float,
) -> dict[str, Any]:
    """When each learner reached the goals, or why it refuses; bind gives the problem with parts tied or not.

    A learner that has no certificate, or only in its first pass, has its P held against the best D of all others.
    """
    problems: dict[bool, _core.Problem] = {}
    runs: dict[str, Any] = {}
    for name, learner in learners.items():
        tied = "untied" not in learner.needs
        problem = problems.get(tied) or problems.setdefault(tied, bind(tied))
        try:
            learner.check(loss, problem)
        except MargraveError as refusal:
            runs[name] = {"refused": str(refusal), "reached": {}}
            continue
        runs[name] = follow(learner, Objective(problem, loss, C=C, n_jobs=1), goals, seconds)
        runs[name]["auto"] = learner == Auto().resolve(loss, problem)
    best = max(point["D"] for run in runs.values() for point in run.get("curve", []) if point["D"] is not None)
    for run in runs.values():
        if "refused" in run:
            continue
        points = run["curve"]
        run["certified"] = points[-1]["D"] is not None
        if not run["certified"]:
            for point in points:
                point["relative_gap"] = (point["P"] - best) / abs(point["P"])
        run["reached"] = reached(points, goals, certifies if run["certified"] else within)
        run["curve"] = thinned(points, View("seconds", "relative_gap", low=0.5 * min(goals), high=10.0))
    return runs


class View(NamedTuple):
    """Two columns as a plot shows them, each on a logarithmic axis or not; y between limits."""

    x: str
    y: str
    log_x: bool = True
    log_y: bool = True
    low: float = -inf
    high: float = inf


_APART = 0.01  # of the width or height of a plot: points that are nearer to each other look like one
_MOST_POINTS = 40


def thinned(points: Sequence[Point], *views: View, apart: float = _APART, most: int = _MOST_POINTS) -> Curve:
    """The columns that the views show, at the first and last point and those that look apart from the one before.

    If there are more than `most` of them, they are taken further apart.
    """
    places = [_places(points, view) for view in views]
    while True:
        chosen = [0]
        for k in range(1, len(points)):
            if any(at[k] is not None and _distance(at[chosen[-1]], at[k]) >= apart for at in places):
                chosen.append(k)
        if chosen[-1] != len(points) - 1:
            chosen.append(len(points) - 1)
        if len(chosen) <= most:
            names = dict.fromkeys(name for view in views for name in (view.x, view.y))
            return {name: [points[k][name] for k in chosen] for name in names}
        apart *= 1.1


def _places(points: Sequence[Point], view: View) -> list[tuple[float, float] | None]:
    """Where the points lie between 0 and 1; None if they cannot be shown."""

    def scaled(name: str, logarithmic: bool, low: float = -inf, high: float = inf) -> list[float | None]:
        values = [None if point[name] is None else min(max(point[name], low), high) for point in points]
        shown = [None if v is None or (logarithmic and v <= 0) else log10(v) if logarithmic else v for v in values]
        known = [v for v in shown if v is not None]
        least, size = (min(known), max(known) - min(known)) if known else (0.0, 0.0)
        return [None if v is None else (v - least) / (size or 1.0) for v in shown]

    pairs = zip(scaled(view.x, view.log_x), scaled(view.y, view.log_y, view.low, view.high), strict=True)
    return [None if x is None or y is None else (x, y) for x, y in pairs]


def _distance(a: tuple[float, float] | None, b: tuple[float, float] | None) -> float:
    return 1.0 if a is None or b is None else hypot(a[0] - b[0], a[1] - b[1])
