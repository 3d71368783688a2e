"""Tagging sequences: one token a line, its columns side by side, the label last."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from margrave.cli.reports import percent, table
from margrave.cli.streams import batches, shown_name, source
from margrave.cli.tasks.base import Job, Model, Task
from margrave.errors import DataError, counted

if TYPE_CHECKING:
    from margrave.estimators import SequenceTagger
    from margrave.inputs.templates import Templates
    from margrave.losses import LossFamily
    from margrave.metrics import Counts, SpanScores

Rows = list[tuple[str, ...]]  # of one sequence: the columns of every token

_BATCH = 1000  # sequences that are predicted at once: enough for all threads, and little memory


@dataclass(frozen=True)
class Tagging(Task):
    """Learns a label for every token of a sequence."""

    name: ClassVar[str] = "tagging"
    trained: ClassVar[str] = "SequenceTagger"
    default_loss: ClassVar[str] = "log"

    templates: str | None = None
    separator: str | None = None
    features: str = "observed"
    order: int = 1
    cost: str | None = None

    def __post_init__(self) -> None:
        from margrave.features.table import features_named

        features_named(self.features)

    def inputs(self) -> list[str | None]:
        """The templates."""
        return [self.templates]

    def loss_settings(self) -> dict[str, Any]:
        """The cost of a wrong label sequence is the loss's."""
        return {} if self.cost is None else {"cost": self.cost}

    def job(self, data: str, dev: str | None, loss: "str | LossFamily", settings: dict[str, Any]) -> Job:
        """Sequences whose attributes are made by templates when they are needed."""
        from margrave.learners import learner_named

        # TAB and \t are easier to type than the character
        separator = "\t" if self.separator in ("TAB", "tab", r"\t") else self.separator
        sentences, templates = _training_data(data, separator, self.templates)
        n_columns = len(sentences[0][0]) - 1
        y = _labels(sentences)
        dev_pair = None
        if dev is not None:
            dev_sentences = list(_labelled(dev, separator, n_columns))
            dev_pair = _attributes(templates, dev_sentences), _labels(dev_sentences)

        from margrave.estimators import SequenceTagger

        # F1 counts parts that occur once
        tied = "untied" not in learner_named(settings["learner"]).needs and self.cost != "f1"
        return Job(
            SequenceTagger(loss, features=self.features, order=self.order, tied=tied, **settings),
            _attributes(templates, sentences),
            y,
            {"n_sequences": len(y), "n_tokens": sum(map(len, y))},
            {"templates": list(templates.templates), "n_columns": n_columns, "separator": separator},
            dev_pair,
            _dev_scores,
            {"dev": dev_pair},
        )

    @staticmethod
    def dev_summary(scores: Mapping[str, Any]) -> str:
        """Accuracy, and the ratios of spans if the labels write some."""
        text = f"accuracy {percent(scores['accuracy'])}"
        if scores["f1"] is None:
            return text
        return ", ".join([text, *(f"{name} {percent(scores[name.lower()])}" for name in ("precision", "recall", "F1"))])

    @staticmethod
    def model(path: str, estimator: "SequenceTagger") -> "TaggingModel":
        """The tagger with its templates."""
        from margrave.inputs.templates import Templates

        match estimator.metadata_:
            case {
                "templates": [str(), *_] as templates,
                "n_columns": int(n_columns),
                "separator": None | str() as separator,
            }:
                return TaggingModel(estimator, Templates(templates), n_columns, separator)
        raise DataError(path, None, "it holds no templates to make attributes with: train it with 'margrave train'.")

    @staticmethod
    def sizes(estimator: "SequenceTagger") -> dict[str, Any]:
        """Labels, attributes and weights."""
        return {
            "n_labels": len(estimator.classes_),
            "n_attributes": estimator.features_.tokens.attributes,
            "n_weights": estimator.n_weights_,
        }


