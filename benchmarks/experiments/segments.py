"""Named entities by segments: semi-Markov chains against BIO chains in F1, and seconds of training."""

import os
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora.columns import conll2002_es, conll2003, last_column
from benchmarks.corpora.entities import chosen_tagger, p_value, span_counts, test_f1
from benchmarks.machine import has_result, read_result
from benchmarks.summaries import Result
from benchmarks.tables import markdown
from margrave import SegmentTagger, SequenceTagger
from margrave.features import SegmentTemplates, Templates

CORPORA = ("conll2003-en", "conll2002-es")
RESULT = "segments"
CS = (0.1,)  # fixed in advance: the development part would choose among several
TOL = 1e-2
MODELS: dict[str, Any] = {
    "chain": partial(SequenceTagger),
    "segments, token attributes": partial(SegmentTagger),
    "segments, their own attributes too": partial(SegmentTagger, templates=SegmentTemplates()),
}
READERS = {"conll2003-en": conll2003, "conll2002-es": conll2002_es}


def measure() -> Result:
    """All models with the built-in templates for tokens and the log loss; one thread.

    The variable MARGRAVE_SEGMENTS names one corpus, and the record keeps the other as it is.
    """
    only = os.environ.get("MARGRAVE_SEGMENTS")
    found: Result = {"tol": TOL, "Cs": list(CS), "corpora": {}}
    if only and has_result(RESULT):
        found["corpora"] = read_result(RESULT)["corpora"]
    for name, reader in READERS.items():
        if only and name != only:
            continue
        parts = {part: reader(part) for part in ("train", "testa", "testb")}
        X = {part: [[row[:-1] for row in rows] for rows in of] for part, of in parts.items()}
        y = {part: last_column(of) for part, of in parts.items()}
        models, counts = {}, {}
        for model, tagger in MODELS.items():
            models[model], counts[model] = best(X, y, tagger)
            print(f"  {name}, {model}: {models[model]}", flush=True)
        for model, of in models.items():
            if model != "chain":
                of["p"] = p_value([counts["chain"]], [counts[model]])
        found["corpora"][name] = {"sentences": len(y["train"]), "models": models}
    return found


def best(X: Any, y: Any, tagger: Any) -> tuple[Result, NDArray[np.int64]]:
    """The model with the C that is best on the development part; what each test sentence counts."""

    def make(C: float) -> SequenceTagger | SegmentTagger:
        made: SequenceTagger | SegmentTagger = tagger(C=C, features=Templates(), tol=TOL, n_jobs=1)
        return made

    found = chosen_tagger(make, CS, (X["train"], y["train"]), (X["testa"], y["testa"]))
    counts = span_counts(y["testb"], found.tagger.predict(X["testb"]))
    return {
        "C": found.C,
        "dev_f1": found.dev_f1[found.C],
        "test_f1": test_f1(counts),
        "seconds": found.seconds,
        "weights": int(found.tagger.coef_.size),
        "relative_gap": found.tagger.certificate_.relative_gap,
    }, counts


def table(result: Result) -> str:
    """F1, p against the chain, and seconds."""
    rows = [
        [
            corpus,
            model,
            f"{run['C']:g}",
            f"{100 * run['dev_f1']:.2f}",
            f"{100 * run['test_f1']:.2f}",
            f"{run['p']:.4f}" if "p" in run else "",
            f"{run['weights']:,}",
            f"{run['seconds']:.0f}",
        ]
        for corpus, of in result["corpora"].items()
        for model, run in of["models"].items()
    ]
    header = ["corpus", "model", "C", "dev F1", "test F1", "p against the chain", "weights", "seconds"]
    return markdown(header, rows)


def plot(result: Result) -> None:
    """There is none."""
