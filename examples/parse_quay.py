"""Parses the built-in treebank of constituents by counting, by a grammar and by spans, and draws an uncertain sentence.

Run it with `python examples/parse_quay.py`; it draws demo/constituents.png.
"""

from pathlib import Path

from margrave import PCFG, ConstituencyParser
from margrave.datasets import load_quay
from margrave.metrics import bracket_scores
from margrave.plots import constituent_diagram, save_figure

PICTURE = Path("demo/constituents.png")
SENTENCES = 200  # to learn from
LONGEST = 14  # words of a sentence to draw


def main() -> None:
    train, test = load_quay("train")[:SENTENCES], load_quay("test")
    print(f"training on {len(train)} sentences:         F1   whole trees")
    parsers = {
        "rules, counted": PCFG(horizontal=2),
        "rules, learned": ConstituencyParser(grammar="rules"),
        "spans": ConstituencyParser(C=0.1, weights="hash:18"),
    }
    for name, parser in parsers.items():
        parser.fit(None, train)
        trees = parser.predict(parser.sentences_of(test))
        scores = bracket_scores(test, trees)
        print(f"  {name:<28} {scores.f1:7.1%} {scores.exact_match:13.1%}")
    print(f"    certificate: relative gap {parser.certificate_.relative_gap:.1e}, {parser.stop_reason_}")
    short = [k for k in range(len(test)) if len(test[k].words) <= LONGEST]
    sure = {k: parser.predict_proba(parser.sentences_of([test[k]]))[0] for k in short}
    k = min(short, key=lambda k: min(sure[k].get(each, 0.0) for each in trees[k].children[0].constituents()))
    PICTURE.parent.mkdir(exist_ok=True)
    save_figure(PICTURE, constituent_diagram(trees[k], probabilities=sure[k], gold=test[k]))
    print(f"picture of the sentence with the least certain constituent: {PICTURE}")


if __name__ == "__main__":
    main()
