"""Margrave against the rivals that are installed, and its learners among themselves.

python -m benchmarks (or make bench) runs everything, which takes hours; python -m benchmarks ocr runs one experiment.
Writes benchmarks/results/NAME.json, with machine and versions; prints tables, and draws NAME.png beside the result.
Every experiment runs in a process of its own, one after another. Some long ones write each piece of their result, such
as a treebank, as soon as it is measured; MARGRAVE_PIECES names the pieces to measure, and the others stay as they are.
"""

import argparse
from importlib.util import find_spec

from benchmarks.corpora.folder import MissingData, corpus
from benchmarks.experiment import Experiment, Result, about, experiment, full_name, measured, names
from benchmarks.machine import RESULTS, has_result, in_new_process, read_result, write_result


def main() -> None:
    """The experiments named, or all, as far as their data are there."""
    every = names()
    listed = "\n".join(f"  {name:<12}{about(name)}" for name in every)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"experiments:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which to run (default: all)")
    parser.add_argument("--show", action="store_true", help="show the stored results again instead of measuring")
    arguments = parser.parse_args()
    chosen = []
    for given in arguments.names or every:
        name = full_name(given)
        if name is None:
            parser.error(f"unknown experiment {given!r} (valid: {', '.join(every)})")
        chosen.append(name)
    for name in chosen:
        print(f"{name}:", flush=True)
        if arguments.show:
            if has_result(experiment(name).RESULT):
                show(experiment(name), read_result(experiment(name).RESULT))
            else:
                print("  not measured yet")
            continue
        try:
            for data in experiment(name).CORPORA:
                corpus(data)
        except MissingData as missing:
            print(f"  skipped: {missing}")
            continue
        result = in_new_process(measured, name)
        write_result(experiment(name).RESULT, result)
        show(experiment(name), read_result(experiment(name).RESULT))


def show(shown: Experiment, result: Result) -> None:
    """Prints the table, and draws the plot beside the result."""
    print(shown.table(result))
    if not find_spec("matplotlib"):
        print("no plot: matplotlib is not installed (extra 'plots')")
        return
    figure = shown.plot(result)
    if figure is not None:
        figure.savefig(RESULTS / f"{shown.RESULT}.png", dpi=110)


if __name__ == "__main__":
    main()
