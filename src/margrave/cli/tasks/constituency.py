"""Constituent trees: Penn brackets in, Penn brackets out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli import illustration
from margrave.cli.options import command_option
from margrave.cli.reports import left_out_rows, percent, table
from margrave.cli.streams import display_name, naming, source, template_lines
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, quoted
from margrave.options import option
from margrave.settings.constituency_parser import ConstituencySettings

if TYPE_CHECKING:
    from margrave import ConstituencyParser
    from margrave.data.constituents import Constituent, Tree
    from margrave.features import SpanTemplates

_BATCH = 500  # trees
_COLUMNS = 2  # of words: the form and the tag


@dataclass(eq=False, repr=False)
class Constituency(Task):
    """Learns the constituent tree of a sentence."""

    name = "constituency"
    summary = "the constituents of each sentence"
    estimator = "margrave.estimators:ConstituencyParser"
    settings = ConstituencySettings
    fields = (
        "grammar", "terminals", "binarize", "horizontal", "vertical", "rare", "decode", "max_words", "prune",
    )  # fmt: skip
    data = (
        "Files contain trees in Penn brackets, each on one line or on several. Function tags and traces are removed. "
        "To predict, a sentence is also a tree, and its constituents are ignored: (X (DT the) (NN dog))."
    )
    sample = "    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
    examples = (
        "margrave train --task constituency train.mrg -o trees.margrave",
        "margrave train --task constituency train.mrg -o trees.margrave --dev dev.mrg",
        "margrave train --task constituency train.mrg -o trees.margrave --templates spans.txt",
        "margrave train --task constituency train.mrg -o trees.margrave --grammar rules --loss hinge --cost f1",
    )
    predicts = (
        "trees in Penn brackets, one per line. --marginals writes the expected share of correct constituents, the "
        "mean of their probabilities, and a tab before each tree."
    )
    measures = (
        "labeled bracketing as in evalb (precision, recall and F1, without punctuation and the top node), exact "
        "matches, tags, and crossing brackets."
    )

    evaluate_options = (
        command_option(
            "punctuation",
            str,
            "Tags of punctuation, separated by blanks, whose words do not count; none counts all words.",
            if_none=", . : `` ''",
            metavar="TAGS",
            applies="constituents",
        ),
    )
    inspect_options = (illustration.DATA, illustration.PLOT, illustration.SENTENCES)

    chosen: ConstituencySettings
    templates: str | None = option(
        None,
        "Templates of spans and splits, one per line, such as first[1]|last[1]. Column 0 is the word, and 1 its tag.",
        if_none="a built-in set with --grammar spans, and otherwise none",
        metavar="FILE",
    )
    cost: str | None = option(None, "Cost of a wrong tree: hamming (constituents), zero-one or f1.", if_none="hamming")

    def job(self, data: str, dev: str | None) -> Job:
        """Trees, and the sentences below them."""
        features = "default" if self.templates is None else self._features_of(self.templates)
        parser = self.estimator_class()(**self.parameters(), features=features)
        trees = _read(data, labeled=True)
        pair = None
        if dev is not None:
            gold = _read(dev, labeled=True)
            pair = (parser.sentences_of(gold), gold)
        sizes = {"n_sentences": len(trees), "n_words": sum(len(tree.words) for tree in trees)}
        return Job(parser, parser.sentences_of(trees), trees, sizes, {}, pair, _scores, {"dev": pair})

    @staticmethod
    def _features_of(path: str) -> "SpanTemplates":
        """The templates of a file."""
        from margrave.features import SpanTemplates

        with naming(path):
            features = SpanTemplates(template_lines(path))
        if features.n_columns > _COLUMNS:
            raise DataError(
                path, None, f"it uses column {features.n_columns - 1}, but words have only columns 0 and 1 (the tag)."
            )
        return features

    @staticmethod
    def training_notes(estimator: "ConstituencyParser") -> dict[str, Any]:
        """What became of long sentences and pruned spans."""
        return {
            "long_sentences": estimator.n_long_,
            "max_words": estimator.max_words,
            "lost_spans": estimator.lost_spans_,
        }

    @staticmethod
    def training_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The same as people read it."""
        rows = left_out_rows(report)
        if report["lost_spans"] is not None:
            rows.append(("pruning", f"would lose {percent(report['lost_spans'])} of the spans of training trees"))
        return rows

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """F1 of brackets, and exact matches."""
        return f"F1 {percent(scores['f1'])}, exact match {percent(scores['exact_match'])}"

    @staticmethod
    def model(path: str, estimator: "ConstituencyParser") -> "ConstituencyModel":
        """The parser."""
        return ConstituencyModel(estimator)

    @staticmethod
    def inspection(estimator: Any, top: int, sign: str | None = None) -> dict[str, Any]:
        """The size of the grammar."""
        grammar = estimator.grammar_
        sizes = {
            "n_binary_rules": len(grammar.binary),
            "n_lexical_rules": len(grammar.lexical),
            "n_chains": len(grammar.labels),
        }
        if estimator.prune is not None:
            sizes |= {"n_pruning_rules": len(estimator.pruner_.grammar_.binary), "lost_spans": estimator.lost_spans_}
        return {"grammar": sizes, **Task.inspection(estimator, top, sign)}


