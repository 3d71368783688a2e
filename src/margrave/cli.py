"""The command `margrave`: taggers of sequences and classifiers in taxonomies, trained, applied, measured, described.

Only typer is imported with the module, and the rest inside the commands: `--help` must answer at once.
"""

import json
import os
import re
import signal
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO, TextIOWrapper
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO

import typer

from margrave import __version__
from margrave.errors import DataError, MargraveError, unknown

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    from margrave.datasets.opening import TextSource
    from margrave.estimators import SequenceTagger, TaxonomyClassifier
    from margrave.estimators.base import StructuredEstimator
    from margrave.features.templates import Templates
    from margrave.losses import LossFamily
    from margrave.metrics import Counts, SpanScores
    from margrave.structures.taxonomy import Taxonomy

_Rows = list[tuple[str, ...]]  # of one sequence: the columns of every token

_BATCH = 1000  # sequences that are predicted at once: enough for all threads, and little memory
_INTERRUPTED = 130  # the exit code by which shells know Ctrl-C
_DEFAULT_LOSS = {"tagging": "log", "taxonomy": "hinge"}  # of every task

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help keeps the examples as they are written, at half the time
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """Runs the command line."""
    app(prog_name="margrave")


def _show_version(wanted: bool) -> None:
    if wanted:
        _write(f"margrave {__version__}")
        raise typer.Exit


