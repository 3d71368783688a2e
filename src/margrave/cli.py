"""The command `margrave`: taggers of sequences, trained, applied and measured on CoNLL columns.

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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO

import typer

from margrave import __version__
from margrave.errors import DataError, MargraveError

if TYPE_CHECKING:
    from margrave.estimators import SequenceTagger
    from margrave.features.templates import Templates
    from margrave.metrics import SpanCounts, SpanScores

_Rows = list[tuple[str, ...]]  # of one sequence: the columns of every token

_BATCH = 1000  # sequences that are predicted at once: enough for all threads, and little memory
_INTERRUPTED = 130  # the exit code by which shells know Ctrl-C

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
    """Learn to tag sequences, with a certificate of how far the model is from the optimum.

    Data are text files (UTF-8, plain or gzip) with one token a line, its columns side by side, the label last, and a
    blank line between sequences; - stands for standard input.

    \b
        Lady     PROPN  O
        Cecily   PROPN  B-PER
        sang     VERB   O
        .        PUNCT  O

    \b
    margrave train train.conll -o names.model --dev dev.conll
    margrave predict names.model new.conll -o tagged.conll
    margrave evaluate names.model test.conll
    """


@app.command()
def train(
    data: Annotated[str, typer.Argument(metavar="TRAIN", help="Sequences with labels.", show_default=False)],
    output: Annotated[str, typer.Option("-o", "--output", metavar="MODEL", help="The model file to write.")],
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="More sequences with labels, to measure the model on.")
    ] = None,
    C: Annotated[
        float, typer.Option("-C", min=0.0, metavar="NUMBER", help="What the losses weigh against |w|^2 / 2.")
    ] = 1.0,
    loss: Annotated[
        str, typer.Option(metavar="NAME", help="log, hinge, softmax-margin, perceptron, ramp or expected-cost.")
    ] = "log",
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto, lbfgs, cg, sgd, perceptron, eg, eg-batch, smo, smo-eg, mira, kbest-mira, bcfw or cccp; auto "
            "chooses by the loss and the size of the data.",
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
    max_iter: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The most iterations; the learner's own limit if not given.")
    ] = None,
    tol: Annotated[float, typer.Option(min=0.0, metavar="NUMBER", help="The relative gap to stop at.")] = 1e-4,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The number of threads; all processors if not given.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Decides in which order learners that take one sequence at a time do so."
        ),
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
    """Learn a model from labelled sequences.

    \b
    margrave train train.conll -o names.model --dev dev.conll
    margrave train train.conll.gz -o names.model --loss hinge -C 0.1
    margrave train train.tsv -o names.model --separator TAB --templates templates.txt
    margrave train train.conll -o names.model --checkpoint names.checkpoint

    A template names columns, counted from 0, of the token and of those around it; each gives an attribute:

    \b
        0[0]           the word
        0[-1]|0[0]     the word before and the word
        0[1].lower     the next word in lower case; also digits, shape, short_shape, prefix3, suffix3
        1[0]           column 1, such as the part of speech
        begin          the first token of the sequence; also end

    Ctrl-C ends the training early and saves the model so far. With --checkpoint the same command goes on from there,
    and also after the training was killed.
    """
    with _one_line_messages("interrupted before the first pass: nothing was written."):
        from margrave.features.table import features_named
        from margrave.learners import learner_named
        from margrave.losses import loss_named

        # All that can be wrong is found before the training, and the cheapest to find first.
        loss_named(loss)
        features_named(features)
        tied = "untied" not in learner_named(learner).needs
        _check_output(output, [data, dev, templates])
        if checkpoint is not None:
            _check_output(checkpoint, [data, dev, templates])
            if os.path.realpath(checkpoint) == os.path.realpath(output):
                raise DataError(checkpoint, None, "it is both the model and the checkpoint: give one another name.")
        between = _separator_named(separator)
        sentences, chosen = _training_data(data, between, templates)
        n_columns = len(sentences[0][0]) - 1
        X, y = _attributes(chosen, sentences), _labels(sentences)
        dev_pair = None
        if dev is not None:
            dev_sentences = list(_labelled(dev, between, n_columns))
            dev_pair = _attributes(chosen, dev_sentences), _labels(dev_sentences)

        from margrave.estimators import SequenceTagger

        tagger = SequenceTagger(
            loss,
            C=C,
            learner=learner,
            features=features,
            order=order,
            tied=tied,
            max_iter=max_iter,
            tol=tol,
            n_threads=threads,
            seed=seed,
            verbose=not quiet and sys.stderr.isatty(),
        )
        tagger.fit(X, y, dev=dev_pair, checkpoint=checkpoint)
        metadata = {"templates": list(chosen.templates), "n_columns": n_columns, "separator": between}
        with _no_interrupt():
            tagger.save(output, metadata=metadata)
        interrupted = tagger.stop_reason_ == "interrupted"
        if interrupted:
            passes = tagger.history_[-1].passes
            go_on = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
            _complain(f"interrupted after pass {passes:g}: the model so far is in {output}{go_on}")

    with _one_line_messages("interrupted."):
        report = _training_report(tagger, y)
        if dev_pair is not None:
            report["dev"] = _dev_scores(dev_pair[1], tagger.predict(dev_pair[0]))
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
    data: Annotated[
        str, typer.Argument(metavar="INPUT", help="Sequences, with or without labels; - for standard input.")
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write; standard output if not given."),
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add a column with the probability of the prediction.")
    ] = False,
) -> None:
    """Write the input's columns and one more, the predicted label.

    \b
    margrave predict names.model new.conll -o tagged.conll
    zcat new.conll.gz | margrave predict names.model - --marginals | less

    The input has the columns of the training data; its last, the label, may be missing, and plays no part if it is
    there. Columns are written with the separator of the training, or a blank. A FILE that ends in .gz is packed.
    """
    with _one_line_messages("interrupted."):
        to_file = output is not None and output != "-"
        if output is not None and to_file:
            _check_output(output, [model, data])
        lines = _tagged_lines(_load(model), data, marginals)
        if output is not None and to_file:
            from margrave.datasets.opening import write_lines

            write_lines(output, chain.from_iterable(lines))
        else:
            for of_batch in lines:
                _write("\n".join(of_batch))


@app.command()
def evaluate(
    model: _ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Sequences with labels.", show_default=False)],
    scheme: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How tags write spans: IOB1, IOB2 or BIOES; by their look if not given."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of tables.")] = False,
) -> None:
    """Measure a model on labelled sequences.

    \b
    margrave evaluate names.model test.conll
    margrave evaluate names.model test.conll.gz --json

    Where labels are tags of spans (O, B-PER, I-PER, ...), precision, recall and F1 of whole spans are added, counted as
    conlleval does.
    """
    with _one_line_messages("interrupted."):
        from margrave.datasets.tags import spans
        from margrave.metrics import sequence_accuracy, token_accuracy

        if scheme is not None:
            spans([], scheme)  # an unknown scheme is refused before any work
        loaded = _load(model)
        gold: list[list[str]] = []
        predicted: list[list[str]] = []
        for batch in _batches(_labelled(data, loaded.separator, loaded.n_columns)):
            gold += _labels(batch)
            predicted += loaded.tagger.predict(_attributes(loaded.templates, batch))
        scores = _span_scores(gold, predicted, scheme)
        report = {
            "n_sequences": len(gold),
            "n_tokens": sum(map(len, gold)),
            "accuracy": token_accuracy(gold, predicted),
            "sequence_accuracy": sequence_accuracy(gold, predicted),
            **_ratios(scores),
            "labels": None if scores is None else {label: _counts(of) for label, of in scores.by_label.items()},
        }
        _write(json.dumps(report, allow_nan=False) if as_json else _evaluation_summary(report, scores))


# ---- data ------------------------------------------------------------------------------------------------------------


def _separator_named(name: str | None) -> str | None:
    """TAB and \\t are easier to type than the character."""
    return "\t" if name in ("TAB", "tab", r"\t") else name


def _read(path: str, separator: str | None) -> Iterator[_Rows]:
    """The sequences of a file or of standard input, at least one."""
    from margrave.datasets import read_columns

    source: str | TextIO = path
    if path == "-":  # bad bytes are escaped, as in files: the reader then names their line
        source = TextIOWrapper(sys.stdin.buffer, "utf-8-sig", "surrogateescape", newline="\n")
    sentences = read_columns(source, separator=separator)
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


class _Model(NamedTuple):
    tagger: "SequenceTagger"
    templates: "Templates"
    n_columns: int  # before the label
    separator: str | None


def _load(path: str) -> _Model:
    """A tagger and how it makes attributes from columns."""
    from margrave.estimators import SequenceTagger, load
    from margrave.features.templates import Templates

    tagger = load(path)
    if not isinstance(tagger, SequenceTagger):
        raise DataError(path, None, f"it holds a {type(tagger).__name__}, not a tagger of sequences.")
    match tagger.metadata_:
        case {
            "templates": [str(), *_] as templates,
            "n_columns": int(n_columns),
            "separator": None | str() as separator,
        }:
            return _Model(tagger, Templates(templates), n_columns, separator)
    raise DataError(path, None, "it holds no templates to make attributes with: train it with 'margrave train'.")


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


def _training_report(tagger: "SequenceTagger", y: Sequence[Sequence[str]]) -> dict[str, Any]:
    last, kept = tagger.history_[-1], tagger.certificate_
    return {
        "primal": kept.primal,
        "dual": kept.dual,
        "gap": kept.gap,
        "relative_gap": None if kept.gap is None else kept.relative_gap,
        "passes": last.passes,
        "seconds": last.seconds,
        "converged": tagger.converged_,
        "stop_reason": tagger.stop_reason_,
        "loss": tagger.loss,
        "C": tagger.C,
        "learner": tagger.learner_.name,
        "n_sequences": len(y),
        "n_tokens": sum(map(len, y)),
        "n_labels": len(tagger.classes_),
        "n_attributes": tagger.features_.tokens.attributes,
        "n_weights": len(tagger.coef_),
    }


def _training_summary(report: Mapping[str, Any]) -> str:
    """The report as a table of two columns."""
    reason = "the iterations are used up (--max-iter)" if report["stop_reason"] == "max_iter" else report["stop_reason"]
    rows = [(name, f"{report[f'n_{name}']:,}") for name in ("sequences", "tokens", "labels", "attributes", "weights")]
    rows += [
        ("loss", f"{report['loss']}, C {report['C']:g}"),
        ("learner", report["learner"]),
        ("passes", f"{report['passes']:g}"),
        ("seconds", f"{report['seconds']:.1f}"),
        ("P", f"{report['primal']:.8g}"),
    ]
    if report["gap"] is None:
        rows.append(("gap", "no certificate"))
    else:
        rows += [
            ("D", f"{report['dual']:.8g}"),
            ("gap", f"{report['gap']:.3g} (relative {report['relative_gap']:.2g})"),
        ]
    rows.append(("stopped", reason))
    if "dev" in report:
        dev = report["dev"]
        text = f"accuracy {_percent(dev['accuracy'])}"
        if dev["f1"] is not None:
            text += ", " + ", ".join(f"{name} {_percent(dev[name.lower()])}" for name in ("precision", "recall", "F1"))
        rows.append(("dev", text))
    rows.append(("model", f"{report['model']} ({_size(os.path.getsize(report['model']))})"))
    return "\n".join(f"{name:<12}{value}" for name, value in rows)


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


def _ratios(of: "SpanCounts | None") -> dict[str, float | None]:
    if of is None:
        return {"precision": None, "recall": None, "f1": None}
    return {"precision": of.precision, "recall": of.recall, "f1": of.f1}


def _counts(of: "SpanCounts") -> dict[str, float | None]:
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
