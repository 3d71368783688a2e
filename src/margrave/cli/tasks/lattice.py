"""Lattices: the best path of each, in JSON lines or PLF."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli import illustration
from margrave.cli.options import command_option
from margrave.cli.reports import percent, table
from margrave.cli.streams import batches, display_name, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError
from margrave.options import option
from margrave.settings.lists import LatticeSettings

if TYPE_CHECKING:
    from margrave import LatticeDecoder
    from margrave.data import Lattice

_BATCH = 100  # lattices that are predicted at once


@dataclass(eq=False, repr=False)
class Lattices(Task):
    """Learns which path of a lattice is the best."""

    name = "lattice"
    summary = "the best path of each lattice"
    estimator = "margrave.estimators:LatticeDecoder"
    settings = LatticeSettings
    fields = ("weights", "unreachable", "starts")
    data = (
        "One lattice per line: a JSON object with its edges and its good strings. Any number of strings may be good, "
        "and any number of paths may spell each of them. To predict, lattices may also be in PLF."
    )
    sample = (
        '    {"edges": [{"from": 0, "to": 1, "word": "a", "features": {"lm": -1.5}},\n'
        '               {"from": 0, "to": 1, "word": "the"}], "good": ["a"]}'
    )
    examples = (
        "margrave train --task lattice train.jsonl -o paths.margrave",
        "margrave train --task lattice train.jsonl -o paths.margrave --words --unreachable skip",
        "margrave train --task lattice train.jsonl -o paths.margrave --loss hinge --learner lp --free-sign",
    )
    predicts = "the string of the best path of each lattice, one per line; with --kbest, the best strings and scores."
    measures = "the share of lattices whose string is good."
    predict_options = (
        command_option(
            "kbest",
            int,
            "Write the N best distinct strings of each lattice or sentence, best first: its id, or the number of the "
            "sentence from 0, the string and the score, separated by |||.",
            at_least=1,
            applies="lattices and translation",
        ),
    )

    chosen: LatticeSettings
    words: bool = option(False, "Use the words of edges as features, too.")
    cost: str | None = option(
        None,
        "Cost of a wrong path, in a loss with a cost: hamming, the number of its edges that are on no good path, or "
        "zero-one, which requires --learner lp if there are several good paths.",
        if_none="hamming, or zero-one with --learner lp",
    )

    def __post_init__(self) -> None:
        from margrave.maps.table import table_named

        table_named(self.chosen.weights)

    def job(self, data: str, dev: str | None) -> Job:
        """Lattices with their good strings."""
        from margrave.features import EdgeFeatures

        lines, X, y = _read_labeled(data)
        self._check_reachable(data, lines, X, y)
        dev_pair = None if dev is None else _read_labeled(dev)[1:]
        decoder = self.estimator_class()(**self.parameters(), features=EdgeFeatures(words=self.words))
        sizes = {"n_lattices": len(X), "n_edges": sum(len(lattice.edges) for lattice in X)}
        return Job(decoder, X, y, sizes, {}, dev_pair, _scores)

    def _check_reachable(self, path: str, lines: Sequence[int], X: Sequence["Lattice"], y: list[list[str]]) -> None:
        """Refuses lattices without a good path, unless they are to be left out and there are others."""
        from margrave.structures.lattice_paths import unreachable, without_good_path

        missing = without_good_path(X, y)
        if len(missing) == len(X) or (missing and self.chosen.unreachable == "stop"):
            remedy = "none is left" if len(missing) == len(X) else "leave them out, or use --unreachable skip"
            raise DataError(display_name(path), lines[missing[0]], unreachable(X, missing, remedy))

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The share of good strings."""
        return f"accuracy {percent(scores['accuracy'])}"

    @staticmethod
    def model(path: str, estimator: "LatticeDecoder") -> "LatticeModel":
        """The decoder."""
        return LatticeModel(estimator)

    @staticmethod
    def training_notes(estimator: "LatticeDecoder") -> dict[str, Any]:
        """Which lattices were left out, and where each start of a loss that is not convex led."""
        return {"n_skipped": estimator.n_skipped_, "starts": getattr(estimator, "starts_", [])}

    @staticmethod
    def training_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The same as people read it."""
        rows = [("left out", f"{report['n_skipped']:,}")] if report["n_skipped"] else []
        starts = [f"{of['objective']:.6g} (gradient {of['gradient']:.2g})" for of in report["starts"]]
        return rows + ([("starts", ", ".join(starts))] if starts else [])


@dataclass(eq=False, repr=False)
class LatticeModel(Model):
    """A decoder of lattices."""

    does: ClassVar[str] = "decodes lattices"
    options: ClassVar[tuple[str, ...]] = ("kbest", "data", "plot", "sentences")

    decoder: "LatticeDecoder"

    def predicted_lines(
        self, path: str, marginals: bool, *, kbest: int | None = None, **options: Any
    ) -> Iterator[list[str]]:
        """The best strings."""
        from margrave.datasets import read_lattices

        if kbest is not None and marginals:
            raise MargraveError("--kbest and --marginals exclude each other: give one of them.")
        empty = True
        for batch in batches(read_lattices(source(path)), _BATCH):
            empty = False
            if kbest is not None:
                found = self.decoder.predict_kbest(batch, kbest)
                ranked = zip(batch, found, strict=True)
                yield [f"{one.id} ||| {string} ||| {value:.6g}" for one, of in ranked for value, string in of]
                continue
            strings = self.decoder.predict(batch)
            if not marginals:
                yield strings
                continue
            yield [
                f"{string}\t{exp(value):.4f}"
                for string, value in zip(strings, self.decoder.log_probability(batch, strings), strict=True)
            ]
        if empty:
            raise DataError(display_name(path), None, "it contains no lattices.")

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """The share of good strings."""
        _, X, y = _read_labeled(path)
        return {"n_lattices": len(X), **_scores(y, self.decoder.predict(X))}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        return table([("lattices", f"{report['n_lattices']:,}"), ("accuracy", percent(report["accuracy"]))], 20)

    def illustration(
        self,
        data: str | None = None,
        plot: str | None = None,
        sentences: str | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Pictures of lattices with the probabilities of their edges."""
        path = illustration.check_options(data, plot, sentences, None)
        assert plot is not None
        return {"plots": illustration.draw_lattices(self.decoder, path, _read(path)[1], plot, sentences)}

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        return "\n".join(f"drawn in {path}" for path in report.get("plots", ()))


def _read(path: str) -> tuple[list[int], list["Lattice"]]:
    """The lattices of a file, and the lines that they stand on."""
    from margrave.datasets.lattices import numbered_lattices

    pairs = list(numbered_lattices(source(path)))
    if not pairs:
        raise DataError(display_name(path), None, "it contains no lattices.")
    return [number for number, _ in pairs], [lattice for _, lattice in pairs]


def _read_labeled(path: str) -> tuple[list[int], list["Lattice"], list[list[str]]]:
    """The same with their good strings, of which each needs one."""
    lines, X = _read(path)
    for number, lattice in zip(lines, X, strict=True):
        if not lattice.good:
            raise DataError(display_name(path), number, "the lattice has no good string, which is needed here.")
    return lines, X, [list(lattice.good) for lattice in X]


def _scores(gold: Any, predicted: Any) -> dict[str, float | None]:
    right = [string in good for good, string in zip(gold, predicted, strict=True)]
    return {"accuracy": sum(right) / len(right)}
