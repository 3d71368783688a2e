"""Constituent trees: Penn brackets in, Penn brackets out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli import illustration
from margrave.cli.options import option
from margrave.cli.reports import left_out_rows, percent, table
from margrave.cli.streams import display_name, naming, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, unknown

if TYPE_CHECKING:
    from margrave import ConstituencyParser
    from margrave.data.constituents import Constituent, Tree

_BATCH = 500  # trees
_CHOICES = {
    "grammar": ("rules", "spans"),
    "terminals": ("tags", "words"),
    "binarise": ("right", "left", "head"),
    "decode": ("best", "mbr"),
}


@dataclass(eq=False, repr=False)
class Constituency(Task):
    """Learns the constituent tree of a sentence."""

    name = "constituency"
    summary = "the constituents of each sentence"
    estimator = "margrave.estimators:ConstituencyParser"
    default_loss = "log"
    data = (
        "Files have trees in Penn brackets, each on one line or on several. Function tags and traces are left out. "
        "For prediction, a sentence is a tree as well, whose constituents do not matter: (X (DT the) (NN dog))."
    )
    sample = "    (S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
    examples = (
        "margrave train --task constituency train.mrg -o trees.model",
        "margrave train --task constituency train.mrg -o trees.model --grammar spans --dev dev.mrg",
        "margrave train --task constituency train.mrg -o trees.model --loss hinge --cost f1 --learner cutting-plane",
    )
    predicts = (
        "trees in Penn brackets, one per line. --marginals puts the expected share of right constituents, the mean of "
        "their probabilities, and a tab before each tree."
    )
    measures = (
        "labelled bracketing as evalb counts it (precision, recall and F1, without punctuation and the top node), the "
        "share of trees that are all right, tags, and crossing brackets."
    )

    inspect_options = (illustration.DATA, illustration.PLOT, illustration.SENTENCES)

    grammar: str = option(
        "rules", "rules uses the grammar of the training trees; spans uses none, and templates over spans.", "NAME"
    )
    terminals: str = option(
        "tags", "What the grammar's terminals are: tags, or words, whose tags are then predicted.", "NAME"
    )
    binarise: str = option("right", "How nodes with many children become binary: right, left or head.", "NAME")
    horizontal: int = option(2, "How many siblings the symbols of binarised nodes tell.", "N", low=0)
    vertical: int = option(1, "How many labels a symbol tells: 2 adds the parent's.", "N", low=1)
    rare: int = option(1, "With words as terminals, those that occur at most so often become classes.", "N", low=0)
    decode: str = option(
        "best",
        "best predicts the tree with the highest score, mbr the one with the largest sum of probabilities of "
        "constituents.",
        "NAME",
    )
    max_words: int = option(80, "Longer sentences are left out of the training.", "N", low=1)
    prune: float | None = option(
        None,
        "Consider only spans with at least this probability under a counted grammar, such as 1e-4; for large grammars.",
        "P",
    )
    cost: str | None = option(
        None, "What a wrong tree costs: hamming (constituents), zero-one or f1; hamming if not given.", "NAME"
    )

    def __post_init__(self) -> None:
        for name, valid in _CHOICES.items():
            if getattr(self, name) not in valid:
                raise unknown(name, getattr(self, name), valid)

    def job(self, data: str, dev: str | None, settings: dict[str, Any]) -> Job:
        """Trees, and the sentences below them."""
        own = {each.name: getattr(self, each.name) for each in self.options() if each.name != "cost"}
        parser = self.estimator_class()(**own, **settings)
        trees = _read(data, labelled=True)
        pair = None
        if dev is not None:
            gold = _read(dev, labelled=True)
            pair = (parser.sentences_of(gold), gold)
        sizes = {"n_sentences": len(trees), "n_words": sum(len(tree.words) for tree in trees)}
        return Job(parser, parser.sentences_of(trees), trees, sizes, {}, pair, _scores, {"dev": pair})

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
    def inspection(estimator: Any, top: int) -> dict[str, Any]:
        """The size of the grammar."""
        grammar = estimator.grammar_
        sizes = {
            "n_binary_rules": len(grammar.binary),
            "n_lexical_rules": len(grammar.lexical),
            "n_chains": len(grammar.labels),
        }
        if estimator.prune is not None:
            sizes |= {"n_pruning_rules": len(estimator.pruner_.grammar_.binary), "lost_spans": estimator.lost_spans_}
        return {"grammar": sizes, **Task.inspection(estimator, top)}


@dataclass(eq=False, repr=False)
class ConstituencyModel(Model):
    """A parser of files."""

    does: ClassVar[str] = "predicts constituents"
    options: ClassVar[tuple[str, ...]] = ("data", "plot", "sentences")

    parser: "ConstituencyParser"

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """Trees, with the mean probability of its constituents before each if it is asked for."""
        trees = _read(path, labelled=False)
        for first in range(0, len(trees), _BATCH):
            with naming(path):
                X = self.parser.sentences_of(trees[first : first + _BATCH])
                predicted = self.parser.predict(X)
                lines = [str(tree) for tree in predicted]
                if marginals:
                    shares = map(_mean_probability, predicted, self.parser.predict_proba(X))
                    lines = [f"{share:.6f}\t{line}" for share, line in zip(shares, lines, strict=True)]
            yield lines

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """Scores of labelled brackets."""
        gold = _read(path, labelled=True)
        with naming(path):
            predicted = self.parser.predict(self.parser.sentences_of(gold))
            return {"n_sentences": len(gold), "n_partial": self.parser.n_partial_, **_scores(gold, predicted)}

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
        trees = _read(path, labelled=False)
        with naming(path):
            return {"plots": illustration.draw_constituents(self.parser, path, trees, plot, sentences)}

    def illustration_summary(self, report: Mapping[str, Any]) -> str:
        """Where the pictures are."""
        return "\n".join(f"drawn in {path}" for path in report.get("plots", ()))


def _mean_probability(tree: "Tree", probabilities: Mapping["Constituent", float]) -> float:
    """The expected share of right constituents, of which the top node is none; 1 if there are none."""
    from margrave.data.constituents import TOPS

    constituents = [each for each in tree.constituents() if each.label not in TOPS]
    return sum(probabilities.get(each, 0.0) for each in constituents) / len(constituents) if constituents else 1.0


def _read(path: str, *, labelled: bool) -> list["Tree"]:
    from margrave.data.constituents import without_top
    from margrave.datasets.brackets import read_brackets

    trees = list(read_brackets(source(path)))
    if not trees:
        raise DataError(display_name(path), None, "it holds no trees.")
    if labelled and all(without_top(tree).label == "X" for tree in trees):
        raise DataError(display_name(path), None, "its trees have no constituents: all are labelled X.")
    return trees


def _scores(gold: Sequence[Any], predicted: Sequence[Any]) -> dict[str, float | None]:
    from margrave.metrics import bracket_scores

    scores = bracket_scores(gold, predicted)
    return {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "exact_match": scores.exact_match,
        "tagging": scores.tagging,
        "without_crossing": scores.without_crossing / max(scores.trees, 1),
    }
