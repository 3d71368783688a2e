"""Margrave against the rivals that are installed, and its learners among themselves: python -m benchmarks (or make
bench) for everything, which takes hours, python -m benchmarks ocr for one.

Writes benchmarks/results/*.json, with machine and versions, and plots; prints tables. Every driver runs in a process of
its own, one after another.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import plots, tables
from benchmarks.data import MissingData, corpus
from benchmarks.dual import near, reached
from benchmarks.machine import RESULTS, write_result
from benchmarks.tagging import curves

Result = dict[str, Any]

NEAR = (1e-3, 1e-5)  # of the optimum of CoNLL-2000, relatively


def run(module: str, *arguments: str) -> Result:
    """One driver in a process of its own; its figures."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        print(f"  {module} {' '.join(arguments)}", flush=True)
        subprocess.run([sys.executable, "-m", module, *arguments, "--json", str(out)], check=True)
        return json.loads(out.read_text())  # type: ignore[no-any-return]


def tagging() -> Result:
    """CoNLL-2000 chunking: CRFsuite's L-BFGS, and our L-BFGS and online EG, on the same objective."""
    learners = {"margrave": ["lbfgs"], "margrave_eg": ["eg", "--looser", "0.1", "0.01", "0.001", "0.0001"]}
    result: Result = {
        f"{name}{suffix}": run("benchmarks.tagging", "--threads", threads, "--learner", *learner)
        for name, learner in learners.items()
        for suffix, threads in (("", "1"), ("_2_threads", "2"))
    }
    if find_spec("pycrfsuite"):
        result["crfsuite"] = run("benchmarks.rivals.crfsuite", "conll2000", "--c2", "1", "--iterations", "300")
    result["near"] = {name: {"reached": reached(points, NEAR, near)} for name, points in curves(result).items()}
    if "crfsuite" in result:
        result["ratios"] = tagging_ratios(result)
    return result


def tagging_ratios(result: Result) -> dict[str, float]:
    """How many times faster, or smaller, Margrave is than CRFsuite."""
    ours, two, rival = result["margrave"], result["margrave_2_threads"], result["crfsuite"]
    one_thread, two_threads = (entry["seconds"] for entry in ours["gradient"])
    theirs = rival["train"]["seconds_per_evaluation"]
    ratios = {
        "loss_and_gradient_1_thread": theirs / one_thread,
        "loss_and_gradient_2_threads": theirs / two_threads,
        "training_1_thread": rival["train"]["seconds"] / ours["train"]["seconds"],
        "training_2_threads": rival["train"]["seconds"] / two["train"]["seconds"],
        "tagging": ours["tag"]["tokens_per_second"] / rival["tag"]["tokens_per_second"],
        "peak_memory": rival["train"]["peak_mb"] / ours["train"]["peak_mb"],
    }
    others = {name: entry["reached"] for name, entry in result["near"].items()}
    rivals = others.pop("crfsuite")
    for name, times in others.items():
        for goal, at in times.items():
            if at and rivals[goal]:
                ratios[f"{name}, {goal}"] = rivals[goal]["seconds"] / at["seconds"]
    return ratios


def multiclass() -> Result:
    """MNIST: scikit-learn's logistic regression and ours, to the same certified gap."""
    result: Result = {}
    for n in (10_000, 60_000):
        ours = run("benchmarks.multiclass", str(n))
        rival = run("benchmarks.rivals.sklearn_logistic", str(n))
        # NumPy's and SciPy's thread pools fight each other: the rival is taken at its best.
        mine = {f"{t['threads']}_threads": t["seconds"] for t in ours["timings"]}
        best = {
            f"{threads}_threads": min(t["seconds"] for t in rival["timings"] if t["threads"] <= threads)
            for threads in (1, 2)
        }
        ratios = {threads: best[threads] / mine[threads] for threads in mine}
        result[str(n)] = {"margrave": ours, "scikit-learn": rival, "best": best, "ratios": ratios}
    return result


class Benchmark(NamedTuple):
    """What to measure, what it needs, and how to show it."""

    measure: Callable[[], Result]
    corpora: tuple[str, ...]
    name: str  # of its files in benchmarks/results
    table: Callable[[Result], str]
    plot: Callable[[Result, Path], None] | None


