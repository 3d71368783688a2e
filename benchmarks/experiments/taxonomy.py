"""003, Table 1: accuracy and mean tree loss of classes in a taxonomy, with 2, 4 and all training instances per class.

A mean comes with its values and half of its 95 % interval (Student's t over draws or folds; folds share training
examples, so that theirs are a little too narrow). For every corpus there is also the rank correlation between the
similarity of two classes and their closeness in the tree: output features of nodes assume that it is high.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from benchmarks.corpora.taxonomies import Corpus, books, images, newsgroups
from benchmarks.plots import finished, panels
from benchmarks.stages import Stages
from benchmarks.summaries import Numbers, Result, chosen, summary, verdict
from benchmarks.tables import markdown, with_interval
from margrave.data import Taxonomy
from margrave.estimators import LinearClassifier, TaxonomyClassifier
from margrave.losses import Hinge

CORPORA = ("taxonomy-blurbs-de", "taxonomy-imclef07a", "taxonomy-imclef07d", "20newsgroups")
RESULT = "taxonomy"
CS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
MANY = 2_000  # training examples from which on fits at large C take long, and scores are smooth enough to stop early
ALL = "all"
TAXONOMY_DRAWS = 10
TAXONOMY_FOLDS = 3
TAXONOMY_TOL = 1e-2  # on the relative gap


class Column(NamedTuple):
    """A column of Table 1: with or without the taxonomy's output features, and what is learned."""

    taxonomy: bool
    tree: bool
    rescale: str = "margin"


COLUMNS = {
    "flat, 0/1": Column(False, False),
    "taxonomy, 0/1": Column(True, False),
    "flat, tree loss": Column(False, True),
    "taxonomy, tree loss": Column(True, True),
    "flat, tree loss, slack": Column(False, True, "slack"),
    "taxonomy, tree loss, slack": Column(True, True, "slack"),
}
PLAIN = "flat, 0/1"  # what the paper's "taxonomy, tree loss" is held against
HELD_AGAINST_PLAIN = ("taxonomy, tree loss", "taxonomy, tree loss, slack")


def measure() -> Result:
    """003, Table 1: accuracy and mean tree loss with 2, 4 and all training instances a class.

    The tree loss is learned by margin re-scaling and by slack re-scaling. C is chosen inside of each training part, by
    accuracy, or by the tree loss where that is learned.
    """
    corpora: dict[str, Callable[[], Corpus]] = {
        "blurbs": books,
        "ImCLEF07A": partial(images, "imclef07a"),
        "ImCLEF07D": partial(images, "imclef07d"),
        "20 newsgroups": newsgroups,
    }
    stages, result = Stages(RESULT), {}
    for name, load in corpora.items():
        corpus = load()
        sizes = {"examples": len(corpus.y), "classes": len(set(corpus.y)), "nodes": len(corpus.taxonomy)}
        parts = {f"{n} per class": list(draws(corpus.y, n)) for n in (2, 4)}
        parts[ALL] = list(folds(corpus.y))
        result[name] = sizes | {
            "training": {
                part: stages.measure(f"{name}, {part}", partial(table1, corpus, of)) for part, of in parts.items()
            }
        }
    return {"Cs": CS, "draws": TAXONOMY_DRAWS, "folds": TAXONOMY_FOLDS, "data": result}


