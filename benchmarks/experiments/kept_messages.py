"""What messages of belief propagation that are kept between passes save: sweeps and seconds.

A parser of crossing trees with pairs of arcs learns by `mira` from the first sentences of a treebank, and noisy digits
are restored as grids of pixels by `sgd`, both with the log loss. Sweeps are the mean over the examples when the
objective is evaluated after a pass; seconds are those of the whole pass with that evaluation, at one thread. Numbers of
examples, passes and C were decided before any result was seen, but for the number of sentences, which was halved for
want of time after small trials.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.corpora.images import mnist
from benchmarks.corpora.problems import TemplateParsing
from benchmarks.corpora.trees import treebank
from benchmarks.experiments.denoising import binary, noisy
from benchmarks.pieces import Pieces
from benchmarks.tables import markdown
from margrave.binding import BoundProblem, bind
from margrave.data import image_graph
from margrave.examples import Examples
from margrave.learners import MIRA, SGD, Learner, Objective, Observer, Record, Weights
from margrave.losses import Log
from margrave.maps import GraphMap
from margrave.structures import ArcPairTree, FactorGraph
from margrave.structures.factor_graph import shared_graphs

Result = dict[str, Any]

CORPORA = ("ud-english-ewt", "mnist")
RESULT = "kept_messages"
KEEP = 1_000.0  # MB, which is more than all messages take
SENTENCES, IMAGES = 100, 40
COLUMNS, BITS = ("form", "upos", "feats"), 22
PASSES, C = 10, 0.1
MARKS = (2, 5, 10)  # passes in the table


class Pass(Observer):
    """Mean sweeps and seconds of every pass."""

    def __init__(self, status: Any) -> None:
        self.status = status
        self.sweeps, self.ends = list[float](), [0.0]

    def note(self, record: Record, w: Weights) -> None:
        self.sweeps.append(float(np.abs(self.status.sweeps).mean()))
        self.ends.append(record.seconds or 0.0)


def measure() -> Iterator[Result]:
    """Both tasks."""
    pieces = Pieces(RESULT)
    yield from pieces.measure("trees", partial(both, parsing, MIRA()))
    yield from pieces.measure("grids", partial(both, denoising, SGD()))


def both(objective: Any, learner: Learner) -> Result:
    """Without and with messages that are kept."""
    return {name: one_run(objective(keep), learner) for name, keep in {"anew": 0.0, "kept": KEEP}.items()}


def parsing(keep: float) -> BoundProblem[Any, Any]:
    """Sentences with the arcs that a parser of single arcs leaves."""
    train = treebank("ud-english-ewt", "train")[:SENTENCES]
    tree = ArcPairTree(keep=keep)
    return TemplateParsing(train, tree, COLUMNS, BITS, prune="posterior", built_in="arc-pairs").bound


def denoising(keep: float) -> BoundProblem[Any, Any]:
    """Whole images as grids with four neighbors."""
    true = binary(mnist()[0][:IMAGES])
    seen = noisy(np.random.default_rng(0), true)
    graphs = [image_graph(2 * image - 1) for image in seen]
    labels = [image.ravel().tolist() for image in true]
    structure = FactorGraph(inference="bp", keep=keep)
    features = GraphMap("symmetric")
    return bind(structure, features, Examples(shared_graphs(graphs), labels, encoded=graphs))


def one_run(bound: BoundProblem[Any, Any], learner: Learner) -> Result:
    """Sweeps and seconds of some passes, and the objective at their end."""
    seen = Pass(bound.approximate)
    objective = Objective(bound.problem, Log(), C=C, max_iter=PASSES, tol=0.0, n_jobs=1, approximate=bound.approximate)
    objective.observers = [seen]
    solution = learner.solve(objective)
    seconds = np.diff(seen.ends).tolist()
    kept_mb = 8e-6 * len(bound.approximate.kept)
    return {"sweeps": seen.sweeps, "seconds": seconds, "P": solution.certificate.primal, "kept_mb": kept_mb}


def table(result: Result) -> str:
    """Sweeps after some passes, and the seconds of all passes but the first, which begins without messages."""
    rows = [
        [
            objective,
            name,
            *(f"{run['sweeps'][k - 1]:.2f}" for k in MARKS),
            f"{np.mean(run['seconds'][1:]):.3f}",
            f"{run['P']:.4f}",
            f"{run['kept_mb']:.1f}",
        ]
        for objective, runs in result["pieces"].items()
        for name, run in runs.items()
    ]
    passes = [f"sweeps, pass {k}" for k in MARKS]
    return markdown(["objective", "messages", *passes, "seconds per pass", "P", "MB"], rows)


def plot(result: Result) -> None:
    """There is none."""
