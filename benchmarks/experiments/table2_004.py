"""004, Table 2: a phrase-based system tuned by LP (7), LP (8), MERT and k-best MIRA, in BLEU and NIST.

The first 8,000 pairs are the training part, the next 1,000 the development part, the last 1,000 the test part, and all
of the latter two are used. Sizes were cut for want of CPU before any result was seen, by a trial on 900 pairs of the
training part: the linear programs learn from 500 sentences of the training part, evenly spaced, in two rounds if there
are sparse features. Their C and the numbers of good and wrong candidates are those that have the best BLEU on 200
sentences of the development part after learning from 200 sentences with w >= 0; settings at which the optimum is w = 0
are not chosen unless there are no others. Search graphs are compared with lists on 150 sentences. What more sentences
give is seen in two rows that learn from 2,000 of them, with the margin that has the better BLEU in that choice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpora.folder import data_file
from benchmarks.summaries import Numbers, Result
from benchmarks.tables import markdown
from margrave.datasets import read_parallel
from margrave.learners import LP
from margrave.metrics import (
    BleuStatistics,
    NistStatistics,
    approximate_randomisation,
    bleu,
    bleu_of_statistics,
    nist_of_statistics,
)
from margrave.translation.graph_tuning import GraphMargins
from margrave.translation.language_model import NGramModel
from margrave.translation.phrase_decoder import FeatureNames, PhraseDecoder
from margrave.translation.phrases import AlignedText
from margrave.translation.tuning import HopeFearMIRA, ListLearner, Mert, PseudoReferences, Round, tune_decoders

CORPORA = ("mt-fr-en-aligned",)
RESULT = "table2_004"
TRAINING, DEVELOPMENT = 8000, 1000
TUNED = 500  # sentences of the training part from which the linear programs learn
CHOSEN = 200  # ... and from which they learn to choose their settings, and on which these are compared
MORE = 2000  # ... and from which two of them do, to see what more sentences give
GRAPHS, EDGES = 150, 300  # sentences whose search graphs are learned from, and the edges of each
ROUNDS, SPARSE_ROUNDS = 4, 2
K = 50
FOLDS = 4
TRIALS = 10_000
SEARCH: dict[str, Any] = {"beam": 20, "options": 10, "reach": 5}
PAPER = {"LP (7)": (32.35, 7.95), "LP (8)": (32.30, 8.19), "MERT": (31.69, 7.94)}  # BLEU in %, NIST
BASELINES = ("untuned", "MERT, 14 features")

# C, good candidates, wrong candidates (None: all others). With 14 features no weights separate all others, and the
# optimum is w = 0 at any C, so that the best candidates are compared with the worst ones.
SPARSE_SETTINGS = ((2.0, 1, None), (8.0, 1, None), (8.0, 5, None))
DENSE_SETTINGS = ((0.1, 1, 1), (1.0, 1, 1), (1.0, 5, 5))
PROGRAMS = {"LP (7)": "closest", "LP (8)": "all"}
MARGINS = {"margin 1": "one", "margin by cost": "cost"}
SIGNS = {"w >= 0": False, "free sign": True}


@dataclass
class System:
    """The data, and decoders of the whole training part and of each of its folds' complements."""

    X: list[str]
    y: list[str]
    whole: tuple[Any, NGramModel]
    others: list[tuple[Any, NGramModel]]
    fold: Numbers  # of every training sentence

    @classmethod
    def read(cls) -> "System":
        """The system of `mt-fr-en-aligned`."""
        data = data_file("mt-fr-en-aligned", "fr.gz"), data_file("mt-fr-en-aligned", "en.gz")
        X, y, links = read_parallel(*data, data_file("mt-fr-en-aligned", "align.fr-en.gz"))
        n = TRAINING
        assert links is not None
        text = AlignedText(X[:n], y[:n], links[:n])
        fold = np.arange(n) * FOLDS // n
        others = [
            (text.phrases(most=20, used=fold != f), NGramModel.estimate([y[k] for k in range(n) if fold[k] != f]))
            for f in range(FOLDS)
        ]
        return cls(list(X), list(y), (text.phrases(most=20), NGramModel.estimate(y[:n])), others, fold)

    def part(self, name: str, size: int | None = None) -> Numbers:
        """The numbers of the sentences of a part, or of some of them, evenly spaced."""
        end = TRAINING + DEVELOPMENT
        bounds = {"train": (0, TRAINING), "development": (TRAINING, end), "test": (end, len(self.X))}[name]
        numbers = np.arange(*bounds)
        return numbers if size is None else numbers[np.arange(size) * len(numbers) // size]

    def translations(self, numbers: Numbers, decoder: PhraseDecoder, weights: Any) -> list[str]:
        """The best translations."""
        return decoder.translate([self.X[k] for k in numbers], weights)

    def tuned(
        self, part: str, numbers: Numbers, sparse: bool, learner: ListLearner | None
    ) -> tuple[PhraseDecoder, Any, list[Round]]:
        """The decoder of the whole training part, and weights learned from these sentences of a part."""
        names = FeatureNames()
        decoder = PhraseDecoder(*self.whole, names, sparse=sparse, **SEARCH)
        if learner is None:
            return decoder, decoder.start(), []
        made = [PhraseDecoder(*each, names, sparse=sparse, **SEARCH) for each in self.others]
        weights, rounds = tune_decoders(
            [made[self.fold[k]] if part == "train" else decoder for k in numbers],
            [self.X[k] for k in numbers],
            [self.y[k] for k in numbers],
            learner,
            rounds=SPARSE_ROUNDS if sparse else ROUNDS,
            k=K,
            keep_start=False,
        )
        return decoder, np.concatenate([weights, np.zeros(len(names) - len(weights))]), rounds


def lp(program: str, margin: str, sign: str, setting: tuple[float, int, int | None]) -> PseudoReferences:
    """A linear program over pseudo-references."""
    learner = LP(program=PROGRAMS[program], margin=MARGINS[margin], free_sign=SIGNS[sign])
    C, good, wrong = setting
    return PseudoReferences(learner=learner, C=C, good=good, wrong=wrong, max_iter=30)


def measure() -> Iterator[Result]:
    """All rows on the same test sentences; the record is written after every row."""
    system = System.read()
    print(f"  {len(system.whole[0]):,} phrase pairs, {len(system.whole[1]):,} n-grams", flush=True)
    references = [system.y[k] for k in system.part("test")]
    table = Rows(BleuStatistics(references), NistStatistics(references), system)
    development = system.part("development")
    yield table.add("untuned", "", development, False, None)
    yield table.add("MERT, 14 features", "development", development, False, Mert(restarts=3))
    yield table.add("k-best MIRA, 14 features", "development", development, False, HopeFearMIRA())
    for sparse in (True, False):
        for program in PROGRAMS:
            for margin in MARGINS:
                setting, of_settings = best_setting(system, sparse, program, margin)
                for sign in SIGNS:
                    name = f"{program}, {'sparse' if sparse else '14 features'}, {margin}, {sign}"
                    learner = lp(program, margin, sign, setting)
                    yield table.add(name, "train", system.part("train", TUNED), sparse, learner, of_settings)
    yield from rows_of_more(table)
    C = 8.0
    of_graphs = GraphMargins(learner=LP(program="all"), C=C, n_edges=EDGES, max_iter=100)
    of_lists = lp("LP (8)", "margin 1", "w >= 0", (C, 1, None))
    both: dict[str, ListLearner] = {"search graphs": of_graphs, "lists of the same sentences": of_lists}
    for name, each in both.items():
        yield table.add(f"LP (8), sparse, {name}, w >= 0", "train", system.part("train", GRAPHS), True, each)


def rows_of_more(table: "Rows") -> Iterator[Result]:
    """Both programs with sparse features and more sentences."""
    for program, setting in {"LP (7)": SPARSE_SETTINGS[2], "LP (8)": SPARSE_SETTINGS[1]}.items():
        learner = lp(program, "margin by cost", "w >= 0", setting)
        name = f"{program}, sparse, margin by cost, w >= 0, {MORE:,} sentences"
        yield table.add(name, "train", table.system.part("train", MORE), True, learner)


def best_setting(
    system: System, sparse: bool, program: str, margin: str
) -> tuple[tuple[float, int, int | None], list[Result]]:
    """The setting with the best BLEU on development sentences, and the BLEU of each."""
    numbers = system.part("development", CHOSEN)
    references = [system.y[k] for k in numbers]
    found: list[Result] = []
    for setting in SPARSE_SETTINGS if sparse else DENSE_SETTINGS:
        learner = lp(program, margin, "w >= 0", setting)
        decoder, weights, _ = system.tuned("train", system.part("train", CHOSEN), sparse, learner)
        score = bleu(system.translations(numbers, decoder, weights), references)
        zero = learner.outcome is not None and not learner.outcome.nonzero
        found.append({"setting": list(setting), "BLEU": score, "optimum_is_zero": zero})
        print(f"  {program}, {margin}, {setting}: {100 * score:.2f} on development sentences", flush=True)
    best = max(found, key=lambda each: (not each["optimum_is_zero"], each["BLEU"]))["setting"]
    return (best[0], best[1], best[2]), found


@dataclass
class Rows:
    """What has been measured so far."""

    bleu: BleuStatistics
    nist: NistStatistics
    system: System

    def __post_init__(self) -> None:
        self.rows: dict[str, Result] = {}
        self.found: dict[str, dict[str, Any]] = {}

    def add(
        self,
        name: str,
        part: str,
        numbers: Numbers,
        sparse: bool,
        learner: ListLearner | None,
        settings: list[Result] | None = None,
    ) -> Result:
        """Tune, translate the test part and compare with the baselines; all rows so far."""
        started = process_time()
        decoder, weights, rounds = self.system.tuned(part, numbers, sparse, learner)
        tuning = process_time() - started
        decoder.n_unknown, started = 0, process_time()
        translated = self.system.translations(self.system.part("test"), decoder, weights)
        seconds = process_time() - started
        self.found[name] = {"BLEU": self.bleu.segments(translated), "NIST": self.nist.segments(translated)}
        scores = {"BLEU": bleu_of_statistics, "NIST": nist_of_statistics}
        row: Result = {metric: float(of(self.found[name][metric].sum(axis=0))) for metric, of in scores.items()}
        row["p"] = {
            metric: {
                of: approximate_randomisation(self.found[name][metric], self.found[of][metric], score, trials=TRIALS)
                for of in BASELINES
                if of in self.found
            }
            for metric, score in scores.items()
        }
        outcome = None if learner is None else learner.outcome
        self.rows[name] = row | {
            "tuning_BLEU": [each.bleu for each in rounds],
            "candidates": rounds[-1].candidates if rounds else 0,
            "features": len(weights),
            "non_zero": int(np.count_nonzero(weights)),
            "optimum_is_zero": outcome is not None and not outcome.nonzero,
            "dense": weights[:14].round(4).tolist(),
            "setting": None if outcome is None else _setting_of(learner),
            "settings": settings or [],
            "cpu_tuning": tuning,
            "cpu_test": seconds,
            "unknown": decoder.n_unknown,
        }
        print(f"  {name}: BLEU {100 * row['BLEU']:.2f}, NIST {row['NIST']:.3f}, {tuning:.0f} s", flush=True)
        return self.result()

    def result(self) -> Result:
        """All rows."""
        sizes = {"tuned": TUNED, "chosen": CHOSEN, "test": len(self.system.part("test")), "k": K}
        sizes |= {"rounds": ROUNDS, "sparse_rounds": SPARSE_ROUNDS}
        settings = sizes | {"folds": FOLDS, "trials": TRIALS, **SEARCH}
        return {"paper": PAPER, "settings": settings, "phrase_pairs": len(self.system.whole[0]), "rows": self.rows}


def table(result: Result) -> str:
    """BLEU, NIST, p-values, and the number of weights."""
    rows = [
        [
            name + (" (w = 0: untuned weights kept)" if row["optimum_is_zero"] else ""),
            f"{100 * row['BLEU']:.2f}",
            *(_p(row["p"]["BLEU"].get(of)) for of in BASELINES),
            f"{row['NIST']:.3f}",
            *(_p(row["p"]["NIST"].get(of)) for of in BASELINES),
            f"{row['non_zero']:,} of {row['features']:,}",
            _setting(row["setting"]),
            ", ".join(f"{100 * score:.1f}" for score in row["tuning_BLEU"]),
        ]
        for name, row in result["rows"].items()
    ]
    p = ["p, untuned", "p, MERT"]
    last = ["weights not 0", "C, good/wrong", "BLEU of the tuning rounds"]
    return markdown(["tuned by", "BLEU, %", *p, "NIST", *p, *last], rows)


def _setting_of(learner: Any) -> list[Any]:
    return [learner.C, learner.good, getattr(learner, "wrong", None)]


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _setting(setting: list[Any] | None) -> str:
    return "" if setting is None else f"{setting[0]:g}, {setting[1]}/{'all' if setting[2] is None else setting[2]}"


def plot(result: Result) -> None:
    """There is none."""
