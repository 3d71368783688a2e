"""What fraction of the machine's memory bandwidth and arithmetic peak a gradient, a pass of EG and tagging reach.

The limits are measured: the bandwidth by the addition of STREAM, a = b + c, on arrays that no cache holds (the same 24
bytes per element as the triad), and the peak by a product of two matrices in double precision by NumPy's BLAS.

What an operation moves and computes is counted from the sizes of the problem:

    S       sentences                      E       attributes of all tokens
    N       tokens                         K       weights of all these attributes (an attribute has one for each label
    L       labels                                 that it was observed with)
    Q       numbers in the state of EG: the stored parts of all sentences
    A       transitions that are computed for a token: L^2, or those that have a weight where sentences are taken in
            lock-step, with more than 32 labels

    operation                bytes                            floating-point operations
    scores of positions      8 E (rows) + 8 K (weights)       K
    their adjoint            16 K (read and written)          K, or 4 K where the change of |w|^2 is measured
    forward, backward        0: in the cache                  2 A each for each of N - S tokens (EG: 2 L^2)
    expected transitions     0                                2 A for each of these tokens (EG: 2 L^2)
    best labels (Viterbi)    0                                2 A for each of these tokens
    state of EG              32 Q: natural parameters and     6 Q: the proposal, and the inner product in the entropy
                             marginals, read and written

    gradient  = scores + forward, backward, expected transitions + adjoint
    EG pass   = gradient with a measured adjoint + state
    tagging   = scores + best labels

Rows are counted once, since the second reading of a sentence's rows comes from the cache. Weights are counted as often
as they are used, as if none of them stayed in a cache: with frequent attributes, a fraction above what the memory gives
is therefore possible. Exponentials and everything else that grows with N L only are not counted.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.columns import brown_short, conll2000, conll2000_attributes, last_column
from benchmarks.corpora.lines import Attributes
from benchmarks.corpora.problems import Tagging
from benchmarks.plots import finished, panels
from benchmarks.rivals.sklearn_logistic import blas_threads
from benchmarks.tables import markdown
from margrave import _core
from margrave.examples import Examples
from margrave.features import default_templates
from margrave.learners import EG, Objective
from margrave.losses import Log

Result = dict[str, Any]

CORPORA = ("conll2000", "brown-pos")
RESULT = "roofline"
THREADS = (1, 2)
REPEATS = 7  # of which the fastest counts
PASSES = 8  # of EG, of which the fastest counts
SENTENCES = 5_000  # of Brown
C = 0.5
STREAM = 2**24  # elements of each of three arrays: 128 MB
SIDE = 1_500  # of the matrices
DOUBLE = 8  # bytes


def measure() -> Result:
    """The machine's limits, and what the operations reach of them."""
    limits = {str(threads): {"bytes": bandwidth(threads), "flops": peak(threads)} for threads in THREADS}
    return {"limits": limits, "data": {name: operations(data()) for name, data in DATA.items()}}


def chunks() -> Tagging:
    """The training sentences of CoNLL-2000, with the usual attributes."""
    sentences = conll2000("train")
    return Tagging(Attributes(sentences, conll2000_attributes), last_column(sentences))


def tags() -> Tagging:
    """The first sentences of Brown, with short tags and the attributes of the built-in templates."""
    sentences = brown_short()[:SENTENCES]
    words = [[(row[0],) for row in rows] for rows in sentences]
    return Tagging(Attributes(words, default_templates(1).attributes), last_column(sentences))


DATA: dict[str, Callable[[], Tagging]] = {"conll2000": chunks, "brown-pos": tags}


