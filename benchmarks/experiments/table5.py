"""003, Table 5: grammars for short sentences from tags, by counting, and by SVMs with zero-one and F1 loss.

Sentences of up to 10 words and of up to 15, cross-validated in five folds over all parts of a corpus.

P / P(0) tells what learning could do: at w = 0 every tree is wrong by a cost of 1. Rules do not tell apart trees with
the same rules in other places, so that the zero-one cost of many sentences cannot be avoided. Where P / P(0) is 1,
w = 0 is optimal, and the trees that are predicted with what is left of rounding mean nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.constituents import constituents
from benchmarks.pieces import Pieces
from benchmarks.tables import markdown, number
from margrave import PCFG, ConstituencyParser, Hinge
from margrave.data.constituents import Tree
from margrave.learners import CuttingPlane
from margrave.learners.cutting_plane import CutState
from margrave.learners.objective import Step
from margrave.metrics import BracketScores, bootstrap_interval, bracket_scores, mcnemar
from margrave.metrics.brackets import f1_of_counts

Result = dict[str, Any]
Split = tuple[list[Tree], list[Tree]]  # to learn from, and to test on

CORPORA = ("ptb-sample", "genia-treebank")
RESULT = "table5"
PER_EXAMPLE, DIVIDED = "1", "1 / n"  # the C of an example
FOLDS = 5
LONGEST = (10, 15)  # words
EPSILON = 0.01
PAPER = {"PCFG": 86.0, "SVM2": 86.2, "SVM2, slack re-scaled F1": 88.5, "SVM2, margin re-scaled F1": 88.4}
LOSSES = {
    "SVM2": Hinge(slack=2, cost="zero-one"),
    "SVM2, slack re-scaled F1": Hinge(slack=2, cost="f1", rescale="slack"),
    "SVM2, margin re-scaled F1": Hinge(slack=2, cost="f1", rescale="margin"),
}


@dataclass
class Watched(CuttingPlane):
    """Cutting planes that tell their constraints and the time of the quadratic programs.

    These are the programs over the constraints of all examples; the small ones of a single example, between two
    searches of a pass, are not counted.
    """

    found: ClassVar[Result] = {}

    def one_pass(self, state: CutState) -> Step:
        """As before, with a clock around the programs."""
        if not hasattr(state, "timed"):
            state.timed, optimize = True, state.optimize  # type: ignore[attr-defined]

            def timed(goal: float, rounds: int) -> None:
                started = process_time()
                optimize(goal, rounds)
                Watched.found["qp"] += process_time() - started

            state.optimize = timed  # type: ignore[method-assign]
        step = super().one_pass(state)
        Watched.found["constraints"] = state.n_constraints
        return step


def measure() -> Iterator[Result]:
    """All rows of both corpora; C = 1 per example, and divided by the number of examples."""
    pieces = Pieces(RESULT)
    for longest in LONGEST:
        for corpus in CORPORA:
            yield from pieces.measure(f"{corpus} {longest}", partial(rows_of, corpus, longest))


def rows_of(corpus: str, longest: int) -> Result:
    """The rows of one corpus and length."""
    splits = splits_of(corpus, longest)
    sizes = {"train": len(splits[0][0]), "test": sum(len(test) for _, test in splits), "folds": len(splits)}
    rows: Result = {}
    base, rows["PCFG"] = scored(lambda n: PCFG(n_jobs=1), splits)
    for C in (PER_EXAMPLE, DIVIDED):
        zero_one = None
        for name, loss in LOSSES.items():
            found, row = scored(partial(svm, loss, C), splits)
            row["mcnemar"] = mcnemar(found.per_tree[:, 3], base.per_tree[:, 3])
            row["above PCFG"] = difference(found, base)
            if zero_one is not None:
                row["above zero-one"] = difference(found, zero_one)
            zero_one = zero_one or found
            rows[f"{name}, C = {C}"] = row
            line = f"{name}, C = {C}: {row['test']['f1']:.4f}, {row['seconds']:.0f} s"
            print(f"  {corpus}, {longest} words, {line}", flush=True)
    return {"corpus": corpus, "longest": longest, **sizes, "rows": rows}


def difference(one: BracketScores, other: BracketScores) -> list[float]:
    """The difference in F1 on the same test sentences, and its bootstrap interval over them."""
    both = np.hstack([one.per_tree, other.per_tree])

    def gain(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return f1_of_counts(sums[..., :4]) - f1_of_counts(sums[..., 4:])

    interval = bootstrap_interval(both, gain)
    return [one.f1 - other.f1, interval.low, interval.high]


def splits_of(corpus: str, longest: int) -> list[Split]:
    """Folds of all short sentences."""
    trees = [tree for part in ("train", "dev", "test") for tree in constituents(corpus, part, longest)]
    return [
        (
            [tree for i, tree in enumerate(trees) if i % FOLDS != k],
            [tree for i, tree in enumerate(trees) if i % FOLDS == k],
        )
        for k in range(FOLDS)
    ]


def svm(loss: Hinge, C: str, n: int) -> ConstituencyParser:
    """A grammar whose weights cutting planes learn from n sentences, to epsilon."""
    of_example = 1.0 if C == PER_EXAMPLE else 1.0 / n
    settings: Result = {"grammar": "rules", "horizontal": None, "n_jobs": 1, "tol": 0.0, "max_iter": 200}
    return ConstituencyParser(loss, C=of_example, learner=Watched(epsilon=EPSILON), **settings)


def scored(make: Callable[[int], ConstituencyParser | PCFG], splits: list[Split]) -> tuple[BracketScores, Result]:
    """Scores on the test sentences of all splits together, and on the training sentences."""
    gold: dict[str, list[Tree]] = {"train": [], "test": []}
    predicted: dict[str, list[Tree]] = {"train": [], "test": []}
    seconds, iterations, partial, objective = 0.0, 0, 0, 0.0
    Watched.found.update(qp=0.0, constraints=0)
    constraints = 0
    for train, test in splits:
        parser = make(len(train))
        started = process_time()
        parser.fit(None, train)
        seconds += process_time() - started
        iterations += parser.n_iter_
        if not isinstance(parser, PCFG):
            objective += (parser.certificate_.primal or 0.0) / (parser.C * len(train) / 2)
        constraints += Watched.found["constraints"]
        for part, of in {"train": train, "test": test}.items():
            gold[part] += of
            predicted[part] += parser.predict(parser.sentences_of(of))
        partial += parser.n_partial_
    n = len(splits)
    row: Result = {"seconds": seconds / n, "qp_share": Watched.found["qp"] / seconds, "iterations": iterations / n}
    row |= {"constraints": constraints / n, "partial": partial}
    if objective:
        row["objective"] = objective / n  # P in units of P(0), where no cost is larger than 1
    for part in ("train", "test"):
        found = bracket_scores(gold[part], predicted[part], punctuation=())
        row[part] = {each: getattr(found, each) for each in ("exact_match", "precision", "recall", "f1")}
    interval = found.interval()
    row["interval"] = [interval.low, interval.high]
    return found, row


def table(result: Result) -> str:
    """A table per corpus and length, with the paper's test F1."""
    found = []
    for of in result["pieces"].values():
        rows = []
        for name, row in of["rows"].items():
            cells = [
                f"{100 * row[part][score]:.1f}"
                for part in ("train", "test")
                for score in ("exact_match", "precision", "recall", "f1")
            ]
            low, high = row["interval"]
            interval = f"{100 * low:.1f} to {100 * high:.1f}"
            counted = row["constraints"] == 0
            more = [f"{row['seconds']:.1f}", "" if counted else f"{100 * row['qp_share']:.0f}"]
            more += ["" if counted else f"{row[what]:.0f}" for what in ("iterations", "constraints")]
            more += [number(row.get("objective"), ".4f"), str(row["partial"])]
            gains = [percent(row.get(key)) for key in ("above PCFG", "above zero-one")]
            rows.append([name, *cells, interval, *gains, number(row.get("mcnemar"), ".2g"), *more])
        header = [
            "method",
            *(f"{part} {score}" for part in ("train", "test") for score in ("acc", "prec", "rec", "F1")),
        ]
        header += ["test F1, 95 %", "above PCFG", "above zero-one", "McNemar p"]
        header += ["CPU s", "QP, %", "iterations", "constraints"]
        header += ["P / P(0)", "partial trees"]
        tested = f"{of['train']} sentences to learn from, {of['test']} to test on"
        about = f"{of['corpus']}, up to {of['longest']} words, {of['folds']} split(s): {tested}"
        found.append(f"{about}\n\n{markdown(header, rows)}")
    paper = ", ".join(f"{name} {f1}" for name, f1 in PAPER.items())
    return "\n\n".join(found) + f"\n\ntest F1 of the paper: {paper}"


def percent(gain: list[float] | None) -> str:
    """A difference of F1 with its interval, in percent."""
    if gain is None:
        return ""
    value, low, high = (100 * x for x in gain)
    return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


def plot(result: Result) -> None:
    """There is no plot."""
