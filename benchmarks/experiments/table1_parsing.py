"""001, Table 1, parsing: UAS of DCA (mira) with seven members of the loss family, after 10 passes, on UD English.

The model is arc-factored, non-projective and pruned by tags and lengths. It learns from 1,500 training sentences that
are drawn at random, an eighth of them all. Punctuation is not scored. The paper counts a wrong head as 2 (footnote 8),
so its gamma is twice that of the library.
"""

from functools import partial
from math import inf
from typing import Any

import numpy as np

from benchmarks.corpora.problems import TemplateParsing
from benchmarks.corpora.trees import treebank
from benchmarks.experiments.table1_001 import Setting, name_of
from benchmarks.plots import DOTS, finished, panels
from benchmarks.stages import Stages
from benchmarks.summaries import chosen
from benchmarks.tables import markdown
from margrave.data import Sentence
from margrave.learners import MIRA, Objective, Weights
from margrave.metrics import approximate_randomization, uas_of_statistics
from margrave.structures import NonProjectiveTree

Result = dict[str, Any]

CORPORA = ("ud-english-ewt",)
RESULT = "table1_parsing"
SENTENCES, SEED = 1_500, 0  # training sentences, and how they are drawn
BITS = 22  # to which attributes are hashed
COLUMNS = ("form", "upos", "feats")
CS = (0.001, 0.01, 0.1, 1.0)
PASSES = 10
CRF, SVM = Setting(1, 0, cost=2), Setting(inf, 1, cost=2)
PAPER = {  # C and UAS on test data
    CRF: (0.1, 90.76),
    Setting(1, 1, cost=2): (0.01, 90.95),
    Setting(1, 3, cost=2): (0.01, 91.04),
    Setting(1, 5, cost=2): (0.01, 91.01),
    Setting(3, 1, cost=2): (0.01, 90.94),
    Setting(5, 1, cost=2): (0.01, 90.91),
    SVM: (0.1, 90.75),
}


def measure() -> Result:
    """UAS on test sentences for every beta and gamma, at the C with the best UAS on development sentences."""
    train, dev, test = sample(), treebank(*CORPORA, "dev"), treebank(*CORPORA, "test")
    data = TemplateParsing(train, NonProjectiveTree(), COLUMNS, BITS, prune="lengths", punctuation=False)
    on_dev, on_test = data.uas(dev), data.statistics(test)

    def row_of(setting: Setting) -> tuple[Result, Any]:
        models = {C: trained(data, setting, C) for C in CS}
        by_C = {C: on_dev(w) for C, w in models.items()}
        best = chosen(CS, by_C.__getitem__)
        found = on_test(models[best])
        paper_C, paper_UAS = PAPER[setting]
        row = {
            "beta": f"{setting.beta:g}",
            "gamma": setting.gamma,
            "cost": setting.cost,
            "dev_by_C": {f"{C:g}": uas for C, uas in by_C.items()},
            "C": best,
            "test": float(uas_of_statistics(found.sum(axis=0))),
            "paper": {"C": paper_C, "test": paper_UAS},
        }
        return row, found

    stages, rows, counts = Stages(RESULT), {}, {}
    for setting in PAPER:
        rows[setting], counts[setting] = stages.measure(f"{setting}", partial(row_of, setting))
    for setting, row in rows.items():
        others = {name: of for name, of in (("CRF", CRF), ("SVM", SVM)) if of != setting}
        row["p"] = {
            name: approximate_randomization(counts[setting], counts[of], uas_of_statistics)
            for name, of in others.items()
        }
    return {"sentences": len(train), "weights": data.problem.dim, "passes": PASSES, "rows": list(rows.values())}


def sample() -> list[Sentence]:
    """Training sentences, drawn without replacement."""
    every = treebank(*CORPORA, "train")
    return [every[i] for i in np.random.default_rng(SEED).choice(len(every), SENTENCES, replace=False)]


def trained(data: TemplateParsing, setting: Setting, C: float) -> Weights:
    """The average of all models."""
    return MIRA().solve(Objective(data.problem, setting.loss(), C=C, max_iter=PASSES, tol=0.0, n_jobs=1)).w


def label_of(row: Result) -> str:
    """The setting in the notation of the paper."""
    return name_of(row | {"cost": 1})


def table(result: Result) -> str:
    """001, Table 1, beside the paper's figures."""
    rows = []
    for row in result["rows"]:
        dev = [f"{100 * row['dev_by_C'][f'{C:g}']:.2f}" for C in CS]
        p = [f"{row['p'][of]:.3f}" if of in row["p"] else "" for of in ("CRF", "SVM")]
        theirs = f"{row['paper']['test']:.2f} (C = {row['paper']['C']:g})"
        rows.append([label_of(row), *dev, f"{row['C']:g}", f"{100 * row['test']:.2f}", *p, theirs])
    Cs = [f"dev, C = {C:g}" for C in CS]
    return markdown(["(beta, gamma)", *Cs, "C", "test UAS, %", "p to CRF", "p to SVM", "paper, test UAS"], rows)


def plot(result: Result) -> Any:
    """UAS on development sentences by C, and on test sentences relative to the CRF, here and in the paper."""
    figure, (by_C, ends) = panels(2)
    title = f"UD English, {result['sentences']:,} sentences, mira, {result['passes']} passes"
    by_C.set(xscale="log", xlabel="C", ylabel="UAS on development sentences, %", title=title)
    for row in result["rows"]:
        by_C.plot(
            [float(C) for C in row["dev_by_C"]],
            [100 * uas for uas in row["dev_by_C"].values()],
            label=label_of(row),
            **DOTS,
        )
    places, first = range(len(result["rows"])), result["rows"][0]
    here = [100 * (row["test"] - first["test"]) for row in result["rows"]]
    ends.plot(places, here, "o", label="here")
    ends.plot(places, [row["paper"]["test"] - first["paper"]["test"] for row in result["rows"]], "kx", label="paper")
    ends.set_xticks(list(places), [label_of(row) for row in result["rows"]], rotation=60, fontsize="small")
    ends.set(ylabel="points of UAS above the CRF", title="test sentences, at the C chosen on development sentences")
    return finished(figure)