@dataclass(frozen=True)
class TaggingModel(Model):
    """A tagger, and how it makes attributes from columns."""

    does: ClassVar[str] = "tags sequences"
    options: ClassVar[tuple[str, ...]] = ("scheme",)

    tagger: "SequenceTagger"
    templates: "Templates"
    n_columns: int  # before the label
    separator: str | None

    def predicted_lines(self, path: str, marginals: bool, **options: Any) -> Iterator[list[str]]:
        """The input's columns and the label, with a blank line after every sequence."""
        classes = self.tagger.classes_.tolist()
        between = self.separator or " "
        for batch in batches(_read(path, self.separator), _BATCH):
            width = len(batch[0][0])
            if not self.templates.n_columns <= width <= self.n_columns + 1:
                expected = f"the model was trained on {counted(self.n_columns, 'column')} and a label"
                raise DataError(shown_name(path), None, f"{counted(width, 'column')}, but {expected}.")
            X = [self.templates.attributes(rows) for rows in batch]
            predicted = self.tagger.predict(X)
            added = [[[label] for label in labels] for labels in predicted]
            if marginals:
                for fields, labels, mu in zip(added, predicted, self.tagger.predict_marginals(X), strict=True):
                    for field, label, probabilities in zip(fields, labels, mu, strict=True):
                        field.append(f"{probabilities[classes.index(label)]:.4f}")
            yield [
                line
                for rows, fields in zip(batch, added, strict=True)
                for line in [*(between.join([*row, *field]) for row, field in zip(rows, fields, strict=True)), ""]
            ]

    def evaluation(self, path: str, scheme: str | None = None, **options: Any) -> dict[str, Any]:
        """Accuracies, and precision, recall and F1 of spans where the labels are tags of some."""
        from margrave.metrics import sequence_accuracy, token_accuracy

        gold: list[list[str]] = []
        predicted: list[list[str]] = []
        for batch in batches(_labelled(path, self.separator, self.n_columns), _BATCH):
            gold += _labels(batch)
            predicted += self.tagger.predict(_attributes(self.templates, batch))
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


def _span_table(report: Mapping[str, Any]) -> str:
    counts, ratios = ("gold", "predicted", "correct"), ("precision", "recall", "f1")
    overall = {name: sum(of[name] for of in report["labels"].values()) for name in counts}
    width = max(map(len, [*report["labels"], "overall"]))
    lines = [" " * width + "".join(f"{name:>11}" for name in (*counts, "precision", "recall", "F1"))]
    for label, of in [*report["labels"].items(), ("overall", {**report, **overall})]:
        texts = [*(f"{of[name]:,}" for name in counts), *(percent(of[name]) for name in ratios)]
        lines.append(f"{label:<{width}}" + "".join(f"{text:>11}" for text in texts))
    return "\n".join(lines)


# ---- data ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The attributes of a sequence, made when they are asked for: those of a corpus would fill the memory."""

    templates: "Templates"
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.templates.attributes(self.rows))


def _attributes(templates: "Templates", sentences: Iterable[Rows]) -> list[_Sentence]:
    return [_Sentence(templates, rows) for rows in sentences]


def _labels(sentences: Iterable[Rows]) -> list[list[str]]:
    return [[row[-1] for row in rows] for rows in sentences]


def _read(path: str, separator: str | None) -> Iterator[Rows]:
    """The sequences of a file or of standard input, at least one."""
    from margrave.datasets import read_columns

    sentences = read_columns(source(path), separator=separator)
    first = next(sentences, None)
    if first is None:
        raise DataError(shown_name(path), None, "it holds no sequences.")
    yield first
    yield from sentences


def _training_data(path: str, separator: str | None, templates: str | None) -> tuple[list[Rows], "Templates"]:
    """Labelled sequences, and the templates of a file, or of those built in, for their columns."""
    from margrave.inputs.templates import default_templates, read_templates

    given = None if templates is None else read_templates(templates)
    sentences = list(_read(path, separator))
    n_columns = len(sentences[0][0]) - 1
    if n_columns == 0:
        raise DataError(path, None, "1 column, but at least 2 are needed: the word and its label.")
    if templates is None or given is None:
        return sentences, default_templates(n_columns)
    if given.n_columns > n_columns:
        last, asked = n_columns - 1, given.n_columns - 1
        raise DataError(
            templates, None, f"it asks for column {asked}, but before the label {path} has only columns 0 to {last}."
        )
    return sentences, given


def _labelled(path: str, separator: str | None, n_columns: int) -> Iterator[Rows]:
    """Sequences that have a label after as many columns as the model was trained on."""
    for rows in _read(path, separator):
        if len(rows[0]) != n_columns + 1:
            raise DataError(
                shown_name(path),
                None,
                f"{counted(len(rows[0]), 'column')}, but {n_columns + 1} are needed, the label last.",
            )
        yield rows


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
