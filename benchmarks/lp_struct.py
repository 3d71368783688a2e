"""LP-Struct in the experiments of 004, sections 5.1 and 5.2, and its memory and speed.

python -m benchmarks.lp_struct pos (or pos_margin, pos_brown, rerank, lp_scale)

Learners run on one thread unless it is said otherwise. CPU seconds are those of the process, user and system.
"""

import resource
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from multiprocessing import get_context
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.data import Rows, brown_short, genia_all, hiero_lists, moses_lists
from benchmarks.machine import run_one_of
from benchmarks.structural_svm import chosen, plain_folds, summary
from margrave.datasets.nbest import NBestList
from margrave.estimators import HMMTagger, Reranker, SequenceTagger
from margrave.features.table import AttributeTable
from margrave.learners import LP, AveragedPerceptron, KBestMIRA, Learner, Task
from margrave.learners.base import Step
from margrave.learners.lp import LPState
from margrave.losses import Hinge
from margrave.metrics import (
    BleuStatistics,
    NistStatistics,
    approximate_randomisation,
    bleu_of_statistics,
    nist_of_statistics,
)
from margrave.structures import Multiclass
from margrave.translation.mert import mert
from margrave.translation.pseudo_references import ngram_indicators, sentence_bleu_costs, varying_ngrams

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Result = dict[str, Any]


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


# ---- tagging (004, section 5.1, Table 1 and Figure 2) ----------------------------------------------------------------

SAMPLES = 5
TRAIN, TEST = 5_700, 1_000
CRF_TOL = 1e-3  # on the relative gap
LP_TOL = 0.05  # likewise; on one sample of GENIA, C = 10, the error was 3.72 % at 0.05 and 3.70 % at 0.03
PASSES = 20  # of the perceptron and MIRA, which have no certificate
SIMPLEX, EXTRAGRADIENT = "LP-Struct, simplex", "LP-Struct, extragradient"
PAPER_POS = {  # error in %, its deviation, CPU seconds, iterations
    "CRF": (4.58, 0.14, 51403, 205),
    "MIRA": (4.91, 0.06, 9084, 46),
    "perceptron": (5.38, 0.19, 26, 100),
    SIMPLEX: (4.94, 0.18, 3879, 23),
    EXTRAGRADIENT: (4.92, 0.13, 856, 14),
    "HMM": (20.02, 0.29, None, None),
}
TIMINGS = 5  # of which the median is taken


class Sample(NamedTuple):
    """Sentences to learn from and to test on."""

    train: Sequence[Rows]
    test: Sequence[Rows]

    def inner(self) -> "Sample":
        """The same, inside of the training part: its last sentences, as many as are tested on, are held out."""
        return Sample(self.train[: -len(self.test)], self.train[-len(self.test) :])


class Method(NamedTuple):
    """A row of Table 1: how to make it at some C, and which to choose from (none: it has no C)."""

    make: Callable[[float], SequenceTagger | HMMTagger]
    grid: tuple[float, ...] = ()
    like: str = ""  # the row whose C it takes: it minimises the same objective
    words: Callable[[str], Any] = lambda word: [word]  # what the tagger sees of a word: one attribute


class LastPerceptron(AveragedPerceptron):
    """The perceptron's last weights instead of their average."""

    def one_pass(self, state: Any) -> Step:
        return replace(super().one_pass(state), w=state.w.copy())


class PlainHMM(HMMTagger):
    """One that knows nothing of an unknown word but that it is unknown: no suffixes, and numbers show no shape."""

    def __init__(self) -> None:
        super().__init__(suffix_length=0)
        self.numbers: dict[str, str] = {}

    def fit(self, X: Any, y: Any) -> "PlainHMM":
        return super().fit(self.numbered(X), y)

    def score(self, X: Any, y: Any) -> float:
        return super().score(self.numbered(X), y)

    def numbered(self, X: Sequence[Sequence[str]]) -> list[list[str]]:
        return [[self.numbers.setdefault(word, f"w{len(self.numbers)}") for word in words] for words in X]


