"""LP-Struct with a million features and 50,000 constraints, and its seconds per round by the number of sentences."""

from time import perf_counter, process_time
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.sparse import csr_array

from benchmarks.corpora.columns import genia_all
from benchmarks.corpora.problems import classes_problem
from benchmarks.curves import Curve
from benchmarks.experiments.pos import tag_of
from benchmarks.lp_struct import Rounds, peak_mb, timed_rounds
from benchmarks.machine import in_new_process
from benchmarks.plots import draw_beside_linear, finished, panels
from benchmarks.tables import markdown
from margrave.estimators import SequenceTagger
from margrave.learners import LP, Objective
from margrave.losses import Hinge

Result = dict[str, Any]

CORPORA = ("genia-treebank",)
RESULT = "lp_scale"
WIDE_EXAMPLES = 50_000  # each asks for a constraint in the first round
WIDE_COLUMNS, WIDE_CLASSES = 100_000, 10  # a million features
WIDE_NONZEROS = 20  # in an example
WIDE_C, WIDE_ROUNDS = 1.0, 5
SENTENCES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
ROUNDS = 10  # that are timed
SCALE_C = 5.0


def measure() -> Result:
    """A million features and 50,000 constraints, in a process of its own; seconds a round by sentences."""
    return {"wide": in_new_process(wide_program), "C": SCALE_C, "rounds": ROUNDS, "curve": by_sentences()}


def wide_program() -> Result:
    """Ten classes and a hundred thousand columns by the extragradient: seconds, and the peak of this process's memory.

    Labels are those of random weights of which one in ten is not zero, but a tenth of them are random.
    """
    random = np.random.default_rng(0)
    entries = (WIDE_EXAMPLES, WIDE_NONZEROS)
    # a few columns occur often, as words do
    columns = (WIDE_COLUMNS * random.random(entries) ** 3).astype(np.int64)
    places = (np.repeat(np.arange(WIDE_EXAMPLES), WIDE_NONZEROS), columns.ravel())
    X = csr_array((random.random(columns.size), places), shape=(WIDE_EXAMPLES, WIDE_COLUMNS))
    weights = random.normal(size=(WIDE_COLUMNS, WIDE_CLASSES)) * (random.random((WIDE_COLUMNS, WIDE_CLASSES)) < 0.1)
    labels = np.where(
        random.random(WIDE_EXAMPLES) < 0.1,
        random.integers(WIDE_CLASSES, size=WIDE_EXAMPLES),
        (X @ weights).argmax(axis=1),
    ).astype(np.int32)
    problem = classes_problem(X, labels, WIDE_CLASSES)
    before = peak_mb()
    rounds = Rounds()
    started, cpu = perf_counter(), process_time()
    objective = Objective(problem, Hinge(), C=WIDE_C, tol=0.0, max_iter=WIDE_ROUNDS, n_jobs=2, observers=[rounds])
    solution = LP().solve(objective)
    return {
        "features": problem.dim,
        "examples": problem.size,
        "constraints": rounds.state.n_constraints,
        "rounds": len(rounds.curve),
        "seconds": perf_counter() - started,
        "cpu": process_time() - cpu,
        "relative_gap": solution.certificate.relative_gap,
        "zeros": float(np.mean(solution.w == 0)),
        "peak_mb_before": before,
        "peak_mb": peak_mb(),
    }


def by_sentences() -> Curve:
    """The first rounds on ever more sentences of GENIA, at two threads: inference alone, and with the masters."""
    sentences = genia_all()
    order = np.random.default_rng(0).permutation(len(sentences))
    points = []
    for n in SENTENCES:
        rows = [sentences[i] for i in order[:n]]
        rounds = Rounds()
        tagger = SequenceTagger("hinge", C=SCALE_C, learner="lp", tol=0.0, max_iter=ROUNDS, n_jobs=2)
        with catch_warnings():
            simplefilter("ignore")  # that it is not done after these rounds
            X, y = [[[word] for word, _ in each] for each in rows], [[*map(tag_of, each)] for each in rows]
            tagger.fit(X, y, observers=[rounds])
        points.append(
            {
                "sentences": n,
                "tokens": sum(map(len, rows)),
                "constraints": rounds.state.n_constraints,
                "round": rounds.curve[-1]["seconds"] / len(rounds.curve),
                "inference": timed_rounds(rounds.state)["2_threads"],
            }
        )
    return {key: [point[key] for point in points] for key in points[0]}


def table(result: Result) -> str:
    """Memory, and seconds a round."""
    wide = result["wide"]
    memory = (
        f"{wide['features']:,} features, {wide['constraints']:,} constraints: {wide['rounds']} rounds take "
        f"{wide['seconds']:.1f} s (relative gap {wide['relative_gap']:.2f}), peak {wide['peak_mb']:,.0f} MB "
        f"({wide['peak_mb_before']:,.0f} MB before learning)"
    )
    rows = [
        [f"{sentences:,}", f"{constraints:,}", f"{whole:.3f}", f"{inference:.3f}"]
        for sentences, constraints, whole, inference in zip(
            *(result["curve"][key] for key in ("sentences", "constraints", "round", "inference")), strict=True
        )
    ]
    header = ["sentences", f"constraints after {result['rounds']} rounds", "seconds a round", "of inference"]
    return f"{memory}\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """Seconds of a round of LP-Struct against the number of sentences, with lines of slope one through the last."""
    figure, (panel,) = panels()
    panel.set(
        xscale="log",
        yscale="log",
        xlabel="sentences",
        ylabel="seconds a round",
        title=f"LP-Struct on GENIA, C = {result['C']:g}, mean of {result['rounds']} rounds",
    )
    for what, name, color in (("round", "inference and master", "C0"), ("inference", "inference alone", "C1")):
        draw_beside_linear(panel, name, result["curve"], "sentences", what, color)
    return finished(figure)