@app.callback()
def margrave(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn to tag sequences or to classify in a taxonomy, with a certificate of how far a model is from the optimum.

    Data are text files (UTF-8, plain or gzip); - stands for standard input. Sequences have one token a line, its
    columns side by side, the label last, and a blank line between sequences.

    \b
        Lady     PROPN  O
        Cecily   PROPN  B-PER
        sang     VERB   O
        .        PUNCT  O

    \b
    margrave train train.conll -o names.model --dev dev.conll
    margrave predict names.model new.conll -o tagged.conll
    margrave evaluate names.model test.conll

    Examples of a taxonomy have one line each: a class, which may be a path, and the features or the text.

    \b
        4/6/2  1:0.5 7:2 12:1
        comp.sys.mac<TAB>The drive spins up, and then nothing happens.

    \b
    margrave train --task taxonomy train.svm -o images.model --taxonomy hierarchy.txt
    margrave predict images.model new.svm
    margrave inspect images.model
    """


@app.command()
def train(
    data: Annotated[
        str,
        typer.Argument(metavar="TRAIN", help="Sequences with labels, or examples with classes.", show_default=False),
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="MODEL", help="The model file to write.")],
    task: Annotated[
        str, typer.Option(metavar="NAME", help="tagging, of sequences, or taxonomy: one class an example.")
    ] = "tagging",
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="More data of the same kind, to measure the model on.")
    ] = None,
    C: Annotated[
        float, typer.Option("-C", min=0.0, metavar="NUMBER", help="What the losses weigh against |w|^2 / 2.")
    ] = 1.0,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="log, hinge, softmax-margin, perceptron, ramp or expected-cost; if not given, log for tagging and "
            "hinge for a taxonomy.",
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What a wrong output costs, in a loss that heeds it: hamming, zero-one or f1 for tagging, tree or "
            "zero-one for a taxonomy; the first of each if not given.",
        ),
    ] = None,
    rescale: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What the cost re-scales in the hinge loss: margin or slack; margin if not given."
        ),
    ] = None,
    slack: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2,
            metavar="N",
            help="How violated margins enter the hinge loss: 1 as they are, 2 squared, 0 not at all, for none may be "
            "violated; 1 if not given.",
        ),
    ] = None,
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto, lbfgs, cg, sgd, perceptron, eg, eg-batch, smo, smo-eg, mira, kbest-mira, bcfw, cccp, "
            "cutting-plane or one-slack; auto chooses by the loss and the size of the data.",
        ),
    ] = "auto",
    features: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Weights for the pairs of attribute and label that are observed, for all pairs, or for attributes "
            "hashed to some bits: observed, all or hash:BITS.",
        ),
    ] = "observed",
    order: Annotated[
        int, typer.Option(min=1, max=3, metavar="N", help="How many labels before it a label depends on.")
    ] = 1,
    templates: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Attribute templates, one a line; a built-in set for words if not given."),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What stands between columns, such as TAB; any white space if not given."),
    ] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The taxonomy: lines of a parent, a tab and a child, or of one node each; if not given, the classes "
            "are paths (4/6/2) or have dots (comp.sys.mac).",
        ),
    ] = None,
    descriptions: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What classes are about, also new ones: lines of a class, a tab and a text."),
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The most iterations; the learner's own limit if not given.")
    ] = None,
    tol: Annotated[float, typer.Option(min=0.0, metavar="NUMBER", help="The relative gap to stop at.")] = 1e-4,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The number of threads; all processors if not given.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Decides in which order learners that take one example at a time do so."),
    ] = 0,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep in this file how far the training is; if the file is there already, go on from it.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of the summary.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor the summary.")] = False,
) -> None:
    """Learn a model from labelled data.

    \b
    margrave train train.conll -o names.model --dev dev.conll
    margrave train train.conll.gz -o names.model --loss hinge -C 0.1
    margrave train train.tsv -o names.model --separator TAB --templates templates.txt
    margrave train train.conll -o names.model --checkpoint names.checkpoint
    margrave train train.conll -o names.model --loss hinge --rescale slack --learner cutting-plane

    A template names columns, counted from 0, of the token and of those around it; each gives an attribute:

    \b
        0[0]           the word
        0[-1]|0[0]     the word before and the word
        0[1].lower     the next word in lower case; also digits, shape, short_shape, prefix3, suffix3
        1[0]           column 1, such as the part of speech
        begin          the first token of the sequence; also end

    Examples of a taxonomy are lines of a class and features (svmlight: 4/6/2 1:0.5 7:2), or of a class, a tab and a
    text, whose words are weighted by tf-idf. A wrong class costs the height of the first node above both classes:

    \b
    margrave train --task taxonomy train.svm -o images.model --taxonomy hierarchy.txt
    margrave train --task taxonomy posts.txt -o posts.model --dev dev.txt -C 10
    margrave train --task taxonomy posts.txt -o posts.model --rescale slack --slack 2

    Ctrl-C ends the training early and saves the model so far. With --checkpoint the same command goes on from there,
    and also after the training was killed.
    """
    with _one_line_messages("interrupted before the first pass: nothing was written."):
        from margrave.features.table import features_named
        from margrave.learners import learner_named

        # All that can be wrong is found before the training, and the cheapest to find first.
        if task not in _DEFAULT_LOSS:
            raise unknown("task", task, _DEFAULT_LOSS)
        of_sequences = {
            "--templates": templates is not None,
            "--separator": separator is not None,
            "--features": features != "observed",
            "--order": order != 1,
        }
        of_classes = {"--taxonomy": taxonomy is not None, "--descriptions": descriptions is not None}
        _refuse_options_of_others(task, tagging=of_sequences, taxonomy=of_classes)
        chosen = _loss_chosen(task, loss, cost, rescale, slack)
        features_named(features)
        tied = "untied" not in learner_named(learner).needs and cost != "f1"  # F1 counts parts that occur once
        inputs = [data, dev, templates, taxonomy, descriptions]
        _check_output(output, inputs)
        if checkpoint is not None:
            _check_output(checkpoint, inputs)
            if os.path.realpath(checkpoint) == os.path.realpath(output):
                raise DataError(checkpoint, None, "it is both the model and the checkpoint: give one another name.")
        settings = {
            "C": C,
            "learner": learner,
            "max_iter": max_iter,
            "tol": tol,
            "n_threads": threads,
            "seed": seed,
            "verbose": not quiet and sys.stderr.isatty(),
        }
        if task == "tagging":
            settings |= {"features": features, "order": order, "tied": tied}
            job = _tagging_job(data, dev, _separator_named(separator), templates, chosen, settings)
        else:
            job = _taxonomy_job(data, dev, taxonomy, descriptions, chosen, cost, settings)
        model = job.model
        model.fit(job.X, job.y, checkpoint=checkpoint, **job.fit_options)
        with _no_interrupt():
            model.save(output, metadata=job.metadata)
        interrupted = model.stop_reason_ == "interrupted"
        if interrupted:
            passes = model.history_[-1].passes
            go_on = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
            _complain(f"interrupted after pass {passes:g}: the model so far is in {output}{go_on}")

    with _one_line_messages("interrupted."):
        report = _training_report(model) | job.sizes()
        if job.dev is not None:
            report["dev"] = job.score(job.dev[1], model.predict(job.dev[0]))
        report["model"] = output
        if as_json:
            _write(json.dumps(report, allow_nan=False))
        elif not quiet:
            _write(_training_summary(report))
    if interrupted:
        raise typer.Exit(_INTERRUPTED)


_ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]


@app.command()
def predict(
    model: _ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data, with or without labels; - for standard input.")],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write; standard output if not given."),
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add a column with the probability of the prediction.")
    ] = False,
) -> None:
    """Write what a model predicts.

    \b
    margrave predict names.model new.conll -o tagged.conll
    zcat new.conll.gz | margrave predict names.model - --marginals | less

    Of sequences, the input's columns are written and one more, the predicted label. The input has the columns of the
    training data; its last, the label, may be missing, and plays no part if it is there. Columns are written with the
    separator of the training, or a blank. A FILE that ends in .gz is packed.

    In a taxonomy, one class a line is written. The input's class may be missing here, too: features alone, or a text
    without a tab. Features and words that the training data did not have play no part.
    """
    with _one_line_messages("interrupted."):
        to_file = output is not None and output != "-"
        if output is not None and to_file:
            _check_output(output, [model, data])
        loaded = _load(model)
        if isinstance(loaded, _TaxonomyModel):
            lines = _classified_lines(loaded, data, marginals)
        else:
            lines = _tagged_lines(loaded, data, marginals)
        if output is not None and to_file:
            from margrave.datasets.opening import write_lines

            write_lines(output, chain.from_iterable(lines))
        else:
            for of_batch in lines:
                _write("\n".join(of_batch))


@app.command()
def evaluate(
    model: _ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data with labels.", show_default=False)],
    scheme: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How tags write spans: IOB1, IOB2 or BIOES; by their look if not given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of tables.")] = False,
) -> None:
    """Measure a model on labelled data.

    \b
    margrave evaluate names.model test.conll
    margrave evaluate names.model test.conll.gz --json

    Where labels are tags of spans (O, B-PER, I-PER, ...), precision, recall and F1 of whole spans are added, counted as
    conlleval does. In a taxonomy the tree loss is the height of the first node above the right and the predicted class,
    on average; the hierarchical F1 is that of the nodes on the way to both.
    """
    with _one_line_messages("interrupted."):
        from margrave.datasets.tags import spans

        if scheme is not None:
            spans([], scheme)  # an unknown scheme is refused before any work
        loaded = _load(model)
        if isinstance(loaded, _TaxonomyModel):
            if scheme is not None:
                raise DataError(model, None, "--scheme is of tags, and this model classifies in a taxonomy.")
            report = _classification_report(loaded, data)
            text = _classification_summary(report)
        else:
            report, scores = _tagging_report(loaded, data, scheme)
            text = _evaluation_summary(report, scores)
        _write(json.dumps(report, allow_nan=False) if as_json else text)


@app.command()
def inspect(
    model: _ModelArgument,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of a taxonomy of texts, the N words that speak most for each node.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of a table.")] = False,
) -> None:
    """Describe a model.

    Its size, how it was trained, and how far it is from the optimum.

    \b
    margrave inspect names.model
    margrave inspect posts.model --top 5
    """
    with _one_line_messages("interrupted."):
        from margrave.estimators import load

        loaded = load(model)
        report = _inspection_report(model, loaded, top)
        _write(json.dumps(report, allow_nan=False) if as_json else _inspection_summary(report))


# ---- what is trained -------------------------------------------------------------------------------------------------


class _Job(NamedTuple):
    """An estimator with its settings, its data, and how the two are reported."""

    model: "SequenceTagger | TaxonomyClassifier"
    X: Any
    y: Any
    dev: tuple[Any, Any] | None
    fit_options: dict[str, Any]
    metadata: dict[str, Any]
    sizes: Callable[[], dict[str, int]]  # after the training
    score: Callable[[Any, Any], dict[str, float | None]]  # of gold and predicted


def _refuse_options_of_others(task: str, **given: Mapping[str, bool]) -> None:
    """Refuses an option that was given although it belongs to another task."""
    for owner, options in given.items():
        for option, is_given in options.items():
            if is_given and owner != task:
                raise MargraveError(f"{option} belongs to --task {owner}, and this is --task {task}.")


def _loss_chosen(
    task: str, name: str | None, cost: str | None, rescale: str | None, slack: int | None
) -> "str | LossFamily":
    """The name of the loss, or the loss with what was chosen besides; the cost in a taxonomy is the estimator's."""
    from margrave.losses import LOSSES, loss_named

    name = name or _DEFAULT_LOSS[task]
    loss_named(name)
    if name != "hinge" and (rescale is not None or slack is not None):
        option = "--rescale" if rescale is not None else "--slack"
        raise MargraveError(f"{option} belongs to --loss hinge, and this is --loss {name}.")
    if name in ("log", "perceptron") and cost is not None:
        raise MargraveError(f"--cost plays no part in --loss {name}: choose another, such as hinge or softmax-margin.")
    of_loss = {"cost": None if task == "taxonomy" else cost, "rescale": rescale, "slack": slack}
    settings: dict[str, Any] = {key: value for key, value in of_loss.items() if value is not None}
    return LOSSES[name](**settings) if settings else name


def _tagging_job(
    data: str,
    dev: str | None,
    separator: str | None,
    templates: str | None,
    loss: "str | LossFamily",
    settings: dict[str, Any],
) -> _Job:
    sentences, chosen = _training_data(data, separator, templates)
    n_columns = len(sentences[0][0]) - 1
    X, y = _attributes(chosen, sentences), _labels(sentences)
    dev_pair = None
    if dev is not None:
        dev_sentences = list(_labelled(dev, separator, n_columns))
        dev_pair = _attributes(chosen, dev_sentences), _labels(dev_sentences)

    from margrave.estimators import SequenceTagger

    tagger = SequenceTagger(loss, **settings)

    def sizes() -> dict[str, int]:
        return {"n_sequences": len(y), "n_tokens": sum(map(len, y)), **_sizes(tagger)}

    metadata = {"templates": list(chosen.templates), "n_columns": n_columns, "separator": separator}
    return _Job(tagger, X, y, dev_pair, {"dev": dev_pair}, metadata, sizes, _dev_scores)


def _taxonomy_job(
    data: str,
    dev: str | None,
    taxonomy: str | None,
    descriptions: str | None,
    loss: "str | LossFamily",
    cost: str | None,
    settings: dict[str, Any],
) -> _Job:
    from margrave.datasets import read_descriptions

    tree = None if taxonomy is None else _read_taxonomy(taxonomy)
    described = None if descriptions is None else read_descriptions(descriptions)
    inputs, X, y = _training_examples(data)
    dev_pair = None if dev is None else inputs.read(dev)
    if tree is None:
        tree = _taxonomy_of_names(sorted({*y, *(described or ())}))
    _check_classes(data, y, tree)
    if dev_pair is not None:
        _check_classes(str(dev), dev_pair[1], tree)
    if described is not None:
        # a description makes a class of what no example has, but of a node above other classes only the examples do
        settings["classes"] = sorted({*y, *(set(described) & set(tree.leaves))})
    if cost is not None:
        settings["cost"] = cost

    from margrave.estimators import TaxonomyClassifier

    classifier = TaxonomyClassifier(loss, taxonomy=tree, descriptions=described, **settings)

    def sizes() -> dict[str, int]:
        return {"n_examples": len(y), **_sizes(classifier)}

    def score(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float | None]:
        return _class_scores(gold, predicted, tree)

    return _Job(classifier, X, y, dev_pair, {}, inputs.metadata(), sizes, score)


def _check_classes(path: str, names: Iterable[str], taxonomy: "Taxonomy") -> None:
    for name in names:
        if name not in taxonomy:
            raise DataError(_name(path), None, f"the taxonomy has no class {name!r}.")


def _read_taxonomy(path: str) -> "Taxonomy":
    from margrave.datasets import read_hierarchy
    from margrave.structures.taxonomy import Taxonomy

    pairs = read_hierarchy(_source(path))
    try:
        return Taxonomy.from_pairs(pairs)
    except MargraveError as error:  # a cycle, which no line shows
        raise DataError(_name(path), None, str(error)) from error


def _taxonomy_of_names(names: Sequence[str]) -> "Taxonomy":
    """The taxonomy that names with slashes, or else with dots, are paths in; a flat one, with a warning, without."""
    from margrave.structures.taxonomy import Taxonomy

    for mark in "/.":
        if any(mark in name for name in names):
            return Taxonomy.from_names(names, mark)
    warnings.warn("the classes are no paths, and there is no --taxonomy: each stands alone.", stacklevel=2)
    return Taxonomy(dict.fromkeys(names))


# ---- data ------------------------------------------------------------------------------------------------------------


def _separator_named(name: str | None) -> str | None:
    """TAB and \\t are easier to type than the character."""
    return "\t" if name in ("TAB", "tab", r"\t") else name


def _read(path: str, separator: str | None) -> Iterator[_Rows]:
    """The sequences of a file or of standard input, at least one."""
    from margrave.datasets import read_columns

    sentences = read_columns(_source(path), separator=separator)
    first = next(sentences, None)
    if first is None:
        raise DataError(_name(path), None, "it holds no sequences.")
    yield first
    yield from sentences


def _training_data(path: str, separator: str | None, templates: str | None) -> tuple[list[_Rows], "Templates"]:
    """Labelled sequences, and the templates of a file, or of those built in, for their columns."""
    from margrave.features.templates import default_templates, read_templates

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


def _labelled(path: str, separator: str | None, n_columns: int) -> Iterator[_Rows]:
    """Sequences that have a label after as many columns as the model was trained on."""
    for rows in _read(path, separator):
        if len(rows[0]) != n_columns + 1:
            raise DataError(
                _name(path), None, f"{_columns(len(rows[0]))}, but {n_columns + 1} are needed, the label last."
            )
        yield rows


def _source(path: str) -> str | TextIO:
    if path != "-":
        return path
    # bad bytes are escaped, as in files: the reader then names their line
    return TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "surrogateescape", newline="\n")


