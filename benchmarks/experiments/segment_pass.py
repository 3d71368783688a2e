"""Seconds of a pass over labeled sequences: segmentations with the attributes of tokens alone, and the BIO chain."""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.columns import last_column
from benchmarks.experiments.segments import CORPORA as CORPORA
from benchmarks.experiments.segments import READERS
from benchmarks.summaries import Result
from benchmarks.tables import markdown
from margrave import _core
from margrave.binding import bind
from margrave.examples import Examples
from margrave.features import Templates
from margrave.maps import ChainMap, FeatureTable, SegmentMap
from margrave.structures import Chain, SemiMarkov

RESULT = "segment_pass"
REPEATS = 7


def measure() -> Result:
    """The shortest of some passes over the training part of each corpus."""
    found = {}
    for name, reader in READERS.items():
        rows = reader("train")
        found[name] = passes([[row[:-1] for row in of] for of in rows], last_column(rows))
    return {"repeats": REPEATS, "corpora": found}


def passes(X: Any, y: Any) -> Result:
    """Seconds of a pass over all sentences (losses and gradient) on one thread, at random weights."""
    attributes = Templates().learn(X).transform(X)
    structure = SemiMarkov()
    outputs = structure.learn(y)
    chain = bind(Chain(), ChainMap(FeatureTable()), Examples(attributes, y))
    longest = max(outputs.longest)
    segments = bind(structure, SegmentMap(FeatureTable(), outputs.labels, longest), Examples(attributes, y))
    family = _core.LossFamily(1.0, 0.0)
    seconds = {}
    for name, bound in (("chain", chain), ("segments", segments)):
        w = 0.1 * np.random.default_rng(0).standard_normal(bound.problem.dim)
        times = []
        for _ in range(REPEATS):
            began = perf_counter()
            _core.losses_and_gradient(bound.problem, w, family, 1, True)
            times.append(perf_counter() - began)
        seconds[name] = min(times)
    return {**seconds, "ratio": seconds["segments"] / seconds["chain"], "longest": outputs.longest}


def table(result: Result) -> str:
    """Seconds, and their ratio."""
    rows = [
        [corpus, f"{of['chain']:.3f}", f"{of['segments']:.3f}", f"{of['ratio']:.2f}"]
        for corpus, of in result["corpora"].items()
    ]
    return markdown(["seconds per pass", "chain", "segments", "ratio"], rows)


def plot(result: Result) -> None:
    """There is none."""
