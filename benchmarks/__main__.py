"""Margrave against the rivals that are installed, in one run: python -m benchmarks (or make bench).

Writes benchmarks/results/*.json, with machine and versions, and a plot; prints the ratios. Every tool runs in a process
of its own, one after another.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.data import MissingData, corpus
from benchmarks.machine import RESULTS, write_result

OPTIMUM = 13139.27  # of P / C on CoNLL-2000 with these attributes, C = 0.5


def run(module: str, *arguments: str) -> dict[str, Any]:
    """One driver in a process of its own; its figures."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        print(f"  {module} {' '.join(arguments)}", flush=True)
        subprocess.run([sys.executable, "-m", module, *arguments, "--json", str(out)], check=True)
        return json.loads(out.read_text())  # type: ignore[no-any-return]


def tagging() -> None:
    """CoNLL-2000 chunking: CRFsuite's L-BFGS and ours on the same objective."""
    ours = run("benchmarks.tagging", "--threads", "1")
    two = run("benchmarks.tagging", "--threads", "2")
    result: dict[str, Any] = {"margrave": ours, "margrave_2_threads": two}
    if find_spec("pycrfsuite"):
        rival = run("benchmarks.rivals.crfsuite", "conll2000", "--c2", "1", "--iterations", "300")
        one_thread, two_threads = (entry["seconds"] for entry in ours["gradient"])
        theirs = rival["train"]["seconds_per_evaluation"]
        result |= {
            "crfsuite": rival,
            "ratios": {
                "loss_and_gradient_1_thread": theirs / one_thread,
                "loss_and_gradient_2_threads": theirs / two_threads,
                "training_1_thread": rival["train"]["seconds"] / ours["train"]["seconds"],
                "training_2_threads": rival["train"]["seconds"] / two["train"]["seconds"],
                "tagging": ours["tag"]["tokens_per_second"] / rival["tag"]["tokens_per_second"],
                "peak_memory": rival["train"]["peak_mb"] / ours["train"]["peak_mb"],
            },
        }
    write_result("conll2000", result)
    report_tagging(result)
    plot_tagging(result)


def report_tagging(result: dict[str, Any]) -> None:
    """A table that a person can read."""
    ours, rival = result["margrave"], result.get("crfsuite")

    def row(what: str, mine: str, theirs: str, ratio: float | None = None) -> None:
        print(f"  {what:34} {mine:>14} {theirs:>14} {'' if ratio is None else f'{ratio:8.2f} x'}")

    ratios = result.get("ratios", {})
    row("CoNLL-2000 chunking", "margrave", "crfsuite" if rival else "")
    train, theirs = ours["train"], rival["train"] if rival else None

    def rival_says(text: str) -> str:
        return text if rival else ""

    seconds = [entry["seconds"] for entry in ours["gradient"]]
    row(
        "loss and gradient, 1 thread, s",
        f"{seconds[0]:.3f}",
        rival_says(f"{theirs['seconds_per_evaluation']:.3f}" if theirs else ""),
        ratios.get("loss_and_gradient_1_thread"),
    )
    row("loss and gradient, 2 threads, s", f"{seconds[1]:.3f}", "", ratios.get("loss_and_gradient_2_threads"))
    row(
        "training, 1 thread, s",
        f"{train['seconds']:.1f}",
        rival_says(f"{theirs['seconds']:.1f}" if theirs else ""),
        ratios.get("training_1_thread"),
    )
    row("P / C", f"{train['P_over_C']:.2f}", rival_says(f"{theirs['loss']:.2f}" if theirs else ""))
    row("certified relative gap", f"{train['relative_gap']:.1e}", rival_says("none"))
    tag, their_tag = ours["tag"], rival["tag"] if rival else {}
    row(
        "tagging, tokens/s",
        f"{tag['tokens_per_second']:,.0f}",
        rival_says(f"{their_tag.get('tokens_per_second', 0):,.0f}"),
        ratios.get("tagging"),
    )
    row("token accuracy, %", f"{100 * tag['accuracy']:.2f}", rival_says(f"{100 * their_tag.get('accuracy', 0):.2f}"))
    row("chunk F1, %", f"{100 * tag['chunk_f1']:.2f}", rival_says(f"{100 * their_tag.get('chunk_f1', 0):.2f}"))
    row("peak memory, MB", f"{train['peak_mb']:.0f}", rival_says(f"{theirs['peak_mb']:.0f}" if theirs else ""))


def plot_tagging(result: dict[str, Any]) -> None:
    """How fast each gets near the optimum."""
    if not find_spec("matplotlib"):
        print("  no plot: matplotlib is not installed (extra 'plots')")
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")

    def draw(name: str, seconds: list[float], objective: list[float]) -> None:
        points = [(s, p / OPTIMUM - 1) for s, p in zip(seconds, objective, strict=True) if p > OPTIMUM * (1 + 1e-6)]
        axes.loglog([s for s, _ in points], [p for _, p in points], label=name)

    for key, name in (("margrave", "margrave, 1 thread"), ("margrave_2_threads", "margrave, 2 threads")):
        history = result[key]["train"]["history"]
        draw(name, [entry[1] for entry in history], [entry[2] for entry in history])
    if "crfsuite" in result:
        seconds, total = [], 0.0
        for iteration in result["crfsuite"]["train"]["iterations"]:
            total += iteration["seconds"]
            seconds.append(total)
        draw("crfsuite, L-BFGS", seconds, [it["loss"] for it in result["crfsuite"]["train"]["iterations"]])
    axes.set(
        xlabel="seconds of training",
        ylabel="P above the optimum, relative",
        title="CoNLL-2000 chunking, conditional random field",
    )
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(RESULTS / "conll2000.png", dpi=110)


def multiclass() -> None:
    """MNIST: scikit-learn's logistic regression and ours, to the same certified gap."""
    result: dict[str, Any] = {}
    for n in (10_000, 60_000):
        ours = run("benchmarks.multiclass", str(n))
        rival = run("benchmarks.rivals.sklearn_logistic", str(n))
        # NumPy's and SciPy's thread pools fight each other: the rival is taken at its best.
        best = {threads: min(t["seconds"] for t in rival["timings"] if t["threads"] <= threads) for threads in (1, 2)}
        mine = {t["threads"]: t["seconds"] for t in ours["timings"]}
        ratios = {f"{threads}_threads": best[threads] / mine[threads] for threads in (1, 2)}
        result[str(n)] = {"margrave": ours, "scikit-learn": rival, "ratios": ratios}
        print(f"  MNIST, {n} images, seconds to a relative gap of 1e-4 (margrave, scikit-learn's best, ratio):")
        for threads in (1, 2):
            ratio = ratios[f"{threads}_threads"]
            print(f"    {threads} threads {mine[threads]:8.2f} {best[threads]:8.2f} {ratio:8.2f} x")
        if "optimum" in ours:
            print(f"    optimum: relative difference {ours['optimum']['relative_difference']:.1e}")
    write_result("mnist", result)


BENCHMARKS = {"tagging": (tagging, "conll2000"), "multiclass": (multiclass, "mnist")}


def main() -> None:
    """The comparisons named, or all, as far as their data are there."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(BENCHMARKS)} (default: all)")
    names = parser.parse_args().names or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"unknown benchmark {name!r} (valid: {', '.join(BENCHMARKS)})")
    for benchmark, data in (BENCHMARKS[name] for name in names):
        print(f"{benchmark.__name__}:", flush=True)
        try:
            corpus(data)
        except MissingData as missing:
            print(f"  skipped: {missing}")
            continue
        benchmark()


if __name__ == "__main__":
    main()
