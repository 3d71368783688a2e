"""The tasks, one file each: a new one is a file and its entry in the table here."""

from typing import Annotated, Any

import typer

from margrave.cli.tasks.base import Model, Task
from margrave.cli.tasks.rerank import Rerank
from margrave.cli.tasks.tagging import Tagging
from margrave.cli.tasks.taxonomy import TaxonomyTask
from margrave.errors import DataError, unknown

TASKS: dict[str, type[Task]] = {task.name: task for task in (Tagging, TaxonomyTask, Rerank)}

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.", show_default=False)]


def task_named(name: str) -> type[Task]:
    """The task of this name."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


def task_of(estimator: Any) -> type[Task] | None:
    """The task that a trained estimator is of; some are of none."""
    return next((task for task in TASKS.values() if task.trained == type(estimator).__name__), None)


def load_model(path: str) -> Model:
    """The model of a file, and how it reads data."""
    from margrave.estimators import load

    estimator = load(path)
    task = task_of(estimator)
    if task is None:
        raise DataError(path, None, f"it holds a {type(estimator).__name__}, not what 'margrave train' makes.")
    return task.model(path, estimator)
