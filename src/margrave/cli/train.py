"""`margrave train`: learns a model from labelled data."""

import inspect
import json
import os
import sys
from typing import Any

import typer

from margrave.cli.learning import chosen_learner, chosen_loss, learning_options, settings_help
from margrave.cli.options import Option, argument, given
from margrave.cli.reports import file_report, training_report, training_summary
from margrave.cli.streams import INTERRUPTED, check_place, no_interrupt, one_line_messages, write, write_error
from margrave.cli.tasks import TASKS
from margrave.cli.tasks.base import DEFAULT_TASK, Task
from margrave.errors import DataError, MargraveError

_OPTIONS = (
    Option("output", "The model file to write.", metavar="MODEL", short="-o", required=True),
    Option(
        "task",
        "What to learn; with --help, shows the options of the task.",
        metavar="NAME",
        default=DEFAULT_TASK,
    ),
    Option("dev", "More data of the same kind, to measure the model on.", metavar="FILE"),
    Option(
        "checkpoint",
        "Follow the training in this file; if the file exists, go on from it.",
        metavar="FILE",
    ),
    Option("json", "Print one line of JSON instead of the summary.", bool),
    Option("quiet", "Show neither progress nor the summary.", bool, short="-q"),
)


def parameters(task: type[Task]) -> list[inspect.Parameter]:
    """The parameters of the command for a task; options of other tasks are known, to be refused by name, but hidden."""
    shared = [*_OPTIONS, *learning_options(task.default_loss)]
    known = {each.name for each in (*shared, *task.options())}
    others = {each.name: each for other in TASKS.values() for each in other.options() if each.name not in known}
    return [
        argument("data", "TRAIN", "The training data; - for standard input."),
        *(each.parameter("Options") for each in _OPTIONS),
        *(each.parameter(f"Options of --task {task.name}") for each in task.options()),
        *(each.parameter("Loss and learner") for each in shared[len(_OPTIONS) :]),
        *(each.parameter("Options of other tasks", hidden=True) for each in others.values()),
    ]


def help_text(task: type[Task], *, chosen: bool, learner: str | None = None) -> str:
    """The help of the command for a task, which the user has chosen or not; `learner`: with the settings of it."""
    commands = "\n".join(["\b", *task.examples])
    parts = ["Learn a model from labelled data."]
    if not chosen:
        width = max(map(len, TASKS))
        tasks = "\n".join(["\b", *(f"    {name:<{width}}  {each.summary}" for name, each in TASKS.items())])
        parts += ["There are these tasks; --task NAME --help shows the options and the data of one:", tasks]
    parts += [
        f"With --task {task.name}{'' if chosen else ', the default'}, the model predicts {task.summary}.",
        task.data,
        commands,
        "Ctrl-C ends the training early and saves the model so far. With --checkpoint the same command goes on from "
        "there, also after the training was killed.",
    ]
    if learner is not None:
        parts.append(settings_help(learner))
    return "\n\n".join(parts)


def train(task: type[Task], values: dict[str, Any]) -> None:
    """Trains the task on what the options say."""
    options = [*learning_options(task.default_loss), *task.options()]
    with one_line_messages("interrupted before the first pass: nothing was written.", options):
        # Whatever can be wrong is found before the training, and what is cheap to find comes first.
        _refuse_options_of_others(task, values)
        chosen = task(**given(values, task.options()))
        cost = values.get("cost")
        defaults = {each.name: each.default for each in learning_options(task.default_loss)}
        settings = {
            **{
                setting: defaults[name] if values[name] is None else values[name]
                for name, setting in (("C", "C"), ("tol", "tol"), ("seed", "random_state"), ("max_iter", "max_iter"))
            },
            "loss": chosen_loss(values, task.default_loss, cost, chosen.loss_settings()),
            "learner": chosen_learner(values, cost),
            "n_jobs": values["threads"],
            "verbose": not values["quiet"] and sys.stderr.isatty(),
        }
        output, checkpoint = values["output"], values["checkpoint"]
        _check_places(output, checkpoint, [values["data"], values["dev"], *chosen.files()])
        if checkpoint is not None:
            chosen = chosen.for_one_run(settings)
        job = chosen.job(values["data"], values["dev"], settings)
        model: Any = job.estimator
        model.fit(job.X, job.y, checkpoint=checkpoint, **job.fit_options)
        model.metadata_ = job.metadata
        with no_interrupt():
            model.save(output)
        interrupted = model.ended_ == "interrupted"
        if interrupted:
            passes = model.history_[-1].passes
            go_on = "" if checkpoint is None else f"; the same command goes on from {checkpoint}"
            write_error(f"interrupted after pass {passes:g}: the model so far is in {output}{go_on}")
        if not model.coef_.any() and model.learner_.name != "lp":  # which says so itself
            write_error("warning: every weight is zero, so that all outputs score the same: try another -C or --cost.")

    with one_line_messages("interrupted."):
        report = {**training_report(model, chosen.cost_of(model)), **job.sizes, **chosen.sizes(model)}
        report |= chosen.training_notes(model)
        if job.dev is not None:
            X, gold = job.dev
            report["dev"] = job.score(gold, model.predict(X))
        report |= file_report(output)
        if values["json"]:
            write(json.dumps(report, allow_nan=False))
        elif not values["quiet"]:
            dev = chosen.dev_summary(report["dev"]) if "dev" in report else None
            write(training_summary(report, chosen.training_rows(report), dev))
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_places(output: str, checkpoint: str | None, inputs: list[str | None]) -> None:
    check_place(output, inputs)
    if checkpoint is not None:
        check_place(checkpoint, inputs)
        if os.path.realpath(checkpoint) == os.path.realpath(output):
            raise DataError(checkpoint, None, "it is both the model and the checkpoint: give one another name.")


def _refuse_options_of_others(task: type[Task], values: dict[str, Any]) -> None:
    """Refuses an option that was given although it belongs to other tasks."""
    own = {each.name for each in task.options()}
    for other in TASKS.values():
        for name in given(values, other.options()):
            if name not in own:
                owners = " or ".join(
                    each.name for each in TASKS.values() if name in {option.name for option in each.options()}
                )
                flag = Option(name, "").flag
                raise MargraveError(f"{flag} belongs to --task {owners}, and this is --task {task.name}.")
