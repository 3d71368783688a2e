"""000, Fig. 4: D after each pass of SMO, of online EG by rates and by starts, and of EG after SMO.

The paper states neither its C nor the scale of its features, so that its eta = 1 can be any rate here: multiplying all
features by s has the same effect as multiplying C by s^2 and dividing eta by s^2, up to a factor on D. Both are
therefore varied. The paper does not say either how its SMO chooses the pair of outputs between which mass moves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from math import log
from typing import Any, ClassVar

import numpy as np

from benchmarks.corpora.columns import conll2003, last_column
from benchmarks.corpora.lines import Attributes, Rows
from benchmarks.corpora.problems import Tagging
from benchmarks.curves import View, thinned
from benchmarks.pieces import Pieces
from benchmarks.plots import draw, finished, panels
from benchmarks.summaries import summary
from benchmarks.tables import markdown, with_interval
from margrave import _core
from margrave.features import Templates
from margrave.learners import BCFW, EG, SMO, SMOEG, Learner, Objective, PrintedEG, Step
from margrave.learners.dual import DualState
from margrave.losses import Hinge

Result = dict[str, Any]

CORPORA = ("conll2003-en",)
RESULT = "fig4"
SENTENCES = 1000  # as in the paper
PASSES = 100
MARKS = (1, 3, 10, 30, 100, 200)  # passes whose D is kept
SEEDS = (0, 1, 2)  # of the order of visits
CS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
FEATURES = ("nodes", "nodes and edges")
DRAWN = ("nodes and edges", (1.0, 10.0), 200)  # the features and the C whose curves are drawn, over more passes
STEPS = (0.1, 0.3, 1.0)  # eta C: what a violation of 1 adds to a natural parameter in one visit
SMALL_STEPS = (0.03, 0.1, 0.3)  # the same for C >= 1, where D falls sooner
SMOS = ("SMO", "SMO, random pairs")
STARTS = (0.0, 2.0, 4.0, 6.0, 8.0)
START_C = 0.1  # with eta = 1 D falls at C = 1, and EG is slow at C = 0.01

FUNCTIONS = ("", ".lower", ".prefix2", ".prefix3", ".suffix1", ".suffix2", ".suffix3", ".shape")
NODES = Templates([f"0[{offset}]{function}" for offset in (-1, 0, 1) for function in FUNCTIONS])
EDGES = Templates([f"0[{offset}]{function}" for offset in (-1, 0) for function in FUNCTIONS] + ["0[-2]", "0[1]"])


@dataclass
class RandomPairs(SMO):
    """SMO that draws the output that loses mass from alpha, where SMO searches for the worst one that has any."""

    name: ClassVar[str] = "smo-random"

    def one_pass(self, state: Any) -> Step:
        """One step for every example."""
        begin = _core.part_offsets(state.objective.problem)
        for i in state.visits(self.order, False).tolist():
            _move_mass(state, i, state.mu[begin[i] : begin[i + 1]])
        return state.step()


def _move_mass(state: DualState, i: int, mu: Any) -> None:
    """Moves mass from an output drawn from alpha to the loss-augmented best one, by exact line search."""
    problem, C = state.objective.problem, state.objective.C
    delta, _ = problem.cost(i)
    v = problem.score(i, state.w) + delta
    drawn = problem.sample(i, problem.entropy(i, mu)[1], int(state.random.integers(2**31)))
    best = problem.argmax(i, v)[1]
    d = np.zeros_like(mu)
    np.add.at(d, drawn, 1.0)
    np.add.at(d, best, -1.0)
    slope = -float(v @ d)
    if not slope > 0:
        return
    index, value = problem.row(i, d)
    most = mu[d > 0].min()
    mass = min(most, slope / max(C * float(value @ value), 1e-300))
    mu -= mass * d
    mu[mu < 1e-13] = 0.0  # what rounding has left over
    state.cost[i] -= mass * float(delta @ d)
    state.w[index] += C * mass * value


def measure() -> Iterator[Result]:
    """D of all learners by C with and without attributes of edges, and of EG with eta = 1 by starts."""
    pieces, sentences = Pieces(RESULT), conll2003("train")[:SENTENCES]
    yield from pieces.measure("data", partial(sizes, sentences))
    for features in FEATURES:
        bound = cache(partial(bind, sentences, features))
        for C in CS:
            yield from pieces.measure(at(features, C), partial(compare, bound, features, C))
    yield from pieces.measure(
        "without contradictions", partial(compare_without_contradictions, sentences, DRAWN[1][-1])
    )
    yield from pieces.measure("starts", partial(compare_starts, bound))


def at(features: str, C: float) -> str:
    """The name of a piece."""
    return f"{features} at C = {C:g}"


def sizes(sentences: list[Rows]) -> Result:
    """The numbers of sentences, tokens and tags."""
    data = tagging(sentences, edges=False)
    return {"sentences": len(sentences), "tokens": data.tokens, "tags": len(data.outputs.classes)}


def bind(sentences: list[Rows], features: str) -> _core.Problem:
    """The problem with these features."""
    return tagging(sentences, edges=features == DRAWN[0]).bind(tied=False)


def tagging(sentences: list[Rows], *, edges: bool) -> Tagging:
    """The features that the paper describes, with a weight for every assignment."""
    of_edges = Attributes(sentences, EDGES.attributes) if edges else None
    return Tagging(Attributes(sentences, NODES.attributes), last_column(sentences), "all", edges=of_edges)


def compare_without_contradictions(sentences: list[Rows], C: float) -> Result:
    """D of SMO and EG on the sentences that the attributes can tell apart."""
    rest = without_contradictions(sentences)
    learners: dict[str, Learner] = {"SMO": SMO(), "EG": EG()}
    problem = tagging(rest, edges=True).bind(tied=False)
    return {"sentences": len(rest), "C": C, "runs": runs(problem, C, learners, PASSES, drawn=False)}


def without_contradictions(sentences: list[Rows]) -> list[Rows]:
    """The sentences in which no word has the same neighbors as another of the same form but a different tag."""
    tags: dict[tuple[str, ...], set[str]] = {}
    for rows in sentences:
        for window, row in zip(windows(rows), rows, strict=True):
            tags.setdefault(window, set()).add(row[-1])
    return [rows for rows in sentences if all(len(tags[window]) == 1 for window in windows(rows))]


def windows(rows: Rows) -> list[tuple[str, ...]]:
    """Each word with two on either side: all that the attributes of the word and of its two edges describe."""
    words = ["", "", *(row[0] for row in rows), "", ""]
    return [tuple(words[t : t + 5]) for t in range(len(rows))]


def fixed(eta: float, start: float) -> PrintedEG:
    """Online EG as printed."""
    return PrintedEG(rate=eta, schedule="constant", start=start)


def compare_starts(bound: Callable[[], _core.Problem]) -> Result:
    """D of SMO, and of EG with eta = 1 from several starts."""
    starts = {f"EG, start {start:g}": fixed(1.0, start) for start in STARTS}
    return {"C": START_C, "runs": runs(bound(), START_C, {"SMO": SMO(), **starts}, PASSES, drawn=True)}


def compare(bound: Callable[[], _core.Problem], features: str, C: float) -> Result:
    """D of all learners at one C, and an upper bound on it.

    If C is large, the optimum has little mass beside most gold outputs, so that EG begins closer to them.
    """
    problem, drawn = bound(), features == DRAWN[0] and C in DRAWN[1]
    start = max(3.0, 4.0 + log(C))
    learners: dict[str, Learner] = {"SMO": SMO(), "SMO, random pairs": RandomPairs(), "EG": EG()}
    learners |= {f"EG, eta {step / C:g}": fixed(step / C, start) for step in (STEPS if C < 1 else SMALL_STEPS)}
    learners |= {"EG after SMO": SMOEG()}
    most = BCFW().solve(Objective(problem, Hinge(), C=C, max_iter=3 * PASSES, tol=1e-5, n_jobs=1)).certificate.primal
    passes = DRAWN[2] if drawn else PASSES
    found = {"features": features, "C": C, "weights": problem.dim, "bound": most, "start": start}
    return found | {"runs": runs(problem, C, learners, passes, drawn=drawn)}


def runs(problem: _core.Problem, C: float, learners: dict[str, Learner], passes: int, *, drawn: bool) -> Result:
    """D of each learner along the way, seed by seed, and the curve of the first seed if it is drawn."""
    result: Result = {}
    for name, learner in learners.items():
        duals = np.array([dual_after_passes(learner, problem, C, passes, seed) for seed in SEEDS])
        result[name] = {str(n): duals[:, n - 1].tolist() for n in MARKS if n <= passes}
        result[name]["highest"] = duals.max(axis=1).tolist()
        if drawn:
            points = [{"pass": n, "D": float(dual)} for n, dual in enumerate(duals[0], 1)]
            result[name]["curve"] = thinned(points, View("pass", "D", log_y=False, low=0.0))
    return result


def dual_after_passes(learner: Learner, problem: _core.Problem, C: float, passes: int, seed: int) -> list[float]:
    """D after every pass; a run that ends at the optimum stays there."""
    objective = Objective(problem, Hinge(), C=C, max_iter=passes, tol=1e-9, random_state=seed, n_jobs=1)
    duals = [record.dual for record in learner.solve(objective).history]
    assert all(dual is not None for dual in duals)
    return duals + [duals[-1]] * (passes - len(duals))


def lead(of: Result, name: str, over: str) -> Result:
    """By how much D is higher than that of another learner after PASSES, relatively, seed by seed."""
    ours, theirs = (of["runs"][each][str(PASSES)] for each in (name, over))
    return summary(a / b - 1 for a, b in zip(ours, theirs, strict=True))


def best_fixed(of: Result) -> str:
    """EG with the fixed rate whose D is highest after PASSES."""
    rates = [name for name in of["runs"] if name.startswith("EG, eta")]
    return max(rates, key=lambda name: sum(of["runs"][name][str(PASSES)]))


def fixed_ahead(of: Result, over: str) -> str:
    """The fixed rates whose D is above that of another learner after PASSES, and in how many of the orders."""
    theirs = of["runs"][over][str(PASSES)]
    ahead = {
        name.removeprefix("EG, "): sum(a > b for a, b in zip(run[str(PASSES)], theirs, strict=True))
        for name, run in of["runs"].items()
        if name.startswith("EG, eta")
    }
    return ", ".join(f"{rate}: {count}" for rate, count in ahead.items() if count)


def possible(of: Result, over: str) -> float:
    """The lead of the upper bound, which no learner can exceed."""
    return float(of["bound"] / np.mean(of["runs"][over][str(PASSES)]) - 1)


def cells(result: Result) -> Iterator[tuple[str, float, Result]]:
    """The runs of the learners at each C."""
    for features in FEATURES:
        for C in CS:
            if of := result["pieces"].get(at(features, C)):
                yield features, C, of


def table(result: Result) -> str:
    """The lead over both kinds of SMO by C, and D along the way of all that is drawn."""
    data, rest = (result["pieces"].get(piece) for piece in ("data", "without contradictions"))
    found = [
        f"Lead in D after {PASSES} passes, %; {data['sentences']:,} sentences, {data['tokens']:,} tokens",
        leads_table(result),
    ]
    if rest:
        found.append(
            f"The same of EG over SMO at C = {rest['C']:g} without sentences that contradict each other, "
            f"{rest['sentences']} of them left: {with_interval(lead(rest, 'EG', 'SMO'), '+.2f', 100)}"
        )
    return "\n\n".join([*found, *(duals_table(title, of) for title, of in drawn(result))])


def leads_table(result: Result) -> str:
    """The lead over both kinds of SMO by C, beside the one that the upper bound allows."""
    rows = []
    for features, C, of in cells(result):
        rate = best_fixed(of)
        for over in SMOS:
            leads = [with_interval(lead(of, name, over), "+.2f", 100) for name in ("EG", "EG after SMO", rate)]
            ahead = fixed_ahead(of, over)
            rows.append([features, f"{C:g}", over, f"{100 * possible(of, over):.2f}", *leads, rate, ahead])
    header = ["features", "C", "over", "possible", "EG", "EG after SMO", "EG, best fixed rate", "which"]
    header.append(f"orders of {len(SEEDS)} in which a fixed rate is ahead")
    return markdown(header, rows)


def drawn(result: Result) -> Iterator[tuple[str, Result]]:
    """The runs whose curves are kept, with a title."""
    features, Cs, _ = DRAWN
    for title in (at(features, C) for C in Cs):
        if title in result["pieces"]:
            yield title, result["pieces"][title]["runs"]
    if "starts" in result["pieces"]:
        yield f"{features}, C = {START_C:g}, eta = 1", result["pieces"]["starts"]["runs"]


def duals_table(title: str, of: Result) -> str:
    """D after some passes."""
    kept = [n for n in map(str, MARKS) if n in of["SMO"]]
    rows = [[name, *(with_interval(summary(run[n]), ".2f") for n in kept)] for name, run in of.items()]
    return f"D after so many passes; {title}\n\n{markdown(['learner', *kept], rows)}"


def plot(result: Result) -> Any:
    """D after each pass at two values of C and from several starts, and the lead of EG over SMO by C."""
    figure, axes = panels(2, 2)
    styles = dict(zip(SMOS, ({"color": "black", "linestyle": "--"}, {"color": "grey", "linestyle": "--"}), strict=True))
    for panel, (title, of) in zip(axes, drawn(result), strict=False):
        highest = max(max(run["highest"]) for run in of.values())
        panel.set(xlabel="passes", ylabel="D", xscale="log", title=title, ylim=(-0.05 * highest, 1.05 * highest))
        for name, run in of.items():
            draw(panel, name, run["curve"], "pass", "D", **styles.get(name, {}))
    draw_leads(axes[-1], result)
    return finished(figure)


def draw_leads(panel: Any, result: Result) -> None:
    """The lead of EG over both kinds of SMO by C, and that of the paper."""
    panel.set(xlabel="C", ylabel="lead in D, %", xscale="log", title=f"lead of EG after {PASSES} passes")
    for features, color in zip(FEATURES, ("C0", "C1"), strict=True):
        for over, line in zip(SMOS, ("-", ":"), strict=True):
            leads = {C: lead(of, "EG", over) for name, C, of in cells(result) if name == features}
            means, halves = ([100 * of[key] for of in leads.values()] for key in ("mean", "interval"))
            style = {"color": color, "linestyle": line, "marker": "o", "markersize": 3}
            panel.errorbar(list(leads), means, halves, label=f"over {over}; {features}", **style)
    panel.axhline(10, color="black", linewidth=0.8, label="the paper: more than this")
