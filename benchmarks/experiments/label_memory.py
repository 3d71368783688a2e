"""Memory of learners besides data on 200,000 tokens of the Brown corpus with about 90 tags.

Memory does not depend on the number of passes, so runs end early; each is a process of its own. The peak of resident
memory is reset when the problem has been bound.
"""

from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora.columns import brown_short, last_column
from benchmarks.machine import in_new_process
from benchmarks.tables import markdown
from margrave.binding import bind
from margrave.examples import Examples
from margrave.features import Templates
from margrave.learners import EG, LBFGS, Auto, Learner, Objective
from margrave.losses import Log
from margrave.maps import ChainMap, FeatureTable
from margrave.structures import Chain

Result = dict[str, Any]

CORPORA = ("brown-pos",)
RESULT = "label_memory"
TOKENS = 200_000
PASSES = 3
LEARNERS: dict[str, Learner] = {
    "eg in double precision": EG(),
    "eg with compact distributions": EG(single=True),
    "lbfgs": LBFGS(),
    "auto": Auto(),
}


def measure() -> Result:
    """A run of each learner."""
    return {"tokens": TOKENS, "passes": PASSES, "runs": {name: in_new_process(run, name) for name in LEARNERS}}


def run(name: str) -> Result:
    """The resident memory before a run, and how much more there was in it at most."""
    sentences = brown_short()
    order = np.random.default_rng(0).permutation(len(sentences)).tolist()
    ends = accumulate(len(sentences[i]) for i in order)
    sentences = [sentences[i] for i, end in zip(order, ends, strict=True) if end <= TOKENS]
    words = [[row[:1] for row in rows] for rows in sentences]
    X = Templates().learn(words).transform(words)
    bound = bind(Chain(), ChainMap(FeatureTable("observed")), Examples(X, last_column(sentences)))
    problem, loss = bound.problem, Log()
    learner = LEARNERS[name].resolve(loss, problem)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before = memory("VmRSS")
    learner.solve(Objective(problem, loss, n_jobs=1, max_iter=PASSES))
    return {
        "learner": repr(learner),
        "labels": len(bound.outputs.classes),
        "weights": problem.dim,
        "before_mb": before,
        "beyond_mb": memory("VmHWM") - before,
        "told_mb": (learner.required_bytes(loss, problem) or 0) / 1e6,
    }


def memory(field: str) -> float:
    """A field of the status of this process, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) / 1e6 for line in lines if line.startswith(f"{field}:"))


def table(result: Result) -> str:
    """A row per learner."""
    header = ["", "learner", "labels", "weights", "MB before", "MB beyond", "told before the run"]
    rows = [
        [name, of["learner"], f"{of['labels']}", f"{of['weights']:,}"]
        + [f"{of[key]:.0f}" for key in ("before_mb", "beyond_mb", "told_mb")]
        for name, of in result["runs"].items()
    ]
    return markdown(header, rows)


def plot(result: Result) -> None:
    """There is none."""
