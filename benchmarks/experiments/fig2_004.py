"""004, Fig. 2: CPU time of LP-Struct by simplex and by extragradient, both as printed, by the number of sentences.

Both run Algorithm 1, and the extragradient is Algorithm 2 without restarts, with the step size of the paper. The paper
does not state its tolerances, so there are two pairs of them. Its corpus has 5,700 training sentences. The methods end
at the same relative gap of the whole program, or when their time is up. pos has the same with the library's defaults.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.corpora.columns import genia_all
from benchmarks.curves import View, thinned
from benchmarks.experiments.pos import LP_TOL, Method, Sample, samples, tagged
from benchmarks.pieces import Pieces
from benchmarks.plots import draw, finished, panels
from benchmarks.tables import markdown
from margrave.estimators import SequenceTagger
from margrave.learners import LP
from margrave.solvers.lp_master import Extragradient

Result = dict[str, Any]

CORPORA = ("genia-treebank",)
RESULT = "fig2_004"
SIZES = (20, 80, 400, 1600, 5700)  # sentences to learn from
CS = (1.0, 10.0)  # the second is the one that pos chooses
LIMIT = 600.0  # CPU seconds after which there is no further round
TOLERANCES = ((1e-3, 1.0), (1e-2, 10.0))  # of Algorithm 2, line 10
SIMPLEX = "simplex"
SOLVERS = {SIMPLEX: LP(solver="simplex", separation="master")} | {
    f"extragradient to {change:g} and {balance:g}": LP(
        separation="master", restarts=False, step="frobenius", tolerances=(change, balance)
    )
    for change, balance in TOLERANCES
}


def measure() -> Iterator[Result]:
    """Every solver on the first sentences of one sample."""
    pieces, sample = Pieces(RESULT), samples(genia_all())[0]
    for C in CS:
        for size in SIZES:
            for name, learner in SOLVERS.items():
                part = Sample(sample.train[:size], sample.test)
                yield from pieces.measure(title(C, size, name), partial(run, part, C, size, name, learner))


def title(C: float, size: int, solver: str) -> str:
    """The name of a piece, which has no comma."""
    return f"C = {C:g}; {size}; {solver}"


def run(sample: Sample, C: float, size: int, name: str, learner: LP) -> Result:
    """One solver on one number of sentences."""

    def tagger(C: float) -> SequenceTagger:
        return SequenceTagger("hinge", learner=learner, C=C, tol=LP_TOL, n_jobs=1)

    found, fitted, rounds = tagged(Method(tagger, limit=LIMIT), C, sample)
    assert rounds is not None
    state = rounds.state
    return {
        "C": C,
        "sentences": size,
        "solver": name,
        "cpu": found["cpu"],
        "error": found["error"],
        "rounds": fitted.n_iter_,
        "constraints": state.n_constraints,
        "iterations": state.master.iterations if isinstance(state.master, Extragradient) else None,
        "gap": fitted.certificate_.relative_gap,
        "converged": fitted.converged_,
        "P": fitted.certificate_.primal,
        "curve": thinned(rounds.curve, View("round", "cpu", log_x=False, log_y=False)),
    }


def table(result: Result) -> str:
    """CPU seconds and rounds of every run, and how much longer it took than the simplex."""
    rows = []
    for piece in in_order(result):
        simplex = result["pieces"].get(title(piece["C"], piece["sentences"], SIMPLEX))
        least = "" if piece["converged"] else "> "
        rows.append(
            [
                f"{piece['C']:g}",
                f"{piece['sentences']:,}",
                piece["solver"],
                f"{least}{piece['cpu']:.3g}",
                "" if simplex is None else f"{piece['cpu'] / simplex['cpu']:.2f}",
                str(piece["rounds"]),
                f"{piece['constraints']:,}",
                "" if piece["iterations"] is None else f"{piece['iterations']:,}",
                f"{piece['gap']:.3f}",
                f"{piece['P']:.5g}",
                f"{100 * piece['error']:.2f}",
            ]
        )
    header = ["C", "sentences", "solver", "CPU seconds", "times the simplex", "rounds", "constraints", "iterations"]
    return f"to a relative gap of {LP_TOL:g}\n\n{markdown([*header, 'gap', 'P', 'error, %'], rows)}"


def in_order(result: Result) -> list[Result]:
    """The pieces by C and size, in whichever order they were measured."""
    return sorted(result["pieces"].values(), key=lambda piece: (piece["C"], piece["sentences"]))


def plot(result: Result) -> Any:
    """CPU seconds by the number of sentences; and up to each round at the largest number."""
    pieces = in_order(result)
    largest = pieces[-1]["C"], pieces[-1]["sentences"]
    figure, (totals, rounds) = panels(2)
    totals.set(xlabel="sentences", ylabel="CPU seconds", xscale="log", yscale="log", title="until the end")
    rounds.set(xlabel="rounds", ylabel="CPU seconds so far", title=f"C = {largest[0]:g}, {largest[1]:,} sentences")
    for C, line in zip(CS, ("-", "--"), strict=True):
        for name, marker in zip(SOLVERS, ".x+", strict=True):
            of = [piece for piece in pieces if (piece["C"], piece["solver"]) == (C, name)]
            curve = {key: [piece[key] for piece in of] for key in ("sentences", "cpu")}
            draw(totals, f"{name}, C = {C:g}", curve, "sentences", "cpu", marker=marker, linestyle=line)
    for name, marker in zip(SOLVERS, ".x+", strict=True):
        if piece := result["pieces"].get(title(*largest, name)):
            draw(rounds, name, piece["curve"], "round", "cpu", marker=marker, markersize=4, linewidth=0.6)
    return finished(figure)
