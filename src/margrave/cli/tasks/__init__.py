"""The tasks, one file each: adding a file here adds a task to all commands."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from margrave.cli.tasks.base import DEFAULT_TASK, Model, Task
from margrave.errors import DataError, unknown

for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")

# The default task first, the others by name. A task that a program of its own defines later is added at the end.
TASKS: dict[str, type[Task]] = Task.registered
for _name in sorted(TASKS, key=lambda name: (name != DEFAULT_TASK, name)):
    TASKS[_name] = TASKS.pop(_name)


def task_named(name: str) -> type[Task]:
    """The task of this name."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


def task_of(estimator: Any) -> type[Task] | None:
    """The task that trains such estimators; some are trained by none."""
    name = estimator.saved_as
    return next((task for task in TASKS.values() if name in (task.estimator.rpartition(":")[2], *task.also)), None)


def load_model(path: str, threads: int | None = None) -> Model:
    """The model of a file, and how it reads data; `threads`: how many it uses, or None for all processors."""
    from margrave.estimators import load

    estimator: Any = load(path)
    task = task_of(estimator)
    if task is None:
        raise DataError(path, None, f"it contains a {estimator.saved_as}, which 'margrave train' does not make.")
    estimator.n_jobs = threads
    return task.model(path, estimator)
