"""`margrave inspect`: describes a model."""

import inspect
import json
from typing import Any

from margrave.cli.options import Option, argument, given
from margrave.cli.reports import certificate_report, file_report, inspection_summary
from margrave.cli.streams import one_line_messages, write
from margrave.cli.tasks import TASKS, task_of
from margrave.cli.tasks.base import Task
from margrave.errors import DataError, MargraveError

_OPTIONS = (
    Option(
        "top",
        "Show the N heaviest features of each label or node, or of all parts where these share their weights; for "
        "taggers, the N heaviest transitions as well.",
        int,
        "N",
        low=0,
    ),
    Option("json", "Print one line of JSON instead of a table.", bool),
)

_OF_TASKS = {each.name: each for task in TASKS.values() for each in task.inspect_options}

HELP = """Describe a model.

Shows its size, how it was trained, and how far it is from the optimum.

\b
margrave inspect names.model
margrave inspect posts.model --top 5
margrave inspect moses.model --top 20 --json
margrave inspect english.model --data test.conllu --plot trees.svg --sentences 1-5
margrave inspect english.model --data test.conllu --explain 3:7
margrave inspect aligner.model --plot matrix.png
margrave inspect aligner.model --data pairs.tsv --plot posteriors.png
"""


def parameters() -> list[inspect.Parameter]:
    """The parameters of the command."""
    return [
        argument("model", "MODEL", "A model file."),
        *(each.parameter("Options") for each in _OPTIONS),
        *(each.parameter(f"Options for {each.applies}") for each in _OF_TASKS.values()),
    ]


def describe(values: dict[str, Any]) -> None:
    """Prints what a model file says of its model."""
    with one_line_messages("interrupted."):
        from margrave.estimators import load
        from margrave.estimators.base import StructuredEstimator

        path = values["model"]
        estimator = load(path)
        if not isinstance(estimator, StructuredEstimator):
            raise DataError(path, None, f"it holds a {type(estimator).__name__}, which was counted and not optimised.")
        found = task_of(estimator)
        task = found or Task
        chosen = given(values, _OF_TASKS.values())
        if chosen and found is None:
            raise DataError(path, None, f"it holds a {type(estimator).__name__}, not what 'margrave train' makes.")
        model = task.model(path, estimator) if chosen else None
        own = {} if model is None else model.accepted(path, chosen, _OF_TASKS)
        try:
            more = task.inspection(estimator, values["top"] or 0)
        except MargraveError as error:  # features without names
            raise DataError(path, None, str(error)) from error
        report = {
            **file_report(path),
            "estimator": type(estimator).__name__,
            **task.sizes(estimator),
            **certificate_report(estimator, task.cost_of(estimator)),
            "learner": estimator.learner if isinstance(estimator.learner, str) else estimator.learner.name,
            **more,
            **({} if model is None else model.illustration(**own)),
        }
        if values["json"]:
            write(json.dumps(report, allow_nan=False))
        else:
            shown = [task.inspection_summary(report), "" if model is None else model.illustration_summary(report)]
            write(inspection_summary(report, "\n\n".join(filter(None, shown))))
