"""Tagging sequences: one token per line in columns, one of which is the label; or CoNLL-U."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli import conllu
from margrave.cli.kernels import KernelOptions
from margrave.cli.label_costs import LabelCostOptions
from margrave.cli.lemmas import LEMMA
from margrave.cli.options import command_option
from margrave.cli.reports import percent, table
from margrave.cli.sequences import Batch, ColumnReader, ConlluReader, Labeled, SequenceReader
from margrave.cli.streams import display_name, naming, source, with_own
from margrave.cli.tasks.base import Job, Model, Task, top_table
from margrave.errors import DataError, MargraveError, quoted
from margrave.options import option
from margrave.settings.sequence_tagger import SegmentSettings, TaggerSettings

if TYPE_CHECKING:
    from margrave import SequenceTagger
    from margrave.features.templates import Templates
    from margrave.metrics import Counts, SpanScores

_BATCH = 1000  # sequences that are evaluated at once
_MANY_LABELS = 1000  # more distinct values than this are rarely labels


@dataclass(eq=False, repr=False, kw_only=True)
class TaggingSettings(SegmentSettings, TaggerSettings):
    """The settings of both kinds of taggers, and which of them it is."""

    segments: bool = option(
        False,
        "Predict whole segments instead of one label per token. Labels must be IOB2 tags, or IOB1 tags, which are "
        "converted; predictions are IOB2 tags.",
    )


@dataclass(eq=False, repr=False)
class Tagging(KernelOptions, LabelCostOptions, Task):
    """Learns a label for every token of a sequence."""

    name = "tagging"
    summary = "a label for each token of a sequence"
    estimator = "margrave.estimators:SequenceTagger"
    also = ("SegmentTagger",)
    settings = TaggingSettings
    fields = ("weights", "order", "segments", "max_length", "transition_scale", "starts")
    data = """One token per line in columns, a blank line after each sequence. One column is the label. CoNLL-U is read,
too (--format conllu, or a name that ends in .conllu).

A template names columns of the token and of its neighbors, counted from 0 without the label; each gives a feature:

