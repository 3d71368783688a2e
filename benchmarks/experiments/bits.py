"""The SHA-256 of the weights of every learner after 3 iterations on CoNLL-2000, in which a change of any bit shows.

Another instruction set, compiler or version of NumPy may give other bits, so that only results of one machine and one
set of versions can be compared; both are in the file.
"""

from hashlib import sha256
from typing import Any
from warnings import catch_warnings, simplefilter

from sklearn.exceptions import ConvergenceWarning

from benchmarks.corpora.columns import conll2000, last_column
from benchmarks.tables import markdown
from margrave import SequenceTagger
from margrave.inputs import Templates
from margrave.learners import LEARNERS
from margrave.losses import Hinge

Result = dict[str, Any]

CORPORA = ("conll2000",)
RESULT = "bits"
SENTENCES = 500
ITERATIONS = 3
LOSSES = {  # of the learners for which it is not the log loss
    "smo": "hinge",
    "smo-eg": "hinge",
    "bcfw": "hinge",
    "cutting-plane": "hinge",
    "one-slack": "hinge",
    "lp": "hinge",
    "perceptron": "perceptron",
    "cccp": "ramp",
    "kbest-mira": "hinge",
}


def measure() -> Result:
    """Weights after a few iterations with one thread, so that nothing depends on which thread is first."""
    rows = conll2000("train")[:SENTENCES]
    X, y = [[row[:-1] for row in sentence] for sentence in rows], last_column(rows)
    digests = {}
    for name, options in cases().items():
        tagger = SequenceTagger(inputs=Templates(), max_iter=ITERATIONS, n_threads=1, **options)
        with catch_warnings():
            simplefilter("ignore", ConvergenceWarning)  # three iterations are not many
            digests[name] = sha256(tagger.fit(X, y).coef_.tobytes()).hexdigest()
    return {"sentences": SENTENCES, "iterations": ITERATIONS, "sha256": digests}


def cases() -> dict[str, Result]:
    """The options of taggers: every learner with one loss, and what else has code of its own."""
    learners = {name: {"learner": name, "loss": LOSSES.get(name, "log")} for name in sorted(LEARNERS)}
    result: dict[str, Result] = {
        f"{name}, {of['loss']}": of | ({"tied": False} if "untied" in LEARNERS[name].needs else {})
        for name, of in learners.items()
    }
    for name, loss in (
        ("bcfw", "log"),
        ("eg", "hinge"),
        ("mira", "hinge"),
        ("eg", "softmax-margin"),
        ("auto", "hinge"),
    ):
        result[f"{name}, {loss}"] = {"learner": name, "loss": loss}
    return result | {
        "lbfgs, log, order 2": {"learner": "lbfgs", "loss": "log", "order": 2},
        "eg, log, start and stop": {"learner": "eg", "loss": "log", "start": True, "stop": True},
        "lbfgs, log, all pairs": {"learner": "lbfgs", "loss": "log", "features": "all"},
        "sgd, log, hashed": {"learner": "sgd", "loss": "log", "features": "hash:18"},
        "cutting-plane, hinge, zero-one cost": {"learner": "cutting-plane", "loss": Hinge(cost="zero-one")},
        "cutting-plane, hinge, slack re-scaling": {"learner": "cutting-plane", "loss": Hinge(rescale="slack")},
    }


def table(result: Result) -> str:
    """All digests."""
    title = f"Weights after {result['iterations']} iterations on {result['sentences']} sentences"
    return f"{title}\n\n{markdown(['learner, loss, options', 'SHA-256'], result['sha256'].items())}"


def plot(result: Result) -> None:
    """There is none."""
