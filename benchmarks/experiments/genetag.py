"""Genes in GENETAG by segments, with the alternatives of the corpus as further right answers, or with one answer only.

Scores are those of the corpus: a gold mention is found if it is predicted, or if an alternative is that overlaps it,
and a predicted mention that is neither is wrong. The attributes of tokens come from the built-in templates over words
alone, as the tag column gives the answer away, and segments have no attributes of their own, which take too long here.
C is chosen on the development part. The latent log loss is minimized by L-BFGS, from three starts at that C.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.columns import genetag_answers
from benchmarks.corpora.entities import chosen_tagger, p_value, span_counts, test_f1
from benchmarks.stages import Stages
from benchmarks.summaries import Result
from benchmarks.tables import markdown
from margrave import SegmentTagger
from margrave.data.tags import alternatives_of
from margrave.features import Templates
from margrave.metrics import span_scores

CORPORA = ("genetag",)
RESULT = "genetag"
CS = (0.1, 0.3, 1.0)
TOL = 1e-2
LOSSES = {"one answer": "log", "several answers": "latent-log"}
LEARNERS = {"log": "auto", "latent-log": "lbfgs"}
PARTS = ("train", "devtest", "test")
_SCORES = ("precision", "recall", "f1", "f1_of_one_answer")


def measure() -> Result:
    """Both losses with the same attributes; one thread. The first one ignores alternatives in everything."""
    data = {part: genetag_answers(part) for part in PARTS}
    X = {part: [x for x, _ in of] for part, of in data.items()}
    y = {part: [answers for _, answers in of] for part, of in data.items()}
    models: Result = {}
    counts, stages = {}, Stages(RESULT)
    found = {
        "tol": TOL,
        "Cs": list(CS),
        "sentences": {part: len(of) for part, of in data.items()},
        "with_alternatives": {part: sum(bool(alternatives_of(each)) for each in y[part]) for part in PARTS},
        "models": models,
    }
    for model, loss in LOSSES.items():
        right: Any = y["train"] if loss == "latent-log" else [list(each) for each in y["train"]]
        models[model], counts[model] = stages.measure(model, partial(best, X, y, right, loss))
        print(f"  {model}: {models[model]}", flush=True)
    models["several answers"]["p"] = p_value([counts["one answer"]], [counts["several answers"]])
    return found


def best(X: Any, y: Any, right: Any, loss: str) -> tuple[Result, NDArray[np.int64]]:
    """The model with the C that is best on the development part; what each test sentence counts."""

    def make(C: float, starts: int = 1) -> SegmentTagger:
        settings: Any = {"features": Templates(), "tol": TOL, "n_jobs": 1}
        return SegmentTagger(loss, C=C, learner=LEARNERS[loss], starts=starts, **settings)

    found = chosen_tagger(make, CS, (X["train"], right), (X["devtest"], y["devtest"]))
    starts = []
    if loss == "latent-log":  # to see how far apart they lead; the test has the first
        starts = make(found.C, starts=3).fit(X["train"], right).starts_
    tags = found.tagger.predict(X["test"])
    counts = span_counts(y["test"], tags)
    gold, predicted, correct = counts.sum(axis=0).tolist()
    return {
        "C": found.C,
        "learner": found.tagger.learner_.name,
        "dev_f1": {f"{C:g}": f1 for C, f1 in found.dev_f1.items()},
        "test_precision": correct / predicted,
        "test_recall": correct / gold,
        "test_f1": test_f1(counts),
        "test_f1_of_one_answer": span_scores([list(answers) for answers in y["test"]], tags).f1,
        "seconds": found.seconds,
        "weights": int(found.tagger.coef_.size),
        "objective": found.tagger.certificate_.primal,
        "rounds": found.tagger.n_iter_,
        "starts": starts,
    }, counts


def table(result: Result) -> str:
    """Precision, recall and F1 by the rules of the corpus, F1 against one answer, p and seconds."""
    rows = []
    for model, of in result["models"].items():
        scores = [max(of["dev_f1"].values()), *(of[f"test_{score}"] for score in _SCORES)]
        p = f"{of['p']:.4f}" if "p" in of else ""
        rows.append([model, f"{of['C']:g}", *(f"{100 * score:.2f}" for score in scores), p, f"{of['seconds']:.0f}"])
    header = ["dev F1", "precision", "recall", "test F1", "F1 of one answer", "p", "seconds"]
    return markdown(["trained with", "C", *header], rows)


def plot(result: Result) -> None:
    """There is none."""
