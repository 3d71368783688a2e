"""`margrave inspect`: describes a model."""

import json
from typing import Any

from margrave.cli.options import Parameters, argument, command_option, given, task_sections
from margrave.cli.reports import certificate_report, file_report, inspection_summary, table
from margrave.cli.streams import one_line_messages, write
from margrave.cli.tasks import TASKS, task_of
from margrave.cli.tasks.base import Task
from margrave.errors import DataError, MargraveError, quoted

_OPTIONS = (
    command_option(
        "top",
        int,
        "Show the N features with the largest weights for each label or node, or for all parts if they share their "
        "weights; for taggers, also the top N transitions.",
        at_least=0,
    ),
    command_option(
        "sign",
        str,
        "Which weights --top shows.",
        choices=("positive", "negative", "both"),
        if_none="positive for each label; both where parts share their weights",
    ),
    command_option(
        "weight", str, "Show the weights of this feature, for each label that it has one for.", metavar="FEATURE"
    ),
    command_option("json", bool, "Print one line of JSON instead of a table.", default=False),
)

_OF_TASKS = {each.name: each for task in TASKS.values() for each in task.inspect_options}

HELP = """Describe a model.

Shows its size, how it was trained, and how far it is from the optimum.

\b
margrave inspect names.margrave
margrave inspect posts.margrave --top 5
margrave inspect moses.margrave --top 20 --json
margrave inspect names.margrave --top 10 --sign negative
margrave inspect names.margrave --weight "0[0]=Ada"
margrave inspect english.margrave --data test.conllu --plot trees.svg --sentences 1-5
margrave inspect english.margrave --data test.conllu --explain 3:7
margrave inspect aligner.margrave --plot matrix.png
margrave inspect aligner.margrave --data pairs.tsv --plot posteriors.png
"""


def parameters() -> Parameters:
    """The parameters of the command."""
    return Parameters(
        [argument("model", "MODEL", "A model file.")], {"Options": _OPTIONS, **task_sections(_OF_TASKS.values())}
    )


def describe(values: dict[str, Any]) -> None:
    """Prints what a model file says of its model."""
    with one_line_messages("interrupted."):
        from margrave.estimators import load

        path = values["model"]
        estimator = load(path)
        if not hasattr(estimator, "learner"):
            raise DataError(path, None, f"it contains a {estimator.saved_as}, which was counted, not optimized.")
        found = task_of(estimator)
        task = found or Task
        chosen = given(values, _OF_TASKS.values())
        if chosen and found is None:
            raise DataError(path, None, f"it contains a {estimator.saved_as}, which 'margrave train' does not make.")
        model = task.model(path, estimator) if chosen else None
        own = {} if model is None else model.accepted(path, chosen, _OF_TASKS)
        try:
            more = task.inspection(estimator, values["top"] or 0, values["sign"])
            if values["weight"] is not None:
                more["weight"] = _weights_of(path, estimator, values["weight"])
        except DataError:
            raise
        except MargraveError as error:  # features without names
            raise DataError(path, None, error.message) from error
        report = {
            **file_report(path),
            "estimator": estimator.saved_as,
            **task.sizes(estimator),
            **certificate_report(estimator, task.cost_of(estimator)),
            **more,
            **({} if model is None else model.illustration(**own)),
        }
        if values["sign"] is not None and not values["top"]:
            raise MargraveError("--sign applies to --top only, which is not given.")
        if values["json"]:
            write(json.dumps(report, allow_nan=False))
        else:
            shown = [
                table(_named(report["weight"]), 0) if "weight" in report else "",
                task.inspection_summary(report),
                "" if model is None else model.illustration_summary(report),
            ]
            write(inspection_summary(report, "\n\n".join(filter(None, shown))))


def _weights_of(path: str, estimator: Any, feature: str) -> list[list[Any]]:
    """The names and weights of a feature; an error if the model has none of this name."""
    found = [[*map(str, name), weight] for name, weight in estimator.weights_.of(feature).items()]
    if not found:
        raise DataError(path, None, f"it has no weight of the feature {quoted(feature)}.")
    return found


def _named(weights: list[list[Any]]) -> list[tuple[str, str]]:
    width = max(len("  ".join(names)) for *names, _ in weights)
    return [(f"{'  '.join(names):<{width}}  ", f"{weight:+.6g}") for *names, weight in weights]
