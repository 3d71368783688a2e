"""`margrave evaluate`: measures a model on labelled data."""

import json
from typing import Annotated

import typer

from margrave.cli.streams import one_line_messages, write
from margrave.cli.tasks import ModelArgument, load_model


def evaluate(
    model: ModelArgument,
    data: Annotated[str, typer.Argument(metavar="INPUT", help="Data with labels.", show_default=False)],
    scheme: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How tags write spans: IOB1, IOB2 or BIOES; by their look if not given."),
    ] = None,
    references: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE", help="Of n-best lists, what they should say: a line for each id from 0; may be repeated."
        ),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="Compare hypotheses and references in lower case.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON instead of tables.")] = False,
) -> None:
    """Measure a model on labelled data.

    \b
    margrave evaluate names.model test.conll
    margrave evaluate names.model test.conll.gz --json

    Where labels are tags of spans (O, B-PER, I-PER, ...), precision, recall and F1 of whole spans are added, counted as
    conlleval does. In a taxonomy the tree loss is the height of the first node above the right and the predicted class,
    on average; the hierarchical F1 is that of the nodes on the way to both.

    \b
    margrave evaluate moses.model test.nbest.gz --references test.en

    Of n-best lists, BLEU and NIST are shown of the hypotheses chosen, of those with the highest score in the file, and
    of the oracle's, the best of each list by smoothed sentence BLEU; and how probable a difference between the first
    two as large as this is by chance (approximate randomisation). Of lists in svmlight, the share of lists whose best
    candidate is one of the most relevant.
    """
    with one_line_messages("interrupted."):
        from margrave.labels.tags import spans

        if scheme is not None:
            spans([], scheme)  # an unknown scheme is refused before any work
        options = {"scheme": scheme, "references": references, "lowercase": lowercase}
        loaded = load_model(model)
        report = loaded.evaluation(data, **loaded.own(model, options))
        write(json.dumps(report, allow_nan=False) if as_json else loaded.evaluation_summary(report))