def _name(path: str) -> str:
    return "<stdin>" if path == "-" else path


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _batches(sentences: Iterable[_Rows]) -> Iterator[list[_Rows]]:
    source = iter(sentences)
    while batch := list(islice(source, _BATCH)):
        yield batch


def _labels(sentences: Iterable[_Rows]) -> list[list[str]]:
    return [[row[-1] for row in rows] for rows in sentences]


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The attributes of a sequence, made when they are asked for: those of a corpus would fill the memory."""

    templates: "Templates"
    rows: _Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.templates.attributes(self.rows))


def _attributes(templates: "Templates", sentences: Iterable[_Rows]) -> list[_Sentence]:
    return [_Sentence(templates, rows) for rows in sentences]


class _Inputs(NamedTuple):
    """How examples become rows of a matrix: features as they are, or the tf-idf of the words of a text."""

    n_features: int
    vectorizer: "TfidfVectorizer | None" = None

    def rows(self, examples: Any) -> "csr_array":
        """The rows of a matrix of features or of a list of texts, with the columns of the training."""
        from scipy.sparse import csr_array

        if self.vectorizer is not None:
            return csr_array(self.vectorizer.transform(examples))
        examples.resize(examples.shape[0], self.n_features)  # features that the training did not have weigh nothing
        return examples

    def read(self, path: str, *, labelled: bool = True) -> tuple["csr_array", list[Any]]:
        """The rows of a file, and their classes."""
        examples, classes = _examples(_source(path), _name(path), self.vectorizer is not None, labelled)
        return self.rows(examples), classes

    def metadata(self) -> dict[str, Any]:
        """All of it, as JSON can hold it: no object is ever stored."""
        if self.vectorizer is None:
            return {"input": "svmlight", "n_features": self.n_features}
        words = self.vectorizer.get_feature_names_out().tolist()
        return {"input": "text", "words": words, "idf": self.vectorizer.idf_.tolist()}


def _inputs_from(metadata: Mapping[str, Any]) -> _Inputs | None:
    """What `_Inputs.metadata` made, or None if it is something else."""
    match metadata:
        case {"input": "svmlight", "n_features": int(n_features)}:
            return _Inputs(n_features)
        case {"input": "text", "words": [str(), *_] as words, "idf": [*idf]}:
            import numpy as np
            from sklearn.feature_extraction.text import TfidfVectorizer

            vectorizer = TfidfVectorizer(vocabulary=words)
            try:
                vectorizer.idf_ = np.array(idf, dtype=np.float64)
            except (TypeError, ValueError):
                return None
            return _Inputs(len(words), vectorizer)
    return None


def _training_examples(path: str) -> tuple[_Inputs, "csr_array", list[str]]:
    """How the examples of a file become rows, these rows, and the class of each."""
    first, source = _first_line(path)
    text = _is_text(first)
    if text and "\t" not in first:
        raise DataError(
            _name(path),
            None,
            "its first line is neither a class with features (4/6/2 1:0.5) nor a class, a tab and a text.",
        )
    examples, classes = _examples(source, _name(path), text, True)
    if not text:
        return _Inputs(examples.shape[1]), examples, classes

    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer()
    try:
        rows = csr_array(vectorizer.fit_transform(examples))
    except ValueError:
        raise DataError(_name(path), None, "there are no words of two letters or more in its texts.") from None
    return _Inputs(rows.shape[1], vectorizer), rows, classes


def _examples(source: "TextSource", name: str, text: bool, labelled: bool) -> tuple[Any, list[Any]]:
    """A matrix of features or a list of texts, and their classes; at least one example."""
    from margrave.datasets import read_svmlight_paths, read_texts

    examples: Any
    classes: list[Any]
    if text:
        pairs = list(read_texts(source) if labelled else read_texts(source, multilabel=True))
        classes, examples = [of for of, _ in pairs], [content for _, content in pairs]
    else:
        examples, classes = read_svmlight_paths(source) if labelled else read_svmlight_paths(source, multilabel=True)
    if not classes:
        raise DataError(name, None, "it holds no examples.")
    return examples, classes


class _Kept(StringIO):
    """Text that can be read again, under the name of where it came from."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self.name = name


