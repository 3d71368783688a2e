"""Sets of nodes closed under parents, against nodes that know nothing of each other."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain as flatten
from typing import Any

import numpy as np

from benchmarks.corpora.taxonomies import Corpus, blurbs, mails
from benchmarks.summaries import Numbers, Result, chosen, plain_folds, summary, verdict
from benchmarks.tables import markdown, with_interval
from margrave.data import Taxonomy
from margrave.estimators import HierarchicalMultiLabelClassifier
from margrave.metrics import label_scores

CORPORA = ("taxonomy-enron-corr", "taxonomy-blurbs-de")
RESULT = "multilabel"
CS = (0.1, 1.0, 10.0)
FOLDS = 5
MULTILABEL_TOL = 3e-2  # on the relative gap
MULTILABEL = ("flat", "flat, closed upwards", "hierarchy")


def measure() -> Result:
    """Sets of nodes closed under parents, against nodes that know nothing of each other: F1 over all nodes, cost.

    Both learn from closed sets; "closed upwards" adds to the flat predictions what lies above them. C is chosen inside
    of each training part by F1.
    """
    result = {}
    for name, load in {"Enron": mails, "blurbs": blurbs}.items():
        corpus = load()
        closed = [above(corpus, labels) for labels in corpus.y]
        runs: dict[str, list[Result]] = {kind: [] for kind in MULTILABEL}
        for train, test in plain_folds(len(closed), FOLDS):
            gold = [closed[i] for i in test]
            for kind, hierarchy in (("flat", independent(corpus.taxonomy)), ("hierarchy", corpus.taxonomy)):
                C = chosen(CS, partial(inner_f1, corpus, closed, hierarchy, train))
                found = found_sets(corpus, closed, hierarchy, train, test, C)
                runs[kind].append(set_scores(corpus, gold, found) | {"C": C})
                if kind == "flat":
                    found = [above(corpus, nodes) for nodes in found]
                    runs["flat, closed upwards"].append(set_scores(corpus, gold, found) | {"C": C})
        kinds = {
            kind: {key: summary(run[key] for run in of) for key in ("F1", "macro_F1", "cost", "exact", "not_closed")}
            | {"C": [run["C"] for run in of]}
            for kind, of in runs.items()
        }
        gains = {
            kind: summary(a["F1"] - b["F1"] for a, b in zip(runs["hierarchy"], runs[kind], strict=True))
            for kind in MULTILABEL[:2]
        }
        result[name] = {
            "examples": len(closed),
            "nodes": len(corpus.taxonomy),
            "nodes_per_example": float(np.mean([len(of) for of in closed])),
            "kinds": kinds,
            "gains": gains,
            "verdict": {kind: verdict(gain) for kind, gain in gains.items()},
        }
    return {"Cs": CS, "folds": FOLDS, "data": result}


def above(corpus: Corpus, labels: Iterable[Any]) -> set[Any]:
    """The labels and everything above them."""
    return set(flatten.from_iterable(corpus.taxonomy.ancestors(label) for label in labels))


def independent(taxonomy: Taxonomy) -> Taxonomy:
    """The same nodes, none below another."""
    return Taxonomy(dict.fromkeys(taxonomy.nodes))


def inner_f1(corpus: Corpus, closed: Sequence[set[Any]], hierarchy: Taxonomy, train: Numbers, C: float) -> float:
    """F1 on a fifth of the training part, learned on the rest."""
    inner, outer = (train[part] for part in next(plain_folds(len(train), 5)))
    found = found_sets(corpus, closed, hierarchy, inner, outer, C)
    return label_scores([closed[i] for i in outer], found).f1


def found_sets(
    corpus: Corpus, closed: Sequence[set[Any]], hierarchy: Taxonomy, train: Numbers, test: Numbers, C: float
) -> list[set[Any]]:
    """The nodes predicted for the test part."""
    X, other = corpus.scaled(train, test)
    model = HierarchicalMultiLabelClassifier("hinge", taxonomy=hierarchy, C=C, tol=MULTILABEL_TOL, n_jobs=1)
    return [set(nodes) for nodes in model.fit(X, [closed[i] for i in train]).predict(other)]


def set_scores(corpus: Corpus, gold: Sequence[set[Any]], found: Sequence[set[Any]]) -> Result:
    """F1 over all nodes and the mean of the nodes' own, mean number of wrong nodes, share of sets all right."""
    of_labels = label_scores(gold, found)
    wrong = [len(a ^ b) for a, b in zip(gold, found, strict=True)]
    return {
        "F1": of_labels.f1,
        "macro_F1": of_labels.macro_f1,
        "cost": float(np.mean(wrong)),
        "exact": float(np.mean([n == 0 for n in wrong])),
        "not_closed": float(np.mean([nodes != above(corpus, nodes) for nodes in found])),
    }


def table(result: Result) -> str:
    """Sets closed under parents beside independent nodes."""
    rows = [
        [
            name,
            kind,
            with_interval(of["F1"], ".2f", 100),
            with_interval(of["macro_F1"], ".2f", 100),
            with_interval(of["cost"], ".3f"),
            with_interval(of["exact"], ".2f", 100),
            f"{100 * of['not_closed']['mean']:.1f}",
            data["verdict"].get(kind, "-"),
        ]
        for name, data in result["data"].items()
        for kind, of in data["kinds"].items()
    ]
    header = ["data", "nodes", "F1, %", "macro F1, %", "wrong nodes", "all right, %", "not closed, %", "hierarchy's F1"]
    return f"mean and 95 % interval\n\n{markdown(header, rows)}"


def plot(result: Result) -> None:
    """There is none."""
