"""001, Fig. 4: UAS after each pass of DCA (mira) and SGD, log loss, non-projective trees of three languages.

The models are arc-factored and pruned by tags and lengths. The treebanks are those of Universal Dependencies: Danish
and Arabic learn from their development parts, of which the last tenth is held out, and English from some of its
sentences. Only the first of the test sentences are scored. The held-out sentences choose C and, after one pass with
each, the rate of SGD, as in the paper. UAS leaves punctuation out, as in the paper.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.corpora.problems import TemplateParsing
from benchmarks.corpora.trees import treebank
from benchmarks.plots import DOTS, finished, panels
from benchmarks.stages import Stages
from benchmarks.summaries import chosen
from benchmarks.tables import along, along_cells, markdown, number
from margrave.data import Sentence
from margrave.learners import MIRA, SGD, Learner, Objective, Observer, Record, Weights
from margrave.losses import Log
from margrave.structures import NonProjectiveTree

Result = dict[str, Any]

CORPORA = ("ud-english-ewt", "ud-danish-ddt", "ud-arabic-padt")
RESULT = "fig4_001"
ENGLISH = 1_000  # training sentences
TEST = 300  # test sentences
BITS = 22  # to which attributes are hashed
COLUMNS = ("form", "upos", "feats")
CS = (0.1, 1.0)
PASSES = 10
MARKS = (1, 2, 3, 5, 10)  # passes in the table
LEARNERS: tuple[Learner, ...] = (MIRA(), SGD())


class Scores(Observer):
    """The score of the weights after each pass."""

    def __init__(self, score: Callable[[Weights], float]) -> None:
        self.score, self.found = score, list[float]()

    def note(self, record: Record, w: Weights) -> None:
        self.found.append(self.score(w))


def measure() -> Result:
    """Curves of both learners at the C that is best for each, for three languages."""
    stages = Stages(RESULT)
    languages = {corpus: stages.measure(corpus, partial(measure_language, corpus)) for corpus in CORPORA}
    return {"passes": PASSES, "languages": languages}


def measure_language(corpus: str) -> Result:
    """The runs of both learners at every C."""
    train, held_out, test = parts(corpus)
    data = TemplateParsing(train, NonProjectiveTree(), COLUMNS, BITS, prune="lengths", punctuation=False)
    on_held_out, on_test = data.uas(held_out), data.uas(test)
    learners = {}
    for learner in LEARNERS:
        runs = {C: one_run(data, learner, C, on_held_out, on_test) for C in CS}
        best = chosen(CS, lambda C, runs=runs: runs[C]["held_out"])
        learners[learner.name] = {"C": best, "runs": {f"{C:g}": run for C, run in runs.items()}}
    return {
        "sentences": {"train": len(train), "held_out": len(held_out), "test": len(test)},
        "words": sum(len(sentence.words) for sentence in train),
        "weights": data.problem.dim,
        "learners": learners,
    }


def one_run(
    data: TemplateParsing,
    learner: Learner,
    C: float,
    on_held_out: Callable[[Weights], float],
    on_test: Callable[[Weights], float],
) -> Result:
    """UAS on test sentences after each pass, and on the held-out ones after the last."""
    scores = Scores(on_test)
    objective = Objective(data.problem, Log(), C=C, max_iter=PASSES, tol=0.0, n_jobs=1)
    objective.dev_score, objective.observers = on_held_out, [scores]
    solution = learner.solve(objective)
    run = {"held_out": on_held_out(solution.w), "UAS": scores.found, "UAS_after": along(scores.found, MARKS)}
    return run | ({"rate": solution.state.rate} if isinstance(learner, SGD) else {})


def parts(corpus: str) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """The training, held-out and test sentences."""
    test = treebank(corpus, "test")[:TEST]
    if corpus == "ud-english-ewt":
        return treebank(corpus, "train")[:ENGLISH], treebank(corpus, "dev"), test
    every = treebank(corpus, "dev")
    return every[: -(len(every) // 10)], every[-(len(every) // 10) :], test


def table(result: Result) -> str:
    """UAS on test sentences along the way."""
    rows = [
        [
            corpus,
            f"{name}, C = {C}{' (chosen)' if float(C) == of['C'] else ''}",
            *along_cells(run["UAS_after"], MARKS, 100),
            number(run.get("rate"), "g"),
        ]
        for corpus, language in result["languages"].items()
        for name, of in language["learners"].items()
        for C, run in of["runs"].items()
    ]
    return markdown(["treebank", "learner", *map(str, MARKS), "highest", "rate"], rows)


def plot(result: Result) -> Any:
    """UAS on test sentences after each pass at the chosen C (solid) and the others (dotted); a panel per language."""
    figure, axes = panels(3)
    for panel, (corpus, language) in zip(axes, result["languages"].items(), strict=True):
        panel.set(xlabel="passes", ylabel="UAS on test sentences, %", title=corpus)
        highest = 0.0
        for color, (name, of) in zip(("C0", "C1"), language["learners"].items(), strict=True):
            for C, run in of["runs"].items():
                best = float(C) == of["C"]
                uas = [100 * share for share in run["UAS"]]
                label = f"{name}, C = {C}" if best else f"_{name}, C = {C}"
                style = {"linestyle": "-" if best else ":", "color": color, **DOTS}
                panel.plot(range(1, len(uas) + 1), uas, label=label, **style)
                highest = max(highest, *uas)
        panel.set_ylim(highest - 5, highest + 0.5)
    return finished(figure)
