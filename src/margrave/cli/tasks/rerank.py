"""Choosing from lists of candidates: n-best lists of translations with their references, or svmlight with qid."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.options import command_option
from margrave.cli.reports import percent, table
from margrave.cli.streams import batches, display_name, first_line, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError, counted, quoted, the_first
from margrave.options import option
from margrave.settings.lists import RerankerSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from margrave import Reranker
    from margrave.data import NBestList
    from margrave.datasets.opening import TextSource
    from margrave.features import NGrams

Candidates = list[Mapping[str, float]]  # of one list: the features of every hypothesis

_BATCH = 100  # lists that are predicted at once: enough for all threads, and little memory


@dataclass(eq=False, repr=False)
class Rerank(Task):
    """Learns which candidate of a list is the best."""

    name = "rerank"
    summary = "the best candidate of each list"
    estimator = "margrave.estimators:Reranker"
    settings = RerankerSettings
    fields = ("no_good", "weights")
    own_cost = True
    data = (
        "Lists of candidates are n-best lists of Moses, cdec or Joshua with their references, or svmlight files with "
        "qid, where the most relevant candidates are the good ones."
    )
    sample = "    0 ||| the old house stands ||| lm=-12.1 tm=-3.5 ||| -7.3\n    2 qid:1 1:0.5 7:2 12:1"
    examples = (
        "margrave train --task rerank dev.nbest.gz -o moses.margrave --references dev.en --lowercase",
        "margrave train --task rerank dev.nbest.gz -o moses.margrave --references dev.0 --references dev.1 --good 3",
        "margrave train --task rerank train.svm -o pages.margrave --learner lp --solver simplex --free-sign",
    )
    predicts = (
        "the best hypothesis of each list, one per line; without hypotheses (svmlight), the number of the best "
        "candidate, counted from 0."
    )
    measures = (
        "for n-best lists, BLEU and NIST of the chosen hypotheses, of those with the highest score in the file, and of "
        "the oracle (the best of each list by smoothed sentence BLEU), and whether the difference between the first "
        "two is significant (approximate randomization). For svmlight, the share of lists whose best candidate is one "
        "of the most relevant."
    )
    predict_options = (
        command_option(
            "scores",
            bool,
            "Add a column with the score of the prediction.",
            default=False,
            applies="lists of candidates",
        ),
    )
    evaluate_options = (
        command_option(
            "references",
            tuple[str, ...],
            "Reference translations: for n-best lists one line per id, counted from 0, otherwise one line per "
            "sentence; may be repeated.",
            default=(),
            metavar="FILE",
            applies="n-best lists and translation",
        ),
        command_option(
            "lowercase",
            bool,
            "Compare hypotheses and references in lower case.",
            default=False,
            applies="n-best lists and translation",
        ),
    )

    chosen: RerankerSettings
    references: tuple[str, ...] = option(
        (), "References of n-best lists: one line per id, counted from 0; may be repeated.", metavar="FILE"
    )
    good: int | None = option(
        None,
        "Number of good hypotheses per list: those closest to the references by smoothed sentence BLEU.",
        if_none="1",
        at_least=1,
    )
    within: float | None = option(
        None, "Or those whose BLEU, between 0 and 1, is at most this much below the best.", at_least=0
    )
    lowercase: bool = option(False, "Compare hypotheses and references in lower case.")
    ngrams: int = option(0, "Also use the n-grams of 1 to N words of hypotheses as features.", at_least=0, at_most=9)
    cost: str = option("zero-one", "Cost of a wrong candidate.", choices=("zero-one", "bleu", "relevance"))

    def __post_init__(self) -> None:
        from margrave.maps.table import table_named

        table_named(self.chosen.weights)
        if self.good is not None and self.within is not None:
            raise MargraveError("--good and --within both select the good candidates: give one of them.")

    def job(self, data: str, dev: str | None) -> Job:
        """Lists of hypotheses if the first line has bars (|||), else lists of rows that have a query id."""
        first, lists = first_line(data, "candidates")
        reranker = self.estimator_class()(**self.parameters())
        if "|||" in first:
            return self._translation_job(data, lists, dev, reranker)
        if re.match(r"\S+\s+qid:", first):
            return self._ranking_job(data, lists, dev, reranker)
        raise DataError(
            display_name(data),
            None,
            "its first line is neither a hypothesis (0 ||| words ||| name=value) nor has a query id (1 qid:7 3:0.5).",
        )

    def _translation_job(self, data: str, text: "TextSource", dev: str | None, reranker: "Reranker") -> Job:
        from margrave.datasets import read_nbest
        from margrave.features import NGrams
        from margrave.metrics.pseudo_references import pseudo_references, sentence_bleu_costs

        if not self.references:
            raise DataError(display_name(data), None, "hypotheses alone do not show which are good: give --references.")
        if self.cost == "relevance":
            raise DataError(display_name(data), None, "--cost relevance requires svmlight with relevances: use bleu.")
        if dev is not None:
            raise MargraveError("--dev has no references: use 'margrave evaluate MODEL DEV --references FILE'.")
        lists = list(read_nbest(text))
        if not self.ngrams and not any(features for one in lists for features in one.features):
            raise DataError(display_name(data), None, "its hypotheses have no features to learn from: give --ngrams.")
        hypotheses = [one.hypotheses for one in lists]
        references = _references_of(lists, display_name(data), self.references)
        best = 1 if self.good is None and self.within is None else self.good
        good = pseudo_references(hypotheses, references, best=best, within=self.within, lowercase=self.lowercase)
        ids = [one.id for one in lists]
        counts = self._check_good(display_name(data), "id", ids, good, "that shares a word with its reference")
        costs = None
        if self.cost == "bleu":
            costs = sentence_bleu_costs(hypotheses, references, good=good, lowercase=self.lowercase)
        return Job(
            reranker.set_params(features=NGrams(self.ngrams, self.lowercase)),
            lists,
            good,
            {"n_lists": len(lists), "n_candidates": sum(map(len, hypotheses)), **counts},
            {"cost": self.cost},
            None,
            _share_of_good,
            {"costs": costs},
        )

    def _ranking_job(self, data: str, text: "TextSource", dev: str | None, reranker: "Reranker") -> Job:
        from margrave.datasets import relevance_targets
        from margrave.features import Columns

        for name in ("references", "good", "within", "lowercase", "ngrams"):
            if getattr(self, name) != getattr(type(self), name):
                raise MargraveError(f"--{name} applies to n-best lists only, and {display_name(data)} is svmlight.")
        if self.cost == "bleu":
            raise MargraveError(
                f"--cost bleu applies to n-best lists only, and {display_name(data)} is svmlight: use relevance."
            )
        X, relevances, ids = _ranking(text)
        good, costs = relevance_targets(relevances)
        counts = self._check_good(display_name(data), "qid", ids, good, "with a relevance above 0")
        dev_pair = None
        if dev is not None:
            rows, dev_relevances, _ = _ranking(source(dev))
            dev_pair = rows, relevance_targets(dev_relevances)[0]
        return Job(
            reranker.set_params(features=Columns()),
            X,
            good,
            {"n_lists": len(X), "n_candidates": sum(map(len, relevances)), **counts},
            {"cost": self.cost},
            dev_pair,
            _share_of_good,
            {"costs": costs if self.cost == "relevance" else None},
        )

    def _check_good(
        self, name: str, what: str, ids: Sequence[int], good: Sequence[Sequence[int]], having: str
    ) -> dict[str, int]:
        """Counts good candidates and lists without one; refuses the latter unless they are to be skipped."""
        without = [id for id, numbers in zip(ids, good, strict=True) if not numbers]
        if len(without) == len(good):
            raise DataError(name, None, f"none of its lists has a candidate {having}.")
        if without and self.chosen.no_good == "stop":
            raise DataError(
                name,
                None,
                f"{_have(without)} no good candidate ({what} {the_first(without)}): use --no-good skip to leave such "
                "lists out.",
            )
        return {"n_good": sum(map(len, good)), "n_skipped": len(without)}

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The share of lists whose best candidate is good."""
        return f"accuracy {percent(scores['accuracy'])}"

    @staticmethod
    def model(path: str, estimator: "Reranker") -> Model:
        """The reranker, with the features that it was trained on."""
        from margrave.features import Columns, NGrams

        if isinstance(estimator.features_, NGrams):
            return TranslationModel(estimator, estimator.features_)
        if isinstance(estimator.features_, Columns):
            return RankingModel(estimator)
        raise DataError(path, None, "it does not say how to read candidates: train it with 'margrave train'.")

    @staticmethod
    def cost_of(estimator: "Reranker") -> Any:
        """The cost that the training data were given."""
        return estimator.metadata_.get("cost", "zero-one")

    @staticmethod
    def inspection(estimator: "Reranker", top: int, sign: str | None = None) -> dict[str, Any]:
        """The features with the largest weights, whatever their sign, the largest first."""
        report = Task.inspection(estimator, top, sign)
        if top:
            report["weights"] = {name: weight for of in report["top"].values() for name, weight in of}
        return report

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The same, one feature per line."""
        if not report.get("weights"):
            return ""
        rows = [(f"{name}  ", f"{weight:+.6g}") for name, weight in report["weights"].items()]
        return table(rows, max(len(name) for name, _ in rows))


@dataclass(eq=False, repr=False)
class TranslationModel(Model):
    """A reranker of hypotheses."""

    does: ClassVar[str] = "ranks hypotheses"
    options: ClassVar[tuple[str, ...]] = ("scores", "references", "lowercase")

    reranker: "Reranker"
    features: "NGrams"

    def predicted_lines(
        self, path: str, marginals: bool, *, scores: bool = False, **options: Any
    ) -> Iterator[list[str]]:
        """The best hypothesis of each list."""
        from margrave.datasets import read_nbest

        bare, unknown_features = self.reranker.without_features(), _UnknownFeatures(self._known)
        held: list[list[str]] = []  # back until a feature is seen that the model knows
        for batch in batches(read_nbest(source(path)), _BATCH):
            X = self.features.transform(batch)
            unknown_features.add(X)
            best = bare.predict(X).tolist()
            words = [one.hypotheses[k] for one, k in zip(batch, best, strict=True)]
            held.append(_lines(bare, X, best, words, marginals, scores))
            if unknown_features.first is None:
                yield from held
                held.clear()
        unknown_features.refuse(display_name(path))

    def evaluation(
        self, path: str, *, references: Sequence[str] = (), lowercase: bool = False, **options: Any
    ) -> dict[str, Any]:
        """BLEU and NIST of the hypotheses chosen, of the file's own and of the oracle's, with p-values."""
        import numpy as np

        from margrave.datasets import read_nbest
        from margrave.metrics import (
            BleuStatistics,
            NistStatistics,
            approximate_randomization,
            bleu_of_statistics,
            nist_of_statistics,
        )

        if not references:
            raise MargraveError("translations are measured by references: give --references.")
        lists = list(read_nbest(source(path)))
        right = _references_of(lists, display_name(path), references)
        of_all = BleuStatistics(right, lowercase=lowercase).lists([one.hypotheses for one in lists])
        X = self.features.transform(lists)
        unknown_features = _UnknownFeatures(self._known)
        unknown_features.add(X)
        unknown_features.refuse(display_name(path))
        numbers = {
            "chosen": self.reranker.without_features().predict(X).tolist(),
            "first": [one.first for one in lists],
            "oracle": [int(np.argmax(bleu_of_statistics(rows, smooth="add-one"))) for rows in of_all],
        }
        by_nist = NistStatistics(right, lowercase=lowercase)
        bleu: dict[str, NDArray[Any]] = {}  # statistics of the segments under each way to choose
        nist: dict[str, NDArray[Any]] = {}
        for name, ks in numbers.items():
            bleu[name] = np.stack([rows[k] for rows, k in zip(of_all, ks, strict=True)])
            nist[name] = by_nist.segments([one.hypotheses[k] for one, k in zip(lists, ks, strict=True)])
        return {
            "n_lists": len(lists),
            "n_candidates": sum(len(one.hypotheses) for one in lists),
            **{
                name: {
                    "bleu": float(bleu_of_statistics(bleu[name].sum(axis=0))),
                    "nist": float(nist_of_statistics(nist[name].sum(axis=0))),
                }
                for name in numbers
            },
            "p_value": {
                "bleu": approximate_randomization(bleu["chosen"], bleu["first"], bleu_of_statistics),
                "nist": approximate_randomization(nist["chosen"], nist["first"], nist_of_statistics),
            },
        }

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one line for each way to choose."""
        lines = [
            table([("lists", f"{report['n_lists']:,}"), ("hypotheses", f"{report['n_candidates']:,}")], 20),
            "",
            f"{'':<20}{'BLEU':>9}{'NIST':>9}",
        ]
        for name, text in (("chosen", "chosen"), ("first", "the file's own"), ("oracle", "oracle")):
            of = report[name]
            lines.append(f"{text:<20}{100 * of['bleu']:>9.2f}{of['nist']:>9.4f}")
        p = report["p_value"]
        lines.append(f"{'p-value':<20}{p['bleu']:>9.4f}{p['nist']:>9.4f}")
        return "\n".join(lines)

    @property
    def _known(self) -> frozenset[str] | None:
        """The names of the features of the training; None where the model does not keep them all."""
        vocabulary = self.reranker.map_.encoder.vocabulary
        if vocabulary is None or len(vocabulary) < self.reranker.n_weights_:
            return None
        return frozenset(vocabulary.names())