@dataclass(eq=False, repr=False)
class ConstituencyModel(Model):
    """A parser of files."""

    does: ClassVar[str] = "predicts constituents"
    options: ClassVar[tuple[str, ...]] = ("punctuation", "data", "plot", "sentences")

    parser: "ConstituencyParser"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """Trees, with the mean probability of its constituents before each if it is asked for."""
        trees = _read(path, labeled=False)
        for first in range(0, len(trees), _BATCH):
            with naming(path):
                X = self.parser.sentences_of(trees[first : first + _BATCH])
                predicted = self.parser.predict(X)
                lines = [str(tree) for tree in predicted]
                if marginals:
                    shares = map(_mean_probability, predicted, self.parser.predict_proba(X))
                    lines = [f"{share:.6f}\t{line}" for share, line in zip(shares, lines, strict=True)]
            yield lines

    def evaluation(self, path: str, punctuation: str | None = None, **options: Any) -> dict[str, Any]:
        """Scores of labeled brackets."""
        gold = _read(path, labeled=True)
        if punctuation is not None:
            self._check_punctuation(path, gold, tags := [] if punctuation == "none" else punctuation.split())
            options["punctuation"] = tags
        with naming(path):
            predicted = self.parser.predict(self.parser.sentences_of(gold))
            return {
                "n_sentences": len(gold),
                "n_partial": self.parser.n_partial_,
                **_scores(gold, predicted, **options),
            }

    @staticmethod
    def _check_punctuation(path: str, gold: Sequence["Tree"], punctuation: Sequence[str]) -> None:
        """Refuses tags that no word has, and tags that all words have."""
        tags = {tag for tree in gold for tag in tree.tags}
        for tag in punctuation:
            if tag not in tags:
                raise DataError(display_name(path), None, f"--punctuation has {quoted(tag)}, and no word has this tag.")
        if tags <= set(punctuation):
            raise DataError(display_name(path), None, "--punctuation has the tags of all words, so none is left.")

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        names = {
            "precision": "precision", "recall": "recall", "f1": "F1", "exact_match": "exact match", "tagging": "tags",
            "without_crossing": "trees without crossing brackets",
        }  # fmt: skip
        rows = [("sentences", f"{report['n_sentences']:,}"), ("partial trees", f"{report['n_partial']:,}")]
        return table([*rows, *((text, percent(report[name])) for name, text in names.items())], 36)

    def illustration(
        self, data: str | None = None, plot: str | None = None, sentences: str | None = None, **options: Any
    ) -> dict[str, Any]:
        """Draws trees."""
        path = illustration.check_options(data, plot, sentences, None)
        assert plot is not None
        trees = _read(path, labeled=False)
        with naming(path):
            return {"plots": illustration.draw_constituents(self.parser, path, trees, plot, sentences)}

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """Where the pictures are."""
        return "\n".join(f"drawn in {path}" for path in report.get("plots", ()))


def _mean_probability(tree: "Tree", probabilities: Mapping["Constituent", float]) -> float:
    """The expected share of correct constituents, without the top node; 1 if there are none."""
    from margrave.data.constituents import TOPS

    constituents = [each for each in tree.constituents() if each.label not in TOPS]
    return sum(probabilities.get(each, 0.0) for each in constituents) / len(constituents) if constituents else 1.0


def _read(path: str, *, labeled: bool) -> list["Tree"]:
    from margrave.data.constituents import without_top
    from margrave.datasets.brackets import read_brackets

    trees = list(read_brackets(source(path)))
    if not trees:
        raise DataError(display_name(path), None, "it contains no trees.")
    if labeled and all(without_top(tree).label == "X" for tree in trees):
        raise DataError(display_name(path), None, "its trees have no constituents: all are labeled X.")
    return trees


def _scores(gold: Sequence[Any], predicted: Sequence[Any], **options: Any) -> dict[str, float | None]:
    from margrave.metrics import bracket_scores

    scores = bracket_scores(gold, predicted, **options)
    return {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "exact_match": scores.exact_match,
        "tagging": scores.tagging,
        "without_crossing": scores.without_crossing / max(scores.trees, 1),
    }
