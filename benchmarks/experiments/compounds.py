"""German compounds split by lattices, with several right answers: LP (8), the latent log loss, or one answer only."""

from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.corpora.compounds import compounds, split_lattice
from benchmarks.summaries import Result, plain_folds
from benchmarks.tables import markdown
from margrave.estimators import LatticeDecoder
from margrave.features import EdgeFeatures
from margrave.learners import LP

CORPORA = ("lattice-compound-split-de",)
RESULT = "compounds"
FOLDS = 10
CS = (0.1, 1.0, 10.0)  # by which a tenth of the training part chooses
MODELS: dict[str, Any] = {
    "LP (8)": lambda C: LatticeDecoder("hinge", C=C, learner=LP(free_sign=True), tol=1e-2, **SETTINGS),
    "latent log loss": lambda C: LatticeDecoder("latent-log", C=C, tol=1e-3, starts=1, **SETTINGS),
    "one reference": lambda C: LatticeDecoder("log", C=C, tol=1e-3, **SETTINGS),
}
SETTINGS: dict[str, Any] = {"features": EdgeFeatures(words=True), "unreachable": "skip", "n_jobs": 1}


def measure() -> Result:
    """Ten folds by word; accuracy on all words, on compounds, and on words with several right answers."""
    answers = compounds()
    words = sorted(answers)
    X = [split_lattice(word) for word in words]
    Y = [answers[word] for word in words]
    groups = {
        "all": np.ones(len(words), dtype=bool),
        "compounds": np.array([any(" " in each for each in y) for y in Y]),
        "several answers": np.array([len(y) > 1 for y in Y]),
    }
    right = {model: np.zeros(len(words), dtype=bool) for model in MODELS}
    seconds = dict.fromkeys(MODELS, 0.0)
    chosen: dict[str, list[float]] = {model: [] for model in MODELS}
    for train, test in plain_folds(len(words), FOLDS):
        held = train[: len(train) // 10]
        rest = train[len(train) // 10 :]
        for model, make in MODELS.items():
            began = perf_counter()
            scores = {C: score(make(C), X, Y, rest, held).mean() for C in CS}
            best = max(CS, key=lambda C: (scores[C], -C))
            right[model][test] = score(make(best), X, Y, train, test)
            seconds[model] += perf_counter() - began
            chosen[model].append(best)
        print(f"  fold: { ({model: round(float(of[test].mean()), 4) for model, of in right.items()}) }", flush=True)
    return {
        "words": len(words),
        "sizes": {name: int(of.sum()) for name, of in groups.items()},
        "edges": sum(len(lattice.edges) for lattice in X),
        "accuracy": {
            model: {name: float(of[group].mean()) for name, group in groups.items()} for model, of in right.items()
        },
        "p": {
            model: {name: sign_test(of[group], right["one reference"][group]) for name, group in groups.items()}
            for model, of in right.items()
            if model != "one reference"
        },
        "C": chosen,
        "seconds": seconds,
    }


def score(decoder: LatticeDecoder, X: Any, Y: Any, train: Any, test: Any) -> Any:
    """Whether each test word is split right after training; only the first answer counts for some losses."""
    decoder.fit([X[i] for i in train], [Y[i] for i in train])
    predicted = decoder.predict([X[i] for i in test])
    return np.array([string in Y[i] for string, i in zip(predicted, test, strict=True)])


def sign_test(first: Any, second: Any) -> float:
    """The two-sided p-value of the words on which two models differ."""
    from scipy.stats import binomtest

    wins, losses = int((first & ~second).sum()), int((second & ~first).sum())
    return 1.0 if wins + losses == 0 else float(binomtest(wins, wins + losses).pvalue)


def table(result: Result) -> str:
    """Accuracies, and p against one reference."""
    sizes = result["sizes"]
    rows = [
        [
            model,
            *(
                f"{100 * of[name]:.1f}" + (f" (p {result['p'][model][name]:.3f})" if model in result["p"] else "")
                for name in sizes
            ),
            f"{result['seconds'][model]:.0f}",
        ]
        for model, of in result["accuracy"].items()
    ]
    return markdown(["accuracy, %", *(f"{name} ({n:,})" for name, n in sizes.items()), "seconds"], rows)


def plot(result: Result) -> None:
    """There is none."""
