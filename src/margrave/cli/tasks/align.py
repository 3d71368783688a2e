"""Alignments of pairs of sequences: aligned FASTA, or tables of aligned pairs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.options import option
from margrave.cli.reports import percent, table
from margrave.cli.streams import display_name, naming, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError

if TYPE_CHECKING:
    from margrave.estimators import SequenceAligner

_MODES = ("global", "local", "semi-global")


@dataclass(eq=False, repr=False)
class Align(Task):
    """Learns to align pairs of sequences."""

    name = "align"
    summary = "the alignment of each pair of sequences"
    estimator = "margrave.estimators:SequenceAligner"
    default_loss = "log"
    data = (
        "Files have pairs of aligned sequences with - for gaps: lines with two sequences and a tab between them, or "
        "FASTA, where every two sequences are a pair."
    )
    sample = "    HEAGAWGHE-E<TAB>--P-AW-HEAE"
    examples = (
        "margrave train --task align pairs.tsv -o aligner.model",
        "margrave train --task align pairs.fasta -o aligner.model --mode local --start BLOSUM62 -C 0.01",
    )
    predicts = (
        "two aligned sequences per pair, with a tab between them; between matches, unmatched letters of the first "
        "sequence come before those of the second. --marginals adds the probability of every column."
    )
    measures = "precision, recall and F1 of the matched pairs of letters."

    mode: str = option("global", "What is aligned: global, local or semi-global.", "NAME")
    gaps: str = option("affine", "How gaps are scored: affine (opening and extension) or linear.", "NAME")
    start: str | None = option(
        None, "Scores to start from: BLOSUM62, or a file in NCBI's format; small C stay close to them.", "NAME"
    )
    window: int = option(0, "Also score the letters up to this far from both positions.", "N")
    end_gaps: bool = option(False, "Gaps at the ends of sequences have scores of their own.")
    asymmetric: bool = option(False, "The pairs (a, b) and (b, a) have scores of their own.")

    def __post_init__(self) -> None:
        from margrave.structures.alignment import Alignment

        Alignment(self.mode, self.gaps)
        if not 0 <= self.window <= 100:
            raise MargraveError(f"--window must be from 0 to 100, and it is {self.window}.")

    def job(self, data: str, dev: str | None, settings: dict[str, Any]) -> Job:
        """Pairs with their alignments."""
        X, y = _read(data)
        aligner = self.estimator_class()(
            mode=self.mode,
            gaps=self.gaps,
            start=self._start(),
            window=self.window,
            end_gaps=self.end_gaps,
            symmetric=not self.asymmetric,
            **settings,
        )
        dev_pair = (
            None if dev is None else _read(dev, sorted({letter for pair in X for text in pair for letter in text}))
        )
        return Job(aligner, X, y, {"n_pairs": len(y)}, {}, dev_pair, _scores, {"dev": dev_pair})

    def _start(self) -> Any:
        from margrave.features.substitution import read_matrix

        if self.start is None or self.start.upper() == "BLOSUM62":
            return self.start
        return read_matrix(source(self.start))

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The F1 of pairs."""
        return f"F1 {percent(scores['f1'])}"

    @staticmethod
    def model(path: str, estimator: "SequenceAligner") -> "AlignModel":
        """The aligner with its alphabet."""
        if estimator.inputs_ is None:
            raise DataError(path, None, "it does not say how to read sequences: train it with 'margrave train'.")
        return AlignModel(estimator)


@dataclass(eq=False, repr=False)
class AlignModel(Model):
    """An aligner of files."""

    does: ClassVar[str] = "aligns pairs of sequences"

    aligner: "SequenceAligner"

    def _letters(self) -> Any:
        return self.aligner.features_.views.values["letters"]  # type: ignore[union-attr]

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The aligned sequences of each pair."""
        X, _ = _read(path, self._letters(), aligned=False)
        lines = ["\t".join(pair) for pair in self.aligner.aligned(X)]
        if marginals:
            confidences = self.aligner.predict_confidence(X)
            lines = [
                f"{line}\t{';'.join(f'{p:.4f}' for _, _, p in columns)}"
                for line, columns in zip(lines, confidences, strict=True)
            ]
        yield lines

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """Scores of matched pairs."""
        X, y = _read(path, self._letters())
        with naming(path):
            return {"n_pairs": len(y), **_scores(y, self.aligner.predict(X))}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        rows = [("pairs", f"{report['n_pairs']:,}")]
        rows += [(text, percent(report[name])) for name, text in (("precision", "precision"), ("recall", "recall"))]
        return table([*rows, ("F1", percent(report["f1"])), ("mean F1 of pairs", percent(report["mean_f1"]))], 20)


def _read(path: str, alphabet: Any = None, *, aligned: bool = True) -> tuple[list[tuple[str, str]], list[Any]]:
    from margrave.datasets.alignments import read_pairs

    X, y = read_pairs(source(path), alphabet, aligned=aligned)
    if not X:
        raise DataError(display_name(path), None, "it holds no pairs of sequences.")
    return X, y


def _scores(gold: Any, predicted: Any) -> dict[str, float | None]:
    from margrave.metrics.alignments import pair_scores

    scores = pair_scores(gold, predicted)
    return {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1, "mean_f1": scores.mean_f1}