def _first_line(path: str) -> tuple[str, "TextSource"]:
    """The first line that says something, and the data from their beginning; a pipe is kept to be read again."""
    from margrave.datasets.opening import read_lines

    source: TextSource = path
    if path == "-" or not os.path.isfile(path):
        source = _Kept("\n".join(line for _, line in read_lines(_source(path))), _name(path))
    first = next((line for _, line in read_lines(source) if line.partition("#")[0].strip()), None)
    if isinstance(source, _Kept):
        source.seek(0)
    if first is None:
        raise DataError(_name(path), None, "it holds no examples.")
    return first, source


def _is_text(line: str) -> bool:
    """Whether a line is not of features, index:value, behind the class."""
    _, *pairs = line.partition("#")[0].split()
    return not pairs or not all(re.fullmatch(r"(qid|[0-9]+):\S+", pair) for pair in pairs)


class _Model(NamedTuple):
    tagger: "SequenceTagger"
    templates: "Templates"
    n_columns: int  # before the label
    separator: str | None


class _TaxonomyModel(NamedTuple):
    classifier: "TaxonomyClassifier"
    inputs: _Inputs


def _load(path: str) -> _Model | _TaxonomyModel:
    """A model, and how it makes attributes from columns, or rows from examples."""
    from margrave.estimators import SequenceTagger, load

    model = load(path)
    return _tagging_model(path, model) if isinstance(model, SequenceTagger) else _taxonomy_model(path, model)


