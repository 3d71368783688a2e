"""`margrave predict`: writes what a model predicts."""

from itertools import chain
from typing import Annotated

import typer

from margrave.cli.streams import check_place, one_line_messages, write
from margrave.cli.tasks import ModelArgument, load_model


def predict(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data, with or without labels; - for standard input.")],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write; standard output if not given."),
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add a column with the probability of the prediction.")
    ] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Of candidate lists, add a column with the score of the prediction.")
    ] = False,
) -> None:
    """Write what a model predicts.

    \b
    margrave predict names.model new.conll -o tagged.conll
    zcat new.conll.gz | margrave predict names.model - --marginals | less

    Of sequences, the input's columns are written and one more, the predicted label. The input has the columns of the
    training data; its last, the label, may be missing, and plays no part if it is there. Columns are written with the
    separator of the training, or a blank. A FILE that ends in .gz is packed.

    In a taxonomy, one class a line is written. The input's class may be missing here, too: features alone, or a text
    without a tab. Features and words that the training data did not have play no part.

    Of candidate lists, the best hypothesis of each list is written, one a line; without hypotheses (svmlight), the
    number of the best candidate, counted from 0.

    \b
    margrave predict moses.model test.nbest.gz -o best.txt
    """
    with one_line_messages("interrupted."):
        to_file = output is not None and output != "-"
        if output is not None and to_file:
            check_place(output, [model, data])
        loaded = load_model(model)
        lines = loaded.predicted_lines(data, marginals, **loaded.own(model, {"scores": scores}))
        if output is not None and to_file:
            from margrave.datasets.opening import write_lines

            write_lines(output, chain.from_iterable(lines))
        else:
            for of_batch in lines:
                write("\n".join(of_batch))