def draws(y: Sequence[str], per_class: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Random training sets with so many instances of each class, and all other examples."""
    labels = np.array(y)
    for seed in range(TAXONOMY_DRAWS):
        random = np.random.default_rng(seed)
        train = np.concatenate(
            [random.choice(np.flatnonzero(labels == label), per_class, replace=False) for label in np.unique(labels)]
        )
        yield np.sort(train), np.setdiff1d(np.arange(len(y)), train)


def folds(y: Sequence[str]) -> Iterator[tuple[Numbers, Numbers]]:
    """Training and test parts of a stratified cross-validation."""
    from sklearn.model_selection import StratifiedKFold

    yield from StratifiedKFold(TAXONOMY_FOLDS, shuffle=True, random_state=0).split(np.zeros(len(y)), y)


def table1(corpus: Corpus, splits: Sequence[tuple[Numbers, Numbers]]) -> Result:
    """All columns over all splits, what taxonomy and tree loss gain over neither, and whether the tree fits."""
    runs: dict[str, list[Result]] = {name: [] for name in COLUMNS}
    fits = []
    for train, test in splits:
        outer = Split.of(corpus, train, test)
        fits.append(tree_fit(corpus.taxonomy, outer))
        inner = [Split.of(corpus, *parts) for parts in inner_splits(corpus.y, train)]
        for name, column in COLUMNS.items():
            by_C = inner_scores(corpus.taxonomy, column, inner)
            C = chosen(by_C, by_C.__getitem__)
            runs[name].append(scores(corpus.taxonomy, column, C, outer) | {"C": C, "edge": edge(by_C, C)})
    columns = {
        name: {key: summary(run[key] for run in of) for key in ("accuracy", "tree_loss")}
        | {"C": [run["C"] for run in of], "edges": Counter(run["edge"] for run in of)}
        for name, of in runs.items()
    }
    gains = {
        name: {
            key: summary(sign * (ours[key] - plain[key]) for ours, plain in zip(runs[name], runs[PLAIN], strict=True))
            for key, sign in (("accuracy", 1), ("tree_loss", -1))
        }
        for name in HELD_AGAINST_PLAIN
    }
    verdicts = {name: {key: verdict(gain) for key, gain in of.items()} for name, of in gains.items()}
    return {"columns": columns, "gains": gains, "verdict": verdicts, "tree_fit": summary(fits)}


def tree_fit(taxonomy: Taxonomy, split: "Split") -> float:
    """Spearman's correlation of two classes' closeness in the tree with the cosine of their centroids, over all pairs.

    It uses the training part only.
    """
    from scipy.stats import spearmanr
    from sklearn.preprocessing import normalize

    classes, number = np.unique(split.y, return_inverse=True)
    means = [np.asarray(split.X[number == k].mean(axis=0)).ravel() for k in range(len(classes))]
    centroids = normalize(np.stack(means))
    pairs = np.triu_indices(len(classes), 1)
    closeness = -taxonomy.tree_losses(classes.tolist())
    return float(spearmanr((centroids @ centroids.T)[pairs], closeness[pairs]).statistic)


def edge(by_C: dict[float, float], C: float) -> str:
    """Where the chosen C lies among all; at an edge beside an equal score, more values would hardly change it."""
    if C not in (CS[0], CS[-1]):
        return "inside"
    end, beside = ("lowest", CS[1]) if CS[0] == C else ("highest", CS[-2])
    return f"{end}, flat" if by_C[beside] == by_C[C] else end


class Split(NamedTuple):
    """Examples to learn from, scaled, and others to test on."""

    X: Any
    y: list[str]
    other: Any
    gold: list[str]

    @classmethod
    def of(cls, corpus: Corpus, train: Numbers, test: Numbers) -> Self:
        """These examples of a corpus."""
        X, other = corpus.scaled(train, test)
        return cls(X, [corpus.y[i] for i in train], other, [corpus.y[i] for i in test])


def inner_splits(y: Sequence[str], train: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Where to choose C: both halves of few examples; of many, four fifths and one."""
    from sklearn.model_selection import StratifiedKFold

    labels = [y[i] for i in train]
    few = len(train) <= 4 * len(set(labels))
    parts = StratifiedKFold(2 if few else 5, shuffle=True, random_state=0).split(np.zeros(len(train)), labels)
    for inner, outer in list(parts)[: 2 if few else 1]:
        yield train[inner], train[outer]


def inner_scores(taxonomy: Taxonomy, column: Column, splits: Sequence[Split]) -> dict[float, float]:
    """What C is chosen by, for every C; with many examples, values above 1 only until the score falls."""
    by_C: dict[float, float] = {}
    for C in CS:
        by_C[C] = inner_score(taxonomy, column, splits, C)
        if C > 1 and len(splits[0].y) > MANY and by_C[C] < max(by_C.values()):
            break
    return by_C


def inner_score(taxonomy: Taxonomy, column: Column, splits: Sequence[Split], C: float) -> float:
    """What C is chosen by."""
    found = [scores(taxonomy, column, C, split) for split in splits]
    return float(np.mean([-of["tree_loss"] if column.tree else of["accuracy"] for of in found]))


def scores(taxonomy: Taxonomy, column: Column, C: float, split: Split) -> Result:
    """Accuracy and mean tree loss of one classifier."""
    learner = "auto" if column.rescale == "margin" else "cutting-plane"
    settings: dict[str, Any] = {"C": C, "tol": TAXONOMY_TOL, "learner": learner, "n_jobs": 1}
    if column.taxonomy:
        loss = Hinge(rescale=column.rescale)
        model = TaxonomyClassifier(loss, taxonomy=taxonomy, cost="tree" if column.tree else "zero-one", **settings)
    else:
        cost = taxonomy.tree_losses(sorted(set(split.y))) if column.tree else "zero-one"
        model = LinearClassifier(Hinge(cost, rescale=column.rescale), **settings)
    predicted = model.fit(split.X, split.y).predict(split.other)
    every = sorted({*split.y, *split.gold})
    number = {label: k for k, label in enumerate(every)}
    losses = taxonomy.tree_losses(every)[[number[a] for a in split.gold], [number[b] for b in predicted]]
    return {"accuracy": float(np.mean(losses == 0)), "tree_loss": float(losses.mean())}


def table(result: Result) -> str:
    """003, Table 1: accuracy and tree loss of each column, and where the taxonomy with the tree loss wins."""
    rows, ends = [], []
    for name, data in result["data"].items():
        for training, part in data["training"].items():
            for column, of in part["columns"].items():
                numbers = [with_interval(of["accuracy"], ".2f", 100), with_interval(of["tree_loss"], ".3f")]
                rows.append([name, training, column, *numbers, at_edge(of["edges"])])
            ends += [[name, with_interval(part["tree_fit"], ".2f"), training, *of] for of in held_against_plain(part)]
    table = markdown(["data", "training", "column", "accuracy, %", "tree loss", "C at an edge of its grid"], rows)
    header = ["data", "tree fit", "training", "against flat, 0/1", "gain of accuracy, %", "gain of tree loss"]
    about = "tree fit: rank correlation of closeness in the tree with similarity of centroids, over pairs of classes"
    return f"mean and 95 % interval\n\n{table}\n\n{about}\n\n{markdown(header, ends)}"


def at_edge(edges: Result) -> str:
    """How many of the values chosen lie at each edge."""
    return ", ".join(f"{edges[end]} {end}" for end in edges if end != "inside") or "none"


def held_against_plain(part: Result) -> Iterator[list[str]]:
    """What each column with taxonomy and tree loss gains; the tree loss also as a share of that of the plain one."""
    plain = part["columns"][PLAIN]["tree_loss"]["mean"]
    for column, verdicts in part["verdict"].items():
        gains = part["gains"][column]
        share = f"{100 * gains['tree_loss']['mean'] / plain:+.1f} %"
        accuracy = f"{verdicts['accuracy']} ({with_interval(gains['accuracy'], '+.2f', 100)})"
        loss = f"{verdicts['tree_loss']} ({with_interval(gains['tree_loss'], '+.3f')}, {share})"
        yield [column, accuracy, loss]


def plot(result: Result) -> Any:
    """003, Table 1: the mean tree loss of every column with its interval, a panel a corpus."""
    figure, axes = panels(2, 2)
    for panel, (name, data) in zip(axes, result["data"].items(), strict=True):
        trainings = list(data["training"])
        fit = data["training"][ALL]["tree_fit"]["mean"]
        panel.set(title=f"{name} (tree fit {fit:.2f})", ylabel="mean tree loss")
        panel.set_xticks(range(len(trainings)), trainings)
        columns = list(data["training"][trainings[0]]["columns"])
        for k, column in enumerate(columns):
            losses = [data["training"][training]["columns"][column]["tree_loss"] for training in trainings]
            places = [at + (k - (len(columns) - 1) / 2) * 0.11 for at in range(len(trainings))]
            means, halves = [of["mean"] for of in losses], [of["interval"] for of in losses]
            panel.errorbar(places, means, halves, fmt="o", markersize=4, capsize=2, label=column)
    return finished(figure)
