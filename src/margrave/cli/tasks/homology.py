"""Homologues among decoys: sequences with their candidates, of which one is aligned in training data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.reports import percent, table
from margrave.cli.streams import display_name, naming, source
from margrave.cli.tasks.align import chosen_start
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, quoted
from margrave.options import option
from margrave.settings.aligners import HomologySettings

if TYPE_CHECKING:
    from margrave import HomologyRanker
    from margrave.data import Candidates

_GAPS = "-."


@dataclass(eq=False, repr=False)
class FindHomologues(Task):
    """Learns scores of alignments by which a sequence has the best alignment with its homologue."""

    name = "homology"
    summary = "the homologue of each sequence among candidates"
    estimator = "margrave.estimators:HomologyRanker"
    settings = HomologySettings
    fields = ("mode", "gaps", "gap_residues")
    own_cost = True
    data = (
        "Blocks of lines with a blank line after each. The first line of a block is a sequence, and the others are its "
        "candidates. In training data, the line of the homologue has its alignment: both sequences with - for gaps and "
        "a tab between them."
    )
    sample = "    HEAGAWGHE\n    HEAGAWGHE-E<TAB>--P-AW-HEAE\n    KVLYPD"
    examples = (
        "margrave train --task homology train.txt -o ranker.margrave",
        "margrave train --task homology train.txt -o ranker.margrave --start BLOSUM62 -C 0.01 --slack 2",
    )
    predicts = (
        "the number of the best candidate of each sequence, counted from 0, one per line. --marginals adds its "
        "probability."
    )
    measures = "the share of sequences whose homologue is found."

    chosen: HomologySettings
    start: str | None = option(
        None,
        "Scores to start from: BLOSUM62, or a file in NCBI's format. Small C stay close to them.",
    )
    symmetric: bool = option(False, "Give the pairs (a, b) and (b, a) the same score.")

    def job(self, data: str, dev: str | None) -> Job:
        """Sequences with their candidates, and the homologues."""
        X, y = _read(data, labeled=True)
        ranker = self.estimator_class()(**self.parameters(), start=chosen_start(self.start), symmetric=self.symmetric)
        dev_pair = None if dev is None else _read(dev, labeled=True)
        sizes = {"n_sequences": len(X), "n_candidates": sum(len(candidates) for _, candidates in X)}
        return Job(ranker, X, y, sizes, {}, dev_pair, _accuracy, {"dev": dev_pair})

    @staticmethod
    def cost_of(estimator: "HomologyRanker") -> Any:
        """Every decoy costs 1."""
        return "zero-one"

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The share of homologues that are found."""
        return f"accuracy {percent(scores['accuracy'])}"

    @staticmethod
    def model(path: str, estimator: "HomologyRanker") -> "HomologyFinder":
        """The ranker with its alphabet."""
        if estimator.features_ is None:
            raise DataError(path, None, "it does not say how to read sequences: train it with 'margrave train'.")
        return HomologyFinder(estimator)


@dataclass(eq=False, repr=False)
class HomologyFinder(Model):
    """A ranker of the candidates in files."""

    does: ClassVar[str] = "finds homologues"

    ranker: "HomologyRanker"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The number of the best candidate of each sequence."""
        X, _ = _read(path, labeled=False)
        with naming(path):
            best = self.ranker.predict(X).tolist()
            lines = [str(k) for k in best]
            if marginals:
                tables = self.ranker.predict_marginals(X)
                lines = [f"{k}\t{of[k]:.4f}" for k, of in zip(best, tables, strict=True)]
        yield lines

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """The share of homologues that are found."""
        X, y = _read(path, labeled=True)
        with naming(path):
            scores = _accuracy(y, self.ranker.predict(X))
        return {"n_sequences": len(X), "n_candidates": sum(len(each) for _, each in X), **scores}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        rows = [("sequences", f"{report['n_sequences']:,}"), ("candidates", f"{report['n_candidates']:,}")]
        return table([*rows, ("accuracy", percent(report["accuracy"]))], 20)


def _read(path: str, *, labeled: bool) -> tuple[list[tuple[str, "Candidates"]], list[tuple[int, tuple[str, str]]]]:
    """Sequences with their candidates and, if they are needed, the numbers and alignments of the homologues."""
    from margrave.data import Candidates
    from margrave.datasets.opening import read_lines

    name = display_name(path)
    X: list[tuple[str, Candidates]] = []
    y: list[tuple[int, tuple[str, str]]] = []
    block: list[tuple[int, str]] = []
    for number, line in [*read_lines(source(path)), (0, "")]:
        text = line.strip(" \r")
        if text.strip():
            block.append((number, text))
        elif block:
            native, candidates, aligned = _block(name, block)
            if labeled and len(aligned) != 1:
                found = "none" if not aligned else len(aligned)
                raise DataError(
                    name, block[0][0], f"one candidate of a sequence must be aligned with it by a tab, and {found} is."
                )
            X.append((native, Candidates(candidates)))
            y += aligned
            block = []
    if not X:
        raise DataError(name, None, "it contains no sequences.")
    return X, y


def _block(name: str, block: list[tuple[int, str]]) -> tuple[str, list[str], list[tuple[int, tuple[str, str]]]]:
    """A sequence, its candidates, and the number and the alignment of each that is aligned."""
    (first, native), *rows = block
    if "\t" in native or any(gap in native for gap in _GAPS):
        raise DataError(name, first, f"a block begins with a sequence without gaps, not {quoted(native)}.")
    if not rows:
        raise DataError(name, first, "the sequence has no candidates on the lines after it.")
    candidates: list[str] = []
    aligned: list[tuple[int, tuple[str, str]]] = []
    for number, text in rows:
        *above, below = text.split("\t")
        if len(above) > 1:
            raise DataError(name, number, f"a line has one sequence, or two aligned ones, and not {len(above) + 1}.")
        if above:
            if _plain(above[0]) != native:
                raise DataError(name, number, f"the first of two aligned sequences must be that of line {first}.")
            if len(above[0]) != len(below):
                raise DataError(
                    name, number, f"aligned sequences have the same length, not {len(above[0])} and {len(below)}."
                )
            aligned.append((len(candidates), (above[0], below)))
        elif any(gap in below for gap in _GAPS):
            raise DataError(name, number, "a candidate that is not aligned has no gaps.")
        candidates.append(_plain(below))
    return native, candidates, aligned


def _plain(sequence: str) -> str:
    return sequence.replace("-", "").replace(".", "")


def _accuracy(gold: Any, predicted: Any) -> dict[str, float | None]:
    right = [number == k for (number, _), k in zip(gold, predicted, strict=True)]
    return {"accuracy": sum(right) / len(right)}
