"""Alignments of pairs of sequences: aligned FASTA, or tables of aligned pairs."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli import illustration
from margrave.cli.decoding import DECODE, checked_decode
from margrave.cli.options import CommandOption, command_option, settings_options
from margrave.cli.reports import percent, table
from margrave.cli.streams import check_place, display_name, naming, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError, quoted
from margrave.options import option
from margrave.settings.aligners import AlignerSettings, way_to_decode

if TYPE_CHECKING:
    from margrave import SequenceAligner


LETTERS = (
    command_option("upper", bool, "Take lower-case letters as upper case.", default=False, applies="alignments"),
    command_option(
        "replace",
        tuple[str, ...],
        "Take a letter as another, such as U=C; may be repeated.",
        default=(),
        metavar="LETTER=LETTER",
        applies="alignments",
    ),
    command_option("other", str, "Take all letters as this one that the model does not know.", applies="alignments"),
)
_CAUTION = CommandOption(
    dataclasses.replace(
        settings_options(AlignerSettings, ["caution"])["caution"], default=None, if_none="as in training"
    ),
    applies="alignments",
)


class Known:
    """The letters that features of sequences can take."""

    def __init__(self, features: Any) -> None:
        self.features = features

    def __contains__(self, letter: object) -> bool:
        return bool(self.features.knows(letter))


def letters_replaced(given: Sequence[str]) -> dict[str, str]:
    """The letters that are taken as others, of options LETTER=LETTER."""
    pairs = {}
    for text in given:
        letter, equals, other = text.partition("=")
        if not equals or len(letter) != 1 or len(other) != 1:
            raise MargraveError(f"--replace takes LETTER=LETTER, such as U=C, not {quoted(text)}.")
        pairs[letter] = other
    return pairs


@dataclass(eq=False, repr=False)
class Align(Task):
    """Learns to align pairs of sequences."""

    name = "align"
    summary = "the alignment of each pair of sequences"
    estimator = "margrave.estimators:SequenceAligner"
    settings = AlignerSettings
    fields = ("mode", "gaps", "window", "gap_residues", "gap_context", "end_gaps", "decode", "caution")
    data = (
        "Files contain pairs of aligned sequences with - for gaps: one pair per line with a tab between the sequences, "
        "or FASTA, where every two sequences are a pair."
    )
    sample = "    HEAGAWGHE-E<TAB>--P-AW-HEAE"
    examples = (
        "margrave train --task align pairs.tsv -o aligner.margrave",
        "margrave train --task align pairs.fasta -o aligner.margrave --mode local --start BLOSUM62 -C 0.01",
        "margrave train --task align pairs.tsv -o aligner.margrave --loss hinge --cost f1",
    )
    predicts = (
        "two aligned sequences per pair, with a tab between them; between matches, unmatched letters of the first "
        "sequence come before those of the second. --marginals adds the probability of every column."
    )
    measures = "precision, recall and F1 of the matched pairs of letters."

    predict_options = (DECODE, _CAUTION, *LETTERS)
    evaluate_options = predict_options

    chosen: AlignerSettings
    upper: bool = option(False, "Take lower-case letters, such as soft-masked ones, as upper case.")
    replace: tuple[str, ...] = option(
        (), "Take a letter as another, such as U=C; may be repeated.", metavar="LETTER=LETTER"
    )
    other: str | None = option(
        None, "Take all letters as this one that are not in the training data.", if_none="they are refused"
    )
    start: str = option(
        "auto",
        "Scores to start from: BLOSUM62, or a file in NCBI's format, in the unit that its header states, or else in "
        "natural logarithms. Small C stay close to them. auto: BLOSUM62 for proteins, if the loss allows it; none: 0.",
    )
    asymmetric: bool = option(False, "Give the pairs (a, b) and (b, a) scores of their own.")
    cost: str | None = option(
        None,
        "Cost of a wrong alignment, in a loss with a cost: hamming (gold pairs that are missed plus wrong pairs), "
        "zero-one, or f1 for up to 40 letters.",
        if_none="hamming",
    )

    def __post_init__(self) -> None:
        if self.chosen.caution and way_to_decode(self.chosen.decode, self.chosen.mode) != "accuracy":
            raise MargraveError(
                "--caution applies to alignments that are decoded by expected accuracy: use --decode accuracy."
            )

    def job(self, data: str, dev: str | None) -> Job:
        """Pairs with their alignments."""
        from margrave.estimators.sequence_aligner import matrix_to_start_from
        from margrave.features import Sequences
        from margrave.learners import learner_named
        from margrave.losses import loss_named

        X, y = _read(data)
        start = chosen_start(self.start)
        taken: dict[str, Any] = {"upper": self.upper, "replace": letters_replaced(self.replace), "other": self.other}
        matrix = matrix_to_start_from(start, X, loss_named(self.chosen.loss), Sequences(**taken))
        features = Sequences(also=() if matrix is None else tuple(matrix.letters), **taken)
        aligner = self.estimator_class()(
            **self.parameters(),
            edges="untied" in learner_named(self.chosen.learner).needs,
            start=start,
            symmetric=not self.asymmetric,
            features=features,
        )
        dev_pair = None if dev is None else _read(dev, Known(features.learn(X)))
        return Job(aligner, X, y, {"n_pairs": len(y)}, {}, dev_pair, _scores, {"dev": dev_pair})

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The F1 of pairs."""
        return f"F1 {percent(scores['f1'])}"

    @staticmethod
    def model(path: str, estimator: "SequenceAligner") -> "AlignModel":
        """The aligner with its alphabet."""
        if estimator.features_ is None:
            raise DataError(path, None, "it does not say how to read sequences: train it with 'margrave train'.")
        return AlignModel(estimator)