def _tagging_model(path: str, tagger: "SequenceTagger") -> _Model:
    from margrave.features.templates import Templates

    match tagger.metadata_:
        case {
            "templates": [str(), *_] as templates,
            "n_columns": int(n_columns),
            "separator": None | str() as separator,
        }:
            return _Model(tagger, Templates(templates), n_columns, separator)
    raise DataError(path, None, "it holds no templates to make attributes with: train it with 'margrave train'.")


def _taxonomy_model(path: str, model: "StructuredEstimator") -> _TaxonomyModel:
    from margrave.estimators import TaxonomyClassifier

    if not isinstance(model, TaxonomyClassifier):
        raise DataError(path, None, f"it holds a {type(model).__name__}, not a tagger of sequences.")
    inputs = _inputs_from(model.metadata_)
    if inputs is None:
        raise DataError(path, None, "it does not say how to read examples: train it with 'margrave train'.")
    return _TaxonomyModel(model, inputs)


def _classified_lines(model: _TaxonomyModel, path: str, marginals: bool) -> Iterator[list[str]]:
    """The lines to write, one an example."""
    classifier, inputs = model
    rows, _ = inputs.read(path, labelled=False)
    predicted = [str(label) for label in classifier.predict(rows)]
    if not marginals:
        yield predicted
        return
    best = classifier.predict_proba(rows).max(axis=1)
    yield [f"{label}\t{probability:.4f}" for label, probability in zip(predicted, best, strict=True)]