def methods(seconds: float) -> dict[str, Method]:
    """The rows of Table 1; the simplex gives up after so many CPU seconds."""

    def tagger(loss: str, learner: str | Learner, C: float = 1.0, **options: Any) -> SequenceTagger:
        return SequenceTagger(loss, learner=learner, C=C, n_threads=1, **options)

    def lp(solver: str, limit: float, C: float) -> SequenceTagger:
        return tagger("hinge", Watched(solver=solver, limit=limit), C, tol=LP_TOL)

    return {
        "CRF": Method(lambda C: tagger("log", "auto", C, tol=CRF_TOL), (3.0, 10.0, 30.0)),
        "MIRA": Method(lambda C: tagger("hinge", "mira", C, max_iter=PASSES), (0.1, 0.3, 1.0)),
        "perceptron": Method(lambda _: tagger("perceptron", "perceptron", max_iter=PASSES)),
        "perceptron, not averaged": Method(lambda _: tagger("perceptron", LastPerceptron(), max_iter=PASSES)),
        SIMPLEX: Method(partial(lp, "simplex", seconds), like=EXTRAGRADIENT),
        EXTRAGRADIENT: Method(partial(lp, "extragradient", inf), (5.0, 10.0, 30.0)),
        "HMM": Method(lambda _: PlainHMM(), words=str),
        "HMM, unknown words by their suffixes": Method(lambda _: HMMTagger(), words=str),
    }


def pos(load: Callable[[], list[Rows]], seconds: float) -> Result:
    """004, Table 1 and Figure 2: errors of taggers that see a word and the tag before it, CPU time, iterations.

    Every C is chosen by the error on a part held out of the first sample's training sentences.
    """
    return {
        "train": TRAIN,
        "test": TEST,
        "samples": SAMPLES,
        "tol": {"CRF": CRF_TOL, "LP-Struct": LP_TOL},
        "passes": PASSES,
        "paper": PAPER_POS,
    } | table1(load(), methods(seconds))


def pos_margin(load: Callable[[], list[Rows]], seconds: float) -> Result:
    """Beyond the paper: a margin of one for every wrong tag instead of one for all, on the same sentences."""
    known = methods(seconds)
    by_cost = Method(
        lambda C: SequenceTagger("hinge", learner=Watched(margin="cost"), C=C, n_threads=1, tol=LP_TOL),
        (10.0,),
    )
    return {
        "train": TRAIN,
        "test": TEST,
        "samples": SAMPLES,
        "tol": {"LP-Struct": LP_TOL},
        "paper": PAPER_POS,
    } | table1(load(), {"LP-Struct, margin by Hamming": by_cost, "perceptron": known["perceptron"]})


def samples(sentences: Sequence[Rows]) -> list[Sample]:
    """Random sentences, other ones each time; the draw of seed 0 served to choose grids and tolerances."""
    draws = [np.random.default_rng(1 + k).permutation(len(sentences))[: TRAIN + TEST] for k in range(SAMPLES)]
    return [Sample([sentences[i] for i in draw[:TRAIN]], [sentences[i] for i in draw[TRAIN:]]) for draw in draws]


