"""The command `margrave`: trains models, applies them, measures them and describes them.

The commands are built from what the tasks declare (`tasks/`). Only typer is imported with this package, everything else
inside the commands: `--help` must answer at once.
"""

import gc
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from margrave import __version__
from margrave.cli import evaluate, inspect, predict, train
from margrave.cli.options import Parameters, build_command
from margrave.cli.streams import end_as_by_ctrl_c, one_line_messages, open_standard_streams, write
from margrave.cli.tasks import TASKS, task_named
from margrave.cli.tasks.base import DEFAULT_TASK

_HELP_NAMES = ["-h", "--help"]


class Commands(TyperGroup):
    """The commands, of which `train` depends on the task: its options and its help are the task's."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help; where it is not given, it is False and not None, which typer would convert slowly."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """The context of the options before the command."""
        with one_line_messages("interrupted."):
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; its arguments are read here as well."""
        with one_line_messages("interrupted."):
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name; for `train` the one of its --task."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, _train_command(rest) if name == "train" else command, rest


def _train_command(args: Sequence[str]) -> Any:
    """The command `train` for the task that the arguments name, wherever they do."""
    task = _value_of("--task", args)
    kind = task_named(DEFAULT_TASK if task is None else task)
    learner = _value_of("--learner", args) if set(_HELP_NAMES) & set(args) else None
    only = typer.Typer(rich_markup_mode=None, add_completion=False)
    text = train.help_text(kind, chosen=task is not None, learner=learner)
    build_command(only, "train", train.parameters(kind), partial(train.train, kind), text)
    return get_command(only)


def _value_of(flag: str, args: Sequence[str]) -> str | None:
    """The value of an option among arguments that are not parsed yet; the last one counts."""
    found = None
    for k, text in enumerate(args):
        if text == "--":
            break
        if text.startswith(f"{flag}="):
            found = text.partition("=")[2]
        elif text == flag and k + 1 < len(args):
            found = args[k + 1]
    return found


def _overview() -> str:
    """The help of `margrave` itself."""
    parts = [
        "Learn to predict structured outputs: label sequences, classes of a taxonomy, trees, the best of a list.",
        "Most learners also prove how far the model is from the optimum.",
        "Data are text files (UTF-8, plain or gzip); - stands for standard input. What the files contain depends on "
        "--task:",
    ]
    for name, task in TASKS.items():
        default = ", the default" if name == DEFAULT_TASK else ""
        parts += [f"--task {name}{default}: {task.summary}.", f"\b\n{task.sample}", f"\b\n{task.examples[0]}"]
    parts += [
        "The other commands read the task from the model:",
        "\b\nmargrave predict names.margrave new.conll -o tagged.conll\n"
        "margrave evaluate names.margrave test.conll\n"
        "margrave inspect names.margrave --top 10",
    ]
    return "\n\n".join(parts)


_OBJECTS_BETWEEN_SEARCHES = 50_000

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help keeps the examples as they are written, in half the time
    context_settings={"help_option_names": _HELP_NAMES, "max_content_width": 100},
    help=_overview(),
)


def main() -> None:
    """Runs the command line in a process of its own, which ends after it."""
    # Modules and data sets live as long as the process. Searching them for garbage takes a tenth of a short command, so
    # the search comes less often.
    gc.set_threshold(_OBJECTS_BETWEEN_SEARCHES)
    open_standard_streams()
    end_as_by_ctrl_c()
    app(prog_name="margrave")


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"margrave {__version__}")
        raise typer.Exit


@app.callback()
def margrave(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The options of the command itself; its help text is put together from the tasks."""


# `train` stands here for the list of commands alone: `Commands` builds the one of the task.
build_command(app, "train", Parameters(), lambda values: None, "Learn a model from labeled data.")
build_command(app, "predict", predict.parameters(), predict.predict, predict.HELP)
build_command(app, "evaluate", evaluate.parameters(), evaluate.evaluate, evaluate.HELP)
build_command(app, "inspect", inspect.parameters(), inspect.describe, inspect.HELP)