def _tagged_lines(model: _Model, path: str, marginals: bool) -> Iterator[list[str]]:
    """The lines to write, batch by batch."""
    tagger, templates, n_columns, separator = model
    classes = tagger.classes_.tolist()
    between = separator or " "
    for batch in _batches(_read(path, separator)):
        width = len(batch[0][0])
        if not templates.n_columns <= width <= n_columns + 1:
            expected = f"the model was trained on {_columns(n_columns)} and a label"
            raise DataError(_name(path), None, f"{_columns(width)}, but {expected}.")
        X = [templates.attributes(rows) for rows in batch]
        predicted = tagger.predict(X)
        added = [[[label] for label in labels] for labels in predicted]
        if marginals:
            for fields, labels, mu in zip(added, predicted, tagger.predict_marginals(X), strict=True):
                for field, label, probabilities in zip(fields, labels, mu, strict=True):
                    field.append(f"{probabilities[classes.index(label)]:.4f}")
        yield [
            line
            for rows, fields in zip(batch, added, strict=True)
            for line in [*(between.join([*row, *field]) for row, field in zip(rows, fields, strict=True)), ""]
        ]


def _check_output(path: str, inputs: Iterable[str | None]) -> None:
    """Refuses a file that could not be written, or is also read, before any work is done for it."""
    target = os.path.realpath(path)  # what is written is where a link points to
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise DataError(path, None, "cannot be written: its directory does not exist.")
    if os.path.exists(target):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise DataError(path, None, "cannot be written: it is a directory.")
        if not stat.S_ISREG(mode):
            raise DataError(path, None, "cannot be written: it is not an ordinary file.")
        for source in inputs:
            if source is not None and os.path.exists(source) and os.path.samefile(source, target):
                raise DataError(path, None, "it is both read and to be written: give the output another name.")
        if not mode & 0o222 or not os.access(target, os.W_OK):  # the mode too: a superuser has access to everything
            raise DataError(path, None, "cannot be written: the file is read-only.")
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".margrave-"):
            pass
    except OSError as error:
        raise DataError(path, None, f"cannot be written: {_reason(error)}.") from error


# ---- what is said ----------------------------------------------------------------------------------------------------


def _certificate_report(model: "StructuredEstimator") -> dict[str, Any]:
    """What was minimised, and how near its minimum the model is."""
    from margrave.losses import loss_named

    kept, loss = model.certificate_, loss_named(model.loss)
    cost = getattr(model, "cost", loss.cost) if loss.gamma > 0 and loss.slack > 0 else None
    return {
        "primal": kept.primal,
        "dual": kept.dual,
        "gap": kept.gap,
        "relative_gap": None if kept.gap is None else kept.relative_gap,
        "passes": model.history_[-1].passes,
        "converged": model.converged_,
        "stop_reason": model.stop_reason_,
        "loss": loss.name,
        "cost": cost if cost is None or isinstance(cost, str) else "matrix",
        "C": model.C,
    }


