"""`margrave inspect`: describes a model."""

import json
from typing import Annotated

import typer

from margrave.cli.reports import certificate_report, file_report, inspection_summary
from margrave.cli.streams import one_line_messages, write
from margrave.cli.tasks import ModelArgument, task_of
from margrave.cli.tasks.base import Task
from margrave.errors import DataError


def inspect(
    model: ModelArgument,
    top: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Of a taxonomy of texts, the N words that speak most for each node; of a reranker, the N heaviest "
            "features.",
        ),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of a table.")] = False,
) -> None:
    """Describe a model.

    Its size, how it was trained, and how far it is from the optimum.

    \b
    margrave inspect names.model
    margrave inspect posts.model --top 5
    margrave inspect moses.model --top 20
    """
    with one_line_messages("interrupted."):
        from margrave.estimators import load
        from margrave.estimators.base import StructuredEstimator

        estimator = load(model)
        if not isinstance(estimator, StructuredEstimator):
            raise DataError(model, None, f"it holds a {type(estimator).__name__}, which was counted and not optimised.")
        task = task_of(estimator) or Task
        report = {
            **file_report(model),
            "estimator": type(estimator).__name__,
            **task.sizes(estimator),
            **certificate_report(estimator, task.cost_of(estimator)),
            "learner": estimator.learner if isinstance(estimator.learner, str) else estimator.learner.name,
            **task.inspection(model, estimator, top),
        }
        if as_json:
            write(json.dumps(report, allow_nan=False))
        else:
            write(inspection_summary(report, task.inspection_summary(report)))