def bandwidth(threads: int) -> float:
    """Bytes per second of a = b + c, each thread on its own part."""
    b, c, a = np.ones(STREAM), np.ones(STREAM), np.empty(STREAM)
    bounds = [STREAM * k // threads for k in range(threads + 1)]
    parts = [slice(first, last) for first, last in pairwise(bounds)]
    with ThreadPoolExecutor(threads) as pool:

        def add() -> None:
            list(pool.map(lambda part: np.add(b[part], c[part], out=a[part]), parts))

        return 3 * DOUBLE * STREAM / fastest(add)


def peak(threads: int) -> float:
    """Floating-point operations per second of a product of matrices."""
    matrix = np.random.default_rng(0).normal(size=(SIDE, SIDE))
    with blas_threads(threads, "all"):
        return 2 * SIDE**3 / fastest(lambda: matrix @ matrix)


def fastest(operation: Callable[[], Any]) -> float:
    """Seconds of the fastest of several runs; the first one, which touches the memory, does not count."""
    seconds = []
    for _ in range(1 + REPEATS):
        started = perf_counter()
        operation()
        seconds.append(perf_counter() - started)
    return min(seconds[1:])


def operations(tagging: Tagging) -> Result:
    """Sizes, counts and seconds of the three operations on one corpus."""
    problem = tagging.bind(tied=True)
    sizes = sizes_of(tagging, problem)
    counted = counts(**sizes)
    family = Log().core(C, None)
    w = EG().solve(Objective(problem, Log(), C=C, tol=0.0, max_iter=PASSES, n_jobs=1)).w
    result: Result = {}
    for threads in THREADS:
        seconds = {
            "gradient": fastest(partial(_core.losses_and_gradient, problem, w, family, threads, True)),
            "EG pass": eg_pass(problem, threads),
            "tagging": fastest(partial(_core.argmax_all, problem, w, threads)),
        }
        result[str(threads)] = {name: {"seconds": seconds[name], **counted[name]} for name in seconds}
    return {"sizes": sizes, "operations": result}


def eg_pass(problem: _core.Problem, threads: int) -> float:
    """Seconds of EG per effective pass, without the evaluation of P."""
    history = EG().solve(Objective(problem, Log(), C=C, tol=0.0, max_iter=PASSES, n_jobs=threads)).history
    return min(
        (after.seconds - before.seconds) / (after.passes - before.passes)
        for before, after in pairwise(history)
        if after.primal is None
    )


def sizes_of(tagging: Tagging, problem: _core.Problem) -> dict[str, int]:
    """The sizes that the formulae above need."""
    rows = tagging.features.encode(Examples(tagging.X), grow=False)
    pairs = tagging.features.tokens.weighted
    assert pairs is not None
    begin, _ = pairs.arrays()
    attributes = rows.tokens.arrays()[2]
    return {
        "sentences": problem.size,
        "tokens": rows.tokens.tokens,
        "labels": pairs.labels,
        "attributes": len(attributes),
        "weights_of_attributes": int(np.diff(begin)[attributes].sum()),
        "transitions": min(tagging.features.gram_weights, pairs.labels**2) if pairs.labels > 32 else pairs.labels**2,
        "stored": len(EG().blank(Objective(problem, Log(), C=C)).t),
        "dim": problem.dim,
    }


def counts(
    sentences: int,
    tokens: int,
    labels: int,
    attributes: int,
    weights_of_attributes: int,
    transitions: int,
    stored: int,
    dim: int,
) -> Result:
    """Bytes and floating-point operations of each operation, by the formulae above."""
    K = weights_of_attributes
    together = (tokens - sentences) * transitions
    alone = (tokens - sentences) * labels**2
    rows_and_weights = DOUBLE * (attributes + K)
    return {
        "gradient": {"bytes": rows_and_weights + 2 * DOUBLE * K, "flops": K + 6 * together + K},
        "EG pass": {
            "bytes": rows_and_weights + 2 * DOUBLE * K + 4 * DOUBLE * stored,
            "flops": K + 6 * alone + 4 * K + 6 * stored,
        },
        "tagging": {"bytes": rows_and_weights, "flops": K + 2 * together},
    }


def fractions(result: Result) -> Sequence[tuple[str, str, str, Result, float, float]]:
    """Corpus, threads, operation, its counts, and the fractions of the bandwidth and of the peak that it reaches."""
    return [
        (
            corpus,
            threads,
            name,
            counted,
            counted["bytes"] / counted["seconds"] / result["limits"][threads]["bytes"],
            counted["flops"] / counted["seconds"] / result["limits"][threads]["flops"],
        )
        for corpus, data in result["data"].items()
        for threads, operations in data["operations"].items()
        for name, counted in operations.items()
    ]


def table(result: Result) -> str:
    """The limits, and the fractions of them that are reached."""
    limits = "; ".join(
        f"{threads} thread{'s' * (threads != '1')}: {limit['bytes'] / 1e9:.1f} GB/s, {limit['flops'] / 1e9:.1f} GFLOP/s"
        for threads, limit in result["limits"].items()
    )
    rows = [
        [
            corpus,
            threads,
            name,
            f"{counted['seconds']:.3f}",
            f"{counted['bytes'] / 1e6:,.0f}",
            f"{counted['flops'] / 1e6:,.0f}",
            f"{100 * of_bandwidth:.0f} %",
            f"{100 * of_peak:.0f} %",
        ]
        for corpus, threads, name, counted, of_bandwidth, of_peak in fractions(result)
    ]
    header = ["corpus", "threads", "operation", "seconds", "MB", "MFLOP", "of the bandwidth", "of the peak"]
    return f"{limits}\n\n{markdown(header, rows)}"


def plot(result: Result) -> Any:
    """The roofs of one thread and of two, and the operations below them."""
    figure, axes = panels(len(result["limits"]))
    for panel, (threads, limit) in zip(axes, result["limits"].items(), strict=True):
        intensity = np.logspace(-1.5, 2, 50)
        roof = np.minimum(limit["flops"], intensity * limit["bytes"])
        panel.plot(intensity, roof / 1e9, color="black", label="limit")
        panel.set(
            xscale="log",
            yscale="log",
            xlabel="floating-point operations per byte",
            ylabel="GFLOP/s",
            title=f"{threads} thread{'s' * (threads != '1')}",
        )
        for corpus, of, name, counted, _, _ in fractions(result):
            if of == threads:
                at, speed = counted["flops"] / counted["bytes"], counted["flops"] / counted["seconds"] / 1e9
                panel.plot([at], [speed], linestyle="", marker="o", label=f"{name}, {corpus}")
    return finished(figure)
