"""Alignment of proteins: learned scores against BLOSUM62, tuned BLOSUM62 and log-odds, on held-out families.

What was cut before any result was seen, for want of time: sequences of up to 200 letters, 10 pairs per family of
BAliBASE (sets RV11 and RV12), one split into training, development and test families. The mode, the gaps of BLOSUM62
and that of the generative model are those with the best F1 on training families; C and the caution of expected accuracy
those on development families. Every pair of TM-align weighs the same, and so does every family of BAliBASE.
"""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpora.alignments import ALPHABET, KnownPair, balibase_pairs, split, tm_pairs
from benchmarks.tables import markdown
from margrave import GenerativeAligner, SequenceAligner
from margrave.estimators.generative_aligner import aligner_of
from margrave.features import BLOSUM62, SubstitutionMatrix
from margrave.features.substitution import HALF_BIT
from margrave.inputs import Sequences
from margrave.metrics.alignments import f1_of, pair_counts

Result = dict[str, Any]

CORPORA = ("protein-pairs-tmalign", "balibase3")
RESULT = "protein_alignment"
MODES = ("global", "semi-global", "local")
OPENINGS, EXTENSIONS = (-6.0, -8.0, -10.0, -12.0, -14.0), (-0.3, -0.5, -1.0, -2.0)
GENERATIVE_GAPS = (-0.2, -0.5, -1.0, -2.0)
CS = (0.003, 0.03, 0.3)
CAUTIONS = (0.0, 0.05, 0.1, 0.2)
LONGEST = 200  # letters of a sequence
SAMPLES = 1000  # of the bootstrap, over families
RADIUS = 3  # of the averages of properties around a letter
BASE = "BLOSUM62, tuned gaps"
# Kyte and Doolittle's hydropathy, and Chou and Fasman's propensities for helices and sheets.
PROPERTIES = {
    "A": (1.8, 1.42, 0.83),
    "R": (-4.5, 0.98, 0.93),
    "N": (-3.5, 0.67, 0.89),
    "D": (-3.5, 1.01, 0.54),
    "C": (2.5, 0.70, 1.19),
    "Q": (-3.5, 1.11, 1.10),
    "E": (-3.5, 1.51, 0.37),
    "G": (-0.4, 0.57, 0.75),
    "H": (-3.2, 1.00, 0.87),
    "I": (4.5, 1.08, 1.60),
    "L": (3.8, 1.21, 1.30),
    "K": (-3.9, 1.16, 0.74),
    "M": (1.9, 1.45, 1.05),
    "F": (2.8, 1.13, 1.38),
    "P": (-1.6, 0.57, 0.55),
    "S": (-0.8, 0.77, 0.75),
    "T": (-0.7, 0.83, 1.19),
    "W": (-0.9, 1.08, 1.37),
    "Y": (-1.3, 0.69, 1.47),
    "V": (4.2, 1.06, 1.70),
}
GAPS: dict[str, Any] = {"gap_residues": True, "end_gaps": True}
Predict = Callable[[list[Any]], Any]
Encode = Callable[[str], Any]


def around(sequence: str) -> dict[str, Any]:
    """A sequence with a profile: averages of properties of the letters around each letter, in units of their spread."""
    table = np.array(list(PROPERTIES.values()))
    mean, spread = table.mean(axis=0), table.std(axis=0)
    known = np.array([(np.array(PROPERTIES.get(a, mean)) - mean) / spread for a in sequence])
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(known, axis=0)])
    k = np.arange(len(sequence))
    low, high = np.maximum(k - RADIUS, 0), np.minimum(k + RADIUS + 1, len(sequence))
    return {"letters": sequence, "around": (sums[high] - sums[low]) / (high - low)[:, None] * np.sqrt(2 * RADIUS + 1)}


def plain(sequence: str) -> str:
    """The sequence itself."""
    return sequence


