"""`margrave train`: learns a model from labelled data."""

import json
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from margrave.cli.reports import file_report, training_report, training_summary
from margrave.cli.streams import INTERRUPTED, check_place, complain, no_interrupt, one_line_messages, write
from margrave.cli.tasks import TASKS, task_named
from margrave.cli.tasks.base import Task
from margrave.errors import DataError, MargraveError

if TYPE_CHECKING:
    from margrave.learners import Learner
    from margrave.losses import LossFamily


def train(
    data: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help="Sequences with labels, examples with classes, or lists of candidates.",
            show_default=False,
        ),
    ],
    output: Annotated[str, typer.Option("-o", "--output", metavar="MODEL", help="The model file to write.")],
    task: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="tagging, of sequences; taxonomy, one class an example; or rerank, the best of a list of candidates.",
        ),
    ] = "tagging",
    dev: Annotated[
        str | None, typer.Option(metavar="FILE", help="More data of the same kind, to measure the model on.")
    ] = None,
    C: Annotated[
        float,
        typer.Option(
            "-C", min=0.0, metavar="NUMBER", help="What the losses weigh against |w|^2 / 2, or against |w|_1 with lp."
        ),
    ] = 1.0,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="log, hinge, softmax-margin, perceptron, ramp or expected-cost; if not given, log for tagging, and "
            "hinge for other tasks.",
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What a wrong output costs, in a loss that heeds it: hamming, zero-one or f1 for tagging, tree or "
            "zero-one for a taxonomy, zero-one, bleu or relevance for candidates; the first of each if not given, and "
            "zero-one with --learner lp.",
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
            "cutting-plane, one-slack or lp; auto chooses by the loss and the size of the data.",
        ),
    ] = "auto",
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Of the linear programs of --learner lp: extragradient, simplex or pdlp; extragradient if not given.",
        ),
    ] = None,
    free_sign: Annotated[
        bool, typer.Option("--free-sign", help="Let weights of --learner lp be negative, too.")
    ] = False,
    program: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which good outputs --learner lp sets against a wrong one, where there are several: all, or the "
            "closest alone; all if not given.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Weights for the pairs of attribute and label that are observed, for all pairs, or for attributes "
            "hashed to some bits: observed, all or hash:BITS; observed if not given, and all for candidates.",
        ),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(min=1, max=3, metavar="N", help="How many labels before it a label depends on; 1 if not given."),
    ] = None,
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
    references: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="What the hypotheses of n-best lists should say: a line for each id from 0; may be repeated.",
        ),
    ] = None,
    good: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="How many hypotheses are good: the nearest to the references, by smoothed sentence BLEU; 1 if not "
            "given.",
        ),
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="NUMBER", help="Or those whose BLEU, a fraction of 1, is so near the best one's."
        ),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Compare hypotheses and references in lower case.")
    ] = False,
    ngrams: Annotated[
        int | None,
        typer.Option(min=1, max=9, metavar="N", help="Features also for the hypotheses' n-grams of 1 to N words."),
    ] = None,
    no_good: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What lists without a good candidate do: stop the training, or skip; stop if not given.",
        ),
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

    Lists of candidates are n-best lists of Moses, cdec or Joshua with references, or svmlight with qid, where the most
    relevant candidates are the good ones:

    \b
    margrave train --task rerank dev.nbest.gz -o moses.model --references dev.en --lowercase
    margrave train --task rerank dev.nbest.gz -o moses.model --references dev.0 --references dev.1 --good 3 --ngrams 2
    margrave train --task rerank train.svm -o pages.model --learner lp --solver simplex --free-sign

    Ctrl-C ends the training early and saves the model so far. With --checkpoint the same command goes on from there,
    and also after the training was killed.
    """
    with one_line_messages("interrupted before the first pass: nothing was written."):
        # All that can be wrong is found before the training, and the cheapest to find first.
        options = {
            "templates": templates,
            "separator": separator,
            "features": features,
            "order": order,
            "cost": cost,
            "taxonomy": taxonomy,
            "descriptions": descriptions,
            "references": references or None,
            "good": good,
            "within": within,
            "lowercase": lowercase or None,
            "ngrams": ngrams,
            "no_good": no_good,
        }
        kind = task_named(task)
        _refuse_options_of_others(kind, options)
        chosen = kind.chosen(options)
        minimised = _loss_chosen(chosen, loss, cost, rescale, slack)
        by = _learner_chosen(learner, cost, {"solver": solver, "free_sign": free_sign or None, "program": program})
        _check_places(output, checkpoint, [data, dev, *chosen.inputs()])
        settings = {
            "C": C,
            "learner": by,
            "max_iter": max_iter,
            "tol": tol,
            "n_threads": threads,
            "seed": seed,
            "verbose": not quiet and sys.stderr.isatty(),
        }
        job = chosen.job(data, dev, minimised, settings)
        model = job.estimator
        model.fit(job.X, job.y, checkpoint=checkpoint, **job.fit_options)
        model.metadata_ = job.metadata
        with no_interrupt():
            model.save(output)
        interrupted = model.stop_reason_ == "interrupted"
        if interrupted:
            passes = model.history_[-1].passes
            go_on = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
            complain(f"interrupted after pass {passes:g}: the model so far is in {output}{go_on}")
        if not model.coef_.any():
            complain("warning: every weight is zero, so that all outputs score the same: try another -C or --cost.")

    with one_line_messages("interrupted."):
        report = {**training_report(model, chosen.cost_of(model)), **job.sizes, **chosen.sizes(model)}
        if job.dev is not None:
            X, gold = job.dev
            report["dev"] = job.score(gold, model.predict(X))
        report |= file_report(output)
        if as_json:
            write(json.dumps(report, allow_nan=False))
        elif not quiet:
            write(training_summary(report, chosen.dev_summary(report["dev"]) if "dev" in report else None))
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_places(output: str, checkpoint: str | None, inputs: list[str | None]) -> None:
    check_place(output, inputs)
    if checkpoint is not None:
        check_place(checkpoint, inputs)
        if os.path.realpath(checkpoint) == os.path.realpath(output):
            raise DataError(checkpoint, None, "it is both the model and the checkpoint: give one another name.")


def _refuse_options_of_others(task: type[Task], options: Mapping[str, Any]) -> None:
    """Refuses an option that was given although it belongs to other tasks."""
    for name, value in options.items():
        if value is not None and name not in task.options():
            owners = " or ".join(other.name for other in TASKS.values() if name in other.options())
            raise MargraveError(f"{_option(name)} belongs to --task {owners}, and this is --task {task.name}.")


def _loss_chosen(
    task: Task, name: str | None, cost: str | None, rescale: str | None, slack: int | None
) -> "str | LossFamily":
    """The name of the loss, or the loss with what was chosen besides."""
    from margrave.losses import LOSSES, loss_named

    name = name or task.default_loss
    loss_named(name)
    if name != "hinge" and (rescale is not None or slack is not None):
        option = "--rescale" if rescale is not None else "--slack"
        raise MargraveError(f"{option} belongs to --loss hinge, and this is --loss {name}.")
    if name in ("log", "perceptron") and cost is not None:
        raise MargraveError(f"--cost plays no part in --loss {name}: choose another, such as hinge or softmax-margin.")
    settings = task.loss_settings()
    settings |= {key: value for key, value in (("rescale", rescale), ("slack", slack)) if value is not None}
    return LOSSES[name](**settings) if settings else name


def _learner_chosen(name: str, cost: str | None, of_lp: Mapping[str, Any]) -> "str | Learner":
    """The name of the learner, or the linear program with what was chosen besides, whose margin is a cost if given."""
    from margrave.learners import LEARNERS, learner_named

    learner_named(name)
    given = {option: value for option, value in of_lp.items() if value is not None}
    if name != "lp":
        if given:
            raise MargraveError(f"{_option(next(iter(given)))} belongs to --learner lp, and this is --learner {name}.")
        return name
    if cost is not None:
        given["margin"] = "cost"
    return LEARNERS[name](**given) if given else name


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
