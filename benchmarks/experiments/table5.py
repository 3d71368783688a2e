"""003, Table 5: grammars for short sentences from tags, by counting, and by SVMs with zero-one and F1 loss."""

from collections.abc import Callable
from time import process_time
from typing import Any

from benchmarks.corpora.constituents import constituents
from benchmarks.tables import markdown, number
from margrave import PCFG, ConstituencyParser, Hinge
from margrave.labels.constituents import Tree
from margrave.learners import CuttingPlane
from margrave.metrics import BracketScores, bracket_scores, mcnemar

Result = dict[str, Any]

CORPORA = ("ptb-sample",)
RESULT = "table5"
LONGEST = (10,)  # words
FOLDS = 5
EPSILON = 0.01
PAPER = {"PCFG": 86.0, "SVM2": 86.2, "SVM2, slack re-scaled F1": 88.5, "SVM2, margin re-scaled F1": 88.4}
LOSSES = {
    "SVM2": Hinge(slack=2, cost="zero-one"),
    "SVM2, slack re-scaled F1": Hinge(slack=2, cost="f1", rescale="slack"),
    "SVM2, margin re-scaled F1": Hinge(slack=2, cost="f1", rescale="margin"),
}


def measure() -> Result:
    """All rows for both corpora; C = 1 per example, and divided by the number of examples."""
    return {"folds": FOLDS, "rows": [rows_of(corpus, longest) for longest in LONGEST for corpus in CORPORA]}


def rows_of(corpus: str, longest: int) -> Result:
    """The rows of one corpus: cross-validation over all sentences up to a length."""
    trees = [tree for part in ("train", "dev", "test") for tree in constituents(corpus, part, longest)]
    folds = [range(k, len(trees), FOLDS) for k in range(FOLDS)]
    rows: Result = {}
    base, rows["PCFG"] = scored(lambda n: PCFG(n_threads=1), trees, folds)
    for C in ("1", "1 / n"):
        for name, loss in LOSSES.items():
            found, row = scored(lambda n, C=C, loss=loss: svm(loss, 1.0 if C == "1" else 1.0 / n), trees, folds)
            row["mcnemar"] = mcnemar(found.per_tree[:, 3], base.per_tree[:, 3])
            rows[f"{name}, C = {C}"] = row
            line = f"{name}, C = {C}: {row['test']['f1']:.4f}, {row['seconds']:.0f} s"
            print(f"  {corpus}, {longest} words, {line}", flush=True)
    return {"corpus": corpus, "longest": longest, "sentences": len(trees), "rows": rows}


def svm(loss: Hinge, C: float) -> ConstituencyParser:
    """A grammar whose weights cutting planes learn, to epsilon."""
    learner = CuttingPlane(epsilon=EPSILON)
    return ConstituencyParser(loss, C=C, learner=learner, horizontal=None, n_threads=1, tol=0.0, max_iter=200)


def scored(
    make: Callable[[int], ConstituencyParser], trees: list[Tree], folds: list[range]
) -> tuple[BracketScores, Result]:
    """Scores on the sentences of all folds together, and on the training sentences."""
    gold: dict[str, list[Tree]] = {"train": [], "test": []}
    predicted: dict[str, list[Tree]] = {"train": [], "test": []}
    seconds, iterations, partial = 0.0, [], 0
    for fold in folds:
        held = set(fold)
        parts = {"train": [t for i, t in enumerate(trees) if i not in held], "test": [trees[i] for i in fold]}
        parser = make(len(parts["train"]))
        started = process_time()
        parser.fit(None, parts["train"])
        seconds += process_time() - started
        iterations.append(parser.n_iter_)
        for part, of in parts.items():
            gold[part] += of
            predicted[part] += parser.predict(parser.sentences_of(of))
        partial += parser.n_partial_
    row: Result = {"seconds": seconds / len(folds), "iterations": sum(iterations) / len(folds), "partial": partial}
    for part in ("train", "test"):
        found = bracket_scores(gold[part], predicted[part], punctuation=())
        row[part] = {each: getattr(found, each) for each in ("exact_match", "precision", "recall", "f1")}
    interval = found.interval()
    row["interval"] = [interval.low, interval.high]
    return found, row


def table(result: Result) -> str:
    """A table per corpus and length, with the paper's test F1."""
    found = []
    for of in result["rows"]:
        rows = []
        for name, row in of["rows"].items():
            cells = [
                f"{100 * row[part][score]:.1f}"
                for part in ("train", "test")
                for score in ("exact_match", "precision", "recall", "f1")
            ]
            low, high = row["interval"]
            interval = f"{100 * low:.1f} to {100 * high:.1f}"
            more = [f"{row['seconds']:.1f}", f"{row['iterations']:.0f}", str(row["partial"])]
            rows.append([name, *cells, interval, number(row.get("mcnemar"), ".2g"), *more])
        header = [
            "method",
            *(f"{part} {score}" for part in ("train", "test") for score in ("acc", "prec", "rec", "F1")),
        ]
        header += ["test F1, 95 %", "McNemar p", "CPU s", "iterations", "partial trees"]
        about = f"{of['corpus']}, up to {of['longest']} words: {of['sentences']} sentences, {result['folds']} folds"
        found.append(f"{about}\n\n{markdown(header, rows)}")
    paper = ", ".join(f"{name} {f1}" for name, f1 in PAPER.items())
    return "\n\n".join(found) + f"\n\ntest F1 of the paper: {paper}"


def plot(result: Result) -> None:
    """There is no plot."""