def _dual(experiment: str, seconds: int = 60) -> Callable[[], Result]:
    return partial(run, "benchmarks.dual", experiment, "--seconds", str(seconds))


def _svm(experiment: str) -> Callable[[], Result]:
    return partial(run, "benchmarks.structural_svm", experiment)


def _lp(experiment: str, seconds: int = 100) -> Callable[[], Result]:
    return partial(run, "benchmarks.lp_struct", experiment, "--seconds", str(seconds))


IMAGES_AND_NEWS = ("taxonomy-imclef07a", "taxonomy-imclef07d", "20newsgroups")
MAILS_AND_BLURBS = ("taxonomy-enron-corr", "taxonomy-blurbs-de")

BENCHMARKS = {
    "tagging": Benchmark(tagging, ("conll2000",), "conll2000", tables.tagging, plots.tagging),
    "multiclass": Benchmark(multiclass, ("mnist",), "mnist", tables.multiclass, None),
    "ocr": Benchmark(_dual("ocr", 20), ("ocr-letters",), "ocr", tables.relative_gaps, plots.relative_gaps),
    "mnist": Benchmark(_dual("mnist", 60), ("mnist",), "mnist_eg", tables.mnist, plots.mnist),
    "fig4": Benchmark(_dual("fig4"), ("conll2003-en",), "fig4", tables.fig4, plots.fig4),
    "fig3_001": Benchmark(_dual("fig3_001", 40), ("conll2003-en",), "fig3_001", tables.fig3_001, plots.fig3_001),
    "trees": Benchmark(_dual("trees", 20), ("ud-greek-gdt",), "trees", tables.trees, plots.trees),
    "choosing": Benchmark(
        _dual("choosing", 15),
        ("conll2000", "ocr-letters", "mnist", "ud-greek-gdt"),
        "choosing",
        tables.relative_gaps,
        plots.relative_gaps,
    ),
    "threads": Benchmark(_dual("threads"), ("conll2000", "ocr-letters"), "threads", tables.threads, None),
    "taxonomy": Benchmark(_svm("taxonomy"), IMAGES_AND_NEWS, "taxonomy", tables.taxonomy, plots.taxonomy),
    "multilabel": Benchmark(_svm("multilabel"), MAILS_AND_BLURBS, "multilabel", tables.multilabel, None),
    "ner_es": Benchmark(_svm("ner_es"), ("conll2002-es",), "ner_es", tables.ner_es, None),
    "svm_ocr": Benchmark(_svm("svm_ocr"), ("ocr-letters",), "svm_ocr", tables.svm_ocr, None),
    "svm_linear": Benchmark(_svm("svm_linear"), ("ocr-letters",), "svm_linear", tables.svm_linear, plots.svm_linear),
    "pos": Benchmark(_lp("pos", 480), ("genia-treebank",), "pos", tables.pos, plots.pos),
    "pos_margin": Benchmark(_lp("pos_margin"), ("genia-treebank",), "pos_margin", tables.pos, None),
    "pos_brown": Benchmark(_lp("pos_brown", 900), ("brown-pos",), "pos_brown", tables.pos, plots.pos),
    "rerank": Benchmark(_lp("rerank"), ("mt-nbest-moses", "mt-bn-en-hiero"), "rerank", tables.rerank, None),
    "lp_scale": Benchmark(_lp("lp_scale"), ("genia-treebank",), "lp_scale", tables.lp_scale, plots.lp_scale),
}


def main() -> None:
    """The benchmarks named, or all, as far as their data are there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(BENCHMARKS)} (default: all)")
    names = parser.parse_args().names or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"unknown benchmark {name!r} (valid: {', '.join(BENCHMARKS)})")
    for name in names:
        print(f"{name}:", flush=True)
        benchmark = BENCHMARKS[name]
        try:
            for data in benchmark.corpora:
                corpus(data)
        except MissingData as missing:
            print(f"  skipped: {missing}")
            continue
        result = benchmark.measure()
        write_result(benchmark.name, result)
        print(benchmark.table(result))
        if benchmark.plot and not find_spec("matplotlib"):
            print("no plot: matplotlib is not installed (extra 'plots')")
        elif benchmark.plot:
            benchmark.plot(result, RESULTS / f"{benchmark.name}.png")


if __name__ == "__main__":
    main()
