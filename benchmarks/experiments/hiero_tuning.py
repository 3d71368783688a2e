"""Tuning the Hiero system of mt-bn-en-hiero in ten folds, from uniform and from the shipped weights.

Each of the 100 sentences is translated by weights that were tuned on the other folds. The settings of the linear
programs are those with the better BLEU on a third of each training part after learning from the other two thirds. Sizes
(beam, candidates, rounds) were cut for want of CPU before any result was seen. Learned weights are used even if the
tuning sentences were better with the weights at the start.
"""

from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpora.folder import data_file
from benchmarks.corpora.translations import hiero_decoder, hiero_lists
from benchmarks.machine import describe, write_result
from benchmarks.summaries import Numbers, Result, plain_folds
from benchmarks.tables import markdown
from margrave.learners import LP
from margrave.metrics import BleuStatistics, approximate_randomisation, bleu_of_statistics
from margrave.translation.grammar_decoder import GrammarDecoder
from margrave.translation.tuning import HopeFearMIRA, ListLearner, Mert, PseudoReferences, tune_decoders

CORPORA = ("mt-bn-en-hiero",)
RESULT = "hiero_tuning"
FOLDS = 10
ROUNDS, INNER_ROUNDS = 3, 2
BEAM = 20
K = 30
TRIALS = 10_000
SETTINGS = ((0.1, 1, 1), (1.0, 5, 5))  # C, good and wrong candidates


def lp(program: str, free_sign: bool, setting: tuple[float, int, int]) -> ListLearner:
    """A linear program over pseudo-references."""
    C, good, wrong = setting
    learner = LP(program=program, free_sign=free_sign)
    return PseudoReferences(learner=learner, C=C, good=good, wrong=wrong, max_iter=30)


METHODS: dict[str, Any] = {  # functions from a setting to a learner of lists, and the settings
    "MERT": (lambda _: Mert(restarts=5), (None,)),
    "k-best MIRA": (lambda _: HopeFearMIRA(), (None,)),
    "LP (7), w >= 0": (partial(lp, "closest", False), SETTINGS),
    "LP (8), w >= 0": (partial(lp, "all", False), SETTINGS),
    "LP (7), free sign": (partial(lp, "closest", True), SETTINGS),
    "LP (8), free sign": (partial(lp, "all", True), SETTINGS),
}


class Folds:
    """The sentences, their references, and what is tuned from one start."""

    def __init__(self, start: dict[str, float] | None) -> None:
        decoder, _ = hiero_decoder()
        self.decoder = GrammarDecoder(decoder, beam=BEAM, start=start)
        self.X = data_file("mt-bn-en-hiero", "input.bn").read_text(encoding="utf-8").splitlines()
        self.references = hiero_lists()[1]
        self.statistics = BleuStatistics(self.references)

    def translated(self, numbers: Numbers, weights: Any) -> Any:
        """The BLEU statistics of the translations of some sentences, one row each."""
        texts = self.decoder.translate([self.X[i] for i in numbers], weights)
        return np.array([self.statistics.row(i, text) for i, text in zip(numbers, texts, strict=True)])

    def tuned(self, numbers: Numbers, learner: ListLearner, rounds: int) -> Any:
        """Weights learned from some sentences."""
        sentences, references = [self.X[i] for i in numbers], [self.references[i] for i in numbers]
        decoders = [self.decoder] * len(numbers)
        return tune_decoders(decoders, sentences, references, learner, rounds=rounds, k=K, keep_start=False)[0]

    def setting(self, train: Numbers, make: Any, settings: Any) -> Any:
        """The setting with the best BLEU on a third of the training part."""
        if len(settings) == 1:
            return settings[0]
        inner, held = next(plain_folds(len(train), 3))

        def score(setting: Any) -> float:
            weights = self.tuned(train[inner], make(setting), INNER_ROUNDS)
            return float(bleu_of_statistics(self.translated(train[held], weights).sum(axis=0)))

        return max(settings, key=score)

    def rows(self, make: Any, settings: Any) -> tuple[Any, list[Any]]:
        """The statistics of all sentences, each translated by weights of the other folds, and the chosen settings."""
        rows, used = np.zeros((len(self.X), 10)), []
        for train, test in plain_folds(len(self.X), FOLDS):
            setting = self.setting(train, make, settings)
            used.append(setting)
            rows[test] = self.translated(test, self.tuned(train, make(setting), ROUNDS))
        return rows, used


def measure() -> Result:
    """All methods from both starts; the record is written after every row."""
    _, shipped = hiero_decoder()
    result: Result = {
        "settings": {"folds": FOLDS, "rounds": ROUNDS, "beam": BEAM, "k": K, "trials": TRIALS},
        "rows": [],
    }
    before: dict[str, Any] = {}
    for start, weights in {"uniform": None, "shipped": shipped}.items():
        folds = Folds(weights)
        found = {"not tuned": (folds.translated(np.arange(len(folds.X)), folds.decoder.start()), list[Any](), 0.0)}
        before[start] = found["not tuned"][0]
        for name in ("not tuned", *METHODS):
            if name in METHODS:
                began = process_time()
                found[name] = (*folds.rows(*METHODS[name]), process_time() - began)
            rows, used, seconds = found[name]
            against = {"not tuned": before[start]}
            against |= {"MERT": found["MERT"][0]} if "MERT" in found else {}
            result["rows"].append(
                {
                    "start": start,
                    "method": name,
                    "BLEU": float(bleu_of_statistics(rows.sum(axis=0))),
                    "p": {
                        of: approximate_randomisation(rows, other, bleu_of_statistics, trials=TRIALS)
                        for of, other in against.items()
                    },
                    "settings": [list(each) for each in used if each is not None],
                    "cpu": seconds,
                }
            )
            print(f"  {start}, {name}: BLEU {100 * result['rows'][-1]['BLEU']:.2f}, {seconds:.0f} s", flush=True)
            write_result(RESULT, {"machine": describe()} | result)
    return result


def table(result: Result) -> str:
    """BLEU, and p-values against the weights at the start and against MERT from the same start."""
    rows = [
        [
            row["start"],
            row["method"],
            f"{100 * row['BLEU']:.2f}",
            *("" if of not in row["p"] else f"{row['p'][of]:.4f}" for of in ("not tuned", "MERT")),
        ]
        for row in result["rows"]
    ]
    return markdown(["start", "tuned by", "BLEU, %", "p, not tuned", "p, MERT"], rows)


def plot(result: Result) -> None:
    """There is none."""
