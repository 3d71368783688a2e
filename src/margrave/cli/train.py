"""`margrave train`: learns a model from labeled data."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from margrave.cli.learning import SHARED, chosen_learner, chosen_loss, learning_options, settings_help
from margrave.cli.options import Parameters, argument, command_option, given
from margrave.cli.reports import file_report, training_report, training_summary
from margrave.cli.streams import check_place, interrupted_code, no_interrupt, one_line_messages, write, write_error
from margrave.cli.tasks import TASKS
from margrave.cli.tasks.base import DEFAULT_TASK, Task
from margrave.errors import DataError, MargraveError

_OPTIONS = (
    command_option("output", str, "The model file to write.", metavar="MODEL", short="-o", required=True),
    command_option("task", str, "What to learn; with --help, shows the options of the task.", default=DEFAULT_TASK),
    command_option("dev", str, "Development data to evaluate on after training.", metavar="FILE"),
    command_option("checkpoint", str, "Save progress to this file, and resume from it if it exists.", metavar="FILE"),
    command_option("json", bool, "Print one line of JSON instead of the summary.", default=False),
    command_option("quiet", bool, "Show neither progress nor the summary.", default=False, short="-q"),
)


def parameters(task: type[Task]) -> Parameters:
    """The parameters of the command for a task; options of other tasks are known, to be refused by name, but hidden."""
    sections = {
        "Options": _OPTIONS,
        f"Options of --task {task.name}": task.options(),
        "Loss and learner": learning_options(task.settings),
    }
    known = {each.name for of in sections.values() for each in of}
    others = {each.name: each for other in TASKS.values() for each in other.options() if each.name not in known}
    return Parameters(
        [argument("data", "TRAIN", "The training data; - for standard input.")], sections, [*others.values()]
    )


def help_text(task: type[Task], *, chosen: bool, learner: str | None = None) -> str:
    """The help of the command for a task, which the user has chosen or not; `learner`: with the settings of it."""
    commands = "\n".join(["\b", *task.examples])
    parts = ["Learn a model from labeled data."]
    if not chosen:
        width = max(map(len, TASKS))
        tasks = "\n".join(["\b", *(f"    {name:<{width}}  {each.summary}" for name, each in TASKS.items())])
        parts += ["Tasks (see `--task NAME --help` for options and file formats):", tasks]
    parts += [
        f"With --task {task.name}{'' if chosen else ', the default'}, the model predicts {task.summary}.",
        task.data,
        commands,
        "Ctrl-C ends the training early and saves the model so far. With --checkpoint, the same command resumes from "
        "there, even if the training was killed.",
    ]
    if learner is not None:
        parts.append(settings_help(learner))
    return "\n\n".join(parts)


def train(kind: type[Task], values: dict[str, Any]) -> None:
    """Trains a task on what the options say."""
    options = [*learning_options(kind.settings), *kind.options()]
    with one_line_messages("interrupted before the first pass: nothing was written.", options):
        # Whatever can be wrong is found before the training, and what is cheap to find comes first.
        _refuse_options_of_others(kind, values)
        task = _task(kind, values)
        output, checkpoint = values["output"], values["checkpoint"]
        _check_places(output, checkpoint, [values["data"], values["dev"], *task.files()])
        _choose_learning(task, values)
        if checkpoint is not None:
            task = task.for_one_run()
        job = task.job(values["data"], values["dev"])
        model: Any = job.estimator
        memory = _observe_memory(model, job.fit_options)
        model.fit(job.X, job.y, checkpoint=checkpoint, **job.fit_options)
        model.metadata_ = job.metadata
        with no_interrupt():
            model.save(output)
        interrupted = model.ended_ == "interrupted"
        if interrupted:
            passes = model.history_[-1].passes
            go_on = "" if checkpoint is None else f"; the same command resumes from {checkpoint}"
            write_error(f"interrupted after pass {passes:g}: the model so far is in {output}{go_on}")

    with one_line_messages("interrupted."):
        report = {**training_report(model, task.cost_of(model)), **job.sizes, **task.sizes(model)}
        report |= task.training_notes(model) | {"learner_bytes": memory()}
        if not model.coef_.any() and report["learner"] != "lp":  # which says so itself
            write_error("warning: every weight is zero, so all outputs score the same: try another -C or --cost.")
        if job.dev is not None:
            X, gold = job.dev
            report["dev"] = job.score(gold, model.predict(X, **job.dev_options))
        report |= file_report(output)
        if values["json"]:
            write(json.dumps(report, allow_nan=False))
        elif not values["quiet"]:
            dev = task.dev_summary(report["dev"]) if "dev" in report else None
            write(training_summary(report, task.training_rows(report), dev))
    if interrupted:
        raise typer.Exit(interrupted_code())


def _observe_memory(model: Any, fit_options: dict[str, Any]) -> Callable[[], int | None]:
    """Lets a fit tell how much memory its learner takes besides data and weights; None if it does not know before."""
    from margrave.estimators.base import StructuredEstimator
    from margrave.learners import Observer

    found: list[int | None] = []

    class Watching(Observer):
        def begin(self, objective: Any, learner: Any) -> None:
            found.append(learner.required_bytes(objective.loss, objective.problem))

    if isinstance(model, StructuredEstimator):
        fit_options["observers"] = [*fit_options.get("observers", ()), Watching()]
    return lambda: max((size for size in found if size is not None), default=None)


def _check_places(output: str, checkpoint: str | None, inputs: list[str | None]) -> None:
    check_place(output, inputs)
    if checkpoint is not None:
        check_place(checkpoint, inputs)
        if os.path.realpath(checkpoint) == os.path.realpath(output):
            raise DataError(checkpoint, None, "it is both the model and the checkpoint: give one another name.")


def _task(kind: type[Task], values: dict[str, Any]) -> Task:
    """The task with its options and the settings of its estimator."""
    own = given(values, kind.options())
    shared = {name: values[flag] for name, flag in SHARED.items() if values[flag] is not None}
    names = frozenset([*own, *shared])
    offered = {name: kind.flags.get(name, name) for name in kind.fields}
    chosen = kind.settings(**shared, **{name: own.pop(flag) for name, flag in offered.items() if flag in own})
    return kind(chosen, names, **own)


def _choose_learning(task: Task, values: dict[str, Any]) -> None:
    """Sets the loss and the learner that the options choose; a file may have the costs of the loss."""
    chosen = task.chosen
    settings, cost = task.loss_settings(), task.given_cost()
    chosen.loss = chosen_loss(values, chosen.loss, cost, settings)
    chosen.learner = chosen_learner(values, chosen.learner, cost)
    chosen.verbose = not values["quiet"] and sys.stderr is not None and sys.stderr.isatty()


def _refuse_options_of_others(task: type[Task], values: dict[str, Any]) -> None:
    """Refuses an option that was given although it belongs to other tasks."""
    own = {each.name for each in task.options()}
    for other in TASKS.values():
        for each in other.options():
            if each.name not in own and given(values, [each]):
                owners = [of.name for of in TASKS.values() if each.name in {option.name for option in of.options()}]
                raise MargraveError(
                    f"{each.flag} applies to --task {' or '.join(owners)} only, and this is --task {task.name}."
                )
