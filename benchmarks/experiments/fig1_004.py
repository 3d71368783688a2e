"""004, Fig. 1: both objectives along the extragradient method, on the whole program and with column generation.

The figure of the paper has the objective of the primal program on one axis and that of the dual on the other. They are
equal on the diagonal, and the method approaches the optimum there along a spiral. Column generation solves a sequence
of smaller programs. Between two of them, line 5 of Algorithm 2 makes the weights feasible again by larger slacks, which
shifts the point away from the diagonal.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.corpora.problems import Tagging
from benchmarks.curves import Curve, Point, View, thinned
from benchmarks.plots import finished, panels
from benchmarks.tables import markdown
from margrave import _core
from margrave.datasets import load_town
from margrave.learners import LP, Objective
from margrave.losses import Hinge
from margrave.solvers.lp_master import Extragradient, Program

Result = dict[str, Any]

CORPORA = ()
RESULT = "fig1_004"
SENTENCES, WORDS = 10, 3  # so few that all outputs can be listed
C = 10.0
GOAL = 1e-2  # the relative gap of the whole program at which a method ends
NEAREST = 1e-6  # the relative gap at which the optimum is known
TOLERANCES = (1e-3, 1.0)  # of Algorithm 2, line 10, as printed
MOST = 10**6  # iterations
MANY, FEW = 20_000, 400  # iterations at which the objectives are computed, with restarts
APART = 0.008  # of the width or height of a path: where its points are to be apart
POINTS = 250  # of a path, beside its end
END = 2000  # iterations of a closer look at the end
PRINTED, OURS = "as printed", "default"
LEARNERS = {PRINTED: LP(separation="master", restarts=False, step="frobenius", tolerances=TOLERANCES), OURS: LP()}


def measure() -> Result:
    """The methods of the paper and of the library, each on the whole program and with column generation."""
    objective = Objective(short_sentences(), Hinge(), C=C, tol=GOAL, n_jobs=1)
    best = LP().solve(replace(objective, tol=NEAREST)).certificate
    assert best.primal is not None
    methods = {
        name: {
            "whole": on_whole_program(learner, objective, best.primal),
            "columns": by_column_generation(learner, objective),
        }
        for name, learner in LEARNERS.items()
    }
    return {
        "sentences": SENTENCES,
        "words": WORDS,
        "features": objective.problem.dim,
        "C": C,
        "goal": GOAL,
        "tolerances": TOLERANCES,
        "optimum": best.primal,
        "methods": methods,
    }


def short_sentences() -> _core.Problem:
    """The first words of the first sentences of the built-in corpus, with the types of their entities."""
    rows = [sentence[:WORDS] for sentence in load_town("train") if len(sentence) >= WORDS][:SENTENCES]
    X = [[[f"word={word}", f"pos={pos}"] for word, pos, _ in sentence] for sentence in rows]
    return Tagging(X, [[tag.split("-")[-1] for *_, tag in sentence] for sentence in rows]).bind(tied=True)


def on_whole_program(learner: LP, objective: Objective, optimum: float) -> Result:
    """The extragradient method on the program with all constraints, from where the learner starts."""
    program = learner.blank(objective, several=False).program
    add_every_output(program, objective.problem)
    master = Traced(learner.step, learner.restarts, None, 1)
    primal, dual = master.solve(program, GOAL * optimum, MOST, last=True)
    last = min(END, master.iterations // 2)
    return described(master, program, primal, dual) | {"last": last, "end": master.paths[-1]["end"]}


def by_column_generation(learner: LP, objective: Objective) -> Result:
    """The rounds of the learner, from no constraints on."""
    state = learner.blank(objective)
    state.master = master = Traced(learner.step, learner.restarts, learner.tolerances, 1)
    found = learner.solve(replace(objective), state)
    return described(master, found.state.program, found.certificate.primal, found.certificate.dual)


def add_every_output(program: Program, problem: _core.Problem) -> None:
    """A constraint for every wrong output of every example."""
    owner, begin, features, values = [], [0], [], []
    for i in range(problem.size):
        right = np.bincount(problem.gold(i), minlength=problem.parts(i))
        for _, y in problem.kbest(i, np.zeros(problem.parts(i)), MOST):
            wrong = np.bincount(y, minlength=problem.parts(i))
            if (right == wrong).all():
                continue
            feature, value = problem.row(i, (right - wrong).astype(np.float64))
            owner.append(i)
            begin.append(begin[-1] + len(feature))
            features.append(feature)
            values.append(value)
    examples = np.array(owner, np.int32)
    of_rows = np.array(begin), np.concatenate(features), np.concatenate(values)
    program.rows.add(examples, examples, np.ones(len(owner)), *of_rows)


@dataclass
class Traced(Extragradient):
    """Notes both objectives along the way through each of the programs that it solves."""

    paths: list[Result] = field(default_factory=list)
    visited: int = 0  # entries of H and M, once for every iteration

    def solve(self, program: Program, goal: float, most: int, last: bool) -> tuple[float, float]:
        start, before = deepcopy(program), self.iterations
        values = super().solve(program, goal, most, last)
        iterations = self.iterations - before
        self.visited += iterations * (len(program.rows.value) + len(program.rows))
        self.paths.append(path(Extragradient(self.step, self.restarts, None, 1), start, iterations))
        return values


def path(master: Extragradient, start: Program, iterations: int) -> Result:
    """Both objectives at the start, which line 5 of Algorithm 2 makes feasible, along the iterations, and at the end.

    The last iterations come a second time, for a closer look.
    """
    at, done = deepcopy(start), 0
    at.xi = np.maximum(at.xi, at.rows.slacks(at.rows.asked(at.w)))
    points = [objectives(at)]
    apart = 1 + iterations // (FEW if master.restarts else MANY)
    for k in [*range(apart, iterations, apart), iterations] if iterations else []:
        if master.restarts:  # which depend on all iterations since the start
            at, done = deepcopy(start), 0
        master.solve(at, 0.0, k - done, last=True)
        done = k
        points.append(objectives(at))
    curve = shown(points)
    beginning = {name: [*values[:POINTS], *values[POINTS:][-1:]] for name, values in curve.items()}
    return {"path": beginning, "end": shown(points[-1 - min(END, iterations // 2) // apart :])}


def shown(points: Sequence[Point]) -> Curve:
    """The points that look apart from those before."""
    return thinned(points, View("primal", "dual", log_x=False, log_y=False), apart=APART, most=len(points))


def objectives(program: Program) -> Point:
    """1'w + C'xi and the sum of all lambda, whether they are feasible or not."""
    primal, dual = program.w.sum() + program.C @ program.xi, program.rows.margin @ program.rows.multiplier
    return {"primal": float(primal), "dual": float(dual)}


def described(master: Traced, program: Program, primal: float | None, dual: float | None) -> Result:
    """The paths through all programs, and how much work they were."""
    assert primal is not None
    assert dual is not None
    return {
        "constraints": len(program.rows),
        "programs": len(master.paths),
        "iterations": master.iterations,
        "visited": master.visited,
        "gap": (primal - dual) / primal,
        "paths": [each["path"] for each in master.paths],
    }


def table(result: Result) -> str:
    """How much work each way is."""
    rows = [
        [
            method,
            {"whole": "whole program", "columns": "column generation"}[way],
            f"{run['constraints']:,}",
            str(run["programs"]),
            f"{run['iterations']:,}",
            f"{run['visited']:,}",
            f"{run['gap']:.1e}",
        ]
        for method, ways in result["methods"].items()
        for way, run in ways.items()
    ]
    header = ["method", "way", "constraints", "programs", "iterations", "entries visited", "relative gap"]
    title = f"{result['sentences']} sentences of {result['words']} words, {result['features']} features"
    return f"{title}; optimum {result['optimum']:.6g}\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """The two objectives against each other: the whole program above, its end closer, and column generation below."""
    figure, axes = panels(2, 3)
    optimum = result["optimum"]
    for k, (method, ways) in enumerate(result["methods"].items()):
        whole, end, columns = axes[k::2]
        whole.set_title(f"the whole program, {method}")
        draw_paths(whole, ways["whole"]["paths"])
        end.set_title(f"its last {ways['whole']['last']:,} iterations")
        draw_paths(end, [ways["whole"]["end"]])
        columns.set_title(f"column generation, {method}")
        draw_paths(columns, ways["columns"]["paths"])
        for panel in (whole, end, columns):
            panel.set(xlabel="primal objective", ylabel="dual objective")
            low, high = panel.get_ylim()
            panel.plot([low, high], [low, high], color="grey", linewidth=0.8, label="equal objectives")
            panel.plot([optimum], [optimum], color="black", marker="*", linestyle="", label="optimum")
    return finished(figure)


def draw_paths(panel: Any, paths: list[Curve]) -> None:
    """A line for each program, and dashed ones to where the next begins."""
    for k, line in enumerate(paths):
        if k:
            before = paths[k - 1]
            shift = [before["primal"][-1], line["primal"][0]], [before["dual"][-1], line["dual"][0]]
            panel.plot(*shift, color="grey", linestyle="--", linewidth=0.7, label="_" if k > 1 else "new constraints")
        label = "iterations" if not k else "_"
        panel.plot(line["primal"], line["dual"], color=f"C{k % 10}", linewidth=0.9, label=label)
        panel.plot(line["primal"][:1], line["dual"][:1], color=f"C{k % 10}", marker="o", markersize=3, linestyle="")