@dataclass(eq=False, repr=False)
class _UnknownFeatures:
    """Finds files none of whose features the model knows: it would choose blindly."""

    known: frozenset[str] | None  # None: the model does not keep all names
    first: str | None = None  # an unknown feature, as long as none was known
    found_known: bool = False

    def add(self, X: Iterable[Candidates]) -> None:
        """Takes note of the features of some lists."""
        for feature in (feature for candidates in X for features in candidates for feature in features):
            if self.found_known or self.known is None:
                return
            self.found_known = feature in self.known
            self.first = None if self.found_known else self.first or feature

    def refuse(self, name: str) -> None:
        """Refuses a file that has features, none of which is known."""
        if self.first is not None:
            raise DataError(name, None, f"the model knows none of its features, such as {quoted(self.first)}.")


@dataclass(eq=False, repr=False)
class RankingModel(Model):
    """A reranker of rows of features."""

    does: ClassVar[str] = "ranks candidates without words"
    options: ClassVar[tuple[str, ...]] = ("scores",)

    reranker: "Reranker"

    def predicted_lines(
        self, path: str, marginals: bool, *, scores: bool = False, **options: Any
    ) -> Iterator[list[str]]:
        """The number of the best candidate of each list, counted from 0."""
        X, _, _ = _ranking(source(path))
        best = self.reranker.predict(X).tolist()
        yield _lines(self.reranker, X, best, [str(k) for k in best], marginals, scores)

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """The share of lists whose best candidate is good."""
        from margrave.datasets import relevance_targets

        X, relevances, _ = _ranking(source(path))
        good, _ = relevance_targets(relevances)
        return {
            "n_lists": len(X),
            "n_candidates": sum(map(len, relevances)),
            "n_without_good": sum(not numbers for numbers in good),
            **_share_of_good(good, self.reranker.predict(X)),
        }

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        rows = [
            ("lists", f"{report['n_lists']:,}"),
            ("candidates", f"{report['n_candidates']:,}"),
            ("without a good one", f"{report['n_without_good']:,}"),
            ("accuracy", percent(report["accuracy"])),
        ]
        return table(rows, 20)


