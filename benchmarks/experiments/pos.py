"""004, Table 1 and Figure 2: errors of taggers that see a word and the tag before it, on GENIA, and CPU time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from time import process_time
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from benchmarks.corpora.columns import genia_all
from benchmarks.corpora.lines import Rows
from benchmarks.curves import Curve, View, thinned
from benchmarks.lp_struct import Rounds, timed_rounds
from benchmarks.plots import draw, finished, panels
from benchmarks.summaries import Result, chosen, summary
from benchmarks.tables import markdown, with_deviation
from margrave.estimators import HMMTagger, SequenceTagger
from margrave.learners import LP, MIRA, AveragedPerceptron, Learner, Step

CORPORA = ("genia-treebank",)
RESULT = "pos"
LIMIT = 480.0  # of CPU seconds after which LP-Struct by the simplex gives up
SAMPLES = 5
TRAIN, TEST = 5_700, 1_000
CRF_TOL = 1e-3  # on the relative gap
LP_TOL = 0.05  # likewise; on one sample of GENIA, C = 10, the error was 3.72 % at 0.05 and 3.70 % at 0.03
PASSES = 20  # of the perceptron and MIRA, which have no certificate
MOST_PASSES = 1000  # of MIRA as in CRF++, which ends by itself
CRFPP = "MIRA as in CRF++"  # with which the paper trained its MIRA
SIMPLEX, EXTRAGRADIENT = "LP-Struct, simplex", "LP-Struct, extragradient"
PAPER_POS = {  # error in %, its deviation, CPU seconds, iterations
    "CRF": (4.58, 0.14, 51403, 205),
    CRFPP: (4.91, 0.06, 9084, 46),
    "perceptron": (5.38, 0.19, 26, 100),
    SIMPLEX: (4.94, 0.18, 3879, 23),
    EXTRAGRADIENT: (4.92, 0.13, 856, 14),
    "HMM": (20.02, 0.29, None, None),
}


def measure() -> Result:
    """The table on GENIA."""
    return table1_of(genia_all, LIMIT)


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
    limit: float | None = None  # of the CPU seconds of LP-Struct, whose rounds are noted
    like: str = ""  # the row whose C it takes: it minimizes the same objective
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


def methods(limit: float) -> dict[str, Method]:
    """The rows of Table 1; the simplex gives up after `limit` CPU seconds."""

    def tagger(loss: str, learner: str | Learner, C: float = 1.0, **options: Any) -> SequenceTagger:
        return SequenceTagger(loss, learner=learner, C=C, n_jobs=1, **options)

    def mira(C: float, most: int = PASSES, **options: Any) -> SequenceTagger:
        return tagger("hinge", MIRA(**options), C, max_iter=most)

    def lp(solver: str, C: float) -> SequenceTagger:
        return tagger("hinge", LP(solver=solver), C, tol=LP_TOL)

    return {
        "CRF": Method(lambda C: tagger("log", "auto", C, tol=CRF_TOL), (3.0, 10.0, 30.0)),
        "MIRA": Method(mira, (0.1, 0.3, 1.0)),
        "MIRA, not averaged": Method(partial(mira, average=False), (0.1, 0.3, 1.0)),
        "MIRA, not averaged, on its prediction": Method(partial(mira, average=False, prediction=True), (0.1, 0.3, 1.0)),
        CRFPP: Method(
            partial(mira, most=MOST_PASSES, average=False, prediction=True, cumulative=True), (0.3, 1.0, 3.0)
        ),
        "perceptron": Method(lambda _: tagger("perceptron", "perceptron", max_iter=PASSES)),
        "perceptron, not averaged": Method(lambda _: tagger("perceptron", LastPerceptron(), max_iter=PASSES)),
        SIMPLEX: Method(partial(lp, "simplex"), limit=limit, like=EXTRAGRADIENT),
        EXTRAGRADIENT: Method(partial(lp, "extragradient"), (5.0, 10.0, 30.0), inf),
        "HMM": Method(lambda _: PlainHMM(), words=str),
        "HMM, unknown words by their suffixes": Method(lambda _: HMMTagger(), words=str),
    }


def table1_of(load: Callable[[], list[Rows]], limit: float) -> Result:
    """004, Table 1 and Figure 2: errors of taggers that see a word and the tag before it, CPU time, iterations.

    Every C is chosen by the error on a part held out of the first sample's training sentences.
    """
    return {
        "train": TRAIN,
        "test": TEST,
        "samples": SAMPLES,
        "tol": {"CRF": CRF_TOL, "LP-Struct": LP_TOL},
        "passes": PASSES,
        "seconds": limit,
        "paper": PAPER_POS,
    } | table1(load(), methods(limit))


def samples(sentences: Sequence[Rows]) -> list[Sample]:
    """Random sentences, other ones each time; the draw of seed 0 served to choose grids and tolerances."""
    draws = [np.random.default_rng(1 + k).permutation(len(sentences))[: TRAIN + TEST] for k in range(SAMPLES)]
    return [Sample([sentences[i] for i in draw[:TRAIN]], [sentences[i] for i in draw[TRAIN:]]) for draw in draws]


def table1(sentences: Sequence[Rows], table: Mapping[str, Method]) -> Result:
    """All rows, the curves of LP-Struct, and its inference."""
    drawn = samples(sentences)
    Cs: dict[str, float] = {}
    rows: dict[str, Result] = {}
    curves: dict[str, list[Curve]] = {}
    inference: Result = {}
    for name, method in sorted(table.items(), key=lambda item: bool(item[1].like)):
        tried = {C: tagged(method, C, drawn[0].inner())[0]["error"] for C in method.grid}
        Cs[name] = Cs[method.like] if method.like else chosen(tried, lambda C, tried=tried: -tried[C]) if tried else 1.0
        runs, taggers, rounds = zip(*(tagged(method, Cs[name], sample) for sample in drawn), strict=True)
        keys = ("error", "cpu", "iterations", "weights", "zeros")
        rows[name] = {key: summary(run[key] for run in runs) for key in keys if key in runs[0]}
        rows[name] |= {
            "tried": {f"{C:g}": error for C, error in tried.items()},
            "C": Cs[name] if tried or method.like else None,
        }
        if method.limit is not None:
            views = View("round", "cpu", log_x=False, log_y=False)
            curves[name] = [thinned(each.curve, views) for each in rounds]
            rows[name]["gap"] = [tagger.certificate_.relative_gap for tagger in taggers]
            rows[name]["converged"] = [tagger.converged_ for tagger in taggers]
            inference = timed_rounds(rounds[0].state)
    known = [{word for rows in sample.train for word, _ in rows} for sample in drawn]
    tokens = [[word for rows in sample.test for word, _ in rows] for sample in drawn]
    cpu = {name: rows[name]["cpu"]["mean"] for name in curves}
    return {
        "sentences": len(sentences),
        "tags": len({tag for rows in sentences for _, tag in rows}),
        "training_tags": [len({tag for rows in sample.train for _, tag in rows}) for sample in drawn],
        "training_tokens": [sum(map(len, sample.train)) for sample in drawn],
        "unknown": summary(float(np.mean([w not in k for w in words])) for k, words in zip(known, tokens, strict=True)),
        "rows": {name: rows[name] for name in table},
        "curves": curves,
        "inference": inference,
        "simplex_over_extragradient": cpu[SIMPLEX] / cpu[EXTRAGRADIENT] if SIMPLEX in cpu else None,
    }


def tagged(method: Method, C: float, sample: Sample) -> tuple[Result, Any, Rounds | None]:
    """The error on the test sentences, and what learning took, reading of attributes and all."""
    X, y = ([[get(row) for row in rows] for rows in sample.train] for get in (lambda row: method.words(row[0]), tag_of))
    other = [[method.words(word) for word, _ in rows] for rows in sample.test]
    rounds = None if method.limit is None else Rounds(method.limit)
    noted: dict[str, Any] = {} if rounds is None else {"observers": [rounds]}
    started = process_time()
    with catch_warnings():
        simplefilter("ignore")  # that it is out of time: the result says so
        tagger = method.make(C).fit(X, y, **noted)
    result = {
        "cpu": process_time() - started,
        "error": 1 - tagger.score(other, [[*map(tag_of, r)] for r in sample.test]),
    }
    if isinstance(tagger, SequenceTagger):
        result["iterations"] = tagger.n_iter_
        result["weights"] = len(tagger.coef_)
        result["zeros"] = float(np.mean(tagger.coef_ == 0))
    return result, tagger, rounds


def tag_of(row: tuple[str, ...]) -> str:
    return row[-1]


def table(result: Result) -> str:
    """004, Table 1, beside the paper's figures, and the inference of LP-Struct."""
    rows = []
    for method, row in result["rows"].items():
        error, deviation, cpu, iterations = result["paper"].get(method, (None,) * 4)
        least = "" if all(row.get("converged", [True])) else "> "
        rows.append(
            [
                method,
                "-" if row["C"] is None else _chosen(row),
                with_deviation(row["error"], ".2f", 100) + (f" ({error} ± {deviation})" if error else ""),
                f"{least}{row['cpu']['mean']:.1f}" + (f" ({cpu:,})" if cpu else ""),
                f"{least}{row['iterations']['mean']:.1f}" + (f" ({iterations})" if iterations else "")
                if "iterations" in row
                else "-",
                f"{100 * row['zeros']['mean']:.0f}" if "zeros" in row else "-",
                f"{max(row['gap']):.2f}" if "gap" in row else "-",
            ]
        )
    header = [
        "mean ± deviation (paper)",
        "C",
        "error, %",
        "CPU seconds",
        "iterations",
        "zero weights, %",
        "gap, at most",
    ]
    size = (
        f"{result['train']:,} + {result['test']:,} of {result['sentences']:,} sentences, {result['tags']} tags, "
        f"{100 * result['unknown']['mean']:.1f} % unknown words, {result['samples']} samples"
    )
    inference = result["inference"]
    least = "" if all(all(row.get("converged", [True])) for row in result["rows"].values()) else "at least "
    ratio = result["simplex_over_extragradient"]
    solvers = (
        ""
        if ratio is None
        else f"the simplex takes {least}{ratio:.1f} times the extragradient's CPU time (paper: 4.5); "
    )
    end = (
        f"{solvers}inference of a round on {inference['examples']:,} sentences: "
        f"{inference['1_threads']:.2f} s at 1 thread, {inference['2_threads']:.2f} s at 2"
    )
    others = "".join(
        f"\n\n{method}: measured on {row['machine']['cpu']}, {row['machine']['date']}"
        for method, row in result["rows"].items()
        if "machine" in row  # It was added to the results of another run.
    )
    return f"{size}\n\n{markdown(header, rows)}\n\n{end}{others}"


def _chosen(row: Result) -> str:
    tried = ", ".join(sorted(row["tried"], key=float))
    return f"{row['C']:g}" + (f" of {tried}" if tried else "")


def plot(result: Result) -> Any:
    """004, Fig. 2: CPU time up to each round of LP-Struct, a curve a sample: simplex dots, extragradient crosses."""
    styles = {"simplex": {"color": "C0", "marker": "."}, "extragradient": {"color": "C1", "marker": "x"}}
    figure, (panel,) = panels()
    panel.set(xlabel="rounds", ylabel="CPU seconds so far", title=f"LP-Struct, {result['train']:,} sentences")
    for solver, style in styles.items():
        for k, curve in enumerate(result["curves"][f"LP-Struct, {solver}"]):
            label = f"_{solver}" if k else solver
            draw(panel, label, curve, "round", "cpu", markersize=4, linewidth=0.6, **style)
    return finished(figure)
