"""Alignment of proteins: learned scores against BLOSUM62, tuned BLOSUM62 and log-odds, on held-out families."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.corpora.alignments import ALPHABET, KnownPair, balibase_pairs, split, tm_pairs
from benchmarks.tables import markdown
from margrave import GenerativeAligner, SequenceAligner
from margrave.estimators.generative_aligner import aligner_of
from margrave.features import BLOSUM62, SubstitutionMatrix
from margrave.inputs import Sequences
from margrave.metrics.alignments import f1_of, pair_counts

Result = dict[str, Any]

CORPORA = ("protein-pairs-tmalign", "balibase3")
RESULT = "protein_alignment"
MODE = "global"
OPENINGS, EXTENSIONS = (-6.0, -8.0, -10.0, -12.0, -14.0), (-0.3, -0.5, -1.0, -2.0)
CS = (0.001, 0.01, 0.1)
SAMPLES = 1000  # of the bootstrap, over families
LEARNED: dict[str, dict[str, Any]] = {
    "learned from 0": {},
    "learned from BLOSUM62": {"start": "BLOSUM62"},
    "and gaps by residue and at ends": {"start": "BLOSUM62", "gap_residues": True, "end_gaps": True},
    "and windows": {"start": "BLOSUM62", "gap_residues": True, "end_gaps": True, "window": 1, "gap_context": 1},
}
Predict = Callable[[list[tuple[str, str]]], Any]


def f1s(pairs: list[KnownPair], predict: Predict) -> np.ndarray:
    """The F1 of every pair."""
    predicted = predict([(pair.x, pair.y) for pair in pairs])
    counts = [pair_counts(pair.gold, found, pair.scored) for pair, found in zip(pairs, predicted, strict=True)]
    return np.array([f1_of(*each) for each in counts])


def mean(values: np.ndarray, pairs: list[KnownPair]) -> float:
    """The mean by the weights of the pairs."""
    return float(np.average(values, weights=[pair.weight for pair in pairs]))


def interval(values: np.ndarray, pairs: list[KnownPair]) -> list[float]:
    """95 per cent by the bootstrap over families."""
    families = sorted({pair.family for pair in pairs})
    place = {family: k for k, family in enumerate(families)}
    total, weight = np.zeros(len(families)), np.zeros(len(families))
    for pair, value in zip(pairs, values, strict=True):
        total[place[pair.family]] += pair.weight * value
        weight[place[pair.family]] += pair.weight
    draws = np.random.default_rng(0).integers(0, len(families), (SAMPLES, len(families)))
    means = total[draws].sum(axis=1) / weight[draws].sum(axis=1)
    return [float(v) for v in np.quantile(means, [0.025, 0.975])]


def tuned(train: list[KnownPair]) -> SubstitutionMatrix:
    """BLOSUM62 with the gaps that are best on training families."""
    grid = [SubstitutionMatrix(BLOSUM62.letters, BLOSUM62.values, o, e) for o in OPENINGS for e in EXTENSIONS]
    return max(grid, key=lambda matrix: mean(f1s(train, aligner_of(matrix, MODE).predict), train))


def learned(train: list[KnownPair], dev: list[KnownPair], settings: dict[str, Any]) -> tuple[SequenceAligner, float]:
    """The model with the C that is best on development families."""
    model = SequenceAligner(mode=MODE, inputs=Sequences(ALPHABET), tol=1e-3, n_threads=1, **settings)
    weights = np.array([pair.weight for pair in train]) * len(train) / sum(pair.weight for pair in train)
    X, y = [(pair.x, pair.y) for pair in train], [pair.matches for pair in train]
    path = model.fit_path(X, y, CS, sample_weight=weights)
    scores = [mean(f1s(dev, each.predict), dev) for each in path]
    best = int(np.argmax(scores))
    return path[best], CS[best]


def measure() -> Result:
    """F1 of residue pairs on test families, with intervals."""
    result: Result = {"mode": MODE, "sets": {}}
    for name, pairs in (("TM-align", tm_pairs()), ("BAliBASE", balibase_pairs())):
        train, dev, test = split(pairs)
        rows: dict[str, Any] = {}
        scored: dict[str, np.ndarray] = {}

        def add(label: str, predict: Predict, **more: Any) -> None:
            values = f1s(test, predict)  # noqa: B023
            scored[label] = values  # noqa: B023
            rows[label] = {"f1": mean(values, test), "interval": interval(values, test), **more}  # noqa: B023

        matrix = tuned(train)
        add("BLOSUM62, 10 and 1", aligner_of(BLOSUM62, MODE).predict)
        add("BLOSUM62, tuned gaps", aligner_of(matrix, MODE).predict, gaps=[matrix.gap_open, matrix.gap_extend])
        counted = GenerativeAligner(mode=MODE, alphabet=ALPHABET)
        counted.fit([(pair.x, pair.y) for pair in train], [pair.matches for pair in train])
        add("GenMod", counted.predict)
        for label, settings in LEARNED.items():
            model, C = learned(train, dev, settings)
            add(label, model.predict, C=C)
            cautions = (0.0, 0.1, 0.2, 0.3)
            decoded = [mean(f1s(dev, model.set_params(decode="accuracy", caution=c).predict), dev) for c in cautions]
            caution = cautions[int(np.argmax(decoded))]
            add(
                f"{label}, expected accuracy",
                model.set_params(decode="accuracy", caution=caution).predict,
                C=C,
                caution=caution,
            )
        for label, row in rows.items():
            difference = scored[label] - scored["BLOSUM62, tuned gaps"]
            row["gain"] = mean(difference, test)
            row["gain_interval"] = interval(difference, test)
        result["sets"][name] = {
            "pairs": [len(train), len(dev), len(test)],
            "families": [len({pair.family for pair in part}) for part in (train, dev, test)],
            "rows": rows,
        }
    return result


def table(result: Result) -> str:
    """F1 in per cent, and the gain over tuned BLOSUM62 with its interval."""
    texts = []
    for name, of in result["sets"].items():
        rows = [
            [
                label,
                f"{100 * row['f1']:.1f}",
                f"{100 * row['interval'][0]:.1f} to {100 * row['interval'][1]:.1f}",
                f"{100 * row['gain']:+.1f} ({' to '.join(f'{100 * end:+.1f}' for end in row['gain_interval'])})",
            ]
            for label, row in of["rows"].items()
        ]
        sizes = ", ".join(map(str, of["pairs"]))
        header = ["scores", "F1", "95 % interval", "against tuned BLOSUM62"]
        texts.append(f"{name}: {sizes} pairs for training, development and test\n\n{markdown(header, rows)}")
    return "\n\n".join(texts)


def plot(result: Result) -> None:
    """There is none."""
