"""`margrave predict`: writes what a model predicts."""

from itertools import chain
from typing import Any

from margrave.cli.options import THREADS, Parameters, argument, command_option, given, task_sections
from margrave.cli.streams import check_place, one_line_messages, write
from margrave.cli.tasks import TASKS, load_model

_OPTIONS = (
    command_option("output", str, "Where to write.", metavar="FILE", short="-o", if_none="standard output"),
    command_option("marginals", bool, "Add the probability of each prediction.", default=False),
    THREADS,
)
_OF_TASKS = {each.name: each for task in TASKS.values() for each in task.predict_options}

HELP = "\n\n".join(
    [
        "Write what a model predicts.",
        "\b\nmargrave predict names.margrave new.conll -o tagged.conll\n"
        "zcat new.conll.gz | margrave predict names.margrave - --marginals | less",
        "Labels in the input are ignored. Output named .gz is compressed.",
        *(f"{name.capitalize()}: {task.predicts}" for name, task in TASKS.items()),
    ]
)


def parameters() -> Parameters:
    """The parameters of the command."""
    return Parameters(
        [
            argument("model", "MODEL", "A model file."),
            argument("data", "INPUT", "Data, with or without labels; - for standard input."),
        ],
        {"Options": _OPTIONS, **task_sections(_OF_TASKS.values())},
    )


def predict(values: dict[str, Any]) -> None:
    """Writes the predictions of a model to a file or to standard output."""
    with one_line_messages("interrupted."):
        model, data, output = values["model"], values["data"], values["output"]
        to_file = output is not None and output != "-"
        if to_file:
            check_place(output, [model, data, *(values.get("tagger") or ())])
        chosen = given(values, _OF_TASKS.values())
        loaded = load_model(model, values["threads"])
        own = loaded.accepted(model, chosen, _OF_TASKS)
        lines = loaded.predicted_lines(data, values["marginals"], **own)
        if to_file:
            from margrave.datasets.opening import write_lines

            write_lines(output, chain.from_iterable(lines), marked=True)
        else:
            for of_batch in lines:
                write("\n".join(of_batch))
