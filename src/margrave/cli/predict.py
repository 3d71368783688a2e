"""`margrave predict`: writes what a model predicts."""

import inspect
from itertools import chain
from typing import Any

from margrave.cli.options import THREADS, Option, argument, given
from margrave.cli.streams import check_place, one_line_messages, write
from margrave.cli.tasks import TASKS, load_model

_OPTIONS = (
    Option("output", "Where to write; standard output if not given.", metavar="FILE", short="-o"),
    Option("marginals", "Add the probability of each prediction.", bool),
    THREADS,
)
_OF_TASKS = {each.name: each for task in TASKS.values() for each in task.predict_options}

HELP = "\n\n".join(
    [
        "Write what a model predicts.",
        "\b\nmargrave predict names.model new.conll -o tagged.conll\n"
        "zcat new.conll.gz | margrave predict names.model - --marginals | less",
        "The input may have labels, which play no part. A FILE that ends in .gz is packed.",
        *(f"{name.capitalize()}: {task.predicts}" for name, task in TASKS.items()),
    ]
)


def parameters() -> list[inspect.Parameter]:
    """The parameters of the command."""
    return [
        argument("model", "MODEL", "A model file."),
        argument("data", "INPUT", "Data, with or without labels; - for standard input."),
        *(each.parameter("Options") for each in _OPTIONS),
        *(each.parameter(f"Options for {each.applies}") for each in _OF_TASKS.values()),
    ]


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

            write_lines(output, chain.from_iterable(lines))
        else:
            for of_batch in lines:
                write("\n".join(of_batch))
