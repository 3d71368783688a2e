"""Scenes with several labels: label graphs against independent labels.

C is chosen on a fifth of the training pictures, for each loss and label graph by its F1. All models are trained to a
relative gap of 1e-2, by the learner that gets there soonest of those that were tried.
"""

from time import perf_counter
from typing import Any

from benchmarks.corpora.graphs import scenes
from benchmarks.tables import markdown
from margrave import MultiLabelClassifier
from margrave.metrics import label_scores

Result = dict[str, Any]

CORPORA = ("scene-multilabel",)
RESULT = "scenes"
CS = (0.1, 1.0, 10.0)
GRAPHS = ("independent", "tree", "full")
LEARNERS = {"log": "lbfgs", "hinge": "cutting-plane"}
TOL = 1e-2


def measure() -> Result:
    """F1, the Hamming loss per label and the share of exact sets on the test pictures."""
    X, Y = scenes("train")
    X_test, Y_test = scenes("test")
    held = len(Y) // 5
    runs = []
    for loss in LEARNERS:
        for graph in GRAPHS:
            models = {C: fitted(X[held:], Y[held:], loss, graph, C) for C in CS}
            inner = {C: scored(model, X[:held], Y[:held])["F1"] for C, model in models.items()}
            C = max(CS, key=lambda each: inner[each])
            started = perf_counter()
            model = fitted(X, Y, loss, graph, C)
            seconds = perf_counter() - started
            scores = scored(model, X_test, Y_test)
            gaps = [each.certificate_.relative_gap for each in (model, *models.values())]
            runs.append(
                {
                    **{"loss": loss, "graph": graph, "C": C, "held_out_F1": inner, "seconds": seconds},
                    **{"relative_gap": gaps[0], "largest_gap": max(gaps), **scores},
                }
            )
    return {"examples": [len(Y), len(Y_test)], "runs": runs}


def fitted(X: Any, Y: Any, loss: str, graph: str, C: float) -> MultiLabelClassifier:
    learner = LEARNERS[loss]
    return MultiLabelClassifier(loss, graph=graph, C=C, learner=learner, max_iter=2000, tol=TOL, n_jobs=1).fit(X, Y)


def scored(model: MultiLabelClassifier, X: Any, Y: Any) -> Result:
    found = model.predict(X)
    wrong = sum(len(set(a) ^ set(b)) for a, b in zip(Y, found, strict=True))
    return {
        "F1": label_scores(Y, found).f1,
        "Hamming": wrong / (len(Y) * len(model.classes_)),
        "exact": sum(set(a) == set(b) for a, b in zip(Y, found, strict=True)) / len(Y),
    }


def table(result: Result) -> str:
    """One line per loss and label graph."""
    rows = [
        [
            run["loss"],
            run["graph"],
            f"{run['C']:g}",
            *(f"{run[key]:.2%}" for key in ("F1", "Hamming", "exact")),
            f"{run['seconds']:.1f}",
            f"{run['largest_gap']:.1e}",
        ]
        for run in result["runs"]
    ]
    return markdown(["loss", "label graph", "C", "F1", "Hamming loss", "exact sets", "seconds", "largest gap"], rows)


def plot(result: Result) -> None:
    """There is none."""