def _training_report(model: "StructuredEstimator") -> dict[str, Any]:
    last = model.history_[-1]
    return {**_certificate_report(model), "seconds": last.seconds, "learner": model.learner_.name}


def _sizes(model: "StructuredEstimator") -> dict[str, int]:
    from margrave.estimators import SequenceTagger

    if isinstance(model, SequenceTagger):
        return {
            "n_labels": len(model.classes_),
            "n_attributes": model.features_.tokens.attributes,
            "n_weights": model.coef_.size,
        }
    nodes = {"n_nodes": len(_taxonomy_of(model))} if hasattr(model, "taxonomy") else {}
    return {
        "n_classes": len(model.classes_),
        **nodes,
        "n_features": model.features_.tokens.attributes,
        "n_weights": model.coef_.size,
    }


def _taxonomy_of(model: Any) -> "Taxonomy":
    """The taxonomy of a fitted estimator that has one."""
    from margrave.structures.taxonomy import as_taxonomy

    return as_taxonomy(model.taxonomy, model.classes_.tolist())


def _training_summary(report: Mapping[str, Any]) -> str:
    """The report as a table of two columns."""
    rows = [
        *_size_rows(report),
        ("loss", _loss_words(report)),
        ("learner", report["learner"]),
        ("passes", f"{report['passes']:g}"),
        ("seconds", f"{report['seconds']:.1f}"),
        *_certificate_rows(report),
    ]
    if "dev" in report:
        dev = report["dev"]
        text = f"accuracy {_percent(dev['accuracy'])}"
        if "tree_loss" in dev:
            text += f", tree loss {_with_error(dev['tree_loss'], dev['standard_error'])}"
        elif dev["f1"] is not None:
            text += ", " + ", ".join(f"{name} {_percent(dev[name.lower()])}" for name in ("precision", "recall", "F1"))
        rows.append(("dev", text))
    rows.append(("model", f"{report['model']} ({_size(os.path.getsize(report['model']))})"))
    return _table(rows)


def _size_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name.removeprefix("n_"), f"{count:,}") for name, count in report.items() if name.startswith("n_")]


def _loss_words(report: Mapping[str, Any]) -> str:
    # hamming is what one expects, and the loss names f1 itself
    cost = "" if report["cost"] in (None, "hamming", "f1") else f", {report['cost']} cost"
    return f"{report['loss']}{cost}, C {report['C']:g}"


def _certificate_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [("P", f"{report['primal']:.8g}")]
    if report["gap"] is None:
        rows.append(("gap", "no certificate"))
    else:
        gap = f"{report['gap']:.3g} (relative {report['relative_gap']:.2g})"
        rows += [("D", f"{report['dual']:.8g}"), ("gap", gap)]
    reason = "the iterations are used up (--max-iter)" if report["stop_reason"] == "max_iter" else report["stop_reason"]
    return [*rows, ("stopped", reason)]


def _table(rows: Iterable[tuple[str, str]], width: int = 12) -> str:
    return "\n".join(f"{name:<{width}}{value}" for name, value in rows)


def _with_error(mean: float, standard_error: float | None) -> str:
    return f"{mean:.4f}" + ("" if standard_error is None else f" (standard error {standard_error:.4f})")


def _tagging_report(model: _Model, path: str, scheme: str | None) -> tuple[dict[str, Any], "SpanScores | None"]:
    from margrave.metrics import sequence_accuracy, token_accuracy

    gold: list[list[str]] = []
    predicted: list[list[str]] = []
    for batch in _batches(_labelled(path, model.separator, model.n_columns)):
        gold += _labels(batch)
        predicted += model.tagger.predict(_attributes(model.templates, batch))
    scores = _span_scores(gold, predicted, scheme)
    report = {
        "n_sequences": len(gold),
        "n_tokens": sum(map(len, gold)),
        "accuracy": token_accuracy(gold, predicted),
        "sequence_accuracy": sequence_accuracy(gold, predicted),
        **_ratios(scores),
        "labels": None if scores is None else {label: _counts(of) for label, of in scores.by_label.items()},
    }
    return report, scores


def _class_scores(gold: Sequence[str], predicted: Sequence[str], taxonomy: "Taxonomy") -> dict[str, float | None]:
    from margrave.metrics import hierarchical_scores, tree_scores

    scores = tree_scores(gold, predicted, taxonomy)
    hierarchical = hierarchical_scores([{name} for name in gold], [{name} for name in predicted], taxonomy)
    return {
        "accuracy": scores.accuracy,
        "tree_loss": scores.tree_loss,
        "standard_error": scores.standard_error if scores.examples > 1 else None,
        "hierarchical_f1": hierarchical.f1,
    }