def _have(lists: Sequence[int]) -> str:
    return f"{counted(len(lists), 'list')} {'has' if len(lists) == 1 else 'have'}"


def _lines(
    reranker: "Reranker", X: Any, best: list[int], chosen: list[str], marginals: bool, scores: bool
) -> list[str]:
    """What was chosen, followed by its score and its probability if asked for."""
    columns = [chosen]
    if scores:
        columns.append([f"{of[k]:.6g}" for of, k in zip(reranker.decision_function(X), best, strict=True)])
    if marginals:
        columns.append([f"{of[k]:.4f}" for of, k in zip(reranker.predict_proba(X), best, strict=True)])
    return ["\t".join(row) for row in zip(*columns, strict=True)]


def _share_of_good(good: Sequence[Sequence[int]], predicted: Iterable[int]) -> dict[str, float | None]:
    right = [k in numbers for numbers, k in zip(good, predicted, strict=True)]
    return {"accuracy": sum(right) / len(right)}


# ---- data ------------------------------------------------------------------------------------------------------------


def _references_of(lists: Iterable["NBestList"], name: str, files: Sequence[str]) -> list[list[str]]:
    """The references of every list: its id says in which line they are, counted from 0."""
    from margrave.datasets import read_references

    segments = read_references(*map(source, files))
    ids = [one.id for one in lists]
    without = [id for id in ids if not 0 <= id < len(segments)]
    if without:
        lines = f"{files[0]} has the lines of ids 0 to {len(segments) - 1}"
        raise DataError(name, None, f"{_have(without)} no reference (id {the_first(without)}): {lines}.")
    return [segments[id] for id in ids]


def _ranking(text: "TextSource") -> tuple[list["csr_array"], list["NDArray[Any]"], list[int]]:
    """The rows of every list, the relevances, and the query ids."""
    from margrave.datasets import read_ranking

    X, relevances, ids = read_ranking(text)
    return X, relevances, ids.tolist()