# Each with the form of its sequences.
LEARNED: dict[str, tuple[dict[str, Any], Encode, bool]] = {
    "learned from 0": ({}, plain, False),
    "learned from tuned BLOSUM62": ({}, plain, True),
    "... gaps by residue and at ends": (GAPS, plain, True),
    "... and windows of 3 letters": ({**GAPS, "window": 1, "gap_context": 1}, plain, True),
    "... and averages of properties": ({**GAPS, "gap_context": 1}, around, True),
    "... and windows and averages": ({**GAPS, "window": 1, "gap_context": 1}, around, True),
}


def f1s(pairs: list[KnownPair], predict: Predict, encode: Encode = plain) -> np.ndarray:
    """The F1 of every pair."""
    predicted = predict([(encode(pair.x), encode(pair.y)) for pair in pairs])
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


def tuned(train: list[KnownPair], mode: str) -> tuple[float, SubstitutionMatrix]:
    """BLOSUM62 with the gaps that are best on training families, and its F1 there."""
    grid = [SubstitutionMatrix(BLOSUM62.letters, BLOSUM62.values, o, e) for o in OPENINGS for e in EXTENSIONS]
    scores = [mean(f1s(train, aligner_of(matrix, mode).predict), train) for matrix in grid]
    best = int(np.argmax(scores))
    return scores[best], grid[best]


def counted(train: list[KnownPair], mode: str, gap: float) -> GenerativeAligner:
    """The generative model, with families of the same weight."""
    model = GenerativeAligner(gap, mode=mode, alphabet=ALPHABET)
    return model.fit([(p.x, p.y) for p in train], [p.matches for p in train], [p.weight for p in train])


def learned(
    train: list[KnownPair], dev: list[KnownPair], mode: str, settings: dict[str, Any], encode: Encode
) -> tuple[SequenceAligner, float]:
    """The model with the C that is best on development families."""
    model = SequenceAligner(mode=mode, inputs=Sequences(ALPHABET), tol=1e-3, n_threads=1, **settings)
    weights = np.array([pair.weight for pair in train]) * len(train) / sum(pair.weight for pair in train)
    X, y = [(encode(pair.x), encode(pair.y)) for pair in train], [pair.matches for pair in train]
    path = model.fit_path(X, y, CS, sample_weight=weights)
    scores = [mean(f1s(dev, each.predict, encode), dev) for each in path]
    best = int(np.argmax(scores))
    return path[best], CS[best]


def accurate(model: SequenceAligner, dev: list[KnownPair], encode: Encode) -> float:
    """Set expected accuracy with the caution that is best on development families."""
    model.set_params(decode="accuracy")
    scores = [mean(f1s(dev, model.set_params(caution=c).predict, encode), dev) for c in CAUTIONS]
    caution = CAUTIONS[int(np.argmax(scores))]
    model.set_params(caution=caution)
    return caution


class Scores:
    """The rows of a table: F1 on the test families, with what was chosen for it."""

    def __init__(self, test: list[KnownPair]) -> None:
        self.test, self.values, self.rows = test, dict[str, np.ndarray](), dict[str, Any]()

    def add(self, label: str, predict: Predict, encode: Encode = plain, **more: Any) -> None:
        """Measures a row."""
        values = self.values[label] = f1s(self.test, predict, encode)
        self.rows[label] = {"f1": mean(values, self.test), "interval": interval(values, self.test), **more}
        print(f"  {label:<60} {100 * self.rows[label]['f1']:.1f} {more}", flush=True)

    def compared(self) -> dict[str, Any]:
        """All rows with what they gain over tuned BLOSUM62."""
        for label, row in self.rows.items():
            difference = self.values[label] - self.values[BASE]
            row["gain"], row["gain_interval"] = mean(difference, self.test), interval(difference, self.test)
        return self.rows


def identity(pairs: list[KnownPair]) -> float:
    """The median share of equal letters in the columns of the reference."""
    return float(np.median([np.mean([pair.x[i] == pair.y[j] for i, j in pair.matches]) for pair in pairs]))


