"""The command `margrave`: models trained, applied, measured and described.

Only typer is imported with the package, and the rest inside the commands: `--help` must answer at once.
"""

from typing import Annotated

import typer

from margrave import __version__
from margrave.cli import evaluate, inspect, predict, train
from margrave.cli.streams import write

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help keeps the examples as they are written, at half the time
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def main() -> None:
    """Runs the command line."""
    app(prog_name="margrave")


def _show_version(wanted: bool) -> None:
    if wanted:
        write(f"margrave {__version__}")
        raise typer.Exit


@app.callback()
def margrave(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn to tag sequences, to classify in a taxonomy or to choose from lists of candidates.

    Every model comes with a certificate of how far it is from the optimum, where its learner has one.

    Data are text files (UTF-8, plain or gzip); - stands for standard input. Sequences have one token a line, its
    columns side by side, the label last, and a blank line between sequences.

    \b
        Lady     PROPN  O
        Cecily   PROPN  B-PER
        sang     VERB   O
        .        PUNCT  O

    \b
    margrave train train.conll -o names.model --dev dev.conll
    margrave predict names.model new.conll -o tagged.conll
    margrave evaluate names.model test.conll

    Examples of a taxonomy have one line each: a class, which may be a path, and the features or the text.

    \b
        4/6/2  1:0.5 7:2 12:1
        comp.sys.mac<TAB>The drive spins up, and then nothing happens.

    \b
    margrave train --task taxonomy train.svm -o images.model --taxonomy hierarchy.txt
    margrave predict images.model new.svm
    margrave inspect images.model

    Candidates are the hypotheses of n-best lists, with their references, or rows of features with a relevance.

    \b
        0 ||| the old house stands ||| lm=-12.1 tm=-3.5 ||| -7.3
        2 qid:1 1:0.5 7:2 12:1

    \b
    margrave train --task rerank dev.nbest -o moses.model --references dev.en
    margrave predict moses.model test.nbest -o best.txt
    margrave evaluate moses.model test.nbest --references test.en
    """


for _command in (train.train, predict.predict, evaluate.evaluate, inspect.inspect):
    app.command()(_command)