\b
    0[0]           the word
    0[-1]|0[0]     the word before and the word
    0[1].lower     the next word in lower case; also digits, shape, short_shape, prefix3, suffix3
    1[0]           column 1, such as the part of speech
    begin          the first token of the sequence; also end"""
    sample = "    Lady     PROPN  O\n    Cecily   PROPN  B-PER\n    sang     VERB   O\n    .        PUNCT  O"
    examples = (
        "margrave train train.conll -o names.margrave --dev dev.conll",
        "margrave train train.conll.gz -o names.margrave --loss hinge -C 0.1",
        "margrave train train.tsv -o names.margrave --separator TAB --templates templates.txt",
        "margrave train train.tsv -o names.margrave --separator TAB --header --label entity",
        "margrave train en-ud-train.conllu.gz -o tags.margrave --label xpos --columns form,upos",
        "margrave train en-ud-train.conllu.gz -o lemmas.margrave --label lemma --columns form,upos",
        "margrave train train.conll -o names.margrave --beta inf --gamma 0.5 --label-cost O=0.2",
        "margrave train train.conll -o names.margrave --edges transitions.txt --transition-scale 2",
        "margrave train train.conll -o names.margrave --segments",
        "margrave train train.conll -o names.margrave --segments --alternatives train.spans --loss latent-log",
        "margrave train train.conll -o names.margrave --checkpoint names.checkpoint",
        "margrave train train.conll -o names.margrave --loss hinge --rescale slack --learner cutting-plane",
    )
    predicts = (
        "the columns of the input, followed by the predicted label. The input must have the columns of the training "
        "data, with or without the label. Columns are separated as in training, or by a blank. In CoNLL-U, the "
        "predicted column is filled in, and --marginals writes the probability to misc."
    )
    measures = (
        "token and sequence accuracy; where labels are tags of spans (O, B-PER, I-PER, ...), also precision, recall "
        "and F1 of whole spans, counted as conlleval does."
    )
    evaluate_options = (
        command_option(
            "scheme",
            str,
            "How tags write spans.",
            choices=("IOB1", "IOB2", "BIOES"),
            if_none="found by the tags",
            applies="tagging",
        ),
        command_option(
            "alternatives",
            str,
            "Further correct spans, as in training: a span counts as found if it, or an overlapping alternative, is "
            "predicted.",
            metavar="FILE",
            applies="tagging",
        ),
    )

    chosen: TaggingSettings
    label: str | None = option(
        None,
        "The column to predict: a number, counted from 0, or a name of the --header. In CoNLL-U: lemma, upos, xpos, "
        "feats, deprel or misc:NAME. Lemmas are made from forms by rules.",
        if_none="the last column, or upos in CoNLL-U",
        metavar="COLUMN",
    )
    columns: str | None = option(
        None,
        "In CoNLL-U, the columns that labels depend on, such as form,xpos.",
        if_none="form",
        metavar="NAMES",
    )
    format: str | None = option(
        None,
        "The file format.",
        choices=("columns", "conllu"),
        if_none="by the extension of the file, or else columns",
    )
    separator: str | None = option(None, "Column separator, such as TAB.", if_none="any white space", metavar="TEXT")
    header: bool = option(False, "The first line of column files names the columns.")
    templates: str | None = option(
        None, "Feature templates, one per line.", if_none="a built-in set for words", metavar="FILE"
    )
    edges: str | None = option(
        None,
        "Feature templates of transitions, one per line: each gives features of the label before and the label of the "
        "token.",
        metavar="FILE",
    )
    alternatives: str | None = option(
        None,
        "With --segments and --loss latent-log or latent-hinge, or --learner lp: further correct spans. Each line has "
        "the number of a sequence, a label, the first token and the one after the last, all counted from 0.",
        metavar="FILE",
    )
    cost: str | None = option(
        None,
        "Cost of a wrong sequence, in a loss with a cost: hamming, zero-one or f1; with --segments also segments.",
        if_none="hamming, or zero-one with --learner lp",
    )

    def __post_init__(self) -> None:
        from margrave.maps.table import table_named

        table_named(self.chosen.weights)
        segments = self.chosen.segments
        if segments and self.chosen.order != 1:
            raise MargraveError("--segments and --order exclude each other: a segment depends on the one before it.")
        if segments and self.chosen_kernel() is not None:
            raise MargraveError("--segments and --kernel exclude each other: give one of them.")
        if self.chosen.max_length is not None and not segments:
            raise MargraveError("--max-length applies to --segments only.")
        if self.edges is not None and segments:
            raise MargraveError("--segments and --edges exclude each other: segments have no features of transitions.")
        if self.cost == "segments" and not segments:
            raise MargraveError("--cost segments applies to --segments only.")
        if self.chosen_kernel() is not None and "weights" in self.given:
            raise MargraveError("--weights and --kernel exclude each other: give one of them.")

    def given_cost(self) -> Any:
        """The cost by name or by labels."""
        return self.chosen_cost(self.cost)

    def job(self, data: str, dev: str | None) -> Job:
        """Sequences of rows, whose features the model makes by its templates."""
        from margrave import SegmentTagger
        from margrave.features.segments import SegmentTemplates
        from margrave.features.templates import Templates, read_templates
        from margrave.learners import learner_named

        self._check_alternatives()
        given, of_edges = (None if path is None else read_templates(path) for path in (self.templates, self.edges))
        reader, (X, y) = self._training_data(data)
        n_columns = X.width
        for path, templates in ((self.templates, given), (self.edges, of_edges)):
            if templates is not None and templates.n_columns > n_columns:
                columns = f"without the label {data} has only columns 0 to {n_columns - 1}"
                if reader.label_place == -1:
                    columns = columns.replace("without", "before")
                raise DataError(str(path), None, f"it uses column {templates.n_columns - 1}, but {columns}.")
        _check_number_of_labels(y)
        dev_pair = None if dev is None else reader.labeled(dev, n_columns)
        if self.chosen.segments:
            y = _with_alternatives(self.alternatives, _well_formed(reader, data, y))
            dev_pair = (
                None if dev is None or dev_pair is None else (dev_pair[0], _well_formed(reader, dev, dev_pair[1]))
            )
        # F1 counts parts that occur once.
        tied = "untied" not in learner_named(self.chosen.learner).needs and self.cost != "f1"
        parameters = self.parameters() | {
            "kernel": self.chosen_kernel(),
            "features": Templates(None if given is None else given.templates, label=reader.label_place),
            "tied": tied,
        }
        segments, order, max_length = (parameters.pop(name) for name in ("segments", "order", "max_length"))
        if segments:
            tagger = SegmentTagger(templates=SegmentTemplates(), max_length=max_length, **parameters)
        else:
            tagger = self.estimator_class()(order=order, **parameters)
        sizes = {"n_sequences": len(y), "n_tokens": sum(map(len, y))}
        metadata = reader.metadata()
        to_fit: dict[str, Any] = {"dev": dev_pair}
        to_predict: dict[str, Any] = {}
        if of_edges is not None:
            metadata["edges"] = list(of_edges.templates)
            of_edges = of_edges.learn(X)
            to_fit = {"edges": of_edges.transform(X), "dev": None}
            if dev_pair is not None:
                to_predict = {"edges": of_edges.transform(dev_pair[0])}
                to_fit["dev"] = (*dev_pair, to_predict["edges"])

        def scores(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, float | None]:
            assert dev_pair is not None
            return _dev_scores(*(reader.meanings(dev_pair[0], labels) for labels in (gold, predicted)))

        return Job(tagger, X, y, sizes, metadata, dev_pair, scores, to_fit, to_predict)

    def _check_alternatives(self) -> None:
        """Refuse labels of single tokens, and losses that would take the tags as the only correct answer."""
        from margrave.learners import learner_named
        from margrave.losses import loss_named

        if self.alternatives is None:
            return
        if not self.chosen.segments:
            raise MargraveError("--alternatives applies to --segments only.")
        if not loss_named(self.chosen.loss).latent and learner_named(self.chosen.learner).name != "lp":
            raise MargraveError("--alternatives needs --loss latent-log, --loss latent-hinge or --learner lp.")

    def _training_data(self, data: str) -> tuple[SequenceReader, Labeled]:
        """How the files are read, and the sequences of the first with their labels."""
        format = self.format or conllu.format_by_extension(data) or "columns"
        if format == "conllx":
            raise DataError(display_name(data), None, "CoNLL-X is for --task parse; --format says how to read it here.")
        if format == "conllu":
            for name, value in (("separator", self.separator), ("header", self.header or None)):
                if value is not None:
                    raise MargraveError(f"--{name} applies to column files only, and {display_name(data)} is CoNLL-U.")
            label = conllu.check_column(self.label or "upos")
            columns = conllu.check_columns(self.columns or "form")
            if label in columns:
                raise MargraveError(f"{label} is both the --label and one of the --columns.")
            if label == LEMMA and "form" not in columns:
                raise MargraveError("--label lemma makes lemmas from forms: add form to --columns.")
            of_words = ConlluReader(label, columns)
            return of_words, of_words.labeled(data, len(columns))
        if self.columns is not None:
            raise MargraveError(f"--columns applies to CoNLL-U only, and {display_name(data)} is a column file.")
        # TAB and \t are easier to type than the character.
        separator = "\t" if self.separator in ("TAB", "tab", r"\t") else self.separator
        return ColumnReader.for_training(data, separator, self.header, self.label)

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """Accuracy, and the ratios of spans if the labels write some."""
        text = f"accuracy {percent(scores['accuracy'])}"
        if scores["f1"] is None:
            return text
        return ", ".join([text, *(f"{name} {percent(scores[name.lower()])}" for name in ("precision", "recall", "F1"))])

    @staticmethod
    def model(path: str, estimator: "SequenceTagger") -> "TaggingModel":
        """The tagger with its templates, and how it reads files."""
        from margrave.features.templates import Templates

        if not isinstance(estimator.features_, Templates):
            raise DataError(
                path, None, "it contains no templates to make features with: train it with 'margrave train'."
            )
        templates, metadata = estimator.features_, estimator.metadata_
        reader: SequenceReader
        match metadata:
            case {"format": "conllu", "label": str(label), "columns": [str(), *_] as columns}:
                reader = ConlluReader(label, columns)
            case {"separator": None | str() as separator, "header": [str(), *_] as header}:
                reader = ColumnReader(separator, templates.label, tuple(header))
            case _:
                reader = ColumnReader(metadata.get("separator"), templates.label)
        edges = None
        if "edges" in metadata:
            assert templates.columns is not None
            edges = Templates(metadata["edges"], label=templates.label).learn([[[""] * templates.columns]])
        return TaggingModel(estimator, templates, reader, edges)

    @staticmethod
    def sizes(estimator: "SequenceTagger") -> dict[str, Any]:
        """Labels, features and weights."""
        sizes = Task.sizes(estimator)
        return {"n_labels": sizes["n_classes"], "n_features": sizes["n_features"], "n_weights": sizes["n_weights"]}

    @staticmethod
    def inspection(estimator: "SequenceTagger", top: int, sign: str | None = None) -> dict[str, Any]:
        """The top features of each label, and the top transitions."""
        report = Task.inspection(estimator, top, sign)
        if top:
            report["transitions"] = [[list(map(str, of)), weight] for of, weight in estimator.top_transitions(top)]
        return report

    @staticmethod
    def inspection_summary(report: Mapping[str, Any]) -> str:
        """The same as people read it."""
        if "top" not in report:
            return ""
        moves = [(" -> ".join(labels), weight) for labels, weight in report["transitions"]]
        return top_table({**report["top"], "transitions": moves})


def _well_formed(reader: SequenceReader, path: str, y: Sequence[Sequence[str]]) -> list[list[str]]:
    """Tags in IOB2, from these or those of IOB1; other labels are refused with their line."""
    from margrave.data.tags import convert_tags

    for i, tags in enumerate(y):
        for position, tag in enumerate(tags):
            if tag != "O" and not re.fullmatch("[BI]-(?!O$).+", tag):
                line = None if path == "-" else next(islice(reader.lines(path), i, None))[position]
                raise DataError(
                    display_name(path), line, f"the label is {quoted(tag)}, and --segments needs O, B-label or I-label."
                )
    return [convert_tags(tags, "IOB2", "IOB2") for tags in y]


def _with_alternatives(path: str | None, y: list[list[str]]) -> list[list[str]]:
    """The tags with the alternatives of a file, if one is given."""
    from margrave.datasets import read_alternatives

    return y if path is None else [*read_alternatives(source(path), y)]


def _check_number_of_labels(y: Iterable[Sequence[str]]) -> None:
    labels = {label for labels in y for label in labels}
    if len(labels) > _MANY_LABELS:
        warnings.warn(
            f"the label column has {len(labels):,} distinct values, such as {quoted(min(labels))}: choose another with "
            "--label.",
            stacklevel=2,
        )


# ---- models ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class TaggingModel(Model):
    """A tagger, and how it reads and writes files."""

    does: ClassVar[str] = "tags sequences"
    options: ClassVar[tuple[str, ...]] = ("scheme", "alternatives")

    tagger: "SequenceTagger"
    templates: "Templates"
    reader: SequenceReader
    edges: "Templates | None" = None  # the features of transitions

    @property
    def n_columns(self) -> int:
        """The number of columns besides the label."""
        assert self.templates.columns is not None
        return self.templates.columns

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The input with the label, batch by batch."""
        first, batches = self.reader.unlabeled(path, self.n_columns, marginals)
        for text in self._on_threads(partial(self._written, marginals), batches):
            yield [first, text] if first else [text]
            first = ""
        if first:
            yield [first]

    def _written(self, marginals: bool, own: "_Own", read: Callable[[], Batch]) -> str:
        """A batch with its labels, without the end of its last line."""
        import numpy as np

        batch = read()
        X: Any = batch.table
        extras = own.extras(X)
        numbers = own.tagger.predict_numbers(X, **extras)
        probabilities = None
        if marginals:
            mu = np.concatenate([np.zeros((0, len(own.tagger.classes_))), *own.tagger.predict_marginals(X, **extras)])
            probabilities = mu[np.arange(len(numbers)), numbers]
        return batch.lines(own.tagger.classes_.tolist(), numbers, probabilities).removesuffix("\n")

    def _on_threads(self, work: Callable[["_Own", Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """What `work` makes of each item, in order. Each thread has a tagger of its own, to number values with."""
        from margrave.threads import available_threads

        threads = range(available_threads(self.tagger.n_jobs))
        return with_own([_Own(own_tagger(self.tagger), copy(self.edges)) for _ in threads], work, items)

    def evaluation(
        self, path: str, scheme: str | None = None, alternatives: str | None = None, **options: Any
    ) -> dict[str, Any]:
        """Accuracies, and precision, recall and F1 of spans where the labels are tags of some."""
        from margrave.data.tags import convert_tags
        from margrave.metrics import sequence_accuracy, token_accuracy

        X, gold = self.reader.labeled(path, self.n_columns)
        written = scheme or _scheme_of(chain(*gold))
        if self.tagger.saved_as == "SegmentTagger" and written is not None:  # Predictions are in IOB2.
            with naming(path):
                gold, scheme = [convert_tags(tags, written, "IOB2") for tags in gold], "IOB2"
        gold = self.reader.meanings(X, _with_alternatives(alternatives, gold))
        slices = (X.slice(first, min(first + _BATCH, len(X))) for first in range(0, len(X), _BATCH))
        predicted = [
            *chain.from_iterable(self._on_threads(lambda own, of: own.tagger.predict(of, **own.extras(of)), slices))
        ]
        predicted = self.reader.meanings(X, predicted)
        scores = _span_scores(gold, predicted, scheme)
        return {
            "n_sequences": len(gold),
            "n_tokens": sum(map(len, gold)),
            "accuracy": token_accuracy(gold, predicted),
            "sequence_accuracy": sequence_accuracy(gold, predicted),
            **_ratios(scores),
            "labels": None if scores is None else {label: _counts(of) for label, of in scores.by_label.items()},
        }

    def evaluation_summary(self, report: Mapping[str, Any]) -> str:
        """Accuracies, and a table of the spans, label by label."""
        rows = [
            ("sequences", f"{report['n_sequences']:,}"),
            ("tokens", f"{report['n_tokens']:,}"),
            ("token accuracy", percent(report["accuracy"])),
            ("sequence accuracy", percent(report["sequence_accuracy"])),
        ]
        accuracies = table(rows, 20)
        return accuracies if report["labels"] is None else f"{accuracies}\n\n{_span_table(report)}"


@dataclass(eq=False, repr=False)
class _Own:
    """What a thread tags with."""

    tagger: "SequenceTagger"
    edges: "Templates | None"

    def extras(self, X: Any) -> dict[str, Any]:
        """What the tagger takes besides the sequences."""
        return {} if self.edges is None else {"edges": self.edges.transform(X)}


def own_tagger(tagger: "SequenceTagger") -> "SequenceTagger":
    """The same tagger for one thread: it numbers values by itself."""
    own = copy(tagger)
    own.features_, own.n_jobs = copy(tagger.features_), 1
    return own


def _span_table(report: Mapping[str, Any]) -> str:
    counts, ratios = ("gold", "predicted", "correct"), ("precision", "recall", "f1")
    overall = {name: sum(of[name] for of in report["labels"].values()) for name in counts}
    width = max(map(len, [*report["labels"], "overall"]))
    lines = [" " * width + "".join(f"{name:>11}" for name in (*counts, "precision", "recall", "F1"))]
    for label, of in [*report["labels"].items(), ("overall", {**report, **overall})]:
        texts = [*(f"{of[name]:,}" for name in counts), *(percent(of[name]) for name in ratios)]
        lines.append(f"{label:<{width}}" + "".join(f"{text:>11}" for text in texts))
    return "\n".join(lines)


# ---- scores ----------------------------------------------------------------------------------------------------------


def _dev_scores(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, float | None]:
    from margrave.metrics import token_accuracy

    return {"accuracy": token_accuracy(gold, predicted), **_ratios(_span_scores(gold, predicted))}


def _span_scores(gold: list[list[str]], predicted: list[list[str]], scheme: str | None = None) -> "SpanScores | None":
    """Scores of the spans, if a scheme is given or the labels look as if they write some."""
    from margrave.metrics import span_scores

    scheme = scheme or _scheme_of(chain(*gold, *predicted))
    return None if scheme is None else span_scores(gold, predicted, scheme)


def _scheme_of(labels: Iterable[str]) -> str | None:
    """The scheme by which the labels write spans, or None if they do not look so; IOB1 and IOB2 are read alike."""
    prefixes = set()
    for label in set(labels) - {"O"}:
        if not re.fullmatch(r"[BIES]-.+", label):
            return None
        prefixes.add(label[0])
    return None if not prefixes else "BIOES" if prefixes & set("ES") else "IOB2"


def _ratios(of: "Counts | None") -> dict[str, float | None]:
    if of is None:
        return {"precision": None, "recall": None, "f1": None}
    return {"precision": of.precision, "recall": of.recall, "f1": of.f1}


def _counts(of: "Counts") -> dict[str, float | None]:
    return {"gold": of.gold, "predicted": of.predicted, "correct": of.correct, **_ratios(of)}