def of_set(pairs: list[KnownPair]) -> Result:
    """All rows of one set of pairs."""
    begin = process_time()
    train, dev, test = split(pairs)
    by_mode = {mode: tuned(train, mode) for mode in MODES}
    mode = max(MODES, key=lambda each: by_mode[each][0])
    matrix = by_mode[mode][1]
    natural = matrix.scaled(HALF_BIT)
    scores = Scores(test)
    scores.add("BLOSUM62, 10 and 1", aligner_of(BLOSUM62, mode).predict)
    scores.add(BASE, aligner_of(matrix, mode).predict, gaps=[matrix.gap_open, matrix.gap_extend])
    given = aligner_of(natural, mode)
    caution = accurate(given, dev, plain)
    scores.add(f"{BASE}, expected accuracy", given.predict, caution=caution)
    scores.add("GenMod, gap -0.2", counted(train, mode, -0.2).predict)
    gap = max(GENERATIVE_GAPS, key=lambda g: mean(f1s(train, counted(train, mode, g).predict), train))
    scores.add("GenMod, tuned gap", counted(train, mode, gap).predict, gap=gap)
    for label, (settings, encode, near) in LEARNED.items():
        model, C = learned(train, dev, mode, {**settings, "start": natural if near else None}, encode)
        scores.add(label, model.predict, encode, C=C, gap=model.certificate_.relative_gap)
        caution = accurate(model, dev, encode)
        scores.add(f"{label}, expected accuracy", model.predict, encode, C=C, caution=caution)
    return {
        "mode": mode,
        "f1_on_training_families_by_mode": {each: score for each, (score, _) in by_mode.items()},
        "pairs": [len(part) for part in (train, dev, test)],
        "families": [len({pair.family for pair in part}) for part in (train, dev, test)],
        "median_identity": identity(test),
        "cpu_seconds": process_time() - begin,
        "rows": scores.compared(),
    }


def measure() -> Result:
    """F1 of residue pairs on test families, with intervals."""
    return {
        "sets": {"TM-align": of_set(tm_pairs(longest=LONGEST)), "BAliBASE": of_set(balibase_pairs(longest=LONGEST))}
    }


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
                ", ".join(f"{key} {row[key]:g}" for key in ("C", "caution") if key in row),
            ]
            for label, row in of["rows"].items()
        ]
        sizes = ", ".join(map(str, of["pairs"]))
        identical = f"{100 * of['median_identity']:.0f} % of the letters of the reference are equal (median)"
        title = f"{name}, {of['mode']}: {sizes} pairs for training, development and test; {identical}"
        texts.append(f"{title}\n\n{markdown(['scores', 'F1', '95 %', 'against tuned BLOSUM62', 'chosen'], rows)}")
    return "\n\n".join(texts)


def plot(result: Result) -> Any:
    """F1 with intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.2), layout="constrained")
    panels = figure.subplots(1, len(result["sets"]), squeeze=False)[0]
    for axes, (name, of) in zip(panels, result["sets"].items(), strict=True):
        labels = list(of["rows"])
        gains = [100 * of["rows"][label]["gain"] for label in labels]
        ends = [[100 * end for end in of["rows"][label]["gain_interval"]] for label in labels]
        places = np.arange(len(labels))[::-1]
        for place, gain, (low, high), label in zip(places, gains, ends, labels, strict=True):
            colour = "#1f77b4" if "expected" in label else "#333333"
            axes.plot([low, high], [place, place], color=colour)
            axes.plot([gain], [place], "o", color=colour)
        axes.axvline(0, color="#999999", lw=0.8)
        axes.axvline(3, color="#999999", lw=0.8, ls=":")
        axes.set_yticks(places, labels if axes is panels[0] else [""] * len(labels), fontsize=8)
        base = 100 * of["rows"][BASE]["f1"]
        axes.set(xlabel=f"points of F1 over tuned BLOSUM62 ({base:.1f} %)", title=f"{name}, {of['mode']}")
    return figure
