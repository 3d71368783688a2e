"""Dependency trees: CoNLL-U or CoNLL-X in, the same with heads out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli import conllu
from margrave.cli.options import Option, option
from margrave.cli.reports import percent, table
from margrave.cli.streams import batches, display_name, naming, template_lines
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, MargraveError

if TYPE_CHECKING:
    from margrave.estimators import DependencyParser

_BATCH = 200  # sentences that are parsed at once
_FORMAT = "conllu or conllx; by the extension of the file if not given, or else conllu."


@dataclass(eq=False, repr=False)
class Parse(Task):
    """Learns the head of every word."""

    name = "parse"
    summary = "the head of each word of a sentence"
    estimator = "margrave.estimators:DependencyParser"
    default_loss = "log"
    data = (
        "Files are CoNLL-U, or CoNLL-X (--format conllx, or a name that ends in .conllx). Templates of arcs, one per "
        "line, join columns of the head (h[0]), of the word (w[1].lower) and the direction and length (way) by |."
    )
    sample = "    1  Dogs  dog   NOUN  _  _  2  nsubj  _  _\n    2  bark  bark  VERB  _  _  0  root   _  _"
    examples = (
        "margrave train --task parse train.conllu -o english.model --dev dev.conllu -C 0.1",
        "margrave train --task parse basque.train -o basque.model --format conllx --columns form,xpos",
    )
    predicts = "the input with its heads filled in (deprel is _ where a head changes); --marginals are put in misc."
    measures = "the share of words with the right head (UAS), and of sentences with the right tree."
    predict_options = (Option("format", _FORMAT, metavar="NAME", applies="parsing", check=conllu.check_format),)
    evaluate_options = predict_options

    format: str | None = option(None, _FORMAT, "NAME")
    columns: str = option("form,upos", "The columns that heads depend on: form, lemma, ..., misc:NAME.", "NAMES")
    templates: str | None = option(None, "Arc templates, one per line; a built-in set if not given.", "FILE")
    several_roots: bool = option(False, "Let several words of a sentence hang on the root.")
    features: str = option("all", "Weights for all attributes, or hashed to some bits: all or hash:BITS.", "NAME")
    cost: str | None = option(None, "What a wrong tree costs: hamming or zero-one; hamming if not given.", "NAME")

    def __post_init__(self) -> None:
        from margrave.features.table import features_named

        conllu.check_columns(self.columns)
        features_named(self.features)
        conllu.check_format(self.format or "conllu")

    def job(self, data: str, dev: str | None, settings: dict[str, Any]) -> Job:
        """Sentences with their heads."""
        from margrave.inputs import ArcTemplates

        with naming(self.templates or ""):
            inputs = ArcTemplates(None if self.templates is None else template_lines(self.templates))
        format = self.format or conllu.format_by_extension(data) or "conllu"
        columns = conllu.check_columns(self.columns)
        X, y = _examples(data, format, columns)
        for number, heads in enumerate(y, 1):
            if heads.count(0) > 1 and not self.several_roots:
                raise DataError(display_name(data), None, f"sentence {number} has several roots: give --several-roots.")
        dev_format = self.format or (dev and conllu.format_by_extension(dev)) or format
        dev_pair = None if dev is None else _examples(dev, dev_format, columns)
        own = {"inputs": inputs, "features": self.features, "single_root": not self.several_roots}
        sizes = {"n_sentences": len(y), "n_words": sum(map(len, y))}
        metadata = {"format": format, "columns": columns}
        parser = self.estimator_class()(**own, **settings)
        return Job(parser, X, y, sizes, metadata, dev_pair, _scores, {"dev": dev_pair})

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """The attachment score, and whole trees."""
        return f"UAS {percent(scores['uas'])}, whole trees {percent(scores['whole_trees'])}"

    @staticmethod
    def model(path: str, estimator: "DependencyParser") -> "ParseModel":
        """The parser, with the columns that it was trained on."""
        match estimator.metadata_:
            case {"format": "conllu" | "conllx" as format, "columns": [str(), *_] as columns}:
                return ParseModel(estimator, format, columns)
        raise DataError(path, None, "it does not say how to read sentences: train it with 'margrave train'.")


@dataclass(eq=False, repr=False)
class ParseModel(Model):
    """A parser, and the columns of words that it reads."""

    does: ClassVar[str] = "parses sentences"
    options: ClassVar[tuple[str, ...]] = ("format",)

    parser: "DependencyParser"
    format: str
    columns: Sequence[str]

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The sentences with their heads."""
        from margrave.datasets import conllu_lines

        format = options.get("format") or conllu.format_by_extension(path) or self.format
        if marginals and format != "conllu":
            raise MargraveError("--marginals needs the column misc of CoNLL-U, which CoNLL-X does not have.")
        for batch in batches(conllu.read_sentences(path, format), _BATCH):
            X = [conllu.rows(sentence, self.columns) for sentence in batch]
            for k, heads in enumerate(self.parser.predict(X)):
                words = [conllu.with_head(word, head) for word, head in zip(batch[k].words, heads, strict=True)]
                batch[k] = replace(batch[k], words=words)
            if marginals:
                for sentence, mu in zip(batch, self.parser.predict_proba(X), strict=True):
                    sentence.words = [
                        conllu.with_probability(w, p[w.head]) for w, p in zip(sentence.words, mu, strict=True)
                    ]
            yield list(conllu_lines(batch))

    def evaluation(self, path: str, **options: Any) -> dict[str, Any]:
        """UAS and whole trees."""
        X, y = _examples(path, options.get("format") or conllu.format_by_extension(path) or self.format, self.columns)
        return {"n_sentences": len(y), "n_words": sum(map(len, y)), **_scores(y, self.parser.predict(X))}

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """The same, one score per line."""
        counts = [(name, f"{report[f'n_{name}']:,}") for name in ("sentences", "words")]
        scores = [("UAS", percent(report["uas"])), ("whole trees", percent(report["whole_trees"]))]
        return table([*counts, *scores], 20)


def _examples(path: str, format: str, columns: Sequence[str]) -> tuple[list[Any], list[list[int]]]:
    """The rows of every sentence, and its heads, all of which must be known."""
    X, y = [], []
    for number, sentence in enumerate(conllu.read_sentences(path, format), 1):
        with naming(f"{display_name(path)}, sentence {number}"):
            y.append(sentence.heads)
        X.append(conllu.rows(sentence, columns))
    return X, y


def _scores(gold: Sequence[Sequence[int]], predicted: Sequence[Sequence[int]]) -> dict[str, float | None]:
    from margrave.metrics import attachment_scores, sequence_accuracy

    return {"uas": attachment_scores(gold, predicted).uas, "whole_trees": sequence_accuracy(gold, predicted)}
