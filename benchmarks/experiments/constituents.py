"""Labeled bracketing on all lengths of both treebanks: counting, a perceptron over rules, and span features.

From words and tags. Nothing was tuned: the settings and the 4 passes are the same for all. Of GENIA's training part the
first 3,250 sentences are used, as many as ptb-sample has; this was decided before anything was measured there. The
fastest parser, of spans, also learns from all of them.
"""

from collections.abc import Iterator
from time import process_time
from typing import Any

from benchmarks.corpora.constituents import constituents
from benchmarks.tables import markdown
from margrave import PCFG, ConstituencyParser
from margrave.data.constituents import Tree
from margrave.features import SpanTemplates
from margrave.metrics import bracket_scores

Result = dict[str, Any]

CORPORA = ("ptb-sample", "genia-treebank")
RESULT = "constituents"
PASSES = 4
SENTENCES = {"ptb-sample": None, "genia-treebank": 3250}  # to learn from; None: all
ON_ALL = "perceptron, spans, all sentences"
SETTINGS: dict[str, Result] = {
    "rules": {"grammar": "rules", "horizontal": 2},
    "spans": {"grammar": "spans"},
    "rules and spans": {"grammar": "rules", "horizontal": 2, "features": SpanTemplates()},
}


def measure() -> Iterator[Result]:
    """The scores of all parsers on the test part of each corpus; what is done is told after each parser."""
    found: Result = {"passes": PASSES, "corpora": {}}
    for corpus, most in SENTENCES.items():
        train, test = constituents(corpus, "train")[:most], constituents(corpus, "test")
        rows: Result = {}
        found["corpora"][corpus] = {"train": len(train), "test": len(test), "rows": rows}
        for name, parser in parsers().items():
            rows[name] = scored(parser, train, test)
            print(f"  {corpus}, {name}: {rows[name]['f1']:.4f}, {rows[name]['seconds']:.0f} s", flush=True)
            yield found
        if most is not None:
            rows[ON_ALL] = on_all(corpus, test)
            yield found


def on_all(corpus: str, test: list[Tree]) -> Result:
    """The parser of spans, learned from the whole training part."""
    train = constituents(corpus, "train")
    return {"train": len(train), **scored(parsers()["perceptron, spans"], train, test)}


def parsers() -> dict[str, ConstituencyParser]:
    """The parsers by name."""
    return {
        "PCFG": PCFG(horizontal=2, n_jobs=1),
        "PCFG, parents": PCFG(horizontal=1, vertical=2, n_jobs=1),
        **{
            f"perceptron, {name}": ConstituencyParser(
                "perceptron", learner="perceptron", max_iter=PASSES, n_jobs=1, **settings
            )
            for name, settings in SETTINGS.items()
        },
    }


def scored(parser: ConstituencyParser, train: list[Tree], test: list[Tree]) -> Result:
    """The scores of a parser, and the time of its training."""
    started = process_time()
    parser.fit(None, train)
    seconds = process_time() - started
    scores = bracket_scores(test, parser.predict(parser.sentences_of(test)))
    interval = scores.interval()
    found = {each: getattr(scores, each) for each in ("f1", "precision", "recall", "exact_match")}
    found["crossing"] = scores.crossing / scores.trees
    return {**found, "interval": [interval.low, interval.high], "partial": parser.n_partial_, "seconds": seconds}


def table(result: Result) -> str:
    """A table per corpus with a row per parser."""
    found = []
    for corpus, of in result["corpora"].items():
        rows = []
        for name, row in of["rows"].items():
            low, high = row["interval"]
            cells = [f"{100 * row[key]:.1f}" for key in ("precision", "recall", "f1", "exact_match")]
            cells += [f"{100 * low:.1f} to {100 * high:.1f}", f"{row['crossing']:.2f}"]
            rows.append([name, *cells, str(row["partial"]), f"{row['seconds']:.0f}"])
        header = ["parser", "precision", "recall", "F1", "exact match", "F1, 95 %", "crossing brackets"]
        header += ["partial trees", "CPU s"]
        about = f"{corpus}: {of['train']} sentences to learn from, {of['test']} to test on, of all lengths"
        found.append(f"{about}\n\n{markdown(header, rows)}")
    return "\n\n".join(found)


def plot(result: Result) -> None:
    """There is no plot."""
