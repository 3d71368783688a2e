"""Alignment of proteins: learned scores against BLOSUM62, tuned BLOSUM62 and log-odds, in five folds by families.

What was cut for want of time: sequences of up to 200 letters, 6 pairs per family of BAliBASE (sets RV11 and RV12). An
earlier version with one split had been measured before, and the last variant was added after a trial of the others on
34 pairs of up to 90 letters of BAliBASE; the list of variants is therefore not independent of the data.

Every pair is tested once, by models that have seen no related family: families of BAliBASE that share a sequence are in
one fold. Every pair of TM-align weighs the same, and so does every family of BAliBASE.

All settings are chosen on training folds. The mode and the gaps of BLOSUM62, and the gap of the generative model, are
those with the best F1 there. C and the caution of expected accuracy are those with the best mean F1 on each of the four
training folds, by models of the other three, which also start from gaps that are tuned on these three.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np

from benchmarks.corpora.alignments import ALPHABET, KnownPair, Match, balibase_pairs, folds_by_group, tm_pairs
from benchmarks.tables import markdown
from margrave import GenerativeAligner, SequenceAligner
from margrave.data import BLOSUM62, SubstitutionMatrix
from margrave.data.substitution import HALF_BIT
from margrave.estimators.generative_aligner import aligner_of
from margrave.estimators.models.sequence_aligner import AlignerModel, most_accurate
from margrave.features import Sequences
from margrave.metrics.alignments import f1_of, pair_counts

Result = dict[str, Any]
Encode = Callable[[str], Any]
Predicted = Sequence[list[Match]]

CORPORA = ("protein-pairs-tmalign", "balibase3")
RESULT = "protein_alignment"
FOLDS = 5
MODES = ("global", "semi-global", "local")
OPENINGS, EXTENSIONS = (-6.0, -8.0, -10.0, -12.0, -14.0, -17.0, -20.0), (-0.3, -0.5, -1.0, -2.0, -3.0)
GENERATIVE_GAPS = (-0.2, -0.5, -1.0, -2.0)
CS = (0.002, 0.02, 0.2)
CAUTIONS = (0.0, 0.05, 0.1, 0.2)
LONGEST, PER_FAMILY = 200, 6
SAMPLES = 2000  # of the bootstrap
RADIUS = 3  # of the averages of properties around a letter
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
CLASSES = (-1.0, -0.3, 0.3, 1.0)  # borders of the classes of hydropathy around a letter, in units of its spread


def plain(sequence: str) -> str:
    """The sequence itself."""
    return sequence


def averages(sequence: str) -> np.ndarray:
    """Averages of the properties of the letters around each letter, in units of their spread."""
    table = np.array(list(PROPERTIES.values()))
    mean, spread = table.mean(axis=0), table.std(axis=0)
    known = np.array([(np.array(PROPERTIES.get(a, mean)) - mean) / spread for a in sequence])
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(known, axis=0)])
    k = np.arange(len(sequence))
    low, high = np.maximum(k - RADIUS, 0), np.minimum(k + RADIUS + 1, len(sequence))
    found: np.ndarray = (sums[high] - sums[low]) / (high - low)[:, None] * np.sqrt(2 * RADIUS + 1)
    return found


def around(sequence: str) -> dict[str, Any]:
    """A sequence with its averages as a profile."""
    return {"letters": sequence, "around": averages(sequence)}


def classified(sequence: str) -> dict[str, Any]:
    """A sequence with the class of the hydropathy around each letter, and whether helix, sheet or neither prevails."""
    hydropathy, helix, sheet = averages(sequence).T
    kinds = np.select([(helix > sheet) & (helix > 0), sheet > 0], ["h", "e"], "c")
    return {
        "letters": sequence,
        "water": [str(k) for k in np.digitize(hydropathy, CLASSES)],
        "shape": kinds.tolist(),
    }


@dataclass(frozen=True)
class Variant:
    """A way to learn: features, the form of sequences, the loss, and whether weights are measured from BLOSUM62."""

    features: dict[str, Any]
    encode: Encode = plain
    loss: str = "log"
    near: bool = True


GAPS: dict[str, Any] = {"gap_residues": True, "gap_context": 1, "end_gaps": True}
FROM_0, LEARNED, MARGIN = "learned from 0", "learned from BLOSUM62", "... softmax-margin"
BY_CONTEXT, WINDOWS = "... gaps by residue, context, end", "... and windows of 3 letters"
AVERAGES, KINDS = "... and averages of properties", "... and classes of hydropathy, shape"
BOTH = "... and averages, softmax-margin"
VARIANTS = {
    FROM_0: Variant({}, near=False),
    LEARNED: Variant({}),
    MARGIN: Variant({}, loss="softmax-margin"),
    BY_CONTEXT: Variant(GAPS),
    WINDOWS: Variant({**GAPS, "window": 1}),
    AVERAGES: Variant(GAPS, around),
    KINDS: Variant(GAPS, classified),
    BOTH: Variant(GAPS, around, "softmax-margin"),
}
FIXED, BASE, GENERATIVE = "BLOSUM62, 10 and 1", "BLOSUM62, tuned gaps", "GenMod, tuned gap"
CHOSEN, TOGETHER = "the variant that is best on training folds", "mean of the posteriors of all variants"
ACCURATE = ", expected accuracy"
# What is gained by what, as differences of two rows.
GAINS = {
    "expected accuracy, BLOSUM62": (BASE + ACCURATE, BASE),
    "expected accuracy, learned scores": (LEARNED + ACCURATE, LEARNED),
    "learning, by score": (LEARNED, BASE),
    "learning, by expected accuracy": (LEARNED + ACCURATE, BASE + ACCURATE),
    "starting from BLOSUM62": (LEARNED + ACCURATE, FROM_0 + ACCURATE),
    "the cost in the loss": (MARGIN + ACCURATE, LEARNED + ACCURATE),
    "gaps by residue, context and end": (BY_CONTEXT + ACCURATE, LEARNED + ACCURATE),
    "windows": (WINDOWS + ACCURATE, BY_CONTEXT + ACCURATE),
    "averages of properties": (AVERAGES + ACCURATE, BY_CONTEXT + ACCURATE),
    "classes of hydropathy and shape": (KINDS + ACCURATE, BY_CONTEXT + ACCURATE),
    "several models": (TOGETHER + ACCURATE, CHOSEN + ACCURATE),
}


def f1s(pairs: Sequence[KnownPair], predicted: Predicted) -> np.ndarray:
    """The F1 of every pair."""
    counts = [pair_counts(pair.gold, found, pair.scored) for pair, found in zip(pairs, predicted, strict=True)]
    return np.array([f1_of(*each) for each in counts])


def mean(values: np.ndarray, pairs: Sequence[KnownPair]) -> float:
    """The mean by the weights of the pairs."""
    return float(np.average(values, weights=[pair.weight for pair in pairs]))


def interval(values: np.ndarray, pairs: Sequence[KnownPair]) -> list[float]:
    """95 per cent by the bootstrap over groups of related families."""
    groups = sorted({pair.group for pair in pairs})
    place = {group: k for k, group in enumerate(groups)}
    total, weight = np.zeros(len(groups)), np.zeros(len(groups))
    for pair, value in zip(pairs, values, strict=True):
        total[place[pair.group]] += pair.weight * value
        weight[place[pair.group]] += pair.weight
    draws = np.random.default_rng(0).integers(0, len(groups), (SAMPLES, len(groups)))
    means = total[draws].sum(axis=1) / weight[draws].sum(axis=1)
    return [float(v) for v in np.quantile(means, [0.025, 0.975])]


class Given:
    """BLOSUM62 with every gap in every mode on all pairs, of which the best on some folds is a look-up."""

    def __init__(self, folds: list[list[KnownPair]]) -> None:
        self.folds = folds
        self.grid = [SubstitutionMatrix(BLOSUM62.letters, BLOSUM62.values, o, e) for o in OPENINGS for e in EXTENSIONS]
        self.scores = {
            (mode, k): [f1s(pairs, aligner_of(matrix, mode).predict(texts(pairs))) for pairs in folds]
            for mode in MODES
            for k, matrix in enumerate(self.grid)
        }

    def tuned(self, which: Iterable[int]) -> tuple[str, SubstitutionMatrix]:
        """The mode and the gaps that are best on these folds."""
        which = list(which)
        pairs = [pair for f in which for pair in self.folds[f]]
        mode, best = max(self.scores, key=lambda key: mean(np.concatenate([self.scores[key][f] for f in which]), pairs))
        return mode, self.grid[best]


def texts(pairs: Sequence[KnownPair], encode: Encode = plain) -> list[tuple[Any, Any]]:
    """Both sequences of every pair."""
    return [(encode(pair.x), encode(pair.y)) for pair in pairs]


def fitted(
    train: list[KnownPair], variant: Variant, mode: str, matrix: SubstitutionMatrix, cs: Sequence[float]
) -> list[SequenceAligner]:
    """A model for every C."""
    start = matrix.scaled(HALF_BIT) if variant.near else None
    model = SequenceAligner(
        variant.loss,
        mode=mode,
        features=Sequences(ALPHABET),
        tol=1e-3,
        n_jobs=1,
        start=start,
        decode="score",
        **variant.features,
    )
    weights = np.array([pair.weight for pair in train]) * len(train) / sum(pair.weight for pair in train)
    return model.fit_path(texts(train, variant.encode), [pair.matches for pair in train], cs, sample_weight=weights)


def counted(train: list[KnownPair], mode: str, gap: float) -> GenerativeAligner:
    """The generative model, with families of the same weight."""
    model = GenerativeAligner(gap, mode=mode, alphabet=ALPHABET)
    return model.fit(texts(train), [p.matches for p in train], [p.weight for p in train])


def decoded(model: AlignerModel, pairs: list[KnownPair], encode: Encode) -> dict[float | None, np.ndarray]:
    """The F1 of all pairs by score (None), and by expected accuracy with every caution."""
    X = texts(pairs, encode)
    tables = model.predict_marginals(X)
    found: dict[float | None, np.ndarray] = {None: f1s(pairs, model.predict(X))}
    return found | {c: f1s(pairs, [most_accurate(table, c) for table in tables]) for c in CAUTIONS}


class CrossValidation:
    """All rows of one set of pairs: the F1 of every pair by the models of the folds that it is not in."""

    def __init__(self, pairs: list[KnownPair]) -> None:
        self.folds = folds_by_group(pairs, FOLDS)
        self.pairs = [pair for fold in self.folds for pair in fold]
        self.given = Given(self.folds)
        self.values: dict[str, list[np.ndarray]] = {}
        self.choices: dict[str, list[Any]] = {}
        self.posteriors: list[list[np.ndarray]] = [
            [np.zeros((len(p.x), len(p.y))) for p in fold] for fold in self.folds
        ]
        self.inner: dict[str, list[float]] = {}  # the F1 on training folds that each variant was chosen by

    def without(self, *left_out: int) -> tuple[list[int], list[KnownPair]]:
        """The other folds, and their pairs."""
        which = [f for f in range(FOLDS) if f not in left_out]
        return which, [pair for f in which for pair in self.folds[f]]

    def add(self, label: str, values: np.ndarray, choice: Any) -> None:
        """The F1 of the pairs of the next fold, and what was chosen for it."""
        self.values.setdefault(label, []).append(values)
        self.choices.setdefault(label, []).append(choice)

    def baselines(self) -> None:
        """BLOSUM62 with fixed and tuned gaps, with expected accuracy, and the generative model."""
        for f, test in enumerate(self.folds):
            which, train = self.without(f)
            mode, matrix = self.given.tuned(which)
            self.add(FIXED, f1s(test, aligner_of(BLOSUM62, mode).predict(texts(test))), mode)
            gaps = [mode, matrix.gap_open, matrix.gap_extend]
            self.add(BASE, f1s(test, aligner_of(matrix, mode).predict(texts(test))), gaps)
            natural = aligner_of(matrix.scaled(HALF_BIT), mode)
            on_train = decoded(natural, train, plain)
            caution = max(CAUTIONS, key=lambda c: mean(on_train[c], train))
            self.add(BASE + ACCURATE, decoded(natural, test, plain)[caution], caution)
            by_gap = {gap: counted(train, mode, gap) for gap in GENERATIVE_GAPS}
            best = max(by_gap, key=lambda gap: mean(f1s(train, by_gap[gap].predict(texts(train))), train))
            self.add(GENERATIVE, f1s(test, by_gap[best].predict(texts(test))), best)

    def learn(self, label: str, variant: Variant) -> None:
        """A variant, with settings that are chosen on training folds."""
        # scores[f][j]: by C and caution, the F1 on fold j of models without the folds f and j.
        scores: list[dict[int, dict[Any, float]]] = [{} for _ in range(FOLDS)]
        for f, j in combinations(range(FOLDS), 2):
            which, train = self.without(f, j)
            models = dict(zip(CS, fitted(train, variant, *self.given.tuned(which), CS), strict=True))
            for tested, other in ((f, j), (j, f)):
                pairs = self.folds[tested]
                scores[other][tested] = {
                    (C, caution): mean(values, pairs)
                    for C, model in models.items()
                    for caution, values in decoded(model, pairs, variant.encode).items()
                }
        for f, test in enumerate(self.folds):
            which, train = self.without(f)
            settings = list(scores[f][which[0]])
            inner = {each: float(np.mean([scores[f][j][each] for j in which])) for each in settings}
            by_score = max((each for each in settings if each[1] is None), key=inner.__getitem__)
            accurate = max((each for each in settings if each[1] is not None), key=inner.__getitem__)
            cs = sorted({by_score[0], accurate[0]})
            models = dict(zip(cs, fitted(train, variant, *self.given.tuned(which), cs), strict=True))
            X = texts(test, variant.encode)
            self.add(label, f1s(test, models[by_score[0]].predict(X)), by_score[0])
            tables = models[accurate[0]].predict_marginals(X)
            self.add(label + ACCURATE, f1s(test, [most_accurate(t, accurate[1]) for t in tables]), list(accurate))
            for total, table in zip(self.posteriors[f], tables, strict=True):
                total += table / len(VARIANTS)
            self.inner.setdefault(label, []).append(inner[accurate])

    def combine(self) -> None:
        """The best variant by training folds, and the mean of the posteriors of all variants."""
        for f, test in enumerate(self.folds):
            best = max(VARIANTS, key=lambda label: self.inner[label][f])
            self.add(CHOSEN + ACCURATE, self.values[best + ACCURATE][f], best)
            caution = float(np.median([self.choices[label + ACCURATE][f][1] for label in VARIANTS]))
            self.add(TOGETHER + ACCURATE, f1s(test, [most_accurate(t, caution) for t in self.posteriors[f]]), caution)

    def rows(self) -> dict[str, Any]:
        """F1 with intervals, and what every row gains over tuned BLOSUM62."""
        found = {}
        base = np.concatenate(self.values[BASE])
        for label, by_fold in self.values.items():
            values = np.concatenate(by_fold)
            found[label] = {
                "f1": mean(values, self.pairs),
                "interval": interval(values, self.pairs),
                "gain": mean(values - base, self.pairs),
                "gain_interval": interval(values - base, self.pairs),
                "chosen": self.choices[label],
            }
        return found

    def gains(self) -> dict[str, Any]:
        """What each ingredient adds."""
        found = {}
        for what, (after, before) in GAINS.items():
            values = np.concatenate(self.values[after]) - np.concatenate(self.values[before])
            found[what] = {"gain": mean(values, self.pairs), "interval": interval(values, self.pairs)}
        return found


def identity(pairs: list[KnownPair]) -> float:
    """The median share of equal letters in the columns of the reference."""
    return float(np.median([np.mean([pair.x[i] == pair.y[j] for i, j in pair.matches]) for pair in pairs]))


def of_set(name: str, pairs: list[KnownPair]) -> Result:
    """All rows of one set of pairs."""
    begin = process_time()
    run = CrossValidation(pairs)
    run.baselines()
    for label, variant in VARIANTS.items():
        run.learn(label, variant)
        base, last = (mean(np.concatenate(run.values[row]), run.pairs) for row in (BASE, label + ACCURATE))
        print(
            f"  {name}, {label}: {100 * last:.1f}; {BASE}: {100 * base:.1f}; {process_time() - begin:.0f} s", flush=True
        )
    run.combine()
    return {
        "pairs": len(pairs),
        "families": len({pair.family for pair in pairs}),
        "groups": len({pair.group for pair in pairs}),
        "median_identity": identity(pairs),
        "cpu_seconds": process_time() - begin,
        "rows": run.rows(),
        "gains": run.gains(),
    }


def measure() -> Result:
    """F1 of residue pairs on families that were left out, with intervals."""
    sets = {
        "BAliBASE": balibase_pairs(longest=LONGEST, per_family=PER_FAMILY),
        "TM-align": tm_pairs(longest=LONGEST),
    }
    result: Result = {"folds": FOLDS, "longest": LONGEST, "sets": {}}
    for name, pairs in sets.items():
        result["sets"][name] = of_set(name, pairs)
        print(table({"sets": {name: result["sets"][name]}}), flush=True)  # which a killed run leaves behind
    return result


def _signed(gain: float, ends: Sequence[float]) -> str:
    return f"{100 * gain:+.1f} ({' to '.join(f'{100 * end:+.1f}' for end in ends)})"


def table(result: Result) -> str:
    """F1 in per cent, the gain over tuned BLOSUM62 with its interval, and what each ingredient adds."""
    blocks = []
    for name, of in result["sets"].items():
        rows = [
            [label, f"{100 * row['f1']:.1f}", _signed(row["gain"], row["gain_interval"])]
            for label, row in of["rows"].items()
        ]
        gains = [[what, _signed(gain["gain"], gain["interval"])] for what, gain in of["gains"].items()]
        identical = f"{100 * of['median_identity']:.0f} % of the letters of the reference are equal (median)"
        title = f"{name}: {of['pairs']} pairs of {of['families']} families in {of['groups']} groups; {identical}"
        header = ["scores", "F1", "against tuned BLOSUM62 (95 %)"]
        blocks.append(f"{title}\n\n{markdown(header, rows)}\n\n{markdown(['what is added', 'gain (95 %)'], gains)}")
    return "\n\n".join(blocks)


def plot(result: Result) -> Any:
    """Gains over tuned BLOSUM62, with intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.6), layout="constrained")
    panels = figure.subplots(1, len(result["sets"]), squeeze=False)[0]
    for axes, (name, of) in zip(panels, result["sets"].items(), strict=True):
        labels = list(of["rows"])
        places = np.arange(len(labels))[::-1]
        for place, label in zip(places, labels, strict=True):
            row = of["rows"][label]
            color = "#1f77b4" if label.endswith(ACCURATE) else "#333333"
            axes.plot([100 * end for end in row["gain_interval"]], [place, place], color=color)
            axes.plot([100 * row["gain"]], [place], "o", color=color)
        axes.axvline(0, color="#999999", lw=0.8)
        axes.axvline(3, color="#999999", lw=0.8, ls=":")
        axes.set_yticks(places, labels if axes is panels[0] else [""] * len(labels), fontsize=8)
        base = 100 * of["rows"][BASE]["f1"]
        axes.set(xlabel=f"points of F1 over tuned BLOSUM62 ({base:.1f} %)", title=name)
    return figure