@dataclass(eq=False, repr=False)
class AlignModel(Model):
    """An aligner of files."""

    does: ClassVar[str] = "aligns pairs of sequences"
    options: ClassVar[tuple[str, ...]] = (
        *("decode", "caution", "upper", "replace", "other"),
        *("data", "plot", "sentences"),
    )

    aligner: "SequenceAligner"

    def _letters(self) -> Any:
        return self.aligner.map_.views.values["letters"]  # type: ignore[union-attr]

    def _choose(
        self,
        decode: str | None = None,
        caution: float | None = None,
        upper: bool = False,
        replace: Sequence[str] = (),
        other: str | None = None,
        **options: Any,
    ) -> Known:
        """Sets how to decode and to read letters, as options say; returns the letters that are known then."""
        aligner: Any = self.aligner
        aligner.decode = checked_decode(AlignerSettings, decode, aligner.decode)
        if caution is not None:
            if aligner.decode != "accuracy":
                raise MargraveError("--caution applies to --decode accuracy only, which is not given.")
            aligner.caution = caution
        aligner.features_ = aligner.features_.taking(upper=upper, replace=letters_replaced(replace), other=other)
        return Known(aligner.features_)

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The aligned sequences of each pair."""
        X, _ = _read(path, self._choose(**options), aligned=False)
        lines = ["\t".join(pair) for pair in self.aligner.aligned(X)]
        if marginals:
            confidences = self.aligner.predict_proba(X)
            lines = [
                f"{line}\t{';'.join(f'{p:.4f}' for _, _, p in columns)}"
                for line, columns in zip(lines, confidences, strict=True)
            ]
        yield lines

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """Scores of matched pairs."""
        X, y = _read(path, self._choose(**options))
        with naming(path):
            return {"n_pairs": len(y), **_scores(y, self.aligner.predict(X))}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        rows = [("pairs", f"{report['n_pairs']:,}")]
        rows += [(text, percent(report[name])) for name, text in (("precision", "precision"), ("recall", "recall"))]
        return table([*rows, ("F1", percent(report["f1"])), ("mean F1 of pairs", percent(report["mean_f1"]))], 20)

    def illustration(
        self, data: str | None = None, plot: str | None = None, sentences: str | None = None, **options: Any
    ) -> dict[str, Any]:
        """Draws the substitution matrix or, of the pairs of a file, the posterior probabilities."""
        if data is not None:
            path = illustration.check_options(data, plot, sentences, None)
            assert plot is not None
            return {"plots": self._draw_pairs(path, plot, sentences)}
        if plot is None or sentences is not None:
            raise MargraveError("--sentences selects pairs of --data, which is not given.")
        from margrave.data.substitution import BLOSUM62, HALF_BIT, are_amino_acids
        from margrave.plots import save_figure, substitution_diagram
        from margrave.plots.saving import check_format, require_matplotlib

        check_format(plot)
        require_matplotlib()
        check_place(plot, [])
        matrix = self.aligner.matrix_.measured_in(HALF_BIT)
        titles = ("learned scores, in half-bits", "BLOSUM62")
        save_figure(
            plot, substitution_diagram(matrix, BLOSUM62 if are_amino_acids(self._letters()) else None, titles=titles)
        )
        return {"plots": [plot]}

    def _draw_pairs(self, path: str, plot: str, sentences: str | None) -> list[str]:
        known = Known(self.aligner.features_)
        X, _ = _read(path, known, aligned=False)
        try:
            gold = _read(path, known)[1]
        except MargraveError:  # sequences that are not aligned
            gold = None
        return illustration.draw_alignments(self.aligner, path, X, gold, plot, sentences)

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """Where the pictures are."""
        return "\n".join(f"drawn in {path}" for path in report.get("plots", ()))


def chosen_start(start: str | None) -> Any:
    """The scores to start from: a name, or the matrix of a file."""
    from margrave.datasets.substitution import read_matrix

    if start is None or start.lower() == "none":
        return None
    return start if start == "auto" or start.upper() == "BLOSUM62" else read_matrix(source(start))


def _read(path: str, alphabet: Known | None = None, *, aligned: bool = True) -> tuple[list[tuple[str, str]], list[Any]]:
    from margrave.datasets.alignments import read_pairs

    X, y = read_pairs(source(path), alphabet, aligned=aligned)
    if not X:
        raise DataError(display_name(path), None, "it contains no pairs of sequences.")
    return X, y


def _scores(gold: Any, predicted: Any) -> dict[str, float | None]:
    from margrave.metrics.alignments import pair_scores

    scores = pair_scores(gold, predicted)
    return {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1, "mean_f1": scores.mean_f1}
