"""Margrave against the rivals that are installed, and its learners among themselves.

python -m benchmarks (or make bench) runs everything, which takes hours; python -m benchmarks ocr runs one experiment.
Writes benchmarks/results/NAME.json, with machine and versions; prints tables, and draws NAME.png beside the result.
Every experiment runs in a process of its own, one after another. Some long ones write each piece of their result, such
as a treebank, as soon as it is measured; MARGRAVE_PIECES names the pieces to measure, and the others stay as they are.

Every record has the commit and a fingerprint of the sources that it depends on (benchmarks/sources.py). --outdated
lists what was measured with other sources, and --update measures it again; if it is interrupted, it goes on from there.
"""

import argparse
import os
from importlib.util import find_spec

from benchmarks.corpora.folder import MissingData, corpus
from benchmarks.experiment import Experiment, Result, about, experiment, full_name, measured, names
from benchmarks.freshness import outdated
from benchmarks.machine import RESULTS, has_result, in_new_process, read_result, write_result
from benchmarks.pieces import OUTDATED
from benchmarks.sources import fingerprint
from benchmarks.stages import forget


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
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="show the stored results again instead of measuring")
    what.add_argument("--outdated", action="store_true", help="list results that are older than their code, and exit")
    what.add_argument("--update", action="store_true", help="measure only what is older than its code")
    arguments = parser.parse_args()
    chosen = []
    for given in arguments.names or every:
        name = full_name(given)
        if name is None:
            parser.error(f"unknown experiment {given!r} (valid: {', '.join(every)})")
        chosen.append(name)
    if arguments.outdated or arguments.update:
        old = {name: found for name in chosen if (found := older_than_code(name))}
        for name, found in old.items():
            print(f"{name}: {', '.join(found)}")
        if arguments.outdated:
            return
        chosen = list(old)
        os.environ["MARGRAVE_PIECES"] = OUTDATED
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
        try:
            result = in_new_process(measured, name)
        except KeyboardInterrupt:
            raise SystemExit("\ninterrupted; --update measures what is missing or outdated") from None
        write_result(experiment(name).RESULT, result)
        forget(experiment(name).RESULT)
        show(experiment(name), read_result(experiment(name).RESULT))


def older_than_code(name: str) -> list[str]:
    """What of the result of an experiment was measured with other sources than those of today."""
    stored = experiment(name).RESULT
    if not has_result(stored):
        return ["not measured yet"]
    return outdated(read_result(stored), fingerprint(f"benchmarks.experiments.{name}"))


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
