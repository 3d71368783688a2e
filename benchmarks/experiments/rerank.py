"""004, Table 2: BLEU and NIST of the translations chosen from lists that were not learned from."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.translations import hiero_lists, moses_lists
from benchmarks.stages import Stages
from benchmarks.summaries import Numbers, Result, plain_folds
from benchmarks.tables import markdown
from margrave.data.nbest import NBestList
from margrave.estimators import Reranker
from margrave.features.ngrams import ngram_indicators, varying_ngrams
from margrave.learners import LP, KBestMIRA
from margrave.metrics import (
    BleuStatistics,
    NistStatistics,
    approximate_randomization,
    bleu_of_statistics,
    nist_of_statistics,
)
from margrave.metrics.pseudo_references import sentence_bleu_costs
from margrave.translation.mert import mert

Floats = NDArray[np.float64]

CORPORA = ("mt-nbest-moses", "mt-bn-en-hiero")
RESULT = "rerank"
FOLDS = 10
INNER_FOLDS = 3
TRIALS = 10_000  # of the randomization tests
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
    model = Reranker("hinge", C=at.C, learner=learner(), tol=RERANK_TOL, n_jobs=1)
    model.fit([candidates(i, kept[i][0]) for i in train], [list(range(kept[i][1])) for i in train], costs=costs)
    return [int(k) for k in model.predict([candidates(i, slice(None)) for i in test])]


def by_mira(lists: Lists, train: Numbers, test: Numbers, at: Setting) -> list[int]:
    """k-best MIRA on scaled features; the cost of a candidate is what it loses in BLEU."""
    scales = lists.scales(train)
    good = [int(np.argmin(lists.costs[i])) for i in train]
    model = Reranker("hinge", C=at.C, learner=KBestMIRA(), n_jobs=1)
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


def measure() -> Result:
    """004, Table 2: BLEU and NIST of the candidates that are chosen for lists which were not learned from.

    What there is to choose of a method is chosen by BLEU in a cross-validation of each training part.
    """
    corpora = {"Moses": moses_lists, "Hiero": hiero_lists}
    stages = Stages(RESULT)
    return {
        "folds": FOLDS,
        "inner_folds": INNER_FOLDS,
        "trials": TRIALS,
        "paper": PAPER_SMT,
        "data": {
            name: stages.measure(name, lambda load=load: table2(Lists(*load()))) for name, load in corpora.items()
        },
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
                of: approximate_randomization(own, lists.picked(statistics, choices[of]), score, trials=TRIALS)
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


def table(result: Result) -> str:
    """004, Table 2, with p-values against the ranking that the lists came with and against MERT."""
    return "\n\n".join(_rerank(name, data, result) for name, data in result["data"].items())


def _rerank(name: str, data: Result, result: Result) -> str:
    rows = [
        [
            method,
            f"{100 * row['BLEU']:.2f}",
            *(f"{row['p']['BLEU'][of]:.4f}" for of in ("untuned", "MERT")),
            f"{row['NIST']:.3f}",
            *(f"{row['p']['NIST'][of]:.4f}" for of in ("untuned", "MERT")),
            f"{100 * row['same_as_untuned']:.0f}",
            _settings(row.get("settings", [])),
        ]
        for method, row in data["rows"].items()
    ]
    p = ["p, untuned", "p, MERT"]
    header = ["tuned by", "BLEU, %", *p, "NIST", *p, "first choice kept, %", "C, good/wrong (folds)"]
    size = f"{name}: {data['lists']} lists, {data['candidates']:,} candidates, {result['folds']} folds"
    return f"{size}\n\n{markdown(header, rows)}"


def _settings(used: list[Any]) -> str:
    """Those that most folds chose."""
    counted = Counter((C, good, wrong) for C, good, wrong in used)
    return "; ".join(
        f"{C:g}, {good}/{'all' if wrong is None else wrong} ({n})" for (C, good, wrong), n in counted.most_common(2)
    )


def plot(result: Result) -> None:
    """There is none."""