def table1(sentences: Sequence[Rows], table: Mapping[str, Method]) -> Result:
    """All rows, the curves of LP-Struct, and its inference."""
    drawn = samples(sentences)
    Cs: dict[str, float] = {}
    rows: dict[str, Result] = {}
    curves: dict[str, list[list[Result]]] = {}
    inference: Result = {}
    for name, method in sorted(table.items(), key=lambda item: bool(item[1].like)):
        tried = {C: tagged(method, C, drawn[0].inner())[0]["error"] for C in method.grid}
        Cs[name] = Cs[method.like] if method.like else chosen(tried, lambda C, tried=tried: -tried[C]) if tried else 1.0
        runs, taggers = zip(*(tagged(method, Cs[name], sample) for sample in drawn), strict=True)
        keys = ("error", "cpu", "iterations", "weights", "zeros")
        rows[name] = {key: summary(run[key] for run in runs) for key in keys if key in runs[0]}
        rows[name] |= {
            "tried": {f"{C:g}": error for C, error in tried.items()},
            "C": Cs[name] if tried or method.like else None,
        }
        if name.startswith("LP"):
            watched = [tagger.learner_ for tagger in taggers]
            curves[name] = [learner.curve for learner in watched]
            rows[name]["gap"] = [tagger.certificate_.relative_gap for tagger in taggers]
            rows[name]["converged"] = [tagger.converged_ for tagger in taggers]
            inference = timed_rounds(taggers[0].learner_.state)
    known = [{word for rows in sample.train for word, _ in rows} for sample in drawn]
    tokens = [[word for rows in sample.test for word, _ in rows] for sample in drawn]
    cpu = {name: rows[name]["cpu"]["mean"] for name in curves}
    return {
        "sentences": len(sentences),
        "tags": len({tag for rows in sentences for _, tag in rows}),
        "training_tags": [len({tag for rows in sample.train for _, tag in rows}) for sample in drawn],
        "training_tokens": [sum(map(len, sample.train)) for sample in drawn],
        "unknown": summary(np.mean([w not in k for w in words]) for k, words in zip(known, tokens, strict=True)),
        "rows": {name: rows[name] for name in table},
        "curves": curves,
        "inference": inference,
        "simplex_over_extragradient": cpu[SIMPLEX] / cpu[EXTRAGRADIENT] if SIMPLEX in cpu else None,
    }


def tagged(method: Method, C: float, sample: Sample) -> tuple[Result, Any]:
    """The error on the test sentences, and what learning took, reading of attributes and all."""
    X, y = ([[get(row) for row in rows] for rows in sample.train] for get in (lambda row: method.words(row[0]), tag_of))
    other = [[method.words(word) for word, _ in rows] for rows in sample.test]
    started = process_time()
    with catch_warnings():
        simplefilter("ignore")  # that it is out of time: the result says so
        tagger = method.make(C).fit(X, y)
    result = {
        "cpu": process_time() - started,
        "error": 1 - tagger.score(other, [[*map(tag_of, r)] for r in sample.test]),
    }
    if isinstance(tagger, SequenceTagger):
        result["iterations"] = tagger.n_iter_
        result["weights"] = len(tagger.coef_)
        result["zeros"] = float(np.mean(tagger.coef_ == 0))
    return result, tagger


def tag_of(row: tuple[str, ...]) -> str:
    return row[-1]


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


# ---- lists of translations (004, section 5.2, Table 2) ---------------------------------------------------------------

FOLDS = 10
INNER_FOLDS = 3
TRIALS = 10_000  # of the randomisation tests
RERANK_TOL = 1e-4
PAPER_SMT = {"LP (7)": (32.35, 7.95), "LP (8)": (32.30, 8.19), "MERT": (31.69, 7.94)}  # BLEU in %, NIST


class Setting(NamedTuple):
    """What is chosen inside of each training part: C, and how many candidates of a list are good and how many wrong.

    The others are left out of training; a half of the list at most is good, and None means that all others are wrong.
    """

    C: float
    good: int = 1
    wrong: int | None = None


CS = (0.03, 0.1, 1.0)
BOTH_ENDS = tuple(Setting(C, good, wrong) for C in CS for good, wrong in ((1, 1), (1, 10), (5, 5), (10, 10)))
ALL_OTHERS = tuple(Setting(C, good) for C in CS for good in (1, 5, 10))
WITH_NGRAMS = tuple(Setting(C, good) for C in (3.0, 10.0) for good in (1, 5))
PLAIN = tuple(Setting(C) for C in (0.00001, 0.0001, 0.001, 0.01, 0.1))