def _classification_report(model: _TaxonomyModel, path: str) -> dict[str, Any]:
    X, y = model.inputs.read(path)
    taxonomy = _taxonomy_of(model.classifier)
    _check_classes(path, y, taxonomy)
    return {"n_examples": len(y), **_class_scores(y, model.classifier.predict(X).tolist(), taxonomy)}


def _classification_summary(report: Mapping[str, Any]) -> str:
    rows = [
        ("examples", f"{report['n_examples']:,}"),
        ("accuracy", _percent(report["accuracy"])),
        ("tree loss", _with_error(report["tree_loss"], report["standard_error"])),
        ("hierarchical F1", _percent(report["hierarchical_f1"])),
    ]
    return _table(rows, 20)


def _inspection_report(path: str, model: "StructuredEstimator", top: int) -> dict[str, Any]:
    report = {
        "model": path,
        "estimator": type(model).__name__,
        **_sizes(model),
        **_certificate_report(model),
        "learner": model.learner if isinstance(model.learner, str) else model.learner.name,
        "labels": model.classes_.tolist(),
    }
    if top:
        report["words"] = _heaviest_words(path, model, top)
    return report


def _heaviest_words(path: str, model: "StructuredEstimator", top: int) -> dict[str, list[str]]:
    """The words with the largest weights for each node of a taxonomy of texts, the largest first."""
    from margrave.estimators import TaxonomyClassifier

    words = model.metadata_.get("words")
    if not isinstance(model, TaxonomyClassifier) or not isinstance(words, list) or model.coef_.ndim != 2:
        raise DataError(path, None, "--top is for taxonomies of texts, and this model is another.")
    nodes = _taxonomy_of(model)
    heaviest: dict[str, list[str]] = {}
    for node, weights in zip(model.output_features_, model.coef_, strict=True):
        if node in nodes and node not in heaviest:  # words of descriptions come after the nodes
            heaviest[node] = [words[k] for k in (-weights).argsort(kind="stable")[:top] if weights[k] > 0]
    return heaviest


def _inspection_summary(report: Mapping[str, Any]) -> str:
    rows = [
        ("model", f"{report['model']} ({_size(os.path.getsize(report['model']))})"),
        ("estimator", report["estimator"]),
        *_size_rows(report),
        ("loss", _loss_words(report)),
        ("learner", report["learner"]),
        ("passes", f"{report['passes']:g}"),
        *_certificate_rows(report),
    ]
    if "words" not in report:
        return _table(rows)
    words = [(f"{node}  ", ", ".join(of)) for node, of in sorted(report["words"].items())]
    return "\n".join([_table(rows), "", _table(words, max(len(node) for node, _ in words))])


def _evaluation_summary(report: Mapping[str, Any], scores: "SpanScores | None") -> str:
    lines = [
        f"{'sequences':<20}{report['n_sequences']:,}",
        f"{'tokens':<20}{report['n_tokens']:,}",
        f"{'token accuracy':<20}{_percent(report['accuracy'])}",
        f"{'sequence accuracy':<20}{_percent(report['sequence_accuracy'])}",
    ]
    if scores is not None:
        width = max(map(len, [*scores.by_label, "overall"]))
        names = ("gold", "predicted", "correct", "precision", "recall", "F1")
        lines += ["", " " * width + "".join(f"{name:>11}" for name in names)]
        for label, of in [*scores.by_label.items(), ("overall", scores)]:
            numbers = [f"{count:,}" for count in (of.gold, of.predicted, of.correct)]
            ratios = [_percent(ratio) for ratio in (of.precision, of.recall, of.f1)]
            lines.append(f"{label:<{width}}" + "".join(f"{text:>11}" for text in (*numbers, *ratios)))
    return "\n".join(lines)


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


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.2f} %"


def _size(n_bytes: int) -> str:
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"


def _write(text: str) -> None:
    """A line, or lines, on standard output, in UTF-8 as the files are."""
    try:
        sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
        sys.stdout.flush()
    except OSError:
        # What could not be written would be tried again, and complained of, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _complain(text: str) -> None:
    print(f"margrave: {text}", file=sys.stderr, flush=True)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


@contextmanager
def _one_line_messages(interrupted: str) -> Iterator[None]:
    """Errors, warnings and Ctrl-C as one line each on standard error, and never a traceback."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except BrokenPipeError:  # the reader, such as `head`, has seen enough: typer ends silently
            raise
        except MargraveError as error:
            _complain(str(error))
            raise typer.Exit(2) from error
        except OSError as error:
            name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
            _complain(f"{name}{_reason(error)}.")
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            _complain(interrupted)
            raise typer.Exit(_INTERRUPTED) from error


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _complain(f"warning: {message}")


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ctrl-C is not heard: pressed twice, the second would otherwise lose the model that the first ended."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
