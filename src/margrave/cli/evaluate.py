"""`margrave evaluate`: measures a model on labeled data."""

import json
from typing import Any

from margrave.cli.options import THREADS, Parameters, argument, command_option, given, task_sections
from margrave.cli.streams import one_line_messages, write
from margrave.cli.tasks import TASKS, load_model

_OPTIONS = (command_option("json", bool, "Print one line of JSON instead of tables.", default=False), THREADS)
_OF_TASKS = {each.name: each for task in TASKS.values() for each in task.evaluate_options}

HELP = "\n\n".join(
    [
        "Measure a model on labeled data.",
        "\b\nmargrave evaluate names.margrave test.conll\n"
        "margrave evaluate names.margrave test.conll.gz --json\n"
        "margrave evaluate moses.margrave test.nbest.gz --references test.en",
        *(f"{name.capitalize()}: {task.measures}" for name, task in TASKS.items()),
    ]
)


def parameters() -> Parameters:
    """The parameters of the command."""
    return Parameters(
        [
            argument("model", "MODEL", "A model file."),
            argument("data", "INPUT", "Data with labels; - for standard input."),
        ],
        {"Options": _OPTIONS, **task_sections(_OF_TASKS.values())},
    )


def evaluate(values: dict[str, Any]) -> None:
    """Prints the scores of a model."""
    with one_line_messages("interrupted."):
        chosen = given(values, _OF_TASKS.values())
        loaded = load_model(values["model"], values["threads"])
        report = loaded.evaluation(values["data"], **loaded.accepted(values["model"], chosen, _OF_TASKS))
        write(json.dumps(report, allow_nan=False) if values["json"] else loaded.evaluation_summary(report))