class Lists:
    """Lists of candidates: their features, BLEU and NIST statistics, and what they lose to the best in BLEU."""

    def __init__(self, lists: Sequence[NBestList], references: Sequence[Sequence[str]]) -> None:
        self.hypotheses = [each.hypotheses for each in lists]
        self.own = np.array([each.first for each in lists])
        names = sorted({name for each in lists for features in each.features for name in features})
        self.features = [np.array([[of.get(name, 0.0) for name in names] for of in each.features]) for each in lists]
        self.bleu = BleuStatistics(references).lists(self.hypotheses)
        self.nist = NistStatistics(references).lists(self.hypotheses)
        self.costs = sentence_bleu_costs(self.hypotheses, references)

    def __len__(self) -> int:
        return len(self.hypotheses)

    def picked(self, statistics: Sequence[Floats], choice: Iterable[int]) -> Floats:
        """The statistics of one candidate of each list."""
        return np.array([statistics[i][k] for i, k in enumerate(choice)], np.float64)

    def scales(self, train: Numbers) -> Floats:
        """The deviation of every feature inside of the training lists."""
        squares = np.concatenate([(self.features[i] - self.features[i].mean(axis=0)) ** 2 for i in train])
        deviations = np.sqrt(squares.mean(axis=0))
        return np.where(deviations > 0, deviations, 1.0)

    def ends(self, i: int, setting: Setting) -> tuple[Numbers, int]:
        """The candidates of a list that are trained on, the best first, and how many of them are good."""
        order = np.argsort(self.costs[i].round(12), kind="stable")
        good = max(1, min(setting.good, len(order) // 2))
        wrong = np.flatnonzero(self.costs[i][order] > self.costs[i][order[good - 1]] + 1e-12)
        if setting.wrong is not None:
            wrong = wrong[-setting.wrong :]
        return np.concatenate([order[:good], order[wrong]]), good


Tune = Callable[[Lists, Numbers, Numbers, Setting], list[int]]  # learns on some lists and chooses from others


def by_lp(
    learner: Callable[[], LP], ngrams: bool, lists: Lists, train: Numbers, test: Numbers, at: Setting
) -> list[int]:
    """LP-Struct on scaled features."""
    scales = lists.scales(train)
    kept = {i: lists.ends(i, at) for i in train}
    names = varying_ngrams([lists.hypotheses[i] for i in train], min_lists=2) if ngrams else []

    def candidates(i: int, rows: Any) -> Any:
        scaled = lists.features[i][rows] / scales
        if not ngrams:
            return scaled
        dense = [{f"{k}": float(value) for k, value in enumerate(row)} for row in scaled]
        texts = [lists.hypotheses[i][k] for k in np.arange(len(lists.hypotheses[i]))[rows]]
        return ngram_indicators([texts], names, features=[dense])[0]

    costs = [lists.costs[i][kept[i][0]] * (np.arange(len(kept[i][0])) >= kept[i][1]) for i in train]
    model = Reranker("hinge", C=at.C, learner=learner(), tol=RERANK_TOL, n_threads=1)
    model.fit([candidates(i, kept[i][0]) for i in train], [list(range(kept[i][1])) for i in train], costs)
    return [int(k) for k in model.predict([candidates(i, slice(None)) for i in test])]


def by_mira(lists: Lists, train: Numbers, test: Numbers, at: Setting) -> list[int]:
    """k-best MIRA on scaled features; the cost of a candidate is what it loses in BLEU."""
    scales = lists.scales(train)
    good = [int(np.argmin(lists.costs[i])) for i in train]
    model = Reranker("hinge", C=at.C, learner=KBestMIRA(), n_threads=1)
    model.fit([lists.features[i] / scales for i in train], good, [lists.costs[i] for i in train])
    return [int(k) for k in model.predict([lists.features[i] / scales for i in test])]


def by_mert(lists: Lists, train: Numbers, test: Numbers, at: Setting) -> list[int]:
    """Minimum error rate training on BLEU."""
    weights, _ = mert([lists.features[i] for i in train], [lists.bleu[i] for i in train])
    return [int(np.argmax(lists.features[i] @ weights)) for i in test]


def lp_rows(name: str, settings: Sequence[Setting], ngrams: bool = False, **options: Any) -> dict[str, Any]:
    """Program (7) and program (8)."""
    programs = {"LP (7)": "closest", "LP (8)": "all"}
    return {
        title + name: (partial(by_lp, partial(LP, program=program, **options), ngrams), settings)
        for title, program in programs.items()
    }


TUNERS: Mapping[str, tuple[Tune, Sequence[Setting]]] = {
    "MERT": (by_mert, (Setting(1.0),)),
    "k-best MIRA on BLEU": (by_mira, PLAIN),
    # As in the paper: every candidate that is not good is wrong, and n-grams are features, too.
    **lp_rows("", WITH_NGRAMS, ngrams=True),
    # Not as in the paper: with few dense features alone, w = 0 is the optimum of its programs at any C.
    **lp_rows(", dense features", ALL_OTHERS),
    **lp_rows(", dense features, margin by BLEU", ALL_OTHERS, margin="cost"),
    **lp_rows(", dense features, best against worst", BOTH_ENDS),
    **lp_rows(", dense features, best against worst, free sign", BOTH_ENDS, free_sign=True),
}


def rerank(seconds: float) -> Result:
    """004, Table 2: BLEU and NIST of the candidates that are chosen for lists which were not learned from.

    What there is to choose of a method is chosen by BLEU in a cross-validation of each training part.
    """
    corpora = {"Moses": moses_lists, "Hiero": hiero_lists}
    return {
        "folds": FOLDS,
        "inner_folds": INNER_FOLDS,
        "trials": TRIALS,
        "paper": PAPER_SMT,
        "data": {name: table2(Lists(*load())) for name, load in corpora.items()},
    }


def table2(lists: Lists) -> Result:
    """All rows, each with its p-values against the ranking that the lists came with, and against MERT."""
    folds = list(plain_folds(len(lists), FOLDS))
    choices: dict[str, Sequence[int]] = {
        "untuned": lists.own.tolist(),
        "best of the lists": [int(np.argmin(costs)) for costs in lists.costs],
    }
    rows: dict[str, Result] = {name: {} for name in choices}
    for name, (tune, settings) in TUNERS.items():
        started = process_time()
        choices[name], used = cross_validated(lists, tune, settings, folds)
        rows[name] = {"settings": used, "cpu": process_time() - started}
    metrics = {"BLEU": (lists.bleu, bleu_of_statistics), "NIST": (lists.nist, nist_of_statistics)}
    for name, choice in choices.items():
        rows[name] |= {"same_as_untuned": float(np.mean(np.array(choice) == lists.own)), "p": {}}
        for metric, (statistics, score) in metrics.items():
            own = lists.picked(statistics, choice)
            rows[name][metric] = float(score(own.sum(axis=0)))
            rows[name]["p"][metric] = {
                of: approximate_randomisation(own, lists.picked(statistics, choices[of]), score, trials=TRIALS)
                for of in ("untuned", "MERT")
            }
    return {"lists": len(lists), "candidates": sum(map(len, lists.hypotheses)), "rows": rows}


def cross_validated(
    lists: Lists, tune: Tune, settings: Sequence[Setting], folds: Sequence[tuple[Numbers, Numbers]]
) -> tuple[list[int], list[Setting]]:
    """The candidates chosen of all lists, each by what was learned without it, and the settings of every fold."""
    choice = [0] * len(lists)
    used = []
    for train, test in folds:
        inner = [(train[a], train[b]) for a, b in plain_folds(len(train), INNER_FOLDS)]
        best = settings[0] if len(settings) == 1 else max(settings, key=partial(inner_bleu, lists, tune, inner))
        used.append(best)
        for i, k in zip(test, tune(lists, train, test, best), strict=True):
            choice[i] = k
    return choice, used


def inner_bleu(lists: Lists, tune: Tune, parts: Sequence[tuple[Numbers, Numbers]], at: Setting) -> float:
    """BLEU over all held-out parts."""
    total = sum(
        (lists.bleu[i][k] for a, b in parts for i, k in zip(b, tune(lists, a, b, at), strict=True)), start=np.zeros(10)
    )
    return float(bleu_of_statistics(total))


# ---- memory and speed ------------------------------------------------------------------------------------------------

WIDE_EXAMPLES = 50_000  # each asks for a constraint in the first round
WIDE_COLUMNS, WIDE_CLASSES = 100_000, 10  # a million features
WIDE_NONZEROS = 20  # in an example
WIDE_C, WIDE_ROUNDS = 1.0, 5
SENTENCES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
ROUNDS = 10  # that are timed
SCALE_C = 5.0


def lp_scale(seconds: float) -> Result:
    """A million features and 50,000 constraints, in a process of its own; seconds a round by sentences."""
    with get_context("spawn").Pool(1) as pool:
        wide = pool.apply(wide_program)
    return {"wide": wide, "C": SCALE_C, "rounds": ROUNDS, "curve": by_sentences()}


def wide_program() -> Result:
    """Ten classes and a hundred thousand columns by the extragradient: seconds, and the peak of this process's memory.

    Labels are those of random weights of which one in ten is not zero, but a tenth of them are random.
    """
    random = np.random.default_rng(0)
    entries = (WIDE_EXAMPLES, WIDE_NONZEROS)
    # a few columns occur often, as words do
    columns = (WIDE_COLUMNS * random.random(entries) ** 3).astype(np.int64)
    places = (np.repeat(np.arange(WIDE_EXAMPLES), WIDE_NONZEROS), columns.ravel())
    X = csr_array((random.random(columns.size), places), shape=(WIDE_EXAMPLES, WIDE_COLUMNS))
    weights = random.normal(size=(WIDE_COLUMNS, WIDE_CLASSES)) * (random.random((WIDE_COLUMNS, WIDE_CLASSES)) < 0.1)
    labels = np.where(
        random.random(WIDE_EXAMPLES) < 0.1,
        random.integers(WIDE_CLASSES, size=WIDE_EXAMPLES),
        (X @ weights).argmax(axis=1),
    ).astype(np.int32)
    problem = Multiclass().bind(X, labels, features=AttributeTable("all"), classes=list(range(WIDE_CLASSES)))
    before = peak_mb()
    learner = Watched()
    started, cpu = perf_counter(), process_time()
    solution = learner.solve(Task(problem, Hinge(), C=WIDE_C, tol=0.0, max_iter=WIDE_ROUNDS, n_threads=2))
    return {
        "features": problem.dim,
        "examples": problem.size,
        "constraints": max(point["constraints"] for point in learner.curve),
        "rounds": len(learner.curve),
        "seconds": perf_counter() - started,
        "cpu": process_time() - cpu,
        "relative_gap": solution.kept.relative_gap,
        "zeros": float(np.mean(solution.w == 0)),
        "peak_mb_before": before,
        "peak_mb": peak_mb(),
    }


def peak_mb() -> float:
    """The most resident memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_sentences() -> list[Result]:
    """The first rounds on ever more sentences of GENIA, at two threads: inference alone, and with the masters."""
    sentences = genia_all()
    order = np.random.default_rng(0).permutation(len(sentences))
    points = []
    for n in SENTENCES:
        rows = [sentences[i] for i in order[:n]]
        learner = Watched()
        tagger = SequenceTagger("hinge", C=SCALE_C, learner=learner, tol=0.0, max_iter=ROUNDS, n_threads=2)
        with catch_warnings():
            simplefilter("ignore")  # that it is not done after these rounds
            tagger.fit([[[word] for word, _ in each] for each in rows], [[*map(tag_of, each)] for each in rows])
        points.append(
            {
                "sentences": n,
                "tokens": sum(map(len, rows)),
                "constraints": learner.state.n_constraints,
                "round": learner.curve[-1]["seconds"] / len(learner.curve),
                "inference": timed_rounds(learner.state)["2_threads"],
            }
        )
    return points


EXPERIMENTS: dict[str, Callable[[float], Result]] = {
    "pos": partial(pos, genia_all),
    "pos_margin": partial(pos_margin, genia_all),
    "pos_brown": partial(pos, brown_short),
    "rerank": rerank,
    "lp_scale": lp_scale,
}


if __name__ == "__main__":
    run_one_of(
        EXPERIMENTS, "benchmarks.lp_struct", __doc__, 100.0, "of CPU after which LP-Struct by the simplex gives up"
    )
