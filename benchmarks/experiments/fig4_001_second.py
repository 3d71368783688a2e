"""001, Fig. 4, second order: UAS after passes of DCA (mira) and SGD, log loss, crossing trees with pairs of arcs.

Inference is belief propagation, and AD3 for the best trees. The treebanks, their parts, the scorer and the C of each
learner are those of `fig4_001`, where the held-out sentences choose C in first order. They also choose the rate of SGD
here, after one pass with each of the two rates that were chosen there. Arcs are pruned by the posteriors of a parser of
single arcs. There are five passes, half of those of first order, for want of time: how long a pass takes decided this,
before any result on Arabic or with the bound was seen.

A sentence whose loss is negative makes no step (truncation). On the treebank with the most such visits, this is
compared with a step by the reweighted bound, as footnote 17 wishes. The shares of such visits, and of sentences on
which belief propagation does not converge with the weights after the last pass, are those of the training sentences.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.corpora.problems import TemplateParsing
from benchmarks.experiments.fig4_001 import BITS, COLUMNS, CORPORA, parts
from benchmarks.machine import read_result
from benchmarks.pieces import Pieces
from benchmarks.plots import DOTS, finished, panels
from benchmarks.tables import along, along_cells, markdown, number
from margrave import _core
from margrave.learners import MIRA, SGD, Learner, Objective, Observer, Record, Weights
from margrave.losses import Log
from margrave.structures import ArcPairTree

Result = dict[str, Any]

RESULT = "fig4_001_second"
FIRST_ORDER = "fig4_001"  # the result with the C of each learner
PASSES = 5
MARKS = (1, 3, 5)  # passes in the table
RATES = (0.01, 0.1)
WITH_BOUND = "reweighted"  # the piece with the bound of footnote 17
LEARNERS: tuple[Learner, ...] = (MIRA(), SGD(rates=RATES))


class AlongTheWay(Observer):
    """After each pass, the score of the weights, and the share of training sentences without convergence."""

    def __init__(self, score: Callable[[Weights], float], trees: _core.ArcPairTreeStructure) -> None:
        self.score, self.trees = score, trees
        self.scores, self.unconverged = list[float](), list[float]()

    def note(self, record: Record, w: Weights) -> None:
        self.unconverged.append(float(np.mean(self.trees.sweeps < 0)))  # when P was evaluated at the weights
        self.scores.append(self.score(w))


def measure() -> Iterator[Result]:
    """Curves of both learners for three languages, and for one of them with the bound of footnote 17."""
    pieces = Pieces(RESULT)
    for corpus in CORPORA:
        yield from pieces.measure(corpus, partial(measure_language, corpus))
    most = max(CORPORA, key=lambda corpus: negative_visits(pieces.found[corpus]))
    yield from pieces.measure(WITH_BOUND, partial(measure_language, most, "reweighted"))


def negative_visits(language: Result) -> float:
    """The share of visits with a negative loss, of both learners."""
    return float(np.mean([run["negative_visits"] for run in language["learners"].values()]))


def measure_language(corpus: str, fallback: str = "none") -> Result:
    """Both learners, each with the C that was chosen in first order."""
    train, held_out, test = parts(corpus)
    structure = ArcPairTree(fallback=fallback)
    data = TemplateParsing(train, structure, COLUMNS, BITS, prune="posterior", punctuation=False, built_in="arc-pairs")
    on_held_out, on_test = data.uas(held_out), data.uas(test)
    first = read_result(FIRST_ORDER)["languages"][corpus]["learners"]
    return {
        "corpus": corpus,
        "sentences": {"train": len(train), "held_out": len(held_out), "test": len(test)},
        "words": sum(len(sentence.words) for sentence in train),
        "lost_arcs": data.lost_arcs,
        "learners": {
            learner.name: one_run(data, learner, first[learner.name]["C"], PASSES, on_held_out, on_test)
            for learner in LEARNERS
        },
    }


def one_run(
    data: TemplateParsing,
    learner: Learner,
    C: float,
    passes: int,
    on_held_out: Callable[[Weights], float],
    on_test: Callable[[Weights], float],
) -> Result:
    """UAS on test sentences after each pass, and what approximate inference did on the training sentences."""
    trees = data.bound.core
    assert isinstance(trees, _core.ArcPairTreeStructure)
    seen = AlongTheWay(on_test, trees)
    objective = Objective(data.problem, Log(), C=C, max_iter=passes, tol=0.0, n_jobs=1, approximate=trees)
    objective.dev_score, objective.observers = on_held_out, [seen]
    solution = learner.solve(objective)
    losses, _ = _core.losses_and_gradient(data.problem, solution.w, Log().core(C, None), 1, False)
    state = solution.state
    visits = state.step if isinstance(learner, SGD) else state.steps
    run = {
        "C": C,
        "UAS": seen.scores,
        "unconverged": seen.unconverged,
        "negative_visits": state.negative / visits,
        "visits_by_bound": state.replaced / visits,
        "negative_losses": float(np.mean(losses < 0)),
    }
    return run | ({"rate": state.rate} if isinstance(learner, SGD) else {})


def table(result: Result) -> str:
    """UAS on test sentences along the way, of the first order beside it, and shares of training sentences."""
    first = read_result(FIRST_ORDER)["languages"]
    rows = [
        [
            language["corpus"] + (", by the bound" if piece == WITH_BOUND else ""),
            name,
            f"{run['C']:g}",
            number(run.get("rate"), "g"),
            *along_cells(along(run["UAS"], MARKS), MARKS, 100)[:-1],
            f"{100 * first_order(first, language['corpus'], name)[PASSES - 1]:.2f}",
            f"{run['unconverged'][-1]:.2%}",
            f"{run['negative_visits']:.2%}",
            number(run.get("visits_by_bound"), ".2%"),
            f"{run['negative_losses']:.2%}",
        ]
        for piece, language in result["pieces"].items()
        for name, run in language["learners"].items()
    ]
    passes = [f"UAS, pass {k}" for k in MARKS]
    more = ("first order, last pass", "not converged", "visits without a step", "by the bound", "negative at the end")
    return markdown(["treebank", "learner", "C", "rate", *passes, *more], rows)


def first_order(languages: Result, corpus: str, name: str) -> list[float]:
    """The curve of a learner in first order, at the C that was chosen there."""
    of = languages[corpus]["learners"][name]
    curve: list[float] = of["runs"][f"{of['C']:g}"]["UAS"]
    return curve


def plot(result: Result) -> Any:
    """UAS on test sentences after each pass, in second order (solid) and in first order (dotted)."""
    languages = {corpus: result["pieces"][corpus] for corpus in CORPORA if corpus in result["pieces"]}
    figure, axes = panels(len(languages))
    first = read_result(FIRST_ORDER)["languages"]
    for panel, (corpus, language) in zip(axes, languages.items(), strict=True):
        panel.set(xlabel="passes", ylabel="UAS on test sentences, %", title=corpus, xticks=range(1, PASSES + 1))
        for color, (name, run) in zip(("C0", "C1"), language["learners"].items(), strict=True):
            curves = {"second": run["UAS"], "first": first_order(first, corpus, name)[:PASSES]}
            for (order, curve), line in zip(curves.items(), ("-", ":"), strict=True):
                style = {"linestyle": line, "color": color, **DOTS}
                uas = [100 * share for share in curve]
                panel.plot(range(1, len(uas) + 1), uas, label=f"{name}, {order} order", **style)
    return finished(figure)
